/* SPDX-License-Identifier: MIT */
#include "models/nnef/json.h"

#include <stdlib.h>
#include <string.h>

#define NESTED_MAX 65536 /* lists and objects of a file */

/* ---- files ---- */

static rill_status words_add(const struct call *c, rill_status status)
{
    return err_prefix(c->b->err, status, "%s:%u:%u", c->s->file, c->e->pos.line, c->e->pos.column);
}

/* Lists and objects: an empty one of two brackets takes 230 bytes of memory, and the library's
 * parser goes down as deep as they are in each other. */
struct nesting {
    unsigned n, deepest;
};

static struct nesting nesting_of(const char *text, size_t n)
{
    struct nesting x = { 0 };
    unsigned depth = 0;
    bool within = false; /* a string */
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"') {
            within = !within;
        } else if (within) {
            i += text[i] == '\\';
        } else if (text[i] == '[' || text[i] == '{') {
            x.n++;
            x.deepest = ++depth > x.deepest ? depth : x.deepest;
        } else if ((text[i] == ']' || text[i] == '}') && depth) {
            depth--;
        }
    }
    return x;
}

static rill_status text_parse(const struct call *c, struct json *j, const char *text, size_t n)
{
    const struct nesting x = nesting_of(text, n);
    const unsigned depth = c->b->limits->depth;
    json_error_t why;
    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        return call_fail(c, RILL_MALFORMED,
                         "%s: begins with a byte order mark, expected JSON in UTF-8 without one",
                         j->file);
    if (x.deepest > depth || x.n > NESTED_MAX)
        return call_fail(c, RILL_LIMIT, "%s: nested more than %u deep, or more than %d in all",
                         j->file, depth, NESTED_MAX);
    j->root = json_loadb(text, n, JSON_DECODE_ANY, &why);
    if (j->root)
        return RILL_OK;
    if (why.line < 0) /* memory is out: no place is at fault */
        return nnef_no_memory(c->b);
    return call_fail(c, RILL_MALFORMED, "%s:%d:%d: %s", j->file, why.line, why.column, why.text);
}

static rill_status json_read(const struct call *c, struct resources *r, struct json *j)
{
    const struct builder *b = c->b;
    struct arena text = { .limit_bytes = 0 }; /* not needed once it is read */
    const size_t most = b->limits->text_bytes;
    const uint8_t *bytes;
    size_t n;
    rill_status status = folder_read(b->folder, j->file, &text, most, &bytes, &n, b->err);
    if (status != RILL_OK) {
        words_add(c, status);
    } else if (n > most - r->bytes) {
        status =
            call_fail(c, RILL_LIMIT, "%s: JSON files of more than %zu bytes in all", j->file, most);
    } else {
        r->bytes += n;
        status = text_parse(c, j, (const char *) bytes, n);
    }
    arena_drop(&text);
    return status;
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

void resources_drop(struct resources *r)
{
    for (struct json *j = r->files; j; j = j->next)
        json_decref(j->root);
    arena_drop(&r->arena);
}

/* ---- what is wanted ---- */

const json_t *json_find(const struct json *j, const char *key)
{
    const json_t *x = *key == '$' ? j->root : NULL;
    for (const char *at = key + 1; x && *at;) {
        const size_t n = strcspn(at + 1, ".[");
        char *end = NULL;
        if (*at == '.' && n) {
            x = json_object_getn(x, at + 1, n);
            at += 1 + n;
        } else if (*at == '[' && at[1] >= '0' && at[1] <= '9') {
            const unsigned long element = strtoul(at + 1, &end, 10);
            x = *end == ']' ? json_array_get(x, element) : NULL;
            at = end + 1;
        } else {
            x = NULL;
        }
    }
    return x;
}

static rill_status text_take(const struct call *c, const json_t *at, struct val *ret)
{
    const char *text = arena_string(c->b->arena, json_string_value(at));
    if (!text)
        return nnef_no_memory(c->b);
    *ret = (struct val) { .kind = VAL_TEXT, .text = text };
    return RILL_OK;
}

static rill_status value_take(const struct call *c, const json_t *at, struct val *ret);

static rill_status list_take(const struct call *c, const json_t *at, struct val *ret)
{
    struct builder *b = c->b;
    const size_t n = json_array_size(at);
    b->literal_bytes += n * sizeof(struct val);
    if (b->literal_bytes > b->limits->literal_bytes)
        return call_fail(c, RILL_LIMIT, "values in the text of more than %llu bytes in all",
                         (unsigned long long) b->limits->literal_bytes);
    struct val *list = arena_array(b->arena, struct val, n + 1);
    if (!list)
        return nnef_no_memory(b);
    *ret = (struct val) { .kind = VAL_LIST, .n = (uint32_t) n, .list = list };
    for (size_t i = 0; i < n; i++)
        TRY(value_take(c, json_array_get(at, i), &list[i]));
    return RILL_OK;
}

static rill_status value_take(const struct call *c, const json_t *at, struct val *ret)
{
    *ret = (struct val) { .kind = VAL_NONE };
    switch (json_typeof(at)) {
    case JSON_STRING: return text_take(c, at, ret);
    case JSON_ARRAY: return list_take(c, at, ret);
    case JSON_INTEGER: *ret = (struct val) { .kind = VAL_INT, .i = json_integer_value(at) }; break;
    case JSON_REAL: *ret = (struct val) { .kind = VAL_REAL, .real = json_real_value(at) }; break;
    case JSON_TRUE:
    case JSON_FALSE: *ret = (struct val) { .kind = VAL_BOOL, .i = json_is_true(at) }; break;
    case JSON_OBJECT:
    case JSON_NULL: break;
    }
    return RILL_OK;
}

rill_status json_take(const struct call *c, struct resources *r, struct json *j, const json_t *at,
                      struct val *ret)
{
    if (!json_is_array(at))
        return value_take(c, at, ret);
    struct json_list *l = j->taken;
    while (l && l->of != at)
        l = l->next;
    if (!l) {
        if (!(l = arena_new(&r->arena, struct json_list)))
            return nnef_no_memory(c->b);
        *l = (struct json_list) { .of = at, .next = j->taken };
        TRY(list_take(c, at, &l->v));
        j->taken = l;
    }
    *ret = l->v;
    return RILL_OK;
}
