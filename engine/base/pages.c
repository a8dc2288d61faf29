/* SPDX-License-Identifier: MIT */
#include "engine/base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

static void *mapped(size_t bytes, int rights, int how, int fd)
{
    void *p = mmap(NULL, bytes, rights, MAP_PRIVATE | how, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *pages_new(size_t bytes)
{
    return mapped(bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1);
}

/* From the kernel itself: what malloc has may lie in small pages already. */
void *pages_large(size_t bytes)
{
    unsigned char *p = pages_new(bytes + PAGES_LARGE_BYTES);
    if (!p)
        return NULL;
    size_t before = (size_t) - (uintptr_t) p & (PAGES_LARGE_BYTES - 1);
    if (before)
        munmap(p, before);
    munmap(p + before + bytes, PAGES_LARGE_BYTES - before);
    (void) madvise(p + before, bytes, MADV_HUGEPAGE);
    return p + before;
}

void *pages_zeros(size_t bytes)
{
    return mapped(bytes, PROT_READ, MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

void *pages_of_file(int fd, size_t bytes)
{
    return mapped(bytes, PROT_READ, MAP_POPULATE, fd);
}

void pages_free(void *p, size_t bytes)
{
    munmap(p, bytes);
}

void pages_protect(void *p, size_t bytes)
{
    (void) mprotect(p, bytes, PROT_READ);
}

void pages_hold(const void *p, size_t bytes)
{
    (void) mlock(p, bytes);
}
