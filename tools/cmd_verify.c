/* SPDX-License-Identifier: MIT */
/* rill verify: a model against a stored reference run. */
#include "engine/typing/interp.h"
#include "tools/audio.h"
#include "tools/library.h"
#include "tools/open.h"
#include "tools/ports_f32.h"
#include "tools/refcase.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One sixteen-bit step: whole-file references were compared with files of that resolution. */
#define WAV_TOLERANCE (1.0 / 32768)

struct result {
    const char *name, *role;
    double max_abs_diff, tolerance;
    uint64_t n_compared;
    bool pass, missing;   /* missing: the model has no such output */
    size_t n_got, n_want; /* frames of a stream, where they differ */
};

struct verify {
    const struct command *cmd;
    struct refcase c;
    struct result *results; /* room for one of each tensor */
    unsigned n_results;
    const char *skipped; /* what of the case could not be run, NULL: nothing */
    double tolerance;    /* of the command line; -1: each tensor's own */
    char *audio_dir;
    const struct open_opts *given;
    rill_model_opts opts; /* of them */
    rill_error err;
};

static struct result *result_of(struct verify *v, const struct ref_tensor *t)
{
    for (unsigned i = 0; i < v->n_results; i++)
        if (!strcmp(v->results[i].name, t->name) && !strcmp(v->results[i].role, t->role))
            return &v->results[i];
    struct result *r = &v->results[v->n_results++];
    *r = (struct result) { .name = t->name,
                           .role = t->role,
                           .pass = true,
                           .tolerance = v->tolerance >= 0 ? v->tolerance : t->tolerance };
    return r;
}

/* A NaN on either side alone is a failure of any tolerance. counts: these are numbers, not what is
 * left of them. */
static void compare(struct result *r, const float *got, const float *want, size_t n, bool counts)
{
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double) got[i] - (double) want[i]);
        if (isnan(got[i]) && isnan(want[i]))
            continue;
        if (!(d <= r->max_abs_diff))
            r->max_abs_diff = isnan(d) ? INFINITY : d;
    }
    r->n_compared += counts ? n : 0;
    r->pass = r->max_abs_diff <= r->tolerance;
}

/* ---- streams ---- */

struct runner {
    rill_plan *plan;
    rill_stream *stream;
    rill_port *ports;
    unsigned n_ports;
    float *out; /* room for one pulse of any output */
};

static void runner_close(struct runner *r)
{
    rill_plan_unref(r->plan);
    free(r->stream);
    free(r->out);
    free(r->ports);
}

static rill_status runner_open(struct runner *r, const rill_model *m, rill_error *err)
{
    *r = (struct runner) { 0 };
    rill_status s = rill_plan_new(&r->plan, m, NULL, err);
    if (s != RILL_OK)
        return s;
    r->ports = tool_ports(r->plan, &r->n_ports);
    size_t most = 0;
    for (unsigned i = 0; i < r->n_ports; i++) {
        size_t n = (size_t) r->ports[i].width * r->ports[i].pulse_frames;
        most = n > most ? n : most;
    }
    r->out = tool_alloc(most * sizeof(float));
    r->stream = rill_stream_init(tool_alloc(rill_plan_stream_size(r->plan)), r->plan);
    return RILL_OK;
}

/* ---- one chunk a run ---- */

static rill_status chunk_push(struct verify *v, struct runner *r, int64_t chunk)
{
    for (unsigned i = 0; i < r->n_ports && r->ports[i].is_input; i++) {
        const struct ref_tensor *t = refcase_find(&v->c, "in", r->ports[i].name);
        size_t taken;
        if (!t || t->chunk_floats != r->ports[i].width)
            return snprintf(v->err.text, sizeof v->err.text,
                            "the case has no data for input '%s' of %u floats", r->ports[i].name,
                            r->ports[i].width),
                   v->err.status = RILL_MALFORMED;
        int64_t at = t->n_chunks > 1 ? chunk : 0;
        if (rill_stream_push(r->stream, i, t->data + (size_t) at * t->chunk_floats, 1, &taken) !=
                RILL_OK ||
            taken != 1)
            return snprintf(v->err.text, sizeof v->err.text, "input '%s' did not take a chunk",
                            r->ports[i].name),
                   v->err.status = RILL_INTERNAL;
    }
    return RILL_OK;
}

/* "conv_cache_out_119" stands for output conv_cache_out after chunk 119. */
static bool names_output(const struct ref_tensor *t, const char *port)
{
    char suffix[32];
    size_t n = strlen(t->name), p = strlen(port);
    if (!strcmp(t->name, port))
        return true;
    snprintf(suffix, sizeof suffix, "_%lld", (long long) t->chunk);
    return t->chunk >= 0 && n == p + strlen(suffix) && !strncmp(t->name, port, p) &&
        !strcmp(t->name + p, suffix);
}

/* The name of the port itself where this is the port of its rests; NULL: it is none. */
static const char *rest_of(const char *port, char *buf, size_t cap)
{
    size_t n = strlen(port), m = strlen(PORT_REST);
    if (n < m || strcmp(port + n - m, PORT_REST) != 0)
        return NULL;
    snprintf(buf, cap, "%.*s", (int) (n - m), port);
    return buf;
}

/* What output `port` is compared with; NULL: t is of another output. */
static const float *wanted_of(const struct ref_tensor *t, const char *port)
{
    char buf[256];
    const char *name = rest_of(port, buf, sizeof buf);
    return names_output(t, name ? name : port) ? name ? t->rest : t->data : NULL;
}

static bool wanted_now(const struct ref_tensor *t, int64_t chunk)
{
    if (!strcmp(t->role, "out") || !strcmp(t->role, "state_out"))
        return t->per_chunk ? chunk < t->n_chunks : chunk == 0;
    return !strcmp(t->role, "state_out_at") && t->chunk == chunk;
}

static void chunk_compare(struct verify *v, struct runner *r, int64_t chunk)
{
    for (unsigned i = 0; i < r->n_ports; i++) {
        size_t given = 0;
        if (r->ports[i].is_input || rill_stream_pull(r->stream, i, r->out, 1, &given) != RILL_OK ||
            !given)
            continue;
        for (unsigned k = 0; k < v->c.n_tensors; k++) {
            const struct ref_tensor *t = &v->c.tensors[k];
            const float *want = wanted_of(t, r->ports[i].name);
            if (wanted_now(t, chunk) && want && t->chunk_floats == r->ports[i].width)
                compare(result_of(v, t), r->out,
                        want + (t->per_chunk ? (size_t) chunk * t->chunk_floats : 0),
                        t->chunk_floats, want == t->data);
        }
    }
}

static rill_status chunks_run(struct verify *v, struct runner *r)
{
    for (int64_t chunk = 0; chunk < v->c.n_chunks; chunk++) {
        TRY(chunk_push(v, r, chunk));
        rill_status s = rill_stream_run(r->stream);
        TRY(rill_stream_fault(r->stream, &v->err));
        if (s != RILL_OK)
            return err_set(&v->err, s, "chunk %lld did not run", (long long) chunk);
        chunk_compare(v, r, chunk);
    }
    return RILL_OK;
}

/* ---- a stream of all frames ---- */

/* A tensor as frames of its axis `axis`: of each chunk [outer, frames, inner]. */
struct layout {
    size_t outer, frames, inner;
};

static struct layout layout_of(const struct ref_tensor *t, int axis)
{
    struct layout l = { 1, (size_t) t->dim[axis], 1 };
    for (int i = 0; i < t->rank; i++)
        *(i < axis ? &l.outer : &l.inner) *= i == axis ? 1 : (size_t) t->dim[i];
    return l;
}

/* Frame after frame, in a new block. */
static float *frames_of(const struct ref_tensor *t, const float *data, const struct layout *l)
{
    float *y = tool_alloc((t->chunk_floats * (size_t) t->n_chunks + 1) * sizeof *y);
    for (size_t c = 0; c < (size_t) t->n_chunks; c++)
        for (size_t o = 0; o < l->outer; o++)
            for (size_t f = 0; f < l->frames; f++)
                memcpy(y + (((c * l->frames + f) * l->outer) + o) * l->inner,
                       data + ((c * l->outer + o) * l->frames + f) * l->inner,
                       l->inner * sizeof *y);
    return y;
}

/* The axis of a port that counts time; -1: none does. */
static int time_axis(const rill_model *m, uint32_t wire)
{
    const struct fact *f = &m->decluttered.g.wires[wire].fact;
    for (int i = 0; i < f->rank; i++)
        if (dim_mentions(f->shape[i], m->stream))
            return i;
    return -1;
}

/* One port of a stream: an input and what is left of it, or an output and what came of it. */
struct track {
    const struct ref_tensor *t;
    struct layout l;
    float *frames;
    size_t n, at; /* frames */
};

static rill_status track_input(struct verify *v, const rill_model *m, const struct runner *r,
                               unsigned i, struct track *ret)
{
    int axis = time_axis(m, m->decluttered.g.inputs[i]);
    const struct ref_tensor *t = refcase_find(&v->c, "in", r->ports[i].name);
    bool fits = t && axis >= 0 && axis < t->rank;
    *ret = (struct track) { .t = t };
    if (fits)
        ret->l = layout_of(t, axis);
    if (!fits || ret->l.outer * ret->l.inner != r->ports[i].width)
        return err_set(&v->err, RILL_MALFORMED,
                       "the case has no frames of %u floats for input '%s', or it has no time axis",
                       r->ports[i].width, r->ports[i].name);
    ret->frames = frames_of(t, t->data, &ret->l);
    ret->n = ret->l.frames * (size_t) t->n_chunks;
    return rill_plan_check_length(r->plan, i, ret->n, &v->err);
}

/* Room for as many frames as the longest input has, and some more. */
static void tracks_output(struct runner *r, struct track *track)
{
    size_t most = 0;
    for (unsigned i = 0; i < r->n_ports && r->ports[i].is_input; i++)
        most = track[i].n > most ? track[i].n : most;
    for (unsigned i = 0; i < r->n_ports; i++)
        if (!r->ports[i].is_input) {
            track[i].n = 4 * most + 65536;
            track[i].frames = tool_alloc(track[i].n * r->ports[i].width * sizeof(float));
        }
}

static void ports_pull(struct runner *r, struct track *track)
{
    for (unsigned i = 0; i < r->n_ports; i++) {
        size_t given = 0;
        if (!r->ports[i].is_input)
            rill_stream_pull(r->stream, i, track[i].frames + track[i].at * r->ports[i].width,
                             track[i].n - track[i].at, &given);
        track[i].at += given;
    }
}

static void stream_feed(struct runner *r, struct track *track)
{
    rill_status s = RILL_OK;
    for (bool moved = true; s != RILL_END && moved;) {
        bool left = false;
        moved = false;
        for (unsigned i = 0; i < r->n_ports && r->ports[i].is_input; i++) {
            size_t taken = 0;
            if (track[i].at < track[i].n)
                rill_stream_push(r->stream, i, track[i].frames + track[i].at * r->ports[i].width,
                                 track[i].n - track[i].at, &taken);
            track[i].at += taken;
            left |= track[i].at < track[i].n;
            moved |= taken > 0;
        }
        if (!left)
            rill_stream_finish(r->stream);
        while ((s = rill_stream_run(r->stream)) == RILL_OK) {
            ports_pull(r, track);
            moved = true;
        }
        ports_pull(r, track);
    }
}

static void track_compare(struct verify *v, const rill_model *m, const struct runner *r, unsigned i,
                          const struct track *track)
{
    int axis = time_axis(m, m->decluttered.g.outputs[i - m->decluttered.g.n_inputs]);
    for (unsigned k = 0; axis >= 0 && k < v->c.n_tensors; k++) {
        const struct ref_tensor *t = &v->c.tensors[k];
        const float *want = strcmp(t->role, "out") ? NULL : wanted_of(t, r->ports[i].name);
        if (!want || t->rank <= axis)
            continue;
        struct layout l = layout_of(t, axis);
        struct result *res = result_of(v, t);
        float *frames = frames_of(t, want, &l);
        size_t n = l.frames * (size_t) t->n_chunks;
        if (l.outer * l.inner == r->ports[i].width && n == track->at)
            compare(res, track->frames, frames, n * r->ports[i].width, want == t->data);
        else
            *res = (struct result) { .name = t->name,
                                     .role = t->role,
                                     .max_abs_diff = INFINITY,
                                     .n_got = track->at,
                                     .n_want = n };
        free(frames);
    }
}

static rill_status frames_run(struct verify *v, const rill_model *m, struct runner *r)
{
    struct track *track = tool_alloc((r->n_ports + 1) * sizeof *track);
    rill_status s = RILL_OK;
    for (unsigned i = 0; s == RILL_OK && i < r->n_ports && r->ports[i].is_input; i++)
        s = track_input(v, m, r, i, &track[i]);
    if (s == RILL_OK) {
        tracks_output(r, track);
        stream_feed(r, track);
        s = rill_stream_fault(r->stream, &v->err);
    }
    for (unsigned i = 0; s == RILL_OK && i < r->n_ports; i++)
        if (!r->ports[i].is_input)
            track_compare(v, m, r, i, &track[i]);
    for (unsigned i = 0; i < r->n_ports; i++)
        free(track[i].frames);
    free(track);
    return s;
}

/* ---- the case's own model ---- */

/* Outputs of the reference that the model, or what a transform left of it, does not have. */
static void tensors_missing(struct verify *v)
{
    for (unsigned k = 0; k < v->c.n_tensors; k++) {
        const struct ref_tensor *t = &v->c.tensors[k];
        if (strcmp(t->role, "out") != 0 && strncmp(t->role, "state_out", 9) != 0)
            continue;
        struct result *r = result_of(v, t);
        r->missing = !r->n_compared && r->pass;
        r->pass &= !r->missing || v->given->transforms.n;
    }
}

/* Of a case that names no states: those that the file tells and the case has no data for. */
static rill_status states_find(struct verify *v, const char *path)
{
    struct step_decl *d = &v->c.decl;
    TRY(open_find_states(d, path, v->given, &v->err));
    for (uint32_t i = 0; i < d->n_states; i++)
        if (refcase_find(&v->c, "in", d->states[i].in)) {
            d->n_states = 0;
            d->found = false;
            d->grows.n = d->ones.n = 0;
        }
    return RILL_OK;
}

static rill_status steps_run(struct verify *v)
{
    char path[4096];
    rill_model *m = NULL;
    struct runner r = { 0 };
    snprintf(path, sizeof path, "%s%s", v->c.root, v->c.models[0]);
    v->c.decl.time = v->given->stream;
    rill_status s = open_decl_add(&v->c.decl, v->given, &v->err);
    if (s == RILL_OK && !v->c.decl.n_states)
        s = states_find(v, path);
    if (s == RILL_OK)
        s = tool_is_folder(path) ? rill_model_open_with(&m, path, &v->opts, &v->err)
                                 : step_model_open(&m, path, &v->c.decl, &v->opts, &v->err);
    if (s == RILL_OK)
        s = ports_as_f32(m, &v->err);
    if (s == RILL_OK)
        s = runner_open(&r, m, &v->err);
    if (s == RILL_OK)
        s = m->stream ? frames_run(v, m, &r) : chunks_run(v, &r);
    if (s == RILL_OK)
        tensors_missing(v);
    runner_close(&r);
    rill_model_free(m);
    return s;
}

/* ---- whole files through a library pipeline ---- */

struct match {
    struct verify *v;
    rill_model *model;
    char folder[4096];
};

/* A library model of the reference's family with its sample rate. */
static bool match_see(void *arg, const char *name, const char *path)
{
    struct match *m = arg;
    size_t n = strcspn(m->v->c.models[0], "/");
    rill_model_info info = { .struct_bytes = sizeof info };
    if (strncmp(name, m->v->c.models[0], n) ||
        rill_model_open_with(&m->model, path, &m->v->opts, &m->v->err) != RILL_OK)
        return true;
    rill_model_get_info(m->model, &info);
    snprintf(m->folder, sizeof m->folder, "%s", path);
    if (info.sample_rate == m->v->c.sample_rate)
        return false;
    m->model = rill_model_free(m->model);
    return true;
}

static rill_status pipeline_open(struct verify *v, struct match *m)
{
    *m = (struct match) { .v = v };
    library_each(match_see, m);
    if (m->model)
        return RILL_OK;
    snprintf(v->err.text, sizeof v->err.text,
             "no model of the library is of family '%.*s' at %lld Hz with its weights "
             "present; fetch it with 'rill models get' and set RILL_MODEL_PATH if it is elsewhere",
             (int) strcspn(v->c.models[0], "/"), v->c.models[0], (long long) v->c.sample_rate);
    return v->err.status = RILL_INVALID;
}

/* All of x through the stream; returns the outputs of port, *ret_n floats, in a new block. */
static float *stream_whole(struct runner *r, unsigned port, const float *x, size_t n, size_t *ret_n)
{
    size_t cap = n + (size_t) r->ports[port].pulse_frames * 4 + 65536, at = 0, got = 0;
    float *y = tool_alloc(cap * sizeof *y);
    rill_status s = RILL_OK;
    while (s != RILL_END && s != RILL_INVALID && got < cap) {
        size_t taken = 0, given = 0;
        if (at < n)
            rill_stream_push(r->stream, 0, x + at, n - at, &taken);
        at += taken;
        if (at == n)
            rill_stream_finish(r->stream);
        s = rill_stream_run(r->stream);
        rill_stream_pull(r->stream, port, y + got, cap - got, &given);
        got += given;
    }
    *ret_n = got;
    return y;
}

/* Producers that drop the last partial block leave zeros there. */
static size_t length_without_tail(const float *x, size_t n)
{
    while (n && x[n - 1] == 0)
        n--;
    return n;
}

static void wav_compare(struct verify *v, const struct ref_tensor *want, const float *got,
                        size_t n_got)
{
    struct result *r = result_of(v, want);
    size_t n = length_without_tail(want->data, want->chunk_floats);
    r->tolerance = v->tolerance >= 0 ? v->tolerance : WAV_TOLERANCE;
    if (n_got < n) {
        r->max_abs_diff = INFINITY;
        r->pass = false;
        return;
    }
    compare(r, got, want->data, n, true);
}

static int port_of_kind(const struct runner *r, rill_port_kind kind)
{
    for (unsigned i = 0; i < r->n_ports; i++)
        if (!r->ports[i].is_input && r->ports[i].kind == kind)
            return (int) i;
    return -1;
}

/* A pipeline for whole recordings, run as one. */
static rill_status whole_run(struct verify *v, const char *path, const struct ref_tensor *in,
                             const struct ref_tensor *want)
{
    rill_model *m;
    TRY(rill_model_open_with(&m, path, &v->opts, &v->err));
    struct arena a = { 0 };
    struct tensor x = {
        .type = DTYPE_F32, .rank = 1, .dim = { (int64_t) in->chunk_floats }, .data = in->data
    };
    const struct tensor *inputs[] = { &x }, *outputs[8];
    rill_status s = m->decluttered.g.n_inputs == 1 && m->decluttered.g.n_outputs <= 8
        ? interp_run(&m->decluttered.g, inputs, &a, outputs, &v->err)
        : err_set(&v->err, RILL_UNSUPPORTED, "'%s' must have one input", path);
    if (s == RILL_OK)
        wav_compare(v, want, outputs[0]->data, (size_t) tensor_count(outputs[0]));
    arena_drop(&a);
    rill_model_free(m);
    return s;
}

static rill_status wav_run(struct verify *v, const struct ref_tensor *in,
                           const struct ref_tensor *want)
{
    struct match m;
    struct runner r = { 0 };
    char path[8192];
    struct stat st;
    TRY(pipeline_open(v, &m));
    snprintf(path, sizeof path, "%s/%s.nnef", m.folder, v->c.name);
    rill_status s;
    if (stat(path, &st) == 0) {
        s = whole_run(v, path, in, want);
    } else if ((s = runner_open(&r, m.model, &v->err)) == RILL_OK &&
               (s = rill_plan_check_length(r.plan, 0, in->chunk_floats, &v->err)) == RILL_OK) {
        size_t n;
        int port = port_of_kind(&r, RILL_PORT_AUDIO);
        float *y = stream_whole(&r, port < 0 ? r.n_ports - 1 : (unsigned) port, in->data,
                                in->chunk_floats, &n);
        wav_compare(v, want, y, n);
        free(y);
    }
    runner_close(&r);
    rill_model_free(m.model);
    return s;
}

/* Probabilities of a whole recording. */
static rill_status out_all_run(struct verify *v, const struct ref_tensor *want)
{
    struct match m;
    struct runner r = { 0 };
    float *pcm;
    size_t n_pcm, n;
    int rate_hz;
    char path[8192];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", v->audio_dir, v->c.audio);
    if (stat(path, &st)) {
        v->skipped = "out_all: the recording is not there";
        return RILL_OK;
    }
    if (pipeline_open(v, &m) != RILL_OK) {
        v->skipped = "out_all: no library model with weights (see rill models)";
        return RILL_OK;
    }
    rill_status s = audio_read(path, m.v->c.sample_rate, &pcm, &n_pcm, &rate_hz, &v->err);
    if (s == RILL_OK && (s = runner_open(&r, m.model, &v->err)) == RILL_OK &&
        (s = rill_plan_check_length(r.plan, 0, n_pcm, &v->err)) == RILL_OK) {
        int port = port_of_kind(&r, RILL_PORT_VAD);
        float *y = stream_whole(&r, port < 0 ? r.n_ports - 1 : (unsigned) port, pcm, n_pcm, &n);
        struct result *res = result_of(v, want);
        size_t all = want->chunk_floats * (size_t) want->n_chunks;
        compare(res, y, want->data, n < all ? n : all, true);
        res->pass &= n >= all;
        free(y);
        free(pcm);
    }
    runner_close(&r);
    rill_model_free(m.model);
    return s;
}

/* ---- report ---- */

static bool all_pass(const struct verify *v)
{
    bool pass = true, any = false;
    for (unsigned i = 0; i < v->n_results; i++) {
        pass &= v->results[i].pass;
        any |= !v->results[i].missing;
    }
    return pass && any;
}

static void report_text(const struct verify *v)
{
    printf("%s: %s\n", v->c.name, all_pass(v) ? "pass" : "FAIL");
    for (unsigned i = 0; i < v->n_results; i++) {
        const struct result *r = &v->results[i];
        const char *sign = !r->pass ? "FAIL" : r->missing ? "-" : "ok";
        printf("  %-5s %-28s %-12s ", sign, r->name, r->role);
        if (r->missing)
            printf("the model has no such output\n");
        else if (r->n_got != r->n_want)
            printf("the stream gives %zu frames, the reference has %zu\n", r->n_got, r->n_want);
        else
            printf("max |diff| %.3e  tolerance %.1e  %llu values\n", r->max_abs_diff, r->tolerance,
                   (unsigned long long) r->n_compared);
    }
    if (v->skipped)
        printf("  skipped %s\n", v->skipped);
}

static void report_json(const struct verify *v)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < v->n_results; i++) {
        const struct result *r = &v->results[i];
        json_t *most = isfinite(r->max_abs_diff) ? json_real(r->max_abs_diff) : json_null();
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o, s:f, s:I, s:b, s:b}", "name", r->name,
                                        "role", r->role, "max_abs_diff", most, "tolerance",
                                        r->tolerance, "values", (json_int_t) r->n_compared, "pass",
                                        r->pass, "missing", r->missing));
    }
    json_t *j =
        json_pack("{s:s, s:b, s:o}", "case", v->c.name, "pass", all_pass(v), "tensors", list);
    if (v->skipped)
        json_object_set_new(j, "skipped", json_string(v->skipped));
    json_dumpf(j, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(j);
}

static rill_status case_run(struct verify *v)
{
    const struct ref_tensor *wav = refcase_find(&v->c, "in", "wav"),
                            *out = refcase_find(&v->c, "out", "wav");
    const struct open_opts *o = v->given;
    if (wav && out && (o->shapes.n || o->consts.n || o->states.n))
        return err_set(&v->err, RILL_INVALID,
                       "the case runs through a model of the library: no --shape, --const or "
                       "--state fits it");
    if (wav && out)
        return wav_run(v, wav, out);
    TRY(steps_run(v));
    const struct ref_tensor *all = refcase_find(&v->c, "out_all", NULL);
    return all ? out_all_run(v, all) : RILL_OK;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    bool json = false;
    const char *audio = NULL;
    struct verify *v = tool_alloc(sizeof *v);
    v->tolerance = -1;
    struct open_opts oo = { .declares = true };
    const struct opt table[] = {
        OPEN_OPTS(oo),
        { "audio-dir", 0, OPT_TEXT, &audio, "DIR",
          "where recordings are (default: audio beside the models' folder)" },
        { "json", 0, OPT_FLAG, &json, NULL, "print {case, pass, tensors}" },
        { "tolerance", 0, OPT_REAL, REAL_FROM_TO(&v->tolerance, 0, 1e6), "X",
          "largest |difference| for every tensor" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 1, -1), code = TOOL_OK;
    if (n < 0)
        return free(v), -n;
    double tolerance = v->tolerance;
    for (int i = 0; i < n; i++) {
        *v = (struct verify) { .cmd = cmd, .tolerance = tolerance, .given = &oo };
        v->opts = open_opts_of(&oo);
        rill_status s = refcase_read(&v->c, argv[i], &v->err);
        if (s == RILL_OK) {
            v->audio_dir = NULL;
            if (asprintf(&v->audio_dir, "%s%s", audio ? audio : v->c.root,
                         audio ? "" : "../audio") < 0)
                return TOOL_IO;
            v->results = tool_alloc((v->c.n_tensors + 1) * sizeof *v->results);
            s = case_run(v);
        }
        if (s == RILL_OK) {
            json ? report_json(v) : report_text(v);
            code = all_pass(v) ? code : code == TOOL_OK ? TOOL_FAILED : code;
        } else {
            code = tool_fail(cmd, v->err.status == RILL_IO ? TOOL_IO : TOOL_BAD_INPUT, "%s: %s",
                             argv[i], v->err.text);
        }
        free(v->audio_dir);
        free(v->results);
        refcase_drop(&v->c);
    }
    free(v);
    return code;
}

const struct command cmd_verify = {
    .name = "verify",
    .usage = "[OPTIONS] CASE.json...",
    .summary = "compare a model with a stored reference run, tensor by tensor",
    .details =
        "CASE.json names the model (relative to two folders up), its states and constant inputs, "
        "and raw\n"
        "little-endian tensors with their roles and types (dtype; float32 where none is told). "
        "Each run takes\n"
        "every input whole; where a symbol counts time (--stream S, or an S in --shape), the "
        "stored inputs are\n"
        "frames of one stream. What a transform takes away is not compared. Cases of whole "
        "recordings run through\n"
        "the library pipeline of that family. Exit code 1 when a tensor is further off than its "
        "tolerance.",
    .run = run,
};
