/* SPDX-License-Identifier: MIT */
#include "sinks/ctc.h"
#include "sinks/scores.h"

#include <math.h>
#include <string.h>

/* ---- making ---- */

static bool hyps_make(struct ctc_hyp *h, struct arena *a, uint32_t n, uint32_t max_tokens)
{
    for (uint32_t i = 0; h && i < n; i++) {
        h[i].tokens = arena_array(a, uint32_t, max_tokens);
        h[i].span[ENDS_BLANK] = arena_array(a, struct ctc_span, max_tokens);
        h[i].span[ENDS_TOKEN] = arena_array(a, struct ctc_span, max_tokens);
        if (!h[i].tokens || !h[i].span[ENDS_BLANK] || !h[i].span[ENDS_TOKEN])
            return false;
    }
    return h;
}

static rill_status buffers_make(struct ctc *c, struct arena *a, rill_error *err)
{
    bool greedy = c->r.beam == 1;
    uint32_t n = c->r.beam, most = c->r.max_tokens;
    c->hyps = arena_array(a, struct ctc_hyp, n);
    c->others = arena_array(a, struct ctc_hyp, n);
    c->candidates = arena_array(a, struct ctc_candidate, greedy ? 1 : (size_t) n * (n + 2));
    c->top = arena_array(a, uint32_t, n + 1);
    c->logp = arena_array(a, float, c->r.width);
    if (!c->candidates || !c->top || !c->logp || !hyps_make(c->hyps, a, n, most) ||
        (!greedy && !hyps_make(c->others, a, n, most)))
        return sink_no_memory(err);
    return RILL_OK;
}

static void restart(void *state)
{
    struct ctc *c = state;
    struct ctc_hyp *h = &c->hyps[0];
    h->n = 0;
    h->sum[ENDS_BLANK] = h->best[ENDS_BLANK] = 0;
    h->sum[ENDS_TOKEN] = h->best[ENDS_TOKEN] = -(double) INFINITY;
    c->r.n_hyps = 1;
    c->carry = CTC_NONE;
    c->offset = 0;
}

/* ---- hypotheses ---- */

static uint32_t best(const void *state)
{
    return ctc_best(state);
}

static double score(const void *state, uint32_t hyp)
{
    return ctc_total(&((const struct ctc *) state)->hyps[hyp]);
}

static double log_prob(const void *state, uint32_t hyp)
{
    return ((const struct ctc *) state)->offset + score(state, hyp);
}

static uint32_t length(const void *state, uint32_t hyp)
{
    return ((const struct ctc *) state)->hyps[hyp].n;
}

static uint32_t token(const void *state, uint32_t hyp, uint32_t i)
{
    return ((const struct ctc *) state)->hyps[hyp].tokens[i];
}

/* Whether the best path to a hypothesis ends in a blank. */
static bool ends_blank(const struct ctc_hyp *h)
{
    return h->best[ENDS_BLANK] > h->best[ENDS_TOKEN];
}

/* That path. Greedy search keeps a single path, whatever it ends in. */
static const struct ctc_span *spans_best(const struct ctc *c, const struct ctc_hyp *h)
{
    return h->span[c->r.beam > 1 && ends_blank(h) ? ENDS_BLANK : ENDS_TOKEN];
}

static bool may_continue(const void *state, uint32_t hyp)
{
    const struct ctc_hyp *h = &((const struct ctc *) state)->hyps[hyp];
    return h->n && !ends_blank(h);
}

/* The frame whose low 32 bits these are, at or before the present one. */
static uint64_t frame_whole(const rill_sink *s, uint32_t frame)
{
    return s->n_frames - (uint32_t) ((uint32_t) s->n_frames - frame);
}

static struct timed_token timed(const rill_sink *s, uint32_t hyp, uint32_t i)
{
    const struct ctc *c = s->state;
    const struct ctc_hyp *h = &c->hyps[hyp];
    const struct ctc_span *span = spans_best(c, h) + i;
    return (struct timed_token) { .token = h->tokens[i],
                                  .pos = sink_pos(s, frame_whole(s, span->first)),
                                  .end_pos = sink_pos(s, frame_whole(s, span->last) + 1),
                                  .confidence = expf(fminf(span->best, 0)) };
}

static void keep(void *state, uint32_t hyp, uint32_t n)
{
    struct ctc *c = state;
    struct ctc_hyp kept = c->hyps[hyp];
    c->hyps[hyp] = c->hyps[0];
    c->hyps[0] = kept;
    c->carry = n == kept.n && n ? kept.tokens[n - 1] : n ? CTC_NONE : c->carry;
    c->hyps[0].n -= n;
    memmove(kept.tokens, kept.tokens + n, (kept.n - n) * sizeof *kept.tokens);
    for (int end = 0; end < N_ENDS; end++)
        memmove(kept.span[end], kept.span[end] + n, (kept.n - n) * sizeof *kept.span[end]);
    c->r.n_hyps = 1;
    c->offset = -ctc_total(&c->hyps[0]);
}

static void step(void *state, const float *x, uint64_t frame)
{
    struct ctc *c = state;
    scores_log(c->logp, x, c->r.width, c->r.scores, c->r.blank);
    (c->r.beam == 1 ? ctc_greedy_step : ctc_search_step)(c, c->logp, (uint32_t) frame);
}

static const struct recogniser_search search = { .restart = restart,
                                                 .step = step,
                                                 .best = best,
                                                 .score = score,
                                                 .log_prob = log_prob,
                                                 .length = length,
                                                 .token = token,
                                                 .timed = timed,
                                                 .may_continue = may_continue,
                                                 .keep = keep };

static rill_status make(rill_sink *s, rill_error *err)
{
    struct ctc *c = s->state = arena_new(&s->arena, struct ctc);
    if (!c)
        return sink_no_memory(err);
    c->r.scores = s->opts.scores;
    TRY(recogniser_make(&c->r, s, &search, "the output", s->port.width, err));
    return buffers_make(c, &s->arena, err);
}

const struct sink_kind sink_ctc = { .port = RILL_PORT_CTC,
                                    .make = make,
                                    .reset = recogniser_reset,
                                    .frame = recogniser_frame,
                                    .cut = recogniser_cut,
                                    .finish = recogniser_finish };
