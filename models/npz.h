/* SPDX-License-Identifier: MIT */
/* npz.h - arrays of numpy by their names: .npz, a zip of .npy files. */
#ifndef RILL_MODELS_NPZ_H
#define RILL_MODELS_NPZ_H
#include "models/npy.h"

#define NPZ_BYTES_MAX ((uint64_t) 8 << 30) /* of the arrays of one file */

struct npz_array {
    const char *name;
    const struct tensor *t;
};

struct npz {
    struct npz_array *list;
    uint32_t n, cap;
};

/* UNSUPPORTED: this program was built without libarchive. */
rill_status npz_check(rill_error *reterr);

/* Stored or deflated; what they hold lives in a. The caller names the file. */
rill_status npz_read(struct npz *ret, struct arena *a, const char *path, rill_error *reterr);
/* As npz_read, of the n bytes of a file, at most max_bytes of arrays. */
rill_status npz_of(struct npz *ret, struct arena *a, const uint8_t *bytes, size_t n,
                   uint64_t max_bytes, rill_error *reterr);

/* Borrows; false: no memory. */
bool npz_add(struct npz *z, struct arena *a, const char *name, const struct tensor *t);
/* NULL: there is none. */
const struct tensor *npz_find(const struct npz *z, const char *name);

/* Stored. */
rill_status npz_write(const struct npz *z, const char *path, rill_error *reterr);
#endif
