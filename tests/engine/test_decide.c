/* SPDX-License-Identifier: MIT */
/* Comparisons that are decided while typing, against every element of what they say at many
 * lengths. */
#include "tests/check.h"
#include "engine/typing/interp.h"
#include "engine/typing/typed.h"

#include <stdio.h>
#include <string.h>

#define N_GRAPHS 3000

static int rnd(int n)
{
    return (int) check_random((uint32_t) n);
}

/* k * S + c */
struct line {
    int k, c;
};

static int64_t line_at(struct line l, int64_t s)
{
    return l.k * s + l.c;
}

struct trial {
    struct line start, limit, add, other;
    int step, op;
    bool swap, moved; /* the range on the right; through a Reshape */
    enum dtype cast;  /* through a Cast to what it is, or both to floats; NONE: through none */
};

static const char *const ops[] = { "Less", "LessOrEqual", "Greater", "GreaterOrEqual" };

static struct trial trial_random(void)
{
    struct trial t = { .start = { rnd(4) == 0, rnd(5) - 2 },
                       .limit = { 1 + rnd(2), rnd(5) - 2 },
                       .add = { 0, rnd(5) - 2 },
                       .other = { rnd(3), rnd(7) - 3 },
                       .step = 1 + rnd(2),
                       .op = rnd(4),
                       .swap = rnd(2),
                       .moved = rnd(2) };
    return t;
}

static bool compare(int op, int64_t a, int64_t b)
{
    return op == 0 ? a < b : op == 1 ? a <= b : op == 2 ? a > b : a >= b;
}

/* ---- the graph ---- */

struct build {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    rill_error err;
};

static uint32_t number(struct build *b, struct line l)
{
    struct tensor *t = tensor_new(&b->arena, l.k ? DTYPE_DIM : DTYPE_I64, 0, NULL);
    const struct dim *d =
        dim_add_int(b->dims, dim_mul_int(b->dims, dim_symbol(b->dims, "S"), l.k), l.c);
    if (l.k)
        *(const struct dim **) t->data = d;
    else
        *(int64_t *) t->data = l.c;
    return graph_add_const(&b->m.g, "number", t);
}

static uint32_t node(struct build *b, const char *op, uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t in[3] = { x, y, z }, out = graph_add_wire(&b->m.g, op, NULL);
    graph_add_node(&b->m.g, op_find(op), op, NULL, in, z == WIRE_NONE ? 2 : 3, &out, 1);
    return out;
}

static uint32_t cast_to(struct build *b, enum dtype type, uint32_t x)
{
    const struct attr to = { .name = "to", .kind = ATTR_INT, .i = type };
    const struct op *op = op_by_id(OP_CAST);
    void *attr = arena_alloc(&b->arena, op->attr_bytes);
    uint32_t out = graph_add_wire(&b->m.g, "cast", NULL);
    attrs_parse(op, "cast", &to, 1, attr, &b->err);
    graph_add_node(&b->m.g, op, "cast", attr, &x, 1, &out, 1);
    return out;
}

static void graph_make(struct build *b, const struct trial *t)
{
    struct fact f = { .type = DTYPE_F32, .rank = 1, .shape = { dim_symbol(b->dims, "S") } };
    int64_t two = 2, ends[2] = { -1, 1 };
    struct tensor *shape = tensor_new(&b->arena, DTYPE_I64, 1, &two);
    memcpy(shape->data, ends, sizeof ends);
    graph_init(&b->m.g, &b->arena, b->dims, "g");
    graph_add_input(&b->m.g, "x", &f);
    uint32_t r = node(b, "Range", number(b, t->start), number(b, t->limit),
                      number(b, (struct line) { 0, t->step }));
    r = node(b, "Add", r, number(b, t->add), WIRE_NONE);
    if (t->cast)
        r = cast_to(b, t->cast, r);
    if (t->moved)
        r = node(b, "Unsqueeze", r, graph_add_const(&b->m.g, "axes", shape), WIRE_NONE);
    uint32_t o = number(b, t->other);
    if (t->cast == DTYPE_F32) /* as torch.full makes it: 0 and the size */
        o = node(b, "Add",
                 graph_add_const(&b->m.g, "zero", tensor_new(&b->arena, t->cast, 0, NULL)),
                 cast_to(b, t->cast, o), WIRE_NONE);
    graph_add_output(&b->m.g, node(b, ops[t->op], t->swap ? o : r, t->swap ? r : o, WIRE_NONE));
}

static bool values_right(const struct trial *t, const struct tensor *y, int64_t s)
{
    int64_t from = line_at(t->start, s), to = line_at(t->limit, s),
            n = to > from ? (to - from + t->step - 1) / t->step : 0;
    if (tensor_count(y) != n ||
        (y->type != DTYPE_BOOL && y->type != DTYPE_I64)) /* truth about sizes alone is a size */
        return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t a = from + i * t->step + t->add.c, o = line_at(t->other, s);
        if (tensor_get_i64(y, y->data, i) != compare(t->op, t->swap ? o : a, t->swap ? a : o))
            return false;
    }
    return true;
}

/* ret_decided: the comparison is gone. */
static bool trial_run(const struct trial *t, bool *ret_decided, rill_error *err)
{
    struct build b = { .dims = dims_new() };
    struct tgraph g;
    bool ok = dims_assert(b.dims, "S >= 0", err) == RILL_OK;
    graph_make(&b, t);
    ok = ok && tgraph_from_mgraph(&g, &b.m, NULL, err) == RILL_OK;
    *ret_decided = ok;
    for (uint32_t i = 0; ok && i < g.g.n_nodes; i++)
        *ret_decided &= strcmp(g.g.nodes[i].op->name, ops[t->op]) != 0;
    for (int64_t s = 0; ok && s < 9; s++) {
        struct tensor *x = tensor_new(&b.arena, DTYPE_F32, 1, &s);
        const struct tensor *in = x, *y = NULL;
        ok = interp_run(&g.g, &in, &b.arena, &y, err) == RILL_OK && values_right(t, y, s);
    }
    arena_drop(&b.arena);
    dims_free(b.dims);
    return ok;
}

/* Nodes whose one output has no name: nothing is written for them. */
static void nameless_test(void)
{
    struct build b = { .dims = dims_new() };
    struct tgraph g;
    struct fact f = { .type = DTYPE_F32, .rank = 1, .shape = { dim_symbol(b.dims, "S") } };
    int64_t many = 2048;
    graph_init(&b.m.g, &b.arena, b.dims, "g");
    graph_add_output(&b.m.g, graph_add_input(&b.m.g, "x", &f));
    static const struct attr to = { .name = "to", .kind = ATTR_INT, .i = DTYPE_F32 };
    const struct op *cast = op_by_id(OP_CAST);
    void *attr = arena_alloc(&b.arena, cast->attr_bytes);
    uint32_t in[2] = { number(&b, (struct line) { 1, 0 }),
                       graph_add_const(&b.m.g, "large",
                                       tensor_new(&b.arena, DTYPE_F32, 1, &many)) };
    uint32_t nobody = WIRE_NONE;
    attrs_parse(cast, "cast", &to, 1, attr, &b.err);
    graph_add_node(&b.m.g, cast, "cast", attr, in, 1, &nobody, 1);
    graph_add_node(&b.m.g, op_by_id(OP_IDENTITY), "same", NULL, in + 1, 1, &nobody, 1);
    rill_status s =
        tgraph_from_mgraph(&g, &b.m, &(struct typed_opts) { .fold_bytes_max = 1024 }, &b.err);
    CHECK(s == RILL_OK && g.g.n_nodes == 1, "outputs without a name: %s", b.err.text);
    arena_drop(&b.arena);
    dims_free(b.dims);
}

int main(void)
{
    nameless_test();
    int decided = 0;
    for (int i = 0; i < N_GRAPHS; i++) {
        struct trial t = trial_random();
        rill_error err = { RILL_OK, "" };
        bool gone = false, ok = trial_run(&t, &gone, &err);
        decided += gone;
        for (int k = 0; k < 2; k++) {
            bool gone_too = false;
            t.cast = k ? DTYPE_F32 : DTYPE_I64;
            CHECK(trial_run(&t, &gone_too, &err) &&
                      (gone_too == gone || (k && t.start.k)), /* a Range of a few sizes is sizes */
                  "graph %d: a Cast to %s hides what is compared: %s", i, dtype_name(t.cast),
                  err.text);
        }
        CHECK(ok, "(%d*S + %d .. %d*S + %d by %d) + %d %s %d*S + %d, swapped %d: %s", t.start.k,
              t.start.c, t.limit.k, t.limit.c, t.step, t.add.c, ops[t.op], t.other.k, t.other.c,
              t.swap, err.text);
    }
    CHECK(decided > N_GRAPHS / 10 && decided < N_GRAPHS, "%d of %d decided", decided, N_GRAPHS);
    return check_done();
}
