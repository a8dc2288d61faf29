/* SPDX-License-Identifier: MIT */
#include "pulse/latency.h"

/* How late a wire is, in input frames. */
static double late(const struct stream_fact *s, bool origins)
{
    double frames = s->hop_den ? (double) s->delay * (double) s->hop_num / (double) s->hop_den : 0;
    return origins ? frames - (double) s->origin : frames;
}

/* The streaming input of n that is the latest; WIRE_NONE where none streams. */
static uint32_t latest_input(const struct pgraph *g, const struct node *n, bool origins)
{
    uint32_t w = WIRE_NONE;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] == WIRE_NONE || g->trace[n->in[i]].fact.axis < 0)
            continue;
        if (w == WIRE_NONE || late(&g->trace[n->in[i]].fact, origins) > late(&g->trace[w].fact, origins))
            w = n->in[i];
    }
    return w;
}

static void parts_reverse(struct latency *l)
{
    for (unsigned i = 0; i < l->n_parts / 2; i++) {
        struct latency_part p = l->part[i];
        l->part[i] = l->part[l->n_parts - 1 - i];
        l->part[l->n_parts - 1 - i] = p;
    }
}

rill_status latency_of(const struct pgraph *g, const struct graph *t, uint32_t output, bool origins, struct arena *a,
                       struct latency *ret, rill_error *reterr)
{
    uint32_t w = t->outputs[output];
    *ret = (struct latency) { .part = arena_array(a, struct latency_part, t->n_nodes + 1) };
    if (!ret->part)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    if (g->trace[w].fact.axis < 0)
        return RILL_OK;
    ret->input_frames = late(&g->trace[w].fact, origins);
    ret->frames = (int64_t) (ret->input_frames * (double) g->trace[w].fact.hop_den / (double) g->trace[w].fact.hop_num);
    while (w != WIRE_NONE && t->wires[w].node != WIRE_NONE) {
        const struct node *n = &t->nodes[t->wires[w].node];
        const struct stream_fact *s = &g->trace[w].fact;
        uint32_t from = latest_input(g, n, origins);
        double added = late(s, origins) - (from == WIRE_NONE ? 0 : late(&g->trace[from].fact, origins));
        if (added != 0)
            ret->part[ret->n_parts++] = (struct latency_part) {
                .node = n, .frames = (int64_t) (added * (double) s->hop_den / (double) s->hop_num), .input_frames = added };
        w = from;
    }
    parts_reverse(ret);
    return RILL_OK;
}
