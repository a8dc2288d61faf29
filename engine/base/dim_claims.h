/* SPDX-License-Identifier: MIT */
/* dim_claims.h - what has to hold of lengths for a stream to give what the whole run gives; the
 * whole run of such a length needs nothing. They are claims like others (dim.h), of which
 * dims_claim_broken tells. */
#ifndef RILL_ENGINE_BASE_DIM_CLAIMS_H
#define RILL_ENGINE_BASE_DIM_CLAIMS_H
#include "engine/base/dim.h"

rill_status dims_claim_streams(struct dims *ds, const char *text, const struct dim *ge0,
                               rill_error *reterr);
/* Whether claim number i, which there is, is one of them. */
bool dims_claim_is_of_streams(const struct dims *ds, unsigned i);

/* d >= 0, as far as that is seen at once. */
bool dim_is_natural(struct dims *ds, const struct dim *d);
#endif
