/* SPDX-License-Identifier: MIT */
/* Fused programs as a plan file may hold them: what does not fit is refused, what is taken gives
 * what its steps say. */
#include "engine/ops/clock.h"
#include "engine/ops/epilogue.h"
#include "tests/ops/ops_test.h"

#define LIST(what, ...)                                                                            \
    {                                                                                              \
        .name = what, .kind = ATTR_INTS, .ints = {                                                 \
            sizeof(int64_t[]) { __VA_ARGS__ } / sizeof(int64_t),                                   \
            (int64_t[]) { __VA_ARGS__ }                                                            \
        }                                                                                          \
    }

/* y[r][c] = x[r][c] + row[c] - column[r] */
static void test_lies(struct ops_test *t)
{
    uint32_t seed = 3;
    float want[6];
    const struct tensor *x = ops_numbers(t, &seed, 2, (int64_t[]) { 2, 3 }),
                        *row = ops_numbers(t, &seed, 1, (int64_t[]) { 3 }),
                        *column = ops_numbers(t, &seed, 2, (int64_t[]) { 2, 1 });
    const struct attr a[] = { LIST("steps", KERN_LOAD, 0, 0, 0, KERN_LOAD, 1, 1, 0, KERN_LOAD, 2, 2,
                                   0, KERN_ADD, 3, 0, 1, KERN_SUB, 4, 3, 2, KERN_STORE, 0, 4, 0),
                              LIST("values", 2, 3, 1, 3, 2, 1, 2, 3, 2, 3),
                              LIST("shapes", 2, 2, 3) };
    for (int i = 0; i < 6; i++)
        want[i] = ((const float *) x->data)[i] + ((const float *) row->data)[i % 3] -
            ((const float *) column->data)[i / 3];
    t->what = "lies";
    t->runtime = 7;
    if (ops_run(t, "Fused", a, 3, (const struct tensor *[]) { x, row, column }, 3, 1))
        ops_check(t, !memcmp(want, t->out[0]->data, sizeof want), "other bits");
}

static void test_flat_refused(struct ops_test *t)
{
    uint32_t seed = 5;
    const struct tensor *x = ops_numbers(t, &seed, 1, (int64_t[]) { 4 });
    const struct attr twice[] = { LIST("steps", KERN_LOAD, 0, 0, 0, KERN_LOAD, 1, 0, 0, KERN_ADD, 2,
                                       0, 1, KERN_STORE, 0, 2, 0),
                                  LIST("values", 1, 4, 4, 1, 4, 4), LIST("shapes", 2, 4, 4) };
    const struct attr unloaded[] = { LIST("steps", KERN_RELU, 0, 0, 0, KERN_STORE, 0, 0, 0),
                                     LIST("values", 1, 4), LIST("shapes", 1, 4) };
    const struct attr unstored[] = { LIST("steps", KERN_LOAD, 0, 0, 0, KERN_RELU, 1, 0, 0),
                                     LIST("values", 1, 4, 1, 4), LIST("shapes", 1, 4) };
    const struct attr own[] = { LIST("steps", KERN_LOAD, 0, 0, 0, KERN_RELU, 0, 0, 0, KERN_STORE, 0,
                                     0, 0),
                                LIST("values", 1, 4), LIST("shapes", 1, 4) };
    t->what = "flat";
    t->runtime = 1;
    ops_refused(t, "Fused", twice, 3, &x, 1, 1, "step 1 of its program is none");
    ops_refused(t, "Fused", unloaded, 3, &x, 1, 1, "none of a program");
    ops_refused(t, "Fused", unstored, 3, &x, 1, 1, "none of a program");
    ops_refused(t, "Fused", own, 3, &x, 1, 1, "step 1 of its program does not fit");
}

/* A product of one channel; what is added to it must be there before, and not be its own. */
static void test_join_refused(struct ops_test *t)
{
    uint32_t seed = 7;
    const struct tensor *w = ops_numbers(t, &seed, 1, (int64_t[]) { 32 }),
                        *x = ops_numbers(t, &seed, 3, (int64_t[]) { 1, 1, 2 });
    const struct attr a[] = { LIST("steps", KERN_LOAD, 0, 0, 0, KERN_PRODUCT, 1, 0, 0, FUSED_JOIN,
                                   1, 1, 0, KERN_STORE, 0, 1, 0),
                              LIST("values", 1, 2, 1, 2), LIST("products", 1, 1, 1, 1),
                              LIST("shapes", 3, 1, 1, 2) };
    t->what = "join";
    t->runtime = 2;
    ops_refused(t, "Fused", a, 4, (const struct tensor *[]) { w, x }, 2, 1,
                "step 2 of its program does not fit");
}

/* What reads windows and the clock, and depthwise products. */
static void test_frames_refused(struct ops_test *t)
{
    static const int64_t steps[][4] = {
        { KERN_DEPTHWISE, 1, 0, 0 },                          /* of 2 channels from 1 */
        { KERN_PAD, 1, 0, 0 },                                /* the same */
        { KERN_PAD, 0, 0, 1 },                                /* there is one pad */
        { FUSED_PAST, 0, 0, 3 },                              /* frames 3 and 4 of 4 */
        { FUSED_PAST, 0, 0, -1 },    { FUSED_PAST, 0, 1, 0 }, /* there is one window */
        { FUSED_PAST, 1, 0, 0 },                              /* 2 channels of 1 */
    };
    uint32_t seed = 11;
    struct tensor *clock = tensor_new(&t->arena, DTYPE_I64, 1, (int64_t[]) { CLOCK_SIZE });
    const struct tensor *in[] = { ops_numbers(t, &seed, 1, (int64_t[]) { 96 }), clock,
                                  ops_numbers(t, &seed, 3, (int64_t[]) { 1, 1, 2 }),
                                  ops_numbers(t, &seed, 2, (int64_t[]) { 4, 16 }) };
    t->what = "frames";
    t->runtime = ~(uint32_t) 1;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const int64_t *s = steps[i];
        const struct attr a[] = { LIST("steps", KERN_LOAD, 0, 0, 0, s[0], s[1], s[2], s[3],
                                       KERN_STORE, 0, 0, 0),
                                  LIST("values", 1, 2, 2, 2),
                                  LIST("products", 1, 1, 1, 1),
                                  LIST("windows", 1, 4, 1),
                                  LIST("pads", 1, 0, 1),
                                  LIST("shapes", 3, 1, 1, 2) };
        ops_refused(t, "Fused", a, 6, in, 4, 2, "step 1 of its program is none");
    }
    const struct attr a[] = { LIST("steps", KERN_LOAD, 0, 0, 0, KERN_STORE, 0, 0, 0),
                              LIST("values", 1, 2), LIST("windows", 1, 4, 1),
                              LIST("pads", 1, 0, CLOCK_SIZE), LIST("shapes", 3, 1, 1, 2) };
    ops_refused(t, "Fused", a, 5, in, 4, 2, "none of a program");
    in[1] = in[2];
    const struct attr b[] = { a[0], a[1], a[2], LIST("pads", 1, 0, 1), a[4] };
    ops_refused(t, "Fused", b, 5, in, 4, 2, "its input 1 is not the clock");
}

/* A convolution without channels, whose epilogue would run on one. */
static void test_no_channels(struct ops_test *t)
{
    uint32_t seed = 9;
    const struct tensor *in[] = { ops_numbers(t, &seed, 3, (int64_t[]) { 1, 2, 4 }),
                                  ops_numbers(t, &seed, 3, (int64_t[]) { 0, 2, 3 }), NULL,
                                  ops_numbers(t, &seed, 2, (int64_t[]) { 0, 1 }),
                                  ops_numbers(t, &seed, 1, (int64_t[]) { 1 }) };
    const struct attr a[] = { LIST("pads", 100, 0), LIST(EPILOGUE_ATTR, KERN_ADD, 0, 2, 2) };
    t->what = "no channels";
    t->runtime = ~(uint32_t) 2;
    if (ops_try(t, "Conv", a, 2, in, 5, 1) == RILL_OK)
        ops_check(t, tensor_count(t->out[0]) == 0, "an output of no channels");
}

int main(void)
{
    struct ops_test t = ops_begin();
    t.made = true;
    test_lies(&t);
    test_flat_refused(&t);
    test_join_refused(&t);
    test_frames_refused(&t);
    test_no_channels(&t);
    return ops_end(&t);
}
