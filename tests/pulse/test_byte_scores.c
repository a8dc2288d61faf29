/* SPDX-License-Identifier: MIT */
/* Attention along time under masks of positions whose scores, weights and values were quantised:
 * between floats, or products of bytes. A stream gives what the whole sequence gives. */
#include "tests/pulse/oracle.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 6 };

enum at {
    AT_OPERANDS = 1, /* queries, keys and values */
    AT_SCORES = 2,   /* the product, before its mask */
    AT_MASK = 4,     /* what is added to it */
    AT_MASKED = 8,
    AT_WEIGHTS = 16
};

struct bytes {
    const char *name;
    enum { BAND, CHUNKS, BEHIND } mask; /* behind: the first queries see none */
    enum { ADDED, CHOSEN, CHOSEN_NUMBERS, INVERTED, LINEAR } laid;
    float hidden;
    unsigned at;
    enum { FLOATS, BYTES, BYTES_TURNED } product;
    enum dtype type;
    int zero, weights_zero; /* of operands and scores; of weights */
    enum {
        SAME,
        OTHER_ZERO,
        DYNAMIC
    } undone; /* by which zero weights are dequantised, or summed */
    const char *refused;
};

static uint32_t zero_of(struct gb *b, enum dtype type, int zero)
{
    const int16_t wide = (int16_t) zero;
    const int8_t narrow = (int8_t) zero;
    return gb_const(b, type, 0, NULL, type == DTYPE_I16 ? (const void *) &wide : &narrow);
}

static uint32_t quantised(struct gb *b, const struct bytes *t, uint32_t x, float scale, int zero)
{
    return GB(b, "QuantizeLinear", "", x, gb_scalar(b, scale), zero_of(b, t->type, zero));
}

static uint32_t dequantised(struct gb *b, const struct bytes *t, uint32_t x, float scale, int zero)
{
    return GB(b, "DequantizeLinear", "", x, gb_scalar(b, scale), zero_of(b, t->type, zero));
}

static uint32_t rounded(struct gb *b, const struct bytes *t, unsigned at, uint32_t x, float scale)
{
    return t->at & at ? dequantised(b, t, quantised(b, t, x, scale, t->zero), scale, t->zero) : x;
}

static uint32_t places(struct gb *b, uint32_t x, int64_t new_axis)
{
    uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    return GB(b, "Unsqueeze", "", GB(b, "Range", "", gb_int(b, 0), length, gb_int(b, 1)),
              gb_ints(b, new_axis));
}

static uint32_t shown(struct gb *b, const struct bytes *t, uint32_t x)
{
    uint32_t i = places(b, x, 1), j = places(b, x, 0), back = GB(b, "Sub", "", i, j);
    if (t->mask == CHUNKS)
        return GB(b, "Equal", "", GB(b, "Div", "", i, gb_int(b, 4)),
                  GB(b, "Div", "", j, gb_int(b, 4)));
    return GB(b, "And", "", GB(b, "LessOrEqual", "", back, gb_int(b, 4)),
              GB(b, "GreaterOrEqual", "", back, gb_int(b, t->mask == BEHIND ? 2 : -1)));
}

static uint32_t multiplied(struct gb *b, uint32_t x, uint32_t y, uint32_t x_zero, uint32_t y_zero,
                           float scale)
{
    const uint32_t sum = GB(b, "MatMulInteger", "", x, y, x_zero, y_zero);
    return GB(b, "Mul", "", GB(b, "Cast", "to=1", sum), gb_scalar(b, scale));
}

static uint32_t linear(struct gb *b, uint32_t x)
{
    return GB(b, "Add", "", GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)),
              gb_weights(b, 1, WIDTH));
}

#define SCALE 0.02f
#define WEIGHTS_SCALE (1 / 254.0f)

static uint32_t scores_of(struct gb *b, const struct bytes *t, uint32_t x)
{
    uint32_t q = linear(b, x), k = gb_transpose(b, linear(b, x), "0,2,1");
    if (t->product == FLOATS)
        return GB(b, "MatMul", "", rounded(b, t, AT_OPERANDS, q, SCALE),
                  rounded(b, t, AT_OPERANDS, k, SCALE));
    return multiplied(b, quantised(b, t, q, SCALE, t->zero), quantised(b, t, k, SCALE, t->zero),
                      zero_of(b, t->type, t->zero), zero_of(b, t->type, t->zero), SCALE * SCALE);
}

static uint32_t weights_of(struct gb *b, const struct bytes *t, uint32_t x, uint32_t s)
{
    uint32_t m = shown(b, t, x);
    if (t->laid == LINEAR)
        return GB(b, "Mul", "", s, rounded(b, t, AT_MASK, GB(b, "Cast", "to=1", m), SCALE));
    if (t->laid == INVERTED) {
        m = GB(b, "Sub", "", gb_scalar(b, 1),
               rounded(b, t, AT_MASK, GB(b, "Cast", "to=1", m), SCALE));
        return GB(b, "Softmax", "axis=-1",
                  GB(b, "Add", "", s, GB(b, "Mul", "", m, gb_scalar(b, t->hidden))));
    }
    if (t->laid == CHOSEN || t->laid == CHOSEN_NUMBERS)
        s = GB(b, "Where", "", m, s, gb_scalar(b, t->hidden));
    else
        s = GB(b, "Add", "", s,
               rounded(b, t, AT_MASK,
                       GB(b, "Where", "", m, gb_scalar(b, 0), gb_scalar(b, t->hidden)), SCALE));
    s = GB(b, "Softmax", "axis=-1", rounded(b, t, AT_MASKED, s, SCALE));
    return t->laid == CHOSEN_NUMBERS ? GB(b, "Where", "", GB(b, "IsNaN", "", s), gb_scalar(b, 0), s)
                                     : s;
}

/* Of the range of all weights. */
static uint32_t values_dynamic(struct gb *b, const struct bytes *t, uint32_t w, uint32_t v)
{
    struct node *n = gb_node(b, "DynamicQuantizeLinear", "", &w, 1, 3);
    if (!n)
        return WIRE_NONE;
    return GB(b, "Cast", "to=1",
              GB(b, "MatMulInteger", "", n->out[0], quantised(b, t, v, SCALE, t->zero), n->out[2],
                 zero_of(b, t->type, t->zero)));
}

static uint32_t values_of(struct gb *b, const struct bytes *t, uint32_t x, uint32_t w)
{
    const int back = t->undone == OTHER_ZERO ? t->weights_zero + 1 : t->weights_zero;
    uint32_t v = linear(b, x);
    if (t->undone == DYNAMIC)
        return values_dynamic(b, t, w, v);
    if (t->at & AT_WEIGHTS || t->product != FLOATS)
        w = quantised(b, t, w, WEIGHTS_SCALE, t->weights_zero);
    if (t->product == FLOATS && t->at & AT_WEIGHTS)
        w = dequantised(b, t, w, WEIGHTS_SCALE, back);
    if (t->product == FLOATS)
        return GB(b, "MatMul", "", w, rounded(b, t, AT_OPERANDS, v, SCALE));
    v = quantised(b, t, v, SCALE, t->zero);
    const uint32_t zero = zero_of(b, t->type, t->zero), zero_w = zero_of(b, t->type, back);
    if (t->product == BYTES)
        return multiplied(b, w, v, zero_w, zero, SCALE * WEIGHTS_SCALE);
    return gb_transpose(b,
                        multiplied(b, gb_transpose(b, v, "0,2,1"), gb_transpose(b, w, "0,2,1"),
                                   zero, zero_w, SCALE * WEIGHTS_SCALE),
                        "0,2,1");
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct bytes *t = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    const uint32_t s = rounded(b, t, AT_SCORES, scores_of(b, t, x), SCALE);
    gb_output(b, GB(b, "Add", "", x, values_of(b, t, x, weights_of(b, t, x, s))));
}

#define ALL (AT_OPERANDS | AT_SCORES | AT_WEIGHTS)
#define NOT_HIDING "may not hide"

static const struct bytes cases[] = {
    { "scores", BAND, ADDED, -INFINITY, AT_SCORES, FLOATS, DTYPE_U8, 120, 0, SAME, NULL },
    { "weights", BAND, CHOSEN, -1e9f, AT_WEIGHTS, FLOATS, DTYPE_U8, 120, 0, SAME, NULL },
    { "all between floats", BAND, ADDED, -1e9f, ALL, FLOATS, DTYPE_U8, 131, 0, SAME, NULL },
    { "signed", CHUNKS, CHOSEN, -INFINITY, ALL, FLOATS, DTYPE_I8, -3, -128, SAME, NULL },
    { "weights around 0", BAND, CHOSEN, -INFINITY, ALL, FLOATS, DTYPE_I8, 0, 0, SAME, NULL },
    { "a zero within", CHUNKS, ADDED, -1e4f, ALL, FLOATS, DTYPE_U8, 131, 7, SAME, NULL },
    { "of 16 bits", BAND, ADDED, -1e9f, ALL, FLOATS, DTYPE_I16, 70, -300, SAME, NULL },
    { "no query blind", BEHIND, CHOSEN, -INFINITY, ALL, FLOATS, DTYPE_U8, 131, 0, SAME, NULL },
    { "numbers of blind ones", BEHIND, CHOSEN_NUMBERS, -INFINITY, ALL, FLOATS, DTYPE_I8, 0, 0, SAME,
      NULL },
    { "of products", BAND, LINEAR, 0, ALL, FLOATS, DTYPE_U8, 131, 120, SAME, NULL },
    { "of products, the mask too", CHUNKS, LINEAR, 0, ALL | AT_MASK, FLOATS, DTYPE_U8, 131, 120,
      SAME, NULL },
    { "bytes", BAND, CHOSEN, -INFINITY, 0, BYTES, DTYPE_U8, 131, 0, SAME, NULL },
    { "bytes, signed", CHUNKS, ADDED, -1e9f, 0, BYTES, DTYPE_I8, 11, -128, SAME, NULL },
    { "bytes, a zero within", BAND, ADDED, -1e9f, 0, BYTES, DTYPE_U8, 131, 9, SAME, NULL },
    { "bytes, turned", CHUNKS, CHOSEN, -1e9f, 0, BYTES_TURNED, DTYPE_U8, 90, 9, SAME, NULL },
    { "bytes of products", CHUNKS, LINEAR, 0, 0, BYTES, DTYPE_I8, -20, 5, SAME, NULL },
    { "masked before", BAND, ADDED, -1e9f, AT_MASKED, FLOATS, DTYPE_U8, 120, 0, SAME, NOT_HIDING },
    { "chosen before", BAND, CHOSEN, -INFINITY, AT_MASKED, BYTES, DTYPE_I8, 1, 0, SAME,
      NOT_HIDING },
    { "the mask itself", BAND, ADDED, -1e9f, AT_MASK, FLOATS, DTYPE_U8, 255, 0, SAME, NOT_HIDING },
    { "the mask, inverted", BAND, INVERTED, -1e9f, AT_MASK, FLOATS, DTYPE_U8, 9, 0, SAME,
      NOT_HIDING },
    { "blind", BEHIND, CHOSEN, -INFINITY, ALL, FLOATS, DTYPE_I8, 0, 0, SAME, "no numbers" },
    { "bytes, blind", BEHIND, ADDED, -INFINITY, 0, BYTES, DTYPE_U8, 90, 3, SAME, "no numbers" },
    { "another zero", BAND, ADDED, -INFINITY, ALL, FLOATS, DTYPE_U8, 131, 0, OTHER_ZERO,
      "show again" },
    { "bytes, another zero", BAND, ADDED, -INFINITY, 0, BYTES, DTYPE_U8, 131, 0, OTHER_ZERO,
      "show again" },
    { "a scale of all", BAND, ADDED, -INFINITY, 0, BYTES, DTYPE_U8, 131, 0, DYNAMIC,
      "a constant scale" },
};

static void case_test(const struct bytes *t)
{
    static const int64_t lengths[] = { 0, 1, 2, 5, 9, 30, -1 }, pulses[] = { 1, 3, 8, -1 };
    static const int64_t whole[] = { 4, 8, 12, -1 };
    struct oracle o;
    enum verdict v = oracle_open(&o, recipe, t, NULL);
    o.tolerance = 1e-5f;
    if (!t->refused && v == LAW_HOLDS)
        oracle_laws(&o, t->name, t->mask == CHUNKS ? whole : pulses, lengths);
    if (t->refused && v == LAW_HOLDS)
        v = oracle_pulse(&o, 1);
    oracle_check(t->refused ? v == LAW_REFUSED && strstr(o.err.text, t->refused) : v == LAW_HOLDS,
                 "%s: %s", t->name, o.err.text);
    oracle_close(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        case_test(&cases[i]);
    return oracle_end();
}
