/* SPDX-License-Identifier: MIT */
/* audio.h - WAV and FLAC files. */
#ifndef TOOLS_AUDIO_H
#define TOOLS_AUDIO_H
#include "rill.h"

#include <sndfile.h>
#include <stdbool.h>

/* Opens a WAV (RF64 and W64 too) or FLAC file of one sample or more; "-": standard input. How many
 * frames there are shows as they are read: one that was cut off has fewer than its header says, and
 * one that was written to a pipe says a number that is not true. Close with sf_close. */
rill_status audio_open(SNDFILE **ret, SF_INFO *ret_info, const char *path, rill_error *reterr);
/* Says on standard error when fewer were read to the end than a header that knows it promised. */
void audio_end_tell(SNDFILE *f, const SF_INFO *info, const char *path, sf_count_t frames);

/* Creates a 16-bit file, WAV or FLAC by its suffix. */
rill_status audio_create(SNDFILE **ret, const char *path, int rate_hz, int channels,
                         rill_error *reterr);
/* Rounds as rill_samples_round does; false: not all were written. */
bool audio_write(SNDFILE *f, const float *x, size_t n_frames, int channels);

/* All of a file as mono f32 at its own rate, which must be rate_hz (0: any from 8000 to 192000):
 * the mean of the channels, where 0 stands for what is not finite, which is told on standard error.
 * *ret is malloc'd. */
rill_status audio_read(const char *path, int64_t rate_hz, float **ret, size_t *ret_n,
                       int *ret_rate_hz, rill_error *reterr);
/* The same; how many samples are not finite is the caller's to tell. */
rill_status audio_read_counted(const char *path, int64_t rate_hz, float **ret, size_t *ret_n,
                               int *ret_rate_hz, size_t *ret_not_finite, rill_error *reterr);
/* n samples at `from` Hz as the exact number of samples at `to` Hz, without the resampler's own
 * delay; free it. */
float *audio_resampled(const float *x, size_t n, unsigned from, unsigned to, size_t *ret_n);
#endif
