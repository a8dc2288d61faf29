/* SPDX-License-Identifier: MIT */
/* hear.h - audio through a model, with a sink at every output that one reads: events and audio of
 * one pass. */
#ifndef TOOLS_HEAR_H
#define TOOLS_HEAR_H
#include "tools/open.h"

#define HEAR_PORTS_MAX 64
#define HEAR_WORDS_MAX 8 /* recognisers of one model behind a detector */

/* audio: of the first audio output; NULL: not wanted */
struct hear_calls {
    void *arg;
    void (*event)(void *arg, const rill_event *e);
    void (*audio)(void *arg, const float *y, size_t n);
};

struct hear_opts {
    struct open_opts open;
    const char *detector;   /* model of a detector in front of the recognisers, in the place of
                               the model's own; NULL: that one, if it has one */
    bool whole;             /* the recognisers hear everything, in silence too */
    int64_t beam;           /* of all outputs that have one, at most RILL_BEAM_MAX; 0: as the
                               model says */
    const char *lm;         /* text of an ARPA file; NULL: as the model says */
    const double *lm_scale; /* NULL: as the model says */
    const char *hotwords;   /* text, a phrase a line; NULL: as the model says */
    const double *hotwords_score, *blank_penalty; /* NULL: as the model says */
    const double *confidence; /* 0..1, of all recognisers; NULL: as the model says */
};

/* A plan that hears all the audio. */
struct hear_part {
    rill_plan *plan;
    rill_stream *stream;
    rill_port ports[HEAR_PORTS_MAX];
    unsigned n_ports;
};

/* Reads a port of a part. */
struct hear_ear {
    rill_sink *sink;
    unsigned part, port;
    bool listens;    /* with a recogniser behind it: it needs the audio */
    bool texts_only; /* another ear of this port tells of speech */
};

struct hear {
    rill_model_info info;      /* strings are those of a plan that is kept */
    struct hear_part parts[2]; /* the model, a detector of another one; in lockstep */
    unsigned n_parts;
    int audio_port; /* of the first part; -1: none */
    struct hear_ear ears[2 * HEAR_PORTS_MAX + HEAR_WORDS_MAX];
    unsigned n_ears;
    rill_plan *words[HEAR_WORDS_MAX]; /* recognisers behind the detector */
    rill_port words_ports[HEAR_WORDS_MAX];
    unsigned n_words;
    bool has_transducer;
    unsigned rate;                  /* of the audio */
    uint64_t n_samples;             /* heard */
    uint64_t begun_at, endpoint_at; /* samples: where the streams began; of the last endpoint */
    float *frames;
    float speech; /* the last probability of a detector */
    struct hear_calls calls;
    double busy_s, worst_s; /* computing; of one call of a stream */
};

/* A model with outputs of a detector and of recognisers runs as several: the recognisers in
 * utterances only. */
rill_status hear_open(struct hear *h, const char *model, const struct hear_opts *o,
                      const struct hear_calls *calls, rill_error *reterr);
void hear_close(struct hear *h);

/* Whether the model and its detector take n samples in all. */
rill_status hear_check(const struct hear *h, size_t n, rill_error *reterr);

/* What is told does not depend on how the audio is cut. Not OK: the library's, who goes on hears
 * nothing more. The end is refused where hear_check refuses what was heard, once it is told. */
rill_status hear_push(struct hear *h, const float *x, size_t n, rill_error *reterr);
rill_status hear_finish(struct hear *h, rill_error *reterr);

/* Behind a failure of hear_push or hear_finish: tells what is heard and was not told yet. */
void hear_break_off(struct hear *h);

/* Behind such a failure, where a recogniser alone ran past the end of its table of positions: it
 * begins afresh at the last endpoint, or, where there was none, behind what it heard. The samples
 * from *ret_pos on are to be pushed then. False, and nothing is done: it was something else. */
bool hear_begin_afresh(struct hear *h, uint64_t *ret_pos);

/* The first output of that kind, the recognisers' included; NULL: none. */
const rill_port *hear_port(const struct hear *h, rill_port_kind kind);
#endif
