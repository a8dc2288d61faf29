/* SPDX-License-Identifier: MIT */
#include "engine/ops/conv_columns.h"
#include "engine/ops/conv_swapped.h"
#include "engine/ops/conv_ways.h"
#include "engine/base/ratio.h"
#include "engine/graph/packs.h"
#include "engine/ops/many.h"

#include <string.h>

enum { IN_X, IN_W, IN_B };

#define TILE_FLOATS 65536 /* columns of one tile stay in the second cache */
#define LINES_FLOATS 8192 /* of the first cache */
#define BLOCK_PLACES 48
#define MASKED_LOADS 16 /* of a line, from which on copying it without masks is less */

/* ---- geometry ---- */

static bool places_all(const struct conv_rows *v, int axis, int64_t o)
{
    return (!v->transposed || v->g.stride[axis] == 1) && conv_place(v, axis, o, 0) >= 0 &&
        conv_place(v, axis, o, v->g.kernel[axis] - 1) >= 0;
}

/* From x to the first line of a row of outputs whose lines all exist. */
static ptrdiff_t row_base(const struct conv_rows *v, int64_t o0, int64_t o1)
{
    const struct window3 *g = &v->g;
    if (v->transposed)
        return (ptrdiff_t) (((o0 + g->before[0]) * g->in[1] + o1 + g->before[1]) * g->in[2]);
    return (ptrdiff_t) (((o0 * g->stride[0] - g->before[0]) * g->in[1] + o1 * g->stride[1] -
                         g->before[1]) *
                        g->in[2]);
}

/* The lines of a row, and how far from x they are counted. `some`: room for the lines of a row that
 * lacks some. */
static struct kern_conv_lines row_lines(const struct conv_rows *v, const struct conv_phase *p,
                                        int64_t o0, int64_t o1, struct kern_conv_line *some,
                                        ptrdiff_t *ret_base)
{
    const struct window3 *g = &v->g;
    struct kern_conv_lines lines = { p->line, p->n_lines, p->n_weights };
    *ret_base = row_base(v, o0, o1);
    if (places_all(v, 0, o0) && places_all(v, 1, o1))
        return lines;
    *ret_base = 0;
    lines = (struct kern_conv_lines) { some, 0, p->n_weights };
    size_t w = 0, each = 0;
    for (int64_t k0 = 0; v->cin && k0 < g->kernel[0]; k0++)
        for (int64_t k1 = 0; k1 < g->kernel[1]; k1++, w += p->row.n_taps) {
            int64_t i0 = conv_place(v, 0, o0, k0), i1 = conv_place(v, 1, o1, k1);
            if (i0 >= 0 && i1 >= 0)
                some[each++] = (struct kern_conv_line) { (i0 * g->in[1] + i1) * g->in[2], w };
        }
    for (lines.n = each; lines.n < each * (size_t) v->cin; lines.n++) /* as of the channel before */
        some[lines.n] = (struct kern_conv_line) { some[lines.n - each].x + g->n_in,
                                                  some[lines.n - each].w + w };
    return lines;
}

/* ---- phases ---- */

/* Places and taps of a phase of the last axis; *ret_tap: its first kernel place, *ret_step: to its
 * next. */
static void phase_row(const struct conv_rows *v, int64_t phase, struct kern_conv *ret,
                      int64_t *ret_tap, int64_t *ret_step)
{
    const struct window3 *g = &v->g;
    int64_t s = g->stride[2], d = g->dilation[2];
    *ret = (struct kern_conv) { .first = -g->before[2],
                                .step = d,
                                .stride = (size_t) s,
                                .n_taps = (size_t) g->kernel[2],
                                .n_in = (size_t) g->in[2],
                                .n = (size_t) g->out[2] };
    *ret_tap = 0;
    *ret_step = 1;
    if (!v->transposed)
        return;
    int64_t common = gcd(s, d), k = 0, at = phase + g->before[2];
    while (k < s / common && (at - k * d) % s)
        k++;
    bool any = k < s / common && k < g->kernel[2];
    ret->n = (size_t) (g->out[2] > phase ? (g->out[2] - phase + s - 1) / s : 0);
    ret->first = any ? (at - k * d) / s : 0;
    ret->step = -(d / common);
    ret->stride = 1;
    ret->n_taps = any ? (size_t) ((g->kernel[2] - k + s / common - 1) / (s / common)) : 0;
    *ret_tap = k;
    *ret_step = s / common;
}

static rill_status phase_prepare(struct prep *c, struct conv_rows *v, int64_t index)
{
    const struct window3 *g = &v->g;
    struct conv_phase *p = &v->phase[index];
    const bool picked = v->transposed || g->n_kernel < v->n_kernel;
    int64_t tap, step;
    phase_row(v, index, &p->row, &tap, &step);
    p->n_lines = (size_t) (v->cin * g->kernel[0] * g->kernel[1]);
    p->n_weights = p->n_lines * p->row.n_taps;
    p->line = arena_array(c->arena, struct kern_conv_line, p->n_lines + 1);
    p->tap_at = picked ? arena_array(c->arena, size_t, p->n_weights + 1) : NULL;
    if (!p->line || (picked && !p->tap_at))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    int64_t l = 0, sign = v->transposed ? -1 : 1;
    size_t *at = p->tap_at;
    for (int64_t ch = 0; ch < v->cin; ch++)
        for (int64_t k0 = 0; k0 < g->kernel[0]; k0++)
            for (int64_t k1 = 0; k1 < g->kernel[1]; k1++, l++) {
                p->line[l].x = ch * g->n_in +
                    sign * (k0 * g->dilation[0] * g->in[1] + k1 * g->dilation[1]) * g->in[2];
                p->line[l].w = (size_t) l * p->row.n_taps;
                for (size_t k = 0; at && k < p->row.n_taps; k++)
                    *at++ = (size_t) (ch * v->stride_in + v->first_tap +
                                      (k0 * v->kernel[1] + k1) * v->kernel[2] + tap +
                                      (int64_t) k * step);
            }
    return RILL_OK;
}

/* ---- lines ---- */

/* Panel after panel of outputs reads all lines again: they must stay in the first cache. */
static bool lines_reread(const struct conv_rows *v)
{
    return v->cout >= 32 && v->phase[0].n_lines * v->phase[0].row.n_in > LINES_FLOATS;
}

/* Places between the first and the last one of a row that its taps read. */
static void row_reach(const struct kern_conv *row, ptrdiff_t *ret_first, ptrdiff_t *ret_last)
{
    ptrdiff_t reach = ((ptrdiff_t) row->n_taps - 1) * row->step;
    *ret_first = row->first + (reach < 0 ? reach : 0);
    *ret_last = row->first + (reach > 0 ? reach : 0) + (ptrdiff_t) (row->n * row->stride) -
        (ptrdiff_t) row->stride;
}

/* All places that taps read exist. */
static bool rows_inside(const struct conv_rows *v)
{
    for (int64_t i = 0; i < v->n_phases; i++) {
        ptrdiff_t first, last;
        row_reach(&v->phase[i].row, &first, &last);
        if (v->phase[i].row.n && (first < 0 || last >= (ptrdiff_t) v->phase[i].row.n_in))
            return false;
    }
    return true;
}

static bool masks_set(struct prep *c, struct kern_conv *row)
{
    uint32_t *mask = arena_array(c->arena, uint32_t, row->n_taps * (row->n / 16 + 1) + 1);
    if (mask)
        kern_conv_set(row, mask);
    return mask != NULL;
}

/* Vectors of places that reach over an end of their lines are masked in every load of every output.
 */
static bool masks_cost(const struct conv_rows *v)
{
    const struct kern_conv *row = &v->phase[0].row;
    return v->way == CONV_PLACES && v->cout > 1 && row->stride == 1 &&
        (!v->inside || row->n % KERN_LANES) && (int64_t) row->n_taps * v->cout >= MASKED_LOADS;
}

/* Lines are copied from the first place that any tap reads on. Vectors of places may read on into
 * what lies behind a line. */
static void blocks_set(const struct conv_rows *v, struct conv_phase *p)
{
    ptrdiff_t first, last;
    row_reach(&p->row, &first, &last);
    size_t n = p->row.n, most = BLOCK_PLACES,
           reach = (size_t) (last - first) + 1 - (n ? n - 1 : 0) * p->row.stride;
    if (n <= LINES_FLOATS / (p->n_lines + 1))
        most = n;
    p->block = p->row;
    p->block.n = most;
    p->span = most ? (most - 1) * p->row.stride + reach : 0;
    p->block.first = p->row.first - first;
    p->block.n_in = p->span;
    p->block.n_groups = (size_t) v->group;
    p->block.x_group = p->n_lines * p->span;
    p->tail = p->block;
    p->tail.n = most ? n % most : 0;
}

static bool block_masks_set(struct prep *c, struct kern_conv *block)
{
    const bool ok = masks_set(c, block);
    block->full_from = 0;
    block->full_to = (block->n + KERN_LANES - 1) / KERN_LANES;
    return ok;
}

/* Rows of one output a group, which nothing is copied for. */
static bool rows_alone(const struct conv_rows *v)
{
    return v->cout == 1 && v->way == CONV_PLACES && !v->blocked && !v->transposed;
}

static rill_status direct_prepare(struct prep *c, struct conv_rows *v)
{
    const bool flat = v->way == CONV_FLAT;
    v->blocked =
        !flat && (lines_reread(v) || (v->way == CONV_CHANNELS && !v->inside) || masks_cost(v));
    if (flat && !(v->flat = conv_flat_new(c->arena, &v->g, v->cin, v->group == 1)))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t i = 0; i < v->n_phases; i++) {
        struct conv_phase *p = &v->phase[i];
        p->row.n_groups = (size_t) v->group;
        p->row.x_group = (size_t) (v->cin * v->g.n_in);
        bool masked = v->way == CONV_PLACES;
        if (masked &&
            (!masks_set(c, &p->row) ||
             (v->blocked && (!block_masks_set(c, &p->block) || !block_masks_set(c, &p->tail)))))
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    }
    return RILL_OK;
}

/* Columns that lie in the input as they are: all of their places exist, one after the other. */
static void in_place_find(struct conv_rows *v)
{
    const struct conv_phase *p = v->phase;
    const struct kern_conv *row = &p->row;
    if (v->n_phases != 1 || v->g.out[0] != 1 || v->g.out[1] != 1 || !row->n ||
        !places_all(v, 0, 0) || !places_all(v, 1, 0))
        return;
    ptrdiff_t last = row->first + (ptrdiff_t) ((row->n - 1) * row->stride) +
        (ptrdiff_t) (row->n_taps - 1) * row->step;
    if (row->first < 0 || (row->n_taps > 1 && row->step != 1) || last >= (ptrdiff_t) row->n_in)
        return;
    for (size_t l = 0; l < p->n_lines; l++)
        if (p->line[l].x != p->line[0].x + (ptrdiff_t) (l * row->n_taps))
            return;
    v->in_place = true;
    v->in_place_at = (size_t) (row_base(v, 0, 0) + p->line[0].x + row->first);
}

/* ---- weights ---- */

/* As kern_pack_f32 packs. */
static void panels_pack(float *ret, const float *w, size_t n_outs, size_t n_taps, size_t stride_o,
                        const size_t *at)
{
    for (size_t panel = 0; panel < n_outs; panel += KERN_LANES)
        for (size_t t = 0; t < n_taps; t++)
            for (size_t o = 0; o < KERN_LANES; o++)
                *ret++ = panel + o < n_outs ? w[(panel + o) * stride_o + (at ? at[t] : t)] : 0;
}

/* One output after the other. */
static void outputs_pack(float *ret, const float *w, size_t n_outs, size_t n_taps, size_t stride_o,
                         const size_t *at)
{
    for (size_t o = 0; o < n_outs; o++)
        for (size_t t = 0; t < n_taps; t++)
            *ret++ = w[o * stride_o + (at ? at[t] : t)];
}

static size_t outputs_floats(size_t n_outs, size_t n_taps)
{
    return n_outs * n_taps;
}

static const struct {
    const char *name, *blocks;
    void (*pack)(float *ret, const float *w, size_t n_outs, size_t n_taps, size_t stride_o,
                 const size_t *at);
    size_t (*packed_floats)(size_t n_outs, size_t n_taps);
} ways[] = {
    [CONV_PRODUCT] = { "columns, gemm_f32", NULL, panels_pack, kern_packed_floats },
    [CONV_SWAPPED] = { "swapped, gemm_f32", NULL, outputs_pack, outputs_floats },
    [CONV_PLACES] = { "conv_f32", "blocks, conv_f32", kern_conv_pack_f32, kern_conv_packed_floats },
    [CONV_CHANNELS] = { "conv_outs_f32", "blocks, conv_outs_f32", kern_outs_pack_f32,
                        kern_outs_packed_floats },
    [CONV_GROUPS] = { "conv_groups_f32", NULL, kern_outs_pack_f32, kern_outs_packed_floats },
    [CONV_FLAT] = { "conv_flat_f32", NULL, outputs_pack, outputs_floats },
};

/* Groups that are packed apart, and outputs of each. */
static int64_t packs_of(const struct conv_rows *v, int64_t *ret_outs)
{
    *ret_outs = v->way == CONV_GROUPS ? v->group : v->cout;
    return v->way == CONV_GROUPS ? 1 : v->group;
}

/* Of all groups. */
static void weights_pack(const struct conv_rows *v, const struct conv_phase *p, float *ret,
                         const float *w)
{
    int64_t outs, n = packs_of(v, &outs);
    for (int64_t g = 0; g < n; g++, ret += p->packed_floats, w += v->cin * v->cout * v->n_kernel)
        ways[v->way].pack(ret, w, (size_t) outs, p->n_weights, v->stride_out, p->tap_at);
}

/* Taps that a phase of several picks are its own. */
static float *weights_room(struct prep *c, const struct conv_rows *v, const struct conv_phase *p,
                           size_t floats, bool *ret_there)
{
    const size_t words[] = { PACK_ROWS,
                             v->way,
                             (size_t) v->group,
                             (size_t) v->cin,
                             (size_t) v->cout,
                             p->n_weights,
                             v->stride_out,
                             (size_t) v->g.kernel[0],
                             (size_t) v->g.kernel[1],
                             (size_t) v->g.kernel[2],
                             (size_t) v->first_tap };
    const struct pack_key key = { { c->in[IN_W]->data }, words, sizeof words / sizeof *words };
    return v->transposed ? prep_pack(c, floats, sizeof(float), ret_there)
                         : prep_pack_of(c, floats, sizeof(float), &key, ret_there);
}

static rill_status weights_prepare(struct prep *c, struct conv_rows *v)
{
    const float *w = c->in[IN_W]->data;
    int64_t outs, packs = packs_of(v, &outs);
    for (int64_t i = 0; i < v->n_phases; i++) {
        struct conv_phase *p = &v->phase[i];
        p->packed_floats = ways[v->way].packed_floats((size_t) outs, p->n_weights);
        v->most_weights = p->n_weights > v->most_weights ? p->n_weights : v->most_weights;
        v->most_places = p->row.n > v->most_places ? p->row.n : v->most_places;
        size_t all = p->packed_floats * (size_t) packs;
        if (!w) {
            v->packed_floats = all > v->packed_floats ? all : v->packed_floats;
            continue;
        }
        bool there;
        float *to = weights_room(c, v, p, all + KERN_LANES, &there);
        if (!to)
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
        if (!there)
            weights_pack(v, p, to, w);
        p->packed = to;
    }
    c->packed |= w ? 1u << IN_W : 0;
    return RILL_OK;
}

/* ---- plan ---- */

/* Floats of a row of all channels of a phase, where the phases' places are still to be put between
 * each other. */
static size_t phase_floats(const struct conv_rows *v)
{
    return v->n_phases > 1 ? v->most_places * (size_t) (v->cout * v->group) : 0;
}

static size_t blocks_floats(const struct conv_rows *v)
{
    size_t most = 0;
    for (int64_t i = 0; i < v->n_phases && v->blocked; i++)
        most = v->phase[i].block.x_group > most ? v->phase[i].block.x_group : most;
    return most ? most * (size_t) v->group + KERN_LANES : 0;
}

/* Those of a row that lacks some, and of a block. All phases have as many. */
static size_t lines_room(const struct conv_rows *v)
{
    return v->phase[0].n_lines * (v->blocked ? 2 : 1);
}

/* Scratch: lines of a row that lacks some, packed weights, then columns and rows of outputs, or
 * rows of a phase and copied lines. */
static void scratch_set(struct prep *c, struct conv_rows *v)
{
    size_t floats = v->packed_floats + KERN_LANES;
    int64_t per_place = (int64_t) v->most_weights + v->cout,
            places = v->g.out[0] * v->g.out[1] * (int64_t) v->most_places;
    v->tile = TILE_FLOATS / (per_place ? per_place : 1);
    v->tile = v->tile < 16 ? 16 : v->tile;
    v->tile = v->tile < places ? v->tile : places;
    if (v->tiles)
        floats += v->tiles->scratch_floats;
    else if (v->way == CONV_SWAPPED)
        floats += conv_swapped_floats(&v->g, v->cin);
    else if (v->way == CONV_PRODUCT)
        floats += (size_t) v->tile * (size_t) per_place;
    else
        floats += (size_t) v->n_phases * phase_floats(v) + blocks_floats(v) +
            conv_flat_room(v->flat, v->group * v->cout);
    c->scratch_bytes = lines_room(v) * sizeof(struct kern_conv_line) + floats * sizeof(float);
}

/* All places of the only group are one tile, and the phase before read the same. */
static void columns_compare(struct conv_rows *v)
{
    const int64_t rows = v->g.out[0] * v->g.out[1];
    for (int64_t i = 1; i < v->n_phases; i++) {
        const struct kern_conv *a = &v->phase[i - 1].row, *b = &v->phase[i].row;
        v->phase[i].columns_again = v->way == CONV_PRODUCT && v->group == 1 && a->n == b->n &&
            a->first == b->first && a->n_taps == b->n_taps && rows * (int64_t) b->n <= v->tile;
    }
}

/* Few places: alone, each product reads all weights for a handful of rows. */
static bool together_pays(const struct conv_rows *v)
{
    return v->way == CONV_PRODUCT && !v->tiles && v->phase[0].packed && v->n_phases == 1 &&
        v->batch == 1 && v->group == 1 && v->g.n_out > 0 &&
        many_pays(v->g.n_out, v->cout, (int64_t) v->phase[0].n_weights) && v->tile >= v->g.n_out;
}

/* Kernel places that lie in the padding wherever an output stands are left out. */
static void kernel_set(struct conv_rows *v)
{
    struct window3 *g = &v->g;
    int64_t first[3] = { 0 };
    memcpy(v->kernel, g->kernel, sizeof v->kernel);
    v->n_kernel = g->n_kernel;
    v->stride_in = v->transposed ? v->cout * g->n_kernel : g->n_kernel;
    v->stride_out = (size_t) (v->transposed ? g->n_kernel : v->cin * g->n_kernel);
    if (!v->transposed)
        window3_trim(g, first);
    v->first_tap = (first[0] * v->kernel[1] + first[1]) * v->kernel[2] + first[2];
}

rill_status conv_rows_prepare(struct prep *c, const struct window *w, int64_t group,
                              bool transposed, struct attr_ints epilogue)
{
    const struct tensor *x = c->in[IN_X], *weights = c->in[IN_W];
    struct conv_rows *v = arena_new(c->arena, struct conv_rows);
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    window3_set(&v->g, w, x, c->out[0]);
    window3_simplify(&v->g);
    v->transposed = transposed;
    v->batch = x->dim[0];
    v->group = group;
    v->cin = x->dim[1] / group;
    v->cout = transposed ? weights->dim[1] : weights->dim[0] / group;
    kernel_set(v);
    v->n_phases = transposed ? v->g.stride[2] : 1;
    v->phase = arena_array(c->arena, struct conv_phase, (size_t) v->n_phases);
    if (!v->phase)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t i = 0; i < v->n_phases; i++)
        TRY(phase_prepare(c, v, i));
    in_place_find(v);
    v->inside = rows_inside(v);
    for (int64_t i = 0; i < v->n_phases; i++)
        blocks_set(v, &v->phase[i]);
    v->tiles_fit =
        !transposed && v->g.n_out > MANY_ROWS_EACH && conv_tiles_fit(&v->g, v->cin, v->cout);
    v->way = conv_way_choose(v);
    if (v->tiles_fit && v->way == CONV_PRODUCT &&
        !(v->tiles = conv_tiles_new(c->arena, &v->g, v->cin, v->cout)))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    c->args = v;
    if (v->way > CONV_SWAPPED)
        TRY(direct_prepare(c, v));
    c->kernel = v->tiles                        ? "tiles, gemm_at_f32"
        : v->way == CONV_PRODUCT && v->in_place ? "gemm_f32"
        : v->blocked                            ? ways[v->way].blocks
                                                : ways[v->way].name;
    TRY(weights_prepare(c, v));
    TRY(epilogue_prepare(c, epilogue, &v->epilogue));
    scratch_set(c, v);
    columns_compare(v);
    c->many = together_pays(v);
    return RILL_OK;
}

/* ---- lanes along places ---- */

/* One phase of one image, or of one group of it. */
struct work {
    const struct eval *e;
    const struct conv_rows *v;
    const struct conv_phase *p;
    int64_t phase;
    const float *x, *bias, *packed;
    float *y, *room;
    struct kern_conv_line *some;
};

typedef void conv_fn(float *restrict y, size_t ldy, const float *restrict x,
                     const float *restrict w, const float *restrict bias, size_t n_outs,
                     const struct kern_conv_lines *lines, const struct kern_conv *c);

static conv_fn *kernel_of(const struct work *u)
{
    const struct kern *k = u->e->kern;
    return u->v->way == CONV_PLACES ? k->conv_f32
        : u->v->way == CONV_GROUPS  ? k->conv_groups_f32
                                    : k->conv_outs_f32;
}

/* One row of outputs, a block of places at a time: its lines are copied to lie close together. */
static void row_in_blocks(const struct work *u, float *y, size_t ldy, const float *x,
                          const struct kern_conv_lines *lines)
{
    const struct conv_rows *v = u->v;
    const struct conv_phase *p = u->p;
    float *room = u->room + (size_t) v->n_phases * phase_floats(v);
    struct kern_conv_line *copied = u->some + p->n_lines;
    struct kern_conv_lines packed = { copied, lines->n, lines->n_weights };
    for (size_t l = 0; l < lines->n; l++)
        copied[l] = (struct kern_conv_line) { (ptrdiff_t) (l * p->span), lines->line[l].w };
    for (size_t i = 0; i < p->row.n; i += p->block.n) {
        const struct kern_conv *c = p->row.n - i < p->block.n ? &p->tail : &p->block;
        ptrdiff_t at = p->row.first - c->first + (ptrdiff_t) (i * c->stride);
        for (size_t g = 0; g < c->n_groups; g++)
            u->e->kern->conv_lines_f32(room + g * c->x_group, p->span, x + g * p->row.x_group,
                                       lines, at, p->row.n_in);
        kernel_of(u)(y + i, ldy, room, u->packed, u->bias, (size_t) v->cout, &packed, c);
    }
}

static void phase_eval(const struct work *u, float *y, size_t ldy, int64_t o0, int64_t o1)
{
    const struct conv_rows *v = u->v;
    ptrdiff_t base;
    struct kern_conv_lines lines = row_lines(v, u->p, o0, o1, u->some, &base);
    if (v->blocked)
        row_in_blocks(u, y, ldy, u->x + base, &lines);
    else
        kernel_of(u)(y, ldy, u->x + base, u->packed, u->bias, (size_t) v->cout, &lines, &u->p->row);
}

/* y[i * phases + phase] from rows [phase][channel][place]. */
static void phases_weave(const struct eval *e, const struct conv_rows *v, float *restrict y,
                         const float *restrict rows)
{
    size_t n = v->most_places, each = phase_floats(v), phases = (size_t) v->n_phases;
    for (int64_t ch = 0; ch < v->cout * v->group; ch++, rows += n, y += v->g.n_out) {
        size_t even = v->phase[0].row.n, both = v->phase[phases - 1].row.n;
        if (phases == 2) {
            e->kern->weave_f32(y, rows, rows + each, both);
            if (even > both)
                y[2 * both] = rows[both];
            continue;
        }
        for (size_t p = 0; p < phases; p++)
            for (size_t i = 0; i < v->phase[p].row.n; i++)
                y[i * phases + p] = rows[p * each + i];
    }
}

static const float *phase_weights(const struct eval *e, const struct conv_phase *p, float *room)
{
    if (p->packed)
        return p->packed;
    weights_pack(e->args, p, room, e->x[IN_W]);
    return room;
}

/* Rows of an output a group, those together whose lines all exist. */
static void depth_eval(struct work *u)
{
    const struct conv_rows *v = u->v;
    const struct window3 *g = &v->g;
    struct kern_rows rows = { .x = (size_t) (g->stride[1] * g->in[2]) };
    for (int64_t o0 = 0; o0 < g->out[0]; o0++)
        for (int64_t o1 = 0; o1 < g->out[1]; o1 += (int64_t) rows.n) {
            ptrdiff_t base;
            struct kern_conv_lines lines = row_lines(v, u->p, o0, o1, u->some, &base);
            const bool all = places_all(v, 0, o0) && places_all(v, 1, o1);
            for (rows.n = 1; all && o1 + (int64_t) rows.n < g->out[1] &&
                 places_all(v, 1, o1 + (int64_t) rows.n);
                 rows.n++)
                ;
            u->e->kern->conv_depth_f32(u->y + (o0 * g->out[1] + o1) * g->out[2], (size_t) g->n_out,
                                       u->x + base, u->packed, u->bias, &lines, &u->p->row, &rows);
        }
}

/* Rows of outputs, all phases of a row one after the other. */
static void rows_eval(struct work *u, float *packed_room)
{
    const struct conv_rows *v = u->v;
    const struct window3 *g = &v->g;
    float *y = u->y;
    bool whole = v->n_phases == 1;
    if (v->flat || rows_alone(v)) {
        u->p = v->phase;
        u->packed = phase_weights(u->e, u->p, packed_room);
        if (v->flat)
            conv_flat_run(v->flat, u->e->kern, (size_t) (v->group * v->cout), y, u->x, u->packed,
                          u->bias, u->room);
        else
            depth_eval(u);
        return;
    }
    for (int64_t o0 = 0; o0 < g->out[0]; o0++)
        for (int64_t o1 = 0; o1 < g->out[1]; o1++, y += g->out[2]) {
            for (int64_t i = 0; i < v->n_phases; i++) {
                u->p = &v->phase[i];
                if (!whole || !u->packed)
                    u->packed = phase_weights(u->e, u->p, packed_room);
                float *to = whole ? y : u->room + (size_t) i * phase_floats(v);
                if (u->p->row.n)
                    phase_eval(u, to, whole ? (size_t) g->n_out : v->most_places, o0, o1);
            }
            if (!whole)
                phases_weave(u->e, v, y, u->room);
        }
}

/* ---- lanes along channels ---- */

/* Rows of outputs that follow each other. */
static void rows_turn(const struct work *u, const float *rows, int64_t first, int64_t n)
{
    const struct conv_rows *v = u->v;
    const struct kern_strided_copy turn = { .n = { 1, 1, (size_t) v->cout, (size_t) n },
                                            .from = { 0, 0, 1, (ptrdiff_t) v->cout },
                                            .to = { 0, 0, (ptrdiff_t) v->g.n_out, 1 } };
    u->e->kern->strided_copy_f32(u->y + first, rows, &turn);
}

static void rows_to_channels(const struct work *u, const float *restrict rows, int64_t first,
                             int64_t n)
{
    if (u->v->n_phases == 1) {
        rows_turn(u, rows, first, n);
        return;
    }
    const struct conv_rows *v = u->v;
    int64_t per_row = (int64_t) u->p->row.n, apart = v->n_phases;
    for (; n > 0;) {
        int64_t row = first / per_row, o = first % per_row, run = per_row - o < n ? per_row - o : n;
        float *restrict y = u->y + row * v->g.out[2] + o * apart + u->phase;
        for (int64_t ch = 0; ch < v->cout; ch++)
            for (int64_t i = 0; i < run; i++)
                y[ch * v->g.n_out + i * apart] = rows[i * v->cout + ch];
        rows += run * v->cout;
        first += run;
        n -= run;
    }
}

static void product_eval(const struct work *u)
{
    const struct conv_rows *v = u->v;
    size_t k = u->p->n_weights, cout = (size_t) v->cout;
    float *col = u->room, *rows = col + (size_t) v->tile * k;
    int64_t places = v->g.out[0] * v->g.out[1] * (int64_t) u->p->row.n;
    bool single = v->g.n_out == 1;
    if (v->tiles) {
        conv_tiles_run(v->tiles,
                       &(const struct conv_tiles_of) { u->e->kern, u->y, u->x, u->packed, u->bias,
                                                       u->room });
        return;
    }
    for (int64_t first = 0; first < places; first += v->tile) {
        int64_t n = places - first < v->tile ? places - first : v->tile;
        size_t ldx = v->in_place ? u->p->row.stride : k;
        const float *x = v->in_place ? u->x + v->in_place_at + (size_t) first * ldx : col;
        if (!v->in_place && !u->p->columns_again)
            conv_columns_make(v, u->p, u->e->kern, col, u->x, first, n);
        u->e->kern->gemm_f32(single ? u->y : rows, cout, x, ldx, u->packed, u->bias, (size_t) n,
                             cout, k);
        if (!single)
            rows_to_channels(u, rows, first, n);
    }
}

static void group_eval(const struct work *u)
{
    const struct conv_rows *v = u->v;
    if (v->way == CONV_SWAPPED)
        conv_swapped_run(&(const struct conv_swapped) {
            .k = u->e->kern,
            .y = u->y,
            .x = u->x,
            .w = u->packed,
            .bias = u->bias,
            .cin = (size_t) v->cin,
            .cout = (size_t) v->cout,
            .places = (size_t) v->g.n_out,
            .room = u->room,
        });
    else
        product_eval(u);
}

static void groups_eval(struct work *u)
{
    const struct conv_rows *v = u->v;
    for (int64_t g = 0; g < v->group; g++) {
        group_eval(u);
        u->x += v->cin * v->g.n_in;
        u->y += v->cout * v->g.n_out;
        u->packed += u->p->packed_floats;
        u->bias = u->bias ? u->bias + v->cout : NULL;
    }
}

static void image_eval(const struct eval *e, float *y, const float *x)
{
    const struct conv_rows *v = e->args;
    struct work u = { .e = e,
                      .v = v,
                      .x = x,
                      .bias = e->n_in > IN_B ? e->x[IN_B] : NULL,
                      .y = y,
                      .some = e->scratch };
    float *packed_room = (float *) (u.some + lines_room(v));
    u.room = packed_room + v->packed_floats;
    if (v->way > CONV_SWAPPED) {
        rows_eval(&u, packed_room);
        return;
    }
    for (u.phase = 0; u.phase < v->n_phases; u.phase++) {
        struct work one = u;
        one.p = &v->phase[u.phase];
        one.packed = phase_weights(e, one.p, packed_room);
        if (one.p->row.n)
            groups_eval(&one);
    }
}

void conv_rows_eval_many(const struct eval *e, unsigned n)
{
    const struct conv_rows *v = e->args;
    const struct conv_phase *p = v->phase;
    size_t k = p->n_weights, cout = (size_t) v->cout, places = (size_t) v->g.n_out;
    struct many_rows rows = { .kern = e->kern, .block = many_block(p->packed, NULL, cout, k) };
    struct work u[OP_MANY_MAX];
    for (unsigned i = 0; i < n; i++) {
        u[i] = (struct work) {
            .e = &e[i], .v = v, .p = p, .x = e[i].x[IN_X], .y = e[i].y[0], .some = e[i].scratch
        };
        u[i].bias = e[i].n_in > IN_B ? e[i].x[IN_B] : NULL;
        u[i].room = (float *) (u[i].some + p->n_lines) + v->packed_floats;
        float *y = places == 1 ? u[i].y : u[i].room + (size_t) v->tile * k;
        if (u[i].bias != rows.block.bias)
            many_rows_run(&rows);
        rows.block.bias = u[i].bias;
        if (!v->in_place)
            conv_columns_make(v, p, e->kern, u[i].room, u[i].x, 0, (int64_t) places);
        many_rows_add(&rows, y, cout, v->in_place ? u[i].x + v->in_place_at : u[i].room,
                      v->in_place ? p->row.stride : k, places);
    }
    many_rows_run(&rows);
    for (unsigned i = 0; i < n; i++) {
        if (places > 1)
            rows_to_channels(&u[i], u[i].room + (size_t) v->tile * k, 0, (int64_t) places);
        epilogue_channels(&v->epilogue, &e[i], u[i].y, 0, 0, v->cout);
    }
}

void conv_rows_eval(const struct eval *e)
{
    const struct conv_rows *v = e->args;
    int64_t channels = v->group * v->cout, x_image = v->group * v->cin * v->g.n_in,
            y_image = channels * v->g.n_out;
    float *y = e->y[0];
    if (!v->g.n_out)
        return;
    for (int64_t n = 0; n < v->batch; n++, y += y_image) {
        image_eval(e, y, (const float *) e->x[IN_X] + n * x_image);
        epilogue_channels(&v->epilogue, e, y, n, 0, channels);
    }
}
