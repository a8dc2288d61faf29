/* SPDX-License-Identifier: MIT */
#include "sinks/attention.h"

#include <math.h>
#include <string.h>

#define UPDATE_FRAMES 24
#define TOKENS_PER_SECOND 6.5f
#define MEMORY_FRAMES_MAX 4096 /* of one utterance */
#define MEMORY_SECONDS 30      /* where no rule ends it earlier */
#define SIZES_MAX 65536

/* ---- ports ---- */

static rill_status port_find(const struct open_net *n, bool is_input, const char *name,
                             unsigned *ret, rill_error *err)
{
    const struct open_value *list = is_input ? n->in : n->out;
    const unsigned count = is_input ? n->n_in : n->n_out;
    for (*ret = 0; *ret < count; ++*ret)
        if (!strcmp(list[*ret].name, name))
            return RILL_OK;
    return err_set(err, RILL_INVALID,
                   "%.160s has no %s '%s', as this network of an attention decoder has; its first "
                   "is '%.60s'",
                   n->file, is_input ? "input" : "output", name, count ? list[0].name : "");
}

static rill_status count_check(const struct open_net *n, unsigned n_in, rill_error *err)
{
    return n->n_in == n_in
        ? RILL_OK
        : err_set(err, RILL_INVALID, "%.160s has %u inputs; expected %u", n->file, n->n_in, n_in);
}

static rill_status ports_find(struct attention *t, rill_error *err)
{
    const struct open_net *a = t->nets->adapter, *c = t->nets->cross_kv, *d = t->nets->decoder;
    unsigned memory_out;
    TRY(port_find(a, true, "encoded", &t->encoded_in, err));
    TRY(port_find(a, true, "pos_offset", &t->offset_in, err));
    TRY(port_find(a, false, "memory", &memory_out, err));
    TRY(port_find(c, true, "memory", &t->memory_in, err));
    TRY(port_find(c, false, "k_cross", &t->k_out, err));
    TRY(port_find(c, false, "v_cross", &t->v_out, err));
    TRY(port_find(d, true, "token", &t->token_in, err));
    TRY(port_find(d, true, "k_self", &t->self_in[0], err));
    TRY(port_find(d, true, "v_self", &t->self_in[1], err));
    TRY(port_find(d, true, "out_k_cross", &t->cross_in[0], err));
    TRY(port_find(d, true, "out_v_cross", &t->cross_in[1], err));
    TRY(port_find(d, false, "logits", &t->logits_out, err));
    TRY(port_find(d, false, "out_k_self", &t->self_out[0], err));
    TRY(port_find(d, false, "out_v_self", &t->self_out[1], err));
    TRY(count_check(a, 2, err));
    TRY(count_check(c, 1, err));
    return count_check(d, 5, err);
}

/* A size that the file states; 0: it does not. */
static uint32_t size_of(const struct open_value *p, int rank, int axis)
{
    const bool is_stated = p->rank == rank && p->dim[axis] > 0 && p->dim[axis] <= SIZES_MAX;
    return is_stated ? (uint32_t) p->dim[axis] : 0;
}

static rill_status sizes_read(struct attention *t, const rill_sink *s, rill_error *err)
{
    const struct open_net *a = t->nets->adapter, *c = t->nets->cross_kv, *d = t->nets->decoder;
    const struct open_value *cache = &d->in[t->self_in[0]];
    const uint32_t heard = size_of(&a->in[t->encoded_in], 3, 2);
    t->width_in = s->port.width;
    t->wide = size_of(&c->in[t->memory_in], 3, 2);
    t->layers = size_of(cache, 5, 0);
    t->heads = size_of(cache, 5, 2);
    t->size = size_of(cache, 5, 4);
    if (!t->layers || !t->heads || !t->size || cache->dim[1] != 1)
        return err_set(err, RILL_INVALID,
                       "%.160s: input 'k_self' is not [layers, 1, heads, frames, size] with frames "
                       "alone left open",
                       d->file);
    if (!t->wide)
        return err_set(err, RILL_INVALID, "%.160s: input 'memory' is not [1, frames, width]",
                       c->file);
    if (heard != t->width_in)
        return err_set(err, RILL_INVALID,
                       "%.160s takes frames of %u numbers, and those of the encoder are of %u: "
                       "they are not of one model",
                       a->file, heard, t->width_in);
    return RILL_OK;
}

/* ---- buffers ---- */

/* Frames of a utterance: as many as the third rule lets it have. */
static uint32_t memory_frames(const rill_sink *s, const struct attention *t)
{
    const double per_second =
        (double) s->sample_rate * s->port.hop_den / (s->port.hop_num ? s->port.hop_num : 1);
    const double seconds = s->opts.rule3_ms ? s->opts.rule3_ms / 1000.0 : MEMORY_SECONDS,
                 frames = ceil(seconds * per_second) + 2 * t->update_frames;
    return frames >= 1 && frames < MEMORY_FRAMES_MAX ? (uint32_t) frames : MEMORY_FRAMES_MAX;
}

static bool cache_make(const struct attention *t, struct arena *a, struct attention_cache *c,
                       uint32_t frames)
{
    c->frames_max = frames;
    c->x = arena_alloc_array(a, (size_t) t->layers * t->heads * t->size * sizeof *c->x, frames);
    return c->x;
}

static rill_status buffers_make(struct attention *t, struct arena *a, rill_error *err)
{
    const uint32_t n = t->r.max_tokens + 1;
    bool made = true;
    for (int i = 0; i < 2; i++)
        made = made && cache_make(t, a, &t->self[i], n) &&
            cache_make(t, a, &t->cross[i], t->memory_max);
    t->heard = arena_alloc_array(a, t->width_in * sizeof *t->heard, t->update_frames);
    t->memory = arena_alloc_array(a, t->wide * sizeof *t->memory, t->update_frames);
    t->input = arena_array(a, int64_t, n);
    t->found = arena_array(a, uint32_t, n);
    t->found_logp = arena_array(a, float, n);
    t->tokens = arena_array(a, struct attention_token, n);
    return made && t->heard && t->memory && t->input && t->found && t->found_logp && t->tokens
        ? RILL_OK
        : sink_no_memory(err);
}

/* ---- the one hypothesis ---- */

static void restart(void *state)
{
    attention_restart(state);
}

static void step(void *state, const float *x, uint64_t frame)
{
    attention_step(state, x, frame);
}

static uint32_t best(const void *state)
{
    (void) state;
    return 0;
}

static double log_prob(const void *state, uint32_t hyp)
{
    (void) hyp;
    return ((const struct attention *) state)->logp;
}

static uint32_t length(const void *state, uint32_t hyp)
{
    (void) hyp;
    return ((const struct attention *) state)->n_tokens;
}

static uint32_t token(const void *state, uint32_t hyp, uint32_t i)
{
    (void) hyp;
    return ((const struct attention *) state)->tokens[i].token;
}

static struct timed_token timed(const rill_sink *s, uint32_t hyp, uint32_t i)
{
    const struct attention_token *k = &((const struct attention *) s->state)->tokens[i];
    (void) hyp;
    return (struct timed_token) { .token = k->token,
                                  .pos = sink_pos(s, k->frame),
                                  .end_pos = sink_pos(s, k->frame + 1),
                                  .confidence = expf(fminf(k->logp, 0)) };
}

static bool may_continue(const void *state, uint32_t hyp)
{
    (void) state;
    (void) hyp;
    return true;
}

static void keep(void *state, uint32_t hyp, uint32_t n)
{
    (void) hyp;
    (void) n;
    attention_restart(state);
}

static const struct recogniser_search search = { .restart = restart,
                                                 .step = step,
                                                 .best = best,
                                                 .score = log_prob,
                                                 .log_prob = log_prob,
                                                 .length = length,
                                                 .token = token,
                                                 .timed = timed,
                                                 .may_continue = may_continue,
                                                 .keep = keep,
                                                 .is_whole = true };

/* ---- the sink ---- */

static rill_status tokens_check(struct attention *t, rill_error *err)
{
    if (t->bos >= t->r.width || t->eos >= t->r.width)
        return err_set(err, RILL_INVALID, "bos is %u and eos %u; %.160s has scores of %u tokens",
                       t->bos, t->eos, t->nets->decoder->file, t->r.width);
    t->r.tokens.list[t->bos].is_silent = t->r.tokens.list[t->eos].is_silent = true;
    return RILL_OK;
}

static rill_status make(rill_sink *s, rill_error *err)
{
    struct attention *t = s->state = arena_new(&s->arena, struct attention);
    if (!t)
        return sink_no_memory(err);
    t->nets = s->opts.nets;
    t->fault = &s->fault;
    if (!t->nets || !t->nets->adapter || !t->nets->cross_kv || !t->nets->decoder)
        return err_set(err, RILL_INVALID,
                       "an attention decoder needs three networks: model.conf names their files as "
                       "adapter = FILE, cross_kv = FILE and decoder = FILE");
    t->update_frames = s->opts.update_frames ? s->opts.update_frames : UPDATE_FRAMES;
    t->bos = s->opts.bos;
    t->eos = s->opts.eos;
    t->tokens_per_frame =
        (double) (s->opts.tokens_per_second > 0 ? s->opts.tokens_per_second : TOKENS_PER_SECOND) *
        s->port.hop_num / ((double) s->sample_rate * s->port.hop_den);
    t->memory_max = memory_frames(s, t);
    s->opts.beam = 1;
    TRY(ports_find(t, err));
    TRY(sizes_read(t, s, err));
    const uint32_t width = size_of(&t->nets->decoder->out[t->logits_out], 3, 2);
    if (!width)
        return err_set(err, RILL_INVALID, "%.160s: output 'logits' is not [1, tokens, vocabulary]",
                       t->nets->decoder->file);
    TRY(recogniser_make(&t->r, s, &search, t->nets->decoder->file, width, err));
    t->r.n_hyps = 1;
    TRY(tokens_check(t, err));
    TRY(buffers_make(t, &s->arena, err));
    s->opts.nets = NULL;
    return attention_try(t, err);
}

static void frame(rill_sink *s, const float *x)
{
    struct attention *t = s->state;
    recogniser_frame(s, x);
    const bool is_full = t->cross[0].frames + t->n_heard == t->memory_max;
    if (s->n_events || !is_full)
        return;
    attention_update(t, s->n_frames);
    recogniser_cut(s);
}

static void cut(rill_sink *s)
{
    attention_update(s->state, s->n_frames);
    recogniser_cut(s);
}

static void finish(rill_sink *s)
{
    attention_update(s->state, s->n_frames);
    recogniser_finish(s);
}

const struct sink_kind sink_attention = { .port = RILL_PORT_ATTENTION,
                                          .make = make,
                                          .reset = recogniser_reset,
                                          .frame = frame,
                                          .cut = cut,
                                          .finish = finish };
