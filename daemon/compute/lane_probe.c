/* SPDX-License-Identifier: MIT */
/* Finds the ports of a model and measures what a pulse costs. */
#include "daemon/compute/lane_internal.h"
#include "daemon/compute/plan_ports.h"
#include "daemon/base/clock.h"
#include "daemon/compute/pcm.h"

#include <stdio.h>

static rill_status probe_fail(rill_error *e, rill_status s, const char *text)
{
    if (e) {
        e->status = s;
        size_t n = strlen(text);
        n = n < sizeof e->text ? n : sizeof e->text - 1;
        memcpy(e->text, text, n);
        e->text[n] = '\0';
    }
    return s;
}

static void want(struct lane_model *m, const rill_port *p, unsigned port)
{
    if (m->n_wanted == sizeof m->wanted / sizeof *m->wanted)
        return;
    m->wanted[m->n_wanted++] = port;
    if (p->latency_samples > m->lookahead_samples)
        m->lookahead_samples = p->latency_samples;
}

static void audio_out_set(struct lane_model *m, const rill_port *p, unsigned port)
{
    rill_alignment lie = { .struct_bytes = sizeof lie };
    rill_port_align(p, 0, &lie);
    m->audio_out = (int) port;
    m->latency_samples = p->latency_samples;
    m->cut_samples = (uint32_t) lie.cut_frames;
    m->fill_samples = (uint32_t) lie.fill_frames;
    m->delay_samples = (uint32_t) lie.late_frames;
    want(m, p, port);
}

static void vad_out_set(struct lane_model *m, const rill_port *p, unsigned port)
{
    m->vad_out = (int) port;
    m->vad_hop_samples = p->hop_den == 1 ? p->hop_num : 0;
    m->vad_pulse_frames = p->pulse_frames;
    m->vad_offset_samples = p->offset_num / (int32_t) p->offset_den;
    want(m, p, port);
}

static bool has_events(rill_port_kind kind)
{
    return kind != RILL_PORT_TENSOR && kind != RILL_PORT_AUDIO && kind != RILL_PORT_VAD;
}

static rill_status output_choose(struct lane_model *m, const rill_port *p, unsigned port,
                                 rill_error *reterr)
{
    if (m->audio_out < 0 && p->kind == RILL_PORT_AUDIO && p->width == 1) {
        if (p->hop_num != 1 || p->hop_den != 1)
            return probe_fail(reterr, RILL_UNSUPPORTED,
                              "the model's audio comes out at another rate than it goes in; a "
                              "stream wants them alike");
        audio_out_set(m, p, port);
    } else if (m->vad_out < 0 && p->kind == RILL_PORT_VAD && p->width == 1) {
        vad_out_set(m, p, port);
    } else if (has_events(p->kind) && p->hop_num) {
        if (m->n_sink_ports == SINK_PORTS_MAX)
            return probe_fail(
                reterr, RILL_LIMIT,
                "the model has more than 32 outputs with events; select_outputs keeps "
                "those that are wanted");
        m->sink_ports[m->n_sink_ports++] =
            (struct sink_port) { .port = port, .kind = p->kind, .width = p->width };
        want(m, p, port);
    }
    return RILL_OK;
}

static rill_status input_refuse(const rill_port *p, rill_error *reterr)
{
    char text[300];
    snprintf(
        text, sizeof text,
        "input '%.80s', %u %s a frame, is not audio of one channel: a stream feeds exactly one "
        "such input; OpenPorts streams the ports of any model",
        p->name, p->width, rill_type_name(p->type));
    return probe_fail(reterr, RILL_UNSUPPORTED, text);
}

static rill_status ports_choose(struct lane_model *m, rill_plan *plan, const rill_port *ports,
                                unsigned n, uint32_t sample_rate, rill_error *reterr)
{
    *m = (struct lane_model) { .plan = plan,
                               .audio_in = -1,
                               .audio_out = -1,
                               .vad_out = -1,
                               .rate = sample_rate,
                               .words_plan = m->words_plan,
                               .words_port = m->words_port };
    for (unsigned i = 0; i < n; i++) {
        const rill_port *p = &ports[i];
        rill_status status = RILL_OK;
        if (p->is_input && m->audio_in < 0 && p->kind == RILL_PORT_AUDIO && p->width == 1) {
            m->audio_in = (int) i;
            m->pulse_samples = p->pulse_frames;
            m->lead_in_samples = p->pulse_frames - (uint32_t) p->first_frames;
            if (p->rate_num && p->rate_den)
                m->rate = p->rate_num / p->rate_den;
        } else if (p->is_input) {
            return input_refuse(p, reterr);
        } else {
            status = output_choose(m, p, i, reterr);
        }
        if (status != RILL_OK)
            return status;
    }
    if (m->audio_in < 0 || (m->audio_out < 0 && m->vad_out < 0 && !m->n_sink_ports))
        return probe_fail(reterr, RILL_UNSUPPORTED,
                          "the model needs an audio input and an output of audio, vad, keywords or "
                          "words; model.conf declares which port is which");
    if (m->rate < PCM_MIN_RATE || m->rate > PCM_MAX_RATE)
        return probe_fail(reterr, RILL_UNSUPPORTED,
                          "the model's sample rate is not declared or not within 8000..192000; "
                          "model.conf states it");
    if (!m->pulse_samples || m->pulse_samples > 1u << 20 ||
        (m->vad_out >= 0 && !m->vad_hop_samples) || m->vad_pulse_frames > VAD_PER_STEP_MAX ||
        m->latency_samples > 1u << 22 || m->cut_samples > 1u << 22 || m->fill_samples > 1u << 22)
        return probe_fail(reterr, RILL_UNSUPPORTED,
                          "the model's pulse, hop, latency or offset is out of range");
    return lane_sinks_check(m, reterr);
}

static void probe_pull(rill_stream *s, const struct lane_model *m, float *buf, size_t cap_frames)
{
    size_t n;
    for (unsigned k = 0; k < m->n_wanted; k++)
        while (rill_stream_pull(s, m->wanted[k], buf, cap_frames, &n) == RILL_OK && n)
            ;
}

#define PROBE_PULSES 64

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

static void noise_make(float *x, size_t n, uint32_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float) (int32_t) *seed * 0x1p-34f;
    }
}

/* A pulse for each input: noise where that is audio, 0 of any other type. */
static void probe_push(rill_stream *s, const struct lane_model *m, const rill_port *ports,
                       unsigned n_ports, void *buf, uint32_t *seed)
{
    size_t took;
    for (unsigned i = 0; i < n_ports && ports[i].is_input; i++) {
        memset(buf, 0, (size_t) ports[i].pulse_frames * ports[i].width * ports[i].element_bytes);
        if ((int) i == m->audio_in)
            noise_make(buf, m->pulse_samples, seed);
        rill_stream_push(s, i, buf, ports[i].pulse_frames, &took);
    }
}

struct probe {
    struct lane_model *model;
    rill_port *ports;
    unsigned n_ports;
    void *mem; /* of a stream */
    void *buf; /* a pulse of the largest port */
    bool alone;
    uint64_t times_ns[PROBE_PULSES];
};

/* Runs noise through the stream. */
static void probe_run(struct probe *p, rill_stream *s)
{
    struct lane_model *m = p->model;
    uint32_t seed = 1;
    rill_stream_alone(s, p->alone);
    uint64_t cpu_ns = 0, wall_ns = 0;
    for (unsigned k = 0; k < PROBE_PULSES; k++) {
        probe_push(s, m, p->ports, p->n_ports, p->buf, &seed);
        uint64_t wall = clock_now_ns(), t = thread_cpu_ns(pthread_self());
        bool stopped = rill_stream_run(s) == RILL_INVALID;
        p->times_ns[k] = thread_cpu_ns(pthread_self()) - t;
        wall_ns += clock_now_ns() - wall;
        cpu_ns += p->times_ns[k];
        probe_pull(s, m, p->buf, 1);
        if (stopped)
            rill_stream_reset(s);
    }
    m->wall_share = cpu_ns && wall_ns > cpu_ns ? (float) wall_ns / (float) cpu_ns : 1;
}

#define PROBE_ROUNDS 4

/* The 95th percentile of the pulses' times. Where it is far from the median, something else may
 * have run in between, so it is measured again: what every round shows is the model's. */
static uint64_t probe_cost_ns(struct probe *p)
{
    const struct lane_model *m = p->model;
    uint64_t least = UINT64_MAX;
    for (unsigned k = 0; k < PROBE_ROUNDS; k++) {
        probe_run(p, rill_stream_init_for(p->mem, m->plan, m->wanted, m->n_wanted));
        qsort(p->times_ns, PROBE_PULSES, sizeof *p->times_ns, by_value);
        uint64_t most = p->times_ns[PROBE_PULSES * 95 / 100];
        least = most < least ? most : least;
        if (most <= 2 * p->times_ns[PROBE_PULSES / 2])
            break;
    }
    return least;
}

static rill_status probe_measure(struct probe *p, float *ret_rtf, rill_error *reterr)
{
    struct lane_model *m = p->model;
    size_t bytes = (rill_plan_stream_size(m->plan) + 63) & ~(size_t) 63, most = 1;
    for (unsigned i = 0; i < p->n_ports; i++) {
        const rill_port *q = &p->ports[i];
        size_t pulse_bytes = (size_t) q->pulse_frames * q->width * q->element_bytes;
        most = pulse_bytes > most ? pulse_bytes : most;
    }
    p->mem = aligned_alloc(64, bytes ? bytes : 64);
    p->buf = malloc(most);
    if (!p->mem || !p->buf)
        return probe_fail(reterr, RILL_NOMEM, "out of memory");
    rill_thread_prepare();
    uint64_t cost_ns = probe_cost_ns(p);
    double pulse_ns =
        m->rate ? 1e9 * (double) m->pulse_samples / (double) m->rate : 1e3 * (double) m->pulse_us;
    m->run_us = (uint32_t) (cost_ns / 1000) + 1;
    *ret_rtf = m->rate || m->is_timed ? (float) ((double) cost_ns / pulse_ns) : 0;
    return RILL_OK;
}

/* ---- models without audio for a client ---- */

#define UNTIMED_PULSE_US 20000 /* what a pulse is taken to last where nothing says so */

/* Such a model serves streams of ports alone. */
static rill_status ports_only(struct lane_model *m, rill_plan *plan, const rill_port *ports,
                              unsigned n, const char *why, rill_error *reterr)
{
    char text[300];
    unsigned clock = ports_clock(ports, n);
    if (m->words_plan)
        return probe_fail(reterr, RILL_UNSUPPORTED, why);
    if (!ports_check(ports, n, text))
        return probe_fail(reterr, RILL_UNSUPPORTED, text);
    double us = lane_ports_pulse_us(ports, n, clock);
    *m = (struct lane_model) { .plan = plan,
                               .audio_in = -1,
                               .audio_out = -1,
                               .vad_out = -1,
                               .pulse_samples = ports[clock].pulse_frames,
                               .is_timed = us > 0,
                               .pulse_us = us > 0 && us < 1 ? 1
                                   : us > UINT32_MAX        ? UINT32_MAX
                                   : us > 0                 ? (uint32_t) us
                                                            : UNTIMED_PULSE_US };
    snprintf(m->audio_error, sizeof m->audio_error, "%.299s", why);
    return RILL_OK;
}

static rill_status model_probe(struct lane_model *m, rill_plan *plan, uint32_t sample_rate,
                               bool alone, float *ret_rtf, rill_error *reterr)
{
    struct probe p = { .model = m, .alone = alone };
    rill_error why = { .text = "" };
    p.ports = plan_ports(plan, &p.n_ports);
    rill_status status = p.ports ? ports_choose(m, plan, p.ports, p.n_ports, sample_rate, &why)
                                 : probe_fail(&why, RILL_NOMEM, "out of memory");
    if (status == RILL_UNSUPPORTED)
        status = ports_only(m, plan, p.ports, p.n_ports, why.text, reterr);
    else if (status != RILL_OK)
        probe_fail(reterr, status, why.text);
    if (status == RILL_OK)
        status = probe_measure(&p, ret_rtf, reterr);
    free(p.ports);
    free(p.mem);
    free(p.buf);
    return status;
}

rill_status lane_model_probe(struct lane_model *m, rill_plan *plan, uint32_t sample_rate,
                             float *ret_rtf, rill_error *reterr)
{
    return model_probe(m, plan, sample_rate, true, ret_rtf, reterr);
}

rill_status lane_model_probe_shared(struct lane_model *m, rill_plan *plan, uint32_t sample_rate,
                                    float *ret_rtf, rill_error *reterr)
{
    return model_probe(m, plan, sample_rate, false, ret_rtf, reterr);
}
