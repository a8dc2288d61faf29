/* SPDX-License-Identifier: MIT */
/* Ops that move, index and reshape elements, against plain index arithmetic on random shapes of
 * rank 0 to 8. */
#include "engine/ops/view.h"
#include "tests/ops/ops_test.h"

#define TRIALS 400

static uint64_t state = 1;

static int64_t draw(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t) ((state >> 33) % (uint64_t) (hi - lo + 1));
}

/* Elements 1, 2, 3, ... (kept below 100), of a random type where type is NONE. */
static struct tensor *count_up(struct ops_test *t, enum dtype type, int rank, const int64_t *dim)
{
    struct tensor *x =
        ops_tensor(t, type ? type : (enum dtype) draw(DTYPE_F32, DTYPE_BOOL), rank, dim, NULL);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++)
        tensor_set_f64(x, x->data, i,
                       x->type == DTYPE_BOOL ? (double) draw(0, 1) : (double) (i % 97 + 1));
    return x;
}

static struct tensor *draw_tensor(struct ops_test *t, int rank_lo, int rank_hi, int64_t dim_lo)
{
    int64_t dim[RANK_MAX];
    int rank = (int) draw(rank_lo, rank_hi);
    for (int i = 0; i < rank; i++)
        dim[i] = draw(0, 9) ? draw(1, rank > 5 ? 2 : 5) : draw(dim_lo, 2);
    return count_up(t, DTYPE_NONE, rank, dim);
}

static void coords(const struct tensor *x, int64_t i, int64_t ret[RANK_MAX])
{
    for (int k = x->rank; k-- > 0; i /= x->dim[k])
        ret[k] = i % x->dim[k];
}

static int64_t place(const struct tensor *x, const int64_t at[RANK_MAX])
{
    int64_t i = 0;
    for (int k = 0; k < x->rank; k++)
        i = i * x->dim[k] + at[k];
    return i;
}

static double at(const struct tensor *x, const int64_t where[RANK_MAX])
{
    return tensor_get_f64(x, x->data, place(x, where));
}

/* Output 0 has this type and shape and equals source(y coordinates). */
typedef double source_fn(const void *ctx, const int64_t at[RANK_MAX]);

static void same_as(struct ops_test *t, enum dtype type, int rank, const int64_t *dim,
                    source_fn *source, const void *ctx)
{
    if (!ops_shape_is(t, 0, type, rank, dim))
        return;
    const struct tensor *y = t->out[0];
    for (int64_t i = 0, n = tensor_count(y); i < n; i++) {
        int64_t where[RANK_MAX] = { 0 };
        coords(y, i, where);
        double got = tensor_get_f64(y, y->data, i), want = source(ctx, where);
        if (got != want) {
            ops_check(t, false, "[%lld] of rank %d is %g, wanted %g", (long long) i, rank, got,
                      want);
            return;
        }
    }
    ops_check(t, true, " ");
}

struct mapping {
    const struct tensor *x, *ix;
    int64_t k[RANK_MAX], step[RANK_MAX], before[RANK_MAX];
    int axis, mode;
};

/* ---- Transpose ---- */

static double transpose_at(const void *ctx, const int64_t y[RANK_MAX])
{
    const struct mapping *m = ctx;
    int64_t x[RANK_MAX] = { 0 };
    for (int i = 0; i < m->x->rank; i++)
        x[m->k[i]] = y[i];
    return at(m->x, x);
}

static void test_transpose(struct ops_test *t)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        struct mapping m = { .x = draw_tensor(t, 0, 8, 0) };
        int64_t dim[RANK_MAX];
        int n = m.x->rank;
        bool given = draw(0, 3) != 0;
        for (int i = 0; i < n; i++)
            m.k[i] = given ? i : n - 1 - i;
        for (int i = n - 1; given && i > 0; i--) {
            int64_t k = draw(0, i), swap = m.k[i];
            m.k[i] = m.k[k];
            m.k[k] = swap;
        }
        for (int i = 0; i < n; i++)
            dim[i] = m.x->dim[m.k[i]];
        struct attr a = INTS_OF("perm", (uint32_t) n, m.k);
        if (ops_run(t, "Transpose", &a, given, IN(m.x), 1))
            same_as(t, m.x->type, n, dim, transpose_at, &m);
    }
}

/* ---- Slice ---- */

static double slice_at(const void *ctx, const int64_t y[RANK_MAX])
{
    const struct mapping *m = ctx;
    int64_t x[RANK_MAX] = { 0 };
    for (int i = 0; i < m->x->rank; i++)
        x[i] = m->before[i] + y[i] * m->step[i];
    return at(m->x, x);
}

static int64_t draw_end(void)
{
    static const int64_t odd[] = { INT64_MIN,     INT64_MIN + 1, INT64_MAX,
                                   INT64_MAX - 1, INT32_MAX,     INT32_MIN };
    return draw(0, 4) ? draw(-7, 7) : odd[draw(0, 5)];
}

/* Walks the axis as the standard says: start clamped, then step by step while inside and before the
 * end. */
static int64_t slice_walk(int64_t n, int64_t from, int64_t to, int64_t step, int64_t *first)
{
    int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? n : n - 1, count = 0;
    from = from < 0 && from >= -n ? from + n : from;
    to = to < 0 && to >= -n ? to + n : to;
    from = from < lo ? lo : from > hi ? hi : from;
    to = to < lo ? lo : to > hi ? hi : to;
    *first = from;
    for (int64_t i = from; step > 0 ? i < to : i > to; i += step)
        count++;
    return count;
}

static void test_slice(struct ops_test *t)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        struct mapping m = { .x = draw_tensor(t, 1, 8, 0) };
        int64_t from[RANK_MAX], to[RANK_MAX], axes[RANK_MAX], steps[RANK_MAX], dim[RANK_MAX];
        int n = 0, rank = m.x->rank;
        for (int i = 0; i < rank; i++) {
            dim[i] = m.x->dim[i];
            m.step[i] = 1;
            if (draw(0, 2) == 0)
                continue;
            from[n] = draw_end();
            to[n] = draw_end();
            steps[n] = draw(0, 1) ? 1 : draw(0, 1) ? draw(1, 3) : -draw(1, 3);
            axes[n] = draw(0, 1) ? i : i - rank;
            m.step[i] = steps[n];
            dim[i] = slice_walk(dim[i], from[n], to[n], steps[n], &m.before[i]);
            n++;
        }
        if (ops_run(t, "Slice", NULL, 0,
                    IN(m.x, ops_i64s(t, n, from), ops_i64s(t, n, to), ops_i64s(t, n, axes),
                       ops_i64s(t, n, steps)),
                    1))
            same_as(t, m.x->type, rank, dim, slice_at, &m);
    }
}

/* ---- Concat and Split undo each other ---- */

static void test_split_concat(struct ops_test *t)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        const struct tensor *x = draw_tensor(t, 1, 8, 0), *part[5];
        int axis = (int) draw(0, x->rank - 1);
        int64_t left = x->dim[axis], sizes[5];
        unsigned n = (unsigned) draw(1, 5);
        for (unsigned i = 0; i < n; i++)
            left -= sizes[i] = i + 1 < n ? draw(0, left) : left;
        struct attr a = ONE_INT("axis", draw(0, 1) ? axis : axis - x->rank);
        if (!ops_run(t, "Split", &a, 1, IN(x, ops_i64s(t, (int) n, sizes)), n))
            continue;
        for (unsigned i = 0; i < n; i++) {
            part[i] = t->out[i];
            ops_check(t, part[i]->dim[axis] == sizes[i], "piece %u has %lld, wanted %lld", i,
                      (long long) part[i]->dim[axis], (long long) sizes[i]);
        }
        if (!ops_run(t, "Concat", &a, 1, part, n, 1) ||
            !ops_shape_is(t, 0, x->type, x->rank, x->dim))
            continue;
        ops_check(t, !tensor_bytes(x) || !memcmp(t->out[0]->data, x->data, tensor_bytes(x)),
                  "not what was split");
    }
    const struct tensor *x = count_up(t, DTYPE_I32, 2, I64S(2, 5));
    struct attr a[] = { ONE_INT("axis", 1), ONE_INT("num_outputs", 3) };
    if (ops_run(t, "Split", a, 2, IN(x), 3)) {
        ops_same(t, 0, WANT(1, 2, 6, 7), 0);
        ops_same(t, 1, WANT(3, 4, 8, 9), 0);
        ops_same(t, 2, WANT(5, 10), 0);
    }
}

/* ---- Tile, Expand ---- */

static double wrap_at(const void *ctx, const int64_t y[RANK_MAX])
{
    const struct mapping *m = ctx;
    int64_t x[RANK_MAX] = { 0 };
    int lead = m->axis; /* axes that only the output has */
    for (int i = 0; i < m->x->rank; i++)
        x[i] = y[i + lead] % m->x->dim[i];
    return at(m->x, x);
}

static void test_tile_expand(struct ops_test *t)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        struct mapping m = { .x = draw_tensor(t, 0, 8, 0) };
        int64_t times[RANK_MAX], dim[RANK_MAX];
        int n = m.x->rank;
        for (int i = 0; i < n; i++)
            dim[i] = m.x->dim[i] * (times[i] = draw(0, 12) ? draw(1, n > 5 ? 2 : 3) : 0);
        if (ops_run(t, "Tile", NULL, 0, IN(m.x, ops_i64s(t, n, times)), 1))
            same_as(t, m.x->type, n, dim, wrap_at, &m);
        m.axis = (int) draw(0, 8 - n);
        int64_t shape[RANK_MAX];
        for (int i = 0; i < n + m.axis; i++) {
            int64_t own = i < m.axis ? 1 : m.x->dim[i - m.axis];
            shape[i] = own == 1 ? draw(1, 3) : draw(0, 1) ? own : 1;
            dim[i] = own == 1 ? shape[i] : own;
        }
        if (ops_run(t, "Expand", NULL, 0, IN(m.x, ops_i64s(t, n + m.axis, shape)), 1))
            same_as(t, m.x->type, n + m.axis, dim, wrap_at, &m);
    }
}

/* ---- Pad ---- */

static const char *const pad_modes[] = { "constant", "reflect", "edge", "wrap" };

/* One step at a time from the place towards the axis; -1: outside. */
static int64_t pad_walk(int mode, int64_t i, int64_t n)
{
    while (i < 0 || i >= n) {
        if (mode == 0)
            return -1;
        if (mode == 1)
            i = i < 0 ? -i : 2 * (n - 1) - i;
        else if (mode == 2)
            i = i < 0 ? 0 : n - 1;
        else
            i += i < 0 ? n : -n;
    }
    return i;
}

static double pad_at(const void *ctx, const int64_t y[RANK_MAX])
{
    const struct mapping *m = ctx;
    int64_t x[RANK_MAX] = { 0 };
    for (int i = 0; i < m->x->rank; i++)
        if ((x[i] = pad_walk(m->mode, y[i] - m->before[i], m->x->dim[i])) < 0)
            return 1;
    return at(m->x, x);
}

static void test_pad(struct ops_test *t)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        struct mapping m = { .x = draw_tensor(t, 0, 7, 1), .mode = (int) draw(0, 3) };
        int64_t pads[2 * RANK_MAX], dim[RANK_MAX];
        int n = m.x->rank;
        for (int i = 0; i < n; i++) {
            int64_t room = m.mode == 1 ? m.x->dim[i] - 1 : 2;
            pads[i] = m.before[i] = draw(m.x->dim[i] > 2 ? -1 : 0, room);
            pads[n + i] = draw(m.x->dim[i] > 2 ? -1 : 0, room);
            dim[i] = m.x->dim[i] + pads[i] + pads[n + i];
        }
        struct attr a = ONE_TEXT("mode", pad_modes[m.mode]);
        struct tensor *value = ops_tensor(t, m.x->type, 0, NULL, NULL);
        tensor_set_f64(value, value->data, 0, 1);
        if (ops_run(t, "Pad", &a, 1, IN(m.x, ops_i64s(t, 2 * n, pads), value), 1))
            same_as(t, m.x->type, n, dim, pad_at, &m);
    }
    const struct tensor *x = count_up(t, DTYPE_F32, 2, I64S(1, 3));
    ops_gives(t, "Pad", NULL, 0, IN(x, ops_i64s(t, 2, I64S(1, 2)), NULL, ops_i64s(t, 1, I64S(-1))),
              WANT(0, 1, 2, 3, 0, 0), 0);
}

/* ---- Gather, GatherElements, GatherND: indices of the data may be anything ---- */

static int64_t index_walk(int64_t i, int64_t n)
{
    i = i < 0 ? i + n : i;
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static const struct tensor *draw_indices(struct ops_test *t, int rank, const int64_t *dim,
                                         int64_t n)
{
    static const int64_t odd[] = { INT64_MIN, INT64_MAX, 100, -100 };
    struct tensor *x = ops_tensor(t, DTYPE_I64, rank, dim, NULL);
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((int64_t *) x->data)[i] = draw(0, 5) ? draw(-n, n - 1) : odd[draw(0, 3)];
    return x;
}

static double gather_at(const void *ctx, const int64_t y[RANK_MAX])
{
    const struct mapping *m = ctx;
    int64_t x[RANK_MAX] = { 0 };
    for (int i = 0; i < m->x->rank; i++)
        x[i] = i < m->axis ? y[i] : i > m->axis ? y[i + m->ix->rank - 1] : 0;
    x[m->axis] =
        index_walk(((const int64_t *) m->ix->data)[place(m->ix, y + m->axis)], m->x->dim[m->axis]);
    return at(m->x, x);
}

static double elements_at(const void *ctx, const int64_t y[RANK_MAX])
{
    const struct mapping *m = ctx;
    int64_t x[RANK_MAX] = { 0 };
    for (int i = 0; i < m->x->rank; i++)
        x[i] = y[i];
    x[m->axis] = index_walk(((const int64_t *) m->ix->data)[place(m->ix, y)], m->x->dim[m->axis]);
    return at(m->x, x);
}

static double nd_at(const void *ctx, const int64_t y[RANK_MAX])
{
    const struct mapping *m = ctx;
    int64_t x[RANK_MAX] = { 0 }, k = m->ix->dim[m->ix->rank - 1], b = m->axis, q = m->ix->rank - 1;
    int64_t first = 0;
    for (int i = 0; i < q; i++)
        first = first * m->ix->dim[i] + y[i];
    for (int i = 0; i < m->x->rank; i++)
        x[i] = i < b ? y[i]
            : i < b + k
            ? index_walk(((const int64_t *) m->ix->data)[first * k + i - b], m->x->dim[i])
            : y[q + i - b - k];
    return at(m->x, x);
}

static void gather_trial(struct ops_test *t)
{
    struct mapping m = { .x = draw_tensor(t, 1, 4, 1) };
    int64_t dim[RANK_MAX], ix_dim[RANK_MAX];
    int rank = m.x->rank, q = (int) draw(0, 3), n = 0;
    m.axis = (int) draw(0, rank - 1);
    for (int i = 0; i < q; i++)
        ix_dim[i] = draw(0, 3);
    m.ix = draw_indices(t, q, ix_dim, m.x->dim[m.axis]);
    for (int i = 0; i < m.axis; i++)
        dim[n++] = m.x->dim[i];
    for (int i = 0; i < q; i++)
        dim[n++] = ix_dim[i];
    for (int i = m.axis + 1; i < rank; i++)
        dim[n++] = m.x->dim[i];
    struct attr a = ONE_INT("axis", draw(0, 1) ? m.axis : m.axis - rank);
    if (ops_run(t, "Gather", &a, 1, IN(m.x, m.ix), 1))
        same_as(t, m.x->type, n, dim, gather_at, &m);
    for (int i = 0; i < rank; i++)
        ix_dim[i] = i == m.axis ? draw(0, 6) : draw(0, m.x->dim[i]);
    m.ix = draw_indices(t, rank, ix_dim, m.x->dim[m.axis]);
    if (ops_run(t, "GatherElements", &a, 1, IN(m.x, m.ix), 1))
        same_as(t, m.x->type, rank, ix_dim, elements_at, &m);
}

static void gather_nd_trial(struct ops_test *t)
{
    struct mapping m = { .x = draw_tensor(t, 1, 4, 1) };
    int64_t ix_dim[RANK_MAX], dim[RANK_MAX];
    int rank = m.x->rank, b = m.axis = (int) draw(0, rank - 1), k = (int) draw(1, rank - b),
        q = b + (int) draw(0, 2), n = 0;
    for (int i = 0; i < q; i++)
        dim[n++] = ix_dim[i] = i < b ? m.x->dim[i] : draw(0, 3);
    for (int i = b + k; i < rank; i++)
        dim[n++] = m.x->dim[i];
    ix_dim[q] = k;
    m.ix = draw_indices(t, q + 1, ix_dim, 2);
    struct attr a = ONE_INT("batch_dims", b);
    if (ops_run(t, "GatherND", &a, 1, IN(m.x, m.ix), 1))
        same_as(t, m.x->type, n, dim, nd_at, &m);
}

static void test_gather(struct ops_test *t)
{
    t->runtime = 2;
    for (int trial = 0; trial < TRIALS; trial++) {
        gather_trial(t);
        gather_nd_trial(t);
    }
    t->runtime = 0;
    const struct tensor *x = count_up(t, DTYPE_F32, 2, I64S(2, 3)), *far = ops_i64s(t, 1, I64S(2));
    const struct tensor *none = count_up(t, DTYPE_F32, 2, I64S(0, 3));
    struct attr b = ONE_INT("batch_dims", 1);
    ops_refused(t, "Gather", NULL, 0, IN(x, far), 1, "index 2 is outside an axis of 2");
    ops_refused(t, "GatherND", NULL, 0, IN(x, far), 1, "index 2 is outside an axis of 2");
    ops_refused(t, "GatherElements", NULL, 0,
                IN(x, ops_tensor(t, DTYPE_I64, 2, I64S(1, 1), I64S(-3))), 1,
                "index -3 is outside an axis of 2");
    for (int64_t n = 1; n < 6; n += 2)
        ops_refused(t, "GatherND", &b, 1, IN(x, ops_tensor(t, DTYPE_I64, 2, I64S(n, 1), NULL)), 1,
                    "batch axis 0");
    t->runtime = 2;
    ops_refused(t, "Gather", NULL, 0, IN(none, far), 1, "empty input");
    ops_refused(t, "Gather", NULL, 0, IN(x, count_up(t, DTYPE_F32, 1, I64S(1))), 1,
                "wants i32 or i64");
    t->runtime = 0;
}

/* ---- Scatter ---- */

static const char *const reductions[] = { "none", "add", "mul", "min", "max" };

static double reduced(int r, double a, double b)
{
    const double all[] = { b, a + b, a * b, a < b ? a : b, a > b ? a : b };
    return all[r];
}

static void test_scatter_elements(struct ops_test *t)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t dim[RANK_MAX], ix_dim[RANK_MAX], where[RANK_MAX];
        int rank = (int) draw(1, 4), axis = (int) draw(0, rank - 1), r = (int) draw(0, 4);
        enum dtype type = draw(0, 1) ? DTYPE_F64 : DTYPE_I64;
        for (int i = 0; i < rank; i++) {
            dim[i] = draw(1, 4);
            ix_dim[i] = i == axis ? draw(0, 5) : draw(1, dim[i]);
        }
        const struct tensor *x = count_up(t, type, rank, dim), *u = count_up(t, type, rank, ix_dim);
        const struct tensor *ix = draw_indices(t, rank, ix_dim, dim[axis]);
        double *want = arena_array(&t->arena, double, (size_t) tensor_count(x) + 1);
        for (int64_t i = 0; i < tensor_count(x); i++)
            want[i] = tensor_get_f64(x, x->data, i);
        for (int64_t i = 0; i < tensor_count(u); i++) {
            coords(u, i, where);
            where[axis] = index_walk(((const int64_t *) ix->data)[i], dim[axis]);
            double *w = &want[place(x, where)];
            *w = reduced(r, *w, tensor_get_f64(u, u->data, i));
        }
        struct attr a[] = { ONE_INT("axis", axis - rank), ONE_TEXT("reduction", reductions[r]) };
        if (ops_run(t, "ScatterElements", a, 2, IN(x, ix, u), 1) &&
            ops_shape_is(t, 0, type, rank, dim))
            ops_same(t, 0, want, type == DTYPE_F64 ? 1e-12 : 0);
    }
}

static void scatter_nd_trial(struct ops_test *t)
{
    int64_t dim[RANK_MAX], ix_dim[RANK_MAX], u_dim[RANK_MAX], row = 1;
    int rank = (int) draw(1, 4), k = (int) draw(1, rank), q = (int) draw(0, 2),
        r = (int) draw(0, 4), n = 0;
    for (int i = 0; i < rank; i++)
        dim[i] = draw(1, 4);
    for (int i = 0; i < q; i++)
        u_dim[n++] = ix_dim[i] = draw(0, 3);
    for (int i = k; i < rank; i++)
        row *= u_dim[n++] = dim[i];
    ix_dim[q] = k;
    const struct tensor *x = count_up(t, DTYPE_F64, rank, dim),
                        *u = count_up(t, DTYPE_F64, n, u_dim);
    const struct tensor *ix = draw_indices(t, q + 1, ix_dim, 1);
    double *want = arena_array(&t->arena, double, (size_t) tensor_count(x) + 1);
    memcpy(want, x->data, tensor_bytes(x));
    for (int64_t i = 0; i < tensor_count(u); i++) {
        int64_t to = 0;
        for (int j = 0; j < k; j++)
            to = to * dim[j] + index_walk(((const int64_t *) ix->data)[i / row * k + j], dim[j]);
        to = to * row + i % row;
        want[to] = reduced(r, want[to], ((const double *) u->data)[i]);
    }
    struct attr a = ONE_TEXT("reduction", reductions[r]);
    if (ops_run(t, "ScatterND", &a, 1, IN(x, ix, u), 1) && ops_shape_is(t, 0, DTYPE_F64, rank, dim))
        ops_same(t, 0, want, 1e-12);
}

static void test_scatter(struct ops_test *t)
{
    t->runtime = 2;
    test_scatter_elements(t);
    for (int trial = 0; trial < TRIALS; trial++)
        scatter_nd_trial(t);
    t->runtime = 0;
    const struct tensor *x = ops_i64s(t, 2, I64S(INT64_MAX - 4, INT64_MIN + 3)),
                        *one = ops_i64s(t, 1, I64S(1));
    const struct tensor *ix = ops_i64s(t, 2, I64S(0, -1)), *far = ops_i64s(t, 1, I64S(-3));
    struct attr add = ONE_TEXT("reduction", reductions[1]);
    if (ops_run(t, "ScatterElements", &add, 1, IN(x, ix, ops_i64s(t, 2, I64S(3, -2))), 1)) {
        const int64_t *y = t->out[0]->data;
        ops_check(t, y[0] == INT64_MAX - 1 && y[1] == INT64_MIN + 1,
                  "i64 sums lose their low bits");
    }
    const struct tensor *two = ops_tensor(t, DTYPE_I64, 2, I64S(2, 1), I64S(0, 1));
    ops_gives(t, "ScatterND", NULL, 0, IN(x, two, ops_i64s(t, 2, I64S(8, 9))), WANT(8, 9), 0);
    ops_refused(t, "ScatterElements", NULL, 0, IN(x, far, one), 1,
                "index -3 is outside an axis of 2");
    ops_refused(t, "ScatterND", NULL, 0,
                IN(x, ops_tensor(t, DTYPE_I64, 2, I64S(1, 1), I64S(2)), one), 1,
                "index 2 is outside an axis of 2");
    ops_refused(t, "ScatterND", NULL, 0, IN(x, two, one), 1, "does not fit");
    ops_refused(t, "ScatterElements", NULL, 0, IN(x, ix, one), 1, "does not fit");
}

/* ---- shapes ---- */

static void reshaped(struct ops_test *t, const struct tensor *x, int n, const int64_t *shape,
                     const struct attr *a, int rank, const int64_t *dim)
{
    if (ops_run(t, "Reshape", a, a != NULL, IN(x, ops_i64s(t, n, shape)), 1) &&
        ops_shape_is(t, 0, x->type, rank, dim))
        ops_check(t, !tensor_bytes(x) || !memcmp(t->out[0]->data, x->data, tensor_bytes(x)),
                  "other elements");
}

static void test_views(struct ops_test *t)
{
    const struct tensor *x = count_up(t, DTYPE_U16, 3, I64S(2, 3, 4)),
                        *none = count_up(t, DTYPE_F32, 2, I64S(0, 3));
    const struct tensor *scalar = count_up(t, DTYPE_F32, 0, NULL),
                        *ones = count_up(t, DTYPE_F32, 4, I64S(1, 2, 1, 1));
    struct attr zero = ONE_INT("allowzero", 1), axis = ONE_INT("axis", -1);
    reshaped(t, x, 2, I64S(0, -1), NULL, 2, I64S(2, 12));
    reshaped(t, x, 1, I64S(-1), NULL, 1, I64S(24));
    reshaped(t, x, 8, I64S(1, 2, 1, 3, 1, 2, 2, 1), NULL, 8, I64S(1, 2, 1, 3, 1, 2, 2, 1));
    reshaped(t, none, 2, I64S(3, 0), &zero, 2, I64S(3, 0));
    reshaped(t, scalar, 1, I64S(-1), NULL, 1, I64S(1));
    reshaped(t, count_up(t, DTYPE_F32, 1, I64S(1)), 0, NULL, NULL, 0, NULL);
    if (ops_run(t, "Flatten", &axis, 1, IN(x), 1))
        ops_shape_is(t, 0, DTYPE_U16, 2, I64S(6, 4));
    if (ops_run(t, "Flatten", NULL, 0, IN(count_up(t, DTYPE_F32, 1, I64S(3))), 1))
        ops_shape_is(t, 0, DTYPE_F32, 2, I64S(3, 1));
    if (ops_run(t, "Squeeze", NULL, 0, IN(ones), 1))
        ops_shape_is(t, 0, DTYPE_F32, 1, I64S(2));
    if (ops_run(t, "Squeeze", NULL, 0, IN(ones, ops_i64s(t, 2, I64S(0, -1))), 1))
        ops_shape_is(t, 0, DTYPE_F32, 2, I64S(2, 1));
    if (ops_run(t, "Unsqueeze", NULL, 0, IN(x, ops_i64s(t, 3, I64S(-1, 0, 2))), 1))
        ops_shape_is(t, 0, DTYPE_U16, 6, I64S(1, 2, 1, 3, 4, 1));
    ops_refused(t, "Reshape", NULL, 0, IN(x, ops_i64s(t, 2, I64S(-1, -1))), 1, "more than one");
    ops_refused(t, "Reshape", NULL, 0, IN(x, ops_i64s(t, 2, I64S(-1, 5))), 1, "does not fit");
    ops_refused(t, "Reshape", NULL, 0, IN(x, ops_i64s(t, 1, I64S(-2))), 1, "negative");
    ops_refused(t, "Reshape", NULL, 0, IN(x, ops_i64s(t, 4, I64S(2, 3, 4, 0))), 1, "lacks");
    ops_refused(t, "Squeeze", NULL, 0, IN(x, ops_i64s(t, 1, I64S(1))), 1, "only 1 can be squeezed");
    ops_refused(t, "Unsqueeze", NULL, 0, IN(x, ops_i64s(t, 2, I64S(1, -4))), 1, "named twice");
    ops_refused(t, "Unsqueeze", NULL, 0, IN(x, ops_i64s(t, 1, I64S(4))), 1, "is not one of rank 4");
}

static void test_makers(struct ops_test *t)
{
    const struct tensor *x = count_up(t, DTYPE_F32, 3, I64S(2, 3, 4)),
                        *seven = ops_tensor(t, DTYPE_I32, 1, I64S(1), (int32_t[]) { 7 });
    struct attr range[] = { ONE_INT("start", -2), ONE_INT("end", 2) }, k = ONE_INT("k", 1);
    struct attr value = { .name = "value", .kind = ATTR_TENSOR, .tensor = seven };
    if (ops_run(t, "Shape", range, 2, IN(x), 1) && ops_shape_is(t, 0, DTYPE_I64, 1, I64S(1)))
        ops_same(t, 0, WANT(3), 0);
    if (ops_run(t, "Size", NULL, 0, IN(x), 1) && ops_shape_is(t, 0, DTYPE_I64, 0, NULL))
        ops_same(t, 0, WANT(24), 0);
    if (ops_run(t, "ConstantOfShape", &value, 1, IN(ops_i64s(t, 2, I64S(1, 3))), 1) &&
        ops_shape_is(t, 0, DTYPE_I32, 2, I64S(1, 3)))
        ops_same(t, 0, WANT(7, 7, 7), 0);
    if (ops_run(t, "ConstantOfShape", NULL, 0, IN(ops_i64s(t, 0, NULL)), 1) &&
        ops_shape_is(t, 0, DTYPE_F32, 0, NULL))
        ops_same(t, 0, WANT(0), 0);
    if (ops_run(t, "Range", NULL, 0,
                IN(ops_tensor(t, DTYPE_I64, 0, NULL, I64S(10)),
                   ops_tensor(t, DTYPE_I64, 0, NULL, I64S(3)),
                   ops_tensor(t, DTYPE_I64, 0, NULL, I64S(-3))),
                1) &&
        ops_shape_is(t, 0, DTYPE_I64, 1, I64S(3)))
        ops_same(t, 0, WANT(10, 7, 4), 0);
    ops_gives(t, "EyeLike", &k, 1, IN(count_up(t, DTYPE_F32, 2, I64S(2, 3))),
              WANT(0, 1, 0, 0, 0, 1), 0);
    for (int64_t wrong = -3; wrong < 100; wrong += 101) {
        struct attr type = ONE_INT("dtype", wrong);
        ops_refused(t, "EyeLike", &type, 1, IN(count_up(t, DTYPE_F32, 2, I64S(2, 2))), 1,
                    "no type of number");
    }
    ops_refused(t, "ConstantOfShape", NULL, 0, IN(ops_i64s(t, 1, I64S(-1))), 1, "negative");
    ops_refused(t, "Expand", NULL, 0, IN(x, ops_i64s(t, 1, I64S(3))), 1, "broadcast");
    ops_refused(t, "Expand", NULL, 0, IN(x, ops_i64s(t, 1, I64S(-1))), 1, "negative");
}

/* ---- hostile values ---- */

static void test_hostile_values(struct ops_test *t)
{
    const struct tensor *x = count_up(t, DTYPE_F32, 2, I64S(2, 3)), *zero = ops_i64s(t, 1, I64S(0));
    const struct tensor *nine = ops_i64s(t, 1, I64S(9)), *twice = ops_i64s(t, 2, I64S(0, -2)),
                        *pair = ops_i64s(t, 2, I64S(1, 1));
    struct attr far = ONE_INT("axis", 2), perm = INTS_OF("perm", 2, I64S(0, 0));
    ops_refused(t, "Transpose", &perm, 1, IN(x), 1, "no permutation");
    ops_refused(t, "Concat", &far, 1, IN(x, x), 1, "axis 2 is not one of rank 2");
    ops_refused(t, "Split", &far, 1, IN(x), 1, "axis 2 is not one of rank 2");
    ops_refused(t, "Split", NULL, 0, IN(x, ops_i64s(t, 2, I64S(3, -1))), 2, "size -1");
    ops_refused(t, "Split", NULL, 0, IN(x, pair), 3, "2 sizes for 3 outputs");
    ops_refused(t, "Split", NULL, 0, IN(x, ops_i64s(t, 2, I64S(2, 2))), 2, "add up");
    ops_refused(t, "Slice", NULL, 0, IN(x, zero, nine, zero, zero), 1, "step of 0");
    ops_refused(t, "Slice", NULL, 0, IN(x, pair, pair, twice), 1, "named twice");
    ops_refused(t, "Slice", NULL, 0, IN(x, zero, nine, nine), 1, "axis 9");
    ops_refused(t, "Tile", NULL, 0, IN(x, ops_i64s(t, 2, I64S(1, -1))), 1, "-1 repeats");
    ops_refused(t, "Tile", NULL, 0, IN(x, pair, pair), 1, "inputs");
    ops_refused(t, "Pad", NULL, 0, IN(x, ops_i64s(t, 4, I64S(0, -2, 0, -2))), 1, "negative size");
    ops_refused(t, "Pad", NULL, 0, IN(x, ops_i64s(t, 4, I64S(INT64_MAX, 0, 0, 0))), 1,
                "more than 2^31");
    ops_refused(t, "Pad", NULL, 0, IN(x, pair), 1, "2 pads for 2 axes");
    struct attr reflect = ONE_TEXT("mode", pad_modes[1]);
    ops_refused(t, "Pad", &reflect, 1, IN(x, ops_i64s(t, 4, I64S(2, 0, 0, 0))), 1,
                "too few to reflect 2");
    t->runtime = 2;
    ops_refused(t, "Slice", NULL, 0, IN(x, zero, nine), 1, "depends on the data of input 1");
    ops_refused(t, "Compress", NULL, 0, IN(x, ops_tensor(t, DTYPE_BOOL, 1, I64S(1), NULL)), 1,
                "not known before running");
    t->runtime = 1;
    ops_refused(t, "NonZero", NULL, 0, IN(x), 1, "not known before running");
    ops_refused(t, "Unique", NULL, 0, IN(x), 1, "not known before running");
    t->runtime = 0;
}

/* Dimensions whose product leaves 64 bits: a sticky error of the scope, so each has a scope of its
 * own. */
static void test_overflow(void (*check)(struct ops_test *), struct ops_test *t)
{
    struct ops_test own = ops_begin();
    own.what = "overflow";
    check(&own);
    t->passed += own.passed;
    t->failed += own.failed;
    arena_drop(&own.arena);
    dims_free(own.dims);
}

static void tile_overflow(struct ops_test *t)
{
    const struct tensor *x = count_up(t, DTYPE_F32, 1, I64S(3));
    rill_status s = ops_try(t, "Tile", NULL, 0, IN(x, ops_i64s(t, 1, I64S(INT64_MAX))), 1);
    ops_check(t, s == RILL_UNSUPPORTED || s == RILL_LIMIT || s == RILL_MALFORMED, "status %d, '%s'",
              (int) s, t->err.text);
}

/* ---- the rest: small cases worked out by hand ---- */

static void test_select(struct ops_test *t)
{
    const struct tensor *x = count_up(t, DTYPE_I16, 2, I64S(2, 3)),
                        *mask = ops_tensor(t, DTYPE_BOOL, 1, I64S(3), (uint8_t[]) { 1, 0, 1 });
    const struct tensor *k = ops_tensor(t, DTYPE_I64, 0, NULL, I64S(1));
    struct attr lower = ONE_INT("upper", 0), axis = ONE_INT("axis", -1),
                batch[] = { ONE_INT("batch_axis", 0), ONE_INT("time_axis", 1) },
                block = ONE_INT("blocksize", 2);
    ops_gives(t, "Trilu", NULL, 0, IN(x, k), WANT(0, 2, 3, 0, 0, 6), 0);
    ops_gives(t, "Trilu", &lower, 1, IN(x), WANT(1, 0, 0, 4, 5, 0), 0);
    if (ops_run(t, "OneHot", NULL, 0,
                IN(ops_i64s(t, 3, I64S(1, -1, 5)), ops_i64s(t, 1, I64S(3)),
                   ops_tensor(t, DTYPE_U8, 1, I64S(2), (uint8_t[]) { 4, 9 })),
                1) &&
        ops_shape_is(t, 0, DTYPE_U8, 2, I64S(3, 3)))
        ops_same(t, 0, WANT(4, 9, 4, 4, 4, 9, 4, 4, 4), 0);
    ops_gives(t, "ReverseSequence", batch, 2, IN(x, ops_i64s(t, 2, I64S(2, 3))),
              WANT(2, 1, 3, 6, 5, 4), 0);
    if (ops_run(t, "Compress", &axis, 1, IN(x, mask), 1) &&
        ops_shape_is(t, 0, DTYPE_I16, 2, I64S(2, 2)))
        ops_same(t, 0, WANT(1, 3, 4, 6), 0);
    if (ops_run(t, "Compress", NULL, 0, IN(x, mask), 1) &&
        ops_shape_is(t, 0, DTYPE_I16, 1, I64S(2)))
        ops_same(t, 0, WANT(1, 3), 0);
    if (ops_run(t, "NonZero", NULL, 0,
                IN(ops_tensor(t, DTYPE_F32, 2, I64S(2, 2), F32S(1, -0.0f, 0.5f, NAN))), 1) &&
        ops_shape_is(t, 0, DTYPE_I64, 2, I64S(2, 3)))
        ops_same(t, 0, WANT(0, 1, 1, 0, 0, 1), 0);
    if (ops_run(t, "DepthToSpace", &block, 1, IN(count_up(t, DTYPE_F32, 4, I64S(1, 4, 1, 1))), 1) &&
        ops_shape_is(t, 0, DTYPE_F32, 4, I64S(1, 1, 2, 2)))
        ops_same(t, 0, WANT(1, 2, 3, 4), 0);
    ops_refused(t, "SpaceToDepth", &block, 1, IN(count_up(t, DTYPE_F32, 4, I64S(1, 1, 3, 2))), 1,
                "does not divide");
}

#define RUN(t, fn) ((t)->what = #fn, fn(t))

/* What is not known before running is a fault of the run. */
static void fault_check(struct ops_test *t, const char *op, unsigned n_in, int64_t index,
                        enum fault_kind kind, int64_t limit)
{
    const struct tensor *x = count_up(t, DTYPE_F32, 2, I64S(2, 1));
    struct tensor *ix = ops_tensor(t, DTYPE_I64, n_in == 1 ? 1 : 2, I64S(1, 1), &index);
    t->runtime = 2;
    if (ops_run(t, op, NULL, 0,
                (const struct tensor *[]) { x, ix, count_up(t, DTYPE_F32, 2, I64S(1, 1)) },
                n_in == 1 ? 2 : n_in, 1))
        ops_check(t,
                  t->fault.kind == kind &&
                      (!kind || (t->fault.value == index && t->fault.limit == limit)),
                  "%s of %lld: fault %d", op, (long long) index, t->fault.kind);
    t->runtime = 0;
}

static void test_faults(struct ops_test *t)
{
    static const struct {
        const char *op;
        unsigned n_in;
    } ops[] = {
        { "Gather", 2 },          { "GatherElements", 2 }, { "GatherND", 2 },
        { "ScatterElements", 3 }, { "ScatterND", 3 },
    };
    static const struct {
        int64_t index;
        enum fault_kind kind;
    } indices[] = {
        { -2, FAULT_NONE },  { 1, FAULT_NONE },          { 2, FAULT_INDEX },
        { -3, FAULT_INDEX }, { INT64_MIN, FAULT_INDEX }, { INT64_MAX, FAULT_INDEX },
    };
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
            fault_check(t, ops[k].op, ops[k].n_in, indices[i].index, indices[i].kind, 2);
    fault_check(t, "ReverseSequence", 1, 2, FAULT_NONE, 2);
    fault_check(t, "ReverseSequence", 1, 3, FAULT_LENGTH, 2);
    fault_check(t, "ReverseSequence", 1, -1, FAULT_LENGTH, 2);
}

/* Two leading axes that overlap, each by one element a step: a copy holds every place of both. */
static void test_overlaps(struct ops_test *t)
{
    enum { A = 3, B = 4, C = 5, D = 2, N = A * B * C * D };
    float x[80], y[N], all[N];
    struct view_copy v;
    for (int i = 0; i < 80; i++)
        x[i] = (float) i;
    view_copy_init(&v, 4, I64S(A, B, C, D), I64S(1, 1, 7, 40), I64S(B * C * D, C * D, D, 1),
                   sizeof(float));
    const struct eval e = {
        .kern = &t->kern, .x = (const void *[]) { x }, .y = (void *[]) { y }, .args = &v
    };
    memset(y, 0, sizeof y);
    view_copy_eval(&e);
    view_copy_run(&v, all, x);
    ops_check(t, !memcmp(y, all, sizeof y), "a copy of axes that overlap is another");
}

int main(void)
{
    struct ops_test t = ops_begin();
    RUN(&t, test_transpose);
    RUN(&t, test_slice);
    RUN(&t, test_split_concat);
    RUN(&t, test_tile_expand);
    RUN(&t, test_pad);
    RUN(&t, test_gather);
    RUN(&t, test_scatter);
    RUN(&t, test_views);
    RUN(&t, test_makers);
    RUN(&t, test_hostile_values);
    RUN(&t, test_select);
    RUN(&t, test_faults);
    RUN(&t, test_overlaps);
    test_overflow(tile_overflow, &t);
    t.what = "";
    return ops_end(&t);
}
