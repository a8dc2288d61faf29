/* SPDX-License-Identifier: MIT */
/* Variables: what a run leaves for the next. Operators run in the order of the file, so a variable
 * that is read after it was assigned has its new value. */
#include "models/tflite/internal.h"

#include <string.h>

enum { HANDLE_CONTAINER, HANDLE_NAME };
enum { ONCE_GRAPH };

rill_status tfl_var_handle(struct conversion *c)
{
    struct reader *r = c->r;
    const char *container, *shared;
    TRY(tfl_text_read(r, c->options, HANDLE_CONTAINER, &container));
    TRY(tfl_text_read(r, c->options, HANDLE_NAME, &shared));
    const char *name = *container ? arena_printf(r->arena, "%s/%s", container, shared) : shared;
    if (!name)
        return tfl_no_memory(r);
    uint32_t i = 0;
    while (i < r->n_variables && strcmp(r->variables[i].name, name) != 0)
        i++;
    if (i == VARIABLES_MAX)
        return tfl_fail(c, RILL_LIMIT, "more than %d variables", VARIABLES_MAX);
    if (i == r->n_variables)
        r->variables[r->n_variables++] =
            (struct variable) { .name = name, .in = WIRE_NONE, .now = WIRE_NONE };
    struct tfl_tensor *t = &c->s->tensors[flat_list_i32(&r->flat, c->out, 0)];
    if (t->element != ELEMENT_RESOURCE)
        return tfl_fail(c, RILL_MALFORMED, "makes tensor '%.80s', which is no resource", t->name);
    t->resource = i;
    return RILL_OK;
}

static rill_status variable_of(struct conversion *c, struct variable **ret)
{
    const struct tfl_tensor *t = tfl_in(c, 0);
    if (!t || t->resource == WIRE_NONE)
        return tfl_fail(c, RILL_MALFORMED, "input 0, '%.80s', is no variable of this file",
                        t ? t->name : "");
    *ret = &c->r->variables[t->resource];
    return RILL_OK;
}

rill_status tfl_read_variable(struct conversion *c)
{
    struct variable *v = NULL;
    const struct tfl_tensor *y = tfl_out(c, 0);
    TRY(variable_of(c, &v));
    if (v->now != WIRE_NONE)
        return tfl_result(c, 0, v->now);
    if (!v->init)
        return tfl_fail(c, RILL_MALFORMED,
                        "variable '%.80s' is read before it has a value: nothing assigns one "
                        "in a subgraph of CALL_ONCE",
                        v->name);
    struct fact f;
    fact_of_tensor(&f, c->r->dims, v->init);
    f.value = NULL;
    if (v->init->type != y->shape.type)
        return tfl_fail(c, RILL_MALFORMED, "variable '%.80s' is %s, its reader wants %s", v->name,
                        dtype_name(v->init->type), dtype_name(y->shape.type));
    v->in = v->now = graph_add_wire(c->s->g, v->name, &f);
    return v->in == WIRE_NONE ? tfl_no_memory(c->r) : tfl_result(c, 0, v->now);
}

/* Before the first run (no graph is made) a value is a first one. */
rill_status tfl_assign_variable(struct conversion *c)
{
    struct variable *v = NULL;
    TRY(variable_of(c, &v));
    if (c->s->g)
        return tfl_wire(c, 1, &v->now);
    const struct tfl_tensor *t = tfl_in(c, 1);
    if (v->in != WIRE_NONE)
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "gives variable '%.80s' its first value after it was read", v->name);
    TRY(tfl_tensor_value(c->r, t, &v->init));
    return v->init ? RILL_OK
                   : tfl_fail(c, RILL_UNSUPPORTED,
                              "the first value of variable '%.80s', tensor '%.80s', is no "
                              "constant",
                              v->name, t->name);
}

rill_status tfl_own_state(struct conversion *c, unsigned i, struct variable **ret)
{
    struct reader *r = c->r;
    const struct tfl_tensor *given = tfl_in(c, i);
    struct fact f;
    if (!given || !given->variable)
        return tfl_fail(c, RILL_MALFORMED, "input %u, tensor '%.80s', is no variable tensor", i,
                        given ? given->name : "");
    struct tfl_tensor *t = &c->s->tensors[flat_list_i32(&r->flat, c->in, i)];
    for (int k = 0; k < t->shape.rank; k++)
        TRY(tfl_known(c, t, k, "a state"));
    if (t->resource == WIRE_NONE) {
        if (r->n_variables == VARIABLES_MAX)
            return tfl_fail(c, RILL_LIMIT, "more than %d variables", VARIABLES_MAX);
        fact_of_tensor(&f, r->dims, &t->shape);
        f.value = NULL;
        uint32_t w = graph_add_wire(c->s->g, t->name, &f);
        if (w == WIRE_NONE)
            return tfl_no_memory(r);
        t->resource = r->n_variables;
        r->variables[r->n_variables++] = (struct variable) { .name = t->name, .in = w, .now = w };
    }
    *ret = &r->variables[t->resource];
    return RILL_OK;
}

/* What runs once gives variables their first values, and does nothing else. */
rill_status tfl_call_once(struct conversion *c)
{
    uint32_t i = (uint32_t) flat_i32(&c->r->flat, c->options, ONCE_GRAPH, 0);
    if (!c->s->g)
        return tfl_fail(c, RILL_UNSUPPORTED, "is called within another CALL_ONCE");
    return c->r->graph_once(c->r, i);
}
