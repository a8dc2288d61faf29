/* SPDX-License-Identifier: MIT */
#include "daemon/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

void memory_init(struct memory *m, size_t max_bytes)
{
    *m = (struct memory) { .max_bytes = max_bytes, .own = { .who = { PRINCIPAL_DAEMON, 0 } } };
}

void memory_clear(struct memory *m)
{
    while (m->owners) {
        struct owner *o = m->owners;
        m->owners = o->next;
        free(o);
    }
}

/* ---- owners ---- */

struct owner *memory_ref(struct owner *o)
{
    o->refs++;
    return o;
}

struct owner *memory_owner(struct memory *m, struct principal who)
{
    if (who.kind == PRINCIPAL_DAEMON)
        return memory_ref(&m->own);
    for (struct owner *o = m->owners; o; o = o->next)
        if (o->who.kind == who.kind && o->who.number == who.number)
            return memory_ref(o);
    struct owner *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->who = who;
    o->next = m->owners;
    m->owners = o;
    return memory_ref(o);
}

struct owner *memory_unref(struct memory *m, struct owner *o)
{
    if (!o || --o->refs || o == &m->own)
        return NULL;
    struct owner **at = &m->owners;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    free(o);
    return NULL;
}

/* ---- limits ---- */

/* 0 where b is more */
static size_t minus(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* For all owners, reserved and histories. */
static size_t room(const struct memory *m)
{
    return minus(minus(m->max_bytes, m->uncounted_bytes), m->own.reserved_bytes);
}

static size_t reserved_of_others(const struct memory *m)
{
    return m->reserved_bytes - m->own.reserved_bytes;
}

/* Models serve all users, so they do not count against the quota of one. */
static bool is_bound(enum memory_kind k)
{
    return k != MEMORY_MODELS && k != MEMORY_LOADS;
}

static size_t quota_left(const struct memory *m, const struct owner *o, bool histories)
{
    size_t held = owner_used(o) - o->bytes[MEMORY_MODELS] - o->bytes[MEMORY_LOADS] -
        (histories ? 0 : o->bytes[MEMORY_HISTORIES]);
    return m->owner_max_bytes ? minus(m->owner_max_bytes, held) : SIZE_MAX;
}

size_t memory_room(const struct memory *m, const struct owner *o)
{
    size_t free_bytes = minus(room(m), reserved_of_others(m));
    return o == &m->own ? SIZE_MAX : minus(free_bytes, o->reserved_bytes) / 2;
}

enum memory_answer memory_would_grant(const struct memory *m, const struct owner *o,
                                      enum memory_kind k, size_t bytes)
{
    return o == &m->own                                  ? MEMORY_OK
        : is_bound(k) && bytes > quota_left(m, o, false) ? MEMORY_QUOTA
        : bytes > memory_room(m, o)                      ? MEMORY_SHORT
                                                         : MEMORY_OK;
}

size_t memory_used(const struct memory *m)
{
    return m->reserved_bytes + m->bytes[MEMORY_HISTORIES];
}

size_t owner_used(const struct owner *o)
{
    return o->reserved_bytes + o->bytes[MEMORY_HISTORIES];
}

/* ---- charging ---- */

static void count_add(struct memory *m, struct owner *o, enum memory_kind k, size_t bytes)
{
    size_t firm = k == MEMORY_HISTORIES ? 0 : bytes;
    m->bytes[k] += bytes;
    o->bytes[k] += bytes;
    m->reserved_bytes += firm;
    o->reserved_bytes += firm;
}

static const struct owner *longest_find(const struct memory *m)
{
    const struct owner *best = &m->own;
    for (const struct owner *o = m->owners; o; o = o->next)
        if (o->bytes[MEMORY_HISTORIES] > best->bytes[MEMORY_HISTORIES])
            best = o;
    return best;
}

/* Reclaims a chunk of a history of o. */
static bool reclaim(struct memory *m, const struct owner *o, size_t longer_bytes)
{
    size_t bytes = o->bytes[MEMORY_HISTORIES] ? m->reclaim(m->arg, o, longer_bytes) : 0;
    m->reclaimed_bytes += bytes;
    return bytes;
}

/* By how much all that is held and `more` exceed the room. */
static size_t over(const struct memory *m, size_t more)
{
    return minus(reserved_of_others(m) + m->bytes[MEMORY_HISTORIES] + more, room(m));
}

/* Reclaims histories until o is within its quota and all are within the room. */
static void histories_fit(struct memory *m, const struct owner *o)
{
    while (!quota_left(m, o, true) && reclaim(m, o, 0))
        ;
    while (over(m, 0) && reclaim(m, longest_find(m), 0))
        ;
}

void memory_charge(struct memory *m, struct owner *o, enum memory_kind k, size_t bytes)
{
    count_add(m, o, k, bytes);
    if (m->bytes[MEMORY_HISTORIES])
        histories_fit(m, o);
}

enum memory_answer memory_try_charge(struct memory *m, struct owner *o, enum memory_kind k,
                                     size_t bytes)
{
    enum memory_answer a = memory_would_grant(m, o, k, bytes);
    if (a == MEMORY_OK)
        memory_charge(m, o, k, bytes);
    else
        m->refused++;
    return a;
}

void memory_uncharge(struct memory *m, struct owner *o, enum memory_kind k, size_t bytes)
{
    size_t firm = k == MEMORY_HISTORIES ? 0 : bytes;
    m->bytes[k] -= bytes;
    o->bytes[k] -= bytes;
    m->reserved_bytes -= firm;
    o->reserved_bytes -= firm;
    m->freed_bytes += bytes;
}

/* ---- histories ---- */

bool memory_charge_history(struct memory *m, struct owner *o, size_t has_bytes, size_t bytes)
{
    size_t longer_bytes = has_bytes + 2 * bytes;
    while (bytes > quota_left(m, o, true))
        if (!reclaim(m, o, longer_bytes))
            return false;
    while (over(m, bytes)) {
        const struct owner *x = longest_find(m);
        bool other = x->bytes[MEMORY_HISTORIES] >= o->bytes[MEMORY_HISTORIES] + 2 * bytes;
        if (!reclaim(m, other ? x : o, other ? 0 : longer_bytes))
            return false;
    }
    count_add(m, o, MEMORY_HISTORIES, bytes);
    return true;
}

/* ---- the process ---- */

/* Sanitizers keep shadow memory and freed blocks resident. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RESIDENT_IS_KNOWN 0
#else
#define RESIDENT_IS_KNOWN 1
#endif
#define UNCOUNTED_DEFAULT_BYTES ((size_t) 8 << 20)

void memory_update(struct memory *m, size_t resident_bytes)
{
    size_t held = memory_used(m);
    m->uncounted_bytes = RESIDENT_IS_KNOWN ? minus(resident_bytes, held) : UNCOUNTED_DEFAULT_BYTES;
    for (const struct owner *o = m->owners; o && m->bytes[MEMORY_HISTORIES]; o = o->next)
        histories_fit(m, o);
}

/* ---- reports ---- */

size_t memory_largest(const struct memory *m, const struct owner *ret[MEMORY_OWNERS_LISTED])
{
    size_t n = 1;
    ret[0] = &m->own;
    for (const struct owner *o = m->owners; o; o = o->next) {
        size_t at = n;
        for (; at > 1 && owner_used(ret[at - 1]) < owner_used(o); at--)
            if (at < MEMORY_OWNERS_LISTED)
                ret[at] = ret[at - 1];
        if (at < MEMORY_OWNERS_LISTED)
            ret[at] = o;
        n += n < MEMORY_OWNERS_LISTED;
    }
    return n;
}

const char *memory_kind_name(enum memory_kind k)
{
    /* clang-format off */
    static const char *const names[] = {
        [MEMORY_CONNECTIONS] = "connections", [MEMORY_QUEUES] = "queues",
        [MEMORY_STREAMS] = "streams",         [MEMORY_TOPICS] = "topics",
        [MEMORY_MODELS] = "models",           [MEMORY_LOADS] = "loads",
        [MEMORY_HTTP] = "http",               [MEMORY_HISTORIES] = "histories",
    };
    /* clang-format on */
    return names[k];
}

void principal_name(struct principal p, char *to, size_t n)
{
    static const char *const names[] = { "daemon", "uid", "http" };
    if (p.kind == PRINCIPAL_UID)
        snprintf(to, n, "uid %u", p.number);
    else
        snprintf(to, n, "%s", names[p.kind]);
}
