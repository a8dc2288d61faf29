/* SPDX-License-Identifier: MIT */
#include "models/tarball.h"
#include "models/gunzip.h"

#include <string.h>

static bool ends_with(const char *path, const char *const *ends)
{
    for (size_t n = strlen(path); *ends; ends++) {
        size_t m = strlen(*ends);
        if (n > m && !strcasecmp(path + n - m, *ends))
            return true;
    }
    return false;
}

bool tarball_is(const char *path)
{
    static const char *const ends[] = { ".tar", ".tar.gz", ".tgz", NULL };
    return ends_with(path, ends);
}

rill_status tarball_check_name(const char *path, rill_error *reterr)
{
    static const char *const others[] = { ".tar.xz",  ".txz", ".tar.bz2", ".tbz2",
                                          ".tar.zst", ".zip", ".7z",      NULL };
    return ends_with(path, others)
        ? err_set(reterr, RILL_UNSUPPORTED,
                  "archives of this kind are not read; .tar, .tar.gz and .tgz are, and the folder "
                  "that it unpacks to")
        : RILL_OK;
}

#ifdef RILL_HAS_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMBERS_MAX 4096u /* names are compared with each other */
#define BLOCK_BYTES ((size_t) 1 << 16)

struct unpacking {
    struct archive *archive;
    struct arena *arena;
    struct folder_file *files; /* of the n so far, and one that ends them */
    size_t n, room;
    uint64_t left_bytes;
    rill_error *err;
};

static rill_status read_fail(const struct unpacking *u)
{
    const char *why = archive_error_string(u->archive);
    return err_set(u->err, RILL_MALFORMED, "the archive cannot be read: %.200s",
                   why ? why : "it ends early, or is damaged");
}

/* Relative, no part of it "", "." or "..". */
static bool name_is_beneath(const char *name)
{
    for (;;) {
        size_t n = strcspn(name, "/");
        if (n == 0 || (n == 1 && name[0] == '.') || (n == 2 && !memcmp(name, "..", 2)))
            return false;
        if (!name[n])
            return true;
        name += n + 1;
    }
}

static rill_status name_check(const struct unpacking *u, const char *name)
{
    if (!name_is_beneath(name))
        return err_set(
            u->err, RILL_INVALID,
            "'%.200s': not a file beneath the archive (names are relative, without '..')", name);
    for (size_t i = 0; i < u->n; i++)
        if (!strcmp(u->files[i].name, name))
            return err_set(u->err, RILL_MALFORMED, "'%.200s' comes twice in the archive", name);
    return RILL_OK;
}

static rill_status files_grow(struct unpacking *u)
{
    if (u->n + 1 < u->room)
        return RILL_OK;
    size_t room = u->room ? 2 * u->room : 16;
    struct folder_file *more = arena_array(u->arena, struct folder_file, room);
    if (!more)
        return err_set(u->err, RILL_NOMEM, "out of memory");
    if (u->n)
        memcpy(more, u->files, u->n * sizeof *more);
    u->files = more;
    u->room = room;
    return RILL_OK;
}

/* Data that is shorter or longer than the entry says is an error of the archive. */
static rill_status data_read(struct unpacking *u, const char *name, uint8_t *to, size_t n)
{
    uint8_t beyond;
    size_t done = 0;
    while (done < n) {
        size_t want = n - done < BLOCK_BYTES ? n - done : BLOCK_BYTES;
        la_ssize_t got = archive_read_data(u->archive, to + done, want);
        if (got < 0)
            return read_fail(u);
        if (got == 0)
            return err_set(u->err, RILL_MALFORMED, "%.200s ends after %zu of %zu bytes", name, done,
                           n);
        done += (size_t) got;
    }
    return archive_read_data(u->archive, &beyond, 1) == 0 ? RILL_OK : read_fail(u);
}

static rill_status file_add(struct unpacking *u, struct archive_entry *e, const char *name)
{
    const int64_t bytes = archive_entry_size(e);
    if (!archive_entry_size_is_set(e) || bytes < 0 || (uint64_t) bytes > u->left_bytes)
        return err_set(u->err, RILL_LIMIT,
                       "%.200s has %lld bytes, and the archive may hold %llu more", name,
                       (long long) bytes, (unsigned long long) u->left_bytes);
    if (u->n >= MEMBERS_MAX)
        return err_set(u->err, RILL_LIMIT, "the archive has more than %u files", MEMBERS_MAX);
    TRY(name_check(u, name));
    TRY(files_grow(u));
    uint8_t *data = arena_alloc(u->arena, (size_t) bytes + 1);
    char *kept = arena_string(u->arena, name);
    if (!data || !kept)
        return err_set(u->err, RILL_NOMEM, "%.200s: out of memory for %lld bytes", name,
                       (long long) bytes);
    TRY(data_read(u, name, data, (size_t) bytes));
    data[bytes] = 0;
    u->left_bytes -= (uint64_t) bytes;
    u->files[u->n++] = (struct folder_file) { kept, data, (size_t) bytes };
    return RILL_OK;
}

static rill_status entry_read(struct unpacking *u, struct archive_entry *e)
{
    const char *utf8 = archive_entry_pathname_utf8(e),
               *name = utf8 ? utf8 : archive_entry_pathname(e);
    if (!name)
        return err_set(u->err, RILL_MALFORMED, "a file of the archive has no name");
    while (name[0] == '.' && name[1] == '/')
        name += 2;
    if (archive_entry_hardlink(e) || archive_entry_filetype(e) != AE_IFREG) {
        if (archive_entry_filetype(e) == AE_IFDIR)
            return RILL_OK;
        return err_set(u->err, RILL_INVALID,
                       "'%.200s' is no plain file: links and devices are not read from archives",
                       name);
    }
    if (archive_entry_sparse_reset(e) > 0)
        return err_set(u->err, RILL_UNSUPPORTED, "'%.200s' has holes (a sparse file)", name);
    return file_add(u, e, name);
}

static rill_status entries_read(struct unpacking *u)
{
    /* One of our own: the library does not look whether it got memory for its. */
    struct archive_entry *e = archive_entry_new2(u->archive);
    rill_status s = e ? RILL_OK : err_set(u->err, RILL_NOMEM, "out of memory");
    int got = ARCHIVE_EOF;
    while (s == RILL_OK &&
           ((got = archive_read_next_header2(u->archive, e)) == ARCHIVE_OK ||
            got == ARCHIVE_WARN)) /* owners without a name in this locale */
        s = entry_read(u, e);
    archive_entry_free(e);
    return s != RILL_OK || got == ARCHIVE_EOF ? s : read_fail(u);
}

/* Where all lies in one folder and its graph is no deeper, names begin behind it. */
static void top_folder_strip(struct unpacking *u)
{
    const char *first = u->n ? u->files[0].name : "";
    const size_t top = strcspn(first, "/") + 1;
    bool all = strlen(first) > top, has_graph = false;
    for (size_t i = 0; all && i < u->n; i++) {
        all = !strncmp(u->files[i].name, first, top);
        has_graph |= all &&
            (!strcmp(u->files[i].name + top, "graph.nnef") ||
             !strcmp(u->files[i].name + top, "tokens.txt")); /* of a recogniser's folder */
    }
    for (size_t i = 0; all && has_graph && i < u->n; i++)
        u->files[i].name += top;
}

static bool is_gzip(const uint8_t magic[2])
{
    return magic[0] == 0x1f && magic[1] == 0x8b;
}

/* What may come out of an archive: gzip makes at most 1032 bytes of one. */
static uint64_t bytes_within(const uint8_t magic[2], uint64_t bytes)
{
    return is_gzip(magic) ? (bytes > UINT64_MAX / 1032 ? UINT64_MAX : bytes * 1032) : bytes;
}

static uint64_t bytes_within_file(const char *path)
{
    struct stat st;
    uint8_t magic[2] = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read(fd, magic, 2) != 2)
        magic[0] = 0;
    const uint64_t bytes = fstat(fd, &st) == 0 && st.st_size > 0 ? (uint64_t) st.st_size : 0;
    close(fd);
    return bytes_within(magic, bytes);
}

struct source {
    const char *path;
    const uint8_t *bytes; /* NULL: in the file */
    size_t n;
};

static rill_status plain_read(struct unpacking *u, const struct source *from)
{
    bool good = archive_read_support_format_tar(u->archive) == ARCHIVE_OK &&
        (from->bytes
             ? archive_read_open_memory(u->archive, from->bytes, from->n)
             : archive_read_open_filename(u->archive, from->path, BLOCK_BYTES)) == ARCHIVE_OK;
    return good ? entries_read(u) : read_fail(u);
}

static rill_status gzip_read(struct unpacking *u, const struct source *from)
{
    struct gunzip g;
    const char *why = NULL;
    rill_status s;
    if (!gunzip_open(&g, from->path, from->bytes, from->n)) {
        why = g.raw ? archive_error_string(g.raw) : "out of memory";
        s = err_set(u->err, RILL_MALFORMED, "the archive cannot be read: %.200s",
                    why ? why : "it ends early, or is damaged");
    } else if (archive_read_support_format_tar(u->archive) != ARCHIVE_OK ||
               archive_read_open(u->archive, &g, NULL, gunzip_read, NULL) != ARCHIVE_OK) {
        s = read_fail(u);
    } else if ((s = entries_read(u)) == RILL_OK && (why = gunzip_check(&g))) {
        s = err_set(u->err, RILL_MALFORMED, "the archive cannot be read: %.200s", why);
    }
    gunzip_close(&g);
    return s;
}

static bool source_is_gzip(const struct source *from)
{
    uint8_t magic[2] = { 0 };
    if (from->bytes && from->n >= 2)
        return is_gzip(from->bytes);
    int fd = from->bytes ? -1 : open(from->path, O_RDONLY | O_CLOEXEC);
    bool has = fd >= 0 && read(fd, magic, 2) == 2;
    if (fd >= 0)
        close(fd);
    return has && is_gzip(magic);
}

static rill_status tarball_read(struct unpacking *u, const struct source *from)
{
    TRY(source_is_gzip(from) ? gzip_read(u, from) : plain_read(u, from));
    top_folder_strip(u);
    TRY(files_grow(u));
    u->files[u->n] = (struct folder_file) { 0 };
    return RILL_OK;
}

static rill_status source_read(struct folder *ret, const struct source *from, struct arena *a,
                               uint64_t max_bytes, rill_error *reterr)
{
    struct unpacking u = {
        .archive = archive_read_new(), .arena = a, .left_bytes = max_bytes, .err = reterr
    };
    struct folder f = { .fd = -1, .path = from->path, .is_kept = true };
    if (!u.archive)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    rill_status s = tarball_read(&u, from);
    archive_read_free(u.archive);
    if (s != RILL_OK)
        return s;
    SHA256Init(&f.digest);
    f.built_in = u.files;
    *ret = f;
    return RILL_OK;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

rill_status tarball_open(struct folder *ret, const char *path, struct arena *a, uint64_t max_bytes,
                         rill_error *reterr)
{
    return source_read(ret, &(struct source) { .path = path }, a,
                       least(bytes_within_file(path), max_bytes), reterr);
}

rill_status tarball_of(struct folder *ret, const char *path, const uint8_t *bytes, size_t n,
                       struct arena *a, uint64_t max_bytes, rill_error *reterr)
{
    const uint64_t within = n < 2 ? n : bytes_within(bytes, n);
    return source_read(ret, &(struct source) { path, bytes, n }, a, least(within, max_bytes),
                       reterr);
}
#else
rill_status tarball_open(struct folder *ret, const char *path, struct arena *a, uint64_t max_bytes,
                         rill_error *reterr)
{
    return tarball_of(ret, path, NULL, 0, a, max_bytes, reterr);
}

rill_status tarball_of(struct folder *ret, const char *path, const uint8_t *bytes, size_t n,
                       struct arena *a, uint64_t max_bytes, rill_error *reterr)
{
    (void) ret, (void) path, (void) bytes, (void) n, (void) a, (void) max_bytes;
    return err_set(reterr, RILL_UNSUPPORTED,
                   "this library was built without libarchive; unpack the archive into a folder, "
                   "or build with -Darchive=enabled");
}
#endif
