/* SPDX-License-Identifier: MIT */
/* Any bytes as an ONNX file: read, then typed. One entry point for libFuzzer and for the regression
 * below, which mutates valid files in a fixed order. */
#include "engine/typing/typed.h"
#include "models/onnx/reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/models/sample.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a = { .limit_bytes = (size_t) 64 << 20 };
    struct dims *ds = dims_new();
    struct bytes b = { .data = data, .n = n };
    struct onnx_limits limits = { .unpack_bytes = (uint64_t) 16 << 20,
                                  .tensor_bytes = (uint64_t) 16 << 20 };
    struct mgraph m;
    struct tgraph t;
    rill_error err;
    if (ds && mgraph_from_onnx(&m, &a, ds, &b, &limits, &err) == RILL_OK)
        tgraph_from_mgraph(&t, &m, &(struct typed_opts) { .fold_bytes_max = 1 << 20 }, &err);
    arena_drop(&a);
    dims_free(ds);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
/* Changes, drops, doubles or copies a few bytes. */
static void mutate(struct pb *p, uint32_t *seed)
{
    static const uint8_t nasty[] = { 0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x22 };
    size_t at = next_random(seed) % p->n, to = next_random(seed) % p->n;
    size_t n = 1 + next_random(seed) % 16;
    n = at + n > p->n || to + n > p->n ? 1 : n;
    switch (next_random(seed) % 5) {
    case 0: p->data[at] ^= (uint8_t) (1u << next_random(seed) % 8); break;
    case 1: p->data[at] = nasty[next_random(seed) % sizeof nasty]; break;
    case 2: memmove(p->data + to, p->data + at, n); break;
    case 3:
        memmove(p->data + at, p->data + at + n, p->n - at - n);
        p->n -= p->n > n + 1 ? n : 0;
        break;
    default: p->data[at] = (uint8_t) (p->data[at] + 1);
    }
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned) atoi(argv[1]) : 4000;
    struct pb seed_file = sample_model();
    for (unsigned i = 0; i < rounds; i++) {
        struct pb p = { 0 };
        uint32_t seed = i * 2654435761u + 1;
        pb_put(&p, seed_file.data, seed_file.n);
        for (unsigned k = 0; k <= i % 7; k++)
            mutate(&p, &seed);
        fuzz_exact(p.data, p.n);
        free(p.data);
    }
    free(seed_file.data);
    printf("%u passed, 0 failed\n", rounds);
    return 0;
}
#endif
