/* SPDX-License-Identifier: MIT */
#include "sinks/attention.h"
#include "sinks/scores.h"

#include <math.h>
#include <string.h>

void attention_restart(struct attention *t)
{
    t->n_heard = t->n_tokens = 0;
    t->cross[0].frames = t->cross[1].frames = 0;
    t->self[0].frames = t->self[1].frames = 0;
    t->logp = 0;
}

/* ---- caches ---- */

static size_t rows_of(const struct attention *t)
{
    return (size_t) t->layers * t->heads;
}

static void cache_frames_set(const struct attention *t, struct attention_cache *c, uint32_t frames)
{
    const size_t was = (size_t) c->frames * t->size, is = (size_t) frames * t->size,
                 kept = was < is ? was : is, n = rows_of(t);
    for (size_t k = 0; k < n; k++) {
        const size_t row = is > was ? n - 1 - k : k; /* none lies where another one goes */
        memmove(c->x + row * is, c->x + row * was, kept * sizeof *c->x);
    }
    c->frames = frames;
}

/* Behind what it has. */
static void cache_append(const struct attention *t, struct attention_cache *c,
                         const struct open_value *more)
{
    const uint32_t n = (uint32_t) more->dim[3], had = c->frames;
    const float *from = more->data;
    cache_frames_set(t, c, had + n);
    for (size_t row = 0; row < rows_of(t); row++)
        memcpy(c->x + (row * c->frames + had) * t->size, from + row * n * t->size,
               (size_t) n * t->size * sizeof *from);
}

static struct open_value cache_value(const struct attention *t, const struct attention_cache *c)
{
    return (struct open_value) { .rank = 5,
                                 .dim = { t->layers, 1, t->heads, c->frames, t->size },
                                 .data = c->x };
}

/* Whether it is a cache of `frames`. */
static bool is_cache(const struct attention *t, const struct open_value *v, uint64_t frames)
{
    const int64_t dim[] = { t->layers, 1, t->heads, (int64_t) frames, t->size };
    return v->is_f32 && v->rank == 5 && !memcmp(v->dim, dim, sizeof dim);
}

static bool is_rows(const struct open_value *v, uint64_t frames, uint32_t width)
{
    return v->is_f32 && v->rank == 3 && v->dim[0] == 1 && v->dim[1] == (int64_t) frames &&
        v->dim[2] == width;
}

/* ---- the memory ---- */

struct taking {
    struct attention *t;
    uint32_t n_in; /* frames or tokens that went in */
    bool fits;
};

static void memory_take(void *arg, const struct open_value *out)
{
    struct taking *w = arg;
    w->fits = is_rows(&out[0], w->n_in, w->t->wide);
    if (w->fits)
        memcpy(w->t->memory, out[0].data, (size_t) w->n_in * w->t->wide * sizeof(float));
}

static void cross_take(void *arg, const struct open_value *out)
{
    struct taking *w = arg;
    struct attention *t = w->t;
    const struct open_value *k = &out[t->k_out], *v = &out[t->v_out];
    w->fits = is_cache(t, k, w->n_in) && is_cache(t, v, w->n_in);
    if (!w->fits)
        return;
    cache_append(t, &t->cross[0], k);
    cache_append(t, &t->cross[1], v);
}

static rill_status misfit(const struct open_net *n, rill_error *err)
{
    return err_set(err, RILL_INVALID, "%.160s gives another shape than its ports say", n->file);
}

static rill_status adapter_run(struct attention *t, uint32_t n, int64_t offset, rill_error *err)
{
    struct open_net *a = t->nets->adapter;
    struct taking w = { .t = t, .n_in = n };
    struct open_value in[OPEN_NET_PORTS_MAX] = { { .rank = 0 } };
    in[t->encoded_in] =
        (struct open_value) { .rank = 3, .dim = { 1, n, t->width_in }, .data = t->heard };
    in[t->offset_in] = (struct open_value) { .rank = 1, .dim = { 1 }, .data = &offset };
    TRY(a->run(a, in, memory_take, &w, err));
    return w.fits ? RILL_OK : misfit(a, err);
}

static rill_status cross_run(struct attention *t, uint32_t n, rill_error *err)
{
    struct open_net *c = t->nets->cross_kv;
    struct taking w = { .t = t, .n_in = n };
    const struct open_value in = { .rank = 3, .dim = { 1, n, t->wide }, .data = t->memory };
    TRY(c->run(c, &in, cross_take, &w, err));
    return w.fits ? RILL_OK : misfit(c, err);
}

/* ---- the decoder ---- */

/* The likeliest of a row of scores, and its log-probability. */
static uint32_t row_best(const float *x, uint32_t n, float *ret_logp)
{
    uint32_t best = 0;
    double sum = 0;
    for (uint32_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    for (uint32_t i = 0; i < n; i++)
        sum += (double) expf(x[i] - x[best]);
    *ret_logp = (float) -log(sum);
    return best;
}

static void tokens_take(void *arg, const struct open_value *out)
{
    struct taking *w = arg;
    struct attention *t = w->t;
    const struct open_value *y = &out[t->logits_out], *k = &out[t->self_out[0]],
                            *v = &out[t->self_out[1]];
    const uint64_t frames = t->self[0].frames + (uint64_t) w->n_in;
    const float *row = y->data;
    w->fits = is_rows(y, w->n_in, t->r.width) && is_cache(t, k, frames) && is_cache(t, v, frames);
    if (!w->fits)
        return;
    for (uint32_t i = 0; i < w->n_in; i++)
        t->found[i] = row_best(row + (size_t) i * t->r.width, t->r.width, &t->found_logp[i]);
    for (int i = 0; i < 2; i++) {
        const struct open_value *from = i ? v : k;
        t->self[i].frames = (uint32_t) frames;
        memcpy(t->self[i].x, from->data, rows_of(t) * (size_t) frames * t->size * sizeof(float));
    }
}

/* The first n of input, behind what the caches have: the likeliest token behind each. */
static rill_status decoder_run(struct attention *t, uint32_t n, rill_error *err)
{
    struct open_net *d = t->nets->decoder;
    struct taking w = { .t = t, .n_in = n };
    struct open_value in[OPEN_NET_PORTS_MAX] = { { .rank = 0 } };
    in[t->token_in] = (struct open_value) { .rank = 2, .dim = { 1, n }, .data = t->input };
    for (int i = 0; i < 2; i++) {
        in[t->self_in[i]] = cache_value(t, &t->self[i]);
        in[t->cross_in[i]] = cache_value(t, &t->cross[i]);
    }
    TRY(d->run(d, in, tokens_take, &w, err));
    return w.fits ? RILL_OK : misfit(d, err);
}

/* How many tokens what was heard may have. */
static uint32_t tokens_most(const struct attention *t)
{
    const double most = ceil(t->cross[0].frames * t->tokens_per_frame);
    return most < t->r.max_tokens ? (uint32_t) most : t->r.max_tokens;
}

/* Runs the old text through; how much of it stays. found[0] and its probability are of what comes
 * behind that. */
static rill_status tokens_verify(struct attention *t, uint32_t *ret_same, rill_error *err)
{
    const uint32_t n = t->n_tokens;
    uint32_t same = 0;
    t->self[0].frames = t->self[1].frames = 0;
    t->input[0] = t->bos;
    for (uint32_t i = 0; i < n; i++)
        t->input[i + 1] = t->tokens[i].token;
    TRY(decoder_run(t, n + 1, err));
    for (; same < n && t->found[same] == t->tokens[same].token; same++)
        t->tokens[same].logp = t->found_logp[same];
    for (int i = 0; i < 2; i++)
        cache_frames_set(t, &t->self[i], same + 1);
    t->found[0] = t->found[same];
    t->found_logp[0] = t->found_logp[same];
    *ret_same = same;
    return RILL_OK;
}

static rill_status tokens_find_all(struct attention *t, uint64_t frame, rill_error *err)
{
    uint32_t n;
    TRY(tokens_verify(t, &n, err));
    for (const uint32_t most = tokens_most(t); t->found[0] != t->eos && n < most;) {
        t->tokens[n++] = (struct attention_token) { frame, t->found[0], t->found_logp[0] };
        t->input[0] = t->found[0];
        t->n_tokens = n;
        if (n < most)
            TRY(decoder_run(t, 1, err));
    }
    t->n_tokens = n;
    t->logp = 0;
    for (uint32_t i = 0; i < n; i++)
        t->logp += (double) t->tokens[i].logp;
    return RILL_OK;
}

/* ---- a step ---- */

static rill_status heard_remember(struct attention *t, rill_error *err)
{
    TRY(adapter_run(t, t->n_heard, t->cross[0].frames, err));
    TRY(cross_run(t, t->n_heard, err));
    t->n_heard = 0;
    return RILL_OK;
}

void attention_update(struct attention *t, uint64_t frame)
{
    if (!t->n_heard || t->fault->status != RILL_OK)
        return;
    const rill_status s = heard_remember(t, t->fault);
    t->fault->status = s == RILL_OK ? tokens_find_all(t, frame, t->fault) : s;
}

void attention_step(struct attention *t, const float *x, uint64_t frame)
{
    if (t->cross[0].frames + t->n_heard == t->memory_max)
        return;
    memcpy(t->heard + (size_t) t->n_heard * t->width_in, x, t->width_in * sizeof *x);
    t->n_heard++;
    if ((frame + 1) % t->update_frames == 0 || t->n_heard == t->update_frames)
        attention_update(t, frame);
}

/* A memory is no longer than the adapter's table of positions. */
static void memory_max_find(struct attention *t)
{
    uint32_t least = 1, most = t->memory_max;
    while (least < most) {
        const uint32_t n = most - (most - least) / 2;
        if (adapter_run(t, 1, n - 1, NULL) == RILL_OK)
            least = n;
        else
            most = n - 1;
        t->memory_max = least;
    }
}

rill_status attention_try(struct attention *t, rill_error *err)
{
    TRY(adapter_run(t, 1, 0, err));
    if (adapter_run(t, 1, t->memory_max - 1, NULL) != RILL_OK)
        memory_max_find(t);
    TRY(cross_run(t, 1, err));
    t->input[0] = t->r.width - 1;
    t->self[0].frames = t->self[1].frames = 0;
    rill_status s = decoder_run(t, 1, err);
    attention_restart(t);
    return s;
}
