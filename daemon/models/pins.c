/* SPDX-License-Identifier: MIT */
#include "daemon/models/pins.h"
#include "daemon/models/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLANKS " \t\r"

struct pin {
    uint8_t sha256[32];
    const char *name;
    unsigned line;
};

struct pins {
    const char *path;
    char *text; /* of the whole file, with room for a zero after it */
    size_t bytes;
    struct pin *list;
    size_t n;
    char *err;
    size_t err_bytes;
};

__attribute__((format(printf, 3, 4))) static bool pins_fail(struct pins *p, unsigned line,
                                                            const char *format, ...)
{
    va_list ap;
    int n = line ? snprintf(p->err, p->err_bytes, "models.pins: %.200s:%u ", p->path, line)
                 : snprintf(p->err, p->err_bytes, "models.pins: %.200s: ", p->path);
    va_start(ap, format);
    if (n >= 0 && (size_t) n < p->err_bytes)
        vsnprintf(p->err + n, p->err_bytes - (size_t) n, format, ap);
    va_end(ap);
    return false;
}

/* ---- the file ---- */

static bool bytes_read(struct pins *p, int fd)
{
    while (p->bytes <= PINS_MAX_BYTES) {
        ssize_t n = read(fd, p->text + p->bytes, PINS_MAX_BYTES + 1 - p->bytes);
        if (n == 0)
            return true;
        if (n < 0 && errno != EINTR)
            return pins_fail(p, 0, "%s", strerror(errno));
        p->bytes += n > 0 ? (size_t) n : 0;
    }
    errno = 0;
    return pins_fail(p, 0, "is longer than %d bytes", PINS_MAX_BYTES);
}

/* Refuses what is no regular file: a pipe would block, and a device may have no end. */
static bool file_read(struct pins *p)
{
    struct stat st;
    int fd = *p->path == '/' ? open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    bool good = false;
    if (*p->path != '/') {
        errno = 0;
        pins_fail(p, 0, "must begin with /");
    } else if (fd < 0 || fstat(fd, &st) < 0) {
        pins_fail(p, 0, "%s", strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        errno = 0;
        pins_fail(p, 0, "is no file");
    } else {
        good = bytes_read(p, fd);
    }
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return good;
}

/* ---- its lines ---- */

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | ('A' <= c && c <= 'F' ? 0x20 : 0)) : NULL;
    return at ? (int) (at - digits) : -1;
}

/* "SHA256 NAME" with any blanks between; the name points into the line. */
static bool pin_parse(char *line, struct pin *ret)
{
    for (int i = 0; i < 32; i++) {
        int high = hex_digit(line[2 * i]), low = high < 0 ? -1 : hex_digit(line[2 * i + 1]);
        if (low < 0)
            return false;
        ret->sha256[i] = (uint8_t) (high << 4 | low);
    }
    char *name = line + 64 + strspn(line + 64, BLANKS "*");
    size_t n = strcspn(name, BLANKS);
    if (name == line + 64 || !n || name[n + strspn(name + n, BLANKS)])
        return false;
    name[n] = '\0';
    ret->name = name;
    return true;
}

static bool pin_add(struct pins *p, const struct pin *pin)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->list[i].name, pin->name) == 0 &&
            memcmp(p->list[i].sha256, pin->sha256, sizeof pin->sha256) != 0)
            return pins_fail(p, pin->line, "has another sha256 for '%s' than line %u", pin->name,
                             p->list[i].line);
    p->list[p->n++] = *pin;
    return true;
}

static bool line_take(struct pins *p, char *line, size_t bytes, unsigned k)
{
    struct pin pin = { .line = k };
    if (strlen(line) != bytes)
        return pins_fail(p, k, "has a zero byte");
    line += strspn(line, BLANKS);
    if (!*line || *line == '#')
        return true;
    if (!pin_parse(line, &pin))
        return pins_fail(p, k, "is no line of 64 hex digits, a blank and a model's name");
    if (!model_name_valid(pin.name))
        return pins_fail(p, k, "names '%.80s', which no model can have: " MODEL_NAME_RULE,
                         pin.name);
    return pin_add(p, &pin);
}

static bool lines_take(struct pins *p)
{
    char *at = p->text, *end = p->text + p->bytes;
    *end = '\0';
    for (unsigned k = 1; at < end; k++) {
        char *stop = memchr(at, '\n', (size_t) (end - at));
        stop = stop ? stop : end;
        *stop = '\0';
        if (!line_take(p, at, (size_t) (stop - at), k))
            return false;
        at = stop + 1;
    }
    return true;
}

/* 64 digits, a blank, a name and the line's end. */
#define LINE_BYTES_LEAST 67

int pin_find(const char *path, const char *name, uint8_t ret_sha256[32], char *err, size_t n)
{
    struct pins p = { .path = path,
                      .text = malloc(PINS_MAX_BYTES + 2),
                      .list = calloc(PINS_MAX_BYTES / LINE_BYTES_LEAST + 1, sizeof *p.list),
                      .err = err,
                      .err_bytes = n };
    int found = -1, why = 0;
    if (!p.text || !p.list)
        pins_fail(&p, 0, "%s", strerror(why = ENOMEM));
    else if (!file_read(&p))
        why = errno;
    else if (lines_take(&p))
        found = 0;
    for (size_t i = 0; found == 0 && i < p.n; i++)
        if (strcmp(p.list[i].name, name) == 0) {
            memcpy(ret_sha256, p.list[i].sha256, sizeof p.list[i].sha256);
            found = 1;
        }
    free(p.text);
    free(p.list);
    errno = why;
    return found;
}
