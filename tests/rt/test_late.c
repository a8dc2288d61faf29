/* SPDX-License-Identifier: MIT */
/* Where data decides sizes, a run of sizes that were there before allocates nothing, locks nothing
 * and writes nothing: with nothing new, with new data, and back and forth between sizes. argv:
 * folders of conformance/own. */
#include "check/step_model.h"
#include "engine/late/op.h"
#include "engine/graph/op.h"
#include "lib/model.h"
#include "models/onnx/reader.h"
#include "tests/check.h"
#include "tests/rt/guard.h"

#include <stdlib.h>
#include <string.h>

#define PORTS_MAX 16

struct model {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    const struct tensor *in[PORTS_MAX];
    struct size_source from[PORTS_MAX];
    struct late *late;
    rill_error err;
};

static rill_status data_read(struct model *o, const char *folder)
{
    for (uint32_t i = 0; i < o->m.g.n_inputs; i++) {
        char path[1000];
        struct bytes b = { 0 };
        snprintf(path, sizeof path, "%s/test_data_set_0/input_%u.pb", folder, i);
        TRY(bytes_from_file(&b, path, 0, &o->err));
        rill_status s = tensor_from_onnx(&o->in[i], &o->arena, &b, &o->err);
        bytes_drop(&b);
        TRY(s);
        o->from[i] = (struct size_source) { o->in[i], 1 };
    }
    return RILL_OK;
}

static rill_status model_open(struct model *o, const char *folder)
{
    const struct late_opts opts = { .cpu = kern_cpu_detect() };
    struct bytes b = { 0 };
    char path[1000];
    memset(o, 0, sizeof *o);
    o->dims = dims_new();
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    TRY(bytes_from_file(&b, path, 0, &o->err));
    rill_status s = mgraph_from_onnx(&o->m, &o->arena, o->dims, &b, NULL, &o->err);
    bytes_drop(&b);
    TRY(s);
    TRY(data_read(o, folder));
    return late_new(&o->late, &o->m.g, NULL, &opts, &o->err);
}

/* What the last input says less 1, if it is one whole number above 1. */
static int64_t *number_of(const struct model *o)
{
    const struct tensor *t = o->in[o->m.g.n_inputs - 1];
    return t->type == DTYPE_I64 && tensor_count(t) == 1 ? t->data : NULL;
}

static void run(struct model *o, const char *name, bool is_new, bool guarded)
{
    const struct tensor *out[PORTS_MAX];
    for (uint32_t i = 0; is_new && i < o->m.g.n_inputs; i++)
        o->from[i].writes++;
    if (guarded)
        guard_enter();
    rill_status s = late_run(o->late, o->from, out, &o->err);
    if (guarded)
        CHECK(guard_leave() == 0, "%s: a run allocates, locks or writes", name);
    CHECK(s == RILL_OK, "%s: %s", name, o->err.text);
}

static void test_model(const char *name)
{
    struct model o;
    struct late_counts before, after;
    rill_status s = model_open(&o, name);
    CHECK(s == RILL_OK, "%s: %s", name, o.err.text);
    for (int i = 0; s == RILL_OK && i < 6; i++)
        run(&o, name, true, false);
    late_count(o.late, &before);
    for (int i = 0; s == RILL_OK && i < 20; i++)
        run(&o, name, i % 3 != 0, true);
    int64_t *number = s == RILL_OK ? number_of(&o) : NULL;
    for (int i = 0; number && i < 24; i++) { /* first to make the plans, then guarded */
        *number += i % 2 ? 1 : -1;
        run(&o, name, true, i >= 8);
    }
    late_count(o.late, &after);
    CHECK(after.hits > before.hits && (number || after.plans == before.plans), "%s: %llu plans",
          name, LLU(after.plans - before.plans));
    late_free(o.late);
    arena_drop(&o.arena);
    dims_free(o.dims);
}

/* A step model whose caches grow, from room to room. */
static void steps_check(const rill_plan *p, const struct node *n, const char *name)
{
    struct late_counts before, after;
    rill_stream *s =
        rill_stream_init(aligned_alloc(64, rill_plan_stream_size(p) / 64 * 64 + 64), p);
    CHECK(late_node_count(n, &before), "%s: no graph whose sizes data decides", name);
    for (int64_t k = 0; k < 60; k++) {
        float y[24];
        size_t moved;
        const int64_t token = k % 24;
        guard_enter();
        const rill_status ran = rill_stream_push(s, 0, &token, 1, &moved) == RILL_OK
            ? rill_stream_run(s)
            : RILL_INTERNAL;
        rill_stream_pull(s, 1, y, 1, &moved);
        guard_leave();
        CHECK(ran == RILL_OK && guard_asked_bytes() == 0, "%s: step %d asks for %zu bytes", name,
              (int) k, guard_asked_bytes());
    }
    late_node_count(n, &after);
    CHECK(after.plans == before.plans && after.hits == before.hits + 60 &&
              after.grown == before.grown,
          "%s: %llu plans made by steps", name, LLU(after.plans - before.plans));
    free(s);
}

static void test_steps(const char *name)
{
    const rill_model_opts opts = { .struct_bytes = sizeof opts };
    struct step_decl d = { .reserve_frames = 100 };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_error err = { .text = "" };
    step_decl_const(&d, "attention_mask=1");
    rill_status s = step_decl_find_states(&d, name, &opts, &err);
    if (s == RILL_OK)
        s = step_model_open(&m, name, &d, &opts, &err);
    if (s == RILL_OK)
        s = rill_plan_new(&p, m, NULL, &err);
    CHECK(s == RILL_OK, "%s: %s", name, err.text);
    if (s == RILL_OK)
        steps_check(p, &m->decluttered.g.nodes[0], name);
    rill_plan_unref(p);
    rill_model_free(m);
    step_decl_drop(&d);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        (strstr(argv[i], ".onnx") ? test_steps : test_model)(argv[i]);
    return check_done();
}
