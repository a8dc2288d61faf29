/* SPDX-License-Identifier: MIT */
/* Unique: slices of an axis (or elements) without repeats. Slices are compared through a sorted
 * list of their numbers. The size of its outputs depends on data. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"

#include <string.h>

#define NO_AXIS INT64_MIN

struct unique_attr {
    struct axis_attr on;
    int64_t sorted;
};

static const struct attr_spec unique_attrs[] = {
    { .name = "axis",
      .kind = ATTR_INT,
      .offset = offsetof(struct unique_attr, on.axis),
      .def_i = NO_AXIS },
    { .name = "sorted",
      .kind = ATTR_INT,
      .offset = offsetof(struct unique_attr, sorted),
      .def_i = 1 },
    { 0 },
};

struct slices {
    const struct tensor *t;
    const void *data;
    int64_t n, outer, inner; /* element k of slice i of outer o is at (o * n + i) * inner + k */
};

static struct slices slices_of(const struct tensor *t, const void *data, int64_t axis)
{
    struct slices s = { .t = t, .data = data, .n = tensor_count(t), .outer = 1, .inner = 1 };
    int a = axis == NO_AXIS ? -1 : axis_normalise(axis, t->rank);
    for (int i = 0; i < t->rank && a >= 0; i++) {
        s.n = t->dim[a];
        s.outer *= i < a ? t->dim[i] : 1;
        s.inner *= i > a ? t->dim[i] : 1;
    }
    return s;
}

static int element_order(const struct tensor *t, const void *data, int64_t i, int64_t k)
{
    if (dtype_is_float(t->type)) {
        double a = tensor_get_f64(t, data, i), b = tensor_get_f64(t, data, k);
        return a < b ? -1 : a > b;
    }
    int64_t a = tensor_get_i64(t, data, i), b = tensor_get_i64(t, data, k);
    return a < b ? -1 : a > b;
}

static int slice_order(const struct slices *s, int64_t a, int64_t b)
{
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t k = 0; k < s->inner; k++) {
            int d = element_order(s->t, s->data, (o * s->n + a) * s->inner + k,
                                  (o * s->n + b) * s->inner + k);
            if (d)
                return d;
        }
    return 0;
}

/* Stable merge sort of the numbers 0..n-1 by slice; both lists have n entries. Returns the one that
 * is sorted. */
static int64_t *slices_sort(const struct slices *s, int64_t *list, int64_t *spare)
{
    for (int64_t i = 0; i < s->n; i++)
        list[i] = i;
    for (int64_t width = 1; width < s->n; width *= 2) {
        for (int64_t from = 0; from < s->n; from += 2 * width) {
            int64_t mid = from + width < s->n ? from + width : s->n,
                    end = mid + width < s->n ? mid + width : s->n;
            for (int64_t a = from, b = mid, k = from; k < end; k++)
                spare[k] = a < mid && (b >= end || slice_order(s, list[a], list[b]) <= 0)
                    ? list[a++]
                    : list[b++];
        }
        int64_t *swap = list;
        list = spare;
        spare = swap;
    }
    return list;
}

static int64_t groups_count(const struct slices *s, const int64_t *order)
{
    int64_t n = s->n > 0;
    for (int64_t i = 1; i < s->n; i++)
        n += slice_order(s, order[i - 1], order[i]) != 0;
    return n;
}

static rill_status unique_infer(struct infer *c)
{
    const struct tensor *x = c->in[0]->value;
    int64_t axis = ((const struct unique_attr *) c->attr)->on.axis;
    if (!x || x->type == DTYPE_DIM)
        return infer_fail(
            c, "the size of its output depends on data that is not known before running");
    if (axis != NO_AXIS && axis_normalise(axis, x->rank) < 0)
        return infer_fail(c, "axis %lld is not one of rank %d", (long long) axis, x->rank);
    struct slices s = slices_of(x, x->data, axis);
    int64_t *list = arena_array(c->arena, int64_t, (size_t) s.n * 2 + 1);
    if (!list)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    const struct dim *n = dim_int(c->dims, groups_count(&s, slices_sort(&s, list, list + s.n)));
    infer_same(c, 0, 0);
    c->out[0].rank = axis == NO_AXIS ? 1 : x->rank;
    c->out[0].shape[axis == NO_AXIS ? 0 : axis_normalise(axis, x->rank)] = n;
    for (unsigned i = 1; i < c->n_out; i++)
        infer_shape(c, i, DTYPE_I64, 1,
                    (const struct dim *[]) { i == 2 ? dim_int(c->dims, s.n) : n });
    return RILL_OK;
}

static rill_status unique_prepare(struct prep *c)
{
    struct slices s = slices_of(c->in[0], NULL, ((const struct unique_attr *) c->attr)->on.axis);
    c->scratch_bytes = (size_t) s.n * 4 * sizeof(int64_t) + 64;
    return RILL_OK;
}

/* first[g]: number of the first slice of group g; group[i]: the group of slice i. Groups are in
 * sorted order, or in the order in which they come. */
static void groups_make(const struct slices *s, bool sorted, int64_t *order, int64_t *first,
                        int64_t *group)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        bool fresh = i == 0 || slice_order(s, order[i - 1], order[i]) != 0;
        if (fresh)
            first[n++] = order[i];
        group[order[i]] = sorted ? n - 1 : first[n - 1];
    }
    if (sorted)
        return;
    n = 0;
    for (int64_t i = 0; i < s->n; i++) { /* a slice whose first is itself starts a group */
        if (group[i] == i) {
            order[i] = n;
            first[n++] = i;
        }
        group[i] = order[group[i]];
    }
}

static void unique_eval(const struct eval *e)
{
    const struct unique_attr *a = e->attr;
    struct slices s = slices_of(e->in[0], e->x[0], a->on.axis);
    int64_t *list = e->scratch, *order = slices_sort(&s, list, list + s.n), *first = list + 2 * s.n,
            *group = first + s.n;
    groups_make(&s, a->sorted != 0, order, first, group);
    struct slices y = slices_of(e->out[0], e->y[0], a->on.axis == NO_AXIS ? 0 : a->on.axis);
    size_t bytes = dtype_bytes(s.t->type), row = (size_t) s.inner * bytes;
    int64_t *lists[4] = { NULL };
    for (unsigned i = 1; i < e->n_out && i < 4; i++)
        lists[i] = e->y[i];
    for (int64_t g = 0; g < y.n; g++) {
        for (int64_t o = 0; o < s.outer && e->y[0]; o++)
            memcpy((char *) e->y[0] + (size_t) (o * y.n + g) * row,
                   (const char *) e->x[0] + (size_t) (o * s.n + first[g]) * row, row);
        if (lists[1])
            lists[1][g] = first[g];
        if (lists[3])
            lists[3][g] = 0;
    }
    for (int64_t i = 0; i < s.n; i++) {
        if (lists[2])
            lists[2][i] = group[i];
        if (lists[3])
            lists[3][group[i]]++;
    }
}

static const struct op op_unique = {
    .id = OP_UNIQUE,
    .name = "Unique",
    .attrs = unique_attrs,
    .attr_bytes = sizeof(struct unique_attr),
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 4,
    .infer = unique_infer,
    .prepare = unique_prepare,
    .eval = unique_eval,
    .help = "slices or elements without repeats, with first places, inverse and counts",
};

const struct op *const ops_unique[] = { &op_unique, NULL };
