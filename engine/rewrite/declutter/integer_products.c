/* SPDX-License-Identifier: MIT */
/* Products of dequantised numbers become products of the integers that they were: the sums are
 * exact, and take both scales afterwards. */
#include "engine/rewrite/declutter/integer_products.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/quantised.h"

#include <float.h>
#include <math.h>

enum { IN_X, IN_W, IN_BIAS };

/* One operand: integers, their zero, and one scale or one for each channel. */
struct operand {
    uint32_t whole, zero; /* wires; zero may be WIRE_NONE */
    const float *scale;
    int64_t n_scale;
    int64_t farthest; /* what flows: the most that a byte is away from its zero */
};

static rill_status no_memory(rill_error *reterr)
{
    return err_set(reterr, RILL_NOMEM, "out of memory");
}

static int64_t byte_least(enum dtype type)
{
    return type == DTYPE_I8 ? INT8_MIN : 0;
}

static int64_t farthest_of(const struct graph *g, const struct quantised_wire *q)
{
    const int64_t below = quantised_zero(q) - byte_least(g->wires[q->whole].fact.type);
    return below > UINT8_MAX - below ? below : UINT8_MAX - below;
}

static bool operand_flows(const struct edit *e, uint32_t wire, struct operand *ret)
{
    struct quantised_wire q;
    if (!wire_is_dequantised(e, wire, &q) || !wire_is_byte(e->g, q.whole))
        return false;
    const struct node *n = &e->g->nodes[q.node];
    *ret = (struct operand) { .whole = q.whole,
                              .zero = q.zero ? n->in[2] : WIRE_NONE,
                              .scale = node_value(e->g, n, 1)->data,
                              .n_scale = 1,
                              .farthest = farthest_of(e->g, &q) };
    return true;
}

bool wire_is_dequantised_byte(const struct edit *e, uint32_t wire)
{
    struct quantised_wire q;
    return wire_is_dequantised(e, wire, &q) && wire_is_byte(e->g, q.whole);
}

const struct quantised *weights_quantised(const struct graph *g, uint32_t wire, int axis)
{
    const struct tensor *t = g->wires[wire].fact.value;
    const struct quantised *q = t ? t->from : NULL;
    if (!q || q->block || q->turned || (q->whole->type != DTYPE_U8 && q->whole->type != DTYPE_I8))
        return NULL;
    bool one = tensor_count(q->scale) == 1, one_zero = !q->zero || tensor_count(q->zero) == 1;
    return (one && one_zero) || (axis < q->whole->rank && q->axis == axis) ? q : NULL;
}

/* ---- sums of 32 bits ---- */

static int64_t byte_at(const struct tensor *t, int64_t i)
{
    return t->type == DTYPE_I8 ? ((const int8_t *) t->data)[i] : ((const uint8_t *) t->data)[i];
}

/* What n weights, `step` apart, are away from their zero, together. */
static int64_t weights_away(const struct tensor *w, int64_t at, int64_t n, int64_t step,
                            int64_t zero)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t away = byte_at(w, at + i * step) - zero;
        sum += away < 0 ? -away : away;
    }
    return sum;
}

/* Whether no sum leaves 32 bits, whatever flows. Outputs lie along `axis`: the first, whose sums
 * take all others, or the last, whose sums take the one before. */
static bool sums_fit(const struct quantised *q, int axis, int64_t farthest)
{
    const struct tensor *w = q->whole;
    const int64_t all = tensor_count(w), columns = axis ? w->dim[axis] : 1,
                  outputs = w->dim[0] > 0 ? w->dim[0] : 1,
                  rows = axis ? w->dim[axis - 1] : all / outputs;
    if (rows <= INT32_MAX / UINT8_MAX / farthest)
        return true;
    for (int64_t i = 0; i < all / rows; i++) {
        const int64_t at = i / columns * rows * columns + i % columns,
                      output = axis ? i % columns : i;
        const int64_t zero = q->zero ? byte_at(q->zero, tensor_count(q->zero) > 1 ? output : 0) : 0;
        if (weights_away(w, at, rows, columns, zero) > INT32_MAX / farthest)
            return false;
    }
    return true;
}

static bool operand_known(struct edit *e, const struct quantised *q, const struct tensor *whole,
                          const char *name, struct operand *ret)
{
    *ret = (struct operand) { .whole = graph_add_const(e->g, name, whole),
                              .zero = WIRE_NONE,
                              .scale = q->scale->data,
                              .n_scale = tensor_count(q->scale) };
    if (q->zero)
        ret->zero = graph_add_const(e->g, name, q->zero);
    return ret->whole != WIRE_NONE && (!q->zero || ret->zero != WIRE_NONE);
}

/* ---- the nodes behind the product ---- */

static uint32_t wire_like(struct graph *g, uint32_t of, enum dtype type)
{
    struct fact f = g->wires[of].fact;
    f.type = type;
    f.value = NULL;
    return graph_add_wire(g, g->wires[of].name, &f);
}

/* n numbers along the axis in front of `trailing` ones; a single one has no axes. */
static uint32_t const_along(struct graph *g, const char *name, const float *v, int64_t n,
                            int trailing)
{
    int64_t dim[RANK_MAX];
    for (int i = 0; i <= trailing; i++)
        dim[i] = i ? 1 : n;
    return graph_add_const(g, name,
                           tensor_from_data(g->arena, DTYPE_F32, n == 1 ? 0 : trailing + 1, dim,
                                            v));
}

static uint32_t scales_of(struct graph *g, const char *name, const struct operand *x,
                          const struct operand *w, int trailing)
{
    float *v = arena_array(g->arena, float, (size_t) w->n_scale);
    for (int64_t i = 0; v && i < w->n_scale; i++)
        v[i] = x->scale[0] * w->scale[i];
    return v ? const_along(g, name, v, w->n_scale, trailing) : WIRE_NONE;
}

/* Puts in sum -> f32 -> times both scales -> plus a bias, which writes what node i wrote. */
static bool sum_scaled(struct edit *e, uint32_t i, uint32_t sum, uint32_t scales, uint32_t bias)
{
    struct graph *g = e->g;
    uint32_t y = g->nodes[i].out[0], real = wire_like(g, y, DTYPE_F32),
             scaled = bias == WIRE_NONE ? y : wire_like(g, y, DTYPE_F32);
    struct cast_attr *to = arena_new(g->arena, struct cast_attr);
    if (!to || real == WIRE_NONE || scaled == WIRE_NONE || scales == WIRE_NONE)
        return false;
    *to = (struct cast_attr) { .to = DTYPE_F32, .saturate = 1 };
    bool put = edit_insert(e, i, op_by_id(OP_CAST), to, &sum, 1, &real, 1) &&
        edit_insert(e, i, op_by_id(OP_MUL), NULL, (uint32_t[]) { real, scales }, 2, &scaled, 1) &&
        (bias == WIRE_NONE ||
         edit_insert(e, i, op_by_id(OP_ADD), NULL, (uint32_t[]) { scaled, bias }, 2, &y, 1));
    e->gone[i] = true;
    return put;
}

static bool product_put(struct edit *e, uint32_t i, enum op_id id, const void *attr,
                        const struct operand *x, const struct operand *w, uint32_t *ret_sum)
{
    *ret_sum = wire_like(e->g, e->g->nodes[i].out[0], DTYPE_I32);
    return *ret_sum != WIRE_NONE &&
        edit_insert(e, i, op_by_id(id), attr, (uint32_t[]) { x->whole, w->whole, x->zero, w->zero },
                    4, ret_sum, 1);
}

/* ---- what is quantised behind ---- */

/* The node that alone reads the wire; WIRE_NONE: there is none. */
static uint32_t sole_reader(const struct edit *e, uint32_t wire)
{
    for (uint32_t i = 0; i < e->n_nodes && e->consumers[wire] == 1; i++)
        for (unsigned k = 0; k < e->g->nodes[i].n_in && !e->gone[i]; k++)
            if (e->g->nodes[i].in[k] == wire)
                return i;
    return WIRE_NONE;
}

#define FUNCTIONS_MAX 2 /* nodes between a product and what quantises it */

/* What scales with its input: a Relu or LeakyRelu, or a Clip whose bounds do, as they are known. */
static bool is_scaled_by(const struct graph *g, const struct node *n)
{
    for (unsigned k = 1; k < 3 && node_is(n, OP_CLIP); k++)
        if (node_has_input(n, k) && !node_value(g, n, k))
            return false;
    return node_is(n, OP_RELU) || node_is(n, OP_LEAKY_RELU) || node_is(n, OP_CLIP);
}

/* The QuantizeLinear to bytes behind a wire, or behind functions of it: its scale. 0: there is
 * none. */
static float quantised_behind(const struct edit *e, uint32_t wire, uint32_t *ret_node)
{
    const struct graph *g = e->g;
    struct quantised_wire q;
    uint32_t at = sole_reader(e, wire);
    for (unsigned i = 0; i < FUNCTIONS_MAX && at != WIRE_NONE && is_scaled_by(g, &g->nodes[at]);
         i++)
        at = sole_reader(e, g->nodes[at].out[0]);
    if (at == WIRE_NONE || !node_is(&g->nodes[at], OP_QUANTIZE_LINEAR) ||
        quant_attr_of(&g->nodes[at])->precision || !wire_is_byte(g, g->nodes[at].out[0]) ||
        !quantised_params(g, &g->nodes[at], &q))
        return 0;
    *ret_node = at;
    return q.scale;
}

/* Bounds of a Clip of what was divided by a scale. False: no memory. */
static bool clip_scale(struct edit *e, uint32_t node, float by)
{
    const struct node n = e->g->nodes[node];
    uint32_t in[3] = { n.in[0], WIRE_NONE, WIRE_NONE };
    for (unsigned k = 1; k < 3; k++) {
        const struct tensor *t = node_value(e->g, &n, k);
        const float bound = t ? (float) tensor_get_f64(t, t->data, 0) / by : 0;
        if (t && (in[k] = const_along(e->g, n.name, &bound, 1, 0)) == WIRE_NONE)
            return false;
    }
    return edit_inputs(e, node, in, 3);
}

/* The QuantizeLinear takes what was divided by its scale before, and so do the functions of `wire`
 * in front of it. */
static bool quantise_by_one(struct edit *e, uint32_t wire, uint32_t node)
{
    const struct node n = e->g->nodes[node];
    const struct tensor *scale = node_value(e->g, &n, 1);
    for (uint32_t at = sole_reader(e, wire); at != node;
         at = sole_reader(e, e->g->nodes[at].out[0]))
        if (node_is(&e->g->nodes[at], OP_CLIP) && !clip_scale(e, at, *(const float *) scale->data))
            return false;
    const float one = 1;
    uint32_t in[3] = { n.in[0], const_along(e->g, n.name, &one, 1, 0),
                       n.n_in > 2 ? n.in[2] : WIRE_NONE };
    return in[1] != WIRE_NONE && edit_inputs(e, node, in, n.n_in);
}

/* All numbers over a scale; false: they leave the normal ones. */
static bool scaled_down(struct arena *a, const float **v, int64_t n, float by, bool zeros)
{
    float *to = arena_array(a, float, (size_t) n + 1);
    for (int64_t i = 0; to && i < n; i++) {
        to[i] = (*v)[i] / by;
        bool is_zero = to[i] >= 0 && to[i] <= 0;
        if (!(is_zero && zeros) && !(fabsf(to[i]) >= FLT_MIN && fabsf(to[i]) <= FLT_MAX / 65536))
            return false;
    }
    *v = to;
    return to;
}

/* ---- convolutions ---- */

#define CONV_PLACES_MIN 100 /* where the result is bytes, so many places pay, too */
#define DEPTH_PLACES_MIN 32 /* and so many of images of so many channels apart */
#define DEPTH_CHANNELS_MIN 32
#define MEAN_SIDE_MAX 1024 /* so that sums fit, whatever the bytes */

/* Groups of few channels are sooner multiplied as floats. */
static bool conv_worth(const struct node *n, const struct tensor *w)
{
    return tensor_count(w) >= CONV_WEIGHTS_MIN && conv_attr_of(n)->group == 1;
}

/* Whether so many places of a channel are known. */
static bool places_known(const struct fact *y, int64_t least)
{
    int64_t places = 1;
    for (int i = 2; i < y->rank; i++) {
        int64_t n = dim_is_const(y->shape[i]) ? dim_value(y->shape[i]) : 0;
        places *= n < least ? n : least;
    }
    return y->rank > 2 && places >= least;
}

/* Whether bytes pay at any number of weights: of so many places that nothing is gathered for a few,
 * or of images whose channels, each by itself, lie side by side. */
static bool places_many(const struct graph *g, const struct node *n)
{
    const struct fact *y = &g->wires[n->out[0]].fact;
    const struct tensor *w = node_value(g, n, IN_W);
    const bool deep = w && w->rank == 4 && w->dim[1] == 1 && w->dim[0] >= DEPTH_CHANNELS_MIN &&
        conv_attr_of(n)->group == w->dim[0] && w->dim[2] > 1 && w->dim[3] > 1;
    return places_known(y, deep ? DEPTH_PLACES_MIN : CONV_PLACES_MIN);
}

/* Of what is quantised behind it, scales and bias become those of its bytes; *ret: its
 * QuantizeLinear. The product of both scales is taken first, as of all others. */
static bool results_scale(struct edit *e, uint32_t wire, struct operand *x, struct operand *w,
                          const float **bias, int64_t n_bias, uint32_t *ret)
{
    struct arena *a = e->g->arena;
    const float s = quantised_behind(e, wire, ret), *by = w->scale, *b = *bias;
    float *both = arena_array(a, float, (size_t) w->n_scale + 1);
    static const float one = 1;
    for (int64_t i = 0; both && i < w->n_scale; i++)
        both[i] = w->scale[i] * x->scale[0];
    by = both;
    if (!(s > 0) || !both || !scaled_down(a, &by, w->n_scale, s, false) ||
        (b && !scaled_down(a, &b, n_bias, s, true)))
        return false;
    w->scale = by;
    x->scale = &one;
    *bias = b;
    return true;
}

static rill_status conv_turn(struct edit *e, uint32_t i, rill_error *reterr)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    const struct quantised *q = weights_quantised(g, n.in[IN_W], 0);
    const struct tensor *b = node_value(g, &n, IN_BIAS);
    struct operand x, w;
    uint32_t sum, bias = WIRE_NONE, quantiser = WIRE_NONE;
    const float *added = b ? b->data : NULL;
    struct conv_integer_attr *a = arena_new(g->arena, struct conv_integer_attr);
    if (!a)
        return no_memory(reterr);
    a->conv = *conv_attr_of(&n);
    if (!q || a->conv.epilogue.n || (node_has_input(&n, IN_BIAS) && !b) ||
        !operand_flows(e, n.in[IN_X], &x) || !sums_fit(q, 0, x.farthest))
        return RILL_OK;
    int trailing = q->whole->rank - 2;
    w = (struct operand) { .scale = q->scale->data, .n_scale = tensor_count(q->scale) };
    bool bytes = (places_many(g, &n) || conv_worth(&n, q->whole)) &&
        results_scale(e, n.out[0], &x, &w, &added, b ? tensor_count(b) : 0, &quantiser);
    const struct operand scales = w;
    if (!bytes && !conv_worth(&n, q->whole))
        return RILL_OK;
    if ((bytes && !quantise_by_one(e, n.out[0], quantiser)) ||
        !operand_known(e, q, q->whole, n.name, &w) ||
        (b && (bias = const_along(g, n.name, added, tensor_count(b), trailing)) == WIRE_NONE) ||
        !product_put(e, i, OP_CONV_INTEGER, a, &x, &w, &sum) ||
        !sum_scaled(e, i, sum, scales_of(g, n.name, &x, &scales, trailing), bias))
        return no_memory(reterr);
    return RILL_OK;
}

/* ---- matrices ---- */

static bool matrix_put(struct edit *e, uint32_t i, const struct operand *x, const struct operand *w,
                       uint32_t *ret_sum)
{
    struct matmul_integer_attr *a = arena_new(e->g->arena, struct matmul_integer_attr);
    return a && product_put(e, i, OP_MATMUL_INTEGER, a, x, w, ret_sum);
}

static struct tensor *turned(struct arena *a, const struct tensor *t)
{
    struct tensor *y = tensor_new(a, t->type, 2, (const int64_t[]) { t->dim[1], t->dim[0] });
    for (int64_t i = 0; y && i < t->dim[0]; i++)
        for (int64_t k = 0; k < t->dim[1]; k++)
            ((uint8_t *) y->data)[k * t->dim[0] + i] =
                ((const uint8_t *) t->data)[i * t->dim[1] + k];
    return y;
}

static rill_status matmul_turn(struct edit *e, uint32_t i, rill_error *reterr)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    const struct fact *f = &g->wires[n.in[IN_W]].fact;
    struct operand x, w;
    uint32_t sum;
    if (f->rank < 2 || g->wires[n.in[IN_X]].fact.rank < 1 || !operand_flows(e, n.in[IN_X], &x))
        return RILL_OK;
    const struct quantised *q = weights_quantised(g, n.in[IN_W], f->rank - 1);
    if (!q || tensor_count(q->whole) < MATRIX_WEIGHTS_MIN || !sums_fit(q, f->rank - 1, x.farthest))
        return RILL_OK;
    if (!operand_known(e, q, q->whole, n.name, &w) || !matrix_put(e, i, &x, &w, &sum) ||
        !sum_scaled(e, i, sum, scales_of(g, n.name, &x, &w, 0), WIRE_NONE))
        return no_memory(reterr);
    return RILL_OK;
}

static rill_status gemm_turn(struct edit *e, uint32_t i, rill_error *reterr)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    const struct gemm_attr *a = gemm_attr_of(&n);
    const int axis = a->tb ? 0 : 1;
    const struct quantised *q = weights_quantised(g, n.in[IN_W], axis);
    struct operand x, w;
    uint32_t sum;
    bool plain =
        a->alpha >= 1 && a->alpha <= 1 && a->beta >= 1 && a->beta <= 1 && !a->ta && !a->epilogue.n;
    if (!plain || !q || tensor_count(q->whole) < MATRIX_WEIGHTS_MIN ||
        !operand_flows(e, n.in[IN_X], &x) || !sums_fit(q, axis, x.farthest))
        return RILL_OK;
    const struct tensor *whole = a->tb ? turned(g->arena, q->whole) : q->whole;
    if (!whole || !operand_known(e, q, whole, n.name, &w) || !matrix_put(e, i, &x, &w, &sum) ||
        !sum_scaled(e, i, sum, scales_of(g, n.name, &x, &w, 0),
                    node_has_input(&n, IN_BIAS) ? n.in[IN_BIAS] : WIRE_NONE))
        return no_memory(reterr);
    return RILL_OK;
}

/* ---- pools ---- */

static const int64_t to_last[] = { 0, 2, 3, 1 }, to_first[] = { 0, 3, 1, 2 };

/* The wire with its axes in another order. */
static uint32_t turned_put(struct edit *e, uint32_t i, uint32_t from, uint32_t to,
                           const int64_t *perm)
{
    struct transpose_attr *a = arena_new(e->g->arena, struct transpose_attr);
    struct fact f = e->g->wires[from].fact;
    for (int k = 0; k < 4; k++)
        f.shape[k] = e->g->wires[from].fact.shape[perm[k]];
    f.value = NULL;
    if (to == WIRE_NONE)
        to = graph_add_wire(e->g, e->g->wires[from].name, &f);
    if (!a || to == WIRE_NONE)
        return WIRE_NONE;
    a->perm = (struct attr_ints) { 4, perm };
    return edit_insert(e, i, op_by_id(OP_TRANSPOSE), a, &from, 1, &to, 1) ? to : WIRE_NONE;
}

/* A pool of sizes x, by that factor. */
static struct byte_pool_attr *mean_attr(struct arena *a, const struct tensor *x, float by)
{
    static const int64_t ones[] = { 1, 1 }, none[4];
    struct byte_pool_attr *p = arena_new(a, struct byte_pool_attr);
    const int64_t *kernel = arena_copy(a, x->dim + 2, 2 * sizeof *kernel);
    if (p && kernel)
        *p = (struct byte_pool_attr) {
            .w = { .kernel = { 2, kernel }, .strides = { 2, ones }, .pads = { 4, none } },
            .mean = 1,
            .by = by,
        };
    return kernel ? p : NULL;
}

/* The mean of each channel, between bytes: their sums are exact. */
static rill_status mean_turn(struct edit *e, uint32_t i, rill_error *reterr)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    struct quantised_wire x, to;
    struct tensor t;
    uint32_t quantiser, in, out;
    if (!wire_is_dequantised(e, n.in[0], &x) || !wire_is_byte(g, x.whole) ||
        !fact_to_tensor(&g->wires[x.whole].fact, &t) || t.rank != 4 || tensor_count(&t) == 0 ||
        (quantiser = sole_reader(e, n.out[0])) == WIRE_NONE ||
        !(quantised_behind(e, n.out[0], &quantiser) > 0) || g->nodes[quantiser].in[0] != n.out[0] ||
        !quantised_params(g, &g->nodes[quantiser], &to))
        return RILL_OK;
    const uint32_t y = g->nodes[quantiser].out[0];
    const float by = x.scale / ((float) (t.dim[2] * t.dim[3]) * to.scale);
    if (!(by >= FLT_MIN && by <= FLT_MAX) || t.dim[2] > MEAN_SIDE_MAX || t.dim[3] > MEAN_SIDE_MAX)
        return RILL_OK;
    struct byte_pool_attr *a = mean_attr(g->arena, &t, by);
    if (!a || (in = turned_put(e, i, x.whole, WIRE_NONE, to_last)) == WIRE_NONE)
        return no_memory(reterr);
    a->x_zero = quantised_zero(&x);
    a->y.to = g->wires[y].fact.type;
    a->y.zero = quantised_zero(&to);
    a->y.low = a->y.to == DTYPE_I8 ? -128 : 0;
    a->y.high = a->y.low + 255;
    struct fact f = g->wires[y].fact;
    f.shape[1] = f.shape[2];
    f.shape[3] = g->wires[y].fact.shape[1];
    out = graph_add_wire(g, n.name, &f);
    if (out == WIRE_NONE || !edit_insert(e, i, op_by_id(OP_BYTE_POOL), a, &in, 1, &out, 1) ||
        turned_put(e, i, out, y, to_first) == WIRE_NONE)
        return no_memory(reterr);
    e->gone[i] = e->gone[quantiser] = true;
    return RILL_OK;
}

rill_status graph_with_integer_products(struct graph *ret, const struct graph *g,
                                        rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++) {
        const struct node *n = &ret->nodes[i];
        TRY(node_is(n, OP_CONV)                      ? conv_turn(&e, i, reterr)
                : node_is(n, OP_MATMUL)              ? matmul_turn(&e, i, reterr)
                : node_is(n, OP_GEMM)                ? gemm_turn(&e, i, reterr)
                : node_is(n, OP_GLOBAL_AVERAGE_POOL) ? mean_turn(&e, i, reterr)
                                                     : RILL_OK);
    }
    return edit_end(&e, reterr);
}

/* ---- what stays ---- */

static const char *input_stays(const struct graph *g, uint32_t wire)
{
    const struct wire *w = &g->wires[wire];
    struct quantised_wire q;
    if (w->node >= g->n_nodes || !node_is(&g->nodes[w->node], OP_DEQUANTIZE_LINEAR))
        return "its input was not quantised";
    if (!quantised_params(g, &g->nodes[w->node], &q))
        return "its input has several scales, or one that is not known";
    return wire_is_byte(g, g->nodes[w->node].in[0]) ? NULL : "its input is not of 8 bits";
}

static const char *weights_stay(const struct graph *g, uint32_t wire, int axis)
{
    const struct tensor *t = g->wires[wire].fact.value;
    if (!t || !t->from)
        return "its weights were not quantised";
    const enum dtype type = t->from->whole->type;
    if (t->from->block || (type != DTYPE_U8 && type != DTYPE_I8))
        return "its weights are not of 8 bits, or have scales of blocks";
    if (t->from->turned)
        return "its weights were transposed since";
    return weights_quantised(g, wire, axis) ? NULL : "its weights have scales along another axis";
}

/* Of what was quantised, both operands. */
static const char *sums_stay(const struct graph *g, const struct node *n, int axis)
{
    struct quantised_wire x;
    const struct node *dq = &g->nodes[g->wires[n->in[IN_X]].node];
    x.whole = dq->in[0];
    return quantised_params(g, dq, &x) &&
            !sums_fit(weights_quantised(g, n->in[IN_W], axis), axis, farthest_of(g, &x))
        ? "it sums so many bytes that 32 bits may not hold the sum"
        : NULL;
}

static const char *conv_stays(const struct graph *g, const struct node *n)
{
    if (node_has_input(n, IN_BIAS) && !node_value(g, n, IN_BIAS))
        return "its bias is not known";
    if (conv_attr_of(n)->group > 1 && !places_many(g, n))
        return "it has groups, and of few places floats are faster";
    return conv_worth(n, node_value(g, n, IN_W))
        ? NULL
        : "it has few weights, and floats are faster where places are few or stay floats";
}

static const char *deconv_stays(const struct graph *g, const struct node *n)
{
    const char *why = input_stays(g, n->in[IN_X]);
    why = why ? why : weights_stay(g, n->in[IN_W], 1);
    if (!why && tensor_count(node_value(g, n, IN_W)) < CONV_WEIGHTS_MIN)
        why = "it has few weights, and floats are faster";
    return why ? why : "its groups, strides or pads have no form as a convolution";
}

/* Either of its inputs may be the weights. */
static const char *einsum_stays(const struct graph *g, const struct node *n)
{
    const unsigned w = n->n_in == 2 && node_value(g, n, 0) ? 0 : 1;
    const char *why = n->n_in == 2 ? input_stays(g, n->in[1 - w]) : "it is no product of two";
    const struct tensor *t = why ? NULL : node_value(g, n, w);
    if (!why && (!t || !t->from))
        why = "its weights were not quantised";
    if (!why && tensor_count(t) < MATRIX_WEIGHTS_MIN)
        why = "it has few weights, and floats are faster";
    return why ? why : "it is no product of rows and a matrix with scales along its columns";
}

const char *product_stays_real(const struct graph *g, const struct node *n)
{
    static const enum op_id ours[] = { OP_CONV, OP_GEMM, OP_MATMUL },
                            cells[] = { OP_GRU, OP_LSTM, OP_RNN };
    const bool conv = node_is(n, OP_CONV), gemm = node_is(n, OP_GEMM);
    if (node_is_among(n, cells, 3))
        return "its recurrent weights are few, or not of 8 bits with a scale a row";
    if (node_is(n, OP_CONV_TRANSPOSE))
        return deconv_stays(g, n);
    if (node_is(n, OP_EINSUM))
        return einsum_stays(g, n);
    if (!node_is_among(n, ours, 3))
        return "no form of this op sums bytes of dequantised numbers";
    const struct fact *w = &g->wires[n->in[IN_W]].fact;
    const int axis = conv || (gemm && gemm_attr_of(n)->tb) ? 0 : w->rank - 1;
    const char *why = input_stays(g, n->in[IN_X]);
    why = why ? why : weights_stay(g, n->in[IN_W], axis);
    why = why ? why : sums_stay(g, n, axis);
    why = why || !conv ? why : conv_stays(g, n);
    if (!why && !conv && w->value && tensor_count(w->value) < MATRIX_WEIGHTS_MIN)
        why = "it has few weights, and floats are faster";
    return why ? why : "its attributes or scales have no form in bytes";
}
