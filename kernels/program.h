/* SPDX-License-Identifier: MIT */
/* program.h - fused programs: element-wise functions one after another, alone, behind a product,
 * or between convolutions along time over a few frames.
 *
 * Operands lie in buffers: places of memory that differ from run to run. A program runs block by
 * block over rows of n elements, so that what one instruction makes the next one finds in the first
 * cache: a part of a row, or as many short rows as fit; an operand that walks moves on with the
 * blocks, one element for all with the rows; what does neither is scratch, room for one block. Each
 * element-wise function rounds as the kernel of its name.
 *
 * Frames: instructions with a number of floats of their own know nothing of blocks, and there is
 * one row. Values are rows
 * of frames, each of whole vectors of 16 channels; lanes of channels that do not exist hold
 * anything. A product is one chain of fused multiply-adds per output, from the bias, over (channel,
 * tap) in order, as conv_f32 and gemm_f32 sum; a depthwise one sums over the taps of its channel
 * alone. */
#ifndef KERN_PROGRAM_H
#define KERN_PROGRAM_H
#include "kernels/pointwise.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERN_PROGRAM_BLOCK 768 /* elements */

enum kern_instr_op {
#define X(number, name, operands) KERN_##number,
    KERN_POINTWISE(X)
#undef X
        KERN_POINTWISE_COUNT,
    KERN_LOAD = KERN_POINTWISE_COUNT, /* to[row][channel] = a[channel][row]; lanes behind the
                                         channels are zero */
    KERN_STORE,                       /* to[channel][row] = a[row][channel] */
    KERN_COPY,                        /* to = a; to may lie before what it overlaps */
    KERN_PRODUCT,
    KERN_DEPTHWISE, /* a product of each channel with itself */
    KERN_PAD,       /* to = a, where frames outside the sequence are zero; b: the clock */
    KERN_INSTR_OPS,
    KERN_GRID = KERN_INSTR_OPS, /* what DIV, ROUND_S8 (or S16) and MUL make; made of those only */
    KERN_ROUNDED, /* `function` of a and b, a not a single element, rounded to a grid in registers
                   */
    KERN_SCALED   /* a, rounded if `first`, times b, plus c, single elements; rounded if `grid` */
};

/* Whole numbers times a scale, from the least to the most; inverse + rest: 1 / scale. Twice: the
 * whole numbers times up, or down where they are below 0, are rounded again, and times `scale`. */
struct kern_grid {
    float scale, inverse, rest, least, most;
    bool divides;      /* by the scale: the inverse would round something otherwise, or may */
    bool twice, bends; /* bends: up and down differ */
    float up, down;
    bool joins; /* SCALED: the whole numbers of `first` times b * times, plus c * shift, cut to
                   low .. high, are rounded: no quotient is taken */
    float times, shift, low, high;
};

#define KERN_GRID_MOST 0x20000     /* of low and high */
#define KERN_GRID_INVERSE_MOST 512 /* where the inverse is tried */
#define KERN_GRID_WHOLE 0x1.8p23f  /* floats beside it are a whole number apart */

/* False: the scale is next to 0 or infinite, or the numbers are larger. */
bool kern_grid_set(struct kern_grid *ret, float scale, int low, int high);
/* What lies on the grid goes on: times the slope where it is below 0 (PRELU), and rounded to
 * another grid. False: some number of the first would be rounded otherwise, or the slope is more
 * than 1. */
bool kern_grid_twice(struct kern_grid *g, float slope, float scale, int low, int high);

/* What lies on the first grid, times b, plus c, is rounded to g: for n pairs of b and c, b_step and
 * c_step (0: the same) apart. False: some number would be rounded otherwise, or they are many. */
bool kern_grid_join(struct kern_grid *g, const struct kern_grid *first, size_t n, const float *b,
                    size_t b_step, const float *c, size_t c_step);

struct kern_operand {
    uint32_t buffer;
    bool one;    /* a single element for all */
    size_t at;   /* floats from the buffer's start */
    size_t walk; /* SIZE_MAX: moves on with the blocks; 0: does not */
};

/* 16 outputs of a product: their place in the first row, and floats from row to row. */
struct kern_panel {
    struct kern_operand to;
    size_t ld;
    bool adds;
    struct kern_operand add; /* rows, ld apart, that are added to the sums */
};

struct kern_product {
    size_t channels, rows;             /* of a; of its outputs */
    size_t n_taps, tap_step, row_step; /* steps of a, in floats */
    size_t n_panels;
    const struct kern_panel *panel;
    const float *w; /* [panel][16] of bias, then [channel][tap][panel][16]; depthwise
                       [tap][panel][16] */
};

/* In run clock[0] frame r of a value is frame clock[0] * pulse - delay + r of a sequence of
 * clock[length]; all are i64 and wrap. */
struct kern_pad {
    int64_t pulse, delay;
    size_t length;
};

struct kern_instr {
    enum kern_instr_op op;
    struct kern_operand to, a, b; /* b: a again where the function has one operand */
    size_t n;        /* floats, a multiple of 16, or 0: the block's; LOAD, STORE: channels */
    size_t rows, ld; /* LOAD, STORE, PAD: frames, and floats from one to the next */
    union {
        const struct kern_product *product;
        const struct kern_pad *pad;
    };
    const struct kern_grid *grid, *first; /* ROUNDED, SCALED: none that divides; first: once */
    struct kern_operand c;
    enum kern_instr_op function; /* ROUNDED: ADD, SUB, MUL or DIV */
};

struct kern_program {
    const struct kern_instr *instr;
    size_t n_instrs;
};
#endif
