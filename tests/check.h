/* SPDX-License-Identifier: MIT */
/* check.h - counting checks; a program ends with check_done(). */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static unsigned check_passed, check_failed, check_skipped;

#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (cond) {                                                                                \
            check_passed++;                                                                        \
        } else {                                                                                   \
            check_failed++;                                                                        \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);                                      \
            printf(__VA_ARGS__);                                                                   \
            putchar('\n');                                                                         \
        }                                                                                          \
    } while (0)

#define LLU(x) ((unsigned long long) (x)) /* for %llu */

/* The same, with words and a number that tells this case from others; true if it holds. */
static inline bool check(bool ok, const char *what, long n)
{
    *(ok ? &check_passed : &check_failed) += 1;
    if (!ok)
        printf("FAILED %s (%ld)\n", what, n);
    return ok;
}

/* 0..n-1, the same in every run. */
static inline uint32_t check_random(uint32_t n)
{
    static uint32_t seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static inline int check_done(void)
{
    printf("%u passed, %u failed", check_passed, check_failed);
    if (check_skipped)
        printf(", %u skipped", check_skipped);
    putchar('\n');
    return check_failed ? 1 : 0;
}
#endif
