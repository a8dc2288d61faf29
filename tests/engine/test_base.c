/* SPDX-License-Identifier: MIT */
/* Arenas, element types, attribute tables, the graph checker, the layout of memory. */
#include "engine/plan/memory.h"
#include "engine/graph/op.h"
#include "tests/attr.h"
#include "tests/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- arena ---- */

static void test_arena(void)
{
    struct arena a = { .limit_bytes = 1024 };
    unsigned char *p = arena_alloc(&a, 1), *q = arena_alloc(&a, 65);
    check(p && q && !((uintptr_t) p % 64) && !((uintptr_t) q % 64), "blocks are aligned to 64", 0);
    check(p && q && p[0] == 0 && q[64] == 0, "blocks are zeroed", 0);
    check(a.used_bytes == 64 + 128, "used counts whole lines", (long) a.used_bytes);
    check(arena_alloc(&a, 1024 - 192) != NULL, "up to the limit", 0);
    check(arena_alloc(&a, 1) == NULL, "one byte over the limit", 0);
    arena_drop(&a);
    check(arena_alloc(&a, 1024) != NULL, "a dropped arena starts afresh, with its limit", 0);
    check(arena_alloc(&a, 1) == NULL, "and keeps it", 0);
    arena_drop(&a);
    struct arena b = { 0 };
    check(arena_alloc_array(&b, SIZE_MAX / 2, 4) == NULL, "a product that overflows", 0);
    check(arena_alloc(&b, SIZE_MAX - 10) == NULL, "a size that cannot be rounded up", 0);
    check(!strcmp(arena_printf(&b, "%d-%s", 7, "x"), "7-x"), "printf", 0);
    for (int i = 0; i < 5000; i++) {
        unsigned char *r = arena_alloc(&b, (size_t) i);
        if (r && i)
            r[i - 1] = 1; /* the sanitizer watches the end */
    }
    arena_drop(&b);
}

/* Small and large pieces in turn: what was there at the mark stays, what came since is as if it
 * never had. */
static void test_arena_mark(bool empty, bool large_pages)
{
    struct arena a = { .large_pages = large_pages };
    unsigned char *kept[40] = { 0 };
    for (unsigned i = 0; !empty && i < 40; i++)
        if ((kept[i] = arena_alloc(&a, i % 7 == 6 ? 40000 : 900 * i + 1)))
            kept[i][0] = (unsigned char) (i + 1);
    const struct arena_mark mark = arena_mark(&a);
    const size_t used = a.used_bytes, all = arena_bytes(&a);
    unsigned char *first = NULL;
    for (int round = 0; round < 3; round++) {
        unsigned char *p = arena_alloc(&a, 65);
        check(p && p[64] == 0 && (!first || empty || p == first), "the same place, zeroed", round);
        first = p;
        for (unsigned i = 0; p && i < 60; i++)
            if ((p = arena_alloc(&a, i % 5 == 4 ? 50000 + i : 3000)))
                p[i] = 255;
        arena_rewind_to(&a, &mark);
        check(a.used_bytes == used && arena_bytes(&a) == all, "as at the mark", round);
    }
    for (unsigned i = 0; !empty && i < 40; i++)
        check(kept[i] && kept[i][0] == i + 1, "what was there stays", (long) i);
    arena_drop(&a);
}

static size_t mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (size_t) pages * (size_t) sysconf(_SC_PAGESIZE);
}

/* Where there is no room for a large page, memory is as small as it is asked for. */
static void test_arena_without_room(void)
{
    struct arena a = { .large_pages = true };
    struct rlimit was, now;
    size_t bytes = mapped_bytes();
    getrlimit(RLIMIT_AS, &was);
    now = was;
    now.rlim_cur = bytes + (4 << 20);
    free(malloc(64));
    if (!bytes || setrlimit(RLIMIT_AS, &now)) {
        printf("address space cannot be limited\n");
        return;
    }
    unsigned char *p = arena_alloc(&a, 100000);
    check(p && !p[0] && !p[99999], "large pages without room for one", 0);
#ifndef __SANITIZE_ADDRESS__ /* which ends the process where there is no more */
    check(arena_alloc(&a, (size_t) 64 << 20) == NULL, "more than there is", 0);
#endif
    setrlimit(RLIMIT_AS, &was);
    check(arena_alloc(&a, (size_t) 64 << 20) != NULL, "as much with room", 0);
    arena_drop(&a);
}

static void test_arena_large_pages(void)
{
    struct arena a = { .large_pages = true };
    size_t before = mapped_bytes();
    const size_t sizes[] = {
        1, 100, (size_t) 3 << 20, (size_t) 5 << 20, 64, ((size_t) 8 << 20) - 64, 1 << 20
    };
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            unsigned char *p = arena_alloc(&a, sizes[i]);
            check(p && !((uintptr_t) p % 64) && !p[0] && !p[sizes[i] - 1], "a piece in large pages",
                  (long) sizes[i]);
            if (p)
                memset(p, 0xff, sizes[i]);
        }
        check(mapped_bytes() > before + ((size_t) 17 << 20), "memory is mapped", (long) round);
        arena_drop(&a);
        check(mapped_bytes() < before + ((size_t) 1 << 20), "mapped memory is given back",
              (long) (mapped_bytes() - before));
        check(a.large_pages, "a dropped arena keeps its pages large", (long) round);
    }
}

/* ---- half floats ---- */

static void test_f16(void)
{
    long bad = 0;
    for (uint32_t h = 0; h < 65536; h++) {
        float f = f16_to_f32((uint16_t) h);
        bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff);
        bad += nan ? !isnan(f) || !isnan(f16_to_f32(f32_to_f16(f))) : f32_to_f16(f) != h;
    }
    check(bad == 0, "every f16 survives the way through f32", bad);
    check(f32_to_f16(65519.0f) == 0x7bff && f32_to_f16(65520.0f) == 0x7c00,
          "the largest f16 and the first infinity", 0);
    check(f32_to_f16(0x1p-25f) == 0 && f32_to_f16(0x1.8p-25f) == 1,
          "half of the smallest rounds to even", 0);
    check(f32_to_f16(1 + 0x1p-11f) == 0x3c00 && f32_to_f16(1 + 0x3p-11f) == 0x3c02,
          "ties go to even", 0);
    bad = 0;
    for (uint32_t h = 0; h < 65536; h++) {
        float f = bf16_to_f32((uint16_t) h);
        bad += isnan(f) ? !isnan(bf16_to_f32(f32_to_bf16(f))) : f32_to_bf16(f) != h;
    }
    check(bad == 0, "every bf16 survives the way through f32", bad);
    check(f32_to_bf16(1 + 0x1p-8f) == 0x3f80 && f32_to_bf16(1 + 0x3p-8f) == 0x3f82,
          "bf16 ties go to even", 0);
}

static void test_tensor(void)
{
    struct tensor t = { .type = DTYPE_U8, .rank = 1, .dim = { 4 } };
    int64_t n;
    uint8_t u[4] = { 0 };
    tensor_set_f64(&t, u, 0, 200.7);
    check(u[0] == 200 && tensor_get_f64(&t, u, 0) == 200, "numbers go in and out", u[0]);
    struct tensor f = { .type = DTYPE_F32, .rank = 1, .dim = { 3 } };
    const float v[3] = { 1e30f, -1e30f, NAN };
    check(tensor_get_i64(&f, v, 0) == INT64_MAX && tensor_get_i64(&f, v, 1) == INT64_MIN &&
              tensor_get_i64(&f, v, 2) == 0,
          "floats saturate as integers", 0);
    struct tensor big = { .type = DTYPE_F32, .rank = 3, .dim = { INT64_MAX / 4, 4, 4 } };
    check(!tensor_count_checked(&big, &n), "an impossible count is refused", 0);
    big.dim[2] = 0;
    check(!tensor_count_checked(&big, &n), "a zero does not excuse sizes whose strides overflow",
          0);
    big.dim[0] = 4;
    check(tensor_count_checked(&big, &n) && n == 0, "an empty tensor", 0);
    check(axis_normalise(-3, 3) == 0 && axis_normalise(2, 3) == 2 && axis_normalise(3, 3) == -1 &&
              axis_normalise(-4, 3) == -1,
          "axes", 0);
}

/* ---- attributes ---- */

struct sample {
    int64_t i, j;
    float f;
    int choice;
    struct attr_ints ints;
};

static const char *const choices[] = { "red", "green", NULL };

static const struct attr_spec specs[] = {
    { .name = "choice",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct sample, choice),
      .def_i = 1,
      .choices = choices },
    { .name = "f", .kind = ATTR_FLOAT, .offset = offsetof(struct sample, f), .def_f = 0.5f },
    { .name = "i", .kind = ATTR_INT, .offset = offsetof(struct sample, i), .required = true },
    { .name = "ints", .kind = ATTR_INTS, .offset = offsetof(struct sample, ints) },
    { .name = "j", .kind = ATTR_INT, .offset = offsetof(struct sample, j), .def_i = 7 },
    { 0 },
};

static const struct op op_sample = { .name = "Sample",
                                     .attrs = specs,
                                     .attr_bytes = sizeof(struct sample) };

static void refused(const struct attr *list, unsigned n, const char *words)
{
    struct sample s;
    rill_error err = { RILL_OK, "" };
    rill_status st = attrs_parse(&op_sample, "node-name", list, n, &s, &err);
    check(st != RILL_OK && strstr(err.text, "node-name") && strstr(err.text, "Sample") &&
              strstr(err.text, words),
          words, st);
}

static void test_attrs(void)
{
    struct sample s;
    rill_error err;
    const char *green = "green", *blue = "blue";
    const struct attr i = ONE_INT("i", 3);
    check(attrs_parse(&op_sample, "n", &i, 1, &s, &err) == RILL_OK && s.i == 3 && s.j == 7 &&
              s.f == 0.5f && s.choice == 1 && s.ints.n == 0,
          "defaults", 0);
    const struct attr all[] = { i, ONE_INT("f", 2), ONE_INT("ints", 9), ONE_TEXT("choice", green) };
    check(attrs_parse(&op_sample, "n", all, 4, &s, &err) == RILL_OK && s.f == 2 && s.ints.n == 1 &&
              s.ints.v[0] == 9,
          "an int serves as a float and as a list", 0);
    refused(NULL, 0, "'i' is missing");
    refused((struct attr[]) { i, { .name = "k", .kind = ATTR_INT } }, 2,
            "'k' is not supported; known: choice, f, i, ints, j");
    refused((struct attr[]) { i, { .name = "j", .kind = ATTR_FLOAT } }, 2,
            "'j' has the wrong type");
    refused((struct attr[]) { i, ONE_TEXT("choice", blue) }, 2,
            "'choice' is 'blue', supported: red, green");
}

/* ---- numbers of ops ---- */

static void test_op_ids(void)
{
    static const char *const names[OP_COUNT] = {
#define X(number, name) [OP_##number] = name,
        OP_IDS(X)
#undef X
    };
    for (enum op_id id = OP_NONE + 1; id < OP_COUNT; id++) {
        const struct op *o = op_by_id(id);
        check(o && !strcmp(o->name, names[id]), "a number gives the row of that name", (long) id);
    }
    const struct op *o;
    for (unsigned i = 0; (o = op_at(i)); i++)
        check(op_by_id(o->id) == o, "no other row has its number", (long) i);
    check(!op_by_id(OP_NONE) && !op_by_id(OP_COUNT), "no row is without a number", 0);
}

/* axis_of reads it there, whatever the op. */
static void test_axes(void)
{
    const struct op *o;
    for (unsigned i = 0; (o = op_at(i)); i++)
        for (const struct attr_spec *a = o->attrs; a && a->name; a++)
            check(strcmp(a->name, "axis") != 0 || a->offset == 0, o->name, (long) a->offset);
}

/* ---- graph checker and memory layout ---- */

static void test_graph_check(void)
{
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct graph g;
    rill_error err;
    graph_init(&g, &a, ds, "g");
    uint32_t x = graph_add_input(&g, "x", NULL), y = graph_add_wire(&g, "y", NULL),
             z = graph_add_wire(&g, "z", NULL);
    const struct op *relu = op_by_id(OP_RELU);
    graph_add_node(&g, relu, "first", NULL, &z, 1, &y,
                   1); /* reads z, which the second node writes */
    graph_add_node(&g, relu, "second", NULL, &x, 1, &z, 1);
    check(graph_check(&g, &err) == RILL_INTERNAL && strstr(err.text, "first"),
          "a node that reads ahead is found", 0);
    arena_drop(&a);
    dims_free(ds);
}

/* The largest first, at the lowest offset that none of those before it holds: all are looked at. */
static bool placed_plainly(const struct span *s, const uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct span *me = &s[order[i]];
        size_t at = 0;
        for (uint32_t k = 0; k < i;) {
            const struct span *o = &s[order[k]];
            const bool hit = o->first <= me->last && me->first <= o->last &&
                o->offset < at + me->bytes && at < o->offset + o->bytes;
            at = hit ? (o->offset + o->bytes + 63) & ~(size_t) 63 : at;
            k = hit ? 0 : k + 1;
        }
        if (me->bytes && me->offset != at)
            return false;
    }
    return true;
}

/* A chain of n spans, each read by the next step: as many visits as n log n. */
static void test_memplan_chain(void)
{
    enum { N = 1 << 17 };
    struct span *s = calloc(N, sizeof *s);
    uint32_t *room = calloc(N, MEMPLAN_ROOM * sizeof *room);
    uint64_t visited = 0;
    if (!s || !room)
        abort();
    for (uint32_t i = 0; i < N; i++)
        s[i] = (struct span) { .bytes = 64 + i % 7 * 64, .first = i, .last = i + 1 };
    const size_t total = memplan_place(s, room, N, &visited);
    check(total <= 3 * 7 * 64 && visited < (uint64_t) N * 4 * 17, "visits of a chain",
          (int) (visited / N));
    free(s);
    free(room);
}

/* Spans of many sizes that all live to the end, as what one Concat reads: a few looks at each pair.
 */
static void test_memplan_crowd(void)
{
    enum { N = 2000 };
    static struct span s[N];
    static uint32_t room[N * MEMPLAN_ROOM];
    uint32_t seed = 1;
    uint64_t visited = 0;
    for (uint32_t i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        s[i] = (struct span) { .bytes = 64 + (seed >> 12) % 64000, .first = i, .last = N };
    }
    memplan_place(s, room, N, &visited);
    check(placed_plainly(s, room, N) && visited < (uint64_t) N * N * 3, "visits of a crowd",
          (int) (visited / N));
}

static void test_memplan(void)
{
    uint32_t seed = 11, order[300 * MEMPLAN_ROOM];
    uint64_t visited;
    struct span s[300];
    for (int round = 0; round < 200; round++) {
        uint32_t n = 1 + (uint32_t) round;
        size_t all = 0;
        for (uint32_t i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            s[i] = (struct span) { .bytes = (seed >> 8) % 5000, .first = (seed >> 4) % 50 };
            s[i].last = s[i].first + (seed >> 20) % 9;
            all += (s[i].bytes + 63) & ~(size_t) 63;
        }
        size_t total = memplan_place(s, order, n, &visited);
        check(placed_plainly(s, order, n), "another layout than the plain one", round);
        check(memplan_is_sound(s, n) && total <= all, "a random layout", round);
    }
    s[0] = (struct span) { .bytes = 64, .first = 0, .last = 2, .offset = 0 };
    s[1] = (struct span) { .bytes = 64, .first = 2, .last = 3, .offset = 32 };
    check(!memplan_is_sound(s, 2), "the check sees an overlap", 0);
}

int main(void)
{
    test_arena();
    for (unsigned i = 0; i < 4; i++)
        test_arena_mark(i & 1, i & 2);
    test_arena_large_pages();
    test_arena_without_room();
    test_f16();
    test_tensor();
    test_attrs();
    test_op_ids();
    test_axes();
    test_graph_check();
    test_memplan();
    test_memplan_chain();
    test_memplan_crowd();
    return check_done();
}
