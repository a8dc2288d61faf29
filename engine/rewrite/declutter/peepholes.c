/* SPDX-License-Identifier: MIT */
#include "engine/base/dim_claims.h"
#include "engine/graph/op.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"
#include "engine/typing/decide.h"

#include <math.h>
#include <string.h>

/* Whether place k of the list, counted from the end, is the first that there is: of none, too. */
static bool is_first_of_all(const struct graph *g, const struct node *n, int64_t k,
                            const struct dim *at)
{
    const struct tensor *axes = node_value(g, n, 3);
    const struct fact *x = &g->wires[n->in[0]].fact;
    const int axis = axes ? axis_normalise(tensor_get_i64(axes, axes->data, k), x->rank) : (int) k;
    return dim_is(dim_add(g->dims, at, x->shape[axis]), 0);
}

/* Whether every place of the list, input i of n, counts from the same end at every length: what a
 * size is taken to be where it does not holds of streams alone. */
static bool places_stand(const struct graph *g, const struct node *n, unsigned i)
{
    const struct tensor *v = node_value(g, n, i);
    bool stand = v;
    for (int64_t k = 0; stand && v->type == DTYPE_DIM && k < tensor_count(v); k++) {
        const struct dim *at = ((const struct dim *const *) v->data)[k];
        stand = dim_is_natural(g->dims, at) ||
            dim_is_natural(g->dims, dim_sub(g->dims, dim_int(g->dims, -1), at)) ||
            (i == 1 && is_first_of_all(g, n, k, at));
    }
    return stand;
}

/* Forward, all that there is. */
static bool cuts_nothing(const struct graph *g, const struct node *n)
{
    int64_t steps[RANK_MAX];
    unsigned n_steps = 0;
    bool forward = node_is(n, OP_SLICE) &&
        (!node_has_input(n, 4) || match_ints(g, n->in[4], steps, RANK_MAX, &n_steps));
    for (unsigned i = 0; forward && i < n_steps; i++)
        forward = steps[i] > 0;
    return forward && fact_same(&g->wires[n->in[0]].fact, &g->wires[n->out[0]].fact) &&
        places_stand(g, n, 1) && places_stand(g, n, 2);
}

static bool changes_nothing(const struct graph *g, const struct node *n)
{
    return n->n_in && n->n_out == 1 && n->in[0] != WIRE_NONE && n->out[0] != WIRE_NONE &&
        (node_gives_back(n, &g->wires[n->in[0]].fact, &g->wires[n->out[0]].fact) ||
         cuts_nothing(g, n));
}

/* n gives a tensor its shape back that was flattened to rows for an op over its last axis: that op
 * on the tensor itself takes n's place. */
static bool rows_merge(const struct graph *g, struct node *n)
{
    static const enum op_id ids[] = { OP_SOFTMAX, OP_LOG_SOFTMAX, OP_HARDMAX };
    const struct node *y = NULL, *flat;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && !y && node_is(n, OP_RESHAPE); i++)
        y = match_op(g, n->in[0], ids[i]);
    if (!y || axis_of(y) != -1 || !(flat = match_op(g, y->in[0], OP_FLATTEN)))
        return false;
    const struct fact *x = &g->wires[flat->in[0]].fact;
    if (!fact_same(x, &g->wires[n->out[0]].fact) || axis_of(flat) != x->rank - 1)
        return false;
    n->name = y->name;
    n->op = y->op;
    n->attr = y->attr;
    n->in[0] = flat->in[0];
    n->n_in = 1;
    return true;
}

/* n gives what was picked at places that were flattened their shape back: the Gather at the places
 * themselves takes its place. */
static bool places_merge(const struct graph *g, struct node *n)
{
    const struct node *y = node_is(n, OP_RESHAPE) ? match_op(g, n->in[0], OP_GATHER) : NULL,
                      *flat = y ? match_op(g, y->in[1], OP_RESHAPE) : NULL;
    if (!flat || axis_of(y) != 0 || g->wires[y->in[1]].fact.rank != 1)
        return false;
    const struct fact *x = &g->wires[y->in[0]].fact, *at = &g->wires[flat->in[0]].fact;
    struct fact picked = { .type = x->type, .rank = at->rank + x->rank - 1 };
    if (picked.rank > RANK_MAX || picked.rank < 0)
        return false;
    for (int i = 0; i < picked.rank; i++)
        picked.shape[i] = i < at->rank ? at->shape[i] : x->shape[i - at->rank + 1];
    if (!fact_same(&picked, &g->wires[n->out[0]].fact))
        return false;
    n->name = y->name;
    n->op = y->op;
    n->attr = y->attr;
    n->in[0] = y->in[0];
    n->in[1] = flat->in[0];
    return true;
}

/* What an Unsqueeze gave its last axis, which is x; WIRE_NONE: none did. */
static uint32_t without_last(const struct graph *g, uint32_t x)
{
    const struct node *wide = match_op(g, x, OP_UNSQUEEZE);
    if (!wide)
        return WIRE_NONE;
    const struct fact *ix = &g->wires[x].fact, *at = &g->wires[wide->in[0]].fact;
    bool is_last = at->rank == ix->rank - 1 && dim_is(ix->shape[at->rank], 1);
    for (int i = 0; is_last && i < at->rank; i++)
        is_last = at->shape[i] == ix->shape[i];
    return is_last ? wide->in[0] : WIRE_NONE;
}

static bool gather_put(struct node *n, uint32_t x, uint32_t places)
{
    static const struct axis_attr first = { .axis = 0 };
    if (places == WIRE_NONE)
        return false;
    n->op = op_by_id(OP_GATHER);
    n->attr = &first;
    n->in[0] = x;
    n->in[1] = places;
    return true;
}

/* Elements along an axis which is the only one of more than one index, by a list that an Unsqueeze
 * gave the others, are a Gather by that list. */
static bool elements_are_rows(const struct graph *g, struct node *n)
{
    const struct node *wide =
        node_is(n, OP_GATHER_ELEMENTS) ? match_op(g, n->in[1], OP_UNSQUEEZE) : NULL;
    if (!wide || g->wires[wide->in[0]].fact.rank != 1)
        return false;
    const struct fact *x = &g->wires[n->in[0]].fact, *ix = &g->wires[n->in[1]].fact;
    bool rows = true;
    for (int i = 0; rows && i < x->rank; i++)
        rows = i == axis_normalise(axis_of(n), x->rank) ||
            (dim_is(x->shape[i], 1) && dim_is(ix->shape[i], 1));
    if (!rows)
        return false;
    n->op = op_by_id(OP_GATHER); /* its axis is the same attribute */
    n->in[1] = wide->in[0];
    return true;
}

static bool is_by_coordinates(const struct node *n)
{
    return node_is(n, OP_GATHER_ND) && !gather_nd_attr_of(n)->batch_dims;
}

/* Indices of one coordinate, to which an Unsqueeze gave its axis, are those of a Gather. */
static bool coordinate_goes(const struct graph *g, struct node *n)
{
    return is_by_coordinates(n) && gather_put(n, n->in[0], without_last(g, n->in[1]));
}

static bool is_zeros(const struct graph *g, uint32_t w)
{
    static const enum op_id moves[] = { OP_EXPAND, OP_RESHAPE, OP_SQUEEZE, OP_UNSQUEEZE };
    const struct tensor *t;
    while (!(t = g->wires[w].fact.value)) {
        const struct node *n = graph_producer(g, w);
        if (!n || !node_is_among(n, moves, sizeof moves / sizeof *moves))
            return false;
        w = n->in[0];
    }
    bool zeros = t->type == DTYPE_I64;
    for (int64_t i = 0; zeros && i < tensor_count(t); i++)
        zeros = !((const int64_t *) t->data)[i];
    return zeros;
}

/* The axes in front have one place each, which coordinates of 0 name. */
static bool fronts_are_named(const struct graph *g, const struct node *n, const struct node *joined)
{
    const struct fact *x = &g->wires[n->in[0]].fact, *ix = &g->wires[n->in[1]].fact;
    bool named = joined && joined->n_in >= 2 && (int) joined->n_in <= x->rank && !x->value &&
        (axis_of(joined) == -1 || axis_of(joined) == ix->rank - 1);
    for (unsigned i = 0; named && i + 1 < joined->n_in; i++)
        named = dim_is(x->shape[i], 1) && is_zeros(g, joined->in[i]) &&
            dim_is(g->wires[joined->in[i]].fact.shape[ix->rank - 1], 1);
    return named;
}

/* x without its first axes, at the end of g. */
static uint32_t fronts_gone(struct graph *g, uint32_t x, int64_t axes)
{
    struct fact f = g->wires[x].fact;
    struct tensor *list = tensor_new(g->arena, DTYPE_I64, 1, &axes);
    const char *name = graph_name_next(g, g->wires[x].name);
    if (!list || !name)
        return WIRE_NONE;
    for (int64_t i = 0; i < axes; i++)
        ((int64_t *) list->data)[i] = i;
    f.rank -= (int) axes;
    memmove(f.shape, f.shape + axes, (size_t) f.rank * sizeof *f.shape);
    uint32_t in[] = { x, graph_add_const(g, name, list) }, y = graph_add_wire(g, name, &f);
    const bool made = in[1] != WIRE_NONE && y != WIRE_NONE &&
        graph_add_node(g, op_by_id(OP_SQUEEZE), name, NULL, in, 2, &y, 1);
    return made ? y : WIRE_NONE;
}

/* Of several coordinates the last alone tells places apart. */
static bool fronts_go(struct graph *g, uint32_t i)
{
    const struct node *n = &g->nodes[i],
                      *joined = is_by_coordinates(n) ? match_op(g, n->in[1], OP_CONCAT) : NULL;
    if (!joined || !fronts_are_named(g, n, joined))
        return false;
    const uint32_t places = without_last(g, joined->in[joined->n_in - 1]);
    const uint32_t x = places == WIRE_NONE ? WIRE_NONE : fronts_gone(g, n->in[0], joined->n_in - 1);
    return x != WIRE_NONE && gather_put(&g->nodes[i], x, places);
}

/* Of a Squeeze that names no axes, those that go are named where others are open: what is of one
 * frame in a pulse stays. */
static bool ones_are_named(struct graph *g, struct node *n)
{
    if (!node_is(n, OP_SQUEEZE) || node_has_input(n, 1))
        return false;
    const struct fact *x = &g->wires[n->in[0]].fact;
    int64_t axes[RANK_MAX];
    struct attr_ints list = { .v = axes };
    rill_error ignored;
    uint32_t *in = arena_array(g->arena, uint32_t, 2);
    for (int a = 0; a < x->rank; a++)
        if (dim_is(x->shape[a], 1))
            axes[list.n++] = a;
    if (!in || !list.n || fact_is_static(x) || put_ints(g, list, &in[1], &ignored) != RILL_OK)
        return false;
    in[0] = n->in[0];
    n->in = in;
    n->n_in = 2;
    return true;
}

#define STEPS_MAX 8
#define EXACT 0x1p53 /* below which a double has every whole number */

/* Between 0 and 1, or not a number; through what replaces some elements by a number. */
static bool is_bounded(const struct graph *g, uint32_t w, int steps)
{
    static const enum op_id ids[] = { OP_SOFTMAX, OP_SIGMOID };
    const struct node *n = w == WIRE_NONE ? NULL : graph_producer(g, w);
    float number;
    if (!n || steps == STEPS_MAX)
        return false;
    if (node_is(n, OP_CAST))
        return dtype_is_float(g->wires[w].fact.type) && is_bounded(g, n->in[0], steps + 1);
    if (node_is(n, OP_WHERE))
        return match_number(g, n->in[1], &number) && isfinite(number) &&
            is_bounded(g, n->in[2], steps + 1);
    return node_is_among(n, ids, sizeof ids / sizeof *ids);
}

/* Asks which elements are infinite, of what has none. */
static bool is_never(const struct graph *g, uint32_t w, int steps)
{
    const struct node *n = w == WIRE_NONE ? NULL : graph_producer(g, w);
    if (!n || steps == STEPS_MAX)
        return false;
    if (node_is(n, OP_CAST))
        return g->wires[w].fact.type == DTYPE_BOOL && is_never(g, n->in[0], steps + 1);
    if (node_is(n, OP_AND))
        return is_never(g, n->in[0], steps + 1) || is_never(g, n->in[1], steps + 1);
    return node_is(n, OP_ISINF) && is_bounded(g, n->in[0], steps + 1);
}

/* What elements of the wire were before they were moved, repeated or left out. */
static uint32_t unmoved(const struct graph *g, uint32_t w)
{
    static const enum op_id moves[] = { OP_EXPAND,  OP_RESHAPE,   OP_SLICE,
                                        OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    const struct node *n = w == WIRE_NONE ? NULL : graph_producer(g, w);
    for (int steps = 0; n && steps < STEPS_MAX; steps++) {
        if (!node_is_among(n, moves, sizeof moves / sizeof *moves))
            break;
        w = n->in[0];
        n = graph_producer(g, w);
    }
    return w;
}

/* A constant that is one number all over, or what repeats one. */
static bool number_all_over(const struct graph *g, uint32_t w, double *ret)
{
    w = unmoved(g, w);
    const struct node *n = match_op(g, w, OP_CONSTANT_OF_SHAPE);
    const struct tensor *v = n ? value_attr_of(n)->value : match_value(g, w);
    *ret = 0;
    if (n && !v)
        return true;
    if (!v || v->type == DTYPE_DIM || tensor_count(v) < 1)
        return false;
    *ret = tensor_get_f64(v, v->data, 0);
    if (!dtype_is_float(v->type) && fabs(*ret) >= EXACT)
        return false;
    for (int64_t i = 1; i < tensor_count(v); i++)
        if (tensor_get_f64(v, v->data, i) != *ret)
            return false;
    return *ret == *ret;
}

/* A condition that holds everywhere, or nowhere (*ret). */
static bool decided_all_over(const struct graph *g, uint32_t w, bool *ret)
{
    w = unmoved(g, w);
    const struct node *n = w == WIRE_NONE ? NULL : graph_producer(g, w);
    double a, b;
    if (number_all_over(g, w, &a)) {
        *ret = a != 0;
        return true;
    }
    if (!n || n->n_in != 2 || !number_all_over(g, n->in[0], &a) ||
        !number_all_over(g, n->in[1], &b))
        return false;
    *ret = node_is(n, OP_GREATER) ? a > b : a >= b;
    return node_is(n, OP_GREATER) || node_is(n, OP_GREATER_OR_EQUAL);
}

/* What a Where gives by a condition that is the same all over; WIRE_NONE: by another. */
static uint32_t chosen_always(const struct graph *g, const struct node *n)
{
    bool is;
    return node_is(n, OP_WHERE) && decided_all_over(g, n->in[0], &is) ? n->in[is ? 1 : 2]
                                                                      : WIRE_NONE;
}

/* The input that a Where chooses everywhere, as its last one by nan_to_num behind a softmax;
 * WIRE_NONE: none, or of another shape. */
static uint32_t chosen_whole(const struct graph *g, const struct node *n)
{
    const uint32_t w =
        node_is(n, OP_WHERE) && is_never(g, n->in[0], 0) ? n->in[2] : chosen_always(g, n);
    return w != WIRE_NONE && fact_same(&g->wires[w].fact, &g->wires[n->out[0]].fact) ? w
                                                                                     : WIRE_NONE;
}

/* The Where becomes an Expand of that to sizes that are numbers. */
static bool chosen_expands(struct graph *g, struct node *n)
{
    const uint32_t w = chosen_always(g, n);
    const struct fact *f = &g->wires[n->out[0]].fact;
    if (w == WIRE_NONE || !fact_is_static(f) || fact_same(f, &g->wires[w].fact))
        return false;
    const uint32_t sizes = put_sizes(g, n->name, f->shape, f->rank);
    if (sizes == WIRE_NONE)
        return false;
    n->op = op_by_id(OP_EXPAND);
    n->attr = NULL;
    n->in[0] = w;
    n->in[1] = sizes;
    n->n_in = 2;
    return true;
}

/* A CastLike becomes a Cast to the type that its second input lends. */
static bool type_named(const struct graph *g, struct node *n)
{
    const enum dtype to = node_is(n, OP_CAST_LIKE) ? g->wires[n->out[0]].fact.type : DTYPE_NONE;
    struct cast_attr *attr = to ? arena_copy(g->arena, n->attr, sizeof *attr) : NULL;
    if (!attr)
        return false;
    attr->to = to;
    n->op = op_by_id(OP_CAST);
    n->attr = attr;
    n->n_in = 1;
    return true;
}

static void wires_follow(uint32_t *wires, size_t n, const uint32_t *instead)
{
    for (size_t i = 0; i < n; i++)
        if (wires[i] != WIRE_NONE)
            wires[i] = instead[wires[i]];
}

/* What stands for the output of node i; WIRE_NONE: itself. The node may be changed. */
typedef uint32_t peephole(struct graph *g, uint32_t i);

static rill_status nodes_look(peephole *look, struct graph *ret, const struct graph *g,
                              rill_error *err)
{
    uint32_t *instead = arena_array(g->arena, uint32_t, g->n_wires + 1);
    if (!instead)
        return err_set(err, RILL_NOMEM, "out of memory while nodes are looked at");
    TRY(graph_copied(ret, g, err));
    for (uint32_t w = 0; w < g->n_wires; w++)
        instead[w] = w;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        wires_follow(ret->nodes[i].in, ret->nodes[i].n_in, instead);
        const uint32_t w = look(ret, i);
        if (w != WIRE_NONE)
            instead[ret->nodes[i].out[0]] = w;
    }
    wires_follow(ret->outputs, ret->n_outputs, instead);
    for (uint32_t i = 0; i < ret->n_states; i++)
        ret->states[i].out = instead[ret->states[i].out];
    return ret->n_nodes == g->n_nodes ? RILL_OK : graph_sort(ret, err);
}

static uint32_t any_peephole(struct graph *g, uint32_t i)
{
    struct node *n = &g->nodes[i];
    if (!rows_merge(g, n) && !places_merge(g, n) && !coordinate_goes(g, n) &&
        !elements_are_rows(g, n) && !chosen_expands(g, n) && !fronts_go(g, i) &&
        !type_named(g, n) && !ones_are_named(g, n) && changes_nothing(g, n))
        return n->in[0];
    return chosen_whole(g, &g->nodes[i]);
}

rill_status graph_with_peepholes(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    return nodes_look(any_peephole, ret, g, reterr);
}

/* Outputs stay wires of their own. */
static uint32_t choice_peephole(struct graph *g, uint32_t i)
{
    const struct node *n = &g->nodes[i];
    return node_is(n, OP_WHERE) && !graph_wire_is_given(g, n->out[0]) ? chosen_whole(g, n)
                                                                      : WIRE_NONE;
}

rill_status graph_with_choices_made(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    return nodes_look(choice_peephole, ret, g, reterr);
}
