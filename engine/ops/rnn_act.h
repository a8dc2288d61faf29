/* SPDX-License-Identifier: MIT */
/* rnn_act.h - the activation functions of recurrent cells, by name. */
#ifndef RILL_ENGINE_OPS_RNN_ACT_H
#define RILL_ENGINE_OPS_RNN_ACT_H
#include "engine/graph/op.h"
#include "kernels/program.h"

/* A function of the kernels (kernels/program.h), or one of its own. */
struct rnn_act {
    void (*own)(const struct rnn_act *a, const struct kern *k, float *y, const float *x, size_t n);
    float alpha, beta;
    int function; /* where own is NULL */
};

/* y may be x */
void rnn_act_run(const struct rnn_act *a, const struct kern *k, float *y, const float *x, size_t n);

/* Finds a function by its standard name, any case; alpha and beta take its defaults. False: there
 * is none. */
bool rnn_act_find(const char *name, struct rnn_act *ret, bool *ret_has_alpha, bool *ret_has_beta);

/* It is the function of that standard name, which takes neither alpha nor beta. */
bool rnn_act_is(const struct rnn_act *a, const char *name);

/* "Affine, Elu, ...": what there is. */
const char *rnn_act_names(void);
#endif
