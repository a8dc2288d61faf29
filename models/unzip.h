/* SPDX-License-Identifier: MIT */
/* unzip.h - the data of a gzip (RFC 1952) or bzip2 file as libarchive unpacks it, read to its end
 * and held against the checksum there: libarchive passes over gzip's and its length; those of bzip2
 * libbz2 compares. Nothing may follow. Of bzip2 files that were joined all are read; of gzip files,
 * whose seams libarchive does not tell, one alone. */
#ifndef RILL_MODELS_UNZIP_H
#define RILL_MODELS_UNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct archive;

enum unzip_kind { UNZIP_NONE, UNZIP_GZIP, UNZIP_BZIP2 };

#define UNZIP_HEAD_BYTES 10 /* that the kind is told by */
#define UNZIP_END_BYTES 8

struct unzip {
    struct archive *raw;
    enum unzip_kind kind;
    size_t n;                          /* bytes, compressed */
    uint32_t crc_of[256], crc, length; /* of what was read; the length as far as 32 bits go */
    uint8_t end[UNZIP_END_BYTES];      /* of a gzip file: checksum and length, little-endian */
    bool is_whole;                     /* all was read */
};

/* What begins with these n bytes. */
enum unzip_kind unzip_kind_of(const uint8_t *head, size_t n);

/* Of a file, or of n bytes (NULL: of the file), which stay; kind is not NONE. False: raw says why,
 * if it is there. unzip_close either way. */
bool unzip_open(struct unzip *ret, enum unzip_kind kind, const char *path, const uint8_t *bytes,
                size_t n);
void unzip_close(struct unzip *g);

/* The reader of archive_read_open; data: the struct unzip. */
ssize_t unzip_read(struct archive *to, void *data, const void **ret);

/* Reads what is left and compares. What is wrong; NULL: nothing. */
const char *unzip_check(struct unzip *g);

#endif
