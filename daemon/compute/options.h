/* SPDX-License-Identifier: MIT */
/* options.h - OpenStream.opt: what a client changes of the way in which a stream's outputs are
 * read. */
#ifndef RILL_DAEMON_COMPUTE_OPTIONS_H
#define RILL_DAEMON_COMPUTE_OPTIONS_H

#include <rill.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MAX 16

/* Zero: nothing is changed. */
struct stream_options {
    uint32_t given; /* a bit an option */
    double value[OPTIONS_MAX];
};

/* False: no option of that name, or its value is out of range. Later ones count. */
bool option_take(struct stream_options *o, const char *key, const char *value);

/* The value of an option; or otherwise, where it was not given. */
double option_or(const struct stream_options *o, const char *key, double otherwise);

/* Changes what the options say about outputs of sink->kind. Options of a detector's edges (vad_...)
 * are the caller's. */
void options_apply(const struct stream_options *o, rill_sink_opts *sink);

/* All options with their ranges, for people. */
void options_list(char *buf, size_t cap);

#endif
