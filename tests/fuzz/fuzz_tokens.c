/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of tokens, and then words made of any tokens. One entry point for libFuzzer
 * and for the regression. */
#include "sinks/text.h"
#include "tests/fuzz/fuzz.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is written is text, and words are where they were said. */
static void text_check(struct arena *a, const struct tokens *t, const uint8_t *data, size_t n)
{
    struct text text;
    struct said said[64];
    uint32_t n_said = n < 64 ? (uint32_t) n : 64;
    if (text_make(&text, a, t, 64, NULL) != RILL_OK)
        return;
    for (uint32_t i = 0; i < n_said; i++)
        said[i] =
            (struct said) { .token = data[i] % t->n, .pos = i, .end_pos = i + 1, .confidence = 1 };
    text_write(&text, said, n_said);
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
    rill_status s = tokens_from_opts(&t, &a, &o, data[0] & 16 ? data[0] >> 5 : 0, &err);
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

#ifndef FUZZ_LIBFUZZER
static const char *const seeds[] = {
    "\x10<blk> 0\n\xe2\x96\x81he 1\nllo 2\r\n  3\n<0xC3> 4\n<0xA9> 5\n#0 6\n",
    "\x01silence\nunknown\nyes no\n\n",
    "\10a, b ,c",
    "\x04| 0\na 1\nb 2\n<x> 3",
    "\x03\xe4\xbd\xa0 0\n\xe5\xa5\xbd 1\n<s> 2\n",
};

int main(int argc, char **argv)
{
    static const char marks[] = "\n\r \t,0123456789<>x\xe2\x96\x81\xff\x80|a";
    unsigned rounds = argc > 1 ? (unsigned) atoi(argv[1]) : 4000;
    uint32_t seed = 5;
    for (unsigned i = 0; i < rounds; i++) {
        char text[256];
        const char *from = seeds[i % (sizeof seeds / sizeof *seeds)];
        size_t n = strlen(from);
        memcpy(text, from, n);
        for (unsigned k = 0; k < i % 9; k++) {
            size_t at = next_random(&seed) % n, to = next_random(&seed) % n,
                   m = 1 + next_random(&seed) % 12;
            m = at + m > n || to + m > n ? 1 : m;
            if (next_random(&seed) % 3)
                text[at] =
                    k ? marks[next_random(&seed) % (sizeof marks - 1)] : (char) next_random(&seed);
            else
                memmove(text + to, text + at, m);
        }
        LLVMFuzzerTestOneInput((const uint8_t *) text, i % 5 ? n : 1 + next_random(&seed) % n);
    }
    printf("%u passed, 0 failed\n", rounds);
    return 0;
}
#endif
