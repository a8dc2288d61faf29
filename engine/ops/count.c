/* SPDX-License-Identifier: MIT */
#include "engine/ops/count.h"
#include "engine/ops/attrs.h"
#include "engine/ops/einsum.h"

uint64_t count_times(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

uint64_t count_plus(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

static bool size_of(const struct graph *g, uint32_t w, struct tensor *ret)
{
    *ret = (struct tensor) { .rank = -1 };
    return w == WIRE_NONE || fact_to_tensor(&g->wires[w].fact, ret);
}

bool node_sizes_of(const struct graph *g, const struct node *n, struct node_sizes *ret)
{
    bool known = size_of(g, n->n_out ? n->out[0] : WIRE_NONE, &ret->out);
    for (unsigned i = 0; i < COUNT_INPUTS; i++)
        known &= size_of(g, i < n->n_in ? n->in[i] : WIRE_NONE, &ret->in[i]);
    return known;
}

uint64_t sizes_product(const struct tensor *t, int first)
{
    uint64_t n = 1;
    for (int i = first; i < t->rank; i++)
        n = count_times(n, (uint64_t) t->dim[i]);
    return n;
}

/* ---- one node ---- */

/* Of Winograd's products: six for each tile of up to four outputs. */
static uint64_t winograd_count(const struct node_sizes *s, unsigned weights, int axis)
{
    const uint64_t tiles = ((uint64_t) s->out.dim[axis] + 3) / 4,
                   all = count_times(sizes_product(&s->out, 0), sizes_product(&s->in[weights], 1));
    return tiles ? all / (uint64_t) s->out.dim[axis] / 3 * tiles * 6 : 0;
}

static uint64_t conv_count(const struct node *n, const struct node_sizes *s, unsigned weights)
{
    if (node_is(n, OP_CONV) && conv_attr_of(n)->winograd)
        return winograd_count(s, weights, (int) conv_attr_of(n)->winograd);
    return count_times(sizes_product(&s->out, 0), sizes_product(&s->in[weights], 1));
}

static uint64_t conv_transpose_count(const struct node *n, const struct node_sizes *s,
                                     unsigned weights)
{
    (void) n;
    return count_times(sizes_product(&s->in[0], 0), sizes_product(&s->in[weights], 1));
}

/* All weights at each place of the result, depthwise or not. */
static uint64_t byte_conv_count(const struct node *n, const struct node_sizes *s, unsigned weights)
{
    (void) n;
    uint64_t outputs = (uint64_t) s->out.dim[3];
    return outputs
        ? count_times(sizes_product(&s->out, 0) / outputs, sizes_product(&s->in[weights], 0))
        : 0;
}

static uint64_t matmul_count(const struct node *n, const struct node_sizes *s, unsigned other)
{
    (void) n, (void) other;
    return count_times(sizes_product(&s->out, 0), sizes_product(&s->in[0], s->in[0].rank - 1));
}

/* Weights [terms, outputs], each used once an image. */
static uint64_t image_count(const struct node *n, const struct node_sizes *s, unsigned weights)
{
    (void) n;
    return count_times((uint64_t) s->in[0].dim[0], sizes_product(&s->in[weights], 0));
}

static uint64_t gemm_count(const struct node *n, const struct node_sizes *s, unsigned other)
{
    (void) other;
    return count_times(sizes_product(&s->out, 0),
                       (uint64_t) s->in[0].dim[gemm_attr_of(n)->ta ? 0 : 1]);
}

static uint64_t einsum_count(const struct node *n, const struct node_sizes *s, unsigned other)
{
    uint64_t count = 0;
    (void) other;
    return n->n_in <= COUNT_INPUTS && einsum_loops(n, s->in, &count) ? count : 0;
}

/* Weights [directions, gates, inputs] and [directions, gates, hidden], each used once a step. */
static uint64_t cell_count(const struct node *n, const struct node_sizes *s, unsigned weights)
{
    (void) n;
    const struct tensor *x = &s->in[0], *w = &s->in[weights];
    uint64_t each = count_plus(sizes_product(w, 0), sizes_product(w + 1, 0)), steps = 1;
    for (int i = 0; i < x->rank - 1; i++)
        steps = count_times(steps, (uint64_t) x->dim[i]);
    return count_times(steps, each);
}

static const struct counted {
    enum op_id op;
    uint64_t (*count)(const struct node *, const struct node_sizes *, unsigned weights);
    unsigned weights; /* input that has them */
} counted[] = {
    { OP_CONV, conv_count, 1 },
    { OP_CONV_TRANSPOSE, conv_transpose_count, 1 },
    { OP_MATMUL, matmul_count, 1 },
    { OP_GEMM, gemm_count, 1 },
    { OP_EINSUM, einsum_count, 1 },
    { OP_GRU, cell_count, 1 },
    { OP_LSTM, cell_count, 1 },
    { OP_RNN, cell_count, 1 },
    { OP_CONV_INTEGER, conv_count, 1 },
    { OP_MATMUL_INTEGER, matmul_count, 1 },
    { OP_BYTE_CONV, byte_conv_count, 1 },
    { OP_DYNAMIC_QUANTIZE_LSTM, cell_count, 1 },
    { OP_MATMUL_NARROW, matmul_count, 1 },
    { OP_CONV_NARROW, image_count, 1 },
    { OP_CONV_LAST, conv_count, 1 },
};

static const struct counted *counted_find(const struct op *op)
{
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (counted[i].op == op->id)
            return &counted[i];
    return NULL;
}

bool op_multiplies(const struct op *op)
{
    return counted_find(op) != NULL;
}

bool node_multiply_adds(const struct node *n, const struct node_sizes *s, uint64_t *ret)
{
    const struct counted *k = counted_find(n->op);
    if (k)
        *ret = k->count(n, s, k->weights);
    return k != NULL;
}
