/* SPDX-License-Identifier: MIT */
#include "engine/base/sized.h"
#include "lib/plan_internal.h"

rill_status rill_sink_defaults(rill_sink_opts *ret, const rill_plan *p, unsigned port,
                               rill_error *reterr)
{
    const rill_model *m = rill_plan_model(p);
    if (port < p->n_inputs || port >= p->n_ports || !m->outputs ||
        m->outputs[port - p->n_inputs].sink.kind == RILL_PORT_TENSOR)
        return err_set(reterr, RILL_INVALID,
                       "port %u is not an output that model.conf calls vad, keyword, ctc, "
                       "transducer or attention",
                       port);
    const struct model_port *mp = &m->outputs[port - p->n_inputs];
    rill_sink_opts opts = mp->sink;
    opts.decoder = plan_of_part(p, mp->decoder.part);
    opts.joiner = plan_of_part(p, mp->joiner.part);
    opts.nets = mp->attention.decoder ? &mp->attention : NULL;
    return sized_give(&sized_sink_opts, ret, &opts, reterr);
}
