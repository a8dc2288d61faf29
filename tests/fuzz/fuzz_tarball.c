/* SPDX-License-Identifier: MIT */
/* Any bytes as an archive, in a file and in memory: what opens is read to its ends. */
#include "models/tarball.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Whether a part of the path is "..". */
static bool leads_out(const char *name)
{
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2]))
            return true;
    }
    return false;
}

static void files_check(struct folder *f, struct arena *a)
{
    rill_error err;
    for (const struct folder_file *file = f->built_in; file->name; file++) {
        const uint8_t *bytes;
        size_t got;
        if (folder_read(f, file->name, a, 1 << 20, &bytes, &got, &err) || bytes[got] ||
            leads_out(file->name))
            abort();
    }
    folder_close(f);
}

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
    rill_status from_file = tarball_open(&f, path, &a, 1 << 20, &err);
    if (from_file == RILL_OK)
        files_check(&f, &a);
    rill_status from_bytes = tarball_of(&f, "fuzz", data, n, &a, 1 << 20, &err);
    if (from_bytes == RILL_OK)
        files_check(&f, &a);
    close(fd);
    if ((from_file == RILL_OK) != (from_bytes == RILL_OK))
        abort();
    arena_drop(&a);
    return 0;
}
