/* SPDX-License-Identifier: MIT */
/* offset.h - where the frames of a streaming wire lie in the input.
 *
 * Frame k of a wire stands for input frame origin + k * hop. Slices and pads move the origin. A
 * window (a convolution, a pool, framing) stands for the frames around which it was padded: so many
 * frames into it as were put in front of the sequence, if that is less than a window; what was not
 * padded at all stands for the middle of the window where it moves by one frame, and for its first
 * hop where it moves by more. Windows side by side stand for their first frame, however padded. A
 * transposed convolution mirrors that. Frames that are added up again where they overlap lie where
 * their own samples lie, whatever they stood for. And what is as long as the input, or as long as
 * its own rate was before, lies where that lay: cutting and padding have made it so.
 *
 * A pad that is an op lays its wire before the windows behind it are looked at, whoever takes it
 * into them: what is merged with what says nothing about where frames lie. */
#ifndef RILL_PULSE_OFFSET_H
#define RILL_PULSE_OFFSET_H
#include "engine/graph/pulsed.h"

/* Of an input: frame 0 stands for itself. */
void offset_init(struct stream_fact *s);

/* Frame 0 is now what was frame `frames`; every step-th is kept. Negative: frames were put in
 * front. */
void offset_cut(struct stream_fact *s, int64_t frames, int64_t step);
void offset_padded(struct stream_fact *s, int64_t before, int64_t after);

/* What windows of size frames, stride apart, make of s, the first of which begins `before` frames
 * in front of it and the last of which may end `after` behind it. Before the wire is scaled. */
void offset_windows(struct stream_fact *s, int64_t before, int64_t after, int64_t size,
                    int64_t stride);

/* The same where the windows stay whole, to be overlapped later. */
void offset_frames(struct stream_fact *s, int64_t before, int64_t after, int64_t size,
                   int64_t stride);
/* Frames were overlapped and added. After the wire was scaled. */
void offset_overlapped(struct stream_fact *s);

/* Each frame became `size` frames, stride apart and added; `before` were cut off in front and
 * `after` (negative: put there) behind. After the wire was scaled. */
void offset_transposed(struct stream_fact *s, int64_t before, int64_t after, int64_t size,
                       int64_t stride);

/* Once the length is known, which is a function of symbol. */
void offset_resolve(struct stream_fact *s, const struct dim *symbol);

/* By how many input frames a frame of s comes later than the one it stands for. lead_in: of the
 * pulsed graph. */
struct ratio offset_latency(const struct stream_fact *s, int64_t lead_in);
#endif
