/* SPDX-License-Identifier: MIT */
/* check.h - checks a model in a process of its own before this one reads it.
 * The child is this program with --check-model: it sets its own limits, opens the model, plans it,
 * runs it on noise and reports the result. The report is untrusted input: bytes of a fixed size,
 * read once. */
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
    const atomic_bool *stop; /* cancels the check; read ten times a second */
    uint64_t kept_bytes;     /* result: what it takes when it is loaded */
    bool is_transient;       /* result: no process could be started, which may work later */
};

/* OK and the digest of what was checked, or the library's error, or what became of the child. */
rill_status check_model(struct check *c, uint8_t ret_sha256[32], rill_error *reterr);

/* The child; returns its exit code. argv: --check-model, the model's name and four numbers. */
int check_main(int argc, char **argv);

#endif
