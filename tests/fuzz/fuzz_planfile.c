/* SPDX-License-Identifier: MIT */
/* Any bytes as a compiled plan, past its hashes, which keep out damage but no intent: read,
 * planned, run for a few pulses. One entry point for libFuzzer and for the regression below, which
 * compiles some models and mutates their files in a fixed order. `fuzz_planfile --seeds FOLDER`
 * writes those files, for libFuzzer to start from. */
#include "engine/graph/control.h"
#include "lib/model_file.h"
#include "lib/plan_internal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/sinks/tones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORTS_MAX 64

#define STREAM_BYTES ((uint64_t) 4 << 20)
#define WORK_MAX 20000.0 /* nodes run in a pulse, bodies counted as often as they run */
#define PULSES 4

/* How often bodies run is the file's to say; what would only take long is not run. */
static double graph_work(const struct graph *g)
{
    double sum = g->n_nodes;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        double times = 1;
        if (n->op == &op_loop)
            times = (double) tensor_get_i64(g->wires[n->in[0]].fact.value,
                                            g->wires[n->in[0]].fact.value->data, 0);
        for (unsigned k = 0; n->op == &op_scan && k < n->n_in; k++)
            for (int a = 0; n->in[k] != WIRE_NONE && a < g->wires[n->in[k]].fact.rank; a++)
                if (dim_value(g->wires[n->in[k]].fact.shape[a]) > times)
                    times = (double) dim_value(g->wires[n->in[k]].fact.shape[a]);
        for (unsigned b = 0; b < n->n_body; b++)
            sum += times * graph_work(n->body[b]);
    }
    return sum;
}

static void plan_run_some(const rill_plan *p)
{
    static double buf[65536]; /* of the widest type */
    const size_t room = sizeof buf / sizeof *buf;
    rill_port ports[PORTS_MAX] = { { .struct_bytes = sizeof *ports } };
    unsigned n = rill_plan_ports(p, ports, PORTS_MAX);
    n = n < PORTS_MAX ? n : PORTS_MAX;
    size_t moved;
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64);
    if (!mem)
        abort();
    rill_stream *s = rill_stream_init(mem, p);
    for (int k = 0; k < PULSES + 2; k++) {
        for (unsigned i = 0; i < n && ports[i].is_input; i++) {
            size_t most = ports[i].width ? room / ports[i].width : 1;
            for (size_t left = ports[i].pulse_frames; most && left; left -= moved)
                if (rill_stream_push(s, i, buf, left < most ? left : most, &moved) != RILL_OK ||
                    !moved)
                    break;
        }
        if (k == PULSES)
            rill_stream_finish(s);
        rill_stream_run(s);
        for (unsigned i = 0; i < n; i++)
            for (size_t most = ports[i].width ? room / ports[i].width : 0;
                 !ports[i].is_input && most;)
                if (rill_stream_pull(s, i, buf, most, &moved) != RILL_OK || !moved)
                    break;
    }
    free(mem);
}

/* Whatever the file says of sinks, one is made or refused with words, and reads. */
static void sinks_run_some(const rill_plan *p)
{
    static const float frames[65536];
    rill_port ports[PORTS_MAX] = { { .struct_bytes = sizeof *ports } };
    rill_event e = { .struct_bytes = sizeof e };
    size_t took;
    for (unsigned i = 0, n = rill_plan_ports(p, ports, PORTS_MAX); i < n && i < PORTS_MAX; i++) {
        rill_error err = { .text = "" };
        rill_sink *s = NULL;
        if (ports[i].is_input)
            continue;
        if (rill_sink_new(&s, p, i, NULL, &err) != RILL_OK && !*err.text)
            abort();
        for (int k = 0; s && ports[i].width <= 4096 && k < 16; k++) {
            rill_sink_push(s, frames, 1, &took);
            while (rill_sink_next(s, &e) == RILL_OK)
                if (!e.text)
                    abort();
        }
        rill_sink_free(s);
    }
}

/* True where the bytes become a plan. */
static bool take(const void *bytes, size_t n)
{
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .max_bytes = STREAM_BYTES };
    struct planfile *f;
    rill_plan *p = NULL;
    rill_error err = { .text = "" };
    rill_model *m = model_new();
    if (!m)
        abort();
    rill_status s = planfile_of_bytes(&f, bytes, n, true, &err);
    if (s == RILL_OK) {
        f->shown = "fuzz";
        s = model_file_read(m, f, &err);
        if (s != RILL_OK)
            planfile_free(f);
    }
    if (s == RILL_OK)
        s = rill_plan_new(&p, m, &opts, &err);
    if (s == RILL_OK && graph_work(&p->settled.g) < WORK_MAX)
        plan_run_some(p);
    if (s == RILL_OK)
        sinks_run_some(p);
    if (s != RILL_OK && !*err.text)
        abort(); /* refused without a word */
    rill_plan_unref(p);
    rill_model_free(m);
    return s == RILL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    void *copy; /* of exact size, so that a sanitizer sees one byte too far */
    if (posix_memalign(&copy, 64, n ? n : 1))
        abort();
    if (n)
        memcpy(copy, data, n);
    take(copy, n);
    free(copy);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char *const texts[] = {
    NULL, /* the built-in model */
    "version 1.0;\nextension rill_symbol S;\nextension rill_assert S >= 1;\n"
    "fragment f(x: tensor<scalar>, s: tensor<scalar>) -> (y: tensor<scalar>, t: tensor<scalar>)\n{ "
    "t = s * 0.5 + x; y = t + x; }\n"
    "graph g(x) -> (y, w) { x = external(shape = [S, 3]); y = rill_scan(x, body = f, state = [(s, "
    "t, rill_fill([3], 1.0))]);\n"
    "w = transpose(pad(y, [(2, 1), (0, 0)]), [1, 0]); }\n",
    "version 1.0;\nextension rill_symbol S;\nextension rill_assert S >= 1;\n"
    "graph g(x) -> (y) { x = external(shape = [1, 4, S]); k = rill_fill([32, 4, 3], 0.5); l = "
    "rill_fill([4, 32, 1], 0.25);\n"
    "c = relu(conv(x, k, 0.0, padding = [(2, 0)])); d = conv(c, l, 0.0, padding = [(0, 0)]); y = "
    "sigmoid(d) * x; }\n",
    "version 1.0;\nextension rill_symbol S;\nextension rill_assert S >= 1;\n"
    "graph g(x) -> (y) { x = external(shape = [S]); f = rill_frame(x, size = 16, hop = 8, before = "
    "8, end = 'cover');\n"
    "s = rill_rfft(f * rill_window(\"hann\", 16)); m = rill_magnitude(s); w = rill_fill([9, 40], "
    "0.1);\n"
    "y = softmax(matmul(log(m + 1.0), w), axes = [1]); }\n",
    "version 1.0;\nextension rill_symbol S;\nextension rill_assert S >= 1;\n"
    "graph g(x, z) -> (y) { x = external(shape = [1, 2, S]); z = external(shape = [1, 4, S]);\n"
    "c = concat([x, z], axis = 1); [a, b] = split(c, axis = 1, ratios = [1, 1]); p = max_pool(a, "
    "size = [1, 1, 3], padding = [(0, 0), (0, 0), (1, 1)]);\n"
    "m = mean_reduce(b, axes = [1]); y = slice(p, axes = [1], begin = [1], end = [3]) * m + max(x, "
    "0.0); }\n",
    "version 1.0;\nextension rill_symbol S;\nextension rill_assert S >= 1;\n"
    "graph g(x) -> (y, r) { x = external(shape = [1, 4, S]); k = rill_fill([20, 4, 3], 0.5); l = "
    "rill_fill([4, 20, 1], 0.25);\n"
    "a = conv(x, k, 0.0, padding = [(2, 0)]); b = conv(x, k, 0.5, padding = [(2, 0)]); g = tanh(a) "
    "* sigmoid(b);\n"
    "r = conv(g, l, 0.0, padding = [(0, 0)]) + x; y = relu(conv(r, k, 0.0, padding = [(4, 0)], "
    "dilation = [2])) - g; }\n",
    tones_graph, /* with its model.conf and tokens: sinks */
};

struct seed {
    unsigned char *bytes;
    size_t n;
};

static void file_read(const char *path, struct seed *ret)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        abort();
    ret->n = (size_t) ftell(f);
    rewind(f);
    ret->bytes = malloc(ret->n);
    if (!ret->bytes || fread(ret->bytes, 1, ret->n, f) != ret->n)
        abort();
    fclose(f);
}

/* A text compiled; false where it is refused. */
static bool seed_make(const char *text, const char *folder, size_t number, struct seed *ret)
{
    static const char *const written[] = { "graph.nnef", "model.conf", "tokens.txt" };
    char from[4096], to[4096];
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_error err;
    snprintf(from, sizeof from, "%s/graph.nnef", folder);
    snprintf(to, sizeof to, "%s/seed%zu.rill", folder, number);
    FILE *f = text ? fopen(from, "w") : NULL;
    if (f) {
        fputs(text, f);
        fclose(f);
    }
    if (text == tones_graph && tones_write(folder, NULL, NULL))
        snprintf(from, sizeof from, "%s", folder);
    rill_status s = text ? rill_model_open(&m, from, &err) : rill_model_builtin(&m, "wiener", &err);
    s = s == RILL_OK ? rill_plan_new(&p, m, NULL, &err) : s;
    s = s == RILL_OK ? rill_plan_save(p, to, &err) : s;
    rill_plan_unref(p);
    rill_model_free(m);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        snprintf(from, sizeof from, "%s/%s", folder, written[i]);
        unlink(from);
    }
    if (s == RILL_OK)
        file_read(to, ret);
    else
        printf("seed %zu is refused: %s\n", number, err.text);
    return s == RILL_OK;
}

/* Bits, bytes and whole numbers that mean something, mostly where the graph is. */
static size_t mutate(unsigned char *b, size_t n, uint32_t *seed)
{
    static const int64_t numbers[] = { 0,
                                       1,
                                       -1,
                                       2,
                                       3,
                                       7,
                                       16,
                                       63,
                                       64,
                                       65,
                                       255,
                                       1 << 16,
                                       INT32_MAX,
                                       INT32_MIN,
                                       INT64_MAX,
                                       INT64_MIN,
                                       (int64_t) 1 << 36,
                                       (int64_t) 1 << 40 };
    size_t at = 120 + next_random(seed) % (n - 130);
    int64_t v = numbers[next_random(seed) % (sizeof numbers / sizeof *numbers)];
    switch (next_random(seed) % 8) {
    case 0: memcpy(b + at, &v, 8); return n;
    case 1:
    case 2: memcpy(b + at, &v, 4); return n;
    case 3: b[at] = (unsigned char) next_random(seed); return n;
    case 4: {
        size_t to = 120 + next_random(seed) % (n - 130), k = 1 + next_random(seed) % 24;
        k = at + k > n || to + k > n ? 1 : k;
        memmove(b + to, b + at, k);
        return n;
    }
    case 5: b[at] = (unsigned char) (b[at] + (next_random(seed) % 2 ? 1 : 255)); return n;
    case 6: return next_random(seed) % 64 ? n : at;
    default: b[at] = (unsigned char) (b[at] ^ 1 << next_random(seed) % 8); return n;
    }
}

static unsigned seed_rounds(const struct seed *s, unsigned rounds, uint32_t *seed)
{
    unsigned char *b = malloc(s->n);
    if (!b)
        abort();
    for (unsigned i = 0; i < rounds; i++) {
        size_t n = s->n;
        memcpy(b, s->bytes, n);
        for (unsigned k = 1 + i % 4; k > 0 && n == s->n; k--)
            n = mutate(b, n, seed);
        LLVMFuzzerTestOneInput(b, n);
    }
    free(b);
    return rounds;
}

/* ---- attributes of what only passes make: written as numbers that fit where they stand, so the
 * mutations above, which know no fields, seldom reach them ---- */

static int64_t *attr_number(const struct node *n, uint32_t *seed)
{
    char *attr = (char *) (uintptr_t) n->attr;
    for (const struct attr_spec *s = n->op->attrs; s && s->name; s++) {
        const struct attr_ints *list = (const struct attr_ints *) (const void *) (attr + s->offset);
        if (s->kind == ATTR_INT && next_random(seed) % 4 == 0)
            return (int64_t *) (void *) (attr + s->offset);
        if (s->kind == ATTR_INTS && list->n && next_random(seed) % 3)
            return (int64_t *) (uintptr_t) &list->v[next_random(seed) % list->n];
    }
    return NULL;
}

static bool is_made(const struct node *n)
{
    if (node_is(n, OP_STRIDED_COPY) || node_is(n, OP_FUSED))
        return true;
    for (const struct attr_spec *s = n->op->attrs; s && s->name; s++)
        if (!strcmp(s->name, "epilogue"))
            return ((const struct attr_ints *) (const void *) ((const char *) n->attr + s->offset))
                       ->n > 0;
    return false;
}

/* A plan saved with one to three of those numbers changed; counts in *made what was tried. */
static void made_round(const rill_plan *p, const char *path, uint32_t *seed, unsigned *made)
{
    static const int64_t numbers[] = { 0,   1,         -1,        2,         3,
                                       5,   6,         16,        64,        255,
                                       256, INT32_MAX, INT64_MAX, INT64_MIN, (int64_t) 1 << 40 };
    const struct graph *g = &p->settled.g;
    int64_t *at[3], was[3];
    unsigned n = 0, most = 1 + next_random(seed) % 3;
    rill_error err;
    struct seed s = { NULL, 0 };
    for (unsigned tries = 0; tries < 200 && n < most; tries++) {
        const struct node *node = &g->nodes[next_random(seed) % g->n_nodes];
        int64_t *v = is_made(node) ? attr_number(node, seed) : NULL;
        if (!v)
            continue;
        at[n] = v;
        was[n++] = *v;
        *v = next_random(seed) % 2 ? numbers[next_random(seed) % (sizeof numbers / sizeof *numbers)]
                                   : (int64_t) ((uint64_t) *v + next_random(seed) % 5 - 2);
    }
    if (n && rill_plan_save(p, path, &err) == RILL_OK) {
        file_read(path, &s);
        LLVMFuzzerTestOneInput(s.bytes, s.n);
        free(s.bytes);
        ++*made;
    }
    while (n--)
        *at[n] = was[n];
}

static unsigned made_rounds(const char *path, unsigned rounds, uint32_t *seed)
{
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_error err;
    unsigned made = 0;
    if (rill_model_open(&m, path, &err) == RILL_OK && rill_plan_new(&p, m, NULL, &err) == RILL_OK)
        for (unsigned i = 0; i < rounds; i++)
            made_round(p, path, seed, &made);
    rill_plan_unref(p);
    rill_model_free(m);
    return made;
}

/* A plan of which an input begins elsewhere than its first run, or behind it, is none. */
static bool late_input_refused(const char *path)
{
    static const int64_t late[] = { 1, 1000, INT32_MAX };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_error err;
    char to[4200];
    snprintf(to, sizeof to, "%s.late", path);
    bool refused = rill_model_open(&m, path, &err) == RILL_OK &&
        rill_plan_new(&p, m, NULL, &err) == RILL_OK && p->pgraph.inputs[0].axis >= 0;
    for (size_t i = 0; refused && i < 2 * sizeof late / sizeof *late; i++) {
        struct seed s = { NULL, 0 };
        p->pgraph.inputs[0].delay = late[i / 2];
        p->pgraph.lead_in = i % 2 && p->pgraph.pulse > 2 ? 2 : 0;
        refused = rill_plan_save(p, to, &err) == RILL_OK;
        if (!refused)
            break;
        file_read(to, &s);
        refused = !take(s.bytes, s.n);
        free(s.bytes);
    }
    unlink(to);
    rill_plan_unref(p);
    rill_model_free(m);
    return refused;
}

int main(int argc, char **argv)
{
    char own[] = "/tmp/rill_fuzz_XXXXXX";
    bool keep = argc > 2 && !strcmp(argv[1], "--seeds");
    unsigned runs = 0, made = 0, failed = 0,
             rounds = argc > 1 && !keep ? (unsigned) atoi(argv[1]) : 1500;
    uint32_t seed = argc > 2 && !keep ? (uint32_t) atoi(argv[2]) : 17;
    const char *folder = keep ? argv[2] : mkdtemp(own);
    if (!folder)
        return 1;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct seed s = { NULL, 0 };
        char path[4096];
        bool good = seed_make(texts[i], folder, i, &s);
        void *copy = NULL;
        if (good && !posix_memalign(&copy, 64, s.n)) {
            memcpy(copy, s.bytes, s.n);
            good = take(copy, s.n);
        }
        free(copy);
        failed += !good;
        if (!good)
            printf("seed %zu does not become a plan\n", i);
        runs += good && !keep ? seed_rounds(&s, rounds, &seed) : 0;
        free(s.bytes);
        snprintf(path, sizeof path, "%s/seed%zu.rill", folder, i);
        if (good && !keep && !late_input_refused(path)) {
            failed++;
            printf("seed %zu: an input that begins late is taken\n", i);
        }
        made += good && !keep ? made_rounds(path, rounds / 4, &seed) : 0;
        if (!keep)
            unlink(path);
    }
    if (!keep)
        rmdir(folder);
    if (!keep && made < rounds / 4) {
        failed++;
        printf("only %u files had a StridedCopy, a Fused or an epilogue\n", made);
    }
    printf("%u passed, %u failed\n", runs + made, failed);
    return failed != 0;
}
#endif
