/* SPDX-License-Identifier: MIT */
/* Four lanes, each a chain of steps that can be undone: add a word, multiply by an odd number,
 * turn. So no two values of a word lead to the same end, and the lanes do not wait for each
 * other. */
#include "engine/plan/file/planfile.h"

#include <string.h>

#define LANES 4
#define ODD 0x9e3779b97f4a7c15ull

static uint64_t word(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t step(uint64_t h, uint64_t v)
{
    h = (h + v) * ODD;
    return h << 29 | h >> 35;
}

/* Spreads every bit over all others. */
static uint64_t finish(uint64_t h)
{
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
    h = (h ^ h >> 29) * ODD;
    return h ^ h >> 32;
}

uint64_t planfile_hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t lane[LANES] = { 1, 2, 3, 4 }, h = n;
    size_t left = n;
    for (; left >= 8 * LANES; left -= 8 * LANES, p += 8 * LANES)
        for (int i = 0; i < LANES; i++)
            lane[i] = step(lane[i], word(p + 8 * i));
    for (; left >= 8; left -= 8, p += 8)
        lane[0] = step(lane[0], word(p));
    unsigned char rest[8] = { 0 };
    memcpy(rest, p, left);
    lane[1] = step(lane[1], word(rest));
    for (int i = 0; i < LANES; i++)
        h = step(h, finish(lane[i]));
    return finish(h);
}
