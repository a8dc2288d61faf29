/* SPDX-License-Identifier: MIT */
#include "kernels/q8.h"
#include "kernels/kern.h"
#include "kernels/q8_fours.h"

#include <math.h>
#include <string.h>

#define LINE 64
#define GROUP (KERN_LANES * KERN_Q8_TERMS)

/* Panels, sums, zeros, a line that says whether there are zeros and whether sums are of 16 bits;
 * the order of groups then, and those that lie there twice: there is room for a quarter. */
struct layout {
    size_t panels, w, sums, spans, last, span, order, more_order, more, room, bytes;
};

static size_t groups_of(size_t k)
{
    return k / KERN_Q8_TERMS + (k % KERN_Q8_TERMS > 0);
}

static size_t lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static struct layout layout_of(size_t n, size_t k, bool outliers)
{
    struct layout l = { .panels = n / KERN_LANES + (n % KERN_LANES > 0) };
    const size_t most = PTRDIFF_MAX / 256, out = KERN_LANES * sizeof(int32_t);
    if (k > most || l.panels > most ||
        __builtin_mul_overflow(l.panels, groups_of(k) * KERN_LANES * KERN_Q8_TERMS, &l.w) ||
        l.w > most)
        return (struct layout) { 0 };
    l.sums = l.panels * out;
    l.spans = k / KERN_Q8_SPAN + (k % KERN_Q8_SPAN > 0);
    l.last = l.w + 2 * l.sums;
    l.room = l.w / GROUP / 8;
    l.span = l.last + LINE;
    l.order = l.span + l.panels * l.spans * sizeof(struct kern_q8_span);
    l.more_order = l.order + l.w / GROUP;
    l.more = lines(l.more_order + 2 * l.room);
    l.bytes = outliers ? l.more + 2 * l.room * GROUP : l.span;
    return l;
}

size_t kern_q8_bytes(size_t n, size_t k, bool outliers)
{
    return layout_of(n, k, outliers).bytes;
}

struct kern_q8 kern_q8_open(const void *packed, size_t n, size_t k)
{
    const struct layout l = layout_of(n, k, true);
    const char *at = packed;
    struct kern_q8 q = { .w = packed, .by = 1, .n = n, .k = k };
    q.sums = (const int32_t *) (const void *) (at + l.w);
    q.zeros = at[l.last] ? q.sums + l.panels * KERN_LANES : NULL;
    q.in_16 = at[l.last + 1] != 0;
    if (q.in_16) {
        q.spans = (const struct kern_q8_span *) (const void *) (at + l.span);
        q.order = (const uint8_t *) at + l.order;
        q.more_order = (const uint8_t *) at + l.more_order;
        q.more = (const int8_t *) at + l.more;
    }
    return q;
}

/* Groups that are in a span of so many. */
static bool order_is_whole(const uint8_t *order, size_t n, size_t groups)
{
    for (size_t i = 0; i < n; i++)
        if (order[i] >= groups)
            return false;
    return true;
}

static size_t span_groups(size_t k, size_t span)
{
    const size_t left = groups_of(k) - span * FOURS_GROUPS;
    return left < FOURS_GROUPS ? left : FOURS_GROUPS;
}

bool kern_q8_check(const void *packed, size_t n, size_t k, bool outliers)
{
    const struct layout l = layout_of(n, k, true);
    const uint8_t in_16 = ((const uint8_t *) packed)[l.last + 1];
    if (!outliers || !in_16)
        return !in_16;
    const struct kern_q8 q = kern_q8_open(packed, n, k);
    for (size_t i = 0; i < l.panels * l.spans; i++) {
        const struct kern_q8_span *one = q.spans + i;
        const size_t span = i % l.spans, groups = span_groups(k, span),
                     at = i / l.spans * groups_of(k) + span * FOURS_GROUPS;
        if (one->from > l.room || one->mores > l.room - one->from || one->fours > groups / 2 ||
            !order_is_whole(q.order + at, groups, groups) ||
            !order_is_whole(q.more_order + 2 * (size_t) one->from, 2 * (size_t) one->mores, groups))
            return false;
    }
    return in_16 == 1;
}

/* ---- sums of 16 bits ---- */

/* An ordered form under way: `packed` is as large as one. */
struct ordering {
    const struct layout *l;
    const int8_t *w;
    char *packed;
    size_t k, more;
    double cost, before;
};

/* What a group costs, in sixths of a cycle, as measured (docs/kernels.md): for each row, and once.
 */
#define COST_FOUR 11.3
#define COST_SINGLE 13.6
#define COST_ORDERED 3.0
#define COST_PLAIN 14.6
#define COST_GROUP 1.0

static void parts_write(const struct fours *f, const int8_t *w, size_t first, size_t n,
                        uint8_t *order, int8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        const struct fours_part *part = f->parts + f->order[first + i];
        order[i] = part->group;
        fours_weights(to + i * GROUP, w, part);
    }
}

static void span_cost(struct ordering *s, const struct fours *f, size_t rows)
{
    const double in_fours = (double) (2 * f->fours), single = (double) f->n - in_fours;
    s->cost += (double) rows * (in_fours * COST_FOUR + single * COST_SINGLE) +
        (double) f->n * COST_ORDERED;
    s->before += (double) f->groups * ((double) rows * COST_PLAIN + COST_GROUP);
}

/* One span of one panel; whether there was room. */
static bool span_order(struct ordering *s, struct fours *f, size_t panel, size_t span)
{
    const struct layout *l = s->l;
    const size_t groups = span_groups(s->k, span),
                 at = panel * groups_of(s->k) + span * FOURS_GROUPS;
    const int8_t *w = s->w + at * GROUP;
    fours_find(f, w, groups);
    const size_t more = (f->n - groups) / 2, fours = f->fours - more;
    if (f->n % 2 != groups % 2 || more > f->fours || s->more + more > l->room)
        return false;
    struct kern_q8_span *spans = (struct kern_q8_span *) (void *) (s->packed + l->span);
    uint8_t *order = (uint8_t *) s->packed + l->order + at,
            *more_order = (uint8_t *) s->packed + l->more_order + 2 * s->more;
    int8_t *to = (int8_t *) s->packed + at * GROUP,
           *to_more = (int8_t *) s->packed + l->more + s->more * 2 * GROUP;
    parts_write(f, w, 0, 2 * fours, order, to);
    parts_write(f, w, 2 * fours, 2 * more, more_order, to_more);
    parts_write(f, w, 2 * f->fours, f->n - 2 * f->fours, order + 2 * fours, to + 2 * fours * GROUP);
    spans[panel * l->spans + span] =
        (struct kern_q8_span) { (uint32_t) s->more, (uint16_t) fours, (uint16_t) more };
    s->more += more;
    return true;
}

/* Whether it is less work so. */
static bool panels_order(struct ordering *s, struct fours *f, size_t rows)
{
    for (size_t p = 0; p < s->l->panels; p++)
        for (size_t span = 0; span < s->l->spans; span++)
            if (span_order(s, f, p, span))
                span_cost(s, f, rows);
            else
                return false;
    return s->cost < s->before;
}

size_t kern_q8_work_bytes(size_t n, size_t k)
{
    return layout_of(n, k, true).bytes + sizeof(struct fours);
}

static void order_take(char *packed, const struct layout *l, const struct kern_q8_w *w)
{
    struct ordering s = { .l = l, .w = (const int8_t *) packed, .packed = w->work, .k = w->k };
    struct fours *f = (struct fours *) (void *) (s.packed + l->bytes);
    memset(s.packed, 0, l->bytes);
    if (l->room >= UINT32_MAX || !panels_order(&s, f, w->rows))
        return;
    memcpy(packed, s.packed, l->w);
    memcpy(packed + l->span, s.packed + l->span, l->bytes - l->span);
    packed[l->last + 1] = 1;
}

/* ---- packing ---- */

/* One output: its column of the panel, its sum. */
static int32_t output_pack(int8_t *to, const struct kern_q8_w *w, size_t o)
{
    const uint8_t *from = (const uint8_t *) w->w + o * w->stride_o, flip = w->is_signed ? 0 : 0x80;
    uint32_t sum = 0;
    for (size_t i = 0; i < w->k; i++) {
        int8_t v = (int8_t) (from[i * w->stride_k] ^ flip);
        to[i / KERN_Q8_TERMS * KERN_LANES * KERN_Q8_TERMS + i % KERN_Q8_TERMS] = v;
        sum += (uint32_t) v;
    }
    return (int32_t) sum;
}

void kern_q8_pack(void *ret, const struct kern_q8_w *w)
{
    const struct layout l = layout_of(w->n, w->k, w->rows > 0);
    int8_t *to = ret;
    int32_t *sums = (int32_t *) (void *) (to + l.w), *zeros = sums + l.panels * KERN_LANES;
    memset(ret, 0, l.span);
    for (size_t o = 0; o < w->n; o++) {
        size_t panel = o / KERN_LANES;
        sums[o] = output_pack(to + l.w / l.panels * panel + o % KERN_LANES * KERN_Q8_TERMS, w, o);
        zeros[o] = (w->zero ? w->zero[o * w->zero_step] : 0) - (w->is_signed ? 0 : 128);
        to[l.last] |= zeros[o] != 0;
    }
    if (w->rows && w->n && w->k)
        order_take(ret, &l, w);
}

struct kern_quant kern_quant_of_range(float low, float high)
{
    struct kern_quant q = { .scale = (high - low) / 255 };
    if (!(q.scale > 0))
        return q;
    float zero = rintf(0 - low / q.scale);
    q.most = 255;
    q.zero = !(zero > 0) ? 0 : zero > 255 ? 255 : (int32_t) zero;
    return q;
}
