/* SPDX-License-Identifier: MIT */
/* GridSample as products of weights and gathered numbers. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- GridSample ---- */

enum { GRID_AXES_MAX = 3, GRID_TAPS_MAX = 4 };

enum padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };

/* mode: the names of opsets 16 and 20 */
static const struct grid_mode {
    const char *name;
    int taps, first; /* places beside the floor */
} modes[] = { { "linear", 2, 0 },
              { "bilinear", 2, 0 },
              { "nearest", 1, 0 },
              { "cubic", 4, -1 },
              { "bicubic", 4, -1 } };

struct grid {
    struct emitter *e;
    const struct grid_mode *mode;
    enum padding padding;
    bool corners; /* -1 and 1 are the middles of the outer places, not their ends */
    int axes;
    uint32_t x, grid;
    /* of each axis: numbers as the grid has them */
    uint32_t length, low, high;
    uint32_t place[GRID_AXES_MAX][GRID_TAPS_MAX], weight[GRID_AXES_MAX][GRID_TAPS_MAX];
};

static uint32_t number(const struct grid *g, float v)
{
    return emit_float(g->e, v, g->grid);
}

static uint32_t op2(const struct grid *g, const char *op, uint32_t a, uint32_t b)
{
    return emit(g->e, op, a, b);
}

static uint32_t clipped(const struct grid *g, uint32_t at)
{
    return emit(g->e, "Clip", at, number(g, 0), op2(g, "Sub", g->length, number(g, 1)));
}

/* Places of -1 to 1, as places of the axis. */
static uint32_t placed(const struct grid *g, uint32_t at)
{
    uint32_t one = number(g, 1), half = number(g, 0.5f), up = op2(g, "Add", at, one);
    if (g->corners)
        return op2(g, "Mul", op2(g, "Mul", up, half), op2(g, "Sub", g->length, one));
    return op2(g, "Mul", op2(g, "Sub", op2(g, "Mul", up, g->length), one), half);
}

/* Back and forth between low and high. */
static uint32_t reflected(const struct grid *g, uint32_t at)
{
    struct attr floor_mod = { .name = "fmod", .kind = ATTR_INT, .i = 1 };
    uint32_t range = op2(g, "Max", op2(g, "Sub", g->high, g->low), number(g, 1));
    uint32_t in[] = { emit(g->e, "Abs", op2(g, "Sub", at, g->low)), op2(g, "Add", range, range) };
    uint32_t turn = emit_node(g->e, "Mod", &floor_mod, 1, in, 2);
    uint32_t far = emit(g->e, "Abs", op2(g, "Sub", turn, range));
    return op2(g, "Add", g->low, op2(g, "Sub", range, far));
}

static uint32_t held(const struct grid *g, uint32_t at)
{
    if (g->padding == PAD_ZEROS)
        return at;
    uint32_t out = op2(g, "Or", op2(g, "Less", at, g->low), op2(g, "Greater", at, g->high));
    uint32_t back = g->padding == PAD_BORDER ? clipped(g, at) : reflected(g, at);
    return emit(g->e, "Where", out, back, at);
}

/* a, b, c of (a t + b) t + c, then times t and plus d: a cubic of the distance to a place. */
static uint32_t cubic(const struct grid *g, uint32_t t, const float of[4])
{
    uint32_t y = number(g, of[0]);
    for (int i = 1; i < 4; i++)
        y = op2(g, "Add", op2(g, "Mul", y, t), number(g, of[i]));
    return y;
}

/* Of tap k, t behind the floor (Keys 1981, with -0.75). */
static uint32_t weight_of(const struct grid *g, int k, uint32_t t)
{
    static const float inner[] = { 1.25f, -2.25f, 0, 1 }, outer[] = { -0.75f, 3.75f, -6, 3 };
    uint32_t rest = op2(g, "Sub", number(g, 1), t);
    if (g->mode->taps == 2)
        return k ? t : rest;
    uint32_t distance = k < 2 ? t : rest;
    return k == 1 || k == 2 ? cubic(g, distance, inner)
                            : cubic(g, op2(g, "Add", distance, number(g, 1)), outer);
}

/* A tap as a place there is, and its weight: of what is outside none, where zeros lie there. */
static void tap_put(struct grid *g, int axis, int k, uint32_t at, uint32_t weight)
{
    uint32_t back = g->padding == PAD_REFLECTION ? held(g, at) : at;
    uint32_t there = clipped(g, back);
    if (g->padding == PAD_ZEROS)
        weight = emit(g->e, "Where", op2(g, "Equal", there, at), weight, number(g, 0));
    g->weight[axis][k] = weight;
    uint32_t whole = emit_cast(g->e, there, DTYPE_I64);
    uint32_t last = op2(g, "Sub", emit_sizes(g->e, g->x, 2 + axis, 3 + axis), emit_int(g->e, 1));
    g->place[axis][k] =
        op2(g, "Min", op2(g, "Max", whole, emit_int(g->e, 0)), emit(g->e, "Squeeze", last));
}

static void axis_take(struct grid *g, int axis)
{
    struct emitter *e = g->e;
    uint32_t of[] = { g->grid, emit_int(e, g->axes - 1 - axis) };
    uint32_t at = emit_with(e, "Gather", "axis", -1, of, 2);
    uint32_t size = emit(e, "Squeeze", emit_sizes(e, g->x, 2 + axis, 3 + axis));
    g->length = emit(e, "CastLike", size, g->grid);
    g->low = number(g, g->corners ? 0 : -0.5f);
    g->high = op2(g, "Sub", g->length, number(g, g->corners ? 1 : 0.5f));
    at = placed(g, at);
    if (g->mode->taps == 1) {
        at = held(g, emit(e, "Round", at));
        tap_put(g, axis, 0, g->padding == PAD_REFLECTION ? emit(e, "Floor", at) : at, number(g, 1));
        return;
    }
    at = held(g, at);
    uint32_t first = emit(e, "Floor", at), t = op2(g, "Sub", at, first);
    for (int k = 0; k < g->mode->taps; k++)
        tap_put(g, axis, k, op2(g, "Add", first, number(g, (float) (k + g->mode->first))),
                weight_of(g, k, t));
}

/* The numbers at one tap of each axis, times its weight. flat: [batch, channels, places] */
static uint32_t corner(const struct grid *g, uint32_t flat, const int tap[])
{
    struct emitter *e = g->e;
    uint32_t at = g->place[0][tap[0]], weight = g->weight[0][tap[0]];
    for (int i = 1; i < g->axes; i++) {
        uint32_t size = emit(e, "Squeeze", emit_sizes(e, g->x, 2 + i, 3 + i));
        at = op2(g, "Add", op2(g, "Mul", at, size), g->place[i][tap[i]]);
        weight = op2(g, "Mul", weight, g->weight[i][tap[i]]);
    }
    uint32_t wide = emit_joined(e, emit_sizes(e, g->x, 0, 2), emit_list(e, 1));
    uint32_t places = emit_node(e, "Flatten", NULL, 0, &at, 1);
    at = emit(e, "Expand", emit(e, "Unsqueeze", places, emit_list(e, 1)), wide);
    uint32_t v = emit_with(e, "GatherElements", "axis", 2, (uint32_t[]) { flat, at }, 2);
    if (g->mode->taps == 1 && g->padding != PAD_ZEROS)
        return v;
    weight = emit(e, "Expand", weight, emit_sizes(e, g->grid, 0, -1));
    weight = emit(e, "Unsqueeze", emit_node(e, "Flatten", NULL, 0, &weight, 1), emit_list(e, 1));
    return op2(g, "Mul", v, emit(e, "CastLike", weight, g->x));
}

static rill_status grid_put(struct grid *g)
{
    struct emitter *e = g->e;
    uint32_t flat = emit(e, "Reshape", g->x, emit_list(e, 0, 0, -1)), y = WIRE_NONE;
    int corners = 1;
    for (int i = 0; i < g->axes; i++) {
        axis_take(g, i);
        corners *= g->mode->taps;
    }
    for (int c = 0; c < corners && e->status == RILL_OK; c++) {
        int tap[GRID_AXES_MAX] = { 0 }, rest = c;
        for (int i = g->axes; i-- > 0; rest /= g->mode->taps)
            tap[i] = rest % g->mode->taps;
        uint32_t v = corner(g, flat, tap);
        y = c ? op2(g, "Add", y, v) : v;
    }
    uint32_t to = emit_joined(e, emit_sizes(e, g->x, 0, 2), emit_sizes(e, g->grid, 1, -1));
    return emit_output(e, 0, emit(e, "Reshape", y, to));
}

rill_status up_grid_sample(struct conversion *l)
{
    static const char *const paddings[] = { "zeros", "border", "reflection" };
    struct emitter e = { l, RILL_OK };
    struct grid g = { .e = &e, .padding = PAD_REFLECTION + 1 };
    const char *mode = convert_text(l, "mode", "linear"),
               *padding = convert_text(l, "padding_mode", "zeros");
    TRY(convert_inputs_check(l, 2, 2, 0x3));
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(modes[i].name, mode))
            g.mode = &modes[i];
    for (unsigned i = 0; i <= PAD_REFLECTION; i++)
        if (!strcmp(paddings[i], padding))
            g.padding = (enum padding) i;
    if (!g.mode || g.padding > PAD_REFLECTION)
        return convert_fail(l, RILL_MALFORMED,
                            "mode '%.40s', padding_mode '%.40s'; known: linear, nearest, cubic; "
                            "zeros, border, reflection",
                            mode, padding);
    const int rank = convert_rank(l, 0) > 0 ? convert_rank(l, 0) : convert_rank(l, 1);
    g.axes = rank - 2;
    if (g.axes < 1 || g.axes > GRID_AXES_MAX)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "its input must be known to have rank 3, 4 or 5 (rank %d)", rank);
    const int64_t places = convert_size(l, 1, -1);
    if (places >= 0 && places != g.axes)
        return convert_fail(l, RILL_MALFORMED,
                            "its grid has %" PRId64 " numbers a place, its input %d axes of places",
                            places, g.axes);
    g.corners = convert_int(l, "align_corners", 0) != 0;
    g.x = l->in[0];
    g.grid = l->in[1];
    return grid_put(&g);
}
