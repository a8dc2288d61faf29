/* SPDX-License-Identifier: MIT */
#include "engine/thread.h"
#include "rill.h"

void rill_thread_prepare(void)
{
    floats_flush();
}
