/* SPDX-License-Identifier: MIT */
/* load.h - from a folder or a file to a plan that has run. On libuv's pool, and in the process that
 * checks a model. */
#ifndef RILL_DAEMON_MODELS_LOAD_H
#define RILL_DAEMON_MODELS_LOAD_H

#include "daemon/models/registry.h"

struct model_found {
    int fd; /* folder or compiled plan; -1: built in. The caller's */
    /* what it is called in messages; the name of what is built in */
    char path[CONF_STR_BYTES + 80];
    uint64_t max_bytes; /* weights and one stream */
    bool wants; /* anything but these bytes is refused, with these words for what they are */
    uint8_t want_sha256[32];
    const char *want_words;
    char opened[80];
    /* what it takes from now on, if nobody else allocated meanwhile; 0: unknown */
    size_t kept_bytes;
    struct model model; /* found: lane, plan_info, info with its texts, error, rtf */
};

/* Opens, plans and runs it: weights, code and state have been touched when it returns. */
rill_status model_find_out(struct model_found *f);

/* Tries a model that is ready out again: shares of a processor. Not on the loop. */
rill_status model_try(const struct model *m, float *ret_rtf, float *ret_wall);

/* So that large blocks always go back to the system when they are freed. At start. */
void memory_setup(void);

/* Loading takes many times what is kept; gives the rest back to the system. */
void memory_return(void);

#endif
