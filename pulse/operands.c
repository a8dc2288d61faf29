/* SPDX-License-Identifier: MIT */
#include "pulse/operands.h"
#include "pulse/attention_refusal.h"
#include "pulse/axes.h"
#include "pulse/first_queries.h"
#include "pulse/lengths.h"
#include "pulse/places.h"
#include "pulse/tracks.h"

static int axis_at(const struct pulser *p, const struct node *n, unsigned i, int out_axis,
                   bool same_axes)
{
    return same_axes ? out_axis : track_in(p, n, i, out_axis);
}

rill_status operand_of(const struct pulser *p, const struct node *n, unsigned i,
                       struct operand *ret)
{
    const int query = section_query(p, n->out[0]), key = section_key(p, n->out[0]);
    bool softmax = node_is(n, OP_SOFTMAX) || node_is(n, OP_LOG_SOFTMAX);
    uint32_t stream;
    int axis;
    *ret = (struct operand) {
        .w = n->in[i], .stream = n->in[i], .query = AXIS_NONE, .key = AXIS_NONE
    };
    if (ret->w == WIRE_NONE || pulser_fact(p, ret->w)->value)
        return RILL_OK;
    ret->query = axis_at(p, n, i, query, softmax);
    ret->key = axis_at(p, n, i, key, softmax);
    if (is_spread(p, ret->w, &stream, &axis)) {
        ret->stream = stream;
        ret->part = axis == ret->query ? PART_QUERIES : PART_KEYS;
        return flow_of(p, stream, &ret->flow) && keys_of(p, stream, &ret->keys) &&
                (axis == ret->query || axis == ret->key)
            ? RILL_OK
            : stuck_refuse(p, n);
    }
    if (pulser_is_mask(p, ret->w))
        ret->part = PART_PLACES;
    else if (pulser_time_twice(p, ret->w))
        ret->part = PART_SCORES;
    else if (flow_of(p, ret->w, &ret->flow))
        ret->part = ret->flow.sf.axis == ret->query ? PART_QUERIES : PART_KEYS;
    if (ret->part == PART_PLACES || ret->part == PART_SCORES
            ? ret->query < 0 || ret->key < 0
            : ret->part == PART_KEYS && ret->flow.sf.axis != ret->key)
        return stuck_refuse(p, n);
    if (ret->part == PART_SCORES) {
        if (!p->sf[ret->w].keys)
            return stuck_refuse(p, n);
        ret->flow = (struct flow) { p->map[ret->w], p->sf[ret->w] };
    }
    if (ret->part == PART_KEYS)
        keys_of(p, ret->w, &ret->keys);
    return RILL_OK;
}

/* Where axis, of an operand, is the out_axis of what n makes: both are as long. */
static rill_status axis_lengths(const struct pulser *p, const struct node *n, uint32_t operand,
                                int axis, int out_axis)
{
    if (axis < 0 || dim_is(pulser_fact(p, operand)->shape[axis], 1))
        return RILL_OK;
    return pulser_lengths_same(p, n, pulser_fact(p, operand)->shape[axis],
                               pulser_fact(p, n->out[0])->shape[out_axis]);
}

/* A softmax over no keys has no weights, of which products give 0; over keys that are all outside
 * the sequence its weights are no numbers. */
static rill_status keys_there(const struct pulser *p, const struct node *n, int query, int key)
{
    const struct dim *const *shape = pulser_fact(p, n->out[0])->shape;
    const struct dim *both[2] = { shape[query], shape[key] };
    const char *t = dim_name(p->symbol);
    struct lengths l;
    int64_t queries, keys, most = -1;
    const bool weighs = node_is(n, OP_SOFTMAX) || node_is(n, OP_LOG_SOFTMAX);
    if (!weighs || both[0] == both[1] || !lengths_decide(p, both, 2, 0, false, &l))
        return RILL_OK;
    for (int64_t at = 0; at < l.end; at++)
        if (dims_allow(p->src->dims, p->symbol, at) && dim_eval(both[0], p->symbol, at, &queries) &&
            queries > 0 && dim_eval(both[1], p->symbol, at, &keys) && keys == 0)
            most = at;
    return most < 0 ? RILL_OK
                    : op_fail(p->err, RILL_UNSUPPORTED, n,
                              "cannot stream: where %s = %lld there are queries but no keys, over "
                              "which its weights are nothing; --assert \"%s >= %lld\" leaves that "
                              "out",
                              t, (long long) most, t, (long long) most + 1);
}

rill_status operands_of(const struct pulser *p, const struct node *n, struct operand *o)
{
    const int query = section_query(p, n->out[0]), key = section_key(p, n->out[0]);
    for (unsigned i = 0; i < n->n_in; i++) {
        TRY(operand_of(p, n, i, &o[i]));
        if (o[i].part == PART_STATIC)
            continue;
        TRY(axis_lengths(p, n, o[i].w, o[i].query, query));
        TRY(axis_lengths(p, n, o[i].w, o[i].key, key));
    }
    return keys_there(p, n, query, key);
}

/* Its sizes, with those of a run on the two axes. */
static rill_status sizes_emit(struct pulser *p, const struct node *n, const struct stream_fact *s,
                              uint32_t *ret)
{
    const struct fact *f = pulser_fact(p, n->out[0]);
    int64_t shape[RANK_MAX];
    for (int a = 0; a < f->rank; a++) {
        if (a != s->axis && a != s->key_axis && !dim_is_const(f->shape[a]))
            return pulser_refuse_shapes(p, n, "a size is not known");
        shape[a] = a == s->axis ? s->pulse : a == s->key_axis ? s->keys : dim_value(f->shape[a]);
    }
    return pulser_ints(p, n->name, shape, (unsigned) f->rank, ret);
}

rill_status scores_op(struct pulser *p, const struct node *n, const struct stream_fact *s,
                      uint32_t *in, uint32_t *ret)
{
    bool reshapes = node_is(n, OP_RESHAPE) || node_is(n, OP_FLATTEN);
    const unsigned turned = node_is(n, OP_SLICE) ? track_turned(p, n) : 0;
    if (turned & (1u << s->axis | 1u << s->key_axis))
        return stuck_refuse(p, n);
    if (node_is(n, OP_SLICE) && !turned &&
        fact_same(pulser_fact(p, n->in[0]), pulser_fact(p, n->out[0]))) {
        *ret = in[0];
        return RILL_OK;
    }
    TRY(places_rows(p, n, &in[1]));
    if (!reshapes && !node_is(n, OP_EXPAND))
        return pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, ret, 1);
    TRY(sizes_emit(p, n, s, &in[1]));
    return pulser_emit_op(p, reshapes ? OP_RESHAPE : OP_EXPAND, n->name, NULL, 0, in, 2, ret);
}

bool scores_fit(const struct pulser *p, uint32_t w, const struct stream_fact *s)
{
    const struct fact *f = pulser_dst_fact(p, w);
    return s->key_axis < f->rank && s->axis < f->rank && dim_is(f->shape[s->axis], s->pulse) &&
        dim_is(f->shape[s->key_axis], s->keys);
}
