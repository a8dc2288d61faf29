/* SPDX-License-Identifier: MIT */
/* window.h - the geometry that convolutions and pooling share. */
#ifndef RILL_ENGINE_OPS_WINDOW_H
#define RILL_ENGINE_OPS_WINDOW_H
#include "engine/graph/op.h"

#define WINDOW_AXES_MAX 3

enum auto_pad { PAD_NOTSET, PAD_VALID, PAD_SAME_UPPER, PAD_SAME_LOWER };

extern const char *const auto_pad_names[];

/* Frames of SAME padding in front, where `total` are wanted in all. Where windows are further apart
 * than they are long that is negative, and so many frames are cut off, which is rounded otherwise
 * in convolutions than in pools. */
enum same_kind { SAME_POOL, SAME_CONV };
int64_t same_before(int auto_pad, enum same_kind kind, int64_t total);

/* Attributes as the file has them; empty lists mean 1 or 0 on every axis. */
struct window_attr {
    struct attr_ints kernel, strides, dilations, pads;
    int auto_pad;
    int64_t ceil_mode;
    int64_t may_lack; /* set by passes: where the input is shorter than the kernel nothing comes */
};

/* Their rows, of ops whose attributes begin with it. */
/* clang-format off */
#define AUTO_PAD_ROW                                                                               \
    { .name = "auto_pad", .kind = ATTR_CHOICE, .offset = offsetof(struct window_attr, auto_pad),   \
      .choices = auto_pad_names }
#define MAY_LACK_ROW                                                                               \
    { .name = "may_lack", .kind = ATTR_INT, .offset = offsetof(struct window_attr, may_lack),      \
      .own = true }
#define WINDOW_ROW(text, member)                                                                   \
    { .name = text, .kind = ATTR_INTS, .offset = offsetof(struct window_attr, member) }
/* clang-format on */

/* Checked and filled in. */
struct window {
    int axes; /* spatial axes */
    int64_t kernel[WINDOW_AXES_MAX], stride[WINDOW_AXES_MAX], dilation[WINDOW_AXES_MAX];
    int64_t before[WINDOW_AXES_MAX], after[WINDOW_AXES_MAX];
};

/* The same as three spatial axes, with the sizes of one input and output; missing axes have size
 * 1. */
struct window3 {
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
    int64_t n_in, n_out, n_kernel; /* products of the first three */
};

void window3_set(struct window3 *ret, const struct window *w, const struct tensor *x,
                 const struct tensor *y);

/* Joins axes of a convolution where that makes one that is as good. */
void window3_simplify(struct window3 *g);
/* Leaves out first and last places of the kernel of a convolution that lie outside of the input
 * wherever an output stands; ret_first: so many first ones of each axis. */
void window3_trim(struct window3 *g, int64_t ret_first[3]);
/* Places of the output are those of the input, one to one. */
bool window3_is_same(const struct window3 *g);

/* Reads and checks the attributes for an input of that rank; kernel: sizes where the attribute is
 * empty (weights). */
rill_status window_read(struct infer *c, const struct window_attr *a, int rank,
                        const int64_t *kernel, struct window *ret);

/* Ranks of a convolution's input 0 and weights 1, whose sizes must be known; kernel: the weights'
 * sizes from the third axis on. */
rill_status window_weights_sizes(struct infer *c, int64_t kernel[WINDOW_AXES_MAX]);
/* The same of floats. */
rill_status window_weights_read(struct infer *c, int64_t kernel[WINDOW_AXES_MAX]);

/* The output of a Conv or ConvInteger of inputs 0 and 1, whatever their types. */
rill_status conv_shape_infer(struct infer *c, enum dtype type);

/* Input 2 of a convolution, where there is one: f32[cout]. */
rill_status window_bias_check(struct infer *c, const struct dim *cout);

/* Output size on spatial axis i of an input of n. A pool of stride 1 gives nothing of one frame
 * less than its windows have, one of another stride something of what is there. */
rill_status window_size(struct infer *c, const struct window_attr *a, bool pool, struct window *w,
                        int i, const struct dim *n, const struct dim **ret);

/* The window for known sizes, where infer has accepted them, with the pads of SAME padding. */
void window_fix(const struct window_attr *a, enum same_kind kind, struct window *w,
                const int64_t *kernel, const struct tensor *x, const struct tensor *y);
#endif
