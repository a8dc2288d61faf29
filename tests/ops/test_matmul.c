/* SPDX-License-Identifier: MIT */
/* MatMul and Gemm against sums in double, with the second operand known before and at run time. */
#include "tests/ops/epilogue_test.h"

static uint32_t seed = 1;

static uint32_t next(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static const struct tensor *random_tensor(struct ops_test *t, enum dtype type, int rank,
                                          const int64_t *dim)
{
    struct tensor *x = ops_tensor(t, type, rank, dim, NULL);
    bool whole = dtype_is_int(type);
    for (int64_t i = 0; i < tensor_count(x); i++)
        tensor_set_f64(x, x->data, i, whole ? (double) next(100) : (double) next(2001) / 1000 - 1);
    return x;
}

/* ---- MatMul ---- */

struct product {
    enum dtype type;
    int ra, rb;
    int64_t a[5], b[5];
    int ry;
    int64_t y[6];
};

static const struct product products[] = {
    { DTYPE_F32, 1, 1, { 5 }, { 5 }, 0, { 0 } },
    { DTYPE_F32, 2, 1, { 3, 5 }, { 5 }, 1, { 3 } },
    { DTYPE_F32, 1, 2, { 5 }, { 5, 4 }, 1, { 4 } },
    { DTYPE_F32, 1, 3, { 5 }, { 2, 5, 4 }, 2, { 2, 4 } },
    { DTYPE_F32, 3, 1, { 2, 3, 5 }, { 5 }, 2, { 2, 3 } },
    { DTYPE_F32, 2, 2, { 1, 257 }, { 257, 512 }, 2, { 1, 512 } },
    { DTYPE_F32, 2, 2, { 7, 33 }, { 33, 17 }, 2, { 7, 17 } },
    { DTYPE_F32, 3, 2, { 4, 3, 16 }, { 16, 48 }, 3, { 4, 3, 48 } },
    { DTYPE_F32, 2, 3, { 3, 16 }, { 4, 16, 5 }, 3, { 4, 3, 5 } },
    { DTYPE_F32, 4, 4, { 2, 1, 3, 4 }, { 1, 3, 4, 5 }, 4, { 2, 3, 3, 5 } },
    { DTYPE_F32, 3, 5, { 3, 2, 4 }, { 2, 2, 1, 4, 3 }, 5, { 2, 2, 3, 2, 3 } },
    { DTYPE_F32, 2, 2, { 40, 9 }, { 9, 37 }, 2, { 40, 37 } },
    { DTYPE_F32, 3, 3, { 2, 5, 9 }, { 2, 9, 50 }, 3, { 2, 5, 50 } },
    { DTYPE_F32, 3, 3, { 3, 19, 9 }, { 1, 9, 1 }, 3, { 3, 19, 1 } },
    { DTYPE_F32, 2, 3, { 19, 9 }, { 3, 9, 1 }, 3, { 3, 19, 1 } },
    { DTYPE_F32, 2, 2, { 3, 0 }, { 0, 4 }, 2, { 3, 4 } },
    { DTYPE_F32, 2, 2, { 0, 3 }, { 3, 4 }, 2, { 0, 4 } },
    { DTYPE_F32, 2, 2, { 2, 3 }, { 3, 0 }, 2, { 2, 0 } },
    { DTYPE_F32, 3, 3, { 0, 2, 3 }, { 1, 3, 4 }, 3, { 0, 2, 4 } },
    { DTYPE_F64, 3, 2, { 2, 3, 4 }, { 4, 5 }, 3, { 2, 3, 5 } },
    { DTYPE_I32, 2, 2, { 3, 4 }, { 4, 5 }, 2, { 3, 5 } },
    { DTYPE_U32, 2, 2, { 3, 4 }, { 4, 5 }, 2, { 3, 5 } },
    { DTYPE_I64, 3, 3, { 2, 3, 4 }, { 2, 4, 5 }, 3, { 2, 3, 5 } },
    { DTYPE_U64, 1, 2, { 4 }, { 4, 5 }, 1, { 5 } },
};

/* Matrix of an operand that belongs to matrix `i` of the result; batch axes count from the
 * right. */
static int64_t batch_of(int64_t i, const int64_t *to, int n_to, const int64_t *from, int n_from)
{
    int64_t at = 0, step = 1;
    for (int k = n_to; k-- > 0; i /= to[k]) {
        int own = k - (n_to - n_from);
        if (own < 0)
            continue;
        at += from[own] == 1 ? 0 : i % to[k] * step;
        step *= from[own];
    }
    return at;
}

static double *product_expected(struct ops_test *t, const struct product *p, const struct tensor *a,
                                const struct tensor *b)
{
    int64_t m = p->ra > 1 ? p->a[p->ra - 2] : 1, k = p->a[p->ra - 1],
            n = p->rb > 1 ? p->b[p->rb - 1] : 1, batches = 1;
    int n_batch = p->ry - (p->ra > 1) - (p->rb > 1);
    for (int i = 0; i < n_batch; i++)
        batches *= p->y[i];
    double *y = arena_alloc(&t->arena, (size_t) (batches * m * n) * sizeof *y + 1);
    for (int64_t at = 0; at < batches * m * n; at++) {
        int64_t i = at / (m * n), row = at / n % m, col = at % n;
        int64_t ia = batch_of(i, p->y, n_batch, p->a, p->ra > 2 ? p->ra - 2 : 0);
        int64_t ib = batch_of(i, p->y, n_batch, p->b, p->rb > 2 ? p->rb - 2 : 0);
        for (int64_t l = 0; l < k; l++)
            y[at] += tensor_get_f64(a, a->data, (ia * m + row) * k + l) *
                tensor_get_f64(b, b->data, (ib * k + l) * n + col);
    }
    return y;
}

static void product_check(struct ops_test *t, const struct product *p)
{
    char what[80];
    const struct tensor *in[] = { random_tensor(t, p->type, p->ra, p->a),
                                  random_tensor(t, p->type, p->rb, p->b) };
    const struct tensor *first = NULL;
    snprintf(what, sizeof what, "MatMul case %d", (int) (p - products));
    t->what = what;
    for (t->runtime = 1; t->runtime <= 3; t->runtime++) {
        if (!ops_run(t, "MatMul", NULL, 0, in, 2, 1) || !ops_shape_is(t, 0, p->type, p->ry, p->y))
            return;
        ops_same(t, 0, product_expected(t, p, in[0], in[1]), p->type == DTYPE_F32 ? 2e-6 : 1e-12);
        if (first)
            ops_check(t, !memcmp(first->data, t->out[0]->data, tensor_bytes(first)),
                      "known or not, other bits");
        first = t->out[0];
    }
}

/* Each row of a product has the bits it has alone. */
static void rows_check(struct ops_test *t)
{
    const struct tensor *b = random_tensor(t, DTYPE_F32, 2, I64S(67, 35));
    struct tensor all = *random_tensor(t, DTYPE_F32, 2, I64S(11, 67));
    t->what = "rows";
    t->runtime = 1;
    if (!ops_run(t, "MatMul", NULL, 0, IN(&all, b), 1))
        return;
    const float *y = t->out[0]->data;
    for (int64_t i = 0; i < 11; i++) {
        const struct tensor *row = ops_f32(t, 1, I64S(67), (const float *) all.data + i * 67);
        if (ops_run(t, "MatMul", NULL, 0, IN(row, b), 1))
            ops_check(t, !memcmp(t->out[0]->data, y + i * 35, 35 * sizeof *y),
                      "row %d has other bits alone", (int) i);
    }
}

/* ---- Gemm ---- */

struct gemm {
    int64_t m, n, k, ta, tb;
    float alpha, beta;
    int bias_rank;
    int64_t bias[2];
    enum dtype type;
};

static const struct gemm gemms[] = {
    { 3, 5, 4, 0, 0, 1, 1, -1, { 0 }, DTYPE_F32 },
    { 3, 5, 4, 0, 1, 1, 1, 1, { 5 }, DTYPE_F32 },
    { 1, 512, 128, 0, 1, 1, 1, 1, { 512 }, DTYPE_F32 },
    { 3, 5, 4, 1, 0, 0.5f, 2, 2, { 3, 5 }, DTYPE_F32 },
    { 3, 5, 4, 1, 1, 2, 0.5f, 2, { 3, 1 }, DTYPE_F32 },
    { 3, 5, 4, 0, 0, 1, 1, 2, { 1, 5 }, DTYPE_F32 },
    { 3, 5, 4, 0, 0, 1, 3, 0, { 0 }, DTYPE_F32 },
    { 3, 5, 4, 0, 1, 1, 1, 1, { 1 }, DTYPE_F32 },
    { 3, 5, 4, 0, 1, 1, 0, 1, { 5 }, DTYPE_F32 },
    { 3, 5, 4, 0, 1, 0, 1, 1, { 5 }, DTYPE_F32 },
    { 3, 1, 4, 0, 0, 1, 1, 1, { 1 }, DTYPE_F32 },
    { 3, 5, 0, 0, 0, 1, 1, 1, { 5 }, DTYPE_F32 },
    { 0, 5, 4, 1, 0, 1, 1, 1, { 5 }, DTYPE_F32 },
    { 19, 33, 17, 1, 1, -1.5f, 1, 1, { 33 }, DTYPE_F32 },
    { 3, 5, 4, 1, 0, 0.5f, 2, 2, { 3, 5 }, DTYPE_F64 },
};

static double *gemm_expected(struct ops_test *t, const struct gemm *g,
                             const struct tensor *const *in)
{
    double *y = arena_alloc(&t->arena, (size_t) (g->m * g->n) * sizeof *y + 1);
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double s = 0, c = 0;
            for (int64_t l = 0; l < g->k; l++)
                s += tensor_get_f64(in[0], in[0]->data, g->ta ? l * g->m + i : i * g->k + l) *
                    tensor_get_f64(in[1], in[1]->data, g->tb ? j * g->k + l : l * g->n + j);
            if (in[2]) {
                int64_t cols = g->bias_rank ? g->bias[g->bias_rank - 1] : 1;
                int64_t row = g->bias_rank == 2 && g->bias[0] > 1 ? i : 0;
                c = tensor_get_f64(in[2], in[2]->data, row * cols + (cols > 1 ? j : 0));
            }
            y[i * g->n + j] = (double) g->alpha * s + (double) g->beta * c;
        }
    return y;
}

static void gemm_check(struct ops_test *t, const struct gemm *g)
{
    char what[80];
    int64_t a[2] = { g->ta ? g->k : g->m, g->ta ? g->m : g->k },
            b[2] = { g->tb ? g->n : g->k, g->tb ? g->k : g->n };
    const struct tensor *in[3] = { random_tensor(t, g->type, 2, a), random_tensor(t, g->type, 2, b),
                                   g->bias_rank < 0
                                       ? NULL
                                       : random_tensor(t, g->type, g->bias_rank, g->bias) };
    struct attr attrs[] = { ONE_FLOAT("alpha", g->alpha), ONE_FLOAT("beta", g->beta),
                            ONE_INT("transA", g->ta), ONE_INT("transB", g->tb) };
    const struct tensor *first = NULL;
    snprintf(what, sizeof what, "Gemm case %d", (int) (g - gemms));
    t->what = what;
    for (t->runtime = 1; t->runtime <= 7; t->runtime = t->runtime * 2 + 1) {
        if (!ops_run(t, "Gemm", attrs, 4, in, 3, 1) ||
            !ops_shape_is(t, 0, g->type, 2, I64S(g->m, g->n)))
            return;
        ops_same(t, 0, gemm_expected(t, g, in), g->type == DTYPE_F32 ? 2e-6 : 1e-7);
        if (first)
            ops_check(t, !memcmp(first->data, t->out[0]->data, tensor_bytes(first)),
                      "inputs known at run time only (mask %u) give other bits", t->runtime);
        first = t->out[0];
    }
}

/* ---- epilogues ---- */

static void epilogue_of(struct ops_test *t, const char *op, const struct tensor *a,
                        const struct tensor *b)
{
    const struct tensor *in[EPILOGUE_TEST_IN] = { a, b };
    struct attr attrs[1];
    t->what = "epilogue";
    t->runtime = 1;
    epilogue_check(t, &seed, op, attrs, 0, in, 2);
}

static void epilogues_check(struct ops_test *t)
{
    for (int i = 0; i < 40; i++) {
        int64_t m = 1 + next(9), k = 1 + next(20), n = 1 + next(40);
        const struct tensor *b = random_tensor(t, DTYPE_F32, 2, (int64_t[]) { k, n });
        epilogue_of(t, "MatMul", random_tensor(t, DTYPE_F32, 3, (int64_t[]) { 2, m, k }), b);
        epilogue_of(t, "MatMul", random_tensor(t, DTYPE_F32, 1, (int64_t[]) { k }), b);
        epilogue_of(t, "Gemm", random_tensor(t, DTYPE_F32, 2, (int64_t[]) { m, k }), b);
    }
}

static void refusals(struct ops_test *t)
{
    const struct tensor *a = random_tensor(t, DTYPE_F32, 2, I64S(3, 4));
    const struct tensor *b = random_tensor(t, DTYPE_F32, 2, I64S(5, 6));
    const struct tensor *w = random_tensor(t, DTYPE_F32, 2, I64S(4, 6));
    const struct tensor *d = random_tensor(t, DTYPE_F64, 2, I64S(4, 6));
    const struct tensor *s = random_tensor(t, DTYPE_F32, 0, NULL);
    const struct tensor *h = random_tensor(t, DTYPE_I8, 2, I64S(4, 4));
    const struct tensor *p = random_tensor(t, DTYPE_F32, 3, I64S(2, 3, 4));
    const struct tensor *q = random_tensor(t, DTYPE_F32, 3, I64S(3, 4, 5));
    const struct tensor *bias = random_tensor(t, DTYPE_F32, 1, I64S(5));
    t->what = "refusals";
    t->runtime = 1;
    ops_refused(t, "MatMul", NULL, 0, IN(a, b), 1, "inner sizes are 4 and 5");
    ops_refused(t, "MatMul", NULL, 0, IN(a, d), 1, "f64");
    ops_refused(t, "MatMul", NULL, 0, IN(h, h), 1, "i8");
    ops_refused(t, "MatMul", NULL, 0, IN(a, s), 1, "rank");
    ops_refused(t, "MatMul", NULL, 0, IN(p, q), 1, "broadcast");
    ops_refused(t, "Gemm", NULL, 0, IN(a, b), 1, "inner sizes are 4 and 5");
    ops_refused(t, "Gemm", NULL, 0, IN(p, w), 1, "matrices");
    ops_refused(t, "Gemm", NULL, 0, IN(a, w, bias), 1, "bias");
    ops_refused(t, "Gemm", NULL, 0, IN(a, w, d), 1, "bias");
}

/* Epilogues are of f32 only: on any other product they are refused, never passed over. */
static void epilogues_refused(struct ops_test *t)
{
    static const enum dtype types[] = { DTYPE_F64, DTYPE_I32, DTYPE_U32, DTYPE_I64, DTYPE_U64 };
    const int64_t relu[FUSED_STEP_INTS] = { KERN_RELU };
    const struct attr epilogue = { .name = EPILOGUE_ATTR,
                                   .kind = ATTR_INTS,
                                   .ints = { FUSED_STEP_INTS, relu } };
    t->what = "epilogues of other types";
    t->runtime = 1;
    t->made = true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct tensor *a = random_tensor(t, types[i], 2, (int64_t[]) { 3, 4 });
        const struct tensor *w = random_tensor(t, types[i], 2, (int64_t[]) { 4, 6 });
        ops_refused(t, "MatMul", &epilogue, 1, (const struct tensor *[]) { a, w }, 2, 1, "f32");
        if (types[i] == DTYPE_F64)
            ops_refused(t, "Gemm", &epilogue, 1, (const struct tensor *[]) { a, w }, 2, 1, "f32");
    }
    t->made = false;
}

int main(int argc, char **argv)
{
    struct ops_test t = ops_begin();
    seed = argc > 1 ? (uint32_t) strtoul(argv[1], NULL, 0) : 1;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        product_check(&t, &products[i]);
    for (size_t i = 0; i < sizeof gemms / sizeof *gemms; i++)
        gemm_check(&t, &gemms[i]);
    rows_check(&t);
    epilogues_check(&t);
    refusals(&t);
    epilogues_refused(&t);
    return ops_end(&t);
}
