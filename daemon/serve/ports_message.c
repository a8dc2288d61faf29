/* SPDX-License-Identifier: MIT */
/* Ports as messages. */
#include "daemon/serve/session_ports.h"

static const char *const kind_names[] = {
    [RILL_PORT_TENSOR] = "tensor",
    [RILL_PORT_AUDIO] = "audio",
    [RILL_PORT_VAD] = "vad",
    [RILL_PORT_KEYWORD] = "keyword",
    [RILL_PORT_CTC] = "ctc",
    [RILL_PORT_TRANSDUCER] = "transducer",
    [RILL_PORT_ATTENTION] = "attention",
};

/* The protocol's numbers are those of rill.h and one. */
_Static_assert(RILL__ELEMENT_TYPE__TYPE_F32 == RILL_TYPE_F32 + 1, "types");
_Static_assert(RILL__ELEMENT_TYPE__TYPE_I64 == RILL_TYPE_I64 + 1, "types");
_Static_assert(RILL__ELEMENT_TYPE__TYPE_BOOL == RILL_TYPE_BOOL + 1, "types");
_Static_assert(RILL__ELEMENT_TYPE__TYPE_U2 == RILL_TYPE_U2 + 1, "types");

void port_fill(Rill__Port *to, const rill_plan *plan, unsigned i, const rill_port *p,
               uint32_t dims[RILL_RANK_MAX])
{
    rill_shape shape = { .struct_bytes = sizeof shape };
    size_t kind = (size_t) p->kind < sizeof kind_names / sizeof *kind_names ? (size_t) p->kind : 0;
    rill__port__init(to);
    to->name = (char *) (uintptr_t) p->name;
    to->is_input = p->is_input;
    to->kind = (char *) (uintptr_t) kind_names[kind];
    to->type = (Rill__ElementType) (p->type + 1);
    to->element_bytes = p->element_bytes;
    to->rate_num = p->rate_num;
    to->rate_den = p->rate_den;
    to->pulse_frames = p->pulse_frames;
    to->hop_num = p->hop_num;
    to->hop_den = p->hop_den;
    to->latency_samples = p->latency_samples;
    to->offset_num = p->offset_num;
    to->offset_den = p->offset_den;
    to->shape = dims;
    if (rill_plan_port_shape(plan, i, &shape) != RILL_OK)
        return;
    to->time_axis = shape.time_axis;
    for (uint32_t k = 0; k < shape.rank; k++)
        if (k != shape.time_axis)
            dims[to->n_shape++] = shape.dims[k];
}
