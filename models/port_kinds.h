/* SPDX-License-Identifier: MIT */
/* port_kinds.h - what a port may carry, in model.conf and in compiled plans: one list. */
#ifndef RILL_MODELS_PORT_KINDS_H
#define RILL_MODELS_PORT_KINDS_H

#include "rill.h"

#include <stdbool.h>

/* X(kind of rill_port_kind, name in model.conf), in the order of their numbers */
#define PORT_KIND_EACH(X)                                                                          \
    X(TENSOR, tensor)                                                                              \
    X(AUDIO, audio)                                                                                \
    X(VAD, vad)                                                                                    \
    X(KEYWORD, keyword)                                                                            \
    X(CTC, ctc)                                                                                    \
    X(TRANSDUCER, transducer)                                                                      \
    X(ATTENTION, attention)

enum {
#define X(kind, name) PORT_KIND_##kind,
    PORT_KIND_EACH(X)
#undef X
        PORT_KINDS
};

/* A sink reads outputs of all kinds but these. */
static inline bool port_has_sink(rill_port_kind kind)
{
    return kind != RILL_PORT_TENSOR && kind != RILL_PORT_AUDIO;
}
#endif
