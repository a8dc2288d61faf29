/* SPDX-License-Identifier: MIT */
#include "clients/c/client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

unsigned client_outputs(size_t n, const Rill__Output *outputs)
{
    unsigned mask = 0;
    for (size_t i = 0; i < n; i++)
        if (outputs[i] < 32)
            mask |= 1u << outputs[i];
    return mask;
}

int rill_client_ping(struct rill_client *c, uint64_t *ret_us)
{
    struct timespec a, b;
    Rill__Ping m = RILL__PING__INIT;
    FRAME(PING, ping, m);
    clock_gettime(CLOCK_MONOTONIC, &a);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_PONG, "Ping");
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (!r)
        return -1;
    client_frame_free(r);
    if (ret_us)
        *ret_us = (uint64_t) ((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
    return 0;
}

int rill_client_info(struct rill_client *c,
                     void (*each)(void *arg, const struct rill_client_model *m), void *arg)
{
    Rill__Info m = RILL__INFO__INIT;
    FRAME(INFO, info, m);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_INFO, "Info");
    if (!r)
        return -1;
    for (size_t i = 0; each && i < r->info->n_models; i++) {
        const Rill__ModelInfo *x = r->info->models[i];
        struct rill_client_model v = {
            .name = x->name,
            .task = x->task,
            .licence = x->licence,
            .summary = x->summary,
            .state = x->state,
            .sha256 = x->sha256,
            .rate = x->rate,
            .hop_samples = x->hop_samples,
            .delay_samples = x->delay_samples,
            .outputs = client_outputs(x->n_outputs, x->outputs),
            .weights_bytes = x->weights_bytes,
            .stream_bytes = x->stream_bytes,
            .rtf = x->rtf,
            .is_default = strcmp(x->name, r->info->default_model) == 0,
        };
        each(arg, &v);
    }
    client_frame_free(r);
    return 0;
}

int rill_client_stats(struct rill_client *c, struct rill_client_stats *ret,
                      void (*each)(void *arg, const struct rill_client_model_stats *m), void *arg)
{
    Rill__Stats m = RILL__STATS__INIT;
    FRAME(STATS, stats, m);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_STATS, "Stats");
    if (!r)
        return -1;
    client_stats(ret, r->stats, each, arg);
    client_frame_free(r);
    return 0;
}
