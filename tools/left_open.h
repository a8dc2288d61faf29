/* SPDX-License-Identifier: MIT */
/* left_open.h - sizes and values that a bare network leaves open, where a refusal is for want of
 * them. */
#ifndef TOOLS_LEFT_OPEN_H
#define TOOLS_LEFT_OPEN_H
#include "engine/base/err.h"

/* Adds to the refusal of the ONNX file at path what its inputs leave open and how that is given,
 * if the node that was refused lacks it: numbers in place of its symbols would do, or a single
 * number, an integer or a truth value that it reads is not known. */
void left_open_tell(rill_error *refusal, const char *path);
#endif
