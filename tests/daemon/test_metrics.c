/* SPDX-License-Identifier: MIT */
/* The metrics: their grammar, and that they say what was streamed. */
#include "tests/daemon/harness.h"
#include "tests/daemon/openmetrics.h"

#include <math.h>
#include <unistd.h>

static struct om om;

/* ---- the reader itself ---- */

static void test_reader(void)
{
    /* clang-format off */
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        { "# EOF\n", true },
        { "# TYPE a counter\n# HELP a x\na_total 1\n# EOF\n", true },
        { "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds "
          "x\na_seconds_total{m=\"x\\\"\\\\\"} 1.5\n# EOF\n", true },
        { "# TYPE h histogram\n# HELP h x\nh_bucket{le=\"1.0\"} 2\nh_bucket{le=\"+Inf\"} "
          "3\nh_count 3\nh_sum 4\n# EOF\n", true },
        { "# TYPE a counter\n# HELP a x\na 1\n# EOF\n", false }, /* no _total */
        { "# TYPE a counter\n# HELP a x\na_total -1\n# EOF\n", false },
        { "# TYPE a counter\n# HELP a x\na_total 1\na_total 1\n# EOF\n", false }, /* twice */
        { "# TYPE a counter\n# HELP a x\na_total 1\n# TYPE b gauge\n# HELP b x\nb 1\n# TYPE a "
          "counter\n# EOF\n", false },
        { "# HELP a x\na_total 1\n# EOF\n", false }, /* no TYPE */
        { "# TYPE a counter\n# HELP a x\na_total 1\n", false }, /* no EOF */
        { "# TYPE a counter\n# HELP a x\na_total 1\n# EOF\n\n", false },
        { "# TYPE a gauge\n# HELP a x\na{b=\"1\",b=\"2\"} 1\n# EOF\n", false },
        { "# TYPE a gauge\n# HELP a x\na{b=\"\\q\"} 1\n# EOF\n", false },
        { "# TYPE a_s gauge\n# UNIT a_s seconds\n# HELP a_s x\na_s 1\n# EOF\n", false },
        { "# TYPE h histogram\n# HELP h x\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_count "
          "3\nh_sum 4\n# EOF\n", false },
        { "# TYPE h histogram\n# HELP h x\nh_bucket{le=\"1.0\"} 4\nh_bucket{le=\"+Inf\"} "
          "3\nh_count 3\nh_sum 4\n# EOF\n", false },
        { "# TYPE h histogram\n# HELP h x\nh_bucket{le=\"1.0\"} 2\nh_bucket{le=\"+Inf\"} "
          "3\nh_count 4\nh_sum 4\n# EOF\n", false },
        { "# TYPE h histogram\n# HELP h x\nh_bucket{le=\"1.0\"} 2\nh_count 2\nh_sum 4\n# EOF\n",
          false },
        { "# TYPE a info\n# HELP a x\na_info{v=\"1\"} 2\n# EOF\n", false },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(om_parse(&om, cases[i].text) == cases[i].good, "case %zu: %s", i, om.error);
}

/* ---- asking ---- */

static size_t n_frames;

/* The metrics as the control socket gives them; to be freed. */
static char *metrics_get(int fd)
{
    FRAME(f, m, CtlMetrics, CTL_METRICS, ctl_metrics);
    char *all = calloc(1, 1);
    f.req = 77;
    raw_frame(fd, &f);
    bool more = true;
    for (n_frames = 0; more; n_frames++) {
        Rill__ServerFrame *a = raw_answer(fd, 10000);
        if (!CHECK(a && a->m_case == RILL__SERVER_FRAME__M_CTL_METRICS && a->req == 77))
            break;
        all = realloc(all, strlen(all) + strlen(a->ctl_metrics->text) + 1);
        strcat(all, a->ctl_metrics->text);
        more = a->ctl_metrics->more;
        CHECK(!more || all[strlen(all) - 1] == '\n', "cut within a line");
        rill__server_frame__free_unpacked(a, NULL);
    }
    return all;
}

static void om_get(int fd)
{
    char *text = metrics_get(fd);
    CHECK(om_parse(&om, text), "%s", om.error);
    free(text);
}

static Rill__ServerFrame *stats_get(int fd)
{
    FRAME(f, m, Stats, STATS, stats);
    Rill__ServerFrame *a = raw_ask(fd, &f, 15000);
    CHECK(a && a->m_case == RILL__SERVER_FRAME__M_STATS);
    return a;
}

/* ---- what they say ---- */

#define SECONDS 3
static int16_t audio[16000 * SECONDS];

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b) + 1e-9;
}

/* What a stream that runs did, in CtlTop and CtlSessions alike. */
static void test_top(void)
{
    struct rig r;
    struct rill_client_open o = OPEN(FILE, 16000, 1, S16, .align = true);
    FRAME(f, m, CtlTop, CTL_TOP, ctl_top);
    rig_start(&r, "");
    int ctl = raw_hello(r.ctl);
    struct rill_client *c = client_of(r.sock, "top");
    CHECK(rill_client_open(c, 1, &o, NULL) == 0 && rill_client_open(c, 2, &o, NULL) == 0);
    CHECK(rill_client_send(c, 2, audio, 32000) == 0 && rill_client_skip(c, 2, 500) == 0 &&
          rill_client_send(c, 2, audio, 32000) == 0);
    Rill__ServerFrame *a = NULL;
    for (uint64_t end = now_ms() + 20000; now_ms() < end; usleep(20000)) {
        rill__server_frame__free_unpacked(a, NULL);
        raw_frame(ctl, &f);
        a = raw_answer(ctl, 15000);
        if (!CHECK(a && a->m_case == RILL__SERVER_FRAME__M_CTL_TOP &&
                   a->ctl_top->n_sessions == 2) ||
            a->ctl_top->sessions[0]->audio_us > 1900000)
            break;
    }
    if (!a)
        give_up("no answer to CtlTop");
    const Rill__TopReply *t = a->ctl_top;
    const Rill__Session *s = t->sessions[0];
    CHECK(s->stream == 2 && s->audio_us > 1900000 && s->audio_us <= 2000000 &&
          s->gap_samples == 500 && s->compute_us >= t->sessions[1]->compute_us);
    enum { MOST_CHUNKS = 32000 / 256 + 3 };
    CHECK(s->in_samples == 32000 && s->max_chunk_us * MOST_CHUNKS >= s->compute_us &&
          s->serial == 2);
    CHECK(t->status->streams == 2 && t->status->stats->n_models == 1 &&
          t->status->stats->models[0]->streams == 2 &&
          t->status->stats->models[0]->audio_us == s->audio_us &&
          t->status->stats->stream_bytes > 0 && !strcmp(t->status->state, "running"));
    rill__server_frame__free_unpacked(a, NULL);
    rill_client_free(c);
    close(ctl);
    CHECK(rig_stop(&r) == 0);
}

static void test_idle(void)
{
    struct rig r;
    rig_start(&r, "");
    CHECK(rig_log_has(&r, " ready: ", 30000));
    int fd = raw_hello(r.ctl);
    om_get(fd);
    CHECK(om_value(&om, "rill_sessions", "") == 0 && om_value(&om, "rill_connections", "") == 1);
    CHECK(om_value(&om, "rill_compute_threads", "") == 2 &&
          om_value(&om, "rill_rt_threads", "") == 0 &&
          om_value(&om, "rill_rt_demotions_total", "") == 0 &&
          om_value(&om, "rill_overload_level", "") == 0 &&
          om_value(&om, "rill_streams_relieved", "") == 0);
    CHECK(om_value(&om, "rill_memory_bytes", "of=\"connections\"") > 65536 &&
          om_value(&om, "rill_memory_bytes", "of=\"streams\"") == 0 &&
          om_value(&om, "rill_memory_bytes", "of=\"topics\"") == 0);
    CHECK(om_value(&om, "rill_protocol_errors_total", "code=\"bad_frame\"") == 0);
    CHECK(om_value(&om, "rill_gap_seconds_total", "reason=\"late\"") == 0);
    CHECK(om_count(&om, "rill_model_info") == 1 &&
          om_value(&om, "rill_model_load_seconds", "model=\"rill-denoise\"") > 0);
    CHECK(om_value(&om, "process_resident_memory_bytes", "") > 1e6 &&
          om_value(&om, "process_open_fds", "") > 5);
    CHECK(om_value(&om, "process_max_fds", "") >= om_value(&om, "process_open_fds", ""));
    CHECK(om_value(&om, "process_cpu_seconds_total", "") > 0 &&
          om_value(&om, "process_start_time_seconds", "") > 1.7e9);
    CHECK(om_value(&om, "rill_healthy", "") == 1);
    close(fd);
    /* The data socket does not answer. */
    fd = raw_hello(r.sock);
    FRAME(f, m, CtlMetrics, CTL_METRICS, ctl_metrics);
    raw_frame(fd, &f);
    CHECK(raw_error(fd, 15000) == RILL__CODE__DENIED);
    close(fd);
    CHECK(rig_stop(&r) == 0);
}

static const char denoise[] = "model=\"rill-denoise\"";

/* Three streams, one with a gap, and two that are refused; returns what the three took. */
static uint64_t sums_make(const struct rig *r)
{
    char err[512];
    struct rill_client_open o = OPEN(FILE, 16000, 1, S16, .align = true);
    uint64_t compute_us = 0;
    for (int i = 0; i < 3; i++) {
        struct result res;
        CHECK(stream_whole(r->sock, &o, audio, 16000 * SECONDS, 2, 1000, &res, err), "%s", err);
        compute_us += res.fin.compute_us;
        result_free(&res);
    }
    struct rill_client *c = client_of(r->sock, "gap");
    CHECK(rill_client_open(c, 1, &o, NULL) == 0);
    CHECK_OF(c,
             rill_client_send(c, 1, audio, 8000) == 0 && rill_client_skip(c, 1, 24000) == 0 &&
                 rill_client_send(c, 1, audio, 8000) == 0 && rill_client_finish(c, 1, NULL) == 0);
    o.model = "nosuch";
    CHECK(rill_client_open(c, 2, &o, NULL) < 0 && rill_client_open(c, 3, &o, NULL) < 0);
    rill_client_free(c);
    return compute_us;
}

static void sums_check_page(void)
{
    CHECK(om_value(&om, "rill_sessions_opened_total", "") == 4 &&
          om_value(&om, "rill_sessions", "") == 0);
    CHECK(om_value(&om, "rill_model_sessions_opened_total", denoise) == 4);
    CHECK(near(om_value(&om, "rill_audio_seconds_total", denoise), 3 * SECONDS + 0.5), "%.9g",
          om_value(&om, "rill_audio_seconds_total", denoise));
    CHECK(near(om_value(&om, "rill_gap_seconds_total", "reason=\"client\""), 1.5));
    CHECK(om_sum(&om, "rill_gap_seconds_total") ==
          om_value(&om, "rill_gap_seconds_total", "reason=\"client\""));
    CHECK(om_value(&om, "rill_sessions_refused_total", "reason=\"no_model\"") == 2 &&
          om_sum(&om, "rill_sessions_refused_total") == 2);
    CHECK(om_value(&om, "rill_protocol_errors_total", "code=\"no_model\"") == 2 &&
          om_sum(&om, "rill_protocol_errors_total") == 2);
}

static void sums_check_both(const Rill__StatsReply *st, uint64_t compute_us)
{
    const Rill__ModelStats *m = st->models[0];
    CHECK(st->n_models == 1 && st->protocol_errors == 2 && st->streams_opened == 4);
    CHECK(om_value(&om, "rill_chunk_compute_seconds_count", denoise) == (double) m->pulses &&
          om_value(&om, "rill_chunk_queue_seconds_count", denoise) == (double) m->pulses &&
          m->pulses > 90);
    CHECK(
        near(om_value(&om, "rill_chunk_compute_seconds_sum", denoise),
             (double) m->compute_us * 1e-6) &&
        near(om_value(&om, "rill_compute_seconds_total", denoise), (double) m->compute_us * 1e-6));
    CHECK(m->compute_us >= compute_us, "%llu, of three streams %llu", LLU(m->compute_us),
          LLU(compute_us));
    CHECK(near(om_value(&om, "rill_audio_seconds_total", denoise), (double) m->audio_us * 1e-6));
    /* One stream at a time: every run is a batch of one. */
    CHECK(om_value(&om, "rill_batch_size_count", denoise) == (double) m->pulses &&
          om_value(&om, "rill_batch_size_bucket", "model=\"rill-denoise\",le=\"1.0\"") ==
              (double) m->pulses);
    CHECK(om_value(&om, "rill_deadline_misses_total", denoise) == (double) m->deadline_misses);
}

/* Stats says the same in its own fields. */
static void sums_check_stats(const Rill__StatsReply *st)
{
    const Rill__ModelStats *m = st->models[0];
    CHECK(st->n_errors == 1 && st->errors[0]->code == RILL__CODE__NO_MODEL &&
          st->errors[0]->n == 2);
    CHECK(st->n_refused == 1 && st->refused[0]->code == RILL__CODE__NO_MODEL &&
          st->refused[0]->n == 2);
    CHECK(st->n_gaps == 1 && st->gaps[0]->reason == RILL__GAP__REASON__REASON_CLIENT &&
          st->gaps[0]->samples == 24000 && st->gaps[0]->us == 1500000 && m->gap_samples == 24000 &&
          m->gap_us == 1500000);
    CHECK(m->compute && m->compute->n_le_us + 1 == m->compute->n_count &&
          m->compute->sum_us == m->compute_us &&
          m->compute->count[m->compute->n_count - 1] == m->pulses &&
          m->queue->count[m->queue->n_count - 1] == m->pulses);
    CHECK(m->n_batches == 1 && m->batches[0] == m->pulses && m->batch_mean == 1);
    CHECK(st->resident_bytes > 1000000 && st->open_fds > 5 && st->cpu_us > 0);
}

/* Streams of known length, errors and gaps of known number: every sum is known. */
static void test_sums(void)
{
    struct rig r;
    rig_start(&r, "");
    int ctl = raw_hello(r.ctl);
    uint64_t compute_us = sums_make(&r);
    om_get(ctl);
    sums_check_page();
    Rill__ServerFrame *a = stats_get(ctl);
    sums_check_both(a->stats, compute_us);
    sums_check_stats(a->stats);
    rill__server_frame__free_unpacked(a, NULL);
    /* The same in frames that are too small for all of it. */
    CHECK(n_frames == 1);
    int small = raw_hello_small(r.ctl, 4096);
    om_get(small);
    CHECK(n_frames > 1 && om_value(&om, "rill_sessions_opened_total", "") == 4);
    close(small);
    close(ctl);
    CHECK(rig_stop(&r) == 0);
}

/* Every family has its name in the page that explains them, and the page names no other. */
static void test_page(void)
{
    static char page[65536];
    FILE *f = fopen(getenv("RILLD_OPERATING_DOC"), "r");
    size_t n = f ? fread(page, 1, sizeof page - 1, f) : 0;
    unsigned n_families = 0, n_named = 0;
    struct rig r;
    if (!CHECK(f && n))
        return;
    fclose(f);
    rig_start(&r, "");
    int ctl = raw_hello(r.ctl);
    char *text = metrics_get(ctl);
    for (const char *at = text; (at = strstr(at, "# TYPE ")); n_families++) {
        char name[80], kind[16], named[128];
        at += 7;
        if (!CHECK(sscanf(at, "%79s %15s", name, kind) == 2))
            break;
        snprintf(named, sizeof named, "`%s%s`", name,
                 !strcmp(kind, "counter")    ? "_total"
                     : !strcmp(kind, "info") ? "_info"
                                             : "");
        CHECK(strstr(page, named) != NULL, "%s is not in docs/operating.md", named);
    }
    for (const char *at = strstr(page, "## Metrics"),
                    *end = at ? strstr(at, "What deserves") : NULL;
         at && at < end; at++)
        n_named += !strncmp(at, "| `", 3) || !strncmp(at, "`, `", 4);
    CHECK(n_families > 30 && n_named == n_families, "%u families, %u names", n_families, n_named);
    free(text);
    close(ctl);
    CHECK(rig_stop(&r) == 0);
}

int main(void)
{
    for (size_t i = 0; i < sizeof audio / sizeof *audio; i++)
        audio[i] = (int16_t) (i * 7919 % 2000);
    test_reader();
    test_page();
    test_idle();
    test_top();
    test_sums();
    return check_end();
}
