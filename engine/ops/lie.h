/* SPDX-License-Identifier: MIT */
/* lie.h - how an operand lies along the elements of an output that it broadcasts to. */
#ifndef RILL_ENGINE_OPS_LIE_H
#define RILL_ENGINE_OPS_LIE_H
#include "engine/graph/tensor.h"

enum lie {
    LIE_NOT,  /* otherwise than here */
    LIE_ONE,  /* one element for all */
    LIE_AXES, /* the output's axes first..last alone: each of its elements is that of all places
                 behind them, the whole that of all before them */
    LIE_ALL   /* element by element */
};

struct operand_lie {
    enum lie lie;
    int first, last; /* the output's axes, of LIE_AXES */
};

/* Of an operand and an output of those shapes. */
struct operand_lie operand_lie(const struct tensor *x, const struct tensor *out);
#endif
