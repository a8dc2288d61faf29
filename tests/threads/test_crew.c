/* SPDX-License-Identifier: MIT */
/* A crew does each share once, whoever is late; two at once are told apart; it ends asleep and
 * awake; a child of fork works alone; too many threads are refused with words. */
#include "engine/base/crew.h"
#include "tests/check.h"
#include <rill.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

struct work {
    uint32_t round;
    uint32_t seen[CREW_THREADS_MAX]; /* plain: whoever has the share has it alone */
    uint32_t out[CREW_THREADS_MAX];
};

static void work_share(void *arg, unsigned i)
{
    struct work *w = arg;
    w->seen[i]++;
    w->out[i] = w->round * 31 + i;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec) { .tv_nsec = ms * 1000000 }, NULL);
}

static struct crew *crew_of(unsigned threads, unsigned spin_us)
{
    struct crew *c = NULL;
    rill_error err;
    if (crew_new(&c, threads, spin_us, &err) != RILL_OK) {
        puts(err.text);
        exit(1);
    }
    return c;
}

/* Rounds one after the other; with pauses the helpers are asleep in between. */
static void rounds_test(unsigned threads, unsigned spin_us, uint32_t rounds, bool pauses)
{
    struct crew *c = crew_of(threads, spin_us);
    unsigned wrong = 0;
    for (uint32_t r = 1; r <= rounds; r++) {
        const unsigned n = 1 + r % CREW_THREADS_MAX;
        struct work w = { .round = r };
        if (pauses && r % 16 == 0)
            pause_ms(1);
        wrong += !crew_run(c, work_share, &w, n);
        for (unsigned i = 0; i < n; i++)
            wrong += w.seen[i] != 1 || w.out[i] != r * 31 + i;
        wrong += n < CREW_THREADS_MAX && w.seen[n];
    }
    check(wrong == 0, "each share is done once", (long) threads);
    crew_free(c);
}

/* ---- two who want it ---- */

static struct crew *shared;
static atomic_uint refused, done;

static void nested_share(void *arg, unsigned i)
{
    struct work inner = { 0 };
    (void) arg, (void) i;
    atomic_fetch_add(&refused, !crew_run(shared, work_share, &inner, 2));
    atomic_fetch_add(&done, 1);
}

struct user {
    unsigned ran, seen[3];
};

static void *user_run(void *arg)
{
    struct user *u = arg;
    struct work w = { .round = 1 };
    for (unsigned i = 0; i < 2000; i++)
        u->ran += crew_run(shared, work_share, &w, 3);
    memcpy(u->seen, w.seen, sizeof u->seen);
    return NULL;
}

static void busy_test(void)
{
    pthread_t t[3];
    struct user u[3] = { { 0 } };
    shared = crew_of(3, 20);
    check(crew_run(shared, nested_share, NULL, 4), "it runs", 0);
    check(atomic_load(&done) == 4 && atomic_load(&refused) == 4, "at work it refuses", 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, user_run, &u[i]);
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
        for (int k = 0; k < 3; k++)
            check(u[i].seen[k] == u[i].ran, "a run that is refused does nothing", i);
    }
    check(u[0].ran + u[1].ran + u[2].ran > 0, "somebody gets it", 0);
    crew_free(shared);
}

/* ---- life ---- */

static void end_test(void)
{
    for (unsigned threads = 1; threads <= CREW_THREADS_MAX; threads += 5) {
        crew_free(crew_of(threads, 1)); /* never used */
        struct crew *c = crew_of(threads, 1);
        struct work w = { 0 };
        crew_run(c, work_share, &w, 2);
        pause_ms(2); /* asleep */
        crew_free(c);
        c = crew_of(threads, 100000);
        crew_run(c, work_share, &w, 2);
        crew_free(c); /* they still look for more */
    }
    check(crew_free(NULL) == NULL, "takes NULL", 0);
}

static void fork_test(void)
{
    struct crew *c = crew_of(4, 50);
    struct work w = { .round = 2 };
    int status = 0;
    crew_run(c, work_share, &w, 4);
    pid_t child = fork();
    if (child == 0) {
        struct work own = { .round = 3 };
        bool ok = crew_run(c, work_share, &own, 4);
        for (unsigned i = 0; i < 4; i++)
            ok = ok && own.seen[i] == 1;
        alarm(20);
        crew_free(c);
        _exit(ok ? 0 : 1);
    }
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of fork works alone", status);
    check(crew_run(c, work_share, &w, 4), "and its parent goes on", 0);
    crew_free(c);
}

/* No address space for stacks: nothing is left behind, and the text counts. */
static int starved(void)
{
    const struct rlimit most = { (rlim_t) 64 << 20, (rlim_t) 64 << 20 };
    const rill_pool_opts opts = { .struct_bytes = sizeof opts, .threads = 16 };
    rill_error err = { 0 };
    rill_pool *p = NULL;
    if (setrlimit(RLIMIT_AS, &most))
        return 77;
    for (size_t bytes = (size_t) 16 << 20; bytes >= (size_t) 1 << 19; bytes /= 2)
        while (mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            ;
    rill_status s = rill_pool_new(&p, &opts, &err);
    return s == RILL_NOMEM && !p && strstr(err.text, "of 15 threads") ? 0 : 1;
}

/* Before any thread was: the system keeps the stacks of those that ended. */
static void starved_test(void)
{
    int status = 0;
    if (SANITIZED) {
        check_skipped++;
        return;
    }
    pid_t child = fork();
    if (child == 0)
        _exit(starved());
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "no room for threads", status);
}

static void refusal_test(void)
{
    rill_pool_opts opts = { .struct_bytes = sizeof opts, .threads = CREW_THREADS_MAX + 1 };
    rill_error err;
    rill_pool *p = NULL;
    check(rill_pool_new(&p, &opts, &err) == RILL_INVALID && !p, "17 threads", 0);
    opts = (rill_pool_opts) { .struct_bytes = sizeof opts, .spin_us = 100001 };
    check(rill_pool_new(&p, &opts, &err) == RILL_INVALID && !p, "spins too long", 0);
    opts = (rill_pool_opts) { .struct_bytes = 0 };
    check(rill_pool_new(&p, &opts, &err) == RILL_INVALID && !p, "no size", 0);
    check(rill_pool_new(&p, NULL, &err) == RILL_OK && rill_pool_threads(p) >= 1, "defaults", 0);
    rill_pool_free(p);
}

int main(void)
{
    starved_test();
    rounds_test(1, 10, 500, false);
    rounds_test(2, 50, 4000, false);
    rounds_test(4, 1, 1000, true);
    rounds_test(CREW_THREADS_MAX, 20, 500, true); /* more than processors */
    busy_test();
    end_test();
    fork_test();
    refusal_test();
    return check_done();
}
