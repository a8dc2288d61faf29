/* SPDX-License-Identifier: MIT */
/* rnn.h - what the ways to run a recurrent cell share. */
#ifndef RILL_ENGINE_OPS_RNN_H
#define RILL_ENGINE_OPS_RNN_H
#include "engine/ops/epilogue.h"
#include "engine/ops/rnn_act.h"
#include "kernels/cell.h"

enum cell { CELL_RNN, CELL_GRU, CELL_LSTM };
enum direction { DIR_FORWARD, DIR_REVERSE, DIR_BOTH };
enum rnn_weights { RNN_WEIGHTS_F32, RNN_WEIGHTS_I16 };
enum { IN_X, IN_W, IN_R, IN_B, IN_LENS, IN_H, IN_C, IN_P, N_IN };

struct rnn_attr {
    struct attr_floats alpha, beta;
    struct attr_strings activations;
    float clip;
    int direction, weights; /* weights: enum rnn_weights */
    int64_t hidden_size, input_forget, layout, linear_before_reset;
    struct attr_ints epilogue; /* of Y */
};

/* Rows of what is set for every kind of cell. */
extern const char *const rnn_directions[];
/* clang-format off */
#define RNN_ATTRS                                                                                  \
    { .name = "activation_alpha", .kind = ATTR_FLOATS, .offset = offsetof(struct rnn_attr, alpha) }, \
    { .name = "activation_beta", .kind = ATTR_FLOATS, .offset = offsetof(struct rnn_attr, beta) }, \
    { .name = "activations", .kind = ATTR_STRINGS, .offset = offsetof(struct rnn_attr, activations) }, \
    { .name = "clip", .kind = ATTR_FLOAT, .offset = offsetof(struct rnn_attr, clip) },             \
    { .name = "direction", .kind = ATTR_CHOICE, .offset = offsetof(struct rnn_attr, direction),    \
      .choices = rnn_directions },                                                                 \
    { .name = "hidden_size", .kind = ATTR_INT, .offset = offsetof(struct rnn_attr, hidden_size) }
/* clang-format on */

/* RNN, GRU, LSTM */
static inline const struct rnn_attr *rnn_attr_of(const struct node *n)
{
    return n->attr;
}

/* Gates, and the standard activations: as many as a cell has, of one direction. */
struct rnn_cell {
    int gates, n_acts;
    const char *acts[3];
};
extern const struct rnn_cell rnn_cells[]; /* by enum cell */

struct weights {
    const float *w, *r, *rn;     /* packed; rn: the candidate's recurrent part of a GRU */
    const float *bias, *bias_rn; /* of the projection; of the candidate's recurrent product */
};

struct rnn {
    enum cell cell;
    int64_t dirs, steps, batch, inputs, hidden, gates, n; /* n = gates * hidden */
    bool batch_major;
    bool bytes; /* W and R are i8 */
    struct rnn_act act[2][3];
    struct weights weights[2]; /* used when the file's weights are constants */
    bool packed;
    size_t w_floats, r_floats, rn_floats, bias_floats;
    struct kern_cell small; /* hidden 0: not one */
    struct kern_cell_seq
        seq[2]; /* hidden 0: not one; one of each direction, packed where weights are constants */
    const float *seq_w[2];
    struct epilogue epilogue;
};

/* Inputs beyond the standard ones, which readers refuse and passes make.
 *
 * `skip`, an i64 scalar: the first `skip` steps do not run: the states stay what they were and Y is
 * 0 there. It keeps what comes before a stream out of its state.
 *
 * Scales of W and of R, where these are i8: f32 [directions, gates * hidden], one for each row.
 * Such a cell is plain (rnn_is_plain), and all that is made of weights is constant. */
enum { RNN_OWN_SKIP, RNN_OWN_W_SCALE, RNN_OWN_R_SCALE, N_RNN_OWN };

static inline unsigned rnn_own_input(const struct node *n, unsigned own)
{
    return (unsigned) n->op->max_in + own;
}

static inline unsigned rnn_skip_input(const struct node *n)
{
    return rnn_own_input(n, RNN_OWN_SKIP);
}

static inline int64_t rnn_skip_of(const struct eval *e)
{
    unsigned i = rnn_skip_input(e->node);
    return i < e->n_in && e->x[i] ? *(const int64_t *) e->x[i] : 0;
}

/* Data of a standard input, NULL where the node lacks it. */
static inline const float *rnn_input(const struct eval *e, unsigned i)
{
    return i < e->n_in && i < rnn_skip_input(e->node) ? e->x[i] : NULL;
}

/* The candidate's recurrent product stands alone: it is gated, or its input is. */
static inline int64_t rnn_gates_joint(const struct rnn *g)
{
    return g->cell == CELL_GRU ? 2 * g->hidden : g->n;
}

/* The activations of direction d; UNSUPPORTED: *ret_bad is a name that nothing has. */
rill_status rnn_acts_read(const struct rnn_attr *a, enum cell cell, int d, struct rnn_act ret[3],
                          const char **ret_bad);

/* Standard activations, no clip, no coupled gates: what a kernel of whole cells knows. */
bool rnn_attr_is_plain(const struct rnn_attr *a, enum cell cell);

/* Recurrent weights, in f32, that take longer to be read than those of 16 bits to be converted.
 * The same on every machine. */
#define RNN_NARROW_BEYOND_BYTES ((size_t) 48 << 10)
static inline bool rnn_weights_exceed(size_t columns, size_t hidden, size_t most)
{
    size_t bytes;
    return __builtin_mul_overflow(columns * sizeof(float), hidden, &bytes) || bytes > most;
}
static inline bool rnn_narrow_pays(size_t columns, size_t hidden)
{
    return rnn_weights_exceed(columns, hidden, RNN_NARROW_BEYOND_BYTES);
}

/* The same of weights of 8 bits, which need no conversion where they are few. */
#define RNN_BYTES_BEYOND_BYTES ((size_t) 32 << 10)
/* Inputs' and recurrent weights of 8 bits, in f32, that lie in a near cache in 16 bits too: they
 * are not widened as they are read. */
#define RNN_WIDE_BYTES ((size_t) 96 << 10)
static inline bool rnn_bytes_widen(size_t columns, size_t terms)
{
    return !rnn_weights_exceed(columns, terms, RNN_WIDE_BYTES);
}

/* Where the state of direction d and sequence b starts in initial_h, initial_c and the outputs of
 * last states. */
int64_t rnn_state_at(const struct rnn *g, int64_t d, int64_t b);
/* b: one direction's biases of both sides, or NULL. Writes n and hidden floats. */
void rnn_biases(const struct rnn *g, const struct rnn_attr *a, const float *b, float *ret_bias,
                float *ret_bias_rn);

/* One step of one sequence. */
struct rnn_step {
    const struct rnn *g;
    const struct rnn_attr *a;
    const struct kern *k;
    const struct weights *w;
    const struct rnn_act *act;
    const float *peephole; /* i, o, f; NULL: none */
    float *gate, *tmp;     /* [n], [3 * hidden] */
};
/* What follows the products of an LSTM, whose sums are the gates i, o, f, c: the next states. */
void rnn_gates_lstm(const struct rnn_step *s, float *h, float *cell);
/* The states [batch][hidden] of direction d, from an input (NULL: 0) and to an output (or NULL). */
void rnn_states_load(const struct rnn *g, const float *from, int64_t d, float *to);
void rnn_states_store(const struct rnn *g, const float *from, int64_t d, float *to);
/* How many steps sequence b has. */
int64_t rnn_length_of(const struct eval *e, const struct rnn *g, int64_t b);

/* Cells with the standard activations and nothing that changes their equations run in one kernel;
 * there is one for small cells, and one for others. */
bool rnn_is_plain(const struct prep *c, const struct rnn *g);
rill_status rnn_plain_prepare(struct prep *c, struct rnn *g);
void rnn_small_eval(const struct eval *e, const struct rnn *g);
void rnn_seq_eval(const struct eval *e, const struct rnn *g);
void rnn_small_eval_many(const struct eval *e, unsigned n);
void rnn_seq_eval_many(const struct eval *e, unsigned n);
#endif
