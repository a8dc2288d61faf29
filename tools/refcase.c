/* SPDX-License-Identifier: MIT */
#include "tools/refcase.h"
#include "engine/base/bytes.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

/* clang-format off */
static const struct { const char *name; enum dtype type; } types[] = {
    { "float32", DTYPE_F32 }, { "float64", DTYPE_F64 }, { "float16", DTYPE_F16 },
    { "int64", DTYPE_I64 },   { "int32", DTYPE_I32 },   { "int16", DTYPE_I16 },
    { "int8", DTYPE_I8 },     { "uint64", DTYPE_U64 },  { "uint32", DTYPE_U32 },
    { "uint16", DTYPE_U16 },  { "uint8", DTYPE_U8 },    { "bool", DTYPE_BOOL },
};
/* clang-format on */

static rill_status type_read(const struct ref_tensor *t, const json_t *j, enum dtype *ret,
                             rill_error *err)
{
    const char *name = text_of(j, "dtype");
    char known[200] = "";
    *ret = DTYPE_F32;
    if (!*name)
        return RILL_OK;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", types[i].name);
        if (!strcmp(name, types[i].name)) {
            *ret = types[i].type;
            return RILL_OK;
        }
    }
    return err_set(err, RILL_UNSUPPORTED, "tensor '%.80s' has dtype '%.40s'; known: %s", t->name,
                   name, known);
}

#define EXACT_BELOW 0x1p48 /* two floats hold a whole number up to here */

static rill_status numbers_split(struct ref_tensor *t, const struct bytes *b, enum dtype type,
                                 size_t n, rill_error *err)
{
    const struct tensor as = { .type = type, .rank = 1, .dim = { (int64_t) n } };
    for (size_t i = 0; i < n; i++) {
        double v = tensor_get_f64(&as, b->data, (int64_t) i);
        t->data[i] = (float) v;
        if (type == DTYPE_F32)
            continue;
        if (!dtype_is_float(type) && fabs(v) >= EXACT_BELOW)
            return err_set(err, RILL_UNSUPPORTED,
                           "tensor '%.80s' holds %.0f; whole numbers below 2^48 can be compared",
                           t->name, v);
        t->rest[i] = dtype_is_float(type) ? 0 : (float) (v - (double) t->data[i]);
    }
    return RILL_OK;
}

static rill_status numbers_read(struct ref_tensor *t, const char *path, enum dtype type,
                                size_t *ret_n, rill_error *err)
{
    struct bytes b = { 0 };
    rill_status s = bytes_from_file(&b, path, 0, err);
    if (s != RILL_OK)
        return err_prefix(err, s, "%.200s", path);
    *ret_n = b.n / dtype_bytes(type);
    t->data = malloc(*ret_n * sizeof *t->data + 1);
    t->rest = type == DTYPE_F32 ? NULL : malloc(*ret_n * sizeof *t->rest + 1);
    s = t->data && (t->rest || type == DTYPE_F32) ? numbers_split(t, &b, type, *ret_n, err)
                                                  : err_set(err, RILL_NOMEM, "out of memory");
    bytes_drop(&b);
    return s;
}

/* ---- tensors ---- */

static bool is_input_role(const char *role)
{
    return !strcmp(role, "in");
}

/* Whole numbers and truth values are the same. Outputs within 3e-6 of their largest value, states
 * within 1e-3: what two correct engines differ by. */
static double tolerance_of(const struct ref_tensor *t, enum dtype type, const json_t *j)
{
    const json_t *given = json_object_get(j, "tolerance");
    if (json_is_number(given))
        return json_number_value(given);
    if (!dtype_is_float(type))
        return 0;
    if (!strncmp(t->role, "state", 5))
        return 1e-3;
    if (!strcmp(t->role, "out_all"))
        return 1e-4;
    return fmax(1e-5, 3e-6 * t->absmax);
}

static rill_status tensor_shape(struct ref_tensor *t, const json_t *j, rill_error *err)
{
    const json_t *shape = json_object_get(j, "shape");
    size_t n = json_array_size(shape), first = t->per_chunk ? 1 : 0;
    if (n < first || n - first > RANK_MAX)
        return err_set(err, RILL_MALFORMED, "tensor '%.80s' has no usable shape", t->name);
    t->n_chunks = t->per_chunk ? json_integer_value(json_array_get(shape, 0)) : 1;
    t->rank = (int) (n - first);
    t->chunk_floats = 1;
    for (int i = 0; i < t->rank; i++) {
        t->dim[i] = json_integer_value(json_array_get(shape, first + (size_t) i));
        if (t->dim[i] < 0 ||
            __builtin_mul_overflow(t->chunk_floats, (size_t) t->dim[i], &t->chunk_floats))
            return err_set(err, RILL_MALFORMED, "tensor '%.80s' has an impossible shape", t->name);
    }
    return RILL_OK;
}

static rill_status tensor_read(struct refcase *c, const json_t *j, rill_error *err)
{
    struct ref_tensor *t = &c->tensors[c->n_tensors];
    const json_t *chunk = json_object_get(j, "chunk");
    *t = (struct ref_tensor) { .role = text_of(j, "role"),
                               .name = text_of(j, "name"),
                               .chunk = -1,
                               .per_chunk = json_is_true(json_object_get(j, "per_chunk")),
                               .absmax = json_number_value(json_object_get(j, "absmax")) };
    if (json_is_integer(chunk))
        t->chunk = json_integer_value(chunk);
    TRY(tensor_shape(t, j, err));
    char path[4096];
    size_t n;
    enum dtype type;
    TRY(type_read(t, j, &type, err));
    t->tolerance = tolerance_of(t, type, j);
    snprintf(path, sizeof path, "%s%s", c->folder, text_of(j, "file"));
    c->n_tensors++;
    TRY(numbers_read(t, path, type, &n, err));
    if (n != t->chunk_floats * (size_t) t->n_chunks)
        return err_set(err, RILL_MALFORMED, "'%.300s' has %zu numbers, its shape says %zu", path, n,
                       t->chunk_floats * (size_t) t->n_chunks);
    for (size_t i = 0; is_input_role(t->role) && t->rest && i < n; i++)
        if (t->rest[i] != 0)
            return err_set(err, RILL_UNSUPPORTED, "input '%.80s' holds %.0f, which no f32 is",
                           t->name, (double) t->data[i] + (double) t->rest[i]);
    return RILL_OK;
}

/* A case may share its input with a neighbour: any *.in.NAME.f32 of the right size in the same
 * folder. */
static rill_status input_borrow(struct refcase *c, const char *name, rill_error *err)
{
    char want[300], path[4096];
    snprintf(want, sizeof want, ".in.%s.f32", name);
    DIR *d = opendir(c->folder);
    struct dirent *e;
    bool found = false;
    while (d && !found && (e = readdir(d))) {
        size_t n = strlen(e->d_name), w = strlen(want);
        found = n > w && !strcmp(e->d_name + n - w, want);
        if (found)
            snprintf(path, sizeof path, "%s%s", c->folder, e->d_name);
    }
    if (d)
        closedir(d);
    if (!found)
        return err_set(err, RILL_MALFORMED, "the case has no tensor for input '%.80s'", name);
    struct ref_tensor *t = &c->tensors[c->n_tensors];
    size_t n;
    *t = (struct ref_tensor) { .role = "in",
                               .name = name,
                               .chunk = -1,
                               .per_chunk = true,
                               .rank = -1,
                               .n_chunks = c->n_chunks };
    c->n_tensors++;
    TRY(numbers_read(t, path, DTYPE_F32, &n, err));
    t->chunk_floats = c->n_chunks ? n / (size_t) c->n_chunks : n;
    return RILL_OK;
}

/* ---- the rest of the case ---- */

static bool is_state_input(const struct refcase *c, const char *name)
{
    for (unsigned i = 0; i < c->decl.n_states; i++)
        if (!strcmp(c->decl.states[i].in, name))
            return true;
    return false;
}

static rill_status states_read(struct refcase *c, rill_error *err)
{
    size_t i;
    const json_t *s;
    json_array_foreach(json_object_get(c->json, "states"), i, s)
    {
        struct step_decl *d = &c->decl;
        const json_t *shape = json_object_get(s, "shape");
        if (json_array_size(shape) > RANK_MAX)
            return err_set(err, RILL_LIMIT, "state '%.80s' has more than %d axes",
                           text_of(s, "input"), RANK_MAX);
        if (!step_decl_add_state(d, text_of(s, "input"), text_of(s, "output")))
            return err_set(err, RILL_NOMEM, "out of memory");
        if (!shape)
            continue;
        struct step_shape *sh = step_decl_add_shape(d, text_of(s, "input"));
        if (!sh)
            return err_set(err, RILL_NOMEM, "out of memory");
        for (; sh->rank < (int) json_array_size(shape); sh->rank++)
            sh->dim[sh->rank] = json_integer_value(json_array_get(shape, (size_t) sh->rank));
        const char *init = text_of(s, "init");
        if (*init && strcmp(init, "zeros"))
            return err_set(err, RILL_UNSUPPORTED,
                           "state '%.80s' starts from '%.40s'; only zeros are supported", sh->name,
                           init);
    }
    const char *key;
    json_t *v;
    json_object_foreach(json_object_get(c->json, "const_inputs"), key, v)
    {
        if (!step_decl_add_const(&c->decl, key, json_number_value(v)))
            return err_set(err, RILL_NOMEM, "out of memory");
    }
    return RILL_OK;
}

static void models_read(struct refcase *c)
{
    const json_t *m = json_object_get(c->json, "onnx"), *one;
    size_t i;
    if (json_is_string(m))
        c->models[c->n_models++] = json_string_value(m);
    json_array_foreach(m, i, one) if (json_is_string(one) && c->n_models < 4)
        c->models[c->n_models++] = json_string_value(one);
}

static rill_status tensors_read(struct refcase *c, rill_error *err)
{
    size_t i;
    const json_t *j, *inputs = json_object_get(c->json, "inputs");
    const size_t n = json_array_size(json_object_get(c->json, "tensors")) + json_array_size(inputs);
    c->tensors = calloc(n + 1, sizeof *c->tensors);
    if (!c->tensors)
        return err_set(err, RILL_NOMEM, "out of memory");
    json_array_foreach(json_object_get(c->json, "tensors"), i, j)
    {
        TRY(tensor_read(c, j, err));
    }
    json_array_foreach(inputs, i, j)
    {
        const char *name = json_string_value(j);
        if (name && !is_state_input(c, name) && !refcase_find(c, "in", name))
            TRY(input_borrow(c, name, err));
    }
    return RILL_OK;
}

/* Inputs of the file take the shapes of the stored inputs. */
static rill_status shapes_of_inputs(struct refcase *c, rill_error *err)
{
    for (unsigned i = 0; i < c->n_tensors; i++) {
        const struct ref_tensor *t = &c->tensors[i];
        if (!is_input_role(t->role) || t->rank < 0)
            continue;
        struct step_shape *s = step_decl_add_shape(&c->decl, t->name);
        if (!s)
            return err_set(err, RILL_NOMEM, "out of memory");
        s->stored = true;
        s->rank = t->rank;
        memcpy(s->dim, t->dim, sizeof s->dim);
    }
    return RILL_OK;
}

const struct ref_tensor *refcase_find(const struct refcase *c, const char *role, const char *name)
{
    for (unsigned i = 0; i < c->n_tensors; i++)
        if (!strcmp(c->tensors[i].role, role) && (!name || !strcmp(c->tensors[i].name, name)))
            return &c->tensors[i];
    return NULL;
}

static rill_status json_read(struct refcase *c, const char *path, rill_error *err)
{
    json_error_t je;
    struct bytes text;
    TRY(bytes_from_file(&text, path, 0, err));
    c->json = json_loadb((const char *) text.data, text.n, 0, &je);
    bytes_drop(&text);
    if (!c->json)
        return err_set(err, RILL_MALFORMED, "line %d column %d: %s", je.line, je.column, je.text);
    return RILL_OK;
}

static rill_status case_read(struct refcase *c, const char *path, rill_error *err)
{
    const char *slash = strrchr(path, '/');
    c->folder = slash ? strndup(path, (size_t) (slash - path + 1)) : strdup("./");
    c->root = c->folder ? malloc(strlen(c->folder) + 8) : NULL;
    if (!c->root)
        return err_set(err, RILL_NOMEM, "out of memory");
    sprintf(c->root, "%s../../", c->folder);
    TRY(json_read(c, path, err));
    c->name = text_of(c->json, "case");
    c->audio = text_of(c->json, "audio");
    c->sample_rate = json_integer_value(json_object_get(c->json, "sample_rate"));
    c->n_chunks = json_integer_value(json_object_get(c->json, "chunks"));
    models_read(c);
    if (!c->n_models)
        return err_set(err, RILL_MALFORMED, "it names no model");
    TRY(states_read(c, err));
    TRY(tensors_read(c, err));
    return shapes_of_inputs(c, err);
}

rill_status refcase_read(struct refcase *ret, const char *path, rill_error *reterr)
{
    memset(ret, 0, sizeof *ret);
    rill_status s = case_read(ret, path, reterr);
    if (s != RILL_OK)
        refcase_drop(ret);
    return s;
}

void refcase_drop(struct refcase *c)
{
    for (unsigned i = 0; i < c->n_tensors; i++)
        free(c->tensors[i].data), free(c->tensors[i].rest);
    free(c->tensors);
    step_decl_drop(&c->decl);
    json_decref(c->json);
    free(c->folder);
    free(c->root);
    memset(c, 0, sizeof *c);
}
