/* SPDX-License-Identifier: MIT */
/* What can compute plans: a row each. */
#include "engine/base/err.h"
#include <rill.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static rill_status cpu_check(rill_error *err)
{
    (void) err;
    return RILL_OK;
}

/* The devices that drivers of accelerators make. */
static rill_status gpu_check(rill_error *err)
{
    static const char *const devices[] = { "/dev/nvidiactl", "/dev/kfd", "/dev/dri/renderD128" };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (access(devices[i], F_OK) == 0)
            return err_set(err, RILL_UNSUPPORTED,
                           "there is %s, but this library computes on the processor "
                           "alone; use cpu, or gpu-or-cpu",
                           devices[i]);
    return err_set(err, RILL_UNSUPPORTED,
                   "none of %s, %s and %s is there, and this library computes on the "
                   "processor alone; use cpu, or gpu-or-cpu",
                   devices[0], devices[1], devices[2]);
}

/* computes: what does where the check says so; fallback: where it does not; NULL: nothing. */
static const struct runtime {
    const char *name, *alias, *computes, *fallback;
    rill_status (*check)(rill_error *err);
} runtimes[] = {
    { "cpu", "default", "cpu", NULL, cpu_check },
    { "gpu", NULL, "gpu", NULL, gpu_check },
    { "gpu-or-cpu", NULL, "gpu", "cpu", gpu_check },
};

#define N_RUNTIMES (sizeof runtimes / sizeof *runtimes)

const char *rill_runtime_name(unsigned n)
{
    return n < N_RUNTIMES ? runtimes[n].name : NULL;
}

static rill_status runtime_unknown(const char *name, rill_error *err)
{
    char known[160] = "";
    for (size_t i = 0; i < N_RUNTIMES; i++) {
        const struct runtime *r = &runtimes[i];
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s%s%s%s", i ? ", " : "", r->name,
                 r->alias ? " (" : "", r->alias ? r->alias : "", r->alias ? ")" : "");
    }
    return err_set(err, RILL_INVALID, "there is no runtime '%.40s'; there are %s", name, known);
}

rill_status rill_runtime_check(const char *name, const char **ret, rill_error *reterr)
{
    const struct runtime *r = name ? NULL : &runtimes[0];
    for (size_t i = 0; !r && i < N_RUNTIMES; i++)
        if (!strcmp(name, runtimes[i].name) ||
            (runtimes[i].alias && !strcmp(name, runtimes[i].alias)))
            r = &runtimes[i];
    if (!r)
        return runtime_unknown(name, reterr);
    rill_status s = r->check(r->fallback ? NULL : reterr);
    if (s != RILL_OK && !r->fallback)
        return s;
    if (ret)
        *ret = s == RILL_OK ? r->computes : r->fallback;
    return RILL_OK;
}
