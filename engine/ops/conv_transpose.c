/* SPDX-License-Identifier: MIT */
/* Transposed convolution over one to three axes. */
#include "engine/ops/ops.h"
#include "engine/ops/attrs.h"
#include "engine/ops/conv_rows.h"

static const struct attr_spec deconv_attrs[] = {
    CONV_KERNEL_ROWS,
    { .name = "output_padding",
      .kind = ATTR_INTS,
      .offset = offsetof(struct deconv_attr, output_padding) },
    { .name = "output_shape",
      .kind = ATTR_INTS,
      .offset = offsetof(struct deconv_attr, output_shape) },
    CONV_STEP_ROWS,
    EPILOGUE_ROW(struct conv_attr),
    { 0 },
};

enum { IN_X, IN_W };

/* ---- shapes ---- */

static rill_status weights_check(struct infer *c, int64_t kernel[WINDOW_AXES_MAX])
{
    const struct deconv_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *w = c->in[IN_W];
    TRY(window_weights_read(c, kernel));
    if (a->conv.group < 1 || a->conv.group > 1 << 20 || x->shape[1] != w->shape[0] ||
        dim_value(w->shape[0]) % a->conv.group)
        return infer_fail(c, "weights for %lld channels in %lld groups do not fit the input",
                          (long long) dim_value(w->shape[0]), (long long) a->conv.group);
    return window_bias_check(c, dim_mul_int(c->dims, w->shape[1], a->conv.group));
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

static rill_status axis_size(struct infer *c, const struct window *w, int i, const struct dim *n,
                             const struct dim **ret)
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
    bool same = a->conv.w.auto_pad == PAD_SAME_UPPER || a->conv.w.auto_pad == PAD_SAME_LOWER;
    if (same && reach(a, w, i) >= w->stride[i]) {
        *ret = dim_mul_int(ds, n, w->stride[i]);
        return RILL_OK;
    }
    /* A shorter kernel leaves the last frames out. */
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
    TRY(window_read(c, &a->conv.w, c->in[IN_X]->rank, kernel, &w));
    if (a->output_padding.n && (int) a->output_padding.n != w.axes)
        return infer_fail(c, "output_padding has %u entries, %d are wanted", a->output_padding.n,
                          w.axes);
    for (int i = 0; i < w.axes; i++)
        if (entry(a->output_padding, i, 0) < 0 || entry(a->output_padding, i, 0) > 1 << 24)
            return infer_fail(c, "output_padding holds %lld",
                              (long long) entry(a->output_padding, i, 0));
    shape[0] = c->in[IN_X]->shape[0];
    shape[1] = dim_mul_int(c->dims, c->in[IN_W]->shape[1], a->conv.group);
    for (int i = 0; i < w.axes; i++)
        TRY(axis_size(c, &w, i, c->in[IN_X]->shape[2 + i], &shape[2 + i]));
    infer_shape(c, 0, DTYPE_F32, c->in[IN_X]->rank, shape);
    return epilogue_infer(c, a->conv.epilogue);
}

/* ---- plan ---- */

/* Pads that follow from the output's size where they are not given. */
static int64_t before_of(const struct deconv_attr *a, const struct window *w, int i, int64_t in,
                         int64_t out)
{
    bool same = a->conv.w.auto_pad == PAD_SAME_UPPER || a->conv.w.auto_pad == PAD_SAME_LOWER;
    if (!a->output_shape.n && !same)
        return w->before[i];
    int64_t total = (in - 1) * w->stride[i] + reach(a, w, i) - out;
    total = total > 0 ? total : 0;
    return a->conv.w.auto_pad == PAD_SAME_UPPER ? total / 2 : total - total / 2;
}

static rill_status deconv_prepare(struct prep *c)
{
    const struct deconv_attr *a = c->attr;
    const struct tensor *x = c->in[IN_X], *w = c->in[IN_W];
    struct window win;
    struct window_attr plain = a->conv.w;
    plain.auto_pad = plain.auto_pad == PAD_VALID ? PAD_VALID : PAD_NOTSET;
    window_fix(&plain, SAME_CONV, &win, w->dim + 2, x, c->out[0]);
    for (int i = 0; i < win.axes; i++)
        win.before[i] = before_of(a, &win, i, x->dim[2 + i], c->out[0]->dim[2 + i]);
    return conv_rows_prepare(c, &win, a->conv.group, true, a->conv.epilogue);
}

static const struct op op_deconv = {
    .id = OP_CONV_TRANSPOSE,
    .name = "ConvTranspose",
    .attrs = deconv_attrs,
    .attr_bytes = sizeof(struct deconv_attr),
    .min_in = 2,
    .max_in = 3,
    .own_in = EPILOGUE_IN_MAX,
    .epilogue_in = EPILOGUE_IN,
    .epilogue_at = offsetof(struct deconv_attr, conv.epilogue),
    .epilogue_axis = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = deconv_infer,
    .prepare = deconv_prepare,
    .eval = conv_rows_eval,
    .eval_many = conv_rows_eval_many,
    .divide = conv_rows_divide,
    .help = "transposed convolution over one to three axes, in groups",
};

const struct op *const ops_conv_transpose[] = { &op_deconv, NULL };
