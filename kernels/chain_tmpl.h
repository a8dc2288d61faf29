/* SPDX-License-Identifier: MIT */
/* Element-wise programs, block by block: what one step makes the next one finds in the first
 * cache. */

static inline v16 FN(v_leaky)(v16 x, v16 slope)
{
    return v16_pick(v16_lt(x, v16_set1(0)), v16_mul(x, slope), x);
}

/* y[i] = f(a[i], b[i]); one of a and b may be a single element. */
#define CHAIN2(name, f)                                                                                             \
    static void FN(chain_##name)(float *y, const float *a, const float *b, bool a_dense, bool b_dense, size_t n)    \
    {                                                                                                               \
        v16 va = v16_set1(*a), vb = v16_set1(*b);                                                                   \
        size_t i = 0;                                                                                               \
        if (a_dense && b_dense)                                                                                     \
            for (; i + 16 <= n; i += 16)                                                                            \
                v16_store(y + i, f(v16_load(a + i), v16_load(b + i)));                                              \
        else                                                                                                        \
            for (; i + 16 <= n; i += 16)                                                                            \
                v16_store(y + i, f(a_dense ? v16_load(a + i) : va, b_dense ? v16_load(b + i) : vb));                \
        if (i < n)                                                                                                  \
            v16_store_n(y + i, f(a_dense ? v16_load_n(a + i, n - i) : va, b_dense ? v16_load_n(b + i, n - i) : vb), n - i); \
    }
CHAIN2(add, v16_add)
CHAIN2(sub, v16_sub)
CHAIN2(mul, v16_mul)
CHAIN2(div, v16_div)
CHAIN2(leaky, FN(v_leaky))
#undef CHAIN2

static inline void FN(chain_step)(const struct kern_chain_step *s, float *y, const float *a,
                                  const float *b, bool a_dense, bool b_dense, size_t n)
{
    switch (s->op) {
    case KERN_CHAIN_ADD: FN(chain_add)(y, a, b, a_dense, b_dense, n); break;
    case KERN_CHAIN_SUB: FN(chain_sub)(y, a, b, a_dense, b_dense, n); break;
    case KERN_CHAIN_MUL: FN(chain_mul)(y, a, b, a_dense, b_dense, n); break;
    case KERN_CHAIN_DIV: FN(chain_div)(y, a, b, a_dense, b_dense, n); break;
    case KERN_CHAIN_LEAKY: FN(chain_leaky)(y, a, b, a_dense, b_dense, n); break;
    case KERN_CHAIN_RELU: FN(relu_f32)(y, a, n); break;
    case KERN_CHAIN_SIGMOID: FN(sigmoid_f32)(y, a, n); break;
    case KERN_CHAIN_TANH: FN(tanh_f32)(y, a, n); break;
    case KERN_CHAIN_EXP: FN(exp_f32)(y, a, n); break;
    case KERN_CHAIN_LOG: FN(log_f32)(y, a, n); break;
    case KERN_CHAIN_SQRT: FN(sqrt_f32)(y, a, n); break;
    }
}

static void FN(chain_f32)(const struct kern_chain *c, float *const *y, const float *const *x,
                          float *tmp, size_t n)
{
    float *at[KERN_CHAIN_SLOTS];
    const float *from[KERN_CHAIN_SLOTS];
    for (unsigned i = 0; i < c->n_in; i++)
        from[i] = x[i];
    for (unsigned i = 0; i < c->n_out; i++)
        from[c->n_in + i] = at[c->n_in + i] = y[i];
    for (unsigned i = 0; i < c->n_tmp; i++)
        from[c->n_in + c->n_out + i] = at[c->n_in + c->n_out + i] = tmp + i * KERN_CHAIN_BLOCK;
    for (;;) {
        size_t block = n < KERN_CHAIN_BLOCK ? n : KERN_CHAIN_BLOCK;
        for (const struct kern_chain_step *s = c->step, *end = s + c->n_steps; s != end; s++)
            FN(chain_step)
            (s, at[s->to], from[s->a], from[s->b], c->dense[s->a], c->dense[s->b], block);
        if (!(n -= block))
            return;
        for (unsigned i = 0; i < c->n_in; i++)
            from[i] += c->dense[i] ? block : 0;
        for (unsigned i = c->n_in; i < c->n_in + c->n_out; i++)
            from[i] = at[i] += block;
    }
}
