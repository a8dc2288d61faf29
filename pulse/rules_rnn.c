/* SPDX-License-Identifier: MIT */
/* RNN, GRU and LSTM. Along time the states of a run are those of the next; frames before the
 * sequence are skipped. With time merged into the batch (a cell over frequency) every frame is a
 * sequence of its own and nothing is carried over. */
#include "engine/ops/clock.h"
#include "engine/ops/rnn.h"
#include "pulse/heads.h"
#include "pulse/ints.h"
#include "pulse/rules.h"

#include <stdio.h>

/* The graph input that w is a moved or cast copy of; WIRE_NONE: of none. */
static uint32_t input_behind(const struct pulser *p, uint32_t w)
{
    static const enum op_id copies[] = { OP_CAST, OP_IDENTITY, OP_RESHAPE, OP_SQUEEZE,
                                         OP_UNSQUEEZE };
    for (uint32_t at; (at = p->src->wires[w].node) != WIRE_NONE;) {
        const struct node *n = &p->src->nodes[at];
        if (!node_is_among(n, copies, sizeof copies / sizeof *copies))
            return WIRE_NONE;
        w = n->in[0];
    }
    for (uint32_t i = 0; i < p->src->n_inputs; i++)
        if (p->src->inputs[i] == w)
            return w;
    return WIRE_NONE;
}

/* How to tell the model that all sequences are whole; nothing where they may not be. */
static void lens_way(const struct pulser *p, uint32_t lens, const struct dim *length, char *ret,
                     size_t cap)
{
    uint32_t w = input_behind(p, lens);
    *ret = 0;
    for (uint32_t i = 0; w != WIRE_NONE && i < p->src->n_inputs; i++) {
        const struct fact *f = pulser_fact(p, p->src->inputs[i]);
        for (int a = 0; a < f->rank && !*ret; a++)
            if (f->shape[a] == length)
                snprintf(ret, cap,
                         "; --transform \"patch(body: '`%.60s` = shape_of(`%.60s`)[%d];')\" "
                         "says that they do not",
                         p->src->wires[w].name, p->src->wires[p->src->inputs[i]].name, a);
    }
}

/* sequence_lens says no more than that every sequence is as long as X. */
static bool lens_are_whole(const struct pulser *p, const struct node *n, const struct dim *length)
{
    if (!node_has_input(n, IN_LENS))
        return true;
    const struct tensor *v = pulser_fact(p, n->in[IN_LENS])->value;
    bool whole = v && v->type == DTYPE_DIM;
    for (int64_t i = 0; whole && i < tensor_count(v); i++)
        whole = ((const struct dim *const *) v->data)[i] == length;
    return whole;
}

static rill_status lens_check(const struct pulser *p, const struct node *n,
                              const struct stream_fact *s)
{
    char way[280];
    if (lens_are_whole(p, n, s->length))
        return RILL_OK;
    lens_way(p, n->in[IN_LENS], s->length, way, sizeof way);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: input %d, sequence_lens, may end sequences on axis %d, the time "
                   "axis, before the stream does%s",
                   IN_LENS, s->axis, way);
}

static rill_status cell_check(const struct pulser *p, const struct node *n,
                              const struct stream_fact *s)
{
    static const char *const ways[] = { "forward", "reverse", "bidirectional" };
    const int way = rnn_attr_of(n)->direction;
    if (way != DIR_FORWARD)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: direction %s runs backwards along axis %d of input 0, the "
                       "time axis: its first step needs the last frame; direction forward streams",
                       ways[way], s->axis);
    for (unsigned i = 1; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]) && i != IN_LENS)
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u runs along time too", i);
    for (unsigned k = 1; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE && graph_wire_is_read(p->src, n->out[k]))
            return op_fail(
                p->err, RILL_UNSUPPORTED, n,
                "cannot stream: output %u, the state after the last frame of axis %d, "
                "the time axis, is wanted, which is known only at the end of the stream%s",
                k, s->axis,
                n->out[0] != WIRE_NONE
                    ? ""
                    : "; output 0, the state after every frame, is wanted by nothing: "
                      "where the file names it, select_outputs of that name instead may "
                      "stream");
    return lens_check(p, n, s);
}

/* The fact of a state of the node. */
static rill_status state_fact(struct pulser *p, const struct node *n, struct fact *ret)
{
    const struct fact *x = pulser_fact(p, n->in[IN_X]), *r = pulser_fact(p, n->in[IN_R]);
    bool batch_major = rnn_attr_of(n)->layout != 0;
    struct fact f = { .type = DTYPE_F32,
                      .rank = 3,
                      .shape = { r->shape[0], x->shape[batch_major ? 0 : 1], r->shape[2] } };
    if (batch_major) {
        f.shape[1] = f.shape[0];
        f.shape[0] = x->shape[0];
    }
    if (!fact_is_static(&f))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: the number of its sequences is not known");
    *ret = f;
    return RILL_OK;
}

/* Frames in front of the sequence, and the states behind them. */
struct cell_head {
    struct head of;
    uint32_t state[2];
};

/* The wire that state k is read from, with what it starts from: what the head left, or what the
 * input of the node is. */
static rill_status state_read(struct pulser *p, const struct node *n, const struct stream_fact *s,
                              const struct cell_head *head, unsigned k, struct carried *ret)
{
    const unsigned i = IN_H + k;
    struct fact f;
    TRY(state_fact(p, n, &f));
    if (head->of.is)
        return head_carry(p, n, &head->of, &f, head->state[k], ret);
    return pulser_carry(p, n, &f, s, i < n->n_in ? n->in[i] : WIRE_NONE, ret);
}

static rill_status skip_emit(struct pulser *p, const struct node *n, const struct flow *f,
                             uint32_t *ret)
{
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    uint32_t clock;
    if (!a)
        return pulser_no_memory(p);
    *a = (struct clock_attr) { .pulse = f->sf.pulse, .delay = f->sf.delay };
    TRY(pulser_clock(p, &clock));
    return pulser_emit(p, &op_pulse_skip, n->name, a, &clock, 1, ret, 1);
}

/* The node's inputs, of which that one is the sequence; as many as it has of its own. */
static unsigned cell_inputs(const struct pulser *p, const struct node *n, uint32_t x, uint32_t *in)
{
    const unsigned n_all = rnn_own_input(n, N_RNN_OWN), skip = rnn_skip_input(n);
    unsigned n_in = skip;
    for (unsigned i = 0; i < n_all; i++) {
        in[i] = node_has_input(n, i) ? p->map[n->in[i]] : WIRE_NONE;
        n_in = i > skip && in[i] != WIRE_NONE ? i + 1 : n_in;
    }
    in[IN_X] = x;
    in[IN_LENS] = WIRE_NONE;
    return n_in;
}

static unsigned cell_states(const struct node *n)
{
    return node_is(n, OP_LSTM) ? 2 : 1;
}

static rill_status cell_head(struct pulser *p, const struct node *n, struct cell_head *ret)
{
    uint32_t in[N_IN + N_RNN_OWN], out[3];
    struct head *h = &ret->of;
    TRY(head_find(p, n, n->in[IN_X], h));
    if (!h->is)
        return RILL_OK;
    const unsigned n_in = cell_inputs(p, n, h->all.head, in), states = cell_states(n);
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n_in, out, 1 + states));
    TRY(head_known(p, h, out, 1 + states));
    h->made = out[0];
    for (unsigned k = 0; k < states; k++)
        ret->state[k] = out[1 + k];
    return RILL_OK;
}

/* The node on f; what it starts from is that of the head where there is one. */
static rill_status cell_emit(struct pulser *p, const struct node *n, const struct cell_head *head,
                             struct flow *f)
{
    const unsigned skip = rnn_skip_input(n), states = cell_states(n);
    uint32_t in[N_IN + N_RNN_OWN], out[3];
    struct carried c[2];
    unsigned n_in = cell_inputs(p, n, f->wire, in);
    for (unsigned k = 0; k < states; k++) {
        TRY(state_read(p, n, &f->sf, head, k, &c[k]));
        in[IN_H + k] = c[k].read;
    }
    if (f->sf.delay) {
        TRY(skip_emit(p, n, f, &in[skip]));
        n_in = n_in > skip ? n_in : skip + 1;
    }
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n_in, out, 1 + states));
    for (unsigned k = 0; k < states; k++)
        TRY(pulser_carry_end(p, n, &c[k], out[1 + k]));
    f->wire = out[0];
    f->sf.uniform = false;
    return RILL_OK;
}

static rill_status cell_along_time(struct pulser *p, const struct node *n, struct flow *f)
{
    struct cell_head head;
    TRY(cell_check(p, n, &f->sf));
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_kept(p, n->in[i]) && i != IN_H && i != IN_C)
            return kept_refuse(p, n);
    TRY(cell_head(p, n, &head));
    const bool wanted = n->n_out && n->out[0] != WIRE_NONE;
    const struct offset at = f->sf.at;
    if (head.of.is)
        *f = head.of.all.inner;
    TRY(flow_delay(p, n->name, f, larger(kept_delay(p, n, &f->sf) - f->sf.delay, 0)));
    TRY(cell_emit(p, n, &head, f));
    if (head.of.is && wanted)
        TRY(head_put(p, n, 0, &head.of, f));
    f->sf.at = at;
    return wanted ? pulser_bind(p, n, 0, f->wire, &f->sf) : RILL_OK;
}

static rill_status cell_per_frame(struct pulser *p, const struct node *n)
{
    uint32_t in[N_IN + N_RNN_OWN], out[3];
    struct stream_fact sf;
    unsigned first;
    bool batch_major = rnn_attr_of(n)->layout != 0;
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        int batch = i == IN_X || i == IN_H || i == IN_C ? (batch_major ? 0 : 1)
            : i == IN_LENS                              ? 0
                                                        : -1;
        if (s && s->axis != batch)
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u has time on axis %d, which is neither its "
                           "sequence nor its batch",
                           i, s->axis);
    }
    TRY(pulser_align(p, n, in, &sf, &first));
    TRY(pulser_no_lengths(p, n));
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, out, n->n_out));
    for (unsigned k = 0; k < n->n_out; k++) {
        sf.axis = batch_major ? 0 : k == 0 ? 2 : 1;
        if (n->out[k] == WIRE_NONE)
            continue;
        TRY(pulser_bind(p, n, k, out[k], &sf));
        TRY(pulser_any_pulse(p, n, in, k, sf.axis));
    }
    return RILL_OK;
}

rill_status rule_cell(struct pulser *p, const struct node *n)
{
    struct flow f;
    int sequence = rnn_attr_of(n)->layout ? 1 : 0;
    if (flow_of(p, n->in[IN_X], &f) && f.sf.axis == sequence)
        return cell_along_time(p, n, &f);
    return node_has_kept(p, n) ? kept_refuse(p, n) : cell_per_frame(p, n);
}
