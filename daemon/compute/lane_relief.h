/* SPDX-License-Identifier: MIT */
/* lane_relief.h - a live lane that the model does not run for, while there is too little compute.
 * Where audio comes out, what came in goes past the model, as late as the model's answer would be
 * (or silence, which is as late), and each edge is a cross-fade; the number of samples stays the
 * same. Elsewhere what comes in is dropped. The model starts afresh after it. All but making is the
 * worker's. */
#ifndef RILL_DAEMON_COMPUTE_LANE_RELIEF_H
#define RILL_DAEMON_COMPUTE_LANE_RELIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a relieved lane does. */
enum lane_relief { RELIEF_NONE, RELIEF_BYPASS, RELIEF_SILENCE, RELIEF_SKIP };

struct lane;
struct lane_rec;

/* Counts are samples at the model's rate since the segment began: `answered` of the port for audio,
 * as if the model had run all the time. */
struct relief {
    bool on;     /* wanted */
    bool away;   /* the model does not run */
    float *past; /* what was fed of late; NULL: silence goes past, or nothing */
    size_t mask;
    uint64_t kept, answered, base; /* base: where the model began to run */
    uint64_t given;                /* of the port since then */
    uint32_t mix, fade_samples;    /* the model's share: mix / fade_samples */
    uint32_t fill;                 /* of the pulse that is not run */
    bool is_gap, is_told;          /* a gap is open; some of it was told */
    uint64_t gap_from, gap_to;     /* input positions; from: not told yet */
};

bool relief_make(struct lane *l); /* false without memory */
void relief_drop(struct lane *l);
size_t relief_bytes(const struct lane *l); /* of memory, besides the lane's */
void relief_segment(struct lane *l);       /* a segment begins */

/* Whether the lane goes past the model, now that the pulse before is over; changes over if it is
 * time. */
bool relief_away(struct lane *l);

void relief_keep(struct lane *l, const float *x, size_t n); /* what is fed */

/* n samples that the model gave; then what is owed for the time before it began. x is written
 * to. */
void relief_mix(struct lane *l, float *x, size_t n, struct lane_rec *rec);
void relief_owed(struct lane *l, struct lane_rec *rec);

/* Away: a complete pulse goes past. Rest, at the end of a segment: some of what is owed goes past;
 * false when nothing is. */
void relief_pulse(struct lane *l, struct lane_rec *rec);
bool relief_rest(struct lane *l, struct lane_rec *rec);

/* Tells the gap, if it is long enough since the last time, or over. */
void relief_tell(struct lane *l, bool over);

#endif
