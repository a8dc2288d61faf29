/* SPDX-License-Identifier: MIT */
/* Lengths over lengths, and what windows of a pad mask count: known numbers whatever the length. */
#include "engine/rewrite/pass.h"
#include "pulse/position_fold.h"
#include "tests/pulse/oracle.h"

#include <string.h>

enum { WIDTH = 4 };

static uint32_t length_of(struct gb *b, uint32_t x)
{
    return GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_ints(b, 1));
}

/* ---- blocks as long as the sequence, or so many of them ---- */

/* Zipformer's chunked convolution without chunks: filled up to whole blocks of all frames (by
 * none), one block of them, cut to the length. ctx: blocks per sequence that the length is told by.
 */
static void filled(struct gb *b, const void *ctx)
{
    const int64_t times = *(const int *) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x),
                   none = gb_ints(b, 0, 0, 0, 0),
                   more = GB(b, "Mod", "", GB(b, "Neg", "", GB(b, "Mul", "", n, gb_ints(b, times))),
                             n);
    uint32_t y = GB(b, "Pad", "", x, GB(b, "Concat", "axis=0", none, more, gb_ints(b, 0)));
    const uint32_t blocks = GB(b, "Div", "", length_of(b, y), n);
    y = GB(b, "Reshape", "", y,
           GB(b, "Concat", "axis=0", gb_ints(b, 1), blocks, n, gb_ints(b, WIDTH)));
    y = GB(b, "Mul", "", y, gb_weights(b, 1, WIDTH));
    y = GB(b, "Reshape", "", y, GB(b, "Concat", "axis=0", gb_ints(b, 1, -1, WIDTH)));
    gb_output(b, GB(b, "Slice", "", y, gb_ints(b, 0), n, gb_ints(b, 1)));
}

/* einops' "b (n w) d" of windows of 4: w is T / (T / 4). */
static void windows(struct gb *b, const void *ctx)
{
    const bool rest = *(const bool *) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x),
                   of = GB(b, "Div", "", n, gb_ints(b, 4)),
                   size = rest ? gb_ints(b, -1) : GB(b, "Div", "", n, of);
    const uint32_t y = GB(b, "Reshape", "", x,
                          GB(b, "Concat", "axis=0", gb_ints(b, 1), of, size, gb_ints(b, WIDTH)));
    gb_output(b, GB(b, "Reshape", "", GB(b, "Softmax", "axis=2", y), gb_ints(b, 1, -1, WIDTH)));
}

/* ---- pad masks through convolutions ---- */

/* Zeros in front of ones, taps, how far apart windows are, and what their sum has to be above. */
struct counted {
    int zeros, taps, stride;
    float weight, above;
    bool after; /* zeros behind them, too */
};

static void counted(struct gb *b, const void *ctx)
{
    const struct counted *c = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x);
    const char *steps = gb_printf(b, "strides=%d pads=%d,%d", c->stride, c->zeros, c->after);
    uint32_t mask =
        GB(b, "Expand", "", gb_scalar(b, 1), GB(b, "Concat", "axis=0", gb_ints(b, 1, 1), n));
    mask = GB(b, "Greater", "", GB(b, "Conv", steps, mask, gb_full(b, c->weight, 3, 1, 1, c->taps)),
              gb_scalar(b, c->above));
    uint32_t y =
        GB(b, "Conv", steps, gb_transpose(b, x, "0,2,1"), gb_weights(b, 3, WIDTH, WIDTH, c->taps));
    y = gb_transpose(b, GB(b, "Mul", "", y, GB(b, "Cast", "to=1", mask)), "0,2,1");
    gb_output(b, y);
}

static const struct ratio_case {
    const char *name;
    gb_recipe *recipe;
    const void *ctx;
    const char *assertion;
} cases[] = {
    { "filled up to its length", filled, (const int[]) { 1 }, "S>=1" },
    { "filled up, of three times the length", filled, (const int[]) { 3 }, "S>=1" },
    { "windows of a quotient of lengths", windows, (const bool[]) { false }, "S==4*(S/4)" },
    { "windows of what is left", windows, (const bool[]) { true }, "S==4*(S/4)" },
    { "every window sees one", counted, (const struct counted[]) { { 4, 5, 2, 1, 0, false } },
      NULL },
    { "by twos", counted, (const struct counted[]) { { 2, 3, 1, 2, 1, false } }, NULL },
    { "the first see none", counted, (const struct counted[]) { { 4, 3, 2, 1, 0, false } }, NULL },
    { "the first see few", counted, (const struct counted[]) { { 4, 5, 1, 1, 3, false } }, NULL },
    { "of a half", counted, (const struct counted[]) { { 2, 3, 1, 0.5f, 1, false } }, NULL },
    { "the last see few", counted, (const struct counted[]) { { 1, 3, 1, 1, 2, true } }, NULL },
};

static bool opened(struct oracle *o, const struct ratio_case *c)
{
    static const struct pass fold = { "positions-folded", true, graph_with_positions_folded };
    return oracle_open(o, c->recipe, c->ctx, c->assertion) == LAW_HOLDS &&
        passes_run(&fold, 1, &o->model->decluttered.g, &o->model->decluttered.g, NULL, &o->err) ==
        RILL_OK;
}

static void case_test(const struct ratio_case *c)
{
    static const int64_t pulses[] = { 1, 2, 3, 4, 8, -1 }, lengths[] = { 1, 2, 5, 9, 30, -1 },
                         blocks[] = { 4, 8, 12, -1 }, whole[] = { 4, 8, 24, -1 };
    const bool cut = c->recipe == windows;
    struct oracle o;
    const bool made = opened(&o, c);
    oracle_check(made, "%s: %s", c->name, o.err.text);
    if (made)
        oracle_check(oracle_laws(&o, c->name, cut ? blocks : pulses, cut ? whole : lengths) > 0,
                     "%s: no whole run: %s", c->name, o.err.text);
    oracle_close(&o);
}

/* The mask of the first case is no node of the graph any more. */
static void gone_test(void)
{
    static const struct ratio_case *const seen[] = { &cases[4], &cases[5], &cases[6] };
    for (int k = 0; k < 3; k++) {
        struct oracle o;
        bool left = false;
        oracle_check(opened(&o, seen[k]), "%s: %s", seen[k]->name, o.err.text);
        for (uint32_t i = 0; i < o.model->decluttered.g.n_nodes; i++)
            left |= node_is(&o.model->decluttered.g.nodes[i], OP_GREATER);
        oracle_check(left == (k == 2), "%s: the comparison is %s", seen[k]->name,
                     left ? "left" : "gone");
        oracle_close(&o);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        case_test(&cases[i]);
    gone_test();
    return oracle_end();
}
