/* SPDX-License-Identifier: MIT */
#include "engine/base/float_mode.h"
#include "rill.h"

void rill_thread_prepare(void)
{
    floats_flush();
}
