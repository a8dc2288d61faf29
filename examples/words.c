/* SPDX-License-Identifier: MIT */
/* words: what is said between two pipes.
 *
 *   words MODEL < speech.f32
 *
 * Reads raw 32-bit float samples at the model's rate and prints a line for each utterance, keyword
 * and edge of speech, with the second where it begins. MODEL is a model folder whose model.conf
 * says how its outputs are read. */
#include <rill.h>

#include <stdio.h>
#include <stdlib.h>

struct output {
    rill_port port;
    rill_sink *sink;
    float *frame;
};

static int fail(const rill_error *err)
{
    fprintf(stderr, "words: %s: %s\n", rill_status_text(err->status), err->text);
    return 1;
}

static void events_print(struct output *o, double rate)
{
    rill_event e = { .struct_bytes = sizeof e };
    rill_error err;
    while (rill_sink_next(o->sink, &e) == RILL_OK) {
        if (e.kind == RILL_EVENT_FINAL)
            printf("%.2f %s\n", (double) e.pos / rate, e.text);
        else if (e.kind == RILL_EVENT_KEYWORD)
            printf("%.2f [%s] %.2f\n", (double) e.pos / rate, e.text, (double) e.score);
        else if (e.kind == RILL_EVENT_SPEECH_START || e.kind == RILL_EVENT_SPEECH_END)
            printf("%.2f speech %s\n", (double) e.pos / rate,
                   e.kind == RILL_EVENT_SPEECH_START ? "begins" : "ends");
    }
    if (rill_sink_fault(o->sink, &err))
        exit(fail(&err));
}

/* Every output is pulled, also those that no sink reads: the stream waits for it. */
static void drain(rill_stream *s, struct output *o, unsigned n_ports, double rate)
{
    for (unsigned i = 1; i < n_ports; i++) {
        size_t n = 1, taken;
        while (rill_stream_pull(s, i, o[i].frame, 1, &n) == RILL_OK && n) {
            if (!o[i].sink)
                continue;
            rill_sink_push(o[i].sink, o[i].frame, 1, &taken);
            events_print(&o[i], rate);
        }
    }
}

int main(int argc, char **argv)
{
    rill_error err;
    rill_model *model;
    rill_plan *plan;
    rill_port ports[16] = { { .struct_bytes = sizeof *ports } };
    struct output o[16] = { 0 };
    float x[1024];

    if (argc != 2)
        return fprintf(stderr, "usage: words MODEL < speech.f32\n"), 2;
    if (rill_model_open(&model, argv[1], &err) || rill_plan_new(&plan, model, NULL, &err))
        return fail(&err);
    rill_model_free(model);
    unsigned n_ports = rill_plan_ports(plan, ports, 16);
    double rate = ports[0].rate_den ? (double) ports[0].rate_num / ports[0].rate_den : 1;
    for (unsigned i = 1; i < n_ports; i++) {
        o[i] = (struct output) { .port = ports[i],
                                 .frame = calloc(ports[i].width, ports[i].element_bytes) };
        if (ports[i].kind != RILL_PORT_TENSOR && ports[i].kind != RILL_PORT_AUDIO &&
            rill_sink_new(&o[i].sink, plan, i, NULL, &err))
            return fail(&err);
    }

    rill_stream *s =
        rill_stream_init(aligned_alloc(64, (rill_plan_stream_size(plan) + 63) / 64 * 64), plan);
    rill_thread_prepare();
    uint64_t n_samples = 0;
    for (size_t n; (n = fread(x, sizeof *x, 1024, stdin)) > 0; n_samples += n)
        for (size_t at = 0, taken; at < n; at += taken) {
            if (rill_stream_push(s, 0, x + at, n - at, &taken))
                return rill_stream_fault(s, &err), fail(&err);
            while (rill_stream_run(s) == RILL_OK)
                drain(s, o, n_ports, rate);
        }
    rill_stream_finish(s);
    for (unsigned i = 1; i < n_ports; i++)
        if (o[i].sink)
            rill_sink_end(o[i].sink, n_samples);
    while (rill_stream_run(s) == RILL_OK)
        drain(s, o, n_ports, rate);
    if (rill_stream_fault(s, &err))
        return fail(&err);

    for (unsigned i = 1; i < n_ports; i++) {
        if (o[i].sink) {
            rill_sink_finish(o[i].sink);
            events_print(&o[i], rate);
        }
        rill_sink_free(o[i].sink);
        free(o[i].frame);
    }
    free(s);
    rill_plan_unref(plan);
    return fflush(stdout) ? 1 : 0;
}
