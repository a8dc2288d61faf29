/* SPDX-License-Identifier: MIT */
/* Chunks of the sequences of a batch as rows of one axis, [B, S, W] -> [B*(S/k), k, W]: each
 * sequence streams as it does alone. */
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 4, HIDDEN = 3 };

enum within {
    CELL,
    LAST_STATE,
    NORM,
    PRODUCT,
    ATTENTION,
    ROWS_APART,
    ACROSS,
    MEAN,
    CENTRED,
    CONVOLVED,
    POOLED,
    MOVED,
    FLAT,
    N_WITHIN
};

struct batch {
    const char *name;
    int batch, chunk;
    enum within within;
    bool streams;
};

static const struct batch list[] = {
    { "cells", 2, 4, CELL, true },
    { "cells of three", 3, 2, CELL, true },
    { "last states", 4, 3, LAST_STATE, true },
    { "norms", 3, 2, NORM, true },
    { "products and steps of a chunk", 2, 3, PRODUCT, true },
    { "attention", 2, 4, ATTENTION, true },
    { "chunks of one frame", 2, 1, PRODUCT, true },
    { "split in other axes", 2, 4, ROWS_APART, true },
    { "a sum over all rows", 2, 4, ACROSS, false },
    { "means", 2, 4, MEAN, true },
    { "means of three sequences", 3, 2, MEAN, true },
    { "means taken off", 3, 5, CENTRED, true },
    { "convolutions", 2, 4, CONVOLVED, true },
    { "convolutions, pooled", 2, 3, POOLED, true },
    { "frames that are cut, padded, picked, joined", 2, 4, MOVED, true },
    { "a chunk as one row", 4, 2, FLAT, true },
};

/* A GRU over the chunk, which is axis 1 of [rows, chunk, WIDTH]: [rows, chunk, 2 * HIDDEN], or the
 * last states. */
static uint32_t cells(struct gb *b, uint32_t x, int chunk, bool last)
{
    const uint32_t in[] = { gb_transpose(b, x, "1,0,2"), gb_weights(b, 3, 2, 3 * HIDDEN, WIDTH),
                            gb_weights(b, 3, 2, 3 * HIDDEN, HIDDEN),
                            gb_weights(b, 2, 2, 6 * HIDDEN) };
    struct node *n = gb_node(b, "GRU", "hidden_size=3 direction=bidirectional", in, 4, 2);
    if (!n)
        return WIRE_NONE;
    return last ? GB(b, "Unsqueeze", "", gb_transpose(b, n->out[1], "1,0,2"), gb_ints(b, 1))
                : GB(b, "Reshape", "", gb_transpose(b, n->out[0], "2,0,1,3"),
                     gb_ints(b, 0, chunk, 2 * HIDDEN));
}

static uint32_t made_within(struct gb *b, uint32_t x, const struct batch *c)
{
    switch (c->within) {
    case CELL: return cells(b, x, c->chunk, false);
    case LAST_STATE: return cells(b, x, c->chunk, true);
    case NORM:
        return GB(b, "LayerNormalization", "axis=-1", x, gb_weights(b, 1, WIDTH),
                  gb_weights(b, 1, WIDTH));
    case PRODUCT:
        x = GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH));
        return GB(b, "Tanh", "", GB(b, "Mul", "", x, gb_weights(b, 2, c->chunk, 1)));
    case ATTENTION:
        return GB(b, "MatMul", "",
                  GB(b, "Softmax", "axis=-1", GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"))),
                  x);
    case ROWS_APART:
        x = GB(b, "Reshape", "", x, gb_ints(b, 0, c->chunk, 2, WIDTH / 2));
        return GB(b, "Softmax", "axis=1", gb_transpose(b, x, "0,2,1,3"));
    case ACROSS: return GB(b, "CumSum", "", x, gb_int(b, 0));
    case MEAN: return GB(b, "ReduceMean", "keepdims=0", x, gb_ints(b, 1));
    case CENTRED: return GB(b, "Sub", "", x, GB(b, "ReduceMean", "", x, gb_ints(b, -2)));
    case CONVOLVED:
    case POOLED:
        x = GB(b, "Conv", "pads=1,1", gb_transpose(b, x, "0,2,1"),
               gb_weights(b, 3, WIDTH, WIDTH, 3));
        return c->within == POOLED ? GB(b, "GlobalAveragePool", "", x)
                                   : gb_transpose(b, x, "0,2,1");
    case MOVED:
        x = gb_pad(b, gb_slice(b, x, 1, 1, INT64_MAX, 1), 3, 1, "edge", 0, 2);
        x = GB(b, "Concat", "axis=1", x, GB(b, "Tanh", "", x));
        return GB(b, "CumSum", "", GB(b, "Gather", "axis=1", x, gb_ints(b, 0, 4)), gb_int(b, 1));
    case FLAT:
        return GB(b, "Gemm", "", GB(b, "Reshape", "", x, gb_ints(b, -1, c->chunk * WIDTH)),
                  gb_weights(b, 2, c->chunk * WIDTH, WIDTH), gb_weights(b, 1, WIDTH));
    case N_WITHIN: break;
    }
    return WIRE_NONE;
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct batch *c = ctx;
    const uint32_t x = gb_input(b, "x", 3, c->batch, GB_TIME, WIDTH);
    uint32_t y = GB(b, "Reshape", "", GB(b, "Relu", "", x), gb_ints(b, -1, c->chunk, WIDTH));
    y = made_within(b, y, c);
    y = GB(b, "Reshape", "", y,
           gb_ints(b, c->batch, -1,
                   c->within == CELL             ? 2 * HIDDEN
                       : c->within == LAST_STATE ? 2 * HIDDEN
                                                 : WIDTH));
    gb_output(b, GB(b, "Sigmoid", "", y));
}

static void batch_test(const struct batch *c)
{
    static const struct pass apart = { "batches-apart", true, graph_with_batches_apart };
    int64_t pulses[4], lengths[5];
    char assertion[40];
    struct oracle o;
    for (int i = 0; i < 4; i++) {
        pulses[i] = i < 3 ? c->chunk * (i ? 3 * i : 1) : -1;
        lengths[i] = c->chunk * (i * i + 1);
    }
    lengths[4] = -1;
    snprintf(assertion, sizeof assertion, "S==%d*(S/%d)", c->chunk, c->chunk);
    const bool made = oracle_open(&o, recipe, c, assertion) == LAW_HOLDS &&
        passes_run(&apart, 1, &o.model->decluttered.g, &o.model->decluttered.g, NULL, &o.err) ==
            RILL_OK;
    o.tolerance = 1e-6F;
    oracle_check(made, "%s: %s", c->name, o.err.text);
    if (made && c->streams)
        oracle_check(oracle_laws(&o, c->name, pulses, lengths) > 0, "%s: no whole run: %s", c->name,
                     o.err.text);
    if (made && !c->streams)
        oracle_check(oracle_pulse(&o, c->chunk) == LAW_REFUSED && strstr(o.err.text, "(Reshape)"),
                     "%s: %s", c->name, o.err.text);
    oracle_close(&o);
}

/* What is refused names the lengths that stream, or the node that is in the way. */
static void test_refused(void)
{
    static const struct batch nets[] = {
        { "", 4, 4, CELL, true },    { "", 8, 4, NORM, true },    { "", 6, 3, PRODUCT, true },
        { "", 4, 4, ACROSS, false }, { "", 2, 2, ACROSS, false },
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        char want[60];
        struct oracle o;
        snprintf(want, sizeof want,
                 nets[i].streams ? "--assert \"S == %d*(S/%d)\"" : "(CumSum) does not keep apart",
                 nets[i].chunk, nets[i].chunk);
        oracle_check(oracle_open(&o, recipe, &nets[i], NULL) == LAW_HOLDS &&
                         oracle_pulse(&o, nets[i].chunk) == LAW_REFUSED && strstr(o.err.text, want),
                     "%s: %s", want, o.err.text);
        oracle_close(&o);
    }
}

int main(void)
{
    test_refused();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        batch_test(&list[i]);
    return oracle_end();
}
