/* SPDX-License-Identifier: MIT */
/* lower.h - slots: the operands of a plan while their places are not known yet. What lowers a node
 * uses slots.c; plan.c and control.c lower nodes of their kinds. */
#ifndef RILL_ENGINE_PLAN_LOWER_H
#define RILL_ENGINE_PLAN_LOWER_H
#include "engine/plan/steps.h"

struct slot {
    const char *name;        /* of the wire, for people; NULL: none */
    const struct node *node; /* that makes it, or whose scratch it is, for people; NULL: none */
    const void *constant;
    size_t bytes, offset;
    uint32_t first, last;    /* times of use; only roots' are kept */
    uint32_t root;           /* itself, or the slot whose bytes it shares */
    size_t shift_bytes;      /* from where root starts */
    bool part;               /* a view: reads what root holds */
    bool persistent;         /* lives from run to run */
    bool is_read, is_packed; /* of constants: see struct plan_constant */
    struct loop_step *loop;  /* iteration i of it sees the place (i & mask) * stride_bytes further;
                                NULL: it stays */
    ptrdiff_t stride_bytes;
    uint64_t mask;
    uint32_t before; /* slot that the first iteration sees instead; WIRE_NONE: none */
};

struct scope;

struct lower {
    struct plan *p;
    /* all nodes of a graph: control.c lowers bodies by it */
    rill_status (*graph_lower)(struct lower *l, struct scope *f, struct steps *ret);
    struct arena work; /* dropped when the plan is made */
    struct slot *slots;
    union operand **operands; /* to resolve at the end */
    uint32_t n_slots, cap_slots, n_operands, cap_operands;
    uint32_t time; /* grows by one from step to step, through bodies too */
    /* of struct plan_opts */
    rill_status (*loop_made)(struct lower *l, const struct scope *f, struct loop_step *step,
                             uint32_t begin);
    size_t spared_bytes; /* of weights_bytes, where steps keep them smaller */
    struct crew *crew;   /* these four: shares.h */
    unsigned shares_most;
    uint64_t share_effort, shared_effort; /* of struct plan_opts; of all that was divided */
    const struct graph *top;              /* whose nodes may be divided */
    size_t bytes_max;                     /* of a block, and so of each tensor in it */
    rill_error *err;
};

/* A graph being lowered: wire -> slot. */
struct scope {
    const struct graph *g;
    uint32_t *slot;
    uint32_t *last; /* number of the last node that reads the wire, also through views; n_nodes:
                       read after all */
    uint32_t *next; /* of a state, or what a branch captured of one: the wire that is its next value
                       and may lie in its place; WIRE_NONE of other wires */
};

rill_status lower_no_memory(const struct lower *l);
rill_status slot_new(struct lower *l, size_t bytes, uint32_t *ret);
rill_status slot_constant(struct lower *l, const void *data, size_t bytes, uint32_t *ret);
uint32_t slot_root(const struct lower *l, uint32_t slot);
size_t slot_shift(const struct lower *l, uint32_t slot); /* bytes from where its root starts */
void slot_use(struct lower *l, uint32_t slot, uint32_t time);
/* stays registered until resolved */
rill_status operand_set(struct lower *l, union operand *o, uint32_t slot);
rill_status copy_add(struct lower *l, struct copies *list, uint32_t from, uint32_t to,
                     size_t bytes);
rill_status copies_init(struct lower *l, struct copies *list, uint32_t cap);
rill_status step_add(struct lower *l, struct steps *list,
                     void (*run)(const struct step *, unsigned char *), const void *args,
                     const char *name, const char *kernel);
rill_status steps_init(struct lower *l, struct steps *list, uint32_t cap);
rill_status scope_init(struct lower *l, struct scope *f, const struct graph *g);
/* makes it on first sight */
rill_status wire_slot(struct lower *l, struct scope *f, uint32_t wire, uint32_t *ret);
rill_status wire_bytes(struct lower *l, const struct graph *g, uint32_t wire, size_t *ret);
/* Output 0 is bytes of an input as they lie there. */
bool node_is_view(const struct node *n, unsigned *ret_input, size_t *ret_shift_bytes);

/* A next value that is written only after the old one, in `to`, was last read is written there. */
void state_merge(struct lower *l, uint32_t to, uint32_t from);

/* `from` lies in the place of another state than number me of to[0..n). */
bool is_another_state(const struct lower *l, const uint32_t *to, uint32_t n, uint32_t me,
                      uint32_t from);

/* State updates of a graph or a Scan: through staging where one state's next value lies in another
 * state. */
rill_status states_update(struct lower *l, const uint32_t *to, const uint32_t *from,
                          const size_t *bytes, uint32_t n, struct copies *stage,
                          struct copies *next);

/* moving.c: what a body reads or writes moves along with the iterations where it can; the rest
 * is copied. */
struct loop_slots {
    const struct scope *body;
    uint32_t first_slot;                   /* slots from here on were made for the body */
    uint32_t *in, *out;                    /* of the body's inputs and outputs */
    uint32_t *init, *state_in, *state_out; /* of each state */
    const size_t *state_bytes;
    bool *moved;    /* to set: the state needs no copy from iteration to iteration */
    uint32_t *last; /* to set: where a moved state's last value lies */
    uint32_t n_states;
};
rill_status loop_slots_move(struct lower *l, const struct loop_slots *s, struct loop_step *step);
rill_status moving_pointers_collect(
    struct lower *l); /* once the pointers of steps have their places */

/* control.c */
rill_status control_lower(struct lower *l, struct scope *f, const struct node *n,
                          struct steps *list);
#endif
