/* SPDX-License-Identifier: MIT */
/* sink_limits.h - which outputs are read by a sink, and how far what model.conf says of one may go:
 * what reads it and what is made of it agree. */
#ifndef RILL_MODELS_SINK_LIMITS_H
#define RILL_MODELS_SINK_LIMITS_H

#include "rill.h"

#include <stdbool.h>

static inline bool port_has_sink(rill_port_kind kind)
{
    return kind == RILL_PORT_VAD || kind == RILL_PORT_KEYWORD || kind == RILL_PORT_CTC ||
        kind == RILL_PORT_TRANSDUCER;
}

#define SINK_MS_MAX 86400000 /* of any time that is set */
#define SINK_FRAMES_MAX 4096 /* smoothed, or waited for */
#define SINK_TOKENS_MIN 4    /* of one text */
#define SINK_TOKENS_MAX 4096
#define SINK_SYMBOLS_MAX 16 /* of one frame */
#endif
