/* SPDX-License-Identifier: MIT */
/* probe.h - what wires of a graph hold for one length of the sequence where one of them holds given
 * numbers: of chains that move elements, where these go. */
#ifndef RILL_ENGINE_TYPING_PROBE_H
#define RILL_ENGINE_TYPING_PROBE_H
#include "engine/graph/op.h"

struct probe {
    const struct graph *g;
    const struct dim *symbol;
    int64_t length;
    struct arena *arena;
    const struct tensor **value; /* per wire; NULL: not known yet */
    int64_t *left;               /* elements that may still be made; NULL: any number */
    struct kern kern;
};

/* Wire `from` holds x. What is made lives in a. False: no memory. */
bool probe_begin(struct probe *ret, const struct graph *g, const struct dim *symbol, int64_t length,
                 uint32_t from, const struct tensor *x, struct arena *a);

/* NULL: other data decides, nothing of that length runs, or *left has become negative. Chains may
 * be of any length. */
const struct tensor *probe_wire(struct probe *p, uint32_t wire);
#endif
