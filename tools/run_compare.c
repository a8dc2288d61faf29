/* SPDX-License-Identifier: MIT */
#include "engine/graph/op.h"
#include "tools/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- with a reference ---- */

static void type_print(const struct tensor *t, int skip, char *buf, size_t cap)
{
    size_t at = (size_t) snprintf(buf, cap, "%s[", dtype_name(t->type));
    for (int i = skip; i < t->rank && at < cap; i++)
        at += (size_t) snprintf(buf + at, cap - at, "%s%lld", i > skip ? "," : "",
                                (long long) t->dim[i]);
    if (at < cap)
        snprintf(buf + at, cap - at, "]");
}

static bool is_exact(enum dtype t)
{
    return !dtype_is_float(t);
}

/* Floats of other widths are compared by their numbers, small integers with the bytes that hold
 * them. */
static bool shapes_agree(const struct tensor *got, const struct tensor *want, int skip)
{
    bool same = (want->type == got->type || want->type == npy_type(got->type) ||
                 (!is_exact(got->type) && !is_exact(want->type))) &&
        want->rank == got->rank + skip;
    for (int i = 0; same && i < got->rank; i++)
        same = got->dim[i] == want->dim[i + skip];
    return same;
}

/* "[0,2,17]" of element i */
static void index_print(const struct tensor *t, int64_t i, char *buf, size_t cap)
{
    int64_t stride[RANK_MAX];
    size_t at = (size_t) snprintf(buf, cap, "[");
    tensor_strides(t, stride);
    for (int k = 0; k < t->rank && at < cap; k++) {
        at += (size_t) snprintf(buf + at, cap - at, "%s%lld", k ? "," : "",
                                (long long) (i / stride[k]));
        i %= stride[k];
    }
    if (at < cap)
        snprintf(buf + at, cap - at, "]");
}

static double difference(const struct tensor *got, const struct tensor *want, const void *want_data,
                         int64_t i, const struct run_tolerance *tolerance, bool *ret_close)
{
    double a = tensor_get_f64(got, got->data, i), b = tensor_get_f64(want, want_data, i);
    double apart = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
    const size_t n = dtype_bytes(got->type);
    *ret_close = is_exact(got->type) ? !memcmp((const char *) got->data + (size_t) i * n,
                                               (const char *) want_data + (size_t) i * n, n)
                                     : apart == 0 ||
            (isfinite(b) && apart <= tolerance->absolute + tolerance->relative * fabs(b));
    return isnan(apart) ? (double) INFINITY : apart;
}

void run_compare(struct run_compared *c, const struct tensor *got, int64_t step, int64_t n_steps,
                 const struct run_tolerance *tolerance)
{
    const int skip = n_steps > 1;
    char have[100], want[100], index[100];
    if (!shapes_agree(got, c->want, skip) || (skip && c->want->dim[0] != n_steps)) {
        type_print(got, 0, have, sizeof have);
        type_print(c->want, 0, want, sizeof want);
        if (!c->differs)
            snprintf(c->where, sizeof c->where, "is %s%s, the reference %s", have,
                     skip ? " in each step" : "", want);
        c->differs = true;
        c->most = INFINITY;
        return;
    }
    const size_t bytes = (size_t) tensor_count(got) * dtype_bytes(c->want->type);
    const char *data = (const char *) c->want->data + (size_t) step * bytes * skip;
    for (int64_t i = 0, n = tensor_count(got); i < n; i++) {
        bool close;
        double apart = difference(got, c->want, data, i, tolerance, &close);
        c->most = apart > c->most ? apart : c->most;
        if (close || c->differs)
            continue;
        c->differs = true;
        index_print(got, i, index, sizeof index);
        int at = skip ? snprintf(c->where, sizeof c->where, "in step %lld ", (long long) step) : 0;
        snprintf(c->where + at, sizeof c->where - (size_t) at, "at %s is %.9g, the reference %.9g",
                 index, tensor_get_f64(got, got->data, i), tensor_get_f64(c->want, data, i));
    }
}

/* ---- ops ---- */

void run_wire_print(const char *name, const struct tensor *t)
{
    double least = INFINITY, most = -INFINITY;
    int64_t n = tensor_count(t), shown = n < 4 ? n : 4;
    for (int64_t i = 0; i < n; i++) {
        double v = tensor_get_f64(t, t->data, i);
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    printf("  %-36.60s %s[", name, dtype_name(t->type));
    for (int i = 0; i < t->rank; i++)
        printf("%s%lld", i ? "," : "", (long long) t->dim[i]);
    printf("]");
    if (n)
        printf(" %.6g .. %.6g:", least, most);
    for (int64_t i = 0; i < shown; i++)
        printf(" %.6g", tensor_get_f64(t, t->data, i));
    printf("%s\n", n > shown ? " .." : "");
}

/* In the order in which they are computed: inner wires, then outputs. */
int run_compared_print(const struct run_compared *list, uint32_t n, uint32_t n_out,
                       const struct npz *want, const struct graph *g)
{
    unsigned passed = 0, failed = 0;
    const char *first = NULL;
    for (uint32_t k = 0; k < n; k++) {
        const struct run_compared *c = &list[(k + n_out) % n];
        if (!c->want)
            continue;
        *(c->differs ? &failed : &passed) += 1;
        first = c->differs && !first ? c->name : first;
        printf("  %-5s %-36.60s largest difference %.3g%s%s\n", c->differs ? "FAIL" : "ok", c->name,
               c->most, c->differs ? "; first " : "", c->where);
    }
    for (uint32_t i = 0; i < want->n; i++) {
        bool known = g && graph_find_wire(g, want->list[i].name) != WIRE_NONE;
        for (uint32_t k = 0; !known && k < n; k++)
            known = !strcmp(list[k].name, want->list[i].name);
        if (!known)
            printf("  -     %-36.60s the graph has no such wire\n", want->list[i].name);
    }
    if (first)
        printf("the first that differs is '%s'\n", first);
    printf("%u passed, %u failed\n", passed, failed);
    return failed || !passed ? TOOL_FAILED : TOOL_OK;
}

const char *run_op_name(const struct run_op *o)
{
    return o->op->name;
}

static int op_order(const void *a, const void *b)
{
    return strcmp(run_op_name(a), run_op_name(b));
}

static void ops_count(const struct graph *g, struct run_op *list, unsigned *n)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *node = &g->nodes[i];
        unsigned k = 0;
        while (k < *n && list[k].op != node->op)
            k++;
        if (k == *n)
            list[(*n)++] = (struct run_op) { node->op, 0 };
        list[k].nodes++;
        for (unsigned b = 0; b < node->n_body; b++)
            ops_count(node->body[b], list, n);
    }
}

struct run_op *run_ops(const struct graph *g, unsigned *ret_n)
{
    struct run_op *list = tool_alloc((graph_count_nodes(g) + 1u) * sizeof *list);
    *ret_n = 0;
    ops_count(g, list, ret_n);
    qsort(list, *ret_n, sizeof *list, op_order);
    return list;
}
