/* SPDX-License-Identifier: MIT */
/* Many connections one after another leave nothing behind; hostile neighbours change no bit of a
 * stream. Models are those of fake_rill.c, or the default one. FAULTS_LONG=1: 100,000 connections.
 */
#include "tests/faults/faults.h"

#include <math.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define CYCLES_QUICK 500
#define CYCLES_LONG 100000
#define WARM_CYCLES 300
#define RSS_GROWTH_KIB 1024
#define CLEAN 31
#define FRAMES 16000

static struct rig rig;

/* ---- in bulk ---- */

static bool cycle_play(unsigned i)
{
    struct rill_client_open o = { .in = { 16000, 1, RILL_CLIENT_F32 },
                                  .pace = i % 2 ? RILL_CLIENT_LIVE : RILL_CLIENT_FILE,
                                  .align = true };
    static float x[1024];
    struct rill_client *c = NULL;
    bool good = rill_client_connect(&c, rig.sock, "soak", 20000) == 0 &&
        rill_client_open(c, 1, &o, NULL) == 0 && rill_client_send(c, 1, x, sizeof x) == 0;
    if (good && i % 3 == 0)
        good = rill_client_finish(c, 1, NULL) == 0;
    else if (good && i % 3 == 1)
        good = rill_client_cancel(c, 1) == 0;
    CHECK(good, "cycle %u: %s", i, rill_client_error(c));
    rill_client_free(c);
    return good;
}

static void test_cycles(void)
{
    unsigned n = faults_long() ? CYCLES_LONG : CYCLES_QUICK, i = 0;
    while (i < WARM_CYCLES && cycle_play(i))
        i++;
    usleep(500000);
    uint64_t rss = rss_kib(&rig);
    unsigned fds = fds_of(&rig);
    for (i = 0; i < n && cycle_play(i); i++)
        ;
    usleep(500000);
    CHECK(i == n);
    CHECK(wait_fds(&rig, fds), "%u descriptors, %u before", fds_of(&rig), fds);
    for (uint64_t end = now_ms() + 10000; rss_kib(&rig) > rss + RSS_GROWTH_KIB && now_ms() < end;)
        usleep(50000); /* what the last ones took is given back */
    CHECK(fault_sanitized() || rss_kib(&rig) <= rss + RSS_GROWTH_KIB, "%llu KiB, %llu before",
          LLU(rss_kib(&rig)), LLU(rss));
    printf("%u cycles: %llu KiB before, %llu after, %u descriptors\n", n, LLU(rss),
           LLU(rss_kib(&rig)), fds);
}

/* ---- neighbours ---- */

struct player {
    pthread_t thread;
    uint32_t seed, piece; /* frames that are sent at once */
    float bad;            /* 0: noise; else all samples */
    struct result r;
    char err[512];
    bool good;
};

static void *player_main(void *arg)
{
    struct player *p = arg;
    static const uint32_t rates[] = { 16000, 48000, 44100, 16000, 8000 };
    uint32_t seed = p->seed, channels = 1 + seed / 5 % 2;
    struct rill_client_open o = OPEN(FILE, rates[seed % 5], channels, F32, .align = seed % 3);
    float *x = malloc(FRAMES * channels * sizeof *x);
    for (uint32_t i = 0; i < FRAMES * channels; i++)
        x[i] = p->bad != 0 ? p->bad : noise(&seed);
    p->good = stream_whole(rig.sock, &o, x, FRAMES, channels * sizeof *x, p->piece, &p->r, p->err);
    free(x);
    return NULL;
}

/* Opens, sends what the credit allows, and never reads again. */
static int never_reading(void)
{
    static float x[800];
    int fd = raw_hello(rig.sock);
    OPEN_FRAME(f, o, 1, "", 16000, F32LE);
    o.pace = RILL__PACE__PACE_LIVE;
    raw_frame(fd, &f);
    usleep(200000);
    for (uint32_t i = 0; i < 2; i++)
        raw_audio(fd, 1, i, i * 800, false, x, 800);
    return fd;
}

static void test_isolation(void)
{
    static struct player alone[CLEAN], beside[CLEAN + 1];
    for (unsigned i = 0; i < CLEAN; i++) {
        alone[i] = (struct player) { .seed = i + 1, .piece = 160 + i % 700 };
        player_main(&alone[i]);
        CHECK(alone[i].good, "%s", alone[i].err);
    }
    int silent = never_reading();
    for (unsigned i = 0; i <= CLEAN; i++) {
        beside[i] =
            (struct player) { .seed = i + 1, .piece = 61 + 97 * i, .bad = i == CLEAN ? NAN : 0 };
        CHECK(pthread_create(&beside[i].thread, NULL, player_main, &beside[i]) == 0);
    }
    for (unsigned i = 0; i <= CLEAN; i++)
        pthread_join(beside[i].thread, NULL);
    for (unsigned i = 0; i < CLEAN; i++) {
        CHECK(beside[i].good, "stream %u: %s", i, beside[i].err);
        CHECK(!beside[i].good || result_same(&beside[i].r, &alone[i].r),
              "stream %u beside the others", i);
        result_free(&alone[i].r);
        result_free(&beside[i].r);
    }
    CHECK(beside[CLEAN].good && beside[CLEAN].r.fin.not_finite == FRAMES, "%s", beside[CLEAN].err);
    result_free(&beside[CLEAN].r);
    close(silent);
}

int main(void)
{
    rig_start(&rig, "[limits]\nmax_streams_per_connection = 4\nrtf_budget = 1000\n");
    test_cycles();
    test_isolation();
    CHECK(rig_stop(&rig) == 0);
    return check_end();
}
