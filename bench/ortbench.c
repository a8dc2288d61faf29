/* SPDX-License-Identifier: MIT */
/* One model in ONNX Runtime through its C API: one thread, IO binding, states bound back and forth,
 * times of the run alone.
 *
 *   ortbench LIBRARY MODEL [--shape IN=1,2,..] [--state IN:OUT] [--const IN=VALUE] [--seconds S]
 *
 * LIBRARY is libonnxruntime.so; built with the header of any release since 1.13. Prints one line of
 * JSON.
 */
#include "timing.h"

#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#define PORTS_MAX 32
#define DIMS_MAX 8
#define API_VERSION 13
#define WARM_RUNS 50
#define RUNS_MIN 30
#define RUNS_MAX 400000

struct port {
    char name[64];
    int64_t dims[DIMS_MAX];
    size_t rank, count, bytes;
    ONNXTensorElementDataType type;
    int pair; /* input: the output that feeds it; output: the input it feeds; -1: none */
    void *data, *spare;
    void *caller; /* inputs are copied from there before a run, outputs to there after it, as rill's
                     push and pull do */
    OrtValue *value, *spare_value;
};

struct bench {
    const OrtApi *api;
    OrtEnv *env;
    OrtSession *session;
    OrtMemoryInfo *memory;
    OrtAllocator *allocator;
    OrtIoBinding *binding[2];
    struct port in[PORTS_MAX], out[PORTS_MAX];
    size_t n_in, n_out;
    double load_ms;
    unsigned seed;
};

static void check(const struct bench *b, OrtStatus *s)
{
    if (s) {
        fprintf(stderr, "ONNX Runtime: %s\n", b->api->GetErrorMessage(s));
        exit(3);
    }
}

static void api_open(struct bench *b, const char *path)
{
    void *lib = dlopen(path, RTLD_NOW);
    const OrtApiBase *(*base)(void) = NULL;
    if (lib)
        *(void **) &base = dlsym(lib, "OrtGetApiBase");
    if (!base || !(b->api = base()->GetApi(API_VERSION))) {
        fprintf(stderr, "%s: %s\n", path, lib ? "no such API version" : dlerror());
        exit(3);
    }
}

static void session_open(struct bench *b, const char *model)
{
    OrtSessionOptions *o;
    check(b, b->api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bench", &b->env));
    check(b, b->api->CreateSessionOptions(&o));
    check(b, b->api->SetIntraOpNumThreads(o, 1));
    check(b, b->api->SetInterOpNumThreads(o, 1));
    check(b, b->api->SetSessionExecutionMode(o, ORT_SEQUENTIAL));
    check(b, b->api->SetSessionGraphOptimizationLevel(o, ORT_ENABLE_ALL));
    double before = now_us();
    check(b, b->api->CreateSession(b->env, model, o, &b->session));
    b->load_ms = (now_us() - before) * 1e-3;
    check(b, b->api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &b->memory));
    check(b, b->api->GetAllocatorWithDefaultOptions(&b->allocator));
    check(b, b->api->SessionGetInputCount(b->session, &b->n_in));
    check(b, b->api->SessionGetOutputCount(b->session, &b->n_out));
}

static size_t element_bytes(ONNXTensorElementDataType t)
{
    return t == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 ? 8
        : t == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL   ? 1
                                                    : 4;
}

static void port_sizes(struct port *p)
{
    p->count = 1;
    for (size_t i = 0; i < p->rank; i++)
        p->count *= (size_t) (p->dims[i] > 0 ? p->dims[i] : (p->dims[i] = 1));
    p->bytes = p->count * element_bytes(p->type);
}

static void ports_read(struct bench *b)
{
    for (size_t i = 0; i < b->n_in + b->n_out; i++) {
        int is_in = i < b->n_in;
        struct port *p = is_in ? &b->in[i] : &b->out[i - b->n_in];
        char *name;
        check(b,
              is_in ? b->api->SessionGetInputName(b->session, i, b->allocator, &name)
                    : b->api->SessionGetOutputName(b->session, i - b->n_in, b->allocator, &name));
        snprintf(p->name, sizeof p->name, "%s", name);
        p->pair = -1;
        if (!is_in)
            continue;
        OrtTypeInfo *info;
        const OrtTensorTypeAndShapeInfo *shape;
        check(b, b->api->SessionGetInputTypeInfo(b->session, i, &info));
        check(b, b->api->CastTypeInfoToTensorInfo(info, &shape));
        check(b, b->api->GetTensorElementType(shape, &p->type));
        check(b, b->api->GetDimensionsCount(shape, &p->rank));
        check(b, b->api->GetDimensions(shape, p->dims, p->rank));
        b->api->ReleaseTypeInfo(info);
    }
}

static struct port *port_named(struct port *ports, size_t n, const char *name, size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(ports[i].name) == length && !strncmp(ports[i].name, name, length))
            return &ports[i];
    fprintf(stderr, "the model has no '%.*s'\n", (int) length, name);
    exit(2);
}

static void shape_set(struct bench *b, const char *arg)
{
    const char *eq = strchr(arg, '=');
    struct port *p = port_named(b->in, b->n_in, arg, (size_t) (eq - arg));
    char *at = (char *) eq + 1;
    for (p->rank = 0; *at && p->rank < DIMS_MAX; at += *at == ',')
        p->dims[p->rank++] = strtoll(at, &at, 10);
}

static void state_set(struct bench *b, const char *arg)
{
    const char *colon = strchr(arg, ':');
    struct port *i = port_named(b->in, b->n_in, arg, (size_t) (colon - arg));
    struct port *o = port_named(b->out, b->n_out, colon + 1, strlen(colon + 1));
    i->pair = (int) (o - b->out);
    o->pair = (int) (i - b->in);
}

static OrtValue *tensor_new(const struct bench *b, const struct port *p, void *data)
{
    OrtValue *v;
    check(b,
          b->api->CreateTensorWithDataAsOrtValue(b->memory, data, p->bytes, p->dims, p->rank,
                                                 p->type, &v));
    return v;
}

static void input_fill(struct bench *b, struct port *p)
{
    if (p->pair >= 0 || p->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
        return;
    for (size_t i = 0; i < p->count; i++)
        ((float *) p->caller)[i] = noise(&b->seed);
    memcpy(p->data, p->caller, p->bytes);
}

static void output_take(struct port *p)
{
    if (p->pair < 0)
        memcpy(p->caller, p->data, p->bytes);
}

static void const_set(struct bench *b, const char *arg)
{
    const char *eq = strchr(arg, '=');
    struct port *p = port_named(b->in, b->n_in, arg, (size_t) (eq - arg));
    for (size_t i = 0; i < p->count; i++)
        if (p->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)
            ((int64_t *) p->data)[i] = strtoll(eq + 1, NULL, 10);
        else
            ((float *) p->data)[i] = strtof(eq + 1, NULL);
}

/* One run tells the shapes of the outputs. */
static void outputs_shape(struct bench *b)
{
    const char *in_names[PORTS_MAX], *out_names[PORTS_MAX];
    const OrtValue *in[PORTS_MAX];
    OrtValue *out[PORTS_MAX] = { 0 };
    for (size_t i = 0; i < b->n_in; i++) {
        in_names[i] = b->in[i].name;
        in[i] = b->in[i].value;
    }
    for (size_t i = 0; i < b->n_out; i++)
        out_names[i] = b->out[i].name;
    check(b, b->api->Run(b->session, NULL, in_names, in, b->n_in, out_names, b->n_out, out));
    for (size_t i = 0; i < b->n_out; i++) {
        struct port *p = &b->out[i];
        OrtTensorTypeAndShapeInfo *shape;
        check(b, b->api->GetTensorTypeAndShape(out[i], &shape));
        check(b, b->api->GetTensorElementType(shape, &p->type));
        check(b, b->api->GetDimensionsCount(shape, &p->rank));
        check(b, b->api->GetDimensions(shape, p->dims, p->rank));
        b->api->ReleaseTensorTypeAndShapeInfo(shape);
        b->api->ReleaseValue(out[i]);
        port_sizes(p);
    }
}

static void inputs_make(struct bench *b)
{
    for (size_t i = 0; i < b->n_in; i++) {
        struct port *p = &b->in[i];
        port_sizes(p);
        p->data = aligned_zeros(p->bytes);
        p->spare = aligned_zeros(p->bytes);
        p->caller = aligned_zeros(p->bytes);
        p->value = tensor_new(b, p, p->data);
        p->spare_value = tensor_new(b, p, p->spare);
        input_fill(b, p);
    }
}

/* Even runs read a state's data and write its spare, odd runs the other way. */
static void bindings_make(struct bench *b)
{
    for (int odd = 0; odd < 2; odd++) {
        check(b, b->api->CreateIoBinding(b->session, &b->binding[odd]));
        for (size_t i = 0; i < b->n_in; i++) {
            struct port *p = &b->in[i];
            check(b,
                  b->api->BindInput(b->binding[odd], p->name,
                                    odd && p->pair >= 0 ? p->spare_value : p->value));
        }
        for (size_t i = 0; i < b->n_out; i++) {
            struct port *p = &b->out[i], *state = p->pair >= 0 ? &b->in[p->pair] : NULL;
            if (!p->value) {
                p->data = aligned_zeros(p->bytes);
                p->caller = aligned_zeros(p->bytes);
                p->value = tensor_new(b, p, p->data);
            }
            OrtValue *v = !state ? p->value : odd ? state->value : state->spare_value;
            check(b, b->api->BindOutput(b->binding[odd], p->name, v));
        }
    }
}

static void measure(struct bench *b, double seconds)
{
    double *us = must(malloc(RUNS_MAX * sizeof *us)), end = 0;
    size_t n = 0;
    for (long run = -WARM_RUNS; n < RUNS_MAX && (run <= RUNS_MIN || now_us() < end); run++) {
        for (size_t i = 0; i < b->n_in; i++)
            input_fill(b, &b->in[i]);
        double before = now_us();
        check(b, b->api->RunWithBinding(b->session, NULL, b->binding[run & 1]));
        double took = now_us() - before;
        for (size_t i = 0; i < b->n_out; i++)
            output_take(&b->out[i]);
        if (run >= 0)
            us[n++] = took;
        else
            end = now_us() + seconds * 1e6;
    }
    printf("{\"median_us\": %.4f, \"p99_us\": %.4f, \"runs\": %zu, \"load_ms\": %.3f, \"rss_kib\": "
           "%ld}\n",
           percentile(us, n, 0.5), percentile(us, n, 0.99), n, b->load_ms, status_kib("VmRSS"));
    free(us);
}

int main(int argc, char **argv)
{
    struct bench b = { .seed = 1 };
    double seconds = 1;
    if (argc < 3 || argc % 2 == 0) {
        fprintf(stderr,
                "usage: ortbench LIBRARY MODEL [--shape IN=1,2] [--state IN:OUT] [--const IN=V] "
                "[--seconds S]\n");
        return 2;
    }
    api_open(&b, argv[1]);
    session_open(&b, argv[2]);
    ports_read(&b);
    for (int i = 3; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--shape"))
            shape_set(&b, argv[i + 1]);
        else if (!strcmp(argv[i], "--state"))
            state_set(&b, argv[i + 1]);
        else if (!strcmp(argv[i], "--seconds"))
            seconds = atof(argv[i + 1]);
    }
    inputs_make(&b);
    for (int i = 3; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], "--const"))
            const_set(&b, argv[i + 1]);
    outputs_shape(&b);
    bindings_make(&b);
    measure(&b, seconds);
    return 0;
}
