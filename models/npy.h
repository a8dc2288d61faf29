/* SPDX-License-Identifier: MIT */
/* npy.h - an array of numpy: a .npy file, and what an .npz has many of. */
#ifndef RILL_MODELS_NPY_H
#define RILL_MODELS_NPY_H
#include "engine/base/err.h"
#include "engine/graph/tensor.h"

#define NPY_BEGIN_BYTES 12   /* tell how long the header is */
#define NPY_HEADER_MAX 65548 /* of those that are read, with its beginning */
#define NPY_MADE_MAX 512     /* of those that are written */
#define NPY_BYTES_MAX ((uint64_t) 2 << 30)

/* How a file has the numbers: the first axis the first to change; the highest byte first. */
struct npy_layout {
    bool is_fortran, is_swapped;
};

/* Little endian, in C order, whatever the file has; it lives in a. The caller names the file. */
rill_status npy_read(const struct tensor **ret, struct arena *a, const uint8_t *data, size_t n,
                     rill_error *reterr);

/* How long the header is, by the first n bytes. */
rill_status npy_length(size_t *ret, const uint8_t *data, size_t n, rill_error *reterr);
/* Type and shape, by a header of n bytes; n_file has the elements, too. */
rill_status npy_header(struct tensor *ret, struct npy_layout *ret_layout, struct arena *a,
                       const uint8_t *data, size_t n, uint64_t n_file, rill_error *reterr);
/* Numbers that lie as the file has them are put as rill has them. */
rill_status npy_settle(const struct tensor *t, const struct npy_layout *layout, rill_error *reterr);
/* What an array has numbers of that type as: those of 4 and 2 bits are bytes. */
enum dtype npy_type(enum dtype t);
/* A multiple of 64 bytes. bf16 goes as the bits of uint16. */
size_t npy_header_make(const struct tensor *t, uint8_t ret[NPY_MADE_MAX]);
#endif
