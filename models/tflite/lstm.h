/* SPDX-License-Identifier: MIT */
/* lstm.h - what the forms of UNIDIRECTIONAL_SEQUENCE_LSTM share: numbers of their inputs, and the
 * Scan along time over what the input gives all gates, with the output and the cell as states.
 *
 * lstm.c          floats, by weights of floats or bytes
 * lstm_whole.c    bytes
 * lstm_scan.c     the sizes, the Scan */
#ifndef RILL_MODELS_TFLITE_LSTM_H
#define RILL_MODELS_TFLITE_LSTM_H
#include "models/tflite/internal.h"

#include <limits.h>

/* Inputs; each list has a gate after the other: input, forget, cell, output. */
enum {
    IN_X,
    IN_WEIGHTS,
    IN_RECURRENT = 5,
    IN_PEEPHOLES = 9, /* input, forget, output */
    IN_BIAS = 12,
    IN_PROJECTION = 16,
    IN_PROJECTION_BIAS,
    IN_OUTPUT,
    IN_CELL,
    IN_NORMS
};
enum { GATE_INPUT, GATE_FORGET, GATE_CELL, GATE_OUTPUT, GATES };

struct lstm_sizes {
    int64_t batch, n, n_in, n_out; /* n: cells */
    bool by_time;                  /* the first axis is time, the second the batch */
};

/* Of the input, the weights and both states, which have to fit each other; states are refused that
 * are of other types than these. */
rill_status tfl_lstm_sizes_read(struct conversion *c, enum dtype output, enum dtype cell,
                                struct lstm_sizes *ret);

struct lstm_scan {
    struct conversion inner; /* of the body, which inputs and outputs are to be added to */
    struct subgraph within;
    struct graph body;
    bool by_time;
    struct variable *v[2];
    uint32_t in[3];
};

/* sums: what the input gives all gates, [time, batch, ..]; ret stays where it is. */
rill_status tfl_lstm_scan_begin(struct conversion *c, bool by_time, uint32_t sums,
                                struct lstm_scan *ret);
/* One more input of the body, [batch, n]. */
rill_status tfl_body_input(struct conversion *c, const char *name, enum dtype type, int64_t batch,
                           int64_t n, uint32_t *ret);
/* The body's outputs are the next output and cell, and the output again, all of which is that of
 * the operator. */
rill_status tfl_lstm_body_outputs(struct conversion *inner, uint32_t out, uint32_t cell);
rill_status tfl_lstm_scan_end(struct conversion *c, struct lstm_scan *s);

rill_status tfl_lstm_whole(struct conversion *c);
#endif
