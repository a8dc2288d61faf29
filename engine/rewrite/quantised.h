/* SPDX-License-Identifier: MIT */
/* quantised.h - wires that are dequantised integers, with one scale and zero for all, both known.
 */
#ifndef RILL_ENGINE_REWRITE_QUANTISED_H
#define RILL_ENGINE_REWRITE_QUANTISED_H
#include "engine/graph/edit.h"

struct quantised_wire {
    uint32_t node;  /* the DequantizeLinear */
    uint32_t whole; /* the wire of its integers */
    float scale;
    const struct tensor *zero; /* NULL: 0 */
};

/* Scale and zero of a QuantizeLinear or DequantizeLinear; ret->node and whole stay. False: they are
 * not known, or several, or the scale is next to 0 or infinite. */
bool quantised_params(const struct graph *g, const struct node *n, struct quantised_wire *ret);

/* Whether a DequantizeLinear to f32 of the old nodes with one known scale and zero writes the wire;
 * sums of i32 are none. */
bool wire_is_dequantised(const struct edit *e, uint32_t wire, struct quantised_wire *ret);

/* An op whose first input holds elements that it moves, and whose others, if any, are places and
 * sizes. */
bool node_only_moves(const struct node *n);

/* Of integers of 8 bits. */
bool wire_is_byte(const struct graph *g, uint32_t wire);

/* An output of the graph or a state's next value. */
bool wire_leaves(const struct graph *g, uint32_t wire);

/* What Div, RoundS8 or RoundS16 and Mul by numbers make of a wire of f32: whole numbers from
 * -128 - zero or -32768 - zero on, times the scale. */
struct rounded_wire {
    uint32_t of;
    enum op_id op;
    float scale, zero;
};
bool wire_is_rounded(const struct graph *g, uint32_t wire, struct rounded_wire *ret);

int64_t quantised_zero(const struct quantised_wire *q);
#endif
