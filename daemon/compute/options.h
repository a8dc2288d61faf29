/* SPDX-License-Identifier: MIT */
/* options.h - OpenStream.opt: options of sinks that a client sets for its stream. */
#ifndef RILL_DAEMON_COMPUTE_OPTIONS_H
#define RILL_DAEMON_COMPUTE_OPTIONS_H

#include <rill.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MAX 16
#define OPTION_TEXTS 2

/* Zero: none is set. */
struct stream_options {
    uint32_t given; /* a bit for each option */
    double value[OPTIONS_MAX];
    const char
        *text[OPTION_TEXTS]; /* NULL: not set; the client's message has it, or options_keep */
    bool is_kept;
};

/* False: no option of that name, or its value is out of range. The last value of a key counts. */
bool option_take(struct stream_options *o, const char *key, const char *value);

/* Copies the texts, which options_drop frees; false without memory. */
bool options_keep(struct stream_options *o);
void options_drop(struct stream_options *o);
size_t options_text_bytes(const struct stream_options *o); /* of those copies */

/* The value of an option, or `otherwise` if it was not set. */
double option_or(const struct stream_options *o, const char *key, double otherwise);

/* Sets those that belong to sinks of sink->kind. Those of a detector (vad_...) are applied by the
 * caller, with option_or. */
void options_apply(const struct stream_options *o, rill_sink_opts *sink);

/* Whether a transducer alone can do what is asked: hotwords, an lm, a penalty on the blank. */
bool options_want_transducer(const struct stream_options *o);

/* All options with their ranges, for messages. */
void options_list(char *buf, size_t cap);

#endif
