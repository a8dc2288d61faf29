/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of tokens, and then words made of any tokens. */
#include "sinks/text.h"
#include "tests/fuzz/fuzz.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What is written is text, and words are where they were said. */
static void text_check(struct arena *a, const struct tokens *t, const uint8_t *data, size_t n)
{
    struct text text;
    struct timed_token timed[64];
    uint32_t n_tokens = n < 64 ? (uint32_t) n : 64;
    if (text_make(&text, a, t, 64, NULL) != RILL_OK)
        return;
    for (uint32_t i = 0; i < n_tokens; i++)
        timed[i] = (struct timed_token) {
            .token = data[i] % t->n, .pos = i, .end_pos = i + 1, .confidence = 1
        };
    text_write(&text, timed, n_tokens);
    for (uint32_t i = 0; i < text.n_words; i++) {
        const rill_word *w = &text.words[i];
        if (!*w->text || w->pos >= w->end_pos || (i && w->pos < w[-1].end_pos) ||
            !strstr(text.text, w->text))
            abort();
    }
    for (const unsigned char *s = (const unsigned char *) text.text; *s; s++)
        if (*s < 0x20 || *s == 0xff || *s == 0xc0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = 16 << 20 };
    struct tokens t;
    rill_error err = { 0 };
    if (n < 2)
        return 0;
    char *text = malloc(n); /* of exact size, with the zero that the reader wants */
    if (!text)
        abort();
    memcpy(text, data + 1, n - 1);
    text[n - 1] = 0;
    rill_sink_opts o = { .units = (rill_units) (data[0] & 3),
                         .ignore = data[0] & 4 ? "b, <x>," : NULL };
    *(data[0] & 8 ? &o.words : &o.tokens) = text;
    rill_status s = tokens_from_opts(&t, &a, &o, "out", data[0] & 16 ? data[0] >> 5 : 0, &err);
    if (s == RILL_OK) {
        for (uint32_t i = 0; i < t.n; i++)
            if (!t.list[i].name || strlen(t.list[i].text) > t.longest_bytes)
                abort();
        text_check(&a, &t, data, n);
    } else if (!err.text[0] || (s != RILL_MALFORMED && s != RILL_INVALID)) {
        abort();
    }
    free(text);
    arena_drop(&a);
    return 0;
}
