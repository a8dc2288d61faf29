/* SPDX-License-Identifier: MIT */
/* align.h - lays what an output gives beside the input, as rill_port_align says. */
#ifndef TOOLS_ALIGN_H
#define TOOLS_ALIGN_H
#include <rill.h>

#include <stdbool.h>

struct align {
    uint64_t silence_frames, skip_frames, left_frames;
    uint32_t width;
    bool (*write)(void *arg, const float *x, size_t n_frames);
    void *arg;
};

/* For input_samples of input; is_late: as late as the model is, and so much longer. The caller sets
 * write and arg. */
void align_begin(struct align *a, const rill_port *p, uint64_t input_samples, bool is_late);

/* Frames as they are pulled, and their end: what is missing then is silence. false: a write
 * failed. */
bool align_push(struct align *a, const float *x, size_t n_frames);
bool align_finish(struct align *a);
#endif
