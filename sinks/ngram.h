/* SPDX-License-Identifier: MIT */
/* ngram.h - a language model of n-grams over tokens, from an ARPA file: a tree of histories whose
 * nodes know the next shorter one, for backing off (Katz 1987). */
#ifndef RILL_SINKS_NGRAM_H
#define RILL_SINKS_NGRAM_H
#include "engine/base/arena.h"
#include "models/tokens.h"

struct ngram_node {
    uint32_t parent, token;  /* a node is found by these */
    uint32_t shorter;        /* the node without its first token; the root's is the root */
    float log_prob, backoff; /* natural logarithms */
};

struct ngram {
    struct ngram_node *nodes; /* nodes[0] is the empty history */
    uint32_t *places;         /* a table of 2^bits: numbers of nodes, 0: free */
    uint64_t multiplier;      /* of what a place is found by; odd */
    uint32_t n, room, bits;   /* n 0: there is none */
    uint32_t begin;           /* the history at the beginning of a text */
    float unknown;            /* of a token that the model does not have */
};

/* From o->lm. Words that are no tokens are refused: the n-grams are to be of tokens. */
rill_status ngram_make(struct ngram *ret, struct arena *a, const struct tokens *tokens,
                       const rill_sink_opts *o, rill_error *err);

/* The logarithm of the probability of the token behind the history *state, which becomes the next.
 */
float ngram_step(const struct ngram *g, uint32_t token, uint32_t *state);
#endif
