/* SPDX-License-Identifier: MIT */
/* What a graph of the file and the graphs within it name, in which order nodes can be converted,
 * what a body captures, and which nodes nobody needs. */
#include "models/onnx/internal.h"

#include <string.h>

/* A growing set of names in the order in which they came. */
struct name_set {
    struct map map; /* name -> index */
    const char **name, **by;
    uint32_t n, cap;
};

struct outliner {
    const struct reader *r;
    struct outline *o;
    struct map defined;      /* value name -> what `define` says */
    struct name_set outside; /* read, not defined here so far */
};

static rill_status set_add(const struct reader *r, struct name_set *s, const char *name,
                           const char *by)
{
    if (map_get(&s->map, name))
        return RILL_OK;
    if (s->n == s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 16;
        const char **name_list = arena_array(r->arena, const char *, cap),
                   **by_list = arena_array(r->arena, const char *, cap);
        if (!name_list || !by_list)
            return no_memory(r);
        if (s->n) {
            memcpy(name_list, s->name, s->n * sizeof *name_list);
            memcpy(by_list, s->by, s->n * sizeof *by_list);
        }
        s->name = name_list;
        s->by = by_list;
        s->cap = cap;
    }
    s->name[s->n] = name;
    s->by[s->n] = by;
    s->map.arena = r->arena;
    return map_set(&s->map, name, s->n++) ? RILL_OK : no_memory(r);
}

/* by: the node, or who else defines it; at: number of the node and one, 0 for what is there at the
 * start. */
static rill_status define(struct outliner *u, const char *name, const char *by, uint32_t at)
{
    if (map_get(&u->defined, name))
        return err_set(u->r->err, RILL_MALFORMED, "%s: value '%.80s' is defined twice", by, name);
    return map_set(&u->defined, name, at) ? RILL_OK : no_memory(u->r);
}

/* ---- values that stand at the start ---- */

static rill_status define_inputs(struct outliner *u)
{
    const Onnxpb__Graph *pb = u->o->pb;
    for (size_t i = 0; i < pb->n_input; i++) {
        const char *name = onnx_text(u->r->arena, pb->input[i]->name);
        if (!name)
            return no_memory(u->r);
        if (!*name)
            return err_set(u->r->err, RILL_MALFORMED, "graph '%.80s': input %zu has no name",
                           u->o->name, i);
        TRY(define(u, name, "graph inputs", 0));
    }
    return RILL_OK;
}

static rill_status define_constants(struct outliner *u)
{
    const Onnxpb__Graph *pb = u->o->pb;
    if (pb->n_sparse_initializer)
        return err_set(u->r->err, RILL_UNSUPPORTED,
                       "graph '%.80s': sparse constants are not supported; "
                       "store them dense",
                       u->o->name);
    for (size_t i = 0; i < pb->n_initializer; i++) {
        const char *name = onnx_text(u->r->arena, pb->initializer[i]->name);
        if (!name)
            return no_memory(u->r);
        if (map_get(&u->o->constant, name))
            return err_set(u->r->err, RILL_MALFORMED,
                           "graph '%.80s': constant '%.80s' is defined twice", u->o->name, name);
        if (!map_set(&u->o->constant, name, (uint32_t) i) || !map_set(&u->defined, name, 0))
            return no_memory(u->r);
    }
    return RILL_OK;
}

/* ---- nodes ---- */

static rill_status node_bodies(const struct reader *r, struct outline_node *n)
{
    struct name_set captures = { 0 };
    uint32_t k = 0;
    for (size_t i = 0; i < n->pb->n_attribute; i++)
        n->n_body += n->pb->attribute[i]->g != NULL;
    n->body = arena_array(r->arena, struct outline *, n->n_body + 1);
    n->body_name = arena_array(r->arena, const char *, n->n_body + 1);
    if (!n->body || !n->body_name)
        return no_memory(r);
    for (size_t i = 0; i < n->pb->n_attribute; i++) {
        const Onnxpb__Attribute *a = n->pb->attribute[i];
        if (!a->g)
            continue;
        n->body_name[k] = onnx_text(r->arena, a->name);
        if (!n->body_name[k])
            return no_memory(r);
        TRY(outline_from_pb(r, a->g, &n->body[k]));
        for (uint32_t c = 0; c < n->body[k]->n_free; c++)
            TRY(set_add(r, &captures, n->body[k]->free_name[c], n->name));
        k++;
    }
    n->capture = captures.name;
    n->n_capture = captures.n;
    return RILL_OK;
}

/* The file's name for the node; otherwise that of its first output, or its op and number. */
static const char *node_name(const struct reader *r, const struct outline_node *n, size_t i)
{
    const char *own = onnx_text(r->arena, n->pb->name);
    if (!own || *own)
        return own;
    for (uint32_t k = 0; k < n->n_out; k++)
        if (*n->out[k])
            return n->out[k];
    return arena_printf(r->arena, "%s %zu", n->op, i);
}

static rill_status node_outline(struct outliner *u, size_t i)
{
    struct outline_node *n = &u->o->nodes[i];
    const struct reader *r = u->r;
    n->pb = u->o->pb->node[i];
    n->n_in = (uint32_t) n->pb->n_input;
    n->n_out = (uint32_t) n->pb->n_output;
    n->in = onnx_texts(r->arena, n->pb->input, n->n_in);
    n->out = onnx_texts(r->arena, n->pb->output, n->n_out);
    if (!n->in || !n->out)
        return no_memory(r);
    n->op = onnx_text(r->arena, n->pb->op_type);
    n->name = n->op ? node_name(r, n, i) : NULL;
    if (!n->name)
        return no_memory(r);
    TRY(node_bodies(r, n));
    for (uint32_t k = 0; k < n->n_out; k++)
        if (*n->out[k])
            TRY(define(u, n->out[k], n->name, (uint32_t) i + 1));
    return RILL_OK;
}

/* ---- the order in which nodes can be converted ---- */

enum { VISIT_NONE, VISIT_BEGUN, VISIT_DONE };

struct sorter {
    struct outliner *u;
    struct outline_node *sorted;
    uint32_t n;
    uint8_t *visit; /* of the nodes in the file's order */
    struct visit {
        uint32_t node, next; /* operand to look at */
    } * stack;               /* nodes that wait for the one above them */
    uint32_t depth;
};

static void visit_begin(struct sorter *s, uint32_t node)
{
    s->visit[node] = VISIT_BEGUN;
    s->stack[s->depth++] = (struct visit) { node, 0 };
}

/* Looks at the next operand of the node on top, or takes the node if it has no more. */
static rill_status visit_step(struct sorter *s)
{
    struct visit *top = &s->stack[s->depth - 1];
    const struct outline_node *nodes = s->u->o->nodes, *n = &nodes[top->node];
    if (top->next == n->n_in + n->n_capture) {
        s->visit[top->node] = VISIT_DONE;
        s->sorted[s->n++] = *n;
        s->depth--;
        return RILL_OK;
    }
    const uint32_t i = top->next++;
    const char *value = i < n->n_in ? n->in[i] : n->capture[i - n->n_in];
    const uint32_t *at = map_get(&s->u->defined, value);
    if (!*value)
        return RILL_OK;
    if (!at)
        return set_add(s->u->r, &s->u->outside, value, n->name);
    if (*at && s->visit[*at - 1] == VISIT_BEGUN)
        return err_set(
            s->u->r->err, RILL_MALFORMED,
            "node '%.80s' reads '%.80s', which cannot be made without it: the nodes go in a "
            "circle",
            n->name, value);
    if (*at && s->visit[*at - 1] == VISIT_NONE)
        visit_begin(s, *at - 1);
    return RILL_OK;
}

/* The file's order, except that a node which comes late moves to just before the first that needs
 * it. What is read and not defined here is noted on the way. */
static rill_status sort_nodes(struct outliner *u)
{
    const uint32_t n = u->o->n_nodes;
    struct sorter s = { .u = u,
                        .sorted = arena_array(u->r->arena, struct outline_node, n + 1),
                        .visit = arena_array(u->r->arena, uint8_t, n + 1),
                        .stack = arena_array(u->r->arena, struct visit, n + 1) };
    if (!s.sorted || !s.visit || !s.stack)
        return no_memory(u->r);
    for (uint32_t i = 0; i < n; i++)
        if (s.visit[i] == VISIT_NONE)
            for (visit_begin(&s, i); s.depth;)
                TRY(visit_step(&s));
    u->o->nodes = s.sorted;
    return RILL_OK;
}

/* ---- what is needed ---- */

static bool want(struct map *wanted, const char *const *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (*names[i] && !map_set(wanted, names[i], 0))
            return false;
    return true;
}

static rill_status mark_needed(struct outliner *u, struct map *wanted)
{
    for (uint32_t i = u->o->n_nodes; i-- > 0;) {
        struct outline_node *n = &u->o->nodes[i];
        for (uint32_t k = 0; k < n->n_out && !n->needed; k++)
            n->needed = map_get(wanted, n->out[k]) != NULL;
        if (n->needed && (!want(wanted, n->in, n->n_in) || !want(wanted, n->capture, n->n_capture)))
            return no_memory(u->r);
    }
    return RILL_OK;
}

static rill_status outline_outputs(struct outliner *u)
{
    struct map wanted = { .arena = u->r->arena };
    const Onnxpb__Graph *pb = u->o->pb;
    for (size_t i = 0; i < pb->n_output; i++) {
        const char *name = onnx_text(u->r->arena, pb->output[i]->name);
        if (!name || !map_set(&wanted, name, 0))
            return no_memory(u->r);
        if (!*name)
            return err_set(u->r->err, RILL_MALFORMED, "graph '%.80s': output %zu has no name",
                           u->o->name, i);
        if (!map_get(&u->defined, name))
            TRY(set_add(u->r, &u->outside, name, "graph outputs"));
    }
    TRY(mark_needed(u, &wanted));
    struct name_set *out = &u->outside;
    u->o->free_name = out->name;
    u->o->free_by = out->by;
    for (uint32_t i = 0; i < out->n; i++)
        if (map_get(&wanted, out->name[i])) {
            out->name[u->o->n_free] = out->name[i];
            out->by[u->o->n_free++] = out->by[i];
        }
    return RILL_OK;
}

rill_status outline_from_pb(const struct reader *r, const Onnxpb__Graph *pb, struct outline **ret)
{
    struct outline *o = arena_new(r->arena, struct outline);
    if (!o)
        return no_memory(r);
    *o = (struct outline) { .pb = pb,
                            .name = onnx_text(r->arena, pb->name),
                            .constant.arena = r->arena,
                            .n_nodes = (uint32_t) pb->n_node,
                            .nodes = arena_array(r->arena, struct outline_node, pb->n_node + 1) };
    struct outliner u = { .r = r, .o = o, .defined.arena = r->arena };
    if (!o->name || !o->nodes)
        return no_memory(r);
    TRY(define_inputs(&u));
    TRY(define_constants(&u));
    for (size_t i = 0; i < pb->n_node; i++)
        TRY(node_outline(&u, i));
    TRY(sort_nodes(&u));
    TRY(outline_outputs(&u));
    *ret = o;
    return RILL_OK;
}
