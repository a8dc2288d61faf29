/* SPDX-License-Identifier: MIT */
/* Writing compiled files; plan_file.c reads them, in the same order. */
#include "engine/base/dim_claims.h"
#include "engine/late/op.h"
#include "engine/plan/file/graph.h"
#include "lib/model_file.h"
#include "lib/plan_file.h"

static rill_status dim_write(struct record *to, const struct dim *d, rill_error *err)
{
    char text[RECORD_TEXT_MAX];
    int n = d ? dim_print(d, text, sizeof text) : 0;
    if (n < 0 || (size_t) n >= sizeof text)
        return err_set(err, RILL_UNSUPPORTED, "a length is too long an expression to be compiled");
    record_text(to, d ? text : "");
    return RILL_OK;
}

static rill_status facts_write(struct record *to, const struct stream_fact *list,
                               const char *const *names, uint32_t n, rill_error *err)
{
    record_u32(to, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct stream_fact *f = &list[i];
        record_i64(to, f->axis);
        record_i64(to, f->pulse);
        record_i64(to, f->delay);
        record_i64(to, f->hop_num);
        record_i64(to, f->hop_den);
        record_i64(to, f->at.origin.num);
        record_i64(to, f->at.origin.den);
        record_text(to, names[i]);
        TRY(dim_write(to, f->axis < 0 ? NULL : f->length, err));
    }
    return RILL_OK;
}

/* What is asserted of the stream symbol alone, the oldest first, each behind a 1, what ops and
 * streams need behind a 2; then a 0. */
static const uint32_t claim_words[] = { [DIM_CLAIM_ASSERTED] = PLAN_CLAIM_ASSERTED,
                                        [DIM_CLAIM_STREAMS] = PLAN_CLAIM_NEEDED,
                                        [DIM_CLAIM_NEEDED] = PLAN_CLAIM_NEEDED,
                                        [DIM_CLAIM_WINDOW] = PLAN_CLAIM_WINDOW,
                                        [DIM_CLAIM_TABLE] = PLAN_CLAIM_ASSERTED };

static rill_status claims_write(struct record *to, const rill_plan *p, rill_error *err)
{
    const struct dim *ge0, *found[2];
    unsigned n = 0;
    while (dims_claim_at(p->model->dims, n, &ge0))
        n++;
    while (n--) {
        const char *text = dims_claim_at(p->model->dims, n, &ge0);
        if (dim_symbols(ge0, found, 0, 2) != 1 || found[0] != p->symbol)
            continue;
        const enum dim_claim_kind kind = dims_claim_kind(p->model->dims, n);
        record_u32(to, claim_words[kind]);
        record_text(to, text);
        TRY(dim_write(to, ge0, err));
    }
    record_u32(to, 0);
    return RILL_OK;
}

static rill_status stream_write(struct record *to, const rill_plan *p, rill_error *err)
{
    const struct pgraph *g = &p->pgraph;
    TRY(dim_write(to, p->symbol, err));
    record_u32(to, p->asked_frames);
    record_i64(to, g->pulse);
    record_i64(to, g->lead_in);
    record_u32(to, g->has_clock);
    record_u32(to, g->n_lengths);
    for (uint32_t i = 0; i < g->n_lengths; i++)
        TRY(dim_write(to, g->lengths[i], err));
    const struct graph *planned = &p->settled.g;
    TRY(facts_write(to, g->inputs, p->input_names, planned->n_inputs - g->has_clock, err));
    TRY(facts_write(to, g->outputs, p->output_names, planned->n_outputs, err));
    return claims_write(to, p, err);
}

rill_status rill_plan_save(const rill_plan *p, const char *path, rill_error *reterr)
{
    if (late_of_graph(&p->model->decluttered.g))
        return err_set(
            reterr, RILL_UNSUPPORTED,
            "data decides sizes of this model: its plans are made as it runs, and cannot "
            "be compiled");
    const struct graph *g = &p->settled.g;
    for (uint32_t i = 0; p->model->outputs && i < g->n_outputs; i++)
        if (p->model->outputs[i].kind == RILL_PORT_ATTENTION)
            return err_set(reterr, RILL_UNSUPPORTED,
                           "output %u is read by an attention decoder, whose plans are made as its "
                           "text grows, and cannot be compiled",
                           i);
    struct record parts[PLANFILE_PARTS] = { 0 }, data = { 0 };
    model_file_write(&parts[PLANFILE_MODEL], p->model, g->n_inputs - p->pgraph.has_clock,
                     g->n_outputs);
    rill_status s = stream_write(&parts[PLANFILE_STREAM], p, reterr);
    if (s == RILL_OK)
        s = planfile_graph_write(&parts[PLANFILE_GRAPH], &data, g, p->plan, reterr);
    if (s == RILL_OK)
        planfile_packs_write(&parts[PLANFILE_PACKS], &data, &p->plan->packs);
    data_add(&data, (unsigned char[PLANFILE_ALIGN_BYTES]) { 0 },
             PLANFILE_ALIGN_BYTES); /* no block is the end of the file */
    if (s == RILL_OK)
        s = planfile_save(path, p->plan->kern.isa, parts, &data, reterr);
    for (int i = 0; i < PLANFILE_PARTS; i++)
        record_drop(&parts[i]);
    record_drop(&data);
    return s;
}
