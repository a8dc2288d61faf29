/* SPDX-License-Identifier: MIT */
#include "daemon/models/folders.h"
#include "daemon/models/open_at.h"

#include <errno.h>
#include <rill.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool model_name_valid(const char *name)
{
    size_t n = strlen(name);
    return n >= 1 && n <= 64 && name[0] != '.' &&
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

bool error_is_transient(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
}

static bool is_builtin(const char *name)
{
    const char *b;
    for (unsigned i = 0; (b = rill_model_builtin_name(i)); i++)
        if (strcmp(b, name) == 0)
            return true;
    return false;
}

static void folders_search(const char *model_path, const char *name, struct model_location *ret)
{
    char dir[CONF_STR_BYTES];
    for (unsigned i = 0; folders_part(model_path, i, dir, sizeof dir); i++) {
        if (dir[0] != '/')
            continue;
        ret->fd = model_open_at(dir, name);
        int error = ret->fd < 0 ? errno : 0;
        mode_t type = error == ENOENT ? model_type_at(dir, name) : 0;
        if (type == S_IFREG)
            snprintf(ret->why, sizeof ret->why,
                     "%.420s/%.64s is a file, no model folder: put it into one with graph.nnef and "
                     "model.conf, which say what its numbers mean",
                     dir, name);
        if (error == ENOENT && type != S_IFLNK)
            continue;
        if (error == ENOENT) {
            ret->error = ELOOP;
            snprintf(ret->why, sizeof ret->why,
                     "%.420s/%.64s is a symbolic link, which is not followed: move the folder "
                     "itself there, or add the folder that it lies in to model_path",
                     dir, name);
        } else if (error) {
            ret->error = error;
            snprintf(ret->why, sizeof ret->why,
                     "the folder %s of model_path cannot be searched for it: %s", dir,
                     strerror(ret->error));
        } else {
            ret->kind = LOCATION_FOLDER;
            snprintf(ret->path, sizeof ret->path, "%s/%s", dir, name);
        }
        return;
    }
}

bool model_locate(const char *model_path, const char *name, struct model_location *ret)
{
    *ret = (struct model_location) { .kind = LOCATION_NONE, .fd = -1, .error = ENOENT };
    snprintf(ret->path, sizeof ret->path, "%s", name);
    if (!model_name_valid(name)) {
        snprintf(ret->why, sizeof ret->why, MODEL_NAME_RULE);
        return false;
    }
    snprintf(ret->why, sizeof ret->why, "no model of that name is built in or in model_path");
    folders_search(model_path, name, ret);
    if (ret->kind == LOCATION_NONE && ret->error == ENOENT && is_builtin(name))
        ret->kind = LOCATION_BUILTIN;
    return ret->kind != LOCATION_NONE;
}

bool model_exists(const char *model_path, const char *name, char why[FOLDERS_WHY_BYTES])
{
    struct model_location at;
    bool there = model_locate(model_path, name, &at);
    if (at.fd >= 0)
        close(at.fd);
    memcpy(why, at.why, sizeof at.why);
    errno = at.error;
    return there;
}
