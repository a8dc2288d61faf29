/* SPDX-License-Identifier: MIT */
#include "engine/base/err.h"
#include "lib/model.h"

rill_status rill_sink_defaults(rill_sink_opts *ret, const rill_plan *p, unsigned port,
                               rill_error *reterr)
{
    rill_port ports[64];
    unsigned n = rill_plan_ports(p, ports, 64), n_inputs = 0;
    const rill_model *m = rill_plan_model(p);
    while (n_inputs < n && ports[n_inputs].is_input)
        n_inputs++;
    if (port < n_inputs || port >= n || !m->outputs ||
        m->outputs[port - n_inputs].sink.kind == RILL_PORT_TENSOR)
        return err_set(
            reterr, RILL_INVALID,
            "port %u is not an output that model.conf calls vad, keyword, ctc or transducer", port);
    const struct model_port *mp = &m->outputs[port - n_inputs];
    *ret = mp->sink;
    ret->decoder = plan_of_part(p, mp->decoder.part);
    ret->joiner = plan_of_part(p, mp->joiner.part);
    return RILL_OK;
}
