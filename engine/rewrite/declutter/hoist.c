/* SPDX-License-Identifier: MIT */
/* Work of a Scan's body that no state has a part in leaves it: what is the same in all iterations
 * is computed once, what follows the scanned inputs alone is computed for all iterations at once,
 * and so are products of what is stacked. */
#include "engine/graph/control.h"
#include "engine/rewrite/declutter/lift.h"
#include "engine/rewrite/declutter/passes.h"

#include <string.h>

/* Of a body wire: needs the state; the same in all iterations; a scanned input's. */
enum kind { VARIANT, INVARIANT, SLICED };

struct hoist {
    struct graph *to;  /* the outer graph, made anew node by node */
    struct graph body; /* a copy */
    const struct node *n;
    struct scan_attr at;
    const struct dim *length;
    uint8_t *kind;   /* per body wire, as are these: */
    bool *back;      /* SLICED: scanned from the end */
    uint32_t *outer; /* where it is outside, of all iterations if SLICED; WIRE_NONE: nowhere yet */
    uint32_t *consumers;
    bool *gone;       /* per body node */
    uint32_t n_wires; /* of the body as it was */
    uint32_t *out;    /* outer wires the Scan writes */
    rill_error *err;
};

static rill_status no_memory(const struct hoist *h)
{
    return err_set(h->err, RILL_NOMEM, "out of memory");
}

/* ---- what there is ---- */

static rill_status hoist_begin(struct hoist *h)
{
    const struct graph *body = h->n->body[0];
    struct arena *a = h->to->arena;
    TRY(graph_copied(&h->body, body, h->err));
    h->n_wires = body->n_wires;
    h->kind = arena_array(a, uint8_t, body->n_wires + 1);
    h->back = arena_array(a, bool, body->n_wires + 1);
    h->outer = arena_array(a, uint32_t, body->n_wires + 1);
    h->consumers = arena_array(a, uint32_t, body->n_wires + 1);
    h->gone = arena_array(a, bool, body->n_nodes + 1);
    h->out = arena_copy(a, h->n->out, h->n->n_out * sizeof *h->out);
    h->at = *(const struct scan_attr *) h->n->attr;
    if (!h->kind || !h->back || !h->outer || !h->consumers || !h->gone || !h->out)
        return no_memory(h);
    for (uint32_t w = 0; w < body->n_wires; w++) {
        h->outer[w] = WIRE_NONE;
        h->kind[w] = body->wires[w].fact.value ? INVARIANT : VARIANT;
    }
    for (uint32_t i = 0; i < body->n_nodes; i++)
        for (unsigned k = 0; k < body->nodes[i].n_in; k++)
            if (body->nodes[i].in[k] != WIRE_NONE)
                h->consumers[body->nodes[i].in[k]]++;
    for (uint32_t i = 0; i < body->n_outputs; i++)
        h->consumers[body->outputs[i]]++;
    return RILL_OK;
}

static void inputs_mark(struct hoist *h)
{
    unsigned first = (unsigned) h->at.n_states, fixed = first + (unsigned) h->at.n_scanned;
    for (unsigned i = first; i < h->n->n_in; i++) {
        uint32_t w = h->body.inputs[i];
        h->kind[w] = i < fixed ? SLICED : INVARIANT;
        h->back[w] = i < fixed && scan_is_reverse(h->at.in_reverse, i - first);
        h->outer[w] = i < fixed ? WIRE_NONE : h->n->in[i];
    }
}

static unsigned input_number(const struct hoist *h, uint32_t w)
{
    unsigned i = 0;
    while (h->body.inputs[i] != w)
        i++;
    return i;
}

/* The wire outside for body wire w, which does not vary with the state. */
static rill_status outer_of(struct hoist *h, uint32_t w, uint32_t *ret)
{
    if (h->outer[w] == WIRE_NONE && h->kind[w] == INVARIANT) {
        h->outer[w] = graph_add_const(h->to, h->body.wires[w].name, h->body.wires[w].fact.value);
        if (h->outer[w] == WIRE_NONE)
            return no_memory(h);
    } else if (h->outer[w] == WIRE_NONE) {
        unsigned i = input_number(h, w);
        uint32_t whole = h->n->in[i];
        int axis =
            scan_axis(h->at.in_axes, i - (unsigned) h->at.n_states, h->to->wires[whole].fact.rank);
        h->outer[w] = whole;
        if (axis > 0) {
            h->outer[w] = WIRE_NONE;
            TRY(axis_to_front(h->to, whole, axis, false, &h->outer[w], h->err));
        }
    }
    *ret = h->outer[w];
    return RILL_OK;
}

/* ---- into the front ---- */

static bool can_go(const struct hoist *h, const struct node *n, enum kind *ret, bool *ret_back)
{
    bool stacked[64] = { 0 }, first = true;
    if (n->n_in > 64 || n->n_body || (n->op->flags & (OP_RANDOM | OP_CONTROL)))
        return false;
    *ret = INVARIANT;
    for (unsigned i = 0; i < n->n_in; i++) {
        uint32_t w = n->in[i];
        if (w == WIRE_NONE || h->kind[w] == INVARIANT)
            continue;
        if (h->kind[w] == VARIANT || (!first && h->back[w] != *ret_back))
            return false;
        stacked[i] = true;
        *ret = SLICED;
        *ret_back = h->back[w];
        first = false;
    }
    return *ret == INVARIANT ? n->n_out == 1 && n->out[0] != WIRE_NONE
                             : node_lifts(&h->body, n, stacked);
}

static rill_status lift(struct hoist *h, const struct node *n, uint32_t replaced, uint32_t stack,
                        uint32_t *out)
{
    struct lifted *in = arena_array(h->to->arena, struct lifted, n->n_in + 1);
    if (!in)
        return no_memory(h);
    for (unsigned i = 0; i < n->n_in; i++) {
        uint32_t w = n->in[i];
        in[i].wire = w == WIRE_NONE ? WIRE_NONE : stack;
        in[i].stacked = w != WIRE_NONE && (w == replaced || h->kind[w] == SLICED);
        if (w != WIRE_NONE && w != replaced)
            TRY(outer_of(h, w, &in[i].wire));
    }
    return node_lift(h->to, &h->body, n, in, h->length, out, h->err);
}

static rill_status front_hoist(struct hoist *h, bool *ret_any)
{
    for (uint32_t i = 0; i < h->body.n_nodes; i++) {
        const struct node *n = &h->body.nodes[i];
        enum kind kind;
        bool back = false;
        if (!can_go(h, n, &kind, &back))
            continue;
        uint32_t w = n->out[0];
        TRY(lift(h, n, WIRE_NONE, WIRE_NONE, &h->outer[w]));
        h->kind[w] = (uint8_t) kind;
        h->back[w] = back;
        h->gone[i] = *ret_any = true;
        for (unsigned k = 0; k < n->n_in; k++)
            if (n->in[k] != WIRE_NONE)
                h->consumers[n->in[k]]--;
    }
    return RILL_OK;
}

/* ---- out of the back ---- */

/* Whether node n, which gives a stacked output, can be applied to all iterations of *ret instead:
 * the one operand that needs the state. */
static bool can_follow(const struct hoist *h, const struct node *n, bool back, uint32_t *ret)
{
    bool stacked[64] = { 0 };
    *ret = WIRE_NONE;
    if (n->n_in > 64)
        return false;
    for (unsigned i = 0; i < n->n_in; i++) {
        uint32_t w = n->in[i];
        if (w == WIRE_NONE || h->kind[w] == INVARIANT)
            continue;
        stacked[i] = true;
        if (h->kind[w] == SLICED ? h->back[w] != back : *ret != WIRE_NONE && *ret != w)
            return false;
        if (h->kind[w] == VARIANT)
            *ret = w;
    }
    return *ret != WIRE_NONE && node_lifts(&h->body, n, stacked);
}

#define CHAIN_MAX 16

struct chain {
    uint32_t node[CHAIN_MAX], from[CHAIN_MAX];
    unsigned n;
}; /* the last op first */

/* The ops in front of stacked output k, down to the product nearest to the state. */
static void chain_find(const struct hoist *h, unsigned k, struct chain *c)
{
    bool back = scan_is_reverse(h->at.out_reverse, k - (unsigned) h->at.n_states);
    uint32_t w = h->body.outputs[k];
    unsigned keep = 0;
    c->n = 0;
    while (c->n < CHAIN_MAX && h->consumers[w] == 1 && h->kind[w] == VARIANT &&
           h->body.wires[w].node != WIRE_NONE) {
        uint32_t i = h->body.wires[w].node, from;
        if (!can_follow(h, &h->body.nodes[i], back, &from))
            break;
        c->node[c->n] = i;
        c->from[c->n++] = from;
        keep = node_is_product(&h->body.nodes[i]) ? c->n : keep;
        w = from;
    }
    c->n = keep;
}

/* Stacked output k is what the chain starts from; the chain itself follows the Scan. */
static rill_status output_cut(struct hoist *h, unsigned k, const struct chain *c)
{
    unsigned first = (unsigned) h->at.n_states, n = h->n->n_out - first;
    uint32_t from = c->from[c->n - 1];
    struct fact f = fact_stacked(&h->body.wires[from].fact, h->length);
    int64_t *axes = arena_array(h->to->arena, int64_t, n + 1);
    h->out[k] = graph_add_wire(h->to, h->body.wires[from].name, &f);
    if (!axes || h->out[k] == WIRE_NONE)
        return no_memory(h);
    for (unsigned i = 0; i < n; i++)
        axes[i] = i == k - first ? 0 : i < h->at.out_axes.n ? h->at.out_axes.v[i] : 0;
    h->at.out_axes = (struct attr_ints) { n, axes };
    h->body.outputs[k] = from;
    for (unsigned i = 0; i < c->n; i++) {
        const struct node *node = &h->body.nodes[c->node[i]];
        h->gone[c->node[i]] = true;
        for (unsigned j = 0; j < node->n_in; j++)
            if (node->in[j] != WIRE_NONE)
                h->consumers[node->in[j]]--;
    }
    h->consumers[from]++;
    return RILL_OK;
}

static rill_status chain_emit(struct hoist *h, unsigned k, const struct chain *c)
{
    uint32_t at = h->out[k], want = h->n->out[k];
    const struct scan_attr *was = h->n->attr;
    int axis = scan_axis(was->out_axes, k - (unsigned) was->n_states, h->to->wires[want].fact.rank);
    for (unsigned i = c->n; i-- > 0;) {
        uint32_t made = i == 0 && axis == 0 ? want : WIRE_NONE;
        TRY(lift(h, &h->body.nodes[c->node[i]], c->from[i], at, &made));
        at = made;
    }
    return axis == 0 ? RILL_OK : axis_to_front(h->to, at, axis, true, &want, h->err);
}

/* ---- the Scan that is left ---- */

static bool ints_grow(struct arena *a, struct attr_ints *list, unsigned had, unsigned more,
                      const bool *values)
{
    int64_t *v = arena_array(a, int64_t, had + more + 1);
    for (unsigned i = 0; v && i < had + more; i++)
        v[i] = i >= had ? values && values[i - had] : i < list->n ? list->v[i] : 0;
    *list = (struct attr_ints) { had + more, v };
    return v != NULL;
}

/* Wires that hoisted nodes wrote and the body still reads come in as inputs: slices before
 * captures. */
static rill_status inputs_make(struct hoist *h, const uint32_t *given, uint32_t **ret_in,
                               unsigned *ret_n)
{
    struct arena *a = h->to->arena;
    unsigned n_old = h->n->n_in, lead = (unsigned) (h->at.n_states + h->at.n_scanned),
             room = n_old + h->n_wires + 1;
    uint32_t *in = arena_array(a, uint32_t, room), *body = arena_array(a, uint32_t, room);
    bool *back = arena_array(a, bool, room);
    unsigned n = 0, more = 0;
    if (!in || !body || !back)
        return no_memory(h);
    for (unsigned i = 0; i < lead; i++, n++)
        in[n] = h->n->in[i], body[n] = h->body.inputs[i];
    static const enum kind order[] = { SLICED, INVARIANT };
    for (size_t o = 0; o < sizeof order / sizeof *order; o++) {
        for (unsigned i = lead; order[o] == INVARIANT && i < n_old; i++, n++)
            in[n] = h->n->in[i], body[n] = h->body.inputs[i];
        for (uint32_t w = 0; w < h->n_wires; w++) {
            if (given[w] == WIRE_NONE || h->kind[w] != order[o] || !h->consumers[w])
                continue;
            if (order[o] == SLICED)
                back[more++] = h->back[w];
            h->body.wires[w].node = WIRE_NONE;
            in[n] = h->outer[w];
            body[n++] = w;
        }
    }
    if (!ints_grow(a, &h->at.in_axes, (unsigned) h->at.n_scanned, more, NULL) ||
        !ints_grow(a, &h->at.in_reverse, (unsigned) h->at.n_scanned, more, back))
        return no_memory(h);
    h->at.n_scanned += more;
    h->body.inputs = body;
    h->body.n_inputs = h->body.cap_inputs = n;
    *ret_in = in;
    *ret_n = n;
    return RILL_OK;
}

/* Per body wire: the hoisted node that wrote it, or WIRE_NONE. */
static rill_status given_find(struct hoist *h, uint32_t **ret)
{
    uint32_t *given = arena_array(h->to->arena, uint32_t, h->n_wires + 1);
    if (!given)
        return no_memory(h);
    for (uint32_t w = 0; w < h->n_wires; w++) {
        uint32_t i = h->body.wires[w].node;
        given[w] = i != WIRE_NONE && h->gone[i] && h->kind[w] != VARIANT ? i : WIRE_NONE;
    }
    *ret = given;
    return RILL_OK;
}

static rill_status scan_emit(struct hoist *h)
{
    uint32_t *in = NULL, *given = NULL;
    unsigned n_in = 0;
    TRY(given_find(h, &given));
    TRY(inputs_make(h, given, &in, &n_in));
    body_drop(&h->body, h->gone);
    struct scan_attr *at = arena_copy(h->to->arena, &h->at, sizeof *at);
    struct graph *body = arena_copy(h->to->arena, &h->body, sizeof *body);
    struct node *made =
        graph_add_node(h->to, h->n->op, h->n->name, at, in, n_in, h->out, h->n->n_out);
    if (!at || !body || !made || !(made->body = arena_array(h->to->arena, struct graph *, 1)))
        return no_memory(h);
    made->body[0] = body;
    made->n_body = 1;
    return RILL_OK;
}

static rill_status node_again(struct graph *to, const struct node *n, rill_error *err)
{
    return graph_copy_node(to, n, n->in, n->n_in, n->out)
        ? RILL_OK
        : err_set(err, RILL_NOMEM, "out of memory");
}

static const struct dim *scan_length(const struct graph *g, const struct node *n)
{
    const struct scan_attr *at = n->attr;
    const struct fact *f = at->n_scanned ? &g->wires[n->in[at->n_states]].fact : NULL;
    int axis = f && f->rank > 0 ? scan_axis(at->in_axes, 0, f->rank) : -1;
    return axis >= 0 ? f->shape[axis] : NULL;
}

static rill_status scan_hoist(struct graph *to, const struct node *n, rill_error *err)
{
    struct hoist h = { .to = to, .n = n, .length = scan_length(to, n), .err = err };
    bool any = false;
    if (!h.length)
        return node_again(to, n, err);
    TRY(hoist_begin(&h));
    inputs_mark(&h);
    TRY(front_hoist(&h, &any));
    unsigned first = (unsigned) h.at.n_states;
    struct chain *chains = arena_array(to->arena, struct chain, n->n_out + 1);
    if (!chains)
        return no_memory(&h);
    for (unsigned k = first; k < n->n_out; k++) {
        if (n->out[k] != WIRE_NONE)
            chain_find(&h, k, &chains[k]);
        if (chains[k].n)
            TRY(output_cut(&h, k, &chains[k]));
        any |= chains[k].n > 0;
    }
    if (!any)
        return node_again(to, n, err);
    struct graph before = h.body; /* scan_emit moves the nodes of the copy up */
    if (!(before.nodes =
              arena_copy(to->arena, h.body.nodes, h.body.n_nodes * sizeof *h.body.nodes)))
        return no_memory(&h);
    TRY(scan_emit(&h));
    h.body.nodes = before.nodes;
    for (unsigned k = first; k < n->n_out; k++)
        if (chains[k].n)
            TRY(chain_emit(&h, k, &chains[k]));
    return RILL_OK;
}

rill_status graph_with_scans_hoisted(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    TRY(graph_copied(ret, g, reterr));
    const struct node *nodes = ret->nodes;
    uint32_t n = ret->n_nodes;
    ret->nodes = NULL;
    ret->n_nodes = ret->cap_nodes = 0;
    for (uint32_t i = 0; i < n; i++)
        TRY(nodes[i].op == &op_scan ? scan_hoist(ret, &nodes[i], reterr)
                                    : node_again(ret, &nodes[i], reterr));
    return RILL_OK;
}
