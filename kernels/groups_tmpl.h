/* SPDX-License-Identifier: MIT */
/* Convolution of one output a group with lanes along the groups, for few places: the windows of 16
 * groups are turned, so that each sum is a lane of its own and many run at once. */

/* `places` places of 16 groups; constant where it is called. in: [input place][group] */
V16_UNROLLED void FN(groups_tile)(float *y, const float *in, const float *w, v16 bias,
                                  const struct kern_conv *c, const int places)
{
    const size_t step = 16 * (size_t) c->step, stride = 16 * c->stride;
    v16 acc[4];
    V16_UNROLL for (int i = 0; i < places; i++) acc[i] = bias;
    for (size_t k = 0; k < c->n_taps; k++, in += step, w += 16) {
        const v16 wk = v16_load(w);
        V16_UNROLL for (int i = 0; i < places; i++) acc[i] =
            v16_fma(wk, v16_load(in + (size_t) i * stride), acc[i]);
    }
    V16_UNROLL for (int i = 0; i < places; i++) v16_store(y + 16 * i, acc[i]);
}

/* Windows of up to 16 groups, `reach` floats of each: whole squares are turned, which read on
 * behind a window. Where nothing follows they are copied before. */
static inline void FN(windows_turn)(float *to, const float *x, size_t x_group, size_t groups,
                                    size_t reach, bool followed)
{
    float copied[16 * KERN_GROUPS_REACH];
    const size_t apart = (reach + 15) / 16 * 16;
    if (!followed) {
        for (size_t g = 0; g < 16; g++) {
            const size_t there = g < groups ? reach : 0;
            FN(move_row)(copied + g * apart, x + (g < groups ? g : 0) * x_group, there, 1, 1);
            for (size_t i = there; i < apart; i++)
                copied[g * apart + i] = 0;
        }
        x = copied;
        x_group = apart;
    }
    for (size_t r = 0; r < reach; r += 16)
        FN(square_turn)(to + 16 * r, 16, x + r, (ptrdiff_t) x_group);
}

#ifdef V8_WINDOWS
/* Up to 8 groups beside each other with lanes along the places: nothing is turned. all: there are 8. */
V16_UNROLLED void FN(groups_places)(float *restrict y, size_t ldy, const float *restrict x, const float *restrict w,
                                    const float *restrict bias, const struct kern_conv *c, size_t groups,
                                    const bool whole, const bool all)
{
    const uint32_t there = (1u << c->n) - 1;
    const size_t apart = c->x_group;
    const float *low = x, *high = x + (all ? 4 * apart : 0);
    v8 acc[8];
    V16_UNROLL for (size_t g = 0; g < 8; g++) acc[g] = v8_set1(bias && g < groups ? bias[g] : 0);
    for (size_t k = 0; k < c->n_taps; k++, low += c->step, high += c->step, w += 16)
        V16_UNROLL for (size_t g = 0; g < 8; g++) {
            const float *at = all ? (g < 4 ? low : high) + g % 4 * apart : low + (g < groups ? g : 0) * apart;
            acc[g] = v8_fma(v8_set1(w[g]), whole ? v8_load(at) : v8_load_mask(at, there), acc[g]);
        }
    V16_UNROLL for (size_t g = 0; g < 8; g++)
        if (g < groups)
            v8_store_n(y + g * ldy, acc[g], c->n);
}

/* One place of up to 8 groups, whose taps lie side by side: eight by eight they are turned in registers. */
static void FN(groups_one)(float *restrict y, size_t ldy, const float *restrict x, const float *restrict w,
                           const float *restrict bias, const struct kern_conv *c, size_t groups)
{
    v8 acc = bias ? v8_load_n(bias, groups) : v8_set1(0);
    float each[8];
    for (size_t k = 0, now; k < c->n_taps; k += now, x += now, w += 16 * now) {
        v8 in[8];
        now = c->n_taps - k < 8 ? c->n_taps - k : 8;
        V16_UNROLL for (size_t g = 0; g < 8; g++) {
            const float *at = x + (g < groups ? g : 0) * c->x_group;
            in[g] = now == 8 ? v8_load(at) : v8_load_n(at, now);
        }
        v8_turn(in);
        V16_UNROLL for (size_t i = 0; i < 8; i++)
            if (i < now)
                acc = v8_fma(v8_load(w + 16 * i), in[i], acc);
    }
    v8_store_n(each, acc, 8);
    for (size_t g = 0; g < groups; g++)
        y[g * ldy] = each[g];
}

static void FN(groups_windows)(float *restrict y, size_t ldy, const float *restrict x, const float *restrict w,
                               const float *restrict bias, const struct kern_conv *c)
{
    for (size_t g = 0; g < c->n_groups; g += 8) {
        const size_t left = c->n_groups - g, now = left < 8 ? left : 8;
        const float *xg = x + g * c->x_group, *wg = w + g / 16 * 16 * c->n_taps + g % 16,
                    *bg = bias ? bias + g : bias;
        float *yg = y + g * ldy;
        if (c->n == 1 && c->step == 1)
            FN(groups_one)(yg, ldy, xg, wg, bg, c, now);
        else if (now < 8)
            FN(groups_places)(yg, ldy, xg, wg, bg, c, now, false, false);
        else if (c->n == 8)
            FN(groups_places)(yg, ldy, xg, wg, bg, c, now, true, true);
        else
            FN(groups_places)(yg, ldy, xg, wg, bg, c, now, false, true);
    }
}
#endif

static void FN(conv_groups_f32)(float *restrict y, size_t ldy, const float *restrict x,
                                const float *restrict w, const float *restrict bias, size_t n_outs,
                                const struct kern_conv_lines *lines, const struct kern_conv *c)
{
    float in[16 * KERN_GROUPS_REACH], out[16 * 16]; /* a square, which is turned */
    const size_t reach = (c->n - 1) * c->stride + (c->n_taps - 1) * (size_t) c->step + 1;
    x += lines->line[0].x + c->first;
#ifdef V8_WINDOWS
    if (c->stride == 1 || c->n == 1) {
        FN(groups_windows)(y, ldy, x, w, bias, c);
        return;
    }
#endif
    for (size_t g = 0, now; g < c->n_groups; g += now, x += now * c->x_group, w += 16 * c->n_taps) {
        const size_t left = c->n_groups - g, behind = left > 16 ? left - 16 : 0;
        now = left < 16 ? left : 16;
        FN(windows_turn)(in, x, c->x_group, now, reach, behind * c->x_group >= 16);
        const v16 start = bias ? v16_load_n(bias + g, now) : v16_set1(0);
        size_t i = 0;
        for (; i + 4 <= c->n; i += 4)
            FN(groups_tile)(out + 16 * i, in + 16 * i * c->stride, w, start, c, 4);
        for (; i < c->n; i++)
            FN(groups_tile)(out + 16 * i, in + 16 * i * c->stride, w, start, c, 1);
        if (c->n == 1 && ldy == 1)
            v16_store_n(y + g, v16_load(out), now);
        else
            FN(move_turn)(y + g * ldy, (ptrdiff_t) ldy, out, 16, now, c->n);
    }
    (void) n_outs;
}
