/* SPDX-License-Identifier: MIT */
/* slices.h - fair time slices of the loop. Audio and outputs of live streams, which admission
 * control has accounted for, are handled at once. Everything else that clients cause (files,
 * resets, opening, questions, reloads) gets a slice of an iteration of the loop, for each user and
 * for all of them, so that a live stream's message waits for one slice at most. While live streams
 * run there is also a budget for each tick; work over it waits for the next tick. Loop thread only.
 */
#ifndef RILL_DAEMON_BASE_SLICES_H
#define RILL_DAEMON_BASE_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#define TICK_MS 100        /* period of the loop's timer */
#define SLICE_US 500       /* of one user in an iteration of the loop */
#define SLICE_ALL_US 1000  /* of all users */
#define TICK_USER_US 20000 /* of one user in a tick, while live streams run */
#define TICK_ALL_US 40000
#define SLICE_USERS_MAX 64 /* counted apart in a tick; all later ones share the last place */

struct slice_user {
    uint32_t uid;
    uint32_t iteration_us, tick_us;
};

struct slices {
    struct slice_user users[SLICE_USERS_MAX];
    unsigned n_users;
    uint32_t iteration_us, tick_us; /* of all */
    bool any_live;
    bool iteration_pending; /* work waits for the next iteration of the loop */
    bool tick_pending;      /* for the next tick */
    void (*wake)(void *arg);
    void *wake_arg;
};

/* An iteration ends: the loop polls. */
void slices_next_iteration(struct slices *t);
void slices_tick(struct slices *t, bool any_live);

enum slice { SLICE_NOW, SLICE_NEXT_ITERATION, SLICE_NEXT_TICK };

/* When work for that user may be done: now, in the next iteration, or not before the next tick. */
enum slice slices_when(const struct slices *t, uint32_t uid);
void slices_resume(struct slices *t, enum slice when); /* work waits until then */
void slices_charge(struct slices *t, uint32_t uid, uint64_t us);

#endif
