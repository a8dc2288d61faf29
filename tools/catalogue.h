/* SPDX-License-Identifier: MIT */
/* catalogue.h - the model folders as shipped, weights not included: what `rill models get` knows.
 */
#ifndef TOOLS_CATALOGUE_H
#define TOOLS_CATALOGUE_H
#include <stdbool.h>

#define CATALOGUES_MAX 4
#define CATALOGUE_PATH_BYTES 4096
#define CATALOGUE_FOLDER_BYTES 8192

/* Folders of such folders, in order: $RILL_LIBRARY; the installed one; that of the source tree
 * where the tool runs from its build folder. */
unsigned catalogue_paths(char ret[CATALOGUES_MAX][CATALOGUE_PATH_BYTES]);

/* Whether `name` is a regular file in folder. */
bool catalogue_has_file(const char *folder, const char *name);

/* The shipped folder of a model; false: there is no such model. */
bool catalogue_find(const char *name, char ret[CATALOGUE_FOLDER_BYTES]);
bool catalogue_has(const char *name);
#endif
