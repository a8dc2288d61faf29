/* SPDX-License-Identifier: MIT */
/* Shared by the small programs of bench/: a clock, medians, memory of this process. */
#ifndef RILL_BENCH_TIMING_H
#define RILL_BENCH_TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec * 1e-3;
}

static inline int compare_f64(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

/* Sorts v; p in 0..1. */
static inline double percentile(double *v, size_t n, double p)
{
    qsort(v, n, sizeof *v, compare_f64);
    return v[(size_t) (p * (double) (n - 1))];
}

static inline void *must(void *p)
{
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

/* 64-byte aligned, zeroed. */
static inline void *aligned_zeros(size_t bytes)
{
    size_t whole = (bytes + 127) & ~(size_t) 63;
    return memset(must(aligned_alloc(64, whole)), 0, whole);
}

/* KiB of /proc/self/status, -1 where it does not say. */
static inline long status_kib(const char *key)
{
    char line[256];
    long v = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
            v = atol(line + strlen(key) + 1);
    if (f)
        fclose(f);
    return v;
}

static inline float noise(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float) (int) *seed / 2147483648.0f * 0.1f;
}

#endif
