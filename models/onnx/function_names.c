/* SPDX-License-Identifier: MIT */
/* What the names of a function stand for: what the call gives has its name there, everything else
 * that of the call in front, and a number behind where two would be the same. */
#include "models/onnx/functions.h"

#include <string.h>

rill_status functions_no_room(const struct functions *u)
{
    if (!u->arena->at_limit)
        return no_memory(u->r);
    return err_set(u->r->err, RILL_LIMIT,
                   "writing out the functions that the file defines takes more than %zu bytes of "
                   "memory",
                   u->arena->limit_bytes);
}

/* ---- names that nothing else has ---- */

static rill_status take(struct functions *u, ProtobufCBinaryData name)
{
    const char *text = onnx_text(u->arena, name);
    return text && map_set(&u->taken, text, 1) ? RILL_OK : functions_no_room(u);
}

static rill_status node_take(struct functions *u, const Onnxpb__Node *n)
{
    for (size_t i = 0; i < n->n_output; i++)
        TRY(take(u, n->output[i]));
    for (size_t i = 0; i < n->n_attribute; i++)
        if (n->attribute[i]->g)
            TRY(names_take(u, n->attribute[i]->g));
    return RILL_OK;
}

rill_status names_take(struct functions *u, const Onnxpb__Graph *g)
{
    for (size_t i = 0; i < g->n_input; i++)
        TRY(take(u, g->input[i]->name));
    for (size_t i = 0; i < g->n_initializer; i++)
        TRY(take(u, g->initializer[i]->name));
    for (size_t i = 0; i < g->n_node; i++)
        TRY(node_take(u, g->node[i]));
    return RILL_OK;
}

/* base, or with a number behind; NULL: no memory. */
static const char *name_fresh(struct functions *u, const char *base)
{
    const uint32_t *last = map_get(&u->taken, base);
    if (!last)
        return map_set(&u->taken, base, 1) ? base : NULL;
    for (uint32_t k = *last + 1;; k++) {
        const char *name = arena_printf(u->arena, "%s_%u", base, k);
        if (!name)
            return NULL;
        if (!map_get(&u->taken, name))
            return map_set(&u->taken, base, k) && map_set(&u->taken, name, 1) ? name : NULL;
    }
}

ProtobufCBinaryData name_of_text(const struct functions *u, const char *text)
{
    const char *bytes = strchr(text, '\\') ? onnx_name_bytes(u->arena, text) : text;
    return (ProtobufCBinaryData) { bytes ? strlen(bytes) : 0, (uint8_t *) (uintptr_t) bytes };
}

static rill_status value_add(struct functions *u, struct names *s, const char *name,
                             struct function_value v)
{
    struct function_value *more =
        arena_grow(u->arena, u->value, u->n_value, &u->cap_value, sizeof *more);
    if (!more)
        return functions_no_room(u);
    u->value = more;
    more[u->n_value] = v;
    s->map.arena = u->arena;
    return map_set(&s->map, name, u->n_value++) ? RILL_OK : functions_no_room(u);
}

/* ---- what a function makes ---- */

rill_status names_define(struct functions *u, const struct call *c, struct names *s,
                         ProtobufCBinaryData name)
{
    const char *text = onnx_text(u->arena, name);
    const uint32_t *at = text ? map_get(&s->map, text) : NULL;
    if (at && u->value[*at].state == VALUE_WANTED) {
        u->value[*at].state = VALUE_MADE;
        return RILL_OK;
    }
    if (at)
        return err_set(u->r->err, RILL_MALFORMED, "node '%.80s': %s defines value '%.80s' twice",
                       c->name, c->of->text, text);
    const char *base = text ? arena_printf(u->arena, "%s/%s", c->name, text) : NULL;
    const char *fresh = base ? name_fresh(u, base) : NULL;
    struct function_value v = { .state = VALUE_MADE };
    if (fresh)
        v.name = name_of_text(u, fresh);
    return v.name.data ? value_add(u, s, text, v) : functions_no_room(u);
}

rill_status names_of_graph(struct functions *u, const struct call *c, const Onnxpb__Graph *g,
                           struct names *s)
{
    for (size_t i = 0; i < g->n_input; i++)
        TRY(names_define(u, c, s, g->input[i]->name));
    for (size_t i = 0; i < g->n_initializer; i++) {
        const char *text = onnx_text(u->arena, g->initializer[i]->name);
        if (!text)
            return functions_no_room(u);
        if (!map_get(&s->map, text)) /* an input may have a value to begin with */
            TRY(names_define(u, c, s, g->initializer[i]->name));
    }
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            if (g->node[i]->output[k].len)
                TRY(names_define(u, c, s, g->node[i]->output[k]));
    return RILL_OK;
}

/* ---- what a call gives ---- */

static rill_status input_name(struct functions *u, const struct call *c, struct names *s, size_t i)
{
    const char *text = onnx_text(u->arena, c->of->pb->input[i]);
    struct function_value v = { .state = VALUE_GIVEN };
    if (!text)
        return functions_no_room(u);
    if (map_get(&s->map, text))
        return err_set(u->r->err, RILL_MALFORMED, "node '%.80s': %s has two inputs '%.80s'",
                       c->name, c->of->text, text);
    if (i < c->node->n_input)
        v.name = c->node->input[i];
    return value_add(u, s, text, v);
}

/* One that is an input as well, or the second of its name, is copied behind the function's nodes.
 */
static rill_status output_name(struct functions *u, const struct call *c, struct names *s, size_t i)
{
    const char *text = onnx_text(u->arena, c->of->pb->output[i]);
    struct function_value v = { .state = VALUE_WANTED };
    if (!text)
        return functions_no_room(u);
    if (i >= c->node->n_output || !c->node->output[i].len || map_get(&s->map, text))
        return RILL_OK;
    v.name = c->node->output[i];
    return value_add(u, s, text, v);
}

rill_status names_of_call(struct functions *u, const struct call *c, struct names *s)
{
    for (size_t i = 0; i < c->of->pb->n_input; i++)
        TRY(input_name(u, c, s, i));
    for (size_t i = 0; i < c->of->pb->n_output; i++)
        TRY(output_name(u, c, s, i));
    return RILL_OK;
}

const struct function_value *names_find(const struct functions *u, const struct names *s,
                                        const char *name)
{
    for (; s; s = s->outer) {
        const uint32_t *at = map_get(&s->map, name);
        if (at)
            return &u->value[*at];
    }
    return NULL;
}

rill_status names_resolve(const struct functions *u, const struct place *at, const char *by,
                          ProtobufCBinaryData *name)
{
    if (!at->call || !name->len)
        return RILL_OK;
    const char *text = onnx_text(u->arena, *name);
    if (!text)
        return functions_no_room(u);
    const struct function_value *v = names_find(u, at->names, text);
    if (!v)
        return err_set(u->r->err, RILL_MALFORMED,
                       "node '%.80s' reads '%.80s', which nothing in %s defines", by, text,
                       at->call->of->text);
    *name = v->name;
    return RILL_OK;
}
