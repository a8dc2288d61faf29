/* SPDX-License-Identifier: MIT */
/* Sums of 8-bit products in plain C: rows as u8, weights as s8, four terms at a time for each of 16
 * outputs. Every other vec_q8_*.h gives the same whole numbers. */
#include <stdint.h>
#include <string.h>

#define Q8_INLINE static __attribute__((unused))
#define Q8_TILE   static __attribute__((noinline))
#define Q8_ROWS_ARE_SIGNED 0
#define Q8_FIT(rows) (1)
#define Q8_ACC 4
#define Q8_ROWS 4

typedef struct { int32_t i[16]; } n16; /* 16 numbers */
typedef n16 d16;                       /* 16 sums under way */
typedef struct { uint8_t b[4]; } x4;   /* four terms of a row */
typedef const int8_t *w64;             /* their weights for 16 outputs */

Q8_INLINE x4 x4_load(const uint8_t *taken)
{
    x4 x;
    memcpy(&x, taken, sizeof x);
    return x;
}
Q8_INLINE w64 w64_load(const int8_t *w) { return w; }
Q8_INLINE d16 d16_zero(void) { return (d16) { { 0 } }; }
Q8_INLINE d16 d16_dot(d16 a, w64 w, x4 x)
{
    for (int l = 0; l < 16; l++, w += 4)
        a.i[l] = (int32_t) ((uint32_t) a.i[l] +
                            (uint32_t) (x.b[0] * w[0] + x.b[1] * w[1] + x.b[2] * w[2] + x.b[3] * w[3]));
    return a;
}
Q8_INLINE n16 d16_sums(d16 a, int32_t extra) { (void) extra; return a; }

Q8_INLINE n16 n16_load(const int32_t *p) { n16 a; memcpy(&a, p, sizeof a); return a; }
Q8_INLINE void n16_store(int32_t *p, n16 a) { memcpy(p, &a, sizeof a); }
Q8_INLINE n16 n16_add(n16 a, n16 b)
{
    for (int l = 0; l < 16; l++)
        a.i[l] = (int32_t) ((uint32_t) a.i[l] + (uint32_t) b.i[l]);
    return a;
}
/* Of the same value, rounded to nearest even, and its bits. */
Q8_INLINE n16 n16_floats(n16 a, float by)
{
    for (int l = 0; l < 16; l++) {
        float f = (float) a.i[l] * by;
        memcpy(&a.i[l], &f, sizeof f);
    }
    return a;
}
/* a - b * s */
Q8_INLINE n16 n16_less(n16 a, n16 b, int32_t s)
{
    for (int l = 0; l < 16; l++)
        a.i[l] = (int32_t) ((uint32_t) a.i[l] - (uint32_t) b.i[l] * (uint32_t) s);
    return a;
}
