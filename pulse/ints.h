/* SPDX-License-Identifier: MIT */
/* ints.h - arithmetic on frame counts, and lists of integers that may be short. */
#ifndef RILL_PULSE_INTS_H
#define RILL_PULSE_INTS_H
#include "engine/graph/op.h"
#include "engine/base/ratio.h"

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t round_up(int64_t x, int64_t by)
{
    return (x + by - 1) / by * by;
}

/* Element i of the list; otherwise where the list has none. */
static inline int64_t list_at(struct attr_ints list, int i, int64_t otherwise)
{
    return (uint32_t) i < list.n ? list.v[i] : otherwise;
}
#endif
