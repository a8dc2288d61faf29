/* SPDX-License-Identifier: MIT */
/* The operands of a loop's body: slices are read and written where they lie in the whole, and
 * states need no copy from iteration to iteration. All is decided once the body is lowered, by
 * giving its slots another root. */
#include "engine/plan/lower.h"

static struct slot *slot_of(struct lower *l, uint32_t slot)
{
    return &l->slots[slot];
}

static bool slot_moves(const struct lower *l, uint32_t slot)
{
    for (; !l->slots[slot].loop && l->slots[slot].root != slot;)
        slot = l->slots[slot].root;
    return l->slots[slot].loop != NULL;
}

/* Steps with bodies note places, not pointers. */
static bool read_by_control(const struct lower *l, const struct loop_slots *s, uint32_t root)
{
    const struct graph *g = s->body->g;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0;
             (g->nodes[i].op->flags & OP_CONTROL) && k < g->nodes[i].n_in + g->nodes[i].n_out;
             k++) {
            const struct node *n = &g->nodes[i];
            uint32_t w = k < n->n_in ? n->in[k] : n->out[k - n->n_in];
            if (w != WIRE_NONE && s->body->slot[w] != WIRE_NONE &&
                slot_root(l, s->body->slot[w]) == root)
                return true;
        }
    return false;
}

/* How many outputs of the body lie in that slot. */
static unsigned outputs_in(const struct lower *l, const struct loop_slots *s, uint32_t root)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < s->body->g->n_outputs; i++)
        n += slot_root(l, s->out[i]) == root;
    return n;
}

static void slot_move(struct lower *l, uint32_t slot, uint32_t root, size_t shift,
                      struct loop_step *step, ptrdiff_t stride, uint64_t mask)
{
    struct slot *s = slot_of(l, slot);
    s->root = root;
    s->shift_bytes = shift;
    s->loop = step;
    s->stride_bytes = stride;
    s->mask = mask;
}

/* Bytes from the start of the whole to the slice of iteration 0, and from one to the next. */
static size_t slice_first(const struct slice_copy *c, int64_t length)
{
    return c->reverse && length > 0 ? (size_t) (length - 1) * c->inner : 0;
}

static ptrdiff_t slice_stride(const struct slice_copy *c)
{
    return c->reverse ? -(ptrdiff_t) c->inner : (ptrdiff_t) c->inner;
}

/* ---- slices that come in ---- */

static void slices_in_move(struct lower *l, const struct loop_slots *s, struct loop_step *step)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < step->n_in; i++) {
        struct slice_copy *c = step->in[i];
        uint32_t slice = c->slice.slot, whole = c->whole.slot;
        if (c->outer == 1 && !slot_moves(l, whole) && !read_by_control(l, s, slice) &&
            !outputs_in(l, s, slice))
            slot_move(l, slice, whole, slice_first(c, step->length), step, slice_stride(c),
                      UINT64_MAX);
        else
            step->in[kept++] = c;
    }
    step->n_in = kept;
}

/* ---- states ---- */

/* The slot that holds state k's next value and nothing else that leaves the body but `others`
 * outputs; WIRE_NONE: it may not lie elsewhere. */
static uint32_t next_alone(const struct lower *l, const struct loop_slots *s, uint32_t k,
                           unsigned others)
{
    uint32_t from = s->state_out[k], root = slot_root(l, from), mine = s->state_in[k];
    const struct slot *r = &l->slots[root];
    bool ours = root >= s->first_slot && !r->constant && !r->persistent && !slot_moves(l, from) &&
        !slot_shift(l, from);
    bool fits = ours && r->bytes == s->state_bytes[k] && r->bytes && !read_by_control(l, s, root) &&
        outputs_in(l, s, root) == 1 + others;
    return fits && !read_by_control(l, s, mine) && !outputs_in(l, s, mine) ? root : WIRE_NONE;
}

static rill_status shifted(struct lower *l, uint32_t of, size_t shift, uint32_t *ret)
{
    TRY(slot_new(l, 0, ret));
    slot_of(l, *ret)->root = of;
    slot_of(l, *ret)->shift_bytes = shift;
    return RILL_OK;
}

/* A next state that is written only after the old one was last read is written in its place; else
 * the two lie side by side and change places with every iteration. */
static rill_status state_move(struct lower *l, const struct loop_slots *s, struct loop_step *step,
                              uint32_t k)
{
    uint32_t root = next_alone(l, s, k, 0), mine = s->state_in[k];
    size_t room =
        (s->state_bytes[k] + MEMPLAN_ALIGN_BYTES - 1) & ~(size_t) (MEMPLAN_ALIGN_BYTES - 1);
    if (root == WIRE_NONE)
        return RILL_OK;
    s->moved[k] = true;
    s->last[k] = mine;
    if (slot_of(l, root)->first > slot_of(l, mine)->last) {
        slot_of(l, root)->root = mine;
        return RILL_OK;
    }
    uint32_t both;
    TRY(slot_new(l, 2 * room, &both));
    TRY(shifted(l, both, step->length & 1 ? room : 0, &s->last[k]));
    slot_move(l, mine, both, 0, step, (ptrdiff_t) room, 1);
    slot_move(l, root, both, room, step, -(ptrdiff_t) room, 1);
    return RILL_OK;
}

/* ---- slices that go out ---- */

/* The state whose next value lies in that slot. */
static uint32_t state_in_slot(const struct lower *l, const struct loop_slots *s, uint32_t root)
{
    for (uint32_t k = 0; k < s->n_states; k++)
        if (!s->moved[k] && slot_root(l, s->state_out[k]) == root)
            return k;
    return WIRE_NONE;
}

/* State k is what the last iteration wrote into the whole. */
static rill_status state_follows(struct lower *l, const struct loop_slots *s,
                                 struct loop_step *step, uint32_t k, const struct slice_copy *c)
{
    uint32_t mine = s->state_in[k], whole = c->whole.slot;
    size_t first = slice_first(c, step->length);
    ptrdiff_t stride = slice_stride(c);
    s->moved[k] = true;
    TRY(shifted(l, whole, c->reverse ? 0 : (size_t) (step->length - 1) * c->inner, &s->last[k]));
    slot_move(l, mine, whole, first - (size_t) stride, step, stride, UINT64_MAX);
    slot_of(l, mine)->before = s->init[k];
    return RILL_OK;
}

static bool slice_out_fits(const struct lower *l, const struct loop_slots *s,
                           const struct slice_copy *c)
{
    uint32_t slice = c->slice.slot, root = slot_root(l, slice);
    const struct slot *r = &l->slots[root];
    return c->outer == 1 && root >= s->first_slot && !r->constant && !r->persistent &&
        !slot_moves(l, slice) && !slot_shift(l, slice) && r->bytes == c->inner &&
        !slot_moves(l, c->whole.slot) && !read_by_control(l, s, root);
}

static rill_status slices_out_move(struct lower *l, const struct loop_slots *s,
                                   struct loop_step *step)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < step->n_out; i++) {
        struct slice_copy *c = step->out[i];
        uint32_t root = slot_root(l, c->slice.slot), k = state_in_slot(l, s, root);
        bool follows = k != WIRE_NONE && next_alone(l, s, k, 1) == root && step->length > 0 &&
            !slot_moves(l, s->init[k]);
        if (!slice_out_fits(l, s, c) || !(follows || outputs_in(l, s, root) == 1)) {
            step->out[kept++] = c;
            continue;
        }
        if (follows)
            TRY(state_follows(l, s, step, k, c));
        slot_move(l, root, c->whole.slot, slice_first(c, step->length), step, slice_stride(c),
                  UINT64_MAX);
    }
    step->n_out = kept;
    return RILL_OK;
}

rill_status loop_slots_move(struct lower *l, const struct loop_slots *s, struct loop_step *step)
{
    slices_in_move(l, s, step);
    TRY(slices_out_move(l, s, step));
    for (uint32_t k = 0; k < s->n_states; k++)
        if (!s->moved[k])
            TRY(state_move(l, s, step, k));
    return RILL_OK;
}

/* ---- pointers that move ---- */

/* The moving slot between `slot` and its root; WIRE_NONE: there is none. */
static uint32_t moving_slot(const struct lower *l, uint32_t slot)
{
    if (slot == WIRE_NONE)
        return WIRE_NONE;
    for (; !l->slots[slot].loop; slot = l->slots[slot].root)
        if (l->slots[slot].root == slot)
            return WIRE_NONE;
    return slot;
}

/* Bytes from the start of the moving slot. */
static size_t shift_below(const struct lower *l, uint32_t slot, uint32_t moving)
{
    size_t bytes = 0;
    for (; slot != moving; slot = l->slots[slot].root)
        bytes += l->slots[slot].shift_bytes;
    return bytes;
}

static rill_status moving_pointer_add(struct lower *l, const struct node_step *n, unsigned pointer,
                                      uint32_t slot, uint32_t moving)
{
    const struct slot from = l->slots[moving];
    struct moving_pointer *m = &from.loop->moving[from.loop->n_moving++];
    *m = (struct moving_pointer) { .pointer_offset = n->lists_offset + pointer * sizeof(void *),
                                   .stride_bytes = from.stride_bytes,
                                   .mask = from.mask,
                                   .has_first = from.before != WIRE_NONE };
    TRY(operand_set(l, &m->at, slot));
    if (!m->has_first)
        return RILL_OK;
    uint32_t first;
    TRY(shifted(l, from.before, shift_below(l, slot, moving), &first));
    return operand_set(l, &m->first, first);
}

static uint32_t operand_slot(const struct node_step *n, unsigned pointer)
{
    return pointer < n->eval.n_in ? n->in[pointer].slot : n->out[pointer - n->eval.n_in].slot;
}

rill_status moving_pointers_collect(struct lower *l)
{
    for (int fill = 0; fill < 2; fill++)
        for (const struct node_step *n = l->p->node_steps; n; n = n->next)
            for (unsigned i = 0; i < n->eval.n_in + n->eval.n_out; i++) {
                uint32_t slot = operand_slot(n, i), moving = moving_slot(l, slot);
                if (moving == WIRE_NONE)
                    continue;
                struct loop_step *step = l->slots[moving].loop;
                if (fill && !step->moving) {
                    step->moving = arena_array(&l->p->arena, struct moving_pointer, step->n_moving);
                    step->n_moving = 0;
                    if (!step->moving)
                        return lower_no_memory(l);
                }
                if (fill)
                    TRY(moving_pointer_add(l, n, i, slot, moving));
                else
                    step->n_moving++;
            }
    return RILL_OK;
}
