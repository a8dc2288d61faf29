/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#define ISA c
#include "kernels/vec_c.h"
#include "kernels/isa_tmpl.h"
