/* SPDX-License-Identifier: MIT */
/* rill quantize: a model with weights of 8 or 4 bits, and activations of 8 where that is asked. */
#include "models/onnx/reader.h"
#include "tools/json.h"
#include "tools/open.h"
#include "tools/quantize.h"
#include "engine/base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 64 /* of a bare net on noise */

struct job {
    const struct command *cmd;
    struct quantize_in in;
    struct quantize_opts opts;
    struct opt_list recordings;
    double noise_db;
    bool force, json;
    const char *out;
    struct open_opts open;
    struct step_decl bare;
    struct source source;
    struct arena arena;
    struct net net[QUANTIZE_NETS_MAX], *nets[QUANTIZE_NETS_MAX];
    struct bytes marked[QUANTIZE_NETS_MAX], moved[QUANTIZE_NETS_MAX], made[QUANTIZE_NETS_MAX];
    struct run before, between, after; /* between: of the f32 net with weights that are moved */
    bool ran;                          /* the model could be run */
    rill_error why;                    /* it could not */
    rill_error err;
};

/* ---- before ---- */

static rill_status nothing_refuse(struct job *j, size_t found)
{
    const struct layer *first = NULL;
    for (unsigned i = 0; i < j->in.n_nets && !first; i++)
        first = j->net[i].n_layers ? &j->net[i].layers[0] : NULL;
    if (!first)
        return err_set(&j->err, RILL_INVALID,
                       "'%.200s' has no weights to quantise: no Conv, ConvTranspose, Gemm, "
                       "MatMul, LSTM, GRU or RNN has constant ones",
                       j->in.path);
    return err_set(&j->err, RILL_INVALID,
                   "'%.200s': none of its %zu layers can be quantised; the first, %s '%.80s', %s",
                   j->in.path, found, first->kind->name, first->name, first->why);
}

static rill_status net_open(struct job *j, struct net *n, unsigned i)
{
    rill_status s = net_read(n, &j->in.file[i], j->in.name[i], &j->arena, &j->err);
    n->number = i;
    s = s == RILL_OK ? net_weights(n, &j->opts) : s;
    return s == RILL_OK ? s : err_prefix(&j->err, s, "'%.200s'", j->in.name[i]);
}

static rill_status nets_read(struct job *j)
{
    size_t layers = 0, found = 0;
    for (unsigned i = 0; i < j->in.n_nets; i++) {
        struct net *n = j->nets[i] = &j->net[i];
        TRY(net_open(j, n, i));
        TRY(net_pack_marked(n, &j->marked[i]));
        TRY(net_pack_moved(n, &j->moved[i]));
        layers += net_quantised(n);
        found += n->n_layers;
    }
    return layers ? RILL_OK : nothing_refuse(j, found);
}

static rill_status source_make(struct job *j)
{
    float rms = (float) pow(10, j->noise_db / 20);
    if (j->recordings.n)
        TRY(quantize_in_listen(&j->in, &j->recordings, &j->err));
    else if (j->opts.mode == QUANTIZE_STATIC)
        return err_set(&j->err, RILL_INVALID,
                       "--static wants recordings, from which the scales of activations are "
                       "taken: --calibrate FILE.wav, or a folder of them; FILE.npz for a bare net");
    else if (j->in.is_folder)
        quantize_in_noise(&j->in, rms);
    TRY(open_decl_add(&j->bare, &j->open, &j->err));
    j->source = (struct source) { .folder = j->in.is_folder ? &j->in.folder : NULL,
                                  .bare = &j->bare,
                                  .list = j->in.piece,
                                  .n_list = j->in.n_pieces,
                                  .given = j->in.given.n ? &j->in.given : NULL,
                                  .n_steps = STEPS,
                                  .noise = rms };
    return RILL_OK;
}

/* ---- what is lost ---- */

static void files_of(const struct job *j, const struct bytes *b, struct net_file *ret)
{
    for (unsigned i = 0; i < j->in.n_nets; i++)
        ret[i] = (struct net_file) { j->in.is_folder ? j->in.name[i] : j->in.path,
                                     b[i].data ? b[i].data : j->in.file[i].data,
                                     b[i].data ? b[i].n : j->in.file[i].n };
}

static rill_status moved_find(struct job *j)
{
    struct net_file files[QUANTIZE_NETS_MAX];
    bool any = false;
    for (unsigned i = 0; i < j->in.n_nets; i++)
        any |= net_has_moved(j->nets[i]);
    if (!any)
        return RILL_OK;
    files_of(j, j->moved, files);
    TRY(run_open(&j->between, &j->source, files, j->in.n_nets, &j->err));
    layers_put_in(j->nets, j->in.n_nets, &j->between.model.g);
    return RILL_OK;
}

static rill_status layers_run(struct job *j)
{
    struct net_file files[QUANTIZE_NETS_MAX];
    struct layer_watch w = {
        .nets = j->nets, .n_nets = j->in.n_nets, .mode = j->opts.mode, .err = &j->err
    };
    struct interp_watch see = { layer_see, &w };
    kern_init(&w.kern, kern_cpu_detect());
    TRY(moved_find(j));
    files_of(j, j->marked, files);
    TRY(run_open(&j->before, &j->source, files, j->in.n_nets, &j->err));
    w.dims = j->before.dims;
    w.stage = WATCH_RANGES;
    if (j->opts.mode == QUANTIZE_STATIC)
        TRY(run_all(&j->before, &j->source, &see, &j->err));
    w.stage = WATCH_LOSSES;
    return run_all(&j->before, &j->source, &see, &j->err);
}

/* A bare net whose inputs nobody declared is quantised all the same: its weights say what it
 * loses. */
static rill_status layers_measure(struct job *j)
{
    rill_status s = layers_run(j);
    j->ran = s == RILL_OK;
    const struct open_opts *o = &j->open;
    if (s == RILL_OK || j->in.is_folder || o->shapes.n || o->consts.n || o->states.n ||
        j->in.given.n)
        return s;
    j->why = j->err;
    return RILL_OK;
}

static rill_status nets_write(struct job *j)
{
    size_t left = 0;
    for (unsigned i = 0; i < j->in.n_nets; i++) {
        net_decide(j->nets[i], &j->opts);
        left += net_quantised(j->nets[i]);
        if (!net_quantised(j->nets[i]))
            continue;
        TRY(net_write(j->nets[i], &j->opts));
        TRY(net_pack(j->nets[i], &j->made[i]));
    }
    return left ? RILL_OK
                : err_set(&j->err, RILL_INVALID,
                          "'%.200s': every layer loses more than %g dB leave, so nothing would be "
                          "quantised; --min-snr allows more",
                          j->in.path, j->opts.least_db);
}

/* The nets that are written are opened and run; what does not open is not written. */
static rill_status outputs_run(struct job *j)
{
    struct net_file files[QUANTIZE_NETS_MAX];
    files_of(j, j->made, files);
    if (j->ran) {
        rill_status opened = run_open(&j->after, &j->source, files, j->in.n_nets, &j->err);
        return opened == RILL_OK
            ? run_all(&j->after, &j->source, NULL, &j->err)
            : err_prefix(&j->err, opened, "nothing is written, for it would not open");
    }
    struct dims *ds = dims_new();
    struct mgraph m;
    struct bytes b = { .data = files[0].data, .n = files[0].n };
    rill_status s = ds ? mgraph_from_onnx(&m, &j->after.arena, ds, &b, NULL, &j->err)
                       : err_set(&j->err, RILL_NOMEM, "out of memory");
    dims_free(ds);
    return s;
}

/* ---- report ---- */

static void db_print(const struct loss *l)
{
    double db = loss_db(l);
    if (isnan(db))
        printf("  silent");
    else if (isinf(db))
        printf("  %s", db > 0 ? " exact" : "  none");
    else
        printf("%8.1f", db);
}

static const char *const layer_how[] = { [LAYER_LEFT] = "f32",
                                         [LAYER_WEIGHTS] = "weights",
                                         [LAYER_DYNAMIC] = "dynamic",
                                         [LAYER_STATIC] = "static" };

/* What is told of a layer; NULL: it has no weights that could lose anything. */
static const struct loss *layer_loss(const struct layer *l)
{
    return !l->n_weights ? NULL : l->fate > LAYER_WEIGHTS ? &l->whole : &l->weights;
}

static void layer_print(const struct job *j, const struct layer *l)
{
    printf("  %-14s %-40.40s %9lld ", l->kind->name, l->name, (long long) l->n_values);
    if (l->n_weights)
        db_print(layer_loss(l));
    else
        printf("       -");
    printf("  %s%s%s%s\n", layer_how[l->fate], l->why ? ": " : "", l->why ? l->why : "",
           l->n_weights && !l->runs && j->ran ? " (nothing ran it; of its weights)" : "");
}

static void net_print(const struct job *j, unsigned i)
{
    const struct net *n = j->nets[i];
    const Onnxpb__Model *m = n->model;
    printf("%s: %zu of %zu layers quantised", n->name, net_quantised(n), n->n_layers);
    if (j->made[i].data)
        printf(", %zu bytes of %zu", j->made[i].n, j->in.file[i].n);
    if (onnx_message_opset(m)->version != n->opset)
        printf(", opset %lld instead of %lld", (long long) onnx_message_opset(m)->version,
               (long long) n->opset);
    if (m->ir_version != n->ir)
        printf(", IR version %lld instead of %lld", (long long) m->ir_version, (long long) n->ir);
    printf("%s\n", n->external && j->made[i].data ? ", tensors of other files are in it" : "");
    printf("  %-14s %-40s %9s %8s  %s\n", "op", "layer", "weights", "SNR dB", "as");
    for (size_t k = 0; k < n->n_layers; k++)
        layer_print(j, &n->layers[k]);
}

static void outputs_print(const struct job *j)
{
    if (!j->ran) {
        printf("not run, so the SNRs are those of the weights: %s; --shape, --const and --state "
               "say more of the inputs\n",
               j->why.text);
        return;
    }
    if (j->in.n_recordings)
        printf("outputs on %u recording%s, %.1f s:\n", j->in.n_recordings,
               j->in.n_recordings == 1 ? "" : "s", j->in.seconds);
    else if (j->in.given.n)
        printf("outputs on %u step%s of arrays:\n", j->before.n_given,
               j->before.n_given == 1 ? "" : "s");
    else
        printf("outputs on noise of %g dB:\n", j->noise_db);
    for (unsigned i = 0; i < j->before.n_outputs; i++) {
        struct loss l = run_loss(&j->before, &j->after, i);
        printf("  %-55.55s %9s ", j->before.output[i].name, "");
        db_print(&l);
        putchar('\n');
    }
}

/* ---- report in JSON ---- */

/* snr: measured, or why there is no number: exact, none (nothing is left), silent; null: nothing
 * was compared. */
static json_t *loss_json(json_t *to, const struct loss *l)
{
    double db = l ? loss_db(l) : 0;
    const char *how = !l ? NULL
        : isnan(db)      ? "silent"
        : !isinf(db)     ? "measured"
        : db > 0         ? "exact"
                         : "none";
    json_object_set_new(to, "snr_db", l && isfinite(db) ? json_real(db) : json_null());
    json_object_set_new(to, "snr", how ? json_string(how) : json_null());
    return to;
}

static json_t *layer_json(const struct job *j, const struct layer *l)
{
    json_t *o = json_pack("{s:s, s:o, s:I, s:s, s:s?, s:b}", "op", l->kind->name, "layer",
                          json_text(l->name), "weights", (json_int_t) l->n_values, "as",
                          layer_how[l->fate], "why", l->why, "ran", j->ran && l->runs);
    return loss_json(o, layer_loss(l));
}

static json_t *net_json(const struct job *j, unsigned i)
{
    const struct net *n = j->nets[i];
    const struct bytes *made = &j->made[i];
    json_t *layers = json_array();
    for (size_t k = 0; k < n->n_layers; k++)
        json_array_append_new(layers, layer_json(j, &n->layers[k]));
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "file", json_text(n->name), "quantised",
                     (json_int_t) net_quantised(n), "bytes_before", (json_int_t) j->in.file[i].n,
                     "bytes", (json_int_t) (made->data ? made->n : j->in.file[i].n), "opset_before",
                     (json_int_t) n->opset, "opset",
                     (json_int_t) onnx_message_opset(n->model)->version, "layers", layers);
}

static void report_json(const struct job *j)
{
    json_t *nets = json_array(), *outputs = json_array();
    for (unsigned i = 0; i < j->in.n_nets; i++)
        json_array_append_new(nets, net_json(j, i));
    for (unsigned i = 0; j->ran && i < j->before.n_outputs; i++) {
        struct loss l = run_loss(&j->before, &j->after, i);
        json_t *o = json_pack("{s:o}", "name", json_text(j->before.output[i].name));
        json_array_append_new(outputs, loss_json(o, &l));
    }
    json_t *o = json_pack("{s:o, s:o, s:b, s:o, s:i, s:f, s:o, s:o}", "model",
                          json_text(j->in.path), "out", json_text(j->out), "ran", j->ran,
                          "why_not_run", j->ran ? json_null() : json_text(j->why.text),
                          "recordings", (int) j->in.n_recordings, "seconds", j->in.seconds, "nets",
                          nets, "outputs", outputs);
    json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(7));
    putchar('\n');
    json_decref(o);
}

static void report(const struct job *j)
{
    for (unsigned i = 0; i < j->in.n_nets; i++)
        net_print(j, i);
    outputs_print(j);
}

static rill_status quantize(struct job *j, const char *model)
{
    TRY(quantize_in_open(&j->in, model, &j->err));
    TRY(quantize_out_check(&j->in, j->out, j->force, &j->err));
    if (j->in.is_folder && (j->open.shapes.n || j->open.consts.n || j->open.states.n))
        return err_set(&j->err, RILL_INVALID,
                       "'%.200s' is a pipeline, which says itself what goes into its nets: "
                       "--shape, --const and --state are for a bare net",
                       j->in.path);
    TRY(nets_read(j));
    TRY(source_make(j));
    TRY(layers_measure(j));
    TRY(nets_write(j));
    TRY(outputs_run(j));
    TRY(quantize_out_write(&j->in, j->out, j->made, &j->err));
    (j->json ? report_json : report)(j);
    return RILL_OK;
}

static void job_drop(struct job *j)
{
    run_drop(&j->before);
    run_drop(&j->between);
    run_drop(&j->after);
    step_decl_drop(&j->bare);
    quantize_in_drop(&j->in);
    arena_drop(&j->arena);
    free(j);
}

static int job_run(struct job *j, bool dynamic, bool fixed, char **argv)
{
    bool block = j->opts.block >= 16 && !(j->opts.block & (j->opts.block - 1));
    if (dynamic && fixed)
        return tool_fail(j->cmd, TOOL_USAGE, "one of --dynamic and --static");
    if (j->opts.bits != 8 && j->opts.bits != 7 && j->opts.bits != 4)
        return tool_fail(j->cmd, TOOL_USAGE, "--bits is 8, 7 or 4");
    if (j->opts.bits == 4 && (dynamic || fixed))
        return tool_fail(j->cmd, TOOL_USAGE,
                         "--bits 4 is for weights alone, without --dynamic and --static");
    if (!block)
        return tool_fail(j->cmd, TOOL_USAGE, "--block is 16, 32, 64, 128 or 256");
    j->opts.mode = dynamic ? QUANTIZE_DYNAMIC : fixed ? QUANTIZE_STATIC : QUANTIZE_WEIGHTS;
    j->out = argv[1];
    return quantize(j, argv[0]) == RILL_OK ? TOOL_OK : tool_fail_status(j->cmd, &j->err);
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct job *j = tool_alloc(sizeof *j);
    bool dynamic = false, fixed = false;
    int64_t bits = 8, block = 32;
    *j = (struct job) {
        .cmd = cmd, .open.declares = true, .noise_db = -20, .opts.least_db = 10, .in.folder.fd = -1
    };
    const struct opt table[] = {
        { "bits", 'b', OPT_INT, INT_FROM_TO(&bits, 4, 8), "N",
          "of a weight: 8, 7 (in bytes: for products that would saturate) or 4 (default 8)" },
        { "block", 0, OPT_INT, INT_FROM_TO(&block, 16, 256), "N",
          "weights of 4 bits that share a scale (default 32)" },
        { "calibrate", 'c', OPT_LIST, &j->recordings, "PATH",
          "a recording, or a folder of them; for a bare net an .npz with an array for each input" },
        { "dynamic", 0, OPT_FLAG, &dynamic, NULL,
          "activations, too, by the range that each run finds" },
        { "force", 'f', OPT_FLAG, &j->force, NULL, "replace what is there" },
        { "json", 0, OPT_FLAG, &j->json, NULL,
          "print {model, out, nets: [{file, bytes, layers: [{op, layer, snr_db, as, ..}]}], "
          "outputs, ..}" },
        { "min-snr", 0, OPT_REAL, REAL_FROM_TO(&j->opts.least_db, -100, 200), "DB",
          "a layer that would fall below stays f32 (default 10)" },
        { "noise", 0, OPT_REAL, REAL_FROM_TO(&j->noise_db, -120, 20), "DB",
          "level of the noise that is run where there are no recordings (default -20)" },
        { "static", 0, OPT_FLAG, &fixed, NULL,
          "activations, too, by the range that the recordings have" },
        { "shape", 0, OPT_LIST, &j->open.shapes, "IN=1,40,..",
          "the shape of an input of a bare net" },
        { "const", 0, OPT_LIST, &j->open.consts, "IN=VALUE",
          "make an input of a bare net a constant" },
        { "state", 0, OPT_LIST, &j->open.states, "IN:OUT",
          "an output of a bare net is fed back as an input" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 2, 2);
    j->opts.bits = (int) bits;
    j->opts.block = block;
    int code = n < 0 ? -n : job_run(j, dynamic, fixed, argv);
    job_drop(j);
    return code;
}

const struct command cmd_quantize = {
    .name = "quantize",
    .usage = "[OPTIONS] MODEL OUT",
    .summary = "write a model with weights of 8 or 4 bits, and say what that costs",
    .details =
        "MODEL is an .onnx file, a model folder or a name of the library; OUT is then such a file "
        "or folder, which\n"
        "opens wherever ONNX does. Each layer (Conv, ConvTranspose, Einsum, Gemm, MatMul, LSTM, "
        "GRU, RNN) "
        "is measured by\n"
        "itself, and the outputs of the whole, on recordings or on noise.",
    .run = run,
};
