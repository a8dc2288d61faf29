/* SPDX-License-Identifier: MIT */
#ifndef TESTS_RT_GUARD_H
#define TESTS_RT_GUARD_H
void     guard_enter(void);
unsigned guard_leave(void);     /* forbidden calls since guard_enter */
#endif
