/* SPDX-License-Identifier: MIT */
/* Known hard cases of streaming, one a row: a chain of steps, a length and a pulse. Each is tried
 * at that length and around it, at that pulse and others; the delays of well-known shapes are
 * numbers to be met. */
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <stdio.h>
#include <string.h>

struct row {
    const char *name, *chain;
    int length, pulse;
    int delay;           /* of the output in its frames; -1: not stated */
    const char *refusal; /* words of the message; NULL: streams */
    bool nan_first;
};

#define ANY (-1)

static const struct row rows[] = {
    /* one window */
    { "conv k3 valid", "1: conv k=3", 8, 4, 2, NULL, false },
    { "a fused layer of which one output is left", "1: bias; shuffle; stft size=6", 8, 9, 3, NULL,
      false },
    { "causal conv k3", "1: conv k=3 l=2", 8, 4, 0, NULL, false },
    { "centred conv k3", "1: conv k=3 l=1 r=1", 8, 4, 1, NULL, false },
    { "pad one in front, pulse 1", "1: pad l=1", 1, 1, 0, NULL, false },
    { "pad one in front, pulse 2", "1: pad l=1", 2, 2, 0, NULL, false },
    { "crop", "1: slice from=1 to=-2", 9, 2, ANY, NULL, false },
    { "crop longer than a pulse", "1: slice from=2 to=-1", 4, 1, ANY, NULL, false },
    { "pad both ends", "2: pad l=2 r=2", 5, 2, ANY, NULL, false },
    /* 1 where the pad is a step of its own */
    { "stride 2, k 3, pad 2 and 1, fused", "2: pad l=2 r=1; conv k=3 s=2", 9, 4, 0, NULL, false },
    { "stride 2, k 3, pads 2 and 1 of its own", "2: conv k=3 s=2 l=2 r=1", 9, 4, ANY, NULL, false },
    /* convolution after convolution */
    { "conv_plus_conv 1", "1: conv; conv k=2 d=2", 7, 1, 2, NULL, false },
    { "conv_plus_conv 2", "1: conv s=2 auto=1; conv", 10, 2, 0, NULL, false },
    { "conv_plus_conv 3", "1: conv; conv k=2 auto=1", 10, 1, 1, NULL, false },
    { "conv_plus_conv 4", "1: conv; conv k=2 s=2 auto=1", 4, 2, 0, NULL, false },
    { "conv_plus_conv 7", "1: conv k=2 d=2; conv s=2", 4, 4, 1, NULL, false },
    { "same_upper k2", "1: conv k=2 auto=1", 4, 1, 1, NULL, false },
    { "same_lower k2", "1: conv k=2 auto=2", 4, 1, 0, NULL, false },
    { "k2 s2 pad 1 in front", "1: conv k=2 s=2 l=1", 4, 2, 0, NULL, false },
    { "three", "1: conv k=2 d=2; conv k=3; conv k=2 l=1", 5, 1, 4, NULL, false },
    { "three with strides", "1: conv k=2; conv; conv s=2 d=2", 4, 2, ANY, NULL, false },
    { "SAME with a stride and an odd kernel", "1: conv k=3 s=2 auto=1", 9, 2, ANY,
      "SAME padding with stride 2", false },
    { "the same with an even length", "1x2: conv k=3 s=2 auto=1", 5, 2, ANY, NULL, false },
    { "SAME with stride 3, length a multiple", "2x3: conv k=4 s=3 auto=2", 4, 3, ANY, NULL, false },
    { "deep", "3: conv k=3 l=2 deep=1; conv k=3 d=2 l=4 deep=1; conv", 11, 3, 0, NULL, false },
    { "the last of long frames cut off", "1: frame size=4096 hop=4096; slice to=-3", 40000, 100,
      ANY, NULL, false },
    { "wavenet shape", "2: conv k=3; conv k=3 d=2; conv k=3 d=4; conv k=3 d=8; conv k=3 d=16", 200,
      8, 62, NULL, false },
    { "TDNN shape", "2: conv k=5; conv k=3; conv k=3 s=3; conv k=3; conv k=3", 100, 24, 6, NULL,
      false },
    { "TDNN-LSTM shape, up to the first cell", "2: conv k=5; conv k=3; conv k=3 s=3; lstm", 100, 24,
      2, NULL, false },
    { "TDNN-LSTM shape", "2: conv k=5; conv k=3; conv k=3 s=3; lstm; conv k=3; conv k=3; lstm", 100,
      24, 6, NULL, false },
    /* downsampling after a delay: from, step */
    { "downsample 1", "1: slice step=2; slice from=1", 3, 2, ANY, NULL, false },
    { "downsample 2", "1: slice from=1; slice step=2", 3, 2, 0, NULL, false },
    { "downsample 3", "1: slice from=1 step=2", 5, 2, ANY, NULL, false },
    { "downsample 4", "1: slice from=1; slice step=2", 9, 2, ANY, NULL, false },
    { "downsample 5", "1: slice from=4", 6, 1, 4, NULL, false },
    { "downsample 6", "1: slice from=1 step=2", 4, 2, ANY, NULL, false },
    { "downsample 7", "1: slice from=1; slice from=1 step=2", 3, 2, ANY, NULL, false },
    { "downsample 8", "1: slice from=4; slice from=0 step=1", 6, 1, ANY, NULL, false },
    /* pooling after a delay */
    { "pool 1", "1: max k=2", 5, 2, 1, NULL, false },
    { "pool 2", "1: max s=2", 3, 2, 0, NULL, false },
    { "pool 3", "1: slice from=1; max s=2", 2, 2, 0, NULL, false },
    { "pool 4", "1: max k=2", 2, 1, 1, NULL, false },
    { "pool 5", "1: slice from=1; max k=3 s=2", 6, 2, ANY, NULL, true },
    { "pool 6", "1: max k=3", 3, 1, 2, NULL, false },
    { "pool 7", "1: slice from=2; max k=2", 4, 1, 3, NULL, false },
    { "pool 8", "1: max k=3 s=2", 3, 2, ANY, NULL, false },
    { "pool with right pad", "1: max k=2 r=1", 2, 1, 1, NULL, false },
    { "pool with right pad after a delay", "1: slice from=1; max k=2 s=2 r=1", 3, 2, ANY, NULL,
      true },
    { "ragged pool", "2: max k=3 s=2 ceil=1", 8, 2, ANY, NULL, false },
    { "average that counts its pads", "2: average k=3 l=1 r=1", 8, 2, 1, NULL, false },
    { "average without its pads", "2: average k=3 l=1 r=1 without=1", 8, 2, 1, NULL, false },
    { "average, causal", "2: conv k=2; average k=4 l=3 without=1", 8, 2, 1, NULL, false },
    { "average, SAME", "2: average k=4 auto=1 without=1", 8, 3, 2, NULL, false },
    { "average, ragged", "2: average k=3 s=2 ceil=1", 8, 2, ANY, NULL, false },
    { "average, ragged, with pads", "2: average k=4 s=3 l=2 r=1 ceil=1", 8, 3, ANY, NULL, false },
    { "lp pool", "2: lp k=3 s=2 p=2 l=1", 8, 4, ANY, NULL, false },
    /* padding before a convolution */
    { "pad_plus_conv 1", "1: pad l=1; conv", 2, 1, 0, NULL, false },
    { "pad_plus_conv 2", "1: pad l=0 r=1; conv k=2 s=2", 5, 2, ANY, NULL, false },
    { "pad_plus_conv 3", "1: pad l=13 r=9; conv k=2 d=2", 4, 2, ANY, NULL, false },
    { "pad_plus_conv 4", "1: pad l=9 r=13; conv k=3 s=3", 3, 3, ANY, NULL, false },
    { "edge 0, 1", "1: pad mode=1 r=1; conv", 1, 1, ANY, NULL, false },
    { "edge 1, 0 with stride and dilation", "1: pad mode=1 l=1; conv k=2 s=2 d=2", 4, 2, ANY, NULL,
      false },
    { "edge 5, 15 then k5 s3", "1: pad mode=1 l=5 r=15; conv k=5 s=3", 10, 9, 0, NULL, false },
    { "edge longer than a pulse", "2: pad mode=1 l=5 r=5", 7, 2, ANY, NULL, false },
    { "reflect", "2: pad mode=2 l=3 r=2; conv k=3", 9, 2, ANY, NULL, false },
    { "reflect shorter than a pulse", "2: pad mode=2 l=3 r=3", 9, 8, ANY, NULL, false },
    /* delays below and above a pulse */
    { "delay 1", "1: skip k=2 at=0", 13, 4, 1, NULL, false },
    { "delay 5", "1: slice from=1; conv k=6", 13, 4, 6, NULL, false },
    { "history 2", "1: conv k=3", 13, 4, 2, NULL, false },
    { "history 6", "1: conv k=7", 13, 4, 6, NULL, false },
    { "two delays of 2", "1: slice from=2; slice from=2", 13, 4, 4, NULL, false },
    /* transposed convolution */
    { "deconv 0", "1: deconv", 4, 1, 0, NULL, false },
    { "deconv 1", "1: deconv k=2", 4, 1, 0, NULL, false },
    { "deconv 2", "1: deconv k=2", 5, 2, 0, NULL, false },
    { "deconv 3", "1: deconv k=1", 5, 2, 0, NULL, false },
    { "deconv, dilated", "1: deconv k=2 d=2", 4, 1, 0, NULL, false },
    { "deconv, dilated, SAME", "1: deconv k=2 d=2 auto=1", 4, 1, ANY, NULL, false },
    { "deconv k1 s2", "1: deconv s=2", 4, 2, 1, NULL, false },
    { "deconv SAME", "1: deconv k=2 auto=1", 4, 1, ANY, NULL, false },
    { "deconv SAME LOWER", "1: deconv k=2 auto=2", 4, 1, ANY, NULL, false },
    { "deconv longer by 1", "1: deconv s=2 adj=1", 4, 1, 0, NULL, false },
    { "deconv k32 s16", "8: deconv k=32 s=16", 8, 2, 0, NULL, false },
    { "deconv k32 s16, deep", "8: deconv k=32 s=16 deep=1", 8, 2, 0, NULL, false },
    { "deconv, cropped", "2: deconv k=5 s=2 l=2 r=1", 8, 2, ANY, NULL, false },
    { "deconv after a delay", "2: conv k=3; deconv k=4 s=2", 9, 3, 4, NULL, false },
    { "deconv after a delay, cropped", "2: conv k=4; deconv k=4 s=3 l=1 r=2", 9, 2, 11, NULL,
      false },
    { "down, up and back", "2: conv k=4 s=2; conv k=3 l=2; deconv k=4 s=2; conv k=3", 21, 2, ANY,
      NULL, false },
    /* constants in time */
    { "prefix", "2: concat l=3", 7, 2, 0, NULL, false },
    { "suffix", "2: concat r=3", 7, 2, ANY, NULL, false },
    { "prefix and suffix after a delay", "2: conv k=4; concat l=2 r=4; conv k=2", 9, 3, ANY, NULL,
      false },
    /* ways that meet late */
    { "sum of a conv and a cut", "2: skip k=4 at=3; skip k=3 at=0; skip k=2 at=1", 13, 2, 6, NULL,
      false },
    { "frames", "2: frame size=6 hop=2", 13, 3, ANY, NULL, false },
    { "frames, all covered", "2: frame size=6 hop=4 before=2 end=1", 13, 4, ANY, NULL, false },
    { "frames, flushed", "2: frame size=5 hop=3 before=1 end=2", 13, 3, ANY, NULL, false },
    { "stft, pulse no multiple of the hop", "1: stft size=8 hop=4", 33, 3, ANY, NULL, false },
    { "overlap", "2: overlap size=4 hop=2", 13, 2, ANY, NULL, false },
    { "overlap, full tail", "2: overlap size=6 hop=2 before=3 tail=1", 13, 2, ANY, NULL, false },
};

/* ---- graphs that are no chains ---- */

/* Of each frame [2, 3] with its own rows of a table. */
static void einsum_rows(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, GB_TIME, 2, 3);
    gb_output(b, GB(b, "Einsum", ctx, x, gb_weights(b, 3, 2, 3, 4)));
}

/* Time is the batch of a DFT over frames of *ctx samples. */
static void dft_of_frames(struct gb *b, const void *ctx)
{
    int n = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 3, GB_TIME, n, 1);
    uint32_t f = GB(b, "DFT", "onesided=1", x, WIRE_NONE, gb_int(b, 1));
    gb_output(b, GB(b, "ReduceSum", "keepdims=0", f, gb_ints(b, 2)));
}

/* There and back, rank 4. */
static void dft_and_back(struct gb *b, const void *ctx)
{
    int n = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 4, 2, GB_TIME, n, 2);
    gb_output(b,
              GB(b, "DFT", "inverse=1", GB(b, "DFT", "", x, WIRE_NONE, gb_int(b, 2)), WIRE_NONE,
                 gb_int(b, 2)));
}

static void rfft_and_back(struct gb *b, const void *ctx)
{
    int n = *(const int *) ctx;
    uint32_t x = GB(b, "RFFT", "", gb_input(b, "x", 3, 1, GB_TIME, n));
    gb_output(b, GB(b, "IRFFT", gb_printf(b, "n=%d", n), x));
}

/* ctx: frame, hop, samples of one entry of the batch, which is time. */
static void stft_of_batch(struct gb *b, const void *ctx)
{
    const int *v = ctx;
    uint32_t x = gb_input(b, "x", 3, GB_TIME, v[2], 1);
    uint32_t f =
        GB(b, "STFT", "onesided=1", x, gb_int(b, v[1]), gb_weights(b, 1, v[0]), gb_int(b, v[0]));
    gb_output(b, f);
}

/* Over height, which streams, and width, which does not. */
static void deconv_over_height(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 4, 1, 2, GB_TIME, 4), w = gb_weights(b, 4, 2, 2, 1, 3);
    gb_output(b, GB(b, "ConvTranspose", ctx, x, w, gb_weights(b, 1, 2)));
}

/* Two inputs, one twice as fast, brought to one rate. */
static void two_rates(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "slow", 3, 1, 2, GB_TIME),
             y = gb_input(b, "fast", 3, 1, 2, 2 * GB_TIME);
    (void) ctx;
    y = GB(b, "Conv", "strides=2 pads=1,1", y, gb_weights(b, 3, 2, 2, 4));
    gb_output(b, GB(b, "Add", "", x, y));
    gb_output(b, GB(b, "Concat", "axis=1", GB(b, "Relu", "", x), y));
}

/* Outputs of different delay, rate and axis. */
static void many_outputs(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    (void) ctx;
    gb_output(b, x);
    gb_output(b, gb_transpose(b, GB(b, "Conv", "pads=2,3", x, gb_weights(b, 3, 3, 2, 6)), "2,0,1"));
    gb_output(b, GB(b, "MaxPool", "kernel_shape=3 strides=3", x));
    gb_output(b, GB(b, "OverlapAdd", "hop=3 tail=full", GB(b, "Frame", "size=4 hop=2", x)));
}

/* Bytes below 0, so that no padding but the least of the type is below them. */
static void pool_of_bytes(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    const char *to_i8 = gb_printf(b, "to=%d", DTYPE_I8), *to_f32 = gb_printf(b, "to=%d", DTYPE_F32);
    uint32_t low = GB(b, "Sub", "", GB(b, "Mul", "", x, gb_scalar(b, 5)), gb_scalar(b, 60));
    gb_output(b, GB(b, "Cast", to_f32, GB(b, "MaxPool", ctx, GB(b, "Cast", to_i8, low))));
}

/* A last window of another axis hangs over its end. */
static void pool_over_height(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 4, 1, 2, GB_TIME, 3);
    const char *attrs = gb_printf(b, "ceil_mode=1 %s", (const char *) ctx);
    gb_output(b, GB(b, "AveragePool", attrs, x));
    gb_output(b, GB(b, "AveragePool", gb_printf(b, "count_include_pad=1 %s", attrs), x));
    gb_output(b, GB(b, "MaxPool", attrs, x));
}

/* One wire read with two histories, and its sum with a later one of itself. */
static void siblings(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME), w = gb_weights(b, 3, 2, 2, 3);
    (void) ctx;
    uint32_t filter = GB(b, "Tanh", "", GB(b, "Conv", "dilations=2 pads=4,0", x, w));
    uint32_t gate =
        GB(b, "Sigmoid", "", GB(b, "Conv", "dilations=2 pads=4,0", x, gb_weights(b, 3, 2, 2, 3)));
    uint32_t y = GB(b, "Mul", "", filter, gate);
    uint32_t late = GB(b, "Conv", "pads=1,1", x, w);
    gb_output(b, GB(b, "Add", "", GB(b, "Add", "", y, late), x));
}

/* [S, 4] made inside, from the length alone. */
static void made_inside(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 2, GB_TIME, 4);
    (void) ctx;
    uint32_t ones = GB(b, "Expand", "", gb_weights(b, 2, 1, 4), GB(b, "Shape", "", x));
    uint32_t numbers =
        GB(b, "Cast", "to=1",
           GB(b, "Range", "", gb_int(b, 0),
              GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 0)), gb_int(b, 1)));
    gb_output(b,
              GB(b, "Mul", "", GB(b, "Add", "", x, ones),
                 GB(b, "Unsqueeze", "", numbers, gb_ints(b, 1))));
}

/* Six blocks of dilations 1, 2, 4, 8 without padding; the ways that skip are cut to what is left at
 * the end. */
static void wavenet(struct gb *b, const void *ctx)
{
    enum { LAYERS = 24, ALL = 180 };
    uint32_t x = GB(b, "Conv", "", gb_input(b, "x", 3, 1, 3, GB_TIME), gb_weights(b, 3, 2, 3, 3)),
             sum = WIRE_NONE;
    (void) ctx;
    for (int i = 0, gone = 0; i < LAYERS; i++) {
        int d = 1 << i % 4;
        const char *attrs = gb_printf(b, "dilations=%d", d);
        uint32_t y =
            GB(b, "Mul", "", GB(b, "Tanh", "", GB(b, "Conv", attrs, x, gb_weights(b, 3, 2, 2, 3))),
               GB(b, "Sigmoid", "", GB(b, "Conv", attrs, x, gb_weights(b, 3, 2, 2, 3))));
        gone += 2 * d;
        uint32_t skip = gb_slice(b, GB(b, "Conv", "", y, gb_weights(b, 3, 2, 2, 1)), 2, ALL - gone,
                                 INT32_MAX, 1);
        sum = i ? GB(b, "Add", "", sum, skip) : skip;
        x = GB(b, "Add", "", GB(b, "Conv", "", y, gb_weights(b, 3, 2, 2, 1)),
               gb_slice(b, x, 2, 2 * d, INT32_MAX, 1));
    }
    gb_output(b, GB(b, "Softmax", "axis=1", GB(b, "Relu", "", sum)));
}

static const struct graph_row {
    const char *name;
    gb_recipe *recipe;
    const void *ctx;
    int length, pulse, delay;
} graphs[] = {
    { "wavenet", wavenet, NULL, 200, 8, 182 },
    { "einsum of frames and a table", einsum_rows, "equation='sij,ijk->sik", 5, 1, ANY },
    { "einsum without an arrow", einsum_rows, "equation='sij,ijk", 5, 2, ANY },
    { "einsum that keeps nothing else", einsum_rows, "equation='sij,ijk->s", 5, 3, ANY },
    { "einsum with an ellipsis", einsum_rows, "equation='...j,ijk->...ik", 5, 3, ANY },
    { "dft of 8, batch streams", dft_of_frames, &(const int) { 4 }, 8, 2, ANY },
    { "dft of 4", dft_of_frames, &(const int) { 8 }, 4, 1, ANY },
    { "dft of 6", dft_of_frames, &(const int) { 4 }, 6, 3, ANY },
    { "dft and back", dft_and_back, &(const int) { 8 }, 6, 2, ANY },
    { "dft and back, size 5", dft_and_back, &(const int) { 5 }, 6, 2, ANY },
    { "rfft and back", rfft_and_back, &(const int) { 16 }, 6, 2, ANY },
    { "stft of each, 4 in 8", stft_of_batch, (const int[]) { 4, 2, 8 }, 4, 2, ANY },
    { "stft of each, 3 in 6", stft_of_batch, (const int[]) { 3, 1, 6 }, 3, 1, ANY },
    { "stft of each, 4 in 12", stft_of_batch, (const int[]) { 4, 4, 12 }, 2, 2, ANY },
    { "deconv over two axes", deconv_over_height, "strides=1,2 pads=0,1,0,1", 5, 1, ANY },
    { "two rates", two_rates, NULL, 9, 2, ANY },
    { "many outputs", many_outputs, NULL, 13, 3, ANY },
    { "bytes, padded in front", pool_of_bytes, "kernel_shape=3 pads=2,0", 13, 4, 0 },
    { "bytes, a last window cut", pool_of_bytes, "kernel_shape=3 strides=2 ceil_mode=1", 13, 4,
      ANY },
    { "bytes, windows of pads alone", pool_of_bytes, "kernel_shape=2 dilations=4 pads=1,1", 13, 4,
      ANY },
    { "height counted with its pads", pool_over_height, "kernel_shape=2,2 strides=2,1 pads=0,0,0,1",
      13, 4, ANY },
    { "over height", pool_over_height, "kernel_shape=1,2 strides=2,2", 13, 4, ANY },
    { "over height and time", pool_over_height, "kernel_shape=3,2 strides=2,2", 13, 4, ANY },
    { "over height, padded", pool_over_height, "kernel_shape=3,2 strides=2,2 pads=1,1,0,1", 13, 4,
      ANY },
    { "siblings", siblings, NULL, 13, 4, ANY },
    { "a table made inside", made_inside, NULL, 9, 4, ANY },
};

static void row_lengths(struct oracle *o, const struct row *r, int64_t pulse)
{
    const int lengths[] = {
        r->length, 0, 1, 2, 3, r->length + 1, r->length + 2, 3 * r->length, 7 * r->length + 5
    };
    unsigned whole = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (uint32_t cut = 1; cut <= 3; cut++) {
            enum verdict v = oracle_law(o, lengths[i], cut * 31 + (uint32_t) i);
            whole += v == LAW_HOLDS;
            oracle_check(v != LAW_BROKEN, "%s (%s), length %d, pulse %lld: %s", r->name, r->chain,
                         lengths[i], (long long) pulse, o->err.text);
        }
    oracle_check(whole > 0, "%s (%s): the whole run is refused at every length: %s", r->name,
                 r->chain, o->err.text);
}

static void row_streams(struct oracle *o, const struct row *r)
{
    const int64_t pulses[] = { r->pulse, 1, 2, r->pulse + 1, 3 * r->pulse };
    for (size_t i = 0; i < sizeof pulses / sizeof *pulses; i++) {
        enum verdict v = oracle_pulse(o, pulses[i]);
        oracle_check(v == LAW_HOLDS, "%s (%s), pulse %lld: %s", r->name, r->chain,
                     (long long) pulses[i], o->err.text);
        if (v != LAW_HOLDS)
            return;
        int64_t delay = o->plan->pgraph.outputs[0].delay;
        if (i == 0 && r->delay >= 0)
            oracle_check(delay == r->delay, "%s (%s), pulse %d: delay %lld, not %d", r->name,
                         r->chain, r->pulse, (long long) delay, r->delay);
        row_lengths(o, r, pulses[i]);
    }
}

static void graph_test(const struct graph_row *g)
{
    struct oracle o;
    const struct row r = {
        .name = g->name, .chain = "graph", .length = g->length, .pulse = g->pulse, .delay = g->delay
    };
    enum verdict v = oracle_open(&o, g->recipe, g->ctx, NULL);
    oracle_check(v == LAW_HOLDS, "%s: %s", g->name, o.err.text);
    if (v == LAW_HOLDS)
        row_streams(&o, &r);
    oracle_close(&o);
}

/* An element-wise op on a stream, on a later one and on what is true of some frames; ctx: the
 * op. */
static void pointwise(struct gb *b, const void *ctx)
{
    const struct op *op = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME), in[3];
    uint32_t late = GB(b, "Conv", "pads=1,1", x, gb_weights(b, 3, 2, 2, 3));
    unsigned n = op->min_in > 0 ? (unsigned) op->min_in : 1, at = 0;
    if (n == 3)
        in[at++] = GB(b, "Less", "", x, late);
    in[at++] = late;
    in[at++] = x;
    gb_output(b, GB(b, "Cast", "to=1", gb_op(b, op->name, "", in, n < 3 ? n : 3)));
}

/* All that say they are; some want integers, or attributes, and are no graph. */
static void pointwise_test(void)
{
    unsigned tried = 0;
    const struct op *op;
    for (unsigned i = 0; (op = op_at(i)); i++) {
        struct oracle o;
        const struct graph_row g = { op->name, pointwise, op, 9, 2, ANY };
        if (!(op->flags & OP_POINTWISE))
            continue;
        bool fits = oracle_open(&o, pointwise, op, NULL) == LAW_HOLDS;
        oracle_close(&o);
        tried += fits;
        if (fits)
            graph_test(&g);
    }
    oracle_check(tried >= 40, "only %u element-wise ops were tried", tried);
}

/* Lengths that are not multiples of what is asserted are no lengths of the graph. */
static const struct asserted {
    const char *chain, *assertion;
    int multiple, pulse;
} asserted[] = {
    { "1: conv; conv k=3 s=2 auto=1", "S == 2*(S/2)", 2, 2 },
    { "2: conv k=5 s=4 auto=2; conv k=3 s=3 auto=1", "S == 12*(S/12)", 12, 5 },
    { "2: max k=4 s=3 auto=2", "S == 3*(S/3)", 3, 3 },
    { "2: average k=4 s=3 auto=1 without=1", "S == 3*(S/3)", 3, 1 },
};

static void asserted_test(const struct asserted *a)
{
    struct chain c;
    struct oracle o;
    oracle_check(chain_parse(&c, a->chain) && oracle_open(&o, chain_recipe, &c, NULL) == LAW_HOLDS,
                 "%s", a->chain);
    oracle_check(oracle_pulse(&o, a->pulse) == LAW_REFUSED && strstr(o.err.text, "SAME padding"),
                 "%s: streams without '%s'", a->chain, a->assertion);
    oracle_close(&o);
    enum verdict v = oracle_open(&o, chain_recipe, &c, a->assertion);
    v = v == LAW_HOLDS ? oracle_pulse(&o, a->pulse) : v;
    oracle_check(v == LAW_HOLDS, "%s, %s: %s", a->chain, a->assertion, o.err.text);
    for (uint32_t n = 0; v == LAW_HOLDS && n < 12; n++)
        oracle_check(oracle_law(&o, n * a->multiple, n) != LAW_BROKEN, "%s, %s, length %u: %s",
                     a->chain, a->assertion, n * (unsigned) a->multiple, o.err.text);
    oracle_close(&o);
}

/* Its fourth frame stands in front of the sequence. */
static void fourth_first(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    gb_output(b, GB(b, "Concat", "axis=2", GB(b, "Gather", "axis=2", x, gb_ints(b, 3)), x));
}

/* Pads that copy or cut frames, and those that are picked, need them: of a shorter sequence there
 * is no whole run, and its stream, once it is known to have ended, gives nothing more. */
static const struct copied {
    const char *chain; /* NULL: fourth_first */
    const char *need;  /* of less than `least` frames it is broken */
    int least;
} copied[] = {
    { "2: pad mode=2 l=3 r=3", "'S > 3' is needed", 4 },
    { "2: pad mode=2 l=3", "'S > 3' is needed", 4 },
    { "2: pad mode=2 r=3", "'S > 3' is needed", 4 },
    { "2: conv k=3; pad mode=2 l=3 r=3", "'-2 + S > 3' is needed", 6 },
    { "2: conv k=3 s=2; pad mode=2 l=1 r=2; conv k=3", "is needed", 7 },
    { "2: pad mode=2 l=3 r=3; pad mode=2 l=11 r=4", "is needed", 6 },
    { "2: pad mode=2 l=2 r=2; conv k=3", "'S > 2' is needed", 3 },
    { "2: pad mode=1 l=2 r=2", "'S > 0' is needed", 1 },
    { "2: pad mode=0 l=-2 r=-2; pad mode=0 l=3 r=3; conv k=3", "'S > 3' is needed", 4 },
    { "2: pad mode=0 l=-3; pad mode=0 r=4; conv k=2", "'S > 2' is needed", 3 },
    { "2: pad mode=0 r=-3; pad mode=0 l=3; conv k=2", "'S > 2' is needed", 3 },
    { "2: conv k=3; pad mode=0 l=1 r=-4; pad mode=0 l=4 r=2", "'-2 + S > 2' is needed", 5 },
    { NULL, "'S >= 4' is needed", 4 },
};

static void copied_lengths(struct oracle *o, const struct copied *c)
{
    for (uint32_t n = 0; n < 12; n++) {
        const bool fits = (int) n >= c->least;
        enum verdict v = oracle_law(o, n, 3 * n);
        oracle_check(v == (fits ? LAW_HOLDS : LAW_NO_WHOLE), "%s, length %u: %s", c->need, n,
                     v == LAW_BROKEN ? o->err.text : "a whole run, or none");
        rill_status s = rill_plan_check_length(o->plan, 0, n, &o->err);
        oracle_check(s == (fits ? RILL_OK : RILL_INVALID) &&
                         ((int) n != c->least - 1 || strstr(o->err.text, c->need)),
                     "%s, length %u: %s", c->need, n, s ? o->err.text : "it is said to fit");
    }
}

static void copied_test(const struct copied *c)
{
    struct chain chain;
    struct oracle o;
    oracle_check(!c->chain || chain_parse(&chain, c->chain), "%s", c->need);
    oracle_check(oracle_open(&o, c->chain ? chain_recipe : fourth_first, &chain, NULL) == LAW_HOLDS,
                 "%s: %s", c->need, o.err.text);
    for (int pulse = 1; pulse <= 9; pulse += 4) {
        enum verdict v = oracle_pulse(&o, pulse);
        oracle_check(v == LAW_HOLDS, "%s, pulse %d: %s", c->need, pulse, o.err.text);
        if (v == LAW_HOLDS)
            copied_lengths(&o, c);
    }
    oracle_close(&o);
}

/* A stream mirrors what is left where the other end is cut, the whole run what was cut off, too: at
 * a length at which those differ there is no stream. */
static void cut_test(const char *text, uint32_t least)
{
    struct chain chain;
    struct oracle o;
    oracle_check(chain_parse(&chain, text) &&
                     oracle_open(&o, chain_recipe, &chain, NULL) == LAW_HOLDS &&
                     oracle_pulse(&o, 2) == LAW_HOLDS,
                 "%s: %s", text, o.err.text);
    for (uint32_t n = 0; n < 12; n++) {
        const bool fits = n >= least;
        enum verdict v = oracle_law(&o, n, 5 * n);
        oracle_check(fits ? v == LAW_HOLDS : v != LAW_BROKEN, "%s, length %u: %s", text, n,
                     o.err.text);
        rill_status s = rill_plan_check_length(o.plan, 0, n, &o.err);
        oracle_check(s == (fits ? RILL_OK : RILL_INVALID), "%s, length %u: %s", text, n,
                     s ? o.err.text : "it is said to fit");
    }
    oracle_close(&o);
}

static void row_test(const struct row *r)
{
    struct chain c;
    struct oracle o;
    oracle_check(chain_parse(&c, r->chain), "%s: '%s' is not understood", r->name, r->chain);
    enum verdict v = oracle_open(&o, chain_recipe, &c, NULL);
    oracle_check(v == LAW_HOLDS, "%s (%s): %s", r->name, r->chain, o.err.text);
    o.nan_first = r->nan_first;
    if (v == LAW_HOLDS && r->refusal) {
        v = oracle_pulse(&o, r->pulse);
        oracle_check(v == LAW_REFUSED && strstr(o.err.text, r->refusal),
                     "%s (%s): not refused for '%s': %s", r->name, r->chain, r->refusal,
                     v == LAW_REFUSED ? o.err.text : "it streams");
    } else if (v == LAW_HOLDS)
        row_streams(&o, r);
    oracle_close(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        row_test(&rows[i]);
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        graph_test(&graphs[i]);
    pointwise_test();
    for (size_t i = 0; i < sizeof asserted / sizeof *asserted; i++)
        asserted_test(&asserted[i]);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        copied_test(&copied[i]);
    cut_test("2: pad mode=2 l=-1 r=3", 5);
    cut_test("2: pad mode=2 l=3 r=-2", 6);
    cut_test("2: pad mode=1 l=-1 r=3", 2);
    return oracle_end();
}
