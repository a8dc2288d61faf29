/* SPDX-License-Identifier: MIT */
/* v16: sixteen floats in plain C, the reference that every other vec_*.h matches bit for bit. */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Unrolling and inlining pay only where a v16 is a register: a lane of fmaf costs more than the
 * call. */
#define V16_UNROLL
#define V16_UNROLLED static __attribute__((noinline))
#define CALLED       static __attribute__((noinline, unused))
#define V16_FMA_CALLS 1 /* a function for each lane */

typedef struct { float f[16]; } v16;
typedef struct { int32_t i[16]; } i16;
typedef struct { uint8_t b[16]; } m16;      /* lane masks */

#define LANES(r, field, expr) do { for (int l = 0; l < 16; l++) (r).field[l] = (expr); } while (0)

static inline v16 v16_set1(float a) { v16 r; LANES(r, f, a); return r; }
static inline v16 v16_load(const float *p) { v16 r; memcpy(&r, p, sizeof r); return r; }
static inline void v16_store(float *p, v16 a) { memcpy(p, &a, sizeof a); }
static inline v16 v16_load_n(const float *p, size_t n)
{
    v16 r = v16_set1(0);
    memcpy(&r, p, n * 4);
    return r;
}
static inline void v16_store_n(float *p, v16 a, size_t n) { memcpy(p, &a, n * 4); }
static inline v16 v16_add(v16 a, v16 b) { LANES(a, f, a.f[l] + b.f[l]); return a; }
static inline v16 v16_sub(v16 a, v16 b) { LANES(a, f, a.f[l] - b.f[l]); return a; }
static inline v16 v16_mul(v16 a, v16 b) { LANES(a, f, a.f[l] * b.f[l]); return a; }
static inline v16 v16_div(v16 a, v16 b) { LANES(a, f, a.f[l] / b.f[l]); return a; }
CALLED v16 v16_fma(v16 a, v16 b, v16 c) { LANES(c, f, fmaf(a.f[l], b.f[l], c.f[l])); return c; }
CALLED v16 v16_sqrt(v16 a) { LANES(a, f, sqrtf(a.f[l])); return a; }
/* the second operand where either is NaN, as the x86 instructions do */
static inline v16 v16_min(v16 a, v16 b)
{
    LANES(a, f, a.f[l] < b.f[l] ? a.f[l] : b.f[l]);
    return a;
}
static inline v16 v16_max(v16 a, v16 b)
{
    LANES(a, f, a.f[l] > b.f[l] ? a.f[l] : b.f[l]);
    return a;
}
CALLED m16 v16_lt(v16 a, v16 b) { m16 r; LANES(r, b, a.f[l] < b.f[l]); return r; }
CALLED m16 v16_nan(v16 a) { m16 r; LANES(r, b, a.f[l] != a.f[l]); return r; }
CALLED v16 v16_pick(m16 m, v16 yes, v16 no)
{
    LANES(no, f, m.b[l] ? yes.f[l] : no.f[l]);
    return no;
}
static inline i16 v16_bits(v16 a) { i16 r; memcpy(&r, &a, sizeof r); return r; }
static inline v16 v16_of_bits(i16 a) { v16 r; memcpy(&r, &a, sizeof r); return r; }
/* nearest even; |a| < 2^31 */
CALLED i16 v16_round(v16 a) { i16 r; LANES(r, i, (int32_t) lrintf(a.f[l])); return r; }
/* halves away from zero, by the float below a half; |a| < 2^22 */
CALLED i16 v16_round_away(v16 a)
{
    i16 r;
    LANES(r, i, (int32_t) (a.f[l] + copysignf(0x1.fffffep-2f, a.f[l])));
    return r;
}
CALLED v16 v16_of_int(i16 a) { v16 r; LANES(r, f, (float) a.i[l]); return r; }
CALLED i16 i16_set1(int32_t a) { i16 r; LANES(r, i, a); return r; }
CALLED i16 i16_add(i16 a, i16 b)
{
    LANES(a, i, (int32_t) ((uint32_t) a.i[l] + (uint32_t) b.i[l]));
    return a;
}
CALLED i16 i16_sub(i16 a, i16 b)
{
    LANES(a, i, (int32_t) ((uint32_t) a.i[l] - (uint32_t) b.i[l]));
    return a;
}
CALLED i16 i16_mul(i16 a, i16 b)
{
    LANES(a, i, (int32_t) ((uint32_t) a.i[l] * (uint32_t) b.i[l]));
    return a;
}
CALLED i16 i16_and(i16 a, i16 b) { LANES(a, i, a.i[l] & b.i[l]); return a; }
CALLED i16 i16_or(i16 a, i16 b) { LANES(a, i, a.i[l] | b.i[l]); return a; }
CALLED i16 i16_shl23(i16 a) { LANES(a, i, (int32_t) ((uint32_t) a.i[l] << 23)); return a; }
CALLED i16 i16_shl16(i16 a) { LANES(a, i, (int32_t) ((uint32_t) a.i[l] << 16)); return a; }
CALLED i16 i16_shr23(i16 a) { LANES(a, i, a.i[l] >> 23); return a; }
static inline float f16_widened(uint16_t h)
{
    const uint32_t size = h & 0x7fff, sign = (uint32_t) (h & 0x8000) << 16;
    float a = (float) size * 0x1p-24f; /* of one that is subnormal, which no f32 here may be */
    uint32_t bits = (size << 13) + ((uint32_t) (size < 0x7c00 ? 127 - 15 : 255 - 31) << 23);
    if (size < 0x400)
        memcpy(&bits, &a, sizeof bits);
    bits |= sign;
    memcpy(&a, &bits, sizeof a);
    return a;
}
CALLED v16 v16_load_f16(const uint16_t *p) { v16 r; LANES(r, f, f16_widened(p[l])); return r; }
CALLED i16 i16_shr4(i16 a) { LANES(a, i, (int32_t) ((uint32_t) a.i[l] >> 4)); return a; }
/* Low bytes of the lanes, and bytes as lanes. */
CALLED void i16_store_bytes(uint8_t *p, i16 a)
{
    for (int l = 0; l < 16; l++)
        p[l] = (uint8_t) a.i[l];
}
CALLED i16 i16_load_u8(const uint8_t *p) { i16 r; LANES(r, i, p[l]); return r; }
CALLED i16 i16_load_s8(const uint8_t *p) { i16 r; LANES(r, i, (int8_t) p[l]); return r; }
CALLED i16 i16_load(const int32_t *p) { i16 r; memcpy(&r, p, sizeof r); return r; }
CALLED i16 i16_load_s16(const int16_t *p) { i16 r; LANES(r, i, p[l]); return r; }
CALLED void i16_store(int32_t *p, i16 a) { memcpy(p, &a, sizeof a); }
/* Low halves of the lanes. */
CALLED void i16_store_s16(int16_t *p, i16 a)
{
    for (int l = 0; l < 16; l++)
        p[l] = (int16_t) a.i[l];
}
/* Two weights for each lane, and what their products with two numbers add. */
typedef struct { int16_t b[32]; } w2;
CALLED w2 w2_load_s16(const int16_t *p) { w2 r; memcpy(&r, p, sizeof r); return r; }
CALLED i16 i16_add_pairs(i16 a, w2 w, const int16_t *x)
{
    LANES(a, i, (int32_t) ((uint32_t) a.i[l] + (uint32_t) (w.b[2 * l] * x[0]) + (uint32_t) (w.b[2 * l + 1] * x[1])));
    return a;
}
/* The same of bytes (struct kern_cell_sums). */
#define BYTES_PANELS 1
typedef w2 w8;
typedef i16 b16;
CALLED b16 b16_zero(void) { b16 r = { { 0 } }; return r; }
CALLED w8 w8_load(const int8_t *p, int whole)
{
    w8 r;
    (void) whole;
    for (int i = 0; i < 32; i++)
        r.b[i] = i < 16 ? (uint8_t) p[i / 2 * 4 + i % 2 * 2] : p[i / 2 % 8 * 4 + i % 2 * 2 + 1];
    return r;
}
CALLED b16 b16_add_pairs(b16 a, w8 w, const int16_t *x, int whole) { (void) whole; return i16_add_pairs(a, w, x); }
CALLED void b16_store(int32_t *p, int apart, b16 a, int whole) { (void) apart, (void) whole; i16_store(p, a); }
/* Of 16 channels: sums of two places' bytes, after `flip`, by weights in pairs. */
CALLED i16 pair_add(i16 sum, const uint8_t *a, const uint8_t *b, const int16_t *w, uint8_t flip)
{
    for (int l = 0; l < 16; l++) {
        const int32_t both = (a[l] ^ flip) * w[2 * l] + (b[l] ^ flip) * w[2 * l + 1];
        sum.i[l] = (int32_t) ((uint32_t) sum.i[l] + (uint32_t) both);
    }
    return sum;
}
/* Four taps of 16 places (struct kern_taps): what the set wants to know of all lines, and a line. */
#define TAPS_VECS 1
typedef struct { size_t step; uint8_t flip; } t4;
CALLED t4 taps_pattern(size_t step, uint8_t flip) { return (t4) { step, flip }; }
CALLED i16 taps_add(i16 a, const uint8_t *x, const int16_t *w, t4 p)
{
    for (int t = 0; t < 4; t++, x += p.step)
        LANES(a, i, (int32_t) ((uint32_t) a.i[l] + (uint32_t) ((x[l] ^ p.flip) * w[t])));
    return a;
}
/* Bytes of four lines, place by place, as s8 after `flip`; sums grow by those of each place. */
CALLED i16 lines_weave(int8_t *to, const uint8_t *const *line, uint8_t flip, i16 sums)
{
    for (int l = 0; l < 16; l++)
        for (int i = 0; i < 4; i++) {
            to[4 * l + i] = (int8_t) (line[i][l] ^ flip);
            sums.i[l] += to[4 * l + i];
        }
    return sums;
}
/* A tile of a product: panels of 16 outputs that fit in registers beside so many rows (0: none),
 * their product at most GEMM_ACC; rows of a tile when there are many, and when there are few
 * panels. */
#define GEMM_FIT(rows) (1)
#define GEMM_ACC 8
#define GEMM_ROWS 8
#define GEMM_ROWS_FEW 8

/* Sums of recurrent cells that are under way in registers. */
#define CELL_ACC 8

/* A tile of a convolution: outputs, and vectors of places. */
#define CONV_OUTS 4
#define CONV_VECS 1

/* Lanes whose bit is not set are zero, and not read. */
CALLED v16 v16_load_mask(const float *p, uint32_t mask)
{
    v16 r;
    LANES(r, f, mask >> l & 1 ? p[l] : 0);
    return r;
}
/* p[0], p[2], .. p[30]; bits count places of p */
CALLED v16 v16_load_even(const float *p, uint32_t mask)
{
    v16 r;
    LANES(r, f, mask >> 2 * l & 1 ? p[2 * l] : 0);
    return r;
}
/* Lanes 0, 2, .. 14 of a, then of b; lanes 1, 3, .. 15. */
CALLED void v16_unzip(v16 a, v16 b, v16 *ret_even, v16 *ret_odd)
{
    LANES(*ret_even, f, l < 8 ? a.f[2 * l] : b.f[2 * l - 16]);
    LANES(*ret_odd, f, l < 8 ? a.f[2 * l + 1] : b.f[2 * l - 15]);
}
/* a * b + c where the bit of a lane is set, else c. */
CALLED v16 v16_fma_some(v16 a, v16 b, v16 c, uint32_t mask)
{
    LANES(c, f, mask >> l & 1 ? fmaf(a.f[l], b.f[l], c.f[l]) : c.f[l]);
    return c;
}
/* a where b is not more, b where it is or is NaN. */
static inline v16 v16_most(v16 a, v16 b)
{
    LANES(a, f, b.f[l] > a.f[l] || b.f[l] != b.f[l] ? b.f[l] : a.f[l]);
    return a;
}
#undef LANES
#undef CALLED
