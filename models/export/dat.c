/* SPDX-License-Identifier: MIT */
/* Tensor files of NNEF 1.0 ("Tensor File Format"), and the folder that they lie in. */
#include "engine/base/err.h"
#include "models/export/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum item { ITEM_FLOAT = 0, ITEM_UINT = 1, ITEM_INT = 4, ITEM_BOOL = 5 };

struct stored {
    enum dtype type;
    enum item item;
    uint32_t bits;
    const char *generic; /* the T of variable<T> */
};

/* Types of 4 and 2 bits have a byte an element in memory, and so they do here. */
static const struct stored types[] = {
    { DTYPE_F32, ITEM_FLOAT, 32, "scalar" }, { DTYPE_F16, ITEM_FLOAT, 16, "scalar" },
    { DTYPE_I8, ITEM_INT, 8, "integer" },    { DTYPE_I16, ITEM_INT, 16, "integer" },
    { DTYPE_I32, ITEM_INT, 32, "integer" },  { DTYPE_I64, ITEM_INT, 64, "integer" },
    { DTYPE_U8, ITEM_UINT, 8, "integer" },   { DTYPE_U16, ITEM_UINT, 16, "integer" },
    { DTYPE_U32, ITEM_UINT, 32, "integer" }, { DTYPE_U64, ITEM_UINT, 64, "integer" },
    { DTYPE_I4, ITEM_INT, 8, "integer" },    { DTYPE_U4, ITEM_UINT, 8, "integer" },
    { DTYPE_I2, ITEM_INT, 8, "integer" },    { DTYPE_U2, ITEM_UINT, 8, "integer" },
    { DTYPE_BOOL, ITEM_BOOL, 8, "logical" },
};

static const struct stored *stored_find(enum dtype t)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == t)
            return &types[i];
    return NULL;
}

const char *dat_type(enum dtype t)
{
    const struct stored *s = stored_find(t);
    return s ? s->generic : NULL;
}

static void put_u32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t) (v >> 8 * i);
}

bool dat_head(const struct tensor *t, uint8_t head[DAT_HEAD_BYTES])
{
    const struct stored *s = stored_find(t->type);
    size_t n = tensor_bytes(t);
    memset(head, 0, DAT_HEAD_BYTES);
    memcpy(head, "\x4e\xef\x01", 3);
    put_u32(head + 4, (uint32_t) n);
    put_u32(head + 8, (uint32_t) t->rank);
    for (int i = 0; i < t->rank; i++)
        put_u32(head + 12 + 4 * i, (uint32_t) t->dim[i]);
    put_u32(head + 44, s->bits);
    put_u32(head + 48, s->item);
    return n <= UINT32_MAX;
}

static rill_status dat_write(const struct tensor *t, FILE *to)
{
    uint8_t head[DAT_HEAD_BYTES];
    size_t n = tensor_bytes(t);
    if (!dat_head(t, head))
        return RILL_LIMIT;
    bool written = fwrite(head, 1, sizeof head, to) == sizeof head;
    return written && (!n || fwrite(t->data, 1, n, to) == n) ? RILL_OK : RILL_IO;
}

static rill_status file_write(const struct document *doc, const char *folder, const char *name,
                              const struct tensor *t, const char *text, size_t n)
{
    const char *path = arena_printf(doc->arena, "%s/%s", folder, name);
    FILE *to = path ? fopen(path, "wb") : NULL;
    rill_status s = to ? RILL_OK : RILL_IO;
    if (to && t)
        s = dat_write(t, to);
    else if (to && fwrite(text, 1, n, to) != n)
        s = RILL_IO;
    if (to && fclose(to) != 0)
        s = RILL_IO;
    if (s == RILL_LIMIT)
        return err_set(doc->err, s, "%s/%s: a tensor of more than 4 GiB has no form in NNEF",
                       folder, name);
    return s == RILL_OK
        ? s
        : err_set(doc->err, s, "%s/%s: %s", folder, name, path ? strerror(errno) : "out of memory");
}

/* What was made of a folder that could not be written to its end. */
static void folder_remove(const struct document *doc, const char *folder)
{
    for (uint32_t i = 0; i <= doc->n_weights; i++) {
        const char *label = i < doc->n_weights ? doc->weights[i].label : NULL;
        const char *path = label ? arena_printf(doc->arena, "%s/%s.dat", folder, label)
                                 : arena_printf(doc->arena, "%s/graph.nnef", folder);
        if (path)
            remove(path);
    }
    remove(folder);
}

rill_status folder_write(const struct document *doc, const char *folder, const char *text, size_t n)
{
    if (mkdir(folder, 0777) != 0)
        return err_set(doc->err, RILL_IO, "%s: %s", folder, strerror(errno));
    rill_status s = RILL_OK;
    for (uint32_t i = 0; s == RILL_OK && i < doc->n_weights; i++) {
        const char *name = arena_printf(doc->arena, "%s.dat", doc->weights[i].label);
        s = name ? file_write(doc, folder, name, doc->weights[i].t, NULL, 0)
                 : err_set(doc->err, RILL_NOMEM, "%s: out of memory", folder);
    }
    if (s == RILL_OK)
        s = file_write(doc, folder, "graph.nnef", NULL, text, n);
    if (s != RILL_OK)
        folder_remove(doc, folder);
    return s;
}
