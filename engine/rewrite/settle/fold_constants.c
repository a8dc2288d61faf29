/* SPDX-License-Identifier: MIT */
/* What only constants make is made once: parts of masks and tables of positions that every run
 * reads. */
#include "engine/graph/edit.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/typing/interp.h"

#define FOLDED_BYTES_MAX ((size_t) 4 << 20) /* of one constant */
#define INS_MAX 8

static bool is_next_state(const struct graph *g, uint32_t w)
{
    for (uint32_t i = 0; i < g->n_states; i++)
        if (g->states[i].out == w)
            return true;
    return false;
}

/* Reads constants alone; in: their values. */
static bool is_ours(const struct graph *g, const struct node *n, const struct tensor **in)
{
    struct tensor out;
    bool ours = n->n_body == 0 && n->n_out == 1 && n->out[0] != WIRE_NONE && n->op->eval &&
        !(n->op->flags & OP_RANDOM) && n->n_in <= INS_MAX &&
        fact_to_tensor(&g->wires[n->out[0]].fact, &out) && tensor_bytes(&out) <= FOLDED_BYTES_MAX &&
        !is_next_state(g, n->out[0]);
    for (unsigned i = 0; ours && i < n->n_in; i++) {
        in[i] = n->in[i] == WIRE_NONE ? NULL : g->wires[n->in[i]].fact.value;
        ours = n->in[i] == WIRE_NONE || in[i];
    }
    return ours;
}

/* What does not run stays as it is, and says so when it does. */
rill_status graph_with_constants_folded(struct graph *ret, const struct graph *g,
                                        rill_error *reterr)
{
    struct edit e;
    const struct tensor *in[INS_MAX], *out[1];
    struct kern kern;
    kern_init(&kern, 0);
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++) {
        const struct node *n = &ret->nodes[i];
        rill_error quiet = { 0 };
        if (!is_ours(ret, n, in) ||
            interp_node(ret->dims, n, in, &kern, ret->arena, out, &quiet) != RILL_OK ||
            out[0]->type != ret->wires[n->out[0]].fact.type)
            continue;
        ret->wires[n->out[0]].fact.value = out[0];
        ret->wires[n->out[0]].node = WIRE_NONE;
        e.gone[i] = true;
    }
    return edit_end(&e, reterr);
}
