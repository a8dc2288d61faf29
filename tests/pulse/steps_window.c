/* SPDX-License-Identifier: MIT */
/* Steps that see a window of time, or add to its ends. */
#include "tests/pulse/steps.h"

static const char *const auto_pads[] = { "", " auto_pad=SAME_UPPER", " auto_pad=SAME_LOWER",
                                         " auto_pad=VALID" };

/* "kernel_shape=.. strides=.. dilations=.. pads=.. auto_pad=.." of v = { k, s, d, l, r, auto }. */
static const char *window_text(struct gb *b, const int *v)
{
    return gb_printf(b, "kernel_shape=%d strides=%d dilations=%d%s%s", v[0], v[1], v[2],
                     auto_pads[v[5]], v[5] ? "" : gb_printf(b, " pads=%d,%d", v[3], v[4]));
}

#define WINDOW_PARAMS(pad)                                                                         \
    { "k", 1, 4, 1 }, { "s", 1, 3, 1 }, { "d", 1, 3, 1 }, { "l", 0, pad, 0 },                      \
    {                                                                                              \
        "r", 0, pad, 0                                                                             \
    }

/* ---- windows ---- */

static void emit_conv(struct gb *b, struct stage *s, const int *v)
{
    int group = v[6] ? s->channels : 1;
    uint32_t w = gb_weights(b, 3, s->channels, s->channels / group, v[0]);
    s->wire = GB(b, "Conv", gb_printf(b, "%s group=%d", window_text(b, v), group), s->wire, w,
                 gb_weights(b, 1, s->channels));
}

static void emit_deconv(struct gb *b, struct stage *s, const int *v)
{
    int group = v[6] ? s->channels : 1;
    uint32_t w = gb_weights(b, 3, s->channels, s->channels / group, v[0]),
             bias = gb_weights(b, 1, s->channels);
    s->wire = GB(b, "ConvTranspose",
                 gb_printf(b, "%s group=%d output_padding=%d", window_text(b, v), group, v[7]),
                 s->wire, w, bias);
}

static void emit_max(struct gb *b, struct stage *s, const int *v)
{
    uint32_t y =
        GB(b, "MaxPool", gb_printf(b, "%s ceil_mode=%d", window_text(b, v), v[6]), s->wire);
    s->wire = GB(b, "Max", "", y,
                 gb_scalar(b, -1e4f)); /* a window of padding alone gives minus infinity */
}

static void emit_average(struct gb *b, struct stage *s, const int *v)
{
    s->wire =
        GB(b, "AveragePool",
           gb_printf(b, "%s count_include_pad=%d ceil_mode=%d", window_text(b, v), !v[6], v[7]),
           s->wire);
}

static void emit_lp(struct gb *b, struct stage *s, const int *v)
{
    s->wire = GB(b, "LpPool", gb_printf(b, "%s p=%d", window_text(b, v), v[6]), s->wire);
}

static void emit_conv2d(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = GB(b, "Unsqueeze", "", s->wire, gb_ints(b, 1)),
             w = gb_weights(b, 4, 2, 1, 3, v[0]);
    x = GB(b, "Conv",
           gb_printf(b, "strides=1,%d dilations=1,%d pads=1,%d,1,%d", v[1], v[2], v[3], v[4]), x,
           w);
    s->wire = GB(b, "ReduceSum", "keepdims=0", x, gb_ints(b, 1));
}

static void emit_slice(struct gb *b, struct stage *s, const int *v)
{
    s->wire = gb_slice(b, s->wire, 2, v[0], v[1] < 0 ? v[1] : INT32_MAX, v[2]);
}

/* x[:, :, from:T - off], sizes read from the shape. */
static void emit_crop(struct gb *b, struct stage *s, const int *v)
{
    uint32_t t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", s->wire), gb_ints(b, 2));
    uint32_t end = GB(b, "Sub", "", t, gb_ints(b, v[1]));
    s->wire = GB(b, "Slice", "", s->wire, gb_ints(b, v[0]), end, gb_ints(b, 2), gb_ints(b, v[2]));
}

static void emit_frame(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ends[] = { "drop", "cover", "flush" };
    uint32_t f =
        GB(b, "Frame",
           gb_printf(b, "size=%d hop=%d before=%d end=%s", v[0], v[1], v[2], ends[v[3]]), s->wire);
    f = GB(b, "Mul", "", f, gb_weights(b, 1, v[0]));
    s->wire = GB(b, "ReduceSum", "keepdims=0", f, gb_ints(b, 3));
}

static void emit_overlap(struct gb *b, struct stage *s, const int *v)
{
    static const char *const tails[] = { "complete", "full" };
    uint32_t f =
        GB(b, "Frame", gb_printf(b, "size=%d hop=%d before=%d", v[0], v[1], v[2]), s->wire);
    f = GB(b, "Mul", "", f, gb_weights(b, 1, v[0]));
    s->wire = GB(b, "OverlapAdd", gb_printf(b, "hop=%d tail=%s", v[1], tails[v[3]]), f);
}

static void emit_stft(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = gb_slice(b, s->wire, 1, 0, 1, 1);
    x = gb_transpose(b, x, "0,2,1");
    x = GB(b, "STFT", "onesided=1", x, gb_int(b, v[1]), gb_weights(b, 1, v[0]), gb_int(b, v[0]));
    x = GB(b, "ReduceSum", "keepdims=0", x, gb_ints(b, 3));
    s->wire = gb_transpose(b, x, "0,2,1");
    s->channels = v[0] / 2 + 1;
}

/* ---- ends ---- */

static void emit_pad(struct gb *b, struct stage *s, const int *v)
{
    static const char *const modes[] = { "constant", "edge", "reflect" };
    s->wire = gb_pad(b, s->wire, 3, 2, modes[v[0]], v[1], v[2]);
}

static void emit_concat(struct gb *b, struct stage *s, const int *v)
{
    uint32_t list[3];
    unsigned n = 0;
    if (v[0])
        list[n++] = gb_weights(b, 3, 1, s->channels, v[0]);
    list[n++] = s->wire;
    if (v[1])
        list[n++] = gb_weights(b, 3, 1, s->channels, v[1]);
    s->wire = gb_op(b, "Concat", "axis=2", list, n);
}

const struct step_kind steps_window[] = {
    { "conv", { WINDOW_PARAMS(4), { "auto", 0, 3, 0 }, { "deep", 0, 1, 0 } }, emit_conv },
    { "conv2d", { WINDOW_PARAMS(4) }, emit_conv2d },
    { "max", { WINDOW_PARAMS(1), { "auto", 0, 3, 0 }, { "ceil", 0, 1, 0 } }, emit_max },
    { "average",
      { WINDOW_PARAMS(1), { "auto", 0, 3, 0 }, { "without", 0, 1, 0 }, { "ceil", 0, 1, 0 } },
      emit_average },
    { "lp", { WINDOW_PARAMS(1), { "auto", 0, 3, 0 }, { "p", 1, 3, 2 } }, emit_lp },
    { "slice", { { "from", 0, 5, 0 }, { "to", -4, 0, 0 }, { "step", 1, 3, 1 } }, emit_slice },
    { "crop", { { "from", 0, 3, 0 }, { "off", 0, 5, 1 }, { "step", 1, 2, 1 } }, emit_crop },
    { "frame",
      { { "size", 1, 6, 4 }, { "hop", 1, 4, 2 }, { "before", 0, 4, 0 }, { "end", 0, 2, 0 } },
      emit_frame },
    { "overlap",
      { { "size", 2, 6, 4 }, { "hop", 1, 2, 2 }, { "before", 0, 4, 0 }, { "tail", 0, 1, 0 } },
      emit_overlap },
    { "stft", { { "size", 4, 8, 4 }, { "hop", 1, 4, 2 } }, emit_stft },
    { "pad", { { "mode", 0, 2, 0 }, { "l", 0, 5, 0 }, { "r", 0, 5, 0 } }, emit_pad },
    { "concat", { { "l", 0, 4, 0 }, { "r", 0, 4, 0 } }, emit_concat },
    { "deconv",
      { WINDOW_PARAMS(2), { "auto", 0, 3, 0 }, { "deep", 0, 1, 0 }, { "adj", 0, 2, 0 } },
      emit_deconv },
    { NULL, { { NULL, 0, 0, 0 } }, NULL },
};
