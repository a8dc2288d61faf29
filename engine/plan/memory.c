/* SPDX-License-Identifier: MIT */
/* Greedy by size: the largest span first, each at the lowest offset that no placed neighbour in
 * time holds (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference",
 * 2020). */
#include "engine/plan/memory.h"

#define MEMPLAN_NOWHERE SIZE_MAX /* not placed yet */
#define MANY 8u                  /* of so many placed spans one is met: then they are many */
#define PASSES 3                 /* before those that are met are sorted */

static size_t aligned(size_t bytes)
{
    return (bytes + MEMPLAN_ALIGN_BYTES - 1) & ~(size_t) (MEMPLAN_ALIGN_BYTES - 1);
}

static bool meet(const struct span *a, const struct span *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* ---- sorting ---- */

typedef bool comes_before(const struct span *s, uint32_t a, uint32_t b);

static bool larger(const struct span *s, uint32_t a, uint32_t b)
{
    return s[a].bytes != s[b].bytes ? s[a].bytes > s[b].bytes : a < b;
}

static bool earlier(const struct span *s, uint32_t a, uint32_t b)
{
    return s[a].first != s[b].first ? s[a].first < s[b].first : a < b;
}

static void sift(const struct span *s, uint32_t *o, uint32_t at, uint32_t n, comes_before *before)
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

static bool lower(const struct span *s, uint32_t a, uint32_t b)
{
    return s[a].offset != s[b].offset ? s[a].offset < s[b].offset : a < b;
}

/* Heap sort; where keys are alike the lower index comes first, whatever the C library. */
static void sort(const struct span *s, uint32_t *o, uint32_t n, comes_before *before)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift(s, o, i, n, before);
    for (uint32_t end = n; end-- > 1;) {
        uint32_t t = o[0];
        o[0] = o[end];
        o[end] = t;
        sift(s, o, 0, end, before);
    }
}

/* ---- neighbours in time ---- */

/* A tree over all spans by their first step: the root of lo..hi is the one in the middle. ends: one
 * past the last step that any placed span of the subtree is needed in; 0: none is placed. */
struct neighbours {
    const struct span *spans;
    uint32_t *by_first, *ends, *met;
    uint32_t n_met;
    uint64_t visited;
};

static void neighbour_add(struct neighbours *t, uint32_t n, uint32_t which)
{
    for (uint32_t lo = 0, hi = n; lo < hi;) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (t->ends[mid] < t->spans[which].last + 1)
            t->ends[mid] = t->spans[which].last + 1;
        if (t->by_first[mid] == which)
            return;
        if (earlier(t->spans, which, t->by_first[mid]))
            hi = mid;
        else
            lo = mid + 1;
    }
}

/* Adds those of lo..hi that are placed and needed in a step of `me`; as deep as the tree is. */
static void neighbours_find(struct neighbours *t, uint32_t lo, uint32_t hi, const struct span *me)
{
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2, which = t->by_first[mid];
        const struct span *s = &t->spans[which];
        t->visited++;
        if (t->ends[mid] <= me->first)
            return;
        neighbours_find(t, lo, mid, me);
        if (s->first > me->last)
            return;
        if (s->offset != MEMPLAN_NOWHERE && s->bytes && meet(s, me))
            t->met[t->n_met++] = which;
        lo = mid + 1;
    }
}

/* Where it meets many: again, in the order in which they were placed, which is nearly that of their
 * offsets. */
static void neighbours_in_order(struct neighbours *t, const uint32_t *order, uint32_t n,
                                const struct span *me)
{
    t->n_met = 0;
    for (uint32_t i = 0; i < n; i++)
        if (t->spans[order[i]].bytes && meet(&t->spans[order[i]], me))
            t->met[t->n_met++] = order[i];
    t->visited += n;
}

/* Past those that `me` would share bytes with at *at; whether there was one. */
static bool past_met(struct neighbours *t, const struct span *me, size_t *at)
{
    bool moved = false;
    for (uint32_t i = 0; i < t->n_met; i++) {
        const struct span *s = &t->spans[t->met[i]];
        if (s->offset < *at + me->bytes && *at < s->offset + s->bytes) {
            *at = aligned(s->offset + s->bytes);
            moved = true;
        }
    }
    t->visited += t->n_met;
    return moved;
}

/* Lowest offset for `me` clear of those that it meets: by rising offsets, one pass finds it. */
static size_t lowest(struct neighbours *t, const struct span *me)
{
    size_t at = 0;
    for (unsigned i = 0; i < PASSES; i++)
        if (!past_met(t, me, &at))
            return at;
    sort(t->spans, t->met, t->n_met, lower);
    past_met(t, me, &at);
    return at;
}

size_t memplan_place(struct span *spans, uint32_t *room, uint32_t n, uint64_t *ret_visited)
{
    uint32_t *order = room;
    struct neighbours t = { spans, room + n, room + 2 * (size_t) n, room + 3 * (size_t) n, 0, 0 };
    size_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        order[i] = t.by_first[i] = i;
    sort(spans, order, n, larger);
    sort(spans, t.by_first, n, earlier);
    for (uint32_t i = 0; i < n; i++) {
        t.ends[i] = 0;
        spans[i].offset = MEMPLAN_NOWHERE;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct span *s = &spans[order[i]];
        t.n_met = 0;
        if (s->bytes)
            neighbours_find(&t, 0, n, s);
        if (t.n_met > i / MANY)
            neighbours_in_order(&t, order, i, s);
        s->offset = lowest(&t, s);
        neighbour_add(&t, n, order[i]);
        if (aligned(s->offset + s->bytes) > total)
            total = aligned(s->offset + s->bytes);
    }
    *ret_visited = t.visited;
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
