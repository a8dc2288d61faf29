/* SPDX-License-Identifier: MIT */
/* 8-bit numbers that are moved beside floats of the same values, and as real numbers. */
#include "tests/ops/ops_test.h"

static uint32_t seed = 7;

static uint32_t number(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static double value(const struct tensor *x, int64_t i)
{
    return tensor_get_f64(x, x->data, i);
}

struct pair {
    const struct tensor *bytes, *floats;
};

static struct pair pair_make(struct ops_test *t, int rank, const int64_t *dim)
{
    struct tensor *b = ops_tensor(t, number(2) ? DTYPE_I8 : DTYPE_U8, rank, dim, NULL),
                  *f = ops_f32(t, rank, dim, NULL);
    for (int64_t i = 0; i < tensor_count(b); i++) {
        ((uint8_t *) b->data)[i] = (uint8_t) number(256);
        ((float *) f->data)[i] = (float) value(b, i);
    }
    return (struct pair) { b, f };
}

/* The node gives the same of both. */
static void moved_alike(struct ops_test *t, const char *op, const struct attr *attrs,
                        unsigned n_attrs, struct pair x, const struct tensor *scales)
{
    const unsigned n_in = scales ? 3 : 1;
    const struct tensor *bytes[3] = { x.bytes, NULL, scales },
                        *floats[3] = { x.floats, NULL, scales };
    if (!ops_run(t, op, attrs, n_attrs, floats, n_in, 1))
        return;
    const struct tensor *want = t->out[0];
    if (!ops_run(t, op, attrs, n_attrs, bytes, n_in, 1) ||
        !ops_shape_is(t, 0, x.bytes->type, want->rank, want->dim))
        return;
    bool same = true;
    for (int64_t i = 0; same && i < tensor_count(want); i++)
        if (value(t->out[0], i) != value(want, i))
            same = ops_check(t, false, "[%lld] is %g, not %g", (long long) i, value(t->out[0], i),
                             value(want, i));
    ops_check(t, same, "bytes");
}

/* Sides about 16, by which bytes are turned. */
static void transposes(struct ops_test *t)
{
    static const int64_t sides[] = { 1, 2, 3, 15, 16, 17, 31, 33 };
    t->what = "Transpose";
    for (int trial = 0; trial < 200; trial++) {
        int rank = 2 + (int) number(4);
        int64_t dim[5], order[5];
        for (int i = 0; i < rank; i++) {
            dim[i] = sides[number(i < 3 ? 8 : 3)];
            order[i] = i;
        }
        for (int i = rank - 1; i > 0; i--) {
            int k = (int) number((uint32_t) i + 1);
            int64_t swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
        const struct attr perm = INTS_OF("perm", (uint32_t) rank, order);
        moved_alike(t, "Transpose", &perm, 1, pair_make(t, rank, dim), NULL);
    }
}

static void resizes(struct ops_test *t)
{
    static const char *const coords[] = { "half_pixel", "half_pixel_symmetric",
                                          "pytorch_half_pixel", "align_corners", "asymmetric" };
    static const char *const roundings[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                             "ceil" };
    static const float scales[] = { 1, 1, 1, 2, 2, 3, 0.5f, 1.5f, 0.75f };
    t->what = "Resize";
    for (int trial = 0; trial < 200; trial++) {
        const struct attr attrs[] = { ONE_TEXT("mode", "nearest"),
                                      ONE_TEXT("coordinate_transformation_mode", coords[trial % 5]),
                                      ONE_TEXT("nearest_mode", roundings[trial % 4]) };
        int rank = 1 + (int) number(4);
        int64_t dim[4], n = rank;
        float by[4];
        for (int i = 0; i < rank; i++) {
            dim[i] = 2 + number(i < 2 ? 6 : 30);
            by[i] = scales[number(9)];
        }
        moved_alike(t, "Resize", attrs, 3, pair_make(t, rank, dim), ops_f32(t, 1, &n, by));
    }
}

static void reals_check(struct ops_test *t, struct pair x, int rank, const int64_t *dim, int axis)
{
    const bool each = number(3), zeroed = number(4);
    const struct attr a = ONE_INT("axis", number(2) ? axis : axis - rank);
    struct tensor *s = ops_numbers(t, &seed, each, dim + axis),
                  *z = ops_tensor(t, x.bytes->type, each, dim + axis, NULL);
    int64_t inner = 1;
    for (int i = axis + 1; i < rank; i++)
        inner *= dim[i];
    for (int64_t i = 0; i < tensor_count(z); i++) {
        ((float *) s->data)[i] = fabsf(((float *) s->data)[i]) + 0.01f;
        ((uint8_t *) z->data)[i] = (uint8_t) number(256);
    }
    const struct tensor *in[] = { x.bytes, s, z };
    if (!ops_run(t, "DequantizeLinear", &a, 1, in, zeroed ? 3 : 2, 1))
        return;
    for (int64_t i = 0; i < tensor_count(x.bytes); i++) {
        const int64_t k = each ? i / inner % dim[axis] : 0;
        const float want =
            (float) (value(x.bytes, i) - (zeroed ? value(z, k) : 0)) * (float) value(s, k);
        if (!ops_check(t, value(t->out[0], i) == (double) want, "[%lld] is %g, not %g",
                       (long long) i, value(t->out[0], i), (double) want))
            return;
    }
}

static void reals(struct ops_test *t)
{
    t->what = "DequantizeLinear";
    for (int trial = 0; trial < 200; trial++) {
        const int rank = 1 + (int) number(4);
        int64_t dim[4];
        for (int i = 0; i < rank; i++)
            dim[i] = 1 + number(i < 2 ? 6 : 40);
        t->runtime = trial % 4 ? 1 : 7;
        reals_check(t, pair_make(t, rank, dim), rank, dim, (int) number((uint32_t) rank));
    }
    t->runtime = 0;
}

int main(void)
{
    struct ops_test t = ops_begin();
    transposes(&t);
    resizes(&t);
    reals(&t);
    return ops_end(&t);
}
