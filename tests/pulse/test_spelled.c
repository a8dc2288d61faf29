/* SPDX-License-Identifier: MIT */
/* Nets as other people spell them, which were refused: cuts counted from the end, axes that nobody
 * names, weights that fall within a triangle, heads with windows of their own, frames around each
 * by a list, places written to, and what is made of last frames. */
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "pulse/running.h"
#include "tests/pulse/oracle.h"

#include <math.h>

enum { WIDTH = 4 };

static uint32_t size_of(struct gb *b, uint32_t x, int axis)
{
    return GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_ints(b, axis));
}

static uint32_t frames_of(struct gb *b, uint32_t x, int axis)
{
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, axis));
    return GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
}

/* Frame i less frame j. */
static uint32_t distances(struct gb *b, uint32_t x, int axis)
{
    const uint32_t i = frames_of(b, x, axis);
    return GB(b, "Sub", "", GB(b, "Unsqueeze", "", i, gb_ints(b, 1)),
              GB(b, "Unsqueeze", "", i, gb_ints(b, 0)));
}

/* ---- cuts ---- */

/* x[:, :, -len(y):] of two convolutions, as WaveNet joins its skips. */
static void from_end(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, WIDTH, GB_TIME), sum = WIRE_NONE;
    (void) ctx;
    for (int layer = 0; layer < 3; layer++) {
        const uint32_t y = GB(b, "Conv", "dilations=2", x, gb_weights(b, 3, WIDTH, WIDTH, 2)),
                       from = GB(b, "Neg", "", size_of(b, y, 2));
        const uint32_t end = gb_ints(b, INT64_MAX), axis = gb_ints(b, 2);
        sum = sum == WIRE_NONE ? y : GB(b, "Add", "", GB(b, "Slice", "", sum, from, end, axis), y);
        x = GB(b, "Add", "", GB(b, "Slice", "", x, from, end, axis), y);
    }
    gb_output(b, sum);
}

static void unnamed(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, 1, GB_TIME);
    (void) ctx;
    const uint32_t y =
        GB(b, "Squeeze", "", GB(b, "Conv", "pads=1,1", x, gb_weights(b, 3, 1, 1, 3)));
    gb_output(b,
              GB(b, "Add", "", y, gb_slice(b, gb_pad(b, y, 1, 0, "constant", 2, 0), 0, 0, -2, 1)));
}

/* ---- weights that fall ---- */

enum falling { BELOW, BEFORE, CHOSEN, TURNED };

static void falls(struct gb *b, const void *ctx)
{
    static const float lost[] = { -0.1f, -0.4f };
    const enum falling how = *(const enum falling *) ctx;
    const uint32_t x = gb_input(b, "x", 4, 1, 2, GB_TIME, WIDTH), d = distances(b, x, 2);
    const int64_t heads[] = { 2, 1, 1 };
    uint32_t w = GB(b, "Cast", "to=1", how == CHOSEN ? GB(b, "Max", "", d, gb_int(b, 0)) : d);
    if (how == TURNED)
        w = gb_transpose(b, w, "1,0");
    w = GB(b, "Exp", "", GB(b, "Mul", "", w, gb_const(b, DTYPE_F32, 3, heads, lost)));
    if (how == CHOSEN)
        w = GB(b, "Where", "", GB(b, "GreaterOrEqual", "", d, gb_int(b, 0)),
               GB(b, "Mul", "", w, gb_scalar(b, 0.3f)), gb_scalar(b, 0));
    else
        w = GB(b, "Trilu", how == TURNED ? "upper=1" : "upper=0", w,
               gb_int(b, how == BEFORE ? -1 : 0));
    if (how == TURNED)
        gb_output(b, GB(b, "MatMul", "", gb_transpose(b, x, "0,1,3,2"), w));
    else
        gb_output(b,
                  GB(b, "MatMul", "",
                     GB(b, "Mul", "", GB(b, "MatMul", "", x, gb_transpose(b, x, "0,1,3,2")), w),
                     x));
}

/* ---- heads ---- */

enum heads { EVEN, UNEVEN, AHEAD, FLOATS };

static void windows(struct gb *b, const void *ctx)
{
    static const int64_t back[][3] = { { 2, 4, 6 }, { 9, 0, 3 }, { 1, 5, 2 }, { 4, 1, 8 } };
    static const float floats[] = { 4, 1, 8 };
    const enum heads how = *(const enum heads *) ctx;
    const uint32_t x = gb_input(b, "x", 4, 1, 3, GB_TIME, WIDTH);
    const int64_t dim[] = { 3, 1, 1 };
    uint32_t d = distances(b, x, 2),
             reach = gb_const(b, how == FLOATS ? DTYPE_F32 : DTYPE_I64, 3, dim,
                              how == FLOATS ? (const void *) floats : back[how]);
    if (how == FLOATS)
        d = GB(b, "Cast", "to=1", d);
    const uint32_t near = how == AHEAD ? GB(b, "Abs", "", d) : d,
                   none = how == FLOATS ? gb_scalar(b, 0) : gb_int(b, how == AHEAD ? -9 : 0);
    const uint32_t seen = GB(b, "And", "", GB(b, "LessOrEqual", "", near, reach),
                             GB(b, "GreaterOrEqual", "", d, none));
    uint32_t scores = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,1,3,2"));
    scores = GB(b, "Where", "", seen, scores, gb_scalar(b, -INFINITY));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", scores), x));
}

/* ---- frames around each ---- */

enum splice { FLAT, APART, PADDED, ONE };

static void splice(struct gb *b, const void *ctx)
{
    const enum splice how = *(const enum splice *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
             n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    const int64_t sizes[] = { 1, -1, how == ONE ? WIDTH : 5 * WIDTH };
    uint32_t i =
        GB(b, "Unsqueeze", "", GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)), gb_ints(b, 1));
    i = GB(b, "Add", "", i, how == ONE ? gb_ints(b, -2) : gb_ints(b, -2, -1, 0, 1, 4));
    if (how == PADDED) {
        x = gb_pad(b, x, 3, 1, "constant", 3, 4);
        i = GB(b, "Add", "", i, gb_int(b, 3));
    } else
        i = GB(b, "Clip", "", i, gb_int(b, 0), GB(b, "Sub", "", n, gb_int(b, 1)));
    if (how == FLAT || how == ONE)
        i = GB(b, "Reshape", "", i, gb_ints(b, -1));
    const uint32_t y = GB(b, "Gather", "axis=1", x, i);
    gb_output(b, GB(b, "Tanh", "", GB(b, "Reshape", "", y, gb_ints_of(b, 3, sizes))));
}

/* ---- places that are written to ---- */

enum box { SHIFTED_BACK, SHIFTED_ON, COLUMNS, FIRST_FRAME };

/* The places of a box: channels, then frames from `first` on, as many as `frames` are. */
static uint32_t places(struct gb *b, uint32_t channels, uint32_t frames, int64_t n)
{
    const uint32_t count = GB(b, "Shape", "", frames),
                   sizes = GB(b, "Concat", "axis=0", gb_ints(b, 1, n), count);
    const uint32_t axis[] = { gb_ints(b, 0), GB(b, "Reshape", "", channels, gb_ints(b, n, 1)),
                              frames };
    uint32_t at[3];
    for (int k = 0; k < 3; k++)
        at[k] = GB(b, "Unsqueeze", "", GB(b, "Expand", "", axis[k], sizes), gb_ints(b, -1));
    return GB(b, "Concat", "axis=-1", at[0], at[1], at[2]);
}

static void boxes(struct gb *b, const void *ctx)
{
    const enum box how = *(const enum box *) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, WIDTH, GB_TIME), i = frames_of(b, x, 2),
                   half = gb_slice(b, x, 1, 0, 2, 1), y = GB(b, "Tanh", "", x);
    const uint32_t zeros = GB(b, "ConstantOfShape", "", GB(b, "Shape", "", x)),
                   low = gb_ints(b, 0, 1), odd = gb_ints(b, 3, 1);
    if (how == SHIFTED_BACK)
        gb_output(b,
                  GB(b, "ScatterND", "", zeros, places(b, low, gb_slice(b, i, 0, 0, -1, 1), 2),
                     gb_slice(b, half, 2, 1, INT64_MAX, 1)));
    else if (how == SHIFTED_ON)
        gb_output(b,
                  GB(b, "ScatterND", "", y, places(b, low, gb_slice(b, i, 0, 2, INT64_MAX, 1), 2),
                     gb_slice(b, half, 2, 0, -2, 1)));
    else if (how == COLUMNS)
        gb_output(b, GB(b, "ScatterND", "", y, places(b, odd, i, 2), half));
    else
        gb_output(b,
                  GB(b, "ScatterND", "", y, places(b, low, gb_slice(b, i, 0, 0, 1, 1), 2),
                     gb_full(b, 0.5f, 3, 1, 2, 1)));
}

/* ---- last frames ---- */

enum ends { CHANGED, ONE_SIDED, AGAIN, FROM_FIRST };

static uint32_t last(struct gb *b, uint32_t x, int64_t from, int64_t to)
{
    return gb_slice(b, x, 2, -from, to ? -to : INT64_MAX, 1);
}

static void ends(struct gb *b, const void *ctx)
{
    const enum ends how = *(const enum ends *) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, WIDTH, GB_TIME),
                   rest = gb_slice(b, x, 2, 1, INT64_MAX, 1);
    uint32_t y;
    switch (how) {
    case CHANGED:
        y = GB(b, "Concat", "axis=2", GB(b, "Tanh", "", rest), GB(b, "Tanh", "", last(b, x, 1, 0)));
        break;
    case ONE_SIDED: /* a difference along frames, one-sided at both ends */
        y = GB(b, "Sub", "", gb_slice(b, x, 2, 2, INT64_MAX, 1), gb_slice(b, x, 2, 0, -2, 1));
        y = GB(b, "Concat", "axis=2",
               GB(b, "Sub", "", gb_slice(b, x, 2, 1, 2, 1), gb_slice(b, x, 2, 0, 1, 1)), y,
               GB(b, "Sub", "", last(b, x, 1, 0), last(b, x, 2, 1)));
        break;
    case AGAIN: /* the last three, then two of those once more */
        y = GB(b, "Concat", "axis=2", x, GB(b, "Neg", "", last(b, x, 3, 0)), last(b, x, 3, 1));
        break;
    default:
        y = GB(b, "Concat", "axis=2", gb_slice(b, x, 2, 1, -1, 1),
               GB(b, "Mul", "", last(b, x, 1, 0), gb_slice(b, x, 2, 0, 1, 1)));
    }
    gb_output(b, GB(b, "Relu", "", y));
}

/* ---- which ---- */

#define PASS(name, how)                                                                            \
    {                                                                                              \
        name, true, how                                                                            \
    }
static const struct pass usual[] = { PASS("peepholes", graph_with_peepholes),
                                     PASS("frames-put", graph_with_frames_put),
                                     PASS("last-frames", graph_with_last_frames_padded),
                                     PASS("ends", graph_with_ends_chosen),
                                     PASS("running-sums", graph_with_running_sums) };

struct spelled {
    const char *name;
    gb_recipe *recipe;
    int how;
    const char *assertion;
    float tolerance;
};

/* clang-format off */
static const struct spelled list[] = {
    { "cut from the end by a length", from_end, 0, NULL, 0 },
    { "axes of one frame that nobody names", unnamed, 0, NULL, 0 },
    { "falling weights below a diagonal", falls, BELOW, NULL, 1e-4f },
    { "falling weights before a diagonal", falls, BEFORE, NULL, 1e-4f },
    { "falling weights chosen and scaled", falls, CHOSEN, NULL, 1e-4f },
    { "falling weights above a diagonal, turned", falls, TURNED, NULL, 1e-4f },
    { "heads whose windows grow evenly", windows, EVEN, "S>=1", 1e-6f },
    { "heads with windows of their own", windows, UNEVEN, "S>=1", 1e-6f },
    { "heads that see ahead", windows, AHEAD, "S>=1", 1e-6f },
    { "heads with windows in floats", windows, FLOATS, "S>=1", 1e-6f },
    { "frames around each, one behind the other", splice, FLAT, "S>=1", 0 },
    { "frames around each", splice, APART, "S>=1", 0 },
    { "frames around each of a padded sequence", splice, PADDED, "S>=1", 0 },
    { "the frame before, clamped and flattened", splice, ONE, "S>=1", 0 },
    { "channels moved back", boxes, SHIFTED_BACK, NULL, 0 },
    { "channels moved on", boxes, SHIFTED_ON, NULL, 0 },
    { "channels written to in another order", boxes, COLUMNS, NULL, 0 },
    { "the first frame of some channels", boxes, FIRST_FRAME, "S>=1", 0 },
    { "the last frame, changed", ends, CHANGED, NULL, 0 },
    { "differences, one-sided at the ends", ends, ONE_SIDED, "S>=3", 0 },
    { "last frames once more", ends, AGAIN, "S>=3", 0 },
    { "the last frame by the first", ends, FROM_FIRST, "S>=2", 0 },
};
/* clang-format on */

static void spelled_test(const struct spelled *c)
{
    static const int64_t pulses[] = { 1, 2, 3, 8, -1 }, lengths[] = { 3, 4, 5, 9, 17, 40, -1 };
    struct oracle o;
    bool made = oracle_open(&o, c->recipe, &c->how, c->assertion) == LAW_HOLDS &&
        passes_run(usual, sizeof usual / sizeof *usual, &o.model->decluttered.g,
                   &o.model->decluttered.g, NULL, &o.err) == RILL_OK;
    o.tolerance = c->tolerance;
    oracle_check(made, "%s: %s", c->name, o.err.text);
    if (made)
        oracle_check(oracle_laws(&o, c->name, pulses, lengths) > 0, "%s: no whole run: %s", c->name,
                     o.err.text);
    oracle_close(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        spelled_test(&list[i]);
    return oracle_end();
}
