/* SPDX-License-Identifier: MIT */
/* What a machine does to a daemon: no descriptors, no disk, interrupted and tiny reads and writes,
 * clocks that jump, stops of seconds, no memory, a compute thread that hangs, a socket whose path
 * is gone. */
#include "tests/faults/faults.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define FAKE_HANG 0.765625f /* a first sample that the fake models take seconds over */

static struct rig rig;
static struct result want;

static void want_learn(void)
{
    char err[512];
    CHECK(session_play(&rig, NULL, &want, err), "%s", err);
}

static bool serves_as_before(const char *after)
{
    struct result r;
    char err[512];
    if (!CHECK(rig_lives(&rig), "%s", after))
        exit(check_end());
    bool good = CHECK(session_play(&rig, NULL, &r, err), "%s: %s", after, err) &&
        CHECK(result_same(&r, &want), "%s: another output", after);
    result_free(&r);
    return good;
}

/* ---- descriptors ---- */

static void limit_fds(rlim_t n)
{
    struct rlimit l;
    prlimit(rig.pid, RLIMIT_NOFILE, NULL, &l);
    l.rlim_cur = n;
    if (prlimit(rig.pid, RLIMIT_NOFILE, &l, NULL) < 0)
        perror("prlimit");
}

/* Ten ticks a second wake the daemon, and little else where nothing can be done; who goes round and
 * round for want of something wakes thousands of times. */
static bool wakes_little(uint64_t waits, uint64_t took_ms, const char *where)
{
    return CHECK(waits < took_ms / 10, "%s: waits %llu times in %llu ms", where, LLU(waits),
                 LLU(took_ms));
}

/* Whom the daemon has no descriptor for is told so; who is connected is served; then all is as
 * before. */
static void test_no_fds(void)
{
    enum { CLIENTS = 40 };
    int fds[CLIENTS];
    unsigned refused = 0, before = fds_of(&rig);
    struct rlimit old;
    prlimit(rig.pid, RLIMIT_NOFILE, NULL, &old);
    limit_fds(before + 10);
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = raw_connect(rig.sock);
    for (int i = 0; i < CLIENTS; i++) {
        uint8_t b[8];
        raw_send(fds[i], "RILL\1\0\0\0", 8);
        ssize_t n = raw_recv(fds[i], b, 8, 20000);
        refused += n == 8 && memcmp(b, "RILL", 4) != 0;
        CHECK(n == 8, "client %d got %zd", i, n);
    }
    CHECK(refused >= CLIENTS / 2 && refused < CLIENTS, "%u of %d were refused with words", refused,
          CLIENTS);
    uint64_t began = now_ms(), waits = atomic_load(&page->waits);
    usleep(1000000);
    waits = atomic_load(&page->waits) - waits;
    wakes_little(waits, now_ms() - began, "no descriptors");
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    CHECK(wait_fds(&rig, before));
    prlimit(rig.pid, RLIMIT_NOFILE, &old, NULL);
    serves_as_before("no descriptors");
}

/* accept itself fails and goes on failing: the daemon waits between tries, and takes the client
 * when it works again. */
static void test_accept_fails(int error)
{
    fault_arm(FAULT_ACCEPT, 1, true, error);
    int fd = raw_connect(rig.sock);
    raw_send(fd, "RILL\1\0\0\0", 8);
    uint64_t waits = atomic_load(&page->waits), began = now_ms(), end = began + 20000;
    while (now_ms() < began + 1000 || (atomic_load(&page->hits) < 2 && now_ms() < end))
        usleep(10000);
    waits = atomic_load(&page->waits) - waits;
    uint64_t tries = fault_disarm(), took = now_ms() - began;
    wakes_little(waits, took, strerror(error));
    CHECK(tries >= 2 && tries < took / 10, "%s: %llu tries in %llu ms", strerror(error), LLU(tries),
          LLU(took));
    uint8_t b[8];
    CHECK(raw_recv(fd, b, 8, 15000) == 8, "%s: not taken afterwards", strerror(error));
    close(fd);
    serves_as_before("accept");
}

/* ---- bytes ---- */

static void test_one_byte(void)
{
    atomic_store(&page->one_byte, 1);
    serves_as_before("one byte at a time");
    atomic_store(&page->one_byte, 0);
}

static void test_interrupts(void)
{
    for (uint32_t every = 2; every < 5; every++) {
        atomic_store(&page->interrupts, every);
        serves_as_before("interrupts");
    }
    atomic_store(&page->interrupts, 0);
}

/* The log's disk is full: nobody notices but the log. */
static void test_no_space(void)
{
    atomic_store(&page->log_full, 1);
    serves_as_before("no space for the log");
    atomic_store(&page->log_full, 0);
}

/* ---- time ---- */

static void test_clock_steps(void)
{
    static const int64_t steps[] = { 86400 * 365, -86400 * 365 * 20, 3600, -3600, 0 };
    struct rill_client *c = NULL;
    struct rill_client_open o = OPEN(LIVE, 16000, 1, F32, .align = true);
    struct rill_client_finished fin = { 0 };
    struct result r = { .frame_bytes = 4 };
    static float x[1600];
    bool good = rill_client_connect(&c, rig.sock, "clock", 10000) == 0;
    result_listen(c, &r);
    good = good && rill_client_open(c, 1, &o, NULL) == 0;
    for (int i = 0; good && i < 20; i++) {
        atomic_store(&page->wall_s, steps[i % 5]);
        good = rill_client_send(c, 1, x, sizeof x) == 0;
        usleep(50000);
    }
    atomic_store(&page->wall_s, 0);
    good = good && rill_client_finish(c, 1, &fin) == 0;
    CHECK_OF(c, good);
    CHECK(fin.in == 32000 && fin.out == 32000 && fin.dropped == 0 && r.n_gap == 0,
          "in %llu out %llu dropped %llu gaps %u", LLU(fin.in), LLU(fin.out), LLU(fin.dropped),
          r.n_gap);
    rill_client_free(c);
    result_free(&r);
    serves_as_before("steps of the clock");
}

/* Stopped for five seconds under a live stream: the samples that came too late are counted and
 * told, none is lost without a word, and the stream goes on. */
static void test_stop(void)
{
    struct rill_client *c = NULL;
    struct rill_client_open o = OPEN(LIVE, 16000, 1, F32, .align = true, .max_latency_ms = 300);
    struct rill_client_finished fin = { 0 };
    struct result r = { .frame_bytes = 4 };
    static float x[800];
    bool good = rill_client_connect(&c, rig.sock, "stop", 20000) == 0;
    result_listen(c, &r);
    good = good && rill_client_open(c, 1, &o, NULL) == 0;
    for (int i = 0; good && i < 30; i++) {
        if (i == 10) {
            good = rill_client_send(c, 1, x, sizeof x) == 0;
            CHECK(rig_freeze(&rig));
            usleep(5000000);
            kill(rig.pid, SIGCONT);
        }
        good = good && rill_client_send(c, 1, x, sizeof x) == 0;
        usleep(20000);
    }
    good = good && rill_client_finish(c, 1, &fin) == 0;
    CHECK_OF(c, good);
    CHECK(fin.in == 31 * 800 && fin.processed + fin.dropped == fin.in,
          "in %llu processed %llu dropped %llu", LLU(fin.in), LLU(fin.processed), LLU(fin.dropped));
    CHECK(r.gap_dropped == fin.dropped, "gaps of %llu samples, %llu dropped", LLU(r.gap_dropped),
          LLU(fin.dropped));
    rill_client_free(c);
    result_free(&r);
    serves_as_before("five seconds of stop");
}

/* ---- memory ---- */

/* Address space for a few streams: the next are refused, those there go on, and with memory back
 * all is as before. */
static void test_no_memory(void)
{
    struct rlimit old, few;
    struct rill_client_open o =
        OPEN(FILE, 192000, 1, F32, .out = { 192000, 1, RILL_CLIENT_F32 }, .align = true);
    static float x[4800];
    unsigned opened = 0, refused = 0;
    struct rill_client *c = client_of(rig.sock, "memory");
    CHECK(rill_client_open(c, 1, &o, NULL) == 0);
    prlimit(rig.pid, RLIMIT_AS, NULL, &old);
    few =
        (struct rlimit) { 1 << 20, old.rlim_max }; /* less than there is: nothing more can be had */
    prlimit(rig.pid, RLIMIT_AS, &few, NULL);
    for (uint32_t id = 2; id < 16; id++) {
        bool good = rill_client_open(c, id, &o, NULL) == 0;
        opened += good;
        refused += !good;
    }
    CHECK(refused > 0, "%u streams without memory", opened);
    CHECK_OF(c, rill_client_send(c, 1, x, sizeof x) == 0);
    struct rill_client_finished fin = { 0 };
    CHECK_OF(c, rill_client_finish(c, 1, &fin) == 0 && fin.out == 4800);
    prlimit(rig.pid, RLIMIT_AS, &old, NULL);
    rill_client_free(c);
    serves_as_before("no memory");
}

/* ---- settings read again ---- */

/* A storm of SIGHUP, and one without descriptors: the last word is said, and the old settings serve
 * on. */
static void test_reloads(void)
{
    struct rlimit old;
    for (int i = 0; i < 100; i++) {
        kill(rig.pid, SIGHUP);
        usleep(500);
    }
    CHECK(rig_log_has(&rig, "reloaded", 10000));
    serves_as_before("a storm of SIGHUP");
    prlimit(rig.pid, RLIMIT_NOFILE, NULL, &old);
    limit_fds(3);
    kill(rig.pid, SIGHUP);
    CHECK(rig_log_has(&rig, "reload refused", 10000));
    prlimit(rig.pid, RLIMIT_NOFILE, &old, NULL);
    serves_as_before("a reload without descriptors");
}

/* ---- a compute thread that hangs ---- */

static void test_stuck(void)
{
    struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = true);
    static float x[1600];
    x[0] = FAKE_HANG;
    rig_hold(&rig);
    struct rill_client *c = client_of(rig.sock, "stuck");
    CHECK_OF(c, rill_client_open(c, 1, &o, NULL) == 0 && rill_client_send(c, 1, x, sizeof x) == 0);
    CHECK(rig_held(&rig, 1));
    CHECK(serves_as_before("while one thread hangs"));
    CHECK(rig_log_has(&rig, "does not advance", 20000));
    rig_let_go(&rig);
    CHECK(rig_log_has(&rig, "advance again", 20000));
    struct rill_client_finished fin = { 0 };
    CHECK_OF(c, rill_client_finish(c, 1, &fin) == 0 && fin.out == 1600);
    rill_client_free(c);
    serves_as_before("after the hang");
}

/* ---- the socket's path ---- */

/* Who is connected goes on, the daemon lives, and stops cleanly. */
static void test_path_removed(void)
{
    struct rill_client *c = client_of(rig.sock, "path");
    CHECK(unlink(rig.sock) == 0);
    usleep(300000);
    CHECK_OF(c, rig_lives(&rig) && rill_client_ping(c, NULL) == 0);
    rill_client_free(c);
}

int main(void)
{
    if (fault_none())
        return 77;
    fault_page_make();
    fault_rig(&rig, "[limits]\nfile_window_ms = 20000\n");
    want_learn();
    unsigned fds = fds_of(&rig);
    test_no_fds();
    test_accept_fails(EMFILE);
    test_accept_fails(ENFILE);
    test_accept_fails(ENOMEM);
    test_one_byte();
    test_interrupts();
    test_no_space();
    test_clock_steps();
    test_stop();
    test_no_memory();
    test_reloads();
    if (is_fake())
        test_stuck();
    CHECK(wait_fds(&rig, fds), "%u descriptors, %u before", fds_of(&rig), fds);
    test_path_removed();
    CHECK(rig_stop(&rig) == 0);
    result_free(&want);
    return check_end();
}
