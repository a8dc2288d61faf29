/* SPDX-License-Identifier: MIT */
/* Steps that move, repeat and cut on several axes at once. */
#include "tests/pulse/steps.h"

/* The first channel spread over all of them. */
static void emit_spread(struct gb *b, struct stage *s, const int *v)
{
    uint32_t one = gb_slice(b, s->wire, 1, 0, 1, 1);
    uint32_t shape = v[0] ? gb_ints(b, 1, s->channels, 1) : GB(b, "Shape", "", s->wire);
    s->wire = GB(b, "Mul", "", GB(b, "Expand", "", one, shape), s->wire);
}

static void emit_tile(struct gb *b, struct stage *s, const int *v)
{
    s->wire = GB(b, "Tile", "", s->wire, gb_ints(b, 1, v[0], 1));
    s->channels *= v[0];
}

static void emit_flip(struct gb *b, struct stage *s, const int *v)
{
    (void) v;
    s->wire = gb_slice(b, s->wire, 1, -1, INT32_MIN, -1);
}

/* Zeros or ones of the shape of the input, with something added. */
static void emit_like(struct gb *b, struct stage *s, const int *v)
{
    uint32_t y = GB(b, "ConstantOfShape", "", GB(b, "Shape", "", s->wire));
    if (v[0])
        y = GB(b, "Conv", "pads=1,1", GB(b, "Add", "", y, gb_scalar(b, 1)),
               gb_weights(b, 3, s->channels, s->channels, 3));
    s->wire = GB(b, "Add", "", s->wire, y);
}

/* [T, 1, C] to [T, C]. */
static void emit_flatten(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = GB(b, "Flatten", v[0] ? "axis=-2" : "axis=1", gb_transpose(b, s->wire, "2,0,1"));
    s->wire = gb_transpose(b, GB(b, "Unsqueeze", "", x, gb_ints(b, -3)), "0,2,1");
}

/* Both axes at once, in one op. */
static void emit_cut(struct gb *b, struct stage *s, const int *v)
{
    int keep = s->channels > 1 ? s->channels - 1 : 1;
    uint32_t from = gb_ints(b, v[0], 0), to = gb_ints(b, v[1] ? -v[1] : INT32_MAX, keep),
             axes = gb_ints(b, -1, 1);
    s->wire = GB(b, "Slice", "", s->wire, from, to, axes, gb_ints(b, v[2], 1));
    s->channels = keep;
}

static void emit_frame_around(struct gb *b, struct stage *s, const int *v)
{
    static const char *const modes[] = { "constant", "edge" };
    uint32_t pads = gb_ints(b, 0, 1, v[1], 0, 0, v[2]);
    if (v[0])
        s->wire = GB(b, "Pad", "mode=edge", s->wire, pads);
    else
        s->wire =
            GB(b, "Pad", gb_printf(b, "mode=%s", modes[v[0]]), s->wire, pads, gb_scalar(b, 0.5f));
    s->channels++;
}

static void emit_sum_across(struct gb *b, struct stage *s, const int *v)
{
    s->wire = GB(b, "CumSum", gb_printf(b, "reverse=%d", v[0]), s->wire, gb_int(b, -2));
}

static void emit_prelu(struct gb *b, struct stage *s, const int *v)
{
    (void) v;
    s->wire = GB(b, "PRelu", "", s->wire, gb_weights(b, 2, s->channels, 1));
}

/* One of the halves of a Split along channels with the other's gate. */
static void emit_glu(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = GB(b, "Concat", "axis=-2", s->wire, GB(b, "Neg", "", s->wire));
    struct node *n = gb_node(b, "Split", "axis=1 num_outputs=2", &x, 1, 2);
    (void) v;
    if (n)
        s->wire = GB(b, "Mul", "", n->out[0], GB(b, "Sigmoid", "", n->out[1]));
}

/* Channels that change places by a table, by elements. */
static void emit_shuffle(struct gb *b, struct stage *s, const int *v)
{
    int c = s->channels;
    uint32_t x = GB(b, "Concat", "axis=1", s->wire, GB(b, "Relu", "", s->wire));
    x = GB(b, "Reshape", "", x, gb_ints(b, 1, 2, c, -1));
    x = GB(b, "Reshape", "", gb_transpose(b, x, "0,2,1,3"), gb_ints(b, 0, 2 * c, -1));
    (void) v;
    s->wire = x;
    s->channels = 2 * c;
}

const struct step_kind steps_moves[] = {
    { "spread", { { "by", 0, 1, 0 } }, emit_spread },
    { "tile", { { "n", 1, 2, 2 } }, emit_tile },
    { "flip", { { NULL, 0, 0, 0 } }, emit_flip },
    { "like", { { "ones", 0, 1, 0 } }, emit_like },
    { "flatten", { { "negative", 0, 1, 0 } }, emit_flatten },
    { "cut", { { "from", 0, 3, 1 }, { "off", 0, 2, 0 }, { "step", 1, 3, 1 } }, emit_cut },
    { "around", { { "edge", 0, 1, 0 }, { "l", 0, 4, 1 }, { "r", 0, 4, 1 } }, emit_frame_around },
    { "sumacross", { { "reverse", 0, 1, 0 } }, emit_sum_across },
    { "prelu", { { NULL, 0, 0, 0 } }, emit_prelu },
    { "glu", { { NULL, 0, 0, 0 } }, emit_glu },
    { "shuffle", { { NULL, 0, 0, 0 } }, emit_shuffle },
    { NULL, { { NULL, 0, 0, 0 } }, NULL },
};
