/* SPDX-License-Identifier: MIT */
/* Steps as exporters of whole networks write them: pictures of time and frequency, shapes computed
 * from shapes, spliced frames, bodies within bodies. */
#include "tests/pulse/steps.h"

/* [1, 1, T, C] and back, with the sum of the planes. */
static uint32_t to_picture(struct gb *b, const struct stage *s)
{
    return GB(b, "Unsqueeze", "", gb_transpose(b, s->wire, "0,2,1"), gb_ints(b, 1));
}

static void from_picture(struct gb *b, struct stage *s, uint32_t x)
{
    s->wire = gb_transpose(b, GB(b, "ReduceSum", "keepdims=0", x, gb_ints(b, 1)), "0,2,1");
}

static void emit_picture_conv(struct gb *b, struct stage *s, const int *v)
{
    uint32_t w = gb_weights(b, 4, 2, 1, v[0], 3);
    const char *attrs =
        gb_printf(b, "strides=%d,1 dilations=%d,1 pads=%d,1,%d,1", v[1], v[2], v[3], v[4]);
    from_picture(b, s, GB(b, "Conv", attrs, to_picture(b, s), w, gb_weights(b, 1, 2)));
}

/* Upwards in frequency, and in time when s > 1; cut at the end as a causal net does. */
static void emit_picture_deconv(struct gb *b, struct stage *s, const int *v)
{
    uint32_t w = gb_weights(b, 4, 1, 2, v[0], 3);
    const char *attrs = gb_printf(b, "strides=%d,%d pads=0,1,0,1", v[1], v[3] + 1);
    uint32_t y = GB(b, "ConvTranspose", attrs, to_picture(b, s), w, gb_weights(b, 1, 2));
    if (v[2] && v[0] > 1)
        y = gb_slice(b, y, 2, 0, 1 - v[0], 1);
    from_picture(b, s, y);
    s->channels = (s->channels - 1) * (v[3] + 1) + 1;
}

static void emit_picture_pool(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = gb_pad(b, to_picture(b, s), 4, 3, "constant", 1, 1);
    x = GB(b, v[2] ? "MaxPool" : "AveragePool",
           gb_printf(b, "kernel_shape=%d,2 strides=%d,1", v[0], v[1]), x);
    from_picture(b, s, x);
    s->channels++;
}

/* Frames side by side: x[t] to x[t + n - 1]. */
static void emit_splice(struct gb *b, struct stage *s, const int *v)
{
    uint32_t list[4];
    int n = v[0];
    for (int i = 0; i < n; i++)
        list[i] = gb_slice(b, s->wire, 2, i, i == n - 1 ? INT32_MAX : i - n + 1, 1);
    s->wire = gb_op(b, "Concat", "axis=1", list, (unsigned) n);
    s->channels *= n;
}

static void emit_delta(struct gb *b, struct stage *s, const int *v)
{
    (void) v;
    s->wire = GB(b, "Sub", "", gb_slice(b, s->wire, 2, 1, INT32_MAX, 1),
                 gb_slice(b, s->wire, 2, 0, -1, 1));
}

static uint32_t size_of(struct gb *b, uint32_t x, int axis)
{
    return GB(b, "Unsqueeze", "", GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, axis)),
              gb_ints(b, 0));
}

/* view(b, t, c / 1, 1) by sizes read from the shape, and back. */
static void emit_view(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = gb_transpose(b, s->wire, "0,2,1");
    uint32_t shape = GB(b, "Concat", "axis=0", size_of(b, x, 0), size_of(b, x, 1), gb_ints(b, 1),
                        size_of(b, x, 2));
    uint32_t y = GB(b, "Reshape", "", x, shape);
    if (v[0])
        y = GB(b, "Softmax", "axis=-1", y);
    uint32_t back = GB(b, "Concat", "axis=0", size_of(b, y, 0), size_of(b, y, 1), gb_ints(b, -1));
    s->wire = gb_transpose(b, GB(b, "Reshape", "", y, back), "0,2,1");
}

/* The mean of all frames so far. */
static void emit_mean(struct gb *b, struct stage *s, const int *v)
{
    uint32_t t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", s->wire), gb_int(b, 2));
    uint32_t n =
        GB(b, "Cast", "to=1",
           GB(b, "Range", "", gb_int(b, 1), GB(b, "Add", "", t, gb_int(b, 1)), gb_int(b, 1)));
    uint32_t mean = GB(b, "Div", "", GB(b, "CumSum", "", s->wire, gb_int(b, 2)), n);
    s->wire = v[0] ? GB(b, "Sub", "", s->wire, mean) : mean;
}

/* Over channels, both ways: time is the batch. */
static void emit_lstm_across(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ways[] = { "forward", "reverse", "bidirectional" };
    int d = v[0] == 2 ? 2 : 1;
    uint32_t x = gb_transpose(b, s->wire, "1,2,0"), w = gb_weights(b, 3, d, 8, 1),
             r = gb_weights(b, 3, d, 8, 2);
    uint32_t y = GB(b, "LSTM", gb_printf(b, "hidden_size=2 direction=%s", ways[v[0]]), x, w, r);
    s->wire = GB(b, "Unsqueeze", "", GB(b, "ReduceSum", "keepdims=0", y, gb_ints(b, 1, 3)),
                 gb_ints(b, 0));
}

/* A cell whose first state has the batch's size, read from the shape. */
static void emit_gru_sized(struct gb *b, struct stage *s, const int *v)
{
    int c = s->channels;
    uint32_t x = gb_transpose(b, s->wire, "2,0,1"), w = gb_weights(b, 3, 1, 3 * c, c),
             r = gb_weights(b, 3, 1, 3 * c, c);
    uint32_t shape = GB(b, "Concat", "axis=0", gb_ints(b, 1), size_of(b, x, 1), gb_ints(b, c));
    uint32_t h = GB(b, "Expand", "", gb_full(b, (float) v[0] / 4, 1, 1), shape);
    uint32_t y = GB(b, "GRU", gb_printf(b, "hidden_size=%d linear_before_reset=1", c), x, w, r,
                    WIRE_NONE, WIRE_NONE, h);
    s->wire = gb_transpose(b, GB(b, "Squeeze", "", y, gb_ints(b, 1)), "1,2,0");
}

/* Along time, and in each frame along its channels. */
static void emit_nest(struct gb *b, struct stage *s, const int *v)
{
    struct gb body, inner;
    (void) v;
    gb_body(&body, b, "frames");
    uint32_t state = gb_body_input(&body, "state"), x = gb_body_input(&body, "x"); /* [1, C] */
    uint32_t mixed = GB(&body, "Add", "", GB(&body, "Mul", "", state, gb_scalar(&body, 0.5f)), x);
    gb_body(&inner, &body, "channels");
    uint32_t sum = gb_body_input(&inner, "sum"), e = gb_body_input(&inner, "e");
    uint32_t next = GB(&inner, "Tanh", "", GB(&inner, "Add", "", GB(&inner, "Neg", "", sum), e));
    gb_output(&inner, next);
    gb_output(&inner, next);
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_axes = I64S(1), .out_axes = I64S(1));
    struct node *n =
        gb_scan(&body, &inner, &at, (uint32_t[]) { gb_weights(&body, 1, 1), mixed }, 2);
    gb_output(&body, mixed);
    gb_output(&body, n ? n->out[1] : WIRE_NONE);
    const struct gb_scan outer = SCAN_OF(1, 1, 1, .in_axes = I64S(2), .out_axes = I64S(2));
    n = gb_scan(b, &body, &outer, (uint32_t[]) { gb_weights(b, 2, 1, s->channels), s->wire }, 2);
    s->wire = n ? n->out[1] : WIRE_NONE;
}

/* Along channels, with time in the body: a sum, a cell or a pad along it, and a late wire captured
 * from outside. */
static void emit_inside(struct gb *b, struct stage *s, const int *v)
{
    struct gb body;
    uint32_t late = GB(b, "Conv", gb_printf(b, "pads=%d,%d", 2 - v[1], v[1]), s->wire,
                       gb_weights(b, 3, 1, s->channels, 3));
    gb_body(&body, b, "channels");
    uint32_t state = gb_body_input(&body, "state"), x = gb_body_input(&body, "x"),
             other = gb_body_input(&body, "other"), y = x;
    if (v[0] == 1)
        y = GB(&body, "CumSum", "", x, gb_int(&body, 1));
    if (v[0] == 2) {
        uint32_t w = gb_weights(&body, 3, 1, 3, 1), r = gb_weights(&body, 3, 1, 3, 1);
        y = GB(&body, "GRU", "hidden_size=1",
               GB(&body, "Unsqueeze", "", gb_transpose(&body, x, "1,0"), gb_ints(&body, 2)), w, r);
        y = gb_transpose(&body, GB(&body, "Squeeze", "", y, gb_ints(&body, 1, 3)), "1,0");
    }
    if (v[0] == 3)
        y = gb_slice(&body, gb_pad(&body, x, 2, 1, "edge", 2, 0), 1, 0, -2, 1);
    y = GB(&body, "Add", "", y, GB(&body, "Squeeze", "", other, gb_ints(&body, 0)));
    gb_output(&body, state);
    gb_output(&body, GB(&body, "Mul", "", y, state));
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_axes = I64S(1), .out_axes = I64S(1));
    struct node *n =
        gb_scan(b, &body, &at, (uint32_t[]) { gb_full(b, 0.5f, 1, 1), s->wire, late }, 3);
    s->wire = n ? n->out[1] : WIRE_NONE;
}

/* Down by s and up again, with the way round added; the length must be a multiple of s. */
static void emit_unet(struct gb *b, struct stage *s, const int *v)
{
    int c = s->channels, r = v[0];
    uint32_t down =
        GB(b, "Conv", gb_printf(b, "strides=%d", r), s->wire, gb_weights(b, 3, c, c, r));
    uint32_t mid = GB(b, "Conv", gb_printf(b, "pads=%d,%d", 2 - v[1], v[1]), down,
                      gb_weights(b, 3, c, c, 3)),
             up;
    if (v[2])
        up = GB(b, "Resize", "coordinate_transformation_mode=asymmetric nearest_mode=floor", mid,
                WIRE_NONE, gb_floats(b, 3, (const float[]) { 1, 1, (float) r }));
    else
        up = GB(b, "ConvTranspose", gb_printf(b, "strides=%d", r), mid, gb_weights(b, 3, c, c, r));
    s->wire = GB(b, "Add", "", up, s->wire);
}

/* Two ways down to a third of the rate or less, which meet there; and one of them at the output
 * again. */
static void emit_fork(struct gb *b, struct stage *s, const int *v)
{
    int r = v[0];
    uint32_t x = GB(b, "Conv", gb_printf(b, "pads=%d,%d", v[1], v[1]), s->wire,
                    gb_weights(b, 3, s->channels, s->channels, 2 * v[1] + 1));
    uint32_t a = GB(b, "MaxPool", gb_printf(b, "kernel_shape=%d strides=%d", r, r), x);
    uint32_t y = GB(b, "AveragePool", gb_printf(b, "kernel_shape=%d strides=%d", r, r), s->wire);
    s->wire = GB(b, "Concat", "axis=1", GB(b, "Sub", "", y, a), a);
    s->channels *= 2;
}

/* A second input, which comes as it likes; the wire must still be as long as the first. */
static void emit_other(struct gb *b, struct stage *s, const int *v)
{
    uint32_t y = gb_input(b, gb_printf(b, "y%u", b->n_names++), 3, 1, s->channels, GB_TIME);
    uint32_t late = GB(b, "Conv", gb_printf(b, "pads=%d,%d", 3 - v[0], v[0]), y,
                       gb_weights(b, 3, s->channels, s->channels, 4));
    s->wire = v[1] ? GB(b, "Mul", "", late, s->wire) : GB(b, "Concat", "axis=1", s->wire, late);
    s->channels *= v[1] ? 1 : 2;
}

/* clang-format off */
#define TIME_WINDOW { "k", 1, 4, 2 }, { "s", 1, 3, 1 }
/* clang-format on */

const struct step_kind steps_nets[] = {
    { "pconv",
      { TIME_WINDOW, { "d", 1, 3, 1 }, { "l", 0, 4, 0 }, { "r", 0, 2, 0 } },
      emit_picture_conv },
    { "pdeconv", { TIME_WINDOW, { "cut", 0, 1, 1 }, { "up", 0, 1, 0 } }, emit_picture_deconv },
    { "ppool", { TIME_WINDOW, { "max", 0, 1, 0 } }, emit_picture_pool },
    { "splice", { { "n", 1, 3, 2 } }, emit_splice },
    { "delta", { { NULL, 0, 0, 0 } }, emit_delta },
    { "view", { { "softmax", 0, 1, 0 } }, emit_view },
    { "mean", { { "off", 0, 1, 1 } }, emit_mean },
    { "lstmacross", { { "way", 0, 2, 2 } }, emit_lstm_across },
    { "grusized", { { "from", 0, 2, 0 } }, emit_gru_sized },
    { "unet", { { "s", 2, 3, 2 }, { "late", 0, 2, 0 }, { "nearest", 0, 1, 0 } }, emit_unet },
    { "fork", { { "s", 1, 3, 2 }, { "late", 0, 2, 1 } }, emit_fork },
    { "other", { { "late", 0, 3, 1 }, { "mul", 0, 1, 0 } }, emit_other },
    { "nest", { { NULL, 0, 0, 0 } }, emit_nest },
    { "inside", { { "what", 0, 3, 0 }, { "late", 0, 2, 0 } }, emit_inside },
    { NULL, { { NULL, 0, 0, 0 } }, NULL },
};
