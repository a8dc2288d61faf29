/* SPDX-License-Identifier: MIT */
/* Lengths over lengths, and what windows of a pad mask count: known numbers whatever the length. */
#include "engine/base/dim_claims.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "pulse/position_fold.h"
#include "tests/pulse/oracle.h"

#include <math.h>
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

/* ---- what is missing to whole blocks, 0 where nothing is ---- */

/* ctx: whether the two sides of the Where are turned round. */
static void missing(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x),
                   left = GB(b, "Mod", "", n, gb_ints(b, 6)),
                   more = GB(b, "Sub", "", gb_ints(b, 6), left), zero = gb_ints(b, 0),
                   whole = GB(b, "Equal", "", left, zero);
    const uint32_t pad = *(const bool *) ctx
        ? GB(b, "Where", "", GB(b, "Not", "", whole), more, zero)
        : GB(b, "Where", "", whole, zero, more);
    const uint32_t y =
        GB(b, "Pad", "", x, GB(b, "Concat", "axis=0", gb_ints(b, 0, 0, 0, 0), pad, gb_ints(b, 0)));
    gb_output(b,
              GB(b, "ReduceMean", "keepdims=0",
                 GB(b, "Reshape", "", y, gb_ints(b, 1, -1, 6, WIDTH)), gb_ints(b, 2)));
}

/* ---- masks by a list of distances, weights by logarithms ---- */

struct listed {
    bool logs;
    int least; /* of places */
    float numbers[5];
};

static void listed(struct gb *b, const void *ctx)
{
    const struct listed *c = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    const uint32_t n = GB(b, "Squeeze", "", length_of(b, x)),
                   i = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
                   apart = GB(b, "Sub", "", GB(b, "Unsqueeze", "", i, gb_ints(b, 1)), i),
                   at =
                       GB(b, "Min", "", GB(b, "Max", "", apart, gb_int(b, c->least)), gb_int(b, 4)),
                   shown = GB(b, "Gather", "", gb_floats(b, 5, c->numbers), at),
                   near = GB(b, "And", "", GB(b, "Greater", "", shown, gb_scalar(b, 0.5f)),
                             GB(b, "GreaterOrEqual", "", apart, gb_int(b, 0)));
    const uint32_t scores =
        GB(b, "Where", "", near, GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1")),
           gb_scalar(b, -1e9f));
    const uint32_t weights = c->logs ? GB(b, "Exp", "", GB(b, "LogSoftmax", "axis=-1", scores))
                                     : GB(b, "Softmax", "axis=-1", scores);
    gb_output(b, GB(b, "MatMul", "", weights, x));
}

/* Logarithms of weights, of which the mask takes those that are shown: what -inf hides is no number
 * times 0. ctx: what hides. */
static void logs_shown(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   n = GB(b, "Squeeze", "", length_of(b, x)),
                   i = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
                   apart = GB(b, "Sub", "", GB(b, "Unsqueeze", "", i, gb_ints(b, 1)), i),
                   near = GB(b, "Less", "", GB(b, "Abs", "", apart), gb_int(b, 2)),
                   scores = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1")),
                   logs = GB(b, "LogSoftmax", "axis=-1",
                             GB(b, "Where", "", near, scores, gb_scalar(b, *(const float *) ctx))),
                   shown = GB(b, "Mul", "", logs, GB(b, "Cast", "to=1", near));
    gb_output(b, GB(b, "ReduceSum", "keepdims=1", shown, gb_ints(b, 2)));
}

/* ---- from so many frames before the end as there are ---- */

/* ctx: every so many frames. */
static void from_all(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   y = GB(b, "Slice", "", x, GB(b, "Neg", "", length_of(b, x)),
                          gb_ints(b, INT64_MAX), gb_ints(b, 1), gb_ints(b, *(const int *) ctx));
    gb_output(b, GB(b, "Tanh", "", y));
}

/* ---- a table that ends ---- */

static void tabled(struct gb *b, const void *ctx)
{
    (void) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    gb_output(b,
              GB(b, "Add", "", x,
                 GB(b, "Slice", "", gb_weights(b, 2, 40, WIDTH), gb_ints(b, 0), length_of(b, x),
                    gb_ints(b, 0))));
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
    { "what is missing to sixes", missing, (const bool[]) { false }, NULL },
    { "what is missing, turned round", missing, (const bool[]) { true }, NULL },
    { "a list of distances", listed, (const struct listed[]) { { false, 0, { 1, 1, 1, 0, 0 } } },
      NULL },
    { "a list with holes, by logarithms", listed,
      (const struct listed[]) { { true, 0, { 1, 0, 1, 1, 0 } } }, NULL },
    { "from all frames before the end", from_all, (const int[]) { 1 }, NULL },
    { "every second from there", from_all, (const int[]) { 2 }, NULL },
    { "a table of forty", tabled, NULL, "S>=1" },
    { "the last see few", counted, (const struct counted[]) { { 1, 3, 1, 1, 2, true } }, NULL },
};

static bool opened(struct oracle *o, const struct ratio_case *c)
{
    static const struct pass fold[] = { { "softmax-of-logs", false, graph_with_softmax_of_logs },
                                        { "positions-folded", true, graph_with_positions_folded } };
    return oracle_open(o, c->recipe, c->ctx, c->assertion) == LAW_HOLDS &&
        passes_run(fold, 2, &o->model->decluttered.g, &o->model->decluttered.g, NULL, &o->err) ==
        RILL_OK;
}

static void case_test(const struct ratio_case *c)
{
    static const int64_t pulses[] = { 1, 2, 3, 4, 8, -1 }, lengths[] = { 1, 2, 5, 9, 30, -1 },
                         blocks[] = { 4, 8, 12, -1 }, whole[] = { 4, 8, 24, -1 };
    const bool cut = c->recipe == windows;
    struct oracle o;
    const bool made = opened(&o, c);
    o.tolerance = c->recipe == listed ? 1e-6F : 0;
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

/* Lists that show the farthest frames, or whose places may be below 0, and distances of three
 * numbers. */
static void refused_test(void)
{
    static const struct listed seen[] = { { false, 0, { 1, 0, 1, 1, 1 } },
                                          { false, -1, { 1, 1, 1, 0, 1 } },
                                          { true, 0, { 1, 1, 2, 1, 1 } } };
    for (size_t k = 0; k < sizeof seen / sizeof *seen; k++) {
        struct oracle o;
        const bool made =
            opened(&o, &(const struct ratio_case) { .recipe = listed, .ctx = &seen[k] });
        oracle_check(made && oracle_pulse(&o, 4) == LAW_REFUSED, "list %d: %s", (int) k,
                     o.err.text);
        oracle_close(&o);
    }
}

/* Rows of a table of 40, for themselves. */
static void rows(struct gb *b, const void *ctx)
{
    (void) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    gb_output(b, GB(b, "Slice", "", gb_weights(b, 2, 40, WIDTH), gb_ints(b, 0), length_of(b, x)));
}

static void rows_test(void)
{
    struct oracle o;
    const bool made = oracle_open(&o, rows, NULL, NULL) == LAW_HOLDS;
    oracle_check(made && oracle_pulse(&o, 4) == LAW_REFUSED &&
                     strstr(o.err.text, "--assert \"S <= 40\""),
                 "rows of a table: %s", o.err.text);
    oracle_close(&o);
    oracle_check(oracle_open(&o, rows, NULL, "S<=40") == LAW_HOLDS &&
                     oracle_pulse(&o, 4) == LAW_HOLDS,
                 "rows of a table that is long enough: %s", o.err.text);
    oracle_close(&o);
}

static void logs_test(void)
{
    struct oracle o;
    const struct ratio_case hidden = { .recipe = logs_shown, .ctx = (const float[]) { -INFINITY } };
    const bool made = opened(&o, &hidden);
    oracle_check(made && oracle_pulse(&o, 4) == LAW_REFUSED, "logarithms of nothing: %s",
                 o.err.text);
    oracle_close(&o);
}

/* Without the assertion, it is named. */
static void words_test(void)
{
    struct oracle o;
    const bool made = oracle_open(&o, windows, (const bool[]) { true }, NULL) == LAW_HOLDS;
    oracle_check(!made && strstr(o.err.text, "it would with --assert \"S == 4*(S/4)\""), "%s",
                 o.err.text);
    oracle_close(&o);
}

/* Blocks of an odd number of frames. */
static void odd_blocks(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 2);
    x = gb_pad(b, GB(b, "Reshape", "", x, gb_ints(b, 1, -1, 1)), 3, 1, "constant", 1, 0);
    gb_output(b, GB(b, "Reshape", "", x, gb_ints(b, 1, -1, 4)));
}

/* Lengths that no multiple makes whole blocks, nor what they leave over one: none is proposed. */
static void blocks_refused_test(void)
{
    struct oracle o;
    const bool made = oracle_open(&o, odd_blocks, NULL, NULL) == LAW_HOLDS;
    oracle_check(!made && strstr(o.err.text, "no multiple of S that is asserted would make it fit"),
                 "blocks: %s", o.err.text);
    oracle_close(&o);
}

/* A stream goes on behind the table, a whole run does not: the length is told. */
static void ends_test(void)
{
    struct oracle o;
    const bool made = oracle_open(&o, tabled, NULL, "S>=1") == LAW_HOLDS;
    oracle_check(made, "a table: %s", o.err.text);
    if (made) {
        const struct dims *ds = o.model->dims;
        const char *past = dims_claim_broken(ds, o.model->stream, 41);
        oracle_check(past && !strcmp(past, "S <= 40") &&
                         dims_claim_broken_kind(ds, o.model->stream, 41) == DIM_CLAIM_TABLE &&
                         !dims_claim_broken(ds, o.model->stream, 40) &&
                         !dims_need_broken(ds, o.model->stream, 41),
                     "41 frames of a table of 40: %s", past ? past : "nothing");
    }
    oracle_close(&o);
}

int main(void)
{
    refused_test();
    logs_test();
    rows_test();
    blocks_refused_test();
    words_test();
    ends_test();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        case_test(&cases[i]);
    gone_test();
    return oracle_end();
}
