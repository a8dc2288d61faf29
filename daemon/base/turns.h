/* SPDX-License-Identifier: MIT */
/* turns.h - whom the loop works for. What live streams' prices pay for goes first: their audio and
 * their outputs. Everything else that clients cause - files, resets, opening, questions, settings
 * read again - is done in slices of a turn of the loop, each user's and then all of it, so that a
 * live stream's message waits for one slice. While live streams run, there is also a budget for a
 * tick; what is over it waits for the next one. The loop's. */
#ifndef RILL_DAEMON_BASE_TURNS_H
#define RILL_DAEMON_BASE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#define TICK_MS 100        /* the loop looks at everything that often */
#define TURN_US 500        /* of one user in a turn of the loop */
#define TURN_ALL_US 1000   /* of all users */
#define TICK_USER_US 20000 /* of one user in a tick, while live streams run */
#define TICK_ALL_US 40000
#define TURN_USERS 64 /* that are told apart in a tick; all later ones are one */

struct turn_user {
    uint32_t uid;
    uint32_t turn_us, tick_us;
};

struct turns {
    struct turn_user users[TURN_USERS];
    unsigned n_users;
    uint32_t turn_us, tick_us; /* of all */
    bool any_live;
    bool next_waits; /* something waits for the next turn of the loop */
    bool tick_waits; /* for the next tick */
    void (*wake)(void *arg);
    void *wake_arg;
};

/* A turn of the loop ends: it looks what came. */
void turns_poll(struct turns *t);
void turns_tick(struct turns *t, bool any_live);

enum turn { TURN_NOW, TURN_NEXT, TURN_TICK };

/* When work for that user that no price pays may be done: now, in the next turn, or not before the
 * next tick. */
enum turn turns_when(const struct turns *t, uint32_t uid);
void turns_again(struct turns *t, enum turn when); /* the loop goes on then with what waits */
void turns_charge(struct turns *t, uint32_t uid, uint64_t us);

#endif
