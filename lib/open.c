/* SPDX-License-Identifier: MIT */
/* Opens a model from where it lies: a folder, a single file, or this library itself. */
#include "lib/model_file.h"
#include "engine/base/sized.h"
#include "engine/base/float_mode.h"
#include "models/tarball.h"
#include "models/builtin.h"
#include "models/conf.h"
#include "models/nnef/nnef.h"
#include "models/network/network.h"
#include "models/port_kinds.h"
#include "models/recogniser/recogniser.h"
#include "lib/cut.h"
#include "lib/open_net.h"
#include "lib/part.h"
#include "lib/pipeline.h"
#include "models/tokens.h"
#include "lib/transform.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONF_BYTES_MAX 65536
#define MODEL_BYTES_MAX ((size_t) 8 << 30)

/* A model being opened. */
struct opening {
    rill_model *model;
    /* into model->mgraph, and conf where there is one */
    rill_status (*read)(struct opening *o);
    const char *path;         /* of the file or folder, or the name of a built-in model */
    const char *shown, *name; /* path and the name of the model, for people */
    struct folder folder;
    struct model_conf conf;
    const rill_model_opts *opts; /* NULL: none */
    rill_error *err;
};

/* ---- from graph to model ---- */

static const struct conf_port *port_find(const struct model_conf *c, const char *name,
                                         bool is_input)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        if (c->ports[i].is_input == is_input && !strcmp(c->ports[i].name, name))
            return &c->ports[i];
    return NULL;
}

#define TEXT_BYTES_MAX ((uint64_t) 256 << 20) /* of tokens, phrases, n-grams */
#define PART_FILE_BYTES_MAX ((uint64_t) 1 << 30)

/* A network beside the pipeline from its file's bytes. */
static rill_status part_add(struct opening *o, struct part_file *f)
{
    if (!f->name)
        return RILL_OK;
    TRY(part_open(&f->part, f->name, f->data, f->n, o->err));
    f->part->next_part = o->model->part;
    o->model->part = f->part;
    return RILL_OK;
}

static rill_status parts_add(struct opening *o, struct model_port *p)
{
    TRY(part_add(o, &p->decoder));
    return part_add(o, &p->joiner);
}

static rill_status part_read(struct opening *o, const char *file, struct part_file *ret)
{
    if (!file)
        return RILL_OK;
    ret->name = file;
    return folder_read(&o->folder, file, &o->model->arena, PART_FILE_BYTES_MAX, &ret->data, &ret->n,
                       o->err);
}

/* One whose sizes are open, for a sink. */
static rill_status open_net_read(struct opening *o, const char *file, struct open_net **ret)
{
    struct arena bytes = { 0 };
    const uint8_t *data;
    size_t n;
    if (!file)
        return RILL_OK;
    rill_status s = folder_read(&o->folder, file, &bytes, PART_FILE_BYTES_MAX, &data, &n, o->err);
    if (s == RILL_OK)
        s = open_net_new(ret, file, data, n, o->err);
    arena_drop(&bytes);
    TRY(s);
    (*ret)->next = o->model->open_nets;
    o->model->open_nets = *ret;
    return RILL_OK;
}

static rill_status attention_fill(struct opening *o, const struct conf_port *p,
                                  struct rill_attention *ret)
{
    TRY(open_net_read(o, p->adapter_file, &ret->adapter));
    TRY(open_net_read(o, p->cross_kv_file, &ret->cross_kv));
    return open_net_read(o, p->decoder_file, &ret->decoder);
}

static rill_status parts_fill(struct opening *o, const struct conf_port *p, struct model_port *ret)
{
    if (p->kind == RILL_PORT_ATTENTION)
        return attention_fill(o, p, &ret->attention);
    TRY(part_read(o, p->decoder_file, &ret->decoder));
    TRY(part_read(o, p->joiner_file, &ret->joiner));
    return parts_add(o, ret);
}

/* A text that the sink reads, from a file; NULL: none. */
static rill_status text_read(struct opening *o, const char *file, const char **ret)
{
    const uint8_t *text;
    size_t n;
    if (!file)
        return RILL_OK;
    TRY(folder_read(&o->folder, file, &o->model->arena, TEXT_BYTES_MAX, &text, &n, o->err));
    *ret = (const char *) text;
    return strlen(*ret) == n ? RILL_OK
                             : err_set(o->err, RILL_MALFORMED,
                                       "%.200s: a zero byte in a file of tokens or phrases", file);
}

/* How the output p is read; without a sample rate times in milliseconds mean nothing, and those
 * nobody set are off. */
static rill_status sink_fill(struct opening *o, const struct conf_port *p, rill_sink_opts *ret)
{
    const rill_model_info *info = &o->conf.info;
    struct arena scratch = { .limit_bytes = 0 };
    struct tokens tokens;
    *ret = p->sink;
    ret->kind = p->kind;
    if (p->kind == RILL_PORT_VAD) {
        ret->threshold = ret->threshold > 0 ? ret->threshold : info->vad_threshold;
        ret->release = ret->release > 0 ? ret->release : info->vad_release;
        ret->hangover_ms =
            ret->hangover_ms == CONF_UNSET ? info->vad_hangover_ms : ret->hangover_ms;
    } else if (ret->hangover_ms == CONF_UNSET) {
        ret->hangover_ms = 0;
    }
    if (!info->sample_rate)
        ret->rule1_ms = ret->rule2_ms = ret->rule3_ms = ret->preroll_ms = ret->hangover_ms = 0;
    TRY(text_read(o, p->tokens_file, &ret->tokens));
    TRY(text_read(o, p->hotwords_file, &ret->hotwords));
    TRY(text_read(o, p->pieces_file, &ret->pieces));
    TRY(text_read(o, p->lm_file, &ret->lm));
    if (!ret->tokens && !ret->words)
        return RILL_OK;
    rill_status s = tokens_from_opts(&tokens, &scratch, ret, "the output", 0,
                                     o->err); /* sinks read it again; a bad one is told now */
    arena_drop(&scratch);
    return s == RILL_OK || !p->tokens_file ? s : err_prefix(o->err, s, "%.200s", p->tokens_file);
}

static rill_status ports_make(struct opening *o, const uint32_t *wires, uint32_t n, bool is_input,
                              struct model_port **ret)
{
    struct model_port *list = arena_array(&o->model->arena, struct model_port, n + 1u);
    if (!list)
        return err_set(o->err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++) {
        const struct conf_port *p =
            port_find(&o->conf, o->model->typed.g.wires[wires[i]].name, is_input);
        list[i].kind = p ? p->kind : RILL_PORT_TENSOR;
        list[i].rate = is_input ? o->conf.info.sample_rate : 0;
        list[i].late_frames = p && !is_input ? p->late_frames : 0;
        if (p && !is_input && port_has_sink(p->kind))
            TRY(sink_fill(o, p, &list[i].sink));
        if (p && !is_input)
            TRY(parts_fill(o, p, &list[i]));
    }
    *ret = list;
    return RILL_OK;
}

/* A section of model.conf for a port that the graph lacks is a mistake. */
static rill_status ports_check(const struct opening *o)
{
    const struct graph *g = &o->model->typed.g;
    for (unsigned i = 0; i < o->conf.n_ports; i++) {
        const struct conf_port *p = &o->conf.ports[i];
        const uint32_t *list = p->is_input ? g->inputs : g->outputs;
        uint32_t n = p->is_input ? g->n_inputs : g->n_outputs, k = 0;
        while (k < n && strcmp(g->wires[list[k]].name, p->name) != 0)
            k++;
        if (k == n)
            return err_set(o->err, RILL_MALFORMED, "model.conf: the graph has no %s '%.80s'",
                           p->is_input ? "input" : "output", p->name);
    }
    return RILL_OK;
}

static rill_status mgraph_read(void *opener)
{
    struct opening *o = opener;
    return o->read(o);
}

static rill_status tgraph_make(void *opener)
{
    struct opening *o = opener;
    rill_model *m = o->model;
    TRY(model_transform_and_type(m, o->opts, true, &o->folder, o->err));
    m->budget_ms = o->conf.budget_ms;
    m->threads = o->conf.threads;
    m->latency_ms = o->conf.latency_ms;
    m->pulse = m->pulse ? m->pulse : o->conf.pulse;
    m->first_pulse = o->conf.first_pulse;
    m->recurrent = m->recurrent ? m->recurrent : o->conf.recurrent_weights;
    return RILL_OK;
}

static rill_status model_fill(struct opening *o)
{
    rill_model *m = o->model;
    struct pipeline w = { .model = m,
                          .mgraph_from_bytes = mgraph_read,
                          .tgraph_from_mgraph = tgraph_make,
                          .opener = o,
                          .err = o->err };
    TRY(pipeline_run(&w, STAGE_BYTES, STAGE_DECLUTTERED));
    TRY(ports_make(o, m->typed.g.inputs, m->typed.g.n_inputs, true, &m->inputs));
    TRY(ports_make(o, m->typed.g.outputs, m->typed.g.n_outputs, false, &m->outputs));
    if (!m->n_transforms)
        TRY(ports_check(o)); /* the interface is the file's */
    m->info = o->conf.info;
    if (!(m->info.name = arena_string(&m->arena, o->name)))
        return err_set(o->err, RILL_NOMEM, "out of memory");
    SHA256Final(m->info.sha256, &o->folder.digest);
    return RILL_OK;
}

static rill_status opening_init(struct opening *o, const char *path, const rill_model_opts *opts,
                                rill_error *err)
{
    *o = (struct opening) { .model = model_new(),
                            .path = path,
                            .shown = opts && opts->shown_as ? opts->shown_as : path,
                            .opts = opts,
                            .err = err,
                            .folder = { .fd = -1, .path = "" } };
    if (!o->model)
        return err_set(err, RILL_NOMEM, "out of memory");
    o->model->arena.limit_bytes = MODEL_BYTES_MAX;
    SHA256Init(&o->folder.digest);
    model_conf_default(&o->conf);
    return RILL_OK;
}

static rill_status opening_finish(struct opening *o, rill_status s, rill_model **ret)
{
    folder_close(&o->folder);
    if (s == RILL_OK)
        *ret = o->model;
    else
        rill_model_free(o->model);
    return s;
}

/* ---- the ways to open ---- */

static const char *base_name(struct opening *o, const char *path)
{
    char *copy = arena_string(&o->model->arena, path);
    return copy ? basename(copy) : "";
}

/* An option that the text does not ask for is a mistake. */
static rill_status options_check(const struct opening *o)
{
    for (uint32_t i = 0; i < o->conf.n_options; i++)
        if (!o->conf.options[i].is_asked)
            return err_set(o->err, RILL_MALFORMED,
                           "model.conf: [options] %.60s: the graph has no such option",
                           o->conf.options[i].name);
    return RILL_OK;
}

static rill_status nnef_read(struct opening *o, const char *file)
{
    struct arena *a = &o->model->arena;
    struct nnef_source source = { .file = file,
                                  .folder = &o->folder,
                                  .cut = graph_cut_to_frames,
                                  .options = o->conf.options,
                                  .n_options = o->conf.n_options };
    const uint8_t *text;
    TRY(folder_read(&o->folder, file, a, nnef_limits_default.text_bytes, &text, &source.n, o->err));
    source.text = (const char *) text;
    rill_status s = mgraph_from_nnef(&o->model->mgraph, a, o->model->dims, &source, NULL, o->err);
    if (s == RILL_UNSUPPORTED && o->opts && o->opts->set && o->opts->stream) {
        struct nnef_sizes sizes = { .set = o->opts->set, .stream = o->opts->stream };
        source.sizes = &sizes;
        s = mgraph_from_nnef(&o->model->mgraph, a, o->model->dims, &source, NULL, o->err);
        o->model->set_as_read = sizes.taken;
    }
    TRY(s);
    return options_check(o);
}

/* A file of an archive that a model begins with, in a folder that is not alone there; NULL: none.
 */
static const char *root_beside(const struct folder *f)
{
    for (const struct folder_file *m = f->built_in; m && m->name; m++) {
        const char *slash = strrchr(m->name, '/');
        if (slash && (!strcmp(slash, "/graph.nnef") || !strcmp(slash, "/tokens.txt")))
            return m->name;
    }
    return NULL;
}

/* In the words of the folder or archive, and what would do. */
static rill_status graph_missing(struct opening *o)
{
    rill_error missing = { .text = "" };
    const rill_status s =
        nnef_read(&(struct opening) { .folder = o->folder, .model = o->model, .err = &missing },
                  "graph.nnef");
    const char *beside = root_beside(&o->folder);
    if (beside)
        return err_set(o->err, s,
                       "%.200s; '%.200s' is there, but other files lie beside its folder: unpack "
                       "the archive and open that folder, or pack it alone",
                       missing.text, beside);
    return err_set(o->err, s,
                   "%.200s; a model's folder has one, or is a recogniser's: encoder*.onnx, "
                   "decoder*.onnx, joiner*.onnx (or ctc*.onnx, model*.onnx) and tokens.txt. Models "
                   "of Kaldi (as of vosk) and of ggml (as of whisper.cpp) are not read",
                   missing.text);
}

static rill_status files_read(struct opening *o)
{
    struct arena *a = &o->model->arena;
    const uint8_t *text;
    size_t n;
    TRY(recogniser_folder(&o->folder, a, o->err));
    if (folder_has(&o->folder, "model.conf")) {
        TRY(folder_read(&o->folder, "model.conf", a, CONF_BYTES_MAX, &text, &n, o->err));
        TRY(model_conf_parse(&o->conf, a, "model.conf", (const char *) text, n, o->err));
    }
    return folder_has(&o->folder, "graph.nnef") ? nnef_read(o, "graph.nnef") : graph_missing(o);
}

static rill_status folder_model_read(struct opening *o)
{
    TRY(folder_open(&o->folder, o->path, o->err));
    o->name = base_name(o, o->shown);
    return files_read(o);
}

/* What it holds counts against the arena of the model. */
static rill_status archive_model_read(struct opening *o)
{
    TRY(tarball_open(&o->folder, o->path, &o->model->arena, MODEL_BYTES_MAX, o->err));
    o->name = base_name(o, o->shown);
    return files_read(o);
}

static rill_status nnef_file_read(struct opening *o)
{
    char *copy = arena_string(&o->model->arena, o->path);
    if (!copy)
        return err_set(o->err, RILL_NOMEM, "out of memory");
    const char *folder = arena_string(&o->model->arena, dirname(copy));
    TRY(folder_open(&o->folder, folder ? folder : ".", o->err));
    o->name = base_name(o, o->shown);
    return nnef_read(o, base_name(o, o->path));
}

static rill_status network_file_read(struct opening *o)
{
    rill_model *m = o->model;
    struct bytes bytes;
    TRY(tarball_check_name(o->path, o->err));
    TRY(bytes_from_file(&bytes, o->path, 0, o->err));
    folder_digest(&o->folder, bytes.data, bytes.n);
    rill_status s = mgraph_from_network(&m->mgraph, &m->arena, m->dims, &bytes, o->err);
    bytes_drop(&bytes);
    o->name = base_name(o, o->shown);
    return s;
}

static bool opts_are_empty(const rill_model_opts *o)
{
    return !o ||
        (!(o->asserts && o->asserts[0]) && !(o->set && o->set[0]) &&
         !(o->transforms && o->transforms[0]) && !o->stream);
}

static rill_status compiled_model(struct opening *o)
{
    struct planfile *f;
    if (!opts_are_empty(o->opts))
        return err_set(
            o->err, RILL_INVALID,
            "is compiled, so nothing can be done to its graph any more; give transforms, "
            "symbols and assertions to: rill compile MODEL -o FILE.rill");
    bool copies = o->opts && o->opts->copy;
    TRY(planfile_open(&f, o->path, copies, o->err));
    if (copies)
        folder_digest(&o->folder, f->map, f->map_bytes);
    f->shown = arena_string(&o->model->arena, o->shown);
    rill_status s = f->shown ? model_file_read(o->model, f, o->err)
                             : err_set(o->err, RILL_NOMEM, "out of memory");
    if (s != RILL_OK) {
        planfile_free(f);
        return s;
    }
    if (copies)
        SHA256Final(o->model->info.sha256, &o->folder.digest);
    for (uint32_t i = 0; i < o->model->n_compiled_outputs; i++)
        TRY(parts_add(o, &o->model->outputs[i]));
    return RILL_OK;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

/* ---- built in ---- */

const char *rill_model_builtin_name(unsigned n)
{
    unsigned i = 0;
    while (i < n && builtins[i].name)
        i++;
    return builtins[i].name;
}

static rill_status builtin_refuse(rill_error *err)
{
    char known[200] = "";
    for (const struct builtin *b = builtins; b->name; b++) {
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", b->name);
    }
    return err_set(err, RILL_INVALID, "there is none of that name; there are %s", known);
}

static rill_status builtin_read(struct opening *o)
{
    const struct builtin *b = builtins;
    while (b->name && strcmp(b->name, o->path) != 0)
        b++;
    if (!b->name)
        return builtin_refuse(o->err);
    o->folder.built_in = b->files;
    o->folder.path = o->name = b->name;
    return files_read(o);
}

/* ---- opening ---- */

static rill_status any_model(struct opening *o)
{
    const char *path = o->path;
    struct stat st = { 0 };
    bool is_builtin = o->opts && o->opts->builtin;
    if (!is_builtin && stat(path, &st) < 0)
        return err_set(o->err, RILL_IO, "%s", strerror(errno));
    TRY(model_assert(o->model, o->opts, o->err));
    if (is_builtin)
        o->read = builtin_read;
    else if (S_ISDIR(st.st_mode))
        o->read = folder_model_read;
    else if ((o->opts && o->opts->copy) || planfile_is(path) || ends_with(path, ".rill"))
        return compiled_model(o);
    else
        o->read = ends_with(path, ".nnef") ? nnef_file_read
            : tarball_is(path)             ? archive_model_read
                                           : network_file_read;
    return model_fill(o);
}

/* Here alone the file is named: readers say what is wrong with it, and name what lies beneath it. A
 * text that is a model by itself lies beneath its folder, so the name that it has there gives way.
 */
static void error_name_file(const struct opening *o, bool is_builtin, rill_status s)
{
    if (!o->err)
        return;
    const char *slash = strrchr(o->path, '/'), *own = slash ? slash + 1 : o->path;
    size_t n = o->read == nnef_file_read ? strlen(own) : 0;
    char rest[sizeof o->err->text];
    memcpy(rest, o->err->text, sizeof rest);
    if (n && !strncmp(rest, own, n) && (rest[n] == ':' || rest[n] == ' '))
        err_set(o->err, s, "%.200s%s", o->shown, rest + n);
    else
        err_prefix(o->err, s, "%s%.200s", is_builtin ? "built-in " : "", o->shown);
}

rill_status rill_model_open_with(rill_model **ret, const char *path, const rill_model_opts *opts,
                                 rill_error *reterr)
{
    struct opening o;
    rill_model_opts own = { .struct_bytes = sizeof own };
    if (opts)
        TRY(sized_take(&sized_model_opts, &own, opts, reterr));
    TRY(opening_init(&o, path, opts ? &own : NULL, reterr));
    uint64_t mode = floats_flush();
    rill_status s = any_model(&o);
    if (s != RILL_OK)
        error_name_file(&o, own.builtin, s);
    s = opening_finish(&o, s, ret);
    floats_restore(mode);
    return s;
}

rill_status rill_model_open(rill_model **ret, const char *path, rill_error *reterr)
{
    return rill_model_open_with(ret, path, NULL, reterr);
}

rill_status rill_model_builtin(rill_model **ret, const char *name, rill_error *reterr)
{
    const rill_model_opts opts = { .struct_bytes = sizeof opts, .builtin = 1 };
    return rill_model_open_with(ret, name, &opts, reterr);
}
