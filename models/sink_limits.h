/* SPDX-License-Identifier: MIT */
/* sink_limits.h - limits of a sink's options, for the reader of model.conf and for the sinks. */
#ifndef RILL_MODELS_SINK_LIMITS_H
#define RILL_MODELS_SINK_LIMITS_H

#define SINK_MS_MAX 86400000 /* of any time that is set */
#define SINK_FRAMES_MAX 4096 /* smoothed, or waited for */
#define SINK_TOKENS_MIN 4    /* of one text */
#define SINK_TOKENS_MAX 4096
#define SINK_TOKEN_NUMBER_MAX 65535
#define SINK_SYMBOLS_MAX 16 /* of one frame */
#endif
