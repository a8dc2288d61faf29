/* SPDX-License-Identifier: MIT */
#include "models/nnef/lexer.h"
#include "engine/base/utf8.h"

#include <stdio.h>
#include <string.h>

void nnef_lexer_init(struct nnef_lexer *l, const char *text, size_t n)
{
    *l = (struct nnef_lexer) { .at = text, .end = text + n, .pos = { 1, 1 } };
}

static int peek(const struct nnef_lexer *l, size_t ahead)
{
    return (size_t) (l->end - l->at) > ahead ? (unsigned char) l->at[ahead] : -1;
}

static void step(struct nnef_lexer *l)
{
    if (*l->at++ == '\n') {
        l->pos.line++;
        l->pos.column = 1;
    } else {
        l->pos.column++;
    }
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}
static bool is_name(int c)
{
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/* Bytes of a character of names at that place, which may be beyond ASCII; 0: none. */
static size_t name_bytes(const struct nnef_lexer *l)
{
    const size_t n = utf8_length(l->at, (size_t) (l->end - l->at));
    return n > 1 || is_name(peek(l, 0)) ? n : 0;
}

static bool is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blank(struct nnef_lexer *l)
{
    for (;;) {
        while (is_space(peek(l, 0)))
            step(l);
        if (peek(l, 0) != '#')
            return;
        while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
            step(l);
    }
}

static void skip_digits(struct nnef_lexer *l)
{
    while (is_digit(peek(l, 0)))
        step(l);
}

static enum nnef_token_kind take_number(struct nnef_lexer *l)
{
    enum nnef_token_kind kind = NNEF_INT;
    skip_digits(l);
    if (peek(l, 0) == '.' && is_digit(peek(l, 1))) {
        kind = NNEF_REAL;
        step(l);
        skip_digits(l);
    }
    int c = peek(l, 0), sign = peek(l, 1) == '+' || peek(l, 1) == '-';
    if ((c == 'e' || c == 'E') && is_digit(peek(l, sign ? 2 : 1))) {
        kind = NNEF_REAL;
        step(l);
        if (sign)
            step(l);
        skip_digits(l);
    }
    return kind;
}

static enum nnef_token_kind take_text(struct nnef_lexer *l, struct nnef_token *t)
{
    int quote = peek(l, 0);
    step(l);
    t->at = l->at;
    while (peek(l, 0) >= 0 && peek(l, 0) != '\n' && peek(l, 0) != quote)
        step(l);
    t->n = (uint32_t) (l->at - t->at);
    if (peek(l, 0) != quote || (quote == '`' && !t->n))
        return NNEF_BAD;
    step(l);
    return quote == '`' ? NNEF_NAME : NNEF_TEXT;
}

static enum nnef_token_kind take_mark(struct nnef_lexer *l)
{
    static const char two[][3] = { "->", "<=", ">=", "==", "!=", "&&", "||" };
    int c = peek(l, 0);
    step(l);
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (c == two[i][0] && peek(l, 0) == two[i][1]) {
            step(l);
            return NNEF_MARK;
        }
    return c && strchr("()[]{}<>,;:=+-*/^!?", c) ? NNEF_MARK : NNEF_BAD;
}

struct nnef_token nnef_next(struct nnef_lexer *l)
{
    skip_blank(l);
    struct nnef_token t = { .pos = l->pos, .at = l->at };
    int c = peek(l, 0);
    if (c < 0)
        return t;
    if (c == '"' || c == '\'' || c == '`') {
        t.kind = take_text(l, &t);
        return t;
    }
    if (c == 'i' &&
        (peek(l, 1) == '"' || peek(l, 1) == '\'')) { /* i"a name", as tract escapes it */
        step(l);
        t.kind = take_text(l, &t);
        if (t.kind == NNEF_TEXT)
            t.kind = t.n ? NNEF_NAME : NNEF_BAD;
        return t;
    }
    if (is_digit(c)) {
        t.kind = take_number(l);
    } else if (name_bytes(l)) {
        t.kind = NNEF_NAME;
        for (size_t n; (n = name_bytes(l)) > 0;)
            while (n--)
                step(l);
    } else {
        t.kind = take_mark(l);
    }
    t.n = (uint32_t) (l->at - t.at);
    return t;
}

bool nnef_token_is(const struct nnef_token *t, const char *text)
{
    return (t->kind == NNEF_NAME || t->kind == NNEF_MARK) && strlen(text) == t->n &&
        !memcmp(text, t->at, t->n);
}

const char *nnef_token_print(const struct nnef_token *t, char *buf, size_t cap)
{
    if (t->kind == NNEF_END) {
        snprintf(buf, cap, "the end of the text");
        return buf;
    }
    char s[36];
    uint32_t n = t->n < 32 ? t->n : 32;
    for (uint32_t i = 0; i < n; i++)
        s[i] = t->at[i] >= ' ' && t->at[i] <= '~' ? t->at[i] : '?';
    s[n] = 0;
    if (t->kind == NNEF_BAD && n == 1)
        snprintf(buf, cap, "byte 0x%02x", (unsigned char) *t->at);
    else if (t->kind == NNEF_BAD)
        snprintf(buf, cap, "a string without its closing quote");
    else
        snprintf(buf, cap, "'%s%s'", s, t->n > n ? "..." : "");
    return buf;
}
