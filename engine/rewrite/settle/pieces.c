/* SPDX-License-Identifier: MIT */
/* Runs first: elements that lie evenly in one input. Then, axis by axis outwards, runs of one form
 * at even distances. */
#include "engine/rewrite/settle/pieces.h"

#include <string.h>

#define LOOK_AHEAD 8 /* runs of the same form that may be the next one of a series */
#define RUN_MIN 4    /* elements of a run with a step other than 0 and 1 */

struct items {
    struct piece *p;
    uint32_t n;
    int32_t *at; /* output element -> item that starts there and is not taken, -1: none */
};

static int64_t step_of(const struct origin *o)
{
    return (int64_t) o[1].at - (int64_t) o[0].at;
}

/* Elements from o[0] on that lie evenly in one input. */
static size_t run_length(const struct origin *o, size_t left)
{
    size_t n = 1;
    if (left < 2 || o[1].input != o[0].input)
        return 1;
    int64_t step = step_of(o);
    while (n < left && o[n].input == o[0].input && step_of(o + n - 1) == step)
        n++;
    return step == 0 || step == 1 || n >= RUN_MIN ? n : 1;
}

static void runs_find(struct items *it, const struct origin *o, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        len = 1;
        if (o[i].input < 0)
            continue;
        len = run_length(o + i, n - i);
        struct piece *p = &it->p[it->n++];
        *p = (struct piece) {
            .input = o[i].input, .from = o[i].at, .to = (int64_t) i, .n = { 1, 1, 1, (int64_t) len }
        };
        p->from_stride[3] = len > 1 ? step_of(o + i) : 0;
        p->to_stride[3] = len > 1 ? 1 : 0;
    }
}

static bool same_form(const struct piece *a, const struct piece *b)
{
    return a->input == b->input && !memcmp(a->n, b->n, sizeof a->n) &&
        !memcmp(a->from_stride, b->from_stride, sizeof a->from_stride) &&
        !memcmp(a->to_stride, b->to_stride, sizeof a->to_stride);
}

/* The k-th piece of the series that starts with a, b. */
static const struct piece *series_at(const struct items *it, size_t n, const struct piece *a,
                                     const struct piece *b, int64_t k)
{
    int64_t to = a->to + k * (b->to - a->to), from = a->from + k * (b->from - a->from);
    if (to >= (int64_t) n || it->at[to] < 0)
        return NULL;
    const struct piece *p = &it->p[it->at[to]];
    return p->from == from && same_form(p, a) ? p : NULL;
}

static int64_t series_length(const struct items *it, size_t n, const struct piece *a,
                             const struct piece *b)
{
    int64_t k = 2;
    while (series_at(it, n, a, b, k))
        k++;
    return k;
}

/* The longest series from item i; NULL: it stands alone. */
static const struct piece *series_find(const struct items *it, size_t n, uint32_t i,
                                       int64_t *ret_length)
{
    const struct piece *best = NULL;
    *ret_length = 1;
    for (uint32_t j = i + 1, seen = 0; j < it->n && seen < LOOK_AHEAD; j++) {
        const struct piece *b = &it->p[j];
        if (it->at[b->to] != (int32_t) j || !same_form(&it->p[i], b))
            continue;
        seen++;
        int64_t k = series_length(it, n, &it->p[i], b);
        if (k > *ret_length) {
            *ret_length = k;
            best = b;
        }
    }
    return best;
}

/* Items of one form at even distances become one with that axis. */
static void axis_group(struct items *it, size_t n, int axis)
{
    for (uint32_t i = 0; i < it->n; i++)
        it->at[it->p[i].to] = (int32_t) i;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < it->n; i++) {
        struct piece p = it->p[i];
        if (it->at[p.to] != (int32_t) i)
            continue;
        int64_t length;
        const struct piece *b = series_find(it, n, i, &length);
        if (b) {
            p.n[axis] = length;
            p.to_stride[axis] = b->to - p.to;
            p.from_stride[axis] = b->from - p.from;
        }
        for (int64_t k = 0; k < length; k++)
            it->at[p.to + k * p.to_stride[axis]] = -1;
        it->p[kept++] = p;
    }
    it->n = kept;
}

/* Drops axes of one element, joins those that run on, and lets the innermost be a real one. */
static void piece_normalise(struct piece *p)
{
    int at = PIECE_AXES;
    for (int i = PIECE_AXES; i-- > 0;) {
        if (p->n[i] == 1)
            continue;
        bool joins = at < PIECE_AXES && p->from_stride[i] == p->n[at] * p->from_stride[at] &&
            p->to_stride[i] == p->n[at] * p->to_stride[at];
        if (joins) {
            p->n[at] *= p->n[i];
            continue;
        }
        at--;
        p->n[at] = p->n[i];
        p->from_stride[at] = p->from_stride[i];
        p->to_stride[at] = p->to_stride[i];
    }
    while (at-- > 0) {
        p->n[at] = 1;
        p->from_stride[at] = p->to_stride[at] = 0;
    }
    if (p->n[PIECE_AXES - 1] == 1)
        p->from_stride[PIECE_AXES - 1] = p->to_stride[PIECE_AXES - 1] = 1;
}

struct piece *pieces_from_origins(struct arena *a, const struct origin *o, size_t n,
                                  uint32_t *ret_n)
{
    struct items it = { .p = arena_array(a, struct piece, n + 1),
                        .at = arena_array(a, int32_t, n + 1) };
    if (!it.p || !it.at)
        return NULL;
    for (size_t i = 0; i < n; i++)
        it.at[i] = -1;
    runs_find(&it, o, n);
    for (int axis = PIECE_AXES - 2; axis >= 0; axis--)
        axis_group(&it, n, axis);
    for (uint32_t i = 0; i < it.n; i++)
        piece_normalise(&it.p[i]);
    *ret_n = it.n;
    return it.p;
}

/* ---- in place ---- */

struct walk {
    const struct piece *p;
    int64_t i[PIECE_AXES];
};

static bool walk_next(struct walk *w)
{
    for (int k = PIECE_AXES; k-- > 0;) {
        if (++w->i[k] < w->p->n[k])
            return true;
        w->i[k] = 0;
    }
    return false;
}

static int64_t walk_place(const struct walk *w, int64_t first, const int64_t *stride)
{
    for (int k = 0; k < PIECE_AXES; k++)
        first += w->i[k] * stride[k];
    return first;
}

bool pieces_in_place(struct arena *a, const struct piece *p, uint32_t n_pieces, int32_t base,
                     size_t n, bool *ret)
{
    bool *written = arena_array(a, bool, n + 1);
    if (!written)
        return false;
    *ret = true;
    for (uint32_t i = 0; i < n_pieces && *ret; i++) {
        struct walk w = { .p = &p[i] };
        do {
            if (p[i].input == base && written[walk_place(&w, p[i].from, p[i].from_stride)])
                *ret = false;
            written[walk_place(&w, p[i].to, p[i].to_stride)] = true;
        } while (*ret && walk_next(&w));
    }
    return true;
}
