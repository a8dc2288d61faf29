/* SPDX-License-Identifier: MIT */
/* Attention as people write it (masks.h): what a stream gives is what the whole sequence gives. */
#include "engine/rewrite/declutter/passes.h"
#include "pulse/position_fold.h"
#include "tests/pulse/masks.h"
#include "tests/pulse/oracle.h"

#include <string.h>

enum { WIDTH = 4 };

static void recipe(struct gb *b, const void *ctx)
{
    gb_output(b, masked_attention(b, gb_input(b, "x", 3, 1, GB_TIME, WIDTH), WIDTH, ctx));
}

static const struct written rows[] = {
    { .name = "a band" },
    { .name = "floors of floats", .mask = FLOOR },
    { .name = "a negative distance", .mask = FAR_NEGATIVE },
    { .name = "int32", .mask = INT32 },
    { .name = "a longer mask, sliced", .mask = SLICED },
    { .name = "chunks of another rate", .mask = EVERY_SECOND },
    { .name = "a descending range", .mask = DESCENDING },
    { .name = "a clipped distance", .mask = CLIPPED },
    { .name = "picked chunks", .mask = PICKED },
    { .name = "two triangles", .mask = TRIANGLES },
    { .name = "a difference of triangles", .mask = DIFFERENCE },
    { .name = "quotients that are cut", .mask = CUT },
    { .name = "chunks up to the end", .mask = ENDED },
    { .name = "remainders", .mask = EVEN },
    { .name = "remainders of the dividend's sign", .mask = ODD, .laid = NAN_BEHIND },
    { .name = "chunks", .mask = CHUNKS, .laid = ADD },
    { .name = "frames before", .mask = BEFORE, .laid = NAN_BEHIND },
    { .name = "added", .laid = ADD },
    { .name = "one minus the mask", .laid = INVERTED },
    { .name = "selected", .laid = SELECT },
    { .name = "scores times 0", .laid = ZEROED },
    { .name = "at least the least", .laid = LEAST },
    { .name = "not a number is 0", .mask = CHUNKS, .laid = NAN_BEHIND },
    { .name = "hidden again behind", .laid = AFTER_SOFTMAX },
    { .name = "softmax by hand", .mask = FAR_NEGATIVE, .laid = BY_HAND },
    { .name = "linear", .mask = CHUNKS, .laid = LINEAR },
    { .name = "linear over its sum", .mask = FAR_NEGATIVE, .laid = LINEAR_COUNTED },
    { .name = "slopes", .bias = SLOPES },
    { .name = "slopes, both sides", .mask = FAR_NEGATIVE, .bias = SLOPES },
    { .name = "a table of distances", .mask = CHUNKS, .bias = TABLE },
    { .name = "a table of distances that ends before chunks do",
      .mask = CHUNKS_LONG,
      .bias = TABLE_SHORT },
    { .name = "logarithms of distances", .bias = LOGS },
    { .name = "a bias of keys", .mask = FAR_NEGATIVE, .bias = ALONG_KEYS },
    { .name = "a bias of queries", .mask = FAR_NEGATIVE, .bias = ALONG_QUERIES },
    { .name = "a bias that grows with the key's place", .laid = ADD, .bias = KEYS_UP },
    { .name = "it grows under the least f32", .laid = INVERTED_LEAST, .bias = KEYS_UP },
    { .name = "it grows under -1e9", .laid = INVERTED, .bias = KEYS_UP },
    { .name = "it grows under -1e9 that is chosen", .laid = SELECT, .bias = KEYS_UP },
    { .name = "squares of distances under -1e9", .laid = INVERTED, .bias = SQUARE },
    { .name = "squares of distances, chunks", .mask = CHUNKS, .laid = SELECT, .bias = SQUARE },
    { .name = "squares of distances, first frames", .mask = SINKS, .laid = LEAST, .bias = SQUARE },
    { .name = "squares of distances, times the mask", .laid = TIMES, .bias = SQUARE },
    { .name = "squares of distances to a key that few see",
      .laid = INVERTED,
      .bias = SQUARE_FAR,
      .refused = "(Div) adds a number that falls with the place" },
    { .name = "squares of distances to a key that few see, -inf", .bias = SQUARE_FAR },
    { .name = "distances that rise, times the mask", .laid = TIMES, .bias = RISING },
    { .name = "distances that rise under -1e9", .laid = INVERTED, .bias = RISING },
    { .name = "distances that rise fast, times the mask", .laid = TIMES, .bias = RISING_FAST },
    { .name = "distances that rise fast under -1e9",
      .laid = INVERTED,
      .bias = RISING_FAST,
      .refused = "does not hide" },
    { .name = "it falls under -inf", .laid = ADD, .bias = KEYS_DOWN },
    { .name = "it falls under the least f32",
      .laid = INVERTED_LEAST,
      .bias = KEYS_DOWN,
      .refused = "(Mul) adds a number that falls with the place" },
    { .name = "Einsum", .mask = CHUNKS, .product = EINSUM },
    { .name = "Einsum, keys first", .mask = FAR_NEGATIVE, .product = EINSUM_KEYS_FIRST },
    { .name = "values first", .mask = CHUNKS, .product = EINSUM_TURNED },
    { .name = "merged heads", .product = HEADS },
    { .name = "hidden keys", .pad = PAD_KEYS },
    { .name = "hidden keys and queries", .mask = CHUNKS, .pad = PAD_BOTH },
    { .name = "hidden keys and queries, spread", .mask = FAR_NEGATIVE, .pad = PAD_SPREAD },
    { .name = "shifted sinusoids", .mask = FAR_NEGATIVE, .shift = SINUSOIDS },
    { .name = "shifted sinusoids of chunks", .mask = CHUNKS, .shift = SINUSOIDS },
    { .name = "shifted rows of a table", .mask = FAR_NEGATIVE, .shift = ROWS },
    { .name = "shifted last rows of a table", .shift = LAST_ROWS },
    { .name = "scaled, then shifted", .shift = SCALED, .laid = ADD },
    { .name = "shifted behind zeros", .mask = CHUNKS, .laid = ADD, .shift = CONCATENATED },
    { .name = "shifted, no keys ahead", .shift = SHORT },
    { .name = "shifted, with keys ahead",
      .mask = FAR_NEGATIVE,
      .shift = SHORT,
      .refused = "other queries' products" },
    { .name = "hidden keys, one minus the mask", .laid = INVERTED, .pad = PAD_KEYS },
    { .name = "shifted by Gather", .mask = FAR_NEGATIVE, .shift = GATHERED },
    { .name = "shifted by Gather, distances clipped", .mask = CHUNKS, .shift = NEAREST },
    { .name = "shifted by Gather, distances clipped inside the mask",
      .mask = WIDE,
      .shift = NEAREST,
      .refused = "those of other distances, for keys more than 20 frames before" },
    { .name = "a table by content", .mask = FAR_NEGATIVE, .bias = CONTENT },
    { .name = "means of frames", .mask = FAR_NEGATIVE, .laid = MEANS },
    { .name = "means of chunks", .mask = CHUNKS, .laid = MEANS },
    { .name = "hidden keys and queries, tiled", .mask = CHUNKS, .pad = PAD_TILED },
    { .name = "rows that nobody sees, 0 behind", .laid = LOW_AGAIN, .pad = PAD_ALL },
    { .name = "rows that nobody sees", .mask = CHUNKS, .pad = PAD_ALL },
    { .name = "rows that nobody sees, low",
      .laid = INVERTED,
      .pad = PAD_ALL,
      .refused = "not -inf" },
    { .name = "rows that nobody sees, lower",
      .laid = SELECT,
      .pad = PAD_ALL,
      .refused = "not -inf" },
    { .name = "frames before, low", .mask = BEFORE, .laid = INVERTED, .refused = "not -inf" },
    { .name = "frames before, by hand", .mask = BEFORE, .laid = BY_HAND, .refused = "not -inf" },
    { .name = "frames before, -inf", .mask = BEFORE, .laid = ADD },
    { .name = "frames before, hidden again", .mask = BEFORE, .laid = AFTER_SOFTMAX },
    { .name = "frames before, hidden again, keys first",
      .mask = BEFORE,
      .laid = AFTER_SOFTMAX,
      .product = EINSUM_KEYS_FIRST },
    { .name = "times the mask", .laid = TIMES },
    { .name = "times the mask, slopes", .laid = TIMES, .bias = SLOPES },
    { .name = "times the mask, slopes, first frames",
      .laid = TIMES,
      .bias = SLOPES,
      .mask = SINKS },
    { .name = "times the mask, frames before",
      .laid = TIMES,
      .mask = BEFORE,
      .refused = "not -inf" },
    { .name = "times the mask, slopes, frames before",
      .laid = TIMES,
      .bias = SLOPES,
      .mask = BEFORE,
      .refused = "not -inf" },
    { .name = "divided", .laid = DIVIDED_ONCE },
    { .name = "divided until it is not low", .laid = DIVIDED, .refused = "show again" },
    { .name = "hidden and shown again", .laid = UNDONE, .refused = "show again" },
    { .name = "hidden by a number of data", .laid = NUMBERED, .refused = "not -inf" },
    { .name = "hidden by a logarithm of data", .laid = LOGARITHM, .refused = "not -inf" },
    { .name = "half a truth",
      .laid = HALVED,
      .pad = PAD_KEYS,
      .refused = "(And) lays over it does not hide" },
    { .name = "over a number of keys", .laid = OVER_KEYS, .refused = "show again" },
    { .name = "infinite times 0",
      .laid = EXP_OVERFLOWS,
      .refused = "(Mul) lays over it does not hide" },
    { .name = "behind many nodes", .laid = LONG, .refused = "show again" },
    { .name = "numbers as f32 rounds them", .mask = ROUNDED },
    { .name = "positions in i8", .mask = BYTES, .refused = "positions in i8," },
    { .name = "groups in u8", .mask = BYTES_OF_CHUNKS, .refused = "positions in u8," },
    { .name = "positions in i16", .mask = SHORTS, .refused = "positions in i16," },
    { .name = "clipped distances in i8", .mask = BYTES_CLIPPED },
    { .name = "one minus a mask in u8", .mask = BYTES_OF_TRUTH },
    { .name = "remainders in i8", .mask = REMAINDERS_I8 },
    { .name = "products of positions in i32", .mask = PRODUCTS_I32, .refused = "does not repeat" },
    { .name = "products past 2^24", .mask = FAR_PRODUCTS, .refused = "does not repeat" },
    { .name = "all of some lengths", .mask = LENGTHS_OF_128, .refused = "depends on the length" },
    { .name = "more of even lengths", .mask = LENGTHS_EVEN, .refused = "depends on the length" },
    { .name = "a bias through many nodes", .bias = THROUGH_MANY, .refused = "too many nodes" },
    { .name = "first frames", .mask = SINKS },
    { .name = "first frames, added", .mask = SINKS, .laid = ADD },
    { .name = "first frames, one minus the mask", .mask = SINKS, .laid = INVERTED },
    { .name = "first frames, selected", .mask = SINKS, .laid = SELECT },
    { .name = "first frames, hidden again", .mask = SINKS, .laid = AFTER_SOFTMAX },
    { .name = "first frames, by hand", .mask = SINKS, .laid = BY_HAND },
    { .name = "first frames, linear", .mask = SINKS, .laid = LINEAR },
    { .name = "first frames, linear over its sum", .mask = SINKS, .laid = LINEAR_COUNTED },
    { .name = "first frames, means", .mask = SINKS, .laid = MEANS },
    { .name = "first frames, keys first", .mask = SINKS, .product = EINSUM_KEYS_FIRST },
    { .name = "first frames, values first", .mask = SINKS, .product = EINSUM_TURNED },
    { .name = "first frames, merged heads", .mask = SINKS, .product = HEADS },
    { .name = "first frames, hidden keys", .mask = SINKS, .pad = PAD_KEYS },
    { .name = "first frames, hidden keys and queries", .mask = SINKS, .pad = PAD_BOTH },
    { .name = "first frames, tiled", .mask = SINKS, .pad = PAD_TILED },
    { .name = "first frames, rows that nobody sees", .mask = SINKS, .pad = PAD_ALL },
    { .name = "first frames, a table of distances", .mask = SINKS, .bias = TABLE },
    { .name = "first frames, a bias of keys", .mask = SINKS, .bias = ALONG_KEYS },
    { .name = "first frames, a bias of queries", .mask = SINKS, .bias = ALONG_QUERIES },
    { .name = "first frames, slopes", .mask = SINKS, .bias = SLOPES },
    { .name = "first frames, slopes, keys first",
      .mask = SINKS,
      .bias = SLOPES,
      .product = EINSUM_KEYS_FIRST },
    { .name = "first frames, slopes, merged heads",
      .mask = SINKS,
      .bias = SLOPES,
      .product = HEADS },
    { .name = "first frames, logarithms", .mask = SINKS_AHEAD, .bias = LOGS },
    { .name = "the first frame and chunks, slopes", .mask = SINK_CHUNK, .bias = SLOPES },
    { .name = "more for the first queries, slopes", .mask = SINKS_EARLY, .bias = SLOPES },
    { .name = "first frames, slopes, one minus the mask",
      .mask = SINKS,
      .bias = SLOPES,
      .laid = INVERTED },
    { .name = "first frames, shifted sinusoids", .mask = SINKS, .shift = SINUSOIDS },
    { .name = "first frames, scaled, then shifted",
      .mask = SINKS_AHEAD,
      .shift = SCALED,
      .laid = ADD },
    { .name = "the first frame and chunks, shifted behind zeros",
      .mask = SINK_CHUNK,
      .shift = CONCATENATED },
    { .name = "more for the first queries, shifted", .mask = SINKS_EARLY, .shift = SINUSOIDS },
    { .name = "first frames, shifted, no keys ahead", .mask = SINKS, .shift = SHORT },
    { .name = "first frames, shifted rows of a table", .mask = SINKS_AHEAD, .shift = ROWS },
    { .name = "the first frame and chunks, shifted rows of a table",
      .mask = SINK_CHUNK_WHILE,
      .shift = ROWS },
    { .name = "first frames, shifted rows, merged heads",
      .mask = SINKS,
      .shift = ROWS,
      .product = HEADS },
    { .name = "first frames, shifted otherwise behind 400 frames",
      .mask = SINKS,
      .shift = TURNS_LATE,
      .refused = "however long the sequence is" },
    { .name = "first frames, shifted by Gather, distances clipped",
      .mask = SINKS,
      .shift = NEAREST,
      .refused = "however long the sequence is" },
    { .name = "first frames, shifted by Gather",
      .mask = SINKS,
      .shift = GATHERED,
      .refused = "not picked by an index" },
    { .name = "first frames, also behind the query", .mask = SINKS_AHEAD },
    { .name = "first frames, also behind, added", .mask = SINKS_AHEAD, .laid = ADD },
    { .name = "first frames, also behind, linear", .mask = SINKS_AHEAD, .laid = LINEAR },
    { .name = "first frames, one far behind", .mask = SINKS_FAR, .refused = "2048 away" },
    { .name = "first frames, a line behind", .mask = SINKS_SLOPE, .refused = "2048 away" },
    { .name = "first frames, of each hundred behind", .mask = SINKS_ROUND, .refused = "2048 away" },
    { .name = "a root far ahead", .mask = ROOT_3000, .refused = "2048 away" },
    { .name = "between two distances", .mask = HALF_BOUND },
    { .name = "halves of positions", .mask = HALVES, .laid = ADD },
    { .name = "products and quotients of positions", .mask = PRODUCTS },
    { .name = "products that f32 rounds",
      .mask = TENTHS,
      .refused = "(Mul) makes of it what f32 may not hold exactly" },
    { .name = "quotients that f32 rounds",
      .mask = QUOTIENTS,
      .refused = "; f32 may not hold it exactly" },
    { .name = "seconds of frames", .mask = SECONDS },
    { .name = "thirds of positions", .mask = THIRDS },
    { .name = "quarters, rounded", .mask = ROUNDS },
    { .name = "roots of squares", .mask = ROOTS },
    { .name = "distances above a bound by Relu", .mask = RECTIFIED },
    { .name = "what is infinite", .mask = INFINITE, .laid = NAN_BEHIND },
    { .name = "shifted bits", .mask = SHIFTED },
    { .name = "sums of ones in f32", .mask = ONES_SUMMED },
    { .name = "outer products of positions", .mask = OUTER },
    { .name = "two masks, summed", .mask = TWICE },
    { .name = "frames before and a diagonal", .mask = DIAGONAL, .laid = NAN_BEHIND },
    { .name = "squares", .mask = SQUARES },
    { .name = "squares in f32", .mask = SQUARES_F32 },
    { .name = "squares in f32 below 9.5", .mask = SQUARES_BETWEEN },
    { .name = "squares in f32, added", .mask = SQUARES_F32, .laid = ADD },
    { .name = "squares of positions in f32", .mask = SQUARES_APART, .refused = "in f32" },
    { .name = "distances that a Clip leaves", .mask = HELD },
    { .name = "keys that lie between", .mask = HELD_BETWEEN },
    { .name = "logarithms", .laid = LOGGED },
    { .name = "a table", .mask = TABLE_BAND },
    { .name = "a table, added", .mask = TABLE_BAND, .laid = ADD },
    { .name = "a table of chunks", .mask = TABLE_CHUNKS },
    { .name = "a table that is almost one of chunks",
      .mask = TABLE_ALMOST,
      .refused = "laid over" },
    { .name = "the last rows of a table, in chunks up to the query",
      .mask = CHUNKS_BEHIND,
      .shift = LAST_ROWS },
    { .name = "the last rows of a table, in chunks",
      .mask = CHUNKS,
      .shift = LAST_ROWS,
      .refused = "for keys more than 0 frames behind their query" },
    { .name = "numbers of chunks", .mask = NUMBERS },
    { .name = "numbers of chunks that wrap", .mask = NUMBERS_WRAPPED, .refused = "lays over it" },
    { .name = "numbers of chunks, each repeated", .mask = REPEATED },
    { .name = "first frames, while a band sees them", .mask = SINKS_WHILE },
    { .name = "first frames, while a band sees them, added", .mask = SINKS_WHILE, .laid = ADD },
    { .name = "the first frame and chunks, while a band sees it", .mask = SINK_CHUNK_WHILE },
    { .name = "more for the first queries", .mask = SINKS_EARLY },
    { .name = "less for the first queries, behind frames of data", .pad = PAD_FIRST },
    { .name = "less for the first queries, behind frames of data, hidden",
      .pad = PAD_FIRST_HIDING },
    { .name = "less for the first queries, behind many nodes",
      .pad = PAD_FIRST_LONG,
      .refused = "does not" },
    { .name = "less for the first queries and for the last ones", .pad = PAD_FIRST_ENDED },
    { .name = "less for the first queries, in chunks", .mask = CHUNKS, .pad = PAD_FIRST },
    { .name = "more for the first queries, means", .mask = SINKS_EARLY, .laid = MEANS },
    { .name = "the first frame and chunks", .mask = SINK_CHUNK },
    { .name = "the first frame and chunks, added", .mask = SINK_CHUNK, .laid = ADD },
    { .name = "the first frame and chunks, means", .mask = SINK_CHUNK, .laid = MEANS },
    { .name = "once far away", .mask = ONCE_FAR, .refused = "2048 away" },
    { .name = "every 3000 frames",
      .mask = EVERY_3000,
      .refused = "(Where) lays over it does not hide" },
    { .name = "two remainders",
      .mask = TWO_REMAINDERS,
      .refused = "(Where) lays over it does not hide" },
    { .name = "all before", .mask = ALL, .refused = "how far back it sees, as i - j <= 250" },
    { .name = "all before, linear", .mask = ALL, .laid = LINEAR, .refused = "as a CumSum" },
};

/* Chunks that end where a sequence does that is padded, cut or subsampled. */
static const struct lengthened {
    const char *name;
    int64_t before, behind, pulse;
    const char *conv; /* its attributes; NULL: there is none */
} lengthened[] = {
    { "padded", 2, 1, 3, NULL },
    { "cut in front", -2, 0, 3, NULL },
    { "a valid convolution", 0, 0, 3, "" },
    { "subsampled, padded", 0, 0, 6, "strides=2 pads=1,1" },
    { "subsampled", 0, 0, 6, "strides=2" },
};

static void ended_elsewhere(struct gb *b, const void *ctx)
{
    static const struct written ended = { .mask = ENDED };
    const struct lengthened *t = ctx;
    uint32_t x =
        gb_pad(b, gb_input(b, "x", 3, 1, WIDTH, GB_TIME), 3, 2, "constant", t->before, t->behind);
    if (t->conv)
        x = GB(b, "Conv", t->conv, x, gb_weights(b, 3, WIDTH, WIDTH, 3));
    gb_output(b, masked_attention(b, gb_transpose(b, x, "0,2,1"), WIDTH, &ended));
}

static void ended_test(const struct lengthened *t)
{
    static const int64_t lengths[] = { 3, 8, 17, 32, -1 };
    const int64_t pulses[] = { t->pulse, 4 * t->pulse, -1 };
    struct oracle o;
    const enum verdict v = oracle_open(&o, ended_elsewhere, t, NULL);
    oracle_check(v == LAW_HOLDS, "%s: %s", t->name, o.err.text);
    if (v == LAW_HOLDS)
        oracle_laws(&o, t->name, pulses, lengths);
    oracle_close(&o);
}

/* ---- distances between frames that are padded in front ---- */

struct late {
    struct written as;
    int64_t front;
};

static void padded_first(struct gb *b, const void *ctx)
{
    const struct late *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    gb_output(b, masked_attention(b, gb_pad(b, x, 3, 1, "constant", t->front, 0), WIDTH, &t->as));
}

/* -1: it does not stream. */
static int64_t late_of(const struct late *t, int64_t pulse, bool laws)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 8, 32, -1 };
    const int64_t pulses[] = { pulse, -1 };
    struct oracle o = { .seed = 1 };
    const bool opens =
        oracle_open(&o, padded_first, t, NULL) == LAW_HOLDS && oracle_pulse(&o, pulse) == LAW_HOLDS;
    const int64_t late = opens ? o.plan->pgraph.outputs[0].delay : -1;
    oracle_check(opens, "padded by %d, shift %d: %s", (int) t->front, t->as.shift, o.err.text);
    if (opens && laws)
        oracle_laws(&o, "a shift of what is padded", pulses, lengths);
    oracle_close(&o);
    return late;
}

/* Scores of a table of distances come when those of the keys do. */
static void padded_shifts(void)
{
    static const int masks[] = { SQUARES, SINKS_AHEAD, SINKS },
                     shifts[] = { SINUSOIDS, ROWS, SCALED, CONCATENATED };
    for (int64_t k = 0; k < 48; k++) {
        struct late t = { { .mask = masks[k % 3] }, 1 + k / 3 % 2 * 3 };
        const int64_t pulse = 1 + k % 4, least = late_of(&t, pulse, false);
        t.as.shift = shifts[k / 12];
        const int64_t late = late_of(&t, pulse, true);
        oracle_check(late == least, "padded by %d, mask %d, shift %d: %lld late, not %lld",
                     (int) t.front, t.as.mask, t.as.shift, (long long) late, (long long) least);
    }
}

/* Masks of positions that data stands between are joined when a model is opened. */
static enum verdict row_open(struct oracle *o, const struct written *t)
{
    static const struct pass fold = { "positions-folded", true, graph_with_positions_folded };
    const enum verdict v = oracle_open(o, recipe, t, NULL);
    if (v != LAW_HOLDS || t->pad < PAD_FIRST)
        return v;
    struct graph *g = &o->model->decluttered.g;
    return passes_run(&fold, 1, g, g, NULL, &o->err) == RILL_OK ? v : LAW_REFUSED;
}

static void row_test(const struct written *t)
{
    static const int64_t lengths[] = { 1, 3, 8, 17, 32, -1 }, pulses[] = { 1, 4, 6, 9, -1 };
    struct oracle o;
    enum verdict v = row_open(&o, t);
    if (t->refused) {
        v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
        oracle_check(v == LAW_REFUSED && strstr(o.err.text, t->refused), "%s: %s", t->name,
                     o.err.text);
    } else {
        oracle_check(v == LAW_HOLDS, "%s: %s", t->name, o.err.text);
        if (v == LAW_HOLDS)
            oracle_laws(&o, t->name, pulses, lengths);
    }
    oracle_close(&o);
}

/* What the refusal of linear attention without a bound says would stream. */
static void running_sum(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    (void) ctx;
    uint32_t k = GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)),
             q = GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH));
    uint32_t sum = GB(b, "Mul", "", GB(b, "Unsqueeze", "", k, gb_ints(b, 3)),
                      GB(b, "Unsqueeze", "", x, gb_ints(b, 2)));
    sum = GB(b, "CumSum", "", sum, gb_int(b, 1));
    uint32_t y = GB(b, "MatMul", "", GB(b, "Unsqueeze", "", q, gb_ints(b, 2)), sum);
    gb_output(b, GB(b, "Squeeze", "", y, gb_ints(b, 2)));
}

static void running_test(void)
{
    static const int64_t lengths[] = { 1, 3, 8, 32, -1 }, pulses[] = { 1, 4, 9, -1 };
    struct oracle o;
    enum verdict v = oracle_open(&o, running_sum, NULL, NULL);
    oracle_check(v == LAW_HOLDS, "a running sum of products: %s", o.err.text);
    if (v == LAW_HOLDS)
        oracle_laws(&o, "a running sum of products", pulses, lengths);
    oracle_close(&o);
}

/* Tables that end, as their length tells, and rows that no pair of shorter sequences takes. */
static const struct tabled {
    struct written net;
    int64_t rows; /* for so many frames */
} tabled[] = {
    { { .name = "last rows of a table of 79", .shift = LAST_ROWS }, 79 },
    { { .name = "distances up to 32, in chunks", .mask = CHUNKS_LONG, .bias = TABLE_SHORT }, 33 },
    { { .name = "distances up to 32, of which fewer are seen", .bias = TABLE_SHORT }, 33 },
    { { .name = "distances up to 4, themselves for the first queries",
        .mask = SELF_EARLY,
        .bias = TABLE_TIGHT },
      5 },
    { { .name = "distances up to 4 for each query, themselves for the first ones",
        .mask = SELF_EARLY,
        .bias = TABLE_PICKED },
      5 },
    { { .name = "distances up to 4 for each query, first frames",
        .mask = SINKS,
        .bias = TABLE_PICKED },
      5 },
    { { .name = "one distance", .bias = TABLE_SINGLE }, 1 },
    { { .name = "distances from 6 on", .bias = TABLE_BEHIND }, 0 },
};

static void table_test(const struct tabled *t)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, recipe, &t->net, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    v = v == LAW_HOLDS ? oracle_law(&o, t->rows, 7) : v;
    oracle_check(v == LAW_HOLDS && rill_plan_check_length(o.plan, 0, t->rows, &o.err) == RILL_OK &&
                     rill_plan_check_length(o.plan, 0, t->rows + 1, &o.err) != RILL_OK,
                 "%s: %lld frames or one more, %s", t->net.name, (long long) t->rows, o.err.text);
    oracle_close(&o);
}

int main(void)
{
    running_test();
    for (size_t i = 0; i < sizeof tabled / sizeof *tabled; i++)
        table_test(&tabled[i]);
    padded_shifts();
    for (size_t i = 0; i < sizeof lengthened / sizeof *lengthened; i++)
        ended_test(&lengthened[i]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        row_test(&rows[i]);
    return oracle_end();
}
