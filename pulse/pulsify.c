/* SPDX-License-Identifier: MIT */
#include "engine/control.h"
#include "pulse/pulser.h"

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

/* ---- emitting ---- */

static rill_status infer_emitted(struct pulser *p, const struct node *n, struct fact *out)
{
    const struct fact **in = arena_array(p->arena, const struct fact *, n->n_in + 1);
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? NULL : &p->dst->wires[n->in[i]].fact;
    struct infer c = { .node = n, .attr = n->attr, .dims = p->dst->dims, .arena = p->arena, .n_in = n->n_in,
                       .n_out = n->n_out, .in = in, .out = out, .err = p->err };
    TRY(n->op->infer(&c));
    return dims_status(p->dst->dims, p->err);
}

rill_status pulser_emit(struct pulser *p, const struct op *op, const char *name, const void *attr, const uint32_t *in,
                        unsigned n_in, uint32_t *ret_out, unsigned n_out)
{
    struct fact *facts = arena_array(p->arena, struct fact, n_out + 1);
    uint32_t *list = arena_copy(p->arena, in, n_in * sizeof *in);
    if (!op)
        return err_set(p->err, RILL_INTERNAL, "'%s' needs an op that is not built in", name);
    if (!facts || !list)
        return pulser_no_memory(p);
    struct node n = { .name = name, .op = op, .attr = attr, .in = list, .n_in = n_in, .out = ret_out, .n_out = n_out };
    TRY(infer_emitted(p, &n, facts));
    for (unsigned i = 0; i < n_out; i++) {
        ret_out[i] = graph_add_wire(p->dst, name, &facts[i]);
        if (ret_out[i] == WIRE_NONE)
            return pulser_no_memory(p);
    }
    return graph_add_node(p->dst, op, name, attr, in, n_in, ret_out, n_out) ? RILL_OK : pulser_no_memory(p);
}

rill_status pulser_ints(struct pulser *p, const char *name, const int64_t *v, unsigned n, uint32_t *ret)
{
    struct tensor *t = tensor_new(p->arena, DTYPE_I64, 1, &(int64_t) { n });
    if (!t)
        return pulser_no_memory(p);
    memcpy(t->data, v, n * sizeof *v);
    *ret = graph_add_const(p->dst, name, t);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

rill_status pulser_state(struct pulser *p, const char *name, const struct fact *f, int axis, int64_t n, uint32_t *ret)
{
    struct fact s = *f;
    s.value = NULL;
    s.shape[axis] = dim_int(p->dst->dims, n);
    *ret = graph_add_wire(p->dst, name, &s);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

rill_status pulser_slice(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t from, int64_t to,
                         uint32_t *ret)
{
    uint32_t in[4] = { wire };
    TRY(pulser_ints(p, name, &from, 1, &in[1]));
    TRY(pulser_ints(p, name, &to, 1, &in[2]));
    TRY(pulser_ints(p, name, &(int64_t) { axis }, 1, &in[3]));
    return pulser_emit(p, op_find("Slice"), name, NULL, in, 4, ret, 1);
}

/* history ++ wire, and the newest `keep` frames as the next history. */
static rill_status history_join(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t keep,
                                uint32_t *ret)
{
    const struct op *concat = op_find("Concat");
    const struct fact f = p->dst->wires[wire].fact;
    int64_t pulse = dim_value(f.shape[axis]);
    uint32_t in[2] = { 0, wire }, next;
    struct attr a = { .name = "axis", .kind = ATTR_INT, .i = axis };
    void *attr = concat ? arena_alloc(p->arena, concat->attr_bytes) : NULL;
    if (!attr)
        return concat ? pulser_no_memory(p) : err_set(p->err, RILL_INTERNAL, "no op 'Concat'");
    TRY(attrs_parse(concat, name, &a, 1, attr, p->err));
    TRY(pulser_state(p, name, &f, axis, keep, &in[0]));
    TRY(pulser_emit(p, concat, name, attr, in, 2, ret, 1));
    TRY(pulser_slice(p, name, *ret, axis, pulse, pulse + keep, &next));
    return graph_add_state(p->dst, name, in[0], next, NULL) ? RILL_OK : pulser_no_memory(p);
}

rill_status pulser_delay(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t n, uint32_t *ret)
{
    *ret = wire;
    if (n == 0)
        return RILL_OK;
    uint32_t joined;
    int64_t pulse = dim_value(p->dst->wires[wire].fact.shape[axis]);
    TRY(history_join(p, name, wire, axis, n, &joined));
    return pulser_slice(p, name, joined, axis, 0, pulse, ret);
}

rill_status pulser_history(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t n, uint32_t *ret)
{
    *ret = wire;
    return n ? history_join(p, name, wire, axis, n, ret) : RILL_OK;
}

rill_status pulser_bind(struct pulser *p, const struct node *n, unsigned k, uint32_t dst_wire,
                        const struct stream_fact *sf)
{
    const struct fact *f = &p->dst->wires[dst_wire].fact;
    if (sf->axis >= f->rank || !dim_is(f->shape[sf->axis], sf->pulse)) {
        char fact[160];
        fact_print(f, fact, sizeof fact);
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: output %u would be %s where %lld frames on axis %d "
                       "are expected", k, fact, (long long) sf->pulse, sf->axis);
    }
    p->map[n->out[k]] = dst_wire;
    p->sf[n->out[k]] = *sf;
    p->sf[n->out[k]].length = pulser_fact(p, n->out[k])->shape[sf->axis];
    return RILL_OK;
}

static bool same_rate(const struct stream_fact *a, const struct stream_fact *b)
{
    return a->pulse == b->pulse && a->hop_num * b->hop_den == b->hop_num * a->hop_den;
}

rill_status pulser_align(struct pulser *p, const struct node *n, uint32_t *ret_in, struct stream_fact *ret_sf,
                         unsigned *ret_first)
{
    const struct stream_fact *first = NULL, *s;
    int64_t delay = 0;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!(s = pulser_stream(p, n->in[i])))
            continue;
        if (first && !same_rate(first, s))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "its streaming inputs have different rates: %lld and %lld frames "
                           "a pulse", (long long) first->pulse, (long long) s->pulse);
        if (!first) {
            first = s;
            *ret_first = i;
        }
        delay = s->delay > delay ? s->delay : delay;
    }
    for (unsigned i = 0; i < n->n_in; i++) {
        ret_in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
        if ((s = pulser_stream(p, n->in[i])))
            TRY(pulser_delay(p, n->name, ret_in[i], s->axis, delay - s->delay, &ret_in[i]));
    }
    *ret_sf = *first;
    ret_sf->delay = delay;
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
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1), *out = arena_array(p->arena, uint32_t, n->n_out + 1);
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
            return op_fail(p->err, RILL_UNSUPPORTED, n, "makes %s out of inputs that do not stream", fact);
        }
        out[i] = p->map[n->out[i]] = graph_add_wire(p->dst, w->name, &w->fact);
    }
    struct node *made = graph_add_node(p->dst, n->op, n->name, n->attr, in, n->n_in, out, n->n_out);
    if (!made)
        return pulser_no_memory(p);
    made->body = n->body;
    made->n_body = n->n_body;
    return RILL_OK;
}

static rill_status node_pulse(struct pulser *p, const struct node *n)
{
    if (!node_streams(p, n))
        return node_copy(p, n);
    pulse_rule *rule = pulse_rule_find(n->op);
    if (!rule)
        return op_fail(p->err, RILL_UNSUPPORTED, n, "does not stream: no rule says how it touches the time axis");
    return rule(p, n);
}

static rill_status input_pulse(struct pulser *p, uint32_t i)
{
    uint32_t w = p->src->inputs[i];
    struct fact f = *pulser_fact(p, w);
    struct stream_fact sf = { .axis = -1 };
    for (int a = 0; p->symbol && a < f.rank; a++) {
        if (!dim_mentions(f.shape[a], p->symbol))
            continue;
        if (sf.axis >= 0 || f.shape[a] != p->symbol)
            return err_set(p->err, RILL_UNSUPPORTED, "input '%s': the time symbol must be one whole axis of it",
                           p->src->wires[w].name);
        sf = (struct stream_fact) { .axis = a, .pulse = p->pulse, .length = f.shape[a], .hop_num = 1, .hop_den = 1 };
        f.shape[a] = dim_int(p->dst->dims, p->pulse);
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
    p->map = arena_array(p->arena, uint32_t, src->n_wires + 1);
    p->sf = arena_array(p->arena, struct stream_fact, src->n_wires + 1);
    if (!p->map || !p->sf)
        return pulser_no_memory(p);
    for (uint32_t w = 0; w < src->n_wires; w++) {
        const struct wire *from = &src->wires[w];
        p->map[w] = WIRE_NONE;
        p->sf[w].axis = -1;
        if (from->fact.value && (p->map[w] = graph_add_const(p->dst, from->name, from->fact.value)) == WIRE_NONE)
            return pulser_no_memory(p);
    }
    for (uint32_t i = 0; i < src->n_inputs; i++)
        TRY(input_pulse(p, i));
    for (uint32_t i = 0; i < src->n_states; i++) {
        uint32_t w = src->states[i].in;
        p->map[w] = graph_add_wire(p->dst, src->wires[w].name, &src->wires[w].fact);
    }
    return RILL_OK;
}

static rill_status pulser_walk(struct pulser *p)
{
    const struct graph *src = p->src;
    TRY(pulser_begin(p));
    for (uint32_t i = 0; i < src->n_nodes; i++)
        TRY(node_pulse(p, &src->nodes[i]));
    for (uint32_t i = 0; i < src->n_outputs; i++)
        if (!graph_add_output(p->dst, p->map[src->outputs[i]]))
            return pulser_no_memory(p);
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

rill_status pgraph_from_tgraph(struct pgraph *ret, const struct tgraph *t, const struct dim *symbol, int64_t pulse,
                               struct arena *a, rill_error *reterr)
{
    struct pulser p = { .src = &t->g, .symbol = symbol, .arena = a, .pulse = pulse > 0 ? pulse : 1, .err = reterr };
    struct pgraph made = { .symbol = symbol };
    for (int tries = 0;; tries++) {
        p.dst = &made.g;
        p.multiple = 0;
        rill_status s = pulser_walk(&p);
        if (s == RILL_OK)
            break;
        if (!p.multiple || tries == TRIES_MAX)
            return s;
        p.pulse += p.multiple - p.pulse % p.multiple;
    }
    made.pulse = p.pulse;
    made.inputs = ports_of(&p, t->g.inputs, t->g.n_inputs);
    made.outputs = ports_of(&p, t->g.outputs, t->g.n_outputs);
    if (!made.inputs || !made.outputs)
        return pulser_no_memory(&p);
    *ret = made;
    return RILL_OK;
}
