/* SPDX-License-Identifier: MIT */
/* topk.c - the k largest or smallest elements along an axis, in order; of equals the lower index
 * comes first. NaN counts as larger than everything. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"

#include <math.h>
#include <string.h>

struct topk_attr {
    struct axis_attr on;
    int64_t largest, sorted;
};

struct topk_args {
    size_t outer, n, inner, k;
};

struct topk_item {
    uint64_t key; /* larger is better */
    int64_t at;
};

/* A number whose unsigned order is that of the element. */
static uint64_t key_of(const struct tensor *t, const void *x, int64_t i)
{
    if (t->type == DTYPE_U64)
        return ((const uint64_t *) x)[i];
    if (!dtype_is_float(t->type))
        return (uint64_t) tensor_get_i64(t, x, i) ^ 1ull << 63;
    double v = tensor_get_f64(t, x, i) + 0.0; /* -0 equals 0 */
    if (isnan(v))
        return UINT64_MAX;
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u >> 63 ? ~u : u | 1ull << 63;
}

static bool worse(const struct topk_item *a, const struct topk_item *b)
{
    return a->key != b->key ? a->key < b->key : a->at > b->at;
}

/* The root of the heap is the worst item; puts it[i] where it belongs. */
static void heap_sift(struct topk_item *it, size_t n, size_t i)
{
    struct topk_item v = it[i];
    for (size_t c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && worse(&it[c + 1], &it[c]))
            c++;
        if (!worse(&it[c], &v))
            break;
        it[i] = it[c];
    }
    it[i] = v;
}

/* Takes the worst to the back again and again: best first. */
static void heap_sort(struct topk_item *it, size_t n)
{
    for (size_t m = n; m-- > 1;) {
        struct topk_item v = it[0];
        it[0] = it[m];
        it[m] = v;
        heap_sift(it, m, 0);
    }
}

static void line_select(const struct eval *e, size_t base, struct topk_item *it)
{
    const struct topk_args *g = e->args;
    const struct topk_attr *a = e->attr;
    for (size_t r = 0; r < g->n; r++) {
        uint64_t key = key_of(e->in[0], e->x[0], (int64_t) (base + r * g->inner));
        struct topk_item v = { a->largest ? key : ~key, (int64_t) r };
        if (r < g->k) {
            it[r] = v;
            for (size_t i = g->k / 2; r + 1 == g->k && i-- > 0;)
                heap_sift(it, g->k, i);
        } else if (worse(&it[0], &v)) {
            it[0] = v;
            heap_sift(it, g->k, 0);
        }
    }
    heap_sort(it, g->k);
}

static void topk_eval(const struct eval *e)
{
    const struct topk_args *g = e->args;
    struct topk_item *it = e->scratch;
    size_t bytes = dtype_bytes(e->in[0]->type);
    for (size_t l = 0; g->k && l < g->outer * g->inner; l++) {
        size_t o = l / g->inner, j = l % g->inner, base = o * g->n * g->inner + j;
        line_select(e, base, it);
        for (size_t r = 0; r < g->k; r++) {
            size_t to = (o * g->k + r) * g->inner + j, from = base + (size_t) it[r].at * g->inner;
            if (e->y[0])
                memcpy((char *) e->y[0] + to * bytes, (const char *) e->x[0] + from * bytes, bytes);
            if (e->n_out > 1 && e->y[1])
                ((int64_t *) e->y[1])[to] = it[r].at;
        }
    }
}

static rill_status topk_infer(struct infer *c)
{
    const struct topk_attr *a = c->attr;
    TRY(elem_check_type(c, 0, TYPES_NUM));
    int axis = axis_normalise(a->on.axis, c->in[0]->rank);
    if (axis < 0)
        return infer_fail(c, "axis %lld does not exist in a tensor of rank %d",
                          (long long) a->on.axis, c->in[0]->rank);
    const struct dim *k, *n = c->in[0]->shape[axis];
    unsigned count;
    TRY(infer_dims(c, 1, &k, 1, &count));
    if (count != 1)
        return infer_fail(c, "k must be one number, it has %u", count);
    if (dim_is_const(k) && (dim_value(k) < 0 || (dim_is_const(n) && dim_value(k) > dim_value(n))))
        return infer_fail(c, "k = %lld is not within the axis", (long long) dim_value(k));
    infer_same(c, 0, 0);
    c->out[0].shape[axis] = k;
    if (c->n_out > 1)
        infer_shape(c, 1, DTYPE_I64, c->out[0].rank, c->out[0].shape);
    return RILL_OK;
}

static rill_status topk_prepare(struct prep *c)
{
    const struct topk_attr *a = c->attr;
    const struct tensor *t = c->in[0];
    struct topk_args *g = arena_new(c->arena, struct topk_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    int axis = axis_normalise(a->on.axis, t->rank);
    *g = (struct topk_args) { 1, (size_t) t->dim[axis], 1, (size_t) c->out[0]->dim[axis] };
    if (g->k > g->n)
        return prep_fail(c, "k = %zu is more than the axis has (%zu)", g->k, g->n);
    for (int i = 0; i < t->rank; i++) {
        g->outer *= i < axis ? (size_t) t->dim[i] : 1;
        g->inner *= i > axis ? (size_t) t->dim[i] : 1;
    }
    c->scratch_bytes = g->k * sizeof(struct topk_item);
    c->args = g;
    c->kernel = "heap";
    return RILL_OK;
}

static const struct attr_spec topk_attrs[] = { { .name = "axis",
                                                 .kind = ATTR_INT,
                                                 .offset = offsetof(struct topk_attr, on.axis),
                                                 .def_i = -1 },
                                               { .name = "largest",
                                                 .kind = ATTR_INT,
                                                 .offset = offsetof(struct topk_attr, largest),
                                                 .def_i = 1 },
                                               { .name = "sorted",
                                                 .kind = ATTR_INT,
                                                 .offset = offsetof(struct topk_attr, sorted),
                                                 .def_i = 1 },
                                               { 0 } };

static const struct op topk_op = {
    .id = OP_TOPK,
    .name = "TopK",
    .attrs = topk_attrs,
    .attr_bytes = sizeof(struct topk_attr),
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 2,
    .infer = topk_infer,
    .prepare = topk_prepare,
    .eval = topk_eval,
    .help = "the k largest (or smallest) elements along an axis and their indices"
};

const struct op *const ops_topk[] = { &topk_op, NULL };
