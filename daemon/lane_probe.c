/* SPDX-License-Identifier: MIT */
/* Finding out about a model: its ports, its delay, what a pulse costs. */
#include "daemon/lane_in.h"
#include "daemon/pcm.h"

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

static void lookahead_note(struct lane_model *m, const rill_port *p)
{
    if (!p->is_input && p->kind != RILL_PORT_TENSOR &&
        p->delay_samples > (int64_t) m->lookahead_samples)
        m->lookahead_samples = (uint32_t) p->delay_samples;
}

static rill_status ports_choose(struct lane_model *m, rill_plan *plan, uint32_t sample_rate,
                                rill_error *reterr)
{
    rill_port ports[32];
    unsigned n = rill_plan_ports(plan, ports, 32);
    *m = (struct lane_model) { .plan = plan,
                               .audio_in = -1,
                               .audio_out = -1,
                               .vad_out = -1,
                               .rate = sample_rate,
                               .words_plan = m->words_plan,
                               .words_port = m->words_port };
    for (unsigned i = 0; i < n && i < 32; i++) {
        const rill_port *p = &ports[i];
        lookahead_note(m, p);
        if (p->is_input && m->audio_in < 0 && p->kind == RILL_PORT_AUDIO && p->width == 1) {
            m->audio_in = (int) i;
            m->pulse_samples = p->pulse_frames;
            if (p->rate_num && p->rate_den)
                m->rate = p->rate_num / p->rate_den;
        } else if (p->is_input) {
            return probe_fail(reterr, RILL_UNSUPPORTED,
                              "the model has an input that is not audio of one channel; "
                              "a stream feeds exactly one");
        } else if (m->audio_out < 0 && p->kind == RILL_PORT_AUDIO && p->width == 1) {
            m->audio_out = (int) i;
            m->delay_samples = p->delay_samples > 0 ? (uint32_t) p->delay_samples : 0;
        } else if (m->vad_out < 0 && p->kind == RILL_PORT_VAD && p->width == 1) {
            m->vad_out = (int) i;
            m->vad_hop_samples = p->hop_samples;
            m->vad_pulse_frames = p->pulse_frames;
            m->vad_skip_frames = p->delay_frames;
        } else if (p->kind >= RILL_PORT_KEYWORD && p->hop_samples && m->n_heard < HEARD_PORTS_MAX) {
            m->heard[m->n_heard++] =
                (struct heard_port) { .port = i, .kind = p->kind, .width = p->width };
        } else if (m->n_others < LANE_MAX_OTHERS) {
            m->others[m->n_others++] = i;
            m->other_width = p->width > m->other_width ? p->width : m->other_width;
        }
    }
    if (m->audio_in < 0 || (m->audio_out < 0 && m->vad_out < 0 && !m->n_heard))
        return probe_fail(reterr, RILL_UNSUPPORTED,
                          "the model needs an audio input and an output of audio, vad, keywords or "
                          "words; model.conf declares which port is which");
    if (m->rate < PCM_MIN_RATE || m->rate > PCM_MAX_RATE)
        return probe_fail(reterr, RILL_UNSUPPORTED,
                          "the model's sample rate is not declared or not within 8000..192000; "
                          "model.conf states it");
    if (!m->pulse_samples || m->pulse_samples > 1u << 20 ||
        (m->vad_out >= 0 && !m->vad_hop_samples) || m->vad_pulse_frames > VAD_PER_STEP_MAX ||
        m->delay_samples > 1u << 22)
        return probe_fail(reterr, RILL_UNSUPPORTED,
                          "the model's pulse, hop or delay is out of range");
    return heard_check(m, reterr);
}

struct probe_count {
    uint64_t audio, vad;
};

static void probe_pull(rill_stream *s, const struct lane_model *m, float *buf,
                       struct probe_count *c)
{
    size_t n;
    while (m->audio_out >= 0 &&
           rill_stream_pull(s, (unsigned) m->audio_out, buf, m->pulse_samples, &n) == RILL_OK && n)
        c->audio += n;
    while (m->vad_out >= 0 &&
           rill_stream_pull(s, (unsigned) m->vad_out, buf, m->pulse_samples, &n) == RILL_OK && n)
        c->vad += n;
    for (unsigned k = 0; k < m->n_others; k++)
        while (rill_stream_pull(s, m->others[k], buf, 1, &n) == RILL_OK && n)
            ;
    for (unsigned k = 0; k < m->n_heard; k++)
        while (rill_stream_pull(s, m->heard[k].port, buf, 1, &n) == RILL_OK && n)
            ;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

#define PROBE_PULSES_MIN 24
#define PROBE_PULSES_MAX 4096

static void noise_make(float *x, size_t n, uint32_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float) (int32_t) *seed * 0x1p-34f;
    }
}

/* Runs noise through the stream. What arrives tells whether a port skips its delay itself. */
static void probe_run(rill_stream *s, struct lane_model *m, float *buf, uint64_t *times_ns,
                      unsigned n_pulses)
{
    struct probe_count came = { 0, 0 };
    size_t took;
    uint32_t seed = 1;
    uint64_t cpu_ns = 0, wall_ns = 0;
    for (unsigned k = 0; k < n_pulses; k++) {
        noise_make(buf, m->pulse_samples, &seed);
        rill_stream_push(s, (unsigned) m->audio_in, buf, m->pulse_samples, &took);
        uint64_t wall = now_ns(), t = thread_cpu_ns(pthread_self());
        rill_stream_run(s);
        times_ns[k] = thread_cpu_ns(pthread_self()) - t;
        wall_ns += now_ns() - wall;
        cpu_ns += times_ns[k];
        probe_pull(s, m, buf, &came);
    }
    uint64_t run = (uint64_t) n_pulses * m->pulse_samples,
             frames = (uint64_t) n_pulses * m->vad_pulse_frames;
    m->wall_share = cpu_ns && wall_ns > cpu_ns ? (float) wall_ns / (float) cpu_ns : 1;
    m->audio_skip_samples = came.audio + m->delay_samples <= run ? 0 : m->delay_samples;
    if (m->vad_out >= 0 && came.vad + m->vad_skip_frames <= frames)
        m->vad_skip_frames = 0;
}

#define PROBE_ROUNDS 4

/* What all but a twentieth of the pulses take at most. Where that is far from what most take, the
 * machine may have stopped in between: what is so in every round is the model's. */
static uint64_t probe_cost_ns(void *mem, rill_plan *plan, struct lane_model *m, float *buf,
                              uint64_t *times_ns, unsigned n)
{
    uint64_t least = UINT64_MAX;
    for (unsigned k = 0; k < PROBE_ROUNDS; k++) {
        probe_run(rill_stream_init(mem, plan), m, buf, times_ns, n);
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
    rill_status status = ports_choose(m, plan, sample_rate, reterr);
    if (status != RILL_OK)
        return status;
    unsigned n = m->delay_samples / m->pulse_samples * 2 + PROBE_PULSES_MIN;
    n = n < PROBE_PULSES_MAX ? n : PROBE_PULSES_MAX;
    size_t bytes = (rill_plan_stream_size(plan) + 63) & ~(size_t) 63;
    void *mem = aligned_alloc(64, bytes ? bytes : 64);
    uint32_t widest = m->other_width;
    for (unsigned i = 0; i < m->n_heard; i++)
        widest = m->heard[i].width > widest ? m->heard[i].width : widest;
    float *buf = calloc((size_t) m->pulse_samples + widest, sizeof *buf);
    uint64_t *times_ns = calloc(n, sizeof *times_ns);
    if (mem && buf && times_ns) {
        rill_thread_prepare();
        uint64_t cost_ns = probe_cost_ns(mem, plan, m, buf, times_ns, n);
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
