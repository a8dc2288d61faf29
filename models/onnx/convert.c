/* SPDX-License-Identifier: MIT */
/* A graph as outlined becomes a struct graph: inputs, then node after node by its row in op_rows.c,
 * with a graph for each body; a constant comes over when it is first read (scope_wire). */
#include "models/onnx/internal.h"

#include <string.h>

/* ---- nodes ---- */

static rill_status node_attrs(struct conversion *l)
{
    const Onnxpb__Node *pb = l->node->pb;
    l->attr = arena_array(l->r->arena, struct attr, pb->n_attribute + CONVERT_SPARE);
    if (!l->attr)
        return no_memory(l->r);
    for (size_t i = 0; i < pb->n_attribute; i++) {
        if (pb->attribute[i]->g)
            continue;
        if (l->row->upgrade == up_optional && onnx_attr_is_type(pb->attribute[i]))
            continue; /* what it holds has one */
        struct attr a;
        TRY(onnx_attr(l->r, l->name, pb->attribute[i], &a));
        if (l->r->version.opset < 6 && !strcmp(a.name, "consumed_inputs"))
            continue; /* a hint on memory in old files */
        if (convert_attr(l, a.name))
            return convert_fail(l, RILL_MALFORMED, "attribute '%.60s' comes twice", a.name);
        l->attr[l->n_attr++] = a;
    }
    return RILL_OK;
}

static rill_status node_wires(struct conversion *l)
{
    const struct outline_node *n = l->node;
    l->in = arena_array(l->r->arena, uint32_t, n->n_in + CONVERT_SPARE);
    l->out = arena_array(l->r->arena, uint32_t, n->n_out + CONVERT_SPARE);
    if (!l->in || !l->out)
        return no_memory(l->r);
    for (; l->n_in < n->n_in; l->n_in++) {
        l->in[l->n_in] = WIRE_NONE;
        TRY(scope_sequence(l->scope, n->in[l->n_in])
                ? sequence_use_check(l, l->n_in)
                : scope_wire(l->scope, n->in[l->n_in], &l->in[l->n_in]));
    }
    for (; l->n_out < n->n_out; l->n_out++) {
        const char *name = sequence_is_made(l, l->n_out) ? "" : n->out[l->n_out];
        uint32_t w = *name ? graph_add_wire(l->scope->g, name, NULL) : WIRE_NONE;
        if (*name && (w == WIRE_NONE || !map_set(&l->scope->wires, name, w)))
            return no_memory(l->r);
        l->out[l->n_out] = w;
    }
    return RILL_OK;
}

static rill_status node_convert(struct scope *s, const struct outline_node *n)
{
    struct conversion l = { .r = s->r, .scope = s, .node = n, .name = n->name };
    l.domain = onnx_is_default_domain(n->pb->domain) ? "" : onnx_text(s->r->arena, n->pb->domain);
    if (!l.domain)
        return no_memory(s->r);
    if (s->r->version.other_domains && !*l.domain)
        return err_set(s->r->err, RILL_MALFORMED,
                       "node '%.80s': %.160s does not say which opset of the standard '%.60s' is "
                       "of; opsets %d to %d are read",
                       n->name, s->r->version.of, n->op, ONNX_OPSET_MIN, ONNX_OPSET_MAX);
    l.row = op_row_find(l.domain, n->op, s->r->version.opset);
    if (!l.row)
        return op_row_refuse(s->r, n->name, l.domain, n->op, s->r->version.opset);
    l.engine = l.row->engine;
    TRY(node_attrs(&l));
    TRY(convert_attrs_check(&l));
    TRY(node_wires(&l));
    if (n->n_body && l.row->upgrade != up_if_ && l.row->upgrade != up_loop &&
        l.row->upgrade != up_scan_9 && l.row->upgrade != up_scan_8)
        return convert_fail(&l, RILL_UNSUPPORTED,
                            "attribute '%.60s' holds a graph, which this op does not take",
                            n->body_name[0]);
    if (l.row->upgrade)
        TRY(l.row->upgrade(&l));
    return l.engine ? convert_add(&l, l.engine, l.attr, l.n_attr, l.in, l.n_in, l.out, l.n_out)
                    : RILL_OK;
}

/* A node of a function is read as the function says. */
static rill_status convert_node(struct scope *s, const struct outline_node *n)
{
    const struct onnx_version of_body = s->r->version;
    if (s->r->has_versions)
        s->r->version = *((const struct versioned_node *) n->pb)->version;
    TRY(node_convert(s, n));
    s->r->version = of_body;
    return RILL_OK;
}

/* ---- graphs ---- */

static rill_status add_input(struct scope *s, const char *name, const struct fact *f)
{
    uint32_t w = graph_add_input(s->g, name, f);
    return w != WIRE_NONE && map_set(&s->wires, name, w) ? RILL_OK : no_memory(s->r);
}

static rill_status input_fact(struct scope *s, const char *name, const Onnxpb__Type *pb,
                              struct fact *ret)
{
    TRY(fact_from_pb(s->r, name, pb, ret));
    return pb && pb->tensor_type ? scope_float8_set(s, name, pb->tensor_type->elem_type) : RILL_OK;
}

static bool input_grows(const struct scope *s, size_t i)
{
    return s->body && i < s->body->n_grows && s->body->grows[i];
}

static rill_status add_inputs(struct scope *s)
{
    const Onnxpb__Graph *pb = s->from->pb;
    for (size_t i = 0; i < pb->n_input; i++) {
        struct fact f = { .rank = -1 };
        const char *name = onnx_text(s->r->arena, pb->input[i]->name);
        struct sequence grows = { .kind = SEQUENCE_GROWS, .port = (unsigned) i, .put = WIRE_NONE };
        if (!name)
            return no_memory(s->r);
        if (!s->body && map_get(&s->from->constant, name))
            continue; /* an initializer that is also listed as an input */
        if (!s->body)
            TRY(input_fact(s, name, pb->input[i]->type, &f));
        TRY(input_grows(s, i) ? scope_sequence_set(s, name, &grows) : add_input(s, name, &f));
    }
    return RILL_OK;
}

/* What a body takes from outside: a sequence comes as one wire. */
static rill_status add_capture(struct scope *s, const char *name)
{
    const struct sequence *q = scope_sequence(s->body->outer, name);
    if (!q)
        return add_input(s, name, NULL);
    struct sequence inside = *q;
    inside.kind = SEQUENCE_STACK;
    inside.stack = graph_add_input(s->g, name, NULL);
    return inside.stack == WIRE_NONE ? no_memory(s->r) : scope_sequence_set(s, name, &inside);
}

/* A state of a Loop that is a sequence: what it grew by comes behind all other outputs. */
static rill_status grown_find(const struct scope *s, size_t i, const char *name, uint32_t *ret)
{
    const struct sequence *q = scope_sequence(s, name);
    *ret = WIRE_NONE;
    if (!q)
        return RILL_OK;
    if (!s->body || q->kind != SEQUENCE_GROWS || q->port != i + 1 || q->put == WIRE_NONE)
        return err_set(
            s->r->err, RILL_UNSUPPORTED,
            "graph '%.80s': output '%.80s' is a sequence; only a Loop that puts a tensor "
            "behind its end or in front in each iteration may give one",
            s->from->name, name);
    *ret = q->put;
    s->body->in_front[q->port] = q->in_front;
    return RILL_OK;
}

static rill_status add_outputs(struct scope *s)
{
    const Onnxpb__Graph *pb = s->from->pb;
    uint32_t *grown = arena_array(s->r->arena, uint32_t, pb->n_output + 1);
    size_t n = 0;
    if (!grown)
        return no_memory(s->r);
    for (size_t i = 0; i < pb->n_output; i++) {
        const char *name = onnx_text(s->r->arena, pb->output[i]->name);
        uint32_t w;
        if (!name)
            return no_memory(s->r);
        TRY(grown_find(s, i, name, &grown[n]));
        if (grown[n] != WIRE_NONE) {
            n++;
            continue;
        }
        TRY(scope_wire(s, name, &w));
        TRY(output_hint(s->r, pb->output[i]->type, &s->g->wires[w]));
        if (!graph_add_output(s->g, w))
            return no_memory(s->r);
    }
    for (size_t i = 0; i < n; i++)
        if (!graph_add_output(s->g, grown[i]))
            return no_memory(s->r);
    return RILL_OK;
}

rill_status graph_from_outline(struct reader *r, const struct outline *from, const char **capture,
                               uint32_t n_capture, const struct body_of *body, struct graph *ret)
{
    struct scope s = { .r = r,
                       .from = from,
                       .g = ret,
                       .body = body,
                       .wires.arena = r->arena,
                       .sequences.arena = r->arena,
                       .float8.arena = r->arena };
    graph_init(ret, r->arena, r->dims, from->name);
    TRY(add_inputs(&s));
    for (uint32_t i = 0; i < n_capture; i++) {
        /* A name that the other branch takes from outside may be this one's own. */
        const bool own = map_get(&s.wires, capture[i]) || map_get(&from->constant, capture[i]);
        if (!own)
            TRY(add_capture(&s, capture[i]));
        else if (graph_add_input(ret, capture[i], NULL) == WIRE_NONE)
            return no_memory(r);
    }
    for (uint32_t i = 0; i < from->n_nodes; i++)
        if (from->nodes[i].needed)
            TRY(convert_node(&s, &from->nodes[i]));
    return add_outputs(&s);
}
