/* SPDX-License-Identifier: MIT */
/* rill feed: a microphone as a published stream of the daemon. What cannot be sent in time is left
 * out, and the positions tell it; a connection that breaks is made again. */
#include "clients/c/rill_client.h"
#include "tools/audio.h"
#include "tools/mic.h"
#include "tools/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAM 1
#define PIECE_MS 10
#define RETRY_FIRST_S 0.25
#define RETRY_MOST_S 10.0
#define FILE_AHEAD_S 0.02

struct feed {
    const struct command *cmd;
    const char *socket, *device, *file, *model, *topic;
    int64_t rate, keep_ms, max_latency_ms;
    bool for_all;
    struct mic mic;
    float *samples; /* of the file */
    size_t n_samples, at;
    double file_began_s; /* 0: not published yet */
    unsigned rate_hz;
    struct rill_client *client; /* NULL: not connected */
    double retry_s, next_try_s;
    uint64_t lost; /* samples that were left out */
    rill_error err;
};

/* ---- samples ---- */

/* What is there, n at most. A file gives what would have come from a microphone by now. */
static size_t source_read(struct feed *f, float *x, size_t n)
{
    if (!f->file)
        return ring_read(&f->mic.ring, x, n);
    if (f->file_began_s <= 0)
        return 0;
    double due_s = tool_now_s() - f->file_began_s + FILE_AHEAD_S;
    size_t due =
        due_s * f->rate_hz < (double) f->n_samples ? (size_t) (due_s * f->rate_hz) : f->n_samples;
    size_t have = due > f->at ? due - f->at : 0;
    n = n < have ? n : have;
    memcpy(x, f->samples + f->at, n * sizeof *x);
    f->at += n;
    return n;
}

static bool source_ended(struct feed *f)
{
    return f->file ? f->at == f->n_samples : !mic_runs(&f->mic);
}

static void source_drop(struct feed *f)
{
    float x[1024];
    for (size_t n; (n = source_read(f, x, sizeof x / sizeof *x)) > 0;)
        f->lost += n;
    if (!f->file)
        f->lost += atomic_exchange(&f->mic.lost, 0);
}

static rill_status source_open(struct feed *f)
{
    int rate = 0;
    if (!f->file) {
        rill_status s = mic_open(&f->mic, f->device, (unsigned) f->rate, &f->err);
        f->rate_hz = f->mic.rate;
        return s;
    }
    rill_status s = audio_read(f->file, 0, &f->samples, &f->n_samples, &rate, &f->err);
    f->rate_hz = (unsigned) rate;
    return s;
}

/* ---- the daemon ---- */

static void on_failure(void *arg, const struct rill_client_failure *e)
{
    const struct feed *f = arg;
    if (!e->fatal)
        fprintf(stderr, "rill feed: %s: %s: %s\n", f->topic, e->code_name, e->text);
}

static void feed_disconnect(struct feed *f)
{
    fprintf(stderr, "rill feed: %s: %s; next attempt in %.2f s\n", f->topic,
            rill_client_error(f->client), f->retry_s);
    f->client = rill_client_free(f->client);
    f->next_try_s = tool_now_s() + f->retry_s;
    f->retry_s = f->retry_s * 2 < RETRY_MOST_S ? f->retry_s * 2 : RETRY_MOST_S;
}

static void feed_connect(struct feed *f)
{
    const struct rill_client_events ev = { .arg = f, .error = on_failure };
    const struct rill_client_open o = { .model = f->model,
                                        .in = { f->rate_hz, 1, RILL_CLIENT_F32 },
                                        .pace = RILL_CLIENT_LIVE,
                                        .align = true,
                                        .max_latency_ms = (uint32_t) f->max_latency_ms };
    const struct rill_client_publish p = {
        .topic = f->topic, .for_all = f->for_all, .keep_ms = (uint32_t) f->keep_ms, .mute = true
    };
    struct rill_client_opened opened;
    if (rill_client_connect(&f->client, f->socket, "rill feed", 5000) < 0) {
        feed_disconnect(f);
        return;
    }
    if (rill_client_open(f->client, STREAM, &o, &opened) < 0 ||
        rill_client_publish(f->client, STREAM, &p, NULL) < 0) {
        feed_disconnect(f);
        return;
    }
    rill_client_set_events(f->client, &ev); /* refusals until here are told as they return */
    fprintf(stderr, "rill feed: %s: published, %u Hz through %s\n", f->topic, f->rate_hz,
            opened.model);
    f->retry_s = RETRY_FIRST_S;
    source_drop(f); /* what is old is of no use */
    if (f->file_began_s <= 0)
        f->file_began_s = tool_now_s();
}

/* Where credit or the ring had no room, the position jumps and the daemon tells the gap. A file can
 * wait. */
static int piece_send(struct feed *f, const float *x, size_t n)
{
    size_t lost = f->file ? 0 : atomic_exchange(&f->mic.lost, 0);
    while (rill_client_poll(f->client, 0) > 0)
        ;
    bool room = f->file || rill_client_credit(f->client, STREAM) >= n;
    if (!room)
        lost += n;
    f->lost += lost;
    if (lost && rill_client_skip(f->client, STREAM, lost) < 0)
        return -1;
    return room ? rill_client_send(f->client, STREAM, x, n * sizeof *x) : 0;
}

static void feed_step(struct feed *f)
{
    float x[192 * PIECE_MS];
    size_t n = source_read(f, x, (size_t) f->rate_hz * PIECE_MS / 1000);
    int r = n ? piece_send(f, x, n) : rill_client_poll(f->client, PIECE_MS / 2);
    if (r < 0 || rill_client_ended(f->client, STREAM))
        feed_disconnect(f);
}

static void feed_loop(struct feed *f)
{
    while (!tool_stops() && !source_ended(f)) {
        if (f->client) {
            feed_step(f);
        } else if (tool_now_s() >= f->next_try_s) {
            feed_connect(f);
        } else {
            source_drop(f);
            usleep(20000);
        }
    }
}

static int feed_end(struct feed *f)
{
    struct rill_client_finished fin;
    bool gone = !f->file && !tool_stops();
    if (f->client && rill_client_finish(f->client, STREAM, &fin) < 0)
        return tool_fail(f->cmd, TOOL_IO, "%s", rill_client_error(f->client));
    if (f->client)
        fprintf(stderr, "rill feed: %s: %llu samples, %llu left out, rtf %.5f\n", f->topic,
                (unsigned long long) fin.in, (unsigned long long) f->lost, (double) fin.rtf);
    if (gone)
        return tool_fail(f->cmd, TOOL_IO, "the microphone stopped");
    return f->client || tool_stops()
        ? TOOL_OK
        : tool_fail(f->cmd, TOOL_IO, "the file ended without a connection");
}

static int feed_start(struct feed *f)
{
    tool_stop_by_signals();
    int code = f->file ? TOOL_OK : devices_init(f->cmd);
    if (code != TOOL_OK)
        return code;
    if (source_open(f) != RILL_OK) {
        code = tool_fail_status(f->cmd, &f->err);
    } else {
        feed_loop(f);
        code = feed_end(f);
    }
    rill_client_free(f->client);
    free(f->samples);
    if (!f->file) {
        mic_close(&f->mic);
        Pa_Terminate();
    }
    return code;
}

static int feed_run(const struct command *cmd, int argc, char **argv)
{
    const char *env = getenv("RILL_SOCKET");
    struct feed f = { .cmd = cmd,
                      .socket = env && *env ? env : "/run/rilld/rilld.sock",
                      .retry_s = RETRY_FIRST_S };
    const struct opt table[] = {
        { "all", 0, OPT_FLAG, &f.for_all, NULL, "every user may subscribe, not this one only" },
        { "device", 'd', OPT_TEXT, &f.device, "DEV",
          "microphone: number or part of its name (default: the system's)" },
        { "file", 0, OPT_TEXT, &f.file, "FILE",
          "WAV or FLAC at its own pace instead of a microphone" },
        { "keep", 'k', OPT_INT, INT_FROM_TO(&f.keep_ms, 0, 60000), "MS",
          "history that who subscribes later may ask for (default: none)" },
        { "max-latency", 0, OPT_INT, INT_FROM_TO(&f.max_latency_ms, 0, 60000), "MS",
          "leave out audio that waited longer in the daemon (default: 0, never)" },
        { "model", 'm', OPT_TEXT, &f.model, "MODEL",
          "the daemon's model (default: its own default)" },
        { "rate", 0, OPT_INT, INT_FROM_TO(&f.rate, 8000, 192000), "HZ",
          "of the microphone (default: its own)" },
        { "socket", 's', OPT_TEXT, &f.socket, "PATH",
          "the daemon's socket (default: $RILL_SOCKET or the system's)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 1, 1);
    if (n < 0)
        return -n;
    f.topic = argv[0];
    if (strspn(f.topic, "abcdefghijklmnopqrstuvwxyz0123456789._-") != strlen(f.topic) ||
        !*f.topic || *f.topic == '.' || strlen(f.topic) > 64)
        return tool_fail(cmd, TOOL_USAGE,
                         "a stream's name is 1 to 64 of a-z 0-9 . _ - and begins with no dot");
    return feed_start(&f);
}

const struct command cmd_feed = {
    .name = "feed",
    .usage = "[OPTIONS] NAME",
    .summary = "offer a microphone through a model as a published stream",
    .details = "Programs subscribe to NAME at the daemon's socket, for example 'rill listen NAME'. "
               "A connection that breaks is\n"
               "made again, first after a quarter of a second, later every ten. Ends with the file "
               "or at SIGTERM.",
    .run = feed_run,
};
