/* SPDX-License-Identifier: MIT */
/* What keeps a model from streaming is named: the node, op and axis that need what a stream has
 * not, not the first node that prepares it; and what is proposed does help. */
#include "tests/models/models_test.h"
#include "tests/models/pb.h"

#include <ctype.h>

#define WORDS_MAX 5

/* inputs: "NAME f|i|l DIMS;", l: 64 bits. nodes: "OP INPUTS = OUTPUTS ATTRIBUTES;" where an input
 * may be a constant: i:1,2 a list and I:1 a number of 64 bits, f:2,3 floats of that shape, F:2 a
 * float. An attribute that ends with a comma is a list. The symbol S is time. */
/* clang-format off */
static const struct row {
    const char *name, *inputs, *nodes, *outputs;
    const char *words[WORDS_MAX]; /* of the refusal; the first begins it */
    const char *transform;        /* that is proposed, and helps; NULL: none is */
} rows[] = {
    /* norms over time, as exporters write them */
    { "group norm by instance norm", "x f 1,8,S",
      "Conv x f:8,8,3 = conv pads=2,0,; Reshape conv i:0,4,-1 = flat; "
      "InstanceNormalization flat f:4 f:4 = norm; Shape conv = sizes; Reshape norm sizes = back; "
      "Mul back f:8,1 = y;", "y", { "node 'norm' (InstanceNormalization)",
      "global along axis 2 of input 0", "into which node 'flat' (Reshape) merges time",
      "statistics that are constants" }, NULL },
    { "group norm of images", "x f 1,4,S,6",
      "Reshape x i:0,2,-1 = flat; InstanceNormalization flat f:2 f:2 = norm; Shape x = sizes; "
      "Reshape norm sizes = y;", "y",
      { "node 'norm' (InstanceNormalization)", "axis 2 of input 0", "'flat' (Reshape)" }, NULL },
    { "group norm of means", "x f 1,8,S",
      "Reshape x i:0,4,-1 = flat; ReduceMean flat = mean axes=2,; Sub flat mean = rest; "
      "Mul rest rest = square; ReduceMean square = var axes=2,; Sqrt var = std; "
      "Div rest std = norm; Shape x = sizes; Reshape norm sizes = y;", "y",
      { "node 'mean' (ReduceMean)", "axis 2 of input 0", "'flat' (Reshape) merges time" }, NULL },
    { "group norm behind a transposition", "x f 1,S,8",
      "Transpose x = t perm=0,2,1,; Reshape t i:0,4,-1 = flat; Relu flat = pos; "
      "InstanceNormalization pos f:4 f:4 = norm; Reshape norm i:1,8,-1 = y;", "y",
      { "node 'norm' (InstanceNormalization)", "'flat' (Reshape) merges time" }, NULL },
    { "group norm by layer norm", "x f 1,8,S",
      "Reshape x i:4,-1 = flat; ReduceMean flat = mean axes=1,; Sub flat mean = norm; "
      "Reshape norm i:1,8,-1 = y;", "y",
      { "node 'mean' (ReduceMean)", "axis 1 of input 0", "'flat' (Reshape) merges time" }, NULL },
    { "norm of all, flattened", "x f 1,8,S",
      "Flatten x = flat; ReduceMean flat = mean axes=1,; Sub flat mean = norm; Shape x = sizes; "
      "Reshape norm sizes = y;", "y",
      { "node 'mean' (ReduceMean)", "axis 1 of input 0", "'flat' (Flatten) merges time" }, NULL },
    { "two reshapes, the second merges", "x f 1,8,S",
      "Reshape x i:1,4,2,-1 = four; Reshape four i:1,4,-1 = flat; "
      "InstanceNormalization flat f:4 f:4 = norm; Reshape norm i:1,8,-1 = y;", "y",
      { "node 'norm' (InstanceNormalization)", "'flat' (Reshape) merges time" }, NULL },
    { "a reshape of its own accord", "x f 1,4,S",
      "Reshape x i:1,-1 = flat; Relu flat = pos; Reshape pos i:1,4,-1 = y;", "y",
      { "node 'flat' (Reshape)", "the sizes in front of the time axis change" }, NULL },
    { "a norm behind the next reshape", "x f 1,4,S",
      "Reshape x i:1,-1 = flat; Reshape flat i:1,4,-1 = back; ReduceMean back = y axes=2,;", "y",
      { "node 'flat' (Reshape)", "the sizes in front of the time axis change" }, NULL },
    { "rows of pairs against each other", "x f 2,S,1,2",
      "Reshape x i:-1,2 = rows; Transpose rows = turned perm=1,0,; MatMul rows turned = scores; "
      "Softmax scores = weights axis=-1; MatMul weights rows = y;", "y",
      { "node 'rows' (Reshape)" }, NULL },
    { "instance norm", "x f 1,8,S", "InstanceNormalization x f:8 f:8 = y;", "y",
      { "node 'y' (InstanceNormalization)", "axis 2 of input 0, the time axis" }, NULL },
    /* statistics of the whole recording */
    { "mean and deviation", "x f 1,S,4",
      "ReduceMean x = mean axes=1,; Sub x mean = rest; Pow rest F:2 = square; "
      "ReduceMean square = var axes=1,; Sqrt var = std; Div rest std = y;", "y",
      { "node 'mean' (ReduceMean)", "axis 1 of input 0, the time axis" }, NULL },
    { "deviation by count, the count first", "x f 1,S",
      "Shape x = sizes; Gather sizes i:1 = len; ReduceProd len = count keepdims=0; "
      "Cast count = countf to=1; ReduceMean x = mean axes=1,; Sub x mean = rest; "
      "Mul rest rest = square; ReduceMean square = var axes=1,; Mul var countf = sum; "
      "Sub countf F:1 = less; Div sum less = v; Sqrt v = std; Div x std = y;", "y",
      { "node 'mean' (ReduceMean)", "axis 1 of input 0, the time axis" }, NULL },
    { "deviation by count, of all axes", "x f 1,S",
      "Shape x = sizes; ReduceProd sizes = count keepdims=0; Cast count = countf to=1; "
      "ReduceMean x = mean axes=0,1,; Sub x mean = rest; Mul rest rest = square; "
      "ReduceMean square = var axes=0,1, keepdims=0; Mul var countf = sum; "
      "Sub countf F:1 = less; Div sum less = v; Sqrt v = std; Div x std = y;", "y",
      { "node 'mean' (ReduceMean)", "axis 1 of input 0, the time axis" }, NULL },
    { "mean as sum by length", "x f 1,S,4",
      "Shape x = sizes; Gather sizes i:1 = len; Cast len = lenf to=1; "
      "ReduceSum x i:1 = sum; Div sum lenf = mean; Sub x mean = y;", "y",
      { "node 'sum' (ReduceSum)", "axis 1 of input 0, the time axis" }, NULL },
    { "only the length", "x f 1,S,4",
      "Shape x = sizes; Gather sizes i:1 = len; Cast len = lenf to=1; Div x lenf = y;", "y",
      { "node 'lenf' (Cast)", "computed from the length of the whole sequence" }, NULL },
    { "a mean beside a length that has nothing to do with it", "x f 1,S,4",
      "Shape x = sizes; Gather sizes i:1 = len; Cast len = lenf to=1; Div x lenf = y; "
      "ReduceMean x = mean axes=1,;", "y mean",
      { "node 'lenf' (Cast)", "computed from the length of the whole sequence" }, NULL },
    { "the length in the body of a Scan", "x f S,4", "Shape x = sizes; Gather sizes i:0 = len; "
      "Scan f:4 f:3,4 = y each body=length num_scan_inputs=1; Mul x y = z;", "z",
      { "node 'inner' (Cast)", "computed from the length of the whole sequence" }, NULL },
    { "the length in the body of a Loop", "x f S,4",
      "Shape x = sizes; Gather sizes i:0 = len; Loop I:300 - f:4 = y body=loop; Mul x y = z;", "z",
      { "node 'y' (Loop)", "its body reads the length of the whole sequence" }, NULL },
    { "a row of a table by the length", "x f 1,S,4",
      "Shape x = sizes; Gather sizes i:1 = len; Gather f:9,4 len = row axis=0; Add x row = y;", "y",
      { "node 'row' (Gather)", "computed from the length of the whole sequence" }, NULL },
    { "the root of the length as a size", "x f 1,S,4",
      "Shape x = sizes; Gather sizes i:1 = len; Cast len = lenf to=1; Sqrt lenf = root; "
      "Cast root = end to=7; Slice x i:0 end i:1 = y;", "y",
      { "", "node 'lenf' (Cast): a symbolic size cannot become a number", "node 'y' (Slice)" },
      NULL },
    { "the length times no ratio as a size", "x f 1,S,4",
      "Shape x = sizes; Gather sizes i:1 = len; Cast len = lenf to=1; Mul lenf F:1.2345678 = more; "
      "Cast more = end to=7; Slice x i:0 end i:1 = y;", "y",
      { "", "node 'more' (Mul): a symbolic size times 1.2345", "wanted as a size by 'y' (Slice)" },
      NULL },
    { "the peak of all", "x f 1,S", "Abs x = a; ReduceMax a = peak; Div x peak = y;", "y",
      { "node 'peak' (ReduceMax)", "axis 1 of input 0, the time axis" }, NULL },
    { "squeeze and excitation", "x f 1,8,S",
      "GlobalAveragePool x = pool; Sigmoid pool = gate; Mul x gate = y;", "y",
      { "node 'pool' (GlobalAveragePool)", "axis 2 of input 0, the time axis" }, NULL },
    { "statistics beside frames", "x f 1,S,4",
      "Relu x = frames; ReduceMean frames = mean axes=1,; Sub frames mean = rest; "
      "Mul rest rest = square; ReduceMean square = var axes=1,; Concat mean var = y axis=2;",
      "y frames", { "node 'mean' (ReduceMean)", "axis 1 of input 0, the time axis" },
      "select_outputs('frames')" },
    { "a classifier of the mean", "x f 1,8,S",
      "Conv x f:8,8,3 = conv pads=2,0,; GlobalAveragePool conv = pool; Flatten pool = flat; "
      "Gemm flat f:8,2 = y;", "y",
      { "node 'pool' (GlobalAveragePool)", "axis 2 of input 0, the time axis" },
      "select_outputs('conv')" },
    { "a classifier of all frames", "x f 1,4,S", "Flatten x = flat; MatMul flat f:40,2 = y;", "y",
      { "node 'y' (MatMul)", "axis 1 of input 0", "'flat' (Flatten) merges time" }, NULL },
    { "frames times frames", "x f S,4", "Transpose x = t; Gemm t x = y;", "y",
      { "node 'y' (Gemm)", "axis 1 of input 0, the time axis" }, NULL },
    { "the largest of all", "x f 1,S", "TopK x i:3 = y at axis=1;", "y",
      { "node 'y' (TopK)", "axis 1 of input 0, the time axis" }, NULL },
    /* what is known after the last frame */
    { "the last state of a GRU", "x f S,1,4", "GRU x f:1,9,4 f:1,9,3 = y h hidden_size=3;", "y h",
      { "node 'y' (GRU)", "output 1, the state after the last frame of axis 0, the time axis" },
      "select_outputs('y')" },
    { "the last states of an LSTM", "x f 1,S,4",
      "Transpose x = t perm=1,0,2,; LSTM t f:1,12,4 f:1,12,3 = seq h c hidden_size=3; "
      "Squeeze seq i:1 = y;", "y h c",
      { "node 'seq' (LSTM)", "output 1, the state after the last frame of axis 0" },
      "select_outputs('y')" },
    { "a classifier of the last state", "x f S,1,4",
      "GRU x f:1,9,4 f:1,9,3 = seq h hidden_size=3; Squeeze h i:0 = last; "
      "Gemm last f:3,2 = class; Relu seq = y;", "y class",
      { "node 'seq' (GRU)", "output 1, the state after the last frame of axis 0" },
      "select_outputs('y')" },
    { "nothing but the last state", "x f S,1,4",
      "GRU x f:1,9,4 f:1,9,3 = - h hidden_size=3; Squeeze h i:0 = y;", "y", { "node 'h' (GRU)",
      "output 1, the state after the last frame of axis 0",
      "output 0, the state after every frame, is wanted by nothing: where the file names it" },
      NULL },
    { "the last state alone, every state named", "x f S,1,4",
      "GRU x f:1,9,4 f:1,9,3 = y h hidden_size=3;", "h", { "node 'y' (GRU)",
      "output 1, the state after the last frame of axis 0",
      "output 0, the state after every frame, is wanted by nothing",
      "select_outputs of that name" }, NULL },
    { "a classifier of the last state alone", "x f S,1,4",
      "GRU x f:1,9,4 f:1,9,3 = seq h hidden_size=3; Squeeze h i:0 = last; "
      "Gemm last f:3,2 = class;", "class", { "node 'seq' (GRU)",
      "output 1, the state after the last frame of axis 0",
      "output 0, the state after every frame, is wanted by nothing",
      "select_outputs of that name" }, NULL },
    { "the last state alone of an LSTM", "x f S,1,4",
      "LSTM x f:1,12,4 f:1,12,3 = seq h c hidden_size=3;", "h c", { "node 'seq' (LSTM)",
      "output 1, the state after the last frame of axis 0",
      "output 0, the state after every frame, is wanted by nothing",
      "select_outputs of that name" }, NULL },
    { "the last state under whole lengths", "x f S,1,4",
      "Shape x = sizes; Gather sizes i:0 = len; Cast len = lens to=6; "
      "GRU x f:1,9,4 f:1,9,3 - lens = y h hidden_size=3;", "y h",
      { "node 'y' (GRU)", "output 1, the state after the last frame of axis 0" },
      "select_outputs('y')" },
    { "the last state under lengths from outside", "x f S,1,4; lens i 1",
      "GRU x f:1,9,4 f:1,9,3 - lens = y h hidden_size=3;", "y h",
      { "node 'y' (GRU)", "output 1, the state after the last frame of axis 0" }, NULL },
    { "lengths from outside", "x f S,1,4; lens i 1",
      "GRU x f:1,9,4 f:1,9,3 - lens = y hidden_size=3;", "y", { "node 'y' (GRU)",
      "input 4, sequence_lens, may end sequences on axis 0, the time axis" },
      "patch(body: '`lens` = shape_of(`x`)[0];')" },
    { "lengths from outside, cast, batch first", "x f 1,S,4; in.lens l 1",
      "Transpose x = t perm=1,0,2,; Cast in.lens = lens to=6; "
      "LSTM t f:1,12,4 f:1,12,3 - lens = y hidden_size=3;", "y", { "node 'y' (LSTM)",
      "input 4, sequence_lens, may end sequences on axis 0, the time axis" },
      "patch(body: '`in.lens` = shape_of(`x`)[1];')" },
    { "the last state of a Scan", "x f S,4", "Scan f:4 x = last y body=sum num_scan_inputs=1;",
      "y last", { "node 'last' (Scan)",
      "state 0, after the last frame of axis 0 of input 1, the time axis" },
      "select_outputs('y')" },
    { "the last frame by Gather", "x f 1,S,4", "Relu x = frames; Gather frames I:-1 = y axis=1;",
      "y", { "node 'y' (Gather)", "takes frame -1 of axis 1, the time axis",
      "counted from the end" }, "select_outputs('frames')" },
    { "the last frame of a GRU by Gather", "x f S,1,4",
      "GRU x f:1,9,4 f:1,9,3 = seq hidden_size=3; Gather seq i:-1 = last axis=0; "
      "Squeeze last i:0 = y;", "y",
      { "node 'last' (Gather)", "takes frame -1 of axis 0, the time axis" },
      "select_outputs('seq')" },
    { "the last frame by its number", "x f 1,S,4",
      "Relu x = frames; Shape frames = sizes; Gather sizes i:1 = len; Sub len i:1 = at; "
      "Gather frames at = y axis=1;", "y",
      { "node 'y' (Gather)", "takes frame -1 + S of axis 1, the time axis" },
      "select_outputs('frames')" },
    { "the last frame by Slice", "x f 1,S,4",
      "Relu x = frames; Slice frames i:-1 i:9223372036854775807 i:1 = last; "
      "Squeeze last i:1 = y;", "y",
      { "node 'last' (Slice)", "on axis 1, the time axis, it starts at -1", "from the end" },
      "select_outputs('frames')" },
    { "the last frame by Slice and its number", "x f 1,S,4",
      "Relu x = frames; Shape frames = sizes; Gather sizes i:1 = len; Sub len i:1 = at; "
      "Slice frames at len i:1 = y;", "y",
      { "node 'y' (Slice)", "on axis 1, the time axis, it starts at -1 + S", "from the end" },
      "select_outputs('frames')" },
    { "the first frame", "x f 1,S,4", "Relu x = frames; Gather frames I:0 = y axis=1;", "y",
      { "node 'y' (Gather)", "a fixed number of frames of the time axis", "is wanted" },
      "select_outputs('frames')" },
    /* frames between frames */
    { "interpolated frames", "x f 1,2,S", "Resize x - f:0 i:1,2,12 = y mode=linear;", "y",
      { "node 'y' (Resize)", "12 frames of S on axis 2, the time axis", "depends on the length" },
      NULL },
    { "corners aligned", "x f 1,2,S",
      "Shape x = sizes; Mul sizes i:1,1,2 = twice; Resize x - - twice = y mode=linear "
      "coordinate_transformation_mode=align_corners;",
      "y", { "node 'y' (Resize)", "by align_corners", "half_pixel" }, NULL },
    { "a size that is not quite twice as long", "x f 1,2,S",
      "MaxPool x = half kernel_shape=1 strides=2; Shape x = sizes; "
      "Resize half - - sizes = y mode=linear;",
      "y", { "node 'y' (Resize)", "depends on the length", "--assert \"S == 2*(S/2)\" streams" },
      NULL },
    /* backwards */
    { "both directions", "x f S,1,4",
      "LSTM x f:2,12,4 f:2,12,3 = y hidden_size=3 direction=bidirectional;", "y",
      { "node 'y' (LSTM)", "direction bidirectional runs backwards along axis 0 of input 0" },
      NULL },
    { "one direction beside both", "x f S,1,4",
      "GRU x f:1,9,4 f:1,9,3 = one hidden_size=3; Relu one = y; "
      "GRU x f:2,9,4 f:2,9,3 = both hidden_size=3 direction=bidirectional;", "both y",
      { "node 'both' (GRU)", "direction bidirectional runs backwards along axis 0" },
      "select_outputs('y')" },
    { "a flip", "x f 1,S,4", "Slice x i:-1 i:-9223372036854775807 i:1 i:-1 = y;", "y",
      { "node 'y' (Slice)", "backwards along axis 1, the time axis", "the last of the sequence" },
      NULL },
    { "a GRU between flips", "x f S,1,4", "Slice x i:-1 i:-9223372036854775807 i:0 i:-1 = turned; "
      "GRU turned f:1,9,4 f:1,9,3 = seq hidden_size=3; "
      "Slice seq i:-1 i:-9223372036854775807 i:0 i:-1 = y;", "y",
      { "node 'turned' (Slice)", "backwards along axis 0, the time axis" }, NULL },
    { "a sum from the end", "x f 1,S", "CumSum x I:1 = y reverse=1;", "y",
      { "node 'y' (CumSum)", "runs backwards along axis 1 of input 0, the time axis" }, NULL },
    /* attention */
    { "attention without a mask", "x f 1,S,4",
      "MatMul x f:4,4 = q; MatMul x f:4,4 = k; Transpose k = kt perm=0,2,1,; "
      "MatMul q kt = scores; Softmax scores = att axis=-1; MatMul att x = y;", "y",
      { "node 'scores' (MatMul)", "every frame of input 0 with every frame of input 1",
      "a mask that is a function of positions", "none is up to node 'att' (Softmax)" }, NULL },
    { "attention under a bias", "x f 1,S,4; bias f 1,S,S",
      "Transpose x = kt perm=0,2,1,; MatMul x kt = scores; Mul scores F:2 = scaled; "
      "Add scaled bias = biased; Softmax biased = att axis=-1; MatMul att x = y;", "y",
      { "input 'bias' has the time symbol on two axes" }, NULL },
    { "attention under a bias of its frames", "x f 1,S,4",
      "Transpose x = kt perm=0,2,1,; MatMul x kt = scores; Mul scores F:2 = scaled; "
      "ReduceMax kt = bias axes=1,; Add scaled bias = biased; Softmax biased = att axis=-1; "
      "MatMul att x = y;", "y",
      { "node 'scores' (MatMul)", "every frame of input 0", "none is up to node 'att' (Softmax)" }, NULL },
    { "attention by Einsum", "x f 1,S,4",
      "Einsum x x = scores equation=bqd,bkd->bqk; Softmax scores = att axis=-1; "
      "Einsum att x = y equation=bqk,bkd->bqd;", "y",
      { "node 'scores' (Einsum)", "every frame of input 0", "none is up to node 'att' (Softmax)" },
      NULL },
    { "attention over the keys' sums", "x f 1,S,4",
      "Transpose x = kt perm=0,2,1,; MatMul kt x = kv; MatMul x kv = y;", "y",
      { "node 'kv' (MatMul)", "axis 2 of input 0, the time axis" }, NULL },
    { "pooling by attention", "x f 1,S,4",
      "MatMul x f:4,1 = scores; Softmax scores = att axis=1; Mul x att = part; "
      "ReduceSum part i:1 = y keepdims=0;", "y",
      { "node 'att' (Softmax)", "axis 1 of input 0, the time axis" }, "select_outputs('scores')" },
};
/* clang-format on */

/* ---- from text to a model ---- */

#define NAMES_MAX 64

struct builder {
    struct pb graph;
    char *constant[NAMES_MAX];
    unsigned n;
};

static unsigned dims_read(const char *text, int64_t *ret)
{
    unsigned n = 0;
    for (const char *at = text; *at && n + 1 < 8; at += strcspn(at, ","), at += *at == ',')
        ret[n++] = *at == 'S' ? -2 : strtoll(at, NULL, 10);
    ret[n] = -1;
    return n;
}

static struct pb tensor_of(const char *text)
{
    int64_t v[8], count = 1, list[2] = { 0, -1 };
    float floats[512];
    unsigned n = dims_read(text + 2, v);
    list[0] = n;
    if (*text == 'i' || *text == 'I')
        return make_raw(text, 7, *text == 'i' ? list : list + 1, v, n * sizeof *v);
    for (unsigned i = 0; *text == 'f' && i < n; i++)
        count *= v[i];
    for (int64_t i = 0; i < count; i++)
        floats[i] = *text == 'F' ? strtof(text + 2, NULL) : (float) (i % 7 - 3) / 8 + 0.0625f;
    return make_raw(text, 1, *text == 'f' ? v : list + 1, floats, (size_t) count * sizeof *floats);
}

static void operand(struct builder *b, struct pb *node, const char *text)
{
    bool made = text[1] != ':';
    for (unsigned i = 0; i < b->n; i++)
        made |= !strcmp(b->constant[i], text);
    if (!made) {
        b->constant[b->n++] = strdup(text);
        pb_message(&b->graph, GRAPH_CONST, tensor_of(text));
    }
    pb_text(node, NODE_INPUT, strcmp(text, "-") ? text : "");
}

/* Of a Scan, (state, frame) -> (state + what, state + what); of a Loop the same without a frame.
 * what is the frame, or the length `len` from outside. */
static struct pb body_make(const char *kind)
{
    static const int64_t none[] = { -1 };
    struct pb g = { 0 }, cast = make_node("Cast", "len", "what");
    bool loop = !strcmp(kind, "loop"), sum = !strcmp(kind, "sum");
    pb_text(&cast, NODE_NAME, "inner");
    pb_message(&cast, NODE_ATTR, make_int_attr("to", 1));
    pb_text(&g, GRAPH_NAME, kind);
    if (loop) {
        pb_message(&g, GRAPH_INPUT, make_value("i", 7, none));
        pb_message(&g, GRAPH_INPUT, make_value("go", 9, none));
        pb_message(&g, GRAPH_NODE, make_node("Identity", "go", "on"));
        pb_message(&g, GRAPH_OUTPUT, make_value("on", 9, none));
    }
    pb_message(&g, GRAPH_INPUT, make_value("s", 1, DIMS(4)));
    if (!loop)
        pb_message(&g, GRAPH_INPUT, make_value("f", 1, DIMS(4)));
    pb_message(&g, GRAPH_NODE, sum ? make_node("Identity", "f", "what") : cast);
    if (sum)
        free(cast.data);
    pb_message(&g, GRAPH_NODE, make_node("Add", "s what", "next"));
    pb_message(&g, GRAPH_OUTPUT, make_value("next", 1, DIMS(4)));
    if (!loop) {
        pb_message(&g, GRAPH_NODE, make_node("Identity", "next", "copy"));
        pb_message(&g, GRAPH_OUTPUT, make_value("copy", 1, DIMS(4)));
    }
    return g;
}

static struct pb attribute(const char *text)
{
    const char *v = strchr(text, '=') + 1;
    char name[64];
    int64_t list[8];
    snprintf(name, sizeof name, "%.*s", (int) (v - 1 - text), text);
    if (!strcmp(name, "body"))
        return make_graph_attr(name, body_make(v));
    if (isalpha((unsigned char) *v))
        return make_text_attr(name, v);
    if (v[strlen(v) - 1] != ',')
        return make_int_attr(name, strtoll(v, NULL, 10));
    unsigned n = dims_read(v, list);
    return make_ints_attr(name, list, n);
}

static void node_put(struct builder *b, char *text)
{
    char *save = NULL, *op = strtok_r(text, " ", &save), *name = NULL;
    struct pb n = { 0 };
    bool outputs = false;
    pb_text(&n, NODE_OP, op);
    for (char *t; (t = strtok_r(NULL, " ", &save));) {
        if (!strcmp(t, "=")) {
            outputs = true;
        } else if (!outputs) {
            operand(b, &n, t);
        } else if (strchr(t, '=')) {
            pb_message(&n, NODE_ATTR, attribute(t));
        } else {
            pb_text(&n, NODE_OUTPUT, strcmp(t, "-") ? t : "");
            name = name || !strcmp(t, "-") ? name : t;
        }
    }
    pb_text(&n, NODE_NAME, name);
    pb_message(&b->graph, GRAPH_NODE, n);
}

static void input_put(struct builder *b, char *text)
{
    char *save = NULL, *name = strtok_r(text, " ", &save), *type = strtok_r(NULL, " ", &save);
    int64_t dims[8];
    dims_read(strtok_r(NULL, " ", &save), dims);
    pb_message(&b->graph, GRAPH_INPUT,
               make_value(name,
                          *type == 'f'       ? 1
                              : *type == 'i' ? 6
                                             : 7,
                          dims));
}

static void output_put(struct builder *b, char *text)
{
    struct pb value = { 0 };
    pb_text(&value, 1, text);
    pb_message(&b->graph, GRAPH_OUTPUT, value);
}

static void each(struct builder *b, const char *text, const char *mark,
                 void (*put)(struct builder *b, char *part))
{
    char *copy = strdup(text), *save = NULL;
    for (char *part = strtok_r(copy, mark, &save); part; part = strtok_r(NULL, mark, &save))
        if (part[strspn(part, " ")])
            put(b, part);
    free(copy);
}

static const char *model_write(const struct row *r)
{
    struct builder b = { .n = 0 };
    const char *path = test_path("m", "model.onnx");
    pb_text(&b.graph, GRAPH_NAME, "g");
    each(&b, r->inputs, ";", input_put);
    each(&b, r->nodes, ";", node_put);
    each(&b, r->outputs, " ", output_put);
    struct pb m = make_model(b.graph, 17);
    file_write(path, m.data, m.n);
    free(m.data);
    while (b.n)
        free(b.constant[--b.n]);
    return path;
}

/* ---- checks ---- */

static const struct row *row_named(const char *name)
{
    const struct row *r = rows;
    while (strcmp(r->name, name) != 0)
        r++;
    return r;
}

static rill_status plan_try(const char *path, const char *transform, const char *assertion,
                            rill_error *err)
{
    const char *transforms[] = { transform, NULL }, *asserts[] = { assertion, NULL };
    const rill_model_opts opts = { .struct_bytes = sizeof opts,
                                   .transforms = transforms,
                                   .asserts = asserts };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_status s = rill_model_open_with(&m, path, &opts, err);
    if (s == RILL_OK)
        s = rill_plan_new(&p, m, NULL, err);
    rill_plan_unref(p);
    rill_model_free(m);
    return s;
}

/* What stands between the mark, which ends with a quote, and the next quote. */
static bool proposal_of(const char *text, const char *mark, char *ret, size_t cap)
{
    const char *at = strstr(text, mark);
    if (!at)
        return false;
    at += strlen(mark);
    snprintf(ret, cap, "%.*s", (int) strcspn(at, "\""), at);
    return true;
}

/* What does not stream runs at once all the same: x over its deviation, the length as a float. */
static void test_whole(void)
{
    const char *path = model_write(row_named("deviation by count, the count first"));
    const char *five[] = { "S=5", NULL };
    const rill_model_opts opts[] = { { .struct_bytes = sizeof *opts },
                                     { .struct_bytes = sizeof *opts, .set = five } };
    float v[5] = { 1, -2, 3, -4, 7 };
    const struct tensor x = { .type = DTYPE_F32, .rank = 2, .dim = { 1, 5 }, .data = v }, *in = &x;
    for (int i = 0; i < 2; i++) {
        struct arena a = { 0 };
        rill_error err = { RILL_OK, "" };
        rill_model *m = NULL;
        const struct tensor *y = NULL;
        rill_status s = rill_model_open_with(&m, path, &opts[i], &err);
        if (s == RILL_OK)
            s = interp_run(&m->decluttered.g, &in, &a, &y, &err);
        CHECK(s == RILL_OK && fabsf(((const float *) y->data)[4] - 7 / sqrtf(18.5f)) < 1e-6f,
              "%s: %s", i ? "S=5" : "S", err.text);
        arena_drop(&a);
        rill_model_free(m);
    }
}

/* Rows of pairs against each other, two frames. */
static void pairs_weigh(float *ret, const float *x)
{
    for (int i = 0; i < 4; i++) {
        float sum = 0, y[2] = { 0 };
        for (int k = 0; k < 4; k++) {
            const float w = expf(x[2 * i] * x[2 * k] + x[2 * i + 1] * x[2 * k + 1]);
            sum += w;
            y[0] += w * x[2 * k];
            y[1] += w * x[2 * k + 1];
        }
        ret[2 * i] = y[0] / sum;
        ret[2 * i + 1] = y[1] / sum;
    }
}

static void test_merged(void)
{
    const char *path = model_write(row_named("rows of pairs against each other"));
    const rill_model_opts opts = { .struct_bytes = sizeof opts };
    float v[8] = { 1, -2, 0.5f, 0.25f, -1, 0.75f, 2, 1 }, want[8];
    const struct tensor x = { .type = DTYPE_F32, .rank = 4, .dim = { 2, 2, 1, 2 }, .data = v },
                        *in = &x;
    struct arena a = { 0 };
    rill_error err = { RILL_OK, "" };
    rill_model *m = NULL;
    const struct tensor *y = NULL;
    rill_status s = rill_model_open_with(&m, path, &opts, &err);
    if (s == RILL_OK)
        s = interp_run(&m->decluttered.g, &in, &a, &y, &err);
    pairs_weigh(want, v);
    CHECK(s == RILL_OK, "%s", err.text);
    for (int i = 0; s == RILL_OK && i < 8; i++)
        CHECK(fabsf(((const float *) y->data)[i] - want[i]) < 1e-5f, "element %d", i);
    arena_drop(&a);
    rill_model_free(m);
}

static void row_check(const struct row *r)
{
    const char *path = model_write(r);
    rill_error err = { RILL_OK, "" };
    char transform[300];
    rill_status s = plan_try(path, NULL, NULL, &err);
    CHECK(s == RILL_UNSUPPORTED, "%s: %d %s", r->name, s, err.text);
    CHECK(!strncmp(err.text, r->words[0], strlen(r->words[0])), "%s: not %s: %s", r->name,
          r->words[0], err.text);
    for (unsigned i = 1; i < WORDS_MAX && r->words[i]; i++)
        CHECK(strstr(err.text, r->words[i]), "%s: no '%s': %s", r->name, r->words[i], err.text);
    bool told = proposal_of(err.text, "--transform \"", transform, sizeof transform);
    CHECK(told == (r->transform != NULL) && (!told || !strcmp(transform, r->transform)),
          "%s: proposed is %s, not %s: %s", r->name, told ? transform : "nothing", r->transform,
          err.text);
    if (told)
        CHECK(plan_try(path, transform, NULL, &err) == RILL_OK, "%s: %s does not help: %s", r->name,
              transform, err.text);
}

/* SAME padding with strides: the node that is refused, and what is proposed to be asserted. */
/* clang-format off */
static const struct row strided[] = {
    { "a stride of 2", "x f 1,4,S", "Conv x f:4,4,3 = y auto_pad=SAME_UPPER strides=2,;", "y",
      { "node 'y' (Conv)", "S == 2*(S/2)" }, NULL },
    { "a kernel below a stride of 4", "x f 1,4,S",
      "Conv x f:4,4,1 = y auto_pad=SAME_UPPER strides=4,;", "y",
      { "node 'y' (Conv)", "S == 4*(S/4)" }, NULL },
    { "behind another stride", "x f 1,4,S", "Conv x f:4,4,4 = half strides=2, pads=1,1,; "
      "MaxPool half = y kernel_shape=3, auto_pad=SAME_LOWER strides=4,;", "y",
      { "node 'y' (MaxPool)", "S == 8*(S/8)" }, NULL },
    { "at another rate", "x f 1,4,S", "ConvTranspose x f:4,4,2 = twice strides=2,; "
      "Conv twice f:4,4,4 = y auto_pad=SAME_UPPER strides=6,;", "y",
      { "node 'y' (Conv)", "S == 3*(S/3)" }, NULL },
};
/* clang-format on */

static void strided_check(const struct row *r)
{
    const char *path = model_write(r);
    rill_error err = { RILL_OK, "" };
    char assertion[300];
    CHECK(plan_try(path, NULL, NULL, &err) == RILL_UNSUPPORTED, "%s: %s", r->name, err.text);
    CHECK(strstr(err.text, r->words[0]) && strstr(err.text, r->words[1]), "%s: %s", r->name,
          err.text);
    CHECK(proposal_of(err.text, "--assert \"", assertion, sizeof assertion) &&
              plan_try(path, NULL, assertion, &err) == RILL_OK,
          "%s: %s does not help: %s", r->name, assertion, err.text);
}

int main(void)
{
    test_root_make();
    mkdir(test_path("m", ""), 0700);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        row_check(&rows[i]);
    for (size_t i = 0; i < sizeof strided / sizeof *strided; i++)
        strided_check(&strided[i]);
    test_whole();
    test_merged();
    test_root_drop();
    return check_done();
}
