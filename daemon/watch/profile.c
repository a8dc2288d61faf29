/* SPDX-License-Identifier: MIT */
/* CtlWorst: the slowest pulses, and the slowest steps of a model. Compute threads do not time
 * steps, which would cost every pulse. When asked, a plan made for profiling is run on noise, on a
 * thread of its own. */
#include "daemon/watch/profile.h"
#include "daemon/compute/plan_ports.h"
#include "daemon/base/conf.h"
#include "daemon/base/text.h"
#include "daemon/base/worst.h"
#include "daemon/compute/work.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/net/net.h"
#include "daemon/serve/daemon.h"

#include <time.h>

#define PROFILE_PULSES 64
#define PROFILE_STEPS 24 /* reported at most */
#define PROFILE_STEPS_MAX 8192
#define PROFILE_PAUSE_NS 2000000 /* between pulses, to leave the processor to streams */

struct profile_job {
    uv_work_t work;
    struct daemon *daemon;
    uint32_t conn, req;
    char model[65];
    rill_plan *of, *plan; /* of the model; and its copy that times steps, which owns their names */
    uint64_t max_bytes;
    uint32_t rate, n_pulses, pulse_samples;
    int audio_in;
    rill_step_time *steps;
    unsigned n_steps;
    rill_status status;
    rill_error error;
};

/* ---- the reply ---- */

struct worst_message {
    Rill__WorstPulse pulses[WORST_KEPT], *pulse_pointers[WORST_KEPT];
    Rill__StepTime steps[PROFILE_STEPS], *step_pointers[PROFILE_STEPS];
};

static void pulses_fill(struct worst_message *x, Rill__WorstReply *a, struct daemon *d,
                        const char *model)
{
    const struct worst_pulse *list[WORST_KEPT];
    a->n_pulses = worst_sorted(d->worst, model, list);
    a->pulses = x->pulse_pointers;
    for (size_t i = 0; i < a->n_pulses; i++) {
        Rill__WorstPulse *p = x->pulse_pointers[i] = &x->pulses[i];
        rill__worst_pulse__init(p);
        p->when_us = list[i]->wall_us;
        p->model = (char *) (uintptr_t) list[i]->model;
        p->serial = list[i]->serial;
        p->uid = list[i]->uid;
        p->queue_us = list[i]->queue_us;
        p->compute_us = list[i]->compute_us;
        p->batch = list[i]->batch;
        p->pulse_us = list[i]->pulse_us;
        p->live = list[i]->live;
    }
}

static int by_total(const void *a, const void *b)
{
    uint64_t x = ((const rill_step_time *) a)->total_ns, y = ((const rill_step_time *) b)->total_ns;
    return x > y ? -1 : x < y;
}

static void steps_fill(struct worst_message *x, Rill__WorstReply *a, const struct profile_job *j)
{
    a->profiled_pulses = j->n_pulses;
    a->steps = x->step_pointers;
    for (; a->n_steps < j->n_steps && a->n_steps < PROFILE_STEPS; a->n_steps++) {
        const rill_step_time *from = &j->steps[a->n_steps];
        Rill__StepTime *s = x->step_pointers[a->n_steps] = &x->steps[a->n_steps];
        rill__step_time__init(s);
        s->step = (char *) (uintptr_t) (from->step && text_valid(from->step) ? from->step : "?");
        s->kernel =
            (char *) (uintptr_t) (from->kernel && text_valid(from->kernel) ? from->kernel : "");
        s->runs = from->runs;
        s->total_ns = from->total_ns;
        s->worst_ns = from->worst_ns;
    }
}

/* j: NULL without steps. */
static void answer_send(struct conn *c, uint32_t req, const char *model,
                        const struct profile_job *j)
{
    struct worst_message x;
    Rill__WorstReply a = RILL__WORST_REPLY__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    pulses_fill(&x, &a, c->daemon, model);
    if (j)
        steps_fill(&x, &a, j);
    f.m_case = RILL__SERVER_FRAME__M_CTL_WORST;
    f.ctl_worst = &a;
    while (a.n_pulses && !conn_takes(c, &f))
        a.n_pulses--;
    conn_send(c, req, &f);
}

/* ---- timing the steps, on a thread of its own ---- */

static void outputs_drop(rill_stream *s, const rill_port *ports, unsigned n_ports, void *buf)
{
    size_t n;
    for (unsigned i = 0; i < n_ports; i++)
        while (!ports[i].is_input && rill_stream_pull(s, i, buf, 1, &n) == RILL_OK && n)
            ;
}

static void pulses_run(struct profile_job *j, rill_stream *s, const rill_port *ports,
                       unsigned n_ports, float *in, float *out)
{
    struct timespec pause = { 0, PROFILE_PAUSE_NS };
    uint32_t seed = 1;
    size_t took;
    for (; j->n_pulses < PROFILE_PULSES; j->n_pulses++) {
        for (unsigned p = 0; p < n_ports && ports[p].is_input; p++) {
            memset(in, 0, (size_t) ports[p].pulse_frames * ports[p].width * ports[p].element_bytes);
            for (uint32_t i = 0; (int) p == j->audio_in && i < j->pulse_samples; i++) {
                seed = seed * 1664525u + 1013904223u;
                in[i] = (float) (int32_t) seed * 0x1p-34f;
            }
            rill_stream_push(s, p, in, ports[p].pulse_frames, &took);
        }
        if (rill_stream_run(s) == RILL_INVALID)
            rill_stream_reset(s);
        outputs_drop(s, ports, n_ports, out);
        nanosleep(&pause, NULL);
    }
}

/* Bytes of a pulse. */
static size_t pulse_most(const rill_port *ports, unsigned n)
{
    size_t most = 1;
    for (unsigned i = 0; i < n; i++) {
        size_t bytes = (size_t) ports[i].pulse_frames * ports[i].width * ports[i].element_bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void profile_run(uv_work_t *w)
{
    struct profile_job *j = w->data;
    rill_plan_opts opts = { .struct_bytes = sizeof opts, .profile = 1, .max_bytes = j->max_bytes };
    j->status = rill_plan_new(&j->plan, rill_plan_model(j->of), &opts, &j->error);
    if (j->status != RILL_OK)
        return;
    size_t bytes = (rill_plan_stream_size(j->plan) + 63) & ~(size_t) 63;
    void *mem = aligned_alloc(64, bytes ? bytes : 64);
    unsigned n_ports = 0;
    rill_port *ports = plan_ports(j->plan, &n_ports);
    float *in = malloc(pulse_most(ports, n_ports)), *out = malloc(pulse_most(ports, n_ports));
    j->steps = calloc(PROFILE_STEPS_MAX, sizeof *j->steps);
    if (ports && mem && in && out && j->steps) {
        rill_thread_prepare();
        rill_stream *s = rill_stream_init(mem, j->plan);
        pulses_run(j, s, ports, n_ports, in, out);
        j->steps->struct_bytes = sizeof *j->steps;
        unsigned n = rill_stream_profile(s, j->steps, PROFILE_STEPS_MAX);
        j->n_steps = n < PROFILE_STEPS_MAX ? n : PROFILE_STEPS_MAX;
        qsort(j->steps, j->n_steps, sizeof *j->steps, by_total);
    } else {
        j->status = RILL_NOMEM;
        snprintf(j->error.text, sizeof j->error.text, "out of memory");
    }
    free(ports);
    free(mem);
    free(in);
    free(out);
}

static void profile_done(uv_work_t *w, int status)
{
    struct profile_job *j = w->data;
    struct conn *c = conn_find(j->daemon->net, j->conn);
    (void) status;
    if (c && j->status != RILL_OK)
        conn_error(c, j->req, 0, RILL__CODE__MODEL_FAILED, false, "%s: %s", j->model,
                   j->error.text);
    else if (c)
        answer_send(c, j->req, j->model, j);
    j->daemon->profiling = false;
    rill_plan_unref(j->plan);
    rill_plan_unref(j->of);
    free(j->steps);
    free(j);
}

static void profile_start(struct conn *c, uint32_t req, const struct model *m)
{
    struct daemon *d = c->daemon;
    struct profile_job *j = d->profiling ? NULL : calloc(1, sizeof *j);
    if (d->profiling) {
        conn_error(c, req, 0, RILL__CODE__OVERLOADED, false, "another model is being profiled");
        return;
    }
    if (j) {
        *j = (struct profile_job) { .daemon = d,
                                    .conn = c->id,
                                    .req = req,
                                    .of = rill_plan_ref(m->lane.plan),
                                    .rate = m->lane.rate,
                                    .pulse_samples = m->lane.pulse_samples,
                                    .audio_in = m->lane.audio_in,
                                    .max_bytes = d->conf->models_max_model_bytes };
        memcpy(j->model, m->name, sizeof j->model);
        j->work.data = j;
    }
    d->profiling = j && work_start(d->loop, &j->work, profile_run, profile_done) == 0;
    if (d->profiling)
        return;
    conn_error(c, req, 0, RILL__CODE__INTERNAL, false, "out of memory or threads");
    if (j)
        rill_plan_unref(j->of);
    free(j);
}

void worst_reply(struct conn *c, uint32_t req, const char *model, bool profile)
{
    const struct model *m = c->daemon->registry->models;
    while (m && strcmp(m->name, model) != 0)
        m = m->next;
    if (!profile)
        answer_send(c, req, model, NULL);
    else if (!m || m->state != MODEL_READY)
        conn_error(c, req, 0, RILL__CODE__NO_MODEL, false,
                   "only a model that is loaded can be profiled");
    else
        profile_start(c, req, m);
}
