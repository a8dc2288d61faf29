/* SPDX-License-Identifier: MIT */
/* log.h - lines of "key=value" words, from the loop thread only: to stderr, or to the journal as
 * fields of their own. Writing never blocks, and the rate of lines that one user's clients cause is
 * limited: the next line says how many were left out. */
#ifndef RILL_DAEMON_BASE_LOG_H
#define RILL_DAEMON_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR = 3, LOG_WARN = 4, LOG_INFO = 6, LOG_DEBUG = 7 };

/* Kinds of lines that have a MESSAGE_ID of their own in the journal. */
enum log_event {
    EVENT_NONE,
    EVENT_READY,
    EVENT_DRAINING,
    EVENT_STUCK,
    EVENT_RECOVERED,
    EVENT_MODEL_LOADED,
    EVENT_MODEL_FAILED,
    EVENT_RELOADED,
    EVENT_MODEL,  /* the line that sums up a model */
    EVENT_STREAM, /* a stream's end; this and the next two are caused by clients */
    EVENT_ERROR,  /* an error was sent */
    EVENT_PEER,   /* connections and topics come and go */
    EVENT_COUNT
};

struct log_state;

struct log {
    enum log_level level;
    bool prefix;
    struct log_state *state; /* NULL: plain lines without bounds, as before log_init */
};

/* format: "plain", "prefix" (<N>, a syslog priority, before each line), "journal" or "auto"
 * (journal where stderr is the journal's, else plain). journal: path of its socket; where it cannot
 * be reached, lines with prefix go to stderr. */
void log_init(struct log *l, const char *level, const char *format, const char *journal,
              uint32_t client_lines_per_s);
void log_end(struct log *l);
bool log_set_level(struct log *l, const char *level); /* false if there is no such level */
uint64_t log_lost(const struct log *l);               /* lines that were left out */

void log_line(const struct log *l, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void log_event(const struct log *l, enum log_level level, enum log_event event, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

void log_clean(char *line); /* control bytes become blanks; every line is so written */

/* The fields of a line for the journal, as one datagram; the bytes, at most cap. Words before the
 * first that is no key=value pair and all after it are in MESSAGE only. */
unsigned long log_fields(char *to, unsigned long cap, enum log_level level, enum log_event event,
                         const char *line);

#endif
