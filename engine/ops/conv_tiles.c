/* SPDX-License-Identifier: MIT */
#include "engine/ops/conv_tiles.h"

#include <string.h>

#define COPIED_FLOATS ((int64_t) 49152) /* of the input and the output of a block, that stay in */
#define ROWS_FLOATS ((int64_t) 32768)   /* the second cache beside the weights */
#define NEAR_FLOATS ((size_t) 8192)     /* of the weights of a tile, that stay in the first cache */
#define COLUMNS 96                      /* of a block, where whole rows are too many */
#define PLACES_MIN 12
#define OUTS_MIN 24

bool conv_tiles_fit(const struct window3 *g, int64_t cin, int64_t cout)
{
    return g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 && !g->before[0] &&
        g->n_out >= PLACES_MIN && cout >= OUTS_MIN && cin > 0 &&
        (g->n_kernel > 1 || g->stride[1] > 1 || g->stride[2] > 1);
}

/* Input places from the first to the last one that n outputs read. */
static int64_t reach(const struct window3 *g, int axis, int64_t n)
{
    return (n - 1) * g->stride[axis] + (g->kernel[axis] - 1) * g->dilation[axis] + 1;
}

/* All that is read exists, and lines do not fall into the same places of a cache. */
static bool lies_well(const struct conv_tiles *v)
{
    const struct window3 *g = &v->g;
    for (int i = 1; i < 3; i++)
        if (g->before[i] || reach(g, i, g->out[i]) > g->in[i])
            return false;
    return v->ldx || g->n_in % 256 != 0;
}

static void block_choose(struct conv_tiles *v)
{
    const struct window3 *g = &v->g;
    v->columns = g->out[2];
    if (v->columns > COLUMNS &&
        (v->cin * reach(g, 1, 1) * reach(g, 2, v->columns) > COPIED_FLOATS ||
         v->columns * v->cout > ROWS_FLOATS))
        v->columns = COLUMNS;
    const int64_t span = reach(g, 2, v->columns);
    v->rows = 1;
    while (v->rows < g->out[1] && (v->rows + 1) * v->columns * v->cout <= ROWS_FLOATS &&
           v->cin * reach(g, 1, v->rows + 1) * span <= COPIED_FLOATS)
        v->rows++;
    v->span = lies_well(v) ? 0 : (size_t) span;
}

/* Floats from one to the next, of what terms are read from. */
struct steps {
    size_t channel, place, line;
};

static struct steps steps_of(const struct conv_tiles *v)
{
    const size_t cin = (size_t) v->cin, places = v->span ? v->span : (size_t) v->g.in[2];
    if (v->ldx)
        return (struct steps) { 1, cin, places * cin };
    return (struct steps) { v->span ? v->span : (size_t) v->g.n_in, 1,
                            v->span ? cin * v->span : places };
}

static void lists_fill(struct conv_tiles *v)
{
    const struct window3 *g = &v->g;
    const struct steps s = steps_of(v);
    size_t *row = v->row, *at = v->at;
    for (int64_t r = 0; r < v->rows; r++)
        for (int64_t c = 0; c < v->columns; c++)
            *row++ = (size_t) (r * g->stride[1]) * s.line + (size_t) (c * g->stride[2]) * s.place;
    for (size_t ch = 0; ch < (size_t) v->cin; ch++)
        v->line[ch] = (struct kern_conv_line) { (ptrdiff_t) (ch * (size_t) g->n_in), 0 };
    for (size_t ch = 0; ch < (size_t) v->cin; ch++)
        for (int64_t k1 = 0; k1 < g->kernel[1]; k1++)
            for (int64_t k2 = 0; k2 < g->kernel[2]; k2++)
                *at++ = (size_t) (k1 * g->dilation[1]) * s.line + ch * s.channel +
                    (size_t) (k2 * g->dilation[2]) * s.place;
}

static struct conv_tiles *tiles_new(struct arena *a, const struct conv_tiles *of)
{
    struct conv_tiles *v = arena_copy(a, of, sizeof *of);
    if (!v)
        return NULL;
    block_choose(v);
    v->terms = (size_t) (v->cin * v->g.n_kernel);
    v->copied_floats = (size_t) v->cin * (size_t) reach(&v->g, 1, v->rows) * v->span;
    v->scratch_floats =
        v->copied_floats + KERN_LANES + (size_t) (v->ldx ? 0 : v->rows * v->columns * v->cout);
    v->row = arena_array(a, size_t, (size_t) (v->rows * v->columns));
    v->at = arena_array(a, size_t, v->terms + 1);
    v->line = arena_array(a, struct kern_conv_line, (size_t) v->cin);
    if (!v->row || !v->at || !v->line)
        return NULL;
    lists_fill(v);
    return v;
}

struct conv_tiles *conv_tiles_new(struct arena *a, const struct window3 *g, int64_t cin,
                                  int64_t cout)
{
    return tiles_new(a, &(const struct conv_tiles) { .g = *g, .cin = cin, .cout = cout });
}

struct conv_tiles *conv_tiles_new_last(struct arena *a, const struct window3 *g, int64_t cout,
                                       int64_t ldx, int64_t ldy)
{
    return tiles_new(a,
                     &(const struct conv_tiles) {
                         .g = *g, .cin = ldx, .cout = cout, .ldx = ldx, .ldy = ldy });
}

/* ---- eval ---- */

/* Places of the output from (o[0], o[1]) on. */
struct block {
    int64_t o[2], rows, columns;
};

/* A line, channels last, from place `first` on; what it lacks is 0. */
static void line_copy(const struct conv_tiles *v, const float *x, float *to, int64_t first)
{
    const int64_t n = (int64_t) v->span, in = v->g.in[2], from = first < 0 ? 0 : first,
                  end = first + n < in ? first + n : in;
    const size_t float_bytes = (size_t) v->cin * sizeof *to;
    if (end <= from) {
        memset(to, 0, (size_t) n * float_bytes);
        return;
    }
    memset(to, 0, (size_t) (from - first) * float_bytes);
    memcpy(to + (from - first) * v->cin, x + from * v->cin, (size_t) (end - from) * float_bytes);
    memset(to + (end - first) * v->cin, 0, (size_t) (first + n - end) * float_bytes);
}

/* The lines of all channels that a block reads, row after row. */
static void lines_copy(const struct conv_tiles *v, const struct kern *k, const struct block *b,
                       const float *x, float *to)
{
    const struct window3 *g = &v->g;
    const struct kern_conv_lines lines = { v->line, (size_t) v->cin, 0 };
    const size_t floats = (size_t) v->cin * v->span;
    const int64_t first = b->o[0] * g->stride[1] - g->before[1], n = reach(g, 1, b->rows);
    for (int64_t i = first; i < first + n; i++, to += floats) {
        if (i < 0 || i >= g->in[1])
            memset(to, 0, floats * sizeof *to);
        else if (v->ldx)
            line_copy(v, x + i * g->in[2] * v->cin, to, b->o[1] * g->stride[2] - g->before[2]);
        else
            k->conv_lines_f32(to, v->span, x + i * g->in[2], &lines,
                              (ptrdiff_t) (b->o[1] * g->stride[2] - g->before[2]),
                              (size_t) g->in[2]);
    }
}

void conv_tiles_sums(const struct kern *k, float *y, size_t ldy, const float *x, const size_t *row,
                     const size_t *at, const struct kern_block *of, size_t m)
{
    const size_t most = NEAR_FLOATS / (k->tile_panels * KERN_LANES);
    struct kern_block b = *of;
    for (size_t i = 0; i < of->k; i += b.k) {
        b.w = of->w + i * KERN_LANES;
        b.k = of->k - i < most ? of->k - i : most;
        b.more = i > 0;
        k->gemm_at_f32(y, ldy, x, row, at + i, &b, m);
    }
}

static void channels_turn(const struct conv_tiles *v, const struct kern *k, const struct block *b,
                          float *y, const float *rows)
{
    const bool dense = b->columns == v->g.out[2];
    const size_t cout = (size_t) v->cout, columns = (size_t) b->columns, n = (size_t) b->rows;
    const struct kern_strided_copy turn = {
        .n = { 1, dense ? 1 : n, cout, dense ? n * columns : columns },
        .from = { 0, (ptrdiff_t) (columns * cout), 1, (ptrdiff_t) cout },
        .to = { 0, (ptrdiff_t) v->g.out[2], (ptrdiff_t) v->g.n_out, 1 }
    };
    k->strided_copy_f32(y + b->o[0] * v->g.out[2] + b->o[1], rows, &turn);
}

/* Rows at `row` that follow each other in y. */
static void places_sum(const struct conv_tiles *v, const struct conv_tiles_of *of, float *y,
                       const float *x, const size_t *row, size_t n)
{
    const struct kern_block b = { .w = of->w,
                                  .step_panel = KERN_LANES * v->terms,
                                  .step_k = KERN_LANES,
                                  .bias = of->bias,
                                  .n = (size_t) v->cout,
                                  .k = v->terms };
    conv_tiles_sums(of->k, y, (size_t) (v->ldx ? v->ldy : v->cout), x, row, v->at, &b, n);
}

static void block_run(const struct conv_tiles *v, const struct conv_tiles_of *of,
                      const struct block *b)
{
    const struct window3 *g = &v->g;
    const struct steps s = steps_of(v);
    const bool whole = b->columns == v->columns && (!v->ldx || b->columns == g->out[2]);
    const int64_t step = whole ? b->rows : 1, ldy = v->ldx ? v->ldy : v->cout,
                  line = v->ldx ? g->out[2] : b->columns;
    float *y = v->ldx ? of->y + (b->o[0] * line + b->o[1]) * ldy : of->room + v->copied_floats;
    const float *x = of->room;
    if (!v->span)
        x = of->x + b->o[0] * g->stride[1] * (int64_t) s.line +
            b->o[1] * g->stride[2] * (int64_t) s.place;
    if (v->span)
        lines_copy(v, of->k, b, of->x, of->room);
    for (int64_t r = 0; r < b->rows; r += step)
        places_sum(v, of, y + r * line * ldy, x, v->row + r * v->columns,
                   (size_t) (step * b->columns));
    if (!v->ldx)
        channels_turn(v, of->k, b, of->y, y);
}

int64_t conv_tiles_rows_run(const struct conv_tiles *v, const struct conv_tiles_of *of, int64_t o)
{
    const struct window3 *g = &v->g;
    struct block b = { .o = { o }, .rows = g->out[1] - o < v->rows ? g->out[1] - o : v->rows };
    for (; b.o[1] < g->out[2]; b.o[1] += b.columns) {
        b.columns = g->out[2] - b.o[1] < v->columns ? g->out[2] - b.o[1] : v->columns;
        block_run(v, of, &b);
    }
    return b.rows;
}

void conv_tiles_run(const struct conv_tiles *v, const struct conv_tiles_of *of)
{
    for (int64_t o = 0; o < v->g.out[1];)
        o += conv_tiles_rows_run(v, of, o);
}
