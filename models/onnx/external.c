/* SPDX-License-Identifier: MIT */
/* Data beside the model. The path comes from the file and is hostile: it is resolved beneath the
 * model's folder, through no link, and names a regular file that has no other name. */
#include "models/onnx/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct place {
    char *path; /* relative, beneath the folder */
    uint64_t offset, length;
    bool has_length;
};

static bool is_key(ProtobufCBinaryData b, const char *key)
{
    return b.len == strlen(key) && !memcmp(b.data, key, b.len);
}

static rill_status parse_size(const struct reader *r, const char *what, const char *key,
                              ProtobufCBinaryData b, uint64_t *ret)
{
    uint64_t v = 0;
    bool ok = b.len > 0;
    for (size_t i = 0; ok && i < b.len; i++)
        ok = b.data[i] >= '0' && b.data[i] <= '9' && !__builtin_mul_overflow(v, 10u, &v) &&
            !__builtin_add_overflow(v, (uint64_t) (b.data[i] - '0'), &v);
    if (!ok || v > INT64_MAX)
        return err_set(r->err, RILL_MALFORMED, "%s: its external %s '%s' is no size", what, key,
                       onnx_text(r->arena, b));
    *ret = v;
    return RILL_OK;
}

/* Refuses what could leave the folder, in words, before the system is asked. */
static rill_status check_path(const struct reader *r, const char *what, ProtobufCBinaryData b)
{
    const char *text = onnx_text(r->arena, b);
    if (b.len == 0)
        return err_set(r->err, RILL_MALFORMED, "%s: its external data has an empty path", what);
    if (b.len > 1024 || memchr(b.data, 0, b.len))
        return err_set(r->err, RILL_MALFORMED, "%s: its external data has no valid path", what);
    if (b.data[0] == '/')
        return err_set(r->err, RILL_MALFORMED,
                       "%s: its external data is at '%.120s'; only paths beneath "
                       "the model's folder are allowed, not absolute ones",
                       what, text);
    for (size_t i = 0, start = 0; i <= b.len; i++) {
        if (i < b.len && b.data[i] != '/')
            continue;
        if (i - start == 2 && b.data[start] == '.' && b.data[start + 1] == '.')
            return err_set(r->err, RILL_MALFORMED,
                           "%s: its external data is at '%.120s'; a path must not "
                           "leave the model's folder by '..'",
                           what, text);
        start = i + 1;
    }
    return RILL_OK;
}

static rill_status place_entry(const struct reader *r, const char *what, const Onnxpb__Entry *e,
                               struct place *ret)
{
    if (is_key(e->key, "location")) {
        TRY(check_path(r, what, e->value));
        ret->path = arena_alloc(r->arena, e->value.len + 1);
        if (!ret->path)
            return no_memory(r);
        memcpy(ret->path, e->value.data, e->value.len);
        return RILL_OK;
    }
    if (is_key(e->key, "offset"))
        return parse_size(r, what, "offset", e->value, &ret->offset);
    if (is_key(e->key, "length")) {
        ret->has_length = true;
        return parse_size(r, what, "length", e->value, &ret->length);
    }
    if (is_key(e->key, "checksum"))
        return RILL_OK;
    return err_set(r->err, RILL_MALFORMED,
                   "%s: its external data has a key '%.60s'; known: location, "
                   "offset, length, checksum",
                   what, onnx_text(r->arena, e->key));
}

static rill_status place_from_pb(const struct reader *r, const Onnxpb__Tensor *t, const char *what,
                                 size_t n, struct place *ret)
{
    *ret = (struct place) { 0 };
    for (size_t i = 0; i < t->n_external_data; i++)
        TRY(place_entry(r, what, t->external_data[i], ret));
    if (!ret->path)
        return err_set(r->err, RILL_MALFORMED, "%s: its external data names no location", what);
    if (ret->has_length && ret->length != n)
        return err_set(r->err, RILL_MALFORMED,
                       "%s: its shape takes %zu bytes and its external data has "
                       "%" PRIu64,
                       what, n, ret->length);
    return RILL_OK;
}

/* Without openat2: one component after the other, no link followed. */
static int open_walk(int dir, const char *path)
{
    char part[256];
    int at = dup(dir);
    while (at >= 0) {
        size_t n = strcspn(path, "/");
        bool last = !path[n];
        if (n >= sizeof part)
            errno = ENAMETOOLONG;
        snprintf(part, sizeof part, "%.*s", (int) n, path);
        int next = n >= sizeof part ? -1
                                    : openat(at, n ? part : ".",
                                             (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY) |
                                                 O_NOFOLLOW | O_CLOEXEC);
        int saved = errno;
        close(at);
        errno = saved;
        at = next;
        if (last)
            break;
        path += n + 1;
    }
    return at;
}

static int open_beneath(int dir, const char *path)
{
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
                            .resolve =
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    long fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return open_walk(dir, path);
    return (int) fd;
}

static int open_folder(const char *model)
{
    const char *slash = strrchr(model, '/');
    char *folder =
        slash ? strndup(model, slash == model ? 1 : (size_t) (slash - model)) : strdup(".");
    int fd = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    return fd;
}

static rill_status check_file(const struct reader *r, const char *what, const struct place *p,
                              int fd, size_t n)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(r->err, RILL_MALFORMED,
                       "%s: its external data '%.120s' is not a regular file", what, p->path);
    if (st.st_nlink != 1)
        return err_set(r->err, RILL_MALFORMED,
                       "%s: its external data '%.120s' has %lu names; hard links "
                       "are not followed",
                       what, p->path, (unsigned long) st.st_nlink);
    uint64_t end;
    if (__builtin_add_overflow(p->offset, (uint64_t) n, &end) || end > (uint64_t) st.st_size)
        return err_set(r->err, RILL_MALFORMED,
                       "%s: its external data is %zu bytes at %" PRIu64 " of "
                       "'%.120s', which has %lld",
                       what, n, p->offset, p->path, (long long) st.st_size);
    return RILL_OK;
}

rill_status external_read(const struct reader *r, const Onnxpb__Tensor *t, const char *what,
                          void *data, size_t n)
{
    struct place p;
    TRY(place_from_pb(r, t, what, n, &p));
    if (!r->file->path)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "%s: has external data, but the model was not read from a "
                       "file",
                       what);
    int dir = open_folder(r->file->path), fd = dir < 0 ? -1 : open_beneath(dir, p.path),
        why = errno;
    if (dir >= 0)
        close(dir);
    if (fd < 0 && (why == ELOOP || why == EXDEV))
        return err_set(r->err, RILL_MALFORMED,
                       "%s: its external data '%.120s' leaves the model's folder or "
                       "is a symbolic link; links are not followed",
                       what, p.path);
    if (fd < 0)
        return err_set(r->err, RILL_IO, "%s: its external data '%.120s': %s", what, p.path,
                       strerror(why));
    rill_status s = check_file(r, what, &p, fd, n);
    if (s == RILL_OK && data && (s = bytes_read_at(fd, data, n, p.offset, r->err)) != RILL_OK)
        err_prefix(r->err, s, "%s: its external data '%.120s'", what, p.path);
    close(fd);
    return s;
}
