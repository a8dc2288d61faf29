/* SPDX-License-Identifier: MIT */
#include "daemon/compute/lane_relief.h"
#include "daemon/compute/lane_in.h"
#include "daemon/compute/pcm.h"

#define PAST_MAX (1u << 19) /* a model that is later than that has silence go past */

bool relief_make(struct lane *l)
{
    const struct lane_model *m = l->model;
    struct relief *r = &l->relief;
    uint64_t fade = (uint64_t) l->opts.fade_ms * m->rate / 1000;
    size_t n = 16, most = (size_t) m->latency_samples + 2 * (size_t) m->pulse_samples + 2;
    r->fade_samples = fade ? (uint32_t) fade : 1;
    if (l->opts.relief != RELIEF_BYPASS || most > PAST_MAX)
        return true;
    while (n < most)
        n *= 2;
    r->past = calloc(n, sizeof *r->past);
    r->mask = n - 1;
    return r->past != NULL;
}

void relief_drop(struct lane *l)
{
    free(l->relief.past);
}

size_t relief_bytes(const struct lane *l)
{
    return l->relief.past ? (l->relief.mask + 1) * sizeof *l->relief.past : 0;
}

static bool relief_has_audio(const struct lane *l)
{
    return l->opts.relief == RELIEF_BYPASS || l->opts.relief == RELIEF_SILENCE;
}

void relief_segment(struct lane *l)
{
    struct relief *r = &l->relief;
    r->away = r->on && relief_has_audio(l);
    r->kept = r->answered = r->base = r->given = 0;
    r->mix = r->away ? 0 : r->fade_samples;
    r->fill = 0;
    r->is_gap = r->is_told = false;
}

void relief_keep(struct lane *l, const float *x, size_t n)
{
    struct relief *r = &l->relief;
    for (size_t i = 0; r->past && i < n; i++)
        r->past[(r->kept + i) & r->mask] = x[i];
    r->kept += n;
}

/* ---- changing over ---- */

static void relief_leave(struct lane *l)
{
    l->relief.away = true;
    l->relief.fill = 0;
    lane_heard_finish(l);
}

static void relief_return(struct lane *l)
{
    struct relief *r = &l->relief;
    const struct lane_model *m = l->model;
    r->away = false;
    r->base = l->seg_fed;
    r->given = 0;
    rill_stream_reset(l->stream);
    heard_reset(&l->heard, r->base);
    l->seg_vad = m->vad_hop_samples ? r->base / m->vad_hop_samples : 0;
}

bool relief_away(struct lane *l)
{
    struct relief *r = &l->relief;
    if (!relief_has_audio(l) || l->seg_fed % l->model->pulse_samples != 0)
        return r->away;
    if (!r->away && r->on && r->mix == 0)
        relief_leave(l);
    else if (r->away && !r->on && r->fill == 0 && l->phase == FEED)
        relief_return(l);
    return r->away;
}

/* ---- what goes past ---- */

/* Position in the segment of what the i-th sample that the model gives answers; before its start:
 * 0. */
static uint64_t answered(const struct lane *l, uint64_t i)
{
    uint64_t at = i + l->model->fill_samples, cut = l->model->cut_samples;
    return at > cut ? at - cut : 0;
}

/* What answers the i-th sample without a model. */
static float past_of(const struct lane *l, uint64_t i)
{
    const struct relief *r = &l->relief;
    uint64_t at = answered(l, i);
    if (!r->past || i < l->model->cut_samples || at >= r->kept || r->kept - at > r->mask)
        return 0;
    return r->past[at & r->mask];
}

/* Position in the input of what the i-th sample answers. */
static uint64_t answered_pos(const struct lane *l, uint64_t i)
{
    uint64_t end = l->seg_in_pos + l->seg_in, pos = lane_pos_in(l, answered(l, i));
    return pos < end ? pos : end;
}

static void gap_note(struct lane *l, uint64_t i)
{
    struct relief *r = &l->relief;
    if (!r->is_gap) {
        r->is_gap = true;
        r->is_told = false;
        r->gap_from = answered_pos(l, i);
    }
    r->gap_to = answered_pos(l, i + 1);
}

void relief_tell(struct lane *l, bool over)
{
    struct relief *r = &l->relief;
    if (!r->is_gap)
        return;
    if (over || !r->is_told || r->gap_to - r->gap_from >= l->opts.in_rate) {
        struct lane_rec rec = { .kind = LANE_GAP,
                                .pos = r->gap_from,
                                .end_pos = r->gap_to,
                                .why = LANE_GAP_OVERLOAD,
                                .fill = l->opts.relief == RELIEF_BYPASS && r->past
                                    ? LANE_FILL_BYPASS
                                    : LANE_FILL_SILENCE };
        if (rec.end_pos > rec.pos) {
            ring_write(&l->recs, &rec, 1);
            r->is_told = true;
            r->gap_from = r->gap_to;
        }
    }
    r->is_gap = !over;
}

/* So many samples past the model. */
static void past_emit(struct lane *l, uint64_t until, struct lane_rec *rec)
{
    struct relief *r = &l->relief;
    float x[256];
    while (r->answered < until) {
        size_t n = until - r->answered < 256 ? (size_t) (until - r->answered) : 256;
        for (size_t i = 0; i < n; i++)
            x[i] = past_of(l, r->answered + i);
        gap_note(l, r->answered);
        r->answered += n;
        gap_note(l, r->answered - 1);
        lane_audio_emit(l, x, n, rec);
    }
}

void relief_mix(struct lane *l, float *x, size_t n, struct lane_rec *rec)
{
    struct relief *r = &l->relief;
    if (r->mix == r->fade_samples && !r->on && r->answered == r->base + r->given) {
        r->answered = r->base + (r->given += n);
        lane_audio_emit(l, x, n, rec);
        return;
    }
    /* before it the model answers what it did not hear */
    uint64_t warm = r->base ? r->base + l->model->cut_samples : 0;
    past_emit(l, r->base + r->given, rec);
    for (size_t k = 0; k < n; k++) {
        uint64_t i = r->base + r->given + k;
        if (r->mix == 0)
            x[k] = past_of(l, i);
        else if (r->mix < r->fade_samples)
            x[k] = (x[k] * (float) r->mix + past_of(l, i) * (float) (r->fade_samples - r->mix)) /
                (float) r->fade_samples;
        if (r->mix == 0)
            gap_note(l, i);
        else
            relief_tell(l, true);
        if (i >= warm && r->on && r->mix > 0)
            r->mix--;
        else if (i >= warm && !r->on && r->mix < r->fade_samples)
            r->mix++;
    }
    r->given += n;
    r->answered = r->base + r->given;
    lane_audio_emit(l, x, n, rec);
}

/* Where the model's output is late, nothing comes from it until then. */
void relief_owed(struct lane *l, struct lane_rec *rec)
{
    struct relief *r = &l->relief;
    uint64_t late = l->model->late_samples;
    uint64_t until = l->seg_fed > late ? l->seg_fed - late : 0;
    past_emit(l, until < r->base ? until : r->base, rec);
}

void relief_pulse(struct lane *l, struct lane_rec *rec)
{
    uint64_t late = l->model->late_samples;
    l->relief.fill = 0;
    past_emit(l, l->seg_fed > late ? l->seg_fed - late : 0, rec);
    relief_tell(l, false);
}

bool relief_rest(struct lane *l, struct lane_rec *rec)
{
    const struct relief *r = &l->relief;
    /* A model that came back and heard nothing more gives nothing: what it would answer late is
     * owed as well. */
    uint64_t until = r->base && l->seg_fed == r->base ? r->base + l->model->cut_samples : r->base;
    if (r->away ? l->seg_emitted >= l->model_limit : r->answered >= until)
        return false;
    uint64_t left = r->away ? 256 : until - r->answered;
    past_emit(l, r->answered + (left < 256 ? left : 256), rec);
    return true;
}
