/* SPDX-License-Identifier: MIT */
/* vad.h - from a probability per frame to the edges of speech. Speech starts at the first frame of
 * at least `threshold`; it ends after the probability was below `release` for `hangover_samples`. */
#ifndef RILLD_VAD_H
#define RILLD_VAD_H

#include <stdbool.h>
#include <stdint.h>

enum vad_edge { VAD_NONE, VAD_START, VAD_END };

struct vad {
    float threshold, release;
    uint64_t hangover_samples;
    bool speaking, quiet;
    uint64_t quiet_pos;             /* where the present silence began */
};

void vad_init(struct vad *v, float threshold, float release, uint64_t hangover_samples);

/* One frame of [pos, end_pos); positions only grow. */
enum vad_edge vad_step(struct vad *v, uint64_t pos, uint64_t end_pos, float prob);
void vad_reset(struct vad *v);

#endif
