/* SPDX-License-Identifier: MIT */
/* memory.h - one account of what the daemon holds and for whom, and one rule for who may have more.
 *
 * What is counted is firm, or a history, which gives way. With `room` for what the total leaves
 * beside the daemon's own:
 *     firm memory   an owner gets more of it while it holds no more than stays free of it for all
 *                   others: of `room`, what nobody has firmly. So n who take all they can have one
 *                   part in n + 1 each, and there is always something for one who comes later.
 *     histories     fill what is left; for anything firm they shrink, those of who has the most of
 *                   them first. They are as long for one as for another where there is too little.
 * The daemon's own asks are counted and never refused. Loop thread only. */
#ifndef RILL_DAEMON_BASE_MEMORY_H
#define RILL_DAEMON_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_kind {
    MEMORY_CONNECTIONS, /* buffers of what comes */
    MEMORY_QUEUES,      /* what waits to be read by clients */
    MEMORY_STREAMS,     /* states, rings, resamplers, sinks */
    MEMORY_TOPICS,      /* published streams with the least of their histories, subscriptions */
    MEMORY_MODELS,      /* plans with their weights */
    MEMORY_LOADS,       /* what models that are being checked and loaded may take meanwhile */
    MEMORY_HTTP,        /* requests and pages */
    MEMORY_HISTORIES,   /* all but the least */
    MEMORY_KINDS
};

/* Whom memory is held for. */
enum principal_kind { PRINCIPAL_DAEMON, PRINCIPAL_UID, PRINCIPAL_HTTP };

struct principal {
    enum principal_kind kind;
    uint32_t number; /* of the uid; 0 of others */
};

/* An account: there while somebody refers to it or memory is held for it. */
struct owner {
    struct principal who;
    struct owner *next;
    unsigned refs;
    size_t bytes[MEMORY_KINDS], firm_bytes;
};

struct memory {
    size_t max_bytes;       /* of all */
    size_t owner_max_bytes; /* of one principal, models apart; 0: any */
    size_t rest_bytes;      /* that the process has beside what is counted */
    size_t bytes[MEMORY_KINDS], firm_bytes;
    size_t given_bytes; /* back, since the system last got what is free */
    uint64_t refused, shortened_bytes;
    struct owner own; /* the daemon itself */
    struct owner *owners;
    /* Makes the longest history of o shorter by a piece, if it is longer than that; how many bytes
     * that gave back. */
    size_t (*shorten)(void *arg, const struct owner *o, size_t longer_bytes);
    void *arg;
};

enum memory_answer { MEMORY_OK, MEMORY_QUOTA, MEMORY_SHORT };

void memory_init(struct memory *m, size_t max_bytes);
void memory_clear(struct memory *m); /* nobody holds anything any more */

/* The account of who, with one more reference; NULL without memory. */
struct owner *memory_owner(struct memory *m, struct principal who);
struct owner *memory_ref(struct owner *o);
struct owner *memory_unref(struct memory *m, struct owner *o); /* takes NULL; returns NULL */

/* Counts firm memory before it is allocated, or says why not. */
enum memory_answer memory_ask(struct memory *m, struct owner *o, enum memory_kind k, size_t bytes);

/* Whether that would be granted now; nothing is counted. */
enum memory_answer memory_would(const struct memory *m, const struct owner *o, enum memory_kind k,
                                size_t bytes);

/* The most firm memory that would be granted, apart from what one principal may have. */
size_t memory_room(const struct memory *m, const struct owner *o);

/* Counts firm memory that is bounded elsewhere, whatever there is. */
void memory_take(struct memory *m, struct owner *o, enum memory_kind k, size_t bytes);
void memory_give(struct memory *m, struct owner *o, enum memory_kind k, size_t bytes);

/* Counts a piece more of a history that has so many bytes. False: there is no room for it, and no
 * other is so much longer that a piece of that could go. */
bool memory_history(struct memory *m, struct owner *o, size_t has_bytes, size_t bytes);

/* What the process has in memory, beside mapped files: what is not counted is used all the same.
 * Shrinks histories where a total or a limit became smaller. */
void memory_look(struct memory *m, size_t resident_bytes);

size_t memory_used(const struct memory *m); /* counted, of all */
size_t owner_used(const struct owner *o);
const char *memory_kind_name(enum memory_kind k);

#define MEMORY_OWNERS_TOLD 32

/* Those who have the most, the most first, and the daemon itself before them; how many. */
size_t memory_largest(const struct memory *m, const struct owner *ret[MEMORY_OWNERS_TOLD]);

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
