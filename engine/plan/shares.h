/* SPDX-License-Identifier: MIT */
/* shares.h - steps whose work a crew shares, divided when the plan is made. */
#ifndef RILL_ENGINE_PLAN_SHARES_H
#define RILL_ENGINE_PLAN_SHARES_H
#include "engine/plan/lower.h"

/* Divides the work of node n of the graph, prepared as c says, where the plan has a crew and that
 * pays. */
rill_status node_divide(struct lower *l, const struct graph *g, const struct node *n,
                        struct prep *c, struct node_step *step);
/* Scratch that the step needs: as prepared, or that of all of its shares. */
size_t node_scratch_bytes(const struct prep *c, const struct node_step *step);
/* Once all steps are there: where it is too little in all to wake a crew for, none is divided. */
void shares_settle(struct lower *l, const struct steps *all);
/* run of such a step; of an undivided one the same as node_step_run. */
void shared_step_run(const struct step *s, unsigned char *mem);
#endif
