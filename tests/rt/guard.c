/* SPDX-License-Identifier: MIT */
/* Linked in with -Wl,--wrap: allocations, locks and writes of this thread between guard_enter and
 * guard_leave are counted, with the bytes that were asked for. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/rt/guard.h"

static _Thread_local int inside;
static _Thread_local unsigned hits;
static _Thread_local size_t asked_bytes;

void guard_enter(void)
{
    inside = 1;
    hits = 0;
    asked_bytes = 0;
}
unsigned guard_leave(void)
{
    inside = 0;
    return hits;
}
size_t guard_asked_bytes(void)
{
    return asked_bytes;
}

#define NOTE()                                                                                     \
    do {                                                                                           \
        if (inside)                                                                                \
            hits++;                                                                                \
    } while (0)
#define NOTE_OF(n)                                                                                 \
    do {                                                                                           \
        NOTE();                                                                                    \
        asked_bytes += inside ? (n) : 0;                                                           \
    } while (0)

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t a, size_t n);
void __real_free(void *p);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
ssize_t __real_write(int fd, const void *p, size_t n);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t a, size_t n);
void __wrap_free(void *p);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
ssize_t __wrap_write(int fd, const void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    NOTE_OF(n);
    return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t m)
{
    NOTE_OF(n * m);
    return __real_calloc(n, m);
}
void *__wrap_realloc(void *p, size_t n)
{
    NOTE_OF(n);
    return __real_realloc(p, n);
}
void *__wrap_aligned_alloc(size_t a, size_t n)
{
    NOTE_OF(n);
    return __real_aligned_alloc(a, n);
}
void __wrap_free(void *p)
{
    NOTE();
    __real_free(p);
}
int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    NOTE();
    return __real_pthread_mutex_lock(m);
}
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    NOTE();
    return __real_write(fd, p, n);
}
