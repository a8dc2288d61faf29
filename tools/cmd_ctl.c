/* SPDX-License-Identifier: MIT */
/* rill ctl: the daemon's control socket. */
#include "tools/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- models ---- */

/* Of its audio, if it gives any. */
static bool has_latency(const struct rill_client_model *m)
{
    return m->rate && m->outputs & RILL_CLIENT_AUDIO;
}

/* What only a loaded model tells is null before. */
static json_t *number_of(const struct rill_client_model *m, uint64_t n)
{
    return m->rate ? json_integer((json_int_t) n) : json_null();
}

static json_t *price_json(const struct rill_client_model *m)
{
    const struct rill_client_price *p = &m->price;
    if (!m->rate)
        return json_null();
    return json_pack("{s:f, s:f, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:i}", "compute",
                     (double) p->compute, "loop", (double) p->loop, "figures", (int) p->figures,
                     "age_ms", (int) p->age_ms, "cpu", (double) p->cpu, "wall", (double) p->wall,
                     "weight", (double) p->weight, "tried", (double) p->tried, "tried_wall",
                     (double) p->tried_wall, "tried_age_ms", (int) p->tried_age_ms);
}

static void price_print(const struct rill_client_model *m)
{
    const struct rill_client_price *p = &m->price;
    printf("    price %.5f, messages %.5f; tried %.0f s ago: cpu %.5f, wall %.5f",
           (double) p->compute, (double) p->loop, p->tried_age_ms * 1e-3, (double) p->tried,
           (double) p->tried_wall);
    if (p->figures)
        printf("; %u s of streams, the last %.1f s ago: cpu %.5f, wall %.5f, weight %.2f",
               p->figures, p->age_ms * 1e-3, (double) p->cpu, (double) p->wall, (double) p->weight);
    if (m->threads > 1)
        printf("; %u threads share a pulse", m->threads);
    printf("\n");
}

static json_t *known_json(const struct rill_client_model *m)
{
    json_t *latency = has_latency(m) ? json_integer(m->latency_samples) : json_null();
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "name",
                     m->name, "state", m->state, "error", m->error, "task", m->task, "sha256",
                     m->sha256, "rate", number_of(m, m->rate), "latency_samples", latency,
                     "weights_bytes", number_of(m, m->weights_bytes), "stream_bytes",
                     number_of(m, m->stream_bytes), "default", m->is_default, "price",
                     price_json(m), "threads", number_of(m, m->threads));
}

static void known_see(void *arg, const struct rill_client_model *m)
{
    struct ctl *x = arg;
    if (x->json) {
        json_array_append_new(json_object_get(x->json, "models"), known_json(m));
        return;
    }
    char rate[32] = "", latency[48] = "";
    if (m->rate)
        snprintf(rate, sizeof rate, "%u Hz", m->rate);
    if (has_latency(m))
        snprintf(latency, sizeof latency, "latency %u samples", m->latency_samples);
    const char *words = *m->error ? m->error : m->summary;
    printf(*words || *rate ? "%c %-16s %-9s %-8s %9s  %-18s  %s\n" : "%c %-16s %-9s %s\n",
           m->is_default ? '*' : ' ', m->name, m->task, m->state, rate, latency, words);
    if (m->rate)
        price_print(m);
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
    return said(x,
                x->arg ? rill_client_ctl_reload_model(x->c, x->arg) : rill_client_ctl_reload(x->c));
}

static int swap_run(struct ctl *x)
{
    return said(x, rill_client_ctl_swap(x->c, x->arg));
}
static int drain_run(struct ctl *x)
{
    return said(x, rill_client_ctl_drain(x->c, (uint32_t) x->grace_ms));
}
static int load_run(struct ctl *x)
{
    return said(x, rill_client_ctl_load(x->c, x->arg));
}
static int unload_run(struct ctl *x)
{
    return said(x,
                x->wait ? rill_client_ctl_unload_wait(x->c, x->arg)
                        : rill_client_ctl_unload(x->c, x->arg));
}

static int level_run(struct ctl *x)
{
    return said(x, rill_client_ctl_log_level(x->c, x->arg));
}

static int kick_run(struct ctl *x)
{
    char *end;
    unsigned long conn = strtoul(x->arg, &end, 10);
    if (*end || x->arg[0] < '0' || x->arg[0] > '9' || conn > UINT32_MAX)
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
    const char *name,
        *arg; /* arg: what its argument is called, in [] where it may be left out, NULL: none */
    int (*run)(struct ctl *x);
} verbs[] = {
    { "drain", NULL, drain_run },        { "health", NULL, ctl_health },
    { "kick", "CONN", kick_run },        { "load", "MODEL", load_run },
    { "log-level", "LEVEL", level_run }, { "memory", NULL, ctl_memory },
    { "metrics", NULL, ctl_metrics },    { "models", NULL, models_run },
    { "ping", NULL, ping_run },          { "reload", "[MODEL]", reload_run },
    { "sessions", NULL, ctl_sessions },  { "stats", NULL, ctl_stats },
    { "status", NULL, ctl_status },      { "swap", "MODEL", swap_run },
    { "unload", "MODEL", unload_run },   { "worst", "[MODEL]", ctl_worst },
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
        code = tool_fail(x->cmd, x->c && rill_client_error_code(x->c) ? TOOL_REFUSED : TOOL_IO,
                         "%s", x->c ? rill_client_error(x->c) : "out of memory");
    rill_client_free(x->c);
    if (x->json && (code == TOOL_OK || code == TOOL_FAILED)) {
        json_dumpf(x->json, stdout, JSON_INDENT(1));
        putchar('\n');
    }
    return code < 0 ? -code : code;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct ctl x = { .cmd = cmd };
    const char *env = getenv("RILL_CONTROL"),
               *socket = env && *env ? env : "/run/rilld/control.sock";
    bool json = false;
    const struct opt table[] = {
        { "grace-ms", 0, OPT_INT, INT_FROM_TO(&x.grace_ms, 1, 3600000), "MS",
          "drain: how long streams may take (default: as configured)" },
        { "json", 0, OPT_FLAG, &json, NULL, "print the answer as JSON" },
        { "wait", 0, OPT_FLAG, &x.wait, NULL, "unload: until the model's last stream has ended" },
        { "profile", 0, OPT_FLAG, &x.profile, NULL,
          "worst: time the model's steps now, beside its streams" },
        { "socket", 's', OPT_TEXT, &socket, "PATH",
          "control socket (default: $RILL_CONTROL or the system's)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 1, 2);
    if (n < 0)
        return -n;
    const struct verb *v = verb_find(argv[0]);
    if (!v || (n == 2 ? !v->arg : v->arg && v->arg[0] != '['))
        return tool_fail(cmd, TOOL_USAGE,
                         v ? "'%s' takes %s" : "unknown verb '%s'; see rill ctl --help", argv[0],
                         v && v->arg ? v->arg : "no argument");
    if ((x.grace_ms && v->run != drain_run) || (x.wait && v->run != unload_run) ||
        (x.profile && v->run != ctl_worst))
        return tool_fail(cmd, TOOL_USAGE,
                         "--grace-ms goes with drain, --wait with unload, --profile with worst");
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
    .details =
        "Verbs:\n"
        "  drain            finish the open streams, open no new ones, exit\n"
        "  health           whether the compute threads advance; exit code 1 and words if not\n"
        "  kick CONN        close a connection\n"
        "  load MODEL       load a model now\n"
        "  log-level LEVEL  error, warning, info or debug\n"
        "  memory           what is held and for whom, and how much there may be\n"
        "  metrics          every figure as OpenMetrics text\n"
        "  models           models the daemon knows\n"
        "  ping             round trip to the daemon\n"
        "  reload           read the settings and all loaded models again; says what is wrong with "
        "them\n"
        "  reload MODEL     load a model anew; streams that run keep the version they have\n"
        "  sessions         open streams and subscriptions, by connection\n"
        "  stats            counts, histograms and memory (any socket answers)\n"
        "  status           state, load and figures of each model\n"
        "  swap MODEL       put the version that lies there now in the place of a loaded one\n"
        "  unload MODEL     give a model's memory back when its streams have ended\n"
        "  worst [MODEL]    the pulses that came latest; with --profile the model's slowest steps",
    .run = run,
};
