/* SPDX-License-Identifier: MIT */
/* Body of an isa_*.c of a set that adds products of 8 bits to a lower one: define ISA and include a
 * vec_q8_*.h first. */
#include "kernels/isa_name.h"
#include "kernels/kern.h"
#include "kernels/q8_tmpl.h"
#include "kernels/unroll.h"
#ifdef SUMS_DOT
#include "kernels/sums_tmpl.h"
#endif

void FN(kern_fill)(struct kern *k);
void FN(kern_fill)(struct kern *k)
{
    k->isa_q8 = TEXT(ISA);
    k->q8_outliers = false;
#define K(name) k->name = FN(name);
    KERN_EACH_Q8(K)
#undef K
#ifdef SUMS_DOT
    k->cell_sums = FN(cell_sums);
#endif
}
