/* SPDX-License-Identifier: MIT */
/* Tensors that go on from run to run: by id, what load gives is what store took in the run before;
 * a variable that is updated is what it was updated to. */
#include "models/nnef/build.h"

#include <string.h>

static struct carried *carried_find(const struct builder *b, const char *id)
{
    struct carried *x = b->carried;
    while (x && strcmp(x->id, id) != 0)
        x = x->next;
    return x;
}

rill_status states_allowed(const struct call *c)
{
    if (c->s->g == c->b->graph)
        return RILL_OK;
    return call_fail(c, RILL_UNSUPPORTED, "'%s' within the body of a scan ('%.60s')", c->e->text,
                     c->s->g->name);
}

/* A state that begins as the constant `first`; the wire of what it is in a run is called name. */
static rill_status carried_add(const struct call *c, const char *id, const char *name,
                               uint32_t first, struct val *ret)
{
    struct fact f = *wire_fact(c->s, first);
    struct carried *x = arena_new(c->b->arena, struct carried);
    if (!x || !name || !(id = arena_string(c->b->arena, id))) /* a submodel's text does not stay */
        return nnef_no_memory(c->b);
    *x = (struct carried) { .id = id, .out = WIRE_NONE, .init = f.value, .next = c->b->carried };
    f.value = NULL;
    c->b->carried = x;
    x->in = graph_add_wire(c->s->g, name, &f);
    *ret = val_of_wire(x->in);
    return x->in == WIRE_NONE ? nnef_no_memory(c->b) : RILL_OK;
}

rill_status carried_begin(const struct call *c, const char *name, uint32_t *w, struct carried **ret)
{
    struct arena *a = c->b->arena;
    const struct tensor *first = wire_fact(c->s, *w)->value;
    const char *id =
        arena_printf(a, "%s%s.%s", c->s->prefix, c->s->target ? c->s->target : c->e->text, name);
    struct val before;
    TRY(states_allowed(c));
    if (!first || first->type == DTYPE_DIM)
        return call_fail(c, RILL_UNSUPPORTED,
                         "'%s': a graph that was made a stream goes on from run to run, but what "
                         "'%.60s' begins with is computed, expected a constant",
                         c->e->text, name);
    if (id && carried_find(c->b, id)) /* a name may be assigned again */
        id = arena_printf(a, "%s.%u", id, c->s->g->n_wires);
    if (!id)
        return nnef_no_memory(c->b);
    TRY(carried_add(c, id, arena_printf(a, "%s.before", id), *w, &before));
    *ret = c->b->carried;
    *w = before.wire;
    return RILL_OK;
}

rill_status carried_store(const struct call *c, struct carried *x, uint32_t state)
{
    char was[120], is[120];
    const struct fact *from = wire_fact(c->s, x->in), *to = wire_fact(c->s, state);
    if (!fact_same(from, to)) {
        fact_print(from, was, sizeof was);
        fact_print(to, is, sizeof is);
        return call_fail(c, RILL_MALFORMED, "'%s': '%.60s' begins as %s and is stored as %s",
                         c->e->text, x->id, was, is);
    }
    x->out = state;
    return RILL_OK;
}

rill_status build_tract_load(const struct call *c, struct val *ret)
{
    uint32_t first;
    const char *id;
    TRY(states_allowed(c));
    TRY(arg_wire(c, "input", &first));
    TRY(arg_text(c, "id", &id));
    const struct fact *f = wire_fact(c->s, first);
    struct carried *x = carried_find(c->b, id);
    if (x) {
        *ret = val_of_wire(x->in);
        return RILL_OK;
    }
    if (!f->value || f->value->type == DTYPE_DIM)
        return call_fail(c, RILL_UNSUPPORTED,
                         "'%s': what '%.60s' begins with is computed, expected a constant",
                         c->e->text, id);
    return carried_add(c, id, arena_printf(c->b->arena, "%s.before", id), first, ret);
}

rill_status build_tract_store(const struct call *c, struct val *ret)
{
    uint32_t state;
    const char *id;
    TRY(states_allowed(c));
    TRY(arg_val(c, "input", ret));
    TRY(arg_wire(c, "state", &state));
    TRY(arg_text(c, "id", &id));
    struct carried *x = carried_find(c->b, id);
    if (!x || x->out != WIRE_NONE)
        return call_fail(c, RILL_MALFORMED, "'%s': '%.60s' %s", c->e->text, id,
                         x ? "is stored twice" : "is stored and was not loaded");
    return carried_store(c, x, state);
}

/* ---- variables of the standard that are updated ---- */

static bool updates(const struct nnef_expr *e, const char *name)
{
    const bool call = e->kind == NNEF_EXPR_CALL && !strcmp(e->text, "update");
    bool found = false;
    for (uint32_t i = 0; !found && i < e->n_part; i++) {
        const struct nnef_expr *x = e->part[i];
        const char *as = call ? e->arg_name[i] : NULL;
        found = updates(x, name) ||
            (call && (as ? !strcmp(as, "variable") : i == 0) && x->kind == NNEF_EXPR_NAME &&
             !strcmp(x->text, name));
    }
    return found;
}

rill_status variable_add(const struct call *c, const char *label, struct val *ret)
{
    const struct nnef_fragment *f = &c->b->doc->graph;
    const char *name = c->s->target;
    bool found = false;
    for (uint32_t i = 0; name && c->s->whole == c->e && c->s->inputs_of == f && i < f->n_body; i++)
        found |= updates(f->body[i].right, name);
    return found
        ? carried_add(c, label, arena_printf(c->b->arena, "%s:before", label), ret->wire, ret)
        : RILL_OK;
}

/* What it gives is the new value; whoever reads the variable sees the one before, for this run. */
rill_status build_update(const struct call *c, struct val *ret)
{
    uint32_t variable, state;
    TRY(states_allowed(c));
    TRY(arg_wire(c, "variable", &variable));
    TRY(arg_wire(c, "value", &state));
    struct carried *x = c->b->carried;
    while (x && x->in != variable)
        x = x->next;
    if (!x || x->out != WIRE_NONE)
        return call_fail(c, RILL_MALFORMED, "'update': %s",
                         x ? "the variable is updated twice"
                           : "expected the name of a variable of the graph itself");
    *ret = val_of_wire(state);
    return carried_store(c, x, state);
}

/* ---- states of formulas, outputs of caches ---- */

/* t in another type. */
static rill_status tensor_typed(const struct call *c, const struct tensor *t, enum dtype type,
                                const struct tensor **ret)
{
    struct tensor *y = tensor_new(c->b->arena, type, t->rank, t->dim);
    if (!y)
        return nnef_no_memory(c->b);
    for (int64_t i = 0; i < tensor_count(t); i++)
        tensor_set_f64(y, y->data, i, tensor_get_f64(t, t->data, i));
    *ret = y;
    return RILL_OK;
}

/* A state without a name, of the type of `like`, that an `update` goes with. */
rill_status build_state(const struct call *c, struct val *ret)
{
    struct val first, like;
    const struct tensor *t;
    uint32_t w;
    TRY(states_allowed(c));
    TRY(arg_val(c, "first", &first));
    TRY(arg_val(c, "like", &like));
    const enum dtype type = like.kind == VAL_WIRE ? wire_fact(c->s, like.wire)->type
        : first.kind == VAL_INT                   ? DTYPE_I64
                                                  : DTYPE_F32;
    TRY(val_to_wire(c->b, c->s, c->e->pos, first, type, &w));
    if (!(t = wire_fact(c->s, w)->value) || t->type == DTYPE_DIM)
        return call_fail(c, RILL_UNSUPPORTED,
                         "what a state begins with is computed, expected a constant");
    if (like.kind == VAL_WIRE && t->type != type) {
        TRY(tensor_typed(c, t, type, &t));
        TRY(const_tensor(c->b, c->s->g, t, &w));
    }
    const char *id = arena_printf(c->b->arena, "state_%u", c->s->g->n_wires);
    return id ? carried_add(c, id, arena_printf(c->b->arena, "%s:before", id), w, ret)
              : nnef_no_memory(c->b);
}

/* In the order of the text. */
static rill_status caches_add(struct builder *b, struct scope *s, const struct cache *x)
{
    uint32_t w;
    if (!x)
        return RILL_OK;
    TRY(caches_add(b, s, x->next));
    TRY(build_node(b, s, b->doc->graph.pos, "Identity", NULL, 0, &x->out, 1, &w, 1));
    s->g->wires[w].name = x->name;
    return graph_add_output(s->g, w) ? RILL_OK : nnef_no_memory(b);
}

/* Caches make ports beside those of the text. */
static rill_status ports_check(struct builder *b, const struct scope *s, const char *kind,
                               const uint32_t *wires, uint32_t n)
{
    for (uint32_t i = 0; b->caches && i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(s->g->wires[wires[i]].name, s->g->wires[wires[k]].name))
                return nnef_fail(b, s, b->doc->graph.pos, RILL_MALFORMED,
                                 "two %s are called '%.80s': a cache has a name of its own", kind,
                                 s->g->wires[wires[i]].name);
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

rill_status states_add(struct builder *b, struct scope *s)
{
    TRY(caches_add(b, s, b->caches));
    TRY(ports_check(b, s, "inputs", s->g->inputs, s->g->n_inputs));
    TRY(ports_check(b, s, "outputs", s->g->outputs, s->g->n_outputs));
    for (struct carried *x = b->carried; x; x = x->next)
        if (!graph_add_state(s->g, x->id, x->in, x->out == WIRE_NONE ? x->in : x->out, x->init))
            return nnef_no_memory(b);
    return RILL_OK;
}
