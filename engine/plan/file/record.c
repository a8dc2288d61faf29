/* SPDX-License-Identifier: MIT */
#include "engine/plan/file/record.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

void record_bytes(struct record *r, const void *bytes, size_t n)
{
    if (r->failed || !n)
        return;
    if (n > r->cap - r->n) {
        size_t cap = r->cap + n + r->cap / 2 + 4096;
        unsigned char *more = cap > r->cap ? realloc(r->data, cap) : NULL;
        if (!more) {
            r->failed = true;
            return;
        }
        r->data = more;
        r->cap = cap;
    }
    memcpy(r->data + r->n, bytes, n);
    r->n += n;
}

static void record_little(struct record *r, uint64_t v, unsigned bytes)
{
    unsigned char b[8];
    for (unsigned i = 0; i < bytes; i++)
        b[i] = (unsigned char) (v >> 8 * i);
    record_bytes(r, b, bytes);
}

void record_u32(struct record *r, uint32_t v)
{
    record_little(r, v, 4);
}

void record_i64(struct record *r, int64_t v)
{
    record_little(r, (uint64_t) v, 8);
}

void record_f32(struct record *r, float v)
{
    uint32_t u;
    memcpy(&u, &v, 4);
    record_u32(r, u);
}

void record_text(struct record *r, const char *text)
{
    size_t n = text ? strnlen(text, RECORD_TEXT_MAX) : 0;
    record_u32(r, (uint32_t) n);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char) text[i];
        c = c < 0x20 || c == 0x7f ? ' ' : c;
        record_bytes(r, &c, 1);
    }
}

void record_drop(struct record *r)
{
    free(r->data);
    *r = (struct record) { 0 };
}

/* ---- reading ---- */

void record_wrong(struct record_reader *r, const char *what)
{
    r->wrong = r->wrong ? r->wrong : what;
    r->at = r->end;
}

const void *record_take_bytes(struct record_reader *r, size_t n)
{
    const unsigned char *p = r->at;
    if (r->wrong || n > (size_t) (r->end - p)) {
        record_wrong(r, "a record ends early");
        return NULL;
    }
    r->at += n;
    return p;
}

static uint64_t take_little(struct record_reader *r, unsigned bytes)
{
    const unsigned char *p = record_take_bytes(r, bytes);
    uint64_t v = 0;
    for (unsigned i = 0; p && i < bytes; i++)
        v |= (uint64_t) p[i] << 8 * i;
    return v;
}

uint32_t record_take_u32(struct record_reader *r)
{
    return (uint32_t) take_little(r, 4);
}

int64_t record_take_i64(struct record_reader *r)
{
    return (int64_t) take_little(r, 8);
}

float record_take_f32(struct record_reader *r)
{
    uint32_t u = record_take_u32(r);
    float f;
    memcpy(&f, &u, 4);
    return f;
}

void *record_array(struct record_reader *r, size_t n, size_t bytes)
{
    void *p = r->wrong ? NULL : arena_alloc_array(r->arena, n + 1, bytes);
    if (!p)
        record_wrong(r, "out of memory");
    return p;
}

const char *record_take_text(struct record_reader *r)
{
    uint32_t n = record_take_u32(r);
    const unsigned char *p = record_take_bytes(r, n);
    if (p && n > RECORD_TEXT_MAX)
        record_wrong(r, "a text is too long");
    char *text = record_array(r, n, 1);
    if (!text)
        return "";
    for (uint32_t i = 0; i < n; i++)
        if (p[i] < 0x20 || p[i] == 0x7f) {
            record_wrong(r, "a text holds a control character");
            return "";
        }
    memcpy(text, p, n);
    return text;
}

int64_t record_take_range(struct record_reader *r, int64_t low, int64_t high, const char *what)
{
    int64_t v = record_take_i64(r);
    if (!r->wrong && (v < low || v > high))
        record_wrong(r, what);
    return r->wrong ? low : v;
}

uint32_t record_take_count(struct record_reader *r, size_t bytes_each)
{
    uint32_t n = record_take_u32(r);
    if (!r->wrong && n > (size_t) (r->end - r->at) / bytes_each)
        record_wrong(r, "a count is larger than the file");
    return r->wrong ? 0 : n;
}
