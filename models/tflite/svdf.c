/* SPDX-License-Identifier: MIT */
/* SVDF: features of each frame, kept for some frames and weighted along them. Of floats, of floats
 * by bytes, and of bytes, whose features are kept in 16 bits. */
#include "models/tflite/internal.h"

enum { IN_X, IN_FEATURE, IN_TIME, IN_BIAS, IN_STATE };

struct svdf {
    int64_t batch, k, filters, frames, rank;
    int activation;
    bool real;
};

static rill_status svdf_read(struct conversion *c, struct svdf *ret)
{
    struct flat *f = &c->r->flat;
    const struct tfl_tensor *x = tfl_in(c, IN_X), *w = tfl_in(c, IN_FEATURE),
                            *time = tfl_in(c, IN_TIME), *state = tfl_in(c, IN_STATE);
    if (!state || x->shape.rank != 2 || w->shape.rank != 2 || time->shape.rank != 2 ||
        state->shape.rank != 2)
        return tfl_fail(c, RILL_MALFORMED, "wants input, weights and state of rank 2");
    *ret = (struct svdf) { .batch = state->shape.dim[0],
                           .k = w->shape.dim[1],
                           .filters = w->shape.dim[0],
                           .frames = time->shape.dim[1],
                           .rank = flat_i32(f, c->options, SVDF_RANK, 0),
                           .activation = flat_i8(f, c->options, SVDF_ACTIVATION, 0),
                           .real = x->shape.type == DTYPE_F32 };
    TRY(tfl_known(c, x, 0, "a layer with a state"));
    if (ret->rank < 1 || ret->filters < 1 || ret->frames < 1 || ret->k < 1 ||
        ret->filters % ret->rank || x->shape.dim[1] != ret->k ||
        time->shape.dim[0] != ret->filters || x->shape.dim[0] != ret->batch ||
        state->shape.dim[1] != ret->filters * ret->frames)
        return tfl_fail(c, RILL_MALFORMED,
                        "an input of %lld and a state of %lld do not fit %lld filters of rank %lld "
                        "over %lld frames",
                        (long long) x->shape.dim[1], (long long) state->shape.dim[1],
                        (long long) ret->filters, (long long) ret->rank, (long long) ret->frames);
    return RILL_OK;
}

/* Weights are floats, or i8 of one scale around 0. */
static rill_status mixed_check(struct conversion *c, unsigned i)
{
    const struct tfl_tensor *w = tfl_in(c, i);
    if (w->shape.type == DTYPE_F32 ||
        (w->shape.type == DTYPE_I8 && w->q.n == 1 && tfl_quant_centred(c->r, w)))
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED,
                    "weights '%.80s' of floats are %s with %u scales; wants floats, or i8 with one "
                    "scale and a zero point of 0",
                    w->name, dtype_name(w->shape.type), w->q.n);
}

/* The features of a frame: [batch, filters]. */
static rill_status features_real(struct conversion *c, uint32_t *ret)
{
    const struct tfl_tensor *w = tfl_in(c, IN_FEATURE);
    const float scale = tfl_quant_scale(c->r, w, 0);
    const int64_t one = 1;
    const struct tensor *value;
    uint32_t x;
    TRY(mixed_check(c, IN_FEATURE));
    TRY(mixed_check(c, IN_TIME));
    TRY(tfl_const(c, IN_FEATURE, &value));
    TRY(tfl_wire(c, IN_X, &x));
    return tfl_emit_rows(c, x, value, tensor_from_data(c->r->arena, DTYPE_F32, 1, &one, &scale),
                         flat_i8(&c->r->flat, c->options, SVDF_ASYMMETRIC, 0), ret);
}

static rill_status whole_check(struct conversion *c)
{
    const struct tfl_tensor *w = tfl_in(c, IN_FEATURE), *time = tfl_in(c, IN_TIME),
                            *state = tfl_in(c, IN_STATE), *bias = tfl_in(c, IN_BIAS);
    TRY(tfl_single(c, tfl_in(c, IN_X)));
    TRY(tfl_single(c, w));
    if (w->shape.type == DTYPE_I8 && time->shape.type == DTYPE_I16 && time->q.n == 1 &&
        state->shape.type == DTYPE_I16 && state->q.n == 1 && tfl_type(c, IN_X) == DTYPE_I8 &&
        (!bias || bias->shape.type == DTYPE_I32) && tfl_quant_centred(c->r, w) &&
        tfl_quant_centred(c->r, time) && tfl_quant_centred(c->r, state))
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED,
                    "of %s by %s, kept as %s and weighted by %s; on bytes i8 by i8, both i16 with "
                    "one scale and a zero point of 0, is read",
                    dtype_name(tfl_type(c, IN_X)), dtype_name(w->shape.type),
                    dtype_name(state->shape.type), dtype_name(time->shape.type));
}

static rill_status features_whole(struct conversion *c, const struct svdf *s, uint32_t *ret)
{
    const struct tfl_tensor *x = tfl_in(c, IN_X);
    const float of_x = tfl_quant_scale(c->r, x, 0),
                of_w = tfl_quant_scale(c->r, tfl_in(c, IN_FEATURE), 0);
    const struct factor f =
        tfl_factor_of((double) (of_x * of_w / tfl_quant_scale(c->r, tfl_in(c, IN_STATE), 0)));
    struct attr zero = attr_int("x_zero", tfl_quant_zero(c->r, x)),
                a[] = { attr_int("multiplier", f.multiplier), attr_int("shift", f.shift),
                        attr_int("to", DTYPE_I16), attr_int("low", INT16_MIN),
                        attr_int("high", INT16_MAX) };
    uint32_t in[2];
    TRY(whole_check(c));
    TRY(tfl_wire(c, IN_X, &in[0]));
    TRY(tfl_wire(c, IN_FEATURE, &in[1]));
    TRY(tfl_emit_shape(c, in[0], (int64_t[]) { -1, 1, 1, s->k }, 4, &in[0]));
    TRY(tfl_emit_shape(c, in[1], (int64_t[]) { s->filters, 1, 1, s->k }, 4, &in[1]));
    TRY(tfl_emit(c, OP_BYTE_CONV, &zero, 1, in, 2, ret, 1));
    TRY(tfl_emit(c, OP_REQUANTIZE, a, 5, ret, 1, ret, 1));
    return tfl_emit_shape(c, *ret, (int64_t[]) { s->batch, s->filters }, 2, ret);
}

/* The state without its first frame, and this one behind: [batch, filters, frames]. */
static rill_status frames_next(struct conversion *c, const struct svdf *s, uint32_t features,
                               uint32_t *ret)
{
    const int64_t full[] = { s->batch, s->filters, s->frames }, one[] = { s->batch, s->filters, 1 };
    struct attr axis = attr_int("axis", 2);
    struct variable *v = NULL;
    uint32_t in[5], both[2];
    TRY(tfl_own_state(c, IN_STATE, &v));
    TRY(tfl_emit_shape(c, features, one, 3, ret));
    if (s->frames > 1) {
        TRY(tfl_emit_shape(c, v->now, full, 3, &in[0]));
        TRY(tfl_wire_i64s(c, (int64_t[]) { 1 }, 1, &in[1]));
        TRY(tfl_wire_i64s(c, (int64_t[]) { s->frames }, 1, &in[2]));
        TRY(tfl_wire_i64s(c, (int64_t[]) { 2 }, 1, &in[3]));
        TRY(tfl_wire_i64s(c, (int64_t[]) { 1 }, 1, &in[4]));
        TRY(tfl_emit(c, OP_SLICE, NULL, 0, in, 5, &both[0], 1));
        both[1] = *ret;
        TRY(tfl_emit(c, OP_CONCAT, &axis, 1, both, 2, ret, 1));
    }
    return tfl_emit_shape(c, *ret, (int64_t[]) { s->batch, s->filters * s->frames }, 2, &v->now);
}

/* Each unit's sum along its filters and the frames they kept: [batch, units]. */
static rill_status frames_sum(struct conversion *c, const struct svdf *s, uint32_t frames,
                              uint32_t *ret)
{
    const int64_t units = s->filters / s->rank;
    struct attr keep = attr_int("keepdims", 0), to = attr_int("to", DTYPE_I32);
    uint32_t weights, in[2], bias;
    TRY(tfl_wire(c, IN_TIME, &weights));
    if (s->real && tfl_type(c, IN_TIME) != DTYPE_F32)
        TRY(tfl_emit_reals(c, tfl_in(c, IN_TIME), weights, &weights));
    if (!s->real) {
        TRY(tfl_emit(c, OP_CAST, &to, 1, &weights, 1, &weights, 1));
        TRY(tfl_emit(c, OP_CAST, &to, 1, &frames, 1, &frames, 1));
    }
    TRY(tfl_emit2(c, OP_MUL, frames, weights, &in[0]));
    TRY(tfl_emit_shape(c, in[0], (int64_t[]) { s->batch, units, s->rank * s->frames }, 3, &in[0]));
    TRY(tfl_wire_i64s(c, (int64_t[]) { 2 }, 1, &in[1]));
    TRY(tfl_emit(c, OP_REDUCE_SUM, &keep, 1, in, 2, ret, 1));
    TRY(tfl_wire(c, IN_BIAS, &bias));
    return bias == WIRE_NONE ? RILL_OK : tfl_emit2(c, OP_ADD, *ret, bias, ret);
}

/* The format's kernels cut to the range of bytes, whatever the activation. */
static rill_status sum_requantize(struct conversion *c, uint32_t *x)
{
    const struct tfl_tensor *y = tfl_out(c, 0);
    struct attr a[2 + RANGE_ATTRS];
    TRY(tfl_range_attrs(c, y, ACTIVATION_NONE, a + 2));
    const struct factor f = tfl_factor_of((double) (tfl_quant_scale(c->r, tfl_in(c, IN_STATE), 0) *
                                                    tfl_quant_scale(c->r, tfl_in(c, IN_TIME), 0) /
                                                    tfl_quant_scale(c->r, y, 0)));
    a[0] = attr_int("multiplier", f.multiplier);
    a[1] = attr_int("shift", f.shift);
    return tfl_emit(c, OP_REQUANTIZE, a, 2 + RANGE_ATTRS, x, 1, x, 1);
}

rill_status tfl_svdf(struct conversion *c)
{
    struct svdf s;
    uint32_t features, y;
    TRY(svdf_read(c, &s));
    if (!s.real && s.activation != ACTIVATION_RELU)
        return tfl_fail(c, RILL_UNSUPPORTED, "its activation is number %d; on bytes 1 is read",
                        s.activation);
    TRY(s.real ? features_real(c, &features) : features_whole(c, &s, &features));
    TRY(frames_next(c, &s, features, &features));
    TRY(frames_sum(c, &s, features, &y));
    TRY(s.real ? tfl_emit_activation(c, s.activation, y, &y) : sum_requantize(c, &y));
    return tfl_result(c, 0, y);
}
