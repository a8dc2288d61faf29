/* SPDX-License-Identifier: MIT */
/* hear.h - audio through a model, with a sink at every output that one reads: events and audio of
 * one pass. */
#ifndef TOOLS_HEAR_H
#define TOOLS_HEAR_H
#include "tools/open.h"

#define HEAR_PORTS_MAX 64

/* port: whose sink it is */
/* of the first audio output; NULL: not wanted */
struct hear_calls { void *arg; void (*event)(void *arg, const rill_event *e, const rill_port *port);
    void (*audio)(void *arg, const float *y,
                  size_t n);
};

struct hear_opts {
    struct open_opts open;
    const char *detector; /* model of a detector in front of the recogniser; NULL: the model's own,
                             if it has one */
    bool whole;                 /* the recogniser hears everything, in silence too */
    int64_t beam;               /* of all outputs that have one, at most RILL_BEAM_MAX; 0: as the
                                   model says */
};

struct hear {
    rill_model_info info;       /* strings are those of a plan that is kept */
    rill_plan *plan;
    rill_stream *stream;
    rill_port ports[HEAR_PORTS_MAX];
    unsigned n_ports;
    int audio_port;             /* -1: none */
    rill_sink *sinks[HEAR_PORTS_MAX];       /* by port; NULL: not read by one */
    unsigned n_sinks;
    bool gated;                 /* a sink listens: it needs the audio */
    rill_port words;            /* then: the recogniser's output */
    unsigned rate;              /* of the audio */
    float *frames;
    float speech;               /* the last probability of a detector */
    struct hear_calls calls;
    double busy_s, worst_s;     /* computing; of one call of the stream */
    uint64_t n_pulses;
};

/* A model with an output of a detector and one of a recogniser runs as two: the recogniser in
 * utterances only. */
rill_status hear_open(struct hear *h, const char *model, const struct hear_opts *o,
                      const struct hear_calls *calls, rill_error *reterr);
void        hear_close(struct hear *h);
void        hear_push(struct hear *h, const float *x, size_t n);
void        hear_finish(struct hear *h);

/* The first output of that kind, the recogniser's included; NULL: none. */
const rill_port *hear_port(const struct hear *h, rill_port_kind kind);
#endif
