/* SPDX-License-Identifier: MIT */
#include "engine/ops/window.h"
#include "engine/base/dim_claims.h"

#include <stdio.h>

const char *const auto_pad_names[] = { "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", NULL };

#define SIZE_LIMIT ((int64_t) 1 << 24)

static void list_fill(struct attr_ints l, int axes, int64_t otherwise, int64_t *ret)
{
    for (int i = 0; i < axes; i++)
        ret[i] = (int) l.n > i ? l.v[i] : otherwise;
}

static rill_status list_check(struct infer *c, const char *name, struct attr_ints l, int want,
                              int64_t least)
{
    if (l.n && (int) l.n != want)
        return infer_fail(c, "attribute '%s' has %u entries, %d are wanted", name, l.n, want);
    for (uint32_t i = 0; i < l.n; i++)
        if (l.v[i] < least || l.v[i] > SIZE_LIMIT)
            return infer_fail(c, "attribute '%s' holds %lld; %lld to %lld work", name,
                              (long long) l.v[i], (long long) least, (long long) SIZE_LIMIT);
    return RILL_OK;
}

static void window_fill(const struct window_attr *a, const int64_t *kernel, struct window *w)
{
    for (int i = 0; i < w->axes; i++)
        w->kernel[i] = (int) a->kernel.n > i ? a->kernel.v[i] : kernel ? kernel[i] : 1;
    list_fill(a->strides, w->axes, 1, w->stride);
    list_fill(a->dilations, w->axes, 1, w->dilation);
    list_fill(a->pads, w->axes, 0, w->before);
    for (int i = 0; i < w->axes; i++)
        w->after[i] = (int) a->pads.n == 2 * w->axes ? a->pads.v[w->axes + i] : 0;
    if (a->auto_pad != PAD_NOTSET)
        for (int i = 0; i < w->axes; i++)
            w->before[i] = w->after[i] = 0;
}

rill_status window_read(struct infer *c, const struct window_attr *a, int rank,
                        const int64_t *kernel, struct window *ret)
{
    ret->axes = rank - 2;
    if (rank < 3 || ret->axes > WINDOW_AXES_MAX)
        return infer_fail(c, "input has rank %d; 3 to %d work", rank, WINDOW_AXES_MAX + 2);
    TRY(list_check(c, "kernel_shape", a->kernel, ret->axes, 1));
    TRY(list_check(c, "strides", a->strides, ret->axes, 1));
    TRY(list_check(c, "dilations", a->dilations, ret->axes, 1));
    TRY(list_check(c, "pads", a->pads, 2 * ret->axes, 0));
    window_fill(a, kernel, ret);
    for (int i = 0; i < ret->axes; i++) {
        if (kernel && kernel[i] != ret->kernel[i])
            return infer_fail(c, "kernel_shape says %lld on axis %d, the weights have %lld",
                              (long long) ret->kernel[i], i, (long long) kernel[i]);
        if (ret->kernel[i] < 1 || ret->kernel[i] > SIZE_LIMIT ||
            ret->dilation[i] * ret->kernel[i] > SIZE_LIMIT)
            return infer_fail(c, "a kernel of %lld with dilation %lld on axis %d is not supported",
                              (long long) ret->kernel[i], (long long) ret->dilation[i], i);
    }
    return RILL_OK;
}

static int64_t reach(const struct window *w, int i)
{
    return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

int64_t same_before(int auto_pad, enum same_kind kind, int64_t total)
{
    int64_t lower = auto_pad == PAD_SAME_LOWER, cut = -total - lower - (kind == SAME_CONV);
    return total >= 0 ? (total + lower) / 2 : cut > 0 ? -(cut / 2) : 0;
}

rill_status window_weights_read(struct infer *c, int64_t kernel[WINDOW_AXES_MAX])
{
    const struct fact *x = c->in[0], *w = c->in[1];
    if (x->type != DTYPE_F32 || w->type != DTYPE_F32)
        return infer_fail(c, "input %s and weights %s; only f32 is supported", dtype_name(x->type),
                          dtype_name(w->type));
    return window_weights_sizes(c, kernel);
}

rill_status window_weights_sizes(struct infer *c, int64_t kernel[WINDOW_AXES_MAX])
{
    const struct fact *x = c->in[0], *w = c->in[1];
    if (x->rank != w->rank || x->rank < 3 || x->rank > WINDOW_AXES_MAX + 2)
        return infer_fail(c, "input has rank %d, weights %d; both must be 3 to %d", x->rank,
                          w->rank, WINDOW_AXES_MAX + 2);
    for (int i = 0; i < w->rank; i++)
        if (!dim_is_const(w->shape[i]))
            return infer_fail(c, "weights must have known sizes");
    for (int i = 0; i < w->rank - 2; i++)
        kernel[i] = dim_value(w->shape[2 + i]);
    return RILL_OK;
}

rill_status window_bias_check(struct infer *c, const struct dim *cout)
{
    if (infer_has(c, 2) &&
        (c->in[2]->rank != 1 || c->in[2]->shape[0] != cout || c->in[2]->type != DTYPE_F32))
        return infer_fail(c, "the bias must be f32[%lld]", (long long) dim_value(cout));
    return RILL_OK;
}

/* Of a sequence shorter than its window a pool with a stride gives a window of what is there, where
 * the quotient is taken towards zero, which no stream does: such lengths are refused. So are those
 * for which the quotient taken downwards says less than nothing. */
static rill_status pool_claim(struct infer *c, const struct dim *n, const struct dim *span,
                              int64_t stride, int64_t least)
{
    struct dims *ds = c->dims;
    char size[160], text[200];
    if (stride == 1 || dim_is_natural(ds, span))
        return RILL_OK;
    const struct dim *whole = dim_mul_int(ds, dim_div_int(ds, span, stride), stride),
                     *refused = dim_max(ds, dim_mul_int(ds, n, -1),
                                        dim_add_int(ds, dim_mul_int(ds, span, -1), -2 * stride));
    dim_print(n, size, sizeof size);
    snprintf(text, sizeof text, "%s >= %lld", size, (long long) least);
    return dims_claim_add(ds, DIM_CLAIM_NEEDED, text,
                          dim_max(ds, span, dim_max(ds, dim_sub(ds, whole, span), refused)),
                          c->err);
}

rill_status window_size(struct infer *c, const struct window_attr *a, bool pool, struct window *w,
                        int i, const struct dim *n, const struct dim **ret)
{
    struct dims *ds = c->dims;
    if (a->auto_pad == PAD_SAME_UPPER || a->auto_pad == PAD_SAME_LOWER) {
        *ret = dim_div_ceil_int(ds, n, w->stride[i]);
        return RILL_OK;
    }
    const struct dim *span = dim_add_int(ds, n, w->before[i] + w->after[i] - reach(w, i));
    const int64_t short_by = pool && w->stride[i] == 1 ? 1 : 0;
    if (dim_is_const(span) && dim_value(span) < 0 && a->may_lack) {
        *ret = dim_int(ds, 0);
        return RILL_OK;
    }
    if (dim_is_const(span) && dim_value(span) < -short_by)
        return infer_fail(c, "the kernel reaches over %lld, the padded input has %lld on axis %d",
                          (long long) reach(w, i), (long long) (dim_value(span) + reach(w, i)), i);
    if (!dim_is_const(span) && !a->may_lack && pool)
        TRY(pool_claim(c, n, span, w->stride[i], reach(w, i) - w->before[i] - w->after[i]));
    if (!dim_is_const(span) && !a->may_lack)
        TRY(dims_need_window(ds, dim_add_int(ds, span, short_by), c->err));
    *ret = dim_add_int(ds,
                       a->ceil_mode ? dim_div_ceil_int(ds, span, w->stride[i])
                                    : dim_div_int(ds, span, w->stride[i]),
                       1);
    /* A last window that would start in the padding at the end is none. */
    if (a->ceil_mode && w->after[i] + w->stride[i] > reach(w, i)) {
        const struct dim *last = dim_mul_int(ds, dim_add_int(ds, *ret, -1), w->stride[i]);
        *ret = dim_sub(ds, *ret, dim_ge(ds, last, dim_add_int(ds, n, w->before[i])));
    }
    return RILL_OK;
}

void window_fix(const struct window_attr *a, enum same_kind kind, struct window *w,
                const int64_t *kernel, const struct tensor *x, const struct tensor *y)
{
    w->axes = x->rank - 2;
    window_fill(a, kernel, w);
    if (a->auto_pad == PAD_SAME_UPPER || a->auto_pad == PAD_SAME_LOWER)
        for (int i = 0; i < w->axes; i++) {
            int64_t total = (y->dim[2 + i] - 1) * w->stride[i] + reach(w, i) - x->dim[2 + i];
            w->before[i] = same_before(a->auto_pad, kind, total);
            w->after[i] = total - w->before[i];
        }
}

void window3_set(struct window3 *ret, const struct window *w, const struct tensor *x,
                 const struct tensor *y)
{
    ret->n_in = ret->n_out = ret->n_kernel = 1;
    for (int i = 0, k = w->axes - 3; i < 3; i++, k++) {
        ret->in[i] = k < 0 ? 1 : x->dim[2 + k];
        ret->out[i] = k < 0 ? 1 : y->dim[2 + k];
        ret->kernel[i] = k < 0 ? 1 : w->kernel[k];
        ret->stride[i] = k < 0 ? 1 : w->stride[k];
        ret->dilation[i] = k < 0 ? 1 : w->dilation[k];
        ret->before[i] = k < 0 ? 0 : w->before[k];
        ret->after[i] = k < 0 ? 0 : w->after[k];
        ret->n_in *= ret->in[i];
        ret->n_out *= ret->out[i];
        ret->n_kernel *= ret->kernel[i];
    }
}

/* An axis whose places map one to one joins the axis in front of it. */
static bool axis_joins(const struct window3 *g, int i)
{
    if (g->kernel[i] != 1 || g->before[i] || g->in[i] != g->out[i])
        return false;
    return g->in[i] == 1 || (g->stride[i] == 1 && g->stride[i - 1] == 1);
}

static void axis_join(struct window3 *g, int i)
{
    int64_t n = g->in[i];
    g->in[i] = g->in[i - 1] * n;
    g->out[i] = g->out[i - 1] * n;
    g->kernel[i] = g->kernel[i - 1];
    g->stride[i] = g->stride[i - 1];
    g->dilation[i] = g->dilation[i - 1] * n;
    g->before[i] = g->before[i - 1] * n;
    for (int k = i - 1; k > 0; k--) {
        g->in[k] = g->in[k - 1];
        g->out[k] = g->out[k - 1];
        g->kernel[k] = g->kernel[k - 1];
        g->stride[k] = g->stride[k - 1];
        g->dilation[k] = g->dilation[k - 1];
        g->before[k] = g->before[k - 1];
    }
    g->in[0] = g->out[0] = g->kernel[0] = g->stride[0] = g->dilation[0] = 1;
    g->before[0] = 0;
}

void window3_simplify(struct window3 *g)
{
    for (int i = 2; i > 0; i--)
        for (int k = 0; k < 2 && axis_joins(g, i); k++)
            axis_join(g, i);
}

/* The padding in front stays padding. */
static int64_t axis_trim(struct window3 *g, int i)
{
    const int64_t d = g->dilation[i], last = (g->out[i] - 1) * g->stride[i] - g->before[i];
    int64_t first = 0;
    while (g->kernel[i] > 1 && -g->before[i] + (g->kernel[i] - 1) * d >= g->in[i])
        g->kernel[i]--;
    while (g->kernel[i] > 1 && last + first * d < 0 && g->before[i] >= (first + 1) * d) {
        g->kernel[i]--;
        first++;
    }
    g->before[i] -= first * d;
    return first;
}

void window3_trim(struct window3 *g, int64_t ret_first[3])
{
    g->n_kernel = 1;
    for (int i = 0; i < 3; i++) {
        ret_first[i] = g->n_out ? axis_trim(g, i) : 0;
        g->n_kernel *= g->kernel[i];
    }
}

bool window3_is_same(const struct window3 *g)
{
    for (int i = 0; i < 3; i++)
        if (g->kernel[i] != 1 || g->before[i] || g->in[i] != g->out[i] || g->stride[i] != 1)
            return false;
    return true;
}
