/* SPDX-License-Identifier: MIT */
/* The files of a text in one tar archive, plain or compressed, the same bytes every time. */
#include "engine/base/err.h"
#include "models/export/writer.h"

#include <string.h>

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

bool is_archive(const char *path)
{
    return ends_with(path, ".tar") || ends_with(path, ".tar.gz") || ends_with(path, ".tgz");
}

#ifdef RILL_HAS_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define WEIGHTS_MAX 4095 /* the reader takes 4096 files */

/* A member of a head, which may be empty, and data. */
static bool member_write(struct archive *to, const char *name, const void *head, size_t n_head,
                         const void *data, size_t n)
{
    struct archive_entry *e = archive_entry_new();
    if (!e)
        return false;
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, (la_int64_t) (n_head + n));
    archive_entry_set_mtime(e, 0, 0);
    bool written = archive_write_header(to, e) == ARCHIVE_OK &&
        archive_write_data(to, head, n_head) == (la_ssize_t) n_head &&
        archive_write_data(to, data, n) == (la_ssize_t) n;
    archive_entry_free(e);
    return written;
}

static bool members_write(struct archive *to, const struct document *doc, const char *text,
                          size_t n)
{
    uint8_t head[DAT_HEAD_BYTES];
    bool written = member_write(to, "graph.nnef", "", 0, text, n);
    for (uint32_t i = 0; written && i < doc->n_weights; i++) {
        const struct tensor *t = doc->weights[i].t;
        const char *name = arena_printf(doc->arena, "%s.dat", doc->weights[i].label);
        written = name && dat_head(t, head) &&
            member_write(to, name, head, sizeof head, t->data, tensor_bytes(t));
    }
    return written;
}

static rill_status archive_fill(const struct document *doc, const char *path, int fd,
                                const char *text, size_t n)
{
    struct archive *to = archive_write_new();
    if (!to)
        return err_set(doc->err, RILL_NOMEM, "%s: out of memory", path);
    archive_write_set_format_pax_restricted(to);
    if (!ends_with(path, ".tar")) {
        archive_write_add_filter_gzip(to);
        archive_write_set_options(to, "gzip:!timestamp");
    }
    bool written = archive_write_open_fd(to, fd) == ARCHIVE_OK && members_write(to, doc, text, n) &&
        archive_write_close(to) == ARCHIVE_OK;
    const char *why = archive_error_string(to);
    rill_status s = written
        ? RILL_OK
        : err_set(doc->err, RILL_IO, "%s: %.200s", path, why ? why : "cannot be written");
    archive_write_free(to);
    return s;
}

rill_status archive_make(const struct document *doc, const char *path, const char *text, size_t n)
{
    if (doc->n_weights > WEIGHTS_MAX)
        return err_set(doc->err, RILL_LIMIT,
                       "%s: %u tensors, an archive of a model has at most %d; a folder has room",
                       path, doc->n_weights, WEIGHTS_MAX);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set(doc->err, RILL_IO, "%s: %s", path, strerror(errno));
    rill_status s = archive_fill(doc, path, fd, text, n);
    if (close(fd) != 0 && s == RILL_OK)
        s = err_set(doc->err, RILL_IO, "%s: %s", path, strerror(errno));
    if (s != RILL_OK)
        remove(path);
    return s;
}
#else
rill_status archive_make(const struct document *doc, const char *path, const char *text, size_t n)
{
    (void) text;
    (void) n;
    return err_set(doc->err, RILL_UNSUPPORTED,
                   "%s: this build of rill has no libarchive; give a folder", path);
}
#endif
