/* SPDX-License-Identifier: MIT */
/* Greedy by size: the largest span first, each at the lowest offset that no placed neighbour in
 * time holds (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference",
 * 2020). */
#include "engine/plan/memory.h"

static size_t aligned(size_t bytes)
{
    return (bytes + MEMPLAN_ALIGN_BYTES - 1) & ~(size_t) (MEMPLAN_ALIGN_BYTES - 1);
}

static bool meet(const struct span *a, const struct span *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Heap sort by falling size, then rising index: stable whatever the C library. */
static bool before(const struct span *s, uint32_t a, uint32_t b)
{
    return s[a].bytes != s[b].bytes ? s[a].bytes > s[b].bytes : a < b;
}

static void sift(const struct span *s, uint32_t *o, uint32_t at, uint32_t n)
{
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(s, o[child], o[child + 1]))
            child++;
        if (!before(s, o[at], o[child]))
            return;
        uint32_t t = o[at];
        o[at] = o[child];
        o[child] = t;
    }
}

static void sort(const struct span *s, uint32_t *o, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift(s, o, i, n);
    for (uint32_t end = n; end-- > 1;) {
        uint32_t t = o[0];
        o[0] = o[end];
        o[end] = t;
        sift(s, o, 0, end);
    }
}

/* Lowest offset for `me` clear of the first `n` placed spans. */
static size_t lowest(const struct span *spans, const uint32_t *order, uint32_t n,
                     const struct span *me)
{
    size_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct span *s = &spans[order[i]];
            if (meet(s, me) && s->offset < at + me->bytes && at < s->offset + s->bytes) {
                at = aligned(s->offset + s->bytes);
                moved = true;
            }
        }
    }
    return at;
}

size_t memplan_place(struct span *spans, uint32_t *order, uint32_t n)
{
    size_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sort(spans, order, n);
    for (uint32_t i = 0; i < n; i++) {
        struct span *s = &spans[order[i]];
        s->offset = s->bytes ? lowest(spans, order, i, s) : 0;
        if (aligned(s->offset + s->bytes) > total)
            total = aligned(s->offset + s->bytes);
    }
    return total;
}

bool memplan_is_sound(const struct span *spans, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct span *a = &spans[i], *b = &spans[k];
            if (a->bytes && b->bytes && meet(a, b) && a->offset < b->offset + b->bytes &&
                b->offset < a->offset + a->bytes)
                return false;
        }
    return true;
}
