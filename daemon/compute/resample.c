/* SPDX-License-Identifier: MIT */
#include "daemon/compute/resample.h"

#include <speex/speex_resampler.h>
#include <stdlib.h>
#include <string.h>

#define QUALITY 7

struct resample {
    SpeexResamplerState *state; /* NULL where the rates are equal */
    uint32_t from_rate, to_rate;
};

struct resample *resample_new(uint32_t from_rate, uint32_t to_rate)
{
    struct resample *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct resample) { .from_rate = from_rate, .to_rate = to_rate };
    if (from_rate == to_rate)
        return r;
    int err;
    r->state = speex_resampler_init(1, from_rate, to_rate, QUALITY, &err);
    if (!r->state)
        return resample_free(r);
    speex_resampler_skip_zeros(r->state);
    return r;
}

struct resample *resample_free(struct resample *r)
{
    if (r && r->state)
        speex_resampler_destroy(r->state);
    free(r);
    return NULL;
}

void resample_reset(struct resample *r)
{
    if (!r->state)
        return;
    speex_resampler_reset_mem(r->state);
    speex_resampler_skip_zeros(r->state);
}

/* What speexdsp allocates at this quality: a filter of FILTER taps (more for falling rates) in a
 * table of its phases, or of OVERSAMPLE steps if that is smaller, and its history. */
#define FILTER 128
#define OVERSAMPLE 16
#define UNUSED_FRAMES 160
#define STATE_BYTES 256

static uint32_t gcd(uint32_t a, uint32_t b)
{
    return b ? gcd(b, a % b) : a;
}

size_t resample_bytes(const struct resample *r)
{
    uint32_t d = gcd(r->from_rate, r->to_rate), from = r->from_rate / d, to = r->to_rate / d;
    size_t taps = FILTER, over = OVERSAMPLE;
    if (!r->state)
        return sizeof *r;
    if (from > to) {
        taps = ((size_t) ((uint64_t) taps * from / to) + 7) & ~(size_t) 7;
        for (uint64_t k = 2; k <= 16; k *= 2)
            over >>= k * to < from;
        over = over ? over : 1;
    }
    size_t steps = to <= over ? taps * to : taps * over + 8;
    return sizeof *r + STATE_BYTES + (steps + taps - 1 + UNUSED_FRAMES) * sizeof(float);
}

size_t resample_most(const struct resample *r, size_t n_in)
{
    return (size_t) ((uint64_t) n_in * r->to_rate / r->from_rate) + 2;
}

size_t resample_run(struct resample *r, const float *in, size_t n_in, float *out, size_t cap)
{
    if (!r->state) {
        if (in)
            memcpy(out, in, n_in * sizeof *out);
        else
            memset(out, 0, n_in * sizeof *out);
        return n_in;
    }
    size_t done_in = 0, done_out = 0;
    while (done_in < n_in && done_out < cap) {
        static const float zeros[256];
        size_t most = in || n_in - done_in < 256 ? n_in - done_in : 256;
        spx_uint32_t took = (spx_uint32_t) most, gave = (spx_uint32_t) (cap - done_out);
        speex_resampler_process_float(r->state, 0, in ? in + done_in : zeros, &took, out + done_out,
                                      &gave);
        if (!took && !gave)
            break;
        done_in += took;
        done_out += gave;
    }
    return done_out;
}
