/* SPDX-License-Identifier: MIT */
/* Cells whose sequence is one call of a kernel: input product, recurrent product, gates and states
 * together. */
#include "engine/ops/many.h"
#include "engine/ops/rnn.h"

#include <string.h>

static bool present(const struct prep *c, unsigned i)
{
    return i < c->n_in && i < rnn_skip_input(c->node) && c->in[i];
}

/* A scale of weights of bytes; NULL: not constant. */
static const float *scale_of(const struct prep *c, unsigned own)
{
    const unsigned i = rnn_own_input(c->node, own);
    return i < c->n_in && c->in[i] ? c->in[i]->data : NULL;
}

/* Nothing that a kernel of whole cells does not know. */
bool rnn_is_plain(const struct prep *c, const struct rnn *g)
{
    return rnn_attr_is_plain(c->attr, g->cell) && !present(c, IN_P) && !present(c, IN_LENS);
}

static enum kern_cell_kind kind_of(const struct prep *c, const struct rnn *g)
{
    const struct rnn_attr *a = c->attr;
    if (g->cell == CELL_GRU)
        return a->linear_before_reset ? KERN_CELL_GRU : KERN_CELL_GRU_RESET_BEFORE;
    return g->cell == CELL_RNN ? KERN_CELL_RNN : KERN_CELL_LSTM;
}

#define FROM_WEIGHTS (1u << IN_W | 1u << IN_R | 1u << IN_B)

/* ---- small cells ---- */

static void small_pack(const struct rnn *g, const struct rnn_attr *a, float *to, const float *w,
                       const float *r, const float *b)
{
    float bias[4 * KERN_CELL_SMALL], bias_rn[KERN_CELL_SMALL];
    for (int64_t d = 0; d < g->dirs; d++) {
        rnn_biases(g, a, b ? b + d * 2 * g->n : NULL, bias, bias_rn);
        kern_cell_pack_f32(&g->small, to, (size_t) d, w + d * g->n * g->inputs,
                           r + d * g->n * g->hidden, bias, bias_rn);
    }
}

#define SMALL_STEPS 16 /* so many take longer than what changing blocks costs */

/* Two vectors are under way at once; rows of one evaluation do not fill them. */
static bool small_many_pays(const struct rnn *g)
{
    const int64_t rows = g->dirs * g->batch;
    return g->steps >= SMALL_STEPS && rows <= MANY_ROWS_EACH &&
        rows * (int64_t) g->small.width < 2 * KERN_LANES;
}

static rill_status small_prepare(struct prep *c, struct rnn *g)
{
    const struct tensor *w = c->in[IN_W], *r = c->in[IN_R],
                        *b = present(c, IN_B) ? c->in[IN_B] : NULL;
    g->small = (struct kern_cell) { .kind = kind_of(c, g),
                                    .inputs = (size_t) g->inputs,
                                    .hidden = (size_t) g->hidden,
                                    .dirs = (size_t) g->dirs };
    kern_cell_set(&g->small);
    size_t floats = kern_cell_floats(&g->small) * kern_cell_sets(&g->small),
           rows = (size_t) (g->dirs * g->batch);
    c->kernel = "cell_small_f32";
    c->kern_uses |= KERN_USES_SMALL;
    c->scratch_bytes = rows * sizeof(struct kern_cell_row) + 64;
    g->packed = w->data && r->data && (!b || b->data);
    if (!g->packed) {
        c->scratch_bytes += floats * sizeof(float);
        return RILL_OK;
    }
    bool there;
    float *to = prep_pack(c, floats, sizeof *to, &there);
    if (!to)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!there)
        small_pack(g, c->attr, to, w->data, r->data, b ? b->data : NULL);
    c->packed |= FROM_WEIGHTS;
    g->small.weights = to;
    c->many = small_many_pays(g);
    return RILL_OK;
}

/* Row of sequence b and direction d, from step `skip` on. x: the first input or projection of all,
 * `width` floats each. */
static struct kern_cell_row row_of(const struct eval *e, const struct rnn *g, const float *x,
                                   int64_t width, int64_t b, int64_t d, int64_t skip)
{
    const struct rnn_attr *a = e->attr;
    const float *h = rnn_input(e, IN_H), *c = rnn_input(e, IN_C);
    float *y = e->y[0], *yh = e->n_out > 1 ? e->y[1] : NULL, *yc = e->n_out > 2 ? e->y[2] : NULL;
    int64_t at = rnn_state_at(g, d, b), dx = g->batch_major ? width : g->batch * width;
    int64_t dy = (g->batch_major ? 1 : g->batch) * g->dirs * g->hidden;
    int64_t x0 = g->batch_major ? b * g->steps * width : b * width;
    int64_t y0 = g->batch_major ? (b * g->steps * g->dirs + d) * g->hidden : at;
    bool reverse = a->direction == DIR_REVERSE || d == 1;
    int64_t first = reverse ? g->steps - 1 : skip;
    return (struct kern_cell_row) { .x = x + x0 + first * dx,
                                    .y = y ? y + y0 + first * dy : NULL,
                                    .x_step = reverse ? -dx : dx,
                                    .y_step = reverse ? -dy : dy,
                                    .h_from = h ? h + at : NULL,
                                    .c_from = c ? c + at : NULL,
                                    .h = yh ? yh + at : NULL,
                                    .c = yc ? yc + at : NULL };
}

/* How many steps do not run; their Y is 0. */
static int64_t skip_steps(const struct eval *e, const struct rnn *g)
{
    float *y = e->y[0];
    int64_t skip = rnn_skip_of(e), step = g->dirs * g->hidden,
            sequences = g->batch_major ? g->batch : 1;
    skip = skip < 0 ? 0 : skip > g->steps ? g->steps : skip;
    if (!g->batch_major)
        step *= g->batch;
    for (int64_t b = 0; skip && y && b < sequences; b++)
        memset(y + b * g->steps * step, 0, (size_t) (skip * step) * sizeof *y);
    return skip;
}

static size_t small_rows(const struct eval *e, const struct rnn *g, struct kern_cell_row *ret,
                         int64_t skip)
{
    for (int64_t b = 0; b < g->batch; b++)
        for (int64_t d = 0; d < g->dirs; d++)
            *ret++ = row_of(e, g, e->x[IN_X], g->inputs, b, d, skip);
    return (size_t) (g->batch * g->dirs);
}

void rnn_small_eval(const struct eval *e, const struct rnn *g)
{
    struct kern_cell cell = g->small;
    float *weights = e->scratch;
    struct kern_cell_row *rows = e->scratch;
    int64_t skip = skip_steps(e, g);
    if (!g->packed) {
        small_pack(g, e->attr, weights, e->x[IN_W], e->x[IN_R], rnn_input(e, IN_B));
        cell.weights = weights;
        rows = (struct kern_cell_row *) (void *) (weights +
                                                  kern_cell_floats(&cell) * kern_cell_sets(&cell));
    }
    e->kern->cell_small_f32(&cell, rows, small_rows(e, g, rows, skip), (size_t) (g->steps - skip));
}

/* Rows of all evaluations fill the vectors: lanes wait for themselves, however few are taken. */
void rnn_small_eval_many(const struct eval *e, unsigned n)
{
    const struct rnn *g = e->args;
    struct kern_cell_row rows[OP_MANY_MAX * MANY_ROWS_EACH];
    size_t n_rows = 0;
    for (unsigned i = 0; i < n; i++) {
        if (rnn_skip_of(&e[i]) > 0)
            rnn_small_eval(&e[i], g);
        else
            n_rows += small_rows(&e[i], g, rows + n_rows, 0);
    }
    if (n_rows)
        e->kern->cell_small_f32(&g->small, rows, n_rows, (size_t) g->steps);
}

/* ---- others ---- */

/* Floats of the projection's weights; a single step sums inputs and states together, and has
 * none. */
static size_t seq_w_floats(const struct rnn *g)
{
    return g->seq[0].inputs ? 0 : kern_cell_seq_columns(&g->seq[0]) * (size_t) g->inputs;
}

/* Scales of each column. */
static size_t seq_scales(const struct kern_cell_seq *q)
{
    return kern_cell_is_whole(q) ? 2 : q->weights == KERN_CELL_I16 ? 1 : 0;
}

/* Floats of one direction: w, r, bias, bias_rn, scales. */
static size_t seq_floats(const struct rnn *g)
{
    const struct kern_cell_seq *q = &g->seq[0];
    return seq_w_floats(g) + kern_cell_seq_floats(q) +
        kern_cell_seq_columns(q) * (1 + seq_scales(q)) + q->groups * KERN_LANES;
}

/* Where direction d's packed weights lie in `at`. */
static void seq_place(struct rnn *g, const float *at, int64_t d)
{
    struct kern_cell_seq *q = &g->seq[d];
    g->seq_w[d] = at;
    q->r = at + seq_w_floats(g);
    q->bias = q->r + kern_cell_seq_floats(q);
    q->bias_rn = q->bias + kern_cell_seq_columns(q);
    q->scale = q->bias_rn + q->groups * KERN_LANES;
    q->w_scale = q->scale + kern_cell_seq_columns(q);
}

/* What a cell is packed from. */
struct seq_source {
    const void *w, *r;                  /* floats or i8 */
    const float *b, *w_scale, *r_scale; /* b may be NULL; scales of i8 */
};

/* Packs direction d into `to`; bias, of n + hidden floats, is written over. */
static void seq_pack(const struct rnn *g, const struct rnn_attr *a, float *to, float *bias,
                     int64_t d, const struct seq_source *from)
{
    struct kern_cell_seq own = g->seq[d], *q = &own;
    const size_t each = g->bytes ? 1 : sizeof(float), columns = kern_cell_seq_columns(q);
    const void *w = (const char *) from->w + (size_t) (d * g->n * g->inputs) * each,
               *r = (const char *) from->r + (size_t) (d * g->n * g->hidden) * each;
    float *pr = to + seq_w_floats(g), *pb = pr + kern_cell_seq_floats(q), *prn = pb + columns,
          *scale = prn + q->groups * KERN_LANES;
    if (q->weights == KERN_CELL_I16)
        kern_cell_seq_scale(q, scale, w, r, (size_t) g->inputs);
    if (kern_cell_is_whole(q)) {
        kern_cell_seq_columns_pack_f32(q, scale, from->r_scale + d * g->n);
        kern_cell_seq_columns_pack_f32(q, scale + columns, from->w_scale + d * g->n);
    }
    q->scale = scale;
    rnn_biases(g, a, from->b ? from->b + d * 2 * g->n : NULL, bias, bias + g->n);
    if (!q->inputs)
        kern_cell_seq_inputs_pack_f32(q, to, w, (size_t) g->inputs);
    kern_cell_seq_bias_pack_f32(q, pb, bias);
    kern_cell_seq_pack(q, pr, w, r);
    kern_cell_seq_bias_rn_pack_f32(q, prn, bias + g->n);
}

/* Of all rows; while weights are packed, of biases. */
static size_t seq_work_floats(const struct rnn *g)
{
    return (kern_cell_seq_work_floats(&g->seq[0]) * (size_t) g->batch +
            (size_t) (g->n + g->hidden) + 15) &
        ~(size_t) 15;
}

static rill_status seq_weights(struct prep *c, struct rnn *g, const struct seq_source *from)
{
    float *bias = arena_alloc_array(c->arena, (size_t) (g->n + g->hidden), sizeof *bias);
    for (int64_t d = 0; d < g->dirs; d++) {
        bool there;
        float *to = prep_pack(c, seq_floats(g), sizeof *to, &there);
        if (!to || !bias)
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
        if (!there)
            seq_pack(g, c->attr, to, bias, d, from);
        seq_place(g, to, d);
    }
    c->packed |= FROM_WEIGHTS;
    for (unsigned own = RNN_OWN_W_SCALE; g->bytes && own <= RNN_OWN_R_SCALE; own++)
        c->packed |= UINT64_C(1) << rnn_own_input(c->node, own);
    return RILL_OK;
}

/* More rows than that share reads of the weights better in a product of their own. */
#define TOGETHER_ROWS 4

/* Whatever the number of steps and sequences is. */
#define AHEAD_FLOATS                                                                               \
    16384 /* what the sums of the steps take at most, that they stay in near caches */

static size_t steps_ahead(int64_t steps, size_t columns)
{
    size_t ahead = KERN_CELL_TOGETHER;
    while (ahead < KERN_CELL_AHEAD && (int64_t) ahead < steps &&
           2 * ahead * columns <= AHEAD_FLOATS)
        ahead *= 2;
    return steps < 2 ? 0 : ahead;
}

static enum kern_cell_weights seq_weights_kind(const struct rnn_attr *a, const struct rnn *g)
{
    bool narrow = a->weights == RNN_WEIGHTS_I16 && g->packed &&
        rnn_narrow_pays((size_t) g->n, (size_t) g->hidden);
    if (g->bytes)
        return rnn_bytes_widen((size_t) g->n, (size_t) (g->hidden + g->inputs)) ? KERN_CELL_I8_WIDE
                                                                                : KERN_CELL_I8;
    return narrow ? KERN_CELL_I16 : KERN_CELL_F32;
}

/* What the plan holds less than the file's floats. */
static size_t seq_spared_bytes(const struct rnn *g)
{
    const struct kern_cell_seq *q = &g->seq[0];
    const size_t terms = q->inputs + q->hidden;
    return q->weights != KERN_CELL_I16
        ? 0
        : (size_t) (g->dirs * g->n) * (terms * (sizeof(float) - sizeof(int16_t)) - sizeof(float));
}

/* Scratch: rows, work, projections, then packed weights where they are not constants. */
static rill_status seq_prepare(struct prep *c, struct rnn *g)
{
    static const char *const kernels[] = { [KERN_CELL_F32] = "cell_seq_f32",
                                           [KERN_CELL_I16] = "cell_seq_i16",
                                           [KERN_CELL_I8] = "cell_seq_i8",
                                           [KERN_CELL_I8_WIDE] = "cell_seq_i8" };
    const struct tensor *b = present(c, IN_B) ? c->in[IN_B] : NULL;
    const struct seq_source from = { .w = c->in[IN_W]->data,
                                     .r = c->in[IN_R]->data,
                                     .b = b ? b->data : NULL,
                                     .w_scale = scale_of(c, RNN_OWN_W_SCALE),
                                     .r_scale = scale_of(c, RNN_OWN_R_SCALE) };
    g->packed = from.w && from.r && (!b || b->data);
    if (g->bytes && !(g->packed && from.w_scale && from.r_scale))
        return prep_fail(c, "has weights of i8 that are not constant");
    if (g->bytes && (g->inputs > KERN_CELL_I8_TERMS_MAX || g->hidden > KERN_CELL_I8_TERMS_MAX))
        return prep_fail(c, "has weights of i8 for %lld inputs and %lld states; %d of each work",
                         (long long) g->inputs, (long long) g->hidden, KERN_CELL_I8_TERMS_MAX);
    g->seq[0] = g->seq[1] = (struct kern_cell_seq) {
        .kind = kind_of(c, g),
        .hidden = (size_t) g->hidden,
        .groups = ((size_t) g->hidden + KERN_LANES - 1) / KERN_LANES,
        .inputs = g->bytes || (g->steps == 1 && g->batch <= TOGETHER_ROWS) ? (size_t) g->inputs : 0,
        .weights = seq_weights_kind(c->attr, g),
        .sums = c->kern->cell_sums
    };
    if (g->bytes && g->batch == 1)
        g->seq[0].ahead = g->seq[1].ahead =
            steps_ahead(g->steps, kern_cell_seq_columns(&g->seq[0]));
    size_t columns = g->seq[0].inputs ? 0 : kern_cell_seq_columns(&g->seq[0]), projected, floats;
    if (__builtin_mul_overflow((size_t) (g->steps * g->batch), columns, &projected) ||
        projected > SIZE_MAX / 16)
        return prep_fail(c, "%lld steps of %lld sequences are too many", (long long) g->steps,
                         (long long) g->batch);
    floats = seq_work_floats(g) + projected + (g->packed ? 0 : seq_floats(g));
    c->scratch_bytes =
        floats * sizeof(float) + (size_t) g->batch * sizeof(struct kern_cell_row) + 64;
    c->kernel = kernels[g->seq[0].weights];
    c->kern_uses |= KERN_USES_SEQ;
    c->many = g->packed && g->steps == 1 && g->dirs == 1 &&
        many_pays(g->batch, g->n, g->inputs + g->hidden);
    c->spared_bytes = seq_spared_bytes(g);
    return g->packed ? seq_weights(c, g, &from) : RILL_OK;
}

struct seq_scratch {
    struct kern_cell_row *rows;
    float *work, *x, *weights;
};

static struct seq_scratch seq_scratch(const struct eval *e, const struct rnn *g)
{
    size_t rows_bytes = ((size_t) g->batch * sizeof(struct kern_cell_row) + 63) & ~(size_t) 63;
    float *work = (float *) (void *) ((char *) e->scratch + rows_bytes),
          *x = work + seq_work_floats(g);
    size_t projected =
        g->seq[0].inputs ? 0 : (size_t) (g->steps * g->batch) * kern_cell_seq_columns(&g->seq[0]);
    return (struct seq_scratch) { e->scratch, work, x, x + projected };
}

static void seq_rows(const struct eval *e, const struct rnn *g, const struct seq_scratch *s,
                     struct kern_cell_row *ret, int64_t d, int64_t skip)
{
    bool together = g->seq[d].inputs;
    int64_t width = together ? g->inputs : (int64_t) kern_cell_seq_columns(&g->seq[d]);
    for (int64_t b = 0; b < g->batch; b++) {
        ret[b] = row_of(e, g, together ? e->x[IN_X] : s->x, width, b, d, skip);
        ret[b].work = s->work + (size_t) b * kern_cell_seq_work_floats(&g->seq[d]);
    }
}

void rnn_seq_eval(const struct eval *e, const struct rnn *g)
{
    size_t columns = kern_cell_seq_columns(&g->seq[0]), steps = (size_t) (g->steps * g->batch);
    struct seq_scratch s = seq_scratch(e, g);
    int64_t skip = skip_steps(e, g);
    struct rnn own;
    if (!g->packed) {
        own = *g;
        g = &own;
    }
    for (int64_t d = 0; d < g->dirs; d++) {
        if (!g->packed) {
            const struct seq_source from = { .w = e->x[IN_W],
                                             .r = e->x[IN_R],
                                             .b = rnn_input(e, IN_B) };
            seq_pack(g, e->attr, s.weights, s.work, d, &from);
            seq_place(&own, s.weights, d);
        }
        if (!g->seq[d].inputs)
            kern_gemm_f32(e->kern, s.x, columns, e->x[IN_X], (size_t) g->inputs, g->seq_w[d],
                          g->seq[d].bias, steps, columns, (size_t) g->inputs);
        seq_rows(e, g, &s, s.rows, d, skip);
        e->kern->cell_seq_f32(&g->seq[d], s.rows, (size_t) g->batch, (size_t) (g->steps - skip));
    }
}

/* One step of all: the weights of both sides are read once. */
void rnn_seq_eval_many(const struct eval *e, unsigned n)
{
    const struct rnn *g = e->args;
    size_t columns = kern_cell_seq_columns(&g->seq[0]), inputs = (size_t) g->inputs, n_rows = 0;
    struct kern_cell_row rows[OP_MANY_MAX * MANY_ROWS_EACH];
    struct many_rows in = { .kern = e->kern,
                            .block = many_block(g->seq_w[0], g->seq[0].bias, columns, inputs) };
    for (unsigned i = 0; i < n; i++) {
        struct seq_scratch s = seq_scratch(&e[i], g);
        if (rnn_skip_of(&e[i]) > 0) {
            rnn_seq_eval(&e[i], g);
            continue;
        }
        if (!g->seq[0].inputs)
            many_rows_add(&in, s.x, columns, e[i].x[IN_X], inputs, (size_t) g->batch);
        seq_rows(&e[i], g, &s, rows + n_rows, 0, 0);
        n_rows += (size_t) g->batch;
    }
    many_rows_run(&in);
    if (n_rows)
        e->kern->cell_seq_f32(&g->seq[0], rows, n_rows, 1);
}

rill_status rnn_plain_prepare(struct prep *c, struct rnn *g)
{
    bool small = !g->bytes && g->hidden <= KERN_CELL_SMALL && g->inputs <= 4 * KERN_CELL_SMALL;
    return small ? small_prepare(c, g) : seq_prepare(c, g);
}
