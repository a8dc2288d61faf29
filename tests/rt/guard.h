/* SPDX-License-Identifier: MIT */
#ifndef TESTS_RT_GUARD_H
#define TESTS_RT_GUARD_H
#include <stddef.h>
void guard_enter(void);
unsigned guard_leave(void);     /* forbidden calls since guard_enter */
size_t guard_asked_bytes(void); /* of memory, since guard_enter */
#endif
