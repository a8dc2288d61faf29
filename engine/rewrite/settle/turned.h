/* SPDX-License-Identifier: MIT */
/* turned.h - parts of a graph whose images [images, channels, rows, columns] are kept with their
 * channels last: each wire may have a twin that is turned. Images are turned where such a part
 * begins and ends. */
#ifndef RILL_ENGINE_REWRITE_SETTLE_TURNED_H
#define RILL_ENGINE_REWRITE_SETTLE_TURNED_H
#include "engine/graph/edit.h"
#include "engine/ops/window.h"

/* For each old wire: the one with its channels last; whether anybody makes it as it was; whether
 * one reads it, or what is made of it, that wants channels last. */
struct turned {
    struct edit e;
    uint32_t *last;
    bool *made, *wanted;
};

/* look marks wires as wanted; then turn takes each old node in order. False: no memory. */
rill_status graph_with_parts_turned(struct graph *ret, const struct graph *g,
                                    void (*look)(struct turned *),
                                    bool (*turn)(struct turned *, uint32_t node),
                                    rill_error *reterr);

void turned_want_inputs(struct turned *t, const struct node *n);

/* Four axes of known sizes, not empty. */
bool turned_image(const struct graph *g, uint32_t wire, struct tensor *ret);
/* Its window over input 0, without pads that cut; kernel: where the attribute is empty. */
bool turned_window(const struct graph *g, const struct node *n, const struct window_attr *a,
                   enum same_kind kind, const int64_t *kernel, struct window *ret);
/* The node works element by element on images of one shape, single numbers and constants of each
 * channel. */
bool turned_elements_fit(const struct graph *g, const struct node *n);

/* Its first output is wanted; input 0 is there with its channels last. */
bool turned_is_wanted(const struct turned *t, const struct node *n);
bool turned_is_there(const struct turned *t, const struct node *n);

/* In all of these false: no memory. */

/* Input 0 with its channels last, turned in front of the node where there is none. */
bool turned_ready(struct turned *t, uint32_t node);
/* A node that writes the first output of `node` with its channels last, in its place. */
bool turned_put(struct turned *t, uint32_t node, const struct op *op, const void *attr,
                const uint32_t *in, unsigned n_in);
/* What stands between: an element-wise node or a Transpose that does the same, where its inputs are
 * there; all others read what they read before. */
bool turned_rest(struct turned *t, uint32_t node);

struct attr_ints turned_pair(struct arena *a, int64_t first, int64_t second);
struct attr_ints turned_pads(struct arena *a, const struct window *w);
#endif
