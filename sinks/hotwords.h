/* SPDX-License-Identifier: MIT */
/* hotwords.h - phrases that a search prefers: an automaton over tokens (Aho and Corasick 1975),
 * whose steps are worth something while a phrase goes on, and take that back where it breaks off.
 */
#ifndef RILL_SINKS_HOTWORDS_H
#define RILL_SINKS_HOTWORDS_H
#include "engine/base/arena.h"
#include "models/tokens.h"

#define HOTWORDS_ROOT 0u

struct hotword_node {
    uint32_t token;
    uint32_t first, n_children; /* side by side, by their tokens; the root is nobody's child */
    uint32_t fail;              /* the longest other beginning that ends here */
    uint32_t output;            /* the phrase that ends here within another; 0: none */
    float step, sum;            /* worth of this token, of all up to here */
    bool ends;
};

struct hotwords {
    struct hotword_node *nodes;
    uint32_t n, room; /* 0: there are none */
};

/* From o->hotwords, a phrase a line: words, or tokens, and at the end what each token is worth, as
 * " :2.5" (else o->hotwords_score). INVALID: with the line. */
rill_status hotwords_make(struct hotwords *ret, struct arena *a, const struct tokens *tokens,
                          const rill_sink_opts *o, rill_error *err);

/* Tokens that phrases go on with behind the state, by their number; how many there are. */
const struct hotword_node *hotwords_next(const struct hotwords *g, uint32_t state, uint32_t *ret_n);

/* What the token is worth after *state, which becomes the next one. */
float hotwords_step(const struct hotwords *g, uint32_t token, uint32_t *state);
#endif
