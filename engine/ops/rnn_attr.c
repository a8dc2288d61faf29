/* SPDX-License-Identifier: MIT */
/* What the attributes of a recurrent cell come to, whichever way it runs. */
#include "engine/ops/rnn.h"

const char *const rnn_directions[] = { "forward", "reverse", "bidirectional", NULL };

const struct rnn_cell rnn_cells[] = {
    [CELL_RNN] = { 1, 1, { "Tanh" } },
    [CELL_GRU] = { 3, 2, { "Sigmoid", "Tanh" } },
    [CELL_LSTM] = { 4, 3, { "Sigmoid", "Tanh", "Tanh" } },
};

rill_status rnn_acts_read(const struct rnn_attr *a, enum cell cell, int d, struct rnn_act ret[3],
                          const char **ret_bad)
{
    unsigned n_alpha = 0, n_beta = 0;
    for (int k = 0; k <= d; k++)
        for (int i = 0; i < rnn_cells[cell].n_acts; i++) {
            unsigned at = (unsigned) (k * rnn_cells[cell].n_acts + i);
            const char *name =
                at < a->activations.n ? a->activations.v[at] : rnn_cells[cell].acts[i];
            bool has_alpha, has_beta;
            struct rnn_act act;
            *ret_bad = name;
            if (!rnn_act_find(name, &act, &has_alpha, &has_beta))
                return RILL_UNSUPPORTED;
            if (has_alpha && n_alpha < a->alpha.n)
                act.alpha = a->alpha.v[n_alpha++];
            if (has_beta && n_beta < a->beta.n)
                act.beta = a->beta.v[n_beta++];
            if (k == d)
                ret[i] = act;
        }
    return RILL_OK;
}

bool rnn_attr_is_plain(const struct rnn_attr *a, enum cell cell)
{
    struct rnn_act act[3];
    const char *bad;
    for (int d = 0; d < (a->direction == DIR_BOTH ? 2 : 1); d++) {
        if (rnn_acts_read(a, cell, d, act, &bad) != RILL_OK)
            return false;
        for (int i = 0; i < rnn_cells[cell].n_acts; i++)
            if (!rnn_act_is(&act[i], rnn_cells[cell].acts[i]))
                return false;
    }
    return !(a->clip > 0) && !a->input_forget;
}

/* Biases of both sides join where the cell adds them unconditionally. */
void rnn_biases(const struct rnn *g, const struct rnn_attr *a, const float *b, float *ret_bias,
                float *ret_bias_rn)
{
    int64_t joint = rnn_gates_joint(g);
    bool reset_after = g->cell == CELL_GRU && a->linear_before_reset;
    for (int64_t i = 0; i < g->n; i++)
        ret_bias[i] = !b ? 0 : reset_after && i >= joint ? b[i] : b[i] + b[g->n + i];
    for (int64_t i = 0; i < g->hidden; i++)
        ret_bias_rn[i] = b && reset_after ? b[g->n + joint + i] : 0;
}

int64_t rnn_state_at(const struct rnn *g, int64_t d, int64_t b)
{
    return (g->batch_major ? b * g->dirs + d : d * g->batch + b) * g->hidden;
}
