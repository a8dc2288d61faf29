/* SPDX-License-Identifier: MIT */
/* Products of small integers whose zeros and scales are arguments, as tract writes those of its
 * quantised models. Their sums are of 32 bits; what they stand for is text (tract_text.c). */
#include "models/nnef/build.h"

#include <string.h>

/* The integers that a quantised tensor is stored as; another tensor is itself. */
rill_status build_stored(const struct call *c, struct val *ret)
{
    uint32_t w;
    TRY(arg_wire(c, "x", &w));
    *ret = val_of_wire(quant_stored(c->b, w));
    return RILL_OK;
}

/* "mk,kn->mn": which axes of A, B and the result are m, k and n; the others are those of a batch,
 * in order. */
rill_status build_axes(const struct call *c, struct val *ret)
{
    static const char letters[] = "abcdefgh";
    enum { AM, AK, BK, BN, CM, CN, SPEC };
    int64_t at[SPEC];
    char term[3][RANK_MAX + 1];
    unsigned n;
    uint32_t w;
    TRY(arg_wire(c, "A", &w));
    TRY(arg_ints(c, "axes", at, SPEC, &n));
    const int rank = wire_fact(c->s, w)->rank;
    bool fits = n == SPEC && rank <= (int) sizeof letters + 1;
    for (unsigned i = 0; fits && i < SPEC; i++)
        fits = at[i] >= 0 && at[i] < rank && (i % 2 == 0 || at[i] != at[i - 1]);
    if (!fits)
        return call_fail(
            c, RILL_MALFORMED,
            "'%s': axes are those of m and k in A, k and n in B, m and n in the result, "
            "of %d each",
            c->e->text, rank);
    for (int t = 0; t < 3; t++) {
        const char *batch = letters;
        for (int k = 0; k < rank; k++)
            term[t][k] = at[2 * t] == k ? "mkm"[t] : at[2 * t + 1] == k ? "knn"[t] : *batch++;
        term[t][rank] = 0;
    }
    *ret =
        (struct val) { .kind = VAL_TEXT,
                       .text = arena_printf(c->b->arena, "%s,%s->%s", term[0], term[1], term[2]) };
    return ret->text ? RILL_OK : nnef_no_memory(c->b);
}

/* "mk,kn,m,,,n,n,,->mn": letters of the axes of A, B, the bias, then the zero and the scale of
 * each. */
enum { TERM_A, TERM_B, TERM_BIAS, TERM_A0, TERM_B0 = 5, TERMS = 9 };

struct term {
    const char *at; /* NULL: the equation does not go so far */
    int n;
};

struct product {
    struct term term[TERMS], out;
};

static bool product_read(const char *expr, struct product *ret)
{
    const char *arrow = strstr(expr, "->"), *at = expr;
    *ret = (struct product) { .out = { NULL, 0 } };
    for (int i = 0; i < TERMS && arrow && at < arrow; i++) {
        const size_t n = strcspn(at, ",-");
        ret->term[i] = (struct term) { at, (int) n };
        at += n + (at[n] == ',');
    }
    if (!arrow || !ret->term[TERM_B].at || strlen(arrow + 2) >= RANK_MAX)
        return false;
    ret->out = (struct term) { arrow + 2, (int) strlen(arrow + 2) };
    return true;
}

static bool is_one_number(const struct fact *f)
{
    bool one = true;
    for (int k = 0; k < f->rank; k++)
        one = one && dim_is_const(f->shape[k]) && dim_value(f->shape[k]) == 1;
    return one;
}

/* x, whose axes have these letters, with ones in place of the axes of `to` that it does not have;
 * one number is of rank 0. */
static rill_status axes_place(const struct call *c, const char *what, const char *of, struct term x,
                              struct term to, uint32_t *wire)
{
    const struct fact *f = wire_fact(c->s, *wire);
    const struct dim *shape[RANK_MAX];
    uint32_t in[2] = { *wire, 0 };
    int from = 0, rank = is_one_number(f) ? 0 : to.n;
    if (f->rank == 0)
        return RILL_OK;
    for (int k = 0; k < rank; k++) {
        const bool has = x.at && from < x.n && from < f->rank && x.at[from] == to.at[k];
        shape[k] = has ? f->shape[from++] : dim_int(c->b->dims, 1);
    }
    if (rank && from != f->rank)
        return call_fail(c, RILL_UNSUPPORTED,
                         "'%s': %s of rank %d whose axes are not those of the %s, in order; "
                         "letters of an einsum_q say which they are",
                         c->e->text, what, f->rank, of);
    TRY(const_sizes(c->b, c->s->g, shape, (unsigned) rank, &in[1]));
    return call_node(c, "Reshape", NULL, 0, in, 2, wire);
}

/* An operand as integers of 32 bits, less its zero. */
static rill_status operand_read(const struct call *c, const struct product *p, int at,
                                uint32_t *ret)
{
    struct val v;
    uint32_t in[2] = { quant_stored(c->b, *ret), 0 };
    TRY(arg_val(c, at == TERM_A ? "a0" : "b0", &v));
    if (dtype_is_float(wire_fact(c->s, in[0])->type))
        return call_fail(c, RILL_UNSUPPORTED, "'%s': an operand of %s, expected integers",
                         c->e->text, dtype_name(wire_fact(c->s, in[0])->type));
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I32, &in[0]));
    *ret = in[0];
    if (v.kind == VAL_INT && v.i == 0)
        return RILL_OK;
    TRY(val_to_wire(c->b, c->s, c->e->pos, v, DTYPE_I32, &in[1]));
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I32, &in[1]));
    TRY(axes_place(c, "zeros", "operand", p->term[at == TERM_A ? TERM_A0 : TERM_B0], p->term[at],
                   &in[1]));
    return call_node(c, "Sub", NULL, 0, in, 2, ret);
}

rill_status build_sums(const struct call *c, struct val *ret)
{
    struct product p;
    const char *expr, *equation;
    uint32_t *in, bias, y;
    unsigned n;
    TRY(arg_wires(c, "inputs", &in, &n));
    TRY(arg_text(c, "expr", &expr));
    if (n != 2 || !product_read(expr, &p))
        return call_fail(c, RILL_MALFORMED, "'%s': %u operands and '%.60s', expected two",
                         c->e->text, n, expr);
    for (int i = 0; i < 2; i++)
        TRY(operand_read(c, &p, i, &in[i]));
    equation = arena_printf(c->b->arena, "%.*s,%.*s->%s", p.term[TERM_A].n, p.term[TERM_A].at,
                            p.term[TERM_B].n, p.term[TERM_B].at, p.out.at);
    if (!equation)
        return nnef_no_memory(c->b);
    TRY(call_node(c, "Einsum", &(struct attr) ATTR_S("equation", &equation), 1, in, 2, &y));
    TRY(arg_wire(c, "bias", &bias));
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I32, &bias));
    TRY(axes_place(c, "a bias", "result", p.term[TERM_BIAS], p.out, &bias));
    TRY(call_node(c, "Add", NULL, 0, (uint32_t[]) { y, bias }, 2, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* The zero or scale that is term `at` of the equation, along the axes of the sums; where there is
 * no equation the sums are a convolution's, and its numbers lie along the channels. */
rill_status build_placed(const struct call *c, struct val *ret)
{
    struct product p = { .out = { "bcdefghi", 0 } };
    const char *expr;
    uint32_t x, sums;
    int64_t at;
    TRY(arg_val(c, "x", ret));
    if (ret->kind == VAL_INT)
        return RILL_OK;
    TRY(arg_wire(c, "x", &x));
    TRY(arg_wire(c, "sums", &sums));
    TRY(arg_text(c, "expr", &expr));
    TRY(arg_int(c, "at", &at));
    p.out.n = wire_fact(c->s, sums)->rank;
    if (!*expr)
        p.term[at] = (struct term) { "c", 1 };
    else if (!product_read(expr, &p))
        return call_fail(c, RILL_MALFORMED, "'%s': '%.60s'", c->e->text, expr);
    TRY(axes_place(c, "zeros or scales", "result", p.term[at], p.out, &x));
    *ret = val_of_wire(x);
    return RILL_OK;
}
