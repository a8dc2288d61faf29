/* SPDX-License-Identifier: MIT */
/* Any bytes as NNEF text: read, then typed. Tensor files take the same way when
 * the bytes begin like one. Zero bytes divide texts: of the graph, of graph.quant and of a submodel
 * 'one', and values 'c'; behind them stands the tensor 'v'. */
#include "engine/typing/typed.h"
#include "lib/cut.h"
#include "models/nnef/dat.h"
#include "models/nnef/nnef.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define FILES 5

static void files_divide(struct folder_file *files, const uint8_t *data, size_t n)
{
    static const char *const names[FILES] = { "graph.nnef", "graph.quant", "one/graph.nnef",
                                              "c.json", "v.dat" };
    for (int i = 0; i < FILES; i++) {
        const uint8_t *end = i + 1 < FILES ? memchr(data, 0, n) : NULL;
        const size_t part = end ? (size_t) (end - data) : n;
        files[i] = (struct folder_file) { names[i], data, part };
        if (!end)
            return;
        data += part + 1;
        n -= part + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = (size_t) 64 << 20 };
    struct dims *ds = dims_new();
    struct nnef_limits limits = nnef_limits_default;
    struct folder_file files[FILES + 1] = { { NULL, NULL, 0 } };
    struct folder folder = { .fd = -1, .built_in = files, .path = "" };
    struct nnef_source source = {
        .file = "fuzz", .text = (const char *) data, .n = n, .cut = graph_cut_to_frames
    };
    struct mgraph m;
    struct tgraph t;
    struct tensor *dat;
    rill_error err;
    limits.nodes = 2000;
    limits.data_bytes = limits.literal_bytes = 1 << 20;
    if (memchr(data, 0, n) && n > 2 && data[0] != 0x4e) {
        files_divide(files, data, n);
        SHA256Init(&folder.digest);
        source.folder = &folder;
        source.n = files[0].n;
    }
    if (n > 2 && data[0] == 0x4e && data[1] == 0xef)
        tensor_from_dat(&dat, &a, data, n, "fuzz.dat", n % 2, &err);
    else if (ds && mgraph_from_nnef(&m, &a, ds, &source, &limits, &err) == RILL_OK)
        tgraph_from_mgraph(&t, &m, &(struct typed_opts) { .fold_bytes_max = 1 << 20 }, &err);
    arena_drop(&a);
    dims_free(ds);
    return 0;
}
