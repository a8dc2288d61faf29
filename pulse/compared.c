/* SPDX-License-Identifier: MIT */
#include "pulse/compared.h"
#include "engine/ops/attrs.h"

#define TOLD_MAX 4   /* comparisons that make one */
#define CHUNKS_MAX 4 /* chunks of chunks */

/* The frames before a length, or the rest. */
struct told {
    const struct dim *length;
    bool rest;
};

/* What all of them tell, along an axis. */
struct compared {
    int axis;
    struct told of[TOLD_MAX];
    unsigned n;
};

static rill_status no_memory(const struct placed_edit *c)
{
    return err_set(c->err, RILL_NOMEM, "out of memory");
}

/* The only term of a sum that has k in it; false: there is none, or several. */
static bool term_of(const struct dim *d, const struct dim *k, const struct dim **ret_term,
                    int64_t *ret_times)
{
    const struct dim_parts x = dim_parts(d);
    unsigned found = 0;
    for (unsigned i = 0; x.form == DIM_FORM_SUM && i < x.n; i++)
        if (dim_mentions(x.arg[i], k)) {
            *ret_term = x.arg[i];
            *ret_times = x.coef[i];
            found++;
        }
    return found == 1;
}

/* For which k the sum d is 0 or more. */
static bool solved(const struct positions *ps, const struct dim *d, const struct dim *k,
                   struct told *ret, int depth)
{
    struct dims *ds = ps->dims;
    const struct dim *term = NULL;
    int64_t times = 0;
    if (depth == CHUNKS_MAX || !term_of(d, k, &term, &times) || times == INT64_MIN)
        return false;
    const struct dim *others = dim_sub(ds, d, dim_mul_int(ds, term, times));
    const struct dim *from = times > 0 ? dim_div_ceil_int(ds, dim_mul_int(ds, others, -1), times)
                                       : dim_add_int(ds, dim_div_int(ds, others, -times), 1);
    const struct dim_parts x = dim_parts(term);
    *ret = (struct told) { from, times > 0 };
    if (term == k)
        return true;
    if (x.form != DIM_FORM_QUOTIENT ||
        !solved(ps, dim_sub(ds, x.arg[0], dim_mul_int(ds, from, x.value)), k, ret, depth + 1))
        return false;
    ret->rest = times > 0 ? ret->rest : !ret->rest;
    return true;
}

static bool told_add(const struct placed_edit *c, struct compared *q, const struct dim *d,
                     bool not )
{
    const struct positions *ps = &c->ps;
    struct told t;
    if (q->n == TOLD_MAX || !solved(ps, d, ps->axis[q->axis], &t, 0))
        return false;
    t.rest ^= not ;
    t.length = positions_length(ps, t.length, c->symbol);
    q->of[q->n++] = t;
    return t.length != NULL;
}

/* One comparison, or what it is not. */
static bool factor_add(const struct placed_edit *c, struct compared *q, const struct dim *e)
{
    struct dims *ds = c->ps.dims;
    const struct dim_parts sum = dim_parts(e);
    const bool not = sum.form == DIM_FORM_SUM && sum.n == 1 && sum.value == 1 && sum.coef[0] == -1;
    const struct dim_parts x = not ? dim_parts(sum.arg[0]) : sum;
    if (x.form != DIM_FORM_AT_LEAST && (not || x.form != DIM_FORM_EQUAL))
        return false;
    const struct dim *d = dim_sub(ds, x.arg[0], x.arg[1]);
    return told_add(c, q, d, not ) &&
        (x.form != DIM_FORM_EQUAL || told_add(c, q, dim_mul_int(ds, d, -1), false));
}

/* Along its one axis of time. */
static bool compared_find(const struct placed_edit *c, uint32_t wire, struct compared *ret)
{
    const struct position *at = &c->ps.of[wire];
    const struct fact *f = &c->e->g->wires[wire].fact;
    *ret = (struct compared) { .axis = -1 };
    for (int i = 0; i < f->rank; i++)
        if (dim_mentions(f->shape[i], c->symbol) && ret->axis >= 0)
            return false;
        else if (dim_mentions(f->shape[i], c->symbol))
            ret->axis = i;
    if (ret->axis < 0 || !at->e || at->pair || !dim_mentions(at->e, c->ps.time))
        return false;
    const struct dim_parts x = dim_parts(at->e);
    bool all = true;
    for (unsigned i = 0; x.form == DIM_FORM_PRODUCT && all && i < x.n; i++)
        all = factor_add(c, ret, x.arg[i]);
    return x.form == DIM_FORM_PRODUCT ? all : factor_add(c, ret, at->e);
}

/* Frame numbers and a length, as they are. */
static bool is_plain(const struct placed_edit *c, const struct node *n)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct position *k = &c->ps.of[n->in[i]];
        const struct tensor *length = c->e->g->wires[n->in[1 - i]].fact.value;
        if (!k->e || k->pair || k->parts > 1 || dim_mentions(k->e, c->ps.time) || !length ||
            length->type != DTYPE_DIM)
            continue;
        for (int axis = 0; axis < RANK_MAX; axis++)
            if (dim_is_const(dim_sub(c->ps.dims, k->e, c->ps.axis[axis])))
                return !node_is(n, OP_EQUAL);
    }
    return false;
}

/* ---- the nodes ---- */

struct step {
    enum op_id op;
    uint32_t in[3];
    unsigned n_in;
};

/* A node in front of `at` that makes a wire of fact f. */
static rill_status step_put(struct placed_edit *c, uint32_t at, const struct step *s,
                            const struct fact *f, uint32_t *ret)
{
    struct graph *g = c->e->g;
    const struct op *op = op_by_id(s->op);
    void *attr = op->attr_bytes ? arena_alloc(g->arena, op->attr_bytes) : NULL;
    *ret = graph_add_wire(g, g->nodes[at].name, f);
    for (unsigned i = 0; i < s->n_in; i++)
        if (s->in[i] == WIRE_NONE)
            return no_memory(c);
    if ((op->attr_bytes && !attr) || *ret == WIRE_NONE)
        return no_memory(c);
    if (attr)
        TRY(attrs_parse(op, g->nodes[at].name, NULL, 0, attr, c->err));
    return edit_insert(c->e, at, op, attr, s->in, s->n_in, ret, 1) ? RILL_OK : no_memory(c);
}

static uint32_t scalar(struct graph *g, const struct dim *d)
{
    struct tensor *t = tensor_new(g->arena, dim_is_const(d) ? DTYPE_I64 : DTYPE_DIM, 0, NULL);
    if (t && dim_is_const(d))
        *(int64_t *) t->data = dim_value(d);
    else if (t)
        *(const struct dim **) t->data = d;
    return t ? graph_add_const(g, "length", t) : WIRE_NONE;
}

/* The numbers of the frames along `axis` of as many axes as f has. */
static rill_status frames_put(struct placed_edit *c, uint32_t at, const struct fact *f, int axis,
                              uint32_t *ret)
{
    struct graph *g = c->e->g;
    const uint32_t zero = scalar(g, dim_int(g->dims, 0)), one = scalar(g, dim_int(g->dims, 1));
    const struct fact list = { .type = DTYPE_I64, .rank = 1, .shape = { f->shape[axis] } };
    struct fact row = *f;
    row.type = DTYPE_I64;
    for (int i = 0; i < f->rank; i++)
        row.shape[i] = i == axis ? f->shape[i] : dim_int(g->dims, 1);
    const struct step range = { OP_RANGE, { zero, scalar(g, f->shape[axis]), one }, 3 };
    TRY(step_put(c, at, &range, &list, ret));
    const struct step turn = { OP_RESHAPE, { *ret, placed_sizes(g, &row) }, 2 };
    return f->rank == 1 ? RILL_OK : step_put(c, at, &turn, &row, ret);
}

/* Node `at` becomes an Expand of what all of them tell. */
static rill_status compared_put(struct placed_edit *c, uint32_t at, const struct compared *q)
{
    struct graph *g = c->e->g;
    struct fact f = g->wires[g->nodes[at].out[0]].fact;
    uint32_t frames, all = WIRE_NONE, one;
    f.value = NULL;
    TRY(frames_put(c, at, &f, q->axis, &frames));
    struct fact row = g->wires[frames].fact;
    row.type = DTYPE_BOOL;
    for (unsigned i = 0; i < q->n; i++) {
        const struct step told = { q->of[i].rest ? OP_GREATER_OR_EQUAL : OP_LESS,
                                   { frames, scalar(g, q->of[i].length) },
                                   2 };
        TRY(step_put(c, at, &told, &row, &one));
        const struct step both = { OP_AND, { all, one }, 2 };
        if (i)
            TRY(step_put(c, at, &both, &row, &one));
        all = one;
    }
    const uint32_t in[2] = { all, placed_sizes(g, &f) };
    if (in[1] == WIRE_NONE || !edit_inputs(c->e, at, in, 2))
        return no_memory(c);
    g->nodes[at].op = op_by_id(OP_EXPAND);
    g->nodes[at].attr = NULL;
    return RILL_OK;
}

rill_status compared_look(struct placed_edit *c, uint32_t at)
{
    static const enum op_id ops[] = { OP_EQUAL, OP_GREATER, OP_GREATER_OR_EQUAL, OP_LESS,
                                      OP_LESS_OR_EQUAL };
    const struct node *n = &c->e->g->nodes[at];
    struct compared q;
    if (!node_is_among(n, ops, sizeof ops / sizeof *ops) || n->out[0] >= c->e->n_wires)
        return RILL_OK;
    TRY(placed_edit_want(c));
    return c->found && !is_plain(c, n) && compared_find(c, n->out[0], &q) ? compared_put(c, at, &q)
                                                                          : RILL_OK;
}
