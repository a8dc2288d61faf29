/* SPDX-License-Identifier: MIT */
/* ctc.h - hypotheses of a CTC output, their search, and the sink around them.
 *
 * Greedy: Graves et al. 2006, "Connectionist temporal classification". Search over prefixes: Hannun
 * et al. 2014, "First-pass large vocabulary continuous speech recognition using bi-directional
 * recurrent DNNs". */
#ifndef RILL_SINKS_CTC_H
#define RILL_SINKS_CTC_H
#include "sinks/recogniser.h"

#define CTC_NONE UINT32_MAX /* no token */

/* Where a token was emitted on the best path. Frame numbers are of 32 bits and may wrap. */
struct ctc_span {
    uint32_t first, last;
    float best; /* its highest score on that path */
};

enum { ENDS_BLANK, ENDS_TOKEN, N_ENDS };

/* A hypothesis: all paths that give these tokens, those that end in a blank apart from the others.
 */
struct ctc_hyp {
    double sum[N_ENDS];            /* logarithm of their probability */
    double best[N_ENDS];           /* that of the best path */
    struct ctc_span *span[N_ENDS]; /* along that path */
    uint32_t *tokens, n;
};

struct ctc_candidate {
    double total, sum[N_ENDS], best[N_ENDS];
    uint32_t from[N_ENDS]; /* hypothesis whose best path it extends */
    uint32_t end[N_ENDS];  /* and which of its two ends */
    uint32_t hyp, token;   /* the tokens of hyp, and `token` unless that is CTC_NONE */
    bool appends;          /* the last token begins here; otherwise it continues */
};

struct ctc {
    struct recogniser r;
    struct ctc_hyp *hyps, *others; /* the present ones, and room for those of the next frame */
    uint32_t carry; /* the last token of the text before, which may continue; CTC_NONE: none */
    struct ctc_candidate *candidates;
    uint32_t *top, n_top; /* the best tokens of a frame */
    float *logp;
    double offset; /* subtracted from all scores since restart or keep; greedy: the best path's */
};

/* logp: a frame of log-probabilities. */
void ctc_search_step(struct ctc *c, const float *logp, uint32_t frame);
void ctc_greedy_step(struct ctc *c, const float *logp, uint32_t frame);

/* Sum of both parts. */
double ctc_total(const struct ctc_hyp *h);

/* Number of the best hypothesis. */
uint32_t ctc_best(const struct ctc *c);
#endif
