/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/declutter/cell.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/ops/attrs.h"

#define BIASES_MAX 4

/* Products and constants that are added up. */
struct sum {
    const struct node *product[2];
    unsigned n_products;
    const struct tensor *bias[BIASES_MAX];
    unsigned n_biases;
    int64_t width; /* columns */
};

static bool product_fits(const struct graph *g, const struct node *n, int64_t width)
{
    const struct fact *a = &g->wires[n->in[0]].fact;
    const struct tensor *w = match_value(g, n->in[1]);
    if (!w || w->type != DTYPE_F32 || w->rank != 2 || a->rank != 2 || !dim_is_const(a->shape[0]) ||
        !dim_is_const(a->shape[1]))
        return false;
    bool gemm = node_is(n, OP_GEMM), turned = gemm && gemm_attr_of(n)->tb;
    if (gemm && (gemm_attr_of(n)->ta || gemm_attr_of(n)->alpha != 1 || gemm_attr_of(n)->beta != 1))
        return false;
    return w->dim[turned ? 0 : 1] == width;
}

static bool bias_take(const struct graph *g, uint32_t wire, struct sum *s)
{
    const struct tensor *t = match_value(g, wire);
    if (!t || t->type != DTYPE_F32 || tensor_count(t) != s->width || t->rank < 1 ||
        t->dim[t->rank - 1] != s->width || s->n_biases == BIASES_MAX)
        return false;
    s->bias[s->n_biases++] = t;
    return true;
}

static bool sum_take(const struct graph *g, uint32_t wire, int depth, struct sum *s)
{
    const struct node *n;
    if (match_value(g, wire))
        return bias_take(g, wire, s);
    if (depth < 6 && (n = match_op(g, wire, OP_ADD)))
        return sum_take(g, n->in[0], depth + 1, s) && sum_take(g, n->in[1], depth + 1, s);
    if (!(n = match_op(g, wire, OP_MATMUL)) && !(n = match_op(g, wire, OP_GEMM)))
        return false;
    if (s->n_products == 2 || !product_fits(g, n, s->width))
        return false;
    s->product[s->n_products++] = n;
    return !node_has_input(n, 2) || bias_take(g, n->in[2], s);
}

static bool sum_find(const struct graph *g, uint32_t wire, unsigned n_products, int64_t width,
                     struct sum *s)
{
    *s = (struct sum) { .width = width };
    return sum_take(g, wire, 0, s) && s->n_products == n_products;
}

/* ---- gates: equal parts of one tensor ---- */

struct parts {
    const struct node *split;
    unsigned at[4];
    unsigned n;
};

/* The wire is a part of the same Split as those before it. */
static bool part_take(const struct graph *g, uint32_t wire, struct parts *p)
{
    uint32_t i = wire == WIRE_NONE ? WIRE_NONE : g->wires[wire].node;
    const struct node *n = i == WIRE_NONE ? NULL : &g->nodes[i];
    if (!n || !node_is(n, OP_SPLIT) || (p->n && n != p->split) || p->n == 4)
        return false;
    p->split = n;
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] == wire)
            p->at[p->n] = k;
    for (unsigned k = 0; k < p->n; k++)
        if (p->at[k] == p->at[p->n])
            return false;
    p->n++;
    return true;
}

/* As many parts as were taken, each of `hidden` columns. */
static bool parts_even(const struct graph *g, const struct parts *p, int64_t hidden)
{
    const struct fact *f = &g->wires[p->split->in[0]].fact;
    if (p->split->n_out != p->n || f->rank != 2 || axis_normalise(axis_of(p->split), 2) != 1)
        return false;
    for (unsigned k = 0; k < p->n; k++) {
        uint32_t w = p->split->out[k];
        if (w == WIRE_NONE || !dim_is(g->wires[w].fact.shape[1], hidden))
            return false;
    }
    return true;
}

static uint32_t inner_of(const struct graph *g, uint32_t wire, enum op_id op)
{
    const struct node *n = match_op(g, wire, op);
    return n ? n->in[0] : WIRE_NONE;
}

/* ---- weights ---- */

static float weight_at(const struct node *product, const struct tensor *w, int64_t k, int64_t o)
{
    bool turned = node_is(product, OP_GEMM) && gemm_attr_of(product)->tb;
    return ((const float *) w->data)[turned ? o * w->dim[1] + k : k * w->dim[1] + o];
}

static int64_t terms_of(const struct graph *g, const struct node *product)
{
    return dim_value(g->wires[product->in[0]].fact.shape[1]);
}

/* [1, gates * hidden, terms], gate q from part at[q]. */
static struct tensor *weights_make(const struct graph *g, const struct node *product,
                                   const unsigned *at, unsigned gates, int64_t hidden)
{
    int64_t terms = terms_of(g, product), dim[3] = { 1, gates * hidden, terms };
    struct tensor *t = tensor_new(g->arena, DTYPE_F32, 3, dim);
    const struct tensor *w = match_value(g, product->in[1]);
    for (unsigned q = 0; t && q < gates; q++)
        for (int64_t j = 0; j < hidden; j++)
            for (int64_t k = 0; k < terms; k++)
                ((float *) t->data)[(q * hidden + j) * terms + k] =
                    weight_at(product, w, k, at[q] * hidden + j);
    return t;
}

static void bias_add(const struct sum *s, const unsigned *at, unsigned gates, int64_t hidden,
                     float *to)
{
    for (unsigned i = 0; i < s->n_biases; i++)
        for (unsigned q = 0; q < gates; q++)
            for (int64_t j = 0; j < hidden; j++)
                to[q * hidden + j] += ((const float *) s->bias[i]->data)[at[q] * hidden + j];
}

/* wx, wr: the sums that hold the two products; they may be one. */
static bool tensors_make(const struct graph *g, struct cell_found *c, const struct sum *sx,
                         const struct sum *sr, const struct node *px, const struct node *pr,
                         const unsigned *at_x, const unsigned *at_r)
{
    int64_t n = c->gates * c->hidden, dim[2] = { 1, 2 * n };
    c->w = weights_make(g, px, at_x, c->gates, c->hidden);
    c->r = weights_make(g, pr, at_r, c->gates, c->hidden);
    c->b = tensor_new(g->arena, DTYPE_F32, 2, dim);
    if (!c->w || !c->r || !c->b)
        return false;
    bias_add(sx, at_x, c->gates, c->hidden, c->b->data);
    if (sr != sx)
        bias_add(sr, at_r, c->gates, c->hidden, (float *) c->b->data + n);
    return true;
}

/* ---- cells ---- */

static bool is_state(const struct graph *g, uint32_t wire, const struct cell_found *c)
{
    const struct fact *f = wire == WIRE_NONE ? NULL : &g->wires[wire].fact;
    return f && f->type == DTYPE_F32 && f->rank == 2 && dim_is(f->shape[0], c->batch) &&
        dim_is(f->shape[1], c->hidden);
}

/* Which product of a sum goes on from h: the one asked for, else one whose operand is as wide as
 * the state. */
static bool sides_find(const struct graph *g, const struct sum *s, uint32_t h, struct cell_found *c,
                       int *ret_h)
{
    for (int k = 1; k >= 0; k--) {
        uint32_t w = s->product[k]->in[0];
        if (!is_state(g, w, c) || (h != WIRE_NONE && h != w))
            continue;
        c->h = w;
        c->x = s->product[1 - k]->in[0];
        *ret_h = k;
        c->inputs = terms_of(g, s->product[1 - k]);
        return dim_is(g->wires[c->x].fact.shape[0], c->batch);
    }
    return false;
}

static bool sizes_take(const struct graph *g, uint32_t next, struct cell_found *c)
{
    const struct fact *f = &g->wires[next].fact;
    if (f->type != DTYPE_F32 || f->rank != 2 || !dim_is_const(f->shape[0]) ||
        !dim_is_const(f->shape[1]))
        return false;
    c->batch = dim_value(f->shape[0]);
    c->hidden = dim_value(f->shape[1]);
    c->next_h = next;
    c->c = c->next_c = WIRE_NONE;
    return c->batch > 0 && c->hidden > 0;
}

/* c' = f * c + i * g */
static bool lstm_next_c(const struct graph *g, const struct node *sum, struct cell_found *c,
                        uint32_t gate[4])
{
    for (int k = 0; k < 2; k++) {
        const struct node *keep = match_op(g, sum->in[k], OP_MUL),
                          *add = match_op(g, match_other(sum, k), OP_MUL);
        for (int q = 0; keep && add && q < 4; q++) {
            uint32_t f = inner_of(g, keep->in[q & 1], OP_SIGMOID),
                     i = inner_of(g, add->in[q >> 1], OP_SIGMOID);
            uint32_t n = inner_of(g, match_other(add, q >> 1), OP_TANH);
            c->c = match_other(keep, q & 1);
            if (f != WIRE_NONE && i != WIRE_NONE && n != WIRE_NONE && is_state(g, c->c, c)) {
                gate[0] = i, gate[2] = f, gate[3] = n;
                return true;
            }
        }
    }
    return false;
}

/* h' = o * tanh(c') */
static bool lstm_find(const struct graph *g, const struct node *n, uint32_t h, struct cell_found *c,
                      rill_status *ret_status)
{
    for (int k = 0; node_is(n, OP_MUL) && k < 2; k++) {
        uint32_t gate[4] = { WIRE_NONE, inner_of(g, n->in[k], OP_SIGMOID), WIRE_NONE, WIRE_NONE };
        uint32_t tanh_in = inner_of(g, match_other(n, k), OP_TANH);
        const struct node *sum = match_op(g, tanh_in, OP_ADD);
        struct parts p = { .n = 0 };
        struct sum s;
        int side;
        bool found = gate[1] != WIRE_NONE && sum && lstm_next_c(g, sum, c, gate);
        for (unsigned q = 0; found && q < 4; q++)
            found = part_take(g, gate[q], &p);
        if (!found || !parts_even(g, &p, c->hidden) ||
            !sum_find(g, p.split->in[0], 2, 4 * c->hidden, &s) || !sides_find(g, &s, h, c, &side))
            continue;
        c->op = OP_LSTM;
        c->gates = 4;
        c->next_c = tanh_in;
        c->at = g->wires[tanh_in].node;
        if (tensors_make(g, c, &s, &s, s.product[1 - side], s.product[side], p.at, p.at))
            return true;
        *ret_status = RILL_NOMEM;
        return false;
    }
    return false;
}

/* sig(x part + h part): each part of its own Split */
static bool gate_pair(const struct graph *g, const struct node *sum, struct parts *px,
                      struct parts *ph)
{
    for (int k = 0; sum && k < 2; k++) {
        struct parts x = *px, h = *ph;
        if (part_take(g, sum->in[k], &x) && part_take(g, match_other(sum, k), &h)) {
            *px = x;
            *ph = h;
            return true;
        }
    }
    return false;
}

/* n = tanh(x part + r * h part) */
static bool gru_candidate(const struct graph *g, uint32_t n, struct parts *px, struct parts *ph,
                          uint32_t *ret_r)
{
    const struct node *sum = match_op(g, inner_of(g, n, OP_TANH), OP_ADD);
    for (int q = 0; sum && q < 4; q++) {
        const struct node *mul = match_op(g, sum->in[q & 1], OP_MUL);
        struct parts x = *px, h = *ph;
        if (!mul || inner_of(g, mul->in[q >> 1], OP_SIGMOID) == WIRE_NONE ||
            !part_take(g, match_other(mul, q >> 1), &h) ||
            !part_take(g, match_other(sum, q & 1), &x))
            continue;
        *ret_r = mul->in[q >> 1];
        *px = x;
        *ph = h;
        return true;
    }
    return false;
}

/* One way to write the next state; of its sum, operand k is looked at, and operands by the bits of
 * q below it. */
typedef bool gru_form(const struct graph *g, const struct node *sum, int k, int q, uint32_t *ret_z,
                      uint32_t *ret_n, uint32_t *ret_h);

/* (1 - z) * n + z * h */
static bool gru_weighted(const struct graph *g, const struct node *sum, int k, int q,
                         uint32_t *ret_z, uint32_t *ret_n, uint32_t *ret_h)
{
    const struct node *fresh = match_op(g, sum->in[k], OP_MUL),
                      *keep = match_op(g, match_other(sum, k), OP_MUL);
    const struct node *one = fresh && keep ? match_op(g, fresh->in[q & 1], OP_SUB) : NULL;
    if (!one)
        return false;
    *ret_z = keep->in[q >> 1];
    *ret_h = match_other(keep, q >> 1);
    *ret_n = match_other(fresh, q & 1);
    return match_is_number(g, one->in[0], 1) && one->in[1] == *ret_z;
}

/* n + z * (h - n) */
static bool gru_between(const struct graph *g, const struct node *sum, int k, int q,
                        uint32_t *ret_z, uint32_t *ret_n, uint32_t *ret_h)
{
    const struct node *mul = q < 2 ? match_op(g, sum->in[k], OP_MUL) : NULL;
    const struct node *sub = mul ? match_op(g, mul->in[q], OP_SUB) : NULL;
    if (!sub)
        return false;
    *ret_z = match_other(mul, q);
    *ret_h = sub->in[0];
    *ret_n = sub->in[1];
    return match_other(sum, k) == *ret_n;
}

static bool gru_next(const struct graph *g, const struct node *sum, const struct cell_found *c,
                     uint32_t *ret_z, uint32_t *ret_n, uint32_t *ret_h)
{
    static gru_form *const forms[] = { gru_weighted, gru_between };
    for (int i = 0; i < 16; i++)
        if (forms[i >> 3](g, sum, i & 1, i >> 1 & 3, ret_z, ret_n, ret_h) && is_state(g, *ret_h, c))
            return true;
    return false;
}

static bool gru_find(const struct graph *g, const struct node *sum, uint32_t h,
                     struct cell_found *c, rill_status *ret_status)
{
    static const unsigned op_order[3] = { 1, 2, 0 }; /* z, r, n were taken as n, z, r */
    struct parts px = { .n = 0 }, ph = { .n = 0 };
    struct sum sx, sh;
    uint32_t z, n, r;
    unsigned at_x[3], at_h[3];
    if (!node_is(sum, OP_ADD) || !gru_next(g, sum, c, &z, &n, &c->h) ||
        (h != WIRE_NONE && c->h != h) || !gru_candidate(g, n, &px, &ph, &r) ||
        !gate_pair(g, match_op(g, inner_of(g, z, OP_SIGMOID), OP_ADD), &px, &ph) ||
        !gate_pair(g, match_op(g, inner_of(g, r, OP_SIGMOID), OP_ADD), &px, &ph) ||
        px.split == ph.split)
        return false;
    if (!parts_even(g, &px, c->hidden) || !parts_even(g, &ph, c->hidden) ||
        !sum_find(g, px.split->in[0], 1, 3 * c->hidden, &sx) ||
        !sum_find(g, ph.split->in[0], 1, 3 * c->hidden, &sh) || sh.product[0]->in[0] != c->h)
        return false;
    for (int q = 0; q < 3; q++) {
        at_x[q] = px.at[op_order[q]];
        at_h[q] = ph.at[op_order[q]];
    }
    c->op = OP_GRU;
    c->gates = 3;
    c->x = sx.product[0]->in[0];
    c->inputs = terms_of(g, sx.product[0]);
    c->at = g->wires[c->next_h].node;
    if (!dim_is(g->wires[c->x].fact.shape[0], c->batch))
        return false;
    if (!tensors_make(g, c, &sx, &sh, sx.product[0], sh.product[0], at_x, at_h))
        *ret_status = RILL_NOMEM;
    return *ret_status == RILL_OK;
}

static bool rnn_find(const struct graph *g, const struct node *n, uint32_t h, struct cell_found *c,
                     rill_status *ret_status)
{
    static const unsigned at[1] = { 0 };
    struct sum s;
    int side;
    if (h == WIRE_NONE || !node_is(n, OP_TANH) || !sum_find(g, n->in[0], 2, c->hidden, &s) ||
        !sides_find(g, &s, h, c, &side))
        return false;
    c->op = OP_RNN;
    c->gates = 1;
    c->at = g->wires[c->next_h].node;
    if (!tensors_make(g, c, &s, &s, s.product[1 - side], s.product[side], at, at))
        *ret_status = RILL_NOMEM;
    return *ret_status == RILL_OK;
}

bool cell_find(const struct graph *g, uint32_t i, uint32_t h, struct cell_found *ret,
               rill_status *ret_status)
{
    const struct node *n = &g->nodes[i];
    *ret_status = RILL_OK;
    if (n->n_out != 1 || n->out[0] == WIRE_NONE || n->n_body || !sizes_take(g, n->out[0], ret))
        return false;
    ret->last = i;
    return lstm_find(g, n, h, ret, ret_status) ||
        (*ret_status == RILL_OK && gru_find(g, n, h, ret, ret_status)) ||
        (*ret_status == RILL_OK && rnn_find(g, n, h, ret, ret_status));
}
