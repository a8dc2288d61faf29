/* SPDX-License-Identifier: MIT */
/* text.h - from tokens with their places to words and a text. */
#ifndef RILL_SINKS_TEXT_H
#define RILL_SINKS_TEXT_H
#include "sinks/sink.h"
#include "models/tokens.h"

/* A token that was heard. */
struct said {
    uint32_t token;
    uint64_t pos, end_pos; /* samples */
    float confidence;      /* 0..1 */
};

struct text {
    const struct tokens *tokens;
    char *text, *parts; /* all of it; word by word, each with its zero */
    char *shown;        /* what text_is_new saw last */
    rill_word *words;
    uint32_t n_words, max_said;
};

/* Room for max_said tokens. */
rill_status text_make(struct text *t, struct arena *a, const struct tokens *tokens,
                      uint32_t max_said, rill_error *err);

/* At most max_said tokens. A text of silent tokens alone has no words. */
void text_write(struct text *t, const struct said *said, uint32_t n);

/* Whether it reads otherwise than when this was last asked; "" after text_forget. */
bool text_is_new(struct text *t);
void text_forget(struct text *t);

/* Puts what was written into an event. */
void text_report(const struct text *t, rill_event *v);

/* How many of the tokens belong to words that are over: the last may go on where words are made of
 * parts, and where its last token does. */
uint32_t text_whole_words(const struct text *t, const uint32_t *said, uint32_t n, bool goes_on);
#endif
