/* SPDX-License-Identifier: MIT */
/* Every op on random inputs of random types, shapes and attributes: it refuses with words that name
 * the node, or it runs and stays within its memory. */
#include "tests/ops/ops_test.h"

#define TRIALS 300
#define OUTPUT_BYTES_MAX ((size_t) 4 << 20)

static uint64_t state;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (state >> 33) % n;
}

/* Mostly small numbers, which also serve as axes and sizes; sometimes what overflows. */
static double draw_value(void)
{
    static const double odd[] = { 1e30,   -1e30,   INFINITY, -INFINITY, NAN,
                                  0x1p62, -0x1p62, 1e9,      0.5,       -0.0 };
    return draw(40) ? (double) draw(9) - 3 : odd[draw(10)];
}

static struct tensor *draw_tensor(struct ops_test *t, enum dtype type, unsigned input)
{
    int rank = (int) (input && draw(2) ? draw(2) : draw(6));
    int64_t dim[RANK_MAX];
    for (int k = 0; k < rank; k++)
        dim[k] = draw(8) ? 1 + draw(4) : 0;
    struct tensor *x = ops_tensor(t, type, rank, dim, NULL);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++)
        tensor_set_f64(x, x->data, i, draw_value());
    return x;
}

static struct attr draw_attr(struct ops_test *t, const struct attr_spec *s)
{
    struct attr a = {
        .name = s->name, .kind = s->kind, .i = (int64_t) draw(16) - 3, .f = (float) draw_value()
    };
    uint32_t n = draw(6);
    int64_t *ints = arena_array(&t->arena, int64_t, n + 1);
    float *floats = arena_array(&t->arena, float, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        ints[i] = draw(30) ? (int64_t) draw(6) - 2 : INT64_MAX - (int64_t) draw(2);
        floats[i] = (float) draw_value();
    }
    a.ints = (struct attr_ints) { n, ints };
    a.floats = (struct attr_floats) { n, floats };
    if (s->kind == ATTR_CHOICE) {
        uint32_t choices = 0;
        while (s->choices[choices])
            choices++;
        a.kind = ATTR_STRINGS;
        a.strings = (struct attr_strings) { 1, &s->choices[draw(choices)] };
    }
    if (s->kind == ATTR_TENSOR)
        a.tensor = draw_tensor(t, (enum dtype)(1 + draw(DTYPE_BOOL)), 0);
    return a;
}

static unsigned draw_attrs(struct ops_test *t, const struct op *op, struct attr *ret, unsigned cap)
{
    unsigned n = 0;
    for (const struct attr_spec *s = op->attrs; s && s->name && n < cap; s++)
        if (s->required || !draw(3))
            ret[n++] = draw_attr(t, s);
    return n;
}

static bool outputs_small(const struct ops_state *s, unsigned n_out)
{
    for (unsigned i = 0; i < n_out; i++)
        if (tensor_bytes(&s->out_desc[i]) > OUTPUT_BYTES_MAX)
            return false;
    return true;
}

/* Counts a run in *ran; false when the op misbehaved. */
static bool trial(struct ops_test *t, const struct op *op, unsigned *ran)
{
    struct attr attrs[16];
    const struct tensor *in[OPS_INPUTS_MAX] = { NULL };
    unsigned n_attrs = draw_attrs(t, op, attrs, 16),
             most_in = op->max_in < 0 ? 4 : (unsigned) (op->max_in + op->own_in);
    unsigned n_in = (unsigned) op->min_in + draw(most_in - (unsigned) op->min_in + 1);
    unsigned most_out = op->max_out < 0 ? 4 : (unsigned) op->max_out,
             n_out = (unsigned) op->min_out + draw(most_out - (unsigned) op->min_out + 1);
    enum dtype type = draw(2) ? DTYPE_F32 : (enum dtype)(1 + draw(DTYPE_BOOL));
    struct tensor *first = draw_tensor(t, type, 0);
    for (unsigned i = 0; i < n_in; i++) {
        enum dtype other = i && draw(2) ? DTYPE_I64
            : draw(8)                   ? type
                                        : (enum dtype)(1 + draw(DTYPE_BOOL));
        in[i] = i == 0 ? first : !draw(3) ? first : draw_tensor(t, other, i);
        if (i >= (unsigned) op->min_in && !draw(4))
            in[i] = NULL;
    }
    t->runtime = draw(3) ? 0 : draw(16);
    t->made = true;
    struct ops_state *s = arena_new(&t->arena, struct ops_state);
    t->err = (rill_error) { 0 };
    rill_status st = ops_build(t, s, op->name, attrs, n_attrs, in, n_in, n_out);
    if (st == RILL_OK && outputs_small(s, n_out)) {
        st = ops_eval(t, s, in);
        *ran += st == RILL_OK;
    }
    return st == RILL_OK || (st != RILL_INTERNAL && t->err.text[0]);
}

int main(void)
{
    struct ops_test t = ops_begin();
    unsigned trials =
        getenv("RILL_TEST_TRIALS") ? (unsigned) atoi(getenv("RILL_TEST_TRIALS")) : TRIALS;
    const struct op *op;
    for (unsigned k = 0; (op = op_at(k)); k++) {
        unsigned ran = 0;
        bool ok = true;
        if (op->flags & OP_CONTROL)
            continue;
        t.what = op->name;
        for (unsigned i = 0; i < trials && ok; i++) {
            state = 1000003ull * k + i;
            ok = trial(&t, op, &ran);
            arena_drop(&t.arena);
            dims_free(t.dims); /* an overflow stays with its scope */
            t.dims = dims_new();
        }
        ops_check(&t, ok, "%s", t.err.text);
        if (getenv("RILL_TEST_VERBOSE"))
            printf("%-20s %u of %u ran\n", op->name, ran, trials);
    }
    t.what = "";
    return ops_end(&t);
}
