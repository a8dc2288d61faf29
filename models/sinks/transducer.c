/* SPDX-License-Identifier: MIT */
#include "models/sinks/transducer.h"
#include "models/sinks/scores.h"

#include <math.h>
#include <string.h>


/* ---- making ---- */

static rill_status context_read(struct transducer *t, rill_error *err)
{
    int64_t stated;
    t->context = t->decoder.in[0].width;
    if (net_number(&t->decoder, "context_size", &stated) && (stated < 1 || stated != t->context))
        return err_set(
            err, RILL_INVALID,
            "the decoder's metadata has a context_size that its input of %u tokens is not "
            "of",
            t->context);
    return RILL_OK;
}

static rill_status joiner_check(struct transducer *t, const rill_sink *s, rill_error *err)
{
    const struct net *j = &t->joiner;
    t->decoded_input =
        !strcmp(j->in[0].name, "decoder_out") || !strcmp(j->in[1].name, "encoder_out") ? 0 : 1;
    t->frame_input = 1 - t->decoded_input;
    uint32_t frame = j->in[t->frame_input].width, decoded = j->in[t->decoded_input].width;
    if (frame != s->port.width)
        return err_set(
            err, RILL_INVALID,
            "the joiner takes frames of %u numbers ('%.60s'), and the encoder's are of %u", frame,
            j->in[t->frame_input].name, s->port.width);
    if (decoded != t->decoder.out.width)
        return err_set(err, RILL_INVALID,
                       "the joiner takes %u numbers from the decoder ('%.60s'), which gives %u",
                       decoded, j->in[t->decoded_input].name, t->decoder.out.width);
    return RILL_OK;
}

static rill_status vocabulary_check(const struct transducer *t, rill_error *err)
{
    const struct net *const nets[] = { &t->decoder, &t->joiner };
    int64_t stated;
    for (int i = 0; i < 2; i++)
        if (net_number(nets[i], "vocab_size", &stated) && stated != t->width)
            return err_set(err, RILL_INVALID,
                           "the %s's metadata has a vocab_size of %lld, and the joiner gives %u "
                           "scores",
                           i ? "joiner" : "decoder", (long long) stated, t->width);
    return RILL_OK;
}

static rill_status nets_make(struct transducer *t, rill_sink *s, rill_error *err)
{
    const rill_sink_opts *o = &s->opts;
    if (!o->decoder || !o->joiner)
        return err_set(err, RILL_INVALID,
                       "a transducer needs a decoder and a joiner: model.conf names their files as "
                       "decoder = FILE and joiner = FILE");
    TRY(net_make(&t->decoder, &s->arena, o->decoder, "decoder", 1, t->beam, err));
    TRY(net_make(&t->joiner, &s->arena, o->joiner, "joiner", 2, t->beam, err));
    t->width = t->joiner.out.width;
    TRY(context_read(t, err));
    TRY(joiner_check(t, s, err));
    return vocabulary_check(t, err);
}

static bool hyps_make(const struct transducer *t, struct arena *a, struct transducer_hyp **ret)
{
    struct transducer_hyp *h = *ret = arena_array(a, struct transducer_hyp, t->beam);
    for (uint32_t i = 0; h && i < t->beam; i++) {
        h[i].heard = arena_array(a, struct heard, t->max_tokens);
        h[i].context = arena_array(a, float, t->context);
        h[i].decoded = arena_array(a, float, t->decoder.out.width);
        if (!h[i].heard || !h[i].context || !h[i].decoded)
            return false;
    }
    return h;
}

static rill_status buffers_make(struct transducer *t, struct arena *a, rill_error *err)
{
    t->ways = arena_array(a, struct transducer_way, t->beam);
    t->logp = arena_alloc_array(a, (size_t) t->beam * sizeof(float), t->width);
    t->decoded_first = arena_array(a, float, t->decoder.out.width);
    t->shown = arena_array(a, uint32_t, t->max_tokens);
    t->said = arena_array(a, struct said, t->max_tokens);
    if (!t->ways || !t->logp || !t->decoded_first || !t->shown || !t->said ||
        !hyps_make(t, a, &t->hyps) || !hyps_make(t, a, &t->others))
        return sink_no_memory(err);
    return text_make(&t->text, a, &t->tokens, t->max_tokens, err);
}

/* The decoder's answer to a text that begins. */
static void first_decode(struct transducer *t)
{
    transducer_restart(t);
    t->hyps[0].is_new = true;
    transducer_decode(t);
    memcpy(t->decoded_first, t->hyps[0].decoded, t->decoder.out.width * sizeof(float));
}

static rill_status make(rill_sink *s, rill_error *err)
{
    struct transducer *t = s->state = arena_new(&s->arena, struct transducer);
    if (!t)
        return sink_no_memory(err);
    t->beam = s->opts.beam;
    t->max_tokens = s->opts.max_tokens;
    t->max_symbols = s->opts.max_symbols ? s->opts.max_symbols : 1;
    t->scores = s->opts.scores ? s->opts.scores : RILL_SCORES_LOGITS;
    if (t->max_symbols > SINK_SYMBOLS_MAX)
        return err_set(err, RILL_INVALID, "max_symbols is at most %d; it is %u", SINK_SYMBOLS_MAX,
                       t->max_symbols);
    TRY(nets_make(t, s, err));
    TRY(tokens_from_opts(&t->tokens, &s->arena, &s->opts, t->width, err));
    TRY(tokens_blank(&t->tokens, s->opts.blank, &t->blank, err));
    int64_t unknown = tokens_find(&t->tokens, "<unk>");
    t->unknown = unknown < 0 ? UINT32_MAX : (uint32_t) unknown;
    TRY(buffers_make(t, &s->arena, err));
    first_decode(t);
    s->opts.decoder = s->opts.joiner = NULL;
    return RILL_OK;
}

static void drop(rill_sink *s)
{
    struct transducer *t = s->state;
    if (!t)
        return;
    net_drop(&t->decoder);
    net_drop(&t->joiner);
}

static void reset(rill_sink *s)
{
    struct transducer *t = s->state;
    transducer_restart(t);
    endpoint_init(&t->endpoint, s);
}

/* ---- texts ---- */

static void text_make_of(rill_sink *s, const struct transducer_hyp *h, uint32_t n)
{
    struct transducer *t = s->state;
    for (uint32_t i = 0; i < n; i++)
        t->said[i] = (struct said) {
            .token = h->heard[i].token,
            .pos = sink_pos(s, h->heard[i].frame),
            .end_pos = sink_pos(s, h->heard[i].frame + 1),
            .confidence = expf(fminf(h->heard[i].logp, 0)),
        };
    text_write(&t->text, t->said, n);
}

/* Share of the hypotheses that begin as h; of a greedy one the score of its last token. */
static float stability_of(const struct transducer *t, const struct transducer_hyp *h)
{
    double same = -(double) INFINITY, all = same;
    if (t->beam == 1)
        return h->n ? expf(fminf(h->heard[h->n - 1].logp, 0)) : 1;
    for (uint32_t i = 0; i < t->n_hyps; i++) {
        all = scores_add(all, t->hyps[i].score);
        same = transducer_hyp_begins(&t->hyps[i], h) ? scores_add(same, t->hyps[i].score) : same;
    }
    return (float) exp(same - all);
}

static bool is_shown(const struct transducer *t, const struct transducer_hyp *h)
{
    for (uint32_t i = 0; i < h->n && h->n == t->n_shown; i++)
        if (h->heard[i].token != t->shown[i])
            return false;
    return h->n == t->n_shown;
}

static void partial_make(rill_sink *s, const struct transducer_hyp *h)
{
    struct transducer *t = s->state;
    float stability;
    if (is_shown(t, h) || (stability = stability_of(t, h)) < s->opts.stability)
        return;
    t->n_shown = h->n;
    for (uint32_t i = 0; i < h->n; i++)
        t->shown[i] = h->heard[i].token;
    text_make_of(s, h, h->n);
    if (!text_is_new(&t->text))
        return;
    rill_event *v = sink_event(s, RILL_EVENT_PARTIAL);
    text_report(&t->text, v);
    v->stability = stability;
    v->segment = s->segment;
}

/* The first n tokens of h become final. */
static void final_make(rill_sink *s, const struct transducer_hyp *h, uint32_t n)
{
    struct transducer *t = s->state;
    text_make_of(s, h, n);
    if (!t->text.n_words)
        return;
    rill_event *v = sink_event(s, RILL_EVENT_FINAL);
    text_report(&t->text, v);
    v->stability = 1;
    v->segment = s->segment++;
}

static uint32_t whole_words(const struct transducer *t, const struct transducer_hyp *h)
{
    uint32_t *tokens = t->shown;        /* told anew afterwards */
    for (uint32_t i = 0; i < h->n; i++)
        tokens[i] = h->heard[i].token;
    return text_whole_words(&t->text, tokens, h->n);
}

/* The words that are over become final; where there is none, all of it where it must. The best
 * hypothesis goes on alone, without what has become final; the decoder still knows it. */
static void words_cut(rill_sink *s, bool must)
{
    struct transducer *t = s->state;
    uint32_t best = transducer_best(t);
    struct transducer_hyp kept = t->hyps[best];
    uint32_t n = whole_words(t, &kept);
    n = n || !must ? n : kept.n;
    final_make(s, &kept, n);
    t->hyps[best] = t->hyps[0];
    kept.n -= n;
    memmove(kept.heard, kept.heard + n, kept.n * sizeof *kept.heard);
    kept.score = 0;
    t->hyps[0] = kept;
    t->n_hyps = 1;
    t->n_shown = 0;
    text_forget(&t->text);
}

static void cut(rill_sink *s)
{
    struct transducer *t = s->state;
    words_cut(s, false);
    t->endpoint.begin_pos = sink_pos(s, s->n_frames);
}

static void finish(rill_sink *s)
{
    struct transducer *t = s->state;
    const struct transducer_hyp *h = &t->hyps[transducer_best(t)];
    if (h->n)
        final_make(s, h, h->n);
    transducer_restart(t);
}

/* ---- a frame ---- */

static bool is_full(const struct transducer *t)
{
    for (uint32_t i = 0; i < t->n_hyps; i++)
        if (t->hyps[i].n == t->max_tokens)
            return true;
    return false;
}

static void endpoint_check(rill_sink *s)
{
    struct transducer *t = s->state;
    const struct transducer_hyp *h = &t->hyps[transducer_best(t)];
    uint64_t end = sink_pos(s, s->n_frames + 1), quiet = t->endpoint.begin_pos;
    if (h->n)
        quiet = sink_pos(s, h->heard[h->n - 1].frame + 1);
    rill_rule rule = endpoint_rule(&t->endpoint, quiet > end ? end : quiet, end, h->n);
    if (rule == RILL_RULE_NONE)
        return;
    if (rule == RILL_RULE_LENGTH) {
        words_cut(s, is_full(t));
    } else {
        final_make(s, h, h->n);
        transducer_restart(t);
    }
    endpoint_report(&t->endpoint, s, rule, end);
}

static void frame(rill_sink *s, const float *x)
{
    struct transducer *t = s->state;
    transducer_step(t, x, s->n_frames);
    endpoint_check(s);
    if (s->n_events)
        return;
    if (is_full(t)) {
        words_cut(s, true);
        return;
    }
    partial_make(s, &t->hyps[transducer_best(t)]);
}

const struct sink_kind sink_transducer = { .port = RILL_PORT_TRANSDUCER,
                                           .make = make,
                                           .reset = reset,
                                           .frame = frame,
                                           .cut = cut,
                                           .finish = finish,
                                           .drop = drop };
