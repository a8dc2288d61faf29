/* SPDX-License-Identifier: MIT */
/* Ops with graphs inside: their bodies become closed graphs as engine/graph/control.h lays them
 * out. */
#include "engine/graph/control.h"
#include "models/onnx/internal.h"

#include <string.h>

static const struct outline *body_find(const struct conversion *l, const char *name)
{
    for (uint32_t i = 0; i < l->node->n_body; i++)
        if (!strcmp(l->node->body_name[i], name))
            return l->node->body[i];
    return NULL;
}

/* grows: for each input of the node, as of the body, whether it is a sequence that the node fills;
 * NULL: none is. */
static rill_status body_make(struct conversion *l, const char *name, const bool *grows,
                             bool *in_front, struct graph **ret)
{
    const struct body_of of = { l->scope, grows, in_front, grows ? l->n_in : 0 };
    const struct outline *o = body_find(l, name);
    if (!o)
        return convert_fail(l, RILL_MALFORMED, "attribute '%s' is missing or holds no graph", name);
    *ret = arena_new(l->r->arena, struct graph);
    if (!*ret)
        return no_memory(l->r);
    return l->r->graph_make(l->r, o, l->node->capture, l->node->n_capture, &of, *ret);
}

rill_status convert_with_body(struct conversion *l, const struct op *op, const void *attr,
                              struct graph **body, const uint32_t *in, unsigned n_in, uint32_t *out,
                              unsigned n_out)
{
    for (unsigned i = 0; i < n_out; i++) {
        const char *name = graph_name_next(l->scope->g, l->name);
        out[i] = name ? graph_add_wire(l->scope->g, name, NULL) : WIRE_NONE;
        if (out[i] == WIRE_NONE)
            return no_memory(l->r);
    }
    struct node *made = graph_add_node(l->scope->g, op, l->name, attr, in, n_in, out, n_out);
    if (!made)
        return no_memory(l->r);
    made->body = body;
    made->n_body = 1;
    return RILL_OK;
}

/* A sequence as one wire. */
static rill_status capture_wire(struct conversion *l, const char *name, uint32_t *ret)
{
    struct emitter e = { l, RILL_OK };
    const struct sequence *q = scope_sequence(l->scope, name);
    if (!q)
        return scope_wire(l->scope, name, ret);
    if (q->kind == SEQUENCE_GROWS || (q->kind == SEQUENCE_LIST && !q->n))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "its body takes sequence '%.80s' from outside, which %s", name,
                            q->kind == SEQUENCE_GROWS ? "a Loop fills" : "is empty");
    *ret = sequence_stacked(&e, q);
    return e.status;
}

/* Emits the node: its inputs, then what its bodies take from outside. */
static rill_status control_emit(struct conversion *l, const struct op *op, const void *attr,
                                struct graph **body, unsigned n_body)
{
    unsigned n = l->n_in + l->node->n_capture;
    uint32_t *in = arena_array(l->r->arena, uint32_t, n + 1);
    if (!in)
        return no_memory(l->r);
    memcpy(in, l->in, l->n_in * sizeof *in);
    for (uint32_t i = 0; i < l->node->n_capture; i++)
        TRY(capture_wire(l, l->node->capture[i], &in[l->n_in + i]));
    struct node *made = graph_add_node(l->scope->g, op, l->name, attr, in, n, l->out, l->n_out);
    if (!made)
        return no_memory(l->r);
    made->body = body;
    made->n_body = n_body;
    l->engine = NULL;
    return RILL_OK;
}

static struct graph **body_list(struct conversion *l, unsigned n)
{
    return arena_array(l->r->arena, struct graph *, n);
}

/* Every output of the body has a place in the node's list, wanted or not. */
static rill_status fit_outputs(struct conversion *l, unsigned n)
{
    uint32_t *out = arena_array(l->r->arena, uint32_t, n + 1);
    if (!out)
        return no_memory(l->r);
    if (l->n_out > n)
        return convert_fail(l, RILL_MALFORMED, "has %u outputs, its body gives %u", l->n_out, n);
    for (unsigned i = 0; i < n; i++)
        out[i] = i < l->n_out ? l->out[i] : WIRE_NONE;
    l->out = out;
    l->n_out = n;
    return RILL_OK;
}

rill_status up_if_(struct conversion *l)
{
    struct graph **body = body_list(l, 2);
    if (!body)
        return no_memory(l->r);
    if (!convert_has(l, 0) || l->n_in != 1)
        return convert_fail(l, RILL_MALFORMED, "takes one input, the condition");
    TRY(body_make(l, "then_branch", NULL, NULL, &body[0]));
    TRY(body_make(l, "else_branch", NULL, NULL, &body[1]));
    if (body[0]->n_outputs != body[1]->n_outputs)
        return convert_fail(l, RILL_MALFORMED, "its branches give %u and %u outputs",
                            body[0]->n_outputs, body[1]->n_outputs);
    if (body[0]->n_inputs != l->node->n_capture || body[1]->n_inputs != l->node->n_capture)
        return convert_fail(l, RILL_MALFORMED, "its branches may not have inputs of their own");
    TRY(fit_outputs(l, body[0]->n_outputs));
    return control_emit(l, &op_if, NULL, body, 2);
}

/* ---- Loop ---- */

/* Which inputs are sequences that the Loop fills. */
static rill_status loop_grows(const struct conversion *l, bool *ret, unsigned *n)
{
    *n = 0;
    for (unsigned i = 2; i < l->n_in; i++) {
        ret[i] = i < l->node->n_in && scope_sequence(l->scope, l->node->in[i]);
        *n += ret[i];
        if (!ret[i] && !convert_has(l, i))
            return convert_fail(l, RILL_MALFORMED, "input %u, the start of a state, is absent", i);
    }
    return RILL_OK;
}

/* Sequences leave the states; what they grow by is scanned behind all others. */
static rill_status loop_wires(struct conversion *l, const bool *grows, const struct grown *grown,
                              unsigned n_all)
{
    uint32_t *out = arena_array(l->r->arena, uint32_t, n_all + 1);
    unsigned n_in = 2, n = 0, states = l->n_in - 2;
    if (!out)
        return no_memory(l->r);
    if (l->n_out > n_all)
        return convert_fail(l, RILL_MALFORMED, "has %u outputs, its body gives %u", l->n_out,
                            n_all);
    for (unsigned i = 0; i < n_all; i++)
        if (i >= states || !grows[i + 2])
            out[n++] = i < l->n_out ? l->out[i] : WIRE_NONE;
    for (unsigned i = 0; i < states; i++) {
        const char *name = i < l->node->n_out ? l->node->out[i] : "";
        if (!grows[i + 2]) {
            l->in[n_in++] = l->in[i + 2];
            continue;
        }
        if (grown[i].is && grown[i].last != WIRE_NONE &&
            !(name = graph_name_next(l->scope->g, l->name)))
            return no_memory(l->r);
        out[n] = *name ? graph_add_wire(l->scope->g, name, NULL) : WIRE_NONE;
        if (*name && out[n] == WIRE_NONE)
            return no_memory(l->r);
        n++;
    }
    l->n_in = n_in;
    l->out = out;
    l->n_out = n;
    return RILL_OK;
}

/* What was scanned behind what a sequence was, or, the last first, in front of it. */
static uint32_t sequence_joined(struct emitter *e, const struct sequence *was, bool in_front,
                                uint32_t stack)
{
    if (in_front)
        stack = emit(e, "Slice", stack, emit_list(e, -1), emit_list(e, INT64_MIN + 1),
                     emit_list(e, 0), emit_list(e, -1));
    if (was->kind != SEQUENCE_STACK && !was->n)
        return stack;
    const uint32_t all = sequence_stacked(e, was);
    return in_front ? emit_joined(e, stack, all) : emit_joined(e, all, stack);
}

/* Each sequence, and each state that grew, is what it was and what was scanned beside that. first:
 * its wire's place. */
static rill_status loop_sequences(struct conversion *l, const bool *grows, const bool *in_front,
                                  const struct grown *grown, unsigned states, unsigned first)
{
    for (unsigned i = 0; i < states; i++) {
        struct emitter e = { l, RILL_OK };
        if (!grows[i + 2])
            continue;
        if (grown[i].is) {
            TRY(grown_put(l, &grown[i], l->out[first++]));
            continue;
        }
        const struct sequence *q = scope_sequence(l->scope, l->node->in[i + 2]);
        struct sequence all = { .kind = SEQUENCE_STACK, .stack = l->out[first++] };
        if (all.stack == WIRE_NONE)
            continue;
        if (q->kind == SEQUENCE_GROWS || (q->kind == SEQUENCE_STACK && (q->axis || q->keep)))
            return convert_fail(l, RILL_UNSUPPORTED,
                                "input %u is a sequence that is split from a tensor, or filled by "
                                "an outer Loop; start with an empty one",
                                i + 2);
        all.stack = sequence_joined(&e, q, in_front[i + 2], all.stack);
        TRY(e.status);
        TRY(scope_sequence_set(l->scope, l->node->out[i], &all));
    }
    return RILL_OK;
}

rill_status up_loop(struct conversion *l)
{
    struct graph **body = body_list(l, 1);
    struct loop_attr *attr = arena_new(l->r->arena, struct loop_attr);
    bool *grows = arena_array(l->r->arena, bool, l->n_in + 3),
         *in_front = arena_array(l->r->arena, bool, l->n_in + 3);
    struct grown *grown = arena_array(l->r->arena, struct grown, l->n_in + 3);
    unsigned n_grows;
    if (!body || !attr || !grows || !in_front || !grown)
        return no_memory(l->r);
    while (l->n_in < 2)
        l->in[l->n_in++] = WIRE_NONE;
    TRY(loop_grows(l, grows, &n_grows));
    TRY(body_make(l, "body", grows, in_front, &body[0]));
    n_grows += grown_take(l, body[0], grows, n_grows, grown);
    const unsigned states = l->n_in - 2;
    unsigned formal = body[0]->n_inputs + n_grows - l->node->n_capture;
    if (formal != l->n_in || body[0]->n_outputs < l->n_in - 1)
        return convert_fail(l, RILL_MALFORMED,
                            "has %u states, its body %u inputs and %u outputs; it wants %u "
                            "and at least %u",
                            states, formal, body[0]->n_outputs, l->n_in, l->n_in - 1);
    attr->n_states = states - n_grows;
    TRY(loop_wires(l, grows, grown, body[0]->n_outputs - 1));
    TRY(control_emit(l, &op_loop, attr, body, 1));
    return loop_sequences(l, grows, in_front, grown, states, l->n_out - n_grows);
}

static rill_status scan_list(struct conversion *l, const char *name, unsigned n,
                             struct attr_ints *ret)
{
    const struct attr *a = convert_attr(l, name);
    if (a && (a->kind != ATTR_INTS || a->ints.n > n))
        return convert_fail(l, RILL_MALFORMED, "attribute '%s' wants %u integers", name, n);
    if (a)
        *ret = a->ints;
    return RILL_OK;
}

rill_status up_scan_9(struct conversion *l)
{
    struct graph **body = body_list(l, 1);
    struct scan_attr *at = arena_new(l->r->arena, struct scan_attr);
    if (!body || !at)
        return no_memory(l->r);
    at->n_scanned = convert_int(l, "num_scan_inputs", -1);
    if (at->n_scanned < 1 || at->n_scanned > l->n_in)
        return convert_fail(l, RILL_MALFORMED,
                            "num_scan_inputs is missing, or not between 1 and the %u "
                            "inputs",
                            l->n_in);
    at->n_states = l->n_in - at->n_scanned;
    for (unsigned i = 0; i < l->n_in; i++)
        if (!convert_has(l, i))
            return convert_fail(l, RILL_MALFORMED, "input %u is absent", i);
    TRY(body_make(l, "body", NULL, NULL, &body[0]));
    unsigned formal = body[0]->n_inputs - l->node->n_capture, n_out = body[0]->n_outputs;
    if (formal != l->n_in || n_out < at->n_states)
        return convert_fail(l, RILL_MALFORMED,
                            "has %u inputs, its body %u inputs and %u outputs; they do not "
                            "fit",
                            l->n_in, formal, n_out);
    TRY(fit_outputs(l, n_out));
    TRY(scan_list(l, "scan_input_axes", (unsigned) at->n_scanned, &at->in_axes));
    TRY(scan_list(l, "scan_input_directions", (unsigned) at->n_scanned, &at->in_reverse));
    TRY(scan_list(l, "scan_output_axes", n_out - (unsigned) at->n_states, &at->out_axes));
    TRY(scan_list(l, "scan_output_directions", n_out - (unsigned) at->n_states, &at->out_reverse));
    return control_emit(l, &op_scan, at, body, 1);
}
