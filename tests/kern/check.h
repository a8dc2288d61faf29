/* SPDX-License-Identifier: MIT */
/* check.h - run a kernel against the plain C one, at the edges, then time it. */
#ifndef TESTS_KERN_CHECK_H
#define TESTS_KERN_CHECK_H
#include "kernels/kern.h"

#include <stdbool.h>

#define CHECK_BUFS_MAX 20
#define CHECK_DIGESTS_MAX 128

/* Of all that one kernel gave in a run. */
struct check_digest {
    const char *what;
    unsigned long n;
    uint64_t hash;
};

struct check {
    struct kern ref, new; /* plain C; the set under test */
    const char *isa, *only;
    bool bench, flush;            /* flush: floats smaller than normal ones are 0 */
    unsigned seed, accuracy_step; /* every so many bit patterns */
    unsigned passed, failed;
    struct {
        void *at;
        size_t bytes;
    } bufs[CHECK_BUFS_MAX];
    unsigned n_bufs;
    struct check_digest digests[CHECK_DIGESTS_MAX];
    unsigned n_digests;
};

/* n floats between two guard pages, touching the later one, or the earlier one when `low`. */
float *check_buf(struct check *t, size_t n, bool low);
void *check_bytes(struct check *t, size_t n, bool low); /* the same of bytes */
void check_drop(struct check *t);                       /* all buffers */
float check_rand(struct check *t);                      /* -1..1 */
uint32_t check_bits(struct check *t);                   /* any 24 bits */
void check_fill(struct check *t, float *p, size_t n);   /* -1..1 */
/* any bits: zeros, subnormals, inf and NaN too */
void check_fill_bits(struct check *t, float *p, size_t n);

/* Same bits, NaN as a class; counts one test. */
__attribute__((format(printf, 6, 7))) bool check_same(struct check *t, const char *what,
                                                      const float *ref, const float *got, size_t n,
                                                      const char *fmt, ...);
/* The same of whole numbers. */
__attribute__((format(printf, 6, 7))) bool check_ints(struct check *t, const char *what,
                                                      const int32_t *ref, const int32_t *got,
                                                      size_t n, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) bool check_true(struct check *t, bool ok, const char *fmt,
                                                      ...);
void check_time(struct check *t, const char *what, double flop, void (*call)(void *), void *arg);

void check_gemm(struct check *t);
void check_map(struct check *t);
void check_accuracy(struct check *t);
void check_fft(struct check *t);
void check_strided_copy(struct check *t);
void check_conv(struct check *t);
void check_pool(struct check *t);
void check_cell(struct check *t);
void check_norm(struct check *t);
void check_program(struct check *t);
void check_q8(struct check *t);
void check_narrow(struct check *t);
void check_quant(struct check *t);
void check_bytes_sums(struct check *t);
void check_winograd(struct check *t);
#endif
