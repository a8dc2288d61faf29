/* SPDX-License-Identifier: MIT */
#include "daemon/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

uint64_t process_cpu_us(void)
{
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) < 0)
        return 0;
    return (uint64_t) (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
        (uint64_t) (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

void process_memory(uint64_t *ret_virtual_bytes, uint64_t *ret_resident_bytes)
{
    char b[128];
    unsigned long long total = 0, resident = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, b, sizeof b - 1) : -1;
    if (fd >= 0)
        close(fd);
    b[n > 0 ? n : 0] = '\0';
    if (sscanf(b, "%llu %llu", &total, &resident) != 2)
        total = resident = 0;
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
    *ret_virtual_bytes = total * page;
    *ret_resident_bytes = resident * page;
}

/* The one that lists them is not counted. */
uint64_t process_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    uint64_t n = 0;
    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n ? n - 1 : 0;
}

uint64_t process_max_fds(void)
{
    struct rlimit r;
    return getrlimit(RLIMIT_NOFILE, &r) == 0 ? (uint64_t) r.rlim_cur : 0;
}

uint64_t process_wall_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t) t.tv_sec * 1000000u + (uint64_t) t.tv_nsec / 1000;
}
