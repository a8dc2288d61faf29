/* SPDX-License-Identifier: MIT */
/* Built with no instruction-set flags: it runs before anyone knows what the machine can do. */
#include "kernels/kern.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) || defined(__arm__) || defined(__riscv)
#include <sys/auxv.h>
#endif
#ifdef __arm__
#define HWCAP_32_NEON (1ul << 12) /* libcs name them differently */
#define HWCAP_32_VFPV4 (1ul << 16)
#endif

unsigned kern_cpu_detect(void)
{
    unsigned cpu = 0;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C; /* compilers know no name for it */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c)
        cpu |= KERN_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        cpu |= KERN_AVX512;
    if (__builtin_cpu_supports("avx512vnni"))
        cpu |= KERN_AVX512VNNI;
    /* Leaf 7, subleaf 1: compilers know no name for it. Registers are those of AVX2. */
    if (cpu & KERN_AVX2 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & 1 << 4)
        cpu |= KERN_AVXVNNI;
#elif defined(__aarch64__)
    if (getauxval(AT_HWCAP) & HWCAP_ASIMD)
        cpu |= KERN_NEON;
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP)
        cpu |= KERN_DOTPROD;
    if (getauxval(AT_HWCAP2) & HWCAP2_I8MM)
        cpu |= KERN_I8MM;
#elif defined(__arm__)
    if (getauxval(AT_HWCAP) & HWCAP_32_NEON)
        cpu |= KERN_NEON;
    if (getauxval(AT_HWCAP) & HWCAP_32_VFPV4)
        cpu |= KERN_VFPV4;
#elif defined(__riscv)
    if (getauxval(AT_HWCAP) & 1ul << ('V' - 'A'))
        cpu |= KERN_RVV;
#endif
    return cpu;
}

#define CACHES_MOST 10

/* The first word of a file of the first core's cache `index`; "" where there is none. */
static void cache_read(unsigned index, const char *name, char *ret, size_t cap)
{
    char path[64] = "/sys/devices/system/cpu/cpu0/cache/index0/";
    size_t at = strlen(path);
    path[at - 2] = (char) ('0' + index);
    strncpy(path + at, name, sizeof path - at - 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, ret, cap - 1);
    if (fd >= 0)
        close(fd);
    ret[got < 0 ? 0 : got] = 0;
    ret[strcspn(ret, " \n")] = 0;
}

/* "1024K", "32M" */
static size_t bytes_parse(const char *s)
{
    size_t v = 0;
    for (; *s >= '0' && *s <= '9' && v < 1 << 30; s++)
        v = v * 10 + (size_t) (*s - '0');
    return *s == 'K' ? v << 10 : *s == 'M' ? v << 20 : v;
}

static void caches_of_sysfs(size_t size[4])
{
    char level[8], type[16], bytes[16];
    for (unsigned i = 0; i < CACHES_MOST; i++) {
        cache_read(i, "level", level, sizeof level);
        if (level[0] < '1' || level[0] > '3')
            continue;
        cache_read(i, "type", type, sizeof type);
        cache_read(i, "size", bytes, sizeof bytes);
        if (strcmp(type, "Instruction"))
            size[level[0] - '0'] = bytes_parse(bytes);
    }
}

/* Leaf 4 of Intel, leaf 0x8000001d of AMD: the same fields. */
static void caches_of_cpuid(size_t size[4])
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    static const unsigned leaves[] = { 4, 0x8000001d };
    for (unsigned l = 0; l < 2; l++)
        for (unsigned i = 0;
             i < CACHES_MOST && __get_cpuid_count(leaves[l], i, &a, &b, &c, &d) && (a & 31); i++)
            if ((a & 31) != 2 && (a >> 5 & 7) < 4)
                size[a >> 5 & 7] = (size_t) ((b >> 22) + 1) * ((b >> 12 & 0x3ff) + 1) *
                    ((b & 0xfff) + 1) * ((size_t) c + 1);
#else
    (void) size;
#endif
}

void kern_caches(size_t *ret_l2_bytes, size_t *ret_l3_bytes)
{
    size_t size[4] = { 0 };
    caches_of_sysfs(size);
    if (!size[2])
        caches_of_cpuid(size);
    *ret_l2_bytes = size[2] ? size[2] : KERN_L2_BYTES;
    *ret_l3_bytes = size[3] > size[2] ? size[3] : size[2] ? size[2] : KERN_L3_BYTES;
}
