/* SPDX-License-Identifier: MIT */
/* lane.h - the sound path of one stream: client's rate -> model -> client's rate.
 *
 * The loop thread writes samples and marks and reads samples and records; one worker calls
 * lanes_step, which neither allocates nor locks. A segment is what lies between two marks: the
 * model starts afresh in each, and each gives its exact number of samples:
 *     aligned    ceil(in * out_rate / in_rate)
 *     unaligned  the same, and after the last segment also the delay
 * Silence follows where the model gives less at the end; of a longer end the rest is dropped. */
#ifndef RILL_DAEMON_COMPUTE_LANE_H
#define RILL_DAEMON_COMPUTE_LANE_H

#include "daemon/compute/heard.h"
#include "daemon/compute/lane_relief.h"
#include "daemon/compute/resample.h"
#include "daemon/compute/ring.h"

#include <pthread.h>
#include <rill.h>

/* Ends a segment after `count` received samples; the next begins at position next_pos. */
struct lane_mark {
    uint64_t count, next_pos;
};

struct lane_arrival {
    uint64_t count, us; /* samples received by then */
    uint64_t since_us;  /* they may have waited to be read since; 0: they did not */
};

/* A jump of the client, samples in flight at a reset, samples that waited too long, that the model
 * did not run for. */
enum lane_gap { LANE_GAP_CLIENT, LANE_GAP_RESET, LANE_GAP_LATE, LANE_GAP_OVERLOAD };

/* What came out for them; numbers of the protocol. */
enum lane_fill { LANE_FILL_SKIPPED, LANE_FILL_SILENCE, LANE_FILL_BYPASS };

enum lane_edge { LANE_EDGE_NONE, LANE_EDGE_START, LANE_EDGE_END };

/* FAULT: the model's stream stopped; nothing comes behind it, as behind DONE */
enum lane_rec_kind { LANE_PULSE, LANE_VAD, LANE_HEARD, LANE_GAP, LANE_DONE, LANE_FAULT };

struct lane_rec {
    enum lane_rec_kind kind;
    /* PULSE: samples that it put into `out`; HEARD: bytes that it put into `heard.bytes` */
    uint32_t n;
    uint32_t compute_us, queue_us; /* PULSE */
    uint64_t pos, end_pos;         /* PULSE: output rate; VAD, GAP: input rate */
    float prob;                    /* VAD */
    enum lane_edge edge;           /* VAD */
    bool is_run;                   /* PULSE: the model ran */
    uint32_t batch;                /* PULSE: streams that ran with it, itself counted */
    enum lane_gap why;             /* GAP */
    enum lane_fill fill;           /* GAP */
};

/* What the lane needs to know of a model; found out once when it is loaded. */
struct lane_model {
    rill_plan *plan; /* referenced by the owner */
    uint32_t rate, pulse_samples;
    int audio_in, audio_out, vad_out; /* port numbers, -1 = none */
    uint32_t latency_samples;         /* of the audio */
    uint32_t lookahead_samples;       /* the longest latency of an output that is read */
    uint32_t vad_hop_samples, vad_pulse_frames;
    int32_t vad_offset_samples; /* what frame 0 stands for */
    /* of the audio (rill_alignment): the first samples that stand for what was before the input,
     * those missing in front, and the silence that makes it as late as it is */
    uint32_t cut_samples, fill_samples, late_samples;
    struct heard_port heard[HEARD_PORTS_MAX]; /* outputs of words and keywords */
    unsigned n_heard;
    rill_plan *words_plan; /* a recogniser that runs in utterances only, referenced by the owner;
                              NULL: none */
    unsigned words_port;
    unsigned wanted[2 + HEARD_PORTS_MAX], n_wanted; /* the outputs that are read */
    uint32_t run_us;  /* what a pulse of one stream costs, p95; at least 1 */
    float wall_share; /* how long that took over it; over 1: others computed, too */
};

struct lane_opts {
    uint32_t in_rate, out_rate;
    uint32_t window_samples; /* most input that waits, input rate */
    uint64_t max_wait_us;    /* input that waited longer is dropped, 0 = never */
    bool align, want_audio, want_vad;
    enum lane_relief relief; /* under overload; lanes that are not live are never relieved */
    bool sheds;              /* new streams are refused before this one is relieved */
    uint32_t fade_ms;
    struct heard_wants heard;
};

struct lane {
    struct ring in, marks, arrivals;       /* loop writes */
    struct ring out, recs;                 /* worker writes */
    _Atomic uint64_t consumed;             /* input samples taken by the worker */
    _Atomic bool finish, cancel, detached; /* loop, loop, worker */
    _Atomic uint64_t spent_ns;             /* on it, by the worker, contention included */
    _Atomic uint64_t ran_ns, n_ran;        /* of that on pulses that the model ran for */

    const struct lane_model *model;
    struct lane_opts opts;
    size_t bytes;               /* of memory */
    bool live;                  /* goes before those that are not */
    uint32_t delay_out_samples; /* what align=false adds to the end */

    /* The worker's from here. */
    void *mem;
    rill_stream *stream;
    struct resample *to_model, *from_model;
    float *feed, *chunk, *pulled, *resampled;
    size_t feed_at, feed_fill, feed_cap, chunk_cap, pulled_cap, resampled_cap;
    int phase;
    bool last_segment;
    uint64_t seg_in_pos, seg_out_pos; /* positions where the segment began */
    uint64_t seg_in, seg_fed, seg_emitted, seg_cut, seg_out, seg_vad;
    uint64_t out_limit, model_limit, lead_left;
    struct heard heard;
    uint64_t late; /* samples that the end of this segment drops */
    enum lane_gap late_why;
    struct relief relief;
    uint64_t worked_us; /* when the last piece of work was done */
    uint64_t arrival_us, work_ns;
    uint64_t pulse_us;  /* length of a pulse */
    uint64_t window_us; /* length of what may wait */
    uint64_t paced_us;  /* when the last pulse had come at the earliest, in real time */
    uint64_t cost_ns;   /* what a pulse takes, mean of the last ones */
    bool stalled;       /* what was heard waits for room */
    bool was_late;      /* the pulse of the last step came out after its deadline */
};

/* NULL without memory. The model must outlive the lane. */
struct lane *lane_new(const struct lane_model *m, const struct lane_opts *o);
struct lane *lane_free(struct lane *l);  /* takes and returns NULL */
size_t lane_bytes(const struct lane *l); /* of memory; NULL: 0 */

/* When the next piece of work must be done: the arrival of its pulse's last sample + the length of
 * a pulse. What is sent faster than real time counts as having come in real time: who sends ahead
 * takes nobody's turn, and is not late while he is ahead. LANE_PART: samples wait, but less than a
 * pulse. LANE_NOTHING: there is nothing to do. The worker's. */
uint64_t lane_deadline(const struct lane *l);
#define LANE_NOTHING UINT64_MAX
#define LANE_PART (UINT64_MAX - 1)

/* Microseconds that a pulse takes of late; at least 1. */
uint64_t lane_cost_us(const struct lane *l);

enum lane_result { LANE_IDLE, LANE_WORKED, LANE_ENDED };

#define LANE_BATCH_MAX 32

/* One piece of work for each of n <= LANE_BATCH_MAX lanes of one plan, at most one pulse. Those
 * whose pulse is due now run the model together; none waits for one that is not. */
void lanes_step(struct lane *const *lanes, size_t n, enum lane_result *ret);

/* How many lanes of the model may run together so that all of it takes at most a quarter of the
 * shortest pulse that anybody on the thread waits for, even if it were no cheaper than one by one.
 * At least 1. */
size_t lane_batch(const struct lane_model *m, uint64_t shortest_pulse_us);
uint64_t lane_pulse_us(const struct lane_model *m);

/* Fills *m, which holds the plan of a recogniser already if there is one and is zero otherwise,
 * from the plan and tries it out; ret_rtf gets the processor time of a pulse (p95) over its length.
 */
rill_status lane_model_probe(struct lane_model *m, rill_plan *plan, uint32_t sample_rate,
                             float *ret_rtf, rill_error *reterr);

uint64_t lane_now_us(void);

/* Processor time that a thread has used: a system call, so nothing for the compute path. */
uint64_t thread_cpu_ns(pthread_t thread);

#endif
