/* SPDX-License-Identifier: MIT */
/* moonshine.h - folders of Moonshine's streaming recognisers: frontend, encoder, adapter, cross_kv
 * and decoder_kv as .onnx, streaming_config.json and tokenizer.bin
 * (github.com/moonshine-ai/moonshine, core/moonshine-streaming-model.h and core/bin-tokenizer). */
#ifndef RILL_MODELS_MOONSHINE_H
#define RILL_MODELS_MOONSHINE_H
#include "models/recogniser/internal.h"

#define MOONSHINE_CONFIG "streaming_config.json"
#define MOONSHINE_TOKENS "tokenizer.txt" /* what is made of tokenizer.bin */

/* Whether the names are those of such a folder. */
bool moonshine_is(const struct recogniser *r);

/* The texts of a model's folder, and of its tokens. */
rill_status moonshine_read(struct recogniser *r, const char **ret_graph, const char **ret_conf,
                           const char **ret_tokens);

/* tokenizer.bin of n bytes as the text of a tokens file, "TOKEN NUMBER" a line. count: tokens that
 * there have to be. What is written of none (<unk>, </s>, ..) is <eps>. */
rill_status moonshine_tokens(const struct recogniser *r, const uint8_t *data, size_t n,
                             uint32_t count, const char **ret, bool *ret_marks);
#endif
