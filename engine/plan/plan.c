/* SPDX-License-Identifier: MIT */
/* A settled graph becomes a plan: nodes are lowered to steps in order, slots get their places in
 * one block, and what was packed is kept. */
#include "engine/graph/bodies.h"
#include "engine/plan/shares.h"

#include <stdlib.h>
#include <string.h>

#define MEM_BYTES_MAX ((size_t) 1 << 30)

static void operand_resolve(const struct lower *l, union operand *o)
{
    if (o->slot == WIRE_NONE) {
        o->at = (struct place) { .offset = SIZE_MAX };
        return;
    }
    const struct slot *s = &l->slots[slot_root(l, o->slot)];
    size_t shift = slot_shift(l, o->slot);
    o->at = (struct place) { .constant = s->constant ? (const char *) s->constant + shift : NULL,
                             .offset = s->offset + shift };
}

/* ---- ordinary ops ---- */

static rill_status node_shapes(struct lower *l, const struct scope *f, const uint32_t *wires,
                               unsigned n, const struct tensor ***ret)
{
    struct tensor *t = arena_array(&l->p->arena, struct tensor, n + 1);
    const struct tensor **list = arena_array(&l->p->arena, const struct tensor *, n + 1);
    if (!t || !list)
        return lower_no_memory(l);
    for (unsigned i = 0; i < n; i++) {
        if (wires[i] == WIRE_NONE)
            continue;
        const struct fact *fact = &f->g->wires[wires[i]].fact;
        size_t bytes;
        TRY(wire_bytes(l, f->g, wires[i], &bytes));
        fact_to_tensor(fact, &t[i]);
        t[i].data = fact->value ? fact->value->data : NULL;
        list[i] = &t[i];
    }
    *ret = list;
    return RILL_OK;
}

/* Shapes of outputs that nobody wants are still part of eval's contract. */
static rill_status node_unwanted(struct lower *l, const struct scope *f, const struct node *n,
                                 const struct tensor **out)
{
    bool any = false;
    for (unsigned i = 0; i < n->n_out; i++)
        any |= n->out[i] == WIRE_NONE;
    if (!any)
        return RILL_OK;
    const struct fact **in = arena_array(&l->work, const struct fact *, n->n_in + 1);
    struct fact *facts = arena_array(&l->work, struct fact, n->n_out + 1);
    struct tensor *t = arena_array(&l->p->arena, struct tensor, n->n_out + 1);
    if (!in || !facts || !t)
        return lower_no_memory(l);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? NULL : &f->g->wires[n->in[i]].fact;
    TRY(op_infer(n, in, facts, f->g->dims, &l->work, l->err));
    for (unsigned i = 0; i < n->n_out; i++)
        if (!out[i] && fact_to_tensor(&facts[i], &t[i]))
            out[i] = &t[i];
    return RILL_OK;
}

/* An operand whose packed form its step has: eval gets its address all the same. */
static rill_status operand_set_packed(struct lower *l, union operand *o, uint32_t slot)
{
    struct slot *s = &l->slots[slot_root(l, slot)];
    bool is_read = s->is_read;
    TRY(operand_set(l, o, slot));
    s->is_read = is_read;
    s->is_packed = true;
    return RILL_OK;
}

static rill_status node_operands(struct lower *l, struct scope *f, const struct node *n,
                                 struct node_step *s, uint64_t packed)
{
    uint32_t slot;
    for (unsigned i = 0; i < n->n_in; i++) {
        TRY(wire_slot(l, f, n->in[i], &slot));
        bool is_packed = slot != WIRE_NONE && i < 64 && packed >> i & 1;
        TRY((is_packed ? operand_set_packed : operand_set)(l, &s->in[i], slot));
        if (slot != WIRE_NONE)
            slot_use(l, slot, l->time);
    }
    for (unsigned i = 0; i < n->n_out; i++) {
        TRY(wire_slot(l, f, n->out[i], &slot));
        TRY(operand_set(l, &s->out[i], slot));
        if (slot != WIRE_NONE)
            slot_use(l, slot, l->time);
    }
    return RILL_OK;
}

/* Whether no step before has read a constant that this one packs: each is spared once. */
static bool packs_first(const struct scope *f, const struct node *n, uint64_t packed)
{
    for (unsigned i = 0; i < n->n_in && i < 64; i++)
        if (packed >> i & 1 && n->in[i] != WIRE_NONE && f->slot[n->in[i]] != WIRE_NONE)
            return false;
    return true;
}

/* ---- limits ---- */

static rill_status tensor_refuse(const struct lower *l, const struct node *n, const char *name,
                                 size_t bytes)
{
    static const char words[] =
        "'%.80s': a tensor of %zu bytes is over the limit of %zu bytes for one stream";
    return n ? op_fail(l->err, RILL_LIMIT, n, words, name, bytes, l->bytes_max)
             : err_set(l->err, RILL_LIMIT, words, name, bytes, l->bytes_max);
}

/* Those that lie in the block: constants, and views of them, lie outside. */
static rill_status wires_fit(struct lower *l, const struct scope *f, const uint32_t *wires,
                             unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct wire *w = wires[i] == WIRE_NONE ? NULL : &f->g->wires[wires[i]];
        const uint32_t slot = w ? f->slot[wires[i]] : WIRE_NONE;
        size_t bytes;
        if (!w || w->fact.value || (slot != WIRE_NONE && l->slots[slot_root(l, slot)].constant))
            continue;
        TRY(wire_bytes(l, f->g, wires[i], &bytes));
        if (bytes > l->bytes_max)
            return tensor_refuse(l, w->node == WIRE_NONE ? NULL : &f->g->nodes[w->node], w->name,
                                 bytes);
    }
    return RILL_OK;
}

/* Ops make tables by the sizes of their tensors, which fit the block before any is made; what all
 * tables take together has a limit of its own. */
static rill_status node_prepare(struct lower *l, const struct scope *f, struct prep *p)
{
    const struct node *n = p->node;
    TRY(wires_fit(l, f, n->in, n->n_in));
    TRY(wires_fit(l, f, n->out, n->n_out));
    if (!n->op->prepare)
        return RILL_OK;
    const struct arena *kept = &l->p->arena;
    rill_status s = n->op->prepare(p);
    if (s != RILL_NOMEM || !kept->at_limit)
        return s;
    return op_fail(l->err, RILL_LIMIT, n,
                   "its tables, beside %zu bytes that the plan keeps, are over its limit of %zu "
                   "bytes",
                   kept->used_bytes, kept->limit_bytes);
}

static rill_status node_lower(struct lower *l, struct scope *f, const struct node *n,
                              struct steps *list)
{
    struct arena *a = &l->p->arena;
    struct node_step *s = arena_new(a, struct node_step);
    const struct tensor **in, **out;
    TRY(node_shapes(l, f, n->in, n->n_in, &in));
    TRY(node_shapes(l, f, n->out, n->n_out, &out));
    if (!s || !(s->in = arena_array(a, union operand, n->n_in + 1)) ||
        !(s->out = arena_array(a, union operand, n->n_out + 1)))
        return lower_no_memory(l);
    TRY(node_unwanted(l, f, n, out));
    struct prep p = { .node = n,
                      .attr = n->attr,
                      .kern = &l->p->kern,
                      .arena = a,
                      .n_in = n->n_in,
                      .n_out = n->n_out,
                      .in = in,
                      .out = out,
                      .kernel = n->op->name,
                      .packs = &l->p->packs,
                      .err = l->err };
    TRY(node_prepare(l, f, &p));
    l->p->kern_uses |= p.kern_uses;
    l->spared_bytes += packs_first(f, n, p.packed) ? p.spared_bytes : 0;
    s->eval = (struct eval) { .node = n,
                              .attr = n->attr,
                              .kern = &l->p->kern,
                              .n_in = n->n_in,
                              .n_out = n->n_out,
                              .in = in,
                              .out = out,
                              .args = p.args };
    s->run = n->op->eval;
    TRY(node_operands(l, f, n, s, p.packed));
    TRY(node_divide(l, f->g, n, &p, s));
    uint32_t scratch;
    TRY(slot_new(l, node_scratch_bytes(&p, s), &scratch));
    l->slots[scratch].node = n;
    slot_use(l, scratch, l->time);
    TRY(operand_set(l, &s->scratch, scratch));
    s->next = l->p->node_steps;
    l->p->node_steps = s;
    TRY(step_add(l, list, s->crew ? shared_step_run : node_step_run, s, n->name,
                 p.kernel ? p.kernel : n->op->name));
    if (p.many && n->op->eval_many)
        list->s[list->n - 1].run_many = node_step_run_many;
    return RILL_OK;
}

static rill_status view_lower(struct lower *l, struct scope *f, const struct node *n,
                              unsigned input, size_t shift_bytes)
{
    uint32_t in, out;
    TRY(wire_slot(l, f, n->in[input], &in));
    TRY(wire_slot(l, f, n->out[0], &out));
    l->slots[out].root = in;
    l->slots[out].shift_bytes = shift_bytes;
    l->slots[out].part = true;
    return RILL_OK;
}

/* Another input of the node, read under another shape maybe, lies there too. */
static rill_status is_read_twice(struct lower *l, struct scope *f, const struct node *n,
                                 int64_t base, uint32_t slot, bool *ret)
{
    uint32_t other;
    const bool again = n->op->reads_base_again && n->op->reads_base_again(n);
    *ret = false;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] == WIRE_NONE || (int) i == base || (again && n->in[i] == n->in[base]))
            continue;
        TRY(wire_slot(l, f, n->in[i], &other));
        *ret = *ret || slot_root(l, other) == slot_root(l, slot);
    }
    return RILL_OK;
}

/* An output may be written where its base lay once nobody reads that any more and nothing outside
 * the run owns it. */
static rill_status base_reuse(struct lower *l, struct scope *f, const struct node *n,
                              uint32_t number, unsigned output)
{
    int base = n->op->base ? n->op->base(n, output) : -1;
    uint32_t in, out;
    if (base < 0 || n->in[base] == WIRE_NONE || n->out[output] == WIRE_NONE)
        return RILL_OK;
    uint32_t w = n->in[base];
    TRY(wire_slot(l, f, w, &in));
    TRY(wire_slot(l, f, n->out[output], &out));
    bool ours = f->g->wires[w].node != WIRE_NONE || f->next[w] != WIRE_NONE, twice;
    TRY(is_read_twice(l, f, n, base, in, &twice));
    const struct slot *s = &l->slots[in], *root = &l->slots[slot_root(l, in)];
    if (!ours || twice || s->part || root->constant || f->last[w] != number ||
        s->bytes != l->slots[out].bytes || root->last > l->time || slot_shift(l, in) ||
        l->slots[out].root != out)
        return RILL_OK;
    l->slots[out].root = in;
    return RILL_OK;
}

static rill_status graph_lower(struct lower *l, struct scope *f, struct steps *ret)
{
    TRY(steps_init(l, ret, f->g->n_nodes + 2));
    for (uint32_t i = 0; i < f->g->n_nodes; i++) {
        const struct node *n = &f->g->nodes[i];
        unsigned input;
        size_t shift;
        if (n->op->flags & OP_CONTROL)
            TRY(control_lower(l, f, n, ret));
        else if (node_is_view(n, &input, &shift))
            TRY(view_lower(l, f, n, input, shift));
        else {
            for (unsigned o = 0; o < n->n_out; o++)
                TRY(base_reuse(l, f, n, i, o));
            TRY(node_lower(l, f, n, ret));
        }
    }
    return RILL_OK;
}

/* ---- states and ports ---- */

static rill_status states_begin(struct lower *l, struct scope *f)
{
    const struct graph *g = f->g;
    struct plan *p = l->p;
    p->n_states = g->n_states;
    p->states = arena_array(&p->arena, struct plan_state, g->n_states + 1);
    if (!p->states)
        return lower_no_memory(l);
    for (uint32_t i = 0; i < g->n_states; i++) {
        const struct state *st = &g->states[i];
        struct plan_state *ps = &p->states[i];
        uint32_t slot;
        TRY(wire_slot(l, f, st->in, &slot));
        struct slot *s = &l->slots[slot];
        s->persistent = true;
        s->offset = p->state_bytes;
        p->state_bytes +=
            (s->bytes + MEMPLAN_ALIGN_BYTES - 1) & ~(size_t) (MEMPLAN_ALIGN_BYTES - 1);
        *ps = (struct plan_state) { .name = st->name, .offset = s->offset, .init = st->init };
        fact_to_tensor(&g->wires[st->in].fact, &ps->shape);
    }
    return RILL_OK;
}

static rill_status states_end(struct lower *l, struct scope *f, struct steps *list)
{
    const struct graph *g = f->g;
    uint32_t n = g->n_states, *to = arena_array(&l->work, uint32_t, n + 1),
             *from = arena_array(&l->work, uint32_t, n + 1);
    size_t *bytes = arena_array(&l->work, size_t, n + 1);
    struct copy_step *stage = arena_new(&l->p->arena, struct copy_step),
                     *next = arena_new(&l->p->arena, struct copy_step);
    if (!to || !from || !bytes || !stage || !next)
        return lower_no_memory(l);
    for (uint32_t i = 0; i < n; i++) {
        TRY(wire_slot(l, f, g->states[i].in, &to[i]));
        TRY(wire_slot(l, f, g->states[i].out, &from[i]));
        TRY(wire_bytes(l, g, g->states[i].in, &bytes[i]));
    }
    for (uint32_t i = 0; i < n;
         i++) /* an old state that is another one's next value is still read here */
        if (slot_root(l, from[i]) != slot_root(l, to[i]))
            slot_use(l, from[i], l->time);
    for (uint32_t i = 0; i < n; i++)
        if (!is_another_state(l, to, n, i, from[i]))
            state_merge(l, to[i], from[i]);
    TRY(states_update(l, to, from, bytes, n, &stage->copies, &next->copies));
    if (stage->copies.n)
        TRY(step_add(l, list, copy_step_run, stage, "states", "stage"));
    if (next->copies.n)
        TRY(step_add(l, list, copy_step_run, next, "states", "copy"));
    return RILL_OK;
}

/* The next value of a state that was written in its place: it lies there until the next run. */
static rill_status is_updated_state(struct lower *l, struct scope *f, uint32_t w, uint32_t slot,
                                    bool *ret)
{
    *ret = false;
    for (uint32_t i = 0; i < f->g->n_states; i++) {
        uint32_t state;
        if (f->g->states[i].out != w)
            continue;
        TRY(wire_slot(l, f, f->g->states[i].in, &state));
        *ret = *ret || (slot_root(l, slot) == slot_root(l, state) && !slot_shift(l, slot));
    }
    return RILL_OK;
}

/* An output that lies in a state which moves on (or is one port twice) is copied out before. */
static rill_status outputs_end(struct lower *l, struct scope *f, uint32_t *ret_slots,
                               struct steps *list)
{
    const struct graph *g = f->g;
    struct copy_step *out = arena_new(&l->p->arena, struct copy_step);
    if (!out)
        return lower_no_memory(l);
    TRY(copies_init(l, &out->copies, g->n_outputs));
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint32_t w = g->outputs[i], slot;
        bool stays;
        TRY(wire_slot(l, f, w, &slot));
        TRY(is_updated_state(l, f, w, slot, &stays));
        if (l->slots[slot_root(l, slot)].persistent && !stays) {
            size_t bytes = 0;
            uint32_t mine;
            TRY(wire_bytes(l, g, w, &bytes));
            TRY(slot_new(l, bytes, &mine));
            TRY(copy_add(l, &out->copies, slot, mine, bytes));
            slot = mine;
        }
        ret_slots[i] = slot;
        slot_use(l, slot, UINT32_MAX - 1);
    }
    return out->copies.n ? step_add(l, list, copy_step_run, out, "outputs", "copy") : RILL_OK;
}

static rill_status inputs_begin(struct lower *l, struct scope *f, uint32_t *ret_slots)
{
    for (uint32_t i = 0; i < f->g->n_inputs; i++) {
        uint32_t slot;
        TRY(wire_slot(l, f, f->g->inputs[i], &slot));
        ret_slots[i] = slot;
        slot_use(l, slot, 0);
        slot_use(l, slot, UINT32_MAX - 1); /* written between runs, while outputs are being read */
    }
    return RILL_OK;
}

static rill_status ports_set(struct lower *l, const struct scope *f, const uint32_t *wires,
                             const uint32_t *slots, uint32_t n, struct plan_port **ret)
{
    struct plan_port *ports = arena_array(&l->p->arena, struct plan_port, n + 1);
    if (!ports)
        return lower_no_memory(l);
    for (uint32_t i = 0; i < n; i++) {
        union operand o;
        o.slot = slots[i];
        l->slots[slot_root(l, o.slot)].is_read = true;
        operand_resolve(l, &o);
        ports[i] = (struct plan_port) { .name = f->g->wires[wires[i]].name, .at = o.at };
        fact_to_tensor(&f->g->wires[wires[i]].fact, &ports[i].shape);
    }
    *ret = ports;
    return RILL_OK;
}

/* ---- layout ---- */

static size_t fault_bytes(const struct plan *p)
{
    bool says = false;
    for (const struct node_step *n = p->node_steps; n && !says; n = n->next)
        says = n->eval.node->op->flags & OP_SAYS;
    return sizeof(struct fault) + (says ? FAULT_WORDS_BYTES : 0);
}

/* Room for the pointers of all steps from that offset on; returns the end. */
static size_t pointers_place(struct plan *p, size_t offset)
{
    p->bound_offset = offset;
    p->fault_offset = offset + sizeof(void *);
    p->alone_offset = p->fault_offset + fault_bytes(p);
    offset = p->alone_offset + sizeof(uint64_t);
    for (struct node_step *n = p->node_steps; n; n = n->next) {
        n->fault_offset = p->fault_offset;
        n->alone_offset = p->alone_offset;
        n->lists_offset = offset;
        offset += (n->eval.n_in + n->eval.n_out) * sizeof(void *);
    }
    for (struct open_loop_step *n = p->open_loops; n; n = n->next)
        n->fault_offset = p->fault_offset;
    return (offset + MEMPLAN_ALIGN_BYTES - 1) & ~(size_t) (MEMPLAN_ALIGN_BYTES - 1);
}

static rill_status block_refuse(struct lower *l)
{
    const struct slot *most = NULL;
    for (uint32_t i = 0; i < l->n_slots; i++)
        if (l->slots[i].root == i && !l->slots[i].constant &&
            (!most || l->slots[i].bytes > most->bytes))
            most = &l->slots[i];
    return err_set(l->err, RILL_LIMIT,
                   "one stream needs %zu bytes, over the limit of %zu bytes; its largest tensor is "
                   "'%.80s' of %zu bytes",
                   l->p->mem_bytes, l->bytes_max,
                   most && most->name ? most->name : "scratch of a step", most ? most->bytes : 0);
}

static rill_status layout(struct lower *l)
{
    struct plan *p = l->p;
    uint64_t visited;
    p->spans = arena_array(&p->arena, struct span, l->n_slots + 1);
    uint32_t *room = arena_array(&l->work, uint32_t, MEMPLAN_ROOM * (size_t) l->n_slots + 1),
             *of = arena_array(&l->work, uint32_t, l->n_slots + 1);
    if (!p->spans || !room || !of)
        return lower_no_memory(l);
    for (uint32_t i = 0; i < l->n_slots; i++) {
        const struct slot *s = &l->slots[i];
        if (s->root != i || s->constant || s->persistent || s->first == UINT32_MAX)
            continue;
        of[p->n_spans] = i;
        p->spans[p->n_spans++] =
            (struct span) { .bytes = s->bytes, .first = s->first, .last = s->last };
        if (s->bytes > l->bytes_max)
            return tensor_refuse(l, s->node, s->name ? s->name : "scratch of a step", s->bytes);
    }
    size_t bytes = memplan_place(p->spans, room, p->n_spans, &visited);
    for (uint32_t i = 0; i < p->n_spans; i++)
        l->slots[of[i]].offset = p->state_bytes + p->spans[i].offset;
    p->mem_bytes = pointers_place(p, p->state_bytes + bytes);
    if (p->mem_bytes > l->bytes_max)
        return block_refuse(l);
    TRY(moving_pointers_collect(l));
    for (uint32_t i = 0; i < l->n_operands; i++)
        operand_resolve(l, l->operands[i]);
    return RILL_OK;
}

static rill_status constants_list(struct lower *l)
{
    struct plan *p = l->p;
    p->constants = arena_array(&p->arena, struct plan_constant, l->n_slots + 1);
    if (!p->constants)
        return lower_no_memory(l);
    for (uint32_t i = 0; i < l->n_slots; i++) {
        const struct slot *s = &l->slots[i];
        if (s->constant)
            p->constants[p->n_constants++] =
                (struct plan_constant) { s->constant, s->is_read, s->is_packed };
    }
    return RILL_OK;
}

static rill_status plan_build(struct lower *l, const struct graph *g)
{
    struct scope f;
    struct steps list = { 0 };
    uint32_t *in = arena_array(&l->work, uint32_t, g->n_inputs + 1),
             *out = arena_array(&l->work, uint32_t, g->n_outputs + 1);
    if (!in || !out)
        return lower_no_memory(l);
    TRY(graph_check_bodies(g, NULL, NULL, l->err)); /* sizes are taken from both sides of a slot */
    TRY(scope_init(l, &f, g));
    TRY(states_begin(l, &f));
    TRY(inputs_begin(l, &f, in));
    l->time = 1;
    l->top = g;
    TRY(graph_lower(l, &f, &list));
    shares_settle(l, &list);
    struct steps all = { 0 };
    TRY(steps_init(l, &all, list.n + 3));
    if (list.n)
        memcpy(all.s, list.s, list.n * sizeof *list.s);
    all.n = list.n;
    TRY(outputs_end(l, &f, out, &all));
    TRY(states_end(l, &f, &all));
    TRY(layout(l));
    l->p->steps = all.s;
    l->p->n_steps = all.n;
    l->p->n_inputs = g->n_inputs;
    l->p->n_outputs = g->n_outputs;
    TRY(ports_set(l, &f, g->inputs, in, g->n_inputs, &l->p->inputs));
    TRY(ports_set(l, &f, g->outputs, out, g->n_outputs, &l->p->outputs));
    return constants_list(l);
}

#define OWN_BYTES ((size_t) 64 << 20) /* that a plan keeps of a small graph, and */
#define OWN_TIMES 8                   /* times its constants as floats: as kernels want them */

static size_t floats_bytes(const struct graph *g)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < g->n_wires; i++)
        if (g->wires[i].fact.value)
            bytes += (size_t) tensor_count(g->wires[i].fact.value) * sizeof(float);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            bytes += floats_bytes(g->nodes[i].body[b]);
    return bytes;
}

/* What a plan may keep: weights, and tables about as large as the tensors that they are for. */
static size_t own_bytes_max(const struct graph *g, const struct plan_opts *opts, size_t bytes_max)
{
    const size_t own = OWN_BYTES + OWN_TIMES * floats_bytes(g);
    if (opts && opts->own_bytes_max)
        return opts->own_bytes_max;
    return bytes_max < SIZE_MAX - own ? bytes_max + own : SIZE_MAX;
}

/* Weights beyond the caches near a core are read page by page in every run. */
#define LARGE_PAGES_FROM ((size_t) 3 << 20)

static bool weights_are_large(const struct graph *g)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < g->n_wires && bytes < LARGE_PAGES_FROM; i++)
        if (g->wires[i].fact.value)
            bytes += tensor_bytes(g->wires[i].fact.value);
    return bytes >= LARGE_PAGES_FROM;
}

/* Weights that were packed before are taken as they lie: without outliers all kernels of a set read
 * them. */
static rill_status packs_begin(struct plan *p, const struct plan_opts *opts, rill_error *reterr)
{
    p->packs = (struct packs) { .arena = &p->arena, .shared = opts ? opts->shared : NULL };
    if (!opts || !opts->packs)
        return RILL_OK;
    p->packs.ready = opts->packs;
    p->packs.n_ready = opts->n_packs;
    if (opts->packs_have_outliers && !p->kern.q8_outliers)
        return err_set(
            reterr, RILL_UNSUPPORTED,
            "was compiled for 8-bit products that lay outliers apart, those of %s here do "
            "not; compile it again on this machine with: rill compile MODEL -o FILE.rill",
            p->kern.isa_q8);
    p->kern.q8_outliers = opts->packs_have_outliers;
    return RILL_OK;
}

rill_status plan_from_sgraph(struct plan **ret, const struct sgraph *s,
                             const struct plan_opts *opts, rill_error *reterr)
{
    const struct graph *g = &s->g;
    struct plan *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(reterr, RILL_NOMEM, "out of memory while planning");
    kern_init(&p->kern, opts ? opts->cpu : kern_cpu_detect());
    struct lower l = { .p = p,
                       .graph_lower = graph_lower,
                       .loop_made = opts ? opts->loop_made : NULL,
                       .crew = opts ? opts->crew : NULL,
                       .share_effort = opts ? opts->share_effort : 0,
                       .bytes_max =
                           opts && opts->mem_bytes_max ? opts->mem_bytes_max : MEM_BYTES_MAX,
                       .err = reterr };
    if (l.crew)
        l.shares_most = opts->shares_most && opts->shares_most < crew_threads(l.crew)
            ? opts->shares_most
            : crew_threads(l.crew);
    p->arena.limit_bytes = own_bytes_max(g, opts, l.bytes_max);
    p->arena.large_pages = !(opts && (opts->packs || opts->shared)) && weights_are_large(g);
    rill_status status = packs_begin(p, opts, reterr);
    if (status == RILL_OK)
        status = plan_build(&l, g);
    arena_drop(&l.work);
    if (p->packs.misfit || (status == RILL_OK && p->packs.ready && p->packs.n != p->packs.n_ready))
        status = err_set(reterr, RILL_MALFORMED,
                         "the packed weights are not those that the graph needs");
    if (p->packs.shared)
        pack_store_end(p->packs.shared, status == RILL_OK);
    if (status != RILL_OK) {
        plan_free(p);
        return status;
    }
#ifdef __SANITIZE_ADDRESS__ /* so that a step that calls others than it said is found */
    kern_keep(&p->kern, p->kern_uses);
#endif
    p->weights_bytes -= l.spared_bytes < p->weights_bytes ? l.spared_bytes : 0;
    *ret = p;
    return RILL_OK;
}

struct plan *plan_free(struct plan *p)
{
    if (p)
        arena_drop(&p->arena);
    free(p);
    return NULL;
}

void plan_reset(const struct plan *p, unsigned char *mem)
{
    memset(mem, 0, p->state_bytes);
    memset(mem + p->bound_offset, 0, sizeof(void *));
    memset(mem + p->fault_offset, 0, sizeof(struct fault));
    plan_alone(p, mem, false);
    for (uint32_t i = 0; i < p->n_states; i++)
        if (p->states[i].init)
            memcpy(mem + p->states[i].offset, p->states[i].init->data,
                   tensor_bytes(&p->states[i].shape));
}
