/* SPDX-License-Identifier: MIT */
/* plan.h - what is left at run time: steps with byte offsets into one flat block of memory.
 *
 * A plan is constant after plan_from_sgraph and may be used by many threads, each with its own
 * block. */
#ifndef RILL_ENGINE_PLAN_PLAN_H
#define RILL_ENGINE_PLAN_PLAN_H
#include "engine/base/crew.h"
#include "engine/plan/memory.h"
#include "engine/graph/op.h"
#include "engine/graph/packs.h"

struct node_step;
struct loop_step;
struct open_loop_step;
struct lower;
struct scope;

struct step {
    void (*run)(const struct step *s, unsigned char *mem);
    void (*run_many)(const struct step *s, unsigned char *const *mem,
                     unsigned n); /* NULL: run on one after the other */
    const void *args;             /* of that kind of step, owned by the plan */
    const char *name;             /* node name, for people */
    const char *kernel;           /* op or kernel name, for people */
};

/* Where an operand lies: a constant, or an offset into the block. */
struct place {
    const void *constant;
    size_t offset;
};

struct plan_port {
    const char *name;
    struct tensor shape; /* description of one run's worth */
    struct place at;
};

struct plan_state {
    const char *name;
    struct tensor shape;
    size_t offset;
    const struct tensor *init; /* NULL: zeros */
};

/* A constant as steps need it: those of one address count together. */
struct plan_constant {
    const void *data;
    bool is_read, is_packed; /* a step reads it; a step has its packed form */
};

struct plan {
    struct arena arena;
    struct kern kern;
    unsigned kern_uses; /* enum kern_uses of all steps: with AddressSanitizer kern has no others */
    struct step *steps;
    uint32_t n_steps;     /* top level */
    uint32_t n_steps_all; /* with those of bodies */
    struct plan_port *inputs, *outputs;
    struct plan_state *states;
    uint32_t n_inputs, n_outputs, n_states;
    size_t state_bytes;                /* the head of the block, which lives from run to run */
    struct node_step *node_steps;      /* a list of all, those of bodies too */
    struct open_loop_step *open_loops; /* likewise */
    size_t bound_offset;  /* where the block notes the address that its pointers were made for */
    size_t fault_offset;  /* where it notes what was wrong with the data: a struct fault */
    size_t alone_offset;  /* where it notes that no crew is to help it: an uint32_t */
    size_t mem_bytes;     /* the whole block, 64-byte aligned: states, arena, pointers */
    size_t weights_bytes; /* constants the steps read, less what steps keep smaller */
    struct span *spans;   /* the layout behind state_bytes, for dumps and tests */
    uint32_t n_spans;
    struct packs packs;
    struct plan_constant *constants;
    uint32_t n_constants;
    uint32_t n_shared_steps; /* whose work a crew shares */
};

struct plan_opts {
    unsigned cpu;         /* enum kern_cpu bits to use */
    size_t mem_bytes_max; /* 0: 1 GiB */
    const struct pack
        *packs; /* of the same graph, planned before by this very code for this cpu; NULL: none */
    uint32_t n_packs;
    bool packs_have_outliers;  /* kernels without q8_outliers do not read them */
    struct pack_store *shared; /* where it finds and leaves packed weights; NULL: in the plan */
    /* Makes something else of the steps of a loop's body, once they are lowered at time `begin`;
     * pointers do not move from iteration to iteration then (check/slow.h). NULL: they do. */
    rill_status (*loop_made)(struct lower *l, const struct scope *f, struct loop_step *step,
                             uint32_t begin);
    size_t own_bytes_max; /* of the plan itself, without streams; 0: by mem_bytes_max and the
                             graph's constants */
    /* Shares the work of large steps, and must outlive the plan; NULL: one thread does all. Blocks
     * are larger by scratch for each share, and nothing else is another. */
    struct crew *crew;
    unsigned shares_most;  /* of a step; 0: as the crew has threads */
    uint64_t share_effort; /* that a share must be worth, and any in a run; 0: what pays */
};

/* Every wire of s must be static. s and its constants must outlive the plan. Refuses by name what
 * it cannot run without allocating. */
rill_status plan_from_sgraph(struct plan **ret, const struct sgraph *s,
                             const struct plan_opts *opts, rill_error *reterr);
struct plan *plan_free(struct plan *p); /* takes and returns NULL */

/* Puts all states to their initial values. mem: p->mem_bytes, 64-byte aligned. Real-time safe. */
void plan_reset(const struct plan *p, unsigned char *mem);

/* Computes the outputs from what lies at the inputs' places, and the next states. A block that was
 * copied to another address finds that out. Real-time safe. */
void plan_run(const struct plan *p, unsigned char *mem);

/* What the runs since the last reset found wrong with the data; NULL: nothing. Outputs and states
 * are of no use then. Real-time safe. */
static inline const struct fault *plan_fault(const struct plan *p, const unsigned char *mem)
{
    const struct fault *f = (const struct fault *) (const void *) (mem + p->fault_offset);
    return f->kind == FAULT_NONE ? NULL : f;
}

/* Whether the crew leaves this block alone from the next run on; as after a reset: it helps.
 * Real-time safe. */
static inline void plan_alone(const struct plan *p, unsigned char *mem, bool alone)
{
    *(uint32_t *) (void *) (mem + p->alone_offset) = alone;
}

/* plan_run on n different blocks, n <= OP_MANY_MAX: steps with run_many take all blocks at once,
 * those between them one block after the other. Each block gets the bits of plan_run. Real-time
 * safe. */
void plan_run_many(const struct plan *p, unsigned char *const *mem, unsigned n);

/* What plan_run does first, for those who run its steps one by one. Real-time safe. */
void plan_bind(const struct plan *p, unsigned char *mem);

static inline const void *place_read(struct place at, const unsigned char *mem)
{
    return at.constant ? at.constant : mem + at.offset;
}
#endif
