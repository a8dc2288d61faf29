/* SPDX-License-Identifier: MIT */
/* What a session of ports holds beside its lane. */
#include "daemon/serve/session_ports.h"

#include <stdlib.h>
#include <string.h>

#define ALLOCATION_BYTES 16 /* of malloc, beside what was asked for */

size_t session_ports_new_bytes(const Rill__OpenPorts *m)
{
    size_t bytes = sizeof(struct session_ports) + (m->n_want + 1) * sizeof *m->want;
    for (size_t i = 0; i < m->n_want; i++)
        bytes += strlen(m->want[i]) + 1 + ALLOCATION_BYTES;
    return bytes;
}

bool session_ports_new(struct session *s, const Rill__OpenPorts *m)
{
    struct session_ports *p = s->ports = calloc(1, sizeof *p);
    if (!p)
        return false;
    p->bytes = session_ports_new_bytes(m);
    p->want = calloc(m->n_want + 1, sizeof *p->want);
    for (; p->want && p->n_want < m->n_want; p->n_want++)
        if (!(p->want[p->n_want] = strdup(m->want[p->n_want])))
            return false;
    return p->want != NULL;
}

void session_ports_want_free(struct session_ports *p)
{
    for (size_t i = 0; p->want && i < p->n_want; i++)
        free(p->want[i]);
    free(p->want);
    p->want = NULL;
    p->bytes = sizeof *p;
}

void session_ports_free(struct session *s)
{
    if (!s->ports)
        return;
    session_ports_want_free(s->ports);
    free(s->ports->list);
    free(s->ports->command);
    free(s->ports->part);
    free(s->ports);
    s->ports = NULL;
}
