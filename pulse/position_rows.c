/* SPDX-License-Identifier: MIT */
#include "pulse/position_rows.h"
#include "pulse/positions.h"

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

static rill_status natural_claim(struct pulser *p, const struct dim *ge0, enum dim_claim_kind kind)
{
    struct dims *ds = p->dst->dims;
    char size[160], text[200];
    if (dim_is_natural(ds, ge0))
        return RILL_OK;
    dim_print(ge0, size, sizeof size);
    snprintf(text, sizeof text, "%s >= 0", size);
    return dims_claim_add(ds, kind, text, ge0, p->err);
}

rill_status position_rows_claim(struct pulser *p, uint32_t w, int64_t rows,
                                enum dim_claim_kind kind, bool *ret_told)
{
    struct dims *ds = p->dst->dims;
    const bool known = p->positions && p->positions->of[w].e && !p->positions->of[w].pair;
    const struct dim *most = known ? extreme(p, w, 1) : NULL,
                     *least = known ? extreme(p, w, -1) : NULL;
    *ret_told = most && least;
    if (!*ret_told)
        return RILL_OK;
    TRY(natural_claim(p, dim_sub(ds, dim_int(ds, rows - 1), most), kind));
    return natural_claim(p, dim_add_int(ds, least, rows), kind);
}
