/* SPDX-License-Identifier: MIT */
/* Body of every isa_*.c: define ISA and include a vec_*.h first. */
#include "kernels/kern.h"
#include "kernels/program.h"
#include <math.h>
#include <stdbool.h>

#define FN3(name, isa) name##_##isa
#define FN2(name, isa) FN3(name, isa)
#define FN(name) FN2(name, ISA)
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

#include "kernels/map_tmpl.h"
#include "kernels/gemm_tmpl.h"
#include "kernels/each_tmpl.h"
#include "kernels/depth_tmpl.h"
#include "kernels/conv_tmpl.h"
#include "kernels/outs_tmpl.h"
#include "kernels/fft_tmpl.h"
#include "kernels/strided_copy_tmpl.h"
#include "kernels/cell_tmpl.h"
#include "kernels/norm_tmpl.h"
#include "kernels/seq_tmpl.h"
#include "kernels/program_tmpl.h"

void FN(kern_fill)(struct kern *k);
void FN(kern_fill)(struct kern *k)
{
    k->isa = TEXT(ISA);
#define K(name) k->name = FN(name);
#define X(number, name, operands) K(name##_f32)
    KERN_EACH(K)
    KERN_POINTWISE(X)
#undef X
#undef K
}
