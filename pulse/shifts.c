/* SPDX-License-Identifier: MIT */
#include "pulse/shifts.h"
#include "engine/ops/attrs.h"
#include "pulse/axes.h"
#include "pulse/places.h"
#include "pulse/positions.h"
#include "pulse/tracks.h"

#define FAR_OFF (INT64_MAX / 4)
#define LENGTHS 14      /* of sequences that a chain is tried with: up to so many rows */
#define LENGTH_MAX 4096 /* of the stream */

/* ---- chains ---- */

/* The two time axes, one behind the other. */
static bool rows_of(const struct pulser *p, uint32_t w, int *ret_axis)
{
    int axes[2];
    if (w == WIRE_NONE || time_axes(p, w, axes) != 2 || axes[1] != axes[0] + 1)
        return false;
    *ret_axis = axes[0];
    return true;
}

static bool is_product(const struct node *n)
{
    return (node_is(n, OP_MATMUL) || node_is(n, OP_EINSUM)) && n->n_in == 2 && n->n_out == 1;
}

/* A product of queries and a table: rows are queries. */
static bool starts(const struct pulser *p, const struct node *n, unsigned *ret_table)
{
    int at, axes[2];
    if (!is_product(n) || !rows_of(p, n->out[0], &at))
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (places_known(p, n->in[i]) && !places_known(p, n->in[1 - i]) &&
            time_axes(p, n->in[i], axes) == 1 && track_out(p, n, i, axes[0]) == at + 1 &&
            time_axes(p, n->in[1 - i], axes) == 1 && track_out(p, n, 1 - i, axes[0]) == at) {
            *ret_table = i;
            return true;
        }
    return false;
}

static bool is_single(const struct pulser *p, uint32_t w)
{
    return pulser_fact(p, w)->value && tensor_count(pulser_fact(p, w)->value) == 1;
}

/* Element by element, with one number. */
static bool scales(const struct pulser *p, const struct node *n, uint32_t w)
{
    bool all = (n->op->flags & OP_POINTWISE) && n->n_out == 1;
    for (unsigned i = 0; i < n->n_in; i++)
        all = all && n->in[i] != WIRE_NONE && (n->in[i] == w || is_single(p, n->in[i]));
    return all;
}

static bool goes_on(const struct pulser *p, const struct node *n, uint32_t w)
{
    static const enum op_id moves[] = { OP_CONCAT, OP_PAD, OP_RESHAPE, OP_SLICE };
    int at;
    return n && n->n_out == 1 && rows_of(p, n->out[0], &at) &&
        (node_is_among(n, moves, sizeof moves / sizeof *moves) || scales(p, n, w));
}

/* The one reader of each wire; NULL: there are several, or none, or it is an output. */
static const struct node **readers_find(const struct pulser *p)
{
    const struct graph *g = p->src;
    const struct node **of = arena_array(p->arena, const struct node *, g->n_wires + 1);
    bool *several = arena_array(p->arena, bool, g->n_wires + 1);
    if (!of || !several)
        return NULL;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        several[g->outputs[i]] = true;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++) {
            uint32_t w = g->nodes[i].in[k];
            if (w == WIRE_NONE)
                continue;
            several[w] |= of[w] != NULL;
            of[w] = &g->nodes[i];
        }
    for (uint32_t w = 0; w < g->n_wires; w++)
        of[w] = several[w] ? NULL : of[w];
    return of;
}

/* ---- where elements come from, for one length of the sequence ---- */

/* Elements of the two axes: row * width + column of the product, -1: none of it. */
struct cells {
    int64_t rows, columns, *v;
};

static bool size_of(const struct pulser *p, uint32_t w, int axis, int64_t length, int64_t *ret)
{
    return dim_eval(pulser_fact(p, w)->shape[axis], p->symbol, length, ret) && *ret >= 0 &&
        *ret <= 4 * LENGTHS + 4;
}

static bool cells_new(const struct pulser *p, uint32_t w, int64_t length, struct cells *ret)
{
    int at;
    if (!rows_of(p, w, &at) || !size_of(p, w, at, length, &ret->rows) ||
        !size_of(p, w, at + 1, length, &ret->columns))
        return false;
    ret->v = arena_array(p->arena, int64_t, (size_t) (ret->rows * ret->columns) + 1);
    for (int64_t i = 0; ret->v && i < ret->rows * ret->columns; i++)
        ret->v[i] = -1;
    return ret->v != NULL;
}

/* y[i, j] = x[i + up, j + left], where there is one. */
static void cells_move(const struct cells *x, int64_t up, int64_t left, struct cells *y)
{
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t j = 0; j < y->columns; j++) {
            int64_t a = i + up, b = j + left;
            if (a >= 0 && a < x->rows && b >= 0 && b < x->columns)
                y->v[i * y->columns + j] = x->v[a * x->columns + b];
        }
}

static bool int_at(const struct pulser *p, const struct node *n, unsigned in, int64_t i,
                   int64_t length, int64_t *ret)
{
    const struct tensor *v = node_value(p->src, n, in);
    if (!v || i >= tensor_count(v))
        return false;
    if (v->type == DTYPE_DIM)
        return dim_eval(((const struct dim *const *) v->data)[i], p->symbol, length, ret);
    *ret = tensor_get_i64(v, v->data, i);
    return true;
}

/* The frames that a Pad puts in front of an axis. */
static bool padded_by(const struct pulser *p, const struct node *n, int axis, int64_t *ret)
{
    int rank = pulser_fact(p, n->in[0])->rank;
    const struct tensor *axes = node_value(p->src, n, 3);
    int64_t count = axes ? tensor_count(axes) : rank;
    *ret = 0;
    if (node_has_input(n, 3) && !axes)
        return false;
    for (int64_t k = 0; k < count; k++)
        if ((axes ? axis_normalise(tensor_get_i64(axes, axes->data, k), rank) : k) == axis)
            return int_at(p, n, 1, k, 0, ret);
    return true;
}

static bool sliced_from(const struct pulser *p, const struct node *n, int axis, int64_t length,
                        int64_t *ret)
{
    int rank = pulser_fact(p, n->in[0])->rank;
    const struct tensor *from = node_value(p->src, n, 1);
    int64_t at, step = 1, size;
    *ret = 0;
    for (int64_t k = 0; from && k < tensor_count(from); k++) {
        at = k;
        if (node_has_input(n, 3) && !int_at(p, n, 3, k, length, &at))
            return false;
        if (axis_normalise(at, rank) != axis)
            continue;
        if ((node_has_input(n, 4) && !int_at(p, n, 4, k, length, &step)) || step != 1 ||
            !int_at(p, n, 1, k, length, ret) || !size_of(p, n->in[0], axis, length, &size))
            return false;
        *ret += *ret < 0 ? size : 0;
    }
    return from != NULL;
}

/* The elements that a Concat puts in front of wire w. */
static bool joined_behind(const struct pulser *p, const struct node *n, uint32_t w, int64_t length,
                          int64_t *ret)
{
    int64_t size;
    int axis = axis_normalise(axis_of(n), pulser_fact(p, w)->rank);
    *ret = 0;
    for (unsigned i = 0; i < n->n_in && n->in[i] != w; i++) {
        if (n->in[i] == WIRE_NONE ||
            !dim_eval(pulser_fact(p, n->in[i])->shape[axis], p->symbol, length, &size))
            return false;
        *ret += size;
    }
    return true;
}

static const struct dim *around(const struct pulser *p, uint32_t w, int from, int to)
{
    const struct dim *d = dim_int(p->src->dims, 1);
    for (int i = from; i < to; i++)
        d = dim_mul(p->src->dims, d, pulser_fact(p, w)->shape[i]);
    return d;
}

static bool same_around(const struct pulser *p, uint32_t a, int a_from, int a_to, uint32_t b,
                        int b_from, int b_to)
{
    return dim_refresh(p->src->dims, around(p, a, a_from, a_to)) ==
        dim_refresh(p->src->dims, around(p, b, b_from, b_to));
}

/* x and y are what w and n's output hold. */
static bool cells_run(const struct pulser *p, const struct node *n, uint32_t w, int64_t length,
                      const struct cells *x, struct cells *y)
{
    int from, to;
    int64_t up = 0, left = 0;
    uint32_t out = n->out[0];
    rows_of(p, w, &from);
    rows_of(p, out, &to);
    if (node_is(n, OP_RESHAPE)) {
        bool same = same_around(p, w, 0, from, out, 0, to) &&
            same_around(p, w, from + 2, pulser_fact(p, w)->rank, out, to + 2,
                        pulser_fact(p, out)->rank);
        for (int64_t i = 0; i < x->rows * x->columns && i < y->rows * y->columns; i++)
            y->v[i] = x->v[i];
        return same && x->rows * x->columns == y->rows * y->columns;
    }
    if (from != to)
        return false;
    if (node_is(n, OP_PAD)) {
        if (!padded_by(p, n, from, &up) || !padded_by(p, n, from + 1, &left))
            return false;
        up = -up;
        left = -left;
    } else if (node_is(n, OP_SLICE)) {
        if (!sliced_from(p, n, from, length, &up) || !sliced_from(p, n, from + 1, length, &left))
            return false;
    } else if (node_is(n, OP_CONCAT)) {
        int axis = axis_normalise(axis_of(n), pulser_fact(p, w)->rank);
        int64_t *by = axis == from ? &up : &left;
        if ((axis != from && axis != from + 1) || !joined_behind(p, n, w, length, by))
            return false;
        *by = -*by;
    }
    cells_move(x, up, left, y);
    return true;
}

/* Narrows what is known of the shift by one length; false: it is none. */
static bool shift_learn(const struct cells *y, int64_t width, int64_t length, bool first,
                        struct shift *s)
{
    if (y->rows != length || y->columns != length || y->v[0] < 0 || y->v[0] >= width)
        return false;
    if (first)
        s->first = y->v[0] - length;
    for (int64_t i = 0; i < length; i++)
        for (int64_t j = 0; j < length; j++) {
            int64_t column = length + s->first - i + j;
            if (column >= 0 && column < width && y->v[i * length + j] == i * width + column)
                continue;
            if (i == j)
                return false;
            if (i > j && i - j - 1 < s->before)
                s->before = i - j - 1;
            if (j > i && j - i - 1 < s->after)
                s->after = j - i - 1;
        }
    return true;
}

/* The elements at the end of the chain. ret_width: columns of the product. */
static bool chain_run(const struct pulser *p, const struct shift *s, int64_t length,
                      struct cells *ret, int64_t *ret_width)
{
    uint32_t w = s->node[0]->out[0];
    struct cells y;
    if (!cells_new(p, w, length, ret))
        return false;
    for (int64_t i = 0; i < ret->rows * ret->columns; i++)
        ret->v[i] = i;
    *ret_width = ret->columns;
    for (unsigned k = 1; k < s->n; k++) {
        if (!cells_new(p, s->node[k]->out[0], length, &y) ||
            !cells_run(p, s->node[k], w, length, ret, &y))
            return false;
        *ret = y;
        w = s->node[k]->out[0];
    }
    return true;
}

static bool chain_learn(const struct pulser *p, struct shift *s)
{
    int at;
    int64_t rows, width, tried = 0;
    if (!rows_of(p, s->node[0]->out[0], &at))
        return false;
    s->rows = pulser_fact(p, s->node[0]->out[0])->shape[at];
    s->before = s->after = FAR_OFF;
    for (int64_t length = 1; length < LENGTH_MAX; length++) {
        struct cells x;
        if (!dim_eval(s->rows, p->symbol, length, &rows) || rows < 1)
            continue;
        if (rows > LENGTHS)
            break;
        if (!chain_run(p, s, length, &x, &width) || !shift_learn(&x, width, rows, tried == 0, s))
            return false;
        tried++;
    }
    return tried >= LENGTHS;
}

static rill_status chain_find(const struct pulser *p, struct shifts *all, const struct node *start,
                              const struct node *const *reader)
{
    struct shift s = { .n = 0 }, *kept;
    bool moves = false;
    if (!starts(p, start, &s.table))
        return RILL_OK;
    for (const struct node *n = start; s.n < SHIFT_NODES_MAX;) {
        s.node[s.n++] = n;
        moves |= node_is(n, OP_RESHAPE);
        const struct node *next = reader[n->out[0]];
        if (!goes_on(p, next, n->out[0]))
            break;
        n = next;
    }
    while (s.n > 1 && moves && scales(p, s.node[s.n - 1], s.node[s.n - 2]->out[0]))
        s.n--; /* what follows the shift is done to scores */
    if (!moves || !chain_learn(p, &s))
        return RILL_OK;
    if (!(kept = arena_copy(p->arena, &s, sizeof s)))
        return RILL_NOMEM;
    all->of[s.node[s.n - 1]->out[0]] = kept;
    for (unsigned k = 0; k + 1 < s.n; k++)
        all->inside[s.node[k]->out[0]] = true;
    return RILL_OK;
}

struct shifts *shifts_find(const struct pulser *p)
{
    struct shifts *s = arena_new(p->arena, struct shifts);
    const struct node **reader = readers_find(p);
    if (!s || !reader)
        return NULL;
    s->of = arena_array(p->arena, struct shift *, p->src->n_wires + 1);
    s->inside = arena_array(p->arena, bool, p->src->n_wires + 1);
    for (uint32_t i = 0; s->of && s->inside && i < p->src->n_nodes; i++)
        if (chain_find(p, s, &p->src->nodes[i], reader) != RILL_OK)
            return NULL;
    return s->of && s->inside ? s : NULL;
}

const struct shift *shift_of(const struct pulser *p, uint32_t w)
{
    return p->shifts && w != WIRE_NONE ? p->shifts->of[w] : NULL;
}

/* ---- what stands for a chain ---- */

/* Rows of `width` columns, of which row i begins at column pulse - 1 - i. */
static rill_status skew_emit(struct pulser *p, const char *name, int axis, int64_t pulse,
                             int64_t width, int64_t keys, uint32_t *wire)
{
    const struct fact f = *pulser_dst_fact(p, *wire);
    int64_t shape[RANK_MAX];
    uint32_t in[2] = { *wire };
    if (pulse == 1)
        return RILL_OK;
    int rank = 0;
    for (int a = 0; a < f.rank; a++)
        if (a != axis + 1)
            shape[rank++] = a == axis ? pulse * width : dim_value(f.shape[a]);
    TRY(pulser_ints(p, name, shape, (unsigned) rank, &in[1]));
    TRY(pulser_emit_op(p, OP_RESHAPE, name, NULL, 0, in, 2, wire));
    TRY(pulser_slice(p, name, *wire, axis, pulse - 1, pulse - 1 + pulse * (width - 1), wire));
    for (int a = 0; a < f.rank; a++)
        shape[a] = a == axis ? pulse : a == axis + 1 ? width - 1 : dim_value(f.shape[a]);
    in[0] = *wire;
    TRY(pulser_ints(p, name, shape, (unsigned) f.rank, &in[1]));
    TRY(pulser_emit_op(p, OP_RESHAPE, name, NULL, 0, in, 2, wire));
    return pulser_slice(p, name, *wire, axis + 1, 0, keys, wire);
}

static rill_status scaled_emit(struct pulser *p, const struct shift *s, unsigned k, uint32_t *wire)
{
    const struct node *n = s->node[k];
    uint32_t w = s->node[k - 1]->out[0], *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == w ? *wire : p->map[n->in[i]];
    return pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, wire, 1);
}

rill_status shift_emit(struct pulser *p, const struct shift *s, uint32_t queries,
                       const struct shift_window *w, uint32_t *ret)
{
    const struct node *n = s->node[0];
    const struct positions *ps = p->positions;
    int64_t keys = w->left + w->pulse + w->right, width = keys + w->pulse - 1;
    int axes[2], axis;
    uint32_t in[2], table = n->in[s->table];
    if (w->left + w->chunk - 1 > s->before || w->right + w->chunk - 1 > s->after)
        return op_fail(p->err, RILL_UNSUPPORTED, s->node[s->n - 1],
                       "cannot stream: the shift of positions takes other queries' products for "
                       "keys more than %lld frames %s their query, which its mask shows",
                       (long long) (w->right + w->chunk - 1 > s->after ? s->after : s->before),
                       w->right + w->chunk - 1 > s->after ? "behind" : "before");
    time_axes(p, table, axes);
    const struct dim *rows = positions_dim(ps, s->rows, p->symbol);
    if (!rows)
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its length is not known");
    const struct places at = { .axis = { axes[0], AXIS_NONE },
                               .at = { dim_add(ps->dims, rows, ps->place[0]), NULL },
                               .first = { s->first - (w->pulse - 1 + w->left), 0 },
                               .count = { width, 0 },
                               .unseen = w->pulse - w->chunk };
    TRY(places_emit(p, n, table, &at, &in[s->table]));
    in[1 - s->table] = queries;
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, 2, ret, 1));
    rows_of(p, n->out[0], &axis);
    for (unsigned k = 1; k < s->n; k++)
        if (scales(p, s->node[k], s->node[k - 1]->out[0]))
            TRY(scaled_emit(p, s, k, ret));
    return skew_emit(p, n->name, axis, w->pulse, width, keys, ret);
}
