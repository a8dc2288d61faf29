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

static rill_status body_make(struct conversion *l, const char *name, struct graph **ret)
{
    const struct outline *o = body_find(l, name);
    if (!o)
        return convert_fail(l, RILL_MALFORMED, "attribute '%s' is missing or holds no graph", name);
    *ret = arena_new(l->r->arena, struct graph);
    if (!*ret)
        return no_memory(l->r);
    return l->r->graph_make(l->r, o, l->node->capture, l->node->n_capture, true, *ret);
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
        TRY(scope_wire(l->scope, l->node->capture[i], &in[l->n_in + i]));
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
    TRY(body_make(l, "then_branch", &body[0]));
    TRY(body_make(l, "else_branch", &body[1]));
    if (body[0]->n_outputs != body[1]->n_outputs)
        return convert_fail(l, RILL_MALFORMED, "its branches give %u and %u outputs",
                            body[0]->n_outputs, body[1]->n_outputs);
    if (body[0]->n_inputs != l->node->n_capture || body[1]->n_inputs != l->node->n_capture)
        return convert_fail(l, RILL_MALFORMED, "its branches may not have inputs of their own");
    TRY(fit_outputs(l, body[0]->n_outputs));
    return control_emit(l, &op_if, NULL, body, 2);
}

rill_status up_loop(struct conversion *l)
{
    struct graph **body = body_list(l, 1);
    struct loop_attr *attr = arena_new(l->r->arena, struct loop_attr);
    if (!body || !attr)
        return no_memory(l->r);
    while (l->n_in < 2)
        l->in[l->n_in++] = WIRE_NONE;
    attr->n_states = l->n_in - 2;
    for (unsigned i = 2; i < l->n_in; i++)
        if (!convert_has(l, i))
            return convert_fail(l, RILL_MALFORMED, "input %u, the start of a state, is absent", i);
    TRY(body_make(l, "body", &body[0]));
    unsigned formal = body[0]->n_inputs - l->node->n_capture;
    if (formal != l->n_in || body[0]->n_outputs < l->n_in - 1)
        return convert_fail(l, RILL_MALFORMED,
                            "has %u states, its body %u inputs and %u outputs; it wants %u "
                            "and at least %u",
                            l->n_in - 2, formal, body[0]->n_outputs, l->n_in, l->n_in - 1);
    TRY(fit_outputs(l, body[0]->n_outputs - 1));
    return control_emit(l, &op_loop, attr, body, 1);
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
    TRY(body_make(l, "body", &body[0]));
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
