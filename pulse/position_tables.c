/* SPDX-License-Identifier: MIT */
#include "pulse/position_tables.h"
#include "engine/base/checked.h"
#include "engine/ops/attrs.h"
#include "pulse/ints.h"
#include "pulse/within.h"

#include <math.h>

/* Numbers that stay far from what 64 bits hold at any frame. */
#define FIRST_MAX (INT64_MAX / 4)
#define STEP_MAX INT32_MAX

#define JOINED_MAX 64 /* frames in front of others */

static bool step_of(int64_t first, int64_t next, int64_t *ret)
{
    return first <= FIRST_MAX && first >= -FIRST_MAX && int_sub(next, first, ret) &&
        *ret <= STEP_MAX && *ret >= -STEP_MAX;
}

/* The expression of a table of integers that grows evenly along each axis; NULL of any other. */
static const struct dim *even_table(const struct positions *ps, const struct tensor *v)
{
    int64_t stride[RANK_MAX], step[RANK_MAX], first;
    if (tensor_count(v) == 0 || !dtype_is_int(v->type))
        return NULL;
    tensor_strides(v, stride);
    const struct dim *e = dim_int(ps->dims, first = tensor_get_i64(v, v->data, 0));
    for (int k = 0; k < v->rank; k++) {
        step[k] = 0;
        if (v->dim[k] > 1 && !step_of(first, tensor_get_i64(v, v->data, stride[k]), &step[k]))
            return NULL;
        e = dim_add(ps->dims, e, dim_mul_int(ps->dims, ps->axis[k], step[k]));
    }
    for (int64_t i = 0; i < tensor_count(v); i++) {
        int64_t want = first, by;
        bool fits = true;
        for (int k = 0; k < v->rank; k++)
            fits = fits && int_mul(step[k], i / stride[k] % v->dim[k], &by) &&
                int_add(want, by, &want);
        if (!fits || tensor_get_i64(v, v->data, i) != want)
            return NULL;
    }
    return e;
}

/* A list of integers of which each is there as often as the others, and which grow evenly; NULL:
 * any other. */
static const struct dim *chunk_table(const struct positions *ps, const struct tensor *v)
{
    int64_t n = tensor_count(v), c = 1;
    if (v->rank != 1 || !dtype_is_int(v->type))
        return NULL;
    const int64_t first = tensor_get_i64(v, v->data, 0);
    while (c < n && tensor_get_i64(v, v->data, c) == first)
        c++;
    if (c < 2 || c > n / 2)
        return NULL;
    int64_t step, by, want;
    if (!step_of(first, tensor_get_i64(v, v->data, c), &step))
        return NULL;
    for (int64_t i = 0; i < n; i++)
        if (!int_mul(step, i / c, &by) || !int_add(first, by, &want) ||
            tensor_get_i64(v, v->data, i) != want)
            return NULL;
    return dim_add_int(ps->dims, dim_mul_int(ps->dims, dim_div_int(ps->dims, ps->axis[0], c), step),
                       first);
}

#define STEPS_MAX 16

/* Few whole numbers along one axis, as windows of heads are: the first and what each adds to the
 * one before; NULL: something else. */
static const struct dim *steps_table(const struct positions *ps, const struct tensor *v)
{
    struct dims *ds = ps->dims;
    int axis = -1;
    double now, last = 0;
    for (int k = 0; k < v->rank; k++)
        axis = v->dim[k] == tensor_count(v) ? k : axis;
    if (axis < 0 || tensor_count(v) < 2 || tensor_count(v) > STEPS_MAX || v->type == DTYPE_DIM ||
        !(dtype_is_float(v->type) || dtype_is_int(v->type)))
        return NULL;
    const struct dim *e = dim_int(ds, 0);
    for (int64_t i = 0; i < tensor_count(v); i++, last = now) {
        now = tensor_get_f64(v, v->data, i);
        if (now != floor(now) || fabs(now) > 1 << 24)
            return NULL;
        const struct dim *behind = dim_ge(ds, ps->axis[axis], dim_int(ds, i));
        e = dim_add(ds, e,
                    i ? dim_mul_int(ds, behind, (int64_t) (now - last))
                      : dim_int(ds, (int64_t) now));
    }
    return e;
}

/* ---- lists of two numbers ---- */

#define LIST_MAX 4096
#define CHANGES_MAX 8

/* The list's other number, and at which places it goes from one to the other; 0: there are more
 * numbers or places. */
static unsigned changes_of(const struct tensor *v, int64_t *ret_at, double *ret_other)
{
    const double one = tensor_get_f64(v, v->data, 0);
    unsigned n = 0;
    for (int64_t i = 1; i < tensor_count(v); i++) {
        const double now = tensor_get_f64(v, v->data, i);
        if (now == tensor_get_f64(v, v->data, i - 1))
            continue;
        *ret_other = n ? *ret_other : now;
        if (n == CHANGES_MAX || now != (n % 2 ? one : *ret_other))
            return 0;
        ret_at[n++] = i;
    }
    return n;
}

static bool is_list(const struct tensor *v)
{
    return v && v->rank == 1 && tensor_count(v) >= 2 && tensor_count(v) <= LIST_MAX &&
        (v->type == DTYPE_BOOL || v->type == DTYPE_F32 || v->type == DTYPE_F64 ||
         v->type == DTYPE_I64 || v->type == DTYPE_I32);
}

struct position table_picked(const struct positions *ps, const struct graph *g,
                             const struct node *n)
{
    struct dims *ds = ps->dims;
    const struct tensor *v = node_is(n, OP_GATHER) ? node_value(g, n, 0) : NULL;
    const struct position at =
        is_list(v) && n->in[1] != WIRE_NONE ? ps->of[n->in[1]] : (struct position) { 0 };
    int64_t change[CHANGES_MAX];
    double other = 0;
    if (!at.e || at.pair || at.parts > 1 || !dim_is(dim_ge(ds, at.e, dim_int(ds, 0)), 1) ||
        !dim_is(dim_ge(ds, dim_int(ds, tensor_count(v) - 1), at.e), 1))
        return (struct position) { 0 };
    const unsigned changes = changes_of(v, change, &other);
    const struct dim *is_other = dim_int(ds, 0);
    for (unsigned i = 0; i < changes; i++)
        is_other =
            dim_add(ds, is_other,
                    dim_mul_int(ds, within_ge(ps, at.e, dim_int(ds, change[i])), i % 2 ? -1 : 1));
    const double first = tensor_get_f64(v, v->data, 0);
    if (!changes || (!dtype_is_float(v->type) && fmax(fabs(first), fabs(other)) > INT32_MAX))
        return (struct position) { 0 };
    if (dtype_is_float(v->type))
        return (struct position) { is_other, true, other, first, 1 };
    return (struct position) {
        .e = dim_add_int(ds, dim_mul_int(ds, is_other, (int64_t) other - (int64_t) first),
                         (int64_t) first)
    };
}

/* ---- masks ---- */

/* A square of two numbers: `one` where the chunks of row and column are from `low` to `high` apart,
 * low > high: nowhere. */
struct square {
    const struct tensor *v;
    int64_t n, chunk, low, high;
    double one, zero;
};

static double at(const struct square *q, int64_t i, int64_t j)
{
    return tensor_get_f64(q->v, q->v->data, i * q->n + j);
}

static bool rows_same(const struct square *q, int64_t i, int64_t k)
{
    bool same = true;
    for (int64_t j = 0; same && j < q->n; j++)
        same = at(q, i, j) == at(q, k, j);
    return same;
}

/* Whether each element is what its distance says. */
static bool is_band(const struct square *q)
{
    for (int64_t i = 0; i < q->n; i++)
        for (int64_t j = 0; j < q->n; j++) {
            const int64_t d = i / q->chunk - j / q->chunk;
            if (at(q, i, j) != (d >= q->low && d <= q->high ? q->one : q->zero))
                return false;
        }
    return true;
}

#define SQUARE_MIN 4
#define SQUARE_MAX 4096

/* Of a table whose axes in front have one element: what its first column and row say, in chunks up
 * to the first row that differs. */
static bool square_find(const struct tensor *v, struct square *ret)
{
    const int r = v->rank;
    if (r < 2 || v->dim[r - 1] != v->dim[r - 2] || v->dim[r - 1] < SQUARE_MIN ||
        v->dim[r - 1] > SQUARE_MAX || tensor_count(v) != v->dim[r - 1] * v->dim[r - 1])
        return false;
    struct square q = { .v = v, .n = v->dim[r - 1], .chunk = 1 };
    const int64_t last = q.n - 1;
    q.one = at(&q, 0, 0);
    while (q.chunk < q.n && rows_same(&q, 0, q.chunk))
        q.chunk++;
    for (q.high = 0; q.high < q.n && at(&q, q.high, 0) == q.one; q.high++)
        q.zero = 0;
    for (q.low = 0; q.low < q.n && at(&q, 0, q.low) == q.one; q.low++)
        q.zero = 0;
    if (q.chunk > last / 2 || (q.high > last && q.low > last))
        return false;
    q.zero = q.high <= last ? at(&q, q.high, 0) : at(&q, 0, q.low);
    q.high = q.high > last ? q.n : (q.high - 1) / q.chunk;
    q.low = q.low > last ? -q.n : -((q.low - 1) / q.chunk);
    *ret = q;
    return (dtype_is_float(v->type) || fmax(fabs(q.one), fabs(q.zero)) <= INT32_MAX) &&
        is_band(ret);
}

/* Sides on which it reaches the end of the table have none. */
static struct position square_position(const struct positions *ps, const struct square *q)
{
    struct dims *ds = ps->dims;
    const int r = q->v->rank;
    const struct dim *row = dim_div_int(ds, ps->axis[r - 2], q->chunk),
                     *column = dim_div_int(ds, ps->axis[r - 1], q->chunk),
                     *far = dim_sub(ds, row, column), *e = dim_int(ds, 1);
    if (q->low > -q->n)
        e = dim_mul(ds, e, dim_ge(ds, far, dim_int(ds, q->low)));
    if (q->high < q->n)
        e = dim_mul(ds, e, dim_ge(ds, dim_int(ds, q->high), far));
    if (dtype_is_float(q->v->type))
        return (struct position) { e, true, q->one, q->zero, 1 };
    const int64_t one = (int64_t) q->one, zero = (int64_t) q->zero;
    return (struct position) { .e = dim_add_int(ds, dim_mul_int(ds, e, one - zero), zero) };
}

struct position table_position(const struct positions *ps, const struct tensor *v)
{
    struct square q;
    const struct dim *e = even_table(ps, v);
    if (!e)
        e = tensor_count(v) ? chunk_table(ps, v) : NULL;
    if (!e)
        e = steps_table(ps, v);
    const bool numbers = dtype_is_float(v->type) || dtype_is_int(v->type) || v->type == DTYPE_BOOL;
    if (e || !numbers || !square_find(v, &q))
        return (struct position) { .e = e };
    return square_position(ps, &q);
}

/* ---- rows ---- */

/* The axes that are not of one element, at most `cap`; false: there are others. */
static bool long_axes(const struct fact *f, int cap, int *ret)
{
    int n = 0;
    for (int i = 0; i < f->rank; i++) {
        if (dim_is(f->shape[i], 1))
            continue;
        if (n == cap)
            return false;
        ret[n++] = i;
    }
    return n == cap;
}

/* Element k of the list is element k mod c of row k / c. */
struct position rows_position(const struct positions *ps, const struct position *at,
                              const struct fact *x, const struct fact *y)
{
    struct dims *ds = ps->dims;
    struct position ret = *at;
    int from[2], to;
    if (!long_axes(x, 2, from) || !long_axes(y, 1, &to) || !dim_is_const(x->shape[from[1]]) ||
        dim_mul(ps->graph, x->shape[from[0]], x->shape[from[1]]) != y->shape[to])
        return (struct position) { 0 };
    const int64_t c = dim_value(x->shape[from[1]]);
    if (c < 1)
        return (struct position) { 0 };
    const struct dim *row = dim_div_int(ds, ps->axis[to], c);
    for (int i = 0; i < x->rank; i++)
        ret.e = dim_subst(ds, ret.e, ps->axis[i],
                          i == from[0]       ? ps->place[0]
                              : i == from[1] ? ps->place[1]
                                             : dim_int(ds, 0));
    ret.e = dim_subst(ds, ret.e, ps->place[0], row);
    ret.e = dim_subst(ds, ret.e, ps->place[1], dim_sub(ds, ps->axis[to], dim_mul_int(ds, row, c)));
    return ret;
}

/* ---- frames in front of others ---- */

static bool is_whole_numbers(const struct position *x)
{
    return x->e && !x->pair && x->parts <= 1;
}

/* Whether the frames of x, `size` of them on the axis, are those of e from `from` on. */
static bool goes_before(const struct positions *ps, const struct position *x, const struct dim *e,
                        int axis, int64_t from, int64_t size)
{
    const struct dim *symbol = ps->axis[axis];
    bool same = is_whole_numbers(x);
    for (int64_t k = 0; same && k < size; k++)
        same = dim_subst(ps->dims, x->e, symbol, dim_int(ps->dims, k)) ==
            dim_subst(ps->dims, e, symbol, dim_int(ps->dims, from + k));
    return same;
}

/* Frames of the input on the axis at every length from 1 on; JOINED_MAX + 1: more, or it depends on
 * the length. */
static int64_t frames_joined(const struct positions *ps, const struct graph *g,
                             const struct dim *symbol, uint32_t wire, int axis)
{
    const struct dim *size = positions_dim(ps, g->wires[wire].fact.shape[axis], symbol);
    size = size ? positions_without_length(ps, size) : NULL;
    return size && dim_is_const(size) && dim_value(size) <= JOINED_MAX ? dim_value(size)
                                                                       : JOINED_MAX + 1;
}

struct position position_joined(const struct positions *ps, const struct graph *g,
                                const struct dim *symbol, const struct node *n)
{
    const int axis = axis_normalise(axis_of(n), g->wires[n->out[0]].fact.rank);
    struct position y = ps->of[n->in[n->n_in - 1]];
    int64_t front = 0, at = 0;
    for (unsigned i = 0; i + 1 < n->n_in && front <= JOINED_MAX; i++)
        front += frames_joined(ps, g, symbol, n->in[i], axis);
    if (!is_whole_numbers(&y) || front > JOINED_MAX)
        return (struct position) { 0 };
    y.e = dim_subst(ps->dims, y.e, ps->axis[axis], dim_add_int(ps->dims, ps->axis[axis], -front));
    for (unsigned i = 0; i + 1 < n->n_in; i++) {
        const int64_t size = frames_joined(ps, g, symbol, n->in[i], axis);
        if (!goes_before(ps, &ps->of[n->in[i]], y.e, axis, at, size))
            return (struct position) { 0 };
        at += size;
    }
    return y;
}
