/* SPDX-License-Identifier: MIT */
/* arena.h - memory that lives exactly as long as one stage of the pipeline.
 *
 * Nothing in an arena is freed alone, so a builder may return early from any
 * line: its caller drops the arena, or rewinds it. */
#ifndef RILL_ENGINE_BASE_ARENA_H
#define RILL_ENGINE_BASE_ARENA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_block;
/* How full an arena is: what it returned until then stays where it rewinds to the mark. */
struct arena_mark {
    const struct arena_block *head, *next;
    size_t used_bytes, head_used_bytes;
};

struct arena {
    struct arena_block *head;
    size_t used_bytes,
        limit_bytes;  /* an allocation that would pass the limit (0: none) returns NULL */
    bool large_pages; /* memory of megabytes that is read again and again: in as few pages as there
                         may be */
    bool ran_out;     /* an allocation returned NULL, once: what was built since may have gaps */
    bool at_limit;    /* and that was for the limit */
    struct arena *owner; /* of what is built by means of this one, or NULL: when the machine has no
                            more it has run out, too; when this one's limit is met it has not */
};

/* Zeroed, aligned to 64 bytes; NULL when the limit or the machine has no more. {0} is a valid empty
 * arena. */
void *arena_alloc(struct arena *a, size_t bytes);
/* NULL when n * bytes overflows */
void *arena_alloc_array(struct arena *a, size_t n, size_t bytes);
/* A list of n elements of so many bytes with room for one more: itself, or a copy with room for
 * twice as many, which *cap counts; NULL: no memory, or more than *cap can count. */
void *arena_grow(struct arena *a, void *list, uint32_t n, uint32_t *cap, size_t bytes);
void *arena_copy(struct arena *a, const void *from, size_t bytes);
char *arena_string(struct arena *a, const char *s);
__attribute__((format(printf, 2, 3))) char *arena_printf(struct arena *a, const char *fmt, ...);
/* Printable text for any n bytes: everything but plain ASCII, and the backslash itself, becomes
 * \xNN, so different bytes give different texts. */
char *arena_printable(struct arena *a, const void *bytes, size_t n);
/* As if the machine had no more: where what is built in it lacks memory from elsewhere. */
void arena_run_out(struct arena *a);
void arena_drop(struct arena *a);
/* Empty as after arena_drop, but the memory stays, in one piece: who needs no more than before
 * takes nothing new. */
void arena_rewind(struct arena *a);
struct arena_mark arena_mark(const struct arena *a);
/* Frees what was returned since the mark. */
void arena_rewind_to(struct arena *a, const struct arena_mark *m);
size_t arena_bytes(const struct arena *a); /* of memory, with what nobody has asked for yet */

#define arena_new(a, type) ((type *) arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *) arena_alloc_array((a), (n), sizeof(type)))
#endif
