/* SPDX-License-Identifier: MIT */
/* level.h - how loud the background of a recording is. */
#ifndef TOOLS_LEVEL_H
#define TOOLS_LEVEL_H
#include <stddef.h>

/* dBFS that the quietest tenth of pieces of 20 ms stays under: what is left between words. rate in
 * Hz; at least one second of audio that is numbers, else NAN. */
double level_floor_db(const float *x, size_t n_samples, unsigned rate);
#endif
