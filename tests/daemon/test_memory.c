/* SPDX-License-Identifier: MIT */
/* Whatever clients within their quotas ask for: all of it stays within memory_max, who comes later
 * gets something too, and the system gets back what is free. The models are those of
 * fake_rill.c. */
#include "tests/daemon/model_rig.h"
#include "tests/daemon/openmetrics.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATE 16000
#define MB (1 << 20)
#define SLACK (8 * MB) /* of what is resident: the allocator's, and what just went */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RESIDENT_IS_KNOWN 0
#else
#define RESIDENT_IS_KNOWN 1
#endif

#define REST_MB (RESIDENT_IS_KNOWN ? 0u : 8u) /* what it takes itself to have besides */

/* ---- what the daemon counts, and what it has ---- */

static struct om om;
static struct rill_client *ctl;

static void figures_get(void)
{
    const char *text = rill_client_ctl_metrics(ctl);
    CHECK(text && om_parse(&om, text), "%s", text ? om.error : rill_client_error(ctl));
}

static double figure(const char *of)
{
    char label[64];
    snprintf(label, sizeof label, "of=\"%s\"", of);
    return om_value(&om, "rill_memory_bytes", label);
}

static double counted_now(void)
{
    figures_get();
    return om_sum(&om, "rill_memory_bytes") - figure("rest");
}

/* Private memory of the process. */
static double resident(const struct rig *r)
{
    char path[64];
    unsigned long total = 0, resident = 0, shared = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int) r->pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%lu %lu %lu", &total, &resident, &shared) != 3)
        resident = shared = 0;
    if (f)
        fclose(f);
    return (double) (resident - shared) * (double) sysconf(_SC_PAGESIZE);
}

static void bounds_check(const struct rig *r, double max_bytes)
{
    double n = counted_now(), has = resident(r);
    CHECK(n <= max_bytes, "%.0f bytes are counted of %.0f", n, max_bytes);
    CHECK(!RESIDENT_IS_KNOWN || has <= max_bytes + SLACK, "%.0f bytes are resident, %.0f allowed",
          has, max_bytes);
    CHECK(om_value(&om, "rill_memory_max_bytes", "") == max_bytes);
}

/* Waits until clients hold nothing but the operator's connection, and the system has the rest. */
static void all_given_back(const struct rig *r, double resident_before)
{
    double n = 0, has = 0;
    for (uint64_t end = now_ms() + 15000; now_ms() < end; usleep(50000)) {
        figures_get();
        n = figure("streams") + figure("topics") + figure("histories") + figure("queues") +
            figure("loads");
        has = resident(r);
        if (n <= 0 && (!RESIDENT_IS_KNOWN || has < resident_before + 4 * MB))
            break;
    }
    CHECK(n <= 0, "%.0f bytes are counted for nobody", n);
    CHECK(!RESIDENT_IS_KNOWN || has < resident_before + 4 * MB,
          "%.0f bytes are resident, %.0f before", has, resident_before);
}

static void rig_begin(struct rig *r, const char *memory_max, const char *more)
{
    char conf[600];
    snprintf(conf, sizeof conf,
             "preload = wiener\n%s\n[daemon]\nsocket_mode = 0666\n[limits]\nmemory_max = %s\n"
             "topic_keep_ms = 60000\n",
             more, memory_max);
    rig_start(r, conf);
    CHECK(rig_log_has(r, " ready: ", 30000)); /* loading takes memory too */
    CHECK(chmod(r->dir, 0755) == 0);
    ctl = client(r->ctl);
}

static void rig_finish(struct rig *r)
{
    ctl = rill_client_free(ctl);
    CHECK(rig_stop(r) == 0);
}

/* ---- other users ---- */

struct said {
    int code, n; /* of the first refusal, and of what was had before it */
    uint32_t retry_ms;
    char text[200];
};

struct guest {
    pid_t pid;
    int to, from;
};

static void retry_note(void *arg, const struct rill_client_failure *e)
{
    struct said *s = arg;
    s->retry_ms = e->retry_ms;
}

static struct rill_client *said_connect(const char *sock, struct said *s)
{
    struct rill_client_events ev = { .arg = s, .error = retry_note };
    struct rill_client *c = NULL;
    if (rill_client_connect(&c, sock, "guest", 60000)) {
        s->code = rill_client_error_code(c);
        snprintf(s->text, sizeof s->text, "%s", rill_client_error(c));
        return rill_client_free(c);
    }
    rill_client_set_events(c, &ev);
    return c;
}

static bool said_note(struct said *s, const struct rill_client *c, int failed)
{
    if (!failed)
        return true;
    s->code = rill_client_error_code(c);
    snprintf(s->text, sizeof s->text, "%s", rill_client_error(c));
    return false;
}

/* Runs in a process of its own as that user, who holds what `run` took until he is let go. */
static struct guest guest_begin(const struct rig *r, uint32_t uid,
                                void (*run)(const struct rig *r, uint32_t uid, struct said *s))
{
    int there[2], back[2];
    struct said s = { 0 };
    char byte;
    fflush(stdout);
    if (pipe(there) < 0 || pipe(back) < 0)
        give_up("no pipes");
    struct guest g = { fork(), there[1], back[0] };
    if (g.pid)
        return close(there[0]), close(back[1]), g;
    close(there[1]);
    close(back[0]);
    if (setgid(uid) < 0 || setuid(uid) < 0)
        _exit(99);
    run(r, uid, &s);
    ssize_t n = write(back[1], &s, sizeof s);
    n = read(there[0], &byte, 1);
    _exit(n > 0);
}

static struct said guest_wait(struct guest *g)
{
    struct said s = { .code = -1 };
    CHECK(read(g->from, &s, sizeof s) == sizeof s);
    return s;
}

static void guest_end(struct guest *g)
{
    kill(g->pid, SIGKILL);
    close(g->to);
    close(g->from);
    waitpid(g->pid, NULL, 0);
}

static bool others_may_be(void)
{
    if (getuid() == 0)
        return true;
    check_skip("other users: this is not root");
    return false;
}

/* ---- histories ---- */

#define SECONDS 60

static bool topic_fill(struct rill_client *c, uint32_t id, const char *name, uint32_t seconds)
{
    static float x[RATE];
    struct rill_client_open o = OPEN(FILE, RATE, 1, F32, .model = "wiener", .align = true);
    struct rill_client_publish p = {
        .topic = name, .keep_ms = 60000, .for_all = true, .mute = true
    };
    if (rill_client_open(c, id, &o, NULL) || rill_client_publish(c, id, &p, NULL))
        return false;
    for (uint32_t k = 0; k < seconds; k++) {
        for (int i = 0; i < RATE; i++)
            x[i] = (float) (k + 1) / 128;
        if (rill_client_send(c, id, x, sizeof x))
            return false;
    }
    return true;
}

static void histories_take(const struct rig *r, uint32_t uid, struct said *s)
{
    char name[32];
    struct rill_client *c = said_connect(r->sock, s);
    for (uint32_t id = 1; c && id <= 3; id++, s->n++) {
        snprintf(name, sizeof name, "u%u.%u", uid, id);
        if (!said_note(s, c, !topic_fill(c, id, name, SECONDS)))
            return;
    }
}

struct heard {
    uint64_t first, next, wrong; /* samples */
    bool any;
};

/* Second k of the topic holds k + 1. */
static void heard_audio(void *arg, const struct rill_client_audio *a)
{
    struct heard *h = arg;
    const float *x = a->pcm;
    h->first = h->any ? h->first : a->pos;
    h->wrong += h->any && a->pos != h->next;
    for (size_t i = 0; i < a->bytes / sizeof *x; i++)
        h->wrong += x[i] != (float) ((a->pos + i) / RATE + 1) / 128;
    h->next = a->pos + a->bytes / sizeof *x;
    h->any = true;
}

/* What is left of a history is its newest, to the sample. Takes c. */
static void history_check(struct rill_client *c, const char *topic)
{
    struct heard h = { 0 };
    struct rill_client_events ev = { .arg = &h, .audio = heard_audio };
    rill_client_set_events(c, &ev);
    struct rill_client_subscribe s = { .topic = topic, .from = RILL_CLIENT_OLDEST };
    CHECK_OF(c, rill_client_subscribe(c, 1, &s, NULL) == 0);
    uint64_t last = SECONDS * RATE / 512 * 512 - 256;
    for (uint64_t end = now_ms() + 20000; h.next < last && now_ms() < end;)
        rill_client_poll(c, 100);
    CHECK(h.next >= last && !h.wrong && h.next - h.first >= RATE / 2 &&
              h.next - h.first < SECONDS * RATE * 3 / 4,
          "%s: from %llu to %llu, %llu wrong", topic, LLU(h.first), LLU(h.next), LLU(h.wrong));
    rill_client_free(c);
}

/* Four users within their quotas fill what would be more than twice what there is. */
static void test_histories(void)
{
    struct rig r;
    struct guest g[4];
    struct said s;
    char err[512];
    if (!others_may_be())
        return;
    rig_begin(&r, "32M", "");
    double before = (counted_now(), resident(&r));
    for (uint32_t i = 0; i < 4; i++)
        g[i] = guest_begin(&r, 20001 + i, histories_take);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 10; k++, usleep(20000))
            bounds_check(&r, 32 * MB);
        s = guest_wait(&g[i]);
        CHECK(s.code == 0 && s.n == 3, "%d after %d: %s", s.code, s.n, s.text);
    }
    bounds_check(&r, 32 * MB);
    CHECK(figure("histories") > 8 * MB);
    double most = 0, least = 1e12;
    for (uint32_t i = 0; i < 4; i++) {
        char who[40];
        snprintf(who, sizeof who, "who=\"uid %u\"", 20001 + i);
        double x = om_value(&om, "rill_memory_user_bytes", who);
        most = x > most ? x : most;
        least = x < least ? x : least;
    }
    CHECK(least > 0.8 * most, "one has %.0f bytes, another %.0f", least, most);
    for (int i = 0; i < 4; i++) {
        char topic[32];
        snprintf(topic, sizeof topic, "u%d.1", 20001 + i);
        history_check(client(r.sock), topic);
    }
    CHECK(volume_of(&r, "wiener", err) == 1, "a fifth: %s", err);
    double held = figure("histories");
    struct guest fifth = guest_begin(&r, 20009, histories_take);
    s = guest_wait(&fifth);
    CHECK(s.code == 0 && s.n == 3, "%d after %d: %s", s.code, s.n, s.text);
    bounds_check(&r, 32 * MB);
    CHECK(om_value(&om, "rill_memory_user_bytes", "who=\"uid 20009\"") > held / 6 &&
          om_value(&om, "rill_memory_shortened_bytes_total", "") > 0);
    guest_end(&fifth);
    for (int i = 0; i < 4; i++)
        guest_end(&g[i]);
    all_given_back(&r, before);
    rig_finish(&r);
}

/* ---- streams ---- */

static void streams_take(const struct rig *r, uint32_t uid, struct said *s)
{
    struct rill_client *c = NULL;
    struct rill_client_open o = OPEN(FILE, 192000, 1, F32, .model = "wiener");
    (void) uid;
    for (uint32_t k = 0; k < 96; k++, s->n++) {
        c = k % 16 ? c : said_connect(r->sock, s);
        if (!c || !said_note(s, c, rill_client_open(c, k % 16 + 1, &o, NULL)))
            return;
    }
}

struct told {
    uint64_t all, owners, user;
    const char *who;
};

static void sum_note(void *arg, const struct rill_client_memory_sum *s)
{
    struct told *t = arg;
    *(s->who ? &t->owners : &t->all) += s->bytes;
    t->user += s->who && !strcmp(s->who, t->who) && !strcmp(s->of, "streams") ? s->bytes : 0;
}

/* The account by users says the same as the sums by what it is for, and as the metrics. */
static void account_check(const char *who, uint64_t least_bytes)
{
    struct rill_client_memory m;
    struct told t = { .who = who };
    CHECK_OF(ctl, rill_client_ctl_memory(ctl, &m, sum_note, &t) == 0);
    CHECK(t.all == m.used_bytes && t.owners == m.used_bytes && t.user >= least_bytes,
          "%llu of all, %llu of owners, %llu used; %llu of %s", LLU(t.all), LLU(t.owners),
          LLU(m.used_bytes), LLU(t.user), who);
    figures_get();
    CHECK((double) m.max_bytes == om_value(&om, "rill_memory_max_bytes", "") && m.refused == 1 &&
          (double) m.refused == om_value(&om, "rill_memory_refused_total", ""));
}

/* The newest is refused with a time to come back; what is open goes on, and another user can come.
 * When it has gone there is room again. */
static void test_streams(void)
{
    struct rig r;
    struct said s;
    char err[512];
    struct slow_stream early;
    rig_begin(&r, "64M", "");
    double before = (counted_now(), resident(&r));
    slow_open(&early, &r, "wiener");
    struct guest a = guest_begin(&r, getuid() ? getuid() : 20001, streams_take);
    s = guest_wait(&a);
    CHECK(s.code == RILL__CODE__OVERLOADED && s.retry_ms >= 1000 && strstr(s.text, "memory_max") &&
              s.n >= 4,
          "%d after %d, %u ms: %s", s.code, s.n, s.retry_ms, s.text);
    bounds_check(&r, 64 * MB);
    CHECK(om_value(&om, "rill_memory_refused_total", "") == 1 && counted_now() < 40 * MB);
    char who[32];
    snprintf(who, sizeof who, "uid %u", getuid() ? getuid() : 20001);
    account_check(who, 16 * MB);
    int first = s.n;
    if (others_may_be()) {
        struct guest b = guest_begin(&r, 20002, streams_take);
        s = guest_wait(&b);
        CHECK(s.code == RILL__CODE__OVERLOADED && s.n >= first / 2 - 1 && s.n <= first,
              "%d after %d: %s", s.code, s.n, s.text);
        CHECK(volume_of(&r, "wiener", err) == 1, "a third: %s", err);
        guest_end(&b);
    }
    bounds_check(&r, 64 * MB);
    slow_close(&early, 1);
    guest_end(&a);
    all_given_back(&r, before);
    a = guest_begin(&r, getuid() ? getuid() : 20001, streams_take);
    s = guest_wait(&a);
    CHECK(s.n >= first - 1, "%d streams, %d the first time", s.n, first);
    guest_end(&a);
    rig_finish(&r);
}

/* ---- connections ---- */

static void connections_take(const struct rig *r, uint32_t uid, struct said *s)
{
    (void) uid;
    while (s->n < 60 && said_connect(r->sock, s))
        s->n++;
}

static void test_connections(void)
{
    struct rig r;
    char err[512];
    rig_begin(&r, "18M", "");
    struct guest a = guest_begin(&r, getuid() ? getuid() : 20001, connections_take);
    struct said s = guest_wait(&a);
    CHECK(s.code == RILL__CODE__OVERLOADED && s.n > 8 && strstr(s.text, "memory_max"),
          "%d after %d: %s", s.code, s.n, s.text);
    bounds_check(&r, 18 * MB);
    CHECK(figure("connections") > 8 * 65536);
    if (others_may_be())
        CHECK(volume_of(&r, "wiener", err) == 1, "another: %s", err);
    guest_end(&a);
    rig_finish(&r);
}

/* ---- queues ---- */

#define ASKERS 12
/* For each: of 128 to 256 bytes, as they are of a daemon that has some waiting; more than the
 * kernel takes, and under what disconnects. */
#define WAITING_ANSWERS 512

static bool stats_send(int fd, int flags)
{
    FRAME(f, m, Stats, STATS, stats);
    uint8_t b[64];
    size_t n = frame_make(b, sizeof b, &f);
    return send(fd, b, n, MSG_NOSIGNAL | flags) == (ssize_t) n;
}

/* Asks, and reads the first answer only. */
static void answers_begin(int fd)
{
    stats_send(fd, 0);
    rill__server_frame__free_unpacked(raw_answer(fd, 20000), NULL);
    for (int k = 0; k < WAITING_ANSWERS; k++)
        stats_send(fd, 0);
}

static void answers_wait(const struct rig *r, uint32_t uid, struct said *s)
{
    (void) uid;
    for (; s->n < ASKERS; s->n++)
        answers_begin(raw_hello(r->sock));
}

static void answers_wait_one(const struct rig *r, uint32_t uid, struct said *s)
{
    int fd = raw_hello(r->sock);
    (void) uid;
    answers_begin(fd);
    for (int i = 0; i < 20000; i++)
        if (!stats_send(fd, MSG_DONTWAIT))
            usleep(500);
    s->n = 1;
}

static void answers_flood(const struct rig *r, uint32_t uid, struct said *s)
{
    int fds[ASKERS];
    (void) uid;
    for (int k = 0; k < ASKERS; k++)
        fds[k] = raw_hello(r->sock);
    for (int turn = 0; turn < 4000; turn++)
        for (int k = 0; k < ASKERS; k++)
            s->n += stats_send(fds[k], MSG_DONTWAIT);
}

/* Answers that wait are counted for who does not read them, and there is a bound. */
static void test_queues(void)
{
    struct rig r;
    char err[512];
    uint32_t uid = getuid() ? getuid() : 20001;
    rig_begin(&r, "32M", "");
    double before = (counted_now(), resident(&r)), queues = 0;
    struct guest a = guest_begin(&r, uid, answers_wait);
    CHECK(guest_wait(&a).n == ASKERS);
    for (uint64_t end = now_ms() + 10000; queues < ASKERS * 65536 && now_ms() < end; usleep(20000))
        queues = (bounds_check(&r, 32 * MB), figure("queues"));
    CHECK(queues >= ASKERS * 65536, "%.0f bytes wait", queues);
    guest_end(&a);
    a = guest_begin(&r, uid, answers_flood);
    for (int k = 0; k < 20; k++, usleep(50000))
        bounds_check(&r, 32 * MB);
    guest_wait(&a);
    if (others_may_be())
        CHECK(volume_of(&r, "wiener", err) == 1, "another: %s", err);
    guest_end(&a);
    all_given_back(&r, before);
    rig_finish(&r);
}

/* Each pulse gives 128 kB, in pieces, of which memory holds a few: the rest waits in the stream,
 * and all of it comes once it is read. Meanwhile somebody asks on the same connection. */
static void test_unread_long(void)
{
    struct rig r;
    struct result got = { 0 };
    static float x[2 * RATE];
    struct rill_client_open o = open_of("long");
    o.out = (struct rill_client_pcm) { RATE, 8, RILL_CLIENT_F32 };
    for (unsigned mb = 3; mb <= 7; mb += 2) {
        char max[16];
        snprintf(max, sizeof max, "%uM", mb + REST_MB);
        rig_begin(&r, max, "");
        CHECK_OF(ctl, rill_client_ctl_load(ctl, "long") == 0);
        struct rill_client *c = client(r.sock);
        got.frame_bytes = 32;
        result_listen(c, &got);
        CHECK(rill_client_open(c, 1, &o, NULL) == 0, "%s: %s", max, rill_client_error(c));
        CHECK(rill_client_send(c, 1, x, sizeof x) == 0);
        for (int k = 0; k < 40 && stats_send(rill_client_fd(c), MSG_DONTWAIT); k++)
            usleep(10000);
        bounds_check(&r, (mb + REST_MB) * (double) MB);
        if (rill_client_finish(c, 1, NULL) == 0)
            CHECK(got.bytes == sizeof x * 8, "%s: %zu bytes", max, got.bytes);
        else
            CHECK(rill_client_error_code(c) == RILL__CODE__SLOW_CONSUMER, "%s: %s", max,
                  rill_client_error(c));
        rill_client_free(c);
        result_free(&got);
        got = (struct result) { 0 };
        rig_finish(&r);
    }
}

/* Where there is no memory for what waits, who does not read is told so and goes. */
static void test_choked(void)
{
    struct rig r;
    char max[16];
    snprintf(max, sizeof max, "%uM", 3 + REST_MB);
    rig_begin(&r, max, "");
    struct guest a = guest_begin(&r, getuid() ? getuid() : 20001, answers_wait_one);
    CHECK(rig_log_has(&r, "bytes wait to be read", 20000));
    bounds_check(&r, (3 + REST_MB) * MB);
    guest_end(&a);
    rig_finish(&r);
}

/* Outputs that nobody reads wait in the lane, not in memory, and all of them come in the end. */
static void test_unread(void)
{
    struct rig r;
    struct result got[8] = { { 0 } };
    struct rill_client *c[8];
    static float x[4 * RATE];
    rig_begin(&r, "24M", "");
    for (int i = 0; i < 8; i++) {
        struct rill_client_open o = open_of("wiener");
        o.out = (struct rill_client_pcm) { RATE, 8, RILL_CLIENT_F32 };
        c[i] = client(r.sock);
        got[i].frame_bytes = 32;
        result_listen(c[i], &got[i]);
        CHECK_OF(c[i], rill_client_open(c[i], 1, &o, NULL) == 0);
    }
    for (int k = 0; k < 4 * RATE; k++)
        x[k] = (float) (k % 1000) / 1000;
    for (int i = 0; i < 8; i++) /* as far as the window goes */
        CHECK(rill_client_send(c[i], 1, x, 2 * RATE * sizeof *x) == 0);
    for (int k = 0; k < 10; k++, usleep(50000))
        bounds_check(&r, 24 * MB);
    for (int i = 0; i < 8; i++) {
        CHECK_OF(c[i],
                 rill_client_send(c[i], 1, x + 2 * RATE, 2 * RATE * sizeof *x) == 0 &&
                     rill_client_finish(c[i], 1, NULL) == 0);
        unsigned wrong = got[i].bytes != 4 * RATE * 32;
        for (size_t k = 0; !wrong && k < 32 * RATE; k++)
            wrong += ((float *) (void *) got[i].pcm)[k] != x[k / 8];
        CHECK(!wrong && got[i].n_gap == 0, "%zu bytes", got[i].bytes);
        rill_client_free(c[i]);
        result_free(&got[i]);
    }
    rig_finish(&r);
}

/* ---- models ---- */

#define HEAVY 12

static void other_take(const struct rig *r, uint32_t uid, struct said *s)
{
    struct rill_client *c = said_connect(r->sock, s);
    struct rill_client_open o = open_of("other");
    (void) uid;
    if (c)
        said_note(s, c, rill_client_open(c, 1, &o, NULL));
}

static void heavy_take(const struct rig *r, uint32_t uid, struct said *s)
{
    struct rill_client *c = said_connect(r->sock, s);
    char name[16];
    (void) uid;
    for (uint32_t i = 0; c && i < HEAVY; i++, s->n++) {
        snprintf(name, sizeof name, "h%02u", i);
        struct rill_client_open o = open_of(name);
        if (!said_note(s, c, rill_client_open(c, i + 1, &o, NULL)))
            return;
    }
}

/* Each of a dozen models takes 4 MB. Those that nobody streams with give way; where all are used
 * the newest is refused, and others can still load one. */
static void test_models(void)
{
    struct rig r;
    char name[16], err[512];
    rig_begin(&r, "96M", "keep_alive_s = 0");
    for (int i = 0; i < HEAVY; i++) {
        snprintf(name, sizeof name, "h%02d", i);
        model_put(&r, name, "heavy");
    }
    model_put(&r, "other", "half");
    counted_now();
    double own = figure("models");
    for (int i = 0; i < HEAVY; i++) {
        snprintf(name, sizeof name, "h%02d", i);
        CHECK(volume_of(&r, name, err) == 1, "%s: %s", name, err);
        bounds_check(&r, 96 * MB);
    }
    CHECK(figure("models") > own + 4 * MB && figure("models") < own + HEAVY * 4 * MB,
          "%.0f bytes of models", figure("models"));
    CHECK(!strcmp(count_of(ctl, "h00").state, "known") &&
          !strcmp(count_of(ctl, "h11").state, "ready"));
    struct guest a = guest_begin(&r, getuid() ? getuid() : 20001, heavy_take);
    struct said s = guest_wait(&a);
    CHECK(s.code == RILL__CODE__OVERLOADED && s.n > 2 && s.n < HEAVY && s.retry_ms >= 1000 &&
              strstr(s.text, "memory"),
          "%d after %d: %s", s.code, s.n, s.text);
    bounds_check(&r, 96 * MB);
    figures_get();
    CHECK(getuid() || om_value(&om, "rill_memory_user_bytes", "who=\"uid 0\"") < 4 * MB,
          "who streams with a model answers for it");
    if (others_may_be()) {
        struct guest b = guest_begin(&r, 20002, other_take);
        s = guest_wait(&b);
        CHECK(s.code == 0, "another user: %d: %s", s.code, s.text);
        guest_end(&b);
    }
    CHECK(rill_client_ctl_load(ctl, "h11") == 0, "the operator: %s", rill_client_error(ctl));
    guest_end(&a);
    rig_finish(&r);
}

static void sleeper_load(const struct rig *r, uint32_t uid, struct said *s)
{
    struct rill_client *c = said_connect(r->sock, s);
    struct rill_client_open o = open_of(uid % 2 ? "sleep1" : "sleep2");
    if (c)
        said_note(s, c, rill_client_open(c, 1, &o, NULL));
}

/* What models may take while they are tried out is part of the total. */
static void test_loads(void)
{
    struct rig r;
    char err[512];
    struct said s;
    rig_begin(&r, "128M", "check_timeout_s = 3");
    model_put(&r, "sleep1", "sleep");
    model_put(&r, "sleep2", "sleep");
    model_put(&r, "half2", "half");
    struct guest a = guest_begin(&r, getuid() ? getuid() : 20001, sleeper_load);
    double loads = 0;
    for (uint64_t end = now_ms() + 2500; loads <= 0 && now_ms() < end; usleep(10000))
        loads = (figures_get(), figure("loads"));
    CHECK(loads >= 16 * MB && loads <= 64 * MB, "%.0f bytes", loads);
    CHECK(volume_of(&r, "half2", err) == 0.5f, "meanwhile: %s", err);
    s = guest_wait(&a);
    CHECK(s.code == RILL__CODE__MODEL_FAILED, "%d: %s", s.code, s.text);
    guest_end(&a);
    figures_get();
    CHECK(figure("loads") == 0);
    rig_finish(&r);
}

/* ---- HTTP ---- */

static int path_ask(const char path[108])
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;
    memcpy(a.sun_path, path, sizeof a.sun_path);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    if (connect(fd, (struct sockaddr *) &a, sizeof a) < 0 ||
        send(fd, request, sizeof request - 1, MSG_NOSIGNAL) < 0)
        give_up("%s: %s", path, strerror(errno));
    return fd;
}

/* Pages that nobody reads: counted, bounded where memory is short, and gone in the end. */
static void test_http(void)
{
    struct rig r;
    char more[300], path[108] = "", err[512];
    int fds[300];
    rig_dir(&r);
    snprintf(path, sizeof path, "%s/h", r.dir);
    snprintf(more, sizeof more,
             "preload = wiener\n[limits]\nmemory_max = 8M\n[http]\nlisten = %s\n", path);
    rig_conf(&r, more);
    CHECK(rig_run(&r) && rig_wait_ready(&r) && rig_log_has(&r, " ready: ", 30000));
    ctl = client(r.ctl);
    double most = 0;
    for (int i = 0; i < 300; i++) {
        fds[i] = path_ask(path);
        if (i % 30 == 29) {
            bounds_check(&r, 8 * MB);
            most = figure("http") > most ? figure("http") : most;
        }
    }
    CHECK(most > 65536 && most < 3 * MB, "%.0f bytes at most", most);
    CHECK(!RESIDENT_IS_KNOWN || volume_of(&r, "wiener", err) == 1, "a stream beside them: %s", err);
    for (int i = 0; i < 300; i++)
        close(fds[i]);
    for (uint64_t end = now_ms() + 10000; now_ms() < end; usleep(20000))
        if ((figures_get(), figure("http")) <= 0)
            break;
    CHECK(figure("http") == 0, "%.0f bytes for nobody", figure("http"));
    rig_finish(&r);
}

/* ---- limits that are small, and that change ---- */

static void test_change(void)
{
    struct rig r;
    char err[512], conf[300];
    rig_begin(&r, "256K", "");
    struct said s = { 0 };
    struct rill_client *c = said_connect(r.sock, &s);
    CHECK(!c && s.code == RILL__CODE__OVERLOADED && strstr(s.text, "memory_max"), "%d: %s", s.code,
          s.text);
    CHECK(rig_log_has(&r, "everybody is refused", 10000));
    snprintf(conf, sizeof conf,
             "preload = wiener\n[limits]\nmemory_max = 64M\ntopic_keep_ms = 60000\n");
    rig_conf(&r, conf);
    CHECK_OF(ctl, rill_client_ctl_reload(ctl) == 0);
    CHECK(volume_of(&r, "wiener", err) == 1, "%s", err);
    c = client(r.sock);
    struct rill_client *reader = client(r.sock);
    CHECK_OF(c, topic_fill(c, 1, "t", SECONDS));
    counted_now();
    double had = figure("histories");
    CHECK(had > 3 * MB, "%.0f bytes", had);
    snprintf(conf, sizeof conf, "preload = wiener\n[limits]\nmemory_max = 600K\n");
    rig_conf(&r, conf);
    CHECK_OF(ctl, rill_client_ctl_reload(ctl) == 0);
    for (uint64_t end = now_ms() + 15000; figure("histories") > 0 && now_ms() < end; usleep(20000))
        figures_get();
    CHECK(figure("histories") == 0 && figure("topics") > 65536);
    history_check(reader, "t");
    rill_client_free(c);
    rig_finish(&r);
}

int main(void)
{
    sound_make();
    test_histories();
    test_streams();
    test_connections();
    test_queues();
    test_choked();
    test_unread_long();
    test_unread();
    test_models();
    test_loads();
    test_http();
    test_change();
    return check_end();
}
