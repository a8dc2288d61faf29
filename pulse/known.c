/* SPDX-License-Identifier: MIT */
/* Constants that a rule must know and nodes of the pulsed graph make. */
#include "engine/typing/known.h"
#include "pulse/pulser.h"

rill_status pulser_known(struct pulser *p, uint32_t dst_wire, uint32_t *ret)
{
    const struct tensor *t = NULL;
    if (dst_wire != WIRE_NONE && graph_known(p->dst, dst_wire, p->dst->arena, &t) != RILL_OK)
        return pulser_no_memory(p);
    *ret = t ? dst_wire : WIRE_NONE;
    if (!t || pulser_dst_fact(p, dst_wire)->value)
        return RILL_OK;
    *ret = graph_add_const(p->dst, p->dst->wires[dst_wire].name, t);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}
