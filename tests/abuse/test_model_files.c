/* SPDX-License-Identifier: MIT */
/* Model files that mean harm, one row for each class of mistakes that loaders of such files made.
 * Each is opened, planned and run through the library in a process of its own with limits, and then
 * loaded by a daemon while a stream runs. */
#include "tests/daemon/harness.h"
#include "tests/models/pb.h"

#include <errno.h>
#include <fcntl.h>
#include <rill.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY_KIB_MAX 196608 /* that refusing any of them may take */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static const float six[6] = { 1, 2, 3, 4, 5, 6 };

/* ---- pieces ---- */

/* clang-format off */
#define MADE(name, ...) static struct pb name(void) { return __VA_ARGS__; }
/* clang-format on */
MADE(graph_start, make_graph(DIMS(1, 4)))

static struct pb model_of(struct pb node)
{
    struct pb g = graph_start();
    pb_message(&g, GRAPH_NODE, node);
    return make_model(g, 13);
}

static struct pb model_of_const(struct pb node, struct pb tensor)
{
    struct pb g = graph_start();
    pb_message(&g, GRAPH_NODE, node);
    pb_message(&g, GRAPH_CONST, tensor);
    return make_model(g, 13);
}

static struct pb with(struct pb node, struct pb attr)
{
    pb_message(&node, NODE_ATTR, attr);
    return node;
}

static struct pb external(const char *key, const char *value, const char *location)
{
    struct pb t = make_tensor("w", 1, DIMS(1, 4));
    pb_int(&t, TENSOR_LOCATION, 1);
    pb_message(&t, TENSOR_EXTERNAL, make_entry("location", location));
    if (key)
        pb_message(&t, TENSOR_EXTERNAL, make_entry(key, value));
    return model_of_const(make_node("Add", "x w", "y"), t);
}

static struct pb nested(unsigned depth)
{
    struct pb g = graph_start();
    pb_message(&g, GRAPH_NODE, make_node("Relu", "x", "y"));
    while (depth-- > 1) {
        struct pb node = with(make_node("If", "c", "y"), make_graph_attr("then_branch", g));
        g = (struct pb) { 0 };
        pb_message(&g, GRAPH_NODE, node);
    }
    return make_model(g, 13);
}

/* ---- rows ---- */

MADE(path_parent, external(NULL, NULL, "../secret.bin"))
MADE(path_inner, external(NULL, NULL, "sub/../../secret.bin"))
MADE(path_absolute, external(NULL, NULL, "/etc/passwd"))
MADE(path_empty, external(NULL, NULL, ""))
MADE(path_link, external(NULL, NULL, "link.bin"))
MADE(path_hard, external(NULL, NULL, "hard.bin"))
MADE(path_pipe, external(NULL, NULL, "pipe"))
MADE(key_foreign, external("__class__", "x", "w.bin"))
MADE(offset_negative, external("offset", "-8", "w.bin"))
MADE(offset_huge, external("offset", "18446744073709551600", "w.bin"))
MADE(length_huge, external("length", "9223372036854775807", "w.bin"))
MADE(raw_short, model_of_const(make_node("Add", "x w", "y"), make_raw("w", 1, DIMS(1, 6), six, 20)))
MADE(raw_long, model_of_const(make_node("Add", "x w", "y"), make_raw("w", 1, DIMS(1, 2), six, 24)))

static struct pb dims_wrap(void)
{
    const int64_t big = (int64_t) 1 << 33;
    return model_of_const(make_node("Add", "x w", "y"), make_raw("w", 1, DIMS(big, big), six, 16));
}

MADE(dims_zero_wrap,
     model_of_const(make_node("Add", "x w", "y"),
                    make_raw("w", 1, DIMS(0, INT64_MAX, INT64_MAX), six, 0)))

static struct pb conv_with(const char *attr, const int64_t *v, size_t n, const int64_t *weights,
                           size_t weight_bytes)
{
    struct pb g = { 0 };
    float *zeros = calloc(1, weight_bytes);
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(1, 2, 16)));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1, 2, 16)));
    pb_message(&g, GRAPH_NODE, with(make_node("Conv", "x w", "y"), make_ints_attr(attr, v, n)));
    pb_message(&g, GRAPH_CONST, make_raw("w", 1, weights, zeros, weight_bytes));
    free(zeros);
    return make_model(g, 13);
}

MADE(conv_dilations, conv_with("dilations", DIMS(1, 1, 1, 1, 1), 5, DIMS(2, 2, 3), 48))
MADE(conv_stride, conv_with("strides", DIMS(0), 1, DIMS(2, 2, 3), 48))
MADE(conv_pads, conv_with("pads", DIMS(INT64_MAX, INT64_MAX), 2, DIMS(2, 2, 3), 48))
MADE(conv_kernel, conv_with("kernel_shape", DIMS(99, 99), 2, DIMS(2, 2, 3), 48))
MADE(conv_rank, conv_with("strides", DIMS(1), 1, DIMS(4), 16))
MADE(permutation,
     model_of(with(make_node("Transpose", "x", "y"), make_ints_attr("perm", DIMS(7, 0), 2))))
MADE(axis_far, model_of(with(make_node("Softmax", "x", "y"), make_int_attr("axis", INT64_MIN))))

static struct pb gather_const(void)
{
    const int64_t far = 1000000;
    return model_of_const(make_node("Gather", "x i", "y"), make_raw("i", 7, DIMS(1), &far, 8));
}

/* The index is what the stream says. */
static struct pb gather_live(void)
{
    struct pb g = graph_start();
    pb_message(&g, GRAPH_NODE, with(make_node("Cast", "x", "i"), make_int_attr("to", 7)));
    pb_message(&g, GRAPH_NODE, make_node("Gather", "w i", "y"));
    pb_message(&g, GRAPH_CONST, make_raw("w", 1, DIMS(6), six, 24));
    return make_model(g, 13);
}

MADE(deep, nested(2911))
MADE(deep_by_one, nested(17))

/* Every body reads what is outside of all: walks that begin anew in each level would take 2^15
 * steps. */
static struct pb branches(void)
{
    struct pb g = { 0 };
    pb_message(&g, GRAPH_NODE, make_node("Neg", "x", "a"));
    pb_message(&g, GRAPH_OUTPUT, make_value("a", 1, DIMS(1, 4)));
    for (int k = 0; k < 10; k++) {
        struct pb copy = { 0 }, node = make_node("If", "c", "a");
        pb_put(&copy, g.data, g.n);
        node = with(with(node, make_graph_attr("then_branch", copy)),
                    make_graph_attr("else_branch", g));
        g = (struct pb) { 0 };
        pb_message(&g, GRAPH_NODE, node);
        pb_message(&g, GRAPH_OUTPUT, make_value("a", 1, DIMS(1, 4)));
    }
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(1, 4)));
    pb_message(&g, GRAPH_INPUT, make_value("c", 9, DIMS(1)));
    return make_model(g, 13);
}

/* A function of the domain local that makes b of a by as many calls of another in a row. */
static struct pb local_function(const char *name, const char *of, int calls)
{
    struct pb f = { 0 };
    for (int i = 0; i < calls; i++) {
        char in[8], out[8];
        snprintf(in, sizeof in, i ? "t%d" : "a", i);
        snprintf(out, sizeof out, i + 1 < calls ? "t%d" : "b", i + 1);
        struct pb node = make_node(of, in, out);
        pb_text(&node, NODE_DOMAIN, "local");
        pb_message(&f, 7, node);
    }
    pb_text(&f, 1, name);
    pb_text(&f, 4, "a");
    pb_text(&f, 5, "b");
    pb_text(&f, 10, "local");
    return f;
}

static struct pb calls_local(const char *name)
{
    struct pb node = make_node(name, "x", "y");
    pb_text(&node, NODE_DOMAIN, "local");
    struct pb m = model_of(node);
    pb_message(&m, MODEL_OPSET, make_opset("local", 1));
    return m;
}

/* 3000 functions that call each other in a row, and one that calls itself. */
static struct pb functions(void)
{
    struct pb m = calls_local("F0");
    for (int i = 0; i < 3000; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i == 2999 ? i : i + 1);
        pb_message(&m, 25, local_function(name, next, 1));
    }
    return m;
}

/* 4096 calls of one that says nothing of 200000 values. */
static struct pb functions_infos(void)
{
    struct pb m = calls_local("F12"), inner = { 0 };
    for (int i = 1; i <= 12; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i - 1);
        pb_message(&m, 25, local_function(name, next, 2));
    }
    pb_message(&inner, 7, make_node("Neg", "a", "b"));
    pb_text(&inner, 1, "F0");
    pb_text(&inner, 4, "a");
    pb_text(&inner, 5, "b");
    pb_text(&inner, 10, "local");
    pb_message(&inner, 9, make_opset("", 13));
    for (int i = 0; i < 200000; i++)
        pb_message(&inner, 12, (struct pb) { 0 });
    pb_message(&m, 25, inner);
    return m;
}

static struct pb fill_huge(void)
{
    const int64_t n[2] = { 1 << 20, 1 << 20 };
    struct pb g = graph_start();
    pb_message(&g, GRAPH_NODE, make_node("ConstantOfShape", "n", "w"));
    pb_message(&g, GRAPH_NODE, make_node("ReduceSum", "w", "s"));
    pb_message(&g, GRAPH_NODE, make_node("Add", "x s", "y"));
    pb_message(&g, GRAPH_CONST, make_raw("n", 7, DIMS(2), n, sizeof n));
    return make_model(g, 13);
}

static struct pb range_huge(void)
{
    const int64_t v[3] = { 0, INT64_MAX, 1 };
    struct pb g = graph_start();
    pb_message(&g, GRAPH_NODE, make_node("Range", "a b c", "r"));
    pb_message(&g, GRAPH_NODE, make_node("Gather", "r a", "i"));
    pb_message(&g, GRAPH_NODE, make_node("Gather", "x i", "y"));
    for (int i = 0; i < 3; i++)
        pb_message(&g, GRAPH_CONST,
                   make_raw((const char *[]) { "a", "b", "c" }[i], 7, (const int64_t[]) { -1 },
                            &v[i], 8));
    return make_model(g, 13);
}

/* Each Expand doubles what the one before made. */
static struct pb expand_chain(void)
{
    struct pb g = graph_start();
    char in[8] = "w", out[8];
    for (int k = 0; k < 40; k++) {
        snprintf(out, sizeof out, "e%d", k);
        char both[24];
        snprintf(both, sizeof both, "%s %s", in, in);
        pb_message(&g, GRAPH_NODE, with(make_node("Concat", both, out), make_int_attr("axis", 1)));
        memcpy(in, out, sizeof in);
    }
    pb_message(&g, GRAPH_NODE, with(make_node("ReduceSum", in, "s"), make_int_attr("keepdims", 0)));
    pb_message(&g, GRAPH_NODE, make_node("Add", "x s", "y"));
    pb_message(&g, GRAPH_CONST, make_raw("w", 1, DIMS(1, 4), six, 16));
    return make_model(g, 13);
}

static struct pb no_bytes(void)
{
    return (struct pb) { 0 };
}

static struct pb odd_bytes(void)
{
    struct pb p = { 0 };
    pb_put(&p, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    return p;
}

static struct pb no_graph(void)
{
    struct pb p = { 0 };
    pb_int(&p, MODEL_IR, 8);
    return p;
}

static struct pb blob(void)
{
    struct pb node = make_node("EPContext", "x", "y"), attr = { 0 };
    pb_text(&attr, ATTR_NAME_, "ep_cache_context");
    pb_bytes(&attr, ATTR_S_,
             "\x7f"
             "ELF\2\1\1",
             7);
    pb_int(&attr, ATTR_TYPE_, 3);
    pb_text(&node, NODE_DOMAIN, "com.microsoft");
    return model_of(with(node, attr));
}

static struct pb many_nodes(void)
{
    struct pb g = { 0 };
    for (int i = 0; i < 1000000; i++)
        pb_message(&g, GRAPH_NODE, (struct pb) { 0 });
    return make_model(g, 13);
}

/* words: of the refusal; NULL: a file that may be read and run, but not do harm. */
static const struct row {
    const char *name;
    struct pb (*make)(void);
    const char *words;
} rows[] = {
    { "external-path-parent", path_parent, "'..'" },
    { "external-path-inner", path_inner, "'..'" },
    { "external-path-absolute", path_absolute, "absolute" },
    { "external-path-empty", path_empty, "empty path" },
    { "external-path-link", path_link, "symbolic link" },
    { "external-path-hard-link", path_hard, "hard links" },
    { "external-path-pipe", path_pipe, "not a regular file" },
    { "external-key", key_foreign, "key '__class__'" },
    { "external-offset-negative", offset_negative, "is no size" },
    { "external-offset-huge", offset_huge, "is no size" },
    { "external-length-huge", length_huge, "" },
    { "raw-data-short", raw_short, "its raw data has 20" },
    { "raw-data-long", raw_long, "its raw data has 24" },
    { "dims-overflow", dims_wrap, "constant 'w'" },
    { "dims-overflow-of-zero", dims_zero_wrap, "multiply" },
    { "shape-conv-dilations", conv_dilations, "dilations" },
    { "shape-conv-stride", conv_stride, "stride" },
    { "shape-conv-pads", conv_pads, "" },
    { "shape-conv-kernel", conv_kernel, "kernel" },
    { "shape-conv-rank", conv_rank, "" },
    { "shape-permutation", permutation, "perm" },
    { "shape-axis", axis_far, "axis" },
    { "kernel-gather-constant", gather_const, "" },
    { "kernel-gather-live", gather_live, NULL },
    { "subgraphs-deep", deep, "nested more than 16 deep" },
    { "subgraphs-deep-by-one", deep_by_one, "nested more than 16 deep" },
    { "subgraphs-branches", branches, NULL },
    { "functions", functions, "functions call functions more than 64 deep" },
    { "functions-infos", functions_infos, NULL },
    { "constants-fill", fill_huge, "" },
    { "constants-range", range_huge, "" },
    { "constants-concat-chain", expand_chain, "" },
    { "bytes-none", no_bytes, "empty" },
    { "bytes-odd", odd_bytes, "no ONNX" },
    { "bytes-no-graph", no_graph, "no graph" },
    { "native-blob", blob, "'com.microsoft'" },
    { "protobuf-amplification", many_nodes, "memory" },
};
#define N_ROWS (sizeof rows / sizeof *rows)

/* ---- files ---- */

static void put(const char *dir, const char *name, const void *bytes, size_t n)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || (n && fwrite(bytes, 1, n, f) != n) || fclose(f))
        give_up("%s: %s", path, strerror(errno));
}

/* A model's folder with the row's file and what hostile names in it may point at. */
static void folder_fill(const char *dir, const struct row *r)
{
    static const char nnef[] =
        "version 1.0;\ngraph g(x) -> (y) {\n    x = external<scalar>(shape = [S]);\n"
        "    y = rill_onnx_scan(rill_frame(x, 4, 4), file = \"model.onnx\");\n}\n";
    char path[400], to[400];
    float zeros[16] = { 0 };
    struct pb file = r->make();
    mkdir(dir, 0700);
    put(dir, "graph.nnef", nnef, sizeof nnef - 1);
    put(dir, "model.onnx", file.data, file.n);
    put(dir, "../secret.bin", zeros, sizeof zeros);
    put(dir, "w.bin", zeros, sizeof zeros);
    put(dir, "orig.bin", zeros, sizeof zeros);
    snprintf(path, sizeof path, "%s/sub", dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/link.bin", dir);
    CHECK(symlink("w.bin", path) == 0);
    snprintf(path, sizeof path, "%s/hard.bin", dir);
    snprintf(to, sizeof to, "%s/orig.bin", dir);
    CHECK(link(to, path) == 0);
    snprintf(path, sizeof path, "%s/pipe", dir);
    CHECK(mkfifo(path, 0600) == 0);
    free(file.data);
}

/* ---- the library ---- */

struct verdict {
    int status;
    char text[508];
};

/* Numbers that are no indices, no probabilities and no samples. */
static void stream_run(const rill_plan *p)
{
    static const float odd[] = { 1e9f, -1e9f, 0x1p63f, -0.0f, 1e-42f, 3e38f };
    rill_port port = { .struct_bytes = sizeof port };
    size_t bytes = (rill_plan_stream_size(p) + 63) & ~(size_t) 63, took;
    void *mem = aligned_alloc(64, bytes ? bytes : 64);
    if (!mem || !rill_plan_ports(p, &port, 1) || !port.is_input) {
        free(mem);
        return;
    }
    rill_stream *s = rill_stream_init(mem, p);
    size_t n = (size_t) port.pulse_frames * port.width;
    float *x = calloc(n + 1, sizeof(double));
    for (int k = 0; x && k < 8; k++) {
        for (size_t i = 0; i < n; i++)
            x[i] = odd[(i + (size_t) k) % 6];
        rill_stream_push(s, 0, x, port.pulse_frames, &took);
        rill_stream_run(s);
    }
    free(x);
    free(mem);
}

static void row_try(const char *path, int out)
{
    struct verdict v = { .status = 0 };
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    v.status = (int) rill_model_open(&m, path, &err);
    if (v.status == RILL_OK)
        v.status = (int) rill_plan_new(&p, m,
                                       &(rill_plan_opts) { .struct_bytes = sizeof(rill_plan_opts),
                                                           .max_bytes = 1 << 28 },
                                       &err);
    if (v.status == RILL_OK)
        stream_run(p);
    rill_plan_unref(p);
    rill_model_free(m);
    memcpy(v.text, err.text, sizeof v.text);
    ssize_t n = write(out, &v, sizeof v);
    _exit(n == sizeof v ? 0 : 1);
}

static void limit(int what, rlim_t n)
{
    struct rlimit l = { n, n };
    setrlimit((__rlimit_resource_t) what, &l);
}

/* The process ended by itself, within its limits, with a verdict. Returns the most memory that it
 * took. */
static long row_open(const struct row *r, const char *path, struct verdict *v)
{
    int ends[2], status = -1;
    struct rusage use = { .ru_maxrss = 0 };
    if (pipe(ends) < 0)
        give_up("no pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        if (!SANITIZED)
            limit(RLIMIT_AS, (rlim_t) 1 << 30);
        limit(RLIMIT_CPU, SANITIZED ? 60 : 10);
        limit(RLIMIT_CORE, 0);
        close(ends[0]);
        row_try(path, ends[1]);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], v, sizeof *v);
    close(ends[0]);
    wait4(pid, &status, 0, &use);
    CHECK(n == sizeof *v && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "%s: no verdict, status %x", r->name, status);
    return use.ru_maxrss;
}

static void test_library(const char *root)
{
    char dir[200], path[300];
    for (size_t i = 0; i < N_ROWS; i++) {
        struct verdict v = { .status = -1 };
        snprintf(dir, sizeof dir, "%s/%s", root, rows[i].name);
        folder_fill(dir, &rows[i]);
        snprintf(path, sizeof path, "%s/model.onnx", dir);
        long kib = row_open(&rows[i], path, &v);
        CHECK(rows[i].words ? v.status > 0 && v.text[0] && strstr(v.text, rows[i].words) != NULL
                            : v.status >= 0,
              "%s: %d: %s", rows[i].name, v.status, v.text);
        if (getenv("RILL_ABUSE_TELL"))
            printf("%-26s %6ld KiB  %d  %.150s\n", rows[i].name, kib, v.status, v.text);
        CHECK(SANITIZED || kib < MEMORY_KIB_MAX, "%s took %ld KiB", rows[i].name, kib);
    }
}

/* ---- the daemon ---- */

#define N_FRAMES 48000

static float sound[N_FRAMES];

static struct rill_client *client(const char *sock)
{
    struct rill_client *c = NULL;
    if (rill_client_connect(&c, sock, "abuse", 60000)) {
        printf("%s\n", rill_client_error(c));
        exit(1);
    }
    return c;
}

static const struct rill_client_open plain = OPEN(FILE, 16000, 1, F32, .align = true);

static void row_load(struct rig *r, struct rill_client *ctl, const struct row *row)
{
    char dir[200];
    snprintf(dir, sizeof dir, "%s/models/%s", r->dir, row->name);
    folder_fill(dir, row);
    bool good = rill_client_ctl_load(ctl, row->name) == 0;
    CHECK(good || rill_client_error_code(ctl) == RILL__CODE__MODEL_FAILED, "%s: %s", row->name,
          rill_client_error(ctl));
    if (row->words)
        CHECK(!good && strstr(rill_client_error(ctl), row->words) != NULL, "%s: %s", row->name,
              rill_client_error(ctl));
}

/* ONNX bytes that call themselves a compiled plan are none. */
static void test_disguised(struct rig *r, struct rill_client *ctl)
{
    char dir[200];
    struct pb file = many_nodes();
    snprintf(dir, sizeof dir, "%s/models", r->dir);
    put(dir, "onnx.rill", file.data, file.n);
    CHECK_OF(ctl,
             rill_client_ctl_load(ctl, "onnx.rill") < 0 &&
                 strstr(rill_client_error(ctl), "is no compiled plan"));
    CHECK(rill_client_ctl_load(ctl, "model.onnx") < 0 &&
          rill_client_error_code(ctl) == RILL__CODE__NO_MODEL);
    free(file.data);
}

/* Nothing wrote, removed or made anything beneath the model folder. */
static void test_untouched(const struct rig *r, const char *what)
{
    char cmd[300];
    snprintf(cmd, sizeof cmd,
             "cd '%s/models' && find . -type f -exec cksum {} + | sort -k3 > ../%s", r->dir, what);
    CHECK(system(cmd) == 0);
}

static void test_daemon(void)
{
    struct rig r;
    char err[512], dir[100], cmd[200];
    struct result want, got = { .frame_bytes = sizeof(float) };
    rig_start(&r, "check_cpu_s = 60\ncheck_timeout_s = 120\n");
    snprintf(dir, sizeof dir, "%s/models", r.dir);
    mkdir(dir, 0700);
    CHECK(stream_whole(r.sock, &plain, sound, N_FRAMES, sizeof(float), 1000, &want, err), "%s",
          err);
    struct rill_client *ctl = client(r.ctl), *c = client(r.sock);
    result_listen(c, &got);
    CHECK_OF(c, rill_client_open(c, 1, &plain, NULL) == 0);
    size_t at = 0, piece = N_FRAMES / N_ROWS;
    for (size_t i = 0; i < N_ROWS; i++, at += piece) {
        row_load(&r, ctl, &rows[i]);
        CHECK(rill_client_send(c, 1, sound + at, piece * sizeof(float)) == 0, "%s: %s",
              rows[i].name, rill_client_error(c));
    }
    test_disguised(&r, ctl);
    test_untouched(&r, "before");
    for (size_t i = 0; i < N_ROWS; i += 5)
        rill_client_ctl_load(ctl, rows[i].name);
    test_untouched(&r, "after");
    snprintf(cmd, sizeof cmd, "cmp '%s/before' '%s/after'", r.dir, r.dir);
    CHECK(system(cmd) == 0);
    struct rill_client_finished fin;
    CHECK_OF(c,
             rill_client_send(c, 1, sound + at, (N_FRAMES - at) * sizeof(float)) == 0 &&
                 rill_client_finish(c, 1, &fin) == 0);
    CHECK(got.bytes == want.bytes && memcmp(got.pcm, want.pcm, want.bytes) == 0,
          "a stream beside them is what it is alone");
    rill_client_free(c);
    rill_client_free(ctl);
    result_free(&want);
    result_free(&got);
    CHECK(rig_stop(&r) == 0);
}

int main(void)
{
    char root[] = "/tmp/rill-abuse-XXXXXX", cmd[100];
    uint32_t seed = 3;
    for (int i = 0; i < N_FRAMES; i++)
        sound[i] = noise(&seed);
    if (!mkdtemp(root))
        return 1;
    test_library(root);
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", root);
    CHECK(system(cmd) == 0);
    if (getenv("RILLD"))
        test_daemon();
    else
        check_skip("RILLD names no daemon");
    return check_end();
}
