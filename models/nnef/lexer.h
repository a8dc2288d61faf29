/* SPDX-License-Identifier: MIT */
/* lexer.h - NNEF text as tokens with their place. The text need not end in a zero byte. */
#ifndef RILL_MODELS_NNEF_LEXER_H
#define RILL_MODELS_NNEF_LEXER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both count from 1; a column is a byte. */
struct nnef_pos {
    uint32_t line, column;
};

enum nnef_token_kind {
    NNEF_END,
    NNEF_NAME, /* letters, digits, _ and what is beyond ASCII; or anything between two ` (names that
                * a file brought) */
    NNEF_INT,
    NNEF_REAL,
    NNEF_TEXT, /* a quoted string; at..n is what stands between the quotes */
    NNEF_MARK, /* one or two characters of punctuation */
    NNEF_BAD   /* no token starts with this byte, or a string does not end on its line */
};

struct nnef_token {
    enum nnef_token_kind kind;
    struct nnef_pos pos;
    const char *at; /* in the text */
    uint32_t n;
};

struct nnef_lexer {
    const char *at, *end;
    struct nnef_pos pos;
};

void nnef_lexer_init(struct nnef_lexer *l, const char *text, size_t n);
struct nnef_token nnef_next(struct nnef_lexer *l); /* END for ever at the end */

bool nnef_token_is(const struct nnef_token *t, const char *text); /* a name or mark spelt so */

/* For messages: the token in quotes, shortened and made printable. */
const char *nnef_token_print(const struct nnef_token *t, char *buf, size_t cap);
#endif
