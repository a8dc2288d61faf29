/* SPDX-License-Identifier: MIT */
/* Weights of recurrent cells, in the order in which their kernels read them. */
#include "kernels/cell.h"

static size_t cell_gates(const struct kern_cell *c)
{
    return c->kind == KERN_CELL_RNN ? 1 : c->kind == KERN_CELL_LSTM ? 4 : 3;
}

void kern_cell_set(struct kern_cell *c)
{
    c->width = c->hidden <= 4 ? 4 : c->hidden <= 8 ? 8 : 16;
}

size_t kern_cell_sets(const struct kern_cell *c)
{
    return c->width == KERN_LANES ? c->dirs : 1;
}

/* Four vectors of biases, then a vector per input and gate, then per unit and gate. */
size_t kern_cell_floats(const struct kern_cell *c)
{
    return (4 + (c->inputs + c->hidden) * cell_gates(c)) * KERN_LANES;
}

void kern_cell_pack_f32(const struct kern_cell *c, float *ret, size_t d, const float *w, const float *r, const float *bias,
                        const float *bias_rn)
{
    size_t gates = cell_gates(c), sets = kern_cell_sets(c);
    float *b = ret + d % sets * kern_cell_floats(c), *pw = b + 4 * KERN_LANES, *pr = pw + c->inputs * gates * KERN_LANES;
    for (size_t lane = 0; lane < KERN_LANES; lane++) {
        size_t u = lane % c->width;
        bool used = u < c->hidden;
        if (sets == 1 && lane / c->width % c->dirs != d)
            continue;
        for (size_t g = 0; g < 4; g++) {
            float own = c->kind == KERN_CELL_GRU && g == gates && used ? bias_rn[u] : 0;
            b[g * KERN_LANES + lane] = g < gates && used ? bias[g * c->hidden + u] : own;
        }
        for (size_t g = 0; g < gates; g++) {
            for (size_t k = 0; k < c->inputs; k++)
                pw[(k * gates + g) * KERN_LANES + lane] = used ? w[(g * c->hidden + u) * c->inputs + k] : 0;
            for (size_t k = 0; k < c->hidden; k++)
                pr[(k * gates + g) * KERN_LANES + lane] = used ? r[(g * c->hidden + u) * c->hidden + k] : 0;
        }
    }
}
