/* SPDX-License-Identifier: MIT */
/* Steps padded by as much as the length lacks, and cut to a length that another wire has. */
#include "tests/pulse/steps.h"

#define SIZE_MOST 4

/* i64[1] */
static uint32_t frames_of(struct gb *b, uint32_t x)
{
    return GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_ints(b, 2));
}

enum lacking { BY_MOD, BY_WHOLE_PARTS, BY_WINDOWS, LACKINGS };

/* What T lacks: to a multiple of `size`; or so that windows of `reach` frames every `size` end
 * where it does, as EnCodec has it. */
static uint32_t lacking_frames(struct gb *b, uint32_t x, enum lacking how, int size, int reach)
{
    uint32_t t = frames_of(b, x), by = gb_ints(b, size);
    if (how == BY_MOD)
        return GB(b, "Mod", "", GB(b, "Neg", "", t), by);
    const int over = how == BY_WINDOWS ? reach - size : 0;
    uint32_t past = GB(b, "Sub", "", t, gb_ints(b, over));
    uint32_t parts = GB(b, "Div", "", GB(b, "Add", "", past, gb_ints(b, size - 1)), by);
    return GB(b, "Sub", "", GB(b, "Mul", "", parts, by), past);
}

static uint32_t padded(struct gb *b, uint32_t x, int before, uint32_t behind, int is_edge)
{
    uint32_t pads = GB(b, "Concat", "axis=0", gb_ints(b, 0, 0, before, 0, 0), behind);
    return GB(b, "Pad", is_edge ? "mode=edge" : "", x, pads);
}

static uint32_t cut_to(struct gb *b, uint32_t x, uint32_t end)
{
    return GB(b, "Slice", "", x, gb_ints(b, 0), end, gb_ints(b, 2));
}

/* Strided down behind computed pads, and up again to the length that came, or left there. */
static void emit_whole(struct gb *b, struct stage *s, const int *v)
{
    const int c = s->channels, size = v[0], reach = v[0] + v[1];
    uint32_t lacking = lacking_frames(b, s->wire, (enum lacking) v[2], size, reach);
    uint32_t x = padded(b, s->wire, v[1], lacking, v[3]);
    const char *stride = gb_printf(b, "strides=%d", size);
    uint32_t y = GB(b, "Conv", stride, x, gb_weights(b, 3, c, c, reach));
    if (v[4]) {
        y = GB(b, "ConvTranspose", stride, GB(b, "Tanh", "", y), gb_weights(b, 3, c, c, reach));
        y = GB(b, "Add", "", s->wire, cut_to(b, y, frames_of(b, s->wire)));
    }
    s->wire = y;
}

/* Whole chunks of the padded stream, each seen at once. */
static void emit_chunks(struct gb *b, struct stage *s, const int *v)
{
    const int c = s->channels, size = v[0];
    uint32_t lacking = lacking_frames(b, s->wire, (enum lacking) v[1], size, size);
    uint32_t x = padded(b, s->wire, 0, lacking, 0);
    x = GB(b, "Reshape", "", x, gb_ints(b, 1, c, -1, size));
    x = GB(b, "MatMul", "", x, gb_weights(b, 2, size, size));
    x = v[2] ? GB(b, "Softmax", "axis=-1", x) : GB(b, "Relu", "", x);
    x = GB(b, "Reshape", "", x, gb_ints(b, 1, c, -1));
    s->wire = cut_to(b, x, frames_of(b, s->wire));
}

/* A decoder that gives more frames than came, or fewer: both are cut to the shorter. */
static void emit_shorter(struct gb *b, struct stage *s, const int *v)
{
    const int c = s->channels, size = v[0];
    const char *stride = gb_printf(b, "strides=%d", size);
    uint32_t y = GB(b, "Conv", gb_printf(b, "strides=%d pads=%d,0", size, v[1]), s->wire,
                    gb_weights(b, 3, c, c, size + v[1]));
    y = GB(b, "ConvTranspose", stride, y, gb_weights(b, 3, c, c, size + v[2]));
    uint32_t end = GB(b, "Min", "", frames_of(b, s->wire), frames_of(b, y));
    s->wire = GB(b, "Add", "", cut_to(b, s->wire, end), cut_to(b, y, end));
}

/* Each frame is the one before it; first come zeros, or ones, of the shape of the first frames. */
static void emit_shift(struct gb *b, struct stage *s, const int *v)
{
    uint32_t shape = GB(b, "Shape", "", gb_slice(b, s->wire, 2, 0, v[0], 1)),
             first = v[1] ? GB(b, "Expand", "", gb_scalar(b, 1), shape)
                          : GB(b, "ConstantOfShape", "", shape);
    s->wire = GB(b, "Concat", "axis=2", first, gb_slice(b, s->wire, 2, 0, -v[0], 1));
}

#define SIZE                                                                                       \
    {                                                                                              \
        "s", 1, SIZE_MOST, 2                                                                       \
    }

/* clang-format off */
const struct step_kind steps_lengths[] = {
    { "whole", { SIZE, { "more", 0, 3, 0 }, { "lacks", 0, LACKINGS - 1, 0 }, { "edge", 0, 1, 0 },
      { "up", 0, 1, 1 } }, emit_whole },
    { "chunks", { SIZE, { "lacks", 0, BY_WHOLE_PARTS, 0 }, { "softmax", 0, 1, 0 } }, emit_chunks },
    { "shift", { { "by", 1, 3, 1 }, { "ones", 0, 1, 0 } }, emit_shift },
    { "shorter", { SIZE, { "before", 0, 2, 0 }, { "more", 0, 3, 0 } }, emit_shorter },
    { NULL, { { NULL, 0, 0, 0 } }, NULL },
};
/* clang-format on */
