/* SPDX-License-Identifier: MIT */
/* Numbers that are rounded to a grid only to be moved, such as the slices of a state that a net
 * quantises, are rounded by the StridedCopies that read them. A copy that did nothing but cut them
 * out goes, too. */
#include "engine/ops/fused.h"
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/copies.h"
#include "engine/rewrite/settle/passes.h"

#include <string.h>

#define NODES_MAX 7 /* two roundings and a copy */

/* How a wire comes by its numbers. */
struct rounding {
    bool is;
    uint32_t source; /* what is rounded; behind the cut: what that reads */
    const struct piece *cut;
    float grid[COPY_GRID_FLOATS];
    uint32_t node[NODES_MAX]; /* that nobody else needs */
    unsigned n_nodes;
};

struct rounder {
    struct edit e;
    struct rounding *of; /* of each wire */
    int64_t *reads;      /* elements of each wire that copies read; -1: somebody else reads it */
    struct arena work;
    rill_error *err;
};

static rill_status no_memory(const struct rounder *r)
{
    return err_set(r->err, RILL_NOMEM, "out of memory");
}

/* A copy that may round what it moves. */
static bool copy_may_round(const struct node *n)
{
    return node_is(n, OP_STRIDED_COPY) && copy_attr(n)->base < 0 && !copy_attr(n)->grids.n;
}

static void reads_count(struct rounder *r)
{
    const struct graph *g = r->e.g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        const bool copy = copy_may_round(n);
        const struct piece *p = copy ? (const void *) copy_attr(n)->pieces.v : NULL;
        for (unsigned k = 0; !copy && k < n->n_in; k++)
            if (n->in[k] != WIRE_NONE)
                r->reads[n->in[k]] = -1;
        for (uint32_t k = 0; copy && k < copy_attr(n)->pieces.n / PIECE_INTS; k++)
            if (r->reads[n->in[p[k].input]] >= 0)
                r->reads[n->in[p[k].input]] += piece_count(&p[k]);
    }
    for (uint32_t i = 0; i < r->e.n_wires; i++)
        if (wire_leaves(g, i))
            r->reads[i] = -1;
}

/* ---- what is rounded ---- */

/* One rounding; the nodes behind its last are nobody else's. */
static bool rounding_take(const struct rounder *r, uint32_t wire, struct rounding *to,
                          struct rounded_wire *ret)
{
    const struct graph *g = r->e.g;
    uint32_t whole, quotient;
    if (!wire_is_rounded(g, wire, ret) || ret->op != OP_ROUND_S8)
        return false;
    to->node[to->n_nodes++] = g->wires[wire].node;
    uint32_t w = g->nodes[g->wires[wire].node].in[0];
    if (!edit_sole_producer(&r->e, w, &whole) ||
        !edit_sole_producer(&r->e, g->nodes[whole].in[0], &quotient))
        return false;
    to->node[to->n_nodes++] = whole;
    to->node[to->n_nodes++] = quotient;
    return true;
}

/* What makes the source rounds it as well, in the same step. */
static bool rounds_where_made(const struct rounder *r, uint32_t wire)
{
    const struct graph *g = r->e.g;
    uint32_t at = g->wires[wire].node;
    if (at == WIRE_NONE)
        return g->wires[wire].fact.value != NULL;
    const struct node *n = &g->nodes[at];
    return fused_function(n->op->id) >= 0 ||
        (n->op->epilogue_in && n->out[0] == wire && r->e.consumers[wire] == 1);
}

static void cut_take(const struct rounder *r, struct rounding *to)
{
    const struct graph *g = r->e.g;
    struct rounded_wire none;
    uint32_t at;
    if (!edit_sole_producer(&r->e, to->source, &at) || !copy_may_round(&g->nodes[at]) ||
        copy_attr(&g->nodes[at])->pieces.n != PIECE_INTS)
        return;
    const struct piece *cut = (const void *) copy_attr(&g->nodes[at])->pieces.v;
    if (wire_is_rounded(g, g->nodes[at].in[cut->input], &none))
        return;
    to->cut = cut;
    to->node[to->n_nodes++] = at;
    to->source = g->nodes[at].in[cut->input];
}

static void rounding_find(struct rounder *r, uint32_t wire)
{
    struct rounding to = { .is = true }, two = { 0 };
    struct rounded_wire last, first;
    struct tensor t;
    struct kern_grid grid;
    if (r->reads[wire] <= 0 || !fact_to_tensor(&r->e.g->wires[wire].fact, &t) ||
        tensor_count(&t) > COPY_ELEMENTS_MAX ||
        r->reads[wire] > tensor_count(&t) + tensor_count(&t) / 4 ||
        !rounding_take(r, wire, &to, &last))
        return;
    to.source = last.of;
    memcpy(to.grid, (float[]) { last.scale, last.zero, 0, 0 }, sizeof to.grid);
    two = to;
    if (r->e.consumers[last.of] == 1 && rounding_take(r, last.of, &two, &first)) {
        two.source = first.of;
        memcpy(two.grid, (float[]) { first.scale, first.zero, last.scale, last.zero },
               sizeof two.grid);
        to = two;
    }
    if (!strided_copy_grid(to.grid, &grid) || rounds_where_made(r, to.source))
        return;
    cut_take(r, &to);
    r->of[wire] = to;
}

/* ---- the copies ---- */

static void cut_note(void *to, int64_t from, int64_t at)
{
    ((uint32_t *) to)[at] = (uint32_t) from;
}

struct walked {
    struct origin *o;
    int32_t input;
    const uint32_t *cut; /* NULL: the input is read as it is */
};

static void origin_note(void *to, int64_t from, int64_t at)
{
    struct walked *w = to;
    w->o[at] = (struct origin) { w->input, w->cut ? w->cut[from] : (uint32_t) from };
}

/* Where the elements of a cut lie in what it reads. NULL: no memory. */
static const uint32_t *cut_places(struct rounder *r, const struct piece *cut)
{
    uint32_t *at = arena_array(&r->work, uint32_t, (size_t) piece_count(cut) + 1);
    if (at)
        piece_walk(cut, cut_note, at);
    return at;
}

/* The pieces of a copy that reads what its inputs are rounded of. */
static rill_status pieces_read(struct rounder *r, const struct node *n, struct attr_ints *ret)
{
    struct attr_ints list = copy_attr(n)->pieces;
    const struct piece *p = (const void *) list.v;
    struct tensor t;
    uint32_t n_pieces;
    fact_to_tensor(&r->e.g->wires[n->out[0]].fact, &t);
    struct walked w = { .o = arena_array(&r->work, struct origin, (size_t) tensor_count(&t) + 1) };
    if (!w.o)
        return no_memory(r);
    for (uint32_t i = 0; i < list.n / PIECE_INTS; i++) {
        const struct piece *cut = r->of[n->in[p[i].input]].cut;
        w.input = (int32_t) p[i].input;
        if ((w.cut = NULL, cut) && !(w.cut = cut_places(r, cut)))
            return no_memory(r);
        piece_walk(&p[i], origin_note, &w);
    }
    struct piece *made = pieces_from_origins(&r->work, w.o, (size_t) tensor_count(&t), &n_pieces);
    if (!made)
        return no_memory(r);
    *ret = (struct attr_ints) { (uint32_t) (n_pieces * PIECE_INTS), (const void *) made };
    return RILL_OK;
}

static bool reads_rounded(const struct rounder *r, const struct node *n)
{
    bool reads = false;
    for (unsigned k = 0; copy_may_round(n) && k < n->n_in; k++)
        reads = reads || r->of[n->in[k]].is;
    return reads;
}

/* Rows, and not many more of them than before. */
static bool pieces_round(const struct rounder *r, const struct node *n, struct attr_ints list)
{
    const struct piece *p = (const void *) list.v;
    for (uint32_t i = 0; i < list.n / PIECE_INTS; i++)
        if (r->of[n->in[p[i].input]].is && !piece_has_rows(&p[i]))
            return false;
    return list.n <= copy_attr(n)->pieces.n + COPY_PIECES_MORE * PIECE_INTS;
}

/* What one copy cannot round stays as it is for all. */
static rill_status roundings_drop(struct rounder *r)
{
    const struct graph *g = r->e.g;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < r->e.n_nodes; i++) {
            const struct node *n = &g->nodes[i];
            struct attr_ints list;
            struct tensor t;
            if (!reads_rounded(r, n))
                continue;
            fact_to_tensor(&g->wires[n->out[0]].fact, &t);
            bool small = tensor_count(&t) <= COPY_ELEMENTS_MAX;
            if (small)
                TRY(pieces_read(r, n, &list));
            if (small && pieces_round(r, n, list))
                continue;
            for (unsigned k = 0; k < n->n_in; k++)
                r->of[n->in[k]] = (struct rounding) { .is = false };
            again = true;
        }
        arena_drop(&r->work);
    }
    return RILL_OK;
}

static rill_status copy_round(struct rounder *r, uint32_t at)
{
    struct graph *g = r->e.g;
    const struct node n = g->nodes[at];
    struct attr_ints list;
    TRY(pieces_read(r, &n, &list));
    struct strided_copy_attr *a = edit_attr(&r->e, at);
    float *grids = arena_array(g->arena, float, n.n_in *COPY_GRID_FLOATS);
    uint32_t *in = arena_copy(g->arena, n.in, n.n_in * sizeof *in);
    const int64_t *pieces = arena_copy(g->arena, list.v, list.n * sizeof *pieces);
    if (!a || !grids || !in || !pieces)
        return no_memory(r);
    for (unsigned k = 0; k < n.n_in; k++) {
        const struct rounding *of = &r->of[n.in[k]];
        if (!of->is)
            continue;
        memcpy(grids + k * COPY_GRID_FLOATS, of->grid, sizeof of->grid);
        in[k] = of->source;
        for (unsigned i = 0; i < of->n_nodes; i++)
            r->e.gone[of->node[i]] = true;
    }
    a->pieces = (struct attr_ints) { list.n, pieces };
    a->grids = (struct attr_floats) { n.n_in * COPY_GRID_FLOATS, grids };
    return copy_patch_state(g, &r->work, &n, in, a) && edit_inputs(&r->e, at, in, n.n_in)
        ? RILL_OK
        : no_memory(r);
}

static rill_status copies_round(struct rounder *r)
{
    for (uint32_t i = 0; i < r->e.n_wires; i++)
        rounding_find(r, i);
    TRY(roundings_drop(r));
    for (uint32_t i = 0; i < r->e.n_nodes; i++)
        if (reads_rounded(r, &r->e.g->nodes[i]))
            TRY(copy_round(r, i));
    return RILL_OK;
}

rill_status graph_with_copies_rounded(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct rounder r = { .work.owner = g->arena, .err = reterr };
    TRY(edit_begin(&r.e, ret, g, reterr));
    r.of = arena_array(ret->arena, struct rounding, r.e.n_wires + 1);
    r.reads = arena_array(ret->arena, int64_t, r.e.n_wires + 1);
    if (!r.of || !r.reads)
        return no_memory(&r);
    reads_count(&r);
    rill_status s = copies_round(&r);
    arena_drop(&r.work);
    TRY(s);
    return edit_end(&r.e, reterr);
}
