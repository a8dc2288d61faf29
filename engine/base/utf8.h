/* SPDX-License-Identifier: MIT */
/* utf8.h - characters of text. */
#ifndef RILL_ENGINE_BASE_UTF8_H
#define RILL_ENGINE_BASE_UTF8_H
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at text, of which n are there; 0 where it is none. Where text ends in
 * a zero byte, n may be 4. */
static inline size_t utf8_length(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *) text;
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {
        { 0x80, 0x00, 0 },
        { 0xe0, 0xc0, 0x80 },
        { 0xf0, 0xe0, 0x800 },
        { 0xf8, 0xf0, 0x10000 },
    };
    for (size_t k = 0; k < 4 && k < n; k++) {
        if ((s[0] & forms[k].mask) != forms[k].lead)
            continue;
        uint32_t c = s[0] & (unsigned char) ~forms[k].mask;
        for (size_t i = 1; i <= k; i++) {
            if ((s[i] & 0xc0) != 0x80)
                return 0;
            c = c << 6 | (s[i] & 0x3fu);
        }
        return c < forms[k].least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : k + 1;
    }
    return 0;
}
#endif
