/* SPDX-License-Identifier: MIT */
/* check.h - tries a model out in a process of its own before this one reads it.
 *
 * The process is this program again, with --check-model: it gives itself limits, opens the model,
 * plans it, runs noise through it and says how that went. What it says is hostile input: bytes of a
 * fixed size, read once. */
#ifndef RILL_DAEMON_MODELS_CHECK_H
#define RILL_DAEMON_MODELS_CHECK_H

#include <rill.h>

#include <stdatomic.h>
#include <stdbool.h>

struct check {
    int fd;                   /* the folder or file */
    const char *name;         /* for messages */
    uint64_t max_model_bytes; /* as rill_plan_opts */
    uint64_t memory_bytes;    /* address space */
    uint32_t cpu_s, timeout_s;
    const atomic_bool *stop; /* gives up; read ten times a second */
    uint64_t kept_bytes;     /* set: what it takes when it is loaded */
    bool passes;             /* set: no process could be had, which may pass */
};

/* OK and the digest of what was checked, or why not: what the library said, or what became of the
 * process. */
rill_status check_model(struct check *c, uint8_t ret_sha256[32], rill_error *reterr);

/* The other side; exit code. argv: --check-model, what the model is called and four numbers. */
int check_main(int argc, char **argv);

#endif
