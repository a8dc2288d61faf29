/* SPDX-License-Identifier: MIT */
#include "lib/spec.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct lexer {
    struct spec *s;
    struct arena *a;
    const char *at;
    rill_error *err;
};

rill_status spec_fail(const struct spec *s, unsigned column, rill_error *err, const char *fmt, ...)
{
    char what[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return err_set(err, RILL_INVALID, "transform '%.120s', column %u: %s", s->text, column, what);
}

static unsigned column(const struct lexer *r)
{
    return (unsigned) (r->at - r->s->text) + 1;
}

static char peek(struct lexer *r)
{
    r->at += strspn(r->at, " \t\r\n");
    return *r->at;
}

static bool accept(struct lexer *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

/* What stands at the lexer, for messages. */
static const char *found(const struct lexer *r, char buf[16])
{
    if (!*r->at)
        return "the end";
    if ((unsigned char) *r->at < 0x20 || (unsigned char) *r->at > 0x7e)
        snprintf(buf, 16, "byte 0x%02x", (unsigned char) *r->at);
    else
        snprintf(buf, 16, "'%c'", *r->at);
    return buf;
}

static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";

static rill_status quoted_read(struct lexer *r, const char **ret)
{
    unsigned start = column(r);
    char quote = *r->at++, *to = arena_alloc(r->a, strlen(r->at) + 1);
    if (!to)
        return err_set(r->err, RILL_NOMEM, "out of memory");
    *ret = to;
    for (; *r->at != quote; r->at++) {
        if (*r->at == '\\' && r->at[1]) {
            char c = *++r->at;
            if (c != 'n' && c != '\\' && c != '"' && c != '\'')
                return spec_fail(r->s, column(r), r->err,
                                 "only a quote, a backslash or n may follow a backslash");
            *to++ = c == 'n' ? '\n' : c;
            continue;
        }
        if (!*r->at)
            return spec_fail(r->s, start, r->err, "the quote that opens here is never closed");
        *to++ = *r->at;
    }
    r->at++;
    return RILL_OK;
}

/* ret_bare: whether the word stood without quotes. */
static rill_status word_read(struct lexer *r, const char *what, char **ret, bool *ret_bare)
{
    char buf[16], c = peek(r);
    *ret_bare = c != '"' && c != '\'';
    if (!*ret_bare)
        return quoted_read(r, (const char **) ret);
    size_t n = strspn(r->at, bare);
    if (!n)
        return spec_fail(r->s, column(r), r->err, "found %s, expected %s", found(r, buf), what);
    *ret = arena_printf(r->a, "%.*s", (int) n, r->at);
    r->at += n;
    return *ret ? RILL_OK : err_set(r->err, RILL_NOMEM, "out of memory");
}

static void dashes_to_underscores(char *s)
{
    for (; *s; s++)
        if (*s == '-')
            *s = '_';
}

static rill_status group_read(struct lexer *r, const char *key);

/* A word, or Some(word), as tract writes what may be absent. */
static rill_status value_read(struct lexer *r, char **ret)
{
    char buf[16];
    bool is_bare;
    TRY(word_read(r, "a word or a string in quotes", ret, &is_bare));
    if (!is_bare || strcmp(*ret, "Some") != 0 || !accept(r, '('))
        return RILL_OK;
    TRY(word_read(r, "a word or a string in quotes", ret, &is_bare));
    return accept(r, ')')
        ? RILL_OK
        : spec_fail(r->s, column(r), r->err, "found %s, expected ')' behind Some(", found(r, buf));
}

/* inside: of a list or map, which holds no other. */
static rill_status arg_read(struct lexer *r, bool inside)
{
    char *word;
    bool is_bare;
    if (r->s->n_args == SPEC_ARGS_MAX)
        return spec_fail(r->s, column(r), r->err, "more than %d arguments", SPEC_ARGS_MAX);
    struct spec_arg *arg = &r->s->arg[r->s->n_args++];
    peek(r);
    *arg = (struct spec_arg) { .column = column(r) };
    TRY(word_read(r, "a word or a string in quotes", &word, &is_bare));
    if (accept(r, ':')) {
        if (is_bare)
            dashes_to_underscores(word);
        arg->key = word;
        if (!inside && (peek(r) == '[' || *r->at == '{')) {
            r->s->n_args--;
            return group_read(r, word);
        }
        peek(r);
        arg->column = column(r);
        TRY(value_read(r, &word));
    }
    arg->value = word;
    return RILL_OK;
}

static rill_status args_read(struct lexer *r, char close, bool inside)
{
    char buf[16];
    if (accept(r, close))
        return RILL_OK;
    do
        TRY(arg_read(r, inside));
    while (accept(r, ','));
    if (!accept(r, close))
        return spec_fail(r->s, column(r), r->err,
                         "found %s, expected ',' or '%c' (expressions stand in quotes)",
                         found(r, buf), close);
    return RILL_OK;
}

/* As tract spells it: inputs: [a, b] is a, b; values: {S: 8} is S: 8. */
static rill_status group_read(struct lexer *r, const char *key)
{
    static const struct {
        const char *key;
        char open, close;
    } groups[] = { { "inputs", '[', ']' }, { "outputs", '[', ']' }, { "values", '{', '}' } };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(groups[i].key, key) && accept(r, groups[i].open))
            return args_read(r, groups[i].close, true);
    return spec_fail(r->s, column(r), r->err,
                     "'%.40s' takes no list; inputs and outputs take [a, b], values {S: 8}", key);
}

rill_status spec_parse(struct spec *ret, struct arena *a, const char *text, rill_error *reterr)
{
    char buf[16], *name;
    bool is_bare;
    *ret = (struct spec) { .text = arena_string(a, text) };
    if (!ret->text)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    struct lexer r = { .s = ret, .a = a, .at = ret->text, .err = reterr };
    TRY(word_read(&r, "the name of a transform", &name, &is_bare));
    if (is_bare)
        dashes_to_underscores(name);
    ret->name = name;
    if (accept(&r, '('))
        TRY(args_read(&r, ')', false));
    if (peek(&r))
        return spec_fail(ret, column(&r), reterr, "found %s, expected %s", found(&r, buf),
                         strchr(text, '(') ? "the end" : "'(' or the end");
    return RILL_OK;
}
