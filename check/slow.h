/* SPDX-License-Identifier: MIT */
/* slow.h - the slow way through a loop, to compare the other one with: in every iteration each step
 * of the body works out the sizes of its operands from their facts and looks their places up among
 * all wires of the body, and so do slices. The bits are the same. */
#ifndef RILL_CHECK_SLOW_H
#define RILL_CHECK_SLOW_H
#include "lib/plan_internal.h"

/* As loop_made of struct plan_opts. */
rill_status slow_loop_made(struct lower *l, const struct scope *f, struct loop_step *step,
                           uint32_t begin);

/* rill_plan_new, whose loops go that way. */
rill_status slow_plan_new(rill_plan **ret, const rill_model *m, const rill_plan_opts *opts,
                          rill_error *reterr);
#endif
