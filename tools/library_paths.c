/* SPDX-License-Identifier: MIT */
#include "tools/library_paths.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef RILL_DATA_DIR
#error "RILL_DATA_DIR: where the library of models is installed"
#endif

const char *library_user_path(void)
{
    static char path[LIBRARY_PATH_BYTES];
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && *data)
        snprintf(path, sizeof path, "%s/rill/models", data);
    else
        snprintf(path, sizeof path, "%s/.local/share/rill/models", home && *home ? home : "/tmp");
    return path;
}

const char *library_source_path(const char *inside)
{
    static char path[2 * LIBRARY_PATH_BYTES];
    char exe[LIBRARY_PATH_BYTES], root[LIBRARY_PATH_BYTES] = "";
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (len <= 0)
        return NULL;
    exe[len] = 0;
    *strrchr(exe, '/') = 0;
    snprintf(path, sizeof path, "%s/source-root", exe); /* meson writes it */
    FILE *f = fopen(path, "r");
    bool good = f && fgets(root, sizeof root, f) && root[0] == '/';
    if (f)
        fclose(f);
    root[strcspn(root, "\n")] = 0;
    snprintf(path, sizeof path, "%s/%s", root, inside);
    return good ? path : NULL;
}

unsigned library_paths(const char *ret[LIBRARY_PATHS_MAX])
{
    static char parts[LIBRARY_PATHS_MAX][LIBRARY_PATH_BYTES];
    unsigned n = 0;
    const char *env = getenv("RILL_MODEL_PATH");
    for (const char *at = env; at && *at && n < LIBRARY_PATHS_MAX - 2;) {
        size_t len = strcspn(at, ":");
        if (len && len < LIBRARY_PATH_BYTES) {
            memcpy(parts[n], at, len);
            parts[n][len] = 0;
            ret[n] = parts[n];
            n++;
        }
        at += len + (at[len] == ':');
    }
    ret[n++] = library_user_path();
    ret[n++] = RILL_DATA_DIR "/models";
    return n;
}
