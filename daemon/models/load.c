/* SPDX-License-Identifier: MIT */
#include "daemon/models/load.h"
#include "daemon/compute/plan_ports.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

static void info_copy(struct model *to, const rill_model *from)
{
    to->info.struct_bytes = sizeof to->info;
    rill_model_get_info(from, &to->info);
    snprintf(to->task, sizeof to->task, "%s", to->info.task ? to->info.task : "");
    snprintf(to->licence, sizeof to->licence, "%s", to->info.licence ? to->info.licence : "");
    snprintf(to->summary, sizeof to->summary, "%s", to->info.summary ? to->info.summary : "");
    for (int i = 0; i < 32; i++)
        snprintf(to->sha256 + 2 * i, 3, "%02x", to->info.sha256[i]);
}

#define MAPPED_FROM_BYTES 131072 /* blocks of that size and larger are mapped one by one */

/* glibc would keep what loading has freed. */
void memory_return(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static size_t allocated_bytes(void)
{
#ifdef __GLIBC__
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

/* Without the threshold glibc raises its own with every mapped block that is freed. It makes its
 * allocator at the first call, without a lock: where malloc is another's (a sanitizer's, a library
 * that is loaded first) those calls of two loads at once would be the first. */
void memory_setup(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
#endif
    allocated_bytes();
    memory_return();
}

static bool port_is_detector(rill_port_kind kind)
{
    return kind == RILL_PORT_VAD;
}

/* The first output of such a kind, or -1. */
static int port_find(const rill_port *ports, unsigned n, bool (*is_kind)(rill_port_kind kind))
{
    for (unsigned i = 0; i < n; i++)
        if (!ports[i].is_input && is_kind(ports[i].kind))
            return (int) i;
    return -1;
}

/* A plan of the output `out` alone, or of all others; NULL where the model cannot be split. */
static rill_plan *outputs_plan(const struct model_load_request *f, const rill_port *ports,
                               unsigned n, int out, bool alone)
{
    char spec[2048] = "select_outputs(";
    const char *comma = "";
    const char *const transforms[] = { spec, NULL };
    const rill_model_opts opts = { .struct_bytes = sizeof opts,
                                   .transforms = transforms,
                                   .builtin = f->fd < 0,
                                   .copy = f->fd >= 0 };
    const rill_plan_opts plan_opts = { .struct_bytes = sizeof plan_opts,
                                       .max_bytes = f->max_bytes };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    for (unsigned i = 0; i < n; i++) {
        size_t at = strlen(spec);
        if (ports[i].is_input || ((int) i == out) != alone)
            continue;
        if (at + strlen(ports[i].name) + 8 > sizeof spec)
            return NULL;
        snprintf(spec + at, sizeof spec - at, "%s\"%s\"", comma, ports[i].name);
        comma = ", ";
    }
    snprintf(spec + strlen(spec), 2, ")");
    if (rill_model_open_with(&m, f->opened, &opts, NULL) == RILL_OK &&
        rill_plan_new(&p, m, &plan_opts, NULL) != RILL_OK)
        p = NULL;
    rill_model_free(m);
    return p;
}

/* A compiled plan is a file; all other models are folders or built in. */
static bool is_compiled(const struct model_load_request *f)
{
    struct stat st;
    return f->fd >= 0 && fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
}

static rill_status compiled_refuse(struct model_load_request *f)
{
    snprintf(f->model.error.text, sizeof f->model.error.text,
             "%.200s: is compiled with a detector and a recogniser in one plan, which "
             "run as two; give the folder that it was compiled of, or compile it with one of the "
             "two: rill compile MODEL "
             "--transform 'select_outputs(NAME)'",
             f->path);
    return f->model.error.status = RILL_UNSUPPORTED;
}

/* Splits a model with a detector and a recogniser into two plans, so that the recogniser does not
 * run in silence. */
static rill_status words_part(struct model_load_request *f, rill_plan **plan,
                              const rill_port *ports, unsigned n)
{
    rill_port one[2] = { { .struct_bytes = sizeof *one } };
    int out = port_find(ports, n, port_is_recogniser);
    if (out < 0 || port_find(ports, n, port_is_detector) < 0)
        return RILL_OK;
    if (is_compiled(f))
        return compiled_refuse(f);
    rill_plan *rest = outputs_plan(f, ports, n, out, false),
              *words = rest ? outputs_plan(f, ports, n, out, true) : NULL;
    if (!words || rill_plan_ports(words, one, 2) != 2) {
        rill_plan_unref(rest);
        rill_plan_unref(words);
        return RILL_OK;
    }
    rill_plan_unref(*plan);
    *plan = rest;
    f->model.lane.words_plan = words;
    f->model.lane.words_port = 1;
    return RILL_OK;
}

static rill_status words_split(struct model_load_request *f, rill_plan **plan)
{
    unsigned n = 0;
    rill_port *ports = plan_ports(*plan, &n);
    if (!ports) {
        snprintf(f->model.error.text, sizeof f->model.error.text, "out of memory");
        return f->model.error.status = RILL_NOMEM;
    }
    rill_status s = words_part(f, plan, ports, n);
    free(ports);
    return s;
}

/* Adds what the gated recogniser costs while there is speech. */
static void words_measure(struct model *f)
{
    struct lane_model words = { .plan = NULL };
    rill_plan_info info = { .struct_bytes = sizeof info };
    float rtf = 0;
    if (!f->lane.words_plan)
        return;
    rill_plan_get_info(f->lane.words_plan, &info);
    f->plan_info.weights_bytes += info.weights_bytes;
    f->plan_info.stream_bytes += info.stream_bytes;
    if (lane_model_probe(&words, f->lane.words_plan, f->info.sample_rate, &rtf, NULL) == RILL_OK) {
        f->rtf += rtf;
        f->rtf_wall += rtf * words.wall_share;
    }
    if (words.lookahead_samples > f->lane.lookahead_samples)
        f->lane.lookahead_samples = words.lookahead_samples;
}

static rill_status open_it(struct model_load_request *f, rill_model **ret)
{
    const rill_model_opts opts = {
        .struct_bytes = sizeof opts, .builtin = f->fd < 0, .copy = f->fd >= 0, .shown_as = f->path
    };
    struct model *m = &f->model;
    if (f->fd >= 0)
        snprintf(f->opened, sizeof f->opened, "/proc/self/fd/%d", f->fd);
    else
        snprintf(f->opened, sizeof f->opened, "%.64s", f->path);
    rill_status s = rill_model_open_with(ret, f->opened, &opts, &m->error);
    if (s != RILL_OK)
        return s;
    info_copy(m, *ret);
    if (!f->wants || memcmp(f->want_sha256, m->info.sha256, 32) == 0)
        return RILL_OK;
    *ret = rill_model_free(*ret);
    m->error.status = RILL_INVALID;
    snprintf(m->error.text, sizeof m->error.text, "%.200s: its sha256 is %s, which is not %s",
             f->path, m->sha256, f->want_words);
    return RILL_INVALID;
}

static rill_status plan_it(const struct model_load_request *f, const rill_model *m, rill_pool *pool,
                           rill_plan **ret, rill_error *reterr)
{
    const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                  .max_bytes = f->max_bytes,
                                  .pool = pool };
    return rill_plan_new(ret, m, &opts, reterr);
}

/* ---- models that one thread would compute late ---- */

#define SHARED_GAINS 0.8f /* of the time alone: helpers that save less are not worth their time */

static void lane_share(struct model *to, const struct lane_model *shared, rill_plan *plan,
                       float shared_rtf, uint32_t threads)
{
    const uint32_t alone_us = to->lane.run_us;
    rill_plan_unref(to->lane.plan);
    to->lane = *shared;
    to->lane.plan = plan;
    to->lane.threads = threads;
    to->lane.alone_us = alone_us;
    to->lane.spread = to->rtf > shared_rtf && shared_rtf > 0 ? to->rtf / shared_rtf : 1;
    rill_plan_get_info(plan, &to->plan_info);
}

/* Measures with threads of its own, since the daemon's are there for live streams, and of as low a
 * priority as this one; the plan that is kept has the daemon's. What fails leaves one thread. */
static void shared_try(struct model_load_request *f, const rill_model *m)
{
    const rill_pool_opts opts = { .struct_bytes = sizeof opts,
                                  .threads = rill_pool_threads(f->pool) };
    struct model *to = &f->model;
    struct lane_model shared = { .plan = NULL };
    rill_plan_info info = { .struct_bytes = sizeof info };
    rill_pool *pool = NULL;
    rill_plan *tried = NULL, *kept = NULL;
    float rtf = 0;
    if (rill_pool_new(&pool, &opts, NULL) != RILL_OK)
        return;
    if (plan_it(f, m, pool, &tried, NULL) == RILL_OK)
        rill_plan_get_info(tried, &info);
    if (info.threads > 1 &&
        lane_model_probe_shared(&shared, tried, to->info.sample_rate, &rtf, NULL) == RILL_OK &&
        rtf * shared.wall_share < SHARED_GAINS * to->rtf_wall &&
        plan_it(f, m, f->pool, &kept, NULL) == RILL_OK)
        lane_share(to, &shared, kept, rtf, info.threads);
    rill_plan_unref(tried);
    rill_pool_free(pool);
}

/* A recogniser behind a detector runs inside of its sink, always on one thread. */
static bool is_late_alone(const struct model_load_request *f)
{
    return f->pool && (double) f->model.rtf > f->late_share && !f->model.lane.words_plan;
}

rill_status model_probe(const struct model *m, float *ret_rtf, float *ret_wall)
{
    struct lane_model again = { .words_plan = m->lane.words_plan };
    rill_plan *const plans[] = { m->lane.plan, m->lane.words_plan };
    *ret_rtf = *ret_wall = 0;
    for (size_t i = 0; i < 2 && plans[i]; i++) {
        float rtf = 0;
        rill_status s = lane_model_probe(&again, plans[i], m->info.sample_rate, &rtf, NULL);
        if (s != RILL_OK)
            return s;
        *ret_rtf += rtf;
        *ret_wall += rtf * again.wall_share;
        again = (struct lane_model) { .plan = NULL };
    }
    return RILL_OK;
}

rill_status model_load(struct model_load_request *f)
{
    size_t before_bytes = allocated_bytes();
    struct model *to = &f->model;
    rill_model *m = NULL;
    rill_plan *plan = NULL;
    rill_status s = open_it(f, &m);
    if (s == RILL_OK)
        s = plan_it(f, m, NULL, &plan, &to->error);
    if (s == RILL_OK)
        s = words_split(f, &plan);
    if (s == RILL_OK) {
        to->plan_info.struct_bytes = sizeof to->plan_info;
        rill_plan_get_info(plan, &to->plan_info);
        s = lane_model_probe(&to->lane, plan, to->info.sample_rate, &to->rtf, &to->error);
    }
    to->rtf_wall = to->rtf * to->lane.wall_share;
    if (s == RILL_OK)
        words_measure(to);
    to->lane.plan = s == RILL_OK ? plan : rill_plan_unref(plan);
    if (s != RILL_OK)
        to->lane.words_plan = rill_plan_unref(to->lane.words_plan);
    else if (is_late_alone(f))
        shared_try(f, m);
    rill_model_free(m);
    size_t now_bytes = allocated_bytes();
    f->kept_bytes = s == RILL_OK && now_bytes > before_bytes ? now_bytes - before_bytes : 0;
    memory_return();
    return s;
}
