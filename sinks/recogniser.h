/* SPDX-License-Identifier: MIT */
/* recogniser.h - what recognisers share: tokens that a search has found become partials, finals and
 * endpoints. */
#ifndef RILL_SINKS_RECOGNISER_H
#define RILL_SINKS_RECOGNISER_H
#include "sinks/endpoint.h"
#include "sinks/text.h"

/* A search over the sink's state, whose first member is a struct recogniser. Hypotheses have
 * numbers, valid until the next step. */
struct recogniser_search {
    void (*restart)(void *state);   /* to the state before the first frame */
    void (*next_text)(void *state); /* after an endpoint; NULL: as restart */
    void (*step)(void *state, const float *x, uint64_t frame);
    uint32_t (*best)(const void *state);
    double (*score)(const void *state, uint32_t hyp); /* its log-probability */
    /* The log-probability of the frames since restart or keep, given this text. */
    double (*log_prob)(const void *state, uint32_t hyp);
    uint32_t (*length)(const void *state, uint32_t hyp); /* tokens, at most max_tokens */
    uint32_t (*token)(const void *state, uint32_t hyp, uint32_t i);
    /* Token number i, with its position and confidence. */
    struct timed_token (*timed)(const rill_sink *s, uint32_t hyp, uint32_t i);
    /* Whether the next frame may still belong to its last token. */
    bool (*may_continue)(const void *state, uint32_t hyp);
    /* Keeps this hypothesis alone, without its first n tokens. */
    void (*keep)(void *state, uint32_t hyp, uint32_t n);
    bool is_whole; /* what was heard is one text, which is cut as a whole */
};

struct recogniser {
    const struct recogniser_search *search;
    struct tokens tokens;
    struct text text;
    struct endpoint endpoint;
    uint32_t blank, width, beam, max_tokens; /* width: scores in a frame */
    rill_scores scores;
    uint32_t n_hyps;                            /* kept by the search */
    uint32_t *hyp_tokens;                       /* scratch: the tokens of one hypothesis */
    uint32_t *partial_tokens, n_partial_tokens; /* of the last partial that was reported */
    struct timed_token *timed;
};

/* From the sink's options; width: scores in a frame, given by what an error calls `scores`. */
rill_status recogniser_make(struct recogniser *r, rill_sink *s,
                            const struct recogniser_search *search, const char *scores,
                            uint32_t width, rill_error *err);

/* For struct sink_kind. */
void recogniser_reset(rill_sink *s);
void recogniser_frame(rill_sink *s, const float *x);
void recogniser_cut(rill_sink *s);
void recogniser_finish(rill_sink *s);
#endif
