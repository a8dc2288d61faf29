/* SPDX-License-Identifier: MIT */
#include "engine/plan/file/planfile.h"
#include "engine/base/bytes.h"
#include "engine/base/pages.h"
#include "engine/plan/file/graph.h"

#include <planfile_code.h> /* PLANFILE_CODE: of the sources that lay weights out, made when built */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 6
#define PARTS_BYTES_MAX ((uint64_t) 256 << 20)
#define FILE_BYTES_MAX ((uint64_t) 8 << 30)
#define AGAIN "compile it again with: rill compile MODEL -o FILE.rill"

static const char magic[8] = { 'R', 'I', 'L', 'L', 'P', 'L', 'A', 'N' };

/* As it lies in the file; a machine of another byte order is of another instruction set too. */
struct header {
    char magic[8];
    uint32_t format, header_bytes;
    char version[PLANFILE_TAG_BYTES], cpu[PLANFILE_TAG_BYTES];
    uint64_t code;
    uint64_t file_bytes, data_offset, data_bytes;
    uint64_t part_bytes[PLANFILE_PARTS];
    uint64_t parts_hash, data_hash;
    uint64_t header_hash; /* of all before it; last */
};

static uint64_t header_hash(const struct header *h)
{
    return planfile_hash(h, offsetof(struct header, header_hash));
}

/* ---- checking ---- */

static rill_status broken(rill_error *err, const char *what)
{
    return err_set(err, RILL_MALFORMED, "is damaged: %s; copy it anew, or " AGAIN, what);
}

static rill_status header_check_build(const struct header *h, rill_error *err)
{
    if (h->format != FORMAT || h->header_bytes != sizeof *h)
        return err_set(err, RILL_UNSUPPORTED,
                       "is a compiled plan of format %u, this rill %s reads format %d; " AGAIN,
                       h->format, RILL_VERSION, FORMAT);
    if (header_hash(h) != h->header_hash)
        return broken(err, "its first bytes are not those that were written");
    if (strcmp(h->version, RILL_VERSION))
        return err_set(err, RILL_UNSUPPORTED, "was compiled by rill %.31s, this is rill %s; " AGAIN,
                       h->version, RILL_VERSION);
    if (h->code != PLANFILE_CODE)
        return err_set(err, RILL_UNSUPPORTED, "was compiled by another build of rill %s; " AGAIN,
                       RILL_VERSION);
    return RILL_OK;
}

static rill_status header_check_sizes(const struct header *h, uint64_t n, rill_error *err)
{
    uint64_t parts = 0;
    for (int i = 0; i < PLANFILE_PARTS; i++) {
        if (h->part_bytes[i] > PARTS_BYTES_MAX)
            return broken(err, "a part has an impossible size");
        parts += h->part_bytes[i];
    }
    if (h->file_bytes != n)
        return err_set(err, RILL_MALFORMED,
                       "has %llu bytes, %llu were written: it was cut off; copy it anew, or " AGAIN,
                       (unsigned long long) n, (unsigned long long) h->file_bytes);
    if (parts > PARTS_BYTES_MAX || h->data_offset > n || h->data_bytes != n - h->data_offset ||
        h->data_offset % PLANFILE_ALIGN_BYTES || parts + sizeof *h > h->data_offset ||
        h->data_offset - sizeof *h > PARTS_BYTES_MAX + PLANFILE_ALIGN_BYTES)
        return broken(err, "its parts do not fit into it");
    return RILL_OK;
}

static rill_status header_check(const struct header *h, uint64_t n, bool is_hostile,
                                rill_error *err)
{
    if (!is_hostile)
        TRY(header_check_build(h, err));
    if (h->version[PLANFILE_TAG_BYTES - 1] || h->cpu[PLANFILE_TAG_BYTES - 1])
        return broken(err, "a name does not end");
    return header_check_sizes(h, n, err);
}

/* The parts are copied before they are looked at. */
static rill_status parts_take(struct planfile *f, const struct header *h, const unsigned char *at,
                              bool is_hostile, rill_error *err)
{
    size_t bytes = (size_t) h->data_offset - sizeof *h;
    for (int i = 0; i < PLANFILE_PARTS; i++)
        f->part_bytes[i] = (size_t) h->part_bytes[i];
    if (!(f->parts = malloc(bytes + 1)))
        return err_set(err, RILL_NOMEM, "out of memory");
    memcpy(f->parts, at, bytes);
    if (is_hostile)
        return RILL_OK;
    if (planfile_hash(f->parts, bytes) != h->parts_hash)
        return broken(err, "a byte of its graph is not the one that was written");
    if (planfile_hash(f->data, f->data_bytes) != h->data_hash)
        return broken(err, "a byte of its weights is not the one that was written");
    return RILL_OK;
}

static rill_status zeros_map(struct planfile *f, rill_error *err)
{
    f->zeros = pages_zeros(2 * f->data_bytes + 1);
    if (!f->zeros)
        return err_set(err, RILL_NOMEM, "out of memory");
    f->zeros_bytes = 2 * f->data_bytes; /* weights of 16 bits stand for those of 32 */
    return RILL_OK;
}

static rill_status bytes_take(struct planfile *f, const unsigned char *bytes, size_t n,
                              bool is_hostile, rill_error *err)
{
    struct header h;
    if (n < sizeof h)
        return broken(err, "it is too short");
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic))
        return err_set(err, RILL_MALFORMED, "is no compiled plan");
    TRY(header_check(&h, n, is_hostile, err));
    memcpy(f->cpu, h.cpu, sizeof f->cpu);
    f->file_bytes = n;
    f->data = bytes + h.data_offset;
    f->data_bytes = (size_t) h.data_bytes;
    TRY(zeros_map(f, err));
    return parts_take(f, &h, bytes + sizeof h, is_hostile, err);
}

/* ---- opening ---- */

bool planfile_is(const char *path)
{
    char start[sizeof magic];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        pread(fd, start, sizeof start, 0) == (ssize_t) sizeof start &&
        !memcmp(start, magic, sizeof magic);
    if (fd >= 0)
        close(fd);
    return is;
}

/* Memory of its own that holds the file as it is now. */
static rill_status file_copy(struct planfile *f, int fd, rill_error *err)
{
    f->map = pages_new(f->map_bytes);
    if (!f->map)
        return err_set(err, RILL_NOMEM, "out of memory for %zu bytes", f->map_bytes);
    TRY(bytes_read_at(fd, f->map, f->map_bytes, 0, err));
    pages_protect(f->map, f->map_bytes);
    return RILL_OK;
}

static rill_status file_map(struct planfile *f, int fd, bool copies, rill_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(err, RILL_IO, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t) st.st_size > FILE_BYTES_MAX)
        return err_set(err, RILL_MALFORMED, "is no compiled plan");
    f->map_bytes = (size_t) st.st_size;
    if (copies)
        return file_copy(f, fd, err);
    f->map = pages_of_file(fd, f->map_bytes);
    return f->map ? RILL_OK : err_set(err, RILL_IO, "cannot be mapped: %s", strerror(errno));
}

rill_status planfile_open(struct planfile **ret, const char *path, bool copies, rill_error *reterr)
{
    struct planfile *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    rill_status s =
        fd < 0 ? err_set(reterr, RILL_IO, "%s", strerror(errno)) : file_map(f, fd, copies, reterr);
    if (fd >= 0)
        close(fd);
    if (s == RILL_OK)
        s = bytes_take(f, f->map, f->map_bytes, false, reterr);
    if (s != RILL_OK) {
        planfile_free(f);
        return s;
    }
    /* a stream would wait for a page that was dropped; works without */
    pages_hold(f->map, f->map_bytes);
    *ret = f;
    return RILL_OK;
}

rill_status planfile_of_bytes(struct planfile **ret, const void *bytes, size_t n, bool is_hostile,
                              rill_error *reterr)
{
    struct planfile *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    rill_status s = bytes_take(f, bytes, n, is_hostile, reterr);
    if (s != RILL_OK) {
        planfile_free(f);
        return s;
    }
    *ret = f;
    return RILL_OK;
}

struct planfile *planfile_free(struct planfile *f)
{
    if (!f)
        return NULL;
    if (f->zeros)
        pages_free(f->zeros, f->zeros_bytes + 1);
    if (f->map)
        pages_free(f->map, f->map_bytes);
    free(f->parts);
    free(f);
    return NULL;
}

struct record_reader planfile_part(const struct planfile *f, enum planfile_part part,
                                   struct arena *a)
{
    const unsigned char *at = f->parts;
    for (int i = 0; i < (int) part; i++)
        at += f->part_bytes[i];
    return (struct record_reader) { .at = at, .end = at + f->part_bytes[part], .arena = a };
}

/* ---- saving ---- */

static void header_fill(struct header *h, const char *cpu, const struct record *body,
                        const struct record parts[], const struct record *data)
{
    *h = (struct header) { .format = FORMAT, .header_bytes = sizeof *h, .code = PLANFILE_CODE };
    memcpy(h->magic, magic, sizeof magic);
    snprintf(h->version, sizeof h->version, "%s", RILL_VERSION);
    snprintf(h->cpu, sizeof h->cpu, "%s", cpu);
    for (int i = 0; i < PLANFILE_PARTS; i++)
        h->part_bytes[i] = parts[i].n;
    h->data_offset = sizeof *h + body->n;
    h->data_bytes = data->n;
    h->file_bytes = h->data_offset + data->n;
    h->parts_hash = planfile_hash(body->data, body->n);
    h->data_hash = planfile_hash(data->data, data->n);
    h->header_hash = header_hash(h);
}

static bool all_write(int fd, const void *bytes, size_t n)
{
    for (const unsigned char *p = bytes; n > 0;) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        p += put;
        n -= (size_t) put;
    }
    return true;
}

static rill_status file_write(const char *path, const struct header *h, const struct record *body,
                              const struct record *data, rill_error *err)
{
    char beside[4096];
    struct stat there;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return err_set(err, RILL_IO, "%.300s is there and no ordinary file; give another name",
                       path);
    if ((size_t) snprintf(beside, sizeof beside, "%s.%ld.new", path, (long) getpid()) >=
        sizeof beside)
        return err_set(err, RILL_INVALID, "the name of the file is too long");
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return err_set(err, RILL_IO, "%.300s: %s", beside, strerror(errno));
    bool fine = all_write(fd, h, sizeof *h) && all_write(fd, body->data, body->n) &&
        all_write(fd, data->data, data->n) && fsync(fd) == 0;
    fine = close(fd) == 0 && fine;
    fine = fine && rename(beside, path) == 0;
    int why = errno;
    if (fine)
        return RILL_OK;
    unlink(beside);
    return err_set(err, RILL_IO, "%.300s: %s", path, strerror(why));
}

rill_status planfile_save(const char *path, const char *cpu,
                          const struct record parts[PLANFILE_PARTS], const struct record *data,
                          rill_error *reterr)
{
    static const unsigned char zeros[PLANFILE_ALIGN_BYTES];
    struct record body = { 0 };
    struct header h;
    bool failed = data->failed;
    for (int i = 0; i < PLANFILE_PARTS; i++) {
        record_bytes(&body, parts[i].data, parts[i].n);
        failed |= parts[i].failed;
    }
    record_bytes(&body, zeros,
                 (PLANFILE_ALIGN_BYTES - (sizeof h + body.n) % PLANFILE_ALIGN_BYTES) %
                     PLANFILE_ALIGN_BYTES);
    header_fill(&h, cpu, &body, parts, data);
    rill_status s = failed || body.failed
        ? err_set(reterr, RILL_NOMEM, "out of memory while writing a plan")
        : file_write(path, &h, &body, data, reterr);
    record_drop(&body);
    return s;
}
