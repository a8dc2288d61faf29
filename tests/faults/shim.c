/* SPDX-License-Identifier: MIT */
/* Preloaded into a daemon: fails the n-th call of a family, as the page says that the test shares
 * with it. */
#include "tests/faults/fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct fault_page quiet, *page = &quiet;

/* Looking a symbol up may allocate: from here, and never freed. */
static _Alignas(64) char early[65536];
static size_t early_used;
static __thread bool looking;

static void *early_alloc(size_t n)
{
    n = (n + 63) & ~(size_t) 63;
    if (n > sizeof early - early_used)
        abort();
    void *p = early + early_used;
    early_used += n;
    return p;
}

static bool is_early(const void *p)
{
    return (const char *) p >= early && (const char *) p < early + sizeof early;
}

static void *next_find(void *_Atomic *slot, const char *name)
{
    void *p = atomic_load_explicit(slot, memory_order_acquire);
    if (p)
        return p;
    looking = true;
    p = dlsym(RTLD_NEXT, name);
    looking = false;
    if (!p)
        abort();
    atomic_store_explicit(slot, p, memory_order_release);
    return p;
}

#define NEXT(name)                                                                                 \
    static void *_Atomic slot_;                                                                    \
    __typeof__(&name) next_;                                                                       \
    *(void **) &next_ = next_find(&slot_, #name)

__attribute__((constructor)) static void page_open(void)
{
    const char *path = getenv("FAULT_PAGE");
    long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
    if (fd < 0)
        return;
    long p = syscall(SYS_mmap, NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (p > 0)
        page = (struct fault_page *) p;
}

/* For a program that the shim is linked to, and not preloaded into. */
EXPORT struct fault_page *fault_shim_page(void);
EXPORT struct fault_page *fault_shim_page(void)
{
    return page;
}

static bool fails(enum fault_kind kind)
{
    if (atomic_load_explicit(&page->kind, memory_order_acquire) != kind || looking)
        return false;
    uint64_t n = atomic_fetch_add(&page->calls, 1) + 1, at = atomic_load(&page->at);
    if (n < at || (n > at && !atomic_load(&page->forever)))
        return false;
    atomic_fetch_add(&page->hits, 1);
    return true;
}

static int error_or(int otherwise)
{
    uint32_t e = atomic_load(&page->error);
    return e ? (int) e : otherwise;
}

static bool fails_with(enum fault_kind kind, int error)
{
    if (!fails(kind))
        return false;
    errno = error_or(error);
    return true;
}

static mode_t fd_kind(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/* An error that the kernel could give for this descriptor: a counter or pipe is only ever
 * interrupted. */
static bool io_fails(enum fault_kind kind, int fd, int of_socket, int of_file)
{
    static _Atomic uint64_t n;
    uint32_t every = atomic_load_explicit(&page->interrupts, memory_order_relaxed);
    if (every && atomic_fetch_add(&n, 1) % every == 0) {
        errno = EINTR;
        return true;
    }
    if (kind == FAULT_WRITE && atomic_load_explicit(&page->log_full, memory_order_relaxed) &&
        fd_kind(fd) == S_IFREG) {
        errno = ENOSPC;
        return true;
    }
    if (!fails(kind))
        return false;
    mode_t m = fd_kind(fd);
    errno = error_or(m == S_IFSOCK ? of_socket : m == S_IFREG ? of_file : EINTR);
    return errno != EINTR || !atomic_load(&page->forever); /* nothing is interrupted for ever */
}

static size_t io_size(int fd, size_t n)
{
    return n && atomic_load_explicit(&page->one_byte, memory_order_relaxed) &&
            fd_kind(fd) == S_IFSOCK
        ? 1
        : n;
}

/* ---- memory ---- */

EXPORT void *malloc(size_t n)
{
    if (looking)
        return early_alloc(n);
    NEXT(malloc);
    return fails_with(FAULT_MALLOC, ENOMEM) ? NULL : next_(n);
}

EXPORT void *calloc(size_t n, size_t size)
{
    if (looking)
        return early_alloc(n * size);
    NEXT(calloc);
    return fails_with(FAULT_MALLOC, ENOMEM) ? NULL : next_(n, size);
}

EXPORT void *realloc(void *p, size_t n)
{
    NEXT(realloc);
    return fails_with(FAULT_MALLOC, ENOMEM) ? NULL : next_(p, n);
}

EXPORT void free(void *p)
{
    if (!p || is_early(p))
        return;
    NEXT(free);
    next_(p);
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
    NEXT(aligned_alloc);
    return fails_with(FAULT_MALLOC, ENOMEM) ? NULL : next_(align, n);
}

EXPORT int posix_memalign(void **ret, size_t align, size_t n)
{
    NEXT(posix_memalign);
    return fails(FAULT_MALLOC) ? ENOMEM : next_(ret, align, n);
}

EXPORT void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    NEXT(mmap);
    return fails_with(FAULT_MMAP, ENOMEM) ? MAP_FAILED : next_(at, n, prot, flags, fd, offset);
}

/* ---- bytes ---- */

EXPORT ssize_t read(int fd, void *b, size_t n)
{
    NEXT(read);
    return io_fails(FAULT_READ, fd, ECONNRESET, EIO) ? -1 : next_(fd, b, io_size(fd, n));
}

EXPORT ssize_t write(int fd, const void *b, size_t n)
{
    NEXT(write);
    return io_fails(FAULT_WRITE, fd, EPIPE, ENOSPC) ? -1 : next_(fd, b, io_size(fd, n));
}

EXPORT ssize_t writev(int fd, const struct iovec *v, int n)
{
    NEXT(writev);
    return io_fails(FAULT_WRITE, fd, EPIPE, ENOSPC) ? -1 : next_(fd, v, n);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    NEXT(sendmsg);
    return fails_with(FAULT_SENDMSG, ENOBUFS) ? -1 : next_(fd, m, flags);
}

/* ---- descriptors ---- */

EXPORT int accept4(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
    NEXT(accept4);
    return fails_with(FAULT_ACCEPT, EMFILE) ? -1 : next_(fd, a, n, flags);
}

EXPORT int accept(int fd, struct sockaddr *a, socklen_t *n)
{
    NEXT(accept);
    return fails_with(FAULT_ACCEPT, EMFILE) ? -1 : next_(fd, a, n);
}

#define MODE_OF(flags)                                                                             \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                       \
        va_list ap;                                                                                \
        va_start(ap, flags);                                                                       \
        mode = (mode_t) va_arg(ap, int);                                                           \
        va_end(ap);                                                                                \
    }

EXPORT int open(const char *path, int flags, ...)
{
    MODE_OF(flags)
    NEXT(open);
    return fails_with(FAULT_OPEN, EMFILE) ? -1 : next_(path, flags, mode);
}

EXPORT int openat(int at, const char *path, int flags, ...)
{
    MODE_OF(flags)
    NEXT(openat);
    return fails_with(FAULT_OPEN, EMFILE) ? -1 : next_(at, path, flags, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    NEXT(fopen);
    return fails_with(FAULT_OPEN, EMFILE) ? NULL : next_(path, mode);
}

EXPORT int socket(int domain, int type, int protocol)
{
    NEXT(socket);
    return fails_with(FAULT_SOCKET, EMFILE) ? -1 : next_(domain, type, protocol);
}

EXPORT int eventfd(unsigned n, int flags)
{
    NEXT(eventfd);
    return fails_with(FAULT_EVENTFD, EMFILE) ? -1 : next_(n, flags);
}

/* ---- threads and time ---- */

EXPORT int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*start)(void *), void *arg)
{
    NEXT(pthread_create);
    return fails(FAULT_THREAD) ? EAGAIN : next_(t, a, start, arg);
}

static bool wait_fails(int fd)
{
    atomic_fetch_add(&page->waits, 1);
    return io_fails(FAULT_EPOLL, fd, EINTR, EINTR);
}

EXPORT int epoll_wait(int fd, struct epoll_event *e, int n, int ms)
{
    NEXT(epoll_wait);
    return wait_fails(fd) ? -1 : next_(fd, e, n, ms);
}

EXPORT int epoll_pwait(int fd, struct epoll_event *e, int n, int ms, const sigset_t *s)
{
    NEXT(epoll_pwait);
    return wait_fails(fd) ? -1 : next_(fd, e, n, ms, s);
}

EXPORT int clock_gettime(clockid_t id, struct timespec *t)
{
    NEXT(clock_gettime);
    int r = next_(id, t);
    if (r == 0 && id == CLOCK_REALTIME)
        t->tv_sec += atomic_load_explicit(&page->wall_s, memory_order_relaxed);
    return r;
}

/* The names that programs with 64-bit file offsets are linked to. */
__asm__(".globl open64\n.set open64, open\n.globl openat64\n.set openat64, openat\n"
        ".globl mmap64\n.set mmap64, mmap\n.globl fopen64\n.set fopen64, fopen\n");
