/* SPDX-License-Identifier: MIT */
#include "tools/library.h"
#include "engine/base/bytes.h"
#include "engine/base/err.h"
#include "models/builtin.h"
#include "tools/catalogue.h"
#include "tools/library_paths.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_model_folder(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/graph.nnef", folder, name);
    return is_file(path);
}

static bool seen_before(const char *const *paths, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (is_model_folder(paths[i], name))
            return true;
    return false;
}

void library_each(bool (*see)(void *arg, const char *name, const char *path), void *arg)
{
    const char *paths[LIBRARY_PATHS_MAX];
    unsigned n = library_paths(paths);
    bool go = true;
    for (unsigned i = 0; i < n && go; i++) {
        struct dirent **list = NULL;
        int found = scandir(paths[i], &list, NULL, alphasort);
        for (int k = 0; k < found; k++) {
            const char *name = list[k]->d_name;
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", paths[i], name);
            if (go && name[0] != '.' && is_model_folder(paths[i], name) &&
                !seen_before(paths, i, name))
                go = see(arg, name, path);
            free(list[k]);
        }
        free(list);
    }
}

/* ---- what a model says about itself ---- */

#define CONF_BYTES_MAX (1 << 20)

rill_status library_conf_read(struct model_conf *ret, struct arena *a, const char *folder,
                              rill_error *reterr)
{
    char path[2 * LIBRARY_PATH_BYTES];
    struct bytes b = { 0 };
    snprintf(path, sizeof path, "%s/model.conf", folder);
    rill_status s = bytes_from_file(&b, path, CONF_BYTES_MAX, reterr);
    if (s != RILL_OK)
        return err_prefix(reterr, s, "%.200s", path);
    s = model_conf_parse(ret, a, path, (const char *) b.data, b.n, reterr);
    bytes_drop(&b);
    return s;
}

bool library_conf_builtin(struct model_conf *ret, struct arena *a, unsigned n)
{
    rill_error err;
    const char *name = rill_model_builtin_name(n);
    model_conf_default(ret);
    for (const struct folder_file *f = name ? builtins[n].files : NULL; f && f->name; f++)
        if (!strcmp(f->name, "model.conf") &&
            model_conf_parse(ret, a, name, (const char *) f->data, f->n, &err) != RILL_OK)
            model_conf_default(ret);
    return name;
}

bool library_is_whole(const char *folder, const struct model_conf *conf)
{
    char path[2 * LIBRARY_PATH_BYTES];
    snprintf(path, sizeof path, "%s/graph.nnef", folder);
    bool all = is_file(path);
    for (unsigned k = 0; k < conf->n_weights; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, conf->weights[k].file);
        all &= is_file(path);
    }
    return all;
}

/* ---- opening by name ---- */

struct names {
    char text[300];
};

static bool name_note(void *arg, const char *name, const char *path)
{
    struct names *n = arg;
    size_t at = strlen(n->text);
    (void) path;
    snprintf(n->text + at, sizeof n->text - at, ", %s", name);
    return true;
}

static rill_status name_refuse(const char *name, rill_error *err)
{
    struct names known = { "" };
    const char *b;
    if (catalogue_has(name))
        return err_set(
            err, RILL_IO,
            "the weights of model '%.100s' are not here; fetch them with: rill models get %.100s",
            name, name);
    struct stat st;
    if (stat(name, &st) == 0)
        return err_set(
            err, RILL_INVALID,
            "the library has no model '%.100s'; what lies here under that name is ./%.100s", name,
            name);
    for (unsigned i = 0; (b = rill_model_builtin_name(i)); i++)
        name_note(&known, b, NULL);
    library_each(name_note, &known);
    return err_set(err, RILL_INVALID,
                   "there is no model '%.100s'; known: %s (rill models lists more to fetch)", name,
                   known.text[0] ? known.text + 2 : "none");
}

/* A folder of the library that lacks its weights says where they come from. */
static rill_status named_open(rill_model **ret, const char *path, const char *name,
                              const rill_model_opts *opts, rill_error *err)
{
    rill_status s = rill_model_open_with(ret, path, opts, err);
    if (s != RILL_IO)
        return s;
    size_t at = strlen(err->text);
    snprintf(err->text + at, sizeof err->text - at, "; fetch the weights with: rill models get %s",
             name);
    return s;
}

static rill_status builtin_open(rill_model **ret, const char *name, const rill_model_opts *opts,
                                rill_error *err)
{
    rill_model_opts o =
        opts ? *opts : (rill_model_opts) { .struct_bytes = sizeof(rill_model_opts) };
    o.builtin = 1;
    return rill_model_open_with(ret, name, &o, err);
}

bool library_folder(const char *name, char *ret, size_t cap)
{
    const char *paths[LIBRARY_PATHS_MAX];
    unsigned n = library_paths(paths), i = 0;
    while (i < n && !is_model_folder(paths[i], name))
        i++;
    if (i < n)
        snprintf(ret, cap, "%s/%s", paths[i], name);
    return i < n;
}

rill_status library_open(rill_model **ret, const char *name, const rill_model_opts *opts,
                         rill_error *reterr)
{
    struct stat st;
    if (strchr(name, '/') || strchr(name, '.'))
        return stat(name, &st)
            ? err_set(reterr, RILL_IO, "there is no file or folder '%.300s'", name)
            : rill_model_open_with(ret, name, opts, reterr);
    char path[4096];
    if (library_folder(name, path, sizeof path))
        return named_open(ret, path, name, opts, reterr);
    const char *b;
    for (unsigned i = 0; (b = rill_model_builtin_name(i)); i++)
        if (!strcmp(b, name))
            return builtin_open(ret, name, opts, reterr);
    return name_refuse(name, reterr);
}
