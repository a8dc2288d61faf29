/* SPDX-License-Identifier: MIT */
#include "check/slow.h"
#include "engine/plan/lower.h"

struct slow_place {
    uint32_t wire;
    union operand at;
};

struct slow_step {
    const struct node_step *node;
    const struct graph *g;
    const struct slow_place *places; /* of all wires of the body that have one */
    uint32_t n_places;
    union operand room; /* shapes and pointers */
};

static void *slow_find(const struct slow_step *s, uint32_t wire, unsigned char *mem)
{
    for (uint32_t i = 0; i < s->n_places; i++)
        if (s->places[i].wire == wire) {
            const struct place *at = &s->places[i].at.at;
            return at->constant ? (void *) (uintptr_t) at->constant : mem + at->offset;
        }
    return NULL;
}

static void slow_operand(const struct slow_step *s, uint32_t wire, const struct tensor *known,
                         unsigned char *mem, struct tensor *shape, const struct tensor **ret_shape,
                         void **ret_at)
{
    *ret_shape = known;
    *ret_at = NULL;
    if (wire == WIRE_NONE)
        return;
    fact_to_tensor(&s->g->wires[wire].fact, shape);
    shape->data = s->g->wires[wire].fact.value ? s->g->wires[wire].fact.value->data : NULL;
    *ret_shape = shape;
    *ret_at = slow_find(s, wire, mem);
}

static void slow_step_run(const struct step *step, unsigned char *mem)
{
    const struct slow_step *s = step->args;
    struct eval e = node_step_eval(s->node, mem);
    const struct node *n = e.node;
    unsigned all = n->n_in + n->n_out;
    struct tensor *shapes = (struct tensor *) (void *) (mem + s->room.at.offset);
    const struct tensor **lists = (const struct tensor **) (void *) (shapes + all);
    void **at = (void **) (void *) (lists + all);
    for (unsigned i = 0; i < all; i++) {
        bool in = i < n->n_in;
        unsigned k = in ? i : i - n->n_in;
        slow_operand(s, in ? n->in[k] : n->out[k], in ? e.in[k] : e.out[k], mem, &shapes[i],
                     &lists[i], &at[i]);
    }
    e.in = lists;
    e.out = lists + n->n_in;
    e.x = (const void *const *) (const void *) at;
    e.y = at + n->n_in;
    n->op->eval(&e);
}

static rill_status places_make(struct lower *l, const struct scope *f, struct slow_place **ret,
                               uint32_t *ret_n)
{
    struct slow_place *p = arena_array(&l->p->arena, struct slow_place, f->g->n_wires + 1);
    if (!p)
        return lower_no_memory(l);
    *ret = p;
    *ret_n = 0;
    for (uint32_t w = 0; w < f->g->n_wires; w++)
        if (f->slot[w] != WIRE_NONE) {
            p[*ret_n].wire = w;
            TRY(operand_set(l, &p[(*ret_n)++].at, f->slot[w]));
        }
    return RILL_OK;
}

/* From the fact of the whole. */
static void slice_look_up(const struct slice_copy *c, struct slice_copy *ret)
{
    struct tensor whole;
    *ret = *c;
    if (!c->fact || !fact_to_tensor(c->fact, &whole))
        return;
    ret->outer = 1;
    ret->inner = dtype_bytes(whole.type);
    for (int i = 0; i < c->axis; i++)
        ret->outer *= (size_t) whole.dim[i];
    for (int i = c->axis + 1; i < whole.rank; i++)
        ret->inner *= (size_t) whole.dim[i];
    ret->stride = ret->inner * (size_t) whole.dim[c->axis];
}

rill_status slow_loop_made(struct lower *l, const struct scope *f, struct loop_step *step,
                           uint32_t begin)
{
    struct slow_place *places = NULL;
    uint32_t n_places = 0;
    step->slice_look_up = slice_look_up;
    TRY(places_make(l, f, &places, &n_places));
    for (uint32_t i = 0; i < step->body.n; i++) {
        struct step *at = &step->body.s[i];
        if (at->run != node_step_run)
            continue;
        const struct node_step *node = at->args;
        size_t all = node->eval.n_in + node->eval.n_out,
               each = sizeof(struct tensor) + 2 * sizeof(void *);
        struct slow_step *s = arena_new(&l->p->arena, struct slow_step);
        uint32_t room;
        if (!s)
            return lower_no_memory(l);
        *s = (struct slow_step) { .node = node, .g = f->g, .places = places, .n_places = n_places };
        TRY(slot_new(l, all * each, &room));
        slot_use(l, room, begin);
        slot_use(l, room, l->time);
        TRY(operand_set(l, &s->room, room));
        at->args = s;
        at->run = slow_step_run;
        at->run_many = NULL;
    }
    return RILL_OK;
}

rill_status slow_plan_new(rill_plan **ret, const rill_model *m, const rill_plan_opts *opts,
                          rill_error *reterr)
{
    const struct plan_opts slow = { .loop_made = slow_loop_made };
    return plan_new_as(ret, m, opts, &slow, reterr);
}
