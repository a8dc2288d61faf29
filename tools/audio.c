/* SPDX-License-Identifier: MIT */
#include "engine/base/err.h"
#include "tools/tool.h"

#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_allowed(int format)
{
    int major = format & SF_FORMAT_TYPEMASK;
    return major == SF_FORMAT_WAV || major == SF_FORMAT_WAVEX || major == SF_FORMAT_FLAC;
}

static rill_status samples_read(SNDFILE *f, const SF_INFO *info, float **ret, size_t *ret_n, rill_error *err)
{
    size_t channels = (size_t) info->channels, n = (size_t) info->frames;
    float *all = malloc((n * channels + 1) * sizeof *all);
    if (!all)
        return err_set(err, RILL_NOMEM, "out of memory");
    n = (size_t) sf_readf_float(f, all, (sf_count_t) n);
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t c = 0; c < channels; c++)
            sum += all[i * channels + c];
        all[i] = sum / (float) channels;
    }
    *ret = all;
    *ret_n = n;
    return RILL_OK;
}

rill_status tool_audio_read(const char *path, int64_t rate_hz, float **ret, size_t *ret_n, rill_error *reterr)
{
    SF_INFO info = { 0 };
    SNDFILE *f = sf_open(path, SFM_READ, &info);
    rill_status s;
    if (!f)
        return err_set(reterr, RILL_IO, "'%.300s': %s", path, sf_strerror(NULL));
    if (!is_allowed(info.format))
        s = err_set(reterr, RILL_UNSUPPORTED, "'%.300s' is neither WAV nor FLAC", path);
    else if (rate_hz && info.samplerate != rate_hz)
        s = err_set(reterr, RILL_INVALID, "'%.300s' is at %d Hz, %lld Hz is wanted", path, info.samplerate,
                    (long long) rate_hz);
    else if (info.frames < 0 || info.frames > (sf_count_t) 1 << 31 || info.channels < 1 || info.channels > 64)
        s = err_set(reterr, RILL_LIMIT, "'%.300s' is too long or has too many channels", path);
    else
        s = samples_read(f, &info, ret, ret_n, reterr);
    sf_close(f);
    return s;
}

int tool_audio_format(const char *path)
{
    const char *dot = strrchr(path, '.');
    return (dot && !strcasecmp(dot, ".flac") ? SF_FORMAT_FLAC : SF_FORMAT_WAV) | SF_FORMAT_PCM_16;
}
