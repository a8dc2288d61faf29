/* SPDX-License-Identifier: MIT */
/* crew.h - threads that help another one with a piece of work that was divided before.
 *
 * Who has the work calls crew_run and takes shares of it himself, as does each helper that is
 * there: a share is taken by one compare-and-swap, so a helper that comes late, or not at all (it
 * waits for a processor, it was left behind by fork), is waited for only where it has a share in
 * its hands. A crew does one piece of work at a time: whoever finds it at work is told so and does
 * his own alone.
 *
 * Helpers without work look for it for a while (`spin_us`) and sleep then. The only system calls of
 * crew_run are the wake-up of helpers that sleep, and a wait for a share that a helper has not
 * given back after some thousand looks. */
#ifndef RILL_ENGINE_BASE_CREW_H
#define RILL_ENGINE_BASE_CREW_H
#include "engine/base/err.h"

#include <stdbool.h>

#define CREW_THREADS_MAX 16 /* with the one who has the work */

struct crew;

/* threads: 1 .. CREW_THREADS_MAX. The helpers block all signals and have the scheduling, priority
 * and processors of the thread that calls this. Owned by the caller. NOMEM: memory, or the system
 * has no thread left. */
rill_status crew_new(struct crew **ret, unsigned threads, unsigned spin_us, rill_error *reterr);

/* Ends the helpers and waits for them; nobody is in crew_run. In a child of fork, where there are
 * none, it only frees. Takes and returns NULL. */
struct crew *crew_free(struct crew *c);

unsigned crew_threads(const struct crew *c);

/* Calls share(arg, i) once for each i < n, n <= CREW_THREADS_MAX, on any of the threads, and
 * returns when all are done. False: it is at work for somebody else, and nothing was called.
 * Real-time safe but for the system calls above. */
bool crew_run(struct crew *c, void (*share)(void *arg, unsigned i), void *arg, unsigned n);
#endif
