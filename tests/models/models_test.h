/* SPDX-License-Identifier: MIT */
/* models_test.h - folders of models for a test: copies of the library with weights from the shared
 * folder. */
#ifndef TESTS_MODELS_MODELS_TEST_H
#define TESTS_MODELS_MODELS_TEST_H
#include "engine/typing/interp.h"
#include "lib/model.h"
#include "models/tarball.h"
#include "tests/check.h"

#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct floats {
    float *v;
    size_t n;
};

static char test_root[] = "/tmp/rill-models-XXXXXX";

static inline const char *source_path(const char *name)
{
    static char path[8192];
    const char *root = getenv("RILL_SOURCE");
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
    return path;
}

/* NULL where there is no shared folder. */
static inline const char *shared_path(const char *name)
{
    static char path[8192];
    const char *root = getenv("RILL_SHARED");
    if (!root || !*root)
        return NULL;
    snprintf(path, sizeof path, "%s/%s", root, name);
    return access(path, R_OK) ? NULL : path;
}

static inline void *file_read(const char *path, size_t *ret_n)
{
    FILE *f = path ? fopen(path, "rb") : NULL;
    struct stat st;
    if (!f || fstat(fileno(f), &st))
        return NULL;
    void *p = malloc((size_t) st.st_size + 1);
    *ret_n = p ? fread(p, 1, (size_t) st.st_size, f) : 0;
    fclose(f);
    return p;
}

static inline void file_write(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) {
        perror(path);
        exit(1);
    }
}

static inline const char *test_path(const char *folder, const char *file)
{
    static char path[2][8192];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s%s%s", test_root, folder, *file ? "/" : "", file);
    return path[turn];
}

static inline void copy_into(const char *folder, const char *file, const char *from)
{
    size_t n = 0;
    void *p = file_read(from, &n);
    if (p)
        file_write(test_path(folder, file), p, n);
    free(p);
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void) st, (void) type, (void) ftw;
    return remove(path);
}

static inline void test_root_make(void)
{
    if (!mkdtemp(test_root)) {
        perror(test_root);
        exit(1);
    }
}

static inline void test_root_drop(void)
{
    nftw(test_root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Weights, below shared/models or in the folder RILL_FETCHED, laid out alike; NULL: in neither. */
static inline const char *weights_path(const char *name)
{
    static char path[8192];
    const char *fetched = getenv("RILL_FETCHED");
    char below[512];
    snprintf(below, sizeof below, "models/%s", name);
    const char *shared = shared_path(below);
    if (shared || !fetched)
        return shared;
    snprintf(path, sizeof path, "%s/%s", fetched, name);
    return access(path, R_OK) ? NULL : path;
}

/* A member of an archive into a file of its own. */
static inline void copy_member(const char *folder, const char *archive, const char *member)
{
    struct arena a = { 0 };
    struct folder f;
    rill_error err;
    const char *base = strrchr(member, '/') ? strrchr(member, '/') + 1 : member;
    if (tarball_open(&f, archive, &a, UINT64_C(1) << 30, &err) == RILL_OK)
        for (const struct folder_file *m = f.built_in; m->name; m++)
            if (!strcmp(m->name, member))
                file_write(test_path(folder, base), m->data, m->n);
    arena_drop(&a);
}

/* Copies models/library/NAME; weights is a space-separated list below shared/models, of members of
 * archives as ARCHIVE:MEMBER. False: not there. */
static inline bool library_copy(const char *name, const char *weights)
{
    char path[512], list[256], *save = NULL;
    mkdir(test_path(name, ""), 0700);
    snprintf(path, sizeof path, "models/library/%s/graph.nnef", name);
    copy_into(name, "graph.nnef", source_path(path));
    snprintf(path, sizeof path, "models/library/%s/model.conf", name);
    copy_into(name, "model.conf", source_path(path));
    snprintf(list, sizeof list, "%s", weights);
    for (char *w = strtok_r(list, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        char *member = strchr(w, ':');
        if (member)
            *member++ = '\0';
        const char *from = weights_path(w);
        if (!from)
            return false;
        if (member)
            copy_member(name, from, member);
        else
            copy_into(name, strrchr(w, '/') + 1, from);
    }
    return true;
}

static inline struct floats floats_read(const char *path)
{
    struct floats f = { 0 };
    f.v = file_read(path, &f.n);
    f.n /= sizeof(float);
    return f;
}

/* The first channel of a WAV file of 16 bits. */
static inline struct floats wav_read(const char *path)
{
    size_t n = 0, at = 12;
    unsigned char *p = file_read(path, &n);
    struct floats f = { 0 };
    while (p && at + 8 <= n && memcmp(p + at, "data", 4) != 0)
        at += 8 + (p[at + 4] | (size_t) p[at + 5] << 8 | (size_t) p[at + 6] << 16);
    if (p && at + 8 <= n) {
        f.n = (n - at - 8) / 2;
        f.v = malloc(f.n * sizeof *f.v);
        for (size_t i = 0; f.v && i < f.n; i++)
            f.v[i] = (float) (int16_t) (p[at + 8 + 2 * i] | p[at + 9 + 2 * i] << 8) / 32768;
    }
    free(p);
    return f;
}

/* The whole-sequence run of a model with one input and one output; the output is the caller's to
 * free. */
static inline struct floats model_run_whole(const rill_model *m, struct floats x, rill_error *err)
{
    struct arena a = { 0 };
    struct tensor in = { .type = DTYPE_F32, .rank = 1, .dim = { (int64_t) x.n }, .data = x.v };
    const struct tensor *ins[] = { &in }, *out = NULL;
    struct floats y = { 0 };
    if (interp_run(&m->decluttered.g, ins, &a, &out, err) == RILL_OK) {
        y.n = (size_t) tensor_count(out);
        y.v = malloc(y.n * sizeof *y.v + 1);
        memcpy(y.v, out->data, y.n * sizeof *y.v);
    }
    arena_drop(&a);
    return y;
}

/* The same through a plan of at least `pulse` frames a run (0: the smallest) and a stream, pushed
 * in pieces of so many frames; floats are frame after frame. */
static inline struct floats model_run_pulse(const rill_model *m, struct floats x, size_t piece,
                                            uint32_t pulse, rill_error *err)
{
    rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = pulse };
    rill_plan *p = NULL;
    struct floats y = { 0 };
    if (rill_plan_new(&p, m, &opts, err) != RILL_OK)
        return y;
    rill_port port[2] = { { .struct_bytes = sizeof *port } };
    rill_plan_ports(p, port, 2);
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *s = rill_stream_init(mem, p);
    size_t cap = x.n + 65536, frames = x.n / port[0].width, at = 0, n;
    y.v = malloc(cap * sizeof *y.v);
    for (rill_status st = RILL_OK; st != RILL_END;) {
        size_t more = frames - at < piece ? frames - at : piece;
        if (more && rill_stream_push(s, 0, x.v + at * port[0].width, more, &n) == RILL_OK)
            at += n;
        if (at == frames)
            rill_stream_finish(s);
        while ((st = rill_stream_run(s)) == RILL_OK && y.n < cap) {
            rill_stream_pull(s, 1, y.v + y.n, (cap - y.n) / port[1].width, &n);
            y.n += n * port[1].width;
        }
        if (st != RILL_AGAIN && st != RILL_END)
            break;
        if (st == RILL_END) {
            rill_stream_pull(s, 1, y.v + y.n, (cap - y.n) / port[1].width, &n);
            y.n += n * port[1].width;
        }
    }
    free(mem);
    rill_plan_unref(p);
    return y;
}

static inline struct floats model_run_stream(const rill_model *m, struct floats x, size_t piece,
                                             rill_error *err)
{
    return model_run_pulse(m, x, piece, 0, err);
}

static inline float max_difference(const float *a, const float *b, size_t n)
{
    float worst = 0;
    for (size_t i = 0; i < n; i++) {
        float d = fabsf(a[i] - b[i]);
        worst = d <= worst ? worst : d; /* a NaN is the worst */
    }
    return worst;
}

/* Whether there are as many values as wanted, and at least `least`; then they must be near. */
static inline bool floats_near(const char *what, struct floats y, struct floats want, size_t least,
                               float tolerance, const rill_error *err)
{
    CHECK(want.n >= least && y.n == want.n, "%s: %zu values for %zu: %s", what, y.n, want.n,
          err->text);
    if (y.n != want.n)
        return false;
    float d = max_difference(y.v, want.v, y.n);
    printf("%s: largest difference %g over %zu\n", what, (double) d, y.n);
    CHECK(d <= tolerance, "%s: differs by %g", what, (double) d);
    return true;
}

/* Scale-invariant signal-to-distortion ratio in dB. */
static inline double si_sdr(const float *estimate, const float *reference, size_t n)
{
    double me = 0, mr = 0, er = 0, rr = 0, target = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        me += (double) estimate[i] / (double) n;
        mr += (double) reference[i] / (double) n;
    }
    for (size_t i = 0; i < n; i++) {
        er += (estimate[i] - me) * (reference[i] - mr);
        rr += (reference[i] - mr) * (reference[i] - mr);
    }
    for (size_t i = 0; i < n; i++) {
        double t = er / rr * (reference[i] - mr), d = estimate[i] - me - t;
        target += t * t;
        rest += d * d;
    }
    return 10 * log10(target / rest);
}
#endif
