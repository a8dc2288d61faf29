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

/* Whether two hypotheses say the same, behind the same. */
static bool hyps_agree(const struct transducer_hyp *a, const struct transducer_hyp *b)
{
    uint32_t i = 0;
    while (i < a->n && i < b->n && a->emissions[i].token == b->emissions[i].token)
        i++;
    return i == a->n && i == b->n && a->origin == b->origin;
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
    network_run(&t->decoder, n, t->fault);
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
    network_run(&t->joiner, n, t->fault);
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

/* The beginning of a text: states of what was said are forgotten, but for the decoder's. */
static void text_begin(const struct transducer *t, struct transducer_hyp *h, uint32_t origin)
{
    h->n = 0;
    h->is_new = h->is_done = h->is_beaten = false;
    h->hotword = HOTWORDS_ROOT;
    h->history = t->lm.begin;
    h->origin = origin;
}

static void hyp_begin(const struct transducer *t, struct transducer_hyp *h)
{
    text_begin(t, h, 0);
    h->score = h->score_first = 0;
    context_restart(t, h);
    memcpy(h->decoded, t->decoded_first, t->decoder.out[0].width * sizeof *h->decoded);
    memcpy(h->states, t->states_first, t->state_width * sizeof *h->states);
}

void transducer_restart(struct transducer *t)
{
    hyp_begin(t, &t->hyps[0]);
    t->r.n_hyps = 1;
}

static void hyp_copy(const struct transducer *t, struct transducer_hyp *to,
                     const struct transducer_hyp *from)
{
    to->score = from->score;
    to->score_first = from->score_first;
    to->n = from->n;
    to->is_new = to->is_beaten = false;
    to->is_done = from->is_done;
    to->hotword = from->hotword;
    to->history = from->history;
    to->origin = from->origin;
    memcpy(to->emissions, from->emissions, from->n * sizeof *to->emissions);
    memcpy(to->context, from->context, t->context * sizeof *to->context);
    memcpy(to->decoded, from->decoded, t->decoder.out[0].width * sizeof *to->decoded);
    memcpy(to->states, from->states, t->state_width * sizeof *to->states);
}

/* The first n of the others become the present ones. */
static void hyps_replace(struct transducer *t, uint32_t n)
{
    struct transducer_hyp *old = t->hyps;
    t->r.n_hyps = n;
    t->hyps = t->others;
    t->others = old;
}

/* A beam goes on from the last tokens of each hypothesis, with its score, beside one that begins
 * anew; where the best one said nothing, from that alone. */
static void beam_next_text(struct transducer *t)
{
    uint32_t n_old = t->hyps[transducer_best(t)].n ? t->r.n_hyps : 0, n = 1;
    hyp_begin(t, &t->others[0]);
    for (uint32_t i = 0; i < n_old; i++) {
        struct transducer_hyp *h = &t->others[n];
        uint32_t same = 0;
        hyp_copy(t, h, &t->hyps[i]);
        text_begin(t, h, n);
        while (memcmp(t->others[same].context, h->context, t->context * sizeof *h->context) != 0)
            same++;
        if (same < n)
            t->others[same].score = scores_add(t->others[same].score, h->score);
        t->others[same].score_first = t->others[same].score;
        n += same == n;
    }
    hyps_replace(t, n);
}

/* As the runtime of sherpa-onnx has it: a recurrent decoder begins anew; a greedy search goes on
 * from the last tokens, and where nothing was said, from none, with the decoder's last answer until
 * there is one. */
void transducer_next_text(struct transducer *t)
{
    struct transducer_hyp *h = &t->hyps[0];
    if (t->n_states) {
        transducer_restart(t);
    } else if (t->r.beam > 1) {
        beam_next_text(t);
    } else {
        if (!h->n)
            context_restart(t, h);
        h->n = 0;
        h->score = 0;
    }
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

/* Puts w among the n best, best first, of which there may be `room`; equal ones in order. Returns
 * how many there are. */
static uint32_t expansion_insert(struct transducer_expansion *list, uint32_t n, uint32_t room,
                                 struct transducer_expansion w)
{
    if (n == room && w.score <= list[n - 1].score)
        return n;
    uint32_t at = n < room ? n++ : n - 1;
    for (; at && list[at - 1].score < w.score; at--)
        list[at] = list[at - 1];
    list[at] = w;
    return n;
}

/* The best `beam` expansions of hypotheses that are not done. */
static uint32_t expansions_find(struct transducer *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        const float *logp = t->logp + (size_t) i * t->r.width;
        for (uint32_t k = 0; k < t->r.width && !t->hyps[i].is_done; k++)
            n = expansion_insert(t->expansions, n, t->r.beam,
                                 (struct transducer_expansion) {
                                     t->hyps[i].score + (double) logp[k], i, k });
    }
    return n;
}

/* What hotwords and n-grams say of a token, behind states that become the next ones. */
static double bias_step(const struct transducer *t, uint32_t token, uint32_t *hotword,
                        uint32_t *history)
{
    double bias = t->hotwords.n ? (double) hotwords_step(&t->hotwords, token, hotword) : 0;
    return bias + (t->lm.n ? (double) (t->lm_scale * ngram_step(&t->lm, token, history)) : 0);
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
    to->score += bias_step(t, w->token, &to->hotword, &to->history);
}

/* The first of n new hypotheses with the same tokens as h, done as it is, or n. */
static uint32_t same_find(const struct transducer *t, uint32_t n, const struct transducer_hyp *h)
{
    uint32_t i = 0;
    while (i < n && (t->others[i].is_done != h->is_done || !hyps_agree(&t->others[i], h)))
        i++;
    return i;
}

static void hyps_swap(struct transducer_hyp *a, struct transducer_hyp *b)
{
    struct transducer_hyp kept = *a;
    *a = *b;
    *b = kept;
}

/* Joins new hypothesis n to one of those before it that says the same: probabilities are added.
 * Returns how many there are. */
static uint32_t hyp_join(struct transducer *t, uint32_t n)
{
    uint32_t same = same_find(t, n, &t->others[n]);
    if (same == n)
        return n + 1;
    t->others[same].score = scores_add(t->others[same].score, t->others[n].score);
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
    hyps_replace(t, hyps_cut(t, n));
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

/* ---- of a recurrent decoder, as sherpa-onnx searches NeMo's ---- */

#define STAYS UINT32_MAX /* in the place of a token: a hypothesis that is done */

/* The hypothesis that says the same as one that is not done, and is done, or n_hyps. */
static uint32_t twin_find(const struct transducer *t, uint32_t hyp)
{
    uint32_t i = 0;
    while (i < t->r.n_hyps && (!t->hyps[i].is_done || !hyps_agree(&t->hyps[i], &t->hyps[hyp])))
        i++;
    return i;
}

/* The best `beam` tokens behind a hypothesis: one that a phrase goes on with ranks by its worth,
 * too. */
static uint32_t tokens_rank(struct transducer *t, uint32_t hyp)
{
    const float *logp = t->logp + (size_t) hyp * t->r.width;
    uint32_t n = 0, n_words = 0;
    const struct hotword_node *word = hotwords_next(&t->hotwords, t->hyps[hyp].hotword, &n_words);
    for (uint32_t k = 0; k < t->r.width; k++) {
        double rank = (double) logp[k];
        if (n_words && word->token == k) {
            rank += (double) word++->step;
            n_words--;
        }
        n = expansion_insert(t->ranked, n, t->r.beam,
                             (struct transducer_expansion) { rank, hyp, k });
    }
    return n;
}

/* Whether a hypothesis with that score behind the frame is better than one that says the same. */
static bool twin_beat(struct transducer *t, uint32_t hyp, double score)
{
    uint32_t twin = twin_find(t, hyp);
    if (twin < t->r.n_hyps && score <= t->hyps[twin].score)
        return false;
    if (twin < t->r.n_hyps)
        t->hyps[twin].is_beaten = true;
    return true;
}

/* The best of all ways on, each hypothesis with each of its best tokens; of those that say the same
 * the better one stays. */
static uint32_t ways_find(struct transducer *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++) {
        struct transducer_hyp *h = &t->hyps[i];
        uint32_t n_ranked = h->is_done ? 0 : tokens_rank(t, i);
        for (uint32_t k = 0; k < n_ranked; k++) {
            struct transducer_expansion w = t->ranked[k];
            uint32_t hotword = h->hotword, history = h->history;
            w.score = h->score + (double) t->logp[(size_t) i * t->r.width + w.token];
            if (is_emitted(t, w.token))
                w.score += bias_step(t, w.token, &hotword, &history);
            else if (!twin_beat(t, i, w.score))
                continue;
            n = expansion_insert(t->expansions, n, t->r.beam, w);
        }
    }
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        if (t->hyps[i].is_done && !t->hyps[i].is_beaten)
            n = expansion_insert(t->expansions, n, t->r.beam,
                                 (struct transducer_expansion) { t->hyps[i].score, i, STAYS });
    return n;
}

static void ways_go(struct transducer *t, uint64_t frame)
{
    uint32_t n = ways_find(t);
    for (uint32_t i = 0; i < n; i++) {
        const struct transducer_expansion *w = &t->expansions[i];
        if (w->token == STAYS)
            hyp_copy(t, &t->others[i], &t->hyps[w->hyp]);
        else
            hyp_expand(t, &t->others[i], w, frame);
        t->others[i].score = w->score;
    }
    hyps_replace(t, n);
}

/* Hypotheses that have all tokens of the frame are done with it. */
static void hyps_end(struct transducer *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        if (!t->hyps[i].is_done)
            t->hyps[i].is_beaten = !twin_beat(t, i, t->hyps[i].score);
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        if (!t->hyps[i].is_beaten)
            hyps_swap(&t->hyps[n++], &t->hyps[i]);
    t->r.n_hyps = n;
}

static void search_step(struct transducer *t, const float *x, uint64_t frame)
{
    uint32_t n = symbols_left(t);
    for (uint32_t i = 0; i < t->r.n_hyps; i++)
        t->hyps[i].is_done = t->hyps[i].is_beaten = false;
    for (uint32_t k = 0; k < n && !all_done(t); k++) {
        join(t, x);
        if (t->n_states)
            ways_go(t, frame);
        else
            hyps_extend(t, frame, k + 1 == n);
        transducer_decode(t);
    }
    if (t->n_states)
        hyps_end(t);
}

void transducer_step(struct transducer *t, const float *x, uint64_t frame)
{
    (t->r.beam == 1 ? greedy_step : search_step)(t, x, frame);
}
