/* SPDX-License-Identifier: MIT */
#include "tests/kern/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TAPS_MAX 8
#define LINES_MAX 24
#define VECS_MAX 16

struct conv {
    const struct kern *kern;
    struct kern_conv c;
    struct kern_conv_lines lines;
    struct kern_conv_line line[LINES_MAX];
    uint32_t mask[TAPS_MAX * VECS_MAX];
    float *y, *x, *w, *b;
    size_t ldy, n_outs;
};

static void call(void *arg)
{
    const struct conv *v = arg;
    v->kern->conv_f32(v->y, v->ldy, v->x, v->w, v->b, v->n_outs, &v->lines, &v->c);
}

static void call_outs(void *arg)
{
    const struct conv *v = arg;
    v->kern->conv_outs_f32(v->y, v->ldy, v->x, v->w, v->b, v->n_outs, &v->lines, &v->c);
}

static size_t rows_of(const struct conv *v)
{
    return v->c.n_groups * v->n_outs;
}

/* The contract, spelled out; raw: weights [output of any group][n_weights]. */
static void chain(const struct conv *v, const float *raw, float *y)
{
    for (size_t o = 0; o < rows_of(v); o++)
        for (size_t i = 0; i < v->c.n; i++) {
            const float *x = v->x + o / v->n_outs * v->c.x_group;
            float s = v->b ? v->b[o] : 0;
            for (size_t l = 0; l < v->lines.n; l++)
                for (size_t k = 0; k < v->c.n_taps; k++) {
                    ptrdiff_t at =
                        v->c.first + (ptrdiff_t) k * v->c.step + (ptrdiff_t) (i * v->c.stride);
                    float in = at < 0 || at >= (ptrdiff_t) v->c.n_in ? 0 : x[v->line[l].x + at];
                    s = fmaf(raw[o * v->lines.n_weights + v->line[l].w + k], in, s);
                }
            y[o * v->ldy + i] = s;
        }
}

static float *packed(struct check *t, const struct conv *v, const float *raw)
{
    size_t n_taps = v->lines.n_weights, floats = kern_conv_packed_floats(v->n_outs, n_taps);
    float *p = check_buf(t, floats * v->c.n_groups, false);
    for (size_t g = 0; g < v->c.n_groups; g++)
        kern_conv_pack_f32(p + g * floats, raw + g * v->n_outs * n_taps, v->n_outs, n_taps, n_taps,
                           NULL);
    return p;
}

/* Lines one after the other; every third of the weights' lines is left out. */
static void lines_set(struct conv *v, size_t n_lines)
{
    v->lines = (struct kern_conv_lines) { .line = v->line, .n_weights = n_lines * v->c.n_taps };
    for (size_t l = 0; l < n_lines; l++)
        if (l % 3 != 1)
            v->line[v->lines.n++] =
                (struct kern_conv_line) { (ptrdiff_t) (l * v->c.n_in), l * v->c.n_taps };
}

/* The same through copies of the lines, with lanes along the outputs. */
static void outs_check(struct check *t, struct conv *v, const float *raw, const float *want,
                       size_t n_y)
{
    ptrdiff_t reach = ((ptrdiff_t) v->c.n_taps - 1) * v->c.step, back = reach < 0 ? -reach : 0;
    size_t span = (v->c.n - 1) * v->c.stride + (size_t) (reach < 0 ? -reach : reach) + 1,
           n_weights = v->lines.n_weights;
    size_t floats = kern_outs_packed_floats(v->n_outs, n_weights), x_group = v->lines.n * span;
    float *room = check_buf(t, x_group * v->c.n_groups, false),
          *w = check_buf(t, floats * v->c.n_groups, false);
    struct kern_conv_line line[LINES_MAX];
    struct kern_conv_lines lines = { line, v->lines.n, n_weights };
    struct kern_conv c = v->c;
    for (size_t g = 0; g < c.n_groups; g++) {
        v->kern->conv_lines_f32(room + g * x_group, span, v->x + g * c.x_group, &v->lines,
                                c.first - back, c.n_in);
        kern_outs_pack_f32(w + g * floats, raw + g * v->n_outs * n_weights, v->n_outs, n_weights,
                           n_weights, NULL);
    }
    for (size_t l = 0; l < lines.n; l++)
        line[l] = (struct kern_conv_line) { (ptrdiff_t) (l * span), v->line[l].w };
    c.first = back;
    c.x_group = x_group;
    for (size_t i = 0; i < n_y; i++)
        v->y[i] = 7;
    v->kern->conv_outs_f32(v->y, v->ldy, room, w, v->b, v->n_outs, &lines, &c);
    check_same(t, "conv_outs_f32", want, v->y, n_y,
               "all outs %zu, lines %zu, taps %zu first %td step %td stride %zu in %zu n %zu",
               rows_of(v), lines.n, c.n_taps, v->c.first, c.step, c.stride, c.n_in, c.n);
}

static void shape_check(struct check *t, struct kern_conv c, size_t n_outs, size_t n_lines,
                        bool bias)
{
    struct conv v = { .kern = &t->new, .c = c, .n_outs = n_outs, .ldy = c.n + 3 };
    bool low = n_outs & 1;
    kern_conv_set(&v.c, v.mask);
    lines_set(&v, n_lines);
    v.c.n_groups = 1 + c.n % 3;
    v.c.x_group = n_lines * c.n_in;
    n_outs = rows_of(&v);
    n_lines *= v.c.n_groups;
    size_t n_y = n_outs * v.ldy;
    float *raw = check_buf(t, n_outs * v.lines.n_weights, low), *want = check_buf(t, n_y, low);
    v.x = check_buf(t, n_lines * c.n_in, low);
    v.y = check_buf(t, n_y, low);
    v.b = bias ? check_buf(t, n_outs, low) : NULL;
    check_fill(t, raw, n_outs * v.lines.n_weights);
    check_fill(t, v.x, n_lines * c.n_in);
    for (size_t i = 0; i < n_y; i++)
        want[i] = v.y[i] = 7;
    if (bias)
        check_fill(t, v.b, n_outs);
    v.w = packed(t, &v, raw);
    chain(&v, raw, want);
    call(&v);
    check_same(t, "conv_f32", want, v.y, n_y,
               "all outs %zu, lines %zu, taps %zu first %td step %td stride %zu in %zu n %zu",
               n_outs, n_lines, c.n_taps, c.first, c.step, c.stride, c.n_in, c.n);
    if (c.stride <= 2)
        outs_check(t, &v, raw, want, n_y);
    check_drop(t);
}

/* Rows of groups of one output, a line apart: as each of them alone. */
static void depth_check(struct check *t, const struct kern_conv *c, size_t n_lines, size_t n_rows)
{
    struct conv v = { .kern = &t->ref, .c = *c, .n_outs = 1, .ldy = n_rows * c->n + 3 };
    const struct kern_rows rows = { n_rows, c->n_in };
    kern_conv_set(&v.c, v.mask);
    v.lines = (struct kern_conv_lines) { v.line, n_lines, n_lines * c->n_taps };
    for (size_t l = 0; l < n_lines; l++)
        v.line[l] = (struct kern_conv_line) { (ptrdiff_t) (l * c->n_in), l * c->n_taps };
    v.c.n_groups = 2;
    v.c.x_group = (n_lines + n_rows) * c->n_in;
    const size_t n_y = 2 * v.ldy, n_raw = 2 * v.lines.n_weights;
    float *raw = check_buf(t, n_raw, false), *want = check_buf(t, n_y, false),
          *got = check_buf(t, n_y, n_rows & 1), *b = check_buf(t, 2, false);
    v.x = check_buf(t, 2 * v.c.x_group, n_rows & 1);
    check_fill(t, raw, n_raw);
    check_fill(t, v.x, 2 * v.c.x_group);
    check_fill(t, b, 2);
    check_fill(t, want, n_y);
    for (size_t i = 0; i < n_y; i++)
        got[i] = want[i];
    v.b = n_rows & 2 ? b : NULL;
    v.w = packed(t, &v, raw);
    t->new.conv_depth_f32(got, v.ldy, v.x, v.w, v.b, &v.lines, &v.c, &rows);
    for (size_t r = 0; r < n_rows; r++, v.x += c->n_in) {
        v.y = want + r * c->n;
        chain(&v, raw, v.y);
    }
    check_same(t, "conv_depth_f32", want, got, n_y,
               "rows %zu, lines %zu, taps %zu first %td step %td stride %zu in %zu n %zu", n_rows,
               n_lines, c->n_taps, c->first, c->step, c->stride, c->n_in, c->n);
    check_drop(t);
}

/* Lanes along groups of one output, whose windows follow each other without a gap. */
static void groups_check(struct check *t, size_t n_groups, size_t n_taps, size_t n, size_t stride,
                         ptrdiff_t step)
{
    const size_t n_in = (n - 1) * stride + (n_taps - 1) * (size_t) step + 1;
    struct conv v = { .kern = &t->new, .n_outs = 1, .ldy = n + n_groups % 3 };
    if (n_in > KERN_GROUPS_REACH)
        return;
    v.c = (struct kern_conv) { .step = step,
                               .stride = stride,
                               .n_taps = n_taps,
                               .n_in = n_in,
                               .n = n,
                               .n_groups = n_groups,
                               .x_group = n_in };
    v.lines = (struct kern_conv_lines) { v.line, 1, n_taps };
    const size_t n_y = n_groups * v.ldy, n_raw = n_groups * n_taps;
    float *raw = check_buf(t, n_raw, false), *want = check_buf(t, n_y, false),
          *got = check_buf(t, n_y, n & 1), *b = check_buf(t, n_groups, false),
          *w = check_buf(t, kern_outs_packed_floats(n_groups, n_taps), false);
    v.x = check_buf(t, n_groups * n_in, n & 1);
    check_fill(t, raw, n_raw);
    check_fill(t, v.x, n_groups * n_in);
    check_fill(t, b, n_groups);
    for (size_t i = 0; i < n_y; i++)
        got[i] = want[i] = 7;
    v.b = n & 2 ? b : NULL;
    kern_outs_pack_f32(w, raw, n_groups, n_taps, n_taps, NULL);
    chain(&v, raw, want);
    t->new.conv_groups_f32(got, v.ldy, v.x, w, v.b, 1, &v.lines, &v.c);
    check_same(t, "conv_groups_f32", want, got, n_y,
               "%zu groups, taps %zu step %td stride %zu n %zu", n_groups, n_taps, step, stride, n);
    check_drop(t);
}

/* ---- images of short rows ---- */

#define FLAT_PLACES 130
#define FLAT_TAPS 9

struct flat {
    struct kern_flat f;
    size_t n;       /* places of a row */
    ptrdiff_t from; /* rows and places in front that the first term is from its output */
    ptrdiff_t at[FLAT_TAPS];
    uint32_t mask[FLAT_TAPS * (FLAT_PLACES / 16 + 1)];
};

/* Whether term k of place i exists, and whether its place is one of the row. */
static bool flat_there(const struct flat *v, size_t i, size_t k, bool *ret_inside)
{
    const ptrdiff_t row = (ptrdiff_t) (i / v->n + k / 3) + v->from,
                    place = (ptrdiff_t) (i % v->n + k % 3) + v->from;
    const bool there = row >= 0 && row < (ptrdiff_t) (v->f.n / v->n);
    *ret_inside = there && place >= 0 && place < (ptrdiff_t) v->n;
    return there;
}

static void flat_set(struct flat *v)
{
    const size_t vecs = (v->f.n + 15) / 16;
    memset(v->mask, 0, sizeof v->mask);
    v->f.full_to = vecs;
    for (size_t vec = 0; vec < vecs; vec++) {
        bool full = vec * 16 + 16 <= v->f.n, inside;
        for (size_t k = 0; k < v->f.n_taps; k++) {
            uint32_t *mask = &v->mask[vec * v->f.n_taps + k];
            for (size_t lane = 0; lane < 16 && vec * 16 + lane < v->f.n; lane++) {
                const bool there = flat_there(v, vec * 16 + lane, k, &inside);
                *mask |= ((uint32_t) there << 16 | (uint32_t) inside) << lane;
                full = full && there;
            }
        }
        if (!full && v->f.full_from == vec)
            v->f.full_from++;
        else if (!full && v->f.full_to > vec)
            v->f.full_to = vec;
    }
}

static void flat_check(struct check *t, size_t rows, size_t n, size_t n_taps, ptrdiff_t from,
                       bool bias)
{
    struct flat v = { .n = n, .from = from };
    const size_t all = rows * n, groups = 6; /* four share masks, two are alone */
    v.f = (struct kern_flat) {
        .n = all, .n_taps = n_taps, .n_groups = groups, .x_group = all, .at = v.at, .mask = v.mask
    };
    for (size_t k = 0; k < n_taps; k++)
        v.at[k] = ((ptrdiff_t) (k / 3) + from) * (ptrdiff_t) n + (ptrdiff_t) (k % 3) + from;
    flat_set(&v);
    float *x = check_buf(t, groups * all, rows & 1), *w = check_buf(t, groups * n_taps, false),
          *b = bias ? check_buf(t, groups, false) : NULL, *want = check_buf(t, groups * all, false),
          *got = check_buf(t, groups * all, n & 1);
    check_fill(t, x, groups * all);
    check_fill(t, w, groups * n_taps);
    if (b)
        check_fill(t, b, groups);
    w[0] = INFINITY; /* terms that do not exist make no NaN */
    for (size_t g = 0; g < groups; g++)
        for (size_t i = 0; i < all; i++) {
            float s = b ? b[g] : 0;
            bool inside;
            for (size_t k = 0; k < n_taps; k++)
                if (flat_there(&v, i, k, &inside))
                    s = fmaf(w[g * n_taps + k], inside ? x[g * all + i + (size_t) v.at[k]] : 0, s);
            want[g * all + i] = s;
        }
    t->new.conv_flat_f32(got, x, w, b, &v.f);
    check_same(t, "conv_flat_f32", want, got, groups * all, "%zu rows of %zu, %zu taps from %td",
               rows, n, n_taps, from);
    check_drop(t);
}

static void flats_check(struct check *t)
{
    for (size_t n = 1; n < 11; n++)
        for (size_t rows = 1; rows * n <= FLAT_PLACES; rows += 1 + rows / 3)
            for (ptrdiff_t from = -2; from <= 0; from++) {
                flat_check(t, rows, n, 9, from, rows & 1);
                flat_check(t, rows, n, 1 + (rows + n) % 8, from, n & 1);
            }
}

/* ---- channels side by side ---- */

#define LAST_PLACES 21
#define LAST_TAPS 12

/* n channels of places that lie anywhere. */
static void last_check(struct check *t, size_t n, size_t n_taps, size_t n_places, bool bias,
                       bool some)
{
    struct kern_last_place place[LAST_PLACES];
    ptrdiff_t at[LAST_TAPS];
    uint32_t mask[LAST_TAPS];
    const size_t all = (LAST_PLACES + LAST_TAPS) * n, k = n_taps + 2; /* weights of two others */
    const size_t panels = (n + 15) / 16;
    float *x = check_buf(t, all, n & 1), *w = check_buf(t, panels * k * 16, false),
          *b = bias ? check_buf(t, n, false) : NULL, *want = check_buf(t, n_places * n, false),
          *got = check_buf(t, n_places * n, n & 1);
    const struct kern_last c = { n, n_taps, at, 16 * k, some ? mask : NULL, n_places, place };
    check_fill_bits(t, x, all);
    check_fill(t, w, panels * k * 16);
    if (b)
        check_fill(t, b, n);
    for (size_t i = 0; i < n_places; i++)
        place[i] = (struct kern_last_place) { (ptrdiff_t) (i * 7 % LAST_PLACES * n),
                                              (ptrdiff_t) ((n_places - 1 - i) * n) };
    for (size_t i = 0; i < n_taps; i++) {
        mask[i] = i % 3 ? 0xffff : 0;
        at[i] = (ptrdiff_t) (i * 5 % LAST_TAPS * n) + (some && i % 3 == 0 ? PTRDIFF_MAX / 16 : 0);
    }
    for (size_t i = 0; i < n_places; i++)
        for (size_t o = 0; o < n; o++) {
            float s = b ? b[o] : 0;
            for (size_t e = 0; e < n_taps; e++)
                s = fmaf(w[(o / 16 * k + e) * 16 + o % 16],
                         some && !mask[e] ? 0 : x[(size_t) (place[i].x + at[e]) + o], s);
            want[(size_t) place[i].y + o] = s;
        }
    t->new.conv_last_f32(got, x, w, b, &c);
    check_same(t, "conv_last_f32", want, got, n_places * n, "%zu channels, %zu taps, %zu places", n,
               n_taps, n_places);
    check_drop(t);
}

static void lasts_check(struct check *t)
{
    for (size_t n = 1; n < 70; n += n < 20 ? 1 : 12)
        for (size_t taps = 0; taps <= LAST_TAPS; taps += taps == 8 ? 1 : 2)
            for (size_t places = 1; places <= LAST_PLACES; places += 1 + places / 6)
                last_check(t, n, taps, places, places & 1, (taps + places) & 2);
    for (size_t places = 1; places <= LAST_PLACES; places++)
        for (unsigned i = 0; i < 4; i++)
            last_check(t, 48, 9, places, i & 1, i & 2);
}

static void depths_check(struct check *t, size_t n, size_t stride)
{
    for (size_t taps = 1; taps < 6; taps++)
        for (size_t rows = 1; rows < 10; rows += 2) {
            const size_t reach = (n - 1) * stride + taps;
            const struct kern_conv c = { .first = -(ptrdiff_t) (taps / 2),
                                         .step = 1,
                                         .stride = stride,
                                         .n_taps = taps,
                                         .n_in = reach > 2 * (taps / 2) ? reach - taps / 2 * 2 : 1,
                                         .n = n };
            depth_check(t, &c, 1 + rows % 4, rows);
            depth_check(t, &c, 3, rows);
        }
}

static void shape_time(struct check *t, const char *what, size_t n_outs, size_t n_lines,
                       struct kern_conv c)
{
    struct conv v = { .kern = &t->new, .c = c, .n_outs = n_outs, .ldy = c.n };
    char text[80];
    kern_conv_set(&v.c, v.mask);
    v.lines = (struct kern_conv_lines) { v.line, n_lines, n_lines * c.n_taps };
    v.c.x_group = n_lines * c.n_in;
    for (size_t l = 0; l < n_lines; l++)
        v.line[l] = (struct kern_conv_line) { (ptrdiff_t) (l * c.n_in), l * c.n_taps };
    float *raw = check_buf(t, rows_of(&v) * v.lines.n_weights, true);
    v.x = check_buf(t, c.n_groups * v.c.x_group + 64, true) +
        32; /* a guard page next to masked lanes costs an assist */
    v.y = check_buf(t, rows_of(&v) * c.n, true);
    check_fill(t, raw, rows_of(&v) * v.lines.n_weights);
    check_fill(t, v.x, c.n_groups * v.c.x_group);
    v.w = packed(t, &v, raw);
    snprintf(text, sizeof text, "conv %s", what);
    double flop = 2.0 * (double) (rows_of(&v) * v.lines.n_weights * c.n);
    check_time(t, text, flop, call, &v);
    if (c.first == 0 && n_outs > 1) {
        v.w = check_buf(t, kern_outs_packed_floats(n_outs, v.lines.n_weights) * c.n_groups, true);
        snprintf(text, sizeof text, "outs %s", what);
        check_time(t, text, flop, call_outs, &v);
    }
    check_drop(t);
}

static void weave_check(struct check *t, size_t n)
{
    float *a = check_buf(t, n, false), *b = check_buf(t, n, true), *y = check_buf(t, 2 * n, false),
          *want = check_buf(t, 2 * n, true);
    check_fill(t, a, n);
    check_fill(t, b, n);
    for (size_t i = 0; i < 2 * n; i++)
        want[i] = i % 2 ? b[i / 2] : a[i / 2];
    t->new.weave_f32(y, a, b, n);
    check_same(t, "weave_f32", want, y, 2 * n, "n %zu", n);
    check_drop(t);
}

static struct kern_conv conv_of(ptrdiff_t first, ptrdiff_t step, size_t stride, size_t n_taps,
                                size_t n_in, size_t n)
{
    return (struct kern_conv) {
        .first = first, .step = step, .stride = stride, .n_taps = n_taps, .n_in = n_in, .n = n
    };
}

static void shapes_check(struct check *t, size_t n, size_t stride)
{
    ptrdiff_t step = n % 7 < 5 ? 1 + (ptrdiff_t) (n % 3) : -2, places = (ptrdiff_t) n;
    shape_check(t, conv_of(-(places % 4), step, stride, 1 + n % 5, n * stride + n % 4, n),
                1 + n % 21, 1 + n % 9, n & 2);
    shape_check(t, conv_of(0, 1, stride, 1, n * stride, n), 1 + n * 5 % 18, 1 + n % 20, n & 1);
    shape_check(t, conv_of(places, -3, stride, 6, n, n), 8, 4, true);
    shape_check(t, conv_of(-1, 1, stride, 3, n, n), 1, 1 + n % 4, n & 2);
    shape_check(t, conv_of(1, -1, stride, 3, n, n), 1, 1 + n % 4, n & 2);
    for (size_t few = 1; few <= 3; few++)
        shape_check(t, conv_of(-(places % 2), 1, stride, few, n * stride - n % stride, n), 1,
                    1 + n % 2, n & 2);
}

static void shapes_time(struct check *t)
{
    static const struct {
        const char *what;
        size_t outs, lines, groups;
        ptrdiff_t first, step;
        size_t stride, n_taps, n_in, n;
    } timed[] = {
        { "24->16 k1 n33", 16, 24, 1, 0, 1, 1, 1, 33, 33 },
        { "16->16 k3 n33", 16, 16, 1, -1, 1, 1, 3, 33, 33 },
        { "16 depthwise k3,3 n33", 1, 3, 16, -1, 1, 1, 3, 33, 33 },
        { "64 depthwise k3 n16", 1, 1, 64, -1, 1, 1, 3, 16, 16 },
        { "64 depthwise k3 stride 2 n48", 1, 1, 64, -1, 1, 2, 3, 96, 48 },
        { "9->16 k5 stride 2 n65", 16, 9, 1, 0, 1, 2, 5, 133, 65 },
        { "16->8 k1 n33", 8, 16, 1, 0, 1, 1, 1, 33, 33 },
        { "9->16 k5 stride 2 padded n65", 16, 9, 1, -2, 1, 2, 5, 129, 65 },
        { "12->12 k3 dilation 4 n8", 12, 12, 1, 0, 4, 1, 3, 16, 8 },
        { "12->12 k3 dilation 4 n240", 12, 12, 1, 0, 4, 1, 3, 248, 240 },
    };
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++) {
        struct kern_conv c = conv_of(timed[i].first, timed[i].step, timed[i].stride,
                                     timed[i].n_taps, timed[i].n_in, timed[i].n);
        c.n_groups = timed[i].groups;
        shape_time(t, timed[i].what, timed[i].outs, timed[i].lines, c);
    }
}

void check_conv(struct check *t)
{
    for (size_t n = 0; n < 70; n++)
        weave_check(t, n);
    for (size_t n = 1; n < 150; n += n < 70 ? 1 : 13)
        for (size_t stride = 1; stride <= 3; stride++)
            shapes_check(t, n, stride);
    for (size_t n = 1; n < 60; n += n < 20 ? 3 : 7)
        for (size_t stride = 1; stride <= 3; stride++)
            depths_check(t, n, stride);
    for (size_t n = 1; n <= KERN_GROUPS_PLACES; n++)
        for (size_t n_groups = 9; n_groups < 80; n_groups += n_groups < 40 ? 1 : 16)
            groups_check(t, n_groups, 1 + n_groups * 5 % 31, n, 1 + n_groups % 2,
                         1 + (ptrdiff_t) (n_groups % 3));
    shapes_time(t);
    flats_check(t);
    lasts_check(t);
}
