/* SPDX-License-Identifier: MIT */
#include "daemon/base/slices.h"

#include <stddef.h>

static struct slice_user *user_find(struct slices *t, uint32_t uid)
{
    for (unsigned i = 0; i < t->n_users; i++)
        if (t->users[i].uid == uid)
            return &t->users[i];
    if (t->n_users == SLICE_USERS_MAX)
        return &t->users[SLICE_USERS_MAX - 1];
    t->users[t->n_users] = (struct slice_user) { .uid = uid };
    return &t->users[t->n_users++];
}

static const struct slice_user *user_seen(const struct slices *t, uint32_t uid)
{
    static const struct slice_user nobody = { 0, 0, 0 };
    for (unsigned i = 0; i < t->n_users; i++)
        if (t->users[i].uid == uid)
            return &t->users[i];
    return t->n_users == SLICE_USERS_MAX ? &t->users[SLICE_USERS_MAX - 1] : &nobody;
}

void slices_next_iteration(struct slices *t)
{
    t->iteration_us = 0;
    for (unsigned i = 0; i < t->n_users; i++)
        t->users[i].iteration_us = 0;
}

void slices_tick(struct slices *t, bool any_live)
{
    t->any_live = any_live;
    t->tick_us = 0;
    t->n_users = 0;
}

enum slice slices_when(const struct slices *t, uint32_t uid)
{
    const struct slice_user *u = user_seen(t, uid);
    if (t->any_live && (u->tick_us >= TICK_USER_US || t->tick_us >= TICK_ALL_US))
        return SLICE_NEXT_TICK;
    return u->iteration_us >= SLICE_US || t->iteration_us >= SLICE_ALL_US ? SLICE_NEXT_ITERATION
                                                                          : SLICE_NOW;
}

void slices_resume(struct slices *t, enum slice when)
{
    t->tick_pending |= when == SLICE_NEXT_TICK;
    t->iteration_pending |= when == SLICE_NEXT_ITERATION;
    if (when == SLICE_NEXT_ITERATION)
        t->wake(t->wake_arg);
}

void slices_charge(struct slices *t, uint32_t uid, uint64_t us)
{
    struct slice_user *u = user_find(t, uid);
    u->iteration_us += (uint32_t) us;
    u->tick_us += (uint32_t) us;
    t->iteration_us += (uint32_t) us;
    t->tick_us += (uint32_t) us;
}
