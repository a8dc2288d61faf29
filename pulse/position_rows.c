/* SPDX-License-Identifier: MIT */
#include "pulse/position_rows.h"
#include "engine/ops/attrs.h"
#include "pulse/positions.h"
#include "pulse/tracks.h"

#include <stdio.h>

/* e with each coordinate at the end of its axis where the sum is the largest (side 1) or the least
 * (-1), in the graph's scope; NULL: it is no sum of coordinates. */
static const struct dim *extreme(const struct pulser *p, uint32_t w, int side)
{
    const struct positions *ps = p->positions;
    const struct fact *f = pulser_fact(p, w);
    struct dims *ds = ps->dims;
    const struct dim *e = ps->of[w].e;
    for (int a = 0; e && a < f->rank; a++) {
        const struct dim *size = positions_dim(ps, f->shape[a], p->symbol), *at = ps->axis[a],
                         *less = dim_subst(ds, e, at, dim_int(ds, 0)),
                         *step = dim_sub(ds, dim_subst(ds, e, at, dim_int(ds, 1)), less);
        if (!size || !dim_is_const(step) ||
            dim_add(ds, less, dim_mul_int(ds, at, dim_value(step))) != e)
            return NULL;
        if (dim_value(step) * side > 0)
            less = dim_subst(ds, e, at, dim_add_int(ds, size, -1));
        e = less;
    }
    return e ? positions_length(ps, e, p->symbol) : NULL;
}

/* ge0 >= 0 where src wire w, along time, has an element. */
static rill_status natural_claim(struct pulser *p, uint32_t w, const struct dim *ge0,
                                 enum dim_claim_kind kind)
{
    struct dims *ds = p->src->dims;
    const struct fact *f = pulser_fact(p, w);
    char size[160], text[200];
    if (dim_is_natural(ds, ge0))
        return RILL_OK;
    dim_print(ge0, size, sizeof size);
    snprintf(text, sizeof text, "%s >= 0", size);
    for (int a = 0; a < f->rank; a++)
        if (axis_is_time(p, w, a))
            ge0 = dim_max(ds, ge0, dim_mul_int(ds, f->shape[a], -1));
    return dims_claim_add(ds, kind, text, ge0, p->err);
}

rill_status position_rows_claim(struct pulser *p, uint32_t w, int64_t rows,
                                enum dim_claim_kind kind, bool *ret_told)
{
    struct dims *ds = p->src->dims;
    const bool known = p->positions && p->positions->of[w].e && !p->positions->of[w].pair;
    const struct dim *most = known ? extreme(p, w, 1) : NULL,
                     *least = known ? extreme(p, w, -1) : NULL;
    *ret_told = most && least;
    if (!*ret_told)
        return RILL_OK;
    TRY(natural_claim(p, w, dim_sub(ds, dim_int(ds, rows - 1), most), kind));
    return natural_claim(p, w, dim_add_int(ds, least, rows), kind);
}

rill_status position_rows_folded(struct pulser *p)
{
    static const enum op_id picks[] = { OP_GATHER, OP_GATHER_ELEMENTS };
    const struct position *of = p->positions->of;
    int axes[2];
    bool told;
    for (uint32_t i = 0; i < p->src->n_nodes; i++) {
        const struct node *n = &p->src->nodes[i];
        if (!node_is_among(n, picks, sizeof picks / sizeof *picks) || n->out[0] == WIRE_NONE ||
            !of[n->out[0]].e || time_axes(p, n->in[1], axes) == 0)
            continue;
        const struct fact *table = pulser_fact(p, n->in[0]);
        const struct dim *rows = table->shape[axis_normalise(axis_of(n), table->rank)];
        if (dim_is_const(rows))
            TRY(position_rows_claim(p, n->in[1], dim_value(rows), DIM_CLAIM_TABLE, &told));
    }
    return RILL_OK;
}
