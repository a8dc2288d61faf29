/* SPDX-License-Identifier: MIT */
/* Convolution over one to three axes. Every output is one chain of fused multiply-adds that starts from the bias
 * and runs through (channel, kernel place) in order, in each of the paths. */
#include "engine/ops.h"
#include "engine/ops/depthwise.h"
#include "engine/ops/window.h"

#include <math.h>
#include <string.h>

struct conv_attr { struct window_attr w; int64_t group; };

static const struct attr_spec conv_attrs[] = {
    { .name = "auto_pad", .kind = ATTR_CHOICE, .offset = offsetof(struct conv_attr, w.auto_pad), .choices = auto_pad_names },
    { .name = "dilations", .kind = ATTR_INTS, .offset = offsetof(struct conv_attr, w.dilations) },
    { .name = "group", .kind = ATTR_INT, .offset = offsetof(struct conv_attr, group), .def_i = 1 },
    { .name = "kernel_shape", .kind = ATTR_INTS, .offset = offsetof(struct conv_attr, w.kernel) },
    { .name = "pads", .kind = ATTR_INTS, .offset = offsetof(struct conv_attr, w.pads) },
    { .name = "strides", .kind = ATTR_INTS, .offset = offsetof(struct conv_attr, w.strides) },
    { 0 },
};

enum { IN_X, IN_W, IN_B };

/* ---- shapes ---- */

static rill_status weights_check(struct infer *c, int64_t kernel[WINDOW_AXES_MAX])
{
    const struct conv_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *w = c->in[IN_W];
    if (x->type != DTYPE_F32 || w->type != DTYPE_F32)
        return infer_fail(c, "input %s and weights %s; only f32 is supported", dtype_name(x->type), dtype_name(w->type));
    if (x->rank != w->rank || x->rank < 3 || x->rank > WINDOW_AXES_MAX + 2)
        return infer_fail(c, "input has rank %d, weights %d; both must be 3 to %d", x->rank, w->rank, WINDOW_AXES_MAX + 2);
    for (int i = 0; i < w->rank; i++)
        if (!dim_is_const(w->shape[i]) || (i == 1 && !dim_is_const(x->shape[1])))
            return infer_fail(c, "channels and weights must have known sizes");
    int64_t cin = dim_value(x->shape[1]), cout = dim_value(w->shape[0]), per = dim_value(w->shape[1]);
    if (a->group < 1 || cin % a->group || cout % a->group || cin / a->group != per)
        return infer_fail(c, "%lld input channels and %lld output channels in %lld groups do not fit weights of %lld",
                          (long long) cin, (long long) cout, (long long) a->group, (long long) per);
    if (infer_has(c, IN_B) && (c->in[IN_B]->rank != 1 || c->in[IN_B]->shape[0] != w->shape[0] ||
                               c->in[IN_B]->type != DTYPE_F32))
        return infer_fail(c, "the bias must be f32[%lld]", (long long) cout);
    for (int i = 0; i < w->rank - 2; i++)
        kernel[i] = dim_value(w->shape[2 + i]);
    return RILL_OK;
}

static rill_status conv_infer(struct infer *c)
{
    const struct conv_attr *a = c->attr;
    const struct dim *shape[RANK_MAX];
    int64_t kernel[WINDOW_AXES_MAX];
    struct window w;
    TRY(weights_check(c, kernel));
    TRY(window_read(c, &a->w, c->in[IN_X]->rank, kernel, &w));
    shape[0] = c->in[IN_X]->shape[0];
    shape[1] = c->in[IN_W]->shape[0];
    for (int i = 0; i < w.axes; i++)
        TRY(window_size(c, &a->w, &w, i, c->in[IN_X]->shape[2 + i], &shape[2 + i]));
    infer_shape(c, 0, DTYPE_F32, c->in[IN_X]->rank, shape);
    return RILL_OK;
}

/* ---- plan ---- */

/* Everything as three spatial axes; missing ones have size 1. */
struct conv {
    int64_t batch, group, cin, cout;        /* channels of one group */
    struct window3 g;
    const float *packed;                    /* per group; NULL: weights are packed into scratch */
    size_t packed_floats;                   /* of one group */
    int64_t tile;                           /* output places whose columns are made at once */
    bool pointwise;                         /* kernel 1, stride 1, no pads: columns are a transpose */
    bool covers;                            /* one output, whose kernel lies on the input place by place: a column as it is */
    bool depthwise;
    bool by_taps;               /* depthwise, all taps of a row at once */
    struct depthwise one;       /* a channel of it */
};

static bool is_pointwise(const struct conv *v)
{
    for (int i = 0; i < 3; i++)
        if (v->g.kernel[i] != 1 || v->g.stride[i] != 1 || v->g.before[i] || v->g.in[i] != v->g.out[i])
            return false;
    return true;
}

static bool is_covered(const struct conv *v)
{
    for (int i = 0; i < 3; i++)
        if (v->g.out[i] != 1 || v->g.before[i] || v->g.kernel[i] != v->g.in[i] || (v->g.kernel[i] > 1 && v->g.dilation[i] != 1))
            return false;
    return true;
}

#define TILE_FLOATS 65536       /* columns of one tile stay in the second cache */

static int64_t tile_of(const struct conv *v)
{
    int64_t k = v->cin * v->g.n_kernel + v->cout, tile = TILE_FLOATS / (k ? k : 1);
    tile = tile < 16 ? 16 : tile;
    return tile < v->g.n_out ? tile : v->g.n_out;
}

static rill_status conv_prepare(struct prep *c)
{
    const struct conv_attr *a = c->attr;
    const struct tensor *x = c->in[IN_X], *w = c->in[IN_W];
    struct conv *v = arena_new(c->arena, struct conv);
    struct window win;
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    window_fix(&a->w, &win, w->dim + 2, x, c->out[0]);
    window3_set(&v->g, &win, x, c->out[0]);
    v->batch = x->dim[0];
    v->group = a->group;
    v->cin = x->dim[1] / a->group;
    v->cout = w->dim[0] / a->group;
    v->pointwise = is_pointwise(v);
    v->covers = is_covered(v);
    v->depthwise = v->cin == 1 && v->cout == 1;
    size_t k = (size_t) (v->cin * v->g.n_kernel);
    v->packed_floats = kern_packed_floats((size_t) v->cout, k);
    v->tile = tile_of(v);
    c->args = v;
    c->kernel = v->depthwise ? "conv depthwise" : "conv gemm_f32";
    if (v->depthwise) {
        depthwise_set(&v->one, &v->g, false);
        c->scratch_bytes = depthwise_scratch_bytes(&v->one);
        v->by_taps = c->scratch_bytes > 0;
        return RILL_OK;
    }
    if (w->data) {
        float *p = arena_alloc_array(c->arena, v->packed_floats * (size_t) v->group, sizeof *p);
        if (!p)
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
        for (int64_t g = 0; g < v->group; g++)
            kern_pack_f32(p + (size_t) g * v->packed_floats, (const float *) w->data + (size_t) (g * v->cout) * k,
                          (size_t) v->cout, k, k, 1);
        v->packed = p;
    }
    /* columns, rows of outputs, packed weights */
    c->scratch_bytes = ((size_t) v->tile * (k + (size_t) v->cout) + v->packed_floats + 32) * sizeof(float);
    return RILL_OK;
}

/* ---- columns: one row of (channel, kernel place) per output place ---- */

static void columns_pointwise(const struct conv *v, float *restrict col, const float *restrict x, int64_t n)
{
    for (int64_t o = 0; o < n; o++)
        for (int64_t ch = 0; ch < v->cin; ch++)
            col[o * v->cin + ch] = x[ch * v->g.n_in + o];
}

/* Kernel places along the last axis for one output place and channel row; zero outside. */
static void taps_copy(const struct conv *v, float *restrict col, const float *restrict row, int64_t at)
{
    int64_t n = v->g.kernel[2], d = v->g.dilation[2];
    if (at >= 0 && at + (n - 1) * d < v->g.in[2]) {
        if (d == 1 && n == 3)           /* sizes that the compiler knows become single moves */
            memcpy(col, row + at, 3 * sizeof *col);
        else if (d == 1 && n == 5)
            memcpy(col, row + at, 5 * sizeof *col);
        else if (d == 1 && n > 8)
            memcpy(col, row + at, (size_t) n * sizeof *col);
        else
            for (int64_t k = 0; k < n; k++)
                col[k] = row[at + k * d];
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t i = at + k * d;
        col[k] = i >= 0 && i < v->g.in[2] ? row[i] : 0;
    }
}

/* A kernel along the last axis only. */
static void columns_line(const struct conv *v, float *col, const float *x, int64_t o0, int64_t o1, int64_t o2)
{
    int64_t n = v->g.kernel[2], d = v->g.dilation[2], at = o2 * v->g.stride[2] - v->g.before[2];
    int64_t i0 = o0 * v->g.stride[0] - v->g.before[0], i1 = o1 * v->g.stride[1] - v->g.before[1];
    if (i0 < 0 || i0 >= v->g.in[0] || i1 < 0 || i1 >= v->g.in[1]) {
        memset(col, 0, (size_t) (n * v->cin) * sizeof *col);
        return;
    }
    x += (i0 * v->g.in[1] + i1) * v->g.in[2];
    if (n == 3 && at >= 0 && at + 2 * d < v->g.in[2]) {
        for (int64_t ch = 0; ch < v->cin; ch++, col += 3, x += v->g.n_in) {
            col[0] = x[at];
            col[1] = x[at + d];
            col[2] = x[at + 2 * d];
        }
        return;
    }
    for (int64_t ch = 0; ch < v->cin; ch++, col += n, x += v->g.n_in)
        taps_copy(v, col, x, at);
}

static void columns_row(const struct conv *v, float *col, const float *x, int64_t o0, int64_t o1, int64_t o2)
{
    int64_t n = v->g.kernel[2];
    for (int64_t ch = 0; ch < v->cin; ch++)
        for (int64_t k0 = 0; k0 < v->g.kernel[0]; k0++)
            for (int64_t k1 = 0; k1 < v->g.kernel[1]; k1++, col += n) {
                int64_t i0 = o0 * v->g.stride[0] - v->g.before[0] + k0 * v->g.dilation[0];
                int64_t i1 = o1 * v->g.stride[1] - v->g.before[1] + k1 * v->g.dilation[1];
                if (i0 < 0 || i0 >= v->g.in[0] || i1 < 0 || i1 >= v->g.in[1])
                    memset(col, 0, (size_t) n * sizeof *col);
                else
                    taps_copy(v, col, x + ((ch * v->g.in[0] + i0) * v->g.in[1] + i1) * v->g.in[2],
                              o2 * v->g.stride[2] - v->g.before[2]);
            }
}

/* Columns of n output places from `first` on. */
static void columns_make(const struct conv *v, float *col, const float *x, int64_t first, int64_t n)
{
    if (v->pointwise) {
        columns_pointwise(v, col, x + first, n);
        return;
    }
    int64_t k = v->cin * v->g.n_kernel, o2 = first % v->g.out[2], row = first / v->g.out[2];
    bool line = v->g.kernel[0] == 1 && v->g.kernel[1] == 1;
    for (; n > 0; n--, col += k) {
        if (line)
            columns_line(v, col, x, row / v->g.out[1], row % v->g.out[1], o2);
        else
            columns_row(v, col, x, row / v->g.out[1], row % v->g.out[1], o2);
        if (++o2 == v->g.out[2])
            o2 = 0, row++;
    }
}

static void rows_to_channels(const struct conv *v, float *restrict y, const float *restrict rows, int64_t n)
{
    for (int64_t ch = 0; ch < v->cout; ch++)
        for (int64_t o = 0; o < n; o++)
            y[ch * v->g.n_out + o] = rows[o * v->cout + ch];
}

static void conv_group(const struct eval *e, const struct conv *v, float *y, const float *x, const float *w,
                       const float *bias, const float *packed)
{
    size_t k = (size_t) (v->cin * v->g.n_kernel);
    float *col = e->scratch, *rows = col + (size_t) v->tile * k;
    if (!packed) {
        float *p = rows + v->tile * v->cout;
        kern_pack_f32(p, w, (size_t) v->cout, k, k, 1);
        packed = p;
    }
    bool single = v->g.n_out == 1;
    for (int64_t first = 0; first < v->g.n_out; first += v->tile) {
        int64_t n = v->g.n_out - first < v->tile ? v->g.n_out - first : v->tile;
        if (!v->covers)
            columns_make(v, col, x, first, n);
        e->kern->gemm_f32(single ? y : rows, (size_t) v->cout, v->covers ? x : col, k, packed, bias, (size_t) n, (size_t) v->cout, k);
        if (!single)
            rows_to_channels(v, y + first, rows, n);
    }
}

/* ---- depthwise: one kernel per channel, taps over whole rows ---- */

/* y[o] = fma(w, x[o * stride + at], y[o]) for the outputs whose input place exists. */
static void tap_add(const struct eval *e, const struct conv *v, float *y, const float *row, float w, int64_t at)
{
    int64_t s = v->g.stride[2], n = v->g.in[2], first = at < 0 ? (-at + s - 1) / s : 0, last = v->g.out[2];
    if (n - at <= 0)
        return;
    int64_t end = (n - at + s - 1) / s;
    last = last < end ? last : end;
    if (s == 1 && last > first)
        e->kern->axpy_f32(y + first, row + at + first, w, (size_t) (last - first));
    else
        for (int64_t o = first; o < last; o++)
            y[o] = fmaf(w, row[at + o * s], y[o]);
}

static void depthwise_row(const struct eval *e, const struct conv *v, float *y, const float *x, const float *w,
                          int64_t o0, int64_t o1)
{
    for (int64_t k0 = 0; k0 < v->g.kernel[0]; k0++)
        for (int64_t k1 = 0; k1 < v->g.kernel[1]; k1++) {
            int64_t i0 = o0 * v->g.stride[0] - v->g.before[0] + k0 * v->g.dilation[0];
            int64_t i1 = o1 * v->g.stride[1] - v->g.before[1] + k1 * v->g.dilation[1];
            if (i0 < 0 || i0 >= v->g.in[0] || i1 < 0 || i1 >= v->g.in[1])
                continue;
            for (int64_t k2 = 0; k2 < v->g.kernel[2]; k2++)
                tap_add(e, v, y, x + (i0 * v->g.in[1] + i1) * v->g.in[2],
                        w[(k0 * v->g.kernel[1] + k1) * v->g.kernel[2] + k2], k2 * v->g.dilation[2] - v->g.before[2]);
        }
}

static void depthwise(const struct eval *e, const struct conv *v, float *y, const float *x, const float *w, float bias)
{
    for (int64_t o0 = 0; o0 < v->g.out[0]; o0++)
        for (int64_t o1 = 0; o1 < v->g.out[1]; o1++, y += v->g.out[2]) {
            for (int64_t o2 = 0; o2 < v->g.out[2]; o2++)
                y[o2] = bias;
            depthwise_row(e, v, y, x, w, o0, o1);
        }
}

static void conv_eval(const struct eval *e)
{
    const struct conv *v = e->args;
    const float *x = e->x[IN_X], *w = e->x[IN_W], *b = e->n_in > IN_B ? e->x[IN_B] : NULL;
    float *y = e->y[0];
    if (!v->g.n_out)
        return;
    for (int64_t n = 0; n < v->batch; n++)
        for (int64_t g = 0; g < v->group; g++) {
            const float *wg = w + g * v->cout * v->cin * v->g.n_kernel;
            if (v->by_taps)
                depthwise_channel(&v->one, e->kern, y, x, wg, b ? b[g] : 0, e->scratch);
            else if (v->depthwise)
                depthwise(e, v, y, x, wg, b ? b[g] : 0);
            else
                conv_group(e, v, y, x, wg, b ? b + g * v->cout : NULL,
                           v->packed ? v->packed + (size_t) g * v->packed_floats : NULL);
            x += v->cin * v->g.n_in;
            y += v->cout * v->g.n_out;
        }
}

static const struct op op_conv = {
    .name = "Conv", .attrs = conv_attrs, .attr_bytes = sizeof(struct conv_attr), .min_in = 2, .max_in = 3, .min_out = 1,
    .max_out = 1, .infer = conv_infer, .prepare = conv_prepare, .eval = conv_eval,
    .help = "convolution over one to three axes, in groups",
};

const struct op *const ops_conv[] = { &op_conv, NULL };
