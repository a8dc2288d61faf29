/* SPDX-License-Identifier: MIT */
/* declared.h - what a file says of the tensors that its nodes make, against what they turn out to
 * be. */
#ifndef RILL_ENGINE_TYPING_DECLARED_H
#define RILL_ENGINE_TYPING_DECLARED_H
#include "engine/graph/op.h"

/* n: what makes it. MALFORMED where `is`, of the typed graph, has another type, rank or size than d
 * says, or than `like`, what became of d's wire; sizes that are no numbers yet fit any. Each may be
 * NULL: nothing is said, nothing is made. */
rill_status declared_check(const struct node *n, const struct declared *d, const struct fact *is,
                           const struct fact *like, rill_error *reterr);
#endif
