/* SPDX-License-Identifier: MIT */
/* compile_c.h - a compiled plan as C, which a program is linked with (docs/compile.md). */
#ifndef TOOLS_COMPILE_C_H
#define TOOLS_COMPILE_C_H
#include "lib/plan_internal.h"

#include <stddef.h>

#define COMPILE_C_NAME_BYTES 64

/* The name that a path's file has in C: "out/my-net.c" is my_net. */
void compile_c_name(const char *path, char ret[COMPILE_C_NAME_BYTES]);

/* Writes the n bytes of p's compiled file to path as C: a function NAME_open that makes the plan,
 * the tables of the ops that it takes, and the instruction set that it is for. */
rill_status compile_c_write(const char *path, const rill_plan *p, const unsigned char *bytes,
                            size_t n, rill_error *reterr);
#endif
