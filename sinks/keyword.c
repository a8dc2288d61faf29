/* SPDX-License-Identifier: MIT */
/* Keyword spotting: from a probability per word and frame to events.
 * Probabilities are averaged over the last `smooth_frames`, with zeros before the first frame. A
 * word is reported when it has been the likeliest and over the threshold for `patience_frames` in a
 * row, and not again before it fell below. A run that begins within the debounce time of a report
 * is ignored however long it lasts, since it may be the same word. */
#include "models/tokens.h"
#include "sinks/sink.h"

#include <math.h>

struct keyword {
    struct tokens words;
    rill_scores scores;
    uint32_t smooth, patience, width;
    float *recent;             /* a ring of `smooth` frames */
    float *mean;               /* of the present frame */
    uint32_t word, run_frames; /* the word over the threshold, and for how long */
    uint64_t begin_pos;        /* the first frame of that run */
    uint64_t debounce_until;   /* sample */
};

#define NO_WORD UINT32_MAX

static rill_status make(rill_sink *s, rill_error *err)
{
    struct keyword *k = s->state = arena_new(&s->arena, struct keyword);
    if (!k)
        return sink_no_memory(err);
    k->width = s->port.width;
    k->scores = s->opts.scores;
    k->smooth = s->opts.smooth_frames;
    k->patience = s->opts.patience_frames;
    k->recent = arena_alloc_array(&s->arena, (size_t) k->smooth * sizeof(float), k->width);
    k->mean = arena_array(&s->arena, float, k->width);
    if (!k->recent || !k->mean)
        return sink_no_memory(err);
    return tokens_from_opts(&k->words, &s->arena, &s->opts, "the output", k->width, err);
}

static void reset(rill_sink *s)
{
    struct keyword *k = s->state;
    for (size_t i = 0; i < (size_t) k->smooth * k->width; i++)
        k->recent[i] = 0;
    k->word = NO_WORD;
    k->run_frames = 0;
    k->begin_pos = k->debounce_until = 0;
}

/* ---- scores ---- */

static float unit(double p)
{
    return p > 0 ? (p < 1 ? (float) p : 1) : 0; /* not a number: 0 */
}

/* One column: sigmoid; more: softmax. */
static void logits_read(const float *x, uint32_t n, float *ret)
{
    double high = -(double) INFINITY, sum = 0;
    if (n == 1) {
        *ret = unit(1 / (1 + exp(-(double) *x)));
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        high = (double) x[i] > high ? (double) x[i] : high;
    for (uint32_t i = 0; i < n; i++)
        sum += (double) x[i] <= high ? exp((double) x[i] - high) : 0;
    for (uint32_t i = 0; i < n; i++)
        ret[i] = unit(exp((double) x[i] - high) / sum);
}

static void scores_read(const struct keyword *k, const float *x, float *ret)
{
    if (k->scores == RILL_SCORES_LOGITS) {
        logits_read(x, k->width, ret);
        return;
    }
    for (uint32_t i = 0; i < k->width; i++)
        ret[i] = unit(k->scores == RILL_SCORES_LOG ? exp((double) x[i]) : (double) x[i]);
}

/* Summed anew from the oldest to the newest, so that rounding does not accumulate. */
static float mean_of(const struct keyword *k, uint32_t word, uint64_t newest)
{
    double sum = 0;
    for (uint32_t i = 1; i <= k->smooth; i++)
        sum += (double) k->recent[(newest + i) % k->smooth * k->width + word];
    return (float) (sum / k->smooth);
}

/* ---- a frame ---- */

static void report(rill_sink *s, const struct keyword *k)
{
    uint64_t end_pos = sink_pos(s, s->n_frames + 1),
             frames = (uint64_t) k->smooth + k->patience - 1;
    rill_event *e = sink_event(s, RILL_EVENT_KEYWORD);
    e->pos = sink_pos(s, s->n_frames + 1 > frames ? s->n_frames + 1 - frames : 0);
    e->end_pos = end_pos;
    e->text = k->words.list[k->word].name;
    e->score = k->mean[k->word];
}

static void frame(rill_sink *s, const float *x)
{
    struct keyword *k = s->state;
    uint32_t best = NO_WORD;
    scores_read(k, x, k->recent + s->n_frames % k->smooth * k->width);
    for (uint32_t i = 0; i < k->width; i++) {
        k->mean[i] = mean_of(k, i, s->n_frames);
        if (!k->words.list[i].is_silent && k->mean[i] >= s->opts.threshold &&
            (best == NO_WORD || k->mean[i] > k->mean[best]))
            best = i;
    }
    k->run_frames = best == NO_WORD ? 0
        : best == k->word           ? k->run_frames + (k->run_frames < UINT32_MAX)
                                    : 1;
    k->word = best;
    k->begin_pos = k->run_frames == 1 ? sink_pos(s, s->n_frames) : k->begin_pos;
    if (k->run_frames != k->patience || k->begin_pos < k->debounce_until)
        return;
    report(s, k);
    k->debounce_until = sink_pos(s, s->n_frames + 1) + sink_samples(s, s->opts.debounce_ms);
}

static void finish(rill_sink *s)
{
    (void) s;
}

const struct sink_kind sink_keyword = {
    .port = RILL_PORT_KEYWORD, .make = make, .reset = reset, .frame = frame, .finish = finish
};
