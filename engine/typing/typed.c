/* SPDX-License-Identifier: MIT */
#include "engine/ops/attrs.h"
#include "engine/typing/typed.h"
#include "engine/typing/branch_shapes.h"
#include "engine/base/dim_claims.h"
#include "engine/graph/bodies.h"
#include "engine/graph/control.h"
#include "engine/typing/decide.h"
#include "engine/typing/declared.h"
#include "engine/typing/float_size.h"
#include "engine/typing/half.h"
#include "engine/typing/interp.h"
#include "engine/typing/late_slice.h"
#include "engine/typing/left.h"
#include "engine/typing/outputs.h"
#include "engine/typing/trips.h"
#include "engine/graph/prune.h"

#include <string.h>

#define FOLD_BYTES_MAX ((uint64_t) 64 << 20)
#define DEPTH_MAX 32

struct typer {
    const struct typed_opts *opts;
    const struct kern *kern;
    struct arena *arena;
    struct dims *dims;
    uint64_t fold_bytes_max;
    int depth;
    rill_error *err;
};

/* A graph being read and the graph being made from it; an inlined body is read into its parent's
 * dst. */
struct scope {
    const struct graph *src;
    struct graph *dst;
    uint32_t *map; /* src wire -> dst wire */
};

static rill_status no_memory(const struct typer *t)
{
    return err_set(t->err, RILL_NOMEM, "out of memory while typing a graph");
}

static rill_status scope_init(const struct typer *t, struct scope *s, const struct graph *src,
                              struct graph *dst)
{
    *s = (struct scope) { .src = src,
                          .dst = dst,
                          .map = arena_array(t->arena, uint32_t, src->n_wires + 1) };
    if (!s->map)
        return no_memory(t);
    for (uint32_t w = 0; w < src->n_wires; w++)
        s->map[w] = WIRE_NONE;
    return RILL_OK;
}

/* The wire in dst that stands for w; constants come over when first read. */
static rill_status scope_wire(const struct typer *t, struct scope *s, uint32_t w, uint32_t *ret)
{
    if (w == WIRE_NONE) {
        *ret = WIRE_NONE;
        return RILL_OK;
    }
    const struct wire *from = &s->src->wires[w];
    if (s->map[w] == WIRE_NONE && from->fact.value) {
        s->map[w] = half_file_const(s->dst, from->name, from->fact.value);
        if (s->map[w] == WIRE_NONE)
            return no_memory(t);
    }
    if (s->map[w] == WIRE_NONE)
        return err_set(t->err, RILL_MALFORMED, "graph '%s': '%s' is read before it is written",
                       s->src->name, from->name);
    *ret = s->map[w];
    return RILL_OK;
}

static const struct fact *wire_fact(const struct scope *s, uint32_t w)
{
    return w == WIRE_NONE ? NULL : &s->dst->wires[w].fact;
}

static rill_status scope_wires(const struct typer *t, struct scope *s, const uint32_t *from,
                               unsigned n, uint32_t **ret)
{
    uint32_t *list = arena_array(t->arena, uint32_t, n + 1);
    if (!list)
        return no_memory(t);
    for (unsigned i = 0; i < n; i++)
        TRY(scope_wire(t, s, from[i], &list[i]));
    *ret = list;
    return RILL_OK;
}

/* ---- plain nodes ---- */

static bool all_known(const struct scope *s, const uint32_t *in, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (in[i] != WIRE_NONE && !wire_fact(s, in[i])->value)
            return false;
    return true;
}

static rill_status set_const(const struct typer *t, struct scope *s, uint32_t src_wire,
                             const struct tensor *value)
{
    if (src_wire == WIRE_NONE)
        return RILL_OK;
    uint32_t w = graph_add_const(s->dst, s->src->wires[src_wire].name, value);
    s->map[src_wire] = w;
    return w == WIRE_NONE ? no_memory(t) : RILL_OK;
}

static bool transpose_turns(const struct transpose_attr *a)
{
    return !a->perm.n || (a->perm.n == 2 && a->perm.v[0] == 1);
}

/* A constant that was dequantised says from what, for products that want the integers. */
static rill_status quantised_note(const struct typer *t, const struct node *n,
                                  const struct tensor *const *x, const struct tensor **y)
{
    const bool turned = node_is(n, OP_TRANSPOSE) && x[0]->from && x[0]->rank == 2 &&
        transpose_turns(transpose_attr_of(n));
    const bool real =
        node_is(n, OP_DEQUANTIZE_LINEAR) && dtype_bytes(x[0]->type) == 1 && x[1]->type == DTYPE_F32;
    if ((!turned && !real) || !y[0] || y[0]->type != DTYPE_F32)
        return RILL_OK;
    struct tensor *own = arena_new(t->arena, struct tensor);
    struct quantised *from = arena_new(t->arena, struct quantised);
    if (!own || !from)
        return no_memory(t);
    if (turned) {
        *from = *x[0]->from;
        from->turned = !from->turned;
    } else {
        *from = (struct quantised) { .whole = x[0],
                                     .scale = x[1],
                                     .zero = n->n_in > 2 ? x[2] : NULL,
                                     .axis = axis_normalise(axis_of(n), x[0]->rank),
                                     .block = quant_attr_of(n)->block_size };
    }
    *own = *y[0];
    own->from = from;
    y[0] = own;
    return RILL_OK;
}

static rill_status node_fold(const struct typer *t, struct scope *s, const struct node *n,
                             const uint32_t *in)
{
    const struct tensor **x = arena_array(t->arena, const struct tensor *, n->n_in + 1);
    const struct tensor **y = arena_array(t->arena, const struct tensor *, n->n_out + 1);
    if (!x || !y)
        return no_memory(t);
    for (unsigned i = 0; i < n->n_in; i++)
        x[i] = in[i] == WIRE_NONE ? NULL : wire_fact(s, in[i])->value;
    TRY(interp_node(t->dims, n, x, t->kern, t->arena, y, t->err));
    TRY(quantised_note(t, n, x, y));
    for (unsigned i = 0; i < n->n_out; i++)
        TRY(set_const(t, s, n->out[i], y[i]));
    return RILL_OK;
}

static rill_status node_emit(const struct typer *t, struct scope *s, const struct node *n,
                             const uint32_t *in, unsigned n_in, const struct fact *facts,
                             struct node **ret)
{
    uint32_t *out = arena_array(t->arena, uint32_t, n->n_out + 1);
    if (!out)
        return no_memory(t);
    for (unsigned i = 0; i < n->n_out; i++) {
        out[i] = n->out[i] == WIRE_NONE
            ? WIRE_NONE
            : graph_add_wire(s->dst, s->src->wires[n->out[i]].name, &facts[i]);
        if (n->out[i] != WIRE_NONE)
            s->map[n->out[i]] = out[i];
    }
    struct node *made = graph_copy_node(s->dst, n, in, n_in, out);
    if (!made)
        return no_memory(t);
    if (ret)
        *ret = made;
    return RILL_OK;
}

/* A size that is not known yet is read, and what comes out is no expression of it. */
static bool waits_for_size(const struct scope *s, const struct node *n, const uint32_t *in,
                           const struct fact *out)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct tensor *v = in[i] == WIRE_NONE ? NULL : wire_fact(s, in[i])->value;
        if (v && v->type == DTYPE_DIM && n->n_out && out[0].type != DTYPE_DIM)
            return true;
    }
    return false;
}

static bool folds(const struct typer *t, const struct scope *s, const struct node *n,
                  const uint32_t *in, const struct fact *out)
{
    if ((n->op->flags & OP_RANDOM) || !all_known(s, in, n->n_in) || waits_for_size(s, n, in, out))
        return false;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n->n_out; i++) {
        struct tensor d;
        if (out[i].type && !fact_to_tensor(&out[i], &d))
            return false;
        bytes += out[i].type ? tensor_bytes(&d) : 0;
    }
    return bytes <= t->fold_bytes_max;
}

/* One truth value spread over the output's shape takes the node's place. */
static rill_status truth_emit(const struct typer *t, struct scope *s, const struct node *n,
                              const struct fact *out, bool truth)
{
    const struct node expand = {
        .name = n->name, .op = op_by_id(OP_EXPAND), .out = n->out, .n_out = 1
    };
    int64_t rank = out->rank;
    const uint8_t value = truth;
    const struct tensor *one = tensor_from_data(t->arena, DTYPE_BOOL, 0, NULL, &value),
                        *sizes = tensor_from_data(t->arena, DTYPE_DIM, 1, &rank, out->shape);
    uint32_t in[2] = { graph_add_const(s->dst, n->name, one),
                       graph_add_const(s->dst, n->name, sizes) };
    if (!expand.op || in[0] == WIRE_NONE || in[1] == WIRE_NONE)
        return no_memory(t);
    return node_emit(t, s, &expand, in, 2, out, NULL);
}

static bool only_range_reads(const struct graph *g, uint32_t w)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] == w && g->nodes[i].op->id != OP_RANGE)
                return false;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] == w)
            return false;
    return true;
}

/* A symbolic size made a float for a Range of floats, which takes the size as it is. */
static bool size_for_range(const struct scope *s, const struct node *n, const uint32_t *in)
{
    bool casts = node_is(n, OP_CAST) && n->n_in == 1 && n->n_out == 1 && n->out[0] != WIRE_NONE;
    const struct fact *f = casts ? wire_fact(s, in[0]) : NULL;
    return f && f->type == DTYPE_DIM && dtype_is_float((enum dtype) cast_attr_of(n)->to) &&
        only_range_reads(s->src, n->out[0]);
}

/* Where n could not be typed because a size that it reads went through floats, that is to blame. */
static rill_status untyped(const struct typer *t, const struct scope *s, const struct node *n,
                           const uint32_t *in, rill_status status)
{
    for (unsigned i = 0; status == RILL_UNSUPPORTED && i < n->n_in; i++) {
        const struct fact *f = wire_fact(s, in[i]);
        if (f && !f->value && float_size_blame(s->dst, in[i], n, t->arena, t->err) != RILL_OK)
            return status;
    }
    return status;
}

/* `out` of a node becomes constants, wires or a node of dst. */
static rill_status outputs_make(const struct typer *t, struct scope *s, const struct node *n,
                                const uint32_t *in, const struct fact *const *facts,
                                const struct fact *out)
{
    bool truth;
    if (n->n_out == 1 && out[0].value)
        return set_const(t, s, n->out[0], out[0].value);
    if (folds(t, s, n, in, out))
        return node_fold(t, s, n, in);
    if (n->n_out == 1 && n->out[0] != WIRE_NONE && facts[0] && facts[0]->value &&
        node_gives_back(n, facts[0], &out[0])) {
        s->map[n->out[0]] = in[0]; /* too large to be copied */
        return RILL_OK;
    }
    if (!fact_is_static(&out[0]) && out[0].type == DTYPE_BOOL &&
        compare_decided(s->dst, n, in, &truth))
        return truth_emit(t, s, n, &out[0], truth);
    return node_emit(t, s, n, in, n->n_in, out, NULL);
}

/* One whose place data decides. */
static rill_status slice_type(const struct typer *t, struct scope *s, const struct node *n,
                              const uint32_t *in, bool *ret_done)
{
    const uint32_t out = n->n_out ? n->out[0] : WIRE_NONE;
    *ret_done = false;
    return out == WIRE_NONE
        ? RILL_OK
        : late_slice(s->dst, n, s->src->wires[out].name, in, &s->map[out], ret_done, t->err);
}

static rill_status node_type(const struct typer *t, struct scope *s, const struct node *of_file)
{
    struct node room;
    enum dtype to;
    const struct node *n = of_file;
    bool done;
    uint32_t *in;
    TRY(scope_wires(t, s, n->in, n->n_in, &in));
    if (size_for_range(s, n, in)) {
        s->map[n->out[0]] = in[0];
        return RILL_OK;
    }
    const struct tensor *size = float_size_cast(s->dst, n, in, t->arena);
    TRY(dims_status(t->dims, t->err));
    if (size)
        return set_const(t, s, n->out[0], size);
    TRY(slice_type(t, s, n, in, &done));
    if (done)
        return RILL_OK;
    TRY(float_size_range(s->dst, n, in, t->err));
    const struct fact **facts = arena_array(t->arena, const struct fact *, n->n_in + 1), **plain;
    struct fact *out = arena_array(t->arena, struct fact, n->n_out + 1);
    enum dtype *half = arena_array(t->arena, enum dtype, n->n_out + 1);
    const char **names = arena_array(t->arena, const char *, n->n_in + 1);
    if (!facts || !out || !half || !names)
        return no_memory(t);
    for (unsigned i = 0; i < n->n_in; i++) {
        facts[i] = wire_fact(s, in[i]);
        names[i] = n->in[i] == WIRE_NONE ? "" : s->src->wires[n->in[i]].name;
    }
    TRY(op_check_arity_made(n, t->err));
    TRY(half_cast(n, facts, t->arena, &room, &n, &to, t->err));
    TRY(half_hidden(n, facts, t->arena, &plain, t->err));
    rill_status typed = op_infer_named(n, plain, names, out, t->dims, t->arena, t->err);
    if (typed != RILL_OK)
        return untyped(t, s, n, in, typed);
    TRY(dims_status_of(t->dims, n->name, n->op->name, t->err));
    TRY(half_infer(n, facts, out, t->dims, t->arena, half, t->err));
    half[0] = to ? to : half[0];
    TRY(outputs_make(t, s, n, in, plain, out));
    for (unsigned i = 0; i < n->n_out; i++)
        if (n->out[i] != WIRE_NONE)
            TRY(half_output(s->dst, n, half[i], &s->map[n->out[i]], t->err));
    return RILL_OK;
}

/* ---- bodies ---- */

static rill_status graph_type(struct typer *t, struct scope *s);

/* Types a body on its own. facts: one per body input; those with a value become constants and *keep
 * is false for them. */
static rill_status body_type(struct typer *t, const struct graph *src, const struct fact *facts,
                             bool *keep, struct graph **ret)
{
    struct graph *dst = arena_new(t->arena, struct graph);
    struct scope s;
    if (!dst)
        return no_memory(t);
    graph_init(dst, t->arena, t->dims, src->name);
    TRY(scope_init(t, &s, src, dst));
    for (uint32_t i = 0; i < src->n_inputs; i++) {
        const char *name = src->wires[src->inputs[i]].name;
        keep[i] = !facts[i].value;
        uint32_t w = keep[i] ? graph_add_input(dst, name, &facts[i])
                             : half_const(dst, name, facts[i].value, half_of(&facts[i]));
        if (w == WIRE_NONE)
            return no_memory(t);
        s.map[src->inputs[i]] = w;
    }
    TRY(graph_type(t, &s));
    *ret = dst;
    return RILL_OK;
}

/* Reads a body into its parent: the node is gone. */
static rill_status body_inline(struct typer *t, struct scope *s, const struct node *n,
                               const struct graph *body, const uint32_t *args)
{
    struct scope inner;
    TRY(scope_init(t, &inner, body, s->dst));
    for (uint32_t i = 0; i < body->n_inputs; i++)
        inner.map[body->inputs[i]] = args[i];
    uint32_t first =
        s->dst->n_outputs; /* graph_type appends the body's outputs; they are taken off again */
    TRY(graph_type(t, &inner));
    for (unsigned i = 0; i < n->n_out; i++)
        if (n->out[i] != WIRE_NONE)
            s->map[n->out[i]] = s->dst->outputs[first + i];
    s->dst->n_outputs = first;
    return RILL_OK;
}

/* Branches that differ in the shape of an output: what they agree in is told before the refusal. */
static rill_status if_differs(struct typer *t, struct scope *s, const struct node *n,
                              struct graph *const *body, unsigned differs,
                              const struct tensor *cond)
{
    for (unsigned i = 0; i < n->n_out; i++) {
        struct fact f = body[0]->wires[body[0]->outputs[i]].fact;
        f.value = NULL;
        if (n->out[i] != WIRE_NONE && fact_same(&f, &body[1]->wires[body[1]->outputs[i]].fact))
            s->map[n->out[i]] = graph_add_wire(s->dst, s->src->wires[n->out[i]].name, &f);
    }
    return branch_shapes_refuse(s->dst->dims, n, differs,
                                &body[0]->wires[body[0]->outputs[differs]].fact,
                                &body[1]->wires[body[1]->outputs[differs]].fact, cond, t->err);
}

/* Keeps of list the entries whose flag is set. */
static unsigned list_keep(uint32_t *list, const bool *keep, unsigned n)
{
    unsigned m = 0;
    for (unsigned i = 0; i < n; i++)
        if (keep[i])
            list[m++] = list[i];
    return m;
}

static rill_status if_type(struct typer *t, struct scope *s, const struct node *n)
{
    uint32_t *in;
    TRY(scope_wires(t, s, n->in, n->n_in, &in));
    const struct tensor *cond = wire_fact(s, in[0])->value;
    if (cond && cond->type != DTYPE_DIM && tensor_count(cond) == 1)
        return body_inline(t, s, n, n->body[tensor_get_i64(cond, cond->data, 0) ? 0 : 1], in + 1);
    struct fact *facts = arena_array(t->arena, struct fact, n->n_in + n->n_out);
    bool *keep = arena_array(t->arena, bool, n->n_in);
    struct graph **body = arena_array(t->arena, struct graph *, 2);
    if (!facts || !keep || !body)
        return no_memory(t);
    struct fact *out = facts + n->n_in;
    for (unsigned i = 1; i < n->n_in; i++) {
        facts[i] = *wire_fact(s, in[i]);
        if (facts[i].value && facts[i].value->type == DTYPE_DIM)
            facts[i].value = NULL; /* a length that a stream is told of at its end */
    }
    for (int b = 0; b < 2; b++) { /* which keep the same inputs */
        dims_branch_begin(t->dims);
        const rill_status typed = body_type(t, n->body[b], facts + 1, keep, &body[b]);
        dims_branch_end(t->dims);
        if (typed != RILL_OK)
            return branch_untyped(s->dst->dims, n, cond, typed, t->err);
    }
    for (int b = 0; b < 2; b++)
        graph_sizes_refresh(body[b]);
    for (unsigned i = 0; i < n->n_out; i++) {
        out[i] = body[0]->wires[body[0]->outputs[i]].fact;
        out[i].value = NULL;
        const struct fact *other = &body[1]->wires[body[1]->outputs[i]].fact;
        if (half_differs(&out[i], other))
            return op_fail(t->err, RILL_MALFORMED, n,
                           "its branches give output %u different types: both must agree", i);
        if (!fact_same(&out[i], other))
            return if_differs(t, s, n, body, i, cond);
    }
    struct node *made;
    TRY(node_emit(t, s, n, in, 1 + list_keep(in + 1, keep, n->n_in - 1), out, &made));
    made->body = body;
    made->n_body = 2;
    return RILL_OK;
}

/* Facts of a Scan's slices and the length of the scanned axis. */
static rill_status scan_slices(const struct typer *t, const struct scope *s, const struct node *n,
                               const uint32_t *in, struct fact *facts,
                               const struct dim **ret_length)
{
    const struct scan_attr *at = n->attr;
    *ret_length = NULL;
    for (unsigned k = 0; k < at->n_scanned; k++) {
        unsigned i = (unsigned) at->n_states + k;
        const struct fact *f = wire_fact(s, in[i]);
        int axis = f && f->rank > 0 ? scan_axis(at->in_axes, k, f->rank) : -1;
        if (axis < 0)
            return op_fail(t->err, RILL_MALFORMED, n, "scanned input %u has no axis to scan", k);
        if (*ret_length && *ret_length != f->shape[axis]) {
            char a[100], b[100];
            dim_print(*ret_length, a, sizeof a);
            dim_print(f->shape[axis], b, sizeof b);
            return op_fail(t->err, RILL_MALFORMED, n, "scanned inputs have lengths %s and %s", a,
                           b);
        }
        *ret_length = f->shape[axis];
        facts[i] = fact_without_axis(f, axis);
    }
    return RILL_OK;
}

static rill_status state_check(const struct typer *t, const struct node *n,
                               const struct graph *body, unsigned out, const struct fact *in,
                               unsigned k)
{
    const struct fact *f = &body->wires[body->outputs[out]].fact;
    if (fact_same(f, in) && !half_differs(f, in))
        return RILL_OK;
    const struct fact was = half_in_file(in), is = half_in_file(f);
    char a[160], b[160];
    fact_print(&was, a, sizeof a);
    fact_print(&is, b, sizeof b);
    const bool grows = node_is(n, OP_LOOP) && f->type == in->type && f->rank == in->rank;
    return op_fail(t->err, grows ? RILL_UNSUPPORTED : RILL_MALFORMED, n,
                   "state %u goes in as %s and comes out as %s; both must agree", k, a, b);
}

static rill_status scan_type(struct typer *t, struct scope *s, const struct node *n)
{
    const struct scan_attr *at = n->attr;
    unsigned n_states = (unsigned) at->n_states, n_fixed = n_states + (unsigned) at->n_scanned;
    uint32_t *in;
    TRY(scope_wires(t, s, n->in, n->n_in, &in));
    struct fact *facts = arena_array(t->arena, struct fact, n->n_in + n->n_out + 1);
    bool *keep = arena_array(t->arena, bool, n->n_in + 1);
    struct graph **body = arena_array(t->arena, struct graph *, 1);
    const struct dim *length;
    if (!facts || !keep || !body)
        return no_memory(t);
    struct fact *out = facts + n->n_in;
    for (unsigned i = 0; i < n->n_in; i++) {
        facts[i] = *wire_fact(s, in[i]);
        facts[i].value = i < n_fixed ? NULL : facts[i].value;
    }
    TRY(scan_slices(t, s, n, in, facts, &length));
    TRY(body_type(t, n->body[0], facts, keep, &body[0]));
    for (unsigned i = 0; i < n_states; i++) {
        TRY(state_check(t, n, body[0], i, &facts[i], i));
        out[i] = facts[i];
    }
    for (unsigned i = n_states; i < n->n_out; i++) {
        const struct fact *f = &body[0]->wires[body[0]->outputs[i]].fact;
        int axis = scan_axis(at->out_axes, i - n_states, f->rank + 1);
        if (axis < 0 || f->rank == RANK_MAX || !length)
            return op_fail(t->err, RILL_MALFORMED, n, "scanned output %u has no such axis",
                           i - n_states);
        out[i] = fact_with_axis(f, axis, length);
    }
    struct node *made;
    TRY(node_emit(t, s, n, in, list_keep(in, keep, n->n_in), out, &made));
    made->body = body;
    made->n_body = 1;
    return RILL_OK;
}

static rill_status loop_type(struct typer *t, struct scope *s, const struct node *n)
{
    const struct loop_attr *at = n->attr;
    unsigned n_states = (unsigned) at->n_states;
    uint32_t *in;
    TRY(scope_wires(t, s, n->in, n->n_in, &in));
    struct fact *facts = arena_array(t->arena, struct fact, n->n_in + n->n_out + 1);
    bool *keep = arena_array(t->arena, bool, n->n_in + 1);
    struct graph **body = arena_array(t->arena, struct graph *, 1);
    if (!facts || !keep || !body)
        return no_memory(t);
    struct fact *out = facts + n->n_in;
    facts[0] = (struct fact) { .type = DTYPE_I64 };
    facts[1] = (struct fact) { .type = DTYPE_BOOL };
    for (unsigned i = 2; i < n->n_in; i++) {
        facts[i] = *wire_fact(s, in[i]);
        facts[i].value = i < 2 + n_states ? NULL : facts[i].value;
    }
    TRY(body_type(t, n->body[0], facts, keep, &body[0]));
    for (unsigned i = 0; i < n_states; i++) {
        TRY(state_check(t, n, body[0], 1 + i, &facts[2 + i], i));
        out[i] = facts[2 + i];
    }
    const struct dim *trips = loop_trips(&(struct loop) { s->dst, body[0], in, n->n_in, n_states });
    const struct dim *length = trips ? trips : dim_fresh(t->dims);
    for (unsigned i = n_states; i < n->n_out; i++)
        out[i] = fact_with_axis(&body[0]->wires[body[0]->outputs[1 + i]].fact, 0, length);
    struct node *made;
    keep[0] = keep[1] = true;
    TRY(node_emit(t, s, n, in, list_keep(in, keep, n->n_in), out, &made));
    made->body = body;
    made->n_body = 1;
    return RILL_OK;
}

/* ---- graphs ---- */

static rill_status any_type(struct typer *t, struct scope *s, const struct node *n)
{
    TRY(n->op == &op_if         ? if_type(t, s, n)
            : n->op == &op_scan ? scan_type(t, s, n)
            : n->op == &op_loop ? loop_type(t, s, n)
                                : node_type(t, s, n));
    for (unsigned i = 0; i < n->n_out; i++) {
        const struct declared *d =
            n->out[i] == WIRE_NONE ? NULL : s->src->wires[n->out[i]].declared;
        const uint32_t like = d && d->like != WIRE_NONE ? s->map[d->like] : WIRE_NONE;
        if (d && !d->is_hint)
            TRY(declared_check(n, d, wire_fact(s, s->map[n->out[i]]), wire_fact(s, like), t->err));
    }
    return RILL_OK;
}

/* Node k of the graph itself, or what waits for data is left. */
static rill_status any_type_or_leave(struct typer *t, struct scope *s, uint32_t k)
{
    const struct node *n = &s->src->nodes[k];
    struct typed_left *left = t->depth == 1 && t->opts ? t->opts->left : NULL;
    const uint32_t n_outputs = s->dst->n_outputs;
    const bool behind = left && left_reads(s->src, n, s->map);
    rill_status typed = behind ? RILL_OK : any_type(t, s, n);
    if (typed != RILL_OK && (!left || !left_excuses(typed)))
        return typed;
    if (!left || (!behind && typed == RILL_OK && !left_open(s->dst, n, s->map)))
        return RILL_OK;
    t->depth = 1;
    s->dst->n_outputs = n_outputs;
    for (unsigned i = 0; i < n->n_out; i++)
        if (n->out[i] != WIRE_NONE)
            s->map[n->out[i]] = WIRE_NONE;
    return left_note(left, k, behind ? LEFT_BEHIND : LEFT_ITSELF, typed == RILL_OK ? NULL : t->err,
                     t->arena)
        ? RILL_OK
        : no_memory(t);
}

static rill_status graph_type(struct typer *t, struct scope *s)
{
    if (++t->depth > DEPTH_MAX)
        return err_set(t->err, RILL_LIMIT, "graph '%s': bodies are nested more than %d deep",
                       s->src->name, DEPTH_MAX);
    for (uint32_t i = 0; i < s->src->n_nodes; i++)
        TRY(any_type_or_leave(t, s, i));
    const bool leaves = t->depth == 1 && t->opts && t->opts->left;
    if (leaves && !left_outputs(t->opts->left, s->src, s->dst, s->map))
        return no_memory(t);
    for (uint32_t i = 0; !leaves && i < s->src->n_outputs; i++) {
        uint32_t w = WIRE_NONE;
        TRY(scope_wire(t, s, s->src->outputs[i], &w));
        if (!graph_add_output(s->dst, w))
            return no_memory(t);
    }
    t->depth--;
    return RILL_OK;
}

static const struct typed_input *input_override(const struct typed_opts *opts, const char *name)
{
    for (unsigned i = 0; opts && i < opts->n_inputs; i++)
        if (!strcmp(opts->inputs[i].name, name))
            return &opts->inputs[i];
    return NULL;
}

/* Numbers that come in for f16 and bf16 are made such. f: what the file says of it, or the caller,
 * who may promise (by `number`) that they are. */
static rill_status input_type(const struct typer *t, struct scope *s, const struct wire *from,
                              const struct fact *f, uint32_t *ret)
{
    enum dtype half = dtype_is_half(from->fact.type) ? from->fact.type : half_of(f);
    struct fact in = { .type = half ? DTYPE_F32 : f->type, .rank = f->rank };
    memcpy(in.shape, f->shape, sizeof in.shape);
    in.number = half_of(f) || in.type == DTYPE_DIM ? f->number : DTYPE_NONE;
    bool known = f->value != NULL;
    *ret = !known ? graph_add_input(s->dst, from->name, &in)
        : half    ? half_const(s->dst, from->name, half_rounded(t->arena, f->value, half), half)
                  : graph_add_const(s->dst, from->name, f->value);
    if (*ret == WIRE_NONE)
        return no_memory(t);
    return half && !known && !in.number ? half_round_input(s->dst, half, ret, t->err) : RILL_OK;
}

static rill_status inputs_type(const struct typer *t, struct scope *s)
{
    for (uint32_t i = 0; i < s->src->n_inputs; i++) {
        const struct wire *from = &s->src->wires[s->src->inputs[i]];
        const struct typed_input *o = input_override(t->opts, from->name);
        const struct fact *f = o ? &o->fact : &from->fact;
        bool told = dtype_is_half(from->fact.type) && f->type == DTYPE_F32; /* f32 for a half */
        if (o && from->fact.type && f->type != from->fact.type && !told)
            return err_set(t->err, RILL_INVALID, "input '%s' is %s in the file, %s was asked for",
                           from->name, dtype_name(from->fact.type), dtype_name(f->type));
        if (!f->type || f->rank < 0)
            return err_set(t->err, RILL_UNSUPPORTED,
                           "input '%s' has no declared %s: give its shape", from->name,
                           f->type ? "shape" : "type");
        TRY(input_type(t, s, from, f, &s->map[s->src->inputs[i]]));
    }
    return RILL_OK;
}

/* What a run leaves is what the next one reads. */
static rill_status state_agrees(const struct typer *t, const struct tensor *first,
                                const struct wire *in, const struct wire *out)
{
    struct tensor init = { 0 };
    char a[160], b[160];
    bool fits = !first ||
        (fact_to_tensor(&in->fact, &init) && init.type == first->type && init.rank == first->rank &&
         !memcmp(init.dim, first->dim, (size_t) init.rank * sizeof *init.dim));
    if (!fits)
        return err_set(t->err, RILL_INVALID, "state '%s' does not fit its first value", in->name);
    if (fact_same(&in->fact, &out->fact))
        return RILL_OK;
    fact_print(&in->fact, a, sizeof a);
    fact_print(&out->fact, b, sizeof b);
    return err_set(t->err, RILL_INVALID,
                   "state '%s' goes in as %s and comes out of '%s' as %s; both must agree",
                   in->name, a, out->name, b);
}

static rill_status states_type(const struct typer *t, struct scope *s, bool begin)
{
    for (uint32_t i = 0; i < s->src->n_states; i++) {
        const struct state *st = &s->src->states[i];
        if (begin) {
            const struct fact f = half_as_f32(&s->src->wires[st->in].fact);
            s->map[st->in] = graph_add_wire(s->dst, s->src->wires[st->in].name, &f);
            if (s->map[st->in] == WIRE_NONE)
                return no_memory(t);
            continue;
        }
        uint32_t out = WIRE_NONE;
        TRY(scope_wire(t, s, st->out, &out));
        const struct tensor *init = st->init ? half_widened(t->arena, st->init) : NULL;
        TRY(state_agrees(t, init, &s->dst->wires[s->map[st->in]], &s->dst->wires[out]));
        if ((st->init && !init) || !graph_add_state(s->dst, st->name, s->map[st->in], out, init))
            return no_memory(t);
    }
    return RILL_OK;
}

/* What the file itself declares may disagree: that is its fault, not ours. */
static rill_status file_check(const struct graph *g, rill_error *err)
{
    rill_status s = graph_check_bodies(g, NULL, NULL, err);
    return s == RILL_INTERNAL ? err_prefix(err, RILL_MALFORMED, "graph '%.80s'", g->name) : s;
}

static rill_status graph_walk(struct typer *t, struct scope *s)
{
    TRY(inputs_type(t, s));
    TRY(states_type(t, s, true));
    TRY(graph_type(t, s));
    graph_sizes_refresh(s->dst);
    if (!t->opts || !t->opts->left)
        TRY(graph_outputs_own(s->dst, s->src, t->err));
    return states_type(t, s, false);
}

static void facts_give(const struct scope *s, struct fact *ret)
{
    for (uint32_t w = 0; ret && w < s->src->n_wires; w++)
        ret[w] = s->map[w] != WIRE_NONE ? half_in_file(&s->dst->wires[s->map[w]].fact)
                                        : (struct fact) { .rank = -1 };
}

rill_status tgraph_from_mgraph(struct tgraph *ret, const struct mgraph *m,
                               const struct typed_opts *opts, rill_error *reterr)
{
    struct kern kern;
    kern_init(&kern, 0); /* folding gives the same bits on every machine */
    struct typer t = { .opts = opts,
                       .kern = &kern,
                       .arena = m->g.arena,
                       .dims = m->g.dims,
                       .err = reterr,
                       .fold_bytes_max =
                           opts && opts->fold_bytes_max ? opts->fold_bytes_max : FOLD_BYTES_MAX };
    struct graph g;
    struct scope s;
    TRY(file_check(&m->g, reterr));
    graph_init(&g, m->g.arena, m->g.dims, m->g.name);
    g.meta = m->g.meta;
    g.n_meta = m->g.n_meta;
    TRY(scope_init(&t, &s, &m->g, &g));
    rill_status walked = graph_walk(&t, &s);
    facts_give(&s, opts ? opts->ret_facts : NULL);
    TRY(walked);
    struct tgraph made;
    TRY(graph_pruned(&made.g, &g, reterr));
    TRY(graph_check(&made.g, reterr));
    TRY(graph_check_bodies(&made.g, NULL, NULL, reterr));
    *ret = made;
    return RILL_OK;
}
