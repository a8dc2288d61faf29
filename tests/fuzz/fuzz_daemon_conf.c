/* SPDX-License-Identifier: MIT */
/* Any bytes as rilld.conf: settings within their limits, or words with a line; what was read is
 * read again the same. */
#include "daemon/base/conf.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool load(struct conf *c, const void *text, size_t n, char err[CONF_ERROR_BYTES])
{
    char path[64];
    int fd = memfd_create("conf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, n) != (ssize_t) n)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    memset(err, 0, CONF_ERROR_BYTES);
    bool good = conf_load(c, path, false, err);
    close(fd);
    return good;
}

static void limits_check(const struct conf *c)
{
#define IN_STR(v, lo, hi) IN_INT(strlen(v), lo, hi)
#define IN_INT(v, lo, hi) ((double) (v) >= (double) (lo) && (double) (v) <= (double) (hi))
#define IN_MODE(v, lo, hi) IN_INT(v, lo, hi)
#define IN_REAL(v, lo, hi) IN_INT(v, lo, hi)
#define IN_SIZE(v, lo, hi) IN_INT(v, lo, hi)
#define X(section, key, type, read, def, lo, hi, help)                                             \
    if (!IN_##type(c->section##_##key, lo, hi))                                                    \
        abort();
    CONF_EACH(X)
#undef X
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct conf c, again;
    char err[CONF_ERROR_BYTES], *text = NULL;
    size_t bytes = 0;
    if (!load(&c, data, n, err)) {
        if (!err[0])
            abort();
        return 0;
    }
    limits_check(&c);
    FILE *f = open_memstream(&text, &bytes);
    conf_print(&c, f);
    fclose(f);
    char *second = NULL;
    size_t second_bytes = 0;
    if (!load(&again, text, bytes, err))
        abort();
    f = open_memstream(&second, &second_bytes);
    conf_print(&again, f);
    fclose(f);
    if (second_bytes != bytes || memcmp(text, second, bytes) != 0)
        abort();
    free(text);
    free(second);
    return 0;
}
