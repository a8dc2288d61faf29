/* SPDX-License-Identifier: MIT */
#include "kernels/bytes.h"

#include <stdbool.h>
#include <string.h>

/* ---- matrices turned, in blocks of 16 by 16 ---- */

typedef uint8_t line __attribute__((vector_size(16)));

/* Bytes of two lines in turn, of their first or their second halves. */
#define LOW(a, b)                                                                                  \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b)                                                                                 \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

#define PAIR(to, from, i)                                                                          \
    (to)[2 * (i)] = LOW((from)[i], (from)[(i) + 8]);                                               \
    (to)[2 * (i) + 1] = HIGH((from)[i], (from)[(i) + 8])

/* Takes the highest bit of a line's number to the lowest of a byte's; four such steps turn it all.
 */
#define STEP(to, from)                                                                             \
    PAIR(to, from, 0);                                                                             \
    PAIR(to, from, 1);                                                                             \
    PAIR(to, from, 2);                                                                             \
    PAIR(to, from, 3);                                                                             \
    PAIR(to, from, 4);                                                                             \
    PAIR(to, from, 5);                                                                             \
    PAIR(to, from, 6);                                                                             \
    PAIR(to, from, 7)

static inline void lines_turn(line a[16])
{
    line b[16];
    STEP(b, a);
    STEP(a, b);
    STEP(b, a);
    STEP(a, b);
}

/* n <= 16 */
static inline void some_move(uint8_t *restrict y, const uint8_t *restrict x, size_t n)
{
    size_t i = 0;
    if (n == 16) {
        memcpy(y, x, 16);
        return;
    }
    if (n & 8) {
        memcpy(y, x, 8);
        i = 8;
    }
    if (n & 4) {
        memcpy(y + i, x + i, 4);
        i += 4;
    }
    for (; i < n; i++)
        y[i] = x[i];
}

static inline void block_turn(uint8_t *restrict y, size_t ldy, const uint8_t *restrict x,
                              size_t ldx, size_t rows, size_t cols)
{
    line a[16] = { { 0 } };
    for (size_t r = 0; r < rows; r++)
        some_move((uint8_t *) &a[r], x + r * ldx, cols);
    lines_turn(a);
    for (size_t c = 0; c < cols; c++)
        some_move(y + c * ldy, (const uint8_t *) &a[c], rows);
}

static void whole_block_turn(uint8_t *restrict y, size_t ldy, const uint8_t *restrict x, size_t ldx)
{
    line a[16];
    for (size_t i = 0; i < 16; i++)
        memcpy(&a[i], x + i * ldx, 16);
    lines_turn(a);
    for (size_t i = 0; i < 16; i++)
        memcpy(y + i * ldy, &a[i], 16);
}

/* A last block ends where rows or columns end, if there are 16: some are turned twice. */
static size_t block_at(size_t at, size_t n)
{
    return n < 16 || at + 16 <= n ? at : n - 16;
}

void kern_bytes_turn(uint8_t *restrict y, size_t ldy, const uint8_t *restrict x, size_t ldx,
                     size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i += 16)
        for (size_t k = 0; k < cols; k += 16) {
            const size_t r = block_at(i, rows), c = block_at(k, cols);
            uint8_t *to = y + c * ldy + r;
            if (rows < 16 || cols < 16)
                block_turn(to, ldy, x + r * ldx + c, ldx, rows < 16 ? rows : 16,
                           cols < 16 ? cols : 16);
            else
                whole_block_turn(to, ldy, x + r * ldx + c, ldx);
        }
}

/* ---- floats ---- */

void kern_bytes_real(float *restrict y, const uint8_t *restrict x, size_t n,
                     const struct kern_quant *q)
{
    /* With its highest bit turned, s8 is u8 of a zero that is 128 more. */
    const uint8_t flip = q->least < 0 ? 0x80 : 0;
    const int32_t zero = q->zero + flip;
    const float scale = q->scale;
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (size_t l = 0; l < 16; l++)
            y[i + l] = (float) ((int32_t) (uint8_t) (x[i + l] ^ flip) - zero) * scale;
    for (; i < n; i++)
        y[i] = (float) ((int32_t) (uint8_t) (x[i] ^ flip) - zero) * scale;
}

/* ---- the greatest ---- */

static inline line line_load(const uint8_t *x)
{
    line ret;
    memcpy(&ret, x, sizeof ret);
    return ret;
}

typedef uint16_t pairs __attribute__((vector_size(16)));

/* Each second byte of two lines. */
static inline line lows(pairs a, pairs b)
{
    const line x = LOW((line) a, (line) b), y = HIGH((line) a, (line) b);
    const line to_8th = LOW(x, y), from_4th = HIGH(x, y);
    return LOW(LOW(to_8th, from_4th), HIGH(to_8th, from_4th));
}

/* Each second byte of 31. */
static inline line evens_load(const uint8_t *x)
{
    return lows((pairs) line_load(x), (pairs) line_load(x + 15) >> 8);
}

/* Each fourth of 61. */
static inline line fourths_load(const uint8_t *x)
{
    return lows((pairs) evens_load(x), (pairs) evens_load(x + 30) >> 8);
}

static inline void line_most(uint8_t *y, line x, line flip)
{
    const line to = line_load(y);
    const line more = (line) ((x ^ flip) > (to ^ flip)), most = (x & more) | (to & ~more);
    memcpy(y, &most, sizeof most);
}

void kern_bytes_most(uint8_t *restrict y, const uint8_t *restrict x, size_t n, size_t step,
                     uint8_t flip)
{
    const line by = flip - (line) { 0 };
    const bool vectors = n >= 16 && (step == 1 || step == 2 || step == 4);
    for (size_t k = 0; vectors && k < n; k += 16) {
        const size_t i = block_at(k, n);
        const uint8_t *from = x + i * step;
        line_most(y + i,
                  step == 1       ? line_load(from)
                      : step == 2 ? evens_load(from)
                                  : fourths_load(from),
                  by);
    }
    for (size_t i = 0; !vectors && i < n; i++)
        y[i] = (x[i * step] ^ flip) > (y[i] ^ flip) ? x[i * step] : y[i];
}

/* The greatest of so many lines, 16 bytes of each. */
static inline line column_most(const uint8_t *x, const struct kern_lines_most *m, line flip)
{
    line most = line_load(x) ^ flip;
    for (size_t l = 1; l < m->lines; l++) {
        const line a = line_load(x + l * m->line_step) ^ flip;
        for (size_t i = 0; i < sizeof most; i++)
            most[i] = a[i] > most[i] ? a[i] : most[i];
    }
    return most ^ flip;
}

void kern_bytes_lines_most(uint8_t *restrict y, const uint8_t *restrict x,
                           const struct kern_lines_most *m)
{
    const line flip = m->flip - (line) { 0 };
    for (size_t r = 0; r < m->rows; r++, y += m->n, x += m->row_step) {
        for (size_t k = 0; m->n >= 16 && k < m->n; k += 16) {
            const size_t i = block_at(k, m->n);
            const line most = column_most(x + i, m, flip);
            memcpy(y + i, &most, sizeof most);
        }
        if (m->n < 16)
            memcpy(y, x, m->n);
        for (size_t l = 1; l < m->lines && m->n < 16; l++)
            kern_bytes_most(y, x + l * m->line_step, m->n, 1, m->flip);
    }
}

/* ---- maps that are two lines ---- */

#define SLOPE_ONE 32768
#define SHIFT_MOST 4

/* Whole numbers that a slope may be, least .. most, none where most is less. */
struct slopes {
    int64_t least, most;
};

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Of those that take t to `to` where that is cut off at 0 and 255 and has `from` for t = 0. */
static void slopes_cut(struct slopes *s, int64_t t, int to, int from)
{
    const int64_t r = to - from, far = (int64_t) 1 << 40,
                  least = to == 0 ? -far : r * SLOPE_ONE - SLOPE_ONE / 2,
                  most = to == 255 ? far : r * SLOPE_ONE + SLOPE_ONE / 2 - 1,
                  low = t > 0 ? -divide_down(-least, t) : -divide_down(-most, t),
                  high = t > 0 ? divide_down(most, t) : divide_down(least, t);
    s->least = low > s->least ? low : s->least;
    s->most = high < s->most ? high : s->most;
}

/* y[x] as two lines that meet at `at`; places far from each other soon leave no slope. */
static bool lines_meet(struct kern_map_line *ret, const uint8_t *y, int at, unsigned shift)
{
    struct slopes s[2] = { { 0, INT16_MAX }, { 0, INT16_MAX } };
    for (unsigned i = 0; i < 256; i++) {
        const int x = i * 151 % 256, up = x > at;
        if (x != at)
            slopes_cut(&s[up], (int64_t) (x - at) * (1 << shift), y[x], y[at]);
        if (s[up].least > s[up].most)
            return false;
    }
    *ret = (struct kern_map_line) {
        .flip_x = ret->flip_x,
        .flip_y = ret->flip_y,
        .at = (int16_t) at,
        .to = y[at],
        .slope = { (int16_t) s[0].least, (int16_t) s[1].most },
        .shift = shift,
    };
    return s[0].least <= s[1].most;
}

bool kern_map_line_of(struct kern_map_line *ret, const uint8_t *table)
{
    for (unsigned flips = 0; flips < 4; flips++) {
        struct kern_map_line l = { .flip_x = flips & 1 ? 128 : 0, .flip_y = flips & 2 ? 128 : 0 };
        uint8_t y[256];
        bool rises = true;
        for (int x = 0; x < 256; x++) {
            y[x] = table[x ^ l.flip_x] ^ l.flip_y;
            rises = rises && (!x || y[x] >= y[x - 1]);
        }
        for (unsigned shift = 0; rises && shift <= SHIFT_MOST; shift++)
            for (int at = 0; at < 256; at++)
                if (lines_meet(&l, y, at, shift)) {
                    *ret = l;
                    return true;
                }
    }
    return false;
}
