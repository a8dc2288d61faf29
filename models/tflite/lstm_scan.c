/* SPDX-License-Identifier: MIT */
/* The Scan of UNIDIRECTIONAL_SEQUENCE_LSTM along time. */
#include "engine/graph/control.h"
#include "models/tflite/lstm.h"

#include <string.h>

/* What a run leaves is what the next one reads, as what it is made of. */
static rill_status state_check(struct conversion *c, unsigned i, enum dtype type)
{
    const struct tfl_tensor *t = tfl_in(c, i);
    if (t->shape.type == type)
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED, "its %s '%.80s' is %s; by an input of %s it wants %s",
                    i == IN_CELL ? "cell" : "output state", t->name, dtype_name(t->shape.type),
                    dtype_name(tfl_type(c, IN_X)), dtype_name(type));
}

rill_status tfl_lstm_sizes_read(struct conversion *c, enum dtype output, enum dtype cell,
                                struct lstm_sizes *ret)
{
    const struct tfl_tensor *x = tfl_in(c, IN_X), *w = tfl_in(c, IN_WEIGHTS + GATE_OUTPUT),
                            *out = tfl_in(c, IN_OUTPUT), *cells = tfl_in(c, IN_CELL);
    if (!w || !out || !cells || x->shape.rank != 3 || w->shape.rank != 2 || out->shape.rank != 2 ||
        cells->shape.rank != 2)
        return tfl_fail(c, RILL_MALFORMED,
                        "wants an input of rank 3, weights and both states of rank 2");
    const struct lstm_sizes s = { .batch = out->shape.dim[0],
                                  .n = w->shape.dim[0],
                                  .n_in = w->shape.dim[1],
                                  .n_out = out->shape.dim[1],
                                  .by_time = flat_i8(&c->r->flat, c->options, LSTM_TIME_MAJOR, 0) };
    TRY(tfl_known(c, x, s.by_time ? 1 : 0, "a layer with a state"));
    if (x->shape.dim[2] != s.n_in || x->shape.dim[s.by_time ? 1 : 0] != s.batch ||
        cells->shape.dim[0] != s.batch || cells->shape.dim[1] != s.n ||
        (!tfl_in(c, IN_PROJECTION) && s.n_out != s.n) || s.n < 1 || s.n_in < 1)
        return tfl_fail(c, RILL_MALFORMED,
                        "states '%.80s' of %lld by %lld and '%.80s' of %lld by %lld do not fit "
                        "weights of %lld by %lld and an input of %lld by %lld",
                        out->name, (long long) s.batch, (long long) s.n_out, cells->name,
                        (long long) cells->shape.dim[0], (long long) cells->shape.dim[1],
                        (long long) s.n, (long long) s.n_in,
                        (long long) x->shape.dim[s.by_time ? 1 : 0], (long long) x->shape.dim[2]);
    TRY(state_check(c, IN_OUTPUT, output));
    TRY(state_check(c, IN_CELL, cell));
    *ret = s;
    return RILL_OK;
}

rill_status tfl_body_input(struct conversion *c, const char *name, enum dtype type, int64_t batch,
                           int64_t n, uint32_t *ret)
{
    const int64_t dim[] = { batch, n };
    struct tensor t = { .type = type, .rank = 2 };
    struct fact f;
    memcpy(t.dim, dim, sizeof dim);
    fact_of_tensor(&f, c->r->dims, &t);
    f.value = NULL;
    *ret = graph_add_input(c->s->g, name, &f);
    return *ret == WIRE_NONE ? tfl_no_memory(c->r) : RILL_OK;
}

/* What a state begins with: what stands for 0. */
static rill_status nothing(struct conversion *c, const struct tfl_tensor *t,
                           const struct tensor **ret)
{
    struct tensor *v = tensor_new(c->r->arena, t->shape.type, t->shape.rank, t->shape.dim);
    const int32_t zero = t->shape.type == DTYPE_I8 ? tfl_quant_zero(c->r, t) : 0;
    if (!v)
        return tfl_no_memory(c->r);
    for (int64_t i = 0, n = tensor_count(v); zero && i < n; i++)
        tensor_set_f64(v, v->data, i, zero);
    *ret = v;
    return RILL_OK;
}

/* What a run begins with. Where time is open a run is the whole sequence, and a stream goes on with
 * what its frames before have left: then states are no variables, but begin as zeros. */
static rill_status states_begin(struct conversion *c, bool open, struct lstm_scan *s)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct tensor *first = NULL;
        TRY(nothing(c, tfl_in(c, IN_OUTPUT + i), &first));
        if (open) {
            s->v[i] = NULL;
            TRY(tfl_wire_of(c, first, &s->in[i]));
        } else {
            TRY(tfl_own_state(c, IN_OUTPUT + i, &s->v[i]));
            s->in[i] = s->v[i]->now;
            s->v[i]->init = s->v[i]->init ? s->v[i]->init : first;
        }
    }
    return RILL_OK;
}

rill_status tfl_lstm_scan_begin(struct conversion *c, bool by_time, uint32_t sums,
                                struct lstm_scan *ret)
{
    const bool open = tfl_in(c, IN_X)->open >> (by_time ? 0 : 1) & 1;
    *ret = (struct lstm_scan) { .inner = *c, .within = *c->s, .by_time = by_time };
    TRY(states_begin(c, open, ret));
    ret->in[2] = sums;
    graph_init(&ret->body, c->r->arena, c->r->dims, c->name);
    ret->within.g = &ret->body;
    ret->inner.s = &ret->within;
    return RILL_OK;
}

static rill_status scan_emit(struct conversion *c, const struct lstm_scan *s, uint32_t ret[3])
{
    struct scan_attr *attr = arena_new(c->r->arena, struct scan_attr);
    struct graph **bodies = arena_array(c->r->arena, struct graph *, 1),
                 *body = arena_copy(c->r->arena, &s->body, sizeof s->body);
    if (!attr || !bodies || !body)
        return tfl_no_memory(c->r);
    *attr = (struct scan_attr) { .n_states = 2, .n_scanned = 1 };
    *bodies = body;
    for (unsigned i = 0; i < 3; i++) {
        const char *name = graph_name_next(c->s->g, c->name);
        ret[i] = name ? graph_add_wire(c->s->g, name, NULL) : WIRE_NONE;
        if (ret[i] == WIRE_NONE)
            return tfl_no_memory(c->r);
    }
    struct node *n = graph_add_node(c->s->g, &op_scan, c->name, attr, s->in, 3, ret, 3);
    if (!n)
        return tfl_no_memory(c->r);
    n->origin = c->origin;
    n->body = bodies;
    n->n_body = 1;
    return RILL_OK;
}

rill_status tfl_lstm_body_outputs(struct conversion *inner, uint32_t out, uint32_t cell)
{
    uint32_t y;
    TRY(tfl_emit1(inner, OP_IDENTITY, out, &y));
    return graph_add_output(inner->s->g, out) && graph_add_output(inner->s->g, cell) &&
            graph_add_output(inner->s->g, y)
        ? RILL_OK
        : tfl_no_memory(inner->r);
}

rill_status tfl_lstm_scan_end(struct conversion *c, struct lstm_scan *s)
{
    const int64_t by_batch[] = { 1, 0, 2 };
    uint32_t made[3];
    TRY(scan_emit(c, s, made));
    for (unsigned i = 0; i < 2; i++)
        if (s->v[i])
            s->v[i]->now = made[i];
    if (!s->by_time)
        TRY(tfl_emit_transpose(c, by_batch, 3, made[2], &made[2]));
    return tfl_result(c, 0, made[2]);
}
