/* SPDX-License-Identifier: MIT */
#include "daemon/serve/meter.h"
#include "daemon/base/clock.h"
#include "daemon/base/cost.h"
#include "daemon/base/lifecycle.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pool.h"
#include "daemon/compute/work.h"
#include "daemon/compute/worker.h"
#include "daemon/models/load.h"
#include "daemon/models/registry.h"
#include "daemon/serve/admit.h"
#include "daemon/serve/claim.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Estimates until there are readings, as multiples of sending an empty message: for a pulse in and
 * out on the loop, and for the work around the model on a compute thread. They are more than the
 * system calls, since with many streams caches are cold. */
#define LOOP_PASSES 12
#define THREAD_PASSES 6
#define PASSES 64
#define PASS_ROUNDS 16
#define PASS_BYTES 600

#define SPENT_HALF_NS 2e6 /* spent in a tick: it weighs half */
#define FACTOR_STEP 0.3
#define FACTOR_MOST 2.5       /* a larger factor is due to other work */
#define SHARE_STEP 0.05       /* of a tick in the moving average: about two seconds */
#define AUDIO_LEAST_NS 0.25e9 /* of audio for a reading */
#define PULSES_LEAST 16
#define WEIGHT_FULL 0.25 /* of the budget: readings at less load weigh less */

/* ---- at start ---- */

static double pass_measure(int fds[2], int event)
{
    char bytes[PASS_BYTES] = { 0 };
    uint64_t n, began_ns = thread_cpu_ns(pthread_self());
    for (unsigned k = 0; k < PASSES; k++)
        if (write(fds[0], bytes, sizeof bytes) < 0 || read(fds[1], bytes, sizeof bytes) < 0 ||
            eventfd_write(event, 1) < 0 || read(event, &n, sizeof n) < 0)
            break;
    return (double) (thread_cpu_ns(pthread_self()) - began_ns) / PASSES;
}

void meter_start(struct daemon *d)
{
    int fds[2], event = eventfd(0, EFD_CLOEXEC);
    double best = 0;
    if (event < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        if (event >= 0)
            close(event);
        return;
    }
    for (unsigned k = 0; k < PASS_ROUNDS; k++) {
        double ns = pass_measure(fds, event);
        best = !k || ns < best ? ns : best;
    }
    close(fds[0]);
    close(fds[1]);
    close(event);
    d->registry->pulse_ns = THREAD_PASSES * best;
    d->metering->loop.factor = 1;
    cost_probe(&d->metering->pulse_cost, (float) (LOOP_PASSES * best), (float) (LOOP_PASSES * best),
               clock_now_us());
}

/* ---- the tick ---- */

uint64_t meter_charge_loop(struct daemon *d, struct session *s, uint64_t since_us)
{
    uint64_t now_us = clock_now_us();
    double ns = (double) (now_us - since_us) * 1000;
    d->metering->loop.spent_ns += ns;
    if (s)
        s->loop_ns += ns;
    return now_us;
}

static double delta(_Atomic uint64_t *from, uint64_t *told)
{
    uint64_t now = atomic_load_explicit(from, memory_order_relaxed), n = now - *told;
    *told = now;
    return (double) n;
}

/* Returns the processor time that its lane took since the last tick. */
static double session_read(struct session *s)
{
    struct lane *l = s->lane;
    double spent = delta(&l->spent_ns, &s->seen_spent_ns), ran = delta(&l->ran_ns, &s->seen_ran_ns),
           n = delta(&l->n_ran, &s->seen_ran), f = s->worker->meter.factor;
    const double spread = s->live ? spread_of(s->model) : 1;
    s->worker->meter.spent_ns += spent;
    if (s->live && n > 0) {
        cost_add(&s->model->cost, ran * f * spread, ran * spread, n * pulse_ns_of(s->model));
        cost_add(&s->daemon->metering->pulse_cost, s->loop_ns * s->daemon->metering->loop.factor,
                 s->loop_ns, n);
    }
    return spent * f * spread;
}

void meter_session(struct session *s)
{
    if (s->lane)
        session_read(s);
    s->loop_ns = 0;
}

static void session_tick(struct session *s, double took_ns)
{
    double cpu = session_read(s), loop = s->loop_ns * s->daemon->metering->loop.factor;
    s->used.compute += (cpu / took_ns - s->used.compute) * SHARE_STEP;
    s->used.loop += (loop / took_ns - s->used.loop) * SHARE_STEP;
    s->loop_ns = 0;
    s->n_messages = 0;
}

static void meter_read(struct meter *m, uint64_t cpu_ns, uint64_t busy_ns, double took_ns)
{
    double cpu = (double) (cpu_ns - m->cpu_ns), x = cpu / (m->spent_ns + 1);
    if (took_ns > 0)
        contention_tick(&m->contention, cpu_ns - m->cpu_ns, busy_ns - m->busy_ns,
                        (uint64_t) took_ns);
    if (took_ns > 0 && m->spent_ns > 0) {
        double weight = m->spent_ns / (m->spent_ns + SPENT_HALF_NS);
        x = x < FACTOR_MOST ? x : FACTOR_MOST;
        m->factor += (x - m->factor) * FACTOR_STEP * weight;
    }
    m->cpu_ns = cpu_ns;
    m->busy_ns = busy_ns;
    m->spent_ns = 0;
}

static void model_tick(struct model *m, double weight, uint64_t now_us)
{
    if (m->state != MODEL_READY)
        return;
    cost_tick(&m->cost, AUDIO_LEAST_NS, weight, now_us);
    m->rtf = m->cost.price;
}

void meter_tick(struct daemon *d, uint64_t now_us)
{
    double weight = d->admission->load.all / (WEIGHT_FULL * admit_budget(d).all);
    double took_ns = d->metering->at_us ? (double) (now_us - d->metering->at_us) * 1000 : 0;
    d->metering->at_us = now_us;
    for (struct session *s = d->sessions->first; s && took_ns > 0; s = s->next)
        if (s->lane && s->worker && !s->gone) {
            session_tick(s, took_ns);
            model_tick(s->model, weight,
                       now_us); /* covers old versions, which are not in the registry */
        }
    for (struct model *m = d->registry->models; m; m = m->next)
        model_tick(m, weight, now_us);
    for (unsigned i = 0; i < d->pool->n; i++) {
        struct worker *w = &d->pool->workers[i];
        meter_read(&w->meter, thread_cpu_ns(w->thread),
                   atomic_load_explicit(&w->busy_us, memory_order_relaxed) * 1000, took_ns);
    }
    meter_read(&d->metering->loop, thread_cpu_ns(pthread_self()),
               now_us * 1000 - uv_metrics_idle_time(d->loop), took_ns);
    cost_tick(&d->metering->pulse_cost, PULSES_LEAST, weight, now_us);
}

/* ---- probing again ---- */

struct probe_job {
    uv_work_t work;
    struct daemon *daemon;
    struct model *model;
    rill_status status;
    float rtf, wall;
};

static void on_probe(uv_work_t *w)
{
    struct probe_job *a = w->data;
    a->status = model_probe(a->model, &a->rtf, &a->wall);
}

static void on_probed(uv_work_t *w, int status)
{
    struct probe_job *a = w->data;
    a->daemon->metering->probing = false;
    if (status == 0 && a->status == RILL_OK)
        registry_set_price(a->daemon->registry, a->model, a->rtf, a->wall);
    registry_unref(a->model);
    free(a);
}

static void probe_start(struct daemon *d, struct model *m)
{
    struct probe_job *a = calloc(1, sizeof *a);
    if (!a)
        return;
    *a = (struct probe_job) { .daemon = d, .model = registry_ref(m) };
    a->work.data = a;
    d->metering->probing = work_start(d->loop, &a->work, on_probe, on_probed) == 0;
    if (d->metering->probing)
        return;
    registry_unref(m);
    free(a);
}

void meter_idle(struct daemon *d, uint64_t now_us)
{
    if (d->metering->probing || d->life->draining || d->admission->load.compute > 0)
        return;
    for (struct model *m = d->registry->models; m; m = m->next)
        if (m->state == MODEL_READY && cost_wants_probe(&m->cost, now_us)) {
            probe_start(d, m);
            return;
        }
}
