/* SPDX-License-Identifier: MIT */
/* Products of 8 bits against their contract (kernels/q8.h), written out. */
#include "tests/kern/check_q8.h"

#include "kernels/bytes.h"
#include "kernels/fixed.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS_MOST 80

struct shape {
    size_t m, n, k;
};

struct q8 {
    struct shape s;
    unsigned variant;
    uint8_t *x, *w;
    int32_t *bias, *x_zeros, *w_zeros, *y, *want;
    size_t ldx, ldy;
    struct kern_q8_w from;
    struct kern_q8_x how;
    struct kern_q8 packed;
};

uint8_t byte_rand(struct check *t, unsigned variant)
{
    uint32_t r = check_bits(t);
    if (variant & EXTREME)
        return (const uint8_t[]) { 0, 255, 127, 128 }[r % 4];
    return (uint8_t) (r >> 8);
}

/* The sum of some: of the shape of a bell, seldom cut off. */
static uint8_t weight_rand(struct check *t, unsigned variant)
{
    if (!(variant & BELL))
        return byte_rand(t, variant);
    int sum = 0;
    for (int i = 0; i < 6; i++)
        sum += (int) (check_bits(t) >> 16 & 63) - 32;
    sum = sum < -128 ? -128 : sum > 127 ? 127 : sum;
    return (uint8_t) (sum + (variant & W_SIGNED ? 0 : 128));
}

int32_t number(uint8_t b, bool is_signed)
{
    return is_signed ? (int8_t) b : b;
}

static int32_t *zeros_make(struct check *t, size_t n, bool is_signed, bool low)
{
    int32_t *z = (int32_t *) (void *) check_buf(t, n, low);
    for (size_t i = 0; i < n; i++)
        z[i] = number(byte_rand(t, i % 3 ? 0 : EXTREME), is_signed);
    return z;
}

static void *weights_pack(struct check *t, struct kern_q8_w *from)
{
    void *packed = check_bytes(t, kern_q8_bytes(from->n, from->k, from->rows > 0), false);
    if (from->rows)
        from->work = check_bytes(t, kern_q8_work_bytes(from->n, from->k), false);
    kern_q8_pack(packed, from);
    return packed;
}

static void weights_make(struct check *t, struct q8 *q)
{
    const unsigned v = q->variant;
    const size_t n = q->s.n, k = q->s.k;
    q->w = check_bytes(t, n * k, v & LOW);
    for (size_t i = 0; i < n * k; i++)
        q->w[i] = weight_rand(t, v);
    q->w_zeros = zeros_make(t, n, v & W_SIGNED, v & LOW);
    q->from = (struct kern_q8_w) { .w = q->w, .is_signed = v & W_SIGNED, .n = n, .k = k };
    q->from.stride_o = v & TURNED ? 1 : k;
    q->from.stride_k = v & TURNED ? n : 1;
    q->from.zero = v & (W_ZERO | W_ZEROS) ? q->w_zeros : NULL;
    q->from.zero_step = v & W_ZEROS ? 1 : 0;
    q->from.rows = v % 3 && t->new.q8_outliers ? q->s.m : 0;
    const void *packed = weights_pack(t, &q->from);
    q->packed = kern_q8_open(packed, n, k);
    q->packed.floats = v & FLOATS;
    q->packed.by = check_bits(t) % 2 ? 1 : check_rand(t);
    if (v & BIAS)
        q->packed.bias = q->bias = (int32_t *) (void *) check_buf(t, n, v & LOW);
    for (size_t i = 0; i < n && v & BIAS; i++)
        q->bias[i] = (int32_t) (check_bits(t) << 8); /* sums wrap around */
}

static void rows_make(struct check *t, struct q8 *q)
{
    const unsigned v = q->variant;
    const size_t n_x = (q->s.m - 1) * q->ldx + q->s.k, n_y = (q->s.m - 1) * q->ldy + q->s.n;
    q->x = check_bytes(t, n_x, v & LOW);
    for (size_t i = 0; i < n_x; i++)
        q->x[i] = byte_rand(t, v);
    q->x_zeros = zeros_make(t, q->s.m, v & X_SIGNED, v & LOW);
    q->how = (struct kern_q8_x) { .is_signed = v & X_SIGNED, .zero_step = v & X_ZEROS ? 1 : 0 };
    q->how.zero = v & (X_ZERO | X_ZEROS) ? q->x_zeros : NULL;
    q->y = (int32_t *) (void *) check_buf(t, n_y, v & LOW);
    q->want = (int32_t *) (void *) check_buf(t, n_y, v & LOW);
    for (size_t i = 0; i < n_y; i++)
        q->y[i] = q->want[i] = (int32_t) check_bits(t); /* what lies between the rows stays */
}

static int32_t float_bits(int32_t v, float by)
{
    float f = (float) v;
    f *= by;
    memcpy(&v, &f, sizeof v);
    return v;
}

/* The contract. */
static void want_make(struct q8 *q)
{
    const struct kern_q8_w *w = &q->from;
    for (size_t i = 0; i < q->s.m; i++)
        for (size_t o = 0; o < q->s.n; o++) {
            uint32_t s = q->packed.bias ? (uint32_t) q->packed.bias[o] : 0;
            int32_t xz = q->how.zero ? q->how.zero[i * q->how.zero_step] : 0,
                    wz = w->zero ? w->zero[o * w->zero_step] : 0;
            for (size_t l = 0; l < q->s.k; l++)
                s += (uint32_t) ((number(q->x[i * q->ldx + l], q->how.is_signed) - xz) *
                                 (number(q->w[o * w->stride_o + l * w->stride_k], w->is_signed) -
                                  wz));
            q->want[i * q->ldy + o] =
                q->packed.floats ? float_bits((int32_t) s, q->packed.by) : (int32_t) s;
        }
}

static struct q8 q8_make(struct check *t, struct shape s, unsigned variant)
{
    struct q8 q = { .s = s, .variant = variant };
    q.ldx = s.k + variant % 3;
    q.ldy = s.n + variant % 5;
    weights_make(t, &q);
    rows_make(t, &q);
    want_make(&q);
    return q;
}

static void shape_check(struct check *t, struct shape s, unsigned variant)
{
    struct q8 q = q8_make(t, s, variant);
    size_t n_y = (s.m - 1) * q.ldy + s.n;
    t->new.gemm_q8(q.y, q.ldy, q.x, q.ldx, &q.packed, &q.how, s.m);
    check_ints(t, "gemm_q8", q.want, q.y, n_y, "m %zu n %zu k %zu variant %#x", s.m, s.n, s.k,
               variant);
    check_drop(t);
}

/* Rows that lie anywhere, here in reverse order. */
static void rows_check(struct check *t, struct shape s, unsigned variant)
{
    struct q8 q = q8_make(t, s, variant);
    int32_t *y[ROWS_MOST], *zeros = zeros_make(t, s.m, false, false);
    const void *x[ROWS_MOST];
    size_t n_y = (s.m - 1) * q.ldy + s.n;
    for (size_t i = 0; i < s.m; i++) {
        size_t at = s.m - 1 - i;
        y[i] = q.y + at * q.ldy;
        x[i] = q.x + at * q.ldx;
        zeros[i] = q.how.zero ? q.how.zero[at * q.how.zero_step] : 0;
    }
    struct kern_q8_x how = { q.how.is_signed, 1, zeros };
    t->new.gemm_rows_q8(y, x, &q.packed, &how, s.m);
    check_ints(t, "gemm_rows_q8", q.want, q.y, n_y, "m %zu n %zu k %zu variant %#x", s.m, s.n, s.k,
               variant);
    check_drop(t);
}

/* Sums that leave 32 bits wrap around; these do not, and are as large as they may be. */
static void largest_check(struct check *t)
{
    const size_t k = (size_t) INT32_MAX / (255 * 128), n = 17;
    uint8_t *x = check_bytes(t, k, false), *w = check_bytes(t, n * k, false);
    int32_t y[17], want[17];
    memset(x, 255, k);
    memset(w, 128, n * k);
    struct kern_q8_w from = {
        .w = w, .is_signed = true, .n = n, .k = k, .stride_o = k, .stride_k = 1
    };
    const void *packed = weights_pack(t, &from);
    const struct kern_q8 q = kern_q8_open(packed, n, k);
    t->new.gemm_q8(y, n, x, k, &q, &(struct kern_q8_x) { .is_signed = false }, 1);
    for (size_t o = 0; o < n; o++)
        want[o] = -(int32_t) (255 * 128 * k);
    check_ints(t, "gemm_q8", want, y, n, "%zu terms of 255 * -128", k);
    check_drop(t);
}

/* Weights with exactly so many outliers: pairs that may saturate among small ones. Returns what
 * meets. */
static unsigned outliers_check(struct check *t, struct shape s, unsigned outliers)
{
    struct q8 q = { .s = s, .variant = W_SIGNED, .ldx = s.k, .ldy = s.n };
    weights_make(t, &q);
    for (size_t i = 0; i < s.n * s.k; i++)
        q.w[i] = (uint8_t) (check_bits(t) % 65 - 32);
    for (unsigned i = 0; i < outliers; i++) { /* all others of their four are 0 */
        const size_t at = i * 8 % (s.n * s.k);
        memset(q.w + at, 0, 8);
        q.w[at] = q.w[at + 1] = i % 2 ? 127 : 0x80;
    }
    q.from.rows = t->new.q8_outliers ? s.m : 0;
    const void *packed = weights_pack(t, &q.from);
    q.packed = kern_q8_open(packed, s.n, s.k);
    rows_make(t, &q);
    memset(q.x, outliers % 3 ? 255 : 127, s.m * s.k);
    want_make(&q);
    t->new.gemm_q8(q.y, q.ldy, q.x, q.ldx, &q.packed, &q.how, s.m);
    check_ints(t, "gemm_q8", q.want, q.y, s.m * s.n, "m %zu n %zu k %zu, %u outliers", s.m, s.n,
               s.k, outliers);
    const unsigned in_16 = q.packed.in_16;
    check_drop(t);
    return in_16;
}

/* No, few, as many as pay, and more outliers. */
static void outliers_lists_check(struct check *t)
{
    for (size_t m = 1; m < 20; m++) {
        const struct shape s = { m, 48, 128 };
        unsigned last = outliers_check(t, s, 0), changes = 0;
        for (unsigned i = 1; i < 400; i += 3) {
            const unsigned now = outliers_check(t, s, i);
            changes += now != last;
            last = now;
        }
        const int32_t pays[] = { t->new.q8_outliers, false }, kept[] = { changes > 0, last > 0 };
        check_ints(t, "kern_q8_pack", pays, kept, 2, "m %zu: few outliers, many", m);
    }
}

static int32_t fit(int32_t v)
{
    return v < -128 ? -128 : v > 127 ? 127 : v;
}

/* Weights in the shape of a bell of any width, rows of the largest bytes: groups meet, are left
 * over or lie there twice. Adds up how many. */
static void order_check(struct check *t, struct shape s, unsigned width, size_t seen[3])
{
    struct q8 q = {
        .s = s, .variant = check_bits(t) % VARIANTS | W_SIGNED, .ldx = s.k, .ldy = s.n
    };
    weights_make(t, &q);
    for (size_t i = 0; i < s.n * s.k; i++) {
        int32_t sum = 0;
        for (int j = 0; j < 4; j++)
            sum += (int32_t) (check_bits(t) >> 16 & 255) - 128;
        q.w[i] = (uint8_t) fit(sum * (int32_t) width / 148);
    }
    q.from.rows = t->new.q8_outliers ? s.m : 0;
    const void *packed = weights_pack(t, &q.from);
    const struct kern_q8 was = q.packed;
    q.packed = kern_q8_open(packed, s.n, s.k);
    q.packed.bias = was.bias, q.packed.floats = was.floats, q.packed.by = was.by;
    rows_make(t, &q);
    if (width % 2)
        memset(q.x, q.how.is_signed ? 127 : 255, s.m * s.k);
    want_make(&q);
    t->new.gemm_q8(q.y, q.ldy, q.x, q.ldx, &q.packed, &q.how, s.m);
    check_ints(t, "gemm_q8", q.want, q.y, s.m * s.n, "m %zu n %zu k %zu, width %u", s.m, s.n, s.k,
               width);
    for (size_t i = 0; q.packed.in_16 && i < (s.n + 15) / 16; i++) {
        const struct kern_q8_span *one =
            q.packed.spans + i * ((s.k + KERN_Q8_SPAN - 1) / KERN_Q8_SPAN);
        seen[0] += one->fours, seen[1] += s.k <= KERN_Q8_SPAN ? (s.k + 3) / 4 - 2u * one->fours : 0,
            seen[2] += one->mores;
    }
    check_drop(t);
}

static void orders_check(struct check *t)
{
    size_t seen[3] = { 0 };
    for (unsigned width = 5; width < 60; width++)
        for (unsigned i = 0; i < 6; i++)
            order_check(t,
                        (struct shape) { 1 + (width + i * 5) % 21, 1 + (width * 7 + i * 31) % 90,
                                         1 + (width * 37 + i * 97) % 300 },
                        width, seen);
    for (unsigned i = 0; i < 9; i++) /* of several spans, and of one to its end */
        order_check(t, (struct shape) { 1 + i, 40, 1020 + i + i / 4 * 1024 }, 15 + i * 3, seen);
    const int32_t is = t->new.q8_outliers, want[3] = { is, is, is },
                  got[3] = { seen[0] > 0, seen[1] > 0, seen[2] > 0 };
    check_ints(t, "kern_q8_pack", want, got, 3, "pairs of groups, single ones, and more");
}

/* Another process laid it out: what would read outside is told. */
static void damaged_check(struct check *t)
{
    const size_t n = 48, k = KERN_Q8_SPAN + 76;
    struct q8 q = { .s = { 8, n, k }, .variant = W_SIGNED };
    weights_make(t, &q);
    for (size_t i = 0; i < n * k; i++)
        q.w[i] = (i % k + 20) % 100 < 2 ? 127 : (uint8_t) (check_bits(t) % 65 - 32);
    q.from.rows = t->new.q8_outliers ? 8 : 0;
    uint8_t *packed = weights_pack(t, &q.from);
    const struct kern_q8 open = kern_q8_open(packed, n, k);
    int32_t want[8] = { true, !open.in_16 }, got[8];
    got[0] = kern_q8_check(packed, n, k, q.from.rows > 0);
    got[1] = kern_q8_check(packed, n, k, false);
    const size_t at_spans = (size_t) ((const uint8_t *) open.spans - packed),
                 at_order = (size_t) (open.order - packed),
                 at_more = (size_t) (open.more_order - packed);
    struct kern_q8_span *last = (struct kern_q8_span *) (void *) (packed + at_spans) + 5;
    for (int i = 0; open.in_16 && i < 3; i++) { /* the last span of the last panel has 19 groups */
        const struct kern_q8_span was = *last;
        *(i == 0 ? &last->mores : &last->fours) = i == 0 ? 0x4000 : i == 1 ? 10 : 9;
        last->from = i == 1 ? last->from : was.from;
        want[2 + i] = i == 2;
        got[2 + i] = kern_q8_check(packed, n, k, true);
        *last = was;
    }
    for (int i = 0; open.in_16 && i < 3; i++) {
        uint8_t *group = packed + (i < 2 ? at_order + 3 * 275 - 1 : at_more + 2 * last->from),
                was = *group;
        *group = i == 1 ? 18 : 19;
        want[5 + i] = i == 1;
        got[5 + i] = kern_q8_check(packed, n, k, true);
        *group = was;
    }
    const int32_t pays = t->new.q8_outliers, kept = open.in_16 > 0;
    check_ints(t, "kern_q8_pack", &pays, &kept, 1, "outliers that pay");
    check_ints(t, "kern_q8_check", want, got, open.in_16 ? 8 : 2, "damaged");
    check_drop(t);
}

void check_q8(struct check *t)
{
    static const size_t ms[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 65 };
    static const size_t ns[] = { 1, 7, 15, 16, 17, 33, 64, 100, 150 };
    static const size_t ks[] = { 0, 1, 2, 3, 4, 5, 8, 31, 64, 258, 259 };
    for (size_t m = 0; m < sizeof ms / sizeof *ms; m++)
        for (size_t n = 0; n < sizeof ns / sizeof *ns; n++)
            for (size_t k = 0; k < sizeof ks / sizeof *ks; k++)
                shape_check(t, (struct shape) { ms[m], ns[n], ks[k] }, check_bits(t) % VARIANTS);
    for (unsigned v = 0; v < VARIANTS; v++)
        shape_check(t, (struct shape) { 1 + v % 11, 1 + v * 7 % 140, v * 5 % 67 }, v);
    for (unsigned i = 0; i < 200; i++)
        rows_check(t, (struct shape) { 1 + i * 7 % ROWS_MOST, 1 + i * 5 % 140, i % 50 },
                   check_bits(t) % VARIANTS);
    for (unsigned i = 0; i < 60; i++) /* kernels take rows of so many terms part by part */
        shape_check(t,
                    (struct shape) { 1 + i * 5 % 19, 1 + i * 7 % 40, 1020 + i % 3 * 1024 + i % 8 },
                    check_bits(t) % VARIANTS);
    largest_check(t);
    outliers_lists_check(t);
    orders_check(t);
    damaged_check(t);
}

/* ---- floats to numbers of 8 bits ---- */

static int32_t quantized(float x, const struct kern_quant *q)
{
    float v = x / q->scale, least = (float) (q->least - q->zero),
          most = (float) (q->most - q->zero);
    v = rintf(v);
    return (v >= most ? (int32_t) most : v > least ? (int32_t) v : (int32_t) least) + q->zero;
}

static void quantize_check(struct check *t, size_t n, unsigned variant)
{
    const bool low = variant & 1, is_signed = variant & 2;
    float *x = check_buf(t, n, low);
    uint8_t *y = check_bytes(t, n, low);
    int32_t got[300], want[300];
    struct kern_quant q = { .scale = variant & 4 ? 0.25f : 0.0173f,
                            .zero = (int32_t) (variant % 256),
                            .least = is_signed ? -128 : 0,
                            .most = is_signed ? 127 : 255 };
    q.zero += q.least;
    check_fill_bits(t, x, n);
    for (size_t i = 0; i < n; i += 5)
        x[i] = (float) (int) (check_bits(t) % 512) * 0.125f - 32; /* halves */
    if (variant & 8) {
        float range[2], want_range[2] = { 0, 0 };
        for (size_t i = 0; i < n; i++) {
            x[i] = x[i] * 0 != 0 ? 0 : x[i];
            want_range[0] = x[i] < want_range[0] ? x[i] : want_range[0];
            want_range[1] = x[i] > want_range[1] ? x[i] : want_range[1];
        }
        t->new.range_f32(x, n, range);
        check_same(t, "range_f32", want_range, range, 2, "n %zu variant %u", n, variant);
        q = kern_quant_of_range(range[0], range[1]);
    }
    t->new.quantize_f32(y, x, n, &q);
    for (size_t i = 0; i < n; i++) {
        got[i] = number(y[i], is_signed && !(variant & 8));
        want[i] = q.most > q.least ? quantized(x[i], &q) : q.zero;
    }
    check_ints(t, "quantize_f32", want, got, n, "n %zu variant %u", n, variant);
    check_drop(t);
}

/* Floats beside halves of any scale, where a quotient that is one bit off is another whole number,
 * and numbers that are large or none. */
static void quotients_check(struct check *t, unsigned variant)
{
    enum { N = 16 * 17 };
    static const float far[] = {
        INFINITY, -INFINITY, NAN, 0, FLT_MAX, -FLT_MAX, FLT_MIN, 0x1p-149f
    };
    const unsigned least_exponent = variant % 8 ? 100 : 2, exponents = variant % 8 ? 50 : 250;
    const uint32_t bits =
        (least_exponent + check_bits(t) % exponents) << 23 | (check_bits(t) & 0x7fffff);
    struct kern_quant q = { .zero = variant & 1 ? -128 + (int32_t) (check_bits(t) % 256) : 0,
                            .least = -128,
                            .most = 127 };
    float *x = check_buf(t, N, variant & 2);
    uint8_t *y = check_bytes(t, N, variant & 2);
    int32_t got[N], want[N];
    memcpy(&q.scale, &bits, sizeof q.scale);
    for (int i = 0; i < N; i++) {
        x[i] = ((float) (i - N / 2) + 0.5f) * q.scale;
        for (unsigned n = check_bits(t) % 5; n > 0; n--)
            x[i] = nextafterf(x[i], n % 2 ? INFINITY : 0);
        if (i % 16 == 15)
            x[i] = far[i / 16 % 8];
    }
    t->new.quantize_f32(y, x, N, &q);
    for (int i = 0; i < N; i++) {
        got[i] = number(y[i], true);
        want[i] = quantized(x[i], &q);
    }
    check_ints(t, "quantize_f32", want, got, N, "scale %a variant %u", (double) q.scale, variant);
    check_drop(t);
}

/* Halves, numbers that are none and such as are far outside. */
static void away_check(struct check *t, size_t n, unsigned variant)
{
    const bool low = variant & 1;
    const struct kern_away q = { .by = variant & 2 ? 8 : 1.37f,
                                 .zero = variant & 4 ? (float) (int) (variant % 256) - 128 : 0,
                                 .low = variant & 8 ? -127 : -128 };
    float *x = check_buf(t, n, low);
    int8_t *y = check_bytes(t, n, low);
    int32_t got[300], want[300];
    check_fill_bits(t, x, n);
    for (size_t i = 0; i < n; i += 2)
        x[i] = (float) (int) (check_bits(t) % 4096) * 0.0078125f - 16;
    t->new.quantize_away_f32(y, x, n, &q);
    for (size_t i = 0; i < n; i++) {
        const float v = x[i] * q.by + q.zero;
        want[i] = (int32_t) roundf(v >= 127 ? 127 : v > q.low ? v : q.low);
        got[i] = y[i];
    }
    check_ints(t, "quantize_away_f32", want, got, n, "n %zu variant %u", n, variant);
    check_drop(t);
}

void check_quant(struct check *t)
{
    for (unsigned i = 0; i < 400; i++) {
        quantize_check(t, i % 7 ? i % 50 : i % 300, i * 37 % 1024);
        away_check(t, i % 7 ? i % 50 : i % 300, i * 37 % 1024);
    }
    for (unsigned i = 0; i < 2000; i++)
        quotients_check(t, i);
}
