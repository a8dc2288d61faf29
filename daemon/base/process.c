/* SPDX-License-Identifier: MIT */
#include "daemon/base/process.h"

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

enum statm { TOTAL, RESIDENT, SHARED, STATM };

static void statm_read(uint64_t ret_bytes[STATM])
{
    char b[128];
    unsigned long long n[STATM] = { 0 };
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, b, sizeof b - 1) : -1;
    if (fd >= 0)
        close(fd);
    b[got > 0 ? got : 0] = '\0';
    if (sscanf(b, "%llu %llu %llu", &n[TOTAL], &n[RESIDENT], &n[SHARED]) != STATM)
        n[TOTAL] = n[RESIDENT] = n[SHARED] = 0;
    for (int i = 0; i < STATM; i++)
        ret_bytes[i] = n[i] * (uint64_t) sysconf(_SC_PAGESIZE);
}

void process_memory(uint64_t *ret_virtual_bytes, uint64_t *ret_resident_bytes)
{
    uint64_t bytes[STATM];
    statm_read(bytes);
    *ret_virtual_bytes = bytes[TOTAL];
    *ret_resident_bytes = bytes[RESIDENT];
}

uint64_t process_private_bytes(void)
{
    uint64_t bytes[STATM];
    statm_read(bytes);
    return bytes[RESIDENT] - bytes[SHARED];
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
