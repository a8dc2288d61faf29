/* SPDX-License-Identifier: MIT */
#include "models/tflite/flat.h"

#include <string.h>

rill_status flat_status(const struct flat *f, rill_error *reterr)
{
    if (!f->wrong)
        return RILL_OK;
    return err_set(reterr, f->too_many ? RILL_LIMIT : RILL_MALFORMED, "byte %zu: %s", f->wrong_at,
                   f->wrong);
}

static bool wrong(struct flat *f, size_t at, const char *what)
{
    if (!f->wrong) {
        f->wrong = what;
        f->wrong_at = at;
    }
    return false;
}

static bool has(struct flat *f, size_t at, size_t bytes)
{
    if (f->wrong)
        return false;
    return at <= f->n && bytes <= f->n - at ? true : wrong(f, at, "the file ends before this");
}

static uint64_t number(struct flat *f, size_t at, size_t bytes)
{
    uint64_t v = 0;
    if (has(f, at, bytes))
        memcpy(&v, f->data + at, bytes);
    return v;
}

/* Where the offset at `at` leads; 0: nowhere. */
static size_t target(struct flat *f, size_t at)
{
    uint64_t by = number(f, at, 4);
    if (f->wrong)
        return 0;
    if (by < 4 || by >= f->n - at) {
        wrong(f, at, by < 4 ? "an offset that leads to itself" : "an offset that leaves the file");
        return 0;
    }
    return at + (size_t) by;
}

static struct flat_table table_at(struct flat *f, size_t at)
{
    struct flat_table none = { 0 };
    if (at == 0)
        return none;
    if (++f->tables > f->tables_max) {
        f->too_many = true;
        wrong(f, at, "more tables than are read of one file");
    }
    int64_t fields = (int64_t) at - (int32_t) (uint32_t) number(f, at, 4);
    if (f->wrong || fields < 0 || (uint64_t) fields >= f->n) {
        wrong(f, at, "a table whose list of fields lies outside of the file");
        return none;
    }
    size_t where = (size_t) fields;
    uint64_t n = number(f, where, 2), bytes = number(f, where + 2, 2);
    if (!has(f, where, (size_t) n) || !has(f, at, (size_t) bytes))
        return none;
    if (n < 4 || n % 2 || bytes < 4) {
        wrong(f, where, "a list of fields of no legal size");
        return none;
    }
    return (struct flat_table) { at, where, (uint32_t) (n - 4) / 2, (uint32_t) bytes };
}

/* Where a field of so many bytes is; 0: the table lacks it. */
static size_t field_at(struct flat *f, struct flat_table t, unsigned field, size_t bytes)
{
    if (!t.at || field >= t.n_fields)
        return 0;
    uint64_t by = number(f, t.fields + 4 + 2 * (size_t) field, 2);
    if (by == 0 || f->wrong)
        return 0;
    if (by < 4 || by + bytes > t.n_bytes) {
        wrong(f, t.at, "a field that lies outside of its table");
        return 0;
    }
    return t.at + (size_t) by;
}

struct flat_table flat_root(struct flat *f)
{
    return table_at(f, target(f, 0));
}

int32_t flat_i8(struct flat *f, struct flat_table t, unsigned field, int32_t absent)
{
    size_t at = field_at(f, t, field, 1);
    return at ? (int8_t) (uint8_t) number(f, at, 1) : absent;
}

int32_t flat_i32(struct flat *f, struct flat_table t, unsigned field, int32_t absent)
{
    size_t at = field_at(f, t, field, 4);
    return at ? (int32_t) (uint32_t) number(f, at, 4) : absent;
}

uint64_t flat_u64(struct flat *f, struct flat_table t, unsigned field)
{
    size_t at = field_at(f, t, field, 8);
    return at ? number(f, at, 8) : 0;
}

float flat_f32(struct flat *f, struct flat_table t, unsigned field, float absent)
{
    size_t at = field_at(f, t, field, 4);
    uint32_t bits = at ? (uint32_t) number(f, at, 4) : 0;
    float v = absent;
    if (at)
        memcpy(&v, &bits, sizeof v);
    return v;
}

struct flat_table flat_sub(struct flat *f, struct flat_table t, unsigned field)
{
    size_t at = field_at(f, t, field, 4);
    return table_at(f, at ? target(f, at) : 0);
}

struct flat_list flat_list(struct flat *f, struct flat_table t, unsigned field, size_t bytes)
{
    size_t at = field_at(f, t, field, 4);
    size_t to = at ? target(f, at) : 0;
    uint64_t n = to ? number(f, to, 4) : 0;
    if (f->wrong || !to)
        return (struct flat_list) { 0 };
    if (n > (f->n - to - 4) / bytes) {
        wrong(f, to, "a list that is longer than the file");
        return (struct flat_list) { 0 };
    }
    return (struct flat_list) { to + 4, (uint32_t) n };
}

struct flat_table flat_list_table(struct flat *f, struct flat_list l, uint32_t i)
{
    return table_at(f, target(f, l.at + 4 * (size_t) i));
}

int32_t flat_list_i32(const struct flat *f, struct flat_list l, uint32_t i)
{
    int32_t v;
    memcpy(&v, f->data + l.at + sizeof v * (size_t) i, sizeof v);
    return v;
}

int64_t flat_list_i64(const struct flat *f, struct flat_list l, uint32_t i)
{
    int64_t v;
    memcpy(&v, f->data + l.at + sizeof v * (size_t) i, sizeof v);
    return v;
}

float flat_list_f32(const struct flat *f, struct flat_list l, uint32_t i)
{
    float v;
    memcpy(&v, f->data + l.at + sizeof v * (size_t) i, sizeof v);
    return v;
}
