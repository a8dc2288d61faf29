/* SPDX-License-Identifier: MIT */
/* Voice activity: from a probability of speech a frame to edges of speech and endpoints of
 * utterances.
 *
 * Speech begins at the first frame of at least `threshold`. It ends once the probability was below
 * `release` for the hangover, and where that silence began. */
#include "sinks/endpoint.h"
#include "sinks/gate.h"

struct vad {
    struct endpoint endpoint;
    uint64_t hangover_samples;
    bool speaking, quiet; /* quiet: the last frames were below `release` */
    bool heard;           /* there was speech in this utterance */
    uint64_t quiet_pos;   /* where the last silence began */
    struct gate *gate;    /* NULL: no recogniser is gated */
};

static rill_status make(rill_sink *s, rill_error *err)
{
    struct vad *v = s->state = arena_new(&s->arena, struct vad);
    if (s->port.width != 1)
        return err_set(err, RILL_INVALID,
                       "output '%s' is %u wide; of kind vad it gives one probability a frame",
                       s->port.name ? s->port.name : "", s->port.width);
    return v ? RILL_OK : sink_no_memory(err);
}

static void reset(rill_sink *s)
{
    struct vad *v = s->state;
    *v = (struct vad) { .hangover_samples = sink_samples(s, s->opts.hangover_ms), .gate = v->gate };
    endpoint_init(&v->endpoint, s);
    if (v->gate)
        gate_reset(v->gate, s->base_pos);
}

static void edge(rill_sink *s, rill_event_kind kind, uint64_t pos, float prob)
{
    rill_event *e = sink_event(s, kind);
    e->pos = pos;
    e->end_pos = sink_pos(s, s->n_frames + 1);
    e->score = prob;
}

static void begin(rill_sink *s, struct vad *v, uint64_t pos, float prob)
{
    v->speaking = true;
    v->quiet = false;
    if (!v->heard)
        v->endpoint.begin_pos = pos;
    v->heard = true;
    edge(s, RILL_EVENT_SPEECH_START, pos, prob);
}

static void end(rill_sink *s, struct vad *v, float prob)
{
    v->speaking = false;
    edge(s, RILL_EVENT_SPEECH_END, v->quiet_pos, prob);
}

static void go_on(rill_sink *s, struct vad *v, uint64_t pos, uint64_t end_pos, float prob)
{
    if (prob >= s->opts.release) {
        v->quiet = false;
        return;
    }
    if (!v->quiet)
        v->quiet_pos = pos;
    v->quiet = true;
    if (end_pos - v->quiet_pos >= v->hangover_samples)
        end(s, v, prob);
}

static void detect(rill_sink *s, struct vad *v, const float *x)
{
    uint64_t pos = sink_pos(s, s->n_frames), end_pos = sink_pos(s, s->n_frames + 1);
    float prob = *x > 0 ? *x : 0; /* NaN: 0 */
    if (v->speaking)
        go_on(s, v, pos, end_pos, prob);
    else if (prob >= s->opts.threshold)
        begin(s, v, pos, prob);
    uint64_t quiet_pos = v->speaking && !v->quiet ? end_pos
        : v->heard                                ? v->quiet_pos
                                                  : v->endpoint.begin_pos;
    rill_rule rule = endpoint_rule(&v->endpoint, quiet_pos, end_pos, v->heard);
    if (rule == RILL_RULE_NONE)
        return;
    if (v->speaking && rule != RILL_RULE_LENGTH)
        end(s, v, prob);
    endpoint_report(&v->endpoint, s, rule, end_pos);
    v->heard = v->speaking;
}

static void frame(rill_sink *s, const float *x)
{
    struct vad *v = s->state;
    detect(s, v, x);
    if (v->gate)
        gate_decide(v->gate, s, sink_pos(s, s->n_frames + 1));
}

static void more(rill_sink *s)
{
    struct vad *v = s->state;
    if (v->gate)
        gate_more(v->gate, s);
}

static void cut(rill_sink *s)
{
    struct vad *v = s->state;
    if (v->gate)
        gate_cut(v->gate);
    v->endpoint.begin_pos = sink_pos(s, s->n_frames);
    v->heard = v->speaking;
}

static void finish(rill_sink *s)
{
    struct vad *v = s->state;
    if (v->speaking) {
        if (!v->quiet)
            v->quiet_pos = sink_pos(s, s->n_frames);
        end(s, v, 0);
        s->events[0].end_pos = sink_pos(s, s->n_frames);
    }
    if (v->gate)
        gate_finish(v->gate, s);
}

static void alone(rill_sink *s, bool yes)
{
    struct vad *v = s->state;
    if (v->gate)
        gate_alone(v->gate, yes);
}

static struct gate *gate(const rill_sink *s)
{
    const struct vad *v = s->state;
    return v->gate;
}

static void drop(rill_sink *s)
{
    struct vad *v = s->state;
    if (v)
        gate_drop(v->gate);
}

const struct sink_kind sink_vad = { .port = RILL_PORT_VAD,
                                    .make = make,
                                    .reset = reset,
                                    .frame = frame,
                                    .more = more,
                                    .cut = cut,
                                    .finish = finish,
                                    .alone = alone,
                                    .gate = gate,
                                    .drop = drop };

rill_status vad_listen(rill_sink *s, gate_recogniser make_recogniser, const rill_plan *plan,
                       unsigned port, const rill_sink_opts *opts, rill_error *reterr)
{
    struct vad *v = s->state;
    if (s->kind != &sink_vad || v->gate || s->n_frames)
        return err_set(
            reterr, RILL_INVALID,
            "a recogniser goes behind a sink of kind vad that has none and read nothing");
    return gate_make(&v->gate, s, make_recogniser, plan, port, opts, reterr);
}

rill_status rill_sink_audio(rill_sink *s, const float *x, size_t n_samples)
{
    struct gate *g = sink_gate(s);
    return g ? gate_audio(g, x, n_samples) : RILL_INVALID;
}
