/* SPDX-License-Identifier: MIT */
/* npz.h - arrays of numpy: .npy files, and .npz, a zip of them. */
#ifndef TOOLS_NPZ_H
#define TOOLS_NPZ_H
#include "engine/base/err.h"
#include "engine/graph/tensor.h"

struct npz_array {
    const char *name;
    const struct tensor *t;
};

struct npz {
    struct npz_array *list;
    uint32_t n, cap;
};

/* Little endian, in C order; what they hold lives in a. The caller names the file. */
rill_status npy_read(const struct tensor **ret, struct arena *a, const uint8_t *data, size_t n,
                     rill_error *reterr);
/* Stored or deflated; of at most 2 GiB in all. */
rill_status npz_read(struct npz *ret, struct arena *a, const uint8_t *data, size_t n,
                     rill_error *reterr);

/* Borrows; false: no memory. */
bool npz_add(struct npz *z, struct arena *a, const char *name, const struct tensor *t);
/* NULL: there is none. */
const struct tensor *npz_find(const struct npz *z, const char *name);

/* Stored. bf16 goes as the bits of uint16, numbers of 4 and 2 bits as bytes. */
rill_status npz_write(const struct npz *z, const char *path, rill_error *reterr);
#endif
