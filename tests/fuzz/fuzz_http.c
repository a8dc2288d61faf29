/* SPDX-License-Identifier: MIT */
/* Any bytes as a request for figures: one decision at some byte, which more bytes do not change;
 * its answer has a head. */
#include "daemon/net/http.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static struct http_decision decide_exact(const uint8_t *data, size_t n)
{
    char *exact = malloc(n ? n : 1);
    if (!exact)
        abort();
    memcpy(exact, data, n);
    struct http_decision d = http_decide(exact, n);
    free(exact);
    return d;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct http_decision first = { 0 };
    char head[1024];
    for (size_t k = 0; k <= n && k < 2 * HTTP_REQUEST_BYTES; k++) {
        struct http_decision d = decide_exact(data, k);
        if (first.status &&
            (d.status != first.status || d.page != first.page || d.open != first.open))
            abort();
        if (!d.status && k > HTTP_REQUEST_BYTES)
            abort();
        if ((d.status == 200) != (d.page != HTTP_NONE))
            abort();
        first = d;
    }
    if (!first.status)
        return 0;
    size_t bytes = http_head(head, sizeof head, first.status, "text/plain", n);
    if (bytes >= sizeof head || !*http_reason(first.status) || bytes < 4 ||
        memcmp(head + bytes - 4, "\r\n\r\n", 4) != 0)
        abort();
    return 0;
}
