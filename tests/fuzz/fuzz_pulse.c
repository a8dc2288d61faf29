/* SPDX-License-Identifier: MIT */
/* Any bytes as a graph, good or not, for any pulse: it is cut or refused with words. */
#include "tests/fuzz/chain_bytes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct bytes_in b = { data, data + n };
    int pulse = take_int(&b, 0, 24);
    struct chain c = chain_take(&b, PARAMS_PAST);
    struct oracle o;
    enum verdict v = oracle_open(&o, chain_recipe, &c, NULL);
    if (v == LAW_HOLDS)
        v = oracle_pulse(&o, pulse);
    if (v == LAW_BROKEN || (v != LAW_HOLDS && !o.err.text[0]))
        abort();
    oracle_close(&o);
    return 0;
}
