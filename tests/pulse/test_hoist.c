/* SPDX-License-Identifier: MIT */
/* What leaves the body of a Scan: which products stay inside, and that no bit changes, before and
 * after pulsing. */
#include "engine/graph/bodies.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/graph/prune.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/scan_cells.h"

#include <stdio.h>

struct hoist_case {
    const char *name;
    struct scan_layer layer;
    unsigned inside; /* products left in bodies */
    bool streams;
};

#define T GB_TIME

/* clang-format off */
static const struct hoist_case cases[] = {
    { "RNN", { SCAN_RNN, 5, 7, .steps = T }, 1, true },
    { "GRU", { SCAN_GRU, 5, 7, .steps = T }, 1, true },
    { "LSTM", { SCAN_LSTM, 5, 7, .steps = T }, 1, true },
    { "GRU on axis 1", { SCAN_GRU, 6, 18, .steps = T, .turned = true }, 1, true },
    { "GRU, projected", { SCAN_GRU, 6, 9, .steps = T, .project = 6 }, 1, true },
    { "LSTM on axis 1, projected", { SCAN_LSTM, 4, 5, .steps = T, .project = 4, .turned = true }, 1,
      true },
    { "RNN with other work", { SCAN_RNN, 3, 20, .steps = T, .project = 3, .extra = true }, 1,
      true },
    { "two GRUs", { SCAN_GRU, 8, 8, .layers = 2, .steps = T, .project = 8 }, 2, true },
    { "LSTM from the end",
      { SCAN_LSTM, 4, 5, .steps = 12, .project = 4, .back = true, .extra = true }, 1, false },
    { "GRU of 33 known steps", { SCAN_GRU, 5, 7, .steps = 33, .project = 5 }, 1, false },
};
/* clang-format on */

static bool hoisted(struct oracle *o, struct graph *g)
{
    struct graph made;
    return graph_with_scans_hoisted(&made, g, &o->err) == RILL_OK &&
        graph_pruned(g, &made, &o->err) == RILL_OK && graph_check(g, &o->err) == RILL_OK &&
        graph_check_bodies(g, NULL, NULL, &o->err) == RILL_OK;
}

static void law_check(struct oracle *o, const struct hoist_case *c, const char *when)
{
    static const int64_t pulses[] = { 1, 3, 8, -1 }, lengths[] = { 1, 4, 11, 24, -1 };
    oracle_check(oracle_laws(o, c->name, pulses, lengths) == 12, "%s %s", c->name, when);
}

/* A graph without time is one run; its Scan goes over steps that are known. */
static void known_check(struct oracle *o, const struct hoist_case *c)
{
    o->model->stream = NULL;
    bool ok = oracle_pulse(o, 0) == LAW_HOLDS;
    oracle_check(ok, "%s: %s", c->name, o->err.text);
    oracle_check(!ok || oracle_law(o, 1, 5) == LAW_HOLDS, "%s: %s", c->name, o->err.text);
}

static void case_check(const struct hoist_case *c)
{
    struct oracle o;
    if (oracle_open(&o, scan_layer_recipe, &c->layer, NULL) != LAW_HOLDS) {
        oracle_check(false, "%s: %s", c->name, o.err.text);
        oracle_close(&o);
        return;
    }
    unsigned before = scan_products(&o.model->decluttered.g);
    if (c->streams)
        law_check(&o, c, "as it is");
    bool ok = hoisted(&o, &o.model->decluttered.g);
    oracle_check(ok, "%s: %s", c->name, o.err.text);
    unsigned inside = ok ? scan_products(&o.model->decluttered.g) : before;
    oracle_check(inside == c->inside && before > inside,
                 "%s: %u products inside, then %u instead of %u", c->name, before, inside,
                 c->inside);
    oracle_check(graph_count_op(&o.model->decluttered.g, "Scan") ==
                     (unsigned) (c->layer.layers ? c->layer.layers : 1),
                 "%s: the Scans are gone", c->name);
    if (ok && c->streams)
        law_check(&o, c, "hoisted");
    else if (ok && c->layer.steps != T)
        known_check(&o, c);
    oracle_close(&o);
}

/* The same pass on the graph that was cut for a pulse. */
static void pulsed_check(const struct hoist_case *c)
{
    struct oracle o;
    bool open = oracle_open(&o, scan_layer_recipe, &c->layer, NULL) == LAW_HOLDS &&
        oracle_pulse(&o, 6) == LAW_HOLDS;
    oracle_check(open, "%s: %s", c->name, o.err.text);
    if (open) {
        struct graph g = o.plan->pgraph.g;
        bool ok = hoisted(&o, &g);
        oracle_check(ok, "%s, pulsed: %s", c->name, o.err.text);
        oracle_check(!ok || scan_products(&g) == c->inside, "%s, pulsed: %u products inside",
                     c->name, scan_products(&g));
        struct plan *p = NULL;
        ok = ok && plan_from_sgraph(&p, &(struct sgraph) { g }, NULL, &o.err) == RILL_OK;
        oracle_check(ok, "%s, pulsed: %s", c->name, o.err.text);
        plan_free(ok ? p : NULL);
    }
    oracle_close(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        case_check(&cases[i]);
        if (cases[i].streams)
            pulsed_check(&cases[i]);
    }
    return oracle_end();
}
