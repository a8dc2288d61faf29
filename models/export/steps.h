/* SPDX-License-Identifier: MIT */
/* steps.h - a pulsed graph -> a graph that takes one pulse a run and carries its states through its
 * ports, of ops that files have. */
#ifndef RILL_MODELS_EXPORT_STEPS_H
#define RILL_MODELS_EXPORT_STEPS_H
#include "engine/graph/pulsed.h"

/* What a step model is to be: names of the outputs, one each of p's graph (NULL: those of its
 * wires); standard: transforms, framing and overlap-add as ops of the standard, too. */
struct steps_opts {
    const char *const *output_names;
    bool standard;
};

/* The streaming inputs of p take a pulse, then come `cached_N` for each state and, where anything
 * depends on the place in the stream, `clock`: i64[2], the runs before this one and the length of
 * the whole stream in input frames, 0 while nobody knows it. The outputs are p's, then
 * `new_cached_N` and `new_clock`, to be fed back. All of them begin as zeros. What it says of axes,
 * pulses and delays stands in the graph's metadata. An op without a standard form stays, for the
 * writers to refuse. What is made lives in a. */
rill_status mgraph_from_pgraph(struct mgraph *ret, const struct pgraph *p,
                               const struct steps_opts *opts, struct arena *a, rill_error *reterr);

/* The same of a typed graph whose states are its file's own: one run is one of the file. `clock` is
 * there where a state does not begin as zeros. */
rill_status mgraph_from_states(struct mgraph *ret, const struct graph *g, struct arena *a,
                               rill_error *reterr);

/* Whether g, which takes whole recordings, has framing, overlap-add or transforms that ops of the
 * standard stand for; not where data decides its sizes. */
bool graph_has_standard_form(const struct graph *g);
/* The same of such a graph: its ports, and ops of the standard in their place, of any length. */
rill_status mgraph_from_whole(struct mgraph *ret, const struct graph *g, struct arena *a,
                              rill_error *reterr);
#endif
