/* SPDX-License-Identifier: MIT */
/* lifecycle.h - where the daemon is between its start and its end. Loop thread only. */
#ifndef RILL_DAEMON_BASE_LIFECYCLE_H
#define RILL_DAEMON_BASE_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

struct lifecycle {
    char conf_path[512];
    bool conf_may_miss;
    char instance_id[33];
    uint64_t started_us, started_wall_us;
    uint64_t tick_us; /* when the last tick began */
    int preloads_left;
    bool ready;              /* all models of models.preload are loaded */
    bool draining;           /* opens nothing new; until drain_until_us streams may finish */
    bool stopping;           /* connections are being closed */
    uint64_t drain_until_us; /* while draining */
    int exit_code;
};

#endif
