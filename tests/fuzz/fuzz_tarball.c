/* SPDX-License-Identifier: MIT */
/* Any bytes as an archive: what opens is read to its ends. */
#include "models/tarball.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = 16 << 20 };
    struct folder f;
    rill_error err;
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, n) != (ssize_t) n)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (tarball_open(&f, path, &a, 1 << 20, &err) == RILL_OK) {
        for (const struct folder_file *file = f.built_in; file->name; file++) {
            const uint8_t *bytes;
            size_t got;
            if (folder_read(&f, file->name, &a, 1 << 20, &bytes, &got, &err) || bytes[got] ||
                strstr(file->name, "..") == file->name)
                abort();
        }
        folder_close(&f);
    }
    close(fd);
    arena_drop(&a);
    return 0;
}
