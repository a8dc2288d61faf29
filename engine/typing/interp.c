/* SPDX-License-Identifier: MIT */
#include "engine/typing/interp.h"
#include "engine/graph/bind.h"
#include "engine/graph/control.h"
#include "engine/base/float_mode.h"

#include <string.h>

#define LOOP_ITERATIONS_MAX 100000 /* of one Loop in the growable mode */

struct interp {
    struct dims *dims;
    struct arena *arena;
    const struct kern *kern;
    const struct binding *bound;      /* symbols that the inputs gave values; NULL while folding */
    const struct interp_watch *watch; /* NULL: nobody looks on */
    rill_error *err;
};

static rill_status no_memory_in(const struct arena *a, const struct interp *in,
                                const struct node *n)
{
    return a->at_limit ? op_fail(in->err, RILL_LIMIT, n,
                                 "beside %zu bytes that are kept, it needs more than the limit of "
                                 "%zu bytes",
                                 a->used_bytes, a->limit_bytes)
                       : op_fail(in->err, RILL_NOMEM, n, "out of memory");
}

static rill_status no_memory(const struct interp *in, const struct node *n)
{
    return no_memory_in(in->arena, in, n);
}

static rill_status sizes_check(const struct interp *in, const char *name)
{
    return dims_status_at(in->dims, name, in->err);
}

/* ---- one node ---- */

static rill_status node_infer(const struct interp *in, const struct node *n,
                              const struct fact *const *facts, struct fact *out)
{
    TRY(op_check_arity_made(n, in->err));
    TRY((in->bound ? op_infer_running : op_infer)(n, facts, out, in->dims, in->arena, in->err));
    return sizes_check(in, n->name);
}

static bool is_sized(const struct fact *f)
{
    bool sized = f->rank >= 0;
    for (int i = 0; sized && i < f->rank; i++)
        sized = dim_is_const(f->shape[i]);
    return sized;
}

/* g: of the node; NULL: not known. */
static rill_status size_unknown(const struct interp *in, const struct graph *g,
                                const struct node *n, unsigned i, const struct fact *f)
{
    char text[160];
    fact_print(f, text, sizeof text);
    if (is_sized(f))
        return op_fail(in->err, RILL_LIMIT, n, "output %u, '%.80s', is %s: so many cannot be held",
                       i, g ? g->wires[n->out[i]].name : "", text);
    return op_fail(in->err, RILL_UNSUPPORTED, n,
                   "output %u, '%.80s', is %s, and nothing says before it is computed how large "
                   "that is; select_outputs leaves an output out",
                   i, g ? g->wires[n->out[i]].name : "", text);
}

static rill_status node_alloc(const struct interp *in, const struct graph *g, const struct node *n,
                              const struct fact *facts, struct tensor **ret)
{
    for (unsigned i = 0; i < n->n_out; i++) {
        struct tensor t = { .type = facts[i].type };
        if (facts[i].type && !fact_to_tensor(&facts[i], &t))
            return size_unknown(in, g, n, i, &facts[i]);
        ret[i] = tensor_new(in->arena, t.type, t.rank, t.dim);
        if (!ret[i])
            return no_memory(in, n);
        ret[i]->number = t.number;
    }
    return RILL_OK;
}

static bool any_dim(const struct node *n, const struct tensor *const *in)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (in[i] && in[i]->type == DTYPE_DIM)
            return true;
    return false;
}

static rill_status node_eval(const struct interp *in, const struct node *n,
                             const struct tensor *const *x, struct tensor *const *y)
{
    const void **xd = arena_array(in->arena, const void *, n->n_in + 1);
    void **yd = arena_array(in->arena, void *, n->n_out + 1);
    if (!xd || !yd)
        return no_memory(in, n);
    for (unsigned i = 0; i < n->n_in; i++)
        xd[i] = x[i] ? x[i]->data : NULL;
    for (unsigned i = 0; i < n->n_out; i++)
        yd[i] = y[i]->data;
    struct {
        struct fault first;
        char words[FAULT_WORDS_BYTES];
    } fault = { .first.kind = FAULT_NONE };
    struct eval e = { .node = n,
                      .attr = n->attr,
                      .kern = in->kern,
                      .n_in = n->n_in,
                      .n_out = n->n_out,
                      .in = x,
                      .out = (const struct tensor *const *) y,
                      .x = xd,
                      .y = yd,
                      .fault = &fault.first };
    bool sizes = n->op->eval_dim && any_dim(n, x);
    if (sizes && y[0]->type == DTYPE_DIM) {
        n->op->eval_dim(&e, in->dims);
        return dims_status(in->dims, in->err);
    }
    if (sizes)
        return op_fail(in->err, RILL_UNSUPPORTED, n,
                       "a symbolic size cannot become %s; give the size a number",
                       dtype_name(y[0]->type));
    struct prep p = { .node = n,
                      .attr = n->attr,
                      .kern = in->kern,
                      .arena = in->arena,
                      .n_in = n->n_in,
                      .n_out = n->n_out,
                      .in = x,
                      .out = e.out,
                      .err = in->err };
    rill_status s = n->op->prepare ? n->op->prepare(&p) : RILL_OK;
    if (s != RILL_OK)
        return s == RILL_NOMEM ? no_memory(in, n) : s;
    e.args = p.args;
    e.scratch = arena_alloc(in->arena, p.scratch_bytes);
    if (!e.scratch)
        return no_memory(in, n);
    n->op->eval(&e);
    return fault.first.kind == FAULT_NONE ? RILL_OK : fault_error(&fault.first, in->err);
}

static rill_status node_run(const struct interp *in, const struct graph *g, const struct node *n,
                            const struct tensor *const *x, const struct tensor **ret)
{
    struct fact *facts = arena_array(in->arena, struct fact, n->n_in + n->n_out + 1);
    const struct fact **list = arena_array(in->arena, const struct fact *, n->n_in + 1);
    struct tensor **y = arena_array(in->arena, struct tensor *, n->n_out + 1);
    if (!facts || !list || !y)
        return no_memory(in, n);
    struct fact *out = facts + n->n_in;
    for (unsigned i = 0; i < n->n_in; i++)
        if (x[i]) {
            fact_of_tensor(&facts[i], in->dims, x[i]);
            list[i] = &facts[i];
        }
    TRY(node_infer(in, n, list, out));
    if (n->n_out && out[0].value) {
        ret[0] = out[0].value;
        return RILL_OK;
    }
    TRY(node_alloc(in, g, n, out, y));
    TRY(node_eval(in, n, x, y));
    for (unsigned i = 0; i < n->n_out; i++) {
        ret[i] = y[i];
        if (y[i]->type == DTYPE_DIM)
            ret[i] = tensor_resolved(in->arena, y[i]);
        if (!ret[i])
            return no_memory(in, n);
    }
    return RILL_OK;
}

/* ---- bodies ---- */

static rill_status graph_run(const struct interp *in, const struct graph *g,
                             const struct tensor *const *inputs, const struct tensor **ret);

static rill_status if_run(const struct interp *in, const struct node *n,
                          const struct tensor *const *x, const struct tensor **ret)
{
    if (!x[0] || tensor_count(x[0]) != 1)
        return op_fail(in->err, RILL_MALFORMED, n, "the condition must be one boolean");
    return graph_run(in, n->body[tensor_get_i64(x[0], x[0]->data, 0) ? 0 : 1], x + 1, ret);
}

/* Outputs of all iterations, to be stacked when their number is known. */
struct stack {
    const struct tensor **item;
    uint32_t n, cap;
};

static bool stack_push(struct arena *a, struct stack *s, const struct tensor *t)
{
    const struct tensor **list = arena_grow(a, s->item, s->n, &s->cap, sizeof *list);
    if (!list)
        return false;
    s->item = list;
    list[s->n++] = t;
    return true;
}

/* Copies slice `at` of the axis of big to (or from) small, which lacks that axis. */
static void slice_copy(const struct tensor *big, void *big_data, int axis, int64_t at, void *small,
                       bool to_big)
{
    size_t inner = dtype_bytes(big->type);
    int64_t outer = 1;
    for (int i = axis + 1; i < big->rank; i++)
        inner *= (size_t) big->dim[i];
    for (int i = 0; i < axis; i++)
        outer *= big->dim[i];
    for (int64_t o = 0; o < outer && inner; o++) {
        char *b = (char *) big_data + (size_t) (o * big->dim[axis] + at) * inner,
             *s = (char *) small + (size_t) o * inner;
        memcpy(to_big ? b : s, to_big ? s : b, inner);
    }
}

static rill_status stack_join(const struct interp *in, const struct node *n, const struct stack *s,
                              int axis, bool reverse, const struct wire *empty,
                              const struct tensor **ret)
{
    struct tensor t = { .rank = 0 };
    struct wire known = *empty;
    binding_fact(in->bound, &known.fact);
    if (s->n)
        t = *s->item[0];
    else if (!wire_to_tensor(&known, &t))
        return op_fail(in->err, RILL_UNSUPPORTED, n,
                       "a loop of zero iterations gives an output of unknown shape");
    if (t.rank == RANK_MAX || axis > t.rank)
        return op_fail(in->err, RILL_LIMIT, n, "a stacked output has more than %d axes", RANK_MAX);
    memmove(&t.dim[axis + 1], &t.dim[axis], (size_t) (t.rank - axis) * sizeof t.dim[0]);
    t.dim[axis] = (int64_t) s->n;
    struct tensor *big = tensor_new(in->arena, t.type, t.rank + 1, t.dim);
    if (!big)
        return no_memory(in, n);
    for (uint32_t i = 0; i < s->n; i++) {
        if (tensor_bytes(s->item[i]) != tensor_bytes(s->item[0]))
            return op_fail(in->err, RILL_UNSUPPORTED, n,
                           "an output changes its shape from iteration to iteration");
        slice_copy(big, big->data, axis, (int64_t) (reverse ? s->n - 1 - i : i), s->item[i]->data,
                   true);
    }
    *ret = big;
    return RILL_OK;
}

/* Iterations of a body. Each computes in memory of its own, which goes before the next: a loop
 * keeps what it gives, and no more. */
struct rounds {
    struct interp in; /* of this iteration */
    struct arena now;
    struct arena state[2]; /* what the last two gave to the one after them */
    uint64_t n;
    const struct tensor **args, **outs; /* of the body */
    struct stack *stacks;
};

/* What the run may still take; 0: it has no limit. */
static size_t arena_left(const struct arena *a)
{
    return !a->limit_bytes               ? 0
        : a->used_bytes < a->limit_bytes ? a->limit_bytes - a->used_bytes
                                         : 1;
}

static rill_status rounds_begin(struct rounds *r, const struct interp *in, const struct node *n,
                                unsigned n_stacks)
{
    const size_t limit = arena_left(in->arena);
    *r = (struct rounds) { .in = *in,
                           .now.limit_bytes = limit,
                           .state = { { .limit_bytes = limit }, { .limit_bytes = limit } } };
    r->args = arena_array(in->arena, const struct tensor *, n->body[0]->n_inputs + 1);
    r->outs = arena_array(in->arena, const struct tensor *, n->body[0]->n_outputs + 1);
    r->stacks = arena_array(in->arena, struct stack, n_stacks + 1);
    return r->args && r->outs && r->stacks ? RILL_OK : no_memory(in, n);
}

/* The limit of what it computed in was that of the run. */
static void rounds_end(struct rounds *r, const struct interp *in)
{
    in->arena->at_limit |= r->now.at_limit || r->state[0].at_limit || r->state[1].at_limit;
    arena_drop(&r->now);
    arena_drop(&r->state[0]);
    arena_drop(&r->state[1]);
}

/* Memory for the arguments of the next iteration, and what it computes. */
static void round_begin(struct rounds *r)
{
    arena_drop(&r->now);
    r->in.arena = &r->now;
}

/* The first n_states outputs live through the next iteration, the others as long as the run. */
static rill_status round_run(struct rounds *r, const struct interp *in, const struct node *n,
                             unsigned n_states)
{
    const struct graph *body = n->body[0];
    struct arena *state = &r->state[r->n++ & 1];
    TRY(graph_run(&r->in, body, r->args, r->outs));
    arena_drop(state);
    for (unsigned i = 0; i < body->n_outputs; i++) {
        r->outs[i] = tensor_clone(i < n_states ? state : in->arena, r->outs[i]);
        if (!r->outs[i])
            return i < n_states && state->at_limit ? no_memory_in(state, in, n) : no_memory(in, n);
    }
    return RILL_OK;
}

/* The states that the last iteration left. */
static rill_status rounds_states(const struct interp *in, const struct node *n,
                                 const struct tensor *const *states, unsigned n_states,
                                 const struct tensor **ret)
{
    for (unsigned i = 0; i < n_states; i++) {
        ret[i] = tensor_clone(in->arena, states[i]);
        if (!ret[i])
            return no_memory(in, n);
    }
    return RILL_OK;
}

static rill_status loop_rounds(const struct interp *in, const struct node *n, struct rounds *r,
                               const struct tensor *const *x, const struct tensor **ret)
{
    const struct graph *body = n->body[0];
    unsigned n_states = (unsigned) ((const struct loop_attr *) n->attr)->n_states,
             n_stacks = body->n_outputs - 1 - n_states;
    int64_t trips = x[0] ? tensor_get_i64(x[0], x[0]->data, 0) : INT64_MAX;
    bool go = !x[1] || tensor_get_i64(x[1], x[1]->data, 0);
    for (unsigned i = 2; i < body->n_inputs; i++)
        r->args[i] = x[i];
    for (int64_t it = 0; go && it < trips; it++) {
        if (it == LOOP_ITERATIONS_MAX)
            return op_fail(in->err, RILL_LIMIT, n, "more than %d iterations", LOOP_ITERATIONS_MAX);
        round_begin(r);
        struct tensor *count = tensor_new(&r->now, DTYPE_I64, 0, NULL),
                      *cond = tensor_new(&r->now, DTYPE_BOOL, 0, NULL);
        if (!count || !cond)
            return no_memory(in, n);
        *(int64_t *) count->data = it;
        *(uint8_t *) cond->data = 1;
        r->args[0] = count;
        r->args[1] = cond;
        TRY(round_run(r, in, n, 1 + n_states));
        go = tensor_get_i64(r->outs[0], r->outs[0]->data, 0);
        for (unsigned i = 0; i < n_states; i++)
            r->args[2 + i] = r->outs[1 + i];
        for (unsigned i = 0; i < n_stacks; i++)
            if (!stack_push(in->arena, &r->stacks[i], r->outs[1 + n_states + i]))
                return no_memory(in, n);
    }
    TRY(rounds_states(in, n, r->args + 2, n_states, ret));
    for (unsigned i = 0; i < n_stacks; i++)
        TRY(stack_join(in, n, &r->stacks[i], 0, false,
                       &body->wires[body->outputs[1 + n_states + i]], &ret[n_states + i]));
    return RILL_OK;
}

static rill_status loop_run(const struct interp *in, const struct node *n,
                            const struct tensor *const *x, const struct tensor **ret)
{
    struct rounds r;
    TRY(rounds_begin(&r, in, n, n->body[0]->n_outputs));
    rill_status s = loop_rounds(in, n, &r, x, ret);
    rounds_end(&r, in);
    return s;
}

static rill_status scan_slice(const struct interp *in, const struct node *n, const struct tensor *t,
                              int axis, int64_t at, const struct tensor **ret)
{
    int64_t dim[RANK_MAX];
    for (int i = 0, k = 0; i < t->rank; i++)
        if (i != axis)
            dim[k++] = t->dim[i];
    struct tensor *s = tensor_new(in->arena, t->type, t->rank - 1, dim);
    if (!s)
        return no_memory(in, n);
    slice_copy(t, t->data, axis, at, s->data, false);
    *ret = s;
    return RILL_OK;
}

static rill_status scan_length(const struct interp *in, const struct node *n,
                               const struct tensor *const *x, int64_t *ret)
{
    const struct scan_attr *at = n->attr;
    *ret = 0;
    for (unsigned k = 0; k < at->n_scanned; k++) {
        const struct tensor *t = x[at->n_states + k];
        int axis = t ? scan_axis(at->in_axes, k, t->rank) : -1;
        if (axis < 0)
            return op_fail(in->err, RILL_MALFORMED, n, "scanned input %u has no axis to scan", k);
        if (k && t->dim[axis] != *ret)
            return op_fail(in->err, RILL_MALFORMED, n, "scanned inputs have lengths %lld and %lld",
                           (long long) *ret, (long long) t->dim[axis]);
        *ret = t->dim[axis];
    }
    return RILL_OK;
}

static rill_status scan_stacks(const struct interp *in, const struct node *n,
                               const struct rounds *r, const struct tensor **ret)
{
    const struct scan_attr *at = n->attr;
    const struct graph *body = n->body[0];
    for (unsigned i = (unsigned) at->n_states, k = 0; i < body->n_outputs; i++, k++) {
        const struct wire *w = &body->wires[body->outputs[i]];
        int rank = r->stacks[k].n ? r->stacks[k].item[0]->rank : w->fact.rank,
            axis = scan_axis(at->out_axes, k, rank + 1);
        if (axis < 0)
            return op_fail(in->err, RILL_MALFORMED, n, "scanned output %u has no such axis", k);
        TRY(stack_join(in, n, &r->stacks[k], axis, scan_is_reverse(at->out_reverse, k), w,
                       &ret[i]));
    }
    return RILL_OK;
}

static rill_status scan_rounds(const struct interp *in, const struct node *n, struct rounds *r,
                               const struct tensor *const *x, const struct tensor **ret)
{
    const struct scan_attr *at = n->attr;
    const struct graph *body = n->body[0];
    unsigned n_states = (unsigned) at->n_states, n_scanned = (unsigned) at->n_scanned;
    int64_t length;
    memcpy(r->args, x, body->n_inputs * sizeof *x);
    TRY(scan_length(in, n, x, &length));
    for (int64_t it = 0; it < length; it++) {
        round_begin(r);
        for (unsigned k = 0; k < n_scanned; k++) {
            const struct tensor *t = x[n_states + k];
            int64_t pos = scan_is_reverse(at->in_reverse, k) ? length - 1 - it : it;
            TRY(scan_slice(&r->in, n, t, scan_axis(at->in_axes, k, t->rank), pos,
                           &r->args[n_states + k]));
        }
        TRY(round_run(r, in, n, n_states));
        for (unsigned i = 0; i < n_states; i++)
            r->args[i] = r->outs[i];
        for (unsigned i = n_states; i < body->n_outputs; i++)
            if (!stack_push(in->arena, &r->stacks[i - n_states], r->outs[i]))
                return no_memory(in, n);
    }
    TRY(rounds_states(in, n, r->args, n_states, ret));
    return scan_stacks(in, n, r, ret);
}

static rill_status scan_run(const struct interp *in, const struct node *n,
                            const struct tensor *const *x, const struct tensor **ret)
{
    struct rounds r;
    TRY(rounds_begin(&r, in, n, n->body[0]->n_outputs));
    rill_status s = scan_rounds(in, n, &r, x, ret);
    rounds_end(&r, in);
    return s;
}

static rill_status control_run(const struct interp *in, const struct node *n,
                               const struct tensor *const *x, const struct tensor **ret)
{
    if (n->op == &op_if)
        return if_run(in, n, x, ret);
    return n->op == &op_loop ? loop_run(in, n, x, ret) : scan_run(in, n, x, ret);
}

rill_status interp_node(struct dims *ds, const struct node *n, const struct tensor *const *in,
                        const struct kern *kern, struct arena *a, const struct tensor **ret_out,
                        rill_error *reterr)
{
    const struct binding none = { .dims = ds };
    struct interp ctx = { .dims = ds, .arena = a, .kern = kern, .err = reterr };
    if (!(n->op->flags & OP_CONTROL))
        return node_run(&ctx, NULL, n, in, ret_out);
    ctx.bound = &none;
    return control_run(&ctx, n, in, ret_out);
}

/* ---- graphs ---- */

static rill_status graph_step(const struct interp *in, const struct graph *g, const struct node *n,
                              const struct tensor **wires)
{
    const struct tensor **x = arena_array(in->arena, const struct tensor *, n->n_in + 1);
    const struct tensor **y = arena_array(in->arena, const struct tensor *, n->n_out + 1);
    if (!x || !y)
        return no_memory(in, n);
    for (unsigned i = 0; i < n->n_in; i++)
        x[i] = n->in[i] == WIRE_NONE ? NULL : wires[n->in[i]];
    TRY(n->op->flags & OP_CONTROL ? control_run(in, n, x, y) : node_run(in, g, n, x, y));
    if (in->watch)
        TRY(in->watch->see(in->watch->arg, n, x, y));
    for (unsigned i = 0; i < n->n_out; i++)
        if (n->out[i] != WIRE_NONE)
            wires[n->out[i]] = y[i];
    return RILL_OK;
}

static rill_status state_start(const struct interp *in, const struct graph *g,
                               const struct state *s, const struct tensor **wires)
{
    struct tensor t;
    struct fact f = g->wires[s->in].fact;
    binding_fact(in->bound, &f);
    if (!s->init && !fact_to_tensor(&f, &t))
        return err_set(in->err, RILL_UNSUPPORTED, "state '%s' has no known shape", s->name);
    wires[s->in] = s->init ? s->init : tensor_new(in->arena, t.type, t.rank, t.dim);
    return wires[s->in] ? RILL_OK : err_set(in->err, RILL_NOMEM, "out of memory");
}

static rill_status graph_run(const struct interp *in, const struct graph *g,
                             const struct tensor *const *inputs, const struct tensor **ret)
{
    const struct tensor **wires = arena_array(in->arena, const struct tensor *, g->n_wires + 1);
    if (!wires)
        return err_set(in->err, RILL_NOMEM, "out of memory");
    for (uint32_t w = 0; w < g->n_wires; w++) {
        wires[w] = binding_tensor(in->bound, in->arena, g->wires[w].fact.value);
        if (!wires[w] && g->wires[w].fact.value)
            return err_set(in->err, RILL_NOMEM, "out of memory");
        TRY(sizes_check(in, g->wires[w].name));
    }
    for (uint32_t i = 0; i < g->n_inputs; i++)
        wires[g->inputs[i]] = inputs[i];
    for (uint32_t i = 0; i < g->n_states; i++)
        TRY(state_start(in, g, &g->states[i], wires));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(graph_step(in, g, &g->nodes[i], wires));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        ret[i] = wires[g->outputs[i]];
    return RILL_OK;
}

/* False: it is a constant, or nothing says before it is computed. */
static bool made_bytes(const struct interp *in, const struct wire *w, size_t *ret)
{
    struct fact f = w->fact;
    struct tensor t;
    binding_fact(in->bound, &f);
    if (f.value || !fact_to_tensor(&f, &t))
        return false;
    *ret = tensor_bytes(&t);
    return true;
}

/* What nodes make is kept until the run ends: what is known of its sizes fits before it begins. */
static rill_status sizes_fit(const struct interp *in, const struct graph *g)
{
    const struct node *where = NULL;
    size_t all = in->arena->used_bytes, most = 0, bytes;
    const char *name = NULL;
    for (uint32_t i = 0; in->arena->limit_bytes && i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_out; k++) {
            const uint32_t w = g->nodes[i].out[k];
            if (w == WIRE_NONE || !made_bytes(in, &g->wires[w], &bytes))
                continue;
            all = bytes < SIZE_MAX - all ? all + bytes : SIZE_MAX;
            if (bytes <= most)
                continue;
            most = bytes;
            name = g->wires[w].name;
            where = &g->nodes[i];
        }
    if (!where || all <= in->arena->limit_bytes)
        return RILL_OK;
    in->arena->at_limit = true;
    return op_fail(in->err, RILL_LIMIT, where,
                   "'%.80s': a tensor of %zu bytes; the run keeps %zu bytes, over the limit of %zu "
                   "bytes",
                   name, most, all, in->arena->limit_bytes);
}

rill_status interp_run_watched(const struct graph *g, const struct tensor *const *inputs,
                               struct arena *a, const struct interp_watch *watch,
                               const struct tensor **ret_outputs, rill_error *reterr)
{
    struct kern kern;
    kern_init(&kern, kern_cpu_detect());
    struct binding bound;
    struct interp in = {
        .dims = g->dims, .arena = a, .kern = &kern, .bound = &bound, .watch = watch, .err = reterr
    };
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct wire *w = &g->wires[g->inputs[i]];
        if (w->fact.type && inputs[i] && inputs[i]->type != w->fact.type)
            return err_set(reterr, RILL_INVALID, "input '%s' is %s, the model wants %s", w->name,
                           dtype_name(inputs[i]->type), dtype_name(w->fact.type));
    }
    TRY(binding_from_inputs(&bound, g, inputs, reterr));
    TRY(sizes_fit(&in, g));
    uint64_t mode = floats_flush();
    rill_status s = graph_run(&in, g, inputs, ret_outputs);
    floats_restore(mode);
    return s;
}

rill_status interp_run(const struct graph *g, const struct tensor *const *inputs, struct arena *a,
                       const struct tensor **ret_outputs, rill_error *reterr)
{
    return interp_run_watched(g, inputs, a, NULL, ret_outputs, reterr);
}
