/* SPDX-License-Identifier: MIT */
/* messages.h - audio, events and gaps of a stream as messages to one client. */
#ifndef RILL_DAEMON_SERVE_MESSAGES_H
#define RILL_DAEMON_SERVE_MESSAGES_H

#include "daemon/compute/pcm.h"
#include "rilld.pb-c.h"

#include <rill.h>

struct conn;
struct lane_model;
struct lane_rec;

#define AUDIO_CHUNK_FRAMES 1024 /* the most in a message of audio */
#define OUTPUTS 5               /* kinds of outputs */

void audio_send(struct conn *c, uint32_t id, uint32_t *seq, const struct pcm *out, uint64_t pos,
                const float *x, size_t n, const struct lane_rec *r);
void vad_send(struct conn *c, uint32_t id, const struct lane_rec *r);
void gap_send(struct conn *c, uint32_t id, uint64_t pos, uint64_t samples, Rill__Gap__Reason reason,
              Rill__Gap__Fill fill);
Rill__Gap__Reason gap_reason(const struct lane_rec *r);
/* piece: EVENT_BYTES_MAX of scratch */
void event_send(struct conn *c, uint32_t id, const rill_event *e, char *piece);

bool conn_reads_slowly(const struct conn *c);
bool output_known(Rill__Output o); /* one that can be asked for */
size_t outputs_list(const struct lane_model *m,
                    Rill__Output list[OUTPUTS]); /* that the model has */
/* Those of a mask of 1 << output, in the order of their numbers; returns how many. */
size_t outputs_fill(uint32_t mask, Rill__Output list[OUTPUTS]);
void pcm_fill(Rill__Pcm *m, const struct pcm *p);

#endif
