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

/* An operand as integers of 32 bits, less its zero. */
static rill_status operand_read(const struct call *c, uint32_t x, const char *zero, uint32_t *ret)
{
    struct val v;
    uint32_t in[2] = { quant_stored(c->b, x), 0 };
    TRY(arg_val(c, zero, &v));
    if (dtype_is_float(wire_fact(c->s, in[0])->type))
        return call_fail(c, RILL_UNSUPPORTED, "'%s': an operand of %s, expected integers",
                         c->e->text, dtype_name(wire_fact(c->s, in[0])->type));
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I32, &in[0]));
    *ret = in[0];
    if (v.kind == VAL_INT && v.i == 0)
        return RILL_OK;
    TRY(val_to_wire(c->b, c->s, c->e->pos, v, DTYPE_I32, &in[1]));
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I32, &in[1]));
    const struct fact *f = wire_fact(c->s, in[1]);
    if (f->rank == 1 && dim_is_const(f->shape[0]) && dim_value(f->shape[0]) == 1) {
        const int64_t axis = 0;
        uint32_t pair[2] = { in[1], 0 };
        TRY(const_i64(c->b, c->s->g, &axis, 1, &pair[1]));
        TRY(call_node(c, "Squeeze", NULL, 0, pair, 2, &in[1]));
    }
    if (wire_fact(c->s, in[1])->rank)
        return call_fail(c, RILL_UNSUPPORTED, "'%s': zeros of rank %d, expected one number",
                         c->e->text, wire_fact(c->s, in[1])->rank);
    return call_node(c, "Sub", NULL, 0, in, 2, ret);
}

/* "mk,kn,m,,->mn": its operands are A, B, the bias and one number each. */
struct product {
    int n[3]; /* letters of those */
    const char *at[3], *out;
};

static bool product_read(const char *expr, struct product *ret)
{
    const char *arrow = strstr(expr, "->"), *at = expr;
    *ret = (struct product) { .out = arrow ? arrow + 2 : NULL };
    for (int i = 0; i < 3 && arrow && at < arrow; i++) {
        const size_t n = strcspn(at, ",-");
        ret->at[i] = at;
        ret->n[i] = (int) n;
        at += n + (at[n] == ',');
    }
    return arrow && ret->at[1] && strlen(ret->out) < RANK_MAX;
}

/* The bias with ones in place of axes that it does not have. */
static rill_status bias_place(const struct call *c, const struct product *p, uint32_t *bias)
{
    const struct fact *f = wire_fact(c->s, *bias);
    const unsigned rank = (unsigned) strlen(p->out);
    const struct dim *shape[RANK_MAX];
    int from = 0;
    if (f->rank == 0)
        return RILL_OK;
    for (unsigned k = 0; k < rank; k++) {
        const bool has =
            p->at[2] && from < p->n[2] && from < f->rank && p->at[2][from] == p->out[k];
        shape[k] = has ? f->shape[from++] : dim_int(c->b->dims, 1);
    }
    if (from != f->rank)
        return call_fail(c, RILL_UNSUPPORTED,
                         "'%s': a bias of rank %d whose axes are not those of the result, in order",
                         c->e->text, f->rank);
    uint32_t in[2] = { *bias, 0 };
    TRY(const_sizes(c->b, c->s->g, shape, rank, &in[1]));
    return call_node(c, "Reshape", NULL, 0, in, 2, bias);
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
    TRY(operand_read(c, in[0], "a0", &in[0]));
    TRY(operand_read(c, in[1], "b0", &in[1]));
    equation = arena_printf(c->b->arena, "%.*s,%.*s->%s", p.n[0], p.at[0], p.n[1], p.at[1], p.out);
    if (!equation)
        return nnef_no_memory(c->b);
    TRY(call_node(c, "Einsum", &(struct attr) ATTR_S("equation", &equation), 1, in, 2, &y));
    TRY(arg_wire(c, "bias", &bias));
    TRY(build_cast(c->b, c->s, c->e->pos, DTYPE_I32, &bias));
    TRY(bias_place(c, &p, &bias));
    TRY(call_node(c, "Add", NULL, 0, (uint32_t[]) { y, bias }, 2, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}
