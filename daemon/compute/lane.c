/* SPDX-License-Identifier: MIT */
#include "daemon/compute/lane_in.h"
#include "daemon/compute/pcm.h"

#define REC_RING 512
#define MARK_RING 16
#define ARRIVAL_RING 64
#define FLUSH_CHUNK 256
#define PACE_SLACK 256 /* a clock may be fast by one part in so many */

uint64_t lane_now_us(void)
{
    return now_ns() / 1000;
}

/* ---- making ---- */

static void segment_begin(struct lane *l, uint64_t in_pos)
{
    l->seg_in_pos = in_pos;
    l->seg_out_pos = pcm_rescale(in_pos, l->opts.out_rate, l->opts.in_rate);
    l->seg_in = l->seg_fed = l->seg_emitted = l->seg_out = l->seg_vad = 0;
    l->seg_cut = 0;
    l->out_limit = l->model_limit = UINT64_MAX;
    l->feed_at = l->feed_fill = 0;
    l->phase = FEED;
    relief_segment(l);
    l->lead_left = l->opts.align ? l->model->fill_samples : l->model->late_samples;
}

static bool buffers_make(struct lane *l)
{
    const struct lane_model *m = l->model;
    size_t pulse = m->pulse_samples;
    l->chunk_cap = (size_t) pcm_rescale(pulse, l->opts.in_rate, m->rate) + 2;
    if (l->chunk_cap < FLUSH_CHUNK)
        l->chunk_cap = FLUSH_CHUNK;
    l->feed_cap = pulse + (size_t) pcm_rescale(l->chunk_cap, m->rate, l->opts.in_rate) + 2;
    size_t most = pulse > FLUSH_CHUNK ? pulse : FLUSH_CHUNK;
    l->resampled_cap = (size_t) pcm_rescale(most, l->opts.out_rate, m->rate) + 2;
    l->chunk = calloc(l->chunk_cap, sizeof *l->chunk);
    l->feed = calloc(l->feed_cap, sizeof *l->feed);
    for (unsigned i = 0; i < m->n_heard; i++)
        most = m->heard[i].width > most ? m->heard[i].width : most;
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
    size_t n = sizeof *l + heard_bytes(&l->heard) + relief_bytes(l) +
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
        o->align ? 0 : (uint32_t) pcm_rescale(m->latency_samples, o->out_rate, m->rate);
    if (!buffers_make(l) || !rings_make(l) || !stream_make(l) || !relief_make(l) ||
        !heard_make(&l->heard, m, &o->heard))
        return lane_free(l);
    l->bytes = bytes_count(l);
    segment_begin(l, 0);
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
    heard_drop(&l->heard);
    relief_drop(l);
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

/* ---- what comes out ---- */

static void outputs_pull(struct lane *l, struct lane_rec *rec)
{
    const struct lane_model *m = l->model;
    size_t cap = m->pulse_samples > FLUSH_CHUNK ? m->pulse_samples : FLUSH_CHUNK, n;
    while (m->audio_out >= 0 &&
           rill_stream_pull(l->stream, (unsigned) m->audio_out, l->pulled, cap, &n) == RILL_OK && n)
        if (l->opts.want_audio)
            relief_mix(l, l->pulled, n, rec);
    relief_owed(l, rec);
    l->stalled = !lane_heard_read(l);
}

/* The only writer adds. */
static void count_add(_Atomic uint64_t *to, uint64_t n)
{
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static void pulse_record(struct lane *l, struct lane_rec *rec, uint64_t began_ns)
{
    uint64_t end_ns = now_ns(), began_us = began_ns / 1000,
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

/* ---- what goes in ---- */

/* When the last of `consumed` samples came. */
static void arrivals_pass(struct lane *l, uint64_t consumed)
{
    struct lane_arrival a = { 0 };
    while (a.count < consumed && ring_used(&l->arrivals)) {
        ring_peek(&l->arrivals, &a, 1);
        l->arrival_us = a.us;
        if (a.count <= consumed)
            ring_drop(&l->arrivals, 1);
    }
}

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
    l->arrival_us = lane_now_us(); /* what follows waited for the end, not since the last sample */
    l->out_limit = pcm_rescale(l->seg_in, l->opts.out_rate, l->opts.in_rate) +
        (last && l->seg_in ? l->delay_out_samples : 0);
    uint64_t fed = pcm_rescale(l->seg_in, m->rate, l->opts.in_rate);
    heard_end(&l->heard, fed);
    /* What follows the end at the model's rate is silence for the second resampler. */
    l->model_limit = fed + (last && !l->opts.align ? m->latency_samples : 0);
    if (!l->opts.want_audio)
        l->out_limit = 0;
}

/* Whether the oldest sample that waits came too long ago. */
static bool waited_too_long(const struct lane *l)
{
    struct lane_arrival a;
    if (!l->opts.max_wait_us || !ring_used(&l->arrivals))
        return false;
    ring_peek(&l->arrivals, &a, 1);
    uint64_t now_us = lane_now_us();
    a.us = a.since_us ? a.since_us : a.us;
    return a.count > atomic_load_explicit(&l->consumed, memory_order_relaxed) && now_us > a.us &&
        now_us - a.us > l->opts.max_wait_us;
}

/* Takes n samples out of the ring; NULL = drops them. */
static void samples_take(struct lane *l, float *to, size_t n)
{
    if (to)
        ring_read(&l->in, to, n);
    else
        ring_drop(&l->in, n);
    uint64_t consumed = atomic_load_explicit(&l->consumed, memory_order_relaxed) + n;
    arrivals_pass(l, consumed);
    atomic_store_explicit(&l->consumed, consumed, memory_order_release);
}

/* As many samples as the next pulse lacks: what a pulse waited for is counted from the arrival of
 * its own last sample. */
static size_t chunk_wanted(const struct lane *l)
{
    uint64_t have = l->seg_fed + (l->feed_fill - l->feed_at), pulse = l->model->pulse_samples;
    size_t n = (size_t) pcm_rescale(pulse - have % pulse, l->opts.in_rate, l->model->rate);
    return n < l->chunk_cap ? n : l->chunk_cap;
}

/* When the last of so many samples came; of those that were not noted, what is known of later
 * ones. */
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

/* Silence in front that may leave now: never more than what came in, as the segment may end
 * here. */
static size_t lead_due(const struct lane *l)
{
    uint64_t most = pcm_rescale(l->seg_in, l->model->rate, l->opts.in_rate), n = l->lead_left;
    if (!n || !l->opts.want_audio || most <= l->seg_emitted)
        return 0;
    n = n < most - l->seg_emitted ? n : most - l->seg_emitted;
    return n < FLUSH_CHUNK ? (size_t) n : FLUSH_CHUNK;
}

/* When a pulse had come in real time that arrived then. A client's clock that is a little fast
 * never adds up; nor does anything else, past what may wait: who is served faster than real time
 * never waits for longer. */
static uint64_t pace(const struct lane *l, uint64_t arrival_us)
{
    uint64_t next_us = l->paced_us + l->pulse_us - l->pulse_us / PACE_SLACK;
    uint64_t most_us = arrival_us + l->window_us;
    return arrival_us > next_us ? arrival_us : next_us < most_us ? next_us : most_us;
}

uint64_t lane_deadline(const struct lane *l)
{
    bool at_mark, finish = atomic_load_explicit(&l->finish, memory_order_acquire);
    uint64_t pulse = l->model->pulse_samples, waits = l->feed_fill - l->feed_at;
    if (atomic_load_explicit(&l->cancel, memory_order_acquire))
        return 0;
    if (l->phase != FEED || l->stalled || lead_due(l) || l->seg_fed % pulse + waits >= pulse)
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

static void gap_record(struct lane *l, uint64_t pos, uint64_t end_pos, enum lane_gap why)
{
    struct lane_rec r = {
        .kind = LANE_GAP, .pos = pos, .end_pos = end_pos, .why = why, .fill = LANE_FILL_SKIPPED
    };
    if (end_pos > pos)
        ring_write(&l->recs, &r, 1);
}

/* Relieved: what waits is dropped. */
static enum lane_result skip(struct lane *l, size_t n)
{
    uint64_t pos = l->seg_in_pos;
    samples_take(l, NULL, n);
    l->worked_us = lane_now_us();
    l->paced_us = l->worked_us;
    if (l->seg_in) {
        l->late = n;
        l->late_why = LANE_GAP_OVERLOAD;
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
    if (n && l->relief.on && l->opts.relief == RELIEF_SKIP)
        return most >= wanted || most == until_mark || finish ? skip(l, most) : LANE_IDLE;
    if (n && waited_too_long(l)) {
        samples_take(l, NULL, most);
        l->late = most;
        l->late_why = LANE_GAP_LATE;
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

/* Brings out of the first resampler what it still holds. */
static enum lane_result tail_rate(struct lane *l)
{
    uint64_t want = pcm_rescale(l->seg_in, l->model->rate, l->opts.in_rate);
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

static enum lane_result rest_told(struct lane *l, struct lane_rec *rec)
{
    relief_tell(l, false);
    if (rec->n)
        ring_write(&l->recs, rec, 1);
    return LANE_WORKED;
}

/* The model hears nothing but what came in: what it says of the end is what it says to any
 * program. */
static enum lane_result tail_model(struct lane *l)
{
    struct lane_rec rec = { .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out };
    if (!l->relief.away && relief_rest(l, &rec))
        return rest_told(l, &rec);
    heard_end(&l->heard, l->seg_fed);
    if (!l->relief.away)
        rill_stream_finish(l->stream);
    l->phase = DRAIN;
    return LANE_WORKED;
}

static enum lane_result segment_done(struct lane *l)
{
    uint64_t end_pos = l->seg_in_pos + l->seg_in;
    relief_tell(l, true);
    if (l->last_segment) {
        struct lane_rec r = { .kind = LANE_DONE, .pos = end_pos };
        ring_write(&l->recs, &r, 1);
        return LANE_ENDED;
    }
    struct lane_mark mark = { .next_pos = end_pos + l->late };
    if (!l->late)
        ring_read(&l->marks, &mark, 1);
    if (!l->opts.align && l->opts.want_audio) {
        uint64_t lost = pcm_rescale(l->delay_out_samples, l->opts.in_rate, l->opts.out_rate);
        gap_record(l, lost < l->seg_in ? end_pos - lost : l->seg_in_pos, end_pos, LANE_GAP_RESET);
    }
    gap_record(l, end_pos, mark.next_pos, l->late ? l->late_why : LANE_GAP_CLIENT);
    l->late = 0;
    rill_stream_reset(l->stream);
    heard_reset(&l->heard, 0);
    resample_reset(l->to_model);
    resample_reset(l->from_model);
    segment_begin(l, mark.next_pos);
    return LANE_WORKED;
}

/* After the model's end: the second resampler's rest, or silence where the model gave too
 * little. */
static enum lane_result tail_out(struct lane *l)
{
    struct lane_rec rec = { .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out };
    if (l->seg_out >= l->out_limit)
        return segment_done(l);
    uint64_t began = now_ns();
    size_t n = resample_run(l->from_model, NULL, FLUSH_CHUNK, l->resampled, l->resampled_cap);
    lane_out_write(l, l->resampled, n, &rec);
    pulse_record(l, &rec, began);
    return LANE_WORKED;
}

/* The model gave all; or what it did not run for goes past it. */
static enum lane_result drain(struct lane *l)
{
    struct lane_rec rec = { .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out };
    if (l->relief.away && relief_rest(l, &rec))
        return rest_told(l, &rec);
    l->phase = lane_heard_finish(l) ? DRAIN : TAIL_OUT;
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
struct turn {
    struct lane *lane;
    enum lane_result *ret;
    uint64_t ns; /* its own work in this turn */
    bool fed;    /* samples were taken in this turn */
};

/* What was fed goes past the model; true if that is as much as a pulse. */
static bool feed_past(struct lane *l)
{
    size_t waits = l->feed_fill - l->feed_at, room = l->model->pulse_samples - l->relief.fill,
           n = waits < room ? waits : room;
    relief_keep(l, l->feed + l->feed_at, n);
    l->feed_at += n;
    l->seg_fed += n;
    l->relief.fill += (uint32_t) n;
    return n == room;
}

/* What was fed, into the model; true if a pulse is complete. */
static bool feed_push(struct lane *l)
{
    size_t took = 1, pushed = 0;
    if (l->relief.away)
        return feed_past(l);
    while (l->feed_at < l->feed_fill && took) {
        rill_stream_push(l->stream, (unsigned) l->model->audio_in, l->feed + l->feed_at,
                         l->feed_fill - l->feed_at, &took);
        if (l->heard.listener)
            rill_sink_audio(l->heard.listener, l->feed + l->feed_at, took);
        relief_keep(l, l->feed + l->feed_at, took);
        l->feed_at += took;
        l->seg_fed += took;
        pushed += took;
    }
    return pushed && l->seg_fed % l->model->pulse_samples == 0;
}

/* Everything before the model. True if the model may run now; otherwise *t->ret is set. */
static bool turn_begin(struct turn *t)
{
    struct lane *l = t->lane;
    uint64_t began = now_ns();
    l->was_late = false;
    *t->ret = LANE_WORKED;
    if (atomic_load_explicit(&l->cancel, memory_order_acquire)) {
        *t->ret = LANE_ENDED;
        return false;
    }
    if (ring_room(&l->recs) < VAD_PER_STEP_MAX + RECS_SPARE ||
        ring_room(&l->out) < 2 * l->resampled_cap || !lane_heard_read(l)) {
        *t->ret = LANE_IDLE;
        return false;
    }
    size_t lead = lead_due(l);
    if (lead) {
        lead_emit(l, lead);
        return false;
    }
    relief_away(l);
    if (!feed_push(l) && l->phase == FEED) {
        t->fed = feed_more(l) == LANE_WORKED;
        if (lead_due(l))
            return false; /* it goes before what the model will say */
        feed_push(l);
    }
    t->ns = now_ns() - began;
    return true;
}

/* The model had nothing to run. */
static void turn_starve(struct turn *t)
{
    uint64_t began = now_ns();
    *t->ret = t->fed ? LANE_WORKED : starved(t->lane);
    if (*t->ret == LANE_WORKED)
        t->lane->work_ns += t->ns + now_ns() - began;
}

/* A pulse past the model. */
static void turn_past(struct turn *t)
{
    struct lane *l = t->lane;
    if (l->relief.fill < l->model->pulse_samples) {
        turn_starve(t);
        return;
    }
    uint64_t began = now_ns() - t->ns;
    struct lane_rec rec = { .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out };
    relief_pulse(l, &rec);
    l->paced_us = pace(l, l->arrival_us);
    pulse_record(l, &rec, began);
}

/* The model ran, with n_ran lanes at once. What neighbours cost is waiting. */
static void turn_end(struct turn *t, uint32_t n_ran)
{
    struct lane *l = t->lane;
    uint64_t began = now_ns() - t->ns;
    struct lane_rec rec = {
        .kind = LANE_PULSE, .pos = l->seg_out_pos + l->seg_out, .is_run = true, .batch = n_ran
    };
    outputs_pull(l, &rec);
    relief_tell(l, false);
    pulse_record(l, &rec, began);
    l->cost_ns = (l->cost_ns * 15 + rec.compute_us * UINT64_C(1000)) / 16;
    l->paced_us = pace(l, l->arrival_us);
    l->was_late = now_ns() / 1000 > l->paced_us + l->pulse_us;
}

/* The model stopped: the client is told, the lane is done. */
static void turn_fault(struct turn *t)
{
    struct lane_rec r = { .kind = LANE_FAULT };
    ring_write(&t->lane->recs, &r, 1);
    *t->ret = LANE_ENDED;
}

void lanes_step(struct lane *const *lanes, size_t n, enum lane_result *ret)
{
    struct turn turns[LANE_BATCH_MAX];
    rill_stream *streams[LANE_BATCH_MAX];
    rill_status status[LANE_BATCH_MAX];
    unsigned n_due = 0, n_ran = 0;
    rill_thread_prepare(); /* anything called since may have set it back */
    for (size_t i = 0; i < n; i++) {
        struct turn *t = &turns[n_due];
        *t = (struct turn) { .lane = lanes[i], .ret = &ret[i] };
        if (!turn_begin(t))
            continue;
        if (lanes[i]->relief.away)
            turn_past(t);
        else if (lanes[i]->phase == TAIL_OUT)
            turn_starve(t);
        else
            streams[n_due++] = lanes[i]->stream;
    }
    uint64_t began = now_ns();
    rill_run_many(streams, n_due, status);
    uint64_t took = now_ns() - began;
    for (unsigned i = 0; i < n_due; i++)
        n_ran += status[i] == RILL_OK;
    for (unsigned i = 0; i < n_due; i++)
        if (status[i] == RILL_OK) {
            turns[i].ns += took / n_ran;
            turn_end(&turns[i], n_ran);
        } else if (status[i] == RILL_INVALID) {
            turn_fault(&turns[i]);
        } else {
            turn_starve(&turns[i]);
        }
}

size_t lane_batch(const struct lane_model *m, uint64_t shortest_pulse_us)
{
    uint64_t budget_us = shortest_pulse_us / 4,
             n = m->run_us ? budget_us / m->run_us : LANE_BATCH_MAX;
    return n < 1 ? 1 : n > LANE_BATCH_MAX ? LANE_BATCH_MAX : (size_t) n;
}

uint64_t lane_pulse_us(const struct lane_model *m)
{
    return (uint64_t) m->pulse_samples * 1000000u / m->rate;
}
