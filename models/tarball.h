/* SPDX-License-Identifier: MIT */
/* tarball.h - the files of one model, read from a tar archive, plain or compressed by gzip. */
#ifndef RILL_MODELS_TARBALL_H
#define RILL_MODELS_TARBALL_H
#include "models/folder.h"

/* Whether the name ends as those of archives do: .tar, .tar.gz, .tgz. */
bool tarball_is(const char *path);
/* UNSUPPORTED: the name ends as those of other archives do. */
rill_status tarball_check_name(const char *path, rill_error *reterr);

/* Reads all members into a; ret holds them as a folder does its files, without the folder that all
 * of them may lie in. Refused by name: what is no
 * plain file or directory, paths that lead out, a name that comes twice, more than 4096 members or
 * max_bytes in all. UNSUPPORTED: this library was built without libarchive. */
rill_status tarball_open(struct folder *ret, const char *path, struct arena *a, uint64_t max_bytes,
                         rill_error *reterr);
/* The same of the bytes of an archive; path is for messages. */
rill_status tarball_of(struct folder *ret, const char *path, const uint8_t *bytes, size_t n,
                       struct arena *a, uint64_t max_bytes, rill_error *reterr);
#endif
