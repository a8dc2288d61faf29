/* SPDX-License-Identifier: MIT */
/* pages.h - memory by the page, from the system; of a machine that maps none (pages_heap.c) from
 * malloc. */
#ifndef RILL_ENGINE_BASE_PAGES_H
#define RILL_ENGINE_BASE_PAGES_H
#include <stdbool.h>
#include <stddef.h>

/* All give NULL where there is none; free with pages_free and the same number of bytes. */
void *pages_new(size_t bytes);
/* For what is read page by page in every run: a multiple of PAGES_LARGE_BYTES. */
#define PAGES_LARGE_BYTES ((size_t) 2 << 20)
void *pages_large(size_t bytes);
/* Read-only zeros, which take no memory where pages are mapped. */
void *pages_zeros(size_t bytes);
/* The first bytes of a file, which stays as it is. NULL sets errno. */
void *pages_of_file(int fd, size_t bytes);
void pages_free(void *p, size_t bytes);

/* From here on they are only read: seen to where the system can. */
void pages_protect(void *p, size_t bytes);
/* They stay in memory as far as the system lets the process. */
void pages_hold(const void *p, size_t bytes);
#endif
