/* SPDX-License-Identifier: MIT */
/* UNIDIRECTIONAL_SEQUENCE_LSTM of bytes: gates and cell are of 16 bits, the output is of 8. What
 * the input gives the gates is summed for all of time; a Scan goes along it. */
#include "models/tflite/lstm.h"

#include <stdlib.h>

/* ---- functions of 16 bits in fixed point, as gemmlowp defined them ---- */

/* A constant of 32 bits in the upper 16. */
static int32_t upper(int32_t v)
{
    return tfl_cut_16(tfl_halved(v, 16));
}

/* exp(a) of -1/4 <= a < 0 in steps of 2^-15: four terms around -1/8 */
static int32_t exp_near_zero(int32_t a)
{
    const int32_t centre = upper(1895147668), third = upper(715827883);
    const int32_t x = a + (1 << 12), x2 = tfl_high_mul_16(x, x), x3 = tfl_high_mul_16(x2, x),
                  quarter = tfl_halved(tfl_high_mul_16(x2, x2), 2);
    const int32_t rest = tfl_halved(tfl_high_mul_16(quarter + x3, third) + x2, 1);
    return centre + tfl_high_mul_16(centre, x + rest);
}

/* exp(a) of a <= 0 with so many bits before the point: the rest to a quarter, then a factor for
 * each bit above it. */
static int32_t exp_of(int32_t a, int before)
{
    static const int32_t factors[] = { 1672461947, 1302514674, 790015084, 290630308,
                                       39332535,   720401,     242 };
    const int behind = 15 - before, quarter = 1 << (behind - 2);
    if (a == 0)
        return INT16_MAX;
    const int32_t rest = (a & (quarter - 1)) - quarter, bits = rest - a;
    int32_t y = exp_near_zero(tfl_cut_16((int64_t) rest * (1 << before)));
    for (int i = 0; i < 7 && i - 2 < before; i++)
        if (bits >> (behind - 2 + i) & 1)
            y = tfl_high_mul_16(y, upper(factors[i]));
    return before > 5 && a < -(1 << (20 - before)) ? 0 : y;
}

/* 1 / (1 + a), or (1 - a) / (1 + a), of 0 <= a <= 1: Newton's steps from a line. */
static int32_t quotient(int32_t a, bool less)
{
    const int32_t half = (a + INT16_MAX + 1) / 2;
    int32_t x = upper(1515870810) + tfl_high_mul_16(half, upper(-1010580540));
    for (int i = 0; i < 3; i++) {
        const int32_t rest = (1 << 13) - tfl_high_mul_16(half, x);
        x += tfl_cut_16((int64_t) tfl_high_mul_16(x, rest) * 4);
    }
    return less ? tfl_cut_16((int64_t) (x - (1 << 13)) * 4) : tfl_cut_16((int64_t) x * 2);
}

static int32_t logistic(int32_t a, int before)
{
    const int32_t y = quotient(exp_of(a < 0 ? a : -a, before), false);
    return a == 0 ? 1 << 14 : a > 0 ? y : INT16_MAX - y;
}

static int32_t tangent(int32_t a, int before)
{
    const int32_t y = a ? quotient(exp_of(a < 0 ? a : -a, before + 1), true) : 0;
    return a < 0 ? -y : y;
}

static rill_status looked_up(struct conversion *c, int32_t (*f)(int32_t, int), int before,
                             uint32_t x, uint32_t *ret)
{
    const int64_t n = (int64_t) 1 << 16;
    struct tensor *t = tensor_new(c->r->arena, DTYPE_I16, 1, &n);
    uint32_t table;
    if (!t)
        return tfl_no_memory(c->r);
    for (int32_t a = INT16_MIN; a <= INT16_MAX; a++)
        ((int16_t *) t->data)[a - INT16_MIN] = (int16_t) f(a, before);
    TRY(tfl_wire_of(c, t, &table));
    return tfl_emit2(c, OP_SHORT_TABLE, x, table, ret);
}

/* ---- what the file says ---- */

#define GATE_POWER (-12) /* gates are in steps of 2^-12 */

struct whole {
    struct lstm_sizes size;
    int power; /* the cell is in steps of 2^power */
    int32_t cell_most;
    float out_scale;
    int32_t out_zero;
    const struct tfl_tensor *hidden; /* what says the steps of the output */
};

static rill_status forms_refuse(struct conversion *c)
{
    static const struct {
        unsigned from, to;
        const char *what;
    } rows[] = { { IN_PEEPHOLES, IN_BIAS, "peepholes" },
                 { IN_PROJECTION, IN_OUTPUT, "a projection" },
                 { IN_NORMS, UINT_MAX, "layer normalisation" } };
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++)
        for (unsigned i = rows[r].from; i < c->in.n && i < rows[r].to; i++)
            if (tfl_in(c, i))
                return tfl_fail(c, RILL_UNSUPPORTED,
                                "of bytes has %s (input %u, '%.80s'), which is not read; one "
                                "without is",
                                rows[r].what, i, tfl_in(c, i)->name);
    if (flat_i8(&c->r->flat, c->options, LSTM_ACTIVATION, 0) != ACTIVATION_TANH ||
        flat_i8(&c->r->flat, c->options, LSTM_DIAGONAL, 0))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "of bytes has another activation than TANH, or diagonal weights");
    return RILL_OK;
}

/* The tensor between that has the scale of the output: of its shape, or of none. */
static rill_status hidden_read(struct conversion *c, struct whole *ret)
{
    const int32_t i = c->between.n == 5 ? flat_list_i32(&c->r->flat, c->between, 4) : -1;
    if (i < 0 || i >= (int32_t) c->s->n_tensors || c->s->tensors[i].q.n != 1)
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "has %u tensors between its parts, of which the last is to have a scale; "
                        "wants 5 (gates of 16 bits)",
                        c->between.n);
    const struct tfl_tensor *t = ret->hidden = &c->s->tensors[i];
    const int64_t n = tensor_count(&t->shape);
    if (t->shape.type == DTYPE_I8 &&
        (t->shape.rank == 0 || n == 0 || n == ret->size.batch * ret->size.n))
        return RILL_OK;
    return tfl_fail(c, RILL_MALFORMED,
                    "'%.80s', which has the scale of its output, is %lld elements of %s; wants i8, "
                    "%lld or none",
                    t->name, (long long) n, dtype_name(t->shape.type),
                    (long long) (ret->size.batch * ret->size.n));
}

static rill_status cell_read(struct conversion *c, const struct tfl_tensor *cell, struct whole *ret)
{
    const float scale = tfl_quant_scale(c->r, cell, 0),
                clip = flat_f32(&c->r->flat, c->options, LSTM_CELL_CLIP, 0);
    TRY(tfl_single_whole(c, cell));
    if (!tfl_power_of_two(scale, &ret->power) || ret->power < -15 || ret->power > -9)
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "its cell '%.80s' is in steps of %g; wants a power of two, 2^-15 to 2^-9",
                        cell->name, (double) scale);
    ret->cell_most = clip > 0 && clip / scale < INT16_MAX ? (int32_t) (clip / scale) : 0;
    return RILL_OK;
}

static rill_status whole_read(struct conversion *c, struct whole *ret)
{
    const struct tfl_tensor *x = tfl_in(c, IN_X), *out = tfl_in(c, IN_OUTPUT);
    TRY(forms_refuse(c));
    *ret = (struct whole) { .hidden = NULL };
    if (x->shape.type != DTYPE_I8)
        return tfl_fail(c, RILL_UNSUPPORTED, "of %s; i8 or f32 are read",
                        dtype_name(x->shape.type));
    TRY(tfl_lstm_sizes_read(c, DTYPE_I8, DTYPE_I16, &ret->size));
    TRY(tfl_single(c, x));
    TRY(tfl_single(c, out));
    ret->out_scale = tfl_quant_scale(c->r, out, 0);
    ret->out_zero = tfl_quant_zero(c->r, out);
    TRY(hidden_read(c, ret));
    return cell_read(c, tfl_in(c, IN_CELL), ret);
}

/* Input i, [n, k] of i8 with one scale around 0, or [n] of i32, as a wire. */
static rill_status constant_wire(struct conversion *c, unsigned i, int64_t n, int64_t k,
                                 uint32_t *ret)
{
    const struct tfl_tensor *t = tfl_in(c, i);
    const struct tensor *v = NULL;
    const int64_t dim[] = { n, 1, 1, k };
    const enum dtype type = k ? DTYPE_I8 : DTYPE_I32;
    if (t)
        TRY(tfl_tensor_value(c->r, t, &v)); /* no wire of the tensor's: it may be of a step */
    if (!v || v->type != type || v->dim[0] != n || tensor_count(v) != n * (k ? k : 1) ||
        (k && (t->q.n != 1 || !tfl_quant_centred(c->r, t))))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "input %u, '%.80s', is no constant of %s of %lld by %lld%s", i,
                        t ? t->name : "", dtype_name(type), (long long) n, (long long) (k ? k : 1),
                        k ? " with one scale and a zero point of 0" : "");
    return tfl_wire_of(c, tensor_from_data(c->r->arena, type, k ? 4 : 1, dim, v->data), ret);
}

/* ---- one step ---- */

/* What rows of bytes give a gate in its steps, as numbers `to`: [rows, n]. from: of the weights;
 * bias: 0: none */
static rill_status gate_sum(struct conversion *c, const struct whole *l, uint32_t rows, int64_t k,
                            float scale, int32_t zero, unsigned from, unsigned bias, enum dtype to,
                            uint32_t *ret)
{
    const float of_w = tfl_in(c, from) ? tfl_quant_scale(c->r, tfl_in(c, from), 0) : 1;
    const struct factor f = tfl_factor_of((double) (of_w * scale / 0x1p-12f));
    const bool whole = to == DTYPE_I32;
    struct attr x_zero = attr_int("x_zero", zero),
                a[] = { attr_int("multiplier", f.multiplier), attr_int("shift", f.shift),
                        attr_int("to", to), attr_int("low", whole ? INT32_MIN : INT16_MIN),
                        attr_int("high", whole ? INT32_MAX : INT16_MAX) };
    uint32_t in[3] = { rows, WIRE_NONE, WIRE_NONE };
    TRY(constant_wire(c, from, l->size.n, k, &in[1]));
    if (bias)
        TRY(constant_wire(c, bias, l->size.n, 0, &in[2]));
    TRY(tfl_emit(c, OP_BYTE_CONV, &x_zero, 1, in, 3, ret, 1));
    TRY(tfl_emit(c, OP_REQUANTIZE, a, 5, ret, 1, ret, 1));
    return tfl_emit_shape(c, *ret, (int64_t[]) { -1, l->size.n }, 2, ret);
}

/* Gate g of the step: the function of both its sums. */
static rill_status gate_next(struct conversion *c, const struct whole *l, unsigned g, uint32_t rows,
                             uint32_t *gate)
{
    struct attr to = attr_int("to", DTYPE_I32),
                a[] = { attr_int("multiplier", INT32_MAX), attr_int("to", DTYPE_I16),
                        attr_int("low", INT16_MIN), attr_int("high", INT16_MAX) };
    uint32_t sum;
    TRY(gate_sum(c, l, rows, l->size.n, l->out_scale, l->out_zero, IN_RECURRENT + g, 0, DTYPE_I32,
                 &sum));
    TRY(tfl_emit(c, OP_CAST, &to, 1, gate, 1, gate, 1));
    TRY(tfl_emit2(c, OP_ADD, sum, *gate, gate));
    TRY(tfl_emit(c, OP_REQUANTIZE, a, 4, gate, 1, gate, 1));
    return looked_up(c, g == GATE_CELL ? tangent : logistic, 15 + GATE_POWER, *gate, gate);
}

/* Numbers of 16 bits times others, over 2^down, halves away from zero. */
static rill_status product(struct conversion *c, uint32_t x, uint32_t y, int down, uint32_t *ret)
{
    struct attr a[] = { attr_int("multiplier", INT32_MAX), attr_int("shift", -down),
                        attr_int("low", INT16_MIN), attr_int("high", INT16_MAX) };
    return tfl_emit(c, OP_BYTE_MUL, a, 4, (uint32_t[]) { x, y }, 2, ret, 1);
}

static rill_status cell_next(struct conversion *c, const struct whole *l, const uint32_t *gate,
                             uint32_t *cell)
{
    struct attr a[] = { attr_int("multiplier", INT32_MAX), attr_int("a_multiplier", INT32_MAX),
                        attr_int("b_multiplier", INT32_MAX),
                        attr_int("low", l->cell_most ? -l->cell_most : INT16_MIN),
                        attr_int("high", l->cell_most ? l->cell_most : INT16_MAX) };
    uint32_t in[2];
    TRY(product(c, gate[GATE_FORGET], *cell, 15, &in[0]));
    TRY(product(c, gate[GATE_INPUT], gate[GATE_CELL], 30 + l->power, &in[1]));
    return tfl_emit(c, OP_BYTE_ADD, a, 5, in, 2, cell, 1);
}

static rill_status output_next(struct conversion *c, const struct whole *l, uint32_t gate,
                               uint32_t cell, uint32_t *ret)
{
    const struct factor f =
        tfl_factor_of((double) (0x1p-15f / tfl_quant_scale(c->r, l->hidden, 0) * 0x1p-15f));
    struct attr a[] = { attr_int("multiplier", f.multiplier), attr_int("shift", f.shift),
                        attr_int("to", DTYPE_I8),
                        attr_int("zero", tfl_quant_zero(c->r, l->hidden)) };
    uint32_t in[2] = { gate };
    TRY(looked_up(c, tangent, 15 + l->power, cell, &in[1]));
    return tfl_emit(c, OP_BYTE_MUL, a, 4, in, 2, ret, 1);
}

static rill_status step_build(struct conversion *c, const struct whole *l)
{
    struct attr split[] = { attr_int("axis", 1), attr_int("num_outputs", GATES) };
    uint32_t out, cell, sums, rows, gate[GATES];
    TRY(tfl_body_input(c, "output", DTYPE_I8, l->size.batch, l->size.n, &out));
    TRY(tfl_body_input(c, "cell", DTYPE_I16, l->size.batch, l->size.n, &cell));
    TRY(tfl_body_input(c, "gates", DTYPE_I16, l->size.batch, l->size.n * GATES, &sums));
    TRY(tfl_emit(c, OP_SPLIT, split, 2, &sums, 1, gate, GATES));
    TRY(tfl_emit_shape(c, out, (int64_t[]) { -1, 1, 1, l->size.n }, 4, &rows));
    for (unsigned g = 0; g < GATES; g++)
        TRY(gate_next(c, l, g, rows, &gate[g]));
    TRY(cell_next(c, l, gate, &cell));
    TRY(output_next(c, l, gate[GATE_OUTPUT], cell, &out));
    return tfl_lstm_body_outputs(c, out, cell);
}

/* ---- all of time ---- */

/* What the input gives all gates: [time, batch, gates]. */
static rill_status gates_of_input(struct conversion *c, const struct whole *l, uint32_t *ret)
{
    const int64_t by_time[] = { 1, 0, 2 };
    const struct tfl_tensor *t = tfl_in(c, IN_X);
    struct attr axis = attr_int("axis", 1);
    uint32_t x, gate[GATES];
    TRY(tfl_wire(c, IN_X, &x));
    if (!l->size.by_time)
        TRY(tfl_emit_transpose(c, by_time, 3, x, &x));
    TRY(tfl_emit_shape(c, x, (int64_t[]) { -1, 1, 1, l->size.n_in }, 4, &x));
    for (unsigned g = 0; g < GATES; g++)
        TRY(gate_sum(c, l, x, l->size.n_in, tfl_quant_scale(c->r, t, 0), tfl_quant_zero(c->r, t),
                     IN_WEIGHTS + g, IN_BIAS + g, DTYPE_I16, &gate[g]));
    TRY(tfl_emit(c, OP_CONCAT, &axis, 1, gate, GATES, ret, 1));
    return tfl_emit_shape(c, *ret, (int64_t[]) { -1, l->size.batch, l->size.n * GATES }, 3, ret);
}

rill_status tfl_lstm_whole(struct conversion *c)
{
    struct lstm_scan scan;
    struct whole l;
    uint32_t sums;
    TRY(whole_read(c, &l));
    TRY(gates_of_input(c, &l, &sums));
    TRY(tfl_lstm_scan_begin(c, l.size.by_time, sums, &scan));
    TRY(step_build(&scan.inner, &l));
    return tfl_lstm_scan_end(c, &scan);
}
