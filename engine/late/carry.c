/* SPDX-License-Identifier: MIT */
#include "engine/late/carry.h"
#include "engine/typing/half.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

/* ---- making ---- */

/* Of an axis that is open the frames that are reserved. */
static rill_status most_set(struct carried *c, const struct fact *in_file, int64_t reserve_frames,
                            rill_error *err)
{
    const struct fact wide = half_as_f32(in_file), *f = &wide;
    c->axis = -1;
    c->most = (struct tensor) { .type = f->type, .number = half_of(f), .rank = f->rank };
    if (f->type == DTYPE_NONE || f->rank < 0)
        return err_set(err, RILL_UNSUPPORTED, "state '%.80s': its type or shape is not known",
                       c->name);
    for (int k = 0; k < f->rank; k++) {
        if (dim_is_const(f->shape[k])) {
            c->most.dim[k] = dim_value(f->shape[k]);
            continue;
        }
        if (c->axis >= 0 || dim_parts(f->shape[k]).form != DIM_FORM_SYMBOL)
            return err_set(err, RILL_UNSUPPORTED,
                           "state '%.80s': a state may grow along one axis, which is a symbol of "
                           "its own; axes %d and %d are open: set one",
                           c->name, c->axis, k);
        c->axis = k;
        c->most.dim[k] = reserve_frames;
    }
    return RILL_OK;
}

static rill_status inner_make(struct graph *inner, const struct graph *g, rill_error *err)
{
    *inner = *g;
    inner->inputs = arena_array(g->arena, uint32_t, g->n_inputs + g->n_states + 1u);
    inner->outputs = arena_array(g->arena, uint32_t, g->n_outputs + g->n_states + 1u);
    if (!inner->inputs || !inner->outputs)
        return no_memory(err);
    memcpy(inner->inputs, g->inputs, g->n_inputs * sizeof *g->inputs);
    memcpy(inner->outputs, g->outputs, g->n_outputs * sizeof *g->outputs);
    for (uint32_t i = 0; i < g->n_states; i++) {
        inner->inputs[inner->n_inputs++] = g->states[i].in;
        inner->outputs[inner->n_outputs++] = g->states[i].out;
    }
    inner->cap_inputs = inner->n_inputs;
    inner->cap_outputs = inner->n_outputs;
    inner->n_states = 0;
    return RILL_OK;
}

rill_status carry_make(struct carry *ret, struct graph *inner, const struct graph *g,
                       int64_t reserve_frames, rill_error *reterr)
{
    struct carry made = { arena_array(g->arena, struct carried, g->n_states + 1u), g->n_states };
    if (!made.list)
        return no_memory(reterr);
    for (uint32_t i = 0; i < g->n_states; i++) {
        struct carried *c = &made.list[i];
        c->name = g->states[i].name;
        c->init = g->states[i].init ? half_widened(g->arena, g->states[i].init) : NULL;
        if (g->states[i].init && !c->init)
            return no_memory(reterr);
        TRY(most_set(c, &g->wires[g->states[i].in].fact, reserve_frames, reterr));
        if (c->init && c->axis >= 0 && c->init->dim[c->axis] > reserve_frames)
            return err_set(reterr, RILL_LIMIT,
                           "state '%.80s' begins with %" PRId64 " frames, reserved are %" PRId64
                           ": reserve more",
                           c->name, c->init->dim[c->axis], reserve_frames);
    }
    TRY(inner_make(inner, g, reterr));
    *ret = made;
    return RILL_OK;
}

rill_status carry_check(const struct carried *c, const struct fact *in_file, rill_error *reterr)
{
    const struct fact wide = half_as_f32(in_file), *next = &wide;
    char text[160];
    bool fits = next->type == DTYPE_NONE || next->rank < 0 ||
        (next->type == c->most.type && half_of(next) == c->most.number &&
         next->rank == c->most.rank);
    for (int k = 0; fits && k < next->rank; k++)
        fits = k == c->axis || !dim_is_const(next->shape[k]) ||
            dim_value(next->shape[k]) == c->most.dim[k];
    if (fits)
        return RILL_OK;
    fact_print(in_file, text, sizeof text);
    return err_set(reterr, RILL_INVALID,
                   "the next value of state '%.80s' is %s, and has to be as it but for what grows",
                   c->name, text);
}

/* ---- what it is ---- */

int64_t carry_first_frames(const struct carried *c)
{
    return c->axis < 0 || !c->init ? 0 : c->init->dim[c->axis];
}

struct tensor carry_view(const struct carried *c, int64_t frames, const void *data)
{
    struct tensor t = c->most;
    if (c->axis >= 0)
        t.dim[c->axis] = frames;
    t.data = (void *) (uintptr_t) data;
    return t;
}

rill_status carry_init(const struct carried *c, struct arena *a, const struct tensor **ret,
                       rill_error *reterr)
{
    struct tensor *t = NULL;
    if (c->init && !(t = tensor_new(a, c->most.type, c->most.rank, c->most.dim)))
        return no_memory(reterr);
    if (t && tensor_bytes(c->init))
        memcpy(t->data, c->init->data, tensor_bytes(c->init));
    *ret = t;
    return RILL_OK;
}

/* ---- the next one ---- */

static void shape_print(const struct tensor *t, char *text, size_t cap)
{
    size_t at = 0;
    text[0] = '\0';
    for (int k = 0; k < t->rank && at < cap; k++)
        at += (size_t) snprintf(text + at, cap - at, "%s%" PRId64, k ? "," : "", t->dim[k]);
}

/* As files call it. */
static const char *type_name(const struct tensor *t)
{
    return dtype_name(t->type == DTYPE_F32 && t->number ? t->number : t->type);
}

static rill_status shape_fail(const struct carried *c, const struct tensor *next, bool is_first,
                              rill_error *err)
{
    char is[160], was[160];
    shape_print(next, is, sizeof is);
    shape_print(&c->most, was, sizeof was);
    return err_set(err, RILL_INVALID, "the %s value of state '%.80s' is %s[%s], not %s[%s]",
                   is_first ? "first" : "next", c->name, type_name(next), is, type_name(&c->most),
                   was);
}

rill_status carry_put(const struct carried *c, const struct tensor *next, bool is_first,
                      void *buffer, int64_t *ret_frames, rill_error *reterr)
{
    bool same =
        next->type == c->most.type && next->number == c->most.number && next->rank == c->most.rank;
    for (int k = 0; same && k < next->rank; k++)
        same = k == c->axis || next->dim[k] == c->most.dim[k];
    if (!same)
        return shape_fail(c, next, is_first, reterr);
    if (c->axis >= 0 && next->dim[c->axis] > c->most.dim[c->axis])
        return err_set(reterr, RILL_LIMIT,
                       "state '%.80s' %s %" PRId64 " frames along axis %d, reserved are %" PRId64
                       ": reserve more",
                       c->name, is_first ? "begins with" : "has grown to", next->dim[c->axis],
                       c->axis, c->most.dim[c->axis]);
    if (tensor_bytes(next))
        memmove(buffer, next->data, tensor_bytes(next));
    *ret_frames = c->axis < 0 ? 0 : next->dim[c->axis];
    return RILL_OK;
}
