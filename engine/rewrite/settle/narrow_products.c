/* SPDX-License-Identifier: MIT */
/* Products of rows by large constant matrices, convolutions of one place among them, whose weights
 * are halves, or were dequantised from integers of up to 8 bits, keep them so: each weight is
 * proved to be the number that the kernel will widen it to. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/ops/einsum.h"
#include "engine/ops/epilogue.h"
#include "engine/ops/matmul_narrow.h"
#include "engine/ops/window.h"
#include "engine/rewrite/settle/passes.h"

#include <string.h>

enum { IN_X, IN_W, IN_BIAS };

/* Below so many bytes of floats together, and of what recurrent cells read, weights of products
 * stay in the nearer caches, where reading them costs less than widening; and small ones are not
 * worth a packed form of their own, but for those of which each is read for one row alone. */
#define WEIGHTS_BYTES_MIN ((size_t) 1 << 20)
#define WEIGHTS_MIN 16384
#define WEIGHTS_EACH_MIN 4096

/* y = x * w', w' [k, n]; w is [n, k] where turned. */
struct product {
    const struct tensor *w;
    bool turned;
    int64_t k, n;
    uint32_t bias;    /* WIRE_NONE: none */
    bool conv;        /* w [n, channels, places..], k terms of each */
    int64_t matrices; /* w [matrices, k, n / matrices], each for a row of its own; 0: one for all */
};

/* What is left of the weights: constants of a MatMulNarrow. */
struct narrow {
    struct tensor *w, *scale, *zero; /* the last two may be NULL */
    int64_t block;
};

static bool is_one(float v)
{
    return v >= 1 && v <= 1;
}

/* One number for each of n > 1 outputs, which sums start from. */
static bool bias_fits(const struct fact *f, int64_t n)
{
    return f->type == DTYPE_F32 && n > 1 && (f->rank == 1 || f->rank == 2) &&
        dim_is(f->shape[f->rank - 1], n) && (f->rank == 1 || dim_is(f->shape[0], 1));
}

static int64_t entry(struct attr_ints l, int i, int64_t otherwise)
{
    return (int) l.n > i ? l.v[i] : otherwise;
}

/* A convolution whose kernel lies on its input in one place alone. */
static bool conv_read(const struct graph *g, const struct node *n, struct product *ret)
{
    const struct conv_attr *a = conv_attr_of(n);
    const struct tensor *w = node_value(g, n, IN_W);
    const bool padded = a->w.auto_pad != PAD_VALID;
    struct tensor x;
    if (!w || w->type != DTYPE_F32 || w->rank < 3 || a->group != 1 || a->epilogue.n ||
        node_value(g, n, IN_X) || !fact_to_tensor(&g->wires[n->in[IN_X]].fact, &x) ||
        x.rank != w->rank || (padded && a->w.auto_pad != PAD_NOTSET))
        return false;
    for (int i = 0; i < x.rank - 2; i++)
        if (x.dim[2 + i] != (w->dim[2 + i] - 1) * entry(a->w.dilations, i, 1) + 1 ||
            (padded && (entry(a->w.pads, i, 0) || entry(a->w.pads, x.rank - 2 + i, 0))))
            return false;
    const int64_t outputs = w->dim[0];
    *ret = (struct product) { .w = w,
                              .turned = true,
                              .k = outputs ? tensor_count(w) / outputs : 0,
                              .n = outputs,
                              .bias = WIRE_NONE,
                              .conv = true };
    ret->bias = node_has_input(n, IN_BIAS) ? n->in[IN_BIAS] : WIRE_NONE;
    return ret->bias == WIRE_NONE || bias_fits(&g->wires[ret->bias].fact, outputs);
}

/* Whether x [.., matrices, 1.., k] and the sums of an Einsum or a MatMul lie as rows, each of the
 * matrix that has its number. */
static bool rows_have_matrices(const struct graph *g, const struct node *n, const struct tensor *x,
                               const struct tensor *w)
{
    const int ranks[] = { x->rank, w->rank }, row = x->rank - (node_is(n, OP_MATMUL) ? 3 : 2);
    int summed[2];
    if (row < 0 || x->dim[row] != w->dim[0] || tensor_count(x) != w->dim[0] * w->dim[1])
        return false;
    if (node_is(n, OP_MATMUL))
        return x->rank == 3 && x->dim[1] == 1;
    const int last = g->wires[n->out[0]].fact.rank - 1;
    return einsum_summed(n, ranks, summed) && summed[0] == x->rank - 1 && summed[1] == 1 &&
        last > 0 && einsum_output_axis(n, ranks, 1, 2) == last &&
        einsum_output_axis(n, ranks, 1, 0) == last - 1 &&
        einsum_output_axis(n, ranks, 0, row) == last - 1 && last + 1 == x->rank;
}

/* A row for each of several matrices, whose outputs fill panels. */
static bool each_read(const struct graph *g, const struct node *n, struct product *ret)
{
    const bool product =
        node_is(n, OP_EINSUM) || (node_is(n, OP_MATMUL) && !epilogue_steps_of(n)->n);
    const struct tensor *w = product && n->n_in == 2 ? node_value(g, n, IN_W) : NULL;
    struct tensor x;
    if (!w || w->type != DTYPE_F32 || w->rank != 3 || node_value(g, n, IN_X) || !tensor_count(w) ||
        w->dim[2] % KERN_LANES || !fact_to_tensor(&g->wires[n->in[IN_X]].fact, &x) ||
        !rows_have_matrices(g, n, &x, w))
        return false;
    *ret = (struct product) {
        .w = w, .k = w->dim[1], .n = w->dim[0] * w->dim[2], .bias = WIRE_NONE, .matrices = w->dim[0]
    };
    return true;
}

static bool product_read(const struct graph *g, const struct node *n, struct product *ret)
{
    if (node_is(n, OP_CONV))
        return conv_read(g, n, ret);
    if (each_read(g, n, ret))
        return true;
    const struct tensor *w = node_value(g, n, IN_W);
    const struct gemm_attr *a = node_is(n, OP_GEMM) ? gemm_attr_of(n) : NULL;
    if ((!a && !node_is(n, OP_MATMUL)) || !w || w->type != DTYPE_F32 || w->rank != 2 ||
        node_value(g, n, IN_X) || epilogue_steps_of(n)->n)
        return false;
    bool turned = a && a->tb;
    *ret = (struct product) {
        .w = w, .turned = turned, .k = w->dim[turned], .n = w->dim[!turned], .bias = WIRE_NONE
    };
    if (!a || !node_has_input(n, IN_BIAS))
        return g->wires[n->in[IN_X]].fact.rank > 0 && (!a || (is_one(a->alpha) && !a->ta));
    ret->bias = n->in[IN_BIAS];
    return is_one(a->alpha) && is_one(a->beta) && !a->ta &&
        bias_fits(&g->wires[ret->bias].fact, ret->n);
}

/* Where weights have term i of output o. */
static int64_t place_of(const struct product *p, bool outputs_first, int64_t i, int64_t o)
{
    const int64_t n = p->matrices ? p->n / p->matrices : p->n;
    return outputs_first ? o * p->k + i : (o / n * p->k + i) * n + o % n;
}

static float weight_at(const struct product *p, int64_t i, int64_t o)
{
    return ((const float *) p->w->data)[place_of(p, p->turned, i, o)];
}

static bool bits_same(float a, float b)
{
    return !memcmp(&a, &b, sizeof a);
}

/* ---- halves ---- */

static bool halves_hold(const struct product *p, float (*widen)(uint16_t), uint16_t (*cut)(float))
{
    const float *v = p->w->data;
    for (int64_t i = 0; i < p->k * p->n; i++)
        if (!bits_same(widen(cut(v[i])), v[i]))
            return false;
    return true;
}

static bool halves_make(struct arena *a, const struct product *p, struct narrow *ret)
{
    bool f16 = halves_hold(p, f16_to_f32, f32_to_f16);
    if (!f16 && !halves_hold(p, bf16_to_f32, f32_to_bf16))
        return false;
    *ret = (struct narrow) { .w = tensor_new(a, f16 ? DTYPE_F16 : DTYPE_BF16, 2,
                                             (const int64_t[]) { p->k, p->n }) };
    uint16_t *to = ret->w ? ret->w->data : NULL;
    for (int64_t i = 0; to && i < p->k; i++)
        for (int64_t o = 0; o < p->n; o++)
            to[i * p->n + o] =
                f16 ? f32_to_f16(weight_at(p, i, o)) : f32_to_bf16(weight_at(p, i, o));
    return to;
}

/* ---- whole numbers ---- */

/* Where a list has the number of block b of output o. */
struct list_steps {
    int64_t o, b;
};

static struct list_steps list_steps(const struct tensor *t, const struct quantised *q,
                                    bool outputs_first, int64_t blocks, int64_t n)
{
    if (!t || tensor_count(t) == 1)
        return (struct list_steps) { 0, 0 };
    if (!q->block)
        return (struct list_steps) { 1, 0 };
    return outputs_first ? (struct list_steps) { blocks, 1 } : (struct list_steps) { 1, n };
}

/* How numbers of a type become i8, or u4. */
static bool type_shift(enum dtype t, enum dtype *ret, int *ret_add)
{
    static const struct {
        enum dtype from, to;
        int add;
    } rows[] = {
        { DTYPE_I8, DTYPE_I8, 0 }, { DTYPE_U8, DTYPE_I8, -128 }, { DTYPE_U4, DTYPE_U4, 0 },
        { DTYPE_I4, DTYPE_U4, 8 }, { DTYPE_U2, DTYPE_U4, 0 },    { DTYPE_I2, DTYPE_U4, 8 }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].from == t) {
            *ret = rows[i].to;
            *ret_add = rows[i].add;
            return true;
        }
    return false;
}

/* Scales and zeros [blocks, n]; those of several matrices are the same. */
static void lists_fill(const struct product *p, const struct quantised *q, struct narrow *to,
                       int add, bool outputs_first)
{
    const int64_t blocks = to->scale->dim[0], n = to->scale->dim[1],
                  own = p->matrices ? n / p->matrices : n;
    const struct list_steps s = list_steps(q->scale, q, outputs_first, blocks, n),
                            z = list_steps(q->zero, q, outputs_first, blocks, n);
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t o = 0; o < n; o++) {
            const int64_t at = o % own,
                          zero = q->zero
                ? tensor_get_i64(q->zero, q->zero->data, at * z.o + b * z.b)
                : 0;
            ((float *) to->scale->data)[b * n + o] =
                ((const float *) q->scale->data)[at * s.o + b * s.b];
            ((int8_t *) to->zero->data)[b * n + o] = (int8_t) (zero + add);
        }
}

/* Fills in the weights; false: one is not what it would be widened to. */
static bool weights_fill(const struct product *p, const struct quantised *q, struct narrow *to,
                         int add, bool outputs_first)
{
    const float *scale = to->scale->data;
    for (int64_t i = 0; i < p->k; i++)
        for (int64_t o = 0; o < p->n; o++) {
            int64_t b = i / to->block * p->n + o,
                    whole =
                        tensor_get_i64(q->whole, q->whole->data, place_of(p, outputs_first, i, o)) +
                add,
                    zero = tensor_get_i64(to->zero, to->zero->data, b);
            ((int8_t *) to->w->data)[i * p->n + o] = (int8_t) whole;
            if (!bits_same((float) (whole - zero) * scale[b], weight_at(p, i, o)))
                return false;
        }
    return true;
}

static bool all_zero(const struct tensor *t)
{
    const int8_t *v = t->data;
    int64_t i = 0, n = tensor_count(t);
    while (i < n && !v[i])
        i++;
    return i == n;
}

/* Numbers of 4 bits whose file has no such type. */
static bool below_16(const struct tensor *t)
{
    const uint8_t *v = t->data;
    int64_t i = 0, n = tensor_count(t);
    while (i < n && v[i] < 16)
        i++;
    return i == n;
}

/* Whether each output, or each block of its terms, has one. */
static bool scales_fit(const struct product *p, const struct quantised *q, bool outputs_first)
{
    if (tensor_count(q->scale) == 1 && (!q->zero || tensor_count(q->zero) == 1))
        return true;
    if (p->matrices)
        return q->axis == 2 && !q->block;
    return p->conv ? !q->axis && !q->block : (q->axis == outputs_first) == !!q->block;
}

static bool wholes_make(struct arena *a, const struct product *p, struct narrow *ret)
{
    const struct quantised *q = p->w->from;
    enum dtype type;
    int add;
    if (!q || !type_shift(q->whole->type, &type, &add) || q->whole->rank != p->w->rank)
        return false;
    if (q->whole->type == DTYPE_U8 && below_16(q->whole) && (!q->zero || below_16(q->zero))) {
        type = DTYPE_U4;
        add = 0;
    }
    const bool outputs_first = p->turned != q->turned;
    if (!scales_fit(p, q, outputs_first))
        return false;
    ret->block = q->block && q->block < p->k ? q->block : p->k;
    if (type == DTYPE_U4 && ret->block % 2 && ret->block < p->k)
        return false;
    const int64_t shape[] = { (p->k + ret->block - 1) / ret->block, p->n };
    ret->w = tensor_new(a, type, 2, (const int64_t[]) { p->k, p->n });
    ret->scale = tensor_new(a, DTYPE_F32, 2, shape);
    ret->zero = tensor_new(a, type, 2, shape);
    if (!ret->w || !ret->scale || !ret->zero)
        return false;
    lists_fill(p, q, ret, add, outputs_first);
    if (!weights_fill(p, q, ret, add, outputs_first))
        return false;
    if (type == DTYPE_I8 && all_zero(ret->zero))
        ret->zero = NULL;
    return !p->matrices || (type == DTYPE_I8 && !ret->zero);
}

/* ---- the node ---- */

/* What is multiplied: of a dilated kernel, only what lies under its taps. WIRE_NONE: no memory. */
static uint32_t taps_put(struct edit *e, uint32_t i, const struct product *p)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    uint32_t x = n.in[IN_X];
    for (int k = 0; p->conv && k < p->w->rank - 2 && x != WIRE_NONE; k++) {
        const int64_t step = entry(conv_attr_of(&n)->w.dilations, k, 1);
        struct fact f = g->wires[x].fact;
        if (step == 1 || p->w->dim[2 + k] == 1)
            continue;
        f.shape[2 + k] = dim_int(g->dims, p->w->dim[2 + k]);
        const uint32_t in[] = { x, edit_int(g, 0), edit_int(g, INT64_MAX), edit_int(g, 2 + k),
                                edit_int(g, step) },
                       out = graph_add_wire(g, g->wires[x].name, &f);
        bool ok = out != WIRE_NONE;
        for (int j = 1; j < 5; j++)
            ok = ok && in[j] != WIRE_NONE;
        x = ok && edit_insert(e, i, op_by_id(OP_SLICE), NULL, in, 5, &out, 1) ? out : WIRE_NONE;
    }
    return x;
}

static bool product_put(struct edit *e, uint32_t i, const struct product *p,
                        const struct narrow *made)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    struct matmul_narrow_attr *a = arena_new(g->arena, struct matmul_narrow_attr);
    const struct tensor *const part[] = { made->w, made->scale, made->zero };
    uint32_t in[NARROW_BIAS + 1] = { taps_put(e, i, p), [NARROW_BIAS] = p->bias };
    bool ok = a && in[NARROW_X] != WIRE_NONE;
    for (unsigned k = 0; k < 3; k++) {
        in[NARROW_W + k] = part[k] ? graph_add_const(g, n.name, part[k]) : WIRE_NONE;
        ok = ok && (!part[k] || in[NARROW_W + k] != WIRE_NONE);
    }
    if (!ok ||
        !edit_insert(e, i, p->conv ? &op_conv_narrow : &op_matmul_narrow, a, in, NARROW_BIAS + 1,
                     &n.out[0], 1))
        return false;
    a->block = p->matrices ? 0 : made->block;
    a->matrices = p->matrices;
    e->gone[i] = true;
    return true;
}

/* Of the inputs and the states. */
static size_t cell_bytes(const struct graph *g, const struct node *n)
{
    size_t bytes = 0;
    if (!node_is(n, OP_GRU) && !node_is(n, OP_LSTM) && !node_is(n, OP_RNN))
        return 0;
    for (unsigned i = 1; i < 3; i++) {
        const struct tensor *w = node_value(g, n, i);
        bytes += w ? tensor_bytes(w) : 0;
    }
    return bytes;
}

static size_t weights_bytes(const struct graph *g)
{
    struct product p;
    size_t bytes = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        bytes +=
            product_read(g, &g->nodes[i], &p) ? tensor_bytes(p.w) : cell_bytes(g, &g->nodes[i]);
    return bytes;
}

static bool is_large(const struct product *p)
{
    return tensor_count(p->w) >= (p->matrices ? WEIGHTS_EACH_MIN : WEIGHTS_MIN);
}

rill_status graph_with_narrow_products(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct product p;
    const bool worth = weights_bytes(g) > WEIGHTS_BYTES_MIN;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; worth && i < e.n_nodes; i++) {
        struct narrow made = { 0 };
        if (!product_read(ret, &ret->nodes[i], &p) || !is_large(&p) ||
            !(wholes_make(ret->arena, &p, &made) ||
              (!p.matrices && halves_make(ret->arena, &p, &made))))
            continue;
        if (!product_put(&e, i, &p, &made))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return edit_end(&e, reterr);
}
