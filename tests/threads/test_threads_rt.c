/* SPDX-License-Identifier: MIT */
/* Runs of plans with a pool allocate nothing, lock nothing and write nothing, whether its threads
 * are asleep, look for work, or work for somebody else. */
#include "engine/plan/shares.h"
#include "lib/plan_internal.h"
#include "tests/check.h"
#include "tests/rt/guard.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct run {
    rill_stream *s;
    unsigned hits, ran;
};

static void runs_guarded(struct run *r, const float *x, float *y, const rill_port *ports,
                         bool pauses)
{
    size_t n;
    for (int k = 0; k < 8; k++) {
        if (pauses)
            nanosleep(&(struct timespec) { .tv_nsec = 2000000 }, NULL);
        guard_enter();
        rill_stream_push(r->s, 0, x, ports[0].pulse_frames, &n);
        r->ran += rill_stream_run(r->s) == RILL_OK;
        rill_stream_pull(r->s, 1, y, ports[1].pulse_frames, &n);
        r->hits += guard_leave();
    }
}

/* A share of the pool's work that runs the stream, which finds the pool at work. */
struct busy {
    struct run *run;
    const float *x;
    float *y;
    const rill_port *ports;
};

static void busy_share(void *arg, unsigned i)
{
    const struct busy *b = arg;
    if (i == 0)
        runs_guarded(b->run, b->x, b->y, b->ports, false);
}

static void plan_test(rill_plan *p, rill_pool *pool)
{
    rill_port ports[2] = { { .struct_bytes = sizeof *ports } };
    rill_plan_ports(p, ports, 2);
    float *x = calloc((size_t) ports[0].pulse_frames * ports[0].width, sizeof *x),
          *y = calloc((size_t) ports[1].pulse_frames * ports[1].width, sizeof *y);
    struct run r = {
        rill_stream_init(aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63), p), 0, 0
    };
    runs_guarded(&r, x, y, ports, false);
    CHECK(!r.hits, "a pulse allocates, locks or writes");
    runs_guarded(&r, x, y, ports, true);
    CHECK(!r.hits, "a pulse that wakes the pool allocates, locks or writes");
    struct busy b = { &r, x, y, ports };
    CHECK(crew_run(pool->crew, busy_share, &b, 2) && !r.hits,
          "a pulse that finds the pool at work allocates, locks or writes");
    CHECK(r.ran == 24, "%u of 24 pulses ran", r.ran);
    free(r.s);
    free(x);
    free(y);
}

/* Calls of crew_run, which the linker puts this in the place of. */
static unsigned n_asked;
bool __real_crew_run(struct crew *c, void (*share)(void *arg, unsigned i), void *arg, unsigned n);
bool __wrap_crew_run(struct crew *c, void (*share)(void *arg, unsigned i), void *arg, unsigned n);
bool __wrap_crew_run(struct crew *c, void (*share)(void *arg, unsigned i), void *arg, unsigned n)
{
    n_asked++;
    return __real_crew_run(c, share, arg, n);
}

/* How often a pulse of the stream asks for the pool's help. */
static unsigned asked(rill_stream *s, const rill_port *ports, float *x, float *y)
{
    size_t n;
    n_asked = 0;
    rill_stream_push(s, 0, x, ports[0].pulse_frames, &n);
    rill_stream_run(s);
    rill_stream_pull(s, 1, y, ports[1].pulse_frames, &n);
    return n_asked;
}

static void alone_test(const rill_plan *p)
{
    rill_port ports[2] = { { .struct_bytes = sizeof *ports } };
    rill_plan_info info = { .struct_bytes = sizeof info };
    rill_plan_ports(p, ports, 2);
    rill_plan_get_info(p, &info);
    float *x = calloc((size_t) ports[0].pulse_frames * ports[0].width, sizeof *x),
          *y = calloc((size_t) ports[1].pulse_frames * ports[1].width, sizeof *y);
    rill_stream *s =
        rill_stream_init(aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63), p);
    CHECK(info.threads == 2 && info.shared_steps > 4, "%u threads, %u steps", info.threads,
          info.shared_steps);
    CHECK(asked(s, ports, x, y) == info.shared_steps, "%u times", n_asked);
    rill_stream_alone(s, 1);
    CHECK(asked(s, ports, x, y) == 0, "%u times alone", n_asked);
    rill_stream_reset(s);
    CHECK(asked(s, ports, x, y) == 0, "%u times alone after a reset", n_asked);
    rill_stream_alone(s, 0);
    CHECK(asked(s, ports, x, y) == info.shared_steps, "%u times again", n_asked);
    free(s);
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    const rill_pool_opts threads = { .struct_bytes = sizeof threads, .threads = 2 };
    const struct plan_opts all = { .share_effort = 1 };
    rill_error err = { 0 };
    rill_model *m;
    rill_plan *p;
    rill_plan_opts opts = { .struct_bytes = sizeof opts };
    if (argc < 2 || rill_model_open(&m, argv[1], &err) != RILL_OK ||
        rill_pool_new(&opts.pool, &threads, &err) != RILL_OK ||
        plan_new_as(&p, m, &opts, &all, &err) != RILL_OK) {
        CHECK(false, "%s", err.text);
        return check_done();
    }
    CHECK(p->plan->n_shared_steps > 4, "%u steps are divided", p->plan->n_shared_steps);
    plan_test(p, opts.pool);
    alone_test(p);
    rill_plan_unref(p);
    rill_pool_free(opts.pool);
    rill_model_free(m);
    return check_done();
}
