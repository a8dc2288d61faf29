/* SPDX-License-Identifier: MIT */
#include "tools/inspect_axes.h"
#include "engine/ops/attrs.h"
#include "pulse/axes.h"
#include "lib/plan_internal.h"
#include "tools/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 112
#define OPS_MAX 1024

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct op *const *) a)->name, (*(const struct op *const *) b)->name);
}

static bool is_elementwise(const struct op *op)
{
    const struct axis_row *r = axis_row_of(op);
    return r->own == AXIS_POINTWISE && !r->at && r->op == OP_NONE;
}

static void row_print(const struct op *op)
{
    const struct axis_row *r = axis_row_of(op);
    bool others = r->map || (r->rule && (!r->at || strcmp(r->at, "all")));
    const char *along = !r->at ? "-" : r->streams ? "streams" : "refused";
    const char *apart = others && r->source ? "streams, makes time"
        : others                            ? "streams"
        : r->source                         ? "makes time"
                                            : "-";
    printf("%-21s  %-10s  %-33s  %-7s  %s%s%s\n", op->name, axis_class_name(r->own),
           r->at ? r->at : "-", along, apart, r->way ? "; " : "", r->way ? r->way : "");
}

static void names_print(const struct op *const *ops, unsigned n)
{
    size_t column = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t wide = strlen(ops[i]->name) + 1;
        if (!is_elementwise(ops[i]))
            continue;
        const char *before = !column ? "" : column + wide > COLUMNS ? "\n" : " ";
        column = *before == '\n' ? wide : column + wide;
        printf("%s%s", before, ops[i]->name);
    }
    putchar('\n');
}

int axes_print(void)
{
    const struct op *ops[OPS_MAX];
    unsigned n = 0;
    while (n < OPS_MAX && (ops[n] = op_at(n)))
        n++;
    qsort(ops, n, sizeof *ops, by_name);
    printf("%-21s  %-10s  %-33s  %-7s  %s\n", "op", "it is", "along these axes", "there",
           "along others; where it is refused");
    for (unsigned i = 0; i < n; i++)
        if (!is_elementwise(ops[i]))
            row_print(ops[i]);
    printf("\nPointwise along every axis:\n");
    names_print(ops, n);
    return TOOL_OK;
}

static int64_t dilation_of(const struct node *n, int axis)
{
    static const enum op_id dilated[] = { OP_AVERAGE_POOL, OP_CONV, OP_CONV_TRANSPOSE, OP_LP_POOL,
                                          OP_MAX_POOL };
    if (!node_is_among(n, dilated, sizeof dilated / sizeof *dilated))
        return 1;
    const struct attr_ints d = window_attr_of(n)->dilations;
    return axis >= 2 && (uint32_t) (axis - 2) < d.n ? d.v[axis - 2] : 1;
}

void windows_print(const rill_model *m, const rill_plan *p)
{
    const struct graph *g = &m->decluttered.g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        const struct axis_window *w = &p->pgraph.windows[i];
        int axis = n->n_in && n->in[0] != WIRE_NONE ? p->pgraph.trace[n->in[0]].fact.axis : -1;
        if (w->is && axis >= 0)
            printf("%s (%s): axis %d, window(left %lld, right %lld, stride %lld, dilation %lld)\n",
                   n->name, n->op->name, axis, (long long) w->left, (long long) w->right,
                   (long long) w->stride, (long long) dilation_of(n, axis));
    }
}
