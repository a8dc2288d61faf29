/* SPDX-License-Identifier: MIT */
/* Transposed convolution: sums over channels first, then one addition per kernel place, in order, onto the bias. */
#include "engine/ops.h"
#include "engine/ops/depthwise.h"
#include "engine/ops/window.h"

#include <math.h>
#include <string.h>

struct deconv_attr { struct window_attr w; struct attr_ints output_padding, output_shape; int64_t group; };

static const struct attr_spec deconv_attrs[] = {
    { .name = "auto_pad", .kind = ATTR_CHOICE, .offset = offsetof(struct deconv_attr, w.auto_pad), .choices = auto_pad_names },
    { .name = "dilations", .kind = ATTR_INTS, .offset = offsetof(struct deconv_attr, w.dilations) },
    { .name = "group", .kind = ATTR_INT, .offset = offsetof(struct deconv_attr, group), .def_i = 1 },
    { .name = "kernel_shape", .kind = ATTR_INTS, .offset = offsetof(struct deconv_attr, w.kernel) },
    { .name = "output_padding", .kind = ATTR_INTS, .offset = offsetof(struct deconv_attr, output_padding) },
    { .name = "output_shape", .kind = ATTR_INTS, .offset = offsetof(struct deconv_attr, output_shape) },
    { .name = "pads", .kind = ATTR_INTS, .offset = offsetof(struct deconv_attr, w.pads) },
    { .name = "strides", .kind = ATTR_INTS, .offset = offsetof(struct deconv_attr, w.strides) },
    { 0 },
};

enum { IN_X, IN_W, IN_B };

/* ---- shapes ---- */

static rill_status weights_check(struct infer *c, int64_t kernel[WINDOW_AXES_MAX])
{
    const struct deconv_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *w = c->in[IN_W];
    if (x->type != DTYPE_F32 || w->type != DTYPE_F32)
        return infer_fail(c, "input %s and weights %s; only f32 is supported", dtype_name(x->type), dtype_name(w->type));
    if (x->rank != w->rank || x->rank < 3 || x->rank > WINDOW_AXES_MAX + 2)
        return infer_fail(c, "input has rank %d, weights %d; both must be 3 to %d", x->rank, w->rank, WINDOW_AXES_MAX + 2);
    for (int i = 0; i < w->rank; i++)
        if (!dim_is_const(w->shape[i]))
            return infer_fail(c, "weights must have known sizes");
    if (a->group < 1 || a->group > 1 << 20 || x->shape[1] != w->shape[0] || dim_value(w->shape[0]) % a->group)
        return infer_fail(c, "weights for %lld channels in %lld groups do not fit the input",
                          (long long) dim_value(w->shape[0]), (long long) a->group);
    const struct dim *cout = dim_mul_int(c->dims, w->shape[1], a->group);
    if (infer_has(c, IN_B) && (c->in[IN_B]->rank != 1 || c->in[IN_B]->shape[0] != cout || c->in[IN_B]->type != DTYPE_F32))
        return infer_fail(c, "the bias must be f32[%lld]", (long long) dim_value(cout));
    for (int i = 0; i < w->rank - 2; i++)
        kernel[i] = dim_value(w->shape[2 + i]);
    return RILL_OK;
}

static int64_t entry(struct attr_ints l, int i, int64_t otherwise)
{
    return (int) l.n > i ? l.v[i] : otherwise;
}

/* What the kernel adds to (n - 1) * stride before pads are taken off. */
static int64_t reach(const struct deconv_attr *a, const struct window *w, int i)
{
    return entry(a->output_padding, i, 0) + (w->kernel[i] - 1) * w->dilation[i] + 1;
}

static rill_status axis_size(struct infer *c, const struct window *w, int i, const struct dim *n, const struct dim **ret)
{
    const struct deconv_attr *a = c->attr;
    struct dims *ds = c->dims;
    if ((int) a->output_shape.n >= w->axes) {
        int64_t size = a->output_shape.v[(int) a->output_shape.n - w->axes + i];
        if (size < 0 || size > 1 << 30)
            return infer_fail(c, "output_shape holds %lld", (long long) size);
        *ret = dim_int(ds, size);
        return RILL_OK;
    }
    if (a->w.auto_pad == PAD_SAME_UPPER || a->w.auto_pad == PAD_SAME_LOWER) {
        *ret = dim_mul_int(ds, n, w->stride[i]);
        return RILL_OK;
    }
    *ret = dim_add_int(ds, dim_mul_int(ds, dim_add_int(ds, n, -1), w->stride[i]),
                       reach(a, w, i) - w->before[i] - w->after[i]);
    if (dim_is_const(*ret) && dim_value(*ret) < 0)
        return infer_fail(c, "axis %d would have a negative size", i);
    return RILL_OK;
}

static rill_status deconv_infer(struct infer *c)
{
    const struct deconv_attr *a = c->attr;
    const struct dim *shape[RANK_MAX];
    int64_t kernel[WINDOW_AXES_MAX];
    struct window w;
    TRY(weights_check(c, kernel));
    TRY(window_read(c, &a->w, c->in[IN_X]->rank, kernel, &w));
    if (a->output_padding.n && (int) a->output_padding.n != w.axes)
        return infer_fail(c, "output_padding has %u entries, %d are wanted", a->output_padding.n, w.axes);
    for (int i = 0; i < w.axes; i++)
        if (entry(a->output_padding, i, 0) < 0 || entry(a->output_padding, i, 0) > 1 << 24)
            return infer_fail(c, "output_padding holds %lld", (long long) entry(a->output_padding, i, 0));
    shape[0] = c->in[IN_X]->shape[0];
    shape[1] = dim_mul_int(c->dims, c->in[IN_W]->shape[1], a->group);
    for (int i = 0; i < w.axes; i++)
        TRY(axis_size(c, &w, i, c->in[IN_X]->shape[2 + i], &shape[2 + i]));
    infer_shape(c, 0, DTYPE_F32, c->in[IN_X]->rank, shape);
    return RILL_OK;
}

/* ---- plan ---- */

struct deconv {
    int64_t batch, group, cin, cout;
    struct window3 g;
    bool depthwise;
    bool by_taps;               /* depthwise, all taps of a row at once */
    struct depthwise one;       /* a channel of it */
    const float *packed;        /* outputs (kernel place, channel) from inputs (channel): one product, then additions */
    size_t packed_floats;
};

/* Pads that follow from the output's size where they are not given. */
static int64_t before_of(const struct deconv_attr *a, const struct window *w, int i, int64_t in, int64_t out)
{
    bool same = a->w.auto_pad == PAD_SAME_UPPER || a->w.auto_pad == PAD_SAME_LOWER;
    if (!a->output_shape.n && !same)
        return w->before[i];
    int64_t total = (in - 1) * w->stride[i] + reach(a, w, i) - out;
    total = total > 0 ? total : 0;
    return a->w.auto_pad == PAD_SAME_UPPER ? total / 2 : total - total / 2;
}

/* As kern_pack_f32 packs, of one group: output o is kernel place o / cout of channel o % cout. */
static void weights_pack(const struct deconv *v, float *ret, const float *w)
{
    int64_t n = v->cout * v->g.n_kernel, padded = (n + KERN_LANES - 1) / KERN_LANES * KERN_LANES;
    for (int64_t o = 0; o < padded; o++) {
        float *to = ret + o / KERN_LANES * KERN_LANES * v->cin + o % KERN_LANES;
        const float *from = w + o % v->cout * v->g.n_kernel + o / v->cout;
        for (int64_t i = 0; i < v->cin; i++)
            to[i * KERN_LANES] = o < n ? from[i * n] : 0;
    }
}

static rill_status deconv_prepare(struct prep *c)
{
    const struct deconv_attr *a = c->attr;
    const struct tensor *x = c->in[IN_X], *w = c->in[IN_W];
    struct deconv *v = arena_new(c->arena, struct deconv);
    struct window win;
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    struct window_attr plain = a->w;
    plain.auto_pad = plain.auto_pad == PAD_VALID ? PAD_VALID : PAD_NOTSET;
    window_fix(&plain, &win, w->dim + 2, x, c->out[0]);
    for (int i = 0; i < win.axes; i++)
        win.before[i] = before_of(a, &win, i, x->dim[2 + i], c->out[0]->dim[2 + i]);
    window3_set(&v->g, &win, x, c->out[0]);
    v->batch = x->dim[0];
    v->group = a->group;
    v->cin = x->dim[1] / a->group;
    v->cout = w->dim[1];
    v->depthwise = v->cin == 1 && v->cout == 1;
    size_t n = (size_t) (v->cout * v->g.n_kernel);
    v->packed_floats = kern_packed_floats(n, (size_t) v->cin);
    c->args = v;
    c->kernel = v->depthwise ? "deconv depthwise" : "deconv gemm_f32";
    if (v->depthwise) {
        depthwise_set(&v->one, &v->g, true);
        c->scratch_bytes = depthwise_scratch_bytes(&v->one);
        v->by_taps = c->scratch_bytes > 0;
        return RILL_OK;
    }
    size_t places;
    if (__builtin_mul_overflow((size_t) v->g.n_in, (size_t) v->cin + n, &places) || places > SIZE_MAX / 32 ||
        (size_t) v->g.n_out > SIZE_MAX / 32 / ((size_t) v->cout + 1) || n > SIZE_MAX / 32 / ((size_t) v->cin + 1))
        return prep_fail(c, "%lld input places of %lld channels with %zu weights each are too many", (long long) v->g.n_in,
                         (long long) v->cin, n);
    c->scratch_bytes = (places + (size_t) (v->g.n_out * v->cout) + v->packed_floats + 32) * sizeof(float);
    if (w->data) {
        float *p = arena_alloc_array(c->arena, v->packed_floats * (size_t) v->group, sizeof *p);
        if (!p)
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
        for (int64_t g = 0; g < v->group; g++)
            weights_pack(v, p + (size_t) g * v->packed_floats, (const float *) w->data + (size_t) (g * v->cin) * n);
        v->packed = p;
    }
    return RILL_OK;
}

/* ---- additions of one kernel place: y[i * stride + k * dilation - before] += x[i] on each axis ---- */

static void tap_range(const struct deconv *v, int axis, int64_t shift, int64_t *ret_first, int64_t *ret_last)
{
    int64_t s = v->g.stride[axis];
    *ret_first = shift < 0 ? (-shift + s - 1) / s : 0;
    int64_t end = v->g.out[axis] - shift <= 0 ? 0 : (v->g.out[axis] - shift + s - 1) / s;
    *ret_last = end < v->g.in[axis] ? end : v->g.in[axis];
}

/* One kernel place over all input places: add(arg, place of the first output, of the first input, how many). */
struct span { int64_t out, in, n; };    /* outputs lie stride[2] apart */

static void spans_each(const struct deconv *v, const int64_t k[3], void (*add)(void *arg, struct span s), void *arg)
{
    int64_t first[3], last[3], shift[3];
    for (int i = 0; i < 3; i++) {
        shift[i] = k[i] * v->g.dilation[i] - v->g.before[i];
        tap_range(v, i, shift[i], &first[i], &last[i]);
    }
    for (int64_t i0 = first[0]; i0 < last[0] && first[2] < last[2]; i0++)
        for (int64_t i1 = first[1]; i1 < last[1]; i1++) {
            int64_t o0 = i0 * v->g.stride[0] + shift[0], o1 = i1 * v->g.stride[1] + shift[1];
            add(arg, (struct span) { (o0 * v->g.out[1] + o1) * v->g.out[2] + first[2] * v->g.stride[2] + shift[2],
                                     (i0 * v->g.in[1] + i1) * v->g.in[2] + first[2], last[2] - first[2] });
        }
}

/* What an addition works on: one channel, or rows of all channels. */
struct sum { const struct kern *kern; const struct deconv *v; float *y; const float *x; float w; int64_t step; };

static void span_channel(void *arg, struct span s)
{
    const struct sum *u = arg;
    int64_t stride = u->v->g.stride[2];
    float *y = u->y + s.out;
    const float *x = u->x + s.in;
    if (stride == 1)
        u->kern->axpy_f32(y, x, u->w, (size_t) s.n);
    else
        for (int64_t i = 0; i < s.n; i++)
            y[i * stride] = fmaf(u->w, x[i], y[i * stride]);
}

static void span_rows(void *arg, struct span s)
{
    const struct sum *u = arg;
    int64_t channels = u->v->cout, stride = u->v->g.stride[2] * channels;
    float *restrict y = u->y + s.out * channels;
    const float *restrict x = u->x + s.in * u->step;
    for (int64_t i = 0; i < s.n; i++, y += stride, x += u->step)
        for (int64_t ch = 0; ch < channels; ch++)
            y[ch] += x[ch];
}

/* Kernel places in order. w: weights of one channel; NULL: rows, one place after the other in x. */
static void places_add(const struct deconv *v, struct sum *u, const float *w)
{
    int64_t k[3], at = 0;
    const float *x = u->x;
    for (k[0] = 0; k[0] < v->g.kernel[0]; k[0]++)
        for (k[1] = 0; k[1] < v->g.kernel[1]; k[1]++)
            for (k[2] = 0; k[2] < v->g.kernel[2]; k[2]++, at++) {
                if (w)
                    u->w = w[at];
                else
                    u->x = x + at * v->cout;
                spans_each(v, k, w ? span_channel : span_rows, u);
            }
}

static void deconv_group(const struct eval *e, const struct deconv *v, float *y, const float *x, const float *w,
                         const float *bias, const float *packed)
{
    size_t n = (size_t) (v->cout * v->g.n_kernel), k = (size_t) v->cin;
    float *rows = e->scratch, *all = rows + (size_t) v->g.n_in * k, *sums = all + (size_t) v->g.n_in * n;
    if (!packed) {
        float *p = sums + v->g.n_out * v->cout;
        weights_pack(v, p, w);
        packed = p;
    }
    for (int64_t i = 0; i < v->g.n_in; i++)
        for (int64_t ch = 0; ch < v->cin; ch++)
            rows[i * v->cin + ch] = x[ch * v->g.n_in + i];
    e->kern->gemm_f32(all, n, rows, k, packed, NULL, (size_t) v->g.n_in, n, k);
    for (int64_t i = 0; i < v->g.n_out; i++)
        for (int64_t ch = 0; ch < v->cout; ch++)
            sums[i * v->cout + ch] = bias ? bias[ch] : 0;
    places_add(v, &(struct sum) { e->kern, v, sums, all, 1, (int64_t) n }, NULL);
    for (int64_t ch = 0; ch < v->cout; ch++)
        for (int64_t i = 0; i < v->g.n_out; i++)
            y[ch * v->g.n_out + i] = sums[i * v->cout + ch];
}

static void depthwise(const struct eval *e, const struct deconv *v, float *y, const float *x, const float *w, float bias)
{
    for (int64_t o = 0; o < v->g.n_out; o++)
        y[o] = bias;
    places_add(v, &(struct sum) { e->kern, v, y, x, 0, 1 }, w);
}

static void deconv_eval(const struct eval *e)
{
    const struct deconv *v = e->args;
    const float *x = e->x[IN_X], *w = e->x[IN_W], *b = e->n_in > IN_B ? e->x[IN_B] : NULL;
    float *y = e->y[0];
    if (!tensor_count(e->out[0]))
        return;
    for (int64_t n = 0; n < v->batch; n++)
        for (int64_t g = 0; g < v->group; g++) {
            const float *wg = w + g * v->cin * v->cout * v->g.n_kernel, *bg = b ? b + g * v->cout : NULL;
            if (v->by_taps)
                depthwise_channel(&v->one, e->kern, y, x, wg, bg ? *bg : 0, e->scratch);
            else if (v->depthwise)
                depthwise(e, v, y, x, wg, bg ? *bg : 0);
            else
                deconv_group(e, v, y, x, wg, bg, v->packed ? v->packed + (size_t) g * v->packed_floats : NULL);
            x += v->cin * v->g.n_in;
            y += v->cout * v->g.n_out;
        }
}

static const struct op op_deconv = {
    .name = "ConvTranspose", .attrs = deconv_attrs, .attr_bytes = sizeof(struct deconv_attr), .min_in = 2, .max_in = 3,
    .min_out = 1, .max_out = 1, .infer = deconv_infer, .prepare = deconv_prepare, .eval = deconv_eval,
    .help = "transposed convolution over one to three axes, in groups",
};

const struct op *const ops_conv_transpose[] = { &op_deconv, NULL };
