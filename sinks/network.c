/* SPDX-License-Identifier: MIT */
#include "sinks/network.h"
#include "sinks/sink.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_OUTPUT 1

static rill_status ports_read(struct network *n, const char *what, rill_error *err)
{
    rill_port ports[2 * NETWORK_PORTS_MAX] = { { .struct_bytes = sizeof *ports } };
    unsigned n_ports = rill_plan_ports(n->plan, ports, 2 * NETWORK_PORTS_MAX), n_in = 0;
    while (n_in < n_ports && n_in < 2 * NETWORK_PORTS_MAX && ports[n_in].is_input)
        n_in++;
    if (!n_in || n_in > NETWORK_PORTS_MAX || n_ports == n_in || n_ports > n_in + NETWORK_PORTS_MAX)
        return err_set(err, RILL_INVALID,
                       "the %s has %u ports; expected at most %d inputs and as many outputs", what,
                       n_ports, NETWORK_PORTS_MAX);
    n->n_inputs = n_in;
    n->n_outputs = n_ports - n_in;
    for (unsigned i = 0; i < n_ports; i++)
        if (ports[i].hop_num || !ports[i].width)
            return err_set(err, RILL_INVALID, "the %s: port '%.60s' is not one vector", what,
                           ports[i].name);
    for (unsigned i = 0; i < n_ports; i++)
        if (ports[i].type != RILL_TYPE_F32 && i != n_in + LENGTH_OUTPUT)
            return err_set(err, RILL_INVALID, "the %s: port '%.60s' is %s, not f32", what,
                           ports[i].name, rill_type_name(ports[i].type));
    memcpy(n->in, ports, n_in * sizeof *ports);
    memcpy(n->out, ports + n_in, n->n_outputs * sizeof *ports);
    return RILL_OK;
}

static rill_status streams_make(struct network *n, struct arena *a, unsigned n_streams,
                                rill_error *err)
{
    unsigned wanted[NETWORK_PORTS_MAX], n_wanted = 0;
    for (unsigned i = 0; i < n->n_outputs; i++)
        if (i != LENGTH_OUTPUT)
            wanted[n_wanted++] = n->n_inputs + i;
    for (unsigned i = 0; i < n_streams; i++) {
        void *mem = arena_alloc(a, rill_plan_stream_size(n->plan));
        if (!mem)
            return sink_no_memory(err);
        n->streams[i] = rill_stream_init_for(mem, n->plan, wanted, n_wanted);
    }
    n->n_streams = n_streams;
    return RILL_OK;
}

rill_status network_make(struct network *ret, struct arena *a, const rill_plan *p, const char *what,
                         unsigned n_streams, rill_error *err)
{
    *ret = (struct network) { .streams = arena_array(a, rill_stream *, n_streams) };
    if (!ret->streams)
        return sink_no_memory(err);
    ret->plan = rill_plan_ref((rill_plan *) (uintptr_t) p); /* only the count changes */
    rill_model_info info = { .struct_bytes = sizeof info };
    TRY(rill_model_get_info(rill_plan_model(ret->plan), &info));
    ret->file = info.name && *info.name ? info.name : what;
    TRY(ports_read(ret, what, err));
    return streams_make(ret, a, n_streams, err);
}

void network_drop(struct network *n)
{
    rill_plan_unref(n->plan);
}

void network_alone(struct network *n, bool alone)
{
    for (unsigned i = 0; i < n->n_streams; i++)
        rill_stream_alone(n->streams[i], alone);
}

void network_push(struct network *n, unsigned stream, unsigned input, const float *x)
{
    size_t took = 0;
    rill_status status = rill_stream_push(n->streams[stream], input, x, 1, &took);
    assert(status == RILL_OK && took == 1);
    (void) status;
}

static void stream_stopped(struct network *n, unsigned i, rill_error *fault)
{
    if (fault->status == RILL_OK && rill_stream_fault(n->streams[i], fault) != RILL_OK)
        err_prefix(fault, RILL_INVALID, "%.160s", n->file);
    rill_stream_reset(n->streams[i]);
}

void network_run(struct network *n, unsigned n_streams, rill_error *fault)
{
    rill_status ran[RILL_BEAM_MAX + 1];
    assert(n_streams <= RILL_BEAM_MAX + 1);
    rill_run_many(n->streams, n_streams, ran);
    for (unsigned i = 0; i < n_streams; i++)
        if (ran[i] == RILL_INVALID)
            stream_stopped(n, i, fault);
}

void network_pull(struct network *n, unsigned stream, unsigned output, float *y)
{
    size_t given = 0;
    rill_stream_pull(n->streams[stream], n->n_inputs + output, y, 1, &given);
    if (!given)
        memset(y, 0, n->out[output].width * sizeof *y);
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
