/* SPDX-License-Identifier: MIT */
/* A file of fixed sizes, opened along time by a declared shape: the constant targets of its
 * Reshapes follow, and it gives the numbers of the file that was written for another length. */
#include "check/step_model.h"
#include "engine/graph/subst.h"
#include "engine/typing/interp.h"
#include "engine/typing/typed.h"
#include "models/export/export.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WRITTEN = 16, OTHER = 22 };

static char path[64];

static int64_t frames(const struct gb *b)
{
    return dim_value(b->time);
}

static uint32_t reshape(struct gb *b, uint32_t x, unsigned n, const int64_t *to)
{
    return GB(b, "Reshape", "", x, gb_ints_of(b, n, to));
}

#define RESHAPE(b, x, ...)                                                                         \
    reshape((b), (x), (unsigned) (sizeof(int64_t[]) { __VA_ARGS__ } / sizeof(int64_t)),            \
            (const int64_t[]) { __VA_ARGS__ })

/* As many features as frames: where an axis stands tells it from another. */
static void heads(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WRITTEN);
    x = GB(b, "Tanh", "", RESHAPE(b, x, 1, frames(b), 4, 4));
    x = gb_transpose(b, x, "0,2,1,3");
    x = GB(b, "MatMul", "", x, gb_weights(b, 2, 4, 4));
    gb_output(b, RESHAPE(b, gb_transpose(b, x, "0,2,1,3"), 1, frames(b), WRITTEN));
}

static void merged(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 4, 1, GB_TIME, 2, 3);
    x = GB(b, "MatMul", "", RESHAPE(b, x, frames(b) * 2, 3), gb_weights(b, 2, 3, 5));
    gb_output(b, RESHAPE(b, x, 1, frames(b), 10));
}

static void strided(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 4, GB_TIME);
    x = GB(b, "Conv", "strides=2", x, gb_weights(b, 3, 6, 4, 2));
    x = RESHAPE(b, x, 1, 2, 3, frames(b) / 2);
    gb_output(b, GB(b, "Sigmoid", "", RESHAPE(b, x, 0, 6, -1)));
}

static void open_already(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 6);
    gb_output(b, RESHAPE(b, RESHAPE(b, x, 0, -1, 2, 3), 1, -1, 6));
}

static void parts(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 6);
    x = RESHAPE(b, x, 1, frames(b) / 2, 2, 6);
    gb_output(b, GB(b, "Relu", "", x));
}

/* Four frames side by side, as many features as twice the old length: which one follows? */
static void side_by_side(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 8);
    gb_output(b, GB(b, "Tanh", "", RESHAPE(b, x, 1, frames(b) / 4, 32)));
}

/* As many as the old length itself. */
static void side_by_side_equal(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 4);
    gb_output(b, GB(b, "Tanh", "", RESHAPE(b, x, 1, frames(b) / 4, 16)));
}

/* The same, of which weights say that they are features. */
static void stacked(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 16);
    x = GB(b, "Tanh", "", RESHAPE(b, x, 1, frames(b) / 4, 64));
    gb_output(b, GB(b, "MatMul", "", x, gb_weights(b, 2, 64, 5)));
}

/* Weights from frame to frame: no length but the old one would do. */
static void mixed(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 16);
    x = RESHAPE(b, x, 1, frames(b) / 4, 64);
    gb_output(b, GB(b, "MatMul", "", gb_weights(b, 2, 4, 4), x));
}

static void apart(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 4, 1, GB_TIME, 2, 4);
    x = GB(b, "Tanh", "", RESHAPE(b, x, frames(b) * 2, 4));
    gb_output(b, RESHAPE(b, x, 1, frames(b), 8)); /* and half the old length */
}

/* One frame a run, as a step model has it. */
static void one_frame(struct gb *b, const void *ctx)
{
    (void) ctx;
    bool step = frames(b) == WRITTEN;
    uint32_t x = step ? gb_input(b, "x", 3, 1, 1, 6) : gb_input(b, "x", 3, 1, GB_TIME, 6);
    x = RESHAPE(b, x, 1, step ? 1 : frames(b), 2, 3);
    gb_output(b, RESHAPE(b, GB(b, "Tanh", "", x), 1, step ? 1 : frames(b), 6));
}

/* Windows of 8 frames behind two that are put in front and six behind. */
static void windows(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 6);
    x = GB(b, "Pad", "", x, gb_ints(b, 0, 2, 0, 0, 6, 0));
    gb_output(b, RESHAPE(b, x, -1, 8, 6));
}

/* Windows of 8 of what is added to frames that come three later: more than it has where it is
 * short.
 */
static void windows_later(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 6);
    x = GB(b, "Add", "", x,
           GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, 3, 6), gb_slice(b, x, 1, 0, -3, 1)));
    gb_output(b, RESHAPE(b, x, -1, 8, 6));
}

/* ---- the file, and the graph for another length ---- */

struct net {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    struct tgraph t;
};

static bool net_make(struct net *n, gb_recipe *recipe, int64_t length, rill_error *err)
{
    struct gb b;
    *n = (struct net) { .dims = dims_new() };
    gb_init(&b, &n->m.g, &n->arena, n->dims, dim_int(n->dims, length), 3);
    recipe(&b, NULL);
    *err = b.err;
    return b.err.status == RILL_OK && tgraph_from_mgraph(&n->t, &n->m, NULL, err) == RILL_OK;
}

static void net_drop(struct net *n)
{
    arena_drop(&n->arena);
    dims_free(n->dims);
}

static rill_status file_open(rill_model **ret, gb_recipe *recipe, const char *shape,
                             rill_error *err)
{
    const rill_model_opts opts = { .struct_bytes = sizeof opts };
    static struct step_decl d; /* a model borrows it */
    struct net n;
    remove(path);
    step_decl_drop(&d);
    bool made =
        net_make(&n, recipe, WRITTEN, err) && graph_write_onnx(&n.t.g, path, err) == RILL_OK;
    net_drop(&n);
    oracle_check(made, "%s: %s", shape, err->text);
    oracle_check(step_decl_shape(&d, shape), "%s", shape);
    return step_model_open(ret, path, &d, &opts, err);
}

static bool same(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t) a->rank * sizeof *a->dim) &&
        !memcmp(a->data, b->data, tensor_bytes(a));
}

/* The opened file at another length gives what the net of that length, times S, gives. */
static void follow_test(const char *name, gb_recipe *recipe, const char *shape, int64_t times)
{
    rill_error err = { .text = "" };
    rill_model *m;
    rill_status s = file_open(&m, recipe, shape, &err);
    oracle_check(s == RILL_OK, "%s: %s", name, err.text);
    if (s != RILL_OK)
        return;
    struct net n;
    struct graph g;
    struct tensor desc, *x;
    const struct tensor *in, *y, *z;
    const struct graph *d = &m->decluttered.g;
    bool made = net_make(&n, recipe, times * OTHER, &err) &&
        graph_substituted(&g, d, dim_symbol(m->dims, "S"), dim_int(m->dims, OTHER), &n.arena,
                          &err) == RILL_OK;
    oracle_check(made &&
                     dim_has_symbol(d->wires[d->outputs[0]].fact.shape[1]) +
                         dim_has_symbol(d->wires[d->outputs[0]].fact.shape[2]),
                 "%s: is not open, or %s", name, err.text);
    fact_to_tensor(&n.t.g.wires[n.t.g.inputs[0]].fact, &desc);
    in = x = tensor_new(&n.arena, DTYPE_F32, desc.rank, desc.dim);
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((float *) x->data)[i] = (float) (i * 37 % 101) / 50 - 1;
    bool ran = made && interp_run(&g, &in, &n.arena, &y, &err) == RILL_OK &&
        interp_run(&n.t.g, &in, &n.arena, &z, &err) == RILL_OK;
    oracle_check(ran && same(y, z), "%s: %s", name, ran ? "other numbers" : err.text);
    net_drop(&n);
    rill_model_free(m);
}

static void refuse_test(gb_recipe *recipe, const char *shape, const char *words)
{
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    rill_status s = file_open(&m, recipe, shape, &err);
    oracle_check(s != RILL_OK && strstr(err.text, words), "%s: %s", shape, err.text);
    if (s == RILL_OK)
        rill_model_free(m);
}

/* What follows nothing opens, as transforms may leave it out; a plan names it. */
static void stay_test(gb_recipe *recipe, const char *shape, const char *words)
{
    rill_error err = { .text = "" };
    rill_model *m;
    rill_plan *p = NULL;
    rill_status s = file_open(&m, recipe, shape, &err);
    oracle_check(s == RILL_OK, "%s: %s", shape, err.text);
    if (s != RILL_OK)
        return;
    s = rill_plan_new(&p, m, NULL, &err);
    oracle_check(s != RILL_OK && strstr(err.text, words), "%s: %s", shape, err.text);
    rill_plan_unref(p);
    rill_model_free(m);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/rill-reshapes-%d.onnx", (int) getpid());
    follow_test("heads", heads, "x=1,S,16", 1);
    follow_test("merged", merged, "x=1,S,2,3", 1);
    follow_test("strided", strided, "x=1,4,S", 1);
    follow_test("open already", open_already, "x=1,S,6", 1);
    follow_test("one frame", one_frame, "x=1,S,6", 1);
    follow_test("apart", apart, "x=1,S,2,4", 1);
    follow_test("stacked", stacked, "x=1,4*S,16", 4);
    stay_test(stacked, "x=1,S,16", "from f32[1,S,16] to f32[1,4,64] all wanted sizes are numbers");
    stay_test(mixed, "x=1,4*S,16", "from f32[1,4*S,16] to f32[1,4,64] all wanted sizes are");
    stay_test(side_by_side, "x=1,4*S,8", "from f32[1,4*S,8] to f32[1,4,32] all wanted sizes are");
    stay_test(side_by_side, "x=1,S,8",
              "from f32[1,S,8] to f32[1,4,32] all wanted sizes are numbers");
    stay_test(side_by_side_equal, "x=1,S,4",
              "from f32[1,S,4] to f32[1,4,16] all wanted sizes are numbers");
    stay_test(parts, "x=1,S,6", "from f32[1,S,6] to f32[1,8,2,6] all wanted sizes are numbers");
    refuse_test(windows, "x=1,S,6", "it would with --assert \"S == 8*(S/8)\"");
    refuse_test(windows, "x=1,T,6", "it would with --assert \"T == 8*(T/8)\"");
    refuse_test(windows_later, "x=1,S,6",
                "it would with --assert \"S == 8*(S/8)\" --assert \"S >= 8\"");
    refuse_test(heads, "x=1,S", "'x' has 3 axes, 2 were given; it is f32[1,16,16] in the file");
    refuse_test(heads, "y=1,S,16", "the file has: x");
    remove(path);
    return oracle_end();
}
