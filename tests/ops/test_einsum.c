/* SPDX-License-Identifier: MIT */
/* Einsum against loops over all labels: the same bits, whether it runs as a product or as plain
 * sums. */
#include "tests/ops/ops_test.h"

static const struct einsum_case {
    const char *equation;
    int64_t size[26];   /* of labels a.. */
    const char *kernel; /* with input 1 known; NULL: any */
} cases[] = {
    { "bad,dah->bah", { 3, 2, 0, 5, 0, 0, 0, 17 }, NULL },
    { "btgi,gih->btgh",
      { 0, 2, 0, 0, 0, 0, 4, 9, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3 },
      "gemm_f32" },
    { "btgi,gih->btgh",
      { 0, 1, 0, 0, 0, 0, 16, 33, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 },
      "gemm_each_f32" },
    { "ij,jk->ik", { 0, 0, 0, 0, 0, 0, 0, 0, 7, 40, 19 }, "gemm_f32" },
    { "ij,kj->ik", { 0, 0, 0, 0, 0, 0, 0, 0, 7, 40, 19 }, "gemm_f32" },
    { "ji,jk->ki", { 0, 0, 0, 0, 0, 0, 0, 0, 7, 40, 19 }, "einsum" },
    { "ij,jk->ij", { 0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 5 }, "einsum" },
    { "i,i->", { 0, 0, 0, 0, 0, 0, 0, 0, 100 }, "einsum" },
    { "ij,ij->ji", { 0, 0, 0, 0, 0, 0, 0, 0, 3, 4 }, "einsum" },
    { "ii,i->i", { 0, 0, 0, 0, 0, 0, 0, 0, 6 }, "einsum" },
};

struct label_loop {
    const struct einsum_case *c;
    char order[27];
    int64_t at[26];
};

/* The term's offset for the current place of every label. */
static int64_t offset(const struct label_loop *l, const char *term, size_t n)
{
    int64_t at = 0;
    for (size_t i = 0; i < n; i++)
        at = at * l->c->size[term[i] - 'a'] + l->at[term[i] - 'a'];
    return at;
}

static bool advance(struct label_loop *l)
{
    for (size_t i = strlen(l->order); i-- > 0;) {
        int k = l->order[i] - 'a';
        if (++l->at[k] < l->c->size[k])
            return true;
        l->at[k] = 0;
    }
    return false;
}

static int64_t term_shape(const struct einsum_case *c, const char *term, size_t n, int64_t *dim)
{
    int64_t count = 1;
    for (size_t i = 0; i < n; i++)
        count *= dim[i] = c->size[term[i] - 'a'];
    return count;
}

static void reference(const struct einsum_case *c, const char *terms[3], const size_t n[3],
                      const float *a, const float *b, float *y)
{
    struct label_loop l = { .c = c };
    for (int t = 2; t < 5; t++) /* labels of the output, then of the inputs */
        for (size_t i = 0; i < n[t % 3]; i++)
            if (!strchr(l.order, terms[t % 3][i]))
                l.order[strlen(l.order)] = terms[t % 3][i];
    do {
        float *to = &y[offset(&l, terms[2], n[2])];
        *to = fmaf(a[offset(&l, terms[0], n[0])], b[offset(&l, terms[1], n[1])], *to);
    } while (advance(&l));
}

static float value(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float) (int32_t) *seed / 2147483648.0f;
}

static void run(struct ops_test *t, const struct einsum_case *c, bool known)
{
    const char *comma = strchr(c->equation, ','), *arrow = strstr(c->equation, "->");
    const char *terms[3] = { c->equation, comma + 1, arrow + 2 };
    size_t n[3] = { (size_t) (comma - c->equation), (size_t) (arrow - comma - 1),
                    strlen(arrow + 2) };
    int64_t dim[3][RANK_MAX], count[3];
    float *data[3];
    uint32_t seed = 1;
    for (int i = 0; i < 3; i++) {
        count[i] = term_shape(c, terms[i], n[i], dim[i]);
        data[i] = calloc((size_t) count[i], sizeof(float));
        for (int64_t k = 0; k < count[i] && i < 2; k++)
            data[i][k] = value(&seed);
    }
    reference(c, terms, n, data[0], data[1], data[2]);
    const char *text[] = { c->equation };
    struct attr equation = { .name = "equation", .kind = ATTR_STRINGS, .strings = { 1, text } };
    const struct tensor *in[2] = { ops_f32(t, (int) n[0], dim[0], data[0]),
                                   ops_f32(t, (int) n[1], dim[1], data[1]) };
    t->what = c->equation;
    t->runtime = known ? 1 : 3;
    if (ops_run(t, "Einsum", &equation, 1, in, 2, 1)) {
        ops_check(t, !memcmp(t->out[0]->data, data[2], (size_t) count[2] * sizeof(float)),
                  "other bits than the loops");
        if (known && c->kernel)
            ops_check(t, !strcmp(t->kernel, c->kernel), "kernel is %s, wants %s", t->kernel,
                      c->kernel);
    }
    for (int i = 0; i < 3; i++)
        free(data[i]);
}

static void refused(struct ops_test *t, const char *equation, const char *words)
{
    const char *text[] = { equation };
    struct attr a = { .name = "equation", .kind = ATTR_STRINGS, .strings = { 1, text } };
    const struct tensor *x = ops_f32(t, 2, I64S(2, 3), NULL);
    t->what = equation;
    ops_refused(t, "Einsum", &a, 1, IN(x, x), 1, words);
}

int main(void)
{
    struct ops_test t = ops_begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run(&t, &cases[i], true);
        run(&t, &cases[i], false);
    }
    refused(&t, "ij,jk->ik", "one label has sizes 3 and 2");
    refused(&t, "ij,ij->iz", "does not fit");
    refused(&t, "ij,ij->ii", "does not fit");
    refused(&t, "ij", "does not fit");
    refused(&t, "ijk,ij->i", "does not fit");
    refused(&t, "i...j...,ij->i", "does not fit");
    refused(&t, "i1,ij->i", "does not fit");
    refused(&t, "", "does not fit");
    return ops_end(&t);
}
