/* SPDX-License-Identifier: MIT */
/* program_build.h - builds fused programs (engine/ops/fused.h) of nodes of a graph that is edited.
 *
 * Lists grow as they must. A limit of Fused that is met, and memory that is not there, are noted
 * and told at the end, so that nobody has to ask in between. */
#ifndef RILL_ENGINE_REWRITE_SETTLE_PROGRAM_BUILD_H
#define RILL_ENGINE_REWRITE_SETTLE_PROGRAM_BUILD_H
#include "engine/graph/edit.h"
#include "engine/ops/fused.h"

struct int_list {
    int64_t *v;
    uint32_t n, cap;
};

struct program_builder {
    struct edit *e;
    unsigned ports_max; /* that are loaded, and that are stored */
    int64_t *value;     /* of each wire: its value plus 1; 0: it has none */
    struct int_list valued;
    struct int_list steps, values, products, windows, pads, shapes;
    uint32_t weights; /* WIRE_NONE: there is no product */
    uint32_t clock;   /* of its pads */
    uint32_t load[FUSED_BUFFERS_MAX], store[FUSED_BUFFERS_MAX];
    uint32_t past[FUSED_BUFFERS_MAX], next[FUSED_BUFFERS_MAX]; /* of each window */
    unsigned n_loads, n_stores;
    bool full, no_memory;
};

/* Once for all programs of a pass. False: no memory. */
bool program_builder_init(struct program_builder *p, struct edit *e, unsigned ports_max);

/* A new program; what the last one was made of stays its own. */
void program_begin(struct program_builder *p);

void program_step(struct program_builder *p, int64_t op, int64_t to, int64_t a, int64_t b);
/* Steps that are there already, of another program. */
void program_steps_copy(struct program_builder *p, struct attr_ints steps);
struct attr_ints program_steps(const struct program_builder *p);

/* The value of a wire; -1: it has none yet. */
int64_t program_value_of(const struct program_builder *p, uint32_t wire);
int64_t program_value_new(struct program_builder *p, uint32_t wire, struct fused_value size);
/* The wire is that value, too. */
void program_value_share(struct program_builder *p, uint32_t wire, int64_t value);

/* The value of a wire, which is loaded if it has none; it is of that size then. */
int64_t program_load(struct program_builder *p, uint32_t wire, struct fused_value size);

/* Its number. */
unsigned program_window(struct program_builder *p, uint32_t past, uint32_t next,
                        struct fused_window size);
unsigned program_n_windows(const struct program_builder *p);
/* The window whose next value a wire is; -1: none. */
int64_t program_window_of(const struct program_builder *p, uint32_t wire);

/* What products read: a value, or this in its stead. */
static inline int64_t program_of_window(int64_t window)
{
    return ~window;
}
/* Its values are those from `first` on, of the wires that the caller has given values. op: PRODUCT
 * or DEPTHWISE. */
void program_product(struct program_builder *p, enum kern_instr_op op, int64_t first,
                     int64_t source, struct fused_product product);
void program_pad(struct program_builder *p, int64_t to, int64_t a, struct kern_pad pad,
                 uint32_t clock);

/* The program stands where the last of those nodes stood, and they go; what they make and others
 * read is stored. It stays out, and they stay, where it is full. */
rill_status program_end(struct program_builder *p, const uint32_t *node, unsigned n,
                        rill_error *reterr);
#endif
