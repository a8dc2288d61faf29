/* SPDX-License-Identifier: MIT */
#include "engine/base/crew.h"
#include "engine/base/float_mode.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_LOOKS 4000                 /* for the last shares, before the thread sleeps */
#define LOOKS_A_CLOCK 128               /* looks of a helper between two looks at the clock */
#define WORK_NS_MOST UINT64_C(50000000) /* then a helper rests */
#define STACK_BYTES ((size_t) 1 << 20)

/* A ticket: the number of the piece of work, its shares, and the next one to take. */
#define TICKET(number, n, next) ((uint64_t) (number) << 32 | (uint64_t) (n) << 16 | (next))
#define TICKET_N(t) ((unsigned) ((t) >> 16 & 0xffff))
#define TICKET_NEXT(t) ((unsigned) ((t) &0xffff))

#define LEFT_WAITED 0x10000u /* somebody sleeps until the last share is done */

typedef void share_fn(void *arg, unsigned i);

struct helper {
    struct crew *crew;
    pthread_t thread;
    sem_t wake;
    atomic_bool sleeps;
    uint64_t awake_ns; /* since then */
};

/* fn and arg may only be believed once a share of their ticket was taken: they are written anew
 * for the next piece of work while a late helper still reads them. */
struct crew {
    _Alignas(64) _Atomic uint64_t ticket;
    _Atomic(share_fn *) fn;
    _Atomic(void *) arg;
    _Alignas(64) atomic_uint left; /* shares that are not done, LEFT_WAITED beside them */
    _Alignas(64) atomic_bool busy;
    atomic_bool stop;
    uint32_t number;
    unsigned threads, started;
    uint64_t spin_ns;
    pid_t pid;
    sem_t done;
    struct helper helper[CREW_THREADS_MAX - 1];
};

static inline void look_again(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static void sem_take(sem_t *s)
{
    while (sem_wait(s) < 0 && errno == EINTR)
        ;
}

/* ---- shares ---- */

/* Does a share if one is left; whether it was. */
static bool share_do(struct crew *c)
{
    uint64_t t = atomic_load_explicit(&c->ticket, memory_order_acquire);
    share_fn *fn = atomic_load_explicit(&c->fn, memory_order_relaxed);
    void *arg = atomic_load_explicit(&c->arg, memory_order_relaxed);
    if (TICKET_NEXT(t) >= TICKET_N(t))
        return false;
    if (!atomic_compare_exchange_strong(&c->ticket, &t, t + 1))
        return true; /* somebody was faster: look again */
    fn(arg, TICKET_NEXT(t));
    if (atomic_fetch_sub_explicit(&c->left, 1, memory_order_acq_rel) == (1 | LEFT_WAITED))
        sem_post(&c->done);
    return true;
}

static bool shares_are_left(struct crew *c)
{
    uint64_t t = atomic_load(&c->ticket);
    return TICKET_NEXT(t) < TICKET_N(t);
}

/* ---- helpers ---- */

/* Real-time threads that do not sleep for long lose their priority, or the process its life
 * (RLIMIT_RTTIME): between two shares a helper does, for a moment. Returns now. */
static uint64_t rest(struct helper *h)
{
    uint64_t now = now_ns();
    if (now - h->awake_ns < WORK_NS_MOST)
        return now;
    nanosleep(&(const struct timespec) { .tv_nsec = 1000 }, NULL);
    return h->awake_ns = now_ns();
}

/* Until there is work, at most for spin_ns. */
static bool work_comes(struct helper *h)
{
    struct crew *c = h->crew;
    const uint64_t until_ns = rest(h) + c->spin_ns;
    do {
        for (unsigned i = 0; i < LOOKS_A_CLOCK; i++) {
            uint64_t t = atomic_load_explicit(&c->ticket, memory_order_relaxed);
            if (TICKET_NEXT(t) < TICKET_N(t))
                return true;
            look_again();
        }
    } while (now_ns() < until_ns);
    return false;
}

/* Both sides write first and then read, in one total order: either the helper sees the work, or who
 * has it sees that the helper sleeps. */
static void helper_sleep(struct helper *h)
{
    struct crew *c = h->crew;
    atomic_store(&h->sleeps, true);
    if ((shares_are_left(c) || atomic_load(&c->stop)) && atomic_exchange(&h->sleeps, false))
        return;
    sem_take(&h->wake);
    h->awake_ns = now_ns();
}

static void *helper_main(void *arg)
{
    struct helper *h = arg;
    struct crew *c = h->crew;
    floats_flush();
    while (!atomic_load(&c->stop)) {
        while (share_do(c))
            ;
        if (!work_comes(h))
            helper_sleep(h);
    }
    return NULL;
}

static void helper_wake(struct helper *h)
{
    if (atomic_load(&h->sleeps) && atomic_exchange(&h->sleeps, false))
        sem_post(&h->wake);
}

/* ---- one piece of work ---- */

static void shares_await(struct crew *c)
{
    for (unsigned i = 0; i < WAIT_LOOKS; i++) {
        if (!atomic_load_explicit(&c->left, memory_order_acquire))
            return;
        look_again();
    }
    if (atomic_fetch_or_explicit(&c->left, LEFT_WAITED, memory_order_acq_rel))
        sem_take(&c->done);
}

bool crew_run(struct crew *c, void (*share)(void *arg, unsigned i), void *arg, unsigned n)
{
    if (atomic_exchange_explicit(&c->busy, true, memory_order_acquire))
        return false;
    atomic_store_explicit(&c->fn, share, memory_order_relaxed);
    atomic_store_explicit(&c->arg, arg, memory_order_relaxed);
    atomic_store_explicit(&c->left, n, memory_order_relaxed);
    atomic_store(&c->ticket, TICKET(++c->number, n, 0));
    for (unsigned i = 0; i < c->started && i + 1 < n; i++)
        helper_wake(&c->helper[i]);
    while (share_do(c))
        ;
    shares_await(c);
    atomic_store_explicit(&c->busy, false, memory_order_release);
    return true;
}

/* ---- life ---- */

static int helpers_start(struct crew *c)
{
    pthread_attr_t attr;
    sigset_t all, old;
    int err = pthread_attr_init(&attr);
    if (err)
        return err;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (unsigned i = 0; i + 1 < c->threads && !err; i++) {
        struct helper *h = &c->helper[i];
        h->crew = c;
        sem_init(&h->wake, 0, 0);
        err = pthread_create(&h->thread, &attr, helper_main, h);
        c->started += !err;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return err;
}

rill_status crew_new(struct crew **ret, unsigned threads, unsigned spin_us, rill_error *reterr)
{
    struct crew *c = aligned_alloc(64, (sizeof *c + 63) / 64 * 64);
    if (!c)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    memset(c, 0, sizeof *c);
    c->threads = threads;
    c->spin_ns = (uint64_t) spin_us * 1000;
    c->pid = getpid();
    sem_init(&c->done, 0, 0);
    int err = helpers_start(c);
    if (err) {
        unsigned made = c->started;
        crew_free(c);
        return err_set(reterr, RILL_NOMEM, "only %u of %u threads could be started: %s", made,
                       threads - 1, strerror(err));
    }
    *ret = c;
    return RILL_OK;
}

struct crew *crew_free(struct crew *c)
{
    if (!c)
        return NULL;
    atomic_store(&c->stop, true);
    for (unsigned i = 0; i < c->started && c->pid == getpid(); i++) {
        helper_wake(&c->helper[i]);
        pthread_join(c->helper[i].thread, NULL);
    }
    free(c);
    return NULL;
}

unsigned crew_threads(const struct crew *c)
{
    return c->threads;
}
