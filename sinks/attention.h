/* SPDX-License-Identifier: MIT */
/* attention.h - a text of an attention decoder, found anew as more is heard.
 *
 * The encoder's frames of an utterance become the decoder's memory: an adapter gives them
 * positions, and a network of its own the keys and values of every layer, both of new frames alone.
 * Greedy search from the first token on, until the last one or as many as may be said in that time:
 * the tokens that were found before go through the decoder at once, those that it would say again
 * stay (Leviathan et al. 2023, "Fast inference from transformers via speculative decoding"), and
 * the others are found one by one. As the runtime of Moonshine's streaming models has it. */
#ifndef RILL_SINKS_ATTENTION_H
#define RILL_SINKS_ATTENTION_H
#include "models/open_net.h"
#include "sinks/recogniser.h"

struct attention_token {
    uint64_t frame; /* of the input, when it was first said */
    uint32_t token;
    float logp;
};

/* Keys or values, [layers][heads][frames][size]. */
struct attention_cache {
    float *x;
    uint32_t frames, frames_max;
};

struct attention {
    struct recogniser r;
    const struct rill_attention *nets;
    unsigned encoded_in, offset_in;                                      /* ports of the adapter */
    unsigned memory_in, k_out, v_out;                                    /* of cross_kv */
    unsigned token_in, self_in[2], cross_in[2], logits_out, self_out[2]; /* of the decoder */
    uint32_t layers, heads, size;                                        /* of the caches */
    uint32_t width_in, wide; /* numbers in a frame of the encoder, of the memory */
    uint32_t bos, eos, update_frames;
    double tokens_per_frame;
    uint32_t memory_max; /* frames */
    float *heard;        /* frames of the encoder that are not in the memory yet */
    uint32_t n_heard;
    float *memory; /* the new frames of it */
    struct attention_cache self[2], cross[2];
    int64_t *input;  /* tokens that go into the decoder */
    uint32_t *found; /* behind each token that went in, and its probability */
    float *found_logp;
    struct attention_token *tokens;
    uint32_t n_tokens;
    double logp;
    rill_error *fault; /* the sink's */
};

/* To the beginning of an utterance. */
void attention_restart(struct attention *t);

/* One frame of the encoder; `frame` is its number. */
void attention_step(struct attention *t, const float *x, uint64_t frame);

/* Takes what was heard into the memory, and finds the text of it. */
void attention_update(struct attention *t, uint64_t frame);

/* Whether the networks take frames, and the last token. The memory gets as many frames as there are
 * positions, if those are fewer. */
rill_status attention_try(struct attention *t, rill_error *err);
#endif
