/* SPDX-License-Identifier: MIT */
/* Models that one thread would compute late get the help of others, for live streams alone: what
 * the daemon says of it, and how long pulses take. */
#include "tests/daemon/harness.h"

#define PULSES 10
#define N_FRAMES (PULSES * 512)

/* The share of the audio's time that a stream had a thread for. */
static float stream_rtf(struct rig *r, const char *model, enum rill_client_pace pace)
{
    static const float quiet[N_FRAMES];
    struct rill_client_open o = { .in = { 16000, 1, RILL_CLIENT_F32 },
                                  .model = model,
                                  .pace = pace,
                                  .max_latency_ms = 60000,
                                  .align = true };
    struct result got;
    char err[512] = "";
    CHECK(stream_whole(r->sock, &o, quiet, N_FRAMES, sizeof *quiet, 512, &got, err), "%s", err);
    CHECK(got.bytes == sizeof quiet, "%zu bytes", got.bytes);
    const float rtf = got.fin.rtf;
    result_free(&got);
    return rtf;
}

static void on_model(void *arg, const struct rill_client_model *m)
{
    if (strcmp(m->name, "wide") == 0)
        *(uint32_t *) arg = m->threads;
}

static uint32_t threads_told(struct rig *r)
{
    struct rill_client *c = NULL;
    uint32_t n = 99;
    CHECK_OF(c,
             rill_client_connect(&c, r->sock, "threads", 10000) == 0 &&
                 rill_client_info(c, on_model, &n) == 0);
    rill_client_free(c);
    return n;
}

/* So much of a thread's time may a model take before it gets help; that is what `wide` takes. */
static void case_run(const char *threads, const char *budget, unsigned helps)
{
    struct rig r;
    char conf[200];
    snprintf(conf, sizeof conf,
             "[daemon]\nworkers = 2\nthreads = %s\n[limits]\nrtf_budget = %s\n[models]\npreload = "
             "wide\n[overload]\npolicy = off\n",
             threads, budget);
    rig_start(&r, conf);
    float file = stream_rtf(&r, "wide", RILL_CLIENT_FILE),
          live = stream_rtf(&r, "wide", RILL_CLIENT_LIVE);
    CHECK(threads_told(&r) == helps, "%s threads at %s: %u", threads, budget, threads_told(&r));
    CHECK(file >= 0.25f, "%.3f of a file", (double) file);
    CHECK(helps > 1 ? live < 0.25f : live >= 0.25f, "%.3f live", (double) live);
    CHECK(rig_log_has(&r, "share those of live streams", 0) == (helps > 1));
    CHECK(rig_log_has(&r, helps > 1 ? "threads=4" : "threads=1", 1000));
    rig_stop(&r);
}

int main(void)
{
    case_run("4", "0.2", 4);
    case_run("1", "0.2", 1);
    case_run("4", "0.7", 1);
    return check_end();
}
