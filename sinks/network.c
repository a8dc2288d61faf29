/* SPDX-License-Identifier: MIT */
#include "sinks/network.h"
#include "sinks/sink.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static rill_status ports_read(struct network *n, const char *what, rill_error *err)
{
    rill_port ports[NETWORK_INPUTS_MAX + 1] = { { .struct_bytes = sizeof *ports } };
    unsigned n_ports = rill_plan_ports(n->plan, ports, NETWORK_INPUTS_MAX + 1), n_in = 0;
    while (n_in < n_ports && n_in <= NETWORK_INPUTS_MAX && ports[n_in].is_input)
        n_in++;
    if (n_in != n->n_inputs || n_ports != n_in + 1)
        return err_set(err, RILL_INVALID, "the %s has %u ports; expected %u input%s and one output",
                       what, n_ports, n->n_inputs, n->n_inputs == 1 ? "" : "s");
    for (unsigned i = 0; i < n_in; i++)
        n->in[i] = ports[i];
    n->out = ports[n_in];
    for (unsigned i = 0; i < n_ports; i++)
        if (ports[i].hop_num || !ports[i].width)
            return err_set(err, RILL_INVALID, "the %s: port '%.60s' is not one vector", what,
                           ports[i].name);
    for (unsigned i = 0; i < n_ports; i++)
        if (ports[i].type != RILL_TYPE_F32)
            return err_set(err, RILL_INVALID, "the %s: port '%.60s' is %s, not f32", what,
                           ports[i].name, rill_type_name(ports[i].type));
    return RILL_OK;
}

rill_status network_make(struct network *ret, struct arena *a, const rill_plan *p, const char *what,
                         unsigned n_inputs, unsigned n_streams, rill_error *err)
{
    *ret = (struct network) { .n_inputs = n_inputs,
                              .streams = arena_array(a, rill_stream *, n_streams) };
    if (!ret->streams)
        return sink_no_memory(err);
    ret->plan = rill_plan_ref((rill_plan *) (uintptr_t) p); /* only the count changes */
    rill_model_info info = { .struct_bytes = sizeof info };
    TRY(rill_model_get_info(rill_plan_model(ret->plan), &info));
    ret->file = info.name && *info.name ? info.name : what;
    TRY(ports_read(ret, what, err));
    for (unsigned i = 0; i < n_streams; i++) {
        void *mem = arena_alloc(a, rill_plan_stream_size(ret->plan));
        if (!mem)
            return sink_no_memory(err);
        ret->streams[i] = rill_stream_init(mem, ret->plan);
    }
    return RILL_OK;
}

void network_drop(struct network *n)
{
    rill_plan_unref(n->plan);
}

void network_push(struct network *n, unsigned stream, unsigned input, const float *x)
{
    size_t took = 0;
    rill_status status = rill_stream_push(n->streams[stream], input, x, 1, &took);
    assert(status == RILL_OK && took == 1);
    (void) status;
}

void network_run(struct network *n, unsigned n_streams)
{
    rill_status ran[RILL_BEAM_MAX];
    assert(n_streams <= RILL_BEAM_MAX);
    rill_run_many(n->streams, n_streams, ran);
    for (unsigned i = 0; i < n_streams; i++)
        if (ran[i] == RILL_INVALID)
            rill_stream_reset(n->streams[i]);
}

void network_pull(struct network *n, unsigned stream, float *y)
{
    size_t given = 0;
    rill_stream_pull(n->streams[stream], n->n_inputs, y, 1, &given);
    if (!given)
        memset(y, 0, n->out.width * sizeof *y);
}

const char *network_meta(const struct network *n, const char *key)
{
    return rill_model_metadata(rill_plan_model(n->plan), key);
}

bool network_meta_is(const char *text, uint32_t number)
{
    char *end;
    return *text >= '0' && *text <= '9' && strtoull(text, &end, 10) == number && !*end;
}
