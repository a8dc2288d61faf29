/* SPDX-License-Identifier: MIT */
/* open_at.h - opens a model by its name in a folder, never by a path. */
#ifndef RILL_DAEMON_MODELS_OPEN_AT_H
#define RILL_DAEMON_MODELS_OPEN_AT_H

#include <sys/types.h>

/* Opens the folder `name`, or the regular file if the name ends in .rill, directly in dir, without
 * following symbolic links. The descriptor refers to what was found even if the name is replaced
 * later. -1: errno is ENOENT if there is none, else why that is not known. name is valid
 * (model_name_valid). */
int model_open_at(const char *dir, const char *name);

/* What that name is itself, a kind of st_mode (S_IFLNK); 0: nothing. For messages. */
mode_t model_type_at(const char *dir, const char *name);

#endif
