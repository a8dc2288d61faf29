/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#define ISA c
#include "kernels/vec_c.h"
#include "kernels/vec_q8_c.h"
#include "kernels/isa_tmpl.h"
