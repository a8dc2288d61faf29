/* SPDX-License-Identifier: MIT */
/* Any bytes as an ONNX file: read, typed, then decluttered. */
#include "engine/rewrite/declutter/declutter.h"
#include "engine/typing/typed.h"
#include "models/onnx/reader.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = (size_t) 64 << 20 };
    struct dims *ds = dims_new();
    struct bytes b = { .data = data, .n = n };
    struct onnx_limits limits = { .unpack_bytes = (uint64_t) 16 << 20,
                                  .tensor_bytes = (uint64_t) 16 << 20 };
    struct mgraph m;
    struct tgraph t;
    struct dgraph d;
    rill_error err;
    if (ds && mgraph_from_onnx(&m, &a, ds, &b, &limits, &err) == RILL_OK &&
        tgraph_from_mgraph(&t, &m, &(struct typed_opts) { .fold_bytes_max = 1 << 20 }, &err) ==
            RILL_OK)
        dgraph_from_tgraph(&d, &t, NULL, &err);
    arena_drop(&a);
    dims_free(ds);
    return 0;
}
