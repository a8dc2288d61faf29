/* SPDX-License-Identifier: MIT */
#include "engine/ops.h"

const struct op *const ops_binary[] = { NULL };
