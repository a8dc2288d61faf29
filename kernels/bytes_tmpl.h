/* SPDX-License-Identifier: MIT */
/* Sums of whole numbers from bytes, and bytes from sums: the contracts are in kern.h. */

/* The sums of channels o .. o+15 over all places. */
static inline i16 FN(places_sum_16)(const uint8_t *const *x, const int16_t *w, size_t step,
                                    const struct kern_places *p, size_t o, i16 sum)
{
    if (p->is_signed)
        for (size_t i = 0; i < p->n_places; i++, w += step)
            sum = i16_add(sum, i16_mul(i16_load_s8(x[i] + o), i16_load_s16(w)));
    else
        for (size_t i = 0; i < p->n_places; i++, w += step)
            sum = i16_add(sum, i16_mul(i16_load_u8(x[i] + o), i16_load_s16(w)));
    return sum;
}

/* Fewer channels than 16. */
static void FN(places_sum_few)(int32_t *restrict y, const uint8_t *const *x, const struct kern_places *p)
{
    for (size_t o = 0; o < p->n; o++) {
        uint32_t sum = (uint32_t) p->bias[o];
        for (size_t i = 0; i < p->n_places; i++) {
            int32_t v = p->is_signed ? (int8_t) x[i][o] : x[i][o];
            sum += (uint32_t) (v * p->w[i * p->n + o]);
        }
        y[o] = (int32_t) sum;
    }
}

/* A last block of 16 ends where they end: some are summed twice. */
static void FN(places_sum)(int32_t *restrict y, const uint8_t *const *x, const struct kern_places *p)
{
    if (p->n < 16) {
        FN(places_sum_few)(y, x, p);
        return;
    }
    for (size_t o = 0; o < p->n; o += 16) {
        o = o + 16 <= p->n ? o : p->n - 16;
        i16_store(y + o, FN(places_sum_16)(x, p->w + o, p->n, p, o, i16_load(p->bias + o)));
    }
}

/* Arithmetic of 32 bits, but for one product of 64 whose upper half is kept: what compilers make
 * vectors of. See kernels/fixed.h, which these lines equal. */
static inline void FN(requantize_twice)(uint8_t *restrict y, const int32_t *restrict x, size_t n,
                                        const int32_t *restrict by, const int32_t *restrict shift,
                                        const struct kern_requant *q)
{
    const int32_t zero = q->zero, low = q->low, high = q->high;
    for (size_t o = 0; o < n; o++) {
        const int32_t left = shift[o] > 0 ? shift[o] : 0, right = left - shift[o];
        const int32_t up = (int32_t) ((uint32_t) x[o] << left);
        const int64_t wide = (int64_t) up * by[o] + (1 << 30);
        const int32_t v = (int32_t) (uint32_t) ((uint64_t) wide >> 31);
        const int32_t mask = (int32_t) ((1u << right) - 1), most = (mask >> 1) + (v < 0);
        const int32_t to = (int32_t) ((uint32_t) (v >> right) + ((v & mask) > most) + (uint32_t) zero);
        y[o] = (uint8_t) fixed_clip(to, low, high);
    }
}

/* Blocks of 16 as in places_sum: the last ends where the channels end. */
static void FN(requantize_blocks)(uint8_t *restrict y, const int32_t *restrict x, size_t n,
                                  const struct kern_requant *q)
{
    if (n < 16) {
        FN(requantize_twice)(y, x, n, q->by, q->shift, q);
        return;
    }
    for (size_t o = 0; o < n; o += 16) {
        o = o + 16 <= n ? o : n - 16;
        FN(requantize_twice)(y + o, x + o, 16, q->by + o, q->shift + o, q);
    }
}

static void FN(requantize)(uint8_t *restrict y, const int32_t *restrict x, size_t n,
                           const struct kern_requant *q)
{
    if (!q->once) {
        FN(requantize_blocks)(y, x, n, q);
        return;
    }
    for (size_t o = 0; o < n; o++) {
        uint32_t v = (uint32_t) fixed_scale_once(x[o], q->by[o], q->shift[o]);
        y[o] = (uint8_t) fixed_clip((int32_t) (v + (uint32_t) q->zero), q->low, q->high);
    }
}
