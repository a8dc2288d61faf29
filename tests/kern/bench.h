/* SPDX-License-Identifier: MIT */
/* bench.h - times of several ways to compute a product, taken in turn. */
#ifndef TESTS_KERN_BENCH_H
#define TESTS_KERN_BENCH_H
#include <stdbool.h>
#include <stddef.h>

#define BENCH_WAYS_MOST 4

typedef void bench_fn(void *arg);

/* Microseconds a call of each of n ways, 0 where it is NULL: the medians of repeats in turn, or the
 * shortest. Takes about total_us of this thread's own time: neighbours do not count. */
void bench_us(void *arg, bench_fn *const *ways, int n, double total_us, bool least, double *ret_us);

/* Aligned as packed weights are, of zeros, with room for whole vectors behind. */
void *bench_block(size_t bytes);

/* What RILL_CPU leaves of this machine. */
unsigned bench_cpu(void);

/* m, k, n */
typedef size_t bench_size[3];
/* [--least] [M K N]: `each` for that size, or for all n sizes. The exit status. */
int bench_main(int argc, char **argv, const bench_size *sizes, size_t n,
               void (*each)(void *arg, const bench_size size, bool least), void *arg);
#endif
