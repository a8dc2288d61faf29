/* SPDX-License-Identifier: MIT */
/* rill run --audit: what a graph has and how much it multiplies, of an open length as an expression
 * of it. */
#include "engine/graph/op.h"
#include "engine/graph/subst.h"
#include "engine/plan/cost.h"
#include "tools/json.h"
#include "tools/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Lengths at which products are counted: what cuts frames into parts divides them. The last is
 * beyond whatever a model cuts lengths to. */
#define LENGTH_STEP 15360
enum { LENGTHS = 5, FIRST_LENGTHS = LENGTHS - 1, FAR_STEPS = 128 };

struct audit {
    const struct graph *g;
    const char *model;
    struct cost cost;
    const struct dim
        *symbol;             /* the one size that is open; NULL: none or several, or it is no sum */
    struct cost at[LENGTHS]; /* with 1, 2, .. steps of it, and FAR_STEPS */
};

static uint64_t constant_bytes(const struct graph *g)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < g->n_wires; i++)
        if (g->wires[i].node == WIRE_NONE && g->wires[i].fact.value && g->wires[i].fact.value->data)
            bytes += tensor_bytes(g->wires[i].fact.value);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            bytes += constant_bytes(g->nodes[i].body[b]);
    return bytes;
}

/* Of all ops (NULL), or of one. */
static uint64_t products_of(const struct cost *c, const struct op *op)
{
    for (unsigned k = 0; op && k < c->n_rows; k++)
        if (c->row[k].op == op)
            return c->row[k].multiply_adds;
    return op ? 0 : c->multiply_adds;
}

/* ---- of an open length ---- */

static void lengths_count(struct audit *a)
{
    const struct dim *symbol[2];
    struct arena arena = { 0 };
    struct graph g;
    if (!a->cost.open || graph_symbols(a->g, symbol, 0, 2) != 1)
        return;
    a->symbol = symbol[0];
    for (int i = 0; i < LENGTHS && a->symbol; i++) {
        const int64_t steps = i < FIRST_LENGTHS ? i + 1 : FAR_STEPS;
        const struct dim *length = dim_int(a->g->dims, LENGTH_STEP * steps);
        if (graph_substituted(&g, a->g, symbol[0], length, &arena, NULL) == RILL_OK)
            cost_of_graph(&g, &a->at[i]);
        else
            a->symbol = NULL;
        if (a->at[i].open)
            a->symbol = NULL;
    }
    arena_drop(&arena);
}

static int64_t divisor(int64_t a, int64_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* " - 5*S*S/2": a coefficient and its power of the symbol. */
static size_t term_print(char *buf, size_t cap, size_t at, int64_t num, int64_t den, int power,
                         const char *name)
{
    const int64_t by = divisor(num < 0 ? -num : num, den);
    if (!num || at >= cap)
        return at;
    at += (size_t) snprintf(buf + at, cap - at, "%s%" PRId64,
                            !at           ? ""
                                : num < 0 ? " - "
                                          : " + ",
                            at && num < 0 ? -num / by : num / by);
    for (int i = 0; i < power && at < cap; i++)
        at += (size_t) snprintf(buf + at, cap - at, "*%.60s", name);
    if (den != by && at < cap)
        at += (size_t) snprintf(buf + at, cap - at, "/%" PRId64, den / by);
    return at;
}

/* Products of op (NULL: all) as a polynomial of second degree, which the counts lie on; false: they
 * do not. */
static bool products_print(const struct audit *a, const struct op *op, char *buf, size_t cap)
{
    int64_t f[LENGTHS];
    for (int i = 0; i < LENGTHS; i++) {
        const uint64_t n = a->symbol ? products_of(&a->at[i], op) : UINT64_MAX;
        if (n > (uint64_t) INT64_MAX / 16)
            return false;
        f[i] = (int64_t) n;
    }
    const int64_t slope = f[1] - f[0], bend = f[2] - 2 * f[1] + f[0];
    const char *name = dim_name(a->symbol);
    const uint64_t steps = FAR_STEPS - 1,
                   far = (uint64_t) f[0] + steps * (uint64_t) slope +
        steps * (steps - 1) / 2 * (uint64_t) bend;
    if (f[3] - 2 * f[2] + f[1] != bend || (uint64_t) f[4] != far)
        return false;
    size_t n = term_print(buf, cap, 0, bend, 2 * (int64_t) LENGTH_STEP * LENGTH_STEP, 2, name);
    n = term_print(buf, cap, n, 2 * slope - 3 * bend, 2 * LENGTH_STEP, 1, name);
    n = term_print(buf, cap, n, f[0] - slope + bend, 1, 0, name);
    if (!n)
        snprintf(buf, cap, "0");
    return true;
}

/* ---- as words, as JSON ---- */

static void audit_print(const struct audit *a, const struct run_op *ops, unsigned n)
{
    char by[240];
    printf("%s: %u nodes, %llu bytes of constants\n", a->model, graph_count_nodes(a->g),
           (unsigned long long) constant_bytes(a->g));
    for (unsigned i = 0; i < n; i++) {
        const uint64_t products = products_of(&a->cost, ops[i].op);
        printf("  %-24s %6u", ops[i].op->name, ops[i].nodes);
        if (products_print(a, ops[i].op, by, sizeof by) && strcmp(by, "0") != 0)
            printf("  %s products", by);
        else if (products)
            printf("  %llu products", (unsigned long long) products);
        putchar('\n');
    }
    if (products_print(a, NULL, by, sizeof by))
        printf("  products in all: %s, of %s from %d on\n", by, dim_name(a->symbol), LENGTH_STEP);
    else
        printf("  products in all: %llu%s\n", (unsigned long long) a->cost.multiply_adds,
               a->cost.open ? ", and more where sizes are open (--shape, --set or data tells them)"
                            : "");
}

/* Where sizes are open the expression comes beside what is counted without them. */
static void products_add(json_t *j, const struct audit *a, const struct op *op)
{
    char by[240];
    json_object_set_new(j, "products", json_integer((json_int_t) products_of(&a->cost, op)));
    if (products_print(a, op, by, sizeof by))
        json_object_set_new(j, "products_by_size", json_text(by));
}

static void audit_json(const struct audit *a, const struct run_op *ops, unsigned n)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < n; i++) {
        json_t *row = json_pack("{s:s, s:i}", "op", ops[i].op->name, "nodes", (int) ops[i].nodes);
        products_add(row, a, ops[i].op);
        json_array_append_new(list, row);
    }
    json_t *j = json_pack("{s:o, s:i, s:I}", "model", json_text(a->model), "nodes",
                          (int) graph_count_nodes(a->g), "constant_bytes",
                          (json_int_t) constant_bytes(a->g));
    products_add(j, a, NULL);
    if (json_object_get(j, "products_by_size"))
        json_object_set_new(j, "products_by_size_from", json_integer(LENGTH_STEP));
    json_object_set_new(j, "open", json_boolean(a->cost.open));
    json_object_set_new(j, "ops", list);
    json_dumpf(j, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(j);
}

void run_audit(const struct graph *g, const char *model, bool json, bool last)
{
    unsigned n;
    struct run_op *ops = run_ops(g, &n);
    struct audit a = { .g = g, .model = model };
    cost_of_graph(g, &a.cost);
    if (last)
        lengths_count(&a);
    if (json)
        audit_json(&a, ops, n);
    else
        audit_print(&a, ops, n);
    free(ops);
}
