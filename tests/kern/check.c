/* SPDX-License-Identifier: MIT */
#include "tests/kern/check.h"
#include "engine/base/float_mode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void *check_bytes(struct check *t, size_t n, bool low)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE), span = (n + page) / page * page,
           bytes = span + 2 * page;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || t->n_bufs == CHECK_BUFS_MAX || mprotect(p, page, PROT_NONE) ||
        mprotect(p + page + span, page, PROT_NONE))
        abort();
    t->bufs[t->n_bufs].at = p;
    t->bufs[t->n_bufs++].bytes = bytes;
    return low ? p + page : p + page + span - n;
}

float *check_buf(struct check *t, size_t n, bool low)
{
    return check_bytes(t, n * sizeof(float), low);
}

void check_drop(struct check *t)
{
    while (t->n_bufs) {
        t->n_bufs--;
        munmap(t->bufs[t->n_bufs].at, t->bufs[t->n_bufs].bytes);
    }
}

static uint32_t next(struct check *t)
{
    t->seed = t->seed * 1664525u + 1013904223u;
    return t->seed;
}

uint32_t check_bits(struct check *t)
{
    return next(t) >> 8;
}

float check_rand(struct check *t)
{
    return (float) (int32_t) next(t) / 2147483648.0f;
}

void check_fill(struct check *t, float *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = check_rand(t);
}

void check_fill_bits(struct check *t, float *p, size_t n)
{
    static const uint32_t edges[] = { 0,          0x80000000, 1,          0x80000001, 0x7f800000,
                                      0xff800000, 0x7fc00000, 0x7f7fffff, 0xff7fffff, 0x3f800000,
                                      0xbf800000, 0x00800000, 0x42b17218, 0xc2cff1b5 };
    for (size_t i = 0; i < n; i++) {
        uint32_t pick = next(t) >> 8, bits = next(t) ^ next(t) >> 16;
        bits = pick % 4 == 0 ? edges[pick / 4 % (sizeof edges / sizeof *edges)] : bits;
        memcpy(p + i, &bits, 4);
        if (pick % 4 > 1)
            p[i] = check_rand(t) * (pick % 4 == 2 ? 3.0f : 100.0f);
    }
}

/* Counts one test; of one that failed, prints all but the end of the line. */
static bool test_count(struct check *t, bool ok, const char *what, const char *fmt, va_list ap)
{
    t->passed += ok;
    t->failed += !ok;
    if (!ok) {
        printf("FAILED %s%s%s: ", what, *what ? "_" : "", t->isa);
        vprintf(fmt, ap);
    }
    return ok;
}

static bool same(float a, float b)
{
    return !memcmp(&a, &b, 4) || (a != a && b != b);
}

/* NaN is one value; a subnormal number counts as a zero of its sign. */
static uint32_t bits_settled(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fc00000 : bits & 0x7f800000 ? bits : bits & 0x80000000;
}

/* The digest of that name, where n more words go in. */
static struct check_digest *digest_of(struct check *t, const char *what, size_t n)
{
    unsigned i = 0;
    while (i < t->n_digests && strcmp(t->digests[i].what, what))
        i++;
    if (i == CHECK_DIGESTS_MAX)
        abort();
    struct check_digest *d = &t->digests[i];
    if (i == t->n_digests) {
        t->n_digests++;
        *d = (struct check_digest) { what, 0, 0xcbf29ce484222325 };
    }
    d->n += n;
    return d;
}

/* FNV-1a, a word at a time. */
static void word_add(struct check_digest *d, uint32_t word)
{
    d->hash = (d->hash ^ word) * 0x100000001b3;
}

static void digests_print(const struct check *t)
{
    for (unsigned i = 0; i < t->n_digests; i++)
        printf("digest %s %lu %016llx\n", t->digests[i].what, t->digests[i].n,
               (unsigned long long) t->digests[i].hash);
}

bool check_same(struct check *t, const char *what, const float *ref, const float *got, size_t n,
                const char *fmt, ...)
{
    size_t i = 0;
    struct check_digest *d = digest_of(t, what, n);
    for (size_t k = 0; k < n; k++)
        word_add(d, bits_settled(got[k]));
    while (i < n && same(ref[i], got[i]))
        i++;
    va_list ap;
    va_start(ap, fmt);
    bool ok = test_count(t, i == n, what, fmt, ap);
    va_end(ap);
    if (!ok)
        printf(": [%zu] want %a got %a\n", i, (double) ref[i], (double) got[i]);
    return ok;
}

bool check_ints(struct check *t, const char *what, const int32_t *ref, const int32_t *got, size_t n,
                const char *fmt, ...)
{
    size_t i = 0;
    struct check_digest *d = digest_of(t, what, n);
    for (size_t k = 0; k < n; k++)
        word_add(d, (uint32_t) got[k]);
    while (i < n && ref[i] == got[i])
        i++;
    va_list ap;
    va_start(ap, fmt);
    bool ok = test_count(t, i == n, what, fmt, ap);
    va_end(ap);
    if (!ok)
        printf(": [%zu] want %d got %d\n", i, ref[i], got[i]);
    return ok;
}

bool check_true(struct check *t, bool ok, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    test_count(t, ok, "", fmt, ap);
    va_end(ap);
    if (!ok)
        printf("\n");
    return ok;
}

static double now_ns(void)
{
    struct timespec a;
    clock_gettime(CLOCK_MONOTONIC, &a);
    return (double) a.tv_sec * 1e9 + (double) a.tv_nsec;
}

void check_time(struct check *t, const char *what, double flop, void (*call)(void *), void *arg)
{
    if (!t->bench)
        return;
    double best = 1e18, end = now_ns() + 1e8;
    while (now_ns() < end) {
        double before = now_ns();
        for (int i = 0; i < 20; i++)
            call(arg);
        double ns = (now_ns() - before) / 20;
        best = ns < best ? ns : best;
    }
    printf("%-28s %-7s %9.1f ns %7.2f Gop/s\n", what, t->isa, best, flop / best);
}

static const struct {
    const char *name;
    void (*run)(struct check *);
} tests[] = {
    { "gemm", check_gemm },   { "map", check_map },           { "accuracy", check_accuracy },
    { "fft", check_fft },     { "move", check_strided_copy }, { "program", check_program },
    { "conv", check_conv },   { "winograd", check_winograd }, { "pool", check_pool },
    { "cell", check_cell },   { "norm", check_norm },         { "q8", check_q8 },
    { "quant", check_quant }, { "bytes", check_bytes_sums },  { "narrow", check_narrow },
};

static const struct {
    const char *name;
    unsigned cpu;
} sets[] = { { "c", 0 },
#define X(name, cpu) { #name, cpu },
             KERN_ISAS(X)
#undef X
};

static int usage(void)
{
    printf(
        "check_kern [--bench] [--digest] [--flush] [--isa=SET] [--only=TEST] [--seed=N] "
        "[--accuracy-step=N]\n"
        "  --digest: a hash of what each kernel gave; the same seed gives the same on every "
        "machine\n"
        "  --flush: floats smaller than normal ones are 0, as in all that rill computes; on 32-bit "
        "ARM always\n");
    return 2;
}

static void tests_run(struct check *t, bool of_8_bits, bool of_all)
{
    unsigned seed = t->seed;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        t->seed = seed;
        bool both = tests[i].run == check_cell; /* whose whole sums go with products of 8 bits */
        if (tests[i].run == check_q8 ? !of_8_bits : !of_all && !(both && of_8_bits))
            continue;
        if (!t->only || !strcmp(t->only, tests[i].name))
            tests[i].run(t);
        check_drop(t);
    }
    t->seed = seed;
}

/* What NEON of 32-bit ARM does however the thread is set, plain C is to do beside it. */
#ifdef __arm__
#define FLUSHES_ALWAYS true
#else
#define FLUSHES_ALWAYS false
#endif

#ifdef HAVE_EVEX
void kern_fill_evex(struct kern *k);

/* AVX-VNNI's source, encoded for AVX-512. */
static void evex_check(struct check *t)
{
    t->isa = "evex";
    kern_fill_evex(&t->new);
    tests_run(t, true, false);
}
#endif

/* One set, where this machine and this build have it: of some sets there are products of 8 bits
 * only, or all others. */
static void set_check(struct check *t, unsigned cpu, const char *isa)
{
    kern_init(&t->new, cpu);
    t->isa = isa;
    bool of_8_bits = !strcmp(t->new.isa_q8, isa), of_all = !strcmp(t->new.isa, isa);
    if (!of_8_bits && !of_all)
        printf("skipped: %s, which this build lacks\n", isa);
    tests_run(t, of_8_bits, of_all);
#ifdef HAVE_EVEX
    if (cpu & KERN_AVX512VNNI)
        evex_check(t);
#endif
}

int main(int argc, char **argv)
{
    struct check t = { .seed = (unsigned) time(NULL), .accuracy_step = 4001 };
    const char *isa = NULL;
    bool digest = false, flush = FLUSHES_ALWAYS;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--bench"))
            t.bench = true;
        else if (!strcmp(argv[i], "--digest"))
            digest = true;
        else if (!strcmp(argv[i], "--flush"))
            flush = true;
        else if (!strncmp(argv[i], "--isa=", 6))
            isa = argv[i] + 6;
        else if (!strncmp(argv[i], "--only=", 7))
            t.only = argv[i] + 7;
        else if (!strncmp(argv[i], "--seed=", 7))
            t.seed = (unsigned) strtoul(argv[i] + 7, NULL, 0);
        else if (!strncmp(argv[i], "--accuracy-step=", 16))
            t.accuracy_step = (unsigned) strtoul(argv[i] + 16, NULL, 0);
        else
            return usage();
    }
    if (!t.accuracy_step)
        return usage();
    t.flush = flush;
    if (flush)
        floats_flush();
    setvbuf(stdout, NULL, _IOLBF, 0);
    unsigned cpu = kern_cpu_detect();
    printf("check_kern --seed=%u\n", t.seed);
    kern_init(&t.ref, 0);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        if (isa && strcmp(isa, sets[s].name))
            continue;
        if ((sets[s].cpu & cpu) == sets[s].cpu)
            set_check(&t, sets[s].cpu, sets[s].name);
        else
            printf("skipped: %s, which this machine lacks\n", sets[s].name);
    }
    if (!t.passed && !t.failed)
        t.failed +=
            (unsigned) printf("FAILED: nothing ran: this machine or this build lacks '%s'\n",
                              isa ? isa : "") > 0;
    if (digest)
        digests_print(&t);
    printf("%u passed, %u failed\n", t.passed, t.failed);
    return t.failed != 0;
}
