/* SPDX-License-Identifier: MIT */
#include "tools/stage.h"
#include "tools/catalogue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM_CHARS 6 /* that mkdtemp puts in */

int files_each(const char *folder, int (*act)(const char *path, const char *file, void *arg),
               void *arg)
{
    struct dirent **list = NULL;
    int n = scandir(folder, &list, NULL, alphasort), code = 0;
    for (int i = 0; i < n; i++) {
        char path[STAGE_PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (!code && catalogue_has_file(folder, list[i]->d_name))
            code = act(path, list[i]->d_name, arg);
        free(list[i]);
    }
    free(list);
    return code;
}

static int file_drop(const char *path, const char *file, void *arg)
{
    (void) file, (void) arg;
    unlink(path);
    return 0;
}

void stage_drop(struct stage *s)
{
    files_each(s->path, file_drop, NULL);
    rmdir(s->path);
    if (s->lock >= 0)
        close(s->lock);
    s->lock = -1;
}

/* The kernel gives the lock back when its holder ends, however that is. */
static int folder_lock(const char *path, int *ret_why)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *ret_why = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    return fd;
}

static void left_over_drop(const char *path)
{
    struct stage s;
    int why;
    snprintf(s.path, sizeof s.path, "%s", path);
    s.lock = folder_lock(path, &why);
    if (!why)
        stage_drop(&s);
    else if (s.lock >= 0)
        close(s.lock);
}

static void left_over_find(const char *root, const char *prefix)
{
    struct dirent **list = NULL;
    size_t m = strlen(prefix);
    int n = scandir(root, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[STAGE_PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s", root, list[i]->d_name);
        if (!strncmp(list[i]->d_name, prefix, m) && strlen(list[i]->d_name) == m + RANDOM_CHARS)
            left_over_drop(path);
        free(list[i]);
    }
    free(list);
}

/* Whether another run took it for one that was left, before it was locked. */
static bool is_gone(const struct stage *s)
{
    struct stat st;
    return stat(s->path, &st) != 0 && errno == ENOENT;
}

int stage_make(struct stage *ret, const char *root, const char *name)
{
    char prefix[512];
    int why;
    snprintf(prefix, sizeof prefix, ".%s.get-", name);
    left_over_find(root, prefix);
    for (;;) {
        snprintf(ret->path, sizeof ret->path, "%s/%sXXXXXX", root, prefix);
        if (!mkdtemp(ret->path))
            return errno;
        ret->lock = folder_lock(ret->path, &why);
        /* Where folders cannot be locked, nobody takes them away either. */
        if (why != EWOULDBLOCK && !is_gone(ret))
            return 0;
        stage_drop(ret);
    }
}
