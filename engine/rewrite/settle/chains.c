/* SPDX-License-Identifier: MIT */
/* Clusters grow in the order of the nodes: an element-wise node joins those that made its inputs as
 * long as nobody outside has read from them. A cluster runs where its last node stood, so all it
 * reads is there and nothing it makes is late. */
#include "engine/ops/chain.h"
#include "engine/graph/edit.h"
#include "engine/rewrite/settle/passes.h"

#include <string.h>

#define NODES_MAX 24
#define FAR_COUNT 4096 /* tensors of more elements are not kept waiting */
#define COLUMNS_MIN 24 /* shorter rows cost more than a step */
#define FAR_NODES 12   /* that many nodes from a cluster's first */

/* clang-format off */
static const struct { enum op_id id; enum kern_chain_op op; int n_in; } links[] = {
    { OP_ADD, KERN_CHAIN_ADD, 2 },         { OP_SUB, KERN_CHAIN_SUB, 2 },
    { OP_MUL, KERN_CHAIN_MUL, 2 },         { OP_DIV, KERN_CHAIN_DIV, 2 },
    { OP_PRELU, KERN_CHAIN_LEAKY, 2 },     { OP_RELU, KERN_CHAIN_RELU, 1 },
    { OP_SIGMOID, KERN_CHAIN_SIGMOID, 1 }, { OP_TANH, KERN_CHAIN_TANH, 1 },
    { OP_EXP, KERN_CHAIN_EXP, 1 },         { OP_LOG, KERN_CHAIN_LOG, 1 },
    { OP_SQRT, KERN_CHAIN_SQRT, 1 },       { OP_POW, KERN_CHAIN_MUL, 2 },
};
/* clang-format on */

struct link {
    uint32_t node;
    enum kern_chain_op op;
    int n_in;
    uint32_t in[2];
};

struct cluster {
    struct link link[NODES_MAX];
    unsigned n, n_in;     /* n_in: operands from outside, at most */
    int64_t cols, count;  /* cols 0: not cut into rows yet */
    struct cluster *into; /* merged into that one */
    bool closed;
};

struct chains {
    struct edit e;
    struct cluster **of; /* of each wire: the cluster that makes it */
    struct cluster **at; /* of each node */
    rill_error *err;
};

static rill_status no_memory(const struct chains *c)
{
    return err_set(c->err, RILL_NOMEM, "out of memory");
}

static struct cluster *cluster_root(struct cluster *c)
{
    while (c && c->into)
        c = c->into;
    return c;
}

/* ---- shapes ---- */

static bool known_shape(const struct graph *g, uint32_t w, struct tensor *ret)
{
    return w != WIRE_NONE && g->wires[w].fact.type == DTYPE_F32 &&
        fact_to_tensor(&g->wires[w].fact, ret) && tensor_count(ret) > 0;
}

/* How an operand lies along the elements of an output: densely, one element, one a row or one row
 * for all. */
enum lie { LIE_DENSE, LIE_ONE, LIE_PER_ROW, LIE_ROW, LIE_NOT };

static enum lie operand_lie(const struct tensor *out, const struct tensor *x, int64_t *ret_n)
{
    int64_t own = tensor_count(x), all = tensor_count(out);
    *ret_n = 0;
    if (own == 1)
        return all == 1 ? LIE_DENSE : LIE_ONE;
    int lead = out->rank - x->rank, first = -1, last = -1;
    if (lead < 0)
        return own == all ? LIE_DENSE : LIE_NOT;
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] != 1) {
            first = first < 0 ? i + lead : first;
            last = i + lead;
            if (x->dim[i] != out->dim[i + lead])
                return LIE_NOT;
        }
    int64_t inside = 1, after = 1;
    for (int i = first; i <= last; i++)
        inside *= out->dim[i];
    for (int i = last + 1; i < out->rank; i++)
        after *= out->dim[i];
    if (inside != own)
        return LIE_NOT;
    if (own == all)
        return LIE_DENSE;
    *ret_n = after == 1 ? own : after;
    if (after == 1)
        return LIE_ROW;
    return own * after == all ? LIE_PER_ROW : LIE_NOT;
}

/* ---- links ---- */

static const struct tensor *scalar_of(const struct graph *g, uint32_t w)
{
    const struct tensor *v = w == WIRE_NONE ? NULL : g->wires[w].fact.value;
    return v && v->type == DTYPE_F32 && tensor_count(v) == 1 ? v : NULL;
}

static bool link_read(const struct graph *g, uint32_t node, struct link *ret)
{
    const struct node *n = &g->nodes[node];
    size_t k = 0;
    while (k < sizeof links / sizeof *links && links[k].id != n->op->id)
        k++;
    if (k == sizeof links / sizeof *links || (int) n->n_in != links[k].n_in || n->n_out != 1)
        return false;
    *ret = (struct link) { .node = node,
                           .op = links[k].op,
                           .n_in = links[k].n_in,
                           .in = { n->in[0], n->in[n->n_in - 1] } };
    if (node_is(n, OP_POW)) { /* the square is a product */
        const struct tensor *v = scalar_of(g, n->in[1]);
        if (!v || *(const float *) v->data != 2)
            return false;
        ret->in[1] = n->in[0];
    }
    return true;
}

/* The rows that all operands of a link ask for; false: they lie otherwise, or two ask for different
 * ones. */
static bool link_rows(const struct graph *g, const struct link *l, int64_t *ret_n)
{
    struct tensor out, x;
    if (!known_shape(g, g->nodes[l->node].out[0], &out))
        return false;
    *ret_n = 0;
    for (int i = 0; i < l->n_in; i++) {
        int64_t n;
        if (!known_shape(g, l->in[i], &x))
            return false;
        enum lie lie = operand_lie(&out, &x, &n);
        if (lie == LIE_NOT || (n && *ret_n && n != *ret_n))
            return false;
        *ret_n = n ? n : *ret_n;
    }
    return !*ret_n || *ret_n >= COLUMNS_MIN || tensor_count(&out) == *ret_n;
}

/* ---- growing ---- */

static bool rows_agree(int64_t a, int64_t b)
{
    return !a || !b || a == b;
}

static bool cluster_takes(const struct graph *g, const struct cluster *c, const struct link *l,
                          int64_t n)
{
    struct tensor out, first;
    known_shape(g, g->nodes[l->node].out[0], &out);
    known_shape(g, g->nodes[c->link[0].node].out[0], &first);
    bool near = c->count <= FAR_COUNT || l->node - c->link[0].node <= FAR_NODES;
    bool same =
        out.rank == first.rank && !memcmp(out.dim, first.dim, (size_t) out.rank * sizeof *out.dim);
    return !c->closed && c->n < NODES_MAX && c->n_in + (unsigned) l->n_in <= CHAIN_PORTS_MAX &&
        near && rows_agree(c->cols, n) &&
        (same || (!c->cols && !n && tensor_count(&out) == c->count));
}

/* The nodes of two clusters, in the order of the graph. */
static void cluster_merge(struct cluster *to, struct cluster *from)
{
    struct link all[NODES_MAX];
    unsigned a = 0, b = 0, n = 0;
    while (a < to->n || b < from->n)
        all[n++] = b == from->n || (a < to->n && to->link[a].node < from->link[b].node)
            ? to->link[a++]
            : from->link[b++];
    memcpy(to->link, all, n * sizeof *all);
    to->n = n;
    to->n_in += from->n_in;
    to->cols = to->cols ? to->cols : from->cols;
    from->into = to;
}

static rill_status link_join(struct chains *c, const struct link *l, int64_t n)
{
    struct graph *g = c->e.g;
    struct cluster *mine = NULL;
    struct tensor out;
    for (int i = 0; i < l->n_in; i++) {
        struct cluster *k = cluster_root(c->of[l->in[i]]);
        if (!k || k == mine || !cluster_takes(g, k, l, n))
            continue;
        if (!mine)
            mine = k;
        else if (mine->n + k->n < NODES_MAX &&
                 mine->n_in + k->n_in + (unsigned) l->n_in <= CHAIN_PORTS_MAX &&
                 rows_agree(mine->cols, k->cols))
            cluster_merge(mine, k);
    }
    known_shape(g, g->nodes[l->node].out[0], &out);
    if (!mine && !(mine = arena_new(g->arena, struct cluster)))
        return no_memory(c);
    mine->count = tensor_count(&out);
    mine->cols = mine->cols ? mine->cols : n;
    mine->link[mine->n++] = *l;
    for (int i = 0; i < l->n_in; i++)
        mine->n_in += cluster_root(c->of[l->in[i]]) != mine;
    c->of[g->nodes[l->node].out[0]] = mine;
    c->at[l->node] = mine;
    return RILL_OK;
}

/* Clusters that somebody outside reads from take no more nodes. */
static void readers_close(struct chains *c, const struct node *n, const struct cluster *mine)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        struct cluster *k = n->in[i] == WIRE_NONE ? NULL : cluster_root(c->of[n->in[i]]);
        if (k && k != mine)
            k->closed = true;
    }
}

static rill_status clusters_grow(struct chains *c)
{
    struct graph *g = c->e.g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct link l;
        int64_t n;
        if (link_read(g, i, &l) && link_rows(g, &l, &n))
            TRY(link_join(c, &l, n));
        readers_close(c, &g->nodes[i], cluster_root(c->at[i]));
    }
    return RILL_OK;
}

/* ---- programs ---- */

struct program {
    struct chains *c;
    const struct cluster *k;
    int64_t *steps, *dense, *rows, *shapes;
    uint32_t n_steps, n_shapes;
    uint32_t in[CHAIN_PORTS_MAX], out[CHAIN_PORTS_MAX];
    unsigned n_in, n_out, n_tmp;
    struct {
        uint32_t wire;
        unsigned until;
    } tmp[NODES_MAX]; /* the last link that reads it */
};

/* The last of the cluster's links that reads a wire; 0: none. */
static unsigned link_last(const struct cluster *k, uint32_t wire)
{
    unsigned last = 0;
    for (unsigned i = 0; i < k->n; i++)
        for (int a = 0; a < k->link[i].n_in; a++)
            last = k->link[i].in[a] == wire ? i : last;
    return last;
}

/* Readers other than the cluster's links. */
static bool read_outside(const struct program *p, uint32_t wire)
{
    const struct graph *g = p->c->e.g;
    uint32_t inside = 0;
    for (unsigned i = 0; i < p->k->n; i++)
        for (unsigned a = 0; a < g->nodes[p->k->link[i].node].n_in; a++)
            inside += g->nodes[p->k->link[i].node].in[a] == wire;
    return p->c->e.readers[wire] > inside;
}

static int wire_find(const uint32_t *list, unsigned n, uint32_t wire)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == wire)
            return (int) i;
    return -1;
}

static bool input_add(struct program *p, const struct link *l, uint32_t wire)
{
    const struct graph *g = p->c->e.g;
    struct tensor out, x;
    int64_t n, cols = p->k->cols ? p->k->cols : p->k->count;
    if (wire_find(p->in, p->n_in, wire) >= 0)
        return true;
    if (p->n_in == CHAIN_PORTS_MAX)
        return false;
    known_shape(g, g->nodes[l->node].out[0], &out);
    known_shape(g, wire, &x);
    enum lie lie = operand_lie(&out, &x, &n);
    p->dense[p->n_in] = lie == LIE_DENSE || lie == LIE_ROW;
    p->rows[p->n_in] = lie == LIE_DENSE ? cols : lie == LIE_PER_ROW ? 1 : 0;
    p->in[p->n_in++] = wire;
    return true;
}

static bool output_add(struct program *p, uint32_t wire)
{
    struct tensor t;
    if (p->n_out == CHAIN_PORTS_MAX)
        return false;
    known_shape(p->c->e.g, wire, &t);
    p->shapes[p->n_shapes++] = t.rank;
    for (int i = 0; i < t.rank; i++)
        p->shapes[p->n_shapes++] = t.dim[i];
    p->out[p->n_out++] = wire;
    return true;
}

/* Inputs and outputs, whose slots come first. */
static bool ports_find(struct program *p)
{
    const struct graph *g = p->c->e.g;
    for (unsigned i = 0; i < p->k->n; i++) {
        const struct link *l = &p->k->link[i];
        uint32_t w = g->nodes[l->node].out[0];
        for (int a = 0; a < l->n_in; a++)
            if (cluster_root(p->c->of[l->in[a]]) != p->k && !input_add(p, l, l->in[a]))
                return false;
        if (read_outside(p, w) && !output_add(p, w))
            return false;
    }
    return p->n_out > 0;
}

static int64_t slot_of(const struct program *p, uint32_t wire)
{
    int i = wire_find(p->in, p->n_in, wire), o = wire_find(p->out, p->n_out, wire);
    if (i >= 0)
        return i;
    for (unsigned t = 0; o < 0 && t < p->n_tmp; t++)
        if (p->tmp[t].wire == wire)
            return p->n_in + p->n_out + t;
    return (int64_t) p->n_in + o;
}

/* A slot for what link `now` makes: an output, or one whose last reader has been. */
static int64_t slot_take(struct program *p, uint32_t wire, unsigned now)
{
    unsigned t = 0;
    if (wire_find(p->out, p->n_out, wire) >= 0)
        return slot_of(p, wire);
    while (t < p->n_tmp && p->tmp[t].until >= now)
        t++;
    p->n_tmp += t == p->n_tmp;
    p->tmp[t].wire = wire;
    p->tmp[t].until = link_last(p->k, wire);
    return (int64_t) p->n_in + p->n_out + t;
}

/* False: out of memory or slots; the nodes stay as they are. */
static bool program_make(struct program *p)
{
    struct arena *a = p->c->e.g->arena;
    p->steps = arena_array(a, int64_t, 4 * NODES_MAX);
    p->dense = arena_array(a, int64_t, CHAIN_PORTS_MAX);
    p->rows = arena_array(a, int64_t, CHAIN_PORTS_MAX);
    p->shapes = arena_array(a, int64_t, CHAIN_PORTS_MAX * (RANK_MAX + 1));
    if (!p->steps || !p->dense || !p->rows || !p->shapes || !ports_find(p))
        return false;
    for (unsigned i = 0; i < p->k->n; i++) {
        const struct link *l = &p->k->link[i];
        int64_t *s = p->steps + p->n_steps;
        s[0] = (int64_t) l->op;
        s[2] = slot_of(p, l->in[0]);
        s[3] = slot_of(p, l->in[l->n_in - 1]);
        s[1] = slot_take(p, p->c->e.g->nodes[l->node].out[0], i);
        p->n_steps += 4;
    }
    return p->n_in + p->n_out + p->n_tmp <= KERN_CHAIN_SLOTS;
}

static rill_status cluster_emit(struct chains *c, const struct cluster *k)
{
    struct program p = { .c = c, .k = k };
    struct graph *g = c->e.g;
    if (k->n < 2 || !program_make(&p))
        return RILL_OK;
    struct chain_attr *a = arena_new(g->arena, struct chain_attr);
    if (!a)
        return no_memory(c);
    *a = (struct chain_attr) { .m = k->cols ? k->count / k->cols : 1,
                               .n = k->cols ? k->cols : k->count,
                               .n_tmp = p.n_tmp,
                               .steps = { p.n_steps, p.steps },
                               .dense = { p.n_in, p.dense },
                               .rows = { p.n_in, p.rows },
                               .shapes = { p.n_shapes, p.shapes } };
    uint32_t last = k->link[k->n - 1].node;
    for (unsigned i = 0; i < k->n; i++)
        c->e.gone[k->link[i].node] = true;
    return edit_insert(&c->e, last, &op_chain, a, p.in, p.n_in, p.out, p.n_out) ? RILL_OK
                                                                                : no_memory(c);
}

rill_status graph_with_chains(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct chains c = { .err = reterr,
                        .of = arena_array(g->arena, struct cluster *, g->n_wires + 1),
                        .at = arena_array(g->arena, struct cluster *, g->n_nodes + 1) };
    TRY(edit_begin(&c.e, ret, g, reterr));
    if (!c.of || !c.at)
        return no_memory(&c);
    TRY(clusters_grow(&c));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct cluster *k = cluster_root(c.at[i]);
        if (k && k->link[k->n - 1].node == i)
            TRY(cluster_emit(&c, k));
    }
    return edit_end(&c.e, reterr);
}
