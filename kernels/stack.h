/* SPDX-License-Identifier: MIT */
/* stack.h - a program over a few frames: convolutions along time, and what is done to their results
 * element by element.
 *
 * A value is rows of frames, each of whole vectors of 16 channels; lanes of channels that do not
 * exist hold anything. Values lie in rooms: places of memory that differ from run to run. A product
 * is one chain of fused multiply-adds per output, from the bias, over (channel, tap) in order, as
 * conv_f32 and gemm_f32 sum; the other steps round as the kernels of their names. */
#ifndef KERN_STACK_H
#define KERN_STACK_H
#include "kernels/kern.h"

enum kern_stack_op {
    KERN_STACK_LOAD,  /* to[row][channel] = a[channel][row]; lanes behind the channels are zero */
    KERN_STACK_STORE, /* to[channel][row] = a[row][channel] */
    KERN_STACK_PRODUCT,
    KERN_STACK_COPY, /* to = a; to may lie before what it overlaps */
    KERN_STACK_GATE, /* to = tanh(a) * sigmoid(b) */
    KERN_STACK_ADD,
    KERN_STACK_SUB,
    KERN_STACK_MUL,
    KERN_STACK_DIV,
    KERN_STACK_RELU,
    KERN_STACK_SIGMOID,
    KERN_STACK_TANH,
    KERN_STACK_OPS
};

struct kern_stack_at {
    size_t room, at;
}; /* at: floats from the room's start */

/* 16 outputs of a product: their place in the first row, and floats from row to row. */
struct kern_stack_panel {
    struct kern_stack_at to;
    size_t ld;
    bool adds;
    struct kern_stack_at add; /* rows, ld apart, that are added to the sums */
};

struct kern_stack_step {
    enum kern_stack_op op;
    struct kern_stack_at to, a, b;
    size_t n;    /* LOAD, STORE, PRODUCT: channels of a; others: floats, a multiple of 16 */
    size_t rows; /* LOAD, STORE: of both; PRODUCT: of its outputs */
    size_t ld;   /* LOAD, STORE: floats from row to row */
    size_t n_taps, tap_step, row_step; /* of a product's a, floats */
    size_t n_panels;
    const struct kern_stack_panel *panel;
    const float *w; /* [panel][16] of bias, then [channel][tap][panel][16] */
};

struct kern_stack {
    const struct kern_stack_step *step;
    size_t n_steps;
};
#endif
