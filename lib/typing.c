/* SPDX-License-Identifier: MIT */
#include "lib/typing.h"
#include "engine/graph/subst.h"
#include "engine/late/op.h"
#include "lib/cpu.h"
#include "lib/pipeline.h"
#include "engine/typing/typed.h"
#include "kernels/kern.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SYMBOLS_MAX 64

struct symbols {
    const struct dim *list[SYMBOLS_MAX];
    unsigned n;
};

static bool name_among(const char *name, const char *const *list)
{
    while (*list && strcasecmp(name, *list) != 0)
        list++;
    return *list != NULL;
}

static const char *const time_names[] = {
    "S",          "T",           "time",     "frames",          "n_frames",
    "num_frames", "seq",         "sequence", "length",          "samples",
    "n_samples",  "num_samples", "seq_len",  "sequence_length", NULL
};
static const char *const batch_names[] = { "N", "B", "batch", "batch_size", "batchsize", NULL };

/* The only symbol with a name that means time, or else the only one that does not count the batch;
 * NULL: nothing streams. */
static const struct dim *stream_guess(const struct symbols *s)
{
    const struct dim *named = NULL, *other = NULL;
    unsigned n_named = 0, n_others = 0;
    for (unsigned i = 0; i < s->n; i++) {
        const char *name = dim_name(s->list[i]);
        if (name_among(name, time_names)) {
            named = s->list[i];
            n_named++;
        }
        if (!name_among(name, batch_names)) {
            other = s->list[i];
            n_others++;
        }
    }
    return n_named == 1 ? named : n_named == 0 && n_others == 1 ? other : NULL;
}

static rill_status stream_named(const struct symbols *s, const char *name, const struct dim **ret,
                                rill_error *err)
{
    char known[240] = "";
    for (unsigned i = 0; i < s->n; i++) {
        size_t at = strlen(known);
        if (!strcmp(dim_name(s->list[i]), name)) {
            *ret = s->list[i];
            return RILL_OK;
        }
        snprintf(known + at, sizeof known - at, "%s%.60s", i ? ", " : "", dim_name(s->list[i]));
    }
    return err_set(err, RILL_INVALID,
                   "no input has the symbol '%.80s' to stream along; their symbols are: %s", name,
                   s->n ? known : "none");
}

/* Where time streams, a symbol that counts the batch is 1. */
static void batch_fix(rill_model *m, const struct symbols *s, struct fact *f)
{
    for (unsigned i = 0; i < s->n; i++)
        for (int k = 0; s->list[i] != m->stream && name_among(dim_name(s->list[i]), batch_names) &&
             k < f->rank;
             k++) {
            if (dim_mentions(f->shape[k], s->list[i]))
                m->batch = s->list[i];
            f->shape[k] = dim_subst(m->dims, f->shape[k], s->list[i], dim_int(m->dims, 1));
        }
}

/* A model without time whose sizes data decides runs as it is read, planned as data comes. said:
 * why it could not be typed, which stands where that is no help; NULL: nothing was. */
static rill_status late_type(rill_model *m, const struct mgraph *g, const struct typed_input *in,
                             struct tgraph *ret, const rill_error *said, rill_error *err)
{
    struct late_node *late;
    struct late_opts opts = { .reserve_frames = m->reserve_frames };
    struct fact *facts = arena_array(&m->arena, struct fact, g->g.n_inputs + 1u);
    if (!facts)
        return err_set(err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->g.n_inputs; i++)
        facts[i] = in[i].fact;
    TRY(cpu_choose(0, &opts.cpu, err));
    const rill_status made = tgraph_from_late(ret, &late, g, facts, &opts, m->planning, err);
    if (made != RILL_OK && said) {
        *err = *said;
        return said->status;
    }
    TRY(made);
    m->stages = &model_unfinished;
    *late_node_next(late) = m->late;
    m->late = late;
    return RILL_OK;
}

static bool any_open(const struct graph *g)
{
    for (uint32_t w = 0; w < g->n_wires; w++) {
        const struct fact *f = &g->wires[w].fact;
        if (f->type && f->rank >= 0 && (f->type == DTYPE_DIM || !fact_is_static(f)))
            return true;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_body; k++)
            if (any_open(g->nodes[i].body[k]))
                return true;
    return false;
}

/* A size that is no number and no symbol of an input's: only data will say it. */
static bool is_sized_by_data(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (!fact_is_static(&g->wires[g->inputs[i]].fact))
            return false;
    return g->n_inputs && any_open(g);
}

/* A state with an axis whose size is open grows from run to run, and nothing else is known of it.
 */
static bool any_state_grows(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_states; i++) {
        const struct fact *f = &g->wires[g->states[i].in].fact;
        if (f->rank >= 0 && !fact_is_static(f))
            return true;
    }
    return false;
}

static bool state_mentions(const struct graph *g, const struct dim *symbol)
{
    for (uint32_t i = 0; i < g->n_states; i++) {
        const struct fact *f = &g->wires[g->states[i].in].fact;
        for (int k = 0; k < f->rank; k++)
            if (dim_mentions(f->shape[k], symbol))
                return true;
    }
    return false;
}

/* Symbols that may count time: not those of states, which have a size of their own. */
static struct symbols symbols_of_time(const struct graph *g, const struct symbols *all)
{
    struct symbols s = { .n = 0 };
    for (unsigned i = 0; i < all->n; i++)
        if (!state_mentions(g, all->list[i]))
            s.list[s.n++] = all->list[i];
    return s;
}

static rill_status model_type_late(rill_model *m, const struct mgraph *g,
                                   const struct typed_input *in, rill_status typed,
                                   struct tgraph *ret, rill_error *err)
{
    if (m->stream)
        return typed;
    const rill_error said = *err;
    if (typed != RILL_OK && m->reserve_frames && any_state_grows(&g->g))
        return late_type(m, g, in, ret, NULL, err);
    if (typed == RILL_UNSUPPORTED)
        return late_type(m, g, in, ret, &said, err);
    if (typed == RILL_OK && is_sized_by_data(&ret->g))
        late_type(m, g, in, ret, &said, err); /* what it cannot do stays as it was typed */
    return typed;
}

rill_status model_type(rill_model *m, const struct mgraph *g, const struct time_choice *time,
                       struct tgraph *ret, struct fact *ret_facts, rill_error *reterr)
{
    struct symbols s, of_time;
    struct typed_input *in = arena_array(&m->arena, struct typed_input, g->g.n_inputs + 1u);
    if (!in)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    s.n = graph_input_symbols(&g->g, s.list, SYMBOLS_MAX);
    of_time = symbols_of_time(&g->g, &s);
    TRY(dims_status(m->dims, reterr));
    m->stream = m->batch = NULL;
    m->batched = *g;
    if (time->name)
        TRY(stream_named(&s, time->name, &m->stream, reterr));
    else if (time->guess_by_name)
        m->stream = stream_guess(&of_time);
    for (uint32_t i = 0; i < g->g.n_inputs; i++) {
        in[i] = (struct typed_input) { g->g.wires[g->g.inputs[i]].name,
                                       g->g.wires[g->g.inputs[i]].fact };
        if (m->stream && time->guess_by_name)
            batch_fix(m, &s, &in[i].fact);
    }
    struct typed_opts opts = { .inputs = in, .n_inputs = g->g.n_inputs, .ret_facts = ret_facts };
    rill_error err = { RILL_OK, "" };
    rill_status typed = tgraph_from_mgraph(ret, g, &opts, &err);
    typed = model_type_late(m, g, in, typed, ret, &err);
    if (typed != RILL_OK && reterr)
        *reterr = err;
    return typed;
}

rill_status model_type_batched(rill_model *m, struct tgraph *ret, rill_error *reterr)
{
    return tgraph_from_mgraph(ret, &m->batched, NULL, reterr);
}
