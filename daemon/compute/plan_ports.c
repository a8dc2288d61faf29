/* SPDX-License-Identifier: MIT */
#include "daemon/compute/plan_ports.h"

#include <stdlib.h>

rill_port *plan_ports(const rill_plan *p, unsigned *ret_n)
{
    const unsigned n = rill_plan_ports(p, NULL, 0);
    rill_port *ports = calloc(n + 1u, sizeof *ports);
    if (!ports)
        return NULL;
    ports->struct_bytes = sizeof *ports;
    *ret_n = rill_plan_ports(p, ports, n);
    return ports;
}
