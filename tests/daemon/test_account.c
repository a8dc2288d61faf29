/* SPDX-License-Identifier: MIT */
/* Who may have how much memory, what histories keep when there is too little, and where limits are
 * found. No daemon. */
#include "daemon/serve/history.h"
#include "tests/daemon/harness.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define MB ((size_t) 1 << 20)

/* ---- the rule ---- */

static size_t no_history(void *arg, const struct owner *o, size_t longer_bytes)
{
    (void) arg, (void) o, (void) longer_bytes;
    return 0;
}

static struct owner *user(struct memory *m, uint32_t uid)
{
    return memory_owner(m, (struct principal) { PRINCIPAL_UID, uid });
}

static size_t greed(struct memory *m, struct owner *o, size_t piece)
{
    size_t n = 0;
    while (memory_try_charge(m, o, MEMORY_STREAMS, piece) == MEMORY_OK)
        n += piece;
    return n;
}

static void account_make(struct memory *m, size_t max_bytes)
{
    memory_init(m, max_bytes);
    m->reclaim = no_history;
}

/* However many there are and whatever they took: who comes next gets something, and nobody who asks
 * alongside others has more than they. */
static void test_rule(void)
{
    struct memory m;
    struct owner *list[9];
    account_make(&m, 100 * MB);
    memory_charge(&m, &m.own, MEMORY_MODELS, 10 * MB);
    size_t left = 90 * MB;
    for (uint32_t i = 0; i < 9; i++) {
        list[i] = user(&m, i);
        size_t had = greed(&m, list[i], 4096);
        CHECK(had <= left / 2 && had > left / 2 - 8192, "user %u had %zu of %zu bytes", i, had,
              left);
        left -= had;
    }
    CHECK(memory_used(&m) < 100 * MB && m.refused == 9);
    for (uint32_t i = 0; i < 9; i++) {
        memory_uncharge(&m, list[i], MEMORY_STREAMS, list[i]->bytes[MEMORY_STREAMS]);
        CHECK(user(&m, i) == list[i]); /* there is one account of each */
        memory_unref(&m, list[i]);
    }
    for (bool any = true; any;) /* all at a time */
        for (uint32_t i = any = 0; i < 9; i++)
            any |= memory_try_charge(&m, list[i], MEMORY_QUEUES, 4096) == MEMORY_OK;
    for (uint32_t i = 0; i < 9; i++) {
        CHECK(list[i]->reserved_bytes > 9 * MB - 16384 && list[i]->reserved_bytes <= 9 * MB,
              "user %u has %zu bytes of 90 MB for nine and one", i, list[i]->reserved_bytes);
        memory_uncharge(&m, list[i], MEMORY_QUEUES, list[i]->reserved_bytes);
        memory_unref(&m, list[i]);
    }
    CHECK(!m.owners && m.reserved_bytes == 10 * MB);
}

/* Sizes that no sum of them holds, and totals that became smaller than what is held. */
static void test_edges(void)
{
    struct memory m;
    account_make(&m, 10 * MB);
    struct owner *o = user(&m, 1);
    static const size_t sizes[] = { SIZE_MAX, SIZE_MAX / 2, SIZE_MAX - MB, 5 * MB + 1 };
    for (size_t i = 0; i < 4; i++)
        CHECK(memory_try_charge(&m, o, MEMORY_STREAMS, sizes[i]) == MEMORY_SHORT);
    CHECK(memory_try_charge(&m, o, MEMORY_STREAMS, 5 * MB) == MEMORY_OK &&
          m.reserved_bytes == 5 * MB);
    m.max_bytes = 2 * MB;
    CHECK(memory_room(&m, o) == 0 && memory_try_charge(&m, o, MEMORY_STREAMS, 1) == MEMORY_SHORT &&
          memory_try_charge(&m, o, MEMORY_STREAMS, 0) == MEMORY_OK);
    m.max_bytes = 100 * MB;
    m.owner_max_bytes = 6 * MB;
    CHECK(memory_try_charge(&m, o, MEMORY_STREAMS, MB + 1) == MEMORY_QUOTA &&
          memory_try_charge(&m, o, MEMORY_STREAMS, SIZE_MAX) == MEMORY_QUOTA);
    CHECK(memory_try_charge(&m, o, MEMORY_LOADS, 7 * MB) == MEMORY_OK,
          "models are no part of what one user may have");
    CHECK(memory_try_charge(&m, o, MEMORY_STREAMS, MB) == MEMORY_OK);
    memory_uncharge(&m, o, MEMORY_LOADS, 7 * MB);
    memory_uncharge(&m, o, MEMORY_STREAMS, 6 * MB);
    CHECK(memory_try_charge(&m, &m.own, MEMORY_MODELS, 1000 * MB) == MEMORY_OK,
          "its own is not refused");
    CHECK(memory_try_charge(&m, o, MEMORY_STREAMS, 1) == MEMORY_SHORT);
    memory_uncharge(&m, &m.own, MEMORY_MODELS, 1000 * MB);
    memory_unref(&m, o);
    CHECK(!memory_used(&m) && !m.owners);
}

static void test_largest(void)
{
    struct memory m;
    struct owner *list[80];
    const struct owner *told[MEMORY_OWNERS_LISTED];
    char name[PRINCIPAL_NAME_BYTES];
    account_make(&m, 1000 * MB);
    for (uint32_t i = 0; i < 80; i++) {
        list[i] = user(&m, i);
        memory_charge(&m, list[i], MEMORY_STREAMS, 1000 + (i * 37 + 11) % 80);
    }
    size_t n = memory_largest(&m, told);
    CHECK(n == MEMORY_OWNERS_LISTED && told[0] == &m.own);
    for (size_t i = 1; i < n; i++)
        CHECK(owner_used(told[i]) == 1080 - i, "%zu: %zu", i, owner_used(told[i]));
    principal_name(told[1]->who, name, sizeof name);
    CHECK(!strncmp(name, "uid ", 4));
    memory_clear(&m);
}

/* ---- histories ---- */

#define HISTORIES 4

struct shelf {
    struct memory m;
    struct history histories[HISTORIES];
    uint64_t written[HISTORIES];
};

static size_t shelf_shorten(void *arg, const struct owner *o, size_t longer_bytes)
{
    struct shelf *s = arg;
    for (int i = 0; i < HISTORIES; i++)
        if (s->histories[i].owner == o &&
            history_reclaimable_bytes(&s->histories[i]) > longer_bytes)
            return history_reclaim(&s->histories[i]);
    return 0;
}

static void shelf_make(struct shelf *s, size_t max_bytes, size_t least_bytes, size_t most_bytes)
{
    memset(s, 0, sizeof *s);
    memory_init(&s->m, max_bytes);
    s->m.reclaim = shelf_shorten;
    s->m.arg = s;
    for (uint32_t i = 0; i < HISTORIES; i++) {
        struct history *t = &s->histories[i];
        *t = (struct history) { .memory = &s->m, .owner = user(&s->m, i) };
        CHECK(history_make(t, least_bytes, most_bytes, 4096));
        CHECK(history_bytes(t) == history_min_bytes(least_bytes, most_bytes, 4096) &&
              !history_reclaimable_bytes(t));
        CHECK(memory_try_charge(&s->m, t->owner, MEMORY_TOPICS, history_bytes(t)) == MEMORY_OK);
    }
}

static void shelf_drop(struct shelf *s)
{
    for (int i = 0; i < HISTORIES; i++) {
        struct history *t = &s->histories[i];
        size_t least = history_bytes(t) - history_reclaimable_bytes(t);
        history_drop(t);
        memory_uncharge(&s->m, t->owner, MEMORY_TOPICS, least);
        memory_unref(&s->m, t->owner);
    }
    CHECK(!memory_used(&s->m) && !s->m.owners);
}

/* Entries of changing lengths, each of whose bytes say which it is. */
static void entry_write(struct shelf *s, int i)
{
    uint64_t k = s->written[i]++;
    unsigned char bytes[4096];
    struct history_entry e = { .before = k, .after = k + 1, .bytes = (uint32_t) (k * 7919 % 4097) };
    memset(bytes, (int) (k & 0xff), e.bytes);
    history_append(&s->histories[i], &e, bytes);
}

/* Every entry from the tail to the head is whole and they follow one another; how many. */
static uint64_t entries_check(const struct shelf *s, int i)
{
    const struct history *t = &s->histories[i];
    unsigned char bytes[4096];
    struct history_entry e = { .before = 0 };
    uint64_t n = 0, wrong = 0, next = 0;
    for (uint64_t at = t->tail; at < t->head; at += sizeof e + e.bytes, n++) {
        history_read(t, at, &e, sizeof e);
        history_read(t, at + sizeof e, bytes, e.bytes);
        wrong += (n && e.before != next) || e.bytes != e.before * 7919 % 4097;
        for (size_t k = 0; k < e.bytes; k++)
            wrong += bytes[k] != (e.before & 0xff);
        next = e.before + 1;
    }
    CHECK(!wrong && next == s->written[i], "history %d: %llu wrong, the newest is %llu of %llu", i,
          LLU(wrong), LLU(next), LLU(s->written[i]));
    return n;
}

/* Where there is enough a history keeps its whole length and no more. */
static void test_tape_alone(void)
{
    struct shelf s;
    shelf_make(&s, 100 * MB, 20000, 2 * MB);
    for (int k = 0; k < 5000; k++) {
        entry_write(&s, 0);
        if (k % 501 == 0)
            entries_check(&s, 0);
    }
    const struct history *t = &s.histories[0];
    CHECK(t->head - t->tail >= 2 * MB - 8192 && history_bytes(t) < 2 * MB + 131072 &&
              s.m.bytes[MEMORY_HISTORIES] == history_reclaimable_bytes(t),
          "%zu bytes hold %llu", history_bytes(t), LLU((t->head - t->tail)));
    while (history_reclaim(&s.histories[0]))
        entries_check(&s, 0);
    CHECK(entries_check(&s, 0) > 0 &&
          t->head - t->tail >= 20000 - 4096 - sizeof(struct history_entry));
    for (int k = 0; k < 3000; k++)
        entry_write(&s, 0);
    entries_check(&s, 0);
    shelf_drop(&s);
}

/* Four histories that want twice what there is share it evenly, whoever began; what is firm then
 * makes them shorter, evenly too, and the newest stays. */
static void test_tape_many(void)
{
    struct shelf s;
    struct owner *o;
    shelf_make(&s, 4 * MB, 20000, 2 * MB);
    for (int i = 0; i < HISTORIES; i++) /* one after another */
        for (int k = 0; k < 2000; k++)
            entry_write(&s, i);
    for (int k = 0; k < 2000; k++) /* and on, all of them */
        for (int i = 0; i < HISTORIES; i++)
            entry_write(&s, i);
    for (int i = 0; i < HISTORIES; i++) {
        size_t has = history_bytes(&s.histories[i]);
        CHECK(has > MB - 131072 && has < MB + 131072, "history %d has %zu bytes", i, has);
        entries_check(&s, i);
    }
    CHECK(memory_used(&s.m) <= 4 * MB);
    o = user(&s.m, 99);
    size_t had = greed(&s.m, o, 10000);
    CHECK(had > 3 * MB / 2, "who comes later has %zu bytes", had);
    CHECK(memory_used(&s.m) <= 4 * MB && s.m.reclaimed_bytes > 0);
    for (int i = 0; i < HISTORIES; i++) {
        size_t has = history_bytes(&s.histories[i]);
        CHECK(has < (4 * MB - had) / 4 + 131072 && entries_check(&s, i) > 0, "history %d has %zu",
              i, has);
    }
    s.m.max_bytes = MB; /* a smaller limit from now on */
    memory_update(&s.m, 0);
    CHECK(!s.m.bytes[MEMORY_HISTORIES]);
    for (int k = 0; k < 500; k++)
        for (int i = 0; i < HISTORIES; i++)
            entry_write(&s, i);
    for (int i = 0; i < HISTORIES; i++)
        CHECK(entries_check(&s, i) > 0);
    memory_uncharge(&s.m, o, MEMORY_STREAMS, had);
    memory_unref(&s.m, o);
    shelf_drop(&s);
}

/* One user's histories stay within what one user may have, and give way to his own streams. */
static void test_tape_quota(void)
{
    struct shelf s;
    shelf_make(&s, 100 * MB, 20000, 2 * MB);
    s.m.owner_max_bytes = MB;
    for (int k = 0; k < 3000; k++)
        entry_write(&s, 1);
    struct owner *o = s.histories[1].owner;
    CHECK(owner_used(o) <= MB && owner_used(o) > MB - 131072, "%zu bytes", owner_used(o));
    CHECK(memory_try_charge(&s.m, o, MEMORY_STREAMS, MB / 2) == MEMORY_OK);
    CHECK(owner_used(o) <= MB && entries_check(&s, 1) > 0);
    memory_uncharge(&s.m, o, MEMORY_STREAMS, MB / 2);
    shelf_drop(&s);
}

/* ---- limits of the system ---- */

static char root[] = "/tmp/rilld-limits-XXXXXX";

static void put(const char *path, const char *text)
{
    char name[300], cmd[400];
    snprintf(name, sizeof name, "%s%s", root, path);
    snprintf(cmd, sizeof cmd, "mkdir -p \"$(dirname '%s')\"", name);
    FILE *f = system(cmd) == 0 ? fopen(name, "w") : NULL;
    if (!f)
        give_up("%s: %s", name, strerror(errno));
    fputs(text, f);
    fclose(f);
}

static void limit_is(uint64_t bytes, const char *what)
{
    uint64_t got = memory_limit(root);
    CHECK(got == bytes, "%s: %llu, not %llu", what, LLU(got), LLU(bytes));
}

static void test_limits(void)
{
    uint64_t half = (uint64_t) sysconf(_SC_PHYS_PAGES) * (uint64_t) sysconf(_SC_PAGESIZE) / 2;
    if (!mkdtemp(root))
        give_up("%s: %s", root, strerror(errno));
    limit_is(half, "no groups");
    put("/proc/self/cgroup", "0::/system.slice/rilld.service\n");
    limit_is(half, "a group without files");
    put("/sys/fs/cgroup/system.slice/rilld.service/memory.max", "max\n");
    limit_is(half, "a group without a limit");
    put("/sys/fs/cgroup/system.slice/memory.max", "50000000\n");
    limit_is(50000000, "a limit of the slice");
    put("/sys/fs/cgroup/system.slice/rilld.service/memory.max", "40000000\n");
    limit_is(40000000, "a limit of the service");
    put("/sys/fs/cgroup/system.slice/rilld.service/memory.high", "30000000\n");
    limit_is(30000000, "where it begins to be slowed down");
    put("/proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/a/b\n0::/none\n");
    put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    limit_is(half, "version 1 without a limit");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "20000000\n");
    limit_is(20000000, "version 1, a limit of the root");
    put("/proc/self/cgroup", "garbage\n:::\n4:memory\n4:memory:\n\n");
    limit_is(20000000, "lines that say little");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "99999999999999\n");
    limit_is(2 * half, "more than the machine has");
    CHECK(memory_total(12345678) == 12345678 && memory_total(0) == memory_limit("") / 5 * 4);
    char cmd[100];
    snprintf(cmd, sizeof cmd, "rm -r %s", root);
    CHECK(system(cmd) == 0);
}

int main(void)
{
    test_rule();
    test_edges();
    test_largest();
    test_tape_alone();
    test_tape_many();
    test_tape_quota();
    test_limits();
    return check_end();
}
