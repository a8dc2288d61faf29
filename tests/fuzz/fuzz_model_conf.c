/* SPDX-License-Identifier: MIT */
/* Any bytes as model.conf. */
#include "models/conf.h"
#include "tests/fuzz/fuzz.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = 1 << 20 };
    struct model_conf c;
    rill_error err;
    char *text = malloc(n ? n : 1); /* of exact size */
    if (!text)
        abort();
    memcpy(text, data, n);
    (void) model_conf_parse(&c, &a, "fuzz.conf", text, n, &err);
    free(text);
    arena_drop(&a);
    return 0;
}
