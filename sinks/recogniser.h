/* SPDX-License-Identifier: MIT */
/* recogniser.h - what sinks that hear words share: the tokens that a search has found become
 * partials, finals and endpoints. */
#ifndef RILL_SINKS_RECOGNISER_H
#define RILL_SINKS_RECOGNISER_H
#include "sinks/endpoint.h"
#include "sinks/text.h"

/* A search over the sink's state, whose first member is a struct recogniser. Hypotheses are told by
 * number. */
struct recogniser_search {
    void (*restart)(void *state); /* as before the first frame */
    void (*step)(void *state, const float *x, uint64_t frame);
    uint32_t (*best)(const void *state);
    double (*score)(const void *state, uint32_t hyp); /* logarithm of its probability */
    /* That of what the frames since restart or keep say, if the text is this one. */
    double (*log_prob)(const void *state, uint32_t hyp);
    uint32_t (*length)(const void *state, uint32_t hyp); /* tokens, at most max_tokens */
    uint32_t (*token)(const void *state, uint32_t hyp, uint32_t i);
    /* Token number i, and where it was heard. */
    struct said (*said)(const rill_sink *s, uint32_t hyp, uint32_t i);
    /* Whether the frame behind may still be of its last token. */
    bool (*goes_on)(const void *state, uint32_t hyp);
    /* Goes on with this one alone, without its first n tokens. */
    void (*keep)(void *state, uint32_t hyp, uint32_t n);
};

struct recogniser {
    const struct recogniser_search *search;
    struct tokens tokens;
    struct text text;
    struct endpoint endpoint;
    uint32_t blank, width, beam, max_tokens; /* width: scores of a frame */
    rill_scores scores;
    uint32_t n_hyps;          /* the search counts them */
    uint32_t *now;            /* room for the tokens of a hypothesis */
    uint32_t *shown, n_shown; /* what the last partial said */
    struct said *said;
};

/* From the sink's options; width: how many tokens there are scores for. */
rill_status recogniser_make(struct recogniser *r, rill_sink *s,
                            const struct recogniser_search *search, uint32_t width,
                            rill_error *err);

/* These belong to struct sink_kind. */
void recogniser_reset(rill_sink *s);
void recogniser_frame(rill_sink *s, const float *x);
void recogniser_cut(rill_sink *s);
void recogniser_finish(rill_sink *s);
#endif
