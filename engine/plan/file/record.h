/* SPDX-License-Identifier: MIT */
/* record.h - numbers and texts one after the other, as a compiled file keeps them: little endian,
 * nothing aligned.
 *
 * Both sides fail once and for all: what follows a failed call does nothing, and the caller asks at
 * the end. */
#ifndef RILL_ENGINE_PLAN_FILE_RECORD_H
#define RILL_ENGINE_PLAN_FILE_RECORD_H
#include "engine/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORD_TEXT_MAX 4096

/* Bytes that grow; from malloc. {0} is empty. */
struct record {
    unsigned char *data;
    size_t n, cap;
    bool failed; /* out of memory */
};

void record_bytes(struct record *r, const void *bytes, size_t n);
void record_u32(struct record *r, uint32_t v);
void record_i64(struct record *r, int64_t v);
void record_f32(struct record *r, float v);
void record_text(struct record *r, const char *text); /* NULL as ""; control characters as blanks */
void record_drop(struct record *r);

/* Reading: never beyond end; zeros and "" after a failure. */
struct record_reader {
    const unsigned char *at, *end;
    struct arena *arena; /* of what is made */
    const char *wrong;   /* what was wrong first; NULL: nothing yet */
};

uint32_t record_take_u32(struct record_reader *r);
int64_t record_take_i64(struct record_reader *r);
float record_take_f32(struct record_reader *r);
/* printable, at most RECORD_TEXT_MAX bytes */
const char *record_take_text(struct record_reader *r);
/* borrowed; NULL after a failure */
const void *record_take_bytes(struct record_reader *r, size_t n);
int64_t record_take_range(struct record_reader *r, int64_t low, int64_t high, const char *what);
/* of things that take that many at least */
uint32_t record_take_count(struct record_reader *r, size_t bytes_each);
void record_wrong(struct record_reader *r, const char *what); /* static text */
/* zeroed, in the arena, room for one more */
void *record_array(struct record_reader *r, size_t n, size_t bytes);
#endif
