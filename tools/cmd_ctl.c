/* SPDX-License-Identifier: MIT */
/* rill ctl: the daemon's control socket. */
#include "clients/c/rill_client.h"
#include "tools/tool.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ctl {
    const struct command *cmd;
    struct rill_client *c;
    const char *arg;            /* of the verb, NULL if absent */
    json_t *json;               /* the answer, where JSON is wanted */
    int64_t grace_ms;
    unsigned n_seen;            /* sessions */
    bool wait;
};

/* ---- status ---- */

static void model_see(void *arg, const struct rill_client_model_stats *m)
{
    struct ctl *x = arg;
    if (x->json) {
        json_array_append_new(json_object_get(x->json, "models"),
                              json_pack("{s:s, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:I}", "name", m->name, "streams",
                                        (int) m->streams, "streams_opened", (json_int_t) m->streams_opened, "pulses",
                                        (json_int_t) m->pulses, "audio_us", (json_int_t) m->audio_us, "rtf",
                                        (double) m->rtf, "rtf_p99", (double) m->rtf_p99, "rtf_max", (double) m->rtf_max,
                                        "deadline_misses", (json_int_t) m->deadline_misses));
        return;
    }
    printf("  %-16s %4u streams, %llu opened, %.1f s of audio, rtf %.5f mean %.5f p99 %.5f worst, %llu misses\n", m->name,
           m->streams, (unsigned long long) m->streams_opened, (double) m->audio_us * 1e-6, (double) m->rtf,
           (double) m->rtf_p99, (double) m->rtf_max, (unsigned long long) m->deadline_misses);
}

static int status_run(struct ctl *x)
{
    struct rill_client_status s;
    if (x->json)
        json_object_set_new(x->json, "models", json_array());
    if (rill_client_ctl_status(x->c, &s, x->json ? model_see : NULL, x))
        return -1;
    if (x->json) {
        json_object_update_new(x->json, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:f, s:f}", "server", s.server,
                                                  "state", s.state, "config", s.config, "pid", (int) s.pid, "threads",
                                                  (int) s.threads, "connections", (int) s.connections, "streams",
                                                  (int) s.streams, "uptime_us", (json_int_t) s.uptime_us, "rtf_load",
                                                  (double) s.rtf_load, "rtf_budget", (double) s.rtf_budget));
        return 0;
    }
    printf("%s, pid %u, %s, up %.0f s\n", s.server, s.pid, s.state, (double) s.uptime_us * 1e-6);
    printf("  %u threads, %u connections, %u streams, load %.3f of %.3f\n", s.threads, s.connections, s.streams,
           (double) s.rtf_load, (double) s.rtf_budget);
    return rill_client_ctl_status(x->c, &s, model_see, x);
}

/* ---- sessions ---- */

static void session_see(void *arg, const struct rill_client_session *s)
{
    struct ctl *x = arg;
    x->n_seen++;
    const char *pace = s->pace == RILL_CLIENT_LIVE ? "live" : "file";
    if (x->json) {
        json_array_append_new(json_object_get(x->json, "sessions"),
                              json_pack("{s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:f}", "conn",
                                        (int) s->conn, "stream", (int) s->stream, "uid", (int) s->uid, "pid", (int) s->pid,
                                        "client", s->client, "model", s->model, "state", s->state, "pace", pace, "rate",
                                        (int) s->in.rate, "channels", (int) s->in.channels, "in_samples",
                                        (json_int_t) s->in_samples, "out_samples", (json_int_t) s->out_samples, "rtf",
                                        (double) s->rtf));
        return;
    }
    printf("%4u/%-3u uid %u pid %u %s: %s %s, %u Hz x %u, in %llu out %llu, rtf %.5f, %s\n", s->conn, s->stream, s->uid,
           s->pid, s->client, s->model, pace, s->in.rate, s->in.channels, (unsigned long long) s->in_samples,
           (unsigned long long) s->out_samples, (double) s->rtf, s->state);
}

static int sessions_run(struct ctl *x)
{
    if (x->json)
        json_object_set_new(x->json, "sessions", json_array());
    int code = rill_client_ctl_sessions(x->c, session_see, x);
    if (!code && !x->json && !x->n_seen)
        printf("no sessions\n");
    return code;
}

/* ---- models ---- */

static void known_see(void *arg, const struct rill_client_model *m)
{
    struct ctl *x = arg;
    if (x->json) {
        json_array_append_new(json_object_get(x->json, "models"),
                              json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:b}", "name", m->name, "task", m->task,
                                        "state", m->state, "rate", (int) m->rate, "delay_samples", (int) m->delay_samples,
                                        "weights_bytes", (json_int_t) m->weights_bytes, "stream_bytes",
                                        (json_int_t) m->stream_bytes, "default", m->is_default));
        return;
    }
    printf("%c %-16s %-9s %-8s %6u Hz  delay %u samples  %s\n", m->is_default ? '*' : ' ', m->name, m->task, m->state,
           m->rate, m->delay_samples, m->summary);
}

static int models_run(struct ctl *x)
{
    if (x->json)
        json_object_set_new(x->json, "models", json_array());
    return rill_client_info(x->c, known_see, x);
}

/* ---- the rest ---- */

static int said(struct ctl *x, int code)
{
    const char *text = rill_client_ctl_text(x->c);
    if (code)
        return code;
    if (x->json)
        json_object_set_new(x->json, "text", json_string(text));
    else
        printf("%s\n", *text ? text : "done");
    return 0;
}

static int reload_run(struct ctl *x)
{
    return said(x, x->arg ? rill_client_ctl_reload_model(x->c, x->arg) : rill_client_ctl_reload(x->c));
}

static int swap_run(struct ctl *x) { return said(x, rill_client_ctl_swap(x->c, x->arg)); }
static int drain_run(struct ctl *x) { return said(x, rill_client_ctl_drain(x->c, (uint32_t) x->grace_ms)); }
static int load_run(struct ctl *x) { return said(x, rill_client_ctl_load(x->c, x->arg)); }
static int unload_run(struct ctl *x)
{
    return said(x, x->wait ? rill_client_ctl_unload_wait(x->c, x->arg) : rill_client_ctl_unload(x->c, x->arg));
}

static int level_run(struct ctl *x) { return said(x, rill_client_ctl_log_level(x->c, x->arg)); }

static int kick_run(struct ctl *x)
{
    char *end;
    unsigned long conn = strtoul(x->arg, &end, 10);
    if (*end || !*x->arg || conn > UINT32_MAX)
        return tool_fail(x->cmd, -TOOL_USAGE, "'%s' is no connection number", x->arg);
    return said(x, rill_client_ctl_kick(x->c, (uint32_t) conn));
}

static int ping_run(struct ctl *x)
{
    uint64_t us;
    if (rill_client_ping(x->c, &us))
        return -1;
    if (x->json)
        json_object_set_new(x->json, "round_trip_us", json_integer((json_int_t) us));
    else
        printf("%llu us\n", (unsigned long long) us);
    return 0;
}

static const struct verb {
    const char *name, *arg;     /* arg: what its argument is called, in [] where it may be left out, NULL: none */
    int (*run)(struct ctl *x);
} verbs[] = {
    { "drain", NULL, drain_run },
    { "kick", "CONN", kick_run },
    { "load", "MODEL", load_run },
    { "log-level", "LEVEL", level_run },
    { "models", NULL, models_run },
    { "ping", NULL, ping_run },
    { "reload", "[MODEL]", reload_run },
    { "sessions", NULL, sessions_run },
    { "status", NULL, status_run },
    { "swap", "MODEL", swap_run },
    { "unload", "MODEL", unload_run },
};

static const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

static int verb_run(struct ctl *x, const struct verb *v, const char *socket)
{
    int code = rill_client_connect(&x->c, socket, "rill ctl", 10000);
    if (!code)
        code = v->run(x);
    if (code == -1)
        code = tool_fail(x->cmd, x->c && rill_client_error_code(x->c) ? TOOL_REFUSED : TOOL_IO, "%s",
                         x->c ? rill_client_error(x->c) : "out of memory");
    rill_client_free(x->c);
    if (x->json && code == TOOL_OK) {
        json_dumpf(x->json, stdout, JSON_INDENT(1));
        putchar('\n');
    }
    return code < 0 ? -code : code;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct ctl x = { .cmd = cmd };
    const char *env = getenv("RILL_CONTROL"), *socket = env && *env ? env : "/run/rilld/control.sock";
    bool json = false;
    const struct opt table[] = {
        { "grace-ms", 0, OPT_INT, &x.grace_ms, "MS", "drain: how long streams may take (default: as configured)" },
        { "json", 0, OPT_FLAG, &json, NULL, "print the answer as JSON" },
        { "wait", 0, OPT_FLAG, &x.wait, NULL, "unload: until the model's last stream has ended" },
        { "socket", 's', OPT_TEXT, &socket, "PATH", "control socket (default: $RILL_CONTROL or the system's)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 1, 2);
    if (n < 0)
        return -n;
    const struct verb *v = verb_find(argv[0]);
    if (!v || (n == 2 ? !v->arg : v->arg && v->arg[0] != '[') || x.grace_ms < 0 || x.grace_ms > 3600000)
        return tool_fail(cmd, TOOL_USAGE, v ? "'%s' takes %s" : "unknown verb '%s'; see rill ctl --help", argv[0],
                         v && v->arg ? v->arg : "no argument");
    x.arg = n == 2 ? argv[1] : NULL;
    x.json = json ? json_object() : NULL;
    int code = verb_run(&x, v, socket);
    json_decref(x.json);
    return code;
}

const struct command cmd_ctl = {
    .name = "ctl",
    .usage = "[OPTIONS] VERB [ARGUMENT]",
    .summary = "ask or tell the running daemon",
    .details = "Verbs:\n"
               "  drain            finish the open streams, open no new ones, exit\n"
               "  kick CONN        close a connection\n"
               "  load MODEL       load a model now\n"
               "  log-level LEVEL  error, warning, info or debug\n"
               "  models           models the daemon knows\n"
               "  ping             round trip to the daemon\n"
               "  reload           read the settings and all loaded models again; says what is wrong with them\n"
               "  reload MODEL     load a model anew; streams that run keep the version they have\n"
               "  sessions         connections and their streams\n"
               "  status           state, load and figures of each model\n"
               "  swap MODEL       put the version that lies there now in the place of a loaded one\n"
               "  unload MODEL     give a model's memory back when its streams have ended",
    .run = run,
};
