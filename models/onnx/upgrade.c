/* SPDX-License-Identifier: MIT */
/* Old forms of ops become the newest one: attributes turn into inputs, defaults are spelled out. */
#include "models/onnx/internal.h"
#include "engine/base/checked.h"

#include <math.h>
#include <string.h>

/* Moves a list attribute to input i; absent stays absent. */
static rill_status ints_to_input(struct conversion *l, const char *name, unsigned i)
{
    const struct attr *a = convert_attr(l, name);
    uint32_t w;
    if (!a)
        return RILL_OK;
    if (a->kind != ATTR_INTS)
        return convert_fail(l, RILL_MALFORMED, "attribute '%s' is no list of integers", name);
    TRY(convert_ints(l, a->ints.v, a->ints.n, &w));
    convert_attr_drop(l, name);
    return convert_input(l, i, w);
}

rill_status up_axes_input(struct conversion *l)
{
    return ints_to_input(l, "axes", 1);
}

rill_status up_pad_2(struct conversion *l)
{
    const struct attr *value = convert_attr(l, "value");
    float v = value && value->kind == ATTR_FLOAT ? value->f : 0;
    uint32_t w;
    TRY(ints_to_input(l, "pads", 1));
    convert_attr_drop(l, "value");
    if (v == 0)
        return RILL_OK;
    if (!convert_has(l, 0))
        return convert_fail(l, RILL_MALFORMED, "input 0 is required");
    TRY(convert_float(l, v, l->in[0], &w));
    return convert_input(l, 2, w);
}

rill_status up_slice_1(struct conversion *l)
{
    TRY(ints_to_input(l, "starts", 1));
    TRY(ints_to_input(l, "ends", 2));
    return ints_to_input(l, "axes", 3);
}

rill_status up_split_13(struct conversion *l)
{
    return convert_has(l, 1) ? RILL_OK : convert_set_int(l, "num_outputs", l->n_out);
}

rill_status up_split_2(struct conversion *l)
{
    TRY(ints_to_input(l, "split", 1));
    return up_split_13(l);
}

static rill_status float_to_input(struct conversion *l, const char *name, unsigned i)
{
    const struct attr *a = convert_attr(l, name);
    uint32_t w;
    if (!a)
        return RILL_OK;
    if (!convert_has(l, 0))
        return convert_fail(l, RILL_MALFORMED, "input 0 is required");
    TRY(convert_float(l, a->f, l->in[0], &w));
    convert_attr_drop(l, name);
    return convert_input(l, i, w);
}

rill_status up_clip_6(struct conversion *l)
{
    TRY(float_to_input(l, "min", 1));
    return float_to_input(l, "max", 2);
}

rill_status up_topk_1(struct conversion *l)
{
    int64_t k = convert_int(l, "k", -1);
    uint32_t w;
    if (k < 0)
        return convert_fail(l, RILL_MALFORMED, "attribute 'k' is missing or negative");
    TRY(convert_ints(l, &k, 1, &w));
    convert_attr_drop(l, "k");
    return convert_input(l, 1, w);
}

/* The ways of Upsample and of the first Resize: pixels are not centred. */
static rill_status resize_old(struct conversion *l, const char *near)
{
    if (!convert_has(l, 1))
        return convert_fail(l, RILL_MALFORMED, "input 1 (scales) is missing");
    TRY(convert_set_text(l, "coordinate_transformation_mode", "asymmetric"));
    TRY(convert_set_text(l, "nearest_mode", near));
    uint32_t scales = l->in[1];
    TRY(convert_input(l, 1, WIRE_NONE));
    return convert_input(l, 2, scales);
}

static bool text_is(struct conversion *l, const char *name, const char *text, bool absent)
{
    return convert_attr(l, name) ? !strcmp(convert_text(l, name, ""), text) : absent;
}

struct scale_kinds {
    bool grow, shrink;
};

/* Unknown scales are of both kinds. */
static struct scale_kinds resize_scales(const struct conversion *l)
{
    const struct tensor *t = convert_value(l, 1);
    struct scale_kinds ret = { !t, !t };
    for (int64_t i = 0; t && dtype_is_float(t->type) && i < tensor_count(t); i++) {
        double s = tensor_get_f64(t, t->data, i);
        ret.grow |= s > 1;
        ret.shrink |= s < 1;
    }
    return ret;
}

/* Of opset 10 the nearest is the one below along axes that grow, the one above along those that
 * shrink: where there are both, one after the other. */
rill_status up_resize_10(struct conversion *l)
{
    enum { IN_X, IN_SCALES = 2, N_IN };
    const struct scale_kinds have = resize_scales(l);
    const bool above = have.shrink && text_is(l, "mode", "nearest", true);
    TRY(resize_old(l, above && !have.grow ? "ceil" : "floor"));
    if (!above || !have.grow)
        return RILL_OK;
    uint32_t one, larger, smaller, grown = WIRE_NONE;
    TRY(convert_float(l, 1, l->in[IN_SCALES], &one));
    TRY(convert_binary(l, "Max", l->in[IN_SCALES], one, &larger));
    TRY(convert_binary(l, "Min", l->in[IN_SCALES], one, &smaller));
    const uint32_t in[N_IN] = { l->in[IN_X], WIRE_NONE, larger };
    TRY(convert_emit(l, "Resize", l->attr, l->n_attr, in, N_IN, &grown, 1));
    TRY(convert_input(l, IN_X, grown));
    TRY(convert_input(l, IN_SCALES, smaller));
    return convert_set_text(l, "nearest_mode", "ceil");
}

static bool is_of_pytorch(const struct reader *r)
{
    static const char name[] = "pytorch";
    const ProtobufCBinaryData *by = &r->model->producer_name;
    return r->model->has_producer_name && by->len == sizeof name - 1 &&
        !memcmp(by->data, name, by->len);
}

/* The length of the axis times its scale, rounded down as floats are; an expression of an open one
 * where the scale is a whole number. */
static uint32_t length_scaled(struct emitter *e, uint32_t shape, int64_t axis, float scale)
{
    const uint32_t had = emit(e, "Gather", shape, emit_list(e, axis));
    if (scale >= 0 && scale < 0x1p31f && scale == floorf(scale))
        return emit(e, "Mul", had, emit_list(e, (int64_t) scale));
    const uint32_t x = emit_cast(e, had, DTYPE_F32);
    return emit_cast(e, emit(e, "Floor", emit(e, "Mul", x, emit_float(e, scale, x))), DTYPE_I64);
}

/* Those of all axes that the scales are of, which are known later. */
static uint32_t lengths_scaled(struct emitter *e, uint32_t shape, const struct attr *axes,
                               uint32_t scales)
{
    if (axes)
        shape = emit(e, "Gather", shape, emit_ints(e, axes->ints.v, axes->ints.n));
    const uint32_t longer = emit(e, "Mul", emit_cast(e, shape, DTYPE_F32), scales);
    return emit_cast(e, emit(e, "Floor", longer), DTYPE_I64);
}

/* By align_corners the standard's data spread places over the length as the scale has it, PyTorch,
 * whose exporter writes the scale, over the one that is rounded down, as sizes would. */
rill_status up_resize(struct conversion *l)
{
    enum { IN_X, IN_SCALES = 2, IN_SIZES };
    struct emitter e = { l, RILL_OK };
    const struct attr *axes = convert_attr(l, "axes");
    if (!is_of_pytorch(l->r) || !convert_has(l, IN_SCALES) || convert_has(l, IN_SIZES) ||
        (axes && axes->kind != ATTR_INTS) ||
        !text_is(l, "coordinate_transformation_mode", "align_corners", false))
        return RILL_OK;
    const struct tensor *scales = convert_value(l, IN_SCALES);
    const int64_t n = scales && scales->type == DTYPE_F32 ? tensor_count(scales) : 0;
    uint32_t size[RANK_MAX], sizes;
    const uint32_t shape = emit(&e, "Shape", l->in[IN_X]);
    const bool told = n > 0 && n <= RANK_MAX && (!axes || axes->ints.n == n);
    for (unsigned k = 0; told && k < n; k++)
        size[k] = length_scaled(&e, shape, axes ? axes->ints.v[k] : k,
                                (float) tensor_get_f64(scales, scales->data, k));
    if (told)
        sizes = emit_with(&e, "Concat", "axis", 0, size, (unsigned) n);
    else
        sizes = lengths_scaled(&e, shape, axes, l->in[IN_SCALES]);
    TRY(e.status);
    TRY(convert_input(l, IN_SCALES, WIRE_NONE));
    return convert_input(l, IN_SIZES, sizes);
}

rill_status up_upsample_9(struct conversion *l)
{
    return resize_old(l, "floor");
}

rill_status up_upsample_7(struct conversion *l)
{
    const struct attr *a = convert_attr(l, "scales");
    if (!a || a->kind != ATTR_FLOATS)
        return convert_fail(l, RILL_MALFORMED, "attribute 'scales' is missing");
    int64_t n = a->floats.n;
    uint32_t w = graph_add_const(l->scope->g, arena_printf(l->r->arena, "%s/scales", l->name),
                                 tensor_from_data(l->r->arena, DTYPE_F32, 1, &n, a->floats.v));
    if (w == WIRE_NONE)
        return no_memory(l->r);
    convert_attr_drop(l, "scales");
    TRY(convert_input(l, 1, w));
    return up_upsample_9(l);
}

/* An element type by the format's number becomes the engine's: by name where it wants a choice. */
static rill_status dtype_attr(struct conversion *l, const char *name)
{
    struct attr *a = convert_attr(l, name);
    enum dtype t;
    if (!a)
        return RILL_OK;
    if (a->kind != ATTR_INT)
        return convert_fail(l, RILL_MALFORMED, "attribute '%s' is no element type", name);
    TRY(convert_dtype(l, name, a->i, &t));
    const struct op *op = op_find(l->engine);
    for (const struct attr_spec *s = op ? op->attrs : NULL; s && s->name; s++)
        if (!strcmp(s->name, name) && s->kind == ATTR_CHOICE)
            return convert_set_text(l, name, dtype_name(t));
    return convert_set_int(l, name, t);
}

rill_status up_dtype_attr(struct conversion *l)
{
    static const char *const optional[] = { "output_dtype", "precision" };
    for (unsigned i = 0; i < sizeof optional / sizeof *optional; i++) {
        if (convert_int(l, optional[i], -1) == 0)
            convert_attr_drop(l, optional[i]);
        TRY(dtype_attr(l, optional[i]));
    }
    TRY(dtype_attr(l, "to"));
    TRY(dtype_attr(l, "dtype"));
    return dtype_attr(l, "output_datatype");
}

rill_status up_drop_training(struct conversion *l)
{
    convert_attr_drop(l, "stash_type");
    return RILL_OK;
}

static rill_status refuse_training(const struct conversion *l)
{
    return convert_fail(l, RILL_UNSUPPORTED,
                        "trains (it wants the statistics of a batch); export the model "
                        "for inference");
}

/* Before opset 14 the outputs after the first are those of training, whatever the mode. */
rill_status up_batchnorm_9(struct conversion *l)
{
    for (unsigned i = 1; i < l->n_out; i++)
        if (l->out[i] != WIRE_NONE)
            return refuse_training(l);
    l->n_out = l->n_out > 1 ? 1 : l->n_out;
    convert_attr_drop(l, "momentum");
    return RILL_OK;
}

rill_status up_batchnorm_7(struct conversion *l)
{
    if (convert_int(l, "spatial", 1) != 1)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "attribute 'spatial' is 0 (one mean a value); only one mean "
                            "a channel is supported, as all newer opsets have it");
    convert_attr_drop(l, "spatial");
    return up_batchnorm_9(l);
}

rill_status up_batchnorm_1(struct conversion *l)
{
    if (convert_int(l, "is_test", 0) == 0)
        return refuse_training(l);
    convert_attr_drop(l, "is_test");
    return up_batchnorm_7(l);
}

rill_status up_batchnorm_14(struct conversion *l)
{
    if (convert_int(l, "training_mode", 0) != 0)
        return refuse_training(l);
    convert_attr_drop(l, "training_mode");
    return up_batchnorm_9(l);
}

/* Gives input 1 as many trailing axes of length 1 as put its first axis at `axis` of input 0. */
static rill_status align_axis(struct conversion *l, int64_t axis)
{
    const struct wire *w = l->scope->g->wires;
    int a = w[l->in[0]].fact.rank, b = w[l->in[1]].fact.rank;
    int64_t one[RANK_MAX], n = a - b - axis;
    uint32_t axes, wide;
    if (a < 0 || b < 0)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "the form before opset 7 is supported where the ranks of "
                            "both inputs are declared; export for opset 7 or newer");
    for (int64_t i = 0; i < n; i++)
        one[i] = b + i;
    if (n <= 0)
        return RILL_OK;
    TRY(convert_ints(l, one, (unsigned) n, &axes));
    TRY(convert_binary(l, "Unsqueeze", l->in[1], axes, &wide));
    l->in[1] = wide;
    return RILL_OK;
}

/* `axis` says where the second input's axes lie; with trailing axes that is what broadcasting does
 * today. */
rill_status up_legacy_broadcast(struct conversion *l)
{
    int64_t axis = convert_int(l, "axis", -1);
    if (axis >= 0 && convert_has(l, 0) && convert_has(l, 1))
        TRY(align_axis(l, axis));
    convert_attr_drop(l, "axis");
    convert_attr_drop(l, "broadcast");
    return RILL_OK;
}

rill_status up_prelu_1(struct conversion *l)
{
    if (!convert_has(l, 0) || !convert_has(l, 1))
        return convert_fail(l, RILL_MALFORMED, "takes two inputs");
    const struct fact *slope = &l->scope->g->wires[l->in[1]].fact;
    bool single = slope->rank == 0 || (slope->rank == 1 && dim_is(slope->shape[0], 1));
    return single ? RILL_OK : align_axis(l, 1);
}

rill_status up_gemm_6(struct conversion *l)
{
    convert_attr_drop(l, "broadcast");
    return RILL_OK;
}

rill_status up_dft_17(struct conversion *l)
{
    uint32_t w;
    TRY(convert_int_scalar(l, convert_int(l, "axis", 1), &w));
    convert_attr_drop(l, "axis");
    return convert_input(l, 2, w);
}

rill_status up_scan_8(struct conversion *l)
{
    return convert_fail(l, RILL_UNSUPPORTED,
                        "the form of opset 8 scans batches; export for opset 9 or newer");
}
