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

static rill_status floats_read(const char *path, float **ret, size_t *ret_n, rill_error *err)
{
    struct bytes b = { 0 };
    TRY(bytes_map(&b, path, 0, err));
    *ret_n = b.n / sizeof(float);
    *ret = malloc(b.n + 1);
    if (*ret)
        memcpy(*ret, b.data, b.n);
    bytes_drop(&b);
    return *ret ? RILL_OK : err_set(err, RILL_NOMEM, "out of memory");
}

/* ---- tensors ---- */

/* Outputs within 3e-6 of their largest value, states within 1e-3: what two correct engines differ
 * by. */
static double tolerance_of(const struct ref_tensor *t, const json_t *j)
{
    const json_t *given = json_object_get(j, "tolerance");
    if (json_is_number(given))
        return json_number_value(given);
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
    *t = (struct ref_tensor) { .role = text_of(j, "role"), .name = text_of(j, "name"), .chunk = -1,
                               .per_chunk = json_is_true(json_object_get(j, "per_chunk")),
                               .absmax = json_number_value(json_object_get(j, "absmax")) };
    if (json_is_integer(chunk))
        t->chunk = json_integer_value(chunk);
    TRY(tensor_shape(t, j, err));
    t->tolerance = tolerance_of(t, j);
    char path[4096];
    size_t n;
    snprintf(path, sizeof path, "%s%s", c->folder, text_of(j, "file"));
    TRY(floats_read(path, &t->data, &n, err));
    c->n_tensors++;
    if (n != t->chunk_floats * (size_t) t->n_chunks)
        return err_set(err, RILL_MALFORMED, "'%.300s' has %zu floats, its shape says %zu", path, n,
                       t->chunk_floats * (size_t) t->n_chunks);
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
    TRY(floats_read(path, &t->data, &n, err));
    c->n_tensors++;
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

static bool is_input_role(const char *role)
{
    return !strcmp(role, "in");
}

static rill_status states_read(struct refcase *c, rill_error *err)
{
    size_t i;
    const json_t *s;
    json_array_foreach(json_object_get(c->json, "states"), i, s) {
        struct step_decl *d = &c->decl;
        const json_t *shape = json_object_get(s, "shape");
        if (d->n_states == STEP_LIST_MAX || json_array_size(shape) > RANK_MAX)
            return err_set(err, RILL_LIMIT, "too many states or axes");
        d->states[d->n_states++] =
            (struct step_state) { text_of(s, "input"), text_of(s, "output") };
        if (!shape)
            continue;
        struct step_shape *sh = &d->shapes[d->n_shapes++];
        sh->name = text_of(s, "input");
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
    json_object_foreach(json_object_get(c->json, "const_inputs"), key, v) {
        if (c->decl.n_consts == STEP_LIST_MAX)
            return err_set(err, RILL_LIMIT, "too many constant inputs");
        c->decl.consts[c->decl.n_consts++] = (struct step_const) { key, json_number_value(v) };
    }
    return RILL_OK;
}

static void models_read(struct refcase *c)
{
    const json_t *m = json_object_get(c->json, "onnx"), *one;
    size_t i;
    if (json_is_string(m))
        c->models[c->n_models++] = json_string_value(m);
    json_array_foreach(m, i, one)
        if (json_is_string(one) && c->n_models < 4)
            c->models[c->n_models++] = json_string_value(one);
}

static rill_status tensors_read(struct refcase *c, rill_error *err)
{
    size_t i;
    const json_t *j;
    json_array_foreach(json_object_get(c->json, "tensors"), i, j) {
        if (c->n_tensors == REF_TENSORS_MAX)
            return err_set(err, RILL_LIMIT, "more than %d tensors", REF_TENSORS_MAX);
        TRY(tensor_read(c, j, err));
    }
    const json_t *inputs = json_object_get(c->json, "inputs");
    json_array_foreach(inputs, i, j) {
        const char *name = json_string_value(j);
        if (name && !is_state_input(c, name) && !refcase_find(c, "in", name) &&
            c->n_tensors < REF_TENSORS_MAX)
            TRY(input_borrow(c, name, err));
    }
    return RILL_OK;
}

/* Inputs of the file take the shapes of the stored inputs. */
static void shapes_of_inputs(struct refcase *c)
{
    for (unsigned i = 0; i < c->n_tensors; i++) {
        const struct ref_tensor *t = &c->tensors[i];
        if (!is_input_role(t->role) || t->rank < 0 || c->decl.n_shapes == STEP_LIST_MAX)
            continue;
        struct step_shape *s = &c->decl.shapes[c->decl.n_shapes++];
        s->name = t->name;
        s->rank = t->rank;
        memcpy(s->dim, t->dim, sizeof s->dim);
    }
}

const struct ref_tensor *refcase_find(const struct refcase *c, const char *role, const char *name)
{
    for (unsigned i = 0; i < c->n_tensors; i++)
        if (!strcmp(c->tensors[i].role, role) && (!name || !strcmp(c->tensors[i].name, name)))
            return &c->tensors[i];
    return NULL;
}

static rill_status case_read(struct refcase *c, const char *path, rill_error *err)
{
    json_error_t je;
    const char *slash = strrchr(path, '/');
    c->folder = slash ? strndup(path, (size_t) (slash - path + 1)) : strdup("./");
    c->root = c->folder ? malloc(strlen(c->folder) + 8) : NULL;
    if (!c->root)
        return err_set(err, RILL_NOMEM, "out of memory");
    sprintf(c->root, "%s../../", c->folder);
    c->json = json_load_file(path, 0, &je);
    if (!c->json)
        return err_set(err, RILL_MALFORMED, "'%.200s' line %d column %d: %s", path, je.line,
                       je.column, je.text);
    c->name = text_of(c->json, "case");
    c->audio = text_of(c->json, "audio");
    c->sample_rate = json_integer_value(json_object_get(c->json, "sample_rate"));
    c->n_chunks = json_integer_value(json_object_get(c->json, "chunks"));
    models_read(c);
    if (!c->n_models)
        return err_set(err, RILL_MALFORMED, "'%.200s' names no model", path);
    TRY(states_read(c, err));
    TRY(tensors_read(c, err));
    shapes_of_inputs(c);
    return RILL_OK;
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
        free(c->tensors[i].data);
    json_decref(c->json);
    free(c->folder);
    free(c->root);
    memset(c, 0, sizeof *c);
}
