/* SPDX-License-Identifier: MIT */
#include "tools/open.h"
#include "engine/base/err.h"
#include "lib/model.h"
#include "tools/left_open.h"
#include "tools/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef bool decl_add(struct step_decl *d, const char *text);

static rill_status list_add(struct step_decl *d, const struct opt_list *l, decl_add *add,
                            const char *form, rill_error *err)
{
    for (unsigned i = 0; i < l->n; i++)
        if (!add(d, l->item[i]))
            return err_set(err, RILL_INVALID, "'%.100s' is not of the form %s", l->item[i], form);
    return RILL_OK;
}

rill_model_opts open_opts_of(const struct open_opts *o)
{
    return (rill_model_opts) { .struct_bytes = sizeof(rill_model_opts),
                               .asserts = o->asserts.item,
                               .set = o->sets.item,
                               .transforms = o->transforms.item,
                               .stream = o->stream };
}

/* --state none */
static bool states_are_none(const struct open_opts *o)
{
    return o->states.n == 1 && !strcmp(o->states.item[0], "none");
}

rill_status open_decl_add(struct step_decl *d, const struct open_opts *o, rill_error *reterr)
{
    TRY(list_add(
        d, &o->shapes, step_decl_shape,
        "NAME=1,S,..: the name of an input, and for each of its axes a number from 0 on or "
        "an expression of symbols, as in pcm=1,2*S",
        reterr));
    TRY(list_add(d, &o->consts, step_decl_const, "NAME=VALUE", reterr));
    if (states_are_none(o))
        return RILL_OK;
    return list_add(d, &o->states, step_decl_state, "INPUT:OUTPUT, or none", reterr);
}

static bool is_network(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".onnx") || !strcmp(dot, ".tflite"));
}

bool open_is_bare(const char *name)
{
    return is_network(name) || step_model_is_text(name);
}

/* Tells of the states that were found. */
static void states_tell(const struct step_decl *d)
{
    enum { TOLD_MAX = 6 };
    fprintf(stderr, "rill: %u state%s found by name (--state none: none):", d->n_states,
            d->n_states == 1 ? "" : "s");
    for (uint32_t i = 0; i < d->n_states && i < TOLD_MAX; i++)
        fprintf(stderr, " %s:%s", d->states[i].in, d->states[i].out);
    fprintf(stderr, "%s\n", d->n_states > TOLD_MAX ? " .." : "");
}

rill_status open_find_states(struct step_decl *d, const char *path, const struct open_opts *o,
                             rill_error *reterr)
{
    const rill_model_opts opts = open_opts_of(o);
    if (states_are_none(o) || !open_is_bare(path))
        return RILL_OK;
    TRY(step_decl_find_states(d, path, &opts, reterr));
    if (d->found && !o->states.n)
        states_tell(d);
    return RILL_OK;
}

static bool state_has(const struct step_decl *d, const char *in)
{
    for (uint32_t i = 0; i < d->n_states; i++)
        if (!strcmp(d->states[i].in, in))
            return true;
    return false;
}

static bool shape_has(const struct step_decl *d, const char *in)
{
    for (uint32_t i = 0; i < d->n_shapes; i++)
        if (!strcmp(d->shapes[i].name, in))
            return true;
    return false;
}

/* What a state begins with does not say how large it gets. */
static rill_status data_add(struct step_decl *d, const struct open_opts *o, rill_error *err)
{
    for (uint32_t i = 0; (d->found || o->data_tells) && i < o->n_data; i++) {
        if (state_has(d, o->data[i].name) || shape_has(d, o->data[i].name))
            continue;
        struct step_shape *s = step_decl_add_shape(d, o->data[i].name);
        if (!s)
            return err_set(err, RILL_NOMEM, "out of memory");
        *s = o->data[i];
    }
    return RILL_OK;
}

static rill_status declared_open(rill_model **ret, const char *name, const struct open_opts *o,
                                 rill_error *reterr)
{
    static struct step_decl d; /* names are borrowed by the model: a command has one at a time */
    const rill_model_opts opts = open_opts_of(o);
    arena_drop(&d.arena);
    d = (struct step_decl) { .n_shapes = 0 };
    TRY(open_decl_add(&d, o, reterr));
    d.reserve_frames = o->reserve_frames;
    d.one_run = o->one_run;
    if (o->declares && access(name, R_OK) == 0)
        open_find_states(&d, name, o, NULL); /* what is wrong is told below */
    TRY(data_add(&d, o, reterr));
    if (!d.n_shapes && !d.n_consts && !d.n_states) {
        rill_status s = library_open(ret, name, &opts, reterr);
        if (s == RILL_UNSUPPORTED && o->declares && is_network(name))
            left_open_tell(reterr, name);
        return s;
    }
    return step_model_open(ret, name, &d, &opts, reterr);
}

/* "40ms", or "40frames" of the input. */
static rill_status latency_read(const char *text, uint32_t *ret_ms, uint32_t *ret_frames,
                                rill_error *err)
{
    char *end;
    unsigned long v = strtoul(text, &end, 10);
    bool frames = !strcmp(end, "frames"), unit = !strcmp(end, "ms") || frames;
    if (*text < '0' || *text > '9' || !unit || v < 1 || v > (frames ? INT32_MAX : 60000))
        return err_set(err, RILL_INVALID,
                       "--latency '%.40s' is no number of milliseconds with its unit, 1ms to "
                       "60000ms, nor of input frames, as in 40frames",
                       text);
    *(frames ? ret_frames : ret_ms) = (uint32_t) v;
    return RILL_OK;
}

rill_status open_any(rill_model **ret, const char *name, const struct open_opts *o,
                     rill_error *reterr)
{
    uint32_t latency_ms = 0, latency_frames = 0;
    if (o->latency)
        TRY(latency_read(o->latency, &latency_ms, &latency_frames, reterr));
    TRY(declared_open(ret, name, o, reterr));
    if (o->latency) {
        (*ret)->latency_ms = latency_ms;
        (*ret)->latency_frames = latency_frames;
    }
    return RILL_OK;
}

rill_status open_bare_tell(rill_status refusal, rill_error *err, const char *name)
{
    size_t at = strlen(err->text);
    if (is_network(name))
        snprintf(err->text + at, sizeof err->text - at,
                 ": a network alone does not say what its numbers mean. Make a folder with this "
                 "file, graph.nnef (from samples to samples: framing, the network by rill_onnx or "
                 "rill_onnx_scan, overlap-add) and model.conf ([model] task, sample_rate; "
                 "[input.NAME] kind = audio; [output.NAME] kind = audio, vad, keyword, ctc or "
                 "transducer); docs/adding.md shows one");
    return refusal;
}

rill_status open_uncompiled(rill_model **ret, const char *name, const struct open_opts *o,
                            rill_error *reterr)
{
    rill_model *m;
    TRY(open_any(&m, name, o, reterr));
    if (m->compiled) {
        rill_model_free(m);
        return err_set(
            reterr, RILL_UNSUPPORTED,
            "'%.200s' is a compiled plan, which has no graph of the whole sequence any more; "
            "name the model that it was compiled of",
            name);
    }
    *ret = m;
    return RILL_OK;
}

rill_status open_rate_check(const rill_port *in, const char *name, rill_error *reterr)
{
    if (!in->hop_num)
        return err_set(
            reterr, RILL_INVALID,
            "input '%.80s' of model '%s' does not stream: no symbol of its size counts "
            "time; leave the symbol open (--set gives it a value), or name it (--stream)",
            in->name, name);
    if (in->rate_den && in->rate_num / in->rate_den)
        return RILL_OK;
    return err_set(
        reterr, RILL_INVALID,
        "model '%s' states no sample rate; sample_rate in [model] of its model.conf does", name);
}

rill_status open_audio_check(const rill_port *out, const char *name, rill_error *reterr)
{
    if (out->hop_num == 1 && out->hop_den == 1)
        return RILL_OK;
    return err_set(reterr, RILL_UNSUPPORTED,
                   "the audio of model '%s' comes out at another rate than it goes in, %u samples "
                   "for %u; a stream wants them alike: let the graph end in samples at the input's "
                   "rate",
                   name, out->hop_den, out->hop_num);
}

rill_status open_pool(rill_pool **ret, int64_t threads, const rill_model *m, rill_error *reterr)
{
    const rill_pool_opts opts = { .struct_bytes = sizeof opts,
                                  .threads = threads ? (uint32_t) threads : m->threads };
    *ret = NULL;
    return opts.threads > 1 ? rill_pool_new(ret, &opts, reterr) : RILL_OK;
}
