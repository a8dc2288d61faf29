/* SPDX-License-Identifier: MIT */
/* A live lane that the model does not run for now and then: sample for sample what comes out, and
 * what is told about it. The fake models halve what they hear, so that each sample says how much of
 * it came from the model; of real ones what goes past them is looked at, and what comes before. */
#include "daemon/base/clock.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pcm.h"
#include "tests/daemon/guarded.h"
#include "tests/daemon/harness.h"

#include <math.h>

#define MOST 60000
#define FADE_MS 10

struct run {
    const struct lane_model *model;
    struct lane_opts opts;
    struct lane *lane;
    float x[MOST], out[MOST * 4];
    bool gone[MOST];                             /* told in a gap, by input position */
    size_t n_in, n_out, told[3], resets, jumped; /* told: by fill */
    uint64_t out_pos;
    bool pos_good, overlap, ended;
    unsigned forbidden; /* calls of what may not be called */
    uint32_t seed;
};

static uint32_t rnd(struct run *r, uint32_t n)
{
    noise(&r->seed);
    return (uint32_t) ((uint64_t) r->seed * n >> 32);
}

static void gap_take(struct run *r, const struct lane_rec *g)
{
    if (g->reason == LANE_GAP_CLIENT || g->reason == LANE_GAP_RESET) {
        (g->reason == LANE_GAP_CLIENT ? &r->jumped : &r->resets)[0] += g->end_pos - g->pos;
        return;
    }
    CHECK(g->reason == LANE_GAP_OVERLOAD && g->end_pos > g->pos && g->end_pos <= MOST, "%d %d",
          (int) g->pos, (int) g->end_pos);
    r->told[g->fill] += g->end_pos - g->pos;
    for (uint64_t i = g->pos; i < g->end_pos && i < MOST; i++) {
        r->overlap |= r->gone[i];
        r->gone[i] = true;
    }
}

static void take(struct run *r)
{
    struct lane_rec rec;
    while (ring_used(&r->lane->recs)) {
        ring_read(&r->lane->recs, &rec, 1);
        if (rec.kind == LANE_GAP)
            gap_take(r, &rec);
        if (rec.kind != LANE_PULSE)
            continue;
        r->pos_good &=
            !rec.n || rec.pos + 1 >= r->out_pos; /* at a jump both sides are rounded up */
        r->out_pos = rec.n ? rec.pos + rec.n : r->out_pos;
        ring_read(&r->lane->out, r->out + r->n_out, rec.n);
        r->n_out += rec.n;
    }
}

static void steps(struct run *r)
{
    enum lane_result ret;
    for (int k = 0; k < 1000 && !r->ended && lane_deadline(r->lane) != LANE_NOTHING; k++) {
        guard_enter();
        lanes_step(&r->lane, 1, &ret);
        r->forbidden += guard_leave();
        take(r);
        r->ended = ret == LANE_ENDED;
        if (ret == LANE_IDLE)
            break;
    }
}

static void run_begin(struct run *r, const struct lane_model *m, bool align, enum bypass_mode mode,
                      uint32_t in, uint32_t out, uint32_t seed)
{
    memset(r, 0, sizeof *r);
    r->model = m;
    r->seed = seed;
    r->pos_good = true;
    for (int i = 0; i < MOST; i++)
        r->x[i] = 0.5f + noise(&r->seed) / 4;
    r->opts = (struct lane_opts) { .in_rate = in,
                                   .out_rate = out,
                                   .window_samples = 16384,
                                   .align = align,
                                   .want_audio = mode != BYPASS_SKIP,
                                   .want_vad = m->vad_out >= 0,
                                   .bypass_mode = mode,
                                   .fade_ms = FADE_MS,
                                   .sinks = { .vad = { .struct_bytes = sizeof(rill_sink_opts),
                                                       .kind = RILL_PORT_VAD,
                                                       .threshold = 0.5f } } };
    r->lane = lane_new(m, &r->opts);
    if (!r->lane)
        give_up("no lane");
    r->lane->live = true;
}

static void feed(struct run *r, size_t n)
{
    struct lane_arrival a = { .count = r->n_in + n, .us = clock_now_us() };
    ring_write(&r->lane->arrivals, &a, 1);
    ring_write(&r->lane->in, r->x + r->n_in, n);
    r->n_in += n;
    steps(r);
}

static void run_end(struct run *r)
{
    atomic_store(&r->lane->finish, true);
    for (int k = 0; k < 100 && !r->ended; k++)
        steps(r);
    CHECK(r->ended && r->pos_good && !r->overlap, "ended %d positions %d overlap %d", r->ended,
          r->pos_good, r->overlap);
    CHECK(atomic_load(&r->lane->consumed) == r->n_in);
    CHECK(r->forbidden == 0, "%u allocations, locks or writes", r->forbidden);
    lane_free(r->lane);
}

/* Share of the model in the sample that answers input i: 1 at half volume, 0 at full (or 0 where
 * silence goes past). */
static double share_of(const struct run *r, size_t i, float y)
{
    double s = (double) y / (double) r->x[i];
    return r->opts.bypass_mode == BYPASS_SILENCE ? 2 * s : 2 * (1 - s);
}

/* Every sample is from the model, from past it as told, or from a fade of no more than a step a
 * sample. */
static void samples_check(const struct run *r, const char *what)
{
    size_t shift = r->n_out - r->n_in, bad = 0, mixed = 0;
    double before = share_of(r, 0, r->out[shift]), jump = 0;
    for (size_t i = 0; i < r->n_in; i++) {
        double share = share_of(r, i, r->out[i + shift]);
        bad += r->gone[i] ? share > 1e-6 : share < 1e-6 || share > 1 + 1e-6;
        mixed += share > 1e-5 && share < 1 - 1e-5;
        jump = fabs(share - before) > jump ? fabs(share - before) : jump;
        before = share;
    }
    double most = 1.0 / (FADE_MS * 1e-3 * r->model->rate) + 1e-5;
    CHECK(bad == 0, "%s: %zu samples are not what was told", what, bad);
    CHECK(jump <= most, "%s: the model's share jumps by %.4f", what, jump);
    CHECK(mixed > 0 && r->told[LANE_FILL_BYPASS] + r->told[LANE_FILL_SILENCE] > 0, "%s: %zu mixed",
          what, mixed);
}

/* Of a model that does what it likes: what is told went past it, and before the first fade it does
 * what it does alone. */
static void past_check(const struct run *r, const char *what)
{
    static struct run alone;
    size_t bad = 0, shift = r->n_out - r->n_in, first = 0;
    run_begin(&alone, r->model, r->opts.align, BYPASS_DRY, r->model->rate, r->model->rate, 1);
    memcpy(alone.x, r->x, sizeof alone.x);
    for (size_t n; alone.n_in < r->n_in; feed(&alone, n))
        n = r->n_in - alone.n_in < 777 ? r->n_in - alone.n_in : 777;
    run_end(&alone);
    while (first < r->n_in && !r->gone[first])
        first++;
    for (size_t i = 0; i < r->n_in; i++)
        bad += r->gone[i] &&
            r->out[i + shift] != (r->opts.bypass_mode == BYPASS_SILENCE ? 0 : r->x[i]);
    CHECK(bad == 0, "%s: %zu samples are not what was told", what, bad);
    CHECK(first < r->n_in && first > 1000, "%s: a gap from %zu on", what, first);
    CHECK(memcmp(r->out, alone.out,
                 (first - FADE_MS * r->model->rate / 1000 + shift) * sizeof(float)) == 0,
          "%s: other samples before the gap", what);
}

static void test_samples(const struct lane_model *m, const char *name, bool align,
                         enum bypass_mode mode, uint32_t seed)
{
    static struct run r;
    char what[128];
    snprintf(what, sizeof what, "%s align=%d mode=%d seed=%u", name, align, mode, seed);
    run_begin(&r, m, align, mode, m->rate, m->rate, seed);
    size_t end = 30000 + rnd(&r, 8000);
    while (r.n_in < end) {
        size_t n = 1 + rnd(&r, 900);
        feed(&r, n < end - r.n_in ? n : end - r.n_in);
        if (rnd(&r, 6) == 0)
            r.lane->bypass.wanted = rnd(&r, 2);
        if (r.n_in < 3000)
            r.lane->bypass.wanted = false;
    }
    run_end(&r);
    CHECK(r.n_out == r.n_in + (align ? 0 : m->latency_samples), "%s: %zu out of %zu", what, r.n_out,
          r.n_in);
    CHECK(r.told[LANE_FILL_SKIPPED] == 0 &&
              r.told[mode == BYPASS_DRY ? LANE_FILL_SILENCE : LANE_FILL_BYPASS] == 0,
          "%s", what);
    if (r.n_out >= r.n_in)
        (strncmp(name, "half", 4) == 0 ? samples_check : past_check)(&r, what);
}

/* On from one pulse to the next, off after exactly ten: the gap is as long, but for the fade, and
 * begins where the fade ended. */
static void test_extent(const struct lane_model *m, const char *name)
{
    static struct run r;
    size_t first = 0, n = 0, unit = m->pulse_samples < 512 ? 512 : m->pulse_samples;
    run_begin(&r, m, true, BYPASS_DRY, m->rate, m->rate, 7);
    for (int k = 0; k < 40; k++) {
        r.lane->bypass.wanted = k >= 10 && k < 20;
        feed(&r, unit);
    }
    run_end(&r);
    for (size_t i = 0; i < r.n_in; i++) {
        first = r.gone[i] && !n ? i : first;
        n += r.gone[i];
    }
    CHECK(first >= 9 * unit && first <= 12 * unit, "%s: gap at %zu", name, first);
    CHECK(n >= 9 * unit && n <= 11 * unit + m->lead_in_samples && n == r.told[LANE_FILL_BYPASS],
          "%s: gap of %zu, told %zu", name, n, r.told[LANE_FILL_BYPASS]);
}

/* A sequence that begins in bypass, after a mark, is the model's again once nobody wants that. */
static void test_begin(const struct lane_model *m, const char *name)
{
    static struct run r;
    size_t n = 0, unit = m->pulse_samples < 512 ? 512 : m->pulse_samples;
    run_begin(&r, m, true, BYPASS_DRY, m->rate, m->rate, 7);
    for (int k = 0; k < 40 && r.n_in + unit <= MOST; k++) {
        struct lane_mark mark = { .count = r.n_in, .next_pos = r.n_in };
        r.lane->bypass.wanted = k >= 3 && k < 9;
        if (k == 6)
            ring_write(&r.lane->marks, &mark, 1);
        feed(&r, unit);
    }
    run_end(&r);
    for (size_t i = 0; i < r.n_in; i++)
        n += r.gone[i];
    CHECK(n >= 4 * unit && n <= 8 * unit && n == r.told[LANE_FILL_BYPASS],
          "%s: gap of %zu, told %zu", name, n, r.told[LANE_FILL_BYPASS]);
}

/* Other rates, jumps, starts and ends in bypass: the counts are exact. */
static void test_counts(const struct lane_model *m, uint32_t in, uint32_t out, bool align,
                        uint32_t seed)
{
    static struct run r;
    size_t from = 0, want = 0, marks = 0;
    run_begin(&r, m, align, rnd(&r, 2) ? BYPASS_DRY : BYPASS_SILENCE, in, out, seed);
    r.lane->bypass.wanted = rnd(&r, 2);
    for (int k = 0; k < 60; k++) {
        feed(&r, 1 + rnd(&r, 900));
        if (rnd(&r, 5) == 0)
            r.lane->bypass.wanted = rnd(&r, 2);
        if (rnd(&r, 20) == 0) {
            struct lane_mark mark = { .count = r.n_in, .next_pos = r.n_in };
            ring_write(&r.lane->marks, &mark, 1);
            want += (size_t) rate_rescale(r.n_in - from, out, in);
            from = r.n_in;
            marks++;
            steps(&r);
        }
    }
    run_end(&r);
    want += (size_t) rate_rescale(r.n_in - from, out, in) +
        (align || from == r.n_in
             ? 0
             : (size_t) rate_rescale(m->latency_samples, out, in == out ? m->rate : m->rate));
    CHECK(r.n_out == want, "%u -> %u align=%d seed=%u, %zu marks: %zu out of %zu", in, out, align,
          seed, marks, r.n_out, want);
    CHECK(r.told[0] == 0 && r.told[1] + r.told[2] <= r.n_in);
}

/* Without audio what comes in is dropped, told to the sample, and the rest is heard. */
static void test_skip(const struct lane_model *m, uint32_t seed)
{
    static struct run r;
    size_t gone = 0;
    run_begin(&r, m, true, BYPASS_SKIP, 16000, 16000, seed);
    while (r.n_in < 30000) {
        feed(&r, 1 + rnd(&r, 900));
        if (rnd(&r, 8) == 0)
            r.lane->bypass.wanted = rnd(&r, 2);
    }
    run_end(&r);
    for (size_t i = 0; i < r.n_in; i++)
        gone += r.gone[i];
    CHECK(gone == r.told[LANE_FILL_SKIPPED] && gone > 0 && r.n_out == 0, "%zu gone, %zu told", gone,
          r.told[LANE_FILL_SKIPPED]);
}

static void each(const char *name)
{
    rill_model *model;
    rill_plan *p;
    rill_error err;
    struct lane_model m = { .plan = NULL };
    rill_model_info info = { .struct_bytes = sizeof info };
    float rtf;
    if (!CHECK(rill_model_builtin(&model, name, &err) == RILL_OK &&
               rill_model_get_info(model, &info) == RILL_OK &&
               rill_plan_new(&p, model, NULL, &err) == RILL_OK &&
               lane_model_probe(&m, p, info.sample_rate, &rtf, &err) == RILL_OK))
        return;
    for (uint32_t seed = 1; seed <= 12; seed++) {
        if (m.audio_out >= 0) {
            test_samples(&m, name, seed % 2, seed % 3 ? BYPASS_DRY : BYPASS_SILENCE, seed);
            test_counts(&m, 16000, 16000, seed % 2, seed);
            test_counts(&m, 48000, 16000, seed % 2, seed);
            test_counts(&m, 8000, 44100, seed % 2, seed);
        } else {
            test_skip(&m, seed);
        }
    }
    if (m.audio_out >= 0) {
        test_extent(&m, name);
        test_begin(&m, name);
    }
    rill_plan_unref(p);
    rill_model_free(model);
}

int main(void)
{
    for (unsigned i = 0; !is_fake() && rill_model_builtin_name(i); i++)
        each(rill_model_builtin_name(i));
    if (is_fake()) {
        each("half");
        each("halflead");
        each("halftrim");
        each("wiener");
        each("vad");
    }
    return check_end();
}
