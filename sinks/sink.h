/* SPDX-License-Identifier: MIT */
/* sink.h - what every kind of sink is made of. A kind is a struct sink_kind and its state; what all
 * do is in sink.c, which knows no kind, and making one in make.c, which knows them all. */
#ifndef RILL_SINKS_SINK_H
#define RILL_SINKS_SINK_H
#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "models/sink_limits.h"

#include <stdbool.h>

#define SINK_EVENTS_MAX 4 /* that one frame may make */

struct gate;

struct sink_kind {
    rill_port_kind port;
    rill_status (*make)(rill_sink *s, rill_error *err); /* s->state, of s->arena */
    void (*reset)(rill_sink *s);                        /* called after make too */
    void (*frame)(rill_sink *s, const float *x);        /* s->n_frames is its number */
    /* works on after a frame until there is an event; NULL: frames leave no work */
    void (*more)(rill_sink *s);
    void (*cut)(rill_sink *s); /* NULL: nothing goes on */
    void (*finish)(rill_sink *s);
    struct gate *(*gate)(const rill_sink *s); /* of one that listens; NULL: never */
    /* what is not in the arena; NULL: nothing; make may have failed */
    void (*drop)(rill_sink *s);
};

/* Every kind: sink_NAME in NAME.c. */
#define SINK_KIND_EACH(X) X(ctc) X(keyword) X(transducer) X(vad)

#define X(name) extern const struct sink_kind sink_##name;
SINK_KIND_EACH(X)
#undef X

struct rill_sink {
    const struct sink_kind *kind;
    void *state;
    struct arena arena;  /* grows in make only */
    rill_sink_opts opts; /* numbers filled in; strings are valid in make only */
    rill_port port;
    rill_plan *plan;      /* NULL: made without one */
    uint32_t sample_rate; /* 0: not declared */
    uint64_t base_pos;    /* of frame 0 */
    uint64_t n_frames;    /* read before the present one */
    uint64_t end_pos;     /* of the input; UINT64_MAX: not known */
    uint64_t told_pos;    /* what is moved to before end_pos begins here or later */
    uint32_t segment;
    bool finished;
    unsigned n_events, next_event;
    rill_event events[SINK_EVENTS_MAX];
};

/* Without a plan; port: width, hop, offset and the rates count. */
rill_status sink_new(rill_sink **ret, const rill_port *port, rill_plan *plan,
                     const rill_sink_opts *opts, rill_error *err);

/* An empty event of the frame: the caller fills the rest. */
rill_event *sink_event(rill_sink *s, rill_event_kind kind);

/* First sample of a frame. */
uint64_t sink_pos(const rill_sink *s, uint64_t frame);

/* Ends what spans [*pos, *end_pos) where the input ends; what lies behind that is put into the last
 * frame of the input, but not before `from`. */
void sink_bound(const rill_sink *s, uint64_t from, uint64_t *pos, uint64_t *end_pos);

/* Milliseconds as samples. */
uint64_t sink_samples(const rill_sink *s, uint32_t ms);

rill_status sink_no_memory(rill_error *err);
#endif
