/* SPDX-License-Identifier: MIT */
#include "pulse/sizes.h"
#include "engine/ops/attrs.h"

#include <float.h>
#include <math.h>

#define CONSTANT_MAX (1 << 20)         /* elements that are looked at */
#define PLACE_MAX ((double) (1 << 20)) /* frame numbers */

static const struct size usual = { -SIZE_USUAL, SIZE_USUAL }, any = { -INFINITY, INFINITY };

static struct size sized(double low, double high)
{
    return low <= high ? (struct size) { low, high } : any;
}

static bool is_open(struct size a)
{
    return !(a.low > -INFINITY && a.high < INFINITY);
}

static struct size hull(struct size a, struct size b)
{
    return sized(fmin(a.low, b.low), fmax(a.high, b.high));
}

static struct size negative(struct size a)
{
    return sized(-a.high, -a.low);
}

static struct size sum(struct size a, struct size b)
{
    return sized(a.low + b.low, a.high + b.high);
}

static struct size product(struct size a, struct size b)
{
    double v[] = { a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high };
    struct size y = { v[0], v[0] };
    for (int i = 0; i < 4; i++)
        y = isnan(v[i]) ? any : hull(y, (struct size) { v[i], v[i] });
    return y;
}

static struct size magnitude(struct size a)
{
    double most = fmax(fabs(a.low), fabs(a.high));
    return sized(a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, most);
}

static struct size inverse(struct size a)
{
    return a.low > 0 || a.high < 0 ? sized(1 / a.high, 1 / a.low) : any;
}

struct size size_of_constant(const struct tensor *v)
{
    struct size y = { INFINITY, -INFINITY };
    if (v->type == DTYPE_DIM)
        return sized(-PLACE_MAX, PLACE_MAX);
    if (tensor_count(v) > CONSTANT_MAX)
        return any;
    for (int64_t i = 0; i < tensor_count(v); i++) {
        double x = tensor_get_f64(v, v->data, i);
        if (isnan(x))
            return any;
        y = (struct size) { fmin(y.low, x), fmax(y.high, x) };
    }
    return y.low <= y.high ? y : usual;
}

static struct size exponential(struct size a)
{
    double most = exp(a.high);
    return sized(exp(a.low), most < FLT_MAX ? most : INFINITY);
}

static struct size logarithm(struct size a)
{
    return sized(a.low > 0 ? log(a.low) : -INFINITY, a.high > 1 ? log(a.high) : 0);
}

#define LOG_KEYS_MAX 45.0 /* of as many keys as can be counted */

/* Less than the largest by what there is of keys: of what is hidden by -inf it is that. */
static struct size log_share(struct size a)
{
    return sized(a.low - a.high - LOG_KEYS_MAX, 0);
}

static struct size raised(struct size a, struct size b)
{
    double most = pow(magnitude(a).high, b.high);
    return b.low == b.high && b.low >= 0 ? sized(b.low == 2 ? 0 : -most, most) : any;
}

static struct size all_inputs(const struct node *n, const struct size *in, unsigned first)
{
    struct size y = in[first];
    for (unsigned i = first + 1; i < n->n_in; i++)
        y = hull(y, in[i]);
    return y;
}

static int open_axes(const struct fact *f)
{
    int k = 0;
    for (int i = 0; i < f->rank; i++)
        k += !dim_is_const(f->shape[i]);
    return k;
}

/* Over axes other than time; else scores that some key has. */
static struct size reduced(const struct graph *g, const struct node *n, struct size a)
{
    bool kept = open_axes(&g->wires[n->in[0]].fact) == open_axes(&g->wires[n->out[0]].fact);
    bool sums = node_is(n, OP_REDUCE_SUM) && (a.low < -SIZE_USUAL || a.high > SIZE_USUAL);
    return !kept ? usual : sums ? any : a;
}

static struct size clipped(const struct node *n, const struct size *in)
{
    struct size y = in[0];
    if (node_has_input(n, 1))
        y = sized(fmax(y.low, in[1].low), fmax(y.high, in[1].high));
    if (node_has_input(n, 2))
        y = sized(fmin(y.low, in[2].low), fmin(y.high, in[2].high));
    return y;
}

static struct size two_sized(const struct node *n, struct size a, struct size b)
{
    switch (n->op->id) {
    case OP_ADD: return sum(a, b);
    case OP_SUB: return sum(a, negative(b));
    case OP_DIV: return product(a, inverse(b));
    case OP_POW: return raised(a, b);
    default: return n->in[0] == n->in[1] ? product(magnitude(a), magnitude(a)) : product(a, b);
    }
}

static struct size one_sized(const struct graph *g, const struct node *n, struct size a)
{
    static const struct size zero = { 0, 0 }, share = { 0, 1 }, unit = { -1, 1 };
    switch (n->op->id) {
    case OP_COS:
    case OP_ERF:
    case OP_SIN:
    case OP_SOFTSIGN:
    case OP_TANH: return unit;
    case OP_HARD_SIGMOID:
    case OP_SIGMOID:
    case OP_SOFTMAX: return share;
    case OP_NEG: return negative(a);
    case OP_ABS: return magnitude(a);
    case OP_RELU: return sized(fmax(a.low, 0), fmax(a.high, 0));
    case OP_EXP: return exponential(a);
    case OP_LOG: return logarithm(a);
    case OP_LOG_SOFTMAX: return log_share(a);
    case OP_SQRT: return sized(0, sqrt(fmax(a.high, 0)));
    case OP_RECIPROCAL: return inverse(a);
    case OP_TRILU: return hull(a, zero);
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_MEAN:
    case OP_REDUCE_SUM: return reduced(g, n, a);
    case OP_CAST:
    case OP_CEIL:
    case OP_DEQUANTIZE_LINEAR:
    case OP_EXPAND:
    case OP_FLATTEN:
    case OP_FLOOR:
    case OP_GATHER:
    case OP_GATHER_ELEMENTS:
    case OP_IDENTITY:
    case OP_LEAKY_RELU:
    case OP_QUANTIZE_LINEAR: /* what its bytes stand for */
    case OP_RESHAPE:
    case OP_ROUND:
    case OP_ROUND_BF16:
    case OP_ROUND_F16:
    case OP_SLICE:
    case OP_SQUEEZE:
    case OP_TILE:
    case OP_TRANSPOSE:
    case OP_UNSQUEEZE: return a;
    default: return (n->op->flags & OP_POINTWISE) && is_open(a) ? any : usual;
    }
}

/* Whether input i of n is known, one number, and at least that. */
static bool at_least(const struct graph *g, const struct node *n, unsigned i, double least)
{
    const struct tensor *v = g->wires[n->in[i]].fact.value;
    return v && v->type != DTYPE_DIM && tensor_count(v) == 1 &&
        tensor_get_f64(v, v->data, 0) >= least;
}

/* Frame numbers, of which those that count up from 0 or more are none below it. */
static struct size counted(const struct graph *g, const struct node *n)
{
    const bool up = at_least(g, n, 0, 0) && at_least(g, n, 2, 0);
    return sized(up ? 0 : -PLACE_MAX, PLACE_MAX);
}

struct size size_made(const struct graph *g, const struct node *n, const struct size *in)
{
    switch (n->op->id) {
    case OP_RANGE: return counted(g, n);
    case OP_WHERE: return all_inputs(n, in, 1);
    case OP_CONCAT:
    case OP_MAX:
    case OP_MIN: return all_inputs(n, in, 0);
    case OP_CLIP: return clipped(n, in);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_POW: return two_sized(n, in[0], in[1]);
    case OP_MATMUL:
    case OP_EINSUM: return usual; /* its operands may be large constants */
    default: return one_sized(g, n, n->n_in ? in[0] : usual);
    }
}

static unsigned inputs_most(const struct graph *g)
{
    unsigned most = 1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        most = g->nodes[i].n_in > most ? g->nodes[i].n_in : most;
    return most;
}

struct size *sizes_find(const struct graph *g, struct arena *a)
{
    struct size *of = arena_array(a, struct size, g->n_wires + 1),
                *in = arena_array(a, struct size, inputs_most(g));
    for (uint32_t w = 0; of && w < g->n_wires; w++)
        of[w] = g->wires[w].fact.type == DTYPE_BOOL ? (struct size) { 0, 1 }
            : g->wires[w].fact.value                ? size_of_constant(g->wires[w].fact.value)
                                                    : usual;
    for (uint32_t i = 0; of && in && i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        const struct fact *y =
            n->n_out == 1 && n->out[0] != WIRE_NONE ? &g->wires[n->out[0]].fact : NULL;
        if (!y || y->type == DTYPE_BOOL || y->value)
            continue;
        for (unsigned k = 0; k < n->n_in; k++)
            in[k] = n->in[k] == WIRE_NONE ? usual : of[n->in[k]];
        of[n->out[0]] = size_made(g, n, in);
    }
    return in ? of : NULL;
}
