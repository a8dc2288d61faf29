/* SPDX-License-Identifier: MIT */
#include "models/recogniser/json.h"

#include <string.h>

struct scan {
    const char *at, *end;
};

static void blanks_skip(struct scan *s)
{
    while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
        s->at++;
}

/* Behind a string, of which *ret and *ret_n are what is between the quotes. */
static bool string_read(struct scan *s, const char **ret, size_t *ret_n)
{
    if (s->at == s->end || *s->at != '"')
        return false;
    *ret = ++s->at;
    while (s->at < s->end && *s->at != '"')
        s->at += *s->at == '\\' && s->at + 1 < s->end ? 2 : 1;
    if (s->at >= s->end)
        return false;
    *ret_n = (size_t) (s->at++ - *ret);
    return true;
}

/* Behind a value, of which only brackets and strings are looked at. */
static bool value_skip(struct scan *s)
{
    const char *text;
    size_t n, depth = 0;
    for (; s->at < s->end; s->at++) {
        const char c = *s->at;
        if (c == '"') {
            if (!string_read(s, &text, &n))
                return false;
            s->at--;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && depth) {
            depth--;
        } else if ((c == ',' || c == '}') && !depth) {
            return true;
        }
    }
    return false;
}

static bool whole_read(const struct scan *s, uint64_t *ret)
{
    const char *c = s->at;
    *ret = 0;
    while (c < s->end && *c >= '0' && *c <= '9' && *ret < UINT32_MAX)
        *ret = 10 * *ret + (uint64_t) (*c++ - '0');
    return c > s->at && c < s->end && strchr(", \t\r\n}", *c) && *ret < UINT32_MAX;
}

enum json_found json_whole(const char *text, size_t n, const char *key, uint32_t *ret)
{
    struct scan s = { text, text + n };
    const char *name;
    size_t name_n;
    uint64_t value;
    blanks_skip(&s);
    if (s.at == s.end || *s.at++ != '{')
        return JSON_MALFORMED;
    for (;;) {
        blanks_skip(&s);
        if (s.at < s.end && *s.at == '}')
            return JSON_MISSING;
        if (!string_read(&s, &name, &name_n))
            return JSON_MALFORMED;
        blanks_skip(&s);
        if (s.at == s.end || *s.at++ != ':')
            return JSON_MALFORMED;
        blanks_skip(&s);
        if (name_n == strlen(key) && !memcmp(name, key, name_n)) {
            if (!whole_read(&s, &value))
                return JSON_OTHER;
            *ret = (uint32_t) value;
            return JSON_THERE;
        }
        if (!value_skip(&s))
            return JSON_MALFORMED;
        s.at += *s.at == ',';
    }
}
