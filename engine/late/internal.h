/* SPDX-License-Identifier: MIT */
#ifndef RILL_ENGINE_LATE_INTERNAL_H
#define RILL_ENGINE_LATE_INTERNAL_H
#include "engine/late/late.h"
#include "engine/plan/plan.h"
#include "engine/sizes/cache.h"

struct stage;

/* late.c, for bodies: stages and what runs between them do not know it. */
struct late_calls {
    rill_status (*make)(struct late **ret, const struct graph *g, const struct tensor *const *known,
                        const struct late_opts *opts, rill_error *err);
    rill_status (*run)(struct late *l, const struct size_source *inputs,
                       const struct tensor **ret_outputs, rill_error *err);
    struct late *(*free)(struct late *l);
};

struct translation;

/* A tensor whose elements are size expressions of what a stage's sizes read. */
struct computed {
    uint32_t wire;
    struct tensor t; /* without data */
    uint32_t *e;
    uint32_t first; /* of the key */
};

/* A node that runs between two stages, and its bodies. */
struct between {
    uint32_t node;
    struct late *body[2];
    struct arena state[2]; /* of a Loop: what the last two iterations gave to those after them */
};

/* A tensor that a stage made, as long as its block is what it was. */
struct given {
    uint32_t wire;
    struct tensor t;
    uint64_t writes;
};

/* A stage planned for one set of sizes. */
struct variant {
    struct variant *older;
    struct arena arena;
    int64_t *key; /* what the stage's caches gave */
    struct sgraph settled;
    struct plan *plan;
    uint32_t *outputs; /* wires that the plan gives, in order */
    uint32_t n_outputs;
    const struct tensor **known; /* per wire: its value, from here on */
    struct between *between;
    uint32_t n_between;
    struct given *given; /* what the plan and those gave in the last run */
    uint32_t n_given;
    struct arena made;  /* what those gave */
    struct stage *then; /* NULL: all is there */
};

struct stage {
    struct late *late;
    struct arena arena;
    uint32_t *nodes;
    uint32_t n_nodes;
    const struct tensor **known;
    uint32_t *inputs; /* wires that its nodes read */
    bool *observed;   /* per input: its elements are part of the key */
    bool *key_only;   /* per input: its nodes do not read it, sizes do */
    uint32_t n_inputs;
    struct computed *computed;
    uint32_t n_computed;
    struct size_source *sources; /* per input; of floats that are observed the bits */
    struct tensor *views;
    int *ranks;
    struct sizes sizes;
    struct size_cache *caches;
    uint32_t n_caches;
    int64_t *key; /* now */
    struct variant *variants, *last;
    uint32_t n_variants;
    size_t kept_bytes; /* by them */
    uint64_t *read;    /* per input: the write counter with which `last` ran */
    bool has_run;
    unsigned char *block;
    size_t block_bytes;
};

/* An input of 16-bit floats as its numbers are, where what comes may be any f32. */
struct rounded {
    struct tensor t;
    size_t room_bytes;
};

struct late {
    const struct late_calls *calls;
    const struct graph *g;
    struct late_opts opts;
    struct kern kern;
    struct arena arena;
    const struct tensor **known; /* per wire, before anything runs */
    struct size_source *wires;   /* per wire, of this run; no two contents have one counter */
    uint64_t *taken;             /* per input: the caller's counter of what is in wires */
    struct rounded *rounded;     /* per input */
    uint64_t writes;             /* of all that came or was made */
    bool is_random;
    size_t weights_bytes;     /* of constants, those of bodies too */
    struct pack_store *packs; /* of all plans, those of bodies too */
    bool packs_own;           /* no other one's */
    struct stage *root;
    struct late_counts counts; /* without bodies */
};

static inline rill_status late_no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory where data decides sizes");
}

/* The value of a wire that is there; NULL: absent. */
static inline const struct tensor *late_tensor(const struct late *l, const struct variant *v,
                                               uint32_t wire)
{
    if (wire == WIRE_NONE)
        return NULL;
    const struct tensor *known = v ? v->known[wire] : l->known[wire];
    return known ? known : l->wires[wire].t;
}

/* stage.c. An empty one, and its nodes; observed: per wire; NULL: none. */
struct stage *stage_new(struct late *l); /* NULL: no memory */
rill_status stage_fill(struct stage *s, const uint32_t *nodes, uint32_t n_nodes,
                       const struct tensor **known, const bool *observed, rill_error *err);
struct stage *stage_free(struct stage *s); /* returns NULL */
/* Makes the plan for what lies in l->wires, and runs nothing. */
rill_status stage_probe(struct stage *s, rill_error *err);
/* What it gives is in l->wires then; *ret: what it ran as. */
rill_status stage_run(struct stage *s, struct variant **ret, rill_error *err);

/* What the variant gives in this run; `data` of t stays. */
static inline void given_add(struct late *l, struct variant *v, uint32_t wire,
                             const struct tensor *t)
{
    struct given *g = &v->given[v->n_given++];
    *g = (struct given) { wire, *t, ++l->writes };
    l->wires[wire] = (struct size_source) { &g->t, g->writes };
}

/* translate.c: of wires that are not known in v, a variant of s, before it ran. NULL: no memory. */
struct translation *translation_new(const struct late *l, const struct stage *s,
                                    const struct variant *v);
struct translation *translation_free(struct translation *t); /* takes and returns NULL */
/* Makes the wire one that is computed in `to`; false: it is none of whole numbers that can be. */
bool translation_write(struct translation *t, uint32_t wire, struct stage *to);

/* between.c */
rill_status between_run(struct late *l, struct variant *v, struct between *b, rill_error *err);
bool between_can(const struct node *n);
#endif
