/* SPDX-License-Identifier: MIT */
/* Tensors by their labels: LABEL.dat beneath the folder of a text, else LABEL.npy, else the array
 * LABEL of a .npz that lies in the folder itself. */
#include "models/nnef/dat.h"
#include "models/nnef/json.h"
#include "models/npz.h"

#include <string.h>

/* The arrays of one file; of one that cannot be read, why. */
struct weight_file {
    const char *name;
    struct npz arrays;
    rill_status status;
    rill_error why;
    struct weight_file *next;
};

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n > n_end && !strcmp(text + n - n_end, end);
}

static rill_status weight_add(const struct builder *b, const struct tensor *from,
                              struct tensor **ret)
{
    *ret = tensor_new(b->arena, weight_type(from->type, !speaks_tract(b)), from->rank, from->dim);
    if (!*ret)
        return nnef_no_memory((struct builder *) b);
    elements_widen(*ret, from);
    return RILL_OK;
}

/* The file's bytes are not needed once they are read. */
static rill_status file_take(const struct builder *b, const char *file, struct tensor **ret)
{
    struct arena data = { .limit_bytes = 0 };
    const struct tensor *t;
    const uint8_t *bytes;
    size_t n;
    rill_status s = folder_read(b->folder, file, &data, b->limits->data_bytes, &bytes, &n, b->err);
    if (s == RILL_OK && ends_with(file, ".dat")) {
        s = tensor_from_dat(ret, b->arena, bytes, n, file, !speaks_tract(b), b->err);
    } else if (s == RILL_OK) {
        s = npy_read(&t, &data, bytes, n, b->err);
        s = s == RILL_OK ? weight_add(b, t, ret) : err_prefix(b->err, s, "%s", file);
    }
    arena_drop(&data);
    return s;
}

/* ---- .npz ---- */

static rill_status npz_take(const struct builder *b, const char *name)
{
    struct resources *r = b->resources;
    struct arena data = { .limit_bytes = 0 };
    struct weight_file *f = arena_new(&r->arena, struct weight_file);
    const uint8_t *bytes;
    size_t n;
    if (!f || !(f->name = arena_string(&r->arena, name)))
        return nnef_no_memory((struct builder *) b);
    const uint64_t left = b->limits->data_bytes - r->weight_bytes;
    f->status = folder_read(b->folder, name, &data, left, &bytes, &n, &f->why);
    if (f->status == RILL_OK) {
        f->status = npz_of(&f->arrays, &r->arena, bytes, n, left, &f->why);
        if (f->status != RILL_OK)
            err_prefix(&f->why, f->status, "%s", name);
    }
    arena_drop(&data);
    for (uint32_t i = 0; i < f->arrays.n; i++)
        r->weight_bytes += tensor_bytes(f->arrays.list[i].t);
    f->next = r->weights;
    r->weights = f;
    return RILL_OK;
}

static rill_status npz_files_take(const struct builder *b)
{
    struct resources *r = b->resources;
    const char **names;
    size_t n;
    if (r->has_weights)
        return RILL_OK;
    TRY(folder_list(b->folder, &r->arena, &names, &n, b->err));
    for (size_t i = 0; i < n; i++)
        if (ends_with(names[i], ".npz"))
            TRY(npz_take(b, names[i]));
    r->has_weights = true;
    return RILL_OK;
}

/* NULL in *ret: there is none. Then a file that cannot be read, which may have it, is told. */
static rill_status array_find(const struct builder *b, const char *name, const struct tensor **ret)
{
    const struct weight_file *in = NULL, *bad = NULL;
    *ret = NULL;
    TRY(npz_files_take(b));
    for (const struct weight_file *f = b->resources->weights; f; f = f->next) {
        const struct tensor *t = npz_find(&f->arrays, name);
        if (t && in)
            return err_set(b->err, RILL_MALFORMED,
                           "'%.100s' is in %.100s and in %.100s: which one is meant is not said",
                           name, f->name, in->name);
        *ret = t ? t : *ret;
        in = t ? f : in;
        bad = f->status != RILL_OK ? f : bad;
    }
    return in || !bad ? RILL_OK : err_set(b->err, bad->status, "%s", bad->why.text);
}

/* What folder_read says of the .dat stands: a path may lead out. */
static rill_status weight_missing(const struct builder *b, const char *name, const char *file)
{
    struct tensor *t;
    rill_status s = file_take(b, file, &t);
    const char *why = s == RILL_IO && b->err ? arena_string(b->arena, b->err->text) : NULL;
    return why ? err_set(b->err, s,
                         "%.250s; nor is there %.100s.npy, or an array of that name in a .npz "
                         "beside the text",
                         why, name)
               : s;
}

rill_status weight_read(const struct call *c, const char *label, struct tensor **ret)
{
    const struct builder *b = c->b;
    const struct tensor *t;
    const char *name = label_file(b, label, ""), *dat = label_file(b, label, ".dat"),
               *npy = label_file(b, label, ".npy");
    if (!name || !dat || !npy)
        return nnef_no_memory(c->b);
    if (folder_has(b->folder, dat))
        return file_take(b, dat, ret);
    if (folder_has(b->folder, npy))
        return file_take(b, npy, ret);
    TRY(array_find(b, name, &t));
    return t ? weight_add(b, t, ret) : weight_missing(b, name, dat);
}
