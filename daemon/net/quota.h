/* SPDX-License-Identifier: MIT */
/* quota.h - whether a user may have one more of a limited number of places, and the errors of
 * refusals. */
#ifndef RILL_DAEMON_NET_QUOTA_H
#define RILL_DAEMON_NET_QUOTA_H

#include "daemon/base/memory.h"
#include "rilld.pb-c.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a user who has of_uid of the `held` places may have one more of `most`. Of the last
 * eighth nobody gets more than stay free, so that a later user gets one. */
bool place_free(uint32_t most, uint32_t held, uint32_t of_uid);
Rill__Code memory_code(enum memory_answer a); /* of a refused charge */
const char *memory_words(enum memory_answer a);

#endif
