/* SPDX-License-Identifier: MIT */
#include "models/tarball.h"
#include "models/unzip.h"

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
    static const char *const ends[] = { ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", NULL };
    return ends_with(path, ends);
}

rill_status tarball_check_name(const char *path, rill_error *reterr)
{
    static const char *const others[] = { ".tar.xz", ".txz", ".tar.zst", ".zip", ".7z", NULL };
    return ends_with(path, others)
        ? err_set(
              reterr, RILL_UNSUPPORTED,
              "archives of this kind are not read; .tar, .tar.gz, .tgz and .tar.bz2 are, and the "
              "folder that it unpacks to")
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
    unsigned entries; /* of any kind */
    uint64_t left_bytes, left_skipped;
    const struct tarball_wanted *wanted; /* NULL: all is */
    rill_error *err;
};

static rill_status read_fail(const struct unpacking *u)
{
    const char *why = archive_error_string(u->archive);
    return err_set(u->err, RILL_MALFORMED, "the archive cannot be read: %.200s",
                   why ? why : "it ends early, or is damaged");
}

/* Relative, no part of it "", "." or "..", but that a folder's ends with a slash and may be the one
 * that all lies in. */
static bool name_is_beneath(const char *name, bool is_folder)
{
    if (is_folder && (!name[0] || !strcmp(name, ".")))
        return true;
    for (;;) {
        size_t n = strcspn(name, "/");
        if (n == 0 || (n == 1 && name[0] == '.') || (n == 2 && !memcmp(name, "..", 2)))
            return false;
        if (!name[n] || (is_folder && !name[n + 1]))
            return true;
        name += n + 1;
    }
}

static rill_status name_check(const struct unpacking *u, const char *name, bool is_folder)
{
    if (!name_is_beneath(name, is_folder))
        return err_set(u->err, RILL_INVALID,
                       "'%.200s': not a %s beneath the archive (names are relative, without '..')",
                       name, is_folder ? "folder" : "file");
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

/* Takes the bytes of a member off what may still come. */
static rill_status bytes_take(const struct unpacking *u, struct archive_entry *e, const char *name,
                              uint64_t *left)
{
    const int64_t bytes = archive_entry_size(e);
    if (!archive_entry_size_is_set(e) || bytes < 0 || (uint64_t) bytes > *left)
        return err_set(u->err, RILL_LIMIT,
                       "%.200s has %lld bytes, and the archive may hold %llu more%s", name,
                       (long long) bytes, (unsigned long long) *left,
                       left == &u->left_skipped ? " beside what is wanted of it" : "");
    *left -= (uint64_t) bytes;
    return RILL_OK;
}

static rill_status file_skip(struct unpacking *u, struct archive_entry *e, const char *name)
{
    TRY(bytes_take(u, e, name, &u->left_skipped));
    return archive_read_data_skip(u->archive) >= ARCHIVE_WARN ? RILL_OK : read_fail(u);
}

static rill_status file_add(struct unpacking *u, struct archive_entry *e, const char *name)
{
    const int64_t bytes = archive_entry_size(e);
    TRY(name_check(u, name, false));
    if (u->wanted && !u->wanted->is_wanted(u->wanted->arg, name))
        return file_skip(u, e, name);
    TRY(bytes_take(u, e, name, &u->left_bytes));
    TRY(files_grow(u));
    uint8_t *data = arena_alloc(u->arena, (size_t) bytes + 1);
    char *kept = arena_string(u->arena, name);
    if (!data || !kept)
        return err_set(u->err, RILL_NOMEM, "%.200s: out of memory for %lld bytes", name,
                       (long long) bytes);
    TRY(data_read(u, name, data, (size_t) bytes));
    data[bytes] = 0;
    u->files[u->n++] = (struct folder_file) { kept, data, (size_t) bytes };
    return RILL_OK;
}

static rill_status entry_read(struct unpacking *u, struct archive_entry *e)
{
    const char *utf8 = archive_entry_pathname_utf8(e),
               *name = utf8 ? utf8 : archive_entry_pathname(e);
    if (u->entries++ >= MEMBERS_MAX)
        return err_set(u->err, RILL_LIMIT, "the archive has more than %u files and folders",
                       MEMBERS_MAX);
    if (!name)
        return err_set(u->err, RILL_MALFORMED, "a file of the archive has no name");
    while (name[0] == '.' && name[1] == '/')
        name += 2;
    if (archive_entry_hardlink(e) || archive_entry_filetype(e) != AE_IFREG) {
        if (archive_entry_filetype(e) == AE_IFDIR)
            return name_check(u, name, true);
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

/* Whether a file that a model begins with lies where names begin after `at` bytes. */
static bool has_root(const struct unpacking *u, size_t at)
{
    for (size_t i = 0; i < u->n; i++)
        if (!strcmp(u->files[i].name + at, "graph.nnef") ||
            !strcmp(u->files[i].name + at, "tokens.txt")) /* of a recogniser's folder */
            return true;
    return false;
}

/* Bytes of the name of the folder, and its slash, that all lies in; 0: there is none. All names
 * are the same up to `at`. */
static size_t folder_of_all(const struct unpacking *u, size_t at)
{
    const char *first = u->n ? u->files[0].name + at : "";
    const size_t n = strcspn(first, "/") + 1;
    if (strlen(first) < n)
        return 0;
    for (size_t i = 1; i < u->n; i++)
        if (strncmp(u->files[i].name + at, first, n) != 0)
            return 0;
    return n;
}

/* Where all lies in a folder, or in a folder in it and so on, down to where the graph is, names
 * begin behind them. */
static void top_folders_strip(struct unpacking *u)
{
    size_t at = 0, n;
    while (!has_root(u, at)) {
        if (!(n = folder_of_all(u, at)))
            return;
        at += n;
    }
    for (size_t i = 0; i < u->n; i++)
        u->files[i].name += at;
}

/* Nothing that is a model gets so much smaller, and gzip cannot make more of a byte. */
#define UNZIPPED_BYTES_OF_ONE 1032

struct source {
    const char *path;
    const uint8_t *bytes; /* NULL: in the file */
    size_t n;
    enum unzip_kind kind;
    const struct tarball_wanted *wanted; /* by names with the folders that all lies in */
};

static struct source source_of_file(const char *path)
{
    struct source ret = { .path = path };
    struct stat st;
    uint8_t head[UNZIP_HEAD_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ret;
    ssize_t got = read(fd, head, sizeof head);
    ret.kind = unzip_kind_of(head, got > 0 ? (size_t) got : 0);
    ret.n = fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t) st.st_size : 0;
    close(fd);
    return ret;
}

/* What may come out of it. */
static uint64_t bytes_within(const struct source *from)
{
    if (from->kind == UNZIP_NONE)
        return from->n;
    return from->n > UINT64_MAX / UNZIPPED_BYTES_OF_ONE
        ? UINT64_MAX
        : (uint64_t) from->n * UNZIPPED_BYTES_OF_ONE;
}

/* Beside the members that are wanted an archive may hold so many times its own bytes, and what is
 * little. They are read and not kept. */
#define SKIPPED_BYTES_OF_ONE 20
#define SKIPPED_BYTES_LEAST ((uint64_t) 1 << 20)

static uint64_t skipped_bytes_max(const struct source *from)
{
    return from->n > UINT64_MAX / SKIPPED_BYTES_OF_ONE - SKIPPED_BYTES_LEAST
        ? UINT64_MAX
        : SKIPPED_BYTES_OF_ONE * (uint64_t) from->n + SKIPPED_BYTES_LEAST;
}

static rill_status plain_read(struct unpacking *u, const struct source *from)
{
    bool good = archive_read_support_format_tar(u->archive) == ARCHIVE_OK &&
        (from->bytes
             ? archive_read_open_memory(u->archive, from->bytes, from->n)
             : archive_read_open_filename(u->archive, from->path, BLOCK_BYTES)) == ARCHIVE_OK;
    return good ? entries_read(u) : read_fail(u);
}

static rill_status zipped_read(struct unpacking *u, const struct source *from)
{
    struct unzip g;
    const char *why = NULL;
    rill_status s;
    if (!unzip_open(&g, from->kind, from->path, from->bytes, from->n)) {
        why = g.raw ? archive_error_string(g.raw) : "out of memory";
        s = err_set(u->err, RILL_MALFORMED, "the archive cannot be read: %.200s",
                    why ? why : "it ends early, or is damaged");
    } else if (archive_read_support_format_tar(u->archive) != ARCHIVE_OK ||
               archive_read_open(u->archive, &g, NULL, unzip_read, NULL) != ARCHIVE_OK) {
        s = read_fail(u);
    } else if ((s = entries_read(u)) == RILL_OK && (why = unzip_check(&g))) {
        s = err_set(u->err, RILL_MALFORMED, "the archive cannot be read: %.200s", why);
    }
    unzip_close(&g);
    return s;
}

static rill_status tarball_read(struct unpacking *u, const struct source *from)
{
    TRY(from->kind == UNZIP_NONE ? plain_read(u, from) : zipped_read(u, from));
    if (!from->wanted)
        top_folders_strip(u);
    TRY(files_grow(u));
    u->files[u->n] = (struct folder_file) { 0 };
    return RILL_OK;
}

static rill_status source_read(struct folder *ret, const struct source *from, struct arena *a,
                               uint64_t max_bytes, rill_error *reterr)
{
    const uint64_t within = bytes_within(from);
    struct unpacking u = { .archive = archive_read_new(),
                           .arena = a,
                           .left_bytes = within < max_bytes ? within : max_bytes,
                           .left_skipped = skipped_bytes_max(from),
                           .wanted = from->wanted,
                           .err = reterr };
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

rill_status tarball_open(struct folder *ret, const char *path, struct arena *a, uint64_t max_bytes,
                         rill_error *reterr)
{
    const struct source from = source_of_file(path);
    return source_read(ret, &from, a, max_bytes, reterr);
}

rill_status tarball_members(struct folder *ret, const char *path,
                            const struct tarball_wanted *wanted, struct arena *a,
                            uint64_t max_bytes, rill_error *reterr)
{
    struct source from = source_of_file(path);
    from.wanted = wanted;
    return source_read(ret, &from, a, max_bytes, reterr);
}

rill_status tarball_of(struct folder *ret, const char *path, const uint8_t *bytes, size_t n,
                       struct arena *a, uint64_t max_bytes, rill_error *reterr)
{
    const struct source from = {
        .path = path, .bytes = bytes, .n = n, .kind = unzip_kind_of(bytes, n)
    };
    return source_read(ret, &from, a, max_bytes, reterr);
}
#else
rill_status tarball_open(struct folder *ret, const char *path, struct arena *a, uint64_t max_bytes,
                         rill_error *reterr)
{
    return tarball_of(ret, path, NULL, 0, a, max_bytes, reterr);
}

rill_status tarball_members(struct folder *ret, const char *path,
                            const struct tarball_wanted *wanted, struct arena *a,
                            uint64_t max_bytes, rill_error *reterr)
{
    (void) wanted;
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
