/* SPDX-License-Identifier: MIT */
/* Recurrent cells over a sequence. The input projection of all steps is one product; each step
 * continues its chain with the recurrent product, so an output is one chain: bias, inputs in order,
 * states in order. */
#include "engine/ops/ops.h"
#include "engine/ops/many.h"
#include "engine/ops/rnn.h"

#include <string.h>

static const char *const weights[] = { "f32", "i16", NULL };
#define COMMON_ATTRS                                                                               \
    RNN_ATTRS,                                                                                     \
        { .name = "layout", .kind = ATTR_INT, .offset = offsetof(struct rnn_attr, layout) },       \
        EPILOGUE_ROW(struct rnn_attr),                                                             \
    {                                                                                              \
        .name = "weights", .kind = ATTR_CHOICE, .offset = offsetof(struct rnn_attr, weights),      \
        .choices = weights, .own = true                                                            \
    }

static const struct attr_spec rnn_attrs[] = { COMMON_ATTRS, { 0 } };

static const struct attr_spec gru_attrs[] = {
    COMMON_ATTRS,
    { .name = "linear_before_reset",
      .kind = ATTR_INT,
      .offset = offsetof(struct rnn_attr, linear_before_reset) },
    { 0 },
};

static const struct attr_spec lstm_attrs[] = {
    COMMON_ATTRS,
    { .name = "input_forget", .kind = ATTR_INT, .offset = offsetof(struct rnn_attr, input_forget) },
    { 0 },
};

/* ---- shapes ---- */

static bool shape_is(const struct fact *f, enum dtype type, int rank, const struct dim *const *want)
{
    if (f->type != type || f->rank != rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (f->shape[i] != want[i] && dim_is_const(f->shape[i]) && dim_is_const(want[i]))
            return false;
    return true;
}

/* W and R are floats, or i8 beside which their scales stand. want: [directions, gates*hidden] */
static rill_status scales_check(struct infer *c, const struct dim *const *want)
{
    const bool bytes = c->in[IN_R]->type == DTYPE_I8;
    for (unsigned own = RNN_OWN_W_SCALE; own <= RNN_OWN_R_SCALE; own++) {
        const unsigned i = rnn_own_input(c->node, own);
        if (infer_has(c, i) != bytes || (bytes && !shape_is(c->in[i], DTYPE_F32, 2, want)))
            return infer_fail(c,
                              "input %u wants f32 scales [directions, gates*hidden] where R is "
                              "i8, and only there",
                              i);
    }
    return RILL_OK;
}

static rill_status operands_check(struct infer *c, enum cell cell, int64_t dirs, int64_t hidden,
                                  const struct dim *batch)
{
    const struct rnn_attr *a = c->attr;
    struct dims *ds = c->dims;
    const struct dim *d = dim_int(ds, dirs), *h = dim_int(ds, hidden),
                     *gh = dim_int(ds, hidden * rnn_cells[cell].gates);
    const struct dim *w[3] = { d, gh, c->in[IN_X]->shape[2] }, *r[3] = { d, gh, h };
    const struct dim *b[2] = { d, dim_mul_int(ds, gh, 2) }, *p[2] = { d, dim_mul_int(ds, h, 3) };
    const struct dim *s[3] = { a->layout ? batch : d, a->layout ? d : batch, h };
    const bool bytes = infer_has(c, rnn_own_input(c->node, RNN_OWN_R_SCALE));
    const enum dtype f32 = DTYPE_F32, of_weights = bytes ? DTYPE_I8 : DTYPE_F32;
    const struct {
        unsigned input;
        enum dtype type;
        int rank;
        const struct dim *const *want;
        const char *words;
    } rows[] = {
        { IN_W, of_weights, 3, w, "W [directions, gates*hidden, input]" },
        { IN_R, of_weights, 3, r, "R [directions, gates*hidden, hidden]" },
        { IN_B, f32, 2, b, "B [directions, 2*gates*hidden]" },
        { IN_H, f32, 3, s, "initial_h [directions, batch, hidden]" },
        { IN_C, f32, 3, s, "initial_c [directions, batch, hidden]" },
        { IN_P, f32, 2, p, "P [directions, 3*hidden]" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].input < rnn_skip_input(c->node) && infer_has(c, rows[i].input) &&
            !shape_is(c->in[rows[i].input], rows[i].type, rows[i].rank, rows[i].want)) {
            char fact[160];
            fact_print(c->in[rows[i].input], fact, sizeof fact);
            return infer_fail(c, "input %u is %s; wants %s %s with %lld directions and hidden %lld",
                              rows[i].input, fact, dtype_name(rows[i].type), rows[i].words,
                              (long long) dirs, (long long) hidden);
        }
    TRY(scales_check(c, w));
    const struct fact *lens = infer_has(c, IN_LENS) ? c->in[IN_LENS] : NULL;
    if (lens &&
        ((lens->type != DTYPE_I32 && lens->type != DTYPE_I64 && lens->type != DTYPE_DIM) ||
         lens->rank != 1 ||
         (dim_is_const(lens->shape[0]) && dim_is_const(batch) && lens->shape[0] != batch))) {
        char fact[160];
        fact_print(lens, fact, sizeof fact);
        return infer_fail(c, "sequence_lens is %s; wants integers [batch]", fact);
    }
    unsigned skip = rnn_skip_input(c->node);
    if (infer_has(c, skip) &&
        (c->in[skip]->type != DTYPE_I64 || c->in[skip]->rank != 0 || a->direction != DIR_FORWARD))
        return infer_fail(c, "skip wants an i64 scalar and the direction forward");
    return RILL_OK;
}

static rill_status cell_infer(struct infer *c, enum cell cell)
{
    const struct rnn_attr *a = c->attr;
    const struct fact *x = c->in[IN_X], *r = c->in[IN_R];
    int64_t dirs = a->direction == DIR_BOTH ? 2 : 1;
    struct rnn_act act[3];
    const char *bad;
    if (x->type != DTYPE_F32 || x->rank != 3 || r->rank != 3 || !dim_is_const(r->shape[2]) ||
        !dim_is_const(x->shape[2]))
        return infer_fail(c, "wants f32 X of rank 3 and R of rank 3 with known sizes");
    int64_t hidden = dim_value(r->shape[2]);
    if ((a->hidden_size && a->hidden_size != hidden) || hidden < 1 || hidden > 1 << 20)
        return infer_fail(c, "hidden_size is %lld, R says %lld", (long long) a->hidden_size,
                          (long long) hidden);
    if (a->layout != 0 && a->layout != 1)
        return infer_fail(c, "layout is %lld; 0 and 1 work", (long long) a->layout);
    if (rnn_acts_read(a, cell, (int) dirs - 1, act, &bad) != RILL_OK)
        return infer_fail(c, "activation '%.40s' is not known; supported: %s", bad,
                          rnn_act_names());
    const struct dim *batch = x->shape[a->layout ? 0 : 1], *steps = x->shape[a->layout ? 1 : 0];
    TRY(operands_check(c, cell, dirs, hidden, batch));
    const struct dim *d = dim_int(c->dims, dirs), *h = dim_int(c->dims, hidden);
    const struct dim *y0[4] = { steps, d, batch, h }, *y1[4] = { batch, steps, d, h };
    const struct dim *s0[3] = { d, batch, h }, *s1[3] = { batch, d, h };
    infer_shape(c, 0, DTYPE_F32, 4, a->layout ? y1 : y0);
    for (unsigned o = 1; o < c->n_out; o++)
        infer_shape(c, o, DTYPE_F32, 3, a->layout ? s1 : s0);
    return epilogue_infer(c, a->epilogue);
}

/* ---- plan ---- */

static size_t dir_floats(const struct rnn *g)
{
    return g->w_floats + g->r_floats + g->rn_floats + g->bias_floats;
}

/* Packs one direction into `to`. b may be NULL. */
static struct weights dir_pack(const struct rnn *g, const struct rnn_attr *a, float *to,
                               const float *w, const float *r, const float *b)
{
    size_t n = (size_t) g->n, in = (size_t) g->inputs, h = (size_t) g->hidden,
           joint = (size_t) rnn_gates_joint(g);
    float *pw = to, *pr = pw + g->w_floats, *prn = pr + g->r_floats, *bias = prn + g->rn_floats,
          *bias_rn = bias + n;
    kern_pack_f32(pw, w, n, in, in, 1);
    kern_pack_f32(pr, r, joint, h, h, 1);
    if (joint < n)
        kern_pack_f32(prn, r + joint * h, n - joint, h, h, 1);
    rnn_biases(g, a, b, bias, bias_rn);
    return (struct weights) { pw, pr, prn, bias, bias_rn };
}

static bool weights_known(const struct prep *c)
{
    return c->in[IN_W]->data && c->in[IN_R]->data &&
        (c->n_in <= IN_B || !c->in[IN_B] || c->in[IN_B]->data);
}

static struct weights dir_pack_at(const struct rnn *g, const struct rnn_attr *a, float *to,
                                  int64_t d, const float *w, const float *r, const float *b)
{
    return dir_pack(g, a, to, w + d * g->n * g->inputs, r + d * g->n * g->hidden,
                    b ? b + d * 2 * g->n : NULL);
}

/* Sizes that were symbols while the graph was typed. */
static rill_status sizes_check(struct prep *c, const struct rnn *g)
{
    int64_t d = g->dirs, h = g->hidden, outer = g->batch_major ? g->batch : d,
            inner = g->batch_major ? d : g->batch;
    const struct {
        unsigned input;
        int rank;
        int64_t want[3];
        const char *words;
    } rows[] = {
        { IN_W, 3, { d, g->n, g->inputs }, "W" },
        { IN_R, 3, { d, g->n, h }, "R" },
        { IN_B, 2, { d, 2 * g->n }, "B" },
        { IN_LENS, 1, { g->batch }, "sequence_lens" },
        { IN_H, 3, { outer, inner, h }, "initial_h" },
        { IN_C, 3, { outer, inner, h }, "initial_c" },
        { IN_P, 2, { d, 3 * h }, "P" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tensor *t = rows[i].input < c->n_in && rows[i].input < rnn_skip_input(c->node)
            ? c->in[rows[i].input]
            : NULL;
        for (int k = 0; t && k < rows[i].rank; k++)
            if (t->rank != rows[i].rank || t->dim[k] != rows[i].want[k])
                return prep_fail(c,
                                 "%s has %lld on axis %d, wants %lld: %lld sequences, %lld "
                                 "directions, hidden %lld",
                                 rows[i].words, (long long) (k < t->rank ? t->dim[k] : 0), k,
                                 (long long) rows[i].want[k], (long long) g->batch, (long long) d,
                                 (long long) h);
    }
    return RILL_OK;
}

/* One step: alone, each product reads all weights for a row or few. */
static bool together_pays(const struct prep *c, const struct rnn *g)
{
    return g->packed && g->steps == 1 && g->dirs == 1 &&
        many_pays(g->batch, g->n, g->inputs + g->hidden) && (c->n_in <= IN_LENS || !c->in[IN_LENS]);
}

static rill_status epilogue_make(struct prep *c, struct rnn *g)
{
    const struct rnn_attr *a = c->attr;
    bool wanted = c->n_out && c->out[0] && c->node->out[0] != WIRE_NONE;
    if (a->epilogue.n && !wanted)
        return prep_fail(c, "has an epilogue and no Y");
    return wanted ? epilogue_prepare(c, a->epilogue, &g->epilogue) : RILL_OK;
}

static rill_status cell_prepare(struct prep *c, enum cell cell)
{
    const struct rnn_attr *a = c->attr;
    const struct tensor *x = c->in[IN_X], *b = c->n_in > IN_B ? c->in[IN_B] : NULL;
    struct rnn *g = arena_new(c->arena, struct rnn);
    const char *bad;
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    *g = (struct rnn) { .cell = cell,
                        .dirs = a->direction == DIR_BOTH ? 2 : 1,
                        .batch_major = a->layout,
                        .bytes = c->in[IN_R]->type == DTYPE_I8,
                        .steps = x->dim[a->layout ? 1 : 0],
                        .batch = x->dim[a->layout ? 0 : 1],
                        .inputs = x->dim[2],
                        .hidden = c->in[IN_R]->dim[2],
                        .gates = rnn_cells[cell].gates };
    g->n = g->gates * g->hidden;
    TRY(sizes_check(c, g));
    TRY(epilogue_make(c, g));
    g->w_floats = kern_packed_floats((size_t) g->n, (size_t) g->inputs);
    g->r_floats = kern_packed_floats((size_t) rnn_gates_joint(g), (size_t) g->hidden);
    g->rn_floats = kern_packed_floats((size_t) (g->n - rnn_gates_joint(g)), (size_t) g->hidden);
    g->bias_floats = ((size_t) (g->n + g->hidden) + 15) & ~(size_t) 15;
    for (int d = 0; d < g->dirs; d++)
        rnn_acts_read(a, cell, d, g->act[d], &bad);
    c->args = g;
    if (rnn_is_plain(c, g))
        return rnn_plain_prepare(c, g);
    if (g->bytes)
        return prep_fail(c,
                         "has weights of i8, which want standard activations, no clip, no "
                         "peepholes and no sequence_lens");
    c->kernel = "cell gemm_f32";
    size_t run = (size_t) (g->steps * g->batch * g->n) + (size_t) (g->n + 4 * g->hidden) +
        3 * (size_t) (g->batch * g->hidden);
    g->packed = weights_known(c);
    c->scratch_bytes = (run + 64 + (g->packed ? 0 : dir_floats(g))) * sizeof(float);
    for (int d = 0; g->packed && d < g->dirs; d++) {
        float *to = arena_alloc_array(c->arena, dir_floats(g), sizeof *to);
        if (!to)
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
        g->weights[d] =
            dir_pack_at(g, a, to, d, c->in[IN_W]->data, c->in[IN_R]->data, b ? b->data : NULL);
    }
    c->many = together_pays(c, g);
    return RILL_OK;
}

/* ---- one step of one sequence ---- */

static void clip(const struct rnn_step *s, float *x, size_t n)
{
    float c = s->a->clip;
    if (c > 0)
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] > c ? c : x[i] < -c ? -c : x[i];
}

static void activate(const struct rnn_step *s, int which, float *y, const float *x, size_t n)
{
    rnn_act_run(&s->act[which], s->k, y, x, n);
}

/* What follows the products of a cell: gates and states. */

static void gates_rnn(const struct rnn_step *s, float *h)
{
    size_t n = (size_t) s->g->hidden;
    clip(s, s->gate, n);
    activate(s, 0, h, s->gate, n);
}

/* tmp: of linear_before_reset the candidate's own product; otherwise what its chain goes on
 * over. */
static void gates_gru_reset(const struct rnn_step *s, const float *h)
{
    size_t n = (size_t) s->g->hidden;
    float *z = s->gate, *r = z + n;
    clip(s, z, 2 * n);
    activate(s, 0, z, z, 2 * n);
    s->k->mul_f32(s->tmp, s->a->linear_before_reset ? s->tmp : h, r, n);
}

static void gates_gru_next(const struct rnn_step *s, float *h)
{
    size_t n = (size_t) s->g->hidden;
    float *z = s->gate, *c = z + 2 * n;
    clip(s, c, n);
    activate(s, 1, c, c, n);
    for (size_t i = 0; i < n; i++)
        h[i] = (1 - z[i]) * c[i] + z[i] * h[i];
}

void rnn_gates_lstm(const struct rnn_step *s, float *h, float *cell)
{
    size_t n = (size_t) s->g->hidden;
    float *i = s->gate, *o = i + n, *f = o + n, *c = f + n, *t = s->tmp;
    const float *p = s->peephole;
    for (size_t q = 0; p && q < n; q++) {
        i[q] += p[q] * cell[q];
        f[q] += p[2 * n + q] * cell[q];
    }
    clip(s, i, n);
    clip(s, f, 2 * n); /* f and c; o once it has its peephole */
    activate(s, 0, i, i, n);
    activate(s, 0, f, f, n);
    activate(s, 1, c, c, n);
    for (size_t q = 0; q < n; q++)
        cell[q] = (s->a->input_forget ? 1 - i[q] : f[q]) * cell[q] + i[q] * c[q];
    for (size_t q = 0; p && q < n; q++)
        o[q] += p[n + q] * cell[q];
    clip(s, o, n);
    activate(s, 0, o, o, n);
    activate(s, 2, t, cell, n);
    s->k->mul_f32(h, o, t, n);
}

static void step_gru(const struct rnn_step *s, const float *proj, float *h)
{
    size_t n = (size_t) s->g->hidden;
    float *c = s->gate + 2 * n;
    s->k->gemm_f32(s->gate, 2 * n, h, n, s->w->r, proj, 1, 2 * n, n);
    if (s->a->linear_before_reset)
        s->k->gemm_f32(s->tmp, n, h, n, s->w->rn, s->w->bias_rn, 1, n, n);
    gates_gru_reset(s, h);
    if (s->a->linear_before_reset)
        s->k->add_f32(c, proj + 2 * n, s->tmp, n);
    else
        s->k->gemm_f32(c, n, s->tmp, n, s->w->rn, proj + 2 * n, 1, n, n);
    gates_gru_next(s, h);
}

static void step_run(const struct rnn_step *s, const float *proj, float *h, float *cell)
{
    size_t n = (size_t) s->g->n, k = (size_t) s->g->hidden;
    if (s->g->cell == CELL_GRU) {
        step_gru(s, proj, h);
        return;
    }
    s->k->gemm_f32(s->gate, n, h, k, s->w->r, proj, 1, n, k);
    if (s->g->cell == CELL_LSTM)
        rnn_gates_lstm(s, h, cell);
    else
        gates_rnn(s, h);
}

/* ---- a direction ---- */

void rnn_states_load(const struct rnn *g, const float *from, int64_t d, float *to)
{
    for (int64_t b = 0; b < g->batch; b++, to += g->hidden)
        if (from)
            memcpy(to, from + rnn_state_at(g, d, b), (size_t) g->hidden * sizeof *to);
        else
            memset(to, 0, (size_t) g->hidden * sizeof *to);
}

void rnn_states_store(const struct rnn *g, const float *from, int64_t d, float *to)
{
    for (int64_t b = 0; to && b < g->batch; b++, from += g->hidden)
        memcpy(to + rnn_state_at(g, d, b), from, (size_t) g->hidden * sizeof *to);
}

int64_t rnn_length_of(const struct eval *e, const struct rnn *g, int64_t b)
{
    if (e->n_in <= IN_LENS || !e->x[IN_LENS])
        return g->steps;
    int64_t n = tensor_get_i64(e->in[IN_LENS], e->x[IN_LENS], b);
    if (n < 0 || n > g->steps)
        eval_fault(e, FAULT_LENGTH, n, g->steps);
    return n < 0 ? 0 : n > g->steps ? g->steps : n;
}

static void sequence_run(const struct eval *e, const struct rnn_step *s, int64_t d, int64_t b,
                         bool reverse, const float *proj, float *h, float *cell)
{
    const struct rnn *g = s->g;
    int64_t length = rnn_length_of(e, g, b), skip = rnn_skip_of(e);
    float *y = e->y[0];
    for (int64_t i = 0; i < g->steps; i++) {
        int64_t t = i < length && reverse ? length - 1 - i : i;
        int64_t row = g->batch_major ? b * g->steps + t : t * g->batch + b;
        int64_t out =
            (g->batch_major ? (b * g->steps + t) * g->dirs + d : (t * g->dirs + d) * g->batch + b) *
            g->hidden;
        bool runs = i >= skip && i < length;
        if (runs)
            step_run(s, proj + row * g->n, h, cell);
        if (y && runs)
            memcpy(y + out, h, (size_t) g->hidden * sizeof *y);
        else if (y)
            memset(y + out, 0, (size_t) g->hidden * sizeof *y);
    }
}

static void direction_run(const struct eval *e, const struct rnn *g, int64_t d)
{
    const struct rnn_attr *a = e->attr;
    float *proj = e->scratch, *gate = proj + g->steps * g->batch * g->n, *tmp = gate + g->n,
          *h = tmp + 4 * g->hidden;
    float *cell = h + g->batch * g->hidden, *pack = cell + g->batch * g->hidden;
    struct weights w = g->weights[d];
    if (!g->packed)
        w = dir_pack_at(g, a, pack, d, e->x[IN_W], e->x[IN_R], rnn_input(e, IN_B));
    const float *peephole = rnn_input(e, IN_P);
    struct rnn_step s = { .g = g,
                          .a = a,
                          .k = e->kern,
                          .w = &w,
                          .act = g->act[d],
                          .gate = gate,
                          .tmp = tmp,
                          .peephole = peephole ? peephole + d * 3 * g->hidden : NULL };
    e->kern->gemm_f32(proj, (size_t) g->n, e->x[IN_X], (size_t) g->inputs, w.w, w.bias,
                      (size_t) (g->steps * g->batch), (size_t) g->n, (size_t) g->inputs);
    rnn_states_load(g, rnn_input(e, IN_H), d, h);
    rnn_states_load(g, rnn_input(e, IN_C), d, cell);
    bool reverse = a->direction == DIR_REVERSE || d == 1;
    for (int64_t b = 0; b < g->batch; b++)
        sequence_run(e, &s, d, b, reverse, proj, h + b * g->hidden, cell + b * g->hidden);
    rnn_states_store(g, h, d, e->n_out > 1 ? e->y[1] : NULL);
    rnn_states_store(g, cell, d, e->n_out > 2 ? e->y[2] : NULL);
}

static void cell_run(const struct eval *e)
{
    const struct rnn *g = e->args;
    if (g->small.hidden || g->seq[0].hidden) {
        (g->small.hidden ? rnn_small_eval : rnn_seq_eval)(e, g);
        return;
    }
    for (int64_t d = 0; d < g->dirs; d++)
        direction_run(e, g, d);
}

static void cell_eval(const struct eval *e)
{
    const struct rnn *g = e->args;
    cell_run(e);
    epilogue_rows(&g->epilogue, e, e->n_out ? e->y[0] : NULL);
}

/* ---- one step of many evaluations ---- */

/* Evaluations under way. Each has in its scratch, one after the other: gates [batch][n], and of all
 * sequences the room beside them, states and cells [batch][hidden]. */
struct many {
    const struct rnn *g;
    const struct eval *e[OP_MANY_MAX];
    unsigned n;
    size_t tmp, h, cell; /* floats from the gates */
};

static struct rnn_step many_ctx(const struct many *m, unsigned i, int64_t b)
{
    const struct eval *e = m->e[i];
    float *gate = e->scratch;
    return (struct rnn_step) { .g = m->g,
                               .a = e->attr,
                               .k = e->kern,
                               .w = &m->g->weights[0],
                               .act = m->g->act[0],
                               .peephole = rnn_input(e, IN_P),
                               .gate = gate + b * m->g->n,
                               .tmp = gate + m->tmp + b * m->g->hidden };
}

static void many_begin(struct many *m, const struct eval *e, unsigned n)
{
    size_t states = (size_t) (m->g->batch * m->g->hidden);
    m->tmp = (size_t) (m->g->batch * m->g->n);
    m->h = m->tmp + states;
    m->cell = m->h + states;
    for (unsigned i = 0; i < n; i++) {
        if (rnn_skip_of(&e[i]) > 0) {
            cell_run(&e[i]);
            continue;
        }
        rnn_states_load(m->g, rnn_input(&e[i], IN_H), 0, (float *) e[i].scratch + m->h);
        rnn_states_load(m->g, rnn_input(&e[i], IN_C), 0, (float *) e[i].scratch + m->cell);
        m->e[m->n++] = &e[i];
    }
}

static void many_inputs(const struct many *m)
{
    const struct rnn *g = m->g;
    size_t n = (size_t) g->n, k = (size_t) g->inputs;
    struct many_rows rows = { .kern = m->n ? m->e[0]->kern : NULL,
                              .block = many_block(g->weights[0].w, g->weights[0].bias, n, k) };
    for (unsigned i = 0; i < m->n; i++)
        many_rows_add(&rows, m->e[i]->scratch, n, m->e[i]->x[IN_X], k, (size_t) g->batch);
    many_rows_run(&rows);
}

/* Where y and x start in the scratch; rows of y are ldy apart, rows of x are as long as a state. */
static void many_product(const struct many *m, struct kern_block b, size_t y, size_t ldy, size_t x)
{
    struct many_rows rows = { .kern = m->n ? m->e[0]->kern : NULL, .block = b };
    for (unsigned i = 0; i < m->n; i++) {
        float *mine = m->e[i]->scratch;
        many_rows_add(&rows, mine + y, ldy, mine + x, (size_t) m->g->hidden, (size_t) m->g->batch);
    }
    many_rows_run(&rows);
}

static void many_gates(const struct many *m, unsigned i)
{
    const struct rnn *g = m->g;
    for (int64_t b = 0; b < g->batch; b++) {
        struct rnn_step s = many_ctx(m, i, b);
        float *h = (float *) m->e[i]->scratch + m->h + b * g->hidden, *c = s.gate + 2 * g->hidden;
        if (g->cell == CELL_RNN)
            gates_rnn(&s, h);
        else if (g->cell == CELL_LSTM)
            rnn_gates_lstm(&s, h, h - m->h + m->cell);
        else if (s.a->linear_before_reset)
            s.k->add_f32(c, c, s.tmp, (size_t) g->hidden);
        if (g->cell == CELL_GRU)
            gates_gru_next(&s, h);
    }
}

static void many_gru_reset(const struct many *m, bool own_chain)
{
    const struct rnn *g = m->g;
    size_t hidden = (size_t) g->hidden;
    struct kern_block b =
        many_block(g->weights[0].rn, own_chain ? g->weights[0].bias_rn : NULL, hidden, hidden);
    if (own_chain)
        many_product(m, b, m->tmp, hidden, m->h);
    for (unsigned i = 0; i < m->n; i++)
        for (int64_t s = 0; s < g->batch; s++) {
            struct rnn_step ctx = many_ctx(m, i, s);
            gates_gru_reset(&ctx, (float *) m->e[i]->scratch + m->h + s * g->hidden);
        }
    b.more = true;
    if (!own_chain)
        many_product(m, b, 2 * hidden, (size_t) g->n, m->tmp);
}

static void cell_run_many(const struct eval *e, unsigned n)
{
    const struct rnn *g = e->args;
    struct many m = { .g = g };
    if (g->seq[0].hidden || g->small.hidden) {
        (g->small.hidden ? rnn_small_eval_many : rnn_seq_eval_many)(e, n);
        return;
    }
    many_begin(&m, e, n);
    many_inputs(&m);
    struct kern_block b =
        many_block(g->weights[0].r, NULL, (size_t) rnn_gates_joint(g), (size_t) g->hidden);
    b.more = true;
    many_product(&m, b, 0, (size_t) g->n, m.h);
    if (g->cell == CELL_GRU)
        many_gru_reset(&m, ((const struct rnn_attr *) e->attr)->linear_before_reset);
    for (unsigned i = 0; i < m.n; i++) {
        const struct eval *at = m.e[i];
        float *h = (float *) at->scratch + m.h;
        many_gates(&m, i);
        rnn_states_store(g, h, 0, at->y[0]);
        rnn_states_store(g, h, 0, at->n_out > 1 ? at->y[1] : NULL);
        rnn_states_store(g, h - m.h + m.cell, 0, at->n_out > 2 ? at->y[2] : NULL);
    }
}

static void cell_eval_many(const struct eval *e, unsigned n)
{
    const struct rnn *g = e->args;
    cell_run_many(e, n);
    for (unsigned i = 0; i < n; i++)
        epilogue_rows(&g->epilogue, &e[i], e[i].n_out ? e[i].y[0] : NULL);
}

#define CELL(stem, number, text, spec, hi, outs, words)                                            \
    static rill_status stem##_infer(struct infer *c)                                               \
    {                                                                                              \
        return cell_infer(c, CELL_##number);                                                       \
    }                                                                                              \
    static rill_status stem##_prepare(struct prep *c)                                              \
    {                                                                                              \
        return cell_prepare(c, CELL_##number);                                                     \
    }                                                                                              \
    static const struct op op_##stem = { .id = OP_##number,                                        \
                                         .name = text,                                             \
                                         .attrs = spec,                                            \
                                         .attr_bytes = sizeof(struct rnn_attr),                    \
                                         .min_in = 3,                                              \
                                         .max_in = hi,                                             \
                                         .own_in = N_RNN_OWN + EPILOGUE_IN_MAX,                    \
                                         .epilogue_in = hi + N_RNN_OWN,                            \
                                         .epilogue_at = offsetof(struct rnn_attr, epilogue),       \
                                         .epilogue_axis = -1,                                      \
                                         .min_out = 0,                                             \
                                         .max_out = outs,                                          \
                                         .infer = stem##_infer,                                    \
                                         .prepare = stem##_prepare,                                \
                                         .eval = cell_eval,                                        \
                                         .eval_many = cell_eval_many,                              \
                                         .checked = IN_LENS,                                       \
                                         .help = words }

CELL(gru, GRU, "GRU", gru_attrs, 6, 2, "gated recurrent unit over a sequence");
CELL(lstm, LSTM, "LSTM", lstm_attrs, 8, 3, "long short-term memory over a sequence");
CELL(rnn, RNN, "RNN", rnn_attrs, 6, 2, "plain recurrence over a sequence");

const struct op *const ops_rnn[] = { &op_gru, &op_lstm, &op_rnn, NULL };
