/* SPDX-License-Identifier: MIT */
/* Operators that move elements, of any type. */
#include "models/tflite/internal.h"

#include <string.h>

/* Sizes that the output does not have as input 1 says them; -1 fits any. */
static rill_status sizes_check(struct conversion *c)
{
    const struct tfl_tensor *t = tfl_in(c, 1), *y = tfl_out(c, 0);
    const struct tensor *v = NULL;
    uint32_t w;
    if (c->row->with != RESHAPE_BY_SIZES || !t)
        return RILL_OK;
    TRY(tfl_wire(c, 1, &w));
    v = c->s->g->wires[w].fact.value;
    int64_t n = v ? tensor_count(v) : 0;
    bool fits = !v || (v->type == DTYPE_I32 && n == y->shape.rank);
    for (int64_t i = 0; v && fits && i < n; i++) {
        int64_t size = tensor_get_i64(v, v->data, i);
        fits = size < 0 || y->open >> i & 1 || size == y->shape.dim[i];
    }
    return fits ? RILL_OK
                : tfl_fail(c, RILL_MALFORMED,
                           "its output '%.80s' is not of the shape that input 1, '%.80s', says",
                           y->name, t->name);
}

rill_status tfl_reshape(struct conversion *c)
{
    uint32_t x, y;
    TRY(sizes_check(c));
    TRY(tfl_wire(c, 0, &x));
    if (!tfl_in(c, 0)->open && !tfl_out(c, 0)->open &&
        tensor_count(&tfl_in(c, 0)->shape) != tensor_count(&tfl_out(c, 0)->shape))
        return tfl_fail(c, RILL_MALFORMED, "makes %lld elements of %lld",
                        (long long) tensor_count(&tfl_out(c, 0)->shape),
                        (long long) tensor_count(&tfl_in(c, 0)->shape));
    TRY(tfl_emit_reshape(c, x, tfl_out(c, 0), &y));
    return tfl_result(c, 0, y);
}

rill_status tfl_squeeze(struct conversion *c)
{
    return tfl_reshape(c);
}

rill_status tfl_expand_dims(struct conversion *c)
{
    return tfl_reshape(c);
}

rill_status tfl_transpose(struct conversion *c)
{
    int64_t perm[RANK_MAX];
    uint32_t x, y;
    unsigned n;
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_ints(c, 1, perm, RANK_MAX, &n));
    TRY(tfl_emit_transpose(c, perm, n, x, &y));
    return tfl_result(c, 0, y);
}

/* ---- joining and splitting ---- */

static rill_status join(struct conversion *c, const uint32_t *in, unsigned n, int64_t axis,
                        uint32_t *ret)
{
    struct attr a = attr_int("axis", axis);
    return tfl_emit(c, OP_CONCAT, &a, 1, in, n, ret, 1);
}

/* Input i as the output has it: of other bytes than u8 nothing is scaled where they are joined. */
static rill_status joined_part(struct conversion *c, unsigned i, uint32_t *ret)
{
    const struct tfl_tensor *x = tfl_in(c, i), *y = tfl_out(c, 0);
    if (!tfl_type_is_whole(y->shape.type) ||
        (tfl_quant_scale(c->r, x, 0) == tfl_quant_scale(c->r, y, 0) &&
         tfl_quant_zero(c->r, x) == tfl_quant_zero(c->r, y)))
        return tfl_wire(c, i, ret);
    TRY(tfl_single_whole(c, x));
    TRY(tfl_single_whole(c, y));
    if (y->shape.type == DTYPE_U8)
        return tfl_rescaled(c, i, ret);
    return tfl_fail(c, RILL_UNSUPPORTED,
                    "tensor '%.80s' has another scale or zero point than what it is joined to",
                    x->name);
}

rill_status tfl_concatenation(struct conversion *c)
{
    struct reader *r = c->r;
    uint32_t *in = arena_array(r->arena, uint32_t, c->in.n + (size_t) 1), y;
    int activation = flat_i8(&r->flat, c->options, CONCAT_ACTIVATION, 0);
    if (!in)
        return tfl_no_memory(r);
    for (unsigned i = 0; i < c->in.n; i++)
        TRY(joined_part(c, i, &in[i]));
    TRY(join(c, in, c->in.n, flat_i32(&r->flat, c->options, CONCAT_AXIS, 0), &y));
    if (activation && tfl_type_is_whole(tfl_type(c, 0)))
        return tfl_fail(c, RILL_UNSUPPORTED, "an activation behind whole numbers is not read here");
    TRY(tfl_emit_activation(c, activation, y, &y));
    return tfl_result(c, 0, y);
}

rill_status tfl_pack(struct conversion *c)
{
    struct reader *r = c->r;
    uint32_t *in = arena_array(r->arena, uint32_t, c->in.n + (size_t) 1), axes, y;
    int64_t axis = flat_i32(&r->flat, c->options, PACK_AXIS, 0);
    if (!in)
        return tfl_no_memory(r);
    TRY(tfl_wire_i64s(c, &axis, 1, &axes));
    for (unsigned i = 0; i < c->in.n; i++) {
        TRY(tfl_wire(c, i, &in[i]));
        TRY(tfl_emit2(c, OP_UNSQUEEZE, in[i], axes, &in[i]));
    }
    TRY(join(c, in, c->in.n, axis, &y));
    return tfl_result(c, 0, y);
}

/* The parts along an axis to the outputs, without that axis if it goes. sizes: WIRE_NONE: alike. */
static rill_status split(struct conversion *c, uint32_t x, int64_t axis, uint32_t sizes, bool goes)
{
    uint32_t *out = arena_array(c->r->arena, uint32_t, c->out.n + (size_t) 1), axes;
    struct attr a[2] = { attr_int("axis", axis), attr_int("num_outputs", c->out.n) };
    if (!out)
        return tfl_no_memory(c->r);
    TRY(tfl_emit(c, OP_SPLIT, a, sizes == WIRE_NONE ? 2 : 1, (uint32_t[]) { x, sizes }, 2, out,
                 c->out.n));
    TRY(tfl_wire_i64s(c, &axis, 1, &axes));
    for (unsigned i = 0; i < c->out.n; i++) {
        if (goes)
            TRY(tfl_emit2(c, OP_SQUEEZE, out[i], axes, &out[i]));
        TRY(tfl_result(c, i, out[i]));
    }
    return RILL_OK;
}

static rill_status one_int(struct conversion *c, unsigned i, int64_t *ret)
{
    unsigned n;
    TRY(tfl_ints(c, i, ret, 1, &n));
    return n == 1 ? RILL_OK : tfl_fail(c, RILL_MALFORMED, "input %u is empty", i);
}

rill_status tfl_split(struct conversion *c)
{
    int64_t axis = 0;
    uint32_t x;
    TRY(one_int(c, 0, &axis));
    TRY(tfl_wire(c, 1, &x));
    return split(c, x, axis, WIRE_NONE, false);
}

rill_status tfl_split_v(struct conversion *c)
{
    int64_t axis = 0, *sizes = arena_array(c->r->arena, int64_t, c->out.n + (size_t) 1), rest = -1;
    uint32_t x, w;
    unsigned n;
    if (!sizes)
        return tfl_no_memory(c->r);
    TRY(one_int(c, 2, &axis));
    TRY(tfl_ints(c, 1, sizes, c->out.n, &n));
    const struct tensor *shape = &tfl_in(c, 0)->shape;
    int at = axis_normalise(axis, shape->rank);
    if (at < 0 || n != c->out.n)
        return tfl_fail(c, RILL_MALFORMED, "%u sizes for %u outputs, along axis %lld", n, c->out.n,
                        (long long) axis);
    int64_t left = shape->dim[at];
    for (unsigned i = 0; i < n; i++) {
        rest = sizes[i] == -1 ? (int64_t) i : rest;
        left -= sizes[i] == -1 ? 0 : sizes[i];
    }
    if (rest >= 0) {
        TRY(tfl_known(c, tfl_in(c, 0), at, "what is left for one part"));
        sizes[rest] = left;
    }
    TRY(tfl_wire(c, 0, &x));
    TRY(tfl_wire_i64s(c, sizes, n, &w));
    return split(c, x, axis, w, false);
}

rill_status tfl_unpack(struct conversion *c)
{
    uint32_t x;
    TRY(tfl_wire(c, 0, &x));
    return split(c, x, flat_i32(&c->r->flat, c->options, PACK_AXIS, 0), WIRE_NONE, true);
}

/* ---- slices ---- */

static rill_status slice(struct conversion *c, const int64_t *begin, const int64_t *end,
                         const int64_t *step, unsigned n, uint32_t *ret)
{
    int64_t axes[RANK_MAX];
    uint32_t in[5];
    for (unsigned i = 0; i < n; i++)
        axes[i] = i;
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(tfl_wire_i64s(c, begin, n, &in[1]));
    TRY(tfl_wire_i64s(c, end, n, &in[2]));
    TRY(tfl_wire_i64s(c, axes, n, &in[3]));
    TRY(tfl_wire_i64s(c, step, n, &in[4]));
    return tfl_emit(c, OP_SLICE, NULL, 0, in, 5, ret, 1);
}

struct strides {
    int64_t begin[RANK_MAX], end[RANK_MAX], step[RANK_MAX];
    unsigned n;
    int32_t mask[STRIDED_OFFSET];
};

static rill_status strides_read(struct conversion *c, struct strides *ret)
{
    unsigned n[3];
    TRY(tfl_ints(c, 1, ret->begin, RANK_MAX, &n[0]));
    TRY(tfl_ints(c, 2, ret->end, RANK_MAX, &n[1]));
    TRY(tfl_ints(c, 3, ret->step, RANK_MAX, &n[2]));
    ret->n = n[0];
    for (unsigned i = 0; i < STRIDED_OFFSET; i++)
        ret->mask[i] = flat_i32(&c->r->flat, c->options, i, 0);
    if (ret->mask[STRIDED_ELLIPSIS] || ret->mask[STRIDED_NEW] ||
        flat_i8(&c->r->flat, c->options, STRIDED_OFFSET, 0))
        return tfl_fail(c, RILL_UNSUPPORTED,
                        "an ellipsis, new axes or offsets in a slice are not read");
    if (n[1] != n[0] || n[2] != n[0] || n[0] > (unsigned) tfl_in(c, 0)->shape.rank)
        return tfl_fail(c, RILL_MALFORMED, "%u begins, %u ends and %u steps for rank %d", n[0],
                        n[1], n[2], tfl_in(c, 0)->shape.rank);
    return RILL_OK;
}

/* A bit of a mask: from the first, or to the last, element; one element whose axis goes. */
static rill_status strides_fix(struct conversion *c, struct strides *s)
{
    for (unsigned i = 0; i < s->n; i++) {
        bool back = s->step[i] < 0;
        if (s->mask[STRIDED_SHRINK] >> i & 1) {
            s->step[i] = 1;
            s->end[i] = s->begin[i] == -1 ? INT64_MAX : s->begin[i] + 1;
            continue;
        }
        if (s->mask[STRIDED_BEGIN] >> i & 1)
            s->begin[i] = back ? INT64_MAX : 0;
        if (s->mask[STRIDED_END] >> i & 1)
            s->end[i] = back ? -INT64_MAX : INT64_MAX;
    }
    (void) c;
    return RILL_OK;
}

rill_status tfl_strided_slice(struct conversion *c)
{
    struct strides s;
    uint32_t y;
    TRY(strides_read(c, &s));
    TRY(strides_fix(c, &s));
    TRY(slice(c, s.begin, s.end, s.step, s.n, &y));
    if (s.mask[STRIDED_SHRINK])
        TRY(tfl_emit_reshape(c, y, tfl_out(c, 0), &y));
    return tfl_result(c, 0, y);
}

rill_status tfl_slice(struct conversion *c)
{
    int64_t begin[RANK_MAX], end[RANK_MAX], step[RANK_MAX];
    unsigned n, m;
    uint32_t y;
    TRY(tfl_ints(c, 1, begin, RANK_MAX, &n));
    TRY(tfl_ints(c, 2, end, RANK_MAX, &m));
    if (n != m || n != (unsigned) tfl_in(c, 0)->shape.rank)
        return tfl_fail(c, RILL_MALFORMED, "%u begins and %u sizes for rank %d", n, m,
                        tfl_in(c, 0)->shape.rank);
    for (unsigned i = 0; i < n; i++) {
        step[i] = 1;
        end[i] = end[i] == -1 ? INT64_MAX : begin[i] + end[i];
    }
    TRY(slice(c, begin, end, step, n, &y));
    return tfl_result(c, 0, y);
}

/* ---- pads, gathers ---- */

static rill_status pads(struct conversion *c, const char *mode, uint32_t value)
{
    const struct tfl_tensor *x = tfl_in(c, 0);
    int64_t pairs[2 * RANK_MAX], apart[2 * RANK_MAX];
    const char **text = arena_array(c->r->arena, const char *, 1);
    uint32_t in[3], y;
    unsigned n;
    TRY(tfl_ints(c, 1, pairs, 2 * RANK_MAX, &n));
    if (n != 2 * (unsigned) x->shape.rank)
        return tfl_fail(c, RILL_MALFORMED, "%u pads for rank %d", n, x->shape.rank);
    for (unsigned i = 0; i < n; i++)
        apart[i % 2 * (n / 2) + i / 2] = pairs[i];
    if (!text)
        return tfl_no_memory(c->r);
    *text = mode;
    struct attr a = { .name = "mode", .kind = ATTR_STRINGS, .strings = { 1, text } };
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(tfl_wire_i64s(c, apart, n, &in[1]));
    in[2] = value;
    TRY(tfl_emit(c, OP_PAD, &a, 1, in, 3, &y, 1));
    return tfl_result(c, 0, y);
}

/* PAD's zero is the number that stands for 0; PADV2 says its own. */
rill_status tfl_pad(struct conversion *c)
{
    const struct tfl_tensor *x = tfl_in(c, 0);
    uint32_t value = WIRE_NONE;
    if (c->in.n > 2) {
        TRY(tfl_wire(c, 2, &value));
    } else if (tfl_type_is_whole(x->shape.type)) {
        struct tensor *t = tensor_new(c->r->arena, x->shape.type, 0, NULL);
        if (!t)
            return tfl_no_memory(c->r);
        tensor_set_f64(t, t->data, 0, tfl_quant_zero(c->r, x));
        TRY(tfl_wire_of(c, t, &value));
    }
    return pads(c, "constant", value);
}

rill_status tfl_mirror_pad(struct conversion *c)
{
    if (flat_i8(&c->r->flat, c->options, 0, 0))
        return tfl_fail(c, RILL_UNSUPPORTED, "mirrors the edge too; only REFLECT is read");
    return pads(c, "reflect", WIRE_NONE);
}

rill_status tfl_gather(struct conversion *c)
{
    struct attr a = attr_int("axis", flat_i32(&c->r->flat, c->options, GATHER_AXIS, 0));
    uint32_t in[2], y;
    if (flat_i32(&c->r->flat, c->options, GATHER_BATCH, 0))
        return tfl_fail(c, RILL_UNSUPPORTED, "gathers within batches, which is not read");
    TRY(tfl_wire(c, 0, &in[0]));
    TRY(tfl_wire(c, 1, &in[1]));
    TRY(tfl_emit(c, OP_GATHER, &a, 1, in, 2, &y, 1));
    return tfl_result(c, 0, y);
}
