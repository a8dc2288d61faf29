/* SPDX-License-Identifier: MIT */
#include "daemon/base/log.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE_BYTES 1200 /* less than PIPE_BUF, so a pipe takes a whole line or nothing */
#define DATAGRAM_BYTES 4096
#define BUCKETS 16 /* token buckets of users, by uid modulo their number */
#define BURST_S 4

static const struct {
    const char *name;
    enum log_level level;
} levels[] = {
    { "error", LOG_ERROR },
    { "warning", LOG_WARN },
    { "info", LOG_INFO },
    { "debug", LOG_DEBUG },
};

static const char *const message_ids[EVENT_COUNT] = {
    [EVENT_READY] = "6dba44a669c7044881073435470fa180",
    [EVENT_DRAINING] = "03daf552cf06082cdbb7141176830dc2",
    [EVENT_STUCK] = "9549dbaa73992f3b10c30d7b78afcd7c",
    [EVENT_RECOVERED] = "c4c921d222e635f8cfe2c87a28c877b1",
    [EVENT_MODEL_LOADED] = "f0f7997fb57c09834a540644e25f39c4",
    [EVENT_MODEL_FAILED] = "476143b6b7f586ec336c78e2a1457fea",
    [EVENT_RELOADED] = "b92dddd49aea045f9186ee44acc2233e",
    [EVENT_MODEL] = "7d9025ce01b5512cb50866130f569e7b",
    [EVENT_STREAM] = "1f6a3cbb0f0c4d0f9a5f6d0c53ae2e71",
    [EVENT_ERROR] = "a94d4a6c1ea94f5d8f2b7b90d2a5c3e4",
    [EVENT_PEER] = "e2b7c4d18f0a4c6b9c1d5a7e3f609b82",
};

struct bucket {
    uint64_t us; /* when it was last filled */
    double tokens;
    uint64_t held; /* lines left out since one was written */
};

struct log_state {
    int journal_fd; /* -1: stderr */
    struct sockaddr_un journal;
    uint32_t lines_per_s; /* 0: no bound */
    struct bucket buckets[BUCKETS];
    uint64_t lost;
};

/* ---- destination ---- */

/* JOURNAL_STREAM names the device and inode of the journal's socket; stderr may be another one. */
static bool stderr_is_journal(void)
{
    const char *e = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;
    return e && sscanf(e, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
        st.st_dev == dev && st.st_ino == ino;
}

bool log_set_level(struct log *l, const char *level)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(level, levels[i].name) == 0) {
            l->level = levels[i].level;
            return true;
        }
    return false;
}

static bool journal_open(struct log_state *s, const char *path)
{
    s->journal = (struct sockaddr_un) { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof s->journal.sun_path)
        return false;
    memcpy(s->journal.sun_path, path, strlen(path) + 1);
    s->journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return s->journal_fd >= 0;
}

void log_init(struct log *l, const char *level, const char *format, const char *journal,
              uint32_t client_lines_per_s)
{
    bool native =
        strcmp(format, "journal") == 0 || (strcmp(format, "auto") == 0 && stderr_is_journal());
    *l = (struct log) { .level = LOG_INFO, .state = calloc(1, sizeof *l->state) };
    log_set_level(l, level);
    l->prefix = strcmp(format, "prefix") == 0 || native;
    if (!l->state)
        return;
    l->state->journal_fd = -1;
    l->state->lines_per_s = client_lines_per_s;
    for (size_t i = 0; i < BUCKETS; i++)
        l->state->buckets[i].tokens = (double) client_lines_per_s * BURST_S;
    if (native)
        journal_open(l->state, journal);
}

void log_end(struct log *l)
{
    if (l->state && l->state->journal_fd >= 0)
        close(l->state->journal_fd);
    free(l->state);
    l->state = NULL;
}

uint64_t log_lost(const struct log *l)
{
    return l->state ? l->state->lost : 0;
}

/* ---- fields ---- */

struct fields {
    char *to;
    size_t n, cap;
};

static bool bytes_add(struct fields *f, const char *s, size_t n)
{
    if (f->n + n > f->cap)
        return false;
    memcpy(f->to + f->n, s, n);
    f->n += n;
    return true;
}

/* NAME=value and its line end, or nothing. */
static void field_add(struct fields *f, const char *name, const char *value, size_t n)
{
    size_t before = f->n;
    if (!bytes_add(f, name, strlen(name)) || !bytes_add(f, "=", 1) || !bytes_add(f, value, n) ||
        !bytes_add(f, "\n", 1))
        f->n = before;
}

/* "rtf_max" becomes "RILL_RTF_MAX"; the length of the key, 0 if there is none at s. */
static size_t key_read(const char *s, char name[48])
{
    size_t n = 0, k = (size_t) snprintf(name, 48, "RILL_");
    for (; (s[n] >= 'a' && s[n] <= 'z') || s[n] == '_' || (n && s[n] >= '0' && s[n] <= '9'); n++) {
        if (k + 1 >= 48)
            return 0;
        name[k++] = (char) (s[n] >= 'a' && s[n] <= 'z' ? s[n] - 'a' + 'A' : s[n]);
    }
    name[k] = '\0';
    return n && s[n] == '=' ? n : 0;
}

static void pairs_add(struct fields *f, const char *line)
{
    char name[48];
    size_t n;
    for (const char *p = line; (n = key_read(p, name));) {
        p += n + 1;
        bool quoted = *p == '"';
        size_t len = quoted ? strcspn(p + 1, "\"") : strcspn(p, " ");
        field_add(f, name, p + quoted, len);
        p += len + quoted;
        p += quoted && *p == '"';
        p += *p == ' ';
    }
}

unsigned long log_fields(char *to, unsigned long cap, enum log_level level, enum log_event event,
                         const char *line)
{
    struct fields f = { to, 0, cap };
    char priority[8];
    int n = snprintf(priority, sizeof priority, "%d", (int) level);
    field_add(&f, "MESSAGE", line, strlen(line));
    field_add(&f, "PRIORITY", priority, (size_t) n);
    field_add(&f, "SYSLOG_IDENTIFIER", "rilld", 5);
    if (message_ids[event])
        field_add(&f, "MESSAGE_ID", message_ids[event], strlen(message_ids[event]));
    pairs_add(&f, line);
    return f.n;
}

/* ---- writing ---- */

/* False where the journal is not there: then stderr is the way. */
static bool journal_send(struct log_state *s, enum log_level level, enum log_event event,
                         const char *line)
{
    char b[DATAGRAM_BYTES];
    size_t n = log_fields(b, sizeof b, level, event, line);
    if (sendto(s->journal_fd, b, n, MSG_NOSIGNAL, (const struct sockaddr *) &s->journal,
               sizeof s->journal) >= 0)
        return true;
    if (errno != EAGAIN && errno != ENOBUFS)
        return false;
    s->lost++;
    return true;
}

static void stderr_write(const struct log *l, enum log_level level, const char *line)
{
    char b[LINE_BYTES + 8];
    struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
    int n = snprintf(b, sizeof b, l->prefix ? "<%d>%s\n" : "%.0d%s\n", l->prefix ? (int) level : 0,
                     line);
    if (l->state && poll(&p, 1, 0) == 0) {
        l->state->lost++; /* the pipe is full */
        return;
    }
    ssize_t w = write(STDERR_FILENO, b, n > 0 && (size_t) n < sizeof b ? (size_t) n : sizeof b - 1);
    (void) w;
}

void log_clean(char *line)
{
    for (char *c = line; *c; c++)
        if ((unsigned char) *c < ' ' || *c == 0x7f)
            *c = ' ';
}

static void put(const struct log *l, enum log_level level, enum log_event event, char *line)
{
    log_clean(line);
    if (!l->state || l->state->journal_fd < 0 || !journal_send(l->state, level, event, line))
        stderr_write(l, level, line);
}

/* ---- rate limit ---- */

static struct bucket *bucket_of(struct log_state *s, const char *line)
{
    const char *uid = strstr(line, "uid=");
    return &s->buckets[uid ? strtoul(uid + 4, NULL, 10) % BUCKETS : 0];
}

/* Takes a token of the user's bucket for a line that its client caused; false: the line is left
 * out. The next line that is written is preceded by their number. */
static bool rate_allows(const struct log *l, const char *line)
{
    struct log_state *s = l->state;
    char told[120];
    if (!s || !s->lines_per_s)
        return true;
    struct bucket *b = bucket_of(s, line);
    uint64_t us = clock_now_us();
    double most = (double) s->lines_per_s * BURST_S,
           filled = b->tokens + (double) (us - b->us) * 1e-6 * s->lines_per_s;
    b->tokens = filled < most ? filled : most;
    b->us = us;
    if (b->tokens < 1 || (b->held && b->tokens < 2)) {
        b->held++;
        s->lost++;
        return false;
    }
    b->tokens -= 1;
    if (b->held) {
        snprintf(told, sizeof told, "left_out=%llu lines that clients of a user caused",
                 (unsigned long long) b->held);
        b->held = 0;
        b->tokens -= 1;
        put(l, LOG_WARN, EVENT_NONE, told);
    }
    return true;
}

/* ---- lines ---- */

static bool clients_cause(enum log_event event)
{
    return event == EVENT_STREAM || event == EVENT_ERROR || event == EVENT_PEER;
}

__attribute__((format(printf, 4, 0))) static void vlog(const struct log *l, enum log_level level,
                                                       enum log_event event, const char *format,
                                                       va_list ap)
{
    char line[LINE_BYTES];
    if (level > l->level || vsnprintf(line, sizeof line, format, ap) < 0)
        return;
    if (!clients_cause(event) || rate_allows(l, line))
        put(l, level, event, line);
}

void log_line(const struct log *l, enum log_level level, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vlog(l, level, EVENT_NONE, format, ap);
    va_end(ap);
}

void log_event(const struct log *l, enum log_level level, enum log_event event, const char *format,
               ...)
{
    va_list ap;
    va_start(ap, format);
    vlog(l, level, event, format, ap);
    va_end(ap);
}
