/* SPDX-License-Identifier: MIT */
/* Convolution over rows and columns, channels last. A window of one place is a row of a product as
 * it lies; of one group with more places, its terms are read from where they lie (conv_tiles.h); of
 * one group for each channel, lanes run along the channels. Every output is the chain of a Conv. */
#include "engine/ops/conv_last.h"
#include "engine/graph/packs.h"
#include "engine/ops/conv_parts.h"
#include "engine/ops/epilogue.h"

enum { IN_X, IN_W, IN_B };

/* What an epilogue finds in the first caches; of larger weights a product is not cut for that. */
#define BAND_FLOATS 8192
#define BAND_WEIGHTS 16384
#define BAND_PLACES 48

/* ---- shapes ---- */

static const struct attr_spec last_attrs[] = {
    CONV_KERNEL_ROWS,
    CONV_STEP_ROWS,
    EPILOGUE_ROW(struct conv_attr),
    { 0 },
};

static rill_status last_infer(struct infer *c)
{
    const struct conv_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *w = c->in[IN_W];
    const struct dim *shape[RANK_MAX];
    int64_t kernel[WINDOW_AXES_MAX];
    struct window window;
    TRY(window_weights_read(c, kernel));
    if (x->rank != 4 || !dim_is_const(x->shape[3]))
        return infer_fail(c, "wants four axes and a known number of channels");
    const int64_t channels = dim_value(x->shape[3]);
    if (a->group == 1 ? dim_value(w->shape[1]) != channels
                      : a->group != channels || dim_value(w->shape[0]) != channels)
        return infer_fail(c, "weights do not fit %lld channels", (long long) channels);
    TRY(window_read(c, &a->w, x->rank, kernel, &window));
    shape[0] = x->shape[0];
    for (int i = 0; i < window.axes; i++)
        TRY(window_size(c, &a->w, false, &window, i, x->shape[1 + i], &shape[1 + i]));
    shape[3] = w->shape[0];
    infer_shape(c, 0, DTYPE_F32, 4, shape);
    TRY(window_bias_check(c, w->shape[0]));
    return epilogue_infer(c, a->epilogue);
}

/* ---- plan ---- */

struct last_args {
    struct window3 g;
    int64_t images, cout;
    int64_t ldx, ldy; /* channels of the input and the output, of all shares */
    size_t n_weights; /* of an output */
    const float *packed;
    struct conv_tiles *tiles; /* of one group; NULL: places are rows of a product as they lie */
    int64_t some;             /* so many of them at once */
    struct conv_parts *parts; /* of a group for each channel; NULL: none */
    struct epilogue epilogue;
};

static void product_set(struct last_args *v)
{
    const int64_t all = v->images * v->g.n_out;
    v->some = BAND_FLOATS / v->ldy < BAND_PLACES ? BAND_PLACES : BAND_FLOATS / v->ldy;
    if (v->some > all || v->ldx * v->ldy > BAND_WEIGHTS)
        v->some = all;
}

static rill_status weights_prepare(struct prep *c, struct last_args *v)
{
    const float *w = c->in[IN_W]->data;
    const size_t n = (size_t) v->cout, k = v->n_weights;
    const size_t words[] = { PACK_MATRICES, 1, n, k, k, 1 };
    const struct pack_key key = { { w }, words, sizeof words / sizeof *words };
    bool there;
    if (!w)
        return prep_fail(c, "its weights must be known");
    float *to = prep_pack_of(c, kern_packed_floats(n, k) + KERN_LANES, sizeof *to, &key, &there);
    if (!to)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!there)
        kern_pack_f32(to, w, n, k, k, 1);
    v->packed = to;
    c->packed |= 1u << IN_W;
    return RILL_OK;
}

static void window_set(struct prep *c, struct last_args *v)
{
    const struct conv_attr *a = c->attr;
    struct tensor x = *c->in[IN_X], y = *c->out[0];
    struct window w;
    for (int i = 2; i < 4; i++) {
        x.dim[i] = c->in[IN_X]->dim[i - 1];
        y.dim[i] = c->out[0]->dim[i - 1];
    }
    window_fix(&a->w, SAME_CONV, &w, c->in[IN_W]->dim + 2, &x, &y);
    window3_set(&v->g, &w, &x, &y);
}

/* How places are summed. */
static rill_status way_set(struct prep *c, struct last_args *v)
{
    const bool deep = conv_attr_of(c->node)->group > 1;
    const bool product = !deep && v->g.n_kernel == 1 && window3_is_same(&v->g);
    c->kernel = deep ? "conv_last_f32" : product ? "gemm_f32" : "tiles, gemm_at_f32";
    c->kern_uses |= deep ? KERN_USES_LAST : 0;
    if (deep)
        v->parts = conv_parts_new(c->arena, &v->g, v->ldx);
    else if (product)
        product_set(v);
    else if ((v->tiles = conv_tiles_new_last(c->arena, &v->g, v->cout, v->ldx, v->ldy)))
        c->scratch_bytes = v->tiles->scratch_floats * sizeof(float);
    return product || v->parts || v->tiles ? RILL_OK
                                           : op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
}

static rill_status last_prepare(struct prep *c)
{
    const struct conv_attr *a = c->attr;
    struct last_args *v = arena_new(c->arena, struct last_args);
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    c->args = v;
    window_set(c, v);
    v->images = c->in[IN_X]->dim[0];
    v->ldx = c->in[IN_X]->dim[3];
    v->ldy = v->cout = c->out[0]->dim[3];
    v->n_weights = (size_t) (v->ldx / a->group * v->g.n_kernel);
    TRY(weights_prepare(c, v));
    TRY(way_set(c, v));
    return epilogue_prepare(c, a->epilogue, &v->epilogue);
}

/* ---- eval ---- */

static void product_eval(const struct eval *e, const float *bias)
{
    const struct last_args *v = e->args;
    const int64_t all = v->images * v->g.n_out;
    const float *x = e->x[IN_X];
    float *y = e->y[0];
    for (int64_t i = 0; i < all; i += v->some) {
        const int64_t n = all - i < v->some ? all - i : v->some;
        kern_gemm_f32(e->kern, y + i * v->ldy, (size_t) v->ldy, x + i * v->ldx, (size_t) v->ldx,
                      v->packed, bias, (size_t) n, (size_t) v->cout, v->n_weights);
        epilogue_rows_some(&v->epilogue, e, y, i, n);
    }
}

static void image_eval(const struct eval *e, int64_t image, const float *bias)
{
    const struct last_args *v = e->args;
    const struct window3 *g = &v->g;
    const int64_t first = image * g->n_out;
    const struct conv_tiles_of of = { e->kern,
                                      (float *) e->y[0] + first * v->ldy,
                                      (const float *) e->x[IN_X] + image * g->n_in * v->ldx,
                                      v->packed,
                                      bias,
                                      e->scratch };
    for (int64_t o = 0, n; o < g->out[1]; o += n) {
        n = v->tiles ? conv_tiles_rows_run(v->tiles, &of, o)
                     : conv_parts_rows_run(v->parts, &of, (size_t) v->cout, o);
        epilogue_rows_some(&v->epilogue, e, e->y[0], first + o * g->out[2], n * g->out[2]);
    }
}

static void last_eval(const struct eval *e)
{
    const struct last_args *v = e->args;
    const float *bias = e->n_in > IN_B ? e->x[IN_B] : NULL;
    if (!v->tiles && !v->parts)
        product_eval(e, bias);
    else
        for (int64_t i = 0; i < v->images; i++)
            image_eval(e, i, bias);
}

/* ---- shares: channels, in whole panels ---- */

static int64_t panels(const struct last_args *v)
{
    return (v->cout + KERN_LANES - 1) / KERN_LANES;
}

static void shifts_set(const struct prep *c, const struct last_args *v, int64_t channel,
                       size_t *shift)
{
    shift[IN_X] = v->parts ? (size_t) channel * sizeof(float) : 0;
    if (c->n_in > IN_B)
        shift[IN_B] = (size_t) channel * sizeof(float);
    epilogue_shift(&v->epilogue, channel, channel, shift);
    shift[c->n_in] = (size_t) channel * sizeof(float);
}

static rill_status share_set(struct prep *c, const struct last_args *v, int64_t from, int64_t to,
                             struct share *ret)
{
    struct last_args *s = arena_copy(c->arena, v, sizeof *v);
    if (!s)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    s->cout = to - from;
    s->packed += (size_t) from * v->n_weights;
    s->epilogue.channels = s->cout;
    ret->args = s;
    shifts_set(c, v, from, ret->shift_bytes);
    if (v->tiles && !(s->tiles = conv_tiles_new_last(c->arena, &v->g, s->cout, v->ldx, v->ldy)))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    return RILL_OK;
}

static rill_status last_divide(struct prep *c, unsigned most, struct shares *ret)
{
    const struct last_args *v = c->args;
    const unsigned n = panels(v) < most ? (unsigned) panels(v) : most;
    if (n < 2 || !v->g.n_out)
        return RILL_OK;
    TRY(shares_new(c, n, ret));
    ret->scratch_bytes = c->scratch_bytes;
    for (unsigned i = 0; i < n; i++) {
        const int64_t from = share_from(panels(v), i, n) * KERN_LANES,
                      to = i + 1 < n ? share_from(panels(v), i + 1, n) * KERN_LANES : v->cout;
        TRY(share_set(c, v, from, to, &ret->share[i]));
    }
    return RILL_OK;
}

const struct op op_conv_last = {
    .id = OP_CONV_LAST,
    .name = "ConvLast",
    .attrs = last_attrs,
    .attr_bytes = sizeof(struct conv_attr),
    .min_in = 2,
    .max_in = 3,
    .own_in = EPILOGUE_IN_MAX,
    .epilogue_in = EPILOGUE_IN,
    .epilogue_at = offsetof(struct conv_attr, epilogue),
    .epilogue_axis = -1,
    .min_out = 1,
    .max_out = 1,
    .infer = last_infer,
    .prepare = last_prepare,
    .eval = last_eval,
    .divide = last_divide,
    .help = "convolution over rows and columns, channels last",
};
