/* SPDX-License-Identifier: MIT */
/* A library with the face of <rill.h> and models that are simple enough to know every output
 * sample, so that the daemon is tested apart from the engine:
 *   wiener, rill-denoise   give back their input 256 samples later
 *   trimmed  the same, but its port skips the 256 samples itself
 *   vad      the largest absolute sample of each 512
 *   both     wiener and vad in one
 *   broken   cannot be planned
 *   slow     wiener that takes a tenth of the time of its audio
 *   wide     wiener that takes a quarter of it, or less with the help of a pool
 *   short, long    wiener with pulses of 256 and 4096 samples
 *   halflead       half, whose first pulse is 100 samples shorter
 *   half, halftrim    as wiener and trimmed, but half as loud
 *   shed     vad that would rather have new streams refused
 *   tiny     gives 1 where a product of denormals is flushed to 0, and sets the processor back as a
 *            careless library would
 * A folder's graph.nnef, or a single file, says what is to happen when it is opened:
 *   "" or "wiener"   the model of that name      "half"   wiener at half the volume
 *   "crash"  a segmentation fault        "loop"   no end      "sleep"  no end without computing
 *   "eat"    memory until there is none  "change" has other bytes in every process
 *   "heavy"  wiener with HEAVY_BYTES of weights
 * The samples of fake_rill.h at the begin of a pulse make any of them slow. */
#include "tests/daemon/fake_rill.h"
#include "daemon/base/clock.h"
#include "daemon/compute/lane.h"

#include <rill.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#define PULSE 512 /* of those that do not say */
#define PULSE_MAX 4096
#define DELAY 256
#define WIDE_US 8000
#define HEAVY_BYTES ((size_t) 4 << 20)

struct fake_run fake_runs[64];
unsigned fake_n_runs;
bool fake_trace;
unsigned fake_hiccups;

struct rill_model {
    char name[64];
    bool audio, vad, trims, broken, slow, tiny, heavy, wide;
    float gain;
    unsigned char sum;
    pid_t changes;
    unsigned pulse; /* 0: PULSE */
    unsigned lead;  /* by which the first pulse is shorter */
    rill_overload overload;
};
struct rill_plan {
    struct rill_model model;
    int refs;
    void *weights;
    unsigned threads; /* with those of its pool */
};
struct rill_pool {
    unsigned threads;
};
struct rill_stream {
    const rill_plan *plan;
    float in[PULSE_MAX], out[PULSE_MAX], history[DELAY], prob;
    size_t fill, out_at, out_fill, vad_left;
    uint64_t total_in, total_out, total_vad, skipped;
    bool finished, stopped, ran;
    int alone;
};

static const struct rill_model builtins[] = {
    { .name = "rill-denoise", .audio = true },
    { .name = "wiener", .audio = true },
    { .name = "trimmed", .audio = true, .trims = true },
    { .name = "vad", .vad = true },
    { .name = "both", .audio = true, .vad = true },
    { .name = "broken", .audio = true, .broken = true },
    { .name = "slow", .audio = true, .slow = true },
    { .name = "wide", .audio = true, .wide = true },
    { .name = "short", .audio = true, .pulse = 256 },
    { .name = "long", .audio = true, .pulse = 4096 },
    { .name = "half", .audio = true, .gain = 0.5f },
    { .name = "halflead", .audio = true, .gain = 0.5f, .lead = 100 },
    { .name = "halftrim", .audio = true, .trims = true, .gain = 0.5f },
    { .name = "shed", .vad = true, .overload = RILL_OVERLOAD_SHED },
    { .name = "tiny", .audio = true, .tiny = true },
};
#define N_BUILTINS (sizeof builtins / sizeof *builtins)

static rill_status fail(rill_error *e, rill_status s, const char *what, const char *name)
{
    if (e) {
        e->status = s;
        snprintf(e->text, sizeof e->text, "%.300s: %.150s", name, what);
    }
    return s;
}

const char *rill_model_builtin_name(unsigned n)
{
    return n < N_BUILTINS ? builtins[n].name : NULL;
}

rill_status rill_runtime_check(const char *name, const char **ret, rill_error *reterr)
{
    (void) ret;
    return strcmp(name, "none") != 0 ? RILL_OK : fail(reterr, RILL_INVALID, "no runtime", name);
}

rill_status rill_model_builtin(rill_model **ret, const char *name, rill_error *reterr)
{
    for (size_t i = 0; i < N_BUILTINS; i++)
        if (strcmp(builtins[i].name, name) == 0) {
            *ret = malloc(sizeof **ret);
            if (!*ret)
                return fail(reterr, RILL_NOMEM, "out of memory", name);
            **ret = builtins[i];
            return RILL_OK;
        }
    return fail(reterr, RILL_IO, "no such model", name);
}

static void eat(void)
{
    size_t piece = 1 << 20;
    unsigned char *p;
    while ((p = malloc(piece)))
        memset(p, 1, piece);
}

static rill_status text_obey(rill_model **ret, const char *shown, const char *text,
                             rill_error *reterr)
{
    if (!strncmp(text, "crash", 5))
        raise(SIGSEGV);
    while (!strncmp(text, "loop", 4))
        __asm__ volatile("");
    while (!strncmp(text, "sleep", 5))
        sleep(1);
    if (!strncmp(text, "eat", 3)) {
        eat();
        return fail(reterr, RILL_NOMEM, "out of memory", shown);
    }
    if (*text && strncmp(text, "wiener", 6) && strncmp(text, "half", 4) &&
        strncmp(text, "change", 6) && strncmp(text, "heavy", 5))
        return fail(reterr, RILL_MALFORMED, "is no model", shown);
    rill_model_builtin(ret, "wiener", reterr);
    for (const char *c = text; *c; c++)
        (*ret)->sum = (unsigned char) ((*ret)->sum * 31 + *c);
    (*ret)->heavy = !strncmp(text, "heavy", 5);
    if (!strncmp(text, "half", 4))
        (*ret)->gain = 0.5f;
    if (!strncmp(text, "change", 6))
        (*ret)->changes = getpid();
    return RILL_OK;
}

/* shown: what errors call it. */
static rill_status path_open(rill_model **ret, const char *path, const char *shown,
                             rill_error *reterr)
{
    char file[1024], text[64] = "";
    struct stat st;
    bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    snprintf(file, sizeof file, "%s%s", path, is_folder ? "/graph.nnef" : "");
    int folder = is_folder ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    FILE *f = is_folder && folder < 0 ? NULL : fopen(file, "r"); /* both at once, as the library */
    if (folder >= 0)
        close(folder);
    if (!f)
        return fail(reterr, RILL_IO, "cannot be read", shown);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    return text_obey(ret, shown, text, reterr);
}

rill_status rill_model_open(rill_model **ret, const char *path, rill_error *reterr)
{
    return path_open(ret, path, path, reterr);
}

/* The daemon is as old as this library. */
#define SIZE_CHECK(x) ((x)->struct_bytes == sizeof *(x) ? (void) 0 : abort())

rill_status rill_model_get_info(const rill_model *m, rill_model_info *ret)
{
    SIZE_CHECK(ret);
    *ret = (rill_model_info) { .struct_bytes = sizeof *ret,
                               .name = m->name,
                               .task = m->vad ? "vad" : "denoise",
                               .licence = "MIT",
                               .summary = "",
                               .sample_rate = 16000,
                               .vad_threshold = 0.5f,
                               .vad_release = 0.25f,
                               .vad_hangover_ms = 100,
                               .overload = m->overload };
    ret->sha256[0] = 0xab;
    ret->sha256[1] = m->sum;
    memcpy(ret->sha256 + 2, &m->changes, sizeof m->changes);
    return RILL_OK;
}

const char *rill_model_metadata(const rill_model *m, const char *key)
{
    (void) m;
    (void) key;
    return NULL;
}

rill_model *rill_model_free(rill_model *m)
{
    free(m);
    return NULL;
}

rill_status rill_plan_new(rill_plan **ret, const rill_model *m, const rill_plan_opts *opts,
                          rill_error *reterr)
{
    if (opts)
        SIZE_CHECK(opts);
    if (m->broken)
        return fail(reterr, RILL_UNSUPPORTED, "node 'x': op Broken is not known", m->name);
    *ret = malloc(sizeof **ret);
    if (!*ret)
        return fail(reterr, RILL_NOMEM, "out of memory", m->name);
    **ret = (rill_plan) { .model = *m, .refs = 1 };
    (*ret)->threads = m->wide && opts && opts->pool ? opts->pool->threads : 1;
    (*ret)->weights = m->heavy ? malloc(HEAVY_BYTES) : NULL;
    if ((*ret)->weights)
        memset((*ret)->weights, 1, HEAVY_BYTES);
    return RILL_OK;
}

rill_plan *rill_plan_ref(rill_plan *p)
{
    __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

rill_plan *rill_plan_unref(rill_plan *p)
{
    if (p && __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        free(p->weights);
        free(p);
    }
    return NULL;
}

static unsigned pulse_of(const struct rill_model *m)
{
    return m->pulse ? m->pulse : PULSE;
}

unsigned rill_plan_ports(const rill_plan *p, rill_port *ports, unsigned cap)
{
    /* clang-format off */
    const rill_port all[3] = {
        { .struct_bytes = sizeof *all, .name = "pcm", .kind = RILL_PORT_AUDIO, .is_input = 1,
          .rate_num = 16000, .rate_den = 1, .width = 1, .pulse_frames = pulse_of(&p->model),
          .hop_num = 1, .hop_den = 1, .offset_den = 1, .element_bytes = 4,
          .first_frames = pulse_of(&p->model) - p->model.lead },
        { .struct_bytes = sizeof *all, .name = "out", .kind = RILL_PORT_AUDIO, .rate_num = 16000,
          .rate_den = 1, .width = 1, .pulse_frames = pulse_of(&p->model),
          .hop_num = 1, .hop_den = 1, .latency_samples = DELAY,
          .offset_num = p->model.trims ? 0 : -DELAY, .offset_den = 1, .element_bytes = 4 },
        { .struct_bytes = sizeof *all, .name = "prob", .kind = RILL_PORT_VAD, .rate_num = 16000,
          .rate_den = 512, .width = 1, .pulse_frames = 1,
          .hop_num = 512, .hop_den = 1, .offset_den = 1, .element_bytes = 4 },
    };
    /* clang-format on */
    unsigned n = 0;
    if (cap)
        SIZE_CHECK(ports);
    for (unsigned i = 0; i < 3; i++)
        if (i == 0 || (i == 1 && p->model.audio) || (i == 2 && p->model.vad)) {
            if (n < cap)
                ports[n] = all[i];
            n++;
        }
    return n;
}

rill_status rill_plan_port_shape(const rill_plan *p, unsigned port, rill_shape *ret)
{
    (void) p;
    (void) port;
    SIZE_CHECK(ret);
    *ret = (rill_shape) { .struct_bytes = sizeof *ret, .rank = 1, .dims = { 1 } };
    return RILL_OK;
}

const rill_model *rill_plan_model(const rill_plan *p)
{
    return &p->model;
}

rill_status rill_plan_get_info(const rill_plan *p, rill_plan_info *ret)
{
    SIZE_CHECK(ret);
    *ret = (rill_plan_info) { .struct_bytes = sizeof *ret,
                              .weights_bytes = p->weights ? HEAVY_BYTES : 0,
                              .stream_bytes = rill_plan_stream_size(p),
                              .pulse_samples = pulse_of(&p->model),
                              .cpu = "c",
                              .threads = p->threads,
                              .steps = 1 };
    return RILL_OK;
}

rill_status rill_sink_defaults(rill_sink_opts *ret, const rill_plan *p, unsigned port,
                               rill_error *reterr)
{
    (void) reterr;
    SIZE_CHECK(ret);
    *ret = (rill_sink_opts) { .struct_bytes = sizeof(rill_sink_opts),
                              .kind = RILL_PORT_VAD,
                              .threshold = 0.5f,
                              .release = 0.25f,
                              .hangover_ms = 100 };
    return p->model.vad && port == (p->model.audio ? 2 : 1) ? RILL_OK : RILL_INVALID;
}

rill_status rill_model_open_with(rill_model **ret, const char *path, const rill_model_opts *opts,
                                 rill_error *reterr)
{
    if (opts)
        SIZE_CHECK(opts);
    if (opts && opts->builtin)
        return rill_model_builtin(ret, path, reterr);
    return path_open(ret, path, opts && opts->shown_as ? opts->shown_as : path, reterr);
}

size_t rill_plan_stream_size(const rill_plan *p)
{
    (void) p;
    return sizeof(rill_stream);
}

rill_stream *rill_stream_init(void *mem, const rill_plan *p)
{
    rill_stream *s = mem;
    s->plan = p;
    s->alone = 0;
    rill_stream_reset(s);
    return s;
}

rill_stream *rill_stream_init_for(void *mem, const rill_plan *p, const unsigned *outputs,
                                  unsigned n)
{
    (void) outputs;
    (void) n;
    return rill_stream_init(mem, p);
}

void rill_stream_reset(rill_stream *s)
{
    const rill_plan *p = s->plan;
    const int alone = s->alone;
    memset(s, 0, sizeof *s);
    s->plan = p;
    s->alone = alone;
    s->fill = p->model.lead;
}

void rill_stream_alone(rill_stream *s, int alone)
{
    s->alone = alone;
}

rill_status rill_pool_new(rill_pool **ret, const rill_pool_opts *opts, rill_error *reterr)
{
    SIZE_CHECK(opts);
    *ret = malloc(sizeof **ret);
    if (!*ret)
        return fail(reterr, RILL_NOMEM, "out of memory", "pool");
    (*ret)->threads = opts->threads;
    return RILL_OK;
}

unsigned rill_pool_threads(const rill_pool *p)
{
    return p->threads;
}

rill_pool *rill_pool_free(rill_pool *p)
{
    free(p);
    return NULL;
}

rill_status rill_stream_push(rill_stream *s, unsigned port, const void *x, size_t n,
                             size_t *ret_taken)
{
    if (port || s->finished || s->stopped)
        return RILL_INVALID;
    size_t room = pulse_of(&s->plan->model) - s->fill;
    *ret_taken = n < room ? n : room;
    memcpy(s->in + s->fill, x, *ret_taken * sizeof *s->in);
    s->fill += *ret_taken;
    s->total_in += *ret_taken;
    return RILL_OK;
}

/* Outputs that may not leave: the skipped ones of `trimmed`. */
static void skip(rill_stream *s)
{
    while (s->plan->model.trims && s->skipped < DELAY && s->out_at < s->out_fill) {
        s->skipped++;
        s->out_at++;
    }
}

/* ---- what the machine did ---- */

static struct fake_stalls quiet, *stalls = &quiet;
static _Thread_local uint64_t asked_us; /* by this thread, since ever */

static uint64_t now_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

/* Lost: time that nobody asked for and nobody computed in. */
static void stall_note(uint64_t lost_us)
{
    atomic_fetch_add(&stalls->lost_us, lost_us);
    if (lost_us > 10000)
        atomic_fetch_add(&stalls->n, 1);
}

/* Sleeps without end, and sees when that takes too long. */
static void *sentinel(void *arg)
{
    (void) arg;
    for (uint64_t at = now_us(CLOCK_MONOTONIC), now;; at = now) {
        usleep(5000);
        now = now_us(CLOCK_MONOTONIC);
        if (now - at > 25000)
            atomic_fetch_add(&stalls->n, 1);
    }
    return NULL;
}

__attribute__((constructor)) static void stalls_open(void)
{
    const char *path = getenv("RILL_FAKE_STALLS");
    int fd = path && *path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    pthread_t t;
    if (fd < 0)
        return;
    void *p = mmap(NULL, sizeof *stalls, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return;
    stalls = p; /* before the thread that reads it */
    if (pthread_create(&t, NULL, sentinel, NULL) == 0)
        pthread_detach(t);
    else
        stalls = &quiet;
}

/* ---- running ---- */

/* Where the file that RILL_FAKE_HOLD names is there, until it is gone; from the first time on every
 * hang adds a byte to the file of that name and ".n". */
static void hang(void)
{
    const char *hold = getenv("RILL_FAKE_HOLD");
    char count[256];
    snprintf(count, sizeof count, "%s.n", hold ? hold : "");
    if (!hold || (access(hold, F_OK) != 0 && access(count, F_OK) != 0)) {
        sleep(4);
        return;
    }
    FILE *f = fopen(count, "a");
    if (f) {
        fputc('+', f);
        fclose(f);
    }
    while (access(hold, F_OK) == 0)
        usleep(2000);
}

/* What a model sleeps it computes, by the clock of its thread. */
static struct {
    _Atomic pthread_t thread;
    _Atomic uint64_t us;
} sleepers[64];

static void sleeper_note(uint64_t us)
{
    pthread_t none = 0;
    for (unsigned i = 0; i < 64; i++, none = 0)
        if (atomic_load(&sleepers[i].thread) == pthread_self() ||
            atomic_compare_exchange_strong(&sleepers[i].thread, &none, pthread_self())) {
            atomic_fetch_add(&sleepers[i].us, us);
            return;
        }
}

uint64_t thread_cpu_ns(pthread_t thread)
{
    clockid_t clock;
    uint64_t us = pthread_getcpuclockid(thread, &clock) == 0 ? now_us(clock) : 0;
    for (unsigned i = 0; i < 64; i++)
        if (atomic_load(&sleepers[i].thread) == thread)
            us += atomic_load(&sleepers[i].us);
    return us * 1000;
}

static void asleep(uint64_t us)
{
    usleep((useconds_t) us);
    sleeper_note(us);
    asked_us += us;
    atomic_fetch_add(&stalls->asked_us, us);
}

static void time_take(float first, unsigned pulse)
{
    struct timespec t;
    if (first == FAKE_HANG)
        hang();
    if (first == FAKE_SLOW)
        asleep(pulse * UINT64_C(1500000) / 16000);
    if (first != FAKE_BURN)
        return;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    for (long long end = t.tv_sec * 1000000000LL + t.tv_nsec + 300000000;
         t.tv_sec * 1000000000LL + t.tv_nsec < end;)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
}

static void denormals_flush(bool flush)
{
#if defined(__SSE2__)
    _mm_setcsr(flush ? _mm_getcsr() | 0x8040u : _mm_getcsr() & ~0x8040u);
#elif defined(__aarch64__)
    unsigned long fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = flush ? fpcr | 1ul << 24 : fpcr & ~(1ul << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#else
    (void) flush;
#endif
}

static void tiny_run(float *out, unsigned n)
{
    volatile float tiny = 1e-39f, one = 1.0f, product = tiny * one;
    for (unsigned i = 0; i < n; i++)
        out[i] = product == 0.0f;
    denormals_flush(false);
}

static rill_status stream_run(rill_stream *s)
{
    const struct rill_model *m = &s->plan->model;
    if (s->stopped)
        return RILL_INVALID;
    if (s->out_at < s->out_fill || s->vad_left)
        return RILL_AGAIN;
    uint64_t audio_owed = m->audio && s->total_in ? s->total_in + DELAY : 0;
    uint64_t vad_owed = m->vad ? (s->total_in + 511) / 512 : 0;
    const unsigned pulse = pulse_of(m);
    if (s->fill < pulse && !s->finished)
        return RILL_AGAIN;
    if (s->finished && s->total_out >= audio_owed && s->total_vad >= vad_owed)
        return RILL_END;
    if (m->slow)
        asleep(3200);
    if (m->wide)
        asleep(s->alone ? WIDE_US : WIDE_US / s->plan->threads);
    if (fake_hiccups) {
        fake_hiccups--;
        usleep(20000);
    }
    s->stopped = s->fill && s->in[0] == FAKE_STOP;
    if (s->stopped)
        return RILL_INVALID;
    if (s->fill)
        time_take(s->in[0], pulse);
    memset(s->in + s->fill, 0, (pulse - s->fill) * sizeof *s->in);
    s->fill = 0;
    memcpy(s->out, s->history, sizeof s->history);
    memcpy(s->out + DELAY, s->in, (pulse - DELAY) * sizeof *s->in);
    memcpy(s->history, s->in + pulse - DELAY, sizeof s->history);
    if (m->tiny)
        tiny_run(s->out, pulse);
    s->out_at = s->ran ? 0 : m->lead;
    s->ran = true;
    s->out_fill = m->audio ? pulse : 0;
    if (s->finished && s->total_out + s->out_fill - s->out_at > audio_owed)
        s->out_fill = s->out_at + (size_t) (audio_owed - s->total_out);
    for (size_t i = 0; m->gain > 0 && i < pulse; i++)
        s->out[i] *= m->gain;
    s->total_out += s->out_fill - s->out_at;
    s->prob = 0;
    for (unsigned i = 0; i < pulse; i++)
        s->prob = fmaxf(s->prob, fabsf(s->in[i]));
    s->vad_left = m->vad && (!s->finished || s->total_vad < vad_owed);
    s->total_vad += s->vad_left;
    skip(s);
    return RILL_OK;
}

rill_status rill_stream_fault(const rill_stream *s, rill_error *reterr)
{
    if (!s->stopped)
        return RILL_OK;
    if (reterr)
        snprintf(reterr->text, sizeof reterr->text, "node 'table' (Gather): index 9 is outside");
    return RILL_INVALID;
}

/* Times its own way through where somebody wants to know what the machine did. */
rill_status rill_stream_run(rill_stream *s)
{
    if (stalls == &quiet)
        return stream_run(s);
    uint64_t before_us = asked_us, cpu_us = now_us(CLOCK_THREAD_CPUTIME_ID),
             began_us = now_us(CLOCK_MONOTONIC);
    rill_status r = stream_run(s);
    uint64_t took_us = now_us(CLOCK_MONOTONIC) - began_us,
             known_us = now_us(CLOCK_THREAD_CPUTIME_ID) - cpu_us + (asked_us - before_us);
    stall_note(took_us > known_us ? took_us - known_us : 0);
    return r;
}

rill_status rill_run_many(rill_stream *const *streams, unsigned n, rill_status *ret)
{
    unsigned n_ran = 0;
    for (unsigned i = 0; i < n; i++)
        if (streams[i]->plan != streams[0]->plan)
            return RILL_INVALID;
    for (unsigned i = 0; i < n; i++)
        ret[i] = rill_stream_run(streams[i]);
    for (unsigned i = 0; i < n; i++)
        n_ran += ret[i] == RILL_OK;
    if (n_ran && fake_trace)
        fake_runs[fake_n_runs++ % 64] = (struct fake_run) { streams[0]->plan->model.name, n_ran };
    return RILL_OK;
}

rill_status rill_stream_pull(rill_stream *s, unsigned port, void *y, size_t cap, size_t *ret_given)
{
    const struct rill_model *m = &s->plan->model;
    *ret_given = 0;
    if (m->audio && port == 1) {
        size_t left = s->out_fill - s->out_at;
        *ret_given = left < cap ? left : cap;
        memcpy(y, s->out + s->out_at, *ret_given * sizeof *s->out);
        s->out_at += *ret_given;
    } else if (m->vad && port == (m->audio ? 2 : 1)) {
        if (s->vad_left && cap) {
            *(float *) y = s->prob;
            *ret_given = 1;
            s->vad_left = 0;
        }
    } else {
        return RILL_INVALID;
    }
    return RILL_OK;
}

rill_status rill_plan_check_length(const rill_plan *p, unsigned port, uint64_t frames,
                                   rill_error *reterr)
{
    (void) p, (void) port, (void) frames, (void) reterr;
    return RILL_OK;
}

rill_status rill_plan_check_even(const rill_plan *p, unsigned port, uint64_t frames, unsigned other,
                                 uint64_t other_frames, rill_error *reterr)
{
    (void) p, (void) port, (void) frames, (void) other, (void) other_frames, (void) reterr;
    return RILL_OK;
}

void rill_stream_finish(rill_stream *s)
{
    s->finished = true;
}

void rill_thread_prepare(void)
{
    denormals_flush(true);
}

unsigned rill_stream_profile(const rill_stream *s, rill_step_time *ret, unsigned cap)
{
    static const char *const names[] = { "fast", "slow", "middle" };
    static const unsigned us[] = { 1, 30, 20 };
    SIZE_CHECK(ret);
    for (unsigned i = 0; i < 3 && i < cap; i++)
        ret[i] = (rill_step_time) { .struct_bytes = sizeof *ret,
                                    .step = names[i],
                                    .kernel = "c",
                                    .total_ns = s->total_in / PULSE * us[i] * 1000,
                                    .worst_ns = us[i] * 2000,
                                    .runs = s->total_in / PULSE };
    return 3;
}
