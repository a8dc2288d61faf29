/* SPDX-License-Identifier: MIT */
#include "engine/base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

rill_status bytes_read_at(int fd, void *ret, size_t n, uint64_t offset, rill_error *reterr)
{
    unsigned char *p = ret;
    while (n > 0) {
        ssize_t got = pread(fd, p, n, (off_t) offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(reterr, RILL_IO, "%s", strerror(errno));
        if (got == 0)
            return err_set(reterr, RILL_IO, "ends %zu bytes too early", n);
        p += got;
        offset += (uint64_t) got;
        n -= (size_t) got;
    }
    return RILL_OK;
}

static rill_status bytes_read(struct bytes *ret, int fd, const char *path, uint64_t max_bytes,
                              rill_error *reterr)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(reterr, RILL_IO, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(reterr, RILL_IO, "is not a regular file");
    if ((uint64_t) st.st_size > max_bytes)
        return err_set(reterr, RILL_LIMIT, "has %lld bytes, at most %llu are read",
                       (long long) st.st_size, (unsigned long long) max_bytes);
    struct bytes b = { .n = (size_t) st.st_size, .path = strdup(path) };
    void *data = malloc(b.n + 1);
    b.data = data;
    rill_status s = data && b.path ? bytes_read_at(fd, data, b.n, 0, reterr)
                                   : err_set(reterr, RILL_NOMEM, "no memory for %zu bytes", b.n);
    if (s == RILL_OK)
        *ret = b;
    else
        bytes_drop(&b);
    return s;
}

rill_status bytes_from_file(struct bytes *ret, const char *path, uint64_t max_bytes,
                            rill_error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set(reterr, RILL_IO, "%s", strerror(errno));
    rill_status s = bytes_read(ret, fd, path, max_bytes ? max_bytes : BYTES_MAX, reterr);
    close(fd);
    return s;
}

void bytes_drop(struct bytes *b)
{
    free((void *) b->data);
    free(b->path);
    *b = (struct bytes) { 0 };
}
