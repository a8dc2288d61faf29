/* SPDX-License-Identifier: MIT */
/* Conditional parts. Random fragments that keep states of every kind run as parts: in the frames
 * that the condition chooses they give, to the bit, what the fragment gives for those frames alone,
 * at every pulse and in every cut of the input. And what may not be a part is refused by name. */
#include "tests/models/models_test.h"

#include <stdarg.h>

#define FRAME 4
#define FRAMES 40
#define TEXT_BYTES 20000

/* ---- texts ---- */

struct text {
    char s[TEXT_BYTES];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    t->n += (size_t) vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
}

static void put_numbers(struct text *t, const char *shape, unsigned n)
{
    put(t, "constant<scalar>(shape = [%s], value = [", shape);
    for (unsigned i = 0; i < n; i++)
        put(t, "%s%.3f", i ? ", " : "", check_random(2000) * 0.0005 - 0.5);
    put(t, "])");
}

/* A layer: h [T, 4] becomes h of the next number. */
static void layer_conv(struct text *t, int k)
{
    unsigned d = 1 + check_random(2);
    put(t, "    c%d = conv(unsqueeze(transpose(h%d, axes = [1, 0]), axes = [0]), ", k, k);
    put_numbers(t, "4, 4, 3", 48);
    put(t, ", ");
    put_numbers(t, "1, 4", 4);
    put(t, ", padding = [(%u, 0)], dilation = [%u]);\n", 2 * d, d);
    put(t, "    h%d = relu(transpose(squeeze(c%d, axes = [0]), axes = [1, 0])) + 0.1;\n", k + 1, k);
}

static void layer_scan(struct text *t, int k)
{
    put(t, "    h%d = rill_scan(h%d, body = leak, state = [(s, next, rill_fill([4], %.2f))]);\n",
        k + 1, k, check_random(100) * 0.01);
}

static void layer_frames(struct text *t, int k)
{
    put(t,
        "    f%d = rill_rfft(rill_frame(reshape(h%d, shape = [-1]), size = 12, hop = 4, before = "
        "8, "
        "end = \"drop\") * rill_window(\"hann\", 12));\n",
        k, k);
    put(t,
        "    h%d = reshape(rill_overlap_add(rill_irfft(f%d * 0.7, n = 12), hop = 4), shape = [-1, "
        "4]);\n",
        k + 1, k);
}

static void layer_delay(struct text *t, int k)
{
    unsigned d = 1 + check_random(3);
    put(t,
        "    h%d = h%d + slice(pad(h%d, padding = [(%u, 0), (0, 0)]), axes = [0], begin = [0], "
        "end = [-%u]);\n",
        k + 1, k, k, d, d);
}

static void layer_sum(struct text *t, int k)
{
    put(t, "    h%d = 0.1 * rill_op('CumSum', inputs = [h%d, 0]);\n", k + 1, k);
}

/* Positions count the frames of the part. */
static void layer_positions(struct text *t, int k)
{
    put(t,
        "    r%d = rill_op('Cast', inputs = [rill_op('Range', inputs = [0, shape_of(h%d)[0], 1])], "
        "attributes = [('to', 'f32')]);\n",
        k, k);
    put(t, "    h%d = h%d / (1.0 + r%d);\n", k + 1, k, k);
}

static void layer_pool(struct text *t, int k)
{
    put(t,
        "    p%d = %s_pool(unsqueeze(transpose(h%d, axes = [1, 0]), axes = [0]), size = [1, 1, 3], "
        "padding = [(0, 0), (0, 0), (2, 0)], border = \"ignore\");\n",
        k, check_random(2) ? "max" : "avg", k);
    put(t, "    h%d = transpose(squeeze(p%d, axes = [0]), axes = [1, 0]);\n", k + 1, k);
}

static void layer_gru(struct text *t, int k)
{
    put(t, "    g%d = rill_op('GRU', inputs = [unsqueeze(h%d, axes = [1]), ", k, k);
    put_numbers(t, "1, 12, 4", 48);
    put(t, ", ");
    put_numbers(t, "1, 12, 4", 48);
    put(t, "], attributes = [('hidden_size', 4)]);\n    h%d = squeeze(g%d, axes = [1, 2]);\n",
        k + 1, k);
}

static void layer_part(struct text *t, int k)
{
    put(t,
        "    w%d = squeeze(slice(h%d, axes = [1], begin = [1], end = [2]), axes = [1]) > 0.05;\n",
        k, k);
    put(t, "    h%d = 0.5 * h%d + rill_part(h%d, when = w%d, body = inner%s);\n", k + 1, k, k, k,
        check_random(2) ? ", other = other_inner" : "");
}

typedef void layer(struct text *t, int k);
static layer *const layers[] = { layer_conv, layer_scan,      layer_frames, layer_delay, layer_sum,
                                 layer_pool, layer_positions, layer_gru,    layer_part };
enum { N_LAYERS = sizeof layers / sizeof *layers };

static void fragment_put(struct text *t, const char *name, unsigned n_layers, unsigned kinds)
{
    put(t, "fragment %s(h0: tensor<scalar>) -> (y: tensor<scalar>)\n{\n", name);
    for (unsigned k = 0; k < n_layers; k++)
        layers[check_random(kinds)](t, (int) k);
    put(t, "    y = copy(h%u);\n}\n", n_layers);
}

/* Those of the seed: `body` and `other`, which may call `inner`. */
static void fragments_put(struct text *t)
{
    put(t,
        "version 1.0;\n"
        "fragment leak(x: tensor<scalar>, s: tensor<scalar>) -> (y: tensor<scalar>, next: "
        "tensor<scalar>)\n{ next = 0.8 * s + x; y = tanh(next); }\n");
    fragment_put(t, "inner", 1 + check_random(2), N_LAYERS - 1);
    fragment_put(t, "other_inner", 1, N_LAYERS - 1);
    fragment_put(t, "body", 1 + check_random(4), N_LAYERS);
    fragment_put(t, "other", 1 + check_random(2), N_LAYERS);
}

static void graph_put(struct text *t, const char *y)
{
    put(t,
        "graph g(pcm) -> (out)\n{\n    pcm = external<scalar>(shape = [S]);\n"
        "    x = rill_frame(pcm, size = 4, hop = 4, end = \"drop\");\n"
        "    when = squeeze(slice(x, axes = [1], begin = [0], end = [1]), axes = [1]) > 0.0;\n"
        "    out = rill_overlap_add(%s, hop = 4);\n}\n",
        y);
}

static rill_model *text_open(const struct text *t, rill_error *err)
{
    rill_model *m = NULL;
    mkdir(test_path("part", ""), 0700);
    file_write(test_path("part", "graph.nnef"), t->s, t->n);
    return rill_model_open(&m, test_path("part", ""), err) == RILL_OK ? m : NULL;
}

/* ---- the law, and the frames alone ---- */

/* Of the frames whose first number is above 0, or not: those of x, in their order. */
static struct floats frames_chosen(struct floats x, bool chosen)
{
    struct floats y = { malloc(x.n * sizeof *x.v + 1), 0 };
    for (size_t i = 0; i + FRAME <= x.n; i += FRAME)
        if ((x.v[i] > 0) == chosen) {
            memcpy(y.v + y.n, x.v + i, FRAME * sizeof *x.v);
            y.n += FRAME;
        }
    return y;
}

/* What the fragment gives for the frames alone. */
static struct floats alone(const struct text *fragments, const char *name, struct floats x,
                           unsigned seed)
{
    struct text t = *fragments;
    char call[40];
    rill_error err = { .text = "" };
    struct floats y = { 0 };
    snprintf(call, sizeof call, "%s(x)", name);
    graph_put(&t, call);
    rill_model *m = text_open(&t, &err);
    CHECK(m, "seed %u: %s: %s\n%s", seed, name, err.text, t.s);
    if (m && x.n)
        y = model_run_whole(m, x, &err);
    rill_model_free(m);
    return y;
}

static void compare_frames(const char *what, unsigned seed, struct floats x, struct floats y,
                           struct floats then, struct floats other)
{
    size_t at[2] = { 0, 0 }, wrong = 0;
    CHECK(y.n == x.n, "seed %u, %s: %zu numbers for %zu", seed, what, y.n, x.n);
    for (size_t i = 0; y.n == x.n && i < x.n; i += FRAME) {
        bool no = x.v[i] <= 0;
        struct floats *from = no ? &other : &then;
        static const float zeros[FRAME];
        const float *want = from->v ? from->v + at[no] : zeros;
        wrong += memcmp(want, y.v + i, FRAME * sizeof *want) != 0;
        at[no] += FRAME;
    }
    CHECK(!wrong, "seed %u, %s: %zu frames differ from those of the fragment alone", seed, what,
          wrong);
}

static void test_seed(unsigned seed, unsigned *ret_made)
{
    static struct text fragments, t;
    float v[FRAME * FRAMES];
    struct floats x = { v, FRAME * (FRAMES - check_random(8)) };
    rill_error err = { .text = "" };
    bool with_other = check_random(2);
    fragments.n = 0;
    fragments_put(&fragments);
    t = fragments;
    graph_put(&t,
              with_other ? "rill_part(x, when = when, body = body, other = other)"
                         : "rill_part(x, when = when, body = body)");
    for (size_t i = 0; i < x.n; i++)
        v[i] = (float) check_random(2001) * 0.001f - 1;
    rill_model *m = text_open(&t, &err);
    CHECK(m, "seed %u: %s\n%s", seed, err.text, t.s);
    if (!m)
        return;
    struct floats yes = frames_chosen(x, true), no = frames_chosen(x, false),
                  then = alone(&fragments, "body", yes, seed),
                  other = with_other ? alone(&fragments, "other", no, seed) : (struct floats) { 0 };
    struct floats whole = model_run_whole(m, x, &err);
    compare_frames("whole", seed, x, whole, then, other);
    for (uint32_t pulse = FRAME; pulse <= 5 * FRAME; pulse += 2 * FRAME) {
        struct floats y = model_run_pulse(m, x, 1 + check_random(11), pulse, &err);
        compare_frames("streamed", seed, x, y, then, other);
        free(y.v);
    }
    ++*ret_made;
    free(whole.v);
    free(yes.v);
    free(no.v);
    free(then.v);
    free(other.v);
    rill_model_free(m);
}

/* ---- what is refused ---- */

static void test_refused(void)
{
    static const struct {
        const char *fragment, *call, *words;
    } cases[] = {
        { "y = slice(x, axes = [0], begin = [1], end = [0]);",
          "rill_part(x, when = when, body = f)",
          "result 'y' is f32[max(0, -1 + part.frames),4]: expected part.frames frames along axis "
          "0" },
        { "y = slice(pad(x, padding = [(0, 1), (0, 0)]), axes = [0], begin = [1], end = [0]);",
          "rill_part(x, when = when, body = f)", "comes 1 frames late, which a part may not" },
        { "y = x - mean_reduce(x, axes = [0]);", "rill_part(x, when = when, body = f)",
          "graph.nnef:11:28: fragment 'f' as a part: node 'f/" },
        { "y = squeeze(sum_reduce(x, axes = [1]), axes = [1]);",
          "rill_part(x, when = x > 0.0, body = f)",
          "'when' has rank 2 and type bool: expected a truth value for each frame" },
        { "y = copy(x);", "rill_part(x, when = slice(when, [0], [1], [0]), body = f)",
          "'when' is bool[" },
        { "y = copy(x);", "rill_part([x, x], when = when, body = f)",
          "fragment 'f' takes 1 tensors and gives 1; a part of 2 tensors takes as many" },
        { "y = copy(x);", "rill_part(x, when = when, body = g)",
          "'g' is no fragment of this text" },
        { "y = copy(x);", "rill_part(x, when = when, body = f, other = half)",
          "result 0 is of another size or type in fragment 'half' than in 'f'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct text t;
        rill_error err = { .text = "" };
        t.n = 0;
        put(&t,
            "version 1.0;\n\nfragment half(x: tensor<scalar>) -> (y: tensor<scalar>)\n"
            "{ y = slice(x, axes = [1], begin = [0], end = [2]); }\n"
            "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { %s }\n",
            cases[i].fragment);
        graph_put(&t, cases[i].call);
        rill_model *m = text_open(&t, &err);
        CHECK(!m && strstr(err.text, cases[i].words), "%s: wanted '%s', got '%s'", cases[i].call,
              cases[i].words, err.text);
        rill_model_free(m);
    }
}

int main(int argc, char **argv)
{
    unsigned seeds = argc > 1 ? (unsigned) atoi(argv[1]) : 150, made = 0;
    test_root_make();
    test_refused();
    for (unsigned seed = 0; seed < seeds; seed++)
        test_seed(seed, &made);
    printf("%u random parts\n", made);
    test_root_drop();
    return check_done();
}
