/* SPDX-License-Identifier: MIT */
/* transducer.h - hypotheses of a transducer, their search, and the sink around them.
 *
 * Graves 2012, "Sequence transduction with recurrent neural networks"; the decoder sees the last
 * few tokens only (Ghodsi et al. 2020, "RNN-transducer with stateless prediction network"). The
 * search keeps the best `beam` ways through a frame, each of which says at most one token there,
 * and adds up those that have said the same. A text begins with the blank behind it, and -1 before
 * that. */
#ifndef RILL_SINKS_TRANSDUCER_H
#define RILL_SINKS_TRANSDUCER_H
#include "sinks/net.h"
#include "sinks/recogniser.h"

struct heard {
    uint64_t frame;
    uint32_t token;
    float logp;
};

struct transducer_hyp {
    double score; /* logarithm of its probability */
    struct heard *heard;
    uint32_t n;
    float *context; /* the last tokens, as the decoder takes them */
    float *decoded; /* what the decoder says to it */
    bool is_new;    /* decoded is that of another context */
};

struct transducer_way {
    double score;
    uint32_t hyp, token;
};

struct transducer {
    struct recogniser r;
    struct net decoder, joiner;
    unsigned frame_input, decoded_input;  /* of the joiner */
    uint32_t context;                     /* tokens that the decoder sees */
    uint32_t unknown;                     /* is not said, as the blank; UINT32_MAX: none */
    uint32_t max_symbols;                 /* of a frame */
    struct transducer_hyp *hyps, *others; /* those of now, room for those of the next frame */
    struct transducer_way *ways;
    float *logp;          /* [beam][width] */
    float *decoded_first; /* of a text that begins */
};

/* One frame of the encoder. Stops early where the tokens of a text are all there may be. */
void transducer_step(struct transducer *t, const float *x, uint64_t frame);

/* As after the blank. */
void transducer_restart(struct transducer *t);

/* Runs the decoder for hypotheses of a new context. */
void transducer_decode(struct transducer *t);

/* The most probable hypothesis, a long one being as good as a short one. */
uint32_t transducer_best(const struct transducer *t);
#endif
