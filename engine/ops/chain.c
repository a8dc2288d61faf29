/* SPDX-License-Identifier: MIT */
#include "engine/ops/chain.h"

#define INTS(member)                                                                               \
    {                                                                                              \
        .name = #member, .kind = ATTR_INTS, .offset = offsetof(struct chain_attr, member)          \
    }

static const struct attr_spec chain_attrs[] = {
    { .name = "m", .kind = ATTR_INT, .offset = offsetof(struct chain_attr, m), .def_i = 1 },
    { .name = "n", .kind = ATTR_INT, .offset = offsetof(struct chain_attr, n), .def_i = 1 },
    { .name = "n_tmp", .kind = ATTR_INT, .offset = offsetof(struct chain_attr, n_tmp) },
    INTS(steps),
    INTS(dense),
    INTS(rows),
    INTS(shapes),
    { 0 },
};

static rill_status chain_infer(struct infer *c)
{
    const struct chain_attr *a = c->attr;
    uint32_t at = 0;
    for (unsigned o = 0; o < c->n_out; o++) {
        const struct dim *shape[RANK_MAX];
        int64_t rank = at < a->shapes.n ? a->shapes.v[at++] : -1;
        if (rank < 0 || rank > RANK_MAX || rank > a->shapes.n - at)
            return infer_fail(c, "has no shape for output %u", o);
        for (int64_t i = 0; i < rank; i++)
            shape[i] = dim_int(c->dims, a->shapes.v[at++]);
        infer_shape(c, o, DTYPE_F32, (int) rank, shape);
    }
    return RILL_OK;
}

struct chain {
    struct kern_chain program;
    size_t m, n, row[CHAIN_PORTS_MAX];
};

static bool is_dense(const struct chain_attr *a, unsigned input)
{
    return input < a->dense.n && a->dense.v[input];
}

/* Slots exist, what is written is no input, and what is read alone is dense. */
static bool step_fits(const struct prep *c, const int64_t s[4])
{
    const struct chain_attr *a = c->attr;
    int64_t slots = c->n_in + c->n_out + a->n_tmp;
    bool alone = s[0] >= KERN_CHAIN_RELU && s[2] >= 0 && s[2] < c->n_in;
    return (!alone || is_dense(a, (unsigned) s[2])) && s[0] >= 0 && s[0] < KERN_CHAIN_OPS &&
        s[1] >= c->n_in && s[1] < slots && s[2] >= 0 && s[2] < slots && s[3] >= 0 && s[3] < slots;
}

/* An input has the elements that are read of it. */
static bool input_fits(const struct prep *c, const struct chain_attr *a, unsigned input)
{
    int64_t row = input < a->rows.n ? a->rows.v[input] : -1, reach;
    return c->in[input] && c->in[input]->type == DTYPE_F32 && row >= 0 &&
        !__builtin_mul_overflow(a->m - 1, row, &reach) &&
        !__builtin_add_overflow(reach, is_dense(a, input) ? a->n : 1, &reach) &&
        reach <= tensor_count(c->in[input]);
}

static rill_status chain_check(struct prep *c)
{
    const struct chain_attr *a = c->attr;
    int64_t count;
    if (c->n_in > CHAIN_PORTS_MAX || c->n_out > CHAIN_PORTS_MAX || a->m < 1 || a->n < 1 ||
        a->steps.n % 4 || a->n_tmp < 0 || a->n_tmp > KERN_CHAIN_SLOTS ||
        c->n_in + c->n_out + a->n_tmp > KERN_CHAIN_SLOTS ||
        __builtin_mul_overflow(a->m, a->n, &count))
        return prep_fail(c, "is not a program of at most %d inputs and outputs", CHAIN_PORTS_MAX);
    for (uint32_t i = 0; i < a->steps.n; i += 4)
        if (!step_fits(c, a->steps.v + i))
            return prep_fail(c, "step %u of its program is none", i / 4);
    for (unsigned i = 0; i < c->n_in; i++)
        if (!input_fits(c, a, i))
            return prep_fail(c, "input %u does not fit its program", i);
    for (unsigned o = 0; o < c->n_out; o++)
        if (c->out[o] && tensor_count(c->out[o]) != count)
            return prep_fail(c, "output %u does not fit its program", o);
    return RILL_OK;
}

static rill_status chain_prepare(struct prep *c)
{
    const struct chain_attr *a = c->attr;
    TRY(chain_check(c));
    struct chain *p = arena_new(c->arena, struct chain);
    struct kern_chain_step *s = arena_array(c->arena, struct kern_chain_step, a->steps.n / 4 + 1);
    bool *dense = arena_array(c->arena, bool, KERN_CHAIN_SLOTS);
    if (!p || !s || !dense)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (uint32_t i = 0; i < a->steps.n / 4; i++)
        s[i] =
            (struct kern_chain_step) { (uint8_t) a->steps.v[4 * i], (uint8_t) a->steps.v[4 * i + 1],
                                       (uint8_t) a->steps.v[4 * i + 2],
                                       (uint8_t) a->steps.v[4 * i + 3] };
    for (unsigned i = 0; i < KERN_CHAIN_SLOTS; i++)
        dense[i] = i >= c->n_in || is_dense(a, i);
    *p = (struct chain) { .program = { s, dense, a->steps.n / 4, c->n_in, c->n_out,
                                       (unsigned) a->n_tmp },
                          .m = (size_t) a->m,
                          .n = (size_t) a->n };
    for (unsigned i = 0; i < c->n_in; i++)
        p->row[i] = (size_t) a->rows.v[i];
    c->args = p;
    c->scratch_bytes = (size_t) a->n_tmp * KERN_CHAIN_BLOCK * sizeof(float);
    c->kernel = "chain_f32";
    return RILL_OK;
}

static void chain_eval(const struct eval *e)
{
    const struct chain *p = e->args;
    const float *x[CHAIN_PORTS_MAX];
    float *y[CHAIN_PORTS_MAX];
    if (p->m == 1) {
        e->kern->chain_f32(&p->program, (float *const *) (const void *) e->y,
                           (const float *const *) (const void *) e->x, e->scratch, p->n);
        return;
    }
    for (unsigned i = 0; i < e->n_in; i++)
        x[i] = e->x[i];
    for (unsigned o = 0; o < e->n_out; o++)
        y[o] = e->y[o];
    for (size_t r = 0; r < p->m; r++) {
        e->kern->chain_f32(&p->program, y, x, e->scratch, p->n);
        for (unsigned i = 0; i < e->n_in; i++)
            x[i] += p->row[i];
        for (unsigned o = 0; o < e->n_out; o++)
            y[o] += p->n;
    }
}

const struct op op_chain = {
    .id = OP_CHAIN,
    .name = "Chain",
    .attrs = chain_attrs,
    .attr_bytes = sizeof(struct chain_attr),
    .min_in = 1,
    .max_in = CHAIN_PORTS_MAX,
    .min_out = 1,
    .max_out = CHAIN_PORTS_MAX,
    .infer = chain_infer,
    .prepare = chain_prepare,
    .eval = chain_eval,
    .help = "element-wise steps one after another",
};
