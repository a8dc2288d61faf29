/* SPDX-License-Identifier: MIT */
/* Convolution of many groups of one output each over images of short rows: lanes along the places
 * of all rows, which lie one after the other. */

/* Groups that share masks: as many sums as wait for none. */
#ifdef V16_TRANSPOSES
#define FLAT_GROUPS 8
#else
#define FLAT_GROUPS 4
#endif

/* A vector of places of some groups. some: not all terms exist. */
V16_UNROLLED void FN(flat_tile)(float *restrict y, const float *restrict x, const float *restrict w,
                                const float *restrict bias, const struct kern_flat *c, size_t vec,
                                const int groups, const bool some)
{
    const uint32_t *mask = c->mask + vec * c->n_taps;
    const size_t n_taps = c->n_taps, at = vec * 16, left = c->n - at;
    v16 acc[FLAT_GROUPS];
    V16_UNROLL for (int g = 0; g < groups; g++)
        acc[g] = v16_set1(bias ? bias[g] : 0);
    x += at;
    y += at;
    for (size_t k = 0; k < n_taps; k++) {
        const uint32_t inside = mask[k] & 0xffff, there = mask[k] >> 16;
        const float *from = x + c->at[k];
        V16_UNROLL for (int g = 0; g < groups; g++) {
            const v16 in = v16_load_mask(from + (size_t) g * c->x_group, inside),
                      wk = v16_set1(w[(size_t) g * n_taps + k]);
            acc[g] = some ? v16_fma_some(wk, in, acc[g], there) : v16_fma(wk, in, acc[g]);
        }
    }
    V16_UNROLL for (int g = 0; g < groups; g++) {
        if (left < 16)
            v16_store_n(y + (size_t) g * c->n, acc[g], left);
        else
            v16_store(y + (size_t) g * c->n, acc[g]);
    }
}

V16_UNROLLED void FN(flat_groups)(float *restrict y, const float *restrict x,
                                  const float *restrict w, const float *restrict bias,
                                  const struct kern_flat *c, const int groups)
{
    const size_t vecs = (c->n + 15) / 16;
    for (size_t v = 0; v < vecs; v++)
        if (v >= c->full_from && v < c->full_to)
            FN(flat_tile)(y, x, w, bias, c, v, groups, false);
        else
            FN(flat_tile)(y, x, w, bias, c, v, groups, true);
}

static void FN(conv_flat_f32)(float *restrict y, const float *restrict x, const float *restrict w,
                              const float *restrict bias, const struct kern_flat *c)
{
    size_t g = 0;
    for (; g + FLAT_GROUPS <= c->n_groups; g += FLAT_GROUPS)
        FN(flat_groups)
        (y + g * c->n, x + g * c->x_group, w + g * c->n_taps, bias ? bias + g : bias, c, FLAT_GROUPS);
    for (; g < c->n_groups; g++)
        FN(flat_groups)
        (y + g * c->n, x + g * c->x_group, w + g * c->n_taps, bias ? bias + g : bias, c, 1);
}
#undef FLAT_GROUPS
