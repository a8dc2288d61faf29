/* SPDX-License-Identifier: MIT */
/* Products of one row each with matrices of their own: a sum waits for itself, so panels of several
 * go on side by side. */

#if GEMM_ACC >= 16
#define EACH_MOST 8
#else
#define EACH_MOST 4
#endif

/* Panels that follow each other, `chains` of them. */
V16_UNROLLED void FN(each_tile)(float *const *y, const float *const *x, const size_t *n,
                                const float *w, size_t k, const int chains)
{
    v16 acc[EACH_MOST];
    const float *from[EACH_MOST];
    V16_UNROLL for (int c = 0; c < chains; c++) {
        acc[c] = v16_set1(0);
        from[c] = x[c];
    }
    for (size_t i = 0; i < k; i++)
        V16_UNROLL for (int c = 0; c < chains; c++)
            acc[c] = v16_fma(v16_load(w + ((size_t) c * k + i) * 16), v16_set1(from[c][i]), acc[c]);
    V16_UNROLL for (int c = 0; c < chains; c++) {
        if (n[c] == 16)
            v16_store(y[c], acc[c]);
        else
            v16_store_n(y[c], acc[c], n[c]);
    }
}

static void FN(gemm_each_f32)(float *restrict y, size_t step_y, const float *restrict x,
                              size_t step_x, const float *restrict w, size_t n, size_t k,
                              size_t count)
{
    float *to[EACH_MOST];
    const float *from[EACH_MOST];
    size_t outs[EACH_MOST], panel = 0, left = (n + 15) / 16 * count, now;
    for (; left > 0; left -= now, w += now * k * 16) {
        now = left >= EACH_MOST ? EACH_MOST : 1;
        for (size_t c = 0; c < now; c++) {
            to[c] = y + panel;
            from[c] = x;
            outs[c] = n - panel < 16 ? n - panel : 16;
            panel += 16;
            if (panel >= n) {
                panel = 0;
                y += step_y;
                x += step_x;
            }
        }
        if (now == 1)
            FN(each_tile)(to, from, outs, w, k, 1);
        else
            FN(each_tile)(to, from, outs, w, k, EACH_MOST);
    }
}

/* Panels of whole numbers of 8 bits that follow each other, `chains` of them. */
V16_UNROLLED void FN(each_narrow_tile)(float *y, const float *const *x, const uint8_t *w, const float *scale,
                                       size_t k, const int chains)
{
    v16 acc[EACH_MOST];
    const float *from[EACH_MOST];
    V16_UNROLL for (int c = 0; c < chains; c++) {
        acc[c] = v16_set1(0);
        from[c] = x[c];
    }
    for (size_t i = 0; i < k; i++)
        V16_UNROLL for (int c = 0; c < chains; c++) {
            const v16 whole = v16_of_int(i16_load_s8(w + ((size_t) c * k + i) * 16));
            acc[c] = v16_fma(v16_mul(whole, v16_load(scale + c * 16)), v16_set1(from[c][i]), acc[c]);
        }
    V16_UNROLL for (int c = 0; c < chains; c++)
        v16_store(y + c * 16, acc[c]);
}

static void FN(gemm_each_narrow)(float *restrict y, const float *restrict x, size_t step_x,
                                 const struct kern_narrow *w, size_t count)
{
    const size_t panels = w->n / 16, bytes = kern_narrow_panel(KERN_NARROW_S8, w->k);
    const float *from[EACH_MOST];
    for (size_t p = 0, now, of_row = 0; p < panels; p += now) {
        now = panels - p >= EACH_MOST ? EACH_MOST : 1;
        for (size_t c = 0; c < now; c++) {
            from[c] = x;
            if (++of_row * count == panels) {
                of_row = 0;
                x += step_x;
            }
        }
        if (now == 1)
            FN(each_narrow_tile)(y + p * 16, from, w->w + p * bytes, w->scale + p * 16, w->k, 1);
        else
            FN(each_narrow_tile)(y + p * 16, from, w->w + p * bytes, w->scale + p * 16, w->k, EACH_MOST);
    }
}
#undef EACH_MOST
