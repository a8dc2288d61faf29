/* SPDX-License-Identifier: MIT */
/* guarded.h - with -DTEST_GUARD and the linker's wraps, what is between the two may not allocate,
 * lock or write. */
#ifndef TEST_DAEMON_GUARDED_H
#define TEST_DAEMON_GUARDED_H

#ifdef TEST_GUARD
#include "tests/rt/guard.h"
#else
static inline void guard_enter(void)
{
}

static inline unsigned guard_leave(void)
{
    return 0;
}
#endif

#endif
