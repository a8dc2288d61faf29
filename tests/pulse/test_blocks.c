/* SPDX-License-Identifier: MIT */
/* Blocks of frames of which some come before the others: streams of one rate, of which one looks
 * further ahead, joined frame by frame; windows whose last frame is the next block's; and what
 * reads the frames that they become. None is later than it must be, to the frame. */
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <stdio.h>
#include <stdlib.h>

#define C 2 /* channels */

/* What sees `ahead` frames ahead, and one back. */
static uint32_t look(struct gb *b, uint32_t x, int ahead)
{
    return GB(b, "Conv", gb_printf(b, "pads=1,%d", ahead), x, gb_weights(b, 3, C, C, 2 + ahead));
}

/* n streams, frame by frame; ahead: what each sees. */
static uint32_t joined(struct gb *b, uint32_t x, int n, const int *ahead)
{
    uint32_t in[4];
    for (int k = 0; k < n; k++)
        in[k] = GB(b, "Unsqueeze", "", ahead[k] ? look(b, x, ahead[k]) : x, gb_ints(b, 3));
    x = gb_op(b, "Concat", "axis=3", in, (unsigned) n);
    return GB(b, "Reshape", "", x, gb_ints(b, 1, C, -1));
}

/* Frames 0, n, 2n.. and so on, beside each other: of them as many channels as there were. */
static uint32_t parted(struct gb *b, uint32_t x, int n)
{
    uint32_t in[4];
    for (int k = 0; k < n; k++)
        in[k] = GB(b, "Conv", "", gb_slice(b, x, 2, k, INT64_MAX, n), gb_weights(b, 3, C, C, 1));
    return gb_op(b, "Sum", "", in, (unsigned) n);
}

/* Each frame of blocks of n by its place; turned: the last comes first. */
static uint32_t blocks_changed(struct gb *b, uint32_t x, int n, bool turned)
{
    int64_t order[4];
    for (int k = 0; k < n; k++)
        order[k] = turned ? n - 1 - k : k;
    x = GB(b, "Reshape", "", x, gb_ints(b, 1, C, -1, n));
    x = GB(b, "Mul", "", x, gb_weights(b, 1, n));
    x = GB(b, "Gather", "axis=3", GB(b, "Tanh", "", x), gb_ints_of(b, (unsigned) n, order));
    return GB(b, "Reshape", "", x, gb_ints(b, 1, C, -1));
}

/* UnivNet's: each block of n frames of y by a kernel of 3 that is made of its frame of x. */
static uint32_t kernels(struct gb *b, uint32_t x, uint32_t y, int n)
{
    uint32_t kernel = GB(b, "Reshape", "",
                         GB(b, "Conv", "pads=0,1", x, gb_weights(b, 3, C * C * 3, C, 2)),
                         gb_ints(b, 1, C, C, 3, -1)),
             t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", y), gb_int(b, 2)),
             at = GB(b, "Range", "", gb_int(b, 0), t, gb_int(b, n));
    int64_t reach[6], place[12];
    for (int k = 0; k < n + 2; k++)
        reach[k] = k;
    for (int k = 0; k < 3 * n; k++)
        place[k] = k / 3 + k % 3;
    at = GB(b, "Add", "", GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
            gb_const(b, DTYPE_I64, 2, (const int64_t[]) { 1, n + 2 }, reach));
    y = GB(b, "Gather", "axis=2", gb_pad(b, y, 3, 2, "constant", 1, 1), at);
    y = GB(b, "Gather", "axis=3", y, gb_const(b, DTYPE_I64, 2, (const int64_t[]) { n, 3 }, place));
    y = GB(b, "Einsum", "equation='bilsk,biokl->bols", y, kernel);
    return GB(b, "Reshape", "", y, gb_ints(b, 1, C, -1));
}

/* ---- cases ---- */

/* A sequence and what sees ahead of it, frame by frame, under a window, and parted again: sinc
 * resampling by 2, there and back. ctx: what is seen there, and back. */
static void resampled(struct gb *b, const void *ctx)
{
    const int *ahead = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, C, GB_TIME);
    x = look(b, joined(b, x, 2, (const int[]) { 0, ahead[0] }), 1);
    uint32_t odd = look(b, gb_slice(b, x, 2, 1, INT64_MAX, 2), ahead[1]);
    gb_output(b, GB(b, "Add", "", gb_slice(b, x, 2, 0, INT64_MAX, 2), odd));
}

/* The same by 4, in two steps. */
static void resampled_twice(struct gb *b, const void *ctx)
{
    const int *ahead = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, C, GB_TIME);
    for (int k = 0; k < 2; k++)
        x = joined(b, x, 2, (const int[]) { 0, ahead[k] });
    gb_output(b, GB(b, "Conv", "strides=4 pads=1,1", x, gb_weights(b, 3, C, C, 6)));
}

/* Two layers of kernels predicted from frames, behind a transposed convolution by *ctx. */
static void predicted(struct gb *b, const void *ctx)
{
    const int n = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, C, GB_TIME),
             y = GB(b, "ConvTranspose", gb_printf(b, "strides=%d pads=1,%d", n, n - 1), x,
                    gb_weights(b, 3, C, C, 2 * n));
    for (int k = 0; k < 2; k++)
        y = GB(b, "Add", "", y, GB(b, "Sigmoid", "", kernels(b, x, look(b, y, 1 + 2 * k), n)));
    gb_output(b, look(b, y, 3));
}

/* The same, of which the later stream stands first, turned by a Slice that runs backwards. */
static void turned(struct gb *b, const void *ctx)
{
    const int *ahead = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, C, GB_TIME), in[2];
    for (int k = 0; k < 2; k++)
        in[k] = GB(b, "Unsqueeze", "", look(b, x, ahead[k]), gb_ints(b, 3));
    x = GB(b, "Slice", "", gb_op(b, "Concat", "axis=3", in, 2), gb_ints(b, -1),
           gb_ints(b, INT64_MIN), gb_ints(b, 3), gb_ints(b, -1));
    x = GB(b, "Reshape", "", GB(b, "Tanh", "", x), gb_ints(b, 1, C, -1));
    gb_output(b, look(b, x, 1));
}

/* Streams beside each other, as channels, of which rows are made; and half of them. */
static void rows(struct gb *b, const void *ctx)
{
    const int *ahead = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, C, GB_TIME), in[3];
    for (int k = 0; k < 2; k++)
        in[k] = gb_transpose(b, look(b, x, ahead[k]), "0,2,1");
    x = GB(b, "Reshape", "", GB(b, "Concat", "axis=2", in[0], in[1]), gb_ints(b, 1, -1, C));
    gb_output(b, look(b, gb_transpose(b, x, "0,2,1"), 1));
}

static int drawn(uint32_t *draw, int n)
{
    return (int) (gb_random(draw) % (uint32_t) n);
}

/* ctx: a seed. */
static void drawn_net(struct gb *b, const void *ctx)
{
    uint32_t draw = *(const uint32_t *) ctx, x = gb_input(b, "x", 3, 1, C, GB_TIME), from = x;
    int rate = 1;
    for (int k = 2 + drawn(&draw, 4); k > 0; k--) {
        const int n = 2 + drawn(&draw, 2),
                  ahead[] = { drawn(&draw, 4), drawn(&draw, 4), drawn(&draw, 4) };
        const int kind = drawn(&draw, 6);
        if (kind == 0 && rate == 1) {
            from = x;
            x = joined(b, x, n, ahead);
            rate = n;
        } else if (kind == 1 && rate == 1) {
            from = x;
            x = GB(b, "ConvTranspose", gb_printf(b, "strides=%d pads=1,%d", n, n - 1), x,
                   gb_weights(b, 3, C, C, 2 * n));
            rate = n;
        } else if (kind == 2 && rate > 1) {
            x = kernels(b, from, x, rate);
        } else if (kind == 3 && rate > 1) {
            x = blocks_changed(b, x, rate, ahead[0] > 1);
        } else if (kind == 4 && rate > 1) {
            x = parted(b, x, rate);
            rate = 1;
        } else {
            x = GB(b, "Tanh", "", look(b, x, ahead[0]));
        }
    }
    gb_output(b, GB(b, "Relu", "", x));
}

struct block_case {
    const char *name;
    gb_recipe *recipe;
    int n[2];
};

static void case_try(const char *name, gb_recipe *recipe, const void *ctx, int64_t pulse,
                     unsigned *late)
{
    static const int64_t lengths[] = { 0, 1, 2, 5, 12, 40, -1 };
    const int64_t pulses[] = { pulse, -1 }, more = oracle_needless(recipe, ctx, NULL, pulse);
    struct oracle o = { .seed = 1 };
    if (more < 0 || (more > 0 && !late))
        oracle_check(false, "%s at %lld: %lld late", name, (long long) pulse, (long long) more);
    if (more > 0 && late) {
        printf("%s at %lld: %lld late\n", name, (long long) pulse, (long long) more);
        ++*late;
    }
    if (oracle_open(&o, recipe, ctx, NULL) == LAW_HOLDS)
        oracle_laws(&o, name, pulses, lengths);
    oracle_close(&o);
}

static void test_cases(void)
{
    static const struct block_case list[] = {
        { "resampled", resampled, { 5, 5 } },
        { "resampled, further", resampled, { 3, 8 } },
        { "twice", resampled_twice, { 5, 5 } },
        { "twice, uneven", resampled_twice, { 2, 7 } },
        { "rows", rows, { 1, 4 } },
        { "turned", turned, { 1, 4 } },
        { "kernels of 2", predicted, { 2 } },
        { "kernels of 3", predicted, { 3 } },
        { "kernels of 4", predicted, { 4 } },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int64_t pulse = 1; pulse <= 6; pulse++)
            case_try(list[i].name, list[i].recipe, list[i].n, pulse, NULL);
}

static void test_nets(uint32_t nets)
{
    unsigned late = 0;
    char name[40];
    const uint32_t first = getenv("RILL_FIRST") ? (uint32_t) atoi(getenv("RILL_FIRST")) : 1;
    for (uint32_t seed = first; seed < first + nets; seed++) {
        const uint32_t draw = seed * 2654435761u;
        snprintf(name, sizeof name, "net %u", seed);
        case_try(name, drawn_net, &draw, 1 + seed % 5, &late);
    }
    printf("%u of %u nets are later than they must\n", late, nets);
    oracle_check(late * 50 <= nets, "%u of %u nets are later than they must", late, nets);
}

int main(void)
{
    test_cases();
    test_nets(getenv("RILL_NETS") ? (uint32_t) atoi(getenv("RILL_NETS")) : 100);
    return oracle_end();
}
