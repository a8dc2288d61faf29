/* SPDX-License-Identifier: MIT */
#include "daemon/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Kernels before 5.6 lack openat2, and filters of system calls may; a name without a slash needs no
 * walk. */
static int beneath_open(int dir, const char *name)
{
    struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                            .resolve =
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    int fd = (int) syscall(SYS_openat2, dir, name, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM) && !strchr(name, '/'))
        fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd;
}

int model_beneath(const char *dir, const char *name)
{
    struct stat st;
    size_t n = strlen(name);
    bool compiled = n > 5 && !strcmp(name + n - 5, ".rill");
    int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -1;
    int fd = beneath_open(at, name), why = errno;
    close(at);
    errno = why == ENOTDIR || why == ELOOP || why == EXDEV ? ENOENT : why;
    if (fd >= 0 &&
        (fstat(fd, &st) < 0 || !(S_ISDIR(st.st_mode) || (compiled && S_ISREG(st.st_mode))))) {
        close(fd);
        errno = ENOENT;
        return -1;
    }
    return fd;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | ('A' <= c && c <= 'F' ? 0x20 : 0)) : NULL;
    return at ? (int) (at - digits) : -1;
}

/* "SHA256 NAME" with any blanks between; what it points into is the line. */
static bool pin_parse(char *line, uint8_t sha256[32], const char **ret_name)
{
    for (int i = 0; i < 32; i++) {
        int high = hex_digit(line[2 * i]), low = high < 0 ? -1 : hex_digit(line[2 * i + 1]);
        if (low < 0)
            return false;
        sha256[i] = (uint8_t) (high << 4 | low);
    }
    char *name = line + 64 + strspn(line + 64, " \t*");
    size_t n = strcspn(name, " \t\r\n");
    if (name == line + 64 || !n || name[n + strspn(name + n, " \t\r\n")])
        return false;
    name[n] = '\0';
    *ret_name = name;
    return true;
}

int pin_find(const char *path, const char *name, uint8_t ret_sha256[32], char *err, size_t n)
{
    char line[256];
    const char *at = "";
    uint8_t sha256[32];
    int found = 0;
    FILE *f = fopen(path, "re");
    for (unsigned k = 1; f && found >= 0 && fgets(line, sizeof line, f); k++) {
        if (!line[strspn(line, " \t\r\n")] || line[0] == '#')
            continue;
        if (!pin_parse(line, sha256, &at)) {
            snprintf(
                err, n,
                "models.pins: %.200s:%u is no line of 64 hex digits, a blank and a model's name",
                path, k);
            found = -1;
        } else if (strcmp(at, name) == 0) {
            memcpy(ret_sha256, sha256, sizeof sha256);
            found = 1;
        }
    }
    if (!f || ferror(f)) {
        snprintf(err, n, "models.pins: %.200s: %s", path, strerror(errno));
        found = -1;
    }
    if (f)
        fclose(f);
    return found;
}
