/* SPDX-License-Identifier: MIT */
/* Clusters grow in the order of the nodes: an element-wise node joins those that made its inputs as
 * long as nobody outside has read from them. A cluster runs where its last node stood, so all it
 * reads is there and nothing it makes is late. */
#include "engine/ops/lie.h"
#include "engine/rewrite/settle/element.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/rewrite/settle/program_build.h"

#include <string.h>

#define NODES_MAX 64
#define FAR_COUNT 4096 /* tensors of more elements are not kept waiting */
#define COLUMNS_MIN 24 /* shorter rows cost more than a step */
#define FAR_NODES 12   /* that many nodes from a cluster's first */
#define PORTS_MAX 48   /* inputs, and outputs */

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
    struct program_builder program;
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

/* A matrix with every row and column of the output's, or one row or column for all; columns: how
 * many the output must have for that, in more than one row (0: any number will do). */
struct placing {
    bool every_row, every_column;
    int64_t columns;
};

static int64_t places(const struct tensor *t, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= t->dim[i];
    return n;
}

/* False: it lies otherwise. */
static bool operand_place(const struct tensor *out, const struct tensor *x, struct placing *ret)
{
    struct operand_lie l = operand_lie(x, out);
    bool all = l.lie == LIE_ALL;
    *ret = (struct placing) { .every_row = all, .every_column = all };
    if (l.lie != LIE_AXES)
        return l.lie != LIE_NOT;
    int64_t behind = places(out, l.last + 1, out->rank);
    bool row = behind == 1, column = places(out, 0, l.first) == 1;
    *ret = (struct placing) { column, row, row ? places(out, l.first, l.last + 1) : behind };
    return row || column;
}

static bool rows_agree(int64_t a, int64_t b)
{
    return !a || !b || a == b;
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
        struct placing p;
        if (!known_shape(g, l->in[i], &x) || !operand_place(&out, &x, &p) ||
            !rows_agree(p.columns, *ret_n))
            return false;
        *ret_n = p.columns ? p.columns : *ret_n;
    }
    return !*ret_n || *ret_n >= COLUMNS_MIN;
}

/* ---- growing ---- */

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

/* Of an operand, or of what the cluster makes. */
static struct fused_value size_of(const struct cluster *k, struct placing p)
{
    int64_t columns = k->cols ? k->cols : k->count;
    return (struct fused_value) { p.every_row ? k->count / columns : 1,
                                  p.every_column ? columns : 1 };
}

static void operands_load(struct fusion *c, const struct cluster *k, const struct element *l)
{
    const struct graph *g = c->e.g;
    struct tensor out, x;
    struct placing p;
    known_shape(g, g->nodes[l->node].out[0], &out);
    for (unsigned a = 0; a < l->n_in; a++)
        if (cluster_root(c->of[l->in[a]]) != k && known_shape(g, l->in[a], &x) &&
            operand_place(&out, &x, &p))
            program_load(&c->program, l->in[a], size_of(k, p));
}

static rill_status cluster_emit(struct fusion *c, const struct cluster *k)
{
    struct program_builder *p = &c->program;
    uint32_t node[NODES_MAX];
    if (k->n < 2)
        return RILL_OK;
    program_begin(p);
    for (unsigned i = 0; i < k->n; i++)
        operands_load(c, k, &k->element[i]);
    for (unsigned i = 0; i < k->n; i++) {
        const struct element *l = &k->element[i];
        int64_t a = program_value_of(p, l->in[0]), b = program_value_of(p, l->in[1]);
        uint32_t made = c->e.g->nodes[l->node].out[0];
        int64_t to = program_value_new(p, made, size_of(k, (struct placing) { true, true, 0 }));
        program_step(p, l->function, to, a, b);
        node[i] = l->node;
    }
    return program_end(p, node, k->n, c->err);
}

rill_status graph_with_elements_fused(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct fusion c = { .err = reterr,
                        .of = arena_array(g->arena, struct cluster *, g->n_wires + 1),
                        .at = arena_array(g->arena, struct cluster *, g->n_nodes + 1) };
    TRY(edit_begin(&c.e, ret, g, reterr));
    if (!c.of || !c.at || !program_builder_init(&c.program, &c.e, PORTS_MAX))
        return no_memory(&c);
    TRY(clusters_grow(&c));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct cluster *k = cluster_root(c.at[i]);
        if (k && k->element[k->n - 1].node == i)
            TRY(cluster_emit(&c, k));
    }
    return edit_end(&c.e, reterr);
}
