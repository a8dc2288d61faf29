/* SPDX-License-Identifier: MIT */
#include "daemon/net/quota.h"

#define KEPT_PART 8 /* the last part of the places, of which nobody gets more than stay free */

bool place_free(uint32_t most, uint32_t held, uint32_t of_uid)
{
    uint32_t left = most > held ? most - held : 0;
    return left && (left > most / KEPT_PART || of_uid < left);
}

Rill__Code memory_code(enum memory_answer a)
{
    return a == MEMORY_QUOTA ? RILL__CODE__QUOTA : RILL__CODE__OVERLOADED;
}

const char *memory_words(enum memory_answer a)
{
    return a == MEMORY_QUOTA ? "it would take more memory than one user may (max_bytes_per_uid)"
                             : "memory is short: what is free of memory_max is needed or kept for "
                               "others; try again later";
}
