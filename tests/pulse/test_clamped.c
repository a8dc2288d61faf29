/* SPDX-License-Identifier: MIT */
/* Frames, and windows of them, picked at places that are clamped to the sequence: copies of the
 * first frame stand in front, and of the last one behind. */
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "tests/pulse/oracle.h"

enum { WIDTH = 3 };
enum how { OF_RANGE, OF_ONES, OF_FLOATS }; /* a range, a sum of ones, a range of floats */

/* Frame i + shift for so many more frames than there are; at least the first, at most the last.
 * With a window those at i + shift and so many behind it, step by step. */
struct clamped {
    const char *name;
    int64_t shift, more;
    bool least, most;
    int64_t window, step;
    enum how how;
    bool narrow; /* of 32 bits */
};

static const struct clamped list[] = {
    { "the frame 3 before, the first at the start", -3, 0, true, false, 0, 0, OF_RANGE, false },
    { "the frame 2 behind, the last at the end", 2, 0, false, true, 0, 0, OF_RANGE, false },
    { "two more frames than there are", -1, 2, true, true, 0, 0, OF_RANGE, false },
    { "as they are", 0, 0, true, true, 0, 0, OF_RANGE, false },
    { "windows of 3", -1, 0, true, true, 3, 1, OF_RANGE, false },
    { "windows of 4 of every second frame", -4, 0, true, true, 4, 2, OF_RANGE, false },
    { "windows for more frames than there are", -1, 2, true, true, 2, 1, OF_RANGE, false },
    { "windows at counted places", -2, 0, true, true, 4, 1, OF_ONES, false },
    { "windows behind, the last at the end", 1, 0, false, true, 2, 2, OF_RANGE, false },
    { "windows before, the first at the start", -3, 0, true, false, 3, 1, OF_RANGE, false },
    { "windows at places of 32 bits", -2, 0, true, true, 3, 1, OF_RANGE, true },
    { "frames at places made of floats", -2, 0, true, true, 0, 0, OF_FLOATS, false },
    { "windows at places made of floats", -2, 0, true, true, 4, 1, OF_FLOATS, false },
    { "windows backwards", 2, 0, true, true, 4, -1, OF_RANGE, false },
};

static uint32_t in_width(struct gb *b, uint32_t i, const struct clamped *c)
{
    return c->narrow ? GB(b, "Cast", "to=7", i) : i;
}

static uint32_t places_of(struct gb *b, uint32_t n, const struct clamped *c)
{
    int64_t window[4];
    uint32_t i;
    if (c->how == OF_ONES) {
        i = GB(b, "Expand", "", gb_int(b, 1), GB(b, "Unsqueeze", "", n, gb_ints(b, 0)));
        i = GB(b, "Sub", "", GB(b, "CumSum", "", i, gb_int(b, 0)), gb_int(b, 1));
    } else if (c->how == OF_FLOATS) {
        n = GB(b, "Cast", "to=1", n);
        i = GB(b, "Range", "", gb_scalar(b, 0), n, gb_scalar(b, 1));
        i = GB(b, "Cast", "to=8", i);
    } else {
        n = GB(b, "Add", "", n, gb_int(b, c->more));
        i = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
    }
    if (!c->window)
        return GB(b, "Add", "", i, gb_int(b, c->shift));
    for (int64_t k = 0; k < c->window; k++)
        window[k] = c->shift + k * c->step;
    i = GB(b, "Unsqueeze", "", in_width(b, i, c), gb_ints(b, 1));
    return GB(b, "Add", "", i, in_width(b, gb_ints_of(b, (unsigned) c->window, window), c));
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct clamped *c = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1)),
                   last = GB(b, "Sub", "", n, gb_int(b, 1));
    uint32_t i = places_of(b, n, c);
    if (c->least && c->most)
        i = GB(b, "Clip", "", i, in_width(b, gb_int(b, 0), c), in_width(b, last, c));
    else
        i = c->least ? GB(b, "Max", "", i, gb_int(b, 0)) : GB(b, "Min", "", last, i);
    gb_output(b, GB(b, "Gather", "axis=1", GB(b, "Relu", "", x), i));
}

static void clamped_test(const struct clamped *c)
{
    static const struct pass copies = { "last-frames", true, graph_with_last_frames_padded };
    static const int64_t pulses[] = { 1, 2, 3, 8, -1 }, lengths[] = { 1, 2, 5, 9, 30, -1 };
    struct oracle o;
    bool made = oracle_open(&o, recipe, c, NULL) == LAW_HOLDS &&
        passes_run(&copies, 1, &o.model->decluttered.g, &o.model->decluttered.g, NULL, &o.err) ==
            RILL_OK;
    oracle_check(made, "%s: %s", c->name, o.err.text);
    if (made)
        oracle_check(oracle_laws(&o, c->name, pulses, lengths) > 0, "%s: no whole run: %s", c->name,
                     o.err.text);
    oracle_close(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        clamped_test(&list[i]);
    return oracle_end();
}
