/* SPDX-License-Identifier: MIT */
#include "daemon/compute/bypass.h"
#include "daemon/compute/lane_internal.h"

#define DRY_SAMPLES_MAX (1u << 19) /* of a model with a longer delay the dry signal is silence */

bool bypass_make(struct lane *l)
{
    const struct lane_model *m = l->model;
    struct bypass *b = &l->bypass;
    uint64_t fade = (uint64_t) l->opts.fade_ms * m->rate / 1000;
    size_t n = 16, most = (size_t) m->latency_samples + 2 * (size_t) m->pulse_samples + 2;
    b->fade_samples = fade ? (uint32_t) fade : 1;
    if (l->opts.bypass_mode != BYPASS_DRY || most > DRY_SAMPLES_MAX)
        return true;
    while (n < most)
        n *= 2;
    b->dry = calloc(n, sizeof *b->dry);
    b->dry_mask = n - 1;
    return b->dry != NULL;
}

void bypass_drop(struct lane *l)
{
    free(l->bypass.dry);
}

size_t bypass_bytes(const struct lane *l)
{
    return l->bypass.dry ? (l->bypass.dry_mask + 1) * sizeof *l->bypass.dry : 0;
}

static bool bypass_has_audio(const struct lane *l)
{
    return l->opts.bypass_mode == BYPASS_DRY || l->opts.bypass_mode == BYPASS_SILENCE;
}

void bypass_segment_begin(struct lane *l)
{
    struct bypass *b = &l->bypass;
    b->active = b->wanted && bypass_has_audio(l);
    b->n_in = b->n_out = b->model_from = b->model_out = 0;
    b->wet = b->active ? 0 : b->fade_samples;
    b->pulse_fill = 0;
    b->gap_open = b->gap_reported = false;
}

void bypass_dry_write(struct lane *l, const float *x, size_t n)
{
    struct bypass *b = &l->bypass;
    for (size_t i = 0; b->dry && i < n; i++)
        b->dry[(b->n_in + i) & b->dry_mask] = x[i];
    b->n_in += n;
}

/* ---- switching ---- */

static void bypass_enter(struct lane *l)
{
    l->bypass.active = true;
    l->bypass.pulse_fill = 0;
    lane_sinks_finish(l);
}

static void bypass_leave(struct lane *l)
{
    struct bypass *b = &l->bypass;
    const struct lane_model *m = l->model;
    b->active = false;
    b->model_from = l->seg_fed;
    b->model_out = 0;
    rill_stream_reset(l->stream);
    lane_sinks_reset(&l->sinks, b->model_from);
    l->seg_vad = m->vad_hop_samples ? b->model_from / m->vad_hop_samples : 0;
}

uint64_t bypass_pulse_fill(const struct lane *l)
{
    const uint64_t fed = l->seg_fed - l->bypass.model_from;
    return (l->bypass.active ? l->bypass.pulse_fill : fed + l->model->lead_in_samples) %
        l->model->pulse_samples;
}

bool bypass_update(struct lane *l)
{
    struct bypass *b = &l->bypass;
    if (!bypass_has_audio(l) || bypass_pulse_fill(l) != 0)
        return b->active;
    if (!b->active && b->wanted && b->wet == 0)
        bypass_enter(l);
    else if (b->active && !b->wanted && b->pulse_fill == 0 && l->phase == FEED)
        bypass_leave(l);
    return b->active;
}

/* ---- the dry signal ---- */

/* The sample of the segment's input that the i-th sample of the model's output stands for; 0 where
 * that lies before the start. */
static uint64_t in_of_out(const struct lane *l, uint64_t i)
{
    uint64_t at = i + l->model->fill_samples, cut = l->model->cut_samples;
    return at > cut ? at - cut : 0;
}

/* The dry signal in place of the i-th sample of the model's output. */
static float dry_sample(const struct lane *l, uint64_t i)
{
    const struct bypass *b = &l->bypass;
    uint64_t at = in_of_out(l, i);
    if (!b->dry || i < l->model->cut_samples || at >= b->n_in || b->n_in - at > b->dry_mask)
        return 0;
    return b->dry[at & b->dry_mask];
}

/* The same as a position of the stream's input, within what came. */
static uint64_t in_pos_of_out(const struct lane *l, uint64_t i)
{
    uint64_t end = l->seg_in_pos + l->seg_in, pos = lane_pos_in(l, in_of_out(l, i));
    return pos < end ? pos : end;
}

static void gap_extend(struct lane *l, uint64_t i)
{
    struct bypass *b = &l->bypass;
    if (!b->gap_open) {
        b->gap_open = true;
        b->gap_reported = false;
        b->gap_from = in_pos_of_out(l, i);
    }
    b->gap_to = in_pos_of_out(l, i + 1);
}

void bypass_gap_report(struct lane *l, bool over)
{
    struct bypass *b = &l->bypass;
    if (!b->gap_open)
        return;
    if (over || !b->gap_reported || b->gap_to - b->gap_from >= l->opts.in_rate) {
        struct lane_rec rec = { .kind = LANE_GAP,
                                .pos = b->gap_from,
                                .end_pos = b->gap_to,
                                .reason = LANE_GAP_OVERLOAD,
                                .fill = l->opts.bypass_mode == BYPASS_DRY && b->dry
                                    ? LANE_FILL_BYPASS
                                    : LANE_FILL_SILENCE };
        if (rec.end_pos > rec.pos) {
            ring_write(&l->recs, &rec, 1);
            b->gap_reported = true;
            b->gap_from = b->gap_to;
        }
    }
    b->gap_open = !over;
}

/* The dry signal up to that sample of the output. */
static void dry_emit(struct lane *l, uint64_t until, struct lane_rec *rec)
{
    struct bypass *b = &l->bypass;
    float x[256];
    while (b->n_out < until) {
        size_t n = until - b->n_out < 256 ? (size_t) (until - b->n_out) : 256;
        for (size_t i = 0; i < n; i++)
            x[i] = dry_sample(l, b->n_out + i);
        gap_extend(l, b->n_out);
        b->n_out += n;
        gap_extend(l, b->n_out - 1);
        lane_audio_emit(l, x, n, rec);
    }
}

void bypass_model_emit(struct lane *l, float *x, size_t n, struct lane_rec *rec)
{
    struct bypass *b = &l->bypass;
    if (b->wet == b->fade_samples && !b->wanted && b->n_out == b->model_from + b->model_out) {
        b->n_out = b->model_from + (b->model_out += n);
        lane_audio_emit(l, x, n, rec);
        return;
    }
    /* A model that came back gives so many samples first that stand for input before its start. */
    uint64_t warm_from = b->model_from ? b->model_from + l->model->cut_samples : 0;
    dry_emit(l, b->model_from + b->model_out, rec);
    for (size_t k = 0; k < n; k++) {
        uint64_t i = b->model_from + b->model_out + k;
        if (b->wet == 0)
            x[k] = dry_sample(l, i);
        else if (b->wet < b->fade_samples)
            x[k] = (x[k] * (float) b->wet + dry_sample(l, i) * (float) (b->fade_samples - b->wet)) /
                (float) b->fade_samples;
        if (b->wet == 0)
            gap_extend(l, i);
        else
            bypass_gap_report(l, true);
        if (i >= warm_from && b->wanted && b->wet > 0)
            b->wet--;
        else if (i >= warm_from && !b->wanted && b->wet < b->fade_samples)
            b->wet++;
    }
    b->model_out += n;
    b->n_out = b->model_from + b->model_out;
    lane_audio_emit(l, x, n, rec);
}

void bypass_latency_fill(struct lane *l, struct lane_rec *rec)
{
    struct bypass *b = &l->bypass;
    uint64_t delay = l->model->delay_samples;
    uint64_t until = l->seg_fed > delay ? l->seg_fed - delay : 0;
    dry_emit(l, until < b->model_from ? until : b->model_from, rec);
}

void bypass_pulse(struct lane *l, struct lane_rec *rec)
{
    uint64_t delay = l->model->delay_samples;
    l->bypass.pulse_fill = 0;
    dry_emit(l, l->seg_fed > delay ? l->seg_fed - delay : 0, rec);
    bypass_gap_report(l, false);
}

bool bypass_flush(struct lane *l, struct lane_rec *rec)
{
    const struct bypass *b = &l->bypass;
    /* A model that came back and got no input since then gives nothing: what its delay would have
     * held back is filled as well. */
    uint64_t until = b->model_from && l->seg_fed == b->model_from
        ? b->model_from + l->model->cut_samples
        : b->model_from;
    if (b->active ? l->seg_emitted >= l->model_limit : b->n_out >= until)
        return false;
    uint64_t left = b->active ? 256 : until - b->n_out;
    dry_emit(l, b->n_out + (left < 256 ? left : 256), rec);
    return true;
}
