/* SPDX-License-Identifier: MIT */
#include "models/sinks/ctc.h"
#include "models/sinks/scores.h"

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
    bool greedy = c->beam == 1;
    uint32_t n = c->beam, most = c->max_tokens;
    c->hyps = arena_array(a, struct ctc_hyp, n);
    c->others = arena_array(a, struct ctc_hyp, n);
    c->candidates = arena_array(a, struct ctc_candidate, greedy ? 1 : (size_t) n * (n + 2));
    c->top = arena_array(a, uint32_t, n + 1);
    c->logp = arena_array(a, float, c->width);
    c->shown = arena_array(a, uint32_t, most);
    c->said = arena_array(a, struct said, most);
    if (!c->candidates || !c->top || !c->logp || !c->shown || !c->said ||
        !hyps_make(c->hyps, a, n, most) || (!greedy && !hyps_make(c->others, a, n, most)))
        return sink_no_memory(err);
    return text_make(&c->text, a, &c->tokens, most, err);
}

static rill_status make(rill_sink *s, rill_error *err)
{
    struct ctc *c = s->state = arena_new(&s->arena, struct ctc);
    if (!c)
        return sink_no_memory(err);
    c->width = s->port.width;
    c->beam = s->opts.beam;
    c->max_tokens = s->opts.max_tokens;
    c->scores = s->opts.scores;
    TRY(tokens_from_opts(&c->tokens, &s->arena, &s->opts, c->width, err));
    TRY(tokens_blank(&c->tokens, s->opts.blank, &c->blank, err));
    return buffers_make(c, &s->arena, err);
}

/* Nothing was heard yet. */
static void hyps_restart(struct ctc *c)
{
    struct ctc_hyp *h = &c->hyps[0];
    h->n = 0;
    h->sum[ENDS_BLANK] = h->best[ENDS_BLANK] = 0;
    h->sum[ENDS_TOKEN] = h->best[ENDS_TOKEN] = -(double) INFINITY;
    c->n_hyps = 1;
    c->carry = CTC_NONE;
    c->n_shown = 0;
    text_forget(&c->text);
    c->offset = 0;
}

static void reset(rill_sink *s)
{
    struct ctc *c = s->state;
    hyps_restart(c);
    endpoint_init(&c->endpoint, s);
}

/* ---- texts ---- */

/* Way to the best hypothesis that is the likelier. */
static const struct ctc_span *spans_of(const struct ctc_hyp *h)
{
    return h->span[h->best[ENDS_BLANK] > h->best[ENDS_TOKEN] ? ENDS_BLANK : ENDS_TOKEN];
}

/* Greedy keeps one way, whatever it ends in. */
static const struct ctc_span *spans_best(const struct ctc *c, const struct ctc_hyp *h)
{
    return c->beam == 1 ? h->span[ENDS_TOKEN] : spans_of(h);
}

/* A frame of these 32 bits, which is not after the present one. */
static uint64_t frame_whole(const rill_sink *s, uint32_t frame)
{
    return s->n_frames - (uint32_t) ((uint32_t) s->n_frames - frame);
}

static void text_make_of(rill_sink *s, const struct ctc_hyp *h, uint32_t n)
{
    struct ctc *c = s->state;
    const struct ctc_span *span = spans_best(c, h);
    for (uint32_t i = 0; i < n; i++)
        c->said[i] = (struct said) {
            .token = h->tokens[i],
            .pos = sink_pos(s, frame_whole(s, span[i].first)),
            .end_pos = sink_pos(s, frame_whole(s, span[i].last) + 1),
            .confidence = expf(fminf(span[i].best, 0)),
        };
    text_write(&c->text, c->said, n);
}

/* Share of the hypotheses that begin as h; of a greedy one the score of its last token. */
static float stability_of(const struct ctc *c, const struct ctc_hyp *h)
{
    if (c->beam == 1)
        return h->n ? expf(fminf(h->span[ENDS_TOKEN][h->n - 1].best, 0)) : 1;
    double same = -(double) INFINITY, all = same;
    for (uint32_t i = 0; i < c->n_hyps; i++) {
        const struct ctc_hyp *g = &c->hyps[i];
        bool begins = g->n >= h->n && !memcmp(g->tokens, h->tokens, h->n * sizeof *h->tokens);
        all = scores_add(all, ctc_total(g));
        same = begins ? scores_add(same, ctc_total(g)) : same;
    }
    return (float) exp(same - all);
}

static void partial_make(rill_sink *s, const struct ctc_hyp *h)
{
    struct ctc *c = s->state;
    if (h->n == c->n_shown && !memcmp(h->tokens, c->shown, h->n * sizeof *h->tokens))
        return;
    float stability = stability_of(c, h);
    if (stability < s->opts.stability)
        return;
    c->n_shown = h->n;
    memcpy(c->shown, h->tokens, h->n * sizeof *h->tokens);
    text_make_of(s, h, h->n);
    if (!text_is_new(&c->text))
        return;
    rill_event *v = sink_event(s, RILL_EVENT_PARTIAL);
    text_report(&c->text, v);
    v->stability = stability;
    v->segment = s->segment;
}

/* The first n tokens of h become final. */
static void final_make(rill_sink *s, const struct ctc_hyp *h, uint32_t n)
{
    struct ctc *c = s->state;
    text_make_of(s, h, n);
    if (!c->text.n_words)
        return;
    rill_event *v = sink_event(s, RILL_EVENT_FINAL);
    text_report(&c->text, v);
    v->stability = 1;
    v->segment = s->segment++;
}

/* Goes on with the best hypothesis alone, without its first n tokens. */
static void hyp_keep_rest(struct ctc *c, uint32_t best, uint32_t n)
{
    struct ctc_hyp kept = c->hyps[best];
    c->hyps[best] = c->hyps[0];
    c->hyps[0] = kept;
    c->carry = n == kept.n && n ? kept.tokens[n - 1] : n ? CTC_NONE : c->carry;
    c->hyps[0].n -= n;
    memmove(kept.tokens, kept.tokens + n, (kept.n - n) * sizeof *kept.tokens);
    for (int end = 0; end < N_ENDS; end++)
        memmove(kept.span[end], kept.span[end] + n, (kept.n - n) * sizeof *kept.span[end]);
    c->n_hyps = 1;
    c->n_shown = 0;
    text_forget(&c->text);
}

/* The words that are over become final; where there is none, all of it where it must. */
static void words_cut(rill_sink *s, bool must)
{
    struct ctc *c = s->state;
    uint32_t best = ctc_best(c),
             n = text_whole_words(&c->text, c->hyps[best].tokens, c->hyps[best].n);
    n = n || !must ? n : c->hyps[best].n;
    final_make(s, &c->hyps[best], n);
    hyp_keep_rest(c, best, n);
}

static void cut(rill_sink *s)
{
    struct ctc *c = s->state;
    words_cut(s, false);
    c->endpoint.begin_pos = sink_pos(s, s->n_frames);
}

static void finish(rill_sink *s)
{
    struct ctc *c = s->state;
    const struct ctc_hyp *h = &c->hyps[ctc_best(c)];
    if (h->n)
        final_make(s, h, h->n);
    hyps_restart(c);
}

/* ---- a frame ---- */

static bool is_full(const struct ctc *c)
{
    for (uint32_t i = 0; i < c->n_hyps; i++)
        if (c->hyps[i].n == c->max_tokens)
            return true;
    return false;
}

static void endpoint_check(rill_sink *s)
{
    struct ctc *c = s->state;
    const struct ctc_hyp *h = &c->hyps[ctc_best(c)];
    uint64_t end = sink_pos(s, s->n_frames + 1), quiet = c->endpoint.begin_pos;
    if (h->n)
        quiet = sink_pos(s, frame_whole(s, spans_best(c, h)[h->n - 1].last) + 1);
    rill_rule rule = endpoint_rule(&c->endpoint, quiet > end ? end : quiet, end, h->n);
    if (rule == RILL_RULE_NONE)
        return;
    if (rule == RILL_RULE_LENGTH) {
        words_cut(s, is_full(c));
    } else {
        final_make(s, h, h->n);
        hyps_restart(c);
    }
    endpoint_report(&c->endpoint, s, rule, end);
}

static void frame(rill_sink *s, const float *x)
{
    struct ctc *c = s->state;
    scores_log(c->logp, x, c->width, c->scores, c->blank);
    (c->beam == 1 ? ctc_greedy_step : ctc_search_step)(c, c->logp, (uint32_t) s->n_frames);
    endpoint_check(s);
    if (s->n_events)
        return;
    if (is_full(c)) {
        words_cut(s, true);
        return;
    }
    partial_make(s, &c->hyps[ctc_best(c)]);
}

const struct sink_kind sink_ctc = { .port = RILL_PORT_CTC,
                                    .make = make,
                                    .reset = reset,
                                    .frame = frame,
                                    .cut = cut,
                                    .finish = finish };
