/* SPDX-License-Identifier: MIT */
/* epilogue_test.h - a node with a random epilogue gives the bits of the ops one after another. */
#ifndef TESTS_OPS_EPILOGUE_TEST_H
#define TESTS_OPS_EPILOGUE_TEST_H
#include "engine/ops/epilogue.h"
#include "tests/ops/ops_test.h"

static inline unsigned epilogue_next(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static inline enum op_id epilogue_op(int64_t function)
{
    static const enum op_id ids[] = {
#define X(number, name, operands) [KERN_##number] = OP_##number,
        KERN_POINTWISE_OPS(X)
#undef X
    };
    return ids[function];
}

/* A random input for that output: whole (with or without a first axis of one), single, or one per
 * channel (with or without the axes before it). */
static inline const struct tensor *epilogue_input(struct ops_test *t, uint32_t *seed,
                                                  const struct tensor *y, int axis)
{
    int64_t dim[RANK_MAX];
    unsigned how = epilogue_next(seed, 4);
    int drop = y->rank > 1 && y->dim[0] == 1 ? (int) epilogue_next(seed, 2) : 0;
    if (how == 0)
        return ops_numbers(t, seed, y->rank - drop, y->dim + drop);
    for (int i = 0; i < y->rank; i++)
        dim[i] = how == 1 || i != axis ? 1 : y->dim[i];
    int from = how == 1 ? (int) epilogue_next(seed, (uint32_t) y->rank + 1) : how == 3 ? axis : 0;
    return ops_numbers(t, seed, y->rank - from, dim + from);
}

#define EPILOGUE_TEST_IN (11 + EPILOGUE_IN_MAX) /* an LSTM has 11 of its own */

/* attrs: room for one more. in: EPILOGUE_TEST_IN; the n_own of the op are there, others NULL. */
static inline void epilogue_check(struct ops_test *t, uint32_t *seed, const char *op,
                                  struct attr *attrs, unsigned n_attrs, const struct tensor **in,
                                  unsigned n_own)
{
    int64_t steps[EPILOGUE_STEPS_MAX * FUSED_STEP_INTS];
    unsigned n = 1 + epilogue_next(seed, EPILOGUE_STEPS_MAX), first = op_find(op)->epilogue_in,
             n_in = first;
    uint32_t runtime = t->runtime;
    if (ops_try(t, op, attrs, n_attrs, in, n_own, 1) != RILL_OK)
        return;
    const struct tensor *want = t->out[0];
    int axis = epilogue_axis(op_find(op), want->rank);
    for (unsigned i = 0; i < n; i++) {
        int64_t *s = steps + i * FUSED_STEP_INTS, k = epilogue_next(seed, KERN_GATE);
        bool binary = fused_operands((int) k) == 2, room = n_in < first + EPILOGUE_IN_MAX;
        s[0] = k;
        s[1] = s[2] = s[3] = 0;
        if (binary && room && epilogue_next(seed, 8)) {
            in[n_in] = epilogue_input(t, seed, want, axis);
            bool swaps = k != KERN_PRELU && epilogue_next(seed, 2);
            s[swaps ? 2 : 3] = 1 + n_in++ - first;
        }
        t->runtime = UINT32_MAX;
        const struct tensor *of[2] = { s[2] ? in[first + s[2] - 1] : want,
                                       s[3] ? in[first + s[3] - 1] : want };
        if (!ops_run(t, op_by_id(epilogue_op(k))->name, NULL, 0, of, binary ? 2 : 1, 1))
            return;
        want = t->out[0];
    }
    attrs[n_attrs] = (struct attr) { .name = EPILOGUE_ATTR,
                                     .kind = ATTR_INTS,
                                     .ints = { n * FUSED_STEP_INTS, steps } };
    t->made = true;
    for (int known = 0; known < 2; known++) { /* whether its inputs are constants */
        t->runtime = known ? runtime : runtime | (uint32_t) -1 << first;
        if (ops_run(t, op, attrs, n_attrs + 1, in, n_in, 1))
            ops_check(t,
                      tensor_count(want) == tensor_count(t->out[0]) &&
                          !memcmp(want->data, t->out[0]->data, tensor_bytes(want)),
                      "%s with an epilogue of %u steps, the first %lld, gives other bits", op, n,
                      (long long) steps[0]);
    }
    attrs[n_attrs] = (struct attr) { 0 };
    t->made = false;
    t->runtime = runtime;
}
#endif
