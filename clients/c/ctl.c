/* SPDX-License-Identifier: MIT */
#include "clients/c/client.h"

#include <stdio.h>

int rill_client_ctl_status(struct rill_client *c, struct rill_client_status *ret,
                           void (*each)(void *arg, const struct rill_client_model_stats *m),
                           void *arg)
{
    Rill__CtlStatus m = RILL__CTL_STATUS__INIT;
    MESSAGE(CTL_STATUS, ctl_status, m);
    Rill__ServerFrame *r = client_request(c, &f, RILL__SERVER_FRAME__M_CTL_STATUS, "status");
    if (!r)
        return -1;
    const Rill__StatusReply *x = r->ctl_status;
    client_message_free(c->held);
    c->held = r;
    client_status(ret, x, each, arg);
    return client_stats_rest(c, x->stats, each, arg);
}

int rill_client_ctl_sessions(struct rill_client *c,
                             void (*each)(void *arg, const struct rill_client_session *s),
                             void *arg)
{
    Rill__CtlSessions m = RILL__CTL_SESSIONS__INIT;
    bool more = true;
    while (more) {
        MESSAGE(CTL_SESSIONS, ctl_sessions, m);
        Rill__ServerFrame *r =
            client_request(c, &f, RILL__SERVER_FRAME__M_CTL_SESSIONS, "sessions");
        if (!r)
            return -1;
        const Rill__SessionsReply *x = r->ctl_sessions;
        for (size_t i = 0; i < x->n_sessions; i++)
            client_session(x->sessions[i], each, arg);
        more = x->more && x->n_sessions;
        if (more) {
            m.after_conn = x->sessions[x->n_sessions - 1]->conn;
            m.after_stream = x->sessions[x->n_sessions - 1]->stream;
        }
        client_message_free(r);
    }
    return 0;
}

static int ctl_done(struct rill_client *c, Rill__ClientFrame *f, const char *what)
{
    c->text[0] = '\0';
    Rill__ServerFrame *r = client_request(c, f, RILL__SERVER_FRAME__M_CTL_DONE, what);
    if (!r)
        return -1;
    snprintf(c->text, sizeof c->text, "%s", r->ctl_done->text);
    client_message_free(r);
    return 0;
}

int rill_client_ctl_reload(struct rill_client *c)
{
    Rill__CtlReload m = RILL__CTL_RELOAD__INIT;
    MESSAGE(CTL_RELOAD, ctl_reload, m);
    return ctl_done(c, &f, "reload");
}

int rill_client_ctl_reload_model(struct rill_client *c, const char *model)
{
    Rill__CtlReload m = RILL__CTL_RELOAD__INIT;
    m.model = (char *) (uintptr_t) model;
    MESSAGE(CTL_RELOAD, ctl_reload, m);
    return ctl_done(c, &f, "reload");
}

int rill_client_ctl_swap(struct rill_client *c, const char *model)
{
    Rill__CtlSwap m = RILL__CTL_SWAP__INIT;
    m.model = (char *) (uintptr_t) model;
    MESSAGE(CTL_SWAP, ctl_swap, m);
    return ctl_done(c, &f, "swap");
}

int rill_client_ctl_drain(struct rill_client *c, uint32_t grace_ms)
{
    Rill__CtlDrain m = RILL__CTL_DRAIN__INIT;
    m.grace_ms = grace_ms;
    MESSAGE(CTL_DRAIN, ctl_drain, m);
    return ctl_done(c, &f, "drain");
}

int rill_client_ctl_load(struct rill_client *c, const char *model)
{
    Rill__CtlLoad m = RILL__CTL_LOAD__INIT;
    m.model = (char *) (uintptr_t) model;
    MESSAGE(CTL_LOAD, ctl_load, m);
    return ctl_done(c, &f, "load");
}

static int unload(struct rill_client *c, const char *model, bool wait)
{
    Rill__CtlUnload m = RILL__CTL_UNLOAD__INIT;
    m.model = (char *) (uintptr_t) model;
    m.wait = wait;
    MESSAGE(CTL_UNLOAD, ctl_unload, m);
    return ctl_done(c, &f, "unload");
}

int rill_client_ctl_unload(struct rill_client *c, const char *model)
{
    return unload(c, model, false);
}

int rill_client_ctl_unload_wait(struct rill_client *c, const char *model)
{
    return unload(c, model, true);
}

int rill_client_ctl_kick(struct rill_client *c, uint32_t conn)
{
    Rill__CtlKick m = RILL__CTL_KICK__INIT;
    m.conn = conn;
    MESSAGE(CTL_KICK, ctl_kick, m);
    return ctl_done(c, &f, "kick");
}

int rill_client_ctl_log_level(struct rill_client *c, const char *level)
{
    Rill__CtlLogLevel m = RILL__CTL_LOG_LEVEL__INIT;
    m.level = (char *) (uintptr_t) level;
    MESSAGE(CTL_LOG_LEVEL, ctl_log_level, m);
    return ctl_done(c, &f, "log-level");
}

const char *rill_client_ctl_text(const struct rill_client *c)
{
    return c->text;
}
