/* SPDX-License-Identifier: MIT */
/* What moves elements is run once on names of elements in their stead: what comes out says where
 * each element of a tensor comes from, through however many ops. */
#include "engine/ops/attrs.h"
#include "engine/rewrite/settle/copies.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/typing/interp.h"

#include <string.h>

#define ELEMENTS_MAX (1 << 18)   /* of a tensor that is followed */
#define NAME_STRIDE 4294967296.0 /* a name is (wire + 1) * 2^32 + element, exact in f64 */
/* A movement of more pieces than this and a sixteenth of its elements is none. */
#define PIECES_MIN 64
#define ORDER_MAX 64 /* pieces of a patch that are put in order */

/* clang-format off */
static const enum op_id movers[] = {
    OP_CONCAT, OP_DEPTH_TO_SPACE, OP_EXPAND, OP_FLATTEN, OP_FRAME, OP_GATHER, OP_GATHER_ELEMENTS,
    OP_GATHER_ND, OP_IDENTITY, OP_STRIDED_COPY, OP_PAD, OP_RESHAPE, OP_SCATTER_ELEMENTS, OP_SCATTER_ND,
    OP_SLICE, OP_SPACE_TO_DEPTH, OP_SPLIT, OP_SQUEEZE, OP_TILE, OP_TRANSPOSE, OP_UNSQUEEZE,
};
/* clang-format on */

struct copies {
    const struct graph *g;
    struct graph *ret; /* wires as in g */
    struct arena work;
    struct kern kern;
    bool *mover;  /* of nodes */
    bool *wanted; /* wires that something other than a mover or a state's next value reads */
    bool *made;   /* wires that ret's nodes write */
    const struct tensor **own,
        **leaf; /* names of a wire's elements: through its node, and as a source */
    struct node *nodes;
    uint32_t n_nodes, cap_nodes, zero;
    rill_error *err;
};

static rill_status no_memory(const struct copies *m)
{
    return err_set(m->err, RILL_NOMEM, "out of memory");
}

static bool is_followed(const struct fact *f)
{
    struct tensor t;
    int64_t n;
    return f->type == DTYPE_F32 && fact_to_tensor(f, &t) && tensor_count_checked(&t, &n) && n > 0 &&
        n <= ELEMENTS_MAX;
}

bool node_moves_elements(const struct graph *g, const struct node *n)
{
    if (!node_is_among(n, movers, sizeof movers / sizeof *movers) || n->n_body)
        return false;
    if ((node_is(n, OP_SCATTER_ELEMENTS) || node_is(n, OP_SCATTER_ND)) &&
        scatter_attr_of(n)->reduction != 0)
        return false;
    for (unsigned i = 0; i < n->n_out; i++)
        if (n->out[i] == WIRE_NONE || !is_followed(&g->wires[n->out[i]].fact))
            return false;
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct fact *f = n->in[i] == WIRE_NONE ? NULL : &g->wires[n->in[i]].fact;
        if (f && (f->type == DTYPE_F32 ? !is_followed(f) : !f->value))
            return false;
    }
    return true;
}

/* ---- names ---- */

static const struct tensor *names_of_source(struct copies *m, uint32_t w)
{
    struct tensor t;
    if (m->leaf[w])
        return m->leaf[w];
    fact_to_tensor(&m->g->wires[w].fact, &t);
    struct tensor *names = tensor_new(&m->work, DTYPE_F64, t.rank, t.dim);
    int64_t n = tensor_count(&t);
    for (int64_t i = 0; names && i < n; i++)
        ((double *) names->data)[i] = (w + 1.0) * NAME_STRIDE + (double) i;
    return m->leaf[w] = names;
}

static const struct tensor *names_of(struct copies *m, uint32_t w)
{
    return m->own[w] && !m->wanted[w] ? m->own[w] : names_of_source(m, w);
}

/* False: the node is none that can be followed. */
static rill_status node_follow(struct copies *m, const struct node *n, bool *ret)
{
    const struct tensor **in = arena_array(&m->work, const struct tensor *, n->n_in + 1);
    const struct tensor **out = arena_array(&m->work, const struct tensor *, n->n_out + 1);
    if (!in || !out)
        return no_memory(m);
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct fact *f = n->in[i] == WIRE_NONE ? NULL : &m->g->wires[n->in[i]].fact;
        in[i] = !f ? NULL : f->type == DTYPE_F32 ? names_of(m, n->in[i]) : f->value;
        if (f && !in[i])
            return no_memory(m);
    }
    rill_error quiet = { 0 };
    *ret = interp_node(m->g->dims, n, in, &m->kern, &m->work, out, &quiet) == RILL_OK;
    for (unsigned i = 0; *ret && i < n->n_out; i++) {
        struct tensor t;
        fact_to_tensor(&m->g->wires[n->out[i]].fact, &t);
        *ret = out[i]->type == DTYPE_F64 && tensor_count(out[i]) == tensor_count(&t);
    }
    for (unsigned i = 0; *ret && i < n->n_out; i++)
        m->own[n->out[i]] = out[i];
    return RILL_OK;
}

static void want(struct copies *m, const uint32_t *wires, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (wires[i] != WIRE_NONE)
            m->wanted[wires[i]] = true;
}

static rill_status movers_follow(struct copies *m)
{
    const struct graph *g = m->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        m->mover[i] = node_moves_elements(g, &g->nodes[i]);
        if (!m->mover[i])
            want(m, g->nodes[i].in, g->nodes[i].n_in);
    }
    want(m, g->outputs, g->n_outputs);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (m->mover[i]) {
            TRY(node_follow(m, &g->nodes[i], &m->mover[i]));
            if (!m->mover[i])
                want(m, g->nodes[i].in, g->nodes[i].n_in);
        }
    return RILL_OK;
}

/* ---- emission ---- */

static rill_status wire_emit(struct copies *m, uint32_t w);

static rill_status node_push(struct copies *m, const struct node *n)
{
    struct node *list =
        arena_grow(m->ret->arena, m->nodes, m->n_nodes, &m->cap_nodes, sizeof *list);
    if (!list)
        return no_memory(m);
    m->nodes = list;
    for (unsigned i = 0; i < n->n_out; i++)
        if (n->out[i] != WIRE_NONE) {
            m->made[n->out[i]] = true;
            m->ret->wires[n->out[i]].node = m->n_nodes;
        }
    list[m->n_nodes++] = *n;
    return RILL_OK;
}

static rill_status node_emit(struct copies *m, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE)
            TRY(wire_emit(m, n->in[i]));
    return node_push(m, n);
}

/* A movement on its way to a node. */
struct movement {
    uint32_t wire;
    struct origin *o;
    size_t n;
    uint32_t *input;
    uint32_t n_inputs;
};

static rill_status zero_wire(struct copies *m, uint32_t *ret)
{
    if (m->zero == WIRE_NONE) {
        m->zero = graph_add_const(m->ret, "zero", tensor_new(m->ret->arena, DTYPE_F32, 0, NULL));
        if (m->zero == WIRE_NONE)
            return no_memory(m);
    }
    *ret = m->zero;
    return RILL_OK;
}

static int32_t movement_input(struct movement *v, uint32_t w)
{
    for (uint32_t i = v->n_inputs; i-- > 0;)
        if (v->input[i] == w)
            return (int32_t) i;
    v->input[v->n_inputs] = w;
    return (int32_t) v->n_inputs++;
}

/* The source of an element, by its name; 0: zero. */
static uint64_t name_source(double name)
{
    return (uint64_t) (name / NAME_STRIDE);
}

/* What an element is called: of a wire that holds it as the state does, by the state. */
static double name_within(const struct copies *m, double name, uint32_t state)
{
    const uint64_t source = name_source(name);
    const struct tensor *own = source && source <= m->g->n_wires ? m->own[source - 1] : NULL;
    if (state == WIRE_NONE || !own)
        return name;
    const double inner =
        ((const double *) own->data)[(size_t) (name - (double) source * NAME_STRIDE)];
    return name_source(inner) == state + 1 ? inner : name;
}

/* state: WIRE_NONE, or what elements are read from where it holds them, too. */
static rill_status movement_read(struct copies *m, struct movement *v, uint32_t state)
{
    const struct tensor *names = m->own[v->wire];
    v->n = (size_t) tensor_count(names);
    v->o = arena_array(&m->work, struct origin, v->n + 1);
    v->input = arena_array(&m->work, uint32_t, v->n + 1);
    if (!v->o || !v->input)
        return no_memory(m);
    for (size_t i = 0; i < v->n; i++) {
        double name = name_within(m, ((const double *) names->data)[i], state);
        uint64_t source = name_source(name);
        uint32_t w = (uint32_t) source - 1;
        if (source == 0)
            TRY(zero_wire(m, &w));
        v->o[i].at = (uint32_t) (name - (double) source * NAME_STRIDE);
        v->o[i].input = movement_input(v, w);
    }
    return RILL_OK;
}

static bool is_next_of(const struct graph *g, uint32_t next, uint32_t in)
{
    for (uint32_t i = 0; i < g->n_states; i++)
        if (g->states[i].in == in && g->states[i].out == next)
            return true;
    return false;
}

/* The input that keeps most of its elements where they are, or whose next value this is; -1:
 * none. */
static int32_t base_choose(const struct copies *m, const struct movement *v)
{
    int32_t best = -1;
    size_t most = v->n / 2;
    for (uint32_t k = 0; k < v->n_inputs; k++) {
        struct tensor t;
        size_t kept = 0;
        const struct fact *f = &m->ret->wires[v->input[k]].fact;
        if (f->value || !fact_to_tensor(f, &t) || (size_t) tensor_count(&t) != v->n)
            continue;
        if (is_next_of(m->g, v->wire, v->input[k]))
            return (int32_t) k;
        for (size_t i = 0; i < v->n; i++)
            kept += v->o[i].input == (int32_t) k && v->o[i].at == i;
        if (kept > most) {
            most = kept;
            best = (int32_t) k;
        }
    }
    return best;
}

/* The list that was found has room for a piece an element; what stays with the graph has not. */
static bool pieces_keep(const struct copies *m, const struct piece *p, uint32_t n,
                        struct attr_ints *ret)
{
    const void *kept = arena_copy(m->ret->arena, p, n * sizeof *p);
    *ret = (struct attr_ints) { (uint32_t) (n * PIECE_INTS), kept };
    return kept;
}

static void span_of(const struct piece *p, int64_t first, const int64_t *stride, int64_t ret[2])
{
    ret[0] = ret[1] = first;
    for (int i = 0; i < PIECE_AXES; i++)
        ret[stride[i] > 0] += (p->n[i] - 1) * stride[i];
}

/* Whether a writes where b reads, or between that. */
static bool writes_over(const struct piece *a, const struct piece *b)
{
    int64_t to[2], from[2];
    span_of(a, a->to, a->to_stride, to);
    span_of(b, b->from, b->from_stride, from);
    return to[0] <= from[1] && from[0] <= to[1];
}

/* The first piece that writes over nothing which the others read; 0: each does. */
static uint32_t free_piece(const struct piece *p, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t j = 0;
        while (j < n && (j == k || !writes_over(&p[k], &p[j])))
            j++;
        if (j == n)
            return k;
    }
    return 0;
}

/* Pieces within the base: each is read before others write over it, where that can be. */
static void order_find(struct piece *p, uint32_t n)
{
    for (; n > 1 && n <= ORDER_MAX; p++, n--) {
        const uint32_t k = free_piece(p, n);
        const struct piece own = p[k];
        memmove(p + 1, p, k * sizeof *p);
        *p = own;
    }
}

/* What shifts the base reads it before other inputs are written over it; else in the order that was
 * found. */
static void base_first(struct piece *p, uint32_t n, int32_t base)
{
    uint32_t within = 0;
    for (uint32_t i = 0; i < n; i++)
        within += p[i].input == base;
    for (uint32_t i = 0, at = 0; i < n; i++) {
        struct piece own = p[i];
        if (own.input != base)
            continue;
        memmove(p + at + 1, p + at, (i - at) * sizeof *p);
        p[at++] = own;
    }
    order_find(p, within);
}

static rill_status patch_make(struct copies *m, struct movement *v, struct strided_copy_attr *a)
{
    uint32_t n;
    bool ok;
    a->base = base_choose(m, v);
    if (a->base < 0)
        return RILL_OK;
    for (size_t i = 0; i < v->n; i++)
        if (v->o[i].input == (int32_t) a->base && v->o[i].at == i)
            v->o[i].input = -1;
    struct piece *p = pieces_from_origins(&m->work, v->o, v->n, &n);
    if (p)
        base_first(p, n, (int32_t) a->base);
    if (!p || !pieces_in_place(&m->work, p, n, (int32_t) a->base, v->n, &ok) ||
        !pieces_keep(m, p, n, &a->patch))
        return no_memory(m);
    if (!ok)
        a->base = -1;
    return RILL_OK;
}

static rill_status shape_set(struct copies *m, uint32_t w, struct attr_ints *ret)
{
    struct tensor t;
    fact_to_tensor(&m->g->wires[w].fact, &t);
    int64_t *dim = arena_copy(m->ret->arena, t.dim, sizeof t.dim);
    *ret = (struct attr_ints) { (uint32_t) t.rank, dim };
    return dim ? RILL_OK : no_memory(m);
}

static rill_status copy_push(struct copies *m, struct movement *v, const struct piece *p,
                             uint32_t n)
{
    struct strided_copy_attr *a = arena_new(m->ret->arena, struct strided_copy_attr);
    uint32_t *lists = arena_array(m->ret->arena, uint32_t, v->n_inputs + 1);
    if (!a || !lists)
        return no_memory(m);
    if (!pieces_keep(m, p, n, &a->pieces))
        return no_memory(m);
    TRY(shape_set(m, v->wire, &a->shape));
    TRY(patch_make(m, v, a));
    memcpy(lists, v->input, v->n_inputs * sizeof *lists);
    lists[v->n_inputs] = v->wire;
    struct node made = { .name = m->g->nodes[m->g->wires[v->wire].node].name,
                         .op = &op_strided_copy,
                         .attr = a,
                         .in = lists,
                         .out = lists + v->n_inputs,
                         .n_in = v->n_inputs,
                         .n_out = 1 };
    return node_push(m, &made);
}

static bool node_is_made(const struct copies *m, const struct node *n)
{
    for (unsigned i = 0; i < n->n_out; i++)
        if (m->made[n->out[i]])
            return true;
    return false;
}

static rill_status movement_find(struct copies *m, struct movement *v, uint32_t state,
                                 struct piece **ret, uint32_t *ret_n)
{
    TRY(movement_read(m, v, state));
    *ret = pieces_from_origins(&m->work, v->o, v->n, ret_n);
    return *ret ? RILL_OK : no_memory(m);
}

/* The next value of a state takes from the state itself what views and copies of it hold: it may be
 * written where the state lies only if nothing else that it reads lies there. */
static rill_status movement_within(struct copies *m, struct movement *v, struct piece **p,
                                   uint32_t *n)
{
    for (uint32_t i = 0; i < m->g->n_states; i++) {
        struct movement own = { .wire = v->wire };
        struct piece *pieces;
        uint32_t count;
        if (m->g->states[i].out != v->wire)
            continue;
        TRY(movement_find(m, &own, m->g->states[i].in, &pieces, &count));
        if (count > *n + COPY_PIECES_MORE)
            return RILL_OK;
        *v = own;
        *p = pieces;
        *n = count;
        return RILL_OK;
    }
    return RILL_OK;
}

/* A mover's output: as one StridedCopy from its sources, or by the node itself where that would be
 * in too many pieces. */
static rill_status wire_emit(struct copies *m, uint32_t w)
{
    uint32_t from = m->g->wires[w].node, n;
    if (m->made[w] || from == WIRE_NONE || !m->mover[from])
        return RILL_OK;
    struct movement v = { .wire = w };
    struct piece *p;
    TRY(movement_find(m, &v, WIRE_NONE, &p, &n));
    TRY(movement_within(m, &v, &p, &n));
    if (n > PIECES_MIN + v.n / 16 && !node_is_made(m, &m->g->nodes[from]))
        return node_emit(m, &m->g->nodes[from]);
    for (uint32_t i = 0; i < v.n_inputs; i++)
        if (v.input[i] < m->g->n_wires)
            TRY(wire_emit(m, v.input[i]));
    return copy_push(m, &v, p, n);
}

static rill_status graph_emit(struct copies *m)
{
    const struct graph *g = m->g;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!m->mover[i])
            TRY(node_emit(m, &g->nodes[i]));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        TRY(wire_emit(m, g->outputs[i]));
    for (uint32_t i = 0; i < g->n_states; i++)
        TRY(wire_emit(m, g->states[i].out));
    return RILL_OK;
}

static rill_status copies_make(struct copies *m)
{
    const struct graph *g = m->g;
    size_t n = g->n_wires + 1;
    m->mover = arena_array(&m->work, bool, g->n_nodes + 1);
    m->wanted = arena_array(&m->work, bool, n);
    m->made = arena_array(&m->work, bool, n);
    m->own = arena_array(&m->work, const struct tensor *, n);
    m->leaf = arena_array(&m->work, const struct tensor *, n);
    if (!m->mover || !m->wanted || !m->made || !m->own || !m->leaf)
        return no_memory(m);
    kern_init(&m->kern, 0);
    TRY(movers_follow(m));
    TRY(graph_emit(m));
    m->ret->nodes = m->nodes;
    m->ret->n_nodes = m->n_nodes;
    m->ret->cap_nodes = m->cap_nodes;
    return RILL_OK;
}

rill_status graph_with_strided_copies(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct copies m = {
        .g = g, .ret = ret, .work.owner = g->arena, .zero = WIRE_NONE, .err = reterr
    };
    TRY(graph_copied(ret, g, reterr));
    rill_status s = copies_make(&m);
    arena_drop(&m.work);
    return s;
}
