/* SPDX-License-Identifier: MIT */
/* library.h - where models are found by name. */
#ifndef TOOLS_LIBRARY_H
#define TOOLS_LIBRARY_H
#include "models/conf.h"
#include "rill.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens what a person calls a model: a path to a folder or file, the name of a model folder in the
 * library, or a built-in; opts as for rill_model_open_with. An unknown name is refused with the
 * names there are. */
rill_status library_open(rill_model **ret, const char *name, const rill_model_opts *opts,
                         rill_error *reterr);

/* What a model folder says about itself; strings live in a. */
rill_status library_conf_read(struct model_conf *ret, struct arena *a, const char *folder,
                              rill_error *reterr);

/* The same of built-in n: false where there are not so many. */
bool library_conf_builtin(struct model_conf *ret, struct arena *a, unsigned n);

/* Whether all that conf names to be fetched lies in the folder, and the graph. */
bool library_is_whole(const char *folder, const struct model_conf *conf);

/* The folder of a model of the library; false where none of that name has one. */
bool library_folder(const char *name, char *ret, size_t cap);

/* Calls see for every model folder found, the first of each name; stops when it returns false. */
void library_each(bool (*see)(void *arg, const char *name, const char *path), void *arg);
#endif
