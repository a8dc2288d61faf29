/* SPDX-License-Identifier: MIT */
/* Plays the hexadecimal blocks of docs/protocol.md against a daemon: each is one connection. */
#include "tests/daemon/harness.h"
#include "tests/sinks/tones.h"

#include <ctype.h>
#include <unistd.h>

#define MAX_BYTES 4096
enum { ANY = 256, REST = 257 };

/* What lines of one direction say until the direction or the frame changes. */
struct side {
    int pattern[MAX_BYTES];
    size_t n;
};

static struct rig rig;
static unsigned line_no;

static bool token_take(struct side *s, const char *t)
{
    unsigned count = 1, byte;
    if (strcmp(t, "**") == 0) {
        s->pattern[s->n++] = REST;
        return true;
    }
    if (strncmp(t, "..", 2) == 0) {
        if (t[2] == '*' && sscanf(t + 3, "%u", &count) != 1)
            return false;
        while (count-- && s->n < MAX_BYTES)
            s->pattern[s->n++] = ANY;
        return true;
    }
    const char *star = strchr(t, '*');
    if (star && star != t && (star - t) % 2 == 0) { /* bytes, so many times */
        for (unsigned k = sscanf(star + 1, "%u", &count) == 1 ? count : 0; k; k--)
            for (const char *b = t; b < star && s->n < MAX_BYTES; b += 2)
                s->pattern[s->n++] = sscanf(b, "%2x", &byte) == 1 ? (int) byte : ANY;
        return true;
    }
    if (strlen(t) != 2 || !isxdigit((unsigned char) t[0]) || sscanf(t, "%x", &byte) != 1)
        return false;
    s->pattern[s->n++] = (int) byte;
    return true;
}

static void line_take(struct side *s, char *line)
{
    char *hash = strchr(line, '#'), *save;
    if (hash)
        *hash = '\0';
    for (char *t = strtok_r(line, " \t\n", &save); t && s->n < MAX_BYTES - 1;
         t = strtok_r(NULL, " \t\n", &save))
        CHECK(token_take(s, t), "line %u: '%s' is no byte", line_no, t);
}

static void side_send(int fd, struct side *s)
{
    uint8_t b[MAX_BYTES];
    for (size_t i = 0; i < s->n; i++)
        b[i] = (uint8_t) s->pattern[i];
    CHECK(raw_send(fd, b, s->n), "before line %u", line_no);
    s->n = 0;
}

/* One preface or frame. */
static void side_expect(int fd, struct side *s, bool preface)
{
    uint8_t b[MAX_BYTES];
    size_t n = preface ? 8 : 4;
    bool good = raw_recv(fd, b, n, 15000) == (ssize_t) n;
    if (good && !preface) {
        size_t more = b[0] | (size_t) b[1] << 8;
        good = more < MAX_BYTES - 4 && raw_recv(fd, b + 4, more, 15000) == (ssize_t) more;
        n += more;
    }
    size_t at = 0;
    for (; good && at < n && at < s->n && s->pattern[at] != REST; at++)
        good = s->pattern[at] == ANY || s->pattern[at] == b[at];
    good = good && ((at < s->n && s->pattern[at] == REST) || (at == n && s->n == n));
    if (!CHECK(good, "the answer before line %u differs at byte %zu:", line_no, at)) {
        for (size_t i = 0; i < n; i++)
            printf(" %02x", b[i]);
        printf("\n");
    }
    s->n = 0;
}

/* A continued line begins with spaces after the sign. */
static bool is_new(const char *line)
{
    return line[1] == ' ' && line[2] != ' ';
}

struct play {
    int fd;
    struct side out, in;
    bool preface_seen;
};

static void play_flush(struct play *p)
{
    if (p->out.n)
        side_send(p->fd, &p->out);
    if (p->in.n) {
        /* In place of the preface an Error may come, and that is a frame. */
        bool preface = !p->preface_seen && p->in.pattern[0] == 'R' && p->in.pattern[1] == 'I';
        side_expect(p->fd, &p->in, preface);
        p->preface_seen = true;
    }
}

static void play_line(struct play *p, char *line)
{
    if (strncmp(line, "<end>", 5) == 0) {
        play_flush(p);
        CHECK(raw_closed(p->fd, 15000), "line %u", line_no);
    } else if (line[0] == '>' || line[0] == '<') {
        if (is_new(line))
            play_flush(p);
        line_take(line[0] == '>' ? &p->out : &p->in, line + 1);
    }
}

static void file_put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (CHECK(f && fputs(text, f) >= 0, "%s", path))
        fclose(f);
}

/* The model of the example of words; returns the settings that let the daemon find it. */
static const char *ears_make(void)
{
    static char more[256];
    char path[200];
    snprintf(more, sizeof more, "[models]\nmodel_path = %s/models\n", rig.dir);
    snprintf(path, sizeof path, "%s/models", rig.dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/models/ears", rig.dir);
    CHECK(tones_write(
              path,
              "[model]\ntask = asr\nsample_rate = 8000\nbudget_ms = 10\nlicence = MIT\nsummary = "
              "hears\n[input.pcm]\nkind = audio\n"
              "[output.logp]\nkind = ctc\ntokens = tokens.txt\nscores = logits\n",
              NULL),
          "the model");
    return more;
}

/* The model of the example of ports. */
static void count_make(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/models/count", rig.dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/models/count/model.conf", rig.dir);
    file_put(path, "[model]\nsummary = counts\n");
    snprintf(path, sizeof path, "%s/models/count/graph.nnef", rig.dir);
    file_put(path,
             "version 1.0;\ngraph count(x) -> (y)\n{\n"
             "    x = external<integer>(shape = [S]);\n    y = x + 1;\n}\n");
}

int main(void)
{
    FILE *f = fopen(getenv("RILLD_PROTOCOL_DOC"), "r");
    char line[512];
    struct play play = { .fd = -1 };
    unsigned n_blocks = 0;
    if (!CHECK(f != NULL))
        return check_end();
    rig_dir(&rig);
    rig_conf(&rig, ears_make());
    count_make();
    if (!CHECK(rig_spawn(&rig,
                         (char *[]) { getenv("RILLD"), (char *) (uintptr_t) "--config", rig.conf,
                                      NULL }) &&
               rig_wait_ready(&rig)))
        return check_end();
    while (fgets(line, sizeof line, f)) {
        line_no++;
        if (strncmp(line, "```hex", 6) == 0) {
            play = (struct play) { .fd = raw_connect(rig.sock) };
            n_blocks++;
        } else if (strncmp(line, "```", 3) == 0 && play.fd >= 0) {
            play_flush(&play);
            close(play.fd);
            play.fd = -1;
        } else if (play.fd >= 0) {
            play_line(&play, line);
        }
    }
    fclose(f);
    CHECK(n_blocks >= 5, "%u blocks", n_blocks);
    CHECK(rig_stop(&rig) == 0);
    return check_end();
}
