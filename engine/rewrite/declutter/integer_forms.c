/* SPDX-License-Identifier: MIT */
/* Transposed convolutions and Einsums of dequantised bytes by many known weights get the forms that
 * have products of integers (integer_products.c): a Conv whose outputs are those of all phases of
 * the strides, put side by side behind it, and a MatMul of what is transposed. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/ops/einsum.h"
#include "engine/rewrite/declutter/integer_products.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/quantised.h"

#include <string.h>

enum { IN_X, IN_W, IN_BIAS };

static uint32_t ints_const(struct graph *g, const int64_t *v, int64_t n)
{
    return graph_add_const(g, "ints", tensor_from_data(g->arena, DTYPE_I64, 1, &n, v));
}

/* Puts in a node of one output of that fact; attr NULL: all 0. WIRE_NONE: no memory. */
static uint32_t node_put(struct edit *e, uint32_t at, enum op_id id, const void *attr,
                         const uint32_t *in, unsigned n_in, const struct fact *f)
{
    const struct op *op = op_by_id(id);
    const uint32_t to = graph_add_wire(e->g, e->g->nodes[at].name, f);
    if (!attr && op->attr_bytes)
        attr = arena_alloc(e->g->arena, op->attr_bytes);
    bool ok = to != WIRE_NONE && (attr || !op->attr_bytes);
    for (unsigned i = 0; i < n_in; i++)
        ok = ok && in[i] != WIRE_NONE;
    return ok && edit_insert(e, at, op, attr, in, n_in, &to, 1) ? to : WIRE_NONE;
}

static uint32_t transpose_put(struct edit *e, uint32_t at, uint32_t x, const int64_t *perm)
{
    struct transpose_attr *a = arena_new(e->g->arena, struct transpose_attr);
    struct fact f = e->g->wires[x].fact;
    const int64_t *kept = arena_copy(e->g->arena, perm, (size_t) f.rank * sizeof *kept);
    bool stays = true;
    for (int i = 0; i < f.rank; i++) {
        f.shape[i] = e->g->wires[x].fact.shape[perm[i]];
        stays = stays && perm[i] == i;
    }
    if (stays || !a || !kept)
        return stays ? x : WIRE_NONE;
    a->perm = (struct attr_ints) { (uint32_t) f.rank, kept };
    return node_put(e, at, OP_TRANSPOSE, a, &x, 1, &f);
}

/* To a shape of which at most one size is not known. */
static uint32_t reshape_put(struct edit *e, uint32_t at, uint32_t x, const struct fact *to)
{
    int64_t size[RANK_MAX];
    for (int i = 0; i < to->rank; i++)
        size[i] = dim_is_const(to->shape[i]) ? dim_value(to->shape[i]) : -1;
    const uint32_t in[] = { x, ints_const(e->g, size, to->rank) };
    return x == WIRE_NONE ? x : node_put(e, at, OP_RESHAPE, NULL, in, 2, to);
}

/* What was put in last, and wrote the wire, writes what the node wrote. False: no memory. */
static bool node_becomes(struct edit *e, uint32_t i, uint32_t wire)
{
    if (wire != WIRE_NONE)
        edit_replace(e, i, e->g->n_nodes - 1);
    return wire != WIRE_NONE;
}

/* ---- weights in another order ---- */

/* Element i of the new ones is element from[i] of the old, or stands for 0 (-1); output o along
 * `axis`, as the numbers of scales and zeros go, was output o % n_outputs. */
struct order {
    int rank, axis;
    int64_t dim[RANK_MAX], n_outputs;
    const int64_t *from;
};

static const struct tensor *list_repeated(struct arena *a, const struct tensor *t, int64_t n)
{
    struct tensor *y = tensor_new(a, t->type, 1, &n);
    for (int64_t i = 0; y && i < n; i++)
        tensor_set_f64(y, y->data, i, tensor_get_f64(t, t->data, i % tensor_count(t)));
    return y;
}

/* A scale or zero for each of n outputs, or the one of all. NULL: no memory. */
static const struct tensor *parameters_for(struct arena *a, const struct tensor *t, int64_t n)
{
    return tensor_count(t) == 1 ? t : list_repeated(a, t, n);
}

static int64_t zero_of(const struct quantised *q, int64_t output)
{
    return q->zero ? tensor_get_i64(q->zero, q->zero->data, output % tensor_count(q->zero)) : 0;
}

/* WIRE_NONE: no memory. */
static uint32_t weights_put(struct graph *g, const char *name, const struct tensor *w,
                            const struct order *o)
{
    const struct quantised *q = w->from;
    struct tensor *t = tensor_new(g->arena, DTYPE_F32, o->rank, o->dim),
                  *whole = tensor_new(g->arena, q->whole->type, o->rank, o->dim);
    struct quantised *from = arena_new(g->arena, struct quantised);
    int64_t inner = 1;
    if (!t || !whole || !from)
        return WIRE_NONE;
    for (int i = o->axis + 1; i < o->rank; i++)
        inner *= o->dim[i];
    for (int64_t i = 0; i < tensor_count(t); i++) {
        const int64_t at = o->from[i];
        const bool is = at >= 0;
        ((float *) t->data)[i] = is ? ((const float *) w->data)[at] : 0;
        ((uint8_t *) whole->data)[i] = is
            ? ((const uint8_t *) q->whole->data)[at]
            : (uint8_t) zero_of(q, i / inner % o->dim[o->axis] % o->n_outputs);
    }
    *from = (struct quantised) { .whole = whole,
                                 .scale = parameters_for(g->arena, q->scale, o->dim[o->axis]),
                                 .axis = o->axis };
    from->zero = q->zero ? parameters_for(g->arena, q->zero, o->dim[o->axis]) : NULL;
    t->from = from;
    return from->scale && (from->zero || !q->zero) ? graph_add_const(g, name, t) : WIRE_NONE;
}

/* ---- transposed convolutions ---- */

/* Output place s * m + p (of those before pads are taken off) sums the places m - j by the taps
 * p + s * j: phase p is a convolution by every s-th tap, the last one first. */
struct axis {
    int64_t kernel, stride;
    int64_t taps, dilation, before, after; /* of the convolution of each phase */
    int64_t front, back; /* places to cut off when the phases are put side by side */
};

#define AXES WINDOW_AXES_MAX

struct deconv {
    int axes;
    struct axis axis[AXES];
    int64_t cin, cout, phases;
};

static int64_t entry(struct attr_ints l, int i, int64_t otherwise)
{
    return (int) l.n > i ? l.v[i] : otherwise;
}

static int64_t floor_of(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static bool axis_read(const struct graph *g, const struct node *n, int axes, int i,
                      struct axis *ret)
{
    const struct deconv_attr *a = deconv_attr_of(n);
    const struct window_attr *w = &a->conv.w;
    const bool padded = w->auto_pad == PAD_NOTSET;
    const int64_t s = entry(w->strides, i, 1), d = entry(w->dilations, i, 1),
                  k = dim_value(g->wires[n->in[IN_W]].fact.shape[2 + i]),
                  before = padded ? entry(w->pads, i, 0) : 0,
                  after =
                      (padded ? entry(w->pads, axes + i, 0) : 0) - entry(a->output_padding, i, 0);
    *ret = (struct axis) { .kernel = k, .stride = s, .taps = (k + s - 1) / s, .dilation = d };
    if (s == 1) {
        ret->before = (k - 1) * d - before;
        ret->after = (k - 1) * d - after;
    } else {
        const int64_t tail = ret->taps * s - k + after;
        ret->front = before % s;
        ret->back = tail - floor_of(tail, s) * s;
        ret->before = ret->taps - 1 - before / s;
        ret->after = ret->taps - 1 - floor_of(tail, s);
    }
    const bool open = !dim_is_const(g->wires[n->in[IN_X]].fact.shape[2 + i]);
    return (s == 1 || d == 1) && ret->before >= 0 && ret->after >= 0 &&
        !(open && (ret->front || ret->back));
}

/* A transposed convolution that is worth it, with sizes that are known but for one at most. */
static bool deconv_read(const struct edit *e, const struct node *n, struct deconv *ret)
{
    const struct graph *g = e->g;
    const struct deconv_attr *a = deconv_attr_of(n);
    const struct fact *x = &g->wires[n->in[IN_X]].fact;
    const struct quantised *q = weights_quantised(g, n->in[IN_W], 1);
    int open = 0;
    *ret = (struct deconv) { .axes = x->rank - 2, .phases = 1 };
    if (!q || tensor_count(q->whole) < CONV_WEIGHTS_MIN || a->conv.group != 1 ||
        a->conv.epilogue.n || a->output_shape.n || ret->axes < 1 || ret->axes > AXES ||
        (a->conv.w.auto_pad != PAD_NOTSET && a->conv.w.auto_pad != PAD_VALID) ||
        !wire_is_dequantised_byte(e, n->in[IN_X]) ||
        (node_has_input(n, IN_BIAS) && !node_value(g, n, IN_BIAS)))
        return false;
    for (int i = 0; i < x->rank; i++)
        open += !dim_is_const(x->shape[i]);
    ret->cin = q->whole->dim[0];
    ret->cout = q->whole->dim[1];
    for (int i = 0; i < ret->axes; i++) {
        if (!axis_read(g, n, ret->axes, i, &ret->axis[i]))
            return false;
        ret->phases *= ret->axis[i].stride;
    }
    return open <= 1 && (ret->phases == 1 || dim_is_const(x->shape[0])) && ret->phases < 1 << 10;
}

/* The old place of a new weight, of tap `at` of each axis and of a phase; -1: there is none. */
static int64_t tap_of(const struct deconv *d, int64_t phase, int64_t at)
{
    int64_t place = 0, scale = 1;
    for (int i = d->axes - 1; i >= 0; i--) {
        const struct axis *x = &d->axis[i];
        const int64_t k = phase % x->stride + x->stride * (x->taps - 1 - at % x->taps);
        if (k >= x->kernel)
            return -1;
        place += k * scale;
        scale *= x->kernel;
        phase /= x->stride;
        at /= x->taps;
    }
    return place;
}

/* [phases * outputs, inputs, taps]. False: no memory. */
static bool order_make(struct arena *a, const struct deconv *d, struct order *ret)
{
    int64_t taps = 1, kernel = 1;
    *ret = (struct order) { .rank = 2 + d->axes,
                            .dim = { d->phases * d->cout, d->cin },
                            .n_outputs = d->cout };
    for (int i = 0; i < d->axes; i++) {
        ret->dim[2 + i] = d->axis[i].taps;
        taps *= d->axis[i].taps;
        kernel *= d->axis[i].kernel;
    }
    int64_t *from = arena_array(a, int64_t, (size_t) (d->phases * d->cout * d->cin * taps)), n = 0;
    ret->from = from;
    for (int64_t o = 0; from && o < d->phases * d->cout; o++)
        for (int64_t c = 0; c < d->cin; c++)
            for (int64_t t = 0; t < taps; t++) {
                const int64_t at = tap_of(d, o / d->cout, t);
                from[n++] = at < 0 ? at : (c * d->cout + o % d->cout) * kernel + at;
            }
    return from;
}

static struct conv_attr *conv_attr_make(struct arena *a, const struct deconv *d)
{
    struct conv_attr *c = arena_new(a, struct conv_attr);
    int64_t *v = arena_array(a, int64_t, 5 * AXES);
    const uint32_t n = (uint32_t) d->axes;
    if (!c || !v)
        return NULL;
    for (int i = 0; i < d->axes; i++) {
        v[i] = 1;
        v[AXES + i] = d->axis[i].taps;
        v[2 * AXES + i] = d->axis[i].dilation;
        v[3 * AXES + i] = d->axis[i].before;
        v[3 * AXES + d->axes + i] = d->axis[i].after;
    }
    *c = (struct conv_attr) { .w = { .kernel = { n, v + AXES },
                                     .strides = { n, v },
                                     .dilations = { n, v + 2 * AXES },
                                     .pads = { 2 * n, v + 3 * AXES },
                                     .auto_pad = PAD_NOTSET },
                              .group = 1 };
    return c;
}

/* The convolution of all phases. WIRE_NONE: no memory. */
static uint32_t phases_put(struct edit *e, uint32_t i, const struct deconv *d)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    const struct tensor *b = node_value(g, &n, IN_BIAS);
    struct conv_attr *a = conv_attr_make(g->arena, d);
    struct fact f = g->wires[n.in[IN_X]].fact;
    struct order o;
    if (!a || !order_make(g->arena, d, &o))
        return WIRE_NONE;
    f.shape[1] = dim_int(g->dims, d->phases * d->cout);
    for (int k = 0; k < d->axes; k++) {
        const struct axis *x = &d->axis[k];
        f.shape[2 + k] = dim_add_int(g->dims, f.shape[2 + k],
                                     x->before + x->after - (x->taps - 1) * x->dilation);
    }
    uint32_t in[3] = { n.in[IN_X], weights_put(g, n.name, g->wires[n.in[IN_W]].fact.value, &o) };
    if (b && d->phases == 1)
        in[IN_BIAS] = n.in[IN_BIAS];
    else if (b)
        in[IN_BIAS] = graph_add_const(g, n.name, list_repeated(g->arena, b, o.dim[0]));
    return node_put(e, i, OP_CONV, a, in, b ? 3 : 2, &f);
}

/* What the phases made, side by side: [N, phases.., C, places..] -> [N, C, place, phase, ..]. */
static uint32_t side_by_side(struct edit *e, uint32_t i, const struct deconv *d, uint32_t x)
{
    struct dims *ds = e->g->dims;
    struct fact split = e->g->wires[x].fact, y = split;
    int64_t perm[RANK_MAX] = { 0, 1 + d->axes };
    split.rank = 2 + 2 * d->axes;
    split.shape[1 + d->axes] = y.shape[1] = dim_int(ds, d->cout);
    for (int k = 0; k < d->axes; k++) {
        split.shape[2 + d->axes + k] = y.shape[2 + k];
        y.shape[2 + k] = dim_mul_int(ds, y.shape[2 + k], d->axis[k].stride);
        perm[2 + 2 * k] = 2 + d->axes + k;
        perm[3 + 2 * k] = 1 + k;
    }
    for (int k = 0; k < d->axes; k++)
        split.shape[1 + k] = dim_int(ds, d->axis[k].stride);
    x = reshape_put(e, i, x, &split);
    x = x == WIRE_NONE ? x : transpose_put(e, i, x, perm);
    return reshape_put(e, i, x, &y);
}

/* Without what stands before and behind the output. */
static uint32_t cut_put(struct edit *e, uint32_t i, const struct deconv *d, uint32_t x)
{
    struct graph *g = e->g;
    int64_t from[AXES], to[AXES], axis[AXES];
    const struct fact f = g->wires[g->nodes[i].out[0]].fact;
    int n = 0;
    for (int k = 0; k < d->axes; k++)
        if (d->axis[k].front || d->axis[k].back) {
            from[n] = d->axis[k].front;
            to[n] = d->axis[k].front + dim_value(f.shape[2 + k]);
            axis[n++] = 2 + k;
        }
    if (n == 0 || x == WIRE_NONE)
        return x;
    const uint32_t in[] = { x, ints_const(g, from, n), ints_const(g, to, n),
                            ints_const(g, axis, n) };
    return node_put(e, i, OP_SLICE, NULL, in, 4, &f);
}

/* False: no memory. */
static bool deconv_turn(struct edit *e, uint32_t i)
{
    struct deconv d;
    if (!deconv_read(e, &e->g->nodes[i], &d))
        return true;
    uint32_t x = phases_put(e, i, &d);
    if (x != WIRE_NONE && d.phases > 1)
        x = cut_put(e, i, &d, side_by_side(e, i, &d, x));
    return node_becomes(e, i, x);
}

/* ---- Einsums ---- */

/* Rows and a matrix: axes of x and w, in the order of [both.., rows.., summed] and [both..,
 * summed, columns]. */
struct product {
    uint32_t x, w; /* inputs of the node */
    int n_both, n_rows;
    int64_t x_axis[RANK_MAX], w_axis[RANK_MAX], y_axis[RANK_MAX]; /* y: [both.., rows.., columns] */
};

static bool is_shared(const struct graph *g, const struct node *n, const int *ranks, unsigned i,
                      int axis, int *ret_other)
{
    const int at = einsum_output_axis(n, ranks, i, axis);
    const struct fact *f = &g->wires[n->in[1 - i]].fact;
    for (*ret_other = 0; *ret_other < f->rank; ++*ret_other)
        if (at >= 0 && einsum_output_axis(n, ranks, 1 - i, *ret_other) == at)
            return true;
    return false;
}

/* Labels of one operand alone, but for the summed one. */
static int own_axes(const struct graph *g, const struct node *n, const int *ranks, unsigned i,
                    int summed, int64_t *ret)
{
    int count = 0, other;
    for (int k = 0; k < ranks[i]; k++)
        if (k != summed && !is_shared(g, n, ranks, i, k, &other))
            ret[count++] = k;
    return count;
}

static bool product_read(const struct graph *g, const struct node *n, unsigned x,
                         struct product *ret)
{
    const unsigned w = 1 - x;
    const int ranks[] = { g->wires[n->in[0]].fact.rank, g->wires[n->in[1]].fact.rank };
    int64_t columns[RANK_MAX];
    int summed[2], other, at = 0;
    *ret = (struct product) { .x = n->in[x], .w = n->in[w] };
    if (!einsum_summed(n, ranks, summed))
        return false;
    for (int k = 0; k < ranks[w]; k++) {
        if (k == summed[w] || !is_shared(g, n, ranks, w, k, &other))
            continue;
        if (g->wires[ret->x].fact.shape[other] != g->wires[ret->w].fact.shape[k])
            return false;
        ret->w_axis[at] = k;
        ret->x_axis[at++] = other;
    }
    ret->n_both = at;
    ret->n_rows = own_axes(g, n, ranks, x, summed[x], ret->x_axis + at);
    if (own_axes(g, n, ranks, w, summed[w], columns) != 1 || (at > 0 && ret->n_rows == 0) ||
        ranks[w] + ret->n_rows > RANK_MAX)
        return false;
    ret->x_axis[at + ret->n_rows] = summed[x];
    ret->w_axis[at] = summed[w];
    ret->w_axis[at + 1] = columns[0];
    for (int k = 0; k < at + ret->n_rows; k++)
        ret->y_axis[k] = einsum_output_axis(n, ranks, x, (int) ret->x_axis[k]);
    ret->y_axis[at + ret->n_rows] = einsum_output_axis(n, ranks, w, (int) columns[0]);
    return true;
}

/* One row axis is the matrix's, the others go along those of the product. */
static bool matrix_order(struct arena *a, const struct tensor *w, const struct product *p,
                         struct order *ret)
{
    int64_t strides[RANK_MAX], step[RANK_MAX] = { 0 };
    const int ones = p->n_both > 0 ? p->n_rows - 1 : 0, last = p->n_both + ones + 1;
    *ret = (struct order) { .rank = last + 1, .axis = last };
    tensor_strides(w, strides);
    for (int i = 0; i <= last; i++) {
        const int from = i < p->n_both ? i : i - ones;
        const bool one = i >= p->n_both && i < p->n_both + ones;
        ret->dim[i] = one ? 1 : w->dim[p->w_axis[from]];
        step[i] = one ? 0 : strides[p->w_axis[from]];
    }
    ret->n_outputs = ret->dim[last];
    int64_t *to = arena_array(a, int64_t, (size_t) tensor_count(w));
    for (int64_t i = 0; to && i < tensor_count(w); i++) {
        int64_t left = i;
        to[i] = 0;
        for (int k = last; k >= 0; k--) {
            to[i] += left % ret->dim[k] * step[k];
            left /= ret->dim[k];
        }
    }
    ret->from = to;
    return to;
}

/* Bytes are transposed, and dequantised then. WIRE_NONE: no memory. */
static uint32_t rows_put(struct edit *e, uint32_t i, const struct product *p)
{
    struct quantised_wire q;
    if (!wire_is_dequantised(e, p->x, &q))
        return WIRE_NONE;
    const struct node dq = e->g->nodes[q.node];
    const uint32_t turned = transpose_put(e, i, q.whole, p->x_axis);
    if (turned == q.whole || turned == WIRE_NONE)
        return turned == WIRE_NONE ? turned : p->x;
    struct fact f = e->g->wires[turned].fact;
    uint32_t in[] = { turned, dq.in[1], dq.n_in > 2 ? dq.in[2] : WIRE_NONE };
    f.type = DTYPE_F32;
    return node_put(e, i, OP_DEQUANTIZE_LINEAR, dq.attr, in, q.zero ? 3 : 2, &f);
}

/* False: no memory. */
static bool matmul_put(struct edit *e, uint32_t i, const struct product *p)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    const struct tensor *w = g->wires[p->w].fact.value;
    const struct fact *y = &g->wires[n.out[0]].fact;
    int64_t back[RANK_MAX];
    struct fact f = *y;
    struct order o;
    if (!matrix_order(g->arena, w, p, &o))
        return false;
    for (int k = 0; k < y->rank; k++) {
        f.shape[k] = y->shape[p->y_axis[k]];
        back[p->y_axis[k]] = k;
    }
    const uint32_t in[] = { rows_put(e, i, p), weights_put(g, n.name, w, &o) };
    const uint32_t made = node_put(e, i, OP_MATMUL, NULL, in, 2, &f);
    return made != WIRE_NONE && node_becomes(e, i, transpose_put(e, i, made, back));
}

/* False: no memory. */
static bool einsum_turn(struct edit *e, uint32_t i)
{
    const struct graph *g = e->g;
    const struct node n = g->nodes[i];
    struct product p;
    for (unsigned x = 0; x < 2 && n.n_in == 2; x++) {
        const struct quantised *q;
        if (!wire_is_dequantised_byte(e, n.in[x]) || !product_read(g, &n, x, &p))
            continue;
        q = weights_quantised(g, p.w, (int) p.w_axis[p.n_both + 1]);
        if (q && tensor_count(q->whole) >= MATRIX_WEIGHTS_MIN)
            return matmul_put(e, i, &p);
    }
    return true;
}

rill_status graph_with_integer_forms(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++) {
        const struct node *n = &ret->nodes[i];
        if ((node_is(n, OP_CONV_TRANSPOSE) && !deconv_turn(&e, i)) ||
            (node_is(n, OP_EINSUM) && !einsum_turn(&e, i)))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return edit_end(&e, reterr);
}
