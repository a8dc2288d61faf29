/* SPDX-License-Identifier: MIT */
#include "sinks/ctc.h"
#include "sinks/scores.h"

#include <math.h>
#include <string.h>

double ctc_total(const struct ctc_hyp *h)
{
    return scores_add(h->sum[ENDS_BLANK], h->sum[ENDS_TOKEN]);
}

uint32_t ctc_best(const struct ctc *c)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < c->r.n_hyps; i++)
        best = ctc_total(&c->hyps[i]) > ctc_total(&c->hyps[best]) ? i : best;
    return best;
}

/* ---- greedy ---- */

void ctc_greedy_step(struct ctc *c, const float *logp, uint32_t frame)
{
    struct ctc_hyp *h = &c->hyps[0];
    uint32_t best = 0;
    for (uint32_t i = 1; i < c->r.width; i++)
        best = logp[i] > logp[best] ? i : best;
    uint32_t last = h->n ? h->tokens[h->n - 1] : c->carry;
    bool may_continue = best == last && h->sum[ENDS_TOKEN] == 0;
    bool is_blank = best == c->r.blank;
    struct ctc_span *span = h->span[ENDS_TOKEN] + h->n;
    if (!is_blank && !may_continue) {
        h->tokens[h->n++] = best;
        *span = (struct ctc_span) { frame, frame, logp[best] };
    } else if (!is_blank && h->n) {
        span[-1].last = frame;
        span[-1].best = logp[best] > span[-1].best ? logp[best] : span[-1].best;
    }
    c->offset += (double) logp[best];
    h->sum[ENDS_TOKEN] = h->best[ENDS_TOKEN] = is_blank ? -(double) INFINITY : 0;
    h->sum[ENDS_BLANK] = h->best[ENDS_BLANK] = is_blank ? 0 : -(double) INFINITY;
}

/* ---- search ---- */

/* The best tokens except the blank, one more than the beam: no other token can get into it. */
static void top_find(struct ctc *c, const float *logp)
{
    uint32_t most = c->r.beam + 1, n = 0;
    for (uint32_t i = 0; i < c->r.width; i++) {
        if (i == c->r.blank || (n == most && logp[i] <= logp[c->top[n - 1]]))
            continue;
        uint32_t at = n < most ? n++ : n - 1;
        for (; at && logp[c->top[at - 1]] < logp[i]; at--)
            c->top[at] = c->top[at - 1];
        c->top[at] = i;
    }
    c->n_top = n;
}

static uint32_t last_token(const struct ctc *c, const struct ctc_hyp *h)
{
    return h->n ? h->tokens[h->n - 1] : c->carry;
}

static uint32_t best_end(const struct ctc_hyp *h)
{
    return h->best[ENDS_BLANK] >= h->best[ENDS_TOKEN] ? ENDS_BLANK : ENDS_TOKEN;
}

/* Extends hypothesis i by a token. The same token once more needs a blank in between, so then only
 * paths that end in one count. */
static void extend(const struct ctc *c, uint32_t i, uint32_t token, float lp, double *ret_sum,
                   double *ret_best, uint32_t *ret_end)
{
    const struct ctc_hyp *h = &c->hyps[i];
    *ret_end = last_token(c, h) == token ? ENDS_BLANK : best_end(h);
    *ret_sum = (last_token(c, h) == token ? h->sum[ENDS_BLANK] : ctc_total(h)) + (double) lp;
    *ret_best = h->best[*ret_end] + (double) lp;
}

static bool hyp_has_prefix(const struct ctc_hyp *h, const struct ctc_hyp *start)
{
    return h->n >= start->n && !memcmp(h->tokens, start->tokens, start->n * sizeof *h->tokens);
}

/* Hypothesis i without a new token in this frame. */
static struct ctc_candidate stay(const struct ctc *c, uint32_t i, const float *logp)
{
    const struct ctc_hyp *h = &c->hyps[i];
    uint32_t last = last_token(c, h), end;
    double sum, best;
    struct ctc_candidate k = {
        .hyp = i, .token = CTC_NONE, .from = { i, i }, .end = { best_end(h), ENDS_TOKEN }
    };
    k.sum[ENDS_BLANK] = ctc_total(h) + (double) logp[c->r.blank];
    k.best[ENDS_BLANK] = h->best[k.end[ENDS_BLANK]] + (double) logp[c->r.blank];
    k.sum[ENDS_TOKEN] =
        last == CTC_NONE ? -(double) INFINITY : h->sum[ENDS_TOKEN] + (double) logp[last];
    k.best[ENDS_TOKEN] =
        last == CTC_NONE ? -(double) INFINITY : h->best[ENDS_TOKEN] + (double) logp[last];
    for (uint32_t g = 0; g < c->r.n_hyps && h->n; g++) {
        if (c->hyps[g].n + 1 != h->n || !hyp_has_prefix(h, &c->hyps[g]))
            continue;
        extend(c, g, last, logp[last], &sum, &best, &end);
        k.sum[ENDS_TOKEN] = scores_add(k.sum[ENDS_TOKEN], sum);
        if (best > k.best[ENDS_TOKEN]) {
            k.best[ENDS_TOKEN] = best;
            k.from[ENDS_TOKEN] = g;
            k.end[ENDS_TOKEN] = end;
            k.appends = true;
        }
    }
    k.total = scores_add(k.sum[ENDS_BLANK], k.sum[ENDS_TOKEN]);
    return k;
}

/* Whether hypothesis i with that token is one of the present hypotheses. */
static bool is_kept(const struct ctc *c, uint32_t i, uint32_t token)
{
    const struct ctc_hyp *h = &c->hyps[i];
    for (uint32_t g = 0; g < c->r.n_hyps; g++)
        if (c->hyps[g].n == h->n + 1 && c->hyps[g].tokens[h->n] == token &&
            hyp_has_prefix(&c->hyps[g], h))
            return true;
    return false;
}

static uint32_t candidates_find(struct ctc *c, const float *logp)
{
    const double none = -(double) INFINITY;
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->r.n_hyps; i++)
        c->candidates[n++] = stay(c, i, logp);
    for (uint32_t i = 0; i < c->r.n_hyps; i++) {
        for (uint32_t j = 0; j < c->n_top && c->hyps[i].n < c->r.max_tokens; j++) {
            struct ctc_candidate k = { .hyp = i,
                                       .token = c->top[j],
                                       .from = { i, i },
                                       .sum = { none, none },
                                       .best = { none, none },
                                       .appends = true };
            if (is_kept(c, i, k.token))
                continue;
            extend(c, i, k.token, logp[k.token], &k.sum[ENDS_TOKEN], &k.best[ENDS_TOKEN],
                   &k.end[ENDS_TOKEN]);
            k.total = k.sum[ENDS_TOKEN];
            if (k.total > none)
                c->candidates[n++] = k;
        }
    }
    return n;
}

/* Moves the best `beam` candidates to the front, best first; equal ones keep their order. */
static uint32_t candidates_choose(struct ctc *c, uint32_t n)
{
    struct ctc_candidate *k = c->candidates;
    uint32_t most = n < c->r.beam ? n : c->r.beam, kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct ctc_candidate x = k[i];
        if (kept == most && x.total <= k[most - 1].total)
            continue;
        uint32_t at = kept < most ? kept++ : most - 1;
        for (; at && k[at - 1].total < x.total; at--)
            k[at] = k[at - 1];
        k[at] = x;
    }
    return kept;
}

static void spans_follow(const struct ctc *c, struct ctc_hyp *to, const struct ctc_candidate *k,
                         uint32_t end, float lp, uint32_t frame)
{
    const struct ctc_hyp *from = &c->hyps[k->from[end]];
    struct ctc_span *span = to->span[end];
    if (k->best[end] == -(double) INFINITY)
        return;
    memcpy(span, from->span[k->end[end]], from->n * sizeof *span);
    if (end == ENDS_BLANK || !to->n)
        return;
    span += to->n - 1;
    if (k->appends)
        *span = (struct ctc_span) { frame, frame, lp };
    span->last = frame;
    span->best = lp > span->best ? lp : span->best;
}

static void hyp_make(const struct ctc *c, struct ctc_hyp *to, const struct ctc_candidate *k,
                     const float *logp, uint32_t frame)
{
    const struct ctc_hyp *from = &c->hyps[k->hyp];
    to->n = from->n;
    memcpy(to->tokens, from->tokens, from->n * sizeof *to->tokens);
    if (k->token != CTC_NONE)
        to->tokens[to->n++] = k->token;
    float lp = to->n ? logp[to->tokens[to->n - 1]] : 0;
    for (uint32_t end = 0; end < N_ENDS; end++) {
        to->sum[end] = k->sum[end];
        to->best[end] = k->best[end];
        spans_follow(c, to, k, end, lp, frame);
    }
}

/* Keeps scores near 0, however long the text. */
static void scores_normalise(struct ctc *c)
{
    double top = ctc_total(&c->hyps[0]);
    for (uint32_t i = 0; i < c->r.n_hyps; i++)
        for (int end = 0; end < N_ENDS; end++) {
            c->hyps[i].sum[end] -= top;
            c->hyps[i].best[end] -= top;
        }
    c->offset += top;
}

void ctc_search_step(struct ctc *c, const float *logp, uint32_t frame)
{
    top_find(c, logp);
    uint32_t n = candidates_choose(c, candidates_find(c, logp));
    for (uint32_t i = 0; i < n; i++)
        hyp_make(c, &c->others[i], &c->candidates[i], logp, frame);
    struct ctc_hyp *old = c->hyps;
    c->hyps = c->others;
    c->others = old;
    c->r.n_hyps = n;
    scores_normalise(c);
}
