/* SPDX-License-Identifier: MIT */
#include "daemon/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct { const char *name; enum log_level level; } levels[] = {
    { "error", LOG_ERROR }, { "warning", LOG_WARN }, { "info", LOG_INFO }, { "debug", LOG_DEBUG },
};

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

void log_init(struct log *l, const char *level, const char *format)
{
    l->level = LOG_INFO;
    log_set_level(l, level);
    l->prefix = strcmp(format, "prefix") == 0 || (strcmp(format, "auto") == 0 && stderr_is_journal());
}

void log_line(const struct log *l, enum log_level level, const char *format, ...)
{
    if (level > l->level)
        return;
    char b[1200];
    int n = l->prefix ? snprintf(b, sizeof b, "<%d>", (int) level) : 0;
    va_list ap;
    va_start(ap, format);
    int m = vsnprintf(b + n, sizeof b - (size_t) n - 1, format, ap);
    va_end(ap);
    if (m < 0)
        return;
    size_t len = strlen(b);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char) b[i] < ' ')
            b[i] = ' ';
    b[len++] = '\n';
    ssize_t w = write(STDERR_FILENO, b, len);
    (void) w;
}
