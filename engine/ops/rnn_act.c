/* SPDX-License-Identifier: MIT */
#include "engine/ops/rnn_act.h"

#include <math.h>
#include <strings.h>

#define EACH(name, expr)                                                                           \
    static void act_##name(const struct rnn_act *a, const struct kern *k, float *y,                \
                           const float *x, size_t n)                                               \
    {                                                                                              \
        (void) k;                                                                                  \
        (void) a;                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                           \
            float v = x[i];                                                                        \
            y[i] = (expr);                                                                         \
        }                                                                                          \
    }
EACH(affine, a->alpha *v + a->beta)
EACH(leaky, v < 0 ? a->alpha * v : v)
EACH(threshold, v >= a->alpha ? v : 0)
EACH(hard_sigmoid, fminf(fmaxf(a->alpha *v + a->beta, 0), 1))
EACH(softsign, v / (1 + fabsf(v)))
#undef EACH

/* Those that need a kernel on a value of their own. */
static void act_scaled_tanh(const struct rnn_act *a, const struct kern *k, float *y, const float *x,
                            size_t n)
{
    k->muls_f32(y, x, a->beta, n);
    k->tanh_f32(y, y, n);
    k->muls_f32(y, y, a->alpha, n);
}

static void act_elu(const struct rnn_act *a, const struct kern *k, float *y, const float *x,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i], e;
        k->exp_f32(&e, &v, 1);
        y[i] = v < 0 ? a->alpha * (e - 1) : v;
    }
}

static void act_softplus(const struct rnn_act *a, const struct kern *k, float *y, const float *x,
                         size_t n)
{
    (void) a;
    for (size_t i = 0; i < n; i++) { /* max(x, 0) + log(1 + e^-|x|) does not overflow */
        float v = x[i], e = -fabsf(v);
        k->exp_f32(&e, &e, 1);
        e += 1;
        k->log_f32(&e, &e, 1);
        y[i] = (v > 0 ? v : 0) + e;
    }
}

static const struct {
    const char *name;
    struct rnn_act act;
    bool has_alpha, has_beta;
} acts[] = {
    { "Affine", { .own = act_affine, .alpha = 1, .beta = 0 }, true, true },
    { "Elu", { .own = act_elu, .alpha = 1, .beta = 0 }, true, false },
    { "HardSigmoid", { .own = act_hard_sigmoid, .alpha = 0.2f, .beta = 0.5f }, true, true },
    { "LeakyRelu", { .own = act_leaky, .alpha = 0.01f, .beta = 0 }, true, false },
    { "Relu", { .function = KERN_RELU }, false, false },
    { "ScaledTanh", { .own = act_scaled_tanh, .alpha = 1, .beta = 1 }, true, true },
    { "Sigmoid", { .function = KERN_SIGMOID }, false, false },
    { "Softplus", { .own = act_softplus, .alpha = 0, .beta = 0 }, false, false },
    { "Softsign", { .own = act_softsign, .alpha = 0, .beta = 0 }, false, false },
    { "Tanh", { .function = KERN_TANH }, false, false },
    { "ThresholdedRelu", { .own = act_threshold, .alpha = 1, .beta = 0 }, true, false },
};

void rnn_act_run(const struct rnn_act *a, const struct kern *k, float *y, const float *x, size_t n)
{
    if (a->own)
        a->own(a, k, y, x, n);
    else
        kern_map_f32(k, a->function, y, x, n);
}

bool rnn_act_find(const char *name, struct rnn_act *ret, bool *ret_has_alpha, bool *ret_has_beta)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (!strcasecmp(acts[i].name, name)) {
            *ret = acts[i].act;
            *ret_has_alpha = acts[i].has_alpha;
            *ret_has_beta = acts[i].has_beta;
            return true;
        }
    return false;
}

bool rnn_act_is(const struct rnn_act *a, const char *name)
{
    struct rnn_act it;
    bool has_alpha, has_beta;
    return rnn_act_find(name, &it, &has_alpha, &has_beta) && it.own == a->own &&
        it.function == a->function;
}

const char *rnn_act_names(void)
{
    return "Affine, Elu, HardSigmoid, LeakyRelu, Relu, ScaledTanh, Sigmoid, Softplus, Softsign, "
           "Tanh, ThresholdedRelu";
}
