/* SPDX-License-Identifier: MIT */
/* push, run, run_many and pull allocate nothing, lock nothing and write nothing, for the built-in
 * model and every library model whose weights are at hand and the nets of the zoo, planned and out
 * of compiled files, to the end of the stream; denormals are flushed on a prepared thread. */
#include "tests/check.h"
#include "tests/rt/guard.h"
#include <rill.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <linux/seccomp.h>
#include <unistd.h>

#define SEE(ok, what, model) CHECK(ok, "%s: %s", model, what)

static float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float) (int32_t) *seed / 4294967296.0f;
}

#define MANY 35 /* more than run together at a time */

struct run {
    rill_plan *plan;
    rill_stream *s, *many[MANY];
    rill_port ports[64];
    unsigned n_ports;
    float *buf;
    size_t floats;
};

static void pulse(struct run *r, uint32_t *seed)
{
    size_t n;
    for (size_t i = 0; i < r->floats; i++)
        r->buf[i] = noise(seed);
    guard_enter();
    for (unsigned i = 0; i < r->n_ports; i++)
        if (r->ports[i].is_input)
            rill_stream_push(r->s, i, r->buf, r->ports[i].pulse_frames, &n);
    rill_stream_run(r->s);
    for (unsigned i = 0; i < r->n_ports; i++)
        if (!r->ports[i].is_input)
            rill_stream_pull(r->s, i, r->buf, r->ports[i].pulse_frames, &n);
    SEE(guard_leave() == 0, "a pulse allocates, locks or writes", "run");
}

/* All streams but the last two, which are short of input, run. */
static unsigned many_pulse(struct run *r, uint32_t *seed)
{
    rill_status status[MANY];
    unsigned ran = 0;
    size_t n;
    for (size_t i = 0; i < r->floats; i++)
        r->buf[i] = noise(seed);
    for (unsigned k = 0; k + 2 < MANY; k++)
        for (unsigned i = 0; i < r->n_ports && r->ports[i].is_input; i++)
            rill_stream_push(r->many[k], i, r->buf, r->ports[i].pulse_frames, &n);
    rill_run_many(r->many, MANY, status);
    for (unsigned k = 0; k < MANY; k++)
        for (unsigned i = 0; i < r->n_ports; i++) {
            ran += i == 0 && status[k] == RILL_OK;
            if (!r->ports[i].is_input)
                rill_stream_pull(r->many[k], i, r->buf, r->ports[i].pulse_frames, &n);
        }
    return ran;
}

static void many_test(struct run *r, uint32_t *seed, const char *name)
{
    size_t bytes = (rill_plan_stream_size(r->plan) + 63) / 64 * 64;
    char *mem = aligned_alloc(64, bytes * MANY);
    unsigned ran = 0;
    for (unsigned i = 0; i < MANY; i++)
        r->many[i] = rill_stream_init(mem + i * bytes, r->plan);
    guard_enter();
    for (int k = 0; k < 3; k++)
        ran += many_pulse(r, seed);
    SEE(guard_leave() == 0, "streams that run together allocate, lock or write", name);
    SEE(ran == 3 * (MANY - 2), "streams run together", name);
}

/* A child that may only read, write, exit and return from signals runs pulses: any other system
 * call kills it. */
static int runs_without_system_calls(struct run *r, uint32_t *seed)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        size_t n;
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
            _exit(77);
        for (int k = 0; k < 20; k++) {
            for (size_t i = 0; i < r->floats; i++)
                r->buf[i] = noise(seed);
            for (unsigned i = 0; i < r->n_ports && r->ports[i].is_input; i++)
                rill_stream_push(r->s, i, r->buf, r->ports[i].pulse_frames, &n);
            rill_stream_run(r->s);
            rill_stream_pull(r->s, r->n_ports - 1, r->buf, r->ports[r->n_ports - 1].pulse_frames,
                             &n);
        }
        many_pulse(r, seed);
        __asm__ volatile("syscall"
                         :
                         : "a"(60), "D"(0)
                         : "rcx", "r11", "memory"); /* exit(2), not exit_group(2) */
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* pulse_frames 0: the smallest. */
static void model_test(rill_model *m, const char *name, uint32_t pulse_frames)
{
    struct run r = { 0 };
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = pulse_frames };
    rill_error err;
    uint32_t seed = 3;
    size_t n;
    if (rill_plan_new(&r.plan, m, &opts, &err) != RILL_OK) {
        SEE(0, err.text, name);
        return;
    }
    r.ports[0].struct_bytes = sizeof *r.ports;
    r.n_ports = rill_plan_ports(r.plan, r.ports, 64);
    for (unsigned i = 0; i < r.n_ports; i++) {
        n = ((size_t) r.ports[i].width * r.ports[i].pulse_frames * r.ports[i].element_bytes + 3) /
            4;
        r.floats = n > r.floats ? n : r.floats;
    }
    r.buf = malloc(r.floats * sizeof(float));
    r.s =
        rill_stream_init(aligned_alloc(64, (rill_plan_stream_size(r.plan) + 63) / 64 * 64), r.plan);
    for (int i = 0; i < 50; i++)
        pulse(&r, &seed);
    guard_enter();
    rill_stream_finish(r.s);
    while (rill_stream_run(r.s) == RILL_OK)
        for (unsigned i = 0; i < r.n_ports; i++)
            if (!r.ports[i].is_input)
                rill_stream_pull(r.s, i, r.buf, r.ports[i].pulse_frames, &n);
    SEE(guard_leave() == 0, "the end of a stream allocates, locks or writes", name);
    rill_stream_reset(r.s);
    many_test(&r, &seed, name);
    int quiet = runs_without_system_calls(&r, &seed);
    if (quiet < 0)
        check_skipped++;
    else
        SEE(quiet, "a pulse makes a system call", name);
    free(r.many[0]);
    free(r.s);
    free(r.buf);
    rill_plan_unref(r.plan);
}

/* Bytes that this process has read by read(2); -1: nobody counts them. */
static long long read_bytes(void)
{
    long long n = -1;
    FILE *f = fopen("/proc/self/io", "r");
    if (!f || fscanf(f, "rchar: %lld", &n) != 1)
        n = -1;
    if (f)
        fclose(f);
    return n;
}

/* A compiled file opens at once because nothing is read, typed or packed again: its weights are
 * mapped pages. Opening and planning asks for half the memory that planning the model did, at most,
 * or for less than what a graph without weights takes. */
#define OPEN_BYTES_FREE ((size_t) 1 << 20)
#define OPEN_READ_BYTES (64 << 10)

static rill_status file_open(rill_model **ret, const char *path, size_t planned_bytes,
                             const rill_plan_opts *opts, const char *name, rill_error *err)
{
    rill_plan *p = NULL;
    long long before = read_bytes();
    guard_enter();
    rill_status s = rill_model_open(ret, path, err);
    if (s == RILL_OK)
        s = rill_plan_new(&p, *ret, opts, err);
    guard_leave();
    long long read = before < 0 ? 0 : read_bytes() - before;
    printf("%s: %zu of %zu bytes asked for, %lld read\n", name, guard_asked_bytes(), planned_bytes,
           read);
    SEE(read < OPEN_READ_BYTES, "a compiled file is read, not mapped", name);
    SEE(guard_asked_bytes() < OPEN_BYTES_FREE || guard_asked_bytes() * 2 < planned_bytes,
        "opening a compiled file plans anew", name);
    rill_plan_unref(p);
    return s;
}

/* The same of its plan out of a file, which is gone by then: its pages are mapped. */
static void compiled_test(const rill_model *m, const char *name, uint32_t pulse_frames)
{
    char path[] = "/tmp/rill_rt_XXXXXX";
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = pulse_frames };
    rill_error err = { .text = "" };
    rill_plan *p = NULL;
    rill_model *from_file = NULL;
    int fd = mkstemp(path);
    if (fd >= 0)
        close(fd);
    guard_enter();
    bool good = rill_plan_new(&p, m, &opts, &err) == RILL_OK;
    guard_leave();
    size_t planned_bytes = guard_asked_bytes();
    good = good && rill_plan_save(p, path, &err) == RILL_OK &&
        file_open(&from_file, path, planned_bytes, &opts, name, &err) == RILL_OK;
    SEE(good, err.text, name);
    unlink(path);
    rill_plan_unref(p);
    if (good)
        model_test(from_file, name, pulse_frames);
    rill_model_free(from_file);
}

static void library_test(const char *path, const char *name, uint32_t pulse_frames)
{
    rill_model *m;
    rill_error err;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/%s", path, name);
    if (rill_model_open(&m, folder, &err) != RILL_OK) {
        check_skipped++;
        printf("skipped %s: %s\n", name, err.text);
        return;
    }
    model_test(m, name, pulse_frames);
    compiled_test(m, name, pulse_frames);
    rill_model_free(m);
}

static void test_denormals(void)
{
    volatile float tiny = 1e-39f, one = 1;
    SEE(tiny * one == 0, "denormals are flushed", "thread");
}

int main(void)
{
    static const char *const names[] = { "gtcrn", "dtln", "silero_v4", "silero_v6",
                                         "silero_v6_8k" };
    static const char *const zoo[] = { "wavenet/model.onnx",       "tdnn_lstm/model.onnx",
                                       "gtcrn/model.onnx",         "dualpath/model.onnx",
                                       "dualpath_scan/model.onnx", "dfn3/model.onnx",
                                       "conformer/model.onnx" };
    static const char *const types[] = { "step_i64.onnx", "step_bool.onnx", "step_f64.onnx",
                                         "bytes.onnx",    "best.onnx",      "four.onnx" };
    const char *library = getenv("RILL_TEST_LIBRARY");
    rill_model *m;
    rill_error err;
    void *volatile block; /* the compiler may not drop the pair */
    guard_enter();
    block = malloc(10);
    free(block);
    SEE(guard_leave() == 2, "the guard sees malloc and free", "guard");
    rill_thread_prepare();
    test_denormals();
    SEE(rill_model_builtin(&m, rill_model_builtin_name(0), &err) == RILL_OK, "opens", "built-in");
    model_test(m, "built-in", 0);
    compiled_test(m, "built-in", 0);
    rill_model_free(m);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (library)
            library_test(library, names[i], 0);
        else
            check_skipped++;
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++)
        for (uint32_t pulse_frames = 0; pulse_frames <= 24; pulse_frames += 12)
            library_test(getenv("RILL_ZOO"), zoo[i], pulse_frames);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        library_test(getenv("RILL_TYPES"), types[i], 5);
    return check_done();
}
