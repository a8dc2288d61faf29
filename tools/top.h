/* SPDX-License-Identifier: MIT */
/* top.h - the table of `rill top`: what the daemon said, what changed since the time before, and
 * lines of text. */
#ifndef TOOLS_TOP_H
#define TOOLS_TOP_H
#include "clients/c/rill_client.h"

#include <stdio.h>

#define TOP_ROWS 64
#define TOP_COLUMNS_MAX 400

struct top_row {
    char name[65], client[64], where[24]; /* where: "conn/stream" of a stream */
    uint32_t serial, streams;             /* serial: of a stream, 0 for a model */
    bool live;
    uint64_t audio_us, compute_us, misses, gap_us; /* since the beginning */
    uint32_t n_times, le_us[RILL_CLIENT_TIMES];
    uint64_t compute_count[RILL_CLIENT_TIMES], queue_count[RILL_CLIENT_TIMES];
    double batch;
    /* What the table shows: of the time since the last look, or of all time at the first; below 0
     * where no pulse tells. */
    double rtf, wait_us, took_us;
    uint64_t new_misses;
};

struct top_look {
    struct rill_client_status status;
    char server[64], state[32];
    uint64_t cpu_us, uptime_us;
    double cpu; /* processors in use since the last look */
    struct top_row models[TOP_ROWS], streams[TOP_ROWS];
    unsigned n_models, n_streams;
};

/* Asks the daemon. before: the last look, NULL at the first. 0 or -1. */
int top_take(struct rill_client *c, struct top_look *ret, const struct top_look *before);

/* Sorts both tables by "rtf", "wait", "compute", "misses", "gaps" or "name"; false if it is none of
 * these. */
bool top_sort(struct top_look *x, const char *key);
const char *top_key_name(char key); /* of a letter that is pressed; NULL: none */

/* At most `lines` lines (0: all) of at most `columns` columns, each ended by `end`. */
void top_print(const struct top_look *x, FILE *to, unsigned columns, unsigned lines,
               const char *sort, const char *end);
#endif
