/* SPDX-License-Identifier: MIT */
/* conv_last.h - ConvLast: a Conv over rows and columns whose channels lie side by side, [images,
 * rows, columns, channels], with the weights and the bits of a Conv. Made by passes only
 * (engine/rewrite): one group, or one of each channel. */
#ifndef RILL_ENGINE_OPS_CONV_LAST_H
#define RILL_ENGINE_OPS_CONV_LAST_H
#include "engine/ops/attrs.h"

extern const struct op op_conv_last;
#endif
