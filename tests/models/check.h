/* SPDX-License-Identifier: MIT */
/* check.h - counting checks; a program ends with check_done(). */
#ifndef TESTS_MODELS_CHECK_H
#define TESTS_MODELS_CHECK_H
#include <stdbool.h>
#include <stdio.h>

static unsigned check_passed, check_failed, check_skipped;

#define CHECK(cond, ...)                                                      \
    do {                                                                      \
        if (cond) {                                                           \
            check_passed++;                                                   \
        } else {                                                              \
            check_failed++;                                                   \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);                 \
            printf(__VA_ARGS__);                                              \
            putchar('\n');                                                    \
        }                                                                     \
    } while (0)

static inline int check_done(void)
{
    printf("%u passed, %u failed", check_passed, check_failed);
    if (check_skipped)
        printf(", %u skipped", check_skipped);
    putchar('\n');
    return check_failed ? 1 : 0;
}
#endif
