/* SPDX-License-Identifier: MIT */
/* Operators that make axes longer: resize, upsampling, boxes put back. */
#include "models/nnef/build.h"

#include <string.h>

/* Names of coordinates, interpolations and roundings are those of the op. */
struct stretch {
    const char *coords, *mode, *nearest;
    struct val scales, sizes; /* a list or a tensor; the one that is empty is not used */
};

static rill_status stretch_build(const struct call *c, uint32_t x, const struct stretch *st,
                                 struct val *ret)
{
    struct attr attrs[] = { ATTR_S("coordinate_transformation_mode", &st->coords),
                            ATTR_S("mode", &st->mode), ATTR_S("nearest_mode", &st->nearest) };
    bool by_scale = st->scales.kind != VAL_LIST || st->scales.n;
    uint32_t in[4] = { x, WIRE_NONE, WIRE_NONE, WIRE_NONE }, y;
    if (by_scale == (st->sizes.kind != VAL_LIST || st->sizes.n))
        return call_fail(c, RILL_MALFORMED, "'%s': expected scales or sizes, one of them",
                         c->e->text);
    if (by_scale) {
        TRY(val_to_wire(c->b, c->s, c->e->pos, st->scales, DTYPE_F32, &in[2]));
    } else {
        TRY(val_to_wire(c->b, c->s, c->e->pos, st->sizes, DTYPE_I64, &in[3]));
        TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I64, &in[3]));
    }
    TRY(call_node(c, "Resize", attrs, 3, in, by_scale ? 3 : 4, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

rill_status build_resize(const struct call *c, struct val *ret)
{
    struct stretch st;
    uint32_t x;
    TRY(arg_wire(c, "input", &x));
    TRY(arg_val(c, "scales", &st.scales));
    TRY(arg_val(c, "sizes", &st.sizes));
    TRY(arg_text(c, "coord_transformer", &st.coords));
    TRY(arg_text(c, "interpolator", &st.mode));
    TRY(arg_text(c, "nearest_mode", &st.nearest));
    return stretch_build(c, x, &st, ret);
}

/* Factors of the last axes; those in front stay. */
static rill_status factors_read(const struct call *c, uint32_t x, struct val *ret)
{
    int rank = wire_fact(c->s, x)->rank;
    struct val factor, *list = arena_array(c->b->arena, struct val, RANK_MAX);
    TRY(arg_val(c, "factor", &factor));
    if (!list)
        return nnef_no_memory(c->b);
    if (factor.kind != VAL_LIST || factor.n > (unsigned) rank)
        return call_fail(c, RILL_MALFORMED, "'%s': factor is %s, expected a list of at most %d",
                         c->e->text, val_kind_name(factor), rank);
    for (int k = 0; k < rank; k++) {
        int from = k - rank + (int) factor.n;
        list[k] = from < 0 ? (struct val) { .kind = VAL_INT, .i = 1 } : factor.list[from];
    }
    *ret = (struct val) { .kind = VAL_LIST, .n = (uint32_t) rank, .list = list };
    return RILL_OK;
}

rill_status build_nearest_upsample(const struct call *c, struct val *ret)
{
    struct stretch st = {
        .coords = "asymmetric", .mode = "nearest", .nearest = "floor", .sizes = { .kind = VAL_LIST }
    };
    uint32_t x;
    TRY(arg_wire(c, "input", &x));
    TRY(factors_read(c, x, &st.scales));
    return stretch_build(c, x, &st, ret);
}

rill_status build_multilinear_upsample(const struct call *c, struct val *ret)
{
    /* clang-format off */
    static const struct { const char *method, *coords; } methods[] = {
        { "symmetric", "half_pixel" }, { "asymmetric", "asymmetric" }, { "aligned", "align_corners" },
    };
    /* clang-format on */
    struct stretch st = { .mode = "linear", .nearest = "floor", .sizes = { .kind = VAL_LIST } };
    const char *method, *border;
    uint32_t x;
    TRY(arg_wire(c, "input", &x));
    TRY(arg_text(c, "method", &method));
    TRY(arg_text(c, "border", &border));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcmp(methods[i].method, method))
            st.coords = methods[i].coords;
    if (!st.coords || strcmp(border, "replicate") != 0)
        return call_fail(
            c, RILL_UNSUPPORTED,
            "'%s': method '%.30s' and border '%.30s', supported: symmetric, asymmetric "
            "or aligned, with replicate",
            c->e->text, method, border);
    TRY(factors_read(c, x, &st.scales));
    return stretch_build(c, x, &st, ret);
}
