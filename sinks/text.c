/* SPDX-License-Identifier: MIT */
#include "sinks/text.h"

#include <string.h>

rill_status text_make(struct text *t, struct arena *a, const struct tokens *tokens,
                      uint32_t max_tokens, rill_error *err)
{
    size_t bytes = (tokens->longest_bytes + 1) * max_tokens + 1;
    *t = (struct text) { .tokens = tokens,
                         .max_tokens = max_tokens,
                         .text = arena_alloc(a, bytes),
                         .parts = arena_alloc(a, bytes),
                         .last_text = arena_alloc(a, bytes),
                         .words = arena_array(a, rill_word, max_tokens) };
    return t->text && t->parts && t->last_text && t->words ? RILL_OK : sink_no_memory(err);
}

/* Replaces bytes that are no UTF-8, which byte tokens may leave, by question marks. */
static void utf8_mend(char *text)
{
    for (unsigned char *s = (unsigned char *) text; *s;) {
        size_t n = *s < 0x80 ? 1
            : *s < 0xc2      ? 0
            : *s < 0xe0      ? 2
            : *s < 0xf0      ? 3
            : *s < 0xf5      ? 4
                             : 0,
               k = 1;
        while (k < n && (s[k] & 0xc0) == 0x80)
            k++;
        bool wrong = k != n || (n == 1 && *s < 0x20) || (*s == 0xe0 && s[1] < 0xa0) ||
            (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
            (*s == 0xf4 && s[1] > 0x8f);
        if (wrong)
            *s = '?';
        s += wrong ? 1 : n;
    }
}

/* Ends the word that begins at `from`, if it is not empty. Returns where the next begins. */
static char *word_end(struct text *t, char *from, char *to, uint32_t n_tokens)
{
    rill_word *w = &t->words[t->n_words];
    *to = '\0';
    if (to == from || !n_tokens)
        return from;
    utf8_mend(from);
    w->text = from;
    w->confidence /= (float) n_tokens;
    t->n_words++;
    return to + 1;
}

static void words_join(struct text *t)
{
    char *to = t->text;
    for (uint32_t i = 0; i < t->n_words; i++) {
        size_t n = strlen(t->words[i].text);
        if (i && t->tokens->spaced)
            *to++ = ' ';
        memcpy(to, t->words[i].text, n);
        to += n;
    }
    *to = '\0';
}

void text_write(struct text *t, const struct timed_token *timed, uint32_t n)
{
    char *from = t->parts, *to = from;
    uint32_t n_tokens = 0;
    t->n_words = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct token *k = &t->tokens->list[timed[i].token];
        size_t bytes = strlen(k->text);
        if (k->is_silent)
            continue;
        if (k->begins_word) {
            from = to = word_end(t, from, to, n_tokens);
            n_tokens = 0;
        }
        if (!bytes)
            continue;
        rill_word *w = &t->words[t->n_words];
        if (!n_tokens++)
            *w = (rill_word) { .pos = timed[i].pos };
        w->end_pos = timed[i].end_pos;
        w->confidence += timed[i].confidence;
        memcpy(to, k->text, bytes);
        to += bytes;
    }
    word_end(t, from, to, n_tokens);
    words_join(t);
}

bool text_is_new(struct text *t)
{
    if (!strcmp(t->text, t->last_text))
        return false;
    strcpy(t->last_text, t->text);
    return true;
}

void text_forget(struct text *t)
{
    t->last_text[0] = '\0';
}

void text_report(const struct text *t, rill_event *v)
{
    float sum = 0;
    v->text = t->text;
    v->words = t->words;
    v->n_words = t->n_words;
    for (uint32_t i = 0; i < t->n_words; i++)
        sum += t->words[i].confidence;
    if (!t->n_words)
        return;
    v->score = sum / (float) t->n_words;
    v->pos = t->words[0].pos;
    v->end_pos = t->words[t->n_words - 1].end_pos;
}

uint32_t text_whole_words(const struct text *t, const uint32_t *tokens, uint32_t n,
                          bool may_continue)
{
    bool parts = may_continue;
    for (uint32_t i = 0; i < t->tokens->n && !parts; i++)
        parts = !t->tokens->list[i].begins_word && !t->tokens->list[i].is_silent;
    if (!parts)
        return n;
    uint32_t k = n;
    while (k && !t->tokens->list[tokens[k - 1]].begins_word)
        k--;
    return k ? k - 1 : 0;
}
