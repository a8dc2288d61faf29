/* SPDX-License-Identifier: MIT */
/* flat.h - tables, lists and numbers of a flatbuffer, each read within its bounds.
 *
 * The first thing that is found wrong is kept in `wrong`; from there on every read gives 0 or
 * nothing, so a caller asks flat_status() once before it believes what it read. Offsets to tables
 * and lists lead forward only, so there are no loops; what is walked again and again, because many
 * refer to it, runs into `tables_max`. */
#ifndef RILL_MODELS_TFLITE_FLAT_H
#define RILL_MODELS_TFLITE_FLAT_H
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flat {
    const uint8_t *data;
    size_t n;
    uint32_t tables, tables_max; /* read so far, and how many may be */
    const char *wrong;           /* NULL: nothing */
    size_t wrong_at;             /* byte */
    bool too_many;
};

/* at 0: there is none. Fields are at `fields`, two bytes each. */
struct flat_table {
    size_t at, fields;
    uint32_t n_fields, n_bytes;
};

/* at: of the first element; n 0: empty, or there is none */
struct flat_list {
    size_t at;
    uint32_t n;
};

/* MALFORMED or LIMIT with what is wrong and where. */
rill_status flat_status(const struct flat *f, rill_error *reterr);

struct flat_table flat_root(struct flat *f);

/* A field of a table; `absent` where the table lacks it. */
int32_t flat_i8(struct flat *f, struct flat_table t, unsigned field, int32_t absent);
int32_t flat_i32(struct flat *f, struct flat_table t, unsigned field, int32_t absent);
uint64_t flat_u64(struct flat *f, struct flat_table t, unsigned field);
float flat_f32(struct flat *f, struct flat_table t, unsigned field, float absent);
struct flat_table flat_sub(struct flat *f, struct flat_table t, unsigned field);
/* Elements of so many bytes; those of a list of tables or strings have four. */
struct flat_list flat_list(struct flat *f, struct flat_table t, unsigned field, size_t bytes);

/* Elements i < n of a list. */
struct flat_table flat_list_table(struct flat *f, struct flat_list l, uint32_t i);
int32_t flat_list_i32(const struct flat *f, struct flat_list l, uint32_t i);
int64_t flat_list_i64(const struct flat *f, struct flat_list l, uint32_t i);
float flat_list_f32(const struct flat *f, struct flat_list l, uint32_t i);
#endif
