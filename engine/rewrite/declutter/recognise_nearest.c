/* SPDX-License-Identifier: MIT */
/* Nearest resizing written out, as PyTorch's newer exporter does: frames gathered at
 * (i + 0.5) * scale or i * scale as floats, rounded down, or at quotients of i that are at most the
 * last. It becomes a Resize, whose places do not end where floats cannot count any more. */
#include "engine/base/ratio.h"
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/ops/resize.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"

#include <math.h>

#define TIMES_MAX 1024
#define PARTS_MAX 16 /* of which a factor is a multiple: T times it is the same in f32 */

/* Place i is floor(den * (i + middle) / num) of an axis that becomes num / den as long. */
struct nearest {
    const struct dim *from, *to;
    int64_t num, den;
    bool middle; /* of the frame: + 0.5 */
};

/* num / den in lowest terms. */
static bool ratio_set(struct nearest *r, int64_t num, int64_t den)
{
    if (num < 1 || den < 1)
        return false;
    const int64_t by = gcd(num, den);
    r->num = num / by;
    r->den = den / by;
    return r->num <= TIMES_MAX && r->den <= TIMES_MAX;
}

/* A factor of whole sixteenths. */
static bool factor_set(struct nearest *r, double factor)
{
    const double parts = factor * PARTS_MAX;
    return parts >= 1 && parts <= TIMES_MAX * PARTS_MAX && parts == floor(parts) &&
        ratio_set(r, (int64_t) parts, PARTS_MAX);
}

static const struct dim *cast_size(const struct graph *g, uint32_t w)
{
    const struct node *n = match_op(g, w, OP_CAST);
    return n && g->wires[w].fact.type == DTYPE_F32 ? match_size(g, n->in[0]) : NULL;
}

/* from over from * factor, or over so many times from, as floats. */
static bool lengths_scale(const struct graph *g, const struct node *div, struct nearest *r)
{
    const struct node *mul = match_op(g, div->in[1], OP_MUL);
    float factor;
    if (cast_size(g, div->in[0]) != r->from)
        return false;
    for (int k = 0; mul && k < 2; k++)
        if (match_number(g, mul->in[k], &factor) && cast_size(g, match_other(mul, k)) == r->from)
            return factor_set(r, (double) factor);
    if (cast_size(g, div->in[1]) != r->to)
        return false;
    for (int64_t times = 1; times <= TIMES_MAX; times++)
        if (dim_mul_int(g->dims, r->from, times) == r->to)
            return ratio_set(r, times, 1);
    return false;
}

/* The scale that is the f32 next to a ratio, and not below it: places that are whole stay so. */
static bool scale_set(struct nearest *r, float scale)
{
    for (int64_t num = 1; num <= TIMES_MAX && scale > 0 && scale <= TIMES_MAX; num++) {
        const int64_t den = llround((double) scale * (double) num);
        if (den >= 1 && (float) ((double) den / (double) num) == scale)
            return ratio_set(r, num, den);
    }
    return false;
}

static bool scale_find(const struct graph *g, uint32_t w, struct nearest *r)
{
    const struct node *div = match_op(g, w, OP_DIV);
    float scale;
    return div ? lengths_scale(g, div, r) : match_number(g, w, &scale) && scale_set(r, scale);
}

/* (float) den / num * whole numbers of `num` gives no less than these. */
static bool stays_whole(const struct nearest *r)
{
    const double exact = (double) r->den / (double) r->num;
    const bool can_be_whole = !r->middle || r->den % 2 == 0;
    return !can_be_whole || (double) (float) exact * (double) r->num >= (double) r->den;
}

/* 0, 1, .. up to `to`. */
static bool is_count(const struct graph *g, uint32_t w, const struct nearest *r)
{
    const struct node *cast = match_op(g, w, OP_CAST),
                      *n = match_op(g, cast ? cast->in[0] : w, OP_RANGE);
    if (!n || g->wires[w].fact.rank != 1 ||
        dim_refresh(g->dims, g->wires[w].fact.shape[0]) != r->to)
        return false;
    if (g->wires[n->out[0]].fact.type == DTYPE_F32)
        return match_is_number(g, n->in[0], 0) && match_is_number(g, n->in[2], 1);
    const struct dim *from = match_size(g, n->in[0]), *by = match_size(g, n->in[2]);
    return from && by && dim_is(from, 0) && dim_is(by, 1);
}

static bool is_middle(const struct graph *g, uint32_t w, struct nearest *r)
{
    const struct node *add = match_op(g, w, OP_ADD);
    r->middle = add != NULL;
    for (int k = 0; add && k < 2; k++)
        if (match_is_number(g, add->in[k], 0.5F))
            return is_count(g, match_other(add, k), r);
    return !add && is_count(g, w, r);
}

/* Floats cut to integers. */
static bool floats_find(const struct graph *g, const struct node *cast, struct nearest *r)
{
    const struct node *down = match_op(g, cast->in[0], OP_FLOOR);
    const uint32_t w = down ? down->in[0] : cast->in[0];
    const struct node *mul = match_op(g, w, OP_MUL);
    if (g->wires[w].fact.type != DTYPE_F32)
        return false;
    for (int k = 0; mul && k < 2; k++)
        if (is_middle(g, mul->in[k], r) && scale_find(g, match_other(mul, k), r))
            return stays_whole(r);
    return false;
}

/* i / num, or i * den / num. */
static bool quotient_find(const struct graph *g, uint32_t w, struct nearest *r)
{
    const struct node *div = match_op(g, w, OP_DIV),
                      *mul = div ? match_op(g, div->in[0], OP_MUL) : NULL;
    const struct dim *num = div ? match_size(g, div->in[1]) : NULL, *den;
    if (!num || !dim_is_const(num) || g->wires[w].fact.type != DTYPE_I64)
        return false;
    r->middle = false;
    if (!mul)
        return is_count(g, div->in[0], r) && ratio_set(r, dim_value(num), 1);
    for (int k = 0; k < 2; k++)
        if ((den = match_size(g, mul->in[k])) && dim_is_const(den) &&
            is_count(g, match_other(mul, k), r))
            return ratio_set(r, dim_value(num), dim_value(den));
    return false;
}

/* What is at most the last place of the axis; WIRE_NONE: something else is. */
static uint32_t before_last(const struct graph *g, uint32_t w, const struct nearest *r)
{
    const struct node *n = match_op(g, w, OP_MIN);
    for (int k = 0; n && n->n_in == 2 && k < 2; k++)
        if (match_size(g, n->in[k]) == dim_add_int(g->dims, r->from, -1))
            return match_other(n, k);
    n = match_op(g, w, OP_CLIP);
    return n && !node_has_input(n, 1) && node_has_input(n, 2) &&
            match_size(g, n->in[2]) == dim_add_int(g->dims, r->from, -1)
        ? n->in[0]
        : WIRE_NONE;
}

static bool nearest_find(const struct graph *g, const struct node *n, struct nearest *r)
{
    const struct fact *x = &g->wires[n->in[0]].fact, *at = &g->wires[n->in[1]].fact;
    const int axis = axis_normalise(axis_of(n), x->rank);
    int64_t num, den;
    if (x->type != DTYPE_F32 || at->type != DTYPE_I64 || at->rank != 1 || axis < 0 ||
        dim_is_const(x->shape[axis]))
        return false;
    r->from = dim_refresh(g->dims, x->shape[axis]);
    r->to = dim_refresh(g->dims, at->shape[0]);
    const uint32_t under = before_last(g, n->in[1], r), w = under == WIRE_NONE ? n->in[1] : under;
    const struct node *cast = match_op(g, w, OP_CAST);
    return (cast ? floats_find(g, cast, r) : under != WIRE_NONE && quotient_find(g, w, r)) &&
        resize_ratio((double) (float) ((double) r->num / (double) r->den), &num, &den) &&
        num == r->num && den == r->den &&
        r->to == dim_div_int(g->dims, dim_mul_int(g->dims, r->from, num), den);
}

static rill_status attr_make(struct graph *g, const struct node *n, const struct nearest *r,
                             void **ret, rill_error *reterr)
{
    const struct op *op = op_by_id(OP_RESIZE);
    int64_t *along = arena_new(g->arena, int64_t);
    *ret = arena_alloc(g->arena, op->attr_bytes + 1);
    if (!*ret || !along)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    *along = axis_normalise(axis_of(n), g->wires[n->in[0]].fact.rank);
    const char *const place = r->middle ? "half_pixel" : "asymmetric";
    const char *const rounds = r->middle ? "round_prefer_ceil" : "floor";
    const struct attr list[] = {
        { .name = "coordinate_transformation_mode",
          .kind = ATTR_STRINGS,
          .strings = { 1, &place } },
        { .name = "nearest_mode", .kind = ATTR_STRINGS, .strings = { 1, &rounds } },
        { .name = "axes", .kind = ATTR_INTS, .ints = { 1, along } },
    };
    return attrs_parse(op, n->name, list, 3, *ret, reterr);
}

static rill_status resize_put(struct edit *e, uint32_t at, const struct nearest *r,
                              rill_error *reterr)
{
    struct graph *g = e->g;
    const float times = (float) ((double) r->num / (double) r->den);
    const int64_t one = 1;
    void *attr = NULL;
    TRY(attr_make(g, &g->nodes[at], r, &attr, reterr));
    const uint32_t scales =
        graph_add_const(g, "scales", tensor_from_data(g->arena, DTYPE_F32, 1, &one, &times));
    const uint32_t in[] = { g->nodes[at].in[0], WIRE_NONE, scales };
    if (scales == WIRE_NONE || !edit_inputs(e, at, in, 3))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    g->nodes[at].op = op_by_id(OP_RESIZE);
    g->nodes[at].attr = attr;
    return RILL_OK;
}

rill_status graph_with_nearest_recognised(struct graph *ret, const struct graph *g,
                                          rill_error *reterr)
{
    struct edit e;
    struct nearest r;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (node_is(&ret->nodes[i], OP_GATHER) && nearest_find(ret, &ret->nodes[i], &r))
            TRY(resize_put(&e, i, &r, reterr));
    return edit_end(&e, reterr);
}
