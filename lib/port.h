/* SPDX-License-Identifier: MIT */
/* port.h - what a plan's inputs and outputs tell their users. */
#ifndef RILL_LIB_PORT_H
#define RILL_LIB_PORT_H
#include "lib/plan_internal.h"

/* Ports are called as the model's typed graph calls its inputs and outputs: rewriting may have made
 * one wire of several. */
rill_status ports_name(rill_plan *p, rill_error *err);

/* Once the plan is made. UNSUPPORTED: a port carries what streams cannot. */
rill_status ports_from_plan(rill_plan *p, rill_error *err);
#endif
