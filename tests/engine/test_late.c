/* SPDX-License-Identifier: MIT */
/* What a graph whose sizes data decides plans anew, and what it does not: by its own counts, and by
 * the values of the growable interpreter. argv: decoder_greedy, sizes_moves, sizes_rounds,
 * sizes_range, sizes_sums of conformance/own. */
#include "engine/late/late.h"
#include "engine/typing/interp.h"
#include "models/onnx/reader.h"
#include "tests/check.h"

#include <string.h>

#define PORTS_MAX 32

struct model {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    struct tensor *in[PORTS_MAX];
    struct size_source from[PORTS_MAX];
    struct late *late;
    rill_error err;
};

static bool model_open(struct model *o, const char *path, size_t bytes_max)
{
    struct bytes b = { 0 };
    memset(o, 0, sizeof *o);
    o->dims = dims_new();
    const struct late_opts opts = { .cpu = kern_cpu_detect(), .bytes_max = bytes_max };
    rill_status s = bytes_from_file(&b, path, 0, &o->err);
    if (s == RILL_OK)
        s = mgraph_from_onnx(&o->m, &o->arena, o->dims, &b, NULL, &o->err);
    bytes_drop(&b);
    if (s == RILL_OK)
        s = late_new(&o->late, &o->m.g, NULL, &opts, &o->err);
    for (uint32_t i = 0; s == RILL_OK && i < o->m.g.n_inputs; i++) {
        struct tensor t;
        fact_to_tensor(&o->m.g.wires[o->m.g.inputs[i]].fact, &t);
        o->in[i] = tensor_new(&o->arena, t.type, t.rank, t.dim);
        o->from[i] = (struct size_source) { o->in[i], 1 };
        for (int64_t k = 0; k < tensor_count(&t); k++)
            tensor_set_f64(o->in[i], o->in[i]->data, k, (double) check_random(1000) / 500 - 1);
    }
    CHECK(s == RILL_OK, "%s", o->err.text);
    return s == RILL_OK;
}

static void model_drop(struct model *o)
{
    late_free(o->late);
    arena_drop(&o->arena);
    dims_free(o->dims);
}

/* Writes numbers into an input. */
static void set(struct model *o, unsigned i, const int64_t *v)
{
    for (int64_t k = 0; k < tensor_count(o->in[i]); k++)
        tensor_set_f64(o->in[i], o->in[i]->data, k, (double) v[k]);
    o->from[i].writes++;
}

static bool close_to(const struct tensor *a, const struct tensor *b)
{
    bool same = a->type == b->type && a->rank == b->rank &&
        !memcmp(a->dim, b->dim, (size_t) a->rank * sizeof *a->dim);
    for (int64_t i = 0; same && i < tensor_count(a); i++) {
        double x = tensor_get_f64(a, a->data, i), y = tensor_get_f64(b, b->data, i);
        same = x - y <= 1e-5 + 1e-4 * (y < 0 ? -y : y) && y - x <= 1e-5 + 1e-4 * (y < 0 ? -y : y);
    }
    return same;
}

/* As the interpreter has it; returns what was counted in this run. */
static struct late_counts run_right(struct model *o, const char *what)
{
    const struct tensor *in[PORTS_MAX], *got[PORTS_MAX], *want[PORTS_MAX];
    struct late_counts before, after;
    struct arena a = { 0 };
    late_count(o->late, &before);
    rill_status s = late_run(o->late, o->from, got, &o->err);
    CHECK(s == RILL_OK, "%s: %s", what, o->err.text);
    late_count(o->late, &after);
    for (uint32_t i = 0; i < o->m.g.n_inputs; i++)
        in[i] = o->in[i];
    if (s == RILL_OK && interp_run(&o->m.g, in, &a, want, &o->err) == RILL_OK)
        for (uint32_t i = 0; i < o->m.g.n_outputs; i++)
            CHECK(close_to(got[i], want[i]), "%s: output %u", what, i);
    arena_drop(&a);
    after.hits -= before.hits;
    after.misses -= before.misses;
    after.plans -= before.plans;
    after.runs -= before.runs;
    after.spared -= before.spared;
    return after;
}

static void test_decoder(const char *path)
{
    struct model o;
    if (!model_open(&o, path, 0))
        return;
    set(&o, 1, (const int64_t[]) { 1 });
    struct late_counts first = run_right(&o, "first");
    CHECK(first.plans > 2 && first.misses > 0, "%llu plans", LLU(first.plans));
    struct late_counts same = run_right(&o, "the same");
    CHECK(same.plans == 0 && same.misses == 0 && same.hits > 0 && same.spared == same.runs,
          "%llu plans, %llu misses, %llu of %llu spared", LLU(same.plans), LLU(same.misses),
          LLU(same.spared), LLU(same.runs));
    o.from[0].writes++; /* the states of the encoder, as they were */
    struct late_counts again = run_right(&o, "again");
    CHECK(again.plans == 0 && again.spared < again.runs, "%llu plans", LLU(again.plans));
    for (int64_t token = 0; token < 12; token++) {
        set(&o, 1, &token);
        run_right(&o, "another token");
    }
    model_drop(&o);
}

static void test_moves(const char *path)
{
    enum { TWO = 1, START, END, PADS, SPLIT, SHAPE, SIZES, SCALES, REPEATS, TO };
    struct model o;
    if (!model_open(&o, path, 0))
        return;
    const int64_t *const usual[] = {
        [TWO] = (const int64_t[]) { 2 },           [START] = (const int64_t[]) { 1 },
        [END] = (const int64_t[]) { 7 },           [PADS] = (const int64_t[]) { 0, 1, 2, 0, 0, 1 },
        [SPLIT] = (const int64_t[]) { 5, 3 },      [SHAPE] = (const int64_t[]) { 2, 5, 8 },
        [SIZES] = (const int64_t[]) { 2, 3, 13 },  [SCALES] = (const int64_t[]) { 1, 2, 1 },
        [REPEATS] = (const int64_t[]) { 1, 2, 3 }, [TO] = (const int64_t[]) { 4, -1 },
    };
    for (unsigned i = TWO; i <= TO; i++)
        set(&o, i, usual[i]);
    struct late_counts first = run_right(&o, "first"), n;
    CHECK(first.plans > 0, "%llu plans", LLU(first.plans));
    n = run_right(&o, "the same");
    CHECK(n.plans == 0 && n.misses == 0, "%llu plans, %llu misses", LLU(n.plans), LLU(n.misses));
    set(&o, SPLIT, usual[SPLIT]); /* written, and equal */
    n = run_right(&o, "written");
    CHECK(n.plans == 0 && n.misses >= 2, "%llu plans, %llu misses", LLU(n.plans), LLU(n.misses));
    set(&o, SPLIT, (const int64_t[]) { 2, 6 });
    n = run_right(&o, "another split");
    CHECK(n.plans > 0, "%llu plans", LLU(n.plans));
    set(&o, SPLIT, usual[SPLIT]);
    n = run_right(&o, "as before");
    CHECK(n.plans == 0, "%llu plans", LLU(n.plans));
    set(&o, END, (const int64_t[]) { 1 }); /* nothing is left of it */
    run_right(&o, "an empty slice");
    set(&o, END, (const int64_t[]) { 5 });
    set(&o, SHAPE, (const int64_t[]) { 1, 1, 1 });
    run_right(&o, "smaller");
    const struct tensor *out[PORTS_MAX];
    set(&o, SPLIT, (const int64_t[]) { 5, 4 });
    o.err.text[0] = 0;
    CHECK(late_run(o.late, o.from, out, &o.err) != RILL_OK && strstr(o.err.text, "Split"), "'%s'",
          o.err.text);
    set(&o, SPLIT, usual[SPLIT]);
    run_right(&o, "after a refusal");
    model_drop(&o);
}

/* The block grows to the largest, stays so, and is refused by name beyond a limit. */
static void test_blocks(const char *path)
{
    struct model o;
    struct late_counts n;
    size_t bytes = 0;
    const struct tensor *out[PORTS_MAX];
    if (!model_open(&o, path, 4096))
        return;
    for (int64_t trips = 1; trips < 8; trips++) {
        set(&o, 1, &trips);
        run_right(&o, "trips");
        late_count(o.late, &n);
        CHECK(n.block_bytes >= bytes, "%zu bytes, were %zu", n.block_bytes, bytes);
        bytes = n.block_bytes;
    }
    set(&o, 1, (const int64_t[]) { 2 });
    run_right(&o, "fewer");
    late_count(o.late, &n);
    CHECK(n.block_bytes == bytes, "%zu bytes, were %zu", n.block_bytes, bytes);
    set(&o, 1, (const int64_t[]) { 900 });
    late_count(o.late, &n);
    CHECK(n.grown > 0 && n.grown < 40, "grown %llu times", LLU(n.grown));
    CHECK(late_run(o.late, o.from, out, &o.err) == RILL_LIMIT &&
              strstr(o.err.text, "limit of 4096"),
          "'%s'", o.err.text);
    set(&o, 1, (const int64_t[]) { 3 });
    run_right(&o, "after a refusal");
    model_drop(&o);
}

/* Sizes that are computed hang on what they are made of, not on what else a stage reads. */
static void test_sums(const char *path)
{
    enum { X, N, M };
    struct model o;
    if (!model_open(&o, path, 0))
        return;
    run_right(&o, "first");
    o.from[X].writes++;
    struct late_counts n = run_right(&o, "other data");
    CHECK(n.misses == 1 && n.plans == 0 && n.spared < n.runs, /* Mod's, which the stage gives */
          "%llu misses, %llu plans", LLU(n.misses), LLU(n.plans));
    o.from[M].writes++;
    n = run_right(&o, "written, and the same");
    CHECK(n.misses > 1 && n.plans == 0, "%llu misses, %llu plans", LLU(n.misses), LLU(n.plans));
    for (int64_t i = 0; i < 40; i++) {
        set(&o, N, (const int64_t[]) { i % 17 - 8 });
        set(&o, M, (const int64_t[]) { i % 5 - 2, 3 - i % 7 });
        run_right(&o, "other numbers");
    }
    const struct tensor *out[PORTS_MAX];
    set(&o, N, (const int64_t[]) { INT64_MAX / 2 });
    set(&o, M, (const int64_t[]) { 3, 1 });
    CHECK(late_run(o.late, o.from, out, &o.err) == RILL_LIMIT &&
              strstr(o.err.text, "node 'range") &&
              strstr(o.err.text, "more than 63 bits; give 'n'"),
          "'%s'", o.err.text);
    set(&o, N, (const int64_t[]) { 2 });
    run_right(&o, "after a refusal");
    model_drop(&o);
}

/* Ten million runs with nothing new are ten million times the hits of one. */
static void test_hits(const char *path)
{
    enum { RUNS = 10000000 };
    struct model o;
    struct late_counts one, after;
    const struct tensor *out[PORTS_MAX];
    if (!model_open(&o, path, 0))
        return;
    set(&o, 1, (const int64_t[]) { 1, 3, 7 });
    set(&o, 2, (const int64_t[]) { -2 });
    run_right(&o, "first");
    one = run_right(&o, "the same");
    late_count(o.late, &after);
    const uint64_t hits = after.hits, misses = after.misses;
    rill_status s = RILL_OK;
    for (int i = 0; s == RILL_OK && i < RUNS; i++)
        s = late_run(o.late, o.from, out, &o.err);
    late_count(o.late, &after);
    CHECK(s == RILL_OK && after.hits - hits == RUNS * one.hits && after.misses == misses,
          "%llu hits, %llu of one run, %llu misses", LLU(after.hits - hits), LLU(one.hits),
          LLU(after.misses - misses));
    run_right(&o, "after them");
    model_drop(&o);
}

/* More sizes than plans are kept for, over and over. */
static void test_many_sizes(const char *path)
{
    struct model o;
    struct late_counts n = { 0 };
    if (!model_open(&o, path, 0))
        return;
    set(&o, 2, (const int64_t[]) { -2 });
    for (int64_t i = 0; i < 3000; i++) {
        set(&o, 1, (const int64_t[]) { i % 1500, 1, 2 });
        const struct tensor *out[PORTS_MAX];
        rill_status s = late_run(o.late, o.from, out, &o.err);
        const int64_t most = i % 1500 > 2 ? i % 1500 : 2; /* from 0.5 in steps of 0.75 */
        CHECK(s == RILL_OK && out[1]->dim[0] == 4 * most / 3, "length %lld: %s", (long long) most,
              o.err.text);
    }
    late_count(o.late, &n);
    CHECK(n.plans >= 1500, "%llu plans", LLU(n.plans));
    model_drop(&o);
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 1;
    test_decoder(argv[1]);
    test_moves(argv[2]);
    test_blocks(argv[3]);
    test_hits(argv[4]);
    test_many_sizes(argv[4]);
    test_sums(argv[5]);
    return check_done();
}
