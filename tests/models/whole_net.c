/* SPDX-License-Identifier: MIT */
/* rill_onnx: a whole-sequence network inside a pipeline gives the bits that the network gives by
 * itself, streamed and at once; what does not fit is refused with both shapes. */
#include "tests/models/models_test.h"

#define FRAMES 90
#define BANDS 40

#define GRAPH(shape, body)                                                                         \
    "version 1.0;\ngraph g(x) -> (y) {\n    x = external<scalar>(shape = " shape ");\n    " body   \
    "\n}\n"

static rill_model *model_of(const char *text, rill_error *err)
{
    rill_model *m = NULL;
    file_write(test_path("whole", "graph.nnef"), text, strlen(text));
    *err = (rill_error) { .text = "" };
    rill_model_open(&m, test_path("whole", ""), err);
    return m;
}

/* Time last for the bare network, first for a pipeline of frames. */
static struct floats frames_make(bool time_last)
{
    struct floats x = { malloc(FRAMES * BANDS * sizeof(float)), FRAMES * BANDS };
    for (size_t t = 0; t < FRAMES; t++)
        for (size_t k = 0; k < BANDS; k++)
            x.v[time_last ? k * FRAMES + t : t * BANDS + k] = sinf((float) (t * 7 + k * k));
    return x;
}

/* Runs m at once over x of the given shape. */
static struct floats run_at_once(const rill_model *m, struct floats x, int rank, const int64_t *dim)
{
    struct arena a = { 0 };
    struct tensor in = { .type = DTYPE_F32, .rank = rank, .data = x.v };
    const struct tensor *ins[] = { &in }, *out = NULL;
    struct floats y = { 0 };
    rill_error err = { .text = "" };
    memcpy(in.dim, dim, (size_t) rank * sizeof *dim);
    CHECK(interp_run(&m->decluttered.g, ins, &a, &out, &err) == RILL_OK, "at once: %s", err.text);
    if (out) {
        y = (struct floats) { malloc((size_t) tensor_count(out) * sizeof(float)),
                              (size_t) tensor_count(out) };
        memcpy(y.v, out->data, y.n * sizeof *y.v);
    }
    arena_drop(&a);
    return y;
}

static void test_same(void)
{
    rill_error err = { .text = "" };
    rill_model *net = NULL;
    CHECK(rill_model_open(&net, test_path("whole", "net.onnx"), &err) == RILL_OK, "%s", err.text);
    rill_model *line =
        model_of(GRAPH("[T, 40]",
                       "y = rill_onnx(unsqueeze(transpose(x, axes = [1, 0]), axes = [0]), "
                       "file = \"net.onnx\");"),
                 &err);
    CHECK(line, "%s", err.text);
    if (!net || !line)
        return;
    struct floats a = frames_make(true), b = frames_make(false);
    struct floats want = run_at_once(net, a, 3, (int64_t[]) { 1, BANDS, FRAMES });
    struct floats got = run_at_once(line, b, 2, (int64_t[]) { FRAMES, BANDS });
    CHECK(want.n > 100 && got.n == want.n && !memcmp(got.v, want.v, want.n * sizeof *want.v),
          "at once: %zu values for %zu", got.n, want.n);
    struct floats stream = model_run_stream(line, b, 7, &err);
    CHECK(stream.n == want.n && !memcmp(stream.v, want.v, want.n * sizeof *want.v),
          "streamed: %zu values for %zu: %s", stream.n, want.n, err.text);
    free(a.v);
    free(b.v);
    free(want.v);
    free(got.v);
    free(stream.v);
    rill_model_free(line);
    rill_model_free(net);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { GRAPH("[T, 40]", "y = rill_onnx(x, file = \"net.onnx\");"),
          "f32[T,40] does not fit input 'x', which is f32[1,40,S]: reshape, transpose or "
          "unsqueeze" },
        { GRAPH("[1, 41, T]", "y = rill_onnx(x, file = \"net.onnx\");"),
          "f32[1,41,T] does not fit input 'x'" },
        { GRAPH("[1, 40, T]", "y = rill_onnx(x, file = \"net.onnx\", input = [z]);"),
          "there is no input 'z'" },
        { GRAPH("[1, 40, T]", "y = rill_onnx(x, file = \"net.onnx\", output = [z]);"),
          "there is no output 'z'" },
        { GRAPH("[1, 40, T]", "y = rill_onnx([x, x], file = \"net.onnx\", input = [x, x]);"),
          "'x' is given twice" },
        { GRAPH("[1, 40, T]", "y = rill_onnx([x, x], file = \"net.onnx\");"),
          "2 tensors for 1 inputs" },
        { GRAPH("[1, 40, T]", "y = rill_onnx(x, file = \"none.onnx\");"), "none.onnx" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_error err;
        rill_model *m = model_of(cases[i].text, &err);
        CHECK(!m && strstr(err.text, cases[i].words), "case %zu: '%s', expected '%s'", i, err.text,
              cases[i].words);
        rill_model_free(m);
    }
}

int main(void)
{
    test_root_make();
    mkdir(test_path("whole", ""), 0700);
    copy_into("whole", "net.onnx", source_path("tests/models/zoo/tdnn_lstm/model.onnx"));
    test_same();
    test_refused();
    test_root_drop();
    return check_done();
}
