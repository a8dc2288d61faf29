/* SPDX-License-Identifier: MIT */
#include "daemon/serve/claim.h"
#include "daemon/models/registry.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/meter.h"
#include "daemon/serve/session.h"

/* The client at the other end of a Unix socket runs on this machine, and works as much for a
 * message as the loop does. */
#define PEER_SHARE 1

double pulse_ns_of(const struct model *m)
{
    if (m->lane.rate)
        return 1e9 * m->lane.pulse_samples / m->lane.rate;
    return m->lane.is_timed ? 1e3 * m->lane.pulse_us : 1e9;
}

double spread_of(const struct model *m)
{
    return m->lane.threads > 1 ? (double) m->lane.spread : 1;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

struct claim claim_price(const struct daemon *d, const struct model *m)
{
    return (struct claim) { .compute = (double) m->rtf,
                            .loop = (double) d->metering->pulse_cost.price / pulse_ns_of(m) };
}

struct claim claim_of(const struct session *s)
{
    struct claim c = claim_price(s->daemon, s->model);
    return (struct claim) { .compute = larger(c.compute, s->used.compute),
                            .loop = larger(c.loop, s->used.loop) };
}

double claim_all(struct claim c)
{
    return c.compute + c.loop * (1 + PEER_SHARE);
}
