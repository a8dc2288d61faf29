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
        "such input; the library and rill's own commands run the model",
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

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

#define PROBE_PULSES 64

static void noise_make(float *x, size_t n, uint32_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float) (int32_t) *seed * 0x1p-34f;
    }
}

/* Runs noise through the stream. */
static void probe_run(rill_stream *s, struct lane_model *m, float *buf, uint64_t *times_ns,
                      unsigned n_pulses)
{
    size_t took;
    uint32_t seed = 1;
    uint64_t cpu_ns = 0, wall_ns = 0;
    for (unsigned k = 0; k < n_pulses; k++) {
        noise_make(buf, m->pulse_samples, &seed);
        rill_stream_push(s, (unsigned) m->audio_in, buf, m->pulse_samples, &took);
        uint64_t wall = clock_now_ns(), t = thread_cpu_ns(pthread_self());
        bool stopped = rill_stream_run(s) == RILL_INVALID;
        times_ns[k] = thread_cpu_ns(pthread_self()) - t;
        wall_ns += clock_now_ns() - wall;
        cpu_ns += times_ns[k];
        probe_pull(s, m, buf, 1);
        if (stopped)
            rill_stream_reset(s);
    }
    m->wall_share = cpu_ns && wall_ns > cpu_ns ? (float) wall_ns / (float) cpu_ns : 1;
}

#define PROBE_ROUNDS 4

/* The 95th percentile of the pulses' times. Where it is far from the median, something else may
 * have run in between, so it is measured again: what every round shows is the model's. */
static uint64_t probe_cost_ns(void *mem, rill_plan *plan, struct lane_model *m, float *buf,
                              uint64_t *times_ns, unsigned n)
{
    uint64_t least = UINT64_MAX;
    for (unsigned k = 0; k < PROBE_ROUNDS; k++) {
        probe_run(rill_stream_init_for(mem, plan, m->wanted, m->n_wanted), m, buf, times_ns, n);
        qsort(times_ns, n, sizeof *times_ns, by_value);
        uint64_t most = times_ns[n * 95 / 100];
        least = most < least ? most : least;
        if (most <= 2 * times_ns[n / 2])
            break;
    }
    return least;
}

rill_status lane_model_probe(struct lane_model *m, rill_plan *plan, uint32_t sample_rate,
                             float *ret_rtf, rill_error *reterr)
{
    unsigned n_ports = 0;
    rill_port *ports = plan_ports(plan, &n_ports);
    rill_status status = ports ? ports_choose(m, plan, ports, n_ports, sample_rate, reterr)
                               : probe_fail(reterr, RILL_NOMEM, "out of memory");
    free(ports);
    if (status != RILL_OK)
        return status;
    size_t bytes = (rill_plan_stream_size(plan) + 63) & ~(size_t) 63;
    void *mem = aligned_alloc(64, bytes ? bytes : 64);
    uint32_t widest = 1;
    for (unsigned i = 0; i < m->n_sink_ports; i++)
        widest = m->sink_ports[i].width > widest ? m->sink_ports[i].width : widest;
    float *buf = calloc((size_t) m->pulse_samples + widest, sizeof *buf);
    uint64_t *times_ns = calloc(PROBE_PULSES, sizeof *times_ns);
    if (mem && buf && times_ns) {
        rill_thread_prepare();
        uint64_t cost_ns = probe_cost_ns(mem, plan, m, buf, times_ns, PROBE_PULSES);
        double pulse_ns = 1e9 * (double) m->pulse_samples / (double) m->rate;
        m->run_us = (uint32_t) (cost_ns / 1000) + 1;
        *ret_rtf = (float) ((double) cost_ns / pulse_ns);
    } else {
        status = probe_fail(reterr, RILL_NOMEM, "out of memory");
    }
    free(mem);
    free(buf);
    free(times_ns);
    return status;
}
