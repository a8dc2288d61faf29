/* SPDX-License-Identifier: MIT */
#include "tests/pulse/scan_cells.h"

#include <string.h>

const char *const scan_cell_names[N_SCAN_CELLS] = { "RNN", "GRU", "LSTM" };

static const int gates[N_SCAN_CELLS] = { 1, 3, 4 };

static uint32_t add(struct gb *b, uint32_t x, uint32_t y)
{
    return GB(b, "Add", "", x, y);
}
static uint32_t mul(struct gb *b, uint32_t x, uint32_t y)
{
    return GB(b, "Mul", "", x, y);
}
static uint32_t sigmoid(struct gb *b, uint32_t x)
{
    return GB(b, "Sigmoid", "", x);
}
static uint32_t hyperbolic(struct gb *b, uint32_t x)
{
    return GB(b, "Tanh", "", x);
}

static uint32_t gru(struct gb *b, const struct scan_layer *l, uint32_t xw, uint32_t h)
{
    uint32_t x[3], r[3];
    gb_split(b, xw, 3, l->hidden, x);
    gb_split(b,
             add(b, GB(b, "MatMul", "", h, gb_weights(b, 2, l->hidden, 3 * l->hidden)),
                 gb_weights(b, 1, 3 * l->hidden)),
             3, l->hidden, r);
    uint32_t z = sigmoid(b, add(b, x[0], r[0])), reset = sigmoid(b, add(b, x[1], r[1]));
    uint32_t n = hyperbolic(b, add(b, x[2], mul(b, reset, r[2])));
    return add(b, mul(b, GB(b, "Sub", "", gb_scalar(b, 1), z), n), mul(b, z, h));
}

static uint32_t lstm(struct gb *b, const struct scan_layer *l, uint32_t xw, uint32_t h, uint32_t c,
                     uint32_t *ret_c)
{
    uint32_t g[4];
    gb_split(b, add(b, xw, GB(b, "MatMul", "", h, gb_weights(b, 2, l->hidden, 4 * l->hidden))), 4,
             l->hidden, g);
    *ret_c = add(b, mul(b, sigmoid(b, g[2]), c), mul(b, sigmoid(b, g[0]), hyperbolic(b, g[3])));
    return mul(b, sigmoid(b, g[1]), hyperbolic(b, *ret_c));
}

static uint32_t extras(struct gb *b, const struct scan_layer *l, uint32_t x)
{
    uint32_t gain = gb_body_input(b, "gain");
    gain = GB(b, "Relu", "", add(b, gain, gb_full(b, 0.25f, 1, l->inputs)));
    return GB(b, "Neg", "", mul(b, x, gain));
}

static uint32_t layer(struct gb *b, const struct scan_layer *l, uint32_t x, int inputs)
{
    struct gb body;
    const int64_t axis = l->turned, back = l->back;
    bool has_c = l->cell == SCAN_LSTM;
    gb_body(&body, b, "step");
    uint32_t h = gb_body_input(&body, "h"), c = has_c ? gb_body_input(&body, "c") : WIRE_NONE, next,
             next_c = WIRE_NONE;
    uint32_t xt = gb_body_input(&body, "x");
    if (l->extra)
        xt = extras(&body, l, xt);
    uint32_t xw =
        GB(&body, "MatMul", "", xt, gb_weights(&body, 2, inputs, gates[l->cell] * l->hidden));
    xw = add(&body, xw, gb_weights(&body, 1, gates[l->cell] * l->hidden));
    if (l->cell == SCAN_GRU)
        next = gru(&body, l, xw, h);
    else if (has_c)
        next = lstm(&body, l, xw, h, c, &next_c);
    else
        next =
            hyperbolic(&body,
                       add(&body, xw,
                           GB(&body, "MatMul", "", h, gb_weights(&body, 2, l->hidden, l->hidden))));
    gb_output(&body, next);
    if (has_c)
        gb_output(&body, next_c);
    uint32_t y = next;
    if (l->project)
        y = sigmoid(&body,
                    add(&body,
                        GB(&body, "MatMul", "", next, gb_weights(&body, 2, l->hidden, l->project)),
                        xt));
    gb_output(&body, y);
    const struct gb_scan at = SCAN_OF(1 + has_c, 1, 1, .in_axes = &axis, .out_axes = &axis,
                                      .in_reverse = &back, .out_reverse = &back);
    uint32_t in[4] = { gb_weights(b, 2, 1, l->hidden) };
    if (has_c)
        in[1] = gb_weights(b, 2, 1, l->hidden);
    in[1 + has_c] = x;
    in[2 + has_c] = l->extra ? gb_weights(b, 1, l->inputs) : WIRE_NONE;
    struct node *n = gb_scan(b, &body, &at, in, 2u + has_c + l->extra);
    return n ? n->out[1 + has_c] : WIRE_NONE;
}

void scan_layer_recipe(struct gb *b, const void *ctx)
{
    const struct scan_layer *l = ctx;
    uint32_t x = l->turned ? gb_input(b, "x", 3, 1, l->steps, l->inputs)
                           : gb_input(b, "x", 3, l->steps, 1, l->inputs);
    int inputs = l->inputs;
    for (int i = 0; i < (l->layers ? l->layers : 1); i++) {
        x = layer(b, l, x, inputs);
        inputs = l->project ? l->project : l->hidden;
    }
    gb_output(b, x);
}

unsigned graph_count_op(const struct graph *g, const char *op)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        n += !strcmp(g->nodes[i].op->name, op);
        for (unsigned k = 0; k < g->nodes[i].n_body; k++)
            n += graph_count_op(g->nodes[i].body[k], op);
    }
    return n;
}

unsigned scan_products(const struct graph *g)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_body; k++)
            n += graph_count_op(g->nodes[i].body[k], "MatMul") +
                graph_count_op(g->nodes[i].body[k], "Gemm");
    return n;
}
