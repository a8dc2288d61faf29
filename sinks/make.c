/* SPDX-License-Identifier: MIT */
/* Making a sink: its kind by what it reads, and its options. */
#include "sinks/gate.h"
#include "engine/base/sized.h"

#include <math.h>
#include <stdlib.h>

#define SINK_BYTES_MAX ((size_t) 256 << 20)

static const struct sink_kind *const kinds[] = {
#define X(name) &sink_##name,
    SINK_KIND_EACH(X)
#undef X
};

static const struct sink_kind *kind_of(rill_port_kind port)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->port == port)
            return kinds[i];
    return NULL;
}

/* ---- options ---- */

static rill_status opts_fill(rill_sink *s, rill_error *err)
{
    rill_sink_opts *o = &s->opts;
    if (!(o->threshold >= 0 && o->threshold <= 1) || !(o->release >= 0 && o->release <= 1) ||
        !(o->stability >= 0 && o->stability <= 1) || !(o->confidence >= 0 && o->confidence <= 1))
        return err_set(err, RILL_INVALID,
                       "threshold, release, stability and confidence are from 0 to 1");
    if (o->scores > RILL_SCORES_PROBS || o->units > RILL_UNITS_CHARS)
        return err_set(err, RILL_INVALID,
                       "scores is %u and units %u; known are 0 to %d and 0 to %d",
                       (unsigned) o->scores, (unsigned) o->units, RILL_SCORES_PROBS,
                       RILL_UNITS_CHARS);
    if (!isfinite(o->blank_penalty) || !isfinite(o->hotwords_score) || !isfinite(o->lm_scale))
        return err_set(err, RILL_INVALID, "blank_penalty, hotwords_score and lm_scale are numbers");
    o->hotwords_score = o->hotwords_score != 0 ? o->hotwords_score : 1.5f;
    o->lm_scale = o->lm_scale != 0 ? o->lm_scale : 0.3f;
    o->endpoint_frames = o->endpoint_frames ? o->endpoint_frames : 1;
    o->beam = o->beam ? o->beam : o->kind == RILL_PORT_TRANSDUCER ? 4 : 8;
    o->max_tokens = o->max_tokens ? o->max_tokens : 192;
    o->threshold = o->threshold > 0 ? o->threshold : 0.5f;
    o->release = o->release > 0 && o->release < o->threshold ? o->release : o->threshold;
    o->smooth_frames = o->smooth_frames ? o->smooth_frames : 1;
    o->patience_frames = o->patience_frames ? o->patience_frames : 1;
    if (o->beam > RILL_BEAM_MAX || o->max_tokens < SINK_TOKENS_MIN ||
        o->max_tokens > SINK_TOKENS_MAX)
        return err_set(err, RILL_INVALID,
                       "beam is at most %d and max_tokens %d to %d; they are %u and %u",
                       RILL_BEAM_MAX, SINK_TOKENS_MIN, SINK_TOKENS_MAX, o->beam, o->max_tokens);
    if (o->endpoint_frames > SINK_FRAMES_MAX || o->smooth_frames > SINK_FRAMES_MAX ||
        o->patience_frames > SINK_FRAMES_MAX)
        return err_set(err, RILL_INVALID,
                       "endpoint_frames, smooth_frames and patience_frames are at most %d",
                       SINK_FRAMES_MAX);
    bool biased = (o->hotwords && *o->hotwords) || (o->lm && *o->lm);
    if ((biased || o->blank_penalty != 0) && o->kind != RILL_PORT_TRANSDUCER)
        return err_set(err, RILL_INVALID, "hotwords, lm and blank_penalty are for transducers");
    if (biased && o->beam == 1)
        return err_set(err, RILL_INVALID, "hotwords and lm need a beam of 2 or more; it is 1");
    const uint32_t ms[] = { o->rule1_ms,    o->rule2_ms,    o->rule3_ms,
                            o->debounce_ms, o->hangover_ms, o->preroll_ms };
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
        if (ms[i] > SINK_MS_MAX || (ms[i] && !s->sample_rate))
            return err_set(
                err, RILL_INVALID,
                ms[i] > SINK_MS_MAX
                    ? "a time is at most a day, 86400000 ms"
                    : "times in milliseconds need the sample_rate that model.conf does not state");
    return RILL_OK;
}

/* ---- making ---- */

static uint32_t sample_rate_of(const rill_port *p)
{
    uint64_t hops = (uint64_t) p->rate_den * p->hop_den;
    return hops ? (uint32_t) ((uint64_t) p->rate_num * p->hop_num / hops) : 0;
}

static rill_status sink_make(rill_sink *s, rill_error *err)
{
    if (!s->port.width || !s->port.hop_num)
        return err_set(err, RILL_INVALID, "output '%s' does not run along time",
                       s->port.name ? s->port.name : "");
    if (s->port.type != RILL_TYPE_F32)
        return err_set(err, RILL_INVALID, "output '%s' is %s; sinks read f32",
                       s->port.name ? s->port.name : "", rill_type_name(s->port.type));
    TRY(opts_fill(s, err));
    TRY(s->kind->make(s, err));
    TRY(rill_sink_fault(s, err));
    s->opts.tokens = s->opts.words = s->opts.ignore = s->opts.hotwords = s->opts.pieces =
        s->opts.lm = NULL;
    rill_sink_reset(s, 0);
    s->segment = 0;
    return RILL_OK;
}

rill_status sink_new(rill_sink **ret, const rill_port *port, rill_plan *plan,
                     const rill_sink_opts *opts, rill_error *err)
{
    const struct sink_kind *kind = kind_of(opts->kind);
    if (!kind)
        return err_set(err, RILL_INVALID, "no sink reads outputs of kind %d", (int) opts->kind);
    rill_sink *s = calloc(1, sizeof *s);
    if (!s)
        return sink_no_memory(err);
    *s = (rill_sink) { .kind = kind,
                       .opts = *opts,
                       .port = *port,
                       .sample_rate = sample_rate_of(port),
                       .plan = plan,
                       .arena = { .limit_bytes = SINK_BYTES_MAX } };
    if (plan)
        rill_plan_ref(plan);
    rill_status status = sink_make(s, err);
    if (status != RILL_OK) {
        rill_sink_free(s);
        return status;
    }
    *ret = s;
    return RILL_OK;
}

static rill_status port_of(rill_port *ret, const rill_plan *p, unsigned port, rill_error *err)
{
    const unsigned n = rill_plan_ports(p, NULL, 0);
    rill_port *ports = calloc(n + 1u, sizeof *ports);
    if (!ports)
        return sink_no_memory(err);
    ports->struct_bytes = sizeof *ports;
    const bool is_output = port < rill_plan_ports(p, ports, n) && !ports[port].is_input;
    if (is_output)
        *ret = ports[port];
    free(ports);
    return is_output ? RILL_OK : err_set(err, RILL_INVALID, "port %u is not an output", port);
}

rill_status rill_sink_new(rill_sink **ret, const rill_plan *p, unsigned port,
                          const rill_sink_opts *opts, rill_error *reterr)
{
    rill_sink_opts own = { .struct_bytes = sizeof own };
    rill_port at;
    TRY(port_of(&at, p, port, reterr));
    TRY(opts ? sized_take(&sized_sink_opts, &own, opts, reterr)
             : rill_sink_defaults(&own, p, port, reterr));
    rill_plan *plan = (rill_plan *) (uintptr_t) p; /* only the count changes */
    return sink_new(ret, &at, plan, &own, reterr);
}

rill_status rill_sink_listen(rill_sink *s, const rill_plan *plan, unsigned port,
                             const rill_sink_opts *opts, rill_error *reterr)
{
    return vad_listen(s, rill_sink_new, plan, port, opts, reterr);
}
