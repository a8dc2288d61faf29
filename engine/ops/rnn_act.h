/* SPDX-License-Identifier: MIT */
/* rnn_act.h - the activation functions of recurrent cells, by name. */
#ifndef RILL_ENGINE_OPS_RNN_ACT_H
#define RILL_ENGINE_OPS_RNN_ACT_H
#include "engine/graph/op.h"

struct rnn_act_row;
struct rnn_act {
    const struct rnn_act_row *row;
    float alpha, beta;
};

/* y may be x */
void rnn_act_run(const struct rnn_act *a, const struct kern *k, float *y, const float *x, size_t n);

/* Finds a function by its standard name, any case; alpha and beta take its defaults. False: there
 * is none. */
bool rnn_act_find(const char *name, struct rnn_act *ret, bool *ret_has_alpha, bool *ret_has_beta);

/* It is the function of that standard name. */
bool rnn_act_is(const struct rnn_act *a, const char *name);

/* "Affine, Elu, ...": what there is. */
const char *rnn_act_names(void);
#endif
