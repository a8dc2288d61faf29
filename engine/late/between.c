/* SPDX-License-Identifier: MIT */
/* What runs between two stages: ops whose data says how much they give, and bodies. */
#include "engine/late/internal.h"
#include "engine/graph/control.h"
#include "engine/typing/interp.h"

#include <string.h>

#define TRIPS_MAX 100000

static const enum op_id by_data[] = { OP_NONZERO, OP_COMPRESS, OP_UNIQUE, OP_LOOP, OP_IF };

bool between_can(const struct node *n)
{
    return node_is_among(n, by_data, sizeof by_data / sizeof *by_data);
}

static rill_status gives(struct late *l, struct variant *v, const struct node *n, unsigned output,
                         const struct tensor *t, bool is_ours, rill_error *err)
{
    const uint32_t w = n->out[output];
    if (w == WIRE_NONE)
        return RILL_OK;
    const struct tensor *own = is_ours ? t : tensor_clone(&v->made, t);
    if (!own)
        return late_no_memory(err);
    given_add(l, v, w, own);
    return RILL_OK;
}

static rill_status number_of(const struct node *n, const struct tensor *t, const char *what,
                             int64_t *ret, rill_error *err)
{
    if (!t || tensor_count(t) != 1)
        return op_fail(err, RILL_MALFORMED, n, "%s must be one number", what);
    *ret = tensor_get_i64(t, t->data, 0);
    return RILL_OK;
}

/* ---- plain ops ---- */

static rill_status op_run(struct late *l, struct variant *v, const struct node *n, rill_error *err)
{
    const struct tensor **x = arena_array(&v->made, const struct tensor *, n->n_in + 1u),
                        **y = arena_array(&v->made, const struct tensor *, n->n_out + 1u);
    if (!x || !y)
        return late_no_memory(err);
    for (unsigned i = 0; i < n->n_in; i++)
        x[i] = late_tensor(l, v, n->in[i]);
    TRY(interp_node(l->g->dims, n, x, &l->kern, &v->made, y, err));
    for (unsigned i = 0; i < n->n_out; i++)
        TRY(gives(l, v, n, i, y[i], true, err));
    return RILL_OK;
}

/* ---- If ---- */

static rill_status captured(struct late *l, const struct variant *v, const struct node *n,
                            unsigned first, unsigned first_body, struct size_source *ret)
{
    for (unsigned i = first; i < n->n_in; i++) {
        const uint32_t w = n->in[i];
        if (w != WIRE_NONE)
            ret[first_body + i - first] =
                (struct size_source) { late_tensor(l, v, w), l->wires[w].writes };
    }
    return RILL_OK;
}

static rill_status if_run(struct late *l, struct variant *v, struct between *b,
                          const struct node *n, rill_error *err)
{
    int64_t cond = 0;
    TRY(number_of(n, late_tensor(l, v, n->in[0]), "the condition", &cond, err));
    struct late *body = b->body[cond ? 0 : 1];
    struct size_source *in = arena_array(&v->made, struct size_source, n->n_in + 1u);
    const struct tensor **out = arena_array(&v->made, const struct tensor *, n->n_out + 1u);
    if (!in || !out)
        return late_no_memory(err);
    TRY(captured(l, v, n, 1, 0, in));
    TRY(l->calls->run(body, in, out, err));
    for (unsigned i = 0; i < n->n_out; i++)
        TRY(gives(l, v, n, i, out[i], false, err));
    return RILL_OK;
}

/* ---- Loop ---- */

struct rounds {
    struct late *l, *body;
    struct variant *v;
    const struct node *n;
    unsigned n_states, n_stacks;
    struct size_source *in;
    const struct tensor **out;
    const struct tensor ***stack; /* per stacked output: of each iteration */
    uint32_t n_rounds, cap;
    struct arena *state; /* of the node */
    struct tensor count, on;
    int64_t number;
    uint8_t yes;
    rill_error *err;
};

static rill_status rounds_begin(struct rounds *r)
{
    struct arena *a = &r->v->made;
    r->in = arena_array(a, struct size_source, r->n->n_in + 1u);
    r->out = arena_array(a, const struct tensor *, 1u + r->n->n_out + 1u);
    r->stack = arena_array(a, const struct tensor **, r->n_stacks + 1u);
    if (!r->in || !r->out || !r->stack)
        return late_no_memory(r->err);
    r->yes = 1;
    r->count = (struct tensor) { .type = DTYPE_I64, .data = &r->number };
    r->on = (struct tensor) { .type = DTYPE_BOOL, .data = &r->yes };
    r->in[0].t = &r->count;
    r->in[1].t = &r->on;
    return captured(r->l, r->v, r->n, 2, 2, r->in);
}

static rill_status stacks_push(struct rounds *r)
{
    uint32_t cap = r->cap;
    for (unsigned i = 0; i < r->n_stacks; i++) {
        uint32_t room = cap;
        const struct tensor **list =
            arena_grow(&r->v->made, r->stack[i], r->n_rounds, &room, sizeof *list);
        if (!list)
            return late_no_memory(r->err);
        r->stack[i] = list;
        list[r->n_rounds] = tensor_clone(&r->v->made, r->out[1 + r->n_states + i]);
        if (!list[r->n_rounds])
            return late_no_memory(r->err);
        r->cap = room;
    }
    return RILL_OK;
}

static rill_status round_run(struct rounds *r, int64_t *ret_on)
{
    struct arena *state = &r->state[r->n_rounds & 1];
    r->number = r->n_rounds;
    r->in[0].writes++;
    TRY(r->l->calls->run(r->body, r->in, r->out, r->err));
    TRY(number_of(r->n, r->out[0], "what its body gives first", ret_on, r->err));
    arena_rewind(state);
    TRY(stacks_push(r));
    const struct tensor **next = arena_array(state, const struct tensor *, r->n_states + 1u);
    for (unsigned i = 0; next && i < r->n_states; i++)
        next[i] = tensor_clone(state, r->out[1 + i]);
    for (unsigned i = 0; i < r->n_states; i++) {
        if (!next || !next[i])
            return late_no_memory(r->err);
        r->in[2 + i] = (struct size_source) { next[i], ++r->l->writes };
    }
    r->n_rounds++;
    return RILL_OK;
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t) a->rank * sizeof *a->dim);
}

static rill_status stack_join(struct rounds *r, unsigned i, const struct tensor **ret)
{
    const struct graph *body = r->n->body ? r->n->body[0] : NULL;
    struct tensor t;
    if (r->n_states + i >= r->n->n_out)
        return RILL_OK;
    if (r->stack[i])
        t = *r->stack[i][0];
    else if (!wire_to_tensor(&body->wires[body->outputs[1 + r->n_states + i]], &t))
        return op_fail(r->err, RILL_UNSUPPORTED, r->n,
                       "a loop of zero iterations gives an output of unknown shape");
    if (t.rank == RANK_MAX)
        return op_fail(r->err, RILL_LIMIT, r->n, "a stacked output has more than %d axes",
                       RANK_MAX);
    memmove(&t.dim[1], &t.dim[0], (size_t) t.rank * sizeof t.dim[0]);
    t.dim[0] = r->n_rounds;
    struct tensor *whole = tensor_new(&r->v->made, t.type, t.rank + 1, t.dim);
    if (!whole)
        return late_no_memory(r->err);
    whole->number = t.number;
    for (uint32_t k = 0; r->stack[i] && k < r->n_rounds; k++) {
        const size_t bytes = tensor_bytes(r->stack[i][0]);
        if (!same_shape(r->stack[i][k], r->stack[i][0]))
            return op_fail(r->err, RILL_UNSUPPORTED, r->n,
                           "an output changes its shape from iteration to iteration");
        if (bytes)
            memcpy((char *) whole->data + k * bytes, r->stack[i][k]->data, bytes);
    }
    *ret = whole;
    return RILL_OK;
}

static rill_status rounds_run(struct rounds *r)
{
    const struct tensor *trips = late_tensor(r->l, r->v, r->n->in[0]),
                        *cond = late_tensor(r->l, r->v, r->n->in[1]);
    const uint32_t trips_max = r->l->opts.trips_max ? r->l->opts.trips_max : TRIPS_MAX;
    int64_t most = INT64_MAX, on = 1;
    if (trips)
        TRY(number_of(r->n, trips, "the number of iterations", &most, r->err));
    if (cond)
        TRY(number_of(r->n, cond, "the condition", &on, r->err));
    TRY(rounds_begin(r));
    while (on && r->n_rounds < most) {
        if (r->n_rounds == trips_max)
            return op_fail(r->err, RILL_LIMIT, r->n, "more than %u iterations", trips_max);
        TRY(round_run(r, &on));
    }
    for (unsigned i = 0; i < r->n_states; i++)
        TRY(gives(r->l, r->v, r->n, i, r->in[2 + i].t, false, r->err));
    for (unsigned i = 0; i < r->n_stacks; i++) {
        const struct tensor *whole = NULL;
        TRY(stack_join(r, i, &whole));
        TRY(gives(r->l, r->v, r->n, r->n_states + i, whole, true, r->err));
    }
    return RILL_OK;
}

static rill_status loop_run(struct late *l, struct variant *v, struct between *b,
                            const struct node *n, rill_error *err)
{
    const unsigned n_states = (unsigned) ((const struct loop_attr *) n->attr)->n_states;
    struct rounds r = { .l = l,
                        .body = b->body[0],
                        .v = v,
                        .n = n,
                        .n_states = n_states,
                        .n_stacks = n->n_out - n_states,
                        .state = b->state,
                        .err = err };
    return rounds_run(&r);
}

rill_status between_run(struct late *l, struct variant *v, struct between *b, rill_error *err)
{
    const struct node *n = &l->g->nodes[b->node];
    return node_is(n, OP_LOOP) ? loop_run(l, v, b, n, err)
        : node_is(n, OP_IF)    ? if_run(l, v, b, n, err)
                               : op_run(l, v, n, err);
}
