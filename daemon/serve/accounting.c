/* SPDX-License-Identifier: MIT */
#include "daemon/serve/accounting.h"
#include "daemon/base/counters.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/log.h"
#include "daemon/base/process.h"
#include "daemon/base/worst.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/ports.h"
#include "daemon/models/registry.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"

uint64_t session_us(const struct session *s, uint64_t samples)
{
    if (!s->ports)
        return samples_us(samples, s->in.rate);
    const struct lane_ports *l = s->lane ? s->lane->ports : NULL;
    const rill_port *q = l ? &l->list[l->clock].info : NULL;
    return q && q->rate_num && q->rate_den
        ? (uint64_t) ((double) samples * 1e6 * q->rate_den / q->rate_num)
        : 0;
}

static void stats_add(struct model_stats *m, const struct lane_rec *r, uint64_t audio_us,
                      double rtf, bool miss)
{
    m->pulses++;
    m->audio_us += audio_us;
    m->compute_us += r->compute_us;
    m->misses += miss;
    m->runs += r->is_run;
    m->runs_batch += r->is_run ? r->batch : 0;
    m->rtf_max = rtf > m->rtf_max ? rtf : m->rtf_max;
    hist_add(&m->compute, r->compute_us);
    hist_add(&m->queue, r->queue_us);
}

static void worst_note(struct session *s, const struct lane_rec *r, uint32_t pulse_us,
                       uint64_t now_us)
{
    struct worst_pulse p = { .mono_us = now_us,
                             .wall_us = process_wall_us(),
                             .serial = s->serial,
                             .uid = s->uid,
                             .queue_us = r->queue_us,
                             .compute_us = r->compute_us,
                             .batch = r->batch,
                             .pulse_us = pulse_us,
                             .live = s->live };
    memcpy(p.model, s->model->name, sizeof p.model);
    worst_put(s->daemon->worst, &p);
}

/* 0: the model does not say how long a pulse lasts. */
static uint64_t stated_pulse_us(const struct session *s)
{
    const struct lane_model *m = &s->model->lane;
    return m->rate || m->is_timed ? lane_pulse_us(m) : 0;
}

void account_pulse(struct session *s, const struct lane_rec *r)
{
    uint64_t pulse_us = stated_pulse_us(s);
    uint64_t consumed = atomic_load_explicit(&s->lane->consumed, memory_order_acquire);
    uint64_t audio_us =
        session_us(s, consumed) - session_us(s, s->audio_noted); /* adds up without rounding */
    bool miss = s->live && (uint64_t) r->queue_us + r->compute_us > pulse_us;
    double rtf = pulse_us ? (double) r->compute_us / (double) pulse_us : 0;
    s->audio_noted = consumed;
    s->compute_us += r->compute_us;
    s->misses += miss;
    s->max_chunk_us = r->compute_us > s->max_chunk_us ? r->compute_us : s->max_chunk_us;
    hist_add(&s->compute, r->compute_us);
    hist_add(&s->queue, r->queue_us);
    stats_add(s->model->stats, r, audio_us, rtf, miss);
    stats_add(s->model->period, r, audio_us, rtf, miss);
    counters_add_pulse(s->counters,
                       &(struct pulse_counts) { r->compute_us, r->queue_us, r->batch, audio_us,
                                                miss });
    uint64_t now_us = s->daemon->life->tick_us;
    if (pulse_us &&
        worst_is(s->daemon->worst, r->queue_us + r->compute_us, (uint32_t) pulse_us, now_us))
        worst_note(s, r, (uint32_t) pulse_us, now_us);
}

void account_opened(struct session *s)
{
    s->counters = counters_of_model(s->daemon->counters, s->model->name);
    s->counters->streams_opened++;
}

void account_gap(struct session *s, Rill__Gap__Reason reason, uint64_t samples)
{
    s->gap_samples += samples;
    counters_add_gap(s->daemon->counters, s->counters, (unsigned) reason, samples, s->in.rate);
}

void account_refused(struct daemon *d, Rill__Code code)
{
    d->sessions->n_refused++;
    d->counters->refused[(unsigned) code < COUNTERS_CODES ? (unsigned) code : 0]++;
}

double rtf_of(uint64_t compute_us, uint64_t audio_us)
{
    return audio_us ? (double) compute_us / (double) audio_us : 0;
}

/* That share its pulses. */
static unsigned threads_of(const struct session *s)
{
    return s->live && s->model->lane.threads > 1 ? s->model->lane.threads : 1;
}

void account_finished(struct session *s, bool cancelled)
{
    uint64_t in = s->lane ? atomic_load_explicit(&s->lane->consumed, memory_order_acquire) : 0;
    uint64_t audio_us = session_us(s, in);
    uint64_t pulse_us = stated_pulse_us(s);
    char format[40] = "ports";
    if (s->gone)
        return;
    if (!s->ports)
        snprintf(format, sizeof format, "%u/%u/%s", s->in.rate, s->in.channels,
                 pcm_enc_name(s->in.enc));
    log_event(s->daemon->log, LOG_INFO, EVENT_STREAM,
              "stream=%u uid=%u model=%s in=%s dur=%.2fs rtf=%.5f rtf_max=%.5f q_p99=%.2fms "
              "c_p99=%.3fms "
              "threads=%u miss=%llu gap=%llu out=%llu%s",
              s->serial, s->uid, s->model->name, format, (double) audio_us / 1e6,
              rtf_of(s->compute_us, audio_us),
              pulse_us ? (double) s->max_chunk_us / (double) pulse_us : 0.0,
              hist_quantile(&s->queue, 0.99) / 1e3, hist_quantile(&s->compute, 0.99) / 1e3,
              threads_of(s), (unsigned long long) s->misses,
              (unsigned long long) (s->skipped + s->late + s->bypassed),
              (unsigned long long) s->sent, cancelled ? " cancelled=1" : "");
}
