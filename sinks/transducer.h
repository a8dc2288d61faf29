/* SPDX-License-Identifier: MIT */
/* transducer.h - hypotheses of a transducer, their search, and the sink around them.
 *
 * Graves 2012, "Sequence transduction with recurrent neural networks"; the decoder sees the last
 * few tokens only (Ghodsi et al. 2020, "RNN-transducer with stateless prediction network"). The
 * search keeps the best `beam` expansions of a frame, of at most max_symbols tokens each, and adds
 * up those with the same tokens. The context of a text that begins is the blank, and -1 before it.
 * A decoder may be recurrent instead (NeMo's is an LSTM): it sees the last token and its states. */
#ifndef RILL_SINKS_TRANSDUCER_H
#define RILL_SINKS_TRANSDUCER_H
#include "sinks/hotwords.h"
#include "sinks/network.h"
#include "sinks/ngram.h"
#include "sinks/recogniser.h"

#define TRANSDUCER_STATES_FIRST 2 /* among the ports of a recurrent decoder */

struct emission {
    uint64_t frame;
    uint32_t token;
    float logp;
};

struct transducer_hyp {
    double score, score_first; /* logarithm of its probability; what it was where its text began */
    struct emission *emissions;
    uint32_t n;
    float *context;   /* the last tokens, as the decoder's input */
    float *decoded;   /* the decoder's output for it */
    float *states;    /* and its states behind it */
    bool is_new;      /* the context has changed since it was decoded */
    bool is_done;     /* with the present frame */
    bool is_beaten;   /* by another that says the same */
    uint32_t origin;  /* which of the beginnings of the text it goes on from */
    uint32_t hotword; /* state of the hotwords */
    uint32_t history; /* state of the language model */
};

struct transducer_expansion {
    double score;
    uint32_t hyp, token;
};

struct transducer {
    struct recogniser r;
    struct network decoder, joiner;
    unsigned frame_input, decoded_input; /* of the joiner */
    uint32_t context;                    /* tokens in the decoder's context */
    uint32_t n_states, state_width;      /* of the decoder; numbers in all of them */
    uint32_t unknown;                    /* not emitted, like the blank; UINT32_MAX: none */
    uint32_t max_symbols;                /* the most tokens of a frame */
    float blank_penalty;
    struct hotwords hotwords;
    struct ngram lm;
    float lm_scale;
    struct transducer_hyp *hyps, *others; /* the present ones, up to one more than the beam, and
                                             room for the next ones; twice the beam */
    struct transducer_expansion *expansions, *ranked; /* of all hypotheses, of one */
    float *logp;                                      /* [beam + 1][width] */
    float *decoded_first, *states_first;              /* at the beginning of a text */
    rill_error *fault;                                /* the sink's */
};

/* One frame of the encoder. Stops early at max_tokens. */
void transducer_step(struct transducer *t, const float *x, uint64_t frame);

/* To the beginning of a text that nothing comes before. */
void transducer_restart(struct transducer *t);
/* To the beginning of the next one, behind an endpoint. */
void transducer_next_text(struct transducer *t);

/* Runs the decoder for hypotheses whose context has changed. */
void transducer_decode(struct transducer *t);

/* What a hypothesis's context and states say, to a stream of the decoder. */
void transducer_decoder_push(struct transducer *t, unsigned stream, const struct transducer_hyp *h);

/* The best hypothesis, by its score over its length. */
uint32_t transducer_best(const struct transducer *t);
#endif
