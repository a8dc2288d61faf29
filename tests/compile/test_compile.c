/* SPDX-License-Identifier: MIT */
/* A plan out of a compiled file gives the bits of the plan it was made of, for the built-in model,
 * every library model whose weights are at hand and the nets of the zoo, on every instruction set
 * (that it opens at once tests/rt counts; here `times` prints how long it takes); a file that is
 * damaged, cut, or for another machine, pulse or build is refused in words that say what to do. */
#include <rill.h>

#include "tests/models/pb.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUNS 40
#define FRAMES 600 /* at least: some nets give nothing before they saw hundreds */
#define TRIES 9

static unsigned passed, failed, skipped;
static bool thorough; /* 'all' was given: plain C takes as much as the others */
static bool is_timed; /* 'times' was given */
static char dir[64] = "/dev/shm/rill_compile_XXXXXX"; /* memory: thousands of files are written */

static int check(int ok, const char *model, const char *what, const char *more)
{
    ok ? passed++ : failed++;
    if (!ok)
        printf("FAILED %s: %s: %s\n", model, what, more);
    return ok;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float) (int32_t) *seed / 4294967296.0f;
}

/* ---- what a plan makes of noise ---- */

struct floats {
    float *v;
    size_t n, cap;
};

static void floats_add(struct floats *f, const float *v, size_t n)
{
    if (f->n + n > f->cap) {
        f->cap = (f->n + n) * 2;
        f->v = realloc(f->v, f->cap * sizeof *f->v);
        if (!f->v)
            abort();
    }
    if (n)
        memcpy(f->v + f->n, v, n * sizeof *v);
    f->n += n;
}

static void outputs_take(rill_stream *s, const rill_port *ports, unsigned n, float *buf,
                         struct floats *ret)
{
    size_t given;
    for (unsigned i = 0; i < n; i++)
        if (!ports[i].is_input &&
            rill_stream_pull(s, i, buf, ports[i].pulse_frames, &given) == RILL_OK)
            floats_add(ret, buf, given * ports[i].width * ports[i].element_bytes / 4);
}

/* few: no more pulses than give something, but a quarter of RUNS. */
static struct floats plan_run(const rill_plan *p, bool few)
{
    rill_port ports[64] = { { .struct_bytes = sizeof *ports } };
    struct floats all = { 0 };
    unsigned n = rill_plan_ports(p, ports, 64);
    size_t room = 1, taken;
    uint32_t seed = 5;
    for (unsigned i = 0; i < n; i++)
        room = (size_t) ports[i].width * ports[i].pulse_frames > room
            ? (size_t) ports[i].width * ports[i].pulse_frames
            : room;
    float *buf = malloc(room * sizeof(double)); /* of the widest type */
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64);
    if (!buf || !mem)
        abort();
    rill_stream *s = rill_stream_init(mem, p);
    unsigned runs = RUNS * ports[0].pulse_frames < FRAMES ? FRAMES / ports[0].pulse_frames : RUNS;
    for (unsigned k = 0; k < runs; k++) {
        if (few && k >= RUNS / 4 && all.n)
            k = runs - 1;
        for (unsigned i = 0; i < n && ports[i].is_input; i++) {
            size_t frames = k == runs - 1 ? (ports[i].pulse_frames + 1) / 2 : ports[i].pulse_frames;
            for (size_t j = 0; j < frames * ports[i].width; j++)
                buf[j] = noise(&seed);
            rill_stream_push(s, i, buf, frames, &taken);
        }
        rill_stream_run(s);
        outputs_take(s, ports, n, buf, &all);
    }
    rill_stream_finish(s);
    while (rill_stream_run(s) == RILL_OK)
        outputs_take(s, ports, n, buf, &all);
    free(mem);
    free(buf);
    return all;
}

static int same_ports(const rill_plan *a, const rill_plan *b)
{
    rill_port x[64] = { { .struct_bytes = sizeof *x } }, y[64] = { { .struct_bytes = sizeof *y } };
    unsigned n = rill_plan_ports(a, x, 64);
    if (n != rill_plan_ports(b, y, 64))
        return 0;
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(x[i].name, y[i].name))
            return 0;
        y[i].name = x[i].name;
        if (x[i].kind != y[i].kind || x[i].is_input != y[i].is_input ||
            x[i].rate_num != y[i].rate_num || x[i].rate_den != y[i].rate_den ||
            x[i].width != y[i].width || x[i].pulse_frames != y[i].pulse_frames ||
            x[i].delay_frames != y[i].delay_frames || x[i].hop_num != y[i].hop_num ||
            x[i].hop_den != y[i].hop_den || x[i].latency_samples != y[i].latency_samples ||
            x[i].offset_num != y[i].offset_num || x[i].offset_den != y[i].offset_den)
            return 0;
    }
    return 1;
}

static int same_info(const rill_model *a, const rill_model *b)
{
    rill_model_info x = { .struct_bytes = sizeof x }, y = { .struct_bytes = sizeof y };
    rill_model_get_info(a, &x);
    rill_model_get_info(b, &y);
    return !strcmp(x.name, y.name) && !strcmp(x.task, y.task) && x.sample_rate == y.sample_rate &&
        !memcmp(x.sha256, y.sha256, 32) && x.vad_threshold == y.vad_threshold &&
        x.vad_release == y.vad_release && x.vad_hangover_ms == y.vad_hangover_ms &&
        x.overload == y.overload;
}

/* ---- one file ---- */

static rill_status file_plan(const char *path, const rill_plan_opts *opts, rill_model **ret_m,
                             rill_plan **ret, rill_error *err)
{
    *ret_m = NULL;
    *ret = NULL;
    rill_status s = rill_model_open(ret_m, path, err);
    return s == RILL_OK ? rill_plan_new(ret, *ret_m, opts, err) : s;
}

static void file_drop(rill_model *m, rill_plan *p)
{
    rill_plan_unref(p);
    rill_model_free(m);
}

static void refused(const char *name, const char *path, const rill_plan_opts *opts,
                    rill_status want, const char *words)
{
    rill_model *m;
    rill_plan *p;
    rill_error err = { .text = "it was taken" };
    rill_status s = file_plan(path, opts, &m, &p, &err);
    check(s == want && strstr(err.text, words) && strstr(err.text, "rill compile"), name, words,
          err.text);
    file_drop(m, p);
}

static void file_times(const char *path, const char *name, const rill_plan_opts *opts)
{
    double best = 1e9;
    for (int k = 0; k < TRIES; k++) {
        rill_model *m;
        rill_plan *p;
        rill_error err;
        double start = now_ms();
        file_plan(path, opts, &m, &p, &err);
        double took = now_ms() - start;
        best = took < best ? took : best;
        file_drop(m, p);
    }
    printf("%s opens in %.2f ms\n", name, best);
}

static unsigned char *file_read(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        abort();
    fseek(f, 0, SEEK_END);
    *ret_n = (size_t) ftell(f);
    rewind(f);
    unsigned char *b = malloc(*ret_n + 1);
    if (!b || fread(b, 1, *ret_n, f) != *ret_n)
        abort();
    fclose(f);
    return b;
}

static bool files_equal(const char *a, const char *b)
{
    size_t n, m;
    unsigned char *x = file_read(a, &n), *y = file_read(b, &m);
    bool equal = n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return equal;
}

static void plan_test(const rill_model *m, const char *name, const rill_plan_opts *opts)
{
    char path[80], again[80];
    rill_model *cm;
    rill_plan *p, *cp;
    rill_error err;
    snprintf(path, sizeof path, "%s/x.rill", dir);
    snprintf(again, sizeof again, "%s/y.rill", dir);
    if (!check(rill_plan_new(&p, m, opts, &err) == RILL_OK, name, "plans", err.text))
        return;
    int saved = check(rill_plan_save(p, path, &err) == RILL_OK, name, "is saved", err.text);
    int opened =
        saved && check(file_plan(path, opts, &cm, &cp, &err) == RILL_OK, name, "opens", err.text);
    if (opened) {
        rill_plan_info a = { .struct_bytes = sizeof a }, b = { .struct_bytes = sizeof b };
        rill_plan_get_info(p, &a);
        rill_plan_get_info(cp, &b);
        check(same_ports(p, cp) && same_info(m, cm), name, "is the same to who looks at it", "");
        check(a.steps == b.steps && a.stream_bytes == b.stream_bytes &&
                  a.state_bytes == b.state_bytes,
              name, "has the same plan", "");
        bool few = !thorough && opts->cpu_mask == RILL_CPU_C; /* it is slow */
        struct floats x = plan_run(p, few), y = plan_run(cp, few);
        check(x.n == y.n && x.n > 0 && !memcmp(x.v, y.v, x.n * sizeof *x.v), name,
              "gives the same bits", "");
        free(x.v);
        free(y.v);
        check(rill_plan_save(cp, again, &err) == RILL_OK && files_equal(path, again), name,
              "saves to the same bytes", err.text);
        if (is_timed && !opts->cpu_mask)
            file_times(path, name, opts);
        file_drop(cm, cp);
    }
    rill_plan_unref(p);
}

/* Which rungs this machine has: on another than x86 the mask leaves plain C. */
static const struct {
    const char *name;
    uint32_t mask;
} rungs[] = {
    { "c", RILL_CPU_C },
    { "avx2", RILL_CPU_AVX2 },
    { "any", 0 },
};

static void model_test(const rill_model *m, const char *name, uint32_t pulse)
{
    for (size_t r = 0; r < sizeof rungs / sizeof *rungs; r++) {
        const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                      .cpu_mask = rungs[r].mask,
                                      .pulse_frames = pulse };
        plan_test(m, name, &opts);
    }
}

static void path_test(const char *folder, const char *name, uint32_t pulse)
{
    char path[4096];
    rill_model *m;
    rill_error err;
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "", name);
    if (!folder || rill_model_open(&m, path, &err) != RILL_OK) {
        skipped++;
        printf("skipped %s\n", name);
        return;
    }
    model_test(m, name, pulse);
    rill_model_free(m);
}

/* ---- weights stay in memory ---- */

static long locked_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmLck:", 6))
            kb = atol(line + 6);
    if (f)
        fclose(f);
    return kb;
}

/* The pages of a compiled file are locked while it is open; where that is not allowed it opens all
 * the same. */
static void lock_test(void)
{
    char path[80];
    rill_model *m;
    rill_plan *p;
    rill_error err;
    struct rlimit was, none;
    snprintf(path, sizeof path, "%s/locked.rill", dir);
    rill_model_builtin(&m, rill_model_builtin_name(0), &err);
    int made =
        rill_plan_new(&p, m, NULL, &err) == RILL_OK && rill_plan_save(p, path, &err) == RILL_OK;
    file_drop(m, p);
    if (!check(made, "locked", "saves", err.text))
        return;
    long before = locked_kb();
#ifdef __SANITIZE_ADDRESS__
    before = -1; /* it takes no notice of mlock */
#endif
    getrlimit(RLIMIT_MEMLOCK, &was);
    if (before < 0 || was.rlim_cur < 1 << 20) {
        skipped++;
        printf("skipped: memory cannot be locked\n");
    } else if (check(file_plan(path, NULL, &m, &p, &err) == RILL_OK, "locked", "opens", err.text)) {
        check(locked_kb() - before >= 12, "locked", "all pages of the file", "are not locked");
        file_drop(m, p);
        check(locked_kb() == before, "locked", "pages of a closed file", "stay locked");
    }
    none = was;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_MEMLOCK, &none);
    check(file_plan(path, NULL, &m, &p, &err) == RILL_OK, "locked",
          "opens without the right to lock", err.text);
    file_drop(m, p);
    setrlimit(RLIMIT_MEMLOCK, &was);
}

/* ---- files that are not what was written ---- */

static void file_write(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
        abort();
}

/* ---- weights that are kept narrow ---- */

#define NARROW 520 /* terms, and outputs */

static const struct narrow {
    const char *from, *op, *in, *to; /* weights, and what widens them */
    int64_t type, bits;
} narrow[] = {
    { "a", "Cast", "a", "fa", 10, 16 },
    { "b", "DequantizeLinear", "b s", "fb", 3, 8 },
    { "c", "DequantizeLinear", "c s", "fc", 21, 4 },
};

static struct pb narrow_graph(void)
{
    static uint8_t bytes[NARROW * NARROW * 2];
    static float scale[NARROW];
    uint32_t seed = 3;
    struct pb g = { 0 };
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(-2, NARROW)));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(-2, NARROW)));
    for (size_t i = 0; i < NARROW; i++)
        scale[i] = 0.001f + noise(&seed) * 0.001f;
    pb_message(&g, GRAPH_CONST, make_raw("s", 1, DIMS(NARROW), scale, sizeof scale));
    for (size_t k = 0; k < sizeof narrow / sizeof *narrow; k++) {
        const struct narrow *w = &narrow[k];
        for (size_t i = 0; i < sizeof bytes; i++) /* of f16: below 2^-7 */
            bytes[i] =
                (uint8_t) ((int) (noise(&seed) * 255) & (w->bits == 16 && i % 2 ? 0x9f : 0xff));
        struct pb node = make_node(w->op, w->in, w->to);
        if (w->bits == 16)
            pb_message(&node, NODE_ATTR, make_int_attr("to", 1));
        pb_message(&g, GRAPH_CONST,
                   make_raw(w->from, w->type, DIMS(NARROW, NARROW), bytes,
                            (size_t) (NARROW * NARROW * w->bits / 8)));
        pb_message(&g, GRAPH_NODE, node);
    }
    pb_message(&g, GRAPH_NODE, make_node("MatMul", "x fa", "h"));
    pb_message(&g, GRAPH_NODE, make_node("MatMul", "h fb", "i"));
    pb_message(&g, GRAPH_NODE, make_node("Tanh", "i", "j"));
    pb_message(&g, GRAPH_NODE, make_node("MatMul", "j fc", "y"));
    return g;
}

/* A compiled file holds them as they were written: of 3.2 MB of floats, 0.95. */
static void narrow_test(void)
{
    struct pb net = make_model(narrow_graph(), 21);
    rill_model *m;
    rill_plan *p;
    rill_error err;
    char path[80];
    struct stat file;
    snprintf(path, sizeof path, "%s/narrow.onnx", dir);
    file_write(path, net.data, net.n);
    free(net.data);
    if (!check(rill_model_open(&m, path, &err) == RILL_OK, "narrow", "opens", err.text))
        return;
    model_test(m, "narrow", 0);
    model_test(m, "narrow", 5);
    snprintf(path, sizeof path, "%s/narrow.rill", dir);
    int made =
        rill_plan_new(&p, m, NULL, &err) == RILL_OK && rill_plan_save(p, path, &err) == RILL_OK;
    check(made && !stat(path, &file) && file.st_size < 1100000, "narrow", "is small", err.text);
    file_drop(m, p);
}

/* ---- bytes ---- */

static struct pb bytes_graph(void)
{
    static int8_t w[NARROW * NARROW];
    const float scale = 1.0f / 256;
    const uint8_t zero = 128;
    uint32_t seed = 9;
    struct pb g = { 0 };
    for (size_t i = 0; i < sizeof w; i++)
        w[i] = (int8_t) (noise(&seed) * 255);
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(-2, NARROW)));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(-2, NARROW)));
    pb_message(&g, GRAPH_CONST, make_raw("s", 1, DIMS(1), &scale, sizeof scale));
    pb_message(&g, GRAPH_CONST, make_raw("z", 2, DIMS(1), &zero, sizeof zero));
    pb_message(&g, GRAPH_CONST, make_raw("w", 3, DIMS(NARROW, NARROW), w, sizeof w));
    pb_message(&g, GRAPH_NODE, make_node("QuantizeLinear", "x s z", "q"));
    pb_message(&g, GRAPH_NODE, make_node("MatMulInteger", "q w z", "i"));
    struct pb cast = make_node("Cast", "i", "y");
    pb_message(&cast, NODE_ATTR, make_int_attr("to", 1));
    pb_message(&g, GRAPH_NODE, cast);
    return g;
}

static const uint32_t byte_sets[] = { RILL_CPU_AVX2, RILL_CPU_AVX2 | RILL_CPU_AVXVNNI,
                                      RILL_CPU_AVX2 | RILL_CPU_AVX512,
                                      RILL_CPU_AVX2 | RILL_CPU_AVX512 | RILL_CPU_AVX512VNNI };

/* A set of floats with other instructions for bytes takes the file, or says what to do. */
static void bytes_opened(const char *path, unsigned from, unsigned to, const struct floats *want)
{
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .cpu_mask = byte_sets[to] };
    rill_model *m;
    rill_plan *p;
    rill_error err = { .text = "" };
    const rill_status s = file_plan(path, &opts, &m, &p, &err);
    if (s == RILL_OK) {
        struct floats got = plan_run(p, true);
        check(got.n == want->n && !memcmp(got.v, want->v, got.n * sizeof *got.v), "bytes",
              "the same bits", "");
        free(got.v);
    } else
        check(s == RILL_UNSUPPORTED && from != to && strstr(err.text, path) &&
                  strstr(err.text, "rill compile"),
              "bytes", "say what to do", err.text);
    check(s == RILL_OK || from / 2 != to / 2 || from % 2 == 0, "bytes",
          "what any kernel reads is taken", err.text);
    file_drop(m, p);
}

static void bytes_test(void)
{
    struct pb net = make_model(bytes_graph(), 13);
    char path[80];
    rill_model *m;
    rill_error err;
    snprintf(path, sizeof path, "%s/bytes.onnx", dir);
    file_write(path, net.data, net.n);
    free(net.data);
    if (!check(rill_model_open(&m, path, &err) == RILL_OK, "bytes", "opens", err.text))
        return;
    snprintf(path, sizeof path, "%s/bytes.rill", dir);
    for (unsigned from = 0; from < sizeof byte_sets / sizeof *byte_sets; from++) {
        const rill_plan_opts opts = { .struct_bytes = sizeof opts, .cpu_mask = byte_sets[from] };
        rill_plan *p = NULL;
        if (check(rill_plan_new(&p, m, &opts, &err) == RILL_OK &&
                      rill_plan_save(p, path, &err) == RILL_OK,
                  "bytes", "are saved", err.text)) {
            struct floats want = plan_run(p, true);
            for (unsigned to = 0; to < sizeof byte_sets / sizeof *byte_sets; to++)
                bytes_opened(path, from, to, &want);
            free(want.v);
        }
        rill_plan_unref(p);
    }
    rill_model_free(m);
}

/* ---- in memory ---- */

static void memory_refused(const unsigned char *bytes, size_t n, rill_status want, const char *word)
{
    rill_model *m = NULL;
    rill_error err = { .text = "" };
    const rill_status s = rill_model_compiled(&m, bytes, n, "here", &err);
    check(s == want && !m && strstr(err.text, word), "memory", word, err.text);
    rill_model_free(m);
}

/* The same bytes as a file's, which the caller keeps. */
static void memory_test(void)
{
    char path[128];
    rill_model *m = NULL, *here = NULL;
    rill_plan *p = NULL, *again = NULL;
    rill_error err = { .text = "" };
    size_t n = 0;
    snprintf(path, sizeof path, "%s/memory.rill", dir);
    if (!check(rill_model_builtin(&m, "wiener", &err) == RILL_OK &&
                   rill_plan_new(&p, m, NULL, &err) == RILL_OK &&
                   rill_plan_save(p, path, &err) == RILL_OK,
               "memory", "saves", err.text))
        return;
    unsigned char *read = file_read(path, &n), *bytes = aligned_alloc(64, (n + 63) / 64 * 64);
    remove(path);
    if (!bytes)
        abort();
    memcpy(bytes, read, n);
    free(read);
    check(rill_model_compiled(&here, bytes, n, "here", &err) == RILL_OK &&
              rill_plan_new(&again, here, NULL, &err) == RILL_OK &&
              rill_plan_stream_size(again) == rill_plan_stream_size(p),
          "memory", "opens", err.text);
    rill_plan_unref(again);
    rill_model_free(here);
    memory_refused(bytes + 1, n - 1, RILL_INVALID, "multiple of 64");
    memory_refused(bytes, n - 1, RILL_MALFORMED, "here");
    memory_refused(bytes, 8, RILL_MALFORMED, "too short");
    bytes[n - 1] ^= 1;
    memory_refused(bytes, n, RILL_MALFORMED, "damaged");
    free(bytes);
    rill_plan_unref(p);
    rill_model_free(m);
}

/* ---- damage ---- */

static void damage_test(void)
{
    char path[80], bad[80];
    rill_model *m;
    rill_plan *p;
    rill_error err;
    snprintf(path, sizeof path, "%s/whole.rill", dir);
    snprintf(bad, sizeof bad, "%s/bad.rill", dir);
    rill_model_builtin(&m, "wiener", &err); /* a small file */
    if (!check(rill_plan_new(&p, m, NULL, &err) == RILL_OK &&
                   rill_plan_save(p, path, &err) == RILL_OK,
               "damage", "saves", err.text))
        return;
    struct stat st;
    snprintf(bad, sizeof bad, "%s/pipe", dir);
    check(mkfifo(bad, 0600) == 0 && rill_plan_save(p, bad, &err) == RILL_IO &&
              strstr(err.text, "no ordinary file") && lstat(bad, &st) == 0 &&
              S_ISFIFO(st.st_mode) && unlink(bad) == 0,
          "damage", "what is no file stays", err.text);
    snprintf(bad, sizeof bad, "%s/bad.rill", dir);
    file_drop(m, p);
    size_t n;
    unsigned char *b = file_read(path, &n);
    unsigned taken = 0;
    file_write(bad, b, n);
    int fd = open(bad, O_WRONLY);
    for (size_t i = 0; i < n; i++) {
        unsigned char changed = b[i] ^ (unsigned char) (1u << i % 8);
        if (pwrite(fd, &changed, 1, (off_t) i) != 1)
            abort();
        taken += file_plan(bad, NULL, &m, &p, &err) == RILL_OK;
        file_drop(m, p);
        if (pwrite(fd, &b[i], 1, (off_t) i) != 1)
            abort();
    }
    close(fd);
    check(taken == 0, "damage", "every changed bit is seen", "");
    b[n - 1] ^= 1;
    file_write(bad, b, n);
    refused("damage", bad, NULL, RILL_MALFORMED, "damaged");
    b[n - 1] ^= 1;
    file_write(bad, b, n - 1);
    refused("damage", bad, NULL, RILL_MALFORMED, "cut off");
    file_write(bad, b, 50);
    refused("damage", bad, NULL, RILL_MALFORMED, "too short");
    free(b);
    refused("other pulse", path,
            &(rill_plan_opts) { .struct_bytes = sizeof(rill_plan_opts), .pulse_frames = 7 },
            RILL_UNSUPPORTED, "compiled for pulses of");
    rill_plan_info info = { .struct_bytes = sizeof info };
    rill_model_open(&m, path, &err);
    rill_plan_new(&p, m, NULL, &err);
    rill_plan_get_info(p, &info);
    int has_rungs = strcmp(info.cpu, "c");
    file_drop(m, p);
    if (has_rungs)
        refused("other cpu", path,
                &(rill_plan_opts) { .struct_bytes = sizeof(rill_plan_opts),
                                    .cpu_mask = RILL_CPU_C },
                RILL_UNSUPPORTED, "plans are made for c here");
    else
        skipped++;
    const char *const set[] = { "S=4", NULL };
    const rill_model_opts opts = { .struct_bytes = sizeof opts, .set = set };
    check(rill_model_open_with(&m, path, &opts, &err) == RILL_INVALID &&
              strstr(err.text, "rill compile"),
          "transforms", "are refused", err.text);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "gtcrn",        "dtln",      "silero_v4",
                                         "silero_v4_8k", "silero_v6", "silero_v6_8k" };
    static const char *const zoo[] = { "wavenet/model.onnx",       "tdnn_lstm/model.onnx",
                                       "gtcrn/model.onnx",         "dualpath/model.onnx",
                                       "dualpath_scan/model.onnx", "dfn3/model.onnx",
                                       "conformer/model.onnx",     "relconformer/model.onnx",
                                       "fastconformer/model.onnx" };
    const char *library = getenv("RILL_TEST_LIBRARY"), *nets = getenv("RILL_ZOO");
    rill_model *m;
    rill_error err;
    thorough = argc > 1 && !strcmp(argv[1], "all");
    is_timed = argc > 1 && !strcmp(argv[1], "times");
    if (!mkdtemp(dir) && !mkdtemp(strcpy(dir, "/tmp/rill_compile_XXXXXX")))
        return 1;
    check(rill_model_builtin(&m, rill_model_builtin_name(0), &err) == RILL_OK, "built-in", "opens",
          err.text);
    model_test(m, "built-in", 0);
    rill_model_free(m);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        path_test(library, names[i], 0);
    path_test(library, "micro_okay_nabu", 0);
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++)
        for (uint32_t pulse = 0; pulse <= 24; pulse += 24)
            path_test(nets, zoo[i], pulse);
    narrow_test();
    bytes_test();
    lock_test();
    damage_test();
    memory_test();
    char line[128];
    snprintf(line, sizeof line, "rm -rf %s", dir);
    if (system(line))
        printf("%s stays\n", dir);
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed != 0;
}
