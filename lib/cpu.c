/* SPDX-License-Identifier: MIT */
#include "lib/cpu.h"
#include "engine/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned cpu;
} sets[] = { { "c", 0 },
#define X(name, cpu) { #name, cpu },
             KERN_ISAS(X)
#undef X
};

rill_status cpu_choose(uint32_t mask, unsigned *ret, rill_error *reterr)
{
    unsigned cpu = kern_cpu_detect();
    const char *force = getenv("RILL_CPU");
    if (mask) {
        *ret = cpu & mask;
        return RILL_OK;
    }
    *ret = cpu;
    if (!force || !*force)
        return RILL_OK;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(sets[i].name, force)) {
            *ret = cpu & sets[i].cpu;
            return RILL_OK;
        }
    char known[200] = "";
    for (size_t i = 0, at = 0; i < sizeof sets / sizeof *sets && at < sizeof known; i++)
        at += (size_t) snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", sets[i].name);
    return err_set(reterr, RILL_INVALID, "RILL_CPU is '%.40s'; known on this kind of processor: %s",
                   force, known);
}
