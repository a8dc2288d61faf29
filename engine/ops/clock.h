/* SPDX-License-Identifier: MIT */
/* clock.h - ops that only a pulsed graph has: most read the stream's clock.
 *
 * The clock is an input of the pulsed graph, i64[CLOCK_SIZE]: place 0 counts the runs before this
 * one; place 1 + k is the whole length of the k-th length expression of the graph in its frames,
 * CLOCK_OPEN until the stream is finished. No op below keeps a counter of its own, so a stream is
 * reset by setting the clock. */
#ifndef RILL_ENGINE_OPS_CLOCK_H
#define RILL_ENGINE_OPS_CLOCK_H
#include "engine/graph/op.h"

#define CLOCK_SIZE 64
#define CLOCK_OPEN INT64_MAX

/* What a position-dependent op knows of its wire: in run r, place p of the output holds frame
 * r*pulse + p - delay. */
struct clock_attr {
    int64_t pulse, delay;
    int64_t length; /* place in the clock */
    int64_t frames; /* places of the output; 0 means pulse */
};

enum pulse_pad_mode { PULSE_PAD_CONSTANT, PULSE_PAD_EDGE, PULSE_PAD_REFLECT, PULSE_PAD_VALUES };

/* PulsePad(window, clock, [fill or head], [tail]): frames of the padded sequence out of a window
 * onto the one without. Frame i of the input lies at place i + shift - r*pulse of the window in run
 * r. Frames outside the sequence are: CONSTANT the scalar fill (0 if absent); EDGE the first or
 * last frame; REFLECT mirrored about them; VALUES those of head [before] and tail [after] along the
 * axis. */
struct pulse_pad_attr {
    struct clock_attr at; /* of the output; length: of the input */
    int64_t axis, before, after, shift;
    int mode;
};

/* PulseHistory(past, x): the window past ++ x along axis, and its newest frames as the next past.
 * PulseWindow(old, x): the window without its oldest frames, ++ x: as long as it was, and so its
 * own next value. */
struct pulse_history_attr {
    int64_t axis;
};

/* PulseFirst(kept, x, clock): frames first.. of the sequence, as many as kept has along axis: kept,
 * with those that are in this run. */
struct pulse_first_attr {
    struct clock_attr at; /* of x */
    int64_t axis, first;
};

/* PulseValid(clock): bool[frames], true where the frame lies in the sequence. */
/* PulseSkip(clock): i64[], how many leading frames of this run lie before the sequence,
 * 0..pulse. */
/* PulseRange(clock, start, step): [frames], start + step * frame. */
extern const struct op op_pulse_first, op_pulse_history, op_pulse_pad, op_pulse_valid,
    op_pulse_skip, op_pulse_range, op_pulse_window;
#endif
