/* SPDX-License-Identifier: MIT */
/* pass.h - what is done to graphs between typing and planning: lists of passes, run in order,
 * bodies included. declutter and settle hold one list each. */
#ifndef RILL_ENGINE_REWRITE_PASS_H
#define RILL_ENGINE_REWRITE_PASS_H
#include "engine/graph/graph.h"

#define PASSES_MAX 64

struct pass {
    const char *name;
    bool keeps_bits;
    /* One graph: bodies are walked by who runs the list. What is made lives in g's arena; ret may
     * not be g. Dead nodes and wires are left for pruning. */
    rill_status (*run)(struct graph *ret, const struct graph *g, rill_error *reterr);
};

/* What the passes left, for people. */
struct pass_log {
    unsigned n;
    struct {
        const char *name;
        bool keeps_bits;
        unsigned nodes;
    } at[PASSES_MAX];
};

/* Takes NULL for log. */
void pass_log_add(struct pass_log *log, const char *name, bool keeps_bits,
                  const struct graph *made);

/* What is made lives in g's arena; ret may be g. log (may be NULL) is added to. */
rill_status passes_run(const struct pass *list, size_t n, struct graph *ret, const struct graph *g,
                       struct pass_log *log, rill_error *reterr);
#endif
