/* SPDX-License-Identifier: MIT */
#include "tools/quantize.h"
#include "engine/base/err.h"
#include "tools/beside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS_DEEP 4
#define FILES_MAX 256

/* What goes into a folder. */
struct parcel {
    struct quantize_in *in;
    const struct bytes *nets;
    const char *to;
    const char *made[FILES_MAX]; /* paths that were not there before, folders in front */
    unsigned n_made;
    rill_error *err;
};

/* ---- where to ---- */

static bool folder_is_ours(const char *path)
{
    char graph[4096];
    struct stat st;
    snprintf(graph, sizeof graph, "%s/graph.nnef", path);
    return stat(graph, &st) == 0;
}

rill_status quantize_out_check(const struct quantize_in *in, const char *out, bool force,
                               rill_error *reterr)
{
    struct stat st;
    size_t n = strlen(out);
    if (!in->is_folder && (n <= 5 || strcmp(out + n - 5, ".onnx") != 0))
        return err_set(reterr, RILL_INVALID,
                       "'%.300s': what becomes of a net is one, too, and ends in .onnx", out);
    if (lstat(out, &st) != 0)
        return errno == ENOENT ? RILL_OK
                               : err_set(reterr, RILL_IO, "'%.300s': %s", out, strerror(errno));
    if (!force)
        return err_set(reterr, RILL_IO, "'%.300s' is there already; --force replaces it", out);
    if (in->is_folder && (!S_ISDIR(st.st_mode) || !folder_is_ours(out)))
        return err_set(reterr, RILL_IO, "'%.300s' is no model folder, and is not replaced by one",
                       out);
    if (!in->is_folder && S_ISDIR(st.st_mode))
        return err_set(reterr, RILL_IO, "'%.300s' is a folder, and is not replaced by a file", out);
    return RILL_OK;
}

/* ---- files ---- */

static rill_status file_write(const char *path, const uint8_t *data, size_t n, rill_error *err)
{
    struct beside b;
    TRY(beside_open(&b, path, err));
    bool fine = n == 0 || fwrite(data, 1, n, b.f) == n;
    return beside_close(&b, fine, errno ? strerror(errno) : "not all of it was taken", err);
}

/* The text without the sections that say where nets that are others now come from. */
static rill_status conf_write(struct parcel *p, const char *path, const uint8_t *data, size_t n)
{
    char *text = arena_alloc(&p->in->arena, n + 1);
    size_t kept = 0;
    bool out = false;
    if (!text)
        return err_set(p->err, RILL_NOMEM, "out of memory");
    for (size_t at = 0, end; at < n; at = end) {
        const uint8_t *line = memchr(data + at, '\n', n - at);
        end = line ? (size_t) (line - data) + 1 : n;
        if (data[at] == '[') {
            out = false;
            for (unsigned i = 0; i < p->in->n_nets; i++) {
                char head[1100];
                int m = snprintf(head, sizeof head, "[weights.%s]", p->in->name[i]);
                out |= p->nets[i].data && end - at >= (size_t) m &&
                    !memcmp(data + at, head, (size_t) m);
            }
        }
        if (!out)
            memcpy(text + kept, data + at, end - at);
        kept += out ? 0 : end - at;
    }
    return file_write(path, (const uint8_t *) text, kept, p->err);
}

static rill_status made_note(struct parcel *p, const char *path)
{
    if (p->n_made == FILES_MAX)
        return err_set(p->err, RILL_LIMIT, "%.200s has more than %d files", p->in->path, FILES_MAX);
    p->made[p->n_made] = arena_string(&p->in->arena, path);
    return p->made[p->n_made++] ? RILL_OK : err_set(p->err, RILL_NOMEM, "out of memory");
}

/* Folders on the way to a file of the model. */
static rill_status folders_make(struct parcel *p, const char *name)
{
    char path[8192];
    for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(path, sizeof path, "%s/%.*s", p->to, (int) (at - name), name);
        if (mkdir(path, 0777) == 0)
            TRY(made_note(p, path));
        else if (errno != EEXIST)
            return err_set(p->err, RILL_IO, "'%.300s': %s", path, strerror(errno));
    }
    return RILL_OK;
}

static int net_index(const struct parcel *p, const char *name)
{
    for (unsigned i = 0; i < p->in->n_nets; i++)
        if (!strcmp(p->in->name[i], name))
            return (int) i;
    return -1;
}

static rill_status part_write(struct parcel *p, const char *name)
{
    char path[8192];
    const uint8_t *data;
    size_t n;
    int net = net_index(p, name);
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", p->to, name);
    TRY(folders_make(p, name));
    if (lstat(path, &st) != 0)
        TRY(made_note(p, path));
    if (net >= 0 && p->nets[net].data)
        return file_write(path, p->nets[net].data, p->nets[net].n, p->err);
    TRY(folder_read(&p->in->folder, name, &p->in->arena, BYTES_MAX, &data, &n, p->err));
    if (!strcmp(name, "model.conf"))
        return conf_write(p, path, data, n);
    return file_write(path, data, n, p->err);
}

static rill_status builtin_write(struct parcel *p)
{
    for (const struct folder_file *f = p->in->folder.built_in; f->name; f++)
        TRY(part_write(p, f->name));
    return RILL_OK;
}

static int is_shown(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static rill_status beneath_write(struct parcel *p, const char *inside, int deep)
{
    char path[8192];
    struct dirent **list = NULL;
    rill_status s = RILL_OK;
    snprintf(path, sizeof path, "%s/%s", p->in->path, inside);
    int n = scandir(path, &list, is_shown, alphasort);
    if (n < 0)
        return err_set(p->err, RILL_IO, "'%.300s': %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        struct stat st;
        char name[4096];
        snprintf(name, sizeof name, "%s%s%s", inside, *inside ? "/" : "", list[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", p->in->path, name);
        bool there = s == RILL_OK && lstat(path, &st) == 0;
        if (there && S_ISREG(st.st_mode))
            s = part_write(p, name);
        else if (there && S_ISDIR(st.st_mode) && deep)
            s = beneath_write(p, name, deep - 1);
        free(list[i]);
    }
    free(list);
    return s;
}

static rill_status parcel_write(struct parcel *p)
{
    return p->in->folder.built_in ? builtin_write(p) : beneath_write(p, "", FOLDERS_DEEP);
}

/* ---- folders ---- */

static void parcel_remove(struct parcel *p)
{
    while (p->n_made) {
        const char *path = p->made[--p->n_made];
        if (path)
            (void) remove(path);
    }
}

/* That names were made lies on the disk, too. */
static void folder_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void) fsync(fd);
        close(fd);
    }
}

static rill_status new_folder_write(struct parcel *p, const char *out)
{
    char beside[4096];
    size_t n = strlen(out);
    while (n > 1 && out[n - 1] == '/')
        n--;
    if ((size_t) snprintf(beside, sizeof beside, "%.*s.%ld.new", (int) n, out, (long) getpid()) >=
        sizeof beside)
        return err_set(p->err, RILL_IO, "'%.300s': %s", out, strerror(ENAMETOOLONG));
    if (mkdir(beside, 0777) != 0)
        return err_set(p->err, RILL_IO, "'%.300s' cannot be made: %s", out, strerror(errno));
    p->to = beside;
    rill_status s = parcel_write(p);
    if (s == RILL_OK)
        folder_sync(beside);
    if (s == RILL_OK && rename(beside, out) != 0)
        s = err_set(p->err, RILL_IO, "'%.300s' cannot be made: %s", out, strerror(errno));
    if (s != RILL_OK) {
        parcel_remove(p);
        (void) rmdir(beside);
    }
    return s;
}

rill_status quantize_out_write(struct quantize_in *in, const char *out, const struct bytes *nets,
                               rill_error *reterr)
{
    struct stat st;
    struct parcel p = { .in = in, .nets = nets, .to = out, .err = reterr };
    if (!in->is_folder)
        return file_write(out, nets[0].data, nets[0].n, reterr);
    return stat(out, &st) == 0 ? parcel_write(&p) : new_folder_write(&p, out);
}
