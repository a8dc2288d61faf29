/* SPDX-License-Identifier: MIT */
/* ctl.h - what the verbs of `rill ctl` share. A verb returns an exit code, or -1 where the client
 * says why. */
#ifndef TOOLS_CTL_H
#define TOOLS_CTL_H
#include "clients/c/rill_client.h"
#include "tools/tool.h"

#include <jansson.h>

struct ctl {
    const struct command *cmd;
    struct rill_client *c;
    const char *arg; /* of the verb, NULL if absent */
    json_t *json;    /* the answer, where JSON is wanted */
    int64_t grace_ms;
    unsigned n_seen; /* sessions, pulses, steps */
    bool wait, profile;
};

/* ctl_figures.c */
int ctl_health(struct ctl *x);
int ctl_memory(struct ctl *x);
int ctl_metrics(struct ctl *x);
int ctl_sessions(struct ctl *x);
int ctl_stats(struct ctl *x);
int ctl_status(struct ctl *x);
int ctl_worst(struct ctl *x);
#endif
