/* SPDX-License-Identifier: MIT */
/* builtin.h - models that are part of the library; the list is made at build time by embed.c. */
#ifndef MODELS_BUILTIN_H
#define MODELS_BUILTIN_H

struct builtin {
    const char *name;           /* NULL ends the list; the first is the default */
    const char *conf, *graph;   /* the text of model.conf and graph.nnef */
};

extern const struct builtin builtins[];
#endif
