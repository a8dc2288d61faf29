/* SPDX-License-Identifier: MIT */
/* The daemon is told to stop, and to read its settings again, while clients connect, open, send,
 * finish and go: it ends well, in time, and says nothing of a fault. */
#include "tests/daemon/harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#define CLIENTS 6
#define ROUNDS 8

struct crowd {
    const struct rig *rig;
    _Atomic bool over;
    _Atomic unsigned n_came, n_finished;
};

struct guest {
    struct crowd *crowd;
    uint32_t seed;
};

static uint32_t chance(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t) ((uint64_t) *seed * below >> 32);
}

/* One stream, which ends in one of the ways that there are; false: the connection is gone. */
static bool stream_once(struct rill_client *c, uint32_t id, uint32_t *seed, struct crowd *w)
{
    static const char *const names[] = {
        "wiener", "vad", "both", "half", "short", "broken", "one"
    };
    static const int16_t silence[4000];
    const struct rill_client_open o = OPEN(FILE, 16000, 1, S16, .model = names[chance(seed, 7)]);
    struct rill_client_finished f;
    if (rill_client_open(c, id, &o, NULL) < 0)
        return rill_client_error_code(c) != 0;
    for (uint32_t n = chance(seed, 4); n; n--)
        if (rill_client_send(c, id, silence, 2 * (1 + chance(seed, 4000))) < 0)
            return false;
    switch (chance(seed, 4)) {
    case 0: return rill_client_cancel(c, id) == 0;
    case 1: return false;
    default:
        if (rill_client_finish(c, id, &f) < 0)
            return false;
        atomic_fetch_add(&w->n_finished, 1);
        return true;
    }
}

static void *guest_main(void *arg)
{
    struct guest *g = arg;
    while (!atomic_load(&g->crowd->over)) {
        struct rill_client *c = NULL;
        if (rill_client_connect(&c, g->crowd->rig->sock, "storm", 5000) == 0) {
            atomic_fetch_add(&g->crowd->n_came, 1);
            for (uint32_t id = 1; id < 6 && stream_once(c, id, &g->seed, g->crowd); id++)
                ;
        } else {
            usleep(1000);
        }
        rill_client_free(c);
    }
    return NULL;
}

/* Where the settings name models for the start, a reload loads them anew. */
static void round_run(uint32_t seed)
{
    static const char conf[] = "preload = wiener, vad\n[limits]\ndrain_grace_ms = 200\n"
                               "max_connections_per_uid = 64\n[log]\nlevel = error\n";
    struct rig r;
    struct crowd w = { .rig = &r };
    struct guest g[CLIENTS];
    pthread_t t[CLIENTS];
    rig_dir(&r);
    rig_conf(&r, conf);
    CHECK(rig_run(&r));
    for (uint32_t i = 0; i < CLIENTS; i++) {
        g[i] = (struct guest) { &w, seed * 100 + i };
        if (pthread_create(&t[i], NULL, guest_main, &g[i]) != 0)
            give_up("no thread");
    }
    const unsigned n_came = CLIENTS + chance(&seed, 10); /* before the first signal */
    for (uint64_t end = now_ms() + 30000; w.n_came < n_came && now_ms() < end;)
        usleep(1000);
    CHECK(w.n_came >= n_came, "%u connections", w.n_came);
    for (uint32_t i = chance(&seed, 4); i; i--) {
        usleep(20000 + chance(&seed, 60000));
        kill(r.pid, SIGHUP);
    }
    usleep(chance(&seed, 150000));
    kill(r.pid, SIGTERM);
    const int rc = rig_wait(&r, 30000);
    CHECK(rc == 0, "exit code %d:\n%s", rc, rig_log(&r));
    CHECK(!strstr(rig_log(&r), "ERROR") && !strstr(rig_log(&r), "WARNING"), "%s", rig_log(&r));
    atomic_store(&w.over, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(t[i], NULL);
    printf("%u connections, %u whole streams\n", w.n_came, w.n_finished);
    rig_clean(&r);
}

int main(int argc, char **argv)
{
    const uint32_t rounds = argc > 1 ? (uint32_t) atoi(argv[1]) : ROUNDS;
    signal(SIGPIPE, SIG_IGN);
    for (uint32_t i = 1; i <= rounds; i++)
        round_run(i);
    return check_end();
}
