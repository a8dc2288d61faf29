/* SPDX-License-Identifier: MIT */
/* com.microsoft.nchwc: what ONNX Runtime writes at its levels 'layout' and 'all'. Channels lie in
 * blocks of 8 or 16, and weights in the order of those blocks; read, they lie as everywhere.
 *
 * A file does not say how large its blocks are. They are told from channels that were filled up to
 * a whole block, or that would have been; where none was, the metadata may say nchwc_block_size. */
#include "models/onnx/internal.h"

#include <string.h>

enum { SMALL = 8, LARGE = 16 };

static bool is_text(ProtobufCBinaryData have, const char *text)
{
    return have.len == strlen(text) && !memcmp(have.data, text, have.len);
}

static bool is_blocked(const struct outline_node *n)
{
    return is_text(n->pb->domain, "com.microsoft.nchwc");
}

static bool is_op(const struct outline_node *n, const char *op)
{
    return is_blocked(n) && !strcmp(n->op, op);
}

static int64_t int_of(const struct outline_node *n, const char *name, int64_t absent)
{
    for (size_t i = 0; i < n->pb->n_attribute; i++) {
        const Onnxpb__Attribute *a = n->pb->attribute[i];
        if (is_text(a->name, name))
            return a->i;
    }
    return absent;
}

static const struct outline_node *maker_of(const struct outline *o, const char *value)
{
    for (uint32_t i = 0; i < o->n_nodes; i++)
        for (uint32_t k = 0; k < o->nodes[i].n_out; k++)
            if (!strcmp(o->nodes[i].out[k], value))
                return &o->nodes[i];
    return NULL;
}

static const Onnxpb__Tensor *weights_of(const struct outline *o, const struct outline_node *conv)
{
    const uint32_t *i = conv->n_in > 1 ? map_get(&o->constant, conv->in[1]) : NULL;
    const Onnxpb__Tensor *t = i ? o->pb->initializer[*i] : NULL;
    return t && t->n_dims == 4 ? t : NULL;
}

/* What one Conv says of the size; 0: nothing. */
static int conv_tells(const struct outline *o, const struct outline_node *conv)
{
    const Onnxpb__Tensor *w = weights_of(o, conv);
    const struct outline_node *from = conv->n_in ? maker_of(o, conv->in[0]) : NULL;
    const bool plain = !from || is_op(from, "ReorderOutput");
    if (!w)
        return 0;
    if (w->dims[0] % LARGE == SMALL) /* not filled up to 16 */
        return SMALL;
    if (int_of(conv, "group", 1) != 1)
        return 0;
    if (plain && w->dims[1] >= SMALL && w->dims[1] < LARGE) /* too few channels for a block */
        return LARGE;
    return !plain && is_blocked(from) && w->dims[1] % LARGE == SMALL ? SMALL : 0;
}

/* Channels that are cut off were filled up by less than a block. */
static int cut_tells(const struct outline *o, const struct outline_node *cut)
{
    const struct outline_node *conv = cut;
    for (uint32_t i = 0; conv && !is_op(conv, "Conv") && i < o->n_nodes; i++)
        conv = conv->n_in && is_blocked(conv) ? maker_of(o, conv->in[0]) : NULL;
    const Onnxpb__Tensor *w = conv && is_op(conv, "Conv") ? weights_of(o, conv) : NULL;
    return w && w->dims[0] - int_of(cut, "channels", 0) >= SMALL ? LARGE : 0;
}

/* What the metadata say; 0: nothing. */
static int said(const Onnxpb__Model *m)
{
    for (size_t i = 0; m && i < m->n_metadata_props; i++)
        if (is_text(m->metadata_props[i]->key, "nchwc_block_size"))
            return is_text(m->metadata_props[i]->value, "8") ? SMALL
                : is_text(m->metadata_props[i]->value, "16") ? LARGE
                                                             : -1;
    return 0;
}

rill_status nchwc_origin_refuse(const struct conversion *l)
{
    const struct outline *o = l->scope->from;
    for (uint32_t i = 0; i < o->n_nodes; i++)
        if (is_blocked(&o->nodes[i]))
            return convert_fail(l, RILL_UNSUPPORTED,
                                "the file has channels in blocks, too (node '%.80s'): such weights "
                                "were turned around as if they had none; optimise without the "
                                "levels 'layout' and 'all'",
                                o->nodes[i].name);
    return RILL_OK;
}

static rill_status block_find(struct conversion *l, int *ret)
{
    const struct outline *o = l->scope->from;
    int size = said(l->r->model);
    bool apart = size < 0;
    for (uint32_t i = 0; i < o->n_nodes; i++) {
        const struct outline_node *n = &o->nodes[i];
        int told = is_op(n, "Conv")     ? conv_tells(o, n)
            : is_op(n, "ReorderOutput") ? cut_tells(o, n)
                                        : 0;
        apart |= told && size && told != size;
        size = told ? told : size;
    }
    if (apart)
        return convert_fail(l, RILL_MALFORMED, "blocks of 8 channels and of 16 in one file");
    if (!size)
        return convert_fail(
            l, RILL_UNSUPPORTED,
            "the file does not say whether its blocks are of 8 or of 16 channels, as the machine "
            "was that wrote it: write it at the level 'extended' instead of 'layout' or 'all', or "
            "say nchwc_block_size in its metadata");
    *ret = size;
    return RILL_OK;
}

/* Weights as [out, in, height, width]. In the file: blocks of outputs, of inputs where they fill
 * blocks, places, inputs and outputs within their blocks. */
static void weights_put(const struct tensor *from, int block, struct tensor *to)
{
    const float *x = from->data;
    const int64_t in = to->dim[1], places = to->dim[2] * to->dim[3];
    const int64_t inner = in >= block ? block : 1;
    for (int64_t o = 0; o < to->dim[0]; o += block)
        for (int64_t i = 0; i < in; i += inner)
            for (int64_t p = 0; p < places; p++)
                for (int64_t ii = 0; ii < inner; ii++)
                    for (int64_t oo = 0; oo < block; oo++)
                        ((float *) to->data)[((o + oo) * in + i + ii) * places + p] = *x++;
}

rill_status up_nchwc_conv(struct conversion *l)
{
    int block = 0;
    TRY(convert_inputs_check(l, 2, 4, 0x3));
    TRY(block_find(l, &block));
    const struct tensor *w = l->scope->g->wires[l->in[1]].fact.value;
    if (!w || w->type != DTYPE_F32 || w->rank != 4 || w->dim[0] % block ||
        (w->dim[1] >= block && w->dim[1] % block))
        return convert_fail(l, RILL_MALFORMED,
                            "its weights are no constant of f32 in blocks of %d channels", block);
    struct tensor *plain = tensor_new(l->r->arena, w->type, w->rank, w->dim);
    if (!plain)
        return no_memory(l->r);
    weights_put(w, block, plain);
    TRY(convert_const(l, plain, &l->in[1]));
    return up_fused_conv(l);
}

static rill_status channels_turned(struct conversion *l, bool back, uint32_t x, uint32_t *ret)
{
    static const int64_t in[] = { 0, 3, 1, 2 }, out[] = { 0, 2, 3, 1 };
    const struct attr perm = { .name = "perm", .kind = ATTR_INTS, .ints = { 4, back ? out : in } };
    return convert_emit(l, "Transpose", &perm, 1, &x, 1, ret, 1);
}

/* Channels behind which zeros fill the last block, as the weights that read them have it. */
static uint32_t channels_filled(struct emitter *e, uint32_t x, int block)
{
    uint32_t channels = emit_sizes(e, x, 1, 2), size = emit_list(e, block);
    uint32_t over = emit(e, "Add", channels, emit_list(e, block - 1));
    uint32_t all = emit(e, "Mul", emit(e, "Div", over, size), size);
    uint32_t none = emit_list(e, 0, 0, 0, 0, 0), behind = emit_list(e, 0, 0);
    return emit(e, "Pad", x, emit_joined(e, none, emit(e, "Sub", all, channels), behind));
}

rill_status up_reorder_input(struct conversion *l)
{
    struct emitter e = { l, RILL_OK };
    int block = 0;
    uint32_t y = l->in[0];
    TRY(convert_inputs_check(l, 1, 1, 0x1));
    TRY(block_find(l, &block));
    if (convert_int(l, "channels_last", 0))
        TRY(channels_turned(l, false, l->in[0], &y));
    y = channels_filled(&e, y, block);
    return e.status == RILL_OK ? convert_finish(l, y) : e.status;
}

rill_status up_reorder_output(struct conversion *l)
{
    const int64_t zero = 0, axis = 1, channels = convert_int(l, "channels", 0);
    uint32_t in[4], y = WIRE_NONE;
    TRY(convert_inputs_check(l, 1, 1, 0x1));
    if (channels < 1)
        return convert_fail(l, RILL_MALFORMED, "attribute 'channels' is %lld, expected 1 or more",
                            (long long) channels);
    in[0] = l->in[0];
    TRY(convert_ints(l, &zero, 1, &in[1]));
    TRY(convert_ints(l, &channels, 1, &in[2]));
    TRY(convert_ints(l, &axis, 1, &in[3]));
    TRY(convert_emit(l, "Slice", NULL, 0, in, 4, &y, 1));
    if (convert_int(l, "channels_last", 0))
        TRY(channels_turned(l, true, y, &y));
    return convert_finish(l, y);
}

/* Its scales are whole numbers. */
rill_status up_nchwc_upsample(struct conversion *l)
{
    static const char *const nearest = "floor";
    const struct attr *a = convert_attr(l, "scales");
    TRY(convert_inputs_check(l, 1, 1, 0x1));
    if (!a || a->ints.n != 4)
        return convert_fail(l, RILL_MALFORMED,
                            "attribute 'scales' is missing, or has not 4 numbers");
    struct tensor *t = tensor_new(l->r->arena, DTYPE_F32, 1, (const int64_t[]) { 4 });
    if (!t)
        return no_memory(l->r);
    for (int i = 0; i < 4; i++)
        ((float *) t->data)[i] = (float) a->ints.v[i];
    const struct attr *mode = convert_attr(l, "mode"),
                      *coords = convert_attr(l, "coordinate_transformation_mode");
    struct attr attrs[3] = {
        { .name = "nearest_mode", .kind = ATTR_STRINGS, .strings = { 1, &nearest } }
    };
    unsigned n = 1;
    if (mode)
        attrs[n++] = *mode;
    if (coords)
        attrs[n++] = *coords;
    uint32_t in[3] = { l->in[0], WIRE_NONE, WIRE_NONE }, y = WIRE_NONE;
    TRY(convert_const(l, t, &in[2]));
    TRY(convert_emit(l, "Resize", attrs, n, in, 3, &y, 1));
    return convert_finish(l, y);
}
