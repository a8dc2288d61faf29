/* SPDX-License-Identifier: MIT */
/* Operators that make axes longer: resize, upsampling, boxes put back. */
#include "models/nnef/build.h"

#include <string.h>

/* Names of coordinates, interpolations and roundings are those of the op. */
struct stretch {
    const char *coords, *mode, *nearest;
    struct val scales, sizes; /* a list or a tensor; the one that is empty is not used */
    struct val roi;           /* the same */
    double cubic, outside;
    bool excludes, antialias;
};

static bool is_given(struct val v)
{
    return v.kind != VAL_LIST || v.n;
}

static rill_status stretch_build(const struct call *c, uint32_t x, const struct stretch *st,
                                 struct val *ret)
{
    struct attr attrs[] = { ATTR_S("coordinate_transformation_mode", &st->coords),
                            ATTR_S("mode", &st->mode),
                            ATTR_S("nearest_mode", &st->nearest),
                            ATTR_F("cubic_coeff_a", (float) st->cubic),
                            ATTR_I("exclude_outside", st->excludes),
                            ATTR_I("antialias", st->antialias),
                            ATTR_F("extrapolation_value", (float) st->outside) };
    bool by_scale = is_given(st->scales);
    uint32_t in[4] = { x, WIRE_NONE, WIRE_NONE, WIRE_NONE }, y;
    if (by_scale == is_given(st->sizes))
        return call_fail(c, RILL_MALFORMED, "'%s': expected scales or sizes, one of them",
                         c->e->text);
    if (by_scale) {
        TRY(val_to_wire(c->b, c->s, c->e->pos, st->scales, DTYPE_F32, &in[2]));
    } else {
        TRY(val_to_wire(c->b, c->s, c->e->pos, st->sizes, DTYPE_I64, &in[3]));
        TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I64, &in[3]));
    }
    if (is_given(st->roi))
        TRY(val_to_wire(c->b, c->s, c->e->pos, st->roi, DTYPE_F32, &in[1]));
    TRY(call_node(c, "Resize", attrs, sizeof attrs / sizeof *attrs, in, by_scale ? 3 : 4, &y));
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
    TRY(arg_val(c, "roi", &st.roi));
    TRY(arg_real(c, "cubic_coeff_a", &st.cubic));
    TRY(arg_real(c, "extrapolation_value", &st.outside));
    TRY(arg_bool(c, "exclude_outside", &st.excludes));
    TRY(arg_bool(c, "antialias", &st.antialias));
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

static const struct val none = { .kind = VAL_LIST };

rill_status build_nearest_upsample(const struct call *c, struct val *ret)
{
    struct stretch st = {
        .coords = "asymmetric", .mode = "nearest", .nearest = "floor", .sizes = none, .roi = none
    };
    uint32_t x;
    TRY(arg_wire(c, "input", &x));
    TRY(factors_read(c, x, &st.scales));
    return stretch_build(c, x, &st, ret);
}

/* One zero in front and behind along each axis that gets longer. */
static rill_status zeros_around(const struct call *c, const struct val *factors, uint32_t *x)
{
    const struct fact *f = wire_fact(c->s, *x);
    const struct tensor *zero = tensor_new(c->b->arena, f->type, 0, NULL);
    int64_t pads[2 * RANK_MAX] = { 0 };
    uint32_t value;
    if (!zero)
        return nnef_no_memory(c->b);
    for (int k = 0; k < f->rank; k++)
        pads[k] = pads[f->rank + k] = factors->list[k].i != 1;
    TRY(const_tensor(c->b, c->s->g, zero, &value));
    return build_border(c, "constant", pads, value, x);
}

/* Drops what those zeros became. */
static rill_status zeros_cut(const struct call *c, const struct val *factors, struct val *x)
{
    int64_t axes[RANK_MAX], begin[RANK_MAX], end[RANK_MAX];
    unsigned n = 0;
    uint32_t in[4] = { x->wire, 0, 0, 0 }, y;
    for (uint32_t k = 0; k < factors->n; k++)
        if (factors->list[k].i != 1) {
            axes[n] = k;
            begin[n] = factors->list[k].i;
            end[n++] = -factors->list[k].i;
        }
    TRY(const_i64(c->b, c->s->g, begin, n, &in[1]));
    TRY(const_i64(c->b, c->s->g, end, n, &in[2]));
    TRY(const_i64(c->b, c->s->g, axes, n, &in[3]));
    TRY(call_node(c, "Slice", NULL, 0, in, 4, &y));
    *x = val_of_wire(y);
    return RILL_OK;
}

/* Between what is there; with border 'constant' zeros lie around it. */
rill_status build_multilinear_upsample(const struct call *c, struct val *ret)
{
    /* clang-format off */
    static const struct { const char *method, *coords; } methods[] = {
        { "symmetric", "half_pixel" }, { "asymmetric", "asymmetric" }, { "aligned", "align_corners" },
    };
    /* clang-format on */
    struct stretch st = { .mode = "linear", .nearest = "floor", .sizes = none, .roi = none };
    const char *method, *border;
    bool zeros;
    uint32_t x;
    TRY(arg_wire(c, "input", &x));
    TRY(arg_text(c, "method", &method));
    TRY(arg_text(c, "border", &border));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcmp(methods[i].method, method))
            st.coords = methods[i].coords;
    zeros = !strcmp(border, "constant");
    if (!st.coords || (!zeros && strcmp(border, "replicate") != 0))
        return call_fail(
            c, RILL_UNSUPPORTED,
            "'%s': method '%.30s' and border '%.30s', supported: symmetric, asymmetric "
            "or aligned, with replicate or constant",
            c->e->text, method, border);
    TRY(factors_read(c, x, &st.scales));
    zeros &= strcmp(method, "aligned") != 0; /* which reads nothing outside */
    for (uint32_t k = 0; zeros && k < st.scales.n; k++)
        if (st.scales.list[k].kind != VAL_INT || st.scales.list[k].i < 1)
            return call_fail(c, RILL_MALFORMED, "'%s': factor %u is %s, expected 1 or more",
                             c->e->text, k, val_kind_name(st.scales.list[k]));
    if (zeros)
        TRY(zeros_around(c, &st.scales, &x));
    TRY(stretch_build(c, x, &st, ret));
    return zeros ? zeros_cut(c, &st.scales, ret) : RILL_OK;
}
