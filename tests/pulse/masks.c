/* SPDX-License-Identifier: MIT */
#include "tests/pulse/masks_floats.h"

#include <float.h>
#include <math.h>

static uint32_t range(struct gb *b, uint32_t from, uint32_t to, int64_t step)
{
    return GB(b, "Range", "", from, to, gb_int(b, step));
}

static void columns(struct gb *b, uint32_t at, struct at *ret)
{
    ret->i = GB(b, "Unsqueeze", "", at, gb_ints(b, 1));
    ret->j = GB(b, "Unsqueeze", "", at, gb_ints(b, 0));
}

static uint32_t floored(struct gb *b, uint32_t i)
{
    return GB(b, "Floor", "", GB(b, "Div", "", GB(b, "Cast", "to=1", i), gb_scalar(b, 4)));
}

static uint32_t as_i32(struct gb *b, uint32_t i)
{
    return GB(b, "Cast", "to=7", i);
}

static uint32_t cut(struct gb *b, uint32_t m, uint32_t length, int64_t step)
{
    uint32_t end =
        GB(b, "Mul", "", GB(b, "Unsqueeze", "", length, gb_ints(b, 0)), gb_ints(b, step));
    for (int axis = 0; axis < 2; axis++)
        m = GB(b, "Slice", "", m, gb_ints(b, 0), end, gb_ints(b, axis), gb_ints(b, step));
    return m;
}

static uint32_t triangles(struct gb *b, const struct at *a)
{
    uint32_t ones = GB(b, "Expand", "", gb_scalar(b, 1),
                       GB(b, "Concat", "axis=0", GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0)),
                          GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0))));
    uint32_t low = GB(b, "Trilu", "upper=0", ones, gb_int(b, 1)),
             high = GB(b, "Trilu", "upper=1", ones, gb_int(b, -3));
    return GB(b, "Greater", "", GB(b, "Mul", "", low, high), gb_scalar(b, 0));
}

static uint32_t difference(struct gb *b, const struct at *a)
{
    uint32_t length = GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0));
    uint32_t ones = GB(b, "Expand", "", gb_scalar(b, 1), GB(b, "Concat", "axis=0", length, length));
    uint32_t band = GB(b, "Sub", "", GB(b, "Trilu", "upper=0", ones, gb_int(b, 1)),
                       GB(b, "Trilu", "upper=0", ones, gb_int(b, -4)));
    return GB(b, "Greater", "", band, gb_scalar(b, 0));
}

/* floor(|x|) * sign(x) of a third. */
static uint32_t third_cut(struct gb *b, uint32_t i)
{
    uint32_t x = GB(b, "Div", "", GB(b, "Cast", "to=1", i), gb_scalar(b, 3));
    return GB(b, "Mul", "", GB(b, "Floor", "", GB(b, "Abs", "", x)), GB(b, "Sign", "", x));
}

/* Chunks of 3 and the chunk before, up to the end of the sequence if that comes first. */
static uint32_t ended(struct gb *b, const struct at *a)
{
    uint32_t three = gb_int(b, 3), chunk = GB(b, "Div", "", a->i, three), one = gb_int(b, 1);
    uint32_t from = GB(b, "Mul", "", GB(b, "Sub", "", chunk, one), three),
             to = GB(b, "Mul", "", GB(b, "Add", "", chunk, one), three);
    return GB(b, "And", "", GB(b, "GreaterOrEqual", "", a->j, from),
              GB(b, "Less", "", a->j, GB(b, "Min", "", to, a->length)));
}

/* What f32 makes of 0.1 * 3 is what it makes of 0.3. */
static uint32_t rounded(struct gb *b, uint32_t m)
{
    uint32_t tenth = gb_scalar(b, 0.1f), w = GB(b, "Where", "", m, tenth, tenth);
    w = GB(b, "Mul", "", GB(b, "Mul", "", w, gb_scalar(b, 3)), GB(b, "Cast", "to=1", m));
    return GB(b, "Equal", "", w, gb_scalar(b, 0.3f));
}

/* Products that f32 rounds from the second frame on. */
static uint32_t far_products(struct gb *b, const struct at *a)
{
    uint32_t c = gb_scalar(b, 10000017), i = GB(b, "Mul", "", GB(b, "Cast", "to=1", a->i), c),
             j = GB(b, "Mul", "", GB(b, "Cast", "to=1", a->j), c);
    return GB(b, "And", "", int_band(b, a->i, a->j, 5),
              GB(b, "Equal", "", GB(b, "Sub", "", i, j), c));
}

/* Of T = 128, 256, .. all; or of even T from 66 on more than of the others. */
static uint32_t by_length(struct gb *b, const struct written *t, const struct at *a)
{
    uint32_t back = GB(b, "Sub", "", a->i, a->j), zero = gb_int(b, 0);
    if (t->mask == LENGTHS_OF_128)
        return GB(b, "Or", "", int_band(b, a->i, a->j, 5),
                  GB(b, "Equal", "", GB(b, "Mod", "", a->length, gb_int(b, 128)), zero));
    uint32_t even = GB(b, "Sub", "", gb_int(b, 1), GB(b, "Mod", "", a->length, gb_int(b, 2)));
    uint32_t more = GB(b, "Mul", "", GB(b, "Div", "", a->length, gb_int(b, 65)), even);
    return GB(b, "And", "", GB(b, "GreaterOrEqual", "", back, zero),
              GB(b, "LessOrEqual", "", back, GB(b, "Add", "", more, gb_int(b, 3))));
}

/* True where the distance is a multiple of n. */
static uint32_t every(struct gb *b, const struct at *a, int64_t n)
{
    uint32_t back = GB(b, "Mod", "fmod=0", GB(b, "Sub", "", a->i, a->j), gb_int(b, n));
    return GB(b, "Equal", "", back, gb_int(b, 0));
}

/* Groups of positions, counted in a type that is too small for them. */
static uint32_t in_type(struct gb *b, const struct at *a, const char *to, int64_t group)
{
    uint32_t by = gb_int(b, group), i = GB(b, "Cast", to, GB(b, "Div", "", a->i, by)),
             j = GB(b, "Cast", to, GB(b, "Div", "", a->j, by)),
             zero = GB(b, "Cast", to, gb_int(b, 0));
    return band(b, i, j, zero, GB(b, "Cast", to, gb_int(b, 3)));
}

/* Masks of numbers in narrow types. */
static uint32_t narrow(struct gb *b, const struct written *t, const struct at *a)
{
    uint32_t three = gb_int(b, 3), one = gb_int(b, 1), zero = gb_int(b, 0);
    switch (t->mask) {
    case BYTES: return in_type(b, a, "to=5", 1);
    case BYTES_OF_CHUNKS: return in_type(b, a, "to=9", 4);
    case SHORTS: return in_type(b, a, "to=6", 1);
    case BYTES_CLIPPED: {
        uint32_t d = GB(b, "Clip", "", GB(b, "Sub", "", a->i, a->j), gb_int(b, -9), gb_int(b, 9));
        d = GB(b, "Cast", "to=5", d);
        return GB(b, "And", "", GB(b, "GreaterOrEqual", "", d, GB(b, "Cast", "to=5", zero)),
                  GB(b, "LessOrEqual", "", d, GB(b, "Cast", "to=5", three)));
    }
    case BYTES_OF_TRUTH: {
        uint32_t m = int_band(b, a->i, a->j, 3), unsigned_one = GB(b, "Cast", "to=9", one);
        m = GB(b, "Or", "", m, GB(b, "Equal", "", GB(b, "Sub", "", a->i, a->j), gb_int(b, 5)));
        m = GB(b, "Sub", "", unsigned_one, GB(b, "Cast", "to=9", m));
        return GB(b, "Equal", "", m, GB(b, "Cast", "to=9", zero));
    }
    case REMAINDERS_I8: {
        uint32_t seven = gb_int(b, 7), i = GB(b, "Mod", "", a->i, seven),
                 j = GB(b, "Mod", "", a->j, seven);
        return GB(b, "And", "", int_band(b, a->i, a->j, 5),
                  GB(b, "LessOrEqual", "", GB(b, "Cast", "to=5", j), GB(b, "Cast", "to=5", i)));
    }
    case PRODUCTS_I32: {
        uint32_t i = as_i32(b, a->i), j = as_i32(b, a->j), k = as_i32(b, gb_int(b, 31));
        uint32_t d = GB(b, "Sub", "", GB(b, "Mul", "", GB(b, "Mul", "", i, i), k),
                        GB(b, "Mul", "", GB(b, "Mul", "", i, j), k));
        return GB(b, "And", "", int_band(b, a->i, a->j, 5),
                  GB(b, "GreaterOrEqual", "", d, as_i32(b, zero)));
    }
    default: return int_band(b, a->i, a->j, 5);
    }
}

/* A band, and frames far away: of the first queries, beside the first keys, or of all. */
static uint32_t far_shown(struct gb *b, const struct written *t, const struct at *a)
{
    uint32_t three = gb_int(b, 3), seen = int_band(b, a->i, a->j, 4), far;
    if (t->mask == ONCE_FAR)
        far = GB(b, "Equal", "", GB(b, "Sub", "", a->i, a->j), gb_int(b, 5000));
    else if (t->mask == ROOT_3000) { /* the distance, and its square over 3000 */
        uint32_t d = GB(b, "Sub", "", a->j, a->i), e = GB(b, "Sub", "", a->j, a->i);
        far = GB(b, "Equal", "", GB(b, "Mul", "", d, e), GB(b, "Mul", "", d, gb_int(b, 3000)));
    } else {
        uint32_t at =
            t->mask == SINKS_FAR ? gb_int(b, 2100) : GB(b, "Mul", "", a->i, gb_int(b, 5000));
        far = GB(b, "And", "", GB(b, "Less", "", a->i, three), GB(b, "Equal", "", a->j, at));
        seen = GB(b, "Or", "", seen, GB(b, "Less", "", a->j, three));
    }
    return GB(b, "Or", "", seen, far);
}

/* Under which chunks of those numbers are the same, or one apart. */
static uint32_t numbered(struct gb *b, uint32_t number, uint32_t length)
{
    const uint32_t of = GB(b, "Slice", "", number, gb_ints(b, 0), length, gb_ints(b, 0));
    return int_band(b, GB(b, "Unsqueeze", "", of, gb_ints(b, 1)),
                    GB(b, "Unsqueeze", "", of, gb_ints(b, 0)), 1);
}

/* 0 0 0 1 1 1 .., of as many chunks as the sequence begins. */
static uint32_t repeated(struct gb *b, const struct at *a, uint32_t length)
{
    const uint32_t n = GB(b, "Div", "", GB(b, "Add", "", a->length, gb_int(b, 2)), gb_int(b, 3));
    const uint32_t row = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
                   sizes = GB(b, "Concat", "axis=0", GB(b, "Unsqueeze", "", n, gb_ints(b, 0)),
                              gb_ints(b, 3));
    const uint32_t rows = GB(b, "Expand", "", GB(b, "Unsqueeze", "", row, gb_ints(b, 1)), sizes);
    return numbered(b, GB(b, "Reshape", "", rows, gb_ints(b, -1)), length);
}

enum { SIDE = 60 };

static uint32_t of_distance(struct gb *b, const struct written *t, const struct at *a)
{
    const uint32_t d = GB(b, "Sub", "", a->i, a->j), three = gb_int(b, 3);
    if (t->mask >= HALF_BOUND && t->mask <= TWICE)
        return mask_between(b, t, a);
    if (t->mask == SQUARES)
        return GB(b, "LessOrEqual", "", GB(b, "Pow", "", d, gb_int(b, 2)), gb_int(b, 9));
    if (t->mask == SQUARES_F32) {
        const uint32_t f = as_f32(b, d);
        return GB(b, "Greater", "", gb_scalar(b, 10), GB(b, "Mul", "", f, f));
    }
    if (t->mask == SQUARES_BETWEEN) {
        const uint32_t f = as_f32(b, d);
        return GB(b, "Less", "", GB(b, "Pow", "", f, gb_scalar(b, 2)), gb_scalar(b, 9.5f));
    }
    if (t->mask == SQUARES_APART) {
        const uint32_t i = GB(b, "Cast", "to=1", a->i), j = GB(b, "Cast", "to=1", a->j),
                       ij = GB(b, "Mul", "", GB(b, "Mul", "", i, j), gb_scalar(b, 2));
        const uint32_t sum = GB(b, "Add", "", GB(b, "Mul", "", i, i), GB(b, "Mul", "", j, j));
        return GB(b, "LessOrEqual", "", GB(b, "Sub", "", sum, ij), gb_scalar(b, 9));
    }
    if (t->mask == HELD)
        return GB(b, "Equal", "", GB(b, "Clip", "", d, gb_int(b, 0), three), d);
    const uint32_t least = GB(b, "Max", "", a->j, GB(b, "Sub", "", a->i, three));
    return GB(b, "Equal", "", GB(b, "Min", "", least, a->i), a->j);
}

/* Constants, cut to the length. */
static uint32_t tables(struct gb *b, const struct written *t, const struct at *a)
{
    const int64_t dim[] = { SIDE, SIDE }, chunk = t->mask == TABLE_BAND ? 1 : 3;
    const uint32_t length = GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0));
    int64_t number[SIDE];
    unsigned char seen[SIDE * SIDE];
    for (int64_t i = 0; i < SIDE; i++) {
        number[i] =
            t->mask == NUMBERS ? i / 3 : (int64_t) ((uint64_t) INT64_MAX - 1 + (uint64_t) i / 3);
        for (int64_t j = 0; j < SIDE; j++) {
            const int64_t far = i / chunk - j / chunk;
            seen[i * SIDE + j] = far >= 0 && far <= (t->mask == TABLE_BAND ? 4 : 1);
        }
    }
    if (t->mask == REPEATED)
        return repeated(b, a, length);
    if (t->mask == TABLE_ALMOST)
        seen[7 * SIDE + 5] ^= 1;
    if (t->mask != NUMBERS && t->mask != NUMBERS_WRAPPED)
        return GB(b, "Slice", "", gb_const(b, DTYPE_BOOL, 2, dim, seen), gb_ints(b, 0, 0),
                  GB(b, "Concat", "axis=0", length, length), gb_ints(b, 0, 1));
    return numbered(b, gb_const(b, DTYPE_I64, 1, dim, number), length);
}

/* First frames beside a band or chunks. */
static uint32_t sinks(struct gb *b, const struct written *t, const struct at *a)
{
    const uint32_t three = gb_int(b, 3), near = int_band(b, a->i, a->j, 4),
                   first = GB(b, "Less", "", a->j, three);
    const uint32_t chunks =
        int_band(b, GB(b, "Div", "", a->i, three), GB(b, "Div", "", a->j, three), 1);
    const uint32_t chunk_or_first = GB(b, "Or", "", chunks, GB(b, "Equal", "", a->j, gb_int(b, 0)));
    switch (t->mask) {
    case SINKS_AHEAD: return GB(b, "Or", "", first, near);
    case SINKS_WHILE:
        return GB(b, "And", "", int_band(b, a->i, a->j, 20), GB(b, "Or", "", first, near));
    case SINKS_EARLY:
        return GB(b, "Or", "", near,
                  GB(b, "And", "", GB(b, "Less", "", a->i, three),
                     GB(b, "Less", "", a->j, gb_int(b, 7))));
    case SELF_EARLY:
        return GB(b, "And", "",
                  GB(b, "Or", "", GB(b, "GreaterOrEqual", "", a->i, gb_int(b, 8)),
                     GB(b, "Equal", "", a->i, a->j)),
                  int_band(b, a->i, a->j, 1));
    case SINK_CHUNK: return chunk_or_first;
    case SINK_CHUNK_WHILE: return GB(b, "And", "", chunk_or_first, near);
    default:
        return GB(b, "And", "", GB(b, "LessOrEqual", "", a->j, a->i),
                  GB(b, "Or", "", first,
                     GB(b, "Less", "", GB(b, "Sub", "", a->i, a->j), gb_int(b, 5))));
    }
}

/* True where the key is the query's. */
static uint32_t diagonal(struct gb *b, const struct at *a)
{
    const uint32_t length = GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0)),
                   sizes = GB(b, "Concat", "axis=0", length, length);
    return GB(b, "Cast", "to=13", GB(b, "EyeLike", "", GB(b, "ConstantOfShape", "", sizes)));
}

/* Of 3, and the chunk before; or longer. */
static uint32_t chunks(struct gb *b, const struct written *t, const struct at *a)
{
    const bool is_long = t->mask == CHUNKS_LONG;
    const uint32_t size = gb_int(b, is_long ? 17 : 3),
                   m = int_band(b, GB(b, "Div", "", a->i, size), GB(b, "Div", "", a->j, size),
                                is_long ? 2 : 1);
    return t->mask != CHUNKS_BEHIND ? m : GB(b, "And", "", GB(b, "LessOrEqual", "", a->j, a->i), m);
}

/* True where the key is seen. */
static uint32_t shown(struct gb *b, const struct written *t, const struct at *a)
{
    struct at o;
    uint32_t three = gb_int(b, 3), one = gb_int(b, 1), zero = gb_int(b, 0);
    switch (t->mask) {
    case FLOOR:
        return band(b, floored(b, a->i), floored(b, a->j), gb_scalar(b, 0), gb_scalar(b, 1));
    case FAR_NEGATIVE: {
        uint32_t far = GB(b, "Neg", "", GB(b, "Abs", "", GB(b, "Sub", "", a->i, a->j)));
        return GB(b, "Less", "", gb_int(b, -3), far);
    }
    case INT32: return band(b, as_i32(b, a->i), as_i32(b, a->j), as_i32(b, zero), as_i32(b, three));
    case SLICED:
        columns(b, range(b, zero, GB(b, "Add", "", a->length, three), 1), &o);
        return cut(b, int_band(b, o.i, o.j, 3), a->length, 1);
    case EVERY_SECOND:
        columns(b, range(b, zero, GB(b, "Mul", "", a->length, gb_int(b, 2)), 1), &o);
        o.i = GB(b, "Div", "", o.i, gb_int(b, 6));
        o.j = GB(b, "Div", "", o.j, gb_int(b, 6));
        return cut(b, int_band(b, o.i, o.j, 1), a->length, 2);
    case DESCENDING:
        columns(b, range(b, GB(b, "Sub", "", a->length, one), gb_int(b, -1), -1), &o);
        return int_band(b, o.j, o.i, 4);
    case CLIPPED: {
        uint32_t d = GB(b, "Clip", "", GB(b, "Sub", "", a->i, a->j), gb_int(b, -1), gb_int(b, 5));
        return GB(b, "And", "", GB(b, "Less", "", d, gb_int(b, 4)),
                  GB(b, "Greater", "", d, gb_int(b, -1)));
    }
    case PICKED: {
        uint32_t at = range(b, zero, a->length, 1);
        uint32_t chunk = GB(b, "Div", "", GB(b, "Add", "", at, one), gb_int(b, 2));
        columns(b, GB(b, "Gather", "axis=0", chunk, at), &o);
        return int_band(b, o.i, o.j, 2);
    }
    case TRIANGLES: return triangles(b, a);
    case DIFFERENCE: return difference(b, a);
    case CUT:
        return band(b, third_cut(b, a->i), third_cut(b, a->j), gb_scalar(b, 0), gb_scalar(b, 1));
    case ENDED: return ended(b, a);
    case CHUNKS:
    case CHUNKS_LONG:
    case CHUNKS_BEHIND: return chunks(b, t, a);
    case BEFORE:
    case DIAGONAL: {
        const uint32_t before = band(b, a->i, a->j, three, gb_int(b, 6));
        return t->mask == BEFORE ? before : GB(b, "Or", "", before, diagonal(b, a));
    }
    case EVEN:
    case ODD: { /* from the sign of a remainder that is the dividend's */
        uint32_t back = GB(b, "Mod", t->mask == EVEN ? "fmod=0" : "fmod=1",
                           GB(b, "Sub", "", a->j, a->i), three);
        return GB(b, "And", "", int_band(b, a->i, a->j, 7),
                  GB(b, "LessOrEqual", "", back, t->mask == EVEN ? zero : gb_int(b, -1)));
    }
    case WIDE: return int_band(b, a->i, a->j, 30);
    case ROUNDED: return rounded(b, int_band(b, a->i, a->j, 5));
    case FAR_PRODUCTS: return far_products(b, a);
    case LENGTHS_OF_128:
    case LENGTHS_EVEN: return by_length(b, t, a);
    case ONCE_FAR:
    case SINKS_FAR:
    case SINKS_SLOPE:
    case SINKS_ROUND:
    case ROOT_3000: return far_shown(b, t, a);
    case EVERY_3000: return every(b, a, 3000);
    case TWO_REMAINDERS: return GB(b, "And", "", every(b, a, 50), every(b, a, 49));
    case SINKS:
    case SINKS_AHEAD:
    case SINKS_WHILE:
    case SINK_CHUNK_WHILE:
    case SINKS_EARLY:
    case SELF_EARLY:
    case SINK_CHUNK: return sinks(b, t, a);
    case ALL: return GB(b, "LessOrEqual", "", a->j, a->i);
    default:
        if (t->mask >= SQUARES && t->mask <= HELD_BETWEEN)
            return of_distance(b, t, a);
        return t->mask >= TABLE_BAND && t->mask <= REPEATED ? tables(b, t, a) : narrow(b, t, a);
    }
}

/* Frames of data between those of positions: what the first queries see is said last. */
static uint32_t padded_first(struct gb *b, const struct written *t, const struct at *a, uint32_t m,
                             uint32_t keys)
{
    const uint32_t own = GB(b, "Equal", "", a->i, a->j),
                   first = GB(b, "Or", "", GB(b, "GreaterOrEqual", "", a->i, gb_int(b, 2)), own);
    if (t->pad == PAD_FIRST_ENDED)
        keys = GB(b, "Less", "", a->i, GB(b, "Sub", "", a->length, gb_int(b, 2)));
    keys = GB(b, "Or", "", keys, own);
    if (t->pad < PAD_FIRST_HIDING) {
        m = GB(b, "And", "", m, keys);
        for (int k = 0; t->pad == PAD_FIRST_LONG && k < 30000; k++)
            m = GB(b, "And", "", m, m);
        return GB(b, "And", "", m, first);
    }
    m = GB(b, "Or", "", GB(b, "Not", "", m), GB(b, "Not", "", keys));
    return GB(b, "Not", "", GB(b, "Or", "", GB(b, "Not", "", first), m));
}

static uint32_t padded(struct gb *b, const struct written *t, const struct at *a, uint32_t m)
{
    if (t->pad == NO_PAD)
        return m;
    uint32_t sum = GB(b, "ReduceSum", "keepdims=0", a->x, gb_ints(b, 0, 2));
    uint32_t here = GB(b, "Greater", "", sum, gb_scalar(b, -0.5f));
    uint32_t keys = GB(b, "Unsqueeze", "", here, gb_ints(b, 0)),
             queries = GB(b, "Unsqueeze", "", here, gb_ints(b, 1));
    if (t->pad >= PAD_FIRST)
        return padded_first(b, t, a, m, keys);
    if (t->pad == PAD_TILED) {
        uint32_t length = GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0));
        keys = GB(b, "Tile", "", keys, GB(b, "Concat", "axis=0", length, gb_ints(b, 1)));
        queries = gb_transpose(b, keys, "1,0");
    }
    if (t->pad == PAD_SPREAD) {
        uint32_t length = GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0));
        keys = GB(b, "Expand", "", keys, GB(b, "Concat", "axis=0", length, length));
        queries = gb_transpose(b, keys, "1,0");
    }
    /* a query sees itself, so that no row is hidden whole */
    uint32_t pair = t->pad == PAD_KEYS ? keys : GB(b, "And", "", keys, queries);
    if (t->pad == PAD_ALL)
        return GB(b, "And", "", m, pair);
    return GB(b, "And", "", m, GB(b, "Or", "", pair, GB(b, "Equal", "", a->i, a->j)));
}

static uint32_t biased(struct gb *b, const struct written *t, const struct at *a, uint32_t s)
{
    uint32_t d = GB(b, "Sub", "", a->i, a->j), bias;
    switch (t->bias) {
    case SLOPES:
        bias = GB(b, "Mul", "", GB(b, "Cast", "to=1", GB(b, "Abs", "", d)), gb_scalar(b, -0.3f));
        break;
    case TABLE:
        d = GB(b, "Add", "", GB(b, "Clip", "", d, gb_int(b, -4), gb_int(b, 4)), gb_int(b, 4));
        bias = GB(b, "Gather", "axis=0", gb_weights(b, 1, 9), d);
        break;
    case TABLE_TIGHT:
        bias = GB(b, "Gather", "axis=0", gb_weights(b, 1, 9), GB(b, "Sub", "", gb_int(b, 4), d));
        break;
    case TABLE_PICKED:
        bias = GB(b, "Concat", "axis=0", GB(b, "Unsqueeze", "", a->length, gb_ints(b, 0)),
                  gb_ints(b, 9));
        bias = GB(b, "GatherElements", "axis=1", GB(b, "Expand", "", gb_weights(b, 2, 1, 9), bias),
                  GB(b, "Sub", "", gb_int(b, 4), d));
        break;
    case TABLE_BEHIND:
        bias = GB(b, "Gather", "axis=0", gb_weights(b, 1, 9), GB(b, "Sub", "", d, gb_int(b, 15)));
        break;
    case TABLE_SINGLE: bias = GB(b, "Gather", "axis=0", gb_weights(b, 1, 1), d); break;
    case TABLE_SHORT:
        bias = GB(b, "Gather", "axis=0", gb_weights(b, 1, 65), GB(b, "Add", "", d, gb_int(b, 32)));
        break;
    case LOGS:
        bias = GB(b, "Cast", "to=1", GB(b, "Add", "", GB(b, "Abs", "", d), gb_int(b, 1)));
        bias = GB(b, "Mul", "", GB(b, "Log", "", bias), gb_scalar(b, 0.7f));
        break;
    case KEYS_UP:
    case KEYS_DOWN:
        bias = GB(b, "Mul", "", GB(b, "Cast", "to=1", a->j),
                  gb_scalar(b, t->bias == KEYS_UP ? 0.25f : -0.25f));
        break;
    case SQUARE:
    case SQUARE_FAR:
        d = GB(b, "Sub", "", d, gb_int(b, t->bias == SQUARE ? 0 : 100));
        bias = as_f32(b, d);
        bias = GB(b, "Div", "", GB(b, "Neg", "", GB(b, "Mul", "", bias, bias)), gb_scalar(b, 8));
        break;
    case RISING:
    case RISING_FAST:
        bias = GB(b, "Mul", "", as_f32(b, d), gb_scalar(b, t->bias == RISING ? -0.5f : -3000));
        break;
    case ALONG_KEYS:
        bias = GB(b, "ReduceMax", "keepdims=1", gb_transpose(b, a->x, "0,2,1"), gb_ints(b, 1));
        break;
    case CONTENT:
        d = GB(b, "Add", "", GB(b, "Clip", "", d, gb_int(b, -4), gb_int(b, 4)), gb_int(b, 4));
        d = GB(b, "Unsqueeze", "", d, gb_ints(b, 0));
        bias = GB(b, "Add", "",
                  GB(b, "GatherElements", "axis=2",
                     GB(b, "MatMul", "", a->x, gb_weights(b, 2, a->width, 9)), d),
                  gb_transpose(b,
                               GB(b, "GatherElements", "axis=2",
                                  GB(b, "MatMul", "", a->x, gb_weights(b, 2, a->width, 9)),
                                  gb_transpose(b, d, "0,2,1")),
                               "0,2,1"));
        break;
    case THROUGH_MANY:
        bias = as_f32(b, d);
        for (int i = 0; i < 60000; i++)
            bias = GB(b, "Tanh", "", bias);
        break;
    case ALONG_QUERIES: bias = GB(b, "ReduceMax", "keepdims=1", a->x, gb_ints(b, 2)); break;
    default: return s;
    }
    return GB(b, "Add", "", s, bias);
}

static uint32_t softmax(struct gb *b, uint32_t s)
{
    return GB(b, "Softmax", "axis=-1", s);
}

static uint32_t over_sum(struct gb *b, uint32_t e)
{
    return GB(b, "Div", "", e, GB(b, "ReduceSum", "keepdims=1", e, gb_ints(b, 2)));
}

/* A number of each key, 0 or 1 as it happens: no op says so. */
static uint32_t of_keys(struct gb *b, const struct at *a)
{
    uint32_t sum = GB(b, "ReduceSum", "keepdims=1", gb_transpose(b, a->x, "0,2,1"), gb_ints(b, 1));
    return GB(b, "Clip", "", GB(b, "Sign", "", sum), gb_scalar(b, 0), gb_scalar(b, 1));
}

/* What once was taken for hidden, and is not. */
static uint32_t weighed_wrongly(struct gb *b, const struct written *t, const struct at *a,
                                uint32_t s, uint32_t m)
{
    uint32_t low = gb_scalar(b,
                             t->laid == DIVIDED            ? -1e3f
                                 : t->laid == DIVIDED_ONCE ? -1e4f
                                                           : -1e9f);
    uint32_t eight = gb_scalar(b, 8), number = GB(b, "Cast", "to=1", m);
    uint32_t hidden = GB(b, "Mul", "", GB(b, "Sub", "", gb_scalar(b, 1), number), low);
    uint32_t laid = GB(b, "Where", "", m, s, low);
    switch (t->laid) {
    case DIVIDED_ONCE: return softmax(b, GB(b, "Div", "", laid, eight));
    case DIVIDED: return softmax(b, GB(b, "Div", "", GB(b, "Div", "", laid, eight), eight));
    case UNDONE: return softmax(b, GB(b, "Sub", "", GB(b, "Add", "", s, hidden), hidden));
    case NUMBERED:
        hidden = GB(b, "Mul", "", GB(b, "Sub", "", gb_scalar(b, 1), of_keys(b, a)), low);
        return softmax(b, GB(b, "Add", "", laid, hidden));
    case LOGARITHM: return softmax(b, GB(b, "Add", "", laid, GB(b, "Log", "", of_keys(b, a))));
    case HALVED:
        m = GB(b, "Div", "", GB(b, "Cast", "to=8", GB(b, "Not", "", m)), gb_int(b, 2));
        m = GB(b, "Cast", "to=13", m);
        return softmax(b, GB(b, "Where", "", m, low, s));
    case OVER_KEYS: return GB(b, "Div", "", softmax(b, laid), of_keys(b, a));
    case EXP_OVERFLOWS:
        return GB(b, "Mul", "", GB(b, "Exp", "", GB(b, "Mul", "", s, gb_scalar(b, 60))), number);
    default:
        s = GB(b, "Where", "", m, s, gb_scalar(b, 0));
        for (int i = 0; i < 30000; i++)
            s = GB(b, "Neg", "", s);
        return s;
    }
}

/* Weights of scores s under mask m. */
static uint32_t weighed(struct gb *b, const struct written *t, uint32_t s, uint32_t m)
{
    uint32_t never = gb_scalar(b, -INFINITY), zero = gb_scalar(b, 0);
    uint32_t number = GB(b, "Cast", "to=1", m);
    switch (t->laid) {
    case ADD: return softmax(b, GB(b, "Add", "", s, GB(b, "Where", "", m, zero, never)));
    case LOGGED: return softmax(b, GB(b, "Add", "", s, GB(b, "Log", "", number)));
    case INVERTED:
    case INVERTED_LEAST:
        number = GB(b, "Sub", "", gb_scalar(b, 1), number);
        return softmax(b,
                       GB(b, "Add", "", s,
                          GB(b, "Mul", "", number,
                             gb_scalar(b, t->laid == INVERTED ? -1e9f : -FLT_MAX))));
    case TIMES:
        m = GB(b, "Mul", "", GB(b, "Sub", "", gb_scalar(b, 1), number), gb_scalar(b, 1e4f));
        return softmax(b, GB(b, "Sub", "", GB(b, "Mul", "", s, number), m));
    case SELECT:
        return softmax(b, GB(b, "Where", "", m, s, GB(b, "Add", "", s, gb_scalar(b, -1e9f))));
    case ZEROED:
        return softmax(b,
                       GB(b, "Where", "", m, s,
                          GB(b, "Add", "", GB(b, "Mul", "", s, zero), never)));
    case LEAST:
        s = GB(b, "Add", "", s, GB(b, "Where", "", m, zero, gb_scalar(b, -3e38f)));
        return softmax(b, GB(b, "Max", "", s, gb_scalar(b, -3.4e38f)));
    case NAN_BEHIND:
        s = softmax(b, GB(b, "Where", "", m, s, never));
        return GB(b, "Where", "", GB(b, "IsNaN", "", s), zero, s);
    case AFTER_SOFTMAX:
        s = softmax(b, GB(b, "Where", "", m, s, never));
        return GB(b, "Where", "", GB(b, "Not", "", m), zero, s);
    case BY_HAND:
        s = GB(b, "Where", "", m, s, gb_scalar(b, -1e9f));
        s = GB(b, "Sub", "", s, GB(b, "ReduceMax", "keepdims=1", s, gb_ints(b, 2)));
        return over_sum(b, GB(b, "Exp", "", s));
    case LOW_AGAIN:
        s = softmax(b, GB(b, "Where", "", m, s, gb_scalar(b, -1e4f)));
        return GB(b, "Where", "", m, s, zero);
    case MEANS:
        return GB(b, "Div", "", number, GB(b, "ReduceSum", "keepdims=1", number, gb_ints(b, 1)));
    case LINEAR: return GB(b, "Mul", "", s, number);
    case LINEAR_COUNTED: return over_sum(b, GB(b, "Mul", "", GB(b, "Exp", "", s), number));
    default: return softmax(b, GB(b, "Where", "", m, s, never));
    }
}

static uint32_t product(struct gb *b, const struct written *t, uint32_t q, uint32_t k)
{
    if (t->product == EINSUM || t->product == EINSUM_TURNED)
        return GB(b, "Einsum", "equation='bid,bjd->bij", q, k);
    if (t->product == EINSUM_KEYS_FIRST)
        return GB(b, "Einsum", "equation='bjd,bid->bij", k, q);
    return GB(b, "MatMul", "", q, gb_transpose(b, k, "0,2,1"));
}

static uint32_t values(struct gb *b, const struct written *t, uint32_t w, uint32_t v)
{
    if (t->product == EINSUM)
        return GB(b, "Einsum", "equation='bij,bjd->bid", w, v);
    if (t->product == EINSUM_KEYS_FIRST)
        return GB(b, "Einsum", "equation='bjd,bij->bid", v, w);
    if (t->product == EINSUM_TURNED)
        return gb_transpose(b,
                            GB(b, "MatMul", "", gb_transpose(b, v, "0,2,1"),
                               gb_transpose(b, w, "0,2,1")),
                            "0,2,1");
    return GB(b, "MatMul", "", w, v);
}

static uint32_t linear(struct gb *b, const struct at *a, uint32_t x)
{
    return GB(b, "MatMul", "", x, gb_weights(b, 2, a->width, a->width));
}

static uint32_t list(struct gb *b, uint32_t x)
{
    return GB(b, "Unsqueeze", "", x, gb_ints(b, 0));
}

/* Distances T - 1 down to 1 - T, or to 0. */
static uint32_t sinusoids(struct gb *b, const struct at *a, uint32_t last)
{
    uint32_t from = GB(b, "Sub", "", a->length, gb_int(b, 1));
    uint32_t d = GB(b, "Cast", "to=1", range(b, from, last, -1));
    d = GB(b, "Mul", "", GB(b, "Unsqueeze", "", d, gb_ints(b, 1)),
           gb_weights(b, 2, 1, (a->width + 1) / 2));
    d = GB(b, "Concat", "axis=1", GB(b, "Sin", "", d), GB(b, "Cos", "", d));
    return GB(b, "MatMul", "", d, gb_weights(b, 2, (a->width + 1) / 2 * 2, a->width));
}

/* Rows from 40 - T on, as many as 2*T - 1, of a constant table of 79. */
static uint32_t table_rows(struct gb *b, const struct at *a)
{
    uint32_t middle = gb_ints(b, 40), length = list(b, a->length);
    return GB(b, "Slice", "", gb_weights(b, 2, 79, a->width), GB(b, "Sub", "", middle, length),
              GB(b, "Sub", "", GB(b, "Add", "", middle, length), gb_ints(b, 1)), gb_ints(b, 0));
}

/* The last T of a constant table of 79, as Music Transformer has them. */
static uint32_t last_rows(struct gb *b, const struct at *a)
{
    const uint32_t from = GB(b, "Neg", "", list(b, a->length));
    return GB(b, "Slice", "", gb_weights(b, 2, 79, a->width), from, gb_ints(b, INT32_MAX),
              gb_ints(b, 0));
}

/* Scores [1, T, columns] with a column of zeros in front, of which each row begins one further to
 * the left; the first T columns. */
static uint32_t shifted(struct gb *b, const struct written *t, const struct at *a, uint32_t s,
                        uint32_t columns)
{
    uint32_t length = list(b, a->length), one = gb_ints(b, 1);
    if (t->shift >= GATHERED && t->shift < LAST_ROWS) {
        uint32_t back = GB(b, "Sub", "", a->i, a->j);
        for (int k = 0; t->shift == GATHERED_LONG && k < 60000; k++)
            back = GB(b, "Neg", "", back);
        if (t->shift == NEAREST)
            back = GB(b, "Clip", "", back, gb_int(b, -20), gb_int(b, 20));
        uint32_t at = GB(b, "Sub", "", GB(b, "Sub", "", a->length, gb_int(b, 1)), back);
        return GB(b, "GatherElements", "axis=2", s, list(b, at));
    }
    if (t->shift == CONCATENATED) {
        uint32_t shape = GB(b, "Concat", "axis=0", one, length, one);
        s = GB(b, "Concat", "axis=2", GB(b, "ConstantOfShape", "", shape), s);
    } else {
        s = gb_pad(b, s, 3, 2, "constant", 1, 0);
    }
    uint32_t more = GB(b, "Add", "", columns, one);
    s = GB(b, "Reshape", "", s, GB(b, "Concat", "axis=0", one, more, length));
    s = GB(b, "Slice", "", s, one, gb_ints(b, INT32_MAX), one);
    s = GB(b, "Reshape", "", s, GB(b, "Concat", "axis=0", one, length, columns));
    uint32_t from = gb_ints(b, 0);
    if (t->shift == TURNS_LATE)
        from = GB(b, "Max", "", from, GB(b, "Sub", "", length, gb_ints(b, 400)));
    return GB(b, "Slice", "", s, from, GB(b, "Add", "", from, length), gb_ints(b, 2));
}

static uint32_t by_distance(struct gb *b, const struct written *t, const struct at *a, uint32_t q)
{
    uint32_t length = list(b, a->length), one = gb_ints(b, 1);
    uint32_t columns = t->shift == SHORT || t->shift == LAST_ROWS
        ? length
        : GB(b, "Sub", "", GB(b, "Add", "", length, length), one);
    uint32_t last = t->shift == SHORT ? gb_int(b, -1) : GB(b, "Mul", "", a->length, gb_int(b, -1));
    uint32_t p = t->shift == ROWS ? table_rows(b, a)
        : t->shift == LAST_ROWS   ? last_rows(b, a)
                                  : sinusoids(b, a, last);
    p = gb_transpose(b, list(b, linear(b, a, p)), "0,2,1");
    uint32_t s = GB(b, "MatMul", "", q, p);
    if (t->shift == SCALED)
        s = GB(b, "Div", "", s, gb_scalar(b, 1.5f));
    return shifted(b, t, a, s, columns);
}

uint32_t masked_attention(struct gb *b, uint32_t x, int width, const struct written *t)
{
    struct at a = { .x = x, .width = width };
    a.length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", a.x), gb_int(b, 1));
    columns(b, range(b, gb_int(b, 0), a.length, 1), &a);
    uint32_t m = padded(b, t, &a, shown(b, t, &a));
    uint32_t q = linear(b, &a, a.x), s = product(b, t, q, linear(b, &a, a.x));
    if (t->shift)
        s = GB(b, "Add", "", s,
               by_distance(b, t, &a, GB(b, "Add", "", q, gb_weights(b, 1, width))));
    s = GB(b, "Mul", "", biased(b, t, &a, s), gb_scalar(b, 0.5f));
    if (t->product == HEADS) { /* the scores of heads that are merged with the batch and split */
        uint32_t sizes = GB(b, "Slice", "", GB(b, "Shape", "", s), gb_ints(b, 1), gb_ints(b, 3));
        s = GB(b, "Reshape", "", s, GB(b, "Concat", "axis=0", gb_ints(b, 1, 1), sizes));
        s = GB(b, "Reshape", "", s, GB(b, "Concat", "axis=0", gb_ints(b, 1), sizes));
    }
    s = t->laid >= DIVIDED ? weighed_wrongly(b, t, &a, s, m) : weighed(b, t, s, m);
    return values(b, t, s, linear(b, &a, a.x));
}
