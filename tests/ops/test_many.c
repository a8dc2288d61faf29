/* SPDX-License-Identifier: MIT */
/* eval_many gives each evaluation the bits of its own eval, between guards. */
#include "tests/ops/ops_test.h"

static uint32_t seed = 5;

static void numbers_fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float) (int32_t) seed / 4294967296.0f;
    }
}

static const struct tensor *numbers(struct ops_test *t, int rank, const int64_t *dim)
{
    struct tensor *x = tensor_new(&t->arena, DTYPE_F32, rank, dim);
    numbers_fill(x->data, (size_t) tensor_count(x));
    return x;
}

/* One evaluation with its own memory. */
struct one {
    const void *x[OPS_INPUTS_MAX];
    void *y[OPS_OUTPUTS_MAX], *want[OPS_OUTPUTS_MAX], *scratch;
};

static void one_make(struct ops_test *t, const struct ops_state *s, const struct prep *p,
                     struct one *o)
{
    const struct node *n = s->node;
    for (unsigned i = 0; i < n->n_in; i++) {
        bool floats = s->in[i] && s->in[i]->type == DTYPE_F32;
        o->x[i] = s->in[i] ? s->in[i]->data : NULL;
        if (!s->in[i] || o->x[i])
            continue;
        void *x = ops_guarded(t, tensor_bytes(s->in[i]));
        if (floats)
            numbers_fill(x, (size_t) tensor_count(s->in[i]));
        else if (s->in[i]->type == DTYPE_U8)
            for (int64_t k = 0; k < tensor_count(s->in[i]); k++)
                ((uint8_t *) x)[k] = (uint8_t) ((seed = seed * 1664525u + 1013904223u) >> 24);
        else /* how many steps to skip: every third evaluation does */
            *(int64_t *) x = seed++ % 3 == 0;
        o->x[i] = x;
    }
    for (unsigned i = 0; i < n->n_out; i++) {
        o->y[i] = ops_guarded(t, tensor_bytes(s->out[i]));
        o->want[i] = ops_guarded(t, tensor_bytes(s->out[i]));
    }
    o->scratch = ops_guarded(t, p->scratch_bytes);
}

static bool one_same(const struct ops_state *s, const struct prep *p, const struct one *o)
{
    bool same = ops_guard_intact(o->scratch, p->scratch_bytes);
    for (unsigned i = 0; i < s->node->n_out; i++) {
        size_t bytes = tensor_bytes(s->out[i]);
        same &= ops_guard_intact(o->y[i], bytes) && !memcmp(o->y[i], o->want[i], bytes);
    }
    return same;
}

static void many_run(struct ops_test *t, const struct ops_state *s, const struct prep *p,
                     unsigned n)
{
    struct one one[OP_MANY_MAX] = { 0 };
    struct eval e[OP_MANY_MAX] = { 0 };
    for (unsigned i = 0; i < n; i++) {
        one_make(t, s, p, &one[i]);
        e[i] = (struct eval) { .node = s->node,
                               .attr = s->node->attr,
                               .kern = &t->kern,
                               .n_in = s->node->n_in,
                               .n_out = s->node->n_out,
                               .in = s->in,
                               .out = s->out,
                               .x = one[i].x,
                               .y = one[i].want,
                               .scratch = one[i].scratch,
                               .args = p->args,
                               .fault = &t->fault };
        s->node->op->eval(&e[i]);
        memset(one[i].scratch, 0xff, p->scratch_bytes);
        e[i].y = one[i].y;
    }
    s->node->op->eval_many(e, n);
    for (unsigned i = 0; i < n; i++)
        ops_check(t, one_same(s, p, &one[i]), "evaluation %u of %u differs", i, n);
}

/* Inputs whose bit is set in `own` differ from evaluation to evaluation. */
static void many_check(struct ops_test *t, const char *what, const char *name,
                       const struct attr *attrs, unsigned n_attrs, const struct tensor *const *in,
                       unsigned n_in, unsigned n_out, uint32_t own)
{
    struct ops_state *s = arena_new(&t->arena, struct ops_state);
    t->what = what;
    t->runtime = own;
    if (ops_build(t, s, name, attrs, n_attrs, in, n_in, n_out) != RILL_OK) {
        ops_check(t, false, "%s", t->err.text);
        return;
    }
    struct prep p = ops_prep(t, s);
    if (!ops_check(t, s->node->op->prepare(&p) == RILL_OK && p.many, "does not run together: %s",
                   t->err.text))
        return;
    for (unsigned n = 1; n <= OP_MANY_MAX; n += n < 4 ? 1 : 14)
        many_run(t, s, &p, n);
    many_run(t, s, &p, OP_MANY_MAX);
}

static void products(struct ops_test *t)
{
    const struct tensor *w = numbers(t, 2, I64S(260, 70)), *x[3] = { NULL, w, NULL };
    for (int64_t m = 1; m <= 5; m += 2) {
        x[0] = numbers(t, 2, I64S(m, 260));
        many_check(t, "MatMul", "MatMul", NULL, 0, x, 2, 1, 1);
        x[2] = numbers(t, 1, I64S(70));
        many_check(t, "Gemm", "Gemm", NULL, 0, x, 3, 1, 1);
        many_check(t, "Gemm, own bias", "Gemm", NULL, 0, x, 3, 1, 5);
        const struct attr scale[] = { ONE_FLOAT("alpha", 0.5f), ONE_FLOAT("beta", 3) };
        many_check(t, "Gemm, scaled", "Gemm", scale, 2, x, 3, 1, 1);
    }
}

static void narrow_products(struct ops_test *t)
{
    const struct tensor *x[5] = { NULL, tensor_new(&t->arena, DTYPE_I8, 2, I64S(260, 70)),
                                  numbers(t, 2, I64S(9, 70)), NULL, numbers(t, 1, I64S(70)) };
    const struct attr blocks = ONE_INT("block_size", 32);
    for (int64_t i = 0; i < 260 * 70; i++)
        ((int8_t *) x[1]->data)[i] = (int8_t) (i * 37);
    t->made = true;
    for (int64_t m = 1; m <= 5; m += 2) {
        x[0] = numbers(t, 2, I64S(m, 260));
        many_check(t, "MatMulNarrow", "MatMulNarrow", &blocks, 1, x, 3, 1, 1);
        many_check(t, "MatMulNarrow, own bias", "MatMulNarrow", &blocks, 1, x, 5, 1, 17);
    }
    t->made = false;
}

static void convolutions(struct ops_test *t)
{
    const struct tensor *x[3] = { NULL, numbers(t, 3, I64S(70, 96, 3)), numbers(t, 1, I64S(70)) };
    for (int64_t places = 1; places <= 3; places++) {
        x[0] = numbers(t, 3, I64S(1, 96, places + 2));
        many_check(t, "Conv", "Conv", NULL, 0, x, 3, 1, 1);
        many_check(t, "Conv without bias", "Conv", NULL, 0, x, 2, 1, 1);
    }
    x[0] = numbers(t, 3, I64S(1, 96, 2));
    const struct attr pads[] = { INTS_OF("pads", 2, I64S(1, 1)) };
    many_check(t, "Conv with pads", "Conv", pads, 1, x, 3, 1, 1);
}

/* Of 8 bits: each evaluation has a zero of its own. */
static void whole_numbers(struct ops_test *t)
{
    struct tensor *w = tensor_new(&t->arena, DTYPE_I8, 2, I64S(260, 70)),
                  *c = tensor_new(&t->arena, DTYPE_I8, 3, I64S(70, 96, 3)),
                  *wz = tensor_new(&t->arena, DTYPE_I8, 1, I64S(70));
    numbers_fill(w->data, 260 * 70 / 4);
    numbers_fill(c->data, 70 * 96 * 3 / 4);
    numbers_fill(wz->data, 70 / 4);
    const struct tensor *in[4] = { NULL, w, tensor_new(&t->arena, DTYPE_U8, 0, NULL), wz };
    for (int64_t m = 1; m <= 5; m += 2) {
        in[0] = tensor_new(&t->arena, DTYPE_U8, 2, I64S(m, 260));
        many_check(t, "MatMulInteger", "MatMulInteger", NULL, 0, in, 4, 1, 5);
    }
    in[1] = c;
    for (int64_t places = 1; places <= 5; places++) {
        in[0] = tensor_new(&t->arena, DTYPE_U8, 3, I64S(1, 96, places + 2));
        many_check(t, "ConvInteger", "ConvInteger", NULL, 0, in, 4, 1, 5);
    }
}

static void cells(struct ops_test *t)
{
    static const struct {
        const char *name;
        int64_t gates;
        unsigned n_in, n_out;
    } cell[] = { { "RNN", 1, 6, 2 }, { "GRU", 3, 6, 2 }, { "LSTM", 4, 8, 3 } };
    for (int i = 0; i < 9; i++) {
        int c = i % 3;
        int64_t h = 65, g = cell[c].gates, batch = 1 + i / 3;
        const struct tensor *x[9] = { numbers(t, 3, I64S(1, batch, 200)),
                                      numbers(t, 3, I64S(1, g * h, 200)),
                                      numbers(t, 3, I64S(1, g * h, h)),
                                      numbers(t, 2, I64S(1, 2 * g * h)),
                                      NULL,
                                      numbers(t, 3, I64S(1, batch, h)) };
        struct attr a[3] = { ONE_INT("hidden_size", h) };
        unsigned n_attrs = 1;
        uint32_t own = 1 | 1 << 5;
        if (c == 2) {
            x[6] = x[5];
            x[7] = i > 2 ? numbers(t, 2, I64S(1, 3 * h)) : NULL;
            own |= 1 << 6;
        }
        if (c == 1)
            a[n_attrs++] = (struct attr) ONE_INT("linear_before_reset", i / 3 % 2);
        if (i > 5)
            a[n_attrs++] = (struct attr) ONE_FLOAT("clip", 0.3f);
        many_check(t, cell[c].name, cell[c].name, a, n_attrs, x, cell[c].n_in, cell[c].n_out, own);
        t->made = true; /* with a skipped step now and then */
        x[cell[c].n_in] = ops_tensor(t, DTYPE_I64, 0, NULL, NULL);
        many_check(t, cell[c].name, cell[c].name, a, n_attrs, x, cell[c].n_in + 1, cell[c].n_out,
                   own | 1u << cell[c].n_in);
        t->made = false;
    }
}

/* Many steps of few units: rows of all evaluations share vectors. */
static void small_cells(struct ops_test *t)
{
    static const struct {
        const char *name;
        int64_t gates;
        unsigned n_in, n_out;
    } cell[] = { { "RNN", 1, 6, 2 }, { "GRU", 3, 6, 2 }, { "LSTM", 4, 8, 3 } };
    for (int i = 0; i < 12; i++) {
        const int c = i % 3, both = i / 3 % 2;
        const int64_t h = i < 6 ? 4 : 7, g = cell[c].gates, d = 1 + both, batch = i < 3 ? 2 : 1;
        const struct tensor *x[9] = { numbers(t, 3, I64S(17, batch, 5)),
                                      numbers(t, 3, I64S(d, g * h, 5)),
                                      numbers(t, 3, I64S(d, g * h, h)),
                                      numbers(t, 2, I64S(d, 2 * g * h)),
                                      NULL,
                                      numbers(t, 3, I64S(d, batch, h)) };
        const struct attr a[] = { ONE_INT("hidden_size", h),
                                  ONE_TEXT("direction", both ? "bidirectional" : "forward") };
        uint32_t own = 1 | 1 << 5;
        if (c == 2) {
            x[6] = x[5];
            own |= 1 << 6;
        }
        many_check(t, cell[c].name, cell[c].name, a, 2, x, cell[c].n_in, cell[c].n_out, own);
        if (both)
            continue;
        t->made = true; /* with a skipped step now and then */
        x[cell[c].n_in] = ops_tensor(t, DTYPE_I64, 0, NULL, NULL);
        many_check(t, cell[c].name, cell[c].name, a, 2, x, cell[c].n_in + 1, cell[c].n_out,
                   own | 1u << cell[c].n_in);
        t->made = false;
    }
}

/* States and inputs of each evaluation have ranges, and so scales and zeros, of their own. */
static void cell_of_bytes(struct ops_test *t)
{
    const int64_t n = 70, h = 48;
    struct tensor *w = tensor_new(&t->arena, DTYPE_I8, 3, I64S(1, n, 4 * h)),
                  *r = tensor_new(&t->arena, DTYPE_U8, 3, I64S(1, h, 4 * h)),
                  *zero = tensor_new(&t->arena, DTYPE_U8, 1, I64S(1));
    numbers_fill(w->data, (size_t) (n * h));
    numbers_fill(r->data, (size_t) (h * h));
    for (int64_t batch = 1; batch <= 3; batch += 2) {
        const struct tensor *in[] = { numbers(t, 3, I64S(1, batch, n)),
                                      w,
                                      r,
                                      numbers(t, 2, I64S(1, 8 * h)),
                                      NULL,
                                      numbers(t, 3, I64S(1, batch, h)),
                                      numbers(t, 3, I64S(1, batch, h)),
                                      NULL,
                                      numbers(t, 2, I64S(1, 4 * h)),
                                      NULL,
                                      numbers(t, 1, I64S(1)),
                                      zero };
        many_check(t, "DynamicQuantizeLSTM", "DynamicQuantizeLSTM", NULL, 0, in, 12, 3, 0x61);
    }
}

int main(void)
{
    struct ops_test t = ops_begin();
    products(&t);
    narrow_products(&t);
    convolutions(&t);
    whole_numbers(&t);
    cell_of_bytes(&t);
    cells(&t);
    small_cells(&t);
    return ops_end(&t);
}
