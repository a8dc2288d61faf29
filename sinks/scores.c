/* SPDX-License-Identifier: MIT */
#include "sinks/scores.h"

#include <math.h>
#include <stdbool.h>

double scores_add(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;
    return low == -(double) INFINITY ? high : high + log1p(exp(low - high));
}

static float score_log(float x, float shift)
{
    x -= shift;
    return x > SCORE_MIN ? (x < -SCORE_MIN ? x : -SCORE_MIN) : SCORE_MIN; /* NaN: the least */
}

/* log(sum(exp(x))), which logits exceed log-probabilities by. */
static float logits_shift(const float *x, uint32_t n)
{
    float high = -INFINITY;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        high = x[i] > high && x[i] < INFINITY ? x[i] : high;
    for (uint32_t i = 0; i < n && high > -INFINITY; i++)
        sum += exp((double) fminf(x[i] - high, 0));
    return sum > 0 ? high + (float) log(sum) : 0;
}

static bool says_something(const float *x, uint32_t n, rill_scores scores)
{
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(x[i]) && (scores != RILL_SCORES_PROBS || x[i] > 0))
            return true;
    return false;
}

void scores_log(float *to, const float *x, uint32_t n, rill_scores scores, uint32_t blank)
{
    float shift = scores == RILL_SCORES_LOGITS ? logits_shift(x, n) : 0;
    bool something = says_something(x, n, scores);
    for (uint32_t i = 0; i < n; i++)
        to[i] = scores == RILL_SCORES_PROBS ? score_log(logf(x[i] > 0 ? x[i] : 0), 0)
                                            : score_log(x[i], shift);
    for (uint32_t i = 0; i < n && !something; i++)
        to[i] = i == blank ? 0 : SCORE_MIN;
}
