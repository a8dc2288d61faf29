/* SPDX-License-Identifier: MIT */
/* .tflite files: nets of a few operators against what the format's reference kernels made of the
 * same numbers (tests/models/tflite/make.py), published ones, and bad files. */
#include "rill.h"
#include "models/tflite/reader.h"
#include "engine/typing/typed.h"
#include "tests/models/models_test.h"

static const struct row {
    const char *name;
    float tolerance; /* 0: to the bit */
} rows[] = {
    { "conv8", 0 },
    { "conv8_dilated", 0 },
    { "depthwise8", 0 },
    { "full8", 0 },
    { "full8_ties", 0 },
    { "full8_channels", 0 },
    { "add8", 0 },
    { "sub8", 0 },
    { "add8_broadcast", 0 },
    { "mul8", 0 },
    { "logistic8", 0 },
    { "tanh8", 0 },
    { "curves8", 0 },
    { "curves_u8", 0 },
    { "prelu8", 0 },
    { "relu8", 0 },
    { "requantize8", 0 },
    { "pools8", 0 },
    { "extremes8", 0 },
    { "choices8", 0 },
    { "softmax8", 0 },
    { "norm8", 0 },
    { "mean8", 0 },
    { "mean_undeclared", 0 },
    { "matmul8", 0 },
    { "transpose_conv8", 0 },
    { "resized8", 0 },
    { "resized_u8", 0 },
    { "variable8", 0 },
    { "svdf8", 0 },
    { "lstm8", 0 },
    { "conv16", 0 },
    { "full16", 0 },
    { "full16_wide", 0 },
    { "binary16", 0 },
    { "curves16", 0 },
    { "softmax16", 0 },
    { "windows16", 0 },
    { "ties_of_floats", 0 },
    { "joined_u8", 0 },
    { "transpose_conv_gaps", 1e-5f },
    { "mixed_full", 1e-5f },
    { "mixed_matmul", 1e-5f },
    { "mixed_conv", 1e-5f },
    { "mixed_conv_channels", 1e-5f },
    { "mixed_depthwise", 1e-5f },
    { "mixed_full_shifted", 1e-5f },
    { "mixed_svdf", 1e-5f },
    { "mixed_svdf_shifted", 1e-5f },
    { "mixed_lstm", 1e-5f },
    { "mixed_lstm_shifted", 1e-5f },
    { "svdf_reals", 1e-5f },
    { "lstm_reals", 1e-5f },
    { "conv", 1e-5f },
    { "depthwise", 1e-5f },
    { "transpose_conv", 1e-5f },
    { "full", 1e-5f },
    { "matmul", 1e-5f },
    { "pools", 1e-6f },
    { "elements", 2e-6f },
    { "along", 1e-6f },
    { "resized_reals", 1e-5f },
    { "rows", 1e-5f },
    { "moves", 0 },
};

struct session {
    rill_plan *plan;
    rill_stream *stream;
    rill_port ports[64];
    unsigned n_ports;
};

/* set: a size for each symbol; NULL: none */
static bool session_open(struct session *s, const char *path, const char *set, rill_error *err)
{
    rill_model *m;
    const char *const sets[] = { set, NULL };
    const rill_model_opts opts = { .struct_bytes = sizeof opts, .set = sets };
    *s = (struct session) { .n_ports = 0 };
    if (rill_model_open_with(&m, path, &opts, err) != RILL_OK)
        return false;
    rill_status status = rill_plan_new(&s->plan, m, NULL, err);
    rill_model_free(m);
    if (status != RILL_OK)
        return false;
    s->ports[0].struct_bytes = sizeof *s->ports;
    s->n_ports = rill_plan_ports(s->plan, s->ports, 64);
    void *mem = aligned_alloc(64, (rill_plan_stream_size(s->plan) + 63) / 64 * 64);
    s->stream = mem ? rill_stream_init(mem, s->plan) : NULL;
    return s->stream != NULL;
}

static void session_close(struct session *s)
{
    free(s->stream);
    rill_plan_unref(s->plan);
}

/* One run: what the file has for the inputs goes in, what comes out is compared. */
static float run_compare(struct session *s, const float *ref, size_t *at)
{
    float y[4096], most = 0;
    size_t n;
    for (unsigned i = 0; i < s->n_ports; i++) {
        const rill_port *p = &s->ports[i];
        if (p->is_input) {
            CHECK(rill_stream_push(s->stream, i, ref + *at, 1, &n) == RILL_OK && n == 1, "%s",
                  p->name);
        } else {
            if (!i || s->ports[i - 1].is_input)
                CHECK(rill_stream_run(s->stream) == RILL_OK, "%s", p->name);
            CHECK(rill_stream_pull(s->stream, i, y, 1, &n) == RILL_OK && n == 1, "%s", p->name);
            float d = max_difference(y, ref + *at, p->width);
            if (d > 0)
                printf("  %s: %g\n", p->name, (double) d);
            most = d > most || d != d ? d : most;
        }
        *at += p->width;
    }
    return most;
}

/* file: where the net lies. */
static void test_row(const struct row *r, const char *file)
{
    char path[512];
    struct session s;
    rill_error err = { .text = "" };
    snprintf(path, sizeof path, "tests/models/tflite/refs/%s.ref", r->name);
    struct floats ref = floats_read(source_path(path));
    bool open = session_open(&s, file, NULL, &err);
    CHECK(open && ref.v, "%s: %s", r->name, err.text);
    size_t at = 0;
    float most = 0;
    while (open && at < ref.n) {
        float d = run_compare(&s, ref.v, &at);
        most = d > most || d != d ? d : most;
    }
    CHECK(most <= r->tolerance, "%s: differs by %g", r->name, (double) most);
    if (open)
        session_close(&s);
    free(ref.v);
}

static void test_nets(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char file[8192], path[512];
        snprintf(path, sizeof path, "tests/models/tflite/nets/%s.tflite", rows[i].name);
        snprintf(file, sizeof file, "%s", source_path(path));
        test_row(&rows[i], file);
    }
}

/* ---- axes that the file leaves open (open.py) ---- */

/* Pushes n frames, finishes where there is time, and takes what comes. */
static size_t frames_run(struct session *s, const float *x, size_t n, bool streams, float *y)
{
    size_t given = 0, all = 0, taken;
    for (size_t at = 0; at < n; at += taken) {
        CHECK(rill_stream_push(s->stream, 0, x + at * s->ports[0].width, n - at, &taken) == RILL_OK,
              "push");
        if (rill_stream_run(s->stream) != RILL_OK)
            break;
        rill_stream_pull(s->stream, 1, y + all * s->ports[1].width, n, &given);
        all += given;
    }
    if (streams)
        rill_stream_finish(s->stream);
    while (streams && rill_stream_run(s->stream) == RILL_OK) {
        rill_stream_pull(s->stream, 1, y + all * s->ports[1].width, n, &given);
        all += given;
    }
    return all * s->ports[1].width;
}

/* What is made of 7 rows: by the twin that has as many, by the symbol with that value, and row by
 * row. */
static void test_open(const char *name)
{
    float x[7 * 12], y[3][7 * 8] = { { 0 } };
    size_t n[3] = { 0 };
    rill_error err = { .text = "" };
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (float) (int) (i * 37 % 101) / 25 - 2;
    for (unsigned k = 0; k < 3; k++) {
        char path[128];
        struct session s;
        snprintf(path, sizeof path, "tests/models/tflite/nets/open_%s%s.tflite", name,
                 k == 0 ? "_7" : "");
        bool open = session_open(&s, source_path(path), k == 1 ? "S=7" : NULL, &err);
        CHECK(open, "%s: %s", path, err.text);
        if (open) {
            n[k] = frames_run(&s, x, k == 2 ? 7 : 1, k == 2, y[k]);
            session_close(&s);
        }
        CHECK(n[k] && n[k] == n[0] && !memcmp(y[k], y[0], n[0] * sizeof **y),
              "%s: %zu numbers of %zu, or others", path, n[k], n[0]);
    }
}

/* Two steps each of a recording, with the state that was there. */
static const struct row published[] = { { "dtln_model_quant_1", 1e-5f },
                                        { "dtln_model_quant_2", 1e-5f } };

static void test_published(const struct row *r)
{
    char file[8192], path[512];
    snprintf(path, sizeof path, "models/tflite/%s.tflite", r->name);
    const char *from = shared_path(path);
    if (!from) {
        check_skipped++;
        return;
    }
    snprintf(file, sizeof file, "%s", from);
    test_row(r, file);
}

/* ---- bad files (bad.py) ---- */

static const struct bad {
    const char *name;
    rill_status status;
    const char *words[2];
} bads[] = {
    { "good", RILL_OK, { "" } },
    { "declared_mean", RILL_MALFORMED, { "(MEAN, 'out')", "makes 'out', i32, of 'in'" } },
    { "declared_matmul", RILL_MALFORMED, { "(BATCH_MATMUL, 'out')", "makes 'out', i64, of" } },
    { "custom", RILL_UNSUPPORTED, { "operator 0, which makes 'out'", "'MyOp'" } },
    { "while", RILL_UNSUPPORTED, { "operator 0", "WHILE" } },
    { "unknown_code", RILL_UNSUPPORTED, { "'out'", "250" } },
    { "scale_zero", RILL_MALFORMED, { "'in'", "scale 0 is 0" } },
    { "scale_nan", RILL_MALFORMED, { "'in'", "scale 0 is nan" } },
    { "scale_negative", RILL_MALFORMED, { "'in'", "scale 0 is -1" } },
    { "scale_denormal", RILL_MALFORMED, { "'in'", "scale 0 is 9.99995e-41" } },
    { "zero_range", RILL_MALFORMED, { "'in'", "zero point 0 is 200" } },
    { "scales_number", RILL_MALFORMED, { "'in'", "3 scales" } },
    { "scales_axis", RILL_MALFORMED, { "'weights'", "axis 5" } },
    { "scales_inputs", RILL_UNSUPPORTED, { "FULLY_CONNECTED", "4 scales along axis 1" } },
    { "int16", RILL_UNSUPPORTED, { "FULLY_CONNECTED", "bias is i32; wants i64" } },
    { "int16_zero", RILL_UNSUPPORTED, { "'in'", "zero point of 3" } },
    { "int16_weights", RILL_UNSUPPORTED, { "FULLY_CONNECTED", "'weights' of i8" } },
    { "logistic16_scale", RILL_UNSUPPORTED, { "LOGISTIC", "'out' is in steps of 0.02" } },
    { "softmax16_scale", RILL_UNSUPPORTED, { "SOFTMAX", "1/32768" } },
    { "swish16", RILL_UNSUPPORTED, { "HARD_SWISH", "16 bits" } },
    { "powers", RILL_UNSUPPORTED, { "ADD, 'out'", "2^-2 and 2^-2" } },
    { "div16", RILL_UNSUPPORTED, { "DIV, 'out'", "ADD, SUB and MUL" } },
    { "bias_count",
      RILL_MALFORMED,
      { "FULLY_CONNECTED, 'out'", "bias 'bias' has 3 numbers for 2 outputs" } },
    { "bias_type", RILL_UNSUPPORTED, { "FULLY_CONNECTED", "i64" } },
    { "version", RILL_UNSUPPORTED, { "version 2", "3 is read" } },
    { "no_graph", RILL_MALFORMED, { "no graph", "" } },
    { "no_output", RILL_MALFORMED, { "no outputs", "" } },
    { "no_buffer", RILL_MALFORMED, { "'weights'", "no buffer 77" } },
    { "no_code", RILL_MALFORMED, { "operator 0", "no code 3" } },
    { "no_tensor", RILL_MALFORMED, { "input 1 is tensor 9", "of 4" } },
    { "no_input", RILL_MALFORMED, { "1 inputs", "2 to 3" } },
    { "port", RILL_MALFORMED, { "input 0 is tensor -3", "" } },
    { "buffer_short", RILL_MALFORMED, { "'weights'", "8 bytes, its shape wants 12" } },
    { "buffer_far", RILL_UNSUPPORTED, { "'weights'", "64 bits" } },
    { "dims_negative", RILL_MALFORMED, { "'in'", "negative" } },
    { "dims_overflow", RILL_MALFORMED, { "'in'", "multiply" } },
    { "rank", RILL_UNSUPPORTED, { "'in'", "9 dimensions" } },
    { "text", RILL_UNSUPPORTED, { "'in'", "STRING" } },
    { "element", RILL_UNSUPPORTED, { "'in'", "99" } },
    { "twice", RILL_MALFORMED, { "'out'", "once more" } },
    { "order", RILL_MALFORMED, { "'in'", "before anything makes it" } },
    { "sparse", RILL_UNSUPPORTED, { "'weights'", "sparse" } },
    { "variable", RILL_MALFORMED, { "'memory'", "before it has a value" } },
    { "identifier", RILL_MALFORMED, { "", "" } },
    { "loop", RILL_MALFORMED, { "byte 0", "itself" } },
    { "offset", RILL_MALFORMED, { "byte 0", "leaves the file" } },
    { "cut", RILL_MALFORMED, { "byte", "" } },
    { "stride_absent", RILL_MALFORMED, { "CONV_2D, 'out'", "stride of 0" } },
    { "stride_far", RILL_MALFORMED, { "CONV_2D, 'out'", "stride of 32768" } },
    { "dilation_far", RILL_MALFORMED, { "CONV_2D, 'out'", "dilation of 1073741824" } },
    { "dilation_far_depthwise", RILL_MALFORMED, { "DEPTHWISE_CONV_2D", "dilation of 32768" } },
    { "conv_zero", RILL_UNSUPPORTED, { "CONV_2D", "'weights' of i8 have a zero point" } },
    { "depthwise_zero", RILL_UNSUPPORTED, { "DEPTHWISE_CONV_2D", "'weights' of i8 have a zero" } },
    { "full_zero", RILL_OK, { "" } },
    { "conv_u8_zero", RILL_OK, { "" } },
    { "pool_stride_absent", RILL_MALFORMED, { "MAX_POOL_2D, 'out'", "stride of 0" } },
    { "pool_window_absent", RILL_MALFORMED, { "MAX_POOL_2D, 'out'", "window of 0" } },
    { "logistic_scale", RILL_UNSUPPORTED, { "LOGISTIC", "'out' is in steps of 0.02" } },
    { "logistic_zero", RILL_OK, { "" } },
    { "tanh_scale", RILL_OK, { "" } },
    { "tanh_zero", RILL_OK, { "" } },
    { "tanh_u8_zero", RILL_OK, { "" } },
    { "maximum_scales", RILL_UNSUPPORTED, { "MAXIMUM, 'out'", "'in' has another scale" } },
    { "norm_scale", RILL_UNSUPPORTED, { "L2_NORMALIZATION, 'out'", "1/128" } },
    { "softmax_scale", RILL_UNSUPPORTED, { "SOFTMAX", "1/256" } },
    { "mixed_depthwise_scale",
      RILL_UNSUPPORTED,
      { "DEPTHWISE_CONV_2D", "'weights' have one scale" } },
    { "swish_scale", RILL_UNSUPPORTED, { "HARD_SWISH, 'out'", "steps of 0.001" } },
    { "resize_scale", RILL_UNSUPPORTED, { "RESIZE_BILINEAR, 'out'", "different scales" } },
    { "resize_none", RILL_MALFORMED, { "RESIZE_NEAREST_NEIGHBOR, 'out'", "0 of 4 elements" } },
    { "arg_axis", RILL_MALFORMED, { "ARG_MAX, 'out'", "axis 7 of tensor 'in'" } },
    { "mean_axis", RILL_MALFORMED, { "MEAN, 'out'", "axis -3 of tensor 'in'" } },
    { "mixed_matmul", RILL_UNSUPPORTED, { "BATCH_MATMUL, 'out'", "one matrix for all" } },
    { "svdf_state", RILL_MALFORMED, { "SVDF, 'out'", "'state', is no variable tensor" } },
    { "lstm_bytes", RILL_MALFORMED, { "UNIDIRECTIONAL_SEQUENCE_LSTM", "both states of rank 2" } },
    { "lstm_between", RILL_UNSUPPORTED, { "UNIDIRECTIONAL_SEQUENCE_LSTM", "0 tensors between" } },
    { "lstm_peephole", RILL_UNSUPPORTED, { "UNIDIRECTIONAL_SEQUENCE_LSTM", "has peepholes" } },
    { "lstm_cell_zero", RILL_UNSUPPORTED, { "UNIDIRECTIONAL_SEQUENCE_LSTM", "'cell' is i16" } },
    { "open_same",
      RILL_UNSUPPORTED,
      { "MAX_POOL_2D, 'out'", "axis 1 of tensor 'in' is left open" } },
    { "open_mean", RILL_UNSUPPORTED, { "MEAN, 'out'", "axis 1 of tensor 'in' is left open" } },
    { "open_mean_real", RILL_OK, { "" } },
    { "open_reshape", RILL_UNSUPPORTED, { "RESHAPE, 'out'", "several axes" } },
    { "open_signature", RILL_MALFORMED, { "'in'", "signature of 3" } },
};

static rill_status read_bytes(const void *data, size_t n, const struct tflite_limits *limits,
                              rill_error *err)
{
    struct arena a = { .limit_bytes = (size_t) 64 << 20 };
    struct dims *ds = dims_new();
    struct bytes b = { .data = data, .n = n };
    struct mgraph m;
    struct tgraph t;
    *err = (rill_error) { .text = "" };
    rill_status s = mgraph_from_tflite(&m, &a, ds, &b, limits, err);
    if (s == RILL_OK)
        s = tgraph_from_mgraph(&t, &m, NULL, err);
    arena_drop(&a);
    dims_free(ds);
    return s;
}

static void *bad_read(const char *name, size_t *ret_n)
{
    char path[512];
    snprintf(path, sizeof path, "tests/models/tflite/%s.tflite", name);
    return file_read(source_path(path), ret_n);
}

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        const struct bad *b = &bads[i];
        char name[64];
        size_t n = 0;
        rill_error err;
        snprintf(name, sizeof name, "bad/%s", b->name);
        void *data = bad_read(name, &n);
        CHECK(data, "%s", name);
        if (!data)
            continue;
        rill_status s = read_bytes(data, n, NULL, &err);
        CHECK(s == b->status, "%s: %s: %s", name, rill_status_text(s), err.text);
        for (unsigned k = 0; k < 2 && b->words[k]; k++)
            CHECK(strstr(err.text, b->words[k]), "%s: '%s' does not say '%s'", name, err.text,
                  b->words[k]);
        free(data);
    }
}

/* What keeps a net from streaming is told by the operator of the file. */
static void test_no_stream(void)
{
    rill_error err = { .text = "" };
    struct session s;
    bool open =
        session_open(&s, source_path("tests/models/tflite/bad/open_mean_real.tflite"), NULL, &err);
    CHECK(!open && strstr(err.text, "operator 0 (MEAN, 'out'): node 'out' (ReduceMean)"), "%s",
          err.text);
    if (open)
        session_close(&s);
}

/* Every beginning of a file, and every four bytes of it written over: no answer is wrong but a
 * read or a write out of bounds. */
static void test_broken(const char *name)
{
    static const uint32_t values[] = { 0, 1, 4, 0x7fffffff, 0x80000000, 0xffffffff };
    size_t n = 0, refused = 0;
    rill_error err;
    uint8_t *data = bad_read(name, &n), *copy = data ? malloc(n) : NULL;
    CHECK(copy, "%s", name);
    for (size_t i = 0; copy && i < n; i++) {
        uint8_t *part = malloc(i + 1);
        memcpy(part, data, i);
        refused += read_bytes(part, i, NULL, &err) != RILL_OK;
        free(part);
        for (size_t k = 0; i + 4 <= n && i % 2 == 0 && k < sizeof values / sizeof *values; k++) {
            memcpy(copy, data, n);
            memcpy(copy + i, &values[k], 4);
            read_bytes(copy, n, NULL, &err);
        }
    }
    CHECK(refused > n / 2, "%s: %zu of %zu beginnings are refused", name, refused, n);
    free(copy);
    free(data);
}

static void test_limits(void)
{
    rill_error err;
    size_t n = 0;
    void *data = bad_read("nets/variable8", &n);
    CHECK(data && read_bytes(data, n, NULL, &err) == RILL_OK, "%s", err.text);
    for (uint32_t most = 1; data && most < 16; most++)
        CHECK(read_bytes(data, n, &(struct tflite_limits) { .tables = most }, &err) == RILL_LIMIT &&
                  strstr(err.text, "tables"),
              "%s", err.text);
    CHECK(data &&
              read_bytes(data, n, &(struct tflite_limits) { .tensor_bytes = 64 }, &err) ==
                  RILL_LIMIT &&
              strstr(err.text, "64 bytes"),
          "%s", err.text);
    free(data);
}

int main(void)
{
    test_bad();
    test_broken("bad/good");
    test_broken("nets/variable8");
    test_limits();
    test_no_stream();
    test_nets();
    test_open("floats");
    test_open("whole");
    test_open("windows");
    test_open("shorts");
    test_open("cell");
    test_open("cell8");
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        test_published(&published[i]);
    return check_done();
}
