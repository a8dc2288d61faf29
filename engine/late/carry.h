/* SPDX-License-Identifier: MIT */
/* carry.h - states of a graph whose sizes data decides, which may grow along one axis.
 *
 * Inside they are inputs and outputs. Outside each is a buffer that has the state's bytes in front
 * and room for as many frames as are reserved, and the number of frames that are there. */
#ifndef RILL_ENGINE_LATE_CARRY_H
#define RILL_ENGINE_LATE_CARRY_H
#include "engine/graph/graph.h"

struct carried {
    const char *name;
    struct tensor most;        /* with all that is reserved; without data; f32 with a `number` of
                                * 16-bit floats */
    const struct tensor *init; /* NULL: zeros; of one that grows, no frames */
    int axis;                  /* along which it grows; -1: its size stays */
};

struct carry {
    struct carried *list;
    uint32_t n;
};

/* The states of g, of which each may have one axis that is a symbol; inner: g without states, which
 * are its last inputs and its last outputs. Lives in g's arena. */
rill_status carry_make(struct carry *ret, struct graph *inner, const struct graph *g,
                       int64_t reserve_frames, rill_error *reterr);

/* Refuses a next value that is never of the state's shape. */
rill_status carry_check(const struct carried *c, const struct fact *in_file, rill_error *reterr);

/* The state as it is with so many frames. */
struct tensor carry_view(const struct carried *c, int64_t frames, const void *data);
int64_t carry_first_frames(const struct carried *c);

/* What the buffer has to begin with; *ret NULL: zeros. */
rill_status carry_init(const struct carried *c, struct arena *a, const struct tensor **ret,
                       rill_error *reterr);

/* The next value into the buffer, or, is_first, the one that the caller begins with. INVALID: it is
 * of another shape; LIMIT: it has more frames than are reserved. */
rill_status carry_put(const struct carried *c, const struct tensor *next, bool is_first,
                      void *buffer, int64_t *ret_frames, rill_error *reterr);
#endif
