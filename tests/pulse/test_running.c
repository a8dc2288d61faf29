/* SPDX-License-Identifier: MIT */
/* Linear attention over all frames so far becomes a sum that runs along them: the stream gives what
 * the products of all queries and keys give, as they were written. */
#include "engine/rewrite/pass.h"
#include "pulse/counts.h"
#include "pulse/running.h"
#include "tests/pulse/oracle.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { WIDTH = 4 };
enum form { MULTIPLIED, BEFORE, FILLED, OVER_SUM, EINSUM, N_FORMS };
enum fall {
    POWERS,
    POWERS_BEFORE,
    EXPONENTS,
    INFINITE,
    CHOSEN,
    LEFT_OUT,
    AVERAGE,
    MEANS,
    SUMMED,
    N_FALLS
};

static uint32_t positions(struct gb *b, uint32_t x)
{
    uint32_t n = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 1), gb_ints(b, 2));
    return GB(b, "Range", "", gb_int(b, 0), GB(b, "Squeeze", "", n, gb_ints(b, 0)), gb_int(b, 1));
}

static uint32_t laid(struct gb *b, uint32_t scores, uint32_t at, enum form form)
{
    uint32_t i = GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
             j = GB(b, "Unsqueeze", "", at, gb_ints(b, 0));
    if (form == FILLED)
        return GB(b, "Where", "", GB(b, "Less", "", i, j), gb_scalar(b, 0), scores);
    uint32_t shown = GB(b, form == BEFORE ? "Greater" : "GreaterOrEqual", "", i, j);
    return GB(b, "Mul", "", GB(b, "Where", "", shown, gb_scalar(b, 1), gb_scalar(b, 0)), scores);
}

static void recipe(struct gb *b, const void *ctx)
{
    const enum form form = *(const enum form *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), of[3];
    for (int k = 0; k < 3; k++)
        of[k] = GB(b, "Sigmoid", "", GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)));
    uint32_t scores = form == EINSUM ? GB(b, "Einsum", "equation='bid,bjd->bij", of[0], of[1])
                                     : GB(b, "MatMul", "", of[0], gb_transpose(b, of[1], "0,2,1"));
    uint32_t a = laid(b, scores, positions(b, x), form);
    if (form == OVER_SUM)
        a = GB(b, "Div", "", a, GB(b, "ReduceSum", "", a, gb_ints(b, -1)));
    gb_output(b,
              form == EINSUM ? GB(b, "Einsum", "equation='bij,bje->bei", a, of[2])
                             : GB(b, "MatMul", "", a, of[2]));
}

/* ---- keys that count less the further they are behind ---- */

/* y with other numbers for what is none, or none that is finite: torch.nan_to_num. */
static uint32_t cleared(struct gb *b, uint32_t y)
{
    const uint32_t first = y;
    y = GB(b, "Where", "", GB(b, "IsNaN", "", y), gb_scalar(b, 0), y);
    for (int below = 0; below < 2; below++) {
        uint32_t endless = GB(b, "IsInf", "", first),
                 side = GB(b, below ? "Less" : "Greater", "", y, gb_scalar(b, 0));
        y = GB(b, "Where", "", GB(b, "And", "", endless, side),
               gb_scalar(b, below ? -FLT_MAX : FLT_MAX), y);
    }
    return y;
}

/* Of two heads: 0.5 and 0.9 to the power of the distance, 0 where the key is behind the query;
 * [2, T, T], or [T, T] of the first head alone. */
static uint32_t falls(struct gb *b, uint32_t at, enum fall fall)
{
    static const float base[] = { 0.5f, 0.9f };
    const int64_t heads[] = { 2, 1, 1 };
    uint32_t i = GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
             j = GB(b, "Unsqueeze", "", at, gb_ints(b, 0));
    uint32_t far = GB(b, "Cast", "to=1", GB(b, "Sub", "", i, j)),
             shown = GB(b, "Cast", "to=1",
                        GB(b, fall == POWERS_BEFORE ? "Greater" : "GreaterOrEqual", "", i, j));
    uint32_t each = fall == AVERAGE ? gb_scalar(b, 0.9f) : gb_const(b, DTYPE_F32, 3, heads, base);
    if (fall == SUMMED)
        return GB(b, "Div", "", shown, GB(b, "ReduceSum", "", shown, gb_ints(b, 1)));
    if (fall == MEANS)
        return GB(b, "Div", "", shown, GB(b, "Cast", "to=1", GB(b, "Add", "", i, gb_int(b, 1))));
    if (fall == AVERAGE)
        far = GB(b, "Clip", "", far, gb_scalar(b, 0));
    if (fall == INFINITE) { /* torchscale's */
        far = GB(b, "Where", "", GB(b, "Less", "", i, j), gb_scalar(b, INFINITY), far);
        return cleared(b, GB(b, "Exp", "", GB(b, "Mul", "", far, GB(b, "Log", "", each))));
    }
    if (fall == CHOSEN)
        return GB(b, "Where", "", GB(b, "GreaterOrEqual", "", i, j),
                  GB(b, "Pow", "", each, GB(b, "Clip", "", far, gb_scalar(b, 0))), gb_scalar(b, 0));
    if (fall == LEFT_OUT)
        return GB(b, "Where", "", GB(b, "Less", "", i, j), gb_scalar(b, 0),
                  GB(b, "Pow", "", each, far));
    uint32_t y = fall == EXPONENTS ? GB(b, "Exp", "", GB(b, "Mul", "", GB(b, "Log", "", each), far))
                                   : GB(b, "Pow", "", each, far);
    y = GB(b, "Mul", "", y, shown);
    if (fall == AVERAGE)
        return GB(b, "Mul", "", y, gb_scalar(b, 0.1f));
    return GB(b, "Where", "", GB(b, "IsNaN", "", y), gb_scalar(b, 0), y);
}

/* Retention of two heads; or values alone, weighed by how old they are. */
static uint32_t falling_sum(struct gb *b, enum fall fall, bool turned)
{
    uint32_t x = gb_input(b, "x", 4, 1, 2, GB_TIME, WIDTH), of[3];
    uint32_t n = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 2), gb_ints(b, 3));
    uint32_t at =
        GB(b, "Range", "", gb_int(b, 0), GB(b, "Squeeze", "", n, gb_ints(b, 0)), gb_int(b, 1));
    for (int k = 0; k < 3; k++)
        of[k] = GB(b, "Sigmoid", "", GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)));
    uint32_t w = falls(b, at, fall);
    if (fall < AVERAGE)
        w = GB(b, "Mul", "", GB(b, "MatMul", "", of[0], gb_transpose(b, of[1], "0,1,3,2")),
               GB(b, "Unsqueeze", "", w, gb_ints(b, 0)));
    if (!turned)
        return GB(b, "MatMul", "", w, of[2]);
    w = gb_transpose(b, w, fall < AVERAGE ? "0,1,3,2" : "1,0");
    return GB(b, "MatMul", "", gb_transpose(b, of[2], "0,1,3,2"), w);
}

static void falling(struct gb *b, const void *ctx)
{
    gb_output(b, falling_sum(b, *(const enum fall *) ctx, false));
}

/* The same, frames last: values by a Transpose of the weights. */
static void falling_turned(struct gb *b, const void *ctx)
{
    gb_output(b, falling_sum(b, *(const enum fall *) ctx, true));
}

/* Frames last: values by weights that are turned, with counts of the frames of each query in front
 * of the Transpose or behind it. */
enum counted { OVER_BEHIND, TIMES_BEHIND, OVER_IN_FRONT, ON_BOTH_SIDES, WEIGHTS_ALONE, N_COUNTED };

static void counted_turned(struct gb *b, const void *ctx)
{
    const enum counted form = *(const enum counted *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), at = positions(b, x);
    const uint32_t q = GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH));
    uint32_t scores = GB(b, "MatMul", "", q, gb_transpose(b, x, "0,2,1"));
    if (form == WEIGHTS_ALONE)
        scores = gb_full(b, 1, 3, 1, 1, 1);
    uint32_t w = laid(b, scores, at, MULTIPLIED);
    const uint32_t n = GB(b, "Add", "", GB(b, "Cast", "to=1", at), gb_scalar(b, 1)),
                   row = GB(b, "Unsqueeze", "", n, gb_ints(b, 0)),
                   column = GB(b, "Unsqueeze", "", n, gb_ints(b, 1));
    if (form == OVER_IN_FRONT || form == ON_BOTH_SIDES)
        w = GB(b, "Div", "", w, column);
    w = gb_transpose(b, w, "0,2,1");
    if (form == OVER_BEHIND || form == WEIGHTS_ALONE)
        w = GB(b, "Div", "", w, row);
    if (form == TIMES_BEHIND || form == ON_BOTH_SIDES)
        w = GB(b, "Mul", "", GB(b, "Sqrt", "", row), w);
    gb_output(b, GB(b, "MatMul", "", gb_transpose(b, x, "0,2,1"), w));
}

static void sum_test(const char *name, gb_recipe *made_by, const void *ctx)
{
    static const struct pass sums[] = { { "running-sums", false, graph_with_running_sums },
                                        { "masks-counted", false, graph_with_masks_counted } };
    static const int64_t pulses[] = { 1, 2, 3, 8, -1 }, lengths[] = { 1, 2, 5, 9, 30, -1 };
    struct oracle o;
    bool made = oracle_open(&o, made_by, ctx, NULL) == LAW_HOLDS;
    made = made &&
        passes_run(sums, 2, &o.model->decluttered.g, &o.model->decluttered.g, NULL, &o.err) ==
            RILL_OK;
    oracle_check(made, "%s %d: %s", name, *(const int *) ctx, o.err.text);
    o.tolerance = 1e-5f; /* sums in another order */
    if (made)
        oracle_check(oracle_laws(&o, name, pulses, lengths) > 0, "%s: no whole run", name);
    oracle_close(&o);
}

/* What grows with the distance is refused for that, not for a softmax that is not there. */
static void growing(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    uint32_t far = GB(b, "Sub", "", GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
                      GB(b, "Unsqueeze", "", at, gb_ints(b, 0)));
    uint32_t grows = GB(b, "Pow", "", gb_scalar(b, 1.5f), GB(b, "Cast", "to=1", far));
    uint32_t scores = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Mul", "", scores, grows), x));
}

static void test_growing(void)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, growing, NULL, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "no softmax reads the product") &&
                     strstr(o.err.text, "a number from 0 to 1"),
                 "%s", o.err.text);
    oracle_close(&o);
}

/* Scores that something else than a factor changes are no sum that runs along: a GAU's. */
static void rectified(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t scores = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    scores = GB(b, "Relu", "", GB(b, "Mul", "", scores, gb_scalar(b, 0.5f)));
    gb_output(b, GB(b, "MatMul", "", laid(b, scores, positions(b, x), MULTIPLIED), x));
}

static void test_rectified(void)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, rectified, NULL, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "(Relu) changes the scores"), "%s",
                 o.err.text);
    oracle_close(&o);
}

/* The node that divides by a number of each key is the cause, not the triangle. */
static void over_keys(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), at = positions(b, x);
    uint32_t w = laid(b, GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1")), at, MULTIPLIED);
    w = GB(b, "Div", "", w, GB(b, "Add", "", GB(b, "Cast", "to=1", at), gb_scalar(b, 1)));
    gb_output(b, GB(b, "MatMul", "", w, x));
}

static void test_over_keys(void)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, over_keys, NULL, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "(Div) divides it by a number of each key"),
                 "%s", o.err.text);
    oracle_close(&o);
}

int main(void)
{
    test_growing();
    test_over_keys();
    test_rectified();
    for (enum form form = 0; form < N_FORMS; form++)
        sum_test("a running sum", recipe, &form);
    for (enum fall fall = 0; fall < N_FALLS; fall++)
        sum_test("a falling sum", falling, &fall);
    for (enum fall fall = 0; fall < N_FALLS; fall++)
        sum_test("a falling sum, turned", falling_turned, &fall);
    for (enum counted form = 0; form < N_COUNTED; form++)
        sum_test("a sum over counts, turned", counted_turned, &form);
    return oracle_end();
}
