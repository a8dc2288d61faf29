/* SPDX-License-Identifier: MIT */
/* beneath.h - models are found by name in a folder, never by path. */
#ifndef RILL_DAEMON_MODELS_BENEATH_H
#define RILL_DAEMON_MODELS_BENEATH_H

#include <stdbool.h>

/* The folder `name`, or the regular file if the name ends in .rill, directly in dir: a descriptor
 * that stays with what was found whatever comes in its place; -1: errno is ENOENT if there is none,
 * else why it cannot be told. Neither a symbolic link nor anything else is followed. name is valid
 * (model_name_valid). */
int model_beneath(const char *dir, const char *name);

/* Whether what lies there under that name is a symbolic link; for words. */
bool model_is_link(const char *dir, const char *name);

#endif
