/* SPDX-License-Identifier: MIT */
/* Masks that are stacked along an axis of their own and joined by a reduction along it, or taken
 * out of the stack again: attention under them streams as it does under masks joined one to the
 * other. */
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 4 };

/* How two truths, one of which is a band without a begin and one without an end, come to what is
 * seen, or to numbers to add to scores. */
enum join {
    ALL_F32,
    ALL_I32,
    ALL_BOOL,
    PRODUCT,
    NONE_LARGEST, /* of what is hidden */
    NONE_SUM,     /* 0 of those that hide */
    SUM_IS_ALL,
    SUM_CAST, /* of what is hidden */
    MEAN_IS_ALL,
    SUM_F32,     /* more than both but one */
    SUM_OF_BOTH, /* of more than truths */
    CAST_BEHIND, /* stacked as truths, then cast */
    COMPARED_BEHIND,
    LOWEST,     /* of 0 and -inf */
    LOW_SUM,    /* of -0 and -1e9 */
    MEAN_LOW,   /* the same, their mean */
    LOW_MORE,   /* of that, more than -1, and with chunks beside the bands */
    LOW_ZERO,   /* it is 0 */
    LOW_HALF,   /* half of it is not -1 or less */
    LOW_MEAN,   /* their mean is more than -1 */
    LOW_ONE,    /* it is not that of all of them: what one shows */
    PICKED,     /* And of what Gather takes out */
    SLICED,     /* and Slice */
    SPLIT,      /* and Split */
    SOME,       /* either of two bands */
    ONE_OF_TWO, /* exactly one, of a triangle and another */
    N_JOINS
};

struct stacked {
    enum join join;
    int axis;
    bool keeps;
    bool data; /* one more, of data: keys that are not seen */
};

struct truths {
    uint32_t seen[3];
    unsigned n;
};

static struct truths truths_of(struct gb *b, uint32_t x, const struct stacked *c)
{
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1)),
                   at = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
                   far = GB(b, "Sub", "", GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
                            GB(b, "Unsqueeze", "", at, gb_ints(b, 0)));
    const uint32_t behind = GB(b, "GreaterOrEqual", "", far, gb_int(b, 0)),
                   near = GB(b, "Less", "", far, gb_int(b, 4));
    struct truths t = { { behind, near }, 2 };
    if (c->join == SOME)
        for (int k = 0; k < 2; k++)
            t.seen[k] = GB(b, "Equal", "", far, gb_int(b, 2 * k));
    if (c->join == ONE_OF_TWO)
        t.seen[1] = GB(b, "GreaterOrEqual", "", far, gb_int(b, 4));
    if (c->join >= LOW_MORE && c->join <= LOW_ONE) {
        const uint32_t chunk = GB(b, "Div", "", at, gb_int(b, 3));
        t.seen[t.n++] = GB(b, "Equal", "", GB(b, "Unsqueeze", "", chunk, gb_ints(b, 1)),
                           GB(b, "Unsqueeze", "", chunk, gb_ints(b, 0)));
        for (int k = 0; c->join == LOW_ONE && k < 2; k++)
            t.seen[k] = GB(b, "Equal", "", far, gb_int(b, 3 * k));
    }
    if (c->data) {
        const uint32_t first = gb_slice(b, x, 2, 0, 1, 1),
                       key = GB(b, "Less", "", GB(b, "Squeeze", "", first, gb_ints(b, 0, 2)),
                                gb_scalar(b, 0.3f));
        t.seen[t.n++] = GB(b, "And", "", GB(b, "Unsqueeze", "", key, gb_ints(b, 0)),
                           GB(b, "GreaterOrEqual", "", GB(b, "Abs", "", far), gb_int(b, 0)));
        t.seen[2] = GB(b, "Or", "", t.seen[2], GB(b, "Equal", "", far, gb_int(b, 0)));
    }
    return t;
}

static uint32_t stack(struct gb *b, const struct truths *t, const struct stacked *c)
{
    uint32_t in[3];
    for (unsigned k = 0; k < t->n; k++)
        in[k] = GB(b, "Unsqueeze", "", t->seen[k], gb_ints(b, c->axis));
    return gb_op(b, "Concat", gb_printf(b, "axis=%d", c->axis), in, t->n);
}

static struct truths each(struct gb *b, const struct truths *t, const char *op, const char *attrs)
{
    struct truths y = *t;
    for (unsigned k = 0; k < t->n; k++)
        y.seen[k] = GB(b, op, attrs, t->seen[k]);
    return y;
}

static struct truths low(struct gb *b, const struct truths *t, bool add)
{
    struct truths y = *t;
    for (unsigned k = 0; k < t->n; k++)
        y.seen[k] = add ? GB(b, "Mul", "", GB(b, "Cast", "to=1", GB(b, "Not", "", t->seen[k])),
                             gb_scalar(b, -1e9f))
                        : GB(b, "Where", "", t->seen[k], gb_scalar(b, 0), gb_scalar(b, -INFINITY));
    return y;
}

static uint32_t reduced(struct gb *b, const char *op, uint32_t x, const struct stacked *c)
{
    const uint32_t y = GB(b, op, c->keeps ? "keepdims=1" : "keepdims=0", x, gb_ints(b, c->axis));
    return c->keeps ? GB(b, "Squeeze", "", y, gb_ints(b, c->axis)) : y;
}

/* Each part by what takes it out. */
static uint32_t taken_out(struct gb *b, const struct truths *t, const struct stacked *c)
{
    const uint32_t all = stack(b, t, c), axis = gb_ints(b, c->axis);
    uint32_t y = WIRE_NONE;
    struct node *split = NULL;
    if (c->join == SPLIT)
        split = gb_node(b, "Split", gb_printf(b, "axis=%d", c->axis),
                        (uint32_t[]) { all, t->n == 2 ? gb_ints(b, 1, 1) : gb_ints(b, 1, 1, 1) }, 2,
                        t->n);
    for (unsigned k = 0; k < t->n; k++) {
        const int64_t at = k ? (int64_t) k - t->n : 0;
        const uint32_t one = c->join == PICKED
            ? GB(b, "Gather", gb_printf(b, "axis=%d", c->axis), all, gb_int(b, at))
            : GB(b, "Squeeze", "", split ? split->out[k] : gb_slice(b, all, c->axis, k, k + 1, 1),
                 axis);
        y = k ? GB(b, "And", "", y, one) : one;
    }
    return y;
}

/* Sums and means of truths, compared. */
static uint32_t counted(struct gb *b, const struct truths *t, const struct stacked *c)
{
    const struct truths f32 = each(b, t, "Cast", "to=1"), i64 = each(b, t, "Cast", "to=8"),
                        hidden = each(b, t, "Not", ""), hides = each(b, &hidden, "Cast", "to=8");
    switch (c->join) {
    case NONE_SUM:
        return GB(b, "Less", "", reduced(b, "ReduceSum", stack(b, &hides, c), c), gb_int(b, 1));
    case SUM_CAST:
        return GB(b, "Not", "",
                  GB(b, "Cast", "to=13", reduced(b, "ReduceSum", stack(b, &hides, c), c)));
    case SUM_IS_ALL:
        return GB(b, "Equal", "", gb_int(b, t->n), reduced(b, "ReduceSum", stack(b, &i64, c), c));
    case MEAN_IS_ALL:
        return GB(b, "Equal", "", reduced(b, "ReduceMean", stack(b, &f32, c), c), gb_scalar(b, 1));
    case ONE_OF_TWO:
        return GB(b, "Equal", "", reduced(b, "ReduceSum", stack(b, &i64, c), c), gb_int(b, 1));
    default:
        return GB(b, "Less", "", gb_scalar(b, (float) t->n - 0.5f),
                  reduced(b, "ReduceSum", stack(b, &f32, c), c));
    }
}

/* What is made of the stack behind it. */
static uint32_t behind(struct gb *b, const struct truths *t, const struct stacked *c)
{
    if (c->join == CAST_BEHIND)
        return GB(b, "Cast", "to=13",
                  reduced(b, "ReduceMin", GB(b, "Cast", "to=8", stack(b, t, c)), c));
    const struct truths i32 = each(b, t, "Cast", "to=7");
    const uint32_t is = GB(b, "Equal", "", GB(b, "Cast", "to=8", stack(b, &i32, c)), gb_int(b, 0));
    return GB(b, "Not", "",
              GB(b, "Greater", "", reduced(b, "ReduceSum", GB(b, "Cast", "to=8", is), c),
                 gb_int(b, 0)));
}

/* What is low where it hides, summed and compared. */
static uint32_t low_compared(struct gb *b, const struct truths *t, const struct stacked *c)
{
    const struct truths m = low(b, t, true);
    uint32_t sum = reduced(b, c->join == LOW_MEAN ? "ReduceMean" : "ReduceSum", stack(b, &m, c), c);
    if (c->join == LOW_HALF)
        sum = GB(b, "Mul", "", sum, gb_scalar(b, 0.5f));
    switch (c->join) {
    case LOW_MEAN:
    case LOW_MORE: return GB(b, "Greater", "", sum, gb_scalar(b, -1));
    case LOW_ZERO: return GB(b, "Equal", "", gb_scalar(b, 0), sum);
    case LOW_HALF: return GB(b, "Not", "", GB(b, "GreaterOrEqual", "", gb_scalar(b, -1), sum));
    default: return GB(b, "Less", "", gb_scalar(b, -2.5e9f), sum);
    }
}

static uint32_t seen(struct gb *b, const struct truths *t, const struct stacked *c)
{
    const struct truths hidden = each(b, t, "Not", ""), f32 = each(b, t, "Cast", "to=1"),
                        i32 = each(b, t, "Cast", "to=7"), hides = each(b, &hidden, "Cast", "to=1");
    switch (c->join) {
    case ALL_F32: return GB(b, "Cast", "to=13", reduced(b, "ReduceMin", stack(b, &f32, c), c));
    case ALL_I32: return GB(b, "Cast", "to=13", reduced(b, "ReduceMin", stack(b, &i32, c), c));
    case ALL_BOOL: return reduced(b, "ReduceMin", stack(b, t, c), c);
    case PRODUCT:
        return GB(b, "Greater", "", reduced(b, "ReduceProd", stack(b, &f32, c), c),
                  gb_scalar(b, 0));
    case SOME: return reduced(b, "ReduceMax", stack(b, t, c), c);
    case NONE_LARGEST:
        return GB(b, "Less", "", reduced(b, "ReduceMax", stack(b, &hides, c), c), gb_scalar(b, 1));
    case CAST_BEHIND:
    case COMPARED_BEHIND: return behind(b, t, c);
    case PICKED:
    case SLICED:
    case SPLIT: return taken_out(b, t, c);
    case LOW_MORE:
    case LOW_ZERO:
    case LOW_HALF:
    case LOW_MEAN:
    case LOW_ONE: return low_compared(b, t, c);
    default: return counted(b, t, c);
    }
}

static uint32_t masked(struct gb *b, uint32_t s, const struct truths *t, const struct stacked *c)
{
    if (c->join >= LOWEST && c->join <= MEAN_LOW) {
        const struct truths m = low(b, t, c->join != LOWEST);
        const char *by = c->join == LOWEST ? "ReduceMin"
            : c->join == LOW_SUM           ? "ReduceSum"
                                           : "ReduceMean";
        return GB(b, "Add", "", s, reduced(b, by, stack(b, &m, c), c));
    }
    if (c->join == SUM_OF_BOTH) { /* what is seen is 3 + 5 */
        struct truths m = each(b, t, "Cast", "to=1");
        for (unsigned k = 0; k < m.n; k++)
            m.seen[k] = GB(b, "Mul", "", m.seen[k], gb_scalar(b, 3.0f + 2.0f * (float) k));
        const uint32_t sum = reduced(b, "ReduceSum", stack(b, &m, c), c);
        return GB(b, "Where", "", GB(b, "Greater", "", sum, gb_scalar(b, 7)), s,
                  gb_scalar(b, -INFINITY));
    }
    return GB(b, "Where", "", seen(b, t, c), s, gb_scalar(b, -INFINITY));
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct stacked *c = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    const struct truths t = truths_of(b, x, c);
    const uint32_t q = GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)),
                   s = GB(b, "MatMul", "", q, gb_transpose(b, x, "0,2,1"));
    gb_output(b, GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", masked(b, s, &t, c)), x));
}

static bool pass_run(struct oracle *o)
{
    static const struct pass pass = { "stacks", true, graph_with_stacks_joined };
    struct graph *g = &o->model->decluttered.g;
    return passes_run(&pass, 1, g, g, NULL, &o->err) == RILL_OK;
}

static void stacked_test(const struct stacked *c)
{
    static const int64_t pulses[] = { 1, 2, 5, -1 }, lengths[] = { 1, 2, 4, 9, 30, -1 };
    struct oracle o = { .seed = 1 };
    char name[96];
    snprintf(name, sizeof name, "stacked along %d, joined as %d%s%s", c->axis, (int) c->join,
             c->keeps ? ", axis kept" : "", c->data ? ", with one of data" : "");
    const bool made = oracle_open(&o, recipe, c, NULL) == LAW_HOLDS && pass_run(&o);
    oracle_check(made, "%s: %s", name, o.err.text);
    if (made)
        oracle_check(oracle_laws(&o, name, pulses, lengths) > 0, "%s: no whole run", name);
    oracle_close(&o);
}

/* Data are joined to what is seen by all of them, or hide by numbers of their own. */
static bool takes_data(enum join join)
{
    return join != SUM_OF_BOTH && join != SOME && join != ONE_OF_TWO &&
        (join < LOW_SUM || join > LOW_ONE);
}

int main(void)
{
    for (int join = 0; join < N_JOINS; join++)
        for (int axis = 0; axis <= 2; axis++)
            for (int way = 0; way < 4; way++) {
                const struct stacked c = { (enum join) join, axis, way & 1, way & 2 };
                if (!c.data || takes_data(c.join))
                    stacked_test(&c);
            }
    return oracle_end();
}
