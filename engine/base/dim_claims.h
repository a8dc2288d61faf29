/* SPDX-License-Identifier: MIT */
/* dim_claims.h - what nobody asserted, and yet has to hold of lengths. They are claims like others
 * (dim.h), of which dims_claim_broken tells. */
#ifndef RILL_ENGINE_BASE_DIM_CLAIMS_H
#define RILL_ENGINE_BASE_DIM_CLAIMS_H
#include "engine/base/dim.h"

enum dim_claim_kind {
    DIM_CLAIM_ASSERTED,
    DIM_CLAIM_STREAMS, /* for a stream to give what the whole run gives, which needs it not */
    DIM_CLAIM_NEEDED,  /* by an op, which refuses other lengths */
    DIM_CLAIM_WINDOW,  /* by an op, whose windows others are too short for */
    DIM_CLAIM_TABLE,   /* by a table that ends there, as a whole run does; a stream goes on */
    DIM_CLAIM_KINDS
};

rill_status dims_claim_add(struct dims *ds, enum dim_claim_kind kind, const char *text,
                           const struct dim *ge0, rill_error *reterr);
/* d >= 0 is assumed, and claimed for a window: at other lengths an op ends the whole run. */
rill_status dims_need_window(struct dims *ds, const struct dim *d, rill_error *reterr);
/* Until the end what is assumed is of a branch that may not run: of lengths that it does not hold
 * of the others may give something, so that it is claimed as needed, too. They may lie within each
 * other. */
void dims_branch_begin(struct dims *ds);
void dims_branch_end(struct dims *ds);

/* Of claim number i, which there is. */
enum dim_claim_kind dims_claim_kind(const struct dims *ds, unsigned i);

/* Of what dims_claim_broken tells, which there is. */
enum dim_claim_kind dims_claim_broken_kind(const struct dims *ds, const struct dim *symbol,
                                           int64_t v);

/* What an op or a stream needs and does not have with symbol bound to v, so that a stream that ends
 * so gives nothing more; NULL: nothing. No allocation. */
const char *dims_need_broken(const struct dims *ds, const struct dim *symbol, int64_t v);

/* d >= 0, as far as that is seen at once. */
bool dim_is_natural(struct dims *ds, const struct dim *d);
#endif
