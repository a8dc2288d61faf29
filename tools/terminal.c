/* SPDX-License-Identifier: MIT */
#include "tools/terminal.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SIZE_MAX_SAID 10000

static unsigned size_of(unsigned told, const char *name, unsigned otherwise)
{
    const char *said = told ? NULL : getenv(name);
    long v = said ? strtol(said, NULL, 10) : 0;
    return told ? told : v > 0 && v <= SIZE_MAX_SAID ? (unsigned) v : otherwise;
}

void terminal_size(unsigned *ret_columns, unsigned *ret_lines)
{
    struct winsize w = { 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0)
        w = (struct winsize) { 0 };
    if (ret_columns)
        *ret_columns = size_of(w.ws_col, "COLUMNS", 80);
    if (ret_lines)
        *ret_lines = size_of(w.ws_row, "LINES", 24);
}

/* East Asian characters and pictures that take two columns. */
static unsigned width_of(uint32_t c)
{
    static const uint32_t wide[][2] = {
        { 0x1100, 0x115f },   { 0x2e80, 0xa4cf },   { 0xac00, 0xd7a3 },  { 0xf900, 0xfaff },
        { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },  { 0x1f300, 0x1f64f },
        { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd }
    };
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (c >= wide[i][0] && c <= wide[i][1])
            return 2;
    return 1;
}

/* Bytes of a character; a byte that begins none is one of its own. */
static size_t char_read(const char *text, unsigned *ret_width)
{
    const unsigned char *s = (const unsigned char *) text;
    size_t n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : *s >= 0xc0 ? 2 : 1;
    uint32_t c = n == 1 ? *s : *s & (0x7fu >> n);
    *ret_width = 1;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 1;
        c = c << 6 | (s[i] & 0x3f);
    }
    *ret_width = width_of(c);
    return n;
}

const char *terminal_tail(const char *text, unsigned columns)
{
    unsigned width;
    size_t all = 0;
    for (const char *at = text; *at; all += width)
        at += char_read(at, &width);
    for (; all > columns; all -= width)
        text += char_read(text, &width);
    return text;
}
