/* SPDX-License-Identifier: MIT */
/* lane.h - the audio path of one stream: client's rate -> model -> client's rate.
 *
 * The loop thread writes samples and marks and reads samples and records; one worker calls
 * lanes_step, which neither allocates nor locks. A segment is what lies between two marks: the
 * model starts afresh in each, and each gives its exact number of samples:
 *     aligned    ceil(in * out_rate / in_rate)
 *     unaligned  the same, and after the last segment also the delay
 * Silence follows where the model gives less at the end; of a longer end the rest is dropped. */
#ifndef RILL_DAEMON_COMPUTE_LANE_H
#define RILL_DAEMON_COMPUTE_LANE_H

#include "daemon/compute/lane_sinks.h"
#include "daemon/compute/bypass.h"
#include "daemon/compute/ring.h"

#include <rill.h>

/* Ends a segment after `count` received samples; the next begins at position next_pos. */
struct lane_mark {
    uint64_t count, next_pos;
};

struct lane_arrival {
    uint64_t count, us; /* samples received by then */
    uint64_t since_us;  /* they may have waited to be read since; 0: they did not */
};

/* Why samples are missing: the client left them out; they were in flight at a reset; they waited
 * too long; the model did not run for them under overload. */
enum lane_gap { LANE_GAP_CLIENT, LANE_GAP_RESET, LANE_GAP_LATE, LANE_GAP_OVERLOAD };

/* What comes out in their place; numbers of the protocol. */
enum lane_fill { LANE_FILL_SKIPPED, LANE_FILL_SILENCE, LANE_FILL_BYPASS };

enum lane_edge { LANE_EDGE_NONE, LANE_EDGE_START, LANE_EDGE_END };

/* DONE and FAULT (the model's stream stopped) are the last record of a lane */
enum lane_rec_kind {
    LANE_PULSE,
    LANE_VAD,
    LANE_EVENT,
    LANE_GAP,
    LANE_RESET, /* of ports: all frames before it have been put out */
    LANE_DONE,
    LANE_FAULT
};

struct lane_rec {
    enum lane_rec_kind kind;
    /* PULSE: samples that it put into `out`; EVENT: bytes that it put into `sinks.bytes` */
    uint32_t n;
    uint32_t compute_us, queue_us; /* PULSE */
    uint64_t pos, end_pos;         /* PULSE: output rate; VAD, GAP: input rate */
    float prob;                    /* VAD */
    enum lane_edge edge;           /* VAD */
    bool is_run;                   /* PULSE: the model ran */
    uint32_t batch;                /* PULSE: streams that ran with it, itself counted */
    enum lane_gap reason;          /* GAP */
    enum lane_fill fill;           /* GAP */
};

/* What a lane needs to know of a model; lane_model_probe fills it when the model is loaded. */
struct lane_model {
    rill_plan *plan;                  /* referenced by the owner */
    uint32_t rate, pulse_samples;     /* rate 0: it has no audio for a client, ports only */
    uint32_t lead_in_samples;         /* by which the first pulse of a segment is shorter */
    uint32_t pulse_us;                /* then; of a model without time or rate that of the budget */
    bool is_timed;                    /* then: pulse_us is what the model states */
    char audio_error[300];            /* then: why */
    int audio_in, audio_out, vad_out; /* port numbers, -1 = none */
    uint32_t latency_samples;         /* of the audio */
    uint32_t lookahead_samples;       /* the longest latency of an output that is read */
    uint32_t vad_hop_samples, vad_pulse_frames;
    int32_t vad_offset_samples; /* what frame 0 stands for */
    /* Of the audio (rill_alignment): how many of the first samples stand for what was before the
     * input, how many are missing in front, and the silence in front for a client that wants the
     * output delayed as the model delays it. */
    uint32_t cut_samples, fill_samples, delay_samples;
    struct sink_port sink_ports[SINK_PORTS_MAX]; /* outputs of recognisers and keywords */
    unsigned n_sink_ports;
    rill_plan *words_plan; /* a recogniser that runs in utterances only, referenced by the owner;
                              NULL: none */
    unsigned words_port;
    unsigned wanted[2 + SINK_PORTS_MAX], n_wanted; /* the outputs that are read */
    uint32_t run_us;   /* what a pulse of one stream costs, p95; at least 1 */
    uint32_t threads;  /* that share a pulse of a live stream; 0 and 1: none do */
    uint32_t alone_us; /* then: what a pulse costs without them, p95 */
    float spread;      /* then: the processor time of all of them over that of who has the pulse */
    float wall_share;  /* wall-clock time over processor time; over 1: there was contention */
};

struct lane_opts {
    uint32_t in_rate, out_rate;
    uint32_t window_samples; /* most input that waits, input rate */
    uint64_t max_wait_us;    /* input that waited longer is dropped, 0 = never */
    bool align, want_audio, want_vad;
    enum bypass_mode bypass_mode; /* under overload, of live lanes */
    bool sheds;                   /* new streams are refused before this one is bypassed */
    uint32_t fade_ms;
    struct lane_sinks_opts sinks;
};

struct lane_ports;
struct lane_ports_opts;
struct resample;

struct lane {
    struct ring in, marks, arrivals;       /* loop writes */
    struct ring out, recs;                 /* worker writes */
    _Atomic uint64_t consumed;             /* input samples taken by the worker */
    _Atomic bool finish, cancel, detached; /* loop, loop, worker */
    _Atomic uint64_t spent_ns;             /* by the worker on this lane, contention included */
    _Atomic uint64_t ran_ns, n_ran; /* of it, on pulses that the model ran for; their number */

    const struct lane_model *model;
    struct lane_opts opts;
    struct lane_ports *ports;   /* NULL: audio */
    size_t bytes;               /* of memory */
    bool live;                  /* scheduled before lanes of files */
    uint32_t delay_out_samples; /* what align=false adds to the end */

    /* The worker's from here. */
    void *mem;
    rill_stream *stream;
    struct resample *to_model, *from_model;
    float *feed, *chunk, *pulled, *resampled;
    size_t feed_at, feed_fill, feed_cap, chunk_cap, pulled_cap, resampled_cap;
    int phase;
    bool last_segment;
    bool past_table,
        goes_on;           /* the model ran past its table of positions; before the input's end */
    uint64_t unheard_from; /* then: position of the first sample that it did not answer */
    uint64_t seg_in_pos, seg_out_pos; /* positions where the segment began */
    uint64_t seg_in, seg_fed, seg_emitted, seg_cut, seg_out, seg_vad;
    uint64_t out_limit, model_limit, lead_left;
    struct lane_sinks sinks;
    uint64_t drop_samples; /* which the end of this segment drops, and why */
    enum lane_gap drop_reason;
    struct bypass bypass;
    uint64_t worked_us; /* when the last step ended */
    uint64_t arrival_us, work_ns;
    uint64_t pulse_us;    /* length of a pulse */
    uint64_t window_us;   /* how much input may wait */
    uint64_t paced_us;    /* when the last pulse would have come in real time */
    uint64_t cost_ns;     /* of a pulse, moving average */
    bool stalled;         /* events wait for room in a ring */
    bool missed_deadline; /* by the pulse of the last step */
};

/* NULL without memory. The model must outlive the lane. */
struct lane *lane_new(const struct lane_model *m, const struct lane_opts *o);
struct lane *lane_new_ports(const struct lane_model *m, const struct lane_ports_opts *o);
struct lane *lane_free(struct lane *l);  /* takes and returns NULL */
size_t lane_bytes(const struct lane *l); /* of memory; NULL: 0 */

/* When the next step must be done: the arrival of its pulse's last sample + the length of a pulse.
 * Input that is sent faster than real time counts as having come in real time, so a client that
 * sends ahead is not scheduled before others, and misses no deadline while it is ahead. LANE_PART:
 * samples wait, but less than a pulse. LANE_NOTHING: there is nothing to do. The worker's. */
uint64_t lane_deadline(const struct lane *l);
#define LANE_NOTHING UINT64_MAX
#define LANE_PART (UINT64_MAX - 1)

/* The moving average of what a pulse takes; at least 1. */
uint64_t lane_cost_us(const struct lane *l);

enum lane_result { LANE_IDLE, LANE_WORKED, LANE_ENDED };

#define LANE_BATCH_MAX 32

/* One step for each of n <= LANE_BATCH_MAX lanes of one plan, at most a pulse. Lanes whose pulse is
 * due run the model as one batch; none waits for another. */
void lanes_step(struct lane *const *lanes, size_t n, enum lane_result *ret);

/* The largest batch of the model that takes at most a quarter of the shortest pulse on the thread,
 * even if a batch is no cheaper than one by one. At least 1. */
size_t lane_batch(const struct lane_model *m, uint64_t shortest_pulse_us);
uint64_t lane_pulse_us(const struct lane_model *m);

/* Fills *m from the plan and runs it on noise. *m is zero, but for the plan of a gated recogniser
 * if there is one; ret_rtf gets the processor time of a pulse (p95) over its length. */
rill_status lane_model_probe(struct lane_model *m, rill_plan *plan, uint32_t sample_rate,
                             float *ret_rtf, rill_error *reterr);

/* The same with the help of the plan's pool, which the other does without. */
rill_status lane_model_probe_shared(struct lane_model *m, rill_plan *plan, uint32_t sample_rate,
                                    float *ret_rtf, rill_error *reterr);

#endif
