/* SPDX-License-Identifier: MIT */
/* fault.h - what a test and the preloaded shim of its daemon share: a page in a file named by
 * FAULT_PAGE. */
#ifndef TEST_FAULTS_FAULT_H
#define TEST_FAULTS_FAULT_H

#include <stdatomic.h>
#include <stdint.h>

/* X(enumerator, name): a family of calls that are counted and failed together. */
/* clang-format off */
#define FAULT_EACH(X)                                                                              \
    X(NONE, "nothing") X(MALLOC, "malloc") X(READ, "read") X(WRITE, "write") X(SENDMSG, "sendmsg") \
    X(ACCEPT, "accept") X(MMAP, "mmap") X(OPEN, "open") X(THREAD, "pthread_create")                \
    X(EVENTFD, "eventfd") X(EPOLL, "epoll_wait") X(SOCKET, "socket")
/* clang-format on */

enum fault_kind {
#define X(e, name) FAULT_##e,
    FAULT_EACH(X)
#undef X
        FAULT_KINDS
};

struct fault_page {
    _Atomic uint32_t kind;       /* enum fault_kind; FAULT_NONE = every call goes through */
    _Atomic uint32_t forever;    /* 0 = only the `at`-th call fails, else that one and all later */
    _Atomic uint32_t error;      /* errno to fail with; 0 = the shim's choice for the descriptor */
    _Atomic uint64_t at;         /* 1 = the next call */
    _Atomic uint64_t calls;      /* of this kind since armed */
    _Atomic uint64_t hits;       /* calls that failed */
    _Atomic uint64_t waits;      /* calls of epoll_wait by all threads, since ever */
    _Atomic uint32_t one_byte;   /* every read and write of a socket moves one byte */
    _Atomic uint32_t interrupts; /* every n-th read, write, wait fails with EINTR; 0 = none */
    _Atomic uint32_t log_full;   /* writes to files fail with ENOSPC */
    _Atomic int64_t wall_s;      /* added to the wall clock, not to the monotonic one */
};

#endif
