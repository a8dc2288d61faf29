/* SPDX-License-Identifier: MIT */
/* Any bytes as an ONNX file whose sizes data decides: planned as data comes, over sizes and numbers
 * that change. */
#include "engine/graph/op.h"
#include "engine/late/late.h"
#include "models/onnx/reader.h"
#include "tests/fuzz/fuzz.h"

#define PORTS_MAX 16
#define COUNT_MAX 4096
#define RUNS 4

/* What an input is in that run; NULL: nothing that fits. */
static const struct tensor *input_make(struct arena *a, const struct fact *f, unsigned run)
{
    int64_t dim[RANK_MAX], count = 1;
    if (f->type == DTYPE_NONE || f->type == DTYPE_DIM || f->rank < 0)
        return NULL;
    for (int k = 0; k < f->rank; k++) {
        dim[k] = dim_is_const(f->shape[k]) ? dim_value(f->shape[k]) : 1 + (run + (unsigned) k) % 3;
        if (dim[k] < 0 || dim[k] > COUNT_MAX || (count *= dim[k]) > COUNT_MAX)
            return NULL;
    }
    struct tensor *t = tensor_new(a, f->type, f->rank, dim);
    for (int64_t k = 0; t && k < count; k++)
        tensor_set_f64(t, t->data, k, (double) ((k * 7 + run * 5) % 9) - (run == 2 ? 3 : 0));
    return t;
}

static void model_run(struct late *l, const struct graph *g)
{
    struct size_source in[PORTS_MAX];
    const struct tensor *out[PORTS_MAX];
    rill_error err;
    for (unsigned run = 0; run < RUNS; run++) {
        struct arena a = { 0 };
        bool all = true;
        for (uint32_t i = 0; i < g->n_inputs; i++) {
            in[i] = (struct size_source) { input_make(&a, &g->wires[g->inputs[i]].fact, run), run };
            all &= in[i].t != NULL;
        }
        if (all && late_run(l, in, out, &err) == RILL_OK)
            late_run(l, in, out, &err);
        arena_drop(&a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = (size_t) 64 << 20 };
    struct dims *ds = dims_new();
    struct bytes b = { .data = data, .n = n };
    struct onnx_limits limits = { .unpack_bytes = (uint64_t) 4 << 20,
                                  .tensor_bytes = (uint64_t) 4 << 20 };
    const struct late_opts opts = { .cpu = kern_cpu_detect(),
                                    .bytes_max = 4 << 20,
                                    .trips_max = 40 };
    struct late *l = NULL;
    struct mgraph m;
    rill_error err;
    if (ds && mgraph_from_onnx(&m, &a, ds, &b, &limits, &err) == RILL_OK &&
        m.g.n_inputs <= PORTS_MAX && m.g.n_outputs <= PORTS_MAX &&
        late_new(&l, &m.g, NULL, &opts, &err) == RILL_OK)
        model_run(l, &m.g);
    late_free(l);
    arena_drop(&a);
    dims_free(ds);
    return 0;
}
