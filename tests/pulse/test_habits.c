/* SPDX-License-Identifier: MIT */
/* How other people's nets are written: each streams, and gives what it gives as it was written. */
#include "engine/graph/control.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "pulse/cut_tables.h"
#include "tests/pulse/drift_random.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 4 };

/* ctx: how many frames there are, as a list or a number. */
static uint32_t length_of(struct gb *b, uint32_t x, bool list)
{
    return GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), list ? gb_ints(b, 1) : gb_int(b, 1));
}

/* ---- rows of chunks that were merged, time behind ---- */

/* [1, S, W] -> [4, S, W] of copies times 1..4, rows merged, through what `kind` says, split. */
enum rows { GEMM, GEMM_TURNED, NORM, MLP, N_ROWS };

static uint32_t merged(struct gb *b, uint32_t x, uint32_t sizes)
{
    return GB(b, "Reshape", "", x, sizes);
}

static uint32_t rows_done(struct gb *b, uint32_t y, enum rows kind)
{
    uint32_t w = gb_weights(b, 2, WIDTH, WIDTH), bias = gb_weights(b, 1, WIDTH);
    switch (kind) {
    case GEMM: return GB(b, "Gemm", "", y, w, bias);
    case GEMM_TURNED: return GB(b, "Gemm", "transB=1", y, w);
    case NORM: return GB(b, "LayerNormalization", "axis=-1", y, bias, gb_weights(b, 1, WIDTH));
    default: break;
    }
    uint32_t inner = GB(b, "Relu", "", GB(b, "Add", "", GB(b, "MatMul", "", y, w), bias));
    return GB(b, "Add", "", y, GB(b, "Gemm", "transB=1", inner, gb_weights(b, 2, WIDTH, WIDTH)));
}

static void rows(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), s = length_of(b, x, true);
    uint32_t many = GB(b, "Mul", "", x, gb_weights(b, 3, 4, 1, WIDTH));
    uint32_t apart = GB(b, "Concat", "axis=0", gb_ints(b, 4), s, gb_ints(b, WIDTH));
    uint32_t y = rows_done(b, merged(b, many, gb_ints(b, -1, WIDTH)), *(const enum rows *) ctx);
    gb_output(b, GB(b, "Reshape", "", y, apart));
}

/* ---- a Loop over frames that a full Slice gives ---- */

static uint32_t frame(struct gb *body, uint32_t all, uint32_t at)
{
    uint32_t same = GB(body, "Slice", "", all, gb_ints(body, 0), gb_ints(body, INT64_MAX),
                       gb_ints(body, 0), gb_ints(body, 1));
    return GB(body, "Gather", "axis=1", same, at);
}

static void looped(struct gb *b, const void *ctx)
{
    (void) ctx;
    struct gb body;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x, false), out[2];
    const unsigned char yes = 1;
    uint32_t in[4] = { n, gb_const(b, DTYPE_BOOL, 0, NULL, &yes), gb_full(b, 0, 2, 1, WIDTH), x };
    struct loop_attr *at = arena_new(b->arena, struct loop_attr);
    gb_body(&body, b, "loop");
    uint32_t i = gb_body_input(&body, "i"), goes = gb_body_input(&body, "goes"),
             state = gb_body_input(&body, "state"), all = gb_body_input(&body, "all");
    uint32_t next =
        GB(&body, "Add", "", GB(&body, "Mul", "", frame(&body, all, i), gb_scalar(&body, 0.5f)),
           GB(&body, "Mul", "", state, gb_scalar(&body, 0.75f)));
    gb_output(&body, GB(&body, "Identity", "", goes));
    gb_output(&body, next);
    gb_output(&body, GB(&body, "Tanh", "", next));
    b->n_names = body.n_names;
    if (!at || body.err.status != RILL_OK)
        return;
    at->n_states = 1;
    for (int k = 0; k < 2; k++)
        out[k] = graph_add_wire(b->g, gb_printf(b, "looped.%d", k), NULL);
    struct node *made = graph_add_node(b->g, &op_loop, "looped", at, in, 4, out, 2);
    made->body = arena_array(b->arena, struct graph *, 1);
    made->body[0] = body.g;
    made->n_body = 1;
    gb_output(b, gb_transpose(b, out[1], "1,0,2"));
}

/* ---- a Loop that writes frames into a tensor ---- */

enum writes { BY_ROWS, BY_ELEMENTS, BY_ROWS_BACK, ADDED, READ_AGAIN };

/* state [2, 3] -> tanh(frame i + state), written at [:, i] of what was zeros [2, T, 3]. */
static uint32_t frame_write(struct gb *body, enum writes how, uint32_t all, uint32_t i, uint32_t y)
{
    const uint32_t at = GB(body, "Reshape", "", i, gb_ints(body, 1, 1, 1));
    if (how == BY_ELEMENTS)
        return GB(body, "ScatterElements", "axis=1", all,
                  GB(body, "Expand", "", at, gb_ints(body, 2, 1, 3)),
                  GB(body, "Unsqueeze", "", y, gb_ints(body, 1)));
    const int64_t rows[] = { how == BY_ROWS_BACK, how != BY_ROWS_BACK };
    const uint32_t row = gb_const(body, DTYPE_I64, 3, (const int64_t[]) { 2, 1, 1 }, rows);
    return GB(body, "ScatterND", how == ADDED ? "reduction=add" : "", all,
              GB(body, "Concat", "axis=-1", row,
                 GB(body, "Expand", "", at, gb_ints(body, 2, 1, 1))),
              GB(body, "Reshape", "", y, gb_ints(body, 2, 1, 3)));
}

static void written(struct gb *b, const void *ctx)
{
    const enum writes how = *(const enum writes *) ctx;
    const unsigned char yes = 1;
    struct gb body;
    uint32_t x = gb_input(b, "x", 3, 2, GB_TIME, 3), sizes = GB(b, "Shape", "", x);
    const uint32_t in[] = { GB(b, "Gather", "axis=0", sizes, gb_int(b, 1)),
                            gb_const(b, DTYPE_BOOL, 0, NULL, &yes), gb_full(b, 0, 2, 2, 3),
                            GB(b, "ConstantOfShape", "", sizes), x };
    gb_body(&body, b, "frames");
    uint32_t i = gb_body_input(&body, "i"), goes = gb_body_input(&body, "goes"),
             state = gb_body_input(&body, "state"), ys = gb_body_input(&body, "ys"),
             all = gb_body_input(&body, "all");
    uint32_t y = GB(&body, "Add", "", GB(&body, "Gather", "axis=1", all, i), state);
    if (how == READ_AGAIN)
        y = GB(&body, "Add", "", y, GB(&body, "Gather", "axis=1", ys, gb_int(&body, 0)));
    y = GB(&body, "Tanh", "", y);
    gb_output(&body, GB(&body, "Identity", "", goes));
    gb_output(&body, y);
    gb_output(&body, frame_write(&body, how, ys, i, y));
    struct node *n = drift_loop(b, &body, in, 5, 2, 0);
    gb_output(b, n ? n->out[1] : WIRE_NONE);
}

/* ---- numbers that are counted up to an end that is not whole ---- */

/* Each frame times start, start + step, .. before step * S + end. */
struct counted {
    float start, step, end;
};

static void counted(struct gb *b, const void *ctx)
{
    const struct counted *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, WIDTH, GB_TIME);
    uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2));
    uint32_t end =
        GB(b, "Add", "", GB(b, "Mul", "", GB(b, "Cast", "to=1", n), gb_scalar(b, c->step)),
           gb_scalar(b, c->end));
    gb_output(b,
              GB(b, "Mul", "", x,
                 GB(b, "Range", "", gb_scalar(b, c->start), end, gb_scalar(b, c->step))));
}

/* ---- chunks that copies of the last frame fill up ---- */

/* ctx: of so many frames. */
static void filled(struct gb *b, const void *ctx)
{
    const int64_t size = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x, true);
    uint32_t k = gb_ints(b, size), one = gb_ints(b, 1);
    uint32_t chunks = GB(b, "Div", "", GB(b, "Add", "", n, gb_ints(b, size - 1)), k);
    uint32_t more = GB(b, "Sub", "", GB(b, "Mul", "", chunks, k), n);
    uint32_t last = GB(b, "Slice", "", x, GB(b, "Sub", "", n, one), gb_ints(b, INT64_MAX), one);
    uint32_t copies =
        GB(b, "Expand", "", last, GB(b, "Concat", "axis=0", one, more, gb_ints(b, WIDTH)));
    uint32_t y =
        GB(b, "Reshape", "", GB(b, "Concat", "axis=1", x, copies), gb_ints(b, 1, -1, size, WIDTH));
    gb_output(b, GB(b, "ReduceSum", "keepdims=0", y, gb_ints(b, 2)));
}

/* ---- copies of a frame that is not the first, which a sequence must have for them ---- */

static void begun_by_third(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t third = GB(b, "Slice", "", x, gb_ints(b, 2), gb_ints(b, 3), gb_ints(b, 1));
    third = GB(b, "Expand", "", third, gb_ints(b, 1, 2, WIDTH));
    uint32_t y = gb_transpose(b, GB(b, "Concat", "axis=1", third, x), "0,2,1");
    gb_output(b, GB(b, "Conv", "", y, gb_weights(b, 3, 2, WIDTH, 3)));
}

/* ---- copies of the last frame, however they are made, and what else is joined ---- */

enum copied { TILED, EXPANDED_AND_TILED, CUT, PICKED, PICKED_AND_LAID, JOINED };

/* A first frame or a learned one in front, copies of the last frame of the sequence behind, and a
 * learned one behind those; in one Concat or in two. */
struct ended {
    enum copied copied;
    bool first, learned, behind, in_two;
};

static uint32_t last_copied(struct gb *b, enum copied how, uint32_t x)
{
    const uint32_t one = gb_ints(b, 1), end = gb_ints(b, INT64_MAX), at = gb_ints(b, -1);
    const uint32_t cut = GB(b, "Slice", "", x, at, end, one);
    switch (how) {
    case TILED: return GB(b, "Tile", "", cut, gb_ints(b, 1, 2, 1));
    case EXPANDED_AND_TILED:
        return GB(b, "Tile", "", GB(b, "Expand", "", cut, gb_ints(b, 1, 1, 1)),
                  gb_ints(b, 1, 3, 1));
    case PICKED: return GB(b, "Gather", "axis=1", x, at);
    case PICKED_AND_LAID:
        return GB(b, "Unsqueeze", "", GB(b, "Gather", "axis=1", x, gb_int(b, -1)), one);
    case JOINED: return GB(b, "Concat", "axis=1", cut, GB(b, "Gather", "axis=1", x, at));
    default: return cut;
    }
}

static void ended(struct gb *b, const void *ctx)
{
    const struct ended *c = ctx;
    uint32_t x = GB(b, "Relu", "", gb_input(b, "x", 3, 1, GB_TIME, WIDTH)), y = x;
    const uint32_t last = last_copied(b, c->copied, x), learned = gb_weights(b, 3, 1, 2, WIDTH);
    const uint32_t first = GB(b, "Slice", "", x, gb_ints(b, 0), gb_ints(b, 1), gb_ints(b, 1));
    if (c->first && !c->in_two)
        y = GB(b, "Concat", "axis=1", first, x, last);
    else if (c->first)
        y = GB(b, "Concat", "axis=1", GB(b, "Concat", "axis=1", first, x), last);
    else if (c->learned && c->behind)
        y = GB(b, "Concat", "axis=1", learned, x, last, learned);
    else if (c->behind)
        y = GB(b, "Concat", "axis=1", x, last, learned);
    else
        y = GB(b, "Concat", "axis=1", x, last);
    gb_output(b, GB(b, "Conv", "", gb_transpose(b, y, "0,2,1"), gb_weights(b, 3, 2, WIDTH, 3)));
}

/* Frames moved ahead, and as many copies of the last frame behind. */
static void moved_ahead(struct gb *b, const void *ctx)
{
    const int by = *(const int *) ctx;
    const uint32_t one = gb_ints(b, 1), end = gb_ints(b, INT64_MAX),
                   x = GB(b, "Relu", "", gb_input(b, "x", 3, 1, GB_TIME, WIDTH)),
                   last = GB(b, "Slice", "", x, gb_ints(b, -1), end, one),
                   moved = GB(b, "Slice", "", x, gb_ints(b, by), end, one);
    gb_output(b,
              by == 1 ? GB(b, "Sub", "", GB(b, "Concat", "axis=1", moved, last), x)
                      : GB(b, "Concat", "axis=1", moved, last, last));
}

/* ---- a size that is rows of a table over rows that were wanted ---- */

static void quotient(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x, true);
    uint32_t rows =
        GB(b, "Slice", "", gb_weights(b, 2, 99, WIDTH), GB(b, "Sub", "", gb_ints(b, 50), n),
           GB(b, "Add", "", gb_ints(b, 49), n), gb_ints(b, 0));
    uint32_t have = GB(b, "Slice", "", GB(b, "Shape", "", rows), gb_ints(b, 0), gb_ints(b, 1));
    uint32_t want = GB(b, "Sub", "", GB(b, "Mul", "", n, gb_ints(b, 2)), gb_ints(b, 1));
    uint32_t sizes =
        GB(b, "Concat", "axis=0", n, GB(b, "Mul", "", GB(b, "Div", "", have, want), gb_ints(b, 2)),
           gb_ints(b, -1));
    gb_output(b, GB(b, "Relu", "", GB(b, "Reshape", "", x, sizes)));
}

/* ---- linear resizing as gathered neighbours ---- */

/* So many output frames for `per`, or one; turned: axes are moved around it; more: by which the
 * right neighbour is further than it should be. */
struct neighbours {
    int times, more;
    bool turned;
    int per;
    bool by_float; /* the length is a product with a float */
};

static uint32_t number_of(struct gb *b, uint32_t x)
{
    return GB(b, "Cast", "to=1", x);
}

static uint32_t mixed(struct gb *b, uint32_t left, uint32_t right, uint32_t rest)
{
    return GB(b, "Add", "", left, GB(b, "Mul", "", GB(b, "Sub", "", right, left), rest));
}

static void neighbours(struct gb *b, const void *ctx)
{
    const struct neighbours *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x, false);
    uint32_t half = gb_scalar(b, 0.5f), zero = gb_scalar(b, 0);
    const int per = c->per ? c->per : 1;
    uint32_t to = c->by_float
        ? GB(b, "Cast", "to=8",
             GB(b, "Mul", "", number_of(b, n), gb_scalar(b, (float) c->times / (float) per)))
        : GB(b, "Div", "", GB(b, "Mul", "", n, gb_int(b, c->times)), gb_int(b, per));
    uint32_t i = GB(b, "Range", "", gb_int(b, 0), to, gb_int(b, 1));
    uint32_t at = GB(b, "Mul", "", GB(b, "Add", "", number_of(b, i), half),
                     gb_scalar(b, (float) ((double) per / c->times)));
    at = GB(b, "Clip", "", GB(b, "Sub", "", at, half), zero);
    uint32_t left = GB(b, "Cast", "to=8", at);
    uint32_t right = GB(b, "Clip", "", GB(b, "Add", "", left, gb_int(b, 1)), WIRE_NONE,
                        GB(b, "Sub", "", n, gb_int(b, 1 - c->more)));
    uint32_t rest =
        GB(b, "Clip", "", GB(b, "Sub", "", at, number_of(b, left)), zero, gb_scalar(b, 1));
    if (c->turned) {
        uint32_t turned = gb_transpose(b, x, "1,0,2");
        gb_output(b,
                  mixed(b, gb_transpose(b, GB(b, "Gather", "axis=0", turned, left), "1,2,0"),
                        gb_transpose(b, GB(b, "Gather", "axis=0", turned, right), "1,2,0"), rest));
    } else {
        gb_output(b,
                  mixed(b, GB(b, "Gather", "axis=1", x, left), GB(b, "Gather", "axis=1", x, right),
                        GB(b, "Unsqueeze", "", rest, gb_ints(b, 1))));
    }
}

static unsigned count_of(const struct graph *g, enum op_id op)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += node_is(&g->nodes[i], op);
    return n;
}

/* A right neighbour that may lie one further is another's. */
static void test_neighbours_of_another(void)
{
    static const struct neighbours list[] = { { 2, 0, true, 1, false }, { 2, 1, true, 1, false } };
    static const struct pass pass = { "resizes", false, graph_with_resizes_recognised };
    for (unsigned k = 0; k < 2; k++) {
        struct oracle o;
        struct graph made;
        bool ok = oracle_open(&o, neighbours, &list[k], "S>=1") == LAW_HOLDS &&
            passes_run(&pass, 1, &made, &o.model->decluttered.g, NULL, &o.err) == RILL_OK;
        oracle_check(ok && count_of(&made, OP_RESIZE) == 1 - k, "%u further: %s", k, o.err.text);
        oracle_close(&o);
    }
}

/* ---- recurrences that begin with the first frame ---- */

/* x, or each frame mixed with those around it, of which the first is known only later. */
struct begun {
    bool cell;  /* a GRU; else a mean that falls off (PCEN) */
    int around; /* frames */
};

static uint32_t fallen_off(struct gb *b, uint32_t first, uint32_t x)
{
    struct gb body;
    gb_body(&body, b, "smooth");
    uint32_t state = gb_body_input(&body, "state"), frame = gb_body_input(&body, "frame");
    uint32_t next = GB(&body, "Add", "", GB(&body, "Mul", "", state, gb_scalar(&body, 0.75f)),
                       GB(&body, "Mul", "", frame, gb_scalar(&body, 0.25f)));
    gb_output(&body, next);
    gb_output(&body, GB(&body, "Identity", "", next));
    const struct gb_scan at = SCAN_OF(1, 1, 1, .in_axes = I64S(1), .out_axes = I64S(1));
    struct node *n = gb_scan(b, &body, &at, (const uint32_t[]) { first, x }, 2);
    return n ? n->out[1] : WIRE_NONE;
}

static void begun(struct gb *b, const void *ctx)
{
    const struct begun *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    if (c->around) {
        uint32_t w = gb_weights(b, 3, WIDTH, WIDTH, 2 * c->around + 1);
        x = GB(b, "Conv", gb_printf(b, "pads=%d,%d", c->around, c->around),
               gb_transpose(b, x, "0,2,1"), w);
        x = gb_transpose(b, x, "0,2,1");
    }
    uint32_t first = GB(b, "Gather", "axis=1", x, gb_int(b, 0));
    if (!c->cell) {
        gb_output(b, fallen_off(b, first, x));
        return;
    }
    const uint32_t in[] = { gb_transpose(b, x, "1,0,2"),
                            gb_weights(b, 3, 1, 3 * WIDTH, WIDTH),
                            gb_weights(b, 3, 1, 3 * WIDTH, WIDTH),
                            WIRE_NONE,
                            WIRE_NONE,
                            GB(b, "Unsqueeze", "", GB(b, "Tanh", "", first), gb_ints(b, 0)) };
    struct node *n =
        gb_node(b, "GRU", gb_printf(b, "hidden_size=%d", WIDTH), in, sizeof in / sizeof *in, 1);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
}

/* ---- a learned frame in front, for the last one ---- */

static void started(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t y =
        GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, 1, WIDTH), gb_slice(b, x, 1, 0, -1, 1));
    gb_output(b, GB(b, "Add", "", x, y));
}

/* ---- weights that are no softmax ---- */

/* Attention to 4 frames before and its own, by what is made of masked scores. */
enum weighed {
    SIGMOIDS,
    SIGMOIDS_ADDED,
    DIFFERENCE,
    SUM_OF_TWO,
    PRODUCT_OF_TWO,
    LARGER_OF_TWO,
    SMALLER_OF_TWO,
    POWER
};

/* [T, T]: 4 frames before and its own. */
static uint32_t seen_of(struct gb *b, uint32_t x)
{
    uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    uint32_t i = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    uint32_t d = GB(b, "Sub", "", GB(b, "Unsqueeze", "", i, gb_ints(b, 1)),
                    GB(b, "Unsqueeze", "", i, gb_ints(b, 0)));
    return GB(b, "And", "", GB(b, "GreaterOrEqual", "", d, gb_int(b, 0)),
              GB(b, "Less", "", d, gb_int(b, 5)));
}

static uint32_t masked_scores(struct gb *b, uint32_t x, float low)
{
    uint32_t seen = seen_of(b, x);
    uint32_t q = GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH));
    uint32_t s = GB(b, "MatMul", "", q, gb_transpose(b, x, "0,2,1"));
    if (isinf(low))
        return GB(b, "Where", "", seen, s, gb_scalar(b, low));
    return GB(b, "Add", "", s, GB(b, "Where", "", seen, gb_scalar(b, 0), gb_scalar(b, low)));
}

static void weighed(struct gb *b, const void *ctx)
{
    const enum weighed how = *(const enum weighed *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), w;
    if (how == SIGMOIDS || how == SIGMOIDS_ADDED) {
        w = GB(b, "Sigmoid", "", masked_scores(b, x, how == SIGMOIDS ? -INFINITY : -1e9f));
    } else {
        w = GB(b, "Softmax", "axis=-1", masked_scores(b, x, -INFINITY));
        uint32_t other = GB(b, "Softmax", "axis=-1", masked_scores(b, x, -1e9f));
        static const char *const ops[] = {
            [DIFFERENCE] = "Sub",    [SUM_OF_TWO] = "Add",     [PRODUCT_OF_TWO] = "Mul",
            [LARGER_OF_TWO] = "Max", [SMALLER_OF_TWO] = "Min", [POWER] = "Pow"
        };
        other = GB(b, "Mul", "", other, gb_scalar(b, 0.4f));
        w = GB(b, ops[how], "", w, how == POWER ? gb_scalar(b, 1.5f) : other);
    }
    gb_output(b, GB(b, "MatMul", "", w, x));
}

/* ---- columns of sinks beside masked scores ---- */

/* So many, of learned scores, in front or behind; under the largest of all first. */
struct sunk {
    int sinks;
    bool front, largest;
    float low;
};

static void sunk(struct gb *b, const void *ctx)
{
    const struct sunk *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), s = masked_scores(b, x, c->low);
    uint32_t shape =
        GB(b, "Concat", "axis=0", gb_ints(b, 1), length_of(b, x, true), gb_ints(b, c->sinks));
    uint32_t sinks = GB(b, "Expand", "", gb_weights(b, 3, 1, 1, c->sinks), shape);
    uint32_t w =
        c->front ? GB(b, "Concat", "axis=-1", sinks, s) : GB(b, "Concat", "axis=-1", s, sinks);
    if (c->largest)
        w = GB(b, "Sub", "", w, GB(b, "ReduceMax", "", w, gb_ints(b, -1)));
    w = GB(b, "Softmax", "axis=-1", w);
    w = c->front ? gb_slice(b, w, 2, c->sinks, INT64_MAX, 1) : gb_slice(b, w, 2, 0, -c->sinks, 1);
    gb_output(b, GB(b, "MatMul", "", w, x));
}

/* ---- a key and a value beside those of the frames, which all queries see ---- */

/* Learned, or 0; the mask is padded for them, or joined; twice: one of zeros behind that, its mask
 * padded. */
struct beside {
    bool learned, padded;
    float low;
    bool twice;
};

static void key_beside(struct gb *b, const void *ctx)
{
    const struct beside *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t seen = seen_of(b, x);
    uint32_t more[2];
    for (int k = 0; k < 2; k++)
        more[k] = c->learned ? gb_weights(b, 3, 1, 1, WIDTH) : gb_full(b, 0, 3, 1, 1, WIDTH);
    uint32_t keys = GB(b, "Concat", "axis=1", x, more[0]);
    uint32_t values = GB(b, "Concat", "axis=1", GB(b, "Cos", "", x), more[1]);
    if (c->twice) {
        keys = GB(b, "Concat", "axis=1", keys, gb_full(b, 0, 3, 1, 1, WIDTH));
        values = GB(b, "Concat", "axis=1", values, gb_full(b, 0, 3, 1, 1, WIDTH));
    }
    uint32_t s = GB(b, "MatMul", "", GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)),
                    gb_transpose(b, keys, "0,2,1"));
    uint32_t hides = GB(b, "Where", "", seen, gb_scalar(b, 0), gb_scalar(b, c->low));
    uint32_t shape = GB(b, "Concat", "axis=0", length_of(b, x, true), gb_ints(b, 1));
    hides = c->padded
        ? GB(b, "Pad", "", hides, gb_ints(b, 0, 0, 0, 1))
        : GB(b, "Concat", "axis=1", hides, GB(b, "Expand", "", gb_scalar(b, 0), shape));
    if (c->twice)
        hides = GB(b, "Pad", "", hides, gb_ints(b, 0, 0, 0, 1));
    uint32_t w = GB(b, "Softmax", "axis=-1", GB(b, "Add", "", s, hides));
    gb_output(b, GB(b, "MatMul", "", w, values));
}

/* ---- frames of zeros that are put beside all ---- */

static uint32_t heads_of(struct gb *b, uint32_t y)
{
    y = GB(b, "MatMul", "", y, gb_weights(b, 2, WIDTH, WIDTH));
    y = GB(b, "Reshape", "", y, gb_ints(b, 1, -1, 2, WIDTH / 2));
    return gb_transpose(b, y, "0,2,1,3");
}

struct zeros {
    int before, after;
};

static void zeros_beside(struct gb *b, const void *ctx)
{
    const struct zeros *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t y = GB(b, "Pad", "", x, gb_ints(b, 0, c->before, 0, 0, c->after, 0));
    uint32_t q = heads_of(b, y), k = gb_transpose(b, heads_of(b, y), "0,1,3,2");
    uint32_t hides = GB(b, "Where", "", seen_of(b, y), gb_scalar(b, 0), gb_scalar(b, -INFINITY));
    uint32_t w = GB(b, "Softmax", "axis=-1", GB(b, "Add", "", GB(b, "MatMul", "", q, k), hides));
    gb_output(b, gb_transpose(b, GB(b, "MatMul", "", w, heads_of(b, y)), "0,2,1,3"));
}

/* ---- a table of distances that the length cuts ---- */

#define TABLE_MOST 32 /* frames that it is for */

/* Attention to 4 frames before and its own, biased by rows of a table of 2 * TABLE_MOST - 1
 * distances, of which those that a sequence has are cut out and picked at i - j + S - 1. */
struct cut_table {
    bool flat, turned; /* picked at places in one row; cut before it was turned */
};

static uint32_t cut_rows(struct gb *b, const struct cut_table *c, uint32_t n)
{
    const uint32_t from = GB(b, "Sub", "", gb_ints(b, TABLE_MOST), n),
                   to = GB(b, "Add", "", n, gb_ints(b, TABLE_MOST - 1));
    if (!c->turned)
        return GB(b, "Slice", "", gb_weights(b, 2, 2 * TABLE_MOST - 1, 1), from, to, gb_ints(b, 0));
    return gb_transpose(b,
                        GB(b, "Slice", "", gb_weights(b, 2, 1, 2 * TABLE_MOST - 1), from, to,
                           gb_ints(b, 1)),
                        "1,0");
}

static void cut_table(struct gb *b, const void *ctx)
{
    const struct cut_table *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    uint32_t n = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 1), gb_ints(b, 2));
    uint32_t i =
        GB(b, "Range", "", gb_int(b, 0), GB(b, "Squeeze", "", n, gb_ints(b, 0)), gb_int(b, 1));
    uint32_t d = GB(b, "Sub", "", GB(b, "Unsqueeze", "", i, gb_ints(b, 1)),
                    GB(b, "Unsqueeze", "", i, gb_ints(b, 0)));
    uint32_t at = GB(b, "Sub", "", GB(b, "Add", "", d, n), gb_ints(b, 1));
    at = c->flat ? GB(b, "Reshape", "", at, gb_ints(b, -1)) : at;
    uint32_t bias = GB(b, "Gather", "axis=0", cut_rows(b, c, n), at);
    if (c->flat)
        bias = GB(b, "Reshape", "", bias, GB(b, "Concat", "axis=0", n, n, gb_ints(b, -1)));
    uint32_t seen = GB(b, "And", "", GB(b, "GreaterOrEqual", "", d, gb_int(b, 0)),
                       GB(b, "Less", "", d, gb_int(b, 5)));
    uint32_t scores = GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1"));
    scores = GB(b, "Add", "", scores, gb_transpose(b, bias, "2,0,1"));
    scores = GB(b, "Where", "", seen, scores, gb_scalar(b, -INFINITY));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", scores), x));
}

/* Biases of a table picked by a matrix of distances, which is a constant and cut by the length, as
 * one list. */
static void cut_matrix(struct gb *b, const void *ctx)
{
    const int64_t heads = *(const int *) ctx, size[] = { TABLE_MOST, TABLE_MOST };
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x, true);
    int64_t *at = arena_array(b->arena, int64_t, TABLE_MOST * TABLE_MOST);
    for (int64_t k = 0; at && k < TABLE_MOST * TABLE_MOST; k++)
        at[k] = k / TABLE_MOST - k % TABLE_MOST + TABLE_MOST - 1;
    uint32_t sides = GB(b, "Concat", "axis=0", n, n);
    uint32_t cut = GB(b, "Slice", "", gb_const(b, DTYPE_I64, 2, size, at), gb_ints(b, 0, 0), sides,
                      gb_ints(b, 0, 1));
    uint32_t bias = GB(b, "Gather", "axis=0", gb_weights(b, 2, 2 * TABLE_MOST - 1, (int) heads),
                       GB(b, "Reshape", "", cut, gb_ints(b, -1)));
    bias = GB(b, "Reshape", "", bias, GB(b, "Concat", "axis=0", n, n, gb_ints(b, -1)));
    uint32_t scores =
        GB(b, "Add", "", masked_scores(b, x, -INFINITY), gb_transpose(b, bias, "2,0,1"));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", scores), x));
}

/* Queries by rows of such a table, picked by GatherElements at i - j + S - 1, or by the other sign.
 */
static void cut_products(struct gb *b, const void *ctx)
{
    static const struct cut_table plain = { false, false };
    const bool ascends = *(const bool *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x, true);
    uint32_t i = GB(b, "Range", "", gb_int(b, 0), length_of(b, x, false), gb_int(b, 1));
    uint32_t d = GB(b, "Sub", "", GB(b, "Unsqueeze", "", i, gb_ints(b, 1)),
                    GB(b, "Unsqueeze", "", i, gb_ints(b, 0)));
    uint32_t at =
        GB(b, "Sub", "", ascends ? GB(b, "Add", "", n, d) : GB(b, "Sub", "", n, d), gb_ints(b, 1));
    uint32_t rows = GB(b, "MatMul", "", cut_rows(b, &plain, n), gb_weights(b, 2, 1, WIDTH));
    uint32_t by = GB(b, "MatMul", "", x, gb_transpose(b, rows, "1,0"));
    by = GB(b, "GatherElements", "axis=2", by, GB(b, "Unsqueeze", "", at, gb_ints(b, 0)));
    uint32_t seen = GB(b, "And", "", GB(b, "GreaterOrEqual", "", d, gb_int(b, 0)),
                       GB(b, "Less", "", d, gb_int(b, 5)));
    uint32_t scores = GB(b, "Add", "", GB(b, "MatMul", "", x, gb_transpose(b, x, "0,2,1")), by);
    scores = GB(b, "Where", "", seen, scores, gb_scalar(b, -INFINITY));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", scores), x));
}

/* ---- which ---- */

struct habit {
    const char *name;
    gb_recipe *recipe;
    const void *ctx;
    const char *assertion;
    struct pass passes[2];
    float tolerance; /* 0: the same bits */
};

#define ROWS                                                                                       \
    {                                                                                              \
        "rows-apart", false, graph_with_rows_apart                                                 \
    }
#define COPIES                                                                                     \
    {                                                                                              \
        "last-frames", true, graph_with_last_frames_padded                                         \
    }
#define RESIZES                                                                                    \
    {                                                                                              \
        "resizes", false, graph_with_resizes_recognised                                            \
    }
#define KEYS                                                                                       \
    {                                                                                              \
        "joined-keys", false, graph_with_keys_apart                                                \
    }
#define TABLES                                                                                     \
    {                                                                                              \
        { "peepholes", true, graph_with_peepholes },                                               \
        {                                                                                          \
            "tables-whole", true, graph_with_tables_whole                                          \
        }                                                                                          \
    }
#define LOOPS                                                                                      \
    {                                                                                              \
        { "peepholes", true, graph_with_peepholes },                                               \
        {                                                                                          \
            "loops", true, graph_with_loops_scanned                                                \
        }                                                                                          \
    }

#define WRITES                                                                                     \
    {                                                                                              \
        { "loops", true, graph_with_loops_scanned },                                               \
        {                                                                                          \
            "writes", true, graph_with_writes_scanned                                              \
        }                                                                                          \
    }

/* clang-format off */
static const struct habit habits[] = {
    { "rows of chunks through a Gemm", rows, (const enum rows[]) { GEMM }, NULL, { ROWS }, 1e-6F },
    { "rows of chunks through a turned Gemm", rows, (const enum rows[]) { GEMM_TURNED }, NULL, { ROWS }, 1e-6F },
    { "rows of chunks, normalised", rows, (const enum rows[]) { NORM }, NULL, { ROWS }, 0 },
    { "rows of chunks through two layers and around", rows, (const enum rows[]) { MLP }, NULL, { ROWS }, 1e-6F },
    { "frames between neighbours, doubled", neighbours, (const struct neighbours[]) { { 2, 0, false, 1, false } }, NULL, { RESIZES }, 1e-6F },
    { "frames between neighbours, tripled and turned", neighbours, (const struct neighbours[]) { { 3, 0, true, 1, false } }, NULL, { RESIZES }, 1e-5F },
    { "frames between neighbours, three of two", neighbours, (const struct neighbours[]) { { 3, 0, true, 2, false } }, NULL, { RESIZES }, 1e-5F },
    { "frames between neighbours, two of five", neighbours, (const struct neighbours[]) { { 2, 0, false, 5, false } }, NULL, { RESIZES }, 1e-5F },
    { "frames between neighbours, 1.1 times", neighbours, (const struct neighbours[]) { { 11, 0, false, 10, true } }, NULL, { RESIZES }, 1e-5F },
    { "frames between neighbours, 1.37 times", neighbours, (const struct neighbours[]) { { 137, 0, true, 100, true } }, NULL, { RESIZES }, 1e-4F },
    { "frames between neighbours, 0.7 times", neighbours, (const struct neighbours[]) { { 7, 0, false, 10, true } }, NULL, { RESIZES }, 1e-5F },
    { "frames between neighbours, halved", neighbours, (const struct neighbours[]) { { 1, 0, false, 2, false } }, NULL, { RESIZES }, 0 },
    { "a mean that begins with the first frame", begun, (const struct begun[]) { { false, 0 } }, "S>=1", { { NULL, false, NULL } }, 0 },
    { "a mean that begins with the first frame, later", begun, (const struct begun[]) { { false, 2 } }, "S>=1", { { NULL, false, NULL } }, 0 },
    { "a GRU that begins with the first frame", begun, (const struct begun[]) { { true, 0 } }, "S>=1", { { NULL, false, NULL } }, 0 },
    { "a GRU that begins with the first frame, later", begun, (const struct begun[]) { { true, 3 } }, "S>=1", { { NULL, false, NULL } }, 0 },
    { "a learned frame in front", started, NULL, NULL, { { NULL, false, NULL } }, 0 },
    { "pairs filled up by the last frame", filled, (const int[]) { 2 }, NULL, { COPIES }, 0 },
    { "chunks filled up by the last frame", filled, (const int[]) { 4 }, NULL, { COPIES }, 0 },
    { "the last frame, tiled", ended, (const struct ended[]) { { TILED, false, false, false, false } }, "S>=1", { COPIES }, 0 },
    { "the last frame, expanded and tiled", ended, (const struct ended[]) { { EXPANDED_AND_TILED, false, false, false, false } }, "S>=1", { COPIES }, 0 },
    { "the last frame once more", ended, (const struct ended[]) { { CUT, false, false, false, false } }, "S>=1", { COPIES }, 0 },
    { "the last frame, picked", ended, (const struct ended[]) { { PICKED, false, false, false, false } }, "S>=1", { COPIES }, 0 },
    { "the last frame, picked and laid along time", ended, (const struct ended[]) { { PICKED_AND_LAID, false, false, false, false } }, "S>=1", { COPIES }, 0 },
    { "the last frame, cut and picked", ended, (const struct ended[]) { { JOINED, false, false, false, false } }, "S>=1", { COPIES }, 0 },
    { "the first frame in front, the last behind", ended, (const struct ended[]) { { TILED, true, false, false, false } }, "S>=1", { COPIES }, 0 },
    { "the first frame in front, the last behind both", ended, (const struct ended[]) { { CUT, true, false, false, true } }, "S>=1", { COPIES }, 0 },
    { "learned frames around copies of the last", ended, (const struct ended[]) { { TILED, false, true, true, false } }, "S>=1", { COPIES }, 0 },
    { "learned frames behind the last", ended, (const struct ended[]) { { PICKED, false, false, true, false } }, "S>=1", { COPIES }, 0 },
    { "what changes up to the next frame", moved_ahead, (const int[]) { 1 }, "S>=1", { COPIES }, 0 },
    { "two copies of the last behind frames moved ahead", moved_ahead, (const int[]) { 2 }, "S>=1", { COPIES }, 0 },
    { "copies of the third frame in front", begun_by_third, NULL, NULL, { { NULL, false, NULL } }, 0 },
    { "rows of a table over rows that were wanted", quotient, NULL, "S>=1", { { NULL, false, NULL } }, 0 },
    { "Sigmoids of scores that -inf hides", weighed, (const enum weighed[]) { SIGMOIDS }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "Sigmoids of scores that -1e9 hides", weighed, (const enum weighed[]) { SIGMOIDS_ADDED }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "the difference of two softmaxes", weighed, (const enum weighed[]) { DIFFERENCE }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "the sum of two softmaxes", weighed, (const enum weighed[]) { SUM_OF_TWO }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "the product of two softmaxes", weighed, (const enum weighed[]) { PRODUCT_OF_TWO }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "the larger of two softmaxes", weighed, (const enum weighed[]) { LARGER_OF_TWO }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "the smaller of two softmaxes", weighed, (const enum weighed[]) { SMALLER_OF_TWO }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "a power of a softmax", weighed, (const enum weighed[]) { POWER }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "a sink in front", sunk, (const struct sunk[]) { { 1, true, false, -INFINITY } }, "S>=1", { KEYS }, 1e-6F },
    { "sinks in front, under the largest", sunk, (const struct sunk[]) { { 3, true, true, -INFINITY } }, "S>=1", { KEYS }, 1e-6F },
    { "a sink behind", sunk, (const struct sunk[]) { { 1, false, false, -1e9f } }, "S>=1", { KEYS }, 1e-6F },
    { "sinks behind, under the largest", sunk, (const struct sunk[]) { { 2, false, true, -INFINITY } }, "S>=1", { KEYS }, 1e-6F },
    { "a learned key, its mask padded", key_beside, (const struct beside[]) { { true, true, -INFINITY, false } }, "S>=1", { KEYS }, 1e-6F },
    { "a learned key, its mask joined", key_beside, (const struct beside[]) { { true, false, -1e9f, false } }, "S>=1", { KEYS }, 1e-6F },
    { "a key of zeros, its mask padded", key_beside, (const struct beside[]) { { false, true, -1e9f, false } }, "S>=1", { KEYS }, 1e-6F },
    { "a key of zeros, its mask joined", key_beside, (const struct beside[]) { { false, false, -INFINITY, false } }, "S>=1", { KEYS }, 1e-6F },
    { "a learned key and one of zeros, masks padded", key_beside, (const struct beside[]) { { true, true, -INFINITY, true } }, "S>=1", { KEYS }, 1e-6F },
    { "a learned key and one of zeros, masks joined and padded", key_beside, (const struct beside[]) { { true, false, -1e9f, true } }, "S>=1", { KEYS }, 1e-6F },
    { "frames of zeros in front of keys in heads", zeros_beside, (const struct zeros[]) { { 3, 0 } }, "S>=1", { KEYS }, 1e-6F },
    { "frames of zeros behind keys in heads", zeros_beside, (const struct zeros[]) { { 0, 3 } }, "S>=1", { KEYS }, 1e-6F },
    { "a table of distances, cut", cut_table, (const struct cut_table[]) { { false, false } }, "S>=1", TABLES, 1e-6F },
    { "a table of distances, cut, picked in one row", cut_table, (const struct cut_table[]) { { true, false } }, "S>=1", TABLES, 1e-6F },
    { "a table of distances, cut and turned", cut_table, (const struct cut_table[]) { { false, true } }, "S>=1", TABLES, 1e-6F },
    { "products with a table of distances, cut", cut_products, (const bool[]) { true }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "products with a table of distances, cut, turned round", cut_products, (const bool[]) { false }, "S>=1", { { NULL, false, NULL } }, 1e-6F },
    { "biases by a matrix of distances, cut", cut_matrix, (const int[]) { 1 }, "S>=1", TABLES, 1e-6F },
    { "biases of heads by a matrix of distances, cut", cut_matrix, (const int[]) { 2 }, "S>=1", TABLES, 1e-6F },
    { "a Loop over frames of a full Slice", looped, NULL, NULL, LOOPS, 0 },
    { "counted to a half more", counted, (const struct counted[]) { { 4, 4, 2 } }, NULL, { { NULL, false, NULL } }, 0 },
    { "counted from a half", counted, (const struct counted[]) { { 0.5f, 1, 0.25f } }, NULL, { { NULL, false, NULL } }, 0 },
    { "counted down from less than 0", counted, (const struct counted[]) { { -0.5f, -1, -0.5f } }, NULL, { { NULL, false, NULL } }, 0 },
    { "a Loop that writes rows", written, (const enum writes[]) { BY_ROWS }, NULL, WRITES, 0 },
    { "a Loop that writes elements", written, (const enum writes[]) { BY_ELEMENTS }, NULL, WRITES, 0 },
};
/* clang-format on */

static bool habit_open(const struct habit *h, struct oracle *o)
{
    bool made = oracle_open(o, h->recipe, h->ctx, h->assertion) == LAW_HOLDS;
    for (unsigned i = 0; made && i < 2 && h->passes[i].run; i++)
        made = passes_run(&h->passes[i], 1, &o->model->decluttered.g, &o->model->decluttered.g,
                          NULL, &o->err) == RILL_OK;
    oracle_check(made, "%s: %s", h->name, o->err.text);
    return made;
}

/* What is not written once, in order, or is read in between, stays a state. */
static void test_not_scanned(void)
{
    static const enum writes hows[] = { BY_ROWS_BACK, ADDED, READ_AGAIN };
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        const struct habit h = { "not scanned", written, &hows[i], NULL, WRITES, 0 };
        struct oracle o;
        if (habit_open(&h, &o))
            oracle_check(oracle_pulse(&o, 1) == LAW_REFUSED && strstr(o.err.text, "input 1"),
                         "%s: %s", h.name, o.err.text);
        oracle_close(&o);
    }
}

static void habit_test(const struct habit *h)
{
    static const int64_t pulses[] = { 1, 2, 3, 8, -1 }, lengths[] = { 1, 2, 5, 9, 30, -1 };
    struct oracle o;
    const bool made = habit_open(h, &o);
    o.tolerance = h->tolerance;
    if (made)
        oracle_check(oracle_laws(&o, h->name, pulses, lengths) > 0, "%s: no whole run: %s", h->name,
                     o.err.text);
    oracle_close(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        habit_test(&habits[i]);
    test_neighbours_of_another();
    test_not_scanned();
    return oracle_end();
}
