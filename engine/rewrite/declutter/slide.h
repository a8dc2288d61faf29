/* SPDX-License-Identifier: MIT */
/* slide.h - layers of a net that is run over windows of a stream, computed along the stream
 * instead.
 *
 * A Scan whose slices are windows of W frames every H (a Frame in front of it) computes a layer for
 * every window anew. Where the layer puts nothing at the window's ends and its stride divides the
 * hop, what it makes of window j is a piece of what it makes of the stream: it leaves the body, to
 * stand in front of the Frame. Of a layer that is padded along the window, frames that no pad of it
 * or of layers before it reached leave the body, and those at both ends stay, as long as that saves
 * enough. Sums are of the same numbers in the same order, so bits stay. */
#ifndef RILL_ENGINE_REWRITE_DECLUTTER_SLIDE_H
#define RILL_ENGINE_REWRITE_DECLUTTER_SLIDE_H
#include "engine/graph/op.h"

/* Where windows lie in a wire that was computed along the stream: the frames of window j but `left`
 * at its front and `right` at its end, which the body has, are frames j*hop .. j*hop + size of
 * axis. The wire has `size` frames and one for every `stride` frames that the stream goes on behind
 * the first window. */
struct place {
    int axis;          /* -1: the same in all windows */
    int64_t size, hop; /* 1 <= hop <= size */
    int64_t left, right;
    int64_t stride;           /* stream frames a frame */
    const struct dim *beyond; /* stream frames behind the first window */
    const struct framed *of;  /* what the stream's own windows are */
};

/* The Frame that was there: its size, hop and input. */
struct framed {
    int64_t size, hop;
    uint32_t wire; /* of the outer graph */
};

enum { WAY_INPUTS = 5 };

/* The frames at one end of a window: from .. to of all frames of what slides into the node, and how
 * it takes them (NULL: as those of the stream). */
struct window_end {
    int64_t from, to;
    const void *attr;
};

/* How a node is computed along the stream. */
struct way {
    struct place out;         /* of all outputs */
    int64_t front, back;      /* frames of the stream of input 0 that are taken off first */
    struct window_end end[2]; /* front and end, where out.left and out.right are not 0 */
    enum op_id op;            /* in its stead, of default attributes; OP_NONE: the op as it is */
    const void *attr;         /* NULL: as they are */
    struct attr_ints instead[WAY_INPUTS]; /* constants in the place of inputs; n = 0: none */
};

/* Whether node n of body slides, with its inputs at `in`; NULL: it does, else the reason why not.
 * At least one input has an axis. ends: frames may stay at the ends of the window. Out of memory:
 * *ret_status. */
const char *node_slides(const struct graph *body, const struct node *n, const struct place *in,
                        bool ends, struct way *ret, rill_status *ret_status);

/* Frames of a window. */
int64_t place_frames(const struct place *p);

/* Places of windows of as many frames that differ in what their ends are get the longest ends of
 * all, where frames between stay. */
void places_meet(struct place *list, unsigned n);

/* It only moves elements: by itself nothing is saved. */
bool node_moves_alone(const struct node *n);

/* What becomes of a net over windows, for people. */
struct slide_report {
    const struct node *scan;
    const struct graph *body;
    const struct framed *windows;
    const struct place *at; /* per node of the body: of what it gives; axis -1: it stays */
    const char *const *why; /* per node: why it stays, where what it reads does not; else NULL */
    struct slide_report *next;
};

/* graph_with_windows_slid of passes.h, with a list of what it did, in order, in g's arena. NULL:
 * there are no nets over windows. */
rill_status graph_windows_slid(struct graph *ret, const struct graph *g,
                               struct slide_report **ret_list, rill_error *reterr);
#endif
