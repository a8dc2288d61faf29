/* SPDX-License-Identifier: MIT */
#include "daemon/models/open_at.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Kernels before 5.6 lack openat2, and seccomp filters may refuse it; a name without a slash needs
 * no path walk, so openat does. */
static int name_open_at(int dir, const char *name)
{
    struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                            .resolve =
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    int fd = (int) syscall(SYS_openat2, dir, name, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM) && !strchr(name, '/'))
        fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd;
}

int model_open_at(const char *dir, const char *name)
{
    struct stat st;
    size_t n = strlen(name);
    bool compiled = n > 5 && !strcmp(name + n - 5, ".rill");
    int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -1;
    int fd = name_open_at(at, name), why = errno;
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

mode_t model_type_at(const char *dir, const char *name)
{
    struct stat st = { 0 };
    int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is = at >= 0 && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (at >= 0)
        close(at);
    return is ? st.st_mode & S_IFMT : 0;
}
