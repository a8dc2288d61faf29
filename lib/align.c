/* SPDX-License-Identifier: MIT */
/* Where latency and offset of a port become numbers of frames. */
#include "engine/base/ratio.h"
#include "engine/base/sized.h"

#include <rill.h>

static struct ratio in_frames(const rill_port *q, struct ratio samples)
{
    return ratio_times(samples, q->hop_den, q->hop_num);
}

rill_status rill_port_align(const rill_port *p, uint64_t input_samples, rill_alignment *ret)
{
    rill_port own;
    TRY(sized_take(&sized_port, &own, p, NULL));
    const rill_port *q = &own;
    if (!q->hop_num || !q->hop_den || !q->offset_den || input_samples > INT64_MAX / q->hop_den)
        return RILL_INVALID;
    const struct ratio offset = ratio_of(q->offset_num, q->offset_den);
    int64_t first = ratio_floor(in_frames(q, offset)),
            cut = ratio_floor(in_frames(q, ratio_minus(offset))),
            late = ratio_floor(
                in_frames(q, ratio_add(offset, (struct ratio) { q->latency_samples, 1 })));
    uint64_t samples = input_samples * q->hop_den;
    const rill_alignment lie = {
        .cut_frames = cut > 0 ? (uint64_t) cut : 0,
        .fill_frames = first > 0 ? (uint64_t) first : 0,
        .late_frames = late > 0 ? (uint64_t) late : 0,
        .frames = samples / q->hop_num + (samples % q->hop_num != 0),
    };
    return sized_give(&sized_alignment, ret, &lie, NULL);
}
