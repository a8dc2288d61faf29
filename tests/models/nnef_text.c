/* SPDX-License-Identifier: MIT */
/* NNEF text: what it computes, and what it says where it is wrong. */
#include "engine/typing/interp.h"
#include "engine/typing/typed.h"
#include "models/nnef/nnef.h"
#include "tests/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct session {
    struct arena arena;
    struct dims *dims;
    struct mgraph graph;
    rill_error err;
};

static rill_status session_read(struct session *s, const char *text, struct folder *folder,
                                const struct nnef_limits *limits)
{
    struct nnef_source source = {
        .file = "t.nnef", .text = text, .n = strlen(text), .folder = folder
    };
    *s = (struct session) { .dims = dims_new() };
    return mgraph_from_nnef(&s->graph, &s->arena, s->dims, &source, limits, &s->err);
}

static void session_end(struct session *s)
{
    arena_drop(&s->arena);
    dims_free(s->dims);
}

/* ---- values ---- */

#define IN_X "x = external<scalar>(shape = [4]); "

static const float x4[4] = { 1, -2, 3, 0.5f };

/* clang-format off */
static const struct {
    const char *statements;
    unsigned n;
    float y[8];
} values[] = {
    { "y = x + 1.0;", 4, { 2, -1, 4, 1.5f } },
    { "y = -x * 2;", 4, { -2, 4, -6, -1 } },
    { "y = 2 * (x - 1.0) / 4.0;", 4, { 0, -1.5f, 1, -0.25f } },
    { "y = relu(x) + min(x, 0.0);", 4, { 1, -2, 3, 0.5f } },
    { "y = clamp(x, -1.0, 1.0);", 4, { 1, -1, 1, 0.5f } },
    { "y = select(x > 0.6, x, 10.0);", 4, { 1, 10, 3, 10 } },
    { "y = select(x != 3.0 && !(x < 0.0), 1.0, 0.0);", 4, { 1, 0, 0, 1 } },
    { "y = sqr(x);", 4, { 1, 4, 9, 0.25f } },
    { "y = rill_op('Clip', inputs = [x, [], 1.5]);", 4, { 1, -2, 1.5f, 0.5f } },
    { "(v, i) = rill_op('TopK', inputs = [x, [1]], attributes = [('axis', 0)], outputs = 2); y = v + i;",
      1, { 5 } },
    { "y = x * rill_size('max(2, 3)');", 4, { 3, -6, 9, 1.5f } },
    { "k = 3; y = x * (2.0 if k > 2 else 5.0);", 4, { 2, -4, 6, 1 } },
    { "k = 2 ^ 3 - 7 / 2; y = x * k;", 4, { 5, -10, 15, 2.5f } },
    { "l = [1.0, 2.0, 3.0]; y = x * l[1] + length_of(l);", 4, { 5, -1, 9, 4 } },
    { "(a, b) = (x + 1.0, x - 1.0); y = a - b;", 4, { 2, 2, 2, 2 } },
    { "[a, b] = [x, 1.0]; y = a + b;", 4, { 2, -1, 4, 1.5f } },
    { "c = constant<scalar>(shape = [4], value = [1.0, 2.0, 3.0, 4.0]); y = x * c;", 4,
      { 1, -4, 9, 2 } },
    { "c = constant(shape = [4], value = [0.5]); y = x + c;", 4, { 1.5f, -1.5f, 3.5f, 1 } },
    { "y = x + rill_fill([4], 2.0);", 4, { 3, 0, 5, 2.5f } },
    { "y = sum_reduce(x, axes = [0]);", 1, { 2.5f } },
    { "y = max_reduce(x, [0]) - mean_reduce(x, axes = [0]);", 1, { 2.375f } },
    { "y = rcp(rcp(x)) # a comment\n;", 4, { 1, -2, 3, 0.5f } },
    { "y = leaky_relu(x, alpha = 0.5);", 4, { 1, -1, 3, 0.5f } },
    { "y = x; z = copy(y);", 4, { 1, -2, 3, 0.5f } },
    { "y = rill_frame(x, size = 2, hop = 2, before = 1);", 6, { 0, 1, -2, 3, 0.5f, 0 } },
    { "y = rill_overlap_add(rill_frame(x, 2, 1, before = 1), hop = 1);", 5, { 0, 2, -4, 6, 1 } },
    { "f = rill_frame(x, 2, 1, before = 1); y = rill_overlap_add(f, 1, window = constant(shape = "
      "[2], value " "= [0.5]));", 5, { 0, 4, -8, 12, 2 } },
    { "y = rill_scan(x, body = sum, state = [(s, t, rill_fill([], 1.0))]);", 4, { 2, 0, 3, 3.5f } },
    { "y = rill_scan([x, x], body = scaled, full = [(k, constant(shape = [], value = [2.0]))]);", 4,
      { 4, -8, 12, 2 } },
    { "y = reshape(x, shape = [2, -1]) * constant(shape = [2], value = [1.0, 10.0]);", 4,
      { 1, -2, 30, 5 } },
    { "[a, b] = split(x, axis = 0, ratios = [1, 3]); y = concat([b, a], axis = 0);", 4,
      { -2, 3, 0.5f, 1 } },
    { "y = slice(x, axes = [0], begin = [1], end = [0]);", 3, { -2, 3, 0.5f } },
    { "y = pad(x, padding = [(1, 2)]);", 7, { 0, 1, -2, 3, 0.5f, 0, 0 } },
    { "a = unsqueeze(x, axes = [0]); y = matmul(a, a, transposeB = true);", 1, { 14.25f } },
    { "y = stack(unstack(reshape(x, [2, 2]), axis = 0), axis = 1);", 4, { 1, 3, -2, 0.5f } },
    { "y = transpose(reshape(x, [2, 2]), axes = [1, 0]);", 4, { 1, 3, -2, 0.5f } },
    { "y = conv(reshape(x, [1, 1, 4]), constant(shape = [1, 1, 2], value = [1.0, 2.0]), 1.0, "
      "padding = [(0, " "0)]);", 3, { -2, 5, 5 } },
    { "y = avg_pool(reshape(x, [1, 1, 4]), size = [1, 1, 2], padding = [(0, 0), (0, 0), (0, 0)], "
      "stride = [1, 1, 2]);", 2, { -0.5f, 1.75f } },
    { "y = linear(unsqueeze(x, [0]), constant(shape = [1, 4], value = [1.0]), 2.0);", 1, { 4.5f } },
    { "y = rill_magnitude(reshape(concat([x * 3.0, x * 4.0], 0), [-1, 2]));", 4,
      { 6.7082039f, 9.1241438f, 8.9442719f, 12.165525f } },
    { "y = rill_window(\"hann\", 4);", 4, { 0, 0.5f, 1, 0.5f } },
    { "y = rill_window(\"hann\", 5, periodic = false);", 5, { 0, 0.5f, 1, 0.5f, 0 } },
    { "y = rill_window(\"vorbis\", 4);", 4,
      { 0.22801432f, 0.97365778f, 0.97365778f, 0.22801432f } },
    { "y = sqr(rill_window(\"sqrt_hann\", 4)) - rill_window(\"hann\", 4);", 4, { 0, 0, 0, 0 } },
    { "y = rill_mel(x, bands = 1, rate = 6.0);", 1, { 0.66310363f } },
    { "y = rill_mel(x, bands = 1, rate = 6.0, even = true);", 1, { 0.66191539f } },
    { "y = rill_bands(x, widths = [3, 1]);", 2, { 0.66666669f, 0.5f } },
    { "y = rill_spread(x, widths = [1, 2, 1, 3]);", 7, { 1, -2, -2, 3, 0.5f, 0.5f, 0.5f } },
    { "y = rill_dct(x, n = 2);", 2, { 1.7677670f, -1.0263495f } },
    { "y = rill_dct(x, n = 1, ortho = true);", 1, { 1.25f } },
    { "y = rill_log(x, floor = 1.0);", 4, { 0, 0, 1.0986123f, 0 } },
    { "y = rill_irfft(rill_rfft(x), n = 4);", 4, { 1, -2, 3, 0.5f } },
    { "y = x * [1.0, 2.0, 3.0, 4.0];", 4, { 1, -4, 9, 2 } },
    { "y = sum_reduce(reshape(x, [2, 2]) * [[1.0, 2.0], [3.0, 4.0]], axes = [0, 1]);", 1, { 8 } },
    { "n = tract_core_cast(x, to = \"i64\"); y = n * 0.5;", 4, { 0.5f, -1, 1.5f, 0 } },
    { "n = tract_core_cast(x, to = \"I64\"); y = tract_core_cast(n + 1, to = \"f32\");", 4,
      { 2, -1, 4, 1 } },
    { "n = tract_core_cast(x, to = \"i32\"); y = x - n;", 4, { 0, 0, 0, 0.5f } },
    { "y = tract_core_cast(tract_core_range(1, 8, step = 3), to = \"f32\");", 3, { 1, 4, 7 } },
    { "y = tract_core_range(0.5, 2.0, step = 0.5);", 3, { 0.5f, 1, 1.5f } },
    { "n = tract_core_shape_of(x)[0]; y = x * n;", 4, { 4, -8, 12, 2 } },
    { "n = squeeze(slice(tract_core_shape_of(x), axes = [0], begin = [0], end = [1]), axes = [0]); "
      "y = slice(x, axes = [0], begin = [0], end = [floor(n / 2)]);", 2, { 1, -2 } },
    { "n = tract_core_shape_of(x)[0]; y = select(n < 3, x, -x);", 4, { -1, 2, -3, -0.5f } },
    { "y = [1, 2] * 2 + [3]; y = x * y[4];", 4, { 3, -6, 9, 1.5f } },
    { "y = tract_core_broadcast(2.0, shape = [3]);", 3, { 2, 2, 2 } },
    { "y = gather(x, [2, 0]);", 2, { 3, 1 } },
    { "y = tract_core_gather_elements(x, [1.0, -1.0], axis = 0);", 2, { -2, 0.5f } },
    { "y = tract_core_scatter_nd(x, [[1], [3]], [7.0, 8.0]);", 4, { 1, 7, 3, 8 } },
    { "y = tract_core_scatter_elements(x, [3, 0], [5.0, 6.0], axis = 0);", 4, { 6, -2, 3, 5 } },
    { "(v, i) = tract_core_topk(x, k = 2, axis = 0); y = v + i;", 2, { 5, 1 } },
    { "y = tract_core_trilu(reshape(x, [2, 2]), 0, upper = false);", 4, { 1, 0, 3, 0.5f } },
    { "i = tract_core_cast([1, 0], to = \"i64\"); y = tract_core_one_hot(i, axis = 1, dim = 3, "
      "value_on = 2.0);", 6, { 0, 2, 0, 2, 0, 0 } },
    { "y = tract_core_einsum([x, x], expr = \"i,i->\", acc = \"f32\");", 1, { 14.25f } },
    { "y = tract_core_product_reduce(x, axes = [0]);", 1, { -3 } },
    { "y = select(any_reduce(x > 2.0, axes = [0]), 1.0, 0.0);", 1, { 1 } },
    { "y = select(all_reduce(x > 2.0, axes = [0]), 1.0, 0.0);", 1, { 0 } },
    { "y = tract_core_silu(x);", 4, { 0.73105858f, -0.23840584f, 2.8577224f, 0.31122967f } },
    { "y = tract_core_rms_norm(x, axis = 0, eps = 0.4375);", 4, { 0.5f, -1, 1.5f, 0.25f } },
    { "y = tract_core_pow_const(x, exponent = 2.0);", 4, { 1, 4, 9, 0.25f } },
    { "y = tract_core_round_even(x * 3.0);", 4, { 3, -6, 9, 2 } },
    { "y = tract_core_downsample(x, axis = 0, stride = 2, modulo = 1);", 2, { -2, 0.5f } },
    { "y = tract_core_downsample(x, axis = 0, stride = -1, modulo = 0);", 4, { 0.5f, 3, -2, 1 } },
    { "y = tract_core_downsample(x, axis = 0, stride = -2, modulo = 0);", 2, { 0.5f, -2 } },
    { "y = tract_core_dyn_slice(x, 1, 3, axis = 0, len = 2);", 2, { -2, 3 } },
    { "y = tract_core_fft(reshape(x, [2, 2]), axis = 0, inverse = false);", 4,
      { 4, -1.5f, -2, -2.5f } },
    { "z = tract_core_fft(reshape(x, [2, 2]), axis = 0, inverse = false); y = tract_core_fft(z, "
      "axis = 0, inverse = true);", 4, { 2, -4, 6, 1 } },
    { "z = pad(unsqueeze(x, [1]), padding = [(0, 0), (0, 1)]); y = tract_core_stft(z, axis = 0, "
      "frame = 2, stride = 2, window = [2.0, 1.0]);", 8, { 0, 0, 4, 0, 6.5f, 0, 5.5f, 0 } },
    { "z = pad(reshape(x, [2, 2, 1]), padding = [(0, 0), (0, 0), (0, 1)]); y = tract_core_stft(z, "
      "axis = 0, frame = 2, stride = 1);", 8, { 4, 0, -1.5f, 0, -2, 0, -2.5f, 0 } },
    { "y = slice([[1.0, 2.0, 3.0]], axes = [1], begin = [1], end = [3]);", 2, { 2, 3 } },
    { "y = nearest_upsample(x, factor = [2]);", 8, { 1, 1, -2, -2, 3, 3, 0.5f, 0.5f } },
    { "y = multilinear_upsample(reshape(x, [1, 1, 4]), factor = [2], method = \"aligned\");", 8,
      { 1, -0.28571428f, -1.57142855f, -0.57142857f, 1.57142855f, 2.64285714f, 1.57142857f, 0.5f } },
    { "y = tract_core_resize(x, sizes = [2.0], coord_transformer = \"asymmetric\");", 2, { 1, 3 } },
    { "y = debox(reshape(x, [1, 2, 2]), size = [1, 1, 2], stride = [1, 1, 2], padding = [(0, 0), "
      "(0, 0), (0, 0)], normalize = true);", 8,
      { 0.5f, 0.5f, -1, -1, 1.5f, 1.5f, 0.25f, 0.25f } },
    { "y = tract_transformers_scaled_masked_softmax(reshape(x, [2, 2]), [[true, false], [true, "
      "true]], scale = 1.0);", 4, { 1, 0, 0.92414182f, 0.07585818f } },
    { "y = tract_transformers_scaled_masked_softmax(reshape(x, [2, 2]), [[false, false], [true, "
      "true]], scale = 1.0, post_softmax_mask = true);", 4, { 0, 0, 0.92414182f, 0.07585818f } },
    { "q = reshape(x, [1, 2, 2]); y = tract_transformers_sdpa(q, q, q, causal = true, scale = "
      "1.0);", 4, { 1, -2, 2.99858066f, 0.49822582f } },
    { "q = reshape(x, [1, 2, 1, 2]); k = slice(q, axes = [1], begin = [0], end = [1]); y = "
      "tract_transformers_sdpa(q, k, k);", 4, { 1, -2, 1, -2 } },
    { "y = tract_transformers_apply_rope(x, [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 2.0, 2.0]);", 4,
      { -2, -2.5f, 5, -3.5f } },
    { "(y, s) = tract_transformers_causal_conv1d_update(reshape(x, [1, 1, 4]), [[1.0, 0.0]], [[[9.0, "
      "0.0]]]);", 4, { 0, 0.73105858f, -0.23840584f, 2.8577224f } },
    { "(y, s) = tract_transformers_causal_conv1d_update(reshape(x, [1, 1, 4]), [[1.0, 0.0]], [[[9.0, "
      "0.0]]]); y = s;", 2, { 3, 0.5f } },
    { "(y, s) = tract_qwen35_causal_conv1d_update(reshape(x, [1, 1, 4]), [[[1.0, 0.0]]], [[[9.0, "
      "0.0]]]); y = s;", 2, { 3, 0.5f } },
    { "y = tract_core_clamped_swiglu(x, -x, alpha = 1.702, limit = 2.5);", 4,
      { 0, -0.19302413f, -3.69752075f, 0.17519422f } },
    { "a = tract_core_argmax_reduce_last(x * [1.0, 0.0, 0.0, 2.0], axes = [0]); b = "
      "tract_core_argmin_reduce_last(x * [0.0, 1.0, 0.0, -4.0], axes = [0]); y = "
      "tract_core_cast(concat([a, b, argmax_reduce(x * [1.0, 0.0, 0.0, 2.0], axes = [0])], axis = "
      "0), to = 'f32');", 3, { 3, 3, 0 } },
    { "y = tract_onnx_lrn(reshape(x, [1, 4, 1]), alpha = 3.0, beta = 1.0, bias = 1.0, size = 3);", 4,
      { 0.16666667f, -0.13333333f, 0.21052631f, 0.04878049f } },
    { "y = tract_onnx_lrn(reshape(x, [1, 4, 1]), alpha = 2.0, beta = 1.0, bias = 1.0, size = 2);", 4,
      { 0.16666667f, -0.14285715f, 0.29268292f, 0.40000001f } },
    { "y = select(tract_onnx_isinf(x / [1.0, 0.0, 1.0, 0.0]), 1.0, 0.0);", 4, { 0, 1, 0, 1 } },
    { "y = tract_onnx_resize(x, [2.0], coord_transformer = \"asymmetric\");", 8,
      { 1, 1, -2, -2, 3, 3, 0.5f, 0.5f } },
    { "y = tract_transformers_gelu_fast_approx(x) - tract_core_gelu_approximate(x);", 4, { 0 } },
    { "y = tract_core_gru_epilogue([[1.0, 2.0, 3.0]], [[0.5, -1.0, 0.25]], [[2.0]], hidden = 1);",
      1, { 1.81694807f } },
    { "(h, c) = tract_core_lstm_epilogue([[1.0, 2.0, 3.0, 0.5]], [[2.0]], hidden = 1); y = h;", 1,
      { 0.86117205f } },
    { "(y, last) = tract_core_scan(body = \"add_up\", scan = [(\"in.x\", x, 0, 1)], state = [(\"s\", "
      "[1.0], \"t\")], output = [(\"t\", \"full\", 0, 1), (\"t\", \"last\", 0, 1)]); y = y * last;", 4,
      { 7, 0, 10.5f, 12.25f } },
    { "y = tract_core_scan(body = \"add_up\", scan = [(\"in_x\", x, 0, -1)], state = [(\"s\", [1.0], "
      "\"t\")], output = [(\"t\", \"full\", 0, -1)]);", 4, { 3.5f, 2.5f, 4.5f, 1.5f } },
    { "(y, h) = tract_core_gru_seq(x = reshape(x, [1, 4, 1]), w = [[0.0], [0.0], [1.0]], r = [[0.0], "
      "[0.0], [0.0]], initial_h = [[[0.0]]], hidden = 1, chunk = 1);", 4,
      { 0.38079708f, -0.29161524f, 0.35171975f, 0.40691845f } },
    { "(y, h) = tract_core_gru_seq(x = reshape(x, [1, 4, 1]) * [[[0.0, 0.0, 1.0]]], r = [[0.0], "
      "[0.0], [0.0]], initial_h = [[[0.0]]], hidden = 1, chunk = -1, projected = 1); y = h;", 1,
      { 0.29305435f } },
    { "i\"my y\" = x + 1.0; y = i'my y';", 4, { 2, -1, 4, 1.5f } },
};
/* clang-format on */

#define FRAGMENTS                                                                                  \
    "version 1.0;\nextension KHR_enable_fragment_definitions;\n"                                   \
    "extension tract_registry tract_core;\nextension tract_registry tract_transformers;\n"         \
    "fragment sum(x: tensor<scalar>, s: tensor<scalar>) -> (y: tensor<scalar>, t: "                \
    "tensor<scalar>)\n"                                                                            \
    "{ t = s + x; y = t; }\n"                                                                      \
    "fragment scaled(x: tensor<scalar>, z: tensor<scalar>, k: tensor<scalar>, twice: logical = "   \
    "true)\n"                                                                                      \
    "-> (y: tensor<scalar>) { y = (x + z) * k if twice else x; }\n"                                \
    "fragment add_up(in_x: tensor<scalar>, s: tensor<scalar>) -> (t: tensor<scalar>) { t = s + "   \
    "in_x; }\n"

static bool run_text(struct session *s, const char *text, const struct tensor **ret)
{
    struct tgraph t;
    static const struct tensor x = {
        .type = DTYPE_F32, .rank = 1, .dim = { 4 }, .data = (void *) (uintptr_t) x4
    };
    const struct tensor *in[] = { &x };
    return session_read(s, text, NULL, NULL) == RILL_OK &&
        tgraph_from_mgraph(&t, &s->graph, NULL, &s->err) == RILL_OK &&
        interp_run(&t.g, in, &s->arena, ret, &s->err) == RILL_OK;
}

static bool values_agree(const struct tensor *t, const float *y, unsigned n)
{
    if (t->type != DTYPE_F32 || tensor_count(t) != n)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!(fabsf(((const float *) t->data)[i] - y[i]) <= 1e-6f))
            return false;
    return true;
}

static void test_values(void)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[2048];
        struct session s;
        const struct tensor *out = NULL;
        snprintf(text, sizeof text, FRAGMENTS "graph g(x) -> (y) { " IN_X "%s }",
                 values[i].statements);
        bool ran = run_text(&s, text, &out);
        CHECK(ran, "%s: %s", values[i].statements, s.err.text);
        if (ran)
            CHECK(values_agree(out, values[i].y, values[i].n), "%s: wrong values: %.9g ..",
                  values[i].statements,
                  out->type == DTYPE_F32 ? (double) ((const float *) out->data)[0] : NAN);
        session_end(&s);
    }
}

/* ---- refusals: place and words ---- */

/* clang-format off */
#define Y(value, STATUS, column, words) \
    { "graph g(x) -> (y) { " IN_X "y = " value "; }", RILL_##STATUS, "t.nnef:1:" #column, words }
#define MFCC_AT(size, hop, fft, bands, high, n, place, words) \
    { "graph g(x) -> (y) { x = external(shape = [S]); y = rill_mfcc(x, size = " #size ", hop = " #hop \
      ", fft = " #fft ", bands = " #bands ", rate = 16000.0, low = 20.0, high = " #high ", n = " #n \
      "); }", RILL_MALFORMED, "t.nnef:1:52" place, words }
#define MFCC(size, hop, fft, bands, high, n, words) \
    MFCC_AT(size, hop, fft, bands, high, n, "", words)
#define MFCC_MEL(size, hop, fft, bands, high, n, words) \
    MFCC_AT(size, hop, fft, bands, high, n, ": 'rill_mfcc': stdlib:", words)
#define FBANK(attr, place, words) \
    { "graph g(x) -> (y) { x = external(shape = [S]); y = rill_fbank(x, " attr "); }", \
      RILL_MALFORMED, "t.nnef:1:52" place, words }
#define TRACT "extension tract_registry tract_core;\nextension tract_registry tract_transformers;\n"
#define T(value, STATUS, words) \
    { TRACT "graph g(x) -> (y) { " IN_X "y = " value "; }", RILL_##STATUS, "t.nnef:3:", words }
#define SCAN(args, words) \
    { "fragment f(x: tensor<scalar>, s: tensor<scalar>) -> (s: tensor<scalar>, y: tensor<scalar>) " \
      "{ x = external(shape = []); s = external(shape = []); y = x + s; }\n" \
      "graph g(x) -> (y) { " IN_X "y = rill_op('Scan', " args "); }", \
      RILL_MALFORMED, "t.nnef:2:", words }
#define BRANCHES(args, words) \
    { "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { x = external(shape = [4]); y = x; }\n" \
      "graph g(x) -> (y) { " IN_X "y = rill_op('If', " args "); }", \
      RILL_MALFORMED, "t.nnef:2:", words }
#define TS(args, STATUS, words) \
    { TRACT "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { y = x; }\n" \
      "graph g(x) -> (y) { " IN_X "y = tract_core_scan(body = \"f\", " args "); }", \
      RILL_##STATUS, "t.nnef:4:", words }
/* clang-format on */

static const struct {
    const char *text;
    rill_status status;
    const char *place, *words;
} bad[] = {
    { "", RILL_MALFORMED, "t.nnef:1:1", "found the end of the text, expected 'version'" },
    { "version 2.0; graph g(x) -> (y) {}", RILL_UNSUPPORTED, "t.nnef:1:9", "version 2.0" },
    { "version 1.0;\ngraph g(x) -> (y) {\n  x = external(shape = [4]);\n  y = x +;\n}",
      RILL_MALFORMED, "t.nnef:4:10", "found ';', expected an expression" },
    { "version 1.0;\ngraph g(x) -> (y) { x = external(shape = [4]) y = x; }", RILL_MALFORMED,
      "t.nnef:2:47", "found 'y', expected ';'" },
    { "graph g(x) -> (y) { x = external(shape = [4]); y = \"abc; }", RILL_MALFORMED, "t.nnef:1:52",
      "closing quote" },
    { "graph g(x) -> (y) { x = external(shape = [4]); y = x @ x; }", RILL_MALFORMED, "t.nnef:1:54",
      "byte 0x40" },
    Y("z", MALFORMED, 60, "unknown name 'z'"),
    Y("rill_op('Nothing', inputs = [x])", UNSUPPORTED, 60, "no op 'Nothing'"),
    Y("rill_op('Fused', inputs = [x])", UNSUPPORTED, 60, "no op 'Fused'"),
    Y("rill_op('Concat', inputs = x)", MALFORMED, 60, "'inputs' is a tensor, expected a list"),
    Y("rill_op('Add', inputs = [x])", MALFORMED, 60, "has 1 inputs, wants 2"),
    Y("rill_op('Add', inputs = [x, []])", MALFORMED, 60, "input 1 is required"),
    Y("rill_op('Split', inputs = [x], outputs = 100000)", LIMIT, 60, "expected 1 to 4096"),
    Y("rill_op('Softmax', inputs = [x], attributes = [('axes', 1)])", UNSUPPORTED, 60, "'axes'"),
    Y("rill_op('Softmax', inputs = [x], attributes = [1])", MALFORMED, 60, "not a pair"),
    Y("rill_op('Cast', inputs = [x], attributes = [('to', 'f31')])", UNSUPPORTED, 60, "f31"),
    Y("rill_op('Cast', inputs = [x], attributes = [('to', 777)])", UNSUPPORTED, 60, "777"),
    Y("rill_op('Loop', inputs = [3, true, x], attributes = [('states', 1)])", UNSUPPORTED, 60,
      "no op 'Loop'"),
    Y("rill_op('Transpose', inputs = [x], attributes = [('perm', [0, 'a'])])", MALFORMED, 60,
      "a list of an integer and a string"),
    Y("x * rill_size('S +')", INVALID, 64, "S +"),
    SCAN("inputs = [1.0, x], attributes = [('states', 1), ('scans', 1)]",
         "'body' is not the name of a fragment"),
    SCAN("inputs = [x], attributes = [('states', 0), ('scans', 1)], body = f",
         "a Scan of 1 inputs, 0 states and 1 scanned"),
    SCAN("inputs = [x, x], attributes = [('states', 9), ('scans', 1)], body = f", "9 states"),
    SCAN("inputs = [x, x], attributes = [('states', -1), ('scans', 3)], body = f", "-1 states"),
    SCAN(
        "inputs = [1.0, x], attributes = [('states', 1), ('scans', 1), ('in_axes', [7])], body = f",
        "along no axis"),
    SCAN("inputs = [x, 1.0], attributes = [('states', 1), ('scans', 1)], body = f",
         "along no axis"),
    BRANCHES("inputs = [true, x], body = f", "'other' is not the name of a fragment"),
    BRANCHES("inputs = [x, x], body = f, other = f", "the condition of an If is f32, not bool"),
    BRANCHES("inputs = [true], body = f, other = f",
             "an If of 1 inputs does not fit branches of 1 and 1 inputs"),
    BRANCHES("inputs = [true, []], body = f, other = f", "does not fit branches"),
    Y("relu", MALFORMED, 60, "'relu' is an operator"),
    Y("frobnicate(x)", UNSUPPORTED, 60, "unknown operator 'frobnicate'"),
    Y("relu(x, 3)", MALFORMED, 68, "at most 1 arguments"),
    Y("elu(x, beta = 3.0)", MALFORMED, 74, "no argument 'beta', expected one of: x, alpha"),
    Y("leaky_relu(x)", MALFORMED, 60, "'alpha' is missing"),
    Y("relu(x, x = x)", MALFORMED, 72, "given twice"),
    { "graph g(x) -> (y) { " IN_X "x = relu(x); y = x; }", RILL_MALFORMED, "t.nnef:1:56",
      "assigned twice" },
    { "graph g(x) -> (y) { " IN_X "z = relu(x); }", RILL_MALFORMED, "t.nnef:1:16", "promises 'y'" },
    { "graph g(x, w) -> (y) { " IN_X "y = x; }", RILL_MALFORMED, "t.nnef:1:12",
      "'w' is nowhere declared" },
    { "graph g(x) -> (y) { z = external(shape = [4]); y = z; }", RILL_MALFORMED, "t.nnef:1:25",
      "'z' is not among the inputs" },
    Y("x + constant(shape = [3], value = [1.0])", UNSUPPORTED, 62, "do not broadcast"),
    Y("x + \"a\"", MALFORMED, 62, "a string"),
    Y("x * (9223372036854775807 + 1)", LIMIT, 85, "64 bits"),
    Y("x * 92233720368547758070", MALFORMED, 64, "63 bits"),
    Y("x * (1 / 0)", MALFORMED, 67, "1 / 0 has no value"),
    Y("x * (0 / (2 - 2))", MALFORMED, 67, "0 / 0 has no value"),
    Y("x if x > 0.0 else x", UNSUPPORTED, 67, "use select"),
    Y("rill_only(\"x\", 3)", MALFORMED, 60, "expected a list of strings"),
    Y("rill_only(\"x\", [1, 2])", MALFORMED, 60, "expected a list of strings"),
    Y("rill_only(\"x\", [])", MALFORMED, 60, "expected a list of strings"),
    Y("rill_only(\"x\", [\"x\", 2])", MALFORMED, 60, "expected a list of strings"),
    Y("[x][1]", MALFORMED, 63, "index 1 of a list of 1"),
    { "graph g(x) -> (y) { " IN_X "[a, b] = [x]; y = a; }", RILL_MALFORMED, "t.nnef:1:56",
      "2 names on the left" },
    Y("concat([for i in [1] x], axis = 0)", MALFORMED, 81, "'yield'"),
    Y("rill_frame(x, size = 0, hop = 1)", UNSUPPORTED, 60, "size 0"),
    Y("rill_frame(x, size = 2, hop = 1, end = \"never\")", UNSUPPORTED, 60,
      "'never', supported: drop, cover, flush"),
    MFCC(640, 320, 512, 40, 4000.0, 10, "'rill_mfcc': fft is 512, expected at least size, 640"),
    MFCC(641, 320, 1023, 40, 4000.0, 10, "'rill_mfcc': fft is 1023, expected an even number"),
    MFCC(640, 800, 1024, 40, 4000.0, 10, "'rill_mfcc': size is 640, expected at least hop, 800"),
    MFCC(640, 0, 1024, 40, 4000.0, 10, "'rill_mfcc': hop is 0, expected at least 1 sample"),
    MFCC(-5, 320, 1024, 40, 4000.0, 10, "'rill_mfcc': size is -5, expected at least 1 sample"),
    MFCC(640, 320, 1024, 0, 4000.0, 10, "'rill_mfcc': bands is 0, expected at least 1"),
    MFCC(640, 320, 1024, 40, 4000.0, 41, "'rill_mfcc': bands is 40, expected at least n, 41"),
    MFCC(640, 320, 1024, 40, 4000.0, -1, "'rill_mfcc': n is -1, expected at least 1"),
    MFCC_MEL(640, 320, 1024, 40, 9000.0, 10,
             "'rill_mel': high is 9000 Hz, expected above 0 and at most half the rate, 8000 Hz"),
    MFCC_MEL(640, 320, 1024, 40, -4.0, 10, "'rill_mel': high is -4 Hz"),
    MFCC_MEL(640, 320, 1024, 40, 20.0, 10,
             "'rill_mel': low is 20 Hz, expected at least 0 and below high, 20 Hz"),
    FBANK("size = 600", "", "'rill_fbank': fft is 512, expected at least size, 600"),
    FBANK("hop = 500", "", "'rill_fbank': size is 400, expected at least hop, 500"),
    FBANK("high = 9000.0", ": 'rill_fbank': stdlib:", "high is 9000 Hz"),
    FBANK("floor = 0.0", "", "'rill_fbank': floor is 0, expected above 0.0"),
    Y("rill_log(x, -1.0)", MALFORMED, 60, "'rill_log': floor is -1, expected above 0.0"),
    Y("rill_mel(x, bands = 1, rate = 6.0, high = 4.0)", MALFORMED, 60,
      "high is 4 Hz, expected above 0 and at most half the rate, 3"),
    Y("rill_mel(x, bands = 1, rate = -6.0)", MALFORMED, 60, "rate is -6 Hz, expected above 0"),
    Y("rill_bands(x, widths = [2, 3])", MALFORMED, 60,
      "x is f32[4], the widths want f32 and a last axis of 5"),
    Y("rill_spread(x, widths = [2, 0, 1, 1])", MALFORMED, 60, "band 1 is 0 wide"),
    Y("x * rill_window(\"kaiser\", 4)", UNSUPPORTED, 64, "kaiser"),
    Y("x * rill_window(\"hann\", 100000000)", LIMIT, 64, "100000000 samples"),
    Y("x + constant(shape = [100000, 100000, 100000], value = [1.0])", LIMIT, 64, "over the limit"),
    Y("x + constant(shape = [4294967296, 4294967296, 4294967296], value = [1.0])", LIMIT, 64,
      "over the limit"),
    { "graph g(x) -> (y) { x = external(shape = [1,1,1,1,1,1,1,1,1]); y = x; }", RILL_LIMIT,
      "t.nnef:1:42", "more than 8 elements" },
    { "graph g(x) -> (y) { x = external(shape = [-1]); y = x; }", RILL_MALFORMED, "t.nnef:1:25",
      "size -1" },
    { "graph g(x) -> (y) { " IN_X "w = variable(shape = [4], label = \"w\"); y = x + w; }", RILL_IO,
      "t.nnef:1:60", "no folder" },
    Y("conv(reshape(x, [1, 1, 4]), constant(shape = [1, 1, 2], value = [1.0]), stride = [1, 1])",
      MALFORMED, 60, "'stride' has 2 entries for 1 spatial axes"),
    Y("rill_onnx_scan(x, file = \"a.onnx\")", IO, 60, "no folder"),
    { "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { y = f(x); }\n"
      "graph g(x) -> (y) { " IN_X "y = f(x); }",
      RILL_LIMIT, "t.nnef:1:60", "more than 32 deep" },
    { "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { y = x; }\n"
      "graph g(x) -> (y) { " IN_X "y = rill_scan(x, body = nobody); }",
      RILL_MALFORMED, "t.nnef:2:80", "'nobody' is no fragment" },
    { "fragment f(x: tensor<scalar>, s: tensor<scalar>) -> (y: tensor<scalar>, t: tensor<scalar>) "
      "{ y = x; t "
      "= s; }\ngraph g(x) -> (y) { " IN_X
      "y = rill_scan(x, body = f, state = [(s, u, rill_fill([], 0.0))]); }",
      RILL_MALFORMED, "t.nnef:2:92", "state ('s', 'u'): fragment 'f' has no result 'u'" },
    { "fragment f(x: tensor<scalar>, s: tensor<scalar>) -> (y: tensor<scalar>, t: tensor<scalar>)\n"
      "{ y = x; t = s + rill_fill([2], 1.0); }\n"
      "graph g(x) -> (y) { " IN_X
      "y = rill_scan(x, body = f, state = [(s, t, rill_fill([], 0.0))]); }",
      RILL_MALFORMED, "t.nnef:3:60", "'s' starts as f32[] but 't' is f32[2]" },
    { "fragment f(x: tensor<scalar>, s: tensor<scalar>) -> (y: tensor<scalar>) { y = x + s; }\n"
      "graph g(x) -> (y) { " IN_X "y = rill_scan([x, rill_fill([3], 0.0)], body = f); }",
      RILL_MALFORMED, "t.nnef:2:60", "tensor 1 to scan is f32[3]: expected frames along axis 0" },
    { "extension rill_assert S>0;\nextension rill_assert S + FOO>1;\ngraph g(x) -> (y) { "
      "x = external<scalar>(shape = [S]); y = x; }",
      RILL_INVALID, "t.nnef:2:11", "assertion 'S + FOO>1': nothing has a symbol 'FOO'" },
    { "extension rill_symbol S;\nextension rill_assert 2*S < -3;\ngraph g(x) -> (y) { " IN_X
      "y = x; }",
      RILL_INVALID, "t.nnef:2:11", "'2*S < -3' contradicts what is known" },
    { "extension rill_assert S<0;\ngraph g(x) -> (y) { x = external<scalar>(shape = [S]); "
      "y = x; }",
      RILL_INVALID, "", "'S<0' contradicts what is known: S >= 0" },
    { "extension rill_frobnicate S;\ngraph g(x) -> (y) { " IN_X "y = x; }", RILL_UNSUPPORTED,
      "t.nnef:1:11", "extension 'rill_frobnicate'" },
    { "extension tract_registry tract_core;\ngraph g(x) -> (y) { " IN_X "y = tract_core_frob(x); }",
      RILL_UNSUPPORTED, "t.nnef:2:60", "of the registry 'tract_core' only those that" },
    Y("tract_core_silu(x)", MALFORMED, 60, "a registry that the text does not declare"),
    Y("tract_core_cast(x, to = \"i64\")", MALFORMED, 60,
      "expected 'extension tract_registry NAME;'"),
    Y("x + [[1.0], [2.0, 3.0]]", MALFORMED, 62, "expected a tensor or lists of one length"),
    Y("x + []", MALFORMED, 62, "expected a tensor or lists of one length"),
    Y("x * ([1.0] * 400001)", LIMIT, 71, "a list of more than 400000 elements"),
    T("tract_core_cast(x, to = \"f99\")", UNSUPPORTED, "elements of 'f99', supported: f32"),
    T("tract_core_cast(x)", MALFORMED, "or say in graph.quant"),
    T("tract_core_topk(x, k = 2, axis = 1)", UNSUPPORTED, "(TopK): axis"),
    T("tract_core_stft(unsqueeze(x, [1]), axis = 1, frame = 2, stride = 1)", MALFORMED,
      "axis 1 of a tensor of rank 2"),
    T("tract_core_stft(unsqueeze(x, [1]), axis = 0, frame = 2, stride = 1, window = [1.0, 1.0, "
      "1.0])",
      MALFORMED, "a window of 3 samples in frames of 2"),
    T("tract_core_resize(x)", MALFORMED, "expected scales or sizes, one of them"),
    T("nearest_upsample(x, factor = [2, 2])", MALFORMED, "expected a list of at most 1"),
    T("multilinear_upsample(x, factor = [2], border = \"reflect\")", UNSUPPORTED, "with replicate"),
    T("tract_transformers_sdpa(x, x, x)", MALFORMED, "q, k and v of one rank, 3 or 4"),
    TS("scan = [(\"z\", x, 0, 1)], output = [(\"y\", \"full\", 0, 1)]", MALFORMED,
       "'z' is no parameter"),
    TS("scan = [(\"x\", x, 1, 1)], output = [(\"y\", \"full\", 0, 1)]", MALFORMED,
       "'x' has no such axis"),
    TS("scan = [(\"x\", x, 0, 2)], output = [(\"y\", \"full\", 0, 1)]", UNSUPPORTED,
       "supported: by 1 or -1"),
    TS("scan = [(\"x\", x, 0, 1)], output = [(\"z\", \"full\", 0, 1)]", MALFORMED,
       "names no result"),
    TS("scan = [(\"x\", x, 0, 1)], output = [(\"y\", \"last\", 0, 1)]", MALFORMED,
       "wanted as it is last, but is no state"),
    TS("scan = [(\"x\", x, 0, 1)], output = [(\"y\", \"first\", 0, 1)]", MALFORMED,
       "neither \"full\" nor \"last\""),
    TS("scan = [(\"x\", x, 0, 1)], output = []", MALFORMED, "a scan needs an output"),
    TS("scan = [], output = [(\"y\", \"full\", 0, 1)]", MALFORMED, "needs a tensor to scan"),
    TS("scan = [(\"x\", x, 0, 1)], output = [(\"y\", \"full\", 0, 1)], skip = 1", UNSUPPORTED,
       "made a stream before it was written"),
    { "extension tract_registry tract_core;\ngraph g(x) -> (y) { " IN_X "y = tract_corescan(x); }",
      RILL_UNSUPPORTED, "t.nnef:2:60", "unknown operator 'tract_corescan', expected a fragment" },
    { "extension tract_registry acme_core;\ngraph g(x) -> (y) { " IN_X "y = x; }", RILL_UNSUPPORTED,
      "t.nnef:1:11", "the registry 'acme_core' is not known" },
    { "extension tract_registry;\ngraph g(x) -> (y) { " IN_X "y = x; }", RILL_UNSUPPORTED,
      "t.nnef:1:11", "the registry '' is not known" },
    { "graph g(x) -> (y) { " IN_X "y = x; } graph", RILL_MALFORMED, "t.nnef:1:65",
      "expected the end of the text" },
    { "graph g(x, x) -> (y) { }", RILL_MALFORMED, "t.nnef:1:12", "declared twice" },
    { "graph g(x) -> (y) { 3 = x; }", RILL_MALFORMED, "t.nnef:1:21", "expected a statement" },
    { "graph g(x) -> (y) { [] = x; }", RILL_MALFORMED, "t.nnef:1:21",
      "not a name or a list of names" },
    { "graph g(x) -> (y) { f(x) = x; }", RILL_MALFORMED, "t.nnef:1:21",
      "not a name or a list of names" },
    { "fragment f(x) -> (y) { }", RILL_MALFORMED, "t.nnef:1:13", "found ')', expected ':'" },
};

static void bad_check(const char *text, rill_status want, const char *place, const char *words,
                      const struct nnef_limits *limits)
{
    struct session s;
    rill_status got = session_read(&s, text, NULL, limits);
    CHECK(got == want, "%.60s: status %d, expected %d: %s", text, got, want, s.err.text);
    CHECK(got == RILL_OK ||
              (!strncmp(s.err.text, place, strlen(place)) && strstr(s.err.text, words)),
          "%.60s: '%s', expected %s ... %s", text, s.err.text, place, words);
    session_end(&s);
}

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        bad_check(bad[i].text, bad[i].status, bad[i].place, bad[i].words, NULL);
}

/* n copies of a piece between a head and a tail. */
static char *repeated(const char *head, const char *piece, size_t n, const char *tail)
{
    size_t k = strlen(piece);
    char *s = calloc(1, strlen(head) + n * k + strlen(tail) + 1), *at = s;
    if (!s)
        abort();
    at = stpcpy(at, head);
    for (size_t i = 0; i < n; i++)
        at = stpcpy(at, piece);
    strcpy(at, tail);
    return s;
}

static void test_limits(void)
{
    static const struct {
        const char *piece, *tail;
        size_t n;
        rill_status status;
        const char *words;
    } deep[] = {
        { "(", "", 100000, RILL_LIMIT, "nested" },
        { "[", "", 100000, RILL_LIMIT, "nested" },
        { "-", "", 100000, RILL_LIMIT, "nested" },
        { "f(", "", 100000, RILL_LIMIT, "nested" },
        { "x if ", "", 100000, RILL_MALFORMED, "expected" },
        { "x + ", "x;}", 100000, RILL_LIMIT, "levels" },
        { "x if true else ", "x;}", 100000, RILL_LIMIT, "nested" },
    };
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        char *text =
            repeated("graph g(x) -> (y) { " IN_X "y = ", deep[i].piece, deep[i].n, deep[i].tail);
        bad_check(text, deep[i].status, "t.nnef:1:", deep[i].words, NULL);
        free(text);
    }
    char *text = repeated("graph g(x) -> (y) { " IN_X "y = x", "[0]", 100000, ";}");
    bad_check(text, RILL_LIMIT, "t.nnef:1:", "levels", NULL);
    free(text);

    struct nnef_limits small = nnef_limits_default;
    small.nodes = 2;
    bad_check("graph g(x) -> (y) { " IN_X "y = relu(relu(relu(x))); }", RILL_LIMIT,
              "t.nnef:1:", "more than 2 nodes", &small);
    small = nnef_limits_default;
    small.literal_bytes = 40;
    bad_check("graph g(x) -> (y) { " IN_X
              "y = x + rill_fill([4], 1.0) + rill_fill([4], 1.0) + rill_fill([3]); }",
              RILL_LIMIT, "t.nnef:1:", "over the limit of 40 bytes for all of them", &small);
    small.literal_bytes = 32;
    bad_check("graph g(x) -> (y) { " IN_X "y = x + rill_fill([4], 1.0) + rill_fill([4], 1.0); }",
              RILL_OK, "", "", &small);
    small = nnef_limits_default;
    small.text_bytes = 10;
    bad_check("graph g(x) -> (y) { }", RILL_LIMIT, "t.nnef: 21 bytes", "limit is 10", &small);
}

/* Fragments that double at each level stop at the limit, in bounded time and memory. */
static void test_explosion(void)
{
    char text[8192] = "", line[200];
    for (int i = 0; i < 30; i++) {
        snprintf(
            line, sizeof line,
            "fragment f%d(x: tensor<scalar>) -> (y: tensor<scalar>) { y = f%d(x) + f%d(x); }\n", i,
            i + 1, i + 1);
        strcat(text, line);
    }
    strcat(text,
           "fragment f30(x: tensor<scalar>) -> (y: tensor<scalar>) { y = relu(x); }\n"
           "graph g(x) -> (y) { " IN_X "y = f0(x); }");
    bad_check(text, RILL_LIMIT, "t.nnef:", "more than 100000 nodes", NULL);
}

/* ---- shapes of inputs ---- */

static void test_symbols(void)
{
    struct session s;
    char shape[80];
    rill_status got =
        session_read(&s,
                     "extension rill_symbol T;\ngraph g(a, b) -> (y) {\n"
                     "b = external(shape = [T * 2, 3]); a = external<integer>(shape = "
                     "[S]); y = a; }",
                     NULL, NULL);
    CHECK(got == RILL_OK, "symbols: %s", s.err.text);
    if (got != RILL_OK) {
        session_end(&s);
        return;
    }
    const struct graph *g = &s.graph.g;
    CHECK(g->n_inputs == 2 && !strcmp(g->wires[g->inputs[0]].name, "a"),
          "inputs stand in the order of the head");
    fact_print(&g->wires[g->inputs[0]].fact, shape, sizeof shape);
    CHECK(!strcmp(shape, "i64[S]"), "a is %s", shape);
    fact_print(&g->wires[g->inputs[1]].fact, shape, sizeof shape);
    CHECK(!strcmp(shape, "f32[2*T,3]") || !strcmp(shape, "f32[T*2,3]"), "b is %s", shape);
    CHECK(!strcmp(g->wires[g->outputs[0]].name, "y"), "the output is called %s",
          g->wires[g->outputs[0]].name);
    session_end(&s);
}

/* Every cut of a good text is refused or read, never worse. */
static void test_truncated(void)
{
    static const char text[] =
        FRAGMENTS "graph g(x) -> (y) { " IN_X
                  "y = rill_scan(x, body = sum, state = [(s, t, rill_fill([], 1.0))]) * [1.0, "
                  "2][0]; }";
    unsigned refused = 0;
    for (size_t n = 0; n < sizeof text - 1; n++) {
        char *cut = strndup(text, n);
        struct session s;
        refused += session_read(&s, cut, NULL, NULL) != RILL_OK && s.err.text[0];
        session_end(&s);
        free(cut);
    }
    CHECK(refused == sizeof text - 1, "%u of %zu cuts are refused with words", refused,
          sizeof text - 1);
}

/* Operators of tract that are not read: docs/nnef.md says why. */
static void test_tract_unread(void)
{
    static const char *const unread[] = {
        "core_complex_to_inner_dim",
        "core_inner_dim_to_complex",
        "core_vptq_gemm",
        "onnx_multinomial",
        "onnx_random",
        "onnx_non_max_suppression",
        "onnx_ml_direct_lookup",
        "onnx_ml_category_mapper_to_int",
        "onnx_ml_linear_regressor",
        "onnx_ml_tree_ensemble_classifier",
        "transformers_quantized_dyn_kv_cache",
        "transformers_quantized_kv_sdpa",
    };
    for (unsigned i = 0; i < sizeof unread / sizeof *unread; i++) {
        char text[512], words[128];
        struct session s;
        snprintf(words, sizeof words, "'tract_%s' is not supported: ", unread[i]);
        snprintf(text, sizeof text,
                 TRACT "extension tract_registry tract_onnx;\n"
                       "graph g(x) -> (y) { " IN_X "y = tract_%s(x); }",
                 unread[i]);
        CHECK(session_read(&s, text, NULL, NULL) == RILL_UNSUPPORTED && strstr(s.err.text, words),
              "%s: %s", words, s.err.text);
        session_end(&s);
    }
}

int main(void)
{
    test_values();
    test_bad();
    test_limits();
    test_explosion();
    test_symbols();
    test_truncated();
    test_tract_unread();
    return check_done();
}
