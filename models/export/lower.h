/* SPDX-License-Identifier: MIT */
/* lower.h - what lower_clock.c and lower_signal.c build with, in whose rules each op that only rill
 * has becomes several that files have; steps.c walks the graph. */
#ifndef RILL_MODELS_EXPORT_LOWER_H
#define RILL_MODELS_EXPORT_LOWER_H
#include "engine/graph/op.h"
#include "engine/ops/clock.h"

/* One graph, the outermost or a body. */
struct lower {
    const struct graph *src;
    struct graph *dst;
    struct arena *arena;
    rill_error *err;
    bool standard;
    bool whole;                 /* src takes whole recordings, no pulses */
    uint32_t clock;             /* of src; WIRE_NONE: it has none */
    uint32_t *map;              /* of src's wires */
    uint32_t place[CLOCK_SIZE]; /* numbers of the clock that dst has read; WIRE_NONE: not yet */
    const struct node *at;      /* the node that is lowered */
    rill_status status;         /* sticky: the first failure, after which wires are WIRE_NONE */
};

/* The ops that only rill has; *ret_out: one wire for each output. */
typedef void lower_rule(struct lower *l, const struct node *n, uint32_t *ret_out);
lower_rule lower_first, lower_pad, lower_valid, lower_skip, lower_range, lower_history,
    lower_window;
lower_rule lower_frame, lower_overlap, lower_rfft, lower_irfft, lower_magnitude, lower_complex_mul,
    lower_round, lower_rnn, lower_resize, lower_pool;

/* ---- lower.c: all give WIRE_NONE once something failed ---- */

uint32_t lower_fail(struct lower *l, rill_status s);
const struct fact *lower_fact(const struct lower *l, const struct node *n, unsigned i);
/* Size of an axis of it. */
int64_t lower_size(const struct fact *f, int axis);
uint32_t lower_in(const struct lower *l, const struct node *n, unsigned i); /* in dst */
/* Of one output; attr is as the op has it. */
uint32_t lower_node(struct lower *l, enum op_id id, void *attr, const uint32_t *in, unsigned n_in);
uint32_t lower_op(struct lower *l, enum op_id id, const struct attr *attrs, unsigned n_attrs,
                  const uint32_t *in, unsigned n_in);
uint32_t lower_1(struct lower *l, enum op_id id, uint32_t x);
uint32_t lower_2(struct lower *l, enum op_id id, uint32_t x, uint32_t y);
uint32_t lower_where(struct lower *l, uint32_t condition, uint32_t x, uint32_t y);
uint32_t lower_const(struct lower *l, const struct tensor *t);
uint32_t lower_ints(struct lower *l, const int64_t *v, unsigned n);
uint32_t lower_int(struct lower *l, int64_t v); /* a scalar */
uint32_t lower_sizes(struct lower *l, const struct dim *const *d, unsigned n);
uint32_t lower_dim(struct lower *l, const struct dim *d); /* a scalar */
uint32_t lower_float(struct lower *l, float v);
uint32_t lower_zero(struct lower *l, enum dtype type);
uint32_t lower_cast(struct lower *l, uint32_t x, enum dtype to);
uint32_t lower_slice(struct lower *l, uint32_t x, int axis, int64_t from, int64_t to);
uint32_t lower_slice_dims(struct lower *l, uint32_t x, int axis, const struct dim *from,
                          const struct dim *to);
uint32_t lower_gather(struct lower *l, uint32_t x, uint32_t at, int axis);
uint32_t lower_concat(struct lower *l, int axis, uint32_t x, uint32_t y);
uint32_t lower_reshape(struct lower *l, uint32_t x, const int64_t *dim, int rank);
uint32_t lower_reshape_dims(struct lower *l, uint32_t x, const struct dim *const *dim, int rank);
/* Zeros around it along the axis. */
uint32_t lower_padded(struct lower *l, uint32_t x, int rank, int axis, int64_t before,
                      int64_t after);
uint32_t lower_padded_dim(struct lower *l, uint32_t x, int rank, int axis, int64_t before,
                          const struct dim *after);
/* A number of the clock, i64[]. */
uint32_t lower_place(struct lower *l, int64_t place);
#endif
