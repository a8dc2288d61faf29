/* SPDX-License-Identifier: MIT */
#include "pulse/mask_order.h"
#include "pulse/measured.h"

#define PARTS_MAX 16
#define LOOKS_MAX 64 /* wires of one chain */

/* What a chain joins: masks of positions of two axes, and all else. */
struct chain {
    const struct op *op;
    uint32_t mask[PARTS_MAX], other[PARTS_MAX], node[PARTS_MAX];
    unsigned n_masks, n_others, n_nodes, looks;
};

/* What the wire is of positions; NULL: nothing, or the length has a part in it, as in data. */
static const struct dim *expression_of(const struct placed_edit *c, uint32_t w)
{
    const struct dim *e = w < c->e->n_wires ? c->ps.of[w].e : NULL;
    return e && positions_without_length(&c->ps, e) ? e : NULL;
}

/* Whether the wire is a function of positions along two axes; which they are. */
static bool is_mask(const struct placed_edit *c, uint32_t w, int axis[2])
{
    const struct dim *e = expression_of(c, w);
    unsigned n = 0;
    for (int i = 0; e && i < RANK_MAX; i++)
        if (dim_mentions(e, c->ps.axis[i])) {
            axis[n < 2 ? n : 1] = i;
            n++;
        }
    return n == 2;
}

/* Whether a mask says something else of the first frames than of those further on. */
static bool begins_otherwise(const struct placed_edit *c, uint32_t w)
{
    int axis[2];
    if (!is_mask(c, w, axis))
        return false;
    const struct position *at = &c->ps.of[w];
    const int64_t period = expression_period(at->e);
    return period < REACH_MAX && !position_repeats(&c->ps, at, axis[0], axis[1], period, period);
}

/* False: there are too many parts. alone: nobody else reads the wire. */
static bool parts_find(const struct placed_edit *c, uint32_t w, bool alone, struct chain *ret)
{
    const struct node *n = graph_producer(c->e->g, w);
    int axis[2];
    uint32_t at;
    if (++ret->looks > LOOKS_MAX)
        return false;
    if (is_mask(c, w, axis)) {
        ret->mask[ret->n_masks] = w;
        return ++ret->n_masks < PARTS_MAX;
    }
    if (!n || n->op != ret->op || n->n_in != 2) {
        ret->other[ret->n_others] = w;
        return ++ret->n_others < PARTS_MAX;
    }
    alone = alone && edit_sole_producer(c->e, w, &at);
    if (alone)
        ret->node[ret->n_nodes++] = at;
    return ret->n_nodes < PARTS_MAX && parts_find(c, n->in[0], alone, ret) &&
        parts_find(c, n->in[1], alone, ret);
}

static rill_status no_memory(const struct placed_edit *c)
{
    return err_set(c->err, RILL_NOMEM, "out of memory");
}

/* What both make together. */
static struct fact fact_of_both(struct graph *g, uint32_t a, uint32_t b)
{
    const struct fact *x = &g->wires[a].fact, *y = &g->wires[b].fact;
    struct fact f = x->rank < y->rank ? *y : *x;
    const struct fact *less = x->rank < y->rank ? x : y;
    const int skip = f.rank - less->rank;
    for (int i = 0; i < less->rank; i++)
        f.shape[skip + i] = dim_broadcast(g->dims, f.shape[skip + i], less->shape[i]);
    f.value = NULL;
    return f;
}

/* *wire becomes what the chain's op makes of it and another one, in front of node `at`. */
static rill_status with_part(struct placed_edit *c, uint32_t at, const struct op *op, uint32_t part,
                             uint32_t *wire)
{
    struct graph *g = c->e->g;
    const struct fact f = fact_of_both(g, *wire, part);
    const uint32_t in[2] = { *wire, part };
    *wire = graph_add_wire(g, g->nodes[at].name, &f);
    return *wire != WIRE_NONE && edit_insert(c->e, at, op, g->nodes[at].attr, in, 2, wire, 1)
        ? RILL_OK
        : no_memory(c);
}

static rill_status masks_first(struct placed_edit *c, uint32_t at, const struct chain *q)
{
    uint32_t in[2] = { q->mask[0], q->other[q->n_others - 1] };
    for (unsigned i = 1; i < q->n_masks; i++)
        TRY(with_part(c, at, q->op, q->mask[i], &in[0]));
    for (unsigned i = 0; i + 1 < q->n_others; i++)
        TRY(with_part(c, at, q->op, q->other[i], &in[0]));
    for (unsigned i = 0; i < q->n_nodes; i++)
        c->e->gone[q->node[i]] = true;
    return edit_inputs(c->e, at, in, 2) ? RILL_OK : no_memory(c);
}

rill_status mask_order_look(struct placed_edit *c, uint32_t at)
{
    const struct node *n = &c->e->g->nodes[at];
    struct chain q = { .op = n->op };
    if (n->n_in != 2)
        return RILL_OK;
    TRY(placed_edit_want(c));
    if (!c->found || expression_of(c, n->out[0]) ||
        !(begins_otherwise(c, n->in[0]) || begins_otherwise(c, n->in[1])))
        return RILL_OK;
    const bool found = parts_find(c, n->in[0], true, &q) && parts_find(c, n->in[1], true, &q);
    return found && q.n_masks > 1 && q.n_others ? masks_first(c, at, &q) : RILL_OK;
}
