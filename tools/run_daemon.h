/* SPDX-License-Identifier: MIT */
/* run_daemon.h - a model of the daemon on whole arrays, as one stream of its ports. */
#ifndef TOOLS_RUN_DAEMON_H
#define TOOLS_RUN_DAEMON_H
#include "tools/run.h"

struct run_daemon {
    const char *socket, *model;
    const struct opt_list *inputs;
    uint32_t seed;
    const char *out, *reference;
    struct run_tolerance tolerance;
};

/* END: the reference differs, and that was told. *ret_refused: the daemon said no. */
rill_status run_daemon(const struct run_daemon *r, bool *ret_refused, rill_error *reterr);
#endif
