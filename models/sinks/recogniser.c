/* SPDX-License-Identifier: MIT */
#include "models/sinks/recogniser.h"

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

/* ---- texts ---- */

static void text_make_of(rill_sink *s, uint32_t hyp, uint32_t n)
{
    struct recogniser *r = s->state;
    for (uint32_t i = 0; i < n; i++)
        r->said[i] = r->search->said(s, hyp, i);
    text_write(&r->text, r->said, n);
}

static void partial_make(rill_sink *s, uint32_t hyp)
{
    struct recogniser *r = s->state;
    uint32_t n = r->search->tokens(r, hyp, r->now);
    if (n == r->n_shown && !memcmp(r->now, r->shown, n * sizeof *r->now))
        return;
    float stability = r->search->stability(r, hyp);
    if (stability < s->opts.stability)
        return;
    r->n_shown = n;
    memcpy(r->shown, r->now, n * sizeof *r->now);
    text_make_of(s, hyp, n);
    if (!text_is_new(&r->text))
        return;
    rill_event *v = sink_event(s, RILL_EVENT_PARTIAL);
    text_report(&r->text, v);
    v->stability = stability;
    v->segment = s->segment;
}

/* The first n tokens become final. */
static void final_make(rill_sink *s, uint32_t hyp, uint32_t n)
{
    struct recogniser *r = s->state;
    text_make_of(s, hyp, n);
    if (!r->text.n_words)
        return;
    rill_event *v = sink_event(s, RILL_EVENT_FINAL);
    text_report(&r->text, v);
    v->stability = 1;
    v->segment = s->segment++;
}

static void all_final(rill_sink *s)
{
    struct recogniser *r = s->state;
    uint32_t best = r->search->best(r), n = r->search->tokens(r, best, r->now);
    if (n)
        final_make(s, best, n);
    restart(r);
}

/* The words that are over become final; where there is none, all of it where it must. */
static void words_cut(rill_sink *s, bool must)
{
    struct recogniser *r = s->state;
    uint32_t best = r->search->best(r), all = r->search->tokens(r, best, r->now),
             n = text_whole_words(&r->text, r->now, all);
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
    uint32_t best = r->search->best(r), n = r->search->tokens(r, best, r->now);
    uint64_t end = sink_pos(s, s->n_frames + 1),
             quiet = n ? r->search->said(s, best, n - 1).end_pos : r->endpoint.begin_pos;
    rill_rule rule = endpoint_rule(&r->endpoint, quiet > end ? end : quiet, end, n);
    if (rule == RILL_RULE_NONE)
        return;
    if (rule == RILL_RULE_LENGTH)
        words_cut(s, r->search->is_full(r));
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
    if (r->search->is_full(r))
        words_cut(s, true);
    else
        partial_make(s, r->search->best(r));
}
