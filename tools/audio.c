/* SPDX-License-Identifier: MIT */
#include "tools/audio.h"
#include "engine/base/err.h"
#include "tools/tool.h"

#include <math.h>
#include <speex/speex_resampler.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RESAMPLE_QUALITY 7
#define FRAMES_MAX ((sf_count_t) 1 << 31)
#define CHANNELS_MAX 64
#define BLOCK_SAMPLES 1024

static bool is_allowed(int format)
{
    int major = format & SF_FORMAT_TYPEMASK;
    return major == SF_FORMAT_WAV || major == SF_FORMAT_WAVEX || major == SF_FORMAT_FLAC;
}

/* libsndfile notes in its log where a chunk is shorter than its header says. */
static bool is_cut(SNDFILE *f)
{
    char log[4096] = "";
    sf_command(f, SFC_GET_LOG_INFO, log, sizeof log);
    const char *data = strstr(log, "data : ");
    const char *line_end = data ? strchr(data, '\n') : NULL,
               *note = data ? strstr(data, "should be") : NULL;
    return note && line_end && note < line_end;
}

static rill_status check(SNDFILE *f, const SF_INFO *info, const char *path, rill_error *err)
{
    if (!is_allowed(info->format))
        return err_set(err, RILL_INVALID, "'%.300s' is neither WAV nor FLAC", path);
    if (info->frames > FRAMES_MAX || info->channels < 1 || info->channels > CHANNELS_MAX)
        return err_set(err, RILL_LIMIT, "'%.300s' is too long or has too many channels", path);
    if (info->frames <= 0)
        return err_set(err, RILL_INVALID, "'%.300s' holds no samples", path);
    if (is_cut(f))
        return err_set(
            err, RILL_INVALID,
            "'%.300s' is cut off: its header promises more than the %lld frames it holds", path,
            (long long) info->frames);
    return RILL_OK;
}

rill_status audio_open(SNDFILE **ret, SF_INFO *ret_info, const char *path, rill_error *reterr)
{
    SF_INFO info = { 0 };
    SNDFILE *f = sf_open(path, SFM_READ, &info);
    if (!f)
        return err_set(reterr, RILL_IO, "'%.300s': %s", path, sf_strerror(NULL));
    rill_status s = check(f, &info, path, reterr);
    if (s != RILL_OK) {
        sf_close(f);
        return s;
    }
    *ret = f;
    *ret_info = info;
    return RILL_OK;
}

rill_status audio_create(SNDFILE **ret, const char *path, int rate_hz, int channels,
                         rill_error *reterr)
{
    const char *dot = strrchr(path, '.');
    SF_INFO info = { .samplerate = rate_hz, .channels = channels };
    if (dot && !strcasecmp(dot, ".flac"))
        info.format = SF_FORMAT_FLAC | SF_FORMAT_PCM_16;
    else if (dot && !strcasecmp(dot, ".wav"))
        info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
    else
        return err_set(reterr, RILL_INVALID, "'%.300s' must end in .wav or .flac", path);
    SNDFILE *f = sf_open(path, SFM_WRITE, &info);
    if (!f)
        return err_set(reterr, RILL_IO, "'%.300s': %s", path, sf_strerror(NULL));
    *ret = f;
    return RILL_OK;
}

bool audio_write(SNDFILE *f, const float *x, size_t n_frames, int channels)
{
    int32_t v[BLOCK_SAMPLES];
    short s[BLOCK_SAMPLES];
    size_t left = n_frames * (size_t) channels, most = sizeof s / sizeof *s;
    most -= most % (size_t) channels;
    for (size_t n; left; x += n, left -= n) {
        n = left < most ? left : most;
        rill_samples_round(x, n, 16, v);
        for (size_t i = 0; i < n; i++)
            s[i] = (short) v[i];
        if (sf_write_short(f, s, (sf_count_t) n) != (sf_count_t) n)
            return false;
    }
    return true;
}

static rill_status samples_read(SNDFILE *f, const SF_INFO *info, float **ret, size_t *ret_n,
                                size_t *ret_not_finite, rill_error *err)
{
    size_t channels = (size_t) info->channels, n = (size_t) info->frames;
    float *all = malloc((n * channels + 1) * sizeof *all);
    if (!all)
        return err_set(err, RILL_NOMEM, "out of memory");
    n = (size_t) sf_readf_float(f, all, (sf_count_t) n);
    *ret_not_finite = 0;
    for (size_t i = 0; i < n * channels; i++)
        if (!isfinite(all[i])) {
            all[i] = 0;
            ++*ret_not_finite;
        }
    for (size_t i = 0; i < n; i++) {
        double sum = 0; /* as the daemon mixes */
        for (size_t c = 0; c < channels; c++)
            sum += (double) all[i * channels + c];
        all[i] = (float) (sum / (double) channels);
    }
    *ret = all;
    *ret_n = n;
    return RILL_OK;
}

rill_status audio_read_counted(const char *path, int64_t rate_hz, float **ret, size_t *ret_n,
                               int *ret_rate_hz, size_t *ret_not_finite, rill_error *reterr)
{
    SF_INFO info;
    SNDFILE *f;
    rill_status s;
    TRY(audio_open(&f, &info, path, reterr));
    if (rate_hz && info.samplerate != rate_hz)
        s = err_set(reterr, RILL_INVALID, "'%.300s' is at %d Hz, %lld Hz is wanted", path,
                    info.samplerate, (long long) rate_hz);
    else if (info.samplerate < 8000 || info.samplerate > 192000)
        s = err_set(reterr, RILL_INVALID, "'%.300s' is at %d Hz; 8000 to 192000 work", path,
                    info.samplerate);
    else
        s = samples_read(f, &info, ret, ret_n, ret_not_finite, reterr);
    sf_close(f);
    *ret_rate_hz = info.samplerate;
    return s;
}

rill_status audio_read(const char *path, int64_t rate_hz, float **ret, size_t *ret_n,
                       int *ret_rate_hz, rill_error *reterr)
{
    size_t not_finite;
    return audio_read_counted(path, rate_hz, ret, ret_n, ret_rate_hz, &not_finite, reterr);
}

float *audio_resampled(const float *x, size_t n, unsigned from, unsigned to, size_t *ret_n)
{
    int err;
    size_t want = (size_t) (((uint64_t) n * to + from - 1) / from), at = 0, got = 0;
    float *y = tool_alloc((want + 1) * sizeof *y), zeros[256] = { 0 };
    SpeexResamplerState *r =
        from == to ? NULL : speex_resampler_init(1, from, to, RESAMPLE_QUALITY, &err);
    *ret_n = want;
    if (!r) {
        memcpy(y, x, n * sizeof *y);
        return y;
    }
    speex_resampler_skip_zeros(r);
    while (got < want) {
        spx_uint32_t in = (spx_uint32_t) (at < n ? (n - at < 4096 ? n - at : 4096) : 256);
        spx_uint32_t out = (spx_uint32_t) (want - got < 16384 ? want - got : 16384);
        speex_resampler_process_float(r, 0, at < n ? x + at : zeros, &in, y + got, &out);
        at += in;
        got += out;
    }
    speex_resampler_destroy(r);
    return y;
}
