/* SPDX-License-Identifier: MIT */
/* conv_ways.h - which way of a convolution by rows is likely the fastest: by sizes alone. */
#ifndef RILL_ENGINE_OPS_CONV_WAYS_H
#define RILL_ENGINE_OPS_CONV_WAYS_H
#include "engine/ops/conv_rows.h"

/* v: all but the way and what follows from it is set. */
enum conv_way conv_way_choose(const struct conv_rows *v);
#endif
