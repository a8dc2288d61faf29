/* SPDX-License-Identifier: MIT */
/* beside.h - a file that takes its place once it is whole: it is written beside it and renamed. */
#ifndef TOOLS_BESIDE_H
#define TOOLS_BESIDE_H
#include "rill.h"

#include <stdbool.h>
#include <stdio.h>

struct beside {
    FILE *f;
    char place[4096]; /* where a link leads, the file that it names */
    char name[4096];  /* "": no ordinary file, which is written straight into */
};

/* IO: it cannot be made. */
rill_status beside_open(struct beside *b, const char *path, rill_error *reterr);

/* fine: all was written. False leaves what was there before. IO: it cannot take its place; why, if
 * it was not fine, is what the caller says. */
rill_status beside_close(struct beside *b, bool fine, const char *why, rill_error *reterr);
#endif
