/* SPDX-License-Identifier: MIT */
/* Tensors that go on from run to run, by id: what load gives is what store took in the run before.
 */
#include "models/nnef/build.h"

#include <string.h>

static struct carried *carried_find(const struct builder *b, const char *id)
{
    struct carried *x = b->carried;
    while (x && strcmp(x->id, id) != 0)
        x = x->next;
    return x;
}

/* Only the graph itself has states. */
static rill_status outside_check(const struct call *c)
{
    if (c->s->g == c->b->graph)
        return RILL_OK;
    return call_fail(c, RILL_UNSUPPORTED, "'%s' within the body of a scan ('%.60s')", c->e->text,
                     c->s->g->name);
}

rill_status build_tract_load(const struct call *c, struct val *ret)
{
    uint32_t first;
    const char *id;
    TRY(outside_check(c));
    TRY(arg_wire(c, "input", &first));
    TRY(arg_text(c, "id", &id));
    struct fact f = *wire_fact(c->s, first);
    struct carried *x = carried_find(c->b, id);
    if (x) {
        *ret = val_of_wire(x->in);
        return RILL_OK;
    }
    if (!f.value || f.value->type == DTYPE_DIM)
        return call_fail(c, RILL_UNSUPPORTED,
                         "'%s': what '%.60s' begins with is computed, expected a constant",
                         c->e->text, id);
    if (!(x = arena_new(c->b->arena, struct carried)))
        return nnef_no_memory(c->b);
    *x = (struct carried) { .id = id, .out = WIRE_NONE, .init = f.value, .next = c->b->carried };
    f.value = NULL;
    c->b->carried = x;
    x->in = graph_add_wire(c->s->g, arena_printf(c->b->arena, "%s.before", id), &f);
    *ret = val_of_wire(x->in);
    return x->in == WIRE_NONE ? nnef_no_memory(c->b) : RILL_OK;
}

rill_status build_tract_store(const struct call *c, struct val *ret)
{
    uint32_t state;
    const char *id;
    char was[120], is[120];
    TRY(outside_check(c));
    TRY(arg_val(c, "input", ret));
    TRY(arg_wire(c, "state", &state));
    TRY(arg_text(c, "id", &id));
    struct carried *x = carried_find(c->b, id);
    if (!x || x->out != WIRE_NONE)
        return call_fail(c, RILL_MALFORMED, "'%s': '%.60s' %s", c->e->text, id,
                         x ? "is stored twice" : "is stored and was not loaded");
    const struct fact *from = wire_fact(c->s, x->in), *to = wire_fact(c->s, state);
    if (!fact_same(from, to)) {
        fact_print(from, was, sizeof was);
        fact_print(to, is, sizeof is);
        return call_fail(c, RILL_MALFORMED, "'%s': '%.60s' begins as %s and is stored as %s",
                         c->e->text, id, was, is);
    }
    x->out = state;
    return RILL_OK;
}

/* What is computed for its effect is computed anyhow: the slots of the inputs are left. */
rill_status build_tract_force_eval(const struct call *c, struct val *ret)
{
    uint32_t *in;
    unsigned n, n_slots;
    int64_t slot[RANK_MAX];
    TRY(arg_wires(c, "inputs", &in, &n));
    TRY(arg_ints(c, "slots", slot, RANK_MAX, &n_slots));
    struct val *list = arena_array(c->b->arena, struct val, RANK_MAX);
    if (!list)
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < n_slots; i++) {
        if (slot[i] < 0 || slot[i] >= n)
            return call_fail(c, RILL_MALFORMED, "'%s': slot %lld of %u inputs", c->e->text,
                             (long long) slot[i], n);
        list[i] = val_of_wire(in[slot[i]]);
    }
    *ret = (struct val) { .kind = VAL_LIST, .n = n_slots, .list = list };
    if (n_slots == 1)
        *ret = list[0];
    return RILL_OK;
}

rill_status states_add(struct builder *b, const struct scope *s)
{
    for (struct carried *x = b->carried; x; x = x->next)
        if (!graph_add_state(s->g, x->id, x->in, x->out == WIRE_NONE ? x->in : x->out, x->init))
            return nnef_no_memory(b);
    return RILL_OK;
}
