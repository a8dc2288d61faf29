/* SPDX-License-Identifier: MIT */
#include "lib/choose.h"
#include "engine/plan/cost.h"
#include "pulse/offset.h"

#define CHOICES_MAX 24
#define WORTH_PERCENT 125 /* of the least effort a frame: a longer pulse is no gain */

/* Frames of the stream symbol in budget_ms; 0: the model states no rate. */
static int64_t frames_in(const rill_model *m, const struct pgraph *g, uint32_t budget_ms)
{
    for (uint32_t i = 0; m->inputs && i < m->decluttered.g.n_inputs; i++)
        if (m->inputs[i].rate && g->inputs[i].axis >= 0)
            return (int64_t) m->inputs[i].rate * budget_ms / 1000 / g->inputs[i].hop_den;
    return 0;
}

static double effort_of(const struct pgraph *g)
{
    struct cost c;
    cost_of_graph(&g->g, &c);
    return (double) c.effort / (double) g->pulse;
}

struct choice {
    int64_t pulse;
    double effort;
};

static rill_status choices_make(const rill_model *m, const struct pgraph *least, int64_t most,
                                struct choice *list, unsigned *ret_n, rill_error *err)
{
    list[0] = (struct choice) { least->pulse, effort_of(least) };
    for (*ret_n = 1; *ret_n < CHOICES_MAX && list[*ret_n - 1].pulse <= most / 2; ++*ret_n) {
        struct arena a = { 0 };
        struct pgraph g;
        rill_status s = pgraph_from_dgraph(&g, &m->decluttered, m->stream,
                                           2 * list[*ret_n - 1].pulse, NULL, &a, err);
        if (s == RILL_OK)
            list[*ret_n] = (struct choice) { g.pulse, effort_of(&g) };
        arena_drop(&a);
        TRY(s);
    }
    return RILL_OK;
}

/* With what the network itself is late, which the graph does not show. */
static struct ratio output_latency(const rill_model *m, const struct pgraph *g, uint32_t i)
{
    struct stream_fact s = g->outputs[i];
    offset_cut(&s, m->outputs ? -(int64_t) m->outputs[i].late_frames : 0, 1);
    return offset_latency(&s);
}

/* Frames by which the latest output comes later than it could with a pulse of one; of `name`. */
static int64_t latest_output(const rill_model *m, const struct pgraph *g, const char **ret_name)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < m->decluttered.g.n_outputs; i++) {
        struct ratio late = { 0, 1 };
        if (g->outputs[i].axis >= 0)
            late = output_latency(m, g, i);
        int64_t frames = late.num > 0 ? (late.num + late.den - 1) / late.den : 0;
        if (i == 0 || frames > most) {
            most = frames;
            *ret_name = m->decluttered.g.wires[m->decluttered.g.outputs[i]].name;
        }
    }
    return most;
}

/* The longest pulse with which no output is later than the model's latency_ms. */
static rill_status frames_by_latency(const rill_model *m, const struct pgraph *least, int64_t *ret,
                                     rill_error *err)
{
    const char *name = "";
    int64_t all = frames_in(m, least, m->latency_ms), late = latest_output(m, least, &name);
    if (all == 0)
        return err_set(err, RILL_UNSUPPORTED,
                       "a latency of %u ms is asked for, and the model states no sample rate",
                       m->latency_ms);
    if (late + least->pulse > all + 1)
        return err_set(
            err, RILL_UNSUPPORTED,
            "a latency of %u ms is %lld frames: output '%s' is %lld late already, and the "
            "smallest pulse is %lld",
            m->latency_ms, (long long) all, name, (long long) late, (long long) least->pulse);
    *ret = all - late + 1;
    return RILL_OK;
}

/* `least` is cut for the smallest legal pulse. */
static rill_status pulse_choose(const rill_model *m, const struct pgraph *least, uint32_t budget_ms,
                                int64_t *ret, rill_error *err)
{
    struct choice list[CHOICES_MAX];
    unsigned n = 0, best = 0, k = 0;
    int64_t longest = frames_in(m, least, budget_ms ? budget_ms : PULSE_BUDGET_MS);
    if (m->latency_ms && !budget_ms)
        TRY(frames_by_latency(m, least, &longest, err));
    TRY(choices_make(m, least, longest, list, &n, err));
    for (unsigned i = 1; i < n; i++)
        best = list[i].effort < list[best].effort ? i : best;
    while (list[k].effort * 100 > list[best].effort * WORTH_PERCENT)
        k++;
    *ret = list[k].pulse;
    return RILL_OK;
}

rill_status pgraph_chosen(struct pgraph *ret, const struct dgraph *t, const struct pulse_choice *c,
                          struct arena *a, rill_error *err)
{
    const struct dim *symbol = c->model->stream;
    struct pgraph least;
    int64_t pulse = c->asked_frames;
    TRY(pgraph_from_dgraph(&least, t, symbol, pulse, c->opts, a, err));
    if (!pulse && symbol)
        TRY(pulse_choose(c->model, &least,
                         c->budget_ms || c->model->latency_ms ? c->budget_ms : c->model->budget_ms,
                         &pulse, err));
    if (pulse && pulse > least.pulse)
        return pgraph_from_dgraph(ret, t, symbol, pulse, c->opts, a, err);
    *ret = least;
    return RILL_OK;
}
