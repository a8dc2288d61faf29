/* SPDX-License-Identifier: MIT */
/* Denoises 16 kHz mono floats from standard input to standard output through the daemon.
 *     cc client.c $(pkg-config --cflags --libs rill-client) -o client
 *     ./client [SOCKET] <noisy.f32 >clean.f32 */
#include <rill_client.h>

#include <stdio.h>

static void on_audio(void *arg, const struct rill_client_audio *a)
{
    if (fwrite(a->pcm, 1, a->bytes, stdout) != a->bytes)
        *(bool *) arg = true;
}

static void on_gap(void *arg, const struct rill_client_gap *g)
{
    (void) arg;
    fprintf(stderr, "%llu samples from %llu on were not processed\n",
            (unsigned long long) g->samples, (unsigned long long) g->pos);
}

static int run(struct rill_client *c, struct rill_client_finished *account)
{
    const struct rill_client_open open = { .in = { 16000, 1, RILL_CLIENT_F32 },
                                           .pace = RILL_CLIENT_FILE,
                                           .align = true };
    float samples[1024];
    size_t n;
    if (rill_client_open(c, 1, &open, NULL))
        return -1;
    while ((n = fread(samples, sizeof *samples, 1024, stdin)) > 0)
        if (rill_client_send(c, 1, samples, n * sizeof *samples))
            return -1;
    return rill_client_finish(c, 1, account);
}

int main(int argc, char **argv)
{
    bool failed = false;
    struct rill_client *c;
    struct rill_client_events events = { .arg = &failed, .audio = on_audio, .gap = on_gap };
    struct rill_client_finished account;
    int code = rill_client_connect(&c, argc > 1 ? argv[1] : "/run/rilld/rilld.sock",
                                   "examples/client.c", 0);
    if (!code) {
        rill_client_set_events(c, &events);
        code = run(c, &account);
    }
    if (code)
        fprintf(stderr, "%s\n", rill_client_error(c));
    else
        fprintf(stderr, "%llu samples, real-time factor %.5f\n", (unsigned long long) account.in,
                (double) account.rtf);
    rill_client_free(c);
    return code || failed || fflush(stdout);
}
