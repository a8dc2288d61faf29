/* SPDX-License-Identifier: MIT */
/* Medium and large nets of the ML-KWS family, in the library's folders for them and in copies of
 * those for the small ones: sizes are the net's. Weights come from a small generator, references
 * from ONNX Runtime (tests/models/keywords/sizes.py). */
#include "tests/models/models_test.h"
#include "tests/models/pb.h"

#define TOLERANCE 2e-5f

/* ---- a net in the making ---- */

struct net {
    struct pb graph;
    uint32_t x;
};

/* As in sizes.py: uniform, as wide as a power of two near one over the root of fan. */
static void take(struct net *n, const char *name, const int64_t *dims, int fan)
{
    size_t count = 1, bits = 0;
    for (int i = fan; i; i >>= 1)
        bits++;
    for (const int64_t *d = dims; *d != -1; d++)
        count *= (size_t) *d;
    float *v = malloc(count * sizeof *v), scale = ldexpf(1, 2 - (int) (bits / 2));
    assert(v);
    for (size_t i = 0; i < count; i++) {
        n->x = n->x * 1664525u + 1013904223u;
        v[i] = (float) ((int32_t) (n->x >> 8) - (1 << 23)) / (1 << 24) * scale;
    }
    pb_message(&n->graph, GRAPH_CONST, make_raw(name, 1, dims, v, count * sizeof *v));
    free(v);
}

static void whole_numbers(struct net *n, const char *name, const int64_t *v, size_t count)
{
    const int64_t dims[] = { (int64_t) count, -1 };
    pb_message(&n->graph, GRAPH_CONST, make_raw(name, 7, dims, v, count * sizeof *v));
}

static void node(struct net *n, struct pb made)
{
    pb_message(&n->graph, GRAPH_NODE, made);
}

static struct pb with_ints(struct pb made, const char *name, const int64_t *v, size_t count)
{
    pb_message(&made, NODE_ATTR, make_ints_attr(name, v, count));
    return made;
}

static struct pb with_int(struct pb made, const char *name, int64_t v)
{
    pb_message(&made, NODE_ATTR, make_int_attr(name, v));
    return made;
}

static struct pb with_same(struct pb made)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, "auto_pad");
    pb_text(&p, ATTR_S_, "SAME_UPPER");
    pb_int(&p, ATTR_TYPE_, 3);
    pb_message(&made, NODE_ATTR, p);
    return made;
}

static void port(struct net *n, unsigned field, const char *name, const int64_t *dims)
{
    pb_message(&n->graph, field, make_value(name, 1, dims));
}

/* logits -> prob, and the head that all have. */
static void head(struct net *n, const char *from, const char *w, const char *b)
{
    char in[64];
    snprintf(in, sizeof in, "%s %s %s", from, w, b);
    node(n, make_node("Gemm", in, "logits"));
    node(n, with_int(make_node("Softmax", "logits", "prob"), "axis", -1));
    port(n, GRAPH_OUTPUT, "prob", DIMS(1, 12));
}

static void net_write(struct net *n, const char *path)
{
    pb_text(&n->graph, GRAPH_NAME, "net");
    struct pb m = make_model(n->graph, 13);
    file_write(path, m.data, m.n);
    free(m.data);
}

/* ---- the family ---- */

struct size {
    int gates, filters, stride, hidden, dense, layers;
};

/* Inputs NAME_in and outputs NAME_out; names are apart by blanks. */
static void states(struct net *n, const char *names, int hidden)
{
    for (char text[16]; *names; names += strcspn(names, " "), names += *names == ' ') {
        int length = (int) strcspn(names, " ");
        snprintf(text, sizeof text, "%.*s_in", length, names);
        port(n, GRAPH_INPUT, text, DIMS(1, 1, hidden));
        snprintf(text, sizeof text, "%.*s_out", length, names);
        port(n, GRAPH_OUTPUT, text, DIMS(1, 1, hidden));
    }
}

static void cell_make(struct net *n, const struct size *z)
{
    bool gru = z->gates == 3;
    int64_t rows = (int64_t) z->gates * z->hidden;
    take(n, "W", DIMS(1, rows, 10), 4096);
    take(n, "R", DIMS(1, rows, z->hidden), z->hidden);
    take(n, "B", DIMS(1, 2 * rows), 64);
    take(n, "Wo", DIMS(z->hidden, 12), 16);
    take(n, "bo", DIMS(12), 64);
    whole_numbers(n, "axis", DIMS(0), 1);
    node(n,
         with_int(make_node(gru ? "GRU" : "LSTM",
                            gru ? "mfcc W R B - h_in" : "mfcc W R B - h_in c_in",
                            gru ? "- h_out" : "- h_out c_out"),
                  "hidden_size", z->hidden));
    node(n, make_node("Squeeze", "h_out axis", "flat"));
    port(n, GRAPH_INPUT, "mfcc", DIMS(-2, 1, 10));
    head(n, "flat", "Wo", "bo");
    states(n, gru ? "h" : "h c", z->hidden);
}

static void crnn_make(struct net *n, const struct size *z)
{
    int wide = z->filters * ((10 - 4) / z->stride + 1), rows = 3 * z->hidden;
    take(n, "cw", DIMS(z->filters, 1, 10, 4), 16384);
    take(n, "cb", DIMS(z->filters), 64);
    node(n, with_ints(make_node("Conv", "mfcc cw cb", "c"), "strides", DIMS(2, z->stride), 2));
    node(n, make_node("Relu", "c", "r"));
    node(n, with_ints(make_node("Transpose", "r", "t"), "perm", DIMS(2, 0, 3, 1), 4));
    node(n, make_node("Reshape", "t shape", "x0"));
    for (int i = 0; i < 2; i++) {
        int64_t size = i ? z->hidden : wide;
        take(n, i ? "W1" : "W0", DIMS(1, rows, size), (int) size);
        take(n, i ? "R1" : "R0", DIMS(1, rows, z->hidden), z->hidden);
        take(n, i ? "B1" : "B0", DIMS(1, 2 * rows), 64);
        node(n,
             with_int(make_node("GRU", i ? "x1 W1 R1 B1 - h1_in" : "x0 W0 R0 B0 - h0_in",
                                i ? "y1 h1_out" : "y0 h0_out"),
                      "hidden_size", z->hidden));
        node(n, make_node("Squeeze", i ? "h1_out axis0" : "y0 axis1", i ? "flat" : "x1"));
    }
    take(n, "fw", DIMS(z->hidden, z->dense), z->hidden);
    take(n, "fb", DIMS(z->dense), 64);
    take(n, "ow", DIMS(z->dense, 12), 16);
    take(n, "ob", DIMS(12), 64);
    whole_numbers(n, "shape", (const int64_t[]) { -1, 1, wide }, 3);
    whole_numbers(n, "axis0", DIMS(0), 1);
    whole_numbers(n, "axis1", DIMS(1), 1);
    node(n, make_node("Gemm", "flat fw fb", "f"));
    node(n, make_node("Relu", "f", "fr"));
    port(n, GRAPH_INPUT, "mfcc", DIMS(1, 1, -2, 10));
    head(n, "fr", "ow", "ob");
    states(n, "h0 h1", z->hidden);
}

static void ds_cnn_make(struct net *n, const struct size *z)
{
    char x[16] = "mfcc", w[16], b[16], in[64], c[16];
    for (int i = 0; i < 2 * z->layers - 1; i++) {
        bool deep = i % 2 == 1;
        int64_t first = i == 0 ? 2 : i == 1 ? 2 : 1, second = i == 1 ? 2 : 1;
        snprintf(w, sizeof w, "w%d", i);
        snprintf(b, sizeof b, "b%d", i);
        snprintf(c, sizeof c, "c%d", i);
        snprintf(in, sizeof in, "%s %s %s", x, w, b);
        take(n, w,
             !i         ? DIMS(z->filters, 1, 10, 4)
                 : deep ? DIMS(z->filters, 1, 3, 3)
                        : DIMS(z->filters, z->filters, 1, 1),
             !i         ? 16384
                 : deep ? 3
                        : z->filters / 2);
        take(n, b, DIMS(z->filters), 64);
        struct pb conv = with_ints(make_node("Conv", in, c), "strides", DIMS(first, second), 2);
        node(n, with_same(with_int(conv, "group", deep ? z->filters : 1)));
        snprintf(x, sizeof x, "r%d", i);
        node(n, make_node("Relu", c, x));
    }
    take(n, "fw", DIMS(z->filters, 12), 256);
    take(n, "fb", DIMS(12), 64);
    node(n, make_node("GlobalAveragePool", x, "gap"));
    node(n, make_node("Flatten", "gap", "flat"));
    port(n, GRAPH_INPUT, "mfcc", DIMS(1, 1, 49, 10));
    head(n, "flat", "fw", "fb");
}

/* ---- the library's folder with another net ---- */

/* clang-format off */
static const struct entry {
    const char *name, *folder, *file;
    bool changed; /* another size than the folder is for: frames every 20 ms instead of 40 */
    void (*make)(struct net *n, const struct size *z);
    struct size size;
} entries[] = {
    { "gru_m", "ml_kws_gru_m", "GRU_M.onnx", false, cell_make, { .gates = 3, .hidden = 250 } },
    { "gru_l", "ml_kws_gru_l", "GRU_L.onnx", false, cell_make, { .gates = 3, .hidden = 400 } },
    { "gru_l", "ml_kws_gru_s", "GRU_S.onnx", true, cell_make, { .gates = 3, .hidden = 400 } },
    { "gru_l_whole", "ml_kws_gru_s_whole", "GRU_S.onnx", true, cell_make,
      { .gates = 3, .hidden = 400 } },
    { "lstm_m", "ml_kws_lstm_m", "Basic_LSTM_M.onnx", false, cell_make,
      { .gates = 4, .hidden = 214 } },
    { "lstm_l", "ml_kws_lstm_l", "Basic_LSTM_L.onnx", false, cell_make,
      { .gates = 4, .hidden = 344 } },
    { "lstm_l", "ml_kws_lstm_s", "Basic_LSTM_S.onnx", false, cell_make,
      { .gates = 4, .hidden = 344 } },
    { "crnn_m", "ml_kws_crnn_m", "CRNN_M.onnx", false, crnn_make,
      { .filters = 128, .stride = 2, .hidden = 76, .dense = 164 } },
    { "crnn_l", "ml_kws_crnn_l", "CRNN_L.onnx", false, crnn_make,
      { .filters = 100, .stride = 1, .hidden = 136, .dense = 188 } },
    { "crnn_l", "ml_kws_crnn_s", "CRNN_S.onnx", false, crnn_make,
      { .filters = 100, .stride = 1, .hidden = 136, .dense = 188 } },
    { "ds_cnn_m", "ml_kws_ds_cnn_m", "DS_CNN_M.onnx", false, ds_cnn_make,
      { .filters = 172, .layers = 5 } },
    { "ds_cnn_l", "ml_kws_ds_cnn_l", "DS_CNN_L.onnx", false, ds_cnn_make,
      { .filters = 276, .layers = 6 } },
    { "ds_cnn_l", "ml_kws_ds_cnn_s", "DS_CNN_S.onnx", false, ds_cnn_make,
      { .filters = 276, .layers = 6 } },
};
/* clang-format on */

/* Puts one text for another. */
static void text_change(const char *path, const char *from, const char *to)
{
    size_t n = 0;
    char *text = file_read(path, &n), *at;
    assert(text);
    text[n] = 0;
    at = strstr(text, from);
    CHECK(at, "%s has no '%s'", path, from);
    if (at) {
        struct pb p = { 0 };
        pb_put(&p, text, (size_t) (at - text));
        pb_put(&p, to, strlen(to));
        pb_put(&p, at + strlen(from), strlen(at + strlen(from)));
        file_write(path, p.data, p.n);
        free(p.data);
    }
    free(text);
}

static void folder_make(const struct entry *e)
{
    char path[256];
    struct net n = { .x = 1 };
    mkdir(test_path(e->folder, ""), 0700);
    snprintf(path, sizeof path, "models/library/%s/graph.nnef", e->folder);
    copy_into(e->folder, "graph.nnef", source_path(path));
    snprintf(path, sizeof path, "models/library/%s/model.conf", e->folder);
    copy_into(e->folder, "model.conf", source_path(path));
    if (e->changed)
        text_change(test_path(e->folder, "graph.nnef"), "hop = 640", "hop = 320");
    if (e->changed && strstr(e->folder, "whole"))
        text_change(test_path(e->folder, "graph.nnef"), "size = 25, hop = 5,",
                    "size = 49, hop = 10,");
    e->make(&n, &e->size);
    net_write(&n, test_path(e->folder, e->file));
}

static void compare(const struct entry *e, const char *how, struct floats y, struct floats want,
                    const rill_error *err)
{
    char what[128];
    snprintf(what, sizeof what, "%s %s", e->folder, how);
    floats_near(what, y, want, 60, TOLERANCE, err);
}

static void test_entry(const struct entry *e)
{
    char path[128];
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    struct floats x = wav_read(source_path("tests/models/keywords/hey_mycroft.wav"));
    snprintf(path, sizeof path, "tests/models/keywords/sizes_%s.f32", e->name);
    struct floats want = floats_read(source_path(path));
    folder_make(e);
    CHECK(rill_model_open(&m, test_path(e->folder, ""), &err) == RILL_OK, "%s: %s", e->folder,
          err.text);
    if (m) {
        struct floats whole = model_run_whole(m, x, &err), y = model_run_pulse(m, x, 331, 0, &err);
        compare(e, "at once", whole, want, &err);
        compare(e, "streamed", y, want, &err);
        CHECK(y.n == whole.n && !memcmp(y.v, whole.v, y.n * sizeof *y.v),
              "%s: streamed is not what the whole gives", e->folder);
        free(whole.v);
        free(y.v);
    }
    free(want.v);
    free(x.v);
    rill_model_free(m);
}

int main(void)
{
    test_root_make();
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        test_entry(&entries[i]);
    test_root_drop();
    return check_done();
}
