/* SPDX-License-Identifier: MIT */
/* Nets over windows of the stream, as window() of a transform and rill_windows with rill_onnx_scan
 * make them: a Frame, and a Scan of the net over what it gives. `net` draws the layers. */
#include "tests/pulse/steps.h"

#define LAYERS_MOST 7
#define CHANNELS_MOST 4

/* The wire is [1, channels, frames]; only at the end it is something else. */
struct net {
    struct gb *b;
    uint32_t wire, seed;
    int channels, frames;
};

static int between(struct net *n, int least, int most)
{
    return least + (int) (gb_random(&n->seed) % (uint32_t) (most - least + 1));
}

/* What a window of `reach` frames gives of what is padded by so many. */
static int frames_of(const struct net *n, int pads, int reach, int stride)
{
    return n->frames + pads < reach ? 0 : (n->frames + pads - reach) / stride + 1;
}

/* Without pads, with some in front, with some at both ends, SAME. */
static const char *pads_draw(struct net *n, int most, int *ret_pads)
{
    const int what = between(n, 0, 7), front = between(n, 0, most), end = between(n, 0, most);
    *ret_pads = what < 4 ? 0 : what < 6 ? front + end : -1;
    if (what < 4)
        return "";
    if (what < 6)
        return gb_printf(n->b, "pads=%d,%d ", front, end);
    return what == 6 ? "auto_pad=SAME_UPPER " : "auto_pad=SAME_LOWER ";
}

static void layer_conv(struct net *n)
{
    const int k = between(n, 1, 4), s = between(n, 0, 2) ? 1 : between(n, 2, 4),
              d = between(n, 0, 2) ? 1 : 2, out = between(n, 1, CHANNELS_MOST);
    int pads;
    const char *pad = pads_draw(n, 3, &pads);
    const int frames = pads < 0 ? (n->frames + s - 1) / s : frames_of(n, pads, (k - 1) * d + 1, s);
    if (!frames)
        return;
    uint32_t w = gb_weights(n->b, 3, out, n->channels, k);
    n->wire = GB(n->b, "Conv", gb_printf(n->b, "%sstrides=%d dilations=%d", pad, s, d), n->wire, w,
                 gb_weights(n->b, 1, out));
    n->channels = out;
    n->frames = frames;
}

/* x beside convolutions of three with a pad at each end. */
static void layer_block(struct net *n)
{
    uint32_t y = n->wire;
    for (int i = between(n, 1, 2); i > 0; i--)
        y = GB(n->b, "Conv", "pads=1,1", y, gb_weights(n->b, 3, n->channels, n->channels, 3));
    if (between(n, 0, 1)) {
        n->wire = GB(n->b, "Add", "", n->wire, y);
        return;
    }
    n->wire = GB(n->b, "Concat", "axis=1", n->wire, y);
    n->wire = GB(n->b, "ReduceMax", "keepdims=1", n->wire, gb_ints(n->b, 1));
    n->channels = 1;
}

static void layer_pool(struct net *n)
{
    const int k = between(n, 1, 3), s = between(n, 1, 2), up = between(n, 0, 3) == 0;
    int pads;
    const char *pad = pads_draw(n, k - 1, &pads);
    if (up)
        pad = "", pads = 0;
    if (n->frames + pads < k && pads >= 0)
        return;
    n->wire =
        GB(n->b, between(n, 0, 1) ? "MaxPool" : "AveragePool",
           gb_printf(n->b, "%skernel_shape=%d strides=%d ceil_mode=%d", pad, k, s, up), n->wire);
    const int count = (n->frames + (pads < 0 ? k - 1 : pads) - k + (up ? s - 1 : 0)) / s + 1;
    if (pads < 0)
        n->frames = (n->frames + s - 1) / s;
    else /* none starts behind the end */
        n->frames = up && (count - 1) * s >= n->frames ? count - 1 : count;
}

static void layer_pointwise(struct net *n)
{
    static const char *const names[] = { "Relu", "Tanh", "Sigmoid" };
    n->wire = GB(n->b, "Mul", "", n->wire, gb_weights(n->b, 2, n->channels, 1));
    n->wire = GB(n->b, names[between(n, 0, 2)], "", n->wire);
}

/* Along another axis than time. */
static void layer_across(struct net *n)
{
    const int what = between(n, 0, 2);
    if (what == 0)
        n->wire = GB(n->b, "Softmax", "axis=1", n->wire);
    if (what == 1)
        n->wire = GB(n->b, "Sub", "", n->wire,
                     GB(n->b, "ReduceMean", "keepdims=1", n->wire, gb_ints(n->b, 1)));
    if (what == 2) {
        uint32_t x = gb_transpose(n->b, n->wire, "0,2,1");
        x = GB(n->b, "LayerNormalization", "axis=-1", x, gb_weights(n->b, 1, n->channels));
        n->wire = gb_transpose(n->b, x, "0,2,1");
    }
}

static void layer_product(struct net *n)
{
    const int out = between(n, 1, CHANNELS_MOST);
    uint32_t x = gb_transpose(n->b, n->wire, "0,2,1");
    x = GB(n->b, "MatMul", "", x, gb_weights(n->b, 2, n->channels, out));
    n->wire = gb_transpose(n->b, x, "0,2,1");
    n->channels = out;
}

/* x[1:-1] beside a convolution of three. */
static void layer_residual(struct net *n)
{
    if (n->frames < 3)
        return;
    uint32_t y = GB(n->b, "Conv", "", n->wire, gb_weights(n->b, 3, n->channels, n->channels, 3));
    uint32_t x = gb_slice(n->b, n->wire, 2, 1, -1, 1);
    n->wire = between(n, 0, 1) ? GB(n->b, "Add", "", x, y) : GB(n->b, "Concat", "axis=1", x, y);
    n->frames -= 2;
    if (n->b->err.status == RILL_OK && between(n, 0, 1))
        n->wire = gb_slice(n->b, n->wire, 1, 0, n->channels, 1);
    n->wire = GB(n->b, "ReduceMax", "keepdims=1", n->wire, gb_ints(n->b, 1));
    n->channels = 1;
}

static void layer_slice(struct net *n)
{
    const int from = between(n, 0, 2), step = between(n, 1, 2), to = n->frames - between(n, 0, 2);
    if (to <= from)
        return;
    n->wire = gb_slice(n->b, n->wire, 2, from, to, step);
    n->frames = (to - from - 1) / step + 1;
}

/* As a picture of one channel, which grows by a row of zeros. */
static void layer_picture(struct net *n)
{
    const int k = between(n, 1, 2);
    if (n->frames < k)
        return;
    uint32_t x = GB(n->b, "Reshape", "", gb_transpose(n->b, n->wire, "0,2,1"),
                    gb_ints(n->b, 1, 1, n->frames, n->channels));
    x = gb_pad(n->b, x, 4, 3, "constant", 0, 1);
    x = GB(n->b, "Conv", "pads=0,0,0,0", x, gb_weights(n->b, 4, 1, 1, k, 2));
    n->frames -= k - 1;
    x = GB(n->b, "Reshape", "", x, gb_ints(n->b, 1, n->frames, n->channels));
    n->wire = gb_transpose(n->b, x, "0,2,1");
}

static void layer_draw(struct net *n)
{
    static void (*const layers[])(struct net *) = { layer_conv,     layer_conv,    layer_pool,
                                                    layer_conv,     layer_across,  layer_pointwise,
                                                    layer_residual, layer_product, layer_slice,
                                                    layer_picture,  layer_block,   layer_block };
    layers[between(n, 0, (int) (sizeof layers / sizeof *layers) - 1)](n);
}

/* [1, count] */
static int net_end(struct net *n)
{
    int count = n->channels * n->frames;
    switch (between(n, 0, 3)) {
    case 0:
        n->wire = GB(n->b, "ReduceMean", "keepdims=0", n->wire, gb_ints(n->b, 2));
        return n->channels;
    case 1:
        n->wire =
            GB(n->b, "Gemm", "", GB(n->b, "Flatten", "", n->wire), gb_weights(n->b, 2, count, 2));
        return 2;
    case 2: n->wire = GB(n->b, "Tanh", "", GB(n->b, "Flatten", "", n->wire)); return count;
    default: n->wire = GB(n->b, "Reshape", "", n->wire, gb_ints(n->b, 1, count)); return count;
    }
}

static int net_emit(struct gb *b, uint32_t x, int channels, int frames, int seed, uint32_t *ret)
{
    struct net n = { .b = b,
                     .wire = x,
                     .seed = 0x9e3779b9u * (uint32_t) (seed + 1),
                     .channels = channels,
                     .frames = frames };
    for (int i = between(&n, 1, LAYERS_MOST); i > 0; i--)
        layer_draw(&n);
    int count = net_end(&n);
    *ret = n.wire;
    return count;
}

static void emit_window(struct gb *b, struct stage *s, const int *v)
{
    const int size = v[0], hop = v[1] < size ? v[1] : size;
    struct gb body;
    uint32_t y;
    uint32_t x = GB(b, "Frame", gb_printf(b, "size=%d hop=%d", size, hop), s->wire);
    const bool inside = v[2] % 2; /* windows are scanned where they lie, and stacked so */
    if (!inside)
        x = gb_transpose(b, x, "2,0,1,3");
    gb_body(&body, b, "net");
    s->channels = net_emit(&body, gb_body_input(&body, "window"), s->channels, size, v[2], &y);
    gb_output(&body, y);
    const struct gb_scan front = { .scans = 1, .outs = 1 },
                         within = SCAN_OF(0, 1, 1, .in_axes = I64S(2), .out_axes = I64S(1));
    struct node *n = gb_scan(b, &body, inside ? &within : &front, &x, 1);
    if (n)
        s->wire = gb_transpose(b, n->out[0], inside ? "0,2,1" : "1,2,0");
}

const struct step_kind steps_windows[] = {
    { "window", { { "size", 1, 18, 9 }, { "hop", 1, 6, 2 }, { "net", 0, 999, 0 } }, emit_window },
    { NULL, { { NULL, 0, 0, 0 } }, NULL },
};
