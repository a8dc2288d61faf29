/* SPDX-License-Identifier: MIT */
/* Layers of convolutions along time that work on a few frames become one program with their windows
 * and what stands between them. It grows in the order of the nodes, as long as nobody outside has
 * read what it makes, and stands where its last node stood: all that it reads is there. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "engine/rewrite/settle/element.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/rewrite/settle/program_build.h"

#define NODES_MAX 1024
#define WINDOWS_MAX 48
#define PORTS_MAX (FUSED_BUFFERS_MAX - 2 * WINDOWS_MAX)
#define WEIGHTS_MAX 16384 /* of a product; larger ones are shared by streams that run together */

enum kind { NOT_OURS, WINDOW, PAST, PAD, PRODUCT, ELEMENTS };

/* A convolution along time. */
struct product {
    int64_t cin, cout, taps, dilation, stride;
    bool depthwise;
};

struct maker {
    struct edit e;
    rill_error *err;
    enum kind *kind; /* of each node */
    bool *inside;    /* of each wire: a node of the program that grows makes it */
    uint32_t *node, n_nodes;
    uint32_t n_windows, n_products;
    struct program_builder program;
    bool *done; /* of each node: its step is there, or it needs none */
    float *w;   /* of all products of the program */
    size_t n_w;
};

/* ---- what fits ---- */

/* [1, channels, frames]; of another shape, 0 and 0. */
static bool frames_of(const struct graph *g, uint32_t w, int64_t *ret_channels, int64_t *ret_frames)
{
    struct tensor t;
    *ret_channels = *ret_frames = 0;
    if (w == WIRE_NONE || g->wires[w].fact.value || !fact_to_tensor(&g->wires[w].fact, &t) ||
        t.type != DTYPE_F32 || t.rank != 3 || t.dim[0] != 1)
        return false;
    *ret_channels = t.dim[1];
    *ret_frames = t.dim[2];
    return t.dim[1] >= 1 && t.dim[1] <= FUSED_CHANNELS_MAX && t.dim[2] >= 1 &&
        t.dim[2] <= FUSED_WINDOW_MAX;
}

static bool few_frames(const struct graph *g, uint32_t w)
{
    int64_t channels, frames;
    return frames_of(g, w, &channels, &frames) && frames <= FUSED_FRAMES_MAX;
}

static int64_t first_of(struct attr_ints l)
{
    return l.n ? l.v[0] : 1;
}

/* Of each output. */
static int64_t terms_of(const struct product *p)
{
    return (p->depthwise ? 1 : p->cin) * p->taps;
}

static bool product_of(const struct graph *g, const struct node *n, struct product *ret)
{
    const struct tensor *w = !node_is(n, OP_CONV) ? NULL : node_value(g, n, 1),
                        *b = w ? node_value(g, n, 2) : NULL;
    struct attr_ints pads = w ? window_attr_of(n)->pads : (struct attr_ints) { 0 };
    int64_t frames;
    if (!w || w->type != DTYPE_F32 || w->rank != 3 || n->n_in > 3 ||
        (n->n_in == 3 && n->in[2] != WIRE_NONE && !b) || (b && b->type != DTYPE_F32) ||
        window_attr_of(n)->auto_pad != PAD_NOTSET || !few_frames(g, n->out[0]) ||
        !frames_of(g, n->in[0], &ret->cin, &frames))
        return false;
    for (uint32_t i = 0; i < pads.n; i++)
        if (pads.v[i])
            return false;
    const int64_t group = conv_attr_of(n)->group;
    ret->cout = w->dim[0];
    ret->taps = w->dim[2];
    ret->depthwise = group > 1 && group == ret->cin && ret->cout == ret->cin && w->dim[1] == 1;
    ret->dilation = first_of(window_attr_of(n)->dilations);
    ret->stride = first_of(window_attr_of(n)->strides);
    return (ret->depthwise || (group == 1 && w->dim[1] == ret->cin)) &&
        tensor_count(w) <= WEIGHTS_MAX && ret->dilation <= FUSED_WINDOW_MAX &&
        ret->stride <= FUSED_WINDOW_MAX && ret->taps <= FUSED_WINDOW_MAX;
}

/* A Slice is frames of a window, of which *ret_first is the first. */
static bool past_of(const struct graph *g, const struct node *n, int64_t *ret_first)
{
    int64_t channels, frames, taken, of;
    if (!node_is(n, OP_SLICE) || n->n_in < 4 || !frames_of(g, n->in[0], &of, &frames) ||
        !frames_of(g, n->out[0], &channels, &taken) || of != channels || taken > FUSED_FRAMES_MAX)
        return false;
    int64_t v[5] = { 0, 0, 0, 0, 1 }; /* of the inputs from 1 on: first, end, axis, step */
    for (unsigned i = 1; i < n->n_in; i++) {
        const struct tensor *t = n->in[i] == WIRE_NONE ? NULL : node_value(g, n, i);
        if (!t || tensor_count(t) != 1)
            return false;
        v[i] = tensor_get_i64(t, t->data, 0);
    }
    *ret_first = v[1] < 0 ? v[1] + frames : v[1];
    return (v[3] == 2 || v[3] == -1) && v[4] == 1 && *ret_first >= 0 &&
        *ret_first <= frames - taken;
}

/* Frames stay where they are; outside the sequence they are zero. */
static bool pad_of(const struct graph *g, const struct node *n, struct kern_pad *ret)
{
    const struct pulse_pad_attr *a = n->attr;
    int64_t channels, frames, of, had;
    if (n->op != &op_pulse_pad || a->axis != 2 || a->mode != PULSE_PAD_CONSTANT ||
        (n->n_in > 2 && n->in[2] != WIRE_NONE) || op_pulse_pad.base(n, 0) != 0 ||
        !few_frames(g, n->out[0]) || !frames_of(g, n->out[0], &channels, &frames) ||
        !frames_of(g, n->in[0], &of, &had) || had != frames)
        return false;
    *ret = (struct kern_pad) { a->at.pulse, a->at.delay + a->before, (size_t) a->at.length };
    return true;
}

/* Whether it reads the window as products and slices do. */
static bool reads_window(const struct graph *g, const struct node *n, uint32_t window)
{
    struct product p;
    int64_t first;
    return n->n_in && n->in[0] == window && (product_of(g, n, &p) || past_of(g, n, &first));
}

/* The state whose past and next value it is; nobody else reads the past, only products and slices
 * the window. */
static struct state *window_state(const struct maker *m, const struct node *n)
{
    const struct graph *g = m->e.g;
    int64_t channels, frames;
    if (n->op != &op_pulse_window || ((const struct pulse_history_attr *) n->attr)->axis != 2 ||
        m->e.consumers[n->in[0]] != 1 || !few_frames(g, n->in[1]) ||
        !frames_of(g, n->out[0], &channels, &frames))
        return NULL;
    uint32_t consumers = 1;
    for (uint32_t i = 0; i < m->e.n_nodes; i++)
        consumers += reads_window(g, &g->nodes[i], n->out[0]);
    if (consumers == 1 || consumers != m->e.consumers[n->out[0]])
        return NULL;
    for (uint32_t i = 0; i < g->n_states; i++)
        if (g->states[i].in == n->in[0])
            return g->states[i].out == n->out[0] && !g->states[i].init ? &g->states[i] : NULL;
    return NULL;
}

static bool element_of(const struct graph *g, uint32_t node, struct element *ret)
{
    int64_t channels, frames, c, f;
    if (!element_read(g, node, ret) || !few_frames(g, g->nodes[node].out[0]))
        return false;
    frames_of(g, g->nodes[node].out[0], &channels, &frames);
    for (unsigned i = 0; i < 2; i++)
        if (!frames_of(g, ret->in[i], &c, &f) || c != channels || f != frames)
            return false;
    return true;
}

static enum kind kind_of(const struct maker *m, uint32_t node)
{
    const struct node *n = &m->e.g->nodes[node];
    struct product p;
    struct element l;
    struct kern_pad pad;
    int64_t first;
    if (n->n_body || !n->n_out || n->out[0] == WIRE_NONE)
        return NOT_OURS;
    if (window_state(m, n))
        return WINDOW;
    return product_of(m->e.g, n, &p)   ? PRODUCT
        : past_of(m->e.g, n, &first)   ? PAST
        : pad_of(m->e.g, n, &pad)      ? PAD
        : element_of(m->e.g, node, &l) ? ELEMENTS
                                       : NOT_OURS;
}

/* ---- the program ---- */

static struct fused_value size_of(const struct maker *m, uint32_t wire)
{
    struct fused_value v;
    frames_of(m->e.g, wire, &v.rows, &v.columns);
    return v;
}

static int64_t value_new(struct maker *m, uint32_t wire)
{
    return program_value_new(&m->program, wire, size_of(m, wire));
}

static int64_t value_read(struct maker *m, uint32_t wire)
{
    return program_load(&m->program, wire, size_of(m, wire));
}

static bool reads_alike(const struct product *a, const struct product *b)
{
    return !a->depthwise && !b->depthwise && a->taps == b->taps && a->dilation == b->dilation &&
        a->stride == b->stride;
}

/* Biases and weights of one of the products, into panels at..; others stand between them. */
static void weights_lay(struct maker *m, const struct node *n, const struct product *p,
                        size_t panel, size_t panels)
{
    const float *w = node_value(m->e.g, n, 1)->data;
    const struct tensor *b = node_value(m->e.g, n, 2);
    size_t terms = (size_t) terms_of(p);
    for (size_t o = 0; o < (size_t) p->cout; o++) {
        float *to = m->w + m->n_w + panel * KERN_LANES + o; /* lanes of the next panel follow */
        to[0] = b ? ((const float *) b->data)[o] : 0;
        for (size_t t = 0; t < terms; t++)
            to[(1 + t) * panels * KERN_LANES] = w[o * terms + t];
    }
}

/* A sum of what the product makes alone and of a value that is there before it is the product's
 * own. first: of its values. */
static void sum_join(struct maker *m, uint32_t wire, int64_t v, int64_t first)
{
    const struct graph *g = m->e.g;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct node *n = &g->nodes[m->node[i]];
        if (!node_is(n, OP_ADD) || m->e.consumers[wire] != 1 ||
            (n->in[0] != wire && n->in[1] != wire))
            continue;
        int64_t other = program_value_of(&m->program, n->in[n->in[0] == wire]);
        if (other < 0 || other >= first)
            return;
        program_step(&m->program, FUSED_JOIN, v, other, 0);
        program_value_share(&m->program, n->out[0], v);
        m->done[m->node[i]] = true;
        return;
    }
}

/* All products of the program that read one wire alike are one. */
static void product_emit(struct maker *m, uint32_t at)
{
    const struct graph *g = m->e.g;
    const struct node *first = &g->nodes[m->node[at]];
    struct product p, q;
    uint32_t alike[FUSED_PARTS_MAX], n = 0;
    size_t panels = 0, panel = 0;
    product_of(g, first, &p);
    int64_t to = 0, window = program_window_of(&m->program, first->in[0]),
            x = window < 0 ? value_read(m, first->in[0]) : program_of_window(window);
    for (uint32_t i = at; i < m->n_nodes && n < FUSED_PARTS_MAX; i++) {
        const struct node *o = &g->nodes[m->node[i]];
        if (m->kind[m->node[i]] != PRODUCT || m->done[m->node[i]] || o->in[0] != first->in[0] ||
            !product_of(g, o, &q) || (i != at && !reads_alike(&p, &q)))
            continue;
        int64_t v = value_new(m, o->out[0]);
        to = n ? to : v;
        sum_join(m, o->out[0], v, to);
        m->done[m->node[i]] = true;
        alike[n++] = m->node[i];
        panels += (size_t) fused_lanes(q.cout) / KERN_LANES;
    }
    for (uint32_t i = 0; i < n; i++) {
        product_of(g, &g->nodes[alike[i]], &q);
        weights_lay(m, &g->nodes[alike[i]], &q, panel, panels);
        panel += (size_t) fused_lanes(q.cout) / KERN_LANES;
    }
    m->n_w += panels * KERN_LANES * (size_t) (1 + terms_of(&p));
    program_product(&m->program, p.depthwise ? KERN_DEPTHWISE : KERN_PRODUCT, to, x,
                    (struct fused_product) { n, p.taps, p.dilation, p.stride });
}

/* A window that nothing of the program is still to read moves on. */
static void window_shift(struct maker *m, uint32_t wire)
{
    const struct graph *g = m->e.g;
    int64_t window = program_window_of(&m->program, wire);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (!m->done[m->node[i]] && reads_window(g, &g->nodes[m->node[i]], wire))
            return;
    if (window >= 0)
        program_step(&m->program, FUSED_SHIFT, window, 0, 0);
}

/* The node of the program that makes a wire which is read once, if it is that op. */
static const struct node *sole_op(const struct maker *m, uint32_t wire, enum op_id op)
{
    uint32_t node;
    if (!m->inside[wire] || !edit_sole_producer(&m->e, wire, &node) ||
        m->e.g->nodes[node].op->id != op)
        return NULL;
    return &m->e.g->nodes[node];
}

/* tanh and sigmoid of a product of both. */
static bool gate_of(const struct maker *m, const struct node *n, const struct node **ret_tanh,
                    const struct node **ret_sigmoid)
{
    if (!node_is(n, OP_MUL))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        *ret_tanh = sole_op(m, n->in[i], OP_TANH);
        *ret_sigmoid = sole_op(m, n->in[1 - i], OP_SIGMOID);
        if (*ret_tanh && *ret_sigmoid)
            return true;
    }
    return false;
}

static void gates_find(struct maker *m)
{
    const struct graph *g = m->e.g;
    const struct node *t, *s;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (gate_of(m, &g->nodes[m->node[i]], &t, &s))
            m->done[t - g->nodes] = m->done[s - g->nodes] = true;
}

static void elements_emit(struct maker *m, uint32_t node)
{
    const struct node *t, *s, *n = &m->e.g->nodes[node];
    struct element l;
    if (gate_of(m, n, &t, &s))
        l = (struct element) { .function = KERN_GATE, .in = { t->in[0], s->in[0] } };
    else
        element_of(m->e.g, node, &l);
    int64_t a = value_read(m, l.in[0]), b = value_read(m, l.in[1]);
    program_step(&m->program, l.function, value_new(m, n->out[0]), a, b);
}

static void window_emit(struct maker *m, const struct node *n)
{
    int64_t fresh = value_read(m, n->in[1]);
    program_step(&m->program, FUSED_PUSH, program_window_of(&m->program, n->out[0]), fresh, 0);
}

static void past_emit(struct maker *m, uint32_t node)
{
    const struct node *n = &m->e.g->nodes[node];
    int64_t first = 0;
    past_of(m->e.g, n, &first);
    program_step(&m->program, FUSED_PAST, value_new(m, n->out[0]),
                 program_window_of(&m->program, n->in[0]), first);
    m->done[node] = true;
    window_shift(m, n->in[0]);
}

static void pad_emit(struct maker *m, const struct node *n)
{
    struct kern_pad pad;
    pad_of(m->e.g, n, &pad);
    int64_t a = value_read(m, n->in[0]);
    program_pad(&m->program, value_new(m, n->out[0]), a, pad, n->in[1]);
}

static void step_make(struct maker *m, uint32_t at)
{
    const uint32_t node = m->node[at];
    const struct node *n = &m->e.g->nodes[node];
    switch (m->kind[node]) {
    case PRODUCT:
        product_emit(m, at);
        window_shift(m, n->in[0]);
        break;
    case WINDOW: window_emit(m, n); break;
    case PAST: past_emit(m, node); break;
    case PAD: pad_emit(m, n); break;
    default: elements_emit(m, node);
    }
}

static void steps_make(struct maker *m)
{
    gates_find(m);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (!m->done[m->node[i]])
            step_make(m, i);
}

/* Windows are numbered before any step, and all who read them belong to the program. */
static bool windows_find(struct maker *m)
{
    const struct graph *g = m->e.g;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct node *n = &g->nodes[m->node[i]];
        if (m->kind[m->node[i]] != WINDOW)
            continue;
        uint32_t consumers = 1;
        for (uint32_t k = 0; k < m->n_nodes; k++)
            consumers += reads_window(g, &g->nodes[m->node[k]], n->out[0]);
        if (consumers != m->e.consumers[n->out[0]])
            return false;
        struct fused_value window = size_of(m, n->out[0]), fresh = size_of(m, n->in[1]);
        program_window(&m->program, n->in[0], n->out[0],
                       (struct fused_window) { window.rows, window.columns, fresh.columns });
    }
    return true;
}

/* Room for biases and weights of all products. */
static bool weights_take(struct maker *m)
{
    int64_t floats = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct node *n = &m->e.g->nodes[m->node[i]];
        struct product p;
        if (m->kind[m->node[i]] == PRODUCT && product_of(m->e.g, n, &p))
            floats += fused_lanes(p.cout) * (1 + terms_of(&p));
    }
    struct tensor *t = tensor_new(m->e.g->arena, DTYPE_F32, 1, &floats);
    m->program.weights = graph_add_const(m->e.g, "layers", t);
    m->w = t ? t->data : NULL;
    m->n_w = 0;
    return m->program.weights != WIRE_NONE;
}

/* ---- growing ---- */

static rill_status program_make(struct maker *m)
{
    program_begin(&m->program);
    if (!windows_find(m))
        return RILL_OK;
    if (!weights_take(m))
        return err_set(m->err, RILL_NOMEM, "out of memory");
    steps_make(m);
    return program_end(&m->program, m->node, m->n_nodes, m->err);
}

static rill_status layers_end(struct maker *m)
{
    if (m->n_windows || m->n_products > 1)
        TRY(program_make(m));
    for (uint32_t i = 0; i < m->n_nodes; i++)
        m->inside[m->e.g->nodes[m->node[i]].out[0]] = false;
    m->n_nodes = m->n_windows = m->n_products = 0;
    return RILL_OK;
}

static bool reads_inside(const struct maker *m, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && m->inside[n->in[i]])
            return true;
    return false;
}

/* Frames are those of a window that the program has. */
static bool slices_window(const struct maker *m, const struct node *n)
{
    return m->inside[n->in[0]] && m->kind[m->e.g->wires[n->in[0]].node] == WINDOW;
}

static rill_status node_take(struct maker *m, uint32_t node)
{
    const struct node *n = &m->e.g->nodes[node];
    enum kind kind = kind_of(m, node);
    bool inside = reads_inside(m, n);
    if ((kind == ELEMENTS && !inside) || (kind == PAST && !slices_window(m, n)))
        kind = NOT_OURS;
    if (m->n_nodes == NODES_MAX || (kind == WINDOW && m->n_windows == WINDOWS_MAX) ||
        (kind == NOT_OURS && inside))
        TRY(layers_end(m));
    m->kind[node] = kind;
    if (kind == NOT_OURS || ((kind == ELEMENTS || kind == PAST) && !m->n_nodes))
        return RILL_OK;
    m->node[m->n_nodes++] = node;
    m->inside[n->out[0]] = true;
    m->n_windows += kind == WINDOW;
    m->n_products += kind == PRODUCT;
    return RILL_OK;
}

rill_status graph_with_layers_fused(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct arena *a = g->arena;
    struct maker m = { .err = reterr,
                       .kind = arena_array(a, enum kind, g->n_nodes + 1),
                       .inside = arena_array(a, bool, g->n_wires + 1),
                       .node = arena_array(a, uint32_t, NODES_MAX),
                       .done = arena_array(a, bool, g->n_nodes + 1) };
    TRY(edit_begin(&m.e, ret, g, reterr));
    if (!m.kind || !m.inside || !m.node || !m.done ||
        !program_builder_init(&m.program, &m.e, PORTS_MAX))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(node_take(&m, i));
    TRY(layers_end(&m));
    return edit_end(&m.e, reterr);
}
