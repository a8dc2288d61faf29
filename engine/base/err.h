/* SPDX-License-Identifier: MIT */
/* err.h - one failure, described once, where it happened. */
#ifndef RILL_ENGINE_BASE_ERR_H
#define RILL_ENGINE_BASE_ERR_H
#include "rill.h"

/* Returns s, so that a check and its report are one statement. e may be NULL. Control bytes, which
 * names from files may hold, become question marks. */
__attribute__((format(printf, 3, 4))) rill_status err_set(rill_error *e, rill_status s,
                                                          const char *fmt, ...);

/* Puts "what: " in front of a description that a callee wrote; returns s. */
__attribute__((format(printf, 3, 4))) rill_status err_prefix(rill_error *e, rill_status s,
                                                             const char *fmt, ...);

/* Passes a failure up; the callee has already described it. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        rill_status s_ = (call);                                                                   \
        if (s_ != RILL_OK)                                                                         \
            return s_;                                                                             \
    } while (0)
#endif
