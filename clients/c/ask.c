/* SPDX-License-Identifier: MIT */
#include "clients/c/client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int rill_client_ping(struct rill_client *c, uint64_t *ret_us)
{
    struct timespec a, b;
    Rill__Ping m = RILL__PING__INIT;
    MESSAGE(PING, ping, m);
    clock_gettime(CLOCK_MONOTONIC, &a);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_PONG, "Ping");
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (!r)
        return -1;
    client_message_free(r);
    if (ret_us)
        *ret_us = (uint64_t) ((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
    return 0;
}

static struct rill_client_price price_of(const Rill__Price *p)
{
    return p ? (struct rill_client_price) { p->compute,    p->loop,        p->figures, p->age_ms,
                                            p->cpu,        p->wall,        p->weight,  p->tried,
                                            p->tried_wall, p->tried_age_ms }
             : (struct rill_client_price) { .figures = 0 };
}

static void model_give(const Rill__ModelInfo *x, const char *default_model,
                       void (*each)(void *arg, const struct rill_client_model *m), void *arg)
{
    struct rill_client_model v = {
        .name = x->name,
        .task = x->task,
        .licence = x->licence,
        .summary = x->summary,
        .state = x->state,
        .sha256 = x->sha256,
        .rate = x->rate,
        .hop_samples = x->hop_samples,
        .latency_samples = x->latency_samples,
        .outputs = client_outputs(x->n_outputs, x->outputs),
        .weights_bytes = x->weights_bytes,
        .stream_bytes = x->stream_bytes,
        .rtf = x->rtf,
        .is_default = strcmp(x->name, default_model) == 0,
        .error = x->error,
        .price = price_of(x->price),
        .audio_error = x->audio_error,
        .threads = x->threads,
    };
    each(arg, &v);
}

static void topic_give(const Rill__TopicInfo *x,
                       void (*each)(void *arg, const struct rill_client_topic *t), void *arg)
{
    struct rill_client_topic t = {
        .name = x->name,
        .model = x->model,
        .uid = x->uid,
        .in_rate = x->in_rate,
        .keep_ms = x->keep_ms,
        .subscribers = x->subscribers,
        .for_all = x->access == RILL__ACCESS__ACCESS_ALL,
        .out = client_pcm(x->out),
        .outputs = client_outputs(x->n_outputs, x->outputs),
        .oldest_pos = x->oldest_pos,
        .pos = x->pos,
    };
    each(arg, &t);
}

int client_info(struct rill_client *c,
                void (*each_model)(void *arg, const struct rill_client_model *m),
                void (*each_topic)(void *arg, const struct rill_client_topic *t), void *arg)
{
    char after_model[80] = "", after_topic[80] = "";
    for (bool more = true; more;) {
        Rill__Info m = RILL__INFO__INIT;
        m.after_model = after_model;
        m.after_topic = after_topic;
        MESSAGE(INFO, info, m);
        Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_INFO, "Info");
        if (!r)
            return -1;
        const Rill__InfoReply *a = r->info;
        for (size_t i = 0; each_model && i < a->n_models; i++)
            model_give(a->models[i], a->default_model, each_model, arg);
        for (size_t i = 0; each_topic && i < a->n_topics; i++)
            topic_give(a->topics[i], each_topic, arg);
        if (a->n_models)
            snprintf(after_model, sizeof after_model, "%s", a->models[a->n_models - 1]->name);
        if (a->n_topics)
            snprintf(after_topic, sizeof after_topic, "%s", a->topics[a->n_topics - 1]->name);
        more = a->more && (a->n_models || a->n_topics);
        client_message_free(r);
    }
    return 0;
}

int rill_client_info(struct rill_client *c,
                     void (*each)(void *arg, const struct rill_client_model *m), void *arg)
{
    return client_info(c, each, NULL, arg);
}

int rill_client_topics(struct rill_client *c,
                       void (*each)(void *arg, const struct rill_client_topic *t), void *arg)
{
    return client_info(c, NULL, each, arg);
}
