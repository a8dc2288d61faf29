/* SPDX-License-Identifier: MIT */
/* scores.h - a frame of scores as log-probabilities. */
#ifndef RILL_SINKS_SCORES_H
#define RILL_SINKS_SCORES_H
#include "rill.h"

#define SCORE_MIN (-1e4f) /* the least in a frame; NaN counts as this */

/* n scores at x to `to`, as AUTO and LOG they are. A frame without a finite score, or where all
 * probabilities are 0, says nothing: it is the blank. */
void scores_log(float *to, const float *x, uint32_t n, rill_scores scores, uint32_t blank);

/* log(exp(a) + exp(b)) */
double scores_add(double a, double b);
#endif
