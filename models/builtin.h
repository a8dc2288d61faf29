/* SPDX-License-Identifier: MIT */
/* builtin.h - models that are part of the library; the list is made at build time by embed.c. */
#ifndef RILL_MODELS_BUILTIN_H
#define RILL_MODELS_BUILTIN_H
#include "models/folder.h"

struct builtin {
    const char *name;                /* NULL ends the list; the first is the default */
    const struct folder_file *files; /* model.conf, graph.nnef and what that reads */
};

extern const struct builtin builtins[];
#endif
