/* SPDX-License-Identifier: MIT */
/* How much memory the system lets this process take. */
#include "daemon/base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define NO_LIMIT (UINT64_C(1) << 62) /* version 1 writes a number near 2^63 where there is none */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The number in a file; NO_LIMIT where there is none or no such file. */
static uint64_t number_read(const char *path)
{
    char text[64], *end;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    unsigned long long x = strtoull(text, &end, 10);
    return end == text || x > NO_LIMIT ? NO_LIMIT : x;
}

/* The least of a group and of those that hold it. path is cut. */
static uint64_t group_limit(const char *root, const char *mount, char *path,
                            const char *const files[2])
{
    char name[PATH_BYTES];
    uint64_t most = NO_LIMIT;
    for (;;) {
        for (int i = 0; i < 2 && files[i]; i++) {
            int n = snprintf(name, sizeof name, "%s%s%s/%s", root, mount, path, files[i]);
            most = n > 0 && (size_t) n < sizeof name ? least(most, number_read(name)) : most;
        }
        char *slash = strrchr(path, '/');
        if (!slash)
            return most;
        *slash = '\0';
    }
}

/* One line of /proc/self/cgroup: "0::/path", or "4:memory:/path" of version 1. */
static uint64_t line_limit(const char *root, char *line)
{
    static const char *const unified[] = { "memory.max", "memory.high" },
                             *const old[] = { "memory.limit_in_bytes", NULL };
    char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
    if (!path)
        return NO_LIMIT;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    char whole[256];
    snprintf(whole, sizeof whole, ",%s,", names + 1);
    if (strstr(whole, ",memory,"))
        return group_limit(root, "/sys/fs/cgroup/memory", path, old);
    return names[1] ? NO_LIMIT : group_limit(root, "/sys/fs/cgroup", path, unified);
}

static uint64_t groups_limit(const char *root)
{
    char line[PATH_BYTES];
    uint64_t most = NO_LIMIT;
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *f = fopen(line, "re");
    while (f && fgets(line, sizeof line, f))
        most = least(most, line_limit(root, line));
    if (f)
        fclose(f);
    return most;
}

static uint64_t resource_limit(void)
{
    static const int which[] = { RLIMIT_AS, RLIMIT_DATA };
    uint64_t most = NO_LIMIT;
    struct rlimit r;
    for (int i = 0; i < 2; i++)
        if (getrlimit((__rlimit_resource_t) which[i], &r) == 0 && r.rlim_cur != RLIM_INFINITY)
            most = least(most, (uint64_t) r.rlim_cur);
    return most;
}

uint64_t memory_limit(const char *root)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t most = least(groups_limit(root), resource_limit()),
             all = pages > 0 && page > 0 ? (uint64_t) pages * (uint64_t) page : NO_LIMIT;
    return most == NO_LIMIT ? all / 2 : least(most, all);
}

size_t memory_total(uint64_t set_bytes)
{
    uint64_t most = set_bytes ? set_bytes : memory_limit("") / 5 * 4;
    return most < SIZE_MAX / 4 ? (size_t) most : SIZE_MAX / 4;
}
