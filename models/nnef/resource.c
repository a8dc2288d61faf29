/* SPDX-License-Identifier: MIT */
/* Values out of JSON files beside a text (RFC 8259): tract_resource_get(label = "config", key =
 * "$.sizes.hidden[0]") reads config.json. */
#include "models/nnef/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct json {
    const struct call *c;
    const char *file, *at; /* at: up to a zero byte */
    unsigned depth;
};

static rill_status json_fail(const struct json *j, const char *expected)
{
    return call_fail(j->c, RILL_MALFORMED, "%s: expected %s before '%.20s'", j->file, expected,
                     j->at);
}

static void space_skip(struct json *j)
{
    j->at += strspn(j->at, " \t\r\n");
}

static bool take(struct json *j, const char *word)
{
    space_skip(j);
    const size_t n = strlen(word);
    const bool there = !strncmp(j->at, word, n);
    j->at += there ? n : 0;
    return there;
}

static rill_status text_take(struct json *j, const char **ret)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (!take(j, "\""))
        return json_fail(j, "a string");
    size_t n = 0;
    while (j->at[n] && j->at[n] != '"')
        n += j->at[n] == '\\' && j->at[n + 1] ? 2 : 1;
    char *text = arena_alloc(j->c->b->arena, n + 1), *to = text;
    if (!text)
        return nnef_no_memory(j->c->b);
    while (*j->at && *j->at != '"') {
        const char *escape = *j->at == '\\' && j->at[1] ? strchr(escapes, j->at[1]) : NULL;
        if (*j->at == '\\' && !escape)
            return json_fail(j, "a character, or one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t");
        *to++ = escape ? meant[escape - escapes] : *j->at;
        j->at += escape ? 2 : 1;
    }
    *to = 0;
    *ret = text;
    return take(j, "\"") ? RILL_OK : json_fail(j, "'\"'");
}

static rill_status value_take(struct json *j, struct val *ret);

static rill_status number_take(struct json *j, struct val *ret)
{
    const size_t n = strspn(j->at, "+-.0123456789eE");
    char *end;
    errno = 0;
    *ret = (struct val) { .kind = VAL_INT, .i = strtoll(j->at, &end, 10) };
    if (end != j->at + n || errno)
        *ret = (struct val) { .kind = VAL_REAL, .real = strtod(j->at, &end) };
    if (!n || end != j->at + n)
        return json_fail(j, "a value");
    j->at += n;
    return RILL_OK;
}

static rill_status list_take(struct json *j, struct val *ret)
{
    struct val *list = NULL;
    uint32_t n = 0, cap = 0;
    while (!take(j, "]")) {
        if (n && !take(j, ","))
            return json_fail(j, "',' or ']'");
        if (!(list = arena_grow(j->c->b->arena, list, n, &cap, sizeof *list)))
            return nnef_no_memory(j->c->b);
        TRY(value_take(j, &list[n]));
        n++;
    }
    *ret = (struct val) { .kind = VAL_LIST, .n = n, .list = list };
    return RILL_OK;
}

/* What stands in an object under that key, which may be NULL: j is at it; else behind all. */
static rill_status key_find(struct json *j, const char *key, size_t n, bool *ret_found)
{
    const char *name;
    struct val passed;
    *ret_found = false;
    for (unsigned i = 0; !take(j, "}"); i++) {
        if (i && !take(j, ","))
            return json_fail(j, "',' or '}'");
        TRY(text_take(j, &name));
        if (!take(j, ":"))
            return json_fail(j, "':'");
        *ret_found = key && strlen(name) == n && !strncmp(name, key, n);
        if (*ret_found)
            return RILL_OK;
        TRY(value_take(j, &passed));
    }
    return RILL_OK;
}

/* An object is no value: NONE. */
static rill_status value_take(struct json *j, struct val *ret)
{
    bool found;
    rill_status status;
    if (++j->depth > j->c->b->limits->depth)
        return call_fail(j->c, RILL_LIMIT, "%s: nested more than %u deep", j->file,
                         j->c->b->limits->depth);
    *ret = (struct val) { .kind = VAL_NONE };
    space_skip(j);
    if (*j->at == '"') {
        ret->kind = VAL_TEXT;
        status = text_take(j, &ret->text);
    } else if (take(j, "[")) {
        status = list_take(j, ret);
    } else if (take(j, "{")) {
        status = key_find(j, NULL, 0, &found);
    } else if (take(j, "true") || take(j, "false")) {
        *ret = (struct val) { .kind = VAL_BOOL, .i = j->at[-2] == 'u' };
        status = RILL_OK;
    } else {
        status = take(j, "null") ? RILL_OK : number_take(j, ret);
    }
    j->depth--;
    return status;
}

/* The element of a list. */
static rill_status place_find(struct json *j, long place, bool *ret_found)
{
    struct val passed;
    if (!take(j, "["))
        return RILL_OK;
    for (long i = 0; i < place; i++) {
        space_skip(j);
        if (*j->at == ']')
            return RILL_OK;
        TRY(value_take(j, &passed));
        if (!take(j, ","))
            return RILL_OK;
    }
    space_skip(j);
    *ret_found = *j->at != ']';
    return RILL_OK;
}

/* "$.name.name[3]" from the root on. */
static rill_status path_walk(struct json *j, const char *key, bool *ret_found)
{
    const char *at = key + (*key == '$');
    *ret_found = *key == '$';
    while (*ret_found && *at) {
        const size_t n = strcspn(at + 1, ".[");
        char *end = NULL;
        *ret_found = false;
        if (*at == '.' && n && take(j, "{")) {
            TRY(key_find(j, at + 1, n, ret_found));
            at += 1 + n;
        } else if (*at == '[' && at[1] >= '0' && at[1] <= '9') {
            const long place = strtol(at + 1, &end, 10);
            if (*end == ']')
                TRY(place_find(j, place, ret_found));
            at = end + (*end == ']');
        }
    }
    return RILL_OK;
}

rill_status build_resource_get(const struct call *c, struct val *ret)
{
    struct builder *b = c->b;
    struct arena data = { .limit_bytes = 0 };
    const char *label, *key;
    const uint8_t *bytes;
    size_t n;
    bool found = false;
    struct json j = { .c = c };
    TRY(arg_text(c, "label", &label));
    TRY(arg_text(c, "key", &key));
    if (!b->folder || !(j.file = arena_printf(b->arena, "%s%s.json", b->inside, label)))
        return call_fail(c, RILL_IO, "'%.80s': this text has no folder to read values from", label);
    rill_status status =
        folder_read(b->folder, j.file, &data, b->limits->text_bytes, &bytes, &n, b->err);
    if (status != RILL_OK)
        status =
            err_prefix(b->err, status, "%s:%u:%u", c->s->file, c->e->pos.line, c->e->pos.column);
    else if (!(j.at = arena_printf(b->arena, "%.*s", (int) n, (const char *) bytes)))
        status = nnef_no_memory(b);
    else
        status = path_walk(&j, key, &found);
    if (status == RILL_OK && found)
        status = value_take(&j, ret);
    arena_drop(&data);
    if (status == RILL_OK && (!found || ret->kind == VAL_NONE))
        status =
            call_fail(c, RILL_MALFORMED, "%s: '%.60s' is %s", j.file, key,
                      found ? "an object or null, expected a number, a string, true, false or "
                              "a list of such"
                            : "not there; a key is '$', then '.name' or '[place]' for each step");
    return status;
}
