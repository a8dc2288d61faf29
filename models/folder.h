/* SPDX-License-Identifier: MIT */
/* folder.h - the files of one model, read from its folder and nowhere else. */
#ifndef RILL_MODELS_FOLDER_H
#define RILL_MODELS_FOLDER_H
#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <sha2.h>
#include <stdbool.h>
#include <stdint.h>

/* A file that is part of the library. */
struct folder_file {
    const char *name; /* NULL ends a list */
    const uint8_t *data;
    size_t n;
};

struct folder {
    int fd;                             /* of the directory; -1: none */
    const struct folder_file *built_in; /* what there is instead of a directory; NULL: nothing */
    bool is_kept;     /* those files live as long as what is read, a zero behind each */
    const char *path; /* of the directory; "": none */
    SHA2_CTX digest;  /* over all bytes read so far, in order */
};

rill_status folder_open(struct folder *ret, const char *path, rill_error *reterr);
void folder_close(struct folder *f);

/* Reads a regular file of at most max_bytes into a. name is relative, without "..", and no part of
 * it is a symbolic link. The bytes are followed by a zero that *ret_n does not count. An error
 * begins with name; which model it is of the caller says. */
rill_status folder_read(struct folder *f, const char *name, struct arena *a, uint64_t max_bytes,
                        const uint8_t **ret, size_t *ret_n, rill_error *reterr);

/* folder_read() that leaves the digest alone, for who reads the file again. */
rill_status folder_peek(struct folder *f, const char *name, struct arena *a, uint64_t max_bytes,
                        const uint8_t **ret, size_t *ret_n, rill_error *reterr);

/* The names in the folder itself, in order, as strings in a; at most FOLDER_NAMES_MAX. */
#define FOLDER_NAMES_MAX 4096
rill_status folder_list(const struct folder *f, struct arena *a, const char ***ret, size_t *ret_n,
                        rill_error *reterr);

/* Whether there is something of that name; folder_read says if it cannot be read. */
bool folder_has(const struct folder *f, const char *name);

/* Adds bytes that came another way to the digest. */
void folder_digest(struct folder *f, const void *bytes, size_t n);
#endif
