/* SPDX-License-Identifier: MIT */
/* epilogue.h - the fused program behind a convolution, a product or a cell, run while its rows are
 * hot: an attribute `epilogue`, a list of steps that only passes make.
 *
 * Its steps are those of engine/ops/fused.h, element-wise ones alone. Value 0 is what the node
 * makes, and what each step makes again; values 1.. are inputs behind the node's own (from the
 * input that the node's row says; WIRE_NONE fills what is missing before them): f32 of the output's
 * shape (axes of one in front of it may be missing), or one value per channel ([1, C, 1, ..] or
 * [C, 1, ..]; the channels of a product are its last axis), or a single value. */
#ifndef RILL_ENGINE_OPS_EPILOGUE_H
#define RILL_ENGINE_OPS_EPILOGUE_H
#include "engine/ops/fused.h"
#include "engine/ops/lie.h"

#define EPILOGUE_ATTR "epilogue"
/* Its row, of attributes of that type. */
/* clang-format off */
#define EPILOGUE_ROW(type)                                                                         \
    { .name = EPILOGUE_ATTR, .kind = ATTR_INTS, .offset = offsetof(type, epilogue), .own = true }
/* clang-format on */
#define EPILOGUE_STEPS_MAX 20
#define EPILOGUE_IN_MAX 14 /* inputs of it */
#define EPILOGUE_IN 3      /* the first of them, of convolutions and products */

/* Whether an operand lies as an input of an epilogue may, on an output with channels on that axis
 * (-1: none). */
bool epilogue_reads(const struct tensor *x, const struct tensor *out, int axis);

struct epilogue {
    struct kern_program program;      /* buffers: what the node made, then the inputs */
    int64_t images, channels, places; /* of the output: all groups' channels, places of a channel */
    unsigned first_in, n_in;
    bool by_channel;                          /* a row of the program is a channel */
    enum lie lie[EPILOGUE_IN_MAX];            /* LIE_AXES: one element a channel */
    size_t channel_step[1 + EPILOGUE_IN_MAX]; /* floats of a buffer from channel to channel */
    int64_t row_floats; /* from row to row of epilogue_rows: the channels of all shares */
};

/* The steps in the attributes of an op that takes them. */
static inline struct attr_ints *epilogue_steps(const struct op *op, void *attr)
{
    return (struct attr_ints *) (void *) ((unsigned char *) attr + op->epilogue_at);
}
static inline const struct attr_ints *epilogue_steps_of(const struct node *n)
{
    return (const void *) ((const unsigned char *) n->attr + n->op->epilogue_at);
}

/* The inputs that an epilogue has of a node's n_in; its axis of channels for an output of that
 * rank. */
unsigned epilogue_inputs(const struct op *op, unsigned n_in);
int epilogue_axis(const struct op *op, int rank);

/* Checks steps and their inputs against out[0], which must be set. */
rill_status epilogue_infer(struct infer *c, struct attr_ints steps);
rill_status epilogue_prepare(struct prep *c, struct attr_ints steps, struct epilogue *ret);

/* One that there is. */
void epilogue_channels_run(const struct epilogue *p, const struct eval *e, float *y, int64_t i,
                           int64_t first, int64_t n);
void epilogue_rows_run(const struct epilogue *p, const struct eval *e, float *y, int64_t first,
                       int64_t n);

/* Runs it on n channels from `first` on of image i; y: those channels, one after the other. */
static inline void epilogue_channels(const struct epilogue *p, const struct eval *e, float *y,
                                     int64_t i, int64_t first, int64_t n)
{
    if (p->program.n_instrs)
        epilogue_channels_run(p, e, y, i, first, n);
}

/* Runs it on the output y, whose channels are its last axis: on n rows of it, or on the whole. */
static inline void epilogue_rows_some(const struct epilogue *p, const struct eval *e, float *y,
                                      int64_t first, int64_t n)
{
    if (p->program.n_instrs)
        epilogue_rows_run(p, e, y, first, n);
}
static inline void epilogue_rows(const struct epilogue *p, const struct eval *e, float *y)
{
    epilogue_rows_some(p, e, y, 0, p->images);
}

/* For a share that begins at that channel (0 where it has all) and that element of the output: adds
 * where the epilogue's inputs begin to shift_bytes (struct share). */
void epilogue_shift(const struct epilogue *p, int64_t channel, int64_t element,
                    size_t *shift_bytes);
/* Takes a product with a single value from its beginning; returns the input that has it, 0 where
 * none is. */
unsigned epilogue_take_scale(struct epilogue *p);
#endif
