/* SPDX-License-Identifier: MIT */
#include "kernels/kern.h"

void kern_fill_c(struct kern *k);
void kern_fill_avx2(struct kern *k);
void kern_fill_avx512(struct kern *k);

#define K(name) + 1
_Static_assert(sizeof(struct kern) == (1 KERN_EACH(K)) * sizeof(void (*)(void)),
               "KERN_EACH must name every function of struct kern");
#undef K

void kern_init(struct kern *k, unsigned cpu)
{
    kern_fill_c(k);
#ifdef RILL_HAVE_AVX2
    if (!(cpu & KERN_AVX2))
        return;
    kern_fill_avx2(k);
#endif
#ifdef RILL_HAVE_AVX512
    if (!(cpu & KERN_AVX512))
        return;
    kern_fill_avx512(k);
#endif
    (void) cpu;
}

size_t kern_packed_floats(size_t n, size_t k)
{
    return (n + KERN_LANES - 1) / KERN_LANES * KERN_LANES * k;
}

void kern_pack_f32(float *ret, const float *w, size_t n, size_t k, size_t stride_o, size_t stride_k)
{
    for (size_t panel = 0; panel < n; panel += KERN_LANES)
        for (size_t i = 0; i < k; i++)
            for (size_t lane = 0; lane < KERN_LANES; lane++, ret++)
                *ret = panel + lane < n ? w[(panel + lane) * stride_o + i * stride_k] : 0;
}
