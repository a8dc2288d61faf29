/* SPDX-License-Identifier: MIT */
/* Convolution over one to three axes. */
#include "engine/ops/ops.h"
#include "engine/ops/attrs.h"
#include "engine/ops/conv_rows.h"
#include "engine/ops/conv_winograd.h"

static const struct attr_spec conv_attrs[] = {
    CONV_KERNEL_ROWS,
    CONV_STEP_ROWS,
    EPILOGUE_ROW(struct conv_attr),
    { .name = "winograd",
      .kind = ATTR_INT,
      .offset = offsetof(struct conv_attr, winograd),
      .own = true },
    { 0 },
};

enum { IN_X, IN_W };

/* ---- shapes ---- */

static rill_status weights_check(struct infer *c, int64_t kernel[WINDOW_AXES_MAX])
{
    const struct conv_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *w = c->in[IN_W];
    TRY(window_weights_sizes(c, kernel));
    if (!dim_is_const(x->shape[1]))
        return infer_fail(c, "channels must be of a known number");
    int64_t cin = dim_value(x->shape[1]), cout = dim_value(w->shape[0]),
            per = dim_value(w->shape[1]);
    if (a->group < 1 || cin % a->group || cout % a->group || cin / a->group != per)
        return infer_fail(c,
                          "%lld input channels and %lld output channels in %lld groups do not fit "
                          "weights of %lld",
                          (long long) cin, (long long) cout, (long long) a->group, (long long) per);
    return RILL_OK;
}

rill_status conv_shape_infer(struct infer *c, enum dtype type)
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
        TRY(window_size(c, &a->w, false, &w, i, c->in[IN_X]->shape[2 + i], &shape[2 + i]));
    infer_shape(c, 0, type, c->in[IN_X]->rank, shape);
    return RILL_OK;
}

static rill_status winograd_check(struct infer *c, const int64_t kernel[WINDOW_AXES_MAX])
{
    const struct conv_attr *a = c->attr;
    const int64_t axis = a->winograd - 2;
    struct window w;
    if (!a->winograd)
        return RILL_OK;
    TRY(window_read(c, &a->w, c->in[IN_X]->rank, kernel, &w));
    if (a->group != 1 || w.axes != 2 || axis < 0 || axis >= w.axes || w.kernel[axis] != 3 ||
        w.stride[axis] != 1 || w.dilation[axis] != 1)
        return infer_fail(c,
                          "winograd=%lld; one group of two axes and a kernel of three places side "
                          "by side along that axis work",
                          (long long) a->winograd);
    return RILL_OK;
}

static rill_status conv_infer(struct infer *c)
{
    int64_t kernel[WINDOW_AXES_MAX];
    TRY(window_weights_read(c, kernel));
    TRY(conv_shape_infer(c, DTYPE_F32));
    TRY(winograd_check(c, kernel));
    TRY(window_bias_check(c, c->in[IN_W]->shape[0]));
    return epilogue_infer(c, ((const struct conv_attr *) c->attr)->epilogue);
}

/* ---- plan ---- */

static rill_status conv_prepare(struct prep *c)
{
    const struct conv_attr *a = c->attr;
    struct window w;
    window_fix(&a->w, SAME_CONV, &w, c->in[IN_W]->dim + 2, c->in[IN_X], c->out[0]);
    return a->winograd ? conv_winograd_prepare(c, &w, a->winograd, a->epilogue)
                       : conv_rows_prepare(c, &w, a->group, false, a->epilogue);
}

static void conv_eval(const struct eval *e)
{
    const struct conv_attr *a = e->attr;
    (a->winograd ? conv_winograd_eval : conv_rows_eval)(e);
}

static rill_status conv_divide(struct prep *c, unsigned most, struct shares *ret)
{
    const struct conv_attr *a = c->attr;
    return (a->winograd ? conv_winograd_divide : conv_rows_divide)(c, most, ret);
}

static const struct op op_conv = {
    .id = OP_CONV,
    .name = "Conv",
    .attrs = conv_attrs,
    .attr_bytes = sizeof(struct conv_attr),
    .min_in = 2,
    .max_in = 3,
    .own_in = EPILOGUE_IN_MAX,
    .epilogue_in = EPILOGUE_IN,
    .epilogue_at = offsetof(struct conv_attr, epilogue),
    .epilogue_axis = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = conv_infer,
    .prepare = conv_prepare,
    .eval = conv_eval,
    .eval_many = conv_rows_eval_many,
    .divide = conv_divide,
    .help = "convolution over one to three axes, in groups",
};

const struct op *const ops_conv[] = { &op_conv, NULL };
