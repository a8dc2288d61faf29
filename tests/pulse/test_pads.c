/* SPDX-License-Identifier: MIT */
/* What reads sequences that are padded comes no later than it must: recurrences, resized frames,
 * windows further apart, transposed convolutions, and cuts behind them. */
#include "check/lower_bound.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <stdlib.h>

/* By how many frames the net is later at that pulse than it must be; -1: it does not stream, or the
 * bound is not known. */
static int64_t needless(gb_recipe *recipe, const void *ctx, int64_t pulse)
{
    struct oracle o = { .seed = 1 };
    int64_t least[64], y = -1;
    rill_error err = { .text = "" };
    if (oracle_open(&o, recipe, ctx, NULL) == LAW_HOLDS && oracle_pulse(&o, pulse) == LAW_HOLDS &&
        delay_bounds(&o.plan->pgraph, &o.model->decluttered.g, least, &err) == RILL_OK &&
        least[0] >= 0)
        y = o.plan->pgraph.outputs[0].delay - least[0];
    oracle_close(&o);
    return y;
}

/* A cell of 2 channels over [1, 2, S], with what it starts from where `start`. */
static uint32_t cell_over(struct gb *b, uint32_t x, const char *cell, bool start)
{
    const int gates = cell[0] == 'G' ? 3 : cell[0] == 'L' ? 4 : 1;
    const uint32_t in[] = { gb_transpose(b, x, "2,0,1"),
                            gb_weights(b, 3, 1, 2 * gates, 2),
                            gb_weights(b, 3, 1, 2 * gates, 2),
                            gb_weights(b, 2, 1, 4 * gates),
                            WIRE_NONE,
                            start ? gb_weights(b, 3, 1, 1, 2) : WIRE_NONE,
                            start && gates == 4 ? gb_weights(b, 3, 1, 1, 2) : WIRE_NONE };
    struct node *n = gb_node(b, cell, "hidden_size=2", in, start ? (gates == 4 ? 7 : 6) : 4, 1);
    if (!n)
        return WIRE_NONE;
    return gb_transpose(b, GB(b, "Squeeze", "", n->out[0], gb_ints(b, 1)), "1,2,0");
}

/* Pads and what reads them; frames that are cut off in front of that. */
struct read {
    const char *op, *attrs; /* op: a cell, Resize, ConvTranspose, Conv or AveragePool */
    const char *mode;       /* of the Pad */
    int64_t before, after, cut;
    float scale; /* of Resize */
    bool layer;  /* between them */
    bool start;  /* of cells */
    bool ahead;  /* what is padded looks one frame ahead */
};

static uint32_t read_emit(struct gb *b, const struct read *c, uint32_t x)
{
    switch (c->op[0] == 'C' && c->op[4] == 'T' ? 'T' : c->op[0]) {
    case 'G':
    case 'L': return cell_over(b, x, c->op, c->start);
    case 'R': {
        const float scales[] = { 1, 1, c->scale };
        return c->op[1] == 'N' ? cell_over(b, x, c->op, c->start)
                               : GB(b, "Resize", c->attrs, x, WIRE_NONE, gb_floats(b, 3, scales));
    }
    case 'A': return GB(b, c->op, c->attrs, x);
    default: return GB(b, c->op, c->attrs, x, gb_weights(b, 3, 2, 2, 4));
    }
}

static void pads_read(struct gb *b, const void *ctx)
{
    const struct read *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    if (c->ahead)
        x = GB(b, "Conv", "pads=0,1", x, gb_weights(b, 3, 2, 2, 2));
    x = gb_pad(b, x, 3, 2, c->mode ? c->mode : "constant", c->before, c->after);
    if (c->layer)
        x = GB(b, "Cos", "", x);
    x = read_emit(b, c, x);
    gb_output(b, c->cut ? gb_slice(b, x, 2, c->cut, INT64_MAX, 1) : GB(b, "Relu", "", x));
}

static void test_reads(const char *what, const struct read *list, size_t n, int64_t hop)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 4, 9, 30, -1 };
    for (size_t i = 0; i < n; i++)
        for (int64_t pulse = hop; pulse <= 6 * hop; pulse += hop) {
            const int64_t pulses[] = { pulse, -1 }, more = needless(pads_read, &list[i], pulse);
            struct oracle o = { .seed = 1 };
            oracle_check(more == 0, "%s %zu at %lld: %lld late", what, i, (long long) pulse,
                         (long long) more);
            if (oracle_open(&o, pads_read, &list[i], NULL) == LAW_HOLDS)
                oracle_laws(&o, what, pulses, lengths);
            oracle_close(&o);
        }
}

static void test_cells(void)
{
    static const struct read list[] = {
        { .op = "GRU", .before = 2, .cut = 2 },
        { .op = "GRU", .before = 3, .after = 2, .cut = 1, .layer = true },
        { .op = "LSTM", .before = 2, .cut = 2, .start = true },
        { .op = "RNN", .before = 4, .cut = 5, .layer = true, .start = true },
        { .op = "GRU", .before = 3, .cut = 3, .ahead = true, .start = true },
        { .op = "LSTM", .before = 1, .after = 1, .cut = 1, .ahead = true, .layer = true },
    };
    test_reads("a cell", list, sizeof list / sizeof *list, 1);
}

int main(void)
{
    test_cells();
    return oracle_end();
}
