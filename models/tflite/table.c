/* SPDX-License-Identifier: MIT */
/* Operators by elements on bytes whose results are worked out here, one for each of 256 numbers, as
 * the format's reference kernels do: through floats, or in fixed point. */
#include "models/tflite/internal.h"

#include <math.h>

/* Number i of a table is the result for the byte of those bits. */
static int32_t byte_of_bits(const struct tfl_tensor *t, int i)
{
    return t->shape.type == DTYPE_I8 ? (int8_t) i : i;
}

static int64_t cut(const struct tfl_tensor *t, int64_t v)
{
    int64_t low = t->shape.type == DTYPE_I8 ? -128 : 0;
    return v < low ? low : v > low + 255 ? low + 255 : v;
}

/* Each byte of input i by the table. */
static rill_status lookup_emit(struct conversion *c, unsigned i, const int64_t table[256],
                               uint32_t *ret)
{
    const int64_t *kept = arena_copy(c->r->arena, table, 256 * sizeof *table);
    uint32_t x;
    if (!kept)
        return tfl_no_memory(c->r);
    struct attr a[] = { attr_ints("table", kept, 256), attr_int("to", tfl_out(c, 0)->shape.type) };
    TRY(tfl_wire(c, i, &x));
    return tfl_emit(c, OP_BYTE_TABLE, a, 2, &x, 1, ret, 1);
}

static rill_status table_emit(struct conversion *c, const int64_t table[256])
{
    uint32_t y;
    TRY(lookup_emit(c, 0, table, &y));
    return tfl_result(c, 0, y);
}

/* As the reference does where it joins them (ConcatenationWithScaling): in floats. */
rill_status tfl_rescaled(struct conversion *c, unsigned i, uint32_t *ret)
{
    const struct tfl_tensor *x = tfl_in(c, i), *y = tfl_out(c, 0);
    const float inverse = 1 / tfl_quant_scale(c->r, y, 0),
                scale = tfl_quant_scale(c->r, x, 0) * inverse;
    const float bias = (float) -tfl_quant_zero(c->r, x) * scale;
    int64_t table[256];
    for (int b = 0; b < 256; b++) {
        const float product = (float) byte_of_bits(x, b) * scale, v = roundf(product + bias);
        table[b] = cut(y,
                       (int64_t) (v < -1000      ? -1000
                                      : v > 1000 ? 1000
                                                 : v) +
                           tfl_quant_zero(c->r, y));
    }
    return lookup_emit(c, i, table, ret);
}

/* ---- through floats ---- */

static float logistic(float x)
{
    return 1.0f / (1.0f + (float) exp((double) -x));
}

static float tangent(float x)
{
    return (float) tanh((double) x);
}

static float exponential(float x)
{
    return (float) exp((double) x);
}

static void floats_table(struct conversion *c, float (*f)(float), int64_t ret[256])
{
    const struct tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    const int32_t zero = tfl_quant_zero(c->r, x);
    const float scale = tfl_quant_scale(c->r, x, 0), inverse = 1 / tfl_quant_scale(c->r, y, 0);
    for (int i = 0; i < 256; i++) {
        float v = roundf(f(scale * (float) (byte_of_bits(x, i) - zero)) * inverse) +
            (float) tfl_quant_zero(c->r, y);
        ret[i] = cut(y, v > -1000 ? (int64_t) (v < 1000 ? v : 1000) : -1000);
    }
}

/* ---- in fixed point ---- */

/* Scales next to each other are floats, as the format's kernels have them. */
static void leaky_table(struct conversion *c, int64_t ret[256])
{
    const struct tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    const float alpha = flat_f32(&c->r->flat, c->options, 0, 0), of_x = tfl_quant_scale(c->r, x, 0),
                of_y = tfl_quant_scale(c->r, y, 0);
    const struct factor above = tfl_factor_of((double) (of_x / of_y)),
                        below = tfl_factor_of(fabs((double) (of_x * alpha / of_y)));
    for (int i = 0; i < 256; i++) {
        int32_t v = byte_of_bits(x, i) - tfl_quant_zero(c->r, x);
        struct factor f = v >= 0 ? above : below;
        int64_t scaled = tfl_factor_apply(f, v);
        ret[i] = cut(y, (v < 0 && alpha < 0 ? -scaled : scaled) + tfl_quant_zero(c->r, y));
    }
}

/* A factor of 16 bits. */
static struct factor factor_narrow(struct factor f)
{
    int64_t v = ((int64_t) f.multiplier + (1 << 15)) >> 16;
    return (struct factor) { v > INT16_MAX ? INT16_MAX : (int32_t) v, f.shift };
}

/* x in 16 bits, seven of them below the byte; by `ramp` to -1..1, which stands for x of -3..3. */
static int32_t swish_ramp(int32_t x, struct factor ramp)
{
    if (ramp.shift > 0)
        x = tfl_cut_16((int64_t) x * ((int64_t) 1 << (ramp.shift - 1)));
    x = tfl_high_mul_16(x, ramp.multiplier);
    if (ramp.shift > 0)
        x = tfl_cut_16((int64_t) x * 2);
    else
        x = tfl_halved(x, -ramp.shift);
    return (x + (1 << 15)) >> 1;
}

static rill_status swish_table(struct conversion *c, int64_t ret[256])
{
    const struct tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    const float fine = tfl_quant_scale(c->r, x, 0) / 128;
    const struct factor to_y = factor_narrow(
                            tfl_factor_of((double) (fine / tfl_quant_scale(c->r, y, 0)))),
                        ramp = factor_narrow(tfl_factor_of((double) (fine / (3.0f / 32768.0f))));
    if (to_y.shift > 0)
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "its output is in steps of %g, less than a 128th of its input's, %g",
                        (double) tfl_quant_scale(c->r, y, 0), (double) tfl_quant_scale(c->r, x, 0));
    for (int i = 0; i < 256; i++) {
        int32_t v = (byte_of_bits(x, i) - tfl_quant_zero(c->r, x)) * 128;
        int32_t part =
            tfl_cut_16(swish_ramp(v, ramp) * tfl_high_mul_16(v, to_y.multiplier) / (1 << 15));
        ret[i] = cut(y, tfl_halved(part, -to_y.shift) + tfl_quant_zero(c->r, y));
    }
    return RILL_OK;
}

static rill_status table_make(struct conversion *c, int64_t ret[256])
{
    const struct tfl_tensor *y = tfl_out(c, 0);
    const float step = tfl_quant_scale(c->r, y, 0);
    switch (c->row->with) {
    case OP_LEAKY_RELU: leaky_table(c, ret); return RILL_OK;
    case OP_HARD_SWISH: return swish_table(c, ret);
    case OP_TANH: floats_table(c, tangent, ret); return RILL_OK;
    case OP_EXP: floats_table(c, exponential, ret); return RILL_OK;
    default: break;
    }
    if (step != 1.0f / 256)
        return tfl_fail(c, RILL_UNSUPPORTED, "output '%.80s' is in steps of %g; wants 1/256",
                        y->name, (double) step);
    floats_table(c, logistic, ret);
    return RILL_OK;
}

rill_status tfl_byte_table(struct conversion *c)
{
    int64_t table[256];
    TRY(tfl_single(c, tfl_in(c, 0)));
    TRY(tfl_single(c, tfl_out(c, 0)));
    TRY(table_make(c, table));
    return table_emit(c, table);
}
