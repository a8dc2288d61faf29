/* SPDX-License-Identifier: MIT */
/* Cells whose first frames lie before the stream: the others are moved to the front, where the
 * length of the sequence ends them. */
#include "engine/ops/rnn.h"
#include "models/export/lower.h"

struct skipped {
    const struct node *n;
    const struct rnn_attr *a;
    uint32_t skip; /* i64[] */
    int64_t steps;
    int axis; /* of the steps, in X; of Y, where the batch stands in front, too */
};

/* i64[steps]: t + by, within the steps */
static uint32_t moved(struct lower *l, const struct skipped *s, uint32_t by)
{
    struct tensor *t = tensor_new(l->arena, DTYPE_I64, 1, &s->steps);
    for (int64_t i = 0; t && i < s->steps; i++)
        ((int64_t *) t->data)[i] = i;
    uint32_t at = lower_2(l, OP_ADD, lower_const(l, t), by);
    at = lower_2(l, OP_MIN, at, lower_int(l, s->steps - 1));
    return lower_2(l, OP_MAX, at, lower_int(l, 0));
}

/* i32[batch]: the steps that run, one at least, as none is not every engine's case. */
static uint32_t lengths(struct lower *l, const struct skipped *s)
{
    const struct fact *x = lower_fact(l, s->n, IN_X);
    const int64_t batch = lower_size(x, s->a->layout ? 0 : 1);
    uint32_t n = lower_2(l, OP_SUB, lower_int(l, s->steps), s->skip);
    n = lower_cast(l, lower_2(l, OP_MAX, n, lower_int(l, 1)), DTYPE_I32);
    return lower_2(l, OP_EXPAND, n, lower_ints(l, &batch, 1));
}

/* Steps at their places again, and zeros before them. */
static uint32_t moved_back(struct lower *l, const struct skipped *s, uint32_t y)
{
    int64_t column[4] = { 1, 1, 1, 1 };
    struct tensor *t = tensor_new(l->arena, DTYPE_I64, 1, &s->steps);
    for (int64_t i = 0; t && i < s->steps; i++)
        ((int64_t *) t->data)[i] = i;
    column[s->axis] = s->steps;
    uint32_t runs = lower_2(l, OP_GREATER_OR_EQUAL, lower_const(l, t), s->skip);
    if (s->steps > 1)
        y = lower_gather(l, y, moved(l, s, lower_1(l, OP_NEG, s->skip)), s->axis);
    return lower_where(l, lower_reshape(l, runs, column, 4), y, lower_zero(l, DTYPE_F32));
}

/* The state that was, where no step ran. */
static uint32_t kept(struct lower *l, const struct skipped *s, unsigned state, uint32_t next)
{
    uint32_t none = lower_2(l, OP_GREATER_OR_EQUAL, s->skip, lower_int(l, s->steps));
    uint32_t old =
        node_has_input(s->n, state) ? lower_in(l, s->n, state) : lower_zero(l, DTYPE_F32);
    return lower_where(l, none, old, next);
}

static struct node *cell_add(struct lower *l, const struct skipped *s, uint32_t *in, uint32_t *out)
{
    const struct node *n = s->n;
    for (unsigned i = 0; i < n->n_out; i++) {
        const char *name = graph_name_next(l->dst, n->name);
        out[i] = n->out[i] == WIRE_NONE || !name ? WIRE_NONE : graph_add_wire(l->dst, name, NULL);
    }
    unsigned n_in = (unsigned) n->op->max_in;
    while (n_in && in[n_in - 1] == WIRE_NONE)
        n_in--;
    return graph_copy_node(l->dst, n, in, n_in, out);
}

void lower_rnn(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    struct skipped s = { .n = n, .a = rnn_attr_of(n) };
    uint32_t in[N_IN], out[3] = { WIRE_NONE, WIRE_NONE, WIRE_NONE };
    s.axis = s.a->layout ? 1 : 0;
    s.steps = lower_size(lower_fact(l, n, IN_X), s.axis);
    s.skip = lower_in(l, n, rnn_skip_input(n));
    for (unsigned i = 0; i < N_IN; i++)
        in[i] = i < (unsigned) n->op->max_in ? lower_in(l, n, i) : WIRE_NONE;
    if (s.steps > 1) {
        in[IN_X] = lower_gather(l, in[IN_X], moved(l, &s, s.skip), s.axis);
        in[IN_LENS] = lengths(l, &s);
    }
    if (l->status != RILL_OK || !cell_add(l, &s, in, out)) {
        lower_fail(l, RILL_NOMEM);
        return;
    }
    if (out[0] != WIRE_NONE)
        ret_out[0] = moved_back(l, &s, out[0]);
    for (unsigned i = 1; i < n->n_out; i++)
        if (out[i] != WIRE_NONE)
            ret_out[i] = kept(l, &s, i == 1 ? IN_H : IN_C, out[i]);
}
