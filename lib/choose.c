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
    return offset_latency(&s, g->lead_in);
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

static bool latency_asked(const rill_model *m)
{
    return m->latency_ms || m->latency_frames;
}

/* The longest pulse with which no output is later than is asked for. */
static rill_status frames_by_latency(const rill_model *m, const struct pgraph *least, int64_t *ret,
                                     rill_error *err)
{
    const char *name = "";
    int64_t all = m->latency_frames ? m->latency_frames : frames_in(m, least, m->latency_ms),
            late = latest_output(m, least, &name);
    if (all == 0)
        return err_set(err, RILL_UNSUPPORTED,
                       "a latency of %u ms is asked for, and the model states no sample rate; one "
                       "in input frames is --latency 40frames",
                       m->latency_ms);
    if (late + least->pulse > all + 1)
        return err_set(
            err, RILL_UNSUPPORTED,
            "a latency of %u %s is %lld frames: output '%s' is %lld late already, and the "
            "smallest pulse is %lld",
            m->latency_frames ? m->latency_frames : m->latency_ms,
            m->latency_frames ? "frames" : "ms", (long long) all, name, (long long) late,
            (long long) least->pulse);
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
    if (latency_asked(m) && !budget_ms)
        TRY(frames_by_latency(m, least, &longest, err));
    TRY(choices_make(m, least, longest, list, &n, err));
    for (unsigned i = 1; i < n; i++)
        best = list[i].effort < list[best].effort ? i : best;
    while (list[k].effort * 100 > list[best].effort * WORTH_PERCENT)
        k++;
    *ret = list[k].pulse;
    return RILL_OK;
}

/* ---- the first pulse ---- */

#define LEAD_IN_STEPS 64 /* the shorter first pulse is found to such a part of a pulse */

static rill_status cut_with(struct pgraph *ret, const struct dgraph *t, const struct pgraph *whole,
                            int64_t lead_in, const struct pulse_choice *c, struct arena *a,
                            rill_error *err)
{
    struct pulse_opts opts = { .lead_in = lead_in };
    opts.keep_bodies = c->opts && c->opts->keep_bodies;
    return pgraph_from_dgraph(ret, t, c->model->stream, whole->pulse, &opts, a, err);
}

/* Whether no output is later than it is with whole pulses. */
static bool none_later(const struct pgraph *g, const struct pgraph *whole, uint32_t n_outputs)
{
    for (uint32_t i = 0; i < n_outputs; i++) {
        if (g->outputs[i].axis < 0)
            continue;
        const struct ratio before = offset_latency(&whole->outputs[i], 0),
                           now = offset_latency(&g->outputs[i], g->lead_in);
        if (ratio_add(before, ratio_minus(now)).num < 0)
            return false;
    }
    return true;
}

/* Frames of which an output gives one a pulse come when the last that they need have come, where
 * the first pulse is so much shorter. Until then each frame less makes them one earlier, and from
 * there on a pulse later. */
static rill_status lead_in_find(const struct dgraph *t, const struct pgraph *whole,
                                const struct pulse_choice *c, struct arena *owner, int64_t *ret,
                                rill_error *err)
{
    int64_t good = 0, bad = whole->pulse;
    while (bad - good > whole->pulse / LEAD_IN_STEPS + 1) {
        struct arena a = { .owner = owner };
        struct pgraph g;
        int64_t half = good + (bad - good) / 2;
        rill_status s = cut_with(&g, t, whole, half, c, &a, err);
        bool fits = s == RILL_OK && none_later(&g, whole, t->g.n_outputs);
        arena_drop(&a);
        TRY(s == RILL_UNSUPPORTED ? RILL_OK : s);
        *(fits ? &good : &bad) = half;
    }
    *ret = good;
    return RILL_OK;
}

static rill_status first_pulse_cut(struct pgraph *ret, const struct dgraph *t,
                                   const struct pgraph *whole, const struct pulse_choice *c,
                                   struct arena *a, rill_error *err)
{
    int64_t frames = c->model->first_pulse, lead_in = whole->pulse - frames;
    if (frames == FIRST_PULSE_SHORT)
        TRY(lead_in_find(t, whole, c, a, &lead_in, err));
    else if (lead_in < 0)
        return err_set(err, RILL_UNSUPPORTED,
                       "first_pulse is %lld frames, and a pulse has %lld: it may be shorter, not "
                       "longer",
                       (long long) frames, (long long) whole->pulse);
    return cut_with(ret, t, whole, lead_in, c, a, err);
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
                         c->budget_ms || latency_asked(c->model) ? c->budget_ms
                                                                 : c->model->budget_ms,
                         &pulse, err));
    if (pulse && pulse > least.pulse)
        TRY(pgraph_from_dgraph(&least, t, symbol, pulse, c->opts, a, err));
    if (symbol && c->model->first_pulse != FIRST_PULSE_WHOLE)
        return first_pulse_cut(ret, t, &least, c, a, err);
    *ret = least;
    return RILL_OK;
}
