/* SPDX-License-Identifier: MIT */
/* Operators that are formulas of others, in the language itself. */
#include "models/nnef/build.h"

#include <math.h>
#include <string.h>

static const char operators[] =
    "fragment sqr(x: tensor<scalar>) -> (y: tensor<scalar>) { y = x * x; }\n"
    "fragment rsqr(x: tensor<scalar>) -> (y: tensor<scalar>) { y = 1.0 / (x * x); }\n"
    "fragment rsqrt(x: tensor<scalar>) -> (y: tensor<scalar>) { y = rcp(sqrt(x)); }\n"
    "fragment log2(x: tensor<scalar>) -> (y: tensor<scalar>) { y = log(x) * 1.4426950408889634; }\n"
    "fragment silu(x: tensor<scalar>) -> (y: tensor<scalar>) { y = x * sigmoid(x); }\n"
    "fragment rill_round_away(x: tensor<scalar>) -> (y: tensor<scalar>)\n"
    "{ size = abs(x); whole = floor(size); y = sign(x) * select(size - whole < 0.5, whole, whole + "
    "1.0); }\n"
    "fragment softabs(x: tensor<scalar>, epsilon: scalar) -> (y: tensor<scalar>) { y = sqrt(x * x "
    "+ epsilon); }\n"
    "fragment clamp(x: tensor<scalar>, a: tensor<scalar>, b: tensor<scalar>) -> (y: "
    "tensor<scalar>)\n"
    "{ y = max(min(x, b), a); }\n"
    "fragment linear(input: tensor<scalar>, filter: tensor<scalar>, bias: tensor<scalar> = 0.0)\n"
    "-> (output: tensor<scalar>) { output = matmul(input, filter, transposeB = true) + bias; }\n"
    "fragment separable_conv(input: tensor<scalar>, plane_filter: tensor<scalar>, point_filter: "
    "tensor<scalar>,\n"
    "    bias: tensor<scalar> = 0.0, border: string = 'constant', padding: (integer, integer)[] = "
    "[],\n"
    "    stride: integer[] = [], dilation: integer[] = [], groups: integer = 1) -> (output: "
    "tensor<scalar>)\n"
    "{ planes = conv(input, plane_filter, border = border, padding = padding, stride = stride,\n"
    "      dilation = dilation, groups = 0);\n"
    "  output = conv(planes, point_filter, bias, groups = groups); }\n"
    "fragment separable_deconv(input: tensor<scalar>, plane_filter: tensor<scalar>, point_filter: "
    "tensor<scalar>,\n"
    "    bias: tensor<scalar> = 0.0, border: string = 'constant', padding: (integer, integer)[] = "
    "[],\n"
    "    stride: integer[] = [], dilation: integer[] = [], output_shape: integer[] = [], groups: "
    "integer = 1) -> (output: tensor<scalar>)\n"
    "{ mixed = deconv(input, point_filter, groups = groups);\n"
    "  output = deconv(mixed, plane_filter, bias, border = border, padding = padding, stride = "
    "stride,\n"
    "      dilation = dilation, output_shape = output_shape, groups = 0); }\n"
    "fragment selu(x: tensor<scalar>, alpha: scalar = 1.67326319, lambda: scalar = 1.05070102) -> "
    "(y: tensor<scalar>)\n"
    "{ y = lambda * select(x < 0.0, alpha * (exp(x) - 1.0), x); }\n"
    "fragment copy_n(x: tensor<scalar>, times: integer) -> (y: tensor<scalar>[]) { y = [x] * "
    "times; }\n"
    "fragment moments(input: tensor<scalar>, axes: integer[]) -> (mean: tensor<scalar>, variance: "
    "tensor<scalar>)\n"
    "{ mean = mean_reduce(input, axes); variance = mean_reduce(sqr(input - mean), axes); }\n"
    "fragment rms_pool(input: tensor<scalar>, size: integer[], border: string = 'constant',\n"
    "    padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = []) -> "
    "(y: tensor<scalar>)\n"
    "{ y = sqrt(avg_pool(sqr(input), size, border, padding, stride, dilation)); }\n"
    "fragment nearest_downsample(input: tensor<scalar>, factor: integer[]) -> (y: "
    "tensor<scalar>)\n"
    "{ n = length_of(factor); y = box(input, size = [1] * n, stride = factor, padding = [(0, 0)] * "
    "n, normalize = true); }\n"
    "fragment area_downsample(input: tensor<scalar>, factor: integer[]) -> (y: tensor<scalar>)\n"
    "{ n = length_of(factor); y = box(input, size = factor, stride = factor, padding = [(0, 0)] * "
    "n, normalize = true); }\n"
    "fragment rill_log(x: tensor<scalar>, floor: scalar = 0.0000000001) -> (y: tensor<scalar>)\n"
    "{ y = log(max(x, floor)); }\n";

/* sigma as the standard has it: the bias is added, and it is at least epsilon. */
static const char norms[] =
    "fragment l1_normalization(input: tensor<scalar>, axes: integer[], bias: scalar = 0.0, "
    "epsilon: scalar = 0.0) -> (y: tensor<scalar>)\n"
    "{ y = input / max(sum_reduce(abs(input), axes) + bias, epsilon); }\n"
    "fragment l2_normalization(input: tensor<scalar>, axes: integer[], bias: scalar = 0.0, "
    "epsilon: scalar = 0.0) -> (y: tensor<scalar>)\n"
    "{ y = input / max(sqrt(sum_reduce(sqr(input), axes)) + bias, epsilon); }\n"
    "fragment local_response_normalization(input: tensor<scalar>, size: integer[], alpha: scalar = "
    "1.0, beta: scalar = 0.5,\n"
    "    bias: scalar = 1.0) -> (y: tensor<scalar>)\n"
    "{ y = input / (bias + alpha * rill_box(sqr(input), size)) ^ beta; }\n"
    "fragment local_mean_normalization(input: tensor<scalar>, size: integer[]) -> (y: "
    "tensor<scalar>) { y = input - rill_box(input, size); }\n"
    "fragment local_variance_normalization(input: tensor<scalar>, size: integer[], bias: scalar = "
    "0.0, epsilon: scalar = 0.0)\n"
    "-> (y: tensor<scalar>) { y = input / max(sqrt(rill_box(sqr(input), size)) + bias, epsilon); "
    "}\n"
    "fragment local_contrast_normalization(input: tensor<scalar>, size: integer[], bias: scalar = "
    "0.0, epsilon: scalar = 0.0)\n"
    "-> (y: tensor<scalar>) { y = local_variance_normalization(local_mean_normalization(input, "
    "size), size, bias, epsilon); }\n"
    "fragment rill_box(x: tensor<scalar>, size: integer[]) -> (y: tensor<scalar>) { y = box(x, "
    "size = size, normalize = true); }\n";

/* What a quantised tensor stands for, in numbers (the standard, 5.4). */
static const char quantisers[] =
    "fragment min_max_linear_quantize(x: tensor<scalar>, min: tensor<scalar>, max: tensor<scalar>, "
    "bits: integer,\n"
    "    signed: logical, symmetric: logical) -> (y: tensor<scalar>)\n"
    "{ r = scalar(2 ^ bits - 1 - integer(signed && symmetric));\n"
    "  p = scalar(2 ^ (bits - 1) - integer(symmetric) if signed else 0);\n"
    "  q = tract_core_round_even((clamp(x, min, max) - min) / (max - min) * r) - p;\n"
    "  y = (q + p) / r * (max - min) + min; }\n"
    "fragment linear_quantize(x: tensor<scalar>, min: tensor<scalar>, max: tensor<scalar>, bits: "
    "integer) -> (y: tensor<scalar>)\n"
    "{ y = min_max_linear_quantize(x, min, max, bits, false, false); }\n"
    "fragment zero_point_linear_quantize(x: tensor<scalar>, zero_point: tensor<integer>, scale: "
    "tensor<scalar>,\n"
    "    bits: integer, signed: logical, symmetric: logical) -> (y: tensor<scalar>)\n"
    "{ z = scalar(zero_point); r = scalar(2 ^ (bits - 1) - 1 if signed else 2 ^ bits - 1);\n"
    "  q = clamp(tract_core_round_even(x / scale) + z, 0.0 if !signed else -r if symmetric else -r "
    "- 1.0, r);\n"
    "  y = (q - z) * scale; }\n"
    "fragment logarithmic_quantize(x: tensor<scalar>, max: tensor<scalar>, bits: integer) -> (y: "
    "tensor<scalar>)\n"
    "{ m = ceil(log2(max)); r = scalar(2 ^ bits - 1);\n"
    "  y = sign(x) * 2.0 ^ tract_core_round_even(clamp(log2(abs(x)), m - r, m)); }\n";

/* rill_fbank is Kaldi's fbank as icefall's models take it (feature-fbank.cc): dither off, the mean
 * taken off each frame, preemphasis, Povey's window, power, straight sides over mel. Kaldi's
 * windows are symmetric; kaldi-native-fbank's hann, which NeMo's models take, is periodic. What
 * lies before the first sample is in the first frame alone: silence, or mirrored as Kaldi does. */
static const char front_ends[] =
    "fragment rill_mfcc(pcm: tensor<scalar>, size: integer, hop: integer, fft: integer, bands: "
    "integer, rate: scalar,\n"
    "    low: scalar, high: scalar, n: integer) -> (y: tensor<scalar>)\n"
    "{ frames = rill_frame(pcm, size = size, hop = hop, end = 'drop') * rill_window('hann', "
    "size);\n"
    "  spec = rill_magnitude(rill_rfft(pad(frames, [(0, 0), (0, fft - size)])));\n"
    "  y = rill_dct(rill_log(rill_mel(spec, bands, rate, low, high, even = true), 0.000000000001), "
    "n); }\n"

    "fragment rill_count_step(x: tensor<scalar>, n: tensor<scalar>) -> (y: tensor<scalar>, next: "
    "tensor<scalar>)\n"
    "{ y = n; next = n + 1.0; }\n"
    "fragment rill_count(x: tensor<scalar>) -> (y: tensor<scalar>)\n"
    "{ y = rill_scan(slice(x, axes = [1], begin = [0], end = [1]), body = rill_count_step, state = "
    "[(n, next, rill_fill([1], 0.0))]); }\n"
    "fragment rill_mirrored(frames: tensor<scalar>, n: integer) -> (y: tensor<scalar>)\n"
    "{ first = rill_count(frames) < 0.5;\n"
    "  head = slice(frames, axes = [1], begin = [2 * n - 1], end = [n - 1], stride = [-1]);\n"
    "  rest = slice(frames, axes = [1], begin = [n], end = [0]);\n"
    "  y = select(first, concat([head, rest], axis = 1), frames); }\n"

    "fragment rill_fbank(pcm: tensor<scalar>, bands: integer = 80, size: integer = 400, hop: "
    "integer = 160,\n"
    "    fft: integer = 512, rate: scalar = 16000.0, low: scalar = 20.0, high: scalar = 7600.0,\n"
    "    floor: scalar = 0.00000011920929, mirror: logical = false, end: string = 'cover', mean: "
    "logical = true,\n"
    "    power: scalar = 0.85, slaney: logical = false, periodic: logical = false) -> (y: "
    "tensor<scalar>)\n"
    "{ before = size / 2 - hop / 2;\n"
    "  silent = rill_frame(pcm, size = size, hop = hop, before = before, end = end);\n"
    "  raw = rill_mirrored(silent, before) if mirror else silent;\n"
    "  frames = raw - mean_reduce(raw, axes = [1]) if mean else raw;\n"
    "  late = concat([slice(frames, axes = [1], begin = [0], end = [1]),\n"
    "                 slice(frames, axes = [1], begin = [0], end = [size - 1])], axis = 1);\n"
    "  shaped = (frames - 0.97 * late) * rill_window('hann', size, periodic = periodic) ^ power;\n"
    "  spec = sqr(rill_magnitude(rill_rfft(pad(shaped, [(0, 0), (0, fft - size)]))));\n"
    "  y = rill_log(rill_mel(spec, bands, rate, low, high, slaney = slaney, norm = slaney,\n"
    "                        even = false if slaney else true), floor); }\n";

/* The micro front end is that of TensorFlow Lite Micro
 * (tensorflow/lite/experimental/microfrontend/lib) with numbers in place of its fixed-point ones:
 * windows of 30 ms, 40 bands, noise taken off, per-channel energy normalisation (Wang et al. 2017,
 * "Trainable frontend for robust and far-field keyword spotting"), logarithm. Its samples are
 * 16-bit, its transform divides by 512 and its band values count 64 to one; windowed samples, bands
 * and what is left of them are rounded down as there. There a frame is shifted up until its peak
 * has 15 bits, and the transform rounds in each of its stages: that leaves noise of about 0.8
 * squared units of the shifted frame in each bin, which is more than is in quiet bands below loud
 * ones. */
static const char micro[] =
    "fragment rill_micro_step(x: tensor<scalar>, noise: tensor<scalar>) -> (y: tensor<scalar>, "
    "next: tensor<scalar>)\n"
    "{ follow = tile(constant(shape = [2], value = [0.02496338, 0.05999756]), repeats = [20]);\n"
    "  next = noise + follow * (x - noise);\n"
    "  clean = max(floor(x - min(next, x)), floor(0.04998779 * x));\n"
    "  gain = min(64.0 * (8.0 * next + 80.0) ^ -0.95, 0.99996948) * 0.125;\n"
    "  loud = clean * gain;\n"
    "  small = select(loud < 2.0, 16.0 * loud * loud, 64.0 * loud - 64.0);\n"
    "  y = 2.5 * log(max(8.0 * floor(small), 1.0)); }\n"
    "fragment rill_micro_steps(x: tensor<scalar>, noise: tensor<scalar>) -> (y: tensor<scalar>, "
    "next: tensor<scalar>)\n"
    "{ [a, b, c] = unstack(x, axis = 0);\n"
    "  (p, n1) = rill_micro_step(a, noise);\n"
    "  (q, n2) = rill_micro_step(b, n1);\n"
    "  (r, next) = rill_micro_step(c, n2);\n"
    "  y = stack([p, q, r], axis = 0); }\n"
    "fragment rill_micro_features(pcm: tensor<scalar>) -> (y: tensor<scalar>)\n"
    "{ long = rill_frame(pcm, size = 800, hop = 480, end = 'drop') * 32768.0;\n"
    "  frames = stack([slice(long, axes = [1], begin = [0], end = [480]), slice(long, axes = [1], "
    "begin = [160], end = [640]),\n"
    "                  slice(long, axes = [1], begin = [320], end = [800])], axis = 1);\n"
    "  window = unsqueeze(floor(4096.0 * sqr(rill_window('sine', 480)) + 0.5) / 4096.0, axes = "
    "[0]);\n"
    "  shaped = floor(frames * window);\n"
    "  unit = 4.0 ^ (floor(log2(max_reduce(abs(shaped), axes = [2]) + 0.5)) - 14.0);\n"
    "  spec = rill_rfft(pad(shaped, [(0, 0), (0, 0), (0, 32)])) / 512.0;\n"
    "  bands = rill_mel(sqr(rill_magnitude(spec)) + 0.8 * unit, 40, 16000.0, 125.0, 7500.0, even = "
    "true);\n"
    "  y = rill_scan(floor(64.0 * sqrt(bands)), body = rill_micro_steps,\n"
    "                state = [(noise, next, rill_fill([40], 0.0))]); }\n";

rill_status formulas_parse(struct builder *b)
{
    static const char *const texts[] = { operators, norms, quantisers, front_ends, micro };
    const char *text = "";
    for (size_t i = 0; text && i < sizeof texts / sizeof *texts; i++)
        text = arena_printf(b->arena, "%s%s", text, texts[i]);
    for (const char *const *more = nnef_tract_texts; text && *more; more++)
        text = arena_printf(b->arena, "%s%s", text, *more);
    if (!text)
        return nnef_no_memory(b);
    return nnef_parse_fragments(&b->formulas, b->arena, "stdlib", text, strlen(text), NULL, b->err);
}

/* ---- numbers that a formula would take and compute something else with ---- */

struct demand {
    const char *fragment, *attr;
    bool (*met)(double x, double other);
    const char *expected;
    const char *other; /* attribute to compare with, or NULL */
};

static bool is_at_least(double x, double other)
{
    return x >= other;
}
static bool is_positive(double x, double other)
{
    return x > other;
}
static bool is_even_size(double x, double other)
{
    return x > other && fmod(x, 2) == 0;
}

/* What goes backwards starts from the last place. */
static bool is_none_or_ahead(double x, double stride)
{
    return x == 0 || (x > 0 && stride > 0);
}

static const struct demand demands[] = {
    { "rill_mfcc", "size", is_positive, "at least 1 sample", NULL },
    { "rill_mfcc", "hop", is_positive, "at least 1 sample", NULL },
    { "rill_mfcc", "size", is_at_least, "at least hop", "hop" },
    { "rill_mfcc", "fft", is_at_least, "at least size", "size" },
    { "rill_mfcc", "fft", is_even_size, "an even number", NULL },
    { "rill_mfcc", "bands", is_positive, "at least 1", NULL },
    { "rill_mfcc", "n", is_positive, "at least 1", NULL },
    { "rill_mfcc", "bands", is_at_least, "at least n", "n" },
    { "rill_fbank", "size", is_positive, "at least 1 sample", NULL },
    { "rill_fbank", "hop", is_positive, "at least 1 sample", NULL },
    { "rill_fbank", "size", is_at_least, "at least hop", "hop" },
    { "rill_fbank", "fft", is_at_least, "at least size", "size" },
    { "rill_fbank", "fft", is_even_size, "an even number", NULL },
    { "rill_fbank", "bands", is_positive, "at least 1", NULL },
    { "rill_fbank", "floor", is_positive, "above 0.0", NULL },
    { "rill_log", "floor", is_positive, "above 0.0", NULL },
    { "tract_pulse_delay", "delay", is_at_least, "at least 0", NULL },
    { "tract_pulse_delay", "overlap", is_at_least, "at least 0", NULL },
    { "tract_core_downsample", "modulo", is_none_or_ahead, "0 with a negative stride", "stride" },
};

/* false: not a number; what it is instead is refused where it is used. */
static bool number_find(const struct scope *in, const char *name, double *ret)
{
    const struct val *v = name ? scope_find(in, name) : NULL;
    *ret = !v ? 0 : v->kind == VAL_INT ? (double) v->i : v->kind == VAL_REAL ? v->real : 0;
    return !name || (v && (v->kind == VAL_INT || v->kind == VAL_REAL));
}

rill_status formula_check(struct builder *b, const struct scope *in, const struct scope *s,
                          const struct nnef_expr *e)
{
    for (size_t i = 0; i < sizeof demands / sizeof *demands; i++) {
        const struct demand *d = &demands[i];
        double x, other;
        if (strcmp(d->fragment, e->text) || !number_find(in, d->attr, &x) ||
            !number_find(in, d->other, &other) || d->met(x, other))
            continue;
        if (d->other)
            return nnef_fail(b, s, e->pos, RILL_MALFORMED, "'%s': %s is %.9g, expected %s, %.9g",
                             d->fragment, d->attr, x, d->expected, other);
        return nnef_fail(b, s, e->pos, RILL_MALFORMED, "'%s': %s is %.9g, expected %s", d->fragment,
                         d->attr, x, d->expected);
    }
    return RILL_OK;
}
