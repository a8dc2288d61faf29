/* SPDX-License-Identifier: MIT */
#include "tools/catalogue.h"
#include "tools/library_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

unsigned catalogue_paths(char ret[CATALOGUES_MAX][CATALOGUE_PATH_BYTES])
{
    unsigned n = 0;
    const char *env = getenv("RILL_LIBRARY");
    const char *source = library_source_path("models/library");
    if (env && *env)
        snprintf(ret[n++], CATALOGUE_PATH_BYTES, "%s", env);
    snprintf(ret[n++], CATALOGUE_PATH_BYTES, "%s/models", RILL_DATA_DIR);
    if (source)
        snprintf(ret[n++], CATALOGUE_PATH_BYTES, "%s", source);
    return n;
}

bool catalogue_has_file(const char *folder, const char *name)
{
    char path[CATALOGUE_FOLDER_BYTES];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool catalogue_find(const char *name, char ret[CATALOGUE_FOLDER_BYTES])
{
    char cats[CATALOGUES_MAX][CATALOGUE_PATH_BYTES];
    unsigned n = catalogue_paths(cats);
    for (unsigned i = 0; i < n && !strchr(name, '/') && name[0] != '.'; i++) {
        snprintf(ret, CATALOGUE_FOLDER_BYTES, "%s/%s", cats[i], name);
        if (catalogue_has_file(ret, "graph.nnef"))
            return true;
    }
    return false;
}

bool catalogue_has(const char *name)
{
    char folder[CATALOGUE_FOLDER_BYTES];
    return catalogue_find(name, folder);
}
