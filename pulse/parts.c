/* SPDX-License-Identifier: MIT */
#include "pulse/parts.h"
#include "engine/ops/attrs.h"
#include "pulse/axes.h"
#include "pulse/ints.h"
#include "pulse/length_mask.h"
#include "pulse/off_axis.h"
#include "pulse/rules.h"
#include "pulse/tracks.h"

#define DEEP_MAX 64 /* nodes behind each other that are emitted once more */

struct part_made {
    struct wire_part is;
    struct flow flow;
    struct part_made *next;
};

static rill_status part_within(struct pulser *p, const struct wire_part *x, int deep,
                               struct flow *ret);

static int64_t size_of(const struct pulser *p, uint32_t w, int axis)
{
    const struct dim *d = pulser_fact(p, w)->shape[axis];
    return dim_is_const(d) ? dim_value(d) : 0;
}

/* All of a wire; axis -1 in sf where it does not stream. */
static struct flow whole_of(const struct pulser *p, uint32_t w)
{
    struct flow f = { WIRE_NONE, { .axis = -1 } };
    if (w != WIRE_NONE && !flow_of(p, w, &f))
        f.wire = p->map[w];
    return f;
}

/* ---- a node on other operands ---- */

/* What is known of a src wire. */
struct known {
    uint32_t map;
    struct stream_fact sf;
    struct padded padded;
    struct kept kept;
};

static struct known known_of(const struct pulser *p, uint32_t w)
{
    return w == WIRE_NONE ? (struct known) { 0 }
                          : (struct known) { p->map[w], p->sf[w], p->padded[w], p->kept[w] };
}

static void known_put(struct pulser *p, uint32_t w, const struct known *k)
{
    if (w == WIRE_NONE)
        return;
    p->map[w] = k->map;
    p->sf[w] = k->sf;
    p->padded[w] = k->padded;
    p->kept[w] = k->kept;
}

/* Output wire `out` of n, where its inputs were those; what is known of its wires stays. */
static rill_status node_on(struct pulser *p, const struct node *n, pulse_rule *rule,
                           const struct flow *in, uint32_t out, struct flow *ret)
{
    struct known *was = arena_array(p->arena, struct known, n->n_in + n->n_out + 1);
    if (!was)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        was[i] = known_of(p, n->in[i]);
    for (unsigned k = 0; k < n->n_out; k++)
        was[n->n_in + k] = known_of(p, n->out[k]);
    for (unsigned i = 0; i < n->n_in; i++)
        known_put(p, n->in[i],
                  &(struct known) { .map = in[i].wire, .sf = in[i].sf, .kept = was[i].kept });
    const rill_status s = rule(p, n);
    *ret = (struct flow) { p->map[out], p->sf[out] };
    for (unsigned k = 0; k < n->n_out; k++)
        known_put(p, n->out[k], &was[n->n_in + k]);
    for (unsigned i = 0; i < n->n_in; i++)
        known_put(p, n->in[i], &was[i]);
    return s;
}

/* A wire that a node reads twice is the same part of it. */
static bool operands_agree(const struct node *n, const struct flow *in)
{
    for (unsigned i = 0; i < n->n_in; i++)
        for (unsigned k = 0; k < i; k++)
            if (n->in[i] == n->in[k] && in[i].wire != in[k].wire)
                return false;
    return true;
}

/* ---- where the indices come from ---- */

/* Streams joined along that axis: those that have some of the indices. */
static rill_status joined_part(struct pulser *p, const struct node *n, const struct wire_part *x,
                               int deep, struct flow *ret, bool *ret_is)
{
    struct flow *in = arena_array(p->arena, struct flow, n->n_in + 1);
    struct node some = *n;
    int64_t at = 0;
    some.in = arena_array(p->arena, uint32_t, n->n_in + 1);
    some.n_in = 0;
    if (!in || !some.in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++) {
        const int64_t size = size_of(p, n->in[i], x->axis);
        const struct wire_part of = { n->in[i], x->axis, larger(x->from - at, 0),
                                      smaller(x->to - at, size) };
        if (of.from < of.to) {
            TRY(part_within(p, &of, deep, &in[some.n_in]));
            some.in[some.n_in++] = n->in[i];
        }
        at += size;
    }
    *ret_is = some.n_in && operands_agree(&some, in);
    *ret = in[0];
    return some.n_in < 2 || !*ret_is ? RILL_OK
                                     : node_on(p, &some, pulser_off_axis, in, x->wire, ret);
}

/* The indices that a constant names. */
static rill_status named_part(struct pulser *p, const struct node *n, const struct wire_part *x,
                              int axis, int deep, struct flow *ret, bool *ret_is)
{
    const struct tensor *v = pulser_fact(p, n->in[1])->value;
    const int along = x->axis - axis;
    int64_t stride[RANK_MAX], dim[RANK_MAX], least = INT64_MAX, most = -1,
                                             size = size_of(p, n->in[0], axis);
    struct flow in[2];
    if (!v || v->type != DTYPE_I64 || size < 1)
        return RILL_OK;
    for (int k = 0; k < v->rank; k++)
        dim[k] = k == along ? x->to - x->from : v->dim[k];
    struct tensor *at = tensor_new(p->arena, DTYPE_I64, v->rank, dim);
    if (!at)
        return pulser_no_memory(p);
    tensor_strides(v, stride);
    int64_t *to = at->data, n_to = 0;
    for (int64_t i = 0; i < tensor_count(v); i++) {
        const int64_t k = i / stride[along] % v->dim[along], index = tensor_get_i64(v, v->data, i);
        if (k < x->from || k >= x->to)
            continue;
        to[n_to] = index < 0 ? index + size : index;
        least = smaller(least, to[n_to]);
        most = larger(most, to[n_to++]);
    }
    if (n_to == 0 || least < 0 || most >= size)
        return RILL_OK;
    for (int64_t i = 0; i < n_to; i++)
        to[i] -= least;
    TRY(part_within(p, &(struct wire_part) { n->in[0], axis, least, most + 1 }, deep, &in[0]));
    in[1] = (struct flow) { graph_add_const(p->dst, n->name, at), { .axis = -1 } };
    if (in[1].wire == WIRE_NONE)
        return pulser_no_memory(p);
    *ret_is = true;
    return node_on(p, n, pulser_off_axis, in, x->wire, ret);
}

/* Indices from..to of a longer axis, cut by that alone. */
static rill_status sliced_part(struct pulser *p, const struct node *n, const struct wire_part *x,
                               int deep, struct flow *ret, bool *ret_is)
{
    int64_t start, axis, step = 1;
    unsigned one;
    const int rank = pulser_fact(p, n->in[0])->rank;
    if (!pulser_const_ints(p, n, 1, &start, 1, &one) || one != 1 ||
        !pulser_const_ints(p, n, 3, &axis, 1, &one) || one != 1 ||
        axis_normalise(axis, rank) != x->axis ||
        (node_has_input(n, 4) && (!pulser_const_ints(p, n, 4, &step, 1, &one) || one != 1)))
        return RILL_OK;
    const int64_t size = size_of(p, n->in[0], x->axis);
    start += start < 0 ? size : 0;
    if (step != 1 || start < 0 || start + x->to > size)
        return RILL_OK;
    *ret_is = true;
    return part_within(p, &(struct wire_part) { n->in[0], x->axis, start + x->from, start + x->to },
                       deep, ret);
}

/* Ops of which an operand that has the axis is known to have it where their map says. */
static bool operands_known(const struct node *n)
{
    static const enum op_id list[] = { OP_CONCAT,     OP_EINSUM,     OP_GATHER,
                                       OP_MATMUL,     OP_REDUCE_MAX, OP_REDUCE_MEAN,
                                       OP_REDUCE_MIN, OP_REDUCE_SUM, OP_SLICE,
                                       OP_SOFTMAX,    OP_SPLIT,      OP_SQUEEZE,
                                       OP_TRANSPOSE,  OP_UNSQUEEZE,  OP_LAYER_NORMALIZATION };
    return pulse_rule_find(n->op) == rule_pointwise ||
        node_is_among(n, list, sizeof list / sizeof *list);
}

/* Whether n does to each index of the axis what it does to all, frame by frame. */
static bool keeps_indices(const struct pulser *p, const struct node *n, const struct wire_part *x)
{
    if (!pulser_stream(p, n->out[0]) || !operands_known(n) ||
        (node_is(n, OP_SLICE) && track_turned(p, n) >> x->axis & 1))
        return false;
    const struct stream_fact *to = pulser_stream(p, x->wire);
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        if (s &&
            (s->pulse != to->pulse || s->length != to->length ||
             track_out(p, n, i, s->axis) != to->axis))
            return false;
    }
    return true;
}

/* n on that part of each operand that has the axis. */
static rill_status same_part(struct pulser *p, const struct node *n, const struct wire_part *x,
                             int deep, struct flow *ret, bool *ret_is)
{
    struct flow *in = arena_array(p->arena, struct flow, n->n_in + 1);
    bool any = false;
    if (!in)
        return pulser_no_memory(p);
    if (!keeps_indices(p, n, x))
        return RILL_OK;
    for (unsigned i = 0; i < n->n_in; i++) {
        const int axis = n->in[i] == WIRE_NONE ? AXIS_NONE : track_in(p, n, i, x->axis);
        in[i] = whole_of(p, n->in[i]);
        if (axis == AXIS_NONE)
            continue;
        any = true;
        TRY(part_within(p, &(struct wire_part) { n->in[i], axis, x->from, x->to }, deep, &in[i]));
    }
    *ret_is = any && operands_agree(n, in);
    return *ret_is ? node_on(p, n, pulse_rule_find(n->op), in, x->wire, ret) : RILL_OK;
}

/* n, which reshapes what is beside time and the indices. */
static rill_status reshaped_part(struct pulser *p, const struct node *n, const struct wire_part *x,
                                 int deep, struct flow *ret, bool *ret_is)
{
    const struct fact *to = pulser_fact(p, n->out[0]);
    const struct stream_fact *s = pulser_stream(p, n->in[0]), *made = pulser_stream(p, x->wire);
    const int axis = track_in(p, n, 0, x->axis);
    int64_t shape[RANK_MAX];
    if (!s || axis == AXIS_NONE || s->pulse != made->pulse || s->length != made->length ||
        track_out(p, n, 0, s->axis) != made->axis)
        return RILL_OK;
    TRY(part_within(p, &(struct wire_part) { n->in[0], axis, x->from, x->to }, deep, ret));
    for (int i = 0; i < to->rank; i++)
        shape[i] = i == made->axis ? made->pulse
            : i == x->axis         ? x->to - x->from
                                   : size_of(p, x->wire, i);
    uint32_t in[2] = { ret->wire };
    TRY(pulser_ints(p, n->name, shape, (unsigned) to->rank, &in[1]));
    *ret_is = true;
    ret->sf.axis = made->axis;
    return pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, in, 2, &ret->wire);
}

static bool plain_operands(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE &&
            (pulser_is_mask(p, n->in[i]) || pulser_kept(p, n->in[i]) || p->sf[n->in[i]].keys))
            return false;
    return !node_is_attention(p, n) && !length_mask_is(p, n);
}

static rill_status part_by_node(struct pulser *p, const struct node *n, const struct wire_part *x,
                                int deep, struct flow *ret, bool *ret_is)
{
    const struct stream_fact *s = pulser_stream(p, n->in[0]);
    const int axis = node_is(n, OP_CONCAT) || node_is(n, OP_GATHER)
        ? axis_normalise(axis_of(n), pulser_fact(p, n->in[0])->rank)
        : AXIS_NONE;
    if (node_is(n, OP_CONCAT) && axis == x->axis)
        return joined_part(p, n, x, deep, ret, ret_is);
    if (node_is(n, OP_RESHAPE)) {
        TRY(reshape_part(p, n, x, ret, ret_is));
        return *ret_is ? RILL_OK : reshaped_part(p, n, x, deep, ret, ret_is);
    }
    if (node_is(n, OP_GATHER) && s && s->axis == axis)
        return gather_part(p, n, x, ret, ret_is);
    if (node_is(n, OP_GATHER) && x->axis >= axis && x->axis < axis + pulser_fact(p, n->in[1])->rank)
        return named_part(p, n, x, axis, deep, ret, ret_is);
    if (node_is(n, OP_SLICE))
        TRY(sliced_part(p, n, x, deep, ret, ret_is));
    return *ret_is ? RILL_OK : same_part(p, n, x, deep, ret, ret_is);
}

/* ---- parts ---- */

static const struct part_made *part_find(const struct pulser *p, const struct wire_part *x)
{
    for (const struct part_made *w = p->parts; w; w = w->next)
        if (w->is.wire == x->wire && w->is.axis == x->axis && w->is.from == x->from &&
            w->is.to == x->to)
            return w;
    return NULL;
}

static rill_status part_note(struct pulser *p, const struct wire_part *x, const struct flow *f)
{
    struct part_made *w = arena_new(p->arena, struct part_made);
    if (!w)
        return pulser_no_memory(p);
    *w = (struct part_made) { *x, *f, p->parts };
    p->parts = w;
    return RILL_OK;
}

/* Out of all of the wire where nothing better is known. */
static rill_status part_within(struct pulser *p, const struct wire_part *x, int deep,
                               struct flow *ret)
{
    const struct node *n = graph_producer(p->src, x->wire);
    const struct part_made *old = part_find(p, x);
    bool is = false;
    *ret = old ? old->flow : whole_of(p, x->wire);
    if (old || (x->from == 0 && x->to == size_of(p, x->wire, x->axis)))
        return RILL_OK;
    if (deep < DEEP_MAX && n && n->n_in && pulser_stream(p, x->wire) && plain_operands(p, n))
        TRY(part_by_node(p, n, x, deep + 1, ret, &is));
    if (!is || ret->sf.axis < 0) {
        *ret = whole_of(p, x->wire);
        TRY(pulser_slice(p, p->src->wires[x->wire].name, ret->wire, x->axis, x->from, x->to,
                         &ret->wire));
    }
    if (ret->sf.axis >= 0)
        ret->sf.at = p->sf[x->wire].at;
    return part_note(p, x, ret);
}

rill_status part_flow(struct pulser *p, const struct wire_part *x, struct flow *ret)
{
    return part_within(p, x, 0, ret);
}
