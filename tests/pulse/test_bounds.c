/* SPDX-License-Identifier: MIT */
/* What opening a graph costs is bounded: masks are looked at once, together no more than is stated,
 * and what would cost more is refused by name. Counted in elements, not in seconds. */
#include "pulse/axes.h"
#include "pulse/bands.h"
#include "pulse/measured.h"
#include "pulse/positions.h"
#include "tests/pulse/masks.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <string.h>

/* Layers of attention, each with a mask of its own. */
struct layers {
    int layers, nots;
    int64_t chunk;
    enum { ALIKE, WIDER, LOOSER } each; /* the same mask, more chunks, more frames in front */
    bool data;                          /* the Nots are laid over a mask of data */
};

static uint32_t range(struct gb *b, uint32_t length, int axis)
{
    uint32_t r = GB(b, "Range", "", gb_int(b, 0), length, gb_int(b, 1));
    return GB(b, "Unsqueeze", "", r, gb_ints(b, axis));
}

/* Chunks that see `left` chunks before them, or frames of their chunk and `loose` before those. */
static uint32_t chunks(struct gb *b, uint32_t i, uint32_t j, int64_t chunk, int64_t left,
                       int64_t loose)
{
    uint32_t c = gb_int(b, chunk), key = GB(b, "Div", "", j, c),
             d = GB(b, "Sub", "", GB(b, "Div", "", i, c), key);
    uint32_t m = GB(b, "And", "", GB(b, "GreaterOrEqual", "", d, gb_int(b, 0)),
                    GB(b, "LessOrEqual", "", d, gb_int(b, left)));
    if (!loose)
        return m;
    uint32_t back = GB(b, "Sub", "", i, j);
    return GB(b, "And", "", m, GB(b, "LessOrEqual", "", back, gb_int(b, loose)));
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct layers *l = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 4),
             length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1)),
             one = GB(b, "Unsqueeze", "", length, gb_ints(b, 0)),
             square = GB(b, "Concat", "axis=0", gb_ints(b, 1), one, one);
    uint32_t i = range(b, length, 1), j = range(b, length, 0);
    for (int k = 0; k < l->layers; k++) {
        uint32_t shown = chunks(b, i, j, l->chunk, l->each == WIDER ? k : 1,
                                l->each == LOOSER ? 700 + k : 0),
                 m = GB(b, "Expand", "", shown, square), s;
        if (l->data) {
            m = GB(b, "ReduceSum", "keepdims=0", x, gb_ints(b, 2));
            m = GB(b, "Unsqueeze", "", GB(b, "Greater", "", m, gb_scalar(b, -9)), gb_ints(b, 1));
            m = GB(b, "Expand", "", m, square);
        }
        for (int n = 0; n < l->nots; n++)
            m = GB(b, "Not", "", m);
        m = l->data ? GB(b, "And", "", m, shown) : m;
        s = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
        s = GB(b, "Where", "", m, s, gb_scalar(b, -INFINITY));
        x = GB(b, "MatMul", "", GB(b, "Softmax", "axis=2", s), x);
    }
    gb_output(b, x);
}

/* What the bands of all masks of the layers cost; -1: nothing runs. */
static int64_t spent(const struct layers *l)
{
    struct oracle o;
    struct arena a = { 0 };
    struct positions ps;
    int64_t y = -1;
    if (oracle_open(&o, recipe, l, NULL) == LAW_HOLDS &&
        positions_find(&ps, &o.model->decluttered.g, o.model->stream, &a, &o.err) == RILL_OK) {
        const struct graph *g = &o.model->decluttered.g;
        const struct pulser p = { .src = g,
                                  .symbol = o.model->stream,
                                  .arena = &a,
                                  .positions = &ps,
                                  .bands = bands_new(g, &a),
                                  .row_of = axis_row_of,
                                  .err = &o.err };
        for (uint32_t i = 0; i < g->n_nodes; i++)
            if (node_is(&g->nodes[i], OP_WHERE))
                band_of(&p, g->nodes[i].in[0], SHOWS_TRUE, 1, 2);
        y = bands_spent(p.bands);
        positions_drop(&ps);
    }
    oracle_close(&o);
    arena_drop(&a);
    return y;
}

static void spent_test(void)
{
    const struct layers one = { .layers = 1, .chunk = 509 }, same = { .layers = 16, .chunk = 509 },
                        wider = { .layers = 16, .chunk = 509, .each = WIDER },
                        nots = { .layers = 1, .nots = 30000, .chunk = 5 },
                        few = { .layers = 1, .nots = 2, .chunk = 5 },
                        loose = { .layers = 24, .chunk = 512, .each = LOOSER };
    int64_t once = spent(&one), not = spent(&few), all = spent(&wider), most = spent(&loose);
    oracle_check(once > 0 && once < 1 << 20, "a mask of a chunk costs %lld", (long long) once);
    oracle_check(spent(&same) == once, "the same mask is looked at more than once");
    oracle_check(all < MEASURES_MAX / 4, "16 masks cost %lld", (long long) all);
    oracle_check(not > 0 && spent(&nots) == not, "Nots cost %lld", (long long) spent(&nots));
    oracle_check(most > MEASURES_MAX / 2 && most <= MEASURES_MAX,
                 "masks of no two queries alike cost %lld", (long long) most);
}

static void refused_test(const char *name, const struct layers *l, const char *words)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, recipe, l, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, l->chunk) : v;
    oracle_check(words ? v == LAW_REFUSED && strstr(o.err.text, words) : v == LAW_HOLDS, "%s: %s",
                 name, o.err.text);
    oracle_close(&o);
}

static void shifted(struct gb *b, const void *ctx)
{
    gb_output(b, masked_attention(b, gb_input(b, "x", 3, 1, GB_TIME, 4), 4, ctx));
}

/* What positions make is looked at without a stack, however many nodes make it. */
static void shift_test(void)
{
    const struct written long_ = { .mask = FAR_NEGATIVE, .shift = GATHERED_LONG };
    struct oracle o;
    enum verdict v = oracle_open(&o, shifted, &long_, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_HOLDS, "a shift behind many nodes: %s", o.err.text);
    oracle_close(&o);
}

int main(void)
{
    spent_test();
    shift_test();
    refused_test("a mask of a chunk", &(struct layers) { .layers = 3, .chunk = 509 }, NULL);
    refused_test("masks that cost too much",
                 &(struct layers) { .layers = 24, .chunk = 512, .each = LOOSER }, "too many");
    refused_test("Nots over positions", &(struct layers) { .layers = 1, .nots = 30000, .chunk = 5 },
                 NULL);
    refused_test("Nots over data",
                 &(struct layers) { .layers = 1, .nots = 30000, .chunk = 5, .data = true },
                 "(Not): cannot stream");
    return oracle_end();
}
