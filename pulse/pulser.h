/* SPDX-License-Identifier: MIT */
/* pulser.h - what a streaming rule sees and may do. */
#ifndef PULSE_PULSER_H
#define PULSE_PULSER_H
#include "engine/op.h"
#include "pulse/pgraph.h"

struct pulser {
    const struct graph *src;
    struct graph *dst;
    uint32_t *map;              /* src wire -> dst wire */
    struct stream_fact *sf;     /* of src wires */
    const struct dim *symbol;
    struct arena *arena;
    int64_t pulse;
    int64_t multiple;           /* set when the pulse does not fit: what it must be a multiple of */
    rill_error *err;
};

/* A streaming rule: reads node n of src, emits what stands for it in dst and sets the outputs' stream
 * facts. At least one input streams. */
typedef rill_status pulse_rule(struct pulser *p, const struct node *n);

/* The rule of an op; NULL: the op does not stream. */
pulse_rule *pulse_rule_find(const struct op *op);

/* ---- for rules ---- */

const struct stream_fact *pulser_stream(const struct pulser *p, uint32_t src_wire);    /* NULL: does not stream */
const struct fact *pulser_fact(const struct pulser *p, uint32_t src_wire);             /* of the typed graph */
rill_status pulser_no_memory(const struct pulser *p);

/* Emits op with the dst wires `in`; facts by the op's own infer. */
rill_status pulser_emit(struct pulser *p, const struct op *op, const char *name, const void *attr, const uint32_t *in,
                        unsigned n_in, uint32_t *ret_out, unsigned n_out);
rill_status pulser_ints(struct pulser *p, const char *name, const int64_t *v, unsigned n, uint32_t *ret);
/* A state of zeros with the shape of fact f where the axis has n frames. Returns the wire it is read from. */
rill_status pulser_state(struct pulser *p, const char *name, const struct fact *f, int axis, int64_t n, uint32_t *ret);
rill_status pulser_slice(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t from, int64_t to,
                         uint32_t *ret);
/* wire delayed by n frames. */
rill_status pulser_delay(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t n, uint32_t *ret);

/* The newest n frames of the past in front of wire: n + pulse frames. */
rill_status pulser_history(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t n, uint32_t *ret);

/* Binds output k of n to a dst wire with stream fact sf; checks that the wire has sf->pulse frames there. */
rill_status pulser_bind(struct pulser *p, const struct node *n, unsigned k, uint32_t dst_wire,
                        const struct stream_fact *sf);

/* Dst wires of all inputs, with streaming ones aligned to the largest delay; ret_sf: the first streaming
 * input's fact with that delay. Refuses streaming inputs of different rates. */
rill_status pulser_align(struct pulser *p, const struct node *n, uint32_t *ret_in, struct stream_fact *ret_sf,
                         unsigned *ret_first);
#endif
