/* SPDX-License-Identifier: MIT */
/* Slots, and what of a plan is made of them alone: copies, lists of steps, the wires of a graph. */
#include "engine/ops/strided_copy.h"
#include "engine/plan/lower.h"

#include <string.h>

rill_status lower_no_memory(const struct lower *l)
{
    const struct arena *kept = &l->p->arena;
    return kept->at_limit
        ? err_set(l->err, RILL_LIMIT, "over the limit of %zu bytes for what a plan keeps",
                  kept->limit_bytes)
        : err_set(l->err, RILL_NOMEM, "out of memory while planning");
}

rill_status slot_new(struct lower *l, size_t bytes, uint32_t *ret)
{
    struct slot *s = arena_grow(&l->work, l->slots, l->n_slots, &l->cap_slots, sizeof *s);
    if (!s)
        return lower_no_memory(l);
    l->slots = s;
    s[l->n_slots] = (struct slot) {
        .bytes = bytes, .root = l->n_slots, .first = UINT32_MAX, .before = WIRE_NONE
    };
    *ret = l->n_slots++;
    return RILL_OK;
}

rill_status slot_constant(struct lower *l, const void *data, size_t bytes, uint32_t *ret)
{
    TRY(slot_new(l, bytes, ret));
    l->slots[*ret].constant = data;
    return RILL_OK;
}

uint32_t slot_root(const struct lower *l, uint32_t slot)
{
    while (l->slots[slot].root != slot)
        slot = l->slots[slot].root;
    return slot;
}

size_t slot_shift(const struct lower *l, uint32_t slot)
{
    size_t bytes = 0;
    for (; l->slots[slot].root != slot; slot = l->slots[slot].root)
        bytes += l->slots[slot].shift_bytes;
    return bytes;
}

void slot_use(struct lower *l, uint32_t slot, uint32_t time)
{
    struct slot *s = &l->slots[slot_root(l, slot)];
    if (time < s->first)
        s->first = time;
    if (time > s->last)
        s->last = time;
}

rill_status operand_set(struct lower *l, union operand *o, uint32_t slot)
{
    union operand **list =
        arena_grow(&l->work, l->operands, l->n_operands, &l->cap_operands, sizeof *list);
    if (!list)
        return lower_no_memory(l);
    l->operands = list;
    o->slot = slot;
    if (slot != WIRE_NONE)
        l->slots[slot_root(l, slot)].is_read = true;
    list[l->n_operands++] = o;
    return RILL_OK;
}

/* ---- copies and steps ---- */

rill_status copies_init(struct lower *l, struct copies *list, uint32_t cap)
{
    list->c = arena_array(&l->p->arena, struct block_copy, cap + 1);
    return list->c ? RILL_OK : lower_no_memory(l);
}

rill_status copy_add(struct lower *l, struct copies *list, uint32_t from, uint32_t to, size_t bytes)
{
    bool there = slot_root(l, from) == slot_root(l, to) && slot_shift(l, from) == slot_shift(l, to);
    if (there || bytes == 0)
        return RILL_OK;
    struct block_copy *c = &list->c[list->n++];
    c->bytes = bytes;
    slot_use(l, from, l->time);
    slot_use(l, to, l->time);
    TRY(operand_set(l, &c->from, from));
    return operand_set(l, &c->to, to);
}

rill_status steps_init(struct lower *l, struct steps *list, uint32_t cap)
{
    list->s = arena_array(&l->p->arena, struct step, cap + 1);
    return list->s ? RILL_OK : lower_no_memory(l);
}

rill_status step_add(struct lower *l, struct steps *list,
                     void (*run)(const struct step *, unsigned char *), const void *args,
                     const char *name, const char *kernel)
{
    list->s[list->n++] = (struct step) { .run = run, .args = args, .name = name, .kernel = kernel };
    l->p->n_steps_all++;
    l->time++;
    return RILL_OK;
}

/* ---- wires ---- */

bool node_is_view(const struct node *n, unsigned *ret_input, size_t *ret_shift_bytes)
{
    int64_t first = 0;
    *ret_input = 0;
    if (strided_copy_is_part(n, ret_input, &first)) {
        *ret_shift_bytes = (size_t) first * sizeof(float);
        return true;
    }
    *ret_shift_bytes = 0;
    if (!(n->op->flags & OP_VIEW) || n->in[0] == WIRE_NONE || n->out[0] == WIRE_NONE)
        return false;
    for (unsigned i = 1; i < n->n_out; i++)
        if (n->out[i] != WIRE_NONE)
            return false;
    return true;
}

static void scope_last_uses(struct scope *f)
{
    const struct graph *g = f->g;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        f->last[g->outputs[i]] = g->n_nodes;
    for (uint32_t i = 0; i < g->n_states; i++)
        f->last[g->states[i].out] = g->n_nodes;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        const struct node *n = &g->nodes[i];
        unsigned input;
        size_t shift;
        uint32_t until = node_is_view(n, &input, &shift) ? f->last[n->out[0]] : i;
        for (unsigned k = 0; k < n->n_in; k++)
            if (n->in[k] != WIRE_NONE && f->last[n->in[k]] < until)
                f->last[n->in[k]] = until;
    }
}

rill_status scope_init(struct lower *l, struct scope *f, const struct graph *g)
{
    *f = (struct scope) { .g = g,
                          .slot = arena_array(&l->work, uint32_t, g->n_wires + 1),
                          .last = arena_array(&l->work, uint32_t, g->n_wires + 1),
                          .next = arena_array(&l->work, uint32_t, g->n_wires + 1) };
    if (!f->slot || !f->last || !f->next)
        return lower_no_memory(l);
    for (uint32_t w = 0; w < g->n_wires; w++)
        f->slot[w] = f->next[w] = WIRE_NONE;
    for (uint32_t i = 0; i < g->n_states; i++)
        f->next[g->states[i].in] = g->states[i].out;
    scope_last_uses(f);
    return RILL_OK;
}

rill_status wire_bytes(struct lower *l, const struct graph *g, uint32_t wire, size_t *ret)
{
    struct tensor t;
    const struct wire *w = &g->wires[wire];
    if (!fact_to_tensor(&w->fact, &t) || t.type == DTYPE_DIM) {
        char fact[200];
        fact_print(&w->fact, fact, sizeof fact);
        return err_set(l->err, RILL_UNSUPPORTED,
                       "graph '%s': '%.80s' is %s; a plan needs sizes that are known before "
                       "running: fix its symbols or pulse it",
                       g->name, w->name, fact);
    }
    *ret = tensor_bytes(&t);
    return RILL_OK;
}

rill_status wire_slot(struct lower *l, struct scope *f, uint32_t wire, uint32_t *ret)
{
    if (wire == WIRE_NONE) {
        *ret = WIRE_NONE;
        return RILL_OK;
    }
    if (f->slot[wire] == WIRE_NONE) {
        const struct tensor *v = f->g->wires[wire].fact.value;
        size_t bytes;
        TRY(wire_bytes(l, f->g, wire, &bytes));
        if (v) {
            l->p->weights_bytes += bytes;
            TRY(slot_constant(l, v->data, bytes, &f->slot[wire]));
        } else {
            TRY(slot_new(l, bytes, &f->slot[wire]));
        }
        const struct wire *w = &f->g->wires[wire];
        l->slots[f->slot[wire]].name = w->name;
        l->slots[f->slot[wire]].node = w->node == WIRE_NONE ? NULL : &f->g->nodes[w->node];
    }
    *ret = f->slot[wire];
    return RILL_OK;
}

/* ---- states ---- */

void state_merge(struct lower *l, uint32_t to, uint32_t from)
{
    struct slot *t = &l->slots[slot_root(l, to)], *s = &l->slots[slot_root(l, from)];
    if (!slot_shift(l, from) && !s->constant && !s->persistent && s->bytes == t->bytes &&
        s->first > t->last && s->first != UINT32_MAX)
        s->root = slot_root(l, to);
}

bool is_another_state(const struct lower *l, const uint32_t *to, uint32_t n, uint32_t me,
                      uint32_t from)
{
    for (uint32_t i = 0; i < n; i++)
        if (i != me && slot_root(l, to[i]) == slot_root(l, from))
            return true;
    return false;
}

rill_status states_update(struct lower *l, const uint32_t *to, const uint32_t *from,
                          const size_t *bytes, uint32_t n, struct copies *stage,
                          struct copies *next)
{
    TRY(copies_init(l, stage, n));
    TRY(copies_init(l, next, n));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t source = from[i];
        if (is_another_state(l, to, n, i, source)) {
            TRY(slot_new(l, bytes[i], &source));
            TRY(copy_add(l, stage, from[i], source, bytes[i]));
        }
        TRY(copy_add(l, next, source, to[i], bytes[i]));
    }
    return RILL_OK;
}
