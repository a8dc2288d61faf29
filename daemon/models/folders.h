/* SPDX-License-Identifier: MIT */
/* folders.h - finds the folder of model_path that holds a model. */
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

enum location_kind { LOCATION_NONE, LOCATION_BUILTIN, LOCATION_FOLDER };

struct model_location {
    enum location_kind kind;
    int fd;                         /* FOLDER: of what was found, the caller's; else -1 */
    int error;                      /* NONE: ENOENT, or why that is not known */
    char path[CONF_STR_BYTES + 80]; /* its name in messages */
    char why[FOLDERS_WHY_BYTES];    /* NONE: a message for people */
};

/* Finds the model of that name in the first folder of model_path that holds it, else among the
 * built-in ones. A folder that cannot be searched may hold it, and a symbolic link stands for it,
 * so in these cases no later folder and no built-in model is taken. False if there is none. */
bool model_locate(const char *model_path, const char *name, struct model_location *ret);

/* The same without opening it: errno is the error where there is none. */
bool model_exists(const char *model_path, const char *name, char why[FOLDERS_WHY_BYTES]);

/* Whether the error may go away by itself: too few descriptors or processes, too little memory. */
bool error_is_transient(int error);

#endif
