/* SPDX-License-Identifier: MIT */
#include "daemon/folders.h"
#include "daemon/beneath.h"
#include "daemon/conf.h"

#include <errno.h>
#include <rill.h>
#include <string.h>

bool folders_part(const char *model_path, unsigned n, char *ret, size_t bytes)
{
    for (; n; n--) {
        model_path = strchr(model_path, ':');
        if (!model_path)
            return false;
        model_path++;
    }
    size_t len = strcspn(model_path, ":"), kept = len < bytes ? len : bytes - 1;
    memcpy(ret, model_path, kept);
    ret[kept] = '\0';
    return len > 0 || strchr(model_path, ':');
}

int folders_find(const char *model_path, const char *name, char *ret, size_t bytes,
                 char why[FOLDERS_WHY_BYTES])
{
    char dir[CONF_STR_BYTES];
    int error = ENOENT;
    snprintf(why, FOLDERS_WHY_BYTES, "no model of that name is built in or in model_path");
    for (unsigned i = 0; folders_part(model_path, i, dir, sizeof dir); i++) {
        errno = ENOENT;
        int fd = dir[0] == '/' ? model_beneath(dir, name) : -1;
        if (fd >= 0) {
            snprintf(ret, bytes, "%s/%s", dir, name);
            return fd;
        }
        if (errno == ENOENT || error != ENOENT)
            continue;
        error = errno;
        snprintf(why, FOLDERS_WHY_BYTES,
                 "the folder %s of model_path cannot be searched for it: %s", dir, strerror(error));
    }
    errno = error;
    return -1;
}

bool model_is_builtin(const char *name)
{
    const char *b;
    for (unsigned i = 0; (b = rill_model_builtin_name(i)); i++)
        if (strcmp(b, name) == 0)
            return true;
    return false;
}
