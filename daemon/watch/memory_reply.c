/* SPDX-License-Identifier: MIT */
/* The accounts of memory as a message. */
#include "daemon/watch/memory_reply.h"
#include "daemon/base/memory.h"
#include "daemon/net/conn.h"
#include "daemon/serve/daemon.h"

struct sums_message {
    Rill__MemorySum list[MEMORY_KINDS], *pointers[MEMORY_KINDS];
};

struct owner_message {
    Rill__MemoryOwner owner;
    struct sums_message sums;
    char who[PRINCIPAL_NAME_BYTES];
};

/* Fills in the kinds that are not zero; returns their number. */
static size_t sums_fill(struct sums_message *x, const size_t bytes[MEMORY_KINDS])
{
    size_t n = 0;
    for (enum memory_kind k = 0; k < MEMORY_KINDS; k++) {
        if (!bytes[k])
            continue;
        rill__memory_sum__init(&x->list[n]);
        x->list[n].of = (char *) (uintptr_t) memory_kind_name(k);
        x->list[n].bytes = bytes[k];
        x->pointers[n] = &x->list[n];
        n++;
    }
    return n;
}

static void owner_fill(struct owner_message *x, const struct owner *o)
{
    rill__memory_owner__init(&x->owner);
    principal_name(o->who, x->who, sizeof x->who);
    x->owner.who = x->who;
    x->owner.bytes = owner_used(o);
    x->owner.sums = x->sums.pointers;
    x->owner.n_sums = sums_fill(&x->sums, o->bytes);
}

void memory_reply(struct conn *c, uint32_t req)
{
    const struct memory *m = c->daemon->memory;
    const struct owner *list[MEMORY_OWNERS_LISTED];
    struct owner_message owners[MEMORY_OWNERS_LISTED];
    Rill__MemoryOwner *pointers[MEMORY_OWNERS_LISTED];
    struct sums_message sums;
    Rill__MemoryReply a = RILL__MEMORY_REPLY__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.max_bytes = m->max_bytes;
    a.used_bytes = memory_used(m);
    a.rest_bytes = m->uncounted_bytes;
    a.refused = m->refused;
    a.shortened_bytes = m->reclaimed_bytes;
    a.sums = sums.pointers;
    a.n_sums = sums_fill(&sums, m->bytes);
    a.owners = pointers;
    a.n_owners = memory_largest(m, list);
    for (size_t i = 0; i < a.n_owners; i++) {
        owner_fill(&owners[i], list[i]);
        pointers[i] = &owners[i].owner;
    }
    f.m_case = RILL__SERVER_FRAME__M_CTL_MEMORY;
    f.ctl_memory = &a;
    while (a.n_owners && !conn_takes(c, &f))
        a.n_owners--;
    conn_send(c, req, &f);
}
