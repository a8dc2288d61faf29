/* SPDX-License-Identifier: MIT */
#include "lib/plan_file.h"
#include "engine/base/dim_claims.h"
#include "engine/plan/file/graph.h"
#include "lib/model_file.h"
#include "engine/ops/clock.h"

#include <string.h>

#define FRAMES_MAX ((int64_t) 1 << 31)
#define OWN_BYTES ((size_t) 64 << 20)
#define OWN_TIMES 32

struct stream_reader {
    struct record_reader r;
    struct dims *dims;
    const struct dim *symbol;
    uint32_t asked_frames;
    rill_error *err;
};

static bool is_of_symbol(const struct stream_reader *d, const struct dim *e)
{
    const struct dim *found[2];
    unsigned n = dim_symbols(e, found, 0, 2);
    return n == 0 || (n == 1 && found[0] == d->symbol);
}

/* Where a length has a value, it is one that counts of frames reach. */
static bool is_bounded(const struct stream_reader *d, const struct dim *e)
{
    int64_t v;
    for (int shift = -1; d->symbol && shift < 40; shift += 20)
        if (dim_eval(e, d->symbol, shift < 0 ? 0 : (int64_t) 1 << shift, &v) &&
            (v <= -(INT64_MAX >> 2) || v >= INT64_MAX >> 2))
            return false;
    return true;
}

/* A number of frames that depends on the stream symbol and on nothing else. Behind a table of
 * places it has a value for the lengths only that the table has places for. */
static rill_status dim_read(struct stream_reader *d, const struct dim **ret)
{
    const char *text = record_take_text(&d->r);
    *ret = NULL;
    if (!*text || d->r.wrong)
        return RILL_OK;
    TRY(dim_parse(d->dims, text, ret, d->err));
    return is_of_symbol(d, *ret) && is_bounded(d, *ret)
        ? RILL_OK
        : err_set(d->err, RILL_MALFORMED, "the length '%.100s' is none of a stream", text);
}

static rill_status symbol_read(struct stream_reader *d)
{
    const char *name = record_take_text(&d->r);
    if (!*name)
        return RILL_OK;
    const struct dim *s;
    TRY(dim_parse(d->dims, name, &s, d->err));
    if (!dim_name(s))
        return err_set(d->err, RILL_MALFORMED, "'%.100s' is no symbol", name);
    d->symbol = s;
    return RILL_OK;
}

static rill_status fact_read(struct stream_reader *d, struct stream_fact *f, const char **ret_name,
                             const struct fact *wire)
{
    static const char what[] = "a port streams in an impossible way";
    struct record_reader *r = &d->r;
    f->axis = (int) record_take_range(r, -1, wire->rank - 1, what);
    f->pulse = record_take_range(r, 0, FRAMES_MAX, what);
    f->delay = record_take_range(r, 0, FRAMES_MAX, what);
    f->hop_num = record_take_range(r, 0, FRAMES_MAX, what);
    f->hop_den = record_take_range(r, 0, FRAMES_MAX, what);
    f->at.origin.num = record_take_range(r, -FRAMES_MAX, FRAMES_MAX, what);
    f->at.origin.den = record_take_range(r, 0, FRAMES_MAX, what);
    *ret_name = record_take_text(r);
    TRY(dim_read(d, &f->length));
    bool fine = f->axis < 0 ||
        (f->length && d->symbol && f->hop_num > 0 && f->hop_den > 0 && f->pulse > 0 &&
         dim_is(wire->shape[f->axis], f->pulse));
    if (!fine)
        record_wrong(r, what);
    return RILL_OK;
}

static rill_status facts_read(struct stream_reader *d, const struct graph *g, const uint32_t *wires,
                              uint32_t n, struct stream_fact **ret, const char ***ret_names)
{
    if (record_take_u32(&d->r) != n)
        record_wrong(&d->r, "the ports are not those of the graph");
    struct stream_fact *list = record_array(&d->r, n, sizeof *list);
    const char **names = record_array(&d->r, n, sizeof *names);
    for (uint32_t i = 0; i < n && !d->r.wrong; i++)
        TRY(fact_read(d, &list[i], &names[i], &g->wires[wires[i]].fact));
    *ret = list;
    *ret_names = names;
    return RILL_OK;
}

static rill_status claims_read(struct stream_reader *d)
{
    for (uint32_t word; (word = record_take_u32(&d->r)) != 0;) {
        const char *text = record_take_text(&d->r), *holds = record_take_text(&d->r);
        const struct dim *ge0;
        if (d->r.wrong)
            return RILL_OK;
        TRY(dim_parse(d->dims, holds, &ge0, d->err));
        if (!is_of_symbol(d, ge0))
            return err_set(d->err, RILL_MALFORMED, "'%.100s' is asserted of no stream", text);
        TRY(dims_claim_add(d->dims,
                           word == PLAN_CLAIM_NEEDED       ? DIM_CLAIM_NEEDED
                               : word == PLAN_CLAIM_WINDOW ? DIM_CLAIM_WINDOW
                                                           : DIM_CLAIM_ASSERTED,
                           text, ge0, d->err));
    }
    return RILL_OK;
}

/* Where the length that a clock op reads lies is checked by the op; here that the clock is one. */
static bool clock_is_sound(const struct pgraph *g, const struct graph *planned)
{
    uint32_t n = planned->n_inputs;
    const struct fact *f = n ? &planned->wires[planned->inputs[n - 1]].fact : NULL;
    return !g->has_clock ||
        (f && f->type == DTYPE_I64 && f->rank == 1 && dim_is(f->shape[0], CLOCK_SIZE));
}

/* Every input begins by the lead-in later than the first run, and so within it. */
static void inputs_check(struct stream_reader *d, const struct pgraph *g, uint32_t n)
{
    for (uint32_t i = 0; i < n && !d->r.wrong; i++) {
        const struct stream_fact *f = &g->inputs[i];
        if (f->axis >= 0 && (f->delay >= f->pulse || f->delay * g->pulse != f->pulse * g->lead_in))
            record_wrong(&d->r, "an input begins elsewhere than the first run has it");
    }
}

static rill_status stream_read(struct stream_reader *d, rill_plan *p)
{
    struct pgraph *g = &p->pgraph;
    const struct graph *planned = &p->settled.g;
    TRY(symbol_read(d));
    g->symbol = d->symbol;
    d->asked_frames = record_take_u32(&d->r);
    g->pulse = record_take_range(&d->r, 0, FRAMES_MAX, "the pulse is impossible");
    g->lead_in = record_take_range(&d->r, 0, g->pulse > 0 ? g->pulse - 1 : 0,
                                   "the first run is longer than a pulse");
    g->has_clock = record_take_u32(&d->r) != 0;
    g->n_lengths = record_take_u32(&d->r);
    if (g->n_lengths > LENGTHS_MAX || !clock_is_sound(g, planned) ||
        (!g->has_clock && g->n_lengths))
        record_wrong(&d->r, "the graph has no such clock");
    for (uint32_t i = 0; i < g->n_lengths && !d->r.wrong; i++) {
        TRY(dim_read(d, &g->lengths[i]));
        if (!g->lengths[i])
            record_wrong(&d->r, "a length is missing");
    }
    if (d->r.wrong)
        return RILL_OK;
    TRY(facts_read(d, planned, planned->inputs, planned->n_inputs - g->has_clock, &g->inputs,
                   &p->input_names));
    inputs_check(d, g, planned->n_inputs - g->has_clock);
    TRY(facts_read(d, planned, planned->outputs, planned->n_outputs, &g->outputs,
                   &p->output_names));
    return d->r.wrong ? RILL_OK : claims_read(d);
}

static rill_status file_check(const rill_plan *p, uint32_t pulse_frames, const char *cpu,
                              rill_error *err)
{
    const struct planfile *f = p->model->compiled;
    const struct pgraph *g = &p->pgraph;
    if (strcmp(f->cpu, cpu))
        return err_set(
            err, RILL_UNSUPPORTED,
            "was compiled for %.31s, plans are made for %s here; compile it again on this "
            "machine with: rill compile MODEL -o FILE.rill",
            f->cpu, cpu);
    if (pulse_frames && pulse_frames != g->pulse && pulse_frames != p->asked_frames)
        return err_set(
            err, RILL_UNSUPPORTED,
            "was compiled for pulses of %lld frames, not %u; compile it again with: rill compile "
            "--pulse %u MODEL -o FILE.rill",
            (long long) g->pulse, pulse_frames, pulse_frames);
    if ((p->model->inputs && p->model->n_compiled_inputs != p->settled.g.n_inputs - g->has_clock) ||
        (p->model->outputs && p->model->n_compiled_outputs != p->settled.g.n_outputs))
        return err_set(err, RILL_MALFORMED, "the ports of the model are not those of the graph");
    return RILL_OK;
}

static rill_status graph_take(rill_plan *p, uint32_t pulse_frames, const char *cpu,
                              struct plan_opts *ret, rill_error *err)
{
    const rill_model *m = p->model;
    const struct planfile *f = m->compiled;
    struct record_reader r = planfile_part(f, PLANFILE_GRAPH, &p->arena);
    const struct graph_source source = { .from = &r,
                                         .data = f->data,
                                         .data_bytes = f->data_bytes,
                                         .zeros = f->zeros,
                                         .zeros_bytes = f->zeros_bytes,
                                         .op_find = op_find_made,
                                         .dims = m->dims };
    struct record_reader packs = planfile_part(f, PLANFILE_PACKS, &p->arena);
    struct stream_reader d = { .r = planfile_part(f, PLANFILE_STREAM, &p->arena),
                               .dims = m->dims,
                               .err = err };
    if (strcmp(f->cpu, cpu))
        return file_check(p, pulse_frames, cpu, err);
    /* Weights are mapped: a plan has little of its own, and a graph that asks for more means
     * harm. */
    p->arena.limit_bytes = OWN_BYTES + OWN_TIMES * (size_t) f->file_bytes;
    ret->own_bytes_max = OWN_BYTES + OWN_TIMES * (size_t) f->file_bytes;
    TRY(planfile_graph_read(&p->settled.g, &source, err));
    TRY(planfile_packs_read(&packs, f->data, f->data_bytes, ret, err));
    TRY(stream_read(&d, p));
    if (d.r.wrong)
        return err_set(err, RILL_MALFORMED, "%s", d.r.wrong);
    p->symbol = d.symbol;
    p->asked_frames = d.asked_frames;
    return file_check(p, pulse_frames, cpu, err);
}

rill_status plan_from_file(rill_plan *p, uint32_t pulse_frames, const char *cpu,
                           struct plan_opts *opts, rill_error *reterr)
{
    rill_status s = graph_take(p, pulse_frames, cpu, opts, reterr);
    if (s == RILL_OK)
        s = plan_from_sgraph(&p->plan, &p->settled, opts, reterr);
    return s == RILL_OK ? s : err_prefix(reterr, s, "%.200s", p->model->compiled->shown);
}
