/* SPDX-License-Identifier: MIT */
#include "lib/plan_internal.h"
#include "engine/base/sized.h"
#include "engine/base/float_mode.h"
#include "lib/cpu.h"
#include "lib/pipeline.h"
#include "lib/plan_file.h"
#include "lib/port.h"
#include "lib/stream_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t) 63;
}

static const char *cpu_name(unsigned cpu)
{
    struct kern k;
    kern_init(&k, cpu);
    return k.isa;
}

/* ---- making a plan ---- */

/* The networks beside the pipeline, for the same processor. */
static rill_status parts_make(rill_plan *p, const rill_plan_opts *opts, rill_error *err)
{
    const rill_plan_opts own = { .struct_bytes = sizeof own,
                                 .cpu_mask = opts->cpu_mask,
                                 .max_bytes = opts->max_bytes,
                                 .threads = opts->threads,
                                 .pool = opts->pool };
    uint32_t n = 0;
    for (const rill_model *m = p->model->part; m; m = m->next_part)
        n++;
    if (!(p->parts = arena_array(&p->arena, rill_plan *, n + 1)))
        return err_set(err, RILL_NOMEM, "out of memory");
    for (const rill_model *m = p->model->part; m; m = m->next_part) {
        rill_status s = rill_plan_new(&p->parts[p->n_parts], m, &own, err);
        if (s != RILL_OK)
            return err_prefix(err, s, "%.200s", m->info.name);
        p->n_parts++;
    }
    return RILL_OK;
}

const rill_plan *plan_of_part(const rill_plan *p, const rill_model *part)
{
    for (uint32_t i = 0; i < p->n_parts; i++)
        if (p->parts[i]->model == part)
            return p->parts[i];
    return NULL;
}

static rill_status pool_use(rill_plan *p, const rill_plan_opts *opts, struct plan_opts *ret,
                            rill_error *err)
{
    if (!opts->pool && opts->threads > 1)
        return err_set(err, RILL_INVALID,
                       "a plan for %u threads needs a pool that has them (rill_pool_new)",
                       opts->threads);
    p->threads = opts->threads ? opts->threads : p->model->threads;
    if (!opts->pool || p->threads == 1)
        return RILL_OK;
    p->pool = pool_ref(opts->pool);
    ret->crew = p->pool->crew;
    ret->shares_most = p->threads;
    return RILL_OK;
}

static rill_status plan_make(rill_plan *p, const rill_plan_opts *opts,
                             const struct plan_opts *engine, rill_error *err)
{
    struct pipeline w = { .model = p->model,
                          .plan = p,
                          .pulse_frames = opts->pulse_frames,
                          .budget_ms = opts->budget_ms,
                          .plan_opts = *engine,
                          .err = err };
    TRY(pool_use(p, opts, &w.plan_opts, err));
    w.plan_opts.mem_bytes_max = (size_t) opts->max_bytes;
    TRY(cpu_choose(opts->cpu_mask, &w.plan_opts.cpu, err));
    TRY(p->model->compiled
            ? plan_from_file(p, opts->pulse_frames, cpu_name(w.plan_opts.cpu), &w.plan_opts, err)
            : p->model->stages->plan(&w));
    TRY(ports_from_plan(p, err));
    TRY(parts_make(p, opts, err));
    p->profile = opts->profile;
    p->header_bytes = aligned(sizeof(struct rill_stream) + p->n_ports * sizeof(struct port_count)) +
        p->ahead_bytes;
    p->profile_bytes = p->profile ? aligned(p->plan->n_steps * sizeof(struct step_time)) : 0;
    if (opts->max_bytes && p->plan->weights_bytes + rill_plan_stream_size(p) > opts->max_bytes)
        return err_set(err, RILL_LIMIT,
                       "weights and one stream need %zu bytes, over the limit of %llu",
                       p->plan->weights_bytes + rill_plan_stream_size(p),
                       (unsigned long long) opts->max_bytes);
    return RILL_OK;
}

rill_status plan_new_as(rill_plan **ret, const rill_model *m, const rill_plan_opts *opts,
                        const struct plan_opts *engine, rill_error *reterr)
{
    rill_plan_opts own = { .struct_bytes = sizeof own };
    if (opts)
        TRY(sized_take(&sized_plan_opts, &own, opts, reterr));
    rill_plan *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    p->refs = 1;
    p->model = model_ref(m);
    lock_take(p->model->planning);
    uint64_t mode = floats_flush();
    rill_status s = plan_make(p, &own, engine, reterr);
    floats_restore(mode);
    lock_give(p->model->planning);
    if (s != RILL_OK) {
        rill_plan_unref(p);
        return s;
    }
    *ret = p;
    return RILL_OK;
}

rill_status rill_plan_new(rill_plan **ret, const rill_model *m, const rill_plan_opts *opts,
                          rill_error *reterr)
{
    static const struct plan_opts engine = { 0 };
    return plan_new_as(ret, m, opts, &engine, reterr);
}

rill_plan *rill_plan_ref(rill_plan *p)
{
    atomic_fetch_add(&p->refs, 1);
    return p;
}

rill_plan *rill_plan_unref(rill_plan *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
        return NULL;
    for (uint32_t i = 0; i < p->n_parts; i++)
        rill_plan_unref(p->parts[i]);
    plan_free(p->plan);
    arena_drop(&p->arena);
    rill_model_free(p->model);
    rill_pool_free(p->pool);
    free(p);
    return NULL;
}

const rill_model *rill_plan_model(const rill_plan *p)
{
    return p->model;
}

/* That share a step at most. */
static uint32_t plan_threads(const rill_plan *p)
{
    if (!p->plan->n_shared_steps)
        return 1;
    const unsigned pool = crew_threads(p->pool->crew);
    return p->threads && p->threads < pool ? p->threads : pool;
}

rill_status rill_plan_get_info(const rill_plan *p, rill_plan_info *ret)
{
    rill_plan_info info = {
        .weights_bytes = p->plan->weights_bytes +
            (p->model->stages ? p->model->stages->late_weights(p->model) : 0),
        .stream_bytes = rill_plan_stream_size(p),
        .state_bytes = p->plan->state_bytes,
        .steps = p->plan->n_steps_all,
        .pulse_samples = (uint32_t) p->pgraph.pulse,
        .cpu = p->plan->kern.isa,
        .threads = plan_threads(p),
        .shared_steps = p->plan->n_shared_steps,
    };
    for (uint32_t i = 0; i < p->n_parts; i++)
        info.weights_bytes += p->parts[i]->plan->weights_bytes;
    return sized_give(&sized_plan_info, ret, &info, NULL);
}

size_t rill_plan_stream_size(const rill_plan *p)
{
    return p->header_bytes + p->profile_bytes + p->plan->mem_bytes;
}
