/* SPDX-License-Identifier: MIT */
/* rill pipe: raw samples from standard input through the daemon to standard output. */
#include "clients/c/rill_client.h"
#include "tools/tool.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAM_ID 1
#define PIECE_BYTES 4096
#define FRAME_BYTES_MAX 32 /* 8 channels of floats */

struct pipe {
    const struct command *cmd;
    struct rill_client *c;
    struct rill_client_opened opened;
    struct rill_client_finished fin;
    uint32_t rate;
    FILE *words;        /* standard output where the model gives no audio, else standard error */
    size_t frame_bytes; /* of the input */
    bool failed;        /* standard output takes no more */
};

/* ---- what the daemon sends ---- */

static void on_audio(void *arg, const struct rill_client_audio *a)
{
    struct pipe *p = arg;
    const char *at = a->pcm;
    for (size_t left = a->bytes; left && !p->failed;) {
        ssize_t n = write(STDOUT_FILENO, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        p->failed = n < 0;
        at += n;
        left -= (size_t) (n < 0 ? 0 : n);
    }
}

static void say(struct pipe *p, uint64_t pos, const char *what, const char *text)
{
    if (fprintf(p->words, "%.3f %s%s%s\n", (double) pos / p->rate, what, *text ? " " : "", text) <
            0 ||
        fflush(p->words))
        p->failed = true;
}

static void on_vad(void *arg, const struct rill_client_vad *v)
{
    if (v->edge != RILL_CLIENT_EDGE_NONE)
        say(arg, v->pos, v->edge == RILL_CLIENT_EDGE_START ? "start" : "end", "");
}

static void on_text(void *arg, const struct rill_client_text *t)
{
    if (t->final && *t->text)
        say(arg, t->pos, "text", t->text);
}

static void on_keyword(void *arg, const struct rill_client_keyword *k)
{
    say(arg, k->pos, "keyword", k->word);
}

static void on_gap(void *arg, const struct rill_client_gap *g)
{
    struct pipe *p = arg;
    fprintf(stderr, "%.3f gap of %llu samples\n", (double) g->pos / p->rate,
            (unsigned long long) g->samples);
}

/* ---- the stream ---- */

/* Reads what is there and sends the whole frames of it; what is left of one stays in front of
 * buffer. 0 at the end. */
static int input_take(struct pipe *p, char *buffer, size_t *fill)
{
    ssize_t n = read(STDIN_FILENO, buffer + *fill, PIECE_BYTES);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN
            ? 1
            : tool_fail(p->cmd, -TOOL_IO, "standard input: %s", strerror(errno));
    *fill += (size_t) n;
    size_t whole = *fill - *fill % p->frame_bytes;
    if (whole && rill_client_send(p->c, STREAM_ID, buffer, whole))
        return -1;
    memmove(buffer, buffer + whole, *fill - whole);
    *fill -= whole;
    return n > 0;
}

static int pump(struct pipe *p)
{
    char buffer[PIECE_BYTES + FRAME_BYTES_MAX];
    size_t fill = 0;
    int more = 1;
    while (more > 0 && !p->failed) {
        struct pollfd f[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                               { .fd = rill_client_fd(p->c), .events = POLLIN } };
        if (poll(f, 2, -1) < 0 && errno != EINTR)
            return tool_fail(p->cmd, -TOOL_IO, "poll: %s", strerror(errno));
        if (f[1].revents && rill_client_poll(p->c, 0) < 0)
            return -1;
        if (f[0].revents)
            more = input_take(p, buffer, &fill);
    }
    if (more < 0 || p->failed)
        return more < 0 ? more : 0;
    int code = rill_client_finish(p->c, STREAM_ID, &p->fin);
    if (code || p->failed || !fill)
        return code;
    return tool_fail(p->cmd, -TOOL_BAD_INPUT,
                     "standard input is cut off: its last %zu bytes are no whole frame of %zu "
                     "bytes and were left out",
                     fill, p->frame_bytes);
}

static int pipe_run(struct pipe *p, const char *socket, const struct rill_client_open *open)
{
    const struct rill_client_events events = { .arg = p,
                                               .audio = on_audio,
                                               .vad = on_vad,
                                               .gap = on_gap,
                                               .text = on_text,
                                               .keyword = on_keyword };
    int code = rill_client_connect(&p->c, socket, "rill pipe", 0);
    if (!code) {
        rill_client_set_events(p->c, &events);
        code = rill_client_open(p->c, STREAM_ID, open, &p->opened);
    }
    if (!code) {
        p->words = p->opened.outputs & RILL_CLIENT_AUDIO ? stderr : stdout;
        code = pump(p);
    }
    if (p->failed)
        code = tool_fail(p->cmd, -TOOL_IO, "standard output takes no more");
    else if (code == -1 && p->c)
        code = tool_fail(p->cmd, -(rill_client_error_code(p->c) ? TOOL_REFUSED : TOOL_IO), "%s",
                         rill_client_error(p->c));
    rill_client_free(p->c);
    return code < 0 ? -code : code;
}

static const struct format {
    const char *name;
    enum rill_client_enc enc;
    size_t bytes;
} formats[] = {
    { "f32", RILL_CLIENT_F32, 4 },
    { "s16", RILL_CLIENT_S16, 2 },
    { "s24", RILL_CLIENT_S24, 3 },
    { "s32", RILL_CLIENT_S32, 4 },
};

static const struct format *format_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, name))
            return &formats[i];
    return NULL;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct pipe p = { .cmd = cmd };
    const char *env = getenv("RILL_SOCKET"), *socket = env && *env ? env : "/run/rilld/rilld.sock";
    const char *model = NULL, *format = "s16", *pace = "live";
    int64_t rate = 16000, channels = 1, max_latency_ms = 0;
    const struct opt table[] = {
        { "channels", 'c', OPT_INT, INT_FROM_TO(&channels, 1, 8), "N",
          "interleaved channels, 1 to 8 (default 1)" },
        { "format", 'f', OPT_TEXT, &format, "f32|s16|s24|s32",
          "samples, little-endian (default s16)" },
        { "max-latency", 0, OPT_INT, INT_FROM_TO(&max_latency_ms, 0, 60000), "MS",
          "live: drop audio that waited longer (default: 0, never)" },
        { "model", 'm', OPT_TEXT, &model, "NAME",
          "a model the daemon knows (default: the daemon's)" },
        { "pace", 0, OPT_TEXT, &pace, "file|live",
          "as fast as credit allows, or as a microphone would (default)" },
        { "rate", 'r', OPT_INT, INT_FROM_TO(&rate, 8000, 192000), "HZ",
          "samples a second, 8000 to 192000 (default 16000)" },
        { "socket", 's', OPT_TEXT, &socket, "PATH",
          "the daemon's socket (default: $RILL_SOCKET or the system's)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 0, 0);
    if (n < 0)
        return -n;
    const struct format *f = format_find(format);
    bool live = !strcmp(pace, "live");
    if (!f || (!live && strcmp(pace, "file")))
        return tool_fail(cmd, TOOL_USAGE,
                         "--format is f32, s16, s24 or s32, --pace is file or live");
    if (!live && max_latency_ms)
        return tool_fail(cmd, TOOL_USAGE, "--max-latency goes with --pace live");
    p.rate = (uint32_t) rate;
    p.frame_bytes = f->bytes * (size_t) channels;
    struct rill_client_open open = { .model = model,
                                     .in = { p.rate, (uint32_t) channels, f->enc },
                                     .align = true,
                                     .pace = live ? RILL_CLIENT_LIVE : RILL_CLIENT_FILE,
                                     .max_latency_ms = (uint32_t) max_latency_ms };
    return pipe_run(&p, socket, &open);
}

const struct command cmd_pipe = {
    .name = "pipe",
    .usage = "[OPTIONS] <IN >OUT",
    .summary = "raw samples through the daemon, from standard input to standard output",
    .details = "Audio goes out as it comes in, as many samples, the model's latency and a pulse "
               "later. What is heard is told in lines of\n"
               "seconds and start, end, keyword WORD or text WORDS: on standard output where the "
               "model gives no audio, else on\n"
               "standard error, as are gaps. Input that ends within a frame is told and gives "
               "exit code 3; what was whole is\n"
               "processed.\n\n"
               "  arecord -t raw -f S16_LE -r 16000 | rill pipe | aplay -t raw -f S16_LE -r 16000",
    .run = run,
};
