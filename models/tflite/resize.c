/* SPDX-License-Identifier: MIT */
/* Images of other sizes: the nearest element, or those at both sides by how near they are. Which
 * elements is known here, so that they are gathered along one axis after the other. */
#include "models/tflite/internal.h"

#include <math.h>

/* How positions of an output axis lie on an input's. */
struct axis_map {
    int64_t n, m; /* elements of the input, of the output */
    bool corners, centres;
};

/* Axes 1 and 2 of the image; corners: the first of two options. */
static rill_status maps_read(struct conversion *c, unsigned corners, struct axis_map ret[2])
{
    const struct tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    int64_t size[2];
    unsigned n;
    TRY(tfl_ints(c, 1, size, 2, &n));
    if (n != 2 || x->shape.rank != 4 || y->shape.rank != 4 || x->shape.type != y->shape.type)
        return tfl_fail(c, RILL_MALFORMED,
                        "makes %s of rank %d and %u sizes of %s of rank %d; wants one type, rank 4 "
                        "and 2 sizes",
                        dtype_name(y->shape.type), y->shape.rank, n, dtype_name(x->shape.type),
                        x->shape.rank);
    for (int i = 0; i < 2; i++) {
        TRY(tfl_known(c, x, 1 + i, "an image of another size"));
        ret[i] = (struct axis_map) { .n = x->shape.dim[1 + i],
                                     .m = size[i],
                                     .corners = flat_i8(&c->r->flat, c->options, corners, 0),
                                     .centres = flat_i8(&c->r->flat, c->options, corners + 1, 0) };
        if (ret[i].n < 1 || size[i] < 1 || size[i] > 1 << 20)
            return tfl_fail(c, RILL_MALFORMED, "makes %lld of %lld elements; wants 1 to %d",
                            (long long) size[i], (long long) ret[i].n, 1 << 20);
    }
    if (ret[0].corners && ret[0].centres)
        return tfl_fail(c, RILL_MALFORMED, "aligns both corners and centres");
    return RILL_OK;
}

static float step_of(const struct axis_map *m)
{
    return m->corners && m->m > 1 ? (float) (m->n - 1) / (float) (m->m - 1)
                                  : (float) m->n / (float) m->m;
}

static int64_t inside(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static rill_status gathered(struct conversion *c, uint32_t x, const int64_t *at, int64_t n,
                            int axis, uint32_t *ret)
{
    struct attr a = attr_int("axis", axis);
    uint32_t in[2] = { x };
    TRY(tfl_wire_i64s(c, at, (unsigned) n, &in[1]));
    return tfl_emit(c, OP_GATHER, &a, 1, in, 2, ret, 1);
}

/* Bytes stay the numbers that they are. */
static rill_status scale_kept(struct conversion *c)
{
    const struct tfl_tensor *x = tfl_in(c, 0), *y = tfl_out(c, 0);
    if (!tfl_type_is_whole(x->shape.type) ||
        (tfl_quant_scale(c->r, x, 0) == tfl_quant_scale(c->r, y, 0) &&
         tfl_quant_zero(c->r, x) == tfl_quant_zero(c->r, y)))
        return RILL_OK;
    return tfl_fail(c, RILL_UNSUPPORTED,
                    "its input and output have different scales or zero points");
}

rill_status tfl_resize_nearest(struct conversion *c)
{
    struct axis_map maps[2];
    uint32_t x;
    TRY(maps_read(c, 0, maps));
    TRY(scale_kept(c));
    TRY(tfl_wire(c, 0, &x));
    for (int axis = 0; axis < 2; axis++) {
        const struct axis_map *m = &maps[axis];
        int64_t *at = arena_array(c->r->arena, int64_t, (size_t) m->m);
        if (!at)
            return tfl_no_memory(c->r);
        for (int64_t i = 0; i < m->m; i++) {
            float v = ((float) i + (m->centres ? 0.5f : 0)) * step_of(m);
            at[i] = inside((int64_t) (m->corners ? roundf(v) : floorf(v)), m->n);
        }
        TRY(gathered(c, x, at, m->m, 1 + axis, &x));
    }
    return tfl_result(c, 0, x);
}

/* ---- bilinear ---- */

/* The two elements of each position, and how much of the one behind. */
struct sides {
    int64_t *at[2];
    struct tensor *part[2]; /* along the axis, in the shape of the image */
};

#define PART_BITS 10 /* of whole numbers */

static void side_reals(const struct axis_map *m, int64_t i, struct sides *s)
{
    float v = m->centres ? ((float) i + 0.5f) * step_of(m) - 0.5f : (float) i * step_of(m);
    s->at[0][i] = inside((int64_t) floorf(v), m->n);
    s->at[1][i] = inside((int64_t) ceilf(v), m->n);
    float behind = v - (float) s->at[0][i];
    ((float *) s->part[0]->data)[i] = 1 - behind;
    ((float *) s->part[1]->data)[i] = behind;
}

/* One axis has a bit more than the other, so that the sum may be halved by what rounds it. */
static void side_whole(const struct axis_map *m, int64_t i, int more, struct sides *s)
{
    int64_t one = 1 << PART_BITS, step = (one * m->n + m->m / 2) / m->m;
    if (m->corners && m->m > 1)
        step = (one * (m->n - 1) + (m->m - 1) / 2) / (m->m - 1);
    int64_t v = m->centres ? i * step + step / 2 - one / 2 : i * step;
    s->at[0][i] = inside(v / one, m->n);
    s->at[1][i] = inside((v + one - 1) / one, m->n);
    int32_t behind = (int32_t) (v - one * s->at[0][i]);
    ((int32_t *) s->part[0]->data)[i] = ((int32_t) one - behind) * (1 + more);
    ((int32_t *) s->part[1]->data)[i] = behind * (1 + more);
}

static rill_status sides_make(struct conversion *c, const struct axis_map *m, int axis, bool real,
                              struct sides *ret)
{
    const int64_t dim[4] = { 1, axis == 0 ? m->m : 1, axis == 1 ? m->m : 1, 1 };
    for (unsigned k = 0; k < 2; k++) {
        ret->at[k] = arena_array(c->r->arena, int64_t, (size_t) m->m);
        ret->part[k] = tensor_new(c->r->arena, real ? DTYPE_F32 : DTYPE_I32, 4, dim);
        if (!ret->at[k] || !ret->part[k])
            return tfl_no_memory(c->r);
    }
    for (int64_t i = 0; i < m->m; i++)
        if (real)
            side_reals(m, i, ret);
        else
            side_whole(m, i, axis, ret);
    return RILL_OK;
}

/* Between the two sides along one axis. */
static rill_status between(struct conversion *c, const struct axis_map *m, int axis, bool real,
                           uint32_t *x)
{
    uint32_t part[2], by;
    struct sides s;
    TRY(sides_make(c, m, axis, real, &s));
    for (unsigned k = 0; k < 2; k++) {
        TRY(gathered(c, *x, s.at[k], m->m, 1 + axis, &part[k]));
        TRY(tfl_wire_of(c, s.part[k], &by));
        TRY(tfl_emit2(c, OP_MUL, part[k], by, &part[k]));
    }
    return tfl_emit2(c, OP_ADD, part[0], part[1], x);
}

/* One of the four elements around each position, by both its parts: as the format's kernels
 * multiply floats of u8. */
static rill_status corner(struct conversion *c, const struct axis_map *maps,
                          const struct sides s[2], unsigned k, uint32_t x, uint32_t *ret)
{
    struct attr to = attr_int("to", DTYPE_F32);
    uint32_t by;
    *ret = x;
    for (int axis = 0; axis < 2; axis++)
        TRY(gathered(c, *ret, s[axis].at[k >> axis & 1], maps[axis].m, 1 + axis, ret));
    TRY(tfl_emit(c, OP_CAST, &to, 1, ret, 1, ret, 1));
    for (int axis = 0; axis < 2; axis++) {
        TRY(tfl_wire_of(c, s[axis].part[k >> axis & 1], &by));
        TRY(tfl_emit2(c, OP_MUL, *ret, by, ret));
    }
    return RILL_OK;
}

/* u8 are summed as floats, and halves rounded up. */
static rill_status bilinear_u8(struct conversion *c, const struct axis_map *maps, uint32_t x)
{
    struct attr to = attr_int("to", DTYPE_U8);
    struct sides s[2];
    uint32_t sum, part;
    for (int axis = 0; axis < 2; axis++)
        TRY(sides_make(c, &maps[axis], axis, true, &s[axis]));
    TRY(corner(c, maps, s, 0, x, &sum));
    for (unsigned k = 1; k < 4; k++) {
        TRY(corner(c, maps, s, k, x, &part));
        TRY(tfl_emit2(c, OP_ADD, sum, part, &sum));
    }
    TRY(tfl_wire_f32(c, 0.5f, &part));
    TRY(tfl_emit2(c, OP_ADD, sum, part, &sum));
    TRY(tfl_emit(c, OP_CAST, &to, 1, &sum, 1, &sum, 1));
    return tfl_result(c, 0, sum);
}

rill_status tfl_resize_bilinear(struct conversion *c)
{
    struct attr to = attr_int("to", DTYPE_I32), a[2 + RANGE_ATTRS];
    struct axis_map maps[2];
    uint32_t x;
    bool real = tfl_type(c, 0) == DTYPE_F32;
    TRY(maps_read(c, 2, maps));
    if (!real && !tfl_type_is_byte(tfl_type(c, 0)))
        return tfl_fail(c, RILL_UNSUPPORTED, "of %s; f32 and 8 bits are read",
                        dtype_name(tfl_type(c, 0)));
    TRY(scale_kept(c));
    TRY(tfl_wire(c, 0, &x));
    if (tfl_type(c, 0) == DTYPE_U8)
        return bilinear_u8(c, maps, x);
    if (!real)
        TRY(tfl_emit(c, OP_CAST, &to, 1, &x, 1, &x, 1));
    for (int axis = 0; axis < 2; axis++)
        TRY(between(c, &maps[axis], axis, real, &x));
    if (!real) {
        TRY(tfl_range_attrs(c, tfl_out(c, 0), ACTIVATION_NONE, a + 2));
        a[0] = attr_int("multiplier", 1 << 30);
        a[1] = attr_int("shift", -2 * PART_BITS);
        a[3] = attr_int("zero", 0); /* numbers, not what they stand for, are between others */
        TRY(tfl_emit(c, OP_REQUANTIZE, a, 2 + RANGE_ATTRS, &x, 1, &x, 1));
    }
    return tfl_result(c, 0, x);
}
