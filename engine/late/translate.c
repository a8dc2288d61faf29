/* SPDX-License-Identifier: MIT */
/* Whole numbers that nodes compute from what a stage reads, as size expressions: the nodes are run
 * on symbols, one for each element that is read, and what comes out is written down.
 *
 * Only ops whose symbolic results hold for all whole numbers of 64 bits are run so, those below 0
 * included. What goes past 64 bits is refused as it is evaluated. */
#include "engine/late/internal.h"
#include "engine/ops/attrs.h"
#include "engine/typing/interp.h"

#include <string.h>

#define LEAVES_MAX 64 /* elements of one tensor that are read one by one */
#define DEPTH_MAX 100 /* nodes behind each other */
#define SIZE_KNOWN_MAX ((int64_t) 1 << 40)
#define MEMO_MAX 4096u /* parts of what is written down */

/* What a symbol stands for. */
struct meaning {
    const struct dim *symbol;
    uint32_t wire;
    int64_t at; /* an element; EVERY: the greatest of all */
};
#define EVERY (-1)

struct wire_dims {
    enum { WIRE_UNTRIED, WIRE_DONE, WIRE_NOT } is;
    const struct tensor *t;
};

struct translation {
    const struct late *l;
    const struct stage *s;
    const struct variant *v;
    struct dims *dims; /* of its own: symbols mean nothing elsewhere, and errors stay */
    struct arena arena;
    struct wire_dims *wires;
    struct meaning *meanings;
    uint32_t n_meanings, cap_meanings;
};

/* Ops of as many symbolic operands as come, and those of which the first one alone may be. */
static const enum op_id exact[] = {
    OP_ABS,      OP_ADD,    OP_AND,
    OP_CAST,     OP_CONCAT, OP_EQUAL,
    OP_GREATER,  OP_LESS,   OP_LESS_OR_EQUAL,
    OP_MAX,      OP_MIN,    OP_MUL,
    OP_NEG,      OP_NOT,    OP_OR,
    OP_SUB,      OP_WHERE,  OP_GREATER_OR_EQUAL,
    OP_IDENTITY,
};
static const enum op_id exact_in_first[] = {
    OP_DIV,   OP_EXPAND,  OP_GATHER,    OP_RESHAPE,     OP_REDUCE_MAX, OP_REDUCE_MIN,
    OP_SLICE, OP_SQUEEZE, OP_UNSQUEEZE, OP_REDUCE_PROD, OP_REDUCE_SUM,
};
#define AMONG(n, list) node_is_among(n, list, sizeof list / sizeof *list)

struct translation *translation_new(const struct late *l, const struct stage *s,
                                    const struct variant *v)
{
    struct arena a = { 0 };
    struct translation *t = arena_new(&a, struct translation);
    if (!t)
        return NULL;
    *t = (struct translation) { .l = l, .s = s, .v = v, .dims = dims_new(), .arena = a };
    t->wires = arena_array(&t->arena, struct wire_dims, l->g->n_wires + 1u);
    return t->dims && t->wires ? t : translation_free(t);
}

struct translation *translation_free(struct translation *t)
{
    if (!t)
        return NULL;
    struct arena a = t->arena;
    dims_free(t->dims);
    arena_drop(&a);
    return NULL;
}

/* ---- what a stage reads ---- */

static const struct dim *symbol_new(struct translation *t, uint32_t wire, int64_t at)
{
    struct meaning *list =
        arena_grow(&t->arena, t->meanings, t->n_meanings, &t->cap_meanings, sizeof *list);
    if (!list)
        return NULL;
    t->meanings = list;
    list[t->n_meanings] = (struct meaning) { dim_fresh(t->dims), wire, at };
    return list[t->n_meanings++].symbol;
}

static const struct tensor *symbols_new(struct translation *t, uint32_t wire, const int64_t *dim,
                                        int rank, bool every)
{
    struct tensor *x = tensor_new(&t->arena, DTYPE_DIM, rank, dim);
    for (int64_t k = 0; x && k < tensor_count(x); k++)
        if (!(((const struct dim **) x->data)[k] = symbol_new(t, wire, every ? EVERY : k)))
            return NULL;
    return x;
}

/* What the stage reads there; NULL: it does not read the wire. */
static const struct tensor *read_by_stage(const struct translation *t, uint32_t wire)
{
    for (uint32_t i = 0; i < t->s->n_inputs; i++)
        if (t->s->inputs[i] == wire && !t->s->key_only[i])
            return t->l->wires[wire].t;
    return NULL;
}

static const struct tensor *input_dims(struct translation *t, uint32_t wire)
{
    const struct tensor *x = read_by_stage(t, wire);
    return x && x->type == DTYPE_I64 && x->rank <= 1 && tensor_count(x) <= LEAVES_MAX
        ? symbols_new(t, wire, x->dim, x->rank, false)
        : NULL;
}

/* The same of floats, cut to whole numbers, as Cast does. */
static const struct tensor *cut_dims(struct translation *t, const struct node *n)
{
    const struct tensor *x = read_by_stage(t, n->in[0]);
    return x && x->type == DTYPE_F32 && x->rank <= 1 && tensor_count(x) <= LEAVES_MAX &&
            cast_attr_of(n)->to == DTYPE_I64
        ? symbols_new(t, n->in[0], x->dim, x->rank, false)
        : NULL;
}

/* ---- nodes ---- */

static const struct node *maker_of(const struct translation *t, uint32_t wire)
{
    const struct graph *g = t->l->g;
    const uint32_t i = g->wires[wire].node;
    return i == WIRE_NONE || g->nodes[i].n_out != 1 ? NULL : &g->nodes[i];
}

/* The greatest of all elements that a node gives: of a tensor that the stage reads, and of one
 * element in the end. */
static const struct tensor *greatest_dims(struct translation *t, const struct node *n,
                                          enum dtype type)
{
    const struct tensor *x = node_is(n, OP_REDUCE_MAX) ? read_by_stage(t, n->in[0]) : NULL;
    const bool all = n->n_in < 2 || n->in[1] == WIRE_NONE;
    static const int64_t ones[RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    if (!x || x->type != type || !all || reduce_attr_of(n)->noop_with_empty_axes ||
        tensor_count(x) < 1)
        return NULL;
    return symbols_new(t, n->in[0], ones, reduce_attr_of(n)->keepdims ? x->rank : 0, true);
}

/* Integers are cut towards zero where a quotient of sizes is rounded down. */
static const struct tensor *quotient_dims(struct translation *t, const struct tensor *a,
                                          const struct tensor *b)
{
    if (a->type != DTYPE_DIM || a->number == DTYPE_BOOL || b->type != DTYPE_I64 ||
        tensor_count(b) != 1 || b->rank > a->rank || tensor_get_i64(b, b->data, 0) <= 0)
        return NULL;
    struct tensor *y = tensor_new(&t->arena, DTYPE_DIM, a->rank, a->dim);
    const int64_t by = tensor_get_i64(b, b->data, 0);
    for (int64_t k = 0; y && k < tensor_count(y); k++) {
        const struct dim *x = ((const struct dim *const *) a->data)[k];
        ((const struct dim **) y->data)[k] = dim_div_cut_int(t->dims, x, by);
    }
    return y;
}

/* The largest numbers of 64 bits stand for "to the end", and sums with them would be refused. */
static bool are_sizes(const struct tensor *known)
{
    for (int64_t k = 0; k < tensor_count(known); k++) {
        const int64_t v = tensor_get_i64(known, known->data, k);
        if (v > SIZE_KNOWN_MAX || v < -SIZE_KNOWN_MAX)
            return false;
    }
    return true;
}

static bool is_whole(enum dtype t)
{
    return t == DTYPE_I64 || t == DTYPE_I32 || t == DTYPE_BOOL;
}

static const struct tensor *wire_dims(struct translation *t, uint32_t wire, int depth);

static bool operands_get(struct translation *t, const struct node *n, int depth,
                         const struct tensor **ret)
{
    bool any = false;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] == WIRE_NONE)
            continue;
        if (!(ret[i] = wire_dims(t, n->in[i], depth)))
            return false;
        any |= ret[i]->type == DTYPE_DIM;
        const bool is_dim = ret[i]->type == DTYPE_DIM;
        if (AMONG(n, exact) ? !is_dim && !are_sizes(ret[i]) : i && is_dim)
            return false;
    }
    return any;
}

/* Floats that are cut to whole numbers at once. */
static const struct tensor *cast_dims(struct translation *t, const struct node *n)
{
    const struct node *from = maker_of(t, n->in[0]);
    const struct tensor *y = cast_attr_of(n)->to == DTYPE_I64 ? cut_dims(t, n) : NULL;
    return !y && from && cast_attr_of(n)->to == DTYPE_I64 ? greatest_dims(t, from, DTYPE_F32) : y;
}

static const struct tensor *node_dims(struct translation *t, const struct node *n, int depth)
{
    const struct tensor **x = arena_array(&t->arena, const struct tensor *, n->n_in + 1u);
    const struct tensor *y = node_is(n, OP_CAST) ? cast_dims(t, n) : greatest_dims(t, n, DTYPE_I64);
    if (y)
        return y;
    if (node_is(n, OP_CAST) && cast_attr_of(n)->to != DTYPE_I64 &&
        cast_attr_of(n)->to != DTYPE_BOOL)
        return NULL;
    if ((!AMONG(n, exact) && !AMONG(n, exact_in_first)) || !x || !operands_get(t, n, depth + 1, x))
        return NULL;
    if (node_is(n, OP_DIV))
        return quotient_dims(t, x[0], x[1]);
    if (interp_node(t->dims, n, x, &t->l->kern, &t->arena, &y, NULL) != RILL_OK)
        return NULL;
    return tensor_count(y) <= LEAVES_MAX ? y : NULL;
}

static const struct tensor *wire_dims(struct translation *t, uint32_t wire, int depth)
{
    struct wire_dims *w = &t->wires[wire];
    const struct tensor *known = t->v->known[wire];
    if (known)
        return is_whole(known->type) ? known : NULL;
    if (w->is != WIRE_UNTRIED || depth == DEPTH_MAX)
        return w->t;
    const struct node *n = maker_of(t, wire);
    w->is = WIRE_NOT; /* until it is */
    const struct tensor *y = read_by_stage(t, wire) ? input_dims(t, wire)
        : n                                         ? node_dims(t, n, depth)
                                                    : NULL;
    if (y && dims_status(t->dims, NULL) == RILL_OK)
        *w = (struct wire_dims) { WIRE_DONE, y };
    return w->t;
}

/* ---- writing down ---- */

struct writer {
    struct translation *t;
    struct stage *to;
    const struct dim **dims; /* what was written, */
    uint32_t *as;            /* and as what */
    uint32_t n;
};

static uint32_t dim_write(struct writer *w, const struct dim *d);

/* The stage's input that only its sizes read. */
static uint32_t source_of(const struct writer *w, uint32_t wire)
{
    struct stage *s = w->to;
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (s->inputs[i] == wire && s->key_only[i])
            return i;
    s->key_only[s->n_inputs] = true;
    s->inputs[s->n_inputs] = wire;
    return s->n_inputs++;
}

static uint32_t symbol_write(struct writer *w, const struct dim *d)
{
    const struct translation *t = w->t;
    struct sizes *z = &w->to->sizes;
    for (uint32_t i = 0; i < t->n_meanings; i++) {
        const struct meaning *m = &t->meanings[i];
        if (m->symbol != d)
            continue;
        const uint32_t from = source_of(w, m->wire);
        if (m->at != EVERY)
            return size_element(z, from, size_constant(z, m->at));
        const uint32_t k = size_variable(z);
        return size_max_over(z, k, size_constant(z, tensor_count(t->l->wires[m->wire].t)),
                             size_element(z, from, k));
    }
    return SIZE_NONE;
}

/* In halves, so that many operands are not as many levels. */
static uint32_t row_write(struct writer *w, enum size_op op, const struct dim_parts *p,
                          unsigned from, unsigned n)
{
    if (n > 1) {
        const uint32_t a = row_write(w, op, p, from, n / 2);
        return size_of(&w->to->sizes, op, a, row_write(w, op, p, from + n / 2, n - n / 2));
    }
    const uint32_t e = dim_write(w, p->arg[from]);
    return p->form != DIM_FORM_SUM || p->coef[from] == 1
        ? e
        : size_of(&w->to->sizes, SIZE_MUL, e, size_constant(&w->to->sizes, p->coef[from]));
}

static uint32_t form_write(struct writer *w, const struct dim *d)
{
    struct sizes *z = &w->to->sizes;
    const struct dim_parts p = dim_parts(d);
    switch (p.form) {
    case DIM_FORM_INT: return size_constant(z, p.value);
    case DIM_FORM_SYMBOL: return symbol_write(w, d);
    case DIM_FORM_SUM: {
        const uint32_t sum = row_write(w, SIZE_ADD, &p, 0, p.n);
        return p.value ? size_of(z, SIZE_ADD, sum, size_constant(z, p.value)) : sum;
    }
    case DIM_FORM_PRODUCT: return row_write(w, SIZE_MUL, &p, 0, p.n);
    case DIM_FORM_LEAST: return row_write(w, SIZE_MIN_OF, &p, 0, p.n);
    case DIM_FORM_MOST: return row_write(w, SIZE_MAX_OF, &p, 0, p.n);
    case DIM_FORM_EQUAL: return row_write(w, SIZE_EQUAL, &p, 0, 2);
    case DIM_FORM_QUOTIENT:
        return size_of(z, SIZE_DIV_FLOOR, dim_write(w, p.arg[0]), size_constant(z, p.value));
    case DIM_FORM_AT_LEAST:
        return size_of(z, SIZE_LESS_OR_EQUAL, dim_write(w, p.arg[1]), dim_write(w, p.arg[0]));
    default: return SIZE_NONE;
    }
}

static uint32_t dim_write(struct writer *w, const struct dim *d)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->dims[i] == d)
            return w->as[i];
    const uint32_t e = form_write(w, d);
    if (w->n == MEMO_MAX)
        return SIZE_NONE;
    w->dims[w->n] = d;
    w->as[w->n++] = e;
    return e;
}

bool translation_write(struct translation *t, uint32_t wire, struct stage *to)
{
    const struct tensor *y = wire_dims(t, wire, 0);
    if (!y || y->type != DTYPE_DIM || y->number == DTYPE_BOOL || y->rank > 1)
        return false;
    const int64_t n = tensor_count(y);
    struct writer w = { .t = t,
                        .to = to,
                        .dims = arena_array(&t->arena, const struct dim *, MEMO_MAX),
                        .as = arena_array(&t->arena, uint32_t, MEMO_MAX) };
    struct computed *c = &to->computed[to->n_computed];
    *c = (struct computed) { .wire = wire, .t = *y };
    c->t.type = DTYPE_I64;
    c->t.data = NULL;
    c->e = arena_array(&to->arena, uint32_t, (size_t) n + 1);
    if (!w.dims || !w.as || !c->e)
        return false;
    for (int64_t k = 0; k < n; k++)
        c->e[k] = dim_write(&w, ((const struct dim *const *) y->data)[k]);
    for (int64_t k = 0; k < n; k++)
        if (c->e[k] == SIZE_NONE)
            return false;
    to->n_computed++;
    return true;
}
