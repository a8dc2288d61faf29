/* SPDX-License-Identifier: MIT */
#include "daemon/resample.h"

#include <speex/speex_resampler.h>
#include <stdlib.h>
#include <string.h>

#define QUALITY 7

struct resample {
    SpeexResamplerState *state;     /* NULL where the rates are equal */
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
