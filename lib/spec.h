/* SPDX-License-Identifier: MIT */
/* spec.h - a transform as it is written: "name" or "name(key: value, value, ...)", a call with
 * words for arguments.
 *
 * A word is bare (letters, digits and _ . / + -) or in double or single quotes, where a backslash
 * stands before a quote, another backslash, or n for a new line. Dashes in the name and in bare
 * keys count as underscores. */
#ifndef RILL_LIB_SPEC_H
#define RILL_LIB_SPEC_H
#include "engine/base/arena.h"
#include "engine/base/err.h"

#define SPEC_ARGS_MAX 64

struct spec_arg {
    const char *key; /* NULL: by place */
    const char *value;
    unsigned column; /* of the value, from 1 */
};

struct spec {
    const char *text; /* as given */
    const char *name;
    struct spec_arg arg[SPEC_ARGS_MAX];
    unsigned n_args;
};

/* Strings live in a. Errors name the column. */
rill_status spec_parse(struct spec *ret, struct arena *a, const char *text, rill_error *reterr);

/* INVALID: "transform 'text', column N: ..." */
__attribute__((format(printf, 4, 5))) rill_status spec_fail(const struct spec *s, unsigned column,
                                                            rill_error *err, const char *fmt, ...);
#endif
