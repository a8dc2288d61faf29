/* SPDX-License-Identifier: MIT */
/* lock.h - one thread at a time. Of a machine that has no threads (lock_alone.c) it does nothing.
 */
#ifndef RILL_ENGINE_BASE_LOCK_H
#define RILL_ENGINE_BASE_LOCK_H

struct lock;

struct lock *lock_new(void);            /* NULL: out of memory */
struct lock *lock_free(struct lock *l); /* takes and returns NULL */
void lock_take(struct lock *l);
void lock_give(struct lock *l);
#endif
