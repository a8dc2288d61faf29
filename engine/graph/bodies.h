/* SPDX-License-Identifier: MIT */
/* bodies.h - the facts inside the bodies of Scan, Loop and If against the wires outside.
 *
 * A body lives in the same world as the wires around its node. Each of its inputs is compared with
 * the outer wire of its slot (a slice: without the scanned axis), each output with the outer output
 * and states with themselves, all scanned axes with each other, and what each node of the body
 * writes with what its inputs make of it. A disagreement is drift: a mistake of the pass that made
 * the graph. */
#ifndef RILL_ENGINE_GRAPH_BODIES_H
#define RILL_ENGINE_GRAPH_BODIES_H
#include "engine/graph/graph.h"

/* One node with bodies. */
struct body_report {
    const struct node *node;
    unsigned depth;                           /* bodies around it */
    unsigned n_states, n_scanned, n_captures; /* inputs by kind */
    const struct dim *iterations;             /* NULL: not known, or an If */
    unsigned n_drifts;
    unsigned n_shown;  /* of them, in the text */
    const char *drift; /* slot and both facts of each, "; " between; lives as long as the call */
};

/* once for each node, before those in its bodies */
struct body_reports {
    void (*each)(void *self, const struct body_report *r);
    void *self;
    unsigned n_scans, n_others; /* added to: Scans; Loops and Ifs */
    unsigned n_drifting;        /* nodes among them that drift */
};

/* Checks every body at every depth. Facts that are not known yet are skipped. fixed: a symbol that
 * has got a number, so that no body may mention it (NULL: none has). to: where to report, NULL to
 * fail with INTERNAL at the first node that drifts, naming node, slot and both facts; else drift is
 * only reported and the status is about memory. */
rill_status graph_check_bodies(const struct graph *g, const struct dim *fixed,
                               struct body_reports *to, rill_error *reterr);
#endif
