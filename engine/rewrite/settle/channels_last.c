/* SPDX-License-Identifier: MIT */
/* Convolutions between bytes that follow each other, and what stands between them, keep their
 * channels last: windows are bytes that lie side by side, and so are the outputs of a place. Bytes
 * are turned where such a part of the graph begins and ends. The same numbers. */
#include "engine/graph/edit.h"
#include "engine/ops/byte.h"
#include "engine/ops/quant_product.h"
#include "engine/ops/window.h"
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/passes.h"

#include <string.h>

#define OUTPUTS_MIN 32 /* fewer leave lanes empty, or are soon summed */

/* For each old wire: the one with its channels last; whether anybody makes it as it was; whether
 * such a convolution reads it, or what is made of it. */
struct parts {
    struct edit e;
    uint32_t *last;
    bool *made, *wanted;
};

static const int64_t to_last[] = { 0, 2, 3, 1 }, to_first[] = { 0, 3, 1, 2 };

static rill_status no_memory(rill_error *reterr)
{
    return err_set(reterr, RILL_NOMEM, "out of memory");
}

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

/* Sizes of four axes. */
static bool image_known(const struct graph *g, uint32_t wire, struct tensor *ret)
{
    return wire != WIRE_NONE && fact_to_tensor(&g->wires[wire].fact, ret) && ret->rank == 4 &&
        tensor_count(ret);
}

static bool window_known(const struct graph *g, const struct node *n, const struct window_attr *a,
                         enum same_kind kind, const int64_t *kernel, struct window *ret)
{
    struct tensor x, y;
    if (!image_known(g, n->in[0], &x) || !image_known(g, n->out[0], &y))
        return false;
    window_fix(a, kind, ret, kernel, &x, &y);
    return ret->before[0] >= 0 && ret->before[1] >= 0 && ret->after[0] >= 0 && ret->after[1] >= 0;
}

static bool conv_fits(const struct graph *g, const struct node *n)
{
    const struct conv_integer_attr *a = n->attr;
    const struct tensor *w;
    struct window window;
    int64_t zero;
    if (!node_is(n, OP_CONV_INTEGER) || !a->y.to || !(w = node_value(g, n, PRODUCT_W)) ||
        w->rank != 4 || w->dim[0] < OUTPUTS_MIN ||
        !window_known(g, n, &a->conv.w, SAME_CONV, w->dim + 2, &window))
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
        !image_known(g, n->in[0], &x) || !image_known(g, n->out[0], &y) ||
        (x.type != DTYPE_U8 && x.type != DTYPE_I8) ||
        !window_known(g, n, &a->w, SAME_POOL, a->w.kernel.v, &w))
        return false;
    for (int i = 0; i < 2; i++) {
        const int64_t room = x.dim[2 + i] + w.before[i] + w.after[i] - w.kernel[i];
        if (w.dilation[i] != 1 || w.before[i] >= w.kernel[i] || w.after[i] >= w.kernel[i] ||
            room < 0 || room / w.stride[i] + 1 != y.dim[2 + i])
            return false;
    }
    return true;
}

static bool is_single(const struct graph *g, uint32_t wire)
{
    const struct tensor *t = wire == WIRE_NONE ? NULL : g->wires[wire].fact.value;
    return wire == WIRE_NONE || (t && tensor_count(t) == 1);
}

/* Element by element, of tensors of one shape and single numbers. */
static bool elements_fit(const struct graph *g, const struct node *n)
{
    const bool quant = node_is(n, OP_QUANTIZE_LINEAR) || node_is(n, OP_DEQUANTIZE_LINEAR);
    struct tensor x, y;
    unsigned images = 0;
    if ((!quant && !(n->op->flags & OP_POINTWISE)) || n->n_out != 1 ||
        !image_known(g, n->out[0], &y))
        return false;
    for (unsigned k = 0; k < n->n_in; k++) {
        if (is_single(g, n->in[k]))
            continue;
        if (!image_known(g, n->in[k], &x) || g->wires[n->in[k]].fact.value ||
            memcmp(x.dim, y.dim, sizeof x.dim[0] * 4))
            return false;
        images++;
    }
    return images && (!quant || images == 1);
}

static bool tables_fit(const struct graph *g, const struct node *n)
{
    struct tensor y;
    return node_is(n, OP_BYTE_TABLES) && image_known(g, n->out[0], &y) &&
        ((const struct byte_tables_attr *) n->attr)->axis == 1;
}

/* ---- wires ---- */

static uint32_t wire_turned(struct graph *g, uint32_t of, const int64_t *perm)
{
    struct fact f = g->wires[of].fact;
    for (int i = 0; i < 4; i++)
        f.shape[i] = g->wires[of].fact.shape[perm[i]];
    f.value = NULL;
    return graph_add_wire(g, g->wires[of].name, &f);
}

static bool turn_put(struct parts *p, uint32_t before, uint32_t from, uint32_t to,
                     const int64_t *perm)
{
    struct transpose_attr *a = arena_new(p->e.g->arena, struct transpose_attr);
    if (!a || to == WIRE_NONE)
        return false;
    a->perm = (struct attr_ints) { 4, perm };
    return edit_insert(&p->e, before, op_by_id(OP_TRANSPOSE), a, &from, 1, &to, 1);
}

/* The wire with its channels last, turned in front of the node where there is none. */
static bool last_ready(struct parts *p, uint32_t node, uint32_t wire)
{
    if (p->last[wire] != WIRE_NONE)
        return true;
    p->last[wire] = wire_turned(p->e.g, wire, to_last);
    return turn_put(p, node, wire, p->last[wire], to_last);
}

static bool first_ready(struct parts *p, uint32_t node, uint32_t wire)
{
    if (p->made[wire])
        return true;
    p->made[wire] = true;
    return turn_put(p, node, p->last[wire], wire, to_first);
}

/* A node that writes the wire with its channels last, in the place of an old one. */
static bool node_put(struct parts *p, uint32_t node, const struct op *op, const void *attr,
                     const uint32_t *in, unsigned n_in)
{
    struct graph *g = p->e.g;
    const uint32_t y = g->nodes[node].out[0];
    p->last[y] = wire_turned(g, y, to_last);
    p->made[y] = false;
    p->e.gone[node] = true;
    g->wires[y].node = WIRE_NONE;
    return p->last[y] != WIRE_NONE &&
        edit_insert(&p->e, node, op, attr, in, n_in, &p->last[y], 1) &&
        (!wire_leaves(g, y) || first_ready(p, node, y));
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

static struct attr_ints pair_of(struct arena *a, int64_t first, int64_t second)
{
    const int64_t v[] = { first, second };
    return (struct attr_ints) { 2, arena_copy(a, v, sizeof v) };
}

static struct attr_ints pads_of(struct arena *a, const struct window *w)
{
    const int64_t v[] = { w->before[0], w->before[1], w->after[0], w->after[1] };
    return (struct attr_ints) { 4, arena_copy(a, v, sizeof v) };
}

static bool conv_turn(struct parts *p, uint32_t i)
{
    struct graph *g = p->e.g;
    const struct node n = g->nodes[i];
    const struct conv_integer_attr *from = n.attr;
    const struct tensor *w = node_value(g, &n, PRODUCT_W);
    struct byte_conv_attr *a = arena_new(g->arena, struct byte_conv_attr);
    const bool deep = from->conv.group > 1;
    struct window window;
    const struct tensor *turned = weights_turned(g->arena, w, deep);
    if (!a || !turned || !last_ready(p, i, n.in[PRODUCT_X]) ||
        !window_known(g, &n, &from->conv.w, SAME_CONV, w->dim + 2, &window))
        return false;
    *a = (struct byte_conv_attr) {
        .w = { .strides = pair_of(g->arena, window.stride[0], window.stride[1]),
               .dilations = pair_of(g->arena, window.dilation[0], window.dilation[1]),
               .pads = pads_of(g->arena, &window) },
        .depthwise = deep,
        .leaky = from->y.leaky,
        .y = { from->y.to, from->y.zero, from->y.low, from->y.high },
    };
    zero_known(g, &n, PRODUCT_X_ZERO, &a->x_zero);
    zero_known(g, &n, PRODUCT_W_ZERO, &a->w_zero);
    uint32_t in[] = { p->last[n.in[PRODUCT_X]], graph_add_const(g, n.name, turned),
                      list_of(g, &n, PRODUCT_BIAS, w->dim[0]),
                      list_of(g, &n, PRODUCT_BY, w->dim[0]),
                      list_of(g, &n, PRODUCT_ADD, w->dim[0]) };
    const bool has[] = { true, true, node_has_input(&n, PRODUCT_BIAS), true,
                         node_has_input(&n, PRODUCT_ADD) };
    for (unsigned k = 0; k < 5; k++)
        if (has[k] && in[k] == WIRE_NONE)
            return false;
    return a->w.strides.v && a->w.dilations.v && a->w.pads.v &&
        node_put(p, i, op_by_id(OP_BYTE_CONV), a, in, has[4] ? 5 : 4);
}

/* ---- what stands between ---- */

static bool pool_turn(struct parts *p, uint32_t i)
{
    struct graph *g = p->e.g;
    const struct node n = g->nodes[i];
    const struct pool_attr *from = n.attr;
    const enum dtype type = g->wires[n.in[0]].fact.type;
    struct byte_pool_attr *a = arena_new(g->arena, struct byte_pool_attr);
    struct window w;
    if (!a || !window_known(g, &n, &from->w, SAME_POOL, from->w.kernel.v, &w))
        return false;
    *a = (struct byte_pool_attr) {
        .w = { .kernel = from->w.kernel,
               .strides = pair_of(g->arena, w.stride[0], w.stride[1]),
               .pads = pads_of(g->arena, &w) },
        .y = { .low = type == DTYPE_I8 ? -128 : 0, .high = type == DTYPE_I8 ? 127 : 255 },
    };
    return a->w.strides.v && a->w.pads.v &&
        node_put(p, i, op_by_id(OP_BYTE_POOL), a, &p->last[n.in[0]], 1);
}

static bool elements_turn(struct parts *p, uint32_t i)
{
    struct graph *g = p->e.g;
    const struct node n = g->nodes[i];
    uint32_t *in = arena_copy(g->arena, n.in, n.n_in * sizeof *in);
    if (!in)
        return false;
    for (unsigned k = 0; k < n.n_in; k++)
        if (!is_single(g, in[k]))
            in[k] = p->last[in[k]];
    return node_put(p, i, n.op, n.attr, in, n.n_in);
}

static bool tables_turn(struct parts *p, uint32_t i)
{
    struct graph *g = p->e.g;
    const struct node n = g->nodes[i];
    struct byte_tables_attr *a = arena_new(g->arena, struct byte_tables_attr);
    const uint32_t in[] = { p->last[n.in[0]], n.in[1] };
    if (!a)
        return false;
    a->axis = 3;
    return node_put(p, i, n.op, a, in, 2);
}

/* All that are no single numbers are there with their channels last. */
static bool inputs_last(const struct parts *p, const struct node *n)
{
    for (unsigned k = 0; k < n->n_in; k++)
        if (!is_single(p->e.g, n->in[k]) &&
            (n->in[k] >= p->e.n_wires || p->last[n->in[k]] == WIRE_NONE))
            return false;
    return true;
}

/* A Transpose that turns what is there turned. */
static bool transpose_taken(struct parts *p, const struct node *n)
{
    const struct attr_ints *perm = &((const struct transpose_attr *) n->attr)->perm;
    if (!node_is(n, OP_TRANSPOSE) || perm->n != 4 || memcmp(perm->v, to_last, sizeof to_last) ||
        p->last[n->in[0]] == WIRE_NONE || wire_leaves(p->e.g, n->out[0]))
        return false;
    return true;
}

/* Readers of the node's output read its input's twin. */
static void readers_move(struct parts *p, uint32_t i)
{
    struct graph *g = p->e.g;
    const uint32_t from = g->nodes[i].out[0], to = p->last[g->nodes[i].in[0]];
    for (uint32_t k = i + 1; k < p->e.n_nodes; k++)
        for (unsigned j = 0; j < g->nodes[k].n_in; j++)
            if (g->nodes[k].in[j] == from)
                g->nodes[k].in[j] = to;
    p->e.gone[i] = true;
}

static bool node_stays(struct parts *p, uint32_t i)
{
    const struct node n = p->e.g->nodes[i];
    for (unsigned k = 0; k < n.n_in; k++)
        if (n.in[k] < p->e.n_wires && !first_ready(p, i, n.in[k]))
            return false;
    return true;
}

static bool node_turn(struct parts *p, uint32_t i)
{
    const struct graph *g = p->e.g;
    const struct node *n = &g->nodes[i];
    const bool there = n->n_in && n->in[0] < p->e.n_wires && p->last[n->in[0]] != WIRE_NONE;
    const bool wanted = n->n_out && n->out[0] != WIRE_NONE && p->wanted[n->out[0]];
    if (conv_fits(g, n) && (there || wanted))
        return conv_turn(p, i);
    if (there && pool_fits(g, n))
        return pool_turn(p, i);
    if (there && wanted && elements_fit(g, n) && inputs_last(p, n))
        return elements_turn(p, i);
    if (there && wanted && tables_fit(g, n))
        return tables_turn(p, i);
    if (there && transpose_taken(p, n)) {
        readers_move(p, i);
        return true;
    }
    return node_stays(p, i);
}

/* Wires that such convolutions read, from the last node to the first. */
static void wanted_set(struct parts *p)
{
    const struct graph *g = p->e.g;
    for (uint32_t i = p->e.n_nodes; i-- > 0;) {
        const struct node *n = &g->nodes[i];
        const bool wanted = n->n_out && n->out[0] != WIRE_NONE && p->wanted[n->out[0]];
        if (conv_fits(g, n))
            p->wanted[n->in[PRODUCT_X]] = true;
        else if (wanted && tables_fit(g, n))
            p->wanted[n->in[0]] = true;
        else if (wanted && (pool_fits(g, n) || elements_fit(g, n)))
            for (unsigned k = 0; k < n->n_in; k++)
                if (n->in[k] != WIRE_NONE)
                    p->wanted[n->in[k]] = true;
    }
}

rill_status graph_with_channels_last(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct parts p = { 0 };
    TRY(edit_begin(&p.e, ret, g, reterr));
    p.last = arena_array(g->arena, uint32_t, p.e.n_wires + 1);
    p.made = arena_array(g->arena, bool, p.e.n_wires + 1);
    p.wanted = arena_array(g->arena, bool, p.e.n_wires + 1);
    if (!p.last || !p.made || !p.wanted)
        return no_memory(reterr);
    for (uint32_t i = 0; i < p.e.n_wires; i++) {
        p.last[i] = WIRE_NONE;
        p.made[i] = true;
    }
    wanted_set(&p);
    for (uint32_t i = 0; i < p.e.n_nodes; i++)
        if (!node_turn(&p, i))
            return no_memory(reterr);
    return edit_end(&p.e, reterr);
}
