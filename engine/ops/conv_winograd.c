/* SPDX-License-Identifier: MIT */
#include "engine/ops/conv_winograd.h"
#include "engine/graph/packs.h"
#include "engine/ops/conv_tiles.h"

#include <string.h>

enum { IN_X, IN_W, IN_B };

#define PARTS_FLOATS ((int64_t) 65536) /* of the input's components of a block */
#define SUMS_FLOATS ((int64_t) 65536)  /* of its products */
#define COLUMNS 96                     /* places of a block, where whole rows are too many */

/* ---- geometry ---- */

/* Whether tiles lie along the places of a row. */
static bool along_rows(const struct conv_winograd *v)
{
    return v->axis == 2;
}

static int64_t tiles_of(int64_t outputs)
{
    return (outputs + WINOGRAD_OUTS - 1) / WINOGRAD_OUTS;
}

/* Rows and columns of the products of all blocks. */
static int64_t all_rows(const struct conv_winograd *v)
{
    return along_rows(v) ? v->g.out[1] : tiles_of(v->g.out[1]);
}

static int64_t all_columns(const struct conv_winograd *v)
{
    return along_rows(v) ? tiles_of(v->g.out[2]) : v->g.out[2];
}

/* Input places from the first to the last one that n outputs of the other axis read. */
static int64_t reach(const struct conv_winograd *v, int64_t n)
{
    const int axis = 3 - v->axis;
    return (n - 1) * v->g.stride[axis] + (v->g.kernel[axis] - 1) * v->g.dilation[axis] + 1;
}

/* Lines of the input under so many rows of products, and of its components. */
static int64_t lines_read(const struct conv_winograd *v, int64_t rows)
{
    return along_rows(v) ? reach(v, rows) : rows * WINOGRAD_OUTS + 2;
}

static int64_t lines_made(const struct conv_winograd *v, int64_t rows)
{
    return along_rows(v) ? reach(v, rows) : rows;
}

/* A tile reads two places of the next, so that along a row one follows the last. */
static int64_t width_of(const struct conv_winograd *v, int64_t columns)
{
    return along_rows(v) ? columns + 1 : reach(v, columns);
}

static bool block_fits(const struct conv_winograd *v, int64_t rows, int64_t columns)
{
    return WINOGRAD_PARTS * v->cin * lines_made(v, rows) * width_of(v, columns) <= PARTS_FLOATS &&
        WINOGRAD_PARTS * v->cout * rows * columns <= SUMS_FLOATS;
}

static size_t whole_vectors(size_t n)
{
    return (n + KERN_LANES - 1) / KERN_LANES * KERN_LANES;
}

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void block_choose(struct conv_winograd *v)
{
    const int64_t most = along_rows(v) ? COLUMNS / WINOGRAD_OUTS : COLUMNS;
    v->columns = all_columns(v);
    if (v->columns > most && !block_fits(v, 1, v->columns))
        v->columns = most;
    v->rows = 1;
    while (v->rows < all_rows(v) && block_fits(v, v->rows + 1, v->columns))
        v->rows++;
    v->width = (size_t) width_of(v, v->columns);
    v->span = v->width * (along_rows(v) ? WINOGRAD_OUTS : 1);
    v->long_lines = !along_rows(v) && v->columns == v->g.out[2] && !v->g.before[2] &&
        (int64_t) v->width <= v->g.in[2];
    if (v->long_lines)
        v->width = v->span = (size_t) v->g.in[2];
    v->step = whole_vectors((size_t) (lines_made(v, v->rows) * v->cin) * v->width) + KERN_LANES;
    const size_t sums = (size_t) (v->rows * v->columns * v->cout),
                 copied = along_rows(v)
        ? WINOGRAD_OUTS * (v->step + 1)
        : (size_t) (lines_read(v, v->rows) * v->cin) * v->span + KERN_LANES;
    v->copied_floats = whole_vectors(greater(copied, WINOGRAD_PARTS * sums));
    v->parts_floats = greater(WINOGRAD_PARTS * v->step, WINOGRAD_OUTS * sums);
}

/* Lines of a component lie channel by channel along rows, and tile by tile within a channel
 * otherwise. */
static void lists_fill(struct conv_winograd *v)
{
    const struct window3 *g = &v->g;
    const int other = 3 - v->axis;
    const size_t line = (size_t) v->cin * v->width, stride = (size_t) g->stride[other],
                 tap = (size_t) g->dilation[other] * (along_rows(v) ? line : 1),
                 channel = along_rows(v) ? v->width : (size_t) v->rows * v->width;
    size_t *row = v->row, *at = v->at;
    for (size_t r = 0; r < (size_t) v->rows; r++)
        for (size_t c = 0; c < (size_t) v->columns; c++)
            *row++ = along_rows(v) ? r * stride * line + c : r * v->width + c * stride;
    for (size_t ch = 0; ch < (size_t) v->cin; ch++)
        for (size_t k = 0; k < (size_t) g->kernel[other]; k++)
            *at++ = ch * channel + k * tap;
    for (size_t i = 0; i < v->n_lines; i++)
        v->line[i] = (struct kern_conv_line) {
            (ptrdiff_t) (i * (size_t) (v->lines_of_channel ? g->in[2] : g->n_in)), 0
        };
}

static rill_status lists_make(struct prep *c, struct conv_winograd *v)
{
    block_choose(v);
    v->row = arena_array(c->arena, size_t, (size_t) (v->rows * v->columns));
    v->at = arena_array(c->arena, size_t, v->terms + 1);
    v->lines_of_channel = !along_rows(v) && !v->long_lines;
    v->n_lines = (size_t) (v->lines_of_channel ? lines_read(v, v->rows) : v->cin);
    v->line = arena_array(c->arena, struct kern_conv_line, v->n_lines + 1);
    if (!v->row || !v->at || !v->line)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    lists_fill(v);
    return RILL_OK;
}

static size_t scratch_bytes(const struct conv_winograd *v)
{
    return (v->copied_floats + v->parts_floats) * sizeof(float);
}

/* ---- weights ---- */

/* Components of a kernel's three places, each rounded once. */
static void kernel_parts(float *ret, double a, double b, double c)
{
    ret[0] = (float) (4 * a);
    ret[1] = (float) ((a + b + c) / 1.5);
    ret[2] = (float) ((a - b + c) / 1.5);
    ret[3] = (float) ((a + b / 2 + c / 4) / -0.375);
    ret[4] = (float) ((a - b / 2 + c / 4) / -0.375);
    ret[5] = (float) c;
}

/* Floats of a panel of all components. */
static size_t panel_floats(const struct conv_winograd *v)
{
    return WINOGRAD_PARTS * v->terms * KERN_LANES;
}

static size_t panels_of(const struct conv_winograd *v)
{
    return ((size_t) v->cout + KERN_LANES - 1) / KERN_LANES;
}

/* ret is all zeros. */
static void weights_pack(const struct conv_winograd *v, float *ret, const float *w)
{
    const size_t other = (size_t) v->g.kernel[3 - v->axis], component = v->terms * KERN_LANES,
                 tap = along_rows(v) ? 1 : other, next = along_rows(v) ? 3 : 1;
    for (size_t o = 0; o < (size_t) v->cout; o++) {
        float *to = ret + o / KERN_LANES * panel_floats(v) + o % KERN_LANES;
        for (size_t t = 0; t < v->terms; t++, to += KERN_LANES) {
            const float *from = w + (o * v->terms + t / other * other) * 3 + t % other * next;
            float part[WINOGRAD_PARTS];
            kernel_parts(part, from[0], from[tap], from[2 * tap]);
            for (size_t k = 0; k < WINOGRAD_PARTS; k++)
                to[k * component] = part[k];
        }
    }
}

static rill_status weights_prepare(struct prep *c, struct conv_winograd *v)
{
    const float *w = c->in[IN_W]->data;
    if (!w)
        return op_fail(c->err, RILL_INTERNAL, c->node, "its weights are not known");
    const size_t words[] = { PACK_WINOGRAD, (size_t) v->axis, (size_t) v->cin, (size_t) v->cout,
                             v->terms };
    const struct pack_key key = { { w }, words, sizeof words / sizeof *words };
    bool there;
    float *to = prep_pack_of(c, panels_of(v) * panel_floats(v), sizeof *to, &key, &there);
    if (!to)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!there)
        weights_pack(v, to, w);
    v->packed = to;
    c->packed |= 1u << IN_W;
    return RILL_OK;
}

/* ---- plan ---- */

rill_status conv_winograd_prepare(struct prep *c, const struct window *w, int64_t axis,
                                  struct attr_ints epilogue)
{
    const struct tensor *x = c->in[IN_X];
    struct conv_winograd *v = arena_new(c->arena, struct conv_winograd);
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    *v = (struct conv_winograd) {
        .axis = (int) axis - 1, .batch = x->dim[0], .cin = x->dim[1], .cout = c->out[0]->dim[1]
    };
    window3_set(&v->g, w, x, c->out[0]);
    v->terms = (size_t) (v->cin * v->g.kernel[3 - v->axis]);
    TRY(lists_make(c, v));
    TRY(weights_prepare(c, v));
    TRY(epilogue_prepare(c, epilogue, &v->epilogue));
    c->args = v;
    c->kernel = "winograd, gemm_at_f32";
    c->kern_uses |= KERN_USES_WINOGRAD;
    c->scratch_bytes = scratch_bytes(v);
    return RILL_OK;
}

/* ---- shares ---- */

/* Panels of outputs; each share makes the components of the input for itself. */
static rill_status share_make(struct prep *c, const struct conv_winograd *v, size_t from, size_t to,
                              struct share *ret, size_t *scratch)
{
    struct conv_winograd *s = arena_new(c->arena, struct conv_winograd);
    const int64_t first = (int64_t) (from * KERN_LANES);
    if (!s)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    *s = *v;
    s->cout = to < panels_of(v) ? (int64_t) ((to - from) * KERN_LANES) : v->cout - first;
    s->packed += from * panel_floats(v);
    TRY(lists_make(c, s));
    *scratch = greater(*scratch, scratch_bytes(s));
    ret->args = s;
    if (c->n_in > IN_B)
        ret->shift_bytes[IN_B] = (size_t) first * sizeof(float);
    epilogue_shift(&v->epilogue, first, first * v->g.n_out, ret->shift_bytes);
    ret->shift_bytes[c->n_in] = (size_t) (first * v->g.n_out) * sizeof(float);
    return RILL_OK;
}

rill_status conv_winograd_divide(struct prep *c, unsigned most, struct shares *ret)
{
    const struct conv_winograd *v = c->args;
    const int64_t panels = (int64_t) panels_of(v);
    const unsigned n = panels < most ? (unsigned) panels : most;
    if (n < 2 || v->batch != 1 || !v->g.n_out)
        return RILL_OK;
    TRY(shares_new(c, n, ret));
    for (unsigned i = 0; i < n; i++)
        TRY(share_make(c, v, (size_t) share_from(panels, i, n),
                       (size_t) share_from(panels, i + 1, n), &ret->share[i], &ret->scratch_bytes));
    return RILL_OK;
}

/* ---- eval ---- */

/* Rows and columns of products from (at[0], at[1]) on. */
struct block {
    int64_t at[2], rows, columns;
};

/* Lines of all channels, row after row. */
static void rows_copy(const struct conv_winograd *v, const struct kern *k, const struct block *b,
                      const float *x, float *to)
{
    const struct window3 *g = &v->g;
    const struct kern_conv_lines lines = { v->line, v->n_lines, 0 };
    const size_t floats = v->n_lines * v->span;
    const ptrdiff_t place = (ptrdiff_t) (b->at[1] * WINOGRAD_OUTS - g->before[2]);
    const int64_t first = b->at[0] * g->stride[1] - g->before[1],
                  end = first + lines_read(v, b->rows);
    for (int64_t i = first; i < end; i++, to += floats) {
        if (i < 0 || i >= g->in[1])
            memset(to, 0, floats * sizeof *to);
        else
            k->conv_lines_f32(to, v->span, x + i * g->in[2], &lines, place, (size_t) g->in[2]);
    }
}

static int64_t held(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

/* The lines of a channel under tiles from line `first` on, channel after channel: what exists of
 * them, zeros around it. */
static void channels_copy(const struct conv_winograd *v, const struct kern *k,
                          const struct block *b, const float *x, float *to)
{
    const struct window3 *g = &v->g;
    const int64_t first = b->at[0] * WINOGRAD_OUTS - g->before[1], n = (int64_t) v->n_lines,
                  front = held(-first, 0, n), end = held(g->in[1] - first, front, n);
    const ptrdiff_t place = (ptrdiff_t) (b->at[1] * g->stride[2] - g->before[2]);
    const struct kern_conv_lines lines = { v->line, (size_t) (end - front), 0 };
    for (int64_t ch = 0; ch < v->cin; ch++, x += g->n_in, to += v->n_lines * v->span) {
        memset(to, 0, (size_t) front * v->span * sizeof *to);
        k->conv_lines_f32(to + (size_t) front * v->span, v->span, x + (first + front) * g->in[2],
                          &lines, place, (size_t) g->in[2]);
        memset(to + (size_t) end * v->span, 0, (size_t) (n - end) * v->span * sizeof *to);
    }
}

/* All lines under a block, with their padding. */
static void lines_copy(const struct conv_winograd *v, const struct kern *k, const struct block *b,
                       const float *x, float *to)
{
    const struct window3 *g = &v->g;
    const struct kern_conv_lines lines = { v->line, v->n_lines, 0 };
    const int64_t first = b->at[0] * WINOGRAD_OUTS - g->before[1];
    if (along_rows(v))
        rows_copy(v, k, b, x, to);
    else if (v->long_lines) /* a channel is one line */
        k->conv_lines_f32(to, (size_t) lines_read(v, v->rows) * v->span, x, &lines,
                          (ptrdiff_t) (first * g->in[2]), (size_t) (g->in[1] * g->in[2]));
    else
        channels_copy(v, k, b, x, to);
}

static void parts_make(const struct conv_winograd *v, const struct kern *k, const struct block *b,
                       float *y, const float *x)
{
    if (along_rows(v)) {
        k->winograd_in_places_f32(y, v->step, x,
                                  whole_vectors((size_t) (lines_made(v, b->rows) * v->cin) *
                                                v->width));
        return;
    }
    for (int64_t ch = 0; ch < v->cin; ch++) {
        k->winograd_in_f32(y, v->step, x, (size_t) b->rows, v->width);
        y += (size_t) v->rows * v->width;
        x += (size_t) lines_read(v, v->rows) * v->width;
    }
}

/* All six products, one behind the other. The second one's chains begin with the bias, which counts
 * once in each output then. */
static void sums_make(const struct conv_winograd *v, const struct kern *k, const struct block *b,
                      float *y, const float *parts, const float *bias)
{
    const size_t columns = (size_t) b->columns, cout = (size_t) v->cout,
                 rows = columns == (size_t) v->columns ? (size_t) b->rows : 1; /* at once */
    for (size_t i = 0; i < WINOGRAD_PARTS; i++, parts += v->step) {
        const struct kern_block product = { .w = v->packed + i * v->terms * KERN_LANES,
                                            .step_panel = panel_floats(v),
                                            .step_k = KERN_LANES,
                                            .bias = i == 1 ? bias : NULL,
                                            .n = cout,
                                            .k = v->terms };
        for (size_t r = 0; r < (size_t) b->rows; r += rows, y += rows * columns * cout)
            conv_tiles_sums(k, y, cout, parts, v->row + r * (size_t) v->columns, v->at, &product,
                            rows * columns);
    }
}

/* The last tiles may reach over the output. */
static void channels_turn(const struct conv_winograd *v, const struct kern *k,
                          const struct block *b, float *y, const float *from)
{
    const struct window3 *g = &v->g;
    const int64_t by[2] = { along_rows(v) ? 1 : WINOGRAD_OUTS, along_rows(v) ? WINOGRAD_OUTS : 1 },
                  at[2] = { b->at[0] * by[0], b->at[1] * by[1] };
    const int64_t made = b->columns * by[1];
    int64_t rows = b->rows * by[0], columns = made;
    rows = rows < g->out[1] - at[0] ? rows : g->out[1] - at[0];
    columns = columns < g->out[2] - at[1] ? columns : g->out[2] - at[1];
    const bool dense = columns == g->out[2] && columns == made;
    const struct kern_strided_copy turn = {
        .n = { 1, (size_t) (dense ? 1 : rows), (size_t) v->cout,
               (size_t) (dense ? rows * columns : columns) },
        .from = { 0, (ptrdiff_t) (made * v->cout), 1, (ptrdiff_t) v->cout },
        .to = { 0, (ptrdiff_t) g->out[2], (ptrdiff_t) g->n_out, 1 }
    };
    k->strided_copy_f32(y + at[0] * g->out[2] + at[1], from, &turn);
}

/* Scratch holds copied lines, then products in their place; and components of the input, then
 * outputs in theirs. */
static void block_eval(const struct conv_winograd *v, const struct eval *e, const struct block *b,
                       float *y, const float *x)
{
    const struct kern *k = e->kern;
    const float *bias = e->n_in > IN_B ? e->x[IN_B] : NULL;
    float *first = e->scratch, *second = first + v->copied_floats;
    const size_t columns = (size_t) b->columns, sums = (size_t) b->rows * columns,
                 cout = (size_t) v->cout;
    lines_copy(v, k, b, x, first);
    parts_make(v, k, b, second, first);
    sums_make(v, k, b, first, second, bias);
    k->winograd_out_f32(second, first, sums * cout, along_rows(v) ? sums : (size_t) b->rows,
                        along_rows(v) ? cout : columns * cout);
    channels_turn(v, k, b, y, second);
}

static int64_t up_to(int64_t most, int64_t left)
{
    return left < most ? left : most;
}

static void image_eval(const struct conv_winograd *v, const struct eval *e, float *y,
                       const float *x)
{
    const int64_t rows = all_rows(v), columns = all_columns(v);
    struct block b = { .rows = v->rows };
    for (b.at[0] = 0; b.at[0] < rows; b.at[0] += b.rows)
        for (b.at[1] = 0; b.at[1] < columns; b.at[1] += b.columns) {
            b.rows = up_to(v->rows, rows - b.at[0]);
            b.columns = up_to(v->columns, columns - b.at[1]);
            block_eval(v, e, &b, y, x);
        }
}

void conv_winograd_eval(const struct eval *e)
{
    const struct conv_winograd *v = e->args;
    float *y = e->y[0];
    const float *x = e->x[IN_X];
    if (!v->g.n_out)
        return;
    for (int64_t i = 0; i < v->batch; i++, x += v->cin * v->g.n_in, y += v->cout * v->g.n_out) {
        image_eval(v, e, y, x);
        epilogue_channels(&v->epilogue, e, y, i, 0, v->cout);
    }
}
