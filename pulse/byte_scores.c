/* SPDX-License-Identifier: MIT */
#include "pulse/byte_scores.h"
#include "pulse/axes.h"
#include "pulse/tracks.h"

#include <math.h>

#define MOVES_MAX 64 /* nodes that are walked over */

static const enum op_id moves[] = { OP_EXPAND,  OP_FLATTEN, OP_IDENTITY,  OP_RESHAPE,
                                    OP_SQUEEZE, OP_SLICE,   OP_TRANSPOSE, OP_UNSQUEEZE };

bool node_quantises(const struct node *n)
{
    return node_is(n, OP_QUANTIZE_LINEAR) || node_is(n, OP_DEQUANTIZE_LINEAR);
}

bool bytes_zero(const struct pulser *p, const struct node *n, unsigned i, double *ret)
{
    const struct tensor *v = node_has_input(n, i) ? pulser_fact(p, n->in[i])->value : NULL;
    *ret = 0;
    if (!node_has_input(n, i))
        return true;
    if (!v || v->type == DTYPE_DIM || tensor_count(v) == 0)
        return false;
    *ret = tensor_get_f64(v, v->data, 0);
    for (int64_t k = 1; k < tensor_count(v); k++) {
        const double more = tensor_get_f64(v, v->data, k);
        if (more < *ret || more > *ret)
            return false;
    }
    return true;
}

static const struct node *quantiser_of(const struct pulser *p, uint32_t w, int *query, int *key)
{
    const struct node *n = graph_producer(p->src, w);
    for (int k = 0; n && k < MOVES_MAX && node_is_among(n, moves, sizeof moves / sizeof *moves);
         k++) {
        *query = track_in(p, n, 0, *query);
        *key = track_in(p, n, 0, *key);
        n = graph_producer(p->src, n->in[0]);
    }
    return n && node_is(n, OP_QUANTIZE_LINEAR) && pulser_fact(p, n->in[1])->value ? n : NULL;
}

const struct node *bytes_quantiser(const struct pulser *p, uint32_t w, double *ret_zero)
{
    int query = AXIS_NONE, key = AXIS_NONE;
    const struct node *q = quantiser_of(p, w, &query, &key);
    return q && bytes_zero(p, q, 2, ret_zero) ? q : NULL;
}

const struct node *bytes_source(const struct pulser *p, uint32_t w, double zero, int *query,
                                int *key)
{
    const struct node *q = quantiser_of(p, w, query, key);
    double own;
    return q && *query >= 0 && *key >= 0 && bytes_zero(p, q, 2, &own) && own >= zero && own <= zero
        ? q
        : NULL;
}

/* ---- what is not a number ---- */

static bool is_finite(const struct size *sizes, uint32_t w)
{
    return sizes[w].low > -INFINITY && sizes[w].high < INFINITY;
}

static bool is_data(const struct pulser *p, uint32_t w)
{
    return pulser_time_twice(p, w) && !pulser_is_mask(p, w);
}

/* The operand of n that depends on data, queries and keys; the axes are those of it then.
 * WIRE_NONE: there are several, or none, or another operand may be infinite. */
static uint32_t scores_before(const struct pulser *p, const struct node *n,
                              const struct size *sizes, int *query, int *key)
{
    unsigned at = n->n_in;
    for (unsigned i = node_is(n, OP_WHERE); i < n->n_in; i++) {
        const bool data = n->in[i] != WIRE_NONE && is_data(p, n->in[i]);
        if (data && at < n->n_in)
            return WIRE_NONE;
        if (data)
            at = i;
        else if (n->in[i] != WIRE_NONE && !is_finite(sizes, n->in[i]))
            return WIRE_NONE;
    }
    if (at == n->n_in)
        return WIRE_NONE;
    *query = track_in(p, n, at, *query);
    *key = track_in(p, n, at, *key);
    return n->in[at];
}

/* Something finite is put in the place of what is not a number. */
static bool puts_numbers(const struct pulser *p, const struct node *n, const struct size *sizes)
{
    const struct node *asks = node_is(n, OP_WHERE) ? graph_producer(p->src, n->in[0]) : NULL;
    return asks && node_is(asks, OP_ISNAN) && asks->in[0] == n->in[2] && is_finite(sizes, n->in[1]);
}

/* Whether the wire is numbers at every query, those of usual size; of a softmax, whose input is
 * *ret_seen then, where each query sees some of it. */
static bool are_numbers(const struct pulser *p, uint32_t w, const struct size *sizes, int *query,
                        int *key, uint32_t *ret_seen)
{
    static const enum op_id products[] = { OP_EINSUM, OP_MATMUL, OP_MATMUL_INTEGER },
                            keep[] = { OP_CAST,      OP_DEQUANTIZE_LINEAR,
                                       OP_MUL,       OP_QUANTIZE_LINEAR,
                                       OP_RELU,      OP_ROUND_BF16,
                                       OP_ROUND_F16, OP_SIGMOID,
                                       OP_WHERE };
    for (int k = 0; w != WIRE_NONE && k < MOVES_MAX; k++) {
        const struct node *n = graph_producer(p->src, w);
        if (!n || !is_data(p, w))
            return is_finite(sizes, w);
        if (node_is_among(n, products, sizeof products / sizeof *products) ||
            puts_numbers(p, n, sizes))
            return true;
        if (node_is(n, OP_SOFTMAX)) {
            *ret_seen = n->in[0];
            return true;
        }
        if (!node_is_among(n, moves, sizeof moves / sizeof *moves) &&
            !node_is_among(n, keep, sizeof keep / sizeof *keep))
            return false;
        w = scores_before(p, n, sizes, query, key);
    }
    return false;
}

static double least_of(enum dtype t)
{
    switch (t) {
    case DTYPE_I2: return -2;
    case DTYPE_I4: return -8;
    case DTYPE_I8: return INT8_MIN;
    case DTYPE_I16: return INT16_MIN;
    default: return 0;
    }
}

/* What is not a number is quantised to the least of the type. */
bool quantises_numbers(const struct pulser *p, const struct node *q, const struct size *sizes,
                       int *query, int *key, uint32_t *ret_seen)
{
    double zero;
    *ret_seen = WIRE_NONE;
    return (bytes_zero(p, q, 2, &zero) && zero <= least_of(pulser_fact(p, q->out[0])->type)) ||
        are_numbers(p, q->in[0], sizes, query, key, ret_seen);
}
