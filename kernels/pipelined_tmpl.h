/* SPDX-License-Identifier: MIT */
/* The gates of a GRU's tile of one row, finished while the next tile's weights load. They are cut
 * into stages, one operation deep and two groups of units wide: one stage goes after each term of
 * the next tile's sums, so that neither waits for the other and a constant is loaded once for all
 * chains. The bits are those of v_sigmoid and v_tanh. */

#ifndef CELL_PIPELINED
#define CELL_PIPELINED 0
#endif

/* The sums of a tile, whose gates are not finished. A single group stands there twice. */
struct FN(pending) {
    const struct FN(seq) *s;            /* NULL: nothing is left */
    size_t u[2];                        /* first unit of each group */
    v16 a[2][3], n[2];
};

#if CELL_PIPELINED
/* Chains under way. x: arguments of tanh, w: its odd polynomial. */
struct FN(chains) { v16 r[4], p[4], n[4], x[2], w[2], z[2]; };

#define EXP_STAGES 11
#define GRU_STAGES 26
#define EACH_CHAIN V16_UNROLL for (int i = 0; i < m; i++)
#define EACH_GROUP V16_UNROLL for (int q = 0; q < 2; q++)

/* e^r + 1 of m chains into p */
V16_UNROLLED void FN(exp_stage)(struct FN(chains) *e, const int m, const int stage)
{
    static const float term[] = { 0.00276418915f, 0.016737368f, 0.0833365321f, 0.333330423f,
                                  0.999999881f,   2.0f,         2.0f };
    const v16 wholes = v16_set1(EXP_WHOLES);
    EACH_CHAIN {
        if (stage == 0)
            e->r[i] = v16_min(v16_set1(89.0f), v16_max(v16_set1(-87.5f), e->r[i]));
        else if (stage == 1)
            e->n[i] = v16_fma(e->r[i], v16_set1(1.44269504088896341f), wholes);
        else if (stage == 2)
            e->r[i] = v16_fma(v16_sub(e->n[i], wholes), v16_set1(-0.693359375f), e->r[i]);
        else if (stage == 3)
            e->r[i] = v16_fma(v16_sub(e->n[i], wholes), v16_set1(2.12194440e-4f), e->r[i]);
        else if (stage == 4)
            e->p[i] = v16_fma(v16_set1(term[0]), e->r[i], v16_set1(term[1]));
        else if (stage < 10)
            e->p[i] = v16_fma(e->p[i], e->r[i], v16_set1(term[stage - 3]));
        else if (stage == 10)
            e->p[i] = v16_fma(e->p[i], FN(exp_factor)(e->n[i]), v16_set1(1.0f));
    }
}

/* Beside the exponentials of 2 |x|, which are the first chains. */
V16_UNROLLED void FN(tanh_stage)(struct FN(chains) *e, const int stage)
{
    static const float term[] = { -0.00570271164f, 0.0206371341f, -0.0537391454f, 0.133314356f,
                                  -0.333332807f };
    EACH_GROUP {
        v16 x = e->x[q], z = v16_mul(x, x),
            a = v16_of_bits(i16_and(v16_bits(x), i16_set1(INT32_MAX)));
        if (stage == 0) {
            e->r[q] = v16_add(a, a);
            e->w[q] = v16_fma(v16_set1(term[0]), z, v16_set1(term[1]));
        } else if (stage < 4) {
            e->w[q] = v16_fma(e->w[q], z, v16_set1(term[stage + 1]));
        } else if (stage == 4) {
            e->w[q] = v16_fma(v16_mul(e->w[q], z), x, x);
        } else if (stage == EXP_STAGES) {
            e->p[q] =
                v16_sub(v16_set1(1.0f), v16_div(v16_set1(2.0f), e->p[q]));
        } else if (stage == EXP_STAGES + 1) {
            v16 t = v16_pick(v16_lt(a, v16_set1(0.625f)), e->w[q], e->p[q]);
            e->w[q] = v16_of_bits(i16_or(v16_bits(t), i16_and(v16_bits(x), i16_set1(INT32_MIN))));
        }
    }
}

/* Sigmoids of chains from .. m-1, whose exponentials are done. */
V16_UNROLLED void FN(sigmoid_end)(struct FN(chains) *e, const int from, const int m)
{
    V16_UNROLL for (int i = from; i < m; i++)
        e->p[i] = v16_div(v16_set1(1.0f), e->p[i]);
}

V16_UNROLLED void FN(negate)(struct FN(chains) *e, const int to, const v16 a0, const v16 a1)
{
    e->r[to] = v16_sub(v16_set1(0.0f), a0);
    e->r[to + 1] = v16_sub(v16_set1(0.0f), a1);
}

V16_UNROLLED void FN(gru_stage)(struct FN(pending) *l, struct FN(chains) *e, const int stage)
{
    const struct FN(seq) *s = l->s;
    const int half = EXP_STAGES + 2, j = stage - half;
    if (stage == 0) {
        FN(negate)(e, 0, l->a[0][1], l->a[1][1]);
        FN(negate)(e, 2, l->a[0][0], l->a[1][0]);
    }
    if (stage < EXP_STAGES)
        FN(exp_stage)(e, 4, stage);
    else if (stage == EXP_STAGES)
        FN(sigmoid_end)(e, 0, 4);
    else if (stage < half)
        EACH_GROUP {
            e->x[q] = v16_add(l->n[q], v16_mul(l->a[q][2], e->p[q]));
            e->z[q] = e->p[2 + q];
        }
    else {
        FN(tanh_stage)(e, j);
        FN(exp_stage)(e, 2, j);
        if (j == EXP_STAGES + 1)
            EACH_GROUP
        FN(seq_state)(s, 0, l->u[q], FN(gru_next)(e->z[q], e->w[q], v16_load(s->old[0] + l->u[q])));
    }
}

#undef EACH_CHAIN
#undef EACH_GROUP

#define EACH_STAGE(DO)                                                                                              \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15) DO(16)   \
    DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23) DO(24) DO(25)

static void FN(pending_end)(struct FN(pending) *l)
{
    struct FN(chains) e;
#define DO(i) FN(gru_stage)(l, &e, i);
    if (!l->s)
        return;
    EACH_STAGE(DO)
#undef DO
    l->s = NULL;
}

/* Whether gates are left that a tile of s can finish beside its sums, before it needs their states;
 * others end here. */
static inline bool FN(pending_fits)(const struct FN(seq) *s)
{
    struct FN(pending) *l = s->pending;
    if (!l->s)
        return false;
    size_t first = l->u[0] < l->u[1] ? l->u[0] : l->u[1];
    if ((s->inputs ? s->inputs : l->s == s ? s->hidden : first) >= GRU_STAGES)
        return true;
    FN(pending_end)(l);
    return false;
}
#else
static inline void FN(pending_end)(struct FN(pending) *l)
{
    (void) l;
}
#endif
