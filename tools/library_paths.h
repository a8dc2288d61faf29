/* SPDX-License-Identifier: MIT */
/* library_paths.h - where folders of models lie. */
#ifndef TOOLS_LIBRARY_PATHS_H
#define TOOLS_LIBRARY_PATHS_H

#define LIBRARY_PATHS_MAX 16
#define LIBRARY_PATH_BYTES 4096

/* Folders searched for model folders, in order: each part of $RILL_MODEL_PATH; the user's data
 * folder; the installed one. Strings live until the next call. */
unsigned library_paths(const char *ret[LIBRARY_PATHS_MAX]);

/* The folder that `rill models get` fills by default: the user's. */
const char *library_user_path(void);

/* `inside` of the source tree, for a tool that runs from its build folder, wherever that lies; NULL
 * for an installed one. Lives until the next call. */
const char *library_source_path(const char *inside);
#endif
