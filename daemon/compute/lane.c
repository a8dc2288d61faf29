/* SPDX-License-Identifier: MIT */
#include "daemon/compute/lane_internal.h"
#include "daemon/base/clock.h"
#include "daemon/compute/pcm.h"
#include "daemon/compute/resample.h"

#define TABLE_LEAST_S 5 /* what stops a stream earlier is no table of positions */
#define REC_RING 512
#define MARK_RING 16
#define PORTS_REC_RING 128
#define ARRIVAL_RING 64
#define FLUSH_CHUNK 256
#define PACE_SLACK 256 /* a client's clock may be fast by one part in so many */

static void segment_begin(struct lane *l, uint64_t in_pos)
{
    l->seg_in_pos = in_pos;
    l->seg_out_pos = rate_rescale(in_pos, l->opts.out_rate, l->opts.in_rate);
    l->seg_in = l->seg_fed = l->seg_emitted = l->seg_out = l->seg_vad = 0;
    l->seg_cut = 0;
    l->out_limit = l->model_limit = UINT64_MAX;
    l->feed_at = l->feed_fill = 0;
    l->phase = FEED;
    l->past_table = l->goes_on = false;
    bypass_segment_begin(l);
    l->lead_left = l->opts.align ? l->model->fill_samples : l->model->delay_samples;
}

static bool buffers_make(struct lane *l)
{
    const struct lane_model *m = l->model;
    size_t pulse = m->pulse_samples;
    l->chunk_cap = (size_t) rate_rescale(pulse, l->opts.in_rate, m->rate) + 2;
    if (l->chunk_cap < FLUSH_CHUNK)
        l->chunk_cap = FLUSH_CHUNK;
    l->feed_cap = pulse + (size_t) rate_rescale(l->chunk_cap, m->rate, l->opts.in_rate) + 2;
    size_t most = pulse > FLUSH_CHUNK ? pulse : FLUSH_CHUNK;
    l->resampled_cap = (size_t) rate_rescale(most, l->opts.out_rate, m->rate) + 2;
    l->chunk = calloc(l->chunk_cap, sizeof *l->chunk);
    l->feed = calloc(l->feed_cap, sizeof *l->feed);
    for (unsigned i = 0; i < m->n_sink_ports; i++)
        most = m->sink_ports[i].width > most ? m->sink_ports[i].width : most;
    l->pulled_cap = most;
    l->pulled = calloc(l->pulled_cap, sizeof *l->pulled);
    l->resampled = calloc(l->resampled_cap, sizeof *l->resampled);
    return l->chunk && l->feed && l->pulled && l->resampled;
}

static bool rings_make(struct lane *l)
{
    size_t out = 4 * l->resampled_cap;
    if (out < l->opts.out_rate / 5)
        out = l->opts.out_rate / 5;
    return ring_init(&l->in, sizeof(float), l->opts.window_samples + 1) &&
        ring_init(&l->marks, sizeof(struct lane_mark), MARK_RING) &&
        ring_init(&l->arrivals, sizeof(struct lane_arrival), ARRIVAL_RING) &&
        ring_init(&l->out, sizeof(float), out) &&
        ring_init(&l->recs, sizeof(struct lane_rec), REC_RING);
}

static bool stream_make(struct lane *l)
{
    size_t bytes = (rill_plan_stream_size(l->model->plan) + 63) & ~(size_t) 63;
    l->mem = aligned_alloc(64, bytes ? bytes : 64);
    if (!l->mem)
        return false;
    memset(l->mem, 0, bytes);
    l->stream = rill_stream_init_for(l->mem, l->model->plan, l->model->wanted, l->model->n_wanted);
    l->to_model = resample_new(l->opts.in_rate, l->model->rate);
    l->from_model = resample_new(l->model->rate, l->opts.out_rate);
    return l->to_model && l->from_model;
}

static size_t bytes_count(const struct lane *l)
{
    const struct ring *rings[] = { &l->in, &l->marks, &l->arrivals, &l->out, &l->recs };
    size_t n = sizeof *l + lane_sinks_bytes(&l->sinks) + bypass_bytes(l) +
        rill_plan_stream_size(l->model->plan) + resample_bytes(l->to_model) +
        resample_bytes(l->from_model) +
        (l->chunk_cap + l->feed_cap + l->pulled_cap + l->resampled_cap) * sizeof(float);
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++)
        n += ring_bytes(rings[i]);
    return n;
}

struct lane *lane_new(const struct lane_model *m, const struct lane_opts *o)
{
    struct lane *l = aligned_alloc(64, (sizeof *l + 63) & ~(size_t) 63);
    if (!l)
        return NULL;
    memset(l, 0, sizeof *l);
    l->model = m;
    l->opts = *o;
    l->pulse_us = lane_pulse_us(m);
    l->window_us = o->window_samples * UINT64_C(1000000) / o->in_rate;
    l->cost_ns = m->run_us * UINT64_C(1000);
    l->delay_out_samples =
        o->align ? 0 : (uint32_t) rate_rescale(m->latency_samples, o->out_rate, m->rate);
    if (!buffers_make(l) || !rings_make(l) || !stream_make(l) || !bypass_make(l) ||
        !lane_sinks_make(&l->sinks, m, &o->sinks))
        return lane_free(l);
    l->opts.sinks.options = (struct stream_options) { 0 }; /* its texts go with the caller's */
    l->bytes = bytes_count(l);
    segment_begin(l, 0);
    return l;
}

struct lane *lane_new_ports(const struct lane_model *m, const struct lane_ports_opts *o)
{
    struct lane *l = aligned_alloc(64, (sizeof *l + 63) & ~(size_t) 63);
    if (!l)
        return NULL;
    memset(l, 0, sizeof *l);
    l->model = m;
    l->live = o->live;
    l->pulse_us = lane_pulse_us(m);
    l->window_us = PORTS_PULSES_WAIT * l->pulse_us;
    l->cost_ns = m->run_us * UINT64_C(1000);
    l->phase = FEED;
    l->ports = lane_ports_new(m->plan, o);
    if (!l->ports || !ports_stream_make(l) ||
        !ring_init(&l->recs, sizeof(struct lane_rec), PORTS_REC_RING) ||
        !ring_init(&l->arrivals, sizeof(struct lane_arrival), ARRIVAL_RING))
        return lane_free(l);
    l->bytes = sizeof *l + lane_ports_bytes(l->ports) + ring_bytes(&l->recs) +
        ring_bytes(&l->arrivals) + rill_plan_stream_size(m->plan);
    return l;
}

struct lane *lane_free(struct lane *l)
{
    if (!l)
        return NULL;
    ring_free(&l->in);
    ring_free(&l->marks);
    ring_free(&l->arrivals);
    ring_free(&l->out);
    ring_free(&l->recs);
    resample_free(l->to_model);
    resample_free(l->from_model);
    lane_ports_free(l->ports);
    lane_sinks_drop(&l->sinks);
    bypass_drop(l);
    free(l->mem);
    free(l->feed);
    free(l->chunk);
    free(l->pulled);
    free(l->resampled);
    free(l);
    return NULL;
}

size_t lane_bytes(const struct lane *l)
{
    return l ? l->bytes : 0;
}

/* ---- output ---- */

static void outputs_pull(struct lane *l, struct lane_rec *rec)
{
    const struct lane_model *m = l->model;
    size_t cap = m->pulse_samples > FLUSH_CHUNK ? m->pulse_samples : FLUSH_CHUNK, n;
    while (m->audio_out >= 0 &&
           rill_stream_pull(l->stream, (unsigned) m->audio_out, l->pulled, cap, &n) == RILL_OK && n)
        if (l->opts.want_audio)
            bypass_model_emit(l, l->pulled, n, rec);
    bypass_latency_fill(l, rec);
    l->stalled = !lane_sinks_read(l);
}

/* No atomic addition: the worker is the only writer. */
static void count_add(_Atomic uint64_t *to, uint64_t n)
{
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static void pulse_record(struct lane *l, struct lane_rec *rec, uint64_t began_ns)
{
    uint64_t end_ns = clock_now_ns(), began_us = began_ns / 1000,
             spent_ns = l->work_ns + end_ns - began_ns;
    rec->compute_us = (uint32_t) (spent_ns / 1000);
    count_add(&l->spent_ns, spent_ns);
    if (rec->is_run) {
        count_add(&l->ran_ns, spent_ns);
        count_add(&l->n_ran, 1);
    }
    rec->queue_us =
        l->arrival_us && began_us > l->arrival_us ? (uint32_t) (began_us - l->arrival_us) : 0;
    l->work_ns = 0;
    l->worked_us = end_ns / 1000;
    ring_write(&l->recs, rec, 1);
}

/* ---- input ---- */

static size_t room_at_mark(const struct lane *l, bool *ret_at_mark)
{
    struct lane_mark mark;
    uint64_t consumed = atomic_load_explicit(&l->consumed, memory_order_relaxed);
    *ret_at_mark = false;
    if (!ring_used(&l->marks))
        return SIZE_MAX;
    ring_peek(&l->marks, &mark, 1);
    *ret_at_mark = mark.count == consumed;
    return (size_t) (mark.count - consumed);
}

static void feed_samples(struct lane *l, const float *x, size_t n)
{
    if (l->feed_at == l->feed_fill)
        l->feed_at = l->feed_fill = 0;
    l->feed_fill +=
        resample_run(l->to_model, x, n, l->feed + l->feed_fill, l->feed_cap - l->feed_fill);
}

static void segment_end(struct lane *l, bool last)
{
    const struct lane_model *m = l->model;
    l->last_segment = last;
    l->phase = TAIL_RATE;
    l->arrival_us = clock_now_us(); /* the rest waited for the end, not since the last sample */
    l->out_limit = rate_rescale(l->seg_in, l->opts.out_rate, l->opts.in_rate) +
        (last && l->seg_in ? l->delay_out_samples : 0);
    uint64_t fed = rate_rescale(l->seg_in, m->rate, l->opts.in_rate);
    lane_sinks_end(&l->sinks, fed);
    /* Behind that end the second resampler gets silence. */
    l->model_limit = fed + (last && !l->opts.align ? m->latency_samples : 0);
    if (!l->opts.want_audio)
        l->out_limit = 0;
}

/* Whether the oldest sample has waited for longer than max_wait_us. */
static bool waited_too_long(const struct lane *l)
{
    struct lane_arrival a;
    if (!l->opts.max_wait_us || !ring_used(&l->arrivals))
        return false;
    ring_peek(&l->arrivals, &a, 1);
    uint64_t now_us = clock_now_us();
    a.us = a.since_us ? a.since_us : a.us;
    return a.count > atomic_load_explicit(&l->consumed, memory_order_relaxed) && now_us > a.us &&
        now_us - a.us > l->opts.max_wait_us;
}

/* Takes n samples out of the ring; NULL: drops them. */
static void samples_take(struct lane *l, float *to, size_t n)
{
    if (to)
        ring_read(&l->in, to, n);
    else
        ring_drop(&l->in, n);
    uint64_t consumed = atomic_load_explicit(&l->consumed, memory_order_relaxed) + n;
    lane_arrivals_pass(l, consumed);
    atomic_store_explicit(&l->consumed, consumed, memory_order_release);
}

/* As many samples as the next pulse lacks and no more, so that its deadline counts from the arrival
 * of its own last sample. */
static size_t chunk_wanted(const struct lane *l)
{
    uint64_t waits = l->feed_fill - l->feed_at, pulse = l->model->pulse_samples,
             have = bypass_pulse_fill(l) + waits;
    size_t n = (size_t) rate_rescale(pulse - have % pulse, l->opts.in_rate, l->model->rate);
    return n < l->chunk_cap ? n : l->chunk_cap;
}

/* When the last of so many samples came, or the first later one whose arrival was noted. */
static uint64_t arrival_of(const struct lane *l, uint64_t count)
{
    struct lane_arrival a = { .us = l->arrival_us };
    size_t n = ring_used(&l->arrivals);
    for (size_t i = 0; i < n; i++) {
        ring_peek_at(&l->arrivals, i, &a);
        if (a.count >= count)
            break;
    }
    return a.us;
}

/* Samples of the silence in front that may be emitted now: no more than came in, since the segment
 * may end here. */
static size_t lead_due(const struct lane *l)
{
    uint64_t most = rate_rescale(l->seg_in, l->model->rate, l->opts.in_rate), n = l->lead_left;
    if (!n || !l->opts.want_audio || most <= l->seg_emitted)
        return 0;
    n = n < most - l->seg_emitted ? n : most - l->seg_emitted;
    return n < FLUSH_CHUNK ? (size_t) n : FLUSH_CHUNK;
}

/* When a pulse that arrived at arrival_us would have come in real time: a pulse's length after the
 * one before, less the slack, so that a clock that is a little fast does not accumulate; and no
 * later than the window allows. */
static uint64_t pace(const struct lane *l, uint64_t arrival_us)
{
    uint64_t next_us = l->paced_us + l->pulse_us - l->pulse_us / PACE_SLACK;
    uint64_t most_us = arrival_us + l->window_us;
    return arrival_us > next_us ? arrival_us : next_us < most_us ? next_us : most_us;
}

static uint64_t ports_deadline(const struct lane *l)
{
    const struct lane_port *clock = &l->ports->list[l->ports->clock];
    uint64_t lacks = clock->info.pulse_frames - clock->fill;
    bool part;
    if (atomic_load_explicit(&l->cancel, memory_order_acquire))
        return 0;
    if (!ports_are_due(l, &part))
        return part ? LANE_PART : LANE_NOTHING;
    return pace(l,
                arrival_of(l, atomic_load_explicit(&l->consumed, memory_order_relaxed) + lacks)) +
        l->pulse_us;
}

uint64_t lane_deadline(const struct lane *l)
{
    if (l->ports)
        return ports_deadline(l);
    bool at_mark, finish = atomic_load_explicit(&l->finish, memory_order_acquire);
    uint64_t pulse = l->model->pulse_samples, waits = l->feed_fill - l->feed_at;
    if (atomic_load_explicit(&l->cancel, memory_order_acquire))
        return 0;
    if (l->phase != FEED || l->stalled || lead_due(l) || bypass_pulse_fill(l) + waits >= pulse)
        return pace(l, l->arrival_us) + l->pulse_us;
    size_t used = ring_used(&l->in), until_mark = room_at_mark(l, &at_mark),
           wanted = chunk_wanted(l);
    size_t most = until_mark < used ? until_mark : used;
    if (most >= wanted)
        return pace(l,
                    arrival_of(l,
                               atomic_load_explicit(&l->consumed, memory_order_relaxed) + wanted)) +
            l->pulse_us;
    if (most)
        return LANE_PART;
    return at_mark || (finish && !ring_used(&l->marks)) ? pace(l, l->arrival_us) + l->pulse_us
                                                        : LANE_NOTHING;
}

uint64_t lane_cost_us(const struct lane *l)
{
    return l->cost_ns / 1000 + 1;
}

static void gap_record(struct lane *l, uint64_t pos, uint64_t end_pos, enum lane_gap reason)
{
    struct lane_rec r = { .kind = LANE_GAP,
                          .pos = pos,
                          .end_pos = end_pos,
                          .reason = reason,
                          .fill = LANE_FILL_SKIPPED };
    if (end_pos > pos)
        ring_write(&l->recs, &r, 1);
}

/* Bypassed without audio: drops n samples that wait. */
static enum lane_result skip(struct lane *l, size_t n)
{
    uint64_t pos = l->seg_in_pos;
    samples_take(l, NULL, n);
    l->worked_us = clock_now_us();
    l->paced_us = l->worked_us;
    if (l->seg_in) {
        l->drop_samples = n;
        l->drop_reason = LANE_GAP_OVERLOAD;
        segment_end(l, false);
        return LANE_WORKED;
    }
    gap_record(l, pos, pos + n, LANE_GAP_OVERLOAD);
    segment_begin(l, pos + n);
    return LANE_WORKED;
}

static enum lane_result feed_more(struct lane *l)
{
    /* `finish` first: what was written before it is seen after it. */
    bool finish = atomic_load_explicit(&l->finish, memory_order_acquire), at_mark;
    /* Samples before marks: samples that follow a mark are never seen without it. */
    size_t used = ring_used(&l->in), until_mark = room_at_mark(l, &at_mark);
    size_t most = until_mark < used ? until_mark : used, wanted = chunk_wanted(l),
           n = most < wanted ? most : wanted;
    if (n && l->bypass.wanted && l->opts.bypass_mode == BYPASS_SKIP)
        return most >= wanted || most == until_mark || finish ? skip(l, most) : LANE_IDLE;
    if (n && waited_too_long(l)) {
        samples_take(l, NULL, most);
        l->drop_samples = most;
        l->drop_reason = LANE_GAP_LATE;
        segment_end(l, false);
        return LANE_WORKED;
    }
    if (n) {
        samples_take(l, l->chunk, n);
        l->seg_in += n;
        feed_samples(l, l->chunk, n);
        return LANE_WORKED;
    }
    if (!at_mark && !(finish && !ring_used(&l->marks)))
        return LANE_IDLE;
    segment_end(l, !at_mark);
    return LANE_WORKED;
}

/* Feeds what the first resampler still holds. */
static enum lane_result tail_rate(struct lane *l)
{
    uint64_t want = rate_rescale(l->seg_in, l->model->rate, l->opts.in_rate);
    uint64_t have = l->seg_fed + (l->feed_fill - l->feed_at);
    if (have < want && l->seg_in) {
        feed_samples(l, NULL, FLUSH_CHUNK < l->chunk_cap ? FLUSH_CHUNK : l->chunk_cap);
        have = l->seg_fed + (l->feed_fill - l->feed_at);
    }
    if (have >= want) {
        l->feed_fill -= (size_t) (have - want);
        l->phase = TAIL_MODEL;
    }
    return LANE_WORKED;
}

static enum lane_result flushed(struct lane *l, struct lane_rec *rec)
{
    bypass_gap_report(l, false);
    if (rec->n)
        ring_write(&l->recs, rec, 1);
    return LANE_WORKED;
}

/* The model gets nothing but the input, so at the end it gives what it gives any program. */
static enum lane_result tail_model(struct lane *l)
{
    struct lane_rec rec = { .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out };
    if (!l->bypass.active && bypass_flush(l, &rec))
        return flushed(l, &rec);
    lane_sinks_end(&l->sinks, l->seg_fed);
    if (!l->bypass.active)
        rill_stream_finish(l->stream);
    l->phase = DRAIN;
    return LANE_WORKED;
}

static enum lane_result segment_done(struct lane *l)
{
    uint64_t end_pos = l->seg_in_pos + l->seg_in;
    bypass_gap_report(l, true);
    if (l->past_table)
        gap_record(l, l->unheard_from, end_pos, LANE_GAP_RESET);
    if (l->last_segment) {
        struct lane_rec r = { .kind = LANE_DONE, .pos = end_pos };
        ring_write(&l->recs, &r, 1);
        return LANE_ENDED;
    }
    struct lane_mark mark = { .next_pos = end_pos + l->drop_samples };
    if (!l->drop_samples && !l->goes_on)
        ring_read(&l->marks, &mark, 1);
    if (!l->opts.align && l->opts.want_audio) {
        uint64_t lost = rate_rescale(l->delay_out_samples, l->opts.in_rate, l->opts.out_rate);
        gap_record(l, lost < l->seg_in ? end_pos - lost : l->seg_in_pos, end_pos, LANE_GAP_RESET);
    }
    gap_record(l, end_pos, mark.next_pos, l->drop_samples ? l->drop_reason : LANE_GAP_CLIENT);
    l->drop_samples = 0;
    rill_stream_reset(l->stream);
    lane_sinks_reset(&l->sinks, 0);
    resample_reset(l->to_model);
    resample_reset(l->from_model);
    segment_begin(l, mark.next_pos);
    return LANE_WORKED;
}

/* Emits what the second resampler still holds, or silence where the model gave too little. */
static enum lane_result tail_out(struct lane *l)
{
    struct lane_rec rec = { .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out };
    if (l->seg_out >= l->out_limit)
        return segment_done(l);
    uint64_t began = clock_now_ns();
    size_t n = resample_run(l->from_model, NULL, FLUSH_CHUNK, l->resampled, l->resampled_cap);
    lane_out_write(l, l->resampled, n, &rec);
    pulse_record(l, &rec, began);
    return LANE_WORKED;
}

/* The model has given everything; emits the rest of the dry signal where it was bypassed. */
static enum lane_result drain(struct lane *l)
{
    struct lane_rec rec = { .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out };
    if (l->bypass.active && bypass_flush(l, &rec))
        return flushed(l, &rec);
    l->phase = lane_sinks_finish(l) ? DRAIN : TAIL_OUT;
    return LANE_WORKED;
}

static enum lane_result starved(struct lane *l)
{
    switch (l->phase) {
    case FEED: return feed_more(l);
    case TAIL_RATE: return tail_rate(l);
    case TAIL_MODEL: return tail_model(l);
    case DRAIN: return drain(l);
    default: return tail_out(l);
    }
}

static void lead_emit(struct lane *l, size_t n)
{
    struct lane_rec rec = { .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out };
    l->lead_left -= n;
    lane_audio_emit(l, NULL, n, &rec);
    if (rec.n)
        ring_write(&l->recs, &rec, 1);
}

/* A lane on its way through lanes_step. */
struct lane_step {
    struct lane *lane;
    enum lane_result *ret;
    uint64_t ns; /* of its own work in this step */
    bool fed;    /* samples were taken in this step */
};

/* Input past the model; true if it completes a pulse. */
static bool feed_bypass(struct lane *l)
{
    size_t waits = l->feed_fill - l->feed_at, room = l->model->pulse_samples - l->bypass.pulse_fill,
           n = waits < room ? waits : room;
    bypass_dry_write(l, l->feed + l->feed_at, n);
    l->feed_at += n;
    l->seg_fed += n;
    l->bypass.pulse_fill += (uint32_t) n;
    return n == room;
}

/* Input into the model, or past it; true if it completes a pulse. */
static bool feed_push(struct lane *l)
{
    size_t took = 1, pushed = 0;
    if (l->bypass.active)
        return feed_bypass(l);
    while (l->feed_at < l->feed_fill && took) {
        rill_stream_push(l->stream, (unsigned) l->model->audio_in, l->feed + l->feed_at,
                         l->feed_fill - l->feed_at, &took);
        if (l->sinks.gated)
            rill_sink_audio(l->sinks.gated, l->feed + l->feed_at, took);
        bypass_dry_write(l, l->feed + l->feed_at, took);
        l->feed_at += took;
        l->seg_fed += took;
        pushed += took;
    }
    return pushed && bypass_pulse_fill(l) == 0;
}

/* Everything before the model runs. True if it may; otherwise *t->ret is set. */
static bool step_begin(struct lane_step *t)
{
    struct lane *l = t->lane;
    uint64_t began = clock_now_ns();
    if (l->ports) {
        bool runs = ports_begin(l, t->ret);
        t->ns = clock_now_ns() - began;
        return runs;
    }
    l->missed_deadline = false;
    *t->ret = LANE_WORKED;
    if (atomic_load_explicit(&l->cancel, memory_order_acquire)) {
        *t->ret = LANE_ENDED;
        return false;
    }
    if (ring_room(&l->recs) < VAD_PER_STEP_MAX + RECS_SPARE ||
        ring_room(&l->out) < 2 * l->resampled_cap || !lane_sinks_read(l)) {
        *t->ret = LANE_IDLE;
        return false;
    }
    size_t lead = lead_due(l);
    if (lead) {
        lead_emit(l, lead);
        return false;
    }
    bypass_update(l);
    if (!feed_push(l) && l->phase == FEED) {
        t->fed = feed_more(l) == LANE_WORKED;
        if (lead_due(l))
            return false; /* the silence is emitted before the model's output */
        feed_push(l);
    }
    t->ns = clock_now_ns() - began;
    return true;
}

/* The model had nothing to run. */
static void step_starved(struct lane_step *t, rill_status status)
{
    uint64_t began = clock_now_ns();
    if (t->lane->ports) {
        enum lane_result r = ports_starved(t->lane, status);
        *t->ret = r == LANE_IDLE ? *t->ret : r;
    } else
        *t->ret = t->fed ? LANE_WORKED : starved(t->lane);
    if (*t->ret == LANE_WORKED)
        t->lane->work_ns += t->ns + clock_now_ns() - began;
}

/* A pulse of the dry signal. */
static void step_bypassed(struct lane_step *t)
{
    struct lane *l = t->lane;
    if (l->bypass.pulse_fill < l->model->pulse_samples) {
        step_starved(t, RILL_AGAIN);
        return;
    }
    uint64_t began = clock_now_ns() - t->ns;
    struct lane_rec rec = { .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out };
    bypass_pulse(l, &rec);
    l->paced_us = pace(l, l->arrival_us);
    pulse_record(l, &rec, began);
}

/* The model ran, for a batch of n_ran lanes. Time for other lanes counts as waiting. */
static void step_end(struct lane_step *t, uint32_t n_ran)
{
    struct lane *l = t->lane;
    uint64_t began = clock_now_ns() - t->ns;
    struct lane_rec rec = {
        .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out, .is_run = true, .batch = n_ran
    };
    if (l->ports) {
        ports_end(l, &rec);
    } else {
        outputs_pull(l, &rec);
        bypass_gap_report(l, false);
    }
    pulse_record(l, &rec, began);
    l->cost_ns = (l->cost_ns * 15 + rec.compute_us * UINT64_C(1000)) / 16;
    l->paced_us = pace(l, l->arrival_us);
    l->missed_deadline = clock_now_ns() / 1000 > l->paced_us + l->pulse_us;
}

/* A recogniser alone that runs past the end of its table of positions: what it heard ends here, and
 * it begins afresh behind the pulse that failed, which with what was in flight is a gap. False: it
 * was something else, or audio and probabilities depend on it. */
static bool table_ended(struct lane *l)
{
    const struct lane_model *m = l->model;
    const uint64_t unheard =
        m->lookahead_samples + (l->phase == FEED ? m->pulse_samples : bypass_pulse_fill(l));
    if (l->ports || l->opts.want_audio || m->vad_out >= 0 || m->n_sink_ports != 1 ||
        !port_is_recogniser(m->sink_ports[0].kind) ||
        l->seg_fed < unheard + (uint64_t) TABLE_LEAST_S * m->rate)
        return false;
    l->past_table = true;
    l->unheard_from = lane_pos_in(l, l->seg_fed - unheard);
    l->goes_on = l->phase == FEED;
    if (l->goes_on)
        segment_end(l, false);
    lane_sinks_end(&l->sinks, l->seg_fed - unheard);
    l->feed_at = l->feed_fill = 0;
    l->phase = DRAIN;
    return true;
}

static enum lane_result lane_fault(struct lane *l)
{
    struct lane_rec r = { .kind = LANE_FAULT };
    ring_write(&l->recs, &r, 1);
    return LANE_ENDED;
}

/* The model's stream stopped: it goes on after its table of positions, or else the client gets an
 * error, and the lane ends. */
static void step_fault(struct lane_step *t)
{
    if (t->lane->past_table) {
        step_starved(t, RILL_END);
        return;
    }
    if (table_ended(t->lane))
        return;
    *t->ret = lane_fault(t->lane);
}

void lanes_step(struct lane *const *lanes, size_t n, enum lane_result *ret)
{
    struct lane_step steps[LANE_BATCH_MAX];
    rill_stream *streams[LANE_BATCH_MAX];
    rill_status status[LANE_BATCH_MAX];
    unsigned n_due = 0, n_ran = 0;
    rill_thread_prepare(); /* other code on this thread may have changed the processor's mode */
    for (size_t i = 0; i < n; i++) {
        struct lane_step *t = &steps[n_due];
        *t = (struct lane_step) { .lane = lanes[i], .ret = &ret[i] };
        if (!step_begin(t))
            continue;
        if (lanes[i]->bypass.active)
            step_bypassed(t);
        else if (lanes[i]->phase == TAIL_OUT)
            step_starved(t, RILL_AGAIN);
        else
            streams[n_due++] = lanes[i]->stream;
    }
    uint64_t began = clock_now_ns();
    rill_run_many(streams, n_due, status);
    uint64_t took = clock_now_ns() - began;
    for (unsigned i = 0; i < n_due; i++)
        n_ran += status[i] == RILL_OK;
    for (unsigned i = 0; i < n_due; i++)
        if (status[i] == RILL_OK) {
            steps[i].ns += took / n_ran;
            step_end(&steps[i], n_ran);
        } else if (status[i] == RILL_INVALID) {
            step_fault(&steps[i]);
        } else {
            step_starved(&steps[i], status[i]);
        }
    for (size_t i = 0; i < n; i++)
        if (lanes[i]->sinks.failed && ret[i] != LANE_ENDED)
            ret[i] = lane_fault(lanes[i]);
}

size_t lane_batch(const struct lane_model *m, uint64_t shortest_pulse_us)
{
    uint64_t budget_us = shortest_pulse_us / 4,
             n = m->run_us ? budget_us / m->run_us : LANE_BATCH_MAX;
    return n < 1 ? 1 : n > LANE_BATCH_MAX ? LANE_BATCH_MAX : (size_t) n;
}

uint64_t lane_pulse_us(const struct lane_model *m)
{
    return m->rate ? (uint64_t) m->pulse_samples * 1000000u / m->rate : m->pulse_us;
}
