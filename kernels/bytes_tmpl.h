/* SPDX-License-Identifier: MIT */
/* Sums of whole numbers from bytes, and bytes from sums: the contracts are in kern.h. */

/* The sums of channels o .. o+15 of a window. */
static inline i16 FN(places_sum_16)(const uint8_t *x, size_t o, const struct kern_places *p)
{
    i16 sum = i16_load(p->bias + o);
    const int16_t *w = p->w + 2 * o;
    const size_t *at = p->at;
    for (size_t i = 0; i < p->n_pairs; i++, w += p->w_step, at += 2)
        sum = pair_add(sum, x + o + at[0], x + o + at[1], w, p->flip);
    return sum;
}

/* The same of 64. */
static inline void FN(places_sum_64)(int32_t *restrict y, const uint8_t *x, size_t o,
                                     const struct kern_places *p)
{
    i16 sum[4];
    const int16_t *w = p->w + 2 * o;
    const size_t *at = p->at;
    V16_UNROLL for (int v = 0; v < 4; v++)
        sum[v] = i16_load(p->bias + o + 16 * v);
    for (size_t i = 0; i < p->n_pairs; i++, w += p->w_step, at += 2) {
        const uint8_t *a = x + o + at[0], *b = x + o + at[1];
        V16_UNROLL for (int v = 0; v < 4; v++)
            sum[v] = pair_add(sum[v], a + 16 * v, b + 16 * v, w + 32 * v, p->flip);
    }
    V16_UNROLL for (int v = 0; v < 4; v++)
        i16_store(y + o + 16 * v, sum[v]);
}

/* Fewer channels than 16. */
static void FN(places_sum_few)(int32_t *restrict y, const uint8_t *x, const struct kern_places *p)
{
    for (size_t o = 0; o < p->n; o++) {
        uint32_t sum = (uint32_t) p->bias[o];
        for (size_t i = 0; i < 2 * p->n_pairs; i++)
            sum += (uint32_t) ((x[p->at[i] + o] ^ p->flip) * p->w[i / 2 * p->w_step + 2 * o + i % 2]);
        y[o] = (int32_t) sum;
    }
}

/* A last block of 16 ends where they end: some are summed twice. */
static void FN(places_sum)(int32_t *restrict y, const uint8_t *restrict x, size_t step, size_t windows,
                           const struct kern_places *p)
{
    for (size_t i = 0; i < windows; i++, x += step, y += p->n) {
        size_t o = 0;
        if (p->n < 16)
            FN(places_sum_few)(y, x, p);
        for (; o + 64 <= p->n; o += 64)
            FN(places_sum_64)(y, x, o, p);
        for (; o < p->n && p->n >= 16; o += 16) {
            o = o + 16 <= p->n ? o : p->n - 16;
            i16_store(y + o, FN(places_sum_16)(x, o, p));
        }
    }
}

/* n is a constant where it is called, or small. */
static inline void FN(places_max_some)(uint8_t *restrict y, const uint8_t *restrict x, const size_t *at,
                                       size_t n_places, size_t n, uint8_t flip)
{
    uint8_t most[16] = { 0 };
    for (size_t i = 0; i < n_places; i++)
        for (size_t o = 0; o < n; o++) {
            const uint8_t v = x[at[i] + o] ^ flip;
            most[o] = v > most[o] ? v : most[o];
        }
    for (size_t o = 0; o < n; o++)
        y[o] = most[o] ^ flip;
}

static void FN(places_max)(uint8_t *restrict y, const uint8_t *restrict x, const size_t *at, size_t n_places,
                           size_t n, uint8_t flip)
{
    for (size_t o = 0; o < n && n >= 16; o += 16) {
        o = o + 16 <= n ? o : n - 16;
        FN(places_max_some)(y + o, x + o, at, n_places, 16, flip);
    }
    if (n < 16)
        FN(places_max_some)(y, x, at, n_places, n, flip);
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

/* 16 * vecs places from x on. */
V16_UNROLLED void FN(taps_some)(int32_t *restrict y, const uint8_t *restrict x,
                                const struct kern_taps *t, t4 pattern, const int vecs)
{
    i16 acc[TAPS_VECS];
    V16_UNROLL for (int v = 0; v < vecs; v++)
        acc[v] = i16_set1(t->bias);
    for (size_t l = 0; l < t->n_lines; l++) {
        const uint8_t *from = x + t->line[l].at;
        V16_UNROLL for (int v = 0; v < vecs; v++)
            acc[v] = taps_add(acc[v], from + 16 * v, t->line[l].w, pattern);
    }
    V16_UNROLL for (int v = 0; v < vecs; v++)
        i16_store(y + 16 * v, acc[v]);
}

static void FN(taps_sum)(int32_t *restrict y, const uint8_t *restrict x, size_t n,
                         const struct kern_taps *t)
{
    const t4 pattern = taps_pattern(t->step, t->flip);
    size_t i = 0;
    for (; i + 16 * TAPS_VECS <= n; i += 16 * TAPS_VECS)
        FN(taps_some)(y + i, x + i, t, pattern, TAPS_VECS);
    for (; i < n; i += 16)
        FN(taps_some)(y + i, x + i, t, pattern, 1);
}

/* What is the same for all elements. */
struct FN(cut) {
    v16 leaky, low, high;
    i16 zero;
    bool is_leaky;
};

static inline struct FN(cut) FN(cut_of)(const struct kern_scale *s)
{
    return (struct FN(cut)) { v16_set1(s->leaky), v16_set1((float) (s->low - s->zero)),
                              v16_set1((float) (s->high - s->zero)), i16_set1(s->zero), s->leaky > 0 };
}

/* What follows the sums of 16 elements. */
V16_UNROLLED i16 FN(scale_16)(i16 sum, v16 by, v16 add, const struct FN(cut) *c)
{
    v16 v = v16_add(v16_mul(v16_of_int(sum), by), add);
    if (c->is_leaky)
        v = v16_max(v, v16_mul(v, c->leaky));
    v = v16_min(v16_max(v, c->low), c->high);
    return i16_add(v16_round(v), c->zero);
}

V16_UNROLLED void FN(scale_each)(uint8_t *restrict y, const int32_t *restrict x, const struct kern_scale *s,
                                 const struct FN(cut) *c, size_t at)
{
    i16 sum = i16_load(x);
    if (s->bias)
        sum = i16_add(sum, i16_load(s->bias + at));
    i16_store_bytes(y, FN(scale_16)(sum, v16_load(s->by + at),
                                    s->add ? v16_load(s->add + at) : v16_set1(0), c));
}

static void FN(scale_all)(uint8_t *restrict y, const int32_t *restrict x, size_t n,
                          const struct kern_scale *s)
{
    const i16 bias = i16_set1(s->bias ? *s->bias : 0);
    const v16 by = v16_set1(*s->by), add = v16_set1(s->add ? *s->add : 0);
    const struct FN(cut) c = FN(cut_of)(s);
    for (; n >= 16; n -= 16, x += 16, y += 16)
        i16_store_bytes(y, FN(scale_16)(i16_add(i16_load(x), bias), by, add, &c));
    if (!n)
        return;
    int32_t rest[16] = { 0 };
    uint8_t last[16];
    memcpy(rest, x, n * sizeof *x);
    i16_store_bytes(last, FN(scale_16)(i16_add(i16_load(rest), bias), by, add, &c));
    memcpy(y, last, n);
}

static void FN(scale_bytes)(uint8_t *restrict y, const int32_t *restrict x, size_t n,
                            const struct kern_scale *s)
{
    if (!s->step) {
        FN(scale_all)(y, x, n, s);
        return;
    }
    const struct kern_scale all = *s;
    const struct FN(cut) c = FN(cut_of)(s);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        FN(scale_each)(y + i, x + i, &all, &c, i);
    if (i == n)
        return;
    int32_t rest[16] = { 0 }, bias[16] = { 0 };
    float by[16] = { 0 }, add[16] = { 0 };
    uint8_t last[16];
    struct kern_scale part = *s;
    memcpy(rest, x + i, (n - i) * sizeof *rest);
    part.by = memcpy(by, s->by + i, (n - i) * sizeof *by);
    part.bias = s->bias ? memcpy(bias, s->bias + i, (n - i) * sizeof *bias) : NULL;
    part.add = s->add ? memcpy(add, s->add + i, (n - i) * sizeof *add) : NULL;
    FN(scale_each)(last, rest, &part, &c, 0);
    memcpy(y + i, last, n - i);
}

static void FN(map_bytes)(uint8_t *y, const uint8_t *x, size_t n, const uint8_t *table,
                          const struct kern_map_line *line)
{
    size_t i = 0;
#ifdef MAP_LINE
    if (line && n >= MAP_LINE) {
        const line_16 l = line_16_load(line);
        for (; i + MAP_LINE <= n; i += MAP_LINE)
            map_line(y + i, x + i, &l);
    }
#else
    (void) line;
#endif
#ifdef MAP_64
    if (n - i >= 64) {
        const map_table m = map_table_load(table);
        for (; i + 64 <= n; i += 64)
            map_64(y + i, x + i, &m);
    }
#endif
    for (; i < n; i++)
        y[i] = table[x[i]];
}

/* One panel; `behind` of its places do not exist and are not read. */
static void FN(panel_pack)(int8_t *restrict to, int32_t *restrict sums, const uint8_t *restrict x,
                           const size_t *at, size_t k, size_t n, uint8_t flip)
{
    uint8_t none[16], part[4][16] = { { 0 } };
    i16 sum = i16_set1(0);
    memset(none, flip, sizeof none);
    for (size_t i = 0; i < k; i += 4, to += 64) {
        const uint8_t *line[4];
        for (size_t l = 0; l < 4; l++) {
            line[l] = i + l < k ? x + at[i + l] : none;
            if (n < 16 && i + l < k)
                line[l] = memcpy(part[l], line[l], n);
        }
        sum = lines_weave(to, line, flip, sum);
    }
    i16_store(sums, sum);
}

static void FN(places_pack)(int8_t *restrict to, int32_t *restrict sums, const uint8_t *restrict x,
                            const size_t *at, size_t k, size_t n, uint8_t flip)
{
    for (size_t o = 0; o < n; o += 16, to += (k + 3) / 4 * 64)
        FN(panel_pack)(to, sums + o, x + o, at, k, n - o < 16 ? n - o : 16, flip);
}
