/* SPDX-License-Identifier: MIT */
#include "kernels/built.h"
#include "kernels/program.h"

#include <stdbool.h>
#include <string.h>

#define K(name) +1
#define X(number, name, operands) +1
_Static_assert(offsetof(struct kern, l2_bytes) ==
                   (2 KERN_EACH(K) KERN_POINTWISE(X) KERN_EACH_Q8(K)) * sizeof(void (*)(void)),
               "KERN_EACH and KERN_EACH_Q8 must name every other function of struct kern");
#undef X
#undef K

void kern_init(struct kern *k, unsigned cpu)
{
    memset(k, 0, sizeof *k);
    kern_built[0].fill(k);
    for (size_t i = 1; kern_built[i].fill; i++)
        if ((cpu & kern_built[i].cpu) == kern_built[i].cpu)
            kern_built[i].fill(k);
    k->cpu = cpu;
    k->l2_bytes = KERN_L2_BYTES;
    k->l3_bytes = KERN_L3_BYTES;
    if (cpu)
        kern_caches(&k->l2_bytes, &k->l3_bytes);
}

void kern_keep(struct kern *k, unsigned uses)
{
#define K(name) k->name = NULL;
#define X(group, used_by)                                                                          \
    if ((used_by) && !(uses & (used_by))) {                                                        \
        KERN_GROUP_##group(K)                                                                      \
    }
    KERN_GROUPS(X)
    X(q8, KERN_USES_BYTES)
#undef X
#undef K
}

void kern_map_f32(const struct kern *k, int function, float *y, const float *x, size_t n)
{
    switch (function) {
#define MAP_1(name) k->name##_f32(y, x, n)
#define MAP_2(name) (void) 0
#define X(number, name, operands)                                                                  \
    case KERN_##number: MAP_##operands(name); break;
        KERN_POINTWISE(X)
#undef X
#undef MAP_1
#undef MAP_2
    default: break;
    }
}

#define BLOCK_PANELS 4 /* that pass over all rows together, in the tiles of many rows */
#define BLOCK_K 16

static size_t down_to(size_t v, size_t multiple)
{
    return v < multiple ? multiple : v / multiple * multiple;
}

/* Four panels of weights stay in half the second cache while the rows pass, so k is cut where they
 * do not fit. The rows are read again for every four panels: so many at a time as stay in the other
 * half, or in half the third cache where the weights, which are read again for every block of rows,
 * come from memory. */
void kern_gemm_blocks_f32(const struct kern *k, float *restrict y, size_t ldy,
                          const float *restrict x, size_t ldx, const float *restrict w,
                          const float *restrict bias, size_t m, size_t n, size_t terms)
{
    size_t half = k->l2_bytes / 2 / sizeof *w, k_most = half / (BLOCK_PANELS * KERN_LANES);
    k_most = terms <= k_most ? terms : down_to(k_most, BLOCK_K);
    bool near = n <= k->l3_bytes / 2 / sizeof *w / terms;
    size_t m_most = n <= BLOCK_PANELS * KERN_LANES
        ? m
        : down_to((near ? half : k->l3_bytes / 2 / sizeof *x) / k_most, KERN_BLOCK_ROWS);
    struct kern_block b = {
        .step_panel = KERN_LANES * terms, .step_k = KERN_LANES, .bias = bias, .n = n
    };
    for (size_t r = 0; r < m; r += m_most)
        for (size_t i = 0; i < terms; i += b.k) {
            b.w = w + i * KERN_LANES;
            b.k = terms - i < k_most ? terms - i : k_most;
            b.more = i > 0;
            k->gemm_block_f32(y + r * ldy, ldy, x + r * ldx + i, ldx, &b,
                              m - r < m_most ? m - r : m_most);
        }
}

size_t kern_packed_floats(size_t n, size_t k)
{
    return (n + KERN_LANES - 1) / KERN_LANES * KERN_LANES * k;
}

static void panel_pack(float *ret, const float *w, size_t lanes, size_t k, size_t stride_o,
                       size_t stride_k)
{
    if (stride_o == 1 && lanes == KERN_LANES) {
        for (size_t i = 0; i < k; i++)
            memcpy(ret + i * KERN_LANES, w + i * stride_k, KERN_LANES * sizeof *ret);
        return;
    }
    if (lanes < KERN_LANES)
        memset(ret, 0, k * KERN_LANES * sizeof *ret);
    for (size_t i = 0; i < k; i++)
        for (size_t lane = 0; lane < lanes; lane++)
            ret[i * KERN_LANES + lane] = w[lane * stride_o + i * stride_k];
}

void kern_pack_f32(float *ret, const float *w, size_t n, size_t k, size_t stride_o, size_t stride_k)
{
    for (size_t o = 0; o < n; o += KERN_LANES, ret += KERN_LANES * k)
        panel_pack(ret, w + o * stride_o, n - o < KERN_LANES ? n - o : KERN_LANES, k, stride_o,
                   stride_k);
}

static size_t conv_width(size_t n_outs)
{
    return n_outs < KERN_CONV_OUTS ? n_outs : KERN_CONV_OUTS;
}

size_t kern_conv_packed_floats(size_t n_outs, size_t n_taps)
{
    return (n_outs + KERN_CONV_OUTS - 1) / KERN_CONV_OUTS * conv_width(n_outs) * n_taps;
}

static void panels_pack(float *ret, const float *w, size_t n_outs, size_t n_taps, size_t stride_o,
                        const size_t *at, size_t width)
{
    for (size_t panel = 0; panel < n_outs; panel += width)
        for (size_t t = 0; t < n_taps; t++)
            for (size_t o = 0; o < width; o++)
                *ret++ = panel + o < n_outs ? w[(panel + o) * stride_o + (at ? at[t] : t)] : 0;
}

void kern_conv_pack_f32(float *ret, const float *w, size_t n_outs, size_t n_taps, size_t stride_o,
                        const size_t *at)
{
    panels_pack(ret, w, n_outs, n_taps, stride_o, at, conv_width(n_outs));
}

static size_t outs_width(size_t n_outs)
{
    return n_outs <= KERN_LANES / 2 ? KERN_LANES / 2 : KERN_LANES;
}

size_t kern_outs_packed_floats(size_t n_outs, size_t n_taps)
{
    size_t width = outs_width(n_outs);
    return (n_outs + width - 1) / width * width * n_taps;
}

void kern_outs_pack_f32(float *ret, const float *w, size_t n_outs, size_t n_taps, size_t stride_o,
                        const size_t *at)
{
    panels_pack(ret, w, n_outs, n_taps, stride_o, at, outs_width(n_outs));
}

/* A bit per lane; with a stride of 2, where two whole vectors are loaded, a bit per place. */
static uint32_t conv_mask(const struct kern_conv *c, size_t tap, size_t vec)
{
    uint32_t mask = 0;
    for (size_t lane = 0; lane < KERN_LANES && vec * KERN_LANES + lane < c->n; lane++) {
        ptrdiff_t at = c->first + (ptrdiff_t) tap * c->step +
            (ptrdiff_t) ((vec * KERN_LANES + lane) * c->stride);
        if (at >= 0 && at < (ptrdiff_t) c->n_in)
            mask |= (uint32_t) 1 << (c->stride == 2 ? 2 * lane : lane);
    }
    return mask;
}

void kern_conv_set(struct kern_conv *c, uint32_t *mask)
{
    size_t vecs = (c->n + KERN_LANES - 1) / KERN_LANES;
    c->mask = mask;
    c->full_from = 0;
    c->full_to = vecs;
    for (size_t v = 0; v < vecs; v++) {
        bool full = true;
        for (size_t t = 0; t < c->n_taps; t++) {
            mask[t * vecs + v] = conv_mask(c, t, v);
            full = full && mask[t * vecs + v] == (c->stride == 2 ? 0x55555555 : 0xffff);
        }
        if (!full && v == c->full_from)
            c->full_from++;
        else if (!full && c->full_to > v)
            c->full_to = v;
    }
}
