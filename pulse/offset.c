/* SPDX-License-Identifier: MIT */
#include "pulse/offset.h"
#include "engine/base/dim_even.h"
#include "pulse/ints.h"

/* n frames of the wire, in input frames. */
static struct ratio in_input(const struct stream_fact *s, struct ratio n)
{
    return ratio_times(n, s->hop_num, s->hop_den);
}

static struct ratio whole(int64_t n)
{
    return (struct ratio) { n, 1 };
}

void offset_init(struct stream_fact *s)
{
    s->at = (struct offset) {
        .root = { .length = s->length, .hop_num = s->hop_num, .hop_den = s->hop_den },
        .rate = { .length = s->length, .hop_num = s->hop_num, .hop_den = s->hop_den },
    };
}

void offset_cut(struct stream_fact *s, int64_t frames, int64_t step)
{
    s->at.origin = ratio_add(s->at.origin, in_input(s, whole(frames)));
    s->at.before = larger(s->at.before - frames, 0) / step;
    s->at.after /= step;
}

void offset_padded(struct stream_fact *s, int64_t before, int64_t after)
{
    offset_cut(s, -before, 1);
    s->at.after += after;
}

/* Of windows: what is shared with the next, the frames in front of what a window stands for as far
 * as they are padded, and how much of what is shared was not padded. */
struct reach {
    int64_t overlap, padded, bare;
};

static struct reach reach_of(int64_t before, int64_t after, int64_t size, int64_t stride)
{
    int64_t overlap = larger(size - stride, 0), padded = before < size ? before : overlap;
    return (struct reach) { overlap, size == stride ? 0 : padded,
                            larger(overlap - before - after, 0) };
}

/* Frames from the start of a window to what it stands for. */
static struct ratio reference(const struct reach *r, int64_t stride)
{
    return stride == 1 ? ratio_add(whole(r->padded), ratio_of(r->bare, 2)) : whole(r->padded);
}

void offset_windows(struct stream_fact *s, int64_t before, int64_t after, int64_t size,
                    int64_t stride)
{
    int64_t front = before + s->at.before, back = after + s->at.after;
    const struct reach r = reach_of(front, back, size, stride);
    s->at.origin =
        ratio_add(s->at.origin, in_input(s, ratio_add(reference(&r, stride), whole(-before))));
    s->at.guessed |= r.bare > 0;
    s->at.before = (front - r.padded) / stride;
    s->at.after = larger(back - r.overlap, 0) / stride;
}

void offset_frames(struct stream_fact *s, int64_t before, int64_t after, int64_t size,
                   int64_t stride)
{
    struct ratio first = ratio_add(s->at.origin, in_input(s, whole(-before)));
    offset_windows(s, before, after, size, stride);
    s->at.lead = ratio_add(s->at.origin, ratio_minus(first));
}

void offset_overlapped(struct stream_fact *s)
{
    s->at.origin = ratio_add(s->at.origin, ratio_minus(s->at.lead));
    s->at.lead = whole(0);
    s->at.root.length = NULL;
    s->at.before = s->at.after = 0;
}

void offset_transposed(struct stream_fact *s, int64_t before, int64_t after, int64_t size,
                       int64_t stride)
{
    const struct reach r = reach_of(before, after, size, stride);
    struct ratio back = ratio_minus(reference(&r, stride));
    s->at.origin = ratio_add(s->at.origin, in_input(s, ratio_add(whole(before), back)));
    s->at.guessed |= r.bare > 0;
    s->at.before *= stride;
    s->at.after *= stride;
}

/* Whether two lengths are one for every long input. Those shorter than what is cut off them make
 * expressions differ that mean the same. */
static bool lengths_agree(const struct dim *a, const struct dim *b, const struct dim *symbol)
{
    const struct dim *const both[2] = { a, b };
    struct dim_even e[2];
    int64_t x, y;
    if (a == b)
        return true;
    if (!dims_even(NULL, symbol, both, 2, 0, e) || e[0].rise != e[1].rise)
        return false;
    for (int64_t at = e[0].from; at < e[0].from + e[0].period; at++)
        if (!dim_eval(a, symbol, at, &x) || !dim_eval(b, symbol, at, &y) || x != y)
            return false;
    return true;
}

static bool anchor_fits(const struct offset_anchor *a, const struct stream_fact *s,
                        const struct dim *symbol)
{
    return a->length && a->hop_num == s->hop_num && a->hop_den == s->hop_den &&
        lengths_agree(a->length, s->length, symbol);
}

/* Pads that explain where it lies stay pads for the windows behind it. */
static void anchor_apply(const struct offset_anchor *a, struct offset *at)
{
    if (ratio_add(at->origin, ratio_minus(a->origin)).num != 0 || at->guessed)
        at->before = at->after = 0;
    at->origin = a->origin;
    at->lead = a->lead;
    at->guessed = false;
}

void offset_resolve(struct stream_fact *s, const struct dim *symbol)
{
    struct offset *at = &s->at;
    if (anchor_fits(&at->root, s, symbol))
        anchor_apply(&at->root, at);
    else if (anchor_fits(&at->rate, s, symbol))
        anchor_apply(&at->rate, at);
    const struct offset_anchor here = { s->length, s->hop_num, s->hop_den, at->origin, at->lead };
    if (at->rate.hop_num != s->hop_num || at->rate.hop_den != s->hop_den)
        at->rate = here;
    if (!at->root.length)
        at->root = here;
}

struct ratio offset_latency(const struct stream_fact *s, int64_t lead_in)
{
    return ratio_add(in_input(s, whole(s->delay)),
                     ratio_minus(ratio_add(s->at.origin, whole(lead_in))));
}
