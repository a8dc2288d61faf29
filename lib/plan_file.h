/* SPDX-License-Identifier: MIT */
/* plan_file.h - plans out of compiled files (engine/plan/file). */
#ifndef RILL_LIB_PLAN_FILE_H
#define RILL_LIB_PLAN_FILE_H
#include "lib/plan_internal.h"

/* The settled graph of p->model's file into p->settled, how it streams into p->pgraph and
 * p->symbol, its packed weights and the limit of what the plan may take into ret: they lie in the
 * file, which the model keeps.
 * UNSUPPORTED where it is for another pulse than asked for (0: any) or another instruction set than
 * cpu; MALFORMED with the reason. */
rill_status plan_file_graph(rill_plan *p, uint32_t pulse_frames, const char *cpu,
                            struct plan_opts *ret, rill_error *reterr);
#endif
