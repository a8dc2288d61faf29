/* SPDX-License-Identifier: MIT */
#include "models/unzip.h"

#include <string.h>

enum unzip_kind unzip_kind_of(const uint8_t *head, size_t n)
{
    static const uint8_t block[6] = { 0x31, 0x41, 0x59, 0x26, 0x53, 0x59 },
                         end[6] = { 0x17, 0x72, 0x45, 0x38, 0x50, 0x90 };
    if (n >= 2 && head[0] == 0x1f && head[1] == 0x8b)
        return UNZIP_GZIP;
    if (n >= UNZIP_HEAD_BYTES && !memcmp(head, "BZh", 3) &&
        (!memcmp(head + 4, block, sizeof block) || !memcmp(head + 4, end, sizeof end)))
        return UNZIP_BZIP2;
    return UNZIP_NONE;
}

#ifdef RILL_HAS_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t) 1 << 16)
#define REST_BYTES_MAX ((size_t) 16 << 20) /* behind the end of an archive */
#define CRC_POLYNOMIAL 0xedb88320u

static void crc_begin(struct unzip *g)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? CRC_POLYNOMIAL : 0);
        g->crc_of[i] = c;
    }
    g->crc = UINT32_MAX;
}

static void crc_add(struct unzip *g, const uint8_t *x, size_t n)
{
    uint32_t c = g->crc;
    for (size_t i = 0; i < n; i++)
        c = c >> 8 ^ g->crc_of[(c ^ x[i]) & 255];
    g->crc = c;
    g->length += (uint32_t) n;
}

static uint32_t number_at(const uint8_t *x)
{
    return (uint32_t) x[0] | (uint32_t) x[1] << 8 | (uint32_t) x[2] << 16 | (uint32_t) x[3] << 24;
}

static bool end_read(struct unzip *g, const char *path, const uint8_t *bytes, size_t n)
{
    struct stat st;
    if (bytes) {
        if (n >= sizeof g->end)
            memcpy(g->end, bytes + n - sizeof g->end, sizeof g->end);
        return n >= sizeof g->end;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t) sizeof g->end &&
        pread(fd, g->end, sizeof g->end, st.st_size - (off_t) sizeof g->end) == sizeof g->end;
    if (fd >= 0)
        close(fd);
    return good;
}

/* OK alone: the library warns where it would run a program instead. */
static bool filter_set(struct unzip *g, const char *path, const uint8_t *bytes, size_t n)
{
    if (g->kind == UNZIP_BZIP2)
        return archive_read_support_filter_bzip2(g->raw) == ARCHIVE_OK;
    crc_begin(g);
    return end_read(g, path, bytes, n) && archive_read_support_filter_gzip(g->raw) == ARCHIVE_OK;
}

bool unzip_open(struct unzip *ret, enum unzip_kind kind, const char *path, const uint8_t *bytes,
                size_t n)
{
    struct archive_entry *e;
    *ret = (struct unzip) { .raw = archive_read_new(), .kind = kind, .n = n };
    return ret->raw && filter_set(ret, path, bytes, n) &&
        archive_read_support_format_raw(ret->raw) == ARCHIVE_OK &&
        (bytes ? archive_read_open_memory(ret->raw, bytes, n)
               : archive_read_open_filename(ret->raw, path, BLOCK_BYTES)) == ARCHIVE_OK &&
        archive_read_next_header(ret->raw, &e) == ARCHIVE_OK;
}

void unzip_close(struct unzip *g)
{
    archive_read_free(g->raw);
    g->raw = NULL;
}

static const char *words_of(struct archive *a)
{
    const char *why = archive_error_string(a);
    return why ? why : "it ends early, or is damaged";
}

ssize_t unzip_read(struct archive *to, void *data, const void **ret)
{
    struct unzip *g = data;
    size_t n = 0;
    la_int64_t at;
    int got = archive_read_data_block(g->raw, ret, &n, &at);
    if (got == ARCHIVE_EOF) {
        g->is_whole = true;
        return 0;
    }
    if (got != ARCHIVE_OK) {
        archive_set_error(to, archive_errno(g->raw), "%s", words_of(g->raw));
        return ARCHIVE_FATAL;
    }
    if (g->kind == UNZIP_GZIP)
        crc_add(g, *ret, n);
    return (ssize_t) n;
}

const char *unzip_check(struct unzip *g)
{
    const void *block;
    size_t rest = 0;
    while (!g->is_whole) {
        ssize_t n = unzip_read(g->raw, g, &block);
        if (n < 0)
            return words_of(g->raw);
        rest += (size_t) n;
        if (rest > REST_BYTES_MAX)
            return "more than 16 MiB follow the end of the archive";
    }
    if (archive_filter_bytes(g->raw, -1) != (la_int64_t) g->n)
        return "something follows the end of the compressed data";
    if (g->kind == UNZIP_BZIP2) /* libbz2 has compared its checksums */
        return NULL;
    if (~g->crc != number_at(g->end) || g->length != number_at(g->end + 4))
        return "the checksum or the length at the end of the gzip file is not that of its data: it "
               "is damaged, or several were joined (of gzip files one is read)";
    return NULL;
}
#else
bool unzip_open(struct unzip *ret, enum unzip_kind kind, const char *path, const uint8_t *bytes,
                size_t n)
{
    (void) kind, (void) path, (void) bytes, (void) n;
    *ret = (struct unzip) { 0 };
    return false;
}

void unzip_close(struct unzip *g)
{
    (void) g;
}

ssize_t unzip_read(struct archive *to, void *data, const void **ret)
{
    (void) to, (void) data, (void) ret;
    return -1;
}

const char *unzip_check(struct unzip *g)
{
    (void) g;
    return "this library was built without libarchive";
}
#endif
