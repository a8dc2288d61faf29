/* SPDX-License-Identifier: MIT */
/* Ops that move elements without looking at them. */
#include "engine/ops/ops.h"
#include "engine/base/dim_claims.h"
#include "engine/ops/attrs.h"
#include "engine/ops/view.h"

#include <stdio.h>
#include <string.h>

static rill_status no_memory(struct prep *c)
{
    return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
}

/* ---- Transpose ---- */

static const struct attr_spec transpose_attrs[] = {
    { .name = "perm", .kind = ATTR_INTS, .offset = offsetof(struct transpose_attr, perm) },
    { 0 },
};

static int perm_of(const struct transpose_attr *a, int i, int rank)
{
    return a->perm.n ? (int) a->perm.v[i] : rank - 1 - i;
}

static rill_status transpose_infer(struct infer *c)
{
    const struct transpose_attr *a = c->attr;
    const struct fact *x = c->in[0];
    bool seen[RANK_MAX] = { false };
    const struct dim *shape[RANK_MAX];
    if (a->perm.n && (int) a->perm.n != x->rank)
        return infer_fail(c, "perm has %u entries, the input has rank %d", a->perm.n, x->rank);
    for (int i = 0; i < x->rank; i++) {
        int64_t k = a->perm.n ? a->perm.v[i] : x->rank - 1 - i;
        if (k < 0 || k >= x->rank || seen[k])
            return infer_fail(c, "perm is no permutation of %d axes", x->rank);
        seen[k] = true;
        shape[i] = x->shape[k];
    }
    infer_shape(c, 0, x->type, x->rank, shape);
    return RILL_OK;
}

static rill_status transpose_prepare(struct prep *c)
{
    const struct tensor *x = c->in[0], *y = c->out[0];
    int64_t xs[RANK_MAX], ys[RANK_MAX], from[RANK_MAX];
    struct view_copy *v = arena_new(c->arena, struct view_copy);
    if (!v)
        return no_memory(c);
    tensor_strides(x, xs);
    tensor_strides(y, ys);
    for (int i = 0; i < x->rank; i++)
        from[i] = xs[perm_of(c->attr, i, x->rank)];
    view_copy_init(v, y->rank, y->dim, from, ys, dtype_bytes(x->type));
    c->args = v;
    return RILL_OK;
}

/* ---- Concat ---- */

static const struct attr_spec axis_attrs[] = {
    { .name = "axis",
      .kind = ATTR_INT,
      .offset = offsetof(struct axis_attr, axis),
      .required = true },
    { 0 },
};

/* Sizes that are the same at most lengths alone; parts without frames, whose sizes nobody looks at,
 * would leave a whole run with those of the others. */
static rill_status concat_needs(struct infer *c, const struct dim *a, const struct dim *b)
{
    const struct dim *more = dim_sub(c->dims, a, b);
    char size[160], text[200];
    if (dim_is(more, 0) || dim_is_const(a) || dim_is_const(b))
        return RILL_OK;
    dim_print(more, size, sizeof size);
    snprintf(text, sizeof text, "%s == 0", size);
    return dims_claim_add(c->dims, DIM_CLAIM_NEEDED, text,
                          dim_min(c->dims, more, dim_mul_int(c->dims, more, -1)), c->err);
}

static rill_status concat_infer(struct infer *c)
{
    const struct fact *x = c->in[0];
    int axis = axis_normalise(((const struct axis_attr *) c->attr)->axis, x->rank);
    if (axis < 0)
        return infer_fail(c, "axis %lld is not one of rank %d",
                          (long long) ((const struct axis_attr *) c->attr)->axis, x->rank);
    bool symbolic = false;
    for (unsigned i = 0; i < c->n_in; i++)
        symbolic |= c->in[i] && c->in[i]->type == DTYPE_DIM;
    infer_same(c, 0, 0);
    for (unsigned i = 1; i < c->n_in; i++) {
        const struct fact *f = c->in[i];
        if (!f || f->rank != x->rank || fact_number(f) != fact_number(x))
            return infer_fail(c, "input %u is not of the type and rank of input 0", i);
        for (int k = 0; k < x->rank; k++) {
            if (k == axis || f->shape[k] == x->shape[k])
                continue;
            if (dim_is_const(f->shape[k]) && dim_is_const(x->shape[k]))
                return infer_fail(c, "axis %d is %lld in input 0 and %lld in input %u", k,
                                  (long long) dim_value(x->shape[k]),
                                  (long long) dim_value(f->shape[k]), i);
            TRY(concat_needs(c, x->shape[k], f->shape[k]));
        }
        c->out[0].shape[axis] = dim_add(c->dims, c->out[0].shape[axis], f->shape[axis]);
    }
    c->out[0].type = symbolic ? DTYPE_DIM : x->type;
    return RILL_OK;
}

/* Concat and Split: piece i is an outer x inner block, `row` bytes a row of the whole. */
struct pieces {
    size_t outer, row;
    size_t *bytes; /* of one row of each piece */
};

static rill_status pieces_prepare(struct prep *c, const struct tensor *whole,
                                  const struct tensor *const *part, unsigned n, int axis)
{
    struct pieces *p = arena_new(c->arena, struct pieces);
    if (!p || !(p->bytes = arena_array(c->arena, size_t, n + 1)))
        return no_memory(c);
    size_t inner = dtype_bytes(whole->type);
    p->outer = 1;
    for (int i = 0; i < axis; i++)
        p->outer *= (size_t) whole->dim[i];
    for (int i = axis + 1; i < whole->rank; i++)
        inner *= (size_t) whole->dim[i];
    p->row = inner * (size_t) whole->dim[axis];
    for (unsigned i = 0; i < n; i++)
        p->bytes[i] = part[i] ? inner * (size_t) part[i]->dim[axis] : 0;
    c->args = p;
    return RILL_OK;
}

static rill_status concat_prepare(struct prep *c)
{
    return pieces_prepare(c, c->out[0], c->in, c->n_in,
                          axis_normalise(((const struct axis_attr *) c->attr)->axis,
                                         c->out[0]->rank));
}

static void concat_eval(const struct eval *e)
{
    const struct pieces *p = e->args;
    char *y = e->y[0];
    for (size_t o = 0; o < p->outer; o++) /* row by row: the output is written from end to end */
        for (unsigned i = 0; i < e->n_in; i++) {
            if (p->bytes[i])
                memcpy(y, (const char *) e->x[i] + o * p->bytes[i], p->bytes[i]);
            y += p->bytes[i];
        }
}

/* Numbers among symbols become symbols' company. */
static void concat_eval_dim(const struct eval *e, struct dims *ds)
{
    const struct dim **y = e->y[0];
    int64_t at = 0;
    for (unsigned i = 0; i < e->n_in; i++) /* shapes are vectors: one row */
        for (int64_t k = 0; k < tensor_count(e->in[i]); k++)
            y[at++] = e->in[i]->type == DTYPE_DIM
                ? ((const struct dim *const *) e->x[i])[k]
                : dim_int(ds, tensor_get_i64(e->in[i], e->x[i], k));
}

/* ---- Split ---- */

struct split_attr {
    struct axis_attr on;
    int64_t num_outputs;
};

static const struct attr_spec split_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct split_attr, on.axis) },
    { .name = "num_outputs", .kind = ATTR_INT, .offset = offsetof(struct split_attr, num_outputs) },
    { 0 },
};

static rill_status split_infer(struct infer *c)
{
    const struct split_attr *a = c->attr;
    const struct fact *x = c->in[0];
    int axis = axis_normalise(a->on.axis, x->rank);
    if (axis < 0)
        return infer_fail(c, "axis %lld is not one of rank %d", (long long) a->on.axis, x->rank);
    const struct dim *whole = x->shape[axis], *left = whole;
    const struct dim *sizes[64];
    unsigned n = 0;
    if (infer_has(c, 1)) {
        TRY(infer_dims(c, 1, sizes, 64, &n));
        if (n != c->n_out)
            return infer_fail(c, "%u sizes for %u outputs", n, c->n_out);
    } else if (a->num_outputs && a->num_outputs != c->n_out) {
        return infer_fail(c, "num_outputs is %lld, the node has %u", (long long) a->num_outputs,
                          c->n_out);
    }
    const struct dim *even = dim_div_ceil_int(c->dims, whole, c->n_out);
    for (unsigned o = 0; o < c->n_out; o++) {
        infer_same(c, o, 0);
        const struct dim *d = n ? sizes[o] : o + 1 < c->n_out ? even : left;
        if (dim_is_const(d) && dim_value(d) < 0)
            return infer_fail(c, "output %u would have size %lld", o, (long long) dim_value(d));
        c->out[o].shape[axis] = d;
        left = dim_sub(c->dims, left, d);
    }
    if (n && !dim_is(left, 0))
        return infer_fail(c, "the sizes do not add up to the axis");
    return RILL_OK;
}

static rill_status split_prepare(struct prep *c)
{
    return pieces_prepare(c, c->in[0], c->out, c->n_out,
                          axis_normalise(((const struct split_attr *) c->attr)->on.axis,
                                         c->in[0]->rank));
}

static void split_eval(const struct eval *e)
{
    const struct pieces *p = e->args;
    size_t at = 0;
    for (unsigned i = 0; i < e->n_out; i++) {
        for (size_t o = 0; o < p->outer && p->bytes[i] && e->y[i]; o++)
            memcpy((char *) e->y[i] + o * p->bytes[i], (const char *) e->x[0] + o * p->row + at,
                   p->bytes[i]);
        at += p->bytes[i];
    }
}

/* ---- Slice ---- */

struct slice {
    const struct dim *from, *size;
    int64_t step;
};

static const struct dim *clamp(struct dims *ds, const struct dim *d, const struct dim *lo,
                               const struct dim *hi)
{
    return dim_min(ds, dim_max(ds, d, lo), hi);
}

static bool is_surely_negative(struct dims *ds, const struct dim *d)
{
    return dim_is_natural(ds, dim_sub(ds, dim_int(ds, -1), d));
}

/* A place that is above 0 for no length counts from the end wherever it is not 0. */
static bool counts_from_end(struct dims *ds, const struct dim *at)
{
    return !dim_is_natural(ds, at) && dim_is_natural(ds, dim_mul_int(ds, at, -1));
}

/* One end of a slice as a place on the axis: negative counts from its end, far beyond means the end
 * itself. */
static const struct dim *slice_place(struct dims *ds, const struct dim *at, const struct dim *n,
                                     const struct dim *lo, const struct dim *hi)
{
    if (dim_is_const(at)) {
        int64_t v = dim_value(at);
        if (v >= INT32_MAX)
            return hi;
        if (v <= -INT32_MAX)
            return lo;
        if (v < 0)
            at = dim_add_int(ds, n, v);
        else if (v == 0)
            return clamp(ds, at, lo, hi);
    } else if (counts_from_end(ds, at))
        at = dim_add(ds, n, at);
    return clamp(ds, at, lo, hi);
}

/* One that is below 0 for short sequences counts from the end there, where that gives frames: a
 * stream gives those that it counts from the start. One that is 0 for some, and else counts from
 * the end, counts from the start where it is 0: a stream counts from the end throughout. */
static rill_status slice_place_claim(struct infer *c, const struct dim *at, const struct dim *n)
{
    struct dims *ds = c->dims;
    char place[160], text[200];
    if (dim_is_const(at) || dim_is_natural(ds, at) || is_surely_negative(ds, at))
        return RILL_OK;
    const bool end = counts_from_end(ds, at);
    const struct dim *meant = end ? dim_sub(ds, dim_int(ds, -1), at) : at,
                     *none = dim_sub(ds, dim_int(ds, 0), end ? n : dim_add(ds, at, n));
    dim_print(meant, place, sizeof place);
    snprintf(text, sizeof text, "%s >= 0", place);
    return dims_claim_add(ds, DIM_CLAIM_STREAMS, text, dim_max(ds, meant, none), c->err);
}

static rill_status slice_axis(struct infer *c, const struct dim *n, const struct dim *from,
                              const struct dim *to, int64_t step, struct slice *ret)
{
    struct dims *ds = c->dims;
    const struct dim *zero = dim_int(ds, 0);
    if (step == 0)
        return infer_fail(c, "a step of 0");
    if (step > INT32_MAX || step < -INT32_MAX)
        step = step > 0 ? INT32_MAX : -INT32_MAX;
    ret->step = step;
    TRY(slice_place_claim(c, from, n));
    TRY(slice_place_claim(c, to, n));
    if (step > 0) {
        ret->from = slice_place(ds, from, n, zero, n);
        const struct dim *end = slice_place(ds, to, n, zero, n);
        ret->size = dim_max(ds, zero, dim_div_ceil_int(ds, dim_sub(ds, end, ret->from), step));
    } else {
        const struct dim *last = dim_add_int(ds, n, -1), *minus = dim_int(ds, -1);
        ret->from = slice_place(ds, from, n, minus, last);
        const struct dim *end = slice_place(ds, to, n, minus, last);
        ret->size = dim_max(ds, zero, dim_div_ceil_int(ds, dim_sub(ds, ret->from, end), -step));
    }
    return RILL_OK;
}

/* Fills one slice per axis of the input. */
static rill_status slices_read(struct infer *c, struct slice ret[RANK_MAX])
{
    const struct fact *x = c->in[0];
    const struct dim *from[RANK_MAX], *to[RANK_MAX];
    int64_t axes[RANK_MAX], steps[RANK_MAX];
    unsigned n = 0, n_to = 0, m = 0;
    TRY(infer_dims(c, 1, from, RANK_MAX, &n));
    TRY(infer_dims(c, 2, to, RANK_MAX, &n_to));
    for (unsigned i = 0; i < n; i++) {
        axes[i] = i;
        steps[i] = 1;
    }
    if (infer_has(c, 3)) {
        TRY(infer_ints(c, 3, axes, RANK_MAX, &m));
        if (m != n)
            return infer_fail(c, "%u starts, %u axes", n, m);
    }
    if (infer_has(c, 4)) {
        TRY(infer_ints(c, 4, steps, RANK_MAX, &m));
        if (m != n)
            return infer_fail(c, "%u starts, %u steps", n, m);
    }
    if (n_to != n || (int) n > x->rank)
        return infer_fail(c, "%u starts and %u ends for an input of rank %d", n, n_to, x->rank);
    bool seen[RANK_MAX] = { false };
    for (int i = 0; i < x->rank; i++)
        ret[i] = (struct slice) { dim_int(c->dims, 0), x->shape[i], 1 };
    for (unsigned i = 0; i < n; i++) {
        int a = axis_normalise(axes[i], x->rank);
        if (a < 0 || seen[a])
            return infer_fail(c, "axis %lld is not one of rank %d, or named twice",
                              (long long) axes[i], x->rank);
        seen[a] = true;
        TRY(slice_axis(c, x->shape[a], from[i], to[i], steps[i], &ret[a]));
    }
    return RILL_OK;
}

static rill_status slice_infer(struct infer *c)
{
    struct slice s[RANK_MAX];
    TRY(slices_read(c, s));
    infer_same(c, 0, 0);
    for (int i = 0; i < c->in[0]->rank; i++)
        c->out[0].shape[i] = s[i].size;
    return RILL_OK;
}

static int64_t place_int(int64_t v, int64_t n, int64_t lo, int64_t hi)
{
    v = v < 0 && v > INT64_MIN + n ? v + n : v;
    return v < lo ? lo : v > hi ? hi : v;
}

/* Starts and steps are constants by now: a plan has no other slices, and the interpreter knows all
 * values. */
static rill_status slice_prepare(struct prep *c)
{
    const struct tensor *x = c->in[0], *y = c->out[0], *st = c->in[1];
    const struct tensor *axes = c->n_in > 3 ? c->in[3] : NULL,
                        *steps = c->n_in > 4 ? c->in[4] : NULL;
    int64_t xs[RANK_MAX], ys[RANK_MAX], at = 0;
    struct view_copy *v = arena_new(c->arena, struct view_copy);
    if (!v)
        return no_memory(c);
    if (!st->data || (axes && !axes->data) || (steps && !steps->data))
        return prep_fail(c, "its starts, axes and steps must be constants");
    tensor_strides(x, xs);
    tensor_strides(y, ys);
    for (int64_t i = 0; i < tensor_count(st); i++) {
        int a = axes ? axis_normalise(tensor_get_i64(axes, axes->data, i), x->rank) : (int) i;
        int64_t step = steps ? tensor_get_i64(steps, steps->data, i) : 1, n = x->dim[a];
        int64_t from =
            place_int(tensor_get_i64(st, st->data, i), n, step > 0 ? 0 : -1, step > 0 ? n : n - 1);
        at += y->dim[a] ? from * xs[a] : 0;
        xs[a] = y->dim[a] > 1 ? xs[a] * step : 0;
    }
    view_copy_init(v, y->rank, y->dim, xs, ys, dtype_bytes(x->type));
    v->from_at = at;
    c->args = v;
    return RILL_OK;
}

/* ---- Tile ---- */

static rill_status tile_infer(struct infer *c)
{
    const struct dim *times[RANK_MAX];
    unsigned n = 0;
    TRY(infer_dims(c, 1, times, RANK_MAX, &n));
    if ((int) n != c->in[0]->rank)
        return infer_fail(c, "%u repeats for an input of rank %d", n, c->in[0]->rank);
    infer_same(c, 0, 0);
    for (unsigned i = 0; i < n; i++) {
        if (dim_is_const(times[i]) && dim_value(times[i]) < 0)
            return infer_fail(c, "%lld repeats", (long long) dim_value(times[i]));
        c->out[0].shape[i] = dim_mul(c->dims, c->in[0]->shape[i], times[i]);
    }
    return RILL_OK;
}

static void tile_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0], *y = e->out[0];
    int64_t xs[RANK_MAX], ys[RANK_MAX], n = tensor_count(y);
    size_t bytes = dtype_bytes(x->type);
    tensor_strides(x, xs);
    tensor_strides(y, ys);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = 0, rest = i;
        for (int k = 0; k < y->rank; k++) {
            from += rest / ys[k] % x->dim[k] * xs[k];
            rest %= ys[k];
        }
        memcpy((char *) e->y[0] + (size_t) i * bytes,
               (const char *) e->x[0] + (size_t) from * bytes, bytes);
    }
}

/* ---- DepthToSpace, SpaceToDepth: a reshape to six axes, transposed ---- */

struct block_attr {
    int64_t blocksize;
    int mode;
};

static const char *const depth_modes[] = { "DCR", "CRD", NULL };

static const struct attr_spec block_attrs[] = {
    { .name = "blocksize",
      .kind = ATTR_INT,
      .offset = offsetof(struct block_attr, blocksize),
      .required = true },
    { .name = "mode",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct block_attr, mode),
      .choices = depth_modes },
    { 0 },
};

static rill_status block_infer(struct infer *c, bool to_space)
{
    const struct block_attr *a = c->attr;
    const struct fact *x = c->in[0];
    int64_t b = a->blocksize;
    if (x->rank != 4 || b < 1 || b > 1 << 15)
        return infer_fail(c, "wants rank 4 and a blocksize from 1 to 32768; has rank %d and %lld",
                          x->rank, (long long) b);
    infer_same(c, 0, 0);
    struct fact *y = &c->out[0];
    const struct dim *left = to_space
        ? dim_mul_int(c->dims, dim_div_int(c->dims, x->shape[1], b * b), b * b)
        : x->shape[1];
    y->shape[1] = to_space ? dim_div_int(c->dims, x->shape[1], b * b)
                           : dim_mul_int(c->dims, x->shape[1], b * b);
    bool whole = left == x->shape[1];
    for (int i = 2; i < 4; i++) {
        y->shape[i] =
            to_space ? dim_mul_int(c->dims, x->shape[i], b) : dim_div_int(c->dims, x->shape[i], b);
        whole &= to_space || dim_mul_int(c->dims, y->shape[i], b) == x->shape[i];
    }
    return whole ? RILL_OK
                 : infer_fail(c, "the blocksize %lld does not divide the input", (long long) b);
}

static rill_status depth_to_space_infer(struct infer *c)
{
    return block_infer(c, true);
}
static rill_status space_to_depth_infer(struct infer *c)
{
    return block_infer(c, false);
}

/* Walks (n, c, h, w, bh, bw) of the space side; `space` says which side is the output. */
static rill_status block_prepare(struct prep *c, const struct tensor *deep,
                                 const struct tensor *space, bool to_space)
{
    const bool crd = ((const struct block_attr *) c->attr)->mode == 1;
    struct view_copy *v = arena_new(c->arena, struct view_copy);
    int64_t b = ((const struct block_attr *) c->attr)->blocksize, h = deep->dim[2],
            w = deep->dim[3], ch = space->dim[1];
    int64_t dim[6] = { deep->dim[0], ch, h, b, w, b };
    int64_t s[6] = { ch * h * b * w * b, h * b * w * b, b * w * b, w * b, b, 1 };
    int64_t d[6] = { ch * b * b * h * w,
                     crd ? b * b * h * w : h * w,
                     w,
                     crd ? b * h * w : b * ch * h * w,
                     1,
                     crd ? h * w : ch * h * w };
    if (!v)
        return no_memory(c);
    view_copy_init(v, 6, dim, to_space ? d : s, to_space ? s : d, dtype_bytes(deep->type));
    c->args = v;
    return RILL_OK;
}

static rill_status depth_to_space_prepare(struct prep *c)
{
    return block_prepare(c, c->in[0], c->out[0], true);
}

static rill_status space_to_depth_prepare(struct prep *c)
{
    return block_prepare(c, c->out[0], c->in[0], false);
}

/* ---- table ---- */

OP_ROW(transpose, TRANSPOSE, "Transpose", transpose_attrs, sizeof(struct transpose_attr), 1, 1, 1,
       transpose_infer, transpose_prepare, view_copy_eval, "permutes axes");
OP_ROW(split, SPLIT, "Split", split_attrs, sizeof(struct split_attr), 1, 2, -1, split_infer,
       split_prepare, split_eval, "cuts an axis into pieces");
OP_ROW(slice, SLICE, "Slice", NULL, 0, 3, 5, 1, slice_infer, slice_prepare, view_copy_eval,
       "a part of some axes, with steps");
OP_ROW(tile, TILE, "Tile", NULL, 0, 2, 2, 1, tile_infer, NULL, tile_eval, "repeats axes");
OP_ROW(depth_to_space, DEPTH_TO_SPACE, "DepthToSpace", block_attrs, sizeof(struct block_attr), 1, 1,
       1, depth_to_space_infer, depth_to_space_prepare, view_copy_eval,
       "channels to blocks of pixels");
OP_ROW(space_to_depth, SPACE_TO_DEPTH, "SpaceToDepth", block_attrs, sizeof(struct block_attr), 1, 1,
       1, space_to_depth_infer, space_to_depth_prepare, view_copy_eval,
       "blocks of pixels to channels");

static const struct op op_concat = {
    .id = OP_CONCAT,
    .name = "Concat",
    .attrs = axis_attrs,
    .attr_bytes = sizeof(struct axis_attr),
    .min_in = 1,
    .max_in = -1,
    .min_out = 1,
    .max_out = 1,
    .infer = concat_infer,
    .prepare = concat_prepare,
    .eval = concat_eval,
    .eval_dim = concat_eval_dim,
    .help = "joins along an axis",
};

const struct op *const ops_move[] = { &op_transpose,      &op_concat, &op_split,
                                      &op_slice,          &op_tile,   &op_depth_to_space,
                                      &op_space_to_depth, NULL };
