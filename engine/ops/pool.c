/* SPDX-License-Identifier: MIT */
/* Pooling over one to three axes. */
#include "engine/ops/ops.h"
#include "engine/ops/attrs.h"
#include "engine/ops/window.h"
#include "engine/ops/slices.h"
#include "kernels/bytes.h"

#include <math.h>
#include <string.h>

/* clang-format off */
#define WINDOW_ATTRS                                                                               \
    AUTO_PAD_ROW,                                                                                  \
    { .name = "ceil_mode", .kind = ATTR_INT, .offset = offsetof(struct window_attr, ceil_mode) },  \
    WINDOW_ROW("dilations", dilations),                                                            \
    { .name = "kernel_shape", .kind = ATTR_INTS, .offset = offsetof(struct window_attr, kernel),   \
      .required = true },                                                                          \
    WINDOW_ROW("pads", pads), WINDOW_ROW("strides", strides), MAY_LACK_ROW
/* clang-format on */

static const struct attr_spec max_attrs[] = {
    WINDOW_ATTRS,
    { .name = "storage_order",
      .kind = ATTR_INT,
      .offset = offsetof(struct pool_attr, storage_order) },
    { 0 },
};

static const struct attr_spec average_attrs[] = {
    WINDOW_ATTRS,
    { .name = "count_include_pad",
      .kind = ATTR_INT,
      .offset = offsetof(struct pool_attr, count_include_pad) },
    { .name = "counted_axis",
      .kind = ATTR_INT,
      .offset = offsetof(struct pool_attr, counted_axis) },
    { 0 },
};

static const struct attr_spec lp_attrs[] = {
    WINDOW_ATTRS,
    { .name = "p", .kind = ATTR_INT, .offset = offsetof(struct pool_attr, p), .def_i = 2 },
    { 0 },
};

/* One input of AveragePool beyond the standard one, which passes make: bool along spatial axis
 * counted_axis, places that are false are as if not there. */
static rill_status counted_check(struct infer *c)
{
    const struct pool_attr *a = c->attr;
    const struct fact *x = c->in[0], *counted = c->in[1];
    if (a->counted_axis < 0 || a->counted_axis >= x->rank - 2 || counted->type != DTYPE_BOOL ||
        counted->rank != 1 || counted->shape[0] != x->shape[2 + a->counted_axis])
        return infer_fail(
            c, "input 1 does not say of each place of spatial axis %lld whether it counts",
            (long long) a->counted_axis);
    return RILL_OK;
}

static rill_status pool_infer(struct infer *c)
{
    const struct pool_attr *a = c->attr;
    const struct fact *x = c->in[0];
    bool bytes = x->type == DTYPE_U8 || x->type == DTYPE_I8;
    const struct dim *shape[RANK_MAX];
    struct window w;
    if (x->type != DTYPE_F32 && !(bytes && c->n_out && c->node->op->id == OP_MAX_POOL))
        return infer_fail(c, "input is %s; f32 is supported (u8 and i8 for MaxPool)",
                          dtype_name(x->type));
    TRY(window_read(c, &a->w, x->rank, NULL, &w));
    shape[0] = x->shape[0];
    shape[1] = x->shape[1];
    for (int i = 0; i < w.axes; i++)
        TRY(window_size(c, &a->w, true, &w, i, x->shape[2 + i], &shape[2 + i]));
    if (infer_has(c, 1))
        TRY(counted_check(c));
    infer_shape(c, 0, x->type, x->rank, shape);
    if (c->n_out > 1)
        infer_shape(c, 1, DTYPE_I64, x->rank, shape);
    return RILL_OK;
}

typedef void row_fn(float *restrict y, size_t ldy, const float *restrict x,
                    const float *restrict count, const struct kern_conv_lines *lines,
                    const struct kern_conv *c, const struct kern_rows *rows);

/* Places from .. to-1. */
struct span {
    int64_t from, to;
};

struct pool {
    struct window3 g;
    const struct line_op *lines; /* NULL: place by place */
    struct span *spans;          /* then: of each tap along the last axis, those that have it */
    bool joined;                 /* and all rows, of all channels, are one */
    int64_t together;        /* or so many rows of bytes are taken line by line first; 0: not so */
    int64_t *taps;           /* of AveragePool: that count at each place of a row */
    row_fn *row;             /* rows of all channels; NULL: not so */
    struct kern_conv places; /* of a row */
    float *counts;           /* taps as floats */
};

static rill_status ways_prepare(struct prep *c, struct pool *p);

static rill_status pool_prepare(struct prep *c)
{
    const struct pool_attr *a = c->attr;
    struct pool *p = arena_new(c->arena, struct pool);
    struct window w;
    if (!p)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    window_fix(&a->w, SAME_POOL, &w, NULL, c->in[0], c->out[0]);
    window3_set(&p->g, &w, c->in[0], c->out[0]);
    c->args = p;
    return ways_prepare(c, p);
}

struct sum {
    double value;
    int64_t at, count, padded;
    bool any;
};

/* What one output place sees of a channel. */
typedef void visit(struct sum *s, double v, int64_t at, int64_t p);

static void visit_max(struct sum *s, double v, int64_t at, int64_t p)
{
    (void) p;
    if (!s->any || v > s->value || isnan(v)) {
        if (s->any && isnan(s->value))
            return;
        s->value = v;
        s->at = at;
    }
    s->any = true;
}

static void visit_sum(struct sum *s, double v, int64_t at, int64_t p)
{
    (void) at;
    (void) p;
    s->value += v;
}

/* As pool_mean_f32 sums. */
static void visit_few(struct sum *s, double v, int64_t at, int64_t p)
{
    (void) at;
    (void) p;
    s->value = (double) ((float) s->value + (float) v);
}

static void visit_power(struct sum *s, double v, int64_t at, int64_t p)
{
    (void) at;
    s->value += p == 1 ? fabs(v) : p == 2 ? v * v : pow(fabs(v), (double) p);
}

/* Of places along one axis, those that count; which NULL: all. */
struct counted {
    const unsigned char *which;
    int axis;
};

static struct sum window_walk(const struct window3 *p, const struct tensor *t, const void *x,
                              int64_t channel, const int64_t o[3], visit *see, int64_t power,
                              struct counted counted)
{
    struct sum s = { .at = 0 };
    int64_t i[3], k[3];
    for (k[0] = 0; k[0] < p->kernel[0]; k[0]++)
        for (k[1] = 0; k[1] < p->kernel[1]; k[1]++)
            for (k[2] = 0; k[2] < p->kernel[2]; k[2]++) {
                bool inside = true, padded = true;
                for (int a = 0; a < 3; a++) {
                    i[a] = o[a] * p->stride[a] - p->before[a] + k[a] * p->dilation[a];
                    inside &= i[a] >= 0 && i[a] < p->in[a];
                    padded &= i[a] < p->in[a] + p->after[a];
                }
                if (counted.which && i[counted.axis] >= 0 &&
                    i[counted.axis] < p->in[counted.axis] && !counted.which[i[counted.axis]])
                    continue;
                s.padded += padded;
                if (!inside)
                    continue;
                int64_t at = ((channel * p->in[0] + i[0]) * p->in[1] + i[1]) * p->in[2] + i[2];
                s.count++;
                see(&s,
                    t->type == DTYPE_F32 ? (double) ((const float *) x)[at]
                                         : tensor_get_f64(t, x, at),
                    at, power);
            }
    return s;
}

/* Index in column-major order over the spatial axes of the same element. */
static int64_t column_major(const struct window3 *p, int64_t at)
{
    int64_t plane = p->in[0] * p->in[1] * p->in[2], base = at / plane * plane, rest = at % plane;
    int64_t i2 = rest % p->in[2], i1 = rest / p->in[2] % p->in[1],
            i0 = rest / (p->in[2] * p->in[1]);
    return base + i0 + p->in[0] * (i1 + p->in[1] * i2);
}

enum kind { POOL_MAX, POOL_AVERAGE, POOL_LP };

static double pool_value(enum kind kind, const struct pool_attr *a, enum dtype type,
                         const struct sum *s)
{
    if (kind == POOL_MAX)
        return s->any ? s->value : dtype_least(type);
    if (kind == POOL_LP)
        return a->p == 2 ? sqrt(s->value) : pow(s->value, 1.0 / (double) a->p);
    int64_t n = a->count_include_pad ? s->padded : s->count;
    return n ? s->value / (double) n : 0;
}

/* ---- places of a row together ---- */

#define LINE_PLACES 64 /* at once */

union line {
    double sum[LINE_PLACES];
    float f32[LINE_PLACES];
    uint8_t u8[LINE_PLACES];
};

/* One tap of n places, `step` elements apart from x[at] on: those from `from` on of the line. */
typedef void take_fn(union line *l, int64_t from, const void *x, int64_t at, int64_t n,
                     int64_t step);

static void take_sum(union line *l, int64_t from, const void *x, int64_t at, int64_t n,
                     int64_t step)
{
    const float *v = (const float *) x + at;
    double *sum = l->sum + from;
    for (int64_t i = 0; i < n && step == 1; i++)
        sum[i] += (double) v[i];
    for (int64_t i = 0; i < n && step != 1; i++)
        sum[i] += (double) v[i * step];
}

/* As visit_max: the first NaN stays. */
static void take_f32(union line *l, int64_t from, const void *x, int64_t at, int64_t n,
                     int64_t step)
{
    const float *v = (const float *) x + at;
    float *most = l->f32 + from;
    for (int64_t i = 0; i < n && step == 1; i++)
        most[i] = most[i] >= v[i] || isnan(most[i]) ? most[i] : v[i];
    for (int64_t i = 0; i < n && step != 1; i++)
        most[i] = most[i] >= v[i * step] || isnan(most[i]) ? most[i] : v[i * step];
}

static void take_u8(union line *l, int64_t from, const void *x, int64_t at, int64_t n, int64_t step)
{
    kern_bytes_most(l->u8 + from, (const uint8_t *) x + at, (size_t) n, (size_t) step, 0);
}

static void take_i8(union line *l, int64_t from, const void *x, int64_t at, int64_t n, int64_t step)
{
    kern_bytes_most(l->u8 + from, (const uint8_t *) x + at, (size_t) n, (size_t) step, 0x80);
}

static const struct line_op {
    enum dtype type;
    enum op_id id;
    take_fn *take;
} line_ops[] = {
    { DTYPE_F32, OP_AVERAGE_POOL, take_sum },
    { DTYPE_F32, OP_MAX_POOL, take_f32 },
    { DTYPE_U8, OP_MAX_POOL, take_u8 },
    { DTYPE_I8, OP_MAX_POOL, take_i8 },
};

/* Taps along an axis that place o sees, of those before `end`. */
static int64_t taps_of(const struct window3 *g, int a, int64_t o, int64_t least, int64_t end)
{
    const int64_t first = o * g->stride[a] - g->before[a], step = g->dilation[a];
    const int64_t from = first < least ? (least - first + step - 1) / step : 0,
                  to = first < end ? (end - first + step - 1) / step : 0;
    const int64_t most = to < g->kernel[a] ? to : g->kernel[a];
    return most > from ? most - from : 0;
}

static bool all_see(const struct window3 *g)
{
    for (int a = 0; a < 3; a++)
        for (int64_t o = 0; o < g->out[a]; o++)
            if (!taps_of(g, a, o, 0, g->in[a]))
                return false;
    return true;
}

static const struct line_op *line_op_find(const struct prep *c, const struct window3 *g)
{
    const enum dtype type = c->in[0]->type;
    const bool plain = c->n_in == 1 && (c->n_out < 2 || !c->out[1]);
    for (size_t i = 0; i < sizeof line_ops / sizeof *line_ops && plain; i++)
        if (line_ops[i].type == type && node_is(c->node, line_ops[i].id))
            return type == DTYPE_F32 || all_see(g) ? &line_ops[i] : NULL;
    return NULL;
}

/* Taps of place o along an axis that count in a mean. */
static int64_t taps_counted(const struct pool_attr *a, const struct window3 *g, int axis, int64_t o)
{
    return a->count_include_pad
        ? taps_of(g, axis, o, -g->before[axis], g->in[axis] + g->after[axis])
        : taps_of(g, axis, o, 0, g->in[axis]);
}

/* ---- rows of all channels together ---- */

#define FEW_TAPS 64 /* whose sum is near enough in f32 */

/* Places that are further apart are no vectors, but for four taps of a maximum. By the window
 * alone: the same way for any length, as each rounds in its own. */
static bool few_taps(const struct window3 *g, bool most)
{
    const bool fours = most && g->stride[2] == 4 && g->kernel[2] == 4 && g->dilation[2] == 1;
    return g->n_kernel <= FEW_TAPS && (g->stride[2] <= 2 || fours);
}

static row_fn *row_find(const struct prep *c, const struct window3 *g)
{
    const struct kern *k = c->kern;
    const bool most = node_is(c->node, OP_MAX_POOL);
    if (c->in[0]->type != DTYPE_F32 || c->n_in != 1 || (c->n_out > 1 && c->out[1]) ||
        !few_taps(g, most))
        return NULL;
    return most                             ? k->pool_max_f32
        : node_is(c->node, OP_AVERAGE_POOL) ? k->pool_mean_f32
        : node_is(c->node, OP_LP_POOL) && ((const struct pool_attr *) c->attr)->p == 2
        ? k->pool_squares_f32
        : NULL;
}

/* False: no memory. Scratch: the lines of a row, and how many places count. */
static bool row_prepare(struct prep *c, struct pool *p)
{
    const struct window3 *g = &p->g;
    const size_t n = (size_t) g->out[2], lines = (size_t) (g->kernel[0] * g->kernel[1]);
    uint32_t *mask =
        arena_array(c->arena, uint32_t, (size_t) g->kernel[2] * (n / KERN_LANES + 1) + 1);
    p->counts = arena_array(c->arena, float, n + 1);
    c->kern_uses |= KERN_USES_POOL;
    if (!mask || !p->counts)
        return false;
    p->places = (struct kern_conv) { .first = -g->before[2],
                                     .step = g->dilation[2],
                                     .stride = (size_t) g->stride[2],
                                     .n_taps = (size_t) g->kernel[2],
                                     .n_in = (size_t) g->in[2],
                                     .n = n,
                                     .n_groups = (size_t) (c->in[0]->dim[0] * c->in[0]->dim[1]),
                                     .x_group = (size_t) g->n_in };
    kern_conv_set(&p->places, mask);
    for (size_t o = 0; o < n && node_is(c->node, OP_AVERAGE_POOL); o++)
        p->counts[o] = (float) taps_counted(c->attr, g, 2, (int64_t) o);
    c->scratch_bytes = lines * sizeof(struct kern_conv_line) + n * sizeof(float);
    c->kernel = p->row == c->kern->pool_max_f32 ? "pool_max_f32"
        : p->row == c->kern->pool_mean_f32      ? "pool_mean_f32"
                                                : "pool_squares_f32";
    return true;
}

/* The lines of a row of outputs that exist. */
static struct kern_conv_lines row_lines(const struct window3 *g, const int64_t o[2],
                                        struct kern_conv_line *room)
{
    struct kern_conv_lines ret = { room, 0, 0 };
    for (int64_t k0 = 0; k0 < g->kernel[0]; k0++)
        for (int64_t k1 = 0; k1 < g->kernel[1]; k1++) {
            const int64_t i0 = o[0] * g->stride[0] - g->before[0] + k0 * g->dilation[0],
                          i1 = o[1] * g->stride[1] - g->before[1] + k1 * g->dilation[1];
            if (i0 >= 0 && i0 < g->in[0] && i1 >= 0 && i1 < g->in[1])
                room[ret.n++] =
                    (struct kern_conv_line) { (ptrdiff_t) ((i0 * g->in[1] + i1) * g->in[2]), 0 };
        }
    return ret;
}

/* Places that count in the means of a row; where there are none, their sum of 0 is the mean. */
static void row_counts(const struct eval *e, const struct pool *p, const int64_t o[2], float *ret)
{
    const int64_t rows =
        taps_counted(e->attr, &p->g, 0, o[0]) * taps_counted(e->attr, &p->g, 1, o[1]);
    for (size_t i = 0; i < p->places.n; i++)
        ret[i] = rows && p->counts[i] > 0 ? (float) rows * p->counts[i] : 1;
}

/* Rows from o[1] on that read lines alike: those all of whose lines exist, else one. */
static size_t rows_alike(const struct window3 *g, const int64_t o[2], size_t lines)
{
    const int64_t reach = (g->kernel[1] - 1) * g->dilation[1];
    int64_t end = (g->in[1] + g->before[1] - reach - 1) / g->stride[1] + 1;
    if (lines < (size_t) (g->kernel[0] * g->kernel[1]))
        return 1;
    end = end < g->out[1] ? end : g->out[1];
    return end > o[1] ? (size_t) (end - o[1]) : 1;
}

static void rows_run(const struct eval *e, const struct pool *p)
{
    const struct window3 *g = &p->g;
    struct kern_conv_line *room = e->scratch;
    float *count = (float *) (void *) (room + g->kernel[0] * g->kernel[1]), *y = e->y[0];
    const bool mean = p->row == e->kern->pool_mean_f32;
    struct kern_rows rows = { .x = (size_t) (g->stride[1] * g->in[2]) };
    int64_t o[2];
    for (o[0] = 0; o[0] < g->out[0]; o[0]++)
        for (o[1] = 0; o[1] < g->out[1]; o[1] += (int64_t) rows.n) {
            const struct kern_conv_lines lines = row_lines(g, o, room);
            rows.n = rows_alike(g, o, lines.n);
            if (mean)
                row_counts(e, p, o, count);
            p->row(y + (o[0] * g->out[1] + o[1]) * g->out[2], (size_t) g->n_out, e->x[0],
                   mean ? count : NULL, &lines, &p->places, &rows);
        }
    if (p->row == e->kern->pool_squares_f32)
        e->kern->sqrt_f32(e->y[0], e->y[0], (size_t) tensor_count(e->out[0]));
}

/* ---- which way ---- */

/* Windows lie along the last axis, and rows end where their last one ends. */
static bool rows_join(const struct window3 *g)
{
    for (int a = 0; a < 2; a++)
        if (g->kernel[a] != 1 || g->stride[a] != 1 || g->before[a] || g->in[a] != g->out[a])
            return false;
    return !g->before[2] && (g->kernel[2] - 1) * g->dilation[2] < g->stride[2] &&
        g->in[2] == g->out[2] * g->stride[2];
}

#define TOGETHER_BYTES 4096 /* of lines that are the greatest of their rows' */

/* Rows of bytes, of one axis or two, none of whose windows reaches outside: how many of a channel
 * are taken together. */
static int64_t rows_together(const struct pool *p)
{
    const struct window3 *g = &p->g;
    if (p->lines->type == DTYPE_F32 || g->kernel[0] != 1 || g->in[0] != 1 || g->in[2] < 1 ||
        g->in[2] > TOGETHER_BYTES)
        return 0;
    for (int a = 0; a < 3; a++)
        if (g->before[a] ||
            (g->out[a] - 1) * g->stride[a] + (g->kernel[a] - 1) * g->dilation[a] >= g->in[a])
            return 0;
    const int64_t most = TOGETHER_BYTES / g->in[2];
    return most < g->out[1] ? most : g->out[1];
}

static struct span span_of(const struct window3 *g, int64_t k)
{
    const int64_t s = g->stride[2], at = k * g->dilation[2] - g->before[2],
                  to = at < g->in[2] ? (g->in[2] - at + s - 1) / s : 0;
    return (struct span) { at < 0 ? (s - 1 - at) / s : 0, to < g->out[2] ? to : g->out[2] };
}

/* False: no memory. */
static bool lines_prepare(struct prep *c, struct pool *p)
{
    const struct window3 *g = &p->g;
    const bool sums = p->lines->take == take_sum;
    p->joined = !sums && rows_join(g);
    p->together = sums ? 0 : rows_together(p);
    p->spans = arena_array(c->arena, struct span, (size_t) g->kernel[2]);
    if (sums)
        p->taps = arena_array(c->arena, int64_t, (size_t) g->out[2] + 1);
    if (!p->spans || (sums && !p->taps))
        return false;
    for (int64_t k = 0; k < g->kernel[2]; k++)
        p->spans[k] = span_of(g, k);
    for (int64_t o = 0; sums && o < g->out[2]; o++)
        p->taps[o] = taps_counted(c->attr, g, 2, o);
    return true;
}

static rill_status ways_prepare(struct prep *c, struct pool *p)
{
    bool there = true;
    p->row = row_find(c, &p->g);
    p->lines = p->row ? NULL : line_op_find(c, &p->g);
    if (p->row)
        there = row_prepare(c, p);
    if (p->lines)
        there = lines_prepare(c, p);
    return there ? RILL_OK : op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
}

static void line_start(union line *l, const struct line_op *op, int64_t n)
{
    for (int64_t i = 0; i < n && op->take == take_sum; i++)
        l->sum[i] = 0;
    for (int64_t i = 0; i < n && op->take == take_f32; i++)
        l->f32[i] = -INFINITY;
    if (op->type != DTYPE_F32)
        memset(l, op->type == DTYPE_I8 ? INT8_MIN : 0, (size_t) n);
}

/* The tap of those of the n places that have it. */
static void line_tap(union line *l, const struct pool *p, const void *x, int64_t row, int64_t first,
                     int64_t n, int64_t k)
{
    const struct window3 *g = &p->g;
    const struct span *s = &p->spans[k];
    const int64_t from = s->from > first ? s->from : first,
                  to = s->to < first + n ? s->to : first + n,
                  at = from * g->stride[2] - g->before[2] + k * g->dilation[2];
    if (from < to)
        p->lines->take(l, from - first, x, row + at, to - from, g->stride[2]);
}

/* Rows `o` of a channel, its places from o[2] on. */
static void line_run(const struct eval *e, union line *l, int64_t channel, const int64_t o[3],
                     int64_t n)
{
    const struct pool *p = e->args;
    const struct window3 *g = &p->g;
    int64_t i[2], k[3];
    line_start(l, p->lines, n);
    for (k[0] = 0; k[0] < g->kernel[0]; k[0]++)
        for (k[1] = 0; k[1] < g->kernel[1]; k[1]++) {
            bool inside = true;
            for (int a = 0; a < 2; a++) {
                i[a] = o[a] * g->stride[a] - g->before[a] + k[a] * g->dilation[a];
                inside &= i[a] >= 0 && i[a] < g->in[a];
            }
            const int64_t row = ((channel * g->in[0] + i[0]) * g->in[1] + i[1]) * g->in[2];
            for (k[2] = 0; k[2] < g->kernel[2] && inside; k[2]++)
                line_tap(l, p, e->x[0], row, o[2], n, k[2]);
        }
}

static void line_means(const struct eval *e, const union line *l, const int64_t o[3], int64_t n,
                       float *y)
{
    const struct pool *p = e->args;
    const int64_t rows =
        taps_counted(e->attr, &p->g, 0, o[0]) * taps_counted(e->attr, &p->g, 1, o[1]);
    for (int64_t i = 0; i < n; i++) {
        const int64_t taps = rows * p->taps[o[2] + i];
        y[i] = taps ? (float) (l->sum[i] / (double) taps) : 0;
    }
}

/* All rows as one. */
static void joined_run(const struct eval *e)
{
    const struct pool *p = e->args;
    const struct window3 *g = &p->g;
    const size_t bytes = dtype_bytes(e->in[0]->type);
    const int64_t all = tensor_count(e->out[0]);
    char *y = e->y[0];
    union line l;
    for (int64_t at = 0, n; at < all; at += n) {
        n = all - at < LINE_PLACES ? all - at : LINE_PLACES;
        line_start(&l, p->lines, n);
        for (int64_t k = 0; k < g->kernel[2]; k++)
            p->lines->take(&l, 0, e->x[0], at * g->stride[2] + k * g->dilation[2], n, g->stride[2]);
        memcpy(y + (size_t) at * bytes, &l, (size_t) n * bytes);
    }
}

static void lines_run(const struct eval *e)
{
    const struct pool *p = e->args;
    const struct window3 *g = &p->g;
    const size_t bytes = dtype_bytes(e->in[0]->type);
    const int64_t channels = e->in[0]->dim[0] * e->in[0]->dim[1];
    char *y = e->y[0];
    union line l;
    int64_t o[3], n;
    for (int64_t ch = 0; ch < channels; ch++)
        for (o[0] = 0; o[0] < g->out[0]; o[0]++)
            for (o[1] = 0; o[1] < g->out[1]; o[1]++)
                for (o[2] = 0; o[2] < g->out[2]; o[2] += n, y += (size_t) n * bytes) {
                    n = g->out[2] - o[2] < LINE_PLACES ? g->out[2] - o[2] : LINE_PLACES;
                    line_run(e, &l, ch, o, n);
                    if (p->lines->take == take_sum)
                        line_means(e, &l, o, n, (float *) (void *) y);
                    else
                        memcpy(y, &l, (size_t) n * bytes);
                }
}

/* n rows of a channel, whose lines were taken: their places. */
static void together_places(const struct pool *p, uint8_t *y, const uint8_t *lines, int64_t n)
{
    const struct window3 *g = &p->g;
    const uint8_t flip = p->lines->type == DTYPE_I8 ? 0x80 : 0;
    const bool one =
        g->in[2] == g->out[2] * g->stride[2] && (g->kernel[2] - 1) * g->dilation[2] < g->stride[2];
    const int64_t rows = one ? 1 : n, places = (one ? n : 1) * g->out[2];
    memset(y, flip, (size_t) (n * g->out[2]));
    for (int64_t r = 0; r < rows; r++, y += places, lines += g->in[2])
        for (int64_t k = 0; k < g->kernel[2]; k++)
            kern_bytes_most(y, lines + k * g->dilation[2], (size_t) places, (size_t) g->stride[2],
                            flip);
}

static void together_run(const struct eval *e)
{
    const struct pool *p = e->args;
    const struct window3 *g = &p->g;
    const int64_t channels = e->in[0]->dim[0] * e->in[0]->dim[1], step = g->stride[1] * g->in[2];
    const uint8_t *x = e->x[0];
    uint8_t *y = e->y[0], lines[TOGETHER_BYTES];
    struct kern_lines_most m = { .row_step = (size_t) step,
                                 .lines = (size_t) g->kernel[1],
                                 .line_step = (size_t) (g->dilation[1] * g->in[2]),
                                 .n = (size_t) g->in[2],
                                 .flip = p->lines->type == DTYPE_I8 ? 0x80 : 0 };
    for (int64_t ch = 0; ch < channels; ch++, x += g->n_in)
        for (int64_t o = 0, n; o < g->out[1]; o += n, y += n * g->out[2]) {
            n = g->out[1] - o < p->together ? g->out[1] - o : p->together;
            m.rows = (size_t) n;
            kern_bytes_lines_most(lines, x + o * step, &m);
            together_places(p, y, lines, n);
        }
}

/* ---- place by place ---- */

static void pool_run(const struct eval *e, enum kind kind, visit *see)
{
    const struct pool *made = e->args;
    const struct window3 *p = &made->g;
    const struct pool_attr *a = e->attr;
    const struct tensor *x = e->in[0], *y = e->out[0];
    int64_t at = 0, channels = x->dim[0] * x->dim[1], o[3];
    const struct counted counted = { e->n_in > 1 ? e->x[1] : NULL,
                                     (int) a->counted_axis + 3 - (x->rank - 2) };
    if (made->row && e->y[0]) {
        rows_run(e, made);
        return;
    }
    if (made->lines && e->y[0]) {
        (made->joined ? joined_run : made->together ? together_run : lines_run)(e);
        return;
    }
    for (int64_t ch = 0; ch < channels; ch++)
        for (o[0] = 0; o[0] < p->out[0]; o[0]++)
            for (o[1] = 0; o[1] < p->out[1]; o[1]++)
                for (o[2] = 0; o[2] < p->out[2]; o[2]++, at++) {
                    struct sum s = window_walk(p, x, e->x[0], ch, o, see, a->p, counted);
                    if (e->y[0])
                        tensor_set_f64(y, e->y[0], at, pool_value(kind, a, y->type, &s));
                    if (e->n_out > 1 && e->y[1])
                        ((int64_t *) e->y[1])[at] = a->storage_order ? column_major(p, s.at) : s.at;
                }
}

static void max_eval(const struct eval *e)
{
    pool_run(e, POOL_MAX, visit_max);
}
static void average_eval(const struct eval *e)
{
    const struct pool *p = e->args;
    pool_run(e, POOL_AVERAGE, few_taps(&p->g, false) ? visit_few : visit_sum);
}
static void lp_eval(const struct eval *e)
{
    pool_run(e, POOL_LP, visit_power);
}

/* ---- global ---- */

struct global_attr {
    int64_t p;
};

static const struct attr_spec global_lp_attrs[] = {
    { .name = "p", .kind = ATTR_INT, .offset = offsetof(struct global_attr, p), .def_i = 2 },
    { 0 },
};

static rill_status global_infer(struct infer *c)
{
    if (c->in[0]->type != DTYPE_F32 || c->in[0]->rank < 3)
        return infer_fail(c, "wants f32 of rank 3 or more");
    infer_same(c, 0, 0);
    for (int i = 2; i < c->in[0]->rank; i++)
        c->out[0].shape[i] = dim_int(c->dims, 1);
    return RILL_OK;
}

static void global_run(const struct eval *e, enum kind kind, visit *see, int64_t power)
{
    const struct tensor *x = e->in[0];
    int64_t channels = x->dim[0] * x->dim[1], n = channels ? tensor_count(x) / channels : 0;
    struct pool_attr a = { .p = power };
    void (*rows)(float *y, const float *x, size_t rows, size_t n) = kind == POOL_MAX
        ? e->kern->rows_max_f32
        : kind == POOL_AVERAGE ? e->kern->rows_mean_f32
        : power == 2           ? e->kern->rows_norm_f32
                               : NULL;
    if (n && rows) {
        rows(e->y[0], e->x[0], (size_t) channels, (size_t) n);
        return;
    }
    for (int64_t ch = 0; ch < channels; ch++) {
        struct sum s = { .count = n };
        for (int64_t i = 0; i < n; i++)
            see(&s, (double) ((const float *) e->x[0])[ch * n + i], i, power);
        ((float *) e->y[0])[ch] = (float) pool_value(kind, &a, DTYPE_F32, &s);
    }
}

static void global_max_eval(const struct eval *e)
{
    global_run(e, POOL_MAX, visit_max, 0);
}
static void global_average_eval(const struct eval *e)
{
    global_run(e, POOL_AVERAGE, visit_sum, 0);
}
static void global_lp_eval(const struct eval *e)
{
    global_run(e, POOL_LP, visit_power, ((const struct global_attr *) e->attr)->p);
}

/* Images or channels; indices count from the begin of the whole. */
static rill_status pool_divide(struct prep *c, unsigned most, struct shares *ret)
{
    return c->n_out == 1 ? slices_before(c, 2, most, ret) : RILL_OK;
}

OP_ROW(max, MAX_POOL, "MaxPool", max_attrs, sizeof(struct pool_attr), 1, 1, 2, pool_infer,
       pool_prepare, max_eval, "largest in a window", .divide = pool_divide);
OP_ROW(average, AVERAGE_POOL, "AveragePool", average_attrs, sizeof(struct pool_attr), 1, 1, 1,
       pool_infer, pool_prepare, average_eval,
       "mean of a window, or of those of its places that count", .own_in = 1,
       .divide = pool_divide);
OP_ROW(lp, LP_POOL, "LpPool", lp_attrs, sizeof(struct pool_attr), 1, 1, 1, pool_infer, pool_prepare,
       lp_eval, "norm of a window", .divide = pool_divide);
OP_ROW(global_max, GLOBAL_MAX_POOL, "GlobalMaxPool", NULL, 0, 1, 1, 1, global_infer, NULL,
       global_max_eval, "largest of a channel", .divide = pool_divide);
OP_ROW(global_average, GLOBAL_AVERAGE_POOL, "GlobalAveragePool", NULL, 0, 1, 1, 1, global_infer,
       NULL, global_average_eval, "mean of a channel", .divide = pool_divide);
OP_ROW(global_lp, GLOBAL_LP_POOL, "GlobalLpPool", global_lp_attrs, sizeof(struct global_attr), 1, 1,
       1, global_infer, NULL, global_lp_eval, "norm of a channel", .divide = pool_divide);

const struct op *const ops_pool[] = {
    &op_max, &op_average, &op_lp, &op_global_max, &op_global_average, &op_global_lp, NULL
};
