/* SPDX-License-Identifier: MIT */
#include "daemon/base/text.h"

#include <stddef.h>
#include <stdint.h>

/* Length of a valid UTF-8 sequence, 0 if it is none. */
static size_t utf8_length(const unsigned char *s)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
    if (!n || s[0] > 0xf4)
        return 0;
    uint32_t v = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        v = v << 6 | (s[i] & 0x3f);
    }
    return v >= least[n] && v <= 0x10ffff && (v < 0xd800 || v > 0xdfff) ? n : 0;
}

bool text_valid(const char *s)
{
    size_t at = 0, n;
    for (; s[at]; at += n) {
        n = utf8_length((const unsigned char *) s + at);
        if (!n || at + n >= TEXT_BYTES)
            return false;
    }
    return true;
}

void text_clean(char *s)
{
    for (size_t n; *s; s += n) {
        n = utf8_length((const unsigned char *) s);
        if (!n)
            *s = '?';
        else if ((unsigned char) *s < ' ' || *s == 0x7f)
            *s = ' ';
        else if (*s == '"')
            *s = '\'';
        n += !n;
    }
}
