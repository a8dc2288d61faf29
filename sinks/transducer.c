/* SPDX-License-Identifier: MIT */
#include "sinks/transducer.h"
#include "sinks/scores.h"

#include <math.h>
#include <string.h>

#define STATES_FIRST TRANSDUCER_STATES_FIRST

/* ---- making ---- */

static rill_status context_read(struct transducer *t, rill_error *err)
{
    const char *stated = network_meta(&t->decoder, "context_size");
    t->context = t->decoder.in[0].width;
    if (stated && !network_meta_is(stated, t->context))
        return err_set(err, RILL_INVALID,
                       "%.160s: context_size of its metadata is '%.40s', and its input is of %u "
                       "tokens",
                       t->decoder.file, stated, t->context);
    return RILL_OK;
}

/* Inputs: the last token, of how many that is (1), states; outputs: the vector, its length, states.
 */
static rill_status states_read(struct transducer *t, rill_error *err)
{
    const struct network *d = &t->decoder;
    if (d->n_inputs == 1 && d->n_outputs == 1)
        return RILL_OK;
    bool fits = d->n_inputs > STATES_FIRST && d->n_inputs == d->n_outputs && d->in[0].width == 1 &&
        d->in[1].width == 1;
    for (unsigned i = STATES_FIRST; fits && i < d->n_inputs; i++) {
        fits = d->in[i].width == d->out[i].width;
        t->state_width += d->in[i].width;
    }
    if (!fits)
        return err_set(
            err, RILL_INVALID,
            "%.160s: the decoder has %u inputs and %u outputs; expected tokens in and one "
            "vector out, or, of a recurrent one, a token, a length and states in, and a "
            "vector, a length and the same states out",
            d->file, d->n_inputs, d->n_outputs);
    t->n_states = d->n_inputs - STATES_FIRST;
    return RILL_OK;
}

static rill_status joiner_check(struct transducer *t, const rill_sink *s, rill_error *err)
{
    const struct network *j = &t->joiner;
    if (j->n_inputs != 2 || j->n_outputs != 1)
        return err_set(err, RILL_INVALID,
                       "%.160s: the joiner has %u inputs and %u outputs; expected 2 inputs and one "
                       "output",
                       j->file, j->n_inputs, j->n_outputs);
    t->decoded_input =
        !strncmp(j->in[0].name, "decoder", 7) || !strncmp(j->in[1].name, "encoder", 7) ? 0 : 1;
    t->frame_input = 1 - t->decoded_input;
    uint32_t frame = j->in[t->frame_input].width, decoded = j->in[t->decoded_input].width;
    if (frame != s->port.width)
        return err_set(
            err, RILL_INVALID,
            "%.160s: the joiner takes frames of %u numbers ('%.60s'), and the encoder's are of %u",
            j->file, frame, j->in[t->frame_input].name, s->port.width);
    if (decoded != t->decoder.out[0].width)
        return err_set(
            err, RILL_INVALID,
            "%.160s: the joiner takes %u numbers from the decoder ('%.60s'), which gives "
            "%u",
            j->file, decoded, j->in[t->decoded_input].name, t->decoder.out[0].width);
    return RILL_OK;
}

static rill_status vocabulary_check(const struct transducer *t, rill_error *err)
{
    const struct network *const nets[] = { &t->decoder, &t->joiner };
    for (int i = 0; i < 2; i++) {
        const char *stated = network_meta(nets[i], "vocab_size");
        if (stated && !network_meta_is(stated, t->joiner.out[0].width))
            return err_set(err, RILL_INVALID,
                           "%.160s: vocab_size of its metadata is '%.40s', and the joiner gives %u "
                           "scores",
                           nets[i]->file, stated, t->joiner.out[0].width);
    }
    return RILL_OK;
}

static rill_status nets_make(struct transducer *t, rill_sink *s, rill_error *err)
{
    const rill_sink_opts *o = &s->opts;
    if (!o->decoder || !o->joiner)
        return err_set(err, RILL_INVALID,
                       "a transducer needs a decoder and a joiner: model.conf names their files as "
                       "decoder = FILE and joiner = FILE");
    TRY(network_make(&t->decoder, &s->arena, o->decoder, "decoder", o->beam, err));
    TRY(network_make(&t->joiner, &s->arena, o->joiner, "joiner", o->beam + 1, err));
    TRY(states_read(t, err));
    TRY(context_read(t, err));
    TRY(joiner_check(t, s, err));
    return vocabulary_check(t, err);
}

static bool hyps_make(const struct transducer *t, struct arena *a, struct transducer_hyp **ret)
{
    struct transducer_hyp *h = *ret = arena_array(a, struct transducer_hyp, 2 * t->r.beam);
    for (uint32_t i = 0; h && i < 2 * t->r.beam; i++) {
        h[i].emissions = arena_array(a, struct emission, t->r.max_tokens);
        h[i].context = arena_array(a, float, t->context);
        h[i].decoded = arena_array(a, float, t->decoder.out[0].width);
        h[i].states = arena_array(a, float, t->state_width);
        if (!h[i].emissions || !h[i].context || !h[i].decoded || !h[i].states)
            return false;
    }
    return h;
}

static rill_status buffers_make(struct transducer *t, struct arena *a, rill_error *err)
{
    t->expansions = arena_array(a, struct transducer_expansion, t->r.beam);
    t->ranked = arena_array(a, struct transducer_expansion, t->r.beam);
    t->logp = arena_alloc_array(a, ((size_t) t->r.beam + 1) * sizeof(float), t->r.width);
    t->decoded_first = arena_array(a, float, t->decoder.out[0].width);
    t->states_first = arena_array(a, float, t->state_width);
    if (!t->expansions || !t->ranked || !t->logp || !t->decoded_first || !t->states_first ||
        !hyps_make(t, a, &t->hyps) || !hyps_make(t, a, &t->others))
        return sink_no_memory(err);
    return RILL_OK;
}

/* Checks that the decoder takes the highest token that the joiner may give. */
static rill_status last_token_check(struct transducer *t, rill_error *err)
{
    uint32_t last = t->joiner.out[0].width - 1;
    for (uint32_t i = 0; i < t->context; i++)
        t->hyps[0].context[i] = (float) last;
    transducer_decoder_push(t, 0, &t->hyps[0]);
    rill_status s = rill_stream_run(t->decoder.streams[0]);
    if (s == RILL_INVALID) {
        rill_stream_fault(t->decoder.streams[0], err);
        s = err_prefix(
            err, RILL_INVALID,
            "%.160s: the joiner gives scores of tokens up to %u, of which %.160s does not "
            "know the last",
            t->joiner.file, last, t->decoder.file);
    }
    rill_stream_reset(t->decoder.streams[0]);
    return s;
}

/* The decoder's output at the beginning of a text; states begin as zeros. */
static void first_decode(struct transducer *t)
{
    transducer_restart(t);
    t->hyps[0].is_new = true;
    transducer_decode(t);
    memcpy(t->decoded_first, t->hyps[0].decoded, t->decoder.out[0].width * sizeof(float));
    memcpy(t->states_first, t->hyps[0].states, t->state_width * sizeof(float));
}

/* ---- hypotheses ---- */

static void restart(void *state)
{
    transducer_restart(state);
}

static uint32_t best(const void *state)
{
    return transducer_best(state);
}

static void next_text(void *state)
{
    transducer_next_text(state);
}

static double score(const void *state, uint32_t hyp)
{
    return ((const struct transducer *) state)->hyps[hyp].score;
}

static double log_prob(const void *state, uint32_t hyp)
{
    const struct transducer_hyp *h = &((const struct transducer *) state)->hyps[hyp];
    return h->score - h->score_first;
}

static uint32_t length(const void *state, uint32_t hyp)
{
    return ((const struct transducer *) state)->hyps[hyp].n;
}

static uint32_t token(const void *state, uint32_t hyp, uint32_t i)
{
    return ((const struct transducer *) state)->hyps[hyp].emissions[i].token;
}

static struct timed_token timed(const rill_sink *s, uint32_t hyp, uint32_t i)
{
    const struct emission *h = &((const struct transducer *) s->state)->hyps[hyp].emissions[i];
    return (struct timed_token) { .token = h->token,
                                  .pos = sink_pos(s, h->frame),
                                  .end_pos = sink_pos(s, h->frame + 1),
                                  .confidence = expf(fminf(h->logp, 0)) };
}

/* A token belongs to the frame that emitted it alone. */
static bool may_continue(const void *state, uint32_t hyp)
{
    (void) state;
    (void) hyp;
    return false;
}

/* The decoder's context keeps the tokens that are removed. */
static void keep(void *state, uint32_t hyp, uint32_t n)
{
    struct transducer *t = state;
    struct transducer_hyp kept = t->hyps[hyp];
    t->hyps[hyp] = t->hyps[0];
    kept.n -= n;
    memmove(kept.emissions, kept.emissions + n, kept.n * sizeof *kept.emissions);
    kept.score = kept.score_first = 0;
    t->hyps[0] = kept;
    t->r.n_hyps = 1;
}

static void step(void *state, const float *x, uint64_t frame)
{
    transducer_step(state, x, frame);
}

static const struct recogniser_search search = { .restart = restart,
                                                 .next_text = next_text,
                                                 .step = step,
                                                 .best = best,
                                                 .score = score,
                                                 .log_prob = log_prob,
                                                 .length = length,
                                                 .token = token,
                                                 .timed = timed,
                                                 .may_continue = may_continue,
                                                 .keep = keep };

/* ---- the sink ---- */

static rill_status make(rill_sink *s, rill_error *err)
{
    struct transducer *t = s->state = arena_new(&s->arena, struct transducer);
    if (!t)
        return sink_no_memory(err);
    t->fault = &s->fault;
    t->max_symbols = s->opts.max_symbols ? s->opts.max_symbols : 1;
    t->r.scores = s->opts.scores ? s->opts.scores : RILL_SCORES_LOGITS;
    if (t->max_symbols > SINK_SYMBOLS_MAX)
        return err_set(err, RILL_INVALID, "max_symbols is at most %d; it is %u", SINK_SYMBOLS_MAX,
                       t->max_symbols);
    TRY(nets_make(t, s, err));
    TRY(recogniser_make(&t->r, s, &search, t->joiner.file, t->joiner.out[0].width, err));
    int64_t unknown = t->n_states ? -1 : tokens_find(&t->r.tokens, "<unk>");
    t->unknown = unknown < 0 ? UINT32_MAX : (uint32_t) unknown;
    t->blank_penalty = s->opts.blank_penalty;
    t->lm_scale = s->opts.lm_scale;
    TRY(ngram_make(&t->lm, &s->arena, &t->r.tokens, &s->opts, err));
    TRY(hotwords_make(&t->hotwords, &s->arena, &t->r.tokens, &s->opts, err));
    TRY(buffers_make(t, &s->arena, err));
    TRY(last_token_check(t, err));
    first_decode(t);
    s->opts.decoder = s->opts.joiner = NULL;
    return RILL_OK;
}

static void alone(rill_sink *s, bool yes)
{
    struct transducer *t = s->state;
    network_alone(&t->decoder, yes);
    network_alone(&t->joiner, yes);
}

static void drop(rill_sink *s)
{
    struct transducer *t = s->state;
    if (!t)
        return;
    network_drop(&t->decoder);
    network_drop(&t->joiner);
}

const struct sink_kind sink_transducer = { .port = RILL_PORT_TRANSDUCER,
                                           .make = make,
                                           .reset = recogniser_reset,
                                           .frame = recogniser_frame,
                                           .cut = recogniser_cut,
                                           .finish = recogniser_finish,
                                           .alone = alone,
                                           .drop = drop };
