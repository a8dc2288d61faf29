/* SPDX-License-Identifier: MIT */
/* sink.h - what every kind of sink is made of: a struct sink_kind and a state. sink.c has what all
 * kinds share and knows none of them, make.c makes a sink of any kind. */
#ifndef RILL_SINKS_SINK_H
#define RILL_SINKS_SINK_H
#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "models/sink_limits.h"

#include <stdbool.h>

#define SINK_EVENTS_MAX 4 /* the most that one frame makes */

struct gate;

struct sink_kind {
    rill_port_kind port;
    rill_status (*make)(rill_sink *s, rill_error *err); /* sets s->state, from s->arena */
    void (*reset)(rill_sink *s);                        /* also called after make */
    void (*frame)(rill_sink *s, const float *x);        /* s->n_frames is its number */
    /* runs work that a frame left, until there is an event; NULL: frames leave none */
    void (*more)(rill_sink *s);
    void (*cut)(rill_sink *s); /* makes final what is over; NULL: nothing lasts over frames */
    void (*finish)(rill_sink *s);
    void (*alone)(rill_sink *s, bool alone);  /* rill_sink_alone; NULL: no network runs in it */
    struct gate *(*gate)(const rill_sink *s); /* its gate, if it has one; NULL: never */
    /* frees what is not in the arena, also where make failed; NULL: nothing */
    void (*drop)(rill_sink *s);
};

/* Every kind: sink_NAME in NAME.c. */
#define SINK_KIND_EACH(X) X(attention) X(ctc) X(keyword) X(transducer) X(vad)

#define X(name) extern const struct sink_kind sink_##name;
SINK_KIND_EACH(X)
#undef X

struct rill_sink {
    const struct sink_kind *kind;
    void *state;
    struct arena arena;  /* allocated from in make only */
    rill_sink_opts opts; /* with defaults filled in; strings are valid in make only */
    rill_port port;
    rill_plan *plan;       /* NULL: made without a plan */
    uint32_t sample_rate;  /* 0: not declared */
    uint64_t base_pos;     /* of frame 0 */
    uint64_t n_frames;     /* read before the present one */
    uint64_t end_pos;      /* of the input; UINT64_MAX: not known */
    uint64_t reported_pos; /* no event that is moved before end_pos begins before this */
    uint32_t segment;
    bool finished;
    rill_error fault; /* of the first network that failed; status OK: none did */
    unsigned n_events, next_event;
    rill_event events[SINK_EVENTS_MAX];
};

/* plan may be NULL; of port, only width, hop, offset and rates are read. */
rill_status sink_new(rill_sink **ret, const rill_port *port, rill_plan *plan,
                     const rill_sink_opts *opts, rill_error *err);

/* An empty event, which the caller fills. */
rill_event *sink_event(rill_sink *s, rill_event_kind kind);

/* First sample of a frame. */
uint64_t sink_pos(const rill_sink *s, uint64_t frame);

/* Cuts [*pos, *end_pos) at the end of the input; what lies behind it is moved into the last frame
 * of the input, but not before `from`. */
void sink_bound(const rill_sink *s, uint64_t from, uint64_t *pos, uint64_t *end_pos);

/* Milliseconds as samples. */
uint64_t sink_samples(const rill_sink *s, uint32_t ms);

rill_status sink_no_memory(rill_error *err);
#endif
