/* SPDX-License-Identifier: MIT */
#include "engine/typing/float_size.h"
#include "engine/base/err.h"
#include "engine/graph/op.h"
#include "engine/ops/attrs.h"
#include "engine/ops/resize.h"

#include <math.h>

#define LIST_MAX 16
#define DEPTH_MAX 32
#define NUM_MAX 16777216.0 /* products with a size are still whole numbers of f32 */
#define DEN_MAX 4096

/* Numbers num[i] / den. */
struct sizes {
    unsigned n;
    const struct dim *num[LIST_MAX];
    int64_t den; /* > 0 */
    bool symbolic;
};

struct trace {
    const struct graph *g;
    struct dims *ds;
    int depth;
    const struct node *stop; /* a product with a number that is no ratio; NULL: none was met */
    double factor;           /* of it */
};

static bool trace_wire(struct trace *t, uint32_t wire, struct sizes *ret);

/* ---- constants ---- */

/* v as p / q of small whole numbers. */
static bool ratio_of(double v, int64_t *ret_p, int64_t *ret_q)
{
    for (int64_t q = 1; q <= DEN_MAX; q *= 2) {
        double p = v * (double) q;
        if (!(p > -NUM_MAX && p < NUM_MAX))
            return false;
        if (p == (double) (int64_t) p) {
            *ret_p = (int64_t) p;
            *ret_q = q;
            return true;
        }
    }
    return false;
}

static bool rescale(struct trace *t, struct sizes *s, int64_t den)
{
    if (den > DEN_MAX * (int64_t) DEN_MAX)
        return false;
    for (unsigned i = 0; i < s->n; i++)
        s->num[i] = dim_mul_int(t->ds, s->num[i], den / s->den);
    s->den = den;
    return true;
}

static bool constant(struct trace *t, const struct tensor *v, struct sizes *ret)
{
    const bool sizes = v->type == DTYPE_DIM;
    *ret = (struct sizes) { .n = (unsigned) tensor_count(v), .den = 1 };
    for (unsigned i = 0; !sizes && i < ret->n; i++) {
        int64_t p, q;
        if (!ratio_of(tensor_get_f64(v, v->data, i), &p, &q))
            return false;
        ret->den = q > ret->den ? q : ret->den; /* powers of 2 */
    }
    for (unsigned i = 0; i < ret->n; i++) {
        ret->num[i] = sizes
            ? ((const struct dim *const *) v->data)[i]
            : dim_int(t->ds, (int64_t) (tensor_get_f64(v, v->data, i) * (double) ret->den));
        ret->symbolic |= dim_has_symbol(ret->num[i]);
    }
    return true;
}

/* ---- arithmetic ---- */

static const struct dim *at(const struct sizes *s, unsigned i)
{
    return s->num[s->n == 1 ? 0 : i];
}

static bool common_den(struct trace *t, struct sizes *a, struct sizes *b)
{
    int64_t x = a->den, y = b->den;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    int64_t den = a->den / x * b->den;
    return rescale(t, a, den) && rescale(t, b, den);
}

typedef const struct dim *dim_join(struct dims *ds, const struct dim *a, const struct dim *b);

/* Of one denominator. */
static bool joined(struct trace *t, struct sizes *a, struct sizes *b, dim_join *f)
{
    if (!common_den(t, a, b))
        return false;
    for (unsigned i = 0; i < (a->n > b->n ? a->n : b->n); i++)
        if (a->n >= b->n)
            a->num[i] = f(t->ds, a->num[i], at(b, i));
        else
            b->num[i] = f(t->ds, at(a, i), b->num[i]);
    if (a->n < b->n)
        *a = *b;
    return true;
}

/* By numbers, not by sizes. */
static bool product(struct trace *t, struct sizes *a, const struct sizes *b, bool divides)
{
    if (b->symbolic || b->n != 1)
        return false;
    int64_t p = divides ? b->den : dim_value(b->num[0]),
            q = divides ? dim_value(b->num[0]) : b->den;
    if (q == 0 || q > DEN_MAX || q < -DEN_MAX)
        return false;
    for (unsigned i = 0; i < a->n; i++)
        a->num[i] = dim_mul_int(t->ds, a->num[i], q < 0 ? -p : p);
    a->den *= q < 0 ? -q : q;
    return a->den <= DEN_MAX * (int64_t) DEN_MAX;
}

static void floored(struct trace *t, struct sizes *s)
{
    for (unsigned i = 0; i < s->n; i++)
        s->num[i] = dim_div_int(t->ds, s->num[i], s->den);
    s->den = 1;
}

static void ceiled(struct trace *t, struct sizes *s)
{
    for (unsigned i = 0; i < s->n; i++)
        s->num[i] = dim_div_ceil_int(t->ds, s->num[i], s->den);
    s->den = 1;
}

/* One number that a size is multiplied by. A float that stands for a ratio of whole numbers is that
 * ratio, as in a Resize: 1.1 is 11/10. */
static bool trace_factor(struct trace *t, const struct node *n, unsigned i, struct sizes *ret)
{
    const struct tensor *v = node_value(t->g, n, i);
    int64_t p, q;
    struct sizes other;
    if (!v || v->type != DTYPE_F32 || tensor_count(v) != 1)
        return false;
    const double factor = tensor_get_f64(v, v->data, 0);
    if (!resize_ratio(factor, &p, &q)) {
        if (trace_wire(t, n->in[1 - i], &other) && other.symbolic) {
            t->stop = n;
            t->factor = factor;
        }
        return false;
    }
    *ret = (struct sizes) { .n = 1, .num = { dim_int(t->ds, p) }, .den = q };
    return true;
}

static bool trace_operand(struct trace *t, const struct node *n, unsigned i, struct sizes *ret)
{
    return trace_wire(t, n->in[i], ret) || (node_is(n, OP_MUL) && trace_factor(t, n, i, ret));
}

static bool trace_two(struct trace *t, const struct node *n, struct sizes *ret)
{
    struct sizes b;
    if (n->n_in != 2 || !trace_operand(t, n, 0, ret) || !trace_operand(t, n, 1, &b))
        return false;
    const bool symbolic = ret->symbolic || b.symbolic;
    bool done = false;
    switch (n->op->id) {
    case OP_ADD: done = joined(t, ret, &b, dim_add); break;
    case OP_SUB: done = joined(t, ret, &b, dim_sub); break;
    case OP_MAX: done = joined(t, ret, &b, dim_max); break;
    case OP_MIN: done = joined(t, ret, &b, dim_min); break;
    case OP_DIV: done = product(t, ret, &b, true); break;
    case OP_MUL:
        if (!ret->symbolic && ret->n == 1) {
            struct sizes a = *ret;
            *ret = b;
            b = a;
        }
        done = product(t, ret, &b, false);
        break;
    default: break;
    }
    ret->symbolic = symbolic;
    return done;
}

/* ---- nodes ---- */

static bool trace_one(struct trace *t, const struct node *n, struct sizes *ret)
{
    if (!trace_wire(t, n->in[0], ret))
        return false;
    switch (n->op->id) {
    case OP_FLOOR: floored(t, ret); return true;
    case OP_CEIL: ceiled(t, ret); return true;
    case OP_NEG:
        for (unsigned i = 0; i < ret->n; i++)
            ret->num[i] = dim_mul_int(t->ds, ret->num[i], -1);
        return true;
    default: return true; /* the same numbers */
    }
}

/* Places of a list. */
static bool trace_gather(struct trace *t, const struct node *n, struct sizes *ret)
{
    const struct tensor *at = node_value(t->g, n, 1);
    struct sizes all;
    if (!at || t->g->wires[n->in[0]].fact.rank != 1 || !dtype_is_int(at->type) ||
        !trace_wire(t, n->in[0], &all))
        return false;
    *ret = (struct sizes) { .n = (unsigned) tensor_count(at), .den = all.den };
    for (unsigned i = 0; i < ret->n; i++) {
        int64_t k;
        if (!index_wrap(tensor_get_i64(at, at->data, i), all.n, &k))
            return false;
        ret->num[i] = all.num[k];
        ret->symbolic |= dim_has_symbol(ret->num[i]);
    }
    return true;
}

static bool trace_concat(struct trace *t, const struct node *n, struct sizes *ret)
{
    *ret = (struct sizes) { .den = 1 };
    for (unsigned i = 0; i < n->n_in; i++) {
        struct sizes next;
        if (t->g->wires[n->in[i]].fact.rank != 1 || !trace_wire(t, n->in[i], &next) ||
            ret->n + next.n > LIST_MAX || !common_den(t, ret, &next))
            return false;
        for (unsigned k = 0; k < next.n; k++)
            ret->num[ret->n++] = next.num[k];
        ret->symbolic |= next.symbolic;
    }
    return true;
}

static bool trace_node(struct trace *t, const struct node *n, struct sizes *ret)
{
    static const enum op_id one[] = { OP_FLOOR,   OP_CEIL,    OP_NEG,      OP_IDENTITY,
                                      OP_SQUEEZE, OP_RESHAPE, OP_UNSQUEEZE };
    static const enum op_id two[] = { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_MIN };
    if (node_is_among(n, two, sizeof two / sizeof *two))
        return trace_two(t, n, ret);
    if (node_is(n, OP_GATHER))
        return trace_gather(t, n, ret);
    if (node_is(n, OP_CONCAT))
        return trace_concat(t, n, ret);
    const struct fact *out = &t->g->wires[n->out[0]].fact;
    bool widens = node_is(n, OP_CAST) && (out->type == DTYPE_F32 || out->type == DTYPE_F64);
    return (widens || node_is_among(n, one, sizeof one / sizeof *one)) && trace_one(t, n, ret);
}

static bool trace_wire(struct trace *t, uint32_t wire, struct sizes *ret)
{
    const struct wire *w = wire == WIRE_NONE ? NULL : &t->g->wires[wire];
    struct tensor shape;
    bool floats = w && (w->fact.type == DTYPE_F32 || w->fact.type == DTYPE_F64);
    if (!w || !fact_to_tensor(&w->fact, &shape) || tensor_count(&shape) > LIST_MAX ||
        tensor_count(&shape) < 1 || t->depth == DEPTH_MAX)
        return false;
    if (w->fact.value)
        return (floats || w->fact.type == DTYPE_DIM) && constant(t, w->fact.value, ret);
    if (!floats || w->node == WIRE_NONE)
        return false;
    t->depth++;
    bool found = trace_node(t, &t->g->nodes[w->node], ret);
    t->depth--;
    return found;
}

/* *ret_whole: nothing was rounded away. */
static struct tensor *float_size(const struct graph *g, uint32_t wire, struct arena *a,
                                 bool *ret_whole)
{
    struct trace t = { .g = g, .ds = g->dims };
    struct sizes s;
    struct tensor shape;
    if (wire == WIRE_NONE || g->wires[wire].fact.value || !trace_wire(&t, wire, &s) || !s.symbolic)
        return NULL;
    fact_to_tensor(&g->wires[wire].fact, &shape);
    struct tensor *v = tensor_new(a, DTYPE_DIM, shape.rank, shape.dim);
    for (unsigned i = 0; v && i < s.n; i++)
        ((const struct dim **) v->data)[i] = dim_div_cut_int(g->dims, s.num[i], s.den);
    *ret_whole = s.den == 1;
    return v;
}

const struct tensor *float_size_cast(const struct graph *g, const struct node *n,
                                     const uint32_t *in, struct arena *a)
{
    const enum dtype to = node_is(n, OP_CAST) ? (enum dtype) cast_attr_of(n)->to : DTYPE_NONE;
    bool whole;
    if ((to != DTYPE_I64 && to != DTYPE_I32) || n->n_in != 1 || n->n_out != 1)
        return NULL;
    struct tensor *v = float_size(g, in[0], a, &whole);
    if (v)
        v->number = to == DTYPE_I64 ? DTYPE_NONE : to;
    return v;
}

/* The node at which a size became a number of another kind that w is made of; NULL where data is in
 * it, too. */
static const struct node *size_behind(const struct graph *g, uint32_t w, struct arena *a)
{
    const struct node *found = NULL;
    bool *wanted = arena_array(a, bool, g->n_wires + 1);
    if (!wanted)
        return NULL;
    wanted[w] = true;
    for (uint32_t k = g->n_nodes; k-- > 0;) {
        const struct node *n = &g->nodes[k];
        bool writes = false;
        for (unsigned i = 0; i < n->n_out; i++)
            writes |= n->out[i] != WIRE_NONE && wanted[n->out[i]];
        for (unsigned i = 0; writes && i < n->n_in; i++) {
            const struct wire *from = n->in[i] == WIRE_NONE ? NULL : &g->wires[n->in[i]];
            if (from && !from->fact.value && from->node == WIRE_NONE)
                return NULL;
            if (from && from->fact.value && from->fact.value->type == DTYPE_DIM)
                found = n;
            else if (from)
                wanted[n->in[i]] = true;
        }
    }
    return found;
}

rill_status float_size_blame(const struct graph *g, uint32_t wire, const struct node *reader,
                             struct arena *a, rill_error *reterr)
{
    const struct node *at = size_behind(g, wire, a);
    struct trace t = { .g = g, .ds = g->dims };
    const uint32_t made = wire == WIRE_NONE ? WIRE_NONE : g->wires[wire].node;
    struct sizes s;
    if (made != WIRE_NONE && node_is(&g->nodes[made], OP_CAST))
        wire = g->nodes[made].in[0];
    if (wire == WIRE_NONE || trace_wire(&t, wire, &s) || !t.stop)
        return !at ? RILL_OK
                   : err_prefix(reterr, RILL_UNSUPPORTED,
                                "node '%.80s' (%s): a symbolic size cannot become a number that is "
                                "wanted before running; give the size a number",
                                at->name, at->op->name);
    return err_set(reterr, RILL_UNSUPPORTED,
                   "node '%.80s' (%s): a symbolic size times %.9g, a float, is wanted as a size by "
                   "'%.80s' (%s); give the size a number, or write a factor that is a ratio of "
                   "whole numbers up to 1024 (Resize by one streams)",
                   t.stop->name, t.stop->op->name, t.factor, reader->name, reader->op->name);
}

/* One number that is known, as a fraction. */
static bool number_known(const struct graph *g, uint32_t wire, double *ret)
{
    const struct tensor *v = wire == WIRE_NONE ? NULL : g->wires[wire].fact.value;
    const bool is = v && v->type != DTYPE_DIM && tensor_count(v) == 1;
    *ret = is ? tensor_get_f64(v, v->data, 0) : 0;
    return is;
}

/* The end of a Range that is no whole number, by whole steps, as the whole one that gives as many
 * numbers. NULL: that cannot be said, or there is no memory. */
static const struct tensor *range_end(const struct graph *g, const uint32_t *in, struct arena *a)
{
    struct trace t = { .g = g, .ds = g->dims };
    struct sizes s;
    struct tensor shape, *v;
    int64_t p, q;
    double step, first = 0;
    if (!number_known(g, in[2], &step) || step != floor(step) || step == 0 ||
        !trace_wire(&t, in[1], &s) || !s.symbolic || s.n != 1)
        return NULL;
    number_known(g, in[0], &first); /* a size is whole */
    first -= step < 0 ? ceil(first) : floor(first);
    if (!ratio_of(first, &p, &q))
        return NULL;
    struct sizes start = { .n = 1, .num = { dim_int(t.ds, p) }, .den = q };
    if (!joined(&t, &s, &start, dim_sub) || !fact_to_tensor(&g->wires[in[1]].fact, &shape) ||
        !(v = tensor_new(a, DTYPE_DIM, shape.rank, shape.dim)))
        return NULL;
    if (step < 0)
        floored(&t, &s);
    else
        ceiled(&t, &s);
    *(const struct dim **) v->data = s.num[0];
    return v;
}

rill_status float_size_range(struct graph *g, const struct node *n, uint32_t *in,
                             rill_error *reterr)
{
    for (unsigned i = 0; node_is(n, OP_RANGE) && i < n->n_in; i++) {
        bool whole = false;
        const struct tensor *v = float_size(g, in[i], g->arena, &whole);
        if (v && !whole)
            v = i == 1 ? range_end(g, in, g->arena) : NULL;
        TRY(dims_status(g->dims, reterr));
        if (v && (in[i] = graph_add_const(g, n->name, v)) == WIRE_NONE)
            return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return RILL_OK;
}
