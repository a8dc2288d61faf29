/* SPDX-License-Identifier: MIT */
/* cpu.h - which instruction sets a program runs with. */
#ifndef RILL_LIB_CPU_H
#define RILL_LIB_CPU_H
#include "engine/base/err.h"

#include <stdint.h>

/* enum kern_cpu bits: those of the machine that mask has (RILL_CPU_*), or where it is 0 those that
 * the environment's RILL_CPU names; INVALID: it names none. */
rill_status cpu_choose(uint32_t mask, unsigned *ret, rill_error *reterr);
#endif
