/* SPDX-License-Identifier: MIT */
/* Any bytes as NNEF text: read, then typed. Tensor files take the same way when
 * the bytes begin like one. */
#include "engine/typing/typed.h"
#include "lib/cut.h"
#include "models/nnef/dat.h"
#include "models/nnef/nnef.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = (size_t) 64 << 20 };
    struct dims *ds = dims_new();
    struct nnef_limits limits = nnef_limits_default;
    struct nnef_source source = {
        .file = "fuzz", .text = (const char *) data, .n = n, .cut = graph_cut_to_frames
    };
    struct mgraph m;
    struct tgraph t;
    struct tensor *dat;
    rill_error err;
    limits.nodes = 2000;
    limits.data_bytes = limits.literal_bytes = 1 << 20;
    if (n > 2 && data[0] == 0x4e && data[1] == 0xef)
        tensor_from_dat(&dat, &a, data, n, "fuzz.dat", &err);
    else if (ds && mgraph_from_nnef(&m, &a, ds, &source, &limits, &err) == RILL_OK)
        tgraph_from_mgraph(&t, &m, &(struct typed_opts) { .fold_bytes_max = 1 << 20 }, &err);
    arena_drop(&a);
    dims_free(ds);
    return 0;
}
