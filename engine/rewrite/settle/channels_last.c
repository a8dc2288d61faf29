/* SPDX-License-Identifier: MIT */
/* Convolutions between bytes that follow each other, and what stands between them, keep their
 * channels last: windows are bytes that lie side by side, and so are the outputs of a place. Bytes
 * are turned where such a part of the graph begins and ends. The same numbers. */
#include "engine/ops/byte.h"
#include "engine/ops/quant_product.h"
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/rewrite/settle/turned.h"

#include <string.h>

#define OUTPUTS_MIN 32 /* fewer leave lanes empty, or are soon summed */

/* ---- what fits ---- */

/* One known number, a list of the same one, or none. */
static bool zero_known(const struct graph *g, const struct node *n, unsigned i, int64_t *ret)
{
    const struct tensor *t = node_value(g, n, i);
    const int64_t count = t ? tensor_count(t) : 0;
    bool same = count > 0;
    *ret = same ? tensor_get_i64(t, t->data, 0) : 0;
    for (int64_t k = 1; k < count && same; k++)
        same = tensor_get_i64(t, t->data, k) == *ret;
    return !node_has_input(n, i) || same;
}

static bool conv_fits(const struct graph *g, const struct node *n)
{
    const struct conv_integer_attr *a = n->attr;
    const struct tensor *w;
    struct window window;
    int64_t zero;
    if (!node_is(n, OP_CONV_INTEGER) || !a->y.to || !(w = node_value(g, n, PRODUCT_W)) ||
        w->rank != 4 || w->dim[0] < OUTPUTS_MIN ||
        !turned_window(g, n, &a->conv.w, SAME_CONV, w->dim + 2, &window))
        return false;
    return zero_known(g, n, PRODUCT_X_ZERO, &zero) && zero_known(g, n, PRODUCT_W_ZERO, &zero) &&
        (a->conv.group == 1 || w->dim[1] == 1);
}

static bool pool_fits(const struct graph *g, const struct node *n)
{
    const struct pool_attr *a = n->attr;
    struct window w;
    struct tensor x, y;
    if (!node_is(n, OP_MAX_POOL) || n->n_out != 1 || a->w.kernel.n != 2 ||
        !turned_image(g, n->in[0], &x) || !turned_image(g, n->out[0], &y) ||
        (x.type != DTYPE_U8 && x.type != DTYPE_I8) ||
        !turned_window(g, n, &a->w, SAME_POOL, a->w.kernel.v, &w))
        return false;
    for (int i = 0; i < 2; i++) {
        const int64_t room = x.dim[2 + i] + w.before[i] + w.after[i] - w.kernel[i];
        if (w.dilation[i] != 1 || w.before[i] >= w.kernel[i] || w.after[i] >= w.kernel[i] ||
            room < 0 || room / w.stride[i] + 1 != y.dim[2 + i])
            return false;
    }
    return true;
}

static bool tables_fit(const struct graph *g, const struct node *n)
{
    struct tensor y;
    return node_is(n, OP_BYTE_TABLES) && turned_image(g, n->out[0], &y) &&
        ((const struct byte_tables_attr *) n->attr)->axis == 1;
}

/* ---- convolutions ---- */

/* [outputs, channels, rows, columns] with the channels last; depthwise: the outputs. */
static const struct tensor *weights_turned(struct arena *a, const struct tensor *w, bool depthwise)
{
    const int64_t n = w->dim[0], c = w->dim[1], places = w->dim[2] * w->dim[3];
    const int64_t full[] = { n, w->dim[2], w->dim[3], c }, deep[] = { 1, w->dim[2], w->dim[3], n };
    struct tensor *y = tensor_new(a, w->type, 4, depthwise ? deep : full);
    const uint8_t *from = w->data;
    for (int64_t o = 0; y && o < n; o++)
        for (int64_t i = 0; i < c; i++)
            for (int64_t k = 0; k < places; k++)
                ((uint8_t *) y->data)[depthwise ? k * n + o : (o * places + k) * c + i] = *from++;
    return y;
}

/* Four bytes for each output. */
static uint32_t list_of(struct graph *g, const struct node *n, unsigned i, int64_t outputs)
{
    const struct tensor *t = node_value(g, n, i);
    if (!t)
        return WIRE_NONE;
    struct tensor *y = tensor_new(g->arena, t->type, 1, &outputs);
    for (int64_t o = 0; y && o < outputs; o++)
        memcpy((int32_t *) y->data + o, (const int32_t *) t->data + (tensor_count(t) > 1 ? o : 0),
               sizeof(int32_t));
    return y ? graph_add_const(g, n->name, y) : WIRE_NONE;
}

static bool conv_turn(struct turned *t, uint32_t i)
{
    struct graph *g = t->e.g;
    const struct node n = g->nodes[i];
    const struct conv_integer_attr *from = n.attr;
    const struct tensor *w = node_value(g, &n, PRODUCT_W);
    struct byte_conv_attr *a = arena_new(g->arena, struct byte_conv_attr);
    const bool deep = from->conv.group > 1;
    struct window window;
    const struct tensor *turned = weights_turned(g->arena, w, deep);
    if (!a || !turned || !turned_ready(t, i) ||
        !turned_window(g, &n, &from->conv.w, SAME_CONV, w->dim + 2, &window))
        return false;
    *a = (struct byte_conv_attr) {
        .w = { .strides = turned_pair(g->arena, window.stride[0], window.stride[1]),
               .dilations = turned_pair(g->arena, window.dilation[0], window.dilation[1]),
               .pads = turned_pads(g->arena, &window) },
        .depthwise = deep,
        .leaky = from->y.leaky,
        .y = { from->y.to, from->y.zero, from->y.low, from->y.high },
    };
    zero_known(g, &n, PRODUCT_X_ZERO, &a->x_zero);
    zero_known(g, &n, PRODUCT_W_ZERO, &a->w_zero);
    uint32_t in[] = { t->last[n.in[PRODUCT_X]], graph_add_const(g, n.name, turned),
                      list_of(g, &n, PRODUCT_BIAS, w->dim[0]),
                      list_of(g, &n, PRODUCT_BY, w->dim[0]),
                      list_of(g, &n, PRODUCT_ADD, w->dim[0]) };
    const bool has[] = { true, true, node_has_input(&n, PRODUCT_BIAS), true,
                         node_has_input(&n, PRODUCT_ADD) };
    for (unsigned k = 0; k < 5; k++)
        if (has[k] && in[k] == WIRE_NONE)
            return false;
    return a->w.strides.v && a->w.dilations.v && a->w.pads.v &&
        turned_put(t, i, op_by_id(OP_BYTE_CONV), a, in, has[4] ? 5 : 4);
}

/* ---- what stands between ---- */

static bool pool_turn(struct turned *t, uint32_t i)
{
    struct graph *g = t->e.g;
    const struct node n = g->nodes[i];
    const struct pool_attr *from = n.attr;
    const enum dtype type = g->wires[n.in[0]].fact.type;
    struct byte_pool_attr *a = arena_new(g->arena, struct byte_pool_attr);
    struct window w;
    if (!a || !turned_window(g, &n, &from->w, SAME_POOL, from->w.kernel.v, &w))
        return false;
    *a = (struct byte_pool_attr) {
        .w = { .kernel = from->w.kernel,
               .strides = turned_pair(g->arena, w.stride[0], w.stride[1]),
               .pads = turned_pads(g->arena, &w) },
        .y = { .low = type == DTYPE_I8 ? -128 : 0, .high = type == DTYPE_I8 ? 127 : 255 },
    };
    return a->w.strides.v && a->w.pads.v &&
        turned_put(t, i, op_by_id(OP_BYTE_POOL), a, &t->last[n.in[0]], 1);
}

static bool tables_turn(struct turned *t, uint32_t i)
{
    struct graph *g = t->e.g;
    const struct node n = g->nodes[i];
    struct byte_tables_attr *a = arena_new(g->arena, struct byte_tables_attr);
    const uint32_t in[] = { t->last[n.in[0]], n.in[1] };
    if (!a)
        return false;
    a->axis = 3;
    return turned_put(t, i, n.op, a, in, 2);
}

static bool node_turn(struct turned *t, uint32_t i)
{
    const struct graph *g = t->e.g;
    const struct node *n = &g->nodes[i];
    const bool there = turned_is_there(t, n), wanted = turned_is_wanted(t, n);
    if (conv_fits(g, n) && (there || wanted))
        return conv_turn(t, i);
    if (there && pool_fits(g, n))
        return pool_turn(t, i);
    if (there && wanted && tables_fit(g, n))
        return tables_turn(t, i);
    return turned_rest(t, i);
}

/* Wires that such convolutions read, from the last node to the first. */
static void wanted_set(struct turned *t)
{
    const struct graph *g = t->e.g;
    for (uint32_t i = t->e.n_nodes; i-- > 0;) {
        const struct node *n = &g->nodes[i];
        const bool wanted = turned_is_wanted(t, n);
        if (conv_fits(g, n))
            t->wanted[n->in[PRODUCT_X]] = true;
        else if (wanted && tables_fit(g, n))
            t->wanted[n->in[0]] = true;
        else if (wanted && (pool_fits(g, n) || turned_elements_fit(g, n)))
            turned_want_inputs(t, n);
    }
}

rill_status graph_with_channels_last(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    return graph_with_parts_turned(ret, g, wanted_set, node_turn, reterr);
}
