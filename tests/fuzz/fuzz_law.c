/* SPDX-License-Identifier: MIT */
/* Any bytes as a graph, a pulse, a length and cuts: what the stream gives is what the whole run
 * gives, to the bit. */
#include "tests/fuzz/chain_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct bytes_in b = { data, data + n };
    int pulse = take_int(&b, 0, 20), length = take_int(&b, 0, 60);
    uint32_t cuts = take_u16(&b);
    struct chain c = chain_take(&b, 0);
    struct oracle o;
    enum verdict v = oracle_open(&o, chain_recipe, &c, NULL);
    o.zeros_agree = chain_attends(&c);
    if (v == LAW_HOLDS)
        v = oracle_pulse(&o, pulse);
    if (v == LAW_HOLDS)
        v = oracle_law(&o, length, cuts);
    if (v == LAW_BROKEN) {
        char text[1024];
        chain_print(&c, text, sizeof text);
        printf("RILL_GRAPH='%s' RILL_PULSE=%d RILL_LENGTH=%d RILL_TAPS=%d (cuts %u)\n    %s\n",
               text, pulse, length, c.taps, (unsigned) cuts, o.err.text);
        abort();
    }
    oracle_close(&o);
    return 0;
}
