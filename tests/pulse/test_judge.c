/* SPDX-License-Identifier: MIT */
/* Graphs of other people's habits: each obeys the law, or is refused by words. */
#include "check/law.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "pulse/position_fold.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 4 };

struct row {
    const char *name;
    gb_recipe *recipe;
    const void *ctx;
    const char *refusal; /* NULL: it streams */
    const char *assertion;
};

/* ---- several masks, one after the other ---- */

enum mask { NONE, CAUSAL, LEFT, BLOCKS_3, BLOCKS_4, CUT_4, NOT_FIRST, LATE, APART, COUNTED };

/* A quotient cut to a whole number, as exporters write it: floor(|x|) * sign(x). */
static uint32_t quotient_cut(struct gb *b, uint32_t i, float by)
{
    uint32_t x = GB(b, "Div", "", GB(b, "Cast", "to=1", i), gb_scalar(b, by));
    return GB(b, "Mul", "", GB(b, "Floor", "", GB(b, "Abs", "", x)), GB(b, "Sign", "", x));
}

static uint32_t mask_make(struct gb *b, enum mask m, uint32_t i, uint32_t j)
{
    switch (m) {
    case CAUSAL: return GB(b, "LessOrEqual", "", j, i);
    case LEFT: return GB(b, "GreaterOrEqual", "", j, GB(b, "Sub", "", i, gb_int(b, 5)));
    case APART:
        return GB(b, "LessOrEqual", "", GB(b, "Abs", "", GB(b, "Sub", "", i, j)), gb_int(b, 3));
    case COUNTED:
        i = GB(b, "CumSum", "", GB(b, "Add", "", GB(b, "Sub", "", i, i), gb_int(b, 1)),
               gb_int(b, 0));
        return GB(b, "LessOrEqual", "", GB(b, "Sub", "", i, gb_int(b, 5)), j);
    case CUT_4: return GB(b, "Equal", "", quotient_cut(b, i, 4), quotient_cut(b, j, 4));
    case NOT_FIRST:
        return GB(b, "Or", "", GB(b, "GreaterOrEqual", "", j, gb_int(b, 4)),
                  GB(b, "Equal", "", i, j));
    case LATE:
        return GB(b, "Or", "", GB(b, "GreaterOrEqual", "", i, gb_int(b, 7)),
                  GB(b, "Equal", "", i, j));
    default: break;
    }
    uint32_t c = gb_int(b, m == BLOCKS_3 ? 3 : 4);
    return GB(b, "Equal", "", GB(b, "Div", "", i, c), GB(b, "Div", "", j, c));
}

/* ctx: masks, up to NONE. The last one is added, the others choose. */
static void masks(struct gb *b, const void *ctx)
{
    const enum mask *m = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), length, gb_int(b, 1));
    uint32_t i = GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
             j = GB(b, "Unsqueeze", "", at, gb_ints(b, 0));
    uint32_t q = GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)),
             s = GB(b, "MatMul", "", q, gb_transpose(b, x, "0,2,1"));
    for (; *m != NONE; m++) {
        uint32_t shown = mask_make(b, *m, i, j), never = gb_scalar(b, -1e9f);
        s = m[1] == NONE ? GB(b, "Add", "", s, GB(b, "Where", "", shown, gb_scalar(b, 0), never))
                         : GB(b, "Where", "", shown, s, never);
    }
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), x));
}

/* ---- what is done to scores after their mask ---- */

struct after {
    const char *scores, *weights;
    float by;
}; /* ops with one constant, NULL: none */

static uint32_t after_op(struct gb *b, const char *op, uint32_t x, float by)
{
    return !op ? x
        : !strcmp(op, "Neg") || !strcmp(op, "Tanh") || !strcmp(op, "Sigmoid")
        ? GB(b, op, "", x)
        : GB(b, op, "", x, gb_scalar(b, by));
}

static void after_mask(struct gb *b, const void *ctx)
{
    const struct after *a = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    uint32_t at =
        GB(b, "Div", "", GB(b, "Range", "", gb_int(b, 0), length, gb_int(b, 1)), gb_int(b, 3));
    uint32_t shown = GB(b, "Equal", "", GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
                        GB(b, "Unsqueeze", "", at, gb_ints(b, 0)));
    uint32_t s = GB(b, "Where", "", shown, GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1")),
                    gb_scalar(b, -1e9f));
    s = GB(b, "Softmax", "axis=-1", after_op(b, a->scores, s, a->by));
    gb_output(b, GB(b, "MatMul", "", after_op(b, a->weights, s, a->by), x));
}

/* clang-format off */
#define AFTER(...) after_mask, &(const struct after) { __VA_ARGS__ }
/* clang-format on */

/* ---- tables of positions ---- */

/* ctx: first row. Rows of a table of 48, as many as there are frames, added to them and put beside
 * them. */
static void table(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_ints(b, 1));
    uint32_t from = gb_ints(b, *(const int *) ctx), to = GB(b, "Add", "", length, from);
    uint32_t rows = GB(b, "Slice", "", gb_weights(b, 3, 1, 48, WIDTH), from, to, gb_ints(b, 1));
    uint32_t late = gb_transpose(b,
                                 GB(b, "Conv", "pads=1,1", gb_transpose(b, x, "0,2,1"),
                                    gb_weights(b, 3, WIDTH, WIDTH, 3)),
                                 "0,2,1");
    gb_output(b,
              GB(b, "Concat", "axis=2", GB(b, "Add", "", late, rows), GB(b, "Mul", "", x, rows)));
}

/* Scores times the difference of two triangles of ones: a band. */
static void triangles(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_ints(b, 1));
    uint32_t ones = GB(b, "Expand", "", gb_scalar(b, 1), GB(b, "Concat", "axis=0", length, length));
    uint32_t band = GB(b, "Sub", "", GB(b, "Trilu", "upper=0", ones, gb_int(b, 0)),
                       GB(b, "Trilu", "upper=0", ones, gb_int(b, -5)));
    uint32_t s = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Mul", "", s, band), x));
}

/* Chunks of 4 that see two chunks before and end where the sequence does, if not before: ctx says
 * how the end is compared. */
enum end { BEHIND, BEFORE_END, UP_TO_LAST };

static void ended(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), one = gb_int(b, 1), four = gb_int(b, 4);
    uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), one);
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), length, one), chunk = GB(b, "Div", "", at, four);
    uint32_t end = GB(b, "Min", "", GB(b, "Mul", "", GB(b, "Add", "", chunk, one), four), length),
             start = GB(b, "Mul", "", GB(b, "Sub", "", chunk, gb_int(b, 2)), four);
    uint32_t j = GB(b, "Unsqueeze", "", at, gb_ints(b, 0));
    start = GB(b, "Unsqueeze", "", start, gb_ints(b, 1));
    end = GB(b, "Unsqueeze", "", end, gb_ints(b, 1));
    const enum end how = *(const enum end *) ctx;
    uint32_t shown = how == BEHIND ? GB(b, "Not", "", GB(b, "GreaterOrEqual", "", j, end))
        : how == BEFORE_END        ? GB(b, "Greater", "", end, j)
                                   : GB(b, "LessOrEqual", "", j, GB(b, "Sub", "", end, one));
    shown = GB(b, "And", "", shown, GB(b, "GreaterOrEqual", "", j, start));
    uint32_t s = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    s = GB(b, "Where", "", shown, s, gb_scalar(b, -1e9f));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), x));
}

/* Scores of two heads under a band, of which ctx names an axis that is turned around. */
static void turned(struct gb *b, const void *ctx)
{
    const int axis = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 4, 1, 2, GB_TIME, WIDTH);
    uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2));
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), length, gb_int(b, 1));
    uint32_t far = GB(b, "Abs", "",
                      GB(b, "Sub", "", GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
                         GB(b, "Unsqueeze", "", at, gb_ints(b, 0))));
    uint32_t s = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,1,3,2"));
    s = GB(b, "Where", "", GB(b, "LessOrEqual", "", far, gb_int(b, 2)), s, gb_scalar(b, -1e9f));
    s = gb_slice(b, s, axis, -1, -INT32_MAX, -1);
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), x));
}

static uint32_t frames_of(struct gb *b, uint32_t x)
{
    return GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
}

/* As transformers finds sequences that are packed into one: where the places of two frames are not
 * one apart another begins. ctx: the place in front of the first frame. */
static void packed(struct gb *b, const void *ctx)
{
    const int64_t front = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), one = gb_int(b, 1);
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), frames_of(b, x), one);
    uint32_t p = GB(b, "Unsqueeze", "", at, gb_ints(b, 0));
    uint32_t all = GB(b, "Concat", "axis=-1",
                      GB(b, "Add", "", gb_slice(b, p, 1, 0, 1, 1), gb_int(b, front)), p);
    uint32_t step =
        GB(b, "Sub", "", gb_slice(b, all, 1, 1, INT32_MAX, 1), gb_slice(b, all, 1, 0, -1, 1));
    uint32_t begins = GB(b, "Cast", "to=7", GB(b, "Not", "", GB(b, "Equal", "", step, one)));
    uint32_t list = GB(b, "Squeeze", "", GB(b, "CumSum", "", begins, one), gb_ints(b, 0));
    uint32_t i = GB(b, "Unsqueeze", "", p, gb_ints(b, 2)),
             j = GB(b, "Unsqueeze", "", p, gb_ints(b, 1));
    uint32_t same =
        GB(b, "Equal", "", GB(b, "Gather", "axis=0", list, i), GB(b, "Gather", "axis=0", list, j));
    uint32_t d =
        GB(b, "Sub", "", GB(b, "Gather", "axis=0", at, i), GB(b, "Gather", "axis=0", at, j));
    uint32_t shown = GB(b, "And", "", GB(b, "Less", "", d, gb_int(b, 4)),
                        GB(b, "GreaterOrEqual", "", d, gb_int(b, 0)));
    uint32_t s = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    s = GB(b, "Where", "", GB(b, "And", "", shown, same), s, gb_scalar(b, -1e9f));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), x));
}

/* Keys that are not behind the query, by a list of their places that is cut from its end on: ctx:
 * by -T, or from the last to the first and turned again. */
static void from_the_end(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), one = gb_int(b, 1), zero = gb_ints(b, 0);
    uint32_t t = frames_of(b, x), at = GB(b, "Range", "", gb_int(b, 0), t, one);
    uint32_t ends = GB(b, "Unsqueeze", "", *(const int *) ctx ? t : GB(b, "Neg", "", t), zero);
    uint32_t list = *(const int *) ctx
        ? gb_slice(b, GB(b, "Slice", "", at, ends, gb_ints(b, INT32_MIN), zero, gb_ints(b, -1)), 0,
                   -1, INT32_MIN, -1)
        : GB(b, "Slice", "", at, ends, gb_ints(b, INT32_MAX), zero);
    uint32_t i = GB(b, "Unsqueeze", "", at, gb_ints(b, 1)), j = GB(b, "Unsqueeze", "", at, zero);
    uint32_t near = GB(b, "Less", "", GB(b, "Abs", "", GB(b, "Sub", "", i, j)), gb_int(b, 4));
    uint32_t shown =
        GB(b, "And", "", near, GB(b, "LessOrEqual", "", GB(b, "Unsqueeze", "", list, zero), i));
    uint32_t s = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    s = GB(b, "Where", "", shown, s, gb_scalar(b, -1e9f));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), x));
}

/* Frames from the ctx-th on are written over, as exporters write x[:, n:] -= x[:, :-n]. */
static void written_over(struct gb *b, const void *ctx)
{
    const int n = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), zero = gb_ints(b, 0);
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), frames_of(b, x), gb_int(b, 1));
    uint32_t list = GB(b, "Unsqueeze", "", gb_slice(b, at, 0, n, INT32_MAX, 1), zero);
    uint32_t row = GB(b, "Expand", "", gb_int(b, 0), GB(b, "Shape", "", list));
    uint32_t places = GB(b, "Concat", "axis=-1", GB(b, "Unsqueeze", "", row, gb_ints(b, 2)),
                         GB(b, "Unsqueeze", "", list, gb_ints(b, 2)));
    uint32_t put =
        GB(b, "Sub", "", gb_slice(b, x, 1, n, INT32_MAX, 1), gb_slice(b, x, 1, 0, -n, 1));
    gb_output(b, GB(b, "Relu", "", GB(b, "ScatterND", "", x, places, put)));
}

/* Zeros in which all but the last frame are written behind the first one: `y[:, 1:] = x[:, :-1]`,
 * whose places of frames are a column. */
static void written_shifted(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), last = gb_ints(b, 3);
    const uint32_t at = GB(b, "Range", "", gb_int(b, 0), frames_of(b, x), gb_int(b, 1)),
                   column =
                       GB(b, "Reshape", "", gb_slice(b, at, 0, 1, INT32_MAX, 1), gb_ints(b, -1, 1)),
                   row = GB(b, "Range", "", gb_int(b, 0), gb_int(b, WIDTH), gb_int(b, 1)),
                   put = gb_slice(b, x, 1, 0, -1, 1), sizes = GB(b, "Shape", "", put),
                   places =
                       GB(b, "Concat", "axis=-1",
                          GB(b, "Unsqueeze", "", GB(b, "Expand", "", gb_int(b, 0), sizes), last),
                          GB(b, "Unsqueeze", "", GB(b, "Expand", "", column, sizes), last),
                          GB(b, "Unsqueeze", "", GB(b, "Expand", "", row, sizes), last));
    x = GB(b, "ScatterND", "", GB(b, "ConstantOfShape", "", GB(b, "Shape", "", x)), places, put);
    gb_output(b, GB(b, "Relu", "", x));
}

/* The same where an axis in front of time is turned behind it, and frames up to the last but ctx
 * are written. */
static void written_in_front(struct gb *b, const void *ctx)
{
    const int n = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), turned = gb_transpose(b, x, "1,0,2");
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), frames_of(b, x), gb_int(b, 1));
    uint32_t list = n > 0 ? gb_slice(b, at, 0, 0, -n, 1) : gb_slice(b, at, 0, -n, INT32_MAX, 1);
    uint32_t put = GB(b, "Neg", "",
                      n > 0 ? gb_slice(b, turned, 0, n, INT32_MAX, 1)
                            : gb_slice(b, turned, 0, 0, n, 1)),
             places = GB(b, "Unsqueeze", "", list, gb_ints(b, 1));
    gb_output(b, gb_transpose(b, GB(b, "ScatterND", "", turned, places, put), "1,0,2"));
}

/* Scores that are held to 50 and a number that hides added to them, as Gemma 2 has it. */
static void capped(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), cap = gb_scalar(b, 50);
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), frames_of(b, x), gb_int(b, 1));
    uint32_t d = GB(b, "Sub", "", GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
                    GB(b, "Unsqueeze", "", at, gb_ints(b, 0)));
    uint32_t shown = GB(b, "And", "", GB(b, "GreaterOrEqual", "", d, gb_int(b, 0)),
                        GB(b, "Less", "", d, gb_int(b, 6)));
    uint32_t s = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    s = GB(b, "Mul", "", GB(b, "Tanh", "", GB(b, "Div", "", s, cap)), cap);
    s = GB(b, "Add", "", s, GB(b, "Where", "", shown, gb_scalar(b, 0), gb_scalar(b, -1e9f)));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", s), x));
}

/* A mask of padding where nothing is padded: frames before as many as ones were counted, or what a
 * list of ones has at computed places. ctx: which. */
static void unpadded(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), one = gb_int(b, 1);
    uint32_t t = frames_of(b, x), sizes = GB(b, "Unsqueeze", "", t, gb_ints(b, 0));
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), t, one), ones = GB(b, "Expand", "", one, sizes);
    uint32_t last = GB(b, "Sub", "", t, one), twice = GB(b, "Mul", "", at, gb_int(b, 2));
    uint32_t counted = GB(b, "ReduceSum", "keepdims=1", ones, gb_ints(b, 0)),
             read = GB(b, "GatherElements", "axis=0", ones, GB(b, "Min", "", twice, last));
    uint32_t kept =
        *(const int *) ctx ? GB(b, "Equal", "", read, one) : GB(b, "Less", "", at, counted);
    kept = GB(b, "Cast", "to=1", GB(b, "Unsqueeze", "", kept, gb_ints(b, 1)));
    x = GB(b, "Mul", "", x, kept);
    gb_output(b, GB(b, "Relu", "", GB(b, "Add", "", x, kept)));
}

/* One number in every frame, which a double does not hold. */
static void past_doubles(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t at = GB(b, "Range", "", gb_int(b, 0), frames_of(b, x), gb_int(b, 1));
    uint32_t y = GB(b, "Sub", "", GB(b, "Add", "", at, gb_int(b, ((int64_t) 1 << 53) + 1)), at);
    y = GB(b, "Cast", "to=1", GB(b, "BitwiseAnd", "", y, gb_int(b, 3)));
    gb_output(b, GB(b, "Mul", "", x, GB(b, "Unsqueeze", "", y, gb_ints(b, 1))));
}

/* The first frame twice in front of all, if a constant says so, and if not zeros: ctx. */
static void chosen_front(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    const bool is = *(const int *) ctx;
    uint32_t choice = gb_const(b, DTYPE_BOOL, 1, (const int64_t[]) { 1 }, &is);
    uint32_t front =
        GB(b, "Where", "", choice, gb_slice(b, x, 1, 0, 1, 1), gb_full(b, 0, 3, 1, 2, WIDTH));
    gb_output(b, GB(b, "Relu", "", GB(b, "Concat", "axis=1", front, x)));
}

/* As NeMo masks what its codecs pad: frames that are counted up to their number, of four or half as
 * many as come in. ctx: which. */
static void counted_frames(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, WIDTH, GB_TIME), one = gb_int(b, 1);
    x = *(const int *) ctx
        ? GB(b, "Conv", "strides=2", x, gb_weights(b, 3, WIDTH, WIDTH, 1))
        : GB(b, "ConvTranspose", "strides=4", x, gb_weights(b, 3, WIDTH, WIDTH, 4));
    uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2));
    uint32_t ones = GB(b, "Expand", "", one, GB(b, "Unsqueeze", "", n, gb_ints(b, 0)));
    uint32_t kept = GB(b, "LessOrEqual", "", GB(b, "CumSum", "", ones, gb_int(b, 0)), n);
    gb_output(b, GB(b, "Mul", "", x, GB(b, "Cast", "to=1", kept)));
}

/* clang-format off */
#define MASKS(...) masks, (const enum mask[]) { __VA_ARGS__, NONE }
/* clang-format on */

static const struct row rows[] = {
    { "causal, then left context", MASKS(CAUSAL, LEFT), NULL, NULL },
    { "causal, then blocks", MASKS(CAUSAL, BLOCKS_4), NULL, NULL },
    { "a band, then blocks", MASKS(LEFT, CAUSAL, BLOCKS_3), NULL, NULL },
    { "blocks by quotients that are cut", MASKS(CUT_4), NULL, NULL },
    { "blocks of two sizes", MASKS(BLOCKS_3, BLOCKS_4), NULL, NULL },
    { "blocks of two sizes, the other way", MASKS(BLOCKS_4, BLOCKS_3), NULL, NULL },
    { "frames that are not far apart", MASKS(APART), NULL, NULL },
    { "frames that are not far apart, causal", MASKS(APART, CAUSAL), NULL, NULL },
    { "frames that are counted", MASKS(COUNTED, CAUSAL), NULL, NULL },
    { "a band that hides the first keys", MASKS(LEFT, CAUSAL, NOT_FIRST), NULL, NULL },
    { "a band that hides all from the first queries", MASKS(LATE, LEFT, CAUSAL), "does not repeat",
      NULL },
    { "scaled after the mask", AFTER("Mul", NULL, 0.5f), NULL, NULL },
    { "shifted after the mask", AFTER("Add", NULL, 0.5f), NULL, NULL },
    { "scaled weights", AFTER(NULL, "Mul", 3), NULL, NULL },
    { "bounded after the mask", AFTER("Max", NULL, -2), "would show again", NULL },
    { "scaled to nothing after the mask", AFTER("Mul", NULL, 1e-9f), "would show again", NULL },
    { "negated after the mask", AFTER("Neg", NULL, 0), "would show again", NULL },
    { "bent after the mask", AFTER("Tanh", NULL, 0), "would show again", NULL },
    { "bent to weights after the mask", AFTER("Sigmoid", NULL, 0), "would show again", NULL },
    { "shifted weights", AFTER(NULL, "Add", 1), "would show again", NULL },
    { "chunks up to the end", ended, (const enum end[]) { BEHIND }, NULL, NULL },
    { "chunks up to the end, which is compared", ended, (const enum end[]) { BEFORE_END }, NULL,
      NULL },
    { "chunks up to the last frame", ended, (const enum end[]) { UP_TO_LAST }, NULL, NULL },
    { "heads turned around", turned, (const int[]) { 1 }, NULL, NULL },
    { "queries turned around", turned, (const int[]) { 2 }, "nothing else", NULL },
    { "keys turned around", turned, (const int[]) { 3 }, "nothing else", NULL },
    { "one sequence, packed", packed, (const int[]) { -1 }, NULL, NULL },
    { "a sequence that begins anew at its first frame", packed, (const int[]) { -2 },
      "all of whose keys", NULL },
    { "places from minus the length on", from_the_end, (const int[]) { 0 }, NULL, NULL },
    { "places from behind the last on", from_the_end, (const int[]) { 1 }, NULL, NULL },
    { "frames written one later into zeros", written_shifted, NULL, NULL, NULL },
    { "all frames but the first are written", written_over, (const int[]) { 1 }, NULL, NULL },
    { "all frames but three are written", written_over, (const int[]) { 3 }, NULL, NULL },
    { "all frames but two are written, turned", written_in_front, (const int[]) { -2 }, NULL,
      NULL },
    { "all frames but the last two are written", written_in_front, (const int[]) { 2 },
      "from the end", NULL },
    { "a number past those of doubles", past_doubles, NULL, NULL, NULL },
    { "the first frame in front by a constant", chosen_front, (const int[]) { 1 }, NULL, "S >= 1" },
    { "zeros in front by a constant", chosen_front, (const int[]) { 0 }, NULL, "S >= 1" },
    { "four times the frames, counted", counted_frames, (const int[]) { 0 }, NULL, NULL },
    { "half the frames, counted", counted_frames, (const int[]) { 1 }, NULL, NULL },
    { "scores that are capped", capped, NULL, NULL, NULL },
    { "as many frames as ones", unpadded, (const int[]) { 0 }, NULL, NULL },
    { "ones at computed places", unpadded, (const int[]) { 1 }, NULL, NULL },
    { "a difference of triangles", triangles, NULL, NULL, NULL },
    { "a table of positions", table, (const int[]) { 0 }, NULL, "S <= 40" },
    { "a table of positions from its third row on", table, (const int[]) { 2 }, NULL, "S <= 46" },
    { "a table that has to be long enough", table, (const int[]) { 0 }, NULL, NULL },
};

/* As a model is opened: what positions decide alike in every frame is a number. */
static enum verdict row_open(struct oracle *o, const struct row *r)
{
    static const struct pass passes[] = { { "frames-put", true, graph_with_frames_put },
                                          { "positions-folded", true,
                                            graph_with_positions_folded } };
    const enum verdict v = oracle_open(o, r->recipe, r->ctx, r->assertion);
    if (v != LAW_HOLDS)
        return v;
    struct graph *g = &o->model->decluttered.g;
    return passes_run(passes, 2, g, g, NULL, &o->err) == RILL_OK ? v : LAW_REFUSED;
}

static void row_streams(struct oracle *o, const struct row *r)
{
    static const int64_t lengths[] = { 0, 1, 3, 8, 17, 40, -1 }, pulses[] = { 1, 3, 4, 8, 13, -1 };
    o->tolerance = 1e-5f;
    oracle_check(oracle_laws(o, r->name, pulses, lengths) > 0,
                 "%s: the whole run is refused at every length: %s", r->name, o->err.text);
}

static void row_refused(struct oracle *o, const struct row *r)
{
    enum verdict v = oracle_pulse(o, 4);
    oracle_check(v == LAW_REFUSED && o->err.status == RILL_UNSUPPORTED &&
                     strstr(o->err.text, r->refusal),
                 "%s: the refusal does not say '%s': %s", r->name, r->refusal, o->err.text);
}

/* ---- the check itself ---- */

static void no_numbers(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 1, GB_TIME);
    gb_output(b, GB(b, "Tile", "", x, gb_ints(b, 1, 0, 1)));
}

/* ctx: which of a frame's product, what becomes of an input that does not run along time, and a
 * constant come out. */
enum { FRAMES = 1, STILL = 2, CONSTANT = 4 };

static void beside(struct gb *b, const void *ctx)
{
    const int which = *(const int *) ctx;
    uint32_t w = gb_weights(b, 2, WIDTH, WIDTH);
    if (which & FRAMES)
        gb_output(b, GB(b, "MatMul", "", gb_input(b, "x", 3, 1, GB_TIME, WIDTH), w));
    else if (which & CONSTANT)
        gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    if (which & STILL)
        gb_output(b, GB(b, "MatMul", "", gb_input(b, "still", 2, 1, WIDTH), w));
    if (which & CONSTANT)
        gb_output(b, w);
}

/* Outputs that do not run along time are there once a run, and hold up nothing. */
static void check_beside(int which, int64_t length)
{
    struct oracle o;
    struct law_result r = { .pulse = 0 };
    const struct law_opts opts = { .pulse = 3, .length = length, .seed = 1, .tolerance = 1e-5 };
    enum verdict v = oracle_open(&o, beside, &which, NULL);
    oracle_check(v == LAW_HOLDS && law_check(o.model, &opts, &r, &o.err) == RILL_OK && r.holds &&
                     r.n_outputs == (unsigned) __builtin_popcount((unsigned) which),
                 "outputs %d beside time, length %lld: %u outputs, %s%s", which, (long long) length,
                 r.n_outputs, r.where, o.err.text);
    oracle_close(&o);
}

static void check_ends(void)
{
    struct oracle o;
    struct law_result r;
    const struct law_opts small = { .pulse = 3, .length = 7, .seed = 1, .tolerance = 1e-5 };
    const struct law_opts huge = { .pulse = 1000000000, .length = 7, .seed = 1, .tolerance = 1e-5 };
    enum verdict v = oracle_open(&o, no_numbers, NULL, NULL);
    bool holds = v == LAW_HOLDS && law_check(o.model, &small, &r, &o.err) == RILL_OK && r.holds;
    oracle_check(holds, "frames without numbers: %s", o.err.text);
    oracle_close(&o);
    v = oracle_open(&o, table, (const int[]) { 0 }, "S <= 40");
    oracle_check(v == LAW_HOLDS && law_check(o.model, &huge, &r, &o.err) == RILL_LIMIT,
                 "a pulse beyond memory is not refused");
    oracle_close(&o);
}

int main(void)
{
    check_ends();
    for (int which = 1; which < 8; which++)
        for (int64_t length = 0; length < 30; length += 7)
            check_beside(which, length);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct oracle o;
        enum verdict v = row_open(&o, &rows[i]);
        oracle_check(v == LAW_HOLDS, "%s: %s", rows[i].name, o.err.text);
        if (v == LAW_HOLDS)
            (rows[i].refusal ? row_refused : row_streams)(&o, &rows[i]);
        oracle_close(&o);
    }
    return oracle_end();
}
