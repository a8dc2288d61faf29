/* SPDX-License-Identifier: MIT */
/* Decoders that are resized to the lengths of their skips, which lie behind an odd cut: they stream
 * for lengths of one remainder, which the refusal names for the whole net. */
#include "engine/graph/control.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 2, LEVELS_MAX = 3 };

enum front { FRONT_NONE, FRONT_VALID, FRONT_CROP, FRONT_PAD };
enum down { DOWN_POOL, DOWN_POOL3, DOWN_VALID, DOWN_PADDED };
enum up { UP_NEAREST, UP_LINEAR, UP_SCALE };

struct unet {
    enum front front;
    enum down down;
    enum up up;
    int levels;
    const char *asserted; /* as the refusal names it; NULL: none would do */
    int64_t of, rest;
};

static uint32_t front_put(struct gb *b, enum front how, uint32_t x)
{
    switch (how) {
    case FRONT_VALID: return GB(b, "Conv", "", x, gb_weights(b, 3, WIDTH, WIDTH, 3));
    case FRONT_CROP: return gb_slice(b, x, 2, 1, INT64_MAX, 1);
    case FRONT_PAD: return gb_pad(b, x, 3, 2, "constant", 1, 0);
    default: return x;
    }
}

static uint32_t down_put(struct gb *b, enum down how, uint32_t x)
{
    switch (how) {
    case DOWN_POOL: return GB(b, "MaxPool", "kernel_shape=2 strides=2", x);
    case DOWN_POOL3: return GB(b, "AveragePool", "kernel_shape=3 strides=3", x);
    case DOWN_VALID: return GB(b, "Conv", "strides=2", x, gb_weights(b, 3, WIDTH, WIDTH, 3));
    default: return GB(b, "Conv", "strides=2 pads=1,1", x, gb_weights(b, 3, WIDTH, WIDTH, 3));
    }
}

#define NEAREST "mode=nearest coordinate_transformation_mode=asymmetric nearest_mode=floor"
#define LINEAR "mode=linear coordinate_transformation_mode=pytorch_half_pixel"

static uint32_t up_put(struct gb *b, enum up how, uint32_t x, uint32_t skip)
{
    if (how == UP_SCALE)
        return GB(b, "Resize", NEAREST, x, WIRE_NONE, gb_floats(b, 3, (float[]) { 1, 1, 2 }));
    const uint32_t length =
                       GB(b, "Slice", "", GB(b, "Shape", "", skip), gb_ints(b, 2), gb_ints(b, 3)),
                   size = GB(b, "Concat", "axis=0", gb_ints(b, 1, WIDTH), length);
    return GB(b, "Resize", how == UP_LINEAR ? LINEAR : NEAREST, x, WIRE_NONE, WIRE_NONE, size);
}

static void unet(struct gb *b, const void *ctx)
{
    const struct unet *u = ctx;
    uint32_t skip[LEVELS_MAX], x = front_put(b, u->front, gb_input(b, "x", 3, 1, WIDTH, GB_TIME));
    for (int i = 0; i < u->levels; i++) {
        skip[i] = x;
        x = down_put(b, u->down, x);
    }
    for (int i = u->levels; i-- > 0;) {
        x = up_put(b, u->up, x, skip[i]);
        x = GB(b, "Concat", "axis=1", GB(b, "Tanh", "", x), skip[i]);
        x = GB(b, "Conv", "pads=1,1", x, gb_weights(b, 3, WIDTH, 2 * WIDTH, 3));
    }
    gb_output(b, x);
}

#define HALVES "S == 2*(S/2)"
#define ODD "S == 2*(S/2) + 1"

static const struct unet nets[] = {
    { FRONT_NONE, DOWN_POOL, UP_NEAREST, 1, HALVES, 2, 0 },
    { FRONT_NONE, DOWN_POOL, UP_LINEAR, 3, "S == 8*(S/8)", 8, 0 },
    { FRONT_NONE, DOWN_POOL3, UP_LINEAR, 2, "S == 9*(S/9)", 9, 0 },
    { FRONT_CROP, DOWN_POOL, UP_NEAREST, 1, ODD, 2, 1 },
    { FRONT_CROP, DOWN_POOL, UP_LINEAR, 1, ODD, 2, 1 },
    { FRONT_CROP, DOWN_POOL, UP_LINEAR, 3, "S == 8*(S/8) + 1", 8, 1 },
    { FRONT_VALID, DOWN_POOL, UP_NEAREST, 2, "S == 4*(S/4) + 2", 4, 2 },
    { FRONT_VALID, DOWN_POOL3, UP_NEAREST, 2, "S == 9*(S/9) + 2", 9, 2 },
    { FRONT_VALID, DOWN_PADDED, UP_LINEAR, 3, "S == 8*(S/8) + 2", 8, 2 },
    { FRONT_PAD, DOWN_POOL, UP_NEAREST, 3, "S == 8*(S/8) + 7", 8, 7 },
    { FRONT_CROP, DOWN_POOL, UP_SCALE, 1, ODD, 2, 1 },
    { FRONT_CROP, DOWN_POOL, UP_SCALE, 2, "S == 4*(S/4) + 1", 4, 1 },
    { FRONT_PAD, DOWN_PADDED, UP_SCALE, 3, "S == 8*(S/8) + 7", 8, 7 },
    { FRONT_VALID, DOWN_POOL, UP_SCALE, 3, "S == 8*(S/8) + 2", 8, 2 },
    { FRONT_NONE, DOWN_VALID, UP_NEAREST, 1, NULL, 0, 0 },
    { FRONT_VALID, DOWN_VALID, UP_LINEAR, 2, NULL, 0, 0 },
};

/* ---- blocks behind a cut, and a branch for odd lengths ---- */

/* Blocks of 5, two frames cut off in front of them. */
static void blocks(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_slice(b, gb_input(b, "x", 3, 1, GB_TIME, WIDTH), 1, 2, INT64_MAX, 1);
    x = GB(b, "Softmax", "axis=2", GB(b, "Reshape", "", x, gb_ints(b, 1, -1, 5, WIDTH)));
    gb_output(b, GB(b, "Reshape", "", x, gb_ints(b, 1, -1, WIDTH)));
}

/* What an odd length gets, or loses: zeros or a copy behind, its last frame, its first. */
enum odd { ODD_ZERO, ODD_EDGE, ODD_LAST, ODD_FIRST };

static uint32_t odd_put(struct gb *b, enum odd how, uint32_t x)
{
    switch (how) {
    case ODD_ZERO: return gb_pad(b, x, 3, 2, "constant", 0, 1);
    case ODD_EDGE: return gb_pad(b, x, 3, 2, "edge", 0, 1);
    case ODD_LAST: return gb_slice(b, x, 2, 0, -1, 1);
    default: return gb_slice(b, x, 2, 1, INT64_MAX, 1);
    }
}

/* x, or what `odd` says of it where `cond` holds; pads: a list that the branch pads by, if any. */
static uint32_t chosen(struct gb *b, uint32_t cond, uint32_t x, uint32_t pads, const enum odd *odd)
{
    const uint32_t in[3] = { cond, x, pads };
    const unsigned n_in = pads == WIRE_NONE ? 2 : 3;
    struct gb body[2];
    struct graph **bodies = arena_array(b->arena, struct graph *, 2);
    for (int k = 0; k < 2; k++) {
        gb_body(&body[k], b, k ? "else" : "then");
        const uint32_t y = gb_body_input(&body[k], "x"),
                       by = n_in == 3 ? gb_body_input(&body[k], "pads") : WIRE_NONE;
        gb_output(&body[k],
                  k              ? y
                      : n_in < 3 ? odd_put(&body[k], *odd, y)
                                 : GB(&body[k], "Pad", "", y, by));
        b->n_names = body[k].n_names;
        bodies[k] = body[k].g;
    }
    uint32_t out = graph_add_wire(b->g, "chosen", NULL);
    struct node *made = graph_add_node(b->g, &op_if, "chosen", NULL, in, n_in, &out, 1);
    made->body = bodies;
    made->n_body = 2;
    return out;
}

/* if x.shape[-1] % 2: x = F.pad(x, (0, 1)) */
static void branch(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, WIDTH, GB_TIME),
                   n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2)),
                   odd = GB(b, "Equal", "", GB(b, "Mod", "", n, gb_int(b, 2)), gb_int(b, 1)),
                   y = chosen(b, odd, x, WIRE_NONE, ctx);
    gb_output(b, GB(b, "Conv", "strides=2", y, gb_weights(b, 3, WIDTH, WIDTH, 2)));
}

/* more = -x.shape[-1] % 4; if more: x = F.pad(x, (0, more)) */
static void filled(struct gb *b, const void *ctx)
{
    (void) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, WIDTH, GB_TIME),
                   n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_ints(b, 2)),
                   more = GB(b, "Mod", "", GB(b, "Neg", "", n), gb_ints(b, 4)),
                   any = GB(b, "Greater", "", GB(b, "Squeeze", "", more, gb_ints(b, 0)),
                            gb_int(b, 0)),
                   pads = GB(b, "Concat", "axis=0", gb_ints(b, 0, 0, 0, 0, 0), more);
    gb_output(b,
              GB(b, "Conv", "strides=4", chosen(b, any, x, pads, NULL),
                 gb_weights(b, 3, WIDTH, WIDTH, 4)));
}

static void assert_test(gb_recipe *recipe, const void *ctx, const char *op, const char *asserted,
                        const int64_t *lengths)
{
    static const int64_t pulses[] = { 20, 40, 100, -1 };
    struct oracle o = { .seed = 1 };
    enum verdict v = oracle_open(&o, recipe, ctx, NULL);
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, op) && strstr(o.err.text, "with --assert"),
                 "%s: %s", op, o.err.text);
    oracle_close(&o);
    oracle_check(oracle_open(&o, recipe, ctx, asserted) == LAW_HOLDS, "%s: %s", op, o.err.text);
    oracle_check(oracle_laws(&o, asserted, pulses, lengths) >= 3, "%s: too few whole runs", op);
    oracle_close(&o);
}

static void asserts_test(void)
{
    static const int64_t fifths[] = { 7, 12, 32, -1 }, even[] = { 2, 4, 18, 40, -1 },
                         odd[] = { 1, 3, 5, 19, 41, -1 };
    static const enum odd ways[] = { ODD_ZERO, ODD_EDGE, ODD_LAST, ODD_FIRST };
    assert_test(blocks, NULL, "(Reshape)", "S == 5*(S/5) + 2", fifths);
    assert_test(filled, NULL, "(If)", "S == 4*(S/4)", (const int64_t[]) { 4, 12, 40, -1 });
    assert_test(filled, NULL, "(If)", "S == 4*(S/4) + 3", (const int64_t[]) { 3, 7, 43, -1 });
    for (size_t i = 0; i < 4; i++) {
        assert_test(branch, &ways[i], "(If)", HALVES, even);
        assert_test(branch, &ways[i], "(If)", ODD, odd + (ways[i] > ODD_EDGE));
    }
}

/* The least lengths of the remainder, and some more. */
static void lengths_put(const struct unet *u, int64_t *ret, int n)
{
    int m = 0;
    for (int64_t k = 0; m < n - 1; k++) {
        const int64_t at = u->of * (k < n - 3 ? k : 3 * k) + u->rest;
        if (at > 0)
            ret[m++] = at;
    }
    ret[m] = -1;
}

/* What a level is resized to fits at a remainder, what the next one is at none. */
static void one_of_two(struct gb *b, const void *ctx)
{
    (void) ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, WIDTH, GB_TIME),
                   half = gb_slice(b, down_put(b, DOWN_POOL, x), 2, 0, -1, 1),
                   y = GB(b, "Conv", "strides=2", half, gb_weights(b, 3, WIDTH, WIDTH, 1));
    gb_output(b, up_put(b, UP_NEAREST, up_put(b, UP_LINEAR, y, half), x));
}

static void partly_test(void)
{
    struct oracle o = { .seed = 1 };
    enum verdict v = oracle_open(&o, one_of_two, NULL, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 4) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, "(Resize)") &&
                     strstr(o.err.text,
                            "it would not with --assert \"S == 4*(S/4) + 2\", but at no "
                            "remainder does all that is resized and joined fit"),
                 "%s", o.err.text);
    oracle_close(&o);
}

static void net_test(const struct unet *u, int i)
{
    char name[40], named[64];
    struct oracle o = { .seed = 1 };
    enum verdict v = oracle_open(&o, unet, u, NULL);
    const int64_t pulse = u->of ? u->of : 1;
    snprintf(name, sizeof name, "net %d", i);
    snprintf(named, sizeof named, "--assert \"%s\"", u->asserted ? u->asserted : "");
    v = v == LAW_HOLDS ? oracle_pulse(&o, pulse) : v;
    oracle_check(v == LAW_REFUSED && strstr(o.err.text, u->up == UP_SCALE ? "" : "(Resize)") &&
                     strstr(o.err.text, u->asserted ? named : "at no remainder of S"),
                 "%s: %s", name, o.err.text);
    oracle_close(&o);
    if (!u->asserted)
        return;
    const int64_t pulses[] = { pulse, 2 * pulse, 5 * pulse, -1 };
    int64_t lengths[8];
    lengths_put(u, lengths, 8);
    oracle_check(oracle_open(&o, unet, u, u->asserted) == LAW_HOLDS, "%s: %s", name, o.err.text);
    oracle_check(oracle_laws(&o, name, pulses, lengths) >= 4, "%s: too few whole runs", name);
    oracle_close(&o);
}

int main(void)
{
    partly_test();
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        net_test(&nets[i], (int) i);
    asserts_test();
    return oracle_end();
}
