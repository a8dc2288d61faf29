/* SPDX-License-Identifier: MIT */
#include "engine/base/lock.h"

#include <pthread.h>
#include <stdlib.h>

struct lock {
    pthread_mutex_t mutex;
};

struct lock *lock_new(void)
{
    struct lock *l = malloc(sizeof *l);
    if (l && pthread_mutex_init(&l->mutex, NULL)) {
        free(l);
        return NULL;
    }
    return l;
}

struct lock *lock_free(struct lock *l)
{
    if (l)
        pthread_mutex_destroy(&l->mutex);
    free(l);
    return NULL;
}

void lock_take(struct lock *l)
{
    pthread_mutex_lock(&l->mutex);
}

void lock_give(struct lock *l)
{
    pthread_mutex_unlock(&l->mutex);
}
