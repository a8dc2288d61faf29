/* SPDX-License-Identifier: MIT */
/* load.h - opens a model, plans it and runs it once. Called on threads of their own, and in the
 * child that checks a model. */
#ifndef RILL_DAEMON_MODELS_LOAD_H
#define RILL_DAEMON_MODELS_LOAD_H

#include "daemon/models/registry.h"

struct model_load_request {
    int fd; /* folder or compiled plan; -1: built in. The caller's */
    /* its name in messages; of a built-in one its own */
    char path[CONF_STR_BYTES + 80];
    uint64_t max_bytes; /* weights and one stream */
    bool wants; /* any other digest is refused; want_words says in the message where the digest is
                   from */
    uint8_t want_sha256[32];
    const char *want_words;
    /* Share a pulse that would take more than late_share of its length; NULL: none do. */
    rill_pool *pool;
    double late_share;
    char opened[80];
    /* result: what it takes in memory, if no other thread allocated meanwhile; 0: unknown */
    size_t kept_bytes;
    struct model model; /* result: lane, plan_info, info with its strings, error, rtf */
};

/* Opens, plans and runs it: its pages have been touched when it returns. */
rill_status model_load(struct model_load_request *f);

/* Measures a model that is ready again: shares of a processor. Not on the loop thread. */
rill_status model_probe(const struct model *m, float *ret_rtf, float *ret_wall);

/* Makes malloc return large blocks to the system whenever they are freed. At start, before there
 * are threads that load. */
void memory_setup(void);

/* Returns free memory to the system: loading takes many times what is kept. */
void memory_return(void);

#endif
