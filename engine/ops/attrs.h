/* SPDX-License-Identifier: MIT */
/* attrs.h - the attributes of ops that passes and streaming rules read, as their rows lay them out.
 * Each accessor is of the ops it names and of no other. */
#ifndef RILL_ENGINE_OPS_ATTRS_H
#define RILL_ENGINE_OPS_ATTRS_H
#include "engine/ops/window.h"

struct conv_attr {
    struct window_attr w;
    int64_t group;
    struct attr_ints then;
};

struct deconv_attr {
    struct conv_attr conv;
    struct attr_ints output_padding, output_shape;
};

struct pool_attr {
    struct window_attr w;
    int64_t count_include_pad, storage_order, p, counted_axis;
};

struct gemm_attr {
    float alpha, beta;
    int64_t ta, tb;
    struct attr_ints then;
};

struct transpose_attr {
    struct attr_ints perm;
};

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

struct pad_attr {
    int mode;
};

enum frame_end { END_DROP, END_COVER, END_FLUSH };

struct frame_attr {
    int64_t size, hop, before;
    int end;
};

enum tail { TAIL_COMPLETE, TAIL_FULL };

struct overlap_attr {
    int64_t hop, normalise;
    int tail;
};

/* Conv, ConvTranspose, AveragePool, LpPool, MaxPool: theirs begin with it. */
static inline const struct window_attr *window_attr_of(const struct node *n)
{
    return n->attr;
}

/* Conv, and ConvTranspose, whose begins with it. */
static inline const struct conv_attr *conv_attr_of(const struct node *n)
{
    return n->attr;
}

/* ConvTranspose */
static inline const struct deconv_attr *deconv_attr_of(const struct node *n)
{
    return n->attr;
}

/* AveragePool, LpPool, MaxPool */
static inline const struct pool_attr *pool_attr_of(const struct node *n)
{
    return n->attr;
}

/* Gemm */
static inline const struct gemm_attr *gemm_attr_of(const struct node *n)
{
    return n->attr;
}

/* Transpose */
static inline const struct transpose_attr *transpose_attr_of(const struct node *n)
{
    return n->attr;
}

/* Pad */
static inline const struct pad_attr *pad_attr_of(const struct node *n)
{
    return n->attr;
}

/* Frame */
static inline const struct frame_attr *frame_attr_of(const struct node *n)
{
    return n->attr;
}

/* OverlapAdd */
static inline const struct overlap_attr *overlap_attr_of(const struct node *n)
{
    return n->attr;
}
#endif
