/* SPDX-License-Identifier: MIT */
#include "tools/inspect_bytes.h"
#include "engine/rewrite/declutter/declutter.h"

#include <stdio.h>

/* Ops that multiply by weights. */
static const enum op_id products[] = { OP_CONV, OP_CONV_TRANSPOSE, OP_EINSUM, OP_GEMM,
                                       OP_GRU,  OP_LSTM,           OP_MATMUL, OP_RNN };
static const enum op_id whole[] = { OP_BYTE_CONV, OP_CONV_INTEGER, OP_DYNAMIC_QUANTIZE_LSTM,
                                    OP_MATMUL_INTEGER };

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

static unsigned whole_count(const struct graph *g)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n += IS_AMONG(&g->nodes[i], whole) || has_bytes(g, &g->nodes[i]);
        for (unsigned k = 0; k < g->nodes[i].n_body; k++)
            n += whole_count(g->nodes[i].body[k]);
    }
    return n;
}

/* Returns how many products there are of floats that were dequantised. */
static unsigned real_print(const struct graph *g, bool names)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *p = &g->nodes[i];
        if (IS_AMONG(p, products) && is_dequantised(g, p)) {
            if (names)
                printf("    '%.60s' (%s): %s\n", p->name, p->op->name, product_stays_real(g, p));
            n++;
        }
        for (unsigned k = 0; k < p->n_body; k++)
            n += real_print(p->body[k], names);
    }
    return n;
}

/* Of one op, those that are no products and read or move dequantised floats. */
static unsigned others_count(const struct graph *g, enum op_id op)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *o = &g->nodes[i];
        n += node_is(o, op) && is_dequantised(g, o);
        for (unsigned k = 0; k < o->n_body; k++)
            n += others_count(o->body[k], op);
    }
    return n;
}

static void others_print(const struct graph *g)
{
    const char *before = "  other nodes of dequantised floats: ";
    for (enum op_id op = OP_NONE + 1; op < OP_COUNT; op++) {
        struct node of = { .op = op_by_id(op) };
        unsigned n = IS_AMONG(&of, products) ? 0 : others_count(g, op);
        if (n)
            printf("%s%u %s", before, n, of.op->name);
        before = n ? ", " : before;
    }
    if (*before == ',')
        putchar('\n');
}

void inspect_bytes(const struct graph *g)
{
    unsigned bytes = whole_count(g), real = real_print(g, false);
    if (bytes || real)
        printf("  products: %u of bytes, %u of dequantised floats\n", bytes, real);
    real_print(g, true);
    others_print(g);
}
