/* SPDX-License-Identifier: MIT */
/* Real files fold to what a person would write: shape arithmetic, guards and repacked weights are
 * gone. */
#include "engine/graph/op.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "engine/typing/typed.h"
#include "models/onnx/reader.h"
#include "tests/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fold_case {
    const char *file;
    /* nodes with those of bodies: in the file as read, and at most after folding */
    unsigned stored, most;
    struct {
        const char *name;
        int rank;
        int64_t dim[3];
    } shape[3];
    int64_t rate; /* value of input `sr`; 0: there is none */
};

/* clang-format off */
static const struct fold_case cases[] = {
    { "silero_v6/silero_vad.onnx", 250, 44,
      { { "input", 2, { 1, 576 } }, { "state", 3, { 2, 1, 128 } } }, 16000 },
    { "silero_v6/silero_vad.onnx", 250, 44,
      { { "input", 2, { 1, 288 } }, { "state", 3, { 2, 1, 128 } } }, 8000 },
    { "silero_v6/silero_vad_16k_op15.onnx", 100, 44,
      { { "input", 2, { 1, 576 } }, { "state", 3, { 2, 1, 128 } } }, 16000 },
    { "silero_v6/silero_vad_op18_ifless.onnx", 40, 60,
      { { "input", 2, { 1, 576 } }, { "state", 3, { 2, 1, 128 } } }, 16000 },
    { "gtcrn/gtcrn.onnx", 1000, 449, { { 0 } }, 0 },
    { "gtcrn/gtcrn_simple.onnx", 415, 415, { { 0 } }, 0 },
};
/* clang-format on */

static void print_ops(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        unsigned n = 0;
        bool first = true;
        for (uint32_t k = 0; k < g->n_nodes; k++) {
            n += g->nodes[k].op == g->nodes[i].op;
            first &= k >= i || g->nodes[k].op != g->nodes[i].op;
        }
        if (first)
            printf(" %s %u", g->nodes[i].op->name, n);
    }
    putchar('\n');
}

static void fold(const struct fold_case *c, const struct mgraph *m, struct arena *a)
{
    struct typed_input in[4];
    unsigned n = 0;
    rill_error err = { 0 };
    for (unsigned i = 0; i < 3 && c->shape[i].name; i++) {
        struct tensor t = { .type = DTYPE_F32, .rank = c->shape[i].rank };
        memcpy(t.dim, c->shape[i].dim, sizeof c->shape[i].dim);
        in[n].name = c->shape[i].name;
        fact_of_tensor(&in[n].fact, m->g.dims, &t);
        in[n++].fact.value = NULL;
    }
    struct tensor rate = { .type = DTYPE_I64, .data = (void *) (uintptr_t) &c->rate };
    if (c->rate) {
        in[n].name = "sr";
        fact_of_tensor(&in[n++].fact, m->g.dims, &rate);
    }
    struct tgraph t;
    rill_status s =
        tgraph_from_mgraph(&t, m, &(struct typed_opts) { .inputs = in, .n_inputs = n }, &err);
    CHECK(s == RILL_OK, "%s: %s", c->file, err.text);
    if (s != RILL_OK)
        return;
    static const struct pass bypass = { "peepholes", true, graph_with_peepholes };
    CHECK(passes_run(&bypass, 1, &t.g, &t.g, NULL, &err) == RILL_OK, "%s: %s", c->file, err.text);
    unsigned left = graph_count_nodes(&t.g);
    printf("%s: %u nodes read, %u after folding\n", c->file, graph_count_nodes(&m->g), left);
    CHECK(left <= c->most, "%s: %u nodes are left, at most %u", c->file, left, c->most);
    if (left > c->most)
        print_ops(&t.g);
    for (uint32_t i = 0; i < t.g.n_nodes; i++)
        CHECK(t.g.nodes[i].n_body == 0, "%s: node '%s' keeps a body", c->file, t.g.nodes[i].name);
    (void) a;
}

static void run(const struct fold_case *c, const char *folder)
{
    char path[1024];
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct bytes b = { 0 };
    struct mgraph m;
    rill_error err = { 0 };
    snprintf(path, sizeof path, "%s/models/%s", folder ? folder : "", c->file);
    if (!folder || access(path, R_OK) != 0) {
        printf("skipped: %s (no folder of shared models)\n", c->file);
        check_skipped++;
    } else {
        CHECK(bytes_from_file(&b, path, 0, &err) == RILL_OK, "%s", err.text);
        rill_status s = mgraph_from_onnx(&m, &a, ds, &b, NULL, &err);
        CHECK(s == RILL_OK, "%s", err.text);
        bytes_drop(&b);
        if (s == RILL_OK) {
            CHECK(graph_count_nodes(&m.g) >= c->stored, "%s: only %u nodes were read", c->file,
                  graph_count_nodes(&m.g));
            fold(c, &m, &a);
        }
    }
    arena_drop(&a);
    dims_free(ds);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run(&cases[i], getenv("RILL_SHARED"));
    return check_done();
}
