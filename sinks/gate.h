/* SPDX-License-Identifier: MIT */
/* gate.h - a recogniser gated by a detector of speech: it runs in utterances only, from the preroll
 * to the endpoint. Its audio is cut at frames of the detector, so its events do not depend on how
 * audio was pushed. */
#ifndef RILL_SINKS_GATE_H
#define RILL_SINKS_GATE_H
#include "sinks/sink.h"

struct gate {
    rill_plan *plan;
    rill_stream *stream;
    rill_sink *sink;
    unsigned in_port, out_port;
    uint32_t width;
    float *frames; /* pulled from the stream, not read by the sink yet */
    size_t n_frames, next_frame, cap_frames;
    float *ring; /* sample p of the input at p % cap */
    uint64_t cap;
    uint64_t n_in, decided, fed; /* samples: that came; that the detector has decided on; that were
                                    fed to the recogniser */
    uint64_t last_end, preroll;
    bool open, closing, was_cut;
    rill_event held[SINK_EVENTS_MAX]; /* events of the detector that wait for the recogniser's */
    unsigned n_held, next_held;
};

/* Makes the sink that reads the recogniser's output: rill_sink_new. */
typedef rill_status (*gate_recogniser)(rill_sink **ret, const rill_plan *p, unsigned port,
                                       const rill_sink_opts *opts, rill_error *err);

rill_status gate_make(struct gate **ret, const rill_sink *detector, gate_recogniser make_recogniser,
                      const rill_plan *plan, unsigned port, const rill_sink_opts *opts,
                      rill_error *err);
/* rill_sink_listen of a sink of kind vad; others are refused. */
rill_status vad_listen(rill_sink *s, gate_recogniser make_recogniser, const rill_plan *plan,
                       unsigned port, const rill_sink_opts *opts, rill_error *err);
struct gate *sink_gate(const rill_sink *s); /* of a sink that listens, otherwise NULL */
void gate_drop(struct gate *g);
void gate_reset(struct gate *g, uint64_t pos);
void gate_alone(struct gate *g, bool alone); /* rill_sink_alone */

/* Samples of the detector's input, in order. LIMIT: more than the model's pulse and delay ahead of
 * its frames. */
rill_status gate_audio(struct gate *g, const float *x, size_t n);

/* The detector has read a frame up to end_pos (or everything, at the end): takes its events from s.
 */
void gate_decide(struct gate *g, rill_sink *s, uint64_t end_pos);
void gate_finish(struct gate *g, rill_sink *s);
void gate_cut(struct gate *g);

/* Runs steps until there is an event in s, or nothing to do. */
void gate_more(struct gate *g, rill_sink *s);
#endif
