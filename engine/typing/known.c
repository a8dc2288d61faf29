/* SPDX-License-Identifier: MIT */
#include "engine/typing/known.h"
#include "engine/typing/interp.h"

#define KNOWN_INS_MAX 32
#define KNOWN_OUTS_MAX 16
#define KNOWN_DEPTH_MAX 64
#define KNOWN_BYTES_MAX ((size_t) 4 << 20) /* of each output */

static bool body_may_run(const struct graph *body)
{
    for (uint32_t i = 0; i < body->n_nodes; i++)
        if (body->nodes[i].n_body || (body->nodes[i].op->flags & OP_RANDOM))
            return false;
    return body->n_states == 0;
}

static bool node_may_run(const struct graph *g, const struct node *n)
{
    bool may = (node_is(n, OP_SCAN) ? body_may_run(n->body[0]) : n->op->eval && n->n_body == 0) &&
        !(n->op->flags & OP_RANDOM) && n->n_in <= KNOWN_INS_MAX && n->n_out <= KNOWN_OUTS_MAX;
    for (unsigned k = 0; may && k < n->n_out; k++) {
        struct tensor t;
        may = n->out[k] == WIRE_NONE ||
            (fact_to_tensor(&g->wires[n->out[k]].fact, &t) && tensor_bytes(&t) <= KNOWN_BYTES_MAX);
    }
    return may;
}

/* What was found of each wire; NULL: nothing yet. */
struct found {
    const struct graph *g;
    struct arena *a;
    const struct tensor **value;
    struct kern kern;
};

static const struct tensor *value_of(struct found *s, uint32_t wire, unsigned depth);

/* Runs n on what is known, and notes what comes out. */
static void node_run(struct found *s, const struct node *n, unsigned depth)
{
    const struct tensor *in[KNOWN_INS_MAX], *out[KNOWN_OUTS_MAX];
    rill_error quiet = { 0 };
    for (unsigned i = 0; i < n->n_in; i++) {
        in[i] = n->in[i] == WIRE_NONE ? NULL : value_of(s, n->in[i], depth);
        if (n->in[i] != WIRE_NONE && !in[i])
            return;
    }
    if (interp_node(s->g->dims, n, in, &s->kern, s->a, out, &quiet) != RILL_OK)
        return;
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE && out[k]->type == s->g->wires[n->out[k]].fact.type)
            s->value[n->out[k]] = out[k];
}

static const struct tensor *value_of(struct found *s, uint32_t wire, unsigned depth)
{
    const struct wire *w = &s->g->wires[wire];
    if (s->value[wire] || w->fact.value || w->node == WIRE_NONE || depth == 0)
        return s->value[wire] ? s->value[wire] : w->fact.value;
    if (node_may_run(s->g, &s->g->nodes[w->node]))
        node_run(s, &s->g->nodes[w->node], depth - 1);
    return s->value[wire];
}

rill_status graph_known(const struct graph *g, uint32_t wire, struct arena *a,
                        const struct tensor **ret)
{
    struct found s = { g, a, .value = arena_array(a, const struct tensor *, g->n_wires) };
    if (!s.value)
        return RILL_NOMEM;
    kern_init(&s.kern, 0);
    *ret = value_of(&s, wire, KNOWN_DEPTH_MAX);
    return RILL_OK;
}
