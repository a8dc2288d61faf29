/* SPDX-License-Identifier: MIT */
/* Matrix products, convolutions, pooling, normalisation. */
#include "engine/base/checked.h"
#include "models/nnef/build.h"

#include <string.h>

rill_status swap_last(const struct call *c, uint32_t x, uint32_t *ret)
{
    int rank = wire_fact(c->s, x)->rank;
    int64_t perm[RANK_MAX];
    if (rank < 2)
        return call_fail(c, RILL_MALFORMED, "'%s': a matrix of rank %d, expected 2 or more",
                         c->e->text, rank);
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return call_node(c, "Transpose", &(struct attr) ATTR_L("perm", perm, (uint32_t) rank), 1, &x, 1,
                     ret);
}

rill_status build_matmul(const struct call *c, struct val *ret)
{
    uint32_t in[2], y;
    bool swap[2];
    TRY(arg_wire(c, "A", &in[0]));
    TRY(arg_wire(c, "B", &in[1]));
    TRY(arg_bool(c, "transposeA", &swap[0]));
    TRY(arg_bool(c, "transposeB", &swap[1]));
    for (int i = 0; i < 2; i++)
        if (swap[i])
            TRY(swap_last(c, in[i], &in[i]));
    TRY(call_node(c, "MatMul", NULL, 0, in, 2, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* ---- windows over the spatial axes ---- */

rill_status spatial_list(const struct call *c, const char *name, const struct spatial *sp,
                         int64_t *ret)
{
    int64_t v[RANK_MAX];
    unsigned n;
    TRY(arg_ints(c, name, v, RANK_MAX, &n));
    unsigned skip = n == sp->n + sp->front ? sp->front : 0;
    if (n != 0 && n - skip != sp->n)
        return call_fail(c, RILL_MALFORMED,
                         "'%s': argument '%s' has %u entries for %u spatial axes", c->e->text, name,
                         n, sp->n);
    for (unsigned i = 0; i < skip; i++)
        if (v[i] != 1)
            return call_fail(c, RILL_UNSUPPORTED,
                             "'%s': argument '%s' must be 1 for the batch and channel axes",
                             c->e->text, name);
    for (unsigned i = 0; i < sp->n; i++)
        ret[i] = n ? v[skip + i] : 1;
    return RILL_OK;
}

static rill_status spatial_pads(const struct call *c, struct spatial *sp)
{
    struct val list;
    TRY(arg_val(c, "padding", &list));
    sp->same = list.kind == VAL_LIST && list.n == 0;
    if (sp->same)
        return RILL_OK;
    unsigned skip = list.kind == VAL_LIST && list.n == sp->n + sp->front ? sp->front : 0;
    if (list.kind != VAL_LIST || list.n - skip != sp->n)
        return call_fail(c, RILL_MALFORMED,
                         "'%s': padding needs a pair (before, after) for each of %u spatial axes",
                         c->e->text, sp->n);
    for (unsigned i = 0; i < sp->n; i++) {
        struct val p = list.list[skip + i];
        if (p.kind != VAL_LIST || p.n != 2 || p.list[0].kind != VAL_INT ||
            p.list[1].kind != VAL_INT)
            return call_fail(c, RILL_MALFORMED, "'%s': padding %u is not a pair of integers",
                             c->e->text, i);
        sp->pads[i] = p.list[0].i;
        sp->pads[sp->n + i] = p.list[1].i;
    }
    return RILL_OK;
}

/* sp: how many axes there are, and in front of them */
static rill_status spatial_lists(const struct call *c, struct spatial *sp)
{
    TRY(arg_text(c, "border", &sp->border));
    TRY(spatial_list(c, "stride", sp, sp->stride));
    TRY(spatial_list(c, "dilation", sp, sp->dilation));
    return spatial_pads(c, sp);
}

rill_status spatial_read(const struct call *c, uint32_t x, struct spatial *sp)
{
    int rank = wire_fact(c->s, x)->rank;
    *sp = (struct spatial) { .n = rank > 2 ? (unsigned) rank - 2 : 0, .front = 2 };
    if (rank < 3)
        return call_fail(
            c, RILL_MALFORMED,
            "'%s': input of rank %d, expected batch, channels and at least one more axis",
            c->e->text, rank);
    return spatial_lists(c, sp);
}

/* Places that a window spans; false: more than can be counted. */
static bool span_of(const struct spatial *sp, unsigned i, int64_t *ret)
{
    return int_sub(sp->kernel[i], 1, ret) && int_mul(*ret, sp->dilation[i], ret) &&
        int_add(*ret, 1, ret);
}

rill_status spatial_same(const struct call *c, struct spatial *sp, const struct dim *const *sizes)
{
    for (unsigned i = 0; sp->same && i < sp->n; i++) {
        int64_t span, n = 0, all = 0;
        const int64_t stride = sp->stride[i];
        bool known = span_of(sp, i, &span) && stride >= 1;
        if (known && dim_is_const(sizes[i])) {
            n = dim_value(sizes[i]);
            known = int_mul((n - 1) / stride, stride, &all) && int_add(all, span, &all) &&
                int_sub(all, n, &all);
        } else if (known && stride == 1) {
            all = span - 1;
        } else {
            return call_fail(c, RILL_UNSUPPORTED,
                             "'%s': how much border '%s' there is along axis %u depends on its "
                             "length, which is open; give padding",
                             c->e->text, sp->border, i + 2);
        }
        if (!known)
            return call_fail(c, RILL_LIMIT, "'%s': a window of %lld places, %lld apart", c->e->text,
                             (long long) sp->kernel[i], (long long) sp->dilation[i]);
        all = all < 0 ? 0 : all;
        sp->pads[i] = all / 2;
        sp->pads[sp->n + i] = all - all / 2;
    }
    sp->same = false;
    return RILL_OK;
}

static bool border_listed(const char *own, const char *border)
{
    const size_t n = strlen(border);
    for (const char *at = own; n && (at = strstr(at, border)); at += n)
        if ((at == own || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

/* What is spread over windows has nothing around it. */
static rill_status border_none(const struct call *c, const struct spatial *sp)
{
    return border_listed("constant ignore", sp->border)
        ? RILL_OK
        : call_fail(c, RILL_UNSUPPORTED, "'%s': border '%.30s', supported: constant", c->e->text,
                    sp->border);
}

rill_status spatial_border(const struct call *c, struct spatial *sp, const char *own, uint32_t *x)
{
    const struct fact f = *wire_fact(c->s, *x);
    const bool ignored = !strcmp(sp->border, "ignore");
    int64_t pads[2 * RANK_MAX] = { 0 };
    uint32_t value;
    bool any = false;
    if (border_listed(own, sp->border))
        return RILL_OK;
    if (!ignored && !border_known(sp->border))
        return call_fail(c, RILL_UNSUPPORTED,
                         "'%s': border '%.30s', supported: constant, ignore, reflect, "
                         "reflect-even, replicate",
                         c->e->text, sp->border);
    TRY(spatial_same(c, sp, f.shape + 2));
    struct tensor *least = tensor_new(c->b->arena, f.type, 0, NULL);
    if (!least)
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < sp->n; i++) {
        pads[2 + i] = sp->pads[i];
        pads[sp->n + 4 + i] = sp->pads[sp->n + i];
        any |= sp->pads[i] || sp->pads[sp->n + i];
        sp->pads[i] = sp->pads[sp->n + i] = 0;
    }
    if (!any)
        return RILL_OK;
    if (ignored)
        tensor_set_f64(least, least->data, 0, dtype_least(f.type));
    TRY(const_tensor(c->b, c->s->g, least, &value));
    return build_border(c, ignored ? "constant" : sp->border, pads, value, x);
}

unsigned spatial_attrs(const struct spatial *sp, struct attr *ret)
{
    static const char *const same = "SAME_UPPER";
    ret[0] = (struct attr) ATTR_L("strides", sp->stride, sp->n);
    ret[1] = (struct attr) ATTR_L("dilations", sp->dilation, sp->n);
    ret[2] = sp->same ? (struct attr) ATTR_S("auto_pad", &same)
                      : (struct attr) ATTR_L("pads", sp->pads, 2 * sp->n);
    return 3;
}

/* [1, C], [1] or a number -> [n] */
static rill_status channel_vector(const struct call *c, const char *name, enum dtype half,
                                  int64_t n, uint32_t *ret)
{
    uint32_t in[2];
    TRY(arg_wire(c, name, &in[0]));
    const struct fact *f = wire_fact(c->s, in[0]);
    if (f->value && tensor_count(f->value) == 1 && f->value->type == DTYPE_F32) {
        float *v = arena_array(c->b->arena, float, (size_t) n);
        if (!v)
            return nnef_no_memory(c->b);
        for (int64_t i = 0; i < n; i++)
            v[i] = *(const float *) f->value->data;
        TRY(const_f32(c->b, c->s->g, 1, &n, v, ret));
        return dtype_is_half(half) ? build_cast(c->b, c->s, c->e->pos, half, ret) : RILL_OK;
    }
    TRY(const_i64(c->b, c->s->g, &n, 1, &in[1]));
    return call_node(c, "Reshape", NULL, 0, in, 2, ret);
}

static rill_status groups_of(const struct call *c, uint32_t x, int64_t *ret)
{
    TRY(arg_int(c, "groups", ret));
    const struct dim *channels = wire_fact(c->s, x)->shape[1];
    if (*ret == 0 && dim_is_const(channels))
        *ret = dim_value(channels); /* depthwise */
    return RILL_OK;
}

static rill_status fixed_dim(const struct call *c, uint32_t w, int axis, int64_t *ret)
{
    const struct fact *f = wire_fact(c->s, w);
    if (axis >= f->rank || !dim_is_const(f->shape[axis]))
        return call_fail(c, RILL_UNSUPPORTED, "'%s': axis %d of the filter has no fixed length",
                         c->e->text, axis);
    *ret = dim_value(f->shape[axis]);
    return RILL_OK;
}

/* in: what is convolved, and by what */
static rill_status conv_border(const struct call *c, struct spatial *sp, uint32_t *in)
{
    static const char own[] = "constant ignore";
    for (unsigned i = 0; !border_listed(own, sp->border) && i < sp->n; i++)
        TRY(fixed_dim(c, in[1], 2 + (int) i, &sp->kernel[i]));
    return spatial_border(c, sp, own, in);
}

rill_status build_conv(const struct call *c, struct val *ret)
{
    struct spatial sp;
    struct attr attrs[4];
    uint32_t in[3], y;
    int64_t groups = 1, channels = 0;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(arg_wire(c, "filter", &in[1]));
    TRY(spatial_read(c, in[0], &sp));
    TRY(conv_border(c, &sp, in));
    TRY(groups_of(c, in[0], &groups));
    TRY(fixed_dim(c, in[1], 0, &channels));
    TRY(channel_vector(c, "bias", wire_fact(c->s, in[0])->type, channels, &in[2]));
    unsigned n = spatial_attrs(&sp, attrs);
    attrs[n++] = (struct attr) ATTR_I("group", groups);
    TRY(call_node(c, "Conv", attrs, n, in, 3, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* [groups * a, b, ..] -> [groups * b, a, ..] */
static rill_status filter_turn(const struct call *c, int64_t groups, uint32_t *filter)
{
    const int rank = wire_fact(c->s, *filter)->rank;
    int64_t split[RANK_MAX + 1], joined[RANK_MAX], order[RANK_MAX + 1];
    for (int i = 0; i <= rank; i++)
        order[i] = i;
    for (int i = 0; i < rank; i++)
        TRY(fixed_dim(c, *filter, i, &joined[i]));
    split[0] = groups;
    split[1] = joined[0] / groups;
    memcpy(split + 2, joined + 1, (size_t) (rank - 1) * sizeof *split);
    const bool one = groups == 1;
    order[one ? 0 : 1] = one ? 1 : 2;
    order[one ? 1 : 2] = one ? 0 : 1;
    joined[0] = groups * joined[1];
    joined[1] = split[1];
    uint32_t pair[2] = { *filter, 0 };
    const struct attr perm = ATTR_L("perm", order, (unsigned) (rank + !one));
    if (one)
        return call_node(c, "Transpose", &perm, 1, pair, 1, filter);
    TRY(const_i64(c->b, c->s->g, split, (unsigned) rank + 1, &pair[1]));
    TRY(call_node(c, "Reshape", NULL, 0, pair, 2, &pair[0]));
    TRY(call_node(c, "Transpose", &perm, 1, pair, 1, &pair[0]));
    TRY(const_i64(c->b, c->s->g, joined, (unsigned) rank, &pair[1]));
    return call_node(c, "Reshape", NULL, 0, pair, 2, filter);
}

/* tract's filters are [out, in / groups, ..] as those of conv; the standard's, and ret's, are
 * [in, out / groups, ..]. */
static rill_status deconv_filter(const struct call *c, uint32_t x, int64_t groups, uint32_t *filter)
{
    int64_t out, in, all;
    if (!comes_of_tract(c->b))
        return RILL_OK;
    TRY(fixed_dim(c, *filter, 0, &out));
    TRY(fixed_dim(c, *filter, 1, &in));
    const struct dim *channels = wire_fact(c->s, x)->shape[1];
    if (groups < 1 || out % groups || !int_mul(in, groups, &all) ||
        (dim_is_const(channels) && dim_value(channels) != all))
        return call_fail(c, RILL_MALFORMED,
                         "'deconv': a filter of %lld by %lld channels in %lld groups; in a text "
                         "that names tract it is [out, in / groups, ..], in others [in, out / "
                         "groups, ..]",
                         (long long) out, (long long) in, (long long) groups);
    return filter_turn(c, groups, filter);
}

/* How much of the output lies behind what the windows reach, as tract means output_shape. */
static rill_status past_windows(const struct call *c, const struct spatial *sp, const uint32_t *in,
                                const int64_t *shape, int64_t *ret)
{
    for (unsigned i = 0; i < sp->n; i++) {
        const struct dim *size = wire_fact(c->s, in[0])->shape[2 + i];
        int64_t kernel, reach;
        TRY(fixed_dim(c, in[1], 2 + (int) i, &kernel));
        if (sp->same || !dim_is_const(size))
            return call_fail(c, RILL_UNSUPPORTED,
                             "'deconv': output_shape of spatial axes alone, as tract writes it, "
                             "needs an input of fixed size and padding");
        if (!int_mul(dim_value(size) - 1, sp->stride[i], &reach) ||
            !int_mul(kernel - 1, sp->dilation[i], &kernel) || !int_add(reach, kernel, &reach) ||
            !int_sub(reach, sp->pads[i], &reach) || !int_sub(reach, sp->pads[sp->n + i], &reach) ||
            !int_add(reach, 1, &reach) || !int_sub(shape[i], reach, &ret[i]) || ret[i] < 0)
            return call_fail(c, RILL_MALFORMED,
                             "'deconv': output_shape says %lld, less than the windows reach",
                             (long long) shape[i]);
    }
    return RILL_OK;
}

/* What output_shape says; *n grows. */
static rill_status output_attr(const struct call *c, const struct spatial *sp, const uint32_t *in,
                               int64_t *shape, struct attr *attrs, unsigned *n)
{
    int64_t past[RANK_MAX];
    unsigned given;
    TRY(arg_ints(c, "output_shape", shape, RANK_MAX, &given));
    if (given == sp->n && given && comes_of_tract(c->b)) {
        TRY(past_windows(c, sp, in, shape, past));
        memcpy(shape, past, given * sizeof *shape);
        attrs[(*n)++] = (struct attr) ATTR_L("output_padding", shape, given);
    } else if (given == sp->n + 2) {
        attrs[(*n)++] = (struct attr) ATTR_L("output_shape", shape + 2, sp->n);
    } else if (given) {
        return call_fail(c, RILL_MALFORMED, "'deconv': output_shape has %u entries, expected %u",
                         given, sp->n + 2);
    }
    return RILL_OK;
}

rill_status build_deconv(const struct call *c, struct val *ret)
{
    struct spatial sp;
    struct attr attrs[5];
    uint32_t in[3], y;
    int64_t groups = 1, channels = 0, shape[RANK_MAX];
    TRY(arg_wire(c, "input", &in[0]));
    TRY(arg_wire(c, "filter", &in[1]));
    TRY(spatial_read(c, in[0], &sp));
    TRY(border_none(c, &sp));
    TRY(groups_of(c, in[0], &groups));
    TRY(deconv_filter(c, in[0], groups, &in[1]));
    TRY(fixed_dim(c, in[1], 1, &channels));
    if (!int_mul(channels, groups, &channels) || channels < 1 || channels > 1 << 24)
        return call_fail(c, RILL_LIMIT, "'deconv': %lld groups", (long long) groups);
    TRY(channel_vector(c, "bias", wire_fact(c->s, in[0])->type, channels, &in[2]));
    unsigned n = spatial_attrs(&sp, attrs);
    attrs[n++] = (struct attr) ATTR_I("group", groups);
    TRY(output_attr(c, &sp, in, shape, attrs, &n));
    TRY(call_node(c, "ConvTranspose", attrs, n, in, 3, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* The transpose of a box: each number is spread over its window. */
rill_status build_debox(const struct call *c, struct val *ret)
{
    struct spatial sp;
    struct attr attrs[4];
    uint32_t in[2], y;
    int64_t channels = 0;
    bool mean;
    struct tensor shape = { .type = DTYPE_F32 }, *ones = NULL;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(spatial_read(c, in[0], &sp));
    TRY(border_none(c, &sp));
    TRY(spatial_list(c, "size", &sp, sp.kernel));
    TRY(arg_bool(c, "normalize", &mean));
    TRY(fixed_dim(c, in[0], 1, &channels));
    shape.rank = (int) sp.n + 2;
    shape.dim[0] = channels;
    shape.dim[1] = 1;
    double volume = 1;
    for (unsigned i = 0; i < sp.n; i++)
        volume *= (double) (shape.dim[2 + i] = sp.kernel[i]);
    TRY(literal_new(c, &shape, &ones));
    for (int64_t i = 0; i < tensor_count(ones); i++)
        ((float *) ones->data)[i] = (float) (mean ? 1 / volume : 1);
    TRY(const_tensor(c->b, c->s->g, ones, &in[1]));
    unsigned n = spatial_attrs(&sp, attrs);
    attrs[n++] = (struct attr) ATTR_I("group", channels);
    TRY(call_node(c, "ConvTranspose", attrs, n, in, 2, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* box without normalize is the mean times the window's volume. */
static rill_status scale_by_volume(const struct call *c, const struct spatial *sp, uint32_t x,
                                   uint32_t *ret)
{
    float volume = 1;
    for (unsigned i = 0; i < sp->n; i++)
        volume *= (float) sp->kernel[i];
    uint32_t in[2] = { x, 0 };
    TRY(const_f32(c->b, c->s->g, 0, NULL, &volume, &in[1]));
    return call_node(c, "Mul", NULL, 0, in, 2, ret);
}

/* Windows over channels or over the batch, too: those are spatial axes behind ones that are put in
 * front; *ret_added: where. */
static rill_status pool_axes(const struct call *c, uint32_t *x, struct spatial *sp,
                             int64_t ret_added[2], unsigned *ret_n)
{
    struct val size;
    TRY(arg_val(c, "size", &size));
    const unsigned rank = (unsigned) wire_fact(c->s, *x)->rank;
    const bool all = size.kind == VAL_LIST && size.n == rank;
    bool wide[2] = { false, false };
    for (unsigned k = 0; all && k < 2 && k < rank; k++)
        wide[k] = size.list[k].kind != VAL_INT || size.list[k].i != 1;
    *ret_n = !all || (rank > 2 && !wide[0] && !wide[1]) ? 0 : rank < 3 || wide[0] ? 2 : 1;
    if (*ret_n == 0)
        return spatial_read(c, *x, sp);
    if (rank + *ret_n > RANK_MAX)
        return call_fail(c, RILL_LIMIT, "'%s': windows over %u axes", c->e->text, rank);
    ret_added[0] = 2 - (int64_t) *ret_n;
    ret_added[1] = 1;
    uint32_t in[2] = { *x, 0 };
    TRY(const_i64(c->b, c->s->g, ret_added, *ret_n, &in[1]));
    TRY(call_node(c, "Unsqueeze", NULL, 0, in, 2, x));
    *sp = (struct spatial) { .n = rank + *ret_n - 2, .front = 2 - *ret_n };
    return spatial_lists(c, sp);
}

/* Zeros around count in a maximum, too; in texts of tract they do not. A sum is the same with zeros
 * around and with nothing. */
rill_status build_pool(const struct call *c, struct val *ret)
{
    struct spatial sp;
    struct attr attrs[6];
    uint32_t x, y, in[2];
    int64_t added[2];
    unsigned n_added;
    bool box = !strcmp(c->row->op, "Box"), max = !strcmp(c->row->op, "MaxPool"), mean = true;
    TRY(arg_wire(c, "input", &x));
    TRY(pool_axes(c, &x, &sp, added, &n_added));
    TRY(spatial_list(c, "size", &sp, sp.kernel));
    if (box)
        TRY(arg_bool(c, "normalize", &mean));
    bool ignore = !strcmp(sp.border, "ignore");
    TRY(spatial_border(c, &sp, max && !comes_of_tract(c->b) ? "ignore" : "constant ignore", &x));
    unsigned n = spatial_attrs(&sp, attrs);
    attrs[n++] = (struct attr) ATTR_L("kernel_shape", sp.kernel, sp.n);
    if (!max)
        attrs[n++] = (struct attr) ATTR_I("count_include_pad", !ignore || !mean);
    TRY(call_node(c, max ? "MaxPool" : "AveragePool", attrs, n, &x, 1, &y));
    if (!mean)
        TRY(scale_by_volume(c, &sp, y, &y));
    if (n_added) {
        in[0] = y;
        TRY(const_i64(c->b, c->s->g, added, n_added, &in[1]));
        TRY(call_node(c, "Squeeze", NULL, 0, in, 2, &y));
    }
    *ret = val_of_wire(y);
    return RILL_OK;
}

rill_status build_batch_norm(const struct call *c, struct val *ret)
{
    static const char *const order[] = { "scale", "offset", "mean", "variance" };
    uint32_t in[5], y;
    int64_t channels = 0;
    double epsilon;
    TRY(arg_wire(c, "input", &in[0]));
    TRY(arg_real(c, "epsilon", &epsilon));
    TRY(fixed_dim(c, in[0], 1, &channels));
    for (int i = 0; i < 4; i++)
        TRY(channel_vector(c, order[i], wire_fact(c->s, in[0])->type, channels, &in[1 + i]));
    TRY(call_node(c, "BatchNormalization", &(struct attr) ATTR_F("epsilon", (float) epsilon), 1, in,
                  5, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}
