/* SPDX-License-Identifier: MIT */
#include "models/npz.h"

#include <string.h>

bool npz_add(struct npz *z, struct arena *a, const char *name, const struct tensor *t)
{
    struct npz_array *more = arena_grow(a, z->list, z->n, &z->cap, sizeof *more);
    if (!more)
        return false;
    z->list = more;
    more[z->n++] = (struct npz_array) { name, t };
    return true;
}

const struct tensor *npz_find(const struct npz *z, const char *name)
{
    for (uint32_t i = 0; i < z->n; i++)
        if (!strcmp(z->list[i].name, name))
            return z->list[i].t;
    return NULL;
}

#ifdef RILL_HAS_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t) 1 << 16)
#define DEFLATE_RATIO_MAX 1032 /* no byte stands for more */

rill_status npz_check(rill_error *reterr)
{
    (void) reterr;
    return RILL_OK;
}

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

/* Names are UTF-8 whatever the user's locale; archive_end gives that back. */
static locale_t archive_begin(void)
{
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t) 0);
    return uselocale(utf8 ? utf8 : LC_GLOBAL_LOCALE);
}

static void archive_end(locale_t before)
{
    locale_t utf8 = uselocale(before);
    if (utf8 != LC_GLOBAL_LOCALE)
        freelocale(utf8);
}

/* ---- reading ---- */

struct reading {
    struct archive *archive;
    struct arena *arena;
    uint8_t *header; /* NPY_HEADER_MAX bytes, for one array after the other */
    uint64_t left_bytes, max_bytes;
    rill_error *err;
};

static rill_status zip_fail(const struct reading *r)
{
    const char *why = archive_error_string(r->archive);
    return err_set(r->err, RILL_MALFORMED, "no .npz, or one that was cut (%.200s)",
                   why ? why : "no zip");
}

static rill_status bytes_unpack(const struct reading *r, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        size_t want = n - done < BLOCK_BYTES ? n - done : BLOCK_BYTES;
        la_ssize_t got = archive_read_data(r->archive, (uint8_t *) to + done, want);
        const char *why = archive_error_string(r->archive);
        if (got <= 0)
            return err_set(r->err, RILL_MALFORMED, "its bytes do not unpack (%.200s)",
                           got < 0 && why ? why : "they are cut");
        done += (size_t) got;
    }
    return RILL_OK;
}

/* What lies behind the elements, too: the checksum is compared behind the last byte. */
static rill_status rest_check(const struct reading *r)
{
    uint8_t rest[512];
    la_ssize_t got;
    do
        got = archive_read_data(r->archive, rest, sizeof rest);
    while (got > 0);
    const char *why = archive_error_string(r->archive);
    return got == 0 ? RILL_OK
                    : err_set(r->err, RILL_MALFORMED, "its bytes do not unpack (%.200s)",
                              why ? why : "damaged");
}

static rill_status array_read(const struct reading *r, uint64_t bytes, const struct tensor **ret)
{
    struct tensor t;
    struct npy_layout layout;
    size_t n;
    uint8_t *header = r->header;
    const size_t begin = bytes < NPY_BEGIN_BYTES ? (size_t) bytes : NPY_BEGIN_BYTES;
    TRY(bytes_unpack(r, header, begin));
    TRY(npy_length(&n, header, begin, r->err));
    if (n < begin || n > bytes)
        return err_set(r->err, RILL_MALFORMED, "its header ends behind its end");
    TRY(bytes_unpack(r, header + begin, n - begin));
    TRY(npy_header(&t, &layout, r->arena, header, n, bytes, r->err));
    struct tensor *made = tensor_new(r->arena, t.type, t.rank, t.dim);
    if (!made)
        return no_memory(r->err);
    TRY(bytes_unpack(r, made->data, tensor_bytes(made)));
    TRY(npy_settle(made, &layout, r->err));
    *ret = made;
    return rest_check(r);
}

static rill_status entry_check(const struct reading *r, struct archive_entry *e)
{
    const int64_t bytes = archive_entry_size(e);
    if (archive_entry_filetype(e) != AE_IFREG)
        return err_set(r->err, RILL_MALFORMED, "no plain file");
    if (archive_entry_is_encrypted(e))
        return err_set(r->err, RILL_UNSUPPORTED, "it is encrypted");
    if (!archive_entry_size_is_set(e) || bytes < 0 || (uint64_t) bytes > r->left_bytes)
        return err_set(r->err, RILL_LIMIT,
                       "it says that it has %lld bytes, and there may be %llu more in the file; at "
                       "most %llu are read of one",
                       (long long) bytes, (unsigned long long) r->left_bytes,
                       (unsigned long long) r->max_bytes);
    return RILL_OK;
}

static rill_status entry_read(struct npz *z, struct reading *r, struct archive_entry *e)
{
    const char *utf8 = archive_entry_pathname_utf8(e),
               *path = utf8 ? utf8 : archive_entry_pathname(e);
    const struct tensor *t = NULL;
    if (!path)
        return err_set(r->err, RILL_MALFORMED, "an array has no name");
    const char *said = arena_printable(r->arena, path, strlen(path));
    if (!said)
        return no_memory(r->err);
    rill_status s = entry_check(r, e);
    if (s == RILL_OK)
        s = array_read(r, (uint64_t) archive_entry_size(e), &t);
    if (s != RILL_OK)
        return err_prefix(r->err, s, "array '%.100s'", said);
    r->left_bytes -= (uint64_t) archive_entry_size(e);
    const size_t n = strlen(path), end = n > 4 && !strcmp(path + n - 4, ".npy") ? 4 : 0;
    const char *name = arena_printf(r->arena, "%.*s", (int) (n - end), path);
    return name && npz_add(z, r->arena, name, t) ? RILL_OK : no_memory(r->err);
}

static int name_order(const void *a, const void *b)
{
    return strcmp(((const struct npz_array *) a)->name, ((const struct npz_array *) b)->name);
}

/* Of two that have a name nobody says which is meant. */
static rill_status names_check(const struct npz *z, const struct reading *r)
{
    struct npz_array *sorted = arena_copy(r->arena, z->list, z->n * sizeof *sorted);
    if (!sorted)
        return no_memory(r->err);
    qsort(sorted, z->n, sizeof *sorted, name_order);
    for (uint32_t i = 1; i < z->n; i++)
        if (!strcmp(sorted[i - 1].name, sorted[i].name))
            return err_set(r->err, RILL_MALFORMED, "array '%.100s' is there twice",
                           arena_printable(r->arena, sorted[i].name, strlen(sorted[i].name)));
    return RILL_OK;
}

static rill_status entries_read(struct npz *z, struct reading *r)
{
    /* One of our own: the library does not look whether it got memory for its. */
    struct archive_entry *e = archive_entry_new2(r->archive);
    r->header = arena_alloc(r->arena, NPY_HEADER_MAX);
    rill_status s = e && r->header ? RILL_OK : no_memory(r->err);
    int got = ARCHIVE_EOF;
    while (s == RILL_OK &&
           ((got = archive_read_next_header2(r->archive, e)) == ARCHIVE_OK || got == ARCHIVE_WARN))
        s = entry_read(z, r, e);
    archive_entry_free(e);
    if (s == RILL_OK && got != ARCHIVE_EOF)
        return zip_fail(r);
    return s == RILL_OK && z->n ? names_check(z, r) : s;
}

/* Where the bytes of a zip lie: in a file, or at data. */
struct zip {
    int fd;
    const uint8_t *data;
    uint64_t n;
};

static rill_status zip_read(struct npz *z, struct reading *r, const struct zip *from)
{
    const uint64_t max = r->max_bytes;
    r->left_bytes = from->n < max / DEFLATE_RATIO_MAX ? from->n * DEFLATE_RATIO_MAX : max;
    if (archive_read_support_format_zip_seekable(r->archive) != ARCHIVE_OK ||
        (from->data ? archive_read_open_memory(r->archive, from->data, (size_t) from->n)
                    : archive_read_open_fd(r->archive, from->fd, BLOCK_BYTES)) != ARCHIVE_OK)
        return zip_fail(r);
    return entries_read(z, r);
}

static rill_status zip_open(struct npz *ret, struct arena *a, const struct zip *from,
                            uint64_t max_bytes, rill_error *reterr)
{
    struct npz z = { .n = 0 };
    struct reading r = {
        .archive = archive_read_new(), .arena = a, .max_bytes = max_bytes, .err = reterr
    };
    locale_t before = archive_begin();
    rill_status s = r.archive ? zip_read(&z, &r, from) : no_memory(reterr);
    archive_read_free(r.archive);
    archive_end(before);
    if (s == RILL_OK)
        *ret = z;
    return s;
}

rill_status npz_of(struct npz *ret, struct arena *a, const uint8_t *bytes, size_t n,
                   uint64_t max_bytes, rill_error *reterr)
{
    return zip_open(ret, a, &(struct zip) { -1, bytes, n }, max_bytes, reterr);
}

rill_status npz_read(struct npz *ret, struct arena *a, const char *path, rill_error *reterr)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set(reterr, RILL_IO, "%s", strerror(errno));
    rill_status s = fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
        ? zip_open(ret, a, &(struct zip) { fd, NULL, (uint64_t) st.st_size }, NPZ_BYTES_MAX, reterr)
        : err_set(reterr, RILL_IO, "is not a regular file");
    close(fd);
    return s;
}

/* ---- writing ---- */

static bool data_write(struct archive *to, const uint8_t *data, size_t n)
{
    while (n > 0) {
        la_ssize_t done = archive_write_data(to, data, n < NPY_BYTES_MAX ? n : NPY_BYTES_MAX / 2);
        if (done <= 0)
            return false;
        data += done;
        n -= (size_t) done;
    }
    return true;
}

static bool array_write(struct archive *to, const struct npz_array *x, const char *path)
{
    uint8_t header[NPY_MADE_MAX];
    const size_t n = npy_header_make(x->t, header), bytes = tensor_bytes(x->t);
    struct archive_entry *e = archive_entry_new();
    if (!e)
        return false;
    archive_entry_set_pathname(e, path);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, (la_int64_t) (n + bytes));
    bool written = archive_write_header(to, e) >= ARCHIVE_WARN && data_write(to, header, n) &&
        data_write(to, x->t->data, bytes);
    archive_entry_free(e);
    return written;
}

static bool arrays_write(const struct npz *z, struct archive *to, int fd)
{
    struct arena a = { 0 };
    bool written = archive_write_set_format_zip(to) == ARCHIVE_OK &&
        archive_write_set_options(to, "zip:compression=store") == ARCHIVE_OK &&
        archive_write_open_fd(to, fd) == ARCHIVE_OK;
    for (uint32_t i = 0; written && i < z->n; i++) {
        const char *path = arena_printf(&a, "%s.npy", z->list[i].name);
        written = path && array_write(to, &z->list[i], path);
    }
    arena_drop(&a);
    return written && archive_write_close(to) == ARCHIVE_OK;
}

rill_status npz_write(const struct npz *z, const char *path, rill_error *reterr)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < z->n; i++)
        bytes += tensor_bytes(z->list[i].t) + NPY_MADE_MAX;
    if (bytes > NPZ_BYTES_MAX)
        return err_set(reterr, RILL_LIMIT, "%.200s: more than 8 GiB of arrays", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    struct archive *to = fd >= 0 ? archive_write_new() : NULL;
    locale_t before = archive_begin();
    bool written = to && arrays_write(z, to, fd);
    const char *why = to ? archive_error_string(to) : NULL;
    rill_status s = written
        ? RILL_OK
        : err_set(reterr, RILL_IO, "%.200s: %.200s", path, why ? why : strerror(errno));
    if (to)
        archive_write_free(to);
    archive_end(before);
    if (fd >= 0 && close(fd) != 0 && s == RILL_OK)
        s = err_set(reterr, RILL_IO, "%.200s: %s", path, strerror(errno));
    return s;
}
#else
rill_status npz_check(rill_error *reterr)
{
    return err_set(reterr, RILL_UNSUPPORTED,
                   "this program was built without libarchive and knows no .npz; give .npy files, "
                   "or build with -Darchive=enabled");
}

rill_status npz_read(struct npz *ret, struct arena *a, const char *path, rill_error *reterr)
{
    (void) ret, (void) a, (void) path;
    return npz_check(reterr);
}

rill_status npz_of(struct npz *ret, struct arena *a, const uint8_t *bytes, size_t n,
                   uint64_t max_bytes, rill_error *reterr)
{
    (void) ret, (void) a, (void) bytes, (void) n, (void) max_bytes;
    return npz_check(reterr);
}

rill_status npz_write(const struct npz *z, const char *path, rill_error *reterr)
{
    (void) z;
    return err_prefix(reterr, npz_check(reterr), "%.200s", path);
}
#endif
