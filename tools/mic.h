/* SPDX-License-Identifier: MIT */
/* mic.h - microphones and speakers by PortAudio. */
#ifndef TOOLS_MIC_H
#define TOOLS_MIC_H
#include "rill.h"
#include "tools/ring.h"
#include "tools/tool.h"

#include <portaudio.h>
#include <stdbool.h>

/* Pa_Initialize without the talk of the sound systems. An exit code, with the words that go with
 * it. */
int devices_init(const struct command *cmd);

/* A device by number or part of its name; the default where text is NULL. paNoDevice: there is
 * none. */
PaDeviceIndex device_find(const char *text, bool input);

/* A microphone that fills a ring: one channel, mono. */
struct mic {
    PaStream *stream;
    struct ring ring;
    atomic_size_t lost; /* samples that found no room; the reader takes them off */
    unsigned rate;
};

/* rate 0: the device's own. mic_close also after a failure. */
rill_status mic_open(struct mic *m, const char *device, unsigned rate, rill_error *reterr);
bool mic_runs(struct mic *m); /* false: the device is gone */
void mic_close(struct mic *m);
#endif
