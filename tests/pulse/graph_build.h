/* SPDX-License-Identifier: MIT */
/* graph_build.h - small graphs for tests, written as a list of calls.
 *
 * A recipe is run once with time as a symbol and once for each length with time as a number: the
 * graph that is pulsed and the graph that says what is right share no dimension, no constant and no
 * fold.
 *
 *   uint32_t x = gb_input(b, "x", 3, 1, 4, GB_TIME);
 *   uint32_t w = gb_weights(b, 3, 8, 4, 3);
 *   gb_output(b, GB(b, "Conv", "strides=2 pads=1,1", x, w));
 *
 * Errors are sticky: the first one is kept in b->err, and later calls give WIRE_NONE. */
#ifndef TESTS_PULSE_GRAPH_BUILD_H
#define TESTS_PULSE_GRAPH_BUILD_H
#include "engine/graph/op.h"

#define GB_TIME (-1) /* as a dimension: time; -k: k times time */

struct gb {
    struct arena *arena;
    struct dims *dims;
    struct graph *g;
    const struct dim *time; /* the symbol, or the length */
    uint32_t seed;          /* of weights; each takes the next numbers */
    unsigned n_names;
    rill_error err; /* status RILL_OK: fine so far */
};

typedef void gb_recipe(struct gb *b, const void *ctx);

void gb_init(struct gb *b, struct graph *g, struct arena *a, struct dims *ds,
             const struct dim *time, uint32_t seed);

uint32_t gb_input(struct gb *b, const char *name, int rank, ...); /* f32, dimensions as int */
void gb_output(struct gb *b, uint32_t wire);

uint32_t gb_weights(struct gb *b, int rank, ...); /* f32 in -0.5..0.5 */
uint32_t gb_full(struct gb *b, float value, int rank, ...);
uint32_t gb_scalar(struct gb *b, float value);
uint32_t gb_floats(struct gb *b, unsigned n, const float *v);
uint32_t gb_const(struct gb *b, enum dtype type, int rank, const int64_t *dim, const void *values);
uint32_t gb_ints_of(struct gb *b, unsigned n, const int64_t *v);
uint32_t gb_int(struct gb *b, int64_t v); /* scalar i64 */
#define gb_ints(b, ...)                                                                            \
    gb_ints_of((b), (unsigned) (sizeof(int64_t[]) { __VA_ARGS__ } / sizeof(int64_t)),              \
               (const int64_t[]) { __VA_ARGS__ })
/* i64 or dim, as the sizes are */
uint32_t gb_shape(struct gb *b, int rank, const struct dim *const *shape);

/* Attributes as text: "strides=2 pads=1,1 auto_pad=SAME_UPPER epsilon=0.5"; a number with a point
 * is a float, commas make lists, and what follows a ' is one word. */
struct node *gb_node(struct gb *b, const char *op, const char *attrs, const uint32_t *in,
                     unsigned n_in, unsigned n_out);
uint32_t gb_op(struct gb *b, const char *op, const char *attrs, const uint32_t *in, unsigned n_in);
#define GB(b, op, attrs, ...)                                                                      \
    gb_op((b), (op), (attrs), (const uint32_t[]) { __VA_ARGS__ },                                  \
          (unsigned) (sizeof(uint32_t[]) { __VA_ARGS__ } / sizeof(uint32_t)))

/* A body reads its own inputs; its fact is that of what comes in. */
void gb_body(struct gb *body, struct gb *outer, const char *name);
uint32_t gb_body_input(struct gb *body, const char *name);
/* Scan of states, scanned inputs (axes: one each) and captures; the node's outputs are states, then
 * scanned. */
struct gb_scan {
    int states, scans, outs;
    const int64_t *in_axes, *in_reverse, *out_axes, *out_reverse;
};
/* SCAN_OF(1, 2, 1, .in_axes = I64S(1, 1)): so many states, scanned inputs and outputs. */
/* clang-format off */
#define I64S(...) (int64_t[]) { __VA_ARGS__ }
#define SCAN_OF(n_states, n_scanned, n_outs, ...) \
    { .states = n_states, .scans = n_scanned, .outs = n_outs, __VA_ARGS__ }
/* clang-format on */
struct node *gb_scan(struct gb *b, struct gb *body, const struct gb_scan *s, const uint32_t *in,
                     unsigned n_in);

/* Usual single steps. */
uint32_t gb_slice(struct gb *b, uint32_t x, int axis, int64_t from, int64_t to, int64_t step);
uint32_t gb_pad(struct gb *b, uint32_t x, int rank, int axis, const char *mode, int64_t before,
                int64_t after);
uint32_t gb_transpose(struct gb *b, uint32_t x, const char *perm); /* "0,2,1" */

/* n pieces of `size` along the last axis, at most 4. */
void gb_split(struct gb *b, uint32_t x, unsigned n, int64_t size, uint32_t *ret);

const char *gb_printf(struct gb *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A small generator, the same everywhere. */
uint32_t gb_random(uint32_t *state);  /* 24 bits */
float gb_random_f32(uint32_t *state); /* -0.5..0.5 */
#endif
