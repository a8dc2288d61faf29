/* SPDX-License-Identifier: MIT */
/* States of a Loop that grow by a Concat in each iteration and that nothing else in its body reads,
 * as torch.cat in a scripted loop makes them: what is put behind them is scanned. */
#include "engine/graph/prune.h"
#include "engine/ops/attrs.h"
#include "models/onnx/internal.h"

#include <string.h>

/* The Concat that puts something behind state k of the body, for nobody else; NULL: none does. */
static struct node *concat_of(const struct graph *body, unsigned k)
{
    if (2 + k >= body->n_inputs || 1 + k >= body->n_outputs)
        return NULL;
    const uint32_t before = body->inputs[2 + k], after = body->outputs[1 + k],
                   made = body->wires[after].node;
    struct node *n = made == WIRE_NONE ? NULL : &body->nodes[made];
    return n && node_is(n, OP_CONCAT) && n->n_in == 2 && n->in[0] == before &&
            n->in[1] != WIRE_NONE && graph_uses(body, before) == 1 && graph_uses(body, after) == 1
        ? n
        : NULL;
}

/* State k leaves the body; what it grows by is output `to`, counted without the state's. */
static void state_scanned(struct graph *body, unsigned k, struct node *concat, uint32_t to)
{
    uint32_t *in = body->inputs + 2 + k, *out = body->outputs + 1 + k;
    memmove(in, in + 1, (body->n_inputs - 3 - k) * sizeof *in);
    body->n_inputs--;
    memmove(out, out + 1, (body->n_outputs - 2 - k) * sizeof *out);
    memmove(body->outputs + to + 1, body->outputs + to, (body->n_outputs - 1 - to) * sizeof *out);
    body->outputs[to] = concat->in[1];
    concat->in[0] = concat->in[1]; /* nobody reads it any more */
}

unsigned grown_take(struct conversion *l, struct graph *body, bool *grows, unsigned n_sequences,
                    struct grown *ret)
{
    unsigned taken = 0, before = 0;
    for (unsigned i = 0, k = 0; i + 2 < l->n_in; i++) {
        if (grows[i + 2]) {
            before++;
            continue;
        }
        struct node *n = concat_of(body, k);
        if (!n) {
            k++;
            continue;
        }
        ret[i] =
            (struct grown) { true, axis_of(n), l->in[i + 2], i < l->n_out ? l->out[i] : WIRE_NONE };
        state_scanned(body, k, n, body->n_outputs - 1 - n_sequences - taken + before);
        grows[i + 2] = true;
        before++;
        taken++;
    }
    return taken;
}

rill_status grown_put(struct conversion *l, const struct grown *q, uint32_t stack)
{
    struct emitter e = { l, RILL_OK };
    if (q->last == WIRE_NONE)
        return RILL_OK;
    const uint32_t in[] = { q->first, stack_joined(&e, stack, q->axis) };
    const uint32_t y = emit_with(&e, "Concat", "axis", q->axis, in, 2);
    uint32_t last = q->last;
    return e.status == RILL_OK ? convert_emit(l, "Identity", NULL, 0, &y, 1, &last, 1) : e.status;
}
