/* SPDX-License-Identifier: MIT */
/* Constants of an ONNX file that are 0, below it or of another count than the node needs: refused
 * by node, op and value, as they are read or typed. */
#include "engine/graph/subst.h"
#include "engine/typing/typed.h"
#include "models/onnx/reader.h"
#include "tests/check.h"
#include "tests/models/pb.h"

enum { F32 = 1, I32 = 6, I64 = 7, BOOL = 9, INS = 9, VALUES = 3 };

struct value {
    const char *name;
    int64_t dims[5];        /* -1 ends them */
    int64_t of[VALUES + 1]; /* of a constant, its count first */
    int type;               /* 0: i64 of a constant, else f32 */
};

struct row {
    const char *words; /* "": taken */
    const char *domain, *op;
    int opset;
    struct value in[INS];
    struct {
        const char *name;
        int64_t n, v[2]; /* n: 0 is one integer, no list; -1 a float */
    } attr[3];
};

#define CONST(name, ...)                                                                           \
    {                                                                                              \
        name, { 0 }, { __VA_ARGS__ }, 0                                                            \
    }
#define IMAGE(...) { "x", { 2, 12, 4, -1 }, { 0 }, 0 }, CONST("image", __VA_ARGS__)
#define HEADED                                                                                     \
    { "q", { 1, 2, 3, 4, -1 }, { 0 }, 0 }, { "k", { 1, 2, 3, 4, -1 }, { 0 }, 0 },                  \
    {                                                                                              \
        "v", { 1, 2, 3, 4, -1 }, { 0 }, 0                                                          \
    }
#define QKV                                                                                        \
    { "q", { 1, 3, 16, -1 }, { 0 }, 0 }, { "k", { 1, 3, 8, -1 }, { 0 }, 0 },                       \
    {                                                                                              \
        "v", { 1, 3, 8, -1 }, { 0 }, 0                                                             \
    }
#define LAST(...)                                                                                  \
    {                                                                                              \
        "last", { 1, -1 }, { __VA_ARGS__ }, I32                                                    \
    }
#define ALL(...)                                                                                   \
    {                                                                                              \
        "all", { 1, -1 }, { __VA_ARGS__ }, I32                                                     \
    }
#define HEADS                                                                                      \
    { "num_heads", 0, { 2 } },                                                                     \
    {                                                                                              \
        "kv_num_heads", 0,                                                                         \
        {                                                                                          \
            1                                                                                      \
        }                                                                                          \
    }
#define GQA "com.microsoft", "GroupQueryAttention", 18

/* clang-format off */
static const struct row rows[] = {
    { "", "", "Col2Im", 18, { IMAGE(1, 7), CONST("block", 1, 4) }, { { 0 } } },
    { "(Col2Im, opset 18): image_shape is 0 along axis 0; it is at least 1",
      "", "Col2Im", 18, { IMAGE(1, 0), CONST("block", 1, 4) }, { { 0 } } },
    { "(Col2Im, opset 18): image_shape is -3 along axis 0", "", "Col2Im", 18, { IMAGE(1, -3), CONST("block", 1, 4) }, { { 0 } } },
    { "image_shape is 0 along axis 1", "", "Col2Im", 18, { IMAGE(2, 5, 0), CONST("block", 2, 2, 2) }, { { 0 } } },
    { "image_shape has 2 sizes, block_shape 1", "", "Col2Im", 18, { IMAGE(2, 7, 1), CONST("block", 1, 4) }, { { 0 } } },
    { "a block reaches over 4 places of axis 0, image_shape has 2 with its pads",
      "", "Col2Im", 18, { IMAGE(1, 2), CONST("block", 1, 4) }, { { "strides", 1, { 2 } } } },
    { "(Reshape)", "", "Col2Im", 18, { IMAGE(1, 9), CONST("block", 1, 4) }, { { "strides", 1, { 2 } } } },
    { "(Reshape)", "", "Col2Im", 18, { IMAGE(1, 8), CONST("block", 1, 5) }, { { 0 } } },
    { "block_shape is 0 along axis 0", "", "Col2Im", 18, { IMAGE(1, 7), CONST("block", 1, 0) }, { { 0 } } },
    { "block_shape is -2 along axis 0", "", "Col2Im", 18, { IMAGE(1, 7), CONST("block", 1, -2) }, { { 0 } } },
    { "attribute 'strides' holds 0", "", "Col2Im", 18, { IMAGE(1, 7), CONST("block", 1, 4) }, { { "strides", 1, { 0 } } } },
    { "attribute 'dilations' holds -1", "", "Col2Im", 18, { IMAGE(1, 7), CONST("block", 1, 4) }, { { "dilations", 1, { -1 } } } },
    { "attribute 'pads' holds -5", "", "Col2Im", 18, { IMAGE(1, 7), CONST("block", 1, 4) }, { { "pads", 2, { 0, -5 } } } },
    { "", "", "CenterCropPad", 18, { { "x", { 5, 6, -1 }, { 0 }, 0 }, CONST("to", 2, 0, 5) }, { { "axes", 2, { 0, 1 } } } },
    { "(CenterCropPad, opset 18): shape holds -1", "", "CenterCropPad", 18, { { "x", { 5, 6, -1 }, { 0 }, 0 }, CONST("to", 2, -1, 5) }, { { "axes", 2, { 0, 1 } } } },
    { "shape has 1 sizes, axes 2", "", "CenterCropPad", 18, { { "x", { 5, 6, -1 }, { 0 }, 0 }, CONST("to", 1, 3) }, { { "axes", 2, { 0, 1 } } } },
    { "(GridSample, opset 22): its grid has 3 numbers a place, its input 2 axes of places",
      "", "GridSample", 22, { { "x", { 1, 1, 3, 4, -1 }, { 0 }, 0 }, { "g", { 1, 2, 2, 3, -1 }, { 0 }, 0 } }, { { 0 } } },
    { "cos_cache has 2 angles a frame; rotary_embedding_dim=16 wants 8", "", "RotaryEmbedding", 23,
      { { "x", { 1, 2, 3, 4, -1 }, { 0 }, 0 }, { "c", { 1, 3, 2, -1 }, { 0 }, 0 }, { "s", { 1, 3, 2, -1 }, { 0 }, 0 } }, { { "rotary_embedding_dim", 0, { 16 } } } },
    { "(Attention, opset 23): scale is 0", "", "Attention", 23, { HEADED }, { { "scale", -1, { 0 } } } },
    { "(Attention, opset 23): scale is -1", "", "Attention", 23, { HEADED }, { { "scale", -1, { -1 } } } },
    { "(Attention, opset 23): softmax_precision is 7, and no type of floats", "", "Attention", 23, { HEADED }, { { "softmax_precision", 0, { 7 } } } },
    { "(Attention, opset 23): softmax_precision is 17, and no type", "", "Attention", 23, { HEADED }, { { "softmax_precision", 0, { 17 } } } },
    { "(Attention, opset 23): softmax_precision is -1, and no type", "", "Attention", 23, { HEADED }, { { "softmax_precision", 0, { -1 } } } },
    { "", "", "Attention", 23, { HEADED }, { { "softmax_precision", 0, { 11 } } } },
    { "", GQA, { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, 2), ALL(1, 3) }, { HEADS } },
    { "local_window_size=0 leaves no frame to see", GQA, { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, 2), ALL(1, 3) }, { HEADS, { "local_window_size", 0, { 0 } } } },
    { "seqlens_k holds -1", GQA, { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, -1), ALL(1, 3) }, { HEADS } },
    { "total_sequence_length holds 0", GQA, { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, 2), ALL(1, 0) }, { HEADS } },
    { "node 'y' (com.microsoft.GroupQueryAttention): seqlens_k is a frame of now where there is no cache: from 0 to", GQA,
      { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, 3), ALL(1, 3) }, { HEADS } },
    { "", GQA, { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, 0), ALL(1, 3) }, { HEADS } },
    { "(com.microsoft.GroupQueryAttention): cos_cache has 5 angles a frame; wanted: one for each two numbers of a head", GQA,
      { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, 2), ALL(1, 3), { "c", { 9, 5, -1 }, { 0 }, 0 }, { "s", { 9, 5, -1 }, { 0 }, 0 } }, { HEADS, { "do_rotary", 0, { 1 } } } },
    { "cos_cache has 2 angles a frame, sin_cache 1", GQA,
      { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, 2), ALL(1, 3), { "c", { 9, 2, -1 }, { 0 }, 0 }, { "s", { 9, 1, -1 }, { 0 }, 0 } }, { HEADS, { "do_rotary", 0, { 1 } } } },
    { "(RotaryEmbedding, opset 23): cos_cache has 4 angles a frame, sin_cache 1", "", "RotaryEmbedding", 23,
      { { "x", { 1, 2, 3, 8, -1 }, { 0 }, 0 }, { "c", { 1, 3, 4, -1 }, { 0 }, 0 }, { "s", { 1, 3, 1, -1 }, { 0 }, 0 } }, { { 0 } } },
    { "cos_cache has 0 angles a frame", GQA,
      { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, 2), ALL(1, 3), { "c", { 9, 0, -1 }, { 0 }, 0 }, { "s", { 9, 0, -1 }, { 0 }, 0 } }, { HEADS, { "do_rotary", 0, { 1 } } } },
    { "(com.microsoft.GroupQueryAttention): total_sequence_length is the number of frames of now", GQA,
      { QKV, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, LAST(1, 2), ALL(1, 4) }, { HEADS } },
    { "com.microsoft.MultiHeadAttention, whose 3 heads have to divide the channels: node 'y' (Reshape)",
      "com.microsoft", "MultiHeadAttention", 18, { QKV }, { { "num_heads", 0, { 3 } } } },
    { "(com.microsoft.MultiHeadAttention): unidirectional is read of no more keys than queries and the cache have frames; an attention_bias",
      "com.microsoft", "MultiHeadAttention", 18, { { "q", { 1, 2, 8, -1 }, { 0 }, 0 }, { "k", { 1, 3, 8, -1 }, { 0 }, 0 }, { "v", { 1, 3, 8, -1 }, { 0 }, 0 } },
      { { "num_heads", 0, { 2 } }, { "unidirectional", 0, { 1 } } } },
    { "(Resize): keep_aspect_ratio_policy wants sizes of 1 and more, axis 2 is 0", "", "Resize", 19,
      { { "x", { 1, 1, 4, 6, -1 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, { "", { 0 }, { 0 }, 0 }, CONST("sizes", 2, 0, 8) },
      { { "axes", 2, { 2, 3 } }, { "keep_aspect_ratio_policy=not_larger", 0, { 0 } } } },
    { "(Scan, opset 8): the form of opset 8 scans batches; export for opset 9", "", "Scan", 8, { { "x", { 2, 3, -1 }, { 0 }, 0 } }, { { "num_scan_inputs", 0, { 1 } } } },
    { "", "", "SwiGLU", 28, { { "a", { 2, 3, -1 }, { 0 }, 0 }, { "b", { 2, 3, -1 }, { 0 }, 0 } }, { { 0 } } },
    { "(SwiGLU, opset 28): A and B are of different shapes", "", "SwiGLU", 28, { { "a", { 2, 3, -1 }, { 0 }, 0 }, { "b", { 3, -1 }, { 0 }, 0 } }, { { 0 } } },
    { "(SwiGLU, opset 28): A and B are of different shapes", "", "SwiGLU", 28, { { "a", { 2, 3, -1 }, { 0 }, 0 }, { "b", { 2, 1, -1 }, { 0 }, 0 } }, { { 0 } } },
};
/* clang-format on */

static struct pb constant(const struct value *v)
{
    const int64_t dims[] = { v->of[0], -1 };
    struct pb t = make_tensor(v->name, v->type ? v->type : I64, dims);
    for (int64_t i = 1; i <= v->of[0]; i++)
        pb_int(&t, v->type ? TENSOR_INT32S : TENSOR_INT64S, v->of[i]);
    return t;
}

static struct pb of_any_shape(const char *name)
{
    struct pb v = { 0 }, type = { 0 }, tensor = { 0 };
    pb_int(&tensor, 1, F32);
    pb_message(&type, 1, tensor);
    pb_text(&v, 1, name);
    pb_message(&v, 2, type);
    return v;
}

static struct pb float_attr(const char *name, float f)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, name);
    pb_float(&p, ATTR_F_, f);
    pb_int(&p, ATTR_TYPE_, 1);
    return p;
}

/* A name with = in it is one with a text. */
static struct pb attribute(const char *name, int64_t n, const int64_t *v)
{
    const char *text = strchr(name, '=');
    char part[40];
    if (text) {
        snprintf(part, sizeof part, "%.*s", (int) (text - name), name);
        return make_text_attr(part, text + 1);
    }
    return n < 0 ? float_attr(name, (float) v[0])
        : n      ? make_ints_attr(name, v, (size_t) n)
                 : make_int_attr(name, v[0]);
}

static struct pb graph(const struct row *r)
{
    struct pb g = { 0 }, n = { 0 };
    for (const struct value *v = r->in; v < r->in + INS && v->name; v++) {
        pb_text(&n, NODE_INPUT, v->name);
        if (v->of[0])
            pb_message(&g, GRAPH_CONST, constant(v));
        else if (*v->name)
            pb_message(&g, GRAPH_INPUT, make_value(v->name, F32, v->dims));
    }
    pb_text(&n, NODE_OUTPUT, "y");
    pb_text(&n, NODE_OP, r->op);
    pb_text(&n, NODE_DOMAIN, r->domain);
    for (unsigned i = 0; i < 3 && r->attr[i].name; i++)
        pb_message(&n, NODE_ATTR, attribute(r->attr[i].name, r->attr[i].n, r->attr[i].v));
    pb_message(&g, GRAPH_NODE, n);
    pb_message(&g, GRAPH_OUTPUT, of_any_shape("y"));
    return g;
}

static void try(const struct row *r)
{
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct mgraph m;
    struct tgraph t;
    struct pb file = make_model(graph(r), r->opset);
    rill_error err = { 0 };
    const struct bytes b = { .data = file.data, .n = file.n };
    rill_status s = mgraph_from_onnx(&m, &a, ds, &b, NULL, &err);
    if (s == RILL_OK)
        s = tgraph_from_mgraph(&t, &m, &(struct typed_opts) { 0 }, &err);
    CHECK((s == RILL_OK) == !*r->words, "row %d, %s: %s %s", (int) (r - rows), r->op,
          rill_status_text(s), err.text);
    CHECK(s == RILL_OK || (strstr(err.text, r->words) && strstr(err.text, "node 'y'")),
          "row %d, %s: '%s' does not say '%s'", (int) (r - rows), r->op, err.text, r->words);
    free(file.data);
    arena_drop(&a);
    dims_free(ds);
}

/* x[2,S,S], hidden by a constant of so many frames as the file was exported with */
static struct pb masked_file(void)
{
    static const uint8_t hides[30 * 30];
    static const float much = -1e9f;
    struct pb g = { 0 };
    pb_message(&g, GRAPH_INPUT, make_value("x", F32, DIMS(2, -2, -2)));
    pb_message(&g, GRAPH_CONST, make_raw("mask", BOOL, DIMS(30, 30), hides, sizeof hides));
    pb_message(&g, GRAPH_CONST, make_raw("much", F32, DIMS(1), &much, sizeof much));
    pb_message(&g, GRAPH_NODE, make_node("Where", "mask much x", "hidden"));
    pb_message(&g, GRAPH_NODE, make_node("Relu", "hidden", "y"));
    pb_message(&g, GRAPH_OUTPUT, of_any_shape("y"));
    return make_model(g, 18);
}

/* The node that lays it over is named, and the constant, whichever wire is looked at first. */
static void test_masked(void)
{
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct mgraph m;
    struct tgraph t;
    struct graph g;
    struct pb file = masked_file();
    rill_error err = { 0 };
    const struct bytes b = { .data = file.data, .n = file.n };
    const bool made = mgraph_from_onnx(&m, &a, ds, &b, NULL, &err) == RILL_OK &&
        tgraph_from_mgraph(&t, &m, &(struct typed_opts) { 0 }, &err) == RILL_OK;
    CHECK(made, "%s", err.text);
    const struct dim *s = dim_symbol(ds, "S");
    CHECK(made && graph_substituted(&g, &t.g, s, dim_int(ds, 30), &a, &err) == RILL_OK, "%s",
          err.text);
    CHECK(made && graph_substituted(&g, &t.g, s, dim_int(ds, 41), &a, &err) == RILL_INVALID &&
              strstr(err.text, "node 'hidden' (Where): its input 0 is a constant bool[30,30]") &&
              strstr(err.text, "sizes 30 and 41"),
          "%s", err.text);
    free(file.data);
    arena_drop(&a);
    dims_free(ds);
}

int main(void)
{
    test_masked();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        try(&rows[i]);
    return check_done();
}
