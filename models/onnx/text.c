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
    return b.len ? arena_printable(a, b.data, b.len) : "";
}

const char **onnx_texts(struct arena *a, const ProtobufCBinaryData *b, size_t n)
{
    const char **v = arena_array(a, const char *, n + 1);
    for (size_t i = 0; v && i < n; i++)
        if (!(v[i] = onnx_text(a, b[i])))
            return NULL;
    return v;
}

bool onnx_is_default_domain(ProtobufCBinaryData d)
{
    return d.len == 0 || (d.len == 7 && !memcmp(d.data, "ai.onnx", 7));
}
