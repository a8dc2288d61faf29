/* SPDX-License-Identifier: MIT */
/* Cells whose sequence is one call of a kernel: input product, recurrent product, gates and states together. */
#include "engine/ops/rnn.h"

#include <string.h>

static bool present(const struct prep *c, unsigned i)
{
    return i < c->n_in && i < rnn_skip_input(c->node) && c->in[i];
}

/* Nothing that a kernel of whole cells does not know. */
static bool is_plain(const struct prep *c, const struct rnn *g)
{
    const struct rnn_attr *a = c->attr;
    for (int64_t d = 0; d < g->dirs; d++)
        for (int i = 0; i < (g->cell == CELL_RNN ? 1 : g->cell == CELL_GRU ? 2 : 3); i++)
            if (!rnn_act_is(&g->act[d][i], g->cell == CELL_RNN || i ? "Tanh" : "Sigmoid"))
                return false;
    return !(a->clip > 0) && !a->input_forget && !present(c, IN_P) && !present(c, IN_LENS);
}

static enum kern_cell_kind kind_of(const struct prep *c, const struct rnn *g)
{
    const struct rnn_attr *a = c->attr;
    if (g->cell == CELL_GRU)
        return a->linear_before_reset ? KERN_CELL_GRU : KERN_CELL_GRU_LATE;
    return g->cell == CELL_RNN ? KERN_CELL_RNN : KERN_CELL_LSTM;
}

/* ---- small cells ---- */

bool rnn_is_small(const struct prep *c, const struct rnn *g)
{
    return g->hidden <= KERN_CELL_SMALL && g->inputs <= 4 * KERN_CELL_SMALL && is_plain(c, g);
}

static void small_pack(const struct rnn *g, const struct rnn_attr *a, float *to, const float *w, const float *r, const float *b)
{
    float bias[4 * KERN_CELL_SMALL], bias_rn[KERN_CELL_SMALL];
    for (int64_t d = 0; d < g->dirs; d++) {
        rnn_biases(g, a, b ? b + d * 2 * g->n : NULL, bias, bias_rn);
        kern_cell_pack_f32(&g->small, to, (size_t) d, w + d * g->n * g->inputs, r + d * g->n * g->hidden, bias, bias_rn);
    }
}

rill_status rnn_small_prepare(struct prep *c, struct rnn *g)
{
    const struct tensor *w = c->in[IN_W], *r = c->in[IN_R], *b = present(c, IN_B) ? c->in[IN_B] : NULL;
    g->small = (struct kern_cell) { .kind = kind_of(c, g), .inputs = (size_t) g->inputs, .hidden = (size_t) g->hidden,
                                    .dirs = (size_t) g->dirs };
    kern_cell_set(&g->small);
    size_t floats = kern_cell_floats(&g->small) * kern_cell_sets(&g->small), rows = (size_t) (g->dirs * g->batch);
    c->kernel = "cell_small_f32";
    c->scratch_bytes = rows * sizeof(struct kern_cell_row) + 64;
    g->packed = w->data && r->data && (!b || b->data);
    if (!g->packed) {
        c->scratch_bytes += floats * sizeof(float);
        return RILL_OK;
    }
    float *to = arena_alloc_array(c->arena, floats, sizeof *to);
    if (!to)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    small_pack(g, c->attr, to, w->data, r->data, b ? b->data : NULL);
    g->small.weights = to;
    return RILL_OK;
}

/* Row of sequence b and direction d, from step `skip` on. */
static struct kern_cell_row row_of(const struct eval *e, const struct rnn *g, int64_t b, int64_t d, int64_t skip)
{
    const struct rnn_attr *a = e->attr;
    const float *h = rnn_input(e, IN_H), *c = rnn_input(e, IN_C);
    float *y = e->y[0], *yh = e->n_out > 1 ? e->y[1] : NULL, *yc = e->n_out > 2 ? e->y[2] : NULL;
    int64_t at = rnn_state_at(g, d, b), dx = g->batch_major ? g->inputs : g->batch * g->inputs;
    int64_t dy = (g->batch_major ? 1 : g->batch) * g->dirs * g->hidden;
    int64_t x0 = g->batch_major ? b * g->steps * g->inputs : b * g->inputs;
    int64_t y0 = g->batch_major ? (b * g->steps * g->dirs + d) * g->hidden : at;
    bool reverse = a->direction == DIR_REVERSE || d == 1;
    int64_t first = reverse ? g->steps - 1 : skip;
    return (struct kern_cell_row) {
        .x = (const float *) e->x[IN_X] + x0 + first * dx, .y = y ? y + y0 + first * dy : NULL,
        .x_step = reverse ? -dx : dx, .y_step = reverse ? -dy : dy, .h_from = h ? h + at : NULL, .c_from = c ? c + at : NULL,
        .h = yh ? yh + at : NULL, .c = yc ? yc + at : NULL
    };
}

static void steps_skip(const struct eval *e, const struct rnn *g, int64_t skip)
{
    float *y = e->y[0];
    int64_t step = g->dirs * g->hidden, sequences = g->batch_major ? g->batch : 1;
    if (!g->batch_major)
        step *= g->batch;
    for (int64_t b = 0; y && b < sequences; b++)
        memset(y + b * g->steps * step, 0, (size_t) (skip * step) * sizeof *y);
}

void rnn_small_eval(const struct eval *e, const struct rnn *g)
{
    struct kern_cell cell = g->small;
    float *weights = e->scratch;
    struct kern_cell_row *rows = e->scratch;
    int64_t skip = rnn_skip_of(e);
    skip = skip < 0 ? 0 : skip > g->steps ? g->steps : skip;
    if (!g->packed) {
        small_pack(g, e->attr, weights, e->x[IN_W], e->x[IN_R], rnn_input(e, IN_B));
        cell.weights = weights;
        rows = (struct kern_cell_row *) (void *) (weights + kern_cell_floats(&cell) * kern_cell_sets(&cell));
    }
    for (int64_t b = 0; b < g->batch; b++)
        for (int64_t d = 0; d < g->dirs; d++)
            rows[b * g->dirs + d] = row_of(e, g, b, d, skip);
    if (skip)
        steps_skip(e, g, skip);
    e->kern->cell_small_f32(&cell, rows, (size_t) (g->batch * g->dirs), (size_t) (g->steps - skip));
}
