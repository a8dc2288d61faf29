/* SPDX-License-Identifier: MIT */
/* quality.h - what was done to a recording, where it is known without its noise. */
#ifndef TOOLS_QUALITY_H
#define TOOLS_QUALITY_H
#include "rill.h"

#include <jansson.h>

#define QUALITY_HELP                                                                               \
    "IN without its noise, sample by sample: prints SI-SDR before and after, and the share of "    \
    "the speech that is kept"

struct quality {
    const char *clean_path;
    float *noisy, *clean; /* mono, n samples each; NULL: nothing was opened */
    size_t n;
    int rate_hz;
    double before_db, after_db; /* SI-SDR against the clean recording; infinite where it is it */
    double kept;                /* of the speech, 0 to 1 */
};

/* Reads both, which must be of one rate and length. */
rill_status quality_open(struct quality *q, const char *in, const char *clean, rill_error *reterr);
void quality_close(struct quality *q);

/* y: the output as it is written (audio_write), n_y samples from the same instant on.
 *
 * Kept: output = a * speech + b * noise is solved for pieces of 500 Hz by eight windows; a, from 0
 * to 1, is averaged over the pieces in which there is speech, weighted with its amplitude. 1 for
 * what is left as it is, however noisy; 0 for silence, and for audio that lies elsewhere. */
void quality_measure(struct quality *q, const float *y, size_t n_y);

void quality_print(const struct quality *q);
void quality_add_json(const struct quality *q, json_t *to);
#endif
