/* SPDX-License-Identifier: MIT */
/* Recurrences behind frames that are known, or come, before the sequence does: they run over those
 * apart, and what reads them is no later than it must be. */
#include "tests/pulse/oracle.h"

#include <string.h>

/* What is in front of [1, S, 2], what runs along it, what that begins with, and what follows. */
struct chain {
    const char *op;   /* GRU, LSTM, RNN, Sum, Scan, or Both: a Scan of two sequences */
    const char *mode; /* of a Pad; or same: the first frame several times; turned: first frames, the
                         last in front; around: a Pad by edge of a given frame before frame 2;
                         moved: a given frame, moved by zeros; NULL: given frames */
    int64_t before, after;
    int64_t other;     /* frames in front of the second sequence that are given beside those */
    const char *start; /* NULL: zeros; const, first: frame 0 of what is padded, mean: of its first
                          two, own: frame 0 of the sequence */
    bool ahead, layer; /* in front: a look one frame ahead; an op on each frame */
    int64_t minus;     /* behind: its own frame of that number less 1 is taken from each; 0: none */
    bool look;         /* and a look one frame ahead, before `cut` frames are cut off */
    int64_t cut;
    int64_t again; /* and so many of what is left */
    bool any;      /* of any length, else of two frames and more */
};

static uint32_t look_ahead(struct gb *b, uint32_t x)
{
    x = GB(b, "Conv", "pads=0,1", gb_transpose(b, x, "0,2,1"), gb_weights(b, 3, 2, 2, 2));
    return gb_transpose(b, x, "0,2,1");
}

static uint32_t start_of(struct gb *b, const struct chain *c, uint32_t x, uint32_t own)
{
    if (!c->start)
        return WIRE_NONE;
    switch (c->start[0]) {
    case 'c': return gb_weights(b, 3, 1, 1, 2);
    case 'f': return GB(b, "Tanh", "", gb_slice(b, x, 1, 0, 1, 1));
    case 'o': return gb_slice(b, own, 1, 0, 1, 1);
    default: return GB(b, "ReduceMean", "keepdims=1", gb_slice(b, x, 1, 0, 2, 1), gb_ints(b, 1));
    }
}

static uint32_t cell_over(struct gb *b, const struct chain *c, uint32_t x, uint32_t start)
{
    const int gates = c->op[0] == 'G' ? 3 : c->op[0] == 'L' ? 4 : 1;
    const uint32_t in[] = { gb_transpose(b, x, "1,0,2"),
                            gb_weights(b, 3, 1, 2 * gates, 2),
                            gb_weights(b, 3, 1, 2 * gates, 2),
                            gb_weights(b, 2, 1, 4 * gates),
                            WIRE_NONE,
                            start,
                            start != WIRE_NONE && gates == 4 ? start : WIRE_NONE };
    struct node *n = gb_node(b, c->op, "hidden_size=2", in,
                             start == WIRE_NONE ? 4
                                 : gates == 4   ? 7
                                                : 6,
                             1);
    return n ? gb_transpose(b, GB(b, "Squeeze", "", n->out[0], gb_ints(b, 1)), "1,0,2") : WIRE_NONE;
}

/* The state is the last frame that was given and half the one before, and so on; of two sequences,
 * their products. */
static uint32_t scan_over(struct gb *b, const struct chain *c, uint32_t x, uint32_t y,
                          uint32_t start)
{
    struct gb body;
    const int64_t axes[] = { 1, 1 };
    const bool both = c->op[0] == 'B';
    const struct gb_scan at = { 1, 1 + both, 2, axes, NULL, axes, NULL };
    gb_body(&body, b, "step");
    const uint32_t h = gb_body_input(&body, "h"), f = gb_body_input(&body, "f");
    const uint32_t g = both ? gb_body_input(&body, "g") : f;
    const uint32_t next = GB(&body, "Add", "", GB(&body, "Mul", "", h, gb_scalar(&body, 0.5f)),
                             GB(&body, "Mul", "", f, g));
    gb_output(&body, next);
    gb_output(&body, next);
    gb_output(&body, GB(&body, "Sub", "", f, h));
    start =
        start == WIRE_NONE ? gb_full(b, 0, 2, 1, 2) : GB(b, "Squeeze", "", start, gb_ints(b, 1));
    struct node *n = gb_scan(b, &body, &at, (const uint32_t[]) { start, x, y }, 2 + both);
    return n ? GB(b, "Add", "", n->out[1], n->out[2]) : WIRE_NONE;
}

/* The first frame several times, or the first ones backwards. */
static uint32_t first_put(struct gb *b, const struct chain *c, uint32_t x)
{
    const bool same = c->mode[0] == 's';
    const uint32_t own = x;
    for (int64_t i = 0; i < c->before; i++)
        x = GB(b, "Concat", "axis=1", gb_slice(b, own, 1, same ? 0 : i, same ? 1 : i + 1, 1), x);
    return x;
}

static uint32_t front_put(struct gb *b, const struct chain *c, uint32_t x)
{
    if (c->mode && (c->mode[0] == 's' || c->mode[0] == 't'))
        return first_put(b, c, x);
    if (c->mode && c->mode[0] == 'a') {
        x = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, 1, 2),
               gb_slice(b, x, 1, 2, INT64_MAX, 1));
        return gb_pad(b, x, 3, 1, "edge", c->before - 1, c->after);
    }
    if (c->mode && c->mode[0] == 'm') {
        x = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, 1, 2), x);
        return gb_pad(b, x, 3, 1, "constant", c->before - 1, 1 - c->before);
    }
    if (c->mode)
        return gb_pad(b, x, 3, 1, c->mode, c->before, c->after);
    return GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, (int) c->before, 2), x);
}

static void chain_recipe(struct gb *b, const void *ctx)
{
    const struct chain *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 2), own, y;
    if (c->ahead)
        x = look_ahead(b, x);
    own = x;
    x = front_put(b, c, x);
    if (c->layer)
        x = GB(b, "Cos", "", x);
    const uint32_t start = start_of(b, c, x, own);
    if (c->other) { /* as many frames, of which fewer are given */
        y = gb_slice(b, own, 1, 0, -c->other, 1);
        y = GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, (int) (c->before + c->other), 2), y);
    } else
        y = x;
    switch (c->op[0]) {
    case 'S':
    case 'B':
        x = c->op[1] == 'u' ? GB(b, "CumSum", "", x, gb_int(b, 1)) : scan_over(b, c, x, y, start);
        break;
    default: x = cell_over(b, c, x, start);
    }
    if (c->minus)
        x = GB(b, "Sub", "", x, gb_slice(b, x, 1, c->minus - 1, c->minus, 1));
    if (c->look)
        x = look_ahead(b, x);
    x = c->cut ? gb_slice(b, x, 1, c->cut, INT64_MAX, 1) : GB(b, "Relu", "", x);
    gb_output(b, c->again ? gb_slice(b, x, 1, c->again, INT64_MAX, 1) : x);
}

static void test_chains(const char *what, const struct chain *list, size_t n)
{
    static const int64_t from[] = { 0, 1, 2, 3, 4, 9, 30, -1 };
    for (size_t i = 0; i < n; i++)
        for (int64_t pulse = 1; pulse <= 5; pulse++) {
            const char *asserted = list[i].any ? NULL : "S >= 2";
            const int64_t pulses[] = { pulse, -1 },
                          more = oracle_needless(chain_recipe, &list[i], asserted, pulse);
            struct oracle o = { .seed = 1 };
            oracle_check(more == 0, "%s %zu at %lld: %lld late", what, i, (long long) pulse,
                         (long long) more);
            oracle_check(oracle_open(&o, chain_recipe, &list[i], asserted) == LAW_HOLDS &&
                             oracle_laws(&o, what, pulses, list[i].any ? from : from + 2) > 0,
                         "%s", o.err.text);
            oracle_close(&o);
        }
}

static void test_scans(void)
{
    static const struct chain list[] = {
        { .op = "Scan", .before = 2, .cut = 2 },
        { .op = "Scan", .before = 3, .layer = true, .look = true },
        { .op = "Scan", .before = 2, .ahead = true, .start = "const", .cut = 2 },
        { .op = "Scan", .mode = "edge", .before = 2, .cut = 2 },
        { .op = "Scan", .mode = "edge", .before = 3, .after = 1, .cut = 2, .layer = true },
        { .op = "Scan", .mode = "reflect", .before = 2, .cut = 2 },
        { .op = "Scan", .mode = "constant", .before = 2, .after = 2, .cut = 1, .layer = true },
        { .op = "Both", .before = 2, .cut = 2 },
        { .op = "Both", .before = 2, .other = 1, .cut = 2 },
        { .op = "Both", .mode = "edge", .before = 2, .other = 2, .cut = 2 },
    };
    test_chains("scan", list, sizeof list / sizeof *list);
}

/* States that begin with first frames of what is padded, or of the sequence. */
static void test_starts(void)
{
    static const struct chain list[] = {
        { .op = "GRU", .before = 2, .start = "first", .cut = 2 },
        { .op = "LSTM", .before = 2, .start = "mean", .cut = 2, .layer = true },
        { .op = "RNN", .before = 1, .start = "mean", .look = true },
        { .op = "GRU", .before = 3, .start = "own", .look = true },
        { .op = "LSTM", .mode = "edge", .before = 2, .start = "first", .cut = 2 },
        { .op = "GRU", .mode = "reflect", .before = 2, .start = "mean", .cut = 2 },
        { .op = "GRU", .before = 2, .start = "own", .ahead = true, .cut = 2 },
        { .op = "Scan", .before = 2, .start = "first", .cut = 2 },
        { .op = "Scan", .before = 1, .start = "mean", .look = true },
        { .op = "Scan", .mode = "edge", .before = 2, .start = "first", .cut = 2, .layer = true },
        { .op = "Both", .before = 2, .other = 1, .start = "own", .cut = 2 },
    };
    test_chains("a start", list, sizeof list / sizeof *list);
}

/* Frame 0 of what a recurrence gives behind frames in front, taken from all of them. */
static void test_minus(void)
{
    static const struct chain list[] = {
        { .op = "Sum", .before = 2, .minus = 1, .cut = 2 },
        { .op = "GRU", .before = 2, .minus = 1, .look = true },
        { .op = "LSTM", .before = 2, .start = "first", .minus = 1, .cut = 2 },
        { .op = "Sum", .mode = "edge", .before = 2, .minus = 1, .cut = 2 },
        { .op = "GRU", .mode = "edge", .before = 3, .after = 1, .minus = 1, .cut = 1 },
        { .op = "Sum", .mode = "reflect", .before = 2, .minus = 1, .cut = 2 },
        { .op = "Scan", .before = 2, .minus = 1, .cut = 2, .ahead = true },
        { .op = "Sum", .mode = "constant", .minus = 2, .cut = 1 },
        { .op = "GRU", .mode = "constant", .minus = 2, .cut = 1, .ahead = true },
    };
    test_chains("minus", list, sizeof list / sizeof *list);
}

/* First frames in front, which a sequence without frames lacks; frames behind them that come before
 * all in front has. */
static void test_firsts(void)
{
    static const struct chain list[] = {
        { .op = "GRU", .mode = "same", .before = 1, .start = "first", .any = true },
        { .op = "Sum", .mode = "same", .before = 3, .cut = 1, .again = 1, .any = true },
        { .op = "Scan", .mode = "same", .before = 2, .look = true, .any = true },
        { .op = "Sum", .mode = "same", .before = 2, .minus = 1, .cut = 1, .any = true },
        { .op = "Sum", .mode = "turned", .before = 2, .look = true, .ahead = true },
        { .op = "Sum", .mode = "turned", .before = 2, .cut = 3 },
        { .op = "LSTM", .mode = "turned", .before = 2, .look = true, .start = "mean" },
        { .op = "Scan", .mode = "turned", .before = 2, .look = true, .minus = 1 },
        { .op = "GRU", .mode = "reflect", .before = 2, .look = true },
        { .op = "Sum", .mode = "around", .before = 2 },
        { .op = "Sum", .mode = "moved", .before = 3, .look = true },
        { .op = "GRU", .mode = "moved", .before = 2, .cut = 1, .ahead = true },
        { .op = "Scan", .mode = "moved", .before = 4, .cut = 2 },
        { .op = "GRU", .mode = "around", .before = 3, .cut = 1 },
    };
    test_chains("first", list, sizeof list / sizeof *list);
}

int main(void)
{
    test_scans();
    test_starts();
    test_minus();
    test_firsts();
    return oracle_end();
}
