/* SPDX-License-Identifier: MIT */
/* UNIDIRECTIONAL_SEQUENCE_LSTM of floats, by weights of floats or bytes. */
#include "models/tflite/lstm.h"

#include <string.h>

struct lstm {
    struct lstm_sizes size;
    int activation;
    float cell_clip, out_clip;
    bool shifted, coupled; /* coupled: the input gate is what the forget gate leaves */
    int first, n_gates;    /* of those that have weights */
};

static rill_status parts_refuse(struct conversion *c)
{
    for (unsigned i = IN_NORMS; i < c->in.n; i++)
        if (tfl_in(c, i))
            return tfl_fail(c, RILL_UNSUPPORTED,
                            "normalises its gates (input %u, '%.80s'), which is not read; a net "
                            "without layer normalisation inside is",
                            i, tfl_in(c, i)->name);
    if (tfl_type(c, IN_X) != DTYPE_F32)
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "of %s; floats by weights of floats or i8 are read (dynamic range "
                        "quantisation)",
                        dtype_name(tfl_type(c, IN_X)));
    return RILL_OK;
}

static rill_status lstm_read(struct conversion *c, struct lstm *ret)
{
    struct flat *f = &c->r->flat;
    TRY(parts_refuse(c));
    *ret = (struct lstm) { .activation = flat_i8(f, c->options, LSTM_ACTIVATION, 0),
                           .cell_clip = flat_f32(f, c->options, LSTM_CELL_CLIP, 0),
                           .out_clip = flat_f32(f, c->options, LSTM_PROJECTION_CLIP, 0),
                           .shifted = flat_i8(f, c->options, LSTM_ASYMMETRIC, 0),
                           .coupled = !tfl_in(c, IN_WEIGHTS) };
    ret->first = ret->coupled ? GATE_FORGET : GATE_INPUT;
    ret->n_gates = GATES - ret->first;
    TRY(tfl_lstm_sizes_read(c, DTYPE_F32, DTYPE_F32, &ret->size));
    if (flat_i8(f, c->options, LSTM_DIAGONAL, 0))
        return tfl_fail(c, RILL_UNSUPPORTED, "its recurrent weights are diagonals; full are read");
    return RILL_OK;
}

/* ---- constants ---- */

/* Weights [n, k], and for bytes the scale that stands for them, of each output. */
struct weights {
    struct tensor *v, *scales;
};

static rill_status constant_check(struct conversion *c, unsigned i, int64_t n, int64_t k,
                                  const struct tensor **ret)
{
    const struct tfl_tensor *t = tfl_in(c, i);
    if (!t)
        return tfl_fail(c, RILL_MALFORMED, "input %u is absent, and the other gates have it", i);
    TRY(tfl_tensor_value(c->r, t, ret)); /* no wire: it may be of a step */
    if (!*ret)
        return tfl_fail(c, RILL_UNSUPPORTED, "input %u, '%.80s', must be a constant", i, t->name);
    if (tensor_count(*ret) != n * k || (*ret)->dim[0] != n)
        return tfl_fail(c, RILL_MALFORMED, "input %u, '%.80s', is not of %lld by %lld", i, t->name,
                        (long long) n, (long long) k);
    if ((*ret)->type != DTYPE_F32 &&
        ((*ret)->type != DTYPE_I8 || t->q.n != 1 || !tfl_quant_centred(c->r, t)))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "input %u, '%.80s', is %s with %u scales; wants floats, or i8 with one "
                        "scale and a zero point of 0",
                        i, t->name, dtype_name((*ret)->type), t->q.n);
    return RILL_OK;
}

/* Weights of several gates under each other, from input i on. */
static rill_status weights_read(struct conversion *c, unsigned i, int n_gates, int64_t n, int64_t k,
                                struct weights *ret)
{
    const int64_t dim[] = { n * n_gates, k };
    const struct tensor *v;
    for (int g = 0; g < n_gates; g++) {
        TRY(constant_check(c, i + (unsigned) g, n, k, &v));
        if (g == 0) {
            ret->v = tensor_new(c->r->arena, v->type, 2, dim);
            ret->scales = tensor_new(c->r->arena, DTYPE_F32, 1, dim);
        }
        if (!ret->v || !ret->scales)
            return tfl_no_memory(c->r);
        if (v->type != ret->v->type)
            return tfl_fail(c, RILL_UNSUPPORTED, "weights of %s and of %s",
                            dtype_name(ret->v->type), dtype_name(v->type));
        memcpy((char *) ret->v->data + (size_t) g * tensor_bytes(v), v->data, tensor_bytes(v));
        for (int64_t o = 0; o < n; o++)
            ((float *) ret->scales->data)[g * n + o] =
                tfl_quant_scale(c->r, tfl_in(c, i + (unsigned) g), 0);
    }
    return RILL_OK;
}

/* The numbers of input i, as floats: [n]. */
static rill_status vector_wire(struct conversion *c, unsigned i, int64_t n, uint32_t *ret)
{
    struct weights w = { NULL, NULL };
    TRY(weights_read(c, i, 1, n, 1, &w));
    struct tensor *t = tensor_new(c->r->arena, DTYPE_F32, 1, &n);
    if (!t)
        return tfl_no_memory(c->r);
    for (int64_t k = 0; k < n; k++)
        ((float *) t->data)[k] = (float) tensor_get_f64(w.v, w.v->data, k) *
            (w.v->type == DTYPE_I8 ? ((float *) w.scales->data)[0] : 1);
    return tfl_wire_of(c, t, ret);
}

/* ---- one step ---- */

static rill_status cut(struct conversion *c, float most, uint32_t *x)
{
    uint32_t low, high;
    if (!(most > 0))
        return RILL_OK;
    TRY(tfl_wire_f32(c, -most, &low));
    TRY(tfl_wire_f32(c, most, &high));
    TRY(tfl_emit2(c, OP_MAX, *x, low, x));
    return tfl_emit2(c, OP_MIN, *x, high, x);
}

/* What the cell adds to a gate. p: of the peepholes. */
static rill_status peephole(struct conversion *c, const struct lstm *l, unsigned p, uint32_t cell,
                            uint32_t *gate)
{
    uint32_t w;
    if (!tfl_in(c, IN_PEEPHOLES + p))
        return RILL_OK;
    TRY(vector_wire(c, IN_PEEPHOLES + p, l->size.n, &w));
    TRY(tfl_emit2(c, OP_MUL, cell, w, &w));
    return tfl_emit2(c, OP_ADD, *gate, w, gate);
}

/* The next cell. gate: sums of all gates, by their numbers. */
static rill_status cell_next(struct conversion *c, const struct lstm *l, const uint32_t *gate,
                             uint32_t cell, uint32_t *ret)
{
    uint32_t forget = gate[GATE_FORGET], in = gate[GATE_INPUT], new, one;
    TRY(peephole(c, l, 1, cell, &forget));
    TRY(tfl_emit1(c, OP_SIGMOID, forget, &forget));
    if (l->coupled) {
        TRY(tfl_wire_f32(c, 1, &one));
        TRY(tfl_emit2(c, OP_SUB, one, forget, &in));
    } else {
        TRY(peephole(c, l, 0, cell, &in));
        TRY(tfl_emit1(c, OP_SIGMOID, in, &in));
    }
    TRY(tfl_emit_activation(c, l->activation, gate[GATE_CELL], &new));
    TRY(tfl_emit2(c, OP_MUL, in, new, &new));
    TRY(tfl_emit2(c, OP_MUL, forget, cell, ret));
    TRY(tfl_emit2(c, OP_ADD, *ret, new, ret));
    return cut(c, l->cell_clip, ret);
}

static rill_status output_next(struct conversion *c, const struct lstm *l, uint32_t gate,
                               uint32_t cell, uint32_t *ret)
{
    struct weights w = { NULL, NULL };
    uint32_t bias;
    TRY(peephole(c, l, 2, cell, &gate));
    TRY(tfl_emit1(c, OP_SIGMOID, gate, &gate));
    TRY(tfl_emit_activation(c, l->activation, cell, ret));
    TRY(tfl_emit2(c, OP_MUL, gate, *ret, ret));
    if (!tfl_in(c, IN_PROJECTION))
        return RILL_OK;
    TRY(weights_read(c, IN_PROJECTION, 1, l->size.n_out, l->size.n, &w));
    TRY(tfl_emit_rows(c, *ret, w.v, w.scales, l->shifted, ret));
    if (tfl_in(c, IN_PROJECTION_BIAS)) {
        TRY(vector_wire(c, IN_PROJECTION_BIAS, l->size.n_out, &bias));
        TRY(tfl_emit2(c, OP_ADD, *ret, bias, ret));
    }
    return cut(c, l->out_clip, ret);
}

/* From the states and what the input gives the gates to the next states and the output. */
static rill_status step_build(struct conversion *c, const struct lstm *l)
{
    struct attr split[] = { attr_int("axis", 1), attr_int("num_outputs", l->n_gates) };
    struct weights w = { NULL, NULL };
    uint32_t out, cell, sums, recurrent, gate[GATES] = { WIRE_NONE };
    TRY(tfl_body_input(c, "output", DTYPE_F32, l->size.batch, l->size.n_out, &out));
    TRY(tfl_body_input(c, "cell", DTYPE_F32, l->size.batch, l->size.n, &cell));
    TRY(tfl_body_input(c, "gates", DTYPE_F32, l->size.batch, l->size.n * l->n_gates, &sums));
    TRY(weights_read(c, IN_RECURRENT + (unsigned) l->first, l->n_gates, l->size.n, l->size.n_out,
                     &w));
    TRY(tfl_emit_rows(c, out, w.v, w.scales, l->shifted, &recurrent));
    TRY(tfl_emit2(c, OP_ADD, sums, recurrent, &sums));
    TRY(tfl_emit(c, OP_SPLIT, split, 2, &sums, 1, gate + l->first, (unsigned) l->n_gates));
    TRY(cell_next(c, l, gate, cell, &cell));
    TRY(output_next(c, l, gate[GATE_OUTPUT], cell, &out));
    return tfl_lstm_body_outputs(c, out, cell);
}

/* ---- all of time ---- */

/* What the input gives all gates: [time, batch, gates]. */
static rill_status gates_of_input(struct conversion *c, const struct lstm *l, uint32_t *ret)
{
    const int64_t by_time[] = { 1, 0, 2 }, all = l->size.n * l->n_gates;
    struct weights w = { NULL, NULL }, b = { NULL, NULL };
    uint32_t x, bias;
    TRY(tfl_wire(c, IN_X, &x));
    if (!l->size.by_time)
        TRY(tfl_emit_transpose(c, by_time, 3, x, &x));
    TRY(tfl_emit_shape(c, x, (int64_t[]) { -1, l->size.n_in }, 2, &x));
    TRY(weights_read(c, IN_WEIGHTS + (unsigned) l->first, l->n_gates, l->size.n, l->size.n_in, &w));
    TRY(weights_read(c, IN_BIAS + (unsigned) l->first, l->n_gates, l->size.n, 1, &b));
    if (b.v->type != DTYPE_F32)
        return tfl_fail(c, RILL_UNSUPPORTED, "its bias is %s; wants f32", dtype_name(b.v->type));
    TRY(tfl_emit_rows(c, x, w.v, w.scales, l->shifted, &x));
    TRY(tfl_wire_of(c, tensor_from_data(c->r->arena, DTYPE_F32, 1, &all, b.v->data), &bias));
    TRY(tfl_emit2(c, OP_ADD, x, bias, &x));
    return tfl_emit_shape(c, x, (int64_t[]) { -1, l->size.batch, all }, 3, ret);
}

rill_status tfl_lstm(struct conversion *c)
{
    struct lstm_scan scan;
    struct lstm l;
    uint32_t sums;
    if (tfl_type_is_whole(tfl_type(c, IN_X)))
        return tfl_lstm_whole(c);
    TRY(lstm_read(c, &l));
    TRY(gates_of_input(c, &l, &sums));
    TRY(tfl_lstm_scan_begin(c, l.size.by_time, sums, &scan));
    TRY(step_build(&scan.inner, &l));
    return tfl_lstm_scan_end(c, &scan);
}
