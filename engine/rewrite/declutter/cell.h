/* SPDX-License-Identifier: MIT */
/* cell.h - one step of a recurrent cell, written out as products, gates and sums. */
#ifndef RILL_ENGINE_REWRITE_DECLUTTER_CELL_H
#define RILL_ENGINE_REWRITE_DECLUTTER_CELL_H
#include "engine/graph/op.h"

struct cell_found {
    enum op_id op; /* OP_LSTM, OP_GRU, OP_RNN */
    unsigned gates;
    int64_t batch, inputs, hidden;
    uint32_t x, h,
        c; /* what it reads: [batch, inputs], [batch, hidden]; c of an LSTM only, else WIRE_NONE */
    uint32_t next_h, next_c; /* what it gives */
    uint32_t at;   /* node from where on all it reads is there and nothing it gives was read */
    uint32_t last; /* node that writes next_h */
    struct tensor *w, *r, *b; /* as the op wants them */
};

/* Whether node i gives the next hidden state of a cell of one step. h: the state that it must go on
 * from, or WIRE_NONE for any; a plain RNN is only seen with one. false: no, or no memory (which
 * *ret_status says). */
bool cell_find(const struct graph *g, uint32_t i, uint32_t h, struct cell_found *ret,
               rill_status *ret_status);
#endif
