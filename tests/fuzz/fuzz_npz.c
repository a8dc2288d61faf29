/* SPDX-License-Identifier: MIT */
/* Any bytes as arrays of numpy, one and a zip of many: what is read has its elements, within the
 * limit. */
#include "models/npz.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#define BYTES_MAX (1 << 20)

/* Touches every byte, for sanitizers to see. */
static uint64_t bytes_sum(const struct tensor *t)
{
    uint64_t sum = 0;
    const uint8_t *at = t->data;
    for (size_t i = 0; i < tensor_bytes(t); i++)
        sum += at[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = 16 << 20 };
    struct npz z = { .n = 0 };
    const struct tensor *one;
    volatile uint64_t sum = 0;
    rill_error err;
    if (npy_read(&one, &a, data, n, &err) == RILL_OK)
        sum = bytes_sum(one);
    if (n && npz_of(&z, &a, data, n, BYTES_MAX, &err) == RILL_OK) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < z.n; i++) {
            sum += bytes_sum(z.list[i].t);
            bytes += tensor_bytes(z.list[i].t);
        }
        if (bytes > BYTES_MAX)
            abort();
    } else if (z.n) {
        abort(); /* outputs are untouched on failure */
    }
    arena_drop(&a);
    return 0;
}
