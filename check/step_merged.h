/* SPDX-License-Identifier: MIT */
/* step_merged.h - decoders of two bodies, as optimum merges them: one If, whose condition is the
 * input use_cache_branch, around the first step, which has no cache, and all others. */
#ifndef RILL_CHECK_STEP_MERGED_H
#define RILL_CHECK_STEP_MERGED_H
#include "check/step_model.h"

/* A body gives nothing, a constant without elements, for caches that it only reads: their next
 * value is what they were. */
rill_status step_merged_keep(struct graph *g, const struct step_decl *d, rill_error *reterr);

/* The input that chooses the body is true from here on; nothing where there is none. */
rill_status step_merged_later(struct graph *g, rill_error *reterr);

/* Once the states are those of g: it is true where the first one that grows has a frame. */
rill_status step_merged_choose(struct graph *g, rill_error *reterr);
#endif
