/* SPDX-License-Identifier: MIT */
/* pcm.h - converts interleaved PCM to and from mono floats. */
#ifndef RILL_DAEMON_COMPUTE_PCM_H
#define RILL_DAEMON_COMPUTE_PCM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCM_MIN_RATE 8000
#define PCM_MAX_RATE 192000
#define PCM_MAX_CHANNELS 8

struct pcm {
    uint32_t rate, channels;
    int enc; /* Rill__Enc */
};

bool pcm_valid(const struct pcm *p);
size_t pcm_frame_bytes(const struct pcm *p);
const char *pcm_enc_name(int enc);

/* Mean of the channels. Values that are not finite become 0; returns how many there were. */
size_t pcm_decode(const struct pcm *p, const uint8_t *from, size_t n_frames, float *to);

/* The same sample in every channel, in whole numbers as rill_samples_round makes them. */
void pcm_encode(const struct pcm *p, const float *from, size_t n_frames, uint8_t *to);

/* Name of the container whose first bytes these are, or NULL. */
const char *pcm_container_name(const uint8_t *bytes, size_t n);

/* ceil(n * to / from) without overflow for every n that a stream can reach. */
uint64_t rate_rescale(uint64_t n, uint32_t to, uint32_t from);

uint64_t samples_us(uint64_t n, uint32_t rate); /* how long they last; rounded down */

#endif
