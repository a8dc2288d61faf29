/* SPDX-License-Identifier: MIT */
/* Operators of tract's registries, as its own files and torch_to_nnef write them: one row each;
 * those that are formulas of others are in fragments.c. The scan is in tract_scan.c.
 *
 * A text may use them once it declares their registry: extension tract_registry tract_core; */
#include "models/nnef/build.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Whole numbers of a file that fit a narrower type are constants of it; *ret_done. */
static rill_status integers_narrow(const struct call *c, enum dtype to, uint32_t *w, bool *ret_done)
{
    const struct tensor *from = c->s->g->wires[*w].fact.value;
    *ret_done = false;
    if (!from || from->type != DTYPE_I64 || !dtype_is_int(to))
        return RILL_OK;
    struct tensor *t = tensor_new(c->b->arena, to, from->rank, from->dim);
    if (!t)
        return nnef_no_memory(c->b);
    for (int64_t i = 0; i < tensor_count(from); i++) {
        const int64_t v = tensor_get_i64(from, from->data, i);
        tensor_set_f64(t, t->data, i, (double) v);
        if (tensor_get_i64(t, t->data, i) != v)
            return RILL_OK;
    }
    *w = graph_add_const(c->s->g, c->s->g->wires[*w].name, t);
    *ret_done = true;
    return *w == WIRE_NONE ? nnef_no_memory(c->b) : RILL_OK;
}

static bool is_whole(struct val v)
{
    bool whole = v.kind == VAL_INT || v.kind == VAL_LIST;
    for (uint32_t i = 0; whole && v.kind == VAL_LIST && i < v.n; i++)
        whole = is_whole(v.list[i]);
    return whole;
}

rill_status build_tract_cast(const struct call *c, struct val *ret)
{
    bool done;
    struct val v;
    const char *text;
    enum dtype to = DTYPE_NONE;
    uint32_t w;
    TRY(arg_val(c, "input", &v));
    TRY(arg_text(c, "to", &text));
    const struct quant *q =
        c->s->whole == c->e ? quant_find(c->b, c->s, c->s->target) : NULL; /* what is assigned */
    if (*text)
        TRY(type_of_text(c, text, &to));
    else if (!q)
        return call_fail(c, RILL_MALFORMED,
                         "'tract_core_cast' to no type: give to = '...', or say in graph.quant "
                         "what the result is");
    if (q && (!*text || to == quant_type(q))) { /* the assignment rounds */
        *ret = v;
        return RILL_OK;
    }
    bool sizes = v.kind == VAL_INT || v.kind == VAL_DIM;
    if (sizes && (dtype_is_int(to) || to == DTYPE_I64)) {
        *ret = v;
        return RILL_OK;
    }
    const bool whole = dtype_is_int(to) && is_whole(v); /* f32 has 24 bits */
    TRY(val_to_wire(c->b, c->s, c->e->pos, v, whole ? DTYPE_I64 : DTYPE_F32, &w));
    if (dtype_is_int(to) && wire_fact(c->s, quant_stored(c->b, w))->type == to)
        w = quant_stored(c->b, w);
    bool same = wire_fact(c->s, w)->type == to && quant_stored(c->b, w) != w;
    if (same) /* numbers from here on, not the integers that they were stored as */
        TRY(call_node(c, "Identity", NULL, 0, &w, 1, &w));
    TRY(integers_narrow(c, to, &w, &done));
    if (!done)
        TRY(build_cast(c->b, c->s, c->e->pos, to, &w));
    *ret = val_of_wire(w);
    return RILL_OK;
}

/* ---- shapes ---- */

rill_status build_tract_range(const struct call *c, struct val *ret)
{
    static const char *const names[] = { "start", "end", "step" };
    uint32_t in[3], y;
    enum dtype type = DTYPE_I64;
    struct val v[3];
    for (int i = 0; i < 3; i++) {
        TRY(arg_val(c, names[i], &v[i]));
        if (v[i].kind == VAL_REAL ||
            (v[i].kind == VAL_WIRE && dtype_is_float(wire_fact(c->s, v[i].wire)->type)))
            type = DTYPE_F32;
    }
    for (int i = 0; i < 3; i++) {
        TRY(val_to_wire(c->b, c->s, c->e->pos, v[i], type, &in[i]));
        if (type == DTYPE_F32)
            TRY(build_cast(c->b, c->s, c->e->pos, type, &in[i]));
    }
    TRY(call_node(c, "Range", NULL, 0, in, 3, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

rill_status build_tract_broadcast(const struct call *c, struct val *ret)
{
    const struct dim *shape[RANK_MAX];
    uint32_t in[2], y;
    unsigned n;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(arg_dims(c, "shape", shape, RANK_MAX, &n));
    TRY(const_sizes(c->b, c->s->g, shape, n, &in[1]));
    TRY(call_node(c, "Expand", NULL, 0, in, 2, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* ---- products ---- */

/* Letters of the result that no operand has are axes of one place: without them, and where they
 * are. */
static rill_status einsum_read(const struct call *c, const char **equation, int64_t ret_axes[],
                               unsigned *ret_n)
{
    char *text = arena_string(c->b->arena, *equation);
    char *to = text ? strstr(text, "->") : NULL;
    *ret_n = 0;
    if (!text)
        return nnef_no_memory(c->b);
    if (!to)
        return RILL_OK;
    const size_t n_operands = (size_t) (to - text);
    to += 2;
    for (unsigned k = 0; *to && k < RANK_MAX; k++) {
        if (isalpha((unsigned char) *to) && !memchr(text, *to, n_operands)) {
            memmove(to, to + 1, strlen(to));
            ret_axes[(*ret_n)++] = k;
        } else {
            to++;
        }
    }
    *equation = text;
    return RILL_OK;
}

rill_status build_tract_einsum(const struct call *c, struct val *ret)
{
    const char *equation, *text;
    uint32_t *in, y;
    int64_t axes[RANK_MAX];
    unsigned n, n_axes;
    enum dtype acc = DTYPE_NONE; /* what is summed and given */
    TRY(arg_wires(c, "inputs", &in, &n));
    TRY(arg_text(c, "expr", &equation));
    TRY(arg_text(c, "acc", &text));
    if (*text)
        TRY(type_of_text(c, text, &acc));
    for (unsigned i = 0; acc != DTYPE_NONE && i < n; i++)
        if (dtype_is_float(wire_fact(c->s, in[i])->type) == dtype_is_float(acc))
            TRY(build_cast(c->b, c->s, c->e->pos, acc, &in[i]));
    TRY(einsum_read(c, &equation, axes, &n_axes));
    TRY(call_node(c, "Einsum", &(struct attr) ATTR_S("equation", &equation), 1, in, n, &y));
    if (n_axes) {
        uint32_t pair[2] = { y, 0 };
        TRY(const_i64(c->b, c->s->g, axes, n_axes, &pair[1]));
        TRY(call_node(c, "Unsqueeze", NULL, 0, pair, 2, &y));
    }
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* ---- choices ---- */

static rill_status two_results(const struct call *c, uint32_t first, uint32_t second,
                               struct val *ret)
{
    struct val *list = arena_array(c->b->arena, struct val, 2);
    if (!list)
        return nnef_no_memory(c->b);
    list[0] = val_of_wire(first);
    list[1] = val_of_wire(second);
    *ret = (struct val) { .kind = VAL_LIST, .n = 2, .list = list };
    return RILL_OK;
}

/* How many: a number, or a tensor that holds one. */
static rill_status count_read(const struct call *c, int64_t *ret)
{
    struct val v;
    TRY(arg_val(c, "k", &v));
    const struct tensor *t = v.kind == VAL_WIRE ? wire_fact(c->s, v.wire)->value : NULL;
    if (!t || !dtype_is_int(t->type) || tensor_count(t) != 1)
        return arg_int(c, "k", ret);
    *ret = tensor_get_i64(t, t->data, 0);
    return RILL_OK;
}

rill_status build_tract_topk(const struct call *c, struct val *ret)
{
    uint32_t in[2], out[2];
    int64_t k, axis;
    bool largest;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(count_read(c, &k));
    TRY(arg_int(c, "axis", &axis));
    TRY(arg_bool(c, "largest", &largest));
    TRY(const_i64(c->b, c->s->g, &k, 1, &in[1]));
    struct attr attrs[] = { ATTR_I("axis", axis), ATTR_I("largest", largest) };
    TRY(build_node(c->b, c->s, c->e->pos, "TopK", attrs, 2, in, 2, out, 2));
    return two_results(c, out[0], out[1], ret);
}

rill_status build_tract_one_hot(const struct call *c, struct val *ret)
{
    uint32_t in[3], y;
    int64_t axis, depth, two = 2;
    double off, on;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(arg_int(c, "axis", &axis));
    TRY(arg_int(c, "dim", &depth));
    TRY(arg_real(c, "value_off", &off));
    TRY(arg_real(c, "value_on", &on));
    TRY(const_i64(c->b, c->s->g, &depth, 1, &in[1]));
    TRY(const_f32(c->b, c->s->g, 1, &two, (float[]) { (float) off, (float) on }, &in[2]));
    TRY(call_node(c, "OneHot", &(struct attr) ATTR_I("axis", axis), 1, in, 3, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* How many there are is a symbol while the text is read; typing finds out what bounds it. */
rill_status build_tract_non_zero(const struct call *c, struct val *ret)
{
    uint32_t x, y;
    const char *symbol;
    struct val size;
    TRY(arg_wire(c, "input", &x));
    TRY(arg_text(c, "count_symbol", &symbol));
    if (wire_fact(c->s, x)->value)
        return build_row(c, ret);
    if (!*symbol && !(symbol = arena_printf(c->b->arena, "count_%u", c->s->g->n_nodes)))
        return nnef_no_memory(c->b);
    const struct val *known = symbol_find(c->b, symbol);
    if (known)
        size = *known;
    else
        TRY(symbol_add(c->b, symbol, &size));
    struct fact f = { .type = DTYPE_I64, .rank = 2 };
    f.shape[0] = dim_int(c->b->dims, wire_fact(c->s, x)->rank);
    f.shape[1] = size.dim;
    const char *name =
        arena_printf(c->b->arena, "%s%s:%u", c->s->prefix, c->s->target, c->s->g->n_nodes);
    y = name ? graph_add_wire(c->s->g, name, &f) : WIRE_NONE;
    *ret = val_of_wire(y);
    return y != WIRE_NONE && graph_add_node(c->s->g, op_find("NonZero"), name, NULL, &x, 1, &y, 1)
        ? RILL_OK
        : nnef_no_memory(c->b);
}

/* An op whose second input is one axis. */
static rill_status with_axis(const struct call *c, uint32_t x, const char *op, int64_t axis,
                             uint32_t *ret)
{
    uint32_t in[2] = { x, 0 };
    TRY(const_i64(c->b, c->s->g, &axis, 1, &in[1]));
    return call_node(c, op, NULL, 0, in, 2, ret);
}

/* ---- transforms; complex numbers are the last axis, [re, im] ---- */

static rill_status transpose(const struct call *c, uint32_t x, const int64_t *perm, int rank,
                             uint32_t *ret)
{
    return call_node(c, "Transpose", &(struct attr) ATTR_L("perm", perm, (uint32_t) rank), 1, &x, 1,
                     ret);
}

/* The inverse is not divided by the length. */
rill_status build_tract_fft(const struct call *c, struct val *ret)
{
    uint32_t in[3] = { 0, WIRE_NONE, 0 }, scale[2], y;
    int64_t axis;
    bool inverse;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(arg_int(c, "axis", &axis));
    TRY(arg_bool(c, "inverse", &inverse));
    TRY(const_i64(c->b, c->s->g, &axis, 1, &in[2]));
    TRY(call_node(c, "DFT", &(struct attr) ATTR_I("inverse", inverse), 1, in, 3, &y));
    if (inverse) {
        const struct dim *n = wire_fact(c->s, y)->shape[axis_normalise(axis, RANK_MAX)];
        float length = dim_is_const(n) ? (float) dim_value(n) : 0;
        scale[0] = y;
        TRY(const_f32(c->b, c->s->g, 0, NULL, &length, &scale[1]));
        TRY(call_node(c, "Mul", NULL, 0, scale, 2, &y));
    }
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* A window that is shorter than the frame stands in its middle. */
static rill_status window_read(const struct call *c, int64_t frame, uint32_t *ret)
{
    struct val v;
    float zero = 0;
    uint32_t in[3];
    TRY(arg_val(c, "window", &v));
    if (v.kind == VAL_BOOL) {
        *ret = WIRE_NONE;
        return RILL_OK;
    }
    TRY(val_to_wire(c->b, c->s, c->e->pos, v, DTYPE_F32, &in[0]));
    const struct fact *f = wire_fact(c->s, in[0]);
    int64_t n = f->rank == 1 && dim_is_const(f->shape[0]) ? dim_value(f->shape[0]) : -1;
    if (n < 1 || n > frame)
        return call_fail(
            c, RILL_MALFORMED,
            "'%s': a window of %lld samples in frames of %lld; expected a vector of at "
            "most as many",
            c->e->text, (long long) n, (long long) frame);
    int64_t before = (frame - n) / 2, pads[] = { before, frame - n - before };
    TRY(const_i64(c->b, c->s->g, pads, 2, &in[1]));
    TRY(const_f32(c->b, c->s->g, 0, NULL, &zero, &in[2]));
    return call_node(c, "Pad", NULL, 0, in, 3, ret);
}

/* x with `axis` and the parts last, the others in front of them. */
static rill_status axis_to_end(const struct call *c, uint32_t x, int64_t axis, uint32_t *ret)
{
    int64_t perm[RANK_MAX];
    int rank = wire_fact(c->s, x)->rank, n = 0;
    for (int k = 0; k < rank - 1; k++)
        if (k != axis)
            perm[n++] = k;
    perm[n] = axis;
    perm[n + 1] = rank - 1;
    return transpose(c, x, perm, rank, ret);
}

static rill_status reshape(const struct call *c, uint32_t x, const struct dim *const *shape,
                           unsigned n, uint32_t *ret)
{
    uint32_t in[2] = { x, 0 };
    TRY(const_sizes(c->b, c->s->g, shape, n, &in[1]));
    return call_node(c, "Reshape", NULL, 0, in, 2, ret);
}

/* Frames and bins, the last axes but one, back to `axis` and the one behind it. */
static rill_status frames_to_axis(const struct call *c, uint32_t x, int64_t axis, uint32_t *ret)
{
    int64_t perm[RANK_MAX];
    int rank = wire_fact(c->s, x)->rank, from = 0;
    for (int k = 0; k < rank - 1; k++)
        perm[k] = k == axis ? rank - 3 : k == axis + 1 ? rank - 2 : from++;
    perm[rank - 1] = rank - 1;
    return transpose(c, x, perm, rank, ret);
}

/* The op works on [rows, time, 2]: other axes go to the front, and come back behind it. */
rill_status build_tract_stft(const struct call *c, struct val *ret)
{
    uint32_t in[4] = { 0 }, y;
    int64_t axis, frame, stride;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(arg_int(c, "axis", &axis));
    TRY(arg_int(c, "frame", &frame));
    TRY(arg_int(c, "stride", &stride));
    TRY(window_read(c, frame, &in[2]));
    int rank = wire_fact(c->s, in[0])->rank;
    if (axis < 0 || axis >= rank - 1 || rank >= RANK_MAX)
        return call_fail(c, RILL_MALFORMED, "'%s': axis %lld of a tensor of rank %d", c->e->text,
                         (long long) axis, rank);
    TRY(axis_to_end(c, in[0], axis, &in[0]));
    const struct fact x = *wire_fact(c->s, in[0]);
    const struct dim *rows = dim_int(c->b->dims, 1), *full[RANK_MAX];
    for (int k = 0; k < rank - 2; k++)
        rows = dim_mul(c->b->dims, rows, full[k] = x.shape[k]);
    const struct dim *flat[] = { rows, x.shape[rank - 2], x.shape[rank - 1] };
    TRY(reshape(c, in[0], flat, 3, &in[0]));
    TRY(const_i64(c->b, c->s->g, &stride, 1, &in[1]));
    TRY(const_i64(c->b, c->s->g, &frame, 1, &in[3]));
    TRY(call_node(c, "STFT", &(struct attr) ATTR_I("onesided", 0), 1, in, 4, &y));
    for (int k = 0; k < 3; k++)
        full[rank - 2 + k] = wire_fact(c->s, y)->shape[1 + k];
    TRY(reshape(c, y, full, (unsigned) rank + 1, &y));
    TRY(frames_to_axis(c, y, axis, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* ---- attention ---- */

/* softmax over the last axis of scores * scale, masked: false of a bool mask is no place at all, a
 * float one is added. keep: places of false are 0 behind it, too, rows of nothing else included. */
static rill_status masked_softmax(const struct call *c, uint32_t scores, uint32_t mask, float scale,
                                  bool keep, uint32_t *ret)
{
    uint32_t in[3] = { scores, 0, 0 }, none;
    float least = -INFINITY, zero = 0;
    struct attr last = ATTR_I("axis", -1);
    bool choice = mask != WIRE_NONE && wire_fact(c->s, mask)->type == DTYPE_BOOL;
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_F32, &in[0]));
    if (mask != WIRE_NONE && !choice)
        TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_F32, &mask));
    TRY(const_f32(c->b, c->s->g, 0, NULL, &scale, &in[1]));
    TRY(call_node(c, "Mul", NULL, 0, in, 2, &in[1]));
    in[0] = mask;
    if (choice) {
        TRY(const_f32(c->b, c->s->g, 0, NULL, &least, &in[2]));
        TRY(call_node(c, "Where", NULL, 0, in, 3, &in[1]));
    } else if (mask != WIRE_NONE) {
        TRY(call_node(c, "Add", NULL, 0, in, 2, &in[1]));
    }
    TRY(call_node(c, "Softmax", &last, 1, &in[1], 1, ret));
    if (!choice || !keep)
        return RILL_OK;
    TRY(const_f32(c->b, c->s->g, 0, NULL, &zero, &none));
    return call_node(c, "Where", NULL, 0, (uint32_t[]) { mask, *ret, none }, 3, ret);
}

rill_status build_tract_masked_softmax(const struct call *c, struct val *ret)
{
    uint32_t x, mask, y;
    double scale;
    bool keep;
    TRY(arg_wire(c, "input", &x));
    TRY(arg_wire(c, "mask", &mask));
    TRY(arg_real(c, "scale", &scale));
    TRY(arg_bool(c, "post_softmax_mask", &keep));
    TRY(masked_softmax(c, x, mask, (float) scale, keep, &y));
    TRY(build_cast(c->b, c->s, c->e->pos, wire_fact(c->s, x)->type, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

struct sdpa {
    uint32_t q, k, v, mask;
    double scale; /* 0: one over the root of the width of a head */
    bool causal;
    int64_t heads, shared; /* of q; how many of them read one head of k and v */
};

static rill_status axis_fixed(const struct call *c, uint32_t w, int axis, const char *what,
                              int64_t *ret)
{
    const struct dim *n = wire_fact(c->s, w)->shape[axis];
    if (!dim_is_const(n))
        return call_fail(c, RILL_UNSUPPORTED, "'%s': %s are not a fixed number", c->e->text, what);
    *ret = dim_value(n);
    return RILL_OK;
}

static rill_status sdpa_read(const struct call *c, struct sdpa *a)
{
    struct val mask;
    bool causal[2];
    TRY(arg_wire(c, "q", &a->q));
    TRY(arg_wire(c, "k", &a->k));
    TRY(arg_wire(c, "v", &a->v));
    TRY(arg_val(c, "mask", &mask));
    TRY(arg_real(c, "scale", &a->scale));
    TRY(arg_bool(c, "is_causal", &causal[0]));
    TRY(arg_bool(c, "causal", &causal[1]));
    a->causal = causal[0] || causal[1];
    a->mask = WIRE_NONE;
    if (mask.kind != VAL_LIST || mask.n)
        TRY(val_to_wire(c->b, c->s, c->e->pos, mask, DTYPE_F32, &a->mask));
    int rank = wire_fact(c->s, a->q)->rank;
    if (rank < 3 || rank > 4 || wire_fact(c->s, a->k)->rank != rank ||
        wire_fact(c->s, a->v)->rank != rank || (a->causal && a->mask != WIRE_NONE))
        return call_fail(c, RILL_MALFORMED,
                         "'%s': q, k and v of one rank, 3 or 4, and a mask or causal but not both",
                         c->e->text);
    a->heads = a->shared = 1;
    if (rank == 3)
        return RILL_OK;
    TRY(axis_fixed(c, a->q, 1, "heads of q", &a->heads));
    TRY(axis_fixed(c, a->k, 1, "heads of k", &a->shared));
    if (a->shared < 1 || a->heads % a->shared)
        return call_fail(c, RILL_MALFORMED, "'%s': %lld heads of q do not go with %lld of k",
                         c->e->text, (long long) a->heads, (long long) a->shared);
    a->shared = a->heads / a->shared;
    return RILL_OK;
}

/* [T, P] of truths: places of keys up to the query's own, the last query being the last key. */
static rill_status causal_mask(const struct call *c, const struct sdpa *a, uint32_t *ret)
{
    int rank = wire_fact(c->s, a->q)->rank;
    const struct dim *t = wire_fact(c->s, a->q)->shape[rank - 2];
    const struct dim *p = wire_fact(c->s, a->k)->shape[rank - 2];
    const struct dim *ends[3] = { dim_int(c->b->dims, 0), p, dim_int(c->b->dims, 1) };
    uint32_t range[2][3], place[2];
    for (int side = 0; side < 2; side++) {
        ends[0] = side ? dim_int(c->b->dims, 0) : dim_sub(c->b->dims, p, t);
        for (int i = 0; i < 3; i++)
            TRY(val_to_wire(c->b, c->s, c->e->pos, val_of_dim(ends[i]), DTYPE_I64,
                            &range[side][i]));
        TRY(call_node(c, "Range", NULL, 0, range[side], 3, &place[side]));
    }
    TRY(with_axis(c, place[0], "Unsqueeze", 1, &place[0]));
    return call_node(c, "GreaterOrEqual", NULL, 0, place, 2, ret);
}

/* Each head of k and v as often as heads of q read it. */
static rill_status heads_repeat(const struct call *c, const struct sdpa *a, uint32_t *w)
{
    if (a->shared == 1)
        return RILL_OK;
    const struct fact f = *wire_fact(c->s, *w);
    int64_t repeats[] = { 1, 1, a->shared, 1, 1 };
    const struct dim *shape[] = { f.shape[0], dim_int(c->b->dims, a->heads), f.shape[2],
                                  f.shape[3] };
    uint32_t in[2];
    TRY(with_axis(c, *w, "Unsqueeze", 2, &in[0]));
    TRY(const_i64(c->b, c->s->g, repeats, 5, &in[1]));
    TRY(call_node(c, "Tile", NULL, 0, in, 2, &in[0]));
    return reshape(c, in[0], shape, 4, w);
}

/* softmax(q k' * scale + mask) v (Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1),
 * heads of k and v shared as in grouped queries (Ainslie et al. 2023). */
rill_status build_tract_sdpa(const struct call *c, struct val *ret)
{
    struct sdpa a;
    uint32_t in[2], y;
    int64_t width = 0;
    TRY(sdpa_read(c, &a));
    const enum dtype type = wire_fact(c->s, a.q)->type;
    uint32_t *const parts[] = { &a.q, &a.k, &a.v };
    for (int i = 0; dtype_is_half(type) && i < 3; i++) /* within, sums are of f32 */
        TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_F32, parts[i]));
    TRY(axis_fixed(c, a.q, wire_fact(c->s, a.q)->rank - 1, "numbers of a head", &width));
    TRY(heads_repeat(c, &a, &a.k));
    TRY(heads_repeat(c, &a, &a.v));
    if (a.causal)
        TRY(causal_mask(c, &a, &a.mask));
    in[0] = a.q;
    TRY(swap_last(c, a.k, &in[1]));
    TRY(call_node(c, "MatMul", NULL, 0, in, 2, &y));
    double scale = a.scale != 0 ? a.scale : 1 / sqrt((double) width);
    TRY(masked_softmax(c, y, a.mask, (float) scale, false, &in[0]));
    in[1] = a.v;
    TRY(call_node(c, "MatMul", NULL, 0, in, 2, &y));
    TRY(build_cast(c->b, c->s, c->e->pos, dtype_is_half(type) ? type : DTYPE_NONE, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* ---- recurrent layers ---- */

/* Weights of a sequence that is projected already: what comes in goes on. */
static rill_status weights_of_projected(const struct call *c, int64_t rows, uint32_t *ret)
{
    struct tensor shape = { .type = DTYPE_F32, .rank = 2, .dim = { rows, rows } }, *t = NULL;
    TRY(literal_new(c, &shape, &t));
    for (int64_t i = 0; i < rows; i++)
        ((float *) t->data)[i * rows + i] = 1;
    return const_tensor(c->b, c->s->g, t, ret);
}

/* x [batch, T, in], w [3 hidden, in], r [3 hidden, hidden], b [1, 6 hidden], first state
 * [batch, 1, hidden]; the reset gate takes the product (linear_before_reset of the standard). */
rill_status build_tract_gru_seq(const struct call *c, struct val *ret)
{
    static const int64_t swap[] = { 1, 0, 2 };
    static const char *const ways[] = { "forward", "reverse" };
    uint32_t in[6] = { [4] = WIRE_NONE }, out[2];
    int64_t hidden, chunk, bias, projected, restarts;
    struct carried *carried = NULL;
    TRY(arg_wire(c, "x", &in[0]));
    TRY(arg_int(c, "hidden", &hidden));
    TRY(arg_int(c, "chunk", &chunk));
    TRY(arg_int(c, "has_bias", &bias));
    TRY(arg_int(c, "projected", &projected));
    TRY(arg_int(c, "reset_every_turn", &restarts));
    if (hidden < 1 || hidden > 1 << 14 || (chunk != 1 && chunk != -1))
        return call_fail(c, RILL_MALFORMED,
                         "'%s': hidden is %lld and chunk %lld, expected 1 to "
                         "16384 and 1 or -1",
                         c->e->text, (long long) hidden, (long long) chunk);
    TRY(transpose(c, in[0], swap, 3, &in[0]));
    if (projected)
        TRY(weights_of_projected(c, 3 * hidden, &in[1]));
    else
        TRY(arg_wire(c, "w", &in[1]));
    TRY(arg_wire(c, "r", &in[2]));
    TRY(with_axis(c, in[1], "Unsqueeze", 0, &in[1]));
    TRY(with_axis(c, in[2], "Unsqueeze", 0, &in[2]));
    in[3] = WIRE_NONE;
    if (bias)
        TRY(arg_wire(c, "b", &in[3]));
    TRY(arg_wire(c, "initial_h", &in[5]));
    if (!restarts && is_of_pulses(c->b))
        TRY(carried_begin(c, "initial_h", &in[5], &carried));
    TRY(transpose(c, in[5], swap, 3, &in[5]));
    struct attr attrs[] = { ATTR_I("hidden_size", hidden), ATTR_I("linear_before_reset", 1),
                            ATTR_S("direction", &ways[chunk < 0]) };
    TRY(build_node(c->b, c->s, c->e->pos, "GRU", attrs, 3, in, 6, out, 2));
    /* [T, 1, batch, hidden] and [1, batch, hidden] */
    TRY(with_axis(c, out[0], "Squeeze", 1, &out[0]));
    TRY(transpose(c, out[0], swap, 3, &out[0]));
    TRY(transpose(c, out[1], swap, 3, &out[1]));
    if (carried)
        TRY(carried_store(c, carried, out[1]));
    return two_results(c, out[0], out[1], ret);
}

/* ---- caches ---- */

/* Sizes in which an unknown name is a symbol. */
static rill_status sizes_read(const struct call *c, const char *arg, struct fact *ret)
{
    unsigned n;
    c->s->makes_symbols = true;
    rill_status status = arg_dims(c, arg, ret->shape, RANK_MAX, &n);
    c->s->makes_symbols = false;
    ret->rank = (int) n;
    return status == RILL_OK ? dims_status(c->b->dims, c->b->err) : status;
}

/* What came before goes in beside the text's own inputs, and comes out behind its outputs with what
 * is new: the caches of a step, which are found again by these names. */
rill_status build_tract_kv_cache(const struct call *c, struct val *ret)
{
    struct fact past = { .type = DTYPE_NONE }, now = past;
    const char *name, *type;
    int64_t axis;
    uint32_t in[2];
    struct cache *x = arena_new(c->b->arena, struct cache);
    if (!x)
        return nnef_no_memory(c->b);
    TRY(states_allowed(c));
    TRY(arg_wire(c, "input", &in[1]));
    TRY(arg_text(c, "name", &name));
    TRY(arg_int(c, "axis", &axis));
    TRY(arg_text(c, "datum_type", &type));
    TRY(type_of_text(c, type, &past.type));
    TRY(sizes_read(c, "past_sequence_shape", &past));
    TRY(sizes_read(c, "input_sequence_shape", &now));
    if (past.rank != wire_fact(c->s, in[1])->rank)
        return call_fail(c, RILL_MALFORMED, "'%s': a cache of rank %d for a tensor of rank %d",
                         c->e->text, past.rank, wire_fact(c->s, in[1])->rank);
    in[0] = graph_add_input(c->s->g, arena_printf(c->b->arena, "past_%s", name), &past);
    *x = (struct cache) { .name = arena_printf(c->b->arena, "present_%s", name),
                          .next = c->b->caches };
    if (in[0] == WIRE_NONE || !x->name)
        return nnef_no_memory(c->b);
    TRY(call_node(c, "Concat", &(struct attr) ATTR_I("axis", axis), 1, in, 2, &x->out));
    c->b->caches = x;
    *ret = val_of_wire(x->out);
    return RILL_OK;
}

/* ---- rows ---- */

/* clang-format off */
#define UNARY(nnef, op)   { nnef, "x", build_row, op, "x", NULL }
#define BINARY(nnef, op)  { nnef, "x, y", build_aligned, op, "x, y", NULL }
/* clang-format on */

const struct nnef_row nnef_tract_rows[] = {
    { "tract_core_external", "shape, datum_type = 'f32'", build_external, NULL, NULL, NULL },
    { "tract_core_cast", "input, to = ''", build_tract_cast, NULL, NULL, NULL },
    { "tract_core_range", "start, end, step = 1", build_tract_range, NULL, NULL, NULL },
    { "tract_core_shape_of", "input", build_shape_of, NULL, NULL, NULL },
    { "tract_core_broadcast", "input, shape", build_tract_broadcast, NULL, NULL, NULL },
    { "tract_core_gather", "input, indices, axis, datum_type = ''", build_row, "Gather",
      "input, indices:i", "axis:i" },
    { "tract_core_gather_elements", "input, indices, axis", build_row, "GatherElements",
      "input, indices:i", "axis:i" },
    { "tract_core_gather_nd", "input, indices, batch_dims", build_row, "GatherND",
      "input, indices:i", "batch_dims:i" },
    { "tract_core_scatter_elements", "input, indices, updates, axis, reduction = 'none'", build_row,
      "ScatterElements", "input, indices:i, updates", "axis:i reduction:s" },
    { "tract_core_scatter_nd", "input, indices, updates, reduction = 'none'", build_row,
      "ScatterND", "input, indices:i, updates", "reduction:s" },
    { "tract_core_one_hot", "input, axis, dim, value_off = 0.0, value_on = 1.0",
      build_tract_one_hot, NULL, NULL, NULL },
    { "tract_core_topk", "input, k, axis, largest = true", build_tract_topk, NULL, NULL, NULL },
    { "tract_core_trilu", "input, k, upper", build_row, "Trilu", "input, k:i", "upper:b" },
    { "tract_core_einsum", "inputs, expr, acc = '', output = ''", build_tract_einsum, NULL, NULL,
      NULL },
    { "tract_core_softmax", "x, axes, exp = ''", build_softmax, "Softmax", NULL, NULL },
    { "tract_core_log_softmax", "x, axes", build_softmax, "LogSoftmax", NULL, NULL },
    { "tract_core_product_reduce", "input, axes", build_reduce, "ReduceProd", NULL, NULL },
    { "tract_core_argmax_reduce_last", "input, axes", build_argmax_last, "ArgMax", NULL, NULL },
    { "tract_core_argmin_reduce_last", "input, axes", build_argmax_last, "ArgMin", NULL, NULL },
    { "tract_core_fft", "input, axis, inverse", build_tract_fft, NULL, NULL, NULL },
    { "tract_core_stft", "input, axis, frame, stride, window = false", build_tract_stft, NULL, NULL,
      NULL },
    { "tract_core_resize",
      "input, scales = [], sizes = [], coord_transformer = 'half_pixel', interpolator = 'nearest', "
      "nearest_mode = 'floor', cubic_coeff_a = -0.75, exclude_outside = false, antialias = false, "
      "extrapolation_value = 0.0, roi = []",
      build_resize, NULL, NULL, NULL },
    { "tract_core_scan",
      "body, scan, full = [], state = [], output, seq_length = -1, skip = 0, "
      "reset_every_turn = false, external_state = false",
      build_tract_scan, NULL, NULL, NULL },
    { "tract_core_gru_seq",
      "x, r, initial_h, hidden, chunk, w = [], b = [], has_bias = 0, reset_every_turn = 0, "
      "emit_y = 1, projected = 0",
      build_tract_gru_seq, NULL, NULL, NULL },
    { "tract_core_load", "input, id", build_tract_load, NULL, NULL, NULL },
    { "tract_core_store", "input, state, id", build_tract_store, NULL, NULL, NULL },
    { "tract_core_force_eval", "inputs, slots", build_tract_force_eval, NULL, NULL, NULL },
    { "tract_core_submodel", "input, label", build_tract_submodel, NULL, NULL, NULL },
    { "tract_core_gelu_approximate", "x, approximate = 'tanh'", build_row, "Gelu", "x",
      "approximate:s" },
    { "tract_transformers_gelu_approximate", "x, approximate = 'tanh'", build_row, "Gelu", "x",
      "approximate:s" },
    { "tract_transformers_gelu_fast_approx", "x, approximate = 'tanh'", build_row, "Gelu", "x",
      "approximate:s" },
    { "tract_transformers_scaled_masked_softmax", "input, mask, scale, post_softmax_mask = false",
      build_tract_masked_softmax, NULL, NULL, NULL },
    { "tract_transformers_sdpa",
      "q, k, v, mask = [], scale = 0.0, datum_type = '', acc_datum_type = '', is_causal = false, "
      "d_type = '', inner_dtype = '', causal = false",
      build_tract_sdpa, NULL, NULL, NULL },
    { "tract_onnx_non_zero", "input, count_symbol = ''", build_tract_non_zero, "NonZero", "input",
      NULL },

    { "tract_core_cumsum", "input, axis, exclusive, reverse", build_row, "CumSum", "input, axis:i",
      "exclusive:b reverse:b" },
    { "tract_shl", "x, y, direction = 'LEFT'", build_row, "BitShift", "x, y", "direction:s" },
    { "tract_shr", "x, y, direction = 'RIGHT'", build_row, "BitShift", "x, y", "direction:s" },
    { "tract_transformers_dyn_kv_cache",
      "input, name, axis, datum_type, past_sequence_shape, input_sequence_shape",
      build_tract_kv_cache, NULL, NULL, NULL },

    { "tract_resource_get", "label, key", build_resource_get, NULL, NULL, NULL },
    { "rill_stored", "x", build_stored, NULL, NULL, NULL },
    { "rill_axes", "A, axes", build_axes, NULL, NULL, NULL },
    { "rill_sums", "inputs, expr, bias, a0, b0", build_sums, NULL, NULL, NULL },
    { "rill_placed", "x, sums, expr, at", build_placed, NULL, NULL, NULL },

    UNARY("tract_core_is_nan", "IsNaN"),
    UNARY("tract_core_erf", "Erf"),
    UNARY("tract_core_hard_swish", "HardSwish"),
    UNARY("tract_core_round_even", "Round"),
    UNARY("tract_core_bitnot", "BitwiseNot"),
    { "tract_core_is_inf", "input, detect_positive = true, detect_negative = true", build_row,
      "IsInf", "input", "detect_positive:b detect_negative:b" },
    { "tract_onnx_is_inf", "input, detect_positive = true, detect_negative = true", build_row,
      "IsInf", "input", "detect_positive:b detect_negative:b" },
    UNARY("tract_onnx_isinf", "IsInf"), /* of older files */
    UNARY("tract_onnx_is_nan", "IsNaN"),
    UNARY("tract_onnx_erf", "Erf"),
    UNARY("tract_core_tan", "Tan"),
    UNARY("tract_core_acos", "Acos"),
    UNARY("tract_core_asin", "Asin"),
    UNARY("tract_core_atan", "Atan"),
    UNARY("tract_core_cosh", "Cosh"),
    UNARY("tract_core_sinh", "Sinh"),
    UNARY("tract_core_acosh", "Acosh"),
    UNARY("tract_core_asinh", "Asinh"),
    UNARY("tract_core_atanh", "Atanh"),
    BINARY("tract_core_xor", "Xor"),
    BINARY("tract_core_bitand", "BitwiseAnd"),
    BINARY("tract_core_bitor", "BitwiseOr"),
    BINARY("tract_core_bitxor", "BitwiseXor"),
    { NULL, NULL, NULL, NULL, NULL, NULL },
};
