/* SPDX-License-Identifier: MIT */
#include "pulse/compared_nodes.h"
#include "engine/ops/attrs.h"

static rill_status no_memory(const struct placed_edit *c)
{
    return err_set(c->err, RILL_NOMEM, "out of memory");
}

bool compared_can_be_put(const struct positions *ps, const struct dim *sum)
{
    const struct dim_parts x = dim_parts(sum);
    bool fits = x.form == DIM_FORM_INT || x.form == DIM_FORM_SYMBOL || x.form == DIM_FORM_SUM ||
        x.form == DIM_FORM_LEAST || x.form == DIM_FORM_MOST ||
        (x.form == DIM_FORM_QUOTIENT &&
         dim_is(dim_ge(ps->dims, x.arg[0], dim_int(ps->dims, 0)), 1));
    for (unsigned i = 0; i < x.n; i++)
        fits = fits && compared_can_be_put(ps, x.arg[i]);
    return fits;
}

/* What is put: nodes in front of `at`, which makes a wire of fact f. */
struct putting {
    struct placed_edit *c;
    uint32_t at;
    struct fact f;
};

static uint32_t scalar(struct graph *g, const struct dim *d)
{
    struct tensor *t = tensor_new(g->arena, dim_is_const(d) ? DTYPE_I64 : DTYPE_DIM, 0, NULL);
    if (t && dim_is_const(d))
        *(int64_t *) t->data = dim_value(d);
    else if (t)
        *(const struct dim **) t->data = d;
    return t ? graph_add_const(g, "length", t) : WIRE_NONE;
}

static uint32_t number(const struct putting *p, int64_t v)
{
    return scalar(p->c->e->g, dim_int(p->c->e->g->dims, v));
}

/* The fact of what has coordinates of the axes that e has. */
static struct fact fact_of(const struct putting *p, enum dtype type, const struct dim *e)
{
    struct fact f = p->f;
    f.type = type;
    for (int i = 0; i < f.rank; i++)
        if (!dim_mentions(e, p->c->ps.axis[i]))
            f.shape[i] = dim_int(p->c->e->g->dims, 1);
    return f;
}

static rill_status step_put(const struct putting *p, enum op_id id, const uint32_t *in,
                            unsigned n_in, const struct fact *f, uint32_t *ret)
{
    struct placed_edit *c = p->c;
    struct graph *g = c->e->g;
    const struct op *op = op_by_id(id);
    void *attr = op->attr_bytes ? arena_alloc(g->arena, op->attr_bytes) : NULL;
    uint32_t out = WIRE_NONE;
    bool made = !op->attr_bytes || attr;
    for (unsigned i = 0; i < n_in; i++)
        made = made && in[i] != WIRE_NONE;
    out = made ? graph_add_wire(g, g->nodes[p->at].name, f) : WIRE_NONE;
    if (attr)
        TRY(attrs_parse(op, g->nodes[p->at].name, NULL, 0, attr, c->err));
    if (out == WIRE_NONE || !edit_insert(c->e, p->at, op, attr, in, n_in, &out, 1))
        return no_memory(c);
    *ret = out;
    return RILL_OK;
}

/* *wire becomes what the op makes of it and another one. */
static rill_status with_put(const struct putting *p, enum op_id id, uint32_t by,
                            const struct fact *f, uint32_t *wire)
{
    return step_put(p, id, (uint32_t[]) { *wire, by }, 2, f, wire);
}

/* The numbers of the frames along an axis of as many axes as f has. */
static rill_status frames_put(const struct putting *p, int axis, uint32_t *ret)
{
    const struct dim *size = p->f.shape[axis];
    const struct fact list = { .type = DTYPE_I64, .rank = 1, .shape = { size } },
                      row = fact_of(p, DTYPE_I64, p->c->ps.axis[axis]);
    const uint32_t range[3] = { number(p, 0), scalar(p->c->e->g, size), number(p, 1) };
    TRY(step_put(p, OP_RANGE, range, 3, &list, ret));
    return p->f.rank == 1 ? RILL_OK
                          : with_put(p, OP_RESHAPE, placed_sizes(p->c->e->g, &row), &row, ret);
}

/* The same of what all axes that e has make of it; such as can be put. */
static rill_status sum_put(const struct putting *p, const struct dim *e, uint32_t *ret)
{
    const struct dim_parts x = dim_parts(e);
    const struct fact f = fact_of(p, DTYPE_I64, e);
    uint32_t all = number(p, x.form == DIM_FORM_INT || x.form == DIM_FORM_SUM ? x.value : 0);
    for (int i = 0; i < p->f.rank; i++)
        if (e == p->c->ps.axis[i])
            return frames_put(p, i, ret);
    for (unsigned i = 0; i < x.n; i++) {
        uint32_t one;
        TRY(sum_put(p, x.arg[i], &one));
        const struct fact own = fact_of(p, DTYPE_I64, x.arg[i]);
        const bool ends = x.form == DIM_FORM_LEAST || x.form == DIM_FORM_MOST;
        if (x.form == DIM_FORM_SUM)
            TRY(with_put(p, OP_MUL, number(p, x.coef[i]), &own, &one));
        if (x.form == DIM_FORM_QUOTIENT)
            TRY(with_put(p, OP_DIV, number(p, x.value), &own, &one));
        if (x.form == DIM_FORM_SUM || (ends && i))
            TRY(with_put(p, ends ? x.form == DIM_FORM_LEAST ? OP_MIN : OP_MAX : OP_ADD, all, &f,
                         &one));
        all = one;
    }
    *ret = all;
    return all == WIRE_NONE ? no_memory(p->c) : RILL_OK;
}

static rill_status term_put(const struct putting *p, const struct compared_term *t, uint32_t *ret)
{
    const struct fact f = fact_of(p, DTYPE_BOOL, t->sum ? t->sum : p->c->ps.axis[t->axis]);
    if (t->sum) {
        TRY(sum_put(p, t->sum, ret));
        return with_put(p, OP_GREATER_OR_EQUAL, number(p, 0), &f, ret);
    }
    TRY(frames_put(p, t->axis, ret));
    return with_put(p, t->rest ? OP_GREATER_OR_EQUAL : OP_LESS, scalar(p->c->e->g, t->length), &f,
                    ret);
}

/* Node `at` becomes an Expand of what all of them say. */
rill_status compared_put(struct placed_edit *c, uint32_t at, const struct compared *q)
{
    struct graph *g = c->e->g;
    struct putting p = { c, at, g->wires[g->nodes[at].out[0]].fact };
    uint32_t all, one;
    struct fact f;
    p.f.value = NULL;
    TRY(term_put(&p, &q->of[0], &all));
    f = g->wires[all].fact;
    for (unsigned i = 1; i < q->n; i++) {
        TRY(term_put(&p, &q->of[i], &one));
        for (int k = 0; k < f.rank; k++)
            if (dim_is(f.shape[k], 1))
                f.shape[k] = g->wires[one].fact.shape[k];
        TRY(with_put(&p, OP_AND, one, &f, &all));
    }
    const uint32_t in[2] = { all, placed_sizes(g, &p.f) };
    if (in[1] == WIRE_NONE || !edit_inputs(c->e, at, in, 2))
        return no_memory(c);
    g->nodes[at].op = op_by_id(OP_EXPAND);
    g->nodes[at].attr = NULL;
    return RILL_OK;
}
