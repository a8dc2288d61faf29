/* SPDX-License-Identifier: MIT */
/* bypass.h - a live lane whose model does not run while there is too little compute.
 *
 * Where audio comes out, the dry signal (the input as it came, or silence) takes the model's place.
 * It is delayed as the model would have delayed it, both edges are cross-faded, and the number of
 * samples stays the same. Where no audio comes out, input is skipped. The model starts from its
 * initial state when it comes back. All but bypass_make is called by the worker. */
#ifndef RILL_DAEMON_COMPUTE_BYPASS_H
#define RILL_DAEMON_COMPUTE_BYPASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What takes the model's place; NONE: the lane is never bypassed, SKIP: its input is dropped. */
enum bypass_mode { BYPASS_NONE, BYPASS_DRY, BYPASS_SILENCE, BYPASS_SKIP };

struct lane;
struct lane_rec;

/* All counts are samples at the model's rate since the segment began. */
struct bypass {
    bool wanted; /* by overload control */
    bool active; /* the model does not run: a pulse later than wanted, once it is faded out */
    float *dry;  /* a delay line of the input; NULL: silence */
    size_t dry_mask;
    uint64_t n_in;              /* written to the delay line */
    uint64_t n_out;             /* that came out, of model and dry signal together */
    uint64_t model_from;        /* where the model started to run last, */
    uint64_t model_out;         /* and what it gave since then */
    uint32_t wet, fade_samples; /* the model's share of the output: wet / fade_samples */
    uint32_t pulse_fill;        /* of the pulse that is bypassed */
    bool gap_open, gap_reported;
    uint64_t gap_from, gap_to; /* input positions; what lies before gap_from has been reported */
};

bool bypass_make(struct lane *l); /* false without memory */
void bypass_drop(struct lane *l);
size_t bypass_bytes(const struct lane *l); /* of memory, besides the lane's */
void bypass_segment_begin(struct lane *l);

/* Samples that the next pulse has already, the lead-in of the model's first one with them; pulses
 * that go past the model are whole. */
uint64_t bypass_pulse_fill(const struct lane *l);

/* Between two pulses: switches if that is wanted and the fade is over; whether the model is
 * bypassed now. */
bool bypass_update(struct lane *l);

/* Input on its way to the model goes through the delay line. */
void bypass_dry_write(struct lane *l, const float *x, size_t n);

/* What the model gave goes out: n samples, as they are, or mixed in place with the dry signal while
 * the lane is being switched. */
void bypass_model_emit(struct lane *l, float *x, size_t n, struct lane_rec *rec);
/* Emits the dry signal for the time between the model's start and its first output. */
void bypass_latency_fill(struct lane *l, struct lane_rec *rec);

/* Emits a pulse of the dry signal in the model's place. */
void bypass_pulse(struct lane *l, struct lane_rec *rec);
/* At the end of a segment, emits some of what the model will not give any more; false: there is no
 * more. */
bool bypass_flush(struct lane *l, struct lane_rec *rec);

/* Reports the gap if it is over, or as long as a second since the last report. */
void bypass_gap_report(struct lane *l, bool over);

#endif
