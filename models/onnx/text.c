/* SPDX-License-Identifier: MIT */
#include "models/onnx/internal.h"

#include <string.h>

rill_status no_memory(const struct reader *r)
{
    return err_set(r->err, RILL_NOMEM,
                   "out of memory while reading a model (limit %zu bytes, 0: none)",
                   r->arena->limit_bytes);
}

const char *onnx_text(struct arena *a, ProtobufCBinaryData b)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = 0;
    for (size_t i = 0; i < b.len; i++)
        n += b.data[i] < 32 || b.data[i] > 126 || b.data[i] == '\\' ? 4 : 1;
    if (n == 0)
        return "";
    char *s = arena_alloc(a, n + 1), *at = s;
    for (size_t i = 0; s && i < b.len; i++) {
        uint8_t c = b.data[i];
        if (c < 32 || c > 126 || c == '\\') {
            *at++ = '\\';
            *at++ = 'x';
            *at++ = hex[c >> 4];
            *at++ = hex[c & 15];
        } else {
            *at++ = (char) c;
        }
    }
    return s;
}

bool onnx_is_default_domain(ProtobufCBinaryData d)
{
    return d.len == 0 || (d.len == 7 && !memcmp(d.data, "ai.onnx", 7));
}
