/* SPDX-License-Identifier: MIT */
#include "tools/mic.h"
#include "engine/base/err.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_SAMPLES ((size_t) 1 << 17)

/* ALSA and JACK talk to standard error while devices are looked for. */
int devices_init(const struct command *cmd)
{
    int null = open("/dev/null", O_WRONLY), kept = dup(2);
    fflush(stderr);
    if (null >= 0)
        dup2(null, 2);
    PaError e = Pa_Initialize();
    if (kept >= 0)
        dup2(kept, 2);
    close(null);
    close(kept);
    return e == paNoError
        ? TOOL_OK
        : tool_fail(cmd, TOOL_IO, "PortAudio does not start: %s", Pa_GetErrorText(e));
}

PaDeviceIndex device_find(const char *text, bool input)
{
    char *end = NULL;
    long k = text ? strtol(text, &end, 10) : 0;
    if (!text)
        return input ? Pa_GetDefaultInputDevice() : Pa_GetDefaultOutputDevice();
    for (PaDeviceIndex i = 0; i < Pa_GetDeviceCount(); i++) {
        const PaDeviceInfo *d = Pa_GetDeviceInfo(i);
        bool has = input ? d->maxInputChannels > 0 : d->maxOutputChannels > 0;
        if (has && *text && (*end ? strstr(d->name, text) != NULL : k == i))
            return i;
    }
    return paNoDevice;
}

/* Real time. */
static int on_mic(const void *in, void *out, unsigned long n, const PaStreamCallbackTimeInfo *t,
                  PaStreamCallbackFlags flags, void *arg)
{
    struct mic *m = arg;
    (void) out, (void) t, (void) flags;
    size_t took = in ? ring_write(&m->ring, in, n) : 0;
    if (took < n)
        atomic_fetch_add_explicit(&m->lost, n - took, memory_order_relaxed);
    return paContinue;
}

rill_status mic_open(struct mic *m, const char *device, unsigned rate, rill_error *reterr)
{
    PaDeviceIndex dev = device_find(device, true);
    const PaDeviceInfo *d = dev == paNoDevice ? NULL : Pa_GetDeviceInfo(dev);
    if (!d)
        return err_set(reterr, RILL_IO, "there is no microphone%s%s; see rill devices",
                       device ? " like " : "", device ? device : "");
    PaStreamParameters p = { .device = dev,
                             .channelCount = 1,
                             .sampleFormat = paFloat32,
                             .suggestedLatency = d->defaultLowInputLatency };
    m->rate = rate ? rate : (unsigned) d->defaultSampleRate;
    m->ring.data = tool_alloc(RING_SAMPLES * sizeof *m->ring.data);
    m->ring.cap = RING_SAMPLES;
    PaError e = Pa_OpenStream(&m->stream, &p, NULL, m->rate, paFramesPerBufferUnspecified, paNoFlag,
                              on_mic, m);
    if (e == paNoError)
        e = Pa_StartStream(m->stream);
    return e == paNoError ? RILL_OK
                          : err_set(reterr, RILL_IO, "'%.100s' does not open at %u Hz: %s", d->name,
                                    m->rate, Pa_GetErrorText(e));
}

bool mic_runs(struct mic *m)
{
    return Pa_IsStreamActive(m->stream) == 1;
}

void mic_close(struct mic *m)
{
    if (m->stream)
        Pa_CloseStream(m->stream);
    free(m->ring.data);
    m->stream = NULL;
    m->ring.data = NULL;
}
