/* SPDX-License-Identifier: MIT */
#include "daemon/compute/pcm.h"
#include "rilld.pb-c.h"

#include <math.h>
#include <rill.h>
#include <string.h>

#define BLOCK_FRAMES 256

static float get_s16(const uint8_t *p)
{
    return (float) (int16_t) (p[0] | p[1] << 8) * 0x1p-15f;
}

static float get_s24(const uint8_t *p)
{
    int32_t v = (int32_t) ((uint32_t) p[0] << 8 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 24);
    return (float) (v >> 8) * 0x1p-23f;
}

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

static float get_s32(const uint8_t *p)
{
    return (float) (int32_t) get_u32(p) * 0x1p-31f;
}

static float get_f32(const uint8_t *p)
{
    uint32_t u = get_u32(p);
    float x;
    memcpy(&x, &u, 4);
    return x;
}

static const struct {
    const char *name;
    size_t bytes;
    float (*get)(const uint8_t *p);
    bool whole; /* whole numbers, not floats */
} encodings[] = {
    [RILL__ENC__ENC_S16LE] = { "s16", 2, get_s16, true },
    [RILL__ENC__ENC_S24LE3] = { "s24", 3, get_s24, true },
    [RILL__ENC__ENC_S32LE] = { "s32", 4, get_s32, true },
    [RILL__ENC__ENC_F32LE] = { "f32", 4, get_f32, false },
};

static bool enc_known(int enc)
{
    return enc >= 0 && (size_t) enc < sizeof encodings / sizeof *encodings && encodings[enc].get;
}

bool pcm_valid(const struct pcm *p)
{
    return p->rate >= PCM_MIN_RATE && p->rate <= PCM_MAX_RATE && p->channels >= 1 &&
        p->channels <= PCM_MAX_CHANNELS && enc_known(p->enc);
}

size_t pcm_frame_bytes(const struct pcm *p)
{
    return encodings[p->enc].bytes * p->channels;
}

const char *pcm_enc_name(int enc)
{
    return encodings[enc].name;
}

size_t pcm_decode(const struct pcm *p, const uint8_t *from, size_t n_frames, float *to)
{
    size_t bytes = encodings[p->enc].bytes, n_bad = 0;
    for (size_t i = 0; i < n_frames; i++) {
        double sum = 0;
        for (uint32_t c = 0; c < p->channels; c++, from += bytes) {
            float x = encodings[p->enc].get(from);
            if (!isfinite(x)) {
                x = 0;
                n_bad++;
            }
            sum += (double) x;
        }
        to[i] = (float) (sum / p->channels);
    }
    return n_bad;
}

static uint8_t *bytes_put(uint8_t *to, uint32_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *to++ = (uint8_t) (v >> (8 * i));
    return to;
}

void pcm_encode(const struct pcm *p, const float *from, size_t n_frames, uint8_t *to)
{
    size_t bytes = encodings[p->enc].bytes, n;
    int32_t v[BLOCK_FRAMES];
    for (; n_frames; from += n, n_frames -= n) {
        n = n_frames < BLOCK_FRAMES ? n_frames : BLOCK_FRAMES;
        if (encodings[p->enc].whole)
            rill_samples_round(from, n, (unsigned) bytes * 8, v);
        else
            memcpy(v, from, n * sizeof *v);
        for (size_t i = 0; i < n; i++)
            for (uint32_t c = 0; c < p->channels; c++)
                to = bytes_put(to, (uint32_t) v[i], bytes);
    }
}

const char *pcm_container_name(const uint8_t *bytes, size_t n)
{
    static const struct {
        char magic[5];
        const char *name;
    } containers[] = {
        { "RIFF", "a WAV file" },  { "RF64", "a WAV file" },   { "OggS", "an Ogg file" },
        { "fLaC", "a FLAC file" }, { "FORM", "an AIFF file" }, { ".snd", "an AU file" },
    };
    for (size_t i = 0; n >= 4 && i < sizeof containers / sizeof *containers; i++)
        if (memcmp(bytes, containers[i].magic, 4) == 0)
            return containers[i].name;
    return NULL;
}

uint64_t rate_rescale(uint64_t n, uint32_t to, uint32_t from)
{
    uint64_t whole = n / from, rest = n % from;
    return whole * to + (rest * to + from - 1) / from;
}

uint64_t samples_us(uint64_t n, uint32_t rate)
{
    return n / rate * 1000000u + n % rate * 1000000u / rate;
}
