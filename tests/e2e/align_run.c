/* SPDX-License-Identifier: MIT */
/* What a chain makes of a whole sequence, element by element, by definition. */
#include "tests/e2e/align_chain.h"

#include <stdlib.h>
#include <string.h>

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* As w but for its frames: n of c channels. */
static struct wave wave_like(const struct wave *w, int64_t n, int64_t c)
{
    struct wave v = *w;
    v.n = most(n, 0);
    v.c = c;
    v.y = calloc((size_t) (v.n * c) + 1, sizeof *v.y);
    v.need = calloc((size_t) v.n + 1, sizeof *v.need);
    if (!v.y || !v.need)
        abort();
    return v;
}

void wave_free(struct wave *w)
{
    free(w->y);
    free(w->need);
}

/* What frame i of w has to wait for; its neighbours in front are nothing, those behind its end. */
static int64_t need_of(const struct wave *w, int64_t i)
{
    return i < 0 ? -1 : i < w->n ? w->need[i] : AT_END;
}

static float value_of(const struct wave *w, int64_t i, int64_t c)
{
    return i >= 0 && i < w->n ? w->y[i * w->c + c] : 0;
}

/* ---- elements ---- */

static struct wave run_conv(const struct element *e, const struct wave *w)
{
    struct wave v = wave_like(w, w->n + e->before + e->after - e->size + 1, w->c);
    for (int64_t i = 0; i < v.n; i++) {
        for (int64_t c = 0; c < v.c; c++)
            v.y[i * v.c + c] = value_of(w, i + e->place - e->before, c);
        v.need[i] = -1;
        for (int k = 0; k < e->size; k++)
            v.need[i] = most(v.need[i], need_of(w, i + k - e->before));
    }
    v.origin += (e->place - e->before) * v.hop;
    v.more += (e->before + e->after - e->size + 1) * v.hop;
    return v;
}

/* Where a pad takes frame i from; out of bounds: zero. */
static int64_t pad_from(const struct element *e, int64_t i, int64_t n)
{
    if (e->mode == 0 || (i >= 0 && i < n))
        return i;
    if (e->mode == 2)
        return i < 0 ? 0 : n - 1;
    return i < 0 ? -i : 2 * (n - 1) - i;
}

static struct wave run_pad(const struct element *e, const struct wave *w)
{
    struct wave v = wave_like(w, w->n + e->before + e->after, w->c);
    for (int64_t i = 0; i < v.n; i++) {
        int64_t from = pad_from(e, i - e->before, w->n);
        for (int64_t c = 0; c < v.c; c++)
            v.y[i * v.c + c] = value_of(w, from, c);
        v.need[i] = i - e->before >= w->n ? AT_END : need_of(w, from);
    }
    v.origin -= e->before * v.hop;
    v.more += (e->before + e->after) * v.hop;
    return v;
}

static struct wave run_slice(const struct element *e, const struct wave *w)
{
    struct wave v = wave_like(w, w->n - e->before - e->after, w->c);
    memcpy(v.y, w->y + e->before * w->c, (size_t) (v.n * v.c) * sizeof *v.y);
    for (int64_t i = 0; i < v.n; i++) /* whether it is one of the last has to be known */
        v.need[i] = most(w->need[i + e->before], w->need[i + e->before + e->after]);
    v.origin += e->before * v.hop;
    v.more -= (e->before + e->after) * v.hop;
    return v;
}

static void length_is_new(struct wave *v)
{
    v->length_id++;
    v->more = 0;
}

static struct wave run_down(const struct element *e, const struct wave *w, bool of_symbol)
{
    struct wave v = wave_like(w, w->n / e->size, w->c * e->size);
    for (int64_t i = 0; i < v.n; i++) {
        for (int64_t c = 0; c < v.c; c++)
            v.y[i * v.c + c] = value_of(w, i * e->size + c % e->size, c / e->size);
        for (int k = 0; k < e->size; k++)
            v.need[i] = most(v.need[i], need_of(w, i * e->size + k));
    }
    v.hop *= e->size;
    if (of_symbol && v.length_id == 0 && SYMBOL_SAMPLES * UNIT % v.hop == 0)
        v.more = floor_div(v.more, v.hop) * v.hop;
    else
        length_is_new(&v);
    return v;
}

static struct wave run_up(const struct element *e, const struct wave *w)
{
    struct wave v = wave_like(w, w->n * e->size, w->c / e->size);
    for (int64_t i = 0; i < v.n; i++) {
        for (int64_t c = 0; c < v.c; c++)
            v.y[i * v.c + c] = value_of(w, i / e->size, c * e->size + i % e->size);
        v.need[i] = need_of(w, i / e->size);
    }
    v.hop /= e->size;
    if (v.length_id != 0)
        length_is_new(&v);
    return v;
}

static int64_t frames_of(const struct element *e, int64_t n)
{
    int64_t from = n + e->before - e->size;
    return e->mode == 0 ? (n + e->before + e->hop - 1) / e->hop
        : e->mode == 1  ? floor_div(from + e->hop - 1, e->hop) + 1
                        : floor_div(from, e->hop) + 1;
}

static struct wave run_frames(const struct element *e, const struct wave *w)
{
    int64_t n = most(frames_of(e, w->n), 0), all = (n - 1) * e->hop + e->size;
    struct wave v = wave_like(w, n == 0 ? 0 : e->after ? all : n * e->hop, 1);
    for (int64_t i = 0; i < v.n; i++) {
        v.need[i] = -1;
        int64_t first = most(0, floor_div(i - e->size, e->hop) + 1);
        for (int64_t k = first; k < n && k * e->hop <= i; k++) {
            v.y[i] += value_of(w, i - e->before, 0);
            for (int64_t at = k * e->hop; at < k * e->hop + e->size; at++)
                v.need[i] = most(v.need[i], need_of(w, at - e->before));
        }
        v.y[i] *= (float) e->hop / (float) e->size;
    }
    v.origin -= e->before * v.hop;
    length_is_new(&v);
    v.root.is_set = false;
    return v;
}

static struct wave run_keep(const struct element *e, const struct wave *w)
{
    struct wave v = run_down(e, w, false), y = wave_like(&v, v.n, 1);
    for (int64_t i = 0; i < v.n; i++) {
        y.y[i] = v.y[i * v.c];
        y.need[i] = v.need[i];
    }
    wave_free(&v);
    return y;
}

static struct wave run_repeat(const struct element *e, const struct wave *w)
{
    struct wave v = wave_like(w, w->n * e->size, 1);
    for (int64_t i = 0; i < v.n; i++) {
        v.y[i] = w->y[i / e->size];
        v.need[i] = w->need[i / e->size];
    }
    v.hop /= e->size;
    length_is_new(&v);
    return v;
}

/* ---- what is as long lies beside it ---- */

static bool fits(const struct anchor *a, const struct wave *w)
{
    return a->is_set && a->length_id == w->length_id && a->more == w->more && a->hop == w->hop;
}

static void origin_anchor(struct wave *w)
{
    if (fits(&w->root, w))
        w->origin = w->root.origin;
    else if (fits(&w->rate, w))
        w->origin = w->rate.origin;
    const struct anchor here = { w->length_id, w->more, w->hop, w->origin, true };
    if (w->rate.hop != w->hop)
        w->rate = here;
    if (!w->root.is_set)
        w->root = here;
}

static struct wave run_element(const struct element *e, const struct wave *w, bool of_symbol)
{
    struct element zeros = *e;
    zeros.mode = 0;
    switch (e->kind) {
    case ELEMENT_CONV: return run_conv(e, w);
    case ELEMENT_PAD: return run_pad(e, w);
    case ELEMENT_ZEROS: return run_pad(&zeros, w);
    case ELEMENT_SLICE: return run_slice(e, w);
    case ELEMENT_DOWN: return run_down(e, w, of_symbol);
    case ELEMENT_UP: return run_up(e, w);
    case ELEMENT_FRAMES: return run_frames(e, w);
    case ELEMENT_KEEP: return run_keep(e, w);
    default: return run_repeat(e, w);
    }
}

struct wave chain_run(const struct chain *ch, const float *x, int64_t n)
{
    const struct wave start = { .hop = UNIT };
    struct wave w = wave_like(&start, n, 1);
    for (int64_t i = 0; i < n; i++) {
        w.y[i] = x[i];
        w.need[i] = i;
    }
    origin_anchor(&w);
    for (int i = 0; i < ch->n; i++) {
        struct wave v = run_element(&ch->element[i], &w, ch->of_symbol);
        wave_free(&w);
        w = v;
        origin_anchor(&w);
    }
    return w;
}

int64_t wave_frames(const struct wave *w, int64_t n_samples)
{
    return (n_samples * UNIT + w->hop - 1) / w->hop;
}

float wave_aligned(const struct wave *w, int64_t k)
{
    int64_t first = w->origin < 0 ? -(-w->origin / w->hop) : w->origin / w->hop;
    return value_of(w, k - first, 0);
}
