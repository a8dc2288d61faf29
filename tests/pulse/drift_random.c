/* SPDX-License-Identifier: MIT */
#include "tests/pulse/drift_random.h"
#include "engine/graph/control.h"

#include <string.h>

#define DEPTH_MAX 3
#define POOL_MAX 24
#define RANK_TOP 3

/* ---- nodes with bodies ---- */

static struct node *control_node(struct gb *b, const struct op *op, const void *attr,
                                 const uint32_t *in, unsigned n_in, unsigned n_out)
{
    uint32_t out[8];
    const char *name = gb_printf(b, "%s_%u", op->name, b->n_names++);
    for (unsigned i = 0; i < n_out; i++)
        out[i] = graph_add_wire(b->g, gb_printf(b, "%s.%u", name, i), NULL);
    return graph_add_node(b->g, op, name, attr, in, n_in, out, n_out);
}

/* The builder of a body hands its counters and its error back. */
static bool body_end(struct gb *b, const struct gb *body)
{
    if (body->err.status != RILL_OK)
        b->err = body->err;
    b->seed = body->seed;
    b->n_names = body->n_names;
    return b->err.status == RILL_OK;
}

struct node *drift_loop(struct gb *b, struct gb *body, const uint32_t *in, unsigned n_in,
                        unsigned n_states, unsigned n_stacked)
{
    struct loop_attr *at = arena_new(b->arena, struct loop_attr);
    if (!body_end(b, body))
        return NULL;
    at->n_states = n_states;
    struct node *n = control_node(b, &op_loop, at, in, n_in, n_states + n_stacked);
    n->body = arena_array(b->arena, struct graph *, 1);
    n->body[0] = body->g;
    n->n_body = 1;
    return n;
}

struct node *drift_if(struct gb *b, struct gb branch[2], const uint32_t *in, unsigned n_in,
                      unsigned n_out)
{
    if (!body_end(b, &branch[0]) || !body_end(b, &branch[1]))
        return NULL;
    struct node *n = control_node(b, &op_if, NULL, in, n_in, n_out);
    n->body = arena_array(b->arena, struct graph *, 2);
    n->body[0] = branch[0].g;
    n->body[1] = branch[1].g;
    n->n_body = 2;
    return n;
}

/* ---- values whose shapes the generator knows ---- */

struct val {
    uint32_t wire;
    int rank, dim[RANK_TOP];
}; /* GB_TIME: time */

struct pool {
    struct val v[POOL_MAX];
    unsigned n;
};

struct gen {
    uint32_t random;
    bool streams;
};

static uint32_t upto(struct gen *r, uint32_t n)
{
    return gb_random(&r->random) % n;
}

static void pool_add(struct pool *p, struct val v)
{
    if (v.wire != WIRE_NONE && p->n < POOL_MAX)
        p->v[p->n++] = v;
}

static bool same_shape(const struct val *a, const struct val *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t) a->rank * sizeof *a->dim);
}

/* A random value of that shape; p has one. */
static struct val pool_like(struct gen *r, const struct pool *p, const struct val *like)
{
    struct val found = *like;
    uint32_t n = 0;
    for (unsigned i = 0; i < p->n; i++)
        if (same_shape(&p->v[i], like) && upto(r, ++n) == 0)
            found = p->v[i];
    return found;
}

/* Of at most that rank; the pool always has one of rank 1. */
static struct val pool_pick(struct gen *r, const struct pool *p, int rank_min, int rank_max)
{
    struct val v;
    do
        v = p->v[upto(r, p->n)];
    while (v.rank < rank_min || v.rank > rank_max);
    return v;
}

static bool has_time(const struct val *v)
{
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i] == GB_TIME)
            return true;
    return false;
}

/* Along time nothing whole may itself stream. */
static struct val pool_whole(struct gen *r, const struct pool *p, int rank_max, bool along)
{
    struct val v;
    do
        v = pool_pick(r, p, 0, rank_max);
    while (r->streams && along && has_time(&v));
    return v;
}

static struct val with_wire(struct val v, uint32_t wire)
{
    v.wire = wire;
    return v;
}

static struct val without_axis(struct val v, int axis, uint32_t wire)
{
    memmove(v.dim + axis, v.dim + axis + 1, (size_t) (v.rank - axis - 1) * sizeof *v.dim);
    v.rank--;
    v.wire = wire;
    return v;
}

static struct val with_axis(struct val v, int axis, int size, uint32_t wire)
{
    memmove(v.dim + axis + 1, v.dim + axis, (size_t) (v.rank - axis) * sizeof *v.dim);
    v.dim[axis] = size;
    v.rank++;
    v.wire = wire;
    return v;
}

static struct val body_val(struct gb *body, struct pool *p, struct val v)
{
    v.wire = gb_body_input(body, gb_printf(body, "in_%u", body->n_names++));
    pool_add(p, v);
    return v;
}

/* ---- steps ---- */

typedef void step(struct gen *r, struct gb *b, struct pool *p, int depth);

static void grow(struct gen *r, struct gb *b, struct pool *p, unsigned n, int depth);

static void step_map(struct gen *r, struct gb *b, struct pool *p, int depth)
{
    static const char *const ops[] = { "Tanh", "Neg", "Relu" };
    struct val v = pool_pick(r, p, 0, RANK_TOP);
    (void) depth;
    pool_add(p, with_wire(v, GB(b, ops[upto(r, 3)], "", v.wire)));
}

static void step_join(struct gen *r, struct gb *b, struct pool *p, int depth)
{
    struct val v = pool_pick(r, p, 0, RANK_TOP), u = pool_like(r, p, &v);
    (void) depth;
    pool_add(p, with_wire(v, GB(b, upto(r, 2) ? "Add" : "Mul", "", v.wire, u.wire)));
}

static void step_turn(struct gen *r, struct gb *b, struct pool *p, int depth)
{
    struct val v = pool_pick(r, p, 1, RANK_TOP), t = v;
    (void) depth;
    for (int i = 0; i < v.rank; i++)
        t.dim[i] = v.dim[v.rank - 1 - i];
    pool_add(p, with_wire(t, GB(b, "Transpose", "", v.wire)));
}

/* As large as another tensor, made inside. */
static void step_fill(struct gen *r, struct gb *b, struct pool *p, int depth)
{
    struct val v = pool_pick(r, p, 1, RANK_TOP);
    (void) depth;
    pool_add(p, with_wire(v, GB(b, "ConstantOfShape", "", GB(b, "Shape", "", v.wire))));
}

static void step_sum(struct gen *r, struct gb *b, struct pool *p, int depth)
{
    struct val v = pool_pick(r, p, 2, RANK_TOP);
    int axis = (int) upto(r, (uint32_t) v.rank);
    (void) depth;
    if (r->streams && v.dim[axis] == GB_TIME)
        return;
    pool_add(p, without_axis(v, axis, GB(b, "ReduceSum", "keepdims=0", v.wire, gb_ints(b, axis))));
}

/* A body that has grown gives for every state a value of its shape, then `outs` others. */
static void body_outputs(struct gen *r, struct gb *c, const struct pool *inner,
                         const struct val *states, unsigned n, unsigned outs, struct val *ret)
{
    for (unsigned i = 0; i < n; i++) {
        ret[i] = pool_like(r, inner, &states[i]);
        gb_output(c, GB(c, "Tanh", "", ret[i].wire));
    }
    for (unsigned i = n; i < n + outs; i++) {
        ret[i] = pool_pick(r, inner, 1, RANK_TOP - 1);
        gb_output(c, GB(c, "Neg", "", ret[i].wire));
    }
}

/* A vector of four, for pools that have nothing else of rank 1. */
static void pool_vector(struct gb *b, struct pool *p)
{
    pool_add(p, (struct val) { gb_weights(b, 1, 4), 1, { 4 } });
}

static void step_scan(struct gen *r, struct gb *b, struct pool *p, int depth)
{
    struct gb c;
    struct pool inner = { .n = 0 };
    struct val states[2], outs[4], x = pool_pick(r, p, 1, RANK_TOP);
    unsigned n_states = upto(r, 3), n_scans = 1 + upto(r, 2), n_captures = upto(r, 3),
             n_outs = 1 + upto(r, 2), n = 0;
    int64_t in_axes[2], out_axes[2];
    int axis = (int) upto(r, (uint32_t) x.rank), length = x.dim[axis];
    uint32_t in[8];
    bool along = length == GB_TIME;
    gb_body(&c, b, "body");
    for (unsigned i = 0; i < n_states; i++) {
        struct val v = pool_whole(r, p, 2, along);
        in[n++] = v.wire;
        states[i] = body_val(&c, &inner, v);
    }
    for (unsigned i = 0; i < n_scans; i++) {
        struct val v = pool_like(r, p, &x);
        in[n++] = v.wire;
        in_axes[i] = upto(r, 2) ? axis : axis - v.rank;
        body_val(&c, &inner, without_axis(v, axis, 0));
    }
    for (unsigned i = 0; i < n_captures; i++) {
        struct val v = pool_whole(r, p, RANK_TOP, along);
        in[n++] = v.wire;
        body_val(&c, &inner, v);
    }
    pool_vector(&c, &inner);
    grow(r, &c, &inner, 2 + upto(r, 5), depth + 1);
    body_outputs(r, &c, &inner, states, n_states, n_outs, outs);
    for (unsigned i = 0; i < n_outs; i++)
        out_axes[i] = upto(r, (uint32_t) outs[n_states + i].rank + 1);
    const struct gb_scan at = SCAN_OF((int) n_states, (int) n_scans, (int) n_outs,
                                      .in_axes = in_axes, .out_axes = out_axes);
    struct node *made = gb_scan(b, &c, &at, in, n);
    for (unsigned i = r->streams && along ? n_states : 0; made && i < n_states + n_outs; i++)
        pool_add(p,
                 i < n_states
                     ? with_wire(outs[i], made->out[i])
                     : with_axis(outs[i], (int) out_axes[i - n_states], length, made->out[i]));
}

/* A boolean that depends on data. */
static uint32_t condition(struct gen *r, struct gb *b, const struct pool *p)
{
    struct val v = pool_pick(r, p, 1, RANK_TOP);
    return GB(b, "Greater", "", GB(b, "ReduceSum", "keepdims=0", v.wire), gb_scalar(b, 0));
}

static void step_loop(struct gen *r, struct gb *b, struct pool *p, int depth)
{
    struct gb c;
    struct pool inner = { .n = 0 };
    struct val states[2], outs[3];
    unsigned n_states = 1 + upto(r, 2), n_captures = upto(r, 3), stacked = upto(r, 2), n = 2;
    bool counts = upto(r, 2);
    uint32_t in[8] = { gb_int(b, 3), counts ? WIRE_NONE : condition(r, b, p) };
    gb_body(&c, b, "round");
    gb_body_input(&c, "i");
    uint32_t go = gb_body_input(&c, "go");
    for (unsigned i = 0; i < n_states + n_captures; i++) {
        struct val v = pool_pick(r, p, 0, RANK_TOP);
        in[n++] = v.wire;
        struct val mine = body_val(&c, &inner, v);
        if (i < n_states)
            states[i] = mine;
    }
    pool_vector(&c, &inner);
    grow(r, &c, &inner, 1 + upto(r, 4), depth + 1);
    gb_output(&c, GB(&c, "Identity", "", go));
    body_outputs(r, &c, &inner, states, n_states, stacked, outs);
    struct node *made = drift_loop(b, &c, in, n, n_states, stacked);
    for (unsigned i = 0; made && i < n_states + stacked; i++) {
        if (i < n_states)
            pool_add(p, with_wire(outs[i], made->out[i]));
        else if (counts)
            pool_add(p, with_axis(outs[i], 0, 3, made->out[i]));
        else if (!depth)
            gb_output(b, made->out[i]); /* as many as there are rounds: nothing else takes it */
    }
}

static void step_if(struct gen *r, struct gb *b, struct pool *p, int depth)
{
    struct gb branch[2];
    struct val from[3];
    unsigned n = 1 + upto(r, 3);
    uint32_t in[4] = { condition(r, b, p) };
    for (unsigned i = 0; i < n; i++) {
        from[i] = pool_pick(r, p, 0, RANK_TOP);
        in[1 + i] = from[i].wire;
    }
    for (int k = 0; k < 2; k++) {
        struct pool inner = { .n = 0 };
        struct val out, first = from[0];
        gb_body(&branch[k], k ? &branch[0] : b, k ? "else" : "then");
        for (unsigned i = 0; i < n; i++) {
            struct val v = body_val(&branch[k], &inner, from[i]);
            first = i ? first : v;
        }
        pool_vector(&branch[k], &inner);
        grow(r, &branch[k], &inner, 1 + upto(r, 4), depth + 1);
        body_outputs(r, &branch[k], &inner, &first, 1, 0, &out);
    }
    struct node *made = drift_if(b, branch, in, 1 + n, 1);
    if (made)
        pool_add(p, with_wire(from[0], made->out[0]));
}

static void grow(struct gen *r, struct gb *b, struct pool *p, unsigned n, int depth)
{
    static step *const steps[] = { step_map,  step_join, step_turn, step_fill, step_sum,
                                   step_scan, step_scan, step_if,   step_loop };
    for (unsigned i = 0; i < n; i++) {
        step *s = steps[upto(r, depth == DEPTH_MAX ? 4 : r->streams ? 7 : 9)];
        bool has_two = false;
        for (unsigned k = 0; k < p->n; k++)
            has_two |= p->v[k].rank >= 2;
        if (s != step_sum || has_two)
            s(r, b, p, depth);
    }
}

void drift_random(struct gb *b, const void *ctx)
{
    const struct drift_opts *o = ctx;
    struct gen r = { o->seed * 7919u, o->streams };
    struct pool p = { .n = 0 };
    pool_add(&p, (struct val) { gb_input(b, "x", 3, GB_TIME, 6, 4), 3, { GB_TIME, 6, 4 } });
    pool_add(&p, (struct val) { gb_input(b, "h", 2, GB_TIME, 4), 2, { GB_TIME, 4 } });
    pool_add(&p,
             (struct val) {
                 r.streams ? gb_weights(b, 2, 4, 4) : gb_input(b, "w", 2, 4, 4), 2, { 4, 4 } });
    pool_add(&p,
             (struct val) { r.streams ? gb_weights(b, 1, 4) : gb_input(b, "v", 1, 4), 1, { 4 } });
    pool_vector(b, &p);
    grow(&r, b, &p, 3 + upto(&r, 8), 0);
    for (unsigned i = p.n > 8 ? p.n - 5 : 3; i < p.n; i++)
        if (!r.streams || has_time(&p.v[i]))
            gb_output(b, p.v[i].wire);
}
