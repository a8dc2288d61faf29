/* SPDX-License-Identifier: MIT */
#include "pulse/cut.h"
#include "pulse/refusal.h"
#include "engine/graph/prune.h"
#include "pulse/axes.h"
#include "pulse/off_axis.h"
#include "pulse/rules.h"

#include <stdio.h>
#include <string.h>

/* ---- the node that needs all frames ---- */

struct blame {
    const struct node *node;
    unsigned input;
    int axis;
};

static bool reads_all(const struct pulser *p, const struct node *n, unsigned i, struct blame *ret)
{
    const struct axis_row *r = axis_row_of(n->op);
    for (unsigned k = 0; k < n->n_in; k++) /* attention has words of its own */
        if (pulser_time_twice(p, n->in[k]))
            return false;
    if (!r->map || (r->own != AXIS_GLOBAL && r->own != AXIS_BACKWARD) || n->in[i] == WIRE_NONE)
        return false;
    const struct fact *f = pulser_fact(p, n->in[i]);
    for (int a = 0; a < f->rank; a++)
        if (dim_mentions(f->shape[a], p->symbol) && r->map(p, n, i, a) == AXIS_NONE) {
            *ret = (struct blame) { n, i, a };
            return true;
        }
    return false;
}

static bool any_marked(const struct node *n, const bool *wires)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && wires[n->in[i]])
            return true;
    return false;
}

static void outputs_mark(const struct node *n, bool *wires)
{
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE)
            wires[n->out[k]] = true;
}

/* A reshape that merges time into other sizes does so for what comes before the next reshape. */
static bool blame_behind(const struct pulser *p, bool *wires, struct blame *ret)
{
    if (axis_row_of(p->stopped->op)->rule != rule_reshape)
        return false;
    outputs_mark(p->stopped, wires);
    for (const struct node *n = p->stopped + 1; n < p->src->nodes + p->src->n_nodes; n++) {
        for (unsigned i = 0; i < n->n_in; i++)
            if (n->in[i] != WIRE_NONE && wires[n->in[i]] && reads_all(p, n, i, ret))
                return true;
        if (any_marked(n, wires) && axis_row_of(n->op)->rule != rule_reshape)
            outputs_mark(n, wires);
    }
    return false;
}

static bool reads_all_of_any(const struct pulser *p, const struct node *n, struct blame *ret)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (reads_all(p, n, i, ret))
            return true;
    return false;
}

/* The length of the sequence is wanted for what is made of all its frames: they meet in a node. */
static bool blame_beside(const struct pulser *p, bool *length, bool *whole, struct blame *ret)
{
    struct blame first = { NULL, 0, 0 }, b;
    if (!pulser_knows_length(p, p->stopped))
        return false;
    outputs_mark(p->stopped, length);
    for (const struct node *n = p->src->nodes; n < p->src->nodes + p->src->n_nodes; n++) {
        bool has_length = n == p->stopped || any_marked(n, length);
        if (reads_all_of_any(p, n, &b)) {
            first = first.node ? first : b;
            outputs_mark(n, whole);
        } else if (any_marked(n, whole)) {
            outputs_mark(n, whole);
            if (has_length) {
                *ret = first;
                return true;
            }
        }
        if (has_length)
            outputs_mark(n, length);
    }
    return false;
}

static void blame_put(const struct pulser *p)
{
    bool *wires = arena_array(p->arena, bool, 2 * (size_t) p->src->n_wires + 2);
    struct blame b;
    if (!wires)
        return;
    if (blame_behind(p, wires, &b))
        pulser_refuse_axis(p, b.node, b.input, b.axis, p->stopped);
    else if (blame_beside(p, wires, wires + p->src->n_wires + 1, &b))
        pulser_refuse_axis(p, b.node, b.input, b.axis, NULL);
}

/* ---- what would stream ---- */

#define TRIED_MAX 16

/* Whether the graph streams with these wires as its outputs. */
static bool streams_with(const struct pulser *p, const struct dgraph *t, uint32_t *wires,
                         uint32_t n)
{
    struct arena a = { 0 };
    struct graph asked = t->g;
    struct dgraph pruned;
    struct pgraph pg;
    struct pulser q;
    asked.arena = &a;
    asked.outputs = wires;
    asked.n_outputs = asked.cap_outputs = n;
    bool fine = graph_pruned(&pruned.g, &asked, NULL) == RILL_OK &&
        pgraph_cut(&pg, &pruned, p->symbol, p->pulse, NULL, &a, &q, NULL) == RILL_OK;
    for (uint32_t i = 0; fine && i < pruned.g.n_outputs; i++)
        fine = pg.outputs[i].axis >= 0;
    arena_drop(&a);
    return fine;
}

static bool grows(const struct pulser *p, uint32_t w)
{
    const struct fact *f = pulser_fact(p, w);
    int64_t num, den;
    for (int i = 0; i < f->rank; i++)
        if (pulser_growth(p, f->shape[i], &num, &den))
            return true;
    return false;
}

/* An input with its axes or frames moved: nothing was computed. */
static bool only_moved(const struct pulser *p, uint32_t w)
{
    for (uint32_t at; (at = p->src->wires[w].node) != WIRE_NONE; w = p->src->nodes[at].in[0])
        if (!p->src->nodes[at].n_in || axis_row_of(p->src->nodes[at].op)->own != AXIS_MOVED)
            return false;
    return true;
}

static uint32_t outputs_that_stream(const struct pulser *p, const struct dgraph *t, uint32_t *ret)
{
    const struct graph *g = p->src;
    uint32_t n = 0;
    for (uint32_t i = 0; g->n_outputs > 1 && i < g->n_outputs && i < TRIED_MAX; i++) {
        ret[n] = g->outputs[i];
        n += grows(p, g->outputs[i]) && streams_with(p, t, &ret[n], 1);
    }
    return n > 1 && !streams_with(p, t, ret, n) ? 1 : n;
}

/* Where the model gives one thing for the whole recording: the frames that it is made of. */
static uint32_t frames_before(const struct pulser *p, const struct dgraph *t, uint32_t *ret)
{
    const struct node *n = p->stopped;
    for (uint32_t i = 0; i < p->src->n_outputs; i++)
        if (grows(p, p->src->outputs[i]))
            return 0;
    if (n->n_out > 1 && n->out[0] != WIRE_NONE && grows(p, n->out[0]) &&
        (*ret = n->out[0], streams_with(p, t, ret, 1)))
        return 1;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && grows(p, n->in[i]) && !only_moved(p, n->in[i]) &&
            (*ret = n->in[i], streams_with(p, t, ret, 1)))
            return 1;
    return 0;
}

/* Added whole or not at all. */
static void words_add(rill_error *err, const char *text, size_t n)
{
    size_t end = strlen(err->text);
    if (end + n < sizeof err->text)
        memcpy(err->text + end, text, n + 1);
}

static void select_put(rill_error *err, const struct graph *g, const uint32_t *wires, uint32_t n)
{
    char text[sizeof err->text];
    size_t at = (size_t) snprintf(text, sizeof text, "; --transform \"select_outputs(");
    for (uint32_t i = 0; i < n && at < sizeof text; i++)
        at += (size_t) snprintf(text + at, sizeof text - at, "%s'%s'", i ? ", " : "",
                                g->wires[wires[i]].name);
    if (at < sizeof text)
        at += (size_t) snprintf(text + at, sizeof text - at, ")\" streams");
    words_add(err, text, at);
}

void refusal_explain(const struct pulser *p, const struct dgraph *t)
{
    uint32_t wires[TRIED_MAX], n;
    if (!p->err || !p->symbol)
        return;
    if (p->stopped)
        blame_put(p);
    n = outputs_that_stream(p, t, wires);
    n = n || !p->stopped ? n : frames_before(p, t, wires);
    if (n)
        select_put(p->err, p->src, wires, n);
}
