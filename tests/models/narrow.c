/* SPDX-License-Identifier: MIT */
/* Recurrent cells with small weights: of 8 bits as a file has them, dequantised or not, and
 * recurrent_weights(i16) as a user asks for it, by a transform or in model.conf. Their results are
 * the same on every instruction set, at every pulse, in company, and out of a compiled file; those
 * of 8 bits are what f64 makes of the file, those of 16 others than with f32, which stays what it
 * was. */
#include "tests/models/models_test.h"
#include "tests/models/sample.h"

#include "lib/plan_internal.h"

#include <math.h>

#define INPUTS 9
#define HIDDEN 72
#define ROWS (3 * HIDDEN)
#define FRAMES 23
#define MANY 5

static const char *const narrow[] = { "recurrent_weights(i16)", NULL },
                         *const wide[] = { "recurrent_weights(f32)", NULL };

static float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float) (int32_t) *seed / 4294967296.0f;
}

/* What is unusual about a cell. */
struct unusual {
    float extreme;                     /* one of its weights, unless 0 */
    const char *activations, *weights; /* attributes */
    unsigned more;                     /* cells of the same weights beside it */
    const struct eight *eight;         /* its weights are of 8 bits */
};

/* Weights of 8 bits: scales a row or one for all. */
struct eight {
    bool each, late; /* late: linear_before_reset is 0 */
};

static struct pb gru_make(const char *in, const char *out, const struct unusual *u)
{
    struct pb n = make_node("GRU", in, out);
    n = sample_attr(n, make_int_attr("hidden_size", HIDDEN));
    if (u->activations)
        n = sample_attr(n, make_texts_attr("activations", u->activations));
    if (u->weights)
        n = sample_attr(n, make_text_attr("weights", u->weights));
    return sample_attr(n, make_int_attr("linear_before_reset", !u->eight || !u->eight->late));
}

/* [1, ROWS, terms] of i8, -128 and 127 among them, some rows zero, dequantised to `name`. ret:
 * their values. */
static void eight_write(struct pb *g, const char *name, const struct eight *how, int64_t terms,
                        uint32_t *seed, double *ret)
{
    static int8_t q[ROWS * HIDDEN];
    float scale[ROWS];
    char whole[16], by[16], in[40];
    for (int64_t i = 0; i < ROWS * terms; i++)
        q[i] = (int8_t) lrint(fmax(-128, fmin(127, 280.0 * (double) noise(seed))));
    for (int i = 0; i < ROWS; i++) {
        scale[i] = how->each ? ldexpf(1.5f + noise(seed), i % 9 ? -9 : -20) : 0x1.3p-8F;
        if (i % 29 == 3)
            memset(q + i * terms, 0, (size_t) terms);
        for (int64_t k = 0; k < terms; k++)
            ret[i * terms + k] = (double) q[i * terms + k] * scale[how->each ? i : 0];
    }
    snprintf(whole, sizeof whole, "%s8", name);
    snprintf(by, sizeof by, "%s_scale", name);
    snprintf(in, sizeof in, "%s %s", whole, by);
    pb_message(g, GRAPH_CONST,
               make_raw(whole, 3, DIMS(1, ROWS, terms), q, (size_t) (ROWS * terms)));
    pb_message(g, GRAPH_CONST,
               how->each ? make_raw(by, 1, DIMS(ROWS), scale, sizeof scale)
                         : make_raw(by, 1, (const int64_t[]) { -1 }, scale, sizeof *scale));
    struct pb n = make_node("DequantizeLinear", in, name);
    pb_message(g, GRAPH_NODE, sample_attr(n, make_int_attr("axis", 1)));
}

/* x f32[S,1,9] -> y, a GRU of 72; one step of it where steps is 1, with its state h -> h_out. */
static float biases[2 * ROWS];
static double eight_w[ROWS * INPUTS], eight_r[ROWS * HIDDEN]; /* what weights of 8 bits are */

static void cell_write(const char *path, int64_t steps, struct unusual u)
{
    static float w[ROWS * INPUTS], r[ROWS * HIDDEN];
    uint32_t seed = 11;
    struct pb g = { 0 };
    for (size_t i = 0; i < ROWS * INPUTS; i++)
        w[i] = noise(&seed);
    for (size_t i = 0; i < ROWS * HIDDEN; i++)
        r[i] = 0.5f * noise(&seed);
    for (size_t i = 0; i < 2 * ROWS; i++)
        biases[i] = noise(&seed);
    w[40] = u.extreme != 0 ? u.extreme : w[40];
    pb_text(&g, GRAPH_NAME, "cell");
    if (u.eight) {
        eight_write(&g, "w", u.eight, INPUTS, &seed, eight_w);
        eight_write(&g, "r", u.eight, HIDDEN, &seed, eight_r);
    } else {
        pb_message(&g, GRAPH_CONST, make_raw("w", 1, DIMS(1, ROWS, INPUTS), w, sizeof w));
        pb_message(&g, GRAPH_CONST, make_raw("r", 1, DIMS(1, ROWS, HIDDEN), r, sizeof r));
    }
    pb_message(&g, GRAPH_CONST, make_raw("b", 1, DIMS(1, 2 * ROWS), biases, sizeof biases));
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(steps, 1, INPUTS)));
    if (steps == 1)
        pb_message(&g, GRAPH_INPUT, make_value("h", 1, DIMS(1, 1, HIDDEN)));
    pb_message(&g, GRAPH_NODE, gru_make(steps == 1 ? "x w r b - h" : "x w r b", "y h_out", &u));
    for (unsigned i = 0; i < u.more; i++) {
        char out[16];
        snprintf(out, sizeof out, "y%u", i);
        pb_message(&g, GRAPH_NODE, gru_make("x w r b", out, &u));
        pb_message(&g, GRAPH_OUTPUT, make_value(out, 1, DIMS(steps, 1, 1, HIDDEN)));
    }
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(steps, 1, 1, HIDDEN)));
    if (steps == 1)
        pb_message(&g, GRAPH_OUTPUT, make_value("h_out", 1, DIMS(1, 1, HIDDEN)));
    struct pb m = make_model(g, 14);
    file_write(path, m.data, m.n);
    free(m.data);
}

/* ---- a plan and what it gives ---- */

static rill_plan *plan_of(const char *path, const char *const *transforms,
                          const rill_plan_opts *opts, rill_error *err)
{
    const rill_model_opts mo = { .struct_bytes = sizeof mo, .transforms = transforms };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    if (rill_model_open_with(&m, path, &mo, err) == RILL_OK)
        rill_plan_new(&p, m, opts, err);
    rill_model_free(m);
    return p;
}

static bool kernel_is(const rill_plan *p, const char *name)
{
    for (uint32_t i = 0; i < p->plan->n_steps; i++)
        if (!strcmp(p->plan->steps[i].kernel, name))
            return true;
    return false;
}

struct given {
    float y[(FRAMES + 8) * HIDDEN];
    size_t frames;
};

static void stream_step(rill_stream *s, struct given *ret, float *x, size_t frames)
{
    size_t n = 0;
    if (frames)
        rill_stream_push(s, 0, x, frames, &n);
    while (rill_stream_run(s) == RILL_OK)
        if (rill_stream_pull(s, 1, ret->y + ret->frames * HIDDEN, FRAMES + 8 - ret->frames, &n) ==
            RILL_OK)
            ret->frames += n;
}

static rill_stream *stream_new(const rill_plan *p)
{
    return rill_stream_init(aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64), p);
}

static void plan_run_alone(const rill_plan *p, uint32_t seed, struct given *ret)
{
    rill_stream *s = stream_new(p);
    float x[INPUTS];
    memset(ret, 0, sizeof *ret);
    for (int k = 0; k < FRAMES; k++) {
        for (int i = 0; i < INPUTS; i++)
            x[i] = 2 * noise(&seed);
        stream_step(s, ret, x, 1);
    }
    rill_stream_finish(s);
    stream_step(s, ret, NULL, 0);
    free(s);
}

static bool same(const struct given *a, const struct given *b)
{
    return a->frames == FRAMES && b->frames == FRAMES && !memcmp(a->y, b->y, sizeof a->y);
}

static double apart(const struct given *a, const struct given *b)
{
    double most = 0;
    for (size_t i = 0; i < FRAMES * HIDDEN; i++)
        most = fmax(most, fabs((double) a->y[i] - b->y[i]));
    return most;
}

/* Runs and drops p. */
static struct given *given_by(rill_plan *p, const char *what, const rill_error *err)
{
    static struct given turn[4];
    static unsigned at;
    struct given *g = &turn[at++ % 4];
    memset(g, 0, sizeof *g);
    CHECK(p != NULL, "%s: %s", what, err->text);
    if (p)
        plan_run_alone(p, 3, g);
    rill_plan_unref(p);
    return g;
}

/* ---- the checks ---- */

/* How small weights come about, and what runs them. */
struct small {
    const char *const *transforms;
    const char *kernel;
};

static void every_way(const char *path, const struct small *how, const struct given *want)
{
    static const uint32_t cpus[] = { RILL_CPU_C, RILL_CPU_AVX2, RILL_CPU_AVX2 | RILL_CPU_AVX512 };
    for (size_t c = 0; c < 3; c++)
        for (uint32_t pulse = 1; pulse <= 6; pulse += 5) {
            rill_error err;
            const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                          .pulse_frames = pulse,
                                          .cpu_mask = cpus[c] };
            rill_plan *p = plan_of(path, how->transforms, &opts, &err);
            if (!p && c && strstr(err.text, "cpu"))
                continue; /* another machine */
            struct given *g = given_by(p, "cpu and pulse", &err);
            CHECK(same(want, g), "cpu mask %x, pulse %u: other bits", cpus[c], pulse);
        }
}

static void in_company(const char *path, const struct small *how)
{
    rill_error err;
    struct given alone, got[MANY] = { 0 };
    rill_plan *p =
        plan_of(path, how->transforms,
                &(rill_plan_opts) { .struct_bytes = sizeof(rill_plan_opts), .pulse_frames = 1 },
                &err);
    rill_stream *s[MANY];
    rill_status st[MANY];
    uint32_t seed[MANY];
    float x[INPUTS];
    size_t n;
    CHECK(p != NULL, "%s", err.text);
    for (unsigned i = 0; p && i < MANY; i++) {
        s[i] = stream_new(p);
        seed[i] = 100 + i;
    }
    for (int k = 0; p && k < FRAMES; k++) {
        for (unsigned i = 0; i < MANY; i++) {
            for (int j = 0; j < INPUTS; j++)
                x[j] = 2 * noise(&seed[i]);
            rill_stream_push(s[i], 0, x, 1, &n);
        }
        rill_run_many(s, MANY, st);
        for (unsigned i = 0; i < MANY; i++)
            if (rill_stream_pull(s[i], 1, got[i].y + got[i].frames * HIDDEN, 1, &n) == RILL_OK)
                got[i].frames += n;
    }
    for (unsigned i = 0; p && i < MANY; i++) {
        plan_run_alone(p, 100 + i, &alone);
        CHECK(same(&alone, &got[i]), "stream %u of %d: other bits than alone", i, MANY);
        free(s[i]);
    }
    rill_plan_unref(p);
}

static void compiled(const char *path, const struct small *how, const struct given *want)
{
    const char *file = test_path("m", "cell.rill");
    rill_error err = { 0 };
    rill_plan *p =
        plan_of(path, how->transforms,
                &(rill_plan_opts) { .struct_bytes = sizeof(rill_plan_opts), .pulse_frames = 1 },
                &err);
    CHECK(p && rill_plan_save(p, file, &err) == RILL_OK, "%s", err.text);
    rill_plan_unref(p);
    p = plan_of(file, NULL, NULL, &err);
    CHECK(p && kernel_is(p, how->kernel), "the compiled plan has no such cell: %s", err.text);
    CHECK(same(want, given_by(p, "compiled", &err)), "the compiled plan: other bits");
    p = plan_of(file, wide, NULL, &err);
    CHECK(!p && err.status == RILL_INVALID && strstr(err.text, "rill compile"),
          "a compiled plan was changed to f32: %s", err.text);
    rill_plan_unref(p);
}

/* Weights that cells share are counted once, and so is what is spared of them. */
static void sizes(const char *path)
{
    rill_plan_info a = { .struct_bytes = sizeof a }, b = { .struct_bytes = sizeof b };
    rill_error err;
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = 1 };
    rill_plan *x = plan_of(path, NULL, &opts, &err), *y = plan_of(path, narrow, &opts, &err);
    if (x && y) {
        rill_plan_get_info(x, &a);
        rill_plan_get_info(y, &b);
        uint64_t spared = ROWS * ((INPUTS + HIDDEN) * 2 - 4);
        CHECK(a.weights_bytes == b.weights_bytes + spared, "%llu bytes of weights, %llu with f32",
              LLU(b.weights_bytes), LLU(a.weights_bytes));
    }
    CHECK(x && y, "%s", err.text);
    rill_plan_unref(x);
    rill_plan_unref(y);
}

static void too_large(void)
{
    static const float extremes[] = { 65536, INFINITY, NAN };
    const char *path = test_path("m", "large.onnx");
    for (size_t i = 0; i < 3; i++) {
        rill_error err;
        cell_write(path, -2, (struct unusual) { .extreme = extremes[i] });
        rill_plan *p = plan_of(path, narrow, NULL, &err);
        CHECK(p && kernel_is(p, "cell_seq_f32") && !kernel_is(p, "cell_seq_i16"),
              "a weight of %g in 16 bits: %s", (double) extremes[i], err.text);
        const struct pass_log *log = p ? &p->model->passes : NULL;
        CHECK(log && !strcmp(log->at[log->n - 1].name, "narrow-cells 0 of 1"), "not told");
        rill_plan_unref(p);
    }
}

/* A cell that no kernel of whole cells knows stays as it is and is not counted. */
static void not_standard(void)
{
    const char *path = test_path("m", "relu.onnx");
    rill_error err;
    cell_write(path, -2, (struct unusual) { .activations = "Sigmoid Relu" });
    rill_plan *p = plan_of(path, NULL, NULL, &err);
    CHECK(p && kernel_is(p, "cell gemm_f32"), "%s", err.text);
    rill_plan_unref(p);
    p = plan_of(path, narrow, NULL, &err);
    CHECK(!p && err.status == RILL_INVALID, "16 bits of a cell that stays f32: %s", err.text);
    rill_plan_unref(p);
    cell_write(path, -2, (struct unusual) { .activations = "sigmoid tanh" });
    p = plan_of(path, narrow, NULL, &err);
    CHECK(p && kernel_is(p, "cell_seq_i16"), "standard activations by name: %s", err.text);
    rill_plan_unref(p);
}

/* A model file cannot ask for it. */
static void by_itself(void)
{
    const char *path = test_path("m", "asks.onnx");
    rill_error err;
    cell_write(path, -2, (struct unusual) { .weights = "i16" });
    rill_plan *p = plan_of(path, NULL, NULL, &err);
    CHECK(!p && strstr(err.text, "attribute 'weights' is not supported") &&
              !strstr(err.text, "layout, weights"),
          "%s", err.text);
    rill_plan_unref(p);
}

static void folder_file(const char *file, const char *text)
{
    file_write(test_path("f", file), text, strlen(text));
}

static void by_conf(const struct given *want, const struct given *want_f32)
{
    rill_error err;
    mkdir(test_path("f", ""), 0700);
    cell_write(test_path("f", "cell.onnx"), 1, (struct unusual) { 0 });
    folder_file("graph.nnef",
                "version 1.0;\ngraph net(x) -> (y) {\nx = external<scalar>(shape = [S, 1, 9]);\n"
                "y = rill_onnx_scan(x, file = \"cell.onnx\", input = [x], output = [y], "
                "state = [(h, h_out)]); }\n");
    folder_file("model.conf", "[model]\nrecurrent_weights = i16\n");
    rill_plan *p = plan_of(test_path("f", ""), NULL, NULL, &err);
    CHECK(p && kernel_is(p, "cell_seq_i16"), "model.conf asks for 16 bits: %s", err.text);
    CHECK(same(want, given_by(p, "model.conf", &err)), "model.conf: other bits than the transform");
    p = plan_of(test_path("f", ""), wide, NULL, &err);
    CHECK(same(want_f32, given_by(p, "f32", &err)), "f32 instead of what model.conf says");
    folder_file("model.conf", "[model]\nrecurrent_weights = auto\n");
    p = plan_of(test_path("f", ""), NULL, NULL, &err);
    CHECK(same(want_f32, given_by(p, "auto", &err)), "auto is not f32");
    folder_file("model.conf", "[model]\nrecurrent_weights = f16\n");
    p = plan_of(test_path("f", ""), NULL, NULL, &err);
    CHECK(!p && strstr(err.text, "recurrent_weights: 'f16' is not a value"), "%s", err.text);
}

/* ---- 8 bits ---- */

static double gate(const double *w, const float *x, const double *r, const double *h, double a)
{
    for (int k = 0; w && k < INPUTS; k++)
        a += w[k] * x[k];
    for (int k = 0; r && k < HIDDEN; k++)
        a += r[k] * h[k];
    return a;
}

static double sigmoid(double a)
{
    return 1 / (1 + exp(-a));
}

/* One step of the GRU that was written last, in f64. */
static void f64_step(const float *x, double *h, bool late)
{
    double next[HIDDEN], rh[HIDDEN], z[HIDDEN], reset[HIDDEN];
    for (int u = 0; u < HIDDEN; u++) {
        const double *w = eight_w + u * INPUTS, *r = eight_r + u * HIDDEN;
        z[u] = sigmoid(gate(w, x, r, h, biases[u] + biases[ROWS + u]));
        w += HIDDEN * INPUTS;
        r += HIDDEN * HIDDEN;
        reset[u] = sigmoid(gate(w, x, r, h, biases[HIDDEN + u] + biases[ROWS + HIDDEN + u]));
        rh[u] = reset[u] * h[u];
    }
    for (int u = 0; u < HIDDEN; u++) {
        const int row = 2 * HIDDEN + u;
        const double *w = eight_w + row * INPUTS, *r = eight_r + row * HIDDEN,
                     own = biases[ROWS + row];
        const double in = gate(w, x, NULL, NULL, biases[row]);
        next[u] =
            late ? in + gate(NULL, NULL, r, rh, own) : in + reset[u] * gate(NULL, NULL, r, h, own);
        next[u] = (1 - z[u]) * tanh(next[u]) + z[u] * h[u];
    }
    memcpy(h, next, sizeof next);
}

static double from_f64(const struct given *g, uint32_t seed, bool late)
{
    double h[HIDDEN] = { 0 }, most = 0;
    for (int k = 0; k < FRAMES; k++) {
        float x[INPUTS];
        for (int i = 0; i < INPUTS; i++)
            x[i] = 2 * noise(&seed);
        f64_step(x, h, late);
        for (int u = 0; u < HIDDEN; u++)
            most = fmax(most, fabs(g->y[k * HIDDEN + u] - h[u]));
    }
    return g->frames == FRAMES ? most : INFINITY;
}

static void eight_bits(const char *path)
{
    static const struct eight forms[] = { { false, false }, { true, false }, { true, true } };
    static const struct small how = { NULL, "cell_seq_i8" }, asked = { narrow, "cell_seq_i8" };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        rill_error err = { 0 };
        cell_write(path, -2, (struct unusual) { .eight = &forms[i] });
        rill_plan *p = plan_of(path, NULL, NULL, &err);
        rill_plan_info info = { .struct_bytes = sizeof info };
        CHECK(p && kernel_is(p, how.kernel), "weights of 8 bits: %s", err.text);
        if (p)
            rill_plan_get_info(p, &info);
        CHECK(info.weights_bytes && info.weights_bytes < ROWS * (INPUTS + HIDDEN + 24),
              "%llu bytes of weights", LLU(info.weights_bytes));
        const struct given want = *given_by(p, "i8", &err);
        const double d = from_f64(&want, 3, forms[i].late);
        CHECK(d < 2e-4, "form %zu is %g from f64", i, d);
        every_way(path, &how, &want);
        every_way(path, &asked, &want);
        in_company(path, &how);
        compiled(path, &how, &want);
    }
}

int main(void)
{
    static const struct small i16 = { narrow, "cell_seq_i16" };
    rill_error err;
    struct given want, want_f32;
    test_root_make();
    mkdir(test_path("m", ""), 0700);
    char *path = strdup(test_path("m", "cell.onnx"));
    cell_write(path, -2, (struct unusual) { 0 });
    rill_plan *p = plan_of(path, NULL, NULL, &err);
    CHECK(p && kernel_is(p, "cell_seq_f32"), "without the transform: %s", err.text);
    want_f32 = *given_by(p, "f32", &err);
    p = plan_of(path, narrow, NULL, &err);
    CHECK(p && kernel_is(p, "cell_seq_i16"), "with it: %s", err.text);
    want = *given_by(p, "i16", &err);
    CHECK(want.frames == FRAMES && !same(&want, &want_f32) && apart(&want, &want_f32) < 1e-3,
          "%zu frames, %g apart from f32", want.frames, apart(&want, &want_f32));
    CHECK(same(&want_f32, given_by(plan_of(path, wide, NULL, &err), "f32", &err)), "f32 again");
    every_way(path, &i16, &want);
    in_company(path, &i16);
    compiled(path, &i16, &want);
    sizes(path);
    cell_write(test_path("m", "shared.onnx"), -2, (struct unusual) { .more = 5 });
    sizes(test_path("m", "shared.onnx"));
    too_large();
    not_standard();
    by_itself();
    by_conf(&want, &want_f32);
    eight_bits(path);
    test_root_drop();
    free(path);
    return check_done();
}
