/* SPDX-License-Identifier: MIT */
/* Col2Im as a transposed convolution, whose kernel has each column of a block at its place. */
#include "engine/base/checked.h"
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

enum { IN_COLUMNS, IN_IMAGE, IN_BLOCK };

struct fold {
    int axes;
    const struct tensor *block;      /* NULL: data says it */
    int64_t size, size_of[RANK_MAX]; /* of a block, and along each axis */
    int64_t stride[RANK_MAX], dilation[RANK_MAX], pad[2 * RANK_MAX];
};

static rill_status fold_list(struct conversion *l, const char *name, int n, int64_t absent,
                             int64_t *ret)
{
    const struct attr *a = convert_attr(l, name);
    for (int i = 0; i < n; i++)
        ret[i] = absent;
    if (!a)
        return RILL_OK;
    if (a->kind != ATTR_INTS || a->ints.n != (uint32_t) n)
        return convert_fail(l, RILL_MALFORMED, "attribute '%s' wants %d integers", name, n);
    for (int i = 0; i < n; i++) {
        ret[i] = a->ints.v[i];
        if (ret[i] < absent || ret[i] > INT32_MAX)
            return convert_fail(l, RILL_MALFORMED,
                                "attribute '%s' holds %" PRId64 "; it is from %" PRId64
                                " to 2147483647",
                                name, ret[i], absent);
    }
    return RILL_OK;
}

/* From the first to the last place that a block touches. */
static int64_t fold_reach(const struct fold *f, int axis)
{
    return f->dilation[axis] * (f->size_of[axis] - 1) + 1;
}

/* Sizes of 1 or more, one for each axis, and a block lies in them. */
static rill_status fold_image_check(struct conversion *l, const struct fold *f)
{
    const struct tensor *image = convert_value(l, IN_IMAGE);
    if (!image || image->type != DTYPE_I64)
        return RILL_OK; /* known later, or a type that the first sum refuses */
    if (image->rank != 1 || image->dim[0] != f->axes)
        return convert_fail(l, RILL_MALFORMED, "image_shape has %" PRId64 " sizes, block_shape %d",
                            tensor_count(image), f->axes);
    for (int i = 0; i < f->axes; i++) {
        int64_t size = tensor_get_i64(image, image->data, i), all, pads;
        if (size < 1)
            return convert_fail(l, RILL_MALFORMED,
                                "image_shape is %" PRId64 " along axis %d; it is at least 1", size,
                                i);
        if (!int_add(f->pad[i], f->pad[f->axes + i], &pads) || !int_add(size, pads, &all))
            return convert_fail(l, RILL_LIMIT, "image_shape is %" PRId64 " along axis %d", size, i);
        if (all < fold_reach(f, i))
            return convert_fail(l, RILL_MALFORMED,
                                "a block reaches over %" PRId64
                                " places of axis %d, image_shape has %" PRId64 " with its pads",
                                fold_reach(f, i), i, all);
    }
    return RILL_OK;
}

static rill_status fold_block_check(struct conversion *l, struct fold *f)
{
    enum { ELEMENTS_MAX = 1 << 12 }; /* of a block: its kernel is the square */
    f->size = 1;
    for (int i = 0; i < f->axes; i++) {
        f->size_of[i] = tensor_get_i64(f->block, f->block->data, i);
        if (f->size_of[i] < 1)
            return convert_fail(l, RILL_MALFORMED,
                                "block_shape is %" PRId64 " along axis %d; it is at least 1",
                                f->size_of[i], i);
        if (f->size_of[i] > ELEMENTS_MAX || (f->size *= f->size_of[i]) > ELEMENTS_MAX)
            return convert_fail(l, RILL_UNSUPPORTED, "blocks of 1 to %d elements are supported",
                                ELEMENTS_MAX);
    }
    return RILL_OK;
}

/* How many entries a list of the file has for each axis; 0: it is absent. */
static int64_t fold_told(struct conversion *l, const char *name, int64_t each)
{
    const struct attr *a = convert_attr(l, name);
    return a && a->kind == ATTR_INTS ? a->ints.n / each : 0;
}

/* How many sizes a block has: as it, the image or an attribute says. */
static rill_status fold_axes_take(struct conversion *l, struct fold *f)
{
    const struct tensor *block = convert_value(l, IN_BLOCK);
    const int64_t told[] = { block ? tensor_count(block) : convert_size(l, IN_BLOCK, 0),
                             convert_size(l, IN_IMAGE, 0), fold_told(l, "strides", 1),
                             fold_told(l, "dilations", 1), fold_told(l, "pads", 2) };
    int64_t n = 0;
    for (size_t i = 0; n < 1 && i < sizeof told / sizeof *told; i++)
        n = told[i];
    if (n < 1 || n > 3 || (block && (block->type != DTYPE_I64 || block->rank != 1)))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "its block_shape must be a constant of 1 to 3 sizes, or declared with "
                            "so many");
    f->axes = (int) n;
    f->block = block;
    return RILL_OK;
}

static rill_status fold_take(struct conversion *l, struct fold *f)
{
    TRY(convert_inputs_check(l, 3, 3, 0x7));
    TRY(fold_axes_take(l, f));
    TRY(fold_list(l, "strides", f->axes, 1, f->stride));
    TRY(fold_list(l, "dilations", f->axes, 1, f->dilation));
    TRY(fold_list(l, "pads", 2 * f->axes, 0, f->pad));
    if (!f->block)
        return RILL_OK;
    TRY(fold_block_check(l, f));
    return fold_image_check(l, f);
}

/* ---- of a constant block ---- */

/* [size, 1, block..]: each column of a block at its place. */
static uint32_t fold_kernel(struct emitter *e, const struct fold *f)
{
    int64_t dim[RANK_MAX] = { f->size, 1 };
    uint32_t w = WIRE_NONE;
    memcpy(&dim[2], f->size_of, (size_t) f->axes * sizeof *dim);
    struct tensor *t = tensor_new(e->l->r->arena, DTYPE_F32, 2 + f->axes, dim);
    for (int64_t i = 0; t && i < f->size; i++)
        ((float *) t->data)[i * f->size + i] = 1;
    if (e->status == RILL_OK)
        e->status = t ? convert_const(e->l, t, &w) : no_memory(e->l->r);
    return e->status == RILL_OK ? emit(e, "CastLike", w, e->l->in[IN_COLUMNS]) : w;
}

/* What strides leave at the end of each axis. */
static void fold_rest(const struct fold *f, const struct tensor *image, int64_t *ret)
{
    for (int i = 0; i < f->axes; i++)
        ret[i] = (tensor_get_i64(image, image->data, i) + f->pad[i] + f->pad[f->axes + i] -
                  fold_reach(f, i)) %
            f->stride[i];
}

/* Blocks along each axis. */
static uint32_t fold_blocks(struct emitter *e, const struct fold *f)
{
    int64_t more[RANK_MAX];
    unsigned n = (unsigned) f->axes;
    for (int i = 0; i < f->axes; i++)
        more[i] = f->pad[i] + f->pad[f->axes + i] - fold_reach(f, i);
    uint32_t room = emit(e, "Add", e->l->in[IN_IMAGE], emit_ints(e, more, n));
    uint32_t steps = emit(e, "Div", room, emit_ints(e, f->stride, n));
    return emit(e, "Add", steps, emit_int(e, 1));
}

/* [batch times channels, size, blocks..], every size said: columns of another count do not fit. */
static uint32_t fold_columns(struct emitter *e, const struct fold *f)
{
    const uint32_t x = e->l->in[IN_COLUMNS], size = emit_list(e, f->size);
    uint32_t channels = emit(e, "Div", emit_sizes(e, x, 1, 2), size);
    uint32_t images = emit(e, "Mul", emit_sizes(e, x, 0, 1), channels);
    const uint32_t in[] = { x, emit_joined(e, images, size, fold_blocks(e, f)) };
    return emit_with(e, "Reshape", "allowzero", 1, in, 2);
}

static uint32_t fold_convolve(struct emitter *e, const struct fold *f, const int64_t *pad,
                              const int64_t *rest, uint32_t columns, uint32_t kernel)
{
    const uint32_t n = (uint32_t) f->axes, in[] = { columns, kernel };
    struct arena *a = e->l->r->arena;
    const struct attr attr[] = {
        { .name = "strides", .kind = ATTR_INTS, .ints = { n, f->stride } },
        { .name = "dilations", .kind = ATTR_INTS, .ints = { n, f->dilation } },
        { .name = "pads", .kind = ATTR_INTS, .ints = { 2 * n, pad } },
        { .name = "output_padding", .kind = ATTR_INTS, .ints = { n, rest } },
    };
    struct attr own[4];
    for (size_t i = 0; i < 4; i++) {
        own[i] = attr[i];
        own[i].ints.v = arena_copy(a, attr[i].ints.v, attr[i].ints.n * sizeof *attr[i].ints.v);
        if (!own[i].ints.v && e->status == RILL_OK)
            e->status = no_memory(e->l->r);
    }
    return emit_node(e, "ConvTranspose", own, 4, in, 2);
}

static rill_status fold_constant(struct emitter *e, const struct fold *f)
{
    struct conversion *l = e->l;
    int64_t rest[RANK_MAX];
    fold_rest(f, convert_value(l, IN_IMAGE), rest);
    uint32_t y = fold_convolve(e, f, f->pad, rest, fold_columns(e, f), fold_kernel(e, f));
    uint32_t to =
        emit_joined(e, emit_sizes(e, l->in[IN_COLUMNS], 0, 1), emit_list(e, -1), l->in[IN_IMAGE]);
    return emit_output(e, 0, emit(e, "Reshape", y, to));
}

/* ---- of sizes that data says ---- */

/* Each number as it is, held to be at least so much. */
static uint32_t held_from(struct emitter *e, uint32_t list, int64_t least, const char *why)
{
    uint32_t off = emit(e, "Sub", emit(e, "Max", list, emit_int(e, least)), list);
    return emit(e, "Add", list, emit_held(e, off, why));
}

/* As held_from, but for one that nodes compute: it may be made of the length of a stream. */
static uint32_t image_held(struct emitter *e, uint32_t list, int64_t least, const char *why)
{
    const struct wire *w = &e->l->scope->g->wires[e->l->in[IN_IMAGE]];
    return w->node == WIRE_NONE ? held_from(e, list, least, why) : list;
}

/* What a fold is made of, as lists. */
struct fold_sizes {
    uint32_t block, image, size, blocks;
};

static void fold_sizes_put(struct emitter *e, const struct fold *f, struct fold_sizes *ret)
{
    const struct conversion *l = e->l;
    const unsigned n = (unsigned) f->axes;
    const uint32_t one = emit_int(e, 1);
    int64_t pads[RANK_MAX];
    for (int i = 0; i < f->axes; i++)
        pads[i] = f->pad[i] + f->pad[f->axes + i];
    ret->block = held_from(e, l->in[IN_BLOCK], 1, "block_shape is at least 1 along each axis");
    ret->image = image_held(e, l->in[IN_IMAGE], 1, "image_shape is at least 1 along each axis");
    ret->size = emit_with(e, "ReduceProd", "keepdims", 1, &ret->block, 1);
    uint32_t reach =
        emit(e, "Add",
             emit(e, "Mul", emit(e, "Sub", ret->block, one), emit_ints(e, f->dilation, n)), one);
    uint32_t room = emit(e, "Sub", emit(e, "Add", ret->image, emit_ints(e, pads, n)), reach);
    room = image_held(e, room, 0, "a block reaches over more places than image_shape and its pads");
    uint32_t stride = emit_ints(e, f->stride, n), over = emit(e, "Mod", room, stride);
    uint32_t steps = emit(e, "Div", emit(e, "Sub", room, over), stride); /* rounded down */
    ret->blocks = emit(e, "Max", emit(e, "Add", steps, one), emit_int(e, 0));
}

/* [size, 1, block..] */
static uint32_t fold_kernel_of(struct emitter *e, const struct fold_sizes *s)
{
    const uint32_t places = emit_range(e, s->size);
    uint32_t same = emit(e, "Equal", emit(e, "Unsqueeze", places, emit_list(e, 1)), places);
    return emit(e, "Reshape", emit(e, "CastLike", same, e->l->in[IN_COLUMNS]),
                emit_joined(e, s->size, emit_list(e, 1), s->block));
}

/* More than the image behind the last block, of which the image is cut. */
static rill_status fold_late(struct emitter *e, const struct fold *f)
{
    struct fold_sizes s;
    int64_t axes[RANK_MAX], rest[RANK_MAX];
    static const int64_t none[2 * RANK_MAX];
    const uint32_t x = e->l->in[IN_COLUMNS];
    const unsigned n = (unsigned) f->axes;
    for (int i = 0; i < f->axes; i++) {
        axes[i] = 2 + i;
        rest[i] = f->stride[i] - 1;
    }
    fold_sizes_put(e, f, &s);
    uint32_t batch = emit_sizes(e, x, 0, 1),
             channels = emit(e, "Div", emit_sizes(e, x, 1, 2), s.size),
             images = emit(e, "Mul", batch, channels);
    const uint32_t in[] = { x, emit_joined(e, images, s.size, s.blocks) };
    uint32_t columns = emit_with(e, "Reshape", "allowzero", 1, in, 2);
    uint32_t y = fold_convolve(e, f, none, rest, columns, fold_kernel_of(e, &s));
    uint32_t first = emit_ints(e, f->pad, n);
    y = emit(e, "Slice", y, first, emit(e, "Add", first, s.image), emit_ints(e, axes, n));
    return emit_output(e, 0, emit(e, "Reshape", y, emit_joined(e, batch, channels, s.image)));
}

rill_status up_col2im(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    struct fold f = { 0 };
    TRY(fold_take(l, &f));
    const struct tensor *image = convert_value(l, IN_IMAGE);
    return f.block && image && image->type == DTYPE_I64 ? fold_constant(&e, &f) : fold_late(&e, &f);
}
