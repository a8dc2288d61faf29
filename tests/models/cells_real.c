/* SPDX-License-Identifier: MIT */
/* Published files that write their LSTM cells in primitive ops: each is found and becomes one node,
 * and a stream of it gives what is stored of the file. Without the shared folder they are
 * skipped. */
#include "lib/model.h"
#include "tests/models/models_test.h"
#include "check/step_model.h"

struct file {
    const char *path, *shapes[3], *constant, *state; /* what the file leaves open */
    unsigned n_cells;
    const char *in, *out; /* stored, chunk by chunk */
    unsigned chunks, in_floats, out_floats;
    float tolerance;
};

static const struct file files[] = {
    { "models/dtln/model_2.onnx",
      { "input_4=1,1,512", "input_5=1,2,128,2" },
      NULL,
      "input_5:tf_op_layer_stack_5",
      2,
      "models/dtln/ref/model_2.in.input_4.f32",
      "models/dtln/ref/model_2.out.conv1d_3.f32",
      160,
      512,
      512,
      1e-5f },
    { "models/silero_v6/silero_vad_op18_ifless.onnx",
      { "input=1,576", "state=2,1,128" },
      "sr=16000",
      "state:stateN",
      1,
      "models/silero_v6/ref/v6_16k.in.input.f32",
      "models/silero_v6/ref/v6_16k.out.output.f32",
      160,
      576,
      1,
      2e-5f },
};

static unsigned nodes_of(const struct graph *g, enum op_id op)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].op && node_is(&g->nodes[i], op);
    return n;
}

static unsigned nodes_after(const struct pass_log *log, const char *pass)
{
    for (unsigned i = 0; i < log->n; i++)
        if (!strcmp(log->at[i].name, pass))
            return log->at[i].nodes;
    return 0;
}

static void stream_check(const struct file *f, const rill_model *m, const float *x,
                         const float *want)
{
    rill_plan *p;
    rill_error err = { .text = "" };
    rill_port ports[8] = { { .struct_bytes = sizeof *ports } };
    float y[512], worst = 0;
    size_t moved;
    rill_status s = rill_plan_new(&p, m, NULL, &err);
    CHECK(s == RILL_OK, "%s", err.text);
    if (s != RILL_OK)
        return;
    unsigned n = rill_plan_ports(p, ports, 8), given = 0;
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64);
    float *state = malloc(512 * sizeof *state);
    if (!mem || !state)
        abort();
    rill_stream *stream = rill_stream_init(mem, p);
    for (unsigned k = 0; k < f->chunks; k++) {
        rill_stream_push(stream, 0, x + (size_t) k * f->in_floats, 1, &moved);
        rill_stream_run(stream);
        if (rill_stream_pull(stream, 1, y, 1, &moved) == RILL_OK)
            given += (unsigned) moved;
        for (unsigned i = 0; i < f->out_floats; i++)
            worst = fmaxf(worst, fabsf(y[i] - want[(size_t) k * f->out_floats + i]));
        for (unsigned i = 2; i < n; i++)
            rill_stream_pull(stream, i, state, 1, &moved);
    }
    CHECK(n > 1 && ports[0].width == f->in_floats && ports[1].width == f->out_floats,
          "other ports");
    CHECK(given == f->chunks, "%u of %u chunks", given, f->chunks);
    CHECK(worst <= f->tolerance, "%s: off by %g", f->path, (double) worst);
    printf("%s: %u cells, off by %g\n", f->path, f->n_cells, (double) worst);
    free(state);
    free(mem);
    rill_plan_unref(p);
}

static void file_check(const struct file *f)
{
    struct step_decl d = { .n_shapes = 0 };
    rill_model *m;
    rill_error err = { .text = "" };
    size_t n_in = 0, n_out = 0;
    float *x = file_read(shared_path(f->in), &n_in), *want = file_read(shared_path(f->out), &n_out);
    const char *path = shared_path(f->path);
    if (!path || !x || !want) {
        check_skipped++;
        printf("skipped %s\n", f->path);
        free(x);
        free(want);
        return;
    }
    bool told = step_decl_state(&d, f->state) && (!f->constant || step_decl_const(&d, f->constant));
    for (unsigned i = 0; f->shapes[i]; i++)
        told = step_decl_shape(&d, f->shapes[i]) && told;
    rill_status s = step_model_open(&m, path, &d, NULL, &err);
    CHECK(told && s == RILL_OK, "%s", err.text);
    CHECK(n_in == 4ul * f->chunks * f->in_floats && n_out == 4ul * f->chunks * f->out_floats,
          "%zu and %zu bytes", n_in, n_out);
    if (s == RILL_OK && n_in == 4ul * f->chunks * f->in_floats &&
        n_out == 4ul * f->chunks * f->out_floats) {
        unsigned before = nodes_after(&m->passes, "layer-norms"),
                 after = nodes_after(&m->passes, "cells");
        CHECK(nodes_of(&m->typed.g, OP_LSTM) == 0, "the file has LSTM nodes of its own");
        CHECK(nodes_of(&m->decluttered.g, OP_LSTM) == f->n_cells, "%s: %u LSTM nodes", f->path,
              nodes_of(&m->decluttered.g, OP_LSTM));
        /* A cell of primitive ops has eight at the least: gates, two products, two sums. */
        CHECK(after > 0 && after + 7 * f->n_cells <= before, "%s: %u nodes before, %u after",
              f->path, before, after);
        stream_check(f, m, x, want);
    }
    if (s == RILL_OK)
        rill_model_free(m);
    step_decl_drop(&d);
    free(x);
    free(want);
}

int main(void)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        file_check(&files[i]);
    return check_done();
}
