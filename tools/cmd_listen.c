/* SPDX-License-Identifier: MIT */
/* rill listen: a published stream of the daemon, to a file, to standard output or as events. */
#include "clients/c/rill_client.h"
#include "tools/audio.h"
#include "tools/tool.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAM 1
#define RETRY_S 0.5
#define ZEROS 4096

struct listen {
    const struct command *cmd;
    const char *socket, *topic, *out, *from;
    double seconds;
    bool json, retry, names;
    struct rill_client *client;
    struct rill_client_subscribed sub;
    SNDFILE *file;
    uint64_t next_pos, n_samples, lost; /* next_pos: of the output; lost: of the input */
    bool any, finished, failed;
    rill_error err;
};

/* ---- what comes ---- */

static void event_print(const struct listen *l, uint64_t pos, const char *kind, const char *text,
                        double value)
{
    double at_s = (double) pos / l->sub.in_rate;
    FILE *to = l->out && !strcmp(l->out, "-") ? stderr : stdout;
    if (l->json) {
        json_t *o = json_pack("{s:f, s:s, s:s, s:f}", "time_s", at_s, "event", kind, "text", text,
                              "value", value);
        char *line = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
        if (line)
            fprintf(to, "%s\n", line);
        free(line);
        json_decref(o);
    } else {
        fprintf(to, "%10.3f  %-8s %s", at_s, kind, text);
        fprintf(to, *text ? "\n" : "%.3f\n", value);
    }
    fflush(to);
}

static void samples_write(struct listen *l, const void *x, size_t n)
{
    if (l->file)
        l->failed |= !audio_write(l->file, x, n, 1);
    else if (l->out)
        l->failed |= fwrite(x, sizeof(int16_t), n, stdout) != n || fflush(stdout) != 0;
    l->n_samples += n;
}

/* Silence where nothing came, so that the time is right. */
static void on_audio(void *arg, const struct rill_client_audio *a)
{
    static const float zeros[ZEROS];
    struct listen *l = arg;
    size_t frame = l->file ? sizeof(float) : sizeof(int16_t);
    if (!l->any)
        l->next_pos = a->pos;
    l->any = true;
    while (l->next_pos < a->pos && !l->failed) {
        size_t n = a->pos - l->next_pos < ZEROS ? (size_t) (a->pos - l->next_pos) : ZEROS;
        samples_write(l, zeros, n);
        l->next_pos += n;
    }
    float x[ZEROS];
    for (size_t at = 0, n; at < a->bytes; at += n) {
        n = a->bytes - at < sizeof x ? a->bytes - at : sizeof x;
        memcpy(x, (const char *) a->pcm + at, n);
        samples_write(l, x, n / frame);
    }
    l->next_pos += a->bytes / frame;
}

static void on_vad(void *arg, const struct rill_client_vad *v)
{
    if (v->edge != RILL_CLIENT_EDGE_NONE)
        event_print(arg, v->pos, v->edge == RILL_CLIENT_EDGE_START ? "start" : "end", "",
                    (double) v->prob);
}

static void on_text(void *arg, const struct rill_client_text *t)
{
    event_print(arg, t->pos, t->final ? "final" : "partial", t->text, (double) t->stability);
}

static void on_keyword(void *arg, const struct rill_client_keyword *k)
{
    event_print(arg, k->pos, "keyword", k->word, (double) k->score);
}

static void on_endpoint(void *arg, const struct rill_client_endpoint *e)
{
    event_print(arg, e->pos, "endpoint", "", e->rule);
}

static void on_gap(void *arg, const struct rill_client_gap *g)
{
    struct listen *l = arg;
    l->lost += g->samples;
    event_print(l, g->pos, "gap", "", (double) g->samples / l->sub.in_rate);
}

static void on_finished(void *arg, const struct rill_client_finished *f)
{
    struct listen *l = arg;
    l->finished = f->stream == STREAM;
}

/* ---- the daemon ---- */

static bool from_take(const struct listen *l, struct rill_client_subscribe *s)
{
    char *end;
    if (!l->from || !strcmp(l->from, "now"))
        return true;
    s->from = !strcmp(l->from, "oldest") ? RILL_CLIENT_OLDEST : RILL_CLIENT_POS;
    if (s->from == RILL_CLIENT_OLDEST)
        return true;
    errno = 0;
    s->pos = strtoull(l->from, &end, 10);
    return *l->from >= '0' && *l->from <= '9' && !*end && !errno;
}

static void topic_print(void *arg, const struct rill_client_topic *t)
{
    (void) arg;
    printf("%-24s %-16s %6u Hz %u ch  %u subscribers, keeps %u ms, user %u%s\n", t->name, t->model,
           t->out.rate, t->out.channels, t->subscribers, t->keep_ms, t->uid,
           t->for_all ? ", for all" : "");
}

static void topic_note(void *arg, const struct rill_client_topic *t)
{
    struct listen *l = arg;
    if (strcmp(t->name, l->topic) == 0)
        l->sub = (struct rill_client_subscribed) { .in_rate = t->in_rate,
                                                   .out = { t->out.rate, 1, RILL_CLIENT_S16 } };
}

/* Samples may come together with the answer to Subscribe, so their format is asked for before. */
static int output_open(struct listen *l)
{
    l->sub = (struct rill_client_subscribed) { .in_rate = 1 };
    if (rill_client_topics(l->client, topic_note, l) < 0)
        return TOOL_IO;
    if (!l->out || !strcmp(l->out, "-") || l->file || !l->sub.out.rate)
        return TOOL_OK;
    return audio_create(&l->file, l->out, (int) l->sub.out.rate, 1, &l->err) == RILL_OK
        ? TOOL_OK
        : tool_fail_status(l->cmd, &l->err);
}

static int connection_make(struct listen *l)
{
    const struct rill_client_events ev = { .arg = l,
                                           .audio = on_audio,
                                           .vad = on_vad,
                                           .text = on_text,
                                           .keyword = on_keyword,
                                           .endpoint = on_endpoint,
                                           .gap = on_gap,
                                           .finished = on_finished };
    struct rill_client_subscribe s = { .topic = l->topic, .out = { 0, 1, RILL_CLIENT_S16 } };
    if (!from_take(l, &s))
        return tool_fail(l->cmd, TOOL_USAGE, "--from takes now, oldest or a position in samples");
    if (rill_client_connect(&l->client, l->socket, "rill listen", 5000) < 0)
        return TOOL_IO;
    if (l->names)
        return rill_client_topics(l->client, topic_print, NULL) == 0 ? TOOL_OK : TOOL_IO;
    rill_client_set_events(l->client, &ev);
    int code = output_open(l);
    if (code != TOOL_OK)
        return code;
    l->any = false;
    if (l->file)
        s.out.enc = RILL_CLIENT_F32;
    if (rill_client_subscribe(l->client, STREAM, &s, &l->sub) < 0)
        return rill_client_error_code(l->client) ? TOOL_REFUSED : TOOL_IO;
    return TOOL_OK;
}

static void read_on(struct listen *l, double until_s)
{
    while (!tool_stops() && !l->failed && !rill_client_ended(l->client, STREAM) &&
           (until_s <= 0 || tool_now_s() < until_s))
        if (rill_client_poll(l->client, 100) < 0)
            break;
}

static int listen_loop(struct listen *l)
{
    double until_s = l->seconds > 0 ? tool_now_s() + l->seconds : 0;
    for (;;) {
        int code = connection_make(l);
        if (code == TOOL_OK && !l->names)
            read_on(l, until_s);
        if (tool_stops())
            code = TOOL_OK;
        bool over = tool_stops() || l->failed || l->names || code == TOOL_USAGE ||
            (until_s > 0 && tool_now_s() >= until_s);
        if (!over && code == TOOL_OK && !l->finished)
            code = TOOL_IO;
        if (over || !l->retry) {
            if (code != TOOL_OK && code != TOOL_USAGE && rill_client_error(l->client)[0])
                tool_fail(l->cmd, code, "%s: %s", l->topic ? l->topic : l->socket,
                          rill_client_error(l->client));
            return l->failed ? tool_fail(l->cmd, TOOL_IO, "%s cannot be written", l->out) : code;
        }
        l->client = rill_client_free(l->client);
        l->finished = false;
        usleep((useconds_t) (RETRY_S * 1e6));
    }
}

static int listen_run(const struct command *cmd, int argc, char **argv)
{
    const char *env = getenv("RILL_SOCKET");
    struct listen l = { .cmd = cmd, .socket = env && *env ? env : "/run/rilld/rilld.sock" };
    const struct opt table[] = {
        { "from", 0, OPT_TEXT, &l.from, "WHERE",
          "now (default), oldest, or a position in samples of the source" },
        { "json", 0, OPT_FLAG, &l.json, NULL, "events as lines of JSON" },
        { "retry", 'r', OPT_FLAG, &l.retry, NULL,
          "subscribe again when the stream ends or the daemon is away" },
        { "seconds", 0, OPT_REAL, REAL_FROM_TO(&l.seconds, 0.001, OPT_YEAR_S), "S",
          "stop after S seconds (default: at the end of the stream)" },
        { "socket", 's', OPT_TEXT, &l.socket, "PATH",
          "the daemon's socket (default: $RILL_SOCKET or the system's)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 0, 2);
    if (n < 0)
        return -n;
    tool_stop_by_signals();
    signal(SIGPIPE, SIG_IGN);
    l.names = n == 0;
    l.topic = n > 0 ? argv[0] : "";
    l.out = n > 1 ? argv[1] : NULL;
    int code = listen_loop(&l);
    if (l.file)
        sf_close(l.file);
    if (l.any)
        fprintf(stderr, "rill listen: %s: %llu samples, %llu missed\n", l.topic,
                (unsigned long long) l.n_samples, (unsigned long long) l.lost);
    rill_client_free(l.client);
    return code;
}

const struct command cmd_listen = {
    .name = "listen",
    .usage = "[OPTIONS] [NAME [OUT]]",
    .summary = "subscribe to a published stream",
    .details = "Prints speech, words and gaps as they come. OUT is a WAV or FLAC file, or - for "
               "16-bit samples on standard output;\n"
               "where samples are missing it holds silence. Without NAME it lists the streams that "
               "there are.",
    .run = listen_run,
};
