/* SPDX-License-Identifier: MIT */
/* tiny: a denoiser between two pipes.
 *
 *   tiny [MODEL] < noisy.f32 > clean.f32
 *
 * Reads and writes raw 32-bit float samples at the model's rate: sample n of what comes out is
 * sample n of what went in, and as many come. MODEL is a model folder; without
 * it the denoiser that is built into the library runs. */
#include <rill.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(const rill_error *err)
{
    fprintf(stderr, "tiny: %s: %s\n", rill_status_text(err->status), err->text);
    return 1;
}

/* What is still to be cut off the front or to be filled there, and what was written. */
struct output {
    unsigned port;
    uint64_t skip, fill, written;
};

static void silence(struct output *o, uint64_t until)
{
    for (const float zero = 0; o->written < until; o->written++)
        fwrite(&zero, sizeof zero, 1, stdout);
}

/* Hands every frame of the last run to standard output, up to `most` in all. */
static void drain(rill_stream *s, struct output *o, uint64_t most)
{
    float y[1024];
    size_t n;
    while (rill_stream_pull(s, o->port, y, 1024, &n) == RILL_OK && n) {
        size_t skip = n < o->skip ? n : (size_t) o->skip;
        o->skip -= skip;
        silence(o, o->fill < most ? o->fill : most);
        n = n - skip < most - o->written ? n - skip : (size_t) (most - o->written);
        o->written += fwrite(y + skip, sizeof *y, n, stdout);
    }
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
    rill_port ports[16] = { { .struct_bytes = sizeof *ports } };
    rill_alignment lie = { .struct_bytes = sizeof lie };
    float x[1024];
    uint64_t total = 0;

    if (argc > 1 ? rill_model_open(&model, argv[1], &err)
                 : rill_model_builtin(&model, rill_model_builtin_name(0), &err))
        return fail(&err);
    if (rill_plan_new(&plan, model, NULL, &err))
        return fail(&err);
    rill_model_free(model);
    struct output out = { .port = audio_output(ports, rill_plan_ports(plan, ports, 16)) };
    rill_port_align(&ports[out.port], 0, &lie);
    out.skip = lie.cut_frames;
    out.fill = lie.fill_frames;

    void *mem = aligned_alloc(64, (rill_plan_stream_size(plan) + 63) / 64 * 64);
    if (!mem)
        return 1;
    rill_stream *s = rill_stream_init_for(mem, plan, &out.port, 1);
    rill_thread_prepare();

    for (size_t n; (n = fread(x, sizeof *x, 1024, stdin)) > 0;)
        for (size_t at = 0, taken; at < n; at += taken) {
            if (rill_stream_push(s, 0, x + at, n - at, &taken))
                return rill_stream_fault(s, &err), fail(&err);
            total += taken;
            while (rill_stream_run(s) == RILL_OK)
                drain(s, &out, UINT64_MAX);
        }
    rill_stream_finish(s);
    rill_port_align(&ports[out.port], total, &lie);
    while (rill_stream_run(s) == RILL_OK)
        drain(s, &out, lie.frames);
    if (rill_stream_fault(s, &err))
        return fail(&err);
    silence(&out, lie.frames);

    free(mem);
    rill_plan_unref(plan);
    return fflush(stdout) ? 1 : 0;
}
