/* SPDX-License-Identifier: MIT */
/* Copies of the first or the last frame at the ends of a sequence are a Pad by the edge: those of
 * the last, cut out, repeated and joined to it (icefall's zipformers fill up chunks so), and
 * frames, or windows of them, that a Gather picks at places which are clamped to the sequence. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

/* Where what the Slice takes of axis `along` begins, if that is up to its end and it cuts no other;
 * NULL: it is another. */
static const struct dim *taken_from(const struct graph *g, const struct node *n, int along)
{
    const struct dim *from = match_size(g, n->in[1]), *to = match_size(g, n->in[2]),
                     *size = dim_refresh(g->dims, g->wires[n->in[0]].fact.shape[along]);
    int64_t axis = 0, step = 1;
    unsigned one = 1;
    if (!from || !to ||
        (node_has_input(n, 3) && (!match_ints(g, n->in[3], &axis, 1, &one) || one != 1)) ||
        (node_has_input(n, 4) && (!match_ints(g, n->in[4], &step, 1, &one) || one != 1)) ||
        step != 1 || axis_normalise(axis, g->wires[n->in[0]].fact.rank) != along)
        return NULL;
    return to == size || (dim_is_const(to) && dim_value(to) >= INT32_MAX) ? from : NULL;
}

/* Whether the Slice takes the last place of axis `along`, if there is any, and cuts no other. */
static bool is_last(const struct graph *g, const struct node *n, int along)
{
    const struct dim *from = taken_from(g, n, along),
                     *size = dim_refresh(g->dims, g->wires[n->in[0]].fact.shape[along]);
    return from && (dim_is(from, -1) || from == dim_add_int(g->dims, size, -1));
}

/* Whether the Gather picks the last place of axis `along` and no other. */
static bool picks_last(const struct graph *g, const struct node *n, int along)
{
    const struct fact *x = &g->wires[n->in[0]].fact;
    const struct dim *at = match_size(g, n->in[1]), *size = dim_refresh(g->dims, x->shape[along]);
    return at && axis_normalise(axis_of(n), x->rank) == along &&
        (dim_is(at, -1) || at == dim_add_int(g->dims, size, -1));
}

/* Whether the wire is the last place of axis `along` of *ret_of, if there is any: cut out, or
 * picked and laid along that axis. */
static bool is_last_of(const struct graph *g, uint32_t w, int along, uint32_t *ret_of)
{
    const struct node *n = graph_producer(g, w), *at = n;
    int64_t axis;
    unsigned one;
    if (node_is(n, OP_UNSQUEEZE)) {
        if (!match_ints(g, n->in[1], &axis, 1, &one) || one != 1 ||
            axis_normalise(axis, g->wires[w].fact.rank) != along)
            return false;
        at = match_op(g, n->in[0], OP_GATHER);
    }
    if (!at || g->wires[w].fact.rank != g->wires[at->in[0]].fact.rank)
        return false;
    *ret_of = at->in[0];
    return node_is(at, OP_GATHER) ? picks_last(g, at, along)
                                  : node_is(at, OP_SLICE) && is_last(g, at, along);
}

#define STEPS_MAX 8

/* Whether the wire is copies along that axis of the last place of *ret_of. */
static bool is_copies_of(const struct graph *g, uint32_t w, int along, int steps, uint32_t *ret_of)
{
    const struct node *n = graph_producer(g, w);
    if (!n || steps == STEPS_MAX)
        return false;
    if (node_is(n, OP_EXPAND) || node_is(n, OP_TILE))
        return g->wires[w].fact.rank == g->wires[n->in[0]].fact.rank &&
            is_copies_of(g, n->in[0], along, steps + 1, ret_of);
    if (!node_is(n, OP_CONCAT))
        return is_last_of(g, w, along, ret_of);
    uint32_t of = WIRE_NONE;
    bool ok = axis_normalise(axis_of(n), g->wires[w].fact.rank) == along;
    for (unsigned i = 0; ok && i < n->n_in; i++) {
        ok = is_copies_of(g, n->in[i], along, steps + 1, ret_of) && (i == 0 || *ret_of == of);
        of = *ret_of;
    }
    return ok;
}

/* Whether the last places of that axis of the wire are all of `end`. */
static bool ends_with(const struct graph *g, uint32_t w, uint32_t end, int along)
{
    for (int steps = 0; w != end && steps < STEPS_MAX; steps++) {
        const struct node *n = match_op(g, w, OP_CONCAT);
        if (!n || axis_normalise(axis_of(n), g->wires[w].fact.rank) != along)
            return false;
        w = n->in[n->n_in - 1];
    }
    return w == end;
}

/* How many of the first places of that axis of `of` the wire is without; 0: it is something else.
 */
static int64_t places_cut(const struct graph *g, uint32_t w, uint32_t of, int along)
{
    const struct node *n = match_op(g, w, OP_SLICE);
    const struct dim *from = n && n->in[0] == of ? taken_from(g, n, along) : NULL;
    return from && dim_is_const(from) && dim_value(from) > 0 && dim_value(from) < INT32_MAX
        ? dim_value(from)
        : 0;
}

/* Of the inputs of a Concat, inputs first + 1 .. first + n are copies of the last frame of input
 * `first`, or of `of`, whose first `cut` places that is without: so many frames in all. */
struct copies {
    int along;
    unsigned first, n;
    const struct dim *frames;
    uint32_t of;
    int64_t cut;
};

/* Whether the wire is copies of the last frame of what input ret->first ends with. */
static bool copies_more(const struct graph *g, const struct node *n, uint32_t w, struct copies *ret)
{
    uint32_t of;
    if (!is_copies_of(g, w, ret->along, 0, &of))
        return false;
    const int64_t cut = places_cut(g, n->in[ret->first], of, ret->along);
    if ((!cut && !ends_with(g, n->in[ret->first], of, ret->along)) ||
        (ret->n && (cut != ret->cut || (cut && of != ret->of))))
        return false;
    ret->cut = cut;
    ret->of = of;
    ret->frames = dim_add(g->dims, ret->frames, g->wires[w].fact.shape[ret->along]);
    return true;
}

static bool copies_last(const struct graph *g, const struct node *n, struct copies *ret)
{
    const int along =
        node_is(n, OP_CONCAT) ? axis_normalise(axis_of(n), g->wires[n->out[0]].fact.rank) : 0;
    if (!node_is(n, OP_CONCAT) || !dim_has_symbol(g->wires[n->out[0]].fact.shape[along]))
        return false;
    for (unsigned first = 0; first + 1 < n->n_in; first++) {
        *ret = (struct copies) { .along = along, .first = first, .frames = dim_int(g->dims, 0) };
        while (first + ret->n + 1 < n->n_in && copies_more(g, n, n->in[first + ret->n + 1], ret))
            ret->n++;
        if (ret->n)
            return true;
    }
    return false;
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

/* Wire x padded by the edge in front of node `at`. */
static rill_status edge_pad(struct edit *e, uint32_t at, uint32_t x, int along,
                            const struct dim *before, const struct dim *behind, uint32_t *ret,
                            rill_error *reterr)
{
    struct graph *g = e->g;
    struct fact f = g->wires[x].fact;
    const uint32_t in[2] = { x, pads_along(g, f.rank, along, before, behind) };
    const struct op *op = op_by_id(OP_PAD);
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    if (in[1] == WIRE_NONE || !attr)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    f.value = NULL;
    f.shape[along] = dim_add(g->dims, f.shape[along], dim_add(g->dims, before, behind));
    TRY(edge_attr(g->nodes[at].name, attr, reterr));
    TRY(put_wire(g, g->wires[x].name, &f, ret, reterr));
    return edit_insert(e, at, op, attr, in, 2, ret, 1)
        ? RILL_OK
        : err_set(reterr, RILL_NOMEM, "out of memory");
}

/* The Concat becomes a Pad. */
static rill_status pad_put(struct edit *e, uint32_t at, const struct copies *c, rill_error *reterr)
{
    struct graph *g = e->g;
    const struct op *op = op_by_id(OP_PAD);
    const struct node *n = &g->nodes[at];
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    const uint32_t in[2] = { n->in[0],
                             pads_along(g, g->wires[n->in[0]].fact.rank, c->along,
                                        dim_int(g->dims, 0), c->frames) };
    if (in[1] == WIRE_NONE || !attr || !edit_inputs(e, at, in, 2))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(edge_attr(n->name, attr, reterr));
    g->nodes[at].op = op;
    g->nodes[at].attr = attr;
    return RILL_OK;
}

/* The sequence of which the first places are cut, padded, then without those. */
static rill_status cut_pad(struct edit *e, uint32_t at, const struct copies *c, uint32_t *ret,
                           rill_error *reterr)
{
    struct graph *g = e->g;
    struct dims *ds = g->dims;
    const struct dim *size = dim_refresh(ds, g->wires[c->of].fact.shape[c->along]),
                     *cut = dim_int(ds, c->cut), *along = dim_int(ds, c->along);
    const bool whole = c->cut == 1 || dim_is(dim_ge(ds, size, cut), 1);
    const struct dim *behind = whole ? c->frames : dim_add_int(ds, c->frames, c->cut - 1),
                     *end = whole ? dim_int(ds, INT64_MAX)
                                  : dim_add(ds, dim_max(ds, cut, size), c->frames);
    uint32_t padded;
    TRY(edge_pad(e, at, c->of, c->along, dim_int(ds, 0), behind, &padded, reterr));
    const uint32_t in[4] = { padded, put_sizes(g, "first", &cut, 1), put_sizes(g, "end", &end, 1),
                             put_sizes(g, "axis", &along, 1) };
    if (in[1] == WIRE_NONE || in[2] == WIRE_NONE || in[3] == WIRE_NONE)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    return put_before(e, at, op_by_id(OP_SLICE), NULL, in, 4, ret, reterr);
}

/* The Concat joins what else there is to the padded sequence. */
static rill_status copies_put(struct edit *e, uint32_t at, const struct copies *c,
                              rill_error *reterr)
{
    struct graph *g = e->g;
    const unsigned n_in = g->nodes[at].n_in;
    unsigned k = 0;
    if (c->n + 1 == n_in && !c->cut)
        return pad_put(e, at, c, reterr);
    uint32_t *in = arena_array(g->arena, uint32_t, n_in), padded;
    if (!in)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    if (c->cut)
        TRY(cut_pad(e, at, c, &padded, reterr));
    else
        TRY(edge_pad(e, at, g->nodes[at].in[c->first], c->along, dim_int(g->dims, 0), c->frames,
                     &padded, reterr));
    for (unsigned i = 0; i < n_in; i++)
        if (i <= c->first || i > c->first + c->n)
            in[k++] = i == c->first ? padded : g->nodes[at].in[i];
    return edit_inputs(e, at, in, k) ? RILL_OK : err_set(reterr, RILL_NOMEM, "out of memory");
}

/* ---- places that are clamped ---- */

#define WINDOW_MAX 64

/* Places first, first + 1, .. up to `end`, or windows from place to place of which the lowest
 * begins with `first` and the highest ends before `end`; and what is done to those outside. */
struct places {
    int64_t first;
    const struct dim *end;
    bool from_start, to_last; /* those before frame 0 are 0, those behind the last frame it */
    uint32_t plain;           /* they, before that is done */
};

static bool places_of(const struct graph *g, uint32_t w, const struct dim *last, int steps,
                      struct places *ret);

static bool range_of(const struct graph *g, const struct node *n, struct places *ret)
{
    const struct dim *end = match_size(g, n->in[1]);
    int64_t first, by;
    if (!match_whole(g, n->in[0], &first) || !match_whole(g, n->in[2], &by) || by != 1)
        return false;
    *ret = (struct places) { .first = first, .end = end, .plain = n->out[0] };
    if (!end)
        ret->end = dim_add_int(g->dims, g->wires[n->out[0]].fact.shape[0], first);
    return true;
}

/* A number that stands at every place of the wire; NULL: several may, or it is data. */
static const struct tensor *filled_with(const struct graph *g, uint32_t w)
{
    const struct node *n = match_op(g, w, OP_CONSTANT_OF_SHAPE);
    if (n)
        return value_attr_of(n)->value;
    n = match_op(g, w, OP_EXPAND);
    const struct tensor *v = n ? match_value(g, n->in[0]) : NULL;
    return v && v->type != DTYPE_DIM && tensor_count(v) == 1 ? v : NULL;
}

/* A count of ones: 1, 2, .. or from 0 on. */
static bool counted_places(const struct graph *g, const struct node *n, struct places *ret)
{
    const struct cumsum_attr *a = cumsum_attr_of(n);
    const struct tensor *one = filled_with(g, n->in[0]);
    const struct fact *f = &g->wires[n->out[0]].fact;
    if (!one || f->rank != 1 || f->type != DTYPE_I64 || a->reverse ||
        tensor_get_f64(one, one->data, 0) != 1)
        return false;
    const int64_t first = a->exclusive ? 0 : 1;
    *ret = (struct places) { .first = first,
                             .end = dim_add_int(g->dims, f->shape[0], first),
                             .plain = n->out[0] };
    return true;
}

/* They laid along the first of two axes. */
static bool turned_places(const struct graph *g, const struct node *n, const struct dim *last,
                          int steps, struct places *ret)
{
    const struct fact *x = &g->wires[n->in[0]].fact, *y = &g->wires[n->out[0]].fact;
    if (x->rank != 1 || y->rank != 2 || y->shape[0] != x->shape[0] || !dim_is(y->shape[1], 1) ||
        !places_of(g, n->in[0], last, steps, ret) || ret->from_start || ret->to_last)
        return false;
    ret->plain = n->out[0];
    return true;
}

/* They in another type of whole numbers. */
static bool cast_places(const struct graph *g, const struct node *n, const struct dim *last,
                        int steps, struct places *ret)
{
    const enum dtype type = g->wires[n->out[0]].fact.type;
    if ((type != DTYPE_I64 && type != DTYPE_I32) || !places_of(g, n->in[0], last, steps, ret))
        return false;
    if (!ret->from_start && !ret->to_last)
        ret->plain = n->out[0];
    return true;
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

/* The least and the most of a number, or of a list for the second of two axes. */
static bool moves_of(const struct graph *g, uint32_t w, int64_t *ret_least, int64_t *ret_most)
{
    const struct tensor *list = match_value(g, w);
    const struct dim *by = match_size(g, w);
    const int64_t n = list ? tensor_count(list) : 0;
    *ret_least = *ret_most = by && dim_is_const(by) ? dim_value(by) : 0;
    if (n < 1 || n > WINDOW_MAX || list->rank > 2 || (list->rank == 2 && list->dim[0] != 1) ||
        (by ? !dim_is_const(by) : list->type != DTYPE_I64 && list->type != DTYPE_I32))
        return false;
    for (int64_t i = 0; !by && i < n; i++) {
        const int64_t v = tensor_get_i64(list, list->data, i);
        *ret_least = i == 0 || v < *ret_least ? v : *ret_least;
        *ret_most = i == 0 || v > *ret_most ? v : *ret_most;
    }
    return *ret_least > INT32_MIN && *ret_most < INT32_MAX;
}

/* Whether y has the places of x along its first axis, too. */
static bool lies_like(const struct fact *y, const struct fact *x)
{
    return y->rank == x->rank && y->rank > 0 && y->shape[0] == x->shape[0];
}

/* Places that were not clamped yet, moved by numbers. */
static bool moved_places(const struct graph *g, const struct node *n, const struct dim *last,
                         int steps, struct places *ret)
{
    int64_t least, most;
    for (int k = node_is(n, OP_SUB); k < 2; k++) {
        if (!moves_of(g, n->in[k], &least, &most) ||
            !places_of(g, match_other(n, k), last, steps, ret) || ret->from_start || ret->to_last ||
            !lies_like(&g->wires[n->out[0]].fact, &g->wires[ret->plain].fact))
            continue;
        ret->first += node_is(n, OP_SUB) ? -most : least;
        ret->end = dim_add_int(g->dims, ret->end, node_is(n, OP_SUB) ? -least : most);
        ret->plain = n->out[0];
        return ret->first > INT32_MIN && ret->first < INT32_MAX;
    }
    return false;
}

static bool places_of(const struct graph *g, uint32_t w, const struct dim *last, int steps,
                      struct places *ret)
{
    const struct node *n = graph_producer(g, w);
    if (!n || steps == STEPS_MAX)
        return false;
    switch (n->op->id) {
    case OP_RANGE: return range_of(g, n, ret);
    case OP_CUMSUM: return counted_places(g, n, ret);
    case OP_CAST: return cast_places(g, n, last, steps + 1, ret);
    case OP_UNSQUEEZE:
    case OP_RESHAPE: return turned_places(g, n, last, steps + 1, ret);
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
    bool flat; /* windows one behind the other */
};

static bool picks_edges(const struct graph *g, const struct node *n, struct edges *ret)
{
    const int rank = node_is(n, OP_GATHER) ? g->wires[n->in[1]].fact.rank : 0;
    if (rank != 1 && rank != 2)
        return false;
    const struct node *flat = rank == 1 ? match_op(g, n->in[1], OP_RESHAPE) : NULL;
    ret->flat = flat && g->wires[flat->in[0]].fact.rank == 2;
    ret->along = axis_normalise(axis_of(n), g->wires[n->in[0]].fact.rank);
    const struct dim *size = dim_refresh(g->dims, g->wires[n->in[0]].fact.shape[ret->along]);
    if (!dim_has_symbol(size) ||
        !places_of(g, ret->flat ? flat->in[0] : n->in[1], dim_add_int(g->dims, size, -1), 0,
                   &ret->at))
        return false;
    const struct dim *behind = dim_sub(g->dims, ret->at.end, size);
    if (!dim_is_const(behind))
        return false;
    ret->before = ret->at.first < 0 ? -ret->at.first : 0;
    ret->behind = dim_value(behind) > 0 ? dim_value(behind) : 0;
    return (ret->at.from_start || ret->at.to_last) && (!ret->before || ret->at.from_start) &&
        (!ret->behind || ret->at.to_last);
}

/* Windows are picked, then laid one behind the other. */
static rill_status flat_put(struct edit *e, uint32_t at, const uint32_t in[2], rill_error *reterr)
{
    static const struct attr sizes_stand = { .name = "allowzero", .kind = ATTR_INT, .i = 1 };
    struct graph *g = e->g;
    const struct op *op = op_by_id(OP_RESHAPE);
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    const struct fact *y = &g->wires[g->nodes[at].out[0]].fact;
    uint32_t windows[2] = { WIRE_NONE, put_sizes(g, "sizes", y->shape, y->rank) };
    TRY(put_before(e, at, op_by_id(OP_GATHER), g->nodes[at].attr, in, 2, &windows[0], reterr));
    if (windows[1] == WIRE_NONE || !attr || !edit_inputs(e, at, windows, 2))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(attrs_parse(op, g->nodes[at].name, &sizes_stand, 1, attr, reterr));
    g->nodes[at].op = op;
    g->nodes[at].attr = attr;
    return RILL_OK;
}

/* The windows are taken of the padded sequence at the places as they were. */
static rill_status windows_put(struct edit *e, uint32_t at, const struct edges *q, uint32_t padded,
                               rill_error *reterr)
{
    struct graph *g = e->g;
    struct tensor *moved = tensor_new(g->arena, g->wires[q->at.plain].fact.type, 0, NULL);
    uint32_t in[2] = { padded, q->at.plain };
    if (!moved)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    tensor_set_f64(moved, moved->data, 0, (double) q->before);
    const uint32_t sum[2] = { q->at.plain, graph_add_const(g, "before", moved) };
    if (sum[1] == WIRE_NONE)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    if (q->before)
        TRY(put_before(e, at, op_by_id(OP_ADD), NULL, sum, 2, &in[1], reterr));
    if (q->flat)
        return flat_put(e, at, in, reterr);
    return edit_inputs(e, at, in, 2) ? RILL_OK : err_set(reterr, RILL_NOMEM, "out of memory");
}

static rill_status edges_put(struct edit *e, uint32_t at, const struct edges *q, rill_error *reterr)
{
    struct graph *g = e->g;
    struct dims *ds = g->dims;
    const struct op *op = op_by_id(OP_SLICE);
    const struct dim *first = dim_int(ds, q->at.first > 0 ? q->at.first : 0),
                     *end = dim_add_int(ds, q->at.end, q->before), *along = dim_int(ds, q->along);
    uint32_t padded = g->nodes[at].in[0];
    if (q->before || q->behind)
        TRY(edge_pad(e, at, padded, q->along, dim_int(ds, q->before), dim_int(ds, q->behind),
                     &padded, reterr));
    if (g->wires[q->at.plain].fact.rank > 1)
        return windows_put(e, at, q, padded, reterr);
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
    struct copies copies;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (copies_last(ret, &ret->nodes[i], &copies))
            TRY(copies_put(&e, i, &copies, reterr));
        else if (picks_edges(ret, &ret->nodes[i], &edges))
            TRY(edges_put(&e, i, &edges, reterr));
    return edit_end(&e, reterr);
}
