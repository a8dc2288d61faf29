/* SPDX-License-Identifier: MIT */
/* What comes out of a lane: its samples, and where in the input they are. */
#include "daemon/compute/lane_internal.h"
#include "daemon/compute/resample.h"

void lane_out_write(struct lane *l, const float *x, size_t n, struct lane_rec *rec)
{
    uint64_t left = l->out_limit - l->seg_out;
    if (n > left)
        n = (size_t) left;
    ring_write(&l->out, x, n);
    l->seg_out += n;
    rec->n += (uint32_t) n;
}

/* An aligned client does not get the first samples, which stand for what was before the input. */
void lane_audio_emit(struct lane *l, const float *x, size_t n, struct lane_rec *rec)
{
    uint64_t skip = l->opts.align ? l->model->cut_samples - l->seg_cut : 0;
    if (skip > n)
        skip = n;
    l->seg_cut += skip;
    n -= (size_t) skip;
    if (n > l->model_limit - l->seg_emitted)
        n = (size_t) (l->model_limit - l->seg_emitted);
    if (!n)
        return;
    l->seg_emitted += n;
    size_t m = resample_run(l->from_model, x ? x + skip : NULL, n, l->resampled, l->resampled_cap);
    lane_out_write(l, l->resampled, m, rec);
}

uint64_t lane_pos_in(const struct lane *l, uint64_t at)
{
    uint32_t rate = l->model->rate;
    return l->seg_in_pos + at / rate * l->opts.in_rate + at % rate * l->opts.in_rate / rate;
}
