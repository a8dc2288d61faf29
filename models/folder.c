/* SPDX-License-Identifier: MIT */
#include "models/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

rill_status folder_open(struct folder *ret, const char *path, rill_error *reterr)
{
    struct folder f = { .path = path };
    SHA256Init(&f.digest);
    f.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f.fd < 0)
        return err_set(reterr, RILL_IO, "its folder cannot be opened: %s", strerror(errno));
    *ret = f;
    return RILL_OK;
}

void folder_close(struct folder *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

void folder_digest(struct folder *f, const void *bytes, size_t n)
{
    SHA256Update(&f->digest, bytes, n);
}

/* Steps into one component of a path; -1 with errno. */
static int component_open(int dir, const char *component, size_t n, bool last)
{
    char name[256];
    if (n == 0 || n >= sizeof name || (n == 1 && component[0] == '.') ||
        (n == 2 && !memcmp(component, "..", 2))) {
        errno = EINVAL;
        return -1;
    }
    memcpy(name, component, n);
    name[n] = 0;
    return openat(dir, name,
                  O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY));
}

static int beneath_open(int dir, const char *name)
{
    int at = dir;
    for (;;) {
        size_t n = strcspn(name, "/");
        int next = component_open(at, name, n, !name[n]);
        int saved = errno;
        if (at != dir)
            close(at);
        errno = saved;
        if (next < 0 || !name[n])
            return next;
        at = next;
        name += n + 1;
    }
}

static bool read_all(int fd, uint8_t *at, size_t n)
{
    while (n) {
        ssize_t got = read(fd, at, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t) got;
    }
    return true;
}

static rill_status open_fail(const char *name, rill_error *reterr)
{
    if (errno == ELOOP)
        return err_set(reterr, RILL_INVALID,
                       "'%.200s': not a file beneath the model's folder but a symbolic link, which "
                       "is not followed; 'cp -rL' copies a folder with what its links lead to",
                       name);
    if (errno == EINVAL)
        return err_set(reterr, RILL_INVALID,
                       "'%.200s': not a file beneath the model's folder (names are relative, "
                       "without '..')",
                       name);
    return err_set(reterr, RILL_IO, "%.200s: %s", name, strerror(errno));
}

static rill_status file_read(int fd, const char *name, struct arena *a, uint64_t max_bytes,
                             const uint8_t **ret, size_t *ret_n, rill_error *reterr)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(reterr, RILL_IO, "%.200s is not a regular file", name);
    if ((uint64_t) st.st_size > max_bytes)
        return err_set(reterr, RILL_LIMIT, "%.200s has %lld bytes, the limit is %llu", name,
                       (long long) st.st_size, (unsigned long long) max_bytes);
    size_t n = (size_t) st.st_size;
    uint8_t *bytes = arena_alloc(a, n + 1);
    if (!bytes)
        return err_set(reterr, RILL_NOMEM, "%.200s: out of memory for %zu bytes", name, n);
    if (!read_all(fd, bytes, n))
        return err_set(reterr, RILL_IO, "%.200s: could not be read to its end", name);
    *ret = bytes;
    *ret_n = n;
    return RILL_OK;
}

static const struct folder_file *built_in_find(const struct folder *f, const char *name)
{
    const struct folder_file *file = f->built_in;
    while (file && file->name && strcmp(file->name, name) != 0)
        file++;
    return file && file->name ? file : NULL;
}

static rill_status list_read(struct folder *f, const struct folder_file *file, struct arena *a,
                             uint64_t max_bytes, const uint8_t **ret, size_t *ret_n,
                             rill_error *reterr)
{
    if (file->n > max_bytes)
        return err_set(reterr, RILL_LIMIT, "%.200s has %zu bytes, the limit is %llu", file->name,
                       file->n, (unsigned long long) max_bytes);
    uint8_t *bytes = f->is_kept ? NULL : arena_alloc(a, file->n + 1);
    if (!f->is_kept && !bytes)
        return err_set(reterr, RILL_NOMEM, "%.200s: out of memory for %zu bytes", file->name,
                       file->n);
    *ret = bytes ? memcpy(bytes, file->data, file->n) : file->data;
    *ret_n = file->n;
    return RILL_OK;
}

static rill_status bytes_find(struct folder *f, const char *name, struct arena *a,
                              uint64_t max_bytes, const uint8_t **ret, size_t *ret_n,
                              rill_error *reterr)
{
    const struct folder_file *file = built_in_find(f, name);
    if (file)
        return list_read(f, file, a, max_bytes, ret, ret_n, reterr);
    if (f->is_kept)
        return err_set(reterr, RILL_IO, "%.200s: the archive holds no such file", name);
    if (f->fd < 0)
        return err_set(reterr, RILL_IO, "'%.200s': this model has no folder to read files from",
                       name);
    int fd = beneath_open(f->fd, name);
    if (fd < 0)
        return open_fail(name, reterr);
    rill_status s = file_read(fd, name, a, max_bytes, ret, ret_n, reterr);
    close(fd);
    return s;
}

/* What stands in the place of a file that was cloned without Git LFS. */
static bool is_pointer(const uint8_t *data, size_t n)
{
    static const char begins[] = "version https://git-lfs";
    return n >= sizeof begins - 1 && !memcmp(data, begins, sizeof begins - 1);
}

rill_status folder_peek(struct folder *f, const char *name, struct arena *a, uint64_t max_bytes,
                        const uint8_t **ret, size_t *ret_n, rill_error *reterr)
{
    TRY(bytes_find(f, name, a, max_bytes, ret, ret_n, reterr));
    if (is_pointer(*ret, *ret_n))
        return err_set(reterr, RILL_MALFORMED,
                       "%.200s: it is a pointer of Git LFS of %zu bytes, not the file: `git lfs "
                       "pull` fetches that",
                       name, *ret_n);
    return RILL_OK;
}

rill_status folder_read(struct folder *f, const char *name, struct arena *a, uint64_t max_bytes,
                        const uint8_t **ret, size_t *ret_n, rill_error *reterr)
{
    TRY(folder_peek(f, name, a, max_bytes, ret, ret_n, reterr));
    SHA256Update(&f->digest, *ret, *ret_n);
    return RILL_OK;
}

/* ---- names ---- */

struct names {
    struct arena *arena;
    const char **list;
    uint32_t n, room;
};

static bool name_add(struct names *l, const char *name)
{
    if (l->n == FOLDER_NAMES_MAX)
        return true;
    const char **more = arena_grow(l->arena, l->list, l->n, &l->room, sizeof *l->list);
    if (!more || !(more[l->n] = arena_string(l->arena, name)))
        return false;
    l->list = more;
    l->n++;
    return true;
}

static bool directory_names(struct names *l, int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    bool ok = d;
    if (!d && fd >= 0)
        close(fd);
    for (struct dirent *e; ok && (e = readdir(d));)
        ok = e->d_name[0] == '.' || name_add(l, e->d_name);
    if (d)
        closedir(d);
    return ok;
}

static int name_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

rill_status folder_list(const struct folder *f, struct arena *a, const char ***ret, size_t *ret_n,
                        rill_error *reterr)
{
    struct names l = { .arena = a };
    bool ok = f->fd < 0 || directory_names(&l, f->fd);
    for (const struct folder_file *file = f->built_in; ok && file && file->name; file++)
        ok = strchr(file->name, '/') || name_add(&l, file->name);
    if (!ok)
        return err_set(reterr, RILL_IO, "its folder cannot be listed");
    if (l.n)
        qsort(l.list, l.n, sizeof *l.list, name_order);
    *ret = l.list;
    *ret_n = l.n;
    return RILL_OK;
}

bool folder_has(const struct folder *f, const char *name)
{
    struct stat st;
    if (built_in_find(f, name))
        return true;
    /* What is there but cannot be read is for the reader to refuse, with its reason. */
    return f->fd >= 0 &&
        (fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
         (errno != ENOENT && errno != ENOTDIR));
}
