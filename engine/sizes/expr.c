/* SPDX-License-Identifier: MIT */
#include "engine/sizes/expr.h"

#include "engine/base/checked.h"

enum kind { KIND_CONSTANT, KIND_AXIS, KIND_ELEMENT, KIND_VARIABLE, KIND_MAX_OVER, KIND_OP };

struct size_node {
    enum kind kind;
    enum size_op op;
    uint32_t a, b;     /* operands; SIZE_NONE: none */
    uint32_t tensor;   /* of leaves */
    uint32_t variable; /* its number; of a range: what it binds */
    int64_t value;     /* of a constant; the axis of KIND_AXIS */
    uint32_t free;     /* bit k: variable k is read and not bound */
    uint32_t depth, parts;
};

/* ---- making them ---- */

static uint32_t node_add(struct sizes *s, struct size_node n)
{
    const uint32_t operand[] = { n.a, n.b };
    n.parts = 1;
    for (int i = 0; i < 2; i++) {
        if (operand[i] == SIZE_NONE)
            continue;
        const struct size_node *o = &s->nodes[operand[i]];
        n.free |= o->free;
        n.depth = o->depth + 1 > n.depth ? o->depth + 1 : n.depth;
        n.parts += o->parts;
    }
    struct size_node *list = n.depth < SIZE_DEPTH_MAX && n.parts <= SIZE_PARTS_MAX
        ? arena_grow(s->arena, s->nodes, s->n_nodes, &s->cap_nodes, sizeof *list)
        : NULL;
    if (!list)
        return SIZE_NONE;
    s->nodes = list;
    list[s->n_nodes] = n;
    return s->n_nodes++;
}

static uint32_t leaf_add(struct sizes *s, struct size_node n)
{
    uint32_t *list = arena_grow(s->arena, s->leaves, s->n_leaves, &s->cap_leaves, sizeof *list),
             e = list ? node_add(s, n) : SIZE_NONE;
    if (list)
        s->leaves = list;
    if (e != SIZE_NONE)
        list[s->n_leaves++] = e;
    return e;
}

uint32_t size_constant(struct sizes *s, int64_t value)
{
    return node_add(s,
                    (struct size_node) {
                        .kind = KIND_CONSTANT, .a = SIZE_NONE, .b = SIZE_NONE, .value = value });
}

uint32_t size_of_axis(struct sizes *s, uint32_t tensor, int axis)
{
    return leaf_add(s,
                    (struct size_node) { .kind = KIND_AXIS,
                                         .a = SIZE_NONE,
                                         .b = SIZE_NONE,
                                         .tensor = tensor,
                                         .value = axis });
}

uint32_t size_element(struct sizes *s, uint32_t tensor, uint32_t at)
{
    if (at == SIZE_NONE)
        return SIZE_NONE;
    return leaf_add(s,
                    (struct size_node) {
                        .kind = KIND_ELEMENT, .a = at, .b = SIZE_NONE, .tensor = tensor });
}

uint32_t size_of(struct sizes *s, enum size_op op, uint32_t a, uint32_t b)
{
    if (a == SIZE_NONE || b == SIZE_NONE)
        return SIZE_NONE;
    return node_add(s, (struct size_node) { .kind = KIND_OP, .op = op, .a = a, .b = b });
}

uint32_t size_variable(struct sizes *s)
{
    if (s->n_variables == SIZE_VARIABLES_MAX)
        return SIZE_NONE;
    const uint32_t k = s->n_variables++;
    return node_add(s,
                    (struct size_node) { .kind = KIND_VARIABLE,
                                         .a = SIZE_NONE,
                                         .b = SIZE_NONE,
                                         .variable = k,
                                         .free = 1u << k });
}

uint32_t size_max_over(struct sizes *s, uint32_t variable, uint32_t trips, uint32_t body)
{
    if (variable == SIZE_NONE || trips == SIZE_NONE || body == SIZE_NONE ||
        s->nodes[variable].kind != KIND_VARIABLE)
        return SIZE_NONE;
    const uint32_t k = s->nodes[variable].variable,
                   e = node_add(s,
                                (struct size_node) {
                                    .kind = KIND_MAX_OVER, .a = trips, .b = body, .variable = k });
    if (e != SIZE_NONE)
        s->nodes[e].free = s->nodes[trips].free | (s->nodes[body].free & ~(1u << k));
    return e;
}

/* ---- the operations ---- */

static bool less(int64_t a, int64_t b, int64_t *ret)
{
    *ret = a < b;
    return true;
}

static bool less_or_equal(int64_t a, int64_t b, int64_t *ret)
{
    *ret = a <= b;
    return true;
}

static bool equal(int64_t a, int64_t b, int64_t *ret)
{
    *ret = a == b;
    return true;
}

/* Where a value goes as a variable grows. */
enum trend { TREND_NONE = 0, TREND_UP = 1, TREND_DOWN = -1, TREND_UNKNOWN = 2 };

/* false: more than 63 bits. to_a, to_b: where the result goes as that operand grows. */
static const struct {
    bool (*apply)(int64_t a, int64_t b, int64_t *ret);
    enum trend to_a, to_b;
    const char *name;
} ops[SIZE_OPS] = {
    [SIZE_ADD] = { int_add, TREND_UP, TREND_UP, "+" },
    [SIZE_SUB] = { int_sub, TREND_UP, TREND_DOWN, "-" },
    [SIZE_MUL] = { int_mul, TREND_UNKNOWN, TREND_UNKNOWN, "*" },
    [SIZE_DIV_FLOOR] = { int_div_floor, TREND_UNKNOWN, TREND_UNKNOWN, "/" },
    [SIZE_DIV_CEIL] = { int_div_ceil, TREND_UNKNOWN, TREND_UNKNOWN, "/" },
    [SIZE_MIN_OF] = { int_min, TREND_UP, TREND_UP, "min" },
    [SIZE_MAX_OF] = { int_max, TREND_UP, TREND_UP, "max" },
    [SIZE_LESS] = { less, TREND_DOWN, TREND_UP, "<" },
    [SIZE_LESS_OR_EQUAL] = { less_or_equal, TREND_DOWN, TREND_UP, "<=" },
    [SIZE_EQUAL] = { equal, TREND_UNKNOWN, TREND_UNKNOWN, "==" },
};

/* ---- the walk ---- */

struct walk {
    const struct sizes *s;
    const struct size_source *sources;
    int64_t variable[SIZE_VARIABLES_MAX];
    rill_error *err;
};

static rill_status value_of(struct walk *w, uint32_t e, int64_t *ret);

static rill_status constant_value(struct walk *w, const struct size_node *n, int64_t *ret)
{
    (void) w;
    *ret = n->value;
    return RILL_OK;
}

static rill_status axis_value(struct walk *w, const struct size_node *n, int64_t *ret)
{
    const struct tensor *t = w->sources[n->tensor].t;
    if (n->value < 0 || n->value >= t->rank)
        return err_set(w->err, RILL_INVALID, "a size is that of axis %lld of a tensor of %d axes",
                       (long long) n->value, t->rank);
    *ret = t->dim[n->value];
    return RILL_OK;
}

static rill_status cut_value(struct walk *w, double x, int64_t *ret)
{
    if (!(x > -0x1p63 && x < 0x1p63))
        return err_set(w->err, RILL_INVALID,
                       "a size is made of %g, which is no whole number of 64 bits", x);
    *ret = (int64_t) x;
    return RILL_OK;
}

static rill_status element_value(struct walk *w, const struct size_node *n, int64_t *ret)
{
    const struct tensor *t = w->sources[n->tensor].t;
    int64_t at;
    TRY(value_of(w, n->a, &at));
    if (at < 0 || at >= tensor_count(t))
        return err_set(w->err, RILL_INVALID, "a size reads element %lld of a tensor of %lld",
                       (long long) at, (long long) tensor_count(t));
    if (dtype_is_float(t->type))
        return cut_value(w, tensor_get_f64(t, t->data, at), ret);
    *ret = tensor_get_i64(t, t->data, at);
    return RILL_OK;
}

static rill_status variable_value(struct walk *w, const struct size_node *n, int64_t *ret)
{
    *ret = w->variable[n->variable];
    return RILL_OK;
}

static rill_status op_value(struct walk *w, const struct size_node *n, int64_t *ret)
{
    int64_t a, b;
    TRY(value_of(w, n->a, &a));
    TRY(value_of(w, n->b, &b));
    if ((n->op == SIZE_DIV_FLOOR || n->op == SIZE_DIV_CEIL) && b == 0)
        return err_set(w->err, RILL_INVALID, "a size is %lld divided by zero", (long long) a);
    if (!ops[n->op].apply(a, b, ret))
        return err_set(w->err, RILL_LIMIT, "a size is %lld %s %lld, which takes more than 63 bits",
                       (long long) a, ops[n->op].name, (long long) b);
    return RILL_OK;
}

/* How b turns the trend of a: a factor or divisor that stays, by its sign. */
static rill_status trend_by_sign(struct walk *w, enum trend of, uint32_t factor, enum trend *ret)
{
    int64_t v;
    TRY(value_of(w, factor, &v));
    *ret = of == TREND_UNKNOWN || v > 0 ? of : v == 0 ? TREND_NONE : (enum trend) - (int) of;
    return RILL_OK;
}

static enum trend turned(enum trend operand, enum trend to)
{
    return operand == TREND_NONE                          ? TREND_NONE
        : operand == TREND_UNKNOWN || to == TREND_UNKNOWN ? TREND_UNKNOWN
                                                          : (enum trend)((int) operand * (int) to);
}

static enum trend joined(enum trend a, enum trend b)
{
    return a == TREND_NONE ? b : b == TREND_NONE || a == b ? a : TREND_UNKNOWN;
}

/* Where e goes as variable k grows, the others as they are. */
static rill_status trend_of(struct walk *w, uint32_t e, uint32_t k, enum trend *ret)
{
    const struct size_node *n = &w->s->nodes[e];
    enum trend a, b;
    *ret = n->kind == KIND_VARIABLE ? TREND_UP : TREND_UNKNOWN;
    if (!(n->free >> k & 1))
        *ret = TREND_NONE;
    if (*ret != TREND_UNKNOWN || n->kind != KIND_OP)
        return RILL_OK;
    TRY(trend_of(w, n->a, k, &a));
    TRY(trend_of(w, n->b, k, &b));
    const bool divides = n->op == SIZE_DIV_FLOOR || n->op == SIZE_DIV_CEIL;
    if (b == TREND_NONE && (n->op == SIZE_MUL || divides))
        return trend_by_sign(w, a, n->b, ret);
    if (a == TREND_NONE && n->op == SIZE_MUL)
        return trend_by_sign(w, b, n->a, ret);
    *ret = joined(turned(a, ops[n->op].to_a), turned(b, ops[n->op].to_b));
    return RILL_OK;
}

static rill_status body_value(struct walk *w, const struct size_node *n, int64_t at, int64_t *ret)
{
    w->variable[n->variable] = at;
    return value_of(w, n->b, ret);
}

/* Every part of a body that goes one way has its extremes at the ends: so has an overflow. */
static rill_status ends_value(struct walk *w, const struct size_node *n, int64_t trips,
                              int64_t *ret)
{
    int64_t first, last;
    TRY(body_value(w, n, 0, &first));
    TRY(body_value(w, n, trips - 1, &last));
    *ret = first > last ? first : last;
    return RILL_OK;
}

static rill_status range_value(struct walk *w, const struct size_node *n, int64_t trips,
                               int64_t *ret)
{
    int64_t most = INT64_MIN, v;
    enum trend trend;
    if (trips > (int64_t) SIZE_TRIPS_MAX)
        return err_set(w->err, RILL_LIMIT, "a size is the maximum over %lld values, at most %u",
                       (long long) trips, SIZE_TRIPS_MAX);
    w->variable[n->variable] = 0;
    TRY(trend_of(w, n->b, n->variable, &trend));
    if (trend != TREND_UNKNOWN)
        return ends_value(w, n, trips, ret);
    for (int64_t i = 0; i < trips; i++) {
        TRY(body_value(w, n, i, &v));
        most = v > most ? v : most;
    }
    *ret = most;
    return RILL_OK;
}

static rill_status max_over_value(struct walk *w, const struct size_node *n, int64_t *ret)
{
    int64_t trips;
    TRY(value_of(w, n->a, &trips));
    *ret = 0;
    if (trips <= 0)
        return RILL_OK;
    const int64_t outer = w->variable[n->variable];
    TRY(range_value(w, n, trips, ret));
    w->variable[n->variable] = outer;
    return RILL_OK;
}

static rill_status value_of(struct walk *w, uint32_t e, int64_t *ret)
{
    static rill_status (*const of_kind[])(struct walk *, const struct size_node *, int64_t *) = {
        [KIND_CONSTANT] = constant_value, [KIND_AXIS] = axis_value,
        [KIND_ELEMENT] = element_value,   [KIND_VARIABLE] = variable_value,
        [KIND_MAX_OVER] = max_over_value, [KIND_OP] = op_value,
    };
    const struct size_node *n = &w->s->nodes[e];
    return of_kind[n->kind](w, n, ret);
}

rill_status size_value(const struct sizes *s, uint32_t e, const struct size_source *sources,
                       int64_t *ret, rill_error *reterr)
{
    struct walk w = { .s = s, .sources = sources, .err = reterr };
    int64_t v;
    if (e == SIZE_NONE)
        return err_set(reterr, RILL_LIMIT,
                       "a size is an expression of more than %d levels or %d parts", SIZE_DEPTH_MAX,
                       SIZE_PARTS_MAX);
    if (s->nodes[e].free)
        return err_set(reterr, RILL_INTERNAL, "a size reads a variable outside of its range");
    TRY(value_of(&w, e, &v));
    *ret = v;
    return RILL_OK;
}

/* ---- leaves ---- */

struct size_leaf size_leaf_at(const struct sizes *s, uint32_t leaf)
{
    const struct size_node *n = &s->nodes[s->leaves[leaf]];
    return (struct size_leaf) { n->tensor, n->kind == KIND_AXIS ? (int) n->value : -1 };
}

static void leaves_below(const struct sizes *s, uint32_t e, bool *ret_read)
{
    const struct size_node *n = &s->nodes[e];
    for (uint32_t i = 0; i < s->n_leaves; i++)
        ret_read[i] |= s->leaves[i] == e;
    if (n->a != SIZE_NONE)
        leaves_below(s, n->a, ret_read);
    if (n->b != SIZE_NONE)
        leaves_below(s, n->b, ret_read);
}

void size_leaves_mark(const struct sizes *s, uint32_t e, bool *ret_read)
{
    if (e != SIZE_NONE)
        leaves_below(s, e, ret_read);
}
