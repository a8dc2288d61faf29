/* SPDX-License-Identifier: MIT */
#include "tools/inspect_bytes.h"

#include <stdio.h>

#define NAMES_MAX 8

/* Ops that multiply by weights. */
static const enum op_id products[] = { OP_CONV, OP_CONV_TRANSPOSE, OP_EINSUM, OP_GEMM,
                                       OP_GRU,  OP_LSTM,           OP_MATMUL, OP_RNN };
static const enum op_id whole[] = { OP_CONV_INTEGER, OP_DYNAMIC_QUANTIZE_LSTM, OP_MATMUL_INTEGER };

#define IS_AMONG(n, ids) node_is_among(n, ids, sizeof ids / sizeof *ids)

/* A cell that keeps its weights in bytes. */
static bool has_bytes(const struct graph *g, const struct node *n)
{
    static const enum op_id cells[] = { OP_GRU, OP_LSTM, OP_RNN };
    return IS_AMONG(n, cells) && node_has_input(n, 1) && g->wires[n->in[1]].fact.type == DTYPE_I8;
}

static bool is_dequantised(const struct graph *g, const struct node *n)
{
    bool is = false;
    for (unsigned k = 0; k < n->n_in; k++) {
        const struct wire *w = n->in[k] == WIRE_NONE ? NULL : &g->wires[n->in[k]];
        is |= w && w->node < g->n_nodes && node_is(&g->nodes[w->node], OP_DEQUANTIZE_LINEAR);
        is |= w && w->fact.value && w->fact.value->from;
    }
    return is;
}

struct counts {
    unsigned whole, real;
};

static void graph_count(const struct graph *g, struct counts *c, bool names)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        c->whole += IS_AMONG(n, whole) || has_bytes(g, n);
        if (IS_AMONG(n, products) && is_dequantised(g, n)) {
            if (names && c->real < NAMES_MAX)
                printf("%s '%.60s' (%s)", c->real ? "," : "", n->name, n->op->name);
            c->real++;
        }
        for (unsigned k = 0; k < n->n_body; k++)
            graph_count(n->body[k], c, names);
    }
}

void inspect_bytes(const struct graph *g)
{
    struct counts c = { 0 }, again = { 0 };
    graph_count(g, &c, false);
    if (!c.whole && !c.real)
        return;
    printf("  products: %u of bytes", c.whole);
    if (c.real) {
        printf(", %u of dequantised floats:", c.real);
        graph_count(g, &again, true);
        printf("%s", c.real > NAMES_MAX ? ", ..." : "");
    }
    putchar('\n');
}
