/* SPDX-License-Identifier: MIT */
/* tokens.h - names of the columns of an output, and how they are written. */
#ifndef RILL_MODELS_TOKENS_H
#define RILL_MODELS_TOKENS_H
#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>

#define TOKENS_MAX 65536
#define TOKEN_BYTES_MAX 255

struct token {
    const char *name; /* as in the file, a string */
    const char *text; /* what is written; a byte token is no UTF-8 by itself */
    bool begins_word, is_silent;
};

struct tokens {
    struct token *list;
    uint32_t n;
    bool spaced;          /* a space between words */
    size_t longest_bytes; /* of text */
    size_t longest_name_bytes;
    uint32_t *places, bits; /* a table of 2^bits: 1 + number of a token by its name, 0: free */
};

/* scores: what gives the columns, in the words of an error. n: columns, whose names must be there;
 * names beyond are no mistake. 0: as many as there are names before the first gap. MALFORMED: with
 * the line. */
rill_status tokens_from_opts(struct tokens *ret, struct arena *a, const rill_sink_opts *o,
                             const char *scores, uint32_t n, rill_error *err);

/* The first token of that name, or -1. */
int64_t tokens_find(const struct tokens *t, const char *name);
int64_t tokens_find_bytes(const struct tokens *t, const char *name, size_t n);

/* Whether it is UTF-8 without control characters. */
bool tokens_text_is_plain(const char *s, size_t n);

/* The blank, which becomes silent: number `wanted`, or for -1 the one called <blk> or <blank>, or
 * 0. INVALID: none. */
rill_status tokens_blank(struct tokens *t, int32_t wanted, uint32_t *ret, rill_error *err);
#endif
