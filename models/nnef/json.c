/* SPDX-License-Identifier: MIT */
#include "models/nnef/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- letters of a string ---- */

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int) (at - digits) % 16 : -1;
}

/* The four digits behind "\u"; -1: they are not there. */
static int32_t hex_read(const char *at)
{
    int32_t v = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

/* Where the escape at `at`, behind the backslash, ends; NULL: it is none. */
static const char *escape_end(const char *at)
{
    if (*at == 'u')
        return hex_read(at + 1) < 0 ? NULL : at + 5;
    return *at && strchr("\"\\/bfnrt", *at) ? at + 1 : NULL;
}

static unsigned utf8_write(char *to, int32_t code)
{
    static const int32_t more[] = { 0x80, 0x800, 0x10000 };
    static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
    unsigned n = 0;
    while (n < 3 && code >= more[n])
        n++;
    to[0] = (char) (first[n] | code >> 6 * n);
    for (unsigned i = 1; i <= n; i++)
        to[i] = (char) (0x80 | (code >> 6 * (n - i) & 0x3f));
    return n + 1;
}

/* One letter of a string that was checked: its bytes, none where they are of no letter (half a
 * pair, a zero). Returns where it ends. */
static const char *letter_read(const char *at, char to[4], unsigned *ret_n)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    *ret_n = 1;
    to[0] = *at;
    if (*at != '\\')
        return at + 1;
    if (at[1] != 'u') {
        to[0] = meant[strchr(escapes, at[1]) - escapes];
        return at + 2;
    }
    int32_t code = hex_read(at + 2), low = -1;
    at += 6;
    if (code >= 0xd800 && code < 0xdc00 && at[0] == '\\' && at[1] == 'u')
        low = hex_read(at + 2);
    if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
        at += 6;
    }
    *ret_n = !code || (code >= 0xd800 && code < 0xe000) ? 0 : utf8_write(to, code);
    return at;
}

/* ---- the whole file, once to count and once to note places ---- */

struct pass {
    const struct call *c;
    const char *file, *text, *at; /* up to a zero byte */
    struct json_place *places;    /* NULL: they are counted */
    uint32_t n;
    unsigned depth;
};

static rill_status pass_fail(const struct pass *p, const char *expected)
{
    return call_fail(p->c, RILL_MALFORMED, "%s: expected %s before '%.20s'", p->file, expected,
                     p->at);
}

static void space_skip(struct pass *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

static bool skip(struct pass *p, const char *word)
{
    space_skip(p);
    const size_t n = strlen(word);
    const bool there = !strncmp(p->at, word, n);
    p->at += there ? n : 0;
    return there;
}

static rill_status string_pass(struct pass *p)
{
    if (!skip(p, "\""))
        return pass_fail(p, "a string");
    while (*p->at != '"') {
        const char *end = *p->at == '\\' ? escape_end(p->at + 1) : p->at + 1;
        if (*p->at >= 0 && *p->at < 0x20)
            return pass_fail(p, *p->at ? "an escape of a control character" : "'\"'");
        if (!end)
            return pass_fail(
                p, "a character, or one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u with four digits");
        p->at = end;
    }
    p->at++;
    return RILL_OK;
}

static bool digits_skip(const char **at)
{
    const size_t n = strspn(*at, "0123456789");
    *at += n;
    return n;
}

static rill_status number_pass(struct pass *p)
{
    const char *at = p->at + (*p->at == '-'), *whole = at;
    bool ok = digits_skip(&at) && (*whole != '0' || at == whole + 1);
    if (ok && *at == '.') {
        at++;
        ok = digits_skip(&at);
    }
    if (ok && (*at == 'e' || *at == 'E')) {
        at++;
        at += *at == '+' || *at == '-';
        ok = digits_skip(&at);
    }
    if (!ok)
        return pass_fail(p, "a value, a number as -2, 0.5 or 1e-3,");
    p->at = at;
    return RILL_OK;
}

static rill_status value_pass(struct pass *p);

static uint32_t place_add(struct pass *p)
{
    if (p->places)
        p->places[p->n] = (struct json_place) { (uint32_t) (p->at - p->text), p->n + 1 };
    return p->n++;
}

static rill_status list_pass(struct pass *p)
{
    for (unsigned i = 0; !skip(p, "]"); i++) {
        if (i && !skip(p, ","))
            return pass_fail(p, "',' or ']'");
        TRY(value_pass(p));
    }
    return RILL_OK;
}

static rill_status object_pass(struct pass *p)
{
    for (unsigned i = 0; !skip(p, "}"); i++) {
        if (i && !skip(p, ","))
            return pass_fail(p, "',' or '}'");
        space_skip(p);
        place_add(p);
        TRY(string_pass(p));
        if (!skip(p, ":"))
            return pass_fail(p, "':'");
        TRY(value_pass(p));
    }
    return RILL_OK;
}

static rill_status value_pass(struct pass *p)
{
    rill_status status = RILL_OK;
    if (++p->depth > p->c->b->limits->depth)
        return call_fail(p->c, RILL_LIMIT, "%s: nested more than %u deep", p->file,
                         p->c->b->limits->depth);
    space_skip(p);
    const uint32_t place = place_add(p);
    if (*p->at == '"')
        status = string_pass(p);
    else if (skip(p, "["))
        status = list_pass(p);
    else if (skip(p, "{"))
        status = object_pass(p);
    else if (!skip(p, "true") && !skip(p, "false") && !skip(p, "null"))
        status = number_pass(p);
    if (p->places)
        p->places[place].next = p->n;
    p->depth--;
    return status;
}

static rill_status file_pass(struct pass *p)
{
    p->at = p->text;
    p->n = 0;
    if (!strncmp(p->at, "\xef\xbb\xbf", 3))
        return call_fail(p->c, RILL_MALFORMED,
                         "%s: begins with a byte order mark, expected JSON in UTF-8 without one",
                         p->file);
    TRY(value_pass(p));
    space_skip(p);
    return RILL_OK;
}

static rill_status json_read(const struct call *c, struct resources *r, struct json *j)
{
    const struct builder *b = c->b;
    const uint8_t *bytes;
    size_t n;
    rill_status status =
        folder_read(b->folder, j->file, &r->arena, b->limits->text_bytes, &bytes, &n, b->err);
    if (status != RILL_OK)
        return err_prefix(b->err, status, "%s:%u:%u", c->s->file, c->e->pos.line, c->e->pos.column);
    j->text = (const char *) bytes;
    struct pass p = { .c = c, .file = j->file, .text = j->text };
    TRY(file_pass(&p));
    if (*p.at || strlen(j->text) != n)
        return pass_fail(&p, "the end of the file");
    if (!(p.places = arena_array(&r->arena, struct json_place, p.n)))
        return nnef_no_memory(c->b);
    j->places = p.places;
    return file_pass(&p);
}

rill_status json_open(const struct call *c, struct resources *r, const char *file,
                      struct json **ret)
{
    struct json *j = r->files;
    while (j && strcmp(j->file, file) != 0)
        j = j->next;
    if (!j) {
        j = arena_new(&r->arena, struct json);
        if (!j || !(j->file = arena_string(&r->arena, file)))
            return nnef_no_memory(c->b);
        TRY(json_read(c, r, j));
        j->next = r->files;
        r->files = j;
    }
    *ret = j;
    return RILL_OK;
}

/* ---- what is wanted ---- */

static bool text_is(const char *at, const char *key, size_t n)
{
    char letter[4];
    unsigned bytes;
    for (at++; *at != '"';) {
        at = letter_read(at, letter, &bytes);
        if (!bytes || bytes > n || memcmp(letter, key, bytes) != 0)
            return false;
        key += bytes;
        n -= bytes;
    }
    return !n;
}

/* Of several members of a name it is the last one. */
static bool member_find(const struct json *j, uint32_t *place, const char *key, size_t n)
{
    const uint32_t end = j->places[*place].next;
    bool found = false;
    if (j->text[j->places[*place].at] != '{')
        return false;
    for (uint32_t k = *place + 1; k < end; k = j->places[k + 1].next)
        if (text_is(j->text + j->places[k].at, key, n)) {
            *place = k + 1;
            found = true;
        }
    return found;
}

static bool element_find(const struct json *j, uint32_t *place, long element)
{
    const uint32_t end = j->places[*place].next;
    uint32_t k = *place + 1;
    if (j->text[j->places[*place].at] != '[')
        return false;
    while (k < end && element--)
        k = j->places[k].next;
    *place = k;
    return k < end;
}

bool json_find(const struct json *j, const char *key, uint32_t *ret_place)
{
    bool found = *key == '$';
    *ret_place = 0;
    for (const char *at = key + found; found && *at;) {
        const size_t n = strcspn(at + 1, ".[");
        char *end = NULL;
        found = false;
        if (*at == '.' && n) {
            found = member_find(j, ret_place, at + 1, n);
            at += 1 + n;
        } else if (*at == '[' && at[1] >= '0' && at[1] <= '9') {
            const long element = strtol(at + 1, &end, 10);
            found = *end == ']' && element_find(j, ret_place, element);
            at = end + 1;
        }
    }
    return found;
}

static rill_status text_take(const struct call *c, const struct json *j, const char *at,
                             struct val *ret)
{
    size_t n = 0;
    while (at[1 + n] != '"')
        n += at[1 + n] == '\\' ? 2 : 1;
    char *text = arena_alloc(c->b->arena, n + 1), *to = text;
    if (!text)
        return nnef_no_memory(c->b);
    for (const char *from = at + 1; *from != '"';) {
        char letter[4];
        unsigned bytes;
        const char *next = letter_read(from, letter, &bytes);
        if (!bytes)
            return call_fail(c, RILL_MALFORMED, "%s: '%.6s' is no letter of a text", j->file, from);
        memcpy(to, letter, bytes);
        to += bytes;
        from = next;
    }
    *to = 0;
    *ret = (struct val) { .kind = VAL_TEXT, .text = text };
    return RILL_OK;
}

static rill_status number_take(const struct call *c, const struct json *j, const char *at,
                               struct val *ret)
{
    const size_t n = strspn(at, "+-.0123456789eE");
    char *end;
    errno = 0;
    *ret = (struct val) { .kind = VAL_INT, .i = strtoll(at, &end, 10) };
    if (end == at + n && !errno)
        return RILL_OK;
    *ret = (struct val) { .kind = VAL_REAL, .real = strtod(at, &end) };
    return isfinite(ret->real)
        ? RILL_OK
        : call_fail(c, RILL_MALFORMED, "%s: %.20s is too large a number", j->file, at);
}

static rill_status value_take(const struct call *c, const struct json *j, uint32_t place,
                              struct val *ret);

static rill_status list_take(const struct call *c, const struct json *j, uint32_t place,
                             struct val *ret)
{
    struct builder *b = c->b;
    const uint32_t end = j->places[place].next;
    uint32_t n = 0;
    for (uint32_t k = place + 1; k < end; k = j->places[k].next)
        n++;
    b->literal_bytes += n * sizeof(struct val);
    if (b->literal_bytes > b->limits->literal_bytes)
        return call_fail(c, RILL_LIMIT, "values in the text of more than %llu bytes in all",
                         (unsigned long long) b->limits->literal_bytes);
    struct val *list = arena_array(b->arena, struct val, n + 1u);
    if (!list)
        return nnef_no_memory(b);
    *ret = (struct val) { .kind = VAL_LIST, .n = n, .list = list };
    for (uint32_t k = place + 1; k < end; k = j->places[k].next)
        TRY(value_take(c, j, k, list++));
    return RILL_OK;
}

static rill_status value_take(const struct call *c, const struct json *j, uint32_t place,
                              struct val *ret)
{
    const char *at = j->text + j->places[place].at;
    *ret = (struct val) { .kind = VAL_NONE };
    switch (*at) {
    case '"': return text_take(c, j, at, ret);
    case '[': return list_take(c, j, place, ret);
    case '{':
    case 'n': return RILL_OK;
    case 't':
    case 'f': *ret = (struct val) { .kind = VAL_BOOL, .i = *at == 't' }; return RILL_OK;
    default: return number_take(c, j, at, ret);
    }
}

rill_status json_take(const struct call *c, struct resources *r, struct json *j, uint32_t place,
                      struct val *ret)
{
    if (j->text[j->places[place].at] != '[')
        return value_take(c, j, place, ret);
    struct json_list *l = j->taken;
    while (l && l->place != place)
        l = l->next;
    if (!l) {
        if (!(l = arena_new(&r->arena, struct json_list)))
            return nnef_no_memory(c->b);
        *l = (struct json_list) { .place = place, .next = j->taken };
        TRY(list_take(c, j, place, &l->v));
        j->taken = l;
    }
    *ret = l->v;
    return RILL_OK;
}
