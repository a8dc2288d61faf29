/* SPDX-License-Identifier: MIT */
#include "check/latency.h"
#include "pulse/offset.h"
#include "engine/graph/op.h"

/* How a wire became as late as it is. */
struct way {
    uint32_t from;  /* the input of its writer that is the latest; WIRE_NONE: none streams */
    uint32_t steps; /* ops on the way that add something */
    bool cut;       /* the last of them is a Slice, which cuts frames off to meet another wire */
};

struct walk {
    const struct pgraph *g;
    const struct graph *t;
    struct way *way; /* of each wire */
    enum latency_what what;
    double per_symbol; /* input frames for one of the stream symbol */
};

/* How late a wire is, or where its frame 0 lies, in input frames. */
static double late(const struct walk *k, uint32_t w)
{
    const struct stream_fact *s = &k->g->trace[w].fact;
    const struct ratio r = k->what == LATENCY ? offset_latency(s, k->g->lead_in) : s->at.origin;
    return r.den ? (double) r.num / (double) r.den * k->per_symbol : 0;
}

static bool streams(const struct walk *k, uint32_t w)
{
    return w != WIRE_NONE && k->g->trace[w].fact.axis >= 0;
}

static double added(const struct walk *k, uint32_t w)
{
    uint32_t from = k->way[w].from;
    return late(k, w) - (from == WIRE_NONE ? 0 : late(k, from));
}

/* Of two wires that are as late, whether a is it rather than b because more ops have added to
 * it. */
static bool way_longer(const struct way *a, const struct way *b)
{
    return a->steps > b->steps || (a->steps == b->steps && b->cut && !a->cut);
}

/* Of inputs that are as late, the one to which more ops have added: others were only delayed to
 * meet it. */
static uint32_t latest_input(const struct walk *k, const struct node *n)
{
    uint32_t w = WIRE_NONE;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!streams(k, n->in[i]))
            continue;
        double more = w == WIRE_NONE ? 1 : late(k, n->in[i]) - late(k, w);
        if (more > 0 || (more == 0 && way_longer(&k->way[n->in[i]], &k->way[w])))
            w = n->in[i];
    }
    return w;
}

static void ways_find(struct walk *k)
{
    for (uint32_t w = 0; w < k->t->n_wires; w++)
        k->way[w].from = WIRE_NONE;
    for (uint32_t i = 0; i < k->t->n_nodes; i++) {
        const struct node *n = &k->t->nodes[i];
        uint32_t from = latest_input(k, n);
        for (unsigned o = 0; o < n->n_out; o++) {
            if (!streams(k, n->out[o]))
                continue;
            struct way *way = &k->way[n->out[o]];
            way->from = from;
            bool adds = added(k, n->out[o]) != 0;
            way->steps = (from == WIRE_NONE ? 0 : k->way[from].steps) + adds;
            way->cut = adds ? node_is(n, OP_SLICE) : from != WIRE_NONE && k->way[from].cut;
        }
    }
}

/* What a pad puts in front is taken back by the windows behind it that reach over it. */
static void parts_finish(struct latency *l)
{
    unsigned n = 0;
    for (unsigned i = 0; i < l->n_parts; i++) {
        struct latency_part p = l->part[i];
        while (n && p.input_frames * l->part[n - 1].input_frames < 0) {
            p.input_frames += l->part[--n].input_frames;
            if (p.input_frames * l->part[n].input_frames > 0)
                p.node = l->part[n].node;
            if (p.input_frames == 0)
                break;
        }
        if (p.input_frames != 0)
            l->part[n++] = p;
    }
    l->n_parts = n;
}

static void parts_collect(const struct walk *k, uint32_t w, struct latency *ret)
{
    unsigned at = ret->n_parts = k->way[w].steps;
    for (; w != WIRE_NONE && k->t->wires[w].node != WIRE_NONE; w = k->way[w].from)
        if (added(k, w) != 0)
            ret->part[--at] = (struct latency_part) { .node = &k->t->nodes[k->t->wires[w].node],
                                                      .input_frames = added(k, w),
                                                      .fact = &k->g->trace[w].fact };
    parts_finish(ret);
    for (unsigned i = 0; i < ret->n_parts; i++) {
        const struct stream_fact *s = ret->part[i].fact;
        ret->part[i].frames = (int64_t) (ret->part[i].input_frames / k->per_symbol *
                                         (double) s->hop_den / (double) s->hop_num);
    }
}

static int64_t frames_per_symbol(const struct pgraph *g, uint32_t n_inputs)
{
    for (uint32_t i = 0; i < n_inputs; i++)
        if (g->inputs[i].axis >= 0)
            return g->inputs[i].hop_den;
    return 1;
}

rill_status latency_of(const struct pgraph *g, const struct graph *t, uint32_t output,
                       enum latency_what what, struct arena *a, struct latency *ret,
                       rill_error *reterr)
{
    struct walk k = { .g = g,
                      .t = t,
                      .way = arena_array(a, struct way, t->n_wires + 1),
                      .what = what,
                      .per_symbol = (double) frames_per_symbol(g, t->n_inputs) };
    uint32_t w = t->outputs[output];
    *ret = (struct latency) { .part = arena_array(a, struct latency_part, t->n_nodes + 1) };
    if (!ret->part || !k.way)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    if (!streams(&k, w))
        return RILL_OK;
    const struct stream_fact *s = &g->trace[w].fact;
    ways_find(&k);
    ret->input_frames = late(&k, w);
    ret->frames =
        (int64_t) (ret->input_frames / k.per_symbol * (double) s->hop_den / (double) s->hop_num);
    parts_collect(&k, w, ret);
    return RILL_OK;
}
