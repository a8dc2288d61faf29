/* SPDX-License-Identifier: MIT */
#include "engine/ops/rnn_act.h"
#include "kernels/program.h"

#include <math.h>
#include <strings.h>

/* ---- programs of the kernels' functions (kernels/program.h) ---- */

enum { IN, OUT, CONSTANTS, SCRATCH, BUFFERS };
enum { ALPHA, BETA, ONE, MINUS_ONE, N_CONSTANTS };

#define X                                                                                          \
    {                                                                                              \
        .buffer = IN, .walk = SIZE_MAX                                                             \
    }
#define Y                                                                                          \
    {                                                                                              \
        .buffer = OUT, .walk = SIZE_MAX                                                            \
    }
#define T                                                                                          \
    {                                                                                              \
        .buffer = SCRATCH                                                                          \
    }
#define C(name)                                                                                    \
    {                                                                                              \
        .buffer = CONSTANTS, .one = true, .at = name                                               \
    }

#define DO(function, to_, a_, b_)                                                                  \
    {                                                                                              \
        .op = KERN_##function, .to = to_, .a = a_, .b = b_                                         \
    }

static const struct kern_instr relu[] = { DO(RELU, Y, X, X) };
static const struct kern_instr sigmoid[] = { DO(SIGMOID, Y, X, X) };
static const struct kern_instr tanh_[] = { DO(TANH, Y, X, X) };
static const struct kern_instr leaky[] = { DO(PRELU, Y, X, C(ALPHA)) };
static const struct kern_instr affine[] = { DO(MUL, Y, X, C(ALPHA)), DO(ADD, Y, Y, C(BETA)) };
static const struct kern_instr scaled_tanh[] = { DO(MUL, Y, X, C(BETA)), DO(TANH, Y, Y, Y),
                                                 DO(MUL, Y, Y, C(ALPHA)) };
/* x / (1 + |x|) */
static const struct kern_instr softsign[] = { DO(PRELU, T, X, C(MINUS_ONE)), DO(ADD, T, T, C(ONE)),
                                              DO(DIV, Y, X, T) };
/* max(x, 0) + log(1 + e^-|x|) does not overflow */
static const struct kern_instr softplus[] = { DO(PRELU, T, X, C(MINUS_ONE)),
                                              DO(MUL, T, T, C(MINUS_ONE)),
                                              DO(EXP, T, T, T),
                                              DO(ADD, T, T, C(ONE)),
                                              DO(LOG, T, T, T),
                                              DO(RELU, Y, X, X),
                                              DO(ADD, Y, Y, T) };

/* ---- functions of their own: no function of the kernels chooses one of two values ---- */

typedef void own_fn(const struct rnn_act *a, const struct kern *k, float *y, const float *x,
                    size_t n);

static void act_threshold(const struct rnn_act *a, const struct kern *k, float *y, const float *x,
                          size_t n)
{
    (void) k;
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] >= a->alpha ? x[i] : 0;
}

static void act_hard_sigmoid(const struct rnn_act *a, const struct kern *k, float *y,
                             const float *x, size_t n)
{
    (void) k;
    for (size_t i = 0; i < n; i++)
        y[i] = fminf(fmaxf(a->alpha * x[i] + a->beta, 0), 1);
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

/* ---- the table ---- */

struct rnn_act_row {
    const char *name;
    struct kern_program program;
    own_fn *own; /* where there is no program */
    bool has_alpha, has_beta;
    float alpha, beta;
};

#define PROGRAM(list) { list, sizeof list / sizeof *list }, NULL
#define OWN(function) { NULL, 0 }, function

static const struct rnn_act_row rows[] = {
    { "Affine", PROGRAM(affine), true, true, 1, 0 },
    { "Elu", OWN(act_elu), true, false, 1, 0 },
    { "HardSigmoid", OWN(act_hard_sigmoid), true, true, 0.2f, 0.5f },
    { "LeakyRelu", PROGRAM(leaky), true, false, 0.01f, 0 },
    { "Relu", PROGRAM(relu), false, false, 0, 0 },
    { "ScaledTanh", PROGRAM(scaled_tanh), true, true, 1, 1 },
    { "Sigmoid", PROGRAM(sigmoid), false, false, 0, 0 },
    { "Softplus", PROGRAM(softplus), false, false, 0, 0 },
    { "Softsign", PROGRAM(softsign), false, false, 0, 0 },
    { "Tanh", PROGRAM(tanh_), false, false, 0, 0 },
    { "ThresholdedRelu", OWN(act_threshold), true, false, 1, 0 },
};

void rnn_act_run(const struct rnn_act *a, const struct kern *k, float *y, const float *x, size_t n)
{
    if (a->row->own) {
        a->row->own(a, k, y, x, n);
        return;
    }
    float scratch[KERN_PROGRAM_BLOCK],
        constant[N_CONSTANTS] = {
            [ALPHA] = a->alpha, [BETA] = a->beta, [ONE] = 1, [MINUS_ONE] = -1
        };
    float *const buffer[BUFFERS] = {
        [IN] = (float *) (uintptr_t) x, /* only read */
        [OUT] = y,
        [CONSTANTS] = constant,
        [SCRATCH] = scratch,
    };
    k->program_f32(&a->row->program, buffer, NULL, 1, n);
}

bool rnn_act_find(const char *name, struct rnn_act *ret, bool *ret_has_alpha, bool *ret_has_beta)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcasecmp(rows[i].name, name)) {
            *ret = (struct rnn_act) { &rows[i], rows[i].alpha, rows[i].beta };
            *ret_has_alpha = rows[i].has_alpha;
            *ret_has_beta = rows[i].has_beta;
            return true;
        }
    return false;
}

bool rnn_act_is(const struct rnn_act *a, const char *name)
{
    return !strcasecmp(a->row->name, name);
}

const char *rnn_act_names(void)
{
    return "Affine, Elu, HardSigmoid, LeakyRelu, Relu, ScaledTanh, Sigmoid, Softplus, Softsign, "
           "Tanh, ThresholdedRelu";
}
