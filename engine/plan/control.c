/* SPDX-License-Identifier: MIT */
/* Lowers nodes with bodies: steps of the body, and what a loop does between two iterations. */
#include "engine/graph/control.h"
#include "engine/plan/lower.h"

#include <string.h>

/* ---- pieces that Scan and Loop share ---- */

/* A slice of `axis` of a whole tensor; the slice lacks the axis. */
static rill_status slice_set(struct lower *l, struct slice_copy *c, const struct tensor *whole,
                             int axis, uint32_t whole_slot, uint32_t slice_slot)
{
    c->outer = 1;
    c->inner = dtype_bytes(whole->type);
    for (int i = 0; i < axis; i++)
        c->outer *= (size_t) whole->dim[i];
    for (int i = axis + 1; i < whole->rank; i++)
        c->inner *= (size_t) whole->dim[i];
    c->stride = c->inner * (size_t) whole->dim[axis];
    c->axis = axis;
    TRY(operand_set(l, &c->whole, whole_slot));
    return operand_set(l, &c->slice, slice_slot);
}

static rill_status slices_init(struct lower *l, struct slice_copy ***ret, size_t n)
{
    struct slice_copy *all = arena_array(&l->p->arena, struct slice_copy, n + 1);
    *ret = arena_array(&l->p->arena, struct slice_copy *, n + 1);
    for (size_t i = 0; all && *ret && i < n; i++)
        (*ret)[i] = &all[i];
    return all && *ret ? RILL_OK : lower_no_memory(l);
}

/* Everything that a body reads from outside or hands from iteration to iteration lives through all
 * of it. */
static void slots_span(struct lower *l, const uint32_t *slots, uint32_t n, uint32_t from,
                       uint32_t to)
{
    for (uint32_t i = 0; i < n; i++)
        if (slots[i] != WIRE_NONE) {
            slot_use(l, slots[i], from);
            slot_use(l, slots[i], to);
        }
}

struct loop_lowering {
    const struct node *n;
    const struct graph *body;
    struct scope *outer, inner;
    struct loop_step *step;
    uint32_t n_states,
        first_state; /* states are body inputs first_state.. and body outputs out_state.. */
    uint32_t out_state;
    uint32_t *body_in, *body_out; /* slots */
    size_t *state_bytes;
    uint32_t *init;      /* slots of the states' first values */
    bool *moved;         /* states that need no copy from iteration to iteration */
    uint32_t *last;      /* slots of their last values */
    uint32_t begin;      /* time */
    uint32_t first_slot; /* of the body */
    bool open;           /* data says how many iterations */
};

static rill_status states_start(struct lower *l, struct loop_lowering *w, unsigned first_in)
{
    for (uint32_t i = 0; i < w->n_states; i++) {
        TRY(wire_slot(l, w->outer, w->n->in[first_in + i], &w->init[i]));
        TRY(wire_bytes(l, w->body, w->body->inputs[w->first_state + i], &w->state_bytes[i]));
        TRY(slot_new(l, w->state_bytes[i], &w->body_in[w->first_state + i]));
    }
    return RILL_OK;
}

static rill_status captures_start(struct lower *l, struct loop_lowering *w, unsigned first_in,
                                  unsigned first_body)
{
    for (unsigned i = first_in; i < w->n->n_in; i++)
        TRY(wire_slot(l, w->outer, w->n->in[i], &w->body_in[first_body + i - first_in]));
    return RILL_OK;
}

static rill_status body_lower(struct lower *l, struct loop_lowering *w)
{
    for (uint32_t i = 0; i < w->body->n_inputs; i++)
        w->inner.slot[w->body->inputs[i]] = w->body_in[i];
    w->first_slot = l->n_slots;
    TRY(l->graph_lower(l, &w->inner, &w->step->body));
    for (uint32_t i = 0; i < w->body->n_outputs; i++)
        TRY(wire_slot(l, &w->inner, w->body->outputs[i], &w->body_out[i]));
    return l->loop_made ? l->loop_made(l, &w->inner, w->step, w->begin) : RILL_OK;
}

/* Stacked outputs: body output first_body + i goes to node output first_out + i. */
static rill_status stacks_set(struct lower *l, struct loop_lowering *w, unsigned first_out,
                              unsigned first_body, const struct scan_attr *at)
{
    TRY(slices_init(l, &w->step->out, w->n->n_out));
    for (unsigned i = first_out; i < w->n->n_out; i++) {
        if (w->n->out[i] == WIRE_NONE)
            continue;
        struct tensor whole;
        uint32_t slot;
        unsigned k = i - first_out;
        TRY(wire_slot(l, w->outer, w->n->out[i], &slot));
        fact_to_tensor(&w->outer->g->wires[w->n->out[i]].fact, &whole);
        struct slice_copy *c = w->step->out[w->step->n_out++];
        c->reverse = at && scan_is_reverse(at->out_reverse, k);
        c->fact = &w->outer->g->wires[w->n->out[i]].fact;
        TRY(slice_set(l, c, &whole, at ? scan_axis(at->out_axes, k, whole.rank) : 0, slot,
                      w->body_out[first_body + k]));
        slots_span(l, &slot, 1, w->begin, l->time);
    }
    return RILL_OK;
}

static rill_status loop_begin(struct lower *l, struct loop_lowering *w, struct scope *f,
                              const struct node *n)
{
    w->n = n;
    w->outer = f;
    w->body = n->body[0];
    w->begin = l->time++;
    w->step = arena_new(&l->p->arena, struct loop_step);
    w->body_in = arena_array(&l->work, uint32_t, w->body->n_inputs + 1);
    w->body_out = arena_array(&l->work, uint32_t, w->body->n_outputs + 1);
    w->state_bytes = arena_array(&l->work, size_t, w->body->n_inputs + 1);
    w->init = arena_array(&l->work, uint32_t, w->body->n_inputs + 1);
    w->moved = arena_array(&l->work, bool, w->body->n_inputs + 1);
    w->last = arena_array(&l->work, uint32_t, w->body->n_inputs + 1);
    if (!w->step || !w->body_in || !w->body_out || !w->state_bytes || !w->init || !w->moved ||
        !w->last)
        return lower_no_memory(l);
    return scope_init(l, &w->inner, w->body);
}

/* States that are copied from iteration to iteration. */
static rill_status states_copied(struct lower *l, struct loop_lowering *w)
{
    uint32_t *to = arena_array(&l->work, uint32_t, w->n_states + 1),
             *from = arena_array(&l->work, uint32_t, w->n_states + 1);
    size_t *bytes = arena_array(&l->work, size_t, w->n_states + 1);
    uint32_t n = 0;
    if (!to || !from || !bytes)
        return lower_no_memory(l);
    for (uint32_t i = 0; i < w->n_states; i++) {
        if (w->moved[i])
            continue;
        to[n] = w->body_in[w->first_state + i];
        from[n] = w->body_out[w->out_state + i];
        bytes[n++] = w->state_bytes[i];
    }
    return states_update(l, to, from, bytes, n, &w->step->stage, &w->step->next);
}

/* States get their first values at w->begin and give their last ones now. */
static rill_status loop_states_copy(struct lower *l, struct loop_lowering *w)
{
    uint32_t now = l->time;
    TRY(copies_init(l, &w->step->start, w->n_states));
    TRY(copies_init(l, &w->step->finish, w->n_states));
    for (uint32_t i = 0; i < w->n_states; i++) {
        uint32_t mine = w->body_in[w->first_state + i], out;
        slots_span(l, &w->init[i], 1, w->begin, now);
        l->time = w->begin;
        if (l->slots[mine].before == WIRE_NONE)
            TRY(copy_add(l, &w->step->start, w->init[i], mine, w->state_bytes[i]));
        l->time = now;
        if (w->n->out[i] == WIRE_NONE)
            continue;
        TRY(wire_slot(l, w->outer, w->n->out[i], &out));
        TRY(copy_add(l, &w->step->finish, w->moved[i] ? w->last[i] : mine, out, w->state_bytes[i]));
    }
    return RILL_OK;
}

static rill_status loop_end(struct lower *l, struct loop_lowering *w, struct steps *list)
{
    const struct loop_slots slots = {
        .body = &w->inner,
        .first_slot = w->first_slot,
        .in = w->body_in,
        .out = w->body_out,
        .init = w->init,
        .state_in = w->body_in + w->first_state,
        .state_out = w->body_out + w->out_state,
        .state_bytes = w->state_bytes,
        .moved = w->moved,
        .last = w->last,
        .n_states = w->n_states,
    };
    if (!l->loop_made && !w->open)
        TRY(loop_slots_move(l, &slots, w->step));
    TRY(states_copied(l, w));
    l->time++;
    TRY(loop_states_copy(l, w));
    slots_span(l, w->body_in, w->body->n_inputs, w->begin, l->time);
    for (uint32_t i = 0; i < w->body->n_outputs; i++)
        slot_use(l, w->body_out[i], l->time);
    return step_add(l, list, w->open ? open_loop_step_run : loop_step_run, w->step, w->n->name,
                    w->n->op->name);
}

/* ---- Scan ---- */

static rill_status scan_slices(struct lower *l, struct loop_lowering *w, const struct scan_attr *at,
                               uint32_t *wholes)
{
    TRY(slices_init(l, &w->step->in, (size_t) at->n_scanned));
    for (unsigned k = 0; k < at->n_scanned; k++) {
        unsigned i = w->n_states + k;
        struct tensor whole;
        size_t bytes;
        TRY(wire_slot(l, w->outer, w->n->in[i], &wholes[k]));
        TRY(wire_bytes(l, w->body, w->body->inputs[i], &bytes));
        TRY(slot_new(l, bytes, &w->body_in[i]));
        fact_to_tensor(&w->outer->g->wires[w->n->in[i]].fact, &whole);
        int axis = scan_axis(at->in_axes, k, whole.rank);
        w->step->length = whole.dim[axis];
        struct slice_copy *c = w->step->in[w->step->n_in++];
        c->fact = &w->outer->g->wires[w->n->in[i]].fact;
        c->reverse = scan_is_reverse(at->in_reverse, k);
        TRY(slice_set(l, c, &whole, axis, wholes[k], w->body_in[i]));
    }
    return RILL_OK;
}

static rill_status scan_lower(struct lower *l, struct scope *f, const struct node *n,
                              struct steps *list)
{
    const struct scan_attr *at = n->attr;
    struct loop_lowering w = { .n_states = (uint32_t) at->n_states };
    uint32_t *wholes = arena_array(&l->work, uint32_t, (size_t) at->n_scanned + 1);
    TRY(loop_begin(l, &w, f, n));
    if (!wholes)
        return lower_no_memory(l);
    TRY(states_start(l, &w, 0));
    TRY(scan_slices(l, &w, at, wholes));
    unsigned fixed = (unsigned) (at->n_states + at->n_scanned);
    TRY(captures_start(l, &w, fixed, fixed));
    TRY(body_lower(l, &w));
    TRY(stacks_set(l, &w, w.n_states, w.n_states, at));
    slots_span(l, wholes, (uint32_t) at->n_scanned, w.begin, l->time + 1);
    return loop_end(l, &w, list);
}

/* ---- Loop ---- */

static bool body_goes_on(const struct graph *body)
{
    uint32_t w = body->outputs[0];
    const struct tensor *v = body->wires[w].fact.value;
    return w == body->inputs[1] || (v && tensor_get_i64(v, v->data, 0));
}

static rill_status loop_condition(struct lower *l, struct loop_lowering *w)
{
    uint8_t *yes = arena_new(&l->p->arena, uint8_t);
    if (!yes)
        return lower_no_memory(l);
    *yes = 1;
    return slot_constant(l, yes, 1, &w->body_in[1]);
}

static rill_status loop_counter(struct lower *l, struct loop_lowering *w)
{
    int64_t n = w->step->length, *count = arena_array(&l->p->arena, int64_t, (size_t) n + 1);
    struct tensor whole = { .type = DTYPE_I64, .rank = 1, .dim = { n } };
    uint32_t slot;
    if (!count)
        return lower_no_memory(l);
    for (int64_t i = 0; i < n; i++)
        count[i] = i;
    TRY(slot_constant(l, count, (size_t) n * sizeof *count, &slot));
    TRY(slot_new(l, sizeof *count, &w->body_in[0]));
    TRY(slices_init(l, &w->step->in, 1));
    w->step->n_in = 1;
    return slice_set(l, w->step->in[0], &whole, 0, slot, w->body_in[0]);
}

static bool stacks_any(const struct node *n, uint32_t n_states)
{
    for (unsigned i = n_states; i < n->n_out; i++)
        if (n->out[i] != WIRE_NONE)
            return true;
    return false;
}

/* What an open loop reads before its first iteration. */
static rill_status open_loop_begin(struct lower *l, struct loop_lowering *w,
                                   struct open_loop_step *s)
{
    uint32_t trips, starts;
    TRY(wire_slot(l, w->outer, w->n->in[0], &trips));
    TRY(wire_slot(l, w->outer, w->n->in[1], &starts));
    slots_span(l, (uint32_t[]) { trips, starts }, 2, w->begin, w->begin);
    TRY(operand_set(l, &s->trips, trips));
    TRY(operand_set(l, &s->starts, starts));
    TRY(slot_new(l, sizeof(int64_t), &w->body_in[0]));
    TRY(operand_set(l, &s->count, w->body_in[0]));
    return loop_condition(l, w);
}

/* Data says how often: states are copied, since where the last one lies would depend on that. */
static rill_status open_loop_lower(struct lower *l, struct loop_lowering *w, struct scope *f,
                                   const struct node *n, struct steps *list)
{
    struct open_loop_step *s = arena_new(&l->p->arena, struct open_loop_step);
    if (!s)
        return lower_no_memory(l);
    if (stacks_any(n, w->n_states))
        return op_fail(l->err, RILL_UNSUPPORTED, n,
                       "the number of iterations depends on data, and so does the size of what "
                       "it stacks; a plan of fixed sizes needs a constant trip count and no "
                       "condition for that");
    TRY(loop_begin(l, w, f, n));
    w->step = &s->loop;
    s->node = n;
    s->next = l->p->open_loops;
    l->p->open_loops = s;
    TRY(open_loop_begin(l, w, s));
    TRY(states_start(l, w, 2));
    TRY(captures_start(l, w, 2 + w->n_states, 2 + w->n_states));
    TRY(body_lower(l, w));
    TRY(operand_set(l, &s->goes_on, w->body_out[0]));
    return loop_end(l, w, list);
}

static rill_status loop_lower(struct lower *l, struct scope *f, const struct node *n,
                              struct steps *list)
{
    const struct loop_attr *at = n->attr;
    const struct tensor *trips = node_value(f->g, n, 0), *cond = node_value(f->g, n, 1);
    bool starts = n->in[1] == WIRE_NONE || (cond && tensor_get_i64(cond, cond->data, 0));
    struct loop_lowering w = { .n_states = (uint32_t) at->n_states,
                               .first_state = 2,
                               .out_state = 1 };
    if (!trips || !starts || !body_goes_on(n->body[0])) {
        w.open = true;
        return open_loop_lower(l, &w, f, n, list);
    }
    TRY(loop_begin(l, &w, f, n));
    w.step->length = tensor_get_i64(trips, trips->data, 0);
    if (w.step->length < 0 || w.step->length > LOOP_TRIPS_MAX)
        return op_fail(l->err, RILL_LIMIT, n, "%lld iterations; at most %d",
                       (long long) w.step->length, LOOP_TRIPS_MAX);
    TRY(loop_condition(l, &w));
    TRY(loop_counter(l, &w));
    TRY(states_start(l, &w, 2));
    TRY(captures_start(l, &w, 2 + w.n_states, 2 + w.n_states));
    TRY(body_lower(l, &w));
    TRY(stacks_set(l, &w, w.n_states, 1 + w.n_states, NULL));
    return loop_end(l, &w, list);
}

/* ---- If ---- */

struct if_lowering {
    const struct node *n;
    struct scope *outer;
    struct if_step *step;
    uint32_t *kept; /* of each output: the capture that is its old value; WIRE_NONE: none */
    uint32_t n_kept, begin[2]; /* begin: time */
};

/* The capture that branch b gives back as output i; WIRE_NONE: it gives something else. */
static uint32_t given_back(const struct node *n, int b, unsigned i)
{
    const struct graph *g = n->body[b];
    for (uint32_t k = 0; k < g->n_inputs; k++)
        if (g->inputs[k] == g->outputs[i])
            return k;
    return WIRE_NONE;
}

/* A state that one branch leaves as it is, and that nothing reads behind the If, stays where it
 * lies: that branch does nothing for it, the other one writes its next value there. */
static rill_status states_keep(struct lower *l, struct if_lowering *w)
{
    const struct node *n = w->n;
    const uint32_t number = (uint32_t) (n - w->outer->g->nodes);
    for (unsigned i = 0; i < n->n_out; i++) {
        uint32_t k[2] = { given_back(n, 0, i), given_back(n, 1, i) }, from, to;
        uint32_t kept = k[0] != WIRE_NONE ? k[0] : k[1];
        w->kept[i] = WIRE_NONE;
        if (n->out[i] == WIRE_NONE || kept == WIRE_NONE ||
            w->outer->next[n->in[1 + kept]] != n->out[i] ||
            w->outer->last[n->in[1 + kept]] != number)
            continue;
        TRY(wire_slot(l, w->outer, n->in[1 + kept], &from));
        TRY(wire_slot(l, w->outer, n->out[i], &to));
        if (l->slots[from].part || slot_shift(l, from) || l->slots[to].root != to ||
            l->slots[slot_root(l, from)].bytes != l->slots[to].bytes)
            continue;
        l->slots[to].root = from;
        w->kept[i] = kept;
        w->n_kept++;
    }
    return RILL_OK;
}

/* Outputs that lie in a state's place are written last, when all that reads the old ones is done.
 */
static rill_status branch_outputs(struct lower *l, struct if_lowering *w, struct scope *inner,
                                  int b)
{
    const struct node *n = w->n;
    const uint32_t begin = w->begin[b];
    struct copies *list = &w->step->out[b];
    uint32_t *to = arena_array(&l->work, uint32_t, w->n_kept + 1),
             *from = arena_array(&l->work, uint32_t, w->n_kept + 1), kept = 0;
    size_t *bytes = arena_array(&l->work, size_t, w->n_kept + 1);
    if (!to || !from || !bytes)
        return lower_no_memory(l);
    TRY(copies_init(l, list, n->n_out));
    for (unsigned i = 0; i < n->n_out; i++) {
        uint32_t source, place;
        size_t size;
        if (n->out[i] == WIRE_NONE)
            continue;
        TRY(wire_slot(l, inner, n->body[b]->outputs[i], &source));
        TRY(wire_slot(l, w->outer, n->out[i], &place));
        TRY(wire_bytes(l, w->outer->g, n->out[i], &size));
        if (w->kept[i] == WIRE_NONE) {
            slot_use(l, source, l->time);
            TRY(copy_add(l, list, source, place, size));
            continue;
        }
        to[kept] = place;
        from[kept] = source;
        bytes[kept++] = size;
    }
    for (uint32_t i = 0; i < kept; i++) /* an old state that is another one's next value */
        if (slot_root(l, from[i]) != slot_root(l, to[i]))
            slot_use(l, from[i], l->time);
    for (uint32_t i = 0; i < kept; i++)
        if (!is_another_state(l, to, kept, i, from[i]) &&
            l->slots[slot_root(l, from[i])].first >= begin) /* made in this branch */
            state_merge(l, to[i], from[i]);
    return states_update(l, to, from, bytes, kept, &w->step->stage[b], &w->step->next[b]);
}

static rill_status branch_lower(struct lower *l, struct if_lowering *w, int b)
{
    const struct graph *body = w->n->body[b];
    struct scope inner;
    TRY(scope_init(l, &inner, body));
    w->begin[b] = l->time;
    for (uint32_t i = 0; i < body->n_inputs; i++)
        TRY(wire_slot(l, w->outer, w->n->in[1 + i], &inner.slot[body->inputs[i]]));
    for (unsigned i = 0; i < w->n->n_out; i++)
        if (w->kept[i] != WIRE_NONE)
            inner.next[body->inputs[w->kept[i]]] = body->outputs[i];
    TRY(l->graph_lower(l, &inner, &w->step->body[b]));
    TRY(branch_outputs(l, w, &inner, b));
    l->time++;
    return RILL_OK;
}

static rill_status if_lower(struct lower *l, struct scope *f, const struct node *n,
                            struct steps *list)
{
    struct if_lowering w = { .n = n, .outer = f, .step = arena_new(&l->p->arena, struct if_step) };
    uint32_t cond;
    w.kept = arena_array(&l->work, uint32_t, n->n_out + 1);
    if (!w.step || !w.kept)
        return lower_no_memory(l);
    TRY(wire_slot(l, f, n->in[0], &cond));
    slot_use(l, cond, l->time++);
    TRY(operand_set(l, &w.step->cond, cond));
    TRY(states_keep(l, &w));
    for (int b = 0; b < 2; b++)
        TRY(branch_lower(l, &w, b));
    return step_add(l, list, if_step_run, w.step, n->name, n->op->name);
}

rill_status control_lower(struct lower *l, struct scope *f, const struct node *n,
                          struct steps *list)
{
    if (n->op == &op_scan)
        return scan_lower(l, f, n, list);
    return n->op == &op_loop ? loop_lower(l, f, n, list) : if_lower(l, f, n, list);
}
