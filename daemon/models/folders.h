/* SPDX-License-Identifier: MIT */
/* folders.h - which of the folders of model_path holds a model. */
#ifndef RILL_DAEMON_MODELS_FOLDERS_H
#define RILL_DAEMON_MODELS_FOLDERS_H

#include "daemon/base/conf.h"

#include <stdbool.h>
#include <stddef.h>

#define FOLDERS_WHY_BYTES 640

/* The n-th folder of a path with : between; false past the last. */
bool folders_part(const char *model_path, unsigned n, char *ret, size_t bytes);

#define MODEL_NAME_RULE "a model's name is 1 to 64 of a-z 0-9 . _ - and begins with no dot"
bool model_name_valid(const char *name);

enum model_place { PLACE_NOWHERE, PLACE_BUILTIN, PLACE_FOLDER };

struct model_look {
    enum model_place place;
    int fd;                         /* of what lies in a folder, the caller's; else -1 */
    int error;                      /* nowhere: ENOENT, else why that cannot be told */
    char path[CONF_STR_BYTES + 80]; /* what it is called in messages */
    char why[FOLDERS_WHY_BYTES];    /* nowhere: words for people */
};

/* Where the model of that name is: in the first folder of model_path that holds it, else built in.
 * A folder that cannot be searched may hold it, and a symbolic link is meant to, so neither a later
 * folder nor what is built in takes its place. False if it is nowhere. */
bool model_find_place(const char *model_path, const char *name, struct model_look *ret);

/* The same for who only asks whether there is one: errno is the error where there is not. */
bool model_is_there(const char *model_path, const char *name, char why[FOLDERS_WHY_BYTES]);

/* Whether it is one that goes by itself: too few descriptors or processes, too little memory. */
bool error_passes(int error);

#endif
