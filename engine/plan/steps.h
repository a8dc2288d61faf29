/* SPDX-License-Identifier: MIT */
/* steps.h - the kinds of step. Until places are known, `slot` numbers stand in their stead. */
#ifndef RILL_ENGINE_PLAN_STEPS_H
#define RILL_ENGINE_PLAN_STEPS_H
#include "engine/plan/plan.h"

union operand {
    uint32_t slot;   /* while lowering */
    struct place at; /* in the finished plan */
};

/* An ordinary op. Where its operands lie in a block is noted in that block when it is first run. */
struct node_step {
    struct eval eval;                  /* all but x, y, scratch and fault */
    void (*run)(const struct eval *e); /* the op's eval */
    size_t lists_offset; /* of the pointers in the block: n_in of inputs, n_out of outputs */
    size_t fault_offset; /* of the block's fault */
    union operand scratch;
    union operand *in, *out; /* slot WIRE_NONE / constant and offset SIZE_MAX: absent */
    size_t alone_offset;     /* of whether the block is computed without the crew */
    struct crew *crew;       /* NULL: the work is not divided */
    struct shares shares;
    size_t scratch_step_bytes; /* from share to share */
    struct node_step *next;    /* of all in the plan */
};

#define LOOP_TRIPS_MAX (1 << 20) /* of one Loop in one run */

/* Moves `outer` pieces of `inner` bytes between a whole tensor and one slice of an axis. */
struct slice_copy {
    union operand whole, slice;
    size_t outer, inner, stride; /* bytes; stride from piece to piece in the whole */
    bool reverse;                /* iteration i takes slice length-1-i */
    const struct fact *fact; /* of the whole, and the axis: for who looks places up in each run */
    int axis;
};

struct block_copy {
    union operand from, to;
    size_t bytes;
};

struct copies {
    struct block_copy *c;
    uint32_t n;
};

struct steps {
    struct step *s;
    uint32_t n;
};

/* A pointer of a step that goes from iteration to iteration. */
struct moving_pointer {
    size_t pointer_offset;   /* where it lies in the block */
    union operand at, first; /* first: what iteration 0 sees instead, where has_first */
    ptrdiff_t stride_bytes;
    uint64_t mask; /* iteration i is (i & mask) strides on */
    bool has_first;
};

/* A body run `length` times. */
struct loop_step {
    struct moving_pointer *moving;
    uint32_t n_moving;
    /* slices are worked out anew each time; NULL: they are not */
    void (*slice_look_up)(const struct slice_copy *c, struct slice_copy *ret);
    int64_t length;
    struct slice_copy **in, **out;
    uint32_t n_in, n_out;
    struct copies start, stage, next,
        finish; /* initial states; states through staging; next; last values */
    struct steps body;
};

/* A body run as often as data says: `trips` times at most, while the condition holds. */
struct open_loop_step {
    struct loop_step loop;                /* all but length; nothing moves, nothing is stacked */
    union operand trips, starts, goes_on; /* i64 and bool; starts: absent where it always does */
    union operand count;                  /* the body's iteration number */
    const struct node *node;
    size_t fault_offset;         /* of the block's fault: too many iterations */
    struct open_loop_step *next; /* of all in the plan */
};

/* One of two bodies. */
struct if_step {
    union operand cond;
    struct steps body[2];
    struct copies out[2];
    struct copies stage[2], next[2]; /* of states that lie where the If found them */
};

struct copy_step {
    struct copies copies;
};

/* What the op's eval gets for this block. */
struct eval node_step_eval(const struct node_step *n, unsigned char *mem);

void node_step_run_many(const struct step *s, unsigned char *const *mem, unsigned n);
void slice_in(const struct slice_copy *c, int64_t at, unsigned char *mem);
void slice_out(const struct slice_copy *c, int64_t at, unsigned char *mem);

void node_step_run(const struct step *s, unsigned char *mem);
void loop_step_run(const struct step *s, unsigned char *mem);
void open_loop_step_run(const struct step *s, unsigned char *mem);
void if_step_run(const struct step *s, unsigned char *mem);
void copy_step_run(const struct step *s, unsigned char *mem);
#endif
