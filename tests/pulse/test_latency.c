/* SPDX-License-Identifier: MIT */
/* What makes an output late is named op by op, and products are counted. */
#include "engine/plan/cost.h"
#include "check/latency.h"
#include "check/lower_bound.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const char *op;
    int64_t frames;
    double input_frames;
};

static void expect(gb_recipe *recipe, int64_t pulse, int64_t frames, const struct part *part,
                   unsigned n)
{
    struct oracle o = { .seed = 1 };
    struct arena a = { 0 };
    struct latency l;
    oracle_check(oracle_open(&o, recipe, NULL, NULL) == LAW_HOLDS &&
                     oracle_pulse(&o, pulse) == LAW_HOLDS,
                 "%s", o.err.text);
    double sum = 0;
    bool ok =
        latency_of(&o.plan->pgraph, &o.model->decluttered.g, 0, LATENCY, &a, &l, &o.err) == RILL_OK;
    oracle_check(ok && l.frames == frames && l.n_parts == n, "%lld frames in %u parts",
                 (long long) l.frames, l.n_parts);
    for (unsigned i = 0; ok && i < n && i < l.n_parts; i++) {
        const struct latency_part *p = &l.part[i];
        sum += p->input_frames;
        oracle_check(!strcmp(p->node->op->name, part[i].op) && p->frames == part[i].frames &&
                         p->input_frames == part[i].input_frames,
                     "part %u: %s %lld, %g", i, p->node->op->name, (long long) p->frames,
                     p->input_frames);
    }
    oracle_check(sum == l.input_frames, "%g in all, %g in parts", l.input_frames, sum);
    arena_drop(&a);
    oracle_close(&o);
}

/* A stride of 3 makes what is added behind it count threefold. */
static void strided(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 4, GB_TIME);
    x = GB(b, "Conv", "", x, gb_weights(b, 3, 4, 4, 5));
    x = GB(b, "Conv", "strides=3", x, gb_weights(b, 3, 4, 4, 3));
    x = GB(b, "Relu", "", x);
    gb_output(b, GB(b, "Conv", "dilations=2", x, gb_weights(b, 3, 4, 4, 2)));
}

/* What meets a slice is laid as the slice says, whatever the middle of its windows is: each frame
 * stands for the newest that it needs. */
static void two_ways(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 4, GB_TIME), y;
    y = GB(b, "Conv", "", x, gb_weights(b, 3, 4, 4, 3));
    y = GB(b, "Conv", "", y, gb_weights(b, 3, 4, 4, 2));
    gb_output(b, GB(b, "Add", "", gb_slice(b, x, 2, 3, INT64_MAX, 1), y));
}

static void causal(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 4, GB_TIME);
    x = gb_pad(b, x, 3, 2, "constant", 4, 0);
    x = GB(b, "Conv", "", x, gb_weights(b, 3, 4, 4, 5));
    gb_output(b, GB(b, "Conv", "pads=1,1", x, gb_weights(b, 3, 4, 4, 3)));
}

/* Frames t - 1 and t + 1 of a sequence padded on both sides: 1 frame late, not as many as are cut
 * from the pad. */
static void shifted(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x =
        gb_transpose(b, gb_pad(b, gb_input(b, "x", 3, 1, 4, GB_TIME), 3, 2, "constant", 3, 1),
                     "0,2,1");
    gb_output(b, GB(b, "Add", "", gb_slice(b, x, 1, 2, -2, 1), gb_slice(b, x, 1, 4, INT64_MAX, 1)));
}

/* ctx: frames in front and, counted from there, the first that is kept. */
static void cut(struct gb *b, const void *ctx)
{
    const int64_t *v = ctx;
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 4, GB_TIME), 3, 2, "constant", v[0], 0);
    gb_output(b, v[1] ? gb_slice(b, x, 2, v[1], INT64_MAX, 1) : x);
}

/* The input frame that frame 0 stands for. */
static void test_origin(void)
{
    static const int64_t cuts[][2] = { { 3, 0 }, { 3, 5 }, { 4, 1 }, { -2, 0 }, { 0, 2 } };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct oracle o = { .seed = 1 };
        int64_t want = cuts[i][1] - cuts[i][0];
        oracle_check(oracle_open(&o, cut, cuts[i], NULL) == LAW_HOLDS &&
                         oracle_pulse(&o, 4) == LAW_HOLDS,
                     "%s", o.err.text);
        oracle_check(o.plan && ratio_floor(o.plan->pgraph.outputs[0].at.origin) == want,
                     "case %zu: frame 0 is not input frame %lld", i, (long long) want);
        oracle_close(&o);
    }
}

static uint64_t count_of(const struct cost *c, const char *op)
{
    for (unsigned i = 0; i < c->n_rows; i++)
        if (!strcmp(c->row[i].op->name, op))
            return c->row[i].multiply_adds;
    return 0;
}

/* 8 x (4/2 x 3) weights a frame; 2 frames a run at a pulse of 4. */
static void products(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 4, GB_TIME);
    x = GB(b, "Conv", "strides=2 group=2", x, gb_weights(b, 3, 8, 2, 3));
    x = GB(b, "ConvTranspose", "strides=2", x, gb_weights(b, 3, 8, 6, 2));
    x = gb_transpose(b, x, "2,0,1");
    x = GB(b, "MatMul", "", x, gb_weights(b, 2, 6, 5));
    x = GB(b, "Einsum", "equation='tbi,ij->tbj", x, gb_weights(b, 2, 5, 7));
    const uint32_t in[] = { x, gb_weights(b, 3, 1, 9, 7), gb_weights(b, 3, 1, 9, 3) };
    struct node *gru = gb_node(b, "GRU", "hidden_size=3", in, 3, 1);
    gb_output(b, gru ? gru->out[0] : WIRE_NONE);
}

static void test_cost(void)
{
    struct oracle o = { .seed = 1 };
    struct cost c;
    oracle_check(oracle_open(&o, products, NULL, NULL) == LAW_HOLDS &&
                     oracle_pulse(&o, 4) == LAW_HOLDS,
                 "%s", o.err.text);
    if (o.plan) {
        cost_of_graph(&o.plan->settled.g, &c);
        oracle_check(count_of(&c, "Conv") == 2 * 8 * 2 * 3, "Conv: %llu",
                     (unsigned long long) count_of(&c, "Conv"));
        oracle_check(count_of(&c, "ConvTranspose") >= 2 * 8 * 6 * 2, "ConvTranspose: %llu",
                     (unsigned long long) count_of(&c, "ConvTranspose"));
        oracle_check(count_of(&c, "MatMul") == 4 * 6 * 5, "MatMul: %llu",
                     (unsigned long long) count_of(&c, "MatMul"));
        oracle_check(count_of(&c, "Einsum") == 4 * 5 * 7, "Einsum: %llu",
                     (unsigned long long) count_of(&c, "Einsum"));
        oracle_check(count_of(&c, "GRU") == 4 * 9 * (7 + 3), "GRU: %llu",
                     (unsigned long long) count_of(&c, "GRU"));
        oracle_check(!c.open, "all is known");
    }
    oracle_close(&o);
}

/* ---- against the lower bound ---- */

static const char *const kinds[] = { "conv",   "max",    "average", "slice",  "pad",
                                     "concat", "deconv", "frame",   "overlap" };

static bool chain_is_plain(const struct chain *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        bool among = false;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            among |= !strcmp(c->steps[i].kind->name, kinds[k]);
        if (!among)
            return false;
    }
    return c->taps == 0 && c->n <= 4;
}

/* Frames cut off behind, by a number and to a multiple, and in front. */
struct crops {
    int64_t behind, multiple, from, step;
};

static void cropped(struct gb *b, const void *ctx)
{
    const struct crops *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    if (c->multiple) {
        uint32_t t = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 2), gb_ints(b, 3));
        t = GB(b, "Sub", "", t, GB(b, "Mod", "", t, gb_ints(b, c->multiple)));
        x = GB(b, "Slice", "", x, gb_ints(b, 0), t, gb_ints(b, 2));
    }
    if (c->behind)
        x = gb_pad(b, x, 3, 2, "constant", 0, -c->behind);
    x = gb_slice(b, x, 2, c->from, INT64_MAX, c->step);
    gb_output(b, GB(b, "Relu", "", x));
}

static void test_crops(void)
{
    static const struct crops list[] = { { 1, 0, 0, 1 }, { 1, 0, 1, 1 }, { 1, 0, 2, 1 },
                                         { 2, 0, 1, 1 }, { 0, 4, 0, 1 }, { 0, 4, 1, 1 },
                                         { 3, 4, 2, 1 }, { 1, 0, 0, 2 }, { 1, 0, 1, 2 },
                                         { 0, 3, 0, 3 }, { 1, 0, 3, 4 } };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int64_t pulse = list[i].step; pulse <= 12; pulse += list[i].step) {
            int64_t more = oracle_needless(cropped, &list[i], NULL, pulse);
            oracle_check(more == 0, "-%lld to %lld, from %lld, step %lld at %lld: %lld late",
                         (long long) list[i].behind, (long long) list[i].multiple,
                         (long long) list[i].from, (long long) list[i].step, (long long) pulse,
                         (long long) more);
        }
}

/* Frames between those of the input, of which the first are beyond its begin, or need to know that
 * there is another. */
struct resized {
    const char *how;
    float scale;
    bool late; /* behind a Conv that sees ahead */
    int64_t pulse;
};

static void resized(struct gb *b, const void *ctx)
{
    const struct resized *r = ctx;
    const float scales[] = { 1, 1, r->scale };
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    if (r->late)
        x = GB(b, "Conv", "pads=1,1", x, gb_weights(b, 3, 2, 2, 3));
    gb_output(b, GB(b, "Resize", r->how, x, WIRE_NONE, gb_floats(b, 3, scales)));
}

static void test_resized(void)
{
    static const struct resized list[] = {
        { "mode=linear coordinate_transformation_mode=pytorch_half_pixel", 0.5f, false, 2 },
        { "mode=linear coordinate_transformation_mode=pytorch_half_pixel", 1.5f, false, 2 },
        { "nearest_mode=floor", 2, true, 1 },
        { "mode=linear", 2, true, 1 },
    };
    static const int64_t lengths[] = { 1, 2, 3, 4, 5, 9, 30, -1 };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int64_t pulse = list[i].pulse; pulse <= 8; pulse += list[i].pulse) {
            struct oracle o = { .seed = 1 };
            const int64_t pulses[] = { pulse, -1 },
                          more = oracle_needless(resized, &list[i], NULL, pulse);
            oracle_check(more == 0, "%s by %g at %lld: %lld late", list[i].how,
                         (double) list[i].scale, (long long) pulse, (long long) more);
            if (oracle_open(&o, resized, &list[i], NULL) == LAW_HOLDS)
                oracle_laws(&o, list[i].how, pulses, lengths);
            oracle_close(&o);
        }
}

/* Element by element, 16 channels of a sequence whose numbers are its time axis. */
static void long_runs(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 16, GB_TIME);
    for (int i = 0; i < 6; i++)
        x = GB(b, i % 2 ? "Abs" : "Sin", "", x);
    gb_output(b, x);
}

/* What whole runs would take that multiply nothing is bounded too: 300 MiB each, here. */
static void test_bound_memory(void)
{
    struct oracle o;
    int64_t least[64];
    rill_error err = { .text = "" };
    oracle_check(oracle_open(&o, long_runs, NULL, NULL) == LAW_HOLDS &&
                     oracle_pulse(&o, 65536) == LAW_HOLDS,
                 "%s", o.err.text);
    rill_status s =
        o.plan ? delay_bounds(&o.plan->pgraph, &o.model->decluttered.g, least, &err) : RILL_OK;
    oracle_check(s == RILL_LIMIT && strstr(err.text, "bytes"), "%d: %s", s, err.text);
    oracle_close(&o);
}

/* What windows read at once waits for nothing that is put in front, whatever it is. */
static void test_fronts(void)
{
    static const char *const list[] = {
        "2: pad mode=0 l=5; average k=4",
        "2: frame size=3 hop=1 before=3; max k=2",
        "2: frame size=4 before=6 hop=2; conv k=3",
        "2: pad mode=0 l=4 r=2; max k=3",
        "2: pad mode=1 l=4; conv k=5",
        "2: pad mode=1 l=2 r=2; conv k=5",
        "2: pad mode=2 l=2 r=2; conv k=5",
        "2: pad mode=2 l=3; average k=8 s=2",
        "2: concat l=4; conv k=5",
        "2: concat l=2 r=2; conv k=5",
        "2: pad mode=0 l=3; pad mode=0 l=2; conv k=6",
        "2: pad mode=1 l=2 r=1; glu; conv k=4",
        "2: pad mode=0 l=3; glu; pad mode=0 l=2; conv k=6",
        "2: pad mode=2 l=2 r=1; glu; conv k=4",
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int64_t pulse = 1; pulse <= 12; pulse++) {
            struct chain c;
            oracle_check(chain_parse(&c, list[i]), "%s", list[i]);
            int64_t more = oracle_needless(chain_recipe, &c, NULL, pulse);
            oracle_check(more <= 0, "%s at %lld: %lld late", list[i], (long long) pulse,
                         (long long) more);
        }
}

/* ---- what is read of padded frames ---- */

/* Two slices of a sequence padded with ones: the frame before and the frame itself, joined. */
static void looked_back(struct gb *b, const void *ctx)
{
    const char *mode = ctx;
    uint32_t x = GB(b, "Relu", "", gb_input(b, "x", 3, 1, GB_TIME, 2));
    uint32_t pads = gb_ints(b, 0, 1, 0, 0, 2, 0);
    uint32_t y = mode ? gb_pad(b, x, 3, 1, mode, 1, 2) : GB(b, "Pad", "", x, pads, gb_scalar(b, 1));
    y = GB(b, "Concat", "axis=2", gb_slice(b, y, 1, 0, -3, 1), gb_slice(b, y, 1, 1, -2, 1));
    gb_output(b, y);
}

/* Windows of frames that a Gather takes of a padded sequence: each and the *ctx before it. */
static void windows_gathered(struct gb *b, const void *ctx)
{
    const int64_t before = *(const int64_t *) ctx, at[] = { before + 1, 1 };
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2));
    uint32_t i = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    int64_t *reach = arena_array(b->arena, int64_t, before + 1);
    for (int64_t k = 0; reach && k <= before; k++)
        reach[k] = k;
    i = GB(b, "Add", "", GB(b, "Unsqueeze", "", i, gb_ints(b, 1)),
           gb_const(b, DTYPE_I64, 2, (const int64_t[]) { at[1], at[0] }, reach));
    x = gb_pad(b, GB(b, "Relu", "", x), 3, 2, "constant", before, 0);
    gb_output(b, GB(b, "Gather", "axis=2", x, i));
}

/* A causal convolution over what is padded on both sides and cut behind. */
static void cut_behind(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, "constant", 3, 3);
    x = gb_slice(b, x, 2, 0, -3, 1);
    gb_output(b, GB(b, "Conv", "", x, gb_weights(b, 3, 2, 2, 4)));
}

/* Causal convolutions over the halves of what is padded. */
static void halves(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 4, GB_TIME), 3, 2, "constant", 2, 0), y[2];
    const uint32_t in[] = { x, gb_ints(b, 2, 2) };
    struct node *n = gb_node(b, "Split", "axis=1", in, 2, 2);
    for (int k = 0; n && k < 2; k++)
        y[k] = GB(b, "Conv", "", n->out[k], gb_weights(b, 3, 2, 2, 3));
    if (n)
        gb_output(b, GB(b, "Add", "", y[0], y[1]));
}

/* What is padded goes through layers of each frame, with biases and a gate, before a convolution
 * without pads: WeNet's and Conformer's. ctx: pads in front and behind. */
static void layers_between(struct gb *b, const void *ctx)
{
    const int64_t *pads = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 4), y[2];
    x = gb_pad(b, gb_transpose(b, x, "0,2,1"), 3, 2, "constant", pads[0], pads[1]);
    x = GB(b, "Conv", "", x, gb_weights(b, 3, 4, 4, 1), gb_weights(b, 1, 4));
    const uint32_t in[] = { gb_transpose(b, x, "0,2,1"), gb_ints(b, 2, 2) };
    struct node *n = gb_node(b, "Split", "axis=2", in, 2, 2);
    for (int k = 0; n && k < 2; k++)
        y[k] = GB(b, "MatMul", "", n->out[k], gb_weights(b, 2, 2, 2));
    if (!n)
        return;
    x = GB(b, "Mul", "", y[0], GB(b, "Sigmoid", "", y[1]));
    x = GB(b, "Conv", "group=2", gb_transpose(b, x, "0,2,1"), gb_weights(b, 3, 2, 1, 4));
    gb_output(b, x);
}

/* Pads of other frames around what is padded: the convolution's own, or a Pad of zeros. */
static void pads_around(struct gb *b, const void *ctx)
{
    const bool own = ctx != NULL;
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, "constant", 2, 1);
    x = GB(b, "Cos", "", x);
    if (!own)
        x = gb_pad(b, x, 3, 2, "constant", 1, 2);
    gb_output(b, GB(b, "Conv", own ? "pads=1,2" : "", x, gb_weights(b, 3, 2, 2, 5)));
}

/* The same of copies of frames. */
static void layer_of_copies(struct gb *b, const void *ctx)
{
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, ctx, 2, 1);
    gb_output(b, GB(b, "Conv", "", GB(b, "Sigmoid", "", x), gb_weights(b, 3, 2, 2, 4)));
}

/* Two sequences, one of which looks `ahead` frames ahead, padded in two ways and added; a window
 * reads the sum. */
struct meeting {
    const char *mode[2];
    int64_t before[2], after[2];
    int ahead, kernel;
};

static void pads_meet(struct gb *b, const void *ctx)
{
    const struct meeting *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME), y[2];
    for (int k = 0; k < 2; k++) {
        const int ahead = k ? c->ahead : 0;
        y[k] =
            GB(b, "Conv", gb_printf(b, "pads=0,%d", ahead), x, gb_weights(b, 3, 2, 2, 1 + ahead));
        y[k] = gb_pad(b, y[k], 3, 2, c->mode[k], c->before[k], c->after[k]);
    }
    gb_output(b,
              GB(b, "Conv", "", GB(b, "Add", "", y[0], y[1]), gb_weights(b, 3, 2, 2, c->kernel)));
}

/* A convolution with pads of its own over copies of frames. */
static void pads_around_copies(struct gb *b, const void *ctx)
{
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, ctx, 2, 1);
    gb_output(b, GB(b, "Conv", "pads=2,1", x, gb_weights(b, 3, 2, 2, 6)));
}

/* A transposed convolution, which cuts frames off in front, over ones that pad; ctx: its
 * attributes. */
static void transposed(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME), pads = gb_ints(b, 0, 0, 2, 0, 0, 1);
    x = GB(b, "Pad", "", x, pads, gb_scalar(b, 1));
    gb_output(b, GB(b, "ConvTranspose", ctx, x, gb_weights(b, 3, 2, 2, 4)));
}

/* Frames of several channels become as many frames, in front of a convolution. */
static void shuffled(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, GB_TIME, 4), 3, 1, "constant", 2, 1);
    x = GB(b, "Cos", "", x);
    x = gb_transpose(b, GB(b, "Reshape", "", x, gb_ints(b, 1, -1, 2)), "0,2,1");
    gb_output(b, GB(b, "Conv", "", x, gb_weights(b, 3, 2, 2, 6)));
}

/* Copies of frames in front of frames that pad. */
struct copied {
    const char *inner, *mode;
    int64_t before[2];
};

static void copies_of_pads(struct gb *b, const void *ctx)
{
    const struct copied *c = ctx;
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, c->inner, c->before[0], 0);
    x = gb_pad(b, x, 3, 2, c->mode, c->before[1], 0);
    gb_output(b, GB(b, "Conv", "", x, gb_weights(b, 3, 2, 2, 5)));
}

/* Copies of the first frame in front of a sequence that is cut behind. */
static void edge_of_cut(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_slice(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 2, 0, -1, 1);
    gb_output(b, GB(b, "Relu", "", gb_pad(b, x, 3, 2, "edge", 1, 1)));
}

/* Windows side by side of which none is cut. */
static void ceiled(struct gb *b, const void *ctx)
{
    uint32_t x = gb_pad(b, gb_input(b, "x", 3, 1, 2, GB_TIME), 3, 2, "edge", 2, 0);
    gb_output(b, GB(b, ctx, "kernel_shape=3 strides=1 ceil_mode=1", x));
}

/* The first frame meets the second, which comes six frames later than the first that comes; those
 * behind wait for less. */
static void reflected(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = GB(b, "Conv", "", gb_input(b, "x", 3, 1, 2, GB_TIME), gb_weights(b, 3, 2, 2, 7));
    uint32_t y = gb_slice(b, gb_pad(b, x, 3, 2, "reflect", 1, 0), 2, 0, -1, 1);
    gb_output(b, GB(b, "Add", "", x, y));
}

/* A frame that is read, but so faintly that it changes nothing. */
static void faint(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    uint32_t later = GB(b, "Mul", "", gb_slice(b, x, 2, 3, INT64_MAX, 1), gb_scalar(b, 1e-12f));
    gb_output(b, GB(b, "Add", "", later, gb_slice(b, x, 2, 0, -3, 1)));
}

/* A frame that a sequence does not have which ends there, read as faintly. */
static void faint_end(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    uint32_t cut = gb_pad(b, gb_slice(b, x, 2, 0, -3, 1), 3, 2, "constant", 0, 3);
    uint32_t later = GB(b, "Mul", "", gb_slice(b, cut, 2, 3, INT64_MAX, 1), gb_scalar(b, 1e-12f));
    gb_output(b, GB(b, "Add", "", later, gb_slice(b, x, 2, 0, -3, 1)));
}

/* The first frames of a sequence joined in front of it, as they are, copied, or another way round,
 * and what reads that. ctx: which. */
struct first {
    int64_t frames;
    enum { FIRST_CUT, FIRST_NEGATED, FIRST_TILED, FIRST_EXPANDED, FIRST_TWICE } how;
    enum { READ_CONV, READ_STRIDED, READ_DIFFERENCE, READ_LAYER, READ_BESIDE } read;
    int64_t late; /* frames that the sequence itself is late */
};

static void first_joined(struct gb *b, const void *ctx)
{
    const struct first *q = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME), f;
    if (q->late)
        x = GB(b, "Conv", gb_printf(b, "pads=0,%d", (int) q->late), x,
               gb_weights(b, 3, 2, 2, (int) q->late + 1));
    f = gb_slice(b, x, 2, 0, q->frames, 1);
    switch (q->how) {
    case FIRST_CUT: break;
    case FIRST_TILED: f = GB(b, "Tile", "", f, gb_ints(b, 1, 1, 3)); break;
    case FIRST_EXPANDED: f = GB(b, "Expand", "", f, gb_ints(b, 1, 2, 3)); break;
    case FIRST_NEGATED: f = GB(b, "Neg", "", f); break;
    case FIRST_TWICE: f = GB(b, "Concat", "axis=2", f, gb_weights(b, 3, 1, 2, 1), f); break;
    }
    if (q->read == READ_BESIDE) {
        gb_output(b, gb_pad(b, GB(b, "Sub", "", x, f), 3, 2, "reflect", 1, 3));
        return;
    }
    x = GB(b, "Concat", "axis=2", f, x);
    switch (q->read) {
    case READ_BESIDE:
    case READ_LAYER:
        x = GB(b, "Sigmoid", "", x);
        x = GB(b, "Add", "", x, gb_weights(b, 3, 1, 2, 1)); /* fall through */
    case READ_CONV: x = GB(b, "Conv", "", x, gb_weights(b, 3, 2, 2, 4)); break;
    case READ_STRIDED: x = GB(b, "AveragePool", "kernel_shape=4 strides=2", x); break;
    case READ_DIFFERENCE:
        x = GB(b, "Sub", "", gb_slice(b, x, 2, 1, INT64_MAX, 1), gb_slice(b, x, 2, 0, -1, 1));
    }
    gb_output(b, x);
}

static void first_check(const struct first *q, int64_t pulse)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 4, 9, 30, -1 };
    const char *const asserted = q->frames > 1 ? "S>=3" : NULL; /* all that is kept is there */
    const int64_t pulses[] = { pulse, -1 },
                  more = oracle_needless(first_joined, q, asserted, pulse);
    struct oracle o = { .seed = 1 };
    char what[80];
    snprintf(what, sizeof what, "first %d, how %d, read by %d, late %d", (int) q->frames,
             (int) q->how, (int) q->read, (int) q->late);
    /* What copies have become known one by one waits for the last of them. */
    const bool apart = q->how > FIRST_NEGATED && q->read == READ_DIFFERENCE && q->frames > 1;
    oracle_check(more == 0 || (apart && more == 1), "%s at %d: %d late", what, (int) pulse,
                 (int) more);
    if (oracle_open(&o, first_joined, q, asserted) == LAW_HOLDS)
        oracle_laws(&o, what, pulses, asserted ? lengths + 3 : lengths);
    oracle_close(&o);
}

static void test_firsts(void)
{
    struct first q;
    for (q.frames = 1; q.frames < 4; q.frames++)
        for (q.how = FIRST_CUT; q.how <= FIRST_TWICE; q.how++)
            for (q.read = READ_CONV; q.read <= READ_LAYER; q.read++)
                for (q.late = 0; q.late <= 2; q.late += 2)
                    for (int64_t pulse = 2; pulse <= 6; pulse += 2)
                        if (q.how != FIRST_EXPANDED || q.frames == 1)
                            first_check(&q, pulse);
    for (int64_t pulse = 1; pulse < 4; pulse++)
        first_check(&(struct first) { .frames = 1, .how = FIRST_CUT, .read = READ_BESIDE }, pulse);
}

static void test_reads(void)
{
    static const int64_t two = 2, five = 5, front[] = { 3, 0 }, ends[] = { 2, 1 };
    static const struct copied copies[] = {
        { "constant", "reflect", { 1, 2 } },
        { "constant", "edge", { 2, 2 } },
        { "edge", "reflect", { 2, 1 } },
        { "reflect", "edge", { 1, 2 } },
    };
    static const struct meeting meetings[] = {
        { { "constant", "constant" }, { 3, 2 }, { 0, 1 }, 0, 4 },
        { { "constant", "constant" }, { 2, 2 }, { 0, 0 }, 1, 3 },
        { { "edge", "constant" }, { 2, 2 }, { 1, 1 }, 0, 3 },
        { { "constant", "reflect" }, { 3, 2 }, { 0, 1 }, 0, 5 },
        { { "edge", "reflect" }, { 2, 2 }, { 0, 0 }, 1, 3 },
    };
    const struct {
        const char *name;
        gb_recipe *recipe;
        const void *ctx;
    } list[] = { { "ones", looked_back, NULL },
                 { "edge", looked_back, "edge" },
                 { "2 gathered", windows_gathered, &two },
                 { "5 gathered", windows_gathered, &five },
                 { "cut behind", cut_behind, NULL },
                 { "halves", halves, NULL },
                 { "layers between", layers_between, front },
                 { "layers between ends", layers_between, ends },
                 { "pads around pads", pads_around, NULL },
                 { "own pads around pads", pads_around, front },
                 { "a layer of edges", layer_of_copies, "edge" },
                 { "frames before that differ", pads_meet, &meetings[0] },
                 { "delays that differ", pads_meet, &meetings[1] },
                 { "an edge and zeros", pads_meet, &meetings[2] },
                 { "zeros and a mirror", pads_meet, &meetings[3] },
                 { "an edge and a mirror", pads_meet, &meetings[4] },
                 { "own pads around edges", pads_around_copies, "edge" },
                 { "own pads around mirrored frames", pads_around_copies, "reflect" },
                 { "transposed", transposed, "pads=1,0" },
                 { "transposed, strided", transposed, "strides=2 pads=4,1 output_padding=1" },
                 { "transposed, dilated", transposed, "dilations=2 pads=2,2" },
                 { "shuffled", shuffled, NULL },
                 { "zeros mirrored", copies_of_pads, &copies[0] },
                 { "edges of zeros", copies_of_pads, &copies[1] },
                 { "edges mirrored", copies_of_pads, &copies[2] },
                 { "edges of a mirror", copies_of_pads, &copies[3] },
                 { "edges of what is cut", edge_of_cut, NULL },
                 { "a maximum that ceils nothing", ceiled, "MaxPool" },
                 { "a mean that ceils nothing", ceiled, "AveragePool" },
                 { "reflected", reflected, NULL },
                 { "faint", faint, NULL },
                 { "faint end", faint_end, NULL } };
    static const int64_t lengths[] = { 3, 4, 9, 30, -1 };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int64_t pulse = 1; pulse <= 8; pulse++) {
            struct oracle o = { .seed = 1 };
            const int64_t pulses[] = { pulse, -1 };
            int64_t more = oracle_needless(list[i].recipe, list[i].ctx, NULL, pulse);
            oracle_check(more == 0, "%s at %lld: %lld late", list[i].name, (long long) pulse,
                         (long long) more);
            if (oracle_open(&o, list[i].recipe, list[i].ctx, NULL) == LAW_HOLDS)
                oracle_laws(&o, list[i].name, pulses, lengths);
            oracle_close(&o);
        }
}

/* ---- random nets of pads, layers of each frame, and windows ---- */

static int drawn(uint32_t *draw, int n)
{
    return (int) (gb_random(draw) % (uint32_t) n);
}

static uint32_t net_layer(struct gb *b, uint32_t x, uint32_t *draw)
{
    switch (drawn(draw, 5)) {
    case 0: return GB(b, "Sigmoid", "", x);
    case 1: return GB(b, "Add", "", x, gb_weights(b, 3, 1, 2, 1));
    case 2: return GB(b, "Conv", "", x, gb_weights(b, 3, 2, 2, 1), gb_weights(b, 1, 2));
    case 3: return GB(b, "Add", "", x, GB(b, "Cos", "", x));
    default:
        x = GB(b, "MatMul", "", gb_transpose(b, x, "0,2,1"), gb_weights(b, 2, 2, 2));
        return gb_transpose(b, GB(b, "Add", "", x, gb_weights(b, 1, 2)), "0,2,1");
    }
}

static uint32_t net_pad(struct gb *b, uint32_t x, uint32_t *draw)
{
    const int before = drawn(draw, 5), after = drawn(draw, 2) ? drawn(draw, 4) : 0;
    switch (drawn(draw, 5)) {
    case 0: return GB(b, "Pad", "", x, gb_ints(b, 0, 0, before, 0, 0, after), gb_scalar(b, 0.4f));
    case 1: return GB(b, "Concat", "axis=2", gb_weights(b, 3, 1, 2, before + 1), x);
    case 2:
        return GB(b, "Concat", "axis=2", gb_full(b, 0, 3, 1, 2, before + 1), x,
                  gb_weights(b, 3, 1, 2, after + 1));
    default: return gb_pad(b, x, 3, 2, "constant", before, after);
    }
}

static uint32_t net_window(struct gb *b, uint32_t x, uint32_t *draw)
{
    const int k = 1 + drawn(draw, 4), step = 1 + drawn(draw, 2), before = drawn(draw, 2);
    switch (drawn(draw, 6)) {
    case 0: return GB(b, "MaxPool", gb_printf(b, "kernel_shape=%d strides=1", k), x);
    case 1: return GB(b, "AveragePool", gb_printf(b, "kernel_shape=%d strides=1", k), x);
    case 2: return gb_slice(b, x, 2, k - 1, INT64_MAX, 1);
    case 3: return gb_slice(b, x, 2, k - 1, -k, 1);
    case 4:
        return GB(b, "Conv", gb_printf(b, "strides=2 pads=%d,0", before), x,
                  gb_weights(b, 3, 2, 2, k));
    default:
        return GB(b, "Conv", gb_printf(b, "dilations=%d pads=%d,%d", step, before, drawn(draw, 2)),
                  x, gb_weights(b, 3, 2, 2, k), gb_weights(b, 1, 2));
    }
}

/* ctx: a seed. */
static void net_random(struct gb *b, const void *ctx)
{
    uint32_t draw = *(const uint32_t *) ctx, x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    const int parts = 1 + drawn(&draw, 3);
    for (int i = 0; i < parts; i++) {
        x = net_pad(b, x, &draw);
        for (int k = drawn(&draw, 3); k >= 0; k--)
            x = net_layer(b, x, &draw);
        x = net_window(b, x, &draw);
    }
    gb_output(b, GB(b, "Relu", "", x));
}

/* All stream and obey the law, and but for one in 150 none comes later than it must. */
static void test_nets(uint32_t nets)
{
    static const int64_t lengths[] = { 0, 1, 3, 9, 30, -1 };
    unsigned late = 0;
    for (uint32_t seed = 1; seed <= nets; seed++) {
        const uint32_t draw = seed * 2654435761u;
        int64_t pulses[] = { 1 + seed % 6, -1 };
        int64_t more = oracle_needless(net_random, &draw, NULL, pulses[0]);
        struct oracle o = { .seed = 1 };
        if (more < 0) { /* of a hop that does not fit: the smallest */
            pulses[0] = 0;
            more = oracle_needless(net_random, &draw, NULL, 0);
        }
        late += more > 0;
        oracle_check(more >= 0, "net %u does not stream", seed);
        if (oracle_open(&o, net_random, &draw, NULL) == LAW_HOLDS)
            oracle_laws(&o, "a random net", pulses, lengths);
        oracle_close(&o);
    }
    printf("%u of %u nets are later than they must\n", late, nets);
    oracle_check(late * 150 <= nets, "%u of %u nets are later than they must", late, nets);
}

/* Of chains that stream, how many frames later than they must. What is put in front of a sequence,
 * other than constants, comes before all of it: what is not a window over it waits for it. */
static void test_bounds(unsigned chains)
{
    unsigned streams = 0, late = 0;
    for (uint32_t seed = 1; streams < chains && seed < 100 * chains; seed++) {
        uint32_t draw = seed;
        char text[512];
        struct chain c = chain_draw(&draw);
        if (!chain_is_plain(&c))
            continue;
        int64_t pulse = 1 + seed % 7, more = oracle_needless(chain_recipe, &c, NULL, pulse);
        streams += more >= 0;
        late += more > 0;
        chain_print(&c, text, sizeof text);
        bool fronts = strstr(text, "pad") || strstr(text, "concat") ||
            strstr(text, "overlap"); /* of frames that begin before the sequence */
        oracle_check(more <= 0 || fronts, "%lld frames late at pulse %lld: %s", (long long) more,
                     (long long) pulse, text);
    }
    printf("%u of %u chains are later than they must\n", late, streams);
    oracle_check(streams == chains && late * 50 <= streams, "%u of %u are later than they must",
                 late, streams);
}

int main(void)
{
    test_crops();
    test_resized();
    test_fronts();
    test_reads();
    test_firsts();
    test_bound_memory();
    test_nets(getenv("RILL_NETS") ? (uint32_t) atoi(getenv("RILL_NETS")) : 160);
    test_bounds(getenv("RILL_CHAINS") ? (unsigned) atoi(getenv("RILL_CHAINS")) : 120);
    static const struct part of_strided[] = { { "Conv", 2, 2 },
                                              { "Conv", 0, 2 },
                                              { "Conv", 1, 3 } };
    static const struct part of_causal[] = { { "Conv", 1, 1 } };
    static const struct part of_shifted[] = { { "Pad", 1, 1 } };
    expect(strided, 3, 2, of_strided, 3);
    expect(strided, 24, 2, of_strided, 3);
    expect(two_ways, 1, 0, NULL, 0);
    expect(two_ways, 5, 0, NULL, 0);
    expect(shifted, 1, 1, of_shifted, 1);
    expect(causal, 2, 1, of_causal, 1);
    test_origin();
    test_cost();
    return oracle_end();
}
