/* SPDX-License-Identifier: MIT */
/* Clusters grow in the order of the nodes: an element-wise node joins those that made its inputs as
 * long as nobody outside has read from them. A cluster runs where its last node stood, so all it
 * reads is there and nothing it makes is late. */
#include "engine/ops/fused.h"
#include "engine/graph/edit.h"
#include "engine/rewrite/settle/element.h"
#include "engine/rewrite/settle/passes.h"

#include <string.h>

#define NODES_MAX 24
#define FAR_COUNT 4096 /* tensors of more elements are not kept waiting */
#define COLUMNS_MIN 24 /* shorter rows cost more than a step */
#define FAR_NODES 12   /* that many nodes from a cluster's first */
#define PORTS_MAX 16   /* inputs, and outputs */

struct cluster {
    struct element element[NODES_MAX];
    unsigned n, n_in;     /* n_in: operands from outside, at most */
    int64_t cols, count;  /* cols 0: not cut into rows yet */
    struct cluster *into; /* merged into that one */
    bool closed;
};

struct fusion {
    struct edit e;
    struct cluster **of; /* of each wire: the cluster that makes it */
    struct cluster **at; /* of each node */
    rill_error *err;
};

static rill_status no_memory(const struct fusion *c)
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

/* The rows that all operands of an element ask for; false: they lie otherwise, or two ask for
 * different ones. */
static bool element_rows(const struct graph *g, const struct element *l, int64_t *ret_n)
{
    struct tensor out, x;
    if (!known_shape(g, g->nodes[l->node].out[0], &out))
        return false;
    *ret_n = 0;
    for (unsigned i = 0; i < l->n_in; i++) {
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

static bool cluster_takes(const struct graph *g, const struct cluster *c, const struct element *l,
                          int64_t n)
{
    struct tensor out, first;
    known_shape(g, g->nodes[l->node].out[0], &out);
    known_shape(g, g->nodes[c->element[0].node].out[0], &first);
    bool near = c->count <= FAR_COUNT || l->node - c->element[0].node <= FAR_NODES;
    bool same =
        out.rank == first.rank && !memcmp(out.dim, first.dim, (size_t) out.rank * sizeof *out.dim);
    return !c->closed && c->n < NODES_MAX && c->n_in + l->n_in <= PORTS_MAX && near &&
        rows_agree(c->cols, n) && (same || (!c->cols && !n && tensor_count(&out) == c->count));
}

/* The nodes of two clusters, in the order of the graph. */
static void cluster_merge(struct cluster *to, struct cluster *from)
{
    struct element all[NODES_MAX];
    unsigned a = 0, b = 0, n = 0;
    while (a < to->n || b < from->n)
        all[n++] = b == from->n || (a < to->n && to->element[a].node < from->element[b].node)
            ? to->element[a++]
            : from->element[b++];
    memcpy(to->element, all, n * sizeof *all);
    to->n = n;
    to->n_in += from->n_in;
    to->cols = to->cols ? to->cols : from->cols;
    from->into = to;
}

static rill_status element_join(struct fusion *c, const struct element *l, int64_t n)
{
    struct graph *g = c->e.g;
    struct cluster *mine = NULL;
    struct tensor out;
    for (unsigned i = 0; i < l->n_in; i++) {
        struct cluster *k = cluster_root(c->of[l->in[i]]);
        if (!k || k == mine || !cluster_takes(g, k, l, n))
            continue;
        if (!mine)
            mine = k;
        else if (mine->n + k->n < NODES_MAX && mine->n_in + k->n_in + l->n_in <= PORTS_MAX &&
                 rows_agree(mine->cols, k->cols))
            cluster_merge(mine, k);
    }
    known_shape(g, g->nodes[l->node].out[0], &out);
    if (!mine && !(mine = arena_new(g->arena, struct cluster)))
        return no_memory(c);
    mine->count = tensor_count(&out);
    mine->cols = mine->cols ? mine->cols : n;
    mine->element[mine->n++] = *l;
    for (unsigned i = 0; i < l->n_in; i++)
        mine->n_in += cluster_root(c->of[l->in[i]]) != mine;
    c->of[g->nodes[l->node].out[0]] = mine;
    c->at[l->node] = mine;
    return RILL_OK;
}

/* Clusters that somebody outside reads from take no more nodes. */
static void consumers_close(struct fusion *c, const struct node *n, const struct cluster *mine)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        struct cluster *k = n->in[i] == WIRE_NONE ? NULL : cluster_root(c->of[n->in[i]]);
        if (k && k != mine)
            k->closed = true;
    }
}

static rill_status clusters_grow(struct fusion *c)
{
    struct graph *g = c->e.g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct element l;
        int64_t n;
        if (element_read(g, i, &l) && element_rows(g, &l, &n))
            TRY(element_join(c, &l, n));
        consumers_close(c, &g->nodes[i], cluster_root(c->at[i]));
    }
    return RILL_OK;
}

/* ---- programs ---- */

struct program {
    struct fusion *c;
    const struct cluster *k;
    int64_t *steps, *values, *shapes;
    uint32_t n_steps, n_values, n_shapes;
    uint32_t in[PORTS_MAX], out[PORTS_MAX], *value; /* value: the wire of each */
    unsigned n_in, n_out;
};

/* Readers other than the cluster's elements. */
static bool read_outside(const struct program *p, uint32_t wire)
{
    const struct graph *g = p->c->e.g;
    uint32_t inside = 0;
    for (unsigned i = 0; i < p->k->n; i++)
        for (unsigned a = 0; a < g->nodes[p->k->element[i].node].n_in; a++)
            inside += g->nodes[p->k->element[i].node].in[a] == wire;
    return p->c->e.consumers[wire] > inside;
}

static int64_t wire_find(const uint32_t *list, unsigned n, uint32_t wire)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == wire)
            return i;
    return -1;
}

static void step_add(struct program *p, int64_t op, int64_t to, int64_t a, int64_t b)
{
    int64_t *s = p->steps + p->n_steps;
    s[0] = op;
    s[1] = to;
    s[2] = a;
    s[3] = b;
    p->n_steps += FUSED_STEP_INTS;
}

static int64_t value_new(struct program *p, uint32_t wire, bool all_rows, bool all_columns)
{
    int64_t columns = p->k->cols ? p->k->cols : p->k->count;
    p->values[2 * p->n_values] = all_rows ? p->k->count / columns : 1;
    p->values[2 * p->n_values + 1] = all_columns ? columns : 1;
    p->value[p->n_values] = wire;
    return p->n_values++;
}

static bool input_add(struct program *p, const struct element *l, uint32_t wire)
{
    const struct graph *g = p->c->e.g;
    struct tensor out, x;
    int64_t n;
    if (wire_find(p->in, p->n_in, wire) >= 0)
        return true;
    if (p->n_in == PORTS_MAX)
        return false;
    known_shape(g, g->nodes[l->node].out[0], &out);
    known_shape(g, wire, &x);
    enum lie lie = operand_lie(&out, &x, &n);
    int64_t v = value_new(p, wire, lie == LIE_DENSE || lie == LIE_PER_ROW,
                          lie == LIE_DENSE || lie == LIE_ROW);
    step_add(p, KERN_LOAD, v, p->n_in, 0);
    p->in[p->n_in++] = wire;
    return true;
}

static bool inputs_find(struct program *p)
{
    for (unsigned i = 0; i < p->k->n; i++) {
        const struct element *l = &p->k->element[i];
        for (unsigned a = 0; a < l->n_in; a++)
            if (cluster_root(p->c->of[l->in[a]]) != p->k && !input_add(p, l, l->in[a]))
                return false;
    }
    return true;
}

static bool output_add(struct program *p, uint32_t wire)
{
    struct tensor t;
    if (p->n_out == PORTS_MAX)
        return false;
    known_shape(p->c->e.g, wire, &t);
    p->shapes[p->n_shapes++] = t.rank;
    for (int i = 0; i < t.rank; i++)
        p->shapes[p->n_shapes++] = t.dim[i];
    step_add(p, KERN_STORE, p->n_out, wire_find(p->value, p->n_values, wire), 0);
    p->out[p->n_out++] = wire;
    return true;
}

/* False: out of memory or ports; the nodes stay as they are. */
static bool program_make(struct program *p)
{
    const struct graph *g = p->c->e.g;
    p->steps = arena_array(g->arena, int64_t, FUSED_STEP_INTS * (NODES_MAX + 2 * PORTS_MAX));
    p->values = arena_array(g->arena, int64_t, 2 * (NODES_MAX + PORTS_MAX));
    p->value = arena_array(g->arena, uint32_t, NODES_MAX + PORTS_MAX);
    p->shapes = arena_array(g->arena, int64_t, PORTS_MAX * (RANK_MAX + 1));
    if (!p->steps || !p->values || !p->value || !p->shapes || !inputs_find(p))
        return false;
    for (unsigned i = 0; i < p->k->n; i++) {
        const struct element *l = &p->k->element[i];
        int64_t a = wire_find(p->value, p->n_values, l->in[0]),
                b = wire_find(p->value, p->n_values, l->in[1]);
        step_add(p, l->function, value_new(p, g->nodes[l->node].out[0], true, true), a, b);
    }
    for (unsigned i = 0; i < p->k->n; i++) {
        uint32_t w = g->nodes[p->k->element[i].node].out[0];
        if (read_outside(p, w) && !output_add(p, w))
            return false;
    }
    return p->n_out > 0;
}

static rill_status cluster_emit(struct fusion *c, const struct cluster *k)
{
    struct program p = { .c = c, .k = k };
    struct graph *g = c->e.g;
    if (k->n < 2 || !program_make(&p))
        return RILL_OK;
    struct fused_attr *a = arena_new(g->arena, struct fused_attr);
    if (!a)
        return no_memory(c);
    *a = (struct fused_attr) { .steps = { p.n_steps, p.steps },
                               .values = { 2 * p.n_values, p.values },
                               .shapes = { p.n_shapes, p.shapes } };
    uint32_t last = k->element[k->n - 1].node;
    for (unsigned i = 0; i < k->n; i++)
        c->e.gone[k->element[i].node] = true;
    return edit_insert(&c->e, last, &op_fused, a, p.in, p.n_in, p.out, p.n_out) ? RILL_OK
                                                                                : no_memory(c);
}

rill_status graph_with_elements_fused(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct fusion c = { .err = reterr,
                        .of = arena_array(g->arena, struct cluster *, g->n_wires + 1),
                        .at = arena_array(g->arena, struct cluster *, g->n_nodes + 1) };
    TRY(edit_begin(&c.e, ret, g, reterr));
    if (!c.of || !c.at)
        return no_memory(&c);
    TRY(clusters_grow(&c));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct cluster *k = cluster_root(c.at[i]);
        if (k && k->element[k->n - 1].node == i)
            TRY(cluster_emit(&c, k));
    }
    return edit_end(&c.e, reterr);
}
