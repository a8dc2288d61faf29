/* SPDX-License-Identifier: MIT */
#include "pulse/places.h"
#include "engine/ops/attrs.h"
#include "pulse/axes.h"
#include "pulse/ints.h"
#include "pulse/position_rows.h"
#include "pulse/positions.h"
#include "pulse/tracks.h"

#include <stdio.h>
#include <string.h>

/* ---- what is made of positions ---- */

static bool has_expression(const struct pulser *p, uint32_t w)
{
    return p->positions && p->positions->of[w].e;
}

bool places_known(const struct pulser *p, uint32_t w)
{
    return w != WIRE_NONE && p->positions && (has_expression(p, w) || (p->made && p->made[w]));
}

bool pulser_is_mask(const struct pulser *p, uint32_t w)
{
    return places_known(p, w) && pulser_time_twice(p, w);
}

/* ---- masks in which the length has a part ---- */

/* Whether the node, of one frame each, compares, or passes on what such made. */
static bool tells_frames(const struct pulser *p, const struct node *n, const bool *told)
{
    static const enum op_id moves[] = { OP_CAST,    OP_EXPAND,  OP_IDENTITY,  OP_NOT,
                                        OP_RESHAPE, OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    return pulser_fact(p, n->out[0])->type == DTYPE_BOOL ||
        (node_is_among(n, moves, sizeof moves / sizeof *moves) && told[n->in[0]]);
}

static bool reads_told(const struct node *n, const bool *told)
{
    bool y = false;
    for (unsigned i = 0; i < n->n_in; i++)
        y |= n->in[i] != WIRE_NONE && told[n->in[i]];
    return y;
}

rill_status places_told_drop(const struct pulser *p)
{
    const struct positions *ps = p->positions;
    bool *told = arena_array(p->arena, bool, p->src->n_wires + 1);
    int axes[2];
    for (uint32_t i = 0; told && i < p->src->n_nodes; i++) {
        const struct node *n = &p->src->nodes[i];
        const uint32_t w = n->n_out == 1 ? n->out[0] : WIRE_NONE;
        const int times = w == WIRE_NONE || !has_expression(p, w) ? 0 : time_axes(p, w, axes);
        if (times == 0 || positions_without_length(ps, ps->of[w].e))
            continue;
        told[w] = times == 1 ? tells_frames(p, n, told) : reads_told(n, told);
        ps->of[w].e = told[w] ? NULL : ps->of[w].e;
    }
    return told ? RILL_OK : pulser_no_memory(p);
}

#define STEPS_MAX 1000 /* nodes that make places; a stack has room for them */

/* Sizes, which are made anew for the places. */
static bool takes_sizes(const struct node *n, unsigned i)
{
    static const enum op_id sized[] = { OP_EXPAND, OP_RESHAPE, OP_SLICE };
    return i > 0 && node_is_among(n, sized, sizeof sized / sizeof *sized);
}

/* Rows of a table, from one that may depend on the length of the sequence. */
static bool slices_table(const struct pulser *p, const struct node *n)
{
    int axes[2];
    return node_is(n, OP_SLICE) && pulser_fact(p, n->in[0])->value &&
        time_axes(p, n->out[0], axes) == 1 && node_value(p->src, n, 1) &&
        tensor_count(node_value(p->src, n, 1)) == 1;
}

/* Whether the input stays apart along time on the way through n. ret_time: it has time. */
static bool input_apart(const struct pulser *p, const struct node *n, unsigned i, const bool *made,
                        bool *ret_time)
{
    uint32_t w = n->in[i];
    const struct tensor *v = pulser_fact(p, w)->value;
    int axes[2], k = time_axes(p, w, axes);
    if (v)
        return takes_sizes(n, i) || !fact_knows_length(pulser_fact(p, w));
    if (k > 2 || !(has_expression(p, w) || made[w]))
        return false;
    *ret_time |= k > 0;
    while (k-- > 0)
        if (track_out(p, n, i, axes[k]) == AXIS_NONE)
            return false;
    return true;
}

static bool node_makes_places(const struct pulser *p, const struct node *n, const bool *made)
{
    bool time = false;
    if (n->n_out != 1 || n->out[0] == WIRE_NONE || n->n_body || (n->op->flags & OP_RANDOM) ||
        has_expression(p, n->out[0]) || n->n_in == 0)
        return false;
    if (slices_table(p, n))
        return true;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && !input_apart(p, n, i, made, &time))
            return false;
    return time;
}

bool *places_made(const struct pulser *p)
{
    bool *made = arena_array(p->arena, bool, p->src->n_wires + 1);
    for (uint32_t i = 0; made && i < p->src->n_nodes; i++)
        if (node_makes_places(p, &p->src->nodes[i], made))
            made[p->src->nodes[i].out[0]] = true;
    return made;
}

/* ---- the places of an expression ---- */

static rill_status places_refuse(const struct pulser *p, const struct node *n, uint32_t w,
                                 const char *why)
{
    return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: '%.80s', which positions make, %s",
                   p->src->wires[w].name, why);
}

static int place_at(const struct places *at, int axis)
{
    return at->axis[0] == axis ? 0 : at->axis[1] == axis ? 1 : -1;
}

static int64_t size_at(const struct pulser *p, const struct fact *f, const struct places *at, int i)
{
    int k = place_at(at, i);
    (void) p;
    return k >= 0 ? at->count[k] : dim_is_const(f->shape[i]) ? dim_value(f->shape[i]) : -1;
}

struct fill {
    const struct pulser *p;
    const struct places *at;
    struct position row;
    struct tensor *t;
    int64_t stride[RANK_MAX];
};

/* The elements from `base` on whose first axes are chosen: e has the symbols of the others. */
static bool fill_axis(const struct fill *l, const struct dim *e, int axis, int64_t base)
{
    const struct positions *ps = l->p->positions;
    int k = place_at(l->at, axis);
    struct position row = l->row;
    if (axis == l->t->rank) {
        double v;
        row.e = e;
        if (!position_value(ps, &row, 0, 0, &v))
            return false;
        tensor_set_f64(l->t, l->t->data, base, v);
        return true;
    }
    const struct dim *symbol = k >= 0 ? ps->place[k] : ps->axis[axis];
    int64_t first = k >= 0 ? l->at->first[k] : 0, v;
    if (axis == l->t->rank - 1) {
        for (int64_t i = 0; i < l->t->dim[axis]; i++) {
            if (!dim_eval(e, symbol, first + i, &v))
                return false;
            tensor_set_f64(l->t, l->t->data, base + i, position_number(&row, v));
        }
        return dims_status(ps->dims, NULL) == RILL_OK;
    }
    for (int64_t i = 0; i < l->t->dim[axis]; i++) {
        const struct dim *at = dim_mentions(e, symbol)
            ? dim_subst(ps->dims, e, symbol, dim_int(ps->dims, first + i))
            : e;
        if (!fill_axis(l, at, axis + 1, base + i * l->stride[axis]))
            return false;
    }
    return true;
}

/* e where the axes stand at their places. */
static const struct dim *placed(const struct positions *ps, const struct dim *e,
                                const struct places *at)
{
    for (int k = 0; k < 2; k++)
        if (at->axis[k] >= 0)
            e = dim_subst(ps->dims, e, ps->axis[at->axis[k]], at->at[k]);
    return e;
}

/* e where the places are coordinates, which are 0 or more, and so much further on. */
static const struct dim *moved(const struct positions *ps, const struct dim *e,
                               const struct places *at, bool later)
{
    for (int k = 0; k < 2; k++) {
        const int64_t by = at->from[k] + (later ? at->repeats[k] : 0);
        if (at->axis[k] >= 0)
            e = dim_subst(ps->dims, e, ps->place[k],
                          dim_add_int(ps->dims, ps->axis[at->axis[k]], by));
    }
    return e;
}

/* Whether the first queries, before from[0], see behind the first keys what those further on do. */
static bool begins_alike(const struct positions *ps, const struct dim *e, const struct places *at)
{
    const int64_t far = at->repeats[0] ? FAR / at->repeats[0] * at->repeats[0] : 0;
    struct dims *ds = ps->dims;
    int64_t v, w;
    for (int64_t i = 0; at->from[1] && i < at->from[0]; i++) {
        const struct dim *near = dim_subst(ds, e, ps->place[0], dim_int(ds, i)),
                         *later = dim_subst(ds, e, ps->place[0], dim_int(ds, far + i));
        for (int64_t k = at->from[1]; k < i + at->count[1]; k++)
            if (!dim_eval(near, ps->place[1], k, &v) ||
                !dim_eval(later, ps->place[1], far + k, &w) || v != w)
                return false;
    }
    return true;
}

static bool placed_repeats(const struct positions *ps, const struct dim *e, const struct places *at)
{
    return moved(ps, e, at, true) == moved(ps, e, at, false) && begins_alike(ps, e, at);
}

/* Up to which whole number all are in the type, for people. */
static const char *whole_numbers_of(enum dtype type)
{
    return type == DTYPE_F16 ? ", which holds all whole numbers up to 2048,"
        : type == DTYPE_BF16 ? ", which holds all whole numbers up to 256,"
                             : "";
}

/* Whether what node n makes of numbers of positions is no such number for its type alone. */
static bool rounds(const struct pulser *p, const struct node *n)
{
    static const enum op_id counts[] = { OP_ADD, OP_CAST, OP_DIV, OP_MUL, OP_SUB };
    bool known = node_is_among(n, counts, sizeof counts / sizeof *counts) &&
        pulser_fact(p, n->out[0])->type != DTYPE_BOOL;
    for (unsigned i = 0; i < n->n_in; i++)
        known = known && n->in[i] != WIRE_NONE && has_expression(p, n->in[i]);
    return known;
}

static bool is_rounded(const struct pulser *p, uint32_t w)
{
    const int64_t parts = p->positions->of[w].parts;
    return parts > 1 && parts & (parts - 1);
}

static rill_status uneven_refuse(const struct pulser *p, const struct node *n, uint32_t w,
                                 const struct places *at)
{
    char also[240] = "";
    const struct node *by = at->by && rounds(p, at->by) ? at->by : NULL;
    const enum dtype type = pulser_fact(p, by ? by->out[0] : w)->type;
    if (by)
        snprintf(also, sizeof also,
                 "; node '%.60s' (%s) makes of it what %s%s may not hold exactly, so that "
                 "differences depend on the place, too",
                 by->name, by->op->name, dtype_name(type), whole_numbers_of(type));
    else if (is_rounded(p, w))
        snprintf(also, sizeof also,
                 "; %s%s may not hold it exactly, so that differences depend on the place, too",
                 dtype_name(type), whole_numbers_of(type));
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: '%.80s', which positions make, does not repeat with the "
                   "%lld frames of a chunk that its masks have%s",
                   p->src->wires[w].name, (long long) at->repeats[0], also);
}

static rill_status expression_emit(struct pulser *p, const struct node *n, uint32_t w,
                                   const struct places *at, uint32_t *ret)
{
    const struct positions *ps = p->positions;
    const struct fact *f = pulser_fact(p, w);
    struct fill l = { .p = p, .at = at, .row = ps->of[w] };
    const struct dim *e = positions_without_length(ps, placed(ps, l.row.e, at));
    int64_t shape[RANK_MAX];
    if (!e)
        return places_refuse(p, n, w, "depends on the length of the whole sequence");
    if (at->repeats[0] && !placed_repeats(ps, e, at))
        return uneven_refuse(p, n, w, at);
    for (int a = 0; a < f->rank; a++)
        if ((shape[a] = size_at(p, f, at, a)) < 0)
            return places_refuse(p, n, w, "has a size that is not known");
    l.t = tensor_new(p->arena, f->type, f->rank, shape);
    if (!l.t)
        return pulser_no_memory(p);
    tensor_strides(l.t, l.stride);
    if (!fill_axis(&l, e, 0, 0))
        return places_refuse(p, n, w, "has no value");
    *ret = graph_add_const(p->dst, p->src->wires[w].name, l.t);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

/* ---- the queries of a run ---- */

/* Behind how many queries what positions make of a first key is looked at. */
static const int64_t even_behind[] = { 64, 512, 4096 };

/* Whether each query behind `from` has so much more than the one before it. */
static bool grows_evenly(const struct pulser *p, const struct dim *e, const struct places *at,
                         int64_t from, int64_t *ret_by)
{
    const struct positions *ps = p->positions;
    const struct places one = { .axis = { at->axis[0], at->axis[1] },
                                .repeats = { 1, 0 },
                                .from = { from, 0 } };
    const struct dim *by = dim_sub(ps->dims, moved(ps, e, &one, true), moved(ps, e, &one, false));
    if (!dim_is_const(by))
        return false;
    *ret_by = dim_value(by);
    return true;
}

/* Whole numbers of a type that counts far. */
static bool counts_far(const struct pulser *p, uint32_t w)
{
    const enum dtype t = pulser_fact(p, w)->type;
    const struct position *x = &p->positions->of[w];
    return (t == DTYPE_F32 || t == DTYPE_F64 || t == DTYPE_I64 || t == DTYPE_I32) && !x->pair &&
        x->parts <= 1;
}

/* by * (query - from) of the queries behind that, on the axis of a wire of that many axes. */
static rill_status growth_emit(struct pulser *p, const struct node *n, uint32_t w,
                               const struct places *at, int64_t from, int64_t by, uint32_t *ret)
{
    const struct fact *f = pulser_fact(p, w);
    const struct attr to = { .name = "to", .kind = ATTR_INT, .i = f->type };
    int64_t shape[RANK_MAX];
    uint32_t in[2] = { at->queries };
    for (int a = at->axis[0]; a < f->rank; a++)
        shape[a - at->axis[0]] = a == at->axis[0] ? at->count[0] : 1;
    TRY(pulser_with_int(p, n, OP_SUB, from, &in[0]));
    TRY(pulser_with_int(p, n, OP_MAX, 0, &in[0]));
    TRY(pulser_with_int(p, n, OP_MUL, by, &in[0]));
    TRY(pulser_ints(p, n->name, shape, (unsigned) (f->rank - at->axis[0]), &in[1]));
    TRY(pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, in, 2, &in[0]));
    return pulser_emit_op(p, OP_CAST, n->name, &to, 1, in, 1, ret);
}

/* A table of the first queries, from the last of which on all grow evenly. */
static rill_status running_emit(struct pulser *p, const struct node *n, uint32_t w,
                                const struct places *at, const struct dim *e, uint32_t *ret)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = at->axis[0] };
    const unsigned tries = sizeof even_behind / sizeof *even_behind;
    struct places table = *at;
    uint32_t in[2] = { 0, at->queries };
    unsigned i = 0;
    int64_t by = 0;
    while (i < tries && !grows_evenly(p, e, at, even_behind[i], &by))
        i++;
    if (i == tries || (by && !counts_far(p, w)))
        return places_refuse(p, n, w,
                             "neither stays nor grows evenly for the first keys of the sequence");
    table.running = false;
    table.first[0] = table.from[0] = table.repeats[0] = 0;
    table.count[0] = even_behind[i] + 1;
    TRY(places_emit(p, n, w, &table, &in[0]));
    TRY(pulser_with_int(p, n, OP_MIN, even_behind[i], &in[1]));
    TRY(pulser_emit_op(p, OP_GATHER, n->name, &along, 1, in, 2, &in[0]));
    *ret = in[0];
    if (by == 0)
        return RILL_OK;
    TRY(growth_emit(p, n, w, at, even_behind[i], by, &in[1]));
    return pulser_emit_op(p, OP_ADD, n->name, NULL, 0, in, 2, ret);
}

/* Whether a wire that has an expression is made of wires of which places are known, too. */
static bool is_made_too(const struct pulser *p, uint32_t w)
{
    const struct node *n = graph_producer(p->src, w);
    bool time = false;
    if (!n || n->n_out != 1 || n->n_body || n->n_in == 0 || slices_table(p, n))
        return false;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && !input_apart(p, n, i, p->made, &time))
            return false;
    return time;
}

/* ---- the places of what is made ---- */

static rill_status shape_emit(struct pulser *p, const struct node *n, uint32_t w,
                              const struct places *at, uint32_t *ret)
{
    const struct fact *f = pulser_fact(p, w);
    int64_t shape[RANK_MAX];
    for (int a = 0; a < f->rank; a++)
        if ((shape[a] = size_at(p, f, at, a)) < 0)
            return places_refuse(p, n, w, "has a size that is not known");
    return pulser_ints(p, n->name, shape, (unsigned) f->rank, ret);
}

/* Row e of a table for each query, up or down by one from query to query, or a Gather stops the
 * stream: the table is turned where it goes down, so that no index is below 0. */
static rill_status table_running(struct pulser *p, const struct node *n, const struct node *m,
                                 const struct places *at, const struct dim *e, int64_t rows,
                                 uint32_t *ret)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = at->axis[0] };
    const struct dim *symbol = p->positions->place[0];
    int64_t v, by;
    uint32_t in[2] = { p->map[m->in[0]], at->queries };
    if (!e)
        return places_refuse(p, n, m->out[0], "depends on the length of the whole sequence");
    if (!at->ends || !grows_evenly(p, e, at, 0, &by) || (by != 1 && by != -1) ||
        !dim_eval(e, symbol, 0, &v) || v < 0 || v >= rows)
        return places_refuse(p, n, m->out[0], "has a row of a table for each query");
    if (by < 0)
        TRY(pulser_turned(p, n, at->axis[0], rows, &in[0]));
    v = by < 0 ? rows - 1 - v : v;
    *at->ends = smaller(*at->ends, rows - v);
    TRY(pulser_with_int(p, n, OP_ADD, v, &in[1]));
    return pulser_emit_op(p, OP_GATHER, m->name, &along, 1, in, 2, ret);
}

/* The first row that a slice takes of a table of so many, at every length from 1 on; NULL: it is
 * counted from an end that is not known. */
static const struct dim *first_row(const struct pulser *p, const struct tensor *from, int64_t rows)
{
    const struct positions *ps = p->positions;
    struct dims *ds = ps->dims;
    const struct dim *first = from->type == DTYPE_DIM
        ? positions_dim(ps, *(const struct dim *const *) from->data, p->symbol)
        : dim_int(ds, tensor_get_i64(from, from->data, 0));
    if (!first || (dim_is_const(first) && dim_value(first) < 0))
        return NULL;
    const struct dim *some = dim_subst(ds, first, ps->time, dim_add_int(ds, ps->more, 1));
    return dim_is(dim_ge(ds, some, dim_int(ds, 0)), 0) ? dim_add_int(ds, first, rows) : first;
}

/* Rows `first` + place of a table. */
static rill_status table_emit(struct pulser *p, const struct node *n, const struct node *m,
                              const struct places *at, uint32_t *ret)
{
    const struct positions *ps = p->positions;
    const struct tensor *from = node_value(p->src, m, 1), *by = node_value(p->src, m, 4);
    const struct fact *table = pulser_fact(p, m->in[0]);
    int k = at->axis[0] >= 0 ? 0 : 1, axis = at->axis[k];
    int64_t rows = dim_is_const(table->shape[axis]) ? dim_value(table->shape[axis]) : 0, step = 1,
            v;
    const struct dim *first = first_row(p, from, rows);
    if (by && by->type != DTYPE_DIM)
        step = tensor_get_i64(by, by->data, 0);
    if (!first || step < 1)
        return places_refuse(p, n, m->out[0], "counts rows of a table from its end");
    const struct dim *e =
        positions_without_length(ps,
                                 dim_add(ps->dims, first, dim_mul_int(ps->dims, at->at[k], step)));
    if (at->running && k == 0)
        return table_running(p, n, m, at, e, rows, ret);
    struct tensor *t = tensor_new(p->arena, DTYPE_I64, 1, &at->count[k]);
    if (!t)
        return pulser_no_memory(p);
    if (!e)
        return places_refuse(p, n, m->out[0], "depends on the length of the whole sequence");
    for (int64_t i = 0; i < at->count[k]; i++) {
        bool seen = i >= at->unseen[0] && i < at->count[k] - at->unseen[1];
        if (!dim_eval(e, ps->place[k], at->first[k] + i, &v) || ((v < 0 || v >= rows) && seen))
            return places_refuse(p, n, m->out[0], "wants rows that its table has not");
        ((int64_t *) t->data)[i] = v < 0 ? 0 : v >= rows ? rows - 1 : v;
    }
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = axis };
    uint32_t in[2] = { p->map[m->in[0]], graph_add_const(p->dst, m->name, t) };
    return in[1] == WIRE_NONE ? pulser_no_memory(p)
                              : pulser_emit_op(p, OP_GATHER, m->name, &along, 1, in, 2, ret);
}

static rill_status made_input(struct pulser *p, const struct node *n, const struct node *m,
                              unsigned i, const struct places *at, uint32_t *ret)
{
    struct places sub = *at;
    if (++sub.steps > STEPS_MAX)
        return places_refuse(p, n, m->out[0], "lies behind too many nodes");
    sub.by = m;
    *ret = m->in[i] == WIRE_NONE ? WIRE_NONE : p->map[m->in[i]];
    if (m->in[i] == WIRE_NONE || pulser_fact(p, m->in[i])->value)
        return RILL_OK;
    for (int k = 0; k < 2; k++)
        sub.axis[k] = at->axis[k] < 0 ? AXIS_NONE : track_in(p, m, i, at->axis[k]);
    for (int a = 0; a < pulser_fact(p, m->in[i])->rank; a++)
        if (axis_is_time(p, m->in[i], a) && place_at(&sub, a) < 0)
            return places_refuse(p, n, m->in[i], "has time on an axis that nobody looks along");
    return places_emit(p, n, m->in[i], &sub, ret);
}

/* Rows that it has not are of pairs outside the sequence, which nobody sees, or of lengths that are
 * refused: any will do. */
static rill_status rows_clamp(struct pulser *p, const struct node *m, int64_t rows, uint32_t *at)
{
    const struct tensor *v = p->dst->wires[*at].fact.value;
    struct tensor *t = tensor_new(p->arena, v->type, v->rank, v->dim);
    if (!t)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < tensor_count(v); i++) {
        const int64_t row = tensor_get_i64(v, v->data, i);
        tensor_set_f64(t, t->data, i, (double) larger(smaller(row, rows - 1), -rows));
    }
    *at = graph_add_const(p->dst, m->name, t);
    return *at == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

/* The same of rows that are told in each run. */
static rill_status rows_clamp_running(struct pulser *p, const struct node *m, int64_t rows,
                                      uint32_t *at)
{
    static const enum op_id ops[] = { OP_MAX, OP_MIN };
    const int64_t bound[] = { -rows, rows - 1 };
    const enum dtype type = pulser_dst_fact(p, *at)->type;
    for (int k = 0; k < 2; k++) {
        struct tensor *t = tensor_new(p->arena, type, 0, NULL);
        uint32_t in[2] = { *at };
        if (!t)
            return pulser_no_memory(p);
        tensor_set_f64(t, t->data, 0, (double) bound[k]);
        if ((in[1] = graph_add_const(p->dst, m->name, t)) == WIRE_NONE)
            return pulser_no_memory(p);
        TRY(pulser_emit_op(p, ops[k], m->name, NULL, 0, in, 2, at));
    }
    return RILL_OK;
}

static bool any_outside(const struct tensor *v, int64_t rows)
{
    for (int64_t i = 0; i < tensor_count(v); i++) {
        const int64_t row = tensor_get_i64(v, v->data, i);
        if (row >= rows || row < -rows)
            return true;
    }
    return false;
}

rill_status places_rows(struct pulser *p, const struct node *m, uint32_t *at)
{
    static const enum op_id picks[] = { OP_GATHER, OP_GATHER_ELEMENTS };
    if (!node_is_among(m, picks, sizeof picks / sizeof *picks))
        return RILL_OK;
    const struct fact *table = pulser_fact(p, m->in[0]);
    const struct dim *size = table->shape[axis_normalise(axis_of(m), table->rank)];
    const struct tensor *v = p->dst->wires[*at].fact.value;
    const int64_t rows = dim_is_const(size) ? dim_value(size) : 0;
    bool told;
    if (rows < 1 || (v && v->type == DTYPE_DIM))
        return RILL_OK;
    const bool outside = !v || any_outside(v, rows);
    TRY(position_rows_claim(p, m->in[1], rows, v && outside ? DIM_CLAIM_NEEDED : DIM_CLAIM_TABLE,
                            &told));
    if (!outside || !told)
        return RILL_OK;
    return v ? rows_clamp(p, m, rows, at) : rows_clamp_running(p, m, rows, at);
}

static rill_status made_emit(struct pulser *p, const struct node *n, const struct node *m,
                             const struct places *at, uint32_t *ret)
{
    uint32_t *in = arena_array(p->arena, uint32_t, m->n_in + 1);
    if (!in)
        return pulser_no_memory(p);
    if (slices_table(p, m))
        return table_emit(p, n, m, at, ret);
    TRY(made_input(p, n, m, 0, at, &in[0]));
    if (node_is(m, OP_RESHAPE) || node_is(m, OP_FLATTEN) || node_is(m, OP_EXPAND)) {
        TRY(shape_emit(p, n, m->out[0], at, &in[1]));
        return pulser_emit_op(p, node_is(m, OP_EXPAND) ? OP_EXPAND : OP_RESHAPE, m->name, NULL, 0,
                              in, 2, ret);
    }
    for (unsigned i = 1; i < m->n_in; i++)
        TRY(made_input(p, n, m, i, at, &in[i]));
    TRY(places_rows(p, m, &in[1]));
    return pulser_emit(p, m->op, m->name, m->attr, in, m->n_in, ret, 1);
}

static rill_status expression_running(struct pulser *p, const struct node *n, uint32_t w,
                                      const struct places *at, uint32_t *ret)
{
    const struct positions *ps = p->positions;
    const struct dim *e = positions_without_length(ps, placed(ps, ps->of[w].e, at));
    if (!e)
        return places_refuse(p, n, w, "depends on the length of the whole sequence");
    const rill_status s = running_emit(p, n, w, at, e, ret);
    return s == RILL_UNSUPPORTED && is_made_too(p, w)
        ? made_emit(p, n, graph_producer(p->src, w), at, ret)
        : s;
}

rill_status places_emit(struct pulser *p, const struct node *n, uint32_t w, const struct places *at,
                        uint32_t *ret)
{
    if (has_expression(p, w))
        return at->running && at->axis[0] >= 0 ? expression_running(p, n, w, at, ret)
                                               : expression_emit(p, n, w, at, ret);
    if (!places_known(p, w))
        return places_refuse(p, n, w, "is not known");
    return made_emit(p, n, &p->src->nodes[p->src->wires[w].node], at, ret);
}
