/* SPDX-License-Identifier: MIT */
/* log.h - lines on stderr, from the loop thread only. Under the journal each line begins with
 * <N>, its syslog priority. */
#ifndef RILLD_LOG_H
#define RILLD_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR = 3, LOG_WARN = 4, LOG_INFO = 6, LOG_DEBUG = 7 };

struct log {
    enum log_level level;
    bool prefix;
};

/* format: "plain", "prefix" or "auto" (prefix where stderr is the journal's). */
void log_init(struct log *l, const char *level, const char *format);
bool log_set_level(struct log *l, const char *level);   /* false if there is no such level */

void log_line(const struct log *l, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
