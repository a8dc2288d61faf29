/* SPDX-License-Identifier: MIT */
/* fused.h - Fused: element-wise functions one after another in one step, alone or between
 * convolutions along time. Made by passes only; the bits are those of the ops it stands for.
 *
 * A program is steps over values, which are matrices of f32. There are two layouts:
 *
 * Flat, where there is no product: values lie as tensors do, rows one after the other; an operand
 * may be one row, one column or one element for all. What is loaded and stored stays where it lies.
 *
 * Frames: a value is channels (rows) by frames (columns), and its frames lie one after the other,
 * channels filled up to whole vectors of 16. So do those of a window, which reads its own past in
 * place and is its own next value. */
#ifndef RILL_ENGINE_OPS_FUSED_H
#define RILL_ENGINE_OPS_FUSED_H
#include "engine/graph/op.h"
#include "kernels/program.h"

#define FUSED_FRAMES_MAX 8 /* of an output; more of them fill vectors along time */
#define FUSED_CHANNELS_MAX 256
#define FUSED_WINDOW_MAX 1024 /* frames of a window, and of what is loaded */
#define FUSED_BUFFERS_MAX 192 /* inputs and outputs */
#define FUSED_PARTS_MAX 8     /* values that a product makes */
#define FUSED_STEPS_MAX 8192
#define FUSED_VALUES_MAX 4096

/* A step is its op, to, a and b: numbers of values, where nothing else is said. Ops are those of
 * kernels/program.h (LOAD: value, input; STORE: output, value; PRODUCT: first of the values made,
 * value or values + window, number of the product; DEPTHWISE: the same of one value; PAD: b is the
 * number of the pad), and these, which are a copy or part of a product: */
enum fused_op {
    FUSED_PUSH = KERN_INSTR_OPS, /* window, value: its newest frames */
    FUSED_SHIFT, /* window: makes room for the next run's frames; once, behind its products */
    FUSED_JOIN,  /* value that the next product makes, value that is added to it */
    FUSED_PAST,  /* value, window, the first of the frames that it is */
    FUSED_OPS
};
#define FUSED_STEP_INTS 4

/* Inputs: in frames the constant of all products' biases and weights as kernels/program.h has them,
 * and the clock (engine/ops/clock.h) where there are pads; what is loaded; windows [frames, lanes].
 * Outputs: what is stored, then the windows. */
struct fused_attr {
    struct attr_ints steps;
    struct attr_ints values;   /* rows, columns of each */
    struct attr_ints products; /* parts, taps, dilation, stride of each */
    struct attr_ints windows;  /* channels, frames, new ones of them */
    struct attr_ints pads;     /* pulse, delay, length of each, as struct kern_pad */
    struct attr_ints shapes;   /* of each tensor stored: rank, then dims */
};

struct fused_value {
    int64_t rows, columns;
};
struct fused_product {
    int64_t parts, taps, dilation, stride;
};
struct fused_window {
    int64_t channels, frames, fresh;
};

#define FUSED_PRODUCT_INTS 4
#define FUSED_WINDOW_INTS 3
#define FUSED_PAD_INTS 3

static inline int64_t fused_values(const struct fused_attr *a)
{
    return a->values.n / 2;
}
static inline int64_t fused_products(const struct fused_attr *a)
{
    return a->products.n / FUSED_PRODUCT_INTS;
}
static inline int64_t fused_windows(const struct fused_attr *a)
{
    return a->windows.n / FUSED_WINDOW_INTS;
}
static inline int64_t fused_pads(const struct fused_attr *a)
{
    return a->pads.n / FUSED_PAD_INTS;
}
static inline int64_t fused_steps(const struct fused_attr *a)
{
    return a->steps.n / FUSED_STEP_INTS;
}
static inline bool fused_in_frames(const struct fused_attr *a)
{
    return a->products.n > 0 || a->windows.n > 0;
}
static inline bool fused_is_product(const int64_t *step)
{
    return step[0] == KERN_PRODUCT || step[0] == KERN_DEPTHWISE;
}
/* Inputs before those that are loaded. */
static inline int64_t fused_n_first(const struct fused_attr *a)
{
    return fused_in_frames(a) ? 1 + (a->pads.n > 0) : 0;
}

struct fused_value fused_value_at(const struct fused_attr *a, int64_t i);
/* What a product reads: a value, or a window behind them. */
struct fused_value fused_source_at(const struct fused_attr *a, int64_t i);
struct fused_product fused_product_at(const struct fused_attr *a, int64_t i);
struct fused_window fused_window_at(const struct fused_attr *a, int64_t i);
struct kern_pad fused_pad_at(const struct fused_attr *a, int64_t i);
/* Rows and columns of what a flat program makes: the largest of its values. */
struct fused_value fused_whole(const struct fused_attr *a);

static inline int64_t fused_lanes(int64_t channels)
{
    return (channels + KERN_LANES - 1) / KERN_LANES * KERN_LANES;
}
int64_t fused_product_panels(const struct fused_attr *a, const int64_t *step);
int64_t fused_product_floats(const struct fused_attr *a, const int64_t *step);

/* Numbers and sizes of everything agree, for so many inputs and outputs, of which each is loaded or
 * stored once; *ret_step: the step that does not, or -1. */
bool fused_fits(const struct fused_attr *a, int64_t loads, int64_t stores, int64_t *ret_step);

/* Buffers: scratch, windows, what is loaded, what is stored, the clock. */
#define FUSED_BUFFER_SCRATCH 0
#define FUSED_BUFFER_WINDOWS 1

struct fused {
    struct kern_program program;
    unsigned n_first, n_loads, n_stores, n_windows;
    bool in_frames;
    size_t rows, columns; /* the program runs row by row; once in frames */
    size_t *row_step;     /* of each buffer, floats */
    size_t *window_bytes;
};

/* Makes instructions of the steps and finds places for the values. The attribute fits. */
rill_status fused_compile(struct prep *c, struct fused *ret);

/* An element-wise step on so many values reads and makes what there is; its instruction, with the
 * places of the values. */
bool fused_element_fits(const int64_t *step, int64_t n_values);
struct kern_instr fused_element(const int64_t *step, const struct kern_operand *at);

/* Steps that divide by a scale, round (RoundS8, RoundS16) and multiply by the scale, and do so
 * again, behind a PRelu of one slope or at once: how many of the n steps are one KERN_GRID. 0: the
 * numbers are not known, or make no grid (kernels/program.h). */
struct fused_reader {
    const void *of;
    /* Where the value is known; NULL: it is not. */
    const struct tensor *(*known)(const void *of, int64_t value);
    /* Whether the step, of number i among those given, is the last that reads the value. */
    bool (*ends)(const void *of, int64_t value, int64_t i);
    const struct kern_operand *at; /* places of the values; fused_rounded wants them */
};
int64_t fused_grid(const struct fused_reader *r, const int64_t *steps, int64_t n,
                   struct kern_grid *ret);
/* The same of an instruction that rounds in registers what it computes: a product and a sum, or one
 * function and a rounding behind it. It points to the grids. 0: the steps are none. */
int64_t fused_rounded(const struct fused_reader *r, const int64_t *steps, int64_t n,
                      struct kern_grid grid[2], struct kern_instr *ret);

/* The function of f32 that an op is: KERN_ADD.., or -1; its operands, and the name of its kernel.
 */
int fused_function(enum op_id id);
unsigned fused_operands(int function);
const char *fused_function_name(int function);

/* Multiply-adds of a run. */
uint64_t fused_multiply_adds(const struct fused_attr *a);

extern const struct op op_fused;
#endif
