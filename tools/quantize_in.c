/* SPDX-License-Identifier: MIT */
#include "tools/quantize.h"
#include "engine/base/err.h"
#include "models/builtin.h"
#include "tools/quantize/pipeline.h"
#include "tools/audio.h"
#include "tools/library.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define TEXT_BYTES_MAX ((uint64_t) 1 << 24)
#define PIECE_S 10  /* a recording is run in pieces: each is a run from zero states */
#define REST_S 0.25 /* a shorter rest of one is left out */
#define NOISE_S 4
#define NOISE_RATE 16000 /* of pipelines that state none */

/* ---- nets ---- */

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n > m && !memcmp(text + n - m, end, m);
}

static bool net_known(const struct quantize_in *in, const char *name)
{
    bool known = false;
    for (unsigned i = 0; i < in->n_nets && !known; i++)
        known = !strcmp(in->name[i], name);
    return known;
}

/* A pipeline whose nets are being read. */
struct nets_reading {
    struct quantize_in *in;
    rill_error *err;
};

static rill_status net_add(void *arg, const char *text, size_t n)
{
    struct quantize_in *in = ((struct nets_reading *) arg)->in;
    rill_error *err = ((struct nets_reading *) arg)->err;
    char *name = arena_alloc(&in->arena, n + 1);
    struct bytes *b = &in->file[in->n_nets];
    if (!name)
        return err_set(err, RILL_NOMEM, "out of memory");
    memcpy(name, text, n);
    if (net_known(in, name) || !folder_has(&in->folder, name))
        return RILL_OK;
    if (in->n_nets == QUANTIZE_NETS_MAX)
        return err_set(err, RILL_LIMIT, "%.200s: more than %d nets", in->path, QUANTIZE_NETS_MAX);
    TRY(folder_read(&in->folder, name, &in->arena, BYTES_MAX, &b->data, &b->n, err));
    b->path = arena_printf(&in->arena, "%s/%s", in->folder.path, name);
    in->name[in->n_nets++] = name;
    return b->path ? RILL_OK : err_set(err, RILL_NOMEM, "out of memory");
}

/* The nets that the text of the pipeline names. */
static rill_status nets_find(struct quantize_in *in, rill_error *err)
{
    const uint8_t *text;
    size_t n;
    struct nets_reading r = { in, err };
    TRY(folder_read(&in->folder, "graph.nnef", &in->arena, TEXT_BYTES_MAX, &text, &n, err));
    TRY(pipeline_nets((const char *) text, n, net_add, &r));
    return in->n_nets ? RILL_OK
                      : err_set(err, RILL_INVALID,
                                "%.200s: graph.nnef names no .onnx file that lies here, so there "
                                "is no net to quantise",
                                in->path);
}

static rill_status conf_read(struct quantize_in *in, rill_error *err)
{
    const uint8_t *text;
    size_t n;
    model_conf_default(&in->conf);
    if (!folder_has(&in->folder, "model.conf"))
        return RILL_OK;
    TRY(folder_read(&in->folder, "model.conf", &in->arena, TEXT_BYTES_MAX, &text, &n, err));
    return model_conf_parse(&in->conf, &in->arena, "model.conf", (const char *) text, n, err);
}

static rill_status folder_nets(struct quantize_in *in, const char *path, rill_error *err)
{
    in->is_folder = true;
    in->path = arena_string(&in->arena, path);
    if (!in->path)
        return err_set(err, RILL_NOMEM, "out of memory");
    TRY(folder_open(&in->folder, in->path, err));
    TRY(conf_read(in, err));
    return nets_find(in, err);
}

static rill_status builtin_nets(struct quantize_in *in, const struct builtin *b, rill_error *err)
{
    in->is_folder = true;
    in->path = in->folder.path = b->name;
    in->folder.built_in = b->files;
    TRY(conf_read(in, err));
    return nets_find(in, err);
}

static rill_status bare_net(struct quantize_in *in, const char *path, rill_error *err)
{
    if (!ends_with(path, strlen(path), ".onnx"))
        return err_set(err, RILL_UNSUPPORTED,
                       "'%.300s' is no .onnx file and no model folder; nets of those are quantised",
                       path);
    TRY(bytes_from_file(&in->file[0], path, 0, err));
    in->path = in->name[0] = path;
    in->n_nets = 1;
    return RILL_OK;
}

rill_status quantize_in_open(struct quantize_in *in, const char *model, rill_error *reterr)
{
    struct stat st;
    char path[4096];
    *in = (struct quantize_in) { .folder = { .fd = -1, .path = "" } };
    bool named = !strchr(model, '/') && !strchr(model, '.');
    if (named && library_folder(model, path, sizeof path))
        return folder_nets(in, path, reterr);
    for (const struct builtin *b = builtins; named && b->name; b++)
        if (!strcmp(b->name, model))
            return builtin_nets(in, b, reterr);
    if (named || stat(model, &st) != 0) {
        rill_model *m; /* says what there is */
        rill_status s = library_open(&m, model, NULL, reterr);
        if (s == RILL_OK)
            rill_model_free(m);
        return s == RILL_OK ? err_set(reterr, RILL_INVALID, "'%.300s' has no folder", model) : s;
    }
    return S_ISDIR(st.st_mode) ? folder_nets(in, model, reterr) : bare_net(in, model, reterr);
}

void quantize_in_drop(struct quantize_in *in)
{
    if (!in->is_folder && in->n_nets)
        bytes_drop(&in->file[0]);
    for (size_t i = 0; i < in->n_pieces; i++)
        free((void *) (uintptr_t) in->piece[i].x);
    free(in->piece);
    folder_close(&in->folder);
    arena_drop(&in->arena);
}

/* ---- recordings ---- */

/* Takes a copy of n samples. */
static void piece_add(struct quantize_in *in, const float *x, size_t n)
{
    if (in->n_pieces % 8 == 0) {
        struct recording *more = tool_alloc((in->n_pieces + 8) * sizeof *more);
        if (in->n_pieces)
            memcpy(more, in->piece, in->n_pieces * sizeof *more);
        free(in->piece);
        in->piece = more;
    }
    float *copy = tool_alloc(n * sizeof *copy);
    memcpy(copy, x, n * sizeof *copy);
    in->piece[in->n_pieces++] = (struct recording) { copy, n };
}

static rill_status recording_read(struct quantize_in *in, const char *path, rill_error *err)
{
    int rate_hz = (int) in->conf.info.sample_rate, file_hz;
    float *raw;
    size_t n_raw, n;
    TRY(audio_read(path, 0, &raw, &n_raw, &file_hz, err));
    float *x = audio_resampled(raw, n_raw, (unsigned) file_hz, (unsigned) rate_hz, &n);
    free(raw);
    size_t most = (size_t) rate_hz * PIECE_S, rest = (size_t) (rate_hz * REST_S);
    for (size_t at = 0; at < n; at += most) {
        size_t left = n - at;
        if (at == 0 || left >= rest)
            piece_add(in, x + at, left < most ? left : most);
    }
    free(x);
    in->seconds += (double) n / rate_hz;
    in->n_recordings++;
    return RILL_OK;
}

static int is_recording(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return dot && dot != e->d_name && (!strcasecmp(dot, ".wav") || !strcasecmp(dot, ".flac"));
}

static rill_status recordings_read(struct quantize_in *in, const char *folder, rill_error *err)
{
    struct dirent **list = NULL;
    rill_status s = RILL_OK;
    int n = scandir(folder, &list, is_recording, alphasort);
    for (int i = 0; i < n; i++) {
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (s == RILL_OK)
            s = recording_read(in, path, err);
        free(list[i]);
    }
    free(list);
    if (s == RILL_OK && n <= 0)
        return err_set(err, RILL_IO, "'%.300s' has no .wav or .flac file", folder);
    return s;
}

static rill_status arrays_read(struct quantize_in *in, const char *path, rill_error *err)
{
    struct npz z;
    if (!ends_with(path, strlen(path), ".npz"))
        return err_set(
            err, RILL_INVALID,
            "'%.300s': a bare net does not say what its numbers are of a recording; give "
            "an .npz file with an array for each input, or the folder of a model "
            "(graph.nnef, model.conf) that has the net: docs/adding.md",
            path);
    rill_status s = npz_read(&z, &in->arena, path, err);
    if (s != RILL_OK)
        return err_prefix(err, s, "%.200s", path);
    for (uint32_t i = 0; i < z.n; i++) {
        if (npz_find(&in->given, z.list[i].name))
            return err_set(err, RILL_INVALID, "%.200s: array '%.80s' is there twice", path,
                           z.list[i].name);
        if (!npz_add(&in->given, &in->arena, z.list[i].name, z.list[i].t))
            return err_set(err, RILL_NOMEM, "out of memory");
    }
    return RILL_OK;
}

rill_status quantize_in_listen(struct quantize_in *in, const struct opt_list *paths,
                               rill_error *reterr)
{
    struct stat st;
    for (unsigned i = 0; i < paths->n && !in->is_folder; i++)
        TRY(arrays_read(in, paths->item[i], reterr));
    if (!in->is_folder)
        return RILL_OK;
    if (!in->conf.info.sample_rate)
        return err_set(reterr, RILL_INVALID,
                       "%.200s: model.conf states no sample_rate, which recordings must have",
                       in->path);
    for (unsigned i = 0; i < paths->n; i++) {
        bool folder = stat(paths->item[i], &st) == 0 && S_ISDIR(st.st_mode);
        TRY((folder ? recordings_read : recording_read)(in, paths->item[i], reterr));
    }
    return RILL_OK;
}

void quantize_in_noise(struct quantize_in *in, float rms)
{
    size_t rate = in->conf.info.sample_rate ? in->conf.info.sample_rate : NOISE_RATE,
           n = NOISE_S * rate;
    float *x = tool_alloc(n * sizeof *x);
    uint64_t seed = 1;
    for (size_t i = 0; i < n; i++)
        x[i] = rms * noise_next(&seed);
    piece_add(in, x, n);
    free(x);
    in->seconds = NOISE_S;
}
