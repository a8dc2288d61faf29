/* SPDX-License-Identifier: MIT */
/* Random element-wise programs give the bits of the kernels one after another. */
#include "tests/kern/check.h"

#include <string.h>

#define INPUTS 3
#define STEPS 6
#define TMPS (STEPS - 1)

static unsigned below(struct check *t, unsigned n)
{
    return (unsigned) ((check_rand(t) * 0.5f + 0.4999f) * (float) n) % n;
}

static const float *operand(const float *const *slot, const bool *dense, unsigned i, float *wide,
                            size_t n)
{
    if (dense[i])
        return slot[i];
    for (size_t k = 0; k < n; k++)
        wide[k] = *slot[i];
    return wide;
}

/* One step by the kernel that rounds as it does. */
static void step_reference(const struct kern *k, enum kern_chain_op op, float *y, const float *a,
                           const float *b, size_t n)
{
    switch (op) {
    case KERN_CHAIN_ADD: k->add_f32(y, a, b, n); break;
    case KERN_CHAIN_SUB: k->sub_f32(y, a, b, n); break;
    case KERN_CHAIN_MUL: k->mul_f32(y, a, b, n); break;
    case KERN_CHAIN_DIV: k->div_f32(y, a, b, n); break;
    case KERN_CHAIN_RELU: k->relu_f32(y, a, n); break;
    case KERN_CHAIN_SIGMOID: k->sigmoid_f32(y, a, n); break;
    case KERN_CHAIN_TANH: k->tanh_f32(y, a, n); break;
    case KERN_CHAIN_EXP: k->exp_f32(y, a, n); break;
    case KERN_CHAIN_LOG: k->log_f32(y, a, n); break;
    case KERN_CHAIN_SQRT: k->sqrt_f32(y, a, n); break;
    default:
        for (size_t i = 0; i < n; i++)
            y[i] = a[i] < 0 ? a[i] * b[i] : a[i];
    }
}

static void program_check(struct check *t, size_t n)
{
    struct kern_chain_step s[STEPS];
    bool dense[KERN_CHAIN_SLOTS] = { false };
    const float *x[INPUTS], *slot[KERN_CHAIN_SLOTS];
    float *out = check_buf(t, n, false), *a = check_buf(t, n, false), *b = check_buf(t, n, false);
    float *tmp = check_buf(t, TMPS * KERN_CHAIN_BLOCK, false), *y[1] = { out };
    for (unsigned i = 0; i < INPUTS; i++) {
        dense[i] = below(t, 3) > 0;
        float *v = check_buf(t, dense[i] ? n : 1, false);
        check_fill(t, v, dense[i] ? n : 1);
        slot[i] = x[i] = v;
    }
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned to = i == STEPS - 1 ? INPUTS : INPUTS + 1 + i, known = INPUTS + i;
        unsigned p = below(t, known), q = below(t, known);
        s[i] = (struct kern_chain_step) { (uint8_t) below(t, KERN_CHAIN_OPS), (uint8_t) to,
                                          (uint8_t) (p < INPUTS ? p : p + 1),
                                          (uint8_t) (q < INPUTS ? q : q + 1) };
        if (s[i].op >= KERN_CHAIN_RELU && !dense[s[i].a])
            s[i].op = KERN_CHAIN_ADD; /* one operand alone is dense */
        dense[to] = true;
        float *r = check_buf(t, n, false);
        step_reference(&t->ref, s[i].op, r, operand(slot, dense, s[i].a, a, n),
                       operand(slot, dense, s[i].b, b, n), n);
        slot[to] = r;
    }
    const struct kern_chain c = { s, dense, STEPS, INPUTS, 1, TMPS };
    t->new.chain_f32(&c, y, x, tmp, n);
    check_same(t, "chain_f32", slot[INPUTS], out, n, "n %zu", n);
    check_drop(t);
}

void check_chain(struct check *t)
{
    static const size_t sizes[] = { 1, 2, 12, 15, 16, 17, 33, 64, 511, 512, 513, 1040, 1100 };
    for (int i = 0; i < 40; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            program_check(t, sizes[k]);
}
