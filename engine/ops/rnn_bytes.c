/* SPDX-License-Identifier: MIT */
/* DynamicQuantizeLSTM: an LSTM whose products sum bytes. X is quantised once, to the range that it
 * has up to the end of the longest sequence; so are the states of all sequences before each step,
 * to the range they have then. A gate is (sum(x) * scale + sum(h) * scale) + bias; what follows is
 * that of an LSTM of floats. */
#include "engine/ops/ops.h"
#include "engine/ops/quant_product.h"
#include "engine/ops/rnn.h"

#include <string.h>

enum { IN_W_SCALE = IN_P + 1, IN_W_ZERO, IN_R_SCALE, IN_R_ZERO, N_BYTES_IN };

static const struct attr_spec attrs[] = {
    RNN_ATTRS,
    { .name = "input_forget", .kind = ATTR_INT, .offset = offsetof(struct rnn_attr, input_forget) },
    { 0 },
};

/* The two products of a step. */
enum { OF_X, OF_H };
static const struct product {
    unsigned weights, scale, zero;
} products[2] = {
    [OF_X] = { IN_W, IN_W_SCALE, IN_W_ZERO }, [OF_H] = { IN_R, IN_R_SCALE, IN_R_ZERO }
};

/* ---- shapes ---- */

enum size { DIRS, INPUTS, HIDDEN, BATCH, ROWS, ROWS_2, HIDDEN_3, N_SIZES };

static const struct operand {
    unsigned input;
    bool bytes;
    int rank;
    enum size size[3];
    const char *words;
} operands[] = {
    { IN_W, true, 3, { DIRS, INPUTS, ROWS }, "bytes W [directions, input, 4*hidden]" },
    { IN_R, true, 3, { DIRS, HIDDEN, ROWS }, "bytes R [directions, hidden, 4*hidden]" },
    { IN_B, false, 2, { DIRS, ROWS_2 }, "f32 B [directions, 8*hidden]" },
    { IN_H, false, 3, { DIRS, BATCH, HIDDEN }, "f32 initial_h [directions, batch, hidden]" },
    { IN_C, false, 3, { DIRS, BATCH, HIDDEN }, "f32 initial_c [directions, batch, hidden]" },
    { IN_P, false, 2, { DIRS, HIDDEN_3 }, "f32 P [directions, 3*hidden]" },
};
#define N_OPERANDS (sizeof operands / sizeof *operands)

/* batch: -1 where it is not known */
static void sizes_set(int64_t ret[N_SIZES], int64_t dirs, int64_t inputs, int64_t hidden,
                      int64_t batch)
{
    ret[DIRS] = dirs;
    ret[INPUTS] = inputs;
    ret[HIDDEN] = hidden;
    ret[BATCH] = batch;
    ret[ROWS] = 4 * hidden;
    ret[ROWS_2] = 8 * hidden;
    ret[HIDDEN_3] = 3 * hidden;
}

static bool size_fits(const struct dim *d, int64_t want)
{
    return !d || want < 0 || !dim_is_const(d) || dim_value(d) == want;
}

static rill_status operand_check(struct infer *c, const struct operand *o,
                                 const int64_t size[N_SIZES])
{
    if (!infer_has(c, o->input))
        return RILL_OK;
    const struct fact *f = c->in[o->input];
    bool fits = f->rank == o->rank &&
        (o->bytes ? f->type == DTYPE_U8 || f->type == DTYPE_I8 : f->type == DTYPE_F32);
    for (int k = 0; fits && k < o->rank; k++)
        fits = size_fits(f->shape[k], size[o->size[k]]);
    if (fits)
        return RILL_OK;
    char fact[160];
    fact_print(f, fact, sizeof fact);
    return infer_fail(c, "%s is %s; wants %s with %lld directions and hidden %lld",
                      infer_name(c, o->input), fact, o->words, (long long) size[DIRS],
                      (long long) size[HIDDEN]);
}

/* One for each direction, or also for each column. */
static rill_status scale_check(struct infer *c, unsigned i, enum dtype type,
                               const int64_t size[N_SIZES])
{
    const struct fact *f = c->in[i];
    if (f->type == type && (f->rank == 1 || f->rank == 2) && size_fits(f->shape[0], size[DIRS]) &&
        (f->rank == 1 || dim_is(f->shape[1], 1) || size_fits(f->shape[1], size[ROWS])))
        return RILL_OK;
    char fact[160];
    fact_print(f, fact, sizeof fact);
    return infer_fail(c, "%s is %s; wants %s [directions] or [directions, 4*hidden]",
                      infer_name(c, i), fact, dtype_name(type));
}

static rill_status scales_check(struct infer *c, const int64_t size[N_SIZES])
{
    for (int i = 0; i < 2; i++) {
        const struct product *p = &products[i];
        if (!infer_has(c, p->scale))
            return infer_fail(c, "lacks input %u, the scale of input %u", p->scale, p->weights);
        TRY(scale_check(c, p->scale, DTYPE_F32, size));
        if (infer_has(c, p->zero))
            TRY(scale_check(c, p->zero, c->in[p->weights]->type, size));
    }
    return RILL_OK;
}

static rill_status lengths_check(struct infer *c, const struct dim *batch)
{
    const struct fact *lens = infer_has(c, IN_LENS) ? c->in[IN_LENS] : NULL;
    if (!lens ||
        ((lens->type == DTYPE_I32 || lens->type == DTYPE_I64 || lens->type == DTYPE_DIM) &&
         lens->rank == 1 && (!dim_is_const(batch) || size_fits(lens->shape[0], dim_value(batch)))))
        return RILL_OK;
    char fact[160];
    fact_print(lens, fact, sizeof fact);
    return infer_fail(c, "sequence_lens is %s; wants integers [batch]", fact);
}

static rill_status lstm_infer(struct infer *c)
{
    const struct rnn_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *r = c->in[IN_R];
    int64_t dirs = a->direction == DIR_BOTH ? 2 : 1, size[N_SIZES];
    struct rnn_act act[3];
    const char *bad;
    if (x->type != DTYPE_F32 || x->rank != 3 || r->rank != 3 || !dim_is_const(r->shape[1]) ||
        !dim_is_const(x->shape[2]))
        return infer_fail(c, "wants f32 X of rank 3 and R of rank 3 with known sizes");
    int64_t hidden = dim_value(r->shape[1]);
    if ((a->hidden_size && a->hidden_size != hidden) || hidden < 1 || hidden > 1 << 20)
        return infer_fail(c, "hidden_size is %lld, R says %lld", (long long) a->hidden_size,
                          (long long) hidden);
    if (rnn_acts_read(a, CELL_LSTM, (int) dirs - 1, act, &bad) != RILL_OK)
        return infer_fail(c, "activation '%.40s' is not known; supported: %s", bad,
                          rnn_act_names());
    const struct dim *batch = x->shape[1];
    sizes_set(size, dirs, dim_value(x->shape[2]), hidden,
              dim_is_const(batch) ? dim_value(batch) : -1);
    for (size_t i = 0; i < N_OPERANDS; i++)
        TRY(operand_check(c, &operands[i], size));
    TRY(scales_check(c, size));
    TRY(lengths_check(c, batch));
    const struct dim *d = dim_int(c->dims, dirs), *h = dim_int(c->dims, hidden);
    infer_shape(c, 0, DTYPE_F32, 4, (const struct dim *[]) { x->shape[0], d, batch, h });
    for (unsigned o = 1; o < c->n_out; o++)
        infer_shape(c, o, DTYPE_F32, 3, (const struct dim *[]) { d, batch, h });
    return RILL_OK;
}

/* ---- plan ---- */

/* Weights of one direction lie in blocks of 64 bytes: of both products the packed weights and a
 * scale for each column, then a bias for each. */
struct byte_cell {
    struct rnn g;
    struct kern_q8_w form[2];
    size_t packed_bytes[2], scales_bytes, dir_bytes;
    const char *packed; /* NULL: not constant */
};

static size_t lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* A direction's weights, where they lie. */
struct dir {
    struct kern_q8 w[2];
    const float *scale[2], *bias;
};

static struct dir dir_open(const struct byte_cell *q, const char *at)
{
    struct dir ret;
    for (int i = 0; i < 2; i++) {
        ret.w[i] = kern_q8_open(at, q->form[i].n, q->form[i].k);
        ret.w[i].floats = true;
        at += q->packed_bytes[i];
        ret.scale[i] = (const float *) (const void *) at;
        at += q->scales_bytes;
    }
    ret.bias = (const float *) (const void *) at;
    return ret;
}

/* What a pack is made of: tensors, and their data. */
struct source {
    const struct tensor *const *in;
    const void *const *x;
    unsigned n_in;
};

static const void *source_data(const struct source *s, unsigned i)
{
    return i < s->n_in && s->in[i] ? s->x[i] : NULL;
}

/* zeros: [n], written over */
static void product_pack(const struct byte_cell *q, const struct source *s, int which, int64_t d,
                         int32_t *zeros, char *to)
{
    const struct product *p = &products[which];
    const size_t n = (size_t) q->g.n;
    struct kern_q8_w form = q->form[which];
    const void *zero = source_data(s, p->zero);
    const int64_t n_scale = tensor_count(s->in[p->scale]) / q->g.dirs;
    const float *scale = (const float *) s->x[p->scale] + d * n_scale;
    float *scales = (float *) (void *) (to + q->packed_bytes[which]);
    if (zero) {
        const int64_t n_zero = tensor_count(s->in[p->zero]) / q->g.dirs;
        for (int64_t i = 0; i < n_zero; i++)
            zeros[i] = (int32_t) tensor_get_i64(s->in[p->zero], zero, d * n_zero + i);
        form.zero = zeros;
        form.zero_step = n_zero > 1;
    }
    form.w = (const uint8_t *) s->x[p->weights] + (size_t) d * form.n * form.k;
    kern_q8_pack(to, &form);
    for (size_t i = 0; i < n; i++)
        scales[i] = scale[n_scale > 1 ? i : 0];
}

static void dir_pack(const struct byte_cell *q, const struct source *s, int64_t d, int32_t *zeros,
                     char *to)
{
    const float *b = source_data(s, IN_B);
    for (int i = 0; i < 2; i++) {
        product_pack(q, s, i, d, zeros, to);
        to += q->packed_bytes[i] + q->scales_bytes;
    }
    float *bias = (float *) (void *) to;
    for (int64_t i = 0; i < q->g.n; i++)
        bias[i] = b ? b[d * 2 * q->g.n + i] + b[(d * 2 + 1) * q->g.n + i] : 0;
}

static rill_status sizes_check(struct prep *c, const struct rnn *g)
{
    int64_t size[N_SIZES];
    sizes_set(size, g->dirs, g->inputs, g->hidden, g->batch);
    for (size_t i = 0; i < N_OPERANDS; i++) {
        const struct operand *o = &operands[i];
        const struct tensor *t = o->input < c->n_in ? c->in[o->input] : NULL;
        for (int k = 0; t && k < o->rank; k++)
            if (t->dim[k] != size[o->size[k]])
                return prep_fail(c, "input %u has %lld on axis %d; wants %s, %lld of them",
                                 o->input, (long long) t->dim[k], k, o->words,
                                 (long long) size[o->size[k]]);
    }
    const struct tensor *lens = c->n_in > IN_LENS ? c->in[IN_LENS] : NULL;
    if (lens && lens->dim[0] != g->batch)
        return prep_fail(c, "sequence_lens has %lld for %lld sequences", (long long) lens->dim[0],
                         (long long) g->batch);
    return RILL_OK;
}

static const unsigned from_weights[] = { IN_W,      IN_R,       IN_B,     IN_W_SCALE,
                                         IN_W_ZERO, IN_R_SCALE, IN_R_ZERO };
#define N_FROM_WEIGHTS (sizeof from_weights / sizeof *from_weights)

/* Of another process: no product of a cell has outliers. */
static bool dir_is_whole(const struct byte_cell *q, const char *at)
{
    bool whole = true;
    for (int i = 0; i < 2; i++) {
        whole &= kern_q8_check(at, q->form[i].n, q->form[i].k, false);
        at += q->packed_bytes[i] + q->scales_bytes;
    }
    return whole;
}

static rill_status weights_prepare(struct prep *c, struct byte_cell *q)
{
    const void *x[N_BYTES_IN] = { NULL };
    struct source s = { .in = c->in, .x = x, .n_in = c->n_in };
    bool there;
    uint64_t packed = 0;
    for (size_t i = 0; i < N_FROM_WEIGHTS; i++) {
        unsigned at = from_weights[i];
        const struct tensor *t = at < c->n_in ? c->in[at] : NULL;
        if (t && !t->data)
            return RILL_OK;
        x[at] = t ? t->data : NULL;
        packed |= t ? 1u << at : 0;
    }
    char *to = prep_pack(c, q->dir_bytes / 64 * (size_t) q->g.dirs, 64, &there);
    int32_t *zeros = arena_alloc_array(c->arena, (size_t) q->g.n, sizeof *zeros);
    if (!to || !zeros)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t d = 0; !there && d < q->g.dirs; d++)
        dir_pack(q, &s, d, zeros, to + (size_t) d * q->dir_bytes);
    for (int64_t d = 0; there && d < q->g.dirs; d++)
        if (!dir_is_whole(q, to + (size_t) d * q->dir_bytes))
            return op_fail(c->err, RILL_MALFORMED, c->node, KERN_Q8_DAMAGED);
    c->packed |= packed;
    q->packed = to;
    return RILL_OK;
}

/* Scratch of an evaluation: bytes of X and of states, then floats, then weights that are not
 * constant. */
struct room {
    size_t x, h, sums, gate, by, tmp, states, cells, zeros, weights, bytes;
};

static bool room_add(size_t *at, size_t *ret, int64_t count, int64_t each, size_t bytes)
{
    size_t n;
    *ret = *at;
    return !__builtin_mul_overflow((size_t) count, (size_t) each, &n) &&
        !__builtin_mul_overflow(n, bytes, &n) && n < PTRDIFF_MAX / 16 &&
        !__builtin_add_overflow(*at, lines(n), at);
}

static bool room_of(const struct byte_cell *q, struct room *ret)
{
    const struct rnn *g = &q->g;
    const int64_t rows = g->steps * g->batch;
    size_t at = 0;
    bool own = !q->packed;
    bool fits = room_add(&at, &ret->x, rows, g->inputs, 1) &&
        room_add(&at, &ret->h, g->batch, g->hidden, 1) &&
        room_add(&at, &ret->sums, rows, g->n, sizeof(float)) &&
        room_add(&at, &ret->gate, g->batch, g->n, sizeof(float)) &&
        room_add(&at, &ret->by, g->n, 1, sizeof(float)) &&
        room_add(&at, &ret->tmp, g->hidden, 3, sizeof(float)) &&
        room_add(&at, &ret->states, g->batch, g->hidden, sizeof(float)) &&
        room_add(&at, &ret->cells, g->batch, g->hidden, sizeof(float)) &&
        room_add(&at, &ret->zeros, own ? g->n : 0, 1, sizeof(int32_t)) &&
        room_add(&at, &ret->weights, own ? g->dirs : 0, (int64_t) q->dir_bytes, 1);
    ret->bytes = at;
    return fits;
}

static void forms_set(struct byte_cell *q, const struct prep *c)
{
    const struct rnn *g = &q->g;
    const size_t n = (size_t) g->n, terms[2] = { (size_t) g->inputs, (size_t) g->hidden };
    q->scales_bytes = lines(n * sizeof(float));
    q->dir_bytes = q->scales_bytes;
    for (int i = 0; i < 2; i++) {
        q->form[i] =
            (struct kern_q8_w) { .is_signed = product_is_signed(c->in[products[i].weights]),
                                 .n = n,
                                 .k = terms[i],
                                 .stride_o = 1,
                                 .stride_k = n };
        q->packed_bytes[i] = kern_q8_bytes(n, terms[i], false);
        q->dir_bytes += q->packed_bytes[i] + q->scales_bytes;
    }
}

static rill_status lstm_prepare(struct prep *c)
{
    const struct rnn_attr *a = c->attr;
    const struct tensor *x = c->in[IN_X];
    struct byte_cell *q = arena_new(c->arena, struct byte_cell);
    struct room room;
    const char *bad;
    if (!q)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    q->g = (struct rnn) { .cell = CELL_LSTM,
                          .dirs = a->direction == DIR_BOTH ? 2 : 1,
                          .steps = x->dim[0],
                          .batch = x->dim[1],
                          .inputs = x->dim[2],
                          .hidden = c->in[IN_R]->dim[1],
                          .gates = 4 };
    struct rnn *g = &q->g;
    g->n = g->gates * g->hidden;
    TRY(sizes_check(c, g));
    for (int d = 0; d < g->dirs; d++)
        rnn_acts_read(a, CELL_LSTM, d, g->act[d], &bad);
    forms_set(q, c);
    if (!q->packed_bytes[OF_X] || !q->packed_bytes[OF_H])
        return prep_fail(c, "%lld inputs and %lld units are too many", (long long) g->inputs,
                         (long long) g->hidden);
    TRY(weights_prepare(c, q));
    if (!room_of(q, &room))
        return prep_fail(c, "%lld steps of %lld sequences are too many", (long long) g->steps,
                         (long long) g->batch);
    c->args = q;
    c->kernel = "gemm_q8";
    c->kern_uses |= KERN_USES_BYTES;
    c->scratch_bytes = room.bytes;
    c->many = q->packed && g->steps == 1 && g->dirs == 1 &&
        many_pays(g->batch, g->n, g->inputs + g->hidden) && (c->n_in <= IN_LENS || !c->in[IN_LENS]);
    return RILL_OK;
}

/* ---- a direction ---- */

/* One under way. */
struct run {
    const struct eval *e;
    const struct byte_cell *q;
    struct dir dir;
    int64_t d;
    struct kern_quant x_quant, h_quant;
    uint8_t *x, *h; /* quantised */
    float *sums, *gate, *by, *states,
        *cells; /* [steps][batch][n], [batch][n], [n], [batch][hidden] */
    struct rnn_step step;
};

/* Up to the end of the longest sequence. */
static int64_t steps_used(const struct eval *e, const struct rnn *g)
{
    int64_t ret = 0;
    for (int64_t b = 0; b < g->batch; b++) {
        const int64_t length = rnn_length_of(e, g, b);
        ret = length > ret ? length : ret;
    }
    return ret;
}

/* What all directions share. */
static struct run run_begin(const struct eval *e, const struct byte_cell *q,
                            const struct room *room)
{
    char *at = e->scratch;
    struct run r = { .e = e,
                     .q = q,
                     .x = (uint8_t *) at + room->x,
                     .h = (uint8_t *) at + room->h,
                     .sums = (float *) (void *) (at + room->sums),
                     .gate = (float *) (void *) (at + room->gate),
                     .by = (float *) (void *) (at + room->by),
                     .states = (float *) (void *) (at + room->states),
                     .cells = (float *) (void *) (at + room->cells) };
    r.step = (struct rnn_step) {
        .g = &q->g, .a = e->attr, .k = e->kern, .tmp = (float *) (void *) (at + room->tmp)
    };
    const size_t step = (size_t) (q->g.batch * q->g.inputs);
    float range[2];
    e->kern->range_f32(e->x[IN_X], (size_t) steps_used(e, &q->g) * step, range);
    r.x_quant = kern_quant_of_range(range[0], range[1]);
    e->kern->quantize_f32(r.x, e->x[IN_X], (size_t) q->g.steps * step, &r.x_quant);
    return r;
}

static void run_direction(struct run *r, int64_t d, const char *weights)
{
    const struct rnn *g = &r->q->g;
    const float *peephole = rnn_input(r->e, IN_P);
    r->d = d;
    r->dir = dir_open(r->q, weights + (size_t) d * r->q->dir_bytes);
    r->step.act = g->act[d];
    r->step.peephole = peephole ? peephole + d * 3 * g->hidden : NULL;
    rnn_states_load(g, rnn_input(r->e, IN_H), d, r->states);
    rnn_states_load(g, rnn_input(r->e, IN_C), d, r->cells);
}

/* Before step i. Of a sequence that ended before the last step nothing counts. */
static void run_quantise_states(struct run *r, int64_t i)
{
    const struct rnn *g = &r->q->g;
    const struct kern *k = r->e->kern;
    float range[2] = { 0, 0 }, own[2];
    for (int64_t b = 0; b < g->batch; b++) {
        if (i > rnn_length_of(r->e, g, b))
            continue;
        k->range_f32(r->states + b * g->hidden, (size_t) g->hidden, own);
        range[0] = own[0] < range[0] ? own[0] : range[0];
        range[1] = own[1] > range[1] ? own[1] : range[1];
    }
    r->h_quant = kern_quant_of_range(range[0], range[1]);
    k->quantize_f32(r->h, r->states, (size_t) (g->batch * g->hidden), &r->h_quant);
}

static void product_run(const struct run *r, int which, float *y, const uint8_t *x, size_t rows)
{
    const struct kern_quant *quant = which == OF_X ? &r->x_quant : &r->h_quant;
    const struct kern_q8_x how = { .zero = &quant->zero };
    const struct kern_q8 *w = &r->dir.w[which];
    r->e->kern->gemm_q8((int32_t *) (void *) y, w->n, x, w->k, w, &how, rows);
}

/* Rows of sums times the scale of what was quantised and that of each column. */
static void sums_scale(const struct run *r, int which, float *sums, size_t rows)
{
    const struct kern *k = r->e->kern;
    const size_t n = (size_t) r->q->g.n;
    k->muls_f32(r->by, r->dir.scale[which], which == OF_X ? r->x_quant.scale : r->h_quant.scale, n);
    for (size_t i = 0; i < rows; i++, sums += n)
        k->mul_f32(sums, sums, r->by, n);
}

/* Sequence b after step i, whose sums of states are scaled. */
static void sequence_step(struct run *r, int64_t b, int64_t i, int64_t t)
{
    const struct rnn *g = &r->q->g;
    const struct kern *k = r->e->kern;
    const size_t n = (size_t) g->n;
    float *y = r->e->y[0], *h = r->states + b * g->hidden, *gate = r->gate + b * g->n;
    if (i >= 0) {
        k->add_f32(gate, r->sums + (t * g->batch + b) * g->n, gate, n);
        k->add_f32(gate, gate, r->dir.bias, n);
        r->step.gate = gate;
        rnn_gates_lstm(&r->step, h, r->cells + b * g->hidden);
    }
    if (!y)
        return;
    y += ((t * g->dirs + r->d) * g->batch + b) * g->hidden;
    if (i >= 0)
        memcpy(y, h, (size_t) g->hidden * sizeof *y);
    else
        memset(y, 0, (size_t) g->hidden * sizeof *y);
}

/* Step i of all sequences, whose products are there. */
static void step_finish(struct run *r, int64_t i)
{
    const struct rnn *g = &r->q->g;
    bool reverse = r->step.a->direction == DIR_REVERSE || r->d == 1;
    sums_scale(r, OF_H, r->gate, (size_t) g->batch);
    for (int64_t b = 0; b < g->batch; b++) {
        int64_t length = rnn_length_of(r->e, g, b);
        bool runs = i < length;
        sequence_step(r, b, runs ? i : -1, runs && reverse ? length - 1 - i : i);
    }
}

static void run_end(const struct run *r)
{
    const struct eval *e = r->e;
    rnn_states_store(&r->q->g, r->states, r->d, e->n_out > 1 ? e->y[1] : NULL);
    rnn_states_store(&r->q->g, r->cells, r->d, e->n_out > 2 ? e->y[2] : NULL);
}

static const char *weights_ready(const struct eval *e, const struct byte_cell *q,
                                 const struct room *room)
{
    const struct source s = { .in = e->in, .x = e->x, .n_in = e->n_in };
    char *at = e->scratch;
    if (q->packed)
        return q->packed;
    for (int64_t d = 0; d < q->g.dirs; d++)
        dir_pack(q, &s, d, (int32_t *) (void *) (at + room->zeros),
                 at + room->weights + (size_t) d * q->dir_bytes);
    return at + room->weights;
}

static void lstm_eval(const struct eval *e)
{
    const struct byte_cell *q = e->args;
    const struct rnn *g = &q->g;
    const size_t rows = (size_t) (g->steps * g->batch), batch = (size_t) g->batch;
    struct room room;
    room_of(q, &room);
    const char *weights = weights_ready(e, q, &room);
    struct run r = run_begin(e, q, &room);
    for (int64_t d = 0; d < g->dirs; d++) {
        run_direction(&r, d, weights);
        product_run(&r, OF_X, r.sums, r.x, rows);
        sums_scale(&r, OF_X, r.sums, rows);
        for (int64_t i = 0; i < g->steps; i++) {
            run_quantise_states(&r, i);
            product_run(&r, OF_H, r.gate, r.h, batch);
            step_finish(&r, i);
        }
        run_end(&r);
    }
}

/* ---- one step of many evaluations ---- */

static void many_product(struct run *runs, unsigned n, int which)
{
    const struct rnn *g = &runs->q->g;
    struct product_rows rows = { .kern = runs->e->kern, .w = runs->dir.w[which] };
    for (unsigned i = 0; i < n; i++)
        for (int64_t b = 0; b < g->batch; b++) {
            struct run *r = &runs[i];
            float *y = (which == OF_X ? r->sums : r->gate) + b * g->n;
            const uint8_t *x = which == OF_X ? r->x + b * g->inputs : r->h + b * g->hidden;
            product_rows_add(&rows, (int32_t *) (void *) y, x,
                             which == OF_X ? r->x_quant.zero : r->h_quant.zero);
        }
    product_rows_run(&rows);
}

static void lstm_eval_many(const struct eval *e, unsigned n)
{
    const struct byte_cell *q = e->args;
    struct run runs[OP_MANY_MAX];
    struct room room;
    if (!n)
        return;
    room_of(q, &room);
    for (unsigned i = 0; i < n; i++) {
        runs[i] = run_begin(&e[i], q, &room);
        run_direction(&runs[i], 0, q->packed);
        run_quantise_states(&runs[i], 0);
    }
    many_product(runs, n, OF_X);
    many_product(runs, n, OF_H);
    for (unsigned i = 0; i < n; i++) {
        sums_scale(&runs[i], OF_X, runs[i].sums, (size_t) q->g.batch);
        step_finish(&runs[i], 0);
        run_end(&runs[i]);
    }
}

static const struct op op_dynamic_lstm = {
    .id = OP_DYNAMIC_QUANTIZE_LSTM,
    .name = "DynamicQuantizeLSTM",
    .attrs = attrs,
    .attr_bytes = sizeof(struct rnn_attr),
    .min_in = 3,
    .max_in = N_BYTES_IN,
    .min_out = 0,
    .max_out = 3,
    .infer = lstm_infer,
    .prepare = lstm_prepare,
    .eval = lstm_eval,
    .eval_many = lstm_eval_many,
    .checked = IN_LENS,
    .help = "LSTM of bytes: X and the states are quantised by their own range",
};

const struct op *const ops_rnn_bytes[] = { &op_dynamic_lstm, NULL };
