/* SPDX-License-Identifier: MIT */
/* ports.h - a lane whose client pushes frames to a model's ports and gets frames of them, of any
 * type and as they are: nothing is resampled, mixed or aligned.
 *
 * The loop thread writes bytes of frames and commands, and reads bytes of frames; the lane's worker
 * the rest. What a command says holds for the first run that wants a frame which came after it, so
 * what comes out does not depend on when it was sent. */
#ifndef RILL_DAEMON_COMPUTE_PORTS_H
#define RILL_DAEMON_COMPUTE_PORTS_H

#include "daemon/compute/ring.h"

#include <rill.h>

#define PORTS_SETS_MAX 4 /* frames of an input beside the stream that may wait */
#define PORTS_RESETS_MAX 256
#define PORTS_PULSES_WAIT 4 /* of input, at least */

struct lane;

struct lane_port {
    rill_port info; /* its name is the plan's */
    size_t frame_bytes;
    size_t window_frames;   /* inputs: frames that may wait */
    bool is_set;            /* input beside the stream: one frame holds until the next */
    bool is_wanted;         /* outputs */
    struct ring ring;       /* of bytes */
    _Atomic uint64_t taken; /* inputs: frames that left the ring */
    uint64_t seg_taken;     /* of them, since the stream was reset */
    uint64_t seg_came;      /* frames of the sequence that ended */
    size_t fill;            /* of them, for the next runs */
    bool is_full;           /* the stream took no more since it ran */
    bool set_waits;         /* the frame at the front of the ring is set with the next run */
};

/* The model takes the next frame of input `port`, or is reset; counts follow: of each input, the
 * frames that had come. */
struct lane_command {
    uint64_t port; /* COMMAND_RESET */
    uint64_t counts[];
};
#define COMMAND_RESET UINT64_MAX

struct lane_ports {
    struct lane_port *list; /* inputs first */
    unsigned n, n_in;
    unsigned clock; /* the input whose frames tell the time: the first that runs along it, or 0 */
    bool is_timeless;
    struct ring commands;         /* of (1 + n_in) numbers each */
    struct lane_command *command; /* room for one: the worker's */
    unsigned char *frames;        /* a pulse of the largest port: the worker's */
    size_t frames_bytes;
    bool is_left;        /* frames of the last run wait for room in a ring */
    bool is_untold;      /* frames are in a ring that no record tells of */
    bool is_resetting;   /* the segment ends at a reset */
    bool waits_for_read; /* that the stream was reset: no frame comes before that was */
};

struct lane_ports_opts {
    bool live;
    uint32_t window_ms;    /* of live streams */
    const bool *is_wanted; /* of each port */
};

/* Of a plan, what a stream is worked out by; NULL without memory. */
struct lane_ports *lane_ports_new(const rill_plan *p, const struct lane_ports_opts *o);
struct lane_ports *lane_ports_free(struct lane_ports *p); /* takes and returns NULL */
size_t lane_ports_bytes(const struct lane_ports *p);
/* No less than the rings of such a lane take; nothing is allocated. */
size_t lane_ports_most(const rill_port *ports, unsigned n, const struct lane_ports_opts *o);
/* The longest time that a pulse lasts; 0: no input states its rate. */
double lane_ports_pulse_us(const rill_port *ports, unsigned n, unsigned clock);
/* Whether frames of all ports can be told and sent; text: why not. */
bool ports_check(const rill_port *ports, unsigned n, char text[300]);
/* The first input along time; 0: there is none. */
unsigned ports_clock(const rill_port *ports, unsigned n);

/* Whether a sequence that ended is one that the model takes: its inputs end at the same place, and
 * those of a file have its lengths. */
bool lane_ports_sequence(const struct lane *l, rill_error *reterr);

/* The loop's. False: too many wait. */
bool lane_ports_command(struct lane_ports *p, const struct lane_command *c);
/* The loop's: whole pulses of input wait, and no output does. */
static inline bool lane_ports_wait(const struct lane_ports *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        const struct lane_port *q = &p->list[i];
        if (q->is_wanted && ring_used(&q->ring))
            return false;
        if (q->info.is_input && !q->is_set &&
            ring_used(&q->ring) < q->info.pulse_frames * q->frame_bytes)
            return false;
    }
    return true;
}

#endif
