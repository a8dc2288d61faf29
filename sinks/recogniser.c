/* SPDX-License-Identifier: MIT */
#include "sinks/recogniser.h"
#include "sinks/scores.h"

#include <math.h>
#include <string.h>

rill_status recogniser_make(struct recogniser *r, rill_sink *s,
                            const struct recogniser_search *search, const char *scores,
                            uint32_t width, rill_error *err)
{
    struct arena *a = &s->arena;
    r->search = search;
    r->width = width;
    r->beam = s->opts.beam;
    r->max_tokens = s->opts.max_tokens;
    TRY(tokens_from_opts(&r->tokens, a, &s->opts, scores, width, err));
    TRY(tokens_blank(&r->tokens, s->opts.blank, &r->blank, err));
    r->hyp_tokens = arena_array(a, uint32_t, r->max_tokens);
    r->partial_tokens = arena_array(a, uint32_t, r->max_tokens);
    r->timed = arena_array(a, struct timed_token, r->max_tokens);
    if (!r->hyp_tokens || !r->partial_tokens || !r->timed)
        return sink_no_memory(err);
    return text_make(&r->text, a, &r->tokens, r->max_tokens, err);
}

/* The next partial is reported whatever it says. */
static void partial_forget(struct recogniser *r)
{
    r->n_partial_tokens = 0;
    text_forget(&r->text);
}

static void restart(struct recogniser *r)
{
    r->search->restart(r);
    partial_forget(r);
}

void recogniser_reset(rill_sink *s)
{
    struct recogniser *r = s->state;
    restart(r);
    endpoint_init(&r->endpoint, s);
}

/* ---- hypotheses ---- */

/* Whether a hypothesis has max_tokens. */
static bool is_full(const struct recogniser *r)
{
    for (uint32_t i = 0; i < r->n_hyps; i++)
        if (r->search->length(r, i) == r->max_tokens)
            return true;
    return false;
}

/* The tokens of a hypothesis, into hyp_tokens; returns how many. */
static uint32_t hyp_tokens_read(struct recogniser *r, uint32_t hyp)
{
    uint32_t n = r->search->length(r, hyp);
    for (uint32_t i = 0; i < n; i++)
        r->hyp_tokens[i] = r->search->token(r, hyp, i);
    return n;
}

/* Whether a hypothesis begins with the first n of hyp_tokens. */
static bool has_prefix(const struct recogniser *r, uint32_t hyp, uint32_t n)
{
    if (r->search->length(r, hyp) < n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (r->search->token(r, hyp, i) != r->hyp_tokens[i])
            return false;
    return true;
}

/* 0..1: the share of hypotheses that begin with this one's n tokens, which are in hyp_tokens; for
 * greedy search the confidence of its last token. */
static float stability_of(const rill_sink *s, uint32_t hyp, uint32_t n)
{
    const struct recogniser *r = s->state;
    double same = -(double) INFINITY, all = same;
    if (r->beam == 1)
        return n ? r->search->timed(s, hyp, n - 1).confidence : 1;
    for (uint32_t i = 0; i < r->n_hyps; i++) {
        double score = r->search->score(r, i);
        all = scores_add(all, score);
        same = has_prefix(r, i, n) ? scores_add(same, score) : same;
    }
    return (float) exp(same - all);
}

/* ---- texts ---- */

static void text_make_of(rill_sink *s, uint32_t hyp, uint32_t n)
{
    struct recogniser *r = s->state;
    for (uint32_t i = 0; i < n; i++)
        r->timed[i] = r->search->timed(s, hyp, i);
    text_write(&r->text, r->timed, n);
    uint64_t from = s->reported_pos;
    for (uint32_t i = 0; i < r->text.n_words; i++) {
        rill_word *w = &r->text.words[i];
        sink_bound(s, from, &w->pos, &w->end_pos);
        from = w->end_pos;
    }
}

/* Whether the text is probable enough to be reported: by the geometric mean over its words, so that
 * the limit does not depend on its length. */
static bool is_confident(const rill_sink *s, uint32_t hyp)
{
    const struct recogniser *r = s->state;
    uint32_t n = r->text.n_words;
    double least = (double) s->opts.confidence;
    return !n || least <= 0 || r->search->log_prob(r, hyp) >= n * log(least);
}

/* Reports the text, or an empty one if its confidence is too low, if that differs from the last
 * report. */
static void partial_report(rill_sink *s, uint32_t hyp, float stability)
{
    struct recogniser *r = s->state;
    if (!is_confident(s, hyp)) {
        text_make_of(s, hyp, 0);
        r->n_partial_tokens = 0; /* the same tokens may become confident later */
    }
    if (!text_is_new(&r->text))
        return;
    rill_event *v = sink_event(s, RILL_EVENT_PARTIAL);
    text_report(&r->text, v);
    v->stability = stability;
    v->segment = s->segment;
}

static void partial_make(rill_sink *s, uint32_t hyp)
{
    struct recogniser *r = s->state;
    uint32_t n = hyp_tokens_read(r, hyp);
    if (n == r->n_partial_tokens &&
        !memcmp(r->hyp_tokens, r->partial_tokens, n * sizeof *r->hyp_tokens))
        return;
    float stability = stability_of(s, hyp, n);
    if (stability < s->opts.stability)
        return;
    r->n_partial_tokens = n;
    memcpy(r->partial_tokens, r->hyp_tokens, n * sizeof *r->hyp_tokens);
    text_make_of(s, hyp, n);
    partial_report(s, hyp, stability);
}

/* Makes the first n tokens a final, if their confidence is high enough. */
static void final_make(rill_sink *s, uint32_t hyp, uint32_t n)
{
    struct recogniser *r = s->state;
    text_make_of(s, hyp, n);
    if (!r->text.n_words)
        return;
    if (!is_confident(s, hyp)) {
        partial_report(s, hyp, 1);
        return;
    }
    rill_event *v = sink_event(s, RILL_EVENT_FINAL);
    text_report(&r->text, v);
    v->stability = 1;
    v->segment = s->segment++;
}

static void all_final(rill_sink *s)
{
    struct recogniser *r = s->state;
    uint32_t best = r->search->best(r), n = r->search->length(r, best);
    if (n)
        final_make(s, best, n);
    if (r->search->next_text)
        r->search->next_text(r);
    else
        r->search->restart(r);
    partial_forget(r);
}

/* Makes the words that are over a final; if there are none and it must, all of the text. */
static void words_cut(rill_sink *s, bool must)
{
    struct recogniser *r = s->state;
    uint32_t best = r->search->best(r), all = hyp_tokens_read(r, best),
             n = text_whole_words(&r->text, r->hyp_tokens, all, r->search->may_continue(r, best));
    n = (n || !must) && !r->search->is_whole ? n : all;
    final_make(s, best, n);
    r->search->keep(r, best, n);
    partial_forget(r);
}

void recogniser_cut(rill_sink *s)
{
    struct recogniser *r = s->state;
    words_cut(s, false);
    r->endpoint.begin_pos = sink_pos(s, s->n_frames);
}

void recogniser_finish(rill_sink *s)
{
    all_final(s);
}

/* ---- a frame ---- */

static void endpoint_check(rill_sink *s)
{
    struct recogniser *r = s->state;
    if ((s->n_frames + 1) % s->opts.endpoint_frames)
        return;
    uint32_t best = r->search->best(r), n = r->search->length(r, best);
    uint64_t end = sink_pos(s, s->n_frames + 1),
             quiet = n ? r->search->timed(s, best, n - 1).end_pos : r->endpoint.begin_pos;
    rill_rule rule = endpoint_rule(&r->endpoint, quiet > end ? end : quiet, end, n);
    if (rule == RILL_RULE_NONE)
        return;
    if (rule == RILL_RULE_LENGTH)
        words_cut(s, is_full(r));
    else
        all_final(s);
    endpoint_report(&r->endpoint, s, rule, end);
}

void recogniser_frame(rill_sink *s, const float *x)
{
    struct recogniser *r = s->state;
    r->search->step(r, x, s->n_frames);
    endpoint_check(s);
    if (s->n_events)
        return;
    if (is_full(r))
        words_cut(s, true);
    else
        partial_make(s, r->search->best(r));
}
