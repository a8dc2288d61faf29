/* SPDX-License-Identifier: MIT */
/* bind.h - symbols get their values from the sizes of actual inputs. */
#ifndef RILL_ENGINE_GRAPH_BIND_H
#define RILL_ENGINE_GRAPH_BIND_H
#include "engine/graph/graph.h"

#define BOUND_MAX 32 /* symbols beyond are left as they are */

struct bound {
    const struct dim *symbol;
    int64_t value;
    const char *input; /* which said so */
    int axis;
};

struct binding {
    struct dims *dims;
    struct bound list[BOUND_MAX];
    unsigned n;
};

/* Reads what each input (one per graph input, NULL: not given) says about the symbols of its
 * declared shape: axes like S, 2*S or S+3 are solved, the others are checked once their symbols are
 * known. INVALID where an input does not fit its declared shape, what is asserted of a symbol
 * does not hold of its value, or two inputs contradict each other; then both are named. */
rill_status binding_from_inputs(struct binding *ret, const struct graph *g,
                                const struct tensor *const *inputs, rill_error *reterr);

const struct dim *binding_dim(const struct binding *b, const struct dim *d);
void binding_fact(const struct binding *b, struct fact *f);
/* t, or where it holds symbolic sizes a copy in a with those known; NULL: out of memory. */
const struct tensor *binding_tensor(const struct binding *b, struct arena *a,
                                    const struct tensor *t);
#endif
