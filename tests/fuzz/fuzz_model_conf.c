/* SPDX-License-Identifier: MIT */
/* Any bytes as model.conf. One entry point for libFuzzer and for the regression below. */
#include "models/conf.h"
#include "tests/fuzz/fuzz.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = 1 << 20 };
    struct model_conf c;
    rill_error err;
    char *text = malloc(n ? n : 1); /* of exact size */
    if (!text)
        abort();
    memcpy(text, data, n);
    (void) model_conf_parse(&c, &a, "fuzz.conf", text, n, &err);
    free(text);
    arena_drop(&a);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char seed_text[] =
    "; comment\n[model]\ntask = vad\nsample_rate = 16000\nlicence = MIT\nsummary = "
    "words\n[input.pcm]\nkind = audio\n"
    "[output.logp]\nkind = ctc\ntokens = tokens.txt\nunits = marks\nblank = 0\nbeam = 8\nstability "
    "= 0.5\nrule2_ms = 900\n"
    "[output.word]\nkind = keyword\nwords = yes,no\nscores = logits\nsmooth_frames = 3\n"
    "[output.speech]\nkind = vad\n[vad]\nthreshold = 0.5\nrelease = 0.35\nhangover_ms = "
    "100\n[weights.net.onnx]\n"
    "url = https://example.org/net.onnx\nbytes = 2327524\nfrom = net/net.onnx\n"
    "sha256 = 1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3\n";

int main(int argc, char **argv)
{
    static const char marks[] = "[]=;.\n\r:#\"' \t0-9e\xff";
    unsigned rounds = argc > 1 ? (unsigned) atoi(argv[1]) : 20000;
    uint32_t seed = 11;
    for (unsigned i = 0; i < rounds; i++) {
        char text[2 * sizeof seed_text];
        size_t n = sizeof seed_text - 1;
        memcpy(text, seed_text, n);
        for (unsigned k = 0; k < i % 7; k++) {
            size_t at = next_random(&seed) % n, to = next_random(&seed) % n,
                   m = 1 + next_random(&seed) % 40;
            m = at + m > n || to + m > n ? 1 : m;
            if (next_random(&seed) % 2)
                text[at] = marks[next_random(&seed) % (sizeof marks - 1)];
            else
                memmove(text + to, text + at, m);
        }
        if (i % 11 == 0) { /* a line far longer than a line may be */
            memset(text + n, 'x', n);
            n *= 2;
        }
        LLVMFuzzerTestOneInput((const uint8_t *) text, i % 5 ? n : next_random(&seed) % n);
    }
    printf("%u passed, 0 failed\n", rounds);
    return 0;
}
#endif
