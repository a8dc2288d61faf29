/* SPDX-License-Identifier: MIT */
/* The steps of a plan, run on one block; many.c runs them on several. */
#include "engine/plan/steps.h"

#include <string.h>

static void steps_run(const struct steps *all, unsigned char *mem)
{
    /* Every input of a step was written by an earlier one: the graph is in order. */
    for (const struct step *s = all->s, *end = s + all->n; s != end; s++)
        s->run(s, mem);
}

static void *operand_write(const union operand *o, unsigned char *mem)
{
    return o->at.offset == SIZE_MAX ? NULL : mem + o->at.offset;
}

static const void *operand_read(const union operand *o, const unsigned char *mem)
{
    if (o->at.constant)
        return o->at.constant;
    return o->at.offset == SIZE_MAX ? NULL : mem + o->at.offset;
}

/* Notes where the operands of each step lie in this block. */
void plan_bind(const struct plan *p, unsigned char *mem)
{
    if (*(void *const *) (const void *) (mem + p->bound_offset) == mem)
        return;
    for (const struct node_step *n = p->node_steps; n; n = n->next) {
        const void **x = (const void **) (void *) (mem + n->lists_offset);
        void **y = (void **) (void *) (x + n->eval.n_in);
        for (unsigned i = 0; i < n->eval.n_in; i++)
            x[i] = operand_read(&n->in[i], mem);
        for (unsigned i = 0; i < n->eval.n_out; i++)
            y[i] = operand_write(&n->out[i], mem);
    }
    *(void **) (void *) (mem + p->bound_offset) = mem;
}

void plan_run(const struct plan *p, unsigned char *mem)
{
    plan_bind(p, mem);
    steps_run(&(struct steps) { p->steps, p->n_steps }, mem);
}

struct eval node_step_eval(const struct node_step *n, unsigned char *mem)
{
    struct eval e = n->eval;
    e.x = (const void *const *) (const void *) (mem + n->lists_offset);
    e.y = (void *const *) (const void *) (e.x + e.n_in);
    e.scratch = mem + n->scratch.at.offset;
    e.fault = (struct fault *) (void *) (mem + n->fault_offset);
    return e;
}

void node_step_run(const struct step *s, unsigned char *mem)
{
    const struct node_step *n = s->args;
    struct eval e = node_step_eval(n, mem);
    n->run(&e);
}

static void copies_run(const struct copies *all, unsigned char *mem)
{
    for (uint32_t i = 0; i < all->n; i++)
        memmove(operand_write(&all->c[i].to, mem), operand_read(&all->c[i].from, mem),
                all->c[i].bytes);
}

void copy_step_run(const struct step *s, unsigned char *mem)
{
    copies_run(&((const struct copy_step *) s->args)->copies, mem);
}

void slice_in(const struct slice_copy *c, int64_t at, unsigned char *mem)
{
    const unsigned char *from =
        (const unsigned char *) operand_read(&c->whole, mem) + (size_t) at * c->inner;
    unsigned char *to = operand_write(&c->slice, mem);
    for (size_t o = 0; o < c->outer; o++)
        memcpy(to + o * c->inner, from + o * c->stride, c->inner);
}

void slice_out(const struct slice_copy *c, int64_t at, unsigned char *mem)
{
    const unsigned char *from = operand_read(&c->slice, mem);
    unsigned char *to = (unsigned char *) operand_write(&c->whole, mem) + (size_t) at * c->inner;
    for (size_t o = 0; o < c->outer; o++)
        memcpy(to + o * c->stride, from + o * c->inner, c->inner);
}

static inline void moves_run(const struct loop_step *n, int64_t it, unsigned char *mem)
{
    for (uint32_t i = 0; i < n->n_moving; i++) {
        const struct moving_pointer *m = &n->moving[i];
        bool first = it == 0 && m->has_first;
        const unsigned char *at = operand_read(first ? &m->first : &m->at, mem);
        ptrdiff_t by = first ? 0 : (ptrdiff_t) ((uint64_t) it & m->mask) * m->stride_bytes;
        *(const unsigned char **) (void *) (mem + m->pointer_offset) = at + by;
    }
}

static void slices_in(const struct loop_step *n, int64_t it, unsigned char *mem)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        struct slice_copy fresh, *c = n->in[i];
        if (n->slice_look_up) {
            n->slice_look_up(c, &fresh);
            c = &fresh;
        }
        slice_in(c, c->reverse ? n->length - 1 - it : it, mem);
    }
}

static void slices_out(const struct loop_step *n, int64_t it, unsigned char *mem)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        struct slice_copy fresh, *c = n->out[i];
        if (n->slice_look_up) {
            n->slice_look_up(c, &fresh);
            c = &fresh;
        }
        slice_out(c, c->reverse ? n->length - 1 - it : it, mem);
    }
}

void loop_step_run(const struct step *s, unsigned char *mem)
{
    const struct loop_step *n = s->args;
    copies_run(&n->start, mem);
    for (int64_t it = 0; it < n->length; it++) {
        moves_run(n, it, mem);
        slices_in(n, it, mem);
        steps_run(&n->body, mem);
        slices_out(n, it, mem);
        copies_run(&n->stage, mem);
        copies_run(&n->next, mem);
    }
    copies_run(&n->finish, mem);
}

static int64_t trips_read(const struct open_loop_step *n, const unsigned char *mem)
{
    const int64_t *trips = operand_read(&n->trips, mem);
    return trips ? *trips : INT64_MAX;
}

static bool holds(const union operand *o, const unsigned char *mem)
{
    const uint8_t *truth = operand_read(o, mem);
    return !truth || *truth;
}

static void trips_fault(const struct open_loop_step *n, int64_t trips, unsigned char *mem)
{
    struct fault *f = (struct fault *) (void *) (mem + n->fault_offset);
    if (f->kind == FAULT_NONE)
        *f = (struct fault) { FAULT_LENGTH, n->node, trips, LOOP_TRIPS_MAX };
}

void open_loop_step_run(const struct step *s, unsigned char *mem)
{
    const struct open_loop_step *n = s->args;
    const int64_t trips = trips_read(n, mem);
    bool goes_on = holds(&n->starts, mem);
    copies_run(&n->loop.start, mem);
    for (int64_t it = 0; goes_on && it < trips; it++) {
        if (it == LOOP_TRIPS_MAX) {
            trips_fault(n, trips, mem);
            break;
        }
        memcpy(operand_write(&n->count, mem), &it, sizeof it);
        steps_run(&n->loop.body, mem);
        goes_on = holds(&n->goes_on, mem);
        copies_run(&n->loop.stage, mem);
        copies_run(&n->loop.next, mem);
    }
    copies_run(&n->loop.finish, mem);
}

void if_step_run(const struct step *s, unsigned char *mem)
{
    const struct if_step *n = s->args;
    int b = *(const uint8_t *) operand_read(&n->cond, mem) ? 0 : 1;
    steps_run(&n->body[b], mem);
    copies_run(&n->out[b], mem);
    copies_run(&n->stage[b], mem);
    copies_run(&n->next[b], mem);
}
