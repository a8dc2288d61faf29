/* SPDX-License-Identifier: MIT */
#include "sinks/scores.h"
#include "sinks/transducer.h"

#include <string.h>

uint32_t transducer_best(const struct transducer *t)
{
    uint32_t best = 0;
    double high = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        double score = t->hyps[i].score / (double) (t->context + t->hyps[i].n);
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

void transducer_decode(struct transducer *t)
{
    unsigned n = 0, at = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        if (t->hyps[i].is_new)
            network_push(&t->decoder, n++, 0, t->hyps[i].context);
    network_run(&t->decoder, n);
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        if (t->hyps[i].is_new)
            network_pull(&t->decoder, at++, t->hyps[i].decoded);
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        t->hyps[i].is_new = false;
}

static void join(struct transducer *t, const float *x)
{
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        network_push(&t->joiner, i, t->frame_input, x);
        network_push(&t->joiner, i, t->decoded_input, t->hyps[i].decoded);
    }
    network_run(&t->joiner, t->r.n_hyps);
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        float *logp = t->logp + (size_t) i * t->r.width;
        network_pull(&t->joiner, i, logp);
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
    h->is_new = false;
    h->hotword = HOTWORDS_ROOT;
    h->history = t->lm.begin;
    context_restart(t, h);
    memcpy(h->decoded, t->decoded_first, t->decoder.out.width * sizeof *h->decoded);
    t->r.n_hyps = 1;
}

/* As the runtime of sherpa-onnx has it: a beam begins anew; a greedy search goes on from the last
 * tokens, and where nothing was said, from none, with the decoder's last answer until there is one.
 */
void transducer_next_text(struct transducer *t)
{
    struct transducer_hyp *h = &t->hyps[0];
    if (t->r.beam > 1)
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

/* The best `beam` expansions of all hypotheses, best first; equal ones in order. */
static uint32_t expansions_find(struct transducer *t)
{
    struct transducer_expansion *list = t->expansions;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        const float *logp = t->logp + (size_t) i * t->r.width;
        for (uint32_t k = 0; k < t->r.width; k++) {
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

static void hyp_expand(const struct transducer *t, struct transducer_hyp *to,
                       const struct transducer_expansion *w, uint64_t frame)
{
    const struct transducer_hyp *from = &t->hyps[w->hyp];
    to->score = w->score;
    to->n = from->n;
    to->is_new = false;
    to->hotword = from->hotword;
    to->history = from->history;
    memcpy(to->emissions, from->emissions, from->n * sizeof *to->emissions);
    memcpy(to->context, from->context, t->context * sizeof *to->context);
    memcpy(to->decoded, from->decoded, t->decoder.out.width * sizeof *to->decoded);
    if (!is_emitted(t, w->token))
        return;
    emit(t, to, w->token, frame, t->logp[(size_t) w->hyp * t->r.width + w->token]);
    if (t->hotwords.n)
        to->score += (double) hotwords_step(&t->hotwords, w->token, &to->hotword);
    if (t->lm.n)
        to->score += (double) (t->lm_scale * ngram_step(&t->lm, w->token, &to->history));
}

/* The first of n new hypotheses with the same tokens as h, or n. */
static uint32_t same_find(const struct transducer *t, uint32_t n, const struct transducer_hyp *h)
{
    uint32_t i = 0;
    while (i < n && (t->others[i].n != h->n || !hyp_has_prefix(&t->others[i], h)))
        i++;
    return i;
}

static void search_step(struct transducer *t, const float *x, uint64_t frame)
{
    join(t, x);
    uint32_t n_expansions = expansions_find(t), n = 0;
    for (uint32_t i = 0; i < n_expansions; i++) {
        struct transducer_hyp *to = &t->others[n];
        hyp_expand(t, to, &t->expansions[i], frame);
        uint32_t same = same_find(t, n, to);
        if (same < n)
            t->others[same].score = scores_add(t->others[same].score, to->score);
        n += same == n;
    }
    struct transducer_hyp *old = t->hyps;
    t->hyps = t->others;
    t->others = old;
    t->r.n_hyps = n;
    transducer_decode(t);
}

void transducer_step(struct transducer *t, const float *x, uint64_t frame)
{
    (t->r.beam == 1 ? greedy_step : search_step)(t, x, frame);
}
