/* SPDX-License-Identifier: MIT */
/* gunzip.h - the data of a gzip file (RFC 1952) as libarchive unpacks it, held against the checksum
 * and the length behind it, which libarchive passes over. */
#ifndef RILL_MODELS_GUNZIP_H
#define RILL_MODELS_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct archive;

#define GUNZIP_END_BYTES 8

struct gunzip {
    struct archive *raw;
    uint32_t crc_of[256], crc, length; /* of what was read; the length as far as 32 bits go */
    uint8_t end[GUNZIP_END_BYTES];     /* of the file: checksum and length, little-endian */
    bool is_whole;                     /* all was read */
};

/* Of a file, or of n bytes (NULL: of the file), which stay. False: raw says why, if it is there.
 * gunzip_close either way. */
bool gunzip_open(struct gunzip *ret, const char *path, const uint8_t *bytes, size_t n);
void gunzip_close(struct gunzip *g);

/* The reader of archive_read_open; data: the struct gunzip. */
ssize_t gunzip_read(struct archive *to, void *data, const void **ret);

/* Reads what is left and compares. What is wrong; NULL: nothing. */
const char *gunzip_check(struct gunzip *g);

#endif
