/* SPDX-License-Identifier: MIT */
#include "daemon/base/turns.h"

#include <stddef.h>

static struct turn_user *user_find(struct turns *t, uint32_t uid)
{
    for (unsigned i = 0; i < t->n_users; i++)
        if (t->users[i].uid == uid)
            return &t->users[i];
    if (t->n_users == TURN_USERS)
        return &t->users[TURN_USERS - 1];
    t->users[t->n_users] = (struct turn_user) { .uid = uid };
    return &t->users[t->n_users++];
}

static const struct turn_user *user_seen(const struct turns *t, uint32_t uid)
{
    static const struct turn_user nobody = { 0, 0, 0 };
    for (unsigned i = 0; i < t->n_users; i++)
        if (t->users[i].uid == uid)
            return &t->users[i];
    return t->n_users == TURN_USERS ? &t->users[TURN_USERS - 1] : &nobody;
}

void turns_poll(struct turns *t)
{
    t->turn_us = 0;
    for (unsigned i = 0; i < t->n_users; i++)
        t->users[i].turn_us = 0;
}

void turns_tick(struct turns *t, bool any_live)
{
    t->any_live = any_live;
    t->tick_us = 0;
    t->n_users = 0;
}

enum turn turns_when(const struct turns *t, uint32_t uid)
{
    const struct turn_user *u = user_seen(t, uid);
    if (t->any_live && (u->tick_us >= TICK_USER_US || t->tick_us >= TICK_ALL_US))
        return TURN_TICK;
    return u->turn_us >= TURN_US || t->turn_us >= TURN_ALL_US ? TURN_NEXT : TURN_NOW;
}

void turns_again(struct turns *t, enum turn when)
{
    t->tick_waits |= when == TURN_TICK;
    t->next_waits |= when == TURN_NEXT;
    if (when == TURN_NEXT)
        t->wake(t->wake_arg);
}

void turns_charge(struct turns *t, uint32_t uid, uint64_t us)
{
    struct turn_user *u = user_find(t, uid);
    u->turn_us += (uint32_t) us;
    u->tick_us += (uint32_t) us;
    t->turn_us += (uint32_t) us;
    t->tick_us += (uint32_t) us;
}
