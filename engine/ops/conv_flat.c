/* SPDX-License-Identifier: MIT */
#include "engine/ops/conv_flat.h"

#define ROW_MOST 6  /* places; of more, a vector a row is as good */
#define WIDE_MOST 8 /* of the input, where the output has fewer */
#define MASKS_MOST 1024
#define TURNED_MOST 2048 /* floats of a channel */

/* There is no first axis. */
static bool single(const struct window3 *g)
{
    return g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 && !g->before[0];
}

static bool turns(const struct window3 *g)
{
    return g->out[2] == 1 && g->in[2] > 1;
}

/* Lanes from row to row. */
static int64_t pitch_of(const struct window3 *g)
{
    return turns(g) ? 1 : g->in[2];
}

static int64_t lanes_of(const struct window3 *g)
{
    return (g->out[0] * g->out[1] - 1) * pitch_of(g) + g->out[2];
}

int64_t conv_flat_vecs(const struct window3 *g)
{
    return (lanes_of(g) + KERN_LANES - 1) / KERN_LANES;
}

static bool turned_fits(const struct window3 *g)
{
    return single(g) && g->in[1] % g->stride[1] == 0 && g->n_in <= TURNED_MOST;
}

static bool rows_fit(const struct window3 *g)
{
    return g->stride[0] == 1 && g->stride[1] == 1 && g->stride[2] == 1 &&
        (g->in[2] == g->out[2] ? g->out[2] <= ROW_MOST
                               : g->in[2] > g->out[2] && g->in[2] <= WIDE_MOST) &&
        (single(g) || g->in[1] == g->out[1]);
}

bool conv_flat_fits(const struct window3 *g, int64_t cin)
{
    return (turns(g) ? turned_fits(g) : rows_fit(g)) && g->out[0] * g->out[1] > 1 && cin > 0 &&
        cin <= MASKS_MOST && g->n_kernel <= MASKS_MOST / cin &&
        g->n_out <= KERN_LANES * MASKS_MOST && conv_flat_vecs(g) * cin * g->n_kernel <= MASKS_MOST;
}

/* Bits of a term at output place o (struct kern_flat). k: of the kernel. */
static uint32_t bits_of(const struct window3 *g, const int64_t o[3], const int64_t k[3])
{
    bool in[3];
    for (int a = 0; a < 3; a++) {
        const int64_t i = o[a] * g->stride[a] - g->before[a] + k[a] * g->dilation[a];
        in[a] = i >= 0 && i < g->in[a];
    }
    const bool there = in[0] && in[1];
    return (there ? (uint32_t) 1 << KERN_LANES : 0) | (there && in[2] ? 1 : 0);
}

static uint32_t mask_of(const struct window3 *g, int64_t vec, const int64_t k[3])
{
    uint32_t mask = 0;
    for (int64_t lane = 0; lane < KERN_LANES && vec * KERN_LANES + lane < lanes_of(g); lane++) {
        const int64_t i = vec * KERN_LANES + lane, row = i / pitch_of(g),
                      o[3] = { row / g->out[1], row % g->out[1], i % pitch_of(g) };
        const uint32_t unread = (uint32_t) 1 << KERN_LANES; /* it is cut off */
        mask |= (o[2] < g->out[2] ? bits_of(g, o, k) : unread) << lane;
    }
    return mask;
}

/* All vectors but those at both ends have all terms. */
static void full_set(struct kern_flat *f)
{
    const size_t vecs = (f->n + KERN_LANES - 1) / KERN_LANES;
    f->full_to = vecs;
    for (size_t v = 0; v < vecs; v++) {
        bool full = true;
        for (size_t t = 0; t < f->n_taps; t++)
            full = full && f->mask[v * f->n_taps + t] >> KERN_LANES == 0xffff;
        if (!full && v == f->full_from)
            f->full_from++;
        else if (!full && f->full_to > v)
            f->full_to = v;
    }
}

/* Where row i of a turned channel lies, of which every place of a stride is together: as far from
 * that of output 0 as that of any other output. */
static ptrdiff_t row_at(const struct window3 *g, int64_t i)
{
    const int64_t s = g->stride[1], at = i % s < 0 ? i % s + s : i % s;
    return at * (g->in[1] / s) + (i - at) / s;
}

/* Of each term how far from its output it lies, and its masks. */
static void terms_set(const struct window3 *g, int64_t cin, ptrdiff_t *at, uint32_t *mask)
{
    const size_t n_taps = (size_t) (cin * g->n_kernel), vecs = (size_t) conv_flat_vecs(g);
    const bool turned = turns(g);
    size_t t = 0;
    int64_t k[3], i[3];
    for (int64_t ch = 0; ch < cin; ch++)
        for (k[0] = 0; k[0] < g->kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < g->kernel[1]; k[1]++)
                for (k[2] = 0; k[2] < g->kernel[2]; k[2]++, t++) {
                    for (int axis = 0; axis < 3; axis++)
                        i[axis] = k[axis] * g->dilation[axis] - g->before[axis];
                    at[t] = ch * g->n_in +
                        (turned ? i[2] * g->in[1] + row_at(g, i[1])
                                : (i[0] * g->in[1] + i[1]) * g->in[2] + i[2]);
                    for (size_t v = 0; v < vecs; v++)
                        mask[v * n_taps + t] = mask_of(g, (int64_t) v, k);
                }
}

/* [ch][row][place] to [ch][row % stride][place][row / stride], for the channels of a group. */
static struct kern_strided_copy turn_of(const struct window3 *g, int64_t cin)
{
    const ptrdiff_t rows = g->in[1], every = g->stride[1], places = g->in[2];
    const struct kern_strided_copy turn = {
        .n = { (size_t) cin, (size_t) every, (size_t) places, (size_t) (rows / every) },
        .from = { g->n_in, places, 1, every * places },
        .to = { g->n_in, rows / every, rows, 1 },
    };
    return turn;
}

/* Of each output, of which there are so many as n[1] is set to. */
static struct kern_strided_copy cut_of(const struct window3 *g)
{
    const struct kern_strided_copy cut = {
        .n = { 1, 0, (size_t) (g->out[0] * g->out[1]), (size_t) g->out[2] },
        .from = { 0, lanes_of(g), pitch_of(g), 1 },
        .to = { 0, g->n_out, g->out[2], 1 },
    };
    return cut;
}

struct conv_flat *conv_flat_new(struct arena *a, const struct window3 *g, int64_t cin, bool one)
{
    struct conv_flat *c = arena_new(a, struct conv_flat);
    const size_t n_taps = (size_t) (cin * g->n_kernel), vecs = (size_t) conv_flat_vecs(g);
    ptrdiff_t *at = arena_array(a, ptrdiff_t, n_taps + 1);
    uint32_t *mask = arena_array(a, uint32_t, vecs * n_taps + 1);
    if (!c || !at || !mask)
        return NULL;
    terms_set(g, cin, at, mask);
    c->f = (struct kern_flat) { .n = (size_t) lanes_of(g),
                                .n_taps = n_taps,
                                .x_group = one ? 0 : (size_t) (cin * g->n_in),
                                .at = at,
                                .mask = mask };
    full_set(&c->f);
    c->turned = turns(g);
    c->wide = c->f.n != (size_t) g->n_out;
    c->turn = turn_of(g, cin);
    c->cut = cut_of(g);
    return c;
}

/* Channels of the inputs of n outputs. */
static size_t channels_of(const struct conv_flat *c, size_t n)
{
    return c->turn.n[0] * (c->f.x_group ? n : 1);
}

size_t conv_flat_room(const struct conv_flat *c, int64_t n)
{
    return !c     ? 0
        : c->wide ? (size_t) n * c->f.n
                  : c->turned * channels_of(c, (size_t) n) * (size_t) c->turn.from[0];
}

void conv_flat_run(const struct conv_flat *c, const struct kern *kern, size_t n, float *y,
                   const float *x, const float *packed, const float *bias, float *room)
{
    struct kern_flat f = c->f;
    struct kern_strided_copy cut = c->cut, turn = c->turn;
    f.n_groups = cut.n[1] = n;
    turn.n[0] = channels_of(c, n);
    if (c->turned) {
        kern->strided_copy_f32(room, x, &turn);
        x = room;
    }
    kern->conv_flat_f32(c->wide ? room : y, x, packed, bias, &f);
    if (c->wide)
        kern->strided_copy_f32(y, room, &cut);
}
