/* SPDX-License-Identifier: MIT */
/* then.h - what follows the sums of a convolution or a product while its rows are hot: an attribute
 * `then`, a list of stages that only passes make, applied in order. ADD, MUL and PRELU take one
 * more input each, in the order of the stages, behind the bias (input 2, WIRE_NONE where there is
 * none): f32 of the output's shape (not PRELU), or one value per channel
 * ([1, C, 1, ..] or [C, 1, ..]; the channels of a product are its last axis), or a single value.
 * Each stage gives the bits of the op of its name. LeakyRelu is PRELU with its alpha. */
#ifndef RILL_ENGINE_OPS_THEN_H
#define RILL_ENGINE_OPS_THEN_H
#include "engine/graph/op.h"

enum then_kind { THEN_ADD, THEN_MUL, THEN_PRELU, THEN_RELU, THEN_SIGMOID, THEN_TANH, THEN_KINDS };

#define THEN_ATTR "then"
#define THEN_MAX 6    /* stages */
#define THEN_IN_MAX 4 /* inputs of them */
#define THEN_IN 3     /* the first of them */

static inline bool then_takes_input(int64_t kind)
{
    return kind <= THEN_PRELU;
}

enum then_how { THEN_NOT, THEN_ONE, THEN_CHANNEL, THEN_FULL };

/* How an input of that shape lies on an output of out_rank axes, channels on one of them (-1:
 * none). */
enum then_how then_how(int64_t kind, int rank, const int64_t *dim, int out_rank, const int64_t *out,
                       int axis);

struct then {
    unsigned n;
    int64_t images, channels, places; /* of the output: all groups' channels, places of a channel */
    struct {
        int kind;
        enum then_how how;
        unsigned in;
    } stage[THEN_MAX];
};

/* Checks stages and their inputs against out[0], which must be set. */
rill_status then_infer(struct infer *c, struct attr_ints stages, int axis);
rill_status then_prepare(struct prep *c, struct attr_ints stages, int axis, struct then *ret);

/* Stages on n channels from `first` on of image i; y: those channels, one after the other. */
void then_apply(const struct then *t, const struct eval *e, float *y, int64_t i, int64_t first,
                int64_t n);
/* Stages on the whole output y, whose channels are its last axis. */
void then_rows(const struct then *t, const struct eval *e, float *y);
#endif
