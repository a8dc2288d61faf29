/* SPDX-License-Identifier: MIT */
#include "models/tokens.h"
#include "engine/base/utf8.h"

#include <string.h>

#define WORD_MARK "\xe2\x96\x81" /* U+2581 */

struct reading {
    struct tokens *tokens;
    struct arena *arena;
    uint32_t cap, n_seen, line;
    bool any_number; /* the file has "TOKEN ID" lines */
    rill_error *err;
};

/* ---- text ---- */

bool tokens_text_is_plain(const char *s, size_t n)
{
    for (size_t at = 0, k; at < n; at += k)
        if (!(k = utf8_length(s + at, n - at)) || (unsigned char) s[at] < 0x20)
            return false;
    return true;
}

static bool in_list(const char *list, const char *name, size_t n)
{
    while (list && *list) {
        size_t k = strcspn(list, ",");
        size_t from = strspn(list, " ");
        size_t to = k;
        while (to > from && list[to - 1] == ' ')
            to--;
        if (from <= to && to - from == n && !memcmp(list + from, name, n))
            return true;
        list += k + (list[k] == ',');
    }
    return false;
}

/* ---- one token ---- */

static rill_status token_fail(const struct reading *r, const char *why)
{
    return err_set(r->err, RILL_MALFORMED, "tokens, line %u: %s", r->line, why);
}

static rill_status token_put(struct reading *r, uint32_t id, const char *name, size_t n)
{
    struct tokens *t = r->tokens;
    if (n > TOKEN_BYTES_MAX)
        return token_fail(r, "a token has at most 255 bytes");
    if (!tokens_text_is_plain(name, n))
        return token_fail(r, "not text in UTF-8");
    if (id >= r->cap) /* symbols that the model has no column for */
        return RILL_OK;
    if (t->list[id].name)
        return token_fail(r, "this number is taken");
    char *copy = arena_alloc(r->arena, n + 1);
    if (!copy)
        return err_set(r->err, RILL_NOMEM, "out of memory");
    memcpy(copy, name, n);
    t->list[id].name = copy;
    t->n = id >= t->n ? id + 1 : t->n;
    r->n_seen++;
    return RILL_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char) (c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "<0x41>" is that byte; -1: it is not of this form. */
static int byte_token(const char *name)
{
    if (strncmp(name, "<0x", 3) || hex_digit(name[3]) < 0 || hex_digit(name[4]) < 0 ||
        strcmp(name + 5, ">"))
        return -1;
    return hex_digit(name[3]) << 4 | hex_digit(name[4]);
}

static bool is_separator(const char *name)
{
    return !strcmp(name, "|") || !strcmp(name, "<space>") || !strcmp(name, " ");
}

static bool is_marked(const struct token *k)
{
    return !strncmp(k->name, WORD_MARK, 3) || is_separator(k->name);
}

static rill_status token_write(struct reading *r, struct token *k, rill_units units,
                               const char *ignore)
{
    static const char never[] = "<blk>,<blank>,<eps>,<pad>,<s>,</s>,<sos/eos>";
    int byte = byte_token(k->name);
    bool marks = units == RILL_UNITS_MARKS;
    k->is_silent =
        in_list(never, k->name, strlen(k->name)) || in_list(ignore, k->name, strlen(k->name));
    k->begins_word = !marks || is_marked(k);
    k->text = k->name;
    if (byte >= 0) {
        char *text = arena_alloc(r->arena, 2);
        if (!text)
            return err_set(r->err, RILL_NOMEM, "out of memory");
        text[0] = (char) byte;
        k->text = text;
    } else if (marks && is_separator(k->name)) {
        k->text = "";
    } else if (!strncmp(k->name, WORD_MARK, 3)) {
        k->text = k->name + 3;
    }
    size_t n = strlen(k->text);
    r->tokens->longest_bytes = n > r->tokens->longest_bytes ? n : r->tokens->longest_bytes;
    return RILL_OK;
}

/* ---- lists ---- */

/* "TOKEN ID", or a label that has the number of its line; a blank as token leaves only its
 * number. */
static rill_status line_read(struct reading *r, const char *s, size_t n)
{
    size_t end = n, from, name_n;
    uint64_t id = 0;
    while (end && (s[end - 1] == ' ' || s[end - 1] == '\t'))
        end--;
    for (from = end; from && s[from - 1] >= '0' && s[from - 1] <= '9'; from--)
        ;
    if (!end)
        return RILL_OK;
    bool numbered =
        from < end && (from == 0 ? r->any_number : s[from - 1] == ' ' || s[from - 1] == '\t');
    if (!numbered) {
        if (r->any_number)
            return token_fail(r, "expected TOKEN NUMBER");
        return token_put(r, r->n_seen, s, end);
    }
    if (r->n_seen && !r->any_number)
        return token_fail(r, "expected a label, as in the lines before");
    r->any_number = true;
    if (end - from > 9)
        return token_fail(r, "a token's number is at most 65535");
    for (size_t i = from; i < end; i++)
        id = 10 * id + (uint64_t) (s[i] - '0');
    for (name_n = from; name_n && (s[name_n - 1] == ' ' || s[name_n - 1] == '\t'); name_n--)
        ;
    if (id >= TOKENS_MAX)
        return token_fail(r, "a token's number is at most 65535");
    return name_n ? token_put(r, (uint32_t) id, s, name_n) : token_put(r, (uint32_t) id, " ", 1);
}

static rill_status file_read(struct reading *r, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        r->line++;
        TRY(line_read(r, text, n && text[n - 1] == '\r' ? n - 1 : n));
        text += n + (text[n] == '\n');
    }
    return RILL_OK;
}

static rill_status words_read(struct reading *r, const char *words, uint32_t width)
{
    for (;;) {
        size_t n = strcspn(words, ","), from = strspn(words, " "), to = n;
        while (to > from && words[to - 1] == ' ')
            to--;
        r->line++;
        if (from >= to)
            return err_set(r->err, RILL_INVALID, "words: word %u is empty", r->line);
        if (width && r->line > width)
            return err_set(r->err, RILL_INVALID,
                           "words: '%.*s' is number %u, and the output has %u columns",
                           (int) (to - from < 60 ? to - from : 60), words + from, r->line, width);
        TRY(token_put(r, r->line - 1, words + from, to - from));
        if (!words[n])
            return RILL_OK;
        words += n + 1;
    }
}

/* Without a number of columns those up to the first gap count: what is behind it may have none. */
static rill_status names_check(const struct reading *r, const char *scores, uint32_t n)
{
    struct tokens *t = r->tokens;
    uint32_t named = 0;
    while (named < t->n && t->list[named].name)
        named++;
    if (named < n)
        return err_set(r->err, named >= t->n ? RILL_INVALID : RILL_MALFORMED,
                       "%.160s: %u columns, of which number %u has no name among the %u tokens",
                       scores, n, named, r->n_seen);
    if (!named)
        return err_set(r->err, RILL_MALFORMED,
                       t->n ? "no token has the number 0" : "there are no tokens");
    t->n = named;
    return RILL_OK;
}

/* Where a name is in the table or would be (FNV-1a). */
static uint32_t place_of(const struct tokens *t, const char *name, size_t n)
{
    uint32_t h = 2166136261u, mask = ((uint32_t) 1 << t->bits) - 1, at;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t) name[i]) * 16777619u;
    for (at = (h ^ h >> 16) & mask; t->places[at]; at = (at + 1) & mask) {
        const char *other = t->list[t->places[at] - 1].name;
        if (!strncmp(other, name, n) && !other[n])
            break;
    }
    return at;
}

/* Of tokens of one name the first counts. */
static rill_status places_fill(struct reading *r)
{
    struct tokens *t = r->tokens;
    for (t->bits = 4; (uint32_t) 1 << t->bits < 2 * t->n; t->bits++)
        ;
    t->places = arena_array(r->arena, uint32_t, (size_t) 1 << t->bits);
    if (!t->places)
        return err_set(r->err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < t->n; i++) {
        size_t n = strlen(t->list[i].name);
        uint32_t at = place_of(t, t->list[i].name, n);
        t->places[at] = t->places[at] ? t->places[at] : i + 1;
        t->longest_name_bytes = n > t->longest_name_bytes ? n : t->longest_name_bytes;
    }
    return RILL_OK;
}

rill_status tokens_from_opts(struct tokens *ret, struct arena *a, const rill_sink_opts *o,
                             const char *scores, uint32_t n, rill_error *err)
{
    struct reading r = { .tokens = ret, .arena = a, .cap = n ? n : TOKENS_MAX, .err = err };
    *ret = (struct tokens) { .spaced = o->units != RILL_UNITS_CHARS };
    if (n > TOKENS_MAX)
        return err_set(err, RILL_LIMIT, "%.160s: %u columns; tokens are at most %d", scores, n,
                       TOKENS_MAX);
    if (!o->tokens && !o->words)
        return err_set(err, RILL_INVALID,
                       "model.conf names neither a file of tokens nor words for the columns");
    ret->list = arena_array(a, struct token, r.cap);
    if (!ret->list)
        return err_set(err, RILL_NOMEM, "out of memory");
    TRY(o->tokens ? file_read(&r, o->tokens) : words_read(&r, o->words, n));
    TRY(names_check(&r, scores, n));
    rill_units units = o->units;
    for (uint32_t i = 0; i < ret->n && units == RILL_UNITS_AUTO; i++)
        units = is_marked(&ret->list[i]) ? RILL_UNITS_MARKS : units;
    for (uint32_t i = 0; i < ret->n; i++)
        TRY(token_write(&r, &ret->list[i], units, o->ignore));
    return places_fill(&r);
}

int64_t tokens_find_bytes(const struct tokens *t, const char *name, size_t n)
{
    return (int64_t) t->places[place_of(t, name, n)] - 1;
}

int64_t tokens_find(const struct tokens *t, const char *name)
{
    return tokens_find_bytes(t, name, strlen(name));
}

rill_status tokens_blank(struct tokens *t, int32_t wanted, uint32_t *ret, rill_error *err)
{
    int64_t blank = wanted;
    if (blank < 0)
        blank = tokens_find(t, "<blk>");
    if (blank < 0)
        blank = tokens_find(t, "<blank>");
    blank = blank < 0 ? 0 : blank;
    if (blank >= t->n || t->n < 2)
        return err_set(err, RILL_INVALID, "the blank is token %lld of an output of %u columns",
                       (long long) blank, t->n);
    *ret = (uint32_t) blank;
    t->list[blank].is_silent = true;
    return RILL_OK;
}
