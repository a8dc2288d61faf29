/* SPDX-License-Identifier: MIT */
/* Body of an isa_*.c of a set with all kernels: define ISA and include a vec_*.h first, and a
 * vec_q8_*.h where the set has products of 8 bits. */
#include "kernels/isa_name.h"
#include "kernels/fixed.h"
#include "kernels/kern.h"
#include "kernels/program.h"
#include <math.h>
#include <stdbool.h>
#define MAP_LANES 16
#include "kernels/map_tmpl.h"
#include "kernels/gemm_tmpl.h"
#include "kernels/narrow_tmpl.h"
#include "kernels/each_tmpl.h"
#include "kernels/flat_tmpl.h"
#include "kernels/depth_tmpl.h"
#include "kernels/conv_tmpl.h"
#include "kernels/outs_tmpl.h"
#include "kernels/last_tmpl.h"
#include "kernels/fft_tmpl.h"
#include "kernels/grid_tmpl.h"
#include "kernels/strided_copy_tmpl.h"
#include "kernels/groups_tmpl.h"
#include "kernels/cell_tmpl.h"
#include "kernels/norm_tmpl.h"
#include "kernels/pool_tmpl.h"
#include "kernels/sums_tmpl.h"
#include "kernels/winograd_tmpl.h"
#include "kernels/seq_tmpl.h"
#include "kernels/program_tmpl.h"
#include "kernels/quant_tmpl.h"
#include "kernels/bytes_tmpl.h"
#ifdef Q8_INLINE
#include "kernels/q8_tmpl.h"
#endif

#define K(name) k->name = FN(name);
#define X(number, name, operands) K(name##_f32)
#define GROUP(group, uses)                                                                         \
    void FN(kern_fill_##group)(struct kern * k);                                                   \
    void FN(kern_fill_##group)(struct kern * k)                                                    \
    {                                                                                              \
        KERN_GROUP_##group(K)                                                                      \
    }
KERN_GROUPS(GROUP)
#ifdef Q8_INLINE
void FN(kern_fill_q8)(struct kern *k);
void FN(kern_fill_q8)(struct kern *k)
{
    k->isa_q8 = TEXT(ISA);
    k->q8_outliers = Q8_OUTLIERS;
    KERN_EACH_Q8(K)
}
#endif
void FN(kern_fill_pointwise)(struct kern *k);
void FN(kern_fill_pointwise)(struct kern *k)
{
    k->isa = TEXT(ISA);
    k->tile_panels = GEMM_FIT(GEMM_ROWS);
    KERN_POINTWISE(X)
}

void FN(kern_fill)(struct kern *k);
void FN(kern_fill)(struct kern *k)
{
    FN(kern_fill_pointwise)(k);
#undef GROUP
#define GROUP(group, uses) FN(kern_fill_##group)(k);
    KERN_GROUPS(GROUP)
#ifdef Q8_INLINE
    FN(kern_fill_q8)(k);
#endif
}
#undef GROUP
#undef X
#undef K
