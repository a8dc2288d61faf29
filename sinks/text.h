/* SPDX-License-Identifier: MIT */
/* text.h - from tokens with positions to words and a text. */
#ifndef RILL_SINKS_TEXT_H
#define RILL_SINKS_TEXT_H
#include "sinks/sink.h"
#include "models/tokens.h"

/* A token with its position in the input. */
struct timed_token {
    uint32_t token;
    uint64_t pos, end_pos; /* samples */
    float confidence;      /* 0..1 */
};

struct text {
    const struct tokens *tokens;
    char *text, *parts; /* the whole text; its words, each with a zero */
    char *last_text;    /* at the last text_is_new */
    rill_word *words;
    uint32_t n_words, max_tokens;
};

/* Room for max_tokens tokens. */
rill_status text_make(struct text *t, struct arena *a, const struct tokens *tokens,
                      uint32_t max_tokens, rill_error *err);

/* At most max_tokens tokens. A text of silent tokens alone has no words. */
void text_write(struct text *t, const struct timed_token *timed, uint32_t n);

/* Whether it differs from the last time this was asked, or from "" after text_forget. */
bool text_is_new(struct text *t);
void text_forget(struct text *t);

/* Puts the text and its words into an event. */
void text_report(const struct text *t, rill_event *v);

/* How many of the tokens belong to words that are over. The last word may continue if words are
 * made of several tokens, or if its last token may_continue. */
uint32_t text_whole_words(const struct text *t, const uint32_t *tokens, uint32_t n,
                          bool may_continue);
#endif
