/* SPDX-License-Identifier: MIT */
/* plan_file.h - plans out of compiled files (engine/plan/file). */
#ifndef RILL_LIB_PLAN_FILE_H
#define RILL_LIB_PLAN_FILE_H
#include "lib/plan_internal.h"

/* The plan of p->model's file: its settled graph into p->settled, how it streams into p->pgraph and
 * p->symbol. Packed weights lie in the file, which the model keeps; opts gets them, and the limit
 * of what the plan may take. UNSUPPORTED where it is for another pulse than asked for (0: any) or
 * another instruction set than cpu, or for 8-bit kernels that are not here; MALFORMED with the
 * reason. */
rill_status plan_from_file(rill_plan *p, uint32_t pulse_frames, const char *cpu,
                           struct plan_opts *opts, rill_error *reterr);
/* What stands before a claim of lengths in the file; 0 ends them. */
enum plan_claim { PLAN_CLAIM_ASSERTED = 1, PLAN_CLAIM_NEEDED, PLAN_CLAIM_WINDOW };
#endif
