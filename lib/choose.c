/* SPDX-License-Identifier: MIT */
#include "lib/choose.h"
#include "engine/plan/cost.h"

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

/* `least` is cut for the smallest legal pulse. */
static rill_status pulse_choose(const rill_model *m, const struct pgraph *least, uint32_t budget_ms,
                                int64_t *ret, rill_error *err)
{
    struct choice list[CHOICES_MAX];
    unsigned n = 0, best = 0, k = 0;
    TRY(choices_make(m, least, frames_in(m, least, budget_ms ? budget_ms : PULSE_BUDGET_MS), list,
                     &n, err));
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
        TRY(pulse_choose(c->model, &least, c->budget_ms ? c->budget_ms : c->model->budget_ms,
                         &pulse, err));
    if (pulse && pulse > least.pulse)
        return pgraph_from_dgraph(ret, t, symbol, pulse, c->opts, a, err);
    *ret = least;
    return RILL_OK;
}
