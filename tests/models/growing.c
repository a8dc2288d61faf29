/* SPDX-License-Identifier: MIT */
/* Step models whose caches grow by a frame a step, as streams of the library: decoders give what
 * ONNX Runtime gives (growing/make.py), streams of one plan have caches of their own, and one that
 * is full says so. */
#include "check/step_model.h"
#include "engine/late/op.h"
#include "tests/models/models_test.h"

#define VOCABULARY 24
#define STEPS 20

struct opened {
    struct step_decl decl;
    rill_model *model;
    rill_plan *plan;
    rill_error err;
};

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "tests/models/growing/%s", name);
    return source_path(path);
}

static bool opened_set(struct opened *o, const char *name, const char *shape, int64_t reserve,
                       const char *const *set)
{
    const char *path = in_folder(name);
    const rill_model_opts opts = { .struct_bytes = sizeof opts, .set = set };
    memset(o, 0, sizeof *o);
    o->decl.reserve_frames = reserve;
    if (shape)
        step_decl_shape(&o->decl, shape);
    if (strcmp(name, "sums.onnx") != 0 && strcmp(name, "merged.onnx") != 0)
        step_decl_const(&o->decl, "attention_mask=1");
    rill_status s = step_decl_find_states(&o->decl, path, &opts, &o->err);
    if (s == RILL_OK)
        s = step_model_open(&o->model, path, &o->decl, &opts, &o->err);
    if (s == RILL_OK)
        s = rill_plan_new(&o->plan, o->model, NULL, &o->err);
    return s == RILL_OK;
}

static bool opened_make(struct opened *o, const char *name, const char *shape, int64_t reserve)
{
    return opened_set(o, name, shape, reserve, NULL);
}

static void opened_drop(struct opened *o)
{
    rill_plan_unref(o->plan);
    rill_model_free(o->model);
    step_decl_drop(&o->decl);
}

static rill_stream *stream_new(const rill_plan *p)
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64);
    if (!mem)
        abort();
    return rill_stream_init(mem, p);
}

static rill_status step_run(rill_stream *s, const void *x, float *y)
{
    size_t moved;
    rill_status ran = rill_stream_push(s, 0, x, 1, &moved);
    if (ran == RILL_OK)
        ran = rill_stream_run(s);
    return ran == RILL_OK ? rill_stream_pull(s, 1, y, 1, &moved) : ran;
}

/* ---- decoders ---- */

static void *stored(const char *name, const char *end, size_t bytes)
{
    char file[64];
    size_t n = 0;
    snprintf(file, sizeof file, "%s%s", name, end);
    void *data = file_read(in_folder(file), &n);
    CHECK(data && n == bytes, "%s: %zu bytes, not %zu", file, n, bytes);
    return data;
}

#define ROOMS 7 /* of 16, 32, .. 1024 frames, which are reserved */

/* Steps make no plan, and the weights are laid out once. */
static void plans_check(const rill_model *m, unsigned steps, size_t *packed_bytes)
{
    struct late_counts n;
    CHECK(late_node_count(&m->decluttered.g.nodes[0], &n), "no graph whose sizes data decides");
    CHECK(n.plans == ROOMS && n.hits == steps && !n.misses,
          "%u steps: %llu plans, %llu hits, %llu misses", steps, (unsigned long long) n.plans,
          (unsigned long long) n.hits, (unsigned long long) n.misses);
    CHECK(n.packed_bytes > 0 && (!*packed_bytes || n.packed_bytes == *packed_bytes),
          "%u steps: %zu bytes of weights, were %zu", steps, n.packed_bytes, *packed_bytes);
    *packed_bytes = n.packed_bytes;
}

static void steps_check(const rill_model *m, const rill_plan *p, const char *name,
                        const float *want, const int64_t *tokens)
{
    rill_stream *s = stream_new(p);
    size_t packed_bytes = 0;
    for (unsigned begun = 0; begun < 2; begun++) { /* and again after a reset */
        for (unsigned k = 0; k < STEPS; k++) {
            float y[VOCABULARY], worst = 0;
            rill_status ran = step_run(s, &tokens[k], y);
            CHECK(ran == RILL_OK, "%s: step %u: %d", name, k, ran);
            for (unsigned i = 0; i < VOCABULARY; i++)
                worst = fmaxf(worst, fabsf(y[i] - want[k * VOCABULARY + i]));
            CHECK(worst < 4e-6f, "%s: step %u differs by %g", name, k, (double) worst);
            plans_check(m, begun * STEPS + k + 1, &packed_bytes);
        }
        rill_stream_reset(s);
    }
    free(s);
}

static void test_decoder(const char *name, const char *shape)
{
    struct opened o;
    char model[64];
    float *want = stored(name, ".f32", STEPS * VOCABULARY * sizeof *want);
    int64_t *tokens = stored("tokens", ".i64", STEPS * sizeof *tokens);
    snprintf(model, sizeof model, "%s.onnx", name);
    CHECK(opened_make(&o, model, shape, 0), "%s", o.err.text);
    if (o.plan && want && tokens)
        steps_check(o.model, o.plan, name, want, tokens);
    opened_drop(&o);
    free(want);
    free(tokens);
}

/* ---- two bodies in one ---- */

/* The first step has no cache and makes that of what was heard; a reset begins with it again. */
static void test_merged(void)
{
    static const char *const set[] = { "encoder_sequence_length=12", NULL };
    struct opened o;
    rill_plan_info info = { .struct_bytes = sizeof info };
    float *want = stored("merged", ".f32", STEPS * VOCABULARY * sizeof *want),
          *heard = stored("merged", ".heard.f32", 12 * 16 * sizeof *heard);
    int64_t *tokens = stored("tokens", ".i64", STEPS * sizeof *tokens);
    CHECK(opened_set(&o, "merged.onnx", NULL, 0, set), "%s", o.err.text);
    rill_stream *s = o.plan && want && heard && tokens ? stream_new(o.plan) : NULL;
    for (unsigned k = 0; s && k < 2 * STEPS; k++) {
        float y[VOCABULARY], worst = 0;
        size_t moved;
        if (k == STEPS)
            rill_stream_reset(s);
        CHECK(rill_stream_push(s, 0, &tokens[k % STEPS], 1, &moved) == RILL_OK &&
                  rill_stream_push(s, 1, heard, 1, &moved) == RILL_OK &&
                  rill_stream_run(s) == RILL_OK && rill_stream_pull(s, 2, y, 1, &moved) == RILL_OK,
              "step %u", k);
        for (unsigned i = 0; i < VOCABULARY; i++)
            worst = fmaxf(worst, fabsf(y[i] - want[k % STEPS * VOCABULARY + i]));
        CHECK(worst < 4e-6f, "step %u differs by %g", k, (double) worst);
    }
    if (s)
        CHECK(rill_plan_get_info(o.plan, &info) == RILL_OK && info.weights_bytes > 34000,
              "%llu bytes of weights", (unsigned long long) info.weights_bytes);
    free(s);
    opened_drop(&o);
    free(want);
    free(heard);
    free(tokens);
}

/* ---- caches that change places ---- */

/* What two caches have, summed, after each has taken its number and they have changed places. */
struct sums {
    float a, b;
};

static float sums_step(struct sums *s, float x)
{
    const float a = s->a + x, b = s->b - x;
    *s = (struct sums) { b, a };
    return a + 2 * b;
}

static bool sums_right(rill_stream *s, struct sums *want, float x)
{
    const float in[3] = { x, 2 * x, -x };
    float y[3];
    const float right = sums_step(want, x);
    return step_run(s, in, y) == RILL_OK && y[0] == right && y[1] == 2 * right && y[2] == -right;
}

static void test_streams(void)
{
    struct opened o;
    CHECK(opened_make(&o, "sums.onnx", NULL, 0), "%s", o.err.text);
    if (!o.plan)
        return;
    rill_stream *one = stream_new(o.plan), *other = stream_new(o.plan);
    struct sums a = { 0 }, b = { 0 };
    for (int k = 0; k < 12; k++) { /* the one has twice as many frames as the other */
        CHECK(sums_right(one, &a, (float) k), "step %d", 2 * k);
        CHECK(sums_right(one, &a, (float) (k * k)), "step %d", 2 * k + 1);
        CHECK(sums_right(other, &b, (float) (k - 5)), "other step %d", k);
    }
    rill_stream_reset(one);
    a = (struct sums) { 0 };
    CHECK(sums_right(one, &a, 3), "after a reset");
    CHECK(sums_right(other, &b, 3), "another stream after a reset of the one");
    free(one);
    free(other);
    opened_drop(&o);
}

static void test_full(void)
{
    struct opened o;
    float y[3];
    const float x[3] = { 1, 2, 3 };
    struct sums a = { 0 };
    rill_error err = { .text = "" };
    CHECK(opened_make(&o, "sums.onnx", NULL, 5), "%s", o.err.text);
    if (!o.plan)
        return;
    rill_stream *s = stream_new(o.plan);
    for (int k = 0; k < 5; k++)
        CHECK(sums_right(s, &a, (float) k), "step %d", k);
    CHECK(step_run(s, x, y) == RILL_INVALID, "a sixth frame");
    CHECK(rill_stream_fault(s, &err) == RILL_INVALID && strstr(err.text, "past_a") &&
              strstr(err.text, "reserved are 5"),
          "'%s'", err.text);
    rill_stream_reset(s);
    a = (struct sums) { 0 };
    CHECK(sums_right(s, &a, 4), "after a reset");
    free(s);
    opened_drop(&o);
}

/* In a room that is no whole one, as far as is reserved. */
static void test_room_full(void)
{
    struct opened o;
    float y[VOCABULARY];
    int64_t *tokens = stored("tokens", ".i64", STEPS * sizeof *tokens);
    rill_error err = { .text = "" };
    CHECK(opened_make(&o, "matmul.onnx", NULL, 18), "%s", o.err.text);
    rill_stream *s = o.plan && tokens ? stream_new(o.plan) : NULL;
    for (int k = 0; s && k < 18; k++)
        CHECK(step_run(s, &tokens[k], y) == RILL_OK, "step %d", k);
    if (s) {
        CHECK(step_run(s, &tokens[18], y) == RILL_INVALID, "a 19th frame");
        CHECK(rill_stream_fault(s, &err) == RILL_INVALID &&
                  strstr(err.text, "state 'past_key_values.0.key' has grown to 19 frames") &&
                  strstr(err.text, "reserved are 18: reserve more"),
              "'%s'", err.text);
    }
    free(s);
    opened_drop(&o);
    free(tokens);
}

/* ---- what is refused ---- */

static void test_refused(void)
{
    static const struct {
        const char *model, *shape, *why;
    } refused[] = {
        { "grouped.onnx", NULL, "attention_mask" },
        { "grouped.onnx", "attention_mask=1,past_sequence_length*past_sequence_length",
          "attention_mask" },
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct opened o;
        CHECK(!opened_make(&o, refused[i].model, refused[i].shape, 0) && !o.plan, "%s opens",
              refused[i].model);
        CHECK(strstr(o.err.text, refused[i].why), "'%s'", o.err.text);
        opened_drop(&o);
    }
}

int main(void)
{
    test_decoder("matmul", NULL);
    test_decoder("attention", NULL);
    test_decoder("grouped", "attention_mask=1,past_sequence_length+1");
    test_merged();
    test_streams();
    test_full();
    test_room_full();
    test_refused();
    return check_done();
}
