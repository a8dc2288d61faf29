/* SPDX-License-Identifier: MIT */
/* scan_cells.h - recurrent layers as Scans over primitive ops, the way exporters without fused
 * cells write them. */
#ifndef TESTS_PULSE_SCAN_CELLS_H
#define TESTS_PULSE_SCAN_CELLS_H
#include "tests/pulse/graph_build.h"

enum scan_cell { SCAN_RNN, SCAN_GRU, SCAN_LSTM, N_SCAN_CELLS };

struct scan_layer {
    enum scan_cell cell;
    int inputs, hidden;
    int layers;  /* one on the other; 0: 1 */
    int project; /* > 0: the body's output is a sigmoid of a product with so many columns */
    int steps;   /* GB_TIME: the stream's */
    bool turned; /* the sequence lies on axis 1 of x and y */
    bool back;   /* scanned and written from the end */
    bool extra;  /* the body also does things that need no state: with weights alone, with the slice
                    alone */
};

extern const char *const scan_cell_names[N_SCAN_CELLS];

/* A gb_recipe; ctx: struct scan_layer. One input x [steps, 1, inputs], one output. */
void scan_layer_recipe(struct gb *b, const void *ctx);

/* Products in all bodies of Scans of g. */
unsigned scan_products(const struct graph *g);
unsigned graph_count_op(const struct graph *g, const char *op); /* bodies too */
#endif
