/* SPDX-License-Identifier: MIT */
#include "tools/align.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

void align_begin(struct align *a, const rill_port *p, uint64_t input_samples, bool is_late)
{
    rill_alignment lie = { .struct_bytes = sizeof lie };
    rill_port_align(p, input_samples + (is_late ? p->latency_samples : 0), &lie);
    a->width = p->width;
    a->skip_frames = is_late ? 0 : lie.cut_frames;
    a->silence_frames = is_late ? lie.late_frames : lie.fill_frames;
    a->left_frames = lie.frames;
}

static bool frames_write(struct align *a, const float *x, size_t n)
{
    n = n < a->left_frames ? n : (size_t) a->left_frames;
    a->left_frames -= n;
    return n == 0 || a->write(a->arg, x, n);
}

static bool silence_write(struct align *a, uint64_t n)
{
    size_t most = a->width < 256 ? 256 / a->width : 1;
    float *zeros = tool_alloc(most * a->width * sizeof *zeros);
    bool ok = true;
    memset(zeros, 0, most * a->width * sizeof *zeros);
    n = n < a->left_frames ? n : a->left_frames;
    for (size_t k; n && ok; n -= k) {
        k = n < most ? (size_t) n : most;
        ok = frames_write(a, zeros, k);
    }
    free(zeros);
    return ok;
}

bool align_push(struct align *a, const float *x, size_t n_frames)
{
    uint64_t silence = a->silence_frames;
    size_t skip = n_frames < a->skip_frames ? n_frames : (size_t) a->skip_frames;
    a->silence_frames = 0;
    a->skip_frames -= skip;
    return silence_write(a, silence) && frames_write(a, x + skip * a->width, n_frames - skip);
}

bool align_finish(struct align *a)
{
    return silence_write(a, a->left_frames);
}
