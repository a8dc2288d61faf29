/* SPDX-License-Identifier: MIT */
#include "daemon/vad.h"

void vad_init(struct vad *v, float threshold, float release, uint64_t hangover_samples)
{
    *v = (struct vad) { .threshold = threshold, .release = release < threshold ? release : threshold,
                        .hangover_samples = hangover_samples };
}

void vad_reset(struct vad *v)
{
    v->speaking = v->quiet = false;
}

enum vad_edge vad_step(struct vad *v, uint64_t pos, uint64_t end_pos, float prob)
{
    if (!v->speaking) {
        v->speaking = prob >= v->threshold;
        v->quiet = false;
        return v->speaking ? VAD_START : VAD_NONE;
    }
    if (prob >= v->release) {
        v->quiet = false;
        return VAD_NONE;
    }
    if (!v->quiet) {
        v->quiet = true;
        v->quiet_pos = pos;
    }
    if (end_pos - v->quiet_pos < v->hangover_samples)
        return VAD_NONE;
    v->speaking = v->quiet = false;
    return VAD_END;
}
