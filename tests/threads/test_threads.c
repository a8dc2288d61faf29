/* SPDX-License-Identifier: MIT */
/* Plans whose every step that can be is divided give the bits of the plan of one thread: the nets
 * of the zoo and the built-in model, with 2 to 4 threads; random chains, against the interpreter.
 * One pool serves several plans on several threads, and outlives its owner's reference. */
#include "lib/plan_internal.h"
#include "engine/plan/steps.h"
#include "tests/check.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MOST 4
#define PULSES 12 /* some nets give nothing in the first ones */
#define PORTS_MAX 64

static unsigned divided[OP_COUNT];

static rill_pool *pool_of(uint32_t threads)
{
    const rill_pool_opts opts = { .struct_bytes = sizeof opts, .threads = threads };
    rill_pool *p = NULL;
    rill_error err;
    if (rill_pool_new(&p, &opts, &err) != RILL_OK) {
        puts(err.text);
        exit(1);
    }
    return p;
}

/* A plan that divides whatever can be. */
static rill_plan *plan_of(const rill_model *m, uint32_t pulse, rill_pool *pool)
{
    const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                  .pulse_frames = pulse,
                                  .pool = pool };
    const struct plan_opts all = { .share_effort = 1 };
    rill_plan *p = NULL;
    rill_error err;
    if (plan_new_as(&p, m, &opts, &all, &err) != RILL_OK) {
        CHECK(false, "%s", err.text);
        return NULL;
    }
    for (const struct node_step *s = p->plan->node_steps; s; s = s->next)
        divided[s->eval.node->op->id] += s->crew != NULL;
    return p;
}

static size_t pulse_bytes(const rill_port *p)
{
    return (size_t) p->pulse_frames * p->width * p->element_bytes;
}

static void noise_push(rill_stream *s, unsigned port, const rill_port *p, uint32_t *seed)
{
    const size_t n = pulse_bytes(p) / 4 + 1;
    float *x = malloc(n * sizeof *x);
    size_t taken;
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = p->type == RILL_TYPE_F32 ? (float) (int32_t) *seed / 4294967296.0f : 0;
    }
    rill_stream_push(s, port, x, p->pulse_frames, &taken);
    free(x);
}

/* What a few pulses of noise give; *ret_bytes long. */
static char *output_of(rill_plan *plan, size_t *ret_bytes)
{
    rill_port ports[PORTS_MAX] = { { .struct_bytes = sizeof *ports } };
    unsigned n = rill_plan_ports(plan, ports, PORTS_MAX);
    void *mem = aligned_alloc(64, (rill_plan_stream_size(plan) + 63) & ~(size_t) 63);
    memset(mem, 0xa5, rill_plan_stream_size(plan));
    rill_stream *s = rill_stream_init(mem, plan);
    uint32_t seed = 5;
    size_t cap = 64, given;
    for (unsigned i = 0; i < n; i++)
        cap += ports[i].is_input ? 0 : pulse_bytes(&ports[i]) * PULSES;
    char *out = calloc(1, cap);
    *ret_bytes = 0;
    for (int k = 0; k < PULSES; k++) {
        for (unsigned i = 0; i < n && ports[i].is_input; i++)
            noise_push(s, i, &ports[i], &seed);
        rill_stream_run(s);
        for (unsigned i = 0; i < n; i++)
            if (!ports[i].is_input &&
                rill_stream_pull(s, i, out + *ret_bytes, ports[i].pulse_frames, &given) == RILL_OK)
                *ret_bytes += given * ports[i].width * ports[i].element_bytes;
    }
    free(mem);
    return out;
}

static void net_test(const rill_model *m, const char *name, uint32_t pulse, rill_pool *const *pools)
{
    rill_plan *alone = plan_of(m, pulse, NULL);
    size_t n, n_alone;
    if (!alone)
        return;
    char *want = output_of(alone, &n_alone);
    CHECK(n_alone > 0, "%s: gives nothing", name);
    for (unsigned t = 2; t <= THREADS_MOST; t++) {
        rill_plan *p = plan_of(m, pulse, pools[t]);
        char *got = p ? output_of(p, &n) : NULL;
        CHECK(got && n == n_alone && !memcmp(got, want, n), "%s: other bits with %u threads", name,
              t);
        CHECK(p && p->plan->n_shared_steps > 0, "%s: nothing is divided", name);
        free(got);
        rill_plan_unref(p);
    }
    free(want);
    rill_plan_unref(alone);
}

/* Those that count frames take so many at a time that there is something to divide. */
static uint32_t pulse_of(const char *name)
{
    return !strcmp(name, "marblenet")                            ? 96
        : !strcmp(name, "wavenet") || !strcmp(name, "tdnn_lstm") ? 24
                                                                 : 0;
}

static void zoo_test(rill_pool *const *pools)
{
    static const char *const zoo[] = { "wavenet",    "tdnn_lstm", "gtcrn",     "dualpath",
                                       "conformer",  "hifigan",   "codec",     "bcresnet",
                                       "marblenet",  "zipformer", "demucs",    "convtasnet",
                                       "fullsubnet", "pyannet",   "moonshine", "emformer" };
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++) {
        char path[4096];
        rill_model *m;
        rill_error err;
        snprintf(path, sizeof path, "%s/%s/model.onnx", getenv("RILL_ZOO"), zoo[i]);
        if (rill_model_open(&m, path, &err) != RILL_OK) {
            CHECK(false, "%s", err.text);
            continue;
        }
        net_test(m, zoo[i], pulse_of(zoo[i]), pools);
        rill_model_free(m);
    }
}

/* A compiled plan knows nothing of threads: its packed weights serve any number. */
static void compiled_test(rill_pool *const *pools)
{
    char path[] = "/tmp/rill-threads-XXXXXX", net[4096];
    rill_model *m = NULL, *again = NULL;
    rill_error err;
    int fd = mkstemp(path);
    snprintf(net, sizeof net, "%s/conformer/model.onnx", getenv("RILL_ZOO"));
    rill_plan *p =
        fd >= 0 && rill_model_open(&m, net, &err) == RILL_OK ? plan_of(m, 0, pools[2]) : NULL;
    CHECK(p && rill_plan_save(p, path, &err) == RILL_OK &&
              rill_model_open(&again, path, &err) == RILL_OK,
          "a plan with a pool is not compiled");
    if (again)
        net_test(again, "a compiled conformer", 0, pools);
    rill_plan_unref(p);
    rill_model_free(m);
    rill_model_free(again);
    close(fd);
    unlink(path);
}

/* ---- what model.conf says ---- */

static void text_write(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

/* A model with a layer to divide, whose model.conf has that line; NULL: it is refused. */
static rill_model *model_saying(const char *folder, const char *line, rill_error *err)
{
    char conf[200];
    rill_model *m = NULL;
    snprintf(conf, sizeof conf, "[model]\ntask = denoise\nsample_rate = 16000\n%s\n", line);
    text_write(folder, "model.conf", conf);
    text_write(folder, "graph.nnef",
               "version 1.0;\ngraph g(x) -> (y)\n{\n    x = external<scalar>(shape = [S]);\n"
               "    w = constant(shape = [64, 1, 801], value = [0.5]);\n"
               "    y = conv(unsqueeze(x, axes = [0, 1]), w, 0.0, padding = [(400, 400)]);\n}\n");
    rill_model_open(&m, folder, err);
    return m;
}

static uint32_t threads_of(const rill_model *m, uint32_t asked, rill_pool *pool)
{
    const rill_plan_opts opts = {
        .struct_bytes = sizeof opts, .pulse_frames = 256, .threads = asked, .pool = pool
    };
    rill_plan_info info = { .struct_bytes = sizeof info };
    rill_plan *p = NULL;
    rill_error err;
    const rill_status made = rill_plan_new(&p, m, &opts, &err);
    CHECK(made == RILL_OK, "%s", err.text);
    if (made == RILL_OK)
        rill_plan_get_info(p, &info);
    rill_plan_unref(p);
    return info.threads;
}

static void said_test(rill_pool *const *pools)
{
    char folder[] = "/tmp/rill-threads-XXXXXX", path[64];
    rill_error err = { .text = "" };
    if (!mkdtemp(folder)) {
        CHECK(false, "no folder");
        return;
    }
    rill_model *m = model_saying(folder, "", &err),
               *two = model_saying(folder, "threads = 2", &err), *again = NULL;
    rill_plan *p = NULL;
    snprintf(path, sizeof path, "%s/two.rill", folder);
    const bool made = m && two && rill_plan_new(&p, two, NULL, &err) == RILL_OK &&
        rill_plan_save(p, path, &err) == RILL_OK && rill_model_open(&again, path, &err) == RILL_OK;
    CHECK(made, "%s", err.text);
    if (made) {
        CHECK(threads_of(m, 0, pools[4]) == 4 && threads_of(m, 3, pools[4]) == 3 &&
                  threads_of(m, 0, NULL) == 1,
              "what is asked for");
        CHECK(threads_of(two, 0, pools[4]) == 2 && threads_of(two, 3, pools[4]) == 3 &&
                  threads_of(two, 0, NULL) == 1,
              "what model.conf says, where nothing is asked for");
        CHECK(again->threads == 2, "a compiled plan says %u", again->threads);
    }
    CHECK(!model_saying(folder, "threads = 17", &err) && strstr(err.text, "1 to 16"), "%s",
          err.text);
    CHECK(!model_saying(folder, "threads = 0", &err), "0 threads");
    rill_plan_unref(p);
    rill_model_free(m);
    rill_model_free(two);
    rill_model_free(again);
    for (const char *const *f =
             (const char *const[]) { "model.conf", "graph.nnef", "two.rill", NULL };
         *f; f++) {
        snprintf(path, sizeof path, "%s/%s", folder, *f);
        unlink(path);
    }
    rmdir(folder);
}

/* ---- random chains, against the interpreter ---- */

static void chains_test(rill_pool *const *pools)
{
    uint32_t seed = 77;
    unsigned held = 0;
    for (unsigned i = 0; i < 300; i++) {
        struct chain c = chain_draw(&seed);
        struct oracle o;
        char text[1024];
        const int64_t pulse = 1 + (int64_t) (seed >> 9) % 7;
        enum verdict v = oracle_open(&o, chain_recipe, &c, NULL);
        o.zeros_agree = chain_attends(&c);
        if (v == LAW_HOLDS && oracle_pulse(&o, pulse) == LAW_HOLDS) {
            rill_plan_unref(o.plan);
            o.plan = plan_of(o.model, (uint32_t) pulse, pools[2 + i % 3]);
            v = o.plan ? oracle_law(&o, 9 + i % 11, i) : LAW_BROKEN;
            chain_print(&c, text, sizeof text);
            CHECK(v != LAW_BROKEN, "%s: %s", text, o.err.text);
            held += v == LAW_HOLDS;
        }
        oracle_close(&o);
    }
    CHECK(held > 100, "only %u chains were compared", held);
}

/* ---- layers wide enough for each way of dividing ---- */

struct layer {
    const char *op, *attrs;
    int rank, x[4]; /* input; GB_TIME: time */
    int w[5];       /* weights: rank, dims */
    int bias;       /* elements; 0: none */
    bool residual;  /* the input is added to what comes out */
};

static void layer_recipe(struct gb *b, const void *ctx)
{
    const struct layer *l = ctx;
    uint32_t in[3] = { l->rank == 2 ? gb_input(b, "x", 2, l->x[0], l->x[1])
                           : l->rank == 3
                           ? gb_input(b, "x", 3, l->x[0], l->x[1], l->x[2])
                           : gb_input(b, "x", 4, l->x[0], l->x[1], l->x[2], l->x[3]) };
    unsigned n = 1;
    if (l->w[0])
        in[n++] = gb_weights(b, l->w[0], l->w[1], l->w[2], l->w[3], l->w[4]);
    if (l->bias)
        in[n++] = gb_weights(b, 1, l->bias);
    uint32_t y = gb_op(b, l->op, l->attrs, in, n);
    if (l->residual)
        y = GB(b, "Add", "", y, in[0]);
    y = GB(b, "Relu", "", y);
    gb_output(b, y);
    gb_output(b, GB(b, "Tanh", "", GB(b, "Mul", "", y, y)));
}

static const struct layer layers[] = {
    { "Conv", "pads=2,1,0,1", 4, { 1, 64, GB_TIME, 20 }, { 4, 72, 64, 3, 3 }, 72, false },
    { "Conv", "pads=2,1,0,1", 4, { 1, 64, GB_TIME, 20 }, { 4, 64, 64, 3, 3 }, 64, true },
    { "Conv",
      "pads=2,1,0,1 strides=1,2",
      4,
      { 1, 48, GB_TIME, 33 },
      { 4, 52, 48, 3, 3 },
      0,
      false },
    { "Conv", "pads=2,1,0,1 group=4", 4, { 1, 64, GB_TIME, 9 }, { 4, 64, 16, 3, 3 }, 64, false },
    { "Conv", "pads=2,1,0,1 group=64", 4, { 1, 64, GB_TIME, 9 }, { 4, 64, 1, 3, 3 }, 64, true },
    { "Conv", "", 4, { 1, 64, GB_TIME, 7 }, { 4, 100, 64, 1, 1 }, 100, false },
    { "Conv", "pads=4,0", 3, { 1, 64, GB_TIME }, { 3, 40, 64, 5 }, 40, false },
    { "Conv", "pads=2,0", 3, { 1, 8, GB_TIME }, { 3, 57, 8, 3 }, 57, false },
    { "Conv", "pads=2,0", 3, { 1, 200, GB_TIME }, { 3, 210, 200, 3 }, 210, false },
    { "ConvTranspose", "strides=2", 3, { 1, 64, GB_TIME }, { 3, 64, 56, 4 }, 56, false },
    { "MatMul", "", 2, { GB_TIME, 96 }, { 2, 96, 83 }, 0, false },
    { "MatMul", "", 2, { GB_TIME, 96 }, { 2, 96, 96 }, 0, true },
    { "MatMul", "", 3, { 6, GB_TIME, 32 }, { 3, 6, 32, 20 }, 0, false },
    { "Gemm", "transB=1", 2, { GB_TIME, 96 }, { 2, 83, 96 }, 83, false },
    { "Gemm", "", 2, { GB_TIME, 96 }, { 2, 96, 96 }, 96, true },
    { "MaxPool", "kernel_shape=1,2 strides=1,2", 4, { 1, 63, GB_TIME, 20 }, { 0 }, 0, false },
    { "AveragePool", "kernel_shape=1,3 strides=1,2", 4, { 1, 63, GB_TIME, 20 }, { 0 }, 0, false },
    { "Softmax", "axis=1", 2, { GB_TIME, 33 }, { 0 }, 0, true },
};

static void layer_test(const struct layer *l, int64_t pulse, rill_pool *pool)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, layer_recipe, l, NULL);
    if (v == LAW_HOLDS)
        v = oracle_pulse(&o, pulse);
    if (v == LAW_HOLDS) {
        rill_plan_unref(o.plan);
        o.plan = plan_of(o.model, (uint32_t) pulse, pool);
        /* of a few frames it may be part of a program */
        CHECK(pulse < 40 || (o.plan && o.plan->plan->n_shared_steps), "%s %s is not divided", l->op,
              l->attrs);
        v = o.plan ? oracle_law(&o, 2 * pulse + 5, (uint32_t) pulse) : LAW_BROKEN;
    }
    CHECK(v == LAW_HOLDS, "%s %s at pulse %d: %s", l->op, l->attrs, (int) pulse, o.err.text);
    oracle_close(&o);
}

/* Convolutions whose channels are last: of each channel, of one place, and of both strides. */
static void separable_recipe(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t y = gb_input(b, "x", 4, 1, 72, GB_TIME, 20);
    y = GB(b, "Conv", "pads=2,1,0,1 group=72", y, gb_weights(b, 4, 72, 1, 3, 3),
           gb_weights(b, 1, 72));
    y = GB(b, "Relu", "", y);
    y = GB(b, "Conv", "", y, gb_weights(b, 4, 100, 72, 1, 1), gb_weights(b, 1, 100));
    y = GB(b, "Conv", "pads=2,1,0,1 strides=1,2 group=100", GB(b, "Relu", "", y),
           gb_weights(b, 4, 100, 1, 3, 3));
    y = GB(b, "Conv", "pads=0,0,0,1 strides=1,2", y, gb_weights(b, 4, 64, 100, 1, 2));
    gb_output(b, GB(b, "Relu", "", y));
}

static void separable_test(int64_t pulse, rill_pool *pool)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, separable_recipe, NULL, NULL);
    if (v == LAW_HOLDS && (v = oracle_pulse(&o, pulse)) == LAW_HOLDS) {
        rill_plan_unref(o.plan);
        o.plan = plan_of(o.model, (uint32_t) pulse, pool);
        v = o.plan ? oracle_law(&o, 2 * pulse + 5, (uint32_t) pulse) : LAW_BROKEN;
    }
    CHECK(v == LAW_HOLDS, "separable at pulse %d: %s", (int) pulse, o.err.text);
    oracle_close(&o);
}

static void layers_test(rill_pool *const *pools)
{
    static const int64_t pulses[] = { 1, 4, 40 };
    for (size_t k = 0; k < sizeof pulses / sizeof *pulses; k++)
        separable_test(pulses[k], pools[2 + k % 3]);
    CHECK(divided[OP_CONV_LAST] >= 4, "%u convolutions with channels last are divided",
          divided[OP_CONV_LAST]);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (size_t k = 0; k < sizeof pulses / sizeof *pulses; k++)
            layer_test(&layers[i], pulses[k], pools[2 + (i + k) % 3]);
}

/* ---- one pool, several plans ---- */

struct user {
    const rill_model *model;
    rill_plan *plan;
    const char *want;
    size_t n_want;
    bool same;
};

static void *user_run(void *arg)
{
    struct user *u = arg;
    u->same = true;
    for (int k = 0; k < 4; k++) {
        size_t n;
        char *got = output_of(u->plan, &n);
        u->same = u->same && n == u->n_want && !memcmp(got, u->want, n);
        free(got);
    }
    return NULL;
}

static void shared_test(void)
{
    rill_pool *pool = pool_of(2);
    rill_model *m;
    struct user u[3];
    pthread_t t[3];
    size_t n;
    if (rill_model_builtin(&m, rill_model_builtin_name(0), NULL) != RILL_OK)
        return;
    rill_plan *alone = plan_of(m, 0, NULL);
    char *want = output_of(alone, &n);
    for (int i = 0; i < 3; i++)
        u[i] = (struct user) { m, plan_of(m, 0, pool), want, n, false };
    rill_pool_free(pool); /* the plans keep it */
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, user_run, &u[i]);
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
        CHECK(u[i].same, "plan %d of a shared pool has other bits", i);
        rill_plan_unref(u[i].plan);
    }
    free(want);
    rill_plan_unref(alone);
    rill_model_free(m);
}

static void options_test(void)
{
    rill_model *m;
    rill_plan *p = NULL;
    rill_error err;
    rill_plan_opts opts = { .struct_bytes = sizeof opts, .threads = 2 };
    if (rill_model_builtin(&m, rill_model_builtin_name(0), &err) != RILL_OK)
        return;
    CHECK(rill_plan_new(&p, m, &opts, &err) == RILL_INVALID && strstr(err.text, "rill_pool_new"),
          "%s", err.text);
    opts.threads = 1;
    opts.pool = pool_of(2);
    CHECK(rill_plan_new(&p, m, &opts, &err) == RILL_OK && !p->plan->n_shared_steps, "one thread");
    rill_plan_unref(p);
    opts.threads = 0;
    CHECK(rill_plan_new(&p, m, &opts, &err) == RILL_OK && !p->plan->n_shared_steps,
          "a small net is divided, which costs more than it saves");
    rill_plan_unref(p);
    rill_pool_free(opts.pool);
    rill_model_free(m);
}

int main(void)
{
    static const enum op_id must[] = {
        OP_CONV, OP_CONV_TRANSPOSE,      OP_MATMUL,      OP_GEMM, OP_FUSED, OP_SOFTMAX,
        OP_ADD,  OP_LAYER_NORMALIZATION, OP_AVERAGE_POOL
    };
    rill_pool *pools[THREADS_MOST + 1] = { NULL };
    for (unsigned t = 2; t <= THREADS_MOST; t++)
        pools[t] = pool_of(t);
    zoo_test(pools);
    compiled_test(pools);
    said_test(pools);
    layers_test(pools);
    chains_test(pools);
    for (unsigned t = 2; t <= THREADS_MOST; t++)
        rill_pool_free(pools[t]);
    shared_test();
    options_test();
    for (size_t i = 0; i < sizeof must / sizeof *must; i++)
        CHECK(divided[must[i]] > 0, "no %s was ever divided", op_by_id(must[i])->name);
    return check_done();
}
