/* SPDX-License-Identifier: MIT */
/* plan_file.h - plans out of compiled files (engine/planfile). */
#ifndef PULSE_PLAN_FILE_H
#define PULSE_PLAN_FILE_H
#include "pulse/plan_internal.h"

/* The pulsed graph of p->model's file into p->pgraph and p->symbol, its packed weights into ret_packs. UNSUPPORTED where it is for another pulse than asked for
 * (0: any) or another instruction set than cpu. */
rill_status plan_file_graph(rill_plan *p, uint32_t pulse_frames, const char *cpu, struct plan_opts *ret_packs, rill_error *reterr);
#endif
