/* SPDX-License-Identifier: MIT */
/* Frame and OverlapAdd against counting by hand and sums in double. */
#include "tests/ops/ops_test.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define LINE_MAX 400

static const char *const ends[] = { "drop", "cover", "flush" };

static uint32_t seed = 3;

/* ---- Frame ---- */

/* drop: whole frames only. cover: the fewest that hold every sample.
 * flush: every frame that starts within the padded samples. */
static int64_t count_frames(int end, int64_t samples, int64_t size, int64_t hop, int64_t before)
{
    int64_t have = samples + before, n = 0;
    if (end == 0)
        while (n * hop + size <= have)
            n++;
    else if (end == 2)
        while (n * hop < have)
            n++;
    else if (have > 0)
        for (n = 1; (n - 1) * hop + size < have; n++)
            ;
    return n;
}

static void frame_check(struct ops_test *t, int end, int64_t samples, int64_t size, int64_t hop,
                        int64_t before)
{
    char what[120];
    snprintf(what, sizeof what, "Frame %s S %d size %d hop %d before %d", ends[end], (int) samples,
             (int) size, (int) hop, (int) before);
    t->what = what;
    const struct tensor *x = ops_numbers(t, &seed, 2, I64S(2, samples));
    struct attr a[] = { ONE_INT("size", size), ONE_INT("hop", hop), ONE_INT("before", before),
                        ONE_TEXT("end", ends[end]) };
    if (!ops_run(t, "Frame", a, 4, &x, 1, 1))
        return;
    int64_t frames = count_frames(end, samples, size, hop, before);
    if (!ops_shape_is(t, 0, DTYPE_F32, 3, I64S(2, frames, size))) {
        printf("    %d frames, wanted %d\n", (int) t->out[0]->dim[1], (int) frames);
        return;
    }
    double *want = calloc((size_t) (2 * frames * size + 1), sizeof *want);
    for (int64_t i = 0; want && i < 2 * frames * size; i++) {
        int64_t at = i / size % frames * hop + i % size - before;
        want[i] = at < 0 || at >= samples
            ? 0
            : (double) ((float *) x->data)[i / (frames * size) * samples + at];
    }
    ops_same(t, 0, want, 0);
    free(want);
    arena_drop(&t->arena);
}

static void test_frame(struct ops_test *t)
{
    static const int64_t kinds[][3] = { { 1, 1, 0 }, { 4, 2, 0 }, { 5, 3, 0 }, { 8, 8, 0 },
                                        { 8, 2, 6 }, { 5, 3, 2 }, { 7, 1, 3 }, { 4, 4, 9 } };
    for (int end = 0; end < 3; end++)
        for (size_t k = 0; k < COUNT(kinds); k++)
            for (int64_t s = 0; s <= 40; s++)
                if (end != 1 || s > 0) /* cover promises something only where there is a sample */
                    frame_check(t, end, s, kinds[k][0], kinds[k][1], kinds[k][2]);
    t->what = "";
}

static void test_frame_integers(struct ops_test *t)
{
    const int64_t v[] = { 3, -1, 4, INT64_MAX, 5, INT64_MIN, 2 };
    const struct tensor *x = ops_i64s(t, COUNT(v), v);
    struct attr a[] = { ONE_INT("size", 3), ONE_INT("hop", 2), ONE_INT("before", 1),
                        ONE_TEXT("end", ends[1]) };
    t->what = "Frame of i64";
    int64_t frames = count_frames(1, COUNT(v), 3, 2, 1);
    if (!ops_run(t, "Frame", a, 4, &x, 1, 1) || !ops_shape_is(t, 0, DTYPE_I64, 2, I64S(frames, 3)))
        return;
    for (int64_t i = 0; i < 3 * frames; i++) {
        int64_t at = i / 3 * 2 + i % 3 - 1, got = ((const int64_t *) t->out[0]->data)[i];
        int64_t want = at < 0 || at >= (int64_t) COUNT(v) ? 0 : v[at];
        ops_check(t, got == want, "output 0[%d] is %lld, wanted %lld", (int) i, (long long) got,
                  (long long) want);
    }
    t->what = "";
}

/* ---- OverlapAdd ---- */

static void overlap_check(struct ops_test *t, int64_t frames, int64_t size, int64_t hop, bool full,
                          bool normalise)
{
    static const char *const tails[] = { "complete", "full" };
    char what[120];
    snprintf(what, sizeof what, "OverlapAdd T %d size %d hop %d %s normalise %d", (int) frames,
             (int) size, (int) hop, tails[full], normalise);
    t->what = what;
    const struct tensor *in[2] = { ops_numbers(t, &seed, 3, I64S(2, frames, size)),
                                   ops_numbers(t, &seed, 1, &size) };
    struct attr a[] = { ONE_INT("hop", hop), ONE_TEXT("tail", tails[full]),
                        ONE_INT("normalise", normalise) };
    if (!ops_run(t, "OverlapAdd", a, 3, in, normalise ? 2 : 1, 1))
        return;
    int64_t n = full ? frames ? (frames - 1) * hop + size : 0 : frames * hop;
    double want[LINE_MAX] = { 0 };
    for (int64_t i = 0; i < 2 * n; i++) {
        double weight = 0;
        for (int64_t f = 0; f < frames; f++) {
            int64_t k = i % n - f * hop;
            if (k < 0 || k >= size)
                continue;
            double w = (double) ((float *) in[1]->data)[k];
            want[i] += (double) ((float *) in[0]->data)[(i / n * frames + f) * size + k];
            weight += w * w;
        }
        want[i] /= normalise && weight > 1e-8 ? weight : 1;
    }
    if (ops_shape_is(t, 0, DTYPE_F32, 2, I64S(2, n)))
        ops_same(t, 0, want, 1e-5);
    arena_drop(&t->arena);
}

static const int64_t overlaps[][2] = { { 1, 1 }, { 4, 2 }, { 5, 3 }, { 8, 8 }, { 9, 2 }, { 7, 1 } };

static void test_overlap(struct ops_test *t)
{
    for (size_t k = 0; k < COUNT(overlaps); k++)
        for (int64_t frames = 0; frames <= 12; frames++)
            for (int m = 0; m < 4; m++)
                overlap_check(t, frames, overlaps[k][0], overlaps[k][1], m & 1, m >> 1);
    t->what = "";
}

/* Two parts, the partial sums carried, give the bits of the whole. */
static void split_check(struct ops_test *t, int64_t size, int64_t hop, int64_t frames,
                        int64_t first)
{
    struct attr a = ONE_INT("hop", hop);
    struct tensor *x = ops_numbers(t, &seed, 2, I64S(frames, size));
    const struct tensor *in[3] = { x, NULL, NULL };
    t->what = "OverlapAdd in two parts";
    if (!ops_run(t, "OverlapAdd", &a, 1, in, 1, 2))
        return;
    const struct tensor *whole = t->out[0], *rest = t->out[1];
    in[0] = ops_f32(t, 2, I64S(first, size), x->data);
    if (!ops_run(t, "OverlapAdd", &a, 1, in, 1, 2))
        return;
    ops_check(t, !memcmp(t->out[0]->data, whole->data, tensor_bytes(t->out[0])),
              "first part differs");
    in[0] = ops_f32(t, 2, I64S(frames - first, size), (float *) x->data + first * size);
    in[2] = t->out[1];
    if (!ops_run(t, "OverlapAdd", &a, 1, in, 3, 2))
        return;
    ops_check(t,
              !memcmp(t->out[0]->data, (float *) whole->data + first * hop,
                      tensor_bytes(t->out[0])),
              "second part differs, size %d hop %d at %d", (int) size, (int) hop, (int) first);
    ops_check(t,
              tensor_bytes(rest) == tensor_bytes(t->out[1]) &&
                  (!tensor_bytes(rest) || !memcmp(rest->data, t->out[1]->data, tensor_bytes(rest))),
              "rest differs");
    arena_drop(&t->arena);
}

static void test_refusals(struct ops_test *t)
{
    const struct tensor *x = ops_numbers(t, &seed, 2, I64S(3, 8)),
                        *w = ops_numbers(t, &seed, 1, I64S(7));
    const struct tensor *ints = ops_tensor(t, DTYPE_I64, 1, I64S(9), NULL);
    static const int64_t bad[][3] = {
        { 0, 1, 0 }, { 4, 0, 0 }, { 4, 5, 0 }, { 4, 2, -1 }, { 1 << 25, 1, 0 }
    };
    static const char *const none[] = { "never" }, *const full[] = { "full" };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct attr a[] = { ONE_INT("size", bad[i][0]), ONE_INT("hop", bad[i][1]),
                            ONE_INT("before", bad[i][2]) };
        ops_refused(t, "Frame", a, 3, &x, 1, 1, "hop");
    }
    struct attr a[] = { ONE_INT("size", 4), ONE_INT("hop", 2), ONE_TEXT("end", *none) };
    ops_refused(t, "Frame", a, 3, &x, 1, 1, "never");
    ops_refused(t, "Frame", a, 1, &x, 1, 1, "hop");
    struct attr o[] = { ONE_INT("hop", 4), ONE_INT("normalise", 1), ONE_TEXT("tail", *full) };
    struct attr wide = ONE_INT("hop", 9);
    ops_refused(t, "OverlapAdd", &wide, 1, &x, 1, 1, "hop 9");
    ops_refused(t, "OverlapAdd", o, 2, &x, 1, 1, "window");
    ops_refused(t, "OverlapAdd", o, 2, IN(x, w), 1, "f32[8]");
    ops_refused(t, "OverlapAdd", o, 1, IN(x, NULL, w), 1, "partial sums");
    ops_refused(t, "OverlapAdd", (struct attr[]) { o[0], o[2] }, 2, &x, 1, 2, "partial sums");
    ops_refused(t, "OverlapAdd", o, 1, &ints, 1, 1, "rank 2");
}

int main(void)
{
    struct ops_test t = ops_begin();
    test_frame(&t);
    test_frame_integers(&t);
    test_overlap(&t);
    for (size_t k = 0; k < COUNT(overlaps); k++)
        for (int64_t first = 0; first <= 9; first++)
            split_check(&t, overlaps[k][0], overlaps[k][1], 9, first);
    test_refusals(&t);
    return ops_end(&t);
}
