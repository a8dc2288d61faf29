/* SPDX-License-Identifier: MIT */
/* bytes.h - a whole file in memory.
 *
 * The file is read, not mapped: one that shrinks afterwards cannot take the process with it. */
#ifndef RILL_ENGINE_BASE_BYTES_H
#define RILL_ENGINE_BASE_BYTES_H
#include "engine/base/err.h"

struct bytes {
    const uint8_t *data;
    size_t n;
    char *path; /* as opened; NULL: not from a file. What lies beside it is found from here */
};

#define BYTES_MAX ((uint64_t) 2 << 30)

/* Reads a regular file of at most max_bytes (0: BYTES_MAX). *ret is owned by the caller, written
 * only on RILL_OK. The caller names the file in front of an error (err_prefix). */
rill_status bytes_from_file(struct bytes *ret, const char *path, uint64_t max_bytes,
                            rill_error *reterr);

/* Frees and zeroes b; a zeroed b is fine. */
void bytes_drop(struct bytes *b);

/* Reads n bytes at offset of an open file; IO if the file is shorter. The caller names the file. */
rill_status bytes_read_at(int fd, void *ret, size_t n, uint64_t offset, rill_error *reterr);
#endif
