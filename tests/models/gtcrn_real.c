/* SPDX-License-Identifier: MIT */
/* Two forms of one network: the published GTCRN, one frame a run with its state by hand, and our
 * whole-sequence graph of that topology with the same weights. The whole run and the stream give
 * what is stored of the published form. */
#include "models/onnx/reader.h"
#include "lib/pipeline.h"
#include "lib/typing.h"
#include "check/law.h"
#include "tests/models/models_test.h"

#define BINS 257
#define FRAMES 120
#define FRAME_FLOATS (2 * BINS)
#define ROWS_MAX 80
#define PLACES_MAX 4
#define TOLERANCE 2e-5f

/* ---- weights: both graphs run the same layers in the same order, the k-th node of a kind has the
 * k-th weights ---- */

struct kind {
    const char *op;
    int places[PLACES_MAX];
    unsigned n_places, n_rows;
};

static const struct kind kinds[] = {
    { "Conv", { 1, 2 }, 2, 11 },
    { "ConvTranspose", { 1, 2 }, 2, 11 },
    { "BatchNormalization", { 1, 2, 3, 4 }, 4, 11 },
    { "PRelu", { 1 }, 1, 15 },
    { "GRU", { 1, 2, 3 }, 3, 14 },
    { "MatMul", { 1 }, 1, 12 },
    { "Add", { 0, 1 }, 2, 14 },
    { "Mul", { 0, 1 }, 2, 4 },
};

struct row {
    uint32_t wire[PLACES_MAX];
    unsigned n;
};

/* Biases and the scales of normalisation; not what else is added or multiplied. */
static bool is_weight(const struct kind *k, const struct tensor *t)
{
    if (strcmp(k->op, "Add") && strcmp(k->op, "Mul"))
        return tensor_count(t) > 1 || !strcmp(k->op, "PRelu");
    return (t->rank == 1 && (t->dim[0] == 8 || t->dim[0] == 16)) ||
        (t->rank == 2 && t->dim[0] == 33 && t->dim[1] == 16);
}

static unsigned rows_find(const struct graph *g, const struct kind *k, struct row *rows)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        struct row r = { .n = 0 };
        for (unsigned p = 0; p < k->n_places && !strcmp(node->op->name, k->op); p++) {
            uint32_t w = (unsigned) k->places[p] < node->n_in ? node->in[k->places[p]] : WIRE_NONE;
            const struct tensor *t = w == WIRE_NONE ? NULL : g->wires[w].fact.value;
            if (t && is_weight(k, t))
                r.wire[r.n++] = w;
        }
        if (r.n && n < ROWS_MAX)
            rows[n++] = r;
    }
    return n;
}

static void weights_take(struct graph *to, const struct graph *from, const struct kind *k)
{
    struct row a[ROWS_MAX], b[ROWS_MAX];
    unsigned n = rows_find(from, k, a), m = rows_find(to, k, b);
    CHECK(n == m && n == k->n_rows,
          "%s: %u nodes with weights in the step form, %u in the whole, not %u", k->op, n, m,
          k->n_rows);
    for (unsigned i = 0; i < n && i < m; i++)
        for (unsigned p = 0; p < a[i].n && p < b[i].n; p++) {
            struct fact *f = &to->wires[b[i].wire[p]].fact;
            const struct fact *v = &from->wires[a[i].wire[p]].fact;
            CHECK(a[i].n == b[i].n && fact_same(f, v), "%s %u, weight %u: another shape", k->op, i,
                  p);
            if (fact_same(f, v))
                f->value = v->value;
        }
}

static bool graph_read(rill_model *m, struct mgraph *ret, const char *path, rill_error *err)
{
    struct bytes b = { 0 };
    bool ok = bytes_from_file(&b, path, 0, err) == RILL_OK &&
        mgraph_from_onnx(ret, &m->arena, m->dims, &b, NULL, err) == RILL_OK;
    CHECK(ok, "%s: %s", path, err->text);
    bytes_drop(&b);
    return ok;
}

static bool model_make(rill_model *m, const char *step_path)
{
    struct mgraph step;
    rill_error err = { .text = "" };
    const struct time_choice time = { .guess_by_name = true };
    if (!graph_read(m, &step, step_path, &err) ||
        !graph_read(m, &m->mgraph, source_path("tests/models/zoo/gtcrn/model.onnx"), &err))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        weights_take(&m->mgraph.g, &step.g, &kinds[i]);
    bool ok = model_type(m, &m->mgraph, &time, &m->typed, NULL, &err) == RILL_OK;
    CHECK(ok && m->stream, "%s", err.text);
    m->decluttered.g = m->typed.g;
    return ok && m->stream;
}

/* ---- the same frames through both ---- */

/* Frames [n][257][2] as the whole sequence [1,257,n,2]. */
static float *transposed(const float *x, size_t frames)
{
    float *y = malloc(frames * FRAME_FLOATS * sizeof *y);
    for (size_t t = 0; y && t < frames; t++)
        for (size_t f = 0; f < BINS; f++)
            memcpy(&y[2 * (f * frames + t)], &x[t * FRAME_FLOATS + 2 * f], 2 * sizeof *y);
    return y;
}

static void whole_test(const rill_model *m, const float *x, const float *want)
{
    struct arena a = { 0 };
    struct tensor in = {
        .type = DTYPE_F32, .rank = 4, .dim = { 1, BINS, FRAMES, 2 }, .data = transposed(x, FRAMES)
    };
    const struct tensor *ins[] = { &in }, *out = NULL;
    rill_error err = { .text = "" };
    float *y = transposed(want, FRAMES);
    bool ok = interp_run(&m->decluttered.g, ins, &a, &out, &err) == RILL_OK &&
        tensor_count(out) == FRAMES * FRAME_FLOATS;
    CHECK(ok, "whole run: %s", err.text);
    if (ok) {
        float d = max_difference(out->data, y, FRAMES * FRAME_FLOATS);
        printf("whole run: within %g of the published form\n", (double) d);
        CHECK(d <= TOLERANCE, "whole run: %g from the published form", (double) d);
    }
    free(in.data);
    free(y);
    arena_drop(&a);
}

static void stream_test(const rill_model *m, uint32_t pulse, const float *x, const float *want)
{
    rill_error err = { .text = "" };
    struct floats y =
        model_run_pulse(m, (struct floats) { (float *) (uintptr_t) x, FRAMES * FRAME_FLOATS }, 7,
                        pulse, &err);
    CHECK(y.n == FRAMES * FRAME_FLOATS, "pulse %u: %zu values: %s", pulse, y.n, err.text);
    float d = y.n == FRAMES * FRAME_FLOATS ? max_difference(y.v, want, y.n) : 0;
    printf("pulse %u: within %g of the published form\n", pulse, (double) d);
    CHECK(d <= TOLERANCE, "pulse %u: %g from the published form", pulse, (double) d);
    free(y.v);
}

static void law_test(const rill_model *m, int64_t pulse)
{
    const struct law_opts o = { .pulse = pulse, .length = 50, .seed = 7 };
    struct law_result r;
    rill_error err = { .text = "" };
    CHECK(law_check(m, &o, &r, &err) == RILL_OK && r.holds && r.same_bits, "pulse %d: %s%s",
          (int) pulse, err.text, r.where);
}

int main(void)
{
    static const uint32_t pulses[] = { 1, 3, 8, 50 };
    char step[8192];
    const char *at = shared_path("models/gtcrn/gtcrn_simple.onnx");
    if (!at) {
        printf("skipped: no shared folder with the published weights\n");
        check_skipped++;
        return check_done();
    }
    snprintf(step, sizeof step, "%s", at);
    struct floats x = floats_read(shared_path("models/gtcrn/ref/gtcrn_simple.in.mix.f32"));
    struct floats want = floats_read(shared_path("models/gtcrn/ref/gtcrn_simple.out.enh.f32"));
    rill_model *m = model_new();
    m->stages = &model_unfinished;
    CHECK(x.n == FRAMES * FRAME_FLOATS && want.n == x.n, "%zu and %zu stored values", x.n, want.n);
    if (x.n == FRAMES * FRAME_FLOATS && want.n == x.n && model_make(m, step)) {
        whole_test(m, x.v, want.v);
        for (size_t i = 0; i < sizeof pulses / sizeof *pulses; i++) {
            stream_test(m, pulses[i], x.v, want.v);
            law_test(m, pulses[i]);
        }
    }
    rill_model_free(m);
    free(x.v);
    free(want.v);
    return check_done();
}
