/* SPDX-License-Identifier: MIT */
#include "engine/ops/conv_flat.h"

#define ROW_MOST 6 /* places; of more, a vector a row is as good */
#define MASKS_MOST 1024
#define TURNED_MOST 2048 /* floats of a channel */

static size_t vecs_of(const struct window3 *g)
{
    return (size_t) (g->n_out + KERN_LANES - 1) / KERN_LANES;
}

/* There is no first axis. */
static bool single(const struct window3 *g)
{
    return g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 && !g->before[0];
}

static bool turns(const struct window3 *g)
{
    return g->out[2] == 1 && g->in[2] > 1;
}

static bool rows_fit(const struct window3 *g)
{
    return g->stride[0] == 1 && g->stride[1] == 1 && g->stride[2] == 1 && g->in[2] == g->out[2] &&
        g->out[2] <= ROW_MOST && (single(g) || g->in[1] == g->out[1]);
}

bool conv_flat_fits(const struct window3 *g, int64_t cin)
{
    return (turns(g) ? single(g) && g->stride[1] == 1 && g->n_in <= TURNED_MOST : rows_fit(g)) &&
        g->out[0] * g->out[1] > 1 && cin > 0 && cin <= MASKS_MOST &&
        g->n_kernel <= MASKS_MOST / cin && g->n_out <= KERN_LANES * MASKS_MOST &&
        (int64_t) vecs_of(g) * cin * g->n_kernel <= MASKS_MOST;
}

/* Bits of a term at output place o (struct kern_flat). k: of the kernel. */
static uint32_t bits_of(const struct window3 *g, const int64_t o[3], const int64_t k[3])
{
    bool in[3];
    for (int a = 0; a < 3; a++) {
        const int64_t i = o[a] - g->before[a] + k[a] * g->dilation[a];
        in[a] = i >= 0 && i < g->in[a];
    }
    const bool there = in[0] && in[1];
    return (there ? (uint32_t) 1 << KERN_LANES : 0) | (there && in[2] ? 1 : 0);
}

static uint32_t mask_of(const struct window3 *g, int64_t vec, const int64_t k[3])
{
    uint32_t mask = 0;
    for (int64_t lane = 0; lane < KERN_LANES && vec * KERN_LANES + lane < g->n_out; lane++) {
        const int64_t i = vec * KERN_LANES + lane, row = i / g->out[2],
                      o[3] = { row / g->out[1], row % g->out[1], i % g->out[2] };
        mask |= bits_of(g, o, k) << lane;
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

/* Of each term how far from its output it lies, and its masks. */
static void terms_set(const struct window3 *g, int64_t cin, ptrdiff_t *at, uint32_t *mask)
{
    const size_t n_taps = (size_t) (cin * g->n_kernel), vecs = vecs_of(g);
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
                        (turned ? i[2] * g->in[1] + i[1]
                                : (i[0] * g->in[1] + i[1]) * g->in[2] + i[2]);
                    for (size_t v = 0; v < vecs; v++)
                        mask[v * n_taps + t] = mask_of(g, (int64_t) v, k);
                }
}

struct conv_flat *conv_flat_new(struct arena *a, const struct window3 *g, int64_t cin)
{
    struct conv_flat *c = arena_new(a, struct conv_flat);
    const size_t n_taps = (size_t) (cin * g->n_kernel), rows = (size_t) g->in[1],
                 places = (size_t) g->in[2];
    ptrdiff_t *at = arena_array(a, ptrdiff_t, n_taps + 1);
    uint32_t *mask = arena_array(a, uint32_t, vecs_of(g) * n_taps + 1);
    if (!c || !at || !mask)
        return NULL;
    terms_set(g, cin, at, mask);
    c->f = (struct kern_flat) { .n = (size_t) g->n_out,
                                .n_taps = n_taps,
                                .x_group = (size_t) (cin * g->n_in),
                                .at = at,
                                .mask = mask };
    full_set(&c->f);
    c->turned = turns(g);
    c->turn = (struct kern_strided_copy) { .n = { 1, (size_t) cin, places, rows },
                                           .from = { 0, g->n_in, 1, (ptrdiff_t) places },
                                           .to = { 0, g->n_in, (ptrdiff_t) rows, 1 } };
    return c;
}

size_t conv_flat_room(const struct conv_flat *c, int64_t n)
{
    return c && c->turned ? (size_t) n * c->f.x_group : 0;
}

void conv_flat_run(const struct conv_flat *c, const struct kern *kern, size_t n, float *y,
                   const float *x, const float *packed, const float *bias, float *room)
{
    struct kern_flat f = c->f;
    f.n_groups = n;
    if (c->turned) {
        struct kern_strided_copy turn = c->turn;
        turn.n[1] *= n;
        kern->strided_copy_f32(room, x, &turn);
        x = room;
    }
    kern->conv_flat_f32(y, x, packed, bias, &f);
}
