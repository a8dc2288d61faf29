/* SPDX-License-Identifier: MIT */
/* Kernels of bytes beside products of 8 bits against their contracts (kernels/bytes.h), written
 * out. */
#include "tests/kern/check_q8.h"

#include "kernels/bytes.h"
#include "kernels/fixed.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- sums of places, and sums to bytes ---- */

static void places_check(struct check *t, size_t n, size_t n_pairs, unsigned variant)
{
    const bool low = variant & 2, same = variant & 4;
    const size_t windows = 1 + variant / 8 % 3, step = variant / 32 % 50,
                 n_x = 2 * step + 3 * n + n_pairs;
    struct kern_places p = {
        variant & 1 ? 0x80 : 0, n, n_pairs, NULL, NULL, same ? 0 : 2 * n, NULL
    };
    size_t at[32];
    int16_t *w = check_bytes(t, 2 * n * (same ? 1 : n_pairs) * sizeof *w, low);
    int32_t *bias = (int32_t *) (void *) check_buf(t, n, low),
            *y = (int32_t *) (void *) check_buf(t, n * windows, low), want[300];
    uint8_t *x = check_bytes(t, n_x, low);
    for (size_t i = 0; i < n_x; i++)
        x[i] = byte_rand(t, i % 3 ? 0 : EXTREME);
    for (size_t i = 0; i < 2 * n * (same ? 1 : n_pairs); i++)
        w[i] = (int16_t) (i % 5 ? (int32_t) (check_bits(t) % 511) - 255 : i % 2 ? 255 : -255);
    for (size_t i = 0; i < 2 * n_pairs; i++)
        at[i] = i ? check_bits(t) % (n_x - n - (windows - 1) * step + 1)
                  : n_x - n - (windows - 1) * step; /* up to the end of x */
    for (size_t i = 0; i < n * windows; i++) {
        const size_t o = i % n;
        bias[o] = i < n ? (int32_t) (check_bits(t) << 8) : bias[o];
        uint32_t s = (uint32_t) bias[o];
        for (size_t k = 0; k < 2 * n_pairs; k++)
            s += (uint32_t) ((x[i / n * step + at[k] + o] ^ p.flip) *
                             w[k / 2 * p.w_step + 2 * o + k % 2]);
        want[i] = (int32_t) s;
    }
    p.at = at;
    p.w = w;
    p.bias = bias;
    t->new.places_sum(y, x, step, windows, &p);
    check_ints(t, "places_sum", want, y, n * windows, "n %zu pairs %zu variant %u", n, n_pairs,
               variant);
    check_drop(t);
}

static void places_max_check(struct check *t, size_t n, size_t n_places, unsigned variant)
{
    const bool low = variant & 2;
    const uint8_t flip = variant & 1 ? 0x80 : 0;
    size_t at[32];
    int32_t got[100], want[100];
    uint8_t *x = check_bytes(t, n + 20, low), *y = check_bytes(t, n, low);
    for (size_t i = 0; i < n + 20; i++)
        x[i] = byte_rand(t, i % 3 ? 0 : EXTREME);
    for (size_t i = 0; i < n_places; i++)
        at[i] = check_bits(t) % 21;
    t->new.places_max(y, x, at, n_places, n, flip);
    for (size_t o = 0; o < n; o++) {
        got[o] = number(y[o], flip);
        want[o] = -256;
        for (size_t i = 0; i < n_places; i++)
            want[o] = number(x[at[i] + o], flip) > want[o] ? number(x[at[i] + o], flip) : want[o];
    }
    check_ints(t, "places_max", want, got, n, "n %zu places %zu variant %u", n, n_places, variant);
    check_drop(t);
}

/* Sums of any size, and those about halves. */
static int32_t sum_rand(struct check *t, int shift)
{
    uint32_t r = check_bits(t) << 8 ^ check_bits(t);
    switch (r % 4) {
    case 0: return (const int32_t[]) { INT32_MIN, INT32_MAX, 0, -1 }[r / 4 % 4];
    case 1: return (int32_t) r;
    default:
        return ((int32_t) (r % 2001) - 1000) * (1 << (shift < 0 && shift > -20 ? -shift : 0)) / 2;
    }
}

static void requantize_check(struct check *t, size_t n, unsigned variant)
{
    const bool low = variant & 1, is_signed = variant & 2, once = variant & 4;
    int32_t *x = (int32_t *) (void *) check_buf(t, n, low),
            *by = (int32_t *) (void *) check_buf(t, n, low),
            *shift = (int32_t *) (void *) check_buf(t, n, low), got[100], want[100];
    uint8_t *y = check_bytes(t, n, low);
    struct kern_requant q = {
        by,  shift, number(byte_rand(t, 0), is_signed), is_signed ? -128 : 0, is_signed ? 127 : 255,
        once
    };
    q.low += variant & 8 ? 17 : 0;
    for (size_t i = 0; i < n; i++) {
        shift[i] =
            variant & 16 ? -(int32_t) (check_bits(t) % 14) : (int32_t) (check_bits(t) % 62) - 31;
        by[i] = i % 3 ? (int32_t) (1u << 30 | check_bits(t) << 6) : 1 << 30;
        x[i] = sum_rand(t, shift[i]);
        int32_t v =
            once ? fixed_scale_once(x[i], by[i], shift[i]) : fixed_scale(x[i], by[i], shift[i]);
        want[i] = fixed_clip((int32_t) ((uint32_t) v + (uint32_t) q.zero), q.low, q.high);
    }
    t->new.requantize(y, x, n, &q);
    for (size_t i = 0; i < n; i++)
        got[i] = number(y[i], is_signed);
    check_ints(t, "requantize", want, got, n, "n %zu variant %u", n, variant);
    check_drop(t);
}

/* ---- places side by side ---- */

static void taps_check(struct check *t, size_t n, size_t n_lines, unsigned variant)
{
    const bool low = variant & 1;
    const uint8_t flip = variant & 2 ? 0x80 : 0;
    const size_t all = (n + 15) / 16 * 16, span = all + 40, n_x = span + 12 + KERN_TAPS_BEHIND;
    struct kern_taps_line line[12];
    struct kern_taps taps = { flip, 1 + variant % 4, n_lines, (int32_t) check_bits(t), line };
    uint8_t *x = check_bytes(t, n_x, low);
    int32_t *y = (int32_t *) (void *) check_buf(t, all, low), want[112];
    for (size_t i = 0; i < n_x; i++)
        x[i] = byte_rand(t, i % 3 ? 0 : EXTREME);
    for (size_t l = 0; l < n_lines; l++) {
        line[l].at = check_bits(t) % 41;
        for (unsigned k = 0; k < 4; k++)
            line[l].w[k] = (int16_t) (variant & 4 ? (k % 2 ? 255 : -255)
                                                  : (int32_t) (check_bits(t) % 511) - 255);
    }
    for (size_t i = 0; i < all; i++) {
        uint32_t s = (uint32_t) taps.bias;
        for (size_t l = 0; l < n_lines; l++)
            for (size_t k = 0; k < 4; k++)
                s += (uint32_t) ((x[line[l].at + k * taps.step + i] ^ flip) * line[l].w[k]);
        want[i] = (int32_t) s;
    }
    t->new.taps_sum(y, x, n, &taps);
    check_ints(t, "taps_sum", want, y, all, "n %zu lines %zu variant %u", n, n_lines, variant);
    check_drop(t);
}

static void scale_check(struct check *t, size_t n, unsigned variant)
{
    const bool low = variant & 1, is_signed = variant & 2, each = variant & 4;
    int32_t *x = (int32_t *) (void *) check_buf(t, n, low),
            *bias = (int32_t *) (void *) check_buf(t, each ? n : 1, low), got[100], want[100];
    float *by = check_buf(t, each ? n : 1, low), *add = check_buf(t, each ? n : 1, low);
    uint8_t *y = check_bytes(t, n, low);
    struct kern_scale s = { variant & 8 ? bias : NULL,
                            by,
                            variant & 16 ? add : NULL,
                            each,
                            number(byte_rand(t, 0), is_signed),
                            is_signed ? -128 : 0,
                            is_signed ? 127 : 255,
                            variant & 64 ? 0.25f : 0 };
    s.low += variant & 32 ? 17 : 0;
    for (size_t i = 0; i < (each ? n : 1); i++) {
        bias[i] = (int32_t) (check_bits(t) % 2001) - 1000;
        by[i] = i % 3 ? (float) (check_bits(t) % 1000) * 1e-4f : 0.5f; /* halves, too */
        add[i] = (float) (int) (check_bits(t) % 512) * 0.25f - 64;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = each ? i : 0;
        x[i] = sum_rand(t, 0);
        int32_t sum = (int32_t) ((uint32_t) x[i] + (uint32_t) (s.bias ? bias[at] : 0));
        float v = (float) sum * by[at];
        v = s.add ? v + add[at] : v;
        v = rintf(v < 0 && s.leaky > 0 ? v * s.leaky : v) + (float) s.zero;
        want[i] = v > (float) s.high ? s.high : v < (float) s.low ? s.low : (int32_t) v;
    }
    t->new.scale_bytes(y, x, n, &s);
    for (size_t i = 0; i < n; i++)
        got[i] = number(y[i], is_signed);
    check_ints(t, "scale_bytes", want, got, n, "n %zu variant %u", n, variant);
    check_drop(t);
}

/* In place. */
static void map_check(struct check *t, size_t n, unsigned variant)
{
    const bool low = variant & 1;
    uint8_t *x = check_bytes(t, n, low), *table = check_bytes(t, 256, low);
    int32_t want[300], got[300];
    for (size_t i = 0; i < 256; i++)
        table[i] = byte_rand(t, 0);
    for (size_t i = 0; i < n; i++) {
        x[i] = byte_rand(t, i % 3 ? 0 : EXTREME);
        want[i] = table[x[i]];
    }
    t->new.map_bytes(x, x, n, table, NULL);
    for (size_t i = 0; i < n; i++)
        got[i] = x[i];
    check_ints(t, "map_bytes", want, got, n, "n %zu variant %u", n, variant);
    check_drop(t);
}

/* A Relu or LeakyRelu between two scales, and a change of scale alone: as lines and as tables. */
static bool map_line_check(struct check *t, size_t n, unsigned variant)
{
    const unsigned x_flip = variant & 1 ? 128 : 0, y_flip = variant & 2 ? 128 : 0;
    const float up = 0.2f + fabsf(check_rand(t)) * 2, down = up * (float) (variant % 5) / 4;
    const int from = (int) (check_bits(t) >> 8 & 255), to = (int) (check_bits(t) >> 8 & 255);
    uint8_t *x = check_bytes(t, n, variant & 4), *table = check_bytes(t, 256, variant & 4);
    int32_t want[300], got[300];
    struct kern_map_line line;
    for (int i = 0; i < 256; i++) {
        const float v = rintf((float) (i - from) * (i < from ? down : up)) + (float) to;
        table[(unsigned) i ^ x_flip] = (uint8_t) ((unsigned) (v < 0         ? 0
                                                                  : v > 255 ? 255
                                                                            : v) ^
                                                  y_flip);
    }
    const bool is = kern_map_line_of(&line, table);
    for (size_t i = 0; i < n; i++) {
        x[i] = byte_rand(t, i % 3 ? 0 : EXTREME);
        want[i] = table[x[i]];
    }
    t->new.map_bytes(x, x, n, table, is ? &line : NULL);
    for (size_t i = 0; i < n; i++)
        got[i] = x[i];
    check_ints(t, "map_bytes", want, got, n, "n %zu variant %u, up %a down %a, %s", n, variant,
               (double) up, (double) down, is ? "two lines" : "a table");
    check_drop(t);
    return is;
}

/* What lies between the rows stays. */
static void turn_check(struct check *t, size_t rows, size_t cols, unsigned variant)
{
    const bool low = variant & 1;
    const size_t ldx = cols + variant % 5, ldy = rows + variant % 3, n = (cols - 1) * ldy + rows;
    uint8_t *x = check_bytes(t, (rows - 1) * ldx + cols, low), *y = check_bytes(t, n, low);
    int32_t want[60 * 64], got[60 * 64];
    for (size_t i = 0; i < (rows - 1) * ldx + cols; i++)
        x[i] = byte_rand(t, 0);
    for (size_t i = 0; i < n; i++)
        want[i] = y[i] = (uint8_t) i;
    for (size_t i = 0; i < rows * cols; i++)
        want[i % cols * ldy + i / cols] = x[i / cols * ldx + i % cols];
    kern_bytes_turn(y, ldy, x, ldx, rows, cols);
    for (size_t i = 0; i < n; i++)
        got[i] = y[i];
    check_ints(t, "kern_bytes_turn", want, got, n, "rows %zu cols %zu variant %u", rows, cols,
               variant);
    check_drop(t);
}

/* The bits of the floats. */
static void dequantize_check(struct check *t, size_t n, unsigned variant)
{
    const bool low = variant & 1, is_signed = variant & 2;
    const struct kern_quant q = { 1.5f + check_rand(t),
                                  (int32_t) (check_bits(t) % 256) - (is_signed ? 128 : 0),
                                  is_signed ? -128 : 0, is_signed ? 127 : 255 };
    uint8_t *x = check_bytes(t, n, low);
    float *y = check_buf(t, n, low), want[300];
    int32_t a[300], b[300];
    for (size_t i = 0; i < n; i++) {
        x[i] = byte_rand(t, i % 3 ? 0 : EXTREME);
        want[i] = (float) (number(x[i], is_signed) - q.zero) * q.scale;
    }
    kern_bytes_real(y, x, n, &q);
    memcpy(a, want, n * sizeof *a);
    memcpy(b, y, n * sizeof *b);
    check_ints(t, "kern_bytes_real", a, b, n, "n %zu variant %u", n, variant);
    check_drop(t);
}

/* Each step-th number; behind the last one nothing may be read. */
static void most_check(struct check *t, size_t n, size_t step, unsigned variant)
{
    const bool low = variant & 1, is_signed = variant & 2;
    const size_t all = n ? (n - 1) * step + 1 : 0;
    uint8_t *x = check_bytes(t, all, low), *y = check_bytes(t, n, low);
    int32_t want[300], got[300];
    for (size_t i = 0; i < all; i++)
        x[i] = byte_rand(t, i % 3 ? 0 : EXTREME);
    for (size_t i = 0; i < n; i++) {
        y[i] = byte_rand(t, i % 3 ? 0 : EXTREME);
        want[i] = number(x[i * step], is_signed);
        want[i] = want[i] > number(y[i], is_signed) ? want[i] : number(y[i], is_signed);
    }
    kern_bytes_most(y, x, n, step, is_signed ? 0x80 : 0);
    for (size_t i = 0; i < n; i++)
        got[i] = number(y[i], is_signed);
    check_ints(t, "kern_bytes_most", want, got, n, "n %zu step %zu variant %u", n, step, variant);
    check_drop(t);
}

/* Against the packing of the same numbers as weights. */
static void places_pack_check(struct check *t, size_t n, size_t k, unsigned variant)
{
    const bool low = variant & 1, is_signed = variant & 2;
    size_t at[70], panels = (n + 15) / 16 * 16, bytes = panels * ((k + 3) / 4 * 4);
    uint8_t *x = check_bytes(t, n + 100, low), *w = check_bytes(t, n * k + 1, low);
    int8_t *got = check_bytes(t, bytes, low);
    int32_t *sums = (int32_t *) (void *) check_buf(t, panels, low), a[112 * 72], b[112 * 72];
    for (size_t i = 0; i < n + 100; i++)
        x[i] = byte_rand(t, i % 3 ? 0 : EXTREME);
    for (size_t i = 0; i < k; i++) {
        at[i] = check_bits(t) % 101; /* up to the end of x */
        for (size_t o = 0; o < n; o++)
            w[i * n + o] = x[at[i] + o];
    }
    struct kern_q8_w from = {
        .w = w, .is_signed = is_signed, .n = n, .k = k, .stride_o = 1, .stride_k = n
    };
    void *packed = check_bytes(t, kern_q8_bytes(n, k, false), false);
    kern_q8_pack(packed, &from);
    const struct kern_q8 q = kern_q8_open(packed, n, k);
    t->new.places_pack(got, sums, x, at, k, n, is_signed ? 0 : 0x80);
    for (size_t i = 0; i < bytes; i++) { /* those of places that do not exist are anything */
        const bool is = i / ((k + 3) / 4 * 64) * 16 + i % 64 / 4 < n;
        a[i] = is ? q.w[i] : 0;
        b[i] = is ? got[i] : 0;
    }
    check_ints(t, "places_pack", a, b, bytes, "n %zu k %zu variant %u", n, k, variant);
    check_ints(t, "places_pack", q.sums, sums, n, "sums, n %zu k %zu variant %u", n, k, variant);
    check_drop(t);
}

void check_bytes_sums(struct check *t)
{
    int32_t lines = 0;
    for (unsigned i = 0; i < 300; i++) {
        taps_check(t, 1 + i * 7 % 100, i % 12, check_bits(t));
        scale_check(t, 1 + i * 3 % 100, check_bits(t));
        map_check(t, i, check_bits(t));
        lines += map_line_check(t, i, check_bits(t));
        places_pack_check(t, 1 + i * 5 % 100, i % 70, check_bits(t));
        turn_check(t, 1 + i * 7 % 60, 1 + i * 11 % 60, check_bits(t));
        dequantize_check(t, i, check_bits(t));
        most_check(t, i % 150, 1 + i % 5, check_bits(t));
    }
    const int32_t most = 1, found = lines > 150;
    check_ints(t, "kern_map_line_of", &most, &found, 1, "%d lines of 300", lines);
    for (unsigned i = 0; i < 600; i++) {
        places_check(t, 1 + i * 7 % 100, 1 + i % 13, check_bits(t));
        places_max_check(t, 1 + i * 7 % 100, 1 + i % 13, check_bits(t));
        requantize_check(t, 1 + i * 3 % 100, check_bits(t));
    }
}
