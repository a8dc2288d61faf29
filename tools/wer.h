/* SPDX-License-Identifier: MIT */
/* wer.h - words of a text as they are compared, and what makes one list of them the other. */
#ifndef TOOLS_WER_H
#define TOOLS_WER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wer_words {
    char *text; /* the words, each with a zero */
    const char **word;
    size_t n;
};

/* Changes of the reference: words, and of them those that were left out or changed; words that came
 * in between. */
struct wer_count {
    uint64_t words, deletions, substitutions, insertions;
};

/* normal: lower case, marks but apostrophes within words are blanks. chars: each character is a
 * word. False: out of memory. */
bool wer_words_make(struct wer_words *ret, const char *text, bool normal, bool chars);
void wer_words_drop(struct wer_words *w);

/* The fewest changes; of those as few, the one with the most substitutions. False: out of memory.
 */
bool wer_compare(struct wer_count *ret, const struct wer_words *ref, const struct wer_words *hyp);

void wer_add(struct wer_count *to, const struct wer_count *more);
/* Errors over words, 0 where there are neither; words are counted as one where only errors are. */
double wer_rate(const struct wer_count *c);
#endif
