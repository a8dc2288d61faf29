/* SPDX-License-Identifier: MIT */
/* tiny: a denoiser between two pipes.
 *
 *   tiny [MODEL] < noisy.f32 > clean.f32
 *
 * Reads and writes raw 32-bit float samples at the model's rate. MODEL is a model folder; without
 * it the denoiser that is built into the library runs. */
#include <rill.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(const rill_error *err)
{
    fprintf(stderr, "tiny: %s: %s\n", rill_status_text(err->status), err->text);
    return 1;
}

/* Hands every frame of the last run to standard output. */
static void drain(rill_stream *s, unsigned port, float *y, size_t cap)
{
    size_t n;
    while (rill_stream_pull(s, port, y, cap, &n) == RILL_OK && n)
        fwrite(y, sizeof *y, n, stdout);
}

static unsigned audio_output(const rill_port *ports, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!ports[i].is_input && ports[i].kind == RILL_PORT_AUDIO)
            return i;
    fprintf(stderr, "tiny: the model gives no audio\n");
    exit(1);
}

int main(int argc, char **argv)
{
    rill_error err;
    rill_model *model;
    rill_plan *plan;
    rill_port ports[16];
    float x[1024], y[1024];

    if (argc > 1 ? rill_model_open(&model, argv[1], &err)
                 : rill_model_builtin(&model, rill_model_builtin_name(0), &err))
        return fail(&err);
    if (rill_plan_new(&plan, model, NULL, &err))
        return fail(&err);
    rill_model_free(model);
    unsigned out = audio_output(ports, rill_plan_ports(plan, ports, 16));

    void *mem = aligned_alloc(64, (rill_plan_stream_size(plan) + 63) / 64 * 64);
    if (!mem)
        return 1;
    rill_stream *s = rill_stream_init(mem, plan);
    rill_thread_prepare();

    for (size_t n; (n = fread(x, sizeof *x, 1024, stdin)) > 0;)
        for (size_t at = 0, taken; at < n; at += taken) {
            if (rill_stream_push(s, 0, x + at, n - at, &taken))
                return rill_stream_fault(s, &err), fail(&err);
            while (rill_stream_run(s) == RILL_OK)
                drain(s, out, y, 1024);
        }
    rill_stream_finish(s);
    while (rill_stream_run(s) == RILL_OK)
        drain(s, out, y, 1024);
    if (rill_stream_fault(s, &err))
        return fail(&err);

    free(mem);
    rill_plan_unref(plan);
    return fflush(stdout) ? 1 : 0;
}
