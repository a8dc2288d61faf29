/* SPDX-License-Identifier: MIT */
/* planfile.h - a compiled file: the graph that a plan is made of, finished and of known sizes, with
 * its weights as the kernels want them, for one machine, one pulse and one build of this library.
 *
 *   header   magic, format, version, instruction set, sizes, hashes
 *   parts    PLANFILE_PARTS records (record.h), copied out when the file is opened: what is checked
 *            cannot change later
 *   data     large constants and packed weights, each 64-byte aligned; mapped, read-only and shared
 *            between processes
 *
 * Nothing in it is a pointer. A hash over every byte finds damage; who wrote the file may still
 * mean harm, so every offset, size and name is checked when it is used. Orders of groups of 8-bit
 * weights (kernels/q8.h) lie in the data: they are checked when a plan is made, and hold for as
 * long as nobody writes a file that is mapped. */
#ifndef RILL_ENGINE_PLAN_FILE_PLANFILE_H
#define RILL_ENGINE_PLAN_FILE_PLANFILE_H
#include "engine/base/err.h"
#include "engine/plan/file/record.h"

enum planfile_part {
    PLANFILE_MODEL,  /* what model.conf said (lib/model_file.h) */
    PLANFILE_STREAM, /* how the graph streams; written and read by who streams it */
    PLANFILE_GRAPH,  /* engine/plan/file/graph.h */
    PLANFILE_PACKS,  /* where packed weights lie in data, in the order of their making */
    PLANFILE_PARTS
};

#define PLANFILE_TAG_BYTES 32

struct planfile {
    const char *shown;            /* what errors of its plans call it; the opener's */
    char cpu[PLANFILE_TAG_BYTES]; /* instruction set its weights are packed for */
    uint64_t file_bytes;
    const unsigned char *data;
    size_t data_bytes;
    unsigned char *parts; /* all of them, one after the other */
    size_t part_bytes[PLANFILE_PARTS];
    void *zeros; /* read-only, take no memory: twice the data, the most that was packed to it */
    size_t zeros_bytes;
    void *map; /* NULL: the bytes are the caller's */
    size_t map_bytes;
};

/* The regular file at path starts as a compiled one does; false also where it cannot be read. */
bool planfile_is(const char *path);

/* Maps and checks a file (copies: reads it into memory, so that it may be truncated later): IO,
 * MALFORMED where a byte of it is not what was written, UNSUPPORTED where another build of this
 * library wrote it. Which machine it is for is the caller's to compare. */
rill_status planfile_open(struct planfile **ret, const char *path, bool copies, rill_error *reterr);

/* The same of n bytes at a multiple of 64, which must outlive *ret. is_hostile: for tests of what
 * lies behind the hashes: they are not looked at, nor is the build. */
rill_status planfile_of_bytes(struct planfile **ret, const void *bytes, size_t n, bool is_hostile,
                              rill_error *reterr);

struct planfile *planfile_free(struct planfile *f); /* takes and returns NULL */

/* A reader at the start of a part; what it makes lies in a. */
struct record_reader planfile_part(const struct planfile *f, enum planfile_part part,
                                   struct arena *a);

/* Writes a file in the place of path: whoever has the old one open or mapped keeps it. */
rill_status planfile_save(const char *path, const char *cpu,
                          const struct record parts[PLANFILE_PARTS], const struct record *data,
                          rill_error *reterr);

/* 64 bits of n bytes, several a cycle; any change within one 8-byte word changes it. No protection
 * against intent. */
uint64_t planfile_hash(const void *bytes, size_t n);
#endif
