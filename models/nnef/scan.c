/* SPDX-License-Identifier: MIT */
/* rill_scan: a fragment run over frames.
 *
 *     gain = rill_scan([power, phase], body = track,
 *                      state = [(noise, noise_next, rill_fill([257], 1.0))], full = [(window, w)]);
 *
 * Each tensor of x is cut along axis 0. The fragment's parameters that are neither states nor
 * `full` take the slices in their order; parameters that are left and have a default keep it. A
 * state is (parameter, result, first value): the result of one frame is the parameter of the next.
 * Results that are no state come out stacked along axis 0, in their order. */
#include "engine/graph/control.h"
#include "models/nnef/build.h"

#include <string.h>

struct scan_state {
    const char *in, *out;
    uint32_t init; /* wire outside */
};

struct scan_full {
    const char *in;
    struct val v;
};

struct scan_spec {
    const struct call *c;
    const struct nnef_fragment *body;
    uint32_t *x;
    unsigned n_x, n_states, n_full, n_results;
    struct scan_state *state;
    struct scan_full *full;
    const struct nnef_param **result; /* those that are no state */
    const struct dim *length;
};

static bool has_param(const struct nnef_param *list, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return true;
    return false;
}

static rill_status states_read(struct scan_spec *sp)
{
    const struct call *c = sp->c;
    struct nnef_expr *const *list;
    TRY(arg_tuples(c, "state", 3, &list, &sp->n_states));
    if (!(sp->state = arena_array(c->b->arena, struct scan_state, sp->n_states + 1u)))
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < sp->n_states; i++) {
        struct scan_state *st = &sp->state[i];
        struct val init;
        TRY(expr_name(c, list[i]->part[0], &st->in));
        TRY(expr_name(c, list[i]->part[1], &st->out));
        TRY(eval_expr(c->b, c->s, list[i]->part[2], &init));
        TRY(val_to_wire(c->b, c->s, list[i]->part[2]->pos, init, DTYPE_F32, &st->init));
        bool in = has_param(sp->body->params, sp->body->n_params, st->in);
        if (!in || !has_param(sp->body->results, sp->body->n_results, st->out))
            return nnef_fail(c->b, c->s, list[i]->pos, RILL_MALFORMED,
                             "state ('%.50s', '%.50s'): fragment '%.50s' has no %s '%.50s'", st->in,
                             st->out, sp->body->name, in ? "result" : "parameter",
                             in ? st->out : st->in);
    }
    return RILL_OK;
}

static rill_status full_read(struct scan_spec *sp)
{
    const struct call *c = sp->c;
    struct nnef_expr *const *list;
    TRY(arg_tuples(c, "full", 2, &list, &sp->n_full));
    if (!(sp->full = arena_array(c->b->arena, struct scan_full, sp->n_full + 1u)))
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < sp->n_full; i++) {
        TRY(expr_name(c, list[i]->part[0], &sp->full[i].in));
        TRY(eval_expr(c->b, c->s, list[i]->part[1], &sp->full[i].v));
        if (!has_param(sp->body->params, sp->body->n_params, sp->full[i].in))
            return nnef_fail(c->b, c->s, list[i]->pos, RILL_MALFORMED,
                             "full: fragment '%.50s' has no parameter '%.50s'", sp->body->name,
                             sp->full[i].in);
    }
    return RILL_OK;
}

/* All of x have the same number of frames. */
static rill_status length_read(struct scan_spec *sp)
{
    for (unsigned i = 0; i < sp->n_x; i++) {
        const struct fact *f = wire_fact(sp->c->s, sp->x[i]);
        if (f->rank < 1 || (sp->length && f->shape[0] != sp->length)) {
            char text[160];
            fact_print(f, text, sizeof text);
            return call_fail(
                sp->c, RILL_MALFORMED,
                "tensor %u to scan is %s: expected frames along axis 0, as many as the others "
                "have",
                i, text);
        }
        sp->length = f->shape[0];
    }
    return sp->n_x ? RILL_OK : call_fail(sp->c, RILL_MALFORMED, "a scan needs a tensor to scan");
}

static rill_status spec_read(struct scan_spec *sp, const struct call *c)
{
    const char *name;
    *sp = (struct scan_spec) { .c = c };
    TRY(expr_name(c, arg_expr(c, "body"), &name));
    if (!(sp->body = fragment_find(c->b, name)))
        return nnef_fail(c->b, c->s, arg_expr(c, "body")->pos, RILL_MALFORMED,
                         "'%.60s' is no fragment of this text", name);
    TRY(arg_wires(c, "x", &sp->x, &sp->n_x));
    TRY(length_read(sp));
    TRY(states_read(sp));
    TRY(full_read(sp));
    if (sp->body->n_results > SCAN_PARTS_MAX)
        return call_fail(c, RILL_LIMIT, "a scan of more than %d results", SCAN_PARTS_MAX);
    sp->result = arena_array(c->b->arena, const struct nnef_param *, sp->body->n_results + 1u);
    if (!sp->result)
        return nnef_no_memory(c->b);
    for (uint32_t i = 0; i < sp->body->n_results; i++) {
        bool state = false;
        for (unsigned k = 0; k < sp->n_states; k++)
            state |= !strcmp(sp->state[k].out, sp->body->results[i].name);
        if (!state)
            sp->result[sp->n_results++] = &sp->body->results[i];
    }
    return sp->n_results
        ? RILL_OK
        : call_fail(c, RILL_MALFORMED, "every result of '%.60s' is a state: nothing comes out",
                    sp->body->name);
}

static rill_status body_input(const struct scan_spec *sp, struct scope *in, const char *name,
                              const struct fact *f)
{
    uint32_t w = graph_add_input(in->g, name, f);
    if (w == WIRE_NONE)
        return nnef_no_memory(sp->c->b);
    return scope_bind(sp->c->b, in, name, val_of_wire(w));
}

static struct fact fact_of_slice(const struct fact *f)
{
    struct fact r = { .type = f->type, .rank = f->rank - 1 };
    memcpy(r.shape, f->shape + 1, (size_t) r.rank * sizeof *r.shape);
    return r;
}

static bool is_state_or_full(const struct scan_spec *sp, const char *name)
{
    for (unsigned i = 0; i < sp->n_states; i++)
        if (!strcmp(sp->state[i].in, name))
            return true;
    for (unsigned i = 0; i < sp->n_full; i++)
        if (!strcmp(sp->full[i].in, name))
            return true;
    return false;
}

/* States, slices, then what is taken whole: the order of a Scan's body. */
static rill_status body_bind(struct scan_spec *sp, struct scope *in, uint32_t *captures,
                             unsigned *ret_n)
{
    struct builder *b = sp->c->b;
    unsigned x = 0;
    for (unsigned i = 0; i < sp->n_states; i++) {
        struct fact f = *wire_fact(sp->c->s, sp->state[i].init);
        f.value = NULL;
        TRY(body_input(sp, in, sp->state[i].in, &f));
    }
    for (uint32_t i = 0; i < sp->body->n_params; i++) {
        const struct nnef_param *p = &sp->body->params[i];
        if (is_state_or_full(sp, p->name))
            continue;
        if (x < sp->n_x) {
            struct fact f = fact_of_slice(wire_fact(sp->c->s, sp->x[x++]));
            TRY(body_input(sp, in, p->name, &f));
            continue;
        }
        struct scope none = { .g = in->g, .prefix = in->prefix, .file = in->file };
        struct val v;
        if (!p->init)
            return call_fail(sp->c, RILL_MALFORMED,
                             "fragment '%.60s': nothing is given for parameter '%.60s'",
                             sp->body->name, p->name);
        TRY(eval_expr(b, &none, p->init, &v));
        TRY(scope_bind(b, in, p->name, v));
    }
    if (x < sp->n_x)
        return call_fail(sp->c, RILL_MALFORMED, "%u tensors to scan, fragment '%.60s' takes %u",
                         sp->n_x, sp->body->name, x);
    *ret_n = 0;
    for (unsigned i = 0; i < sp->n_full; i++) {
        struct val v = sp->full[i].v;
        if (v.kind != VAL_WIRE) {
            TRY(scope_bind(b, in, sp->full[i].in, v));
            continue;
        }
        captures[(*ret_n)++] = v.wire;
        struct fact f = *wire_fact(sp->c->s, v.wire);
        f.value = NULL;
        TRY(body_input(sp, in, sp->full[i].in, &f));
    }
    return RILL_OK;
}

static rill_status state_differs(const struct scan_spec *sp, const struct scan_state *st,
                                 const struct fact *in, const struct fact *out)
{
    char a[120], z[120];
    fact_print(in, a, sizeof a);
    fact_print(out, z, sizeof z);
    return call_fail(
        sp->c, RILL_MALFORMED,
        "state ('%.50s', '%.50s'): '%.50s' starts as %s but '%.50s' is %s; both must agree", st->in,
        st->out, st->in, a, st->out, z);
}

/* Body outputs in the order of a Scan: states, then results. */
static rill_status body_outputs(const struct scan_spec *sp, struct scope *in,
                                const struct val *values)
{
    for (unsigned i = 0; i < sp->n_states + sp->n_results; i++) {
        const struct scan_state *st = i < sp->n_states ? &sp->state[i] : NULL;
        const char *name = st ? st->out : sp->result[i - sp->n_states]->name;
        uint32_t k = 0, w;
        while (strcmp(sp->body->results[k].name, name) != 0)
            k++;
        TRY(val_to_wire(sp->c->b, in, sp->body->results[k].pos, values[k], DTYPE_F32, &w));
        const struct fact *from = st ? wire_fact(sp->c->s, st->init) : NULL;
        if (from && !fact_same(from, wire_fact(in, w)))
            return state_differs(sp, st, from, wire_fact(in, w));
        if (!graph_add_output(in->g, w))
            return nnef_no_memory(sp->c->b);
    }
    return RILL_OK;
}

static rill_status body_build(struct scan_spec *sp, struct graph *g, uint32_t *captures,
                              unsigned *ret_n)
{
    struct builder *b = sp->c->b;
    struct val *values = arena_array(b->arena, struct val, sp->body->n_results);
    const char *prefix = arena_printf(b->arena, "%s%s/", sp->c->s->prefix, sp->body->name);
    if (!values || !prefix)
        return nnef_no_memory(b);
    graph_init(g, b->arena, b->dims, sp->body->name);
    struct scope in = { .g = g, .file = b->doc->file, .prefix = prefix };
    TRY(body_bind(sp, &in, captures, ret_n));
    if (++b->calls > b->limits->calls)
        return call_fail(sp->c, RILL_LIMIT, "fragments call each other more than %u deep",
                         b->limits->calls);
    TRY(fragment_run(b, &in, sp->body, values));
    b->calls--;
    return body_outputs(sp, &in, values);
}

/* A result of a step, with the axis along which steps are stacked. */
static rill_status stacked_fact(const struct call *c, const struct scan_node *sn, unsigned k,
                                const struct fact *f, struct fact *ret)
{
    int axis = scan_axis(sn->attr.out_axes, k, f->rank + 1);
    if (f->rank == RANK_MAX || axis < 0)
        return call_fail(c, RILL_LIMIT, "a result of rank %d cannot be stacked", f->rank);
    *ret = *f;
    ret->value = NULL;
    ret->rank = f->rank + 1;
    memmove(ret->shape + axis + 1, ret->shape + axis, (size_t) (f->rank - axis) * sizeof *f->shape);
    ret->shape[axis] = sn->length;
    return RILL_OK;
}

rill_status scan_node_add(const struct call *c, const struct scan_node *sn, uint32_t *out)
{
    struct builder *b = c->b;
    struct graph *g = c->s->g;
    const struct graph *body = sn->body;
    struct graph **bodies = arena_array(b->arena, struct graph *, 1);
    const char *name =
        arena_printf(b->arena, "%s%s", c->s->prefix, c->s->target ? c->s->target : c->e->text);
    void *attr = arena_copy(b->arena, &sn->attr, sizeof sn->attr);
    if (!attr || !bodies || !name)
        return nnef_no_memory(b);
    bodies[0] = sn->body;
    unsigned n_states = (unsigned) sn->attr.n_states;
    for (unsigned i = 0; i < body->n_outputs; i++) {
        struct fact y = body->wires[body->outputs[i]].fact;
        y.value = NULL;
        if (i >= n_states)
            TRY(stacked_fact(c, sn, i - n_states, &y, &y));
        bool wanted = i >= n_states || sn->wants_last;
        out[i] =
            wanted ? graph_add_wire(g, arena_printf(b->arena, "%s:%u", name, i), &y) : WIRE_NONE;
        if (wanted && out[i] == WIRE_NONE)
            return nnef_no_memory(b);
    }
    struct node *n =
        graph_add_node(g, &op_scan, name, attr, sn->in, sn->n_in, out, body->n_outputs);
    if (!n)
        return nnef_no_memory(b);
    n->body = bodies;
    n->n_body = 1;
    return RILL_OK;
}

rill_status build_scan_node(const struct call *c, struct graph *body, unsigned n_states,
                            unsigned n_scanned, const struct dim *length, const uint32_t *in,
                            unsigned n_in, struct val *ret)
{
    struct scan_node sn = { .body = body,
                            .attr = { .n_states = n_states, .n_scanned = n_scanned },
                            .length = length,
                            .in = in,
                            .n_in = n_in };
    uint32_t *out = arena_array(c->b->arena, uint32_t, body->n_outputs + 1u);
    struct val *list = arena_array(c->b->arena, struct val, body->n_outputs + 1u);
    if (!out || !list)
        return nnef_no_memory(c->b);
    TRY(scan_node_add(c, &sn, out));
    unsigned n = body->n_outputs - n_states;
    for (unsigned i = 0; i < n; i++)
        list[i] = val_of_wire(out[n_states + i]);
    *ret = (struct val) { .kind = VAL_LIST, .n = n, .list = list };
    if (n == 1)
        *ret = list[0];
    return RILL_OK;
}

rill_status build_scan(const struct call *c, struct val *ret)
{
    struct builder *b = c->b;
    struct scan_spec *sp = arena_new(b->arena, struct scan_spec);
    struct graph *body = arena_new(b->arena, struct graph);
    uint32_t *captures;
    unsigned n_captures = 0, n = 0;
    if (!sp || !body)
        return nnef_no_memory(b);
    TRY(spec_read(sp, c));
    if (!(captures = arena_array(b->arena, uint32_t, sp->n_full + 1u)))
        return nnef_no_memory(b);
    TRY(body_build(sp, body, captures, &n_captures));
    uint32_t *in = arena_array(b->arena, uint32_t, sp->n_states + sp->n_x + n_captures + 1u);
    if (!in)
        return nnef_no_memory(b);
    for (unsigned i = 0; i < sp->n_states; i++)
        in[n++] = sp->state[i].init;
    for (unsigned i = 0; i < sp->n_x; i++)
        in[n++] = sp->x[i];
    for (unsigned i = 0; i < n_captures; i++)
        in[n++] = captures[i];
    return build_scan_node(c, body, sp->n_states, sp->n_x, sp->length, in, n, ret);
}
