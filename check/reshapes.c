/* SPDX-License-Identifier: MIT */
#include "check/reshapes.h"
#include "engine/graph/op.h"
#include "engine/ops/attrs.h"
#include "engine/typing/typed.h"

#include <stdio.h>
#include <string.h>

#define EDITS_MAX 256

/* Element `place` of the target of a node becomes a size. */
struct target_edit {
    uint32_t node;
    int place;
    const char *size; /* as text: every reading has symbols of its own */
};

/* Sizes as the file has them. */
struct old_shape {
    int rank; /* -1: not known */
    int64_t dim[RANK_MAX];
};

struct follow {
    struct arena arena;
    const struct shape_reader *reader;
    struct old_shape *old; /* of each wire */
    uint32_t n_wires;
    struct target_edit edit[EDITS_MAX];
    unsigned n_edits;
    rill_error *err;
};

static rill_status no_memory(const struct follow *f)
{
    return err_set(f->err, RILL_NOMEM, "out of memory");
}

/* ---- reading and typing ---- */

static rill_status edit_apply(const struct follow *f, struct graph *g, const struct target_edit *e)
{
    struct node *n = &g->nodes[e->node];
    const struct tensor *was = node_value(g, n, 1);
    const struct dim *size;
    TRY(dim_parse(g->dims, e->size, &size, f->err));
    struct tensor *t = tensor_new(g->arena, DTYPE_DIM, 1, was->dim);
    if (!t)
        return no_memory(f);
    const struct dim **to = t->data;
    for (int64_t i = 0; i < was->dim[0]; i++)
        to[i] = was->type == DTYPE_DIM ? ((const struct dim *const *) was->data)[i]
                                       : dim_int(g->dims, ((const int64_t *) was->data)[i]);
    to[e->place] = size;
    uint32_t w = graph_add_const(g, graph_name_next(g, n->name), t);
    uint32_t *in = arena_copy(g->arena, n->in, n->n_in * sizeof *in);
    if (w == WIRE_NONE || !in)
        return no_memory(f);
    in[1] = w;
    n->in = in;
    return RILL_OK;
}

static rill_status edits_apply(const struct follow *f, struct mgraph *m)
{
    for (unsigned i = 0; i < f->n_edits; i++)
        TRY(edit_apply(f, &m->g, &f->edit[i]));
    return RILL_OK;
}

/* Facts as far as typing comes; where it stops is for the caller's own typing to say. */
static rill_status facts_read(const struct follow *f, bool declared, struct mgraph *m,
                              struct arena *a, struct dims *dims, struct fact **ret)
{
    struct tgraph typed;
    TRY(f->reader->read(f->reader->arg, declared, m, a, dims, f->err));
    if (declared)
        TRY(edits_apply(f, m));
    if (!(*ret = arena_array(a, struct fact, m->g.n_wires + 1u)))
        return no_memory(f);
    tgraph_from_mgraph(&typed, m, &(struct typed_opts) { .ret_facts = *ret }, NULL);
    return RILL_OK;
}

static struct old_shape old_shape_of(const struct fact *f)
{
    struct old_shape s = { .rank = f->type == DTYPE_NONE ? -1 : f->rank };
    for (int i = 0; i < s.rank; i++) {
        if (!dim_is_const(f->shape[i]))
            return (struct old_shape) { .rank = -1 };
        s.dim[i] = dim_value(f->shape[i]);
    }
    return s;
}

static rill_status old_read(struct follow *f)
{
    struct arena a = { 0 };
    struct dims *dims = dims_new();
    struct mgraph m;
    struct fact *facts;
    rill_status s = dims ? facts_read(f, false, &m, &a, dims, &facts) : no_memory(f);
    if (s == RILL_OK && !(f->old = arena_array(&f->arena, struct old_shape, m.g.n_wires + 1u)))
        s = no_memory(f);
    for (uint32_t w = 0; s == RILL_OK && w < m.g.n_wires; w++)
        f->old[w] = old_shape_of(&facts[w]);
    f->n_wires = s == RILL_OK ? m.g.n_wires : 0;
    arena_drop(&a);
    dims_free(dims);
    return s;
}

/* ---- one Reshape ---- */

struct reshape {
    const struct old_shape *in;
    const struct fact *now;   /* of what goes in */
    int64_t target[RANK_MAX]; /* as it stands in the file */
    int64_t size[RANK_MAX];   /* what it came to with the old sizes */
    int rank;
};

static bool target_resolve(struct reshape *r)
{
    int64_t all = 1, others = 1;
    int open = -1;
    for (int i = 0; i < r->in->rank; i++)
        all *= r->in->dim[i];
    for (int k = 0; k < r->rank; k++) {
        r->size[k] = r->target[k] == 0 && k < r->in->rank ? r->in->dim[k] : r->target[k];
        if (r->target[k] == -1)
            open = k;
        else
            others *= r->size[k];
    }
    if (open >= 0 && others > 0)
        r->size[open] = all / others;
    return all > 0 && others > 0 && (open >= 0 || others == all);
}

static bool reshape_find(const struct follow *f, const struct graph *g, const struct fact *facts,
                         const struct node *n, struct reshape *ret)
{
    const struct tensor *t = node_is(n, OP_RESHAPE) ? node_value(g, n, 1) : NULL;
    if (!t || t->rank != 1 || t->dim[0] > RANK_MAX || n->in[0] >= f->n_wires ||
        (t->type != DTYPE_I64 && t->type != DTYPE_DIM))
        return false;
    ret->in = &f->old[n->in[0]];
    ret->now = &facts[n->in[0]];
    ret->rank = (int) t->dim[0];
    if (ret->in->rank < 0 || ret->now->type == DTYPE_NONE || ret->now->rank != ret->in->rank)
        return false;
    for (int k = 0; k < ret->rank; k++) {
        const struct dim *d =
            t->type == DTYPE_DIM ? ((const struct dim *const *) t->data)[k] : NULL;
        if (d && !dim_is_const(d))
            return false; /* it follows already */
        ret->target[k] = d ? dim_value(d) : ((const int64_t *) t->data)[k];
    }
    return target_resolve(ret);
}

/* Axes at.. of what goes in, and elements k.. of the target, that are the same block of numbers. */
struct block {
    int at, n_axes, k, n_elements;
};

/* The next one, as short as it can be; false: there is none. */
static bool block_next(const struct reshape *r, struct block *b)
{
    int64_t in = 1, out = 1;
    *b = (struct block) { .at = b->at + b->n_axes, .k = b->k + b->n_elements };
    do {
        bool more_in = b->at + b->n_axes < r->in->rank, more_out = b->k + b->n_elements < r->rank;
        if (!more_in && !more_out)
            return b->n_axes && b->n_elements && in == out;
        if (more_in && (in < out || !b->n_axes || !more_out))
            in *= r->in->dim[b->at + b->n_axes++];
        else
            out *= r->size[b->k + b->n_elements++];
    } while (in != out || !b->n_axes || !b->n_elements);
    return true;
}

/* What element k of the block becomes when all of it is as large as `all`; NULL: no whole size. */
static const struct dim *element_size(const struct reshape *r, const struct block *b, int k,
                                      const struct dim *all, struct dims *ds)
{
    int64_t others = 1;
    for (int i = b->k; i < b->k + b->n_elements; i++)
        others *= i == k ? 1 : r->size[i];
    const struct dim *size = dim_div_int(ds, all, others);
    return dim_mul_int(ds, size, others) == all ? size : NULL;
}

/* The axis of the block that is open; -1: none is, or several are. */
static int axis_open(const struct reshape *r, const struct block *b)
{
    int found = -1;
    for (int i = b->at; i < b->at + b->n_axes; i++)
        if (dim_has_symbol(r->now->shape[i])) {
            if (found >= 0)
                return -1;
            found = i;
        }
    return found;
}

/* Whether nothing but ones lies in front of size i, or behind it. */
static bool is_outermost(const int64_t *size, int i, int step, int from, int end)
{
    for (i += step; i >= from && i < end; i += step)
        if (size[i] != 1)
            return false;
    return true;
}

/* Frames stay where they were: the outermost axis becomes the outermost element, or the innermost
 * the innermost. */
static bool keeps_order(const struct reshape *r, const struct block *b, int axis, int k)
{
    bool keeps = false;
    for (int step = -1; !keeps && step <= 1; step += 2)
        keeps = is_outermost(r->in->dim, axis, step, b->at, b->at + b->n_axes) &&
            is_outermost(r->size, k, step, b->k, b->k + b->n_elements);
    return keeps;
}

/* Whether another element than k may be the open axis by a number, as in [T, 16] -> [T/4, 64] where
 * 64 is twice the old T: then nothing tells which one follows. */
static bool may_be_another(const struct reshape *r, const struct block *b, int k)
{
    const int axis = axis_open(r, b);
    bool found = false;
    if (axis >= 0 && keeps_order(r, b, axis, k))
        return false;
    for (int i = b->k; axis >= 0 && !found && i < b->k + b->n_elements; i++)
        found = i != k && r->size[i] > 1 && r->in->dim[axis] % r->size[i] == 0;
    return found;
}

/* The elements of a block of which each alone may follow its axes. */
struct readings {
    int n, k[RANK_MAX];
    const struct dim *size[RANK_MAX];
    bool part[RANK_MAX]; /* it is a part of the old size of the axis that is open */
};

/* n: 0 where none needs to follow, or none can. */
static void block_read(const struct reshape *r, const struct block *b, struct dims *ds,
                       struct readings *ret)
{
    const struct dim *all = dim_int(ds, 1);
    const int axis = axis_open(r, b);
    ret->n = 0;
    for (int i = b->at; i < b->at + b->n_axes; i++)
        all = dim_mul(ds, all, r->now->shape[i]);
    for (int k = b->k; k < b->k + b->n_elements; k++)
        if (r->target[k] <= 0)
            return; /* it is open, or a copy */
    for (int k = b->k; dim_has_symbol(all) && k < b->k + b->n_elements; k++) {
        ret->k[ret->n] = k;
        ret->size[ret->n] = element_size(r, b, k, all, ds);
        ret->part[ret->n] = axis >= 0 && r->in->dim[axis] % r->size[k] == 0;
        ret->n += ret->size[ret->n] != NULL;
    }
    if (ret->n == 1 && may_be_another(r, b, ret->k[0]))
        ret->n = 0;
}

/* Of the first block that has any. A target that holds an old size in parts stays as it is: typing
 * refuses the node by its sizes, if the transforms leave it. */
static void reshape_read(const struct reshape *r, struct dims *ds, struct readings *ret)
{
    struct block b = { 0 };
    ret->n = 0;
    while (!ret->n && block_next(r, &b))
        block_read(r, &b, ds, ret);
}

/* ---- the whole graph ---- */

static rill_status edit_note(struct follow *f, uint32_t node, int place, const struct dim *size)
{
    int n = dim_print(size, NULL, 0);
    char *text = arena_alloc(&f->arena, (size_t) n + 1);
    if (!text)
        return no_memory(f);
    dim_print(size, text, (size_t) n + 1);
    f->edit[f->n_edits++] = (struct target_edit) { node, place, text };
    return RILL_OK;
}

/* A product with weights over an axis of open size: they are as long as features, which time is
 * not. */
static bool weights_refuse(const struct graph *g, const struct fact *facts, const struct node *n)
{
    const bool conv = node_is(n, OP_CONV);
    if ((!conv && !node_is(n, OP_MATMUL) && !node_is(n, OP_GEMM)) || n->n_in < 2 ||
        (node_is(n, OP_GEMM) && gemm_attr_of(n)->ta))
        return false;
    const int weights = node_value(g, n, 1) ? 1 : node_value(g, n, 0) ? 0 : -1;
    const struct fact *x = weights < 0 ? NULL : &facts[n->in[1 - weights]];
    const int axis = !x ? -1 : conv ? 1 : weights ? x->rank - 1 : x->rank - 2;
    return x && x->type != DTYPE_NONE && axis >= 0 && axis < x->rank &&
        dim_has_symbol(x->shape[axis]);
}

/* Whether weights behind the Reshape contradict the edit that was noted last. */
static rill_status edit_refused(struct follow *f, bool *ret)
{
    struct arena a = { 0 };
    struct dims *dims = dims_new();
    struct mgraph m;
    struct fact *facts;
    rill_status s = dims ? facts_read(f, true, &m, &a, dims, &facts) : no_memory(f);
    *ret = false;
    for (uint32_t i = 0; s == RILL_OK && !*ret && i < m.g.n_nodes; i++)
        *ret = weights_refuse(&m.g, facts, &m.g.nodes[i]);
    arena_drop(&a);
    dims_free(dims);
    return s;
}

/* Of several readings the one that weights behind the node leave, where it is a part of the old
 * size, as T/4 of [T/4, 64], whose 64 meet the rows of a matrix. */
static rill_status edit_choose(struct follow *f, uint32_t node, const struct readings *of,
                               bool *ret)
{
    int chosen = of->n == 1 ? 0 : -1, left = of->n == 1;
    for (int i = 0; of->n > 1 && i < of->n; i++) {
        bool refused;
        TRY(edit_note(f, node, of->k[i], of->size[i]));
        TRY(edit_refused(f, &refused));
        f->n_edits--;
        left += !refused;
        chosen = refused ? chosen : i;
    }
    *ret = left == 1 && (of->n == 1 || of->part[chosen]);
    return *ret ? edit_note(f, node, of->k[chosen], of->size[chosen]) : RILL_OK;
}

/* Finds the first element that has to change; false in *ret: none has. */
static rill_status edit_find(struct follow *f, bool *ret)
{
    struct arena a = { 0 };
    struct dims *dims = dims_new();
    struct mgraph m;
    struct fact *facts;
    rill_status s = dims ? facts_read(f, true, &m, &a, dims, &facts) : no_memory(f);
    *ret = false;
    for (uint32_t i = 0; s == RILL_OK && !*ret && i < m.g.n_nodes; i++) {
        struct readings of = { 0 };
        struct reshape r;
        if (reshape_find(f, &m.g, facts, &m.g.nodes[i], &r))
            reshape_read(&r, dims, &of);
        if (of.n)
            s = edit_choose(f, i, &of, ret);
    }
    arena_drop(&a);
    dims_free(dims);
    return s;
}

rill_status reshapes_follow(struct mgraph *m, const struct shape_reader *r, rill_error *reterr)
{
    struct follow f = { .reader = r, .err = reterr };
    bool more = true;
    rill_status s = old_read(&f);
    while (s == RILL_OK && more && f.n_edits < EDITS_MAX)
        s = edit_find(&f, &more);
    if (s == RILL_OK)
        s = edits_apply(&f, m);
    arena_drop(&f.arena);
    return s;
}
