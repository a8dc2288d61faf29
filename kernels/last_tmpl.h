/* SPDX-License-Identifier: MIT */
/* Convolution of one output a channel where channels lie side by side: lanes along the channels, so all places read the
 * same weights. */
#ifdef V16_TRANSPOSES
#define LAST_PLACES 8
#else
#define LAST_PLACES 4
#endif
#define LAST_TAPS 9 /* whose loop is unrolled */
#define EACH_PLACE V16_UNROLL for (int i = 0; i < places; i++)
#define EACH_TAP V16_UNROLL for (int t = 0; t < taps; t++)

/* Channels of a panel. */
struct FN(last) {
    const struct kern_last *c;
    float *y;
    const float *x, *w;
    v16 bias;
    size_t left; /* of 16 */
    uint32_t inside;
};

/* taps: all that there are, whose weights are w; 0: any number, whose weights are read as they go. some: not all places
 * exist. */
V16_UNROLLED void FN(last_tile)(const struct FN(last) * l, size_t first, const v16 *w, const bool whole,
                                const bool some, const int taps, const int places)
{
    const struct kern_last *c = l->c;
    const struct kern_last_place *place = c->place + first;
    v16 acc[LAST_PLACES];
    const float *from[LAST_PLACES];
    EACH_PLACE {
        acc[i] = l->bias;
        from[i] = l->x + place[i].x;
    }
#define TAP(t, weight)                                                                             \
    {                                                                                              \
        const v16 wt = weight;                                                                     \
        const ptrdiff_t at = c->at[t];                                                             \
        const uint32_t mask = some ? c->mask[t] : 0xffff;                                          \
        EACH_PLACE {                                                                               \
            const v16 in = some  ? v16_load_mask(from[i] + at, whole ? mask : mask & l->inside)    \
                : whole          ? v16_load(from[i] + at)                                          \
                                 : v16_load_mask(from[i] + at, l->inside);                         \
            acc[i] = v16_fma(wt, in, acc[i]);                                                      \
        }                                                                                          \
    }
    EACH_TAP
        TAP(t, w[t])
    for (size_t t = (size_t) taps; t < c->n_taps; t++)
        TAP(t, v16_load(l->w + 16 * t))
#undef TAP
    EACH_PLACE {
        if (whole)
            v16_store(l->y + place[i].y, acc[i]);
        else
            v16_store_n(l->y + place[i].y, acc[i], l->left);
    }
}

/* What is left behind the last whole tile is computed with places that are done: the same again. */
V16_UNROLLED void FN(last_panel)(const struct FN(last) * l, const bool whole, const bool some, const int taps)
{
    const size_t n = l->c->n_places;
    v16 w[LAST_TAPS + 1];
    size_t i = 0;
    EACH_TAP
        w[t] = v16_load(l->w + 16 * t);
    for (; i + LAST_PLACES <= n; i += LAST_PLACES)
        FN(last_tile)(l, i, w, whole, some, taps, LAST_PLACES);
    if (i == n)
        return;
    if (n >= LAST_PLACES) {
        FN(last_tile)(l, n - LAST_PLACES, w, whole, some, taps, LAST_PLACES);
        return;
    }
    for (; i + 2 <= n; i += 2)
        FN(last_tile)(l, i, w, whole, some, taps, 2);
    if (i < n)
        FN(last_tile)(l, i, w, whole, some, taps, 1);
}

static void FN(conv_last_f32)(float *restrict y, const float *restrict x, const float *restrict w,
                              const float *restrict bias, const struct kern_last *c)
{
    const bool nine = c->n_taps == LAST_TAPS;
    for (size_t o = 0; o < c->n; o += 16, w += c->step_panel) {
        const bool whole = c->n - o >= 16;
        struct FN(last) l = { .c = c, .y = y + o, .x = x + o, .w = w, .left = whole ? 16 : c->n - o };
        l.bias = bias ? v16_load_n(bias + o, l.left) : v16_set1(0);
        l.inside = (1u << l.left) - 1;
        if (whole && nine && !c->mask)
            FN(last_panel)(&l, true, false, LAST_TAPS);
        else if (whole && nine)
            FN(last_panel)(&l, true, true, LAST_TAPS);
        else if (!c->mask)
            FN(last_panel)(&l, false, false, 0);
        else
            FN(last_panel)(&l, false, true, 0);
    }
}
#undef EACH_PLACE
#undef EACH_TAP
#undef LAST_TAPS
#undef LAST_PLACES
