/* SPDX-License-Identifier: MIT */
/* folders.h - which of the folders of model_path holds a model. */
#ifndef RILLD_FOLDERS_H
#define RILLD_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

#define FOLDERS_WHY_BYTES 640

/* The n-th folder of a path with : between; false past the last. */
bool folders_part(const char *model_path, unsigned n, char *ret, size_t bytes);

/* The first folder that holds name: a descriptor, and what it is called in messages. -1: errno is
 * ENOENT if none does, else a folder cannot be searched and none that can has it; why says which
 * and what is wrong with it, or that there is none. */
int folders_find(const char *model_path, const char *name, char *ret, size_t bytes,
                 char why[FOLDERS_WHY_BYTES]);

bool model_is_builtin(const char *name);

#endif
