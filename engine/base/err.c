/* SPDX-License-Identifier: MIT */
#include "engine/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes that a terminal would obey, for what files say stands in messages; C1 are of two bytes. */
static void controls_hide(char *text)
{
    for (unsigned char *at = (unsigned char *) text; *at; at++) {
        if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)
            *at++ = '?', *at = '?';
        else if (*at < ' ' || *at == 0x7f)
            *at = '?';
    }
}

rill_status err_set(rill_error *e, rill_status s, const char *fmt, ...)
{
    if (!e)
        return s;
    va_list ap;
    va_start(ap, fmt);
    e->status = s;
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    controls_hide(e->text);
    return s;
}

rill_status err_prefix(rill_error *e, rill_status s, const char *fmt, ...)
{
    if (!e)
        return s;
    char rest[sizeof e->text];
    memcpy(rest, e->text, sizeof rest);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    size_t at = n < 0 ? 0 : (size_t) n < sizeof rest ? (size_t) n : sizeof rest - 1;
    if (at + 2 < sizeof rest) {
        memcpy(e->text + at, ": ", 2);
        memcpy(e->text + at + 2, rest, sizeof rest - at - 2);
        e->text[sizeof rest - 1] = 0;
    }
    controls_hide(e->text);
    return s;
}
