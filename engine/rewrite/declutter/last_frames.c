/* SPDX-License-Identifier: MIT */
/* Copies of the first or the last frame at the ends of a sequence are a Pad by the edge: those of
 * the last, cut out, repeated and joined to it (icefall's zipformers fill up chunks so), and frames
 * that a Gather picks at places which are clamped to the sequence. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

/* Whether the Slice takes the last place of axis `along`, if there is any, and cuts no other. */
static bool is_last(const struct graph *g, const struct node *n, int along)
{
    const struct dim *from = match_size(g, n->in[1]), *to = match_size(g, n->in[2]),
                     *size = dim_refresh(g->dims, g->wires[n->in[0]].fact.shape[along]);
    int64_t axis = 0, step = 1;
    unsigned one = 1;
    if (!from || !to ||
        (node_has_input(n, 3) && (!match_ints(g, n->in[3], &axis, 1, &one) || one != 1)) ||
        (node_has_input(n, 4) && (!match_ints(g, n->in[4], &step, 1, &one) || one != 1)) ||
        step != 1 || axis_normalise(axis, g->wires[n->in[0]].fact.rank) != along)
        return false;
    return (dim_is(from, -1) || from == dim_add_int(g->dims, size, -1)) &&
        (to == size || (dim_is_const(to) && dim_value(to) >= INT32_MAX));
}

/* The Concat joins a sequence and copies of its last frame. */
static bool copies_last(const struct graph *g, const struct node *n)
{
    const struct node *copies =
        node_is(n, OP_CONCAT) && n->n_in == 2 ? match_op(g, n->in[1], OP_EXPAND) : NULL;
    const struct node *last = copies ? match_op(g, copies->in[0], OP_SLICE) : NULL;
    if (!last || last->in[0] != n->in[0])
        return false;
    const struct fact *x = &g->wires[n->in[0]].fact, *y = &g->wires[n->in[1]].fact;
    const int along = axis_normalise(axis_of(n), x->rank);
    return y->rank == x->rank && g->wires[last->out[0]].fact.rank == x->rank &&
        is_last(g, last, along);
}

/* Pads of nothing but so many frames in front of an axis and behind it. */
static uint32_t pads_along(struct graph *g, int rank, int along, const struct dim *before,
                           const struct dim *behind)
{
    const struct dim *pads[2 * RANK_MAX];
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = i == along ? before : i == rank + along ? behind : dim_int(g->dims, 0);
    return put_sizes(g, "pads", pads, 2 * rank);
}

static rill_status edge_attr(const char *name, void *ret, rill_error *reterr)
{
    const struct attr edge = { .name = "mode",
                               .kind = ATTR_STRINGS,
                               .strings = { 1, (const char *const[]) { "edge" } } };
    return attrs_parse(op_by_id(OP_PAD), name, &edge, 1, ret, reterr);
}

/* Input 0 of node `at` padded by the edge, a tensor of fact f. */
static rill_status edge_pad(struct edit *e, uint32_t at, int along, const struct dim *before,
                            const struct dim *behind, const struct fact *f, uint32_t *ret,
                            rill_error *reterr)
{
    struct graph *g = e->g;
    const uint32_t x = g->nodes[at].in[0];
    const uint32_t in[2] = { x, pads_along(g, f->rank, along, before, behind) };
    const struct op *op = op_by_id(OP_PAD);
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    if (in[1] == WIRE_NONE || !attr)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(edge_attr(g->nodes[at].name, attr, reterr));
    TRY(put_wire(g, g->wires[x].name, f, ret, reterr));
    return edit_insert(e, at, op, attr, in, 2, ret, 1)
        ? RILL_OK
        : err_set(reterr, RILL_NOMEM, "out of memory");
}

static rill_status pad_put(struct edit *e, uint32_t at, rill_error *reterr)
{
    struct graph *g = e->g;
    const struct op *op = op_by_id(OP_PAD);
    const struct node *n = &g->nodes[at];
    const int rank = g->wires[n->in[0]].fact.rank, along = axis_normalise(axis_of(n), rank);
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    const uint32_t in[2] = { n->in[0],
                             pads_along(g, rank, along, dim_int(g->dims, 0),
                                        g->wires[n->in[1]].fact.shape[along]) };
    if (in[1] == WIRE_NONE || !attr || !edit_inputs(e, at, in, 2))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(edge_attr(n->name, attr, reterr));
    g->nodes[at].op = op;
    g->nodes[at].attr = attr;
    return RILL_OK;
}

/* ---- places that are clamped ---- */

/* Places first, first + 1, .. up to `end`, and what is done to those outside. */
struct places {
    int64_t first;
    const struct dim *end;
    bool from_start, to_last; /* those before frame 0 are 0, those behind the last frame it */
};

static bool places_of(const struct graph *g, uint32_t w, const struct dim *last, int steps,
                      struct places *ret);

static bool range_of(const struct graph *g, const struct node *n, struct places *ret)
{
    const struct dim *from = match_size(g, n->in[0]), *by = match_size(g, n->in[2]);
    *ret = (struct places) { .end = match_size(g, n->in[1]) };
    if (!from || !dim_is_const(from) || !by || !dim_is(by, 1) || !ret->end)
        return false;
    ret->first = dim_value(from);
    return ret->first > INT32_MIN && ret->first < INT32_MAX;
}

/* One bound of theirs, 0 or the last frame. */
static bool bound_take(const struct dim *bound, bool upper, const struct dim *last,
                       struct places *ret)
{
    if (!bound || !(upper ? bound == last : dim_is(bound, 0)))
        return false;
    *(upper ? &ret->to_last : &ret->from_start) = true;
    return true;
}

/* Min or Max with a bound. */
static bool bounded_places(const struct graph *g, const struct node *n, const struct dim *last,
                           int steps, struct places *ret)
{
    for (int k = 0; n->n_in == 2 && k < 2; k++) {
        const struct dim *bound = match_size(g, n->in[k]);
        if (bound && places_of(g, match_other(n, k), last, steps, ret))
            return bound_take(bound, node_is(n, OP_MIN), last, ret);
    }
    return false;
}

static bool clipped_places(const struct graph *g, const struct node *n, const struct dim *last,
                           int steps, struct places *ret)
{
    if (!places_of(g, n->in[0], last, steps, ret))
        return false;
    for (unsigned k = 1; k < 3; k++)
        if (node_has_input(n, k) && !bound_take(match_size(g, n->in[k]), k == 2, last, ret))
            return false;
    return true;
}

/* Places that were not clamped yet, moved by a number. */
static bool moved_places(const struct graph *g, const struct node *n, const struct dim *last,
                         int steps, struct places *ret)
{
    for (int k = node_is(n, OP_SUB); k < 2; k++) {
        const struct dim *by = match_size(g, n->in[k]);
        if (!by || !dim_is_const(by) || !places_of(g, match_other(n, k), last, steps, ret) ||
            ret->from_start || ret->to_last)
            continue;
        const int64_t v = node_is(n, OP_SUB) ? -dim_value(by) : dim_value(by);
        ret->first += v;
        ret->end = dim_add_int(g->dims, ret->end, v);
        return v > INT32_MIN && v < INT32_MAX;
    }
    return false;
}

#define STEPS_MAX 8

static bool places_of(const struct graph *g, uint32_t w, const struct dim *last, int steps,
                      struct places *ret)
{
    const struct node *n = graph_producer(g, w);
    if (!n || steps == STEPS_MAX)
        return false;
    switch (n->op->id) {
    case OP_RANGE: return range_of(g, n, ret);
    case OP_ADD:
    case OP_SUB: return moved_places(g, n, last, steps + 1, ret);
    case OP_MIN:
    case OP_MAX: return bounded_places(g, n, last, steps + 1, ret);
    case OP_CLIP: return clipped_places(g, n, last, steps + 1, ret);
    default: return false;
    }
}

/* Frames of the sequence, and copies of those at its ends: so many in front and behind. */
struct edges {
    int along;
    int64_t before, behind;
    struct places at;
};

static bool picks_edges(const struct graph *g, const struct node *n, struct edges *ret)
{
    if (!node_is(n, OP_GATHER) || g->wires[n->in[1]].fact.rank != 1)
        return false;
    ret->along = axis_normalise(axis_of(n), g->wires[n->in[0]].fact.rank);
    const struct dim *size = dim_refresh(g->dims, g->wires[n->in[0]].fact.shape[ret->along]);
    if (!dim_has_symbol(size) ||
        !places_of(g, n->in[1], dim_add_int(g->dims, size, -1), 0, &ret->at))
        return false;
    const struct dim *behind = dim_sub(g->dims, ret->at.end, size);
    if (!dim_is_const(behind))
        return false;
    ret->before = ret->at.first < 0 ? -ret->at.first : 0;
    ret->behind = dim_value(behind) > 0 ? dim_value(behind) : 0;
    return (ret->before || ret->behind) && (!ret->before || ret->at.from_start) &&
        (!ret->behind || ret->at.to_last);
}

static rill_status edges_put(struct edit *e, uint32_t at, const struct edges *q, rill_error *reterr)
{
    struct graph *g = e->g;
    struct dims *ds = g->dims;
    const struct op *op = op_by_id(OP_SLICE);
    struct fact f = g->wires[g->nodes[at].in[0]].fact;
    const struct dim *first = dim_int(ds, q->at.first > 0 ? q->at.first : 0),
                     *end = dim_add_int(ds, q->at.end, q->before), *along = dim_int(ds, q->along);
    uint32_t padded = WIRE_NONE;
    f.value = NULL;
    f.shape[q->along] = dim_add_int(ds, f.shape[q->along], q->before + q->behind);
    TRY(edge_pad(e, at, q->along, dim_int(ds, q->before), dim_int(ds, q->behind), &f, &padded,
                 reterr));
    const uint32_t in[4] = { padded, put_sizes(g, "first", &first, 1), put_sizes(g, "end", &end, 1),
                             put_sizes(g, "axis", &along, 1) };
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    if (in[1] == WIRE_NONE || in[2] == WIRE_NONE || in[3] == WIRE_NONE || !attr ||
        !edit_inputs(e, at, in, 4))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    g->nodes[at].op = op;
    g->nodes[at].attr = attr;
    return RILL_OK;
}

rill_status graph_with_last_frames_padded(struct graph *ret, const struct graph *g,
                                          rill_error *reterr)
{
    struct edit e;
    struct edges edges;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (copies_last(ret, &ret->nodes[i]))
            TRY(pad_put(&e, i, reterr));
        else if (picks_edges(ret, &ret->nodes[i], &edges))
            TRY(edges_put(&e, i, &edges, reterr));
    return edit_end(&e, reterr);
}
