/* SPDX-License-Identifier: MIT */
/* plan_ports.h - all ports of a plan, however many. */
#ifndef RILL_DAEMON_COMPUTE_PLAN_PORTS_H
#define RILL_DAEMON_COMPUTE_PLAN_PORTS_H
#include <rill.h>

/* The caller frees them; NULL: no memory. */
rill_port *plan_ports(const rill_plan *p, unsigned *ret_n);
#endif
