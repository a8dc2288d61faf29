/* SPDX-License-Identifier: MIT */
/* tarball.h - the files of one model, read from a tar archive, plain or compressed by gzip or
 * bzip2. */
#ifndef RILL_MODELS_TARBALL_H
#define RILL_MODELS_TARBALL_H
#include "models/folder.h"

/* Whether the name ends as those of archives do: .tar, .tar.gz, .tgz, .tar.bz2, .tbz2. */
bool tarball_is(const char *path);
/* UNSUPPORTED: the name ends as those of other archives do. */
rill_status tarball_check_name(const char *path, rill_error *reterr);

/* Reads all members into a; ret holds them as a folder does its files, without the folders that all
 * of a model may lie in. Refused by name: what is no plain file or directory, paths that lead out,
 * a name that comes twice, more than 4096 members (folders count), more than max_bytes in all or
 * than 1032 times the bytes of what is compressed, what follows the end of what is compressed.
 * UNSUPPORTED: this library was built without libarchive. */
rill_status tarball_open(struct folder *ret, const char *path, struct arena *a, uint64_t max_bytes,
                         rill_error *reterr);
/* Which members of an archive are wanted, by their names as they are in it. */
struct tarball_wanted {
    bool (*is_wanted)(const void *arg, const char *name);
    const void *arg;
};

/* Those alone, max_bytes of them in all, with these names. What else is there is looked at as
 * before (but may come twice), may have 20 times the bytes of the archive and 1 MiB, and takes no
 * memory. */
rill_status tarball_members(struct folder *ret, const char *path,
                            const struct tarball_wanted *wanted, struct arena *a,
                            uint64_t max_bytes, rill_error *reterr);
/* As tarball_open, of the bytes of an archive; path is for messages. */
rill_status tarball_of(struct folder *ret, const char *path, const uint8_t *bytes, size_t n,
                       struct arena *a, uint64_t max_bytes, rill_error *reterr);
#endif
