/* SPDX-License-Identifier: MIT */
/* No op streams by accident: every op in many forms, with time on each axis in turn, obeys the law
 * or is refused by name. What is refused must say which op it is. */
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXTRAS 6

/* Other inputs as text: "i 1 2" a list of integers, "I 2" one, "w 2 3" weights of that shape, "f 1
 * 2" floats, "s" a second stream of the same shape, "x" integers of the same shape, "c" true where
 * the stream is positive, "-" absent. */
struct form {
    const char *op, *attrs, *extra[EXTRAS];
    int rank, n_out;
};

/* late: input 0 comes a frame later than the others, which end a frame earlier. */
struct placed {
    const struct form *form;
    int shape;
    bool late;
};

/* clang-format off */
static const int shapes[][4] = {
    { 2, 3, GB_TIME },    { 2, GB_TIME, 3 },    { GB_TIME, 2, 3 }, /* rank 3 */
    { 2, 4, 3, GB_TIME }, { 2, 4, GB_TIME, 3 }, { 2, GB_TIME, 4, 3 },
    { GB_TIME, 4, 4, 2 }, /* rank 4 */
    { 3, GB_TIME },       { GB_TIME, 3 }, /* rank 2 */
};
/* clang-format on */
static const struct {
    int rank, first, end;
} places[] = { { 3, 0, 3 }, { 4, 3, 7 }, { 2, 7, 9 } };

static uint32_t extra_input(struct gb *b, const char *text, uint32_t x)
{
    int64_t v[4];
    float f[4];
    unsigned n = 0;
    char *at = (char *) (uintptr_t) text + 1;
    for (; *at && n < 4; n++) {
        v[n] = strtol(at, &at, 10);
        f[n] = (float) v[n] / 2;
    }
    switch (*text) {
    case 'i': return gb_ints_of(b, n, v);
    case 'I': return gb_int(b, v[0]);
    case 'f': return gb_floats(b, n, f);
    case 's': return GB(b, "Neg", "", GB(b, "Tanh", "", x));
    case 'x': return GB(b, "Cast", gb_printf(b, "to=%d", DTYPE_I64), GB(b, "Abs", "", x));
    case 'c': return GB(b, "Greater", "", x, gb_scalar(b, 0));
    case 'w':
        return n == 1 ? gb_weights(b, 1, (int) v[0])
            : n == 2  ? gb_weights(b, 2, (int) v[0], (int) v[1])
            : n == 3  ? gb_weights(b, 3, (int) v[0], (int) v[1], (int) v[2])
                      : gb_weights(b, 4, (int) v[0], (int) v[1], (int) v[2], (int) v[3]);
    default: return WIRE_NONE;
    }
}

static void placed(struct gb *b, const void *ctx)
{
    const struct placed *p = ctx;
    const struct form *f = p->form;
    const int *d = shapes[p->shape];
    uint32_t in[1 + EXTRAS], other;
    unsigned n = 1;
    int time = 0;
    in[0] = f->rank == 4 ? gb_input(b, "x", 4, d[0], d[1], d[2], d[3])
        : f->rank == 2   ? gb_input(b, "x", 2, d[0], d[1])
                         : gb_input(b, "x", 3, d[0], d[1], d[2]);
    while (d[time] != GB_TIME)
        time++;
    other = in[0];
    if (p->late) {
        other = gb_slice(b, in[0], time, 0, -1, 1);
        in[0] = gb_slice(b, in[0], time, 1, INT32_MAX, 1);
    }
    for (; n <= EXTRAS && f->extra[n - 1]; n++)
        in[n] = extra_input(b, f->extra[n - 1], other);
    struct node *made = gb_node(b, f->op, f->attrs, in, n, f->n_out ? (unsigned) f->n_out : 1);
    for (unsigned k = 0; made && k < made->n_out; k++)
        gb_output(b, GB(b, "Cast", gb_printf(b, "to=%d", DTYPE_F32), made->out[k]));
}

/* clang-format off */
#define F(name, text, ...) { .op = name, .attrs = text, .rank = 3, .extra = { __VA_ARGS__ } }
#define F0(name, text) { .op = name, .attrs = text, .rank = 3 }
#define F4(name, text, ...) { .op = name, .attrs = text, .rank = 4, .extra = { __VA_ARGS__ } }
#define F40(name, text) { .op = name, .attrs = text, .rank = 4 }
#define F2(name, text, ...) { .op = name, .attrs = text, .rank = 2, .extra = { __VA_ARGS__ } }
/* clang-format on */
#define EACH_AXIS(name, text)                                                                      \
    F0(name, text "axis=0"), F0(name, text "axis=1"), F0(name, text "axis=2"),                     \
        F0(name, text "axis=-2")
#define EACH_AXES(name, text)                                                                      \
    F(name, text "keepdims=0", "i 0"), F(name, text "keepdims=1", "i 1"),                          \
        F(name, text "keepdims=0", "i 2"), F(name, text "keepdims=0", "i 1 -1"),                   \
        F0(name, text "keepdims=0")
#define EACH_INT(name, text) F(name, text, "I 0"), F(name, text, "I 1"), F(name, text, "I -1")
#define EACH_POOL(name, text)                                                                      \
    F0(name, text "kernel_shape=2"), F0(name, text "kernel_shape=3 pads=1,1"),                     \
        F40(name, text "kernel_shape=2,1"), F40(name, text "kernel_shape=1,2 strides=1,2")

static const struct form forms[] = {
    EACH_AXES("ReduceSum", ""),
    EACH_AXES("ReduceMax", ""),
    EACH_AXES("ReduceMean", ""),
    EACH_AXES("ReduceL2", ""),
    EACH_AXES("ReduceProd", ""),
    EACH_AXES("ReduceLogSumExp", ""),
    EACH_AXIS("ArgMax", ""),
    EACH_AXIS("ArgMin", "keepdims=0 "),
    EACH_AXIS("Softmax", ""),
    EACH_AXIS("LogSoftmax", ""),
    EACH_AXIS("Hardmax", ""),
    EACH_AXIS("LpNormalization", ""),
    EACH_AXIS("Flatten", ""),
    F("LayerNormalization", "axis=-1", "w 3"),
    F("LayerNormalization", "axis=1", "w 1"),
    F("LayerNormalization", "axis=2", "w 1"),
    F("InstanceNormalization", "", "w 3", "w 3"),
    F("InstanceNormalization", "", "w 2", "w 2"),
    F4("InstanceNormalization", "", "w 4", "w 4"),
    F4("GroupNormalization", "num_groups=2", "w 4", "w 4"),
    F("BatchNormalization", "", "w 3", "w 3", "w 3", "f 1 2 3"),
    F("BatchNormalization", "", "w 2", "w 2", "w 2", "f 1 2"),
    F0("LRN", "size=3"),
    F40("LRN", "size=3"),
    F0("GlobalAveragePool", ""),
    F40("GlobalMaxPool", ""),
    F40("GlobalLpPool", ""),
    EACH_POOL("MaxPool", ""),
    EACH_POOL("AveragePool", ""),
    EACH_POOL("LpPool", ""),
    F("Conv", "", "w 2 3 2"),
    F("Conv", "", "w 4 2 2"),
    F("Conv", "pads=1,1", "w 4 2 3"),
    F4("Conv", "", "w 2 4 2 2"),
    F4("Conv", "strides=1,2 group=2", "w 2 2 1 2"),
    F("ConvTranspose", "", "w 3 2 2"),
    F("ConvTranspose", "strides=2", "w 2 3 3"),
    F4("ConvTranspose", "", "w 4 2 2 2"),
    EACH_INT("CumSum", ""),
    EACH_INT("CumSum", "exclusive=1"),
    EACH_INT("CumSum", "reverse=1"),
    F0("Transpose", ""),
    F0("Transpose", "perm=1,0,2"),
    F0("Transpose", "perm=2,0,1"),
    F("Unsqueeze", "", "i 0"),
    F("Unsqueeze", "", "i 1 3"),
    F("Unsqueeze", "", "i -1"),
    F("Concat", "axis=0", "s"),
    F("Concat", "axis=1", "s"),
    F("Concat", "axis=2", "s"),
    F("Concat", "axis=2", "w 2 3 2"),
    F("Concat", "axis=1", "w 2 1 3"),
    F("Concat", "axis=0", "w 2 2 3"),
    F("Slice", "", "i 1", "i 9", "i 0"),
    F("Slice", "", "i 0", "i 2", "i 1"),
    F("Slice", "", "i 1", "i -1", "i 2"),
    F("Slice", "", "i 0 1", "i 1 99", "i 0 2"),
    F("Slice", "", "i 99", "i -99", "i 1", "i -1"),
    F("Pad", "", "i 0 1", "-", "i 0"),
    F("Pad", "", "i 2 1", "-", "i 1"),
    F("Pad", "mode='edge", "i 1 2", "-", "i 2"),
    F("Pad", "mode='reflect", "i 1 1", "-", "i 1"),
    F("Pad", "mode='reflect", "i 1 0", "-", "i 2"),
    F("Pad", "mode='wrap", "i 1 1", "-", "i 1"),
    F("Gather", "axis=0", "i 1 0"),
    F("Gather", "axis=1", "i 1"),
    F("Gather", "axis=2", "I 0"),
    F("Gather", "axis=1", "i -1 0 1"),
    F("GatherElements", "axis=0", "x"),
    F("GatherElements", "axis=1", "x"),
    F("GatherElements", "axis=2", "x"),
    F("ScatterElements", "axis=0", "x", "s"),
    F("ScatterElements", "axis=1", "x", "s"),
    F("ScatterElements", "axis=2", "x", "s"),
    F("Tile", "", "i 2 1 1"),
    F("Tile", "", "i 1 2 1"),
    F("Tile", "", "i 1 1 3"),
    F("Expand", "", "i 2 1 1 1"),
    F("Expand", "", "i 3"),
    F0("Trilu", ""),
    F("Trilu", "upper=0", "I -1"),
    F40("Trilu", "upper=0"),
    F("Reshape", "", "i 0 -1"),
    F("Reshape", "", "i -1 3"),
    F("Reshape", "", "i 2 -1"),
    F("Reshape", "", "i -1"),
    F("Reshape", "", "i 3 2 -1"),
    F("Reshape", "", "i -1 1 6"),
    F("Reshape", "", "i 1 0 0 -1"),
    F("Reshape", "", "i 0 0 1 -1"),
    F40("DepthToSpace", "blocksize=2"),
    F40("DepthToSpace", "blocksize=2 mode='CRD"),
    F40("SpaceToDepth", "blocksize=2"),
    F2("Gemm", "", "w 3 2"),
    F2("Gemm", "transA=1", "w 3 2"),
    F2("Gemm", "transB=1 alpha=0.5", "w 2 3", "w 2"),
    F2("Gemm", "transB=1", "s"),
    F2("Gemm", "transA=1", "s"),
    F("MatMul", "", "w 3 3 4"),
    F("MatMul", "", "w 1 3 4"),
    F("GRU", "hidden_size=2", "w 1 6 3", "w 1 6 2", "-", "-", "w 1 3 2"),
    F2("Gemm", "", "w 3 2", "w 3 2"),
    F2("Gemm", "", "w 3 2", "w 1 2"),
    F("Einsum", "equation='abc,ac->ab", "w 3 3"),
    F("MatMul", "", "w 3 2"),
    F("MatMul", "", "w 2 3 4"),
    F("MatMul", "", "w 3"),
    F4("MatMul", "", "w 3 2"),
    F4("MatMul", "", "s"),
    F("Einsum", "equation='abc,cd->abd", "w 3 2"),
    F("Einsum", "equation='abc,bd->acd", "w 3 2"),
    F("Einsum", "equation='abc,ad->dbc", "w 2 2"),
    F("Einsum", "equation='abc,abc->ab", "s"),
    F("Einsum", "equation='abc,abd->acd", "s"),
    F("Einsum", "equation='abc,adc->abd", "s"),
    F("Einsum", "equation='abc,abc->cba", "s"),
    F0("Einsum", "equation='abc->ca"),
    F0("Einsum", "equation='abc->cab"),
    F0("RFFT", ""),
    F0("IRFFT", ""),
    F0("RFFT", "n=4"),
    F4("DFT", "", "-", "I 1"),
    F4("DFT", "inverse=1", "-", "I 2"),
    F4("DFT", "", "-", "I 0"),
    F0("Magnitude", ""),
    F40("Magnitude", ""),
    F4("ComplexMul", "", "s"),
    F("Resize", "", "-", "f 2 2 4"),
    F("Resize", "", "-", "f 2 4 2"),
    F("Resize", "", "-", "f 4 2 2"),
    F("Resize", "mode='linear", "-", "f 2 2 4"),
    F("Resize", "mode='linear", "-", "f 2 3 2"),
    F("Resize", "", "-", "f 2 2 1"),
    F("QuantizeLinear", "axis=1", "f 1 2 3", "-"),
    F("QuantizeLinear", "axis=0", "f 1 2"),
    F("QuantizeLinear", "axis=2", "f 1 2 3"),
    F("QuantizeLinear", "", "f 1"),
    F("PRelu", "", "w 3"),
    F("PRelu", "", "w 3 1"),
    F("PRelu", "", "w 2 1 1"),
    F("PRelu", "", "w 1"),
    F("Add", "", "w 3"),
    F("Mul", "", "w 3 1"),
    F("Sub", "", "s"),
    F("Max", "", "s", "w 1 3"),
    F("Mean", "", "s", "w 2 1 1", "s"),
    F("Pow", "", "w 1"),
    F("Mod", "fmod=1", "w 3"),
    F("Clip", "", "-", "-"),
    F("CastLike", "", "x"),
    F0("Identity", ""),
    F0("Gelu", ""),
    F0("IsNaN", ""),
    F0("Softplus", ""),
    F0("Shape", ""),
    F0("Size", ""),
    F("Compress", "axis=1", "c"),
    F0("NonZero", ""),
    F0("Unique", ""),
    F("GRU", "hidden_size=2", "w 1 6 3", "w 1 6 2"),
    F("GRU", "hidden_size=2 layout=1", "w 1 6 3", "w 1 6 2", "w 1 12"),
    F("LSTM", "hidden_size=2", "w 1 8 3", "w 1 8 2"),
    F("LSTM", "hidden_size=2 direction=bidirectional", "w 2 8 3", "w 2 8 2"),
    F("RNN", "hidden_size=2 direction=reverse", "w 1 2 3", "w 1 2 2"),
    F("RNN", "hidden_size=2 layout=1", "w 1 2 3", "w 1 2 2"),
    F0("Frame", "size=3 hop=1"),
    F0("Frame", "size=2 hop=2"),
    F40("OverlapAdd", "hop=1"),
    F0("OverlapAdd", "hop=2"),
    { .op = "TopK", .attrs = "axis=0", .rank = 3, .extra = { "i 1" }, .n_out = 2 },
    { .op = "TopK", .attrs = "axis=1", .rank = 3, .extra = { "i 1" }, .n_out = 2 },
    { .op = "TopK", .attrs = "axis=2", .rank = 3, .extra = { "i 2" }, .n_out = 2 },
    { .op = "Split", .attrs = "axis=0", .rank = 3, .extra = { "i 1 1" }, .n_out = 2 },
    { .op = "Split", .attrs = "axis=1", .rank = 3, .extra = { "i 1 2" }, .n_out = 2 },
    { .op = "Split", .attrs = "axis=2", .rank = 3, .extra = { "i 2 1" }, .n_out = 2 },
    { .op = "DynamicQuantizeLinear", .attrs = "", .rank = 3, .n_out = 3 },
    { .op = "MaxPool", .attrs = "kernel_shape=2", .rank = 3, .n_out = 2 },
    { .op = "GRU",
      .attrs = "hidden_size=2",
      .rank = 3,
      .extra = { "w 1 6 3", "w 1 6 2" },
      .n_out = 2 },
};

static struct {
    unsigned streams, refused, invalid;
} counted;

static void law_test(struct oracle *o, const char *what)
{
    static const int lengths[] = { 1, 4, 9 };
    static const int pulses[] = { 1, 3 };
    for (size_t i = 0; i < sizeof pulses / sizeof *pulses; i++) {
        enum verdict v = oracle_pulse(o, pulses[i]);
        const char *op = strrchr(what, '(');
        bool length = strstr(o->err.text, "computed from the length") != NULL; /* folded away */
        oracle_check(v == LAW_HOLDS || strstr(o->err.text, op) || length,
                     "%s: the refusal does not name the op: %s", what, o->err.text);
        counted.streams += v == LAW_HOLDS;
        counted.refused += v != LAW_HOLDS;
        if (getenv("RILL_SHOW"))
            printf("%s: %s\n", what, v == LAW_HOLDS ? "streams" : o->err.text);
        for (size_t k = 0; v == LAW_HOLDS && k < sizeof lengths / sizeof *lengths; k++)
            oracle_check(oracle_law(o, lengths[k], 1 + (uint32_t) k) != LAW_BROKEN,
                         "%s, pulse %d, length %d: %s", what, pulses[i], lengths[k], o->err.text);
    }
}

static void form_test(const struct form *f, bool late)
{
    for (size_t g = 0; g < sizeof places / sizeof *places; g++)
        for (int s = places[g].first; places[g].rank == f->rank && s < places[g].end; s++) {
            struct oracle o;
            char what[160];
            const int *d = shapes[s];
            snprintf(what, sizeof what, "%s%s [%d,%d,%d,%d] %s (%s)", late ? "late " : "", f->attrs,
                     d[0], d[1], d[2], d[3], f->extra[0] ? f->extra[0] : "", f->op);
            if (oracle_open(&o, placed, &(const struct placed) { f, s, late }, "S>=0") == LAW_HOLDS)
                law_test(&o, what);
            else {
                counted.invalid++;
                if (getenv("RILL_SHOW"))
                    printf("%s: not typed: %s\n", what, o.err.text);
            }
            oracle_close(&o);
        }
}

int main(void)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int late = 0; late < 2; late++)
            form_test(&forms[i], late);
    printf("%u stream, %u are refused, %u are no graphs\n", counted.streams, counted.refused,
           counted.invalid);
    oracle_check(counted.streams > 1400 && counted.refused > 400, "too few forms mean anything");
    return oracle_end();
}
