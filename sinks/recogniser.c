/* SPDX-License-Identifier: MIT */
#include "sinks/recogniser.h"
#include "sinks/scores.h"

#include <math.h>
#include <string.h>

rill_status recogniser_make(struct recogniser *r, rill_sink *s,
                            const struct recogniser_search *search, uint32_t width, rill_error *err)
{
    struct arena *a = &s->arena;
    r->search = search;
    r->width = width;
    r->beam = s->opts.beam;
    r->max_tokens = s->opts.max_tokens;
    TRY(tokens_from_opts(&r->tokens, a, &s->opts, width, err));
    TRY(tokens_blank(&r->tokens, s->opts.blank, &r->blank, err));
    r->now = arena_array(a, uint32_t, r->max_tokens);
    r->shown = arena_array(a, uint32_t, r->max_tokens);
    r->said = arena_array(a, struct said, r->max_tokens);
    if (!r->now || !r->shown || !r->said)
        return sink_no_memory(err);
    return text_make(&r->text, a, &r->tokens, r->max_tokens, err);
}

/* The next partial says all of it. */
static void shown_forget(struct recogniser *r)
{
    r->n_shown = 0;
    text_forget(&r->text);
}

static void restart(struct recogniser *r)
{
    r->search->restart(r);
    shown_forget(r);
}

void recogniser_reset(rill_sink *s)
{
    struct recogniser *r = s->state;
    restart(r);
    endpoint_init(&r->endpoint, s);
}

/* ---- hypotheses ---- */

/* Whether one has all the tokens there may be. */
static bool is_full(const struct recogniser *r)
{
    for (uint32_t i = 0; i < r->n_hyps; i++)
        if (r->search->length(r, i) == r->max_tokens)
            return true;
    return false;
}

/* The tokens of a hypothesis, to `now`; returns how many. */
static uint32_t tokens_now(struct recogniser *r, uint32_t hyp)
{
    uint32_t n = r->search->length(r, hyp);
    for (uint32_t i = 0; i < n; i++)
        r->now[i] = r->search->token(r, hyp, i);
    return n;
}

/* Whether a hypothesis begins with the first n of `now`. */
static bool begins(const struct recogniser *r, uint32_t hyp, uint32_t n)
{
    if (r->search->length(r, hyp) < n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (r->search->token(r, hyp, i) != r->now[i])
            return false;
    return true;
}

/* 0..1: share of all hypotheses that begin as this one, whose n tokens are in `now`; of a greedy
 * one the score of its last token. */
static float stability_of(const rill_sink *s, uint32_t hyp, uint32_t n)
{
    const struct recogniser *r = s->state;
    double same = -(double) INFINITY, all = same;
    if (r->beam == 1)
        return n ? r->search->said(s, hyp, n - 1).confidence : 1;
    for (uint32_t i = 0; i < r->n_hyps; i++) {
        double score = r->search->score(r, i);
        all = scores_add(all, score);
        same = begins(r, i, n) ? scores_add(same, score) : same;
    }
    return (float) exp(same - all);
}

/* ---- texts ---- */

static void text_make_of(rill_sink *s, uint32_t hyp, uint32_t n)
{
    struct recogniser *r = s->state;
    for (uint32_t i = 0; i < n; i++)
        r->said[i] = r->search->said(s, hyp, i);
    text_write(&r->text, r->said, n);
    uint64_t from = s->told_pos;
    for (uint32_t i = 0; i < r->text.n_words; i++) {
        rill_word *w = &r->text.words[i];
        sink_bound(s, from, &w->pos, &w->end_pos);
        from = w->end_pos;
    }
}

/* Whether what was written of a hypothesis is probable enough to be told: the geometric mean over
 * its words, so that long texts may be as doubtful a word as short ones. */
static bool is_believed(const rill_sink *s, uint32_t hyp)
{
    const struct recogniser *r = s->state;
    uint32_t n = r->text.n_words;
    double least = (double) s->opts.confidence;
    return !n || least <= 0 || r->search->log_prob(r, hyp) >= n * log(least);
}

/* What was written, or nothing where it is not believed, if that reads otherwise than what was told
 * last. */
static void partial_tell(rill_sink *s, uint32_t hyp, float stability)
{
    struct recogniser *r = s->state;
    if (!is_believed(s, hyp)) {
        text_make_of(s, hyp, 0);
        r->n_shown = 0; /* the same tokens may be believed later */
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
    uint32_t n = tokens_now(r, hyp);
    if (n == r->n_shown && !memcmp(r->now, r->shown, n * sizeof *r->now))
        return;
    float stability = stability_of(s, hyp, n);
    if (stability < s->opts.stability)
        return;
    r->n_shown = n;
    memcpy(r->shown, r->now, n * sizeof *r->now);
    text_make_of(s, hyp, n);
    partial_tell(s, hyp, stability);
}

/* The first n tokens become final, if they are believed. */
static void final_make(rill_sink *s, uint32_t hyp, uint32_t n)
{
    struct recogniser *r = s->state;
    text_make_of(s, hyp, n);
    if (!r->text.n_words)
        return;
    if (!is_believed(s, hyp)) {
        partial_tell(s, hyp, 1);
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
    restart(r);
}

/* The words that are over become final; where there is none, all of it where it must. */
static void words_cut(rill_sink *s, bool must)
{
    struct recogniser *r = s->state;
    uint32_t best = r->search->best(r), all = tokens_now(r, best),
             n = text_whole_words(&r->text, r->now, all, r->search->goes_on(r, best));
    n = n || !must ? n : all;
    final_make(s, best, n);
    r->search->keep(r, best, n);
    shown_forget(r);
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
    uint32_t best = r->search->best(r), n = r->search->length(r, best);
    uint64_t end = sink_pos(s, s->n_frames + 1),
             quiet = n ? r->search->said(s, best, n - 1).end_pos : r->endpoint.begin_pos;
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
