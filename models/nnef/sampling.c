/* SPDX-License-Identifier: MIT */
/* Pooling by places: where the largest of a window lies, what lies at a place, and the way back. A
 * place counts along the spatial axes of one channel, row by row, the padding included: so do the
 * tools of the standard's authors. In texts of tract, and where there is no padding, it is the
 * place in the tensor itself. */
#include "engine/base/checked.h"
#include "models/nnef/build.h"

/* x with its spatial axes as one. */
static rill_status flatten(const struct call *c, uint32_t x, uint32_t *ret)
{
    static const int64_t shape[] = { 0, 0, -1 };
    uint32_t in[2] = { x, 0 };
    TRY(const_i64(c->b, c->s->g, shape, 3, &in[1]));
    return call_node(c, "Reshape", NULL, 0, in, 2, ret);
}

static rill_status reshape(const struct call *c, uint32_t x, const struct dim *const *shape,
                           unsigned n, uint32_t *ret)
{
    uint32_t in[2] = { x, 0 };
    TRY(const_sizes(c->b, c->s->g, shape, n, &in[1]));
    return call_node(c, "Reshape", NULL, 0, in, 2, ret);
}

/* Places of one channel. */
static const struct dim *plane_of(const struct call *c, const struct dim *const *spatial,
                                  unsigned n)
{
    const struct dim *all = dim_int(c->b->dims, 1);
    for (unsigned i = 0; i < n; i++)
        all = dim_mul(c->b->dims, all, spatial[i]);
    return all;
}

static const char *own_borders(const struct call *c)
{
    return comes_of_tract(c->b) ? "constant ignore" : "";
}

/* The largest of each window, and its place. */
static rill_status largest(const struct call *c, uint32_t out[2])
{
    struct spatial sp;
    struct attr attrs[4];
    uint32_t x, place[2];
    TRY(arg_wire(c, "input", &x));
    TRY(spatial_read(c, x, &sp));
    TRY(spatial_list(c, "size", &sp, sp.kernel));
    TRY(spatial_border(c, &sp, own_borders(c), &x));
    unsigned n = spatial_attrs(&sp, attrs);
    attrs[n++] = (struct attr) ATTR_L("kernel_shape", sp.kernel, sp.n);
    TRY(build_node(c->b, c->s, c->e->pos, "MaxPool", attrs, n, &x, 1, out, 2));
    const struct dim *plane = plane_of(c, wire_fact(c->s, x)->shape + 2, sp.n);
    place[0] = out[1]; /* counts from the begin of the tensor */
    TRY(const_sizes(c->b, c->s->g, &plane, 1, &place[1]));
    return call_node(c, "Mod", NULL, 0, place, 2, &out[1]);
}

rill_status build_max_pool_with_index(const struct call *c, struct val *ret)
{
    uint32_t out[2];
    struct val *list = arena_array(c->b->arena, struct val, 2);
    if (!list)
        return nnef_no_memory(c->b);
    TRY(largest(c, out));
    for (int i = 0; i < 2; i++)
        list[i] = val_of_wire(out[i]);
    *ret = (struct val) { .kind = VAL_LIST, .n = 2, .list = list };
    return RILL_OK;
}

rill_status build_argmax_pool(const struct call *c, struct val *ret)
{
    uint32_t out[2];
    TRY(largest(c, out));
    *ret = val_of_wire(out[1]);
    return RILL_OK;
}

/* Places as integers, of as many axes as what they are of. */
static rill_status places_read(const struct call *c, uint32_t x, uint32_t *ret)
{
    TRY(arg_wire(c, "index", ret));
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I64, ret));
    const int rank = wire_fact(c->s, *ret)->rank;
    return rank == wire_fact(c->s, x)->rank
        ? RILL_OK
        : call_fail(c, RILL_MALFORMED, "'%s': places of rank %d in a tensor of rank %d", c->e->text,
                    rank, wire_fact(c->s, x)->rank);
}

rill_status build_sample(const struct call *c, struct val *ret)
{
    struct spatial sp;
    uint32_t x, index, in[2], y;
    TRY(arg_wire(c, "input", &x));
    TRY(spatial_read(c, x, &sp));
    TRY(spatial_list(c, "size", &sp, sp.kernel));
    TRY(places_read(c, x, &index));
    TRY(spatial_border(c, &sp, own_borders(c), &x));
    TRY(flatten(c, x, &in[0]));
    TRY(flatten(c, index, &in[1]));
    TRY(call_node(c, "GatherElements", &(struct attr) ATTR_I("axis", 2), 1, in, 2, &y));
    TRY(reshape(c, y, wire_fact(c->s, index)->shape, sp.n + 2, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* ---- the way back ---- */

struct spread {
    struct spatial sp;
    const struct dim *shape[RANK_MAX];  /* of the result */
    const struct dim *padded[RANK_MAX]; /* with what is around it */
};

/* Sizes that windows over them have as many of as there are numbers: the shortest, and without
 * padding those of whole strides. */
static rill_status spread_sizes(const struct call *c, const struct fact *x, struct spread *s)
{
    struct dims *ds = c->b->dims;
    const struct spatial *sp = &s->sp;
    for (unsigned i = 0; i < sp->n; i++) {
        int64_t span, around;
        const struct dim *steps = x->shape[2 + i];
        if (!int_sub(sp->kernel[i], 1, &span) || !int_mul(span, sp->dilation[i], &span) ||
            !int_add(span, 1, &span) || !int_add(sp->pads[i], sp->pads[sp->n + i], &around) ||
            !int_sub(span, around, &span))
            return call_fail(c, RILL_LIMIT, "'%s': a window of %lld places, %lld apart", c->e->text,
                             (long long) sp->kernel[i], (long long) sp->dilation[i]);
        if (!sp->same)
            steps = dim_add_int(ds, steps, -1);
        s->shape[2 + i] = dim_mul_int(ds, steps, sp->stride[i]);
        if (!sp->same)
            s->shape[2 + i] = dim_add_int(ds, s->shape[2 + i], span);
    }
    return dims_status(ds, c->b->err);
}

static rill_status spread_read(const struct call *c, uint32_t x, struct spread *s)
{
    const struct fact *f = wire_fact(c->s, x);
    unsigned n;
    TRY(spatial_read(c, x, &s->sp));
    TRY(spatial_list(c, "size", &s->sp, s->sp.kernel));
    TRY(arg_dims(c, "output_shape", s->shape, RANK_MAX, &n));
    if (n && (int) n != f->rank)
        return call_fail(c, RILL_MALFORMED, "'%s': output_shape has %u entries, expected %d",
                         c->e->text, n, f->rank);
    if (!n)
        TRY(spread_sizes(c, f, s));
    for (int k = 0; k < 2; k++) {
        if (n && s->shape[k] != f->shape[k])
            return call_fail(c, RILL_MALFORMED,
                             "'%s': output_shape has another batch or other channels than what is "
                             "spread",
                             c->e->text);
        s->padded[k] = s->shape[k] = f->shape[k];
    }
    TRY(spatial_same(c, &s->sp, s->shape + 2));
    for (unsigned i = 0; i < s->sp.n; i++)
        s->padded[2 + i] =
            dim_add_int(c->b->dims, dim_add_int(c->b->dims, s->shape[2 + i], s->sp.pads[i]),
                        s->sp.pads[s->sp.n + i]);
    return dims_status(c->b->dims, c->b->err);
}

/* Zeros, one plane a channel. */
static rill_status spread_base(const struct call *c, const struct spread *s, enum dtype type,
                               uint32_t *ret)
{
    const struct dim *shape[] = { s->shape[0], s->shape[1], plane_of(c, s->padded + 2, s->sp.n) };
    struct tensor *zero = tensor_new(c->b->arena, type, 0, NULL);
    uint32_t in[2];
    if (!zero)
        return nnef_no_memory(c->b);
    TRY(const_tensor(c->b, c->s->g, zero, &in[0]));
    TRY(const_sizes(c->b, c->s->g, shape, 3, &in[1]));
    return call_node(c, "Expand", NULL, 0, in, 2, ret);
}

/* y without what is around it. */
static rill_status spread_cut(const struct call *c, const struct spread *s, uint32_t *y)
{
    const struct dim *begin[RANK_MAX], *end[RANK_MAX];
    int64_t axes[RANK_MAX];
    uint32_t in[4] = { *y, 0, 0, 0 };
    for (unsigned i = 0; i < s->sp.n; i++) {
        axes[i] = 2 + i;
        begin[i] = dim_int(c->b->dims, s->sp.pads[i]);
        end[i] = dim_add_int(c->b->dims, s->shape[2 + i], s->sp.pads[i]);
    }
    TRY(const_sizes(c->b, c->s->g, begin, s->sp.n, &in[1]));
    TRY(const_sizes(c->b, c->s->g, end, s->sp.n, &in[2]));
    TRY(const_i64(c->b, c->s->g, axes, s->sp.n, &in[3]));
    return call_node(c, "Slice", NULL, 0, in, 4, y);
}

/* Of several numbers of one place the last stands there. */
rill_status build_desample(const struct call *c, struct val *ret)
{
    struct spread s;
    uint32_t x, index, in[3], y;
    TRY(arg_wire(c, "input", &x));
    TRY(spread_read(c, x, &s));
    TRY(places_read(c, x, &index));
    TRY(spread_base(c, &s, wire_fact(c->s, x)->type, &in[0]));
    TRY(flatten(c, index, &in[1]));
    TRY(flatten(c, x, &in[2]));
    TRY(call_node(c, "ScatterElements", &(struct attr) ATTR_I("axis", 2), 1, in, 3, &y));
    TRY(reshape(c, y, s.padded, s.sp.n + 2, &y));
    TRY(spread_cut(c, &s, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}
