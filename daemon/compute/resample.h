/* SPDX-License-Identifier: MIT */
/* resample.h - a mono resampler whose output sample k lies at exactly k / to_rate. Its own latency
 * is skipped at the start; zeros after the end bring out the rest. It allocates in resample_new
 * only. Equal rates copy. */
#ifndef RILL_DAEMON_COMPUTE_RESAMPLE_H
#define RILL_DAEMON_COMPUTE_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

struct resample;

struct resample *resample_new(uint32_t from_rate, uint32_t to_rate); /* NULL without memory */
struct resample *resample_free(struct resample *r);                  /* takes and returns NULL */
void resample_reset(struct resample *r);

/* Takes all n_in samples (NULL = zeros) and writes at most cap; returns the count. cap must hold
 * resample_most(r, n_in). */
size_t resample_run(struct resample *r, const float *in, size_t n_in, float *out, size_t cap);
size_t resample_bytes(const struct resample *r); /* of memory */
size_t resample_most(const struct resample *r, size_t n_in);

#endif
