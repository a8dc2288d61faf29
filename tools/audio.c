/* SPDX-License-Identifier: MIT */
#include "tools/audio.h"
#include "engine/base/err.h"
#include "tools/tool.h"

#include <math.h>
#include <speex/speex_resampler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RESAMPLE_QUALITY 7
#define FRAMES_MAX ((sf_count_t) 1 << 31)
#define CHANNELS_MAX 64
#define BLOCK_SAMPLES 1024
#define BLOCK_FRAMES 4096
#define ONLY_WAV "pipes take WAV of less than 4 GiB; RF64, W64 and FLAC are read from files"
#define RATES_THAT_WORK "8000 to 192000 work"

/* What programs write that do not know the length yet: 2^32 - 1 (ffmpeg), or 2^31 less a little
 * (sox, arecord). */
#define LENGTH_UNKNOWN_BYTES UINT64_C(0x7ffff000)

static bool is_plain_wav(int format)
{
    const int major = format & SF_FORMAT_TYPEMASK;
    return major == SF_FORMAT_WAV || major == SF_FORMAT_WAVEX;
}

static bool is_allowed(int format)
{
    switch (format & SF_FORMAT_TYPEMASK) {
    case SF_FORMAT_WAV:
    case SF_FORMAT_WAVEX:
    case SF_FORMAT_RF64: /* WAV and W64 of more than 4 GiB */
    case SF_FORMAT_W64:
    case SF_FORMAT_FLAC: return true;
    default: return false;
    }
}

/* What libsndfile notes in its log about the samples of a file. */
struct log_notes {
    bool has_data;       /* there is a line of it */
    uint64_t data_bytes; /* as the header says */
    bool is_short;       /* fewer are there */
    bool goes_on;        /* something is behind that is no chunk */
};

static struct log_notes notes_read(SNDFILE *f)
{
    static const char key[] = "data : ";
    struct log_notes ret = { .data_bytes = 0 };
    char log[4096] = "";
    sf_command(f, SFC_GET_LOG_INFO, log, sizeof log);
    const char *data = strstr(log, key), *line_end = data ? strchr(data, '\n') : NULL;
    if (!line_end)
        return ret;
    const char *note = strstr(data, "should be");
    ret.has_data = true;
    ret.data_bytes = strtoull(data + sizeof key - 1, NULL, 10);
    ret.is_short = note && note < line_end;
    ret.goes_on = strstr(line_end, "***") != NULL;
    return ret;
}

/* A program that wrote to a pipe may have left 0 where the length was to come. */
static rill_status empty_tell(SNDFILE *f, const SF_INFO *info, const char *path, rill_error *err)
{
    const struct log_notes n = notes_read(f);
    if (n.has_data && !n.data_bytes && (n.goes_on || !info->seekable))
        return err_set(err, RILL_INVALID,
                       "'%.300s' holds no samples, says its header, as where a program wrote it to "
                       "a pipe; 'ffmpeg -i IN OUT.wav' and 'sox --ignore-length IN OUT.wav' read "
                       "all of such a file",
                       path);
    return err_set(err, RILL_INVALID, "'%.300s' holds no samples", path);
}

static rill_status check(SNDFILE *f, const SF_INFO *info, const char *path, rill_error *err)
{
    if (!is_allowed(info->format))
        return err_set(err, RILL_INVALID, "'%.300s' is neither WAV nor FLAC", path);
    if (info->channels < 1 || info->channels > CHANNELS_MAX)
        return err_set(err, RILL_LIMIT, "'%.300s' has %d channels; 1 to %d work", path,
                       info->channels, CHANNELS_MAX);
    /* libsndfile loses the first samples of one that it cannot go back in. */
    if (!info->seekable && !is_plain_wav(info->format))
        return err_set(err, RILL_INVALID, "'%.300s': " ONLY_WAV, path);
    return info->frames > 0 ? RILL_OK : empty_tell(f, info, path, err);
}

/* The log of what could not be opened is there; the words for a rate of 0 name none. */
static rill_status open_fail(const char *path, rill_error *err)
{
    static const char key[] = "Sample Rate   : ";
    char log[4096] = "";
    sf_command(NULL, SFC_GET_LOG_INFO, log, sizeof log);
    const char *rate = strstr(log, key);
    if (rate && !strncmp(rate + sizeof key - 1, "0\n", 2))
        return err_set(err, RILL_INVALID, "'%.300s' is at 0 Hz, says its header; " RATES_THAT_WORK,
                       path);
    if (!strcmp(path, "-"))
        return err_set(err, RILL_IO, "'-': %s; " ONLY_WAV, sf_strerror(NULL));
    return err_set(err, RILL_IO, "'%.300s': %s", path, sf_strerror(NULL));
}

rill_status audio_open(SNDFILE **ret, SF_INFO *ret_info, const char *path, rill_error *reterr)
{
    SF_INFO info = { 0 };
    SNDFILE *f = sf_open(path, SFM_READ, &info);
    if (!f)
        return open_fail(path, reterr);
    rill_status s = check(f, &info, path, reterr);
    if (s != RILL_OK) {
        sf_close(f);
        return s;
    }
    *ret = f;
    *ret_info = info;
    return RILL_OK;
}

void audio_end_tell(SNDFILE *f, const SF_INFO *info, const char *path, sf_count_t frames)
{
    const struct log_notes n = notes_read(f);
    const bool says_nothing = n.data_bytes >= LENGTH_UNKNOWN_BYTES || info->frames > FRAMES_MAX;
    if (!says_nothing && (n.is_short || frames < info->frames))
        fprintf(stderr,
                "rill: '%.300s' is cut off: its header promises more than the %lld frames it "
                "holds, which are taken\n",
                path, (long long) frames);
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

/* Mixes n frames to one channel as the daemon does; how many samples are not finite. */
static size_t block_mix(const float *x, size_t n, size_t channels, float *ret)
{
    size_t not_finite = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < channels; c++) {
            const float v = x[i * channels + c];
            not_finite += !isfinite(v);
            sum += isfinite(v) ? (double) v : 0;
        }
        ret[i] = (float) (sum / (double) channels);
    }
    return not_finite;
}

/* A header may promise anything: memory grows with what is there. */
static rill_status samples_read(SNDFILE *f, const SF_INFO *info, const char *path, float **ret,
                                size_t *ret_n, size_t *ret_not_finite, rill_error *err)
{
    const size_t channels = (size_t) info->channels;
    float *block = tool_alloc(BLOCK_FRAMES * channels * sizeof *block), *all = NULL;
    size_t room = 0, n = 0, not_finite = 0;
    sf_count_t got = 0;
    rill_status s = RILL_OK;
    do {
        if (n + BLOCK_FRAMES > room) {
            float *more = realloc(all, (room = 2 * room + BLOCK_FRAMES) * sizeof *all);
            if (!more) {
                s = err_set(err, RILL_NOMEM, "'%.300s': out of memory", path);
                break;
            }
            all = more;
        }
        got = sf_readf_float(f, block, BLOCK_FRAMES);
        not_finite += block_mix(block, (size_t) got, channels, all + n);
        n += (size_t) got;
        if (n > (size_t) FRAMES_MAX)
            s = err_set(err, RILL_LIMIT, "'%.300s' is too long: it has over %lld frames", path,
                        (long long) FRAMES_MAX);
    } while (got > 0 && s == RILL_OK);
    free(block);
    if (s == RILL_OK && n == 0)
        s = err_set(err, RILL_INVALID, "'%.300s' holds no samples", path);
    if (s != RILL_OK) {
        free(all);
        return s;
    }
    audio_end_tell(f, info, path, (sf_count_t) n);
    *ret = all;
    *ret_n = n;
    *ret_not_finite = not_finite;
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
        s = err_set(reterr, RILL_INVALID, "'%.300s' is at %d Hz; " RATES_THAT_WORK, path,
                    info.samplerate);
    else
        s = samples_read(f, &info, path, ret, ret_n, ret_not_finite, reterr);
    sf_close(f);
    *ret_rate_hz = info.samplerate;
    return s;
}

rill_status audio_read(const char *path, int64_t rate_hz, float **ret, size_t *ret_n,
                       int *ret_rate_hz, rill_error *reterr)
{
    size_t not_finite = 0;
    rill_status s = audio_read_counted(path, rate_hz, ret, ret_n, ret_rate_hz, &not_finite, reterr);
    if (s == RILL_OK && not_finite)
        fprintf(stderr, "rill: %zu samples of '%.300s' are NaN or infinite; 0 stands for them\n",
                not_finite, path);
    return s;
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
