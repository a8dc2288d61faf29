/* SPDX-License-Identifier: MIT */
#include "pulse/cut.h"
#include "pulse/refusal.h"

rill_status pgraph_from_dgraph(struct pgraph *ret, const struct dgraph *t, const struct dim *symbol,
                               int64_t pulse, const struct pulse_opts *opts, struct arena *a,
                               rill_error *reterr)
{
    struct pulser p;
    rill_status status = pgraph_cut(ret, t, symbol, pulse, opts, a, &p, reterr);
    if (status == RILL_UNSUPPORTED)
        refusal_explain(&p, t);
    return status;
}
