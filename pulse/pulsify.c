/* SPDX-License-Identifier: MIT */
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/positions.h"
#include "pulse/pulser.h"
#include "pulse/refusal.h"

#include <stdio.h>
#include <string.h>

#define TRIES_MAX 64

rill_status pulser_no_memory(const struct pulser *p)
{
    return err_set(p->err, RILL_NOMEM, "out of memory while pulsing");
}

const struct stream_fact *pulser_stream(const struct pulser *p, uint32_t w)
{
    return w == WIRE_NONE || p->sf[w].axis < 0 ? NULL : &p->sf[w];
}

const struct fact *pulser_fact(const struct pulser *p, uint32_t w)
{
    return &p->src->wires[w].fact;
}

const struct fact *pulser_dst_fact(const struct pulser *p, uint32_t w)
{
    return &p->dst->wires[w].fact;
}

bool pulser_const_ints(const struct pulser *p, const struct node *n, unsigned i, int64_t *ret,
                       unsigned cap, unsigned *ret_n)
{
    const struct tensor *v =
        i < n->n_in && n->in[i] != WIRE_NONE ? pulser_fact(p, n->in[i])->value : NULL;
    if (!v || tensor_count(v) > cap)
        return false;
    *ret_n = (unsigned) tensor_count(v);
    for (unsigned k = 0; k < *ret_n; k++) {
        const struct dim *d =
            v->type == DTYPE_DIM ? ((const struct dim *const *) v->data)[k] : NULL;
        if (d && !dim_is_const(d))
            return false;
        ret[k] = d ? dim_value(d) : tensor_get_i64(v, v->data, k);
    }
    return true;
}

/* ---- emitting ---- */

static rill_status infer_emitted(struct pulser *p, const struct node *n, struct fact *out)
{
    const struct fact **in = arena_array(p->arena, const struct fact *, n->n_in + 1);
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? NULL : &p->dst->wires[n->in[i]].fact;
    TRY(op_infer(n, in, out, p->dst->dims, p->arena, p->err));
    return dims_status(p->dst->dims, p->err);
}

rill_status pulser_emit(struct pulser *p, const struct op *op, const char *name, const void *attr,
                        const uint32_t *in, unsigned n_in, uint32_t *ret_out, unsigned n_out)
{
    struct fact *facts = arena_array(p->arena, struct fact, n_out + 1);
    uint32_t *list = arena_copy(p->arena, in, n_in * sizeof *in);
    if (!op)
        return err_set(p->err, RILL_INTERNAL, "'%s' needs an op that is not built in", name);
    if (!facts || !list)
        return pulser_no_memory(p);
    struct node n = { .name = name,
                      .op = op,
                      .attr = attr,
                      .in = list,
                      .n_in = n_in,
                      .out = ret_out,
                      .n_out = n_out };
    TRY(infer_emitted(p, &n, facts));
    for (unsigned i = 0; i < n_out; i++) {
        ret_out[i] = graph_add_wire(p->dst, name, &facts[i]);
        if (ret_out[i] == WIRE_NONE)
            return pulser_no_memory(p);
    }
    return graph_add_node(p->dst, op, name, attr, list, n_in, ret_out, n_out) ? RILL_OK
                                                                              : pulser_no_memory(p);
}

#define OTHER_PULSE 10007

rill_status pulser_any_pulse(struct pulser *p, const struct node *n, const uint32_t *in, unsigned k,
                             int axis)
{
    struct fact *facts = arena_array(p->arena, struct fact, n->n_in + n->n_out + 1),
                *out = facts + n->n_in;
    const struct fact **list = arena_array(p->arena, const struct fact *, n->n_in + 1);
    rill_error why = { 0 };
    if (!facts || !list)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        if (in[i] == WIRE_NONE)
            continue;
        facts[i] = *pulser_dst_fact(p, in[i]);
        list[i] = &facts[i];
        if (s)
            facts[i].shape[s->axis] = dim_int(p->dst->dims, OTHER_PULSE);
    }
    if (op_infer(n, list, out, p->dst->dims, p->arena, &why) == RILL_OK && axis < out[k].rank &&
        dim_is(out[k].shape[axis], OTHER_PULSE))
        return RILL_OK;
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: an input that does not run along time has a fixed number of "
                   "indices where the others have time, axis %d of output %u",
                   axis, k);
}

rill_status pulser_ints(struct pulser *p, const char *name, const int64_t *v, unsigned n,
                        uint32_t *ret)
{
    struct tensor *t = tensor_new(p->arena, DTYPE_I64, 1, &(int64_t) { n });
    if (!t)
        return pulser_no_memory(p);
    memcpy(t->data, v, n * sizeof *v);
    *ret = graph_add_const(p->dst, name, t);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

rill_status pulser_emit_op(struct pulser *p, enum op_id id, const char *name,
                           const struct attr *attrs, unsigned n_attrs, const uint32_t *in,
                           unsigned n_in, uint32_t *ret_out)
{
    const struct op *op = op_by_id(id);
    void *attr = op->attr_bytes ? arena_alloc(p->arena, op->attr_bytes) : NULL;
    struct attr *kept = n_attrs ? arena_copy(p->arena, attrs, n_attrs * sizeof *kept) : NULL;
    if ((op->attr_bytes && !attr) || (n_attrs && !kept))
        return pulser_no_memory(p);
    if (attr)
        TRY(attrs_parse(op, name, kept, n_attrs, attr, p->err));
    return pulser_emit(p, op, name, attr, in, n_in, ret_out, 1);
}

static void attr_set(const struct attr_spec *spec, unsigned char *attr, const struct attr *a)
{
    const int choice = (int) a->i;
    if (spec->kind == ATTR_INT)
        memcpy(attr + spec->offset, &a->i, sizeof a->i);
    else if (spec->kind == ATTR_CHOICE)
        memcpy(attr + spec->offset, &choice, sizeof choice);
    else if (spec->kind == ATTR_INTS)
        memcpy(attr + spec->offset, &a->ints, sizeof a->ints);
}

rill_status pulser_attr_copy(struct pulser *p, const struct node *n, const struct attr *list,
                             unsigned n_list, void **ret)
{
    unsigned char *attr = arena_copy(p->arena, n->attr, n->op->attr_bytes);
    if (!attr)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n_list; i++)
        for (const struct attr_spec *s = n->op->attrs; s && s->name; s++)
            if (!strcmp(s->name, list[i].name))
                attr_set(s, attr, &list[i]);
    *ret = attr;
    return RILL_OK;
}

rill_status pulser_state(struct pulser *p, const char *name, const struct fact *f, int axis,
                         int64_t n, uint32_t *ret)
{
    struct fact s = *f;
    s.value = NULL;
    s.shape[axis] = dim_int(p->dst->dims, n);
    *ret = graph_add_wire(p->dst, name, &s);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

rill_status pulser_filled(struct pulser *p, uint32_t dst_wire, const struct tensor *scalar,
                          const struct tensor **ret)
{
    struct tensor shape, *t;
    *ret = NULL;
    if (!scalar)
        return RILL_OK;
    if (!fact_to_tensor(pulser_dst_fact(p, dst_wire), &shape))
        return err_set(p->err, RILL_INTERNAL, "'%s' has no size", p->dst->wires[dst_wire].name);
    if (!(t = tensor_new(p->arena, shape.type, shape.rank, shape.dim)))
        return pulser_no_memory(p);
    size_t bytes = dtype_bytes(t->type);
    for (size_t i = 0; i < tensor_bytes(t); i += bytes)
        memcpy((unsigned char *) t->data + i, scalar->data, bytes);
    *ret = t;
    return RILL_OK;
}

rill_status pulser_slice(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t from,
                         int64_t to, uint32_t *ret)
{
    uint32_t in[4] = { wire };
    TRY(pulser_ints(p, name, &from, 1, &in[1]));
    TRY(pulser_ints(p, name, &to, 1, &in[2]));
    TRY(pulser_ints(p, name, &(int64_t) { axis }, 1, &in[3]));
    return pulser_emit_op(p, OP_SLICE, name, NULL, 0, in, 4, ret);
}

/* ---- the clock ---- */

static struct pulser *outermost(struct pulser *p)
{
    while (p->outer)
        p = p->outer;
    return p;
}

rill_status pulser_clock(struct pulser *p, uint32_t *ret)
{
    const struct fact f = { .type = DTYPE_I64,
                            .rank = 1,
                            .shape = { dim_int(p->dst->dims, CLOCK_SIZE) } };
    if (p->clock == WIRE_NONE)
        p->clock = graph_add_input(p->dst, "clock", &f);
    *ret = p->clock;
    return p->clock == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

rill_status pulser_length_place(struct pulser *p, const struct dim *length, int64_t *ret)
{
    struct pulser *o = outermost(p);
    uint32_t i = 0;
    while (i < o->n_lengths && o->lengths[i] != length)
        i++;
    if (i == LENGTHS_MAX)
        return err_set(p->err, RILL_LIMIT, "the graph has more than %d lengths of streams",
                       LENGTHS_MAX);
    o->lengths[i] = length;
    o->n_lengths += i == o->n_lengths;
    *ret = 1 + i;
    return RILL_OK;
}

/* s->pulse is the stream's pulse times hop_den / hop_num. */
rill_status pulser_want_multiple(struct pulser *p, const struct node *n,
                                 const struct stream_fact *s, int64_t hop)
{
    struct pulser *o = outermost(p);
    int64_t input_frames;
    if (s->pulse % hop == 0)
        return RILL_OK;
    bool fits = !__builtin_mul_overflow(hop, s->hop_num, &input_frames);
    o->multiple = fits ? input_frames / gcd(input_frames, s->hop_den) : 0;
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "a pulse of %lld frames is no multiple of its hop of %lld", (long long) s->pulse,
                   (long long) hop);
}

/* What stands in the typed graph must grow as fast as what is made of it. */
static rill_status bind_growth(const struct pulser *p, const struct node *n,
                               const struct stream_fact *sf, const struct dim *length)
{
    int64_t num, den;
    char text[128];
    if (pulser_growth(p, length, &num, &den) && num * sf->hop_num == den * sf->hop_den)
        return RILL_OK;
    dim_print(length, text, sizeof text);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it makes %s frames on axis %d, the time axis, which do not "
                   "grow with the stream at %lld frames in %lld",
                   text, sf->axis, (long long) sf->hop_den, (long long) sf->hop_num);
}

rill_status pulser_bind(struct pulser *p, const struct node *n, unsigned k, uint32_t dst_wire,
                        const struct stream_fact *sf)
{
    const struct fact *f = &p->dst->wires[dst_wire].fact;
    if (sf->axis >= f->rank || !dim_is(f->shape[sf->axis], sf->pulse)) {
        char fact[160];
        fact_print(f, fact, sizeof fact);
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: output %u would be %s where %lld frames on axis %d "
                       "are expected",
                       k, fact, (long long) sf->pulse, sf->axis);
    }
    const struct dim *length = pulser_fact(p, n->out[k])->shape[sf->axis];
    TRY(bind_growth(p, n, sf, length));
    p->map[n->out[k]] = dst_wire;
    p->sf[n->out[k]] = *sf;
    p->sf[n->out[k]].length = length;
    offset_settle(&p->sf[n->out[k]], p->symbol);
    return RILL_OK;
}

/* ---- driver ---- */

static bool node_streams(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]))
            return true;
    return false;
}

static rill_status node_copy(struct pulser *p, const struct node *n)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1),
             *out = arena_array(p->arena, uint32_t, n->n_out + 1);
    if (!in || !out)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
    for (unsigned i = 0; i < n->n_out; i++) {
        out[i] = WIRE_NONE;
        if (n->out[i] == WIRE_NONE)
            continue;
        const struct wire *w = &p->src->wires[n->out[i]];
        if (!fact_is_static(&w->fact)) {
            char fact[160];
            fact_print(&w->fact, fact, sizeof fact);
            return op_fail(p->err, RILL_UNSUPPORTED, n, "makes %s out of inputs that do not stream",
                           fact);
        }
        out[i] = p->map[n->out[i]] = graph_add_wire(p->dst, w->name, &w->fact);
    }
    if (p->valid)
        return pulser_guard(p, n, in, out);
    struct node *made = graph_add_node(p->dst, n->op, n->name, n->attr, in, n->n_in, out, n->n_out);
    if (!made)
        return pulser_no_memory(p);
    made->body = n->body;
    made->n_body = n->n_body;
    return RILL_OK;
}

/* A constant that holds a length of the whole sequence. */
static bool fact_knows_length(const struct fact *f)
{
    const struct tensor *v = f ? f->value : NULL;
    for (int64_t i = 0; v && v->type == DTYPE_DIM && i < tensor_count(v); i++)
        if (dim_has_symbol(((const struct dim *const *) v->data)[i]))
            return true;
    return false;
}

bool pulser_knows_length(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (fact_knows_length(n->in[i] == WIRE_NONE ? NULL : pulser_fact(p, n->in[i])))
            return true;
    return false;
}

rill_status pulser_no_lengths(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (fact_knows_length(n->in[i] == WIRE_NONE ? NULL : pulser_fact(p, n->in[i])))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u is computed from the length of the whole "
                           "sequence, which a stream learns only at its end",
                           i);
    return RILL_OK;
}

static bool node_makes_time(const struct pulser *p, const struct node *n)
{
    for (unsigned k = 0; k < n->n_out; k++)
        for (int i = 0; n->out[k] != WIRE_NONE && i < pulser_fact(p, n->out[k])->rank; i++)
            if (p->symbol && dim_mentions(pulser_fact(p, n->out[k])->shape[i], p->symbol))
                return true;
    return false;
}

static bool graph_makes_time(const struct graph *g, const struct dim *symbol)
{
    for (uint32_t w = 0; w < g->n_wires; w++)
        for (int i = 0; g->wires[w].node != WIRE_NONE && i < g->wires[w].fact.rank; i++)
            if (dim_mentions(g->wires[w].fact.shape[i], symbol))
                return true;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            if (graph_makes_time(g->nodes[i].body[b], symbol))
                return true;
    return false;
}

static bool graph_knows_length(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (fact_knows_length(
                    g->nodes[i].in[k] == WIRE_NONE ? NULL : &g->wires[g->nodes[i].in[k]].fact))
                return true;
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            if (graph_knows_length(g->nodes[i].body[b]))
                return true;
    }
    return false;
}

/* A body that nothing streams into and that yet knows time. */
static rill_status bodies_check(const struct pulser *p, const struct node *n)
{
    for (unsigned b = 0; p->symbol && b < n->n_body; b++)
        if (graph_makes_time(n->body[b], p->symbol))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: its body makes a tensor as long as the sequence, and "
                           "nothing that streams goes in; make the tensor outside");
    for (unsigned b = 0; b < n->n_body; b++)
        if (graph_knows_length(n->body[b]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: its body reads the length of the whole sequence, which "
                           "a stream learns only at its end");
    return RILL_OK;
}

/* A mask over two time axes is made where it is used. */
static rill_status mask_check(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_is_mask(p, n->in[i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u is a mask over two time axes, and the node is "
                           "no attention",
                           i);
    return RILL_OK;
}

static rill_status node_pulse(struct pulser *p, const struct node *n)
{
    if (node_is_attention(p, n))
        return rule_attention(p, n);
    if (n->n_out == 1 && pulser_is_mask(p, n->out[0]))
        return RILL_OK;
    TRY(mask_check(p, n));
    bool streams = node_streams(p, n);
    pulse_rule *rule = streams  ? pulse_rule_find(n->op)
        : node_makes_time(p, n) ? pulse_source_find(n->op)
                                : NULL;
    if (rule)
        return rule(p, n);
    if (streams)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "does not stream: no rule says how it touches the time axis");
    TRY(pulser_no_lengths(p, n));
    TRY(bodies_check(p, n));
    return node_copy(p, n);
}

rill_status pulser_maps_new(struct pulser *p)
{
    const struct graph *src = p->src;
    p->map = arena_array(p->arena, uint32_t, src->n_wires + 1);
    p->sf = arena_array(p->arena, struct stream_fact, src->n_wires + 1);
    p->padded = arena_array(p->arena, struct padded, src->n_wires + 1);
    p->windows = arena_array(p->arena, struct axis_window, src->n_nodes + 1);
    if (!p->map || !p->sf || !p->padded || !p->windows)
        return pulser_no_memory(p);
    p->clock = WIRE_NONE;
    p->made = NULL;
    for (uint32_t w = 0; w < src->n_wires; w++) {
        const struct wire *from = &src->wires[w];
        p->map[w] = WIRE_NONE;
        p->sf[w] = (struct stream_fact) { .axis = -1 };
        if (from->fact.value &&
            (p->map[w] = graph_add_const(p->dst, from->name, from->fact.value)) == WIRE_NONE)
            return pulser_no_memory(p);
    }
    return RILL_OK;
}

rill_status pulser_nodes(struct pulser *p)
{
    for (uint32_t i = 0; i < p->src->n_nodes; i++) {
        p->stopped = &p->src->nodes[i];
        TRY(node_pulse(p, p->stopped));
    }
    p->stopped = NULL;
    return RILL_OK;
}

/* An axis of a*S + c frames has a frames for each of the stream. */
static rill_status input_stream(struct pulser *p, uint32_t w, int axis, struct stream_fact *ret)
{
    const struct dim *length = pulser_fact(p, w)->shape[axis];
    int64_t a, b;
    if (ret->axis >= 0)
        return err_set(p->err, RILL_UNSUPPORTED, "input '%s' has the time symbol on two axes",
                       p->src->wires[w].name);
    if (!dim_slope(length, p->symbol, &a, &b) || b != 1 || a < 1 || a > INT32_MAX / p->pulse) {
        char text[128];
        dim_print(length, text, sizeof text);
        return err_set(p->err, RILL_UNSUPPORTED,
                       "input '%s': axis %d of %s frames cannot stream; a whole multiple of the "
                       "time symbol can",
                       p->src->wires[w].name, axis, text);
    }
    *ret = (struct stream_fact) {
        .axis = axis, .pulse = a * p->pulse, .length = length, .hop_num = 1, .hop_den = a
    };
    offset_init(ret);
    return RILL_OK;
}

static rill_status input_pulse(struct pulser *p, uint32_t i)
{
    uint32_t w = p->src->inputs[i];
    struct fact f = *pulser_fact(p, w);
    struct stream_fact sf = { .axis = -1 };
    for (int a = 0; p->symbol && a < f.rank; a++)
        if (dim_mentions(f.shape[a], p->symbol)) {
            TRY(input_stream(p, w, a, &sf));
            f.shape[a] = dim_int(p->dst->dims, sf.pulse);
        }
    p->sf[w] = sf;
    p->map[w] = graph_add_input(p->dst, p->src->wires[w].name, &f);
    return p->map[w] == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

static rill_status pulser_begin(struct pulser *p)
{
    const struct graph *src = p->src;
    graph_init(p->dst, p->arena, src->dims, src->name);
    p->dst->meta = src->meta;
    p->dst->n_meta = src->n_meta;
    p->n_lengths = 0;
    p->multiple = 0;
    TRY(pulser_maps_new(p));
    for (uint32_t i = 0; i < src->n_inputs; i++)
        TRY(input_pulse(p, i));
    for (uint32_t i = 0; i < src->n_states; i++) {
        uint32_t w = src->states[i].in;
        p->map[w] = graph_add_wire(p->dst, src->wires[w].name, &src->wires[w].fact);
    }
    return RILL_OK;
}

/* An output comes late enough that frames past its end are never given out. */
static rill_status output_pulse(struct pulser *p, uint32_t i)
{
    const struct node n = { .name = p->src->wires[p->src->outputs[i]].name, .op = &op_pulse_pad };
    struct flow f;
    uint32_t w = p->src->outputs[i];
    if (pulser_is_mask(p, w) || p->sf[w].keys)
        return op_fail(p->err, RILL_UNSUPPORTED, &n, "cannot stream: the output has two time axes");
    if (flow_of(p, w, &f)) {
        TRY(flow_settle(p, &n, &f));
        p->sf[w] = f.sf;
        p->map[w] = f.wire;
    }
    struct wire *made = &p->dst->wires[p->map[w]];
    if (made->node != WIRE_NONE)
        made->name = p->src->wires[w].name;
    return graph_add_output(p->dst, p->map[w]) ? RILL_OK : pulser_no_memory(p);
}

static rill_status pulser_walk(struct pulser *p)
{
    const struct graph *src = p->src;
    TRY(pulser_begin(p));
    TRY(pulser_nodes(p));
    for (uint32_t i = 0; i < src->n_outputs; i++)
        TRY(output_pulse(p, i));
    for (uint32_t i = 0; i < src->n_states; i++) {
        const struct state *s = &src->states[i];
        if (!graph_add_state(p->dst, s->name, p->map[s->in], p->map[s->out], s->init))
            return pulser_no_memory(p);
    }
    return graph_check(p->dst, p->err);
}

static struct stream_fact *ports_of(const struct pulser *p, const uint32_t *wires, uint32_t n)
{
    struct stream_fact *list = arena_array(p->arena, struct stream_fact, n + 1);
    for (uint32_t i = 0; list && i < n; i++)
        list[i] = p->sf[wires[i]];
    return list;
}

static struct pulsed_wire *trace_of(const struct pulser *p)
{
    struct pulsed_wire *list = arena_array(p->arena, struct pulsed_wire, p->src->n_wires + 1);
    for (uint32_t w = 0; list && w < p->src->n_wires; w++)
        list[w] = (struct pulsed_wire) { p->map[w], p->sf[w] };
    return list;
}

static rill_status pgraph_finish(struct pgraph *g, const struct pulser *p)
{
    g->pulse = p->pulse;
    g->inputs = ports_of(p, p->src->inputs, p->src->n_inputs);
    g->outputs = ports_of(p, p->src->outputs, p->src->n_outputs);
    g->trace = trace_of(p);
    g->n_trace = p->src->n_wires;
    g->windows = p->windows;
    g->has_clock = p->clock != WIRE_NONE;
    g->n_lengths = p->n_lengths;
    memcpy(g->lengths, p->lengths, sizeof g->lengths);
    return g->inputs && g->outputs && g->trace ? RILL_OK : pulser_no_memory(p);
}

/* With larger pulses until one fits all strides. */
static rill_status pulser_walk_fitting(struct pulser *p, int64_t *tries)
{
    int64_t asked = p->pulse, of = 1;
    for (rill_status s; (s = pulser_walk(p)) != RILL_OK; ++*tries) {
        if (!p->multiple || *tries == TRIES_MAX ||
            __builtin_mul_overflow(of / gcd(of, p->multiple), p->multiple, &of) ||
            of > INT32_MAX - asked)
            return s;
        p->pulse = (asked + of - 1) / of * of;
    }
    return RILL_OK;
}

#define SYMBOLS_MAX 16

static unsigned input_symbols(const struct graph *g, const struct dim **list)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct fact *f = &g->wires[g->inputs[i]].fact;
        for (int k = 0; k < f->rank; k++)
            n = dim_symbols(f->shape[k], list, n, SYMBOLS_MAX);
    }
    return n;
}

rill_status pgraph_no_time(const struct dgraph *t, rill_error *reterr)
{
    const struct dim *list[SYMBOLS_MAX];
    char names[240] = "";
    unsigned n = input_symbols(&t->g, list);
    for (unsigned i = 0; i < n; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.60s", i ? ", " : "",
                 dim_name(list[i]));
    if (n == 0)
        return err_set(reterr, RILL_UNSUPPORTED,
                       "the model has no time axis: no size of its inputs is a symbol");
    if (n == 1)
        return err_set(
            reterr, RILL_UNSUPPORTED,
            "the model has no time axis: the only symbol of its inputs, %s, is not taken "
            "for time; name it as the stream, or give it a value",
            names);
    return err_set(reterr, RILL_UNSUPPORTED,
                   "which symbol of its inputs is time is not known: %s; name one as the stream, "
                   "and set those that are the same to it, as in %s=%s",
                   names, dim_name(list[1]), dim_name(list[0]));
}

rill_status pgraph_cut(struct pgraph *ret, const struct dgraph *t, const struct dim *symbol,
                       int64_t pulse, const struct pulse_opts *opts, struct arena *a,
                       struct pulser *ret_p, rill_error *reterr)
{
    struct pgraph made = { .symbol = symbol };
    struct positions positions;
    struct pulser p = { .src = &t->g,
                        .dst = &made.g,
                        .symbol = symbol,
                        .arena = a,
                        .pulse = pulse > 0 ? pulse : 1,
                        .keep_bodies = opts && opts->keep_bodies,
                        .err = reterr };
    const struct dim *symbols[SYMBOLS_MAX];
    *ret_p = (struct pulser) { .err = reterr };
    if (!symbol && input_symbols(&t->g, symbols))
        return pgraph_no_time(t, reterr);
    if (symbol) {
        TRY(positions_find(&positions, &t->g, a, reterr));
        p.positions = &positions;
    }
    rill_status status = pulser_walk_fitting(&p, &made.tries);
    if (symbol)
        positions_drop(&positions);
    *ret_p = p;
    ret_p->positions = NULL;
    ret_p->dst = NULL;
    TRY(status);
    TRY(pgraph_finish(&made, &p));
    *ret = made;
    return RILL_OK;
}

rill_status pgraph_from_dgraph(struct pgraph *ret, const struct dgraph *t, const struct dim *symbol,
                               int64_t pulse, const struct pulse_opts *opts, struct arena *a,
                               rill_error *reterr)
{
    struct pulser p;
    rill_status status = pgraph_cut(ret, t, symbol, pulse, opts, a, &p, reterr);
    if (status == RILL_UNSUPPORTED)
        refusal_explain(&p, t);
    return status;
}
