/* SPDX-License-Identifier: MIT */
/* More compute is asked for than there is: what live streams get instead, what is told and counted,
 * who is let in, what becomes of real-time priority, and of a daemon that stood still. Models are
 * those of fake_rill.c.
 *
 *   test_daemon_overload NAME...       see the table at the end; after the name `judge` runs are
 *                                      judged by the clock, too, which is for a quiet machine */
#include "tests/daemon/fake_rill.h"
#include "tests/daemon/harness.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PULSE 512
#define PULSES_MAX 400
#define PINGS 9000 /* many slices of the loop */
/* Stops of the machine that are shorter than calm_ms change nothing. */
#define CALM_OF(policy, ms)                                                                        \
    "[overload]\npolicy = " policy "\ncalm_ms = " ms "\n[daemon]\nworkers = 1\n"
#define CALM CALM_OF("model", "1200")
#define CALM_SKIP CALM_OF("skip", "1200")
#define LONG_CALM CALM_OF("model", "3000")

static bool clock_judges; /* otherwise what is counted has to be right, no more */

static enum run_verdict judged(bool good, bool disturbed)
{
    return good || !clock_judges ? RUN_GOOD : disturbed ? RUN_DISTURBED : RUN_BAD;
}

struct heard {
    float out[PULSES_MAX * PULSE + PULSE];
    bool gone[PULSES_MAX * PULSE + PULSE];
    size_t n_out, told[3];    /* by fill */
    unsigned n_gaps, reasons; /* reasons: a bit each */
    int code;
    uint32_t retry_ms;
};

struct talk {
    struct rill_client *client;
    struct heard heard;
    float in[PULSES_MAX * PULSE];
    size_t n_in;
    struct rill_client_finished fin;
};

static void on_audio(void *arg, const struct rill_client_audio *a)
{
    struct heard *h = arg;
    size_t n = a->bytes / sizeof(float);
    if (h->n_out + n <= sizeof h->out / sizeof *h->out)
        memcpy(h->out + h->n_out, a->pcm, a->bytes);
    h->n_out += n;
}

static void on_gap(void *arg, const struct rill_client_gap *g)
{
    struct heard *h = arg;
    h->n_gaps++;
    h->reasons |= 1u << g->reason;
    h->told[g->fill] += g->samples;
    for (uint64_t i = g->pos; i < g->pos + g->samples && i < sizeof h->gone; i++)
        h->gone[i] = true;
}

static void on_error(void *arg, const struct rill_client_failure *e)
{
    struct heard *h = arg;
    h->code = e->code;
    h->retry_ms = e->retry_ms;
}

static bool talk_open(struct talk *t, const char *sock, const char *model,
                      enum rill_client_pace pace, uint32_t max_latency_ms)
{
    const struct rill_client_open o = { .model = model,
                                        .in = { 16000, 1, RILL_CLIENT_F32 },
                                        .pace = pace,
                                        .align = true,
                                        .max_latency_ms = max_latency_ms };
    const struct rill_client_events ev = {
        .arg = &t->heard, .audio = on_audio, .gap = on_gap, .error = on_error
    };
    memset(t, 0, sizeof *t);
    if (!CHECK_OF(t->client, rill_client_connect(&t->client, sock, "overload", 30000) == 0))
        return false;
    rill_client_set_events(t->client, &ev);
    return rill_client_open(t->client, 1, &o, NULL) == 0;
}

/* n pulses, each of which begins with `first`. */
static bool talk_say(struct talk *t, unsigned n, float first)
{
    uint32_t seed = (uint32_t) t->n_in + 1;
    for (unsigned k = 0; k < n && t->n_in + PULSE <= sizeof t->in / sizeof *t->in; k++) {
        float *x = t->in + t->n_in;
        for (int i = 0; i < PULSE; i++)
            x[i] = 0.3f + noise(&seed) / 5;
        x[0] = first > 0 ? first : x[0];
        t->n_in += PULSE;
        if (!CHECK_OF(t->client, rill_client_send(t->client, 1, x, PULSE * sizeof *x) == 0))
            return false;
    }
    return true;
}

static void talk_end(struct talk *t)
{
    CHECK_OF(t->client, rill_client_finish(t->client, 1, &t->fin) == 0);
    rill_client_free(t->client);
    CHECK(t->fin.in == t->n_in);
    CHECK(t->fin.in == t->fin.processed + t->fin.dropped + t->fin.bypassed,
          "%llu in, %llu processed, %llu dropped, %llu bypassed", LLU(t->fin.in),
          LLU(t->fin.processed), LLU(t->fin.dropped), LLU(t->fin.bypassed));
    CHECK(t->fin.bypassed == t->heard.told[2] &&
              t->fin.dropped == t->heard.told[0] + t->heard.told[1],
          "told: %zu skipped, %zu silent, %zu bypassed; counted: %llu dropped, %llu bypassed",
          t->heard.told[0], t->heard.told[1], t->heard.told[2], LLU(t->fin.dropped),
          LLU(t->fin.bypassed));
}

/* Slow pulses until the daemon's log says `what`; not as fast as a bypassed stream takes them, for
 * the log comes a little later. */
static bool talk_until(struct talk *t, struct rig *r, const char *what)
{
    while (!rig_log_has(r, what, 0) && t->n_in + 2 * PULSE < sizeof t->in / sizeof *t->in) {
        if (!talk_say(t, 1, FAKE_SLOW))
            return false;
        usleep(10000);
    }
    return CHECK(rig_log_has(r, what, 20000), "the log has no '%s':\n%s", what, rig_log(r));
}

/* ---- policies ---- */

/* The model halves what it hears; what goes past it is as loud as it was, or nothing. */
static void past_check(const struct talk *t, double gone_at)
{
    size_t bad = 0, between = 0;
    for (size_t i = 0; i < t->n_in; i++) {
        double y = (double) t->heard.out[i] / (double) t->in[i];
        bad += t->heard.gone[i] ? fabs(y - gone_at) > 1e-6
                                : fabs(y - gone_at) < 1e-6 || y > 1 + 1e-6 || y < -1e-6;
        between += fabs(y - 0.5) > 1e-5 && fabs(y - gone_at) > 1e-5;
    }
    CHECK(bad == 0, "%zu of %zu samples are not what was told", bad, t->n_in);
    CHECK(between >= 100 && between <= 160 * 2 * 8, "%zu samples in cross-fades", between);
}

static void samples_check(const struct talk *t, double gone_at)
{
    size_t bad = 0;
    past_check(t, gone_at);
    for (size_t i = t->n_in - PULSE; i < t->n_in; i++)
        bad += t->heard.out[i] != 0.5f * t->in[i];
    CHECK(bad == 0, "the model is not back");
}

/* The model is there again, and then nothing more is said: what it would have answered late went
 * past it. */
static void last_run(const char *model, const char *conf, int fill)
{
    static struct talk t;
    struct rig r;
    rig_start(&r, conf);
    if (CHECK_OF(t.client, talk_open(&t, r.sock, model, RILL_CLIENT_LIVE, 0))) {
        talk_until(&t, &r, "overload 0 -> 1");
        talk_say(&t, 10, 0);
        CHECK(rig_log_has(&r, "overload 1 -> 0", 20000), "%s", rig_log(&r));
        talk_end(&t);
        CHECK(t.heard.n_out == t.n_in && t.heard.told[fill] >= 10 * PULSE);
        past_check(&t, fill == RILL__GAP__FILL__FILL_BYPASS ? 1 : 0);
    }
    CHECK(rig_stop(&r) == 0);
}

static void past_run(const char *model, const char *conf, int fill)
{
    static struct talk t;
    struct rig r;
    rig_start(&r, conf);
    if (CHECK_OF(t.client, talk_open(&t, r.sock, model, RILL_CLIENT_LIVE, 0))) {
        talk_say(&t, 10, 0);
        talk_until(&t, &r, "overload 0 -> 1");
        talk_say(&t, 20, 0);
        while (!rig_log_has(&r, "overload 1 -> 0", 0) && t.n_in < (PULSES_MAX - 8) * PULSE) {
            usleep(60000);
            talk_say(&t, 1, 0);
        }
        CHECK(rig_log_has(&r, "overload 1 -> 0", 20000), "%s", rig_log(&r));
        talk_say(&t, 6, 0);
        talk_end(&t);
        CHECK(t.heard.n_out == t.n_in && t.fin.out == t.n_in, "%zu out of %zu", t.heard.n_out,
              t.n_in);
        CHECK(t.heard.told[fill] > 0 &&
              t.heard.told[fill] == t.heard.told[0] + t.heard.told[1] + t.heard.told[2]);
        CHECK(t.heard.reasons == 1u << RILL__GAP__REASON__REASON_OVERLOAD);
        samples_check(&t, fill == RILL__GAP__FILL__FILL_BYPASS ? 1 : 0);
    }
    CHECK(rig_stop(&r) == 0);
}

static void test_past(void)
{
    past_run("half", CALM, RILL__GAP__FILL__FILL_BYPASS);
    past_run("halftrim", CALM, RILL__GAP__FILL__FILL_BYPASS);
    past_run("half", CALM_SKIP, RILL__GAP__FILL__FILL_SILENCE);
    last_run("half", CALM, RILL__GAP__FILL__FILL_BYPASS);
    last_run("halftrim", CALM, RILL__GAP__FILL__FILL_BYPASS);
    last_run("half", CALM_SKIP, RILL__GAP__FILL__FILL_SILENCE);
}

static void test_skip(void)
{
    static struct talk t;
    struct rig r;
    rig_start(&r, LONG_CALM);
    if (CHECK_OF(t.client, talk_open(&t, r.sock, "vad", RILL_CLIENT_LIVE, 0))) {
        talk_until(&t, &r, "overload 0 -> 1");
        talk_say(&t, 30, FAKE_SLOW);
        talk_end(&t);
        CHECK(t.fin.dropped > 20 * PULSE && t.heard.told[0] == t.fin.dropped && t.fin.bypassed == 0,
              "%llu dropped", LLU(t.fin.dropped));
        CHECK(t.heard.reasons == 1u << RILL__GAP__REASON__REASON_OVERLOAD);
        CHECK(t.fin.vad_frames >= t.fin.processed / 512 &&
                  t.fin.vad_frames <= t.fin.processed / 512 + t.heard.n_gaps + 1,
              "%llu frames", LLU(t.fin.vad_frames));
    }
    CHECK(rig_stop(&r) == 0);
}

/* First nobody new, then the streams themselves. */
static void test_shed(void)
{
    static struct talk t, other;
    struct rig r;
    rig_start(&r, LONG_CALM);
    if (CHECK_OF(t.client, talk_open(&t, r.sock, "shed", RILL_CLIENT_LIVE, 0))) {
        talk_until(&t, &r, "overload 0 -> 1, 0 streams");
        CHECK(!talk_open(&other, r.sock, "shed", RILL_CLIENT_LIVE, 0) &&
                  rill_client_error_code(other.client) == RILL__CODE__OVERLOADED &&
                  other.heard.retry_ms >= 400,
              "code %d, again after %u ms", rill_client_error_code(other.client),
              other.heard.retry_ms);
        rill_client_free(other.client);
        CHECK(talk_open(&other, r.sock, "wiener", RILL_CLIENT_FILE, 0),
              "files wait, they are not refused");
        rill_client_free(other.client);
        talk_until(&t, &r, "overload 1 -> 2, 1 streams");
        talk_say(&t, 20, FAKE_SLOW);
        talk_end(&t);
        CHECK(t.heard.told[0] > 10 * PULSE);
        CHECK(rig_log_has(&r, "-> 0, 0 streams", 10000),
              "a thread without streams keeps its steps:\n%s", rig_log(&r));
    }
    CHECK(rig_stop(&r) == 0);
}

static void test_off(void)
{
    static struct talk t;
    struct rig r;
    rig_start(&r, "[overload]\npolicy = off\n");
    if (CHECK_OF(t.client, talk_open(&t, r.sock, "half", RILL_CLIENT_LIVE, 0))) {
        talk_say(&t, 30, FAKE_SLOW);
        talk_end(&t);
        CHECK(t.heard.n_gaps == 0 && t.fin.deadline_misses >= 20, "%u gaps, %u misses",
              t.heard.n_gaps, t.fin.deadline_misses);
    }
    CHECK(rig_stop(&r) == 0);
}

/* Only as many streams as need be: one that costs little keeps its model while a costly one goes
 * without. Their plans are two, so that neither bears half of what a batch of both would cost. */
static enum run_verdict victim_run(void *arg)
{
    static struct talk dear, cheap;
    struct rig r;
    (void) arg;
    rig_start(&r, LONG_CALM);
    if (CHECK(talk_open(&cheap, r.sock, "wiener", RILL_CLIENT_LIVE, 0) &&
              talk_open(&dear, r.sock, "half", RILL_CLIENT_LIVE, 0))) {
        for (int k = 0; k < 100 && !rig_log_has(&r, "overload 0 -> 1, 1 streams", 0); k++) {
            talk_say(&cheap, 1, 0);
            talk_say(&dear, 2, FAKE_SLOW);
        }
        for (int k = 0; k < 10; k++) {
            talk_say(&cheap, 1, 0);
            talk_say(&dear, 1, FAKE_SLOW);
        }
        talk_end(&dear);
        talk_end(&cheap);
    }
    bool disturbed = rig_disturbed(&r), good = dear.fin.bypassed > 0 && cheap.fin.bypassed == 0;
    printf("%llu samples of the dear stream bypassed, %llu of the cheap one\n",
           LLU(dear.fin.bypassed), LLU(cheap.fin.bypassed));
    if (!good)
        printf("%s", rig_log(&r));
    CHECK(rig_stop(&r) == 0);
    return judged(good, disturbed);
}

static void test_judge(void)
{
    clock_judges = true;
}

static void test_victim(void)
{
    CHECK(runs_judge(victim_run, NULL, "which stream goes without"));
}

/* Live streams that are sent as fast as they are taken keep the thread busy all the time, and are
 * ahead of real time all the same. */
static enum run_verdict ahead_run(void *arg)
{
    static struct talk t[3];
    struct rig r;
    unsigned gaps = 0;
    (void) arg;
    rig_start(&r, CALM);
    for (int i = 0; i < 3; i++)
        CHECK_OF(t[i].client, talk_open(&t[i], r.sock, "slow", RILL_CLIENT_LIVE, 0));
    for (int k = 0; k < 60; k++)
        for (int i = 0; i < 3; i++)
            talk_say(&t[i], 1, 0);
    for (int i = 0; i < 3; i++) {
        talk_end(&t[i]);
        gaps += t[i].heard.n_gaps;
    }
    bool disturbed = rig_disturbed(&r);
    printf("%u gaps in streams ahead of real time\n", gaps);
    CHECK(rig_stop(&r) == 0);
    return judged(!gaps, disturbed);
}

static void test_ahead(void)
{
    CHECK(runs_judge(ahead_run, NULL, "streams ahead of real time"));
}

/* ---- three times too much ---- */

#define CROWD 30
#define CROWD_SECONDS 5

struct crowd {
    struct rill_client *client;
    uint64_t began_us, behind_us, told[CROWD + 1], last_gap_us[CROWD + 1];
    unsigned n_late, n_pulses; /* in the second half, of streams that had their model */
};

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

static void crowd_audio(void *arg, const struct rill_client_audio *a)
{
    struct crowd *c = arg;
    bool gone = c->last_gap_us[a->stream] && now_us() - c->last_gap_us[a->stream] < 1500000;
    bool behind = c->behind_us && now_us() - c->behind_us < 300000;
    if (gone || behind || now_us() - c->began_us < CROWD_SECONDS * UINT64_C(500000))
        return;
    c->n_pulses++;
    c->n_late += a->queue_us + a->compute_us > PULSE * 1000000 / 16000;
}

static void crowd_gap(void *arg, const struct rill_client_gap *g)
{
    struct crowd *c = arg;
    c->told[g->stream] += g->samples;
    c->last_gap_us[g->stream] = now_us();
}

static void crowd_speak(struct crowd *c)
{
    static const float x[PULSE] = { 0.25f };
    for (unsigned k = 0; k < CROWD_SECONDS * 16000 / PULSE; k++) {
        uint64_t at_us = c->began_us + k * UINT64_C(32000);
        for (uint64_t now; (now = now_us()) < at_us;)
            rill_client_poll(c->client, (int) ((at_us - now) / 1000) + 1);
        if (now_us() > at_us + 32000)
            c->behind_us = now_us(); /* this side is no microphone now */
        for (uint32_t id = 1; id <= CROWD; id++)
            if (!CHECK_OF(c->client, rill_client_send(c->client, id, x, sizeof x) == 0))
                return;
    }
}

/* Thirty streams that take a tenth of the thread each, in real time: most go without their model,
 * to the sample as told; the others come in time. */
static enum run_verdict crowd_run(void *arg)
{
    static struct crowd c;
    const struct rill_client_open o = { .model = "slow",
                                        .in = { 16000, 1, RILL_CLIENT_F32 },
                                        .align = true };
    const struct rill_client_events ev = { .arg = &c, .audio = crowd_audio, .gap = crowd_gap };
    struct rill_client_finished f;
    struct rig r;
    unsigned whole = 0;
    (void) arg;
    rig_start(&r,
              "[limits]\nmax_streams_per_connection = 64\n[overload]\npolicy = "
              "model\n[daemon]\nworkers = 1\n");
    memset(&c, 0, sizeof c);
    CHECK(rill_client_connect(&c.client, r.sock, "crowd", 30000) == 0);
    rill_client_set_events(c.client, &ev);
    for (uint32_t id = 1; id <= CROWD; id++)
        CHECK_OF(c.client, rill_client_open(c.client, id, &o, NULL) == 0);
    c.began_us = now_us();
    crowd_speak(&c);
    for (uint32_t id = 1; id <= CROWD; id++) {
        CHECK_OF(c.client, rill_client_finish(c.client, id, &f) == 0);
        CHECK(f.bypassed == c.told[id] && f.dropped == 0 && f.in == f.processed + f.bypassed &&
                  f.out == f.in && f.in > 0,
              "stream %u: %llu in, %llu out, %llu bypassed, %llu told", id, LLU(f.in), LLU(f.out),
              LLU(f.bypassed), LLU(c.told[id]));
        whole += f.bypassed == 0;
    }
    bool disturbed = rig_disturbed(&r) || c.behind_us;
    rig_done(&r, c.client);
    printf("of %d streams %u kept their model; %u of their %u pulses late%s\n", CROWD, whole,
           c.n_late, c.n_pulses, c.behind_us ? "; this side was late itself" : "");
    bool good = whole >= 1 && whole <= 10 && c.n_pulses >= 50 && c.n_late * 50 < c.n_pulses;
    return judged(good, disturbed);
}

static void test_threefold(void)
{
    CHECK(runs_judge(crowd_run, NULL, "three times too much"));
}

/* ---- admission ---- */

/* So many Opens and a Ping in one write: the refusals come first, in the order of the asks. */
static void refused_in_turn(struct rig *r)
{
    enum { ASKS = 20 };
    static uint8_t bytes[1 << 14];
    size_t n = 0;
    int fd = raw_hello(r->sock);
    for (uint32_t k = 0; k <= ASKS; k++) {
        OPEN_FRAME(open, o, k + 1, "slow", 16000, F32LE);
        FRAME(last, ping, Ping, PING, ping);
        o.pace = RILL__PACE__PACE_LIVE;
        open.req = last.req = k + 1;
        n += frame_make(bytes + n, sizeof bytes - n, k < ASKS ? &open : &last);
    }
    CHECK(raw_send(fd, bytes, n));
    for (uint32_t k = 0; k <= ASKS; k++) {
        Rill__ServerFrame *a = raw_answer(fd, 20000);
        bool refused = a && a->m_case == RILL__SERVER_FRAME__M_ERROR &&
            a->error->code == RILL__CODE__OVERLOADED && a->error->retry_ms > 0;
        CHECK(a && a->req == k + 1 &&
                  (k < ASKS ? refused : a->m_case == RILL__SERVER_FRAME__M_PONG),
              "answer %u: to %u, of kind %d", k, a ? a->req : 0, a ? (int) a->m_case : -1);
        rill__server_frame__free_unpacked(a, NULL);
    }
    close(fd);
}

/* Who is refused waits for nothing: no model runs to find out what it costs, and what was asked
 * later is not answered sooner. */
static void test_refused_at_once(void)
{
    static struct talk t[12];
    struct rig r;
    unsigned n = 0;
    rig_start(&r, "[daemon]\nworkers = 1\n[limits]\nrtf_budget = 1\n");
    while (n < 11 && talk_open(&t[n], r.sock, "slow", RILL_CLIENT_LIVE, 0))
        n++;
    CHECK(n >= 1 && n <= 9, "%u live streams of at least a tenth each in one thread", n);
    CHECK(t[n].heard.code == RILL__CODE__OVERLOADED && t[n].heard.retry_ms > 0, "again after %u ms",
          t[n].heard.retry_ms);
    uint64_t slept_us = rig_slept_us(&r);
    refused_in_turn(&r);
    CHECK(slept_us > 0 && rig_slept_us(&r) == slept_us, "%llu us of its models, then %llu",
          LLU(slept_us), LLU(rig_slept_us(&r)));
    for (unsigned i = 0; i <= n; i++)
        rill_client_free(t[i].client);
    CHECK(rig_stop(&r) == 0);
}

/* A model that was cheap when it was loaded and is not any more. */
static void test_cost_current(void)
{
    static struct talk t, other;
    struct rig r;
    rig_start(&r, "[daemon]\nworkers = 1\n[limits]\nrtf_budget = 0.9\n");
    if (CHECK_OF(t.client, talk_open(&t, r.sock, "wiener", RILL_CLIENT_LIVE, 0))) {
        CHECK_OF(other.client, talk_open(&other, r.sock, "wiener", RILL_CLIENT_LIVE, 0));
        rill_client_free(other.client);
        bool refused = false;
        for (int k = 0; k < 20 && !refused; k++) {
            talk_say(&t, 8, FAKE_SLOW);
            refused = !talk_open(&other, r.sock, "wiener", RILL_CLIENT_LIVE, 0);
            CHECK_OF(other.client,
                     !refused || rill_client_error_code(other.client) == RILL__CODE__OVERLOADED);
            rill_client_free(other.client);
        }
        CHECK(refused, "a model that takes more than there is, is let in again and again");
        talk_end(&t);
    }
    CHECK(rig_stop(&r) == 0);
}

/* ---- standing still ---- */

static void test_stopped(void)
{
    static struct talk t[3];
    struct rig r;
    rig_start(&r, "[daemon]\nworkers = 1\n[overload]\npolicy = model\n");
    if (CHECK(talk_open(&t[0], r.sock, "wiener", RILL_CLIENT_LIVE, 3000) &&
              talk_open(&t[1], r.sock, "wiener", RILL_CLIENT_LIVE, 0) &&
              talk_open(&t[2], r.sock, "wiener", RILL_CLIENT_FILE, 0))) {
        for (int i = 0; i < 3; i++) {
            talk_say(&t[i], 20, 0);
            while (t[i].heard.n_out + PULSE < t[i].n_in && rill_client_poll(t[i].client, 2000) > 0)
                ;
            rill_client_poll(t[i].client, 100);
        }
        CHECK(rig_freeze(&r));
        for (int i = 0; i < 3; i++)
            talk_say(&t[i], 2, 0);
        sleep(5);
        kill(r.pid, SIGCONT);
        /* What is sent before it was read that it stood still may count as from then. */
        for (uint64_t end = now_ms() + 10000; !t[0].heard.n_gaps && now_ms() < end;)
            rill_client_poll(t[0].client, 100);
        for (int i = 0; i < 3; i++) {
            talk_say(&t[i], 20, 0);
            talk_end(&t[i]);
            CHECK(t[i].fin.out == t[i].heard.n_out && t[i].fin.out == t[i].fin.processed,
                  "%llu out", LLU(t[i].fin.out));
        }
        CHECK(t[0].heard.reasons == 1u << RILL__GAP__REASON__REASON_LATE &&
                  t[0].fin.dropped >= 2 * PULSE && t[0].heard.gone[20 * PULSE] &&
                  t[0].heard.gone[22 * PULSE - 1] && !t[0].heard.gone[20 * PULSE - 1],
              "%u gaps, %llu dropped", t[0].heard.n_gaps, LLU(t[0].fin.dropped));
        for (int i = 1; i < 3; i++)
            CHECK(t[i].heard.n_gaps == 0 &&
                      memcmp(t[i].heard.out, t[i].in, t[i].n_in * sizeof(float)) == 0,
                  "stream %d: %u gaps", i, t[i].heard.n_gaps);
    }
    CHECK(rig_stop(&r) == 0);
}

/* What a client sent before it all stood still is no later for being handled in several slices. The
 * replies to its pings are more than output_soft_ms: where the machine is busy, reading them takes
 * seconds. */
static void test_stopped_behind(void)
{
    FRAME(f, ping, Ping, PING, ping);
    static struct talk t;
    struct rig r;
    rig_start(&r,
              "[daemon]\nworkers = 1\n[overload]\npolicy = model\n"
              "[limits]\noutput_soft_grace_ms = 60000\n");
    if (CHECK(talk_open(&t, r.sock, "wiener", RILL_CLIENT_LIVE, 3000))) {
        talk_say(&t, 20, 0);
        while (t.heard.n_out + PULSE < t.n_in && rill_client_poll(t.client, 2000) > 0)
            ;
        rill_client_poll(t.client, 100);
        CHECK(rig_freeze(&r));
        talk_say(&t, 1, 0);
        CHECK(raw_burst(rill_client_fd(t.client), &f, PINGS));
        talk_say(&t, 1, 0);
        sleep(4);
        kill(r.pid, SIGCONT);
        for (uint64_t end = now_ms() + 10000; !t.heard.gone[22 * PULSE - 1] && now_ms() < end;)
            rill_client_poll(t.client, 100);
        talk_say(&t, 20, 0); /* is not late */
        talk_end(&t);
        CHECK(t.heard.reasons == 1u << RILL__GAP__REASON__REASON_LATE &&
                  t.fin.dropped == 2 * PULSE && t.heard.gone[20 * PULSE] &&
                  t.heard.gone[22 * PULSE - 1] && !t.heard.gone[20 * PULSE - 1],
              "%u gaps, %llu dropped", t.heard.n_gaps, LLU(t.fin.dropped));
    }
    CHECK(rig_stop(&r) == 0);
}

/* ---- real-time priority ---- */

static bool stats_get(const char *sock, uint32_t *ret_threads, uint64_t *ret_demotions)
{
    FRAME(f, m, Stats, STATS, stats);
    int fd = raw_hello(sock);
    Rill__ServerFrame *a = raw_ask(fd, &f, 15000);
    bool good = a && a->m_case == RILL__SERVER_FRAME__M_STATS;
    if (good) {
        *ret_threads = a->stats->rt_threads;
        *ret_demotions = a->stats->rt_demotions;
    }
    rill__server_frame__free_unpacked(a, NULL);
    close(fd);
    return good;
}

/* Threads of the process with a real-time policy; one of them in *ret. */
static unsigned fifo_threads(pid_t pid, pid_t *ret)
{
    char path[64];
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int) pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        pid_t tid = (pid_t) atoi(e->d_name);
        int policy = tid > 0 ? sched_getscheduler(tid) : 0;
        if (policy != (SCHED_FIFO | SCHED_RESET_ON_FORK) && policy != SCHED_FIFO)
            continue;
        n++;
        *ret = tid;
        CHECK(tid != pid, "the loop has real-time priority");
    }
    if (d)
        closedir(d);
    return n;
}

static bool demoted(struct rig *r, uint64_t n, uint32_t *ret_threads)
{
    uint64_t demotions = 0;
    for (uint64_t end = now_ms() + 20000; now_ms() < end; usleep(50000))
        if (stats_get(r->sock, ret_threads, &demotions) && demotions >= n)
            break;
    return CHECK(demotions == n, "%llu demotions, not %llu", LLU(demotions), LLU(n));
}

/* Until the thread has the signal blocked, which the kernel sends to any thread of the process. The
 * thread sanitizer runs handlers later, when the mask that they return with is nobody's. */
static bool sigxcpu_blocked(pid_t pid, pid_t tid)
{
#ifdef __SANITIZE_THREAD__
    check_skip("masks set by handlers: the thread sanitizer defers them");
    return true;
#endif
    char path[64], line[128];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int) pid, (int) tid);
    for (uint64_t end = now_ms() + 20000; now_ms() < end; usleep(10000)) {
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f))
            if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
                break;
        if (f)
            fclose(f);
        if (blocked >> (SIGXCPU - 1) & 1)
            return true;
    }
    return false;
}

static void test_realtime(void)
{
    static struct talk t;
    struct rig r;
    uint32_t n = 0, after = 0;
    uint64_t demotions = 0;
    pid_t tid = 0;
    rig_start(&r, "[daemon]\nworkers = 2\nrealtime_priority = 3\n");
    CHECK(rig_log_has(&r, "compute thread 1 ", 15000), "%s", rig_log(&r));
    CHECK(stats_get(r.sock, &n, &demotions) && demotions == 0);
    CHECK(n == fifo_threads(r.pid, &tid) && (n == 2 || n == 0), "%u threads", n);
    if (!n) {
        CHECK(rig_log_has(&r, "gets no real-time priority", 0), "%s", rig_log(&r));
        check_skip("losing real-time priority: none is allowed here");
    } else {
        pid_t lost = tid;
        CHECK(syscall(SYS_tgkill, r.pid, lost, SIGXCPU) == 0);
        if (demoted(&r, 1, &after))
            CHECK(after == n - 1 && fifo_threads(r.pid, &tid) == n - 1, "%u threads", after);
        CHECK(rig_log_has(&r, "ran for too long", 20000));
        CHECK(sigxcpu_blocked(r.pid, lost), "a thread without priority takes others' signals");
        const struct rlimit limit = { 100000, RLIM_INFINITY };
        CHECK(prlimit(r.pid, RLIMIT_RTTIME, &limit, NULL) == 0);
        for (int i = 0; i < 2; i++)
            if (CHECK(talk_open(&t, r.sock, "wiener", RILL_CLIENT_LIVE, 0))) {
                talk_say(&t, 1, FAKE_BURN);
                /* The other thread is served by the second stream, while the first is busy. */
                static struct talk second;
                if (CHECK(talk_open(&second, r.sock, "wiener", RILL_CLIENT_LIVE, 0))) {
                    talk_say(&second, 1, FAKE_BURN);
                    talk_end(&second);
                }
                talk_end(&t);
            }
        if (demoted(&r, 2, &after))
            CHECK(after == 0 && fifo_threads(r.pid, &tid) == 0);
    }
    CHECK(talk_open(&t, r.sock, "wiener", RILL_CLIENT_FILE, 0));
    talk_say(&t, 20, 0);
    talk_end(&t);
    CHECK(t.fin.out == t.n_in);
    CHECK(rig_stop(&r) == 0);
}

/* The model sets the processor back in every pulse; the next finds denormals flushed again. */
static void test_denormals(void)
{
    static struct talk t;
    struct rig r;
    size_t bad = 0;
    rig_start(&r, "[daemon]\nworkers = 1\n");
    if (CHECK(talk_open(&t, r.sock, "tiny", RILL_CLIENT_LIVE, 0))) {
        talk_say(&t, 8, 0);
        talk_end(&t);
        for (size_t i = 0; i < t.n_in; i++)
            bad += t.heard.out[i] != 1.0f;
        CHECK(bad == 0 && t.heard.n_out == t.n_in, "%zu of %zu samples saw denormals", bad, t.n_in);
    }
    CHECK(rig_stop(&r) == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        { "judge", test_judge },         { "skip", test_skip },
        { "shed", test_shed },           { "off", test_off },
        { "victim", test_victim },       { "ahead", test_ahead },
        { "threefold", test_threefold }, { "refused", test_refused_at_once },
        { "cost", test_cost_current },   { "stopped", test_stopped },
        { "realtime", test_realtime },   { "denormals", test_denormals },
        { "past", test_past },           { "behind", test_stopped_behind },
    };
    rig_watches = true;
    for (int k = 1; k < argc; k++)
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
            if (!strcmp(argv[k], tests[i].name))
                tests[i].run();
    return check_end();
}
