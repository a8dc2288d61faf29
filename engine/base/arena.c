/* SPDX-License-Identifier: MIT */
#include "engine/base/arena.h"
#include "engine/base/pages.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    size_t mapped_bytes; /* 0: of malloc */
    _Alignas(64) unsigned char bytes[];
};

#define ALIGN_BYTES ((size_t) 64)
#define BLOCK_MIN_BYTES ((size_t) 64 << 10)
#define LARGE_BLOCK_BYTES (4 * PAGES_LARGE_BYTES)

/* What the block does not use of its last page is never touched. */
static struct arena_block *large_block_add(struct arena *a, size_t bytes)
{
    size_t want =
        bytes > LARGE_BLOCK_BYTES / 2 ? bytes + sizeof(struct arena_block) : LARGE_BLOCK_BYTES;
    want = (want + PAGES_LARGE_BYTES - 1) & ~(PAGES_LARGE_BYTES - 1);
    struct arena_block *b = pages_large(want);
    if (!b)
        return NULL;
    *b = (struct arena_block) { .next = a->head, .size = want - sizeof *b, .mapped_bytes = want };
    a->head = b;
    return b;
}

/* A large piece gets a block of its own behind the head, whose rest stays in use. */
static struct arena_block *block_add(struct arena *a, size_t bytes)
{
    size_t want = bytes > BLOCK_MIN_BYTES / 4 ? bytes : BLOCK_MIN_BYTES;
    struct arena_block *b = aligned_alloc(ALIGN_BYTES, sizeof *b + want);
    if (!b)
        return NULL;
    struct arena_block **at = a->head && bytes > BLOCK_MIN_BYTES / 4 ? &a->head->next : &a->head;
    *b = (struct arena_block) { .next = *at, .size = want };
    *at = b;
    return b;
}

/* Where there is no room for whole large pages, small ones do. */
static struct arena_block *block_for(struct arena *a, size_t bytes)
{
    struct arena_block *b = a->large_pages ? large_block_add(a, bytes) : NULL;
    return b ? b : block_add(a, bytes);
}

static void *none_left(struct arena *a)
{
    a->ran_out = true;
    return NULL;
}

void arena_run_out(struct arena *a)
{
    for (; a; a = a->owner)
        none_left(a);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return none_left(a);
    size_t size = (bytes + ALIGN_BYTES - 1) & ~(ALIGN_BYTES - 1);
    if (a->limit_bytes && (size > a->limit_bytes || a->used_bytes > a->limit_bytes - size)) {
        a->at_limit = true;
        return none_left(a);
    }
    struct arena_block *b = a->head;
    if (!b || size > b->size - b->used)
        b = block_for(a, size);
    if (!b) {
        arena_run_out(a);
        return NULL;
    }
    unsigned char *p = b->bytes + b->used;
    b->used += size;
    a->used_bytes += size;
    memset(p, 0, size);
    return p;
}

size_t arena_bytes(const struct arena *a)
{
    size_t n = 0;
    for (const struct arena_block *b = a->head; b; b = b->next)
        n += sizeof *b + b->size;
    return n;
}

void *arena_alloc_array(struct arena *a, size_t n, size_t bytes)
{
    if (bytes && n > SIZE_MAX / bytes)
        return none_left(a);
    return arena_alloc(a, n * bytes);
}

#define LIST_FIRST 16 /* elements of a list that is new */

void *arena_grow(struct arena *a, void *list, uint32_t n, uint32_t *cap, size_t bytes)
{
    if (n < *cap)
        return list;
    uint32_t want = *cap ? *cap * 2 : LIST_FIRST;
    void *more = want > *cap ? arena_alloc_array(a, want, bytes) : NULL;
    if (!more)
        return NULL;
    if (n)
        memcpy(more, list, n * bytes);
    *cap = want;
    return more;
}

void *arena_copy(struct arena *a, const void *from, size_t bytes)
{
    void *p = arena_alloc(a, bytes);
    if (p && bytes)
        memcpy(p, from, bytes);
    return p;
}

char *arena_string(struct arena *a, const char *s)
{
    return arena_copy(a, s, strlen(s) + 1);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *s = n < 0 ? NULL : arena_alloc(a, (size_t) n + 1);
    if (s)
        vsnprintf(s, (size_t) n + 1, fmt, again);
    va_end(again);
    return s;
}

char *arena_printable(struct arena *a, const void *bytes, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *b = bytes;
    size_t size = 1;
    for (size_t i = 0; i < n; i++)
        size += b[i] < 32 || b[i] > 126 || b[i] == '\\' ? 4 : 1;
    char *s = arena_alloc(a, size), *at = s;
    for (size_t i = 0; s && i < n; i++) {
        if (b[i] >= 32 && b[i] <= 126 && b[i] != '\\') {
            *at++ = (char) b[i];
            continue;
        }
        *at++ = '\\';
        *at++ = 'x';
        *at++ = hex[b[i] >> 4];
        *at++ = hex[b[i] & 15];
    }
    return s;
}

/* Returns `last`. */
static struct arena_block *blocks_free(struct arena_block *b, const struct arena_block *last)
{
    while (b != last) {
        struct arena_block *next = b->next;
        if (b->mapped_bytes)
            pages_free(b, b->mapped_bytes);
        else
            free(b);
        b = next;
    }
    return b;
}

void arena_drop(struct arena *a)
{
    blocks_free(a->head, NULL);
    *a = (struct arena) { .limit_bytes = a->limit_bytes,
                          .large_pages = a->large_pages,
                          .owner = a->owner };
}

void arena_rewind(struct arena *a)
{
    const size_t bytes = a->used_bytes;
    if (a->head && a->head->next) {
        arena_drop(a);
        (void) block_for(a, bytes);
    }
    if (a->head)
        a->head->used = 0;
    a->used_bytes = 0;
    a->ran_out = a->at_limit = false;
}

struct arena_mark arena_mark(const struct arena *a)
{
    const struct arena_block *b = a->head;
    return (struct arena_mark) { b, b ? b->next : NULL, a->used_bytes, b ? b->used : 0 };
}

/* Blocks come in front of the head, and those of large pieces behind it. */
void arena_rewind_to(struct arena *a, const struct arena_mark *m)
{
    a->head = blocks_free(a->head, m->head);
    if (a->head) {
        a->head->next = blocks_free(a->head->next, m->next);
        a->head->used = m->head_used_bytes;
    }
    a->used_bytes = m->used_bytes;
}
