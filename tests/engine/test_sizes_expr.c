/* SPDX-License-Identifier: MIT */
/* Sizes that data decides: values against plain C, what is an error, and what a cache notices. */
#include "engine/sizes/cache.h"
#include "tests/check.h"

#include <inttypes.h>
#include <time.h>

static struct arena arena;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static const struct tensor *numbers(enum dtype type, int64_t n, const int64_t *v)
{
    struct tensor *t = tensor_new(&arena, type, 1, &n);
    for (int64_t i = 0; i < n; i++)
        tensor_set_f64(t, t->data, i, (double) v[i]);
    return t;
}

static void check_value(const struct sizes *s, uint32_t e, const struct size_source *src,
                        int64_t want)
{
    rill_error err = { RILL_OK, "" };
    int64_t got = INT64_MIN;
    rill_status status = size_value(s, e, src, &got, &err);
    CHECK(status == RILL_OK && got == want, "%s, %" PRId64 " for %" PRId64, err.text, got, want);
}

static void check_fails(const struct sizes *s, uint32_t e, const struct size_source *src,
                        rill_status want)
{
    rill_error err = { RILL_OK, "" };
    int64_t got = 77;
    rill_status status = size_value(s, e, src, &got, &err);
    CHECK(status == want && got == 77 && err.text[0], "status %d: %s", status, err.text);
}

static uint32_t number(struct sizes *s, int64_t v)
{
    return size_constant(s, v);
}

/* ---- values ---- */

static void test_operations(void)
{
    static const struct {
        enum size_op op;
        int64_t a, b, want;
    } rows[] = {
        { SIZE_ADD, 3, 4, 7 },       { SIZE_SUB, 3, 4, -1 },          { SIZE_MUL, -3, 4, -12 },
        { SIZE_DIV_FLOOR, 7, 2, 3 }, { SIZE_DIV_FLOOR, -7, 2, -4 },   { SIZE_DIV_FLOOR, 7, -2, -4 },
        { SIZE_DIV_CEIL, 7, 2, 4 },  { SIZE_DIV_CEIL, -7, 2, -3 },    { SIZE_DIV_CEIL, -7, -2, 4 },
        { SIZE_DIV_CEIL, 6, 3, 2 },  { SIZE_MIN_OF, -1, 2, -1 },      { SIZE_MAX_OF, -1, 2, 2 },
        { SIZE_LESS, 1, 1, 0 },      { SIZE_LESS_OR_EQUAL, 1, 1, 1 }, { SIZE_EQUAL, 4, 4, 1 },
        { SIZE_EQUAL, 4, 5, 0 },
    };
    struct sizes s = { .arena = &arena };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_value(&s, size_of(&s, rows[i].op, number(&s, rows[i].a), number(&s, rows[i].b)), NULL,
                    rows[i].want);
}

static void test_leaves(void)
{
    const struct size_source src[] = {
        { numbers(DTYPE_I64, 3, (const int64_t[]) { 5, -2, 9 }), 0 },
        { numbers(DTYPE_I32, 2, (const int64_t[]) { 2, 1 }), 0 },
    };
    struct sizes s = { .arena = &arena };
    check_value(&s, size_of_axis(&s, 0, 0), src, 3);
    check_value(&s, size_element(&s, 0, number(&s, 1)), src, -2);
    /* element number element 0 of the other one */
    check_value(&s, size_element(&s, 0, size_element(&s, 1, number(&s, 0))), src, 9);
    check_fails(&s, size_element(&s, 0, number(&s, 3)), src, RILL_INVALID);
    check_fails(&s, size_element(&s, 0, number(&s, -1)), src, RILL_INVALID);
    check_fails(&s, size_of_axis(&s, 0, 1), src, RILL_INVALID);
}

static void test_overflow(void)
{
    struct sizes s = { .arena = &arena };
    uint32_t most = number(&s, INT64_MAX), least = number(&s, INT64_MIN), one = number(&s, 1),
             back = number(&s, -1), i = size_variable(&s);
    check_fails(&s, size_of(&s, SIZE_ADD, most, one), NULL, RILL_LIMIT);
    check_fails(&s, size_of(&s, SIZE_SUB, least, one), NULL, RILL_LIMIT);
    check_fails(&s, size_of(&s, SIZE_MUL, most, number(&s, 2)), NULL, RILL_LIMIT);
    check_fails(&s, size_of(&s, SIZE_DIV_FLOOR, least, back), NULL, RILL_LIMIT);
    check_fails(&s, size_of(&s, SIZE_DIV_CEIL, least, back), NULL, RILL_LIMIT);
    check_fails(&s, size_of(&s, SIZE_DIV_FLOOR, one, number(&s, 0)), NULL, RILL_INVALID);
    /* in the last iteration alone, of a body that is not walked */
    check_fails(&s,
                size_max_over(&s, i, number(&s, 3),
                              size_of(&s, SIZE_ADD, number(&s, INT64_MAX - 1), i)),
                NULL, RILL_LIMIT);
    check_fails(&s, size_max_over(&s, i, number(&s, (int64_t) UINT32_MAX + 1), i), NULL,
                RILL_LIMIT);
    check_fails(&s, i, NULL, RILL_INTERNAL);
    uint32_t deep = one;
    for (int k = 0; k < 200; k++)
        deep = size_of(&s, SIZE_ADD, deep, one);
    check_fails(&s, deep, NULL, RILL_LIMIT);
    uint32_t wide = one;
    for (int k = 0; k < 60; k++)
        wide = size_of(&s, SIZE_MIN_OF, wide, wide);
    check_fails(&s, wide, NULL, RILL_LIMIT);
}

/* ---- ranges ---- */

static void test_ranges(void)
{
    const struct size_source src[] = {
        { numbers(DTYPE_I64, 5, (const int64_t[]) { 3, -7, 11, 2, 4 }), 0 }
    };
    struct sizes s = { .arena = &arena };
    uint32_t i = size_variable(&s), j = size_variable(&s), five = number(&s, 5),
             at = size_element(&s, 0, i);
    check_value(&s, size_max_over(&s, i, five, at), src, 11);
    check_value(&s, size_max_over(&s, i, number(&s, 0), at), src, 0);
    check_value(&s, size_max_over(&s, i, number(&s, -4), at), src, 0);
    check_value(&s, size_max_over(&s, i, number(&s, 2), size_of(&s, SIZE_MUL, at, number(&s, -1))),
                src, 7);
    check_value(&s, size_max_over(&s, i, five, size_of(&s, SIZE_MUL, i, number(&s, -2))), src, 0);
    check_fails(&s, size_max_over(&s, i, number(&s, 6), at), src, RILL_INVALID);
    /* the greatest i * j with j below i, below 5 */
    check_value(&s,
                size_max_over(&s, i, five, size_max_over(&s, j, i, size_of(&s, SIZE_MUL, i, j))),
                src, 12);
    /* x[i] + the greatest x[j] with j below i */
    check_value(&s,
                size_max_over(&s, i, five,
                              size_of(&s, SIZE_ADD, at,
                                      size_max_over(&s, j, i, size_element(&s, 0, j)))),
                src, 15);
    /* one variable in two ranges, one of them inside of the other */
    check_value(&s,
                size_max_over(&s, i, five,
                              size_of(&s, SIZE_ADD, size_max_over(&s, i, number(&s, 3), i), i)),
                src, 6);
}

/* What is proved equals what is walked: a difference of truths cannot be proved to be 0. */
static void test_proofs(void)
{
    for (int round = 0; round < 2000; round++) {
        struct sizes s = { .arena = &arena };
        uint32_t i = size_variable(&s), e = i;
        for (int k = 0; k < 5; k++) {
            static const enum size_op any[] = { SIZE_ADD,       SIZE_SUB,      SIZE_MUL,
                                                SIZE_DIV_FLOOR, SIZE_DIV_CEIL, SIZE_MIN_OF,
                                                SIZE_MAX_OF,    SIZE_LESS,     SIZE_LESS_OR_EQUAL };
            int64_t v = (int64_t) check_random(9) - 4;
            uint32_t other = check_random(4) ? number(&s, v ? v : 1) : i;
            enum size_op op = any[check_random(sizeof any / sizeof *any)];
            bool divides = op == SIZE_DIV_FLOOR || op == SIZE_DIV_CEIL;
            e = check_random(2) || divides
                ? size_of(&s, op, e, divides ? number(&s, v ? v : 2) : other)
                : size_of(&s, op, other, e);
        }
        uint32_t trips = number(&s, 1 + (int64_t) check_random(12));
        uint32_t hidden = size_of(&s, SIZE_SUB, size_of(&s, SIZE_EQUAL, i, number(&s, 2)),
                                  size_of(&s, SIZE_EQUAL, i, number(&s, 2)));
        int64_t proved, walked;
        rill_error err;
        rill_status a = size_value(&s, size_max_over(&s, i, trips, e), NULL, &proved, &err),
                    b = size_value(&s,
                                   size_max_over(&s, i, trips, size_of(&s, SIZE_ADD, e, hidden)),
                                   NULL, &walked, &err);
        CHECK(a == b && (a != RILL_OK || proved == walked), "round %d: %d %d", round, a, b);
    }
}

/* 2^32 - 1 iterations: proved at once, and in the memory of one leaf. */
static void test_long_range(void)
{
    const struct size_source src[] = { { numbers(DTYPE_I64, 1, (const int64_t[]) { 12 }), 0 } };
    struct sizes s = { .arena = &arena };
    uint32_t i = size_variable(&s), leaf = size_element(&s, 0, number(&s, 0)),
             all = number(&s, UINT32_MAX);
    uint32_t same = size_max_over(&s, i, all, leaf),
             affine = size_max_over(&s, i, all,
                                    size_of(&s, SIZE_ADD, size_of(&s, SIZE_MUL, i, leaf), leaf));
    struct size_cache c;
    size_t before = arena.used_bytes;
    double begin = now_s();
    CHECK(size_cache_init(&c, &s, affine, &arena), "no memory");
    CHECK(c.n_seen == 1, "%u leaves", c.n_seen);
    int64_t v;
    CHECK(size_cached(&c, src, &v, NULL) == RILL_OK && v == (int64_t) UINT32_MAX * 12, "%" PRId64,
          v);
    check_value(&s, same, src, 12);
    CHECK(now_s() - begin < 0.1, "%g s", now_s() - begin);
    CHECK(arena.used_bytes - before < 1024, "%zu bytes", arena.used_bytes - before);
    /* one that has to be walked takes no memory either */
    uint32_t walked = size_max_over(&s, i, number(&s, 20000000),
                                    size_of(&s, SIZE_MUL, leaf,
                                            size_of(&s, SIZE_EQUAL, i, number(&s, 19999999))));
    before = arena.used_bytes;
    check_value(&s, walked, src, 12);
    CHECK(arena.used_bytes == before, "%zu bytes", arena.used_bytes - before);
}

/* ---- the cache ---- */

static void check_cached(struct size_cache *c, const struct size_source *src, int64_t want,
                         uint64_t hits, uint64_t misses)
{
    rill_error err = { RILL_OK, "" };
    int64_t v = INT64_MIN;
    rill_status s = size_cached(c, src, &v, &err);
    CHECK(s == RILL_OK && v == want && c->hits == hits && c->misses == misses,
          "%s: %" PRId64 " for %" PRId64 ", %llu hits, %llu misses", err.text, v, want,
          LLU(c->hits), LLU(c->misses));
}

/* Whoever writes counts: only that is noticed, and nothing of what is not read. */
static void test_invalidation(void)
{
    struct tensor x = *numbers(DTYPE_I64, 2, (const int64_t[]) { 4, 6 }), y = x, z = x;
    struct size_source src[] = { { &x, 0 }, { &y, 0 }, { &z, 0 } };
    struct sizes s = { .arena = &arena };
    struct size_cache c;
    y.data = (int64_t[]) { 1, 1 };
    uint32_t e = size_of(&s, SIZE_ADD, size_element(&s, 0, number(&s, 1)), size_of_axis(&s, 1, 0));
    size_element(&s, 2, number(&s, 0));
    CHECK(size_cache_init(&c, &s, e, &arena), "no memory");
    check_cached(&c, src, 8, 0, 1);
    check_cached(&c, src, 8, 1, 1);
    ((int64_t *) x.data)[1] = 7; /* nobody counted it: elements are not read again */
    check_cached(&c, src, 8, 2, 1);
    src[0].writes++; /* another value */
    check_cached(&c, src, 9, 2, 2);
    src[0].writes++; /* the same value, written again */
    check_cached(&c, src, 9, 2, 3);
    check_cached(&c, src, 9, 3, 3);
    src[1].writes++; /* of y only the size is read */
    check_cached(&c, src, 9, 4, 3);
    y.dim[0] = 1;
    check_cached(&c, src, 8, 4, 4);
    y.dim[0] = 2;
    check_cached(&c, src, 9, 4, 5);
    src[2].writes++; /* z is not read */
    z.dim[0] = 1;
    check_cached(&c, src, 9, 5, 5);
}

/* Leaves below a range without iterations are noted all the same. */
static void test_empty_first(void)
{
    int64_t trips[] = { 0 }, inner[] = { 0 }, x[] = { 5, 8 };
    struct tensor t = *numbers(DTYPE_I64, 1, trips), u = t, v = *numbers(DTYPE_I64, 2, x);
    t.data = trips;
    u.data = inner;
    v.data = x;
    struct size_source src[] = { { &t, 0 }, { &u, 0 }, { &v, 0 } };
    struct sizes s = { .arena = &arena };
    struct size_cache c;
    uint32_t i = size_variable(&s), j = size_variable(&s), zero = number(&s, 0);
    uint32_t e =
        size_max_over(&s, i, size_element(&s, 0, zero),
                      size_max_over(&s, j, size_element(&s, 1, zero), size_element(&s, 2, j)));
    CHECK(size_cache_init(&c, &s, e, &arena) && c.n_seen == 3, "%u leaves", c.n_seen);
    check_cached(&c, src, 0, 0, 1);
    x[0] = 50;
    src[2].writes++; /* read by no iteration, and yet */
    check_cached(&c, src, 0, 0, 2);
    trips[0] = 3;
    src[0].writes++;
    check_cached(&c, src, 0, 0, 3);
    inner[0] = 2;
    src[1].writes++;
    check_cached(&c, src, 50, 0, 4);
    x[1] = 60;
    src[2].writes++;
    check_cached(&c, src, 60, 0, 5);
    check_cached(&c, src, 60, 1, 5);
}

static void test_failures_are_not_kept(void)
{
    int64_t x[] = { 0 };
    struct tensor t = *numbers(DTYPE_I64, 1, x);
    t.data = x;
    struct size_source src[] = { { &t, 0 } };
    struct sizes s = { .arena = &arena };
    struct size_cache c;
    int64_t v = 3;
    uint32_t e = size_of(&s, SIZE_DIV_FLOOR, number(&s, 12), size_element(&s, 0, number(&s, 0)));
    CHECK(size_cache_init(&c, &s, e, &arena), "no memory");
    for (int k = 0; k < 2; k++)
        CHECK(size_cached(&c, src, &v, NULL) == RILL_INVALID && v == 3, "%" PRId64, v);
    x[0] = 5;
    src[0].writes++;
    check_cached(&c, src, 2, 0, 3);
}

static void test_hits(void)
{
    const uint64_t n = 10000000;
    struct tensor t = *numbers(DTYPE_I64, 1, (const int64_t[]) { 7 });
    struct size_source src[] = { { &t, 0 } };
    struct sizes s = { .arena = &arena };
    struct size_cache c;
    int64_t v, sum = 0;
    uint32_t e = size_of(&s, SIZE_MUL, size_element(&s, 0, number(&s, 0)), size_of_axis(&s, 0, 0));
    CHECK(size_cache_init(&c, &s, e, &arena), "no memory");
    size_t before = arena.used_bytes;
    double begin = now_s();
    for (uint64_t i = 0; i < n; i++) {
        CHECK(size_cached(&c, src, &v, NULL) == RILL_OK, "run %llu", LLU(i));
        sum += v;
    }
    double ns = (now_s() - begin) * 1e9 / (double) n;
    printf("a hit takes %.1f ns\n", ns);
    CHECK(sum == 7 * (int64_t) n && c.hits == n - 1 && c.misses == 1, "%llu hits, %llu misses",
          LLU(c.hits), LLU(c.misses));
    CHECK(arena.used_bytes == before, "hits take memory");
    CHECK(ns < 500, "%.1f ns", ns);
}

int main(void)
{
    test_operations();
    test_leaves();
    test_overflow();
    test_ranges();
    test_proofs();
    test_long_range();
    test_invalidation();
    test_empty_first();
    test_failures_are_not_kept();
    test_hits();
    arena_drop(&arena);
    return check_done();
}
