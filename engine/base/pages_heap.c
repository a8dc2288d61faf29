/* SPDX-License-Identifier: MIT */
/* Pages where the system maps none. */
#include "engine/base/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

void *pages_new(size_t bytes)
{
    return calloc(1, bytes);
}

void *pages_large(size_t bytes)
{
    return aligned_alloc(PAGES_LARGE_BYTES, bytes);
}

void *pages_zeros(size_t bytes)
{
    return calloc(1, bytes);
}

void *pages_of_file(int fd, size_t bytes)
{
    char *p = malloc(bytes);
    for (size_t at = 0; p && at < bytes;) {
        ssize_t got = pread(fd, p + at, bytes - at, (off_t) at);
        if (got <= 0) {
            const int why = got < 0 ? errno : EIO;
            free(p);
            errno = why;
            return NULL;
        }
        at += (size_t) got;
    }
    return p;
}

void pages_free(void *p, size_t bytes)
{
    (void) bytes;
    free(p);
}

void pages_protect(void *p, size_t bytes)
{
    (void) p, (void) bytes;
}

void pages_hold(const void *p, size_t bytes)
{
    (void) p, (void) bytes;
}
