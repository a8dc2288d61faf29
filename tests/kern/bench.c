/* SPDX-License-Identifier: MIT */
#include "tests/kern/bench.h"
#include "kernels/kern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEATS_MOST 401
#define REPEAT_US 100

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double call_us(void *arg, bench_fn *f, int calls)
{
    double t = now_us();
    for (int i = 0; i < calls; i++)
        f(arg);
    return (now_us() - t) / calls;
}

void bench_us(void *arg, bench_fn *const *ways, int n, double total_us, bool least, double *ret_us)
{
    static double t[BENCH_WAYS_MOST][REPEATS_MOST];
    int reps = 0, calls[BENCH_WAYS_MOST] = { 0 };
    double began = now_us();
    for (int j = 0; j < n; j++)
        if (ways[j]) {
            ways[j](arg);
            calls[j] = (int) (REPEAT_US / (call_us(arg, ways[j], 3) + 0.01)) + 1;
        }
    for (; reps < REPEATS_MOST && (reps < 5 || now_us() - began < total_us); reps++)
        for (int j = 0; j < n; j++)
            if (ways[j])
                t[j][reps] = call_us(arg, ways[j], calls[j]);
    for (int j = 0; j < n; j++) {
        qsort(t[j], (size_t) reps, sizeof t[j][0], by_size);
        ret_us[j] = ways[j] ? t[j][least ? 0 : reps / 2] : 0;
    }
}

void *bench_block(size_t bytes)
{
    size_t whole = (bytes + 127) / 64 * 64;
    void *p = aligned_alloc(64, whole);
    if (!p)
        abort();
    return memset(p, 0, whole);
}

unsigned bench_cpu(void)
{
    const char *force = getenv("RILL_CPU");
    unsigned cpu = kern_cpu_detect();
#define X(name, sets)                                                                              \
    if (force && !strcmp(force, #name))                                                            \
        return cpu & (sets);
    KERN_ISAS(X)
#undef X
    return force && !strcmp(force, "c") ? 0 : cpu;
}

int bench_main(int argc, char **argv, const bench_size *sizes, size_t n,
               void (*each)(void *arg, const bench_size size, bool least), void *arg)
{
    const char *name = argv[0];
    bool least = argc > 1 && !strcmp(argv[1], "--least");
    if (least)
        argc--, argv++;
    if (argc == 4)
        each(arg,
             (bench_size) { strtoul(argv[1], NULL, 0), strtoul(argv[2], NULL, 0),
                            strtoul(argv[3], NULL, 0) },
             least);
    else if (argc != 1)
        return printf("%s [--least] [M K N]\n", name), 2;
    for (size_t i = 0; argc == 1 && i < n; i++)
        each(arg, sizes[i], least);
    return 0;
}
