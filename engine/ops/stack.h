/* SPDX-License-Identifier: MIT */
/* stack.h - PulseStack: convolutions along time over a few frames, their windows and what stands
 * between them, in one step.
 *
 * Inside it a frame's channels lie together, and so do the frames of a window: [frame][channel],
 * channels filled up to whole vectors of 16. A window reads its own past in place and is its own
 * next value. The bits are those of the ops it stands for. */
#ifndef RILL_ENGINE_OPS_STACK_H
#define RILL_ENGINE_OPS_STACK_H
#include "engine/graph/op.h"

#define STACK_FRAMES_MAX 8 /* of an output; more of them fill vectors along time */
#define STACK_CHANNELS_MAX 256
#define STACK_WINDOW_MAX 1024 /* frames of a window, and of what is loaded */
#define STACK_ROOMS_MAX 192
#define STACK_PARTS_MAX 8 /* values that a product makes */

/* Steps of a program, six integers after the kind. Values and windows are numbers of their
 * lists. */
enum stack_kind {
    STACK_LOAD,    /* value, input */
    STACK_STORE,   /* output, value */
    STACK_PUSH,    /* window, value: its newest frames */
    STACK_SHIFT,   /* window: makes room for the next run's frames; once, behind its products */
    STACK_JOIN,    /* value that the next product makes, value that is added to it */
    STACK_PRODUCT, /* first of the values made, value or values + window, how many, taps, dilation,
                      stride */
    STACK_GATE,    /* value, a, b: tanh(a) * sigmoid(b) */
    STACK_ADD,
    STACK_SUB,
    STACK_MUL,
    STACK_DIV,
    STACK_RELU,
    STACK_SIGMOID,
    STACK_TANH,
    STACK_KINDS
};
#define STACK_STEP_INTS 7

/* Inputs: the constant of all products' biases and weights as kernels/stack.h has them, what is
 * loaded, windows [frames, lanes]. Outputs: what is stored, [1, channels, frames], then the
 * windows. */
struct stack_attr {
    struct attr_ints steps;
    struct attr_ints values;  /* channels, frames of each */
    struct attr_ints windows; /* channels, frames, new ones of them */
};

static inline int64_t stack_lanes(int64_t channels)
{
    return (channels + KERN_LANES - 1) / KERN_LANES * KERN_LANES;
}

extern const struct op op_pulse_stack;

/* Multiply-adds of a run. */
uint64_t stack_multiply_adds(const struct stack_attr *a);
#endif
