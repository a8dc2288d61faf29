/* SPDX-License-Identifier: MIT */
#include "sinks/scores.h"
#include "sinks/transducer.h"

#include <string.h>

uint32_t transducer_best(const struct transducer *t)
{
    uint32_t best = 0;
    double high = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        double length = t->n_states ? 1 : (double) (t->context + t->hyps[i].n);
        double score = t->hyps[i].score / length;
        best = !i || score > high ? i : best;
        high = best == i ? score : high;
    }
    return best;
}

static bool hyp_has_prefix(const struct transducer_hyp *h, const struct transducer_hyp *start)
{
    for (uint32_t i = 0; i < start->n; i++)
        if (i == h->n || h->emissions[i].token != start->emissions[i].token)
            return false;
    return true;
}

/* ---- the networks ---- */

void transducer_decoder_push(struct transducer *t, unsigned stream, const struct transducer_hyp *h)
{
    const float one = 1, *state = h->states;
    network_push(&t->decoder, stream, 0, h->context);
    if (t->n_states)
        network_push(&t->decoder, stream, 1, &one);
    for (unsigned i = TRANSDUCER_STATES_FIRST; i < t->decoder.n_inputs; i++) {
        network_push(&t->decoder, stream, i, state);
        state += t->decoder.in[i].width;
    }
}

static void decoder_pull(struct transducer *t, unsigned stream, struct transducer_hyp *h)
{
    float *state = h->states;
    network_pull(&t->decoder, stream, 0, h->decoded);
    for (unsigned i = TRANSDUCER_STATES_FIRST; i < t->decoder.n_outputs; i++) {
        network_pull(&t->decoder, stream, i, state);
        state += t->decoder.out[i].width;
    }
    h->is_new = false;
}

void transducer_decode(struct transducer *t)
{
    unsigned n = 0, at = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        if (t->hyps[i].is_new)
            transducer_decoder_push(t, n++, &t->hyps[i]);
    network_run(&t->decoder, n);
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        if (t->hyps[i].is_new)
            decoder_pull(t, at++, &t->hyps[i]);
}

/* Scores of hypotheses that are not done with the frame. */
static void join(struct transducer *t, const float *x)
{
    unsigned n = 0, at = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        if (t->hyps[i].is_done)
            continue;
        network_push(&t->joiner, n, t->frame_input, x);
        network_push(&t->joiner, n++, t->decoded_input, t->hyps[i].decoded);
    }
    network_run(&t->joiner, n);
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        float *logp = t->logp + (size_t) i * t->r.width;
        if (t->hyps[i].is_done)
            continue;
        network_pull(&t->joiner, at++, 0, logp);
        logp[t->r.blank] -= t->blank_penalty;
        scores_log(logp, logp, t->r.width, t->r.scores, t->r.blank);
    }
}

/* ---- hypotheses ---- */

static bool is_emitted(const struct transducer *t, uint32_t token)
{
    return token != t->r.blank && token != t->unknown;
}

static void emit(const struct transducer *t, struct transducer_hyp *h, uint32_t token,
                 uint64_t frame, float logp)
{
    h->emissions[h->n++] = (struct emission) { .frame = frame, .token = token, .logp = logp };
    memmove(h->context, h->context + 1, (t->context - 1) * sizeof *h->context);
    h->context[t->context - 1] = (float) token;
    h->is_new = true;
}

static void context_restart(const struct transducer *t, struct transducer_hyp *h)
{
    for (uint32_t i = 0; i < t->context; i++)
        h->context[i] = i + 1 < t->context ? -1.0f : (float) t->r.blank;
}

void transducer_restart(struct transducer *t)
{
    struct transducer_hyp *h = &t->hyps[0];
    h->score = 0;
    h->n = 0;
    h->is_new = h->is_done = false;
    h->hotword = HOTWORDS_ROOT;
    h->history = t->lm.begin;
    context_restart(t, h);
    memcpy(h->decoded, t->decoded_first, t->decoder.out[0].width * sizeof *h->decoded);
    memcpy(h->states, t->states_first, t->state_width * sizeof *h->states);
    t->r.n_hyps = 1;
}

/* As the runtime of sherpa-onnx has it: a beam and a recurrent decoder begin anew; a greedy search
 * goes on from the last tokens, and where nothing was said, from none, with the decoder's last
 * answer until there is one. */
void transducer_next_text(struct transducer *t)
{
    struct transducer_hyp *h = &t->hyps[0];
    if (t->r.beam > 1 || t->n_states)
        transducer_restart(t);
    else if (!h->n)
        context_restart(t, h);
    h->n = 0;
    h->score = 0;
}

static void greedy_step(struct transducer *t, const float *x, uint64_t frame)
{
    struct transducer_hyp *h = &t->hyps[0];
    for (uint32_t k = 0; k < t->max_symbols && h->n < t->r.max_tokens; k++) {
        uint32_t best = 0;
        join(t, x);
        for (uint32_t i = 1; i < t->r.width; i++)
            best = t->logp[i] > t->logp[best] ? i : best;
        h->score += (double) t->logp[best];
        if (!is_emitted(t, best))
            return;
        emit(t, h, best, frame, t->logp[best]);
        transducer_decode(t);
    }
}

/* The best `beam` expansions of hypotheses that are not done, best first; equal ones in order. */
static uint32_t expansions_find(struct transducer *t)
{
    struct transducer_expansion *list = t->expansions;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        const float *logp = t->logp + (size_t) i * t->r.width;
        for (uint32_t k = 0; k < t->r.width && !t->hyps[i].is_done; k++) {
            double score = t->hyps[i].score + (double) logp[k];
            if (n == t->r.beam && score <= list[n - 1].score)
                continue;
            uint32_t at = n < t->r.beam ? n++ : n - 1;
            for (; at && list[at - 1].score < score; at--)
                list[at] = list[at - 1];
            list[at] = (struct transducer_expansion) { score, i, k };
        }
    }
    return n;
}

static void hyp_copy(const struct transducer *t, struct transducer_hyp *to,
                     const struct transducer_hyp *from)
{
    to->score = from->score;
    to->n = from->n;
    to->is_new = false;
    to->is_done = from->is_done;
    to->hotword = from->hotword;
    to->history = from->history;
    memcpy(to->emissions, from->emissions, from->n * sizeof *to->emissions);
    memcpy(to->context, from->context, t->context * sizeof *to->context);
    memcpy(to->decoded, from->decoded, t->decoder.out[0].width * sizeof *to->decoded);
    memcpy(to->states, from->states, t->state_width * sizeof *to->states);
}

static void hyp_expand(const struct transducer *t, struct transducer_hyp *to,
                       const struct transducer_expansion *w, uint64_t frame)
{
    hyp_copy(t, to, &t->hyps[w->hyp]);
    to->score = w->score;
    to->is_done = true;
    if (!is_emitted(t, w->token))
        return;
    to->is_done = false;
    emit(t, to, w->token, frame, t->logp[(size_t) w->hyp * t->r.width + w->token]);
    if (t->hotwords.n)
        to->score += (double) hotwords_step(&t->hotwords, w->token, &to->hotword);
    if (t->lm.n)
        to->score += (double) (t->lm_scale * ngram_step(&t->lm, w->token, &to->history));
}

/* The first of n new hypotheses with the same tokens as h, done as it is, or n. */
static uint32_t same_find(const struct transducer *t, uint32_t n, const struct transducer_hyp *h)
{
    uint32_t i = 0;
    while (i < n &&
           (t->others[i].n != h->n || t->others[i].is_done != h->is_done ||
            !hyp_has_prefix(&t->others[i], h)))
        i++;
    return i;
}

static void hyps_swap(struct transducer_hyp *a, struct transducer_hyp *b)
{
    struct transducer_hyp kept = *a;
    *a = *b;
    *b = kept;
}

/* Joins new hypothesis n to one of those before it that says the same: probabilities are added, or,
 * of a recurrent decoder, the better one stays, as sherpa-onnx has both. Returns how many there
 * are.
 */
static uint32_t hyp_join(struct transducer *t, uint32_t n)
{
    struct transducer_hyp *h = &t->others[n];
    uint32_t same = same_find(t, n, h);
    if (same == n)
        return n + 1;
    if (!t->n_states)
        t->others[same].score = scores_add(t->others[same].score, h->score);
    else if (h->score > t->others[same].score)
        hyps_swap(h, &t->others[same]);
    return n;
}

/* Of n new hypotheses the best `beam`; where they are no more, in their order. */
static uint32_t hyps_cut(struct transducer *t, uint32_t n)
{
    if (n <= t->r.beam)
        return n;
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k && t->others[k].score > t->others[k - 1].score; k--)
            hyps_swap(&t->others[k], &t->others[k - 1]);
    return t->r.beam;
}

/* One more token of each hypothesis that is not done; is_last: that the frame may make. */
static void hyps_extend(struct transducer *t, uint64_t frame, bool is_last)
{
    uint32_t n_expansions = expansions_find(t), n = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        if (t->hyps[i].is_done)
            hyp_copy(t, &t->others[n++], &t->hyps[i]);
    for (uint32_t i = 0; i < n_expansions; i++) {
        hyp_expand(t, &t->others[n], &t->expansions[i], frame);
        t->others[n].is_done |= is_last;
        n = hyp_join(t, n);
    }
    struct transducer_hyp *old = t->hyps;
    t->r.n_hyps = hyps_cut(t, n);
    t->hyps = t->others;
    t->others = old;
}

/* How many more tokens a frame may make: none of a hypothesis beyond max_tokens. */
static uint32_t symbols_left(const struct transducer *t)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        longest = t->hyps[i].n > longest ? t->hyps[i].n : longest;
    uint32_t room = t->r.max_tokens - longest;
    return room < t->max_symbols ? room : t->max_symbols;
}

static bool all_done(const struct transducer *t)
{
    uint32_t i = 0;
    while (i < t->r.n_hyps && t->hyps[i].is_done)
        i++;
    return i == t->r.n_hyps;
}

static void search_step(struct transducer *t, const float *x, uint64_t frame)
{
    uint32_t n = symbols_left(t);
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        t->hyps[i].is_done = false;
    for (uint32_t k = 0; k < n && !all_done(t); k++) {
        join(t, x);
        hyps_extend(t, frame, k + 1 == n);
        transducer_decode(t);
    }
}

void transducer_step(struct transducer *t, const float *x, uint64_t frame)
{
    (t->r.beam == 1 ? greedy_step : search_step)(t, x, frame);
}
