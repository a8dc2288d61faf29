/* SPDX-License-Identifier: MIT */
#include "engine/ops/conv_parts.h"

#define ROWS_FLOATS 8192 /* of the output, which an epilogue finds in the first caches */

/* Taps of an axis that exist for an output. */
struct taps {
    int64_t from, to;
};

static struct taps taps_of(const struct window3 *g, int axis, int64_t o)
{
    const int64_t at = o * g->stride[axis] - g->before[axis];
    struct taps t = { 0, g->kernel[axis] };
    while (t.from < t.to && at + t.from * g->dilation[axis] < 0)
        t.from++;
    while (t.from < t.to && at + (t.to - 1) * g->dilation[axis] >= g->in[axis])
        t.to--;
    return t;
}

/* The first output behind o that has other taps. */
static int64_t taps_end(const struct window3 *g, int axis, int64_t o)
{
    const struct taps t = taps_of(g, axis, o);
    for (o++; o < g->out[axis]; o++) {
        const struct taps u = taps_of(g, axis, o);
        if (u.from != t.from || u.to != t.to)
            break;
    }
    return o;
}

static size_t taps_kinds(const struct window3 *g, int axis)
{
    size_t n = 0;
    for (int64_t o = 0; o < g->out[axis]; o = taps_end(g, axis, o))
        n++;
    return n;
}

/* From the first place that a window of the kernel may read. */
static ptrdiff_t *taps_at(struct arena *a, const struct window3 *g, int64_t channels)
{
    ptrdiff_t *at = arena_array(a, ptrdiff_t, (size_t) g->n_kernel + 1), *to = at;
    for (int64_t r = 0; at && r < g->kernel[1]; r++)
        for (int64_t k = 0; k < g->kernel[2]; k++)
            *to++ = (ptrdiff_t) ((r * g->dilation[1] * g->in[2] + k * g->dilation[2]) * channels);
    return at;
}

/* Of each kind of columns, whether the places of a window exist; NULL: all do. */
static bool masks_set(struct arena *a, const struct window3 *g, const uint32_t **ret)
{
    for (int64_t o = 0; o < g->out[2]; o = taps_end(g, 2, o), ret++) {
        const struct taps columns = taps_of(g, 2, o);
        uint32_t *mask = arena_array(a, uint32_t, (size_t) g->n_kernel + 1);
        if (!mask)
            return false;
        *ret = columns.to - columns.from < g->kernel[2] ? mask : NULL;
        for (int64_t t = 0; t < g->n_kernel; t++) {
            const int64_t k = t % g->kernel[2];
            mask[t] = k < columns.from || k >= columns.to ? 0 : 0xffff;
        }
    }
    return true;
}

/* Outputs of rows and columns from o up to end, whose taps are the same. Rows that do not exist are
 * left out, places of a row are 0, as in a Conv. */
static struct kern_last part_of(const struct window3 *g, const ptrdiff_t *at, int64_t channels,
                                const int64_t o[2], const int64_t end[2],
                                struct kern_last_place *place)
{
    const struct taps rows = taps_of(g, 1, o[0]);
    struct kern_last p = { .n = (size_t) channels,
                           .n_taps = (size_t) ((rows.to - rows.from) * g->kernel[2]),
                           .at = at + rows.from * g->kernel[2],
                           .step_panel = KERN_LANES * (size_t) g->n_kernel,
                           .place = place };
    for (int64_t r = o[0]; r < end[0]; r++)
        for (int64_t i = o[1]; i < end[1]; i++)
            place[p.n_places++] = (struct kern_last_place) {
                (ptrdiff_t) (((r * g->stride[1] - g->before[1]) * g->in[2] + i * g->stride[2] -
                              g->before[2]) *
                             channels),
                (ptrdiff_t) ((r * g->out[2] + i) * channels)
            };
    return p;
}

/* Rows from o on, to the first with other taps or those that are enough. */
static int64_t rows_end(const struct window3 *g, int64_t channels, int64_t o)
{
    const int64_t end = taps_end(g, 1, o), most = ROWS_FLOATS / (g->out[2] * channels);
    return end - o < most ? end : o + (most ? most : 1);
}

struct conv_parts *conv_parts_new(struct arena *a, const struct window3 *g, int64_t channels)
{
    struct conv_parts *v = arena_new(a, struct conv_parts);
    const size_t rows = (size_t) g->out[1], kinds = taps_kinds(g, 2);
    struct kern_last_place *place = arena_array(a, struct kern_last_place, (size_t) g->n_out + 1);
    const uint32_t **mask = arena_array(a, const uint32_t *, kinds + 1);
    int64_t o[2], end[2];
    size_t n = 0;
    if (!v || !place || !mask || !masks_set(a, g, mask) || !(v->at = taps_at(a, g, channels)) ||
        !(v->rows = arena_array(a, struct conv_part_rows, rows + 1)) ||
        !(v->part = arena_array(a, struct kern_last, rows * kinds + 1)))
        return NULL;
    for (o[0] = 0; o[0] < g->out[1]; o[0] = end[0]) {
        end[0] = rows_end(g, channels, o[0]);
        v->rows[o[0]] = (struct conv_part_rows) { n, n + kinds, end[0] - o[0] };
        for (o[1] = 0; o[1] < g->out[2]; o[1] = end[1], n++) {
            end[1] = taps_end(g, 2, o[1]);
            v->part[n] = part_of(g, v->at, channels, o, end, place);
            v->part[n].mask = mask[n % kinds];
            place += v->part[n].n_places;
        }
    }
    return v;
}

int64_t conv_parts_rows_run(const struct conv_parts *v, const struct conv_tiles_of *of,
                            size_t channels, int64_t o)
{
    const struct conv_part_rows *rows = &v->rows[o];
    for (size_t i = rows->from; i < rows->to; i++) {
        struct kern_last part = v->part[i];
        part.n = channels;
        of->k->conv_last_f32(of->y, of->x, of->w + (size_t) (part.at - v->at) * KERN_LANES,
                             of->bias, &part);
    }
    return rows->n;
}
