/* SPDX-License-Identifier: MIT */
/* memory.h - accounts of the memory that the daemon holds for its clients, and the rule of who may
 * have more. Memory is reserved, or it is a history, which can be reclaimed. `room` is what the
 * total leaves beside the daemon's own.
 *
 * Reserved memory: an owner gets more of it while it holds no more than what stays free, of `room`
 * what nobody has reserved. So n owners that take all they can have one part in n + 1 each, and
 * there is always something for a later one.
 *
 * Histories fill the rest. They are reclaimed for reserved memory, those of the owner with the most
 * of them first, so they become equally long for all.
 *
 * What the daemon takes for itself is counted and never refused. Loop thread only. */
#ifndef RILL_DAEMON_BASE_MEMORY_H
#define RILL_DAEMON_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_kind {
    MEMORY_CONNECTIONS, /* input buffers */
    MEMORY_QUEUES,      /* output that clients have not read */
    MEMORY_STREAMS,     /* states, rings, resamplers, sinks */
    MEMORY_TOPICS,      /* published streams with the minimum of their histories, subscriptions */
    MEMORY_MODELS,      /* plans with their weights */
    MEMORY_LOADS,       /* what checking and loading a model may take */
    MEMORY_HTTP,        /* requests and responses */
    MEMORY_HISTORIES,   /* beyond their minimum */
    MEMORY_KINDS
};

/* Whom memory is held for. */
enum principal_kind { PRINCIPAL_DAEMON, PRINCIPAL_UID, PRINCIPAL_HTTP };

struct principal {
    enum principal_kind kind;
    uint32_t number; /* of the uid; 0 of others */
};

/* An account; it lives while it is referred to. */
struct owner {
    struct principal who;
    struct owner *next;
    unsigned refs;
    size_t bytes[MEMORY_KINDS], reserved_bytes;
};

struct memory {
    size_t max_bytes;       /* of all */
    size_t owner_max_bytes; /* of one principal, models apart; 0: any */
    size_t uncounted_bytes; /* of the process, which no account counts */
    size_t bytes[MEMORY_KINDS], reserved_bytes;
    size_t freed_bytes; /* since free memory was last returned to the system */
    uint64_t refused, reclaimed_bytes;
    struct owner own; /* the daemon itself */
    struct owner *owners;
    /* Reclaims a chunk of the longest history of o, if that is longer than longer_bytes; returns
     * how many bytes it was. */
    size_t (*reclaim)(void *arg, const struct owner *o, size_t longer_bytes);
    void *arg;
};

enum memory_answer { MEMORY_OK, MEMORY_QUOTA, MEMORY_SHORT };

void memory_init(struct memory *m, size_t max_bytes);
void memory_clear(struct memory *m); /* all accounts must be unused */

/* The account of that principal, with one more reference; NULL without memory. */
struct owner *memory_owner(struct memory *m, struct principal who);
struct owner *memory_ref(struct owner *o);
struct owner *memory_unref(struct memory *m, struct owner *o); /* takes NULL; returns NULL */

/* Charges reserved memory before it is allocated, or says why not. */
enum memory_answer memory_try_charge(struct memory *m, struct owner *o, enum memory_kind k,
                                     size_t bytes);

/* Whether that would be granted now; nothing is charged. */
enum memory_answer memory_would_grant(const struct memory *m, const struct owner *o,
                                      enum memory_kind k, size_t bytes);

/* The most reserved memory that would be granted, apart from the principal's quota. */
size_t memory_room(const struct memory *m, const struct owner *o);

/* Charges reserved memory that is limited elsewhere; never refused. */
void memory_charge(struct memory *m, struct owner *o, enum memory_kind k, size_t bytes);
void memory_uncharge(struct memory *m, struct owner *o, enum memory_kind k, size_t bytes);

/* Charges one more chunk of a history that has so many bytes. False: there is no room for it, and
 * no other history is so much longer that a chunk of it could be reclaimed. */
bool memory_charge_history(struct memory *m, struct owner *o, size_t has_bytes, size_t bytes);

/* Notes what the process has resident beside mapped files, to know what no account counts. Reclaims
 * histories where a total or a quota became smaller. */
void memory_update(struct memory *m, size_t resident_bytes);

size_t memory_used(const struct memory *m); /* counted, of all */
size_t owner_used(const struct owner *o);
const char *memory_kind_name(enum memory_kind k);

#define MEMORY_OWNERS_LISTED 32

/* The largest accounts, the daemon's own first, then the others from the largest down; returns how
 * many. */
size_t memory_largest(const struct memory *m, const struct owner *ret[MEMORY_OWNERS_LISTED]);

#define PRINCIPAL_NAME_BYTES 24

/* "daemon", "uid 1000", "http" */
void principal_name(struct principal p, char *to, size_t n);

/* --- memory_limit.c --- */

/* The least limit on this process's memory that a control group, in the hierarchies under `root`
 * (of /proc and /sys, "" for those of the system), or a resource limit sets; where there is none,
 * half of the machine's memory. */
uint64_t memory_limit(const char *root);

/* Four fifths of that, or what is set. */
size_t memory_total(uint64_t set_bytes);

#endif
